// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of 3 x 3 taps that may be computed by Winograd's filtering, against sums in double precision:
// odd sizes, paddings, batches, all that is done to a sum before it is stored, any number of threads; and
// that strictNumerics keeps them off it, so that infinities stay.

#include "conformance/unit/runtime_fixture.h"
#include "lib/half.h"

#include <math.h>

static uint32_t state = 3;

static float draw(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(int32_t)(state >> 8) * (1.0f / (1 << 23)) - 1;
}

struct subject {
    uint32_t batch, height, width, inputs, outputs, padding[4];
    bool bias, addend, clamp, half;
};

static const struct subject subjects[] = {
    {1, 14, 14, 32, 48, {1, 1, 1, 1}, true, true, true, false},
    {1, 13, 17, 48, 32, {1, 1, 1, 1}, true, false, true, false},
    {2, 9, 8, 32, 32, {0, 0, 0, 0}, false, false, false, false},
    {3, 7, 7, 64, 80, {1, 0, 2, 1}, false, true, false, false},
    {1, 56, 56, 32, 32, {1, 1, 1, 1}, true, false, false, false},
    {1, 21, 35, 128, 144, {0, 2, 1, 0}, true, true, true, false},
    {2, 15, 16, 64, 64, {1, 1, 1, 1}, true, false, true, true},
    {1, 16, 17, 64, 80, {1, 1, 1, 1}, true, true, true, true},
    {3, 9, 7, 48, 32, {1, 0, 2, 1}, false, true, false, true},
};

struct tensors {
    float *x, *filter, *bias, *addend;
    size_t x_count, filter_count, out_count;
    uint32_t rows, columns; // of the output
};

static float *fill(size_t count, bool half)
{
    float *values = malloc(count * sizeof *values);
    REQUIRE(values);
    for (size_t i = 0; i < count; i++)
        values[i] = half ? wnn_half_to_float(wnn_half_from_float(draw())) : draw();
    return values;
}

static struct tensors make_tensors(const struct subject *s)
{
    struct tensors t = {.rows = s->height + s->padding[0] + s->padding[1] - 2,
                        .columns = s->width + s->padding[2] + s->padding[3] - 2};
    t.x_count = (size_t)s->batch * s->height * s->width * s->inputs;
    t.filter_count = (size_t)s->outputs * 9 * s->inputs;
    t.out_count = (size_t)s->batch * t.rows * t.columns * s->outputs;
    t.x = fill(t.x_count, s->half);
    t.filter = fill(t.filter_count, s->half);
    t.bias = fill(s->outputs, s->half);
    t.addend = fill(t.out_count, s->half);
    return t;
}

static void free_tensors(const struct tensors *t)
{
    free(t->x);
    free(t->filter);
    free(t->bias);
    free(t->addend);
}

// In the type of the graph.
static void *converted(const float *values, size_t count, bool half)
{
    unsigned char *bytes = malloc(count * (half ? 2 : 4));
    REQUIRE(bytes);
    for (size_t i = 0; i < count; i++) {
        uint16_t number = wnn_half_from_float(values[i]);
        memcpy(bytes + i * (half ? 2 : 4), half ? (const void *)&number : &values[i], half ? 2 : 4);
    }
    return bytes;
}

static void compute(const struct subject *s, const struct tensors *t, uint32_t threads, bool strict,
                    float *out)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.threadCount = threads;
    descriptor.strictNumerics = strict;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    WNNGraphBuilder builder = create_builder(context);

    uint32_t shape[4] = {s->batch, s->height, s->width, s->inputs},
             filter_shape[4] = {s->outputs, 3, 3, s->inputs};
    uint32_t out_shape[4] = {s->batch, t->rows, t->columns, s->outputs};
    size_t size = s->half ? 2 : 4;
    void *x_data = converted(t->x, t->x_count, s->half),
         *filter_data = converted(t->filter, t->filter_count, s->half);
    void *bias_data = converted(t->bias, s->outputs, s->half),
         *out_data = converted(t->addend, t->out_count, s->half);
    void *addend_data = converted(t->addend, t->out_count, s->half);
    WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
    type.dataType = s->half ? WNNDataType_Float16 : WNNDataType_Float32;
    type.shape = (WNNUint32List){shape, 4};
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &type);
    type.shape = (WNNUint32List){filter_shape, 4};
    WNNOperand filter = wnnGraphBuilderConstant(builder, &type, filter_data, t->filter_count * size);
    type.shape = (WNNUint32List){&s->outputs, 1};
    WNNOperand bias = wnnGraphBuilderConstant(builder, &type, bias_data, s->outputs * size);
    type.shape = (WNNUint32List){out_shape, 4};
    WNNOperand addend = wnnGraphBuilderInput(builder, view("addend"), &type);

    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.inputLayout = WNNInputOperandLayout_NHWC;
    options.filterLayout = WNNConv2dFilterOperandLayout_OHWI;
    options.padding = (WNNUint32List){s->padding, 4};
    options.bias = s->bias ? bias : NULL;
    WNNOperand y = wnnGraphBuilderConv2d(builder, x, filter, &options);
    if (s->addend)
        y = wnnGraphBuilderAdd(builder, y, addend, NULL);
    if (s->clamp)
        y = wnnGraphBuilderRelu(builder, y, NULL);
    WNNNamedOperand output = {view("y"), y};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    REQUIRE(graph);

    WNNNamedBuffer inputs[2] = {{view("x"), x_data, t->x_count * size, type.dataType},
                                {view("addend"), addend_data, t->out_count * size, type.dataType}};
    WNNNamedBuffer outputs = {view("y"), out_data, t->out_count * size, type.dataType};
    compute_buffers(context, graph, s->addend ? 2 : 1, inputs, 1, &outputs);
    for (size_t i = 0; i < t->out_count; i++)
        out[i] = s->half ? wnn_half_to_float(((const uint16_t *)out_data)[i]) : ((const float *)out_data)[i];
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    free(x_data);
    free(filter_data);
    free(bias_data);
    free(addend_data);
    free(out_data);
}

// The largest error, as a multiple of the sum of the products' magnitudes.
static double error_of(const struct subject *s, const struct tensors *t, const float *out)
{
    double worst = 0;
    for (size_t i = 0; i < t->out_count; i++) {
        uint32_t o = i % s->outputs, x = i / s->outputs % t->columns;
        uint32_t y = i / s->outputs / t->columns % t->rows,
                 n = (uint32_t)(i / s->outputs / t->columns / t->rows);
        double sum = s->bias ? (double)t->bias[o] : 0, size = fabs(sum) + 1e-3;
        for (uint32_t tap = 0; tap < 9; tap++) {
            int64_t from_y = (int64_t)y + tap / 3 - s->padding[0],
                    from_x = (int64_t)x + tap % 3 - s->padding[2];
            if (from_y < 0 || from_y >= s->height || from_x < 0 || from_x >= s->width)
                continue;
            const float *in =
                t->x + (((size_t)n * s->height + (size_t)from_y) * s->width + (size_t)from_x) * s->inputs;
            const float *taps = t->filter + ((size_t)o * 9 + tap) * s->inputs;
            for (uint32_t c = 0; c < s->inputs; c++) {
                sum += (double)in[c] * (double)taps[c];
                size += fabs((double)in[c] * (double)taps[c]);
            }
        }
        if (s->half) // rounded here and after every operator that follows, of which none was fused
            size += 4096 * fabs(sum) + 4096;
        if (s->addend)
            sum += (double)t->addend[i];
        if (s->clamp)
            sum = fmax(sum, 0);
        worst = fmax(worst, fabs(sum - (double)out[i]) / size);
    }
    return worst;
}

static void test_subject(const struct subject *s)
{
    struct tensors t = make_tensors(s);
    float *strict = fill(t.out_count, false), *fast = fill(t.out_count, false),
          *other = fill(t.out_count, false);
    compute(s, &t, 1, true, strict);
    compute(s, &t, 1, false, fast);
    double direct = error_of(s, &t, strict), winograd = error_of(s, &t, fast);
    printf("%ux%ux%ux%u to %u: %.2g of the products' size, %.2g without\n", s->batch, s->height, s->width,
           s->inputs, s->outputs, winograd, direct);
    REQUIRE(direct < 1e-6 && winograd < 1e-6);
    if (!s->half) // it was taken
        REQUIRE(memcmp(strict, fast, t.out_count * sizeof *fast) != 0);
    for (uint32_t threads = 2; threads <= 5; threads += 3) {
        compute(s, &t, threads, false, other);
        REQUIRE(memcmp(other, fast, t.out_count * sizeof *fast) == 0);
    }
    free_tensors(&t);
    free(strict);
    free(fast);
    free(other);
}

// One infinite input is seen by the 3 x 3 outputs around it.
static void test_infinity(void)
{
    struct subject s = {
        .batch = 1, .height = 12, .width = 12, .inputs = 32, .outputs = 32, .padding = {1, 1, 1, 1}};
    struct tensors t = make_tensors(&s);
    float *out = fill(t.out_count, false);
    t.x[(5 * 12 + 6) * 32 + 3] = INFINITY;
    compute(&s, &t, 1, true, out);
    for (uint32_t pixel = 0; pixel < 144; pixel++) {
        bool near = pixel / 12 >= 4 && pixel / 12 <= 6 && pixel % 12 >= 5 && pixel % 12 <= 7;
        for (uint32_t c = 0; c < 32; c++)
            REQUIRE(near ? isinf(out[pixel * 32 + c]) : isfinite(out[pixel * 32 + c]));
    }
    free_tensors(&t);
    free(out);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        CASE(test_subject(&subjects[i]));
    CASE(test_infinity());
    return cases_end();
}
