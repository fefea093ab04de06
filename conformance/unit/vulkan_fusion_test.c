// SPDX-License-Identifier: Apache-2.0
//
// What the Vulkan backend fuses must be the same bits as what it does node by node; and its kernels for whole
// rows must be as good as the processor's on rows of every length. Skipped where Vulkan has no device.

#include "compiler/compile.h"
#include "conformance/unit/differential_fixture.h"

#include <math.h>

// Numbers around 0.
static float next_number(unsigned *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return (float)(int)(*seed >> 8) / (float)(1 << 22) - 2;
}

static void store(void *data, WNNDataType type, size_t i, float x)
{
    if (type == WNNDataType_Float16)
        ((uint16_t *)data)[i] = wnn_half_from_float(x);
    else
        ((float *)data)[i] = x;
}

static void fill(void *data, WNNDataType type, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        store(data, type, i, next_number(&seed));
}

// In every 61st place one that is not finite or is denormal.
static void fill_specially(void *data, WNNDataType type, size_t count, unsigned seed)
{
    static const float rare[] = {INFINITY, NAN, -0.0f, 65504, -INFINITY, 1e-7f};
    for (size_t i = 0; i < count; i++) {
        float x = next_number(&seed);
        if (i % 61 == 60)
            x = rare[i / 61 % 6];
        store(data, type, i, x);
        if (type == WNNDataType_Float32 && isnan(x))
            ((uint32_t *)data)[i] = 0x7F800001u; // bits that float16 has no room for
    }
}

// How many concats of the last graph were left out, because their parts lay in place.
static unsigned left_out;

static void count_left_out(const struct graph *planned)
{
    left_out = 0;
    for (size_t i = 0; i < planned->node_count; i++)
        left_out += planned->nodes[i]->op == WNN_OP_concat && planned->nodes[i]->lowering == WNN_LOWER_VIEW;
}

static size_t run(WNNContext context, maker *make, WNNDataType type, bool special, unsigned char *results)
{
    const struct trial trial = {make, NULL, type, special ? fill_specially : fill, count_left_out};
    return run_trial(context, &trial, results);
}

// ---------------------------------------------------------------------------------------------------------------
// Fused or not
// ---------------------------------------------------------------------------------------------------------------

static void make_chain(struct subject *s)
{
    WNNGraphBuilder b = s->builder;
    WNNOperand x = INPUT(s, 3, 5, 7), row = INPUT(s, 7), column = INPUT(s, 5, 1), one = INPUT(s, 1);
    WNNOperand sum = wnnGraphBuilderAdd(b, x, row, NULL), scaled = wnnGraphBuilderMul(b, sum, column, NULL);
    WNNOperand less = wnnGraphBuilderLesser(b, scaled, one, NULL);
    WNNOperand bent = wnnGraphBuilderTanh(b, wnnGraphBuilderDiv(b, scaled, one, NULL), NULL);
    WNNOperand chosen = wnnGraphBuilderWhere(b, less, bent, wnnGraphBuilderSqrt(b, scaled, NULL), NULL);
    output(s, wnnGraphBuilderSub(b, chosen, sum, NULL));
    output(s, scaled);
    output(s, less);
}

static void make_casts(struct subject *s)
{
    WNNGraphBuilder b = s->builder;
    WNNOperand x = INPUT(s, 9, 33), y = INPUT(s, 9, 33);
    WNNOperand bytes = wnnGraphBuilderCast(b, wnnGraphBuilderExp(b, wnnGraphBuilderMul(b, x, y, NULL), NULL),
                                           WNNDataType_Int8, NULL);
    WNNOperand wide = wnnGraphBuilderCast(b, bytes, WNNDataType_Int64, NULL);
    wide = wnnGraphBuilderMul(b, wide, wnnGraphBuilderCast(b, y, WNNDataType_Int64, NULL), NULL);
    WNNOperand half = wnnGraphBuilderCast(b, wnnGraphBuilderAdd(b, x, y, NULL), WNNDataType_Float16, NULL);
    half = wnnGraphBuilderMul(b, half, wnnGraphBuilderCast(b, wide, WNNDataType_Float16, NULL), NULL);
    output(s, wnnGraphBuilderCast(b, half, WNNDataType_Float32, NULL));
    output(s, bytes);
    output(s, wide);
    output(s, wnnGraphBuilderSigmoid(b, half, NULL));
    output(s, wnnGraphBuilderRelu(b, wnnGraphBuilderCast(b, x, WNNDataType_Float16, NULL), NULL));
}

static void make_residual(struct subject *s) // no gemm, which would round once
{
    WNNGraphBuilder b = s->builder;
    WNNOperand x = INPUT(s, 2, 11, 24), w = INPUT(s, 2, 24, 20), addend = INPUT(s, 2, 11, 20);
    WNNOperand sum = wnnGraphBuilderAdd(b, wnnGraphBuilderMatmul(b, x, w, NULL), addend, NULL);
    output(s, wnnGraphBuilderRelu(b, sum, NULL));
    output(s, wnnGraphBuilderAdd(b, addend, wnnGraphBuilderSoftmax(b, sum, 2, NULL), NULL));
}

static void make_many(struct subject *s) // more buffers than a small device has
{
    WNNGraphBuilder b = s->builder;
    WNNOperand x[4], y[4];
    for (unsigned i = 0; i < 4; i++)
        x[i] = INPUT(s, 70);
    for (unsigned i = 0; i < 4; i++)
        y[i] = wnnGraphBuilderAdd(b, x[i], wnnGraphBuilderMul(b, x[(i + 1) % 4], x[(i + 2) % 4], NULL), NULL);
    for (unsigned i = 0; i < 4; i++)
        output(s, wnnGraphBuilderMax(b, wnnGraphBuilderSub(b, y[i], y[(i + 1) % 4], NULL),
                                     wnnGraphBuilderNeg(b, y[(i + 3) % 4], NULL), NULL));
}

// As batchNormalization of float16 is spelled out, by numbers that float16 does not have.
static void make_wide(struct subject *s)
{
    static const float factors[] = {1e-40f, -3e-39f, 0, 2.5f, 1e-30f, INFINITY, -1},
                       offsets[] = {0, 0.25f, -0.0f, 1e-41f, 0, -1, 1e5f};
    WNNGraphBuilder b = s->builder;
    WNNOperandDescriptor row = WNN_OPERAND_DESCRIPTOR_INIT;
    row.dataType = WNNDataType_Float32;
    row.shape = (WNNUint32List){(const uint32_t[]){7}, 1};
    WNNOperand factor = wnnGraphBuilderConstant(b, &row, factors, sizeof factors),
               offset = wnnGraphBuilderConstant(b, &row, offsets, sizeof offsets);
    WNNOperand half = wnnGraphBuilderCast(b, INPUT(s, 6, 61, 7), WNNDataType_Float16, NULL),
               wide = wnnGraphBuilderCast(b, half, WNNDataType_Float32, NULL);
    wide = wnnGraphBuilderAdd(b, wnnGraphBuilderMul(b, wide, factor, NULL), offset, NULL);
    output(s, wnnGraphBuilderRelu(b, wnnGraphBuilderCast(b, wide, WNNDataType_Float16, NULL), NULL));
    wide = wnnGraphBuilderNeg(b, wnnGraphBuilderMul(b, factor, wide, NULL), NULL); // of what was no float16
    output(s, wnnGraphBuilderCast(b, wide, WNNDataType_Float16, NULL));
}

// float16 is rounded wherever it would be without fusion. Where drivers are not known, one may join a product
// and a sum of float32 to one rounding, and NaN has any bits.
// Words of a float32 number or of two float16 ones.
static bool agree(const unsigned char *fused, const unsigned char *plain, bool half)
{
    static WNNDeviceInfo device;
    if (device.kind == 0)
        REQUIRE(count_devices(1, &device) > 0);
    if (memcmp(fused, plain, 4) == 0)
        return true;
    if (device.kind == WNNDeviceKind_Processor)
        return false;
    float a, b;
    uint16_t halves[2][2];
    memcpy(&a, fused, sizeof a);
    memcpy(&b, plain, sizeof b);
    memcpy(halves[0], fused, sizeof halves[0]);
    memcpy(halves[1], plain, sizeof halves[1]);
    if ((isnan(a) && isnan(b)) || (!half && fabsf(a - b) <= 1e-6f * fabsf(b)))
        return true;
    bool same = true; // casts make float16 of float32
    for (int i = 0; same && i < 2; i++)
        same = halves[0][i] == halves[1][i] ||
               (isnan(wnn_half_to_float(halves[0][i])) && isnan(wnn_half_to_float(halves[1][i])));
    return same;
}

static void test_fused(const struct backend *backend)
{
    static maker *const makes[] = {make_chain, make_casts, make_residual, make_many, make_wide};
    static unsigned char fused[MAX_BYTES], plain[MAX_BYTES];
    WNNContext context = create_on(backend), literal = create_on(backend);
    REQUIRE(context && literal);
    wnn_context_set_compile_options(literal, UINT32_MAX, true, NULL, NULL);
    for (unsigned i = 0; i < sizeof makes / sizeof makes[0]; i++)
        for (int half = 0; half < 2; half++) {
            WNNDataType type = half ? WNNDataType_Float16 : WNNDataType_Float32;
            memset(fused, 0, sizeof fused);
            memset(plain, 0, sizeof plain);
            size_t bytes = run(context, makes[i], type, i != 2, fused);
            REQUIRE_EQUAL_INT(run(literal, makes[i], type, i != 2, plain), bytes);
            for (size_t k = 0; k < bytes; k += 4)
                if (!agree(fused + k, plain + k, half)) {
                    fprintf(stderr, "graph %u of %s: byte %zu of %zu is %02x fused, %02x otherwise\n", i,
                            half ? "float16" : "float32", k, bytes, fused[k], plain[k]);
                    case_fail();
                }
        }
    wnnContextRelease(literal);
    wnnContextRelease(context);
}

// ---------------------------------------------------------------------------------------------------------------
// Rows
// ---------------------------------------------------------------------------------------------------------------

static uint32_t row_count, row_length;

static void make_softmax(struct subject *s)
{
    output(s, wnnGraphBuilderSoftmax(s->builder, INPUT(s, row_count, row_length), 1, NULL));
}

static void make_layer_normalization(struct subject *s)
{
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    WNNOperand x = INPUT(s, row_count, row_length);
    options.scale = INPUT(s, row_length);
    options.bias = INPUT(s, row_length);
    options.axes = (WNNUint32List){(const uint32_t[]){1}, 1};
    output(s, wnnGraphBuilderLayerNormalization(s->builder, x, &options));
}

static void make_instance_normalization(struct subject *s)
{
    WNNInstanceNormalizationOptions options = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
    WNNOperand x = INPUT(s, 2, row_count, 1, row_length);
    options.scale = INPUT(s, row_count);
    options.bias = INPUT(s, row_count);
    output(s, wnnGraphBuilderInstanceNormalization(s->builder, x, &options));
}

// ---------------------------------------------------------------------------------------------------------------
// Attention
// ---------------------------------------------------------------------------------------------------------------

static uint32_t heads, tokens, depth;

static WNNOperand turned(WNNGraphBuilder builder, WNNOperand operand, uint32_t a, uint32_t b, uint32_t c,
                         uint32_t d)
{
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){(const uint32_t[]){a, b, c, d}, 4};
    return wnnGraphBuilderTranspose(builder, operand, &options);
}

static WNNOperand attend(struct subject *s, WNNOperand q, WNNOperand k, WNNOperand v, WNNOperand mask)
{
    WNNGraphBuilder b = s->builder;
    WNNOperandDescriptor one = WNN_OPERAND_DESCRIPTOR_INIT;
    uint16_t half = wnn_half_from_float(0.125f);
    float whole = 0.125f;
    one.dataType = s->type;
    WNNOperand factor = s->type == WNNDataType_Float16
                            ? wnnGraphBuilderConstant(b, &one, &half, sizeof half)
                            : wnnGraphBuilderConstant(b, &one, &whole, sizeof whole);
    WNNOperand scores = wnnGraphBuilderMul(b, wnnGraphBuilderMatmul(b, q, k, NULL), factor, NULL);
    scores = wnnGraphBuilderAdd(b, scores, mask, NULL);
    return wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 3, NULL), v, NULL);
}

static void make_turned_attention(struct subject *s)
{
    WNNOperand q = turned(s->builder, INPUT(s, 2, tokens, heads, depth), 0, 2, 1, 3);
    WNNOperand k = turned(s->builder, INPUT(s, 2, tokens, heads, depth), 0, 2, 3, 1);
    WNNOperand v = turned(s->builder, INPUT(s, 2, tokens, heads, depth), 0, 2, 1, 3);
    WNNOperand mask = INPUT(s, 2, 1, 1, tokens);
    output(s, turned(s->builder, attend(s, q, k, v, mask), 0, 2, 1, 3));
}

static void make_odd_attention(struct subject *s) // of one head of keys, and results that lie across
{
    WNNOperand q = turned(s->builder, INPUT(s, depth, tokens, 1, heads), 2, 3, 1, 0);
    WNNOperand k = INPUT(s, 1, 1, depth, tokens),
               v = turned(s->builder, INPUT(s, 1, 1, 7, tokens), 0, 1, 3, 2);
    WNNOperand mask = INPUT(s, tokens, 1);
    output(s, turned(s->builder, attend(s, q, k, v, mask), 3, 2, 0, 1));
}

static void compare_rows(WNNContext context, WNNContext cpu, maker *make, WNNDataType type, double tolerance)
{
    static unsigned char got[MAX_BYTES], expected[MAX_BYTES];
    size_t bytes = run(context, make, type, false, got), count = (size_t)row_count * row_length;
    REQUIRE_EQUAL_INT(run(cpu, make, type, false, expected), bytes);
    for (size_t i = 0; i < count; i++) {
        double y = number_at(got, type, i), want = number_at(expected, type, i);
        if (!(fabs(y - want) <= tolerance * (0.1 + fabs(want)))) {
            fprintf(stderr, "%u rows of %u: element %zu is %.9g; expected %.9g\n", row_count, row_length, i,
                    y, want);
            case_fail();
        }
    }
}

static void test_attention(const struct backend *backend)
{
    static const uint32_t sizes[][3] = {{3, 9, 5}, {4, 64, 32}, {1, 70, 16}, {12, 128, 8}, {2, 33, 20}};
    WNNContext context = create_on(backend), cpu = create_on(wnn_backend_find("cpu"));
    REQUIRE(context && cpu);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int half = 0; half < 2; half++) {
            WNNDataType type = half ? WNNDataType_Float16 : WNNDataType_Float32;
            double tolerance = half ? 2e-2 : 6e-6; // scores are rounded to float16 too
            heads = sizes[i][0];
            tokens = sizes[i][1];
            depth = sizes[i][2];
            row_count = 2 * tokens;
            row_length = heads * depth;
            compare_rows(context, cpu, make_turned_attention, type, tolerance);
            row_count = tokens;
            row_length = heads * 7;
            compare_rows(context, cpu, make_odd_attention, type, tolerance);
        }
    wnnContextRelease(cpu);
    wnnContextRelease(context);
}

static unsigned addends;

// A product that work groups share, and so many operands that are fused with it.
static void make_added(struct subject *s)
{
    WNNGraphBuilder b = s->builder;
    WNNOperand sum = wnnGraphBuilderMatmul(b, INPUT(s, 20, 512), INPUT(s, 512, 40), NULL);
    for (unsigned i = 0; i < addends; i++)
        sum = wnnGraphBuilderAdd(b, sum, INPUT(s, 20, 40), NULL);
    output(s, sum);
}

// With as many fused as a shader can see, without counters, and one more.
static void test_added(void)
{
    WNNContext context = create_on(vulkan_matrices()), cpu = create_on(wnn_backend_find("cpu"));
    REQUIRE(context && cpu);
    row_count = 20;
    row_length = 40;
    for (addends = 11; addends < 13; addends++) {
        compare_rows(context, cpu, make_added, WNNDataType_Float32, 1e-3);
        compare_rows(context, cpu, make_added, WNNDataType_Float16, 5e-2);
    }
    wnnContextRelease(cpu);
    wnnContextRelease(context);
}

// ---------------------------------------------------------------------------------------------------------------
// Parts that are computed where concat joins them
// ---------------------------------------------------------------------------------------------------------------

// Two parts of an output in place, the reshaped one copied; one, since it is there twice and the other is an
// input; and all, but of odd halves none.
static void make_joined(struct subject *s)
{
    WNNGraphBuilder b = s->builder;
    WNNOperand x = INPUT(s, 1, 6, 5, 4), y = INPUT(s, 60, 7), w = INPUT(s, 7, 4);
    WNNOperand product = wnnGraphBuilderMatmul(b, y, w, NULL);
    WNNOperand parts[] = {
        wnnGraphBuilderTanh(b, x, NULL),
        wnnGraphBuilderReshape(b, product, (WNNUint32List){(const uint32_t[]){1, 12, 5, 4}, 4}, NULL),
        wnnGraphBuilderSoftmax(b, x, 3, NULL)};
    output(s, wnnGraphBuilderConcat(b, 3, parts, 1, NULL));
    WNNOperand mean = wnnGraphBuilderSigmoid(b, y, NULL), twice[] = {mean, y, mean};
    output(s, wnnGraphBuilderExp(b, wnnGraphBuilderConcat(b, 3, twice, 0, NULL), NULL));
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = (WNNUint32List){(const uint32_t[]){0}, 1};
    options.keepDimensions = true;
    WNNOperand sums[] = {wnnGraphBuilderReduceSum(b, y, &options), wnnGraphBuilderReduceMax(b, y, &options)};
    output(s, wnnGraphBuilderConcat(b, 2, sums, 0, NULL));
}

static void test_joined(const struct backend *backend)
{
    static unsigned char got[MAX_BYTES], expected[MAX_BYTES];
    WNNContext context = create_on(backend), cpu = create_on(wnn_backend_find("cpu"));
    REQUIRE(context && cpu);
    for (int half = 0; half < 2; half++) {
        WNNDataType type = half ? WNNDataType_Float16 : WNNDataType_Float32;
        memset(got, 0, sizeof got);
        memset(expected, 0, sizeof expected);
        size_t bytes = run(cpu, make_joined, type, false, expected);
        REQUIRE_EQUAL_INT(run(context, make_joined, type, false, got), bytes);
        REQUIRE_EQUAL_INT(left_out, half ? 0 : 1);
        for (size_t k = 0; k < bytes / (half ? 2 : 4); k++) {
            double y = number_at(got, type, k), want = number_at(expected, type, k);
            if (!(fabs(y - want) <= (half ? 4e-3 : 1e-5) * (0.1 + fabs(want)))) {
                fprintf(stderr, "joined: number %zu is %.9g; expected %.9g\n", k, y, want);
                case_fail();
            }
        }
    }
    wnnContextRelease(cpu);
    wnnContextRelease(context);
}

// ---------------------------------------------------------------------------------------------------------------
// Long reductions
// ---------------------------------------------------------------------------------------------------------------

static uint32_t reduced_axis;

static void make_reductions(struct subject *s)
{
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    WNNOperand x = INPUT(s, row_count, row_length);
    options.axes = (WNNUint32List){&reduced_axis, 1};
    output(s, wnnGraphBuilderReduceMean(s->builder, x, &options));
    output(s, wnnGraphBuilderReduceL2(s->builder, x, &options));
    output(s, wnnGraphBuilderReduceMax(s->builder, x, &options));
}

static void test_reductions(const struct backend *backend)
{
    static const uint32_t sizes[][3] = {{1, 100000, 1}, {40000, 3, 0}, {32768, 16, 0}, {33000, 15, 0},
                                        {100, 40, 0},   {3, 5000, 1},  {70, 5, 1}};
    static unsigned char got[MAX_BYTES], expected[MAX_BYTES];
    WNNContext context = create_on(backend), cpu = create_on(wnn_backend_find("cpu"));
    REQUIRE(context && cpu);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int half = 0; half < 2; half++) {
            WNNDataType type = half ? WNNDataType_Float16 : WNNDataType_Float32;
            row_count = sizes[i][0];
            row_length = sizes[i][1];
            reduced_axis = sizes[i][2];
            memset(got, 0, sizeof got);
            memset(expected, 0, sizeof expected);
            size_t bytes = run(context, make_reductions, type, false, got);
            REQUIRE_EQUAL_INT(run(cpu, make_reductions, type, false, expected), bytes);
            for (size_t k = 0; k < bytes / (half ? 2 : 4); k++) {
                double y = number_at(got, type, k), want = number_at(expected, type, k);
                if (!(fabs(y - want) <= (half ? 1e-3 : 1e-6) * (1e-3 + fabs(want)))) {
                    fprintf(stderr, "%u x %u along %u: number %zu is %.9g; expected %.9g\n", row_count,
                            row_length, reduced_axis, k, y, want);
                    case_fail();
                }
            }
        }
    wnnContextRelease(cpu);
    wnnContextRelease(context);
}

static void test_rows(const struct backend *backend)
{
    static const uint32_t sizes[][2] = {{5, 8},    {3, 9},    {70, 31},  {9, 64},    {5, 100},  {3, 768},
                                        {3, 1027}, {2, 4096}, {3, 5003}, {2, 16388}, {2, 50257}};
    static maker *const makes[] = {make_softmax, make_layer_normalization, make_instance_normalization};
    WNNContext context = create_on(backend), cpu = create_on(wnn_backend_find("cpu"));
    REQUIRE(context && cpu);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned k = 0; k < 3; k++) {
            row_count = sizes[i][0];
            row_length = sizes[i][1];
            if (k == 2 && row_count * row_length > 20000)
                continue;
            // What normalizations add may be much more than their results.
            compare_rows(context, cpu, makes[k], WNNDataType_Float32, k == 0 ? 2e-6 : 4e-6);
            compare_rows(context, cpu, makes[k], WNNDataType_Float16, 1e-3);
        }
    wnnContextRelease(cpu);
    wnnContextRelease(context);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    if (!has_device())
        return cases_skip("there is no device");
    CASE(test_fused(&wnn_backend_vulkan));
    CASE(test_fused(vulkan_minimal()));
    CASE(test_joined(&wnn_backend_vulkan));
    CASE(test_joined(vulkan_minimal()));
    CASE(test_rows(&wnn_backend_vulkan));
    CASE(test_reductions(&wnn_backend_vulkan));
    CASE(test_reductions(vulkan_minimal()));
    CASE(test_attention(&wnn_backend_vulkan));
    CASE(test_attention(vulkan_minimal()));
    CASE(test_added());
    return cases_end();
}
