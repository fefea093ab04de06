// SPDX-License-Identifier: Apache-2.0
//
// Constant filters in the order in which convolutions of images with their channels last read them: the
// channels of a tap side by side, where models that were made for channels first have the taps of a channel.

#include "vulkan/ops/operators.h"
#include "vulkan/program/arrangement.h"

#include <string.h>

static enum arrangement arrangement_of(const struct node *node)
{
    if (node->op == WNN_OP_convTranspose2d) {
        const WNNConvTranspose2dOptions *options = node->attrs;
        return options->inputLayout == WNNInputOperandLayout_NHWC &&
                       options->filterLayout == WNNConvTranspose2dFilterOperandLayout_IOHW
                   ? ARRANGED_IHWO
                   : ARRANGED_AS_IT_IS;
    }
    if (node->op != WNN_OP_conv2d)
        return ARRANGED_AS_IT_IS;
    const WNNConv2dOptions *options = node->attrs;
    if (options->inputLayout != WNNInputOperandLayout_NHWC ||
        options->filterLayout != WNNConv2dFilterOperandLayout_OIHW)
        return ARRANGED_AS_IT_IS;
    const uint32_t *dim = node->in[1]->type.shape.dim;
    bool small = options->groups > 1 && (dim[1] < GPU_MIN_GROUP || dim[0] / options->groups < GPU_MIN_GROUP);
    return small ? ARRANGED_IHWO : ARRANGED_OHWI;
}

// The node's options, with another layout of its filter. False: there is no memory.
static bool set_layout(struct graph *graph, struct node *node, enum arrangement arrangement)
{
    bool transposed = node->op == WNN_OP_convTranspose2d;
    size_t bytes = transposed ? sizeof(WNNConvTranspose2dOptions) : sizeof(WNNConv2dOptions);
    void *options = wnn_arena_allocate(&graph->arena, bytes);
    if (!options)
        return false;
    memcpy(options, node->attrs, bytes);
    if (transposed)
        ((WNNConvTranspose2dOptions *)options)->filterLayout = WNNConvTranspose2dFilterOperandLayout_OHWI;
    else
        ((WNNConv2dOptions *)options)->filterLayout = arrangement == ARRANGED_IHWO
                                                          ? WNNConv2dFilterOperandLayout_IHWO
                                                          : WNNConv2dFilterOperandLayout_OHWI;
    node->attrs = options;
    return true;
}

static void turn_filter(struct operand *filter, enum arrangement arrangement)
{
    const struct shape shape = filter->type.shape;
    for (unsigned d = 0; d < 4; d++)
        filter->type.shape.dim[d] = shape.dim[wnn_filter_orders[arrangement][d]];
    filter->arrangement = (unsigned char)arrangement;
}

static unsigned char wish(const void *state, const struct node *node, unsigned input)
{
    (void)state;
    const struct operand *filter = node->in[input];
    bool turns = input == 1 && !filter->arrangement && wnn_dtype_bits(filter->type.type) >= 8;
    return turns ? (unsigned char)arrangement_of(node) : ARRANGED_AS_IT_IS;
}

bool wnn_turn_filters(struct graph *graph)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->constant)
            wnn_take_transpose(graph->operands[i]);
    // One that others want otherwise would have to be there twice.
    const unsigned char *agreed = wnn_agree(graph, wish, NULL);
    if (!agreed)
        return false;
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        struct operand *filter = node->in_count > 1 ? node->in[1] : NULL;
        enum arrangement arrangement = filter ? (enum arrangement)agreed[filter->index] : ARRANGED_AS_IT_IS;
        if (arrangement == ARRANGED_AS_IT_IS)
            continue;
        if (!set_layout(graph, node, arrangement))
            return false;
        if (!filter->arrangement)
            turn_filter(filter, arrangement);
    }
    return true;
}
