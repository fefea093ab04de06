// SPDX-License-Identifier: Apache-2.0
//
// Reference: operators that are told by indices where elements come from or go to.

#include "conformance/reference/kernels.h"

// An index into a dimension of `size` elements: limited to [-size, size - 1], then counted from the end if
// negative.
static size_t resolve(const struct tensor *indices, size_t i, uint32_t size)
{
    __int128 index = load_integer(indices, i);
    if (index < -(__int128)size)
        index = -(__int128)size;
    if (index > (__int128)size - 1)
        index = (__int128)size - 1;
    return (size_t)(index < 0 ? index + size : index);
}

void wnn_reference_gather(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const WNNGatherOptions *options = node->attrs;
    const struct tensor *input = &in[0], *indices = &in[1];
    unsigned axis = options->axis, inserted = indices->shape.rank;
    for (size_t i = 0; i < out->count; i++) {
        size_t at[WNN_MAX_RANK] = {0}, from[WNN_MAX_RANK] = {0};
        coordinates_of(out, i, at);
        for (unsigned d = 0; d < input->shape.rank; d++) {
            if (d < axis)
                from[d] = at[d];
            else if (d == axis)
                from[d] = resolve(indices, index_at(indices, at + axis), input->shape.dim[axis]);
            else
                from[d] = at[d - 1 + inserted];
        }
        copy_element(out, i, input, index_at(input, from));
    }
}

void wnn_reference_gather_elements(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const WNNGatherOptions *options = node->attrs;
    for (size_t i = 0; i < out->count; i++) {
        size_t at[WNN_MAX_RANK] = {0};
        coordinates_of(out, i, at);
        at[options->axis] = resolve(&in[1], i, in[0].shape.dim[options->axis]);
        copy_element(out, i, &in[0], index_at(&in[0], at));
    }
}

// The first element of the slice that row `row` of indices names, and the number of its elements.
static size_t slice_of(const struct tensor *tensor, const struct tensor *indices, size_t row, size_t *length)
{
    size_t given = indices->shape.dim[indices->shape.rank - 1], first = 0;
    *length = 1;
    for (size_t d = 0; d < tensor->shape.rank; d++) {
        first *= tensor->shape.dim[d];
        if (d < given)
            first += resolve(indices, row * given + d, tensor->shape.dim[d]);
        else
            *length *= tensor->shape.dim[d];
    }
    return first;
}

void wnn_reference_gather_nd(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    (void)node;
    size_t length, rows = in[1].count / in[1].shape.dim[in[1].shape.rank - 1];
    for (size_t row = 0; row < rows; row++) {
        size_t first = slice_of(&in[0], &in[1], row, &length);
        for (size_t i = 0; i < length; i++)
            copy_element(out, row * length + i, &in[0], first + i);
    }
}

void wnn_reference_scatter_elements(const struct node *node, const struct tensor *in,
                                    const struct tensor *out)
{
    const WNNScatterElementsOptions *options = node->attrs;
    const struct tensor *indices = &in[1], *updates = &in[2];
    wnn_reference_copy(node, in, out);
    for (size_t i = 0; i < updates->count; i++) {
        size_t at[WNN_MAX_RANK] = {0};
        coordinates_of(updates, i, at);
        at[options->axis] = resolve(indices, i, out->shape.dim[options->axis]);
        copy_element(out, index_at(out, at), updates, i);
    }
}

void wnn_reference_scatter_nd(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    size_t length, rows = in[1].count / in[1].shape.dim[in[1].shape.rank - 1];
    wnn_reference_copy(node, in, out);
    for (size_t row = 0; row < rows; row++) {
        size_t first = slice_of(out, &in[1], row, &length);
        for (size_t i = 0; i < length; i++)
            copy_element(out, first + i, &in[2], row * length + i);
    }
}
