// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: a conv2d with a constant filter reads no result of a pad that only
// puts zeros around its image. A pad that something else uses too stays for that. In strict mode the filter
// is finite too: a zero that is there, times an infinity, is NaN, and one that a convolution imagines need
// not be.

#include "compiler/rewrite.h"

#include <math.h>

// -0 would make a difference to results that are 0.
static bool is_zero(WNNNumber number)
{
    return number.type == WNNNumberType_Undefined ||
           (wnn_number_double(number) == 0 && !signbit(wnn_number_double(number)));
}

// What the pad adds to [top, bottom, left, right] of an image; false if it does anything else.
static bool image_padding(const struct node *pad, WNNInputOperandLayout layout, uint32_t added[4])
{
    const struct pad_attrs *attrs = pad->attrs;
    if (attrs->options.mode != WNNPaddingMode_Constant || !is_zero(attrs->options.value))
        return false;
    const uint32_t *before = attrs->beginningPadding.data, *after = attrs->endingPadding.data;
    unsigned channel = layout == WNNInputOperandLayout_NCHW ? 1 : 3, height = channel == 1 ? 2 : 1;
    if (before[0] | after[0] | before[channel] | after[channel])
        return false;
    for (unsigned i = 0; i < 2; i++) {
        added[2 * i] = before[height + i];
        added[2 * i + 1] = after[height + i];
    }
    return true;
}

static bool is_finite(const struct operand *filter)
{
    if (!filter->constant->data)
        return false;
    size_t count = wnn_shape_elements(&filter->type.shape);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(wnn_rewrite_value(filter, i)))
            return false;
    return true;
}

bool wnn_fuse_padding(struct pass_context *context, struct graph *graph)
{
    bool changed = false;
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *conv = graph->nodes[i], *pad = conv->op == WNN_OP_conv2d ? conv->in[0]->producer : NULL;
        uint32_t added[4];
        if (!pad || pad->op != WNN_OP_pad || !conv->in[1]->constant)
            continue;
        WNNConv2dOptions *options = conv->attrs;
        if (!image_padding(pad, options->inputLayout, added) || (context->strict && !is_finite(conv->in[1])))
            continue;
        bool fits = true;
        for (unsigned j = 0; j < 4; j++)
            fits = fits && !__builtin_add_overflow(added[j], options->padding.data[j], &added[j]) &&
                   added[j] <= WNN_MAX_DIMENSION / 4;
        if (!fits)
            continue;
        if (!wnn_rewrite_list(graph, &options->padding, added, 4))
            return wnn_fail_memory(context->error);
        conv->in[0] = pad->in[0];
        changed = true;
    }
    return !changed || wnn_prune(context, graph);
}
