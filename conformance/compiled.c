// SPDX-License-Identifier: Apache-2.0
#include "conformance/compiled.h"

#include "compiler/stored.h"
#include "lib/checksum.h"
#include "lib/sha256.h"
#include "ops/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct built {
    WNNStatus status;
    WNNGraph graph;
    size_t message_size;
    char *message;
};

static void take_built(WNNStatus status, WNNGraph graph, WNNStringView message, void *userdata1,
                       void *userdata2)
{
    struct built *built = userdata1;
    (void)userdata2;
    built->status = status;
    built->graph = graph;
    if (built->message_size)
        snprintf(built->message, built->message_size, "%.*s", (int)message.length, message.data);
}

WNNStatus wnn_build_savable(WNNContext context, WNNGraphBuilder builder, size_t output_count,
                            const WNNNamedOperand *outputs, WNNGraph *graph, size_t message_size,
                            char *message)
{
    struct built built = {.message_size = message_size, .message = message};
    const WNNSavable savable = WNN_SAVABLE_INIT;
    WNNBuildCallbackInfo info = {&savable.chain, WNNCallbackMode_WaitAnyOnly, take_built, &built, NULL};
    WNNFutureWaitInfo wait = {wnnGraphBuilderBuild(builder, output_count, outputs, info), false};
    wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER);
    *graph = built.graph;
    return built.status;
}

WNNStatus wnn_save_graph(WNNGraph graph, struct serialized *to, size_t message_size, char *message)
{
    WNNSaveGraphDescriptor descriptor = WNN_SAVE_GRAPH_DESCRIPTOR_INIT;
    descriptor.write = wnn_serialized_add;
    descriptor.userdata1 = to;
    to->size = 0;
    return wnnGraphSaveSync(graph, &descriptor, message_size, message);
}

static void free_copy(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)size;
    (void)userdata1;
    (void)userdata2;
    free((void *)(uintptr_t)data);
}

WNNStatus wnn_load_copy(WNNContext context, const void *data, size_t size, WNNGraph *graph,
                        size_t message_size, char *message)
{
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    void *copy;
    if (posix_memalign(&copy, 64, size + !size))
        abort();
    if (size)
        memcpy(copy, data, size);
    descriptor.bytes.data = copy;
    descriptor.bytes.byteLength = size;
    descriptor.bytes.release = free_copy;
    return wnnContextLoadGraphSync(context, &descriptor, graph, message_size, message);
}

static uint64_t load_u64(const unsigned char *bytes)
{
    uint64_t number = 0;
    for (unsigned i = 8; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

void wnn_seal_compiled(unsigned char *data, size_t size)
{
    if (size < STORED_HEADER_BYTES)
        return;
    struct sha256 hash;
    wnn_store_u64(data + 16, size);
    uint64_t head = load_u64(data + 24);
    if (head > size)
        return;
    wnn_store_u64(data + STORED_CHECKSUM_AT, wnn_checksum(&wnn_serial, data + head, size - (size_t)head));
    memset(data + STORED_DIGEST_AT, 0, WNN_SHA256_BYTES);
    wnn_sha256_begin(&hash);
    wnn_sha256_add(&hash, data, (size_t)head);
    wnn_sha256_end(&hash, data + STORED_DIGEST_AT);
}

// ---------------------------------------------------------------------------------------------------------------
// Bytes from a stranger
// ---------------------------------------------------------------------------------------------------------------

static size_t bytes_of(const WNNNamedDescriptor *named)
{
    size_t count = 1;
    for (size_t i = 0; i < named->descriptor.shape.count; i++)
        count *= named->descriptor.shape.data[i];
    return wnn_dtype_bytes(named->descriptor.dataType, count);
}

static WNNNamedBuffer *make_buffers(const WNNNamedDescriptor *ports, size_t count)
{
    WNNNamedBuffer *buffers = calloc(count + 1, sizeof *buffers);
    if (!buffers)
        abort();
    for (size_t i = 0; i < count; i++) {
        size_t size = bytes_of(&ports[i]);
        unsigned char *data = malloc(size + !size);
        if (!data)
            abort();
        for (size_t j = 0; j < size; j++)
            data[j] = (unsigned char)(j * 37 + i);
        buffers[i] = (WNNNamedBuffer){ports[i].name, data, size, ports[i].descriptor.dataType};
    }
    return buffers;
}

static void free_buffers(WNNNamedBuffer *buffers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)buffers[i].data);
    free(buffers);
}

void wnn_compute_any(WNNContext context, WNNGraph graph)
{
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, &descriptor.inputCount),
                             *outputs = wnnGraphGetOutputs(graph, &descriptor.outputCount);
    WNNNamedBuffer *given = make_buffers(inputs, descriptor.inputCount),
                   *results = make_buffers(outputs, descriptor.outputCount);
    descriptor.graph = graph;
    descriptor.inputs = given;
    descriptor.outputs = results;
    wnnContextComputeSync(context, &descriptor, 0, NULL);
    free_buffers(given, descriptor.inputCount);
    free_buffers(results, descriptor.outputCount);
}

static size_t random_below(uint64_t *state, size_t limit)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (size_t)(*state >> 11) % limit;
}

// A word becomes one that counts and numbers often go wrong with, or is moved by a little, or changes places
// with another.
static void spoil_word(unsigned char *head, size_t words, uint64_t *state)
{
    static const uint32_t often[] = {0,   1,   2,        3,        4,          7,          8,         32,
                                     255, 256, 1u << 16, 1u << 20, 0x7FFFFFFF, 0x80000000, UINT32_MAX};
    unsigned char *at = head + 4 * random_below(state, words), *other = head + 4 * random_below(state, words);
    uint32_t word, second;
    memcpy(&word, at, 4);
    memcpy(&second, other, 4);
    switch (random_below(state, 4)) {
    case 0:
        word = often[random_below(state, sizeof often / sizeof often[0])];
        break;
    case 1:
        word += (uint32_t)random_below(state, 9) - 4;
        break;
    case 2:
        word ^= 1u << random_below(state, 32);
        break;
    default:
        memcpy(other, &word, 4);
        word = second;
        break;
    }
    memcpy(at, &word, 4);
}

size_t wnn_try_spoiled(WNNContext context, const struct serialized *bytes, size_t count, uint64_t seed)
{
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    unsigned char *copy = malloc(bytes->size);
    uint64_t state = seed | 1;
    size_t loaded = 0;
    if (!copy || wnnGetCompiledGraphInfo(bytes->data, bytes->size, &info))
        abort();
    size_t words = ((size_t)info.headBytes - STORED_HEADER_BYTES) / 4;
    for (size_t i = 0; i < count; i++) {
        WNNGraph graph = NULL;
        memcpy(copy, bytes->data, bytes->size);
        for (size_t mistakes = 1 + random_below(&state, 2); mistakes > 0; mistakes--)
            spoil_word(copy + STORED_HEADER_BYTES, words, &state);
        wnn_seal_compiled(copy, bytes->size);
        wnn_load_copy(context, copy, bytes->size, &graph, 0, NULL);
        if (!graph)
            continue;
        wnn_compute_any(context, graph);
        wnnGraphRelease(graph);
        loaded++;
    }
    free(copy);
    return loaded;
}
