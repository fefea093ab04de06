// SPDX-License-Identifier: Apache-2.0
#include "tools/dump.h"

#include "tools/model/webnn/recorder.h"
#include "tools/model/webnn/text.h"
#include "tools/memory.h"
#include "tools/safe_name.h"
#include "tools/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void take(struct dump *dump, struct string name, const struct operand *operand)
{
    if (dump->taken[operand->index])
        return;
    dump->taken[operand->index] = true;
    dump->items = must_grow(dump->items, dump->count, &dump->capacity, sizeof *dump->items);
    dump->items[dump->count++] = (struct dump_item){.name = name, .operand = operand};
}

// By operand: whether a node reads it that the outputs depend on.
static bool *find_read(const struct dump *dump, const struct graph *graph)
{
    bool *read = must_allocate(graph->operand_count);
    for (size_t i = 0; i < dump->values.count; i++) {
        const struct node *node = dump->values.items[i].node;
        for (unsigned k = 0; k < node->in_count; k++)
            if (node->in[k])
                read[node->in[k]->index] = true;
    }
    return read;
}

static void take_all(struct dump *dump, const struct graph *graph, const bool *read)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->input && read[i])
            take(dump, wnn_operand_name(graph->operands[i]), graph->operands[i]);
    for (size_t i = 0; i < dump->values.count; i++)
        take(dump, dump->values.items[i].name, dump->values.items[i].operand);
}

// All that the nodes of a label make.
static void take_label(struct dump *dump, struct string label)
{
    for (size_t i = 0; i < dump->values.count; i++)
        if (wnn_string_equal(dump->values.items[i].node->label, label))
            take(dump, dump->values.items[i].name, dump->values.items[i].operand);
}

// What nearest_name chooses from.
struct known_names {
    const struct node_values *values;
    size_t next;
};

static const char *next_name(void *argument)
{
    struct known_names *names = argument;
    return names->next < names->values->count ? names->values->items[names->next++].name.data : NULL;
}

static bool fail_unknown(const struct dump *dump, const char *wanted, struct error *error)
{
    struct known_names names = {&dump->values, 0};
    const char *nearest = webnn_nearest_name((struct string){wanted, strlen(wanted)}, next_name, &names);
    return wnn_fail(error, WNNStatus_TypeError,
                    "--dump=%s: no operand or node that the outputs depend on is called so%s%s%s", wanted,
                    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static bool take_named(struct dump *dump, const struct model *model, const bool *read, const char *wanted,
                       struct error *error)
{
    struct string name = {wanted, strlen(wanted)};
    const struct node_value *value = node_values_find(&dump->values, name);
    const struct operand *operand = wnn_operand(model_find(model, name));
    if (value && value->is_model_name)
        take(dump, value->name, value->operand);
    else if (!operand && node_values_labelled(&dump->values, name))
        take_label(dump, name);
    else if (value)
        take(dump, value->name, value->operand);
    else if (!operand ||
             (operand->producer ? !node_values_of(&dump->values, operand) : !read[operand->index]))
        return fail_unknown(dump, wanted, error);
    else
        take(dump, name, operand);
    return true;
}

static void add_outputs(struct dump *dump, struct model *model)
{
    const struct operand **operands = must_allocate((dump->count + 1) * sizeof *operands);
    size_t count = 0;
    for (size_t i = 0; i < dump->count; i++)
        if (dump->items[i].operand->producer)
            operands[count++] = dump->items[i].operand;
    dump->output_count = model_add_values(model, count, operands);
    free(operands);
}

static bool make_folder(const char *folder, struct error *error)
{
    struct stat status;
    if (mkdir(folder, 0777) == 0 || (stat(folder, &status) == 0 && S_ISDIR(status.st_mode)))
        return true;
    return wnn_fail(error, WNNStatus_UnknownError, "%s: %s", folder,
                    strerror(errno == EEXIST ? ENOTDIR : errno));
}

static void name_files(struct dump *dump, const char *folder)
{
    struct safe_names names = {.collisions = 0};
    for (size_t i = 0; i < dump->count; i++) {
        char *file = safe_names_add(&names, dump->items[i].name, ".npy");
        size_t size = strlen(folder) + strlen(file) + sizeof "/";
        dump->items[i].path = must_allocate(size);
        snprintf(dump->items[i].path, size, "%s/%s", folder, file);
        free(file);
    }
    safe_names_free(&names);
}

bool dump_begin(struct dump *dump, const struct dump_options *options, struct model *model,
                struct error *error)
{
    const struct graph *graph = model_graph(model);
    *dump = (struct dump){.items = NULL};
    if (options->count == 0)
        return true;
    node_values_collect(&dump->values, model);
    dump->taken = must_allocate(graph->operand_count);
    bool *read = find_read(dump, graph), good = true;
    for (size_t i = 0; good && i < options->count; i++)
        if (strcmp(options->names[i], "all") == 0)
            take_all(dump, graph, read);
        else
            good = take_named(dump, model, read, options->names[i], error);
    free(read);
    if (!good || !make_folder(options->folder, error))
        return false;
    name_files(dump, options->folder);
    add_outputs(dump, model);
    return true;
}

void dump_end(struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        free(dump->items[i].path);
    free(dump->items);
    free(dump->taken);
    node_values_free(&dump->values);
    *dump = (struct dump){.items = NULL};
}

void dump_connect(struct dump *dump, struct subject *subject)
{
    size_t output = dump->output_count;
    for (size_t i = 0; i < dump->count; i++) {
        struct dump_item *item = &dump->items[i];
        if (item->operand->producer)
            item->port = &subject->outputs[output++];
        for (size_t k = 0; item->operand->input && k < subject->input_count; k++)
            if (wnn_string_equal(subject->inputs[k].name, wnn_operand_name(item->operand)))
                item->port = &subject->inputs[k];
        if (item->port)
            item->port->path = item->path;
    }
}

bool dump_write(const struct dump *dump, size_t items, struct error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < dump->count; i++) {
        const struct dump_item *item = &dump->items[i];
        good = item->port
                   ? run_port_write(item->port, items, error)
                   : array_write(item->path, &item->operand->type, item->operand->constant->data, error);
    }
    return good;
}

void dump_show(const struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++) {
        const struct dump_item *item = &dump->items[i];
        printf("  %s: %s%s in ", SHOWN(item->name), graph_text_dtype_name(item->operand->type.type),
               SHAPE_TEXT(&item->operand->type.shape));
        terminal_line(stdout, "", item->path);
    }
}
