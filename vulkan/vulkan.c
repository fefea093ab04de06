// SPDX-License-Identifier: Apache-2.0
//
// The backend: one device a context, one program an executable.

#include "vulkan/vulkan.h"

#include "compiler/stored.h"
#include "lib/half.h"
#include "ops/geometry.h"
#include "vulkan/program/constants.h"
#include "vulkan/program/execution.h"
#include "vulkan/ops/deferred.h"
#include "vulkan/ops/operators.h"
#include "vulkan/ops/weights.h"
#include "vulkan/device/described.h"
#include "vulkan/device/open.h"
#include "vulkan/device/probe.h"
#include "vulkan/ops/attention_tiles.h"

#include <math.h>
#include <string.h>

enum {
    MAX_TESTS = 16
};

struct vulkan {
    struct allocator *allocator;
    struct gpu gpu;
    struct pipelines pipelines;
    struct transfers transfers;
    struct shared_constants constants;
    bool flushes_denormals;
    // Before the first graph, or before somebody asks what comes out, the device is tested, and before the
    // first that multiplies what units there are for float16 and bfloat16, of which nothing is known until
    // then.
    pthread_mutex_t test_lock;
    bool tested;
    struct matrix_size untested[2];
    // What that was done with, the test of the device first: graphs are saved with it, so that it is not
    // compiled again.
    struct pipeline *tests[MAX_TESTS];
    size_t test_count;
    bool testing;
    char target[STORED_TARGET_TEXT]; // what code and the order of constants depend on
};

// ---------------------------------------------------------------------------------------------------------------
// Lowering a node
// ---------------------------------------------------------------------------------------------------------------

enum {
    MAX_FUSED_INPUTS = 4 // of a node, the first
};

// A node as its operator sees it: inputs are of the types that what is fused at them makes.
struct seen {
    struct node node;
    struct operand operands[MAX_FUSED_INPUTS], *in[MAX_FUSED_INPUTS];
};

static WNNDataType made_type(const struct expression *fused)
{
    return fused->steps[fused->count - 1].type.type;
}

static const struct node *see(const struct node *node, struct seen *seen)
{
    if (!node->fused || node->in_count > MAX_FUSED_INPUTS) // at outputs only
        return node;
    seen->node = *node;
    seen->node.in = seen->in;
    seen->node.fused = NULL;
    for (unsigned i = 0; i < node->in_count; i++) {
        const struct expression *fused = wnn_fused(node, i);
        seen->in[i] = node->in[i];
        if (!fused)
            continue;
        seen->operands[i] = *node->in[i];
        seen->operands[i].type.type = made_type(fused);
        seen->in[i] = &seen->operands[i];
    }
    return &seen->node;
}

// SIZE_MAX: more than there can be.
static size_t scratch_of(const struct gpu *gpu, const struct node *node)
{
    struct seen seen;
    if (node->op == WNN_OP_elementwise)
        return wnn_scratch_of_elementwise(gpu, node);
    if (node->op == WNN_OP_attention)
        return wnn_scratch_of_attention(gpu, node);
    const struct gpu_operator *row = wnn_gpu_operators[node->op];
    return row->scratch ? row->scratch(see(node, &seen)) : 0;
}

static struct tensor describe_tensor(const struct operand *operand, struct region region)
{
    return (struct tensor){.region = region,
                           .type = operand->type.type,
                           .shape = operand->type.shape,
                           .count = wnn_shape_elements(&operand->type.shape)};
}

static struct fused fused_of(const struct expression *fused, const struct tensor *in)
{
    return (struct fused){fused->steps, fused->count, in + fused->first, fused->operand_count, fused->from};
}

// `in` and `out` have the regions of the operands. What was chosen stands in the lowering then.
static bool lower_node(struct vulkan *vulkan, const struct gpu_operator *row, struct program *program,
                       const struct node *node, struct tensor *in, struct tensor *out, struct region scratch,
                       uint64_t work_beside, struct lowering *lowering, struct error *error)
{
    *lowering = (struct lowering){.gpu = &vulkan->gpu,
                                  .program = program,
                                  .node = node,
                                  .error = error,
                                  .late = wnn_node_is_late(node),
                                  .in = in,
                                  .out = out,
                                  .scratch = scratch,
                                  .work_beside = work_beside};
    const struct expression *fused = wnn_fused(node, WNN_AT_OUTPUT);
    struct fused results, inputs[MAX_FUSED_INPUTS];
    if (!row->lower)
        return wnn_fail(error, WNNStatus_NotSupportedError, "Vulkan: there is no %s", wnn_ops[node->op].name);
    if (fused) {
        results = fused_of(fused, in);
        lowering->fused = &results;
    }
    for (unsigned i = 0; i < MAX_FUSED_INPUTS && i < node->in_count; i++) {
        fused = wnn_fused(node, i);
        if (!fused)
            continue;
        inputs[i] = fused_of(fused, in);
        in[i].type = made_type(fused);
        in[i].fused = &inputs[i];
    }
    row->lower(lowering);
    return !lowering->failed ||
           wnn_fail(error, WNNStatus_OperationError, "Vulkan: %s cannot be lowered", wnn_ops[node->op].name);
}

// Comes in to the device. False (and `error`): it is gone.
static bool enter(struct vulkan *vulkan, struct error *error)
{
    wnn_gate_enter(&vulkan->gpu.gate);
    if (!vulkan->gpu.gone)
        return true;
    wnn_gate_leave(&vulkan->gpu.gate);
    return wnn_gpu_fail(&vulkan->gpu, VK_ERROR_DEVICE_LOST, "an earlier call", error);
}

static bool leave(struct vulkan *vulkan, bool done)
{
    wnn_gate_leave(&vulkan->gpu.gate);
    return done;
}

static bool multiplies(const struct graph *graph)
{
    bool products = false;
    for (size_t i = 0; i < graph->node_count; i++)
        products = products || wnn_op_multiplies((enum op)graph->nodes[i]->op);
    return products;
}

// What a graph that was loaded brings with it, while it is built; NULL: nothing any more.
static void offer_code(struct vulkan *vulkan, const struct graph *graph)
{
    vulkan->pipelines.cache.code = graph ? graph->code : NULL;
    vulkan->pipelines.cache.code_count = graph ? graph->code_count : 0;
}

static bool test(struct vulkan *vulkan, const struct graph *graph, struct error *error);

// Whether the bytes of all constants are there, or will be; otherwise the plan is never lowered.
static bool has_constants(const struct plan *plan)
{
    return (plan->resolver && plan->resolver->find) || !wnn_find_promised(&plan->graph);
}

static bool partition(void *state, struct plan *plan, struct error *error)
{
    struct vulkan *vulkan = state;
    struct graph *graph = &plan->graph;
    if (!test(vulkan, graph, error))
        return false;
    wnn_graph_count_uses(graph);
    if (has_constants(plan)) {
        if (!wnn_turn_filters(graph))
            return wnn_fail_memory(error);
        if (!wnn_arrange_weights(&vulkan->gpu, plan, error))
            return false;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        size_t bytes = scratch_of(&vulkan->gpu, graph->nodes[i]);
        graph->nodes[i]->lowering = 0;
        graph->nodes[i]->scratch_bytes = bytes == SIZE_MAX ? 0 : bytes; // which lower() notices
    }
    wnn_defer_nodes(&vulkan->gpu, graph);
    return true;
}

// Results are at hand where a kernel finishes them, whatever it is. Elements that are read are computed each
// time, so that only operators that read each of them a few times at most say that they do
// (gpu_operator.fuses_prologue).
static bool can_fuse(void *state, const struct node *node)
{
    const struct gpu *gpu = &((const struct vulkan *)state)->gpu;
    const struct gpu_operator *row = wnn_gpu_operators[node->op];
    unsigned at = node->fused->at;
    struct seen seen;
    bool taken = at == WNN_AT_OUTPUT ? row->fuses_epilogue
                                     : at < MAX_FUSED_INPUTS && node->in_count <= MAX_FUSED_INPUTS &&
                                           row->fuses_prologue && row->fuses_prologue(see(node, &seen), at);
    taken = taken || (at == 1 && wnn_takes_quantized(gpu, node));
    return taken && wnn_shader_node_bindings(gpu, node) <= gpu->can.buffers;
}

static bool computes(enum op op)
{
    return wnn_gpu_operators[op] != NULL;
}

static bool wants_attended(void *state, const struct node *node, size_t sharing)
{
    return wnn_wants_attended(&((const struct vulkan *)state)->gpu, node, sharing);
}

static bool in_place(void *state, const struct node *node, unsigned input)
{
    if (node->op == WNN_OP_elementwise)
        return wnn_elementwise_shares(&((const struct vulkan *)state)->gpu, node, input);
    const struct operand *in = node->in[input], *out = node->out[0];
    const struct expression *fused = wnn_fused(node, WNN_AT_OUTPUT);
    if (fused && input >= fused->first && input < fused->first + fused->operand_count)
        return wnn_shape_elements(&in->type.shape) == wnn_shape_elements(&out->type.shape) &&
               wnn_dtype_bits(in->type.type) == wnn_dtype_bits(out->type.type);
    return input < node->in_count && input < 32 && wnn_gpu_operators[node->op]->in_place >> input & 1 &&
           (node->op == WNN_OP_reshape || wnn_shape_equal(&in->type.shape, &out->type.shape));
}

// ---------------------------------------------------------------------------------------------------------------
// Executables
// ---------------------------------------------------------------------------------------------------------------

// The operands of a node, the inputs first; NULL: no memory.
static struct tensor *describe_operands(struct executable *executable, const struct node *node)
{
    unsigned in_count = wnn_operand_count(node);
    struct tensor *tensors =
        wnn_arena_allocate(&executable->records, ((size_t)in_count + node->out_count) * sizeof tensors[0]);
    for (unsigned i = 0; tensors && i < in_count + node->out_count; i++) {
        const struct operand *operand = i < in_count ? node->in[i] : node->out[i - in_count];
        if (operand)
            tensors[i] = describe_tensor(operand, executable->regions[operand->index]);
    }
    return tensors;
}

// Lets those inputs of a node that are deferred be made of what is there. False: no memory.
static bool describe_deferred(struct executable *executable, const struct node *node, struct tensor *tensors)
{
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        const struct node *from = node->in[i] ? wnn_deferred_node(node->in[i]) : NULL;
        if (!from)
            continue;
        struct deferred *deferred = wnn_arena_allocate(&executable->records, sizeof *deferred);
        struct tensor *in = describe_operands(executable, from);
        if (!deferred || !in)
            return false;
        *deferred = (struct deferred){from, in};
        tensors[i].deferred = deferred;
    }
    return true;
}

static uint64_t work_of(const struct node *node)
{
    if (node->lowering == WNN_LOWER_VIEW || node->deferred)
        return 0;
    return wnn_op_work((enum op)node->op, node->in, &node->out[0]->type, 1, node->attrs);
}

// Of the nodes from `first` on that are on its level.
static uint64_t work_of_level(const struct graph *graph, size_t first)
{
    uint64_t work = 0;
    for (size_t i = first; i < graph->node_count && graph->nodes[i]->level == graph->nodes[first]->level; i++)
        if (!wnn_add(work, work_of(graph->nodes[i]), &work))
            return UINT64_MAX;
    return work;
}

static bool lower_nodes(struct vulkan *vulkan, struct executable *executable, struct error *error)
{
    struct graph *graph = &executable->plan->graph;
    uint64_t level_work = 0;
    wnn_settle_deferred(&vulkan->gpu, graph);
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        if (i == 0 || node->level != graph->nodes[i - 1]->level)
            level_work = work_of_level(graph, i);
        node->kernel = node->deferred ? "readers" : "view";
        node->reason = node->deferred ? "a dispatch more would take longer" : NULL;
        if (node->lowering == WNN_LOWER_VIEW || node->deferred)
            continue;
        if (!wnn_interrupt_check(executable->plan->interrupt, error))
            return false;
        if (scratch_of(&vulkan->gpu, node) == SIZE_MAX)
            return wnn_fail(error, WNNStatus_OutOfMemory, "Vulkan: %s needs more memory than can be",
                            wnn_ops[node->op].name);
        struct arena_mark mark = wnn_arena_mark(&executable->records);
        unsigned in_count = wnn_operand_count(node);
        struct tensor *tensors = describe_operands(executable, node);
        if (!tensors || !describe_deferred(executable, node, tensors))
            return wnn_fail_memory(error);
        struct region scratch = {&executable->variables[0], node->scratch_offset, node->scratch_bytes};
        struct lowering lowering;
        if (!lower_node(vulkan, wnn_gpu_operators[node->op], &executable->program, node, tensors,
                        tensors + in_count, scratch, level_work - work_of(node), &lowering, error))
            return false;
        node->kernel = lowering.kernel ? lowering.kernel : "copy";
        node->reason = lowering.reason;
        wnn_arena_rewind(&executable->records, mark);
    }
    return true;
}

static void list_pipeline(struct executable *executable, struct pipeline *pipeline)
{
    if (!pipeline || pipeline->taken)
        return;
    pipeline->taken = true;
    executable->pipelines[executable->pipeline_count++] = pipeline;
}

// What code the executable is saved with, in the order of first use.
static bool keep_code(struct vulkan *vulkan, struct executable *executable, struct error *error)
{
    const struct plan *plan = executable->plan;
    size_t tests = multiplies(&plan->graph) || vulkan->test_count == 0 ? vulkan->test_count : 1,
           most = tests + executable->program.dispatches;
    if (!plan->savable)
        return true;
    executable->pipelines =
        wnn_arena_allocate(&executable->records, (most + 1) * sizeof executable->pipelines[0]);
    if (!executable->pipelines)
        return wnn_fail_memory(error);
    for (size_t i = 0; i < tests; i++)
        list_pipeline(executable, vulkan->tests[i]);
    for (const struct step *step = executable->program.first; step; step = step->next)
        list_pipeline(executable, step->pipeline);
    for (size_t i = 0; i < executable->pipeline_count; i++)
        executable->pipelines[i]->taken = false;
    return wnn_pipelines_compile(&vulkan->pipelines, vulkan->tests, tests, true, error);
}

static bool code(const void *pointer, size_t number, struct stored_code *code)
{
    const struct executable *executable = pointer;
    const struct choice *choice = executable->program.choices;
    if (number >= executable->pipeline_count) {
        for (number -= executable->pipeline_count; choice && number > 0; number--)
            choice = choice->next;
        if (!choice)
            return false;
        *code = (struct stored_code){.data = choice->choice.bytes, .bytes = sizeof choice->choice.bytes};
        memcpy(code->key, choice->choice.key.bytes, sizeof code->key);
        return true;
    }
    const struct pipeline *pipeline = executable->pipelines[number];
    *code = (struct stored_code){.data = pipeline->entry.memory, .bytes = pipeline->entry.bytes};
    memcpy(code->key, pipeline->key.bytes, sizeof code->key);
    return true;
}

static void free_executable(struct vulkan *vulkan, struct executable *executable)
{
    wnn_executable_free(&vulkan->gpu, executable);
    for (size_t i = 0; i < executable->constant_count; i++)
        wnn_buffer_free(&vulkan->gpu, &executable->constants[i]);
    wnn_shared_release(&vulkan->constants, &executable->shared);
    wnn_arena_free(&executable->records);
    wnn_release(vulkan->allocator, executable);
}

static void release(void *state, void *executable)
{
    struct vulkan *vulkan = state;
    wnn_gate_enter(&vulkan->gpu.gate);
    free_executable(vulkan, executable);
    wnn_gate_leave(&vulkan->gpu.gate);
}

static bool make_executable(struct vulkan *vulkan, struct plan *plan, void **result, struct error *error)
{
    if (vulkan->gpu.lost)
        return wnn_gpu_fail(&vulkan->gpu, VK_ERROR_DEVICE_LOST, "an earlier call", error);
    struct executable *executable = wnn_allocate_zero(vulkan->allocator, sizeof *executable);
    if (!executable)
        return wnn_fail_memory(error);
    executable->plan = plan;
    wnn_arena_init(&executable->records, vulkan->allocator);
    wnn_program_init(&executable->program, &vulkan->gpu, &vulkan->pipelines);
    executable->program.kept = plan->savable;
    executable->program.searches =
        vulkan->gpu.can.type != VK_PHYSICAL_DEVICE_TYPE_CPU || vulkan->gpu.can.always_matrices;
    bool done = wnn_executable_begin(&vulkan->gpu, executable, error) &&
                wnn_constants_load(&vulkan->constants, executable, error) &&
                lower_nodes(vulkan, executable, error) && wnn_program_finish(&executable->program, error) &&
                keep_code(vulkan, executable, error) &&
                (vulkan->gpu.is_described || wnn_executable_end(&vulkan->gpu, executable, error));
    if (done)
        *result = executable;
    else
        free_executable(vulkan, executable);
    return done;
}

static void measure(void *state, const void *pointer, struct executable_size *size)
{
    const struct executable *executable = pointer;
    (void)state;
    *size = (struct executable_size){.device = executable->program.parameters.charged};
    for (size_t i = 0; i < executable->constant_count; i++) {
        size->weights += executable->constants[i].bytes;
        size->device += executable->constants[i].charged;
    }
    for (size_t i = 0; i < executable->shared.piece_count; i++) {
        const struct buffer *buffer = &executable->shared.pieces[i]->buffer;
        size->weights += buffer->bytes;
        size->device += buffer->charged;
    }
    for (size_t i = 0; i < executable->flight_count; i++) {
        const struct flight *flight = &executable->flights[i];
        const struct buffer *const buffers[] = {&flight->arena, &flight->inputs, &flight->upload,
                                                &flight->readback, &flight->counters};
        size->execution += i == 0 ? flight->arena.bytes : 0;
        for (size_t k = 0; k < sizeof buffers / sizeof buffers[0]; k++)
            size->device += buffers[k]->charged;
    }
}

static bool lower(void *state, struct plan *plan, void **executable, struct error *error)
{
    struct vulkan *vulkan = state;
    if (!enter(vulkan, error))
        return false;
    vulkan->pipelines.interrupt = plan->interrupt;
    offer_code(vulkan, &plan->graph);
    bool done = make_executable(vulkan, plan, executable, error);
    offer_code(vulkan, NULL);
    vulkan->pipelines.interrupt = NULL;
    return leave(vulkan, done);
}

static bool is_there(const struct vulkan *vulkan, struct error *error)
{
    return !vulkan->gpu.is_described ||
           wnn_fail(error, WNNStatus_NotSupportedError,
                    "the device %.64s is described, and not there: graphs are compiled for it, and none runs",
                    vulkan->gpu.can.name);
}

static bool submit(void *state, void *executable, const struct bindings *bindings, void **flight,
                   struct error *error)
{
    struct vulkan *vulkan = state;
    if (is_there(vulkan, error) && enter(vulkan, error))
        return leave(vulkan, wnn_execution_submit(&vulkan->gpu, executable, bindings, flight, error));
    wnn_execution_clear(executable, bindings);
    return false;
}

static bool retire(void *state, void *executable, void *flight, const struct bindings *bindings,
                   struct error *error)
{
    struct vulkan *vulkan = state;
    wnn_gate_enter(&vulkan->gpu.gate);
    return leave(vulkan, wnn_execution_retire(&vulkan->gpu, executable, flight, bindings, error));
}

static bool execute(void *state, void *executable, const struct bindings *bindings, struct error *error)
{
    void *flight;
    return submit(state, executable, bindings, &flight, error) &&
           retire(state, executable, flight, bindings, error);
}

// ---------------------------------------------------------------------------------------------------------------
// Single nodes, from host memory to host memory
// ---------------------------------------------------------------------------------------------------------------

// Operands in the order of inputs, outputs, scratch.
struct single {
    struct program program;
    struct recording recording;
    struct buffer buffer, readback;
    struct tensor *tensors;
    struct upload *uploads;
};

// In pieces, between which it can be stopped.
static bool run_recording(struct vulkan *vulkan, const struct recording *recording, struct error *error)
{
    struct command_pool *pool = &recording->program->command_pool;
    for (size_t i = 0; i < recording->count; i++)
        recording->batches[i] = (struct batch){&recording->commands[i], 1};
    for (size_t i = 0, count; i < recording->count; i += count) {
        count = recording->count - i < AT_ONCE ? recording->count - i : AT_ONCE;
        if (!wnn_interrupt_check(vulkan->pipelines.interrupt, error) ||
            !wnn_gpu_run_batches(&vulkan->gpu, pool, recording->batches + i, count, error))
            return false;
    }
    return true;
}

static bool run_single(struct vulkan *vulkan, const struct gpu_operator *row, struct single *single,
                       const struct node *node, const void *const *in, void *const *out, struct arena *arena,
                       struct error *error)
{
    struct gpu *gpu = &vulkan->gpu;
    unsigned in_count = wnn_operand_count(node);
    size_t count = (size_t)in_count + node->out_count, at = 0, scratch = scratch_of(gpu, node), uploads = 0;
    single->tensors = wnn_arena_allocate(arena, count * sizeof single->tensors[0]);
    single->uploads = wnn_arena_allocate(arena, (in_count + 1) * sizeof single->uploads[0]);
    if (!single->tensors || !single->uploads || scratch == SIZE_MAX)
        return wnn_fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        const struct operand *operand = i < in_count ? node->in[i] : node->out[i - in_count];
        if (!operand)
            continue;
        size_t bytes = wnn_descriptor_bytes(&operand->type);
        struct region region = {&single->buffer, at, bytes};
        single->tensors[i] = describe_tensor(operand, region);
        at += wnn_aligned(bytes);
        if (i < in_count)
            single->uploads[uploads++] = (struct upload){in[i], region};
    }
    struct region room = {&single->buffer, at, scratch};
    struct lowering lowering;
    struct tensor *outputs = single->tensors + in_count;
    if (!wnn_buffer_create(gpu, at + wnn_aligned(scratch), BUFFER_WRITABLE, &single->buffer, error) ||
        !wnn_gpu_upload(gpu, &single->program.command_pool, single->uploads, uploads, error) ||
        !lower_node(vulkan, row, &single->program, node, single->tensors, outputs, room, 0, &lowering, error))
        return false;
    const struct buffer *from = &single->buffer;
    size_t begin = node->out_count ? outputs[0].region.offset : at, bytes = at - begin;
    if (!single->buffer.readable) {
        struct step *copy = wnn_program_add(&single->program, STEP_COPY, node);
        if (!copy)
            return wnn_fail_memory(error);
        if (!wnn_buffer_create(gpu, bytes, BUFFER_READBACK, &single->readback, error))
            return false;
        copy->binding_count = 2;
        copy->bindings[0] = (struct binding){{&single->buffer, begin, bytes}, false};
        copy->bindings[1] = (struct binding){{&single->readback, 0, bytes}, true};
        from = &single->readback;
    } else {
        begin = 0;
    }
    if (!wnn_program_finish(&single->program, error))
        return false;
    if (gpu->is_described) // its shaders are what was wanted
        return true;
    if (!wnn_program_record(&single->program, &(struct record_params){0}, &single->recording, error) ||
        !run_recording(vulkan, &single->recording, error) || !wnn_buffer_invalidate(gpu, from, error))
        return false;
    for (unsigned i = 0; i < node->out_count; i++)
        memcpy(out[i], (const char *)from->mapped + outputs[i].region.offset - begin,
               outputs[i].region.bytes);
    return true;
}

// One more than there is room for is compiled again each time.
static void note_test(struct vulkan *vulkan, struct pipeline *pipeline)
{
    if (!pipeline || vulkan->test_count == MAX_TESTS)
        return;
    wnn_pipelines_ref(&vulkan->pipelines, pipeline);
    vulkan->tests[vulkan->test_count++] = pipeline;
}

static bool run_operator(struct vulkan *vulkan, const struct gpu_operator *row, const struct node *node,
                         const void *const *in, void *const *out, struct error *error)
{
    struct arena arena;
    struct single single = {0};
    if (vulkan->gpu.lost)
        return wnn_gpu_fail(&vulkan->gpu, VK_ERROR_DEVICE_LOST, "an earlier call", error);
    wnn_arena_init(&arena, vulkan->allocator);
    wnn_program_init(&single.program, &vulkan->gpu, &vulkan->pipelines);
    bool done = run_single(vulkan, row, &single, node, in, out, &arena, error);
    for (const struct step *step = vulkan->testing ? single.program.first : NULL; step; step = step->next)
        note_test(vulkan, step->pipeline);
    wnn_recording_free(&single.recording);
    wnn_program_free(&single.program);
    wnn_buffer_free(&vulkan->gpu, &single.buffer);
    wnn_buffer_free(&vulkan->gpu, &single.readback);
    wnn_arena_free(&arena);
    return done;
}

static bool evaluate(void *state, const struct node *node, const void *const *in, void *const *out,
                     bool portable, const struct interrupt *interrupt)
{
    struct vulkan *vulkan = state;
    struct error error = {0};
    (void)portable; // the target is one device
    if (vulkan->gpu.is_described || !test(vulkan, NULL, &error) || !enter(vulkan, &error))
        return false;
    const struct interrupt *outer = vulkan->pipelines.interrupt; // of a plan that is lowered
    vulkan->pipelines.interrupt = interrupt;
    bool done = run_operator(vulkan, wnn_gpu_operators[node->op], node, in, out, &error);
    vulkan->pipelines.interrupt = outer;
    return leave(vulkan, done);
}

// ---------------------------------------------------------------------------------------------------------------
// The state
// ---------------------------------------------------------------------------------------------------------------

// Inside of the gate.
static void close_state(struct vulkan *vulkan)
{
    pthread_mutex_destroy(&vulkan->test_lock);
    wnn_shared_close(&vulkan->constants);
    wnn_pipelines_close(&vulkan->pipelines);
    wnn_transfers_close(&vulkan->gpu, &vulkan->transfers);
    wnn_gpu_close(&vulkan->gpu);
    wnn_release(vulkan->allocator, vulkan);
}

static void destroy(void *state)
{
    struct vulkan *vulkan = state;
    wnn_gate_enter(&vulkan->gpu.gate);
    close_state(vulkan);
}

// A dispatch that tells something of the device: what it reads and writes are words.
static bool run_test(struct vulkan *vulkan, const struct gpu_operator *row, const void *in, uint32_t in_words,
                     uint32_t *out, uint32_t out_words, struct error *error)
{
    struct operand operands[] = {{.type = {WNNDataType_Uint32, {1, {in_words}}}},
                                 {.type = {WNNDataType_Uint32, {1, {out_words}}}}};
    struct operand *inputs[] = {&operands[0]}, *outputs[] = {&operands[1]};
    const struct node node = {
        .op = WNN_OP_identity, .in = inputs, .out = outputs, .in_count = 1, .out_count = 1};
    return run_operator(vulkan, row, &node, (const void *[]){in}, (void *[]){out}, error);
}

// Whether known answers come out, and what the device's arithmetic does.
static bool test_device(struct vulkan *vulkan, struct error *error)
{
    static const struct gpu_operator probe = {.lower = wnn_lower_probe};
    float in[PROBE_IN];
    uint32_t out[PROBE_OUT] = {0};
    wnn_probe_fill(in);
    if (vulkan->gpu.is_described) {
        // It is taken to do what all do that are known: on processors fma() rounds twice. If it does not, its
        // shaders are others, which are compiled where it is.
        struct capabilities *can = &vulkan->gpu.can;
        can->halves = can->rounds_halves = !can->minimal;
        can->single_rounding_fma = !can->minimal && can->type != VK_PHYSICAL_DEVICE_TYPE_CPU;
    }
    return run_test(vulkan, &probe, in, PROBE_IN, out, PROBE_OUT, error) &&
           (vulkan->gpu.is_described ||
            wnn_probe_read(in, out, &vulkan->gpu.can, &vulkan->flushes_denormals) ||
            wnn_fail(error, WNNStatus_NotSupportedError, "the Vulkan device %.64s computes wrong numbers",
                     vulkan->gpu.can.name));
}

// A product of matrices that fill no tile, whose float32 numbers need all of their bits.
enum {
    TEST_ROWS = 35,
    TEST_INNER = 37,
    TEST_COLUMNS = 18
};

static bool multiplies_right(struct vulkan *vulkan, WNNDataType type)
{
    float a[TEST_ROWS * TEST_INNER], b[TEST_INNER * TEST_COLUMNS], out[TEST_ROWS * TEST_COLUMNS];
    uint16_t half_a[TEST_ROWS * TEST_INNER], half_b[TEST_INNER * TEST_COLUMNS],
        half_out[TEST_ROWS * TEST_COLUMNS];
    bool half = type == WNNDataType_Float16;
    for (uint32_t i = 0; i < TEST_ROWS * TEST_INNER; i++) {
        a[i] = half ? (float)(i * 2654435761u >> 28) - 8 : (float)(i * 2654435761u >> 8) - 0x1p23f;
        half_a[i] = wnn_half_from_float(a[i]);
    }
    for (uint32_t i = 0; i < TEST_INNER * TEST_COLUMNS; i++) {
        b[i] = half ? (float)(i * 2246822519u >> 29) - 4 : (float)(i * 2246822519u >> 8) - 0x1p23f;
        half_b[i] = wnn_half_from_float(b[i]);
    }
    struct operand operands[] = {{.type = {type, {2, {TEST_ROWS, TEST_INNER}}}},
                                 {.type = {type, {2, {TEST_INNER, TEST_COLUMNS}}}},
                                 {.type = {type, {2, {TEST_ROWS, TEST_COLUMNS}}}}};
    struct operand *inputs[] = {&operands[0], &operands[1]}, *outputs[] = {&operands[2]};
    struct node node = {.op = WNN_OP_matmul, .in = inputs, .out = outputs, .in_count = 2, .out_count = 1};
    const void *from[] = {half ? (void *)half_a : a, half ? (void *)half_b : b};
    void *to[] = {half ? (void *)half_out : out};
    struct error ignored = {0};
    bool right = run_operator(vulkan, wnn_gpu_operators[node.op], &node, from, to, &ignored);
    for (unsigned i = 0; right && !vulkan->gpu.is_described && i < TEST_ROWS * TEST_COLUMNS; i++) {
        const float *row = a + i / TEST_COLUMNS * TEST_INNER, *column = b + i % TEST_COLUMNS;
        double sum = 0, most = 0, result = half ? wnn_half_to_float(half_out[i]) : out[i];
        for (unsigned k = 0; k < TEST_INNER; k++) {
            sum += (double)row[k] * column[k * TEST_COLUMNS];
            most += fabs((double)row[k] * column[k * TEST_COLUMNS]);
        }
        right = fabs(result - sum) <= (half ? 0 : most * 0x1p-20);
    }
    return right;
}

static bool knows_places(struct vulkan *vulkan)
{
    static const struct gpu_operator places = {.lower = wnn_lower_places};
    const uint32_t none[1] = {0};
    uint32_t out[WNN_PLACES] = {0};
    struct error ignored = {0};
    const struct capabilities *can = &vulkan->gpu.can;
    // The device itself must find the same, or it could not read how weights lie for it.
    return wnn_may_know_places(can) && run_test(vulkan, &places, none, 1, out, WNN_PLACES, &ignored) &&
           (vulkan->gpu.is_described ? wnn_are_described_places(can) : wnn_are_places(out));
}

// Matrix units that are wrong are as good as none. Before the first graph that could use them, since their
// kernels take long to compile.
static void test_matrices(struct vulkan *vulkan)
{
    struct capabilities *can = &vulkan->gpu.can;
    bool always = can->always_matrices;
    can->always_matrices = true;
    can->half_matrices = vulkan->untested[0];
    if (can->half_matrices.m > 0 && !multiplies_right(vulkan, WNNDataType_Float16))
        can->half_matrices = (struct matrix_size){0};
    can->known_places = knows_places(vulkan);
    can->bfloat16_matrices = vulkan->untested[1];
    if (can->bfloat16_matrices.m > 0 && !multiplies_right(vulkan, WNNDataType_Float32))
        can->bfloat16_matrices = (struct matrix_size){0};
    can->always_matrices = always;
    vulkan->untested[0] = vulkan->untested[1] = (struct matrix_size){0};
}

// What has not been tested yet; `graph` is built next, or NULL: none. Code that it brings is used. False: the
// device will not do, or it failed now.
static bool test(struct vulkan *vulkan, const struct graph *graph, struct error *error)
{
    bool matrices = graph && multiplies(graph) && (vulkan->untested[0].m > 0 || vulkan->untested[1].m > 0);
    pthread_mutex_lock(&vulkan->test_lock);
    bool done = vulkan->tested;
    if ((!done || matrices) && enter(vulkan, error)) {
        offer_code(vulkan, graph);
        vulkan->testing = true;
        done = vulkan->tested = done || test_device(vulkan, error);
        if (done && matrices)
            test_matrices(vulkan);
        vulkan->testing = false;
        offer_code(vulkan, NULL);
        leave(vulkan, true);
    }
    pthread_mutex_unlock(&vulkan->test_lock);
    return done;
}

// Before anything is tested, which changes nothing of it.
static void describe(struct vulkan *vulkan)
{
    struct text text = TEXT(vulkan->target);
    wnn_gpu_write_target(&vulkan->gpu, vulkan->pipelines.glsl->version, &text);
}

// Whether what was read of a description is all that it says.
static bool check_described(struct vulkan *vulkan, struct string target, struct error *error)
{
    return !vulkan->gpu.is_described ||
           (strlen(vulkan->target) == target.length &&
            memcmp(vulkan->target, target.data, target.length) == 0) ||
           wnn_fail(error, WNNStatus_NotSupportedError,
                    "the target is no Vulkan device as this library describes them; the nearest is \"%s\"",
                    vulkan->target);
}

static void describe_target(void *state, struct text *text)
{
    wnn_text_add(text, "%s", ((const struct vulkan *)state)->target);
}

bool wnn_vulkan_create(const struct backend_options *options, const struct gpu_origin *origin, void **state,
                       struct error *error)
{
    struct vulkan *vulkan = wnn_allocate_zero(options->allocator, sizeof *vulkan);
    if (!vulkan)
        return wnn_fail_memory(error);
    vulkan->allocator = options->allocator;
    bool opened = origin->target.length > 0
                      ? wnn_gpu_open_described(&vulkan->gpu, options, origin->target, error)
                      : wnn_gpu_open(&vulkan->gpu, options, origin, error);
    if (opened) {
        pthread_mutex_init(&vulkan->test_lock, NULL);
        wnn_shared_open(&vulkan->constants, &vulkan->gpu);
    }
    if (opened && wnn_pipelines_open(&vulkan->pipelines, &vulkan->gpu, options, error) &&
        (vulkan->gpu.is_described || wnn_transfers_open(&vulkan->gpu, &vulkan->transfers, error))) {
        struct capabilities *can = &vulkan->gpu.can;
        describe(vulkan);
        vulkan->untested[0] = can->half_matrices;
        vulkan->untested[1] = can->bfloat16_matrices;
        can->half_matrices = can->bfloat16_matrices = (struct matrix_size){0};
        if (check_described(vulkan, origin->target, error) &&
            (wnn_gate_register() || wnn_fail_memory(error))) {
            *state = vulkan;
            return leave(vulkan, true);
        }
    }
    if (opened) {
        close_state(vulkan);
        return false;
    }
    wnn_release(options->allocator, vulkan);
    return false;
}

static bool create_vulkan(const struct backend_options *options, void **state, struct error *error)
{
    return wnn_vulkan_create(options, &(struct gpu_origin){.target = options->target}, state, error);
}

static const char *device_name(void *state)
{
    return ((const struct vulkan *)state)->gpu.can.name;
}

static void identify(void *state, WNNDeviceInfo *info)
{
    *info = ((const struct vulkan *)state)->gpu.info;
}

static bool is_lost(void *state)
{
    return ((const struct vulkan *)state)->gpu.lost;
}

static bool flushes_denormals(void *state)
{
    struct vulkan *vulkan = state;
    struct error ignored = {0};
    return test(vulkan, NULL, &ignored) && vulkan->flushes_denormals;
}

static bool tensor_create(void *state, size_t bytes, const WNNChainedStruct *chain, void **tensor,
                          struct error *error)
{
    struct vulkan *vulkan = state;
    struct gpu_tensor *result;
    if (!is_there(vulkan, error))
        return false;
    if (!enter(vulkan, error) ||
        !leave(vulkan, wnn_gpu_tensor_create(&vulkan->gpu, &vulkan->transfers, bytes, chain, &result, error)))
        return false;
    *tensor = result;
    return true;
}

static void tensor_free(void *state, void *tensor)
{
    struct vulkan *vulkan = state;
    wnn_gate_enter(&vulkan->gpu.gate);
    wnn_gpu_tensor_free(&vulkan->gpu, tensor);
    wnn_gate_leave(&vulkan->gpu.gate);
}

static bool tensor_read(void *state, void *tensor, void *data, struct error *error)
{
    struct vulkan *vulkan = state;
    return enter(vulkan, error) &&
           leave(vulkan, wnn_gpu_tensor_read(&vulkan->gpu, &vulkan->transfers, tensor, data, error));
}

static bool tensor_write(void *state, void *tensor, const void *data, struct error *error)
{
    struct vulkan *vulkan = state;
    return enter(vulkan, error) &&
           leave(vulkan, wnn_gpu_tensor_write(&vulkan->gpu, &vulkan->transfers, tensor, data, error));
}

static bool tensor_mapped(void *state, void *tensor)
{
    (void)state;
    return ((const struct gpu_tensor *)tensor)->buffer.mapped;
}

static bool tensor_export(void *state, void *tensor, WNNVulkanMemory *memory, struct error *error)
{
    struct vulkan *vulkan = state;
    return enter(vulkan, error) &&
           leave(vulkan, wnn_gpu_tensor_export(&vulkan->gpu, &vulkan->transfers, tensor, memory, error));
}

static bool tensor_buffer(void *state, void *tensor, WNNVulkanBuffer *buffer, struct error *error)
{
    struct vulkan *vulkan = state;
    return enter(vulkan, error) &&
           leave(vulkan, wnn_gpu_tensor_buffer(&vulkan->gpu, &vulkan->transfers, tensor, buffer, error));
}

static void handles(void *state, WNNVulkanHandles *handles)
{
    struct vulkan *vulkan = state;
    struct error ignored = {0};
    if (enter(vulkan, &ignored)) {
        wnn_gpu_handles(&vulkan->gpu, handles);
        leave(vulkan, true);
    }
}

// Nodes are computed where the device is.
static bool resolves(void *state)
{
    return !((const struct vulkan *)state)->gpu.is_described;
}

static bool syncs(void *state)
{
    return ((const struct vulkan *)state)->gpu.can.timeline;
}

// Three tensors, which is what most operators have, must fit into the buffers that shaders can see, one of
// which holds parameters. One byte short of whole words: clients take one more for the size of something that
// is too large.
static uint64_t max_bytes(void *state)
{
    const struct gpu *gpu = &((const struct vulkan *)state)->gpu;
    uint64_t visible = (uint64_t)wnn_shader_piece(gpu) * ((gpu->can.buffers - 1) / 3);
    return (visible < gpu->can.allocation ? visible : gpu->can.allocation) / 4 * 4 - 1;
}

// Kernels for channels that come second compute an element at a time, and wait for each of its terms; a
// dispatch more takes microseconds.
static bool prefers_nhwc(const struct node *node, uint32_t groups)
{
    enum {
        MANY_TERMS = 128, // take as long as two transposes
        MUCH_WORK = 1 << 24
    };
    (void)groups;
    struct convolution convolution = wnn_node_convolution(node);
    uint64_t terms = (uint64_t)convolution.inputs * convolution.filter.height * convolution.filter.width;
    return terms >= MANY_TERMS ||
           wnn_op_work((enum op)node->op, node->in, &node->out[0]->type, 1, node->attrs) > MUCH_WORK;
}

static size_t rows_of(const struct node *product)
{
    const struct shape *shape = &product->out[0]->type.shape;
    return wnn_shape_elements(shape) / shape->dim[shape->rank - 1];
}

// One product keeps all processors busy; where several are beside each other, each waits for memory by
// itself.
static bool stacks_products(const struct node *node, uint32_t columns)
{
    enum {
        FEW_ROWS = 16 // of which kernels read each matrix as fast as memory is
    };
    size_t rows = rows_of(node), bytes = wnn_dtype_bytes(node->out[0]->type.type, rows * columns);
    return rows > FEW_ROWS && bytes % (4 * sizeof(uint32_t)) == 0; // all begin with whole quads
}

// Two halves are computed together, along with what joins them (wnn_units_pair).
static bool splits_product(const struct node *node, unsigned parts)
{
    enum {
        SMALL = 1 << 20 // results
    };
    return parts == 2 || wnn_shape_elements(&node->out[0]->type.shape) <= SMALL;
}

// Images that are pooled whole are reductions, which read them as they lie.
static bool any_layout(const struct node *node)
{
    return wnn_ops[node->op].class == CLASS_POOLING && wnn_node_pooling(node).global;
}

const struct backend wnn_backend_vulkan = {
    .name = "vulkan",
    .takes_target = true,
    .create = create_vulkan,
    .preferred_layout = WNNInputOperandLayout_NHWC,
    .prefers_nhwc = prefers_nhwc,
    .wants_attended = wants_attended,
    .stacks_products = stacks_products,
    .splits_product = splits_product,
    .unfolds_patches = true,
    .any_layout = any_layout,
    .views = true,
    .concat_in_place = true,
    .levels = true,
    .view_alignment = sizeof(uint32_t),
    .destroy = destroy,
    .can_fuse = can_fuse,
    .fuses_chains = true,
    .quantized_weights = true,
    .evaluate = evaluate,
    .partition = partition,
    .in_place = in_place,
    .enumerate = wnn_gpu_enumerate,
    .max_bytes = max_bytes,
    .device_name = device_name,
    .identify = identify,
    .lost = is_lost,
    .flushes_denormals = flushes_denormals,
    .lower = lower,
    .release = release,
    .describe_target = describe_target,
    .resolves = resolves,
    .arranges = true,
    .code = code,
    .measure = measure,
    .execute = execute,
    .submit = submit,
    .retire = retire,
    .computes = computes,
    .tensor_create = tensor_create,
    .tensor_free = tensor_free,
    .tensor_read = tensor_read,
    .tensor_write = tensor_write,
    .tensor_mapped = tensor_mapped,
    .tensor_export = tensor_export,
    .tensor_buffer = tensor_buffer,
    .handles = handles,
    .syncs = syncs,
};
