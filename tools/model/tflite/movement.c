// SPDX-License-Identifier: Apache-2.0
//
// What moves elements: quantized ones as they are stored, where the result is quantized alike.
#include "tools/model/tflite/call.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Shapes
// ---------------------------------------------------------------------------------------------------------------

// The shape that RESHAPE asks for: an input's, its option's, or what the file says of the result.
static bool find_new_shape(struct call *c, size_t *rank, int64_t *dims)
{
    struct flatbuffer_vector option = wnn_flatbuffer_vector(&c->node->options, 0, 4);
    struct tensor *given = has_input(c, 1) ? stored_at(c, 1) : NULL;
    if (given && given->rank == 1 && is_known(c->r, given))
        return known_ints(c, 1, "the shape", MAX_RANK, rank, dims);
    if (given && given->rank == 1 && static_shape(c, 0, rank, dims))
        return true;
    if (given && given->rank == 1)
        return known_ints(c, 1, "the shape", MAX_RANK, rank, dims);
    if (option.count > MAX_RANK)
        return fail(c->r, "a shape of %zu dimensions", option.count);
    *rank = option.count;
    for (size_t i = 0; i < *rank; i++)
        dims[i] = wnn_flatbuffer_number_at(&option, FLATBUFFER_INT32, i);
    if (*rank == 1 && dims[0] == 0) // how old files write that there is no dimension
        *rank = 0;
    return true;
}

void compose_reshape(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    size_t rank, rest = MAX_RANK;
    int64_t dims[MAX_RANK], total = 1;
    if (!x || !find_new_shape(c, &rank, dims))
        return;
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < -1 || (dims[i] == -1 && rest < MAX_RANK)) {
            fail(r, "a shape with %s", dims[i] == -1 ? "more than one -1" : "a negative dimension");
            return;
        }
        if (dims[i] == -1)
            rest = i;
        else if (__builtin_mul_overflow(total, dims[i], &total)) {
            fail(r, "a shape of too many elements");
            return;
        }
    }
    if (rest < MAX_RANK)
        dims[rest] = total ? count_elements(x) / total : 0;
    give(c, 0, reshape(r, x, rank, dims));
}

void compose_squeeze(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    struct flatbuffer_vector axes = wnn_flatbuffer_vector(&c->node->options, 0, 4);
    bool gone[MAX_RANK] = {false};
    int64_t dims[MAX_RANK];
    size_t rank = 0, axis;
    if (!x || axes.count > 4 * MAX_RANK) {
        fail(r, "%zu axes", axes.count);
        return;
    }
    for (size_t i = 0; i < axes.count; i++) {
        if (!find_axis(r, wnn_flatbuffer_number_at(&axes, FLATBUFFER_INT32, i), x->rank, &axis))
            return;
        if (x->dims[axis] != 1) {
            fail(r, "axis %zu has a size of %lld, not 1", axis, (long long)x->dims[axis]);
            return;
        }
        gone[axis] = true;
    }
    for (size_t i = 0; i < x->rank; i++)
        if (axes.count ? !gone[i] : x->dims[i] != 1)
            dims[rank++] = x->dims[i];
    give(c, 0, reshape(r, x, rank, dims));
}

void compose_expand_dims(struct call *c)
{
    struct tensor *x = moved_at(c, 0);
    int64_t number;
    size_t axis;
    if (x && known_int(c, 1, "the axis", &number) && find_axis(c->r, number, x->rank + 1, &axis))
        give(c, 0, unsqueeze(c->r, x, axis));
}

void compose_transpose(struct call *c)
{
    struct tensor *x = moved_at(c, 0);
    size_t count, permutation[MAX_RANK];
    if (!x || !known_axes(c, 1, x, &count, permutation))
        return;
    if (count == x->rank)
        give(c, 0, transpose(c->r, x, permutation));
    else
        fail(c->r, "its axes are no permutation");
}

void compose_broadcast_to(struct call *c)
{
    struct tensor *x = moved_at(c, 0);
    size_t rank;
    int64_t dims[MAX_RANK];
    if (x && known_ints(c, 1, "the shape", MAX_RANK, &rank, dims))
        give(c, 0, expand(c->r, x, rank, dims));
}

// ---------------------------------------------------------------------------------------------------------------
// Parts
// ---------------------------------------------------------------------------------------------------------------

// All inputs, as they are stored if all of them and the output are quantized alike.
static struct tensor **all_inputs(struct call *c)
{
    struct tensor **all = wnn_model_allocate(c->r->memory, c->input_count, sizeof(struct tensor *));
    bool alike = given_type(c, 0) != TYPE_INT16;
    if (!all)
        return fail(c->r, "there is not enough memory");
    for (size_t i = 0; i < c->input_count; i++) {
        if (!has_input(c, i))
            return fail(c->r, "input %zu is missing", i);
        alike = alike && is_quantized_alike(c->inputs[i]->about, c->outputs[0]->about);
    }
    for (size_t i = 0; i < c->input_count; i++)
        if (!(all[i] = alike ? stored_at(c, i) : real_at(c, i)))
            return NULL;
    return all;
}

void compose_concatenation(struct call *c)
{
    int64_t activation = option_enum(c, 1);
    struct tensor **all = all_inputs(c);
    size_t axis;
    if (!all || !find_axis(c->r, option_int(c, 0, 0), all[0]->rank, &axis))
        return;
    struct tensor *y = concat(c->r, c->input_count, all, axis);
    if (activation && y && !is_real(y->type)) {
        fail(c->r, "an activation of numbers of type %s", type_name(y->type));
        return;
    }
    give(c, 0, activate_output(c, y, activation));
}

void compose_pack(struct call *c)
{
    struct tensor **all = all_inputs(c);
    size_t axis;
    if (!all || !find_axis(c->r, option_int(c, 1, 0), all[0]->rank + 1, &axis))
        return;
    for (size_t i = 0; i < c->input_count; i++)
        all[i] = unsqueeze(c->r, all[i], axis);
    if (!c->r->failed)
        give(c, 0, concat(c->r, c->input_count, all, axis));
}

void compose_unpack(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    size_t axis;
    if (!x || !find_axis(r, option_int(c, 1, 0), x->rank, &axis))
        return;
    if (x->dims[axis] < (int64_t)c->output_count) {
        fail(r, "%zu parts of a size of %lld", c->output_count, (long long)x->dims[axis]);
        return;
    }
    for (size_t i = 0; i < c->output_count; i++)
        give(c, i, squeeze(r, slice_axis(r, x, axis, (int64_t)i, 1, 1), axis));
}

// The axis is the first input.
void compose_split(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 1);
    int64_t number, parts = (int64_t)c->output_count;
    size_t axis;
    if (!x || !known_int(c, 0, "the axis", &number) || !find_axis(r, number, x->rank, &axis))
        return;
    if (parts == 0 || x->dims[axis] % parts) {
        fail(r, "%lld parts of a size of %lld", (long long)parts, (long long)x->dims[axis]);
        return;
    }
    int64_t size = x->dims[axis] / parts;
    for (int64_t i = 0; i < parts; i++)
        give(c, (size_t)i, slice_axis(r, x, axis, i * size, size, 1));
}

void compose_split_v(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    int64_t number, left, at = 0, *sizes = wnn_model_allocate(r->memory, c->output_count, sizeof *sizes);
    size_t axis, count;
    if (!x || !sizes || !known_int(c, 2, "the axis", &number) || !find_axis(r, number, x->rank, &axis) ||
        !known_ints(c, 1, "the sizes", c->output_count, &count, sizes))
        return;
    left = x->dims[axis];
    for (size_t i = 0; i < count; i++)
        left -= sizes[i] > 0 ? sizes[i] : 0;
    for (size_t i = 0; i < count; i++) {
        int64_t size = sizes[i] < 0 ? left : sizes[i];
        if (size < 0 || size > x->dims[axis] - at) {
            fail(r, "parts of %lld of a size of %lld", (long long)size, (long long)x->dims[axis]);
            return;
        }
        give(c, i, slice_axis(r, x, axis, at, size, 1));
        at += size;
    }
}

void compose_slice(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    int64_t starts[MAX_RANK], sizes[MAX_RANK];
    size_t count, size_count;
    if (!x || !known_ints(c, 1, "where the slice begins", MAX_RANK, &count, starts) ||
        !known_ints(c, 2, "the size of the slice", MAX_RANK, &size_count, sizes))
        return;
    if (count != x->rank || size_count != x->rank) {
        fail(r, "a slice with %zu and %zu numbers of a tensor of rank %zu", count, size_count, x->rank);
        return;
    }
    for (size_t i = 0; i < x->rank; i++) {
        sizes[i] = sizes[i] == -1 ? x->dims[i] - starts[i] : sizes[i];
        if (sizes[i] < 0 || starts[i] < 0 || starts[i] > x->dims[i] || sizes[i] > x->dims[i] - starts[i]) {
            fail(r, "a slice of %lld from %lld on of a size of %lld", (long long)sizes[i],
                 (long long)starts[i], (long long)x->dims[i]);
            return;
        }
    }
    give(c, 0, slice(r, x, starts, sizes, NULL));
}

// ---------------------------------------------------------------------------------------------------------------
// STRIDED_SLICE
// ---------------------------------------------------------------------------------------------------------------

struct strided {
    size_t count; // of items: of an axis each, but one of none or several and new axes
    int64_t begin[2 * MAX_RANK], end[2 * MAX_RANK], strides[2 * MAX_RANK];
    int64_t begin_mask, end_mask, ellipsis_mask, new_mask, shrink_mask;
    bool offset; // an end is given as its distance from the begin
};

static int64_t within(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static bool read_strided(struct call *c, struct strided *s)
{
    size_t ends, strides;
    if (!known_ints(c, 1, "where the slice begins", 2 * MAX_RANK, &s->count, s->begin) ||
        !known_ints(c, 2, "where the slice ends", 2 * MAX_RANK, &ends, s->end) ||
        !known_ints(c, 3, "the strides of the slice", 2 * MAX_RANK, &strides, s->strides))
        return false;
    if (ends != s->count || strides != s->count)
        return fail(c->r, "a slice with %zu begins, %zu ends and %zu strides", s->count, ends, strides);
    s->begin_mask = option_int(c, 0, 0);
    s->end_mask = option_int(c, 1, 0);
    s->ellipsis_mask = option_int(c, 2, 0);
    s->new_mask = option_int(c, 3, 0);
    s->shrink_mask = option_int(c, 4, 0);
    s->offset = option_bool(c, 5);
    return true;
}

// What item `i` takes of an axis of a size. False: an error.
static bool take_part(struct recording *r, const struct strided *s, size_t i, int64_t size, int64_t *start,
                      int64_t *count, int64_t *step)
{
    int64_t begin = s->begin[i], end = s->offset ? begin + s->end[i] : s->end[i];
    *step = s->strides[i];
    if (*step == 0)
        return fail(r, "a stride of 0");
    begin += begin < 0 ? size : 0;
    end += end < 0 ? size : 0;
    if (s->shrink_mask >> i & 1) {
        *start = begin;
        *count = *step = 1;
        return (begin >= 0 && begin < size) ||
               fail(r, "index %lld of a size of %lld", (long long)s->begin[i], (long long)size);
    }
    bool back = *step < 0;
    int64_t low = back ? -1 : 0, high = back ? size - 1 : size;
    begin = s->begin_mask >> i & 1 ? (back ? high : low) : within(begin, low, high);
    end = s->end_mask >> i & 1 ? (back ? low : high) : within(end, low, high);
    int64_t span = back ? begin - end : end - begin, width = back ? -*step : *step;
    *start = begin;
    *count = span > 0 ? (span - 1) / width + 1 : 0;
    *step = *count > 1 ? *step : 1;
    return true;
}

// How many items from one on take an axis each.
static size_t count_taken(const struct strided *s, size_t from)
{
    size_t count = 0;
    for (size_t i = from; i < s->count; i++)
        count += !(s->new_mask >> i & 1) && !(s->ellipsis_mask >> i & 1);
    return count;
}

void compose_strided_slice(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    struct strided s;
    if (!x || !read_strided(c, &s))
        return;
    int64_t starts[MAX_RANK] = {0}, sizes[MAX_RANK], steps[MAX_RANK], dims[3 * MAX_RANK];
    size_t axis = 0, rank = 0;
    if (count_taken(&s, 0) > x->rank) {
        fail(r, "a slice of %zu axes of a tensor of rank %zu", count_taken(&s, 0), x->rank);
        return;
    }
    for (size_t i = 0; i <= s.count; i++) {
        // An ellipsis, or the end, takes whole axes, up to those that the items behind it take.
        bool rest = i == s.count || s.ellipsis_mask >> i & 1;
        while (rest && axis + count_taken(&s, i) < x->rank) {
            sizes[axis] = dims[rank++] = x->dims[axis];
            steps[axis++] = 1;
        }
        if (rest)
            continue;
        if (s.new_mask >> i & 1) {
            dims[rank++] = 1;
            continue;
        }
        if (!take_part(r, &s, i, x->dims[axis], &starts[axis], &sizes[axis], &steps[axis]))
            return;
        if (!(s.shrink_mask >> i & 1))
            dims[rank++] = sizes[axis];
        axis++;
    }
    give(c, 0, reshape(r, slice(r, x, starts, sizes, steps), rank, dims));
}

// ---------------------------------------------------------------------------------------------------------------
// Padding and repetition
// ---------------------------------------------------------------------------------------------------------------

// Numbers of elements to add, [rank, 2].
static bool read_pads(struct call *c, const struct tensor *x, int64_t *before, int64_t *after)
{
    int64_t numbers[2 * MAX_RANK];
    size_t count;
    if (!x || !known_ints(c, 1, "the padding", 2 * MAX_RANK, &count, numbers))
        return false;
    if (count != 2 * x->rank)
        return fail(c->r, "%zu numbers to pad a tensor of rank %zu", count, x->rank);
    for (size_t i = 0; i < x->rank; i++) {
        before[i] = numbers[2 * i];
        after[i] = numbers[2 * i + 1];
        if (before[i] < 0 || after[i] < 0)
            return fail(c->r, "padding of %lld and %lld", (long long)before[i], (long long)after[i]);
    }
    return true;
}

// Zero, as it is among the elements of x, which is input 0 as it is stored, or real.
static double zero_of(const struct call *c, const struct tensor *x)
{
    const struct tflite_tensor *about = c->inputs[0]->about;
    return is_real(x->type) || !is_quantized_tensor(about) ? 0 : (double)zero_at(about, 0);
}

// The number that is added to x: zero, or input 2.
static bool find_filling(struct call *c, const struct tensor *x, double *filling)
{
    *filling = zero_of(c, x);
    if (!has_input(c, 2))
        return true;
    const struct tflite_tensor *about = c->inputs[2]->about, *own = c->inputs[0]->about;
    struct tensor *value = stored_at(c, 2);
    if (!require_known(c->r, value, "the value to pad with"))
        return false;
    if (count_elements(value) != 1)
        return fail(c->r, "several values to pad with");
    *filling = known_number(value, 0);
    if (!is_quantized_tensor(about))
        return true;
    if (is_real(x->type))
        *filling = (*filling - (double)zero_at(about, 0)) * scale_at(about, 0);
    return is_real(x->type) || is_quantized_alike(about, own) ||
           fail(c->r, "a value to pad with that is quantized in another way");
}

void compose_pad(struct call *c)
{
    struct tensor *x = moved_at(c, 0);
    int64_t before[MAX_RANK], after[MAX_RANK];
    double filling;
    if (read_pads(c, x, before, after) && find_filling(c, x, &filling))
        give(c, 0, pad(c->r, x, before, after, WNNPaddingMode_Constant, filling));
}

void compose_mirror_pad(struct call *c)
{
    struct tensor *x = moved_at(c, 0);
    int64_t before[MAX_RANK], after[MAX_RANK];
    bool repeats = option_enum(c, 0) == 1; // the edge too
    if (!read_pads(c, x, before, after))
        return;
    for (size_t i = 0; i < x->rank; i++)
        if (before[i] > x->dims[i] - !repeats || after[i] > x->dims[i] - !repeats) {
            fail(c->r, "a mirror of %lld and %lld elements of %lld", (long long)before[i],
                 (long long)after[i], (long long)x->dims[i]);
            return;
        }
    give(c, 0,
         pad(c->r, x, before, after, repeats ? WNNPaddingMode_Symmetric : WNNPaddingMode_Reflection, 0));
}

// Puts numbers between neighbors of an axis: as an axis of its own, which is padded, without the last.
static struct tensor *dilate_axis(struct recording *r, struct tensor *x, size_t axis, int64_t step,
                                  double filling)
{
    int64_t before[MAX_RANK] = {0}, after[MAX_RANK] = {0}, dims[MAX_RANK];
    if (!x || step == 1 || x->dims[axis] < 2)
        return x;
    int64_t size = (x->dims[axis] - 1) * step + 1;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] *= step;
    after[axis + 1] = step - 1;
    struct tensor *y = pad(r, unsqueeze(r, x, axis + 1), before, after, WNNPaddingMode_Constant, filling);
    return slice_axis(r, reshape(r, y, x->rank, dims), axis, 0, size, 1);
}

void compose_dilate(struct call *c)
{
    struct tensor *x = moved_at(c, 0);
    int64_t steps[MAX_RANK];
    size_t count;
    double filling;
    if (!x || !known_ints(c, 1, "the steps", MAX_RANK, &count, steps) || !find_filling(c, x, &filling))
        return;
    if (count != x->rank) {
        fail(c->r, "%zu steps for a tensor of rank %zu", count, x->rank);
        return;
    }
    for (size_t i = 0; i < count && !c->r->failed; i++) {
        if (steps[i] < 1)
            fail(c->r, "a step of %lld", (long long)steps[i]);
        x = dilate_axis(c->r, x, i, steps[i], filling);
    }
    give(c, 0, x);
}

void compose_tile(struct call *c)
{
    struct tensor *x = moved_at(c, 0);
    int64_t times[MAX_RANK];
    size_t count;
    if (!x || !known_ints(c, 1, "the repetitions", MAX_RANK, &count, times))
        return;
    if (count == x->rank)
        give(c, 0, tile(c->r, x, times));
    else
        fail(c->r, "%zu repetitions of a tensor of rank %zu", count, x->rank);
}

void compose_reverse(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    int64_t starts[MAX_RANK] = {0}, steps[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    size_t count, axes[MAX_RANK];
    if (!known_axes(c, 1, x, &count, axes))
        return;
    for (size_t i = 0; i < count; i++)
        if (x->dims[axes[i]] > 1) {
            starts[axes[i]] = x->dims[axes[i]] - 1;
            steps[axes[i]] = -1;
        }
    give(c, 0, slice(r, x, starts, x->dims, steps));
}

void compose_reverse_sequence(struct call *c)
{
    struct tensor *x = moved_at(c, 0);
    size_t time, batch;
    if (x && find_axis(c->r, option_int(c, 0, 0), x->rank, &time) &&
        find_axis(c->r, option_int(c, 1, 0), x->rank, &batch))
        give(c, 0, reverse_sequence(c->r, x, stored_at(c, 1), batch, time));
}

// ---------------------------------------------------------------------------------------------------------------
// Blocks
// ---------------------------------------------------------------------------------------------------------------

static bool read_block(struct call *c, const struct tensor *x, int64_t *block)
{
    *block = option_int(c, 0, 0);
    if (!x)
        return false;
    return (x->rank == 4 && *block >= 1 && *block <= 65536) ||
           fail(c->r, "blocks of %lld of a tensor of rank %zu", (long long)*block, x->rank);
}

void compose_space_to_depth(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    int64_t b;
    if (!read_block(c, x, &b))
        return;
    int64_t n = x->dims[0], h = x->dims[1] / b, w = x->dims[2] / b, depth = x->dims[3];
    const int64_t cut[] = {n, h, b, w, b, depth}, whole[] = {n, h, w, b * b * depth};
    static const size_t order[] = {0, 1, 3, 2, 4, 5};
    give(c, 0, reshape(r, transpose(r, reshape(r, x, 6, cut), order), 4, whole));
}

void compose_depth_to_space(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    int64_t b;
    if (!read_block(c, x, &b))
        return;
    int64_t n = x->dims[0], h = x->dims[1], w = x->dims[2], depth = x->dims[3] / (b * b);
    const int64_t cut[] = {n, h, w, b, b, depth}, whole[] = {n, h * b, w * b, depth};
    static const size_t order[] = {0, 1, 3, 2, 4, 5};
    give(c, 0, reshape(r, transpose(r, reshape(r, x, 6, cut), order), 4, whole));
}

// Sizes of blocks of the axes from 1 on, and what is padded before and after each, or taken away.
struct blocks {
    size_t count;
    int64_t sizes[MAX_RANK], before[MAX_RANK], after[MAX_RANK], total;
};

static bool read_blocks(struct call *c, const struct tensor *x, struct blocks *b)
{
    int64_t numbers[2 * MAX_RANK];
    size_t count;
    *b = (struct blocks){.total = 1};
    if (!x || !known_ints(c, 1, "the sizes of blocks", MAX_RANK, &b->count, b->sizes) ||
        !known_ints(c, 2, "the padding", 2 * MAX_RANK, &count, numbers))
        return false;
    if (b->count + 1 > x->rank || count != 2 * b->count || x->rank + b->count > MAX_RANK)
        return fail(c->r, "blocks of %zu axes of a tensor of rank %zu", b->count, x->rank);
    for (size_t i = 0; i < b->count; i++) {
        b->before[1 + i] = numbers[2 * i];
        b->after[1 + i] = numbers[2 * i + 1];
        if (b->sizes[i] < 1 || numbers[2 * i] < 0 || numbers[2 * i + 1] < 0 ||
            __builtin_mul_overflow(b->total, b->sizes[i], &b->total))
            return fail(c->r, "blocks of %lld, padded with %lld and %lld", (long long)b->sizes[i],
                        (long long)numbers[2 * i], (long long)numbers[2 * i + 1]);
    }
    return true;
}

// [n, h, w, ...] as [n, h / bh, bh, w / bw, bw, ...], then the places within blocks first.
void compose_space_to_batch(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    struct blocks b;
    if (!read_blocks(c, x, &b))
        return;
    x = pad(r, x, b.before, b.after, WNNPaddingMode_Constant, zero_of(c, x));
    if (!x)
        return;
    int64_t cut[MAX_RANK] = {x->dims[0]}, whole[MAX_RANK] = {x->dims[0] * b.total};
    size_t order[MAX_RANK], rank = 1, at = 0;
    for (size_t i = 0; i < b.count; i++) {
        cut[rank++] = whole[1 + i] = x->dims[1 + i] / b.sizes[i];
        cut[rank++] = b.sizes[i];
        order[at++] = rank - 1;
    }
    order[at++] = 0;
    for (size_t i = 0; i < b.count; i++)
        order[at++] = 1 + 2 * i;
    for (size_t i = 1 + b.count; i < x->rank; i++) {
        order[at++] = rank;
        cut[rank++] = whole[i] = x->dims[i];
    }
    give(c, 0, reshape(r, transpose(r, reshape(r, x, rank, cut), order), x->rank, whole));
}

// The reverse.
void compose_batch_to_space(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    struct blocks b;
    if (!read_blocks(c, x, &b))
        return;
    int64_t cut[MAX_RANK], whole[MAX_RANK] = {x->dims[0] / b.total};
    size_t order[MAX_RANK] = {b.count}, rank = 0, at = 1;
    for (size_t i = 0; i < b.count; i++)
        cut[rank++] = b.sizes[i];
    cut[rank++] = x->dims[0] / b.total;
    for (size_t i = 0; i < b.count; i++) {
        order[at++] = rank;
        order[at++] = i;
        whole[1 + i] = x->dims[1 + i] * b.sizes[i];
        cut[rank++] = x->dims[1 + i];
    }
    for (size_t i = 1 + b.count; i < x->rank; i++) {
        order[at++] = rank;
        cut[rank++] = whole[i] = x->dims[i];
    }
    struct tensor *y = reshape(r, transpose(r, reshape(r, x, rank, cut), order), x->rank, whole);
    for (size_t i = 0; i < x->rank; i++) {
        b.before[i] = -b.before[i];
        b.after[i] = -b.after[i];
    }
    give(c, 0, pad(r, y, b.before, b.after, WNNPaddingMode_Constant, 0));
}

// ---------------------------------------------------------------------------------------------------------------
// Diagonals
// ---------------------------------------------------------------------------------------------------------------

// Where row and column are the same, [rows, columns].
static struct tensor *make_diagonal(struct recording *r, int64_t rows, int64_t columns)
{
    struct tensor *row = reshape(r, make_range(r, TYPE_INT32, 0, rows, 1), 2, (int64_t[]){rows, 1});
    struct tensor *column = make_range(r, TYPE_INT32, 0, columns, 1);
    return binary(r, EQUAL, row, limit_known(r, column, product((int64_t[]){rows, columns}, 2)));
}

void compose_matrix_diag(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0);
    if (!x || x->rank < 1) {
        fail(r, "a tensor of rank 0 has no diagonal");
        return;
    }
    int64_t n = x->dims[x->rank - 1];
    give(c, 0,
         choose(r, make_diagonal(r, n, n), unsqueeze(r, x, x->rank - 1),
                make_number(r, x->type, zero_of(c, x))));
}

void compose_matrix_set_diag(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0), *diagonal = moved_at(c, 1);
    if (!x || !diagonal)
        return;
    if (x->rank < 2 || diagonal->rank + 1 != x->rank) {
        fail(r, "a diagonal of rank %zu in a tensor of rank %zu", diagonal->rank, x->rank);
        return;
    }
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1], none[MAX_RANK] = {0},
            more[MAX_RANK] = {0};
    more[x->rank - 2] = rows > columns ? rows - columns : 0;
    struct tensor *along = unsqueeze(r, diagonal, x->rank - 1);
    along = pad(r, along, none, more, WNNPaddingMode_Constant, 0);
    give(c, 0, choose(r, make_diagonal(r, rows, columns), along, x));
}

// ---------------------------------------------------------------------------------------------------------------
// DYNAMIC_UPDATE_SLICE
// ---------------------------------------------------------------------------------------------------------------

// Puts an update into x, from known starts on: along one axis after another, between what is before and
// behind.
static struct tensor *put_slice(struct recording *r, struct tensor *x, struct tensor *update,
                                const int64_t *starts, size_t axis)
{
    if (!x || !update || axis == x->rank)
        return update;
    int64_t start = starts[axis], size = update->dims[axis], behind = x->dims[axis] - start - size;
    if (size == x->dims[axis])
        return put_slice(r, x, update, starts, axis + 1);
    struct tensor *middle = put_slice(r, slice_axis(r, x, axis, start, size, 1), update, starts, axis + 1);
    struct tensor *parts[3];
    size_t count = 0;
    if (start > 0)
        parts[count++] = slice_axis(r, x, axis, 0, start, 1);
    parts[count++] = middle;
    if (behind > 0)
        parts[count++] = slice_axis(r, x, axis, start + size, behind, 1);
    return r->failed ? NULL : concat(r, count, parts, axis);
}

// Puts an update from computed starts on, as a scatter of whole parts: all axes behind the last one that the
// update does not fill.
static struct tensor *scatter_slice(struct recording *r, struct tensor *x, struct tensor *update,
                                    struct tensor *starts)
{
    size_t depth = x->rank;
    while (depth > 1 && update->dims[depth - 1] == x->dims[depth - 1])
        depth--;
    int64_t dims[MAX_RANK + 1], one[2] = {1, 1};
    struct tensor *places[MAX_RANK];
    if (depth == MAX_RANK)
        return fail(r, "an update of rank %zu", x->rank);
    memcpy(dims, update->dims, sizeof update->dims);
    dims[depth] = 1;
    starts = cast(r, starts, TYPE_INT64);
    for (size_t i = 0; i < depth; i++) {
        int64_t along[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
        along[i] = update->dims[i];
        struct tensor *start =
            clamp(r, slice_axis(r, starts, 0, (int64_t)i, 1, 1), 0, (double)(x->dims[i] - update->dims[i]));
        struct tensor *range = reshape(r, make_range(r, TYPE_INT64, 0, update->dims[i], 1), depth + 1, along);
        places[i] = expand(r, binary(r, ADD, range, reshape(r, start, 1, one)), depth + 1, dims);
    }
    return r->failed ? NULL : scatter_nd(r, x, concat(r, depth, places, depth), update);
}

void compose_dynamic_update_slice(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0), *update = moved_at(c, 1), *starts = stored_at(c, 2);
    int64_t numbers[MAX_RANK];
    size_t count;
    if (!x || !update || !starts)
        return;
    bool fits = update->rank == x->rank && starts->rank == 1 && starts->dims[0] == (int64_t)x->rank;
    for (size_t i = 0; fits && i < x->rank; i++)
        fits = update->dims[i] <= x->dims[i];
    if (!fits || x->rank == 0) {
        fail(r, "an update of rank %zu that does not fit a tensor of rank %zu", update->rank, x->rank);
        return;
    }
    if (!is_known(r, starts)) {
        give(c, 0, scatter_slice(r, x, update, starts));
        return;
    }
    if (!known_ints(c, 2, "where the update begins", MAX_RANK, &count, numbers))
        return;
    for (size_t i = 0; i < count; i++)
        numbers[i] = within(numbers[i], 0, x->dims[i] - update->dims[i]);
    give(c, 0, put_slice(r, x, update, numbers, 0));
}
