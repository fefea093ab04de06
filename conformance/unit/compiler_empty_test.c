// SPDX-License-Identifier: Apache-2.0
//
// Operands without elements: what is computed of nothing, and that they can be refused.

#include "conformance/unit/require.h"

#include <math.h>
#include <string.h>
#include <webnn/model.h>

#define MAX_OUTPUTS 32

static char message[4096];

static const char text[] =
    "webnn_graph \"empty\" v1 {\n"
    "  inputs { x: f32[2,0]; y: f32[0,3]; z: f32[2,3]; k: i32[0]; im: f32[1,0,4,4]; f: f32[2,0,3,3]; }\n"
    "  consts { b: f32[2] @bytes([0,0,128,63,0,0,0,64]); e: f32[0] @bytes([]); }\n"
    "  nodes {\n"
    "    product = matmul(x, y);\n"
    "    added = gemm(x, y, c=z, beta=2);\n"
    "    sum = reduceSum(x, axes=[1]);\n"
    "    products = reduceProduct(x, axes=[1]);\n"
    "    logarithm = reduceLogSum(x, axes=[1]);\n"
    "    joined = concat([x, z], 1);\n"
    "    padded = pad(x, [0, 1], [0, 1], value=7);\n"
    "    convolved = conv2d(im, f, bias=b);\n"
    "    [first, none, last] = split(z, [1, 0, 1]);\n"
    "    gathered = gather(z, k);\n"
    "    maximum = reduceMax(y, axes=[1]);\n"
    "    shares = softmax(x, axis=1);\n"
    "    powers = exp(e);\n"
    "  }\n"
    "  outputs { product; added; sum; products; logarithm; joined; padded; convolved; first; none; last; "
    "gathered;\n"
    "    maximum; shares; powers; }\n"
    "}\n";

static WNNContext make_context(bool refuse)
{
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.acceptEmptyTensors = !refuse;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.limits = &limits;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    return context;
}

static WNNModel open_text(const char *of)
{
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    descriptor.path.data = "e.webnn";
    descriptor.data = of;
    descriptor.byteLength = strlen(of);
    WNNModel model;
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_Success);
    return model;
}

// The status of recording, with what was wrong in `message`.
static WNNStatus record(WNNContext context, const char *of, WNNGraphBuilder *builder,
                        WNNNamedOperand *outputs, size_t *count)
{
    WNNModel model = open_text(of);
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, builder), WNNStatus_Success);
    WNNStatus status =
        wnnModelRecord(model, *builder, NULL, MAX_OUTPUTS, outputs, count, sizeof message, message);
    if (status == WNNStatus_Success) { // names live as long as the model
        static char names[MAX_OUTPUTS][32];
        for (size_t i = 0; i < *count; i++) {
            snprintf(names[i], sizeof names[i], "%.*s", (int)outputs[i].name.length, outputs[i].name.data);
            outputs[i].name = (WNNStringView){names[i], WNN_STRLEN};
        }
    }
    wnnModelRelease(model);
    return status;
}

static void compute_of_nothing(void)
{
    static const struct {
        const char *name;
        size_t count;
        float values[8];
    } expected[] = {{"product", 6, {0, 0, 0, 0, 0, 0}},
                    {"added", 6, {2, 4, 6, 8, 10, 12}},
                    {"sum", 2, {0, 0}},
                    {"products", 2, {1, 1}},
                    {"logarithm", 2, {-INFINITY, -INFINITY}},
                    {"joined", 6, {1, 2, 3, 4, 5, 6}},
                    {"padded", 4, {7, 7, 7, 7}},
                    {"convolved", 8, {1, 1, 1, 1, 2, 2, 2, 2}},
                    {"first", 3, {1, 2, 3}},
                    {"none", 0, {0}},
                    {"last", 3, {4, 5, 6}},
                    {"gathered", 0, {0}},
                    {"maximum", 0, {0}},
                    {"shares", 0, {0}},
                    {"powers", 0, {0}}};
    WNNContext context = make_context(false);
    WNNGraphBuilder builder;
    WNNNamedOperand outputs[MAX_OUTPUTS];
    size_t count;
    WNNStatus status = record(context, text, &builder, outputs, &count);
    REQUIRE_EQUAL_STR(status ? message : "", "");
    WNNGraph graph;
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(builder, count, outputs, &graph, sizeof message, message),
                      WNNStatus_Success);
    float z[6] = {1, 2, 3, 4, 5, 6}, results[MAX_OUTPUTS][8];
    const WNNNamedBuffer inputs[] = {{{"x", WNN_STRLEN}, NULL, 0, WNNDataType_Float32},
                                     {{"y", WNN_STRLEN}, NULL, 0, WNNDataType_Float32},
                                     {{"z", WNN_STRLEN}, z, sizeof z, WNNDataType_Float32},
                                     {{"k", WNN_STRLEN}, NULL, 0, WNNDataType_Int32},
                                     {{"im", WNN_STRLEN}, NULL, 0, WNNDataType_Float32},
                                     {{"f", WNN_STRLEN}, NULL, 0, WNNDataType_Float32}};
    WNNNamedBuffer buffers[MAX_OUTPUTS];
    REQUIRE_EQUAL_INT(count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < count; i++)
        buffers[i] = (WNNNamedBuffer){{expected[i].name, WNN_STRLEN},
                                      expected[i].count ? results[i] : NULL,
                                      expected[i].count * sizeof(float),
                                      WNNDataType_Float32};
    WNNComputeDescriptor compute = WNN_COMPUTE_DESCRIPTOR_INIT;
    compute.graph = graph;
    compute.inputCount = sizeof inputs / sizeof inputs[0];
    compute.inputs = inputs;
    compute.outputCount = count;
    compute.outputs = buffers;
    status = wnnContextComputeSync(context, &compute, sizeof message, message);
    REQUIRE_EQUAL_STR(status ? message : "", "");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < expected[i].count; k++)
            REQUIRE(results[i][k] == expected[i].values[k]);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(context);
}

static void refuse(bool all, const char *nodes, const char *says)
{
    char whole[512];
    snprintf(whole, sizeof whole,
             "webnn_graph \"e\" v1 { inputs { x: f32[2,%d]; s: f32[1,1]; im: f32[1,1,%d,4]; } nodes { %s } "
             "outputs { y } }",
             all ? 3 : 0, all ? 4 : 0, nodes);
    WNNContext context = make_context(all);
    WNNGraphBuilder builder;
    WNNNamedOperand outputs[MAX_OUTPUTS];
    size_t count;
    REQUIRE(record(context, whole, &builder, outputs, &count) != WNNStatus_Success);
    REQUIRE(strstr(message, says));
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(context);
}

// What no text defines, and, where the limit says so, dimensions of 0 at all.
static void refuse_the_rest(void)
{
    refuse(false, "y = reduceMax(x, axes=[1]);", "input [2, 0] has no elements");
    refuse(false, "y = reduceMean(x, axes=[1]);", "input [2, 0] has no elements");
    refuse(false, "y = argMax(x, 1);", "input [2, 0] has no elements");
    refuse(false, "y = maxPool2d(im);", "windowDimensions[0] is 0");
    refuse(false, "y = resample2d(im, sizes=[4, 4]);", "has no elements");
    refuse(false, "y = reshape(x, newShape=[1]);", "reshape");
    refuse(true, "y = slice(x, [0, 0], [2, 0]);", "sizes[1] is 0");
    refuse(true, "y = tile(x, [0, 1]);", "repetitions[0] is 0");
    refuse(true, "y = expand(s, newShape=[0, 1]);", "[0, 1]");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(compute_of_nothing());
    CASE(refuse_the_rest());
    return cases_end();
}
