// SPDX-License-Identifier: Apache-2.0
//
// softmax: exponentials over their sum. The tensor is [outer, rows, columns]; each column of `rows` elements
// is one distribution. Exponentials of a tile of it wait on the stack, as float32, for their sum, so that
// memory is read once and written once, and float16 rounded once.
#include "cpu/kernel.h"
#include "cpu/simd/lanes.h"
#include "cpu/simd/non_temporal.h"

#include <math.h>

enum {
    KEPT = 16384,     // elements of a tile, at most
    TILE = 10240,     // likewise where a first cache keeps it
    RUNS_KEPT = 4096, // likewise where that leaves more than one run: with what is read, in the first cache
    LONG_KEPT = 4096, // elements of a run that is longer than a tile
    HELD = 1 << 20,   // likewise whose exponentials are written and read again, since they stay in a cache
    WIDTH = 512,      // columns of it
    LINES = 32,       // columns that are whole cache lines
    SUMMED = 1024,    // elements whose sum is in float32
    SUMMED_ROWS = 32, // likewise of a column
    AHEAD = 6,        // rows that are fetched before they are read
    SOON = 32,        // likewise of columns
    TOGETHER = 16,    // runs that are taken together, at most
    SHORT = 15,       // elements of runs that are turned to columns
    SHORT_RUNS = 256, // of these
};

struct softmax {
    const void *in;
    void *out;
    bool half, non_temporal;
    const struct interrupt *interrupt;
    size_t rows, columns, wide, stride, blocks; // tiles are `wide` columns; there are so many blocks of these
};

// Exponentials need not be divided by the greatest one if their sum is near 1: what is more than 0 beside it
// is far from the ends of float32 then (where numbers are float32, times a power of two). So nothing has to
// be known of a distribution before its exponentials are computed.
enum {
    NEAR_STEPS = 42
};
#define NEAR_POWER (0x1.8p23f + NEAR_STEPS + 127) // to which an exponent is added

static inline bool is_near(double sum, bool half)
{
    return half ? sum >= 0x1p-46 && sum <= 0x1p46 : sum >= 0x1p25 && sum <= 0x1p105; // e^-12 to e^44
}

#define LOOPS "cpu/normalization/softmax.inc"
#include "cpu/simd/each_isa.inc"

static void run(struct softmax *softmax, size_t count, const struct parallel *parallel)
{
    if (count == 0)
        return;
    softmax->interrupt = parallel->interrupt;
    // A whole column in a tile, if that leaves it wide enough; whole cache lines of either type. Rows that
    // are an odd number of lines apart lie in all of the cache.
    size_t wide = TILE / softmax->rows / LINES;
    wide = wide < 2 ? 8 : wnn_min(wide - 1, WIDTH / LINES - 1);
    softmax->wide = wnn_min(wide, (softmax->columns + LINES - 1) / LINES) * LINES;
    softmax->stride = softmax->wide + LANES_MAX;
    softmax->blocks = (softmax->columns + softmax->wide - 1) / softmax->wide;
    size_t units = count / softmax->rows / softmax->columns * softmax->blocks;
    softmax->non_temporal = wnn_is_non_temporal(count * (softmax->half ? sizeof(uint16_t) : sizeof(float)));
    size_t grain = 4096 / (softmax->rows * wnn_min(softmax->columns, softmax->wide)) + 1;
    wnn_parallel_for(parallel, units, grain, WNN_BEST_ISA(softmax_units), softmax);
}

void wnn_cpu_softmax_rows(const struct tensor *tensor, size_t row, const struct parallel *parallel)
{
    struct softmax softmax = {.in = tensor->data,
                              .out = tensor->data,
                              .half = tensor->type == WNNDataType_Float16,
                              .rows = row,
                              .columns = 1};
    run(&softmax, tensor->count, parallel);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-softmax-method
static void run_softmax(const struct kernel_call *call)
{
    const struct softmax_attrs *attrs = call->node->attrs;
    const struct tensor *in = &call->in[0];
    struct softmax softmax = {.in = in->data,
                              .out = call->out[0].data,
                              .half = in->type == WNNDataType_Float16,
                              .rows = in->shape.dim[attrs->axis],
                              .columns = wnn_shape_product(&in->shape, attrs->axis + 1, in->shape.rank)};
    run(&softmax, in->count, call->parallel);
}

const struct kernel wnn_cpu_softmax = {.run = run_softmax, .in_place = 1};
