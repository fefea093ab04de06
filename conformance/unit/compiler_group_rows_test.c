// SPDX-License-Identifier: Apache-2.0
//
// Products with matrices that expand repeats have the numbers of the separate operators, for any number of
// heads, repetitions and rows, with the matrices transposed or not.

#include "conformance/unit/runtime_fixture.h"

#include <math.h>

static uint32_t state = 11;

static uint32_t draw(uint32_t end)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % end;
}

static float *numbers(size_t count)
{
    float *values = malloc(count * sizeof *values);
    REQUIRE(values);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)draw(2001) / 1000 - 1;
    return values;
}

static WNNOperand input(WNNGraphBuilder builder, const char *name, const uint32_t dims[4])
{
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, {dims, 4}};
    return wnnGraphBuilderInput(builder, view(name), &descriptor);
}

struct sizes {
    uint32_t b, g, r, t, d, n;
    bool turned;
};

static WNNOperand record(WNNGraphBuilder builder, const struct sizes *s)
{
    uint32_t rows = s->turned ? s->n : s->d, columns = s->turned ? s->d : s->n;
    const uint32_t x_dims[4] = {s->b, s->g * s->r, s->t, s->d}, y_dims[4] = {s->b, s->g, rows, columns};
    const uint32_t apart[5] = {s->b, s->g, 1, rows, columns}, repeated[5] = {s->b, s->g, s->r, rows, columns};
    const uint32_t joined[4] = {s->b, s->g * s->r, rows, columns}, exchanged[4] = {0, 1, 3, 2};
    WNNOperand x = input(builder, "x", x_dims), y = input(builder, "y", y_dims);
    y = wnnGraphBuilderReshape(builder, y, (WNNUint32List){apart, 5}, NULL);
    y = wnnGraphBuilderExpand(builder, y, (WNNUint32List){repeated, 5}, NULL);
    y = wnnGraphBuilderReshape(builder, y, (WNNUint32List){joined, 4}, NULL);
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){exchanged, 4};
    return wnnGraphBuilderMatmul(builder, x, s->turned ? wnnGraphBuilderTranspose(builder, y, &options) : y,
                                 NULL);
}

static void test_sizes(WNNContext context, const struct sizes *s)
{
    size_t heads = (size_t)s->b * s->g * s->r, x_count = heads * s->t * s->d, z_count = heads * s->t * s->n;
    size_t y_count = (size_t)s->b * s->g * s->d * s->n;
    float *x = numbers(x_count), *y = numbers(y_count), *z = numbers(z_count);
    WNNGraphBuilder builder = create_builder(context);
    WNNNamedOperand output = {view("z"), record(builder, s)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    WNNNamedBuffer in[2] = {{view("x"), x, x_count * sizeof *x, WNNDataType_Float32},
                            {view("y"), y, y_count * sizeof *y, WNNDataType_Float32}};
    WNNNamedBuffer out = {view("z"), z, z_count * sizeof *z, WNNDataType_Float32};
    compute_buffers(context, graph, 2, in, 1, &out);
    for (size_t i = 0; i < z_count; i++) {
        size_t column = i % s->n, row = i / s->n, matrix = row / s->t / s->r * s->d * s->n;
        double sum = 0;
        for (size_t k = 0; k < s->d; k++)
            sum += (double)x[row * s->d + k] *
                   (double)y[matrix + (s->turned ? column * s->d + k : k * s->n + column)];
        REQUIRE(fabs(sum - (double)z[i]) <= 1e-5);
    }
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    free(x);
    free(y);
    free(z);
}

static void test_random(WNNContext context)
{
    for (unsigned i = 0; i < 100; i++) {
        struct sizes s = {1 + draw(2),  1 + draw(4),  1 + draw(4), 1 + draw(4),
                          1 + draw(40), 1 + draw(40), draw(2)};
        test_sizes(context, &s);
    }
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    CASE(test_random(context));
    wnnContextRelease(context);
    return cases_end();
}
