// SPDX-License-Identifier: Apache-2.0
//
// Reductions and running sums on Vulkan against the processor: of every kind of shape and of schedule.
// Skipped where Vulkan has no device.

#include "conformance/unit/differential_fixture.h"

struct reduction {
    uint32_t dims[3], axes[2], axis_count;
};

static void make_extremes(struct subject *s)
{
    const struct reduction *r = s->argument;
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    WNNArgMinMaxAxesOptions places = WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT;
    WNNOperand x = input(s, 3, r->dims);
    options.axes = places.axes = (WNNUint32List){r->axes, r->axis_count};
    output(s, wnnGraphBuilderReduceMax(s->builder, x, &options));
    output(s, wnnGraphBuilderArgMinAxes(s->builder, x, &places));
    places.selectLastIndex = true;
    output(s, wnnGraphBuilderArgMaxAxes(s->builder, x, &places));
}

static void make_sums(struct subject *s)
{
    const struct reduction *r = s->argument;
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    WNNOperand x = input(s, 3, r->dims);
    options.axes = (WNNUint32List){r->axes, r->axis_count};
    output(s, wnnGraphBuilderReduceSumSquare(s->builder, x, &options));
    output(s, wnnGraphBuilderReduceL1(s->builder, x, &options));
    if (wnn_dtype_is_float(s->type))
        output(s, wnnGraphBuilderReduceLogSumExp(s->builder, x, &options));
}

static void test_reductions(WNNContext context, WNNContext cpu)
{
    static const struct reduction cases[] = {
        {{1, 1, 50000}, {0, 1}, 2}, {{1, 3, 20000}, {2}, 1},   {{2, 9000, 3}, {1}, 1},
        {{9000, 1, 20}, {0}, 1},    {{3, 70, 64}, {2}, 1},     {{3, 64, 33}, {1}, 1},
        {{40, 6, 48}, {0, 1}, 2},   {{1, 5003, 3}, {1, 2}, 2},
    };
    static const WNNDataType types[] = {WNNDataType_Float32, WNNDataType_Float16, WNNDataType_Int64,
                                        WNNDataType_Uint32, WNNDataType_Int8};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned k = i % 5; k < 5; k += 3) { // some types each
            bool is_float = wnn_dtype_is_float(types[k]);
            compare(context, cpu, make_extremes, &cases[i], types[k], 0, "extremes", i);
            if (is_float || wnn_dtype_bits(types[k]) >= 32)
                compare(context, cpu, make_sums, &cases[i], types[k],
                        !is_float ? 0
                        : k       ? 1e-3
                                  : 3e-7,
                        "sums", i);
        }
}

// Types and shapes that are reduced in ways of their own: short rows, of which there are many, have parts of
// words; longer ones begin anywhere in a vector; integers of 64 bits have pieces; columns are read by words.
static void test_types(WNNContext context, WNNContext cpu)
{
    static const struct {
        struct reduction reduction;
        WNNDataType type;
    } cases[] = {
        {{{1, 20003, 8}, {2}, 1}, WNNDataType_Float16}, {{{1, 16387, 63}, {2}, 1}, WNNDataType_Float16},
        {{{2, 8400, 31}, {2}, 1}, WNNDataType_Float32}, {{{16700, 1, 16}, {2}, 1}, WNNDataType_Float32},
        {{{20001, 3, 5}, {2, 1}, 2}, WNNDataType_Int8}, {{{1, 33001, 63}, {2}, 1}, WNNDataType_Uint8},
        {{{17000, 1, 60}, {2}, 1}, WNNDataType_Int8},   {{{3, 5600, 15}, {2}, 1}, WNNDataType_Int64},
        {{{16389, 1, 21}, {2}, 1}, WNNDataType_Uint32}, {{{16391, 1, 33}, {2}, 1}, WNNDataType_Float16},
        {{{1, 17001, 2}, {2}, 1}, WNNDataType_Float16}, {{{1, 300, 1001}, {2}, 1}, WNNDataType_Float16},
        {{{2, 31, 1003}, {2}, 1}, WNNDataType_Int8},    {{{1, 3, 30001}, {2}, 1}, WNNDataType_Float16},
        {{{1, 1, 99991}, {2}, 1}, WNNDataType_Uint8},   {{{1, 1, 50001}, {2}, 1}, WNNDataType_Int64},
        {{{1, 5000, 22}, {1}, 1}, WNNDataType_Uint64},  {{{1, 300, 34}, {1}, 1}, WNNDataType_Float16},
        {{{3, 90, 68}, {1}, 1}, WNNDataType_Int8},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        WNNDataType type = cases[i].type;
        compare(context, cpu, make_extremes, &cases[i].reduction, type, 0, "extremes by type", i);
        if (wnn_dtype_bits(type) > 8)
            compare(context, cpu, make_sums, &cases[i].reduction, type,
                    !wnn_dtype_is_float(type)     ? 0
                    : type == WNNDataType_Float16 ? 1e-3
                                                  : 3e-7,
                    "sums by type", i);
    }
}

struct pool {
    uint32_t dims[4];
    WNNInputOperandLayout layout;
};

static void make_pools(struct subject *s)
{
    const struct pool *pool = s->argument;
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    options.layout = pool->layout;
    WNNOperand x = input(s, 4, pool->dims);
    output(s, wnnGraphBuilderMaxPool2d(s->builder, x, &options));
    output(s, wnnGraphBuilderAveragePool2d(s->builder, x, &options));
    output(s, wnnGraphBuilderL2Pool2d(s->builder, x, &options));
}

// Windows that are whole images.
static void test_global_pools(WNNContext context, WNNContext cpu)
{
    static const struct pool cases[] = {
        {{2, 3, 101, 140}, WNNInputOperandLayout_NCHW}, {{1, 120, 111, 6}, WNNInputOperandLayout_NHWC},
        {{2, 70, 7, 7}, WNNInputOperandLayout_NCHW},    {{3, 7, 7, 65}, WNNInputOperandLayout_NHWC},
        {{5, 1, 1, 9}, WNNInputOperandLayout_NHWC},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        compare(context, cpu, make_pools, &cases[i], WNNDataType_Float32, 1e-6, "global pools", i);
        compare(context, cpu, make_pools, &cases[i], WNNDataType_Float16, 1e-3, "global pools", i);
    }
}

// Rows of numbers of all sizes, of infinities and of NaN: blocks that have such are gone through one by one.
static void make_exponentials(struct subject *s)
{
    static const float factors[] = {1, 300, 1e4f, INFINITY, NAN, 20};
    const uint32_t *members = s->argument, rows = sizeof factors / sizeof factors[0];
    uint16_t halves[sizeof factors / sizeof factors[0]];
    bool half = s->type == WNNDataType_Float16;
    for (unsigned i = 0; i < rows; i++)
        halves[i] = wnn_half_from_float(factors[i]);
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = (WNNUint32List){(const uint32_t[]){1}, 1};
    WNNOperandDescriptor column = WNN_OPERAND_DESCRIPTOR_INIT;
    column.dataType = s->type;
    column.shape = (WNNUint32List){(const uint32_t[]){rows, 1}, 2};
    WNNOperand factor = half ? wnnGraphBuilderConstant(s->builder, &column, halves, sizeof halves)
                             : wnnGraphBuilderConstant(s->builder, &column, factors, sizeof factors);
    WNNOperand x = INPUT(s, rows, *members);
    WNNOperand below = wnnGraphBuilderNeg(s->builder, wnnGraphBuilderAbs(s->builder, x, NULL), NULL);
    output(s, wnnGraphBuilderReduceLogSumExp(s->builder, wnnGraphBuilderMul(s->builder, x, factor, NULL),
                                             &options));
    output(s, wnnGraphBuilderReduceLogSumExp(s->builder, wnnGraphBuilderMul(s->builder, below, factor, NULL),
                                             &options));
}

static void test_exponentials(WNNContext context, WNNContext cpu)
{
    static const uint32_t members[] = {7, 64, 100, 1000, 4096};
    for (unsigned i = 0; i < sizeof members / sizeof members[0]; i++) {
        compare(context, cpu, make_exponentials, &members[i], WNNDataType_Float32, 1e-6, "exponentials", i);
        compare(context, cpu, make_exponentials, &members[i], WNNDataType_Float16, 2e-3, "exponentials", i);
    }
}

struct running {
    uint32_t dims[3], axis;
    bool exclusive, reversed;
};

static void make_running(struct subject *s)
{
    const struct running *r = s->argument;
    WNNCumulativeSumOptions options = WNN_CUMULATIVE_SUM_OPTIONS_INIT;
    options.exclusive = r->exclusive;
    options.reversed = r->reversed;
    output(s, wnnGraphBuilderCumulativeSum(s->builder, input(s, 3, r->dims), r->axis, &options));
}

static void test_running_sums(WNNContext context, WNNContext cpu)
{
    // dims, axis, exclusive, reversed: rows of one lane and of many, of several rounds, and in pieces;
    // columns likewise
    static const struct running cases[] = {
        {{7, 9, 1}, 1, false, false},     {{3, 50, 8}, 2, true, true},     {{1, 33, 1000}, 2, true, false},
        {{5, 11, 63}, 2, false, true},    {{2, 1, 40000}, 2, true, true},  {{3, 1, 5001}, 2, false, true},
        {{1, 1, 99998}, 2, false, false}, {{1, 99999, 1}, 1, true, true},  {{4, 6, 3}, 0, false, false},
        {{3, 100, 34}, 1, true, false},   {{5000, 1, 18}, 0, true, true},  {{7, 61, 33}, 1, false, true},
        {{2, 1001, 40}, 1, false, true},  {{2, 2500, 2}, 1, false, false}, {{2, 1, 9001}, 2, true, false},
        {{2, 2, 6002}, 2, false, false},  {{3, 1, 1088}, 2, false, false}, {{3, 2, 1000}, 2, false, false},
        {{2, 1, 1089}, 2, true, true},    {{2, 1, 1058}, 2, true, true},
    };
    static const WNNDataType types[] = {WNNDataType_Float32, WNNDataType_Float16, WNNDataType_Int64,
                                        WNNDataType_Uint32};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned k = i % 2; k < 4; k += 2) // some types each
            compare(context, cpu, make_running, &cases[i], types[k],
                    k == 0   ? 1e-6
                    : k == 1 ? 1e-3
                             : 0,
                    "running sum", i);
}

static void test_device(WNNContext context, WNNContext cpu)
{
    CASE(test_types(context, cpu));
    CASE(test_reductions(context, cpu));
    CASE(test_global_pools(context, cpu));
    CASE(test_exponentials(context, cpu));
    CASE(test_running_sums(context, cpu));
}

static void test_minimal(WNNContext context, WNNContext cpu)
{
    CASE(test_types(context, cpu));
    CASE(test_exponentials(context, cpu));
    CASE(test_running_sums(context, cpu));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    return run_on_devices(test_device, test_minimal, NULL);
}
