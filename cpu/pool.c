// SPDX-License-Identifier: Apache-2.0
//
// averagePool2d, l2Pool2d and maxPool2d. Windows are intersected with the input; a window outside of it gives
// 0, or for the maximum the lowest value of the type.

#include "cpu/kernel.h"
#include "cpu/variants.h"

#include <math.h>

#define WNN_POOL_SPAN 1024 // elements of a line that are worked on at a time

struct pool {
    enum op op;
    WNNDataType type;
    const void *input;
    void *output;
    int64_t size[2], window[2], stride[2], dilation[2], padding[2]; // height, width
    size_t out[2];
    // One line is a run of `run` elements that are pooled in the same way: the channels of a pixel, or one
    // element.
    size_t lines, run;
    size_t in_line, in_y, in_x;
    size_t out_line, out_y, out_x;
    // How many elements of a run, and how many windows beside one another, are pooled together.
    size_t block, positions;
    int64_t span; // of a window along the width
};

// The taps of a window along one axis that lie inside of the input: [*begin, *end), and the coordinate of tap
// 0.
WNN_INLINE int64_t clip(const struct pool *pool, unsigned axis, size_t position, int64_t *begin, int64_t *end)
{
    int64_t first = (int64_t)position * pool->stride[axis] - pool->padding[axis], step = pool->dilation[axis];
    *begin = first < 0 ? (step - 1 - first) / step : 0;
    *end = first < pool->size[axis] ? (pool->size[axis] - 1 - first) / step + 1 : 0;
    if (*end > pool->window[axis])
        *end = pool->window[axis];
    if (*begin > *end)
        *begin = *end;
    return first;
}

// A maximum that a NaN never leaves again.
#define MAXIMUM_FLOAT(a, b)   ((((b) > (a)) | ((b) != (b))) ? (b) : (a))
#define MAXIMUM_INTEGER(a, b) ((b) > (a) ? (b) : (a))

#define NAME(x)      x##_max_float32
#define INPUT        float
#define HALF         0
#define SUM          float
#define RESULT       float
#define MAP(x)       (x)
#define FOLD         MAXIMUM_FLOAT
#define NEUTRAL      (-INFINITY)
#define FINISH(a, f) (a)
#include "cpu/pool_kernel.inc"

#define NAME(x)      x##_max_float16
#define INPUT        float
#define HALF         1
#define SUM          float
#define RESULT       uint16_t
#define MAP(x)       (x)
#define FOLD         MAXIMUM_FLOAT
#define NEUTRAL      (-INFINITY)
#define FINISH(a, f) (a)
#include "cpu/pool_kernel.inc"

#define NAME(x)      x##_max_int8
#define INPUT        int8_t
#define HALF         0
#define SUM          int8_t
#define RESULT       int8_t
#define MAP(x)       (x)
#define FOLD         MAXIMUM_INTEGER
#define NEUTRAL      INT8_MIN
#define FINISH(a, f) (a)
#include "cpu/pool_kernel.inc"

#define NAME(x)      x##_max_uint8
#define INPUT        uint8_t
#define HALF         0
#define SUM          uint8_t
#define RESULT       uint8_t
#define MAP(x)       (x)
#define FOLD         MAXIMUM_INTEGER
#define NEUTRAL      0
#define FINISH(a, f) (a)
#include "cpu/pool_kernel.inc"

#define NAME(x)      x##_max_int32
#define INPUT        int32_t
#define HALF         0
#define SUM          int32_t
#define RESULT       int32_t
#define MAP(x)       (x)
#define FOLD         MAXIMUM_INTEGER
#define NEUTRAL      INT32_MIN
#define FINISH(a, f) (a)
#include "cpu/pool_kernel.inc"

#define NAME(x)      x##_max_uint32
#define INPUT        uint32_t
#define HALF         0
#define SUM          uint32_t
#define RESULT       uint32_t
#define MAP(x)       (x)
#define FOLD         MAXIMUM_INTEGER
#define NEUTRAL      0
#define FINISH(a, f) (a)
#include "cpu/pool_kernel.inc"

#define NAME(x)      x##_max_int64
#define INPUT        int64_t
#define HALF         0
#define SUM          int64_t
#define RESULT       int64_t
#define MAP(x)       (x)
#define FOLD         MAXIMUM_INTEGER
#define NEUTRAL      INT64_MIN
#define FINISH(a, f) (a)
#include "cpu/pool_kernel.inc"

#define NAME(x)      x##_max_uint64
#define INPUT        uint64_t
#define HALF         0
#define SUM          uint64_t
#define RESULT       uint64_t
#define MAP(x)       (x)
#define FOLD         MAXIMUM_INTEGER
#define NEUTRAL      0
#define FINISH(a, f) (a)
#include "cpu/pool_kernel.inc"

// Sums are kept in float64: squares neither overflow nor vanish there.
#define ADD(a, b) ((a) + (b))

WNN_INLINE double square(float x)
{
    return (double)x * (double)x;
}

#define NAME(x)      x##_average_float32
#define INPUT        float
#define HALF         0
#define SUM          double
#define RESULT       float
#define MAP(x)       (double)(x)
#define FOLD         ADD
#define NEUTRAL      0
#define FINISH(a, f) (float)((a) * (f))
#include "cpu/pool_kernel.inc"

#define NAME(x)      x##_average_float16
#define INPUT        float
#define HALF         1
#define SUM          double
#define RESULT       uint16_t
#define MAP(x)       (double)(x)
#define FOLD         ADD
#define NEUTRAL      0
#define FINISH(a, f) (float)((a) * (f))
#include "cpu/pool_kernel.inc"

#define NAME(x)      x##_l2_float32
#define INPUT        float
#define HALF         0
#define SUM          double
#define RESULT       float
#define MAP(x)       square(x)
#define FOLD         ADD
#define NEUTRAL      0
#define FINISH(a, f) (float)sqrt(a)
#include "cpu/pool_kernel.inc"

#define NAME(x)      x##_l2_float16
#define INPUT        float
#define HALF         1
#define SUM          double
#define RESULT       uint16_t
#define MAP(x)       square(x)
#define FOLD         ADD
#define NEUTRAL      0
#define FINISH(a, f) (float)sqrt(a)
#include "cpu/pool_kernel.inc"

static wnn_loop_body find_loop(enum op op, WNNDataType type, bool dense)
{
    bool half = type == WNNDataType_Float16;
    if (op == WNN_OP_averagePool2d)
        return (half ? find_average_float16 : find_average_float32)(dense);
    if (op == WNN_OP_l2Pool2d)
        return (half ? find_l2_float16 : find_l2_float32)(dense);
    switch (type) {
    case WNNDataType_Float32:
        return find_max_float32(dense);
    case WNNDataType_Float16:
        return find_max_float16(dense);
    case WNNDataType_Int32:
        return find_max_int32(dense);
    case WNNDataType_Uint32:
        return find_max_uint32(dense);
    case WNNDataType_Int64:
        return find_max_int64(dense);
    case WNNDataType_Uint64:
        return find_max_uint64(dense);
    case WNNDataType_Int8:
        return find_max_int8(dense);
    default:
        return find_max_uint8(dense);
    }
}

void wnn_cpu_pool2d(const struct kernel_call *call)
{
    const WNNPool2dOptions *options = call->node->attrs;
    const uint32_t *in = call->in[0].shape.dim, *out = call->out[0].shape.dim;
    bool last = options->layout == WNNInputOperandLayout_NHWC;
    unsigned y = last ? 1 : 2, x = last ? 2 : 3;
    size_t channels = in[last ? 3 : 1];
    if (call->out[0].count == 0)
        return;

    struct pool pool = {
        .op = (enum op)call->node->op,
        .type = call->in[0].type,
        .input = call->in[0].data,
        .output = call->out[0].data,
        .lines = last ? in[0] : in[0] * channels,
        .run = last ? channels : 1,
    };
    for (unsigned axis = 0; axis < 2; axis++) {
        pool.size[axis] = in[y + axis];
        pool.out[axis] = out[y + axis];
        pool.window[axis] = options->windowDimensions.data[axis];
        pool.stride[axis] = options->strides.data[axis];
        pool.dilation[axis] = options->dilations.data[axis];
        pool.padding[axis] = options->padding.data[2 * axis];
    }
    pool.in_x = pool.out_x = pool.run;
    pool.in_y = in[x] * pool.in_x;
    pool.out_y = out[x] * pool.out_x;
    pool.in_line = in[y] * pool.in_y;
    pool.out_line = out[y] * pool.out_y;

    bool dense = pool.window[1] <= WNN_POOL_SPAN && pool.dilation[1] <= WNN_POOL_SPAN && pool.out[1] > 1;
    pool.span = dense ? (pool.window[1] - 1) * pool.dilation[1] + 1 : 0;
    dense &= pool.span <= WNN_POOL_SPAN / 4;
    if (dense) {
        // Long enough runs for vectors, and few columns that are folded for two blocks of windows.
        size_t whole =
            (size_t)pool.span + 3 * (size_t)(pool.stride[1] < pool.span ? pool.stride[1] : pool.span);
        pool.block = pool.run < 16 ? pool.run : WNN_POOL_SPAN / whole;
        pool.block = pool.block < pool.run ? pool.block : pool.run;
        if (pool.block > 16)
            pool.block -= pool.block < pool.run ? pool.block % 16 : 0;
        dense = pool.block >= (pool.run < 16 ? pool.run : 16);
    }
    if (dense) {
        size_t columns = WNN_POOL_SPAN / pool.block - (size_t)pool.span;
        pool.positions = 1 + columns / (size_t)pool.stride[1];
    } else {
        pool.block = pool.run < WNN_POOL_SPAN / 4 ? pool.run : WNN_POOL_SPAN / 4;
        // All of a plane that is contiguous is one row.
        if (pool.run == 1 && pool.out[0] == 1 && pool.out[1] == 1 && pool.padding[0] == 0 &&
            pool.padding[1] == 0 && pool.window[0] == pool.size[0] && pool.window[1] == pool.size[1] &&
            pool.dilation[0] == 1 && pool.dilation[1] == 1) {
            pool.size[1] = pool.window[1] = pool.size[0] * pool.size[1];
            pool.size[0] = pool.window[0] = 1;
            pool.in_y = in[y] * pool.in_y;
        }
    }

    size_t taps = (size_t)pool.window[0] * (size_t)pool.window[1];
    size_t work = pool.out_y * (taps < 16384 ? taps : 16384);
    wnn_parallel_for(call->parallel, pool.lines * pool.out[0], 1 + 8192 / (work + 1),
                     find_loop(pool.op, pool.type, dense), &pool);
}
