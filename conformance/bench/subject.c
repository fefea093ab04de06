// SPDX-License-Identifier: Apache-2.0
#include "conformance/bench/subject.h"

#include "tools/bench_models.h"
#include "tools/memory.h"

#include <stdio.h>
#include <stdlib.h>

static WNNNamedBuffer *make_buffers(const WNNNamedDescriptor *list, size_t count, uint64_t *seed)
{
    WNNNamedBuffer *buffers = must_allocate(count * sizeof *buffers);
    for (size_t i = 0; i < count; i++) {
        size_t elements = 1;
        for (size_t k = 0; k < list[i].descriptor.shape.count; k++)
            elements *= list[i].descriptor.shape.data[k];
        float *data = must_allocate(elements * sizeof *data);
        for (size_t k = 0; k < elements; k++)
            data[k] = random_number(seed);
        buffers[i] = (WNNNamedBuffer){list[i].name, data, elements * sizeof *data, WNNDataType_Float32};
    }
    return buffers;
}

static void free_buffers(WNNNamedBuffer *buffers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(buffers[i].data);
    free(buffers);
}

void subject_begin(struct subject *subject, struct session *session, WNNGraph graph)
{
    uint64_t seed = 42;
    subject->session = session;
    subject->graph = graph;
    const WNNNamedDescriptor *list = wnnGraphGetInputs(graph, &subject->input_count);
    subject->inputs = make_buffers(list, subject->input_count, &seed);
    list = wnnGraphGetOutputs(graph, &subject->output_count);
    subject->outputs = make_buffers(list, subject->output_count, &seed);
}

void subject_end(struct subject *subject)
{
    free_buffers(subject->inputs, subject->input_count);
    free_buffers(subject->outputs, subject->output_count);
    wnnGraphRelease(subject->graph);
}

bool subject_run(struct subject *subject)
{
    struct error error = {WNNStatus_Success, ""};
    bool good = session_compute(subject->session, subject->graph, subject->input_count, subject->inputs,
                                subject->output_count, subject->outputs, &error);
    if (!good)
        fprintf(stderr, "%s\n", error.message);
    return good;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}
