// SPDX-License-Identifier: Apache-2.0
//
// Attention in three steps: the scores of all heads are one product, in scratch memory; softmax takes them
// with scale and mask and leaves its result there; and another product mixes the values.

#include "vulkan/ops/attention.h"
#include "vulkan/ops/gemm.h"
#include "vulkan/ops/normalization.h"
#include "vulkan/ops/operators.h"

#include <string.h>

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

size_t wnn_scratch_of_scores(const struct attention *a, WNNDataType type)
{
    return places_of(a, type).end;
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

void wnn_lower_scores(struct lowering *lowering, const struct attention *a)
{
    const struct node *node = lowering->node;
    const struct attention_attrs *attrs = node->attrs;
    const struct tensor *out = &lowering->out[0];
    struct places places = places_of(a, out->type);
    size_t rows = (size_t)a->head_count * a->rows;
    struct heads dense = dense_heads(a, a->rows, a->columns);
    struct tensor scores = wnn_scratch(lowering, 0, out->type, rows * a->columns),
                  mixed = wnn_scratch(lowering, places.mixed, out->type, rows * a->width);
    lowering->scratch.offset += places.rest;
    lowering->scratch.bytes -= places.rest;

    struct product p = scores_of(a, &dense);
    p.a = &lowering->in[0];
    p.b = &lowering->in[1];
    p.out = &scores;
    multiply(lowering, &p);

    struct softmax_input input = {.scale = attrs->scale, .zero_nan = a->zero_nan};
    scores.shape = (struct shape){.rank = a->rank};
    memcpy(scores.shape.dim, a->dims, sizeof scores.shape.dim);
    wnn_shape_append(&scores.shape, (uint32_t[]){a->rows, a->columns}, 2);
    if (node->in[3])
        input.mask = &lowering->in[3];
    wnn_lower_softmax_of(lowering, &scores, &input);

    p = mixed_of(a, &dense, &a->out);
    p.a = &scores;
    p.b = &lowering->in[2];
    p.out = out;
    bool direct = !a->moved || (a->out.column == 1 && is_tiled(lowering, &p));
    if (!direct) {
        struct heads to = dense_heads(a, a->rows, a->width);
        p = mixed_of(a, &dense, &to);
        p.a = &scores;
        p.b = &lowering->in[2];
        p.out = &mixed;
    }
    multiply(lowering, &p);
    if (!direct)
        move_mixed(lowering, a, &mixed);
}
