// SPDX-License-Identifier: Apache-2.0
//
// Operands, tensors and buffers of no bytes, on the backend that is named: reference, cpu, vulkan.

#include "conformance/backends.h"
#include "conformance/reference/reference.h"
#include "conformance/unit/runtime_fixture.h"

static WNNContext context;

// Float32 of this shape; a rank-0 shape is not asked for.
static WNNOperandDescriptor describe(const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return descriptor;
}

static WNNTensor make(const WNNOperandDescriptor *type)
{
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    WNNTensor tensor;
    descriptor.dataType = type->dataType;
    descriptor.shape = type->shape;
    descriptor.readable = descriptor.writable = true;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &tensor), WNNStatus_Success);
    return tensor;
}

static void read(WNNTensor tensor, void *data, size_t bytes)
{
    char message[256];
    WNNStatus status = wnnContextReadTensorSync(context, tensor, data, bytes, sizeof message, message);
    REQUIRE_EQUAL_STR(status ? message : "", "");
}

static void test_tensors(void)
{
    static const struct {
        WNNDataType type;
        uint32_t dims[4];
        size_t rank;
    } shapes[] = {{WNNDataType_Float32, {0}, 1},
                  {WNNDataType_Int64, {2, 0, 3}, 3},
                  {WNNDataType_Int4, {0, 1}, 2},
                  {WNNDataType_Uint8, {5, 1, 1, 0}, 4}};
    char message[256];
    float number = 7;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        WNNOperandDescriptor type = describe(shapes[i].dims, shapes[i].rank);
        type.dataType = shapes[i].type;
        WNNTensor tensor = make(&type);
        REQUIRE_EQUAL_INT(wnnTensorGetByteLength(tensor), 0);
        REQUIRE_EQUAL_INT(wnnTensorGetShape(tensor).count, shapes[i].rank);
        read(tensor, NULL, 0);
        REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, NULL, 0), WNNStatus_Success);
        REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, &number, 0), WNNStatus_Success);
        read(tensor, &number, 0);
        REQUIRE_EQUAL_FLOAT(number, 7);
        REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, &number, 4), WNNStatus_TypeError);
        REQUIRE_EQUAL_INT(wnnContextReadTensorSync(context, tensor, &number, 1, sizeof message, message),
                          WNNStatus_TypeError);
        REQUIRE_CONTAINS(message, "the buffer has 1 bytes; expected 0");
        wnnTensorDestroy(tensor);
        REQUIRE_EQUAL_INT(wnnContextReadTensorSync(context, tensor, NULL, 0, sizeof message, message),
                          WNNStatus_TypeError);
        wnnTensorRelease(tensor);
    }
    WNNTensor some = make(&(WNNOperandDescriptor){NULL, WNNDataType_Float32, {(uint32_t[]){1}, 1}});
    REQUIRE_EQUAL_INT(wnnContextReadTensorSync(context, some, NULL, 4, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "at no address");
    wnnTensorRelease(some);
}

// Constants of all three kinds, none of which has a byte: their sums are 0.
static void test_constants(void)
{
    const WNNOperandDescriptor type = describe((uint32_t[]){2, 0}, 2);
    WNNTensorDescriptor constant = WNN_TENSOR_DESCRIPTOR_INIT;
    constant.dataType = type.dataType;
    constant.shape = type.shape;
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(wnnContextCreateConstantTensor(context, &constant, NULL, 0, &tensor),
                      WNNStatus_Success);
    WNNExternalBytes nothing = WNN_EXTERNAL_BYTES_INIT;
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand constants[] = {wnnGraphBuilderConstant(builder, &type, NULL, 0),
                              wnnGraphBuilderExternalConstant(builder, &type, &nothing),
                              wnnGraphBuilderTensorConstant(builder, tensor)};
    WNNReduceOptions rows = WNN_REDUCE_OPTIONS_INIT;
    rows.axes = (WNNUint32List){(uint32_t[]){1}, 1};
    static const char *const names[] = {"a", "b", "c"};
    WNNNamedOperand outputs[3];
    WNNNamedBuffer buffers[3];
    float sums[3][2];
    for (int i = 0; i < 3; i++) {
        outputs[i] =
            (WNNNamedOperand){view(names[i]), wnnGraphBuilderReduceSum(builder, constants[i], &rows)};
        buffers[i] = (WNNNamedBuffer){view(names[i]), sums[i], sizeof sums[i], WNNDataType_Float32};
        sums[i][0] = sums[i][1] = 5;
    }
    WNNGraph graph = build_outputs(context, builder, 3, outputs);
    wnnTensorRelease(tensor);
    compute_buffers(context, graph, 0, NULL, 3, buffers);
    for (int i = 0; i < 3; i++)
        REQUIRE(sums[i][0] == 0 && sums[i][1] == 0);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
}

// same = identity(x), constant = a constant, and if there is something beside them something = relu(z).
static WNNGraph build(bool something)
{
    const WNNOperandDescriptor type = describe((uint32_t[]){0, 3}, 2), some = describe((uint32_t[]){5}, 1);
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &type),
               c = wnnGraphBuilderConstant(builder, &type, NULL, 0),
               z = wnnGraphBuilderInput(builder, view("z"), &some);
    WNNNamedOperand outputs[] = {{view("same"), wnnGraphBuilderIdentity(builder, x, NULL)},
                                 {view("constant"), wnnGraphBuilderAbs(builder, c, NULL)},
                                 {view("something"), wnnGraphBuilderRelu(builder, z, NULL)}};
    WNNGraph graph = build_outputs(context, builder, something ? 3 : 2, outputs);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static void test_computes(bool something)
{
    WNNGraph graph = build(something);
    float z[5] = {-1, 2, -3, 4, 5}, y[5];
    const WNNNamedBuffer inputs[] = {{view("x"), NULL, 0, WNNDataType_Float32},
                                     {view("z"), z, sizeof z, WNNDataType_Float32}},
                         outputs[] = {{view("same"), NULL, 0, WNNDataType_Float32},
                                      {view("constant"), y, 0, WNNDataType_Float32},
                                      {view("something"), y, sizeof y, WNNDataType_Float32}};
    for (int turn = 0; turn < 3; turn++) {
        z[1] = (float)turn;
        compute_buffers(context, graph, something ? 2 : 1, inputs, something ? 3 : 2, outputs);
        REQUIRE(!something || (y[0] == 0 && y[1] == (float)turn && y[4] == 5));
    }
    compute_buffers(context, graph, something ? 2 : 1, inputs, 1, outputs); // one that has nothing
    wnnGraphRelease(graph);
}

static void test_dispatches(bool something)
{
    WNNGraph graph = build(something);
    const WNNOperandDescriptor type = describe((uint32_t[]){0, 3}, 2), some = describe((uint32_t[]){5}, 1);
    const WNNNamedTensor inputs[] = {{view("x"), make(&type)}, {view("z"), make(&some)}},
                         outputs[] = {{view("same"), make(&type)},
                                      {view("constant"), make(&type)},
                                      {view("something"), make(&some)}};
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputCount = something ? 2 : 1;
    descriptor.inputs = inputs;
    descriptor.outputCount = something ? 3 : 2;
    descriptor.outputs = outputs;
    float z[5] = {-1, 2, -3, 4, 5};
    for (int turn = 0; turn < 3; turn++) {
        struct answer answer = {0};
        z[1] = (float)turn;
        REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, inputs[0].tensor, NULL, 0), WNNStatus_Success);
        REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, inputs[1].tensor, z, sizeof z), WNNStatus_Success);
        wait_for(context,
                 wnnContextDispatch(context, &descriptor, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
        REQUIRE_EQUAL_STR(answer.message, "");
        float y[5] = {9, 9, 9, 9, 9};
        read(outputs[0].tensor, NULL, 0);
        read(outputs[1].tensor, NULL, 0);
        read(outputs[2].tensor, y, sizeof y);
        REQUIRE(something ? y[0] == 0 && y[1] == (float)turn && y[4] == 5 : y[1] == 0);
    }
    for (int i = 0; i < 2; i++)
        wnnTensorRelease(inputs[i].tensor);
    for (int i = 0; i < 3; i++)
        wnnTensorRelease(outputs[i].tensor);
    wnnGraphRelease(graph);
}

// A batch of no items, in and out of a graph that has weights.
static void test_batch(void)
{
    WNNGraphBuilder builder = create_builder(context);
    const WNNOperandDescriptor type = describe((uint32_t[]){0, 4}, 2),
                               weights = describe((uint32_t[]){4, 2}, 2);
    float w[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &type);
    WNNOperand y =
        wnnGraphBuilderMatmul(builder, x, wnnGraphBuilderConstant(builder, &weights, w, sizeof w), NULL);
    WNNNamedOperand output = {view("y"), wnnGraphBuilderSoftmax(builder, y, 1, NULL)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    size_t count;
    const WNNNamedDescriptor *ports = wnnGraphGetOutputs(graph, &count);
    REQUIRE(count == 1 && ports[0].descriptor.shape.data[0] == 0 && ports[0].descriptor.shape.data[1] == 2);
    const WNNNamedBuffer in = {view("x"), NULL, 0, WNNDataType_Float32},
                         out = {view("y"), NULL, 0, WNNDataType_Float32};
    compute_buffers(context, graph, 1, &in, 1, &out);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
}

int main(int argc, char **argv)
{
    REQUIRE(argc > 1);
    const struct backend *backend =
        strcmp(argv[1], "reference") == 0 ? &wnn_backend_reference : find_backend(argv[1]);
    REQUIRE(backend);
    cases_begin(argc - 1, argv + 1);
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNStatus status = wnn_create_context_on(backend, &descriptor, &context);
    if (status == WNNStatus_NotSupportedError)
        return cases_skip("there is no device");
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    CASE(test_tensors());
    CASE(test_constants());
    CASE(test_computes(false));
    CASE(test_computes(true));
    CASE(test_dispatches(false));
    CASE(test_dispatches(true));
    CASE(test_batch());
    wnnContextRelease(context);
    return cases_end();
}
