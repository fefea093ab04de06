// SPDX-License-Identifier: Apache-2.0
//
// Attention: the scores of all heads are one product, in scratch memory; softmax takes them with scale and
// mask and leaves its result there; and another product mixes the values. Heads are read and written where
// they lie, whatever the order of their dimensions.

#include "vulkan/ops/normalization.h"
#include "vulkan/ops/operators.h"
#include "vulkan/ops/gemm.h"

#include <string.h>

// Matrices in a tensor, one for each head: steps of elements.
struct heads {
    int64_t head[WNN_MAX_RANK];
    uint32_t row, column;
};

struct attention {
    struct heads query, key, value, out;
    unsigned rank; // of the leading dimensions
    uint32_t dims[WNN_MAX_RANK], head_count;
    uint32_t rows, columns, depth, width;
    bool moved; // the result is not in the order of the heads
};

// The tensor with its dimensions in the order of the permutation: [heads, rows, columns].
static struct heads heads_of(const struct shape *shape, WNNUint32List permutation)
{
    struct heads heads = {0};
    size_t strides[WNN_MAX_RANK];
    unsigned rank = shape->rank;
    wnn_shape_strides(shape, strides);
    for (unsigned d = 0; d + 2 < rank; d++)
        heads.head[d] = shape->dim[permutation.data[d]] > 1 ? (int64_t)strides[permutation.data[d]] : 0;
    heads.row = (uint32_t)strides[permutation.data[rank - 2]];
    heads.column = (uint32_t)strides[permutation.data[rank - 1]];
    return heads;
}

static struct attention describe_attention(const struct node *node)
{
    const struct attention_attrs *attrs = node->attrs;
    const struct shape *query = &node->in[0]->type.shape, *key = &node->in[1]->type.shape;
    const struct shape *value = &node->in[2]->type.shape, *out = &node->out[0]->type.shape;
    unsigned rank = query->rank;
    struct attention a = {.query = heads_of(query, attrs->queryPermutation),
                          .key = heads_of(key, attrs->keyPermutation),
                          .value = heads_of(value, attrs->valuePermutation),
                          .rank = rank - 2,
                          .head_count = 1,
                          .rows = query->dim[attrs->queryPermutation.data[rank - 2]],
                          .depth = query->dim[attrs->queryPermutation.data[rank - 1]],
                          .columns = key->dim[attrs->keyPermutation.data[rank - 1]],
                          .width = value->dim[attrs->valuePermutation.data[rank - 1]]};
    size_t strides[WNN_MAX_RANK], place[WNN_MAX_RANK] = {0};
    for (unsigned d = 0; d + 2 < rank; d++) {
        a.dims[d] = query->dim[attrs->queryPermutation.data[d]];
        a.head_count *= a.dims[d];
    }
    // Dimension d of the result goes to where the permutation has d.
    wnn_shape_strides(out, strides);
    for (unsigned d = 0; d < rank; d++) {
        place[attrs->outputPermutation.data[d]] = strides[d];
        a.moved |= attrs->outputPermutation.data[d] != d;
    }
    for (unsigned d = 0; d + 2 < rank; d++)
        a.out.head[d] = (int64_t)place[d];
    a.out.row = (uint32_t)place[rank - 2];
    a.out.column = (uint32_t)place[rank - 1];
    return a;
}

// Matrices one behind the other.
static struct heads dense_heads(const struct attention *a, uint32_t rows, uint32_t columns)
{
    struct heads heads = {.row = columns, .column = 1};
    int64_t step = (int64_t)rows * columns;
    for (unsigned d = a->rank; d-- > 0;) {
        heads.head[d] = step;
        step *= a->dims[d];
    }
    return heads;
}

static struct product product_of(const struct attention *a, const struct heads *left,
                                 const struct heads *right, const struct heads *out, uint32_t columns,
                                 uint32_t inner)
{
    struct product p = {.rows = a->rows,
                        .columns = columns,
                        .inner = inner,
                        .matrices = a->head_count,
                        .a_row = left->row,
                        .a_inner = left->column,
                        .b_run = inner,
                        .b_inner = right->row,
                        .b_column = right->column,
                        .out_row = out->row,
                        .alpha = 1,
                        .rank = a->rank};
    for (unsigned d = 0; d < a->rank; d++) {
        p.dims[d] = a->dims[d];
        p.a_steps[d] = left->head[d];
        p.b_steps[d] = right->head[d];
        p.out_steps[d] = out->head[d];
    }
    return p;
}

static struct product scores_of(const struct attention *a, const struct heads *dense)
{
    return product_of(a, &a->query, &a->key, dense, a->columns, a->depth);
}

static struct product mixed_of(const struct attention *a, const struct heads *scores, const struct heads *out)
{
    return product_of(a, scores, &a->value, out, a->width, a->columns);
}

// Where in scratch memory things are.
struct places {
    size_t mixed, rest, end; // the scores are at 0
};

static struct places places_of(const struct attention *a, WNNDataType type)
{
    struct places places;
    struct heads dense = dense_heads(a, a->rows, a->columns), mixed = dense_heads(a, a->rows, a->width);
    struct product first = scores_of(a, &dense), second = mixed_of(a, &dense, a->moved ? &a->out : &mixed);
    size_t rows = (size_t)a->head_count * a->rows, sums = wnn_scratch_of_product(&first, type),
           more = wnn_scratch_of_product(&second, type), known = wnn_scratch_of_softmax_of(rows, a->columns);
    sums = more > sums ? more : sums;
    second = mixed_of(a, &dense, &mixed);
    more = wnn_scratch_of_product(&second, type);
    sums = more > sums ? more : sums;
    places.mixed = wnn_aligned(wnn_dtype_bytes(type, rows * a->columns));
    places.rest = places.mixed + (a->moved ? wnn_aligned(wnn_dtype_bytes(type, rows * a->width)) : 0);
    places.end = places.rest + (known > sums ? known : sums);
    return places;
}

static size_t scratch_bytes(const struct node *node)
{
    struct attention a = describe_attention(node);
    return places_of(&a, node->out[0]->type.type).end;
}

// Whether the kernel with tiles can do it: it reads along one dimension or the other.
static bool is_tiled(const struct lowering *lowering, const struct product *p)
{
    return (p->a_inner == 1 || p->a_row == 1) && (p->b_column == 1 || p->b_inner == 1) &&
           wnn_is_large_product(lowering, p);
}

static void multiply(struct lowering *lowering, const struct product *p)
{
    if (is_tiled(lowering, p))
        wnn_lower_product(lowering, p);
    else
        wnn_lower_each_product(lowering, p);
}

// The result of the heads to where the output has it.
static void move_mixed(struct lowering *lowering, const struct attention *a, const struct tensor *mixed)
{
    const struct attention_attrs *attrs = lowering->node->attrs;
    const struct tensor *out = &lowering->out[0];
    struct heads dense = dense_heads(a, a->rows, a->width);
    int64_t steps[WNN_MAX_RANK];
    for (unsigned d = 0; d < out->shape.rank; d++) {
        uint32_t from = attrs->outputPermutation.data[d];
        steps[d] = from < a->rank ? dense.head[from] : from == a->rank ? dense.row : 1;
    }
    wnn_lower_move(lowering, mixed, out, out->shape.rank, out->shape.dim, steps, 0);
}

static void lower_attention(struct lowering *lowering)
{
    const struct node *node = lowering->node;
    const struct attention_attrs *attrs = node->attrs;
    const struct tensor *out = &lowering->out[0];
    struct attention a = describe_attention(node);
    struct places places = places_of(&a, out->type);
    size_t rows = (size_t)a.head_count * a.rows;
    struct heads dense = dense_heads(&a, a.rows, a.columns);
    struct tensor scores = wnn_scratch(lowering, 0, out->type, rows * a.columns),
                  mixed = wnn_scratch(lowering, places.mixed, out->type, rows * a.width);
    lowering->scratch.offset += places.rest;
    lowering->scratch.bytes -= places.rest;

    struct product p = scores_of(&a, &dense);
    p.a = &lowering->in[0];
    p.b = &lowering->in[1];
    p.out = &scores;
    multiply(lowering, &p);

    struct softmax_input input = {.scale = attrs->scale};
    scores.shape = (struct shape){.rank = a.rank};
    memcpy(scores.shape.dim, a.dims, sizeof scores.shape.dim);
    wnn_shape_append(&scores.shape, (uint32_t[]){a.rows, a.columns}, 2);
    if (node->in[3])
        input.mask = &lowering->in[3];
    wnn_lower_softmax_of(lowering, &scores, &input);

    p = mixed_of(&a, &dense, &a.out);
    p.a = &scores;
    p.b = &lowering->in[2];
    p.out = out;
    bool direct = !a.moved || (a.out.column == 1 && is_tiled(lowering, &p));
    if (!direct) {
        struct heads to = dense_heads(&a, a.rows, a.width);
        p = mixed_of(&a, &dense, &to);
        p.a = &scores;
        p.b = &lowering->in[2];
        p.out = &mixed;
    }
    multiply(lowering, &p);
    if (!direct)
        move_mixed(lowering, &a, &mixed);
}

const struct gpu_operator wnn_gpu_attention = {.lower = lower_attention, .scratch = scratch_bytes};
