// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_device.h"

#include "tools/memory.h"
#include "tools/session.h"
#include "tools/terminal.h"

#include "compiler/backend.h"
#include "runtime/context.h"

#include <stdlib.h>

struct stopwatch {
    struct watcher watcher; // first
    double *times;
    size_t count, capacity;
};

static void note(const struct watcher *watcher, const struct node *node, uint64_t nanoseconds)
{
    struct stopwatch *watch = (struct stopwatch *)(uintptr_t)watcher;
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
    size_t count = wnnGraphGetProfile(subject->graph, NULL, 0, NULL);
    WNNNodeProfile *nodes = must_allocate(count * sizeof *nodes);
    wnnGraphGetProfile(subject->graph, NULL, count, nodes);
    *bytes = 0;
    for (size_t i = 0; i < count; i++)
        *bytes += nodes[i].leastNanoseconds > 0 ? nodes[i].bytes : 0;
    free(nodes);
    wnnGraphSetProfiling(subject->graph, false);
    return good;
}

bool device_measure(struct subject *subject, double seconds, struct device_times *times, struct error *error)
{
    struct stopwatch watch = {.watcher = {.timed = note, .whole = true}};
    *times = (struct device_times){0};
    if (!subject->session->backend->submit)
        return true;
    wnn_graph_watch(subject->graph, &watch.watcher);
    bool good = true;
    double begin = now();
    for (size_t runs = 0; good && (runs < 3 || now() - begin < seconds); runs++)
        good = subject_run(subject, error);
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
