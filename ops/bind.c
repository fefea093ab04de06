// SPDX-License-Identifier: Apache-2.0
#include "ops/bind.h"

#include "ops/builder.h"
#include "ops/check.h"
#include "ops/shaping.h"
#include "ops/unranked.h"
#include "ops/values.h"

#include <string.h>

#define UNBOUND 0xFFFFFFFFu

bool wnn_graph_is_symbolic(const struct graph *graph)
{
    for (size_t i = 0; i < graph->input_count; i++)
        if (wnn_shape_is_symbolic(&graph->sizes, &graph->inputs[i].operand->type.shape))
            return true;
    return false;
}

// ---------------------------------------------------------------------------------------------------------------
// Sizes
// ---------------------------------------------------------------------------------------------------------------

static bool fail_input(const struct graph_port *port, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail_input(const struct graph_port *port, struct error *error, const char *format, ...)
{
    char message[WNN_MESSAGE_SIZE];
    struct text text = TEXT(message);
    wnn_text_add(&text, "input \"");
    wnn_text_add_quoted(&text, port->name, 80);
    wnn_text_add(&text, "\" ");
    va_list arguments;
    va_start(arguments, format);
    wnn_text_add_list(&text, format, arguments);
    va_end(arguments);
    return wnn_fail(error, WNNStatus_TypeError, "%s", message);
}

// Gives a name the value that a dimension of an input has.
static bool bind_name(const struct graph *graph, const struct graph_port *port, unsigned dimension,
                      uint32_t value, uint32_t *values, struct error *error)
{
    uint32_t size = port->operand->type.shape.dim[dimension];
    char text[WNN_SIZE_TEXT];
    if (!wnn_size_is_symbolic(&graph->sizes, size))
        return true;
    const struct size *name = &graph->sizes.items[size & ~WNN_SYMBOLIC];
    uint32_t *bound = &values[size & ~WNN_SYMBOLIC];
    if (name->kind != SIZE_NAME)
        return true;
    if (value < name->range.min || value > name->range.max)
        return fail_input(port, error, "has size %u in dimension %u; expected %s of %lld to %lld", value,
                          dimension, wnn_size_text(&graph->sizes, size, text), (long long)name->range.min,
                          (long long)name->range.max);
    if (*bound != UNBOUND && *bound != value)
        return fail_input(port, error, "has size %u in dimension %u; expected %u, which %s is elsewhere",
                          value, dimension, *bound, wnn_size_text(&graph->sizes, size, text));
    *bound = value;
    return true;
}

static bool check_input(const struct graph *graph, const struct graph_port *port, const struct shape *shape,
                        const uint32_t *values, struct error *error)
{
    const struct shape *recorded = &port->operand->type.shape;
    for (unsigned i = 0; i < shape->rank; i++) {
        uint32_t size = recorded->dim[i];
        char text[WNN_SIZE_TEXT];
        if (wnn_size_is_symbolic(&graph->sizes, size)) {
            uint32_t value = values[size & ~WNN_SYMBOLIC];
            if (value != shape->dim[i])
                return fail_input(port, error, "has size %u in dimension %u; expected %u, which is %s",
                                  shape->dim[i], i, value, wnn_size_text(&graph->sizes, size, text));
        } else if (size != shape->dim[i]) {
            return fail_input(port, error, "has size %u in dimension %u; expected %u", shape->dim[i], i,
                              size);
        }
    }
    return true;
}

bool wnn_bind_sizes(const struct graph *recorded, const struct shape *shapes, uint32_t *values,
                    struct error *error)
{
    for (size_t i = 0; i < recorded->sizes.count; i++)
        values[i] = UNBOUND;
    for (size_t i = 0; i < recorded->input_count; i++) {
        const struct graph_port *port = &recorded->inputs[i];
        unsigned rank = port->operand->type.shape.rank;
        if (shapes[i].rank != rank)
            return fail_input(port, error, "has rank %u; expected %u", shapes[i].rank, rank);
        for (unsigned d = 0; d < rank; d++)
            if (!bind_name(recorded, port, d, shapes[i].dim[d], values, error))
                return false;
    }
    wnn_sizes_evaluate(&recorded->sizes, values);
    for (size_t i = 0; i < recorded->input_count; i++)
        if (!check_input(recorded, &recorded->inputs[i], &shapes[i], values, error))
            return false;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// The graph
// ---------------------------------------------------------------------------------------------------------------

struct binder {
    const struct graph *recorded;
    const WNNLimits *limits;
    uint32_t *values; // those that were not known become so, one after the other
    bool shaping;     // some operators are about shapes
    bool learns;      // some sizes are known to nobody but inference
    struct graph *bound;
    struct operand **copies; // by the index of the operand that was recorded
    struct error *error;
};

static uint32_t value_of(const struct binder *binder, uint32_t size)
{
    if (binder->learns)
        wnn_size_settle(&binder->recorded->sizes, size, binder->values);
    return wnn_size_value(&binder->recorded->sizes, size, binder->values);
}

static bool copy_operand(const struct binder *binder, const struct operand *from)
{
    struct descriptor type = from->type;
    for (unsigned i = 0; i < type.shape.rank; i++)
        type.shape.dim[i] = value_of(binder, type.shape.dim[i]);
    struct operand *to = from->constant
                             ? wnn_graph_add_constant(binder->bound, &type, wnn_constant_ref(from->constant))
                             : wnn_graph_add_operand(binder->bound, &type);
    if (!to)
        return wnn_fail_memory(binder->error);
    to->input = from->input;
    if (from->input) {
        struct operand_details *details = wnn_graph_detail(to);
        if (!details)
            return wnn_fail_memory(binder->error);
        details->name = wnn_operand_name(from);
    }
    binder->copies[from->index] = to;
    return true;
}

// Puts values in the place of the sizes that attributes hold. An option that was left to inference, and is of
// a size that only inference can compute, is left to it again.
static void bind_attrs(const struct binder *binder, const struct op_info *info, void *attrs)
{
    for (const struct op_row *row = info->rows; row->name; row++) {
        char *at = (char *)attrs + row->offset;
        if (!wnn_op_row_is_size(row))
            continue;
        if (row->attr == ATTR_u32) {
            uint32_t size;
            memcpy(&size, at, sizeof size);
            size = value_of(binder, size);
            memcpy(at, &size, sizeof size);
            continue;
        }
        WNNUint32List list;
        memcpy(&list, at, sizeof list);
        uint32_t *items = (uint32_t *)(uintptr_t)list.data; // of the copy
        bool unknown = false;
        for (size_t i = 0; list.count != WNN_LIST_ABSENT && i < list.count; i++) {
            bool symbolic = wnn_size_is_symbolic(&binder->recorded->sizes, items[i]);
            items[i] = value_of(binder, items[i]);
            unknown |= symbolic && items[i] > WNN_MAX_DIMENSION;
        }
        if (unknown && !row->argument) {
            list = (WNNUint32List){NULL, WNN_LIST_ABSENT};
            memcpy(at, &list, sizeof list);
        }
    }
}

// Puts the sibling of an operator about shapes in its place, now that all sizes are known.
static bool replace_shaping(const struct binder *binder, struct op_call *call, struct operand **in)
{
    if (!call->sibling_attrs)
        return true;
    enum op op = wnn_op_sibling(call->op);
    if (op == WNN_OP_identity) {
        struct constant *constant = wnn_shaping_constant(call);
        in[0] = constant ? wnn_graph_add_constant(binder->bound, &call->out[0], constant) : NULL;
        if (!in[0])
            return wnn_fail_memory(call->error);
    }
    call->op = op;
    call->attrs = call->sibling_attrs;
    call->in_count = 1;
    return true;
}

// The sizes of results that only inference could tell.
static void learn_sizes(const struct binder *binder, const struct node *from, const struct op_call *call)
{
    const struct size_table *sizes = &binder->recorded->sizes;
    for (unsigned i = 0; i < from->out_count; i++)
        for (unsigned d = 0; d < from->out[i]->type.shape.rank; d++)
            wnn_size_learn(sizes, from->out[i]->type.shape.dim[d], call->out[i].shape.dim[d], binder->values);
}

static bool infer_node(const struct binder *binder, const struct node *from, struct op_call *call,
                       struct operand **in)
{
    bind_attrs(binder, call->info, call->attrs);
    if (wnn_has_unranked(from->in, from->in_count) && !wnn_op_check_ranks(call)) // which recording could not
        return false;
    if (!call->info->infer(call) || !wnn_op_check_outputs(call))
        return false;
    if (binder->learns)
        learn_sizes(binder, from, call);
    return !binder->shaping || (wnn_values_infer(call) && replace_shaping(binder, call, in));
}

static bool copy_node(const struct binder *binder, const struct node *from)
{
    struct arena *arena = &binder->bound->arena;
    struct operand **in = wnn_arena_allocate(arena, from->in_count * sizeof in[0]);
    struct descriptor out[3] = {{0}};
    struct op_call call = {.op = (enum op)from->op,
                           .info = &wnn_ops[from->op],
                           .in = in,
                           .in_count = from->in_count,
                           .attrs = wnn_op_copy_attrs(arena, (enum op)from->op, from->attrs),
                           .out = out,
                           .out_count = 1,
                           .out_capacity = 3,
                           .arena = arena,
                           .limits = binder->limits,
                           .error = binder->error};
    if (!in || !call.attrs)
        return wnn_fail_memory(binder->error);
    for (unsigned i = 0; i < from->in_count; i++)
        in[i] = from->in[i] ? binder->copies[from->in[i]->index] : NULL;
    if (!infer_node(binder, from, &call, in))
        return false;
    struct node *to =
        wnn_graph_add_node(binder->bound, (uint16_t)call.op, call.in_count, call.out_count, call.out);
    if (!to)
        return wnn_fail_memory(binder->error);
    if (call.in_count)
        memcpy(to->in, in, call.in_count * sizeof in[0]);
    to->attrs = call.attrs;
    to->label = from->label;
    for (unsigned i = 0; i < from->out_count; i++)
        binder->copies[from->out[i]->index] = to->out[i];
    return wnn_keep_values(to, call.values) || wnn_fail_memory(binder->error);
}

static struct graph_port *copy_ports(const struct binder *binder, const struct graph_port *from, size_t count)
{
    struct graph_port *ports = wnn_arena_copy(&binder->bound->arena, from, count * sizeof *ports);
    for (size_t i = 0; ports && i < count; i++)
        ports[i].operand = binder->copies[from[i].operand->index];
    for (size_t i = 0; ports && i < count; i++)
        if (!(ports[i].name = wnn_string_copy(&binder->bound->arena, from[i].name)).data)
            return NULL;
    return ports;
}

static bool copy_all(const struct binder *binder)
{
    const struct graph *from = binder->recorded;
    for (size_t i = 0; i < from->operand_count; i++)
        if (!from->operands[i]->producer && !copy_operand(binder, from->operands[i]))
            return false;
    for (size_t i = 0; i < from->node_count; i++)
        if (!copy_node(binder, from->nodes[i]))
            return false;
    struct graph *bound = binder->bound;
    bound->inputs = copy_ports(binder, from->inputs, from->input_count);
    bound->outputs = copy_ports(binder, from->outputs, from->output_count);
    if (!bound->inputs || !bound->outputs)
        return wnn_fail_memory(binder->error);
    bound->input_count = from->input_count;
    bound->output_count = from->output_count;
    return wnn_check_graph_work(binder->limits, bound, binder->error);
}

static bool has_unknown(const struct size_table *sizes)
{
    size_t i = 0;
    while (i < sizes->count && sizes->items[i].kind != SIZE_UNKNOWN)
        i++;
    return i < sizes->count;
}

// Copies the values, some of which will be learnt; NULL: none are known.
static bool bind(struct binder *binder, const uint32_t *values)
{
    struct allocator *allocator = binder->bound->arena.allocator;
    const struct graph *recorded = binder->recorded;
    size_t count = recorded->sizes.count;
    binder->copies = wnn_allocate_zero(allocator, recorded->operand_count * sizeof binder->copies[0]);
    binder->values = wnn_allocate(allocator, count * sizeof binder->values[0]);
    binder->shaping = wnn_graph_has_shaping(recorded);
    binder->learns = binder->shaping || has_unknown(&recorded->sizes);
    binder->bound->strings = wnn_string_pool_ref(recorded->strings);
    bool done = binder->copies && binder->values;
    for (size_t i = 0; done && i < count; i++)
        binder->values[i] = values ? values[i] : UNBOUND;
    done = done ? copy_all(binder) : wnn_fail_memory(binder->error);
    wnn_release(allocator, binder->values);
    return done;
}

bool wnn_bind_graph(const struct graph *recorded, const WNNLimits *limits, const uint32_t *values,
                    struct graph *bound, struct error *error)
{
    struct binder binder = {.recorded = recorded, .limits = limits, .bound = bound, .error = error};
    bool done = bind(&binder, values);
    bound->recorded = recorded;
    wnn_release(bound->arena.allocator, binder.copies);
    return done;
}

bool wnn_settle_graph(struct graph *graph, const WNNLimits *limits, const struct graph *source,
                      struct error *error)
{
    struct graph bound;
    wnn_graph_init(&bound, graph->arena.allocator);
    struct binder binder = {.recorded = graph, .limits = limits, .bound = &bound, .error = error};
    bool done = bind(&binder, NULL);
    for (size_t i = 0; done && i < source->operand_count; i++)
        if (source->operands[i]->link)
            source->operands[i]->link = binder.copies[source->operands[i]->link->index];
    wnn_release(bound.arena.allocator, binder.copies);
    wnn_graph_free(done ? graph : &bound);
    if (!done)
        return false;
    *graph = bound;
    for (size_t i = 0; i < graph->operand_count; i++)
        graph->operands[i]->graph = graph;
    return true;
}
