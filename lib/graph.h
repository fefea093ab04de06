// SPDX-License-Identifier: Apache-2.0
//
// The graph: operands, and the nodes that compute them from one another. A builder appends to one, the
// compiler rewrites a copy. Nothing here knows what an operator does.
//
// Invariants (compiler/verify.c checks them): an operand has a producer, a constant, or is an input; nodes
// stand in an order in which producers come before consumers; the operands and nodes of a graph belong to it
// alone.

#ifndef LIB_GRAPH_H_
#define LIB_GRAPH_H_

#include "lib/arena.h"
#include "lib/constant.h"
#include "lib/shape.h"
#include "lib/status.h"
#include "lib/string_pool.h"
#include "lib/text.h"

struct node;
struct graph;

// What WNNOperand points to.
struct operand {
    struct graph *graph;
    uint32_t index; // in graph->operands
    struct descriptor type;
    struct string name; // of an input; empty otherwise; in graph->strings
    bool input;
    struct constant *constant; // NULL unless the operand is constant; the graph holds a reference
    const void *origin;        // the tensor behind a constant(tensor), or NULL
    struct node *producer;     // NULL for inputs and constants
    unsigned output;           // which output of the producer
    // For the compiler:
    uint32_t uses;        // consumers and graph outputs, counted by wnn_graph_count_uses
    struct operand *link; // scratch of one pass: the operand that stands for this one
    struct placement {
        enum {
            PLACE_NONE,
            PLACE_INPUT,
            PLACE_OUTPUT,
            PLACE_CONSTANT,
            PLACE_ARENA
        } place;
        unsigned slot; // of the graph's inputs or outputs
        size_t offset; // in the arena; an output has one too, for when it is not bound
        size_t within; // PLACE_OUTPUT: bytes from the beginning of the output, of a part of it
        bool staged;   // an input that is copied to its place in the arena before the run
    } placement;
};

// An operator that is applied to single elements (or, for softmax, rows): what WNNActivation points to.
struct activation {
    const struct graph *graph; // of the builder that made it
    uint16_t op;               // enum op
    const void *attrs;         // of the operator of that name, complete
};

// Operators of single elements that a node computes on the way: of what it reads as input `at`, or of what
// its own operator and activation make (WNN_AT_OUTPUT). Value 0 is that element, the next are the node's
// inputs from `first` on, behind them are the results of the steps, the last of which takes the place of
// value 0.
struct attached {
    const struct attached *next;
    unsigned at;
    unsigned first, count;
    const void *attrs; // struct elementwise_attrs of ops/op.h
};

#define WNN_AT_OUTPUT (~0u)

struct node {
    uint32_t index;      // in graph->nodes
    uint16_t op;         // enum op
    struct string label; // in graph->strings
    // The operator's attributes: its options struct, or the struct of ops/op.h that holds one. Complete: no
    // list is absent, every number is converted to the data type it is used with.
    void *attrs;
    // In the order of the operator's rows in ops.def; an optional operand that is not given is NULL.
    struct operand **in, **out;
    unsigned in_count, out_count;
    // Applied to out[0] in place, after the operator; put here by compiler/fuse_activations.c, NULL in a
    // builder.
    const struct activation *activation;
    // If not 0, the input, behind those of ops.def, that is added to out[0] before the activation; put here
    // by compiler/fuse_residual.c, 0 in a builder. A node has no addend if it has quantised operands.
    unsigned addend;
    // Quantised operands; put here by compiler/fuse_quantized.c, 0 in a builder. Bit i: in[i] holds integers,
    // and the operator takes dequantizeLinear(in[i], scale, zeroPoint). Bit WNN_QUANTIZED_OUTPUT: out[0] is
    // quantizeLinear of what the operator and its activation compute. Scale and zero point stand behind the
    // operator's own inputs, two for each bit that is set, in the order of the bits.
    uint32_t quantized;
    // At most one for each input and the output, the last to be put here first; by compiler/attach_chains.c,
    // NULL in a builder. Their inputs stand behind all others. The shapes of inputs are as the operator takes
    // them, types may differ.
    const struct attached *attached;
    // In a plan: the nodes of a level follow each other and do not wait for one another; put here by
    // compiler/order_levels.c.
    uint32_t level;
    // For the backend: what it chose for the node, and memory that the node needs while it runs.
    unsigned lowering;
    size_t scratch_bytes, scratch_offset;
    // In a plan that has been lowered: what computes the node, and why nothing else that the backend has for
    // it; static text, NULL where the backend does not say.
    const char *kernel, *reason;
};

#define WNN_QUANTIZED_OUTPUT 31

// The inputs that the operator has by its own rows.
static inline unsigned wnn_own_inputs(const struct node *node)
{
    unsigned count = node->in_count;
    for (const struct attached *attached = node->attached; attached; attached = attached->next)
        count = attached->first;
    return node->addend ? node->addend : count - 2 * (unsigned)__builtin_popcount(node->quantized);
}

// What is attached to input `at` or WNN_AT_OUTPUT, or NULL.
static inline const struct attached *wnn_attached(const struct node *node, unsigned at)
{
    const struct attached *attached = node->attached;
    while (attached && attached->at != at)
        attached = attached->next;
    return attached;
}

// Whether input i (or WNN_QUANTIZED_OUTPUT: the output) is quantised, and where its scale stands among the
// inputs; the zero point is behind it.
static inline bool wnn_is_quantized(const struct node *node, unsigned i)
{
    return node->quantized >> i & 1;
}

static inline unsigned wnn_scale_index(const struct node *node, unsigned i)
{
    return wnn_own_inputs(node) + 2 * (unsigned)__builtin_popcount(node->quantized & ((1u << i) - 1));
}

static inline struct operand *wnn_operand(WNNOperand handle)
{
    return (struct operand *)handle;
}

static inline struct activation *wnn_activation(WNNActivation handle)
{
    return (struct activation *)handle;
}

// An input or output of a graph.
struct graph_port {
    struct string name;
    struct operand *operand;
};

struct graph {
    struct arena arena;
    struct string_pool *strings; // a reference; NULL while there are none
    struct operand **operands;
    size_t operand_count, operand_capacity;
    struct node **nodes;
    size_t node_count, node_capacity;
    // Empty in a builder.
    struct graph_port *inputs, *outputs;
    size_t input_count, output_count;
    uint64_t constant_bytes;
    uint64_t work; // of what was recorded: multiply-adds, saturating
};

void wnn_graph_init(struct graph *graph, struct allocator *allocator);
void wnn_graph_free(struct graph *graph); // releases the constants and strings too

// Counts uses anew.
void wnn_graph_count_uses(struct graph *graph);

// NULL when memory runs out. The constant's reference passes to the graph (released on failure too).
struct operand *wnn_graph_add_operand(struct graph *graph, const struct descriptor *type);
struct operand *wnn_graph_add_constant(struct graph *graph, const struct descriptor *type,
                                       struct constant *constant);

// A node without attributes, with room for its operands; outputs are made of `types`. NULL when memory runs
// out.
struct node *wnn_graph_add_node(struct graph *graph, uint16_t op, unsigned in_count, unsigned out_count,
                                const struct descriptor *types);

// Lets everything that uses an operand with a `link` use what it links to, sets all links to NULL, and drops
// the nodes for which `drop` (of one byte a node) is not 0. Linear; `drop` may be NULL.
void wnn_graph_rewire(struct graph *graph, const unsigned char *drop);

#endif
