// SPDX-License-Identifier: Apache-2.0
//
// A program outside of this repository, as its users write them: it finds the library through pkg-config, and
// computes relu(a + b).

#include <webnn/ops.h>
#include <webnn/webnn.h>

#include <stdio.h>

static WNNGraph graph;
static WNNStatus outcome;

static void on_build(WNNStatus status, WNNGraph made, WNNStringView message, void *userdata1, void *userdata2)
{
    (void)userdata1, (void)userdata2;
    outcome = status;
    graph = made;
    if (status != WNNStatus_Success)
        fprintf(stderr, "build: %.*s\n", (int)message.length, message.data);
}

static void on_compute(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
    (void)userdata1, (void)userdata2;
    outcome = status;
    if (status != WNNStatus_Success)
        fprintf(stderr, "compute: %.*s\n", (int)message.length, message.data);
}

static void wait_for(WNNContext context, WNNFuture future)
{
    WNNFutureWaitInfo info = {future, false};
    wnnContextWaitAny(context, 1, &info, WNN_WAIT_FOREVER);
}

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
    WNNBuildCallbackInfo build = WNN_BUILD_CALLBACK_INFO_INIT;
    build.callback = on_build;
    wait_for(context, wnnGraphBuilderBuild(builder, 1, &output, build));
    wnnGraphBuilderRelease(builder);
    if (outcome != WNNStatus_Success)
        return 1;

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
    WNNRequestCallbackInfo info = WNN_REQUEST_CALLBACK_INFO_INIT;
    info.callback = on_compute;
    wait_for(context, wnnContextCompute(context, &compute, info));
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    printf("webnn %.*s: %g %g %g %g\n", (int)wnnGetVersion().length, wnnGetVersion().data, (double)result[0],
           (double)result[1], (double)result[2], (double)result[3]);
    return outcome != WNNStatus_Success || result[0] != 2 || result[1] != 0 || result[2] != 4 ||
           result[3] != 0;
}
