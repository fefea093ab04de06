// SPDX-License-Identifier: Apache-2.0
//
// What passes that replace nodes share: new nodes, moved results, values of constants.

#ifndef COMPILER_REWRITE_H_
#define COMPILER_REWRITE_H_

#include "compiler/passes.h"

// Whether there is a node of the operator.
bool wnn_rewrite_has(const struct graph *graph, enum op op);

// The attributes of an operator when no option is given, to be changed; NULL when memory runs out.
void *wnn_rewrite_attrs(struct graph *graph, enum op op);

// A copy of a list. False: out of memory.
bool wnn_rewrite_list(struct graph *graph, WNNUint32List *list, const uint32_t *items, size_t count);

// The permutation of a transpose.
static inline WNNUint32List wnn_rewrite_order_of(const struct node *transpose)
{
    return ((const WNNTransposeOptions *)transpose->attrs)->permutation;
}

// Whether elements keep their order in a transpose with a result of that shape: it moves dimensions of size 1
// alone.
bool wnn_rewrite_moves_nothing(const uint32_t *permutation, const struct shape *result);

// What a transpose, a reshape from one shape to another, and another transpose do together: a transpose of
// what is in front of them in the shape `split`, of no more dimensions than are needed. Rank 0 or 1: nothing
// moves. False: the reshape mixes what the transposes move apart, or there would be too many dimensions.
struct rewrite_move {
    struct shape split;
    uint32_t permutation[WNN_MAX_RANK];
};
bool wnn_rewrite_join(WNNUint32List first, const struct shape *from, const struct shape *to,
                      WNNUint32List second, struct rewrite_move *joined);

// Whether they undo each other.
bool wnn_rewrite_restores(WNNUint32List first, const struct shape *from, const struct shape *to,
                          WNNUint32List second);

// Appends a node of one input and one output, which is to stand right before the node of index `before` once
// wnn_rewrite_order has run. NULL when memory runs out.
struct node *wnn_rewrite_add(struct graph *graph, enum op op, struct operand *in,
                             const struct descriptor *out, void *attrs, size_t before);

// Likewise one of two inputs, without options. NULL as well when memory has run out for an input.
struct node *wnn_rewrite_combine(struct graph *graph, enum op op, struct operand *a, struct operand *b,
                                 const struct descriptor *out, size_t before);

struct node *wnn_rewrite_add_reshape(struct graph *graph, struct operand *in, const struct descriptor *out,
                                     size_t before);

// The results of such nodes, or the operand itself if it has that shape or type; NULL when memory runs out,
// or has run out for `in`.
struct operand *wnn_rewrite_reshape(struct graph *graph, struct operand *in, const struct shape *shape,
                                    size_t before);
struct operand *wnn_rewrite_transpose(struct graph *graph, struct operand *in, const uint32_t *permutation,
                                      size_t before);
struct operand *wnn_rewrite_cast(struct graph *graph, struct operand *in, WNNDataType type, size_t before);
struct operand *wnn_rewrite_expand(struct graph *graph, struct operand *in, const struct shape *shape,
                                   size_t before);
struct operand *wnn_rewrite_slice(struct graph *graph, struct operand *in, const uint32_t *starts,
                                  const struct shape *sizes, size_t before);

// The node makes output 0 of the operand by giving it another shape, or another order of its dimensions, from
// now on. False: out of memory.
bool wnn_rewrite_become_reshape(struct graph *graph, struct node *node, struct operand *in);
bool wnn_rewrite_become_transpose(struct graph *graph, struct node *node, struct operand *in,
                                  const uint32_t *permutation);

// Moves the nodes from number `old_count` on to where they belong, in the order in which they were added.
bool wnn_rewrite_order(struct pass_context *context, struct graph *graph, size_t old_count);

// The same, lets everything use what operands link to, and drops what nothing uses any more.
bool wnn_rewrite_finish(struct pass_context *context, struct graph *graph, size_t old_count);

// `into` computes what was output 0 of `node` from now on; `node` is left without inputs and with a result
// that nothing uses, for prune to drop.
void wnn_rewrite_take_over(struct node *into, struct node *node);

// Matrices that `expand` repeats, `times` each: [b, g, 1, d, n] to [b, g, times, d, n], which a reshape joins
// to [b, g * times, d, n]; or, not joined, [b, 1, d, n] to [b, times, d, n].
struct rewrite_repeated {
    struct operand *source;       // what is expanded
    const struct node *transpose; // of the last two dimensions, behind all that; or NULL
    struct shape shape;           // of the matrices once, before it
    uint32_t times;
    bool joined;
};
// False: the operand is nothing like that; *reason says why not, NULL if nothing is near.
bool wnn_rewrite_find_repeated(struct operand *operand, struct rewrite_repeated *found, const char **reason);

// The tensor of which the operand is what lies from `at` on along the axis, as split and slice make it, or
// NULL.
struct operand *wnn_rewrite_part_of(const struct operand *operand, unsigned axis, size_t at);

// Whether the operand is a constant of a float type, and one element of it.
bool wnn_rewrite_is_floats(const struct operand *operand); // whose numbers are there
bool wnn_rewrite_is_number(const struct operand *operand); // and it has one element
double wnn_rewrite_value(const struct operand *operand, size_t index);

// Whether a node's weights may be replaced by others: what something else uses too is only copied if it is
// small.
bool wnn_rewrite_may_copy(const struct operand *weights);

// The value of a constant for a channel, if it has one value or one for each; `absent` if there is no
// operand.
double wnn_rewrite_channel(const struct operand *operand, size_t channel, double absent);

// What a batchNormalization multiplies each channel by, and adds to it. False: that is not constant.
bool wnn_rewrite_normalization(const struct node *node, size_t count, double *factor, double *offset);

// What a scale and a zero point, for integers of up to 8 bits, are good for.
enum scale_use {
    SCALE_NONE,
    SCALE_OF_WEIGHTS, // constants that make floats of integers without overflow: of any sign, 0 or tiny
    SCALE_BOTH_WAYS   // positive numbers that take floats back to integers without loss, too
};
enum scale_use wnn_rewrite_scale_use(const struct operand *scale, const struct operand *zero_point);

// The same of an input of a node, of which scale and zero point are known: products with weights subtract a
// zero point for all of input 0 that is computed, as ONNX's DynamicQuantizeLinear does it.
enum scale_use wnn_rewrite_input_scale_use(const struct node *node, unsigned input,
                                           const struct operand *scale, const struct operand *zero_point);

// The same bytes in another shape (of as many elements); NULL when memory runs out.
struct operand *wnn_rewrite_reshaped(struct graph *graph, const struct operand *constant,
                                     const struct shape *shape);

// A float constant of the type and shape with the values, rounded; NULL when memory runs out.
struct operand *wnn_rewrite_constant(struct pass_context *context, struct graph *graph,
                                     const struct descriptor *type, const double *values);

#endif
