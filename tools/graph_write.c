// SPDX-License-Identifier: Apache-2.0
//
// Writing graph files: the builder's graph with the names of the model.

#include "compiler/compile.h"
#include "tools/graph_file.h"
#include "tools/memory.h"
#include "tools/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_CALL (4u << 20)
#define MAX_INLINE   (64u << 10)

struct writer {
    const struct model *model;
    const struct graph *graph;
    FILE *file;
    bool weights;       // they are written, too
    const char **names; // of operands, by index
    char *made_up;      // memory for names that nobody gave
    struct safetensors_item *items;
    size_t item_count;
    struct error *error;
};

static uint32_t index_of(WNNOperand operand)
{
    return wnn_operand(operand)->index;
}

// Outputs have the first word, then what the author wrote, then a number.
static void collect_names(struct writer *writer)
{
    const struct model *model = writer->model;
    size_t count = writer->graph->operand_count;
    writer->names = must_allocate(count * sizeof *writer->names);
    writer->made_up = must_allocate(count * 16);
    for (size_t i = 0; i < model->output_count; i++)
        if (!writer->names[index_of(model->outputs[i].operand)])
            writer->names[index_of(model->outputs[i].operand)] = model->outputs[i].name.data;
    for (size_t i = 0; i < count; i++)
        if (writer->graph->operands[i]->input)
            writer->names[i] = writer->graph->operands[i]->name.data;
    for (size_t i = 0; i < model->name_count; i++)
        if (!writer->names[index_of(model->names[i].operand)])
            writer->names[index_of(model->names[i].operand)] = model->names[i].name.data;
    for (size_t i = 0; i < count; i++) {
        char *name = writer->made_up + 16 * i;
        if (writer->names[i])
            continue;
        for (int underscores = 0; underscores < 4; underscores++) {
            snprintf(name, 16, "%.*s%c%u", underscores, "____",
                     writer->graph->operands[i]->constant ? 'c' : 't', (unsigned)i);
            if (!model_find(model, (struct string){name, strlen(name)}))
                break;
        }
        writer->names[i] = name;
    }
}

static bool needs_quotes(const char *name)
{
    return !graph_text_is_word((struct string){name, strlen(name)}) || strcmp(name, "null") == 0;
}

static void put_quoted(const struct writer *writer, const char *string)
{
    char *quoted = graph_text_quote((struct string){string, strlen(string)});
    fputs(quoted, writer->file);
    free(quoted);
}

static void put_name(const struct writer *writer, const char *name)
{
    if (needs_quotes(name))
        put_quoted(writer, name);
    else
        fputs(name, writer->file);
}

static void add_operand_name(void *argument, const struct operand *operand, struct text *text)
{
    const struct writer *writer = argument;
    const char *name = writer->names[operand->index];
    if (!needs_quotes(name)) {
        wnn_text_add(text, "%s", name);
        return;
    }
    char *quoted = graph_text_quote((struct string){name, strlen(name)});
    wnn_text_add(text, "%s", quoted);
    free(quoted);
}

static void put_type(const struct writer *writer, const struct descriptor *type)
{
    fprintf(writer->file, ": %s%s", graph_text_dtype_name(type->type), SHAPE_TEXT(&type->shape));
}

static bool put_bytes(const struct writer *writer, const char *name, const struct constant *constant)
{
    if (constant->bytes > MAX_INLINE)
        return wnn_fail(
            writer->error, WNNStatus_TypeError,
            "the constant %.200s has %zu bytes and no weights file; say with --weights-out where they go",
            name, constant->bytes);
    fputs(" @bytes([", writer->file);
    for (size_t i = 0; i < constant->bytes; i++)
        fprintf(writer->file, "%s%u", i ? ", " : "", ((const unsigned char *)constant->data)[i]);
    fputs("])", writer->file);
    return true;
}

static bool put_scalar(const struct writer *writer, const struct operand *operand)
{
    if (operand->type.shape.rank != 0 || wnn_dtype_bits(operand->type.type) == 4)
        return false;
    // Weights that are external have any alignment.
    uint64_t aligned = 0;
    memcpy(&aligned, operand->constant->data, operand->constant->bytes);
    WNNNumber value = wnn_number_load(operand->type.type, &aligned, 0);
    if (value.type == WNNNumberType_Float64 && !isfinite(value.value.f64))
        return false;
    if (value.type == WNNNumberType_Float64)
        fprintf(writer->file, " @scalar(%.9g)", value.value.f64);
    else if (value.type == WNNNumberType_Uint64)
        fprintf(writer->file, " @scalar(%llu)", (unsigned long long)value.value.u64);
    else
        fprintf(writer->file, " @scalar(%lld)", (long long)value.value.i64);
    return true;
}

static bool write_constants(struct writer *writer)
{
    bool any = false;
    writer->items = must_allocate(writer->graph->operand_count * sizeof *writer->items);
    for (size_t i = 0; i < writer->graph->operand_count; i++) {
        const struct operand *operand = writer->graph->operands[i];
        if (!operand->constant)
            continue;
        fputs(any ? "    " : "\n  consts {\n    ", writer->file);
        any = true;
        put_name(writer, writer->names[i]);
        put_type(writer, &operand->type);
        const char *key = graph_file_key(operand->constant);
        if (put_scalar(writer, operand)) {
            // It stands in the text.
        } else if (writer->weights || key) {
            fputs(" @weights(", writer->file);
            put_quoted(writer, writer->weights ? writer->names[i] : key);
            fputs(")", writer->file);
            writer->items[writer->item_count++] =
                (struct safetensors_item){writer->names[i], operand->type, operand->constant->data};
        } else if (!put_bytes(writer, writer->names[i], operand->constant)) {
            return false;
        }
        fputs(";\n", writer->file);
    }
    if (any)
        fputs("  }\n", writer->file);
    return true;
}

static bool write_nodes(struct writer *writer)
{
    char *memory = must_allocate(LONGEST_CALL);
    bool good = true;
    fputs("\n  nodes {\n", writer->file);
    for (size_t i = 0; good && i < writer->graph->node_count; i++) {
        const struct node *node = writer->graph->nodes[i];
        fputs(node->out_count > 1 ? "    [" : "    ", writer->file);
        for (unsigned k = 0; k < node->out_count; k++) {
            if (k)
                fputs(", ", writer->file);
            put_name(writer, writer->names[node->out[k]->index]);
        }
        struct text text = {memory, LONGEST_CALL, 0};
        memory[0] = '\0';
        wnn_dump_call(node, add_operand_name, writer, &text);
        fprintf(writer->file, "%s = %s;\n", node->out_count > 1 ? "]" : "", memory);
        if (text.length + 1 >= LONGEST_CALL)
            good = wnn_fail(writer->error, WNNStatus_UnknownError, "a call is longer than %u bytes",
                            LONGEST_CALL);
    }
    // An operand that is more than one output has a name for each.
    for (size_t i = 0; i < writer->model->output_count; i++) {
        const WNNNamedOperand *output = &writer->model->outputs[i];
        const char *name = writer->names[index_of(output->operand)];
        if (strcmp(name, output->name.data) == 0)
            continue;
        fputs("    ", writer->file);
        put_name(writer, output->name.data);
        fputs(" = ", writer->file);
        put_name(writer, name);
        fputs(";\n", writer->file);
    }
    fputs("  }\n", writer->file);
    free(memory);
    return good;
}

bool graph_file_write(const struct model *model, FILE *file, const char *weights, struct error *error)
{
    struct writer writer = {.model = model,
                            .graph = model_graph(model),
                            .file = file,
                            .weights = weights != NULL,
                            .error = error};
    collect_names(&writer);

    fputs("webnn_graph ", file);
    put_quoted(&writer, model->name.data ? model->name.data : "graph");
    fputs(" v1 {\n  inputs {\n", file);
    for (size_t i = 0; i < writer.graph->operand_count; i++) {
        if (!writer.graph->operands[i]->input)
            continue;
        fputs("    ", file);
        put_name(&writer, writer.names[i]);
        put_type(&writer, &writer.graph->operands[i]->type);
        fputs(";\n", file);
    }
    fputs("  }\n", file);
    bool good = write_constants(&writer) && write_nodes(&writer);
    fputs("\n  outputs {", file);
    for (size_t i = 0; i < model->output_count; i++) {
        fputs(" ", file);
        put_name(&writer, model->outputs[i].name.data);
        fputs(";", file);
    }
    fputs(" }\n}\n", file);
    good = good && (!weights || safetensors_write(weights, writer.items, writer.item_count, error));
    free(writer.names);
    free(writer.made_up);
    free(writer.items);
    return good;
}
