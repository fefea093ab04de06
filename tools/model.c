// SPDX-License-Identifier: Apache-2.0
#include "tools/model.h"

#include "tools/memory.h"
#include "tools/model/webnn/recorder.h"

#include <webnn/reflection.h>

#include <stdlib.h>
#include <string.h>

bool model_begin(struct model *model, WNNContext context, struct error *error)
{
    memset(model, 0, sizeof *model);
    wnn_allocator_init(&model->allocator, NULL, 0);
    wnn_arena_init(&model->arena, &model->allocator);
    model->context = context;
    model->type = WNNDataType_Float32;
    WNNStatus status = wnnContextCreateGraphBuilder(context, &model->builder);
    return status == WNNStatus_Success || wnn_fail(error, status, "the graph builder could not be made");
}

void model_end(struct model *model)
{
    wnnGraphBuilderRelease(model->builder);
    wnn_arena_free(&model->arena);
    free(model->names);
    free(model->buckets);
    free(model->outputs);
    memset(model, 0, sizeof *model);
}

static size_t hash(struct string name)
{
    uint64_t value = 14695981039346656037u;
    for (size_t i = 0; i < name.length; i++)
        value = (value ^ (unsigned char)name.data[i]) * 1099511628211u;
    return (size_t)(value ^ value >> 32);
}

// Where a name is in the table, or would be.
static size_t bucket_of(const struct model *model, struct string name)
{
    size_t at = hash(name) & (model->bucket_count - 1);
    while (model->buckets[at] && !wnn_string_equal(model->names[model->buckets[at] - 1].name, name))
        at = (at + 1) & (model->bucket_count - 1);
    return at;
}

static void grow_buckets(struct model *model)
{
    if (model->name_count * 2 < model->bucket_count)
        return;
    free(model->buckets);
    model->bucket_count = model->bucket_count ? model->bucket_count * 2 : 64;
    model->buckets = must_allocate(model->bucket_count * sizeof *model->buckets);
    for (size_t i = 0; i < model->name_count; i++)
        model->buckets[bucket_of(model, model->names[i].name)] = (uint32_t)i + 1;
}

static struct string copy_text(struct model *model, WNNStringView text)
{
    struct string copy = wnn_string_copy(&model->arena, wnn_string(text));
    must((void *)(uintptr_t)copy.data);
    return copy;
}

bool model_add_name(struct model *model, struct string name, WNNOperand operand)
{
    WNNModelNamedValue value = {wnn_string_view(name), operand, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT};
    return model_add_value(model, &value);
}

bool model_add_value(struct model *model, const WNNModelNamedValue *value)
{
    grow_buckets(model);
    size_t at = bucket_of(model, wnn_string(value->name));
    if (model->buckets[at])
        return false;
    model->names = must_grow(model->names, model->name_count, &model->name_capacity, sizeof *model->names);
    model->names[model->name_count++] =
        (struct model_name){value->operand, copy_text(model, value->name), copy_text(model, value->weight),
                            copy_text(model, value->operatorName)};
    model->buckets[at] = (uint32_t)model->name_count;
    return true;
}

void model_add_output(struct model *model, struct string name, WNNOperand operand)
{
    struct string copy = wnn_string_copy(&model->arena, name);
    must((void *)(uintptr_t)copy.data);
    model->outputs =
        must_grow(model->outputs, model->output_count, &model->output_capacity, sizeof *model->outputs);
    model->outputs[model->output_count++] = (WNNNamedOperand){wnn_string_view(copy), operand};
}

size_t model_add_values(struct model *model, size_t count, const struct operand *const *operands)
{
    enum {
        NUMBER = 32 // bytes
    };
    size_t longest = 0, first = model->output_count;
    for (size_t i = 0; i < first; i++)
        longest = longest > model->outputs[i].name.length ? longest : model->outputs[i].name.length;
    char *name = must_allocate(longest + NUMBER);
    memset(name, '#', longest);
    for (size_t i = 0; i < count; i++) {
        snprintf(name + longest, NUMBER, "#%zu", i);
        model_add_output(model, (struct string){name, strlen(name)}, (WNNOperand)(uintptr_t)operands[i]);
    }
    free(name);
    return first;
}

WNNOperand model_find(const struct model *model, struct string name)
{
    if (!model->bucket_count)
        return NULL;
    uint32_t index = model->buckets[bucket_of(model, name)];
    return index ? model->names[index - 1].operand : NULL;
}

bool model_builder_error(struct model *model, struct error *error)
{
    WNNError builder;
    wnnGraphBuilderGetError(model->builder, &builder);
    struct string message = wnn_string(builder.message);
    return wnn_fail(error, builder.status ? builder.status : WNNStatus_UnknownError, "%.*s",
                    (int)message.length, message.data);
}

uint64_t model_work(const struct model *model)
{
    const struct graph *graph = model_graph(model);
    uint64_t work = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        struct descriptor *types = must_allocate(node->out_count * sizeof *types);
        for (unsigned k = 0; k < node->out_count; k++)
            types[k] = node->out[k]->type;
        work += wnn_op_work((enum op)node->op, node->in, types, node->out_count, node->attrs);
        free(types);
    }
    return work;
}

bool model_write(const struct model *model, FILE *file, const char *weights, struct error *error)
{
    WNNNamedOperand *names = must_allocate((model->name_count + 1) * sizeof *names);
    const char **keys = must_allocate((wnnGraphBuilderGetOperandCount(model->builder) + 1) * sizeof *keys);
    for (size_t i = 0; i < model->name_count; i++) {
        const struct model_name *from = &model->names[i];
        names[i] = (WNNNamedOperand){wnn_string_view(from->name), from->operand};
        if (from->key.length)
            keys[wnnOperandGetIndex(from->operand)] = from->key.data;
    }
    WNNModelSaveDescriptor descriptor = WNN_MODEL_SAVE_DESCRIPTOR_INIT;
    descriptor.name = wnn_string_view(model->name);
    descriptor.outputCount = model->output_count;
    descriptor.outputs = model->outputs;
    descriptor.nameCount = model->name_count;
    descriptor.names = names;
    bool good = webnn_write(model->builder, &descriptor, file, weights, keys, error);
    free(names);
    free(keys);
    return good;
}
