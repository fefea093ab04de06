// SPDX-License-Identifier: Apache-2.0
#include "conformance/unit/flatbuffer_writer.h"

#include <stdlib.h>
#include <unistd.h>
#include <webnn/model.h>
#include <webnn/ops.h>

#define FLOAT32 0
#define INT32   2

// ---------------------------------------------------------------------------------------------------------------
// A model: y[2, 3] = relu(x[2, 3] + w[3]), with x of a type
// ---------------------------------------------------------------------------------------------------------------

static const float weights[] = {10, 20, 30};

struct parts {
    size_t codes, inputs, outputs, buffers, tensors[4], operators[2], metadata;
};

static void put_tensor(struct writer *w, size_t slot, const char *name, int buffer, size_t rank,
                       const int32_t *dims, const int32_t *signature)
{
    size_t fields = TABLE(w, slot, REFERENCE, FLOAT32, buffer, name ? REFERENCE : ABSENT, ABSENT, ABSENT,
                          ABSENT, signature ? REFERENCE : ABSENT, 1);
    put_vector(w, fields, rank, dims);
    if (name)
        put_data(w, fields + 12, name, strlen(name));
    if (signature)
        put_vector(w, fields + 28, rank, signature);
}

static void put_operator(struct writer *w, size_t slot, int code, size_t count, const int32_t *inputs,
                         int output)
{
    size_t fields = TABLE(w, slot, code, REFERENCE, REFERENCE);
    put_vector(w, fields + 4, count, inputs);
    VECTOR(w, fields + 8, output);
}

#define MAX_WEIGHT_BYTES 512

// `names` false: tensors have none. The data of the weights have so many bytes, of which more than they need
// are zeros.
static struct writer make_with(struct parts *p, bool names, size_t weight_bytes)
{
    unsigned char data[MAX_WEIGHT_BYTES] = {0};
    memcpy(data, weights, sizeof weights);
    static const int32_t matrix[] = {2, 3}, open[] = {-1, 3};
    struct writer w = {.size = 8};
    memcpy(w.bytes + 4, "TFL3", 4);
    size_t root = TABLE(&w, 0, 3, REFERENCE, REFERENCE, REFERENCE, REFERENCE, ABSENT, REFERENCE);
    p->codes = put_vector(&w, root + 4, 2, NULL);
    TABLE(&w, p->codes, 0, ABSENT, 1, 0);
    TABLE(&w, p->codes + 4, 19, ABSENT, 1, 19);
    size_t graphs = put_vector(&w, root + 8, 1, NULL);
    size_t graph = TABLE(&w, graphs, REFERENCE, REFERENCE, REFERENCE, REFERENCE, REFERENCE);
    put_data(&w, root + 12, "made by a test", 14);
    p->buffers = put_vector(&w, root + 16, 3, NULL);
    TABLE(&w, p->buffers, ABSENT);
    size_t buffer = TABLE(&w, p->buffers + 4, REFERENCE);
    put_data(&w, buffer, data, weight_bytes);
    buffer = TABLE(&w, p->buffers + 8, REFERENCE);
    put_data(&w, buffer, "1.5.0\0\0\0", 8);
    p->metadata = put_vector(&w, root + 24, 1, NULL);
    size_t metadata = TABLE(&w, p->metadata, REFERENCE, 2);
    put_data(&w, metadata, "min_runtime_version", 19);
    size_t tensors = put_vector(&w, graph, 4, NULL);
    for (size_t i = 0; i < 4; i++)
        p->tensors[i] = tensors + 4 * i;
    put_tensor(&w, tensors, names ? "x" : NULL, 0, 2, matrix, open);
    put_tensor(&w, tensors + 4, names ? "w" : NULL, 1, 1, (int32_t[]){3}, NULL);
    put_tensor(&w, tensors + 8, names ? "sum" : NULL, 0, 2, matrix, open);
    put_tensor(&w, tensors + 12, names ? "y" : NULL, 0, 2, matrix, open);
    p->inputs = VECTOR(&w, graph + 4, 0);
    p->outputs = VECTOR(&w, graph + 8, 3);
    size_t operators = put_vector(&w, graph + 12, 2, NULL);
    p->operators[0] = operators;
    p->operators[1] = operators + 4;
    put_operator(&w, operators, 0, 2, (int32_t[]){0, 1}, 2);
    put_operator(&w, operators + 4, 1, 1, (int32_t[]){2}, 3);
    put_data(&w, graph + 16, "main", 4);
    return w;
}

static struct writer make(struct parts *p)
{
    return make_with(p, true, sizeof weights);
}

// Where a word is that a reference leads to, and of a table a field.
static size_t follow(const struct writer *w, size_t slot)
{
    return slot + (w->bytes[slot] | (size_t)w->bytes[slot + 1] << 8);
}

static size_t field_of(const struct writer *w, size_t slot, size_t field)
{
    return follow(w, slot) + 4 + 4 * field;
}

// ---------------------------------------------------------------------------------------------------------------
// Opening and recording
// ---------------------------------------------------------------------------------------------------------------

static char message[2048];

static WNNStatus try_open(const struct writer *bytes, WNNModel *model)
{
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    descriptor.path.data = "small.tflite";
    descriptor.data = bytes->bytes;
    descriptor.byteLength = bytes->size;
    return wnnModelOpen(&descriptor, model, sizeof message, message);
}

static WNNModel open_bytes(const struct writer *bytes)
{
    WNNModel model;
    REQUIRE_EQUAL_INT(try_open(bytes, &model), WNNStatus_Success);
    return model;
}

static bool is(WNNStringView view, const char *text)
{
    return view.length == strlen(text) && memcmp(view.data, text, view.length) == 0;
}

struct lab {
    WNNContext context;
    WNNGraphBuilder builder;
};

static struct lab begin(void)
{
    struct lab lab;
    REQUIRE_EQUAL_INT(wnnCreateContext(NULL, &lab.context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(lab.context, &lab.builder), WNNStatus_Success);
    return lab;
}

static void end(struct lab *lab)
{
    wnnGraphBuilderRelease(lab->builder);
    wnnContextRelease(lab->context);
}

static WNNStatus record(WNNModel model, struct lab *lab, const WNNModelRecordOptions *options,
                        WNNNamedOperand *output)
{
    size_t count;
    return wnnModelRecord(model, lab->builder, options, 1, output, &count, sizeof message, message);
}

static void describe(void)
{
    struct parts p;
    struct writer bytes = make(&p);
    WNNModel model = open_bytes(&bytes);
    WNNModelInfo info = WNN_MODEL_INFO_INIT;
    size_t count;
    REQUIRE_EQUAL_INT(wnnModelGetInfo(model, &info), WNNStatus_Success);
    REQUIRE_EQUAL_INT(info.format, WNNModelFormat_TensorFlowLite);
    REQUIRE(is(info.name, "main") && info.formatVersion == 3 && info.nodeCount == 2 &&
            info.weightBytes == 12);
    const WNNModelValue *inputs = wnnModelGetInputs(model, &count);
    REQUIRE_EQUAL_INT(count, 1);
    REQUIRE(is(inputs[0].name, "x") && is(inputs[0].typeName, "float32") && inputs[0].rank == 2);
    REQUIRE(inputs[0].dimensions[0].size == 0 && inputs[0].dimensions[1].size == 3);
    REQUIRE(is(wnnModelGetOutputs(model, &count)[0].name, "y") && count == 1);
    const WNNModelOperator *operators = wnnModelGetOperators(model, &count);
    REQUIRE(count == 2 && is(operators[0].name, "ADD") && operators[0].supported && operators[0].count == 1);
    const WNNModelMetadata *metadata = wnnModelGetMetadata(model, &count);
    REQUIRE_EQUAL_INT(count, 2);
    REQUIRE(is(metadata[0].key, "description") && is(metadata[0].value, "made by a test"));
    REQUIRE(is(metadata[1].key, "min_runtime_version") && is(metadata[1].value, "1.5.0"));
    wnnModelRelease(model);
}

static void count_names(const WNNModelNamedValue *value, void *userdata1, void *userdata2)
{
    int *counts = userdata1;
    (void)userdata2;
    REQUIRE(value->operand);
    counts[0] += is(value->name, "x") && value->operatorName.length == 0;
    counts[1] += is(value->name, "w") && value->operatorName.length == 0;
    counts[2] += is(value->name, "sum") && is(value->operatorName, "ADD");
    counts[3] += is(value->name, "y") && is(value->operatorName, "RELU");
}

static void names(void)
{
    struct parts p;
    struct writer bytes = make(&p);
    WNNModel model = open_bytes(&bytes);
    struct lab lab = begin();
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    WNNNamedOperand output;
    int counts[4] = {0};
    options.onName = count_names;
    options.userdata1 = counts;
    REQUIRE_EQUAL_INT(record(model, &lab, &options, &output), WNNStatus_Success);
    for (int i = 0; i < 4; i++)
        REQUIRE_EQUAL_INT(counts[i], 1);
    end(&lab);
    wnnModelRelease(model);
}

// With the shape of the file, or another one; after the model was released, as weights are lent to the graph.
static void compute_with(WNNModel model, uint32_t rows, const float w[3])
{
    struct lab lab = begin();
    WNNModelInputValue value = WNN_MODEL_INPUT_VALUE_INIT;
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    WNNNamedOperand output;
    value.name = (WNNStringView){"x", 1};
    value.shape = LIST(rows, 3);
    options.inputs = &value;
    options.inputCount = rows != 2;
    REQUIRE_EQUAL_INT(record(model, &lab, &options, &output), WNNStatus_Success);
    wnnModelRelease(model);
    WNNGraph graph;
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(lab.builder, 1, &output, &graph, sizeof message, message),
                      WNNStatus_Success);
    float x[9] = {-100, 1, 2, 3, -40, 5, 6, 7, 8}, y[9];
    WNNNamedBuffer in = {{"x", 1}, x, rows * 12, WNNDataType_Float32},
                   out = {{"y", 1}, y, rows * 12, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputs = &in;
    descriptor.outputs = &out;
    descriptor.inputCount = descriptor.outputCount = 1;
    REQUIRE_EQUAL_INT(wnnContextComputeSync(lab.context, &descriptor, sizeof message, message),
                      WNNStatus_Success);
    for (uint32_t i = 0; i < 3 * rows; i++) {
        float sum = x[i] + w[i % 3];
        REQUIRE(y[i] == (sum > 0 ? sum : 0));
    }
    wnnGraphRelease(graph);
    end(&lab);
}

static void compute_rows_of(WNNModel model, uint32_t rows)
{
    compute_with(model, rows, weights);
}

static void compute_rows(uint32_t rows)
{
    static struct writer bytes;
    struct parts p;
    bytes = make(&p);
    compute_rows_of(open_bytes(&bytes), rows);
}

static void compute(void)
{
    compute_rows(2);
    compute_rows(3);
}

// Tensors need no names; inputs and outputs get some.
static void without_names(void)
{
    struct parts p;
    struct writer bytes = make_with(&p, false, sizeof weights);
    WNNModel model = open_bytes(&bytes);
    struct lab lab = begin();
    WNNNamedOperand output;
    size_t count;
    REQUIRE(is(wnnModelGetInputs(model, &count)[0].name, "input_0"));
    REQUIRE_EQUAL_INT(record(model, &lab, NULL, &output), WNNStatus_Success);
    REQUIRE(is(output.name, "output_0"));
    end(&lab);
    wnnModelRelease(model);
}

static void refuse(const struct writer *bytes, const char *expected)
{
    WNNModel model = open_bytes(bytes);
    struct lab lab = begin();
    WNNNamedOperand output;
    REQUIRE_EQUAL_INT(record(model, &lab, NULL, &output), WNNStatus_NotSupportedError);
    REQUIRE_EQUAL_STR(message, expected);
    end(&lab);
    wnnModelRelease(model);
}

// All of them at once; what follows from one is not said again.
static void all_unsupported(void)
{
    struct parts p;
    struct writer bytes = make(&p);
    put_word(&bytes, field_of(&bytes, p.codes, 0), 103); // UNIQUE
    put_word(&bytes, field_of(&bytes, p.codes, 3), 103);
    refuse(&bytes,
           "small.tflite: node \"sum\" (UNIQUE): the operator is not supported: how many elements remain "
           "depends on what they are");
    put_word(&bytes, field_of(&bytes, p.codes + 4, 3), 250);
    refuse(&bytes,
           "small.tflite: node \"sum\" (UNIQUE): the operator is not supported: how many elements remain "
           "depends on what they are\n"
           "small.tflite: node \"y\" (an unknown operator): the operator is not supported");
}

static void wrong_indices(void)
{
    struct parts p;
    struct writer bytes = make(&p);
    WNNModel model;
    put_word(&bytes, p.inputs, 4);
    REQUIRE_EQUAL_INT(try_open(&bytes, &model), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "small.tflite: an input or output is a tensor that there is not");
    bytes = make(&p);
    put_word(&bytes, p.outputs, (uint32_t)-1);
    REQUIRE_EQUAL_INT(try_open(&bytes, &model), WNNStatus_TypeError);
    bytes = make(&p);
    put_word(&bytes, field_of(&bytes, p.operators[1], 0), 2);
    REQUIRE_EQUAL_INT(try_open(&bytes, &model), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "small.tflite: an operator has a number that there is not");
    bytes = make(&p);
    put_word(&bytes, field_of(&bytes, p.tensors[1], 2), 3);
    REQUIRE_EQUAL_INT(try_open(&bytes, &model), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "small.tflite: a tensor has data that are not in the file");
    bytes = make(&p);
    size_t inputs = follow(&bytes, field_of(&bytes, p.operators[0], 1)) + 4;
    put_word(&bytes, inputs, 99);
    refuse(&bytes, "small.tflite: node \"sum\" (ADD): its input 0 is a tensor that there is not");
    put_word(&bytes, inputs, 3); // which is computed later, of this
    refuse(&bytes, "small.tflite: node \"sum\" (ADD): its input \"y\" is not there");
    bytes = make(&p);
    size_t outputs = follow(&bytes, field_of(&bytes, p.operators[1], 2)) + 4;
    put_word(&bytes, outputs, 0); // the input
    refuse(&bytes, "small.tflite: node \"x\" (RELU): its output 0 is there already");
}

static void wrong_constant(void)
{
    struct parts p;
    struct writer bytes = make(&p);
    size_t shape = follow(&bytes, field_of(&bytes, p.tensors[1], 0)) + 4;
    put_word(&bytes, shape, 1000000);
    refuse(&bytes, "small.tflite: node \"sum\" (ADD): sizes 3 and 1000000 cannot be broadcast");
    put_word(&bytes, shape, 3);
    size_t data = follow(&bytes, field_of(&bytes, p.buffers + 4, 0));
    put_word(&bytes, data, 8); // two of three elements
    refuse(&bytes, "small.tflite: node \"sum\" (ADD): a constant has 8 bytes for 3 elements");
}

// A table of no axes has no rows.
static void look_up_scalar(void)
{
    struct parts p;
    struct writer bytes = make(&p);
    put_word(&bytes, field_of(&bytes, p.codes, 0), 7); // EMBEDDING_LOOKUP
    put_word(&bytes, field_of(&bytes, p.codes, 3), 7);
    put_word(&bytes, field_of(&bytes, p.tensors[0], 1), INT32);
    put_word(&bytes, follow(&bytes, field_of(&bytes, p.tensors[1], 0)), 0);
    put_word(&bytes, follow(&bytes, field_of(&bytes, p.buffers + 4, 0)), 4);
    refuse(&bytes, "small.tflite: node \"sum\" (EMBEDDING_LOOKUP): axis 0 of a tensor of rank 0");
}

// Buffers behind the flatbuffer, as files beyond 2 GiB have them: an offset and a size of eight bytes.
static void data_behind(void)
{
    struct parts p;
    struct writer bytes = make(&p);
    size_t slot = p.buffers + 4, vtable = reserve(&bytes, 12), table = reserve(&bytes, 24), behind;
    put_word(&bytes, vtable, 10 | 24 << 16);
    bytes.bytes[vtable + 6] = 8;
    bytes.bytes[vtable + 8] = 16;
    put_word(&bytes, table, (uint32_t)(table - vtable));
    refer(&bytes, slot, table);
    behind = reserve(&bytes, sizeof weights);
    memcpy(bytes.bytes + behind, weights, sizeof weights);
    put_word(&bytes, table + 8, (uint32_t)behind);
    put_word(&bytes, table + 16, sizeof weights);
    WNNModel model = open_bytes(&bytes);
    WNNModelInfo info = WNN_MODEL_INFO_INIT;
    struct lab lab = begin();
    WNNNamedOperand output;
    REQUIRE_EQUAL_INT(wnnModelGetInfo(model, &info), WNNStatus_Success);
    REQUIRE_EQUAL_INT(info.weightBytes, 12);
    REQUIRE_EQUAL_INT(record(model, &lab, NULL, &output), WNNStatus_Success);
    end(&lab);
    wnnModelRelease(model);
    put_word(&bytes, table + 20, 1); // 4 GiB more
    REQUIRE_EQUAL_INT(try_open(&bytes, &model), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "small.tflite: the file is shorter than its data");
}

static void other_versions(void)
{
    struct parts p;
    struct writer bytes = make(&p);
    WNNModel model;
    put_word(&bytes, field_of(&bytes, 0, 0), 2);
    REQUIRE_EQUAL_INT(try_open(&bytes, &model), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "small.tflite: its schema is of another version than 3");
}

// Whatever a file says, an error is all that can come of it.
static void open_any(const struct writer *bytes, struct lab *lab)
{
    unsigned char *exact = malloc(bytes->size ? bytes->size : 1);
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNNamedOperand output;
    WNNModel model;
    size_t count;
    REQUIRE(exact);
    memcpy(exact, bytes->bytes, bytes->size);
    descriptor.data = exact;
    descriptor.byteLength = bytes->size;
    descriptor.maxMemoryBytes = 1 << 20;
    if (wnnModelOpen(&descriptor, &model, sizeof message, message) == WNNStatus_Success) {
        WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
        options.narrow = true;
        wnnModelRecord(model, lab->builder, &options, 1, &output, &count, sizeof message, message);
        wnnModelRelease(model);
    }
    wnnGraphBuilderRelease(lab->builder);
    free(exact);
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(lab->context, &lab->builder), WNNStatus_Success);
}

static void any_length(void)
{
    struct parts p;
    struct writer whole = make(&p);
    struct lab lab = begin();
    for (size_t size = 0; size < whole.size; size++) {
        struct writer part = whole;
        part.size = size;
        open_any(&part, &lab);
    }
    end(&lab);
}

static void any_byte(void)
{
    static const unsigned char values[] = {0, 1, 3, 0x7F, 0x80, 0xFF};
    struct parts p;
    struct writer whole = make(&p);
    struct lab lab = begin();
    for (size_t i = 0; i < whole.size; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            struct writer changed = whole;
            changed.bytes[i] = values[k];
            open_any(&changed, &lab);
        }
    // Every operator with these operands, which are those of few.
    for (uint32_t code = 0; code < 220; code++) {
        struct writer changed = whole;
        put_word(&changed, field_of(&changed, p.codes, 3), code);
        put_word(&changed, field_of(&changed, p.codes + 4, 3), code);
        open_any(&changed, &lab);
    }
    end(&lab);
}

// A range of 100,000 numbers, of constants.
static struct writer make_range(void)
{
    static const float bounds[] = {0, 100000, 1};
    struct writer w = {.size = 8};
    memcpy(w.bytes + 4, "TFL3", 4);
    size_t root = TABLE(&w, 0, 3, REFERENCE, REFERENCE, ABSENT, REFERENCE);
    TABLE(&w, put_vector(&w, root + 4, 1, NULL), 96, ABSENT, 1, 96);
    size_t graph = TABLE(&w, put_vector(&w, root + 8, 1, NULL), REFERENCE, REFERENCE, REFERENCE, REFERENCE);
    size_t buffers = put_vector(&w, root + 16, 4, NULL), tensors = put_vector(&w, graph, 4, NULL);
    TABLE(&w, buffers, ABSENT);
    put_tensor(&w, tensors, "y", 0, 1, (int32_t[]){100000}, NULL);
    for (int i = 0; i < 3; i++) {
        put_tensor(&w, tensors + 4 * (size_t)(i + 1), "bound", i + 1, 0, NULL, NULL);
        put_data(&w, TABLE(&w, buffers + 4 * (size_t)(i + 1), REFERENCE), &bounds[i], sizeof bounds[i]);
    }
    put_vector(&w, graph + 4, 0, NULL);
    VECTOR(&w, graph + 8, 0);
    put_operator(&w, put_vector(&w, graph + 12, 1, NULL), 0, 3, (int32_t[]){1, 2, 3}, 0);
    return w;
}

// What recording takes is limited as what opening takes.
static void limited_memory(void)
{
    struct writer bytes = make_range();
    for (int i = 0; i < 2; i++) {
        WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
        WNNModel model;
        struct lab lab = begin();
        WNNNamedOperand output;
        descriptor.path.data = "range.tflite";
        descriptor.data = bytes.bytes;
        descriptor.byteLength = bytes.size;
        descriptor.maxMemoryBytes = i ? 100000 : 4000000;
        REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_Success);
        REQUIRE_EQUAL_INT(record(model, &lab, NULL, &output),
                          i ? WNNStatus_NotSupportedError : WNNStatus_Success);
        if (i)
            REQUIRE_EQUAL_STR(message, "range.tflite: node \"y\" (RANGE): there is not enough memory");
        end(&lab);
        wnnModelRelease(model);
    }
}

// A vector of as many tables that are all one; the first slot of that.
static size_t put_same(struct writer *w, size_t slot, size_t count, size_t fields, const long *values)
{
    size_t items = put_vector(w, slot, count, NULL), table = put_table(w, items, fields, values);
    for (size_t i = 1; i < count; i++)
        refer(w, items + 4 * i, table - 4);
    return table;
}

// A small file whose subgraphs are all one, of tensors that are all one, takes no longer than it may.
static void million_tensors(void)
{
    struct writer w = {.size = 8};
    memcpy(w.bytes + 4, "TFL3", 4);
    size_t root = TABLE(&w, 0, 3, ABSENT, REFERENCE);
    size_t graph = put_same(&w, root + 8, 1001, 1, (long[]){REFERENCE});
    put_same(&w, graph, 1000, 3, (long[]){ABSENT, FLOAT32, 0});
    WNNModel model;
    REQUIRE_EQUAL_INT(try_open(&w, &model), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "small.tflite: the file has more than a million tensors and operators");
}

// ---------------------------------------------------------------------------------------------------------------
// Mapped files
// ---------------------------------------------------------------------------------------------------------------

static char path[] = "/tmp/model-XXXXXX";

static int write_file(const struct writer *bytes)
{
    strcpy(path + sizeof path - 7, "XXXXXX");
    int file = mkstemp(path);
    REQUIRE(file >= 0 && write(file, bytes->bytes, bytes->size) == (ssize_t)bytes->size);
    return file;
}

static WNNStatus try_open_file(WNNModel *model)
{
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    descriptor.path.data = path;
    return wnnModelOpen(&descriptor, model, sizeof message, message);
}

static void write_over(int file, size_t size, int byte)
{
    static unsigned char other[sizeof((struct writer *)0)->bytes];
    memset(other, byte, sizeof other);
    REQUIRE(pwrite(file, other, size, 0) == (ssize_t)size);
}

// What a mapped file says of a model is what it said when it was opened.
static void changed_after_opening(void)
{
    struct parts parts;
    struct writer bytes = make(&parts);
    int file = write_file(&bytes);
    WNNModel model;
    REQUIRE_EQUAL_INT(try_open_file(&model), WNNStatus_Success);
    write_over(file, bytes.size, 0x7F);
    compute_rows_of(model, 2);
    REQUIRE_EQUAL_INT(close(file) + unlink(path), 0);
}

// Weights are read where they are mapped: they alone become what is written to the file.
static void weights_are_lent(void)
{
    static const float zeros[3];
    for (int written = 0; written < 2; written++) {
        struct parts parts;
        struct writer bytes = make_with(&parts, true, MAX_WEIGHT_BYTES);
        int file = write_file(&bytes);
        WNNModel model;
        REQUIRE_EQUAL_INT(try_open_file(&model), WNNStatus_Success);
        if (written)
            write_over(file, bytes.size, 0);
        compute_with(model, 3, written ? zeros : weights);
        REQUIRE_EQUAL_INT(close(file) + unlink(path), 0);
    }
}

// Data of a tensor have no description in them that is read again from the file: bytes of the program's may.
static void described_in_weights(void)
{
    struct parts parts;
    struct writer bytes = make(&parts);
    size_t data = field_of(&bytes, parts.buffers + 4, 0);
    put_word(&bytes, follow(&bytes, data), (uint32_t)(bytes.size - follow(&bytes, data) - 4));
    WNNModel model = open_bytes(&bytes);
    compute_rows_of(model, 2);
    int file = write_file(&bytes);
    REQUIRE_EQUAL_INT(try_open_file(&model), WNNStatus_TypeError);
    REQUIRE(strstr(message, ": what describes the model lies in data of a tensor"));
    REQUIRE_EQUAL_INT(close(file) + unlink(path), 0);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(describe());
    CASE(names());
    CASE(compute());
    CASE(without_names());
    CASE(all_unsupported());
    CASE(wrong_indices());
    CASE(wrong_constant());
    CASE(look_up_scalar());
    CASE(data_behind());
    CASE(other_versions());
    CASE(limited_memory());
    CASE(million_tensors());
    CASE(changed_after_opening());
    CASE(weights_are_lent());
    CASE(described_in_weights());
    CASE(any_length());
    CASE(any_byte());
    return cases_end();
}
