// SPDX-License-Identifier: Apache-2.0
//
// Reference: operators that move elements without looking at them.

#include "conformance/reference/kernels.h"

// identity, reshape
void wnn_reference_copy(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    (void)node;
    for (size_t i = 0; i < out->count; i++)
        copy_element(out, i, in, i);
}

void wnn_reference_concat(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct concat_attrs *attrs = node->attrs;
    size_t at[WNN_MAX_RANK] = {0}, begin = 0;
    for (unsigned k = 0; k < node->in_count; k++) {
        for (size_t i = 0; i < in[k].count; i++) {
            coordinates_of(&in[k], i, at);
            at[attrs->axis] += begin;
            copy_element(out, index_at(out, at), &in[k], i);
        }
        begin += in[k].shape.dim[attrs->axis];
    }
}

void wnn_reference_expand(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    (void)node;
    for (size_t i = 0; i < out->count; i++)
        copy_element(out, i, in, broadcast_index(in, out, i));
}

// Where position `i`, counted from the first element (so that padding before it is negative), finds its
// value.
static int64_t reflected(int64_t i, int64_t size, bool repeat_edge)
{
    if (i < 0)
        return repeat_edge ? -i - 1 : -i;
    if (i >= size)
        return repeat_edge ? 2 * size - 1 - i : 2 * size - 2 - i;
    return i;
}

void wnn_reference_pad(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct pad_attrs *attrs = node->attrs;
    for (size_t i = 0; i < out->count; i++) {
        size_t at[WNN_MAX_RANK] = {0};
        bool inside = true;
        coordinates_of(out, i, at);
        for (unsigned d = 0; d < in->shape.rank; d++) {
            int64_t size = in->shape.dim[d], position = (int64_t)at[d] - attrs->beginningPadding.data[d];
            switch (attrs->options.mode) {
            case WNNPaddingMode_Edge:
                position = position < 0 ? 0 : position >= size ? size - 1 : position;
                break;
            case WNNPaddingMode_Reflection:
                position = reflected(position, size, false);
                break;
            case WNNPaddingMode_Symmetric:
                position = reflected(position, size, true);
                break;
            default:
                inside &= position >= 0 && position < size;
            }
            at[d] = (size_t)position;
        }
        if (inside)
            copy_element(out, i, in, index_at(in, at));
        else if (is_float(out))
            store(out, i, wnn_number_double(attrs->options.value));
        else
            store_integer(out, i,
                          is_signed(out->type) ? attrs->options.value.value.i64
                                               : (__int128)attrs->options.value.value.u64);
    }
}

void wnn_reference_reverse(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const WNNReverseOptions *options = node->attrs;
    for (size_t i = 0; i < out->count; i++) {
        size_t at[WNN_MAX_RANK] = {0};
        coordinates_of(out, i, at);
        for (size_t k = 0; k < options->axes.count; k++) {
            uint32_t axis = options->axes.data[k];
            at[axis] = in->shape.dim[axis] - 1 - at[axis];
        }
        copy_element(out, i, in, index_at(in, at));
    }
}

void wnn_reference_slice(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct slice_attrs *attrs = node->attrs;
    for (size_t i = 0; i < out->count; i++) {
        size_t at[WNN_MAX_RANK] = {0};
        coordinates_of(out, i, at);
        for (unsigned d = 0; d < in->shape.rank; d++)
            at[d] = attrs->starts.data[d] + at[d] * attrs->options.strides.data[d];
        copy_element(out, i, in, index_at(in, at));
    }
}

void wnn_reference_split(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct split_attrs *attrs = node->attrs;
    size_t at[WNN_MAX_RANK] = {0}, begin = 0;
    for (unsigned k = 0; k < node->out_count; k++) {
        for (size_t i = 0; i < out[k].count; i++) {
            coordinates_of(&out[k], i, at);
            at[attrs->options.axis] += begin;
            copy_element(&out[k], i, in, index_at(in, at));
        }
        begin += out[k].shape.dim[attrs->options.axis];
    }
}

void wnn_reference_tile(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    (void)node;
    for (size_t i = 0; i < out->count; i++) {
        size_t at[WNN_MAX_RANK] = {0};
        coordinates_of(out, i, at);
        for (unsigned d = 0; d < in->shape.rank; d++)
            at[d] %= in->shape.dim[d];
        copy_element(out, i, in, index_at(in, at));
    }
}

void wnn_reference_transpose(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const WNNTransposeOptions *options = node->attrs;
    for (size_t i = 0; i < out->count; i++) {
        size_t at[WNN_MAX_RANK] = {0}, from[WNN_MAX_RANK] = {0};
        coordinates_of(out, i, at);
        for (unsigned d = 0; d < in->shape.rank; d++)
            from[options->permutation.data[d]] = at[d];
        copy_element(out, i, in, index_at(in, from));
    }
}

void wnn_reference_triangular(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const WNNTriangularOptions *options = node->attrs;
    for (size_t i = 0; i < out->count; i++) {
        size_t at[WNN_MAX_RANK] = {0};
        coordinates_of(out, i, at);
        int64_t distance = (int64_t)at[in->shape.rank - 1] - (int64_t)at[in->shape.rank - 2];
        if (options->upper ? distance >= options->diagonal : distance <= options->diagonal)
            copy_element(out, i, in, i);
        else
            store_bits(out, i, 0);
    }
}
