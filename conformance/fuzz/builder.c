// SPDX-License-Identifier: Apache-2.0
//
// Bytes become calls of a graph builder, with whatever types, shapes, operands and options they say; what was
// accepted is built and computed, and saved, if a byte says so, and loaded again. Nothing may crash, leak,
// hang or exceed its limits, and no execution that was taken may fail, nor may what was saved be refused.
// Operators and their options are found in the operator table, so that new ones are covered.

#include "conformance/fuzz/fuzz.h"

#include "conformance/compiled.h"
#include "ops/op.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_OPERANDS = 48,
    MAX_CALLS = 40,
    MAX_OUTPUTS = 4,
    MAX_ITEMS = 10,
    MAX_INPUTS = 12, // of one operator
    MAX_ATTRS = 512, // bytes
    MAX_SIZES = 64,  // that are not known, of one graph
    MAX_PORTS = 64,  // of one graph
};

#define MAX_MEMORY (64u << 20)

unsigned long fuzz_built;

struct run {
    const uint8_t *bytes; // what is left
    size_t length;
    WNNContext context;
    WNNGraphBuilder builder;
    WNNOperand operands[MAX_OPERANDS];
    size_t operand_count, input_count;
    // Of the call that is being prepared.
    union {
        uint32_t integers[MAX_ITEMS];
        float floats[MAX_ITEMS];
        WNNActivation activations[MAX_ITEMS];
    } lists[16];
    size_t list_count;
};

// 0 when there are no more.
static uint8_t take(struct run *run)
{
    if (run->length == 0)
        return 0;
    run->length--;
    return *run->bytes++;
}

static uint32_t take_number(struct run *run)
{
    static const uint32_t hostile[] = {0,          65536,      0x7FFFFFFF, 0x80000000,
                                       0xFFFFFFFF, 0xFFFFFFFE, 46341,      1u << 30};
    uint8_t byte = take(run);
    if (byte >= 224 && byte < 240)
        return 0x80000000u + byte % 16; // a size that is not known, if there are so many
    if (byte < 240)
        return byte % 12;
    return byte < 248 ? byte : hostile[byte - 248];
}

static double take_real(struct run *run)
{
    static const double reals[] = {0,     1,      -1,     0.5,    -2, 6,     1e-5, -0.0,
                                   1e300, -1e300, 3.4e38, 1e-310, 17, 1e-40, 255,  2};
    uint8_t byte = take(run);
    if (byte >= 252)
        return byte == 252 ? (double)INFINITY : byte == 253 ? -(double)INFINITY : (double)NAN;
    return reals[byte % 16];
}

static WNNOperand take_operand(struct run *run)
{
    uint8_t byte = take(run);
    if (run->operand_count == 0 || byte == 255)
        return NULL;
    return run->operands[run->operand_count - 1 - byte % run->operand_count];
}

static void keep(struct run *run, WNNOperand operand)
{
    if (operand && run->operand_count < MAX_OPERANDS)
        run->operands[run->operand_count++] = operand;
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs and constants
// ---------------------------------------------------------------------------------------------------------------

static void take_back(const void *data, size_t size, void *memory, void *unused)
{
    (void)data, (void)size, (void)unused;
    free(memory);
}

static void add_constant(struct run *run, const WNNOperandDescriptor *type, uint8_t how)
{
    uint64_t count = 1;
    for (size_t i = 0; i < type->shape.count; i++)
        count = count * type->shape.data[i] > 1u << 20 ? 1u << 20 : count * type->shape.data[i];
    bool exists = type->dataType >= WNNDataType_Float32 && type->dataType <= WNNDataType_Uint4;
    size_t bits = exists ? wnn_dtype_bits(type->dataType) : 8;
    size_t bytes = (size_t)(count * bits + 7) / 8 + (how % 16 == 15);
    char *memory = malloc(bytes + 8), *data = memory + (how & 32 ? how % 4 : 0);
    if (!memory)
        return;
    uint32_t state = how * 2654435761u + 1;
    for (size_t i = 0; i < bytes; i++, state = state * 1664525u + 1013904223u)
        data[i] = (char)(how & 64 ? state >> 24 : i % 4 == 3 ? 63 : 0); // any bits, or 0.5 in float32
    if (how & 128) {
        WNNExternalBytes loan = WNN_EXTERNAL_BYTES_INIT;
        loan.data = data;
        loan.byteLength = bytes;
        loan.release = take_back;
        loan.userdata1 = memory;
        keep(run, wnnGraphBuilderExternalConstant(run->builder, type, &loan));
    } else {
        keep(run, wnnGraphBuilderConstant(run->builder, type, data, bytes));
        free(memory);
    }
}

static WNNDimension take_dimension(struct run *run)
{
    static const char *const names[] = {"", "n", "m", "n", "", "batch", "\xFF", "m"};
    uint8_t how = take(run);
    WNNDimension dimension = WNN_DIMENSION_INIT;
    dimension.name = (WNNStringView){names[how % 8], WNN_STRLEN};
    dimension.isUnknown = how % 16 == 12;
    if (how & 32)
        dimension.minSize = take_number(run);
    if (how & 64)
        dimension.maxSize = take_number(run);
    return dimension;
}

static void add_source(struct run *run)
{
    uint32_t dims[WNN_MAX_RANK + 2];
    char name[16];
    uint8_t type = take(run), rank = take(run), how = take(run);
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type % 3 ? WNNDataType_Float32 : (WNNDataType)(type / 3 % 12);
    descriptor.shape = (WNNUint32List){dims, rank < 160 ? rank % 5 : rank % (WNN_MAX_RANK + 2)};
    for (size_t i = 0; i < descriptor.shape.count; i++)
        dims[i] = take_number(run);
    WNNDimension dimensions[WNN_MAX_RANK + 2];
    WNNNamedDimensions named = WNN_NAMED_DIMENSIONS_INIT;
    named.dimensionCount = descriptor.shape.count;
    named.dimensions = dimensions;
    if (how % 8 == 4) {
        descriptor.nextInChain = &named.chain;
        for (size_t i = 0; i < descriptor.shape.count; i++)
            dimensions[i] = take_dimension(run);
    }
    snprintf(name, sizeof name, "x%zu", how == 255 ? 0 : run->input_count++);
    if (how % 4 < 2)
        keep(run, wnnGraphBuilderInput(run->builder, (WNNStringView){name, WNN_STRLEN}, &descriptor));
    else
        add_constant(run, &descriptor, take(run));
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

static size_t take_length(struct run *run)
{
    uint8_t byte = take(run);
    return byte == 255 ? WNN_LIST_ABSENT : byte < 200 ? byte % 5 : byte % (MAX_ITEMS + 1);
}

static WNNActivation take_activation(struct run *run)
{
    enum op op = (enum op)(take(run) % WNN_OP_COUNT);
    return wnn_op_is_activation(op) ? wnn_builder_activation(run->builder, op, NULL) : NULL;
}

#define STORE(type, ...)                                                                                     \
    do {                                                                                                     \
        type value_ = __VA_ARGS__;                                                                           \
        memcpy(at, &value_, sizeof value_);                                                                  \
    } while (0)

static void take_list(struct run *run, const struct op_row *row, char *at)
{
    if (run->list_count == sizeof run->lists / sizeof run->lists[0])
        return;
    size_t length = take_length(run), count = length == WNN_LIST_ABSENT ? 0 : length;
    void *items = &run->lists[run->list_count++];
    for (size_t i = 0; i < count; i++)
        if (row->attr == ATTR_u32s)
            ((uint32_t *)items)[i] = take_number(run);
        else if (row->attr == ATTR_f32s)
            ((float *)items)[i] = (float)take_real(run);
        else
            ((WNNActivation *)items)[i] = take_activation(run);
    if (row->attr == ATTR_u32s)
        STORE(WNNUint32List, {items, length});
    else if (row->attr == ATTR_f32s)
        STORE(WNNFloat32List, {items, length});
    else
        STORE(WNNActivationList, {items, length});
}

static void take_attribute(struct run *run, const struct op_row *row, char *at)
{
    switch (row->attr) {
    case ATTR_u32:
    case ATTR_i32:
        STORE(uint32_t, take_number(run));
        break;
    case ATTR_bool:
        STORE(bool, take(run) % 2 == 1);
        break;
    case ATTR_f64:
        STORE(double, take_real(run));
        break;
    case ATTR_number:
        STORE(WNNNumber, take(run) % 2 ? wnnNumberFloat64(take_real(run)) : wnnNumberInt64(take(run)));
        break;
    case ATTR_dtype:
    case ATTR_enum:
        STORE(uint32_t, take_number(run));
        break;
    case ATTR_activation:
        STORE(WNNActivation, take_activation(run));
        break;
    case ATTR_u32s:
    case ATTR_f32s:
    case ATTR_activations:
        take_list(run, row, at);
        break;
    }
}

static void add_operator(struct run *run)
{
    enum op op = (enum op)(take(run) % WNN_OP_COUNT);
    const struct op_info *info = &wnn_ops[op];
    _Alignas(max_align_t) char attrs[MAX_ATTRS];
    WNNOperand inputs[MAX_INPUTS], outputs[MAX_OUTPUTS];
    size_t count = 0;
    if (info->attrs_size > sizeof attrs)
        abort();
    memcpy(attrs, info->defaults, info->attrs_size);
    run->list_count = 0;
    uint8_t options = take(run); // how many are given
    for (const struct op_row *row = info->rows; row->name; row++) {
        bool given = take(run) < options;
        if (row->kind == ROW_INPUT)
            inputs[count++] = take_operand(run);
        else if (row->kind == ROW_INPUT_LIST)
            for (size_t n = take(run) % (MAX_INPUTS - count + 1); n > 0; n--)
                inputs[count++] = take_operand(run);
        else if (row->kind == ROW_OPTIONAL_INPUT && given) {
            char *at = attrs + row->offset;
            STORE(WNNOperand, take_operand(run));
        } else if (row->kind == ROW_ATTRIBUTE && (given || row->argument))
            take_attribute(run, row, attrs + row->offset);
    }
    size_t made = wnn_builder_call(run->builder, op, count, inputs, attrs, MAX_OUTPUTS, outputs);
    for (size_t i = 0; i < made && i < MAX_OUTPUTS; i++)
        keep(run, outputs[i]);
}

// ---------------------------------------------------------------------------------------------------------------
// Building and computing
// ---------------------------------------------------------------------------------------------------------------

static void wait(struct run *run, WNNFuture future)
{
    WNNFutureWaitInfo info = {future, false};
    if (wnnContextWaitAny(run->context, 1, &info, WNN_WAIT_FOREVER) != WNNWaitStatus_Success)
        abort();
}

static void on_built(WNNStatus status, WNNGraph graph, WNNStringView message, void *result, void *unused)
{
    (void)unused;
    if ((status == WNNStatus_Success) != (graph != NULL) || (message.length == 0) != (graph != NULL))
        abort();
    *(WNNGraph *)result = graph;
}

static void on_computed(WNNStatus status, WNNStringView message, void *unused1, void *unused2)
{
    (void)unused1, (void)unused2;
    if (status != WNNStatus_Success && status != WNNStatus_OutOfMemory) {
        fprintf(stderr, "%.*s\n", (int)message.length, message.data);
        abort();
    }
}

static WNNNamedBuffer *make_buffers(const WNNNamedDescriptor *list, size_t count)
{
    WNNNamedBuffer *buffers = calloc(count ? count : 1, sizeof *buffers);
    for (size_t i = 0; buffers && i < count; i++) {
        struct descriptor type = {list[i].descriptor.dataType, {.rank = 0}};
        type.shape.rank = (unsigned)list[i].descriptor.shape.count;
        memcpy(type.shape.dim, list[i].descriptor.shape.data, type.shape.rank * sizeof type.shape.dim[0]);
        size_t bytes = wnn_descriptor_bytes(&type);
        buffers[i] = (WNNNamedBuffer){list[i].name, calloc(bytes, 1), bytes, list[i].descriptor.dataType};
        for (size_t k = 0; buffers[i].data && k < bytes; k++)
            ((unsigned char *)buffers[i].data)[k] = (unsigned char)(k * 37 + i);
    }
    return buffers;
}

static void free_buffers(WNNNamedBuffer *buffers, size_t count)
{
    for (size_t i = 0; buffers && i < count; i++)
        free(buffers[i].data);
    free(buffers);
}

// Shapes for inputs of which some sizes are not known: the same size has the same value.
static void choose_shapes(struct run *run, WNNGraph graph, uint32_t dims[MAX_PORTS][WNN_MAX_RANK],
                          WNNNamedShape *shapes, size_t *count)
{
    const WNNNamedDescriptor *list = wnnGraphGetInputs(graph, count);
    uint32_t values[MAX_SIZES];
    for (size_t i = 0; i < MAX_SIZES; i++)
        values[i] = take(run) % 5;
    for (size_t i = 0; i < *count; i++) {
        const WNNUint32List *shape = &list[i].descriptor.shape;
        for (size_t d = 0; d < shape->count; d++) {
            WNNDimension dimension;
            dims[i][d] = shape->data[d];
            if (shape->data[d] <= 0x7FFFFFFF)
                continue;
            if (wnnGraphGetSize(graph, shape->data[d], &dimension) != WNNStatus_Success)
                abort();
            uint32_t room = dimension.maxSize - dimension.minSize, more = values[shape->data[d] % MAX_SIZES];
            dims[i][d] = dimension.minSize + (more < room ? more : room);
        }
        shapes[i] = (WNNNamedShape){list[i].name, {dims[i], shape->count}};
    }
}

// At some sizes, which an operator may well refuse. The same call that tells shapes has looked at all of it.
static void compute_late(struct run *run, WNNGraph graph)
{
    static uint32_t dims[MAX_PORTS][WNN_MAX_RANK];
    WNNNamedShape shapes[MAX_PORTS];
    WNNNamedDescriptor inputs[MAX_PORTS], outputs[MAX_PORTS];
    WNNOutputShape made[MAX_PORTS];
    char message[256];
    size_t count, output_count;
    choose_shapes(run, graph, dims, shapes, &count);
    wnnGraphGetOutputs(graph, &output_count);
    for (size_t i = 0; i < MAX_PORTS; i++)
        made[i] = (WNNOutputShape)WNN_OUTPUT_SHAPE_INIT;
    WNNStatus status =
        wnnGraphComputeShapes(graph, count, shapes, output_count, made, sizeof message, message);
    if ((status == WNNStatus_Success) != (message[0] == 0))
        abort();
    if (status != WNNStatus_Success)
        return;
    const WNNNamedDescriptor *list = wnnGraphGetInputs(graph, &count);
    for (size_t i = 0; i < count; i++)
        inputs[i] = (WNNNamedDescriptor){list[i].name, {NULL, list[i].descriptor.dataType, shapes[i].shape}};
    for (size_t i = 0; i < output_count; i++)
        outputs[i] =
            (WNNNamedDescriptor){made[i].name, {NULL, made[i].dataType, {made[i].dimensions, made[i].rank}}};
    WNNInputShapes given = {{NULL, WNNSType_InputShapes}, count, shapes};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    WNNNamedBuffer *from = make_buffers(inputs, count), *to = make_buffers(outputs, output_count);
    descriptor.nextInChain = &given.chain;
    descriptor.graph = graph;
    descriptor.inputCount = count;
    descriptor.inputs = from;
    descriptor.outputCount = output_count;
    descriptor.outputs = to;
    WNNRequestCallbackInfo info = WNN_REQUEST_CALLBACK_INFO_INIT;
    info.callback = on_computed;
    wait(run, wnnContextCompute(run->context, &descriptor, info));
    free_buffers(from, count);
    free_buffers(to, output_count);
}

static bool is_late(WNNGraph graph)
{
    size_t count;
    const WNNNamedDescriptor *list = wnnGraphGetInputs(graph, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; d < list[i].descriptor.shape.count; d++)
            if (list[i].descriptor.shape.data[d] > 0x7FFFFFFF)
                return true;
    return false;
}

static void compute(struct run *run, WNNGraph graph)
{
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    const WNNNamedDescriptor *list = wnnGraphGetInputs(graph, &descriptor.inputCount);
    WNNNamedBuffer *inputs = make_buffers(list, descriptor.inputCount);
    list = wnnGraphGetOutputs(graph, &descriptor.outputCount);
    WNNNamedBuffer *outputs = make_buffers(list, descriptor.outputCount);
    descriptor.graph = graph;
    descriptor.inputs = inputs;
    descriptor.outputs = outputs;
    WNNRequestCallbackInfo info = WNN_REQUEST_CALLBACK_INFO_INIT;
    info.callback = on_computed;
    for (int i = 0; inputs && outputs && i < 2; i++)
        wait(run, wnnContextCompute(run->context, &descriptor, info));
    free_buffers(inputs, descriptor.inputCount);
    free_buffers(outputs, descriptor.outputCount);
}

// There may be no memory for it twice.
static void check_loads_again(struct run *run, WNNGraph graph)
{
    struct serialized bytes = {0};
    char message[512];
    WNNGraph loaded = NULL;
    WNNStatus status = wnn_save_graph(graph, &bytes, sizeof message, message);
    if (status == WNNStatus_Success)
        status = wnn_load_copy(run->context, bytes.data, bytes.size, &loaded, sizeof message, message);
    if (status != WNNStatus_Success && status != WNNStatus_OutOfMemory) {
        fprintf(stderr, "what was built cannot be saved, or not be loaded again: %s\n", message);
        abort();
    }
    wnnGraphRelease(loaded);
    free(bytes.data);
}

static void build(struct run *run)
{
    WNNNamedOperand outputs[MAX_OUTPUTS];
    char names[MAX_OUTPUTS][24];
    size_t count = 1 + take(run) % MAX_OUTPUTS;
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "y%zu", i);
        size_t back = i == 0 ? 1 : 1 + take(run) % MAX_OPERANDS;
        outputs[i] =
            (WNNNamedOperand){{names[i], WNN_STRLEN},
                              back <= run->operand_count ? run->operands[run->operand_count - back] : NULL};
        if (!outputs[i].operand)
            count = i;
    }
    WNNGraph graph = NULL;
    const WNNSavable savable = WNN_SAVABLE_INIT;
    bool saved = take(run) % 2;
    WNNBuildCallbackInfo info = {saved ? &savable.chain : NULL, WNNCallbackMode_WaitAnyOnly, on_built, &graph,
                                 NULL};
    wait(run, wnnGraphBuilderBuild(run->builder, count, outputs, info));
    if (graph)
        fuzz_built++;
    if (graph && saved)
        check_loads_again(run, graph);
    if (graph && is_late(graph))
        for (int i = 0; i < 4; i++)
            compute_late(run, graph);
    else if (graph)
        compute(run, graph);
    wnnGraphRelease(graph);
}

static WNNContext create_context(bool accept_empty)
{
    const WNNLimits limits = {.maxTensorByteLength = 1u << 20,
                              .maxMemoryBytes = MAX_MEMORY,
                              .maxConstantBytes = 8u << 20,
                              .maxOperators = MAX_CALLS,
                              .maxOperands = 4 * MAX_OPERANDS,
                              .maxInputsAndOutputs = 64,
                              .maxStringLength = 100,
                              .maxOperatorWork = 1u << 22,
                              .maxGraphWork = 1u << 24,
                              .acceptEmptyTensors = accept_empty,
                              .maxSpecializations = 2};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.limits = &limits;
    descriptor.threadCount = 2;
    WNNContext context = NULL;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        abort();
    return context;
}

// Nothing is left but the context, which has kept to its limit.
static void check_counters(WNNContext context)
{
    WNNContextCounters counters = WNN_CONTEXT_COUNTERS_INIT;
    wnnContextGetCounters(context, &counters);
    if (counters.builders + counters.graphs + counters.tensors + counters.pendingRequests > 0 ||
        counters.maxAllocatedBytes > MAX_MEMORY) {
        fputs("something is left, or took more memory than allowed\n", stderr);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run run = {.bytes = data, .length = size};
    run.context = create_context(size % 2);
    if (wnnContextCreateGraphBuilder(run.context, &run.builder) != WNNStatus_Success)
        abort();
    add_source(&run);
    add_source(&run);
    for (int i = 0; i < MAX_CALLS && run.length > 0; i++) {
        if (take(&run) % 8 < 3)
            add_source(&run);
        else
            add_operator(&run);
        WNNError error;
        wnnGraphBuilderGetError(run.builder, &error);
        if (error.status != WNNStatus_Success && error.message.length == 0)
            abort();
        wnnGraphBuilderClearError(run.builder);
    }
    build(&run);
    wnnGraphBuilderRelease(run.builder);
    check_counters(run.context);
    wnnContextRelease(run.context);
    return 0;
}
