// SPDX-License-Identifier: Apache-2.0
//
// Requires: the graph as the backend will run it, with node->scratch_bytes and placement.staged set. Guarantees: every
// operand has a place, no two that are needed at one time share memory, and node->scratch_offset is set. A node's output
// takes the place of an input that ends with it where the backend allows it. What reshape, identity, slice and split
// make of an operand in the arena is a view of it, if its elements lie in one piece there.

#include "compiler/passes.h"

#include <stdlib.h>

// Above this many blocks the packing no longer tries all gaps, which takes quadratic time.
#define THOROUGH 8192

// A piece of the arena, needed by the nodes from `first` to `last`.
struct block {
    size_t bytes, offset;
    size_t first, last;
    bool viewed; // several operands lie in it
};

struct planner {
    struct graph *graph;
    struct block *blocks;
    size_t count;
    size_t *block_of;  // by operand: index of its block, or SIZE_MAX
    size_t *within;    // by operand: bytes from the beginning of its block
    size_t *last_use;  // by operand: the last node that reads it; SIZE_MAX: an output
};

static size_t padded(size_t bytes)
{
    return (bytes + WNN_SLACK + WNN_ALIGNMENT - 1) / WNN_ALIGNMENT * WNN_ALIGNMENT;
}

static size_t add_block(struct planner *planner, size_t bytes, size_t first, size_t last)
{
    planner->blocks[planner->count] = (struct block){padded(bytes), 0, first, last, false};
    return planner->count++;
}

static void find_last_uses(struct planner *planner)
{
    const struct graph *graph = planner->graph;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        for (unsigned j = 0; j < node->out_count; j++)
            planner->last_use[node->out[j]->index] = i; // not read: needed while it is written
        for (unsigned j = 0; j < node->in_count; j++)
            if (node->in[j])
                planner->last_use[node->in[j]->index] = i;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        planner->last_use[graph->outputs[i].operand->index] = SIZE_MAX;
}

// Whether nothing but input `j` of node `i` needs the block that the input lies in, from then on.
static bool ends_with(const struct planner *planner, size_t i, unsigned j)
{
    const struct node *node = planner->graph->nodes[i];
    size_t block = planner->block_of[node->in[j]->index];
    if (!planner->blocks[block].viewed)
        return planner->last_use[node->in[j]->index] == i;
    // Views go on as long as the block does.
    for (unsigned k = 0; k < node->in_count; k++)
        if (node->in[k] && node->in[k] != node->in[j] && planner->block_of[node->in[k]->index] == block)
            return false;
    return planner->blocks[block].last == i && planner->within[node->in[j]->index] == 0 &&
           planner->blocks[block].bytes == padded(wnn_descriptor_bytes(&node->in[j]->type));
}

// The input whose block output 0 of node `i` can take over, or NULL.
static struct operand *reusable_input(const struct pass_context *context, const struct planner *planner, size_t i)
{
    const struct node *node = planner->graph->nodes[i];
    if (!context->backend->in_place || node->out[0]->placement.place == PLACE_OUTPUT)
        return NULL;
    size_t bytes = wnn_descriptor_bytes(&node->out[0]->type);
    for (unsigned j = 0; j < node->in_count; j++) {
        struct operand *input = node->in[j];
        if (!input || input->placement.place != PLACE_ARENA || !ends_with(planner, i, j) ||
            wnn_descriptor_bytes(&input->type) != bytes)
            continue;
        bool allowed = true;
        for (unsigned k = 0; allowed && k < node->in_count; k++)
            allowed = node->in[k] != input || context->backend->in_place(context->state, node, k);
        if (allowed)
            return input;
    }
    return NULL;
}

static void place_operand(struct planner *planner, struct operand *operand, size_t first)
{
    size_t last = planner->last_use[operand->index];
    planner->block_of[operand->index] = add_block(planner, wnn_descriptor_bytes(&operand->type), first, last);
}

// Whether a slice takes elements that lie one behind the other, from `first` on.
static bool is_one_piece(const struct node *slice, size_t *first)
{
    const struct slice_attrs *attrs = slice->attrs;
    const struct shape *shape = &slice->in[0]->type.shape;
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(shape, strides);
    *first = 0;
    bool begun = false;
    for (unsigned i = 0; i < shape->rank; i++) {
        uint32_t size = slice->out[0]->type.shape.dim[i];
        if ((begun && size != shape->dim[i]) || (attrs->options.strides.data[i] != 1 && size > 1))
            return false;
        begun |= size > 1;
        *first += attrs->starts.data[i] * strides[i];
    }
    return true;
}

// Whether the outputs of a node are pieces of its input as they lie there, the first from element `first` on,
// the others behind it.
static bool is_pieces(const struct node *node, size_t *first)
{
    *first = 0;
    switch (node->op) {
    case WNN_OP_identity:
    case WNN_OP_reshape:
        return true;
    case WNN_OP_slice:
        return is_one_piece(node, first);
    case WNN_OP_split:
        for (unsigned i = 0; i < ((const WNNSplitOptions *)node->attrs)->axis; i++)
            if (node->in[0]->type.shape.dim[i] != 1)
                return false;
        return true;
    default:
        return false;
    }
}

// Makes the outputs views of the input, if they can be: only what lies in the arena anyway.
static bool place_views(const struct pass_context *context, struct planner *planner, struct node *node)
{
    size_t first;
    if (!context->backend->views || node->in_count == 0 || node->in[0]->placement.place != PLACE_ARENA ||
        node->activation || wnn_dtype_bits(node->in[0]->type.type) < 8 || !is_pieces(node, &first))
        return false;
    for (unsigned j = 0; j < node->out_count; j++)
        if (node->out[j]->placement.place != PLACE_ARENA)
            return false;
    size_t number = planner->block_of[node->in[0]->index];
    struct block *block = &planner->blocks[number];
    size_t at = planner->within[node->in[0]->index] + first * (wnn_dtype_bits(node->in[0]->type.type) / 8);
    for (unsigned j = 0; j < node->out_count; j++) {
        const struct operand *output = node->out[j];
        planner->block_of[output->index] = number;
        planner->within[output->index] = at;
        at += wnn_descriptor_bytes(&output->type);
        if (planner->last_use[output->index] > block->last)
            block->last = planner->last_use[output->index];
    }
    block->viewed = true;
    node->lowering = WNN_LOWER_VIEW;
    node->scratch_bytes = 0;
    return true;
}

static void make_blocks(const struct pass_context *context, struct planner *planner)
{
    struct graph *graph = planner->graph;
    for (size_t i = 0; i < graph->operand_count; i++) {
        struct operand *operand = graph->operands[i];
        planner->block_of[i] = SIZE_MAX;
        operand->placement.place = operand->constant ? PLACE_CONSTANT : PLACE_ARENA;
    }
    for (size_t i = 0; i < graph->input_count; i++) {
        struct operand *operand = graph->inputs[i].operand;
        operand->placement.place = PLACE_INPUT;
        operand->placement.slot = (unsigned)i;
        if (operand->placement.staged)
            place_operand(planner, operand, 0);
    }
    // An operand under several names is computed into the memory of the first.
    for (size_t i = graph->output_count; i-- > 0;) {
        struct operand *operand = graph->outputs[i].operand;
        if (!operand->producer)
            continue;
        operand->placement.place = PLACE_OUTPUT;
        operand->placement.slot = (unsigned)i;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        struct operand *reused = reusable_input(context, planner, i);
        if (!reused && place_views(context, planner, node))
            continue;
        for (unsigned j = 0; j < node->out_count; j++) {
            struct operand *output = node->out[j];
            if (j == 0 && reused) {
                size_t block = planner->block_of[reused->index];
                planner->block_of[output->index] = block;
                planner->blocks[block].last = planner->last_use[output->index];
            } else {
                place_operand(planner, output, i);
            }
        }
        if (node->scratch_bytes)
            node->scratch_offset = add_block(planner, node->scratch_bytes, i, i);
    }
}

static int larger_first(const void *a, const void *b)
{
    const struct block *x = *(const struct block *const *)a, *y = *(const struct block *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

static int earlier_first(const void *a, const void *b)
{
    const struct block *x = *(const struct block *const *)a, *y = *(const struct block *const *)b;
    return (x->first > y->first) - (x->first < y->first);
}

// Largest blocks first, each into the tightest gap between those that are needed at the same time. `order` and `placed`
// have room for all blocks.
static size_t pack_thoroughly(struct planner *planner, struct block **order, struct block **placed)
{
    size_t end = 0, placed_count = 0;
    qsort(order, planner->count, sizeof order[0], larger_first);
    for (size_t i = 0; i < planner->count; i++) {
        struct block *block = order[i];
        size_t at = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
        for (size_t j = 0; j < placed_count; j++) { // by offset
            const struct block *other = placed[j];
            if (other->last < block->first || other->first > block->last)
                continue;
            if (other->offset >= at && other->offset - at >= block->bytes && other->offset - at < best_gap) {
                best = at;
                best_gap = other->offset - at;
            }
            if (other->offset + other->bytes > at)
                at = other->offset + other->bytes;
        }
        block->offset = best == SIZE_MAX ? at : best;
        if (block->offset + block->bytes > end)
            end = block->offset + block->bytes;
        size_t j = placed_count++;
        for (; j > 0 && placed[j - 1]->offset > block->offset; j--)
            placed[j] = placed[j - 1];
        placed[j] = block;
    }
    return end;
}

// In the order of time: a block takes the memory of one that has ended and is large enough, if it is among the last few
// that did, or new memory. `ended` has room for all blocks.
static size_t pack_quickly(struct planner *planner, struct block **order, struct block **live, struct block **ended)
{
    enum { LOOK = 64 };
    size_t end = 0, live_count = 0, ended_count = 0;
    qsort(order, planner->count, sizeof order[0], earlier_first);
    for (size_t i = 0; i < planner->count; i++) {
        struct block *block = order[i];
        for (size_t j = live_count; j-- > 0 && live_count - j <= LOOK;)
            if (live[j]->last < block->first) {
                ended[ended_count++] = live[j];
                live[j] = live[--live_count];
            }
        size_t best = SIZE_MAX;
        for (size_t j = ended_count; j-- > 0 && ended_count - j <= LOOK;)
            if (ended[j]->bytes >= block->bytes && (best == SIZE_MAX || ended[j]->bytes < ended[best]->bytes))
                best = j;
        if (best != SIZE_MAX) {
            block->offset = ended[best]->offset;
            block->bytes = ended[best]->bytes;
            ended[best] = ended[--ended_count];
        } else {
            block->offset = end;
            end += block->bytes;
        }
        live[live_count++] = block;
    }
    return end;
}

static void set_offsets(struct planner *planner, struct plan *plan)
{
    struct graph *graph = planner->graph;
    for (size_t i = 0; i < graph->operand_count; i++) {
        struct operand *operand = graph->operands[i];
        if (planner->block_of[i] == SIZE_MAX)
            continue;
        operand->placement.offset = planner->blocks[planner->block_of[i]].offset + planner->within[i];
        plan->unaliased_bytes += padded(wnn_descriptor_bytes(&operand->type));
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        if (!node->scratch_bytes)
            continue;
        node->scratch_offset = planner->blocks[node->scratch_offset].offset;
        plan->unaliased_bytes += padded(node->scratch_bytes);
    }
}

bool wnn_plan_memory(struct pass_context *context, struct plan *plan)
{
    struct graph *graph = &plan->graph;
    size_t most = graph->operand_count + graph->node_count;
    struct arena arena;
    wnn_arena_init(&arena, context->allocator);
    struct planner planner = {.graph = graph,
                              .blocks = wnn_arena_allocate(&arena, most * sizeof planner.blocks[0]),
                              .block_of = wnn_arena_allocate(&arena, graph->operand_count * sizeof(size_t)),
                              .within = wnn_arena_allocate(&arena, graph->operand_count * sizeof(size_t)),
                              .last_use = wnn_arena_allocate(&arena, graph->operand_count * sizeof(size_t))};
    struct block **lists = wnn_arena_allocate(&arena, 3 * most * sizeof lists[0]);
    bool enough = planner.blocks && planner.block_of && planner.within && planner.last_use && lists;
    if (enough) {
        find_last_uses(&planner);
        make_blocks(context, &planner);
        for (size_t i = 0; i < planner.count; i++)
            lists[i] = &planner.blocks[i];
        plan->arena_bytes = planner.count <= THOROUGH
                                ? pack_thoroughly(&planner, lists, lists + most)
                                : pack_quickly(&planner, lists, lists + most, lists + 2 * most);
        set_offsets(&planner, plan);
    }
    wnn_arena_free(&arena);
    return enough || wnn_fail_memory(context->error);
}
