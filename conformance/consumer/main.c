// SPDX-License-Identifier: Apache-2.0
//
// A program outside of this repository, as its users write them: it finds the library through pkg-config, and
// computes relu(a + b).

#include <webnn/ops.h>
#include <webnn/webnn.h>

#include <stdio.h>

int main(void)
{
    WNNContext context;
    WNNGraphBuilder builder;
    if (wnnCreateContext(NULL, &context) != WNNStatus_Success ||
        wnnContextCreateGraphBuilder(context, &builder) != WNNStatus_Success)
        return 1;
    const uint32_t dims[] = {2, 2};
    const WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, {dims, 2}};
    WNNOperand a = wnnGraphBuilderInput(builder, (WNNStringView){"a", WNN_STRLEN}, &descriptor);
    WNNOperand b = wnnGraphBuilderInput(builder, (WNNStringView){"b", WNN_STRLEN}, &descriptor);
    WNNOperand y = wnnGraphBuilderRelu(builder, wnnGraphBuilderAdd(builder, a, b, NULL), NULL);
    const WNNNamedOperand output = {{"y", WNN_STRLEN}, y};
    WNNGraph graph;
    char message[256];
    WNNStatus status = wnnGraphBuilderBuildSync(builder, 1, &output, &graph, sizeof message, message);
    wnnGraphBuilderRelease(builder);
    if (status != WNNStatus_Success) {
        fprintf(stderr, "build: %s\n", message);
        return 1;
    }

    float x[] = {1, 2, 3, 4}, z[] = {1, -3, 1, -5}, result[4] = {0};
    const WNNNamedBuffer inputs[] = {{{"a", WNN_STRLEN}, x, sizeof x, WNNDataType_Float32},
                                     {{"b", WNN_STRLEN}, z, sizeof z, WNNDataType_Float32}};
    const WNNNamedBuffer outputs[] = {{{"y", WNN_STRLEN}, result, sizeof result, WNNDataType_Float32}};
    WNNComputeDescriptor compute = WNN_COMPUTE_DESCRIPTOR_INIT;
    compute.graph = graph;
    compute.inputCount = 2;
    compute.inputs = inputs;
    compute.outputCount = 1;
    compute.outputs = outputs;
    status = wnnContextComputeSync(context, &compute, sizeof message, message);
    if (status != WNNStatus_Success)
        fprintf(stderr, "compute: %s\n", message);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    printf("webnn %s: %g %g %g %g\n", wnnGetVersionText().data, (double)result[0], (double)result[1],
           (double)result[2], (double)result[3]);
    return status != WNNStatus_Success || result[0] != 2 || result[1] != 0 || result[2] != 4 ||
           result[3] != 0;
}
