// SPDX-License-Identifier: Apache-2.0
#include "tools/profile_show.h"

#include "tools/memory.h"
#include "tools/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

WNNNodeProfile *profile_nodes(WNNGraph graph, WNNGraphProfile *whole, size_t *count)
{
    wnnGraphGetProfile(graph, NULL, 0, NULL, count);
    WNNNodeProfile *nodes = must_allocate(*count * sizeof *nodes);
    for (size_t i = 0; i < *count; i++)
        nodes[i].nextInChain = NULL;
    wnnGraphGetProfile(graph, whole, *count, nodes, NULL);
    return nodes;
}

static int compare_totals(const void *a, const void *b)
{
    const WNNNodeProfile *x = a, *y = b;
    return (x->totalNanoseconds < y->totalNanoseconds) - (x->totalNanoseconds > y->totalNanoseconds);
}

static double rate(uint64_t amount, const WNNNodeProfile *node)
{
    return node->minNanoseconds ? (double)amount / (double)node->minNanoseconds : 0;
}

static double milliseconds(uint64_t total, uint64_t runs)
{
    return runs ? (double)total / (double)runs * 1e-6 : 0;
}

void profile_print(WNNGraph graph)
{
    WNNGraphProfile whole = WNN_GRAPH_PROFILE_INIT;
    size_t count;
    WNNNodeProfile *nodes = profile_nodes(graph, &whole, &count);
    if (count == 0) {
        puts("No execution was profiled: the backend cannot be watched.");
        free(nodes);
        return;
    }
    qsort(nodes, count, sizeof *nodes, compare_totals);
    uint64_t total = whole.totalDeviceNanoseconds ? whole.totalDeviceNanoseconds : whole.totalNanoseconds;
    uint64_t least = whole.totalDeviceNanoseconds ? whole.minDeviceNanoseconds : whole.minNanoseconds;
    printf("%s%10s %10s %6s %9s %8s  %-9s %s%s\n", STYLE_BOLD, "mean ms", "min ms", "%", "GFLOP/s", "GB/s",
           "kernel", "operator", STYLE_NONE);
    uint64_t sum = 0, operations = 0;
    for (size_t i = 0; i < count; i++) {
        const WNNNodeProfile *node = &nodes[i];
        sum += node->totalNanoseconds;
        operations += node->operations;
        printf("%10.4f %10.4f %6.2f %9.2f %8.2f  %-9s %s%s%s\n",
               milliseconds(node->totalNanoseconds, node->runs), (double)node->minNanoseconds * 1e-6,
               100 * (double)node->totalNanoseconds / (double)total, rate(node->operations, node),
               rate(node->bytes, node), node->kernel.data, node->operation.data,
               node->label.length ? " " : "", SHOWN(wnn_string(node->label)));
    }
    printf("%10.4f %10.4f %6.2f %9.2f  %zu nodes, %llu runs; the nodes take %.4f ms\n",
           milliseconds(total, whole.runs), (double)least * 1e-6, 100.0,
           least ? (double)operations / (double)least : 0, count, (unsigned long long)whole.runs,
           milliseconds(sum, whole.runs));
    if (whole.totalDeviceNanoseconds)
        printf("%10.4f %10.4f  from call to end; the above is on the device's clock, "
               "without what is copied to and from it\n",
               milliseconds(whole.totalNanoseconds, whole.runs), (double)whole.minNanoseconds * 1e-6);
    free(nodes);
}

cJSON *profile_json(WNNGraph graph)
{
    WNNGraphProfile whole = WNN_GRAPH_PROFILE_INIT;
    size_t count;
    WNNNodeProfile *nodes = profile_nodes(graph, &whole, &count);
    cJSON *array = must(cJSON_CreateArray());
    for (size_t i = 0; i < count; i++) {
        const WNNNodeProfile *node = &nodes[i];
        cJSON *object = must(cJSON_CreateObject());
        cJSON_AddStringToObject(object, "label", node->label.data);
        cJSON_AddStringToObject(object, "operator", node->operation.data);
        cJSON_AddStringToObject(object, "kernel", node->kernel.data);
        cJSON_AddNumberToObject(object, "runs", (double)node->runs);
        cJSON_AddNumberToObject(object, "mean_ms", milliseconds(node->totalNanoseconds, node->runs));
        cJSON_AddNumberToObject(object, "min_ms", (double)node->minNanoseconds * 1e-6);
        cJSON_AddNumberToObject(object, "bytes", (double)node->bytes);
        cJSON_AddNumberToObject(object, "operations", (double)node->operations);
        cJSON_AddItemToArray(array, object);
    }
    free(nodes);
    return array;
}

// ---------------------------------------------------------------------------------------------------------------
// Traces
// ---------------------------------------------------------------------------------------------------------------

bool trace_open(struct trace *trace, const char *path, struct error *error)
{
    *trace = (struct trace){.file = fopen(path, "w"), .path = path};
    if (!trace->file)
        return wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
    fputs("[", trace->file);
    return true;
}

// Takes the arguments.
static void add_event(struct trace *trace, const char *name, uint64_t begin, uint64_t length, int thread,
                      cJSON *arguments)
{
    cJSON *event = must(cJSON_CreateObject());
    cJSON_AddStringToObject(event, "name", name);
    cJSON_AddStringToObject(event, "ph", "X");
    cJSON_AddNumberToObject(event, "ts", (double)(begin - trace->origin) * 1e-3);
    cJSON_AddNumberToObject(event, "dur", (double)length * 1e-3);
    cJSON_AddNumberToObject(event, "pid", 1);
    cJSON_AddNumberToObject(event, "tid", thread);
    cJSON_AddItemToObject(event, "args", arguments);
    char *text = must(cJSON_PrintUnformatted(event));
    fputs(trace->begun ? ",\n" : "\n", trace->file);
    terminal_json(trace->file, text);
    trace->begun = true;
    cJSON_free(text);
    cJSON_Delete(event);
}

void trace_add(struct trace *trace, WNNGraph graph)
{
    WNNGraphProfile whole = WNN_GRAPH_PROFILE_INIT;
    size_t count;
    if (!trace->file)
        return;
    WNNNodeProfile *nodes = profile_nodes(graph, &whole, &count);
    if (count && !trace->begun)
        trace->origin = whole.lastBeginNanoseconds;
    if (count)
        add_event(trace, "execution", whole.lastBeginNanoseconds, whole.lastNanoseconds, 1,
                  must(cJSON_CreateObject()));
    for (size_t i = 0; i < count; i++) {
        const WNNNodeProfile *node = &nodes[i];
        cJSON *arguments = must(cJSON_CreateObject());
        cJSON_AddStringToObject(arguments, "operator", node->operation.data);
        cJSON_AddStringToObject(arguments, "kernel", node->kernel.data);
        cJSON_AddNumberToObject(arguments, "bytes", (double)node->bytes);
        cJSON_AddNumberToObject(arguments, "operations", (double)node->operations);
        add_event(trace, node->label.length ? node->label.data : node->operation.data,
                  node->lastBeginNanoseconds, node->lastNanoseconds, 2, arguments);
    }
    free(nodes);
}

bool trace_close(struct trace *trace, struct error *error)
{
    if (!trace->file)
        return true;
    fputs("\n]\n", trace->file);
    bool good = !ferror(trace->file);
    good = fclose(trace->file) == 0 && good;
    trace->file = NULL;
    return good || wnn_fail(error, WNNStatus_UnknownError, "%s: cannot be written", trace->path);
}
