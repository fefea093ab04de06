// SPDX-License-Identifier: Apache-2.0
//
// Serialized graphs: the bytes, what they are read as, what is refused, and who runs out of what.

#include "conformance/serialized.h"
#include "conformance/unit/runtime_fixture.h"
#include "ops/builder.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static WNNContext context;

// A builder of the context for one case, and one to read into.
static WNNGraphBuilder b, to;

static void renew(void)
{
    wnnGraphBuilderRelease(b);
    wnnGraphBuilderRelease(to);
    b = create_builder(context);
    to = create_builder(context);
}

static WNNOperandDescriptor describe(WNNDataType type, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){dims, rank};
    return descriptor;
}

static WNNOperand input(const char *name, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = describe(WNNDataType_Float32, dims, rank);
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}

static WNNOperand weights(const uint32_t *dims, size_t rank)
{
    static float values[4096];
    WNNOperandDescriptor descriptor = describe(WNNDataType_Float32, dims, rank);
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(i % 9) * 0.125f - 0.5f;
    return wnnGraphBuilderConstant(b, &descriptor, values, count * sizeof *values);
}

static void require_builder_error(WNNGraphBuilder builder, WNNStatus status, const char *part)
{
    WNNError error = WNN_ERROR_INIT;
    wnnGraphBuilderGetError(builder, &error);
    REQUIRE_EQUAL_INT(error.status, status);
    REQUIRE_CONTAINS(error.message.data, part);
    wnnGraphBuilderClearError(builder);
}

// ---------------------------------------------------------------------------------------------------------------
// The bytes
// ---------------------------------------------------------------------------------------------------------------

// y = clamp(x + c): what webnn/serialize.h says, byte by byte.
// clang-format off
static const unsigned char golden[] = {
    'W', 'N', 'N', 'G', 'R', 'A', 'P', 'H', 1, 0, 0, 0, 0, 0, 0, 0,
    4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    184, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0,
    // byte 48, record 0: the input "x", float32 [3]
    1, 0, 0, 0, 1, 1, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 'x', 0, 0, 0,
    // byte 68, record 1: a constant by value, float32 []
    2, 0, 0, 0, 1, 0, 0, 0,
    // byte 76, record 2: add, labeled "sum", of operands 0 and 1
    5, 0, 0, 0, 3, 0, 0, 0, 'a', 'd', 'd', 0, 3, 0, 0, 0, 's', 'u', 'm', 0,
    2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
    0, 0, 0, 0,
    1, 0, 0, 0, 1, 1, 0, 0,
    // byte 120, record 3: clamp without a label, of operand 2
    5, 0, 0, 0, 5, 0, 0, 0, 'c', 'l', 'a', 'm', 'p', 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 2, 0, 0, 0,
    2, 0, 0, 0,
    8, 0, 0, 0, 'm', 'i', 'n', 'V', 'a', 'l', 'u', 'e', 5, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0xBF, // -1
    8, 0, 0, 0, 'm', 'a', 'x', 'V', 'a', 'l', 'u', 'e', 5, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0x40,    // 2.5
    1, 0, 0, 0, 1, 1, 0, 0,
    // byte 216: the output "y", operand 3
    1, 0, 0, 0, 'y', 0, 0, 0, 3, 0, 0, 0,
    // byte 228: zeros up to a multiple of 8
    0, 0, 0, 0,
    // byte 232, data: 0.5f
    0, 0, 0, 0x3F, 0, 0, 0, 0};
// clang-format on

static WNNNamedOperand record_golden(void)
{
    WNNOperand x = input("x", DIMS(3)), c;
    WNNOperatorOptions sum = WNN_OPERATOR_OPTIONS_INIT;
    WNNClampOptions clamp = WNN_CLAMP_OPTIONS_INIT;
    sum.label = view("sum");
    clamp.minValue = wnnNumberFloat64(-1);
    clamp.maxValue = wnnNumberFloat64(2.5);
    c = wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberFloat64(0.5));
    WNNOperand y = wnnGraphBuilderClamp(b, wnnGraphBuilderAdd(b, x, c, &sum), &clamp);
    return (WNNNamedOperand){view("y"), y};
}

static void test_bytes(void)
{
    renew();
    struct serialized bytes = {0};
    WNNNamedOperand y = record_golden();
    REQUIRE_EQUAL_INT(wnn_serialize(b, 1, &y, false, &bytes, 0, NULL), WNNStatus_Success);
    REQUIRE_EQUAL_INT(bytes.size, sizeof golden);
    for (size_t i = 0; i < sizeof golden; i++)
        if (bytes.data[i] != golden[i]) {
            fprintf(stderr, "byte %zu is %u; expected %u\n", i, bytes.data[i], golden[i]);
            REQUIRE(bytes.data[i] == golden[i]);
        }
    free(bytes.data);
}

// Reads bytes with `size` of them changed at `at`, from a copy of exactly that length.
static WNNStatus read_changed(size_t at, size_t size, const void *with, size_t length,
                              WNNDeserializedGraph *graph)
{
    unsigned char *copy = malloc(length + !length);
    memcpy(copy, golden, length);
    if (size)
        memcpy(copy + at, with, size);
    WNNDeserializeDescriptor descriptor = WNN_DESERIALIZE_DESCRIPTOR_INIT;
    descriptor.data = copy;
    descriptor.byteLength = length;
    *graph = (WNNDeserializedGraph)WNN_DESERIALIZED_GRAPH_INIT;
    WNNStatus status = wnnGraphBuilderDeserialize(to, &descriptor, graph);
    free(copy);
    return status;
}

static void test_reading(void)
{
    renew();
    WNNDeserializedGraph graph;
    REQUIRE_EQUAL_INT(read_changed(0, 0, NULL, sizeof golden, &graph), WNNStatus_Success);
    REQUIRE_EQUAL_INT(graph.outputCount, 1);
    REQUIRE_EQUAL_INT(graph.operandCount, 4);
    REQUIRE_EQUAL_VIEW(graph.outputs[0].name, "y");
    REQUIRE(graph.outputs[0].operand == graph.operands[3]);
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperatorCount(to), 2);
    WNNRecordedOperator sum = WNN_RECORDED_OPERATOR_INIT;
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperator(to, 0, &sum), WNNStatus_Success);
    REQUIRE_EQUAL_VIEW(sum.call.label, "sum");
    REQUIRE(sum.call.inputs[0] == graph.operands[0] && sum.call.inputs[1] == graph.operands[1]);
    // It goes behind what is there already.
    REQUIRE_EQUAL_INT(read_changed(0, 0, NULL, sizeof golden, &graph), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnOperandGetIndex(graph.operands[0]), 4);
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperatorCount(to), 4);
    // A graph of it computes.
    WNNGraph built = build_outputs(context, to, 1, graph.outputs);
    float in[3] = {-9, 1, 9}, out[3];
    WNNNamedBuffer from = {view("x"), in, sizeof in, WNNDataType_Float32},
                   result = {view("y"), out, sizeof out, WNNDataType_Float32};
    WNNComputeDescriptor compute = {NULL, WNN_STRING_VIEW_INIT, built, 1, 1, &from, &result};
    REQUIRE_EQUAL_INT(wnnContextComputeSync(context, &compute, 0, NULL), WNNStatus_Success);
    REQUIRE(out[0] == -1 && out[1] == 1.5f && out[2] == 2.5f);
    wnnGraphRelease(built);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

// Operators whose attributes are of all types, and sources between them. Returns the number of outputs.
static size_t record_everything(WNNNamedOperand outputs[8])
{
    static const char *const names[] = {"image", "gemm",   "gru",  "lstm",
                                        "split", "argMax", "cast", "s\xc3\xa4ge"};
    WNNOperand x = input("image", DIMS(1, 2, 5, 5)), y[8], several[8] = {NULL};
    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    conv.label = view("conv");
    conv.padding = LIST(1, 1, 1, 1);
    conv.bias = weights(DIMS(3));
    conv.activation = wnnGraphBuilderActivationHardSigmoid(b, NULL);
    y[0] = wnnGraphBuilderConv2d(b, x, weights(DIMS(3, 2, 3, 3)), &conv);
    WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;
    gemm.alpha = 0.1;
    gemm.aTranspose = true;
    gemm.c = weights(DIMS(4));
    WNNOperand rows = input("rows", DIMS(6, 3));
    y[1] = wnnGraphBuilderGemm(b, rows, weights(DIMS(6, 4)), &gemm);
    WNNGruOptions gru = WNN_GRU_OPTIONS_INIT;
    WNNEluOptions elu = WNN_ELU_OPTIONS_INIT;
    elu.alpha = 0.3;
    WNNActivation activations[] = {wnnGraphBuilderActivationElu(b, &elu),
                                   wnnGraphBuilderActivationTanh(b, NULL)};
    gru.activations = (WNNActivationList){activations, 2};
    gru.layout = WNNGruWeightLayout_RZN;
    gru.returnSequence = true;
    WNNOperand sequence = input("sequence", DIMS(2, 1, 3));
    REQUIRE_EQUAL_INT(
        wnnGraphBuilderGru(b, sequence, weights(DIMS(1, 6, 3)), weights(DIMS(1, 6, 2)), 2, 2, &gru, several),
        2);
    y[2] = several[1];
    WNNLstmOptions lstm = WNN_LSTM_OPTIONS_INIT;
    lstm.direction = WNNRecurrentNetworkDirection_Backward;
    REQUIRE_EQUAL_INT(wnnGraphBuilderLstm(b, sequence, weights(DIMS(1, 8, 3)), weights(DIMS(1, 8, 2)), 2, 2,
                                          &lstm, several),
                      2);
    y[3] = several[1];
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(b, rows, 3, NULL, 8, several), 3);
    y[4] = wnnGraphBuilderConcat(b, 1, (WNNOperand[]){several[2], several[0], several[2]}, 1, NULL);
    WNNArgMinMaxAxesOptions axes = WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT;
    axes.axes = LIST(0, 1);
    axes.selectLastIndex = true;
    y[5] = wnnGraphBuilderArgMaxAxes(b, rows, &axes);
    y[6] = wnnGraphBuilderCast(b, rows, WNNDataType_Uint8, NULL);
    WNNResample2dOptions resample = WNN_RESAMPLE2D_OPTIONS_INIT;
    const float scales[] = {1.5f, 2};
    resample.scales = (WNNFloat32List){scales, 2};
    resample.mode = WNNInterpolationMode_Linear;
    y[7] = wnnGraphBuilderResample2d(b, y[0], &resample);
    for (size_t i = 0; i < 8; i++)
        outputs[i] = (WNNNamedOperand){view(names[i]), y[i]};
    return 8;
}

static void require_across(size_t count, const WNNNamedOperand *outputs, bool by_address,
                           WNNDeserializedGraph *graph)
{
    char message[512];
    *graph = (WNNDeserializedGraph)WNN_DESERIALIZED_GRAPH_INIT;
    const char *problem =
        wnn_serialize_across(b, count, outputs, by_address, to, graph, sizeof message, message);
    REQUIRE_EQUAL_STR(problem ? problem : "", "");
}

static void test_everything(void)
{
    for (int by_address = 0; by_address < 2; by_address++) {
        renew();
        WNNNamedOperand outputs[8];
        WNNDeserializedGraph graph;
        size_t count = record_everything(outputs);
        require_across(count, outputs, by_address, &graph);
        REQUIRE_EQUAL_INT(graph.operandCount, wnnGraphBuilderGetOperandCount(b));
        REQUIRE_EQUAL_INT(graph.outputCount, count);
        for (size_t i = 0; i < count; i++) {
            REQUIRE_EQUAL_VIEW(graph.outputs[i].name, outputs[i].name.data);
            REQUIRE_EQUAL_INT(wnnOperandGetIndex(graph.outputs[i].operand),
                              wnnOperandGetIndex(outputs[i].operand));
        }
        wnnGraphRelease(build_outputs(context, to, graph.outputCount, graph.outputs));
    }
}

// Nothing at all is a graph too, and so is what has no outputs.
static void test_little(void)
{
    renew();
    WNNDeserializedGraph graph;
    require_across(0, NULL, false, &graph);
    REQUIRE_EQUAL_INT(graph.operandCount, 0);
    record_golden();
    require_across(0, NULL, false, &graph);
    REQUIRE_EQUAL_INT(graph.operandCount, 4);
    REQUIRE_EQUAL_INT(graph.outputCount, 0);
    renew();
    WNNOperand x = input("x", DIMS(2));
    WNNNamedOperand twice[] = {{view("a"), x}, {view("a"), x}}; // which build refuses
    require_across(2, twice, false, &graph);
    REQUIRE(graph.outputs[0].operand == graph.outputs[1].operand);
}

// ---------------------------------------------------------------------------------------------------------------
// Constants
// ---------------------------------------------------------------------------------------------------------------

static const float shared_values[] = {1, 2, 3, 4};

struct host {                       // of constants
    WNNConstantReference reference; // that is given, or was asked for
    WNNOperand answer;
    size_t asked;
    unsigned char id[WNN_MAX_CONSTANT_ID + 1];
    WNNStatus status;
};

static WNNStatus refer_to(const WNNRecordedOperand *constant, WNNConstantReference *reference,
                          void *userdata1, void *userdata2)
{
    struct host *host = userdata1;
    (void)userdata2;
    REQUIRE_EQUAL_INT(constant->source, WNNOperandSource_Constant);
    REQUIRE_EQUAL_INT(reference->form, WNNConstantForm_Value);
    host->asked++;
    *reference = host->reference;
    return host->status;
}

static WNNStatus write_to(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    struct serialized *bytes = userdata2;
    (void)userdata1;
    if (!bytes->data)
        bytes->data = malloc(bytes->capacity = size + rest);
    REQUIRE_EQUAL_INT(bytes->size + size + rest, bytes->capacity);
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return WNNStatus_Success;
}

static WNNOperand find_it(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                          const WNNConstantReference *reference, void *userdata1, void *userdata2)
{
    struct host *host = userdata1;
    (void)userdata2;
    REQUIRE(builder == to);
    REQUIRE_EQUAL_INT(descriptor->dataType, WNNDataType_Float32);
    host->reference = *reference;
    if (reference->form == WNNConstantForm_Id)
        memcpy(host->id, reference->id, reference->idLength);
    host->asked++;
    return host->answer;
}

static WNNStatus serialize_to(struct host *host, struct serialized *bytes, char message[256])
{
    WNNSerializeDescriptor descriptor = {NULL, 0, NULL, refer_to, write_to, host, bytes};
    return wnnGraphBuilderSerialize(b, &descriptor, 256, message);
}

static WNNStatus deserialize_from(struct host *host, const struct serialized *bytes)
{
    WNNDeserializeDescriptor descriptor = {NULL, bytes->data, bytes->size, host ? find_it : NULL, host, NULL};
    WNNDeserializedGraph graph = WNN_DESERIALIZED_GRAPH_INIT;
    return wnnGraphBuilderDeserialize(to, &descriptor, &graph);
}

static WNNOperand lend(WNNGraphBuilder builder, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = describe(WNNDataType_Float32, dims, rank);
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    bytes.data = shared_values;
    bytes.byteLength = sizeof shared_values;
    return wnnGraphBuilderExternalConstant(builder, &descriptor, &bytes);
}

static void test_references(void)
{
    char message[256];
    renew();
    struct serialized file = {0}, id = {0};
    lend(b, DIMS(2, 2));
    struct host writer = {.reference = {NULL, WNNConstantForm_FileRange, 7, 1ull << 40, NULL, 0}},
                reader = {0};
    REQUIRE_EQUAL_INT(serialize_to(&writer, &file, message), WNNStatus_Success);
    REQUIRE_EQUAL_INT(file.size, 48 + 4 + 12 + 16);
    REQUIRE_EQUAL_INT(writer.asked, 1);
    reader.answer = lend(to, DIMS(2, 2));
    REQUIRE_EQUAL_INT(deserialize_from(&reader, &file), WNNStatus_Success);
    REQUIRE_EQUAL_INT(reader.asked, 1);
    REQUIRE_EQUAL_INT(reader.reference.form, WNNConstantForm_FileRange);
    REQUIRE(reader.reference.file == 7 && reader.reference.offset == 1ull << 40);

    writer.reference = (WNNConstantReference){NULL, WNNConstantForm_Id, 0, 0, "any\0bytes\xff", 10};
    REQUIRE_EQUAL_INT(serialize_to(&writer, &id, message), WNNStatus_Success);
    REQUIRE_EQUAL_INT(deserialize_from(&reader, &id), WNNStatus_Success);
    REQUIRE_EQUAL_INT(reader.reference.form, WNNConstantForm_Id);
    REQUIRE_EQUAL_INT(reader.reference.idLength, 10);
    REQUIRE(memcmp(reader.id, "any\0bytes\xff", 10) == 0);

    // What is found has to be it.
    reader.answer = NULL;
    REQUIRE_EQUAL_INT(deserialize_from(&reader, &id), WNNStatus_TypeError);
    require_builder_error(to, WNNStatus_TypeError, "record 0: there is no such constant");
    reader.answer = lend(b, DIMS(2, 2));
    deserialize_from(&reader, &id);
    require_builder_error(to, WNNStatus_TypeError, "is no constant of this builder");
    reader.answer = add_input(to, "x", 2, 2);
    deserialize_from(&reader, &id);
    require_builder_error(to, WNNStatus_TypeError, "is no constant of this builder");
    reader.answer = lend(to, DIMS(4));
    deserialize_from(&reader, &id);
    require_builder_error(to, WNNStatus_TypeError, "is float32 [4]; expected float32 [2, 2]");
    deserialize_from(NULL, &id);
    require_builder_error(to, WNNStatus_TypeError, "only constants by value are accepted here");
    free(file.data);
    free(id.data);
}

static void test_refused_references(void)
{
    char message[256];
    renew();
    struct serialized bytes = {0};
    WNNChainedStruct chain = {NULL, 12345};
    const unsigned char long_id[WNN_MAX_CONSTANT_ID + 1] = {0};
    lend(b, DIMS(2, 2));
    const struct {
        WNNConstantReference reference;
        const char *part;
    } refused[] = {{{NULL, WNNConstantForm_Id, 0, 0, NULL, 4}, "the id of a constant has no bytes"},
                   {{NULL, WNNConstantForm_Id, 0, 0, "", 0}, "the id of a constant has no bytes"},
                   {{NULL, WNNConstantForm_Id, 0, 0, long_id, sizeof long_id}, "more than 256"},
                   {{NULL, (WNNConstantForm)4, 0, 0, NULL, 0}, "a form that does not exist"},
                   {{&chain, WNNConstantForm_Value, 0, 0, NULL, 0}, "12345"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct host writer = {.reference = refused[i].reference};
        REQUIRE_EQUAL_INT(serialize_to(&writer, &bytes, message), WNNStatus_TypeError);
        REQUIRE_CONTAINS(message, refused[i].part);
        REQUIRE_EQUAL_INT(bytes.size, 0);
    }
    struct host writer = {.reference = WNN_CONSTANT_REFERENCE_INIT, .status = WNNStatus_SecurityError};
    REQUIRE_EQUAL_INT(serialize_to(&writer, &bytes, message), WNNStatus_SecurityError);
    REQUIRE_CONTAINS(message, "a constant was refused");
    writer.status = WNNStatus_Success;
    writer.reference = (WNNConstantReference){NULL, WNNConstantForm_Id, 0, 0, long_id, WNN_MAX_CONSTANT_ID};
    REQUIRE_EQUAL_INT(serialize_to(&writer, &bytes, message), WNNStatus_Success);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Refusals
// ---------------------------------------------------------------------------------------------------------------

static WNNStatus write_nothing(const void *data, size_t size, uint64_t rest, void *calls, void *limit)
{
    (void)data;
    (void)rest;
    REQUIRE(size > 0);
    return ++*(size_t *)calls > *(size_t *)limit ? WNNStatus_OperationError : WNNStatus_Success;
}

static void require_unwritten(const WNNSerializeDescriptor *descriptor, WNNStatus status, const char *part)
{
    char message[256];
    REQUIRE_EQUAL_INT(wnnGraphBuilderSerialize(b, descriptor, sizeof message, message), status);
    REQUIRE_CONTAINS(message, part);
    WNNError error = WNN_ERROR_INIT;
    wnnGraphBuilderGetError(b, &error);
    REQUIRE_EQUAL_INT(error.status, WNNStatus_Success);
}

// [?, 1], of at most 8 rows; the first ones have names.
static WNNOperand late_input(unsigned number)
{
    const char name[2] = {(char)('a' + (int)number), 0};
    WNNDimension dimensions[2] = {WNN_DIMENSION_INIT, WNN_DIMENSION_INIT};
    WNNNamedDimensions named = WNN_NAMED_DIMENSIONS_INIT;
    WNNOperandDescriptor descriptor = describe(WNNDataType_Float32, DIMS(1, 1));
    dimensions[0].isUnknown = number >= 4;
    dimensions[0].name = view(number < 4 ? name : "");
    dimensions[0].maxSize = 8;
    named.dimensionCount = 2;
    named.dimensions = dimensions;
    descriptor.nextInChain = &named.chain;
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}

static void test_refused_writing(void)
{
    renew();
    WNNChainedStruct chain = {NULL, 12345};
    size_t calls = 0, limit = 10;
    WNNSerializeDescriptor good = {NULL, 0, NULL, NULL, write_nothing, &calls, &limit}, bad = good;
    WNNNamedOperand output = record_golden();
    require_unwritten(NULL, WNNStatus_TypeError, "there is no descriptor");
    bad.write = NULL;
    require_unwritten(&bad, WNNStatus_TypeError, "nothing takes the bytes");
    bad = good;
    bad.outputCount = 1;
    require_unwritten(&bad, WNNStatus_TypeError, "no outputs");
    bad.outputs = &output;
    output.operand = NULL;
    require_unwritten(&bad, WNNStatus_TypeError, "an output is NULL");
    output.operand = add_input(to, "foreign", 2, 2);
    require_unwritten(&bad, WNNStatus_TypeError, "of another builder");
    output.name = view("");
    require_unwritten(&bad, WNNStatus_TypeError, "is empty");
    output.name = view("\xff");
    require_unwritten(&bad, WNNStatus_TypeError, "UTF-8");
    bad = good;
    bad.nextInChain = &chain;
    require_unwritten(&bad, WNNStatus_TypeError, "12345");
    // Header and records, the constant, zeros behind it: three pieces, each of which may be one too many.
    for (limit = 0; limit < 3; limit++) {
        calls = 0;
        require_unwritten(&good, WNNStatus_OperationError, "the bytes could not be written");
    }
    calls = 0;
    REQUIRE_EQUAL_INT(wnnGraphBuilderSerialize(b, &good, 0, NULL), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnGraphBuilderSerialize(NULL, &good, 0, NULL), WNNStatus_TypeError);
    // A size that no operand has: of more terms than a sum has room for.
    renew();
    uint32_t sum = 1, shape[2] = {1, 1};
    for (unsigned i = 0; i < 8; i++)
        sum = wnnGraphBuilderComputeSize(b, WNNSizeOperator_Add, sum,
                                         wnnOperandGetShape(late_input(i)).data[0]);
    shape[0] = sum;
    wnnGraphBuilderExpand(b, late_input(9), (WNNUint32List){shape, 2}, NULL);
    require_unwritten(&good, WNNStatus_NotSupportedError, "expand has a size in newShape");
    renew();
    // The builder's error is the result.
    wnnGraphBuilderRelu(b, NULL, NULL);
    char message[256];
    REQUIRE_EQUAL_INT(wnnGraphBuilderSerialize(b, &good, sizeof message, message), WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "relu");
}

static void require_unread(size_t at, const void *with, size_t size, const char *part)
{
    WNNDeserializedGraph graph;
    REQUIRE_EQUAL_INT(read_changed(at, size, with, sizeof golden, &graph), WNNStatus_TypeError);
    REQUIRE(!graph.outputs && !graph.operands);
    require_builder_error(to, WNNStatus_TypeError, part);
}

enum { // places in `golden`
    VERSION = 8,
    FEATURES = 12,
    RECORDS = 16,
    OPERANDS = 20,
    OUTPUTS = 24,
    RECORD_BYTES = 32,
    DATA_BYTES = 40,
    INPUT = 48,
    CONSTANT = 68,
    ADD = 76,
    CLAMP = 120,
    OUTPUT = 216
};

static void test_refused_bytes(void)
{
    renew();
    static const unsigned char ff[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, zero[8] = {0};
    require_unread(0, "x", 1, "do not begin as one");
    require_unread(VERSION, "\2", 1, "it has version 2 of the format; this library reads version 1");
    require_unread(FEATURES, "\4", 1, "it needs features 0x4");
    require_unread(RECORDS, "\3", 1, "records make 3 operands; expected the 4");
    require_unread(RECORDS, "\5", 1, "data type 121, which does not exist"); // the output
    require_unread(RECORDS, ff, 4, "counts more than its records have room for");
    require_unread(OPERANDS, "\0", 1, "more operands than the 0 of its header");
    require_unread(OPERANDS, "\3", 1, "more operands than the 3 of its header");
    require_unread(OPERANDS, "\5", 1, "records make 4 operands; expected the 5");
    require_unread(OPERANDS, ff, 4, "counts more");
    require_unread(OUTPUTS, ff, 4, "counts more");
    require_unread(OUTPUTS, zero, 4, "there are more bytes than records and outputs");
    require_unread(OUTPUTS, "\2", 1, "it ends too early");
    require_unread(28, "\1", 1, "byte 28: bytes that stand for nothing are not zero");
    require_unread(RECORD_BYTES, ff, 8, "not as many as its header says");
    require_unread(RECORD_BYTES, "\xC8", 1, "not as many as its header says");
    require_unread(DATA_BYTES, ff, 8, "not as many as its header says");
    require_unread(INPUT, "\6", 1, "byte 48: a record is of a kind that does not exist");
    require_unread(INPUT + 4, zero, 1, "data type 0, which does not exist");
    require_unread(INPUT + 5, "\11", 1, "rank of more than 8");
    require_unread(INPUT + 6, "\1", 1, "has flags");
    require_unread(INPUT + 8, ff, 4, "expected each dimension to be");
    require_unread(INPUT + 12, ff, 4, "byte 64: it ends too early");
    require_unread(INPUT + 16, ff, 1, "the name of an input is not well-formed UTF-8");
    require_unread(INPUT + 17, "x", 1, "stand for nothing are not zero");
    require_unread(CONSTANT + 5, "\1", 1, "byte 232: it ends too early");
    require_unread(CONSTANT, "\3", 1, "record 1: only constants by value");
    require_unread(ADD + 8, "b", 1, "there is no operator \"bdd\"");
    require_unread(ADD + 24, "\2", 1, "there is no such operand before this record");
    require_unread(ADD + 20, ff, 4, "a list has more items than there are bytes for");
    require_unread(ADD + 40, "\2", 1, "result 0 of add is float32 of rank 1; expected float16 of rank 1");
    require_unread(ADD + 41, "\2", 1, "expected float32 of rank 2");
    require_unread(CLAMP + 36, "M", 1, "clamp has no attribute \"MinValue\"");
    require_unread(CLAMP + 44, zero, 1, "type that does not exist");
    require_unread(CLAMP + 44, "\x0D", 1, "type that does not exist");
    require_unread(CLAMP + 48, "\4", 1, "number type 4");
    require_unread(OUTPUT + 8, "\4", 1, "there is no such operand");
    require_unread(OUTPUT + 4, ff, 1, "the name of an output is not well-formed UTF-8");
    require_unread(OUTPUT + 12, "\1", 1, "stand for nothing are not zero");
    require_unread(sizeof golden - 1, "\1", 1, "stand for nothing are not zero");
}

static void test_refused_reading(void)
{
    renew();
    WNNChainedStruct chain = {NULL, 12345};
    WNNDeserializedGraph graph = WNN_DESERIALIZED_GRAPH_INIT;
    WNNDeserializeDescriptor good = {NULL, golden, sizeof golden, NULL, NULL, NULL}, bad = good;
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(NULL, &good, &graph), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(to, &good, NULL), WNNStatus_TypeError);
    wnnGraphBuilderClearError(to);
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(to, NULL, &graph), WNNStatus_TypeError);
    require_builder_error(to, WNNStatus_TypeError, "there are no bytes");
    bad.data = NULL;
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(to, &bad, &graph), WNNStatus_TypeError);
    require_builder_error(to, WNNStatus_TypeError, "there are no bytes");
    bad.byteLength = 0;
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(to, &bad, &graph), WNNStatus_TypeError);
    require_builder_error(to, WNNStatus_TypeError, "0 bytes that do not begin as one");
    bad = good;
    bad.nextInChain = &chain;
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(to, &bad, &graph), WNNStatus_TypeError);
    require_builder_error(to, WNNStatus_TypeError, "12345");
    graph.nextInChain = &chain;
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(to, &good, &graph), WNNStatus_TypeError);
    require_builder_error(to, WNNStatus_TypeError, "12345");
    graph.nextInChain = NULL;
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperandCount(to), 0);
    // An error that is there stays, and nothing is recorded.
    wnnGraphBuilderRelu(to, NULL, NULL);
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(to, &good, &graph), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperandCount(to), 0);
    require_builder_error(to, WNNStatus_TypeError, "relu");
}

// What calls refuse is refused as they refuse it, and what stood before it is recorded.
static void test_refused_calls(void)
{
    renew();
    struct serialized bytes = {0};
    WNNOperatorOptions label = WNN_OPERATOR_OPTIONS_INIT;
    label.label = view("here");
    WNNOperand x = input("x", DIMS(2, 3)), w = weights(DIMS(3, 2));
    wnnGraphBuilderMatmul(b, x, w, &label);
    REQUIRE_EQUAL_INT(wnn_serialize(b, 0, NULL, false, &bytes, 0, NULL), WNNStatus_Success);
    REQUIRE_EQUAL_INT(bytes.data[INPUT + 12], 3);
    bytes.data[INPUT + 12] = 4;
    WNNDeserializedGraph graph;
    REQUIRE_EQUAL_INT(wnn_deserialize(to, &bytes, &graph), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperandCount(to), 2);
    require_builder_error(to, WNNStatus_TypeError, "matmul \"here\": ");
    free(bytes.data);
}

// Activations have no activations; split makes as many operands as it has results.
static void test_refused_details(void)
{
    renew();
    struct serialized bytes = {0};
    WNNOperand several[8192];
    input("x", DIMS(8192));
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(b, (WNNOperand)b->graph.operands[0], 8192, NULL, 8192, several),
                      8192);
    REQUIRE_EQUAL_INT(wnn_serialize(b, 0, NULL, false, &bytes, 0, NULL), WNNStatus_Success);
    // There are four bytes for each result.
    REQUIRE(bytes.size > 4 * 8192);
    WNNDeserializedGraph graph;
    REQUIRE_EQUAL_INT(wnn_deserialize(to, &bytes, &graph), WNNStatus_Success);
    REQUIRE_EQUAL_INT(graph.operandCount, 8193);
    free(bytes.data);

    static const unsigned char nested[] = {
        'W', 'N', 'N', 'G', 'R', 'A', 'P', 'H', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 72, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 'a', 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'b', 0, 0, 0, 10, 0, 0, 0, // attribute b, an
                                                                             // activation
        3, 0, 0, 0, 'e', 'l', 'u', 0, 1, 0, 0, 0, 1, 0, 0, 0, 'c', 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0};
    REQUIRE_EQUAL_INT(
        wnn_deserialize(to, &(struct serialized){(unsigned char *)nested, sizeof nested, 0}, &graph),
        WNNStatus_TypeError);
    require_builder_error(to, WNNStatus_TypeError, "an activation has an activation");
}

// ---------------------------------------------------------------------------------------------------------------
// Every mistake
// ---------------------------------------------------------------------------------------------------------------

// Bytes with a mistake are refused with a message, or a graph that can be written and read again.
static bool survives(const struct serialized *bytes)
{
    renew();
    WNNError error = WNN_ERROR_INIT;
    WNNDeserializedGraph graph;
    unsigned char *copy = malloc(bytes->size + !bytes->size); // so that nothing readable follows
    memcpy(copy, bytes->data, bytes->size);
    WNNStatus status = wnn_deserialize(b, &(struct serialized){copy, bytes->size, 0}, &graph);
    free(copy);
    wnnGraphBuilderGetError(b, &error);
    REQUIRE_EQUAL_INT(error.status, status);
    if (status != WNNStatus_Success) {
        REQUIRE_EQUAL_INT(status, WNNStatus_TypeError);
        REQUIRE(error.message.length > 0);
        return false;
    }
    WNNDeserializedGraph again;
    bool names = true; // that may be written: none is empty
    for (size_t i = 0; i < graph.outputCount; i++)
        names = names && graph.outputs[i].name.length;
    if (names)
        require_across(graph.outputCount, graph.outputs, false, &again);
    return true;
}

static void test_mistakes(bool all)
{
    renew();
    struct serialized bytes = {0};
    WNNNamedOperand outputs[8];
    size_t count = 1, good = 0;
    if (all)
        count = record_everything(outputs);
    else
        outputs[0] = record_golden();
    REQUIRE_EQUAL_INT(wnn_serialize(b, count, outputs, false, &bytes, 0, NULL), WNNStatus_Success);
    size_t size = bytes.size;
    for (bytes.size = 0; bytes.size < size; bytes.size++)
        REQUIRE(!survives(&bytes));
    static const unsigned char flips[] = {0x01, 0x02, 0x10, 0x80, 0xFF};
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < (all ? 2 : sizeof flips); k++) {
            bytes.data[i] ^= flips[k];
            good += survives(&bytes);
            bytes.data[i] ^= flips[k];
        }
    REQUIRE(good > 0 && survives(&bytes)); // other letters of a label, other weights
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Limits and memory
// ---------------------------------------------------------------------------------------------------------------

static WNNStatus read_within(const WNNLimits *limits, const struct serialized *bytes, const char *part)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.limits = limits;
    WNNContext small;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &small), WNNStatus_Success);
    WNNGraphBuilder builder = create_builder(small);
    WNNDeserializedGraph graph;
    WNNStatus status = wnn_deserialize(builder, bytes, &graph);
    require_builder_error(builder, status, part);
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(small);
    return status;
}

static void test_limits(void)
{
    renew();
    struct serialized bytes = {0};
    WNNNamedOperand outputs[8];
    size_t count = record_everything(outputs);
    REQUIRE_EQUAL_INT(wnn_serialize(b, count, outputs, false, &bytes, 0, NULL), WNNStatus_Success);
    WNNLimits limits = WNN_LIMITS_INIT;
    REQUIRE_EQUAL_INT(read_within(&limits, &bytes, ""), WNNStatus_Success);
    limits.maxOperators = 3;
    REQUIRE_EQUAL_INT(read_within(&limits, &bytes, "limit of 3 operators"), WNNStatus_OutOfMemory);
    limits = (WNNLimits)WNN_LIMITS_INIT;
    limits.maxOperands = 5;
    REQUIRE_EQUAL_INT(read_within(&limits, &bytes, "limit of 5 operands"), WNNStatus_OutOfMemory);
    limits = (WNNLimits)WNN_LIMITS_INIT;
    limits.maxConstantBytes = 100;
    REQUIRE_EQUAL_INT(read_within(&limits, &bytes, "constants may have 100 in all"), WNNStatus_OutOfMemory);
    limits = (WNNLimits)WNN_LIMITS_INIT;
    limits.maxTotalStringBytes = 50;
    REQUIRE_EQUAL_INT(read_within(&limits, &bytes, "the name of an output"), WNNStatus_OutOfMemory);
    limits = (WNNLimits)WNN_LIMITS_INIT;
    limits.maxStringLength = 5;
    REQUIRE_EQUAL_INT(read_within(&limits, &bytes, "expected at most 5"), WNNStatus_TypeError);
    free(bytes.data);
}

static long allocations_left; // -1: any number

static void *allocate(size_t size, size_t alignment, void *userdata)
{
    void *memory;
    if (allocations_left == 0)
        return NULL;
    allocations_left -= allocations_left > 0;
    ++*(long *)userdata;
    return posix_memalign(&memory, alignment < sizeof memory ? sizeof memory : alignment, size) ? NULL
                                                                                                : memory;
}

static void release(void *memory, size_t size, size_t alignment, void *userdata)
{
    (void)size;
    (void)alignment;
    --*(long *)userdata;
    free(memory);
}

// Reading and writing while the Nth allocation fails: a status, and nothing is left.
static void test_memory(void)
{
    renew();
    struct serialized bytes = {0}, copy = {0};
    WNNNamedOperand outputs[8];
    size_t count = record_everything(outputs);
    REQUIRE_EQUAL_INT(wnn_serialize(b, count, outputs, false, &bytes, 0, NULL), WNNStatus_Success);
    long blocks = 0, failures = 0;
    WNNAllocator allocator = {NULL, allocate, release, &blocks};
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.allocator = &allocator;
    allocations_left = -1;
    WNNContext counted;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &counted), WNNStatus_Success);
    long idle = blocks;
    bool done = false;
    for (long n = 0; !done; n++) {
        WNNGraphBuilder builder = create_builder(counted);
        WNNDeserializedGraph graph;
        allocations_left = n;
        WNNStatus status = wnn_deserialize(builder, &bytes, &graph);
        if (status == WNNStatus_Success) {
            status = wnn_serialize(builder, graph.outputCount, graph.outputs, false, &copy, 0, NULL);
            done = status == WNNStatus_Success;
        }
        allocations_left = -1;
        REQUIRE_EQUAL_INT(status, done ? WNNStatus_Success : WNNStatus_OutOfMemory);
        failures += !done;
        wnnGraphBuilderRelease(builder);
        REQUIRE_EQUAL_INT(blocks, idle);
    }
    REQUIRE(failures > 30);
    REQUIRE(wnn_serialized_equal(&bytes, &copy));
    wnnContextRelease(counted);
    REQUIRE_EQUAL_INT(blocks, 0);
    free(bytes.data);
    free(copy.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Two processes
// ---------------------------------------------------------------------------------------------------------------

enum {
    SHARED_BYTES = 1 << 22,
    WIDTH = 1024
};

struct recorder { // of the process that has no weights but shares them
    char *memory;
    int pipe;
};

static WNNStatus refer_to_memory(const WNNRecordedOperand *constant, WNNConstantReference *reference,
                                 void *userdata1, void *userdata2)
{
    const struct recorder *recorder = userdata1;
    (void)userdata2;
    const char *data = constant->data;
    if (data < recorder->memory || data >= recorder->memory + SHARED_BYTES)
        return WNNStatus_Success; // by value
    reference->form = WNNConstantForm_FileRange;
    reference->file = 1;
    reference->offset = (uint64_t)(data - recorder->memory);
    return WNNStatus_Success;
}

static WNNStatus write_to_pipe(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    const struct recorder *recorder = userdata1;
    (void)rest;
    (void)userdata2;
    for (const char *at = data; size > 0;) {
        ssize_t written = write(recorder->pipe, at, size);
        if (written <= 0)
            return WNNStatus_OperationError;
        at += written;
        size -= (size_t)written;
    }
    return WNNStatus_Success;
}

// y = x w + 1, whose w is in the memory that both have.
static int record_elsewhere(struct recorder *recorder)
{
    WNNContext own;
    WNNContextDescriptor describe_own = describe_context(NULL, NULL);
    REQUIRE_EQUAL_INT(wnnCreateContext(&describe_own, &own), WNNStatus_Success);
    b = create_builder(own);
    float *values = (float *)(void *)recorder->memory;
    for (size_t i = 0; i < (size_t)WIDTH * WIDTH; i++)
        values[i] = i % (WIDTH + 1) == 0 ? 2.0f : 0.0f; // twice what comes
    WNNOperandDescriptor square = describe(WNNDataType_Float32, DIMS(WIDTH, WIDTH));
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    bytes.data = values;
    bytes.byteLength = (size_t)WIDTH * WIDTH * sizeof *values;
    WNNOperand w = wnnGraphBuilderExternalConstant(b, &square, &bytes);
    WNNOperand y = wnnGraphBuilderMatmul(b, input("x", DIMS(1, WIDTH)), w, NULL);
    y = wnnGraphBuilderAdd(b, y, wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberFloat64(1)),
                           NULL);
    WNNNamedOperand output = {view("y"), y};
    WNNSerializeDescriptor descriptor = {NULL, 1, &output, refer_to_memory, write_to_pipe, recorder, NULL};
    REQUIRE_EQUAL_INT(wnnGraphBuilderSerialize(b, &descriptor, 0, NULL), WNNStatus_Success);
    wnnGraphBuilderRelease(b);
    wnnContextRelease(own);
    return 0;
}

static WNNOperand find_in_memory(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                 const WNNConstantReference *reference, void *memory, void *unused)
{
    uint64_t size = sizeof(float);
    (void)unused;
    for (size_t i = 0; i < descriptor->shape.count; i++)
        size *= descriptor->shape.data[i];
    if (reference->form != WNNConstantForm_FileRange || reference->file != 1 ||
        reference->offset > SHARED_BYTES || size > SHARED_BYTES - reference->offset)
        return NULL;
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    bytes.data = (const char *)memory + reference->offset;
    bytes.byteLength = (size_t)size;
    return wnnGraphBuilderExternalConstant(builder, descriptor, &bytes);
}

// Before this process has a context.
static void test_processes(void)
{
    struct recorder recorder;
    int ends[2], status;
    char *memory = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED && pipe(ends) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        recorder = (struct recorder){memory, ends[1]};
        _exit(record_elsewhere(&recorder));
    }
    close(ends[1]);
    char message[2000];
    size_t size = 0;
    for (ssize_t got; (got = read(ends[0], message + size, sizeof message - size)) > 0;)
        size += (size_t)got;
    close(ends[0]);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    REQUIRE(size > 100 && size < 400); // of four megabytes

    WNNContext own;
    WNNContextDescriptor describe_own = describe_context(NULL, NULL);
    REQUIRE_EQUAL_INT(wnnCreateContext(&describe_own, &own), WNNStatus_Success);
    WNNGraphBuilder builder = create_builder(own);
    WNNDeserializeDescriptor descriptor = {NULL, message, size, find_in_memory, memory, NULL};
    WNNDeserializedGraph graph = WNN_DESERIALIZED_GRAPH_INIT;
    REQUIRE_EQUAL_INT(wnnGraphBuilderDeserialize(builder, &descriptor, &graph), WNNStatus_Success);
    WNNGraph built = build_outputs(own, builder, graph.outputCount, graph.outputs);
    static float in[WIDTH], out[WIDTH];
    for (size_t i = 0; i < WIDTH; i++)
        in[i] = (float)i;
    WNNNamedBuffer from = {view("x"), in, sizeof in, WNNDataType_Float32},
                   result = {view("y"), out, sizeof out, WNNDataType_Float32};
    WNNComputeDescriptor compute = {NULL, WNN_STRING_VIEW_INIT, built, 1, 1, &from, &result};
    REQUIRE_EQUAL_INT(wnnContextComputeSync(own, &compute, 0, NULL), WNNStatus_Success);
    REQUIRE(out[0] == 1 && out[1] == 3 && out[WIDTH - 1] == 2 * WIDTH - 1);
    wnnGraphRelease(built);
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(own);
    munmap(memory, SHARED_BYTES);
}

// ---------------------------------------------------------------------------------------------------------------
// Sizes that are not known
// ---------------------------------------------------------------------------------------------------------------

// y = slice(x) of n / 2 + 1 rows, n being those of x, and squeezed.
// clang-format off
static const unsigned char golden_late[] = {
    'W', 'N', 'N', 'G', 'R', 'A', 'P', 'H', 1, 0, 0, 0, 1, 0, 0, 0,
    6, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    0x30, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    // byte 48, record 0: the input "x", float32 [n, 3], n being 1 to 8
    7, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 'x', 0, 0, 0,
    1, 0, 0, 0, 'n', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    // byte 108, record 1: size 0, dimension 0 of operand 0
    6, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    // byte 124, record 2: size 1, half of that
    6, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0x80, 2, 0, 0, 0,
    // byte 140, record 3: size 2, 1 + once that
    6, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0x80,
    // byte 172, record 4: slice without a label, of operand 0
    5, 0, 0, 0, 5, 0, 0, 0, 's', 'l', 'i', 'c', 'e', 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0,
    3, 0, 0, 0,
    6, 0, 0, 0, 's', 't', 'a', 'r', 't', 's', 0, 0, 6, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    5, 0, 0, 0, 's', 'i', 'z', 'e', 's', 0, 0, 0, 6, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0x80, 3, 0, 0, 0,
    7, 0, 0, 0, 's', 't', 'r', 'i', 'd', 'e', 's', 0, 6, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
    1, 0, 0, 0, 1, 2, 0, 0,
    // byte 296, record 5: squeeze of operand 1, whose rank only sizes tell
    5, 0, 0, 0, 7, 0, 0, 0, 's', 'q', 'u', 'e', 'e', 'z', 'e', 0, 0, 0, 0, 0,
    1, 0, 0, 0, 1, 0, 0, 0,
    0, 0, 0, 0,
    1, 0, 0, 0, 1, 0, 1, 0,
    // byte 336: the output "y", operand 2
    1, 0, 0, 0, 'y', 0, 0, 0, 2, 0, 0, 0,
    // byte 348: zeros up to a multiple of 8
    0, 0, 0, 0};
// clang-format on

static WNNNamedOperand record_late(void)
{
    WNNDimension dimensions[2] = {WNN_DIMENSION_INIT, WNN_DIMENSION_INIT};
    WNNNamedDimensions named = WNN_NAMED_DIMENSIONS_INIT;
    WNNOperandDescriptor descriptor = describe(WNNDataType_Float32, DIMS(1, 3));
    dimensions[0].name = view("n");
    dimensions[0].maxSize = 8;
    named.dimensionCount = 2;
    named.dimensions = dimensions;
    descriptor.nextInChain = &named.chain;
    WNNOperand x = wnnGraphBuilderInput(b, view("x"), &descriptor);
    uint32_t n = wnnOperandGetShape(x).data[0];
    uint32_t half = wnnGraphBuilderComputeSize(b, WNNSizeOperator_Divide, n, 2);
    const uint32_t sizes[2] = {wnnGraphBuilderComputeSize(b, WNNSizeOperator_Add, half, 1), 3};
    WNNOperand y = wnnGraphBuilderSlice(b, x, LIST(0, 0), (WNNUint32List){sizes, 2}, NULL);
    return (WNNNamedOperand){view("y"), wnnGraphBuilderSqueeze(b, y, NULL)};
}

static void test_late_bytes(void)
{
    renew();
    struct serialized bytes = {0};
    WNNNamedOperand y = record_late();
    REQUIRE_EQUAL_INT(wnn_serialize(b, 1, &y, false, &bytes, 0, NULL), WNNStatus_Success);
    for (size_t i = 0; i < sizeof golden_late && i < bytes.size; i++)
        if (bytes.data[i] != golden_late[i]) {
            fprintf(stderr, "byte %zu is %u; expected %u\n", i, bytes.data[i], golden_late[i]);
            REQUIRE(bytes.data[i] == golden_late[i]);
        }
    REQUIRE_EQUAL_INT(bytes.size, sizeof golden_late);
    WNNDeserializedGraph graph;
    REQUIRE_EQUAL_INT(wnn_deserialize(to, &bytes, &graph), WNNStatus_Success);
    REQUIRE_EQUAL_INT(graph.operandCount, 3);
    REQUIRE(!wnnOperandGetShape(graph.outputs[0].operand).data);
    WNNDimension dimension = WNN_DIMENSION_INIT;
    wnnGraphBuilderGetSize(to, wnnOperandGetShape(graph.operands[1]).data[0], &dimension);
    REQUIRE(dimension.isUnknown && dimension.minSize == 1 && dimension.maxSize == 5);
    free(bytes.data);
}

static void require_late_unread(size_t at, const void *with, size_t size, const char *part)
{
    unsigned char copy[sizeof golden_late];
    memcpy(copy, golden_late, sizeof copy);
    memcpy(copy + at, with, size);
    const struct serialized bytes = {copy, sizeof copy, sizeof copy};
    WNNDeserializedGraph graph;
    renew();
    REQUIRE_EQUAL_INT(wnn_deserialize(to, &bytes, &graph), WNNStatus_TypeError);
    require_builder_error(to, WNNStatus_TypeError, part);
}

static void test_late_refused(void)
{
    static const unsigned char ff[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, zero[8] = {0};
    require_late_unread(FEATURES, zero, 1, "byte 48: a record is of a kind that does not exist");
    require_late_unread(INPUT + 8, "\1", 1, "a dimension has a name and a size");
    require_late_unread(INPUT + 8, "\1\0\0\x80", 4, "there is no such size before this record");
    require_late_unread(INPUT + 32, "\1", 1, "dimension 0 has a name, and is said to have none");
    require_late_unread(INPUT + 32, "\2", 1, "neither known nor not");
    require_late_unread(INPUT + 40, zero, 1, "has a size from 1 to 0");
    require_late_unread(108 + 4, "\x8", 1, "a size is of a kind that does not exist");
    require_late_unread(108 + 8, "\1", 1, "there is no such dimension");
    require_late_unread(108 + 12, "\2", 1, "there is no such dimension");
    require_late_unread(124 + 8, "\1", 1, "there is no such size before this record");
    require_late_unread(124 + 12, zero, 1, "a divisor is not 1 to 2^31-1");
    require_late_unread(124 + 12, ff, 4, "a divisor is not 1 to 2^31-1");
    require_late_unread(140 + 16, "\x7", 1, "a sum has more than 6 terms");
    require_late_unread(140 + 28, "\2", 1, "there is no such size before this record");
    require_late_unread(172 + 80, "\3", 1, "there is no such size before this record");
    require_late_unread(172 + 84, "\4", 1, "slice: ");
    require_late_unread(296 + 38, zero, 1,
                        "the rank of result 0 of squeeze is not known; expected that it is");
    require_late_unread(296 + 38, "\2", 1, "an operand has flags that do not exist");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_processes());
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    CASE(test_bytes());
    CASE(test_reading());
    CASE(test_everything());
    CASE(test_little());
    CASE(test_references());
    CASE(test_refused_references());
    CASE(test_refused_writing());
    CASE(test_refused_bytes());
    CASE(test_refused_reading());
    CASE(test_refused_calls());
    CASE(test_refused_details());
    CASE(test_mistakes(false));
    CASE(test_mistakes(true));
    CASE(test_late_bytes());
    CASE(test_late_refused());
    CASE(test_limits());
    CASE(test_memory());
    wnnGraphBuilderRelease(b);
    wnnGraphBuilderRelease(to);
    wnnContextRelease(context);
    return cases_end();
}
