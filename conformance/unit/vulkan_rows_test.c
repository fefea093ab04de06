// SPDX-License-Identifier: Apache-2.0
//
// softmax and normalizations on Vulkan of rows and columns of every kind of length, against plain loops: also
// with numbers that are not finite, where the results lie where the input was, and with steps fused to both
// ends; and twice the same input makes twice the same bits. Skipped where Vulkan has no device.

#include "conformance/unit/differential_fixture.h"

#include <math.h>

enum {
    MAX_ELEMENTS = 1 << 19
};

// What the elements are, and how they come and go.
enum pattern {
    PLAIN,
    ENDLESS, // the first half of each row is -Inf
    NOTHING, // all are
    SPECIAL, // the first row has a NaN, the second +Inf, each near its end
    FAR,     // from 0
};

struct grouped {
    enum {
        SOFTMAX,
        LAYER,
        INSTANCE,
        RMS // spelled out, in float32
    } op;
    uint32_t outer, members, inner;
    enum pattern pattern;
    bool fused; // |x| goes in, and the results are multiplied by the input
    bool moved; // the input is copied first, so that its memory can be the results'
    bool cast;  // the results are of the other type
};

static size_t count_of(const struct grouped *s)
{
    return (size_t)s->outer * s->members * s->inner;
}

// ---------------------------------------------------------------------------------------------------------------
// Numbers
// ---------------------------------------------------------------------------------------------------------------

static void put_number(unsigned char *data, WNNDataType type, size_t i, float x)
{
    if (type == WNNDataType_Float16)
        ((uint16_t *)(void *)data)[i] = wnn_half_from_float(x);
    else
        ((float *)(void *)data)[i] = x;
}

static void fill(const struct grouped *s, WNNDataType type, unsigned char *data)
{
    unsigned seed = 1;
    for (size_t i = 0; i < count_of(s); i++) {
        size_t member = i / s->inner % s->members, row = i / s->inner / s->members;
        seed = seed * 1664525 + 1013904223;
        float x = (float)(int)(seed >> 8) / (float)(1 << 22) - 2;
        if (s->pattern == FAR)
            x += 30;
        if (s->pattern == NOTHING || (s->pattern == ENDLESS && member < s->members / 2))
            x = -INFINITY;
        if (s->pattern == SPECIAL && row < 2 && member == s->members - 2)
            x = row == 0 ? NAN : INFINITY;
        put_number(data, type, i, x);
    }
}

// Parameter k of a normalization.
static float parameter(unsigned k, size_t i)
{
    return k == 0 ? 1 + (float)(i % 7) / 8 : (float)(i % 5) / 4 - 0.5f;
}

static void expect(const struct grouped *s, const double *x, double *y)
{
    for (size_t o = 0; o < s->outer; o++)
        for (size_t n = 0; n < s->inner; n++) {
            const double *from = x + o * s->members * s->inner + n;
            double *to = y + o * s->members * s->inner + n, top = -INFINITY, sum = 0, square = 0;
            for (size_t m = 0; m < s->members; m++) {
                double e = from[m * s->inner];
                top = e > top ? e : top;
                sum += e;
            }
            double mean = s->op == RMS ? 0 : sum / s->members;
            sum = 0;
            for (size_t m = 0; m < s->members; m++) {
                double e = from[m * s->inner];
                sum += exp(e - top);
                square += (e - mean) * (e - mean);
            }
            double factor = 1 / sqrt(square / s->members + 1e-5);
            for (size_t m = 0; m < s->members; m++) {
                double e = from[m * s->inner];
                size_t p = s->op == LAYER || s->op == RMS ? m : s->inner > 1 ? n : o;
                float scale = s->op == RMS && s->inner > 1 ? 1 : parameter(0, p),
                      bias = s->op == RMS ? 0 : parameter(1, p);
                to[m * s->inner] = s->op == SOFTMAX ? exp(e - top) / sum : (e - mean) * factor * scale + bias;
            }
        }
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand constant(WNNGraphBuilder builder, WNNDataType type, unsigned k, uint32_t count)
{
    static unsigned char data[4 * MAX_ELEMENTS];
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){&count, 1};
    for (size_t i = 0; i < count; i++)
        put_number(data, type, i, parameter(k, i));
    return wnnGraphBuilderConstant(builder, &descriptor, data, wnn_dtype_bytes(type, count));
}

static WNNDataType result_type(const struct grouped *s, WNNDataType type)
{
    return s->cast == (type == WNNDataType_Float16) ? WNNDataType_Float32 : WNNDataType_Float16;
}

// x / sqrt(mean(x * x) + 1e-5), times a scale along the last axis.
static WNNOperand make_rms(WNNGraphBuilder b, const struct grouped *s, WNNDataType type, WNNOperand x)
{
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = (WNNUint32List){(const uint32_t[]){1}, 1};
    options.keepDimensions = true;
    WNNOperand epsilon = wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberFloat64(1e-5));
    WNNOperand wide = wnnGraphBuilderCast(b, x, WNNDataType_Float32, NULL);
    WNNOperand mean = wnnGraphBuilderReduceMean(b, wnnGraphBuilderMul(b, wide, wide, NULL), &options);
    WNNOperand root = wnnGraphBuilderSqrt(b, wnnGraphBuilderAdd(b, mean, epsilon, NULL), NULL);
    x = wnnGraphBuilderCast(b, wnnGraphBuilderDiv(b, wide, root, NULL), type, NULL);
    return s->inner > 1 ? x : wnnGraphBuilderMul(b, x, constant(b, type, 0, s->members), NULL);
}

static WNNOperand make(WNNGraphBuilder b, const struct grouped *s, WNNDataType type)
{
    // instanceNormalization has its channels last or first
    bool across = s->inner > 1;
    const uint32_t plain[] = {s->outer, s->members, s->inner}, images[] = {s->outer, s->members, 1, s->inner},
                   channels[] = {1, s->outer, 1, s->members};
    WNNUint32List shape = s->op == INSTANCE ? (WNNUint32List){across ? images : channels, 4}
                                            : (WNNUint32List){plain, across ? 3 : 2};
    WNNOperandDescriptor descriptor = {NULL, type, shape};
    WNNOperand x = wnnGraphBuilderInput(b, view("x"), &descriptor), y = x;
    if (s->moved) {
        WNNReverseOptions options = WNN_REVERSE_OPTIONS_INIT;
        options.axes = (WNNUint32List){(const uint32_t[]){0}, 1};
        y = wnnGraphBuilderReverse(b, wnnGraphBuilderReverse(b, y, &options), &options);
    }
    if (s->fused)
        y = wnnGraphBuilderAbs(b, y, NULL);
    if (s->op == SOFTMAX) {
        y = wnnGraphBuilderSoftmax(b, y, 1, NULL);
    } else if (s->op == LAYER) {
        WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
        options.axes = (WNNUint32List){(const uint32_t[]){1}, 1};
        options.scale = constant(b, type, 0, s->members);
        options.bias = constant(b, type, 1, s->members);
        y = wnnGraphBuilderLayerNormalization(b, y, &options);
    } else if (s->op == RMS) {
        y = make_rms(b, s, type, y);
    } else {
        WNNInstanceNormalizationOptions options = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
        options.layout = across ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
        options.scale = constant(b, type, 0, across ? s->inner : s->outer);
        options.bias = constant(b, type, 1, across ? s->inner : s->outer);
        y = wnnGraphBuilderInstanceNormalization(b, y, &options);
    }
    y = s->fused ? wnnGraphBuilderMul(b, y, x, NULL) : y;
    return s->cast ? wnnGraphBuilderCast(b, y, result_type(s, type), NULL) : y;
}

static void test(WNNContext context, const struct grouped *s, WNNDataType type)
{
    static unsigned char data[4 * MAX_ELEMENTS], got[4 * MAX_ELEMENTS], again[4 * MAX_ELEMENTS];
    static double x[MAX_ELEMENTS], want[MAX_ELEMENTS];
    size_t count = count_of(s);
    REQUIRE(count <= MAX_ELEMENTS);
    WNNDataType result = result_type(s, type);
    bool half = type == WNNDataType_Float16;
    double relative = half || s->cast ? 2e-3 : 4e-6, absolute = s->op != SOFTMAX  ? relative
                                                                : half || s->cast ? 1e-7
                                                                                  : 1e-12;
    WNNGraphBuilder builder = create_builder(context);
    WNNNamedOperand named = {view("y"), make(builder, s, type)};
    WNNGraph graph = build_outputs(context, builder, 1, &named);
    fill(s, type, data);
    for (size_t i = 0; i < count; i++) {
        x[i] = number_at(data, type, i);
        x[i] = s->fused ? fabs(x[i]) : x[i];
    }
    expect(s, x, want);
    memset(got, 0x55, sizeof got);
    size_t bytes = wnn_dtype_bytes(result, count);
    WNNNamedBuffer from = {view("x"), data, wnn_dtype_bytes(type, count), type},
                   to = {view("y"), got, bytes, result};
    compute_buffers(context, graph, 1, &from, 1, &to);
    for (size_t i = 0; i < count; i++) {
        double y = number_at(got, result, i), w = want[i];
        if (s->fused)
            w = (half ? wnn_half_to_float(wnn_half_from_float((float)w)) : w) * number_at(data, type, i);
        if (isnan(w) ? isnan(y) : fabs(y - w) <= relative * fabs(w) + absolute)
            continue;
        fprintf(stderr, "operator %d of %s [%u, %u, %u], pattern %d: element %zu is %.9g; expected %.9g\n",
                s->op, wnn_dtype_name(type), s->outer, s->members, s->inner, s->pattern, i, y, w);
        case_fail();
    }
    to.data = again;
    compute_buffers(context, graph, 1, &from, 1, &to);
    REQUIRE(memcmp(got, again, bytes) == 0);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
}

static void test_on(const struct backend *backend)
{
    static const struct {
        struct grouped grouped;
        bool whole, half; // the types
    } cases[] = {
        {{SOFTMAX, 70, 9, 1}, 1, 1},
        {{SOFTMAX, 9, 64, 1, SPECIAL}, 0, 1},
        {{SOFTMAX, 2, 1026, 1, PLAIN, true, true}, 0, 1},
        {{LAYER, 3, 768, 1, SPECIAL}, 1, 0},
        {{LAYER, 5, 1025, 1, FAR, true, false}, 1, 1},
        {{LAYER, 9, 1022, 1, SPECIAL}, 1, 1},
        {{SOFTMAX, 300, 11, 1, ENDLESS, false, true}, 1, 1},
        {{LAYER, 4, 9996, 1, SPECIAL}, 1, 1},
        {{LAYER, 10, 6004, 1, FAR, true, true}, 1, 0},
        {{SOFTMAX, 7, 131, 1, SPECIAL, .cast = true}, 1, 1},
        {{LAYER, 5, 1023, 1, PLAIN, .moved = true, .cast = true}, 1, 1},
        {{INSTANCE, 6, 131, 1}, 0, 1},
        {{INSTANCE, 2, 50, 20}, 1, 0},
        // Short rows: one set of them in a work group, and several
        {{SOFTMAX, 5, 2, 1}, 1, 1},
        {{SOFTMAX, 1, 3, 1}, 1, 1},
        {{SOFTMAX, 301, 3, 1, SPECIAL, true, true}, 1, 1},
        {{SOFTMAX, 172033, 3, 1, ENDLESS}, 1, 1},
        {{SOFTMAX, 52001, 10, 1, SPECIAL, false, true}, 1, 1},
        {{SOFTMAX, 65, 49, 1, PLAIN, true, true}, 1, 1},
        {{SOFTMAX, 9, 100, 1, NOTHING, .cast = true}, 1, 1},
        {{LAYER, 3, 2, 1, FAR}, 1, 1},
        {{LAYER, 30, 5, 1, SPECIAL, true, true}, 1, 1},
        {{LAYER, 43009, 12, 1, FAR, .moved = true}, 1, 1},
        {{LAYER, 65536, 8, 1, SPECIAL, true}, 1, 1},
        {{LAYER, 8317, 63, 1, PLAIN, true, true}, 1, 1},
        {{LAYER, 101, 100, 1, PLAIN, .moved = true, .cast = true}, 1, 1},
        {{INSTANCE, 300, 49, 1, FAR, true}, 1, 1},
        {{INSTANCE, 65, 16, 1, SPECIAL}, 1, 1},
        // Rows in parts
        {{SOFTMAX, 2, 20004, 1, ENDLESS, false, true}, 1, 0},
        {{SOFTMAX, 3, 16391, 1, NOTHING, true, true}, 0, 1},
        {{SOFTMAX, 2, 50257, 1, SPECIAL}, 1, 1},
        {{LAYER, 3, 16389, 1, FAR, true, true}, 0, 1},
        {{LAYER, 2, 32768, 1, SPECIAL}, 1, 1},
        {{LAYER, 3, 24591, 1, FAR, false, true}, 0, 1},
        {{LAYER, 2, 50257, 1, FAR}, 1, 1},
        {{SOFTMAX, 3, 70001, 1, ENDLESS}, 0, 1},
        // Columns
        {{SOFTMAX, 3, 5, 4}, 1, 1},
        {{SOFTMAX, 2, 64, 68, SPECIAL}, 1, 0},
        {{SOFTMAX, 2, 9, 132, PLAIN, true, true}, 0, 1},
        {{SOFTMAX, 3, 7, 6, NOTHING}, 0, 1},
        {{LAYER, 2, 100, 20, FAR}, 1, 0},
        {{LAYER, 2, 9, 132, SPECIAL, true, true}, 0, 1},
        // Columns that are longer than what is held of them
        {{INSTANCE, 2, 4097, 48, FAR}, 1, 1},
        {{INSTANCE, 1, 20001, 17, SPECIAL}, 1, 1},
        {{INSTANCE, 1, 65536, 7, PLAIN, .moved = true, .cast = true}, 1, 1},
        {{INSTANCE, 3, 5000, 20, PLAIN, true, true}, 1, 1},
        {{LAYER, 2, 3000, 36, FAR, true, true}, 1, 1},
        {{LAYER, 2, 9000, 5, SPECIAL}, 1, 1},
        {{RMS, 2, 5000, 20, FAR}, 1, 1},
        // Around 0
        {{RMS, 1, 576, 1, FAR}, 1, 1},
        {{RMS, 3, 768, 1, SPECIAL}, 1, 1},
        {{RMS, 5, 1025, 1, FAR, true, true}, 1, 1},
        {{RMS, 10, 6004, 1, PLAIN, .moved = true}, 1, 1},
        {{RMS, 2, 50257, 1, FAR}, 1, 1},
        {{RMS, 3, 16389, 1, SPECIAL, true, true}, 1, 1},
        {{RMS, 30, 5, 1, SPECIAL, true, true}, 1, 1},
        {{RMS, 65536, 8, 1, FAR}, 1, 1},
        {{RMS, 8317, 63, 1, PLAIN, true, true}, 1, 1},
        {{RMS, 2, 100, 20, FAR}, 1, 0},
        {{RMS, 2, 9, 132, SPECIAL}, 1, 0},
        {{RMS, 3, 7, 6, FAR}, 1, 0},
    };
    WNNContext context = create_on(backend);
    REQUIRE(context);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].whole)
            test(context, &cases[i].grouped, WNNDataType_Float32);
        if (cases[i].half)
            test(context, &cases[i].grouped, WNNDataType_Float16);
    }
    wnnContextRelease(context);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    if (!has_device())
        return cases_skip("there is no device");
    CASE(test_on(wnn_backend_find("cpu")));
    CASE(test_on(&wnn_backend_vulkan));
    CASE(test_on(vulkan_minimal()));
    return cases_end();
}
