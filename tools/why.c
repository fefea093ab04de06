// SPDX-License-Identifier: Apache-2.0
#include "tools/why.h"

#include "ops/op.h"
#include "tools/memory.h"
#include "tools/terminal.h"

#include <stdlib.h>
#include <string.h>

struct remark {
    const char *pass, *pattern, *operation;
    bool taken, shown;
    char *reason, *label; // own
    struct shape shape;
    const struct operand *result;
};

static char *copy(struct string text)
{
    char *copied = must_allocate(text.length + 1);
    if (text.length > 0)
        memcpy(copied, text.data, text.length);
    copied[text.length] = '\0';
    return copied;
}

// On the thread that builds, while the program waits for that.
static void add(void *argument, const struct explanation *explanation)
{
    struct why *why = argument;
    const struct operand *result = explanation->result;
    const struct node *node = result->producer;
    why->remarks = must(realloc(why->remarks, (why->count + 1) * sizeof *why->remarks));
    why->remarks[why->count++] =
        (struct remark){.pass = explanation->pass,
                        .pattern = explanation->pattern,
                        .operation = node ? wnn_ops[node->op].name : "operand",
                        .taken = explanation->taken,
                        .reason = copy(wnn_string((WNNStringView){explanation->reason, WNN_STRLEN})),
                        .label = copy(node ? node->label : (struct string){0}),
                        .shape = result->type.shape,
                        .result = result};
}

struct explainer why_explainer(struct why *why)
{
    *why = (struct why){NULL, 0};
    return (struct explainer){add, why};
}

void why_free(struct why *why)
{
    for (size_t i = 0; i < why->count; i++) {
        free(why->remarks[i].reason);
        free(why->remarks[i].label);
    }
    free(why->remarks);
    *why = (struct why){NULL, 0};
}

static bool is_shown(const struct node *node)
{
    return node->op == WNN_OP_matmul || node->op == WNN_OP_gemm || node->op == WNN_OP_conv2d ||
           node->op == WNN_OP_convTranspose2d || node->op == WNN_OP_attention || node->op == WNN_OP_softmax ||
           node->op == WNN_OP_softmax2d || node->op == WNN_OP_batchNormalization ||
           node->op == WNN_OP_instanceNormalization || node->op == WNN_OP_layerNormalization;
}

static void show_head(FILE *file, const char *operation, const char *label, const struct shape *shape)
{
    fprintf(file, "%s", operation);
    if (label[0])
        fprintf(file, " \"%s\"", SHOWN_STRING(label));
    fputs(" [", file);
    for (unsigned d = 0; d < shape->rank; d++)
        fprintf(file, "%s%u", d ? ", " : "", shape->dim[d]);
    fputs("]\n", file);
}

static void show_remark(FILE *file, struct remark *remark)
{
    remark->shown = true;
    fprintf(file, "    %s: %s%s (%s)\n", remark->pattern,
            remark->taken ? "taken" : "not taken: ", remark->reason, remark->pass);
}

// Whether a remark is about the result of a node, or about what reshapes and transposes make of it.
static bool is_about(const struct operand *operand, const struct node *node)
{
    const struct node *producer = operand->producer;
    while (producer && producer != node && producer->in_count > 0 && producer->in[0] &&
           (producer->op == WNN_OP_reshape || producer->op == WNN_OP_transpose))
        producer = producer->in[0]->producer;
    return producer == node;
}

void why_show(const struct why *why, const struct graph *graph, FILE *file)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        bool any = false;
        if (!is_shown(node))
            continue;
        char *label = copy(node->label);
        show_head(file, wnn_ops[node->op].name, label, &node->out[0]->type.shape);
        free(label);
        for (size_t j = 0; j < why->count; j++)
            if (is_about(why->remarks[j].result, node)) {
                show_remark(file, &why->remarks[j]);
                any = true;
            }
        if (!any)
            fputs("    no pattern is near\n", file);
    }
    // What is part of another node now, or came near to an operator.
    for (size_t j = 0; j < why->count; j++) {
        struct remark *remark = &why->remarks[j];
        if (remark->shown)
            continue;
        show_head(file, remark->operation, remark->label, &remark->shape);
        show_remark(file, remark);
    }
}
