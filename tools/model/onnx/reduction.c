// SPDX-License-Identifier: Apache-2.0
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

static bool is_byte(int64_t type)
{
    return type == ONNX_UINT8 || type == ONNX_INT8;
}

bool find_axes(struct recording *r, size_t rank, size_t count, const int64_t *numbers, size_t *axes)
{
    bool used[MAX_RANK] = {false};
    if (count > rank)
        return fail(r, "%zu axes of a tensor of rank %zu", count, rank);
    for (size_t i = 0; i < count; i++) {
        if (!find_axis(r, numbers[i], rank, &axes[i]))
            return false;
        if (used[axes[i]])
            return fail(r, "axis %zu is reduced twice", axes[i]);
        used[axes[i]] = true;
    }
    return true;
}

void record_reduce(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t count, axes[MAX_RANK];
    int64_t *numbers, sizes[MAX_RANK];
    bool keep = get_int(c, "keepdims", 1) != 0;
    get_list(c, 1, "axes", &count, &numbers);
    if (r->failed)
        return;
    bool all = count == 0 && !get_int(c, "noop_with_empty_axes", 0); // otherwise no axis: each element alone
    if (!find_axes(r, x->rank, count, numbers, axes))
        return;
    for (size_t i = 0; all && i < x->rank; i++)
        axes[i] = i;
    count = all ? x->rank : count;
    for (size_t i = 0; i < count; i++)
        sizes[i] = x->dims[axes[i]];
    enum reduction op = (enum reduction)c->parameter;
    if (x->type == ONNX_BOOL) // the largest of truths is their disjunction
        set_output(c, 0, cast(r, reduce(r, op, cast(r, x, ONNX_UINT8), count, axes, keep), ONNX_BOOL));
    else if (op == MEAN && is_integer(x->type) && !is_byte(x->type))
        set_output(c, 0,
                   with_size(r, DIV, reduce(r, SUM, x, count, axes, keep), size_product(r, sizes, count)));
    else if (is_integer(x->type) && (op == L2 || op == LOG_SUM || op == LOG_SUM_EXP || op == MEAN))
        set_output(c, 0, cast(r, reduce(r, op, cast(r, x, ONNX_FLOAT), count, axes, keep), x->type));
    else if (is_byte(x->type) && op != MAXIMUM && op != MINIMUM)
        set_output(c, 0, cast(r, reduce(r, op, cast(r, x, ONNX_INT32), count, axes, keep), x->type));
    else
        set_output(c, 0, reduce(r, op, x, count, axes, keep));
}

// Of bytes, as int32.
void record_integer_sum(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t count, axes[MAX_RANK];
    int64_t *numbers = get_ints(c, "axes", &count);
    if (count < 1) {
        fail(r, "0 axes of a tensor of rank %zu", x->rank);
        return;
    }
    if (!find_axes(r, x->rank, count, numbers, axes))
        return;
    set_output(c, 0, reduce(r, SUM, cast(r, x, ONNX_INT32), count, axes, get_int(c, "keepdims", 1) != 0));
}

// Parameter 1: the least.
void record_arg(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t axis;
    bool keep = get_int(c, "keepdims", 1) != 0, last = get_int(c, "select_last_index", 0) != 0;
    if (!find_axis(r, get_int(c, "axis", 0), x->rank, &axis))
        return;
    int64_t size = x->dims[axis], end = last ? compute_size(r, SUB, size, 1) : 0;
    struct tensor *from = last ? slice_axis(r, x, axis, end, size, -1) : x;
    struct tensor *at = arg_max(r, from, axis, c->parameter == 1, keep);
    set_output(c, 0, last ? binary(r, SUB, make_size(r, ONNX_INT64, end), at) : at);
}

void record_cumulative_sum(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *along = input(c, 1);
    size_t axis;
    if (!require_known(r, along, "the axis") || count_elements(along) != 1 ||
        !find_axis(r, known_integer(along, 0), x->rank, &axis))
        return;
    set_output(c, 0,
               cumulative_sum(r, x, axis, get_int(c, "exclusive", 0) != 0, get_int(c, "reverse", 0) != 0));
}
