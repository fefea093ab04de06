// SPDX-License-Identifier: Apache-2.0
#include "tools/find_nan.h"

#include "lib/half.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NOT_A_NUMBER,
    INFINITE
};

static const char *const kind_names[] = {"NaN", "infinity"};

static double element_of(const void *data, WNNDataType type, size_t index)
{
    if (type == WNNDataType_Float16) {
        uint16_t bits;
        memcpy(&bits, (const char *)data + index * sizeof bits, sizeof bits);
        return (double)wnn_half_to_float(bits);
    }
    float value;
    memcpy(&value, (const char *)data + index * sizeof value, sizeof value);
    return (double)value;
}

// The first element of either kind; `count` if there is none.
static void scan(const struct operand *operand, const void *data, size_t at[2], size_t *count)
{
    *count = wnn_shape_elements(&operand->type.shape);
    at[NOT_A_NUMBER] = at[INFINITE] = *count;
    if (!data || (operand->type.type != WNNDataType_Float32 && operand->type.type != WNNDataType_Float16))
        return;
    for (size_t i = 0; i < *count; i++) {
        double value = element_of(data, operand->type.type, i);
        if (isfinite(value))
            continue;
        int kind = isnan(value) ? NOT_A_NUMBER : INFINITE;
        if (at[kind] == *count)
            at[kind] = i;
    }
}

static void before(const struct watcher *watcher, const struct node *node, const struct sight *sight)
{
    struct nan_finder *finder = (struct nan_finder *)(uintptr_t)watcher;
    finder->watched = true;
    finder->given[NOT_A_NUMBER] = finder->given[INFINITE] = false;
    for (unsigned i = 0; i < node->in_count; i++) {
        const struct operand *operand = node->in[i];
        if (!operand)
            continue;
        size_t at[2], count;
        scan(operand, sight->locate(sight, operand), at, &count);
        for (int kind = 0; kind < 2; kind++) {
            finder->given[kind] = finder->given[kind] || at[kind] < count;
            finder->entered[kind] = finder->entered[kind] || (at[kind] < count && !operand->producer);
        }
    }
}

static void after(const struct watcher *watcher, const struct node *node, const struct sight *sight)
{
    struct nan_finder *finder = (struct nan_finder *)(uintptr_t)watcher;
    for (unsigned i = 0; i < node->out_count; i++) {
        const void *data = sight->locate(sight, node->out[i]);
        size_t at[2], count;
        scan(node->out[i], data, at, &count);
        for (int kind = 0; kind < 2; kind++)
            if (at[kind] < count && !finder->given[kind] && !finder->first[kind].found)
                finder->first[kind] = (struct sighting){true, node, i, at[kind],
                                                        element_of(data, node->out[i]->type.type, at[kind])};
    }
}

void nan_finder_begin(struct nan_finder *finder, WNNGraph graph)
{
    memset(finder, 0, sizeof *finder);
    finder->watcher = (struct watcher){before, after};
    finder->graph = graph;
    wnn_graph_watch(graph, &finder->watcher);
}

bool nan_finder_end(struct nan_finder *finder, struct error *error)
{
    wnn_graph_watch(finder->graph, NULL);
    if (!finder->watched)
        return wnn_fail(error, WNNStatus_OperationError,
                        "no node was seen: the backend cannot be watched, or nothing is left to compute");
    for (int kind = 0; kind < 2; kind++) {
        const struct sighting *first = &finder->first[kind];
        if (finder->entered[kind])
            printf("An input or a constant holds a %s.\n", kind_names[kind]);
        if (!first->found)
            continue;
        const struct node *node = first->node;
        const struct descriptor *type = &node->out[first->output]->type;
        printf("The first %s that its operands do not explain: %g, made by %s%s%.*s%s (node %u), "
               "element %zu of output %u, %s%s.\n",
               kind_names[kind], kind == NOT_A_NUMBER ? (double)NAN : first->value, wnn_ops[node->op].name,
               node->label.length ? " \"" : "", (int)node->label.length,
               node->label.length ? node->label.data : "", node->label.length ? "\"" : "",
               (unsigned)node->index, first->element, first->output, wnn_dtype_name(type->type),
               SHAPE_TEXT(&type->shape));
    }
    if (!finder->first[NOT_A_NUMBER].found && !finder->first[INFINITE].found)
        puts("No node makes a NaN or an infinity of finite operands.");
    return true;
}
