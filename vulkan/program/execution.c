// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/execution.h"

#include <string.h>

// Above this an executable has memory for one execution only.
#define MAX_FOR_MORE_FLIGHTS ((uint64_t)256 << 20)

static size_t port_bytes(const struct graph_port *port)
{
    return wnn_descriptor_bytes(&port->operand->type);
}

// The bytes of inputs, or of outputs that are not constant, one behind the other.
static size_t bytes_of(const struct graph_port *ports, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += ports[i].operand->constant ? 0 : wnn_aligned(port_bytes(&ports[i]));
    return bytes;
}

static size_t tensor_count(const struct executable *executable)
{
    return executable->plan->graph.input_count + executable->plan->graph.output_count;
}

// The inputs, and behind them the outputs.
static struct gpu_tensor *tensor_of(const struct executable *executable, const struct bindings *bindings,
                                    size_t i)
{
    size_t inputs = executable->plan->graph.input_count;
    return i < inputs ? (struct gpu_tensor *)(uintptr_t)bindings->inputs[i] : bindings->outputs[i - inputs];
}

// Whether tensor `i`, which is shared with others, stands before it too.
static bool is_repeated(const struct executable *executable, const struct bindings *bindings, size_t i)
{
    const struct gpu_tensor *tensor = tensor_of(executable, bindings, i);
    bool repeated = false;
    for (size_t k = 0; tensor->shared && !repeated && k < i; k++)
        repeated = tensor_of(executable, bindings, k) == tensor;
    return repeated;
}

// ---------------------------------------------------------------------------------------------------------------
// Regions
// ---------------------------------------------------------------------------------------------------------------

static const struct buffer *input_variable(const struct executable *executable, size_t slot)
{
    return &executable->variables[1 + slot];
}

static const struct buffer *output_variable(const struct executable *executable, size_t slot)
{
    return &executable->variables[1 + executable->plan->graph.input_count + slot];
}

static struct region region_of(const struct executable *executable, const struct operand *operand)
{
    const struct placement *place = &operand->placement;
    size_t bytes = wnn_descriptor_bytes(&operand->type);
    switch (place->place) {
    case PLACE_INPUT:
        return (struct region){input_variable(executable, place->slot), 0, bytes};
    case PLACE_OUTPUT:
        return (struct region){output_variable(executable, place->slot), place->within, bytes};
    default:
        return (struct region){&executable->variables[0], place->offset, bytes};
    }
}

bool wnn_executable_begin(struct gpu *gpu, struct executable *executable, struct error *error)
{
    const struct plan *plan = executable->plan;
    const struct graph *graph = &plan->graph;
    size_t variables = 2 + graph->input_count + graph->output_count;
    executable->regions =
        wnn_arena_allocate(&executable->records, graph->operand_count * sizeof(struct region));
    executable->variables = wnn_arena_allocate(&executable->records, variables * sizeof(struct buffer));
    if (!executable->regions || !executable->variables)
        return wnn_fail_memory(error);
    executable->program.variables = executable->variables;
    executable->program.variable_count = variables;
    executable->program.counters = &executable->variables[variables - 1];
    for (size_t i = 0; i < graph->operand_count; i++)
        if (!graph->operands[i]->constant)
            executable->regions[i] = region_of(executable, graph->operands[i]);
    executable->input_bytes = bytes_of(graph->inputs, graph->input_count);
    if (!gpu->is_external) // which computes on tensors only
        executable->readback_bytes = bytes_of(graph->outputs, graph->output_count);
    uint64_t bytes = (uint64_t)plan->arena_bytes + executable->input_bytes + executable->readback_bytes;
    executable->max_flights = bytes > MAX_FOR_MORE_FLIGHTS ? 1 : FLIGHTS;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// What a program is recorded for
// ---------------------------------------------------------------------------------------------------------------

// Everything that a setting needs, while it is made and recorded.
struct record_context {
    const struct executable *executable;
    const struct flight *flight;
    const struct bindings *bindings; // with tensors, or NULL
    struct arena arena;
    struct location *locations;
    struct step *before, *after;
    VkBuffer *foreign;
    size_t foreign_count;
    bool has_lent; // a tensor in a buffer of the caller's
    bool failed;
};

static void *allocate(struct record_context *context, size_t size)
{
    void *memory = wnn_arena_allocate(&context->arena, size);
    context->failed |= !memory;
    return memory;
}

// `output`: of which it is the copy, from 1, or 0.
static void add_copy(struct record_context *context, struct step **list, struct region from, struct region to,
                     size_t output)
{
    if (to.bytes == 0)
        return;
    struct step *step = allocate(context, sizeof *step);
    if (!step)
        return;
    *step = (struct step){.kind = STEP_COPY,
                          .next = *list,
                          .output = output,
                          .parts = 1,
                          .binding_count = 2,
                          .bindings = {{from, false}, {to, true}}};
    *list = step;
}

static struct region tensor_region(struct record_context *context, const struct gpu_tensor *tensor)
{
    struct buffer *buffer = allocate(context, sizeof *buffer);
    if (buffer)
        buffer->handle = tensor->handle;
    return (struct region){buffer, tensor->offset, tensor->bytes};
}

static bool overlap(const struct gpu_tensor *a, const struct gpu_tensor *b)
{
    return a->handle == b->handle && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

// Whether an output, tensor `i`, is to be computed elsewhere: it is an input that is read for too long, or
// shares bytes with another tensor, as only those in buffers of the caller's can.
static bool is_staged(const struct record_context *context, size_t i)
{
    const struct bindings *bindings = context->bindings;
    const struct gpu_tensor *tensor = tensor_of(context->executable, bindings, i), *other;
    bool staged = bindings->staged && bindings->staged[i - context->executable->plan->graph.input_count];
    for (size_t k = 0; context->has_lent && k < tensor_count(context->executable); k++) {
        other = tensor_of(context->executable, bindings, k);
        staged |= other != tensor && overlap(tensor, other);
    }
    return staged;
}

// The tensor number `i`, or NULL: there are none.
static const struct gpu_tensor *meet(struct record_context *context, size_t i)
{
    const struct gpu_tensor *tensor =
        context->bindings ? tensor_of(context->executable, context->bindings, i) : NULL;
    if (tensor && tensor->shared && !is_repeated(context->executable, context->bindings, i))
        context->foreign[context->foreign_count++] = tensor->handle;
    return tensor;
}

static void place_inputs(struct record_context *context)
{
    const struct executable *executable = context->executable;
    const struct graph *graph = &executable->plan->graph;
    const struct flight *flight = context->flight;
    size_t at = 0;
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct gpu_tensor *tensor = meet(context, i);
        size_t bytes = port_bytes(&graph->inputs[i]);
        struct location location = {flight->inputs.handle, at};
        if (tensor && wnn_gpu_tensor_binds(tensor))
            location = (struct location){tensor->handle, tensor->offset};
        else if (tensor)
            add_copy(context, &context->before, tensor_region(context, tensor),
                     (struct region){&flight->inputs, at, bytes}, 0);
        context->locations[1 + i] = location;
        at += wnn_aligned(bytes);
    }
    if (!context->bindings && !flight->inputs.mapped && at > 0)
        add_copy(context, &context->before, (struct region){&flight->upload, 0, at},
                 (struct region){&flight->inputs, 0, at}, 0);
}

static void place_outputs(struct record_context *context)
{
    const struct executable *executable = context->executable;
    const struct graph *graph = &executable->plan->graph;
    const struct flight *flight = context->flight;
    size_t at = 0;
    for (size_t i = 0; i < graph->output_count; i++) {
        const struct operand *operand = graph->outputs[i].operand;
        const struct gpu_tensor *tensor = meet(context, graph->input_count + i);
        size_t bytes = port_bytes(&graph->outputs[i]);
        bool computed = operand->placement.place == PLACE_OUTPUT && operand->placement.slot == i;
        struct location location = {flight->arena.handle, operand->placement.offset};
        if (tensor && computed && wnn_gpu_tensor_binds(tensor) && !is_staged(context, graph->input_count + i))
            location = (struct location){tensor->handle, tensor->offset};
        else if (tensor)
            add_copy(context, &context->after, executable->regions[operand->index],
                     tensor_region(context, tensor), i + 1);
        else if (!flight->arena.mapped && !operand->constant)
            add_copy(context, &context->after, executable->regions[operand->index],
                     (struct region){&flight->readback, at, bytes}, 0);
        context->locations[1 + graph->input_count + i] = location;
        at += operand->constant ? 0 : wnn_aligned(bytes);
    }
}

// `bindings`: with tensors, or NULL.
static bool record(struct gpu *gpu, struct executable *executable, const struct flight *flight,
                   const struct bindings *bindings, enum timestamps timestamps, struct recording *recording,
                   struct error *error)
{
    size_t ports = tensor_count(executable);
    struct record_context context = {.executable = executable, .flight = flight, .bindings = bindings};
    for (size_t i = 0; bindings && i < ports; i++)
        context.has_lent |= tensor_of(executable, bindings, i)->external.buffer != 0;
    wnn_arena_init(&context.arena, gpu->allocator);
    context.locations = allocate(&context, (2 + ports) * sizeof context.locations[0]);
    context.foreign = allocate(&context, (1 + ports) * sizeof context.foreign[0]);
    if (!context.failed) {
        context.locations[0] = (struct location){flight->arena.handle, 0};
        context.locations[1 + ports] = (struct location){flight->counters.handle, 0};
        place_inputs(&context);
        place_outputs(&context);
    }
    const struct record_params params = {.locations = context.locations,
                                         .before = context.before,
                                         .after = context.after,
                                         .foreign = context.foreign,
                                         .foreign_count = context.foreign_count,
                                         .ordered = bindings != NULL,
                                         .timestamps = timestamps};
    bool done = context.failed ? wnn_fail_memory(error)
                               : wnn_program_record(&executable->program, &params, recording, error);
    wnn_arena_free(&context.arena);
    return done;
}

// ---------------------------------------------------------------------------------------------------------------
// Takes
// ---------------------------------------------------------------------------------------------------------------

// More sets of tensors by turns are recorded anew. The least is for any graph, and so many dispatches that a
// take of all of them has some megabytes.
enum {
    MIN_TAKES = 8,
    MAX_TAKES = 64,
    MAX_DISPATCHES = 8192
};

static size_t max_takes(const struct executable *executable)
{
    size_t count = MAX_DISPATCHES / (executable->program.dispatches + 1);
    return count < MIN_TAKES ? MIN_TAKES : count > MAX_TAKES ? MAX_TAKES : count;
}

static bool is_for(const struct executable *executable, const struct cached_recording *cached,
                   const struct bindings *bindings)
{
    if (cached->on_tensors != (bindings != NULL))
        return false;
    for (size_t i = 0; bindings && i < tensor_count(executable); i++)
        if (cached->numbers[i] != tensor_of(executable, bindings, i)->number)
            return false;
    return true;
}

static bool has_take(const struct executable *executable, const struct flight *flight,
                     const struct bindings *bindings)
{
    const struct cached_recording *cached = flight->cached;
    while (cached && !is_for(executable, cached, bindings))
        cached = cached->next;
    return cached;
}

static void free_cached(struct gpu *gpu, struct cached_recording *cached)
{
    wnn_recording_free(&cached->recording);
    wnn_release(gpu->allocator, cached);
}

// NULL: it failed.
static struct cached_recording *make_take(struct gpu *gpu, struct executable *executable,
                                          const struct flight *flight, const struct bindings *bindings,
                                          enum timestamps timestamps, struct error *error)
{
    size_t count = bindings ? tensor_count(executable) : 0;
    struct cached_recording *cached =
        wnn_allocate_zero(gpu->allocator, sizeof *cached + count * sizeof cached->numbers[0]);
    if (!cached) {
        wnn_fail_memory(error);
        return NULL;
    }
    cached->on_tensors = bindings;
    for (size_t i = 0; i < count; i++)
        cached->numbers[i] = tensor_of(executable, bindings, i)->number;
    if (record(gpu, executable, flight, bindings, timestamps, &cached->recording, error))
        return cached;
    free_cached(gpu, cached);
    return NULL;
}

static struct cached_recording *remove_cached(struct flight *flight, struct cached_recording **place)
{
    struct cached_recording *cached = *place;
    *place = cached->next;
    flight->take_count--;
    return cached;
}

static struct recording *add_cached(struct flight *flight, struct cached_recording *cached)
{
    cached->next = flight->cached;
    flight->cached = cached;
    flight->take_count++;
    return &cached->recording;
}

// The take of a flight that is not in flight: made now if there is none that is as it should be; if that
// fails, another for the same memory will do. NULL: there is none. `bindings`: with tensors, or NULL.
static struct recording *find_recording(struct gpu *gpu, struct executable *executable, struct flight *flight,
                                        const struct bindings *bindings, enum timestamps timestamps,
                                        struct error *error)
{
    struct cached_recording **last = NULL, **other = NULL, *cached;
    if (timestamps == TIMESTAMPS_NONE && executable->program.measured)
        timestamps = TIMESTAMPS_SUBMISSIONS;
    for (struct cached_recording **place = &flight->cached; *place; place = &(*place)->next) {
        const struct recording *recording = &(*place)->recording;
        last = place;
        if (!is_for(executable, *place, bindings))
            continue;
        if (recording->timestamps == timestamps && recording->version == executable->program.version)
            return add_cached(flight, remove_cached(flight, place));
        if (recording->timestamps <= timestamps)
            other = place;
    }
    if (!(cached = make_take(gpu, executable, flight, bindings, timestamps, error)))
        return other ? &(*other)->recording : NULL;
    // What is out of date is not needed any more.
    bool outdated = other && (*other)->recording.timestamps == timestamps;
    if (outdated || flight->take_count >= max_takes(executable))
        free_cached(gpu, remove_cached(flight, outdated ? other : last));
    return add_cached(flight, cached);
}

// ---------------------------------------------------------------------------------------------------------------
// Flights
// ---------------------------------------------------------------------------------------------------------------

static void free_flight(struct gpu *gpu, struct flight *flight)
{
    while (flight->cached)
        free_cached(gpu, remove_cached(flight, &flight->cached));
    for (unsigned i = 0; i < PIECES; i++)
        wnn_sync_point_free(gpu, &flight->ends[i]);
    wnn_buffer_free(gpu, &flight->arena);
    wnn_buffer_free(gpu, &flight->inputs);
    wnn_buffer_free(gpu, &flight->upload);
    wnn_buffer_free(gpu, &flight->readback);
    wnn_buffer_free(gpu, &flight->counters);
}

// What the host writes or reads is touched, so that no execution is the first to do so.
static bool make_buffer(struct gpu *gpu, size_t bytes, enum buffer_use use, struct buffer *buffer,
                        struct error *error)
{
    if (bytes > 0 && !wnn_buffer_create(gpu, bytes, use, buffer, error))
        return false;
    if (buffer->mapped && use != BUFFER_DEVICE)
        memset(buffer->mapped, 0, bytes);
    return true;
}

// The first submission behind what has been allocated takes drivers a tenth of a millisecond longer: without
// counters nothing is submitted, so that it is no execution.
static bool clear_counters(struct gpu *gpu, struct executable *executable, struct flight *flight,
                           struct error *error)
{
    struct command_pool *pool = &executable->program.command_pool;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    bool done = wnn_gpu_preparation_begin(gpu, pool, &commands, error);
    if (done && flight->counters.bytes > 0)
        gpu->vk.CmdFillBuffer(commands, flight->counters.handle, 0, VK_WHOLE_SIZE, 0);
    done = done && wnn_gpu_preparation_end(gpu, commands, error) && wnn_gpu_run(gpu, pool, commands, error);
    if (commands)
        gpu->vk.FreeCommandBuffers(gpu->device, pool->handle, 1, &commands);
    flight->is_counting = flight->is_counting && !done;
    return done;
}

// Makes the next flight of a program that is finished.
static bool make_flight(struct gpu *gpu, struct executable *executable, struct error *error)
{
    struct flight *flight = &executable->flights[executable->flight_count];
    // With nothing beyond the minimum there is no memory for both sides.
    enum buffer_use shared = gpu->can.minimal ? BUFFER_DEVICE : BUFFER_WRITABLE;
    bool done =
        make_buffer(gpu, executable->plan->arena_bytes, BUFFER_DEVICE, &flight->arena, error) &&
        make_buffer(gpu, executable->input_bytes, shared, &flight->inputs, error) &&
        make_buffer(gpu, executable->program.counter_bytes, BUFFER_DEVICE, &flight->counters, error) &&
        (flight->counters.bytes == 0 || clear_counters(gpu, executable, flight, error));
    for (unsigned i = 0; done && i < PIECES; i++)
        done = wnn_sync_point_create(gpu, &flight->ends[i], error);
    if (done && !gpu->is_external)
        done = (flight->inputs.mapped ||
                make_buffer(gpu, executable->input_bytes, BUFFER_UPLOAD, &flight->upload, error)) &&
               (flight->arena.mapped ||
                make_buffer(gpu, executable->readback_bytes, BUFFER_READBACK, &flight->readback, error)) &&
               find_recording(gpu, executable, flight, NULL, TIMESTAMPS_NONE, error);
    if (done)
        executable->flight_count++;
    else
        free_flight(gpu, flight);
    return done;
}

bool wnn_executable_end(struct gpu *gpu, struct executable *executable, struct error *error)
{
    // Who builds a specialization waits for its first execution.
    return make_flight(gpu, executable, error) &&
           (executable->plan->graph.recorded || executable->program.counter_bytes > 0 ||
            clear_counters(gpu, executable, &executable->flights[0], error));
}

void wnn_executable_free(struct gpu *gpu, struct executable *executable)
{
    if (gpu->lost)
        wnn_gpu_wait_idle(gpu);
    for (size_t i = 0; i < FLIGHTS; i++)
        free_flight(gpu, &executable->flights[i]);
    wnn_program_free(&executable->program);
}

// One that does not fly, if there is a choice one with a take for these tensors. NULL: there is no memory for
// one more, or not so much that one should take it.
static struct flight *find_flight(struct gpu *gpu, struct executable *executable,
                                  const struct bindings *bindings)
{
    struct error ignored = {0};
    struct flight *found = NULL;
    for (size_t i = 0; i < executable->flight_count; i++) {
        struct flight *flight = &executable->flights[i];
        if (!atomic_load(&flight->in_flight) &&
            (!found || (bindings->tensors && has_take(executable, flight, bindings))))
            found = flight;
    }
    if (found || executable->flight_count == executable->max_flights)
        return found;
    if (!make_flight(gpu, executable, &ignored)) {
        executable->max_flights = executable->flight_count;
        return NULL;
    }
    return &executable->flights[executable->flight_count - 1];
}

// ---------------------------------------------------------------------------------------------------------------
// Submission
// ---------------------------------------------------------------------------------------------------------------

// Takes the inputs from the host.
static bool take_inputs(struct gpu *gpu, const struct executable *executable, struct flight *flight,
                        const struct bindings *bindings, struct error *error)
{
    const struct graph *graph = &executable->plan->graph;
    const struct buffer *to = flight->inputs.mapped ? &flight->inputs : &flight->upload;
    size_t at = 0;
    for (size_t i = 0; i < graph->input_count; i++) {
        size_t bytes = port_bytes(&graph->inputs[i]);
        if (bytes > 0) // there is no buffer if all have none
            memcpy((char *)to->mapped + at, bindings->inputs[i], bytes);
        at += wnn_aligned(bytes);
    }
    return wnn_buffer_flush(gpu, to, error);
}

// What has to come before the recording. *fuses_prologue: something has.
static bool prepare_tensors(struct gpu *gpu, struct executable *executable, struct flight *flight,
                            const struct bindings *bindings, bool *fuses_prologue, struct error *error)
{
    size_t inputs = executable->plan->graph.input_count, count = tensor_count(executable);
    for (size_t i = 0; i < count; i++)
        *fuses_prologue |= wnn_gpu_tensor_waits(tensor_of(executable, bindings, i), i >= inputs);
    if (!*fuses_prologue)
        return true;
    if (!wnn_gpu_preparation_begin(gpu, &executable->program.command_pool, &flight->preparation, error))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!is_repeated(executable, bindings, i))
            wnn_gpu_prepare(gpu, flight->preparation, tensor_of(executable, bindings, i), i >= inputs);
    return wnn_gpu_preparation_end(gpu, flight->preparation, error);
}

// What is to be done if the execution is left in the middle, which another thread than this would do.
static bool record_clearing(struct gpu *gpu, struct executable *executable, struct flight *flight,
                            const struct bindings *bindings, struct error *error)
{
    size_t inputs = executable->plan->graph.input_count, count = tensor_count(executable);
    if (!wnn_gpu_preparation_begin(gpu, &executable->program.command_pool, &flight->clearing, error))
        return false;
    for (size_t i = inputs; i < count; i++)
        wnn_gpu_tensor_clear(gpu, flight->clearing, tensor_of(executable, bindings, i));
    for (size_t i = 0; i < count; i++)
        if (!is_repeated(executable, bindings, i))
            wnn_gpu_tensor_return(gpu, flight->clearing, tensor_of(executable, bindings, i));
    return wnn_gpu_preparation_end(gpu, flight->clearing, error);
}

// Submits so much of what is left; the last piece lets other executions follow.
static bool submit_piece(struct gpu *gpu, struct flight *flight, size_t submissions,
                         const WNNVulkanSync *sync, struct error *error)
{
    size_t left = flight->count - flight->submitted, count = submissions < left ? submissions : left;
    struct sync_point *end = &flight->ends[flight->pieces % PIECES];
    if (!wnn_gpu_submit(gpu, flight->batches + flight->submitted, count, flight->pieces == 0 ? sync : NULL,
                        count == left ? sync : NULL, end, error))
        return false;
    if (flight->pieces++ == 0)
        flight->begin = end->begin;
    flight->submitted += count;
    if (count == left && flight->pieces > 1)
        atomic_store(&gpu->unfinished, false);
    return true;
}

static bool submit_first_pieces(struct gpu *gpu, struct flight *flight, const WNNVulkanSync *sync,
                                struct error *error)
{
    flight->submitted = flight->pieces = flight->ended = 0;
    if (flight->count <= AT_ONCE)
        return submit_piece(gpu, flight, AT_ONCE, sync, error);
    if (!submit_piece(gpu, flight, PIECE, sync, error))
        return false;
    atomic_store(&gpu->unfinished, true);
    if (submit_piece(gpu, flight, PIECE, sync, error))
        return true;
    // The first would use memory that is given to others.
    if (!gpu->lost)
        gpu->lost = (sync && sync->waitCount > 0) || !wnn_gpu_wait_idle(gpu);
    atomic_store(&gpu->unfinished, false);
    return false;
}

static bool start(struct gpu *gpu, struct executable *executable, struct flight *flight,
                  const struct bindings *bindings, enum timestamps timestamps, struct error *error)
{
    bool fuses_prologue = false;
    if (flight->is_counting && !clear_counters(gpu, executable, flight, error))
        return false;
    flight->last =
        find_recording(gpu, executable, flight, bindings->tensors ? bindings : NULL, timestamps, error);
    if (!flight->last ||
        !(bindings->tensors ? prepare_tensors(gpu, executable, flight, bindings, &fuses_prologue, error)
                            : take_inputs(gpu, executable, flight, bindings, error)))
        return false;
    struct batch *batches = flight->last->batches;
    size_t count = flight->last->count;
    batches[0] = (struct batch){&flight->preparation, 1};
    for (size_t i = 0; i < count; i++)
        batches[1 + i] = (struct batch){&flight->last->commands[i], 1};
    flight->batches = fuses_prologue ? batches : batches + 1;
    flight->count = fuses_prologue ? count + 1 : count;
    if (bindings->tensors && flight->count > AT_ONCE &&
        !record_clearing(gpu, executable, flight, bindings, error))
        return false;
    if (!submit_first_pieces(gpu, flight, bindings->sync, error))
        return false;
    for (size_t i = 0; bindings->tensors && i < tensor_count(executable); i++)
        wnn_gpu_tensor_used(tensor_of(executable, bindings, i));
    return true;
}

void wnn_execution_clear(const struct executable *executable, const struct bindings *bindings)
{
    const struct graph *graph = &executable->plan->graph;
    for (size_t i = 0; !bindings->tensors && i < graph->output_count; i++)
        if (bindings->outputs[i])
            memset(bindings->outputs[i], 0, port_bytes(&graph->outputs[i]));
}

bool wnn_execution_submit(struct gpu *gpu, struct executable *executable, const struct bindings *bindings,
                          void **result, struct error *error)
{
    *result = NULL;
    if (atomic_load(&gpu->unfinished))
        return true;
    struct flight *flight = find_flight(gpu, executable, bindings);
    if (!flight)
        return true;
    const struct observer *observer =
        bindings->observer && bindings->observer->timed ? bindings->observer : NULL;
    enum timestamps timestamps = !observer         ? TIMESTAMPS_NONE
                                 : observer->whole ? TIMESTAMPS_WHOLE
                                                   : TIMESTAMPS_NODES;
    if (flight->last)
        wnn_program_learn(&executable->program, flight->last, flight->length);
    bool done = wnn_interrupt_check(bindings->interrupt, error) &&
                start(gpu, executable, flight, bindings, timestamps, error);
    if (done) {
        atomic_store(&flight->in_flight, true);
        *result = flight;
    } else {
        flight->last = NULL;
        wnn_execution_clear(executable, bindings);
    }
    return done;
}

// ---------------------------------------------------------------------------------------------------------------
// The end
// ---------------------------------------------------------------------------------------------------------------

// What the device has noted of an execution. Where it notes nodes, their steps were recorded one behind the
// other, in the order of the nodes; behind them come copies of outputs.
static void tell_times(struct gpu *gpu, const struct executable *executable,
                       const struct recording *recording, const struct observer *observer)
{
    const struct graph *graph = &executable->plan->graph;
    if (recording->timestamps < TIMESTAMPS_NODES ||
        (recording->timestamps == TIMESTAMPS_WHOLE && !observer->whole))
        return;
    double *times = recording->timestamp_count > 1
                        ? wnn_allocate(gpu->allocator, recording->timestamp_count * sizeof times[0])
                        : NULL;
    if (!times || !wnn_recording_times(recording, times)) {
        wnn_release(gpu->allocator, times);
        return;
    }
    double whole = 0;
    size_t taken = 0;
    const struct step *step = executable->program.first;
    for (uint32_t i = 0; i + 1 < recording->timestamp_count; i++)
        whole += times[i];
    for (size_t i = 0; !observer->whole && i < graph->node_count; i++) {
        while (step && !step->node)
            step = step->next;
        bool has = step && step->node == graph->nodes[i];
        observer->timed(observer, graph->nodes[i], has ? (uint64_t)(times[taken++] + 0.5) : 0);
        while (step && step->node == graph->nodes[i])
            step = step->next;
    }
    for (size_t i = 0; !observer->whole && observer->copied && i < recording->copy_count; i++)
        observer->copied(observer, recording->copied[i], (uint64_t)(times[taken++] + 0.5));
    observer->timed(observer, NULL, (uint64_t)(whole + 0.5));
    wnn_release(gpu->allocator, times);
}

// Where the host finds an output, but a constant one; `at`: of staging memory.
static const char *find_output(const struct flight *flight, const struct operand *operand, size_t at)
{
    return flight->arena.mapped ? (const char *)flight->arena.mapped + operand->placement.offset
                                : (const char *)flight->readback.mapped + at;
}

static bool give_outputs(struct gpu *gpu, const struct executable *executable, const struct flight *flight,
                         const struct bindings *bindings, struct error *error)
{
    const struct graph *graph = &executable->plan->graph;
    size_t at = 0;
    if (!wnn_buffer_invalidate(gpu, flight->arena.mapped ? &flight->arena : &flight->readback, error))
        return false;
    for (size_t i = 0; i < graph->output_count; i++) {
        const struct operand *operand = graph->outputs[i].operand;
        size_t bytes = port_bytes(&graph->outputs[i]);
        if (bindings->outputs[i] && bytes > 0)
            memcpy(bindings->outputs[i],
                   operand->constant ? operand->constant->data : find_output(flight, operand, at), bytes);
        at += operand->constant ? 0 : wnn_aligned(bytes);
    }
    return true;
}

static bool wait_for_piece(struct gpu *gpu, struct flight *flight, struct error *error)
{
    return wnn_gpu_wait(gpu, &flight->ends[flight->ended++ % PIECES], error);
}

// Leaves out what has not been submitted. Whoever waits for signals gets them. What cannot be cleared is
// lost.
static void stop(struct gpu *gpu, struct flight *flight, const struct bindings *bindings, struct error *error)
{
    bool done = true;
    while (flight->ended < flight->pieces)
        done = wait_for_piece(gpu, flight, error) && done;
    if (done && bindings->tensors)
        done = wnn_gpu_submit(gpu, &(struct batch){&flight->clearing, 1}, 1, NULL, bindings->sync,
                              &flight->ends[0], error) &&
               wnn_gpu_wait(gpu, &flight->ends[0], error);
    gpu->lost = gpu->lost || !done;
    flight->last = NULL; // nothing can be learned from it
    flight->is_counting = flight->counters.bytes > 0;
}

// Submits the rest piece by piece. Pieces that are much shorter than a budget become longer.
static bool wait_for_all(struct gpu *gpu, struct flight *flight, const struct bindings *bindings,
                         struct error *error)
{
    double before = flight->begin, now = before;
    size_t piece = PIECE;
    while (flight->ended < flight->pieces) {
        const struct sync_point *end = &flight->ends[flight->ended % PIECES];
        if (!wait_for_piece(gpu, flight, error))
            return false;
        now = end->begin + end->length;
        if (flight->submitted == flight->count)
            continue;
        piece *= now - before < gpu->budget / 2 ? 2 : 1;
        before = now;
        bool stops = wnn_interrupted(bindings->interrupt);
        if (!stops && submit_piece(gpu, flight, piece, bindings->sync, error))
            continue;
        stop(gpu, flight, bindings, error);
        return stops && wnn_interrupt_check(bindings->interrupt, error);
    }
    flight->length = now - flight->begin;
    return true;
}

bool wnn_execution_retire(struct gpu *gpu, const struct executable *executable, struct flight *flight,
                          const struct bindings *bindings, struct error *error)
{
    bool done = wait_for_all(gpu, flight, bindings, error) &&
                (bindings->tensors || give_outputs(gpu, executable, flight, bindings, error));
    if (flight->submitted < flight->count) // it never will be
        atomic_store(&gpu->unfinished, false);
    if (!done)
        wnn_execution_clear(executable, bindings);
    else if (bindings->observer && bindings->observer->timed)
        tell_times(gpu, executable, flight->last, bindings->observer);
    atomic_store(&flight->in_flight, false);
    return done;
}
