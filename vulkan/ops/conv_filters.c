// SPDX-License-Identifier: Apache-2.0
//
// Constant filters in the order in which convolutions of images with their channels last read them: the
// channels of a tap side by side, where models that were made for channels first have the taps of a channel.

#include "compiler/resolve.h"
#include "vulkan/ops/operators.h"
#include "vulkan/program/shared_constants.h"

#include <string.h>

enum turn {
    TURN_NONE,
    TURN_OHWI,
    TURN_IHWO, // of filters for groups of few channels
    TURN_COUNT
};

// Dimensions of "oihw" or "iohw" in their new order.
static const unsigned conv2d_order[TURN_COUNT][4] = {{0}, {0, 2, 3, 1}, {1, 2, 3, 0}},
                      transposed_order[TURN_COUNT][4] = {{0}, {1, 2, 3, 0}};

static enum turn turn_of(const struct node *node)
{
    if (node->op == WNN_OP_convTranspose2d) {
        const WNNConvTranspose2dOptions *options = node->attrs;
        return options->inputLayout == WNNInputOperandLayout_NHWC &&
                       options->filterLayout == WNNConvTranspose2dFilterOperandLayout_IOHW
                   ? TURN_OHWI
                   : TURN_NONE;
    }
    if (node->op != WNN_OP_conv2d)
        return TURN_NONE;
    const WNNConv2dOptions *options = node->attrs;
    if (options->inputLayout != WNNInputOperandLayout_NHWC ||
        options->filterLayout != WNNConv2dFilterOperandLayout_OIHW)
        return TURN_NONE;
    const uint32_t *dim = node->in[1]->type.shape.dim;
    bool small = options->groups > 1 && (dim[1] < GPU_MIN_GROUP || dim[0] / options->groups < GPU_MIN_GROUP);
    return small ? TURN_IHWO : TURN_OHWI;
}

static struct constant *turned(const struct constant *from, const struct descriptor *type,
                               const unsigned *order, struct allocator *allocator)
{
    size_t strides[WNN_MAX_RANK], steps[4], sizes[4], bytes = wnn_dtype_bits(type->type) / 8;
    struct constant *to = wnn_constant_create(allocator, from->bytes);
    if (!to)
        return NULL;
    wnn_shape_strides(&type->shape, strides);
    for (unsigned d = 0; d < 4; d++) {
        steps[d] = strides[order[d]] * bytes;
        sizes[d] = type->shape.dim[order[d]];
    }
    char *at = (char *)(uintptr_t)to->data;
    for (size_t i = 0; i < sizes[0]; i++)
        for (size_t j = 0; j < sizes[1]; j++)
            for (size_t k = 0; k < sizes[2]; k++) {
                const char *line = (const char *)from->data + i * steps[0] + j * steps[1] + k * steps[2];
                for (size_t l = 0; l < sizes[3]; l++, at += bytes)
                    memcpy(at, line + l * steps[3], bytes);
            }
    return to;
}

// Where the turned bytes can be had from, if the others can; NULL: nowhere, or there is no memory.
static struct origin *origin_of_turned(struct allocator *allocator, struct operand *filter,
                                       const unsigned *order)
{
    struct operand *in[] = {filter}, out = {.type = filter->type}, *outs[] = {&out};
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    const struct node node = {
        .op = WNN_OP_transpose, .attrs = &options, .in = in, .out = outs, .in_count = 1, .out_count = 1};
    struct error error = {0};
    options.permutation = (WNNUint32List){order, 4};
    for (unsigned d = 0; d < 4; d++)
        out.type.shape.dim[d] = filter->type.shape.dim[order[d]];
    return wnn_is_worth_origin(&node) && wnn_can_have_origin(&node)
               ? wnn_origin_of(allocator, &node, 0, false, UINT64_MAX, &error)
               : NULL;
}

// False: nothing has changed, and that is fine.
static bool turn_filter(struct graph *graph, struct operand *filter, const unsigned *order,
                        enum shared_form form, struct allocator *allocator, struct shared_constants *shared)
{
    struct shape shape = filter->type.shape;
    struct constant *constant = graph->recorded ? wnn_shared_find(shared, filter->constant, form) : NULL;
    if (!constant) {
        constant = turned(filter->constant, &filter->type, order, allocator);
        if (constant)
            constant->origin = origin_of_turned(allocator, filter, order);
        if (constant)
            wnn_shared_note(shared, graph, filter->constant, form, constant);
    }
    if (!constant)
        return false;
    for (unsigned d = 0; d < 4; d++)
        filter->type.shape.dim[d] = shape.dim[order[d]];
    wnn_constant_unref(filter->constant);
    filter->constant = constant;
    return true;
}

// The node's options, with another layout of its filter.
static bool set_layout(struct graph *graph, struct node *node, enum turn turn)
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
        ((WNNConv2dOptions *)options)->filterLayout =
            turn == TURN_IHWO ? WNNConv2dFilterOperandLayout_IHWO : WNNConv2dFilterOperandLayout_OHWI;
    node->attrs = options;
    return true;
}

void wnn_turn_filters(struct graph *graph, struct allocator *allocator, struct shared_constants *shared)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        enum turn turn = turn_of(node);
        struct operand *filter = turn ? node->in[1] : NULL;
        // One that others use too would have to be there twice.
        if (!filter || !filter->constant || !filter->constant->data || filter->uses != 1 ||
            wnn_dtype_bits(filter->type.type) < 8)
            continue;
        const unsigned *order =
            node->op == WNN_OP_convTranspose2d ? transposed_order[turn] : conv2d_order[turn];
        void *attrs = node->attrs;
        enum shared_form form = node->op == WNN_OP_convTranspose2d ? SHARED_TRANSPOSED_OHWI
                                : turn == TURN_IHWO                ? SHARED_IHWO
                                                                   : SHARED_OHWI;
        if (set_layout(graph, node, turn) && !turn_filter(graph, filter, order, form, allocator, shared))
            node->attrs = attrs;
    }
}
