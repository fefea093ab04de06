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
