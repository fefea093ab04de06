// SPDX-License-Identifier: Apache-2.0
//
// Requires: the graph as the backend will run it, with node->scratch_bytes, node->level and placement.staged
// set. Time goes by levels.
// Guarantees: every operand has a place, no two that are needed at one time share memory, and
// node->scratch_offset is set. A node's output takes the place of an input that ends with it where the
// backend allows it. What reshape, identity, slice and split make of an operand in the arena is a view of it,
// if its elements lie in one piece there, as is what reshape and identity make of inputs and outputs of the
// graph; and what concat joins along its first dimension (but for such of size 1), or reshape and identity
// make an output of the graph of, is computed into their output, unless that costs much memory.

#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

// What a packing may look at: pairs of blocks that are needed at one time, so many for each block, as if
// there were FEW_BLOCKS more; or all pairs, if there are no more. Other graphs are packed quickly.
#define PAIRS      64
#define FEW_BLOCKS 4096
#define ALL_PAIRS  ((size_t)1 << 23)

// To find a block that is needed at the same time takes as long as to look at so many.
#define FIND_COST 16

// Views of views that a part of a concat is followed through.
#define MAX_VIEWS 16

// What computing inputs where they would be copied to may cost.
#define JOIN_BYTES 65536

// A piece of the arena, needed on the levels from `first` to `last`.
struct block {
    size_t bytes, offset;
    size_t best; // offset
    size_t first, last;
    bool viewed; // several operands lie in it
    bool kept;   // for the readers of what a deferred node makes, which read it anywhere while they write
    size_t rank; // by `first`
};

// What the backend had chosen for a node.
struct choice {
    unsigned lowering;
    size_t scratch_bytes;
};

// The last level on which an operand is needed, SIZE_MAX: an output; and who reads it there.
struct use {
    size_t level;
    const struct node *reader;
    bool shared; // by other nodes of the level
    bool kept;   // a deferred node reads it
};

struct planner {
    const struct pass_context *context;
    struct graph *graph;
    const struct choice *chosen; // by node
    struct block *blocks;
    size_t count;
    size_t *block_of;     // by operand: index of its block, or SIZE_MAX
    size_t *within;       // by operand: bytes from the beginning of its block
    struct use *last_use; // by operand
    unsigned char *fixed; // by node: an output has a place that is not its own in the arena
    bool joined;          // something was computed into the output of a node that would copy it
};

static size_t padded(size_t bytes)
{
    return wnn_aligned(bytes + WNN_SLACK);
}

static size_t add_block(struct planner *planner, size_t bytes, size_t first, size_t last)
{
    planner->blocks[planner->count] = (struct block){.bytes = padded(bytes), .first = first, .last = last};
    return planner->count++;
}

static void note_reader(struct use *use, const struct node *node)
{
    if (use->reader != node)
        *use = (struct use){node->level, node, use->reader && use->level == node->level, false};
}

static void find_last_uses(struct planner *planner)
{
    const struct graph *graph = planner->graph;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        for (unsigned j = 0; j < node->out_count; j++)
            planner->last_use[node->out[j]->index] =
                (struct use){.level = node->level}; // not read: needed while it is written
        for (unsigned j = 0; j < wnn_operand_count(node); j++)
            if (node->in[j])
                note_reader(&planner->last_use[node->in[j]->index], node);
    }
    for (size_t i = 0; i < graph->output_count; i++)
        planner->last_use[graph->outputs[i].operand->index].level = SIZE_MAX;
}

static void keep(struct use *use, size_t *reach, size_t last)
{
    use->kept = true;
    if (use->level < last)
        *use = (struct use){.level = last, .kept = true};
    if (*reach < last)
        *reach = last;
}

// What deferred nodes read is needed as long as what they make, whoever hands that on. `reach` has room for a
// level an operand: the last on which it, or what hands it on, is needed.
static void extend_last_uses(struct planner *planner, size_t *reach)
{
    const struct graph *graph = planner->graph;
    for (size_t i = 0; i < graph->operand_count; i++)
        reach[i] = planner->last_use[i].level;
    for (size_t i = graph->node_count; i-- > 0;) {
        const struct node *node = graph->nodes[i];
        if (wnn_op_hands_on((enum op)node->op) && reach[node->out[0]->index] > reach[node->in[0]->index])
            reach[node->in[0]->index] = reach[node->out[0]->index];
        for (unsigned j = 0; node->deferred && j < wnn_operand_count(node); j++)
            if (node->in[j])
                keep(&planner->last_use[node->in[j]->index], &reach[node->in[j]->index],
                     reach[node->out[0]->index]);
    }
}

static bool is_alone(const struct graph *graph, size_t i)
{
    return (i == 0 || graph->nodes[i - 1]->level != graph->nodes[i]->level) &&
           (i + 1 == graph->node_count || graph->nodes[i + 1]->level != graph->nodes[i]->level);
}

// Whether nothing but input `j` of node `i` needs the block that the input lies in, from then on.
static bool ends_with(const struct planner *planner, size_t i, unsigned j)
{
    const struct node *node = planner->graph->nodes[i];
    const struct use *use = &planner->last_use[node->in[j]->index];
    size_t block = planner->block_of[node->in[j]->index];
    if (planner->blocks[block].kept)
        return false;
    if (!planner->blocks[block].viewed)
        return use->level == node->level && !use->shared;
    // Views go on as long as the block does.
    if (!is_alone(planner->graph, i))
        return false;
    for (unsigned k = 0; k < wnn_operand_count(node); k++)
        if (node->in[k] && node->in[k] != node->in[j] && planner->block_of[node->in[k]->index] == block)
            return false;
    return planner->blocks[block].last == node->level && planner->within[node->in[j]->index] == 0 &&
           planner->blocks[block].bytes == padded(wnn_descriptor_bytes(&node->in[j]->type));
}

// The input whose block output 0 of node `i` can take over, or NULL.
static struct operand *reusable_input(const struct planner *planner, size_t i)
{
    const struct pass_context *context = planner->context;
    const struct node *node = planner->graph->nodes[i];
    if (!context->backend->in_place || node->out[0]->placement.place == PLACE_OUTPUT ||
        planner->block_of[node->out[0]->index] != SIZE_MAX)
        return NULL;
    size_t bytes = wnn_descriptor_bytes(&node->out[0]->type);
    for (unsigned j = 0; j < wnn_operand_count(node); j++) {
        struct operand *input = node->in[j];
        if (!input || input->placement.place != PLACE_ARENA || wnn_descriptor_bytes(&input->type) != bytes ||
            !ends_with(planner, i, j))
            continue;
        if (wnn_may_overwrite(context, node, input))
            return input;
    }
    return NULL;
}

static void place_operand(struct planner *planner, struct operand *operand, size_t first)
{
    if (planner->block_of[operand->index] != SIZE_MAX) // a part of what a concat makes
        return;
    size_t last = planner->last_use[operand->index].level;
    planner->block_of[operand->index] = add_block(planner, wnn_descriptor_bytes(&operand->type), first, last);
    planner->blocks[planner->count - 1].kept = planner->last_use[operand->index].kept;
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

// Whether the outputs of a node can be views of its input, from element `first` on: only what lies in the
// arena anyway.
static bool is_view(const struct planner *planner, const struct node *node, size_t *first)
{
    if (!planner->context->backend->views || node->in_count == 0 ||
        node->in[0]->placement.place != PLACE_ARENA || node->fused || planner->fixed[node->index] ||
        wnn_dtype_bits(node->in[0]->type.type) < 8)
        return false;
    return is_pieces(node, first);
}

static void lower_to_view(struct node *node)
{
    node->lowering = WNN_LOWER_VIEW;
    node->scratch_bytes = 0;
}

// An operand lies in a block of others.
static void share_block(struct planner *planner, const struct operand *operand, size_t number, size_t at)
{
    struct block *block = &planner->blocks[number];
    planner->block_of[operand->index] = number;
    planner->within[operand->index] = at;
    if (planner->last_use[operand->index].level > block->last)
        block->last = planner->last_use[operand->index].level;
    block->viewed = true;
    block->kept |= planner->last_use[operand->index].kept;
}

// Lets what has the elements of an input or an output of the graph lie where the caller has that; of an
// output also in its block, where it lies when the caller has no place for it.
static bool place_on_port(struct planner *planner, struct node *node)
{
    struct operand *output = node->out[0];
    if (!planner->context->backend->views || !wnn_op_hands_on((enum op)node->op) || node->fused ||
        output->placement.place != PLACE_ARENA || planner->block_of[output->index] != SIZE_MAX)
        return false;
    const struct operand *port = node->in[0];
    if (port->placement.place == PLACE_OUTPUT)
        share_block(planner, output, planner->block_of[port->index], planner->within[port->index]);
    else if (port->placement.place != PLACE_INPUT || port->placement.staged)
        return false;
    output->placement.place = port->placement.place;
    output->placement.slot = port->placement.slot;
    output->placement.within = port->placement.within;
    lower_to_view(node);
    return true;
}

static bool place_views(struct planner *planner, struct node *node)
{
    size_t first;
    if (!is_view(planner, node, &first))
        return false;
    size_t number = planner->block_of[node->in[0]->index];
    size_t at = planner->within[node->in[0]->index] + first * (wnn_dtype_bits(node->in[0]->type.type) / 8);
    size_t end = at, alignment = planner->context->backend->view_alignment;
    for (unsigned j = 0; alignment && j < node->out_count; j++) {
        if (end % alignment != 0)
            return false;
        end += wnn_descriptor_bytes(&node->out[j]->type);
    }
    for (unsigned j = 0; j < node->out_count; j++) {
        share_block(planner, node->out[j], number, at);
        at += wnn_descriptor_bytes(&node->out[j]->type);
    }
    lower_to_view(node);
    return true;
}

// Whether the inputs of a node lie in its output as they are, one behind the other, where views may begin:
// the parts of a concat, and what is an output of the graph in another shape.
static bool is_joint(const struct planner *planner, const struct node *node)
{
    const struct operand *output = node->out[0];
    size_t alignment = planner->context->backend->view_alignment;
    if (wnn_op_hands_on((enum op)node->op))
        return planner->context->backend->views && !node->fused && output->placement.place == PLACE_OUTPUT;
    if (!planner->context->backend->concat_in_place || node->op != WNN_OP_concat || node->fused ||
        wnn_dtype_bits(output->type.type) < 8)
        return false;
    for (unsigned i = 0; i < ((const struct concat_attrs *)node->attrs)->axis; i++)
        if (output->type.shape.dim[i] != 1)
            return false;
    for (unsigned i = 0; alignment && i + 1 < node->in_count; i++)
        if (wnn_descriptor_bytes(&node->in[i]->type) % alignment != 0)
            return false;
    return true;
}

// What has to be computed into a place for the operand to lie there: what it is a view of, if it will be one
// as a whole.
static struct operand *source_of(const struct planner *planner, struct operand *operand)
{
    size_t first;
    for (unsigned i = 0;
         i < MAX_VIEWS && operand->producer && wnn_op_hands_on((enum op)operand->producer->op) &&
         is_view(planner, operand->producer, &first);
         i++)
        operand = operand->producer->in[0];
    return operand;
}

// Whether a part of the operand can be a view of it, as long as it lies in the arena.
static bool is_cut(const struct planner *planner, const struct operand *operand)
{
    const struct graph *graph = planner->graph;
    size_t i = operand->producer->index + 1u, first;
    while (i < graph->node_count &&
           !(graph->nodes[i]->in_count > 0 && graph->nodes[i]->in[0] == operand &&
             !wnn_op_hands_on((enum op)graph->nodes[i]->op) && is_view(planner, graph->nodes[i], &first)))
        i++;
    return i < graph->node_count;
}

// Lets what a node joins be computed where it belongs, in the output's memory: whatever is computed, has no
// other place and is not a view. The rest is copied there. The output has the place of a part itself, or gets
// a block.
static void place_parts(struct planner *planner, const struct node *node)
{
    struct operand *output = node->out[0];
    size_t *block = &planner->block_of[output->index], at = planner->within[output->index], first;
    for (unsigned i = 0; i < node->in_count; i++) {
        struct operand *part =
            output->placement.place == PLACE_ARENA ? source_of(planner, node->in[i]) : node->in[i];
        size_t bytes = wnn_descriptor_bytes(&part->type);
        if (part->producer && part->placement.place == PLACE_ARENA &&
            planner->block_of[part->index] == SIZE_MAX && !is_view(planner, part->producer, &first) &&
            !(wnn_op_hands_on((enum op)node->op) && is_cut(planner, part))) {
            if (*block == SIZE_MAX)
                place_operand(planner, output, node->level);
            planner->fixed[node->index] = planner->fixed[part->producer->index] = 1;
            planner->joined = true;
            share_block(planner, part, *block, at);
            if (planner->blocks[*block].first > part->producer->level)
                planner->blocks[*block].first = part->producer->level;
            part->placement.place = output->placement.place;
            part->placement.slot = output->placement.slot;
            part->placement.within = part->placement.place == PLACE_OUTPUT ? at : 0;
        }
        at += bytes;
    }
}

// Whether all inputs lie where the node would copy them to.
static bool is_complete(const struct planner *planner, const struct node *node)
{
    size_t block = planner->block_of[node->out[0]->index], at = planner->within[node->out[0]->index];
    for (unsigned i = 0; i < node->in_count; i++) {
        const struct operand *part = node->in[i];
        if (planner->block_of[part->index] != block || planner->within[part->index] != at ||
            part->placement.place != node->out[0]->placement.place)
            return false;
        at += wnn_descriptor_bytes(&part->type);
    }
    return true;
}

// `join`: inputs are computed into the outputs of nodes that would copy them, where they can be.
static void make_blocks(struct planner *planner, bool join)
{
    struct graph *graph = planner->graph;
    planner->count = 0;
    planner->joined = false;
    for (size_t i = 0; i < graph->node_count; i++) {
        graph->nodes[i]->lowering = planner->chosen[i].lowering;
        graph->nodes[i]->scratch_bytes = planner->chosen[i].scratch_bytes;
        planner->fixed[i] = 0;
    }
    for (size_t i = 0; i < graph->operand_count; i++) {
        struct operand *operand = graph->operands[i];
        planner->block_of[i] = SIZE_MAX;
        planner->within[i] = 0;
        operand->placement.within = 0;
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
        planner->fixed[operand->producer->index] = 1;
    }
    // From the end: what one concat makes may be a part of another.
    for (size_t i = graph->node_count; join && i-- > 0;)
        if (is_joint(planner, graph->nodes[i]))
            place_parts(planner, graph->nodes[i]);
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        struct operand *reused = reusable_input(planner, i);
        if (!reused && (place_on_port(planner, node) || place_views(planner, node)))
            continue;
        if (is_joint(planner, node) && planner->block_of[node->out[0]->index] != SIZE_MAX &&
            is_complete(planner, node)) {
            lower_to_view(node);
            continue;
        }
        for (unsigned j = 0; j < node->out_count; j++) {
            struct operand *output = node->out[j];
            if (j == 0 && reused) {
                size_t block = planner->block_of[reused->index], first;
                planner->block_of[output->index] = block;
                planner->blocks[block].last = planner->last_use[output->index].level;
                planner->blocks[block].kept = planner->last_use[output->index].kept;
                if (reused == node->in[0] && is_view(planner, node, &first)) // all of it, which is there
                    lower_to_view(node);
            } else {
                place_operand(planner, output, node->level);
            }
        }
        if (node->scratch_bytes)
            node->scratch_offset = add_block(planner, node->scratch_bytes, node->level, node->level);
    }
}

static int earlier_first(const void *a, const void *b)
{
    const struct block *x = *(const struct block *const *)a, *y = *(const struct block *const *)b;
    return (x->first > y->first) - (x->first < y->first);
}

static int compare_sizes(double x, double y, const void *a, const void *b)
{
    return x != y ? (x < y ? 1 : -1) : earlier_first(a, b);
}

static int larger_first(const void *a, const void *b)
{
    const struct block *x = *(const struct block *const *)a, *y = *(const struct block *const *)b;
    return compare_sizes((double)x->bytes, (double)y->bytes, a, b);
}

static double duration(const struct block *block)
{
    return (double)block->last - (double)block->first + 1;
}

static int longer_first(const void *a, const void *b)
{
    return compare_sizes(duration(*(const struct block *const *)a), duration(*(const struct block *const *)b),
                         a, b);
}

static int more_first(const void *a, const void *b)
{
    const struct block *x = *(const struct block *const *)a, *y = *(const struct block *const *)b;
    return compare_sizes((double)x->bytes * duration(x), (double)y->bytes * duration(y), a, b);
}

// The blocks that have been packed. Where few are needed at one time: a binary tree over all blocks in the
// order in which they begin, whose nodes know when the last range packed below them ends. Else a
// list.
struct timeline {
    struct block **begins; // all blocks, by `first`
    size_t count, leaves;  // the leaves are a power of two
    size_t *latest;        // by tree node, 1 is the root: `last` + 1; 0: nothing is packed
    bool lists;
    struct block **packed; // by offset
    size_t packed_count;
    struct block **found; // by find_overlapping
    size_t found_count;
};

static void begin_packing(struct timeline *timeline)
{
    timeline->packed_count = 0;
    if (!timeline->lists)
        memset(timeline->latest, 0, 2 * timeline->leaves * sizeof timeline->latest[0]);
}

static void note_packed(struct timeline *timeline, struct block *block)
{
    size_t end = block->last == SIZE_MAX ? SIZE_MAX : block->last + 1;
    if (timeline->lists) {
        size_t j = timeline->packed_count++;
        for (; j > 0 && timeline->packed[j - 1]->offset > block->offset; j--)
            timeline->packed[j] = timeline->packed[j - 1];
        timeline->packed[j] = block;
        return;
    }
    for (size_t i = timeline->leaves + block->rank; i > 0 && timeline->latest[i] < end; i /= 2)
        timeline->latest[i] = end;
}

// Adds to `found`, of the `width` blocks from number `first` on that are below tree node `i`, those that are
// packed and needed at one time with the block.
static void search(struct timeline *timeline, const struct block *block, size_t i, size_t first, size_t width)
{
    if (timeline->latest[i] <= block->first || timeline->begins[first]->first > block->last)
        return;
    if (width == 1) {
        timeline->found[timeline->found_count++] = timeline->begins[first];
        return;
    }
    search(timeline, block, 2 * i, first, width / 2);
    search(timeline, block, 2 * i + 1, first + width / 2, width / 2);
}

static int lower_first(const void *a, const void *b)
{
    const struct block *x = *(const struct block *const *)a, *y = *(const struct block *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

// The packed blocks that are needed at one time with the block, by offset.
static void find_overlapping(struct timeline *timeline, const struct block *block)
{
    timeline->found_count = 0;
    for (size_t i = 0; timeline->lists && i < timeline->packed_count; i++) {
        struct block *other = timeline->packed[i];
        if (other->last >= block->first && other->first <= block->last)
            timeline->found[timeline->found_count++] = other;
    }
    if (timeline->lists)
        return;
    search(timeline, block, 1, 0, timeline->leaves);
    if (timeline->found_count > 1)
        qsort(timeline->found, timeline->found_count, sizeof timeline->found[0], lower_first);
}

// The blocks in their order, each into the tightest gap between those that are needed at the same time.
// SIZE_MAX: that takes too long.
static size_t fill_gaps(struct timeline *timeline, struct block *const *order)
{
    size_t end = 0;
    begin_packing(timeline);
    for (size_t i = 0; i < timeline->count; i++) {
        struct block *block = order[i];
        size_t at = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
        find_overlapping(timeline, block);
        for (size_t j = 0; j < timeline->found_count; j++) {
            const struct block *other = timeline->found[j];
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
        note_packed(timeline, block);
    }
    return end;
}

// The most that is needed at one time, which no packing can go below. `change` has room for a number a node,
// and one.
static size_t find_peak(const struct planner *planner, size_t *change)
{
    size_t nodes = planner->graph->node_count, now = 0, peak = 0;
    memset(change, 0, (nodes + 1) * sizeof change[0]);
    for (size_t i = 0; i < planner->count; i++) {
        const struct block *block = &planner->blocks[i];
        change[block->first] += block->bytes;
        change[block->last < nodes ? block->last + 1 : nodes] -= block->bytes; // modulo
    }
    for (size_t i = 0; i < nodes; i++) {
        now += change[i];
        peak = now > peak ? now : peak;
    }
    return peak;
}

// How many pairs of blocks are needed at one time. `begins`: by `first`; `ended` has room for a number a
// level, and one.
static size_t count_pairs(struct block *const *begins, size_t count, size_t levels, size_t *ended)
{
    memset(ended, 0, (levels + 1) * sizeof ended[0]);
    size_t pairs = 0, live = 0, level = 0;
    for (size_t i = 0; i < count; i++) {
        for (; level < begins[i]->first; level++)
            live -= ended[level];
        pairs += live++;
        ended[begins[i]->last < levels ? begins[i]->last : levels]++;
    }
    return pairs;
}

// In one order after the other, until one needs no more than the peak; the best counts. SIZE_MAX: that would
// take too long. The first two lists have all blocks in any order; `numbers` has room for four a block and
// node, and four.
static size_t pack_thoroughly(struct planner *planner, struct block **lists, size_t most, size_t *numbers)
{
    static int (*const orders[])(const void *, const void *) = {larger_first, more_first, longer_first,
                                                                earlier_first};
    size_t count = planner->count, peak = find_peak(planner, numbers), best = SIZE_MAX;
    struct block **order = lists;
    struct timeline timeline = {.begins = lists + most,
                                .count = count,
                                .leaves = 1,
                                .latest = numbers,
                                .packed = lists + 2 * most,
                                .found = lists + 3 * most};
    qsort(timeline.begins, count, sizeof timeline.begins[0], earlier_first);
    for (size_t i = 0; i < count; i++)
        timeline.begins[i]->rank = i;
    while (timeline.leaves < count)
        timeline.leaves *= 2;
    size_t pairs = count_pairs(timeline.begins, count, planner->graph->node_count, numbers);
    timeline.lists = count * count / 2 <= ALL_PAIRS && count * count / 2 <= FIND_COST * pairs;
    if (!timeline.lists && pairs > PAIRS * (count + FEW_BLOCKS))
        return SIZE_MAX;
    for (unsigned i = 0; i < sizeof orders / sizeof orders[0] && best > peak; i++) {
        qsort(order, count, sizeof order[0], orders[i]);
        size_t end = fill_gaps(&timeline, order);
        for (size_t j = 0; end < best && j < count; j++)
            planner->blocks[j].best = planner->blocks[j].offset;
        best = end < best ? end : best;
    }
    for (size_t j = 0; j < count; j++)
        planner->blocks[j].offset = planner->blocks[j].best;
    return best;
}

// In the order of time: a block takes the memory of one that has ended and is large enough, if it is among
// the last few that did, or new memory. `ended` has room for all blocks.
static size_t pack_quickly(struct planner *planner, struct block **order, struct block **live,
                           struct block **ended)
{
    enum {
        LOOK = 64
    };
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

// Makes and packs the blocks. Returns the bytes of the arena.
static size_t make_plan(struct planner *planner, bool join, struct block **lists, size_t most,
                        size_t *numbers)
{
    make_blocks(planner, join);
    if (planner->count == 0)
        return 0;
    for (size_t i = 0; i < planner->count; i++)
        lists[i] = lists[most + i] = &planner->blocks[i];
    size_t end = pack_thoroughly(planner, lists, most, numbers);
    return end != SIZE_MAX ? end : pack_quickly(planner, lists, lists + most, lists + 2 * most);
}

bool wnn_plan_memory(struct pass_context *context, struct plan *plan)
{
    struct graph *graph = &plan->graph;
    size_t operands = graph->operand_count, nodes = graph->node_count, most = operands + nodes;
    struct arena arena;
    wnn_arena_init(&arena, context->allocator);
    struct choice *chosen = wnn_arena_allocate(&arena, nodes * sizeof chosen[0]);
    struct planner planner = {.context = context,
                              .graph = graph,
                              .chosen = chosen,
                              .blocks = wnn_arena_allocate(&arena, most * sizeof planner.blocks[0]),
                              .block_of = wnn_arena_allocate(&arena, operands * sizeof(size_t)),
                              .within = wnn_arena_allocate(&arena, operands * sizeof(size_t)),
                              .last_use = wnn_arena_allocate(&arena, operands * sizeof planner.last_use[0]),
                              .fixed = wnn_arena_allocate(&arena, nodes)};
    struct block **lists = wnn_arena_allocate(&arena, 4 * most * sizeof lists[0]);
    size_t *numbers = wnn_arena_allocate(&arena, (4 * most + 4) * sizeof numbers[0]);
    bool enough = chosen && planner.blocks && planner.block_of && planner.within && planner.last_use &&
                  planner.fixed && lists && numbers;
    if (enough) {
        for (size_t i = 0; i < nodes; i++)
            chosen[i] = (struct choice){graph->nodes[i]->lowering, graph->nodes[i]->scratch_bytes};
        memset(planner.last_use, 0, operands * sizeof planner.last_use[0]);
        find_last_uses(&planner);
        extend_last_uses(&planner, numbers);
        plan->arena_bytes = make_plan(&planner, true, lists, most, numbers);
        if (planner.joined) {
            // What saves time may cost memory, if parts are made long before they are joined: some, but not
            // much.
            size_t joined = plan->arena_bytes;
            plan->arena_bytes = make_plan(&planner, false, lists, most, numbers);
            if (joined <= plan->arena_bytes + plan->arena_bytes / 8 + JOIN_BYTES)
                plan->arena_bytes = make_plan(&planner, true, lists, most, numbers);
        }
        set_offsets(&planner, plan);
    }
    wnn_arena_free(&arena);
    return enough || wnn_fail_memory(context->error);
}
