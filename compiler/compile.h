// SPDX-License-Identifier: Apache-2.0
//
// The compiler: from the graph that was recorded to a plan that a backend can lower.

#ifndef COMPILER_COMPILE_H_
#define COMPILER_COMPILE_H_

#include "compiler/backend.h"
#include "compiler/explain.h"

struct compile_options {
    const struct backend *backend;
    void *state; // of the backend
    struct allocator *allocator;
    uint32_t skip; // bit i: do not run pass i of the list (prune, and what a plan needs, run in any case)
    const struct interrupt *interrupt; // of the build, or NULL
    bool strict;                       // only passes that keep the numbers of the separate operators
    bool verify;                       // check the invariants after every pass
    bool savable, weightless;          // for the plan
    bool portable;                     // what is computed of constants is to be stored (backend.evaluate)
    bool loaded;                       // the graph is what the passes have made already
    // That other plans of the recorded graph have part in, or NULL; and what is the host's, in which the
    // former has part if there is one, or NULL.
    struct derived *derived, *shared;
    struct workspace *workspace;
    // Who has the bytes of promised constants; NULL, or without `find`: they stay promised, and the plan
    // cannot be lowered.
    const struct resolver *resolver;
    // (optional) Called after every pass with its name.
    void (*observe)(void *argument, const char *pass, const struct graph *graph);
    void *observer;
    struct explainer explainer; // explain NULL: nobody wants to know
};

// The names of the passes, in the order in which they first run; NULL after the last.
extern const char *const wnn_pass_names[];

// The bit of the pass of that name in compile_options.skip, or 0.
uint32_t wnn_pass_bit(const char *name);

// Does once what need not be done for each of the sizes that a recorded graph will have: what is computed of
// its constants. Its operators are those of the table. False: as wnn_compile; the graph is only good for
// being freed.
bool wnn_compile_recorded(const struct compile_options *options, struct graph *graph, struct error *error);

// Turns `graph` into a plan, which takes it over (on failure too). OperationError or OutOfMemory.
bool wnn_compile(const struct compile_options *options, struct graph *graph, struct plan *plan,
                 struct error *error);
void wnn_plan_free(struct plan *plan);

// Whether the graph keeps the invariants of lib/graph.h and each node those of its operator.
bool wnn_verify(const struct graph *graph, const char *pass, struct error *error);

// The graph as text in the syntax of graph files (`y = relu(x);`, one node a line, types behind `//`; the
// statements of an elementwise node in braces; behind `+` the activation), or in DOT, piece by piece to
// `write`.
struct text_sink {
    void (*write)(void *argument, const char *text, size_t length);
    void *argument;
    bool kernels; // the text says what computes each node, and why, if it has been lowered
};
void wnn_dump_text(const struct graph *graph, const struct text_sink *sink);
void wnn_dump_dot(const struct graph *graph, const struct text_sink *sink);

// One node's call, without outputs and semicolon: "conv2d(x, w, strides=[2, 2])". `name` gives the name of an
// operand.
void wnn_dump_call(const struct node *node,
                   void (*name)(void *argument, const struct operand *operand, struct text *text),
                   void *argument, struct text *text);

#endif
