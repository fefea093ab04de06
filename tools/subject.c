// SPDX-License-Identifier: Apache-2.0
#include "tools/subject.h"

#include "tools/late_sizes.h"
#include "tools/memory.h"
#include "tools/terminal.h"

#include <stdlib.h>
#include <string.h>

void subject_begin(struct subject *subject, struct session *session, WNNGraph graph)
{
    *subject = (struct subject){.session = session, .graph = graph};
    const WNNNamedDescriptor *list = wnnGraphGetInputs(graph, &subject->input_count);
    subject->inputs = run_ports_make(session->sizes ? session->sizes->inputs : list, subject->input_count,
                                     &subject->input_buffers);
    list = wnnGraphGetOutputs(graph, &subject->output_count);
    list = session->sizes ? session->sizes->outputs : list;
    subject->outputs = run_ports_make(list, subject->output_count, &subject->output_buffers);
    // Memory that nobody has touched would be the first run's to find.
    for (size_t i = 0; i < subject->output_count; i++)
        memset(subject->outputs[i].data, 0xFF, subject->outputs[i].bytes);
}

void subject_end(struct subject *subject)
{
    run_ports_free(subject->inputs, subject->input_count, subject->input_buffers);
    run_ports_free(subject->outputs, subject->output_count, subject->output_buffers);
    free(subject->times);
}

static size_t find_port(const struct run_port *ports, size_t count, struct string name)
{
    size_t i = 0;
    while (i < count && !wnn_string_equal(ports[i].name, name))
        i++;
    return i;
}

bool subject_replace(struct subject *subject, const char *pair, struct error *error)
{
    const char *middle = strchr(pair, '=');
    struct string input = {pair, middle ? (size_t)(middle - pair) : 0},
                  output = middle ? (struct string){middle + 1, strlen(middle + 1)} : STRING("");
    size_t x = find_port(subject->inputs, subject->input_count, input),
           y = find_port(subject->outputs, subject->output_count, output);
    if (x == subject->input_count || y == subject->output_count ||
        !wnn_descriptor_equal(&subject->inputs[x].type, &subject->outputs[y].type))
        return wnn_fail(error, WNNStatus_TypeError,
                        "--replace=%s: expected INPUT=OUTPUT, an input and an output of one type", pair);
    subject->output_buffers[y].data = subject->inputs[x].data;
    return true;
}

size_t subject_replaced(const struct subject *subject, size_t output)
{
    for (size_t i = 0; i < subject->input_count; i++)
        if (subject->output_buffers[output].data == subject->inputs[i].data)
            return i;
    return SIZE_MAX;
}

void subject_add_time(struct subject *subject, double seconds)
{
    subject->times =
        must_grow(subject->times, subject->time_count, &subject->time_capacity, sizeof *subject->times);
    subject->times[subject->time_count++] = seconds;
}

bool subject_run(struct subject *subject, struct error *error)
{
    double begin = now();
    if (!session_compute(subject->session, subject->graph, subject->input_count, subject->input_buffers,
                         subject->output_count, subject->output_buffers, error))
        return false;
    subject_add_time(subject, now() - begin);
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void subject_sort_times(struct subject *subject)
{
    qsort(subject->times, subject->time_count, sizeof *subject->times, compare);
}
