// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, complete attributes, nothing fused; what follows convolutions is folded into
// them. Guarantees: a sum of two convolutions of one tensor, or of one and the tensor itself or its
// batchNormalization, is one convolution, if the taps of the smaller filter lie on those of the larger and
// the weights are constants of float32 (those of float16 are never rounded anew). That is how networks are
// made that are trained with several branches (RepVGG, MobileOne) and are left as they were.

#include "compiler/rewrite.h"
#include "ops/geometry.h"

#include <math.h>
#include <string.h>

// A convolution whose weights can be changed.
struct branch {
    struct node *node;
    struct convolution convolution;
};

static bool is_constant_row(const struct operand *operand)
{
    return !operand || (wnn_rewrite_is_floats(operand) && operand->type.type == WNNDataType_Float32);
}

// Whether an input of a sum is made by a convolution for nothing else.
static bool find_branch(const struct node *sum, unsigned side, struct branch *branch)
{
    const struct operand *in = sum->in[side];
    struct node *node = in->producer;
    if (!node || node->op != WNN_OP_conv2d || node->in_count < 3 || in->uses != 1 ||
        !wnn_descriptor_equal(&in->type, &sum->out[0]->type) || !wnn_rewrite_is_floats(node->in[1]) ||
        node->in[1]->type.type != WNNDataType_Float32 || !is_constant_row(node->in[2]))
        return false;
    *branch = (struct branch){node, wnn_node_convolution(node)};
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// What is added to the weights
// ---------------------------------------------------------------------------------------------------------------

// Where the first tap of another filter lies among those of a filter, along one dimension. False: it has taps
// that are none of the filter's.
static bool find_tap(uint32_t before, uint32_t taps, uint32_t dilation, uint32_t other_before,
                     uint32_t other_taps, uint32_t other_dilation, uint32_t *first)
{
    if (before < other_before || (before - other_before) % dilation != 0 ||
        (other_taps > 1 && other_dilation != dilation))
        return false;
    *first = (before - other_before) / dilation;
    return *first < taps && other_taps <= taps - *first;
}

static bool find_taps(const struct convolution *c, const struct convolution *other, uint32_t *y, uint32_t *x)
{
    return find_tap(c->padding[0], c->filter.height, c->dilations[0], other->padding[0], other->filter.height,
                    other->dilations[0], y) &&
           find_tap(c->padding[2], c->filter.width, c->dilations[1], other->padding[2], other->filter.width,
                    other->dilations[1], x);
}

static bool are_alike(const struct branch *a, const struct branch *b)
{
    const struct convolution *c = &a->convolution, *d = &b->convolution;
    return a->node != b->node && a->node->in[0] == b->node->in[0] && c->from.nhwc == d->from.nhwc &&
           c->groups == d->groups && c->strides[0] == d->strides[0] && c->strides[1] == d->strides[1];
}

static float weight_of(const struct operand *weights, size_t at)
{
    float value;
    memcpy(&value, (const char *)weights->constant->data + at * sizeof value, sizeof value);
    return value;
}

// What is added to a convolution: the taps of another one, from (y, x) on, or what gives each channel itself,
// times a factor.
struct addition {
    const struct branch *other; // or NULL
    uint32_t y, x;
    const double *factor;
    // To the bias, or NULL.
    const struct operand *bias;
    const double *offset;
};

// False: it would overflow. `to`: where the sum goes, or NULL: nowhere.
static bool add_weight(const struct operand *weights, size_t at, double more, float *to)
{
    float sum = (float)(weight_of(weights, at) + more);
    if (to)
        to[at] = sum;
    return isfinite(sum);
}

static bool add_filter(const struct branch *branch, const struct addition *addition, float *to)
{
    const struct operand *weights = branch->node->in[1], *others = addition->other->node->in[1];
    const struct filter *f = &branch->convolution.filter, *from = &addition->other->convolution.filter;
    bool good = true;
    for (size_t o = 0; o < from->outputs; o++)
        for (size_t i = 0; i < from->inputs; i++)
            for (size_t y = 0; y < from->height; y++)
                for (size_t x = 0; x < from->width; x++)
                    good &= add_weight(
                        weights, o * f->o + i * f->i + (addition->y + y) * f->y + (addition->x + x) * f->x,
                        (double)weight_of(others, o * from->o + i * from->i + y * from->y + x * from->x), to);
    return good;
}

static bool add_identity(const struct branch *branch, const struct addition *addition, float *to)
{
    const struct filter *f = &branch->convolution.filter;
    bool good = true;
    for (size_t o = 0; o < f->outputs; o++)
        good &= add_weight(branch->node->in[1],
                           o * f->o + o % f->inputs * f->i + addition->y * f->y + addition->x * f->x,
                           addition->factor[o], to);
    return good;
}

static bool add_weights(const struct branch *branch, const struct addition *addition, float *to)
{
    return addition->other ? add_filter(branch, addition, to) : add_identity(branch, addition, to);
}

// False: it would overflow.
static bool add_biases(const struct branch *branch, const struct addition *addition, double *to)
{
    const struct operand *bias = branch->node->in[2];
    bool good = true;
    for (size_t i = 0; i < branch->convolution.filter.outputs; i++) {
        to[i] = (bias ? wnn_rewrite_value(bias, i) : 0) +
                (addition->bias ? wnn_rewrite_value(addition->bias, i) : 0) +
                (addition->offset ? addition->offset[i] : 0);
        good &= isfinite((float)to[i]);
    }
    return good;
}

// Whether a filter has a tap on each element itself.
static bool has_identity(const struct convolution *c, uint32_t *y, uint32_t *x)
{
    const struct convolution none = {.padding = (const uint32_t[4]){0},
                                     .dilations = (const uint32_t[2]){1, 1},
                                     .filter = {.height = 1, .width = 1}};
    return c->strides[0] == 1 && c->strides[1] == 1 && c->from.channels == c->to.channels &&
           c->from.height == c->to.height && c->from.width == c->to.width && find_taps(c, &none, y, x);
}

// What a tensor is multiplied by and added to, channel by channel, to be the operand. False: something else.
static bool read_scaled(const struct branch *branch, const struct operand *operand, double *factor,
                        double *offset)
{
    const struct operand *x = branch->node->in[0];
    size_t count = branch->convolution.from.channels;
    const struct node *node = operand->producer;
    for (size_t i = 0; i < count; i++) {
        factor[i] = 1;
        offset[i] = 0;
    }
    if (operand == x)
        return true;
    unsigned axis = branch->convolution.from.nhwc ? 3 : 1;
    if (!node || node->op != WNN_OP_batchNormalization || node->in[0] != x || operand->uses != 1 ||
        ((const WNNBatchNormalizationOptions *)node->attrs)->axis != axis ||
        !wnn_rewrite_normalization(node, count, factor, offset))
        return false;
    for (size_t i = 0; i < count; i++)
        if (factor[i] == 0) // which would hide infinities
            return false;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Merging
// ---------------------------------------------------------------------------------------------------------------

struct merging {
    struct pass_context *context;
    struct graph *graph;
    bool *owned; // by number of a node: its weights are this pass's
};

// The weights of a branch, to be changed. NULL when memory runs out.
static float *own_weights(struct merging *merging, const struct branch *branch)
{
    struct node *node = branch->node;
    struct operand *weights = node->in[1];
    if (merging->owned[node->index])
        return (float *)(uintptr_t)weights->constant->data;
    size_t bytes = wnn_descriptor_bytes(&weights->type);
    struct constant *copy = wnn_constant_create(merging->context->allocator, bytes);
    if (!copy)
        return NULL;
    memcpy((void *)(uintptr_t)copy->data, weights->constant->data, bytes);
    struct operand *operand = wnn_graph_add_constant(merging->graph, &weights->type, copy);
    if (!operand)
        return NULL;
    node->in[1] = operand;
    merging->owned[node->index] = true;
    return (float *)(uintptr_t)copy->data;
}

static bool may_change(const struct merging *merging, const struct branch *branch)
{
    return merging->owned[branch->node->index] || wnn_rewrite_may_copy(branch->node->in[1]);
}

// *done stays false if it would overflow.
static bool add_to(struct merging *merging, struct node *sum, const struct branch *branch,
                   const struct addition *addition, bool *done)
{
    struct node *node = branch->node;
    struct descriptor row = {WNNDataType_Float32, {1, {branch->convolution.filter.outputs}}};
    double *biases = wnn_allocate(merging->context->allocator, row.shape.dim[0] * sizeof biases[0]);
    bool fits = biases && add_biases(branch, addition, biases) && add_weights(branch, addition, NULL);
    float *weights = fits ? own_weights(merging, branch) : NULL;
    struct operand *bias =
        weights ? wnn_rewrite_constant(merging->context, merging->graph, &row, biases) : NULL;
    bool good = biases && (!fits || bias);
    wnn_release(merging->context->allocator, biases);
    if (!good)
        return wnn_fail_memory(merging->context->error);
    if (!fits)
        return true;
    add_weights(branch, addition, weights);
    node->in[2] = bias;
    wnn_explain(merging->context->explainer, "merge_branches", "one convolution", sum->out[0], NULL);
    wnn_rewrite_take_over(node, sum);
    *done = true;
    return true;
}

static bool merge_filters(struct merging *merging, struct node *sum, const struct branch *branch,
                          const struct branch *other, bool *done)
{
    struct addition addition = {.other = other, .bias = other->node->in[2]};
    return !may_change(merging, branch) || !are_alike(branch, other) ||
           !find_taps(&branch->convolution, &other->convolution, &addition.y, &addition.x) ||
           add_to(merging, sum, branch, &addition, done);
}

static bool merge_identity(struct merging *merging, struct node *sum, const struct branch *branch,
                           const struct operand *operand, bool *done)
{
    struct allocator *allocator = merging->context->allocator;
    size_t count = branch->convolution.from.channels;
    struct addition addition = {.other = NULL};
    if (!may_change(merging, branch) || !has_identity(&branch->convolution, &addition.y, &addition.x))
        return true;
    double *factor = wnn_allocate(allocator, count * sizeof factor[0]),
           *offset = wnn_allocate(allocator, count * sizeof offset[0]);
    addition.factor = factor;
    addition.offset = offset;
    bool good = factor && offset ? !read_scaled(branch, operand, factor, offset) ||
                                       add_to(merging, sum, branch, &addition, done)
                                 : wnn_fail_memory(merging->context->error);
    wnn_release(allocator, factor);
    wnn_release(allocator, offset);
    return good;
}

static bool merge(struct merging *merging, struct node *sum, bool *done)
{
    struct branch branches[2];
    bool has[2];
    for (unsigned side = 0; side < 2; side++)
        has[side] = find_branch(sum, side, &branches[side]);
    for (unsigned side = 0; side < 2 && !*done; side++)
        if (has[side] &&
            !(has[1 - side] ? merge_filters(merging, sum, &branches[side], &branches[1 - side], done)
                            : merge_identity(merging, sum, &branches[side], sum->in[1 - side], done)))
            return false;
    return true;
}

bool wnn_merge_branches(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    bool changed = false, good = true;
    if (!wnn_rewrite_has(graph, WNN_OP_conv2d))
        return true;
    struct merging merging = {context, graph, wnn_allocate_zero(context->allocator, count)};
    if (!merging.owned)
        return wnn_fail_memory(context->error);
    wnn_graph_count_uses(graph);
    for (size_t i = 0; good && i < count; i++) {
        bool done = false;
        if (graph->nodes[i]->op == WNN_OP_add)
            good = merge(&merging, graph->nodes[i], &done);
        changed |= done;
    }
    wnn_release(context->allocator, merging.owned);
    return good && (!changed || wnn_prune(context, graph));
}
