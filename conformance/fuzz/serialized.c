// SPDX-License-Identifier: Apache-2.0
//
// Serialized graphs with mistakes: a random graph is written, bytes say what is changed in it, and the result
// is read. It is refused with a reason, or recorded, and then it can be written and read again, as the same
// bytes. What either takes is bounded by the length of the message. Some of what was recorded is built, too.

#include "conformance/fuzz/fuzz.h"
#include "conformance/fuzz/serial_edit.h"
#include "conformance/serialized.h"
#include "tools/model.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Memory that a message may take: what one operator may while it is looked at, and its bytes so many times.
#define MEMORY_ONCE ((size_t)2 << 20)
#define MEMORY_EACH 256

unsigned long fuzz_built;

// ---------------------------------------------------------------------------------------------------------------
// Contexts
// ---------------------------------------------------------------------------------------------------------------

struct heap {
    atomic_size_t bytes, peak;
};

static void *allocate(size_t size, size_t alignment, void *userdata)
{
    struct heap *heap = userdata;
    void *memory;
    if (posix_memalign(&memory, alignment < sizeof memory ? sizeof memory : alignment, size + !size))
        return NULL;
    size_t now = atomic_fetch_add(&heap->bytes, size) + size;
    if (now > atomic_load(&heap->peak))
        atomic_store(&heap->peak, now);
    return memory;
}

static void release(void *memory, size_t size, size_t alignment, void *userdata)
{
    struct heap *heap = userdata;
    (void)alignment;
    atomic_fetch_sub(&heap->bytes, size);
    free(memory);
}

static WNNContext create_context(struct heap *heap)
{
    static const WNNLimits limits = {.maxTensorByteLength = 4u << 20,
                                     .maxMemoryBytes = 256u << 20,
                                     .maxOperatorWork = 1u << 24,
                                     .maxGraphWork = 1u << 26,
                                     .maxConstantBytes = 64u << 20,
                                     .maxOperators = 20000,
                                     .maxOperands = 40000,
                                     .maxInputsAndOutputs = 1000,
                                     .maxStringLength = 100000,
                                     .maxTotalStringBytes = 1u << 20};
    const WNNAllocator allocator = {NULL, allocate, release, heap};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.limits = &limits;
    descriptor.allocator = heap ? &allocator : NULL;
    descriptor.threadCount = 1;
    WNNContext context = NULL;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        abort();
    return context;
}

static WNNGraphBuilder create_builder(WNNContext context)
{
    WNNGraphBuilder builder = NULL;
    if (wnnContextCreateGraphBuilder(context, &builder) != WNNStatus_Success)
        abort();
    return builder;
}

// ---------------------------------------------------------------------------------------------------------------
// Messages
// ---------------------------------------------------------------------------------------------------------------

// The builder whose constants are referred to by their index, in one way or another, as `how` says.
struct source {
    WNNGraphBuilder builder;
    unsigned how;
    uint32_t id;
    struct contents bytes;
};

static WNNStatus refer(const WNNRecordedOperand *constant, WNNConstantReference *reference, void *userdata1,
                       void *userdata2)
{
    struct source *source = userdata1;
    (void)userdata2;
    source->id = (uint32_t)wnnOperandGetIndex(constant->operand);
    switch ((source->how + source->id) % 3) {
    case 0:
        reference->form = WNNConstantForm_FileRange;
        reference->file = 1;
        reference->offset = source->id;
        break;
    case 1:
        reference->form = WNNConstantForm_Id;
        reference->id = &source->id;
        reference->idLength = sizeof source->id;
        break;
    default:
        break;
    }
    return WNNStatus_Success;
}

static WNNStatus keep(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    struct source *source = userdata1;
    (void)userdata2;
    if (!source->bytes.data)
        source->bytes.data = calloc(1, size + rest + 1);
    if (!source->bytes.data)
        abort();
    memcpy(source->bytes.data + source->bytes.size, data, size);
    source->bytes.size += size;
    return WNNStatus_Success;
}

static void write_source(struct source *source, size_t count, const WNNNamedOperand *outputs)
{
    char message[1024];
    WNNSerializeDescriptor descriptor = {NULL, count, outputs, refer, keep, source, NULL};
    if (wnnGraphBuilderSerialize(source->builder, &descriptor, sizeof message, message) !=
        WNNStatus_Success) {
        fprintf(stderr, "not written: %s\n", message);
        abort();
    }
}

static WNNOperand find(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                       const WNNConstantReference *reference, void *userdata1, void *userdata2)
{
    const struct source *source = userdata1;
    WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
    uint32_t index;
    (void)userdata2;
    memcpy(&index, &reference->offset, sizeof index);
    if (reference->form == WNNConstantForm_Id && reference->idLength == sizeof index)
        memcpy(&index, reference->id, sizeof index);
    if (reference->form != WNNConstantForm_Id && reference->form != WNNConstantForm_FileRange)
        abort();
    if (wnnGraphBuilderGetOperand(source->builder, index, &operand) || !operand.data)
        return NULL;
    WNNExternalBytes bytes = {NULL, operand.data, operand.byteLength, NULL, NULL, NULL};
    return wnnGraphBuilderExternalConstant(builder, descriptor, &bytes);
}

// From memory that ends where the message does.
static WNNStatus read_source(const struct source *source, WNNGraphBuilder builder,
                             WNNDeserializedGraph *graph)
{
    char *copy = malloc(source->bytes.size + !source->bytes.size);
    if (!copy)
        abort();
    memcpy(copy, source->bytes.data, source->bytes.size);
    WNNDeserializeDescriptor descriptor = {NULL, copy, source->bytes.size, find, (void *)(uintptr_t)source,
                                           NULL};
    *graph = (WNNDeserializedGraph)WNN_DESERIALIZED_GRAPH_INIT;
    WNNStatus status = wnnGraphBuilderDeserialize(builder, &descriptor, graph);
    free(copy);
    return status;
}

static void check_error(WNNGraphBuilder builder, WNNStatus status, const struct contents *bytes)
{
    WNNError error;
    wnnGraphBuilderGetError(builder, &error);
    if (error.status != status || (status == WNNStatus_Success) != (error.message.length == 0))
        fail("the status is not the builder's", bytes);
    if (status != WNNStatus_Success && status != WNNStatus_TypeError && status != WNNStatus_OutOfMemory)
        fail("a status that no call has", bytes);
}

// What was read can be written and read again, as the same bytes.
static void read_again(WNNContext context, WNNGraphBuilder builder, const WNNDeserializedGraph *graph,
                       const struct contents *bytes)
{
    char message[1024];
    WNNDeserializedGraph again;
    WNNGraphBuilder other = create_builder(context);
    for (size_t i = 0; i < graph->outputCount; i++)
        if (graph->outputs[i].name.length == 0) { // which only a writer of another kind has
            wnnGraphBuilderRelease(other);
            return;
        }
    const char *problem = wnn_serialize_across(builder, graph->outputCount, graph->outputs, true, other,
                                               &again, sizeof message, message);
    if (problem)
        fail(problem, bytes);
    wnnGraphBuilderRelease(other);
}

// Whatever was recorded, building it ends.
static void build(WNNGraphBuilder builder, const WNNDeserializedGraph *graph)
{
    WNNGraph built = NULL;
    wnnGraphBuilderBuildSync(builder, graph->outputCount, graph->outputs, &built, 0, NULL);
    wnnGraphRelease(built);
}

// Two bytes choose a graph, the third how its constants are written and how many mistakes there are, and the
// rest says which.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct edits edits = {data, size};
    struct error error = {WNNStatus_Success, ""};
    struct heap heap = {0};
    struct fuzz_budget budget;
    WNNContext context = create_context(NULL), counted = create_context(&heap);
    struct model model;
    if (!model_begin(&model, context, &error))
        abort();
    fuzz_random_model(&model, take_long(&edits));
    struct source source = {.builder = model.builder, .how = take(&edits)};
    write_source(&source, model.output_count, model.outputs);
    unsigned mistakes = source.how / 3 % 4;
    for (unsigned i = 0; i < mistakes; i++)
        serial_spoil(&source.bytes, &edits);

    budget_begin(&budget);
    WNNGraphBuilder builder = create_builder(counted);
    size_t before = atomic_load(&heap.bytes);
    atomic_store(&heap.peak, before);
    WNNDeserializedGraph graph;
    WNNStatus status = read_source(&source, builder, &graph);
    check_error(builder, status, &source.bytes);
    if (atomic_load(&heap.peak) - before > MEMORY_ONCE + MEMORY_EACH * source.bytes.size)
        fail("reading takes more memory than the message may", &source.bytes);
    if (status == WNNStatus_Success) {
        fuzz_built++;
        read_again(counted, builder, &graph, &source.bytes);
        if (take(&edits) % 4 == 0)
            build(builder, &graph);
    } else if (mistakes == 0) {
        fail("what was written is refused", &source.bytes);
    }
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(counted);
    if (atomic_load(&heap.bytes) != 0)
        fail("memory is left", &source.bytes);
    budget_end(&budget, "reading and writing", &source.bytes);
    free(source.bytes.data);
    model_end(&model);
    wnnContextRelease(context);
    return 0;
}
