// SPDX-License-Identifier: Apache-2.0
//
// A model that is recorded once and computed at many sizes, beside one that is recorded for each:
//
//   onnx-late MODEL RUN...
//
// A run gives all inputs, as NAME=SIZExSIZE, of elements that are made up; NAME=SIZExSIZE:NUMBER;NUMBER, with
// its elements; or NAME=@OUTPUT, what the run before gave for an output. They are parted by commas. Prints
// "same", or "refused: " and why the model cannot be recorded without its sizes; exit status 1: something
// else.

#include <webnn/model.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPERANDS 32
#define MAX_BYTES    (1 << 18) // of an operand
#define TOLERANCE    1e-5      // of the largest: kernels for other sizes sum in another order

struct value {
    char name[64];
    WNNDataType type;
    uint32_t sizes[8];
    size_t rank, count; // of elements
    double *given;      // of them so many; NULL: they are made up, or `bytes` are there
    size_t given_count;
    unsigned char *bytes;
};

struct values {
    size_t count;
    struct value items[MAX_OPERANDS];
};

static char message[2048];

static void free_values(struct values *values)
{
    for (size_t i = 0; i < values->count; i++) {
        free(values->items[i].given);
        free(values->items[i].bytes);
    }
    *values = (struct values){0};
}

static struct value *find_value(struct values *values, const char *name, size_t length)
{
    for (size_t i = 0; i < values->count; i++)
        if (strlen(values->items[i].name) == length && memcmp(values->items[i].name, name, length) == 0)
            return &values->items[i];
    return NULL;
}

// 0: a type that is not compared.
static size_t size_of(WNNDataType type)
{
    switch (type) {
    case WNNDataType_Int64:
        return 8;
    case WNNDataType_Float32:
    case WNNDataType_Int32:
    case WNNDataType_Uint32:
        return 4;
    case WNNDataType_Int8:
    case WNNDataType_Uint8:
        return 1;
    default:
        return 0;
    }
}

static double get(const struct value *v, size_t i)
{
    const void *at = v->bytes + i * size_of(v->type);
    switch (v->type) {
    case WNNDataType_Int64:
        return (double)*(const int64_t *)at;
    case WNNDataType_Int32:
        return *(const int32_t *)at;
    case WNNDataType_Uint32:
        return *(const uint32_t *)at;
    case WNNDataType_Int8:
        return *(const int8_t *)at;
    case WNNDataType_Uint8:
        return *(const uint8_t *)at;
    default:
        return (double)*(const float *)at;
    }
}

static void set(struct value *v, size_t i, double number)
{
    void *at = v->bytes + i * size_of(v->type);
    switch (v->type) {
    case WNNDataType_Int64:
        *(int64_t *)at = (int64_t)number;
        break;
    case WNNDataType_Int32:
        *(int32_t *)at = (int32_t)number;
        break;
    case WNNDataType_Uint32:
        *(uint32_t *)at = (uint32_t)number;
        break;
    case WNNDataType_Int8:
        *(int8_t *)at = (int8_t)number;
        break;
    case WNNDataType_Uint8:
        *(uint8_t *)at = (uint8_t)number;
        break;
    default:
        *(float *)at = (float)number;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------------------------

static bool copy_value(struct value *to, const struct value *from)
{
    char name[sizeof to->name];
    memcpy(name, to->name, sizeof name);
    *to = *from;
    memcpy(to->name, name, sizeof name);
    to->given = NULL;
    to->bytes = malloc(MAX_BYTES);
    if (to->bytes)
        memcpy(to->bytes, from->bytes, MAX_BYTES);
    return to->bytes != NULL;
}

static bool parse_value(const char **text, struct values *before, struct value *v)
{
    char *end;
    size_t length = strcspn(*text, "=");
    if ((*text)[length] != '=' || length >= sizeof v->name)
        return false;
    memcpy(v->name, *text, length);
    *text += length + 1;
    if (**text == '@') {
        length = strcspn(++*text, ",");
        const struct value *from = find_value(before, *text, length);
        *text += length;
        return from && copy_value(v, from);
    }
    v->count = 1;
    for (; **text >= '0' && **text <= '9' && v->rank < 8; *text = end + (*end == 'x')) {
        v->sizes[v->rank] = (uint32_t)strtoul(*text, &end, 10);
        v->count *= v->sizes[v->rank++];
    }
    if (**text != ':')
        return v->count <= MAX_BYTES;
    v->given = malloc(MAX_BYTES * sizeof *v->given);
    for (; v->given && v->given_count < MAX_BYTES && (**text == ':' || **text == ';'); *text = end)
        v->given[v->given_count++] = strtod(*text + 1, &end);
    return v->given_count > 0 && v->count <= MAX_BYTES;
}

static bool parse_run(const char *text, struct values *before, struct values *run)
{
    *run = (struct values){0};
    while (*text && run->count < MAX_OPERANDS) {
        if (!parse_value(&text, before, &run->items[run->count++]))
            return false;
        text += *text == ',';
    }
    return *text == '\0';
}

static bool fill(struct value *v, WNNDataType type)
{
    if (v->bytes)
        return v->type == type;
    v->type = type;
    v->bytes = calloc(1, MAX_BYTES);
    for (size_t i = 0; v->bytes && (i + 1) * size_of(type) <= MAX_BYTES && i < v->count; i++)
        set(v, i,
            v->given                      ? v->given[i % v->given_count]
            : type == WNNDataType_Float32 ? (double)(i * 7919 % 255) / 255 - 0.5
                                          : (double)(i * 7919 % 3));
    return v->bytes && size_of(type) && v->count * size_of(type) <= MAX_BYTES;
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

static WNNGraph build(WNNContext context, const char *path, const struct values *run)
{
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    WNNModelInputValue inputs[MAX_OPERANDS];
    WNNGraph graph = NULL;
    descriptor.path.data = path;
    options.nameDimensions = run == NULL;
    options.inputCount = run ? run->count : 0;
    options.inputs = inputs;
    for (size_t i = 0; i < options.inputCount; i++) {
        inputs[i] = (WNNModelInputValue)WNN_MODEL_INPUT_VALUE_INIT;
        inputs[i].name.data = run->items[i].name;
        inputs[i].shape = (WNNUint32List){run->items[i].sizes, run->items[i].rank};
    }
    wnnModelBuildSync(&descriptor, context, &options, &graph, sizeof message, message);
    return graph;
}

static bool fill_inputs(WNNGraph graph, struct values *run, size_t *count, WNNNamedShape *shapes,
                        WNNNamedBuffer *buffers)
{
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, count);
    for (size_t i = 0; i < *count; i++) {
        WNNStringView name = inputs[i].name;
        struct value *v = find_value(run, name.data, name.length);
        if (!v || *count > MAX_OPERANDS || !fill(v, inputs[i].descriptor.dataType)) {
            snprintf(message, sizeof message, "there is no input %.*s of its type", (int)name.length,
                     name.data);
            return false;
        }
        shapes[i] = (WNNNamedShape){name, {v->sizes, v->rank}};
        buffers[i] = (WNNNamedBuffer){name, v->bytes, v->count * size_of(v->type), WNNDataType_Undefined};
    }
    return true;
}

static bool make_output(const WNNOutputShape *shape, struct value *v)
{
    v->type = shape->dataType;
    v->rank = shape->rank;
    v->count = 1;
    memcpy(v->sizes, shape->dimensions, sizeof v->sizes);
    snprintf(v->name, sizeof v->name, "%.*s", (int)shape->name.length, shape->name.data);
    for (size_t d = 0; d < v->rank; d++)
        v->count *= v->sizes[d];
    v->bytes = calloc(1, MAX_BYTES);
    return v->bytes && size_of(v->type) && shape->byteLength <= MAX_BYTES;
}

static bool compute(WNNContext context, WNNGraph graph, struct values *run, struct values *results)
{
    WNNNamedShape shapes[MAX_OPERANDS];
    WNNOutputShape made[MAX_OPERANDS];
    WNNNamedBuffer inputs[MAX_OPERANDS], outputs[MAX_OPERANDS];
    WNNInputShapes given = WNN_INPUT_SHAPES_INIT;
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    *results = (struct values){0};
    if (!fill_inputs(graph, run, &descriptor.inputCount, shapes, inputs))
        return false;
    wnnGraphGetOutputs(graph, &results->count);
    if (results->count > MAX_OPERANDS)
        return false;
    for (size_t i = 0; i < results->count; i++)
        made[i] = (WNNOutputShape)WNN_OUTPUT_SHAPE_INIT;
    if (wnnGraphComputeShapes(graph, descriptor.inputCount, shapes, results->count, made, sizeof message,
                              message))
        return false;
    for (size_t i = 0; i < results->count; i++) {
        struct value *v = &results->items[i];
        if (!make_output(&made[i], v))
            return false;
        outputs[i] = (WNNNamedBuffer){made[i].name, v->bytes, made[i].byteLength, WNNDataType_Undefined};
    }
    given.shapeCount = descriptor.inputCount;
    given.shapes = shapes;
    descriptor.nextInChain = &given.chain;
    descriptor.graph = graph;
    descriptor.inputs = inputs;
    descriptor.outputCount = results->count;
    descriptor.outputs = outputs;
    return wnnContextComputeSync(context, &descriptor, sizeof message, message) == WNNStatus_Success;
}

static bool is_same(const struct value *a, const struct value *b)
{
    double largest = 0, difference = 0;
    bool good = a->type == b->type && a->rank == b->rank && memcmp(a->sizes, b->sizes, a->rank * 4) == 0;
    if (!good)
        snprintf(message, sizeof message, "%s has another shape or type", a->name);
    for (size_t i = 0; good && i < a->count; i++) {
        if (get(a, i) == get(b, i) || (isnan(get(a, i)) && isnan(get(b, i)))) {
            largest = isfinite(get(a, i)) ? fmax(largest, fabs(get(a, i))) : largest;
            continue;
        }
        largest = fmax(largest, fabs(get(a, i)));
        difference = fmax(difference, fabs(get(a, i) - get(b, i)));
        good = isfinite(get(b, i)) != 0;
        if (!good)
            snprintf(message, sizeof message, "%s is not finite", a->name);
    }
    if (good && difference > TOLERANCE * largest)
        snprintf(message, sizeof message, "%s is %g off, of %g", a->name, difference, largest);
    return good && difference <= TOLERANCE * largest;
}

// Computes a run both ways; what the late graph gives becomes `before`.
static bool compare(WNNContext context, WNNGraph late, const char *path, const char *text,
                    struct values *before)
{
    struct values run, expected = {0}, results = {0};
    bool good = parse_run(text, before, &run);
    snprintf(message, sizeof message, good ? "" : "it cannot be read");
    WNNGraph known = good ? build(context, path, &run) : NULL;
    good = known && compute(context, known, &run, &expected) && compute(context, late, &run, &results) &&
           results.count == expected.count;
    for (size_t i = 0; good && i < results.count; i++)
        good = is_same(&expected.items[i], &results.items[i]);
    wnnGraphRelease(known);
    free_values(&expected);
    free_values(&run);
    free_values(before);
    *before = results;
    return good;
}

int main(int argc, char **argv)
{
    WNNContext context;
    struct values before = {0};
    if (argc < 3 || wnnCreateContext(NULL, &context))
        return 1;
    WNNGraph late = build(context, argv[1], NULL);
    bool good = true;
    if (!late)
        printf("refused: %s\n", message);
    for (int i = 2; late && good && i < argc; i++) {
        good = compare(context, late, argv[1], argv[i], &before);
        if (!good)
            fprintf(stderr, "%s: %s\n", argv[i], message);
    }
    if (late && good)
        puts("same");
    free_values(&before);
    wnnGraphRelease(late);
    wnnContextRelease(context);
    return good ? 0 : 1;
}
