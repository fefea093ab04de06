// SPDX-License-Identifier: Apache-2.0
//
// averagePool2d, l2Pool2d and maxPool2d. Windows are intersected with the input; a window outside of it gives
// 0, or for the maximum the lowest value of the type.
//
// Windows beside one another are made in two steps: rows are reduced into one, and this along itself
// (dense.c); or small windows the other way round, along the rows first (planes.c), or several rows
// of them at once (pixels.c). Windows so long that this does not pay, or alone, are made one by one
// (sparse.c); one over all of the input is a reduction.

#include "cpu/pool/pool.h"
#include "ops/geometry.h"

// One window over all of the input, whatever is beyond it.
static bool is_global(const struct pool *pool)
{
    for (unsigned axis = 0; axis < 2; axis++) {
        // Taps that are not neighbours may pass by the only element, too.
        int64_t step = pool->dilation[axis], first = pool->padding[axis] / step;
        if (pool->out[axis] != 1 || (step != 1 && pool->size[axis] != 1) || pool->padding[axis] % step != 0 ||
            pool->window[axis] - first < pool->size[axis])
            return false;
    }
    return true;
}

static void reduce(const struct kernel_call *call, bool last)
{
    static const enum op ops[WNN_OP_COUNT] = {[WNN_OP_averagePool2d] = WNN_OP_reduceMean,
                                              [WNN_OP_l2Pool2d] = WNN_OP_reduceL2,
                                              [WNN_OP_maxPool2d] = WNN_OP_reduceMax};
    uint32_t axes[2] = {last ? 1 : 2, last ? 2 : 3};
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = (WNNUint32List){axes, 2};
    options.keepDimensions = true;
    struct node node = *call->node;
    node.op = ops[node.op];
    node.attrs = &options;
    struct kernel_call reduction = *call;
    reduction.node = &node;
    wnn_cpu_reduction.run(&reduction);
}

static void run_pool2d(const struct kernel_call *call)
{
    const struct pooling p = wnn_node_pooling(call->node);
    if (call->out[0].count == 0)
        return;

    struct pool pool = {
        .element = wnn_dtype_bits(call->in[0].type) / 8,
        .input = call->in[0].data,
        .output = call->out[0].data,
        .count = call->in[0].count,
        .size = {p.from.height, p.from.width},
        .out = {p.to.height, p.to.width},
        .lines = p.from.nhwc ? p.from.batches : p.from.batches * (size_t)p.from.channels,
        .run = p.from.nhwc ? p.from.channels : 1,
    };
    for (unsigned axis = 0; axis < 2; axis++) {
        pool.window[axis] = p.window[axis];
        pool.stride[axis] = p.strides[axis];
        pool.dilation[axis] = p.dilations[axis];
        pool.padding[axis] = p.padding[2 * axis];
    }
    if (is_global(&pool)) {
        reduce(call, p.from.nhwc);
        return;
    }
    pool.loops = wnn_pool2d_loops((enum op)call->node->op, call->in[0].type,
                                  (uint64_t)pool.window[0] * (uint64_t)pool.window[1]);
    pool.in_x = pool.out_x = pool.run;
    pool.in_y = p.from.y;
    pool.out_y = p.to.y;
    pool.in_line = p.from.height * pool.in_y;
    pool.out_line = p.to.height * pool.out_y;
    pool.non_temporal = wnn_is_non_temporal(call->out[0].count * pool.element);
    pool.room = WNN_POOL_ROOM / pool.loops->sum;
    bool slides = wnn_pool2d_planes_suits(&pool), bands = wnn_pool2d_pixels_suits(&pool);
    bool dense = !slides && !bands && wnn_pool2d_dense_suits(&pool);
    if (!slides && !bands && !dense) {
        if (pool.loops->exact)
            pool.loops = pool.loops->exact;
        pool.room = WNN_POOL_ROOM / pool.loops->sum;
        pool.block = pool.run < pool.room ? pool.run : pool.room;
    }

    uint64_t taps = (uint64_t)pool.window[0] * (uint64_t)pool.window[1];
    size_t work = pool.out_y * (size_t)(taps < 16384 ? taps : 16384);
    if (bands) // always the same rows together, for the sums to be so
        wnn_parallel_for(call->parallel, pool.lines * wnn_pool2d_pixels_bands(&pool), 1 + 2048 / (work + 1),
                         wnn_pool2d_pixels, &pool);
    else
        wnn_parallel_for(call->parallel, pool.lines * pool.out[0], 1 + 8192 / (work + 1),
                         slides  ? wnn_pool2d_planes
                         : dense ? wnn_pool2d_dense
                                 : wnn_pool2d_sparse,
                         &pool);
}

const struct kernel wnn_cpu_pooling = {.run = run_pool2d};
