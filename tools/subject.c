// SPDX-License-Identifier: Apache-2.0
#include "tools/subject.h"

#include "tools/memory.h"
#include "tools/terminal.h"

#include <stdlib.h>
#include <string.h>

void subject_begin(struct subject *subject, struct session *session, WNNGraph graph)
{
    *subject = (struct subject){.session = session, .graph = graph};
    const WNNNamedDescriptor *list = wnnGraphGetInputs(graph, &subject->input_count);
    subject->inputs = run_ports_make(list, subject->input_count, &subject->input_buffers);
    list = wnnGraphGetOutputs(graph, &subject->output_count);
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
