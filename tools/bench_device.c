// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_device.h"

#include "tools/memory.h"
#include "tools/profile_show.h"
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

// Executes on tensors, which are the device's: copies from and to the host would leave it idle between the
// executions, and its clock would go down. Where there is no memory for them, on the host's.
static bool execute(struct subject *subject, const struct bench_length *length, struct error *error)
{
    struct bench_run run;
    struct error none = {WNNStatus_Success, ""};
    double seconds = 0;
    if (!bench_run_begin(&run, subject, 1, true, &none)) {
        bench_run_end(&run);
        bench_run_begin(&run, subject, 1, false, &none);
    }
    subject->time_count = 0;
    bool good = bench_run_execute(&run, length, "measuring the device", &seconds, error);
    bench_run_end(&run);
    return good;
}

bool device_measure(struct subject *subject, const struct bench_length *length, struct device_times *times,
                    struct error *error)
{
    struct stopwatch watch = {.observer = {.timed = note, .whole = true}};
    *times = (struct device_times){0};
    if (!subject->session->backend->submit)
        return true;
    wnn_graph_watch(subject->graph, &watch.observer);
    bool good = execute(subject, length, error);
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
