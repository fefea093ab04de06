// SPDX-License-Identifier: Apache-2.0
#include "tools/run_inputs.h"

#include "tools/memory.h"
#include "tools/name_table.h"
#include "tools/standard_input.h"
#include "tools/terminal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t run_port_named(struct run_port *const *ports, size_t count, const char *argument, const char **path)
{
    const char *equal = strchr(argument, '=');
    *path = argument;
    for (size_t i = 0; equal && i < count; i++)
        if (wnn_string_equal(ports[i]->name, (struct string){argument, (size_t)(equal - argument)})) {
            *path = equal + 1;
            return i;
        }
    return count;
}

void run_input_options_add(struct run_input_options *options, const char *argument)
{
    options->arguments =
        must_grow(options->arguments, options->count, &options->capacity, sizeof *options->arguments);
    options->arguments[options->count++] = argument;
}

bool is_stream_argument(const char *argument)
{
    const char *equal = strrchr(argument, '=');
    return is_standard(equal ? equal + 1 : argument);
}

size_t run_input_options_streams(const struct run_input_options *options)
{
    size_t count = 0;
    for (size_t i = 0; i < options->count; i++)
        count += is_stream_argument(options->arguments[i]);
    return count;
}

#define MAX_REAL 1e9 // of what pixels are multiplied with and divided by, and its inverse

// "0.5" for all channels or "0.1,0.2,0.3".
static bool parse_channels(const char *option, const char *argument, double low, double values[3])
{
    char text[128] = "";
    size_t count = 0;
    if (strlen(argument) < sizeof text)
        strcpy(text, argument);
    for (char *at = text, *next; at; at = next) {
        next = strchr(at, ',');
        if (next)
            *next++ = '\0';
        if (count < 3 && !parse_real(option, at, low, MAX_REAL, &values[count]))
            return false;
        count++;
    }
    if (count == 1)
        values[1] = values[2] = values[0];
    if (count == 1 || count == 3)
        return true;
    fprintf(stderr, "webnn: --%s=%s: expected one number, or one for each of three channels\n", option,
            SHOWN_STRING(argument));
    return false;
}

bool is_run_input_option(int option)
{
    return option >= 1100 && option <= 1107;
}

bool run_input_option(struct run_input_options *options, int option, const char *argument)
{
    struct pixel_rule *rule = &options->rule;
    switch (option) {
    case 1100:
        return parse_real("scale", argument, -MAX_REAL, MAX_REAL, &rule->scale);
    case 1101:
        return parse_channels("mean", argument, -MAX_REAL, rule->mean);
    case 1102:
        return parse_channels("std", argument, 1 / MAX_REAL, rule->deviation);
    case 1103:
        rule->invert = true;
        return true;
    case 1104:
        rule->layout = strcmp(argument, "nchw") == 0   ? LAYOUT_NCHW
                       : strcmp(argument, "nhwc") == 0 ? LAYOUT_NHWC
                                                       : LAYOUT_GUESSED;
        if (rule->layout == LAYOUT_GUESSED)
            fprintf(stderr, "webnn: --layout=%s: expected nchw or nhwc\n", SHOWN_STRING(argument));
        return rule->layout != LAYOUT_GUESSED;
    case 1105:
        options->random = true;
        return true;
    case 1106:
        return parse_count("seed", argument, 0, ULONG_MAX, &options->seed);
    default:
        run_input_options_add(options, argument);
        return true;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Who gets what
// ---------------------------------------------------------------------------------------------------------------

static bool assign_file(struct run_inputs *inputs, size_t port, const char *path, struct error *error)
{
    if (inputs->count == 1) {
        inputs->files[inputs->file_count++] = path;
        return true;
    }
    if (port == inputs->count)
        for (port = 0; port < inputs->count && inputs->files[port]; port++)
            ;
    if (port == inputs->count)
        return wnn_fail(error, WNNStatus_TypeError, "%s: the graph has only %zu inputs", path, inputs->count);
    if (inputs->files[port])
        return wnn_fail(error, WNNStatus_TypeError, "%s: the input %s has a file, %s", path,
                        inputs->ports[port]->name.data, inputs->files[port]);
    inputs->files[port] = path;
    return true;
}

// The inputs of some models, each name once.
static void list_names(struct name_table *names, const struct model *const *models, size_t model_count)
{
    for (size_t i = 0; i < model_count; i++) {
        for (size_t k = 0; k < models[i]->input_count; k++)
            name_table_add(names, models[i]->inputs[k]);
        const struct graph *graph = model_graph(models[i]);
        for (size_t k = 0; k < graph->operand_count; k++)
            if (graph->operands[k]->input)
                name_table_add(names, wnn_operand_name(graph->operands[k]));
    }
}

// Whether an argument says which input it is for.
static bool has_name(const struct name_table *names, const char *argument)
{
    const char *equal = strchr(argument, '=');
    return equal && name_table_find(names, (struct string){argument, (size_t)(equal - argument)}) != NO_NAME;
}

// Arguments that are files, without the names of inputs.
static size_t count_unnamed(const struct run_input_options *options, const struct name_table *names)
{
    size_t count = 0;
    for (size_t i = 0; i < options->count; i++)
        count += !array_set_recognize(options->arguments[i]) && !has_name(names, options->arguments[i]);
    return count;
}

// An argument without a name, the `number`th of those. If there are as many as the file has inputs, each is
// for its own, also for one that no output depends on, or that is empty; else they are for those of the
// graph.
static bool assign_unnamed(struct run_inputs *inputs, const char *path, size_t number, bool for_all,
                           const struct name_table *names, struct error *error)
{
    size_t port = inputs->count;
    for (size_t i = 0; for_all && i < inputs->count; i++)
        if (wnn_string_equal(inputs->ports[i]->name, names->names[number]))
            port = i;
    return (for_all && port == inputs->count) || assign_file(inputs, port, path, error);
}

static bool assign_arguments(struct run_inputs *inputs, const struct run_input_options *options,
                             struct array_set *set, const struct name_table *names, struct error *error)
{
    const bool for_all = names->count > inputs->count && count_unnamed(options, names) == names->count;
    size_t unnamed = 0;
    bool good = true;
    for (size_t i = 0; good && i < options->count; i++) {
        const char *path, *argument = options->arguments[i];
        size_t port = run_port_named(inputs->ports, inputs->count, argument, &path);
        if (port < inputs->count)
            good = assign_file(inputs, port, path, error);
        else if (array_set_recognize(argument))
            good = array_set_add_all(set, argument, error);
        else if (!has_name(names, argument))
            good = assign_unnamed(inputs, argument, unnamed++, for_all, names, error);
    }
    return good;
}

static void assign_arrays(struct run_inputs *inputs, const struct array_set *set,
                          const struct name_table *names)
{
    const struct named_array **found = must_allocate(names->count * sizeof *found);
    array_set_match(set, ROLE_INPUT, true, names->count, names->names, found);
    for (size_t i = 0; i < inputs->count; i++) {
        size_t at = name_table_find(names, inputs->ports[i]->name);
        inputs->arrays[i] = at == NO_NAME ? NULL : found[at];
    }
    free(found);
}

bool run_inputs_begin(struct run_inputs *inputs, struct run_port *const *ports, size_t count,
                      const struct run_input_options *options, struct array_set *set,
                      const struct model *const *models, size_t model_count, struct error *error)
{
    *inputs = (struct run_inputs){.count = count, .rule = &options->rule, .random = options->random};
    inputs->ports = must_allocate(count * sizeof *inputs->ports);
    inputs->files = must_allocate((count + options->count) * sizeof *inputs->files);
    inputs->arrays = must_allocate(count * sizeof *inputs->arrays);
    // What the generator begins with must not be 0.
    inputs->seed = 88172645463325252u ^ options->seed * 0x9E3779B97F4A7C15u;
    inputs->seed += inputs->seed == 0;
    for (size_t i = 0; i < count; i++)
        inputs->ports[i] = ports[i];
    struct name_table names = {.names = NULL};
    list_names(&names, models, model_count);
    bool good = assign_arguments(inputs, options, set, &names, error);
    if (good)
        assign_arrays(inputs, set, &names);
    name_table_free(&names);
    return good;
}

static void close_file(struct run_inputs *inputs)
{
    if (inputs->open)
        run_file_close(&inputs->file);
    inputs->open = false;
    free(inputs->place);
    inputs->place = NULL;
}

void run_inputs_end(struct run_inputs *inputs)
{
    close_file(inputs);
    free(inputs->ports);
    free(inputs->files);
    free(inputs->arrays);
    *inputs = (struct run_inputs){.ports = NULL};
}

// ---------------------------------------------------------------------------------------------------------------
// Shapes
// ---------------------------------------------------------------------------------------------------------------

// False: it is no array.
static bool read_shape(const char *path, struct shape *shape)
{
    struct error error = {WNNStatus_Success, ""};
    struct named_array file = {.path = (char *)(uintptr_t)path};
    struct array array;
    bool is_array = !is_standard(path) && (ends_with(path, ".npy") || ends_with(path, ".pb"));
    if (!is_array || !named_array_read(&file, &array, &error))
        return false;
    *shape = array.shape;
    array_close(&array);
    return true;
}

static void match_shapes(const struct array_set *set, size_t count, const struct string *names,
                         struct shape *shapes)
{
    const struct named_array **found = must_allocate((count + 1) * sizeof *found);
    array_set_match(set, ROLE_INPUT, true, count, names, found);
    for (size_t i = 0; i < count; i++) {
        struct error error = {WNNStatus_Success, ""};
        struct array array;
        if (!found[i] || shapes[i].rank || !named_array_read(found[i], &array, &error))
            continue;
        shapes[i] = array.shape;
        array_close(&array);
    }
    free(found);
}

void run_input_options_shapes(const void *argument, size_t count, const struct string *names,
                              struct shape *shapes)
{
    const struct run_input_options *options = argument;
    struct array_set set = {.items = NULL};
    bool *taken = must_allocate(count + 1);
    for (size_t i = 0; i < options->count; i++) {
        const char *path = options->arguments[i], *equal = strchr(path, '=');
        struct error error = {WNNStatus_Success, ""};
        size_t at = count;
        for (size_t k = 0; equal && k < count && at == count; k++)
            if (wnn_string_equal(names[k], (struct string){path, (size_t)(equal - path)}))
                at = k;
        if (at < count)
            path = equal + 1;
        else if (array_set_recognize(path) && array_set_add_all(&set, path, &error))
            continue;
        for (size_t k = 0; at == count && k < count; k++)
            if (!taken[k])
                at = k;
        if (at == count || taken[at])
            continue;
        taken[at] = true;
        read_shape(path, &shapes[at]);
    }
    match_shapes(&set, count, names, shapes);
    array_set_free(&set);
    free(taken);
}

// ---------------------------------------------------------------------------------------------------------------
// Values
// ---------------------------------------------------------------------------------------------------------------

static bool open_array(struct run_inputs *inputs, size_t port, bool many, struct error *error)
{
    struct array array;
    inputs->place = named_array_place(inputs->arrays[port]);
    return named_array_read(inputs->arrays[port], &array, error) &&
           run_file_take(&inputs->file, inputs->place, &array, inputs->ports[port], many, error);
}

// Opens a file, or without one the array of an input.
static bool open_file(struct run_inputs *inputs, size_t port, const char *path, bool many,
                      struct error *error)
{
    close_file(inputs);
    inputs->open = path ? run_file_open(&inputs->file, path, inputs->ports[port], many, error)
                        : open_array(inputs, port, many, error);
    return inputs->open;
}

static bool load(struct run_inputs *inputs, size_t port, size_t item, struct error *error)
{
    return run_file_load(&inputs->file, item, inputs->rule, inputs->ports[port], error);
}

// One input: every file, every value.
static bool next_of_one(struct run_inputs *inputs, struct error *error)
{
    size_t file_count = inputs->file_count ? inputs->file_count : 1;
    while (!inputs->open || inputs->next_item == inputs->file.items) {
        close_file(inputs);
        if (inputs->next_file == file_count)
            return false;
        inputs->next_item = 0;
        inputs->path = inputs->file_count ? inputs->files[inputs->next_file] : NULL;
        inputs->next_file++;
        if (!open_file(inputs, 0, inputs->path, true, error))
            return false;
        inputs->path = inputs->file.path;
        inputs->items = inputs->file.items;
    }
    inputs->item = inputs->next_item++;
    return load(inputs, 0, inputs->item, error);
}

// Several inputs, or none with a file: one value each.
static bool fill_all(struct run_inputs *inputs, struct error *error)
{
    bool good = true;
    inputs->ended = true;
    inputs->items = 1;
    for (size_t i = 0; good && i < inputs->count; i++) {
        struct run_port *port = inputs->ports[i];
        if (inputs->files[i] || inputs->arrays[i])
            good = open_file(inputs, i, inputs->files[i], false, error) && load(inputs, i, 0, error);
        else if (inputs->random || port->bytes == 0)
            run_port_randomise(port, &inputs->seed);
        else
            good = wnn_fail(error, WNNStatus_TypeError, "no file for the input %s, %s%s (or --random)",
                            port->name.data, wnn_dtype_name(port->type.type), SHAPE_TEXT(&port->type.shape));
        close_file(inputs);
    }
    return good;
}

bool run_inputs_next(struct run_inputs *inputs, struct error *error)
{
    if (inputs->ended)
        return false;
    bool one = inputs->count == 1 && (inputs->file_count || inputs->arrays[0]);
    return one ? next_of_one(inputs, error) : fill_all(inputs, error);
}
