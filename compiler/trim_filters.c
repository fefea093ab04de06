// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, constants to be folded. Guarantees: the first and last taps of a constant filter
// of conv2d meet the image somewhere, as far as what is left pads by no less than nothing. Those that only
// meet padding, as where the dilation is larger than the image, are cut off.

#include "compiler/rewrite.h"
#include "ops/geometry.h"

#include <string.h>

// One direction of a convolution.
struct direction {
    int64_t taps, padding[2], stride, dilation, in, out;
    int64_t first; // tap that is left
};

static bool meets_padding_only(const struct direction *d, int64_t tap)
{
    int64_t low = tap * d->dilation - d->padding[0], high = low + (d->out - 1) * d->stride;
    return high < 0 || low >= d->in;
}

static void trim(struct direction *d)
{
    while (d->taps > 1 && d->padding[0] >= d->dilation && meets_padding_only(d, 0)) {
        d->padding[0] -= d->dilation;
        d->first++;
        d->taps--;
    }
    while (d->taps > 1 && d->padding[1] >= d->dilation && meets_padding_only(d, d->taps - 1)) {
        d->padding[1] -= d->dilation;
        d->taps--;
    }
}

// Puts a slice of the filter in front of a convolution, for folding to compute.
static bool slice_filter(struct graph *graph, struct node *conv, const struct direction directions[2])
{
    const uint8_t *axes = wnn_filter_axes(WNN_OP_conv2d, conv->attrs);
    struct shape sizes = conv->in[1]->type.shape;
    uint32_t starts[4] = {0}, padding[4];
    for (unsigned i = 0; i < 2; i++) {
        starts[axes[2 + i]] = (uint32_t)directions[i].first;
        sizes.dim[axes[2 + i]] = (uint32_t)directions[i].taps;
        padding[2 * i] = (uint32_t)directions[i].padding[0];
        padding[2 * i + 1] = (uint32_t)directions[i].padding[1];
    }
    struct operand *filter = wnn_rewrite_slice(graph, conv->in[1], starts, &sizes, conv->index);
    if (!filter || !wnn_rewrite_list(graph, &((WNNConv2dOptions *)conv->attrs)->padding, padding, 4))
        return false;
    conv->in[1] = filter;
    return true;
}

bool wnn_trim_filters(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    for (size_t i = 0; i < count; i++) {
        struct node *conv = graph->nodes[i];
        if (conv->op != WNN_OP_conv2d || !conv->in[1]->constant || conv->in[0]->constant)
            continue;
        const struct convolution c = wnn_node_convolution(conv);
        struct direction directions[2] = {
            {.taps = c.filter.height, .in = c.from.height, .out = c.to.height},
            {.taps = c.filter.width, .in = c.from.width, .out = c.to.width},
        };
        for (unsigned d = 0; d < 2; d++) {
            directions[d].padding[0] = c.padding[2 * d];
            directions[d].padding[1] = c.padding[2 * d + 1];
            directions[d].stride = c.strides[d];
            directions[d].dilation = c.dilations[d];
            trim(&directions[d]);
        }
        bool changed =
            directions[0].taps < (int64_t)c.filter.height || directions[1].taps < (int64_t)c.filter.width;
        if (changed && !slice_filter(graph, conv, directions))
            return wnn_fail_memory(context->error);
    }
    return graph->node_count == count || wnn_rewrite_order(context, graph, count);
}
