// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_device.h"

#include "tools/memory.h"
#include "tools/profile_show.h"
#include "tools/session.h"
#include "tools/terminal.h"

#include "compiler/backend.h"
#include "runtime/context.h"

#include <stdlib.h>

struct stopwatch {
    struct observer observer; // first
    double *times;
    size_t count, capacity;
};

static void note(const struct observer *observer, const struct node *node, uint64_t nanoseconds)
{
    struct stopwatch *watch = (struct stopwatch *)(uintptr_t)observer;
    if (node)
        return;
    watch->times = must_grow(watch->times, watch->count, &watch->capacity, sizeof watch->times[0]);
    watch->times[watch->count++] = (double)nanoseconds * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Tensors for the ports; the bytes of inputs are written.
static bool make_tensors(struct subject *subject, const struct run_port *ports, size_t count, bool inputs,
                         WNNNamedTensor *tensors)
{
    WNNContext context = subject->session->context;
    for (size_t i = 0; i < count; i++) {
        WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
        descriptor.dataType = ports[i].type.type;
        descriptor.shape = (WNNUint32List){ports[i].type.shape.dim, ports[i].type.shape.rank};
        descriptor.writable = inputs;
        tensors[i].name = (WNNStringView){ports[i].name.data, ports[i].name.length};
        if (wnnContextCreateTensor(context, &descriptor, &tensors[i].tensor) != WNNStatus_Success ||
            (inputs && wnnContextWriteTensor(context, tensors[i].tensor, ports[i].data, ports[i].bytes) !=
                           WNNStatus_Success))
            return false;
    }
    return true;
}

static void free_tensors(WNNNamedTensor *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wnnTensorRelease(tensors[i].tensor);
    free(tensors);
}

// Runs on tensors, which are the device's: copies from and to the host would leave it idle between the runs,
// and its clock would go down. Where there is no memory for them, on the host's.
static bool run_many(struct subject *subject, double seconds, struct error *error)
{
    WNNNamedTensor *inputs = must_allocate(subject->input_count * sizeof *inputs),
                   *outputs = must_allocate(subject->output_count * sizeof *outputs);
    bool good = true,
         has_tensors = make_tensors(subject, subject->inputs, subject->input_count, true, inputs) &&
                       make_tensors(subject, subject->outputs, subject->output_count, false, outputs);
    double begin = now();
    for (size_t runs = 0; good && (runs < 3 || now() - begin < seconds); runs++)
        good = has_tensors ? session_dispatch(subject->session, subject->graph, subject->input_count, inputs,
                                              subject->output_count, outputs, error)
                           : subject_run(subject, error);
    free_tensors(inputs, subject->input_count);
    free_tensors(outputs, subject->output_count);
    return good;
}

static bool count_bytes(struct subject *subject, uint64_t *bytes, struct error *error)
{
    wnnGraphSetProfiling(subject->graph, true);
    bool good = subject_run(subject, error);
    size_t count;
    WNNNodeProfile *nodes = profile_nodes(subject->graph, NULL, &count);
    *bytes = 0;
    for (size_t i = 0; i < count; i++)
        *bytes += nodes[i].minNanoseconds > 0 ? nodes[i].bytes : 0;
    free(nodes);
    wnnGraphSetProfiling(subject->graph, false);
    return good;
}

bool device_measure(struct subject *subject, double seconds, struct device_times *times, struct error *error)
{
    struct stopwatch watch = {.observer = {.timed = note, .whole = true}};
    *times = (struct device_times){0};
    if (!subject->session->backend->submit)
        return true;
    wnn_graph_watch(subject->graph, &watch.observer);
    bool good = run_many(subject, seconds, error);
    wnn_graph_watch(subject->graph, NULL);
    if (good && watch.count > 0) {
        qsort(watch.times, watch.count, sizeof watch.times[0], compare);
        times->least = watch.times[0];
        times->median = watch.times[watch.count / 2];
        times->runs = watch.count;
        good = count_bytes(subject, &times->bytes, error);
    }
    free(watch.times);
    return good;
}
