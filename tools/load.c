// SPDX-License-Identifier: Apache-2.0
#include "tools/load.h"

#include "compiler/stored.h"
#include "tools/bench_models.h"
#include "tools/bounds.h"
#include "tools/memory.h"
#include "tools/model/format.h"
#include "tools/standard_input.h"
#include "tools/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FAULTS ((size_t)1 << 20) // bytes of text

// ---------------------------------------------------------------------------------------------------------------
// Options
// ---------------------------------------------------------------------------------------------------------------

static bool refuse(const char *option, const char *argument, const char *expected)
{
    fprintf(stderr, "webnn: --%s=%s: expected %s\n", option, SHOWN_STRING(argument), expected);
    return false;
}

// A size from 1 on, and where it ends.
static bool parse_size(const char *text, char **end, uint32_t *size)
{
    errno = 0;
    unsigned long value = *text >= '0' && *text <= '9' ? strtoul(text, end, 10) : 0;
    *size = (uint32_t)value;
    return value > 0 && value <= INT32_MAX && errno == 0;
}

bool load_reads_standard(const struct load_options *options)
{
    return options->weights && is_standard(options->weights);
}

bool load_add_dimension(struct load_options *options, const char *argument)
{
    const char *equals = strrchr(argument, '=');
    char *end = NULL;
    uint32_t size;
    if (!equals || equals == argument || !parse_size(equals + 1, &end, &size) || *end)
        return refuse("dim", argument, "NAME=SIZE");
    if (options->dimension_count == MAX_OPEN)
        return refuse("dim", argument, "at most 64 of them");
    options->dimensions[options->dimension_count++] =
        (WNNModelDimensionValue){{argument, (size_t)(equals - argument)}, size};
    return true;
}

bool load_add_shape(struct load_options *options, const char *argument)
{
    const char *equals = strrchr(argument, '='), *at = equals ? equals + 1 : NULL;
    if (options->input_count == MAX_OPEN)
        return refuse("shape", argument, "at most 64 of them");
    uint32_t *sizes = options->sizes[options->input_count];
    size_t rank = 0;
    bool good = equals && equals != argument;
    for (char *end = NULL; good && *at; at = *end ? end + 1 : end) {
        good = rank < 8 && parse_size(at, &end, &sizes[rank++]) && (*end == 0 || (*end == 'x' && end[1]));
    }
    if (!good)
        return refuse("shape", argument, "NAME=SIZExSIZE..., up to 8 sizes");
    WNNModelInputValue value = WNN_MODEL_INPUT_VALUE_INIT;
    value.name = (WNNStringView){argument, (size_t)(equals - argument)};
    value.shape = (WNNUint32List){sizes, rank};
    options->inputs[options->input_count++] = value;
    return true;
}

bool load_add_value(struct load_options *options, const char *argument)
{
    const char *equals = strrchr(argument, '=');
    if (!equals || equals == argument || !equals[1])
        return refuse("value", argument, "NAME=NUMBER,NUMBER...");
    if (options->value_count == MAX_OPEN)
        return refuse("value", argument, "at most 64 of them");
    options->values[options->value_count++] = argument;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Models of other formats
// ---------------------------------------------------------------------------------------------------------------

static void add_name(const WNNModelNamedValue *value, void *model, void *unused)
{
    (void)unused;
    model_add_value(model, value);
}

static const WNNModelValue *find_model_input(WNNModel from, WNNStringView name)
{
    size_t count;
    const WNNModelValue *inputs = wnnModelGetInputs(from, &count);
    for (size_t i = 0; i < count; i++)
        if (wnn_string_equal(wnn_string(inputs[i].name), wnn_string(name)))
            return &inputs[i];
    return NULL;
}

// The numbers after the name, as elements of the input, which may have been given a shape already.
static bool add_value(WNNModel from, const char *argument, bool several, WNNModelRecordOptions *say,
                      WNNModelInputValue *inputs, struct arena *arena, struct error *error)
{
    const char *equals = strrchr(argument, '='), *at = equals + 1;
    WNNStringView name = {argument, (size_t)(equals - argument)};
    const WNNModelValue *input = find_model_input(from, name);
    WNNDataType type = input ? input->dataType : WNNDataType_Undefined;
    size_t count = 1;
    for (const char *c = at; *c; c++)
        count += *c == ',';
    if (type == WNNDataType_Undefined)
        return several ||
               wnn_fail(error, WNNStatus_TypeError, "the model has no input %s", SHOWN(wnn_string(name)));
    unsigned char *data = must(wnn_arena_allocate(arena, wnn_dtype_bytes(type, count)));
    for (size_t i = 0; i < count; i++) {
        char *end;
        WNNNumber number = {WNNNumberType_Float64, {.f64 = strtod(at, &end)}};
        if (end == at || *end != (i + 1 < count ? ',' : 0))
            return wnn_fail(error, WNNStatus_TypeError, "--value=%s: expected numbers",
                            SHOWN_STRING(argument));
        WNNNumber stored = wnn_number_convert(number, type);
        if (!wnn_dtype_is_float(type) && wnn_number_double(stored) != number.value.f64)
            return wnn_fail(error, WNNStatus_TypeError, "--value=%s: %g is no %s", SHOWN_STRING(argument),
                            number.value.f64, wnn_dtype_name(type));
        wnn_number_store(stored, type, data, i);
        at = end + 1;
    }
    WNNModelInputValue *to = inputs;
    while (to < inputs + say->inputCount && !wnn_string_equal(wnn_string(to->name), wnn_string(name)))
        to++;
    if (to == inputs + say->inputCount) {
        *to = (WNNModelInputValue)WNN_MODEL_INPUT_VALUE_INIT;
        say->inputCount++;
    }
    to->name = name;
    to->data = data;
    to->byteLength = wnn_dtype_bytes(type, count);
    return true;
}

static const WNNModelInputValue *find_input(const WNNModelRecordOptions *say, WNNStringView name)
{
    for (size_t i = 0; i < say->inputCount; i++)
        if (wnn_string_equal(wnn_string(say->inputs[i].name), wnn_string(name)))
            return &say->inputs[i];
    return NULL;
}

// The size that is said of a dimension: by the model, with --dim, or else by a value.
static uint32_t size_of(const WNNModelDimension *dimension, const WNNModelRecordOptions *say,
                        uint32_t at_hand)
{
    if (dimension->size)
        return (uint32_t)dimension->size;
    for (size_t i = 0; i < say->dimensionCount; i++)
        if (wnn_string_equal(wnn_string(say->dimensions[i].name), wnn_string(dimension->name)))
            return say->dimensions[i].value;
    return at_hand;
}

static bool is_open(const WNNModelValue *input)
{
    bool open = false;
    for (size_t i = 0; i < input->rank; i++)
        open |= input->dimensions[i].size == 0;
    return input->hasShape && open && input->rank <= WNN_MAX_RANK;
}

// An array that no sizes make the input's.
static bool fail_rank(const WNNModelValue *input, const struct shape *shape, struct error *error)
{
    char wanted[256];
    struct text text = TEXT(wanted);
    for (size_t i = 0; i < input->rank; i++) {
        const WNNModelDimension *dimension = &input->dimensions[i];
        wnn_text_add(&text, i ? ", " : "");
        if (dimension->size || dimension->name.length == 0)
            wnn_text_add(&text, dimension->size ? "%u" : "?", (unsigned)dimension->size);
        else
            wnn_text_add(&text, "%s", SHOWN(wnn_string(dimension->name)));
    }
    return wnn_fail(error, WNNStatus_TypeError, "an array of shape %s; the input %s has shape [%s]",
                    SHAPE_TEXT(shape), SHOWN(wnn_string(input->name)), wanted);
}

// Inputs whose sizes are open have those of the values that they get. `inputs` has room for all of the model.
static bool add_shapes_at_hand(WNNModel from, const struct load_options *options, WNNModelRecordOptions *say,
                               WNNModelInputValue *inputs, struct arena *arena, struct error *error)
{
    bool fit = true;
    size_t count;
    const WNNModelValue *list = wnnModelGetInputs(from, &count);
    struct string *names = must_allocate((count + 1) * sizeof *names);
    struct shape *shapes = must_allocate((count + 1) * sizeof *shapes);
    for (size_t i = 0; i < count; i++)
        names[i] = wnn_string(list[i].name);
    options->find_shapes(options->values_at_hand, count, names, shapes);
    for (size_t i = 0; i < count && fit; i++) {
        // One dimension more in front: several values, one after the other.
        size_t rank = list[i].rank, skip = shapes[i].rank == rank + 1;
        if (!is_open(&list[i]) || shapes[i].rank == 0 || find_input(say, list[i].name))
            continue;
        if (shapes[i].rank != rank + skip) {
            fit = fail_rank(&list[i], &shapes[i], error);
            continue;
        }
        uint32_t *sizes = must(wnn_arena_allocate(arena, (rank + 1) * sizeof *sizes));
        for (size_t d = 0; d < rank; d++)
            sizes[d] = size_of(&list[i].dimensions[d], say, shapes[i].dim[d + skip]);
        WNNModelInputValue value = WNN_MODEL_INPUT_VALUE_INIT;
        value.name = list[i].name;
        value.shape = (WNNUint32List){sizes, rank};
        inputs[say->inputCount++] = value;
    }
    free(names);
    free(shapes);
    return fit;
}

// One error as it is. The lines of several are kept beside it, since an error holds a few of them.
static bool fail_to_record(struct model *model, WNNStatus status, const char *message, struct error *error)
{
    size_t faults = 1;
    for (const char *at = message; (at = strchr(at, '\n')); at++)
        faults++;
    if (faults == 1)
        return wnn_fail(error, status, "%s", message);
    model->faults = wnn_string_copy(&model->arena, (struct string){message, strlen(message)});
    return wnn_fail(error, status, "%zu reasons why it cannot be recorded", faults);
}

static bool has_dimension(WNNModel from, WNNStringView name)
{
    size_t count;
    const WNNModelValue *inputs = wnnModelGetInputs(from, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; d < inputs[i].rank; d++)
            if (wnn_string_equal(wnn_string(inputs[i].dimensions[d].name), wnn_string(name)))
                return true;
    return false;
}

// Whether the model has what is said something of, and nothing is said twice.
static bool check_names(WNNModel from, const struct load_options *options, struct error *error)
{
    for (size_t i = 0; i < options->dimension_count; i++) {
        WNNStringView name = options->dimensions[i].name;
        if (!options->several && !has_dimension(from, name))
            return wnn_fail(error, WNNStatus_TypeError, "--dim=%s: no input has a dimension of that name",
                            SHOWN(wnn_string(name)));
        for (size_t k = 0; k < i; k++)
            if (wnn_string_equal(wnn_string(options->dimensions[k].name), wnn_string(name)) &&
                options->dimensions[k].value != options->dimensions[i].value)
                return wnn_fail(error, WNNStatus_TypeError, "--dim=%s is given twice",
                                SHOWN(wnn_string(name)));
    }
    for (size_t i = 0; i < options->input_count; i++) {
        WNNStringView name = options->inputs[i].name;
        if (!options->several && !find_model_input(from, name))
            return wnn_fail(error, WNNStatus_TypeError, "--shape=%s: the model has no input of that name",
                            SHOWN(wnn_string(name)));
        for (size_t k = 0; k < i; k++)
            if (wnn_string_equal(wnn_string(options->inputs[k].name), wnn_string(name)))
                return wnn_fail(error, WNNStatus_TypeError, "--shape=%s is given twice",
                                SHOWN(wnn_string(name)));
    }
    return true;
}

static void keep_input_names(struct model *model, WNNModel from)
{
    const WNNModelValue *inputs = wnnModelGetInputs(from, &model->input_count);
    model->inputs = must(wnn_arena_allocate(&model->arena, (model->input_count + 1) * sizeof *model->inputs));
    for (size_t i = 0; i < model->input_count; i++)
        model->inputs[i] = wnn_string_copy(&model->arena, wnn_string(inputs[i].name));
}

static bool record(struct model *model, WNNModel from, const struct load_options *options,
                   struct error *error)
{
    if (options && !check_names(from, options, error))
        return false;
    size_t count;
    wnnModelGetOutputs(from, &count);
    WNNNamedOperand *outputs = must_allocate(count * sizeof *outputs);
    WNNModelRecordOptions say = WNN_MODEL_RECORD_OPTIONS_INIT;
    say.onName = add_name;
    say.userdata1 = model;
    size_t input_count;
    wnnModelGetInputs(from, &input_count);
    WNNModelInputValue *inputs = must_allocate((2 * MAX_OPEN + input_count) * sizeof *inputs);
    if (options) {
        say.dimensions = options->dimensions;
        say.dimensionCount = options->dimension_count;
        memcpy(inputs, options->inputs, sizeof options->inputs);
        say.inputs = inputs;
        say.inputCount = options->input_count;
        say.narrow = options->narrow;
        say.nameDimensions = options->late;
    }
    bool good = true;
    for (size_t i = 0; options && good && i < options->value_count; i++)
        good = add_value(from, options->values[i], options->several, &say, inputs, &model->arena, error);
    if (options && good && options->find_shapes)
        good = add_shapes_at_hand(from, options, &say, inputs, &model->arena, error);
    char *message = must_allocate(MAX_FAULTS);
    WNNStatus status =
        good ? wnnModelRecord(from, model->builder, &say, count, outputs, &count, MAX_FAULTS, message)
             : error->status;
    if (status == WNNStatus_Success) {
        WNNModelInfo info = WNN_MODEL_INFO_INIT;
        wnnModelGetInfo(from, &info);
        model->name = wnn_string_copy(&model->arena, wnn_string(info.name));
        keep_input_names(model, from);
        for (size_t i = 0; i < count; i++) {
            struct string name = wnn_string_copy(&model->arena, wnn_string(outputs[i].name));
            model_add_name(model, name, outputs[i].operand);
            model_add_output(model, name, outputs[i].operand);
        }
    }
    good = good && (status == WNNStatus_Success || fail_to_record(model, status, message, error));
    free(outputs);
    free(inputs);
    free(message);
    return good;
}

static bool read_model(struct model *model, WNNModelDescriptor *descriptor,
                       const struct load_options *options, struct error *error)
{
    WNNModel from;
    char message[WNN_MESSAGE_SIZE];
    if (options && options->weights) {
        descriptor->weightsPath.data = path_or_standard(options->weights, error);
        if (!descriptor->weightsPath.data)
            return false;
    }
    WNNStatus status = wnnModelOpen(descriptor, &from, sizeof message, message);
    bool good = status == WNNStatus_Success ? record(model, from, options, error)
                                            : wnn_fail(error, status, "%s", message);
    wnnModelRelease(from);
    return good;
}

static void release_stream(const void *data, size_t size, void *mapping, void *unused)
{
    (void)data;
    (void)size;
    (void)unused;
    mapping_unref(mapping);
}

static size_t stream_extent(const unsigned char *data, size_t size, void *unused)
{
    bool is_compiled =
        size >= sizeof STORED_MAGIC - 1 && memcmp(data, STORED_MAGIC, sizeof STORED_MAGIC - 1) == 0;
    return is_compiled ? SIZE_MAX : wnn_model_extent(data, size, unused);
}

struct mapping *load_open_stream(struct error *error)
{
    const struct mapping_rule rule = {.what = "a model", .most = MAX_MODEL_STREAM, .extent = stream_extent};
    return open_or_standard("-", &rule, error);
}

static bool read_stream(struct model *model, const struct load_options *options, struct error *error)
{
    struct mapping *mapping = load_open_stream(error);
    if (!mapping)
        return false;
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    descriptor.path.data = "standard input";
    descriptor.data = mapping->data;
    descriptor.byteLength = mapping->size;
    descriptor.release = release_stream;
    descriptor.userdata1 = mapping;
    return read_model(model, &descriptor, options, error);
}

bool model_load_silently(struct model *model, const char *what, const struct load_options *options,
                         struct error *error)
{
    const struct bench_model *builtin = bench_model_find(what);
    if (builtin)
        return bench_model_build(builtin, what, model, error);
    if (is_standard(what))
        return read_stream(model, options, error);
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    descriptor.path.data = what;
    return read_model(model, &descriptor, options, error);
}

bool model_load(struct model *model, const char *what, const struct load_options *options,
                struct error *error)
{
    bool good = model_load_silently(model, what, options, error);
    if (model->faults.length)
        terminal_lines(stderr, "webnn: ", model->faults.data);
    return good;
}
