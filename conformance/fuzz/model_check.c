// SPDX-License-Identifier: Apache-2.0
#include "conformance/fuzz/model_check.h"

#include "conformance/fuzz/fuzz.h"
#include "conformance/unit/require.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#include <webnn/model.h>
#include <webnn/ops.h>

#define MAX_MEMORY   (64u << 20) // of a context, and of a model unless the choices say less
#define MAX_OUTPUTS  64
#define MAX_INPUTS   64
#define MAX_NAMES    64
#define MAX_MESSAGE  4096
#define MAX_ELEMENTS (1u << 18) // of an input

static char path[64], saved_path[64]; // of a model that need not be there, of what is written

// ---------------------------------------------------------------------------------------------------------------
// What is told of a model, to be compared
// ---------------------------------------------------------------------------------------------------------------

struct check {
    const struct contents *file; // for messages
    struct edits choices;
    WNNContext context;
    FILE *log;                             // all that is told
    WNNModelDimensionValue dimensions[64]; // that the choices give
    size_t dimension_count;
    WNNModelInputValue inputs[MAX_INPUTS];
    uint32_t shapes[MAX_INPUTS][8];
    size_t input_count;
    atomic_size_t released;
    WNNNamedOperand names[MAX_NAMES]; // that recording told, as copies
    size_t name_count;
    uint64_t elements; // a hash of those of all outputs
    struct model_result result;
};

static void refuse(const struct check *check, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    (void)check;
    abort();
}

// Whether the environment asks for what came of each model, with whole messages.
static bool is_verbose(void)
{
    const char *verbose = getenv("WNN_FUZZ_VERBOSE");
    return verbose && strcmp(verbose, "1") == 0;
}

static size_t allocated(void)
{
#if SANITIZED
    size_t __sanitizer_get_current_allocated_bytes(void);
    return __sanitizer_get_current_allocated_bytes();
#else
    return mallinfo2().uordblks;
#endif
}

static uint64_t hash(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

static void add_hash(struct check *check, const void *data, size_t size)
{
    check->result.outputs = hash(check->result.outputs, data, size);
}

static void log_text(struct check *check, WNNStringView text)
{
    if (text.length == WNN_STRLEN || (!text.data && text.length))
        refuse(check, "a text without a length");
    fputc('"', check->log);
    fwrite(text.data ? text.data : "", 1, text.length, check->log);
    fputs("\" ", check->log);
}

// An error says why, beginning with the path. `message` has room for `capacity` bytes.
static void check_message(const struct check *check, WNNStatus status, const char *message, size_t capacity,
                          const char *name)
{
    if (status == WNNStatus_Success || capacity == 0)
        return;
    size_t length = strnlen(message, capacity), begin = strlen(name);
    if (length == capacity)
        refuse(check, "a message that does not end");
    if (length == 0 && capacity > 1)
        refuse(check, "an error without a message");
    // Every line, but the last one may be cut off, with dots then.
    bool cut = length + 1 == capacity;
    for (const char *line = message, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        size_t size = end ? (size_t)(end - line) : strlen(line);
        size -= cut && !end ? (size < 3 ? size : 3) : 0;
        size_t compared = size < begin ? size : begin;
        if (strncmp(line, name, compared) != 0 || (compared < begin && !(cut && !end)))
            refuse(check, "a message that does not begin with the path: %s", message);
    }
    for (const char *c = message; *c; c++)
        if ((unsigned char)*c < ' ' && *c != '\n')
            refuse(check, "a message with control characters: %s", message);
}

static void log_values(struct check *check, const WNNModelValue *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const WNNModelValue *value = &values[i];
        log_text(check, value->name);
        log_text(check, value->typeName);
        fprintf(check->log, "%d %d %zu", value->dataType, value->hasShape, value->rank);
        for (size_t k = 0; k < value->rank; k++) {
            log_text(check, value->dimensions[k].name);
            fprintf(check->log, "%llu", (unsigned long long)value->dimensions[k].size);
        }
        fputc('\n', check->log);
    }
}

static void describe(struct check *check, WNNModel model)
{
    WNNModelInfo info = WNN_MODEL_INFO_INIT;
    size_t count, nodes = 0;
    if (wnnModelGetInfo(model, &info) != WNNStatus_Success)
        refuse(check, "no information");
    log_text(check, info.name);
    log_text(check, info.producer);
    log_text(check, info.producerVersion);
    fprintf(check->log, "%llu %zu\n", (unsigned long long)info.formatVersion, info.nodeCount);
    const WNNModelValue *values = wnnModelGetInputs(model, &count);
    log_values(check, values, count);
    values = wnnModelGetOutputs(model, &count);
    log_values(check, values, count);
    const WNNModelMetadata *metadata = wnnModelGetMetadata(model, &count);
    for (size_t i = 0; i < count; i++) {
        log_text(check, metadata[i].key);
        log_text(check, metadata[i].value);
    }
    const WNNModelOperator *operators = wnnModelGetOperators(model, &count);
    for (size_t i = 0; i < count; i++) {
        log_text(check, operators[i].domain);
        log_text(check, operators[i].name);
        fprintf(check->log, "%zu %d\n", operators[i].count, operators[i].supported);
        nodes += operators[i].count;
    }
    if (nodes != info.nodeCount)
        refuse(check, "%zu nodes of operators, %zu in all", nodes, info.nodeCount);
}

// ---------------------------------------------------------------------------------------------------------------
// Choices of a program
// ---------------------------------------------------------------------------------------------------------------

// "n=3" is 3; any other name what the choices say.
static uint32_t size_of_name(struct check *check, WNNStringView name, unsigned policy)
{
    static const uint32_t hostile[] = {0, 1, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 255, 4097};
    char text[64];
    unsigned size;
    snprintf(text, sizeof text, "%.*s", (int)(name.length < 60 ? name.length : 60),
             name.data ? name.data : "");
    if (policy == 7)
        return hostile[take(&check->choices) % 8];
    const char *equals = strchr(text, '=');
    return equals && sscanf(equals, "=%u", &size) == 1 ? size : 1 + take(&check->choices) % 4;
}

static size_t width_of(WNNStringView type)
{
    static const struct {
        const char *name;
        size_t bytes;
    } widths[] = {{"int64", 8}, {"uint64", 8}, {"float64", 8}, {"float16", 2}, {"bfloat16", 2},
                  {"int16", 2}, {"uint16", 2}, {"int8", 1},    {"uint8", 1},   {"bool", 1}};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        if (type.length == strlen(widths[i].name) && memcmp(type.data, widths[i].name, type.length) == 0)
            return widths[i].bytes;
    return 4;
}

// Small numbers of the type, of as many bytes as the shape needs, mostly.
static void give_data(struct check *check, WNNModelInputValue *input, const WNNModelValue *value)
{
    size_t width = width_of(value->typeName), count = 1;
    for (size_t i = 0; i < input->shape.count && count <= MAX_ELEMENTS; i++)
        count *= input->shape.data[i];
    if (count > MAX_ELEMENTS)
        return;
    input->byteLength = count * width + (take(&check->choices) == 255);
    unsigned char *data = calloc(1, input->byteLength + 1);
    if (!data)
        abort();
    unsigned random = take(&check->choices);
    for (size_t i = 0; i < count; i++)
        data[i * width] = (unsigned char)((random >> i % 8) % 4);
    input->data = data;
}

// An operator of the program's before the model.
static void give_operand(const struct check *check, WNNGraphBuilder builder, WNNModelInputValue *input,
                         const WNNModelValue *value)
{
    WNNOperandDescriptor descriptor = {NULL, value->dataType, input->shape};
    char name[24];
    snprintf(name, sizeof name, "before%zu", check->input_count);
    WNNOperand before = wnnGraphBuilderInput(builder, (WNNStringView){name, WNN_STRLEN}, &descriptor);
    input->operand = before ? wnnGraphBuilderIdentity(builder, before, NULL) : NULL;
    wnnGraphBuilderClearError(builder);
}

static void give_inputs(struct check *check, WNNModel model, WNNGraphBuilder builder, unsigned policy)
{
    size_t count;
    const WNNModelValue *values = wnnModelGetInputs(model, &count);
    for (size_t i = 0; i < count && check->input_count < MAX_INPUTS; i++) {
        const WNNModelValue *value = &values[i];
        bool symbolic = false, unnamed = false;
        for (size_t k = 0; k < value->rank; k++) {
            const WNNModelDimension *dimension = &value->dimensions[k];
            symbolic |= dimension->size == 0;
            unnamed |= dimension->size == 0 && dimension->name.length == 0;
            if (dimension->size == 0 && check->dimension_count < 64)
                check->dimensions[check->dimension_count++] =
                    (WNNModelDimensionValue){dimension->name, size_of_name(check, dimension->name, policy)};
        }
        bool known = value->dataType != WNNDataType_Float32 && value->dataType != WNNDataType_Float16
                         ? take(&check->choices) % 4 == 0
                         : take(&check->choices) % 32 == 31;
        if (!known && !unnamed && value->hasShape && take(&check->choices) != 255)
            continue;
        WNNModelInputValue *input = &check->inputs[check->input_count];
        *input = (WNNModelInputValue)WNN_MODEL_INPUT_VALUE_INIT;
        input->name = value->name;
        size_t rank = value->hasShape ? value->rank : take(&check->choices) % 5;
        for (size_t k = 0; k < rank && k < 8; k++) {
            const WNNModelDimension *dimension = value->hasShape ? &value->dimensions[k] : NULL;
            uint64_t size = dimension && dimension->size ? dimension->size
                            : dimension                  ? size_of_name(check, dimension->name, policy)
                                                         : 1 + take(&check->choices) % 4;
            check->shapes[check->input_count][k] = (uint32_t)size;
        }
        input->shape = (WNNUint32List){check->shapes[check->input_count++], rank < 8 ? rank : 8};
        if (known)
            give_data(check, input, value);
        else if (take(&check->choices) % 4 == 3)
            give_operand(check, builder, input, value);
        if (symbolic && !unnamed && take(&check->choices) % 2)
            input->shape.count = WNN_LIST_ABSENT;
    }
}

static void free_inputs(struct check *check)
{
    for (size_t i = 0; i < check->input_count; i++)
        free((void *)(uintptr_t)check->inputs[i].data);
    check->input_count = check->dimension_count = 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Computing
// ---------------------------------------------------------------------------------------------------------------

// One for all models, as making one takes longer than most of them.
static WNNContext get_context(void)
{
    static WNNContext context;
    static const WNNLimits limits = {.maxTensorByteLength = 1u << 20,
                                     .maxMemoryBytes = MAX_MEMORY,
                                     .maxConstantBytes = 16u << 20,
                                     .maxOperators = 2000,
                                     .maxOperands = 8000,
                                     .maxInputsAndOutputs = 64,
                                     .maxStringLength = 10000,
                                     .maxOperatorWork = 1u << 20,
                                     .maxGraphWork = 1u << 22,
                                     .acceptEmptyTensors = true};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.limits = &limits;
    descriptor.threadCount = 1;
    if (!context && wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        abort();
    return context;
}

// Nothing is left but the context, which has kept to its limit. Its thread may give up a graph a little
// later.
static void check_counters(const struct check *check)
{
    WNNContextCounters counters = WNN_CONTEXT_COUNTERS_INIT;
    for (int i = 0; i < 20000; i++) {
        wnnContextGetCounters(check->context, &counters);
        if (counters.graphs == 0 && atomic_load(&check->released) > 0)
            break;
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    if (counters.builders + counters.graphs + counters.tensors + counters.pendingRequests > 0 ||
        counters.maxAllocatedBytes > MAX_MEMORY)
        refuse(check, "something is left, or took more memory than allowed");
}

static size_t bytes_of(WNNDataType type, WNNUint32List shape)
{
    static const unsigned char bits[] = {
        [WNNDataType_Float32] = 32, [WNNDataType_Float16] = 16, [WNNDataType_Int32] = 32,
        [WNNDataType_Uint32] = 32,  [WNNDataType_Int64] = 64,   [WNNDataType_Uint64] = 64,
        [WNNDataType_Int8] = 8,     [WNNDataType_Uint8] = 8,    [WNNDataType_Int4] = 4,
        [WNNDataType_Uint4] = 4};
    size_t count = 1;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    return (count * bits[type] + 7) / 8;
}

static WNNNamedBuffer make_buffer(WNNStringView name, WNNDataType type, size_t size, bool fill)
{
    unsigned char *data = calloc(1, size + 1);
    if (!data)
        abort();
    for (size_t k = 0; fill && k < size; k++)
        data[k] =
            (unsigned char)(type == WNNDataType_Float32 && k % 4 == 3 ? 63 : (k * 37 + name.length) % 128);
    return (WNNNamedBuffer){name, data, size, type};
}

static void free_buffers(WNNNamedBuffer *buffers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(buffers[i].data);
    free(buffers);
}

// The sizes of an input; those that are not known are told by their names.
static void choose_shape(WNNGraph graph, const WNNOperandDescriptor *descriptor, uint32_t *shape)
{
    for (size_t i = 0; i < descriptor->shape.count; i++) {
        WNNDimension dimension;
        if (wnnGraphGetSize(graph, descriptor->shape.data[i], &dimension) != WNNStatus_Success)
            abort();
        shape[i] = dimension.minSize;
        const char *equals =
            dimension.name.length ? memchr(dimension.name.data, '=', dimension.name.length) : NULL;
        if (dimension.minSize < dimension.maxSize && equals && equals[1] > '0' && equals[1] <= '9')
            shape[i] = (uint32_t)(equals[1] - '0'); // "n=3", as a model is made
        else if (dimension.minSize < dimension.maxSize)
            shape[i] += (uint32_t)hash(7, dimension.name.data, dimension.name.length) % 5;
    }
}

static void compute(struct check *check, WNNGraph graph)
{
    char message[MAX_MESSAGE];
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    const WNNNamedDescriptor *list = wnnGraphGetInputs(graph, &descriptor.inputCount);
    wnnGraphGetOutputs(graph, &descriptor.outputCount);
    size_t count = descriptor.inputCount, output_count = descriptor.outputCount;
    uint32_t(*sizes)[8] = calloc(count + 1, sizeof *sizes);
    WNNNamedShape *named = calloc(count + 1, sizeof *named);
    WNNOutputShape *shapes = calloc(output_count, sizeof *shapes);
    WNNNamedBuffer *inputs = calloc(count + 1, sizeof *inputs),
                   *outputs = calloc(output_count, sizeof *outputs);
    if (!sizes || !named || !shapes || !inputs || !outputs)
        abort();
    for (size_t i = 0; i < count; i++) {
        choose_shape(graph, &list[i].descriptor, sizes[i]);
        named[i] = (WNNNamedShape){list[i].name, {sizes[i], list[i].descriptor.shape.count}};
    }
    WNNStatus allowed =
        wnnGraphComputeShapes(graph, count, named, output_count, shapes, sizeof message, message);
    fprintf(check->log, "shapes: %d %s\n", allowed, allowed == WNNStatus_Success ? "" : message);
    size_t most = 0;
    for (size_t i = 0; allowed == WNNStatus_Success && i < output_count; i++)
        most = shapes[i].byteLength > most ? shapes[i].byteLength : most;
    bool computes = allowed == WNNStatus_Success && most <= MAX_MEMORY;
    for (size_t i = 0; i < count; i++) {
        WNNDataType type = list[i].descriptor.dataType;
        size_t size = computes ? bytes_of(type, named[i].shape) : 0;
        computes = computes && size <= MAX_MEMORY;
        inputs[i] = make_buffer(list[i].name, type, computes ? size : 0, true);
    }
    for (size_t i = 0; i < output_count; i++)
        outputs[i] =
            make_buffer(shapes[i].name, shapes[i].dataType, computes ? shapes[i].byteLength : 0, false);
    WNNInputShapes given = {{NULL, WNNSType_InputShapes}, count, named};
    descriptor.nextInChain = &given.chain;
    descriptor.graph = graph;
    descriptor.inputs = inputs;
    descriptor.outputs = outputs;
    WNNStatus status = computes ? wnnContextComputeSync(check->context, &descriptor, sizeof message, message)
                                : WNNStatus_OutOfMemory;
    if (status != WNNStatus_Success && status != WNNStatus_OutOfMemory)
        refuse(check, "not computed: %s", message);
    fprintf(check->log, "computed: %d\n", status);
    check->result.computed = status == WNNStatus_Success;
    check->elements = 0; // of all, as their names and order may be others
    for (size_t i = 0; i < descriptor.outputCount; i++) {
        uint64_t one = hash(1, outputs[i].data, outputs[i].byteLength);
        check->elements += check->result.computed ? one : 0;
    }
    add_hash(check, &check->elements, sizeof check->elements);
    free_buffers(inputs, count);
    free_buffers(outputs, output_count);
    free(sizes);
    free(named);
    free(shapes);
}

static void build(struct check *check, WNNGraphBuilder builder, size_t count, const WNNNamedOperand *outputs)
{
    char message[MAX_MESSAGE];
    WNNGraph graph = NULL;
    WNNStatus status = wnnGraphBuilderBuildSync(builder, count, outputs, &graph, sizeof message, message);
    fprintf(check->log, "built: %d %s\n", status, status == WNNStatus_Success ? "" : message);
    wnnGraphBuilderRelease(builder);
    if (status == WNNStatus_Success) {
        fuzz_built++;
        compute(check, graph);
        wnnGraphRelease(graph);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Recording
// ---------------------------------------------------------------------------------------------------------------

// As many outputs as there is room for, by their names, and nothing behind them.
static void check_outputs(struct check *check, WNNModel model, size_t capacity,
                          const WNNNamedOperand *outputs, size_t count)
{
    size_t expected;
    const WNNModelValue *values = wnnModelGetOutputs(model, &expected);
    if (count != expected)
        refuse(check, "%zu outputs, not %zu", count, expected);
    for (size_t i = 0; i < capacity && i < count; i++) {
        const WNNNamedOperand *output = &outputs[i];
        if (!output->operand || output->name.length != values[i].name.length ||
            (output->name.length && memcmp(output->name.data, values[i].name.data, output->name.length) != 0))
            refuse(check, "output %zu is not that of the file", i);
        WNNUint32List shape = wnnOperandGetShape(output->operand);
        WNNDataType type = wnnOperandGetDataType(output->operand);
        add_hash(check, output->name.data, output->name.length);
        add_hash(check, &type, sizeof type);
        add_hash(check, shape.data, shape.count * sizeof *shape.data);
        log_text(check, output->name);
        fprintf(check->log, "%d", type);
        for (size_t k = 0; k < shape.count; k++)
            fprintf(check->log, " %u", shape.data[k]);
        fputc('\n', check->log);
    }
}

static void on_name(const WNNModelNamedValue *value, void *checked, void *unused)
{
    struct check *check = checked;
    (void)unused;
    if (!value->operand || value->weight.length == WNN_STRLEN)
        refuse(check, "a name of nothing");
    add_hash(check, value->name.data, value->name.length);
    if (check->name_count == MAX_NAMES || value->name.length == 0)
        return;
    char *copy = malloc(value->name.length);
    if (!copy)
        abort();
    memcpy(copy, value->name.data, value->name.length);
    check->names[check->name_count++] = (WNNNamedOperand){{copy, value->name.length}, value->operand};
}

// Writes what was recorded. False: it cannot be, as it could not be built.
static bool save(struct check *check, WNNGraphBuilder builder, size_t count, const WNNNamedOperand *outputs)
{
    char message[MAX_MESSAGE];
    WNNModelSaveDescriptor descriptor = WNN_MODEL_SAVE_DESCRIPTOR_INIT;
    descriptor.path.data = saved_path;
    descriptor.name = (WNNStringView){"saved", 5};
    descriptor.outputs = outputs;
    descriptor.outputCount = count;
    descriptor.names = check->names;
    descriptor.nameCount = check->name_count;
    WNNStatus status = wnnModelSave(builder, &descriptor, sizeof message, message);
    fprintf(check->log, "saved: %d %s\n", status, status == WNNStatus_Success ? "" : message);
    return status == WNNStatus_Success;
}

// What was saved computes the same.
static void open_saved(struct check *check)
{
    char message[MAX_MESSAGE];
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNGraph graph = NULL;
    uint64_t elements = check->elements;
    descriptor.path.data = saved_path;
    if (wnnModelBuildSync(&descriptor, check->context, NULL, &graph, sizeof message, message) !=
        WNNStatus_Success)
        refuse(check, "what was saved is refused: %s", message);
    compute(check, graph);
    wnnGraphRelease(graph);
    if (check->elements != elements)
        refuse(check, "what was saved computes something else");
}

static void free_names(struct check *check)
{
    while (check->name_count > 0)
        free((void *)(uintptr_t)check->names[--check->name_count].name.data);
}

static void record(struct check *check, WNNModel *model, unsigned policy)
{
    static const size_t capacities[] = {MAX_OUTPUTS, MAX_OUTPUTS, MAX_OUTPUTS, 0,
                                        1,           2,           MAX_OUTPUTS, MAX_OUTPUTS};
    static const size_t rooms[] = {MAX_MESSAGE, MAX_MESSAGE, MAX_MESSAGE, 0, 1, 40, 200, MAX_MESSAGE};
    char message[MAX_MESSAGE + 1];
    WNNNamedOperand outputs[MAX_OUTPUTS + 1];
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    WNNGraphBuilder builder;
    unsigned more = take(&check->choices) | (take(&check->choices) % 4 == 3 ? 256 : 0);
    size_t capacity = capacities[more % 8], room = is_verbose() ? MAX_MESSAGE : rooms[more / 8 % 8],
           count = 77;
    if (wnnContextCreateGraphBuilder(check->context, &builder) != WNNStatus_Success)
        abort();
    if (policy != 6)
        give_inputs(check, *model, builder, policy);
    options.dimensions = check->dimensions;
    options.dimensionCount = check->dimension_count;
    options.inputs = check->inputs;
    options.inputCount = check->input_count;
    options.narrow = more & 64;
    options.nameDimensions = policy == 6;
    options.onName = more & 3 ? on_name : NULL;
    options.userdata1 = check;
    memset(message, 'm', sizeof message);
    memset(outputs, 0, sizeof outputs);
    WNNStatus status =
        wnnModelRecord(*model, builder, &options, capacity, outputs, &count, room, room ? message : NULL);
    if (message[room] != 'm')
        refuse(check, "a message longer than its room");
    fprintf(check->log, "recorded: %d %s\n", status, room && status != WNNStatus_Success ? message : "");
    check_message(check, status, message, room, path);
    free_inputs(check);
    check->result.recorded = status == WNNStatus_Success;
    if (status == WNNStatus_Success)
        check_outputs(check, *model, capacity, outputs, count);
    else if (count != 0)
        refuse(check, "outputs of what was not recorded");
    for (size_t i = status == WNNStatus_Success && count < capacity ? count : capacity; i <= MAX_OUTPUTS; i++)
        if (outputs[i].operand)
            refuse(check, "more outputs than there is room for");
    count = count < capacity ? count : capacity;
    bool saved =
        status == WNNStatus_Success && count > 0 && (more & 256) && save(check, builder, count, outputs);
    free_names(check);
    if (more & 128) { // graphs keep what they need, but names of outputs are the model's
        static const char letters[] = "abcdefgh";
        count = count < 8 ? count : 8;
        for (size_t i = 0; i < count; i++)
            outputs[i].name = (WNNStringView){&letters[i], 1};
        wnnModelRelease(*model);
        *model = NULL;
    }
    if (status == WNNStatus_Success && count > 0)
        build(check, builder, count, outputs);
    else
        wnnGraphBuilderRelease(builder);
    if (saved && check->result.computed)
        open_saved(check);
}

// ---------------------------------------------------------------------------------------------------------------
// All of it
// ---------------------------------------------------------------------------------------------------------------

static void release(const void *data, size_t size, void *check, void *unused)
{
    (void)size, (void)unused;
    free((void *)(uintptr_t)data);
    atomic_fetch_add(&((struct check *)check)->released, 1);
}

static void run(struct check *check)
{
    char message[MAX_MESSAGE];
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModel model = NULL;
    unsigned policy = take(&check->choices), limit = take(&check->choices);
    check->context = get_context();
    void *data = malloc(check->file->size ? check->file->size : 1);
    if (!data)
        abort();
    memcpy(data, check->file->data, check->file->size);
    descriptor.path.data = path;
    descriptor.data = data;
    descriptor.byteLength = check->file->size;
    descriptor.release = release;
    descriptor.userdata1 = check;
    descriptor.copy = policy & 8;
    check->result.limited = limit >= 224;
    descriptor.maxMemoryBytes = limit < 224 ? MAX_MEMORY : (uint64_t)100 << (limit - 224) % 18;
    size_t before = allocated();
    WNNStatus status = wnnModelOpen(&descriptor, &model, sizeof message, message);
    size_t taken = allocated() - before;
    if ((int64_t)taken > 0 && taken > 2 * descriptor.maxMemoryBytes + 65536)
        refuse(check, "%zu bytes for a description of at most %llu", taken,
               (unsigned long long)descriptor.maxMemoryBytes);
    if ((status == WNNStatus_Success) != (model != NULL))
        refuse(check, "an error with a model, or none without");
    fprintf(check->log, "opened: %d %s\n", status, status == WNNStatus_Success ? "" : message);
    check_message(check, status, message, sizeof message, path);
    check->result.opened = model != NULL;
    if (model) {
        describe(check, model);
        if (policy & 16) // one after the other
            record(check, &model, policy / 32 % 4);
        if (model)
            record(check, &model, policy % 8);
        wnnModelRelease(model);
    }
    check_counters(check);
    if (atomic_load(&check->released) != 1)
        refuse(check, "the bytes are released %zu times", atomic_load(&check->released));
}

struct model_result check_model(const struct contents *file, const struct edits *choices)
{
    struct check *checks = calloc(2, sizeof *checks);
    char *logs[2];
    size_t sizes[2];
    struct fuzz_budget budget;
    if (!checks)
        abort();
    snprintf(path, sizeof path, "%s/model", folder_path());
    snprintf(saved_path, sizeof saved_path, "%s/saved.webnn", folder_path());
    budget_begin(&budget);
    for (int i = 0; i < 2; i++) {
        mallopt(M_PERTURB, i ? 0x5A : 0xA5); // what is read before it is written differs
        checks[i].file = file;
        checks[i].choices = *choices;
        checks[i].log = open_memstream(&logs[i], &sizes[i]);
        if (!checks[i].log)
            abort();
        run(&checks[i]);
        fprintf(checks[i].log, "outputs %llx\n", (unsigned long long)checks[i].result.outputs);
        fclose(checks[i].log);
    }
    budget_end(&budget, "a model", file);
    if (sizes[0] != sizes[1] || memcmp(logs[0], logs[1], sizes[0]) != 0) {
        fprintf(stderr, "first:\n%s\nthen:\n%s\n", logs[0], logs[1]);
        refuse(&checks[0], "another result");
    }
    struct model_result result = checks[0].result;
    if (is_verbose())
        fputs(logs[0], stderr);
    free(logs[0]);
    free(logs[1]);
    free(checks);
    return result;
}
