// SPDX-License-Identifier: Apache-2.0
//
// Reductions of the elements along some axes.

#ifndef VULKAN_REDUCE_H_
#define VULKAN_REDUCE_H_

#include "ops/geometry.h"
#include "vulkan/ops/operators.h"

// The elements of a tensor in groups that differ only along the axes.
struct groups {
    unsigned outer, inner; // dimensions
    uint32_t outer_dims[WNN_MAX_RANK], inner_dims[WNN_MAX_RANK];
    int64_t outer_steps[WNN_MAX_RANK], inner_steps[WNN_MAX_RANK];
    size_t count, members;
};

struct groups wnn_groups_along(const struct shape *shape, uint32_t mask);
struct groups wnn_groups_of(const struct node *node);

// Begins a reduction of `in` whose operation the caller defines.
void wnn_reduce_begin(struct shader *shader, struct lowering *lowering, const struct groups *groups,
                      const struct tensor *in, const struct tensor *out, enum form form,
                      const struct fused *fused);
void wnn_reduce_end(struct shader *shader, const struct groups *groups);

// Whether it reads an input, which normalizations and softmax do up to three times, by wnn_shader_input.
bool wnn_reduction_fuses_prologue(const struct node *node, unsigned input);

// Reduces in two passes, the first of which finds what the second needs to know.
void wnn_reduce_twice(struct shader *shader, const char *neutral, const char *first_join,
                      const char *prepared, const char *between, const char *second_neutral,
                      const char *mapped, const char *result);

// In GLSL. Between two dispatches sums are elements of a type and form.
struct reduction {
    const char *declarations; // NULL: none
    const char *sum, *neutral;
    const char *join;        // of a and b
    const char *accumulate;  // statements: element x, which is member k, to s
    const char *block;       // statements: elements x[BLOCK] to s, or false: they cannot; NULL: none can
    const char *settled;     // s, when all have been
    const char *result;      // of s
    const char *kept, *back; // s as it is kept between dispatches, and from x
    WNNDataType kept_type;
    enum form kept_form;
    const char *kept_element;
    const double *epsilon; // EPSILON, or NULL
    bool dear;             // to join
};

// What one of the ten reductions does, by its operator, with elements of a type.
struct reduction wnn_reduction_of(enum op op, WNNDataType type);

// Reduces input 0 of the node to its output 0. The scratch memory is as much as wnn_reduction_scratch says.
void wnn_lower_reduction(struct lowering *lowering, const struct groups *groups,
                         const struct reduction *reduction);
size_t wnn_reduction_scratch(const struct groups *groups);

// The same of input 0 in one go or in pieces, which lie in scratch memory behind `to`; that gets, in the form
// in which sums are kept, what `result` makes of them.
void wnn_lower_kept_reduction(struct lowering *lowering, const struct groups *groups,
                              const struct reduction *reduction, const char *result, const struct tensor *to);

// Reduces `members` of each group at a time to what is kept between dispatches, of wnn_reduction_bytes each.
void wnn_lower_partial_reduction(struct lowering *lowering, const struct groups *groups,
                                 const struct reduction *reduction, size_t members,
                                 const struct tensor *kept);
size_t wnn_reduction_bytes(const struct reduction *reduction);

// All steps but the innermost are multiples of so many elements.
bool wnn_are_multiples(unsigned count, const int64_t *steps, unsigned wide, unsigned first);

// The least or greatest number of a type of integers.
const char *wnn_shader_extreme(WNNDataType type, bool least);

#endif
