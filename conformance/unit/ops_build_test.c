// SPDX-License-Identifier: Apache-2.0
//
// Validation of build(): https://www.w3.org/TR/webnn/#api-mlgraphbuilder-build.

#include "conformance/unit/validation.h"

static WNNStatus status;
static char message[1024];
static WNNGraph graph;

static void on_build(WNNStatus got, WNNGraph made, WNNStringView text, void *userdata1, void *userdata2)
{
    (void)userdata1, (void)userdata2;
    status = got;
    graph = made;
    snprintf(message, sizeof message, "%.*s", (int)text.length, text.data);
}

static void build(size_t count, const WNNNamedOperand *outputs)
{
    WNNBuildCallbackInfo info = WNN_BUILD_CALLBACK_INFO_INIT;
    info.callback = on_build;
    status = WNNStatus_Force32;
    WNNFutureWaitInfo wait = {wnnGraphBuilderBuild(b, count, outputs, info), false};
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER), WNNWaitStatus_Success);
}

#define NAMED(...) ((WNNNamedOperand[]){__VA_ARGS__})
#define COUNT(...) (sizeof NAMED(__VA_ARGS__) / sizeof(WNNNamedOperand))

#define BUILD_REFUSES(refusal, text, ...)                                                                    \
    do {                                                                                                     \
        build(COUNT(__VA_ARGS__), NAMED(__VA_ARGS__));                                                       \
        REQUIRE_EQUAL_STR(message, text);                                                                    \
        REQUIRE_EQUAL_INT(status, WNNStatus_##refusal);                                                      \
        REQUIRE(!graph);                                                                                     \
    } while (0)

#define BUILDS(...)                                                                                          \
    do {                                                                                                     \
        build(COUNT(__VA_ARGS__), NAMED(__VA_ARGS__));                                                       \
        REQUIRE_EQUAL_STR(message, "");                                                                      \
        REQUIRE_EQUAL_INT(status, WNNStatus_Success);                                                        \
    } while (0)

static WNNOperand input(WNNStringView name, uint32_t size)
{
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, LIST(size)};
    return wnnGraphBuilderInput(b, name, &descriptor);
}

static void test_outputs(void)
{
    begin(NULL);
    WNNOperand x = input(view("x"), 2), y = wnnGraphBuilderRelu(b, x, NULL);
    WNNOperand one = wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberInt64(1));
    build(0, NULL);
    REQUIRE_EQUAL_STR(message, "build: there are no outputs");
    REQUIRE_EQUAL_INT(status, WNNStatus_TypeError);
    build(1, NULL);
    REQUIRE_EQUAL_STR(message, "build: there are no outputs");
    BUILD_REFUSES(TypeError, "build: the name of output 1 is empty", {view("y"), y}, {view(""), y});
    BUILD_REFUSES(TypeError, "build: the name of an output is not well-formed UTF-8", {view("\xFF"), y});
    BUILD_REFUSES(TypeError, "build: the name of an output has 2 bytes but no data", {{NULL, 2}, y});
    BUILD_REFUSES(TypeError, "build: output \"y\" is NULL", {view("y"), NULL});
    BUILD_REFUSES(TypeError, "build: output \"y\\u{202E}\" is an input; identity() makes an output of it",
                  {view("y\u202E"), x});
    BUILD_REFUSES(TypeError, "build: output \"y\" is a constant; identity() makes an output of it",
                  {view("y"), one});
    BUILD_REFUSES(TypeError, "build: there is an output \"a\" twice", {view("a"), y}, {view("b"), y},
                  {view("a"), y});
    BUILD_REFUSES(TypeError, "build: there is an output \"a\\u{0}b\" twice", {{"a\0b", 3}, y},
                  {{"a\0b", 3}, y});
    // Names that differ behind a NUL, an operand under two names, an output with the name of an input.
    BUILDS({{"a\0b", 3}, y}, {{"a\0c", 3}, y}, {view("x"), y});
    size_t count;
    const WNNNamedDescriptor *outputs = wnnGraphGetOutputs(graph, &count);
    REQUIRE_EQUAL_INT(count, 3);
    REQUIRE_EQUAL_INT(outputs[0].name.length, 3);
    REQUIRE(memcmp(outputs[1].name.data, "a\0c", 3) == 0);
    REQUIRE_EQUAL_INT(outputs[2].descriptor.dataType, WNNDataType_Float32);
    REQUIRE_EQUAL_INT(outputs[2].descriptor.shape.count, 1);
    wnnGraphRelease(graph);

    WNNGraphBuilder own = b, other;
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &other), WNNStatus_Success);
    b = other;
    BUILD_REFUSES(TypeError, "build: output \"y\" is an operand of another builder", {view("y"), y});
    b = own;
    wnnGraphBuilderRelease(other);

    // The builder may go on and build again; each graph is what there was.
    WNNOperand z = wnnGraphBuilderTanh(b, y, NULL);
    BUILDS({view("z"), z});
    wnnGraphRelease(graph);
    // The builder's error is the result.
    REQUIRE(!wnnGraphBuilderAdd(b, x, input(view("w"), 3), NULL));
    BUILD_REFUSES(TypeError, "add: a [2] and b [3] cannot be broadcast together", {view("z"), z});
    end();
}

static void test_inputs(void)
{
    begin(NULL);
    WNNOperand x = input(view("x"), 2), again = input(view("x"), 2), unused = input(view("u"), 2);
    WNNOperand y = wnnGraphBuilderAdd(b, x, again, NULL), z = wnnGraphBuilderAdd(b, x, x, NULL);
    (void)unused;
    BUILD_REFUSES(TypeError, "build: there is an input \"x\" twice", {view("y"), y});
    // Only what is reachable counts.
    BUILDS({view("z"), z});
    size_t count;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, &count);
    REQUIRE_EQUAL_INT(count, 1);
    REQUIRE_EQUAL_VIEW(inputs[0].name, "x");
    wnnGraphRelease(graph);
    end();

    // Reachable are scale and zeroPoint too.
    begin(NULL);
    WNNOperand zero = operand(WNNDataType_Int8, LIST(1));
    WNNOperand q =
        wnnGraphBuilderQuantizeLinear(b, input(view("value"), 1), input(view("scale"), 1), zero, NULL);
    BUILDS({view("q"), q});
    REQUIRE(wnnGraphGetInputs(graph, &count));
    REQUIRE_EQUAL_INT(count, 3);
    wnnGraphRelease(graph);
    // No inputs at all.
    WNNOperand one = wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberInt64(1));
    BUILDS({view("y"), wnnGraphBuilderIdentity(b, one, NULL)});
    wnnGraphGetInputs(graph, &count);
    REQUIRE_EQUAL_INT(count, 0);
    wnnGraphRelease(graph);
    end();
}

static void test_tensor(void)
{
    begin(NULL);
    static const float data[2];
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = LIST(2);
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(wnnContextCreateConstantTensor(context, &descriptor, data, sizeof data, &tensor),
                      WNNStatus_Success);
    WNNOperand x = input(view("x"), 2),
               y = wnnGraphBuilderAdd(b, x, wnnGraphBuilderTensorConstant(b, tensor), NULL);
    BUILDS({view("y"), y});
    wnnTensorDestroy(tensor);
    wnnGraphRelease(graph);
    BUILD_REFUSES(TypeError, "build: a constant's tensor has been destroyed", {view("y"), y});
    BUILDS({view("z"), wnnGraphBuilderRelu(b, x, NULL)}); // does not need it
    wnnGraphRelease(graph);
    wnnTensorRelease(tensor);
    end();
}

static void test_limits(void)
{
    WNNLimits limits = {0};
    limits.maxInputsAndOutputs = 3;
    limits.maxGraphWork = 6;
    begin(&limits);
    WNNOperand x = input(view("x"), 2), w = input(view("w"), 2);
    WNNOperand y = wnnGraphBuilderAdd(b, x, w, NULL), z = wnnGraphBuilderRelu(b, y, NULL);
    WNNOperand last = wnnGraphBuilderTanh(b, z, NULL);
    BUILD_REFUSES(TypeError, "build: 4 outputs; expected at most 3", {view("1"), y}, {view("2"), y},
                  {view("3"), y}, {view("4"), y});
    BUILD_REFUSES(TypeError, "build: 4 inputs and outputs; expected at most 3", {view("1"), y},
                  {view("2"), z});
    BUILDS({view("last"), last});
    wnnGraphRelease(graph);
    BUILD_REFUSES(OperationError, "build: the graph takes more than 6 multiply-adds",
                  {view("y"), wnnGraphBuilderSigmoid(b, last, NULL)});
    end();

    limits = (WNNLimits){.maxTotalStringBytes = 6};
    begin(&limits);
    y = wnnGraphBuilderRelu(b, input(view("x"), 2), NULL);
    BUILDS({view("12345"), y});
    wnnGraphRelease(graph);
    BUILD_REFUSES(OutOfMemory, "build: the names of outputs have more than the limit of 6 bytes in all",
                  {view("123456"), y});
    BUILD_REFUSES(OutOfMemory, "build: the names of outputs have more than the limit of 6 bytes in all",
                  {view("12"), y}, {view("34"), y}, {view("5"), y});
    end();
}

static void test_callbacks(void)
{
    begin(NULL);
    WNNOperand y = wnnGraphBuilderRelu(b, input(view("x"), 2), NULL);
    WNNNamedOperand output = {view("y"), y};
    const WNNChainedStruct chain = {NULL, 5};
    WNNBuildCallbackInfo info = WNN_BUILD_CALLBACK_INFO_INIT;
    info.callback = on_build;
    info.nextInChain = &chain;
    WNNFutureWaitInfo wait = {wnnGraphBuilderBuild(b, 1, &output, info), false};
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER), WNNWaitStatus_Success);
    REQUIRE_EQUAL_INT(status, WNNStatus_TypeError);
    // A lost context comes before everything else.
    wnnContextDestroy(context);
    build(0, NULL);
    REQUIRE_EQUAL_INT(status, WNNStatus_InvalidStateError);
    end();
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_outputs());
    CASE(test_inputs());
    CASE(test_tensor());
    CASE(test_limits());
    CASE(test_callbacks());
    return cases_end();
}
