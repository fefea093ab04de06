// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, no dead nodes. Guarantees: a constant factor and offset per output channel
// (batchNormalization, mul, add, sub) are part of the weights and the bias of the convolution or matrix
// product whose only use they are, unless weights would overflow or vanish by it; and the sum of a matmul and
// something that broadcasts to it is a gemm where the ranks allow it. Where sizes are not known, a matmul
// stays one, and a sum a sum: what is wrong with them later is said of what was recorded.
//
// What is folded is never rounded to float16: the weights and biases of float16 nodes become float32 where
// the backend takes that (backend.wide_weights), and otherwise only what float16 holds exactly is folded.
// There, if chains can be fused, a batchNormalization behind such a node is spelled out as a product and a
// sum in float32.

#include "compiler/rewrite.h"
#include "ops/bind.h"
#include "ops/geometry.h"
#include "lib/half.h"

#include <float.h>
#include <math.h>
#include <string.h>

// How output channels lie in a producer's weights and result: weight i belongs to channel i / inner % count.
struct channels {
    uint32_t count;
    unsigned axis;
    size_t inner;
};

// What is to be done to each channel: y = factor * x + offset.
struct affine {
    double *factor, *offset;
    bool scales;
};

// False: not a producer that can take a factor or an offset.
static bool describe_channels(const struct node *node, struct channels *channels)
{
    if (node->in_count < 2 || !wnn_rewrite_is_floats(node->in[1]))
        return false;
    const struct shape *out = &node->out[0]->type.shape;
    switch (node->op) {
    case WNN_OP_conv2d:
    case WNN_OP_convTranspose2d: {
        const struct convolution c = wnn_node_convolution(node);
        *channels = (struct channels){c.filter.outputs, c.to.nhwc ? 3 : 1, c.filter.o};
        return !c.transposed || c.groups == 1;
    }
    case WNN_OP_gemm: {
        const WNNGemmOptions *options = node->attrs;
        const struct shape *c = node->in[2] ? &node->in[2]->type.shape : NULL;
        *channels =
            (struct channels){out->dim[1], 1, options->bTranspose ? node->in[1]->type.shape.dim[1] : 1};
        return !c || (options->beta == 1 && (c->rank < 2 || c->dim[0] == 1));
    }
    case WNN_OP_matmul:
        *channels = (struct channels){out->dim[out->rank - 1], out->rank - 1, 1};
        return true;
    default:
        return false;
    }
}

// The bias that a producer has now; NULL: none.
static struct operand *bias_of(const struct node *node)
{
    return node->in_count > 2 ? node->in[2] : NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// What is to be folded
// ---------------------------------------------------------------------------------------------------------------

// Whether a constant is one number, or one per channel that broadcasts along all other dimensions.
static bool is_per_channel(const struct operand *operand, const struct channels *channels, unsigned rank)
{
    if (!wnn_rewrite_is_floats(operand) || operand->type.shape.rank > rank)
        return false;
    const struct shape *shape = &operand->type.shape;
    for (unsigned i = 0; i < shape->rank; i++)
        if (shape->dim[i] != 1 &&
            (rank - shape->rank + i != channels->axis || shape->dim[i] != channels->count))
            return false;
    return true;
}

static bool read_normalization(const struct node *node, const struct channels *channels,
                               struct affine *affine)
{
    const WNNBatchNormalizationOptions *options = node->attrs;
    affine->scales = true;
    return options->axis == channels->axis &&
           wnn_rewrite_normalization(node, channels->count, affine->factor, affine->offset);
}

static bool may_be_affine(const struct node *node)
{
    return node->op == WNN_OP_batchNormalization || node->op == WNN_OP_add || node->op == WNN_OP_sub ||
           node->op == WNN_OP_mul;
}

// What `node` does to each channel of its input number `side`, which is the producer's result.
static bool read_affine(const struct node *node, unsigned side, const struct channels *channels,
                        struct affine *affine)
{
    if (node->op == WNN_OP_batchNormalization)
        return side == 0 && read_normalization(node, channels, affine);
    if ((node->op == WNN_OP_sub && side == 1) ||
        !is_per_channel(node->in[1 - side], channels, node->out[0]->type.shape.rank))
        return false;
    affine->scales = node->op == WNN_OP_mul;
    for (size_t i = 0; i < channels->count; i++) {
        double value = wnn_rewrite_channel(node->in[1 - side], i, 0);
        affine->factor[i] = affine->scales ? value : 1;
        affine->offset[i] = affine->scales ? 0 : node->op == WNN_OP_sub ? -value : value;
    }
    return true;
}

// A factor of 0 would hide infinities; what is not finite stays where it is.
static bool is_sound(const struct affine *affine, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(affine->factor[i]) || !isfinite(affine->offset[i]) || affine->factor[i] == 0)
            return false;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Folding
// ---------------------------------------------------------------------------------------------------------------

// Whether float16 holds the number, and not as a denormal one.
static bool is_half(double value)
{
    return value == 0 || (fabs(value) >= 0x1p-14 && wnn_round_to_dtype(value, WNNDataType_Float16) == value);
}

// The bits of the absolute values of floats are in the order of these, with NaN above all.
static int32_t larger(int32_t most, const char *from)
{
    int32_t bits;
    memcpy(&bits, from, sizeof bits);
    bits &= INT32_MAX;
    return bits > most ? bits : most;
}

// The same of float16, as those of float32.
static int32_t larger_half(int32_t most, const char *from)
{
    uint16_t half;
    memcpy(&half, from, sizeof half);
    float value = wnn_half_to_float(half);
    return larger(most, (const char *)&value);
}

static bool is_scalable(int32_t largest, double factor)
{
    float value;
    memcpy(&value, &largest, sizeof value);
    double scaled = fabs(value * factor);
    return scaled <= (double)FLT_MAX && (scaled == 0 || scaled >= 2 * (double)FLT_MIN);
}

// Whether weights times their factors neither overflow, nor does a channel all but vanish: weights may become
// denormal where others of the channel are large beside them. `largest` has room for a number a channel.
static bool can_scale(const struct operand *weights, const struct channels *channels, const double *factor,
                      int32_t *largest)
{
    const bool half = weights->type.type == WNNDataType_Float16;
    const char *from = weights->constant->data;
    size_t size = half ? 2 : 4, left = wnn_shape_elements(&weights->type.shape) / channels->inner;
    memset(largest, 0, channels->count * sizeof largest[0]);
    for (; left; left -= channels->count)
        for (size_t channel = 0; channel < channels->count; channel++) {
            int32_t most = largest[channel];
            for (size_t i = 0; i < channels->inner; i++, from += size)
                most = half ? larger_half(most, from) : larger(most, from);
            largest[channel] = most;
            if (left == channels->count && !is_scalable(most, factor[channel]))
                return false;
        }
    return true;
}

// Writes the weights times their factors, rounded to float32, or to float16: false, if something is lost.
static bool scale_weights(const struct operand *weights, const struct channels *channels,
                          const double *factor, WNNDataType to, void *result)
{
    const bool half = weights->type.type == WNNDataType_Float16, narrow = to == WNNDataType_Float16;
    const char *from = weights->constant->data;
    size_t count = wnn_shape_elements(&weights->type.shape), run = 0, channel = 0;
    for (size_t i = 0; i < count; i++) {
        float value;
        uint16_t bits;
        if (half) {
            memcpy(&bits, from + i * sizeof bits, sizeof bits);
            value = wnn_half_to_float(bits);
        } else {
            memcpy(&value, from + i * sizeof value, sizeof value);
        }
        double scaled = value * factor[channel];
        if (narrow && !is_half(scaled))
            return false;
        if (narrow) {
            bits = wnn_half_from_float((float)scaled);
            memcpy((char *)result + i * sizeof bits, &bits, sizeof bits);
        } else {
            value = (float)scaled;
            memcpy((char *)result + i * sizeof value, &value, sizeof value);
        }
        if (++run == channels->inner) {
            run = 0;
            channel = channel + 1 == channels->count ? 0 : channel + 1;
        }
    }
    return true;
}

// A matmul has no place for an offset; a gemm has.
static bool make_gemm(struct pass_context *context, struct graph *graph, struct node *node)
{
    struct operand **in = wnn_arena_allocate(&graph->arena, 3 * sizeof in[0]);
    WNNGemmOptions *attrs = node->op == WNN_OP_gemm ? node->attrs : wnn_rewrite_attrs(graph, WNN_OP_gemm);
    if (!in || !attrs)
        return wnn_fail_memory(context->error);
    attrs->beta = 1;
    in[0] = node->in[0];
    in[1] = node->in[1];
    node->op = WNN_OP_gemm;
    node->attrs = attrs;
    node->in = in;
    node->in_count = 3;
    return true;
}

// A matmul that a gemm can take the place of.
static bool has_matrices(const struct node *product)
{
    return product->in[0]->type.shape.rank == 2 && product->in[1]->type.shape.rank == 2;
}

// Whether something can be added to each channel of what it makes.
static bool takes_offset(const struct node *producer, bool late)
{
    return producer->op != WNN_OP_matmul || (!late && has_matrices(producer));
}

// The type of weights and biases that are computed for a node.
static WNNDataType folded_type(const struct pass_context *context, const struct node *producer)
{
    const struct backend *backend = context->backend;
    bool wide = producer->out[0]->type.type == WNNDataType_Float32 ||
                (backend->wide_weights && backend->wide_weights(context->state, producer));
    return wide ? WNNDataType_Float32 : WNNDataType_Float16;
}

// The bias that comes of folding, in `values`; false: it is not finite, or float16 does not hold it though it
// has to. *needed: it is not the same as none.
static bool fold_bias(const struct node *producer, const struct channels *channels,
                      const struct affine *affine, WNNDataType to, double *values, bool *needed)
{
    const struct operand *bias = bias_of(producer);
    *needed = bias != NULL;
    for (size_t i = 0; i < channels->count; i++) {
        values[i] = wnn_rewrite_channel(bias, i, 0) * affine->factor[i] + affine->offset[i];
        if (!isfinite(wnn_round_to_dtype(values[i], to)) ||
            (to == WNNDataType_Float16 && wnn_round_to_dtype(values[i], to) != values[i]))
            return false;
        *needed |= affine->offset[i] != 0;
    }
    return true;
}

// *done stays false if nothing was changed. `room` has a number a channel; `late`: sizes are not known.
static bool fold(struct pass_context *context, struct graph *graph, struct node *producer,
                 const struct channels *channels, const struct affine *affine, bool late, double *room,
                 bool *done)
{
    struct operand *weights = producer->in[1];
    const WNNDataType to = folded_type(context, producer);
    struct descriptor row = {to, {1, {channels->count}}}, type = {to, weights->type.shape};
    bool shifts;
    if (!fold_bias(producer, channels, affine, to, room, &shifts) ||
        (shifts && !takes_offset(producer, late)))
        return true;
    if (affine->scales) {
        int32_t *largest = wnn_allocate(context->allocator, channels->count * sizeof largest[0]);
        if (!largest)
            return wnn_fail_memory(context->error);
        bool can = can_scale(weights, channels, affine->factor, largest);
        wnn_release(context->allocator, largest);
        if (!can)
            return true;
        struct constant *scaled = wnn_constant_create(context->allocator, wnn_descriptor_bytes(&type));
        if (!scaled)
            return wnn_fail_memory(context->error);
        if (!scale_weights(weights, channels, affine->factor, to, (void *)(uintptr_t)scaled->data)) {
            wnn_constant_unref(scaled);
            return true;
        }
        producer->in[1] = wnn_graph_add_constant(graph, &type, scaled);
        if (!producer->in[1])
            return wnn_fail_memory(context->error);
    }
    *done = true;
    if (!shifts)
        return true;
    if ((producer->op == WNN_OP_matmul || producer->op == WNN_OP_gemm) &&
        !make_gemm(context, graph, producer))
        return false;
    producer->in[2] = wnn_rewrite_constant(context, graph, &row, room);
    return producer->in[2] || wnn_fail_memory(context->error);
}

// The producer behind input `side` of a node, if the node is its only use and leaves the shape as it is.
static struct node *only_producer(const struct node *node, unsigned side)
{
    const struct operand *in = side < node->in_count ? node->in[side] : NULL;
    return in && in->producer && in->uses == 1 && wnn_descriptor_equal(&in->type, &node->out[0]->type)
               ? in->producer
               : NULL;
}

// cast(add(mul(cast(x), factor), offset)), all of float32, in place of the batchNormalization.
static bool spell_out(struct pass_context *context, struct graph *graph, struct node *node,
                      const struct channels *channels, const struct affine *affine)
{
    const struct shape *shape = &node->out[0]->type.shape;
    struct descriptor row = {WNNDataType_Float32, {.rank = shape->rank - channels->axis}};
    for (unsigned i = 0; i < row.shape.rank; i++)
        row.shape.dim[i] = i ? 1 : channels->count;
    struct operand *factor = wnn_rewrite_constant(context, graph, &row, affine->factor);
    struct operand *offset = wnn_rewrite_constant(context, graph, &row, affine->offset);
    const struct descriptor type = {WNNDataType_Float32, *shape};
    struct cast_attrs *widen = wnn_rewrite_attrs(graph, WNN_OP_cast),
                      *narrow = wnn_rewrite_attrs(graph, WNN_OP_cast);
    struct node *wide = wnn_rewrite_add(graph, WNN_OP_cast, node->in[0], &type, widen, node->index);
    struct node *scaled =
        wide ? wnn_rewrite_combine(graph, WNN_OP_mul, wide->out[0], factor, &type, node->index) : NULL;
    struct node *sum =
        scaled ? wnn_rewrite_combine(graph, WNN_OP_add, scaled->out[0], offset, &type, node->index) : NULL;
    if (!sum || !narrow)
        return wnn_fail_memory(context->error);
    widen->dataType = WNNDataType_Float32;
    narrow->dataType = WNNDataType_Float16;
    node->op = WNN_OP_cast;
    node->attrs = narrow;
    node->in[0] = sum->out[0];
    node->in_count = 1;
    return true;
}

static bool fold_into(struct pass_context *context, struct graph *graph, struct node *node, unsigned side,
                      bool late, bool *done)
{
    struct node *producer = only_producer(node, side);
    struct channels channels;
    if (!producer || !may_be_affine(node) || !describe_channels(producer, &channels))
        return true;
    if (!takes_offset(producer, late) && (node->op == WNN_OP_add || node->op == WNN_OP_sub))
        return true;
    const struct operand *weights = producer->in[1], *bias = bias_of(producer);
    if (bias && !wnn_rewrite_is_floats(bias))
        return true;
    struct affine affine = {wnn_allocate(context->allocator, channels.count * sizeof(double)),
                            wnn_allocate(context->allocator, channels.count * sizeof(double)), false};
    bool known = affine.factor && affine.offset && read_affine(node, side, &channels, &affine) &&
                 is_sound(&affine, channels.count),
         folds = known && (!affine.scales || wnn_rewrite_may_copy(weights));
    double *room = folds ? wnn_allocate(context->allocator, channels.count * sizeof(double)) : NULL;
    bool good = affine.factor && affine.offset && (room || !folds);
    good = good || wnn_fail_memory(context->error);
    if (good && folds)
        good = fold(context, graph, producer, &channels, &affine, late, room, done);
    if (good && known && !*done && node->op == WNN_OP_batchNormalization && context->backend->fuses_chains &&
        node->out[0]->type.type == WNNDataType_Float16)
        good = spell_out(context, graph, node, &channels, &affine);
    wnn_release(context->allocator, room);
    wnn_release(context->allocator, affine.factor);
    wnn_release(context->allocator, affine.offset);
    if (good && *done)
        wnn_rewrite_take_over(producer, node);
    return good;
}

// add(matmul(a, b), c), with a c that is there before the product, is gemm(a, b, c=c).
static bool join_sum(struct pass_context *context, struct graph *graph, struct node *node, unsigned side)
{
    struct node *product = only_producer(node, side);
    struct operand *c = node->in[1 - side];
    if (!product || (c->producer && c->producer->index >= product->index) || c->type.shape.rank > 2 ||
        product->out[0]->type.shape.rank != 2)
        return true;
    if (product->op == WNN_OP_matmul ? !has_matrices(product) : product->op != WNN_OP_gemm || product->in[2])
        return true;
    if (!make_gemm(context, graph, product))
        return false;
    product->in[2] = c;
    wnn_rewrite_take_over(product, node);
    return true;
}

bool wnn_fold_batch_normalization(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    bool late = wnn_graph_is_symbolic(graph);
    bool changed = false;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < count; i++) {
        struct node *node = graph->nodes[i];
        bool done = false;
        for (unsigned side = 0; !done && side < 2 && side < node->in_count; side++)
            if (!fold_into(context, graph, node, side, late, &done))
                return false;
        for (unsigned side = 0; !done && !late && node->op == WNN_OP_add && side < 2; side++) {
            if (!join_sum(context, graph, node, side))
                return false;
            done = node->in_count == 0;
        }
        changed |= done;
    }
    if (!changed && graph->node_count == count) // none is spelled out either
        return true;
    return wnn_rewrite_order(context, graph, count) && wnn_prune(context, graph);
}
