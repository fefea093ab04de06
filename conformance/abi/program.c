// SPDX-License-Identifier: Apache-2.0
//
// A program of an earlier version: compiled with the headers that conformance/abi keeps of it, run with
// today's library. Every struct that the caller allocates and the library fills in is followed by bytes that
// nothing may touch.

#include <webnn/ops.h>
#include <webnn/reflection.h>
#include <webnn/webnn.h>

#include <stdio.h>
#include <string.h>

static int failures;

static void require(bool holds, const char *what)
{
    if (!holds) {
        printf("failed: %s\n", what);
        failures++;
    }
}

static bool is_untouched(const unsigned char *guard, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (guard[i] != 0xA5)
            return false;
    return true;
}

// `call` fills in `what`, a struct of the type or an array of them, which INIT begins.
#define GUARDED(type, INIT, count, call)                                                                     \
    do {                                                                                                     \
        struct {                                                                                             \
            type what[count];                                                                                \
            unsigned char guard[256];                                                                        \
        } room;                                                                                              \
        type *what = room.what;                                                                              \
        for (int i_ = 0; i_ < (count); i_++)                                                                 \
            what[i_] = (type)INIT;                                                                           \
        memset(room.guard, 0xA5, sizeof room.guard);                                                         \
        require((call) == WNNStatus_Success, #call);                                                         \
        require(is_untouched(room.guard, sizeof room.guard), "bytes behind a " #type);                       \
    } while (0)

static WNNStringView view(const char *text)
{
    return (WNNStringView){text, WNN_STRLEN};
}

// relu(a + b), with the generic call for the last operator.
static WNNGraph build(WNNContext context)
{
    WNNGraphBuilder builder = NULL;
    require(wnnContextCreateGraphBuilder(context, &builder) == WNNStatus_Success, "builder");
    const uint32_t dims[] = {2, 2};
    const WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, {dims, 2}};
    WNNOperand a = wnnGraphBuilderInput(builder, view("a"), &descriptor);
    WNNOperand b = wnnGraphBuilderInput(builder, view("b"), &descriptor);
    WNNOperand sum = wnnGraphBuilderAdd(builder, a, b, NULL);
    WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
    options.label = view("last");
    const WNNNamedOperand output = {view("y"), wnnGraphBuilderRelu(builder, sum, &options)};
    WNNGraph graph = NULL;
    char message[256] = "";
    require(wnnGraphBuilderBuildSync(builder, 1, &output, &graph, sizeof message, message) ==
                WNNStatus_Success,
            "build");
    wnnGraphBuilderRelease(builder);
    return graph;
}

static void compute(WNNContext context, WNNGraph graph)
{
    float x[] = {1, 2, 3, 4}, z[] = {1, -3, 1, -5}, y[4] = {0};
    const WNNNamedBuffer inputs[] = {{view("a"), x, sizeof x, WNNDataType_Float32},
                                     {view("b"), z, sizeof z, WNNDataType_Float32}};
    const WNNNamedBuffer outputs[] = {{view("y"), y, sizeof y, WNNDataType_Float32}};
    WNNComputeDescriptor call = WNN_COMPUTE_DESCRIPTOR_INIT;
    call.graph = graph;
    call.inputCount = 2;
    call.inputs = inputs;
    call.outputCount = 1;
    call.outputs = outputs;
    char message[256] = "";
    require(wnnContextComputeSync(context, &call, sizeof message, message) == WNNStatus_Success, "compute");
    require(y[0] == 2 && y[1] == 0 && y[2] == 4 && y[3] == 0, "results");
}

int main(void)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context = NULL;
    size_t count = 0;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        return 1;
    WNNGraph graph = build(context);
    if (!graph)
        return 1;
    wnnGraphSetProfiling(graph, true);
    compute(context, graph);
    GUARDED(WNNGraphProfile, WNN_GRAPH_PROFILE_INIT, 1, wnnGraphGetProfile(graph, what, 0, NULL, &count));
    GUARDED(WNNNodeProfile, WNN_NODE_PROFILE_INIT, 2, wnnGraphGetProfile(graph, NULL, 2, what, &count));
    GUARDED(WNNGraphInfo, WNN_GRAPH_INFO_INIT, 1, wnnGraphGetInfo(graph, what));
    GUARDED(WNNNodeInfo, WNN_NODE_INFO_INIT, 2, wnnGraphGetNodes(graph, 2, what, &count));
    require(count >= 1, "nodes");
    GUARDED(WNNDeviceInfo, WNN_DEVICE_INFO_INIT, 1, wnnContextGetDeviceInfo(context, what));
    GUARDED(WNNDeviceInfo, WNN_DEVICE_INFO_INIT, 2, wnnEnumerateDevices(2, what, &count));
    GUARDED(WNNLimits, WNN_LIMITS_INIT, 1, wnnContextGetLimits(context, what));
    GUARDED(WNNContextCounters, WNN_CONTEXT_COUNTERS_INIT, 1, wnnContextGetCounters(context, what));
    GUARDED(WNNOpSupportLimits, WNN_OP_SUPPORT_LIMITS_INIT, 1, wnnContextGetOpSupportLimits(context, what));
    require(wnnGraphGetInputs(graph, &count) && count == 2, "inputs");
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    printf("with webnn %s: %d failures\n", wnnGetVersionText().data, failures);
    return failures != 0;
}
