// SPDX-License-Identifier: Apache-2.0
//
// Every reason for which an execution, a tensor, a read or a write is refused, with its message; and what
// executions leave in the caller's memory: everything, or nothing.

#include "conformance/unit/runtime_fixture.h"

static WNNContext context;
static struct answer error;

// ---------------------------------------------------------------------------------------------------------------
// compute()
// ---------------------------------------------------------------------------------------------------------------

// A complete call on the graph of build_sum, for the tests to spoil.
struct sum_call {
    float a[4], b[4], sum[4], twice[4];
    WNNNamedBuffer inputs[3], outputs[3];
    WNNComputeDescriptor descriptor;
};

static void prepare(struct sum_call *call, WNNGraph graph)
{
    *call = (struct sum_call){.a = {1, 2, 3, 4}, .b = {10, 20, 30, 40}};
    memset(call->sum, 0xA5, sizeof call->sum);
    memset(call->twice, 0xA5, sizeof call->twice);
    call->inputs[0] = (WNNNamedBuffer){view("a"), call->a, sizeof call->a, WNNDataType_Float32};
    call->inputs[1] = (WNNNamedBuffer){view("b"), call->b, sizeof call->b, WNNDataType_Undefined};
    call->outputs[0] = (WNNNamedBuffer){view("sum"), call->sum, sizeof call->sum, WNNDataType_Float32};
    call->outputs[1] =
        (WNNNamedBuffer){view("double"), call->twice, sizeof call->twice, WNNDataType_Undefined};
    call->descriptor = (WNNComputeDescriptor)WNN_COMPUTE_DESCRIPTOR_INIT;
    call->descriptor.graph = graph;
    call->descriptor.inputCount = call->descriptor.outputCount = 2;
    call->descriptor.inputs = call->inputs;
    call->descriptor.outputs = call->outputs;
}

// A refused request is complete when the call returns.
static void require_answer(WNNFuture future, const struct answer *answer, WNNStatus status,
                           const char *message)
{
    WNNFutureWaitInfo info = {future, false};
    REQUIRE(future.id != 0);
    REQUIRE_EQUAL_INT(answer->calls, 0);
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 1, &info, 0), WNNWaitStatus_Success);
    REQUIRE_EQUAL_INT(answer->calls, 1);
    REQUIRE_EQUAL_INT(answer->status, status);
    REQUIRE_EQUAL_STR(answer->message, message);
}

static void require_untouched(const float *values, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)values;
    for (size_t i = 0; i < count * sizeof *values; i++)
        REQUIRE_EQUAL_INT(bytes[i], 0xA5);
}

static void require_refused(struct sum_call *call, WNNStatus status, const char *message)
{
    struct answer answer = {0};
    require_answer(wnnContextCompute(context, &call->descriptor, tell(&answer, WNNCallbackMode_WaitAnyOnly)),
                   &answer, status, message);
    // The same in the other way.
    answer.calls = 0;
    wnnContextCompute(context, &call->descriptor, tell(&answer, WNNCallbackMode_AllowSpontaneous));
    REQUIRE_EQUAL_INT(answer.calls, 1);
    REQUIRE(pthread_equal(answer.thread, pthread_self()));
    require_untouched(call->sum, 4);
    require_untouched(call->twice, 4);
}

static void test_refused_computes(WNNGraph graph, WNNContext other)
{
    struct sum_call c;
    WNNGraph foreign = build_sum(other);

    prepare(&c, NULL);
    require_refused(&c, WNNStatus_TypeError, "compute: no graph was given");
    prepare(&c, foreign);
    require_refused(&c, WNNStatus_TypeError, "compute: the graph belongs to another context");
    prepare(&c, graph);
    WNNChainedStruct chained = {NULL, 5};
    c.descriptor.nextInChain = &chained;
    require_refused(
        &c, WNNStatus_TypeError,
        "compute: nextInChain holds a struct of type 5, which means nothing there or is there twice");
    prepare(&c, graph);
    c.descriptor.label = (WNNStringView){"\xC3", 1};
    require_refused(&c, WNNStatus_TypeError, "the label of an execution is not well-formed UTF-8");

    prepare(&c, graph);
    c.descriptor.inputs = NULL;
    require_refused(&c, WNNStatus_TypeError, "compute: 2 inputs at no address");
    prepare(&c, graph);
    c.descriptor.outputs = NULL;
    require_refused(&c, WNNStatus_TypeError, "compute: 2 outputs at no address");
    prepare(&c, graph);
    c.descriptor.outputCount = 0;
    require_refused(&c, WNNStatus_TypeError, "compute: no outputs were given; expected at least one");

    prepare(&c, graph);
    c.descriptor.inputCount = 1;
    require_refused(&c, WNNStatus_TypeError, "compute: input \"b\" is missing");
    prepare(&c, graph);
    c.inputs[0].name = view("c");
    require_refused(&c, WNNStatus_TypeError, "compute: the graph has no input \"c\"");
    prepare(&c, graph);
    c.inputs[0].name = (WNNStringView){"a\0", 2};
    require_refused(&c, WNNStatus_TypeError, "compute: the graph has no input \"a\\u{0}\"");
    prepare(&c, graph);
    c.inputs[0].name = (WNNStringView){NULL, 3};
    require_refused(&c, WNNStatus_TypeError, "compute: the name of input 0 has 3 bytes but no data");
    prepare(&c, graph);
    c.inputs[2] = c.inputs[0];
    c.descriptor.inputCount = 3;
    require_refused(&c, WNNStatus_TypeError, "compute: input \"a\" is given twice");
    prepare(&c, graph);
    c.descriptor.label = view("frame 1\n");
    c.outputs[1].name = view("sum");
    require_refused(&c, WNNStatus_TypeError, "compute \"frame 1\\u{A}\": output \"sum\" is given twice");
    prepare(&c, graph);
    c.outputs[0].name = view("a");
    require_refused(&c, WNNStatus_TypeError, "compute: the graph has no output \"a\"");

    prepare(&c, graph);
    c.inputs[0].byteLength = 12;
    require_refused(&c, WNNStatus_TypeError,
                    "compute: input \"a\" has 12 bytes; expected 16 (float32 [2, 2])");
    prepare(&c, graph);
    c.outputs[1].byteLength = 17;
    require_refused(&c, WNNStatus_TypeError,
                    "compute: output \"double\" has 17 bytes; expected 16 (float32 [2, 2])");
    prepare(&c, graph);
    c.inputs[1].dataType = WNNDataType_Int32;
    require_refused(&c, WNNStatus_TypeError, "compute: input \"b\" has data type int32; expected float32");
    prepare(&c, graph);
    c.outputs[0].dataType = (WNNDataType)77;
    require_refused(&c, WNNStatus_TypeError,
                    "compute: output \"sum\" has data type 77, which does not exist");
    prepare(&c, graph);
    c.inputs[1].data = NULL;
    require_refused(&c, WNNStatus_TypeError, "compute: input \"b\" has no memory; expected 16 bytes");
    prepare(&c, graph);
    c.outputs[1].data = NULL;
    require_refused(&c, WNNStatus_TypeError, "compute: output \"double\" has no memory; expected 16 bytes");

    // One byte is enough.
    prepare(&c, graph);
    c.outputs[0].data = (char *)c.twice + 15;
    require_refused(&c, WNNStatus_TypeError, "compute: the memory of \"sum\" and that of \"double\" overlap");
    prepare(&c, graph);
    c.outputs[1].data = c.b + 1;
    require_refused(&c, WNNStatus_TypeError, "compute: the memory of \"b\" and that of \"double\" overlap");

    struct answer answer = {0};
    require_answer(wnnContextCompute(context, NULL, tell(&answer, WNNCallbackMode_WaitAnyOnly)), &answer,
                   WNNStatus_TypeError, "compute: no graph was given");
    wnnGraphRelease(foreign);
}

static void compute(const struct sum_call *call)
{
    struct answer answer = {0};
    wait_for(context,
             wnnContextCompute(context, &call->descriptor, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_STR(answer.message, "");
    REQUIRE_EQUAL_INT(answer.status, WNNStatus_Success);
}

static void test_accepted_computes(WNNGraph graph)
{
    struct sum_call c;
    prepare(&c, graph);
    compute(&c);
    for (int i = 0; i < 4; i++) {
        REQUIRE_EQUAL_FLOAT(c.sum[i], c.a[i] + c.b[i]);
        REQUIRE_EQUAL_FLOAT(c.twice[i], 2 * c.a[i]);
    }

    // Any order, any non-empty set of outputs, one memory for two inputs.
    prepare(&c, graph);
    c.inputs[0].name = view("b");
    c.inputs[1] = c.inputs[0];
    c.inputs[1].name = view("a");
    c.outputs[0].name = (WNNStringView){"double!", 6};
    c.descriptor.outputCount = 1;
    compute(&c);
    for (int i = 0; i < 4; i++)
        REQUIRE_EQUAL_FLOAT(c.sum[i], 2 * c.a[i]);
    require_untouched(c.twice, 4);

    // Neighbours do not overlap. The lists may go when the call has returned.
    prepare(&c, graph);
    float both[8];
    c.outputs[0].data = both;
    c.outputs[1].data = both + 4;
    WNNFuture future = wnnContextCompute(context, &c.descriptor, tell_nobody());
    memset(c.inputs, 0, sizeof c.inputs);
    memset(c.outputs, 0, sizeof c.outputs);
    wait_for(context, future);
    REQUIRE_EQUAL_FLOAT(both[3], 44);
    REQUIRE_EQUAL_FLOAT(both[7], 8);
}

// Memory of any alignment; not a byte beside it is written.
static void test_misaligned_memory(WNNGraph graph)
{
    struct sum_call c;
    prepare(&c, graph);
    unsigned char in[2][24], out[2][24];
    for (unsigned shift = 1; shift < 4; shift++) {
        memset(out, 0xA5, sizeof out);
        memcpy(in[0] + shift, c.a, sizeof c.a);
        memcpy(in[1] + shift, c.b, sizeof c.b);
        for (int i = 0; i < 2; i++) {
            c.inputs[i].data = in[i] + shift;
            c.outputs[i].data = out[i] + shift;
        }
        compute(&c);
        for (int i = 0; i < 2; i++) {
            float values[4];
            memcpy(values, out[i] + shift, sizeof values);
            for (int j = 0; j < 4; j++)
                REQUIRE_EQUAL_FLOAT(values[j], i == 0 ? c.a[j] + c.b[j] : 2 * c.a[j]);
            for (size_t j = 0; j < sizeof out[i]; j++)
                REQUIRE(out[i][j] == 0xA5 || (j >= shift && j < shift + 16));
        }
    }
    require_untouched(c.sum, 4);
}

// Thousands of names take a moment, not minutes; names that differ at the end only are told apart.
static void test_many_ports(void)
{
    enum {
        COUNT = 20000
    };
    static char names[COUNT][64];
    static float values[COUNT], results[COUNT];
    static WNNNamedBuffer inputs[COUNT], outputs[COUNT];
    static WNNNamedOperand operands[COUNT];
    WNNGraphBuilder builder = create_builder(context);
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "a rather long name that all of them begin with %d", i);
        values[i] = (float)i;
        operands[i] = (WNNNamedOperand){
            view(names[i]),
            wnnGraphBuilderAdd(builder, add_input(builder, names[i], 1, 1),
                               i == 0 ? add_input(builder, "extra", 1, 1) : operands[0].operand, NULL)};
    }
    WNNGraph graph = build_outputs(context, builder, COUNT, operands);
    size_t count;
    wnnGraphGetInputs(graph, &count);
    REQUIRE_EQUAL_INT(count, COUNT + 1);
    wnnGraphBuilderRelease(builder);

    // Backwards, so that guessing does not help. The extra input is missing first.
    for (int i = 0; i < COUNT; i++) {
        inputs[COUNT - 1 - i] =
            (WNNNamedBuffer){view(names[i]), &values[i], sizeof(float), WNNDataType_Undefined};
        outputs[COUNT - 1 - i] =
            (WNNNamedBuffer){view(names[i]), &results[i], sizeof(float), WNNDataType_Undefined};
    }
    WNNComputeDescriptor descriptor = {.label = WNN_STRING_VIEW_INIT,
                                       .graph = graph,
                                       .inputCount = COUNT,
                                       .outputCount = COUNT,
                                       .inputs = inputs,
                                       .outputs = outputs};
    struct answer answer = {0};
    double before = now_seconds();
    require_answer(wnnContextCompute(context, &descriptor, tell(&answer, WNNCallbackMode_WaitAnyOnly)),
                   &answer, WNNStatus_TypeError, "compute: input \"extra\" is missing");
    float extra = 0.5f;
    static WNNNamedBuffer all[COUNT + 1];
    memcpy(all, inputs, sizeof inputs);
    all[COUNT] = (WNNNamedBuffer){view("extra"), &extra, sizeof extra, WNNDataType_Undefined};
    descriptor.inputs = all;
    descriptor.inputCount = COUNT + 1;
    WNNFuture future = wnnContextCompute(context, &descriptor, tell_nobody());
    double passed = now_seconds() - before;
    REQUIRE(SANITIZED || passed < 1);
    wait_for(context, future);
    REQUIRE_EQUAL_FLOAT(results[0], 0.5f);
    REQUIRE_EQUAL_FLOAT(results[COUNT - 1], (float)(COUNT - 1) + 0.5f);
    wnnGraphRelease(graph);
}

// Outputs that hold 0xA5 before hold none of it afterwards, next to every boundary of a vector.
static void test_complete_outputs(void)
{
    enum {
        MOST = 70
    };
    for (uint32_t width = 1; width <= MOST; width++) {
        WNNGraph graph = build_chain(context, 3, width);
        float x[MOST], y[MOST + 1];
        for (uint32_t i = 0; i < width; i++)
            x[i] = (float)i + 0.25f;
        memset(y, 0xA5, sizeof y);
        wait_for(context, compute_chain(context, graph, x, y, width, tell_nobody()));
        for (uint32_t i = 0; i < width; i++)
            REQUIRE_EQUAL_FLOAT(y[i], 4 * x[i]);
        require_untouched(y + width, MOST + 1 - width);
        wnnGraphRelease(graph);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Tensors
// ---------------------------------------------------------------------------------------------------------------

static void require_reported(WNNStatus got, WNNStatus status, const char *message)
{
    REQUIRE_EQUAL_INT(got, status);
    REQUIRE_EQUAL_INT(error.calls, 1);
    REQUIRE_EQUAL_INT(error.status, status);
    REQUIRE_EQUAL_STR(error.message, message);
    error.calls = 0;
}

static WNNTensorDescriptor describe_tensor(WNNDataType type, const uint32_t *dims, size_t rank)
{
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){dims, rank};
    return descriptor;
}

static void test_refused_tensors(void)
{
    static const uint32_t dims[] = {2, 3, 0x80000000};
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    WNNTensor tensor = (WNNTensor)&error;
    const WNNTensorDescriptor good = describe_tensor(WNNDataType_Float32, dims, 2);

    require_reported(wnnContextCreateTensor(context, NULL, &tensor), WNNStatus_TypeError,
                     "createTensor: no descriptor was given");
    REQUIRE(!tensor);
    require_reported(wnnContextCreateTensor(context, &good, NULL), WNNStatus_TypeError,
                     "createTensor: no context or no place for the tensor");
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(NULL, &good, &tensor), WNNStatus_TypeError);
    WNNTensorDescriptor d = describe_tensor((WNNDataType)50, dims, 2);
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &d, &tensor), WNNStatus_TypeError);
    REQUIRE_CONTAINS(error.message, "createTensor");
    d = describe_tensor(WNNDataType_Float32, dims, 3);
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &d, &tensor), WNNStatus_TypeError);
    REQUIRE_CONTAINS(error.message, "[2, 3, 2147483648]");
    d = describe_tensor(WNNDataType_Float32, dims, 9);
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &d, &tensor), WNNStatus_TypeError);
    REQUIRE_CONTAINS(error.message, "rank 9");
    d = good;
    WNNChainedStruct chained = {NULL, 99};
    d.nextInChain = &chained;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &d, &tensor), WNNStatus_TypeError);
    REQUIRE_CONTAINS(error.message, "struct of type 99");
    d = good;
    d.label = (WNNStringView){"\x80", 1};
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &d, &tensor), WNNStatus_TypeError);
    REQUIRE_CONTAINS(error.message, "the label");
    error.calls = 0;

    d = good;
    d.readable = true;
    require_reported(wnnContextCreateConstantTensor(context, &d, data, sizeof data, &tensor),
                     WNNStatus_TypeError,
                     "createConstantTensor: a constant tensor is neither readable nor writable");
    require_reported(wnnContextCreateConstantTensor(context, &good, data, 23, &tensor), WNNStatus_TypeError,
                     "createConstantTensor: the data have 23 bytes; expected 24 (float32 [2, 3])");
    require_reported(
        wnnContextCreateConstantTensor(context, &good, NULL, 24, &tensor), WNNStatus_TypeError,
        "createConstantTensor: the data have 24 bytes at no address; expected 24 (float32 [2, 3])");
    REQUIRE_EQUAL_INT(counters_of(context).tensors, 0);
}

static void require_read_refused(WNNTensor tensor, void *data, size_t bytes, const char *message)
{
    struct answer answer = {0};
    require_answer(
        wnnContextReadTensor(context, tensor, data, bytes, tell(&answer, WNNCallbackMode_WaitAnyOnly)),
        &answer, WNNStatus_TypeError, message);
}

static void test_transfers(WNNContext other)
{
    float data[4] = {1, 2, 3, 4}, result[5];
    static const uint32_t dims[] = {2, 2};
    WNNTensorDescriptor descriptor = describe_tensor(WNNDataType_Float32, dims, 2);
    WNNTensor closed, tensor = create_tensor(context, 2, 2), foreign = create_tensor(other, 2, 2);
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &closed), WNNStatus_Success);
    REQUIRE(!wnnTensorGetReadable(closed) && !wnnTensorGetWritable(closed) && !wnnTensorGetConstant(closed));
    REQUIRE(wnnTensorGetReadable(tensor) && wnnTensorGetWritable(tensor));
    REQUIRE_EQUAL_INT(wnnTensorGetDataType(tensor), WNNDataType_Float32);
    REQUIRE_EQUAL_INT(wnnTensorGetShape(tensor).count, 2);

    // New ones are zero; writes copy at the call; bytes beyond the length are not touched.
    memset(result, 0xA5, sizeof result);
    wait_for(context, wnnContextReadTensor(context, tensor, result, 16, tell_nobody()));
    for (int i = 0; i < 4; i++)
        REQUIRE_EQUAL_FLOAT(result[i], 0);
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, data, sizeof data), WNNStatus_Success);
    data[0] = 100;
    wait_for(context, wnnContextReadTensor(context, tensor, result, 16, tell_nobody()));
    REQUIRE_EQUAL_FLOAT(result[0], 1);
    REQUIRE_EQUAL_FLOAT(result[3], 4);
    require_untouched(result + 4, 1);

    require_read_refused(NULL, result, 16, "readTensor: no tensor was given");
    require_read_refused(foreign, result, 16, "readTensor: the tensor belongs to another context");
    require_read_refused(closed, result, 16, "readTensor: the tensor is not readable");
    require_read_refused(tensor, result, 20,
                         "readTensor: the buffer has 20 bytes; expected 16 (float32 [2, 2])");
    require_read_refused(tensor, NULL, 16,
                         "readTensor: the buffer has 16 bytes at no address; expected 16 (float32 [2, 2])");
    require_reported(wnnContextWriteTensor(context, NULL, data, 16), WNNStatus_TypeError,
                     "writeTensor: no tensor was given");
    require_reported(wnnContextWriteTensor(context, foreign, data, 16), WNNStatus_TypeError,
                     "writeTensor: the tensor belongs to another context");
    require_reported(wnnContextWriteTensor(context, closed, data, 16), WNNStatus_TypeError,
                     "writeTensor: the tensor is not writable");
    require_reported(wnnContextWriteTensor(context, tensor, data, 12), WNNStatus_TypeError,
                     "writeTensor: the buffer has 12 bytes; expected 16 (float32 [2, 2])");
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(NULL, tensor, data, 16), WNNStatus_TypeError);

    wnnTensorDestroy(tensor);
    wnnTensorDestroy(tensor);
    require_read_refused(tensor, result, 16, "readTensor: the tensor was destroyed");
    require_reported(wnnContextWriteTensor(context, tensor, data, 16), WNNStatus_TypeError,
                     "writeTensor: the tensor was destroyed");
    wnnTensorAddRef(tensor);
    wnnTensorRelease(tensor);
    wnnTensorRelease(tensor);
    wnnTensorRelease(closed);
    wnnTensorRelease(foreign);
    wnnTensorRelease(NULL);
    REQUIRE_EQUAL_INT(counters_of(context).tensors, 0);
}

// A tensor that is destroyed while requests wait: reads fail, executions keep it.
static void test_destroyed_tensor(WNNGraph chain)
{
    struct answer read = {0}, kept = {0};
    float data[4] = {1, 2, 3, 4}, results[2][4];
    memset(results, 0xA5, sizeof results);
    WNNTensor in = create_tensor(context, 1, 4), out = create_tensor(context, 1, 4);
    WNNNamedTensor input = {view("x"), in}, output = {view("y"), out};
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.graph = chain;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &input;
    descriptor.outputs = &output;
    float y[4];
    set_gate(true);
    compute_chain(context, chain, data, y, 4, tell_nobody());
    wait_for_gate(1);
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, in, data, sizeof data), WNNStatus_Success);
    WNNFuture first =
        wnnContextReadTensor(context, in, results[0], 16, tell(&read, WNNCallbackMode_WaitAnyOnly));
    wnnContextDispatch(context, &descriptor, tell_nobody());
    WNNFuture last =
        wnnContextReadTensor(context, out, results[1], 16, tell(&kept, WNNCallbackMode_WaitAnyOnly));
    wnnTensorDestroy(in);
    wnnTensorRelease(in);
    set_gate(false);
    wait_for(context, first);
    wait_for(context, last);
    REQUIRE_EQUAL_INT(read.status, WNNStatus_InvalidStateError);
    REQUIRE_EQUAL_STR(read.message, "readTensor: the tensor was destroyed");
    require_untouched(results[0], 4);
    REQUIRE_EQUAL_INT(kept.status, WNNStatus_Success);
    REQUIRE_EQUAL_FLOAT(results[1][3], 8);
    wnnTensorRelease(out);
}

static void test_constant_tensors(WNNContext other)
{
    static const uint32_t dims[] = {2, 2};
    float data[4] = {1, 2, 3, 4}, x[4] = {1, 1, 1, 1}, y[4];
    const WNNTensorDescriptor descriptor = describe_tensor(WNNDataType_Float32, dims, 2);
    WNNTensor constant, foreign, plain = create_tensor(context, 2, 2);
    REQUIRE_EQUAL_INT(wnnContextCreateConstantTensor(context, &descriptor, data, sizeof data, &constant),
                      WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCreateConstantTensor(other, &descriptor, data, sizeof data, &foreign),
                      WNNStatus_Success);
    REQUIRE(wnnTensorGetConstant(constant));
    data[0] = 7;

    WNNGraphBuilder builder = create_builder(context);
    const struct {
        WNNTensor tensor;
        const char *message;
    } refused[] = {{NULL, "no tensor was given"}, {foreign, "another context"}, {plain, "not constant"}};
    for (size_t i = 0; i < 3; i++) {
        WNNError builder_error;
        REQUIRE(!wnnGraphBuilderTensorConstant(builder, refused[i].tensor));
        wnnGraphBuilderGetError(builder, &builder_error);
        REQUIRE_EQUAL_INT(builder_error.status, WNNStatus_TypeError);
        REQUIRE_CONTAINS(builder_error.message.data, refused[i].message);
        wnnGraphBuilderClearError(builder);
    }
    WNNOperand input = add_input(builder, "x", 2, 2);
    WNNNamedOperand output = {
        view("y"),
        wnnGraphBuilderAdd(builder, input, wnnGraphBuilderTensorConstant(builder, constant), NULL)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    // The builder keeps the memory of the tensor, and notices that it was destroyed.
    wnnTensorDestroy(constant);
    wnnTensorRelease(constant);
    struct answer answer = {0};
    require_answer(start_build(builder, "y", output.operand, &answer, WNNCallbackMode_WaitAnyOnly), &answer,
                   WNNStatus_TypeError, answer.message);
    REQUIRE_CONTAINS(answer.message, "destroyed");
    wnnGraphBuilderRelease(builder);

    wait_for(context, compute_chain(context, graph, x, y, 4, tell_nobody()));
    REQUIRE_EQUAL_FLOAT(y[0], 2);
    REQUIRE_EQUAL_FLOAT(y[3], 5);
    wnnGraphRelease(graph);
    wnnTensorRelease(foreign);
    wnnTensorRelease(plain);
}

// ---------------------------------------------------------------------------------------------------------------
// dispatch()
// ---------------------------------------------------------------------------------------------------------------

struct sum_dispatch {
    WNNNamedTensor inputs[3], outputs[3];
    WNNDispatchDescriptor descriptor;
};

static void prepare_dispatch(struct sum_dispatch *call, WNNGraph graph, WNNTensor tensors[4])
{
    *call = (struct sum_dispatch){.inputs = {{view("a"), tensors[0]}, {view("b"), tensors[1]}},
                                  .outputs = {{view("sum"), tensors[2]}, {view("double"), tensors[3]}}};
    call->descriptor = (WNNDispatchDescriptor)WNN_DISPATCH_DESCRIPTOR_INIT;
    call->descriptor.graph = graph;
    call->descriptor.inputCount = call->descriptor.outputCount = 2;
    call->descriptor.inputs = call->inputs;
    call->descriptor.outputs = call->outputs;
}

static void require_dispatch_refused(struct sum_dispatch *call, const char *message)
{
    struct answer answer = {0};
    require_answer(wnnContextDispatch(context, &call->descriptor, tell(&answer, WNNCallbackMode_WaitAnyOnly)),
                   &answer, WNNStatus_TypeError, message);
}

static void test_dispatches(WNNGraph graph, WNNContext other)
{
    static const uint32_t dims[] = {2, 2};
    float data[4] = {1, 2, 3, 4}, result[4];
    WNNTensor t[4];
    for (int i = 0; i < 4; i++)
        t[i] = create_tensor(context, 2, 2);
    WNNTensor foreign = create_tensor(other, 2, 2), wide = create_tensor(context, 1, 4),
              gone = create_tensor(context, 2, 2), constant;
    wnnTensorDestroy(gone);
    WNNTensorDescriptor descriptor = describe_tensor(WNNDataType_Float32, dims, 2);
    REQUIRE_EQUAL_INT(wnnContextCreateConstantTensor(context, &descriptor, data, sizeof data, &constant),
                      WNNStatus_Success);
    WNNGraph foreign_graph = build_sum(other);
    struct sum_dispatch c;

    prepare_dispatch(&c, NULL, t);
    require_dispatch_refused(&c, "dispatch: no graph was given");
    prepare_dispatch(&c, foreign_graph, t);
    require_dispatch_refused(&c, "dispatch: the graph belongs to another context");
    prepare_dispatch(&c, graph, t);
    c.descriptor.inputs = NULL;
    require_dispatch_refused(&c, "dispatch: 2 inputs at no address");
    prepare_dispatch(&c, graph, t);
    c.inputs[0].tensor = NULL;
    require_dispatch_refused(&c, "dispatch: input \"a\" has no tensor");
    prepare_dispatch(&c, graph, t);
    c.inputs[0].tensor = foreign;
    require_dispatch_refused(&c, "dispatch: input \"a\": the tensor belongs to another context");
    prepare_dispatch(&c, graph, t);
    c.outputs[1].tensor = gone;
    require_dispatch_refused(&c, "dispatch: output \"double\": the tensor was destroyed");
    prepare_dispatch(&c, graph, t);
    c.inputs[1].tensor = constant;
    require_dispatch_refused(&c, "dispatch: input \"b\": the tensor is constant");
    prepare_dispatch(&c, graph, t);
    c.inputs[1].tensor = wide;
    c.descriptor.label = view("second");
    require_dispatch_refused(
        &c, "dispatch \"second\": input \"b\": the tensor is float32 [1, 4]; expected float32 [2, 2]");
    prepare_dispatch(&c, graph, t);
    c.descriptor.inputCount = 1;
    require_dispatch_refused(&c, "dispatch: input \"b\" is missing");
    prepare_dispatch(&c, graph, t);
    c.descriptor.outputCount = 1;
    require_dispatch_refused(&c, "dispatch: output \"double\" is missing");
    prepare_dispatch(&c, graph, t);
    c.outputs[0].name = view("a");
    require_dispatch_refused(&c, "dispatch: the graph has no output \"a\"");
    prepare_dispatch(&c, graph, t);
    c.inputs[1].name = view("a");
    require_dispatch_refused(&c, "dispatch: input \"a\" is given twice");
    prepare_dispatch(&c, graph, t);
    c.outputs[0].tensor = c.outputs[1].tensor;
    require_dispatch_refused(&c, "dispatch: \"sum\" and \"double\" are the same tensor");

    prepare_dispatch(&c, graph, t);
    wnnContextWriteTensor(context, t[0], data, sizeof data);
    wnnContextWriteTensor(context, t[1], data, sizeof data);
    struct answer answer = {0};
    WNNFuture future = wnnContextDispatch(context, &c.descriptor, tell(&answer, WNNCallbackMode_WaitAnyOnly));
    wait_for(context, wnnContextReadTensor(context, t[2], result, sizeof result, tell_nobody()));
    wait_for(context, future);
    REQUIRE_EQUAL_STR(answer.message, "");
    REQUIRE_EQUAL_FLOAT(result[3], 8);

    for (int i = 0; i < 4; i++)
        wnnTensorRelease(t[i]);
    wnnTensorRelease(foreign);
    wnnTensorRelease(wide);
    wnnTensorRelease(gone);
    wnnTensorRelease(constant);
    wnnGraphRelease(foreign_graph);
}

// ---------------------------------------------------------------------------------------------------------------
// build()
// ---------------------------------------------------------------------------------------------------------------

static void test_builds(void)
{
    WNNGraphBuilder builder = create_builder(context);
    struct answer answer = {0};
    const WNNBuildCallbackInfo info = {NULL, WNNCallbackMode_WaitAnyOnly, on_build, &answer, NULL};
    require_answer(wnnGraphBuilderBuild(builder, 0, NULL, info), &answer, WNNStatus_TypeError,
                   answer.message);
    REQUIRE_CONTAINS(answer.message, "no outputs");
    // The first error of the builder is the answer.
    add_input(builder, "", 1, 1);
    WNNError first;
    wnnGraphBuilderGetError(builder, &first);
    REQUIRE_EQUAL_INT(first.status, WNNStatus_TypeError);
    char message[256];
    snprintf(message, sizeof message, "%s", first.message.data);
    answer.calls = 0;
    require_answer(start_build(builder, "y", NULL, &answer, WNNCallbackMode_WaitAnyOnly), &answer,
                   WNNStatus_TypeError, message);
    wnnGraphBuilderClearError(builder);
    // Nobody to take the graph.
    WNNNamedOperand output = {view("y"), wnnGraphBuilderRelu(builder, add_input(builder, "x", 1, 2), NULL)};
    WNNBuildCallbackInfo nobody = WNN_BUILD_CALLBACK_INFO_INIT;
    error.calls = 0;
    wait_for(context, wnnGraphBuilderBuild(builder, 1, &output, nobody));
    require_reported(error.status, WNNStatus_TypeError, "build: there is no callback to take the graph");
    REQUIRE_EQUAL_INT(counters_of(context).graphs, 0);

    // Two builds of one builder; inputs that no output needs are not inputs of the graph.
    add_input(builder, "unused", 3, 3);
    WNNGraph one = build_outputs(context, builder, 1, &output);
    WNNNamedOperand outputs[] = {{view("z"), wnnGraphBuilderNeg(builder, output.operand, NULL)}, output};
    WNNGraph two = build_outputs(context, builder, 2, outputs);
    wnnGraphBuilderRelease(builder);
    size_t count;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(one, &count);
    REQUIRE_EQUAL_INT(count, 1);
    REQUIRE_EQUAL_VIEW(inputs[0].name, "x");
    REQUIRE_EQUAL_INT(inputs[0].descriptor.shape.count, 2);
    REQUIRE_EQUAL_INT(inputs[0].descriptor.shape.data[1], 2);
    const WNNNamedDescriptor *ports = wnnGraphGetOutputs(two, &count);
    REQUIRE_EQUAL_INT(count, 2);
    REQUIRE_EQUAL_VIEW(ports[0].name, "z");
    REQUIRE_EQUAL_VIEW(ports[1].name, "y");
    REQUIRE_EQUAL_INT(ports[0].descriptor.dataType, WNNDataType_Float32);
    REQUIRE(wnn_graph_plan(one) && wnn_graph_plan(one)->graph.node_count == 1);
    wnnGraphRelease(one);
    wnnGraphRelease(two);
    wnnGraphBuilderRelease(NULL);
    wnnGraphRelease(NULL);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    context = create_gated_context(&error, NULL);
    WNNContext other = create_gated_context(NULL, NULL);
    uint64_t bytes = counters_of(context).allocatedBytes;
    WNNGraph sum = build_sum(context), chain = build_chain(context, 1, 4);
    CASE(test_refused_computes(sum, other));
    CASE(test_accepted_computes(sum));
    CASE(test_misaligned_memory(sum));
    CASE(test_many_ports());
    CASE(test_complete_outputs());
    CASE(test_refused_tensors());
    CASE(test_transfers(other));
    CASE(test_destroyed_tensor(chain));
    CASE(test_constant_tensors(other));
    CASE(test_dispatches(sum, other));
    wnnGraphRelease(sum);
    wnnGraphRelease(chain);
    CASE(test_builds());
    require_bytes(context, bytes);
    wnnContextRelease(other);
    wnnContextRelease(context);
    return cases_end();
}
