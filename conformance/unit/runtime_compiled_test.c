// SPDX-License-Identifier: Apache-2.0
//
// Compiled graphs: saved, loaded, and run as they were built; the same bytes from the same graph; what is
// refused, and why; and bytes of which any has been changed, which are refused or make other numbers. The
// first argument is the backend.

#include "conformance/backends.h"
#include "conformance/compiled.h"
#include "conformance/unit/failing_allocator.h"
#include "conformance/unit/runtime_fixture.h"
#include "ops/op.h"
#include "tools/bench_models.h"

#include <math.h>

static const struct backend *backend;
static WNNContext context, other;

static bool is_cpu(void)
{
    return strcmp(backend->name, "cpu") == 0;
}

static WNNContext create_described(const WNNContextDescriptor *descriptor)
{
    WNNContext made;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, descriptor, &made), WNNStatus_Success);
    return made;
}

static WNNContext create_context(uint32_t threads, bool strict)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.threadCount = threads;
    descriptor.strictNumerics = strict;
    return create_described(&descriptor);
}

// ---------------------------------------------------------------------------------------------------------------
// Executions
// ---------------------------------------------------------------------------------------------------------------

enum {
    MAX_OUTPUTS = 13
};

struct results {
    size_t count;
    WNNNamedBuffer buffers[MAX_OUTPUTS];
};

static size_t bytes_of(const WNNNamedDescriptor *named)
{
    size_t count = 1;
    for (size_t i = 0; i < named->descriptor.shape.count; i++)
        count *= named->descriptor.shape.data[i];
    return wnn_dtype_bytes(named->descriptor.dataType, count);
}

// Any numbers of the type that are no trouble.
static void fill(WNNDataType type, void *data, size_t bytes)
{
    uint64_t state = 7;
    size_t size = wnn_dtype_bits(type) < 8 ? 1 : wnn_dtype_bits(type) / 8;
    for (size_t i = 0; i < bytes / size; i++) {
        double value = (double)random_number(&state);
        WNNNumber number = wnnNumberFloat64(wnn_dtype_is_float(type) ? value : 3 * value + 3);
        wnn_number_store(wnn_number_convert(number, type), type, data, i);
    }
}

static struct results compute(WNNContext on, WNNGraph graph)
{
    size_t input_count, output_count;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, &input_count),
                             *outputs = wnnGraphGetOutputs(graph, &output_count);
    WNNNamedBuffer given[64];
    struct results results = {.count = output_count};
    REQUIRE(input_count <= 64 && output_count <= MAX_OUTPUTS);
    for (size_t i = 0; i < input_count; i++) {
        given[i] = (WNNNamedBuffer){inputs[i].name, calloc(1, bytes_of(&inputs[i]) + 8), bytes_of(&inputs[i]),
                                    inputs[i].descriptor.dataType};
        fill(given[i].dataType, (void *)(uintptr_t)given[i].data, given[i].byteLength);
    }
    for (size_t i = 0; i < output_count; i++)
        results.buffers[i] = (WNNNamedBuffer){outputs[i].name, calloc(1, bytes_of(&outputs[i]) + 8),
                                              bytes_of(&outputs[i]), outputs[i].descriptor.dataType};
    compute_buffers(on, graph, input_count, given, output_count, results.buffers);
    for (size_t i = 0; i < input_count; i++)
        free((void *)(uintptr_t)given[i].data);
    return results;
}

static void free_results(struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        free((void *)(uintptr_t)results->buffers[i].data);
}

static void require_same(struct results *a, struct results *b)
{
    REQUIRE_EQUAL_INT(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        REQUIRE_EQUAL_INT(a->buffers[i].byteLength, b->buffers[i].byteLength);
        REQUIRE(memcmp(a->buffers[i].data, b->buffers[i].data, a->buffers[i].byteLength) == 0);
    }
    free_results(a);
    free_results(b);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

static WNNGraph build_model(WNNContext on, const char *word)
{
    struct model model;
    struct error error = {0};
    char message[1024] = "";
    WNNGraph graph;
    const struct bench_model *bench = bench_model_find(word);
    REQUIRE(bench && model_begin(&model, on, &error));
    REQUIRE(bench_model_build(bench, word, &model, &error));
    REQUIRE_EQUAL_INT(wnn_build_savable(on, model.builder, model.output_count, model.outputs, &graph,
                                        sizeof message, message),
                      WNNStatus_Success);
    model_end(&model);
    return graph;
}

static struct serialized save(WNNGraph graph)
{
    struct serialized bytes = {0};
    char message[1024] = "";
    WNNStatus status = wnn_save_graph(graph, &bytes, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    return bytes;
}

static WNNGraph load(WNNContext on, const struct serialized *bytes)
{
    WNNGraph graph;
    char message[1024] = "";
    WNNStatus status = wnn_load_copy(on, bytes->data, bytes->size, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    return graph;
}

// Whether the same kernels compute a graph that was loaded, which is then as fast.
static void require_same_kernels(WNNGraph built, WNNGraph loaded)
{
    size_t count = nodes_of(built, 0, NULL);
    WNNNodeInfo *nodes = calloc(2 * count + 1, sizeof *nodes);
    REQUIRE(nodes);
    REQUIRE_EQUAL_INT(nodes_of(loaded, 0, NULL), count);
    nodes_of(built, count, nodes);
    nodes_of(loaded, count, nodes + count);
    for (size_t i = 0; i < count; i++) {
        REQUIRE_EQUAL_STR(nodes[count + i].operation.data, nodes[i].operation.data);
        REQUIRE_EQUAL_STR(nodes[count + i].kernel.data, nodes[i].kernel.data);
    }
    free(nodes);
}

static void require_travels(WNNGraph built, struct serialized *bytes)
{
    *bytes = save(built);
    WNNGraph loaded = load(other, bytes);
    require_same_kernels(built, loaded);
    struct results a = compute(context, built), b = compute(other, loaded);
    require_same(&a, &b);
    struct serialized again = save(loaded);
    REQUIRE(wnn_serialized_equal(bytes, &again));
    free(again.data);
    wnnGraphRelease(loaded);
}

// ---------------------------------------------------------------------------------------------------------------
// Networks
// ---------------------------------------------------------------------------------------------------------------

static void test_models(void)
{
    static const char *const words[] = {"mobilenet_v1",
                                        "mobilenet_v2",
                                        "mobilenet_v2_int8",
                                        "resnet50",
                                        "bert_layer",
                                        "gru",
                                        "lstm",
                                        "matmul:1x512x512",
                                        "conv2d:14x14x64x64",
                                        "matmul_uint4:1x512x512",
                                        "matmul_uint4:64x512x512"};
    // With a sanitizer, or on a device that is a processor, the large ones would take minutes each.
    for (size_t i = SANITIZED || !is_cpu() ? 5 : 0; i < sizeof words / sizeof words[0]; i++) {
        WNNGraph first = build_model(context, words[i]), second = build_model(other, words[i]);
        struct serialized bytes;
        require_travels(first, &bytes);
        struct serialized again = save(second);
        REQUIRE(wnn_serialized_equal(&bytes, &again));
        WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
        REQUIRE_EQUAL_INT(wnnGraphGetInfo(second, &info), WNNStatus_Success);
        fprintf(stderr, "%s: %zu bytes of %llu of weights\n", words[i], bytes.size,
                (unsigned long long)info.weightBytes);
        REQUIRE(!is_cpu() || bytes.size <= info.weightBytes + info.weightBytes / 20 + 65536);
        free(again.data);
        free(bytes.data);
        wnnGraphRelease(first);
        wnnGraphRelease(second);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// A small graph that has something of everything: a convolution with an activation, products with float and
// quantized weights, a recurrent network, attention, a rotary embedding, chains of single elements, a gather,
// and integers all the way
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand constant_of(WNNGraphBuilder b, WNNDataType type, const uint32_t *dims, size_t rank,
                              double step)
{
    static union {
        double aligned;
        unsigned char bytes[1u << 17];
    } data;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    size_t count = 1;
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){dims, rank};
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    REQUIRE(wnn_dtype_bytes(type, count) <= sizeof data);
    memset(&data, 0, sizeof data);
    for (size_t i = 0; i < count; i++)
        wnn_number_store(wnn_number_convert(wnnNumberFloat64((double)(i % 7 + 1) * step), type), type,
                         data.bytes, i);
    return wnnGraphBuilderConstant(b, &descriptor, data.bytes, wnn_dtype_bytes(type, count));
}

static WNNOperand weights_of(WNNGraphBuilder b, const uint32_t *dims, size_t rank)
{
    return constant_of(b, WNNDataType_Float32, dims, rank, 0.03125);
}

static WNNOperand shaped_input(WNNGraphBuilder b, const char *name, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}

static WNNOperand scale_of(WNNGraphBuilder b, double value)
{
    return wnnGraphBuilderReshape(
        b, wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberFloat64(value)), LIST(1, 1), NULL);
}

// Through integers and back.
static WNNOperand quantized(WNNGraphBuilder b, WNNOperand x)
{
    WNNOperand scale = scale_of(b, 0.0625), zero = constant_of(b, WNNDataType_Uint8, DIMS(1, 1), 100);
    return wnnGraphBuilderDequantizeLinear(b, wnnGraphBuilderQuantizeLinear(b, x, scale, zero, NULL), scale,
                                           zero, NULL);
}

// x / sqrt(mean(x * x) + epsilon), which the compiler makes an operator of its own.
static WNNOperand by_mean_square(WNNGraphBuilder b, WNNOperand x)
{
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = LIST(1);
    options.keepDimensions = true;
    WNNOperand epsilon = wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberFloat64(1e-5));
    WNNOperand mean = wnnGraphBuilderReduceMean(b, wnnGraphBuilderMul(b, x, x, NULL), &options);
    return wnnGraphBuilderDiv(b, x, wnnGraphBuilderSqrt(b, wnnGraphBuilderAdd(b, mean, epsilon, NULL), NULL),
                              NULL);
}

// Likewise: x * c + concat(-b, a) * s, a and b being the halves of x.
static WNNOperand rotated(WNNGraphBuilder b, WNNOperand x)
{
    WNNSplitOptions options = WNN_SPLIT_OPTIONS_INIT;
    WNNOperand half[2] = {NULL, NULL}, angles = weights_of(b, DIMS(8, 16));
    options.axis = 1;
    wnnGraphBuilderSplit(b, x, 2, &options, 2, half);
    const WNNOperand crossed[2] = {wnnGraphBuilderNeg(b, half[1], NULL), half[0]};
    WNNOperand turned = wnnGraphBuilderMul(b, wnnGraphBuilderConcat(b, 2, crossed, 1, NULL), angles, NULL);
    return wnnGraphBuilderAdd(b, wnnGraphBuilderMul(b, x, angles, NULL), turned, NULL);
}

// Weights that are worth staying integers, of which so many rows have scales of their own.
static WNNOperand dequantized(WNNGraphBuilder b, uint32_t rows)
{
    WNNOperand integers = constant_of(b, WNNDataType_Int8, DIMS(40, 512), 5);
    return wnnGraphBuilderDequantizeLinear(b, integers, weights_of(b, DIMS(rows, 512)),
                                           constant_of(b, WNNDataType_Int8, DIMS(rows, 512), 1), NULL);
}

static size_t record_small(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    size_t count = 0;
    WNNOperand image = shaped_input(b, "image", DIMS(1, 4, 6, 6)),
               rows = shaped_input(b, "rows", DIMS(8, 16)), y;
    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    conv.bias = weights_of(b, DIMS(8));
    conv.label = view("first");
    y = wnnGraphBuilderConv2d(b, image, weights_of(b, DIMS(8, 4, 3, 3)), &conv);
    outputs[count++] = (WNNNamedOperand){view("conv"), wnnGraphBuilderRelu(b, y, NULL)};

    WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;
    gemm.c = weights_of(b, DIMS(24));
    y = wnnGraphBuilderGemm(b, rows, weights_of(b, DIMS(16, 24)), &gemm);
    y = wnnGraphBuilderMul(b, wnnGraphBuilderTanh(b, y, NULL), wnnGraphBuilderSigmoid(b, y, NULL), NULL);
    outputs[count++] =
        (WNNNamedOperand){view("chain"), wnnGraphBuilderAdd(b, y, weights_of(b, DIMS(24)), NULL)};

    WNNOperand numbers = constant_of(b, WNNDataType_Int8, DIMS(16, 32), 5), few = scale_of(b, 0.125),
               none = constant_of(b, WNNDataType_Int8, DIMS(1, 1), 0);
    WNNOperand weights = wnnGraphBuilderDequantizeLinear(b, numbers, few, none, NULL);
    outputs[count++] = (WNNNamedOperand){
        view("bytes"), quantized(b, wnnGraphBuilderMatmul(b, quantized(b, rows), weights, NULL))};
    outputs[count++] = (WNNNamedOperand){
        view("table"),
        wnnGraphBuilderIdentity(b, quantized(b, wnnGraphBuilderTanh(b, quantized(b, rows), NULL)), NULL)};
    // Whose scale nothing else has.
    WNNOperand own = scale_of(b, 0.03125), zero = constant_of(b, WNNDataType_Int8, DIMS(1, 1), 3),
               whole = wnnGraphBuilderQuantizeLinear(b, rows, own, zero, NULL);
    y = wnnGraphBuilderHardSwish(b, wnnGraphBuilderDequantizeLinear(b, whole, own, zero, NULL), NULL);
    outputs[count++] = (WNNNamedOperand){view("swish"), quantized(b, y)};
    outputs[count++] = (WNNNamedOperand){view("wide"), wnnGraphBuilderMatmul(b, rows, weights, NULL)};

    WNNOperand steps = wnnGraphBuilderReshape(b, rows, LIST(4, 2, 16), NULL), out[2];
    WNNGruOptions gru = WNN_GRU_OPTIONS_INIT;
    if (wnnGraphBuilderGru(b, steps, weights_of(b, DIMS(1, 24, 16)), weights_of(b, DIMS(1, 24, 8)), 4, 8,
                           &gru, out))
        outputs[count++] = (WNNNamedOperand){view("gru"), out[0]};
    outputs[count++] = (WNNNamedOperand){
        view("gather"), wnnGraphBuilderGather(b, weights_of(b, DIMS(9, 3)),
                                              wnnGraphBuilderCast(b, rows, WNNDataType_Int32, NULL), NULL)};
    outputs[count++] = (WNNNamedOperand){view("softmax"), wnnGraphBuilderSoftmax(b, rows, 1, NULL)};
    outputs[count++] = (WNNNamedOperand){
        view("rms"),
        by_mean_square(b, wnnGraphBuilderMul(b, weights_of(b, DIMS(16)), by_mean_square(b, rows), NULL))};
    outputs[count++] = (WNNNamedOperand){view("rotary"), rotated(b, rows)};

    // Large enough that a device has weights in an order of its own.
    WNNOperand long_rows = shaped_input(b, "long", DIMS(8, 40));
    weights = dequantized(b, 1);
    outputs[count++] = (WNNNamedOperand){view("few"), wnnGraphBuilderGemm(b, long_rows, weights, NULL)};
    outputs[count++] =
        (WNNNamedOperand){view("turned"), wnnGraphBuilderMatmul(b, rows, weights_of(b, DIMS(16, 512)), NULL)};
    return count;
}

static WNNGraph build_recorded(WNNContext on,
                               size_t (*record)(WNNGraphBuilder builder, WNNNamedOperand *outputs))
{
    WNNGraphBuilder builder = create_builder(on);
    WNNNamedOperand outputs[MAX_OUTPUTS];
    char message[1024] = "";
    WNNGraph graph;
    size_t count = record(builder, outputs);
    WNNError error = WNN_ERROR_INIT;
    wnnGraphBuilderGetError(builder, &error);
    REQUIRE_EQUAL_STR(error.message.data, "");
    wnn_build_savable(on, builder, count, outputs, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    wnnGraphBuilderRelease(builder);
    return graph;
}

static WNNGraph build_small(WNNContext on)
{
    return build_recorded(on, record_small);
}

static void test_small(void)
{
    WNNGraph built = build_small(context);
    struct serialized bytes;
    require_travels(built, &bytes);
    wnnGraphRelease(built);
    free(bytes.data);
}

// Attention of float16 whose constant keys would become float32, since a factor is folded into them.
static size_t record_scaled_keys(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    WNNOperand query =
        wnnGraphBuilderCast(b, shaped_input(b, "query", DIMS(4, 8)), WNNDataType_Float16, NULL);
    WNNOperand value =
        wnnGraphBuilderCast(b, shaped_input(b, "value", DIMS(6, 5)), WNNDataType_Float16, NULL);
    WNNOperand keys = constant_of(b, WNNDataType_Float16, DIMS(8, 6), 0.0625),
               factor = constant_of(b, WNNDataType_Float16, DIMS(6), 0.3);
    WNNOperand scores = wnnGraphBuilderMul(b, wnnGraphBuilderMatmul(b, query, keys, NULL), factor, NULL);
    WNNOperand y = wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 1, NULL), value, NULL);
    outputs[0] = (WNNNamedOperand){view("y"), wnnGraphBuilderCast(b, y, WNNDataType_Float32, NULL)};
    return 1;
}

static void test_scaled_keys(void)
{
    WNNGraph built = build_recorded(context, record_scaled_keys);
    struct serialized bytes;
    require_travels(built, &bytes);
    wnnGraphRelease(built);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Every operator that has numbers as attributes, with numbers at the ends of what its type holds and beyond:
// alone, in a chain, and behind a product if it may be fused there
// ---------------------------------------------------------------------------------------------------------------

static struct {
    WNNDataType type;
    double number;
} extreme;

static bool is_number(const struct op_row *row)
{
    return row->kind == ROW_ATTRIBUTE && (row->attr == ATTR_f64 || row->attr == ATTR_number);
}

static bool has_numbers(const struct op_info *info)
{
    for (const struct op_row *row = info->rows; row->name; row++)
        if (is_number(row))
            return info->class < CLASS_SHAPING;
    return false;
}

// A steepness is not 0.
static bool is_taken(const struct op_row *row)
{
    return (row->attr == ATTR_number || isfinite(extreme.number)) &&
           (strcmp(row->name, "steepness") != 0 || wnn_round_to_dtype(extreme.number, extreme.type) != 0);
}

static WNNOperand sized_constant(WNNGraphBuilder b, unsigned rank)
{
    return constant_of(b, extreme.type, (const uint32_t[]){3, 3, 3, 3}, rank, 0.125);
}

// Arguments are the paddings of pad.
static size_t tell_extremes(const struct op_info *info, WNNNamedAttribute *told)
{
    static const uint32_t ones[] = {1, 1};
    size_t count = 0;
    for (const struct op_row *row = info->rows; row->name; row++) {
        WNNAttributeValue value = WNN_ATTRIBUTE_VALUE_INIT;
        if (row->kind != ROW_ATTRIBUTE || (is_number(row) ? !is_taken(row) : !row->argument))
            continue;
        value.type = (WNNAttributeType)(row->attr + 1);
        if (row->attr == ATTR_f64)
            value.value.f64 = extreme.number;
        else if (row->attr == ATTR_number)
            value.value.number = wnnNumberFloat64(extreme.number);
        else
            value.value.u32List = (WNNUint32List){ones, 2};
        told[count++] = (WNNNamedAttribute){view(row->name), value};
    }
    return count;
}

static WNNOperand call_with_extremes(WNNGraphBuilder b, const struct op_info *info, WNNOperand x)
{
    WNNNamedAttribute told[8];
    WNNOperand inputs[4], output = NULL;
    size_t count = 0;
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (row->kind != ROW_INPUT)
            continue;
        inputs[count] = count == 0 ? x : sized_constant(b, row->max_rank < 2 ? 1 : 2);
        count++;
    }
    const WNNOperatorCall call = {.name = view(info->name),
                                  .inputCount = count,
                                  .inputs = inputs,
                                  .attributeCount = tell_extremes(info, told),
                                  .attributes = told};
    REQUIRE_EQUAL_INT(wnnGraphBuilderCall(b, &call, 1, &output), 1);
    return output;
}

static WNNOperand in_every_way(WNNGraphBuilder b, const struct op_info *info, WNNOperand image, WNNOperand x)
{
    if (info->class != CLASS_ACTIVATION)
        return call_with_extremes(b, info, info->rows->min_rank > 2 ? image : x);
    WNNOperand product = wnnGraphBuilderMatmul(b, x, sized_constant(b, 2), NULL);
    const WNNOperand ways[] = {
        call_with_extremes(b, info, x), call_with_extremes(b, info, product),
        wnnGraphBuilderTanh(b, call_with_extremes(b, info, wnnGraphBuilderNeg(b, x, NULL)), NULL)};
    return wnnGraphBuilderConcat(b, 3, ways, 0, NULL);
}

// Activations that belong to another operator, which completes them.
static WNNOperand gru_with_extremes(WNNGraphBuilder b, WNNOperand x)
{
    WNNHardSigmoidOptions sigmoid = WNN_HARD_SIGMOID_OPTIONS_INIT;
    WNNEluOptions elu = WNN_ELU_OPTIONS_INIT;
    WNNGruOptions gru = WNN_GRU_OPTIONS_INIT;
    if (isfinite(extreme.number))
        sigmoid.alpha = sigmoid.beta = elu.alpha = extreme.number;
    const WNNActivation activations[] = {wnnGraphBuilderActivationHardSigmoid(b, &sigmoid),
                                         wnnGraphBuilderActivationElu(b, &elu)};
    WNNOperand weights = constant_of(b, extreme.type, DIMS(1, 9, 3), 0.125), out[2] = {NULL, NULL};
    gru.activations = (WNNActivationList){activations, 2};
    wnnGraphBuilderGru(b, wnnGraphBuilderReshape(b, x, LIST(1, 3, 3), NULL), weights, weights, 1, 3, &gru,
                       out);
    return out[0];
}

static size_t record_extremes(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    WNNOperand image = shaped_input(b, "image", DIMS(1, 3, 3, 3)), x = shaped_input(b, "x", DIMS(3, 3));
    size_t count = 0;
    image = wnnGraphBuilderCast(b, image, extreme.type, NULL);
    x = wnnGraphBuilderCast(b, x, extreme.type, NULL);
    for (unsigned op = 0; op < WNN_OP_COUNT; op++) {
        if (!has_numbers(&wnn_ops[op]))
            continue;
        REQUIRE(count < MAX_OUTPUTS - 1);
        outputs[count++] = (WNNNamedOperand){view(wnn_ops[op].name), in_every_way(b, &wnn_ops[op], image, x)};
    }
    REQUIRE(count > 8);
    outputs[count++] = (WNNNamedOperand){view("gru"), gru_with_extremes(b, x)};
    return count;
}

static void test_extremes(void)
{
    static const double numbers[] = {65520,  -1e6,   3.5e38, -1e300,    1e300, 1e-7,
                                     -1e-40, 1e-320, -0.0,   -INFINITY, NAN};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i += is_cpu() ? 1 : 4) {
        for (unsigned wide = 0; wide < 2; wide++) {
            extreme.type = wide ? WNNDataType_Float32 : WNNDataType_Float16;
            extreme.number = numbers[i];
            WNNGraph built = build_recorded(context, record_extremes);
            struct serialized bytes;
            require_travels(built, &bytes);
            wnnGraphRelease(built);
            free(bytes.data);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// In place
// ---------------------------------------------------------------------------------------------------------------

static void test_in_place(void)
{
    WNNGraph built = build_model(context, "matmul:8x2048x2048");
    struct serialized bytes = save(built);
    wnnGraphRelease(built);
    WNNContext own = create_context(1, false);
    uint64_t before = counters_of(own).allocatedBytes;
    WNNGraph loaded = load(own, &bytes);
    uint64_t taken = counters_of(own).allocatedBytes - before;
    REQUIRE(bytes.size > 2048 * 2048 * sizeof(float));
    REQUIRE(taken < 1u << 20);
    wnnGraphRelease(loaded);
    require_bytes(own, before);
    wnnContextRelease(own);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Refusals
// ---------------------------------------------------------------------------------------------------------------

static void require_refused(WNNContext on, const void *data, size_t size, WNNStatus status, const char *part)
{
    WNNGraph graph;
    char message[1024] = "";
    REQUIRE_EQUAL_INT(wnn_load_copy(on, data, size, &graph, sizeof message, message), status);
    REQUIRE(!graph);
    REQUIRE_CONTAINS(message, part);
}

static void test_refused(void)
{
    WNNGraph built = build_small(context);
    struct serialized bytes = save(built);
    unsigned char *copy = wnn_aligned_copy(bytes.data, bytes.size);
    wnnGraphRelease(built);
    require_refused(other, copy, 0, WNNStatus_TypeError, "do not begin as a compiled graph");
    require_refused(other, copy, 40, WNNStatus_TypeError, "ends within its header");
    require_refused(other, copy, bytes.size - 64, WNNStatus_TypeError, "its header says");
    copy[0] ^= 1;
    require_refused(other, copy, bytes.size, WNNStatus_TypeError, "do not begin as a compiled graph");
    copy[0] ^= 1;
    copy[8] ^= 1;
    require_refused(other, copy, bytes.size, WNNStatus_NotSupportedError, "version 5 of the format");
    copy[8] ^= 1;
    copy[120] ^= 1; // of the library's text
    require_refused(other, copy, bytes.size, WNNStatus_TypeError, "its head has another digest");
    wnn_seal_compiled(copy, bytes.size);
    require_refused(other, copy, bytes.size, WNNStatus_NotSupportedError, "compiled by the library");
    copy[120] ^= 1;
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    wnn_seal_compiled(copy, bytes.size);
    REQUIRE_EQUAL_INT(wnnGetCompiledGraphInfo(copy, bytes.size, &info), WNNStatus_Success);
    REQUIRE_EQUAL_INT(info.headBytes + info.dataBytes, bytes.size);
    REQUIRE(info.backend.length == strlen(backend->name) &&
            memcmp(info.backend.data, backend->name, info.backend.length) == 0);
    unsigned char *target = (unsigned char *)(uintptr_t)info.target.data;
    target[0] ^= 1;
    wnn_seal_compiled(copy, bytes.size);
    require_refused(other, copy, bytes.size, WNNStatus_NotSupportedError, "compiled for the target");
    target[0] ^= 1;
    copy[bytes.size - 100] ^= 1;
    wnn_seal_compiled(copy, bytes.size);
    copy[bytes.size - 100] ^= 1;
    require_refused(other, copy, bytes.size, WNNStatus_TypeError, "its data have another checksum");
    WNNContext strict = create_context(1, true);
    require_refused(strict, bytes.data, bytes.size, WNNStatus_NotSupportedError, "strictNumerics");
    wnnContextRelease(strict);
    free(copy);
    free(bytes.data);
}

static WNNStatus refuse(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)userdata2;
    REQUIRE(data);
    *(size_t *)userdata1 = size;
    return WNNStatus_OperationError;
}

static void count_release(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)data;
    (void)size;
    (void)userdata2;
    ++*(int *)userdata1;
}

static void test_descriptors(void)
{
    int released = 0;
    size_t seen = 0;
    char message[1024] = "";
    WNNGraph built = build_small(context), graph;
    struct serialized bytes = save(built);
    void *memory;
    REQUIRE(!posix_memalign(&memory, 64, bytes.size + 8));
    memcpy((char *)memory + 8, bytes.data, bytes.size);
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    REQUIRE_EQUAL_INT(wnnContextLoadGraphSync(other, NULL, &graph, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "no descriptor");
    REQUIRE_EQUAL_INT(wnnContextLoadGraphSync(other, &descriptor, &graph, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "no bytes");
    descriptor.bytes.data = (char *)memory + 8;
    descriptor.bytes.byteLength = bytes.size;
    descriptor.bytes.release = count_release;
    descriptor.bytes.userdata1 = &released;
    REQUIRE_EQUAL_INT(wnnContextLoadGraphSync(other, &descriptor, &graph, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "not aligned to 64");
    REQUIRE_EQUAL_INT(released, 1);
    memmove(memory, bytes.data, bytes.size);
    descriptor.bytes.data = memory;
    REQUIRE_EQUAL_INT(wnnContextLoadGraphSync(other, &descriptor, NULL, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(released, 2);
    REQUIRE_EQUAL_INT(wnnContextLoadGraphSync(NULL, &descriptor, &graph, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(released, 3);
    descriptor.authenticate = refuse;
    descriptor.userdata1 = &seen;
    REQUIRE_EQUAL_INT(wnnContextLoadGraphSync(other, &descriptor, &graph, sizeof message, message),
                      WNNStatus_OperationError);
    REQUIRE_CONTAINS(message, "did not authenticate");
    REQUIRE_EQUAL_INT(seen, bytes.size);
    REQUIRE_EQUAL_INT(released, 4);
    descriptor.authenticate = NULL;
    // The data need not be looked at.
    ((char *)memory)[bytes.size - 100] ^= 1;
    REQUIRE_EQUAL_INT(wnnContextLoadGraphSync(other, &descriptor, &graph, sizeof message, message),
                      WNNStatus_TypeError);
    descriptor.skipDataCheck = true;
    REQUIRE_EQUAL_INT(wnnContextLoadGraphSync(other, &descriptor, &graph, sizeof message, message),
                      WNNStatus_Success);
    REQUIRE_EQUAL_INT(released, 5);
    wnnGraphRelease(graph);
    for (int i = 0; i < 5000 && released < 6; i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(released, 6);

    WNNSaveGraphDescriptor to = WNN_SAVE_GRAPH_DESCRIPTOR_INIT;
    REQUIRE_EQUAL_INT(wnnGraphSaveSync(built, NULL, sizeof message, message), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnGraphSaveSync(built, &to, sizeof message, message), WNNStatus_TypeError);
    REQUIRE_CONTAINS(message, "nothing takes the bytes");
    REQUIRE_EQUAL_INT(wnnGraphSaveSync(NULL, &to, sizeof message, message), WNNStatus_TypeError);
    wnnGraphDestroy(built);
    REQUIRE_EQUAL_INT(wnn_save_graph(built, &bytes, sizeof message, message), WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, "destroyed");
    wnnGraphRelease(built);
    built = build_sum(context);
    REQUIRE_EQUAL_INT(wnn_save_graph(built, &bytes, sizeof message, message), WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(message, "not built as WNNSavable");
    wnnGraphRelease(built);
    free(memory);
    free(bytes.data);
}

static void test_backends(void)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext dummy;
    char message[1024] = "";
    struct serialized bytes = {0};
    REQUIRE_EQUAL_INT(wnn_create_context_on(wnn_backend_find("dummy"), &descriptor, &dummy),
                      WNNStatus_Success);
    WNNGraph built = build_small(dummy);
    REQUIRE_EQUAL_INT(wnn_save_graph(built, &bytes, sizeof message, message), WNNStatus_NotSupportedError);
    REQUIRE_CONTAINS(message, "backend dummy does not save");
    wnnGraphRelease(built);
    built = build_small(context);
    bytes = save(built);
    require_refused(dummy, bytes.data, bytes.size, WNNStatus_NotSupportedError,
                    "backend dummy does not load");
    wnnGraphRelease(built);
    wnnContextRelease(dummy);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Bytes from a stranger
// ---------------------------------------------------------------------------------------------------------------

static WNNContext create_limited(void)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.limits = &wnn_limits_of_strangers;
    descriptor.threadCount = 1;
    return create_described(&descriptor);
}

// How many of them were refused and how many ran.
static struct {
    unsigned refused, ran;
} tried;

static void try(WNNContext on, const unsigned char *data, size_t size)
{
    WNNGraph graph;
    char message[1024] = "";
    WNNStatus status = wnn_load_borrowed(on, NULL, data, size, &graph, sizeof message, message);
    REQUIRE((status == WNNStatus_Success) == (graph != NULL));
    if (!graph) {
        REQUIRE(message[0]);
        tried.refused++;
        return;
    }
    size_t outputs;
    wnnGraphGetOutputs(graph, &outputs);
    if (outputs <= MAX_OUTPUTS) {
        struct results results = compute(on, graph);
        free_results(&results);
    }
    wnnGraphRelease(graph);
    tried.ran++;
}

static struct serialized save_small(size_t *head)
{
    WNNGraph built = build_small(context);
    struct serialized bytes = save(built);
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    wnnGraphRelease(built);
    REQUIRE_EQUAL_INT(wnnGetCompiledGraphInfo(bytes.data, bytes.size, &info), WNNStatus_Success);
    *head = (size_t)info.headBytes;
    return bytes;
}

// Every bit of the head, sealed so that it is believed; and some of the data. With sanitizers, and on a GPU,
// where all take minutes, each byte has three of them, on a GPU others than at the same place of the next
// record, whatever its size.
static void test_bits(void)
{
    size_t head;
    struct serialized bytes = save_small(&head);
    WNNContext limited = create_limited();
    unsigned char *copy = wnn_aligned_copy(bytes.data, bytes.size);
    tried.refused = tried.ran = 0;
    size_t step = SANITIZED && !is_cpu() ? 3 : 1;
    for (size_t i = 0; i < bytes.size; i += i < head ? step : 61 * step * step)
        for (size_t k = 0; k < 8; k += SANITIZED || !is_cpu() ? 3 : 1) {
            unsigned bit = (unsigned)((is_cpu() ? k : i + i / 13 + k) % 8);
            copy[i] ^= (unsigned char)(1u << bit);
            wnn_seal_compiled(copy, bytes.size);
            try(limited, copy, bytes.size);
            memcpy(copy, bytes.data, bytes.size);
        }
    fprintf(stderr, "%zu bytes of head: %u refused, %u ran\n", head, tried.refused, tried.ran);
    REQUIRE(tried.refused > head / step && tried.ran > head / step / 16);
    wnnContextRelease(limited);
    free(copy);
    free(bytes.data);
}

// Words of the head that are what counts and numbers often go wrong with; on a GPU some of them at each
// place.
static void test_words(void)
{
    static const uint32_t words[] = {0,   1,   2,       3,          7,          8,         9,
                                     255, 256, 0x10000, 0x7FFFFFFF, 0x80000000, UINT32_MAX};
    size_t head, stride = is_cpu() ? 1 : SANITIZED ? 4 : 2;
    struct serialized bytes = save_small(&head);
    WNNContext limited = create_limited();
    unsigned char *copy = wnn_aligned_copy(bytes.data, bytes.size);
    for (size_t i = 96; i + 4 <= head; i += 4)
        for (size_t j = (i / 4 + i / 52) % stride; j < sizeof words / sizeof words[0]; j += stride) {
            memcpy(copy + i, &words[j], 4);
            wnn_seal_compiled(copy, bytes.size);
            try(limited, copy, bytes.size);
            memcpy(copy + i, bytes.data + i, 4);
        }
    wnnContextRelease(limited);
    free(copy);
    free(bytes.data);
}

// A product with everything that one can have.
static size_t record_product(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;
    WNNOperand rows = shaped_input(b, "rows", DIMS(8, 40)), weights = dequantized(b, 40);
    gemm.c = weights_of(b, DIMS(512));
    outputs[0] = (WNNNamedOperand){view("product"), wnnGraphBuilderGemm(b, rows, weights, &gemm)};
    return 1;
}

// An operand less, and one more mistake.
static void test_absent(void)
{
    WNNGraph built = build_recorded(context, record_product);
    struct serialized bytes = save(built);
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnGetCompiledGraphInfo(bytes.data, bytes.size, &info), WNNStatus_Success);
    WNNContext limited = create_limited();
    unsigned char *copy = wnn_aligned_copy(bytes.data, bytes.size);
    unsigned absent = 0;
    for (size_t i = 96; i + 4 <= info.headBytes; i += 4) {
        memset(copy + i, 0xFF, 4);
        wnn_seal_compiled(copy, bytes.size);
        tried.ran = 0;
        try(limited, copy, bytes.size);
        absent += tried.ran;
        for (size_t j = 96; tried.ran && j + 4 <= info.headBytes; j += 4) {
            memset(copy + j, 0, 4);
            wnn_seal_compiled(copy, bytes.size);
            try(limited, copy, bytes.size);
            memcpy(copy + j, bytes.data + j, 4);
            memset(copy + i, 0xFF, 4);
        }
        memcpy(copy + i, bytes.data + i, 4);
    }
    REQUIRE(absent > 0);
    wnnGraphRelease(built);
    wnnContextRelease(limited);
    free(copy);
    free(bytes.data);
}

static size_t record_sum(WNNGraphBuilder b, WNNNamedOperand *outputs)
{
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = LIST(1);
    outputs[0] = (WNNNamedOperand){view("sum"),
                                   wnnGraphBuilderReduceSum(b, shaped_input(b, "x", DIMS(3, 4)), &options)};
    return 1;
}

// A node without elements, which no pass leaves in a graph, in a context that takes them from callers.
static void test_empty(void)
{
    WNNLimits limits = WNN_LIMITS_INIT;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    limits.acceptEmptyTensors = true;
    descriptor.limits = &limits;
    descriptor.threadCount = 1;
    WNNContext own = create_described(&descriptor);
    WNNGraph built = build_recorded(own, record_sum);
    struct serialized bytes = save(built);
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnGetCompiledGraphInfo(bytes.data, bytes.size, &info), WNNStatus_Success);
    unsigned found = 0;
    for (size_t i = 96; i + 4 <= info.headBytes; i += 4) {
        const uint32_t four = 4, none = 0;
        char message[1024] = "";
        WNNGraph graph;
        if (memcmp(bytes.data + i, &four, 4) != 0)
            continue;
        memcpy(bytes.data + i, &none, 4);
        wnn_seal_compiled(bytes.data, bytes.size);
        wnn_load_copy(own, bytes.data, bytes.size, &graph, sizeof message, message);
        found += strstr(message, "without elements") != NULL;
        REQUIRE(!graph);
        memcpy(bytes.data + i, &four, 4);
    }
    REQUIRE_EQUAL_INT(found, 1);
    wnnGraphRelease(built);
    wnnContextRelease(own);
    free(bytes.data);
}

// As the length says, and not.
static void test_ends(void)
{
    size_t head;
    struct serialized bytes = save_small(&head);
    WNNContext limited = create_limited();
    unsigned char *copy = wnn_aligned_copy(bytes.data, bytes.size);
    for (size_t size = 0; size < bytes.size; size += size < head ? 1 : 64) {
        require_refused(limited, copy, size, WNNStatus_TypeError, "load: ");
        wnn_seal_compiled(copy, size);
        require_refused(limited, copy, size, WNNStatus_TypeError, "load: ");
        memcpy(copy, bytes.data, bytes.size);
    }
    free(copy);
    wnnContextRelease(limited);
    free(bytes.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory that runs out
// ---------------------------------------------------------------------------------------------------------------

static void test_memory(void)
{
    size_t head;
    struct serialized bytes = save_small(&head), again = {0};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    char message[1024];
    descriptor.allocator = &failing_allocator;
    descriptor.threadCount = 1;
    WNNContext own = create_described(&descriptor);
    for (long n = 1;; n++) {
        WNNGraph graph;
        atomic_store(&until_failure, n);
        WNNStatus status = wnn_load_copy(own, bytes.data, bytes.size, &graph, sizeof message, message);
        if (status == WNNStatus_Success) {
            WNNStatus saved = wnn_save_graph(graph, &again, sizeof message, message);
            wnnGraphRelease(graph);
            bool done = atomic_exchange(&until_failure, 0) > 0;
            REQUIRE(saved == WNNStatus_Success ? wnn_serialized_equal(&bytes, &again)
                                               : saved == WNNStatus_OutOfMemory);
            if (done)
                break;
        } else {
            REQUIRE_EQUAL_INT(status, WNNStatus_OutOfMemory);
        }
        atomic_store(&until_failure, 0);
    }
    wnnContextRelease(own);
    require_no_blocks();
    free(bytes.data);
    free(again.data);
}

// ---------------------------------------------------------------------------------------------------------------
// Code for a device
// ---------------------------------------------------------------------------------------------------------------

static size_t count_load(const void *key, size_t length, void *data, size_t capacity, void *userdata)
{
    (void)key;
    (void)length;
    (void)data;
    (void)capacity;
    ++*(unsigned *)userdata;
    return 0;
}

static void ignore_entry(const void *key, size_t length, const void *data, size_t size, void *userdata)
{
    (void)key;
    (void)length;
    (void)data;
    (void)size;
    (void)userdata;
}

// How many shaders a new context asks the cache of its host for when it loads the bytes, whose results have
// to be the right ones.
static unsigned count_asked(const unsigned char *data, size_t size, bool vouched, struct results right)
{
    unsigned asked = 0, before;
    const WNNCache cache = {NULL, count_load, ignore_entry, &asked};
    WNNContextDescriptor on = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    char message[1024] = "";
    void *memory = wnn_aligned_copy(data, size);
    WNNGraph graph;
    on.threadCount = 1;
    on.cache = &cache;
    WNNContext own = create_described(&on);
    descriptor.bytes.data = memory;
    descriptor.bytes.byteLength = size;
    descriptor.authenticate = vouched ? wnn_vouch : NULL;
    before = asked;
    wnnContextLoadGraphSync(own, &descriptor, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    struct results results = compute(own, graph);
    for (size_t i = 0; i < right.count; i++)
        REQUIRE(memcmp(results.buffers[i].data, right.buffers[i].data, right.buffers[i].byteLength) == 0);
    free_results(&results);
    wnnGraphRelease(graph);
    wnnContextRelease(own);
    free(memory);
    return asked - before;
}

// It is run as it is if the host vouches for the bytes, and is not looked at if not, whatever it is.
static void test_code(void)
{
    WNNGraph built = build_small(context);
    struct serialized bytes = save(built);
    struct results right = compute(context, built);
    unsigned char *copy = wnn_aligned_copy(bytes.data, bytes.size);
    unsigned all = count_asked(bytes.data, bytes.size, false, right);
    fprintf(stderr, "%u shaders\n", all);
    REQUIRE(all > 10);
    REQUIRE_EQUAL_INT(count_asked(bytes.data, bytes.size, true, right), 0);
    for (size_t back = 200; back < 20000; back += 2477) {
        copy[bytes.size - back] ^= 8;
        wnn_seal_compiled(copy, bytes.size);
        REQUIRE_EQUAL_INT(count_asked(copy, bytes.size, false, right), all);
        copy[bytes.size - back] ^= 8;
    }
    wnnGraphRelease(built);
    free_results(&right);
    free(copy);
    free(bytes.data);
}

int main(int argc, char **argv)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    backend = argc > 1 ? find_backend(argv[1]) : NULL;
    REQUIRE(backend);
    cases_begin(argc - 1, argv + 1);
    descriptor.threadCount = 1;
    WNNStatus status = wnn_create_context_on(backend, &descriptor, &context);
    if (status == WNNStatus_NotSupportedError && !is_cpu())
        return cases_skip("there is no device");
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    other = create_context(2, false);
    CASE(test_small());
    CASE(test_scaled_keys());
    CASE(test_extremes());
    CASE(test_models());
    if (is_cpu())
        CASE(test_in_place());
    else
        CASE(test_code());
    CASE(test_refused());
    CASE(test_descriptors());
    CASE(test_backends());
    CASE(test_ends());
    CASE(test_bits());
    CASE(test_words());
    CASE(test_absent());
    CASE(test_empty());
    CASE(test_memory());
    wnnContextRelease(context);
    wnnContextRelease(other);
    return cases_end();
}
