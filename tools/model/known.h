// SPDX-License-Identifier: Apache-2.0
//
// Tensors whose elements are known while recording, element by element.

#ifndef TOOLS_MODEL_KNOWN_H_
#define TOOLS_MODEL_KNOWN_H_

#include "tools/model/late.h"
#include "tools/model/tensor.h"

// The elements of a shape in order, and where those of up to three tensors that belong to them are.
struct nd_iterator {
    size_t rank, count;
    const int64_t *dims;
    int64_t index[MAX_RANK], strides[3][MAX_RANK], at[3];
};

// Begins at the first element of a shape that tensors are broadcast to.
struct nd_iterator iterate_known(size_t rank, const int64_t *dims, size_t count,
                                 const struct tensor *const *tensors);
void advance_known(struct nd_iterator *n);

void known_strides(const struct tensor *t, int64_t *strides);
// Strides of a tensor that is broadcast to a rank and dimensions.
void broadcast_strides(const struct tensor *t, size_t rank, int64_t *strides);

void copy_known(struct tensor *to, int64_t i, const struct tensor *from, int64_t j);
// A tensor of other dimensions, of which element i is that of `t` at offset + sum of index * strides.
struct tensor *rearrange(struct recording *r, struct tensor *t, size_t rank, const int64_t *dims,
                         const int64_t *strides, int64_t offset);

// Sizes as operators of the builder take them, written to `to`.
WNNUint32List list_sizes(uint32_t *to, const int64_t *from, size_t count);

#endif
