// SPDX-License-Identifier: Apache-2.0
//
// Executions of a graph: compute() on the caller's memory, dispatch() on tensors. Everything is checked
// before anything is queued, so that a request that was taken fails only with its device.

#include "runtime/cancel.h"
#include "runtime/internal.h"
#include "runtime/late.h"
#include "runtime/request.h"
#include "runtime/submit.h"
#include "runtime/trace.h"

#include <stddef.h>
#include <string.h>

// One execution, queued. Its arrays follow it in its memory.
struct execution {
    struct request request;
    WNNGraph graph;
    const void **inputs; // what the backend gets, by slot
    void **outputs;      // NULL: not wanted
    bool *staged;        // by output (bindings.staged), if `stages`
    // One behind the number of the input whose memory an output has, by output, and of the next input that
    // has the same, by input; 0: there is none.
    uint32_t *replaced, *next_same;
    // compute: the caller's memory, by slot; not the above where that is misaligned
    const void **caller_inputs;
    void **caller_outputs;
    void *staging;      // what misaligned memory is copied to and from
    WNNTensor *tensors; // dispatch: all, in no order; the place of the caller's memory
    size_t tensor_count;
    void *flight;        // of the backend
    uint64_t work;       // taken of the budget
    uint64_t limit;      // nanoseconds that it may take; 0: any number
    bool overlaps;       // others were in flight when it began
    bool stored;         // dispatch: tensors of the backend; all are or none
    bool replaces;       // an output has the memory of an input
    bool stages;         // and is staged
    WNNVulkanSync *sync; // dispatch: with its arrays behind it, or NULL
};

// One call: what the two descriptors have in common.
struct call {
    const char *method;
    WNNContext context;
    const WNNChainedStruct *nextInChain;
    uint32_t chains; // what may be there
    WNNStringView label;
    WNNGraph graph;
    uint64_t graph_id; // in a trace
    size_t input_count, output_count;
    const void *inputs, *outputs; // WNNNamedBuffer or WNNNamedTensor, which begin with a name
    size_t item_size;
    // Returns what such an item gives the port, or NULL: the error says what is wrong.
    const void *(*take)(const struct call *call, const char *what, const struct port *port, const void *item);
    // The shape that such an item has, or NULL: it does not say.
    const struct shape *(*shape_of)(const struct call *call, const void *item);
    // Checks the lists, and gives the execution their memory and all else that it needs; false: the error
    // says why not.
    bool (*bind)(const struct call *call, struct execution *e);
    struct error *error;
};

static void *take_memory(const struct call *call, size_t size)
{
    return wnn_spare_take(&call->context->spare, &call->context->allocator, size);
}

static void give_memory(const struct call *call, void *memory)
{
    wnn_spare_give(&call->context->spare, &call->context->allocator, memory);
}

#define NAME_TEXT   160
#define QUOTE(name) quote((name), (char[NAME_TEXT]){0})

static const char *quote(struct string name, char buffer[NAME_TEXT])
{
    struct text text = {buffer, NAME_TEXT, 0};
    wnn_text_add(&text, "\"");
    wnn_text_add_quoted(&text, name, NAME_TEXT / 2);
    wnn_text_add(&text, "\"");
    return buffer;
}

// Records an error with the method and its label in front; returns false.
static bool __attribute__((format(printf, 3, 4)))
fail(const struct call *call, WNNStatus status, const char *format, ...)
{
    char message[WNN_MESSAGE_SIZE];
    struct text text = TEXT(message);
    struct string label = wnn_string(call->label);
    wnn_text_add(&text, "%s%s%s: ", call->method, label.length ? " " : "", label.length ? QUOTE(label) : "");
    va_list arguments;
    va_start(arguments, format);
    wnn_text_add_list(&text, format, arguments);
    va_end(arguments);
    return wnn_fail(call->error, status, "%s", message);
}

// ---------------------------------------------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------------------------------------------

static void take_staged_inputs(const struct execution *e)
{
    const struct port_list *inputs = &e->graph->inputs;
    for (size_t i = 0; e->staging && i < inputs->count; i++)
        if (e->inputs[i] != e->caller_inputs[i])
            memcpy((void *)(uintptr_t)e->inputs[i], e->caller_inputs[i], inputs->ports[i].bytes);
}

// The end of an execution by the backend.
static bool end_execution(WNNContext context, const struct execution *e, bool done, struct error *error)
{
    const struct port_list *outputs = &e->graph->outputs;
    if (!done) {
        if (error->status == WNNStatus_Cancelled)
            return true;
        wnn_fail(error, WNNStatus_UnknownError, "the backend %s failed", context->backend->name);
        return context->backend->lost && !context->backend->lost(context->state);
    }
    for (size_t i = 0; e->staging && i < outputs->count; i++)
        if (e->outputs[i] != e->caller_outputs[i])
            memcpy(e->caller_outputs[i], e->outputs[i], outputs->ports[i].bytes);
    return true;
}

// Finds the outputs that replace inputs which the graph reads for too long, when there is an executable.
static void find_staged(struct execution *e)
{
    const struct aliases *aliases = &e->graph->aliases;
    e->stages = false;
    for (size_t i = 0; e->replaces && i < e->graph->outputs.count; i++) {
        e->staged[i] = false;
        for (uint32_t input = e->replaced[i]; input > 0; input = e->next_same[input - 1])
            e->staged[i] = e->staged[i] || !wnn_may_alias(aliases, input - 1, i);
        e->stages = e->stages || e->staged[i];
    }
}

static struct bindings bindings_of(const struct execution *e)
{
    return (struct bindings){.inputs = e->inputs,
                             .outputs = e->outputs,
                             .staged = e->stages ? e->staged : NULL,
                             .tensors = e->stored,
                             .sync = e->sync,
                             .interrupt = &e->request.interrupt};
}

// On the calling thread, when it is the context's turn.
static bool compute_here(WNNContext context, const struct execution *e, const struct bindings *bindings,
                         struct error *error)
{
    WNNThreadPool pool = context->thread_pool;
    if (pool)
        wnn_turn_begin(pool, context->priority);
    bool watched = atomic_load_explicit(&e->graph->watched, memory_order_relaxed);
    bool done = watched ? wnn_profile_execute(e->graph, bindings, error)
                        : context->backend->execute(context->state, e->graph->executable, bindings, error);
    if (pool)
        wnn_turn_end(pool);
    return done;
}

static bool run_execution(WNNContext context, struct request *request, struct error *error)
{
    struct execution *e = (struct execution *)request;
    const struct backend *backend = context->backend;
    if (e->graph->parent &&
        !wnn_late_wait(e->graph, &request->interrupt, error)) // perhaps the device is lost
        return !backend->lost || !backend->lost(context->state);
    if (!e->graph->plan) { // destroyed on another thread while it was being queued
        wnn_fail(error, WNNStatus_InvalidStateError, "the graph was destroyed");
        return true;
    }
    take_staged_inputs(e);
    find_staged(e);
    wnn_request_begin(request, e->limit);
    struct bindings bindings = bindings_of(e);
    if (!backend->submit) {
        struct trace_nodes nodes;
        bindings.observer = wnn_trace_nodes(&nodes, context);
        bool done = compute_here(context, e, &bindings, error);
        if (bindings.observer)
            wnn_trace_nodes_end(&nodes);
        return end_execution(context, e, done, error);
    }
    if (!e->overlaps && atomic_load_explicit(&e->graph->watched, memory_order_relaxed))
        return end_execution(context, e, wnn_profile_execute(e->graph, &bindings, error), error);
    if (!backend->submit(context->state, e->graph->executable, &bindings, &e->flight, error))
        return end_execution(context, e, false, error);
    request->outcome = e->flight ? REQUEST_IN_FLIGHT : REQUEST_AGAIN;
    return true;
}

static bool retire_execution(WNNContext context, struct request *request, struct error *error)
{
    struct execution *e = (struct execution *)request;
    const struct bindings bindings = bindings_of(e);
    bool done = context->backend->retire(context->state, e->graph->executable, e->flight, &bindings, error);
    return end_execution(context, e, done, error);
}

static void drop_execution(WNNContext context, struct request *request)
{
    struct execution *e = (struct execution *)request;
    wnn_budget_give(context->budget, WNNResource_Work, e->work);
    wnn_spare_give(&context->spare, &context->allocator, e->staging);
    wnn_spare_give(&context->spare, &context->allocator, e->sync);
    for (size_t i = 0; i < e->tensor_count; i++) {
        wnn_tensor_end_use(e->tensors[i]);
        wnn_tensor_unref(e->tensors[i]);
    }
    if (e->graph && e->graph->parent)
        wnn_late_give_up(e->graph); // unless it has been compiled
    if (e->graph)
        wnn_graph_unref(e->graph);
}

// The memory that an execution gets of its caller or of tensors.
static const void *memory_of(const struct execution *e, bool output, size_t slot)
{
    if (e->tensor_count)
        return output ? e->outputs[slot] : e->inputs[slot];
    return output ? e->caller_outputs[slot] : e->caller_inputs[slot];
}

// Whether an execution reads what one in flight has yet to write. Tensors of the backend change in the order
// of submission.
static bool reads_of(const struct execution *e, const struct execution *in_flight)
{
    if (e->stored)
        return false;
    enum {
        MAX_PAIRS = 1024 // more are not looked at
    };
    const struct port_list *inputs = &e->graph->inputs, *outputs = &in_flight->graph->outputs;
    if (inputs->count * outputs->count > MAX_PAIRS)
        return true;
    for (size_t i = 0; i < inputs->count; i++)
        for (size_t k = 0; k < outputs->count; k++) {
            uintptr_t in = (uintptr_t)memory_of(e, false, i), out = (uintptr_t)memory_of(in_flight, true, k);
            if (out && (in - out < outputs->ports[k].bytes || out - in < inputs->ports[i].bytes))
                return true;
        }
    return false;
}

static bool can_overlap(struct request *request, const struct request_list *in_flight);

static const struct request_kind execution_kind = {.run = run_execution,
                                                   .drop = drop_execution,
                                                   .anywhere = true,
                                                   .interruptible = true,
                                                   .can_overlap = can_overlap,
                                                   .retire = retire_execution};

static bool can_overlap(struct request *request, const struct request_list *in_flight)
{
    struct execution *e = (struct execution *)request;
    if (atomic_load_explicit(&e->graph->watched, memory_order_relaxed))
        return false;
    for (const struct request *other = in_flight->first; other; other = other->next)
        if (other->kind == &execution_kind && reads_of(e, (const struct execution *)other))
            return false;
    e->overlaps = true;
    return true;
}

static struct execution *create_execution(const struct call *call)
{
    size_t inputs = call->graph->inputs.count, outputs = call->graph->outputs.count;
    uint64_t work = call->context->budget ? call->graph->work : 0;
    if (!wnn_budget_take(call->context->budget, WNNResource_Work, work)) {
        fail(call, WNNStatus_OutOfMemory, "the budget has no %llu multiply-adds left",
             (unsigned long long)work);
        return NULL;
    }
    struct string label = call->context->trace.event ? wnn_string(call->label) : STRING("");
    struct execution *e = wnn_request_create(
        call->context, &execution_kind,
        sizeof *e + (inputs + outputs) * (2 * sizeof(void *) + sizeof(uint32_t)) + outputs + label.length,
        call->error);
    if (!e) {
        wnn_budget_give(call->context->budget, WNNResource_Work, work);
        return NULL;
    }
    e->work = work;
    void **arrays = (void **)(e + 1);
    e->replaced = (uint32_t *)(arrays + 2 * (inputs + outputs));
    e->next_same = e->replaced + outputs;
    e->staged = (bool *)(e->next_same + inputs);
    char *text = (char *)(e->staged + outputs);
    e->request.label = (WNNStringView){text, label.length};
    if (label.length)
        memcpy(text, label.data, label.length);
    e->request.graph_id = call->graph_id;
    e->inputs = (const void **)arrays;
    e->outputs = arrays + inputs;
    e->caller_inputs = (const void **)(arrays + inputs + outputs);
    e->caller_outputs = arrays + inputs + outputs + inputs;
    e->tensors = (WNNTensor *)(arrays + inputs + outputs);
    e->limit = wnn_time_limit(call->nextInChain, call->context->limits.maxExecutionNanoseconds);
    return e;
}

// ---------------------------------------------------------------------------------------------------------------
// Checks that both have in common
// ---------------------------------------------------------------------------------------------------------------

static bool check_graph(const struct call *call)
{
    if (call->error->status != WNNStatus_Success || !wnn_context_usable(call->context, call->error) ||
        !wnn_check_chain(call->nextInChain, call->chains | 1u << WNNSType_TimeLimit, call->method,
                         call->error) ||
        !wnn_check_string(&call->context->limits, "the label of an execution", call->label, call->error))
        return false;
    if (!call->graph)
        return fail(call, WNNStatus_TypeError, "no graph was given");
    if (call->graph->context != call->context)
        return fail(call, WNNStatus_TypeError, "the graph belongs to another context");
    if (atomic_load(&call->graph->destroyed))
        return fail(call, WNNStatus_InvalidStateError, "the graph was destroyed");
    if (call->graph->promised)
        return fail(call, WNNStatus_InvalidStateError,
                    "the graph has constants whose bytes are promised; save it, and load it with them");
    return true;
}

// The slot of the port that the caller's item number `index` names.
static bool find_port(const struct call *call, const struct port_list *ports, const char *what,
                      WNNStringView view, size_t index, size_t *slot)
{
    if (!view.data && view.length != 0 && view.length != WNN_STRLEN)
        return fail(call, WNNStatus_TypeError, "the name of %s %zu has %zu bytes but no data", what, index,
                    view.length);
    struct string name = wnn_string(view);
    *slot = wnn_port_find(ports, name, index);
    return *slot < ports->count ||
           fail(call, WNNStatus_TypeError, "the graph has no %s %s", what, QUOTE(name));
}

// Fills in the slots of the ports that the items name.
static bool bind_items(const struct call *call, const struct port_list *ports, const char *what,
                       const void *items, size_t count, const void **slots)
{
    if (!items && count > 0)
        return fail(call, WNNStatus_TypeError, "%zu %ss at no address", count, what);
    for (size_t i = 0; i < count; i++) {
        const void *item = (const char *)items + i * call->item_size;
        size_t slot = 0;
        if (!find_port(call, ports, what, *(const WNNStringView *)item, i, &slot))
            return false;
        if (slots[slot])
            return fail(call, WNNStatus_TypeError, "%s %s is given twice", what,
                        QUOTE(ports->ports[slot].name));
        if (!(slots[slot] = call->take(call, what, &ports->ports[slot], item)))
            return false;
    }
    return true;
}

static bool check_all_given(const struct call *call, const struct port_list *ports, const char *what,
                            const void *const *given)
{
    for (size_t i = 0; i < ports->count; i++)
        if (!given[i])
            return fail(call, WNNStatus_TypeError, "%s %s is missing", what, QUOTE(ports->ports[i].name));
    return true;
}

// The memory of one port, for finding what overlaps.
struct interval {
    uintptr_t begin, end; // end is the last byte
    const struct port *port;
    size_t index; // inputs before outputs, in the order of the graph
    size_t slot;
    bool output;
};

#define FEW_INTERVALS 32

// Intervals that are the same follow each other.
static bool comes_earlier(const void *a, const void *b, const void *argument)
{
    (void)argument;
    const struct interval *x = a, *y = b;
    return x->begin != y->begin ? x->begin < y->begin
           : x->end != y->end   ? x->end < y->end
                                : x->index < y->index;
}

static bool are_equal(const struct interval *a, const struct interval *b)
{
    return a->begin == b->begin && a->end == b->end;
}

// Whether an output may lie where an input does, of as many bytes.
static bool is_replacement(const struct interval *input, const struct interval *output)
{
    return !input->output && output->output && input->port->type.type == output->port->type.type;
}

// Two that overlap and may not, the first of the graph in *one. NULL there: there are none. The intervals are
// sorted.
static void find_overlap(const struct interval *intervals, size_t count, const struct interval **one,
                         const struct interval **other)
{
    // Of those before the current one that are not the same, the ones that reach farthest.
    const struct interval *any = NULL, *output = NULL, *before = NULL, *end;
    *one = NULL;
    for (const struct interval *i = intervals; !*one && i < intervals + count; i = end) {
        // Of those that are the same an output is the last.
        for (end = i + 1; end < intervals + count && are_equal(i, end); end++)
            continue;
        const struct interval *last = end - 1;
        before = last->output ? any : output;
        before = before && before->end >= i->begin ? before : NULL;
        for (const struct interval *k = i; last->output && !before && k < last; k++)
            before = is_replacement(k, last) ? NULL : k;
        if (before) {
            *one = before->index < last->index ? before : last;
            *other = before->index < last->index ? last : before;
        }
        if (!any || i->end > any->end)
            any = i;
        if (last->output && (!output || i->end > output->end))
            output = last;
    }
}

// Notes which outputs lie where inputs do. The intervals are sorted, and of those that are the same an output
// is the last.
static void note_replaced(const struct interval *intervals, size_t count, struct execution *e)
{
    for (size_t i = 1; i < count; i++) {
        const struct interval *interval = &intervals[i], *before = interval - 1;
        if (before->output || !are_equal(before, interval))
            continue;
        *(interval->output ? &e->replaced[interval->slot] : &e->next_same[interval->slot]) =
            1 + (uint32_t)before->slot;
        e->replaces = e->replaces || interval->output;
    }
}

static size_t add_interval(struct interval *intervals, size_t count, const void *memory, size_t bytes,
                           const struct port_list *ports, size_t slot, bool output)
{
    if (!memory || bytes == 0)
        return count;
    uintptr_t begin = (uintptr_t)memory;
    uintptr_t end = bytes - 1 <= UINTPTR_MAX - begin ? begin + (bytes - 1) : UINTPTR_MAX;
    intervals[count] = (struct interval){begin, end, &ports->ports[slot], count, slot, output};
    return count + 1;
}

// Fails if an output shares memory with anything but inputs that it replaces, which are noted. `tensors`: not
// their bytes count.
static bool check_overlap(const struct call *call, const void *const *inputs, const void *const *outputs,
                          bool tensors, struct execution *e)
{
    const struct port_list *in = &call->graph->inputs, *out = &call->graph->outputs;
    struct interval few[FEW_INTERVALS], *intervals = few;
    if (in->count + out->count > FEW_INTERVALS &&
        !(intervals = take_memory(call, (in->count + out->count) * sizeof *intervals)))
        return wnn_fail_memory(call->error);
    size_t count = 0;
    for (size_t i = 0; i < in->count; i++)
        count = add_interval(intervals, count, inputs[i], tensors ? 1 : in->ports[i].bytes, in, i, false);
    for (size_t i = 0; i < out->count; i++)
        count = add_interval(intervals, count, outputs[i], tensors ? 1 : out->ports[i].bytes, out, i, true);
    wnn_sort(intervals, count, sizeof *intervals, comes_earlier, NULL);
    const struct interval *one, *other;
    find_overlap(intervals, count, &one, &other);
    if (one)
        fail(call, WNNStatus_TypeError,
             tensors ? "%s and %s are the same tensor" : "the memory of %s and that of %s overlap",
             QUOTE(one->port->name), QUOTE(other->port->name));
    else
        note_replaced(intervals, count, e);
    if (intervals != few)
        give_memory(call, intervals);
    return !one;
}

// ---------------------------------------------------------------------------------------------------------------
// compute()
// ---------------------------------------------------------------------------------------------------------------

static bool check_buffer(const struct call *call, const char *what, const struct port *port,
                         const WNNNamedBuffer *buffer)
{
    if (buffer->byteLength != port->bytes)
        return fail(call, WNNStatus_TypeError, "%s %s has %zu bytes; expected %zu (%s %s)", what,
                    QUOTE(port->name), buffer->byteLength, port->bytes, wnn_dtype_name(port->type.type),
                    SHAPE_TEXT(&port->type.shape));
    if (buffer->dataType != WNNDataType_Undefined && !wnn_dtype_valid(buffer->dataType))
        return fail(call, WNNStatus_TypeError, "%s %s has data type %d, which does not exist", what,
                    QUOTE(port->name), (int)buffer->dataType);
    if (buffer->dataType != WNNDataType_Undefined && buffer->dataType != port->type.type)
        return fail(call, WNNStatus_TypeError, "%s %s has data type %s; expected %s", what, QUOTE(port->name),
                    wnn_dtype_name(buffer->dataType), wnn_dtype_name(port->type.type));
    if (!buffer->data && port->bytes)
        return fail(call, WNNStatus_TypeError, "%s %s has no memory; expected %zu bytes", what,
                    QUOTE(port->name), port->bytes);
    return true;
}

static const void *take_buffer(const struct call *call, const char *what, const struct port *port,
                               const void *item)
{
    static max_align_t nothing; // memory of no bytes that is given
    const WNNNamedBuffer *buffer = item;
    if (!check_buffer(call, what, port, buffer))
        return NULL;
    return buffer->data ? buffer->data : &nothing;
}

static bool is_misaligned(const struct port *port, const void *memory)
{
    size_t bits = wnn_dtype_bits(port->type.type);
    return port->bytes > 0 && bits > 8 && (uintptr_t)memory % (bits / 8) != 0;
}

static size_t staged_bytes(const struct port_list *ports, const void *const *memory)
{
    size_t bytes = 0;
    for (size_t i = 0; i < ports->count; i++)
        if (is_misaligned(&ports->ports[i], memory[i]))
            bytes += wnn_aligned(ports->ports[i].bytes);
    return bytes;
}

// Gives misaligned memory a place at `staging` in `slots`; returns what is left of that.
static char *stage(const struct port_list *ports, const void *const *memory, const void **slots,
                   char *staging)
{
    for (size_t i = 0; i < ports->count; i++) {
        slots[i] = memory[i];
        if (!is_misaligned(&ports->ports[i], memory[i]))
            continue;
        slots[i] = staging;
        staging += wnn_aligned(ports->ports[i].bytes);
    }
    return staging;
}

static bool bind_compute(const struct call *call, struct execution *e)
{
    const struct port_list *in = &call->graph->inputs, *out = &call->graph->outputs;
    const void **outputs = (const void **)e->caller_outputs;
    if (call->context->external)
        return fail(call, WNNStatus_OperationError,
                    "the context is on a device of the caller's, on which dispatch() computes");
    if (call->output_count == 0)
        return fail(call, WNNStatus_TypeError, "no outputs were given; expected at least one");
    if (!bind_items(call, in, "input", call->inputs, call->input_count, e->caller_inputs) ||
        !check_all_given(call, in, "input", e->caller_inputs) ||
        !bind_items(call, out, "output", call->outputs, call->output_count, outputs) ||
        !check_overlap(call, e->caller_inputs, outputs, false, e))
        return false;
    // A sum of less than 2^16 tensors of less than 2^34 bytes.
    size_t staged = staged_bytes(in, e->caller_inputs) + staged_bytes(out, outputs);
    if (staged && !(e->staging = take_memory(call, staged)))
        return fail(call, WNNStatus_OutOfMemory, "out of memory for %zu bytes of misaligned buffers", staged);
    stage(out, outputs, (const void **)e->outputs, stage(in, e->caller_inputs, e->inputs, e->staging));
    wnn_graph_ref(call->graph);
    e->graph = call->graph;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// dispatch()
// ---------------------------------------------------------------------------------------------------------------

static bool check_tensor(const struct call *call, const char *what, const struct port *port, WNNTensor tensor)
{
    if (!tensor)
        return fail(call, WNNStatus_TypeError, "%s %s has no tensor", what, QUOTE(port->name));
    if (tensor->context != call->context)
        return fail(call, WNNStatus_TypeError, "%s %s: the tensor belongs to another context", what,
                    QUOTE(port->name));
    if (atomic_load(&tensor->destroyed))
        return fail(call, WNNStatus_TypeError, "%s %s: the tensor was destroyed", what, QUOTE(port->name));
    if (tensor->is_constant)
        return fail(call, WNNStatus_TypeError, "%s %s: the tensor is constant", what, QUOTE(port->name));
    if (!wnn_descriptor_equal(&tensor->type, &port->type))
        return fail(call, WNNStatus_TypeError, "%s %s: the tensor is %s %s; expected %s %s", what,
                    QUOTE(port->name), wnn_dtype_name(tensor->type.type), SHAPE_TEXT(&tensor->type.shape),
                    wnn_dtype_name(port->type.type), SHAPE_TEXT(&port->type.shape));
    return true;
}

static const void *take_tensor(const struct call *call, const char *what, const struct port *port,
                               const void *item)
{
    WNNTensor tensor = ((const WNNNamedTensor *)item)->tensor;
    return check_tensor(call, what, port, tensor) ? tensor : NULL;
}

static const struct shape *shape_of_tensor(const struct call *call, const void *item)
{
    WNNTensor tensor = ((const WNNNamedTensor *)item)->tensor;
    return tensor && tensor->context == call->context ? &tensor->type.shape : NULL;
}

static bool check_points(const struct call *call, const WNNVulkanTimelinePoint *points, size_t count,
                         const char *what)
{
    enum {
        MAX_POINTS = 16
    };
    if (count > MAX_POINTS || (count > 0 && !points))
        return fail(call, WNNStatus_TypeError, "%zu %s%s; expected at most %d", count, what,
                    points ? "" : " at no address", MAX_POINTS);
    for (size_t i = 0; i < count; i++)
        if (!points[i].semaphore)
            return fail(call, WNNStatus_TypeError, "%s has no semaphore at %zu", what, i);
    return true;
}

// Copies what the execution waits for and signals.
static bool bind_sync(const struct call *call, struct execution *e)
{
    const WNNVulkanSync *sync = wnn_chained(call->nextInChain, WNNSType_VulkanSync);
    const struct backend *backend = call->context->backend;
    if (!sync || sync->waitCount + sync->signalCount == 0)
        return true;
    if (!check_points(call, sync->waits, sync->waitCount, "waits") ||
        !check_points(call, sync->signals, sync->signalCount, "signals"))
        return false;
    if (!backend->syncs || !backend->syncs(call->context->state))
        return fail(call, WNNStatus_NotSupportedError, "the device has no timeline semaphores");
    size_t count = sync->waitCount + sync->signalCount;
    e->sync = take_memory(call, sizeof *sync + count * sizeof *sync->waits);
    if (!e->sync)
        return wnn_fail_memory(call->error);
    WNNVulkanTimelinePoint *points = (WNNVulkanTimelinePoint *)(e->sync + 1);
    *e->sync = (WNNVulkanSync){.waitCount = sync->waitCount,
                               .signalCount = sync->signalCount,
                               .waits = points,
                               .signals = points + sync->waitCount};
    for (size_t i = 0; i < count; i++)
        points[i] = i < sync->waitCount ? sync->waits[i] : sync->signals[i - sync->waitCount];
    return true;
}

// First the slots hold the tensors, then their memory.
static bool bind_dispatch(const struct call *call, struct execution *e)
{
    const struct port_list *in = &call->graph->inputs, *out = &call->graph->outputs;
    const void **outputs = (const void **)e->outputs;
    if (!bind_items(call, in, "input", call->inputs, call->input_count, e->inputs) ||
        !check_all_given(call, in, "input", e->inputs) ||
        !bind_items(call, out, "output", call->outputs, call->output_count, outputs) ||
        !check_all_given(call, out, "output", outputs) || !check_overlap(call, e->inputs, outputs, true, e) ||
        !bind_sync(call, e))
        return false;
    e->stored = call->context->backend->tensor_create != NULL;
    // The two arrays lie behind each other.
    for (size_t i = 0; i < in->count + out->count; i++) {
        WNNTensor tensor = (WNNTensor)(uintptr_t)e->inputs[i];
        if (!wnn_tensor_begin_use(tensor))
            return fail(call, WNNStatus_TypeError, "a tensor was destroyed");
        wnn_tensor_ref(tensor);
        e->tensors[e->tensor_count++] = tensor;
        e->inputs[i] = e->stored ? tensor->stored : tensor->data;
    }
    wnn_graph_ref(call->graph);
    e->graph = call->graph;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// The public side
// ---------------------------------------------------------------------------------------------------------------

// The shapes of all inputs, by slot: of the call's items, and of ports whose sizes are all known.
static bool collect_shapes(const struct call *call, struct shape *shapes)
{
    const struct port_list *in = &call->graph->inputs;
    for (size_t i = 0; i < in->count; i++)
        shapes[i] = in->ports[i].type.shape;
    const WNNInputShapes *given = wnn_chained(call->nextInChain, WNNSType_InputShapes);
    if (given && given->shapeCount && !given->shapes)
        return fail(call, WNNStatus_TypeError, "%zu shapes at no address", given->shapeCount);
    for (size_t i = 0; given && i < given->shapeCount; i++) {
        size_t slot = 0;
        struct descriptor type;
        if (!find_port(call, in, "input", given->shapes[i].name, i, &slot))
            return false;
        if (!wnn_check_descriptor(&call->context->limits, NULL, "the shape of an input",
                                  in->ports[slot].type.type, given->shapes[i].shape, &type, call->error))
            return false;
        shapes[slot] = type.shape;
    }
    if (!call->inputs && call->input_count > 0)
        return fail(call, WNNStatus_TypeError, "%zu inputs at no address", call->input_count);
    for (size_t i = 0; call->shape_of && i < call->input_count; i++) {
        const void *item = (const char *)call->inputs + i * call->item_size;
        const struct shape *shape = call->shape_of(call, item);
        size_t slot = 0;
        if (!find_port(call, in, "input", *(const WNNStringView *)item, i, &slot))
            return false;
        if (shape)
            shapes[slot] = *shape;
    }
    for (size_t i = 0; i < in->count; i++)
        for (unsigned d = 0; d < shapes[i].rank; d++)
            if (shapes[i].dim[d] > WNN_MAX_DIMENSION)
                return fail(call, WNNStatus_TypeError, "input %s has sizes that are not known, and no shape",
                            QUOTE(in->ports[i].name));
    return true;
}

// Puts the specialization for the sizes of its inputs in the place of a graph that has no known ones.
static bool specialize(struct call *call, WNNGraph *specialization)
{
    enum {
        FEW_SHAPES = 8
    };
    call->graph_id = call->graph->info.info.id;
    if (!call->graph->late)
        return true;
    struct shape few[FEW_SHAPES], *shapes = few;
    size_t count = call->graph->inputs.count;
    if (count > FEW_SHAPES && !(shapes = take_memory(call, count * sizeof *shapes)))
        return wnn_fail_memory(call->error);
    struct error error = {0};
    if (collect_shapes(call, shapes) && !(*specialization = wnn_late_specialize(call->graph, shapes, &error)))
        fail(call, error.status, "%s", error.message);
    if (shapes != few)
        give_memory(call, shapes);
    call->graph = *specialization;
    return *specialization != NULL;
}

static WNNFuture queue_execution(struct call *call, const WNNRequestCallbackInfo *info)
{
    struct callback callback = wnn_request_callback(info);
    if (!call->context)
        return wnn_refuse_without_context(&callback);
    struct error error = {0};
    call->error = &error;
    struct trace_call trace;
    wnn_trace_call(&trace, call->context, call->method, call->label);
    callback.flow = trace.flow;
    wnn_check_callback(info->nextInChain, 0, &callback, &error);
    struct execution *e = NULL;
    WNNGraph specialization = NULL;
    if (check_graph(call) && wnn_context_executes(call->context, call->method, &error) &&
        specialize(call, &specialization) && (e = create_execution(call)) && !call->bind(call, e)) {
        drop_execution(call->context, &e->request);
        wnn_request_free(call->context, e);
        e = NULL;
    }
    WNNFuture future = wnn_submit(call->context, (struct request *)e, &callback, &error);
    if (specialization && !e)
        wnn_late_give_up(specialization);
    if (specialization)
        wnn_graph_unref(specialization);
    wnn_trace_return(&trace);
    return future;
}

// What both descriptors have.
#define SAME(d)                                                                                              \
    .nextInChain = (d)->nextInChain, .label = (d)->label, .graph = (d)->graph,                               \
    .input_count = (d)->inputCount, .output_count = (d)->outputCount, .inputs = (d)->inputs,                 \
    .outputs = (d)->outputs, .item_size = sizeof *(d)->inputs

WNNFuture wnnContextCompute(WNNContext context, const WNNComputeDescriptor *descriptor,
                            WNNRequestCallbackInfo callbackInfo)
{
    static const WNNComputeDescriptor nothing = WNN_COMPUTE_DESCRIPTOR_INIT;
    const WNNComputeDescriptor *d = descriptor ? descriptor : &nothing;
    struct call call = {.method = "compute",
                        .context = context,
                        SAME(d),
                        .chains = 1u << WNNSType_InputShapes,
                        .take = take_buffer,
                        .bind = bind_compute};
    return queue_execution(&call, &callbackInfo);
}

WNNFuture wnnContextDispatch(WNNContext context, const WNNDispatchDescriptor *descriptor,
                             WNNRequestCallbackInfo callbackInfo)
{
    static const WNNDispatchDescriptor nothing = WNN_DISPATCH_DESCRIPTOR_INIT;
    const WNNDispatchDescriptor *d = descriptor ? descriptor : &nothing;
    struct call call = {.method = "dispatch",
                        .context = context,
                        SAME(d),
                        .chains = 1u << WNNSType_VulkanSync,
                        .take = take_tensor,
                        .shape_of = shape_of_tensor,
                        .bind = bind_dispatch};
    return queue_execution(&call, &callbackInfo);
}

static bool is_of_graph(const struct request *request, const void *argument)
{
    WNNGraph graph = request->kind == &execution_kind ? ((const struct execution *)request)->graph : NULL;
    return graph && (graph == argument || graph->parent == argument);
}

void wnnGraphCancel(WNNGraph graph)
{
    if (!graph || wnn_forked(graph->context->forks))
        return;
    wnn_context_ref(graph->context);
    wnn_queue_cancel(graph->context, is_of_graph, graph, "cancelled by wnnGraphCancel");
    wnn_context_unref(graph->context);
}

// ---------------------------------------------------------------------------------------------------------------
// Shapes without an execution
// ---------------------------------------------------------------------------------------------------------------

static bool compute_shapes(struct call *call, struct descriptor *types)
{
    const struct port_list *in = &call->graph->inputs, *out = &call->graph->outputs;
    struct shape *shapes = wnn_allocate(&call->context->allocator, (in->count + 1) * sizeof *shapes);
    if (!shapes)
        return wnn_fail_memory(call->error);
    bool good = collect_shapes(call, shapes);
    for (size_t i = 0; good && i < out->count; i++)
        types[i] = out->ports[i].type;
    for (size_t i = 0; good && i < in->count && !call->graph->late; i++)
        if (!wnn_shape_equal(&shapes[i], &in->ports[i].type.shape))
            good =
                fail(call, WNNStatus_TypeError, "input %s has shape %s; expected %s",
                     QUOTE(in->ports[i].name), SHAPE_TEXT(&shapes[i]), SHAPE_TEXT(&in->ports[i].type.shape));
    struct error error = {0};
    if (good && call->graph->late && !wnn_late_outputs(call->graph, shapes, types, &error))
        good = fail(call, error.status, "%s", error.message);
    wnn_release(&call->context->allocator, shapes);
    return good;
}

static void tell_shapes(WNNGraph graph, const struct descriptor *types, size_t count, WNNOutputShape *outputs)
{
    for (size_t i = 0; i < count && i < graph->outputs.count; i++) {
        outputs[i].name = wnn_string_view(graph->outputs.ports[i].name);
        outputs[i].dataType = types[i].type;
        outputs[i].rank = types[i].shape.rank;
        for (unsigned d = 0; d < types[i].shape.rank; d++)
            outputs[i].dimensions[d] = types[i].shape.dim[d];
        outputs[i].byteLength = wnn_descriptor_bytes(&types[i]);
    }
}

WNNStatus wnnGraphComputeShapes(WNNGraph graph, size_t inputCount, const WNNNamedShape *inputs,
                                size_t outputCount, WNNOutputShape *outputs, size_t capacity, char *message)
{
    struct error error = {0};
    WNNContext context = graph ? graph->context : NULL;
    const WNNInputShapes given = {{NULL, WNNSType_InputShapes}, inputCount, inputs};
    struct call call = {.method = "computeShapes",
                        .context = context,
                        .nextInChain = &given.chain,
                        .chains = 1u << WNNSType_InputShapes,
                        .graph = graph,
                        .error = &error};
    struct descriptor *types = NULL;
    if (!graph)
        wnn_fail(&error, WNNStatus_TypeError, "computeShapes: no graph was given");
    else if (wnn_check_outputs(outputs, outputCount, sizeof *outputs, "output shape", &error) &&
             check_graph(&call)) {
        types = wnn_allocate(&context->allocator, graph->outputs.count * sizeof *types);
        if (!types)
            wnn_fail_memory(&error);
        else if (compute_shapes(&call, types))
            tell_shapes(graph, types, outputCount, outputs);
        wnn_release(&context->allocator, types);
    }
    struct text text = {message, capacity, 0};
    if (message && capacity) {
        message[0] = '\0';
        wnn_text_add(&text, "%s", error.message);
    }
    return context ? wnn_context_report(context, &error) : error.status;
}

WNNStatus wnnGraphGetSize(WNNGraph graph, uint32_t size, WNNDimension *dimension)
{
    if (!graph || !dimension)
        return WNNStatus_TypeError;
    if (graph->late)
        return wnn_late_describe(graph, size, dimension) ? WNNStatus_Success : WNNStatus_TypeError;
    *dimension = (WNNDimension){.name = {"", 0}, .minSize = size, .maxSize = size};
    return size <= WNN_MAX_DIMENSION ? WNNStatus_Success : WNNStatus_TypeError;
}
