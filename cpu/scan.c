// SPDX-License-Identifier: Apache-2.0
//
// cumulativeSum. Floats are added up in double, integers modulo 2^64. The tensor is [outer, steps, columns].
#include "cpu/walk.h"

struct scan {
    const struct tensor *in, *out;
    size_t steps, columns, blocks;
    bool exclusive, reversed;
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Replaces `rows` rows of `width` values, first to last or the other way, by the sums up to there.
#define DEFINE_SCAN(name, type, work)                                                                        \
    static inline __attribute__((always_inline)) void name##_rows(                                           \
        const struct scan *scan, type *restrict sums, type *restrict values, size_t rows, size_t width)      \
    {                                                                                                        \
        bool exclusive = scan->exclusive, reversed = scan->reversed;                                         \
        for (size_t r = 0; r < rows; r++) {                                                                  \
            type *row = values + (reversed ? rows - 1 - r : r) * width;                                      \
            for (size_t j = 0; j < width; j++) {                                                             \
                type before = sums[j], after = (type)((work)before + (work)row[j]);                          \
                row[j] = exclusive ? before : after;                                                         \
                sums[j] = after;                                                                             \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void name(const struct scan *scan, type *sums, type *values, size_t rows, size_t width)           \
    {                                                                                                        \
        if (width == 1)                                                                                      \
            name##_rows(scan, sums, values, rows, 1);                                                        \
        else                                                                                                 \
            name##_rows(scan, sums, values, rows, width);                                                    \
    }

DEFINE_SCAN(scan_doubles, double, double)
DEFINE_SCAN(scan_integers, int64_t, uint64_t)

static void scan_units(void *argument, size_t begin, size_t end)
{
    const struct scan *scan = argument;
    bool floats = wnn_dtype_is_float(scan->in->type);
    for (size_t unit = begin; unit < end; unit++) {
        union {
            double doubles[WNN_PIECE];
            int64_t integers[WNN_PIECE];
        } values, sums = {{0}};
        size_t column = unit % scan->blocks * WNN_WALK_WIDTH;
        size_t width = min_size(scan->columns - column, WNN_WALK_WIDTH);
        size_t first = unit / scan->blocks * scan->steps * scan->columns + column;
        size_t most = width == scan->columns ? WNN_PIECE / width : 1;
        for (size_t step = 0, rows; step < scan->steps; step += rows) {
            rows = min_size(scan->steps - step, most);
            size_t row = scan->reversed ? scan->steps - step - rows : step;
            size_t offset = first + row * scan->columns, count = rows * width;
            if (floats) {
                wnn_load_doubles(scan->in, offset, count, values.doubles);
                scan_doubles(scan, sums.doubles, values.doubles, rows, width);
                wnn_store_doubles(values.doubles, scan->out, offset, count);
            } else {
                wnn_load_integers(scan->in, offset, count, values.integers);
                scan_integers(scan, sums.integers, values.integers, rows, width);
                wnn_store_integers(values.integers, scan->out, offset, count);
            }
        }
    }
}
WNN_VARIANTS(scan_units)

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-cumulativesum
void wnn_cpu_cumulative_sum(const struct kernel_call *call)
{
    const struct cumulative_sum_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->in[0].shape;
    struct scan scan = {.in = &call->in[0],
                        .out = &call->out[0],
                        .steps = shape->dim[attrs->axis],
                        .columns = 1,
                        .exclusive = attrs->options.exclusive,
                        .reversed = attrs->options.reversed};
    if (scan.in->count == 0)
        return;
    for (unsigned d = attrs->axis + 1; d < shape->rank; d++)
        scan.columns *= shape->dim[d];
    scan.blocks = (scan.columns + WNN_WALK_WIDTH - 1) / WNN_WALK_WIDTH;
    size_t units = scan.in->count / scan.steps / scan.columns * scan.blocks;
    size_t grain = 16384 / (scan.steps * min_size(scan.columns, WNN_WALK_WIDTH)) + 1;
    wnn_parallel_for(call->parallel, units, grain, WNN_BEST(scan_units), &scan);
}
