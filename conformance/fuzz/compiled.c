// SPDX-License-Identifier: Apache-2.0
//
// Compiled graphs with mistakes: a random graph is built and saved, bytes say which words of the head, or of
// what was recorded, are changed and whether data are, the head is sealed so that it is believed, and the
// result is loaded. It is refused with a reason, or it runs, and can be saved and loaded again, as the same
// bytes. What loading takes is bounded by the limits. WNN_FUZZ_DEVICE=gpu: on a GPU.

#include "conformance/compiled.h"
#include "conformance/fuzz/edit.h"
#include "conformance/fuzz/fuzz.h"
#include "tools/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 96

unsigned long fuzz_built;

static WNNContext create_context(void)
{
    static const WNNLimits limits = {.maxTensorByteLength = 1u << 20,
                                     .maxMemoryBytes = 128u << 20,
                                     .maxOperatorWork = 1u << 22,
                                     .maxGraphWork = 1u << 24,
                                     .maxConstantBytes = 64u << 20,
                                     .maxOperators = 20000,
                                     .maxOperands = 40000,
                                     .maxInputsAndOutputs = 200};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context = NULL;
    const char *device = getenv("WNN_FUZZ_DEVICE");
    descriptor.limits = &limits;
    descriptor.threadCount = 1;
    if (device && strcmp(device, "gpu") == 0)
        descriptor.deviceType = WNNDeviceType_GPU;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        abort();
    return context;
}

static uint32_t word_of(struct edits *edits)
{
    static const uint32_t words[] = {
        0,  1,  2,  3,   4,   5,        7,        8,          9,          16,         31,
        32, 33, 64, 255, 256, 1u << 16, 1u << 20, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF};
    unsigned choice = take(edits);
    return choice < 128 ? words[choice % (sizeof words / sizeof words[0])] : take(edits) | take(edits) << 8;
}

// A word of the head becomes another or is moved by a little, two change places, or a run of bytes is
// repeated.
static void spoil_words(unsigned char *data, size_t words, struct edits *edits)
{
    unsigned char *at = data + take_long(edits) % words * 4, *other = data + take_long(edits) % words * 4;
    uint32_t word, second;
    memcpy(&word, at, 4);
    memcpy(&second, other, 4);
    switch (take(edits) % 5) {
    case 0:
        word = word_of(edits);
        break;
    case 1:
        word += take(edits) % 9 - 4u;
        break;
    case 2:
        word ^= 1u << take(edits) % 32;
        break;
    case 3:
        memcpy(other, &word, 4);
        word = second;
        break;
    default:
        word = second;
        break;
    }
    memcpy(at, &word, 4);
}

static void spoil_any(struct serialized *bytes, size_t head, struct edits *edits)
{
    size_t transcript = wnn_compiled_recording(bytes->data, bytes->size);
    if (transcript < bytes->size && take(edits) % 2)
        spoil_words(bytes->data + transcript, (bytes->size - transcript) / 4, edits);
    else
        spoil_words(bytes->data + HEADER_BYTES, (head - HEADER_BYTES) / 4, edits);
}

static void check_loaded(WNNContext context, WNNGraph graph, const struct contents *from)
{
    struct serialized first = {0}, second = {0};
    char message[1024] = "";
    WNNGraph again = NULL;
    if (wnn_save_graph(graph, &first, sizeof message, message))
        fail(message, from);
    if (wnn_load_copy(context, first.data, first.size, &again, sizeof message, message))
        fail(message, from);
    if (wnn_save_graph(again, &second, sizeof message, message))
        fail(message, from);
    if (!wnn_serialized_equal(&first, &second))
        fail("what was loaded is saved as something else", from);
    wnn_compute_any(context, graph);
    wnnGraphRelease(again);
    free(first.data);
    free(second.data);
}

// Two bytes choose a graph, the third whether it is for another library, the fourth how many mistakes there
// are, and the rest says which.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct edits edits = {data, size};
    struct error error = {WNNStatus_Success, ""};
    struct fuzz_budget budget;
    WNNContext context = create_context(), other = create_context();
    struct model model;
    char message[1024] = "";
    WNNGraph built = NULL, loaded = NULL;
    struct serialized bytes = {0};
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    if (!model_begin(&model, context, &error))
        abort();
    fuzz_random_model(&model, take_long(&edits));
    bool recompiles = take(&edits) % 2;
    WNNStatus status = (recompiles ? wnn_build_recompilable : wnn_build_savable)(
        context, model.builder, model.output_count, model.outputs, &built, sizeof message, message);
    model_end(&model);
    if (status != WNNStatus_Success) { // a limit
        wnnContextRelease(context);
        wnnContextRelease(other);
        return 0;
    }
    if (wnn_save_graph(built, &bytes, sizeof message, message) ||
        wnnGetCompiledGraphInfo(bytes.data, bytes.size, &info))
        abort();
    wnnGraphRelease(built);
    unsigned mistakes = take(&edits) % 4;
    for (unsigned i = 0; i < mistakes; i++)
        spoil_any(&bytes, (size_t)info.headBytes, &edits);
    if (recompiles) // another library's
        bytes.data[(const unsigned char *)info.library.data - bytes.data] ^= 1;
    if (mistakes && info.dataBytes && take(&edits) % 4 == 0)
        bytes.data[info.headBytes + take_long(&edits) % info.dataBytes] ^= (unsigned char)(take(&edits) | 1);
    wnn_seal_compiled(bytes.data, bytes.size);

    const struct contents from = {(char *)bytes.data, bytes.size};
    budget_begin(&budget);
    status = (recompiles ? wnn_load_recompiling : wnn_load_copy)(other, bytes.data, bytes.size, &loaded,
                                                                 sizeof message, message);
    if ((status == WNNStatus_Success) != (loaded != NULL) || (status == WNNStatus_Success) != !message[0])
        fail("a status that does not fit the answer", &from);
    if (status != WNNStatus_Success && mistakes == 0)
        fail(message, &from);
    if (loaded) {
        fuzz_built++;
        check_loaded(other, loaded, &from);
        wnnGraphRelease(loaded);
    }
    budget_end(&budget, "loading", &from);
    free(bytes.data);
    wnnContextRelease(context);
    wnnContextRelease(other);
    return 0;
}
