// SPDX-License-Identifier: Apache-2.0
//
// The operators as data, and calls by name: they record what the functions of webnn/ops.h record.

#include "conformance/unit/runtime_fixture.h"

#include <webnn/reflection.h>

static WNNOperatorInfo operator_of(const char *name, uint32_t *index)
{
    WNNOperatorInfo info = WNN_OPERATOR_INFO_INIT;
    *index = wnnFindOperator(view(name));
    REQUIRE(*index != WNN_INDEX_NONE);
    REQUIRE_EQUAL_INT(wnnGetOperatorInfo(*index, &info), WNNStatus_Success);
    REQUIRE_EQUAL_VIEW(info.name, name);
    return info;
}

static WNNAttributeInfo attribute_of(const char *operator_name, const char *name, WNNAttributeType type)
{
    uint32_t op;
    WNNAttributeInfo info = WNN_ATTRIBUTE_INFO_INIT;
    size_t count = operator_of(operator_name, &op).attributeCount;
    for (uint32_t i = 0; i < count; i++) {
        REQUIRE_EQUAL_INT(wnnGetAttributeInfo(op, i, &info), WNNStatus_Success);
        if (info.type == type && strcmp(info.name.data, name) == 0)
            return info;
    }
    fprintf(stderr, "%s has no attribute %s\n", operator_name, name);
    exit(1);
}

static void test_table(void)
{
    REQUIRE_EQUAL_INT(wnnGetOperatorCount(), 112); // 95, 14 of a draft, three forms of 2024
    for (uint32_t op = 0; op < wnnGetOperatorCount(); op++) {
        WNNOperatorInfo info = WNN_OPERATOR_INFO_INIT;
        WNNOperandInfo operand = WNN_OPERAND_INFO_INIT, other = WNN_OPERAND_INFO_INIT;
        WNNAttributeInfo attribute = WNN_ATTRIBUTE_INFO_INIT;
        REQUIRE_EQUAL_INT(wnnGetOperatorInfo(op, &info), WNNStatus_Success);
        REQUIRE_EQUAL_INT(wnnFindOperator(info.name), op);
        REQUIRE(info.operandCount >= 2);
        for (uint32_t i = 0; i < info.operandCount; i++) {
            REQUIRE_EQUAL_INT(wnnGetOperandInfo(op, i, &operand), WNNStatus_Success);
            REQUIRE(operand.name.length > 0 && operand.minRank <= operand.maxRank);
            REQUIRE((operand.dataTypes == 0) == (operand.typeOf != WNN_INDEX_NONE));
            if (operand.typeOf != WNN_INDEX_NONE) {
                REQUIRE_EQUAL_INT(wnnGetOperandInfo(op, operand.typeOf, &other), WNNStatus_Success);
                REQUIRE(other.kind == WNNOperandKind_Input && operand.typeOf != i);
            }
        }
        REQUIRE_EQUAL_INT(operand.kind, WNNOperandKind_Output); // outputs come last
        REQUIRE_EQUAL_INT(wnnGetOperandInfo(op, (uint32_t)info.operandCount, &operand), WNNStatus_TypeError);
        for (uint32_t i = 0; i < info.attributeCount; i++) {
            REQUIRE_EQUAL_INT(wnnGetAttributeInfo(op, i, &attribute), WNNStatus_Success);
            REQUIRE(attribute.name.length > 0 && attribute.place <= i);
            REQUIRE((attribute.type == WNNAttributeType_Enumerator) == (attribute.enumeratorCount > 0));
            REQUIRE_EQUAL_INT(attribute.defaultValue.type,
                              attribute.isArgument ? WNNAttributeType_Undefined : attribute.type);
        }
        REQUIRE_EQUAL_INT(wnnGetAttributeInfo(op, (uint32_t)info.attributeCount, &attribute),
                          WNNStatus_TypeError);
    }
    WNNOperatorInfo info = WNN_OPERATOR_INFO_INIT;
    WNNChainedStruct unknown = {NULL, 12345};
    REQUIRE_EQUAL_INT(wnnGetOperatorInfo(112, &info), WNNStatus_TypeError);
    info.nextInChain = &unknown;
    REQUIRE_EQUAL_INT(wnnGetOperatorInfo(0, &info), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnFindOperator(view("attention")), WNN_INDEX_NONE); // the compiler's own
    REQUIRE_EQUAL_INT(wnnFindOperator(view("conv")), WNN_INDEX_NONE);
    REQUIRE_EQUAL_INT(wnnFindOperator((WNNStringView)WNN_STRING_VIEW_INIT), WNN_INDEX_NONE);
}

static void test_details(void)
{
    uint32_t op;
    WNNOperandInfo bias = WNN_OPERAND_INFO_INIT;
    REQUIRE(operator_of("relu", &op).isActivation && !operator_of("conv2d", &op).isActivation);
    REQUIRE_EQUAL_INT(wnnGetOperandInfo(op, 2, &bias), WNNStatus_Success);
    REQUIRE_EQUAL_VIEW(bias.name, "bias");
    REQUIRE(bias.kind == WNNOperandKind_Option && bias.isOptional && bias.typeOf == 0 && bias.maxRank == 1);
    WNNAttributeInfo layout = attribute_of("conv2d", "filterLayout", WNNAttributeType_Enumerator);
    REQUIRE_EQUAL_INT(layout.enumeratorCount, 4);
    REQUIRE_EQUAL_STR(layout.enumerators[WNNConv2dFilterOperandLayout_OHWI - 1], "ohwi");
    REQUIRE_EQUAL_INT(layout.defaultValue.value.i32, WNNConv2dFilterOperandLayout_OIHW);
    REQUIRE(attribute_of("elu", "alpha", WNNAttributeType_Float64).defaultValue.value.f64 == 1);
    REQUIRE(attribute_of("reduceSum", "axes", WNNAttributeType_Uint32List).defaultValue.value.u32List.count ==
            WNN_LIST_ABSENT);
    REQUIRE(attribute_of("softmax", "axis", WNNAttributeType_Uint32).isArgument);
    REQUIRE_EQUAL_INT(attribute_of("cast", "dataType", WNNAttributeType_DataType).place,
                      attribute_of("cast", "type", WNNAttributeType_DataType).place);
}

// ---------------------------------------------------------------------------------------------------------------
// Calls
// ---------------------------------------------------------------------------------------------------------------

static WNNContext context;
static WNNGraphBuilder b;

#define U32(key, number)                                                                                     \
    {                                                                                                        \
        view(key),                                                                                           \
        {                                                                                                    \
            WNNAttributeType_Uint32,                                                                         \
            {                                                                                                \
                .u32 = (number)                                                                              \
            }                                                                                                \
        }                                                                                                    \
    }
#define F64(key, number)                                                                                     \
    {                                                                                                        \
        view(key),                                                                                           \
        {                                                                                                    \
            WNNAttributeType_Float64,                                                                        \
            {                                                                                                \
                .f64 = (number)                                                                              \
            }                                                                                                \
        }                                                                                                    \
    }
#define U32S(key, ...)                                                                                       \
    {                                                                                                        \
        view(key),                                                                                           \
        {                                                                                                    \
            WNNAttributeType_Uint32List,                                                                     \
            {                                                                                                \
                .u32List = {                                                                                 \
                    (uint32_t[]){__VA_ARGS__},                                                               \
                    sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)                                     \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
#define OPERAND(key, handle)                                                                                 \
    {                                                                                                        \
        view(key),                                                                                           \
        {                                                                                                    \
            WNNAttributeType_Operand,                                                                        \
            {                                                                                                \
                .operand = (handle)                                                                          \
            }                                                                                                \
        }                                                                                                    \
    }

static size_t call(const char *name, size_t input_count, const WNNOperand *inputs, size_t attribute_count,
                   const WNNNamedAttribute *attributes, WNNOperand outputs[4])
{
    WNNOperatorCall made = WNN_OPERATOR_CALL_INIT;
    made.name = view(name);
    made.label = view("by name");
    made.inputCount = input_count;
    made.inputs = inputs;
    made.attributeCount = attribute_count;
    made.attributes = attributes;
    return wnnGraphBuilderCall(b, &made, 4, outputs);
}

static void require_error(const char *part)
{
    WNNError error = WNN_ERROR_INIT;
    wnnGraphBuilderGetError(b, &error);
    REQUIRE_EQUAL_INT(error.status, WNNStatus_TypeError);
    REQUIRE_CONTAINS(error.message.data, part);
    wnnGraphBuilderClearError(b);
}

static void require_shape(WNNOperand operand, size_t rank, const uint32_t *dims)
{
    WNNUint32List shape = wnnOperandGetShape(operand);
    REQUIRE_EQUAL_INT(shape.count, rank);
    REQUIRE(memcmp(shape.data, dims, rank * sizeof *dims) == 0);
}

static void test_calls(void)
{
    WNNOperand x = add_input(b, "x", 6, 4), w = add_input(b, "w", 4, 5), c = add_input(b, "c", 6, 5), out[4];
    const WNNNamedAttribute gemm[] = {OPERAND("c", c), F64("alpha", 0.5)};
    REQUIRE_EQUAL_INT(call("gemm", 2, (WNNOperand[]){x, w}, 2, gemm, out), 1);
    require_shape(out[0], 2, (uint32_t[]){6, 5});
    REQUIRE(!out[1]);
    const WNNNamedAttribute number[] = {U32("splits", 3), U32("axis", 0)}, sizes[] = {U32S("splits", 1, 5)};
    REQUIRE_EQUAL_INT(call("split", 1, &x, 2, number, out), 3);
    require_shape(out[2], 2, (uint32_t[]){2, 4});
    REQUIRE_EQUAL_INT(call("split", 1, &x, 1, sizes, out), 2);
    require_shape(out[1], 2, (uint32_t[]){5, 4});
    const WNNNamedAttribute axis[] = {U32("axis", 1)};
    REQUIRE_EQUAL_INT(call("concat", 3, (WNNOperand[]){x, x, c}, 1, axis, out), 1);
    require_shape(out[0], 2, (uint32_t[]){6, 13});
    REQUIRE_EQUAL_INT(call("relu", 1, &x, 0, NULL, out), 1);
    const WNNNamedAttribute type[] = {
        {view("type"), {WNNAttributeType_DataType, {.dataType = WNNDataType_Int32}}}};
    REQUIRE_EQUAL_INT(call("cast", 1, &x, 1, type, out), 1);
    REQUIRE_EQUAL_INT(wnnOperandGetDataType(out[0]), WNNDataType_Int32);
    // The label stands in messages.
    REQUIRE_EQUAL_INT(call("matmul", 2, (WNNOperand[]){x, x}, 0, NULL, out), 0);
    require_error("matmul \"by name\": ");
}

static void test_refusals(void)
{
    WNNOperand x = add_input(b, "refused", 6, 4), out[4];
    const WNNNamedAttribute axis[] = {U32("axis", 1), U32("axis", 1)}, unknown[] = {U32("groups", 1)},
                            wrong[] = {U32S("axis", 1)},
                            untyped[] = {{view("axis"), WNN_ATTRIBUTE_VALUE_INIT}},
                            both[] = {U32("splits", 2), U32S("splits", 3, 3)},
                            nameless[] = {{{NULL, 5}, {WNNAttributeType_Uint32, {.u32 = 1}}}};
    REQUIRE_EQUAL_INT(call("blur", 1, &x, 0, NULL, out), 0);
    require_error("there is no operator \"blur\"");
    REQUIRE_EQUAL_INT(call("softmax", 1, &x, 0, NULL, out), 0);
    require_error("softmax lacks its argument axis");
    REQUIRE_EQUAL_INT(call("softmax", 1, &x, 2, axis, out), 0);
    require_error("softmax has its attribute \"axis\" twice");
    REQUIRE_EQUAL_INT(call("split", 1, &x, 2, both, out), 0);
    require_error("split has its attribute \"splits\" twice");
    REQUIRE_EQUAL_INT(call("softmax", 1, &x, 1, unknown, out), 0);
    require_error("softmax has no attribute \"groups\"");
    REQUIRE_EQUAL_INT(call("softmax", 1, &x, 1, wrong, out), 0);
    require_error("no attribute \"axis\" of type 6");
    REQUIRE_EQUAL_INT(call("softmax", 1, &x, 1, untyped, out), 0);
    require_error("of type 0");
    REQUIRE_EQUAL_INT(call("softmax", 1, &x, 1, nameless, out), 0);
    require_error("the name of an attribute");
    for (size_t count = 0; count <= 3; count++) {
        REQUIRE_EQUAL_INT(call("add", count, (WNNOperand[]){x, x, x}, 0, NULL, out), count == 2);
        if (count != 2)
            require_error("expected 2");
    }
    REQUIRE_EQUAL_INT(call("add", 2, NULL, 0, NULL, out), 0);
    require_error("not both are there");
    REQUIRE_EQUAL_INT(call("concat", 0, NULL, 1, axis, out), 0);
    require_error("concat");
    REQUIRE_EQUAL_INT(wnnGraphBuilderCall(b, NULL, 4, out), 0);
    require_error("there is no call");
    WNNOperatorCall made = WNN_OPERATOR_CALL_INIT;
    WNNChainedStruct chained = {NULL, 12345};
    made.nextInChain = &chained;
    REQUIRE_EQUAL_INT(wnnGraphBuilderCall(b, &made, 4, out), 0);
    require_error("12345");
    REQUIRE_EQUAL_INT(wnnGraphBuilderCall(NULL, &made, 4, out), 0);
    REQUIRE(!wnnGraphBuilderCallActivation(NULL, &made));
}

static void test_activations(void)
{
    WNNOperatorCall made = WNN_OPERATOR_CALL_INIT;
    WNNOperand x = add_input(b, "activated", 6, 4);
    const WNNNamedAttribute alpha[] = {F64("alpha", 0.25)};
    made.name = view("elu");
    made.attributeCount = 1;
    made.attributes = alpha;
    REQUIRE(wnnGraphBuilderCallActivation(b, &made));
    made.name = view("softmax"); // whose axis is no argument here
    made.attributeCount = 0;
    REQUIRE(wnnGraphBuilderCallActivation(b, &made));
    made.name = view("add");
    REQUIRE(!wnnGraphBuilderCallActivation(b, &made));
    require_error("add is not an activation");
    made.name = view("relu");
    made.inputCount = 1;
    made.inputs = &x;
    REQUIRE(!wnnGraphBuilderCallActivation(b, &made));
    require_error("the activation relu has inputs");
}

// The same graph by both ways computes the same.
static void test_graph(void)
{
    WNNOperand x = add_input(b, "in", 2, 2), out[4];
    const WNNNamedAttribute clamp[] = {
        {view("minValue"), {WNNAttributeType_Number, {.number = wnnNumberFloat64(-1)}}},
        {view("maxValue"), {WNNAttributeType_Number, {.number = wnnNumberFloat64(2)}}}};
    REQUIRE_EQUAL_INT(call("clamp", 1, &x, 2, clamp, out), 1);
    WNNNamedOperand output = {view("out"), out[0]};
    WNNGraph graph;
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(b, 1, &output, &graph, 0, NULL), WNNStatus_Success);
    float in[4] = {-5, -0.5f, 1, 7}, result[4];
    WNNNamedBuffer from = {view("in"), in, sizeof in, WNNDataType_Float32},
                   to = {view("out"), result, sizeof result, WNNDataType_Float32};
    WNNComputeDescriptor compute = {NULL, WNN_STRING_VIEW_INIT, graph, 1, 1, &from, &to};
    REQUIRE_EQUAL_INT(wnnContextComputeSync(context, &compute, 0, NULL), WNNStatus_Success);
    REQUIRE(result[0] == -1 && result[1] == -0.5f && result[2] == 1 && result[3] == 2);
    wnnGraphRelease(graph);
}

int main(void)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    b = create_builder(context);
    test_table();
    test_details();
    test_calls();
    test_refusals();
    test_activations();
    test_graph();
    wnnGraphBuilderRelease(b);
    wnnContextRelease(context);
    return 0;
}
