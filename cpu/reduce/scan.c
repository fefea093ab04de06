// SPDX-License-Identifier: Apache-2.0
//
// cumulativeSum. The tensor is [outer, steps, columns]; integers are added up modulo their range.
#include "cpu/elementwise/elementwise.h"
#include "cpu/simd/lanes.h"
#include "cpu/simd/non_temporal.h"

enum {
    WIDTH = 512,      // columns that are taken at a time
    RECENT = 64,      // elements of float16 that are added up in float32
    POLLED = 1 << 16, // elements of a run after which it is asked whether to go on
    AHEAD = 6,        // rows that are fetched before they are read
};

struct scan {
    const void *in;
    void *out;
    WNNDataType type;
    size_t steps, columns, blocks;
    bool exclusive, reversed, non_temporal;
    const struct interrupt *interrupt;
};

// Fetches what is read and written AHEAD rows behind the byte `at` of row `step`.
WNN_INLINE void expect(const struct scan *scan, size_t at, size_t step, size_t size)
{
    size_t ahead = AHEAD * scan->columns * size;
    if (step + AHEAD >= scan->steps)
        return;
    at = scan->reversed ? at - ahead : at + ahead;
    __builtin_prefetch((const char *)scan->in + at);
    if (!scan->non_temporal)
        __builtin_prefetch((char *)scan->out + at, 1);
}

#define LOOPS "cpu/reduce/scan.inc"
#include "cpu/simd/each_isa.inc"

// Integers: signed ones have the same bits.
#define DEFINE_INTEGERS(name, Int)                                                                           \
    WNN_INLINE void name##_columns(const struct scan *scan, const Int *x, Int *y, size_t width,              \
                                   const bool exclusive)                                                     \
    {                                                                                                        \
        Int sums[WIDTH] = {0}, buffer[WIDTH];                                                                \
        for (size_t step = 0; step < scan->steps; step++) {                                                  \
            if (step % 64 == 0 && wnn_interrupted(scan->interrupt))                                          \
                return;                                                                                      \
            size_t at = (scan->reversed ? scan->steps - 1 - step : step) * scan->columns;                    \
            for (size_t j = 0; j < width * sizeof(Int); j += 64)                                             \
                expect(scan, (size_t)((char *)(y + at) - (char *)scan->out) + j, step, sizeof(Int));         \
            Int *row = scan->non_temporal ? buffer : y + at;                                                 \
            WNN_INDEPENDENT                                                                                  \
            for (size_t j = 0; j < width; j++) {                                                             \
                Int before = sums[j], after = before + x[at + j];                                            \
                row[j] = exclusive ? before : after;                                                         \
                sums[j] = after;                                                                             \
            }                                                                                                \
            if (scan->non_temporal)                                                                          \
                wnn_nt_store(y + at, row, width * sizeof(Int));                                              \
        }                                                                                                    \
    }                                                                                                        \
    static void name(void *argument, size_t begin, size_t end)                                               \
    {                                                                                                        \
        const struct scan *scan = argument;                                                                  \
        for (size_t unit = begin; unit < end; unit++) {                                                      \
            size_t column = unit % scan->blocks * WIDTH, width = wnn_min(scan->columns - column, WIDTH);     \
            size_t first = unit / scan->blocks * scan->steps * scan->columns + column;                       \
            const Int *x = (const Int *)scan->in + first;                                                    \
            Int *y = (Int *)scan->out + first;                                                               \
            if (scan->exclusive)                                                                             \
                name##_columns(scan, x, y, width, true);                                                     \
            else                                                                                             \
                name##_columns(scan, x, y, width, false);                                                    \
        }                                                                                                    \
        if (scan->non_temporal)                                                                              \
            wnn_nt_fence();                                                                                  \
    }                                                                                                        \
    WNN_VARIANTS_256(name)

DEFINE_INTEGERS(scan_words, uint32_t)
DEFINE_INTEGERS(scan_long_words, uint64_t)

static wnn_loop_body find_body(const struct scan *scan)
{
    bool wide = wnn_dtype_bits(scan->type) == 64;
    if (scan->columns == 1 && !wide)
        return WNN_BEST_ISA(scan_runs);
    if (wnn_dtype_is_float(scan->type))
        return WNN_BEST_ISA(scan_columns);
    return wide ? WNN_BEST_ISA_256(scan_long_words) : WNN_BEST_ISA_256(scan_words);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-cumulativesum
static void run_cumulative_sum(const struct kernel_call *call)
{
    const struct cumulative_sum_attrs *attrs = call->node->attrs;
    const struct tensor *in = &call->in[0];
    struct scan scan = {.in = in->data,
                        .out = call->out[0].data,
                        .type = in->type,
                        .steps = in->shape.dim[attrs->axis],
                        .columns = wnn_shape_product(&in->shape, attrs->axis + 1, in->shape.rank),
                        .interrupt = call->parallel->interrupt,
                        .exclusive = attrs->options.exclusive,
                        .reversed = attrs->options.reversed};
    if (in->count == 0)
        return;
    scan.non_temporal = wnn_is_non_temporal(in->count * wnn_dtype_bits(in->type) / 8);
    scan.blocks = (scan.columns + WIDTH - 1) / WIDTH;
    size_t units = in->count / scan.steps / scan.columns * scan.blocks;
    size_t grain = 16384 / (scan.steps * wnn_min(scan.columns, WIDTH)) + 1;
    wnn_parallel_for(call->parallel, units, grain, find_body(&scan), &scan);
}

const struct kernel wnn_cpu_cumulativeSum = {.run = run_cumulative_sum, .in_place = 1};
