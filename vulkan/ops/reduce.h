// SPDX-License-Identifier: Apache-2.0
//
// Folds of the elements along some axes.

#ifndef VULKAN_REDUCE_H_
#define VULKAN_REDUCE_H_

#include "vulkan/ops/operators.h"

// The elements of a tensor in groups that differ only along the axes.
struct groups {
    unsigned outer, inner; // dimensions
    uint32_t outer_dims[WNN_MAX_RANK], inner_dims[WNN_MAX_RANK];
    int64_t outer_steps[WNN_MAX_RANK], inner_steps[WNN_MAX_RANK];
    size_t count, members;
};

struct groups wnn_groups_along(const struct shape *shape, const uint32_t *axes, size_t axis_count);

// Begins a reduction of `in`; the fold itself is to be defined.
void wnn_reduce_begin(struct shader *shader, struct lowering *lowering, const struct groups *groups,
                      const struct tensor *in, const struct tensor *out, enum form form,
                      const struct fused *fused);
void wnn_reduce_end(struct shader *shader, const struct groups *groups);

// Folds in two passes, the first of which finds what the second needs to know.
void wnn_reduce_twice(struct shader *shader, const char *neutral, const char *first_join,
                      const char *prepared, const char *between, const char *second_neutral,
                      const char *mapped, const char *result);

#endif
