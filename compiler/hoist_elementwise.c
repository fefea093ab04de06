// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order with nothing fused, no dead nodes. Guarantees: where a backend wants the channels
// of images last, elementwise operators stand before the reshapes and transposes that keep convolutions
// apart:
//   - operators on lines, which a reshape has made of images of one line, compute images, and a reshape makes
//     lines of their results;
//   - an operator whose results are only moved on is computed before a transpose that nothing else reads.
// What moves elements is side by side then, for choose_layout and canonicalize to find what undoes what.

#include "compiler/layout_rules.h"

#include <string.h>

enum {
    LINE_RANK = 3,
    IMAGE_RANK = 4
};

// Scales and zero points have the dimensions of what they are of.
static bool is_elementwise(const struct node *node)
{
    return wnn_op_is_elementwise((enum op)node->op) && node->op != WNN_OP_quantizeLinear &&
           node->op != WNN_OP_dequantizeLinear && node->out_count == 1;
}

static bool is_single(const struct operand *operand)
{
    return wnn_shape_elements(&operand->type.shape) == 1;
}

static struct node *producer_of(const struct operand *operand, enum op op)
{
    return operand->producer && operand->producer->op == op ? operand->producer : NULL;
}

// A node that computes before node `place` what `node` does, of operands of that shape.
static struct node *add_same(struct graph *graph, const struct node *node, const struct shape *shape,
                             size_t place)
{
    struct descriptor type = {node->out[0]->type.type, *shape};
    struct node *same = wnn_graph_add_node(graph, (enum op)node->op, node->in_count, 1, &type);
    if (!same)
        return NULL;
    same->attrs = node->attrs;
    same->label = node->label;
    same->index = (uint32_t)place;
    return same;
}

// ---------------------------------------------------------------------------------------------------------------
// Lines
// ---------------------------------------------------------------------------------------------------------------

// The image of which a reshape makes the lines by leaving out dimension `axis` alone; NULL: there is none.
static struct operand *image_of(const struct operand *lines, unsigned *axis)
{
    const struct node *reshape = producer_of(lines, WNN_OP_reshape);
    struct operand *image = reshape ? reshape->in[0] : NULL;
    if (!image || image->type.shape.rank != IMAGE_RANK || lines->type.shape.rank != LINE_RANK)
        return NULL;
    const uint32_t *from = image->type.shape.dim, *to = lines->type.shape.dim;
    if (from[0] != to[0] || from[1] != to[1])
        return NULL;
    *axis = from[2] == 1 && from[3] == to[2] ? 2 : 3;
    return from[*axis] == 1 && from[5 - *axis] == to[2] ? image : NULL;
}

// The operand with a dimension of 1 at `axis`; NULL: out of memory.
static struct operand *widen(struct graph *graph, struct operand *operand, unsigned axis, size_t place)
{
    unsigned own;
    struct operand *image = image_of(operand, &own);
    if (image && own == axis)
        return image;
    const struct shape *shape = &operand->type.shape;
    struct shape wide = {IMAGE_RANK, {1, 1, 1, 1}};
    for (unsigned d = 0; d < shape->rank; d++) {
        unsigned line = LINE_RANK - shape->rank + d;
        wide.dim[line < axis ? line : line + 1] = shape->dim[d];
    }
    return wnn_rewrite_reshape(graph, operand, &wide, place);
}

// What the node computes of lines it computes of images then. Sets *changed; false: out of memory.
static bool compute_images(struct graph *graph, struct node *node, size_t place, bool *changed)
{
    const struct shape *lines = &node->out[0]->type.shape;
    const struct operand *image = NULL;
    unsigned axis = 0;
    // Single numbers are not given dimensions, which then nothing would have.
    for (unsigned i = 0; i < node->in_count && !image && !is_single(node->out[0]); i++)
        if (node->in[i] && wnn_shape_equal(&node->in[i]->type.shape, lines))
            image = image_of(node->in[i], &axis);
    if (!image)
        return true;
    for (unsigned i = 0; i < node->in_count; i++)
        if (node->in[i] &&
            (node->in[i]->type.shape.rank > LINE_RANK || wnn_dtype_bits(node->in[i]->type.type) < 8))
            return true;
    struct operand *in[3];
    for (unsigned i = 0; i < node->in_count; i++) {
        in[i] = !node->in[i] || is_single(node->in[i]) ? node->in[i] : widen(graph, node->in[i], axis, place);
        if (node->in[i] && !in[i])
            return false;
    }
    struct node *same = add_same(graph, node, &image->type.shape, place);
    if (!same)
        return false;
    for (unsigned i = 0; i < node->in_count; i++)
        same->in[i] = in[i];
    *changed = true;
    return wnn_rewrite_become_reshape(graph, node, same->out[0]);
}

// ---------------------------------------------------------------------------------------------------------------
// Transposes
// ---------------------------------------------------------------------------------------------------------------

static bool is_alike(const struct node *a, const struct node *b)
{
    WNNUint32List one = wnn_rewrite_order_of(a), other = wnn_rewrite_order_of(b);
    return one.count == other.count && memcmp(one.data, other.data, one.count * sizeof one.data[0]) == 0;
}

// The transpose of which all inputs come but for single numbers, each by one of its own; NULL: they do not.
static struct node *common_transpose(const struct node *node)
{
    struct node *common = NULL;
    for (unsigned i = 0; i < node->in_count; i++) {
        if (!node->in[i] || is_single(node->in[i]))
            continue;
        struct node *transpose = producer_of(node->in[i], WNN_OP_transpose);
        if (!transpose || node->in[i]->uses != 1 ||
            !wnn_shape_equal(&node->in[i]->type.shape, &node->out[0]->type.shape) ||
            (common && !is_alike(common, transpose)))
            return NULL;
        common = transpose;
    }
    return common;
}

static bool compute_before(struct graph *graph, struct node *node, const struct node *transpose, size_t place)
{
    struct node *same = add_same(graph, node, &transpose->in[0]->type.shape, place);
    if (!same)
        return false;
    for (unsigned i = 0; i < node->in_count; i++)
        same->in[i] = !node->in[i] || is_single(node->in[i]) ? node->in[i] : node->in[i]->producer->in[0];
    return wnn_rewrite_become_transpose(graph, node, same->out[0], wnn_rewrite_order_of(transpose).data);
}

// By operand: whether all that is done with it is moving, at once or behind operators of which that is true.
static void find_moved(const struct graph *graph, unsigned char *moved)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        moved[i] = 1;
    for (size_t i = 0; i < graph->output_count; i++)
        moved[graph->outputs[i].operand->index] = 0;
    for (size_t i = graph->node_count; i-- > 0;) {
        const struct node *node = graph->nodes[i];
        bool moves = node->op == WNN_OP_reshape || node->op == WNN_OP_transpose ||
                     (is_elementwise(node) && moved[node->out[0]->index]);
        for (unsigned j = 0; j < node->in_count; j++)
            if (node->in[j])
                moved[node->in[j]->index] &= moves;
    }
}

bool wnn_hoist_elementwise(struct pass_context *context, struct graph *graph)
{
    if (context->backend->preferred_layout != WNNInputOperandLayout_NHWC)
        return true;
    size_t count = graph->node_count;
    unsigned char *moved = wnn_allocate(context->allocator, graph->operand_count);
    bool changed = false, enough = moved != NULL;
    if (enough) {
        wnn_graph_count_uses(graph);
        find_moved(graph, moved);
    }
    for (size_t i = 0; enough && i < count; i++) {
        struct node *node = graph->nodes[i];
        if (!is_elementwise(node))
            continue;
        const struct node *transpose = moved[node->out[0]->index] ? common_transpose(node) : NULL;
        if (transpose) {
            enough = compute_before(graph, node, transpose, i);
            changed = true;
        } else if (node->out[0]->type.shape.rank == LINE_RANK) {
            enough = compute_images(graph, node, i, &changed);
        }
    }
    wnn_release(context->allocator, moved);
    if (!enough)
        return wnn_fail_memory(context->error);
    return !changed || (wnn_rewrite_order(context, graph, count) && wnn_prune(context, graph));
}
