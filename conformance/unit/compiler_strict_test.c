// SPDX-License-Identifier: Apache-2.0
//
// strictNumerics: graphs of which a fused form is more precise, loses a NaN or hides an overflow give what
// their operators give one by one, each rounded to its type. Without it they may give more, never less.
//
//   compiler_strict_test BACKEND [PATTERN...]

#include "conformance/unit/graph_fixture.h"

#include <math.h>

struct example {
    const char *name, *graph;
    float x[4];      // the elements of every input, again and again
    double strict;   // element 0 of the only output
    double loose[2]; // what it may be without strictNumerics
};

static const struct example examples[] = {
    {"matmul and add of float16",
     "inputs { x: f16[1, 1]; } consts { b: f16[1, 1] @scalar(300); c: f16[1] @scalar(-60000); }"
     "nodes { t = matmul(x, b); y = add(t, c); } outputs { y }",
     {300, 300, 300, 300},
     INFINITY,
     {INFINITY, 30000}},
    {"matmul and sub of float16, below zero",
     "inputs { x: f16[2, 8]; } consts { b: f16[8, 16] @scalar(-100); c: f16[16] @scalar(-60000); }"
     "nodes { t = matmul(x, b); y = sub(t, c); } outputs { y }",
     {100, 100, 100, 100},
     -INFINITY,
     {-INFINITY, -20000}},
    {"rows added to products of a batch of float16",
     "inputs { x: f16[3, 2, 1]; c: f16[2]; } consts { b: f16[1, 2] @scalar(300); n: f16[] @scalar(-200); }"
     "nodes { t = matmul(x, b); u = mul(c, n); y = add(t, u); } outputs { y }",
     {300, 300, 300, 300},
     INFINITY,
     {INFINITY, 30000}},
    {"gemm and add of float16",
     "inputs { x: f16[1, 1]; } consts { b: f16[1, 1] @scalar(300); c: f16[1] @scalar(-60000); }"
     "nodes { t = gemm(x, b); y = add(t, c); } outputs { y }",
     {300, 300, 300, 300},
     INFINITY,
     {INFINITY, 30000}},
    {"conv2d and batchNormalization of float16",
     "inputs { x: f16[1, 1, 2, 2]; } consts { w: f16[1, 1, 1, 1] @scalar(300); mean: f16[1] @scalar(60000);"
     "variance: f16[1] @scalar(1); }"
     "nodes { t = conv2d(x, w); y = batchNormalization(t, mean, variance, epsilon=0); } outputs { y }",
     {300, 300, 300, 300},
     INFINITY,
     {INFINITY, 30000}},
    {"conv2d and an addend of float16",
     "inputs { x: f16[1, 4, 4, 16]; r: f16[1, 4, 4, 16]; } consts { w: f16[16, 1, 1, 16] @scalar(-1.0625); }"
     "nodes { t = conv2d(x, w, inputLayout=\"nhwc\", filterLayout=\"ohwi\"); y = add(t, r); } outputs { y }",
     {4000, 4000, 4000, 4000},
     -INFINITY,
     {-INFINITY, -64000}},
    {"conv2d of many terms, and an addend that comes between them",
     "inputs { x: f32[1, 2, 2, 4096]; r: f32[1, 2, 2, 16]; }"
     "consts { w: f32[16, 1, 1, 4096] @scalar(-0.004150390625); }" // 17 / 4096
     "nodes { t = conv2d(x, w, inputLayout=\"nhwc\", filterLayout=\"ohwi\"); y = add(t, r); } outputs { y }",
     {2.1e37f, 2.1e37f, 2.1e37f, 2.1e37f},
     -INFINITY,
     {-INFINITY, -16 * 2.1e37}},
    {"mul and sub of float16",
     "inputs { x: f16[40]; } consts { c: f16[] @scalar(60000); }"
     "nodes { t = mul(x, x); y = sub(t, c); } outputs { y }",
     {300, 300, 300, 300},
     INFINITY,
     {INFINITY, 30000}},
    {"mul and add of float32 are not contracted",
     "inputs { x: f32[40]; } consts { c: f32[] @scalar(-1.000244140625); }"
     "nodes { t = mul(x, x); y = add(t, c); } outputs { y }", // of (1 + 2^-13)^2 the last bit is rounded off
     {1.0001220703125f, 1.0001220703125f, 1.0001220703125f, 1.0001220703125f},
     0,
     {0, 0x1p-26}},
    {"the activation of a product of float16 sees it rounded",
     "inputs { x: f16[2, 1]; } consts { b: f16[1, 3] @scalar(300); }"
     "nodes { t = matmul(x, b); y = linear(t, alpha=0.5, beta=0); } outputs { y }",
     {300, 300, 300, 300},
     INFINITY,
     {INFINITY, 45000}},
    {"gelu spelled out, at -infinity",
     "inputs { x: f32[8]; } consts { h: f32[] @scalar(0.5); r: f32[] @scalar(1.4142135); o: f32[] "
     "@scalar(1); }"
     "nodes { a = div(x, r); b = erf(a); c = add(b, o); d = mul(x, h); y = mul(d, c); } outputs { y }",
     {-INFINITY, 1, -INFINITY, NAN},
     NAN,
     {NAN, 0}},
    {"hardSwish spelled out, at -infinity",
     "inputs { x: f32[8]; } nodes { a = hardSigmoid(x, alpha=0.16666667, beta=0.5); y = mul(x, a); }"
     "outputs { y }",
     {-INFINITY, 1, -INFINITY, NAN},
     NAN,
     {NAN, 0}},
    {"layerNormalization spelled out, of numbers whose squares overflow",
     "inputs { x: f32[2, 4]; } consts { e: f32[] @scalar(0.00001); two: f32[] @scalar(2); }"
     "nodes { m = reduceMean(x, axes=[1], keepDimensions=true); d = sub(x, m); s = pow(d, two);"
     "v = reduceMean(s, axes=[1], keepDimensions=true); a = add(v, e); r = sqrt(a); y = div(d, r); }"
     "outputs { y }",
     {1e30f, -1e30f, 1e30f, -1e30f},
     0,
     {0, 1}},
    {"softmax spelled out, of infinities",
     "inputs { x: f32[2, 4]; }"
     "nodes { m = reduceMax(x, axes=[1], keepDimensions=true); d = sub(x, m); e = exp(d);"
     "s = reduceSum(e, axes=[1], keepDimensions=true); y = div(e, s); } outputs { y }",
     {INFINITY, 1, 2, 3},
     NAN,
     {NAN, NAN}},
    {"batchNormalization behind a filter that would vanish",
     "inputs { x: f32[1, 2, 2, 2]; } consts { w: f32[1, 2, 1, 1] @bytes([8, 229, 60, 30, 0, 0, 128, 63]);"
     "mean: f32[1] @scalar(0); variance: f32[1] @scalar(1); s: f32[1] @scalar(1e-30); }"
     "nodes { t = conv2d(x, w); y = batchNormalization(t, mean, variance, scale=s); } outputs { y }",
     {INFINITY, INFINITY, INFINITY, INFINITY},
     INFINITY,
     {INFINITY, NAN}},
    {"a product of float32 that overflows before something is taken away",
     "inputs { x: f32[2, 2]; c: f32[2, 2]; } consts { b: f32[2, 2] @scalar(1); }"
     "nodes { t = matmul(x, b); y = sub(t, c); } outputs { y }",
     {2e38f, 2e38f, 2e38f, 2e38f},
     INFINITY,
     {INFINITY, 2e38f}},
    {"a pad before a filter with an infinity",
     "inputs { x: f32[1, 1, 2, 2]; } consts { w: f32[1, 1, 2, 2] @bytes([0, 0, 128, 127, 0, 0, 128, 63,"
     "0, 0, 128, 63, 0, 0, 128, 63]); }"
     "nodes { p = pad(x, beginningPadding=[0, 0, 1, 1], endingPadding=[0, 0, 0, 0]); y = conv2d(p, w); }"
     "outputs { y }",
     {1, 2, 3, 4},
     NAN,
     {NAN, 1}},
    {"attention of float16 whose scores overflow",
     "inputs { q: f16[1, 8, 4]; k: f16[1, 4, 8]; v: f16[1, 8, 4]; } consts { s: f16[] @scalar(0.0001); }"
     "nodes { t = matmul(q, k); u = mul(t, s); p = softmax(u, axis=2); y = matmul(p, v); } outputs { y }",
     {200, 200, 200, 200},
     NAN,
     {NAN, 200}},
    {"layerNormalization along no axes, of an infinity",
     "inputs { x: f32[2, 2]; } nodes { y = layerNormalization(x, axes=[]); } outputs { y }",
     {INFINITY, 1, 2, 3},
     NAN,
     {NAN, NAN}},
    {"gruCell with an infinite state",
     "inputs { h: f32[1, 1]; } consts { x: f32[1, 1] @scalar(1); w: f32[3, 1] @scalar(1);"
     "r: f32[3, 1] @scalar(1); }"
     "nodes { y = gruCell(x, w, r, h, hiddenSize=1, resetAfter=false, activations=[sigmoid, tanh]); }"
     "outputs { y }",
     {INFINITY, INFINITY, INFINITY, INFINITY},
     INFINITY,
     {INFINITY, INFINITY}},
    {"quantized operands, rounded at each step",
     "inputs { x: f16[2, 4]; } consts { s: f16[1, 1] @scalar(16); z: i8[1, 1] @scalar(0);"
     "w: i8[4, 5] @scalar(127); r: f16[1, 1] @scalar(200); o: f16[1, 1] @scalar(255); n: f16[] "
     "@scalar(-60000); }"
     "nodes { i = quantizeLinear(x, s, z); a = dequantizeLinear(i, s, z); b = dequantizeLinear(w, s, z);"
     "t = matmul(a, b); y = add(t, n); } outputs { y }",
     {16, 16, 16, 16},
     INFINITY,
     {INFINITY, 70048}},
};

// The elements of `numbers`, again and again.
static void repeat(const struct descriptor *type, void *data, const void *numbers)
{
    for (size_t i = 0; i < wnn_shape_elements(&type->shape); i++)
        wnn_number_store(wnnNumberFloat64(((const float *)numbers)[i % 4]), type->type, data, i);
}

// Element 0 of the output, all of whose bytes go to `bytes`. Returns how many those are.
static size_t compute(WNNContext context, const struct example *example, uint32_t skip, double *first,
                      unsigned char bytes[MAX_PORT_BYTES])
{
    struct model model;
    wnn_context_set_compile_options(context, skip, true, NULL, NULL);
    WNNGraph graph = build_blocks(context, example->name, example->graph, &model);
    const struct graph *planned = &wnn_graph_plan(graph)->graph;
    REQUIRE_EQUAL_INT(planned->output_count, 1);
    compute_ports(context, graph, repeat, example->x, (unsigned char(*)[MAX_PORT_BYTES])bytes);
    const struct descriptor *type = &planned->outputs[0].operand->type;
    size_t count = wnn_descriptor_bytes(type);
    *first = wnn_number_double(wnn_number_load(type->type, bytes, 0));
    wnnGraphRelease(graph);
    model_end(&model);
    return count;
}

static bool near(double got, double expected)
{
    return (isnan(got) && isnan(expected)) || got == expected ||
           fabs(got - expected) <= 2e-3 * fmax(1e-8, fabs(expected));
}

static bool check(WNNContext strict, WNNContext loose, const struct example *example)
{
    static _Alignas(64) unsigned char bytes[2][MAX_PORT_BYTES];
    double fused, apart, free;
    size_t count = compute(strict, example, 0, &fused, bytes[0]);
    compute(strict, example, ~0u, &apart, bytes[1]);
    bool same = memcmp(bytes[0], bytes[1], count) == 0 || (isnan(fused) && isnan(apart));
    compute(loose, example, 0, &free, bytes[0]);
    bool good = same && near(fused, example->strict) && near(apart, example->strict) &&
                (near(free, example->loose[0]) || near(free, example->loose[1]));
    if (!good)
        fprintf(stderr,
                "%s: strict %g, strict without passes %g, expected %g; else %g, expected %g or %g%s\n",
                example->name, fused, apart, example->strict, free, example->loose[0], example->loose[1],
                same ? "" : "; not the same bits");
    return good;
}

int main(int argc, char **argv)
{
    const struct backend *backend = argc > 1 ? wnn_backend_find(argv[1]) : NULL;
    REQUIRE(backend);
    cases_begin(argc - 1, argv + 1);
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext strict, loose;
    WNNStatus status = wnn_create_context_on(backend, &descriptor, &loose);
    if (status == WNNStatus_NotSupportedError)
        return cases_skip("there is no device");
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    descriptor.strictNumerics = true;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, &descriptor, &strict), WNNStatus_Success);
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++)
        CASE_AS(examples[i].name, REQUIRE(check(strict, loose, &examples[i])));
    wnnContextRelease(strict);
    wnnContextRelease(loose);
    return cases_end();
}
