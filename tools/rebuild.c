// SPDX-License-Identifier: Apache-2.0
#include "tools/rebuild.h"

#include "tools/memory.h"

#include <webnn/reflection.h>

#include <stdlib.h>

static WNNOperandDescriptor public_descriptor(const struct descriptor *type)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type->type;
    descriptor.shape = (WNNUint32List){type->shape.dim, type->shape.rank};
    return descriptor;
}

bool *rebuild_find_live(const struct model *model)
{
    const struct graph *graph = model_graph(model);
    bool *live = must_allocate(graph->operand_count * sizeof *live);
    for (size_t i = 0; i < graph->operand_count; i++)
        live[i] = graph->operands[i]->input;
    for (size_t i = 0; i < model->output_count; i++)
        live[wnn_operand(model->outputs[i].operand)->index] = true;
    for (size_t i = graph->node_count; i-- > 0;) {
        const struct node *node = graph->nodes[i];
        bool wanted = false;
        for (unsigned k = 0; k < node->out_count; k++)
            wanted = wanted || live[node->out[k]->index];
        for (unsigned k = 0; k < node->in_count && wanted; k++)
            if (node->in[k])
                live[node->in[k]->index] = true;
    }
    return live;
}

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

static void release_own(const void *data, size_t size, void *memory, void *unused)
{
    (void)data;
    (void)size;
    (void)unused;
    free(memory);
}

static WNNOperand lend(struct rebuild *rebuild, const struct descriptor *type, const WNNExternalBytes *bytes)
{
    WNNOperandDescriptor descriptor = public_descriptor(type);
    WNNOperand operand = wnnGraphBuilderExternalConstant(rebuild->to->builder, &descriptor, bytes);
    if (!operand)
        model_builder_error(rebuild->to, rebuild->error);
    return operand;
}

WNNOperand rebuild_constant(struct rebuild *rebuild, const struct descriptor *type, void *bytes)
{
    WNNExternalBytes own = {
        .data = bytes, .byteLength = wnn_descriptor_bytes(type), .release = release_own, .userdata1 = bytes};
    return lend(rebuild, type, &own);
}

static WNNOperand share_constant(struct rebuild *rebuild, const struct operand *operand)
{
    WNNExternalBytes shared = {.data = operand->constant->data, .byteLength = operand->constant->bytes};
    return lend(rebuild, &operand->type, &shared);
}

WNNOperand rebuild_operand(struct rebuild *rebuild, const struct operand *operand)
{
    WNNOperand *recorded = &rebuild->recorded[operand->index];
    if (!*recorded && rebuild->operand && !rebuild->operand(rebuild, operand, recorded))
        return NULL;
    if (!*recorded && operand->constant)
        *recorded = share_constant(rebuild, operand);
    return *recorded;
}

static bool record_inputs(struct rebuild *rebuild)
{
    const struct graph *graph = model_graph(rebuild->from);
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (!operand->input)
            continue;
        WNNOperandDescriptor descriptor = public_descriptor(&operand->type);
        rebuild->recorded[i] = wnnGraphBuilderInput(rebuild->to->builder,
                                                    wnn_string_view(wnn_details(operand)->name), &descriptor);
        if (!rebuild->recorded[i])
            return model_builder_error(rebuild->to, rebuild->error);
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

// The same activation, of the other builder.
static bool copy_activation(struct rebuild *rebuild, WNNActivation *activation)
{
    WNNRecordedOperator recorded = WNN_RECORDED_OPERATOR_INIT;
    if (wnnGraphBuilderGetActivation(rebuild->from->builder, *activation, &recorded))
        return wnn_fail_memory(rebuild->error);
    *activation = wnnGraphBuilderCallActivation(rebuild->to->builder, &recorded.call);
    return *activation || model_builder_error(rebuild->to, rebuild->error);
}

static bool copy_activations(struct rebuild *rebuild, struct arena *arena, WNNActivationList *list)
{
    WNNActivation *copies = must(wnn_arena_allocate(arena, (list->count + 1) * sizeof copies[0]));
    for (size_t i = 0; i < list->count; i++) {
        copies[i] = list->data[i];
        if (!copy_activation(rebuild, &copies[i]))
            return false;
    }
    list->data = copies;
    return true;
}

// Puts operands and activations of the other builder in the place of what a call has; false: an error.
static bool translate(struct rebuild *rebuild, struct arena *arena, WNNOperatorCall *call)
{
    WNNOperand *inputs = must(wnn_arena_allocate(arena, (call->inputCount + 1) * sizeof *inputs));
    WNNNamedAttribute *attributes =
        must(wnn_arena_allocate(arena, (call->attributeCount + 1) * sizeof *attributes));
    bool good = true;
    for (size_t i = 0; i < call->inputCount && good; i++)
        good = (inputs[i] = rebuild_operand(rebuild, wnn_operand(call->inputs[i])));
    for (size_t i = 0; i < call->attributeCount && good; i++) {
        WNNAttributeValue *value = &attributes[i].value;
        attributes[i] = call->attributes[i];
        if (value->type == WNNAttributeType_Operand)
            good = (value->value.operand = rebuild_operand(rebuild, wnn_operand(value->value.operand)));
        else if (value->type == WNNAttributeType_Activation)
            good = copy_activation(rebuild, &value->value.activation);
        else if (value->type == WNNAttributeType_ActivationList)
            good = copy_activations(rebuild, arena, &value->value.activationList);
    }
    call->inputs = inputs;
    call->attributes = attributes;
    return good;
}

static bool record_as_it_was(struct rebuild *rebuild, const struct node *node)
{
    struct arena arena;
    wnn_arena_init(&arena, &rebuild->to->allocator);
    WNNRecordedOperator recorded = WNN_RECORDED_OPERATOR_INIT;
    WNNOperand *outputs = must_allocate(node->out_count * sizeof *outputs);
    bool good = !wnnGraphBuilderGetOperator(rebuild->from->builder, node->index, &recorded) ||
                wnn_fail_memory(rebuild->error);
    good = good && translate(rebuild, &arena, &recorded.call);
    if (good && wnnGraphBuilderCall(rebuild->to->builder, &recorded.call, node->out_count, outputs) !=
                    node->out_count)
        good = model_builder_error(rebuild->to, rebuild->error);
    for (unsigned i = 0; i < node->out_count; i++)
        rebuild->recorded[node->out[i]->index] = outputs[i];
    free(outputs);
    wnn_arena_free(&arena);
    return good;
}

WNNOperand rebuild_call(struct rebuild *rebuild, enum op op, size_t count, const WNNOperand *operands,
                        const void *attrs)
{
    WNNOperand output;
    if (wnn_builder_call(rebuild->to->builder, op, count, operands, attrs, 1, &output) == 1)
        return output;
    model_builder_error(rebuild->to, rebuild->error);
    return NULL;
}

static bool record_node(struct rebuild *rebuild, const struct node *node)
{
    bool wanted = false;
    for (unsigned i = 0; i < node->out_count; i++)
        wanted = wanted || rebuild->live[node->out[i]->index];
    bool skip = !wanted;
    if (wanted && rebuild->node && !rebuild->node(rebuild, node, &skip))
        return false;
    return skip || rebuild->recorded[node->out[0]->index] || record_as_it_was(rebuild, node);
}

// ---------------------------------------------------------------------------------------------------------------
// All of it
// ---------------------------------------------------------------------------------------------------------------

static bool record_outputs(struct rebuild *rebuild)
{
    const struct model *from = rebuild->from;
    for (size_t i = 0; i < from->output_count; i++) {
        WNNOperand operand = rebuild_operand(rebuild, wnn_operand(from->outputs[i].operand));
        if (!operand)
            return false;
        model_add_output(rebuild->to, wnn_string(from->outputs[i].name), operand);
    }
    return true;
}

static void copy_names(struct rebuild *rebuild)
{
    const struct model *from = rebuild->from;
    for (size_t i = 0; i < from->name_count; i++) {
        WNNOperand operand = rebuild->recorded[wnn_operand(from->names[i].operand)->index];
        if (operand)
            model_add_name(rebuild->to, from->names[i].name, operand);
    }
    if (from->name.data)
        rebuild->to->name = wnn_string_copy(&rebuild->to->arena, from->name);
}

bool rebuild_run(struct rebuild *rebuild)
{
    const struct graph *graph = model_graph(rebuild->from);
    rebuild->recorded = must_allocate(graph->operand_count * sizeof *rebuild->recorded);
    bool good = record_inputs(rebuild);
    for (size_t i = 0; good && i < graph->node_count; i++)
        good = record_node(rebuild, graph->nodes[i]);
    good = good && record_outputs(rebuild);
    if (good)
        copy_names(rebuild);
    free(rebuild->recorded);
    rebuild->recorded = NULL;
    return good;
}
