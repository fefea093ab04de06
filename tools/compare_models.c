// SPDX-License-Identifier: Apache-2.0
#include "tools/compare_models.h"

#include "tools/memory.h"
#include "tools/subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct run_port *find_port(struct run_port *ports, size_t count, struct string name)
{
    for (size_t i = 0; i < count; i++)
        if (wnn_string_equal(ports[i].name, name))
            return &ports[i];
    return NULL;
}

static bool load_file(struct subject *subject, const char *argument, bool *given, struct error *error)
{
    const char *equals = strchr(argument, '='), *path = equals ? equals + 1 : argument;
    struct run_port *port = NULL;
    if (equals)
        port = find_port(subject->inputs, subject->input_count,
                         (struct string){argument, (size_t)(equals - argument)});
    else if (subject->input_count == 1)
        port = subject->inputs;
    if (!port)
        return wnn_fail(error, WNNStatus_TypeError,
                        "--input=%s: expected NAME=FILE with the name of an input", argument);
    static const struct pixel_rule rule = PIXEL_RULE_INIT;
    struct run_file file;
    given[port - subject->inputs] = true;
    bool good = run_file_open(&file, path, port, false, error) && run_file_load(&file, 0, &rule, port, error);
    run_file_close(&file);
    return good;
}

static bool fill_inputs(struct subject *subject, const struct comparison_inputs *inputs, struct error *error)
{
    bool *given = must_allocate(subject->input_count * sizeof *given);
    bool good = true;
    uint64_t seed = inputs->seed * UINT64_C(0x9E3779B97F4A7C15); // bits everywhere, of a small number too
    for (size_t i = 0; i < inputs->file_count && good; i++)
        good = load_file(subject, inputs->files[i], given, error);
    for (size_t i = 0; i < subject->input_count && good; i++)
        if (!given[i])
            run_port_randomise(&subject->inputs[i], &seed);
    free(given);
    return good;
}

// An input that only one of the two has, since it reads it though nothing depends on that, may have any
// value.
static void copy_inputs(const struct subject *from, struct subject *to)
{
    for (size_t i = 0; i < to->input_count; i++) {
        const struct run_port *port = find_port(from->inputs, from->input_count, to->inputs[i].name);
        if (port && port->bytes == to->inputs[i].bytes)
            memcpy(to->inputs[i].data, port->data, port->bytes);
    }
}

static double element(const struct run_port *port, size_t index)
{
    return wnn_number_double(wnn_number_load(port->type.type, port->data, index));
}

static struct output_difference measure(const struct run_port *first, const struct run_port *second)
{
    struct output_difference difference = {.max = 0};
    size_t elements = wnn_shape_elements(&first->type.shape);
    double most = 0, squares = 0, product = 0, first_squares = 0, second_squares = 0;
    for (size_t i = 0; i < elements; i++) {
        double a = element(first, i), b = element(second, i);
        if (!isfinite(a) && (a == b || (isnan(a) && isnan(b))))
            continue;
        double distance = isfinite(a) && isfinite(b) ? fabs(a - b) : INFINITY;
        difference.max = fmax(difference.max, distance);
        squares += distance * distance;
        most = isfinite(a) ? fmax(most, fabs(a)) : most;
        first_squares += a * a;
        second_squares += b * b;
        product += a * b;
    }
    difference.relative = difference.max == 0 ? 0 : difference.max / most;
    difference.rms = sqrt(squares / (double)elements);
    bool zero = first_squares == 0 && second_squares == 0;
    difference.cosine = zero ? 1 : product / sqrt(first_squares) / sqrt(second_squares);
    return difference;
}

static bool compare_outputs(const struct model *model, const struct subject *first,
                            const struct subject *second, struct output_difference *differences,
                            struct error *error)
{
    for (size_t i = 0; i < model->output_count; i++) {
        struct string name = wnn_string(model->outputs[i].name);
        const struct run_port *port = find_port(first->outputs, first->output_count, name),
                              *other = find_port(second->outputs, second->output_count, name);
        if (!port || !other || !wnn_descriptor_equal(&port->type, &other->type))
            return wnn_fail(error, WNNStatus_UnknownError, "the output %.200s is another in the new model",
                            name.data);
        differences[i] = measure(port, other);
        differences[i].name = name;
    }
    return true;
}

bool compare_graphs(struct session *session, const struct model *model, WNNGraph first, WNNGraph second,
                    const struct comparison_inputs *inputs, struct output_difference *differences,
                    struct error *error)
{
    struct subject subjects[2];
    subject_begin(&subjects[0], session, first);
    subject_begin(&subjects[1], session, second);
    bool good = fill_inputs(&subjects[0], inputs, error);
    copy_inputs(&subjects[0], &subjects[1]);
    good = good && subject_run(&subjects[0], error) && subject_run(&subjects[1], error) &&
           compare_outputs(model, &subjects[0], &subjects[1], differences, error);
    subject_end(&subjects[0]);
    subject_end(&subjects[1]);
    return good;
}
