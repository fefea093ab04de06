// SPDX-License-Identifier: Apache-2.0
//
// A program that only has what is installed: a model becomes a graph, with an operator of the program's
// behind it.

#include <stdio.h>
#include <string.h>
#include <webnn/model.h>
#include <webnn/ops.h>

static const char text[] = "webnn_graph \"twice\" v1 {\n"
                           "  inputs { x: f32[2]; }\n"
                           "  consts { two: f32[] @scalar(2); }\n"
                           "  nodes { y = mul(x, two); }\n"
                           "  outputs { y; }\n"
                           "}\n";

int main(void)
{
    char message[1024];
    WNNContext context = NULL;
    WNNGraphBuilder builder = NULL;
    WNNGraph graph = NULL;
    WNNModel model = NULL;
    WNNNamedOperand y;
    float x[2] = {1, -2}, result[2] = {0, 0};
    WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
    file.path = (WNNStringView){"twice.webnn", WNN_STRLEN};
    file.data = text;
    file.byteLength = strlen(text);
    WNNContextDescriptor cpu = WNN_CONTEXT_DESCRIPTOR_INIT;
    if (wnnCreateContext(&cpu, &context) || wnnContextCreateGraphBuilder(context, &builder) ||
        wnnModelOpen(&file, &model, sizeof message, message) ||
        wnnModelRecord(model, builder, NULL, 1, &y, NULL, sizeof message, message)) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    WNNNamedOperand output = {{"positive", WNN_STRLEN}, wnnGraphBuilderRelu(builder, y.operand, NULL)};
    if (wnnGraphBuilderBuildSync(builder, 1, &output, &graph, sizeof message, message)) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    wnnModelRelease(model);
    wnnGraphBuilderRelease(builder);
    WNNNamedBuffer in = {{"x", WNN_STRLEN}, x, sizeof x, WNNDataType_Float32};
    WNNNamedBuffer out = {{"positive", WNN_STRLEN}, result, sizeof result, WNNDataType_Float32};
    WNNComputeDescriptor compute = WNN_COMPUTE_DESCRIPTOR_INIT;
    compute.graph = graph;
    compute.inputCount = compute.outputCount = 1;
    compute.inputs = &in;
    compute.outputs = &out;
    WNNStatus status = wnnContextComputeSync(context, &compute, sizeof message, message);
    if (status)
        fprintf(stderr, "%s\n", message);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    return status || result[0] != 2 || result[1] != 0;
}
