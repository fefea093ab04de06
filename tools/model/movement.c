// SPDX-License-Identifier: Apache-2.0
#include "tools/model/known.h"

#include <string.h>

struct tensor *reshape(struct recording *r, struct tensor *t, size_t rank, const int64_t *dims)
{
    if (!t || r->failed)
        return NULL;
    if (rank > MAX_RANK)
        return fail(r, "a tensor of rank %zu; more than %d are not supported", rank, MAX_RANK);
    bool late = has_late(dims, rank) || !knows_shape(t);
    if (!late && product(dims, rank) != count_elements(t))
        return fail(r, "%lld elements cannot have a shape of %lld", (long long)count_elements(t),
                    (long long)product(dims, rank));
    if (rank == t->rank && (rank == 0 || memcmp(dims, t->dims, rank * sizeof *dims) == 0))
        return t;
    if (!late && (is_known(r, t) || (t->source && !t->operand))) {
        struct tensor *result = make_tensor(r, t->type, rank, dims);
        if (result) {
            result->ints = t->ints;
            result->reals = t->reals;
            result->source = t->source; // the bytes are the same
        }
        return result;
    }
    uint32_t shape[MAX_RANK];
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return operand ? make_operand(
                         r, t->type,
                         wnnGraphBuilderReshape(r->builder, operand, list_sizes(shape, dims, rank), &options))
                   : NULL;
}

struct tensor *unsqueeze(struct recording *r, struct tensor *t, size_t axis)
{
    if (!t || r->failed)
        return NULL;
    if (t->rank >= MAX_RANK)
        return fail(r, "a tensor of rank %zu; more than %d are not supported", t->rank + 1, MAX_RANK);
    int64_t dims[MAX_RANK];
    for (size_t i = 0; i <= t->rank; i++)
        dims[i] = i == axis ? 1 : t->dims[i - (i > axis)];
    return reshape(r, t, t->rank + 1, dims);
}

struct tensor *squeeze(struct recording *r, struct tensor *t, size_t axis)
{
    if (!t || r->failed)
        return NULL;
    int64_t dims[MAX_RANK];
    for (size_t i = 0; i + 1 < t->rank; i++)
        dims[i] = t->dims[i + (i >= axis)];
    return reshape(r, t, t->rank - 1, dims);
}

struct tensor *transpose(struct recording *r, struct tensor *t, const size_t *permutation)
{
    if (!t || r->failed)
        return NULL;
    int64_t dims[MAX_RANK], own[MAX_RANK], strides[MAX_RANK];
    uint32_t order[MAX_RANK];
    bool same = true;
    known_strides(t, own);
    for (size_t i = 0; i < t->rank; i++) {
        dims[i] = t->dims[permutation[i]];
        strides[i] = own[permutation[i]];
        order[i] = (uint32_t)permutation[i];
        same &= permutation[i] == i;
    }
    if (same)
        return t;
    if (is_known(r, t))
        return rearrange(r, t, t->rank, dims, strides, 0);
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.label = label_of(r);
    options.permutation = (WNNUint32List){order, t->rank};
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, wnnGraphBuilderTranspose(r->builder, operand, &options)) : NULL;
}

struct tensor *swap_axes(struct recording *r, struct tensor *t, size_t a, size_t b)
{
    size_t permutation[MAX_RANK];
    for (size_t i = 0; t && i < t->rank; i++)
        permutation[i] = i == a ? b : i == b ? a : i;
    return transpose(r, t, permutation);
}

struct tensor *expand(struct recording *r, struct tensor *t, size_t rank, const int64_t *dims)
{
    if (!t || r->failed)
        return NULL;
    if (rank == t->rank && (rank == 0 || memcmp(dims, t->dims, rank * sizeof *dims) == 0))
        return t;
    for (size_t i = 0; i < t->rank; i++)
        if (rank < t->rank || (t->dims[i] != 1 && t->dims[i] != dims[i + rank - t->rank] &&
                               !is_late(t->dims[i]) && !is_late(dims[i + rank - t->rank])))
            return fail(r, "a size of %lld cannot be expanded", (long long)t->dims[i]);
    if (is_known(r, t) && !has_late(dims, rank) && is_computed(r, t->type, rank, dims)) {
        int64_t strides[MAX_RANK];
        broadcast_strides(t, rank, strides);
        return rearrange(r, t, rank, dims, strides, 0);
    }
    uint32_t shape[MAX_RANK];
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, label_of(r)};
    struct tensor *result = operand
                                ? make_operand(r, t->type,
                                               wnnGraphBuilderExpand(r->builder, operand,
                                                                     list_sizes(shape, dims, rank), &options))
                                : NULL;
    if (result && is_known(r, t) && count_elements(t) == 1)
        result->every = t;
    return result;
}

struct tensor *slice(struct recording *r, struct tensor *t, const int64_t *starts, const int64_t *sizes,
                     const int64_t *steps)
{
    if (!t || r->failed)
        return NULL;
    int64_t own[MAX_RANK], strides[MAX_RANK], offset = 0, from[MAX_RANK], spans[MAX_RANK];
    uint32_t start_list[MAX_RANK], size_list[MAX_RANK], step_list[MAX_RANK], reversed[MAX_RANK];
    size_t reversed_count = 0;
    bool whole = true, strided = false;
    known_strides(t, own);
    for (size_t i = 0; i < t->rank; i++) {
        int64_t step = steps ? steps[i] : 1, width = step < 0 ? -step : step;
        int64_t span = compute_size(r, MUL, compute_size(r, SUB, sizes[i], 1), width);
        int64_t last = compute_size(r, step < 0 ? SUB : ADD, starts[i], span);
        bool known = !is_late(starts[i]) && !is_late(last) && !is_late(t->dims[i]);
        if (known && sizes[i] > 0 &&
            (starts[i] < 0 || starts[i] >= t->dims[i] || last < 0 || last >= t->dims[i]))
            return fail(r, "a slice from %lld to %lld of a size of %lld", (long long)starts[i],
                        (long long)last, (long long)t->dims[i]);
        strides[i] = known ? own[i] * step : 0;
        offset += known && sizes[i] > 0 ? own[i] * starts[i] : 0;
        whole &= sizes[i] == t->dims[i] && step == 1;
        strided |= width != 1;
        if (step < 0 && sizes[i] > 1)
            reversed[reversed_count++] = (uint32_t)i;
        from[i] = step < 0 ? last : starts[i];
        spans[i] = sizes[i] > 0 ? compute_size(r, ADD, span, 1) : 0;
        step_list[i] = (uint32_t)width;
    }
    if (r->failed)
        return NULL;
    if (whole)
        return t;
    if (!has_late(starts, t->rank) && !has_late(sizes, t->rank) &&
        (is_known(r, t) || product(sizes, t->rank) == 0))
        return is_known(r, t) ? rearrange(r, t, t->rank, sizes, strides, offset)
                              : make_known(r, t->type, t->rank, sizes);
    WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
    options.label = label_of(r);
    if (strided)
        options.strides = (WNNUint32List){step_list, t->rank};
    WNNOperand operand = operand_of(r, t);
    if (!operand)
        return NULL;
    struct tensor *result =
        make_operand(r, t->type,
                     wnnGraphBuilderSlice(r->builder, operand, list_sizes(start_list, from, t->rank),
                                          list_sizes(size_list, spans, t->rank), &options));
    if (!result || reversed_count == 0)
        return result;
    WNNReverseOptions reverse = WNN_REVERSE_OPTIONS_INIT;
    reverse.label = label_of(r);
    reverse.axes = (WNNUint32List){reversed, reversed_count};
    return make_operand(r, t->type, wnnGraphBuilderReverse(r->builder, result->operand, &reverse));
}

struct tensor *slice_axis(struct recording *r, struct tensor *t, size_t axis, int64_t start, int64_t size,
                          int64_t step)
{
    if (!t || r->failed)
        return NULL;
    int64_t starts[MAX_RANK] = {0}, sizes[MAX_RANK], steps[MAX_RANK];
    for (size_t i = 0; i < t->rank; i++) {
        sizes[i] = i == axis ? size : t->dims[i];
        steps[i] = i == axis ? step : 1;
    }
    starts[axis] = start;
    return slice(r, t, starts, sizes, steps);
}

struct tensor *concat(struct recording *r, size_t count, struct tensor *const *tensors, size_t axis)
{
    bool known = true;
    size_t used = 0;
    struct tensor **all = wnn_model_allocate(r->memory, count, sizeof *all);
    int64_t dims[MAX_RANK] = {0};
    if (!all)
        return fail(r, "there is not enough memory");
    for (size_t i = 0; i < count; i++) {
        struct tensor *t = tensors[i];
        if (!t || r->failed)
            return NULL;
        if (t->rank != tensors[0]->rank || t->type != tensors[0]->type)
            return fail(r, "operands of other ranks or types cannot be joined");
        for (size_t k = 0; k < t->rank; k++)
            if (k != axis && t->dims[k] != tensors[0]->dims[k] && !is_late(t->dims[k]) &&
                !is_late(tensors[0]->dims[k]))
                return fail(r, "sizes %lld and %lld of axis %zu cannot be joined",
                            (long long)tensors[0]->dims[k], (long long)t->dims[k], k);
        if (i == 0)
            memcpy(dims, t->dims, sizeof dims);
        else if (!is_late(dims[axis]) && !is_late(t->dims[axis]))
            dims[axis] += t->dims[axis];
        if (count_elements(t) > 0 || (i + 1 == count && used == 0))
            all[used++] = t;
        known = known && is_known(r, t);
    }
    if (used == 1)
        return all[0];
    if (known) {
        struct tensor *result = make_known(r, all[0]->type, all[0]->rank, dims);
        int64_t outer = product(dims, axis), inner = product(dims + axis + 1, all[0]->rank - axis - 1),
                at = 0;
        for (int64_t o = 0; result && o < outer; o++)
            for (size_t k = 0; k < used; k++)
                for (int64_t i = 0, n = all[k]->dims[axis] * inner; i < n; i++) {
                    if (at >= count_elements(result))
                        return fail(r, "operands of other shapes cannot be joined");
                    copy_known(result, at++, all[k], o * n + i);
                }
        return result;
    }
    WNNOperand *operands = wnn_model_allocate(r->memory, used, sizeof(WNNOperand));
    for (size_t i = 0; operands && i < used; i++)
        if (!(operands[i] = operand_of(r, all[i])))
            return NULL;
    if (!operands)
        return fail(r, "there is not enough memory");
    WNNOperatorOptions options = {NULL, label_of(r)};
    struct tensor *result = make_operand(
        r, all[0]->type, wnnGraphBuilderConcat(r->builder, used, operands, (uint32_t)axis, &options));
    if (result && result->rank == 1) {
        result->items = all;
        result->item_count = used;
    }
    return result;
}

struct tensor *gather(struct recording *r, struct tensor *t, struct tensor *indices, size_t axis)
{
    if (!t || !indices || r->failed)
        return NULL;
    if (axis >= t->rank)
        return fail(r, "axis %zu of a tensor of rank %zu", axis, t->rank);
    if (t->rank + indices->rank - 1 > MAX_RANK)
        return fail(r, "a tensor of rank %zu; more than %d are not supported", t->rank + indices->rank - 1,
                    MAX_RANK);
    if (!is_integer(indices->type))
        return fail(r, "indices of type %s", type_name(indices->type));
    if (is_known(r, indices) && !has_late_elements(indices) &&
        (is_known(r, t) || count_elements(indices) == 1)) {
        int64_t size = t->dims[axis];
        for (int64_t i = 0; !is_late(size) && i < count_elements(indices); i++)
            if (indices->ints[i] < -size || indices->ints[i] >= size)
                return fail(r, "index %lld of a size of %lld", (long long)indices->ints[i], (long long)size);
        int64_t dims[MAX_RANK];
        for (size_t i = 0; i < t->rank + indices->rank - 1; i++)
            dims[i] = i < axis                   ? t->dims[i]
                      : i < axis + indices->rank ? indices->dims[i - axis]
                                                 : t->dims[i + 1 - indices->rank];
        if (!is_known(r, t)) { // one index: a slice
            int64_t at =
                indices->ints[0] < 0 ? compute_size(r, ADD, size, indices->ints[0]) : indices->ints[0];
            return reshape(r, slice_axis(r, t, axis, at, 1, 1), t->rank + indices->rank - 1, dims);
        }
        struct tensor *result = make_known(r, t->type, t->rank + indices->rank - 1, dims);
        int64_t outer = product(t->dims, axis), inner = product(t->dims + axis + 1, t->rank - axis - 1),
                at = 0, all = result ? count_elements(result) : 0;
        for (int64_t o = 0; at < all && o < outer; o++)
            for (int64_t k = 0; k < count_elements(indices); k++)
                for (int64_t i = 0; i < inner; i++) {
                    int64_t index = indices->ints[k] < 0 ? indices->ints[k] + size : indices->ints[k];
                    copy_known(result, at++, t, (o * size + index) * inner + i);
                }
        return result;
    }
    WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
    options.label = label_of(r);
    options.axis = (uint32_t)axis;
    WNNOperand x = operand_of(r, t), y = operand_of(r, indices);
    return x && y ? make_operand(r, t->type, wnnGraphBuilderGather(r->builder, x, y, &options)) : NULL;
}

struct tensor *gather_elements(struct recording *r, struct tensor *t, struct tensor *indices, size_t axis)
{
    WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
    options.label = label_of(r);
    options.axis = (uint32_t)axis;
    WNNOperand x = operand_of(r, t), y = operand_of(r, indices);
    return x && y ? make_operand(r, t->type, wnnGraphBuilderGatherElements(r->builder, x, y, &options))
                  : NULL;
}

struct tensor *pad(struct recording *r, struct tensor *t, const int64_t *before, const int64_t *after,
                   WNNPaddingMode mode, double value)
{
    if (!t || r->failed)
        return NULL;
    // Negative padding takes away.
    int64_t starts[MAX_RANK] = {0}, sizes[MAX_RANK] = {0}, add_before[MAX_RANK], add_after[MAX_RANK];
    bool any = false;
    for (size_t i = 0; i < t->rank; i++) {
        starts[i] = before[i] < 0 ? -before[i] : 0;
        sizes[i] =
            compute_size(r, SUB, compute_size(r, SUB, t->dims[i], starts[i]), after[i] < 0 ? -after[i] : 0);
        add_before[i] = before[i] > 0 ? before[i] : 0;
        add_after[i] = after[i] > 0 ? after[i] : 0;
        any |= add_before[i] || add_after[i];
        if (sizes[i] < 0)
            return fail(r, "padding takes away more than there is");
    }
    t = slice(r, t, starts, sizes, NULL);
    if (!t || !any)
        return t;
    uint32_t lists[2][MAX_RANK];
    WNNPadOptions options = WNN_PAD_OPTIONS_INIT;
    options.label = label_of(r);
    options.mode = mode;
    options.value = is_real(t->type) ? (WNNNumber){WNNNumberType_Float64, {.f64 = value}}
                                     : (WNNNumber){WNNNumberType_Int64, {.i64 = (int64_t)value}};
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type,
                                  wnnGraphBuilderPad(r->builder, operand,
                                                     list_sizes(lists[0], add_before, t->rank),
                                                     list_sizes(lists[1], add_after, t->rank), &options))
                   : NULL;
}
