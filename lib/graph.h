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
#include "lib/size.h"
#include "lib/status.h"
#include "lib/string_pool.h"
#include "lib/text.h"

struct node;
struct graph;
struct values;

// Where the bytes of an operand of a plan are.
enum {
    PLACE_NONE,
    PLACE_INPUT,
    PLACE_OUTPUT,
    PLACE_CONSTANT,
    PLACE_ARENA
};

// What few operands have.
struct operand_details {
    struct string name; // of an input; empty otherwise; in graph->strings
    // Of an input some of whose dimensions were given names, or none on purpose: by dimension the sizes that
    // were allowed, before what others of the name allow; of the other dimensions min is above max. NULL:
    // none.
    const struct bounds *named;
    const void *origin;          // the tensor behind a constant(tensor), or NULL
    const struct values *values; // what is known of its elements while recording (ops/values.h), or NULL
};

// What WNNOperand points to.
// Builders have one for every intermediate result: members stand so that nothing is between them.
struct operand {
    struct graph *graph;
    uint32_t index;  // in graph->operands
    uint16_t output; // which output of the producer
    bool input;
    bool unranked; // sizes that are not known will tell the rank, too, which is 0 until then (ops/unranked.h)
    struct descriptor type;
    struct operand_details *details; // NULL: none of them, see wnn_details
    struct constant *constant;       // NULL unless the operand is constant; the graph holds a reference
    struct node *producer;           // NULL for inputs and constants
    struct operand *link;            // scratch of one pass: the operand that stands for this one
    // For the compiler; those of builders have no room for what follows.
    uint32_t uses; // consumers and graph outputs, counted by wnn_graph_count_uses
    // Its bytes lie in an order of the backend's, of which the type says nothing; the constant's origin, if
    // it has one, is of these bytes in their own order.
    bool arranged;
    unsigned char arrangement; // a backend's: the order in which lower() has yet to put its bytes, or 0
    const struct operand *replacement; // what a pass has put in its place for good, or NULL
    struct placement {
        size_t offset; // in the arena; an output has one too, for when it is not bound
        size_t within; // PLACE_OUTPUT: bytes from the beginning of the output, of a part of it
        unsigned slot; // of the graph's inputs or outputs
        uint8_t place; // PLACE_NONE ...
        bool staged;   // an input that is copied to its place in the arena before the run
    } placement;
};

// An operator that is applied to single elements (or, for softmax, rows): what WNNActivation points to.
struct activation {
    const struct graph *graph; // of the builder that made it
    uint16_t op;               // enum op
    const void *attrs;         // of the operator of that name, complete
};

// One operator of single elements. A value is known by its number: the inputs of the whole come first, then
// the results of the steps. All results have as many elements.
struct elementwise_step {
    uint16_t op;             // enum op
    uint8_t in_count, in[3]; // numbers of values
    uint8_t output;          // which output of the whole the result is, or WNN_NO_OUTPUT
    const void *attrs;       // of the operator, complete
    struct descriptor type;  // of the result
};

enum {
    WNN_NO_OUTPUT = 0xFF,
    WNN_ELEMENTWISE_INPUTS = 8,
    WNN_ELEMENTWISE_STEPS = 32,
    WNN_ELEMENTWISE_OUTPUTS = 4
};

// What a node computes beside its operator: of the elements that it reads as input `at` (a prologue), or that
// its operator makes (an epilogue, at WNN_AT_OUTPUT). Value 0 is that element, the next are the expression's
// own operands at the same place, behind them are the results of the steps, the last of which takes the place
// of value 0. So the operator sees an input of the last step's type, and makes an output of the type `from`.
struct expression {
    const struct expression *next;
    unsigned at;
    WNNDataType from;              // of value 0
    unsigned first, operand_count; // its operands in node.in
    unsigned count;                // of the steps
    const struct elementwise_step *steps;
};

#define WNN_AT_OUTPUT (~0u)

// Packed weights in memory that a graph was loaded from, aligned to WNN_ALIGNMENT and followed by WNN_SLACK.
// Nothing is known of the bytes but their number.
struct stored_weights {
    const void *data;
    uint64_t bytes;
};

enum {
    WNN_CODE_KEY = 32 // bytes
};

// Code for a device that a graph was loaded with, under a key that the backend has made of what the code is
// to do.
struct stored_code {
    unsigned char key[WNN_CODE_KEY];
    const void *data;
    uint64_t bytes;
};

struct node {
    uint32_t index;      // in graph->nodes
    uint16_t op;         // enum op
    struct string label; // in graph->strings
    // The operator's attributes: its options struct, or the struct of ops/op.h that holds one. Complete: no
    // list is absent, every number is converted to the data type it is used with.
    void *attrs;
    // In the order of the operator's rows in ops.def; an optional operand that is not given is NULL. The
    // operands of fused expressions stand behind the `in_count` of the operator.
    struct operand **in, **out;
    unsigned in_count, out_count;
    // At most one for each input and the output, the last to be put here first; NULL in a builder. The shapes
    // of inputs are as the operator takes them; the output may have another shape of as many elements than
    // the steps.
    const struct expression *fused;
    // For the compiler; those of builders have no room for what follows.
    // In a plan: the nodes of a level follow each other and do not wait for one another; put here by
    // compiler/order_levels.c.
    uint32_t level;
    // In a plan: the input of the graph that output 0, which is one of its outputs, can take the place of,
    // since all other readers of it come before the node; or NULL. Put here by compiler/order_reads.c.
    const struct operand *overwrites;
    // For the backend: those that read what the node makes may compute it themselves, so that what it reads
    // is needed as long as what it makes (backend.partition).
    bool deferred;
    // For the backend: what it chose for the node, what it found out for that (in the graph's arena, or
    // NULL), and memory that the node needs while it runs.
    unsigned lowering;
    const void *choice;
    size_t scratch_bytes, scratch_offset;
    const void *target; // graph->target
    // In a plan that was loaded: its weights as the backend has packed them; NULL: it packs them anew.
    const struct stored_weights *stored;
    // In a plan that has been lowered: what computes the node, and why nothing else that the backend has for
    // it; static text, NULL where the backend does not say.
    const char *kernel, *reason;
};

// All operands in node.in: the operator's and those of fused expressions.
static inline unsigned wnn_operand_count(const struct node *node)
{
    return node->fused ? node->fused->first + node->fused->operand_count : node->in_count;
}

// How many of them are that operand.
static inline size_t wnn_node_reads(const struct node *node, const struct operand *operand)
{
    size_t count = 0;
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        count += node->in[i] == operand;
    return count;
}

// What is fused at input `at` or WNN_AT_OUTPUT, or NULL.
static inline const struct expression *wnn_fused(const struct node *node, unsigned at)
{
    const struct expression *fused = node->fused;
    while (fused && fused->at != at)
        fused = fused->next;
    return fused;
}

static inline const struct operand_details *wnn_details(const struct operand *operand)
{
    static const struct operand_details none = {.name = {"", 0}};
    return operand->details ? operand->details : &none;
}

static inline struct string wnn_operand_name(const struct operand *operand)
{
    return wnn_details(operand)->name;
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
    bool in_builder;             // its operands and nodes are not compiled, and end before what is for that
    struct string_pool *strings; // a reference; NULL while there are none
    struct size_table sizes;     // that dimensions refer to; none in a plan
    struct operand **operands;
    size_t operand_count, operand_capacity;
    struct node **nodes;
    size_t node_count, node_capacity;
    // Empty in a builder.
    struct graph_port *inputs, *outputs;
    size_t input_count, output_count;
    // Of a specialization: the graph that it is of, whose dimensions have names, and which outlives it; or
    // NULL.
    const struct graph *recorded;
    // For the backend (backend.target): what the graph is compiled for, where that is known.
    const void *target;
    uint64_t constant_bytes;
    uint64_t work; // of what was recorded: multiply-adds, saturating
    // What the graph was loaded from, where constants and stored weights lie; or NULL. A reference.
    struct constant *source;
    // Code that came with it, if the host vouches for that; it lies in `source`.
    const struct stored_code *code;
    size_t code_count;
};

void wnn_graph_init(struct graph *graph, struct allocator *allocator);
void wnn_graph_free(struct graph *graph); // releases the constants and strings too

// Counts uses anew.
void wnn_graph_count_uses(struct graph *graph);

// NULL when memory runs out. The constant's reference passes to the graph (released on failure too).
struct operand *wnn_graph_add_operand(struct graph *graph, const struct descriptor *type);
struct operand *wnn_graph_add_constant(struct graph *graph, const struct descriptor *type,
                                       struct constant *constant);

// A copy that is not in the graph, and as large as what it is of; NULL when memory runs out.
struct operand *wnn_graph_copy_operand(const struct operand *operand, struct arena *arena);

// The details of an operand, to be written; NULL when memory runs out.
struct operand_details *wnn_graph_detail(struct operand *operand);

// Lets the graph be compiled for a target, with all nodes that it has and will have.
void wnn_graph_set_target(struct graph *graph, const void *target);

// A node without attributes, with room for its operands; outputs are made of `types`. NULL when memory runs
// out.
struct node *wnn_graph_add_node(struct graph *graph, uint16_t op, unsigned in_count, unsigned out_count,
                                const struct descriptor *types);

// Lets everything that uses an operand with a `link` use what it links to, which becomes its replacement,
// sets all links to NULL, and drops the nodes for which `drop` (of one byte a node) is not 0. Linear; `drop`
// may be NULL.
void wnn_graph_rewire(struct graph *graph, const unsigned char *drop);

#endif
