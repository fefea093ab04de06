// SPDX-License-Identifier: Apache-2.0
//
// Attention. Heads are read and written where they lie, whatever the order of their dimensions.

#include "vulkan/ops/attention.h"

#include "vulkan/ops/operators.h"

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

// Of a row of the mask, or the keys that it attends to: those of which row of scores, which has so many.
static struct heads mask_of(const struct attention *a, const struct shape *mask, uint32_t columns)
{
    struct shape scores = {.rank = a->rank};
    struct heads heads = {0};
    size_t strides[WNN_MAX_RANK];
    for (unsigned d = 0; d < a->rank; d++)
        scores.dim[d] = a->dims[d];
    wnn_shape_append(&scores, (uint32_t[]){a->rows, columns}, 2);
    wnn_shape_broadcast_strides(mask, &scores, strides);
    for (unsigned d = 0; d < a->rank; d++)
        heads.head[d] = (int64_t)strides[d];
    heads.row = (uint32_t)strides[a->rank];
    heads.column = (uint32_t)strides[a->rank + 1];
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
                          .type = node->out[0]->type.type,
                          .scale = attrs->scale,
                          .zero_nan = attrs->zeroNan,
                          .masked = node->in[3] != NULL,
                          .has_ranges = node->in[4] != NULL,
                          .window = attrs->window,
                          .window_end = attrs->windowEnd,
                          .late = wnn_node_is_late(node),
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
    a.largest = wnn_descriptor_bytes(&node->out[0]->type);
    for (unsigned i = 0; i < 5; i++) {
        size_t bytes = node->in[i] ? wnn_descriptor_bytes(&node->in[i]->type) : 0;
        a.largest = bytes > a.largest ? bytes : a.largest;
    }
    if (a.masked)
        a.mask = mask_of(&a, &node->in[3]->type.shape, a.columns);
    if (a.has_ranges)
        a.attended = mask_of(&a, &node->in[4]->type.shape, WNN_ATTENDED_NUMBERS);
    return a;
}

size_t wnn_scratch_of_attention(const struct gpu *gpu, const struct node *node)
{
    struct attention a = describe_attention(node);
    return wnn_attends_in_tiles(gpu, &a) ? wnn_scratch_of_tiles(gpu, &a) : wnn_scratch_of_scores(&a, a.type);
}

bool wnn_wants_attended(const struct gpu *gpu, const struct node *node, size_t sharing)
{
    struct attention a = describe_attention(node);
    uint64_t scores = (uint64_t)a.head_count * a.rows * a.columns,
             mask = wnn_shape_elements(&node->in[3]->type.shape);
    // What every head has of its own is a bias rather than a mask.
    bool is_bias = a.head_count > 1 && mask == scores && !gpu->can.minimal && !gpu->can.always_matrices;
    return !is_bias && wnn_shader_node_bindings(gpu, node) < gpu->can.buffers &&
           wnn_tiles_skip_keys(gpu, &a, sharing);
}

static void lower_attention(struct lowering *lowering)
{
    struct attention a = describe_attention(lowering->node);
    if (wnn_attends_in_tiles(lowering->gpu, &a))
        wnn_lower_tiles(lowering, &a);
    else
        wnn_lower_scores(lowering, &a);
}

const struct gpu_operator wnn_gpu_attention = {.lower = lower_attention};
