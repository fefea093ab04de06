// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: where a backend wants the channels of images last, operators on
// images that have them second are turned, in islands with what lies between them, if the borders of an
// island cost less bytes to be transposed than its operators would have to transpose by themselves, or if one
// of these is worth it anyway, says the backend. At the borders stand transposes, or reshapes where these do
// as well; canonicalize, fold_constants and prune make less of them.

#include "compiler/layout_rules.h"

#include <string.h>

struct islands {
    struct pass_context *context;
    struct graph *graph;
    size_t node_count, operand_count; // before anything was added
    struct arena arena;
    unsigned char *role;     // by node: enum layout_role
    unsigned char *turned;   // by node
    unsigned char *uses;     // by operand: PLAIN, TURNED
    unsigned char *undone;   // by node: whether a reshape is read by transposes alone that undo turning back
    uint32_t *parent;        // by node: towards the island's first node
    uint64_t *added, *saved; // by first node: bytes that are to be transposed, and that need not be any more
    struct operand **other;  // by operand: the same image in the other layout, once there is one
};

enum {
    PLAIN = 1,
    TURNED = 2
};

#define WORTH_ANYTHING (UINT64_C(1) << 48) // bytes

static bool is_turned(const struct islands *islands, const struct operand *operand)
{
    const struct node *producer = operand->producer;
    return producer && islands->turned[producer->index] && wnn_layout_turns_output(producer, operand->output);
}

// Whether turning the image leaves its elements in order.
static bool is_flat(const struct shape *shape)
{
    return shape->dim[1] == 1 || (shape->dim[2] == 1 && shape->dim[3] == 1);
}

// Whether two transposes around a reshape undo each other: turning the operand is the second.
static bool undoes_another(const struct operand *operand)
{
    const struct node *reshape = operand->producer;
    const struct operand *from = reshape && reshape->op == WNN_OP_reshape ? reshape->in[0] : NULL;
    return from && from->producer && from->producer->op == WNN_OP_transpose &&
           operand->type.shape.rank == 4 &&
           wnn_rewrite_restores(wnn_rewrite_order_of(from->producer), &from->type.shape, &operand->type.shape,
                                (WNNUint32List){wnn_layout_permutation, 4});
}

// The bytes to be moved where an operand is wanted in the other layout.
static uint64_t cost(const struct operand *operand)
{
    const struct shape *shape = &operand->type.shape;
    if (operand->constant || (shape->rank == 4 && is_flat(shape)) || wnn_shape_elements(shape) == 1)
        return 0;
    // Two transposes become one, or a reshape.
    if ((operand->producer && operand->producer->op == WNN_OP_transpose) || undoes_another(operand))
        return 0;
    return wnn_descriptor_bytes(&operand->type);
}

// ---------------------------------------------------------------------------------------------------------------
// Deciding
// ---------------------------------------------------------------------------------------------------------------

// Whether an image was in the other layout before it came here, so that turning it costs nothing.
static bool was_turned_back(const struct operand *operand)
{
    const struct node *node = operand->producer;
    return node && ((node->op == WNN_OP_transpose && node->in[0]->type.shape.rank == 4 &&
                     memcmp(wnn_rewrite_order_of(node).data, wnn_layout_axis, sizeof wnn_layout_axis) == 0) ||
                    undoes_another(operand));
}

// Nodes that carry an image on from an anchor; or from where it was in the other layout, for an anchor that
// may come: trim() and weigh() say where that is of no use.
static bool carries_on(const struct islands *islands, const struct node *node)
{
    bool turned = false, costs = false, free = false;
    for (unsigned j = 0; j < node->in_count; j++) {
        const struct operand *in = node->in[j];
        if (!in || !wnn_layout_turns_input(node, j))
            continue;
        turned = turned || is_turned(islands, in);
        free = free || was_turned_back(in);
        costs = costs || cost(in) > 0;
    }
    return turned || (free && !costs);
}

static void merge_neighbors(struct islands *islands)
{
    const struct backend *backend = islands->context->backend;
    for (size_t i = 0; i < islands->node_count; i++) {
        const struct node *node = islands->graph->nodes[i];
        islands->role[i] = (unsigned char)wnn_layout_role(node);
        if (islands->role[i] == LAYOUT_ANCHOR && backend->any_layout && backend->any_layout(node))
            islands->role[i] = LAYOUT_CARRIER;
        islands->turned[i] = islands->role[i] == LAYOUT_ANCHOR ||
                             (islands->role[i] == LAYOUT_CARRIER && carries_on(islands, node));
    }
}

// Whether a transpose undoes that which would turn back the image that a reshape before it reads.
static bool undoes_turning(const struct node *node)
{
    const struct node *reshape = node->op == WNN_OP_transpose ? node->in[0]->producer : NULL;
    return reshape && reshape->op == WNN_OP_reshape && reshape->in[0]->type.shape.rank == 4 &&
           wnn_rewrite_restores((WNNUint32List){wnn_layout_axis, 4}, &reshape->in[0]->type.shape,
                                &reshape->out[0]->type.shape, wnn_rewrite_order_of(node));
}

static void find_undone(struct islands *islands)
{
    const struct graph *graph = islands->graph;
    for (size_t i = 0; i < islands->node_count; i++)
        islands->undone[i] = 1;
    for (size_t i = 0; i < islands->node_count; i++) {
        const struct node *node = graph->nodes[i];
        bool undoes = undoes_turning(node);
        for (unsigned j = 0; j < node->in_count; j++)
            if (node->in[j] && node->in[j]->producer)
                islands->undone[node->in[j]->producer->index] &= undoes;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        if (graph->outputs[i].operand->producer)
            islands->undone[graph->outputs[i].operand->producer->index] = 0;
}

static void clear_uses(struct islands *islands)
{
    for (size_t i = 0; i < islands->operand_count; i++)
        islands->uses[i] = 0;
    for (size_t i = 0; i < islands->graph->output_count; i++)
        islands->uses[islands->graph->outputs[i].operand->index] = PLAIN;
}

static void mark_uses(struct islands *islands, const struct node *node)
{
    if (node->op == WNN_OP_transpose || (node->op == WNN_OP_reshape && islands->undone[node->index]))
        return; // takes either
    for (unsigned j = 0; j < node->in_count; j++)
        if (node->in[j])
            islands->uses[node->in[j]->index] |=
                islands->turned[node->index] && wnn_layout_turns_input(node, j) ? TURNED : PLAIN;
}

// From the end: nodes that only carry an image to where it is wanted as it was are left out of the island, if
// less has to be transposed before them.
static void trim(struct islands *islands)
{
    clear_uses(islands);
    for (size_t i = islands->node_count; i-- > 0;) {
        const struct node *node = islands->graph->nodes[i];
        if (islands->turned[i] && islands->role[i] == LAYOUT_CARRIER) {
            uint64_t inside = 0, outside = 0;
            for (unsigned j = 0; j < node->out_count; j++) {
                if (!wnn_layout_turns_output(node, j))
                    continue;
                unsigned uses = islands->uses[node->out[j]->index];
                inside += uses & PLAIN ? cost(node->out[j]) : 0;
                outside += uses & TURNED ? cost(node->out[j]) : 0;
            }
            for (unsigned j = 0; j < node->in_count; j++) {
                if (!node->in[j] || !wnn_layout_turns_input(node, j))
                    continue;
                unsigned uses = islands->uses[node->in[j]->index];
                if (is_turned(islands, node->in[j]))
                    outside += uses & PLAIN ? 0 : cost(node->in[j]);
                else
                    inside += uses & TURNED ? 0 : cost(node->in[j]);
            }
            islands->turned[i] = inside <= outside;
        }
        mark_uses(islands, node);
    }
}

static uint32_t first_of(struct islands *islands, uint32_t node)
{
    while (islands->parent[node] != node) {
        islands->parent[node] = islands->parent[islands->parent[node]];
        node = islands->parent[node];
    }
    return node;
}

static void join(struct islands *islands, uint32_t a, uint32_t b)
{
    a = first_of(islands, a);
    b = first_of(islands, b);
    if (a < b)
        islands->parent[b] = a;
    else
        islands->parent[a] = b;
}

// The groups of a convolution that adds up over several channels a group; else 0.
static uint32_t groups_of(const struct node *node)
{
    uint32_t channels = node->in[0]->type.shape.dim[1], groups = channels;
    if (node->op == WNN_OP_conv2d)
        groups = ((const WNNConv2dOptions *)node->attrs)->groups;
    else if (node->op == WNN_OP_convTranspose2d)
        groups = ((const WNNConvTranspose2dOptions *)node->attrs)->groups;
    return groups < channels ? groups : 0;
}

// What it is worth to a node that it is turned: the bytes that it would have to move by itself, or anything.
static uint64_t gain(const struct islands *islands, const struct node *node)
{
    const struct backend *backend = islands->context->backend;
    uint32_t groups = groups_of(node);
    if (groups > 0 && backend->prefers_nhwc && backend->prefers_nhwc(node, groups))
        return WORTH_ANYTHING;
    return wnn_descriptor_bytes(&node->in[0]->type) + wnn_descriptor_bytes(&node->out[0]->type);
}

// Adds up what the borders of each island cost and what its anchors save.
static void weigh(struct islands *islands)
{
    struct graph *graph = islands->graph;
    clear_uses(islands);
    for (size_t i = 0; i < islands->node_count; i++) {
        const struct node *node = graph->nodes[i];
        islands->parent[i] = (uint32_t)i;
        mark_uses(islands, node);
        for (unsigned j = 0; islands->turned[i] && j < node->in_count; j++)
            if (node->in[j] && wnn_layout_turns_input(node, j) && is_turned(islands, node->in[j]))
                join(islands, node->in[j]->producer->index, (uint32_t)i);
    }
    for (size_t i = 0; i < islands->node_count; i++) {
        const struct node *node = graph->nodes[i];
        if (!islands->turned[i])
            continue;
        uint32_t first = first_of(islands, (uint32_t)i);
        if (islands->role[i] == LAYOUT_ANCHOR)
            islands->saved[first] += gain(islands, node);
        for (unsigned j = 0; j < node->out_count; j++)
            if (is_turned(islands, node->out[j]) && islands->uses[node->out[j]->index] & PLAIN)
                islands->added[first] += cost(node->out[j]);
        for (unsigned j = 0; j < node->in_count; j++) {
            if (!node->in[j] || !wnn_layout_turns_input(node, j) || is_turned(islands, node->in[j]))
                continue;
            if (islands->uses[node->in[j]->index] & TURNED) // the first that wants it pays
                islands->added[first] += cost(node->in[j]);
            islands->uses[node->in[j]->index] &= (unsigned char)~TURNED;
        }
    }
    for (size_t i = 0; i < islands->node_count; i++) {
        uint32_t first = first_of(islands, (uint32_t)i);
        if (islands->turned[i] && islands->added[first] >= islands->saved[first])
            islands->turned[i] = 0;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Turning
// ---------------------------------------------------------------------------------------------------------------

static void permute(const struct shape *from, const uint32_t permutation[4], struct shape *to)
{
    to->rank = 4;
    for (unsigned i = 0; i < 4; i++)
        to->dim[i] = from->dim[permutation[i]];
}

// The operand of rank 4 with its dimensions in another order.
static struct operand *add_transpose(struct islands *islands, struct operand *operand,
                                     const uint32_t permutation[4], size_t before)
{
    struct shape shape;
    permute(&operand->type.shape, permutation, &shape);
    const struct shape *channels_first = permutation[1] == 3 ? &shape : &operand->type.shape;
    return is_flat(channels_first) ? wnn_rewrite_reshape(islands->graph, operand, &shape, before)
                                   : wnn_rewrite_transpose(islands->graph, operand, permutation, before);
}

// The operand in the layout in which it was not computed, right behind where it was; NULL: out of memory.
static struct operand *in_other_layout(struct islands *islands, struct operand *operand)
{
    struct operand **other = &islands->other[operand->index];
    if (*other)
        return *other;
    size_t before = operand->producer ? operand->producer->index + 1u : 0;
    if (is_turned(islands, operand))
        return *other = add_transpose(islands, operand, wnn_layout_axis, before);
    struct operand *image = operand;
    if (operand->type.shape.rank < 4) {
        struct shape shape = {4, {1, 1, 1, 1}};
        unsigned missing = 4 - operand->type.shape.rank;
        for (unsigned i = missing; i < 4; i++)
            shape.dim[i] = operand->type.shape.dim[i - missing];
        image = wnn_rewrite_reshape(islands->graph, operand, &shape, before);
    }
    return *other = image ? add_transpose(islands, image, wnn_layout_permutation, before) : NULL;
}

static bool turn(struct islands *islands, struct node *node)
{
    bool turned = islands->turned[node->index];
    for (unsigned j = 0; j < node->in_count; j++) {
        struct operand *in = node->in[j];
        if (!in)
            continue;
        bool wanted = turned && wnn_layout_turns_input(node, j), has = is_turned(islands, in);
        // A single number goes with any layout.
        if (wanted == has || (wanted && in->type.shape.rank < 4 && wnn_shape_elements(&in->type.shape) == 1))
            continue;
        node->in[j] = in_other_layout(islands, in);
        if (!node->in[j])
            return false;
    }
    for (unsigned j = 0; j < node->out_count; j++) {
        struct shape shape = node->out[j]->type.shape;
        if (is_turned(islands, node->out[j]))
            permute(&shape, wnn_layout_permutation, &node->out[j]->type.shape);
    }
    return !turned || wnn_layout_turn_attrs(islands->graph, node);
}

static bool turn_all(struct islands *islands)
{
    struct graph *graph = islands->graph;
    for (size_t i = 0; i < islands->node_count; i++)
        if (!turn(islands, graph->nodes[i]))
            return false;
    for (size_t i = 0; i < graph->output_count; i++) {
        struct graph_port *port = &graph->outputs[i];
        if (is_turned(islands, port->operand) && !(port->operand = in_other_layout(islands, port->operand)))
            return false;
    }
    return true;
}

static bool allocate(struct islands *islands)
{
    struct arena *arena = &islands->arena;
    size_t nodes = islands->node_count, operands = islands->operand_count;
    islands->role = wnn_arena_allocate(arena, nodes);
    islands->turned = wnn_arena_allocate(arena, nodes);
    islands->uses = wnn_arena_allocate(arena, operands);
    islands->undone = wnn_arena_allocate(arena, nodes);
    islands->parent = wnn_arena_allocate(arena, nodes * sizeof islands->parent[0]);
    islands->added = wnn_arena_allocate(arena, nodes * sizeof islands->added[0]);
    islands->saved = wnn_arena_allocate(arena, nodes * sizeof islands->saved[0]);
    islands->other = wnn_arena_allocate(arena, operands * sizeof islands->other[0]);
    return islands->role && islands->turned && islands->uses && islands->undone && islands->parent &&
           islands->added && islands->saved && islands->other;
}

bool wnn_choose_layout(struct pass_context *context, struct graph *graph)
{
    if (context->backend->preferred_layout != WNNInputOperandLayout_NHWC)
        return true;
    struct islands islands = {.context = context,
                              .graph = graph,
                              .node_count = graph->node_count,
                              .operand_count = graph->operand_count};
    wnn_arena_init(&islands.arena, context->allocator);
    bool done = allocate(&islands);
    if (done) {
        find_undone(&islands);
        merge_neighbors(&islands);
        trim(&islands);
        weigh(&islands);
        done = turn_all(&islands);
    }
    wnn_arena_free(&islands.arena);
    if (!done)
        return wnn_fail_memory(context->error);
    return wnn_rewrite_order(context, graph, islands.node_count);
}
