// SPDX-License-Identifier: Apache-2.0
#include "tools/model/known.h"

WNNUint32List list_sizes(uint32_t *to, const int64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = size_number(from[i]);
    return (WNNUint32List){to, count};
}

void known_strides(const struct tensor *t, int64_t *strides)
{
    uint64_t stride = 1; // of late sizes it means nothing, and nobody asks
    for (size_t i = t->rank; i-- > 0; stride *= (uint64_t)t->dims[i])
        strides[i] = (int64_t)stride;
}

void copy_known(struct tensor *to, int64_t i, const struct tensor *from, int64_t j)
{
    if (to->reals)
        to->reals[i] = from->reals[j];
    else
        to->ints[i] = from->ints[j];
}

void advance_known(struct nd_iterator *n)
{
    for (size_t i = n->rank; i-- > 0;) {
        bool ends = ++n->index[i] >= n->dims[i];
        for (size_t k = 0; k < n->count; k++)
            n->at[k] += n->strides[k][i] * (ends ? 1 - n->dims[i] : 1);
        if (!ends)
            return;
        n->index[i] = 0;
    }
}

void broadcast_strides(const struct tensor *t, size_t rank, int64_t *strides)
{
    int64_t own[MAX_RANK];
    known_strides(t, own);
    for (size_t i = 0; i < rank; i++) {
        size_t axis = i + t->rank - rank; // of the tensor, if it has one there
        strides[i] = i + t->rank >= rank && t->dims[axis] != 1 ? own[axis] : 0;
    }
}

struct nd_iterator iterate_known(size_t rank, const int64_t *dims, size_t count,
                                 const struct tensor *const *tensors)
{
    struct nd_iterator n = {.rank = rank, .count = count, .dims = dims};
    for (size_t k = 0; k < count; k++)
        broadcast_strides(tensors[k], rank, n.strides[k]);
    return n;
}

struct tensor *rearrange(struct recording *r, struct tensor *t, size_t rank, const int64_t *dims,
                         const int64_t *strides, int64_t offset)
{
    struct tensor *result = make_known(r, t->type, rank, dims);
    struct nd_iterator n = {.rank = rank, .count = 1, .dims = dims, .at = {offset}};
    for (size_t k = 0; k < rank; k++)
        n.strides[0][k] = strides[k];
    for (int64_t i = 0; result && i < count_elements(result); i++, advance_known(&n))
        copy_known(result, i, t, n.at[0]);
    return result;
}
