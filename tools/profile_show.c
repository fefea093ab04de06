// SPDX-License-Identifier: Apache-2.0
#include "tools/profile_show.h"

#include "tools/json.h"
#include "tools/memory.h"
#include "tools/standard_output.h"
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

static double rate(uint64_t amount, uint64_t nanoseconds)
{
    return nanoseconds ? (double)amount / (double)nanoseconds : 0;
}

static double milliseconds(uint64_t total, uint64_t runs)
{
    return runs ? (double)total / (double)runs * 1e-6 : 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Sums by operators
// ---------------------------------------------------------------------------------------------------------------

struct entry {
    const WNNNodeProfile *profile;
    const struct node_sources *sources;
};

// Nodes that compute the same operators, or groups of operators of the same types.
struct group {
    const struct entry *entries;              // the nodes, or those of the first group
    size_t count;                             // of nodes, or groups
    char *types;                              // for a terminal; NULL for nodes
    uint64_t total, least, bytes, operations; // of all its nodes
};

struct summary {
    WNNGraphProfile whole;
    WNNNodeProfile *nodes; // in the order of execution
    struct entry *entries; // in the order of groups
    struct group *groups, *types;
    size_t node_count, group_count, type_count;
    uint64_t total, least; // nanoseconds of all executions, and of the fastest
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    const struct node_sources *p = x->sources, *q = y->sources;
    if (p->count != q->count)
        return p->count < q->count ? -1 : 1;
    int order = p->count ? memcmp(p->items, q->items, p->count * sizeof p->items[0]) : 0;
    return order ? order : (x->profile > y->profile) - (x->profile < y->profile);
}

static int compare_types(const void *a, const void *b)
{
    return strcmp(((const struct group *)a)->types, ((const struct group *)b)->types);
}

static int compare_totals(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return (x->total < y->total) - (x->total > y->total);
}

static void add_group(struct group *to, uint64_t total, uint64_t least, uint64_t bytes, uint64_t operations)
{
    to->count++;
    to->total += total;
    to->least += least;
    to->bytes += bytes;
    to->operations += operations;
}

// Of copies of outputs, which stand behind the nodes, and of the compiler's.
static const struct node_sources no_sources = {.added = true};

static const struct node_sources *sources_of(const struct sources *sources, size_t node)
{
    return node < sources->node_count ? &sources->nodes[node] : &no_sources;
}

static void group_nodes(struct summary *summary, const struct sources *sources)
{
    summary->entries = must_allocate(summary->node_count * sizeof *summary->entries);
    summary->groups = must_allocate(summary->node_count * sizeof *summary->groups);
    for (size_t i = 0; i < summary->node_count; i++)
        summary->entries[i] = (struct entry){&summary->nodes[i], sources_of(sources, i)};
    qsort(summary->entries, summary->node_count, sizeof *summary->entries, compare_entries);
    for (size_t i = 0; i < summary->node_count; i++) {
        const struct entry *entry = &summary->entries[i];
        if (i == 0 || !sources_equal(entry[-1].sources, entry->sources))
            summary->groups[summary->group_count++] = (struct group){.entries = entry};
        add_group(&summary->groups[summary->group_count - 1], entry->profile->totalNanoseconds,
                  entry->profile->minNanoseconds, entry->profile->bytes, entry->profile->operations);
    }
    qsort(summary->groups, summary->group_count, sizeof *summary->groups, compare_totals);
}

static void group_types(struct summary *summary, const struct sources *sources)
{
    struct group *all = must_allocate(summary->group_count * sizeof *all);
    summary->types = must_allocate(summary->group_count * sizeof *summary->types);
    for (size_t i = 0; i < summary->group_count; i++) {
        char text[SOURCES_TEXT];
        all[i] = summary->groups[i];
        all[i].types = must(strdup(sources_types(sources, all[i].entries->sources, text)));
    }
    qsort(all, summary->group_count, sizeof *all, compare_types);
    for (size_t i = 0; i < summary->group_count; i++) {
        if (i == 0 || compare_types(&all[i - 1], &all[i]) != 0)
            summary->types[summary->type_count++] =
                (struct group){.entries = all[i].entries, .types = must(strdup(all[i].types))};
        add_group(&summary->types[summary->type_count - 1], all[i].total, all[i].least, all[i].bytes,
                  all[i].operations);
    }
    for (size_t i = 0; i < summary->group_count; i++)
        free(all[i].types);
    free(all);
    qsort(summary->types, summary->type_count, sizeof *summary->types, compare_totals);
}

static void summarize(struct summary *summary, WNNGraph graph, const struct sources *sources)
{
    *summary = (struct summary){.whole = WNN_GRAPH_PROFILE_INIT};
    summary->nodes = profile_nodes(graph, &summary->whole, &summary->node_count);
    const WNNGraphProfile *whole = &summary->whole;
    summary->total = whole->totalDeviceNanoseconds ? whole->totalDeviceNanoseconds : whole->totalNanoseconds;
    summary->least = whole->totalDeviceNanoseconds ? whole->minDeviceNanoseconds : whole->minNanoseconds;
    group_nodes(summary, sources);
    group_types(summary, sources);
}

static void free_summary(struct summary *summary)
{
    for (size_t i = 0; i < summary->type_count; i++)
        free(summary->types[i].types);
    free(summary->types);
    free(summary->groups);
    free(summary->entries);
    free(summary->nodes);
}

static double percent(const struct summary *summary, uint64_t total)
{
    return summary->total ? 100 * (double)total / (double)summary->total : 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Tables
// ---------------------------------------------------------------------------------------------------------------

static void print_node(const struct entry *entry, uint64_t runs)
{
    const WNNNodeProfile *node = entry->profile;
    printf("%10.4f %10.4f %6s %9.2f %8.2f    %-17s   %s%s\n", milliseconds(node->totalNanoseconds, runs),
           (double)node->minNanoseconds * 1e-6, "", rate(node->operations, node->minNanoseconds),
           rate(node->bytes, node->minNanoseconds), SHOWN(wnn_string(node->kernel)),
           SHOWN(wnn_string(node->operation)), entry->sources->added ? " of the compiler" : "");
}

// What the nodes of a group compute, or the outputs that they are copies of.
static const char *group_text(const struct sources *sources, const struct group *group,
                              char buffer[SOURCES_TEXT])
{
    if (group->entries->sources != &no_sources)
        return sources_text(sources, group->entries->sources, buffer);
    struct text text = {buffer, SOURCES_TEXT, 0};
    for (size_t i = 0; i < group->count; i++) {
        wnn_text_add(&text, i ? ", " : "copy of the output ");
        wnn_text_add_quoted(&text, wnn_string(group->entries[i].profile->label), SOURCES_TEXT / 4);
    }
    return buffer;
}

static void print_group(const struct summary *summary, const struct sources *sources,
                        const struct group *group)
{
    char kernels[32];
    snprintf(kernels, sizeof kernels, "%zu kernels", group->count);
    printf("%10.4f %10.4f %6.2f %9.2f %8.2f  %-19s %s\n", milliseconds(group->total, summary->whole.runs),
           (double)group->least * 1e-6, percent(summary, group->total), rate(group->operations, group->least),
           rate(group->bytes, group->least),
           group->count == 1 ? SHOWN(wnn_string(group->entries->profile->kernel)) : kernels,
           group_text(sources, group, (char[SOURCES_TEXT]){0}));
    for (size_t i = 0; group->count > 1 && i < group->count; i++)
        print_node(&group->entries[i], summary->whole.runs);
}

static void print_whole(const struct summary *summary)
{
    const WNNGraphProfile *whole = &summary->whole;
    uint64_t sum = 0, operations = 0;
    for (size_t i = 0; i < summary->node_count; i++) {
        sum += summary->nodes[i].totalNanoseconds;
        operations += summary->nodes[i].operations;
    }
    printf("%10.4f %10.4f %6.2f %9.2f  %zu nodes, %llu runs; the nodes take %.4f ms\n",
           milliseconds(summary->total, whole->runs), (double)summary->least * 1e-6, 100.0,
           rate(operations, summary->least), summary->node_count, (unsigned long long)whole->runs,
           milliseconds(sum, whole->runs));
    if (whole->totalDeviceNanoseconds)
        printf("%10.4f %10.4f  from call to end; the above is on the device's clock, "
               "without what is copied to and from it\n",
               milliseconds(whole->totalNanoseconds, whole->runs), (double)whole->minNanoseconds * 1e-6);
}

void profile_print(WNNGraph graph, const struct sources *sources)
{
    struct summary summary;
    summarize(&summary, graph, sources);
    if (summary.node_count == 0) {
        puts("No execution was profiled: the backend cannot be watched.");
    } else {
        printf("%s%10s %10s %6s %9s %8s  %-19s %s%s\n", STYLE_BOLD, "mean ms", "min ms", "%", "GFLOP/s",
               "GB/s", "kernel", "operators of the model", STYLE_NONE);
        for (size_t i = 0; i < summary.group_count; i++)
            print_group(&summary, sources, &summary.groups[i]);
        print_whole(&summary);
        printf("%s%10s %10s %6s %9s  %s%s\n", STYLE_BOLD, "mean ms", "min ms", "%", "times", "types",
               STYLE_NONE);
        for (size_t i = 0; i < summary.type_count; i++)
            printf("%10.4f %10.4f %6.2f %9zu  %s\n", milliseconds(summary.types[i].total, summary.whole.runs),
                   (double)summary.types[i].least * 1e-6, percent(&summary, summary.types[i].total),
                   summary.types[i].count, summary.types[i].types);
    }
    free_summary(&summary);
}

// ---------------------------------------------------------------------------------------------------------------
// JSON
// ---------------------------------------------------------------------------------------------------------------

static void add_operators(cJSON *object, const struct sources *sources, const struct node_sources *node)
{
    cJSON *array = must(cJSON_AddArrayToObject(object, "operators"));
    for (size_t i = 0; i < node->count; i++) {
        const struct source *source = &sources->items[node->items[i]];
        cJSON *item = must(cJSON_CreateObject());
        json_add_text(item, "type", source->operation);
        json_add_text(item, "label", source->label);
        cJSON_AddNumberToObject(item, "index", node->items[i]);
        cJSON_AddItemToArray(array, item);
    }
}

static cJSON *node_json(const struct sources *sources, const struct entry *entry)
{
    const WNNNodeProfile *node = entry->profile;
    cJSON *object = must(cJSON_CreateObject());
    json_add_text(object, "label", wnn_string(node->label));
    json_add_text(object, "operator", wnn_string(node->operation));
    json_add_text(object, "kernel", wnn_string(node->kernel));
    cJSON_AddNumberToObject(object, "runs", (double)node->runs);
    cJSON_AddNumberToObject(object, "mean_ms", milliseconds(node->totalNanoseconds, node->runs));
    cJSON_AddNumberToObject(object, "min_ms", (double)node->minNanoseconds * 1e-6);
    cJSON_AddNumberToObject(object, "bytes", (double)node->bytes);
    cJSON_AddNumberToObject(object, "operations", (double)node->operations);
    add_operators(object, sources, entry->sources);
    cJSON_AddBoolToObject(object, "added_by_compiler", entry->sources->added);
    return object;
}

static cJSON *group_json(const struct summary *summary, const struct group *group)
{
    cJSON *object = must(cJSON_CreateObject());
    cJSON_AddNumberToObject(object, "mean_ms", milliseconds(group->total, summary->whole.runs));
    cJSON_AddNumberToObject(object, "min_ms", (double)group->least * 1e-6);
    cJSON_AddNumberToObject(object, "percent", percent(summary, group->total));
    return object;
}

void profile_add_json(cJSON *object, WNNGraph graph, const struct sources *sources)
{
    struct summary summary;
    summarize(&summary, graph, sources);
    cJSON *nodes = must(cJSON_AddArrayToObject(object, "profile"));
    for (size_t i = 0; i < summary.node_count; i++)
        cJSON_AddItemToArray(nodes,
                             node_json(sources, &(struct entry){&summary.nodes[i], sources_of(sources, i)}));
    cJSON *operators = must(cJSON_AddArrayToObject(object, "profile_operators"));
    for (size_t i = 0; i < summary.group_count; i++) {
        const struct group *group = &summary.groups[i];
        cJSON *item = group_json(&summary, group);
        add_operators(item, sources, group->entries->sources);
        cJSON *kernels = must(cJSON_AddArrayToObject(item, "kernels"));
        for (size_t k = 0; k < group->count; k++)
            cJSON_AddItemToArray(kernels, must(cJSON_CreateString(group->entries[k].profile->kernel.data)));
        cJSON_AddItemToArray(operators, item);
    }
    cJSON *types = must(cJSON_AddArrayToObject(object, "profile_types"));
    for (size_t i = 0; i < summary.type_count; i++) {
        cJSON *item = group_json(&summary, &summary.types[i]);
        const struct node_sources *of = summary.types[i].entries->sources;
        cJSON_AddNumberToObject(item, "times", (double)summary.types[i].count);
        cJSON *list = must(cJSON_AddArrayToObject(item, "types"));
        for (size_t k = 0; k < of->count; k++)
            cJSON_AddItemToArray(list, json_text(sources->items[of->items[k]].operation));
        cJSON_AddItemToArray(types, item);
    }
    free_summary(&summary);
}

// ---------------------------------------------------------------------------------------------------------------
// Traces
// ---------------------------------------------------------------------------------------------------------------

bool trace_open(struct trace *trace, const char *path, struct error *error)
{
    *trace = (struct trace){.file = create_or_standard(path, error), .path = path};
    if (trace->file)
        fputs("[", trace->file);
    return trace->file != NULL;
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
    FILE *file = trace->file;
    trace->file = NULL;
    return close_or_standard(file, trace->path, error);
}
