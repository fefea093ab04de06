// SPDX-License-Identifier: Apache-2.0
#include "ops/transcript.h"

#include "ops/shaping.h"
#include "ops/sink.h"

#include <string.h>

struct transcript *wnn_transcript_allocate(struct allocator *allocator, size_t size, size_t constant_count)
{
    struct transcript *transcript = wnn_allocate_zero(allocator, sizeof *transcript);
    if (!transcript)
        return NULL;
    transcript->allocator = allocator;
    transcript->bytes = wnn_allocate(allocator, size + !size);
    transcript->size = size;
    transcript->constants =
        wnn_allocate_zero(allocator, (constant_count + 1) * sizeof *transcript->constants);
    transcript->constant_count = constant_count;
    if (transcript->bytes && transcript->constants)
        return transcript;
    transcript->constant_count = 0;
    wnn_transcript_free(transcript);
    return NULL;
}

void wnn_transcript_free(struct transcript *transcript)
{
    if (!transcript)
        return;
    for (size_t i = 0; i < transcript->constant_count; i++)
        wnn_constant_unref(transcript->constants[i]);
    wnn_release(transcript->allocator, transcript->constants);
    wnn_release(transcript->allocator, transcript->bytes);
    wnn_release(transcript->allocator, transcript);
}

// ---------------------------------------------------------------------------------------------------------------
// Writing
// ---------------------------------------------------------------------------------------------------------------

struct recorder {
    struct transcript *transcript;
    struct allocator *allocator;
    bool weightless;
    size_t constant_count; // that have been met
    unsigned char id[4];
    struct constant **constants;
    size_t written;
};

static WNNStatus refer(const WNNRecordedOperand *operand, WNNConstantReference *reference, void *userdata1,
                       void *userdata2)
{
    struct recorder *recorder = userdata1;
    (void)userdata2;
    wnn_store_u32(recorder->id, (uint32_t)recorder->constant_count);
    recorder->constants[recorder->constant_count++] = wnn_operand(operand->operand)->constant;
    reference->form = WNNConstantForm_Id;
    reference->id = recorder->id;
    reference->idLength = sizeof recorder->id;
    return WNNStatus_Success;
}

// The first bytes tell how many there are.
static WNNStatus keep(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    struct recorder *recorder = userdata1;
    (void)userdata2;
    if (!recorder->transcript)
        recorder->transcript =
            wnn_transcript_allocate(recorder->allocator, size + (size_t)rest, recorder->constant_count);
    if (!recorder->transcript)
        return WNNStatus_OutOfMemory;
    memcpy(recorder->transcript->bytes + recorder->written, data, size);
    recorder->written += size;
    return WNNStatus_Success;
}

// A reference to a constant, or, if its bytes are not to be kept, to one that only has its name.
static struct constant *keep_constant(const struct recorder *recorder, struct constant *constant)
{
    return recorder->weightless && constant->origin
               ? wnn_constant_promise(recorder->allocator, constant->bytes, constant->origin)
               : wnn_constant_ref(constant);
}

static bool record(struct recorder *recorder, struct WNNGraphBuilderImpl *builder, struct arena *arena,
                   struct error *error)
{
    const struct graph *graph = &builder->graph;
    WNNNamedOperand *outputs = wnn_arena_allocate(arena, (graph->output_count + 1) * sizeof *outputs);
    recorder->constants = wnn_arena_allocate(arena, (graph->operand_count + 1) * sizeof *recorder->constants);
    if (!outputs || !recorder->constants)
        return wnn_fail_memory(error);
    for (size_t i = 0; i < graph->output_count; i++)
        outputs[i] =
            (WNNNamedOperand){wnn_string_view(graph->outputs[i].name), (WNNOperand)graph->outputs[i].operand};
    const WNNSerializeDescriptor descriptor = {.outputCount = graph->output_count,
                                               .outputs = outputs,
                                               .refer = refer,
                                               .write = keep,
                                               .userdata1 = recorder};
    char message[WNN_MESSAGE_SIZE];
    WNNStatus status = wnnGraphBuilderSerialize(builder, &descriptor, sizeof message, message);
    if (status != WNNStatus_Success)
        return wnn_fail(error, status, "build: %s", message);
    for (size_t i = 0; i < recorder->constant_count; i++)
        if (!(recorder->transcript->constants[i] = keep_constant(recorder, recorder->constants[i])))
            return wnn_fail_memory(error);
    return true;
}

static void move_operands(struct graph *graph)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        graph->operands[i]->graph = graph;
}

struct transcript *wnn_transcript_create(struct graph *snapshot, bool weightless, struct error *error)
{
    // The graph is a builder's as long as it is written.
    struct allocator *allocator = snapshot->arena.allocator;
    const WNNLimits limits = {0};
    struct WNNGraphBuilderImpl builder;
    struct recorder recorder = {.allocator = allocator, .weightless = weightless};
    struct arena arena;
    wnn_builder_init(&builder, allocator, &limits, NULL, NULL);
    wnn_arena_init(&arena, allocator);
    builder.graph = *snapshot;
    move_operands(&builder.graph);
    bool done = record(&recorder, &builder, &arena, error);
    move_operands(snapshot);
    wnn_graph_init(&builder.graph, allocator);
    wnn_builder_free(&builder);
    wnn_arena_free(&arena);
    if (done)
        return recorder.transcript;
    wnn_transcript_free(recorder.transcript);
    return NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------------------------

struct replay {
    const struct transcript *transcript;
    wnn_resolve_constant *resolve;
    void *resolver;
};

// A reference.
static struct constant *take_constant(const struct replay *replay, WNNDataType type,
                                      struct constant *constant)
{
    return wnn_constant_is_promised(constant) && wnn_may_tell_sizes(type, constant->bytes)
               ? replay->resolve(replay->resolver, constant)
               : wnn_constant_ref(constant);
}

static WNNOperand find(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                       const WNNConstantReference *reference, void *userdata1, void *userdata2)
{
    const struct replay *replay = userdata1;
    const unsigned char *id = reference->id;
    (void)userdata2;
    if (reference->form != WNNConstantForm_Id || reference->idLength != 4)
        return NULL;
    size_t number = id[0] | (size_t)id[1] << 8 | (size_t)id[2] << 16 | (size_t)id[3] << 24;
    if (number >= replay->transcript->constant_count)
        return NULL;
    struct constant *constant =
        take_constant(replay, descriptor->dataType, replay->transcript->constants[number]);
    WNNOperand operand = constant ? wnn_builder_share_constant(builder, descriptor, constant) : NULL;
    wnn_constant_unref(constant);
    return operand;
}

WNNStatus wnn_transcript_replay(const struct transcript *transcript, wnn_resolve_constant *resolve,
                                void *resolver, WNNGraphBuilder builder, WNNDeserializedGraph *graph)
{
    struct replay replay = {transcript, resolve, resolver};
    const WNNDeserializeDescriptor descriptor = {
        .data = transcript->bytes, .byteLength = transcript->size, .find = find, .userdata1 = &replay};
    return wnnGraphBuilderDeserialize(builder, &descriptor, graph);
}
