// SPDX-License-Identifier: Apache-2.0
//
// What elements are taken from and put to by indices.
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <string.h>

#define MAX_TURNS    64                 // updates of one element that are taken one after the other
#define MAX_MEETINGS ((int64_t)1 << 26) // of elements with updates, all with all

// Rows of a table; what is said of its training changes nothing.
void record_embedding(struct call *c)
{
    struct tensor *table = input(c, 0);
    if (table->rank != 2)
        fail(c->r, "a table of rank %zu", table->rank);
    else
        set_output(c, 0, gather(c->r, table, input(c, 1), 0));
}

void record_gather(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *indices = input(c, 1);
    size_t axis;
    if (!find_axis(r, get_int(c, "axis", 0), x->rank, &axis))
        return;
    set_output(c, 0, gather(r, x, indices, axis));
}

// What indices of a shape reach, of elements along an axis: WebNN wants the other sizes to be the same.
static struct tensor *reached(struct recording *r, struct tensor *x, const struct tensor *indices,
                              size_t axis)
{
    int64_t starts[MAX_RANK] = {0}, sizes[MAX_RANK];
    if (indices->rank != x->rank)
        return fail(r, "indices of rank %zu for a tensor of rank %zu", indices->rank, x->rank);
    for (size_t i = 0; i < x->rank; i++) {
        sizes[i] = i == axis ? x->dims[i] : indices->dims[i];
        if (!is_late(sizes[i]) && !is_late(x->dims[i]) && sizes[i] > x->dims[i])
            return fail(r, "indices of a size of %lld for one of %lld", (long long)sizes[i],
                        (long long)x->dims[i]);
    }
    return slice(r, x, starts, sizes, NULL);
}

// Puts what was reached back among the rest.
static struct tensor *put_back(struct recording *r, struct tensor *x, struct tensor *part)
{
    if (!part || r->failed)
        return NULL;
    int64_t sizes[MAX_RANK];
    memcpy(sizes, part->dims, sizeof sizes);
    for (size_t i = 0; i < x->rank && part; i++) {
        int64_t starts[MAX_RANK] = {0}, now = sizes[i];
        if (now == x->dims[i])
            continue;
        starts[i] = now;
        sizes[i] = compute_size(r, SUB, x->dims[i], now);
        part = concat(r, 2, (struct tensor *[]){part, slice(r, x, starts, sizes, NULL)}, i);
        sizes[i] = x->dims[i];
    }
    return part;
}

void record_gather_elements(struct call *c)
{
    struct tensor *x = input(c, 0), *indices = input(c, 1);
    size_t axis;
    if (find_axis(c->r, get_int(c, "axis", 0), x->rank, &axis))
        set_output(c, 0, gather_elements(c->r, reached(c->r, x, indices, axis), indices, axis));
}

static struct tensor *gather_slices(struct recording *r, struct tensor *x, struct tensor *indices)
{
    WNNOperand a = operand_of(r, x), b = operand_of(r, indices);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return a && b ? make_operand(r, x->type, wnnGraphBuilderGatherND(r->builder, a, b, &options)) : NULL;
}

// Batch dimensions are a dimension of indices more.
void record_gather_nd(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *indices = input(c, 1);
    int64_t batch = get_int(c, "batch_dims", 0);
    if (batch < 0 || batch >= (int64_t)indices->rank || batch >= (int64_t)x->rank) {
        fail(r, "%lld dimensions of batches", (long long)batch);
        return;
    }
    struct tensor *parts[MAX_RANK + 1];
    size_t count = 0;
    int64_t dims[MAX_RANK];
    memcpy(dims, indices->dims, sizeof dims);
    dims[indices->rank - 1] = 1;
    for (size_t i = 0; i < (size_t)batch; i++) {
        int64_t along[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
        along[i] = dims[i];
        struct tensor *range = make_range(r, indices->type, 0, dims[i], 1);
        parts[count++] = expand(r, reshape(r, range, indices->rank, along), indices->rank, dims);
    }
    parts[count++] = indices;
    if (batch)
        indices = concat(r, count, parts, indices->rank - 1);
    set_output(c, 0, gather_slices(r, x, indices));
}

static struct tensor *scatter_elements(struct recording *r, struct tensor *x, struct tensor *indices,
                                       struct tensor *updates, size_t axis)
{
    WNNScatterElementsOptions options = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
    options.label = label_of(r);
    options.axis = (uint32_t)axis;
    WNNOperand a = operand_of(r, x), b = operand_of(r, indices), u = operand_of(r, updates);
    return a && b && u
               ? make_operand(r, x->type, wnnGraphBuilderScatterElements(r->builder, a, b, u, &options))
               : NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Updates of which several may meet at one element, and are reduced with it
// ---------------------------------------------------------------------------------------------------------------

struct meeting {
    struct recording *r;
    enum binary op;
    // [size, width], [count, width or 1], [count, width]: the rows that the elements of each column go to.
    struct tensor *x, *indices, *updates;
    int64_t size, count, width;
};

static enum binary reduction_of(const struct call *c)
{
    return has_text(c, "reduction", "add", "none")   ? ADD
           : has_text(c, "reduction", "mul", "none") ? MUL
           : has_text(c, "reduction", "max", "none") ? MAX
                                                     : MIN;
}

// Updates of different elements, with the rows `indices`.
static void meet_once(struct meeting *m, struct tensor *indices, struct tensor *updates)
{
    struct recording *r = m->r;
    if (!indices || !updates || r->failed)
        return;
    indices = expand(r, indices, 2, updates->dims);
    struct tensor *old = gather_elements(r, m->x, indices, 0);
    m->x = scatter_elements(r, m->x, indices, binary(r, m->op, old, updates), 0);
}

// How often an element is updated at most by indices that are known; `turns` gets which of the updates of its
// element each is. 0: an error.
static int64_t count_turns(struct meeting *m, int64_t **turns)
{
    int64_t width = m->indices->dims[1], most = 0;
    int64_t *seen = wnn_model_allocate(m->r->memory, (size_t)(m->size * width), sizeof *seen);
    *turns = wnn_model_allocate(m->r->memory, (size_t)(m->count * width), sizeof **turns);
    if (!seen || !*turns)
        return fail(m->r, "there is not enough memory") != NULL;
    for (int64_t i = 0; i < m->count * width; i++) {
        int64_t row = m->indices->ints[i];
        if (row < 0 || row >= m->size)
            return fail(m->r, "index %lld of a size of %lld", (long long)row, (long long)m->size) != NULL;
        (*turns)[i] = seen[row * width + i % width]++;
        most = (*turns)[i] >= most ? (*turns)[i] + 1 : most;
    }
    return most;
}

// The updates of each turn at once, of whole rows.
static void meet_in_turns(struct meeting *m, const int64_t *turns, int64_t most)
{
    struct recording *r = m->r;
    for (int64_t turn = 0; turn < most && wnn_model_work(r, (uint64_t)m->count) && !r->failed; turn++) {
        int64_t found = 0;
        for (int64_t i = 0; i < m->count; i++)
            found += turns[i] == turn;
        struct tensor *list = make_known(r, ONNX_INT64, 1, &found);
        for (int64_t i = 0, at = 0; list && i < m->count; i++)
            if (turns[i] == turn)
                list->ints[at++] = i;
        meet_once(m, gather(r, m->indices, list, 0), gather(r, m->updates, list, 0));
    }
}

// Every element with all updates, of which those count that are its own: as a product where they are added.
static void meet_all(struct meeting *m)
{
    struct recording *r = m->r;
    struct tensor *rows = reshape(r, make_range(r, ONNX_INT64, 0, m->size, 1), 3, (int64_t[]){m->size, 1, 1});
    struct tensor *own = binary(r, EQUAL, rows, unsqueeze(r, m->indices, 0)), *joined;
    bool is_sum = m->op == ADD && is_real(m->x->type) && m->indices->dims[1] == 1;
    enum reduction op = m->op == ADD ? SUM : m->op == MUL ? PRODUCT : m->op == MAX ? MAXIMUM : MINIMUM;
    if (is_sum) {
        own = reshape(r, own, 2, (int64_t[]){m->size, m->count});
        joined = matmul(r, cast(r, own, m->x->type), m->updates);
    } else {
        // What no update is for stays: the old element takes the place of all others.
        struct tensor *old =
            op == SUM || op == PRODUCT ? make_number(r, m->x->type, op == PRODUCT) : unsqueeze(r, m->x, 1);
        joined = choose(r, own, unsqueeze(r, m->updates, 0), old);
        joined = reduce(r, op, joined, 1, (size_t[]){1}, false);
    }
    m->x = binary(r, m->op, m->x, joined);
}

static struct tensor *meet(struct meeting *m)
{
    struct recording *r = m->r;
    struct tensor *negative = with_number(r, LESSER, m->indices, 0);
    m->indices = choose(r, negative, with_size(r, ADD, m->indices, m->size), m->indices);
    if (!m->indices || !m->updates || !m->x)
        return NULL;
    int64_t all = product((int64_t[]){m->size, m->count, m->width}, 3);
    bool late = has_late((int64_t[]){m->size, m->count, m->width}, 3);
    int64_t *turns = NULL, most = is_known(r, m->indices) && !has_late_elements(m->indices) && !late
                                      ? count_turns(m, &turns)
                                      : 0;
    if (r->failed)
        return NULL;
    if (is_late(m->count) || (late && m->count > MAX_TURNS))
        meet_all(m);
    else if (most == 1)
        meet_once(m, m->indices, m->updates);
    else if (most > 0 && most <= MAX_TURNS && m->indices->dims[1] == 1)
        meet_in_turns(m, turns, most);
    else if (m->count > MAX_TURNS && all <= MAX_MEETINGS)
        meet_all(m);
    else if (m->count <= 16 * MAX_TURNS)
        for (int64_t i = 0; i < m->count && !r->failed; i++)
            meet_once(m, slice_axis(r, m->indices, 0, i, 1, 1), slice_axis(r, m->updates, 0, i, 1, 1));
    else
        fail(r, "%lld updates that may meet at %lld elements", (long long)m->count,
             (long long)(m->size * m->width));
    return m->x;
}

// The axis first, all others joined.
static struct tensor *as_columns(struct recording *r, struct tensor *t, size_t axis)
{
    if (!t || r->failed)
        return NULL;
    t = swap_axes(r, t, 0, axis);
    return t ? reshape(r, t, 2, (int64_t[]){t->dims[0], size_product(r, t->dims + 1, t->rank - 1)}) : NULL;
}

static struct tensor *scatter_reduced(struct call *c, struct tensor *x, struct tensor *indices,
                                      struct tensor *updates, size_t axis)
{
    struct recording *r = c->r;
    struct tensor *flat = as_columns(r, x, axis);
    struct meeting m = {.r = r,
                        .op = reduction_of(c),
                        .x = flat,
                        .indices = as_columns(r, cast(r, indices, ONNX_INT64), axis),
                        .updates = as_columns(r, updates, axis),
                        .size = x->dims[axis],
                        .count = indices->dims[axis],
                        .width = flat ? flat->dims[1] : 0};
    int64_t dims[MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = dims[0];
    dims[0] = x->dims[axis];
    return swap_axes(r, reshape(r, meet(&m), x->rank, dims), 0, axis);
}

void record_scatter_elements(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *indices = input(c, 1), *updates = input(c, 2);
    size_t axis;
    if (!find_axis(r, get_int(c, "axis", 0), x->rank, &axis))
        return;
    bool fits = updates->rank == indices->rank;
    for (size_t i = 0; fits && i < indices->rank; i++)
        fits = !sizes_differ(updates->dims[i], indices->dims[i]);
    if (!fits) {
        fail(r, "updates of another shape than the indices");
        return;
    }
    struct tensor *part = reached(r, x, indices, axis);
    if (!part)
        return;
    if (count_elements(indices) == 0) {
        set_output(c, 0, x);
        return;
    }
    part = has_text(c, "reduction", "none", "none") ? scatter_elements(r, part, indices, updates, axis)
                                                    : scatter_reduced(c, part, indices, updates, axis);
    set_output(c, 0, put_back(r, x, part));
}

// Rows of a tensor whose first axes are joined, of indices [count, depth]: [count, 1].
static struct tensor *row_indices(struct recording *r, const struct tensor *x, struct tensor *indices)
{
    struct tensor *row = NULL;
    indices = cast(r, indices, ONNX_INT64);
    for (int64_t k = 0; indices && k < indices->dims[1]; k++) {
        struct tensor *at = slice_axis(r, indices, 1, k, 1, 1);
        int64_t size = x->dims[k];
        at = choose(r, with_number(r, LESSER, at, 0), with_size(r, ADD, at, size), at);
        row = row ? binary(r, ADD, with_size(r, MUL, row, size), at) : at;
    }
    return row;
}

void record_scatter_nd(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *indices = input(c, 1), *updates = input(c, 2);
    int64_t depth = indices->rank > 0 ? indices->dims[indices->rank - 1] : 0;
    if (depth < 1 || depth > (int64_t)x->rank || is_late(depth)) {
        fail(r, "indices of %lld axes of a tensor of rank %zu", (long long)depth, x->rank);
        return;
    }
    if (has_text(c, "reduction", "none", "none")) {
        set_output(c, 0, scatter_nd(r, x, indices, updates));
        return;
    }
    if (count_elements(indices) == 0) {
        set_output(c, 0, x);
        return;
    }
    int64_t count = size_product(r, indices->dims, indices->rank - 1),
            rows = size_product(r, x->dims, (size_t)depth),
            width = size_product(r, x->dims + depth, x->rank - (size_t)depth);
    struct meeting m = {.r = r,
                        .op = reduction_of(c),
                        .x = reshape(r, x, 2, (int64_t[]){rows, width}),
                        .indices = row_indices(r, x, reshape(r, indices, 2, (int64_t[]){count, depth})),
                        .updates = reshape(r, updates, 2, (int64_t[]){count, width}),
                        .size = rows,
                        .count = count,
                        .width = width};
    set_output(c, 0, reshape(r, meet(&m), x->rank, x->dims));
}

void record_one_hot(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *indices = input(c, 0), *depth = input(c, 1), *values = input(c, 2);
    size_t axis;
    if (!require_sizes(r, depth, "the depth") || count_elements(depth) != 1 || values->rank != 1 ||
        values->dims[0] != 2) {
        fail(r, "a depth of several numbers, or values that are not two");
        return;
    }
    int64_t n = known_integer(depth, 0), dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (n < 1 || indices->rank >= MAX_RANK ||
        !find_axis(r, get_int(c, "axis", -1), indices->rank + 1, &axis)) {
        fail(r, "a depth of %lld", (long long)n);
        return;
    }
    dims[axis] = n;
    struct tensor *x = indices->type == ONNX_INT64 ? indices : cast(r, indices, ONNX_INT64);
    x = choose(r, with_number(r, LESSER, x, 0), with_size(r, ADD, x, n), x);
    struct tensor *hot = binary(r, EQUAL, unsqueeze(r, x, axis),
                                reshape(r, make_range(r, ONNX_INT64, 0, n, 1), indices->rank + 1, dims));
    set_output(c, 0, choose(r, hot, slice_axis(r, values, 0, 1, 1, 1), slice_axis(r, values, 0, 0, 1, 1)));
}

void record_compress(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *condition = input(c, 1);
    size_t axis = 0;
    if (!require_known(r, condition, "the condition, on which the shape of the result depends,"))
        return;
    if (!has_attribute(c, "axis"))
        x = reshape(r, x, 1, &(int64_t){size_product(r, x->dims, x->rank)});
    if (!x || !find_axis(r, get_int(c, "axis", 0), x->rank, &axis))
        return;
    int64_t kept = 0, at = 0, n = count_elements(condition);
    for (int64_t i = 0; i < n; i++)
        kept += known_number(condition, i) != 0;
    struct tensor *indices = make_known(r, ONNX_INT64, 1, &kept);
    for (int64_t i = 0; indices && i < n; i++)
        if (known_number(condition, i) != 0)
            indices->ints[at++] = i;
    if (!is_late(x->dims[axis]) && n > x->dims[axis])
        fail(r, "a condition of %lld for a size of %lld", (long long)n, (long long)x->dims[axis]);
    set_output(c, 0, gather(r, x, indices, axis));
}

// Parameter 1: of scores, whose logarithm of softmax is taken first.
void record_likelihood_loss(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *target = input(c, 1), *weight = input(c, 2);
    if (x->rank < 2 || target->rank + 1 != x->rank) {
        fail(r, "targets of rank %zu for scores of rank %zu", target->rank, x->rank);
        return;
    }
    if (c->parameter) {
        struct tensor *low = binary(r, SUB, x, reduce_axis(r, MAXIMUM, x, 1));
        x = binary(r, SUB, low, unary(r, LOG, reduce_axis(r, SUM, unary(r, EXP, low), 1)));
        if (wants(c, 1))
            set_output(c, 1, x);
    }
    if (!x)
        return;
    struct tensor *label = unsqueeze(r, cast(r, target, ONNX_INT64), 1), *ignored = NULL;
    if (has_attribute(c, "ignore_index"))
        ignored = with_number(r, EQUAL, label, (double)get_int(c, "ignore_index", 0));
    struct tensor *index = clamp_to_size(r, label, x->dims[1]);
    struct tensor *loss = unary(r, NEG, gather_elements(r, x, index, 1)), *share = NULL;
    if (weight)
        share = gather(r, weight, index, 0);
    if (ignored) {
        struct tensor *one = make_number(r, x->type, 1);
        share = choose(r, ignored, make_number(r, x->type, 0), share ? share : one);
        if (share && share->rank == 0)
            share = expand(r, share, label->rank, label->dims);
    }
    loss = share ? binary(r, MUL, loss, share) : loss;
    if (!loss)
        return;
    size_t axes[MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (has_text(c, "reduction", "none", "mean"))
        loss = squeeze(r, loss, 1);
    else if (has_text(c, "reduction", "mean", "mean") && share)
        loss = binary(r, DIV, reduce(r, SUM, loss, loss->rank, axes, false),
                      reduce(r, SUM, share, share->rank, axes, false));
    else
        loss = reduce(r, has_text(c, "reduction", "sum", "mean") ? SUM : MEAN, loss, loss->rank, axes, false);
    set_output(c, 0, loss);
}
