// SPDX-License-Identifier: Apache-2.0
//
// Operators of single elements that the Vulkan backend computes along with others, on the way in or out, must
// give the same bits as dispatches of their own. Skipped where Vulkan has no device.

#include "conformance/backends.h"
#include "compiler/compile.h"
#include "conformance/unit/differential_fixture.h"
#include "tools/load.h"

#include <math.h>
#include <unistd.h>

// F stands for a float type. `attached`: how many nodes have something attached.
static const struct {
    const char *name;
    unsigned attached;
    const char *blocks;
    bool tiled;   // on matrix units, too, and with little of everything
    bool weights; // one less of float16
} cases[] = {
    {"convolution by tiles", 1,
     "inputs { x: F[1, 9, 7, 16]; r: F[1, 9, 7, 24]; s: F[24]; }\n"
     "consts { w: F[24, 3, 3, 16] @scalar(0.03125); b: F[24] @scalar(0.5); }\n"
     "nodes { c = conv2d(x, w, bias=b, padding=[1, 1, 1, 1], inputLayout=\"nhwc\", filterLayout=\"ohwi\");\n"
     "g = sigmoid(c); m = mul(c, g); a = add(m, r); y = mul(a, s); }\n"
     "outputs { y; }\n",
     true},
    {"convolution of channels, with an activation first", 1,
     "inputs { x: F[1, 7, 19, 12]; r: F[1, 7, 1, 1]; w: F[1, 3, 3, 12]; }\n"
     "nodes { c = conv2d(x, w, groups=12, padding=[1, 1, 1, 1], inputLayout=\"nhwc\", "
     "filterLayout=\"ihwo\");\n"
     "l = clamp(c, minValue=-1, maxValue=1); y = sub(r, l); z = mul(y, l); }\n"
     "outputs { z; }\n",
     true},
    {"convolution by elements", 1,
     "inputs { x: F[1, 3, 5, 5]; w: F[2, 3, 2, 2]; r: F[2, 1, 1]; }\n"
     "nodes { c = conv2d(x, w); h = hardSwish(c); y = max(h, r); }\n"
     "outputs { y; }\n"},
    {"transposed convolution", 1,
     "inputs { x: F[1, 5, 5, 8]; w: F[8, 3, 3, 8]; r: F[1, 11, 11, 8]; }\n"
     "nodes { c = convTranspose2d(x, w, strides=[2, 2], inputLayout=\"nhwc\", filterLayout=\"ohwi\");\n"
     "t = tanh(c); y = div(t, r); }\n"
     "outputs { y; }\n"},
    {"matrices, odd rows, and a choice", 1,
     "inputs { x: F[2, 11, 24]; w: F[2, 24, 21]; row: F[21]; column: F[2, 11, 1]; }\n"
     "nodes { p = matmul(x, w); q = mul(p, row); big = greater(q, column); n = neg(p);\n"
     "y = where(big, q, n); }\n"
     "outputs { y; }\n",
     true},
    {"matrices of many tiles", 1,
     "inputs { x: F[130, 96]; w: F[96, 72]; r: F[130, 72]; }\n"
     "nodes { p = matmul(x, w); g = sigmoid(p); m = mul(p, g); y = mul(m, r); }\n"
     "outputs { y; }\n",
     true},
    {"gemm with long sums", 1,
     "inputs { x: F[20, 1024]; w: F[24, 1024]; c: F[24]; r: F[20, 1]; }\n"
     "nodes { p = gemm(x, w, c=c, alpha=0.0625, bTranspose=true); e = erf(p); y = mul(e, r); }\n"
     "outputs { y; }\n",
     true},
    {"a few rows", 1,
     "inputs { x: F[3, 256]; w: F[256, 80]; r: F[3, 80]; }\n"
     "nodes { p = matmul(x, w); a = abs(p); s = sqrt(a); y = add(s, r); }\n"
     "outputs { y; }\n"},
    {"two products, of which the later adds", 1,
     "inputs { x: F[33, 40]; u: F[40, 36]; v: F[40, 36]; }\n"
     "nodes { p = matmul(x, u); q = matmul(x, v); a = mul(p, q); y = sub(q, a); }\n"
     "outputs { y; }\n"},
    {"behind a reshape", 1,
     "inputs { x: F[2, 8, 24]; w: F[24, 20]; b: F[20]; r: F[2, 8, 20]; s: F[2, 1, 20]; }\n"
     "nodes { p = matmul(x, w); q = add(p, b); g = sigmoid(q); m = mul(q, g); k = mul(m, s); y = sub(r, k); "
     "}\n"
     "outputs { y; }\n"},
    {"behind a reduction and before it", 1,
     "inputs { x: F[9, 70]; r: F[9, 1]; k: F[70]; }\n"
     "nodes { q = mul(x, x); o = add(q, k); n = reduceMean(o, axes=[1], keepDimensions=true);\n"
     "a = add(n, r); y = exp(a); }\n"
     "outputs { y; }\n"},
    {"integers", 1,
     "inputs { x: F[5, 40]; k: i32[40]; m: i32[5]; }\n"
     "nodes { i = cast(x, to=int32); j = mul(i, k); n = reduceMax(j, axes=[1]); y = add(n, m); }\n"
     "outputs { y; }\n"},
    {"bytes", 1,
     "inputs { x: F[3, 50]; k: u8[50]; }\n"
     "nodes { i = cast(x, to=uint8); e = equal(i, k); d = cast(e, to=int32); y = argMax(d, axis=1); }\n"
     "outputs { y; }\n"},
    {"sums of columns", 1,
     "inputs { x: F[100, 40]; k: F[100, 1]; }\n"
     "nodes { m = mul(x, k); a = abs(m); y = reduceSum(a, axes=[0]); }\n"
     "outputs { y; }\n"},
    {"a long sum", 1,
     "inputs { x: f16[40000]; }\n"
     "nodes { f = cast(x, to=float32); m = mul(f, f); n = reduceSum(m, axes=[0]); y = sqrt(n); }\n"
     "outputs { y; }\n"},
    {"softmax of even rows", 1,
     "inputs { x: F[6, 64]; k: F[6, 1]; r: F[6, 64]; }\n"
     "nodes { m = mul(x, k); s = softmax(m, axis=1); y = sub(s, r); }\n"
     "outputs { y; }\n"},
    {"softmax of odd rows of other types", 1,
     "inputs { x: i8[6, 63]; k: F[63]; }\n"
     "nodes { f = cast(x, to=T); m = mul(f, k); s = softmax(m, axis=1); y = add(s, k); }\n"
     "outputs { y; }\n",
     true},
    {"softmax of columns", 1,
     "inputs { x: F[40, 20]; k: F[20]; }\n"
     "nodes { m = add(x, k); s = softmax(m, axis=0); y = mul(s, k); }\n"
     "outputs { y; }\n"},
    {"layerNormalization of a sum", 1,
     "inputs { x: F[5, 48]; r: F[5, 48]; k: F[48]; }\n"
     "nodes { a = add(x, r); n = layerNormalization(a, scale=k, bias=k, axes=[1]); g = gelu(n); y = mul(g, "
     "n); }\n"
     "outputs { y; }\n"},
    {"instanceNormalization", 1,
     "inputs { x: F[2, 5, 7, 6]; r: F[6]; }\n"
     "nodes { h = hardSwish(x); n = instanceNormalization(h, layout=\"nhwc\"); y = mul(n, r); }\n"
     "outputs { y; }\n"},
    {"pools", 2,
     "inputs { x: F[1, 8, 8, 6]; k: F[1, 8, 8, 1]; r: F[6]; }\n"
     "nodes { h = mul(x, k); m = maxPool2d(h, windowDimensions=[2, 2], strides=[2, 2], layout=\"nhwc\");\n"
     "a = add(m, r); p = averagePool2d(a, windowDimensions=[4, 4], layout=\"nhwc\"); y = sub(r, p); }\n"
     "outputs { y; }\n"},
    {"resampling", 1,
     "inputs { x: F[1, 2, 3, 5]; r: F[1, 2, 6, 10]; }\n"
     "nodes { n = resample2d(x, sizes=[6, 10]); y = mul(n, r); z = add(y, n); }\n"
     "outputs { z; }\n"},
    {"batchNormalization", 1,
     "inputs { x: F[2, 5, 4]; m: F[5]; v: F[5]; r: F[2, 5, 1]; }\n"
     "nodes { w = abs(v); n = batchNormalization(x, m, w); e = exp(r); y = mul(n, e); }\n"
     "outputs { y; }\n"},
    {"gather of sums and into a sum", 1,
     "inputs { x: F[9, 7]; i: i32[5]; r: F[7]; s: F[5, 7]; }\n"
     "nodes { a = add(x, r); g = gather(a, i); h = mul(g, s); y = add(h, g); }\n"
     "outputs { y; }\n"},
    {"gather of numbers of four bits", 1,
     "inputs { i: i32[3]; r: F[3, 64]; s: F[300, 2]; }\n"
     "consts { x: u4[300, 64] @scalar(11); z: u4[300, 2] @scalar(3); }\n"
     "nodes { d = dequantizeLinear(x, s, z); g = gather(d, i); y = add(g, r); }\n"
     "outputs { y; }\n",
     true},
    {"gatherElements, gatherND", 2,
     "inputs { x: F[9, 7]; i: i32[3, 7]; j: i32[8, 2]; r: F[7]; s: F[8]; }\n"
     "nodes { a = mul(x, r); g = gatherElements(a, i); b = neg(x); h = gatherND(b, j); y = sub(g, r);\n"
     "z = max(h, s); }\n"
     "outputs { y; z; }\n"},
    {"a row times bytes", 1,
     "inputs { x: F[1, 256]; w: i8[256, 80]; s: F[256, 1]; z: i8[256, 1]; }\n"
     "nodes { d = dequantizeLinear(w, s, z); y = matmul(x, d); }\n"
     "outputs { y; }\n",
     false, true},
    {"rows times numbers of four bits, in blocks", 1,
     "inputs { x: F[2, 320]; s: F[64, 10]; z: i4[64, 10]; r: F[64]; }\n"
     "consts { w: i4[64, 320] @scalar(-5); }\n"
     "nodes { d = dequantizeLinear(w, s, z); p = gemm(x, d, bTranspose=true); y = add(p, r); }\n"
     "outputs { y; }\n",
     false, true},
    {"a tile of rows times bytes, in blocks", 1,
     "inputs { x: F[9, 256]; w: u8[256, 84]; s: F[8, 84]; z: u8[8, 84]; }\n"
     "nodes { d = dequantizeLinear(w, s, z); p = matmul(x, d); y = tanh(p); z2 = mul(y, p); }\n"
     "outputs { z2; }\n"},
    {"few of few", 1,
     "inputs { x: F[2, 5]; w: F[5, 3]; r: F[5, 1]; }\n"
     "nodes { d = mul(w, r); y = matmul(x, d); }\n"
     "outputs { y; }\n",
     false, true},
    {"what others need too", 0,
     "inputs { x: F[8, 24]; w: F[24, 20]; r: F[8, 20]; }\n"
     "nodes { p = matmul(x, w); y = add(p, r); z = softmax(y, axis=1); }\n"
     "outputs { p; y; z; }\n"},
    {"what is read many times", 0,
     "inputs { x: F[80, 24]; w: F[24, 20]; r: F[20]; i: i32[2000]; }\n"
     "nodes { m = mul(w, r); p = matmul(x, m); a = abs(x); g = gather(a, i); }\n"
     "outputs { p; g; }\n"},
};

enum {
    MAX_PORTS = 6,
    PORT_BYTES = 1 << 18
};

static const struct backend *backends[3];

// The blocks with the float type's names in place of "F[" and "to=T".
static void write_file(const char *blocks, bool half, char path[64])
{
    strcpy(path, "/tmp/wnn_attach_test_XXXXXX");
    int descriptor = mkstemp(path);
    REQUIRE(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    REQUIRE(file);
    fprintf(file, "webnn_graph \"test\" v1 {\n");
    for (const char *at = blocks; *at; at++) {
        if (strncmp(at, "F[", 2) == 0)
            fprintf(file, half ? "f16" : "f32");
        else if (strncmp(at, "=T", 2) == 0 && at++)
            fprintf(file, half ? "=float16" : "=float32");
        else
            putc(*at, file);
    }
    fprintf(file, "}\n");
    REQUIRE(fclose(file) == 0);
}

static void fill(const struct descriptor *type, void *data)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < wnn_shape_elements(&type->shape); i++) {
        state = state * 1664525u + 1013904223u;
        WNNNumber number = wnnNumberFloat64(((double)(state >> 8) / (1 << 24) - 0.5) * 8);
        wnn_number_store(wnn_number_convert(number, type->type), type->type, data, i);
    }
}

// Whether more than an activation is fused with a node.
static bool has_chain(const struct node *node)
{
    const struct expression *fused = node->fused;
    return fused && (fused->next || fused->at != WNN_AT_OUTPUT || fused->count > 1 ||
                     fused->operand_count > 0 || !wnn_op_is_activation((enum op)fused->steps[0].op));
}

// The bytes of all outputs, at PORT_BYTES each; returns how many nodes have something attached.
static unsigned compute(WNNContext context, const char *path, uint32_t skip, struct descriptor *types,
                        size_t *count, unsigned char *results)
{
    static _Alignas(64) unsigned char memory[MAX_PORTS][PORT_BYTES];
    struct model model;
    struct error error = {0};
    wnn_context_set_compile_options(context, skip, true, NULL, NULL);
    REQUIRE(model_begin(&model, context, &error));
    bool read = model_load(&model, path, NULL, &error);
    REQUIRE_EQUAL_STR(error.message, "");
    REQUIRE(read);
    WNNGraph graph = build_outputs(context, model.builder, model.output_count, model.outputs);
    const struct graph *planned = &wnn_graph_plan(graph)->graph;
    WNNNamedBuffer inputs[MAX_PORTS], outputs[MAX_PORTS];
    REQUIRE(planned->input_count <= MAX_PORTS && planned->output_count <= MAX_PORTS);
    for (size_t i = 0; i < planned->input_count; i++) {
        const struct graph_port *port = &planned->inputs[i];
        size_t bytes = wnn_descriptor_bytes(&port->operand->type);
        REQUIRE(bytes <= PORT_BYTES);
        fill(&port->operand->type, memory[i]);
        inputs[i] = (WNNNamedBuffer){wnn_string_view(port->name), memory[i], bytes, port->operand->type.type};
    }
    for (size_t i = 0; i < planned->output_count; i++) {
        const struct graph_port *port = &planned->outputs[i];
        types[i] = port->operand->type;
        outputs[i] = (WNNNamedBuffer){wnn_string_view(port->name), results + i * PORT_BYTES,
                                      wnn_descriptor_bytes(&types[i]), types[i].type};
        REQUIRE(outputs[i].byteLength <= PORT_BYTES);
    }
    *count = planned->output_count;
    compute_buffers(context, graph, planned->input_count, inputs, planned->output_count, outputs);
    unsigned attached = 0;
    for (size_t i = 0; i < planned->node_count; i++)
        attached += has_chain(planned->nodes[i]);
    wnnGraphRelease(graph);
    model_end(&model);
    return attached;
}

// Where drivers are not known, one may join a product and a sum of float32 to one rounding.
static bool same(const struct descriptor *type, const void *a, const void *b, size_t i)
{
    static WNNDeviceInfo device;
    if (device.kind == 0)
        REQUIRE(count_devices(1, &device) > 0);
    double x = wnn_number_double(wnn_number_load(type->type, a, i)),
           y = wnn_number_double(wnn_number_load(type->type, b, i));
    if (x == y || (isnan(x) && isnan(y)))
        return true;
    return device.kind != WNNDeviceKind_Processor && type->type == WNNDataType_Float32 &&
           fabs(x - y) <= 1e-6 * (1 + fabs(y));
}

static void test_case(WNNContext context, const struct backend *backend, unsigned k, bool half)
{
    static unsigned char fused[MAX_PORTS * PORT_BYTES], plain[MAX_PORTS * PORT_BYTES];
    struct descriptor types[MAX_PORTS];
    size_t count;
    char path[64];
    write_file(cases[k].blocks, half, path);
    unsigned attached = compute(context, path, 0, types, &count, fused);
    unsigned expected = half && cases[k].weights ? cases[k].attached - 1 : cases[k].attached;
    if (attached != expected) {
        fprintf(stderr, "%s, %s: %u nodes have something attached; expected %u\n", backend->name,
                cases[k].name, attached, expected);
        case_fail();
    }
    REQUIRE_EQUAL_INT(compute(context, path, wnn_pass_bit("attach_chains"), types, &count, plain), 0);
    unlink(path);
    for (size_t i = 0; i < count; i++)
        for (size_t e = 0; e < wnn_shape_elements(&types[i].shape); e++)
            if (!same(&types[i], fused + i * PORT_BYTES, plain + i * PORT_BYTES, e)) {
                fprintf(stderr, "%s, %s of %s: element %zu of output %zu is %.9g; expected %.9g\n",
                        backend->name, cases[k].name, half ? "float16" : "float32", e, i,
                        wnn_number_double(wnn_number_load(types[i].type, fused + i * PORT_BYTES, e)),
                        wnn_number_double(wnn_number_load(types[i].type, plain + i * PORT_BYTES, e)));
                case_fail();
            }
}

int main(int argc, char **argv)
{
    backends[0] = &wnn_backend_vulkan;
    backends[1] = vulkan_minimal();
    backends[2] = vulkan_matrices();
    cases_begin(argc, argv);
    for (unsigned b = 0; b < sizeof backends / sizeof backends[0]; b++) {
        WNNContext context = create_on(backends[b]);
        if (!context)
            return cases_skip("there is no device");
        for (unsigned k = 0; k < sizeof cases / sizeof cases[0]; k++)
            for (int half = 0; half < 2 && (b == 0 || cases[k].tiled); half++)
                CASE_AS(
                    case_name("%s, %s on %s", cases[k].name, half ? "float16" : "float32", backends[b]->name),
                    test_case(context, backends[b], k, half));
        wnnContextRelease(context);
    }
    return cases_end();
}
