// SPDX-License-Identifier: Apache-2.0
#include "conformance/compiled.h"

#include "compiler/stored.h"
#include "lib/checksum.h"
#include "lib/sha256.h"
#include "ops/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const WNNLimits wnn_limits_of_strangers = {.maxTensorByteLength = 1u << 20,
                                           .maxMemoryBytes = 64u << 20,
                                           .maxOperatorWork = 1u << 22,
                                           .maxGraphWork = 1u << 24,
                                           .maxOperators = 1000,
                                           .maxOperands = 4000,
                                           .maxInputsAndOutputs = 60};

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

WNNStatus wnn_build_chained(WNNContext context, WNNGraphBuilder builder, const WNNChainedStruct *chain,
                            size_t output_count, const WNNNamedOperand *outputs, WNNGraph *graph,
                            size_t message_size, char *message)
{
    struct built built = {.message_size = message_size, .message = message};
    WNNBuildCallbackInfo info = {chain, WNNCallbackMode_WaitAnyOnly, take_built, &built, NULL};
    WNNFutureWaitInfo wait = {wnnGraphBuilderBuild(builder, output_count, outputs, info), false};
    wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER);
    *graph = built.graph;
    return built.status;
}

WNNStatus wnn_build_savable(WNNContext context, WNNGraphBuilder builder, size_t output_count,
                            const WNNNamedOperand *outputs, WNNGraph *graph, size_t message_size,
                            char *message)
{
    const WNNSavable savable = WNN_SAVABLE_INIT;
    return wnn_build_chained(context, builder, &savable.chain, output_count, outputs, graph, message_size,
                             message);
}

WNNStatus wnn_build_recompilable(WNNContext context, WNNGraphBuilder builder, size_t output_count,
                                 const WNNNamedOperand *outputs, WNNGraph *graph, size_t message_size,
                                 char *message)
{
    const WNNRecompilable recompilable = WNN_RECOMPILABLE_INIT;
    return wnn_build_chained(context, builder, &recompilable.chain, output_count, outputs, graph,
                             message_size, message);
}

WNNStatus wnn_save_chained(WNNGraph graph, const WNNChainedStruct *chain, struct serialized *to,
                           size_t message_size, char *message)
{
    WNNSaveGraphDescriptor descriptor = WNN_SAVE_GRAPH_DESCRIPTOR_INIT;
    descriptor.nextInChain = chain;
    descriptor.write = wnn_serialized_add;
    descriptor.userdata1 = to;
    to->size = 0;
    return wnnGraphSaveSync(graph, &descriptor, message_size, message);
}

WNNStatus wnn_save_graph(WNNGraph graph, struct serialized *to, size_t message_size, char *message)
{
    return wnn_save_chained(graph, NULL, to, message_size, message);
}

static void free_copy(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)size;
    (void)userdata1;
    (void)userdata2;
    free((void *)(uintptr_t)data);
}

static WNNStatus load(WNNContext context, const WNNChainedStruct *chain, const void *data, size_t size,
                      void (*release)(const void *data, size_t size, void *userdata1, void *userdata2),
                      WNNGraph *graph, size_t message_size, char *message)
{
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    descriptor.nextInChain = chain;
    descriptor.bytes.data = data;
    descriptor.bytes.byteLength = size;
    descriptor.bytes.release = release;
    return wnnContextLoadGraphSync(context, &descriptor, graph, message_size, message);
}

void *wnn_aligned_copy(const void *data, size_t size)
{
    void *copy;
    if (posix_memalign(&copy, 64, size + !size))
        abort();
    return size ? memcpy(copy, data, size) : copy;
}

WNNStatus wnn_load_chained(WNNContext context, const WNNChainedStruct *chain, const void *data, size_t size,
                           WNNGraph *graph, size_t message_size, char *message)
{
    return load(context, chain, wnn_aligned_copy(data, size), size, free_copy, graph, message_size, message);
}

WNNStatus wnn_load_borrowed(WNNContext context, const WNNChainedStruct *chain, const void *data, size_t size,
                            WNNGraph *graph, size_t message_size, char *message)
{
    return load(context, chain, data, size, NULL, graph, message_size, message);
}

WNNStatus wnn_load_copy(WNNContext context, const void *data, size_t size, WNNGraph *graph,
                        size_t message_size, char *message)
{
    return wnn_load_chained(context, NULL, data, size, graph, message_size, message);
}

WNNStatus wnn_load_recompiling(WNNContext context, const void *data, size_t size, WNNGraph *graph,
                               size_t message_size, char *message)
{
    const WNNRecompilable recompilable = WNN_RECOMPILABLE_INIT;
    return wnn_load_chained(context, &recompilable.chain, data, size, graph, message_size, message);
}

WNNStatus wnn_vouch(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)data;
    (void)size;
    (void)userdata1;
    (void)userdata2;
    return WNNStatus_Success;
}

static uint64_t load_u64(const unsigned char *bytes)
{
    uint64_t number = 0;
    for (unsigned i = 8; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

size_t wnn_compiled_recording(const unsigned char *data, size_t size)
{
    uint64_t at = size < STORED_HEADER_BYTES ? 0 : load_u64(data + STORED_TRANSCRIPT_AT);
    return at && at < size ? (size_t)at : size;
}

static void seal(unsigned char *data, size_t size, size_t digest_at)
{
    struct sha256 hash;
    memset(data + digest_at, 0, WNN_SHA256_BYTES);
    wnn_sha256_begin(&hash);
    wnn_sha256_add(&hash, data, size);
    wnn_sha256_end(&hash, data + digest_at);
}

void wnn_seal_compiled(unsigned char *data, size_t size)
{
    if (size < STORED_HEADER_BYTES)
        return;
    size_t transcript = wnn_compiled_recording(data, size);
    wnn_store_u64(data + 16, size);
    if (size - transcript >= STORED_TRANSCRIPT_BYTES)
        seal(data + transcript, size - transcript, STORED_TRANSCRIPT_DIGEST_AT);
    uint64_t head = load_u64(data + 24);
    if (head > transcript || head < STORED_HEADER_BYTES)
        return;
    wnn_store_u64(data + STORED_CHECKSUM_AT,
                  wnn_checksum(&wnn_serial, data + head, transcript - (size_t)head));
    seal(data, (size_t)head, STORED_DIGEST_AT);
}

// ---------------------------------------------------------------------------------------------------------------
// Bytes from a stranger
// ---------------------------------------------------------------------------------------------------------------

// What an execution needs, at sizes of which those that are not known are the least, but 2.
struct any_ports {
    size_t input_count, output_count;
    uint32_t (*dims)[WNN_MAX_RANK];
    WNNNamedShape *shapes;
    WNNNamedBuffer *inputs, *outputs;
    WNNOutputShape *made;
};

static uint32_t any_size(WNNGraph graph, uint32_t size)
{
    WNNDimension dimension = WNN_DIMENSION_INIT;
    if (size <= WNN_MAX_DIMENSION || wnnGraphGetSize(graph, size, &dimension))
        return size;
    return dimension.minSize > 2 ? dimension.minSize : dimension.maxSize < 2 ? dimension.maxSize : 2;
}

static void *any_bytes(size_t size, size_t salt)
{
    unsigned char *data = malloc(size + !size);
    if (!data)
        abort();
    for (size_t j = 0; j < size; j++)
        data[j] = (unsigned char)(j * 37 + salt);
    return data;
}

// False: they have no sizes, or too many bytes.
static bool make_inputs(WNNGraph graph, struct any_ports *ports)
{
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, &ports->input_count);
    ports->dims = calloc(ports->input_count + 1, sizeof *ports->dims);
    ports->shapes = calloc(ports->input_count + 1, sizeof *ports->shapes);
    ports->inputs = calloc(ports->input_count + 1, sizeof *ports->inputs);
    for (size_t i = 0; i < ports->input_count; i++) {
        const WNNOperandDescriptor *descriptor = &inputs[i].descriptor;
        size_t count = 1;
        for (size_t d = 0; d < descriptor->shape.count; d++) {
            ports->dims[i][d] = any_size(graph, descriptor->shape.data[d]);
            count *= ports->dims[i][d];
            if (count > 1u << 24)
                return false;
        }
        size_t size = wnn_dtype_bytes(descriptor->dataType, count);
        ports->shapes[i] = (WNNNamedShape){inputs[i].name, {ports->dims[i], descriptor->shape.count}};
        ports->inputs[i] = (WNNNamedBuffer){inputs[i].name, any_bytes(size, i), size, descriptor->dataType};
    }
    return true;
}

static bool make_outputs(WNNGraph graph, struct any_ports *ports)
{
    wnnGraphGetOutputs(graph, &ports->output_count);
    ports->made = calloc(ports->output_count + 1, sizeof *ports->made);
    ports->outputs = calloc(ports->output_count + 1, sizeof *ports->outputs);
    if (wnnGraphComputeShapes(graph, ports->input_count, ports->shapes, ports->output_count, ports->made, 0,
                              NULL))
        return false;
    for (size_t i = 0; i < ports->output_count; i++) {
        const WNNOutputShape *made = &ports->made[i];
        ports->outputs[i] =
            (WNNNamedBuffer){made->name, any_bytes(made->byteLength, i), made->byteLength, made->dataType};
    }
    return true;
}

static void free_buffers(WNNNamedBuffer *buffers, size_t count)
{
    for (size_t i = 0; buffers && i < count; i++)
        free((void *)(uintptr_t)buffers[i].data);
    free(buffers);
}

void wnn_compute_any(WNNContext context, WNNGraph graph)
{
    struct any_ports ports = {0};
    if (make_inputs(graph, &ports) && make_outputs(graph, &ports)) {
        const WNNInputShapes shapes = {{NULL, WNNSType_InputShapes}, ports.input_count, ports.shapes};
        WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
        descriptor.nextInChain = &shapes.chain;
        descriptor.graph = graph;
        descriptor.inputCount = ports.input_count;
        descriptor.outputCount = ports.output_count;
        descriptor.inputs = ports.inputs;
        descriptor.outputs = ports.outputs;
        wnnContextComputeSync(context, &descriptor, 0, NULL);
    }
    free_buffers(ports.inputs, ports.input_count);
    free_buffers(ports.outputs, ports.output_count);
    free(ports.made);
    free(ports.shapes);
    free(ports.dims);
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

size_t wnn_try_spoiled(WNNContext context, const struct serialized *bytes, const WNNConstantSource *source,
                       size_t count, uint64_t seed)
{
    WNNRecompilable chain = WNN_RECOMPILABLE_INIT;
    chain.chain.next = source ? &source->chain : NULL;
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    unsigned char *copy = wnn_aligned_copy(bytes->data, bytes->size);
    uint64_t state = seed | 1;
    size_t loaded = 0;
    if (wnnGetCompiledGraphInfo(bytes->data, bytes->size, &info))
        abort();
    size_t words = ((size_t)info.headBytes - STORED_HEADER_BYTES) / 4,
           transcript = wnn_compiled_recording(bytes->data, bytes->size),
           recorded_words = (bytes->size - transcript) / 4;
    for (size_t i = 0; i < count; i++) {
        WNNGraph graph = NULL;
        memcpy(copy, bytes->data, bytes->size);
        for (size_t mistakes = 1 + random_below(&state, 2); mistakes > 0; mistakes--)
            if (random_below(&state, words + recorded_words) < words)
                spoil_word(copy + STORED_HEADER_BYTES, words, &state);
            else
                spoil_word(copy + transcript, recorded_words, &state);
        wnn_seal_compiled(copy, bytes->size);
        wnn_load_borrowed(context, &chain.chain, copy, bytes->size, &graph, 0, NULL);
        if (!graph)
            continue;
        wnn_compute_any(context, graph);
        wnnGraphRelease(graph);
        loaded++;
    }
    free(copy);
    return loaded;
}
