// SPDX-License-Identifier: Apache-2.0
#include "compiler/rewrite.h"

#include <math.h>
#include <string.h>

bool wnn_rewrite_has(const struct graph *graph, enum op op)
{
    size_t i = 0;
    while (i < graph->node_count && graph->nodes[i]->op != op)
        i++;
    return i < graph->node_count;
}

void *wnn_rewrite_attrs(struct graph *graph, enum op op)
{
    return wnn_op_copy_attrs(&graph->arena, op, wnn_ops[op].defaults);
}

bool wnn_rewrite_list(struct graph *graph, WNNUint32List *list, const uint32_t *items, size_t count)
{
    uint32_t *copy = wnn_arena_copy(&graph->arena, items, count * sizeof items[0]);
    *list = (WNNUint32List){copy, count};
    return copy != NULL;
}

bool wnn_rewrite_moves_nothing(const uint32_t *permutation, const struct shape *result)
{
    uint32_t last = 0;
    for (unsigned d = 0; d < result->rank; d++) {
        if (result->dim[d] == 1)
            continue;
        if (permutation[d] < last)
            return false;
        last = permutation[d];
    }
    return true;
}

// The finest dimensions of which the dimensions of two shapes consist, but for such of size 1.
struct factors {
    unsigned count;
    struct {
        uint32_t size;
        unsigned from, to; // the dimensions of either shape that it is part of
    } factor[2 * WNN_MAX_RANK];
};

// False: there are none.
static bool factorize(const struct shape *from, const struct shape *to, struct factors *factors)
{
    uint32_t a = 1, b = 1; // what is left of the two dimensions before i and j
    unsigned i = 0, j = 0;
    factors->count = 0;
    for (;;) {
        while (a == 1 && i < from->rank)
            a = from->dim[i++];
        while (b == 1 && j < to->rank)
            b = to->dim[j++];
        if (a == 1 || b == 1)
            return a == b;
        uint32_t size = a < b ? a : b;
        if (size == 0 || a % size != 0 || b % size != 0)
            return false;
        factors->factor[factors->count].size = size;
        factors->factor[factors->count].from = i - 1;
        factors->factor[factors->count++].to = j - 1;
        a /= size;
        b /= size;
    }
}

bool wnn_rewrite_join(WNNUint32List first, const struct shape *from, const struct shape *to,
                      WNNUint32List second, struct rewrite_move *joined)
{
    struct factors factors;
    unsigned before[2 * WNN_MAX_RANK], place[2 * WNN_MAX_RANK], group[2 * WNN_MAX_RANK], count = 0, last = 0;
    if (!factorize(from, to, &factors))
        return false;
    for (unsigned axis = 0; axis < from->rank; axis++)
        for (unsigned f = 0; f < factors.count; f++)
            if (first.data[factors.factor[f].from] == axis)
                before[count++] = f;
    count = 0;
    for (unsigned d = 0; d < to->rank; d++)
        for (unsigned f = 0; f < factors.count; f++)
            if (factors.factor[f].to == second.data[d])
                place[f] = count++;
    // What is side by side before and behind is moved as a whole.
    joined->split.rank = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned f = before[i];
        if (i > 0 && place[f] == place[last] + 1) {
            joined->split.dim[group[place[last]]] *= factors.factor[f].size;
            group[place[f]] = group[place[last]];
        } else if (joined->split.rank == WNN_MAX_RANK) {
            return false;
        } else {
            group[place[f]] = joined->split.rank;
            joined->split.dim[joined->split.rank++] = factors.factor[f].size;
        }
        last = f;
    }
    unsigned groups = 0;
    for (unsigned i = 0; i < count; i++)
        if (i == 0 || group[i] != group[i - 1])
            joined->permutation[groups++] = group[i];
    return true;
}

bool wnn_rewrite_restores(WNNUint32List first, const struct shape *from, const struct shape *to,
                          WNNUint32List second)
{
    struct rewrite_move joined;
    return wnn_rewrite_join(first, from, to, second, &joined) && joined.split.rank <= 1;
}

struct node *wnn_rewrite_add(struct graph *graph, enum op op, struct operand *in,
                             const struct descriptor *out, void *attrs, size_t before)
{
    struct node *node = attrs ? wnn_graph_add_node(graph, op, 1, 1, out) : NULL;
    if (!node)
        return NULL;
    node->in[0] = in;
    node->attrs = attrs;
    node->index = (uint32_t)before;
    return node;
}

struct node *wnn_rewrite_combine(struct graph *graph, enum op op, struct operand *a, struct operand *b,
                                 const struct descriptor *out, size_t before)
{
    void *attrs = a && b ? wnn_rewrite_attrs(graph, op) : NULL;
    struct node *node = attrs ? wnn_graph_add_node(graph, op, 2, 1, out) : NULL;
    if (!node)
        return NULL;
    node->in[0] = a;
    node->in[1] = b;
    node->attrs = attrs;
    node->index = (uint32_t)before;
    return node;
}

struct node *wnn_rewrite_add_reshape(struct graph *graph, struct operand *in, const struct descriptor *out,
                                     size_t before)
{
    struct expand_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_reshape);
    if (!attrs || !wnn_rewrite_list(graph, &attrs->newShape, out->shape.dim, out->shape.rank))
        return NULL;
    return wnn_rewrite_add(graph, WNN_OP_reshape, in, out, attrs, before);
}

struct operand *wnn_rewrite_reshape(struct graph *graph, struct operand *in, const struct shape *shape,
                                    size_t before)
{
    if (!in || wnn_shape_equal(&in->type.shape, shape))
        return in;
    const struct descriptor type = {in->type.type, *shape};
    struct node *node = wnn_rewrite_add_reshape(graph, in, &type, before);
    return node ? node->out[0] : NULL;
}

struct operand *wnn_rewrite_transpose(struct graph *graph, struct operand *in, const uint32_t *permutation,
                                      size_t before)
{
    if (!in)
        return NULL;
    struct descriptor type = {in->type.type, {in->type.shape.rank, {0}}};
    for (unsigned d = 0; d < type.shape.rank; d++)
        type.shape.dim[d] = in->type.shape.dim[permutation[d]];
    WNNTransposeOptions *attrs = wnn_rewrite_attrs(graph, WNN_OP_transpose);
    if (!attrs || !wnn_rewrite_list(graph, &attrs->permutation, permutation, type.shape.rank))
        return NULL;
    struct node *node = wnn_rewrite_add(graph, WNN_OP_transpose, in, &type, attrs, before);
    return node ? node->out[0] : NULL;
}

struct operand *wnn_rewrite_cast(struct graph *graph, struct operand *in, WNNDataType type, size_t before)
{
    if (!in || in->type.type == type)
        return in;
    struct cast_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_cast);
    const struct descriptor out = {type, in->type.shape};
    if (attrs)
        attrs->dataType = type;
    struct node *node = wnn_rewrite_add(graph, WNN_OP_cast, in, &out, attrs, before);
    return node ? node->out[0] : NULL;
}

struct operand *wnn_rewrite_expand(struct graph *graph, struct operand *in, const struct shape *shape,
                                   size_t before)
{
    struct expand_attrs *attrs = in ? wnn_rewrite_attrs(graph, WNN_OP_expand) : NULL;
    if (!attrs || !wnn_rewrite_list(graph, &attrs->newShape, shape->dim, shape->rank))
        return NULL;
    const struct descriptor type = {in->type.type, *shape};
    struct node *node = wnn_rewrite_add(graph, WNN_OP_expand, in, &type, attrs, before);
    return node ? node->out[0] : NULL;
}

struct operand *wnn_rewrite_slice(struct graph *graph, struct operand *in, const uint32_t *starts,
                                  const struct shape *sizes, size_t before)
{
    if (!in || wnn_shape_equal(&in->type.shape, sizes))
        return in;
    struct slice_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_slice);
    uint32_t ones[WNN_MAX_RANK];
    for (unsigned d = 0; d < sizes->rank; d++)
        ones[d] = 1;
    if (!attrs || !wnn_rewrite_list(graph, &attrs->starts, starts, sizes->rank) ||
        !wnn_rewrite_list(graph, &attrs->sizes, sizes->dim, sizes->rank) ||
        !wnn_rewrite_list(graph, &attrs->options.strides, ones, sizes->rank))
        return NULL;
    const struct descriptor type = {in->type.type, *sizes};
    struct node *node = wnn_rewrite_add(graph, WNN_OP_slice, in, &type, attrs, before);
    return node ? node->out[0] : NULL;
}

bool wnn_rewrite_become_reshape(struct graph *graph, struct node *node, struct operand *in)
{
    struct expand_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_reshape);
    const struct shape *shape = &node->out[0]->type.shape;
    if (!attrs || !wnn_rewrite_list(graph, &attrs->newShape, shape->dim, shape->rank))
        return false;
    node->op = WNN_OP_reshape;
    node->attrs = attrs;
    node->in[0] = in;
    node->in_count = 1;
    return true;
}

bool wnn_rewrite_become_transpose(struct graph *graph, struct node *node, struct operand *in,
                                  const uint32_t *permutation)
{
    WNNTransposeOptions *attrs = wnn_rewrite_attrs(graph, WNN_OP_transpose);
    if (!attrs || !wnn_rewrite_list(graph, &attrs->permutation, permutation, in->type.shape.rank))
        return false;
    node->op = WNN_OP_transpose;
    node->attrs = attrs;
    node->in[0] = in;
    node->in_count = 1;
    return true;
}

bool wnn_rewrite_order(struct pass_context *context, struct graph *graph, size_t old_count)
{
    size_t count = graph->node_count;
    if (count == old_count)
        return true;
    // By where they belong: how many nodes come before the first that stands before old node i, then that
    // place.
    size_t *next = wnn_allocate_zero(context->allocator, (old_count + 2) * sizeof next[0]);
    struct node **ordered = wnn_allocate(context->allocator, count * sizeof ordered[0]);
    bool enough = next && ordered;
    if (enough) {
        for (size_t i = 0; i < count; i++)
            next[(i < old_count ? i : graph->nodes[i]->index) + 1]++;
        for (size_t i = 1; i < old_count + 2; i++)
            next[i] += next[i - 1];
        for (size_t i = old_count; i < count; i++)
            ordered[next[graph->nodes[i]->index]++] = graph->nodes[i];
        for (size_t i = 0; i < old_count; i++)
            ordered[next[i]] = graph->nodes[i];
        memcpy(graph->nodes, ordered, count * sizeof ordered[0]);
        for (size_t i = 0; i < count; i++)
            graph->nodes[i]->index = (uint32_t)i;
    }
    wnn_release(context->allocator, ordered);
    wnn_release(context->allocator, next);
    return enough || wnn_fail_memory(context->error);
}

bool wnn_rewrite_finish(struct pass_context *context, struct graph *graph, size_t old_count)
{
    if (!wnn_rewrite_order(context, graph, old_count))
        return false;
    wnn_graph_rewire(graph, NULL);
    return wnn_prune(context, graph);
}

void wnn_rewrite_take_over(struct node *into, struct node *node)
{
    struct operand *left = into->out[0];
    into->out[0] = node->out[0];
    into->out[0]->producer = into;
    node->out[0] = left;
    left->producer = node;
    left->uses = 0;
    node->in_count = 0;
    node->fused = NULL;
}

struct operand *wnn_rewrite_part_of(const struct operand *operand, unsigned axis, size_t at)
{
    const struct node *node = operand->producer;
    if (!node || node->fused)
        return NULL;
    if (node->op == WNN_OP_split) {
        const struct split_attrs *attrs = node->attrs;
        size_t before = 0;
        for (unsigned i = 0; i < operand->output; i++)
            before += node->out[i]->type.shape.dim[attrs->options.axis];
        return attrs->options.axis == axis && before == at ? node->in[0] : NULL;
    }
    if (node->op != WNN_OP_slice)
        return NULL;
    const struct slice_attrs *attrs = node->attrs;
    for (unsigned i = 0; i < node->in[0]->type.shape.rank; i++)
        if (attrs->starts.data[i] != (i == axis ? at : 0) || attrs->options.strides.data[i] != 1)
            return NULL;
    return node->in[0];
}

bool wnn_rewrite_is_floats(const struct operand *operand)
{
    return operand && operand->constant && operand->constant->data && wnn_dtype_is_float(operand->type.type);
}

bool wnn_rewrite_is_number(const struct operand *operand)
{
    return wnn_rewrite_is_floats(operand) && wnn_shape_elements(&operand->type.shape) == 1;
}

double wnn_rewrite_value(const struct operand *operand, size_t index)
{
    return wnn_number_double(wnn_number_load(operand->type.type, operand->constant->data, index));
}

bool wnn_rewrite_may_copy(const struct operand *weights)
{
    enum {
        SMALL_BYTES = 64 * 1024
    };
    return weights->uses <= 1 || weights->constant->bytes <= SMALL_BYTES;
}

double wnn_rewrite_channel(const struct operand *operand, size_t channel, double absent)
{
    if (!operand)
        return absent;
    return wnn_rewrite_value(operand, wnn_shape_elements(&operand->type.shape) == 1 ? 0 : channel);
}

bool wnn_rewrite_normalization(const struct node *node, size_t count, double *factor, double *offset)
{
    const WNNBatchNormalizationOptions *options = node->attrs;
    for (unsigned i = 1; i < node->in_count; i++)
        if (node->in[i] ? !wnn_rewrite_is_floats(node->in[i]) : i < 3)
            return false;
    for (size_t i = 0; i < count; i++) {
        double mean = wnn_rewrite_channel(node->in[1], i, 0),
               variance = wnn_rewrite_channel(node->in[2], i, 0);
        factor[i] = wnn_rewrite_channel(node->in[3], i, 1) / sqrt(variance + options->epsilon);
        offset[i] = wnn_rewrite_channel(node->in[4], i, 0) - mean * factor[i];
    }
    return true;
}

static enum scale_use use_of_values(const struct operand *scale)
{
    if (!wnn_rewrite_is_floats(scale))
        return SCALE_NONE;
    enum scale_use use = SCALE_BOTH_WAYS;
    bool half = scale->type.type == WNNDataType_Float16;
    double least = half ? 0x1p-14 : 0x1p-100, most = half ? 255 : 0x1p100;
    for (size_t i = 0; i < wnn_shape_elements(&scale->type.shape); i++) {
        double value = wnn_rewrite_value(scale, i);
        if (!(fabs(value) <= most))
            return SCALE_NONE;
        if (value < least)
            use = SCALE_OF_WEIGHTS;
    }
    return use;
}

enum scale_use wnn_rewrite_scale_use(const struct operand *scale, const struct operand *zero_point)
{
    bool fits =
        zero_point->constant && zero_point->constant->data && wnn_dtype_bits(zero_point->type.type) <= 8;
    return fits ? use_of_values(scale) : SCALE_NONE;
}

static bool subtracts_zero(const struct node *node)
{
    return node->op == WNN_OP_conv2d || node->op == WNN_OP_gemm || node->op == WNN_OP_matmul;
}

enum scale_use wnn_rewrite_input_scale_use(const struct node *node, unsigned input,
                                           const struct operand *scale, const struct operand *zero_point)
{
    if (zero_point->constant || input > 0)
        return wnn_rewrite_scale_use(scale, zero_point);
    bool fits = subtracts_zero(node) && wnn_dtype_bits(zero_point->type.type) == 8 &&
                wnn_shape_elements(&zero_point->type.shape) == 1;
    return fits ? use_of_values(scale) : SCALE_NONE;
}

struct operand *wnn_rewrite_reshaped(struct graph *graph, const struct operand *constant,
                                     const struct shape *shape)
{
    struct descriptor type = {constant->type.type, *shape};
    return wnn_graph_add_constant(graph, &type, wnn_constant_ref(constant->constant));
}

struct operand *wnn_rewrite_constant(struct pass_context *context, struct graph *graph,
                                     const struct descriptor *type, const double *values)
{
    struct constant *constant = wnn_constant_create(context->allocator, wnn_descriptor_bytes(type));
    if (!constant)
        return NULL;
    size_t count = wnn_shape_elements(&type->shape);
    for (size_t i = 0; i < count; i++)
        wnn_number_store(wnn_number_convert(wnnNumberFloat64(values[i]), type->type), type->type,
                         (void *)(uintptr_t)constant->data, i);
    return wnn_graph_add_constant(graph, type, constant);
}

static bool exchanges_matrices(const struct node *node)
{
    if (!node || node->op != WNN_OP_transpose)
        return false;
    const uint32_t *permutation = wnn_rewrite_order_of(node).data;
    unsigned rank = node->in[0]->type.shape.rank;
    bool last = rank >= 2 && permutation[rank - 1] == rank - 2 && permutation[rank - 2] == rank - 1;
    for (unsigned d = 0; last && d + 2 < rank; d++)
        last = permutation[d] == d;
    return last;
}

// Whether shapes of matrices are the same but for dimensions of 1 in front of these.
static bool same_matrices(const struct shape *a, const struct shape *b)
{
    unsigned i = 0, j = 0;
    if (a->rank < 2 || b->rank < 2 || a->dim[a->rank - 2] != b->dim[b->rank - 2])
        return false;
    for (;;) {
        while (i < a->rank && a->dim[i] == 1)
            i++;
        while (j < b->rank && b->dim[j] == 1)
            j++;
        if (i == a->rank || j == b->rank)
            return i == a->rank && j == b->rank && a->dim[i - 1] == b->dim[j - 1];
        if (a->dim[i++] != b->dim[j++])
            return false;
    }
}

// The transpose of the last two dimensions that a node is, or gives other dimensions of 1.
static struct node *find_exchange(struct node *node)
{
    if (node && node->op == WNN_OP_reshape && node->in[0]->producer &&
        same_matrices(&node->in[0]->type.shape, &node->out[0]->type.shape))
        node = node->in[0]->producer;
    return exchanges_matrices(node) ? node : NULL;
}

// The only dimension that grows must be the third from the end; before a reshape that joins it with the one
// in front, or without one.
bool wnn_rewrite_find_repeated(struct operand *operand, struct rewrite_repeated *found, const char **reason)
{
    struct node *node = operand->producer;
    *found = (struct rewrite_repeated){.transpose = find_exchange(node)};
    if (found->transpose)
        node = found->transpose->in[0]->producer;
    const struct node *joined = node && node->op == WNN_OP_reshape ? node : NULL;
    const struct node *expand = joined ? joined->in[0]->producer : node;
    *reason = NULL;
    if (!expand || expand->op != WNN_OP_expand)
        return false;
    *reason = "what is repeated is not the third dimension from the end alone";
    const struct shape *from = &expand->in[0]->type.shape, *to = &expand->out[0]->type.shape;
    unsigned rank = to->rank;
    if (from->rank != rank || rank < 3u + !!joined)
        return false;
    for (unsigned d = 0; d < rank; d++)
        if (d == rank - 3 ? from->dim[d] != 1 : from->dim[d] != to->dim[d])
            return false;
    found->source = expand->in[0];
    found->joined = joined != NULL;
    found->times = to->dim[rank - 3];
    found->shape = *from;
    if (!joined)
        return found->times > 1;
    struct shape flat = *to;
    flat.rank--;
    flat.dim[rank - 4] *= found->times;
    memmove(flat.dim + rank - 3, flat.dim + rank - 2, 2 * sizeof flat.dim[0]);
    found->shape.rank--;
    memmove(found->shape.dim + rank - 3, found->shape.dim + rank - 2, 2 * sizeof flat.dim[0]);
    *reason = "the repetitions are not joined with the dimension in front of them";
    return found->times > 1 && same_matrices(&joined->out[0]->type.shape, &flat);
}
