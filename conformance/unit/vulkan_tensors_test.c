// SPDX-License-Identifier: Apache-2.0
//
// Tensors on the library's own device, with all that it has and with the minimum. Skipped where Vulkan has no
// device.

#include "conformance/backends.h"
#include "conformance/unit/interop.h"

// compute() and dispatch() of one graph take turns.
static void test_turns(WNNContext context)
{
    enum {
        COUNT = 33
    };
    int32_t x[COUNT], y[COUNT];
    WNNGraph graph = build_graph(context, COUNT);
    WNNTensor tensor = make_tensor(context, WNNDataType_Int32, COUNT, NULL),
              result = make_tensor(context, WNNDataType_Int32, COUNT, NULL),
              one = make_tensor(context, WNNDataType_Int32, COUNT, NULL);
    for (int turn = 0; turn < 6; turn++) {
        for (int i = 0; i < COUNT; i++)
            x[i] = turn * 1000 + i;
        WNNNamedBuffer input = {view("x"), x, sizeof x, WNNDataType_Int32},
                       output = {view("y"), y, sizeof y, 0};
        WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
        descriptor.graph = graph;
        descriptor.inputCount = descriptor.outputCount = 1;
        descriptor.inputs = &input;
        descriptor.outputs = &output;
        write_tensor(context, tensor, x, sizeof x);
        dispatch(context, graph, tensor, result, one);
        wait_for(context, wnnContextCompute(context, &descriptor, tell_nobody()));
        for (int i = 0; i < COUNT; i++)
            REQUIRE_EQUAL_INT(y[i], 2 * x[i] + 1);
        read_tensor(context, result, y, sizeof y);
        for (int i = 0; i < COUNT; i++)
            REQUIRE_EQUAL_INT(y[i], 2 * x[i] + 1);
    }
    wnnTensorRelease(tensor);
    wnnTensorRelease(result);
    wnnTensorRelease(one);
    wnnGraphRelease(graph);
}

// Tensors that come and go, in the memory of one another: what was known of one is not taken for the next.
static void test_successors(WNNContext context)
{
    enum {
        COUNT = 65,
        TURNS = 24
    };
    WNNGraph graph = build_alone(context, COUNT);
    int32_t data[COUNT];
    WNNTensor x = NULL, y = NULL;
    for (int turn = 0; turn < TURNS; turn++) {
        if (turn % 3 == 0 || turn % 2) {
            wnnTensorRelease(x);
            x = make_tensor(context, WNNDataType_Int32, COUNT, NULL);
        }
        if (turn % 2 == 0) {
            wnnTensorRelease(y);
            y = make_tensor(context, WNNDataType_Int32, COUNT, NULL);
        }
        for (int i = 0; i < COUNT; i++)
            data[i] = turn * 100 + i;
        write_tensor(context, x, data, sizeof data);
        for (int i = 0; i < turn % 4; i++) // by several ways at a time
            dispatch(context, graph, x, y, NULL);
        dispatch(context, graph, x, y, NULL);
        read_tensor(context, y, data, sizeof data);
        for (int i = 0; i < COUNT; i++)
            REQUIRE_EQUAL_INT(data[i], 2 * (turn * 100 + i) + 1);
        read_tensor(context, x, data, sizeof data);
        REQUIRE_EQUAL_INT(data[COUNT - 1], turn * 100 + COUNT - 1); // inputs stay as they are
    }
    wnnTensorRelease(x);
    wnnTensorRelease(y);
    wnnGraphRelease(graph);
}

// More sets of tensors by turns than the library keeps recordings for.
static void test_many_sets(WNNContext context)
{
    enum {
        SETS = 70,
        TURNS = 3
    };
    WNNGraph graph = build_alone(context, 3);
    WNNTensor x = make_tensor(context, WNNDataType_Int32, 3, NULL), y[SETS];
    for (int i = 0; i < SETS; i++)
        y[i] = make_tensor(context, WNNDataType_Int32, 3, NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        write_tensor(context, x, (const int32_t[]){turn, 2, 3}, 3 * sizeof(int32_t));
        for (int i = 0; i < SETS; i++)
            dispatch(context, graph, x, y[i], NULL);
        for (int i = 0; i < SETS; i++) {
            int32_t data[3];
            read_tensor(context, y[i], data, sizeof data);
            REQUIRE_EQUAL_INT(data[0], 2 * turn + 1);
            REQUIRE_EQUAL_INT(data[2], 7);
        }
    }
    wnnTensorRelease(x);
    for (int i = 0; i < SETS; i++)
        wnnTensorRelease(y[i]);
    wnnGraphRelease(graph);
}

// Outputs that are an input, a constant, one operand under two names, and a part of another.
static void test_names(WNNContext context)
{
    enum {
        OUTPUTS = 5
    };
    const float in[2] = {3, -4}, expected[OUTPUTS][4] = {{3, -4}, {4, -3}, {4, -3}, {9, 9}, {4, -3, 3, -4}};
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", 1, 2);
    WNNOperand one = wnnGraphBuilderScalarConstant(builder, WNNDataType_Float32, wnnNumberFloat64(1)),
               nine = wnnGraphBuilderScalarConstant(builder, WNNDataType_Float32, wnnNumberFloat64(9));
    WNNOperand sum = wnnGraphBuilderAdd(builder, x, one, NULL);
    const WNNOperand parts[] = {sum, x};
    const uint32_t shape[] = {1, 2};
    WNNNamedOperand outputs[OUTPUTS] = {
        {view("same"), wnnGraphBuilderIdentity(builder, x, NULL)},
        {view("sum"), sum},
        {view("again"), sum},
        {view("nine"), wnnGraphBuilderExpand(builder, nine, (WNNUint32List){shape, 2}, NULL)},
        {view("both"), wnnGraphBuilderConcat(builder, 2, parts, 0, NULL)}};
    WNNGraph graph = build_outputs(context, builder, OUTPUTS, outputs);
    wnnGraphBuilderRelease(builder);
    WNNNamedTensor input = {view("x"), NULL}, results[OUTPUTS];
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.readable = descriptor.writable = true;
    descriptor.shape = (WNNUint32List){shape, 2};
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &input.tensor), WNNStatus_Success);
    for (int i = 0; i < OUTPUTS; i++) {
        results[i].name = outputs[i].name;
        descriptor.shape =
            i == OUTPUTS - 1 ? (WNNUint32List){(const uint32_t[]){2, 2}, 2} : (WNNUint32List){shape, 2};
        REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &results[i].tensor),
                          WNNStatus_Success);
    }
    WNNDispatchDescriptor dispatched = WNN_DISPATCH_DESCRIPTOR_INIT;
    dispatched.graph = graph;
    dispatched.inputCount = 1;
    dispatched.inputs = &input;
    dispatched.outputCount = OUTPUTS;
    dispatched.outputs = results;
    write_tensor(context, input.tensor, in, sizeof in);
    wait_for(context, wnnContextDispatch(context, &dispatched, tell_nobody()));
    for (int i = 0; i < OUTPUTS; i++) {
        float data[4] = {0};
        read_tensor(context, results[i].tensor, data, i == OUTPUTS - 1 ? sizeof data : sizeof in);
        for (int k = 0; k < 4; k++)
            REQUIRE_EQUAL_FLOAT(data[k], expected[i][k]);
        wnnTensorRelease(results[i].tensor);
    }
    wnnTensorRelease(input.tensor);
    wnnGraphRelease(graph);
}

// A limit on memory counts tensors, and refuses no more than it has to.
static void test_limit(void)
{
    struct answer answer = {0};
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.maxMemoryBytes = 24 << 20;
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.limits = &limits;
    WNNContext context;
    WNNTensor one, other;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    one = make_tensor(context, WNNDataType_Uint8, 12 << 20, NULL);
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Uint8, 12 << 20, NULL, &other), WNNStatus_OutOfMemory);
    REQUIRE(!other && !wnnContextIsLost(context));
    wnnTensorRelease(one);
    other = make_tensor(context, WNNDataType_Uint8, 12 << 20, NULL);
    wnnTensorRelease(other);
    wnnContextRelease(context);
}

// Tensors outlive their context as handles; their memory does not.
static void test_orphans(const struct backend *backend)
{
    WNNContext context = create_own(backend);
    WNNTensor tensor = make_tensor(context, WNNDataType_Float32, 1000, NULL), other;
    wnnContextDestroy(context);
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Float32, 1, NULL, &other), WNNStatus_InvalidStateError);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(wnnTensorGetDataType(tensor), WNNDataType_Float32);
    wnnTensorDestroy(tensor);
    wnnTensorRelease(tensor);
}

static void test_tensors(const struct backend *backend)
{
    WNNContext context = create_own(backend);
    test_transfers(context, NULL);
    test_chain(context, 0);
    test_chain(context, 1);
    test_chain(context, 1023);
    test_turns(context);
    test_successors(context);
    test_many_sets(context);
    test_names(context);
    test_destroying(context);
    wnnContextRelease(context);
    test_orphans(backend);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    struct answer error = {0};
    WNNContextDescriptor descriptor = describe_context(&error, NULL);
    WNNContext context;
    descriptor.deviceType = WNNDeviceType_GPU;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        return cases_skip(error.message);
    wnnContextRelease(context);
    CASE(test_tensors(wnn_backend_find("vulkan")));
    CASE(test_tensors(vulkan_minimal()));
    CASE(test_limit());
    return cases_end();
}
