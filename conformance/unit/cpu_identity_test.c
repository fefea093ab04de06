// SPDX-License-Identifier: Apache-2.0
//
// What a context tells of its device, and a graph of what became of it, on the CPU.

#include "conformance/unit/runtime_fixture.h"

static WNNContext create(bool strict)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.strictNumerics = strict;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    return context;
}

static void test_processor(void)
{
    WNNContext context = create(false);
    WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
    memset(info.name, 'x', sizeof info.name);
    REQUIRE_EQUAL_INT(wnnContextGetDeviceInfo(context, &info), WNNStatus_Success);
    REQUIRE_EQUAL_INT(info.deviceType, WNNDeviceType_CPU);
    REQUIRE_EQUAL_INT(info.kind, WNNDeviceKind_Processor);
    REQUIRE_EQUAL_INT(info.index, WNN_DEVICE_INDEX_UNKNOWN);
    REQUIRE(info.isUsable && info.name[0] && strlen(info.name) < sizeof info.name);
    REQUIRE(info.processorCount >= 1);
    WNNStringView version = wnnGetVersionText();
    REQUIRE_EQUAL_STR(info.driverVersionText, version.data);
    REQUIRE_EQUAL_STR(info.driverName, "webnn");
    REQUIRE_CONTAINS(info.driverInfo, "XNNPACK");
#if defined(__x86_64__)
    REQUIRE(info.vendorName[0] && info.deviceId != 0);
    REQUIRE((strstr(info.instructionSets, "AVX2") != NULL) == (__builtin_cpu_supports("avx2") != 0));
    REQUIRE(info.name[0] != ' ' && info.name[strlen(info.name) - 1] != ' ');
#elif defined(__aarch64__)
    REQUIRE_EQUAL_STR(info.instructionSets, "NEON");
#endif
    // Of a lost context, too.
    WNNDeviceInfo again = WNN_DEVICE_INFO_INIT;
    wnnContextDestroy(context);
    wnnContextGetDeviceInfo(context, &again);
    REQUIRE_EQUAL_STR(again.name, info.name);
    REQUIRE_EQUAL_INT(wnnContextGetDeviceInfo(NULL, &again), WNNStatus_TypeError);
    wnnContextRelease(context);
}

enum {
    CHANNELS = 32,
    SIZE = 14
};

// y = relu(conv2d(x, filter) + bias) and a branch that becomes constant; labels to be told apart.
static WNNGraph build_layer(WNNContext context, bool constant_filter)
{
    static float filter[CHANNELS * CHANNELS * 9];
    static const uint32_t filter_dims[] = {CHANNELS, 3, 3, CHANNELS}, dims[] = {1, SIZE, SIZE, CHANNELS};
    WNNGraphBuilder builder = create_builder(context);
    WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {filter_dims, 4}},
                         image = {NULL, WNNDataType_Float32, {dims, 4}};
    WNNOperand f = constant_filter ? wnnGraphBuilderConstant(builder, &type, filter, sizeof filter)
                                   : wnnGraphBuilderInput(builder, view("f"), &type);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.label = view("layer");
    options.inputLayout = WNNInputOperandLayout_NHWC;
    options.filterLayout = WNNConv2dFilterOperandLayout_OHWI;
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &image),
               y = wnnGraphBuilderRelu(builder, wnnGraphBuilderConv2d(builder, x, f, &options), NULL);
    WNNNamedOperand outputs[] = {{view("y"), y}};
    WNNGraph graph = build_outputs(context, builder, 1, outputs);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static void test_graph(void)
{
    WNNContext context = create(false);
    WNNGraph graph = build_layer(context, true);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnGraphGetInfo(graph, &info), WNNStatus_Success);
    REQUIRE_EQUAL_VIEW(info.backend, "cpu");
    REQUIRE_EQUAL_INT(info.id, 0); // nobody traces it
    REQUIRE_EQUAL_INT(info.recordedOperators, 2);
    REQUIRE_EQUAL_INT(info.nodeCount, 1);
    REQUIRE_EQUAL_INT(info.constantBytes, CHANNELS * CHANNELS * 9 * 4);
    // Packed and not kept besides: Winograd's method makes 16 numbers of 9, XNNPACK and others fill up tiles.
    REQUIRE(info.weightBytes >= info.constantBytes && info.weightBytes <= 2 * info.constantBytes + 65536);
    REQUIRE(info.executionBytes <= (1 << 24));
    REQUIRE_EQUAL_INT(info.deviceBytes, 0);
    REQUIRE(info.compileNanoseconds > 0 && info.lowerNanoseconds > 0);
    REQUIRE_EQUAL_INT(info.buildNanoseconds, info.compileNanoseconds + info.lowerNanoseconds);

    WNNNodeInfo nodes[3] = {WNN_NODE_INFO_INIT, WNN_NODE_INFO_INIT, WNN_NODE_INFO_INIT};
    REQUIRE_EQUAL_INT(nodes_of(graph, 0, nodes), 1);
    REQUIRE_EQUAL_INT(nodes_of(graph, 3, NULL), 1);
    REQUIRE_EQUAL_INT(nodes_of(graph, 3, nodes), 1);
    REQUIRE(!nodes[1].kernel.data);
    REQUIRE_EQUAL_VIEW(nodes[0].label, "layer");
    REQUIRE_EQUAL_VIEW(nodes[0].operation, "conv2d");
    uint64_t pixels = (SIZE - 2) * (SIZE - 2), outputs = pixels * CHANNELS;
    REQUIRE_EQUAL_INT(nodes[0].bytes, 4 * (SIZE * SIZE * CHANNELS + CHANNELS * CHANNELS * 9 + outputs));
    REQUIRE_EQUAL_INT(nodes[0].operations, 2 * outputs * CHANNELS * 9 + outputs);

    // What was copied stays.
    wnnGraphDestroy(graph);
    wait_for(context, wnnContextReadTensor(context, NULL, NULL, 0, tell_nobody()));
    REQUIRE_EQUAL_VIEW(nodes[0].label, "layer");
    REQUIRE_EQUAL_INT(nodes_of(graph, 3, nodes), 1);
    REQUIRE_EQUAL_VIEW(nodes[0].label, "layer");
    wnnContextRelease(context);
    wnnGraphGetInfo(graph, &info);
    REQUIRE_EQUAL_VIEW(info.backend, "cpu");
    wnnGraphRelease(graph);

    REQUIRE_EQUAL_INT(wnnGraphGetInfo(NULL, &info), WNNStatus_TypeError);
}

// All of it stays when the executable is gone.
static void test_destroyed(void)
{
    WNNContext context = create(false);
    WNNGraph graph = build_layer(context, true);
    WNNNodeInfo node = WNN_NODE_INFO_INIT;
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(nodes_of(graph, 1, &node), 1);
    REQUIRE_EQUAL_VIEW(node.label, "layer");
    REQUIRE_EQUAL_VIEW(node.operation, "conv2d");
    REQUIRE(node.kernel.length > 0);
    wnnGraphRelease(graph);
}

static WNNNodeInfo layer_of(bool strict, bool constant_filter, char reason[256])
{
    WNNContext context = create(strict);
    WNNGraph graph = build_layer(context, constant_filter);
    WNNNodeInfo node = WNN_NODE_INFO_INIT;
    nodes_of(graph, 1, &node);
    REQUIRE(node.kernel.length > 0 && node.reason.length < 256);
    memcpy(reason, node.reason.data, node.reason.length);
    reason[node.reason.length] = 0;
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    return node;
}

// The reason agrees with the choice: what is strict is native; what is fast and allowed is taken.
static void test_reasons(void)
{
    char reason[256];
    WNNNodeInfo fast = layer_of(false, true, reason);
    bool native = strcmp(fast.kernel.data, "native product") == 0;
    REQUIRE(native == (reason[0] != 0));
    WNNNodeInfo strict = layer_of(true, true, reason);
    REQUIRE_EQUAL_VIEW(strict.kernel, "native product");
    if (!native)
        REQUIRE_EQUAL_STR(reason, "strictNumerics");
    WNNNodeInfo variable = layer_of(false, false, reason);
    REQUIRE_EQUAL_VIEW(variable.kernel, "native product");
    REQUIRE(reason[0]);

    // An operator of which there is one kernel has no reason.
    WNNContext context = create(true);
    WNNGraph graph = build_chain(context, 3, 4);
    WNNNodeInfo nodes[4] = {WNN_NODE_INFO_INIT, WNN_NODE_INFO_INIT, WNN_NODE_INFO_INIT, WNN_NODE_INFO_INIT};
    size_t count = nodes_of(graph, 4, nodes);
    REQUIRE(count > 0);
    for (size_t i = 0; i < count && i < 4; i++) {
        REQUIRE_EQUAL_VIEW(nodes[i].reason, "");
        REQUIRE_EQUAL_VIEW(nodes[i].label, "");
    }
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// attention counts multiply-adds as its products do.
static void test_attention(void)
{
    enum {
        LENGTH = 64,
        DEPTH = 32
    };
    static const uint32_t dims[] = {1, 2, LENGTH, DEPTH}, turned[] = {1, 2, DEPTH, LENGTH};
    WNNContext context = create(false);
    WNNGraphBuilder builder = create_builder(context);
    WNNOperandDescriptor rows = {NULL, WNNDataType_Float32, {dims, 4}},
                         columns = {NULL, WNNDataType_Float32, {turned, 4}};
    WNNOperand q = wnnGraphBuilderInput(builder, view("q"), &rows),
               k = wnnGraphBuilderInput(builder, view("k"), &columns),
               v = wnnGraphBuilderInput(builder, view("v"), &rows);
    WNNOperand scores = wnnGraphBuilderSoftmax(builder, wnnGraphBuilderMatmul(builder, q, k, NULL), 3, NULL);
    WNNNamedOperand output = {view("y"), wnnGraphBuilderMatmul(builder, scores, v, NULL)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    WNNNodeInfo nodes[4] = {WNN_NODE_INFO_INIT, WNN_NODE_INFO_INIT, WNN_NODE_INFO_INIT, WNN_NODE_INFO_INIT};
    size_t count = nodes_of(graph, 4, nodes);
    uint64_t operations = 0;
    for (size_t i = 0; i < count && i < 4; i++)
        operations += nodes[i].operations;
    REQUIRE(operations >= 2 * 2 * (uint64_t)2 * LENGTH * LENGTH * DEPTH);
    REQUIRE_EQUAL_INT(count, 1);
    REQUIRE_EQUAL_VIEW(nodes[0].operation, "attention");
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(context);
}

// Any number of threads may be the first to ask.
static void *ask(void *graph)
{
    for (int i = 0; i < 200; i++) {
        WNNNodeInfo node = WNN_NODE_INFO_INIT;
        REQUIRE_EQUAL_INT(nodes_of(graph, 1, &node), 1);
        REQUIRE_EQUAL_VIEW(node.label, "layer");
    }
    return NULL;
}

static void test_any_thread(void)
{
    WNNContext context = create(false);
    WNNGraph graph = build_layer(context, true);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&threads[i], NULL, ask, graph) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_processor());
    CASE(test_graph());
    CASE(test_destroyed());
    CASE(test_reasons());
    CASE(test_attention());
    CASE(test_any_thread());
    return cases_end();
}
