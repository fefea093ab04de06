// SPDX-License-Identifier: Apache-2.0
#include "tools/model/resize.h"

#include "tools/model/late.h"

#include <math.h>
#include <string.h>

static int64_t within(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

// Whether an axis is not as before.
static bool is_changed(const struct resize *z, size_t i)
{
    const struct resize_axis *axis = &z->axes[i];
    if (z->coordinates == CROP_AND_RESIZE)
        return axis->from != axis->to || axis->start != 0 || axis->end != 1;
    return axis->from != axis->to || axis->over != axis->under;
}

// Half a pixel off, as resample2d takes it.
static double half_pixel(const struct resize_axis *axis, int64_t x)
{
    return ((double)x + 0.5) * axis->over / axis->under - 0.5;
}

// The same of what is nearest and given by a scale: in float32, as scales are. 6 / 1.2 is 5, and not what is
// below.
static double scaled(const struct resize_axis *axis, float x, float offset)
{
    float at = x / (float)axis->scale;
    return at - offset;
}

// Where an element of the output is in the input.
static double position_of(const struct resize *z, const struct resize_axis *axis, int64_t x)
{
    double last = (double)(axis->from - 1);
    bool by_scale = z->mode == NEAREST && axis->over == 1;
    switch (z->coordinates) {
    case HALF_PIXEL:
        return by_scale ? scaled(axis, (float)x + 0.5f, 0.5f) : half_pixel(axis, x);
    case HALF_PIXEL_SYMMETRIC:
        return (double)axis->from / 2 * (1 - (double)axis->to / axis->width) + half_pixel(axis, x);
    case PYTORCH_HALF_PIXEL:
        return axis->to == 1 ? 0 : by_scale ? scaled(axis, (float)x + 0.5f, 0.5f) : half_pixel(axis, x);
    case ALIGN_CORNERS:
        return axis->to > 1 ? (double)x * last / (axis->width - 1) : 0;
    case ASYMMETRIC:
        return by_scale ? scaled(axis, (float)x, 0) : (double)x * axis->over / axis->under;
    case HALF_PIXEL_FOR_NEAREST: // of operator set 11
        return half_pixel(axis, x) + 0.5;
    case CROP_AND_RESIZE: {
        // In float32, as edges of regions are: 0.4 * 3 + 0.6 * 3 is 3, and not outside of it.
        float start = (float)axis->start, end = (float)axis->end, size = (float)last;
        if (axis->to == 1)
            return (start + end) * size / 2;
        return start * size + (float)x * (end - start) * size / (float)(axis->to - 1);
    }
    }
    return 0;
}

static bool is_outside(const struct resize *z, const struct resize_axis *axis, double at)
{
    return z->coordinates == CROP_AND_RESIZE && !(at >= 0 && at <= (double)(axis->from - 1));
}

// The element that is nearest to a position.
static int64_t nearest_to(const struct resize *z, const struct resize_axis *axis, double at)
{
    bool up = z->rounding == ROUND_CEIL || (z->oldest && axis->scale < 1);
    double nearest = up                            ? ceil(at)
                     : z->rounding == ROUND_FLOOR  ? floor(at)
                     : z->rounding == PREFER_FLOOR ? ceil(at - 0.5)
                                                   : floor(at + 0.5);
    double last = (double)(axis->from - 1);
    return (int64_t)(nearest > last ? last : nearest > 0 ? nearest : 0);
}

static double weight_of(const struct resize *z, double distance)
{
    double x = fabs(distance), a = z->cubic_a;
    if (z->mode == LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// A column of the matrix that an axis is multiplied with: what element `to` of the output takes of each one
// of the input. Beyond an edge is the edge, or nothing.
static void set_weights(const struct resize *z, const struct resize_axis *axis, double at, double *column)
{
    double shrink = z->antialias && axis->scale < 1 ? axis->scale : 1, sum = 0;
    // Far away from the input everything is its edge; and positions can be counted.
    double limit = 4 * ((double)axis->from + (double)axis->to);
    at = at < -limit ? -limit : at > limit ? limit : at;
    int64_t first = (int64_t)floor(-(z->mode == LINEAR ? 1 : 2) / shrink) + 1, base = (int64_t)ceil(at) - 1;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = base + first; i <= base + 1 - first; i++) {
            double weight = weight_of(z, ((double)i - at) * shrink);
            if (z->exclude_outside && (i < 0 || i >= axis->from))
                continue;
            if (pass == 0)
                sum += weight;
            else if (sum != 0)
                column[within(i, 0, axis->from - 1) * axis->to] += weight / sum;
        }
    if (sum == 0)
        column[within(base, 0, axis->from - 1) * axis->to] = 1;
}

static struct tensor *make_weights(struct recording *r, const struct resize *z,
                                   const struct resize_axis *axis, int64_t type)
{
    struct tensor *weights = make_known(r, type, 2, (int64_t[]){axis->from, axis->to});
    for (int64_t i = 0; weights && i < axis->to; i++) {
        double at = position_of(z, axis, i);
        if (!is_outside(z, axis, at))
            set_weights(z, axis, at, weights->reals + i);
    }
    return weights;
}

static struct tensor *make_nearest(struct recording *r, const struct resize *z,
                                   const struct resize_axis *axis)
{
    struct tensor *indices = make_known(r, TYPE_INT64, 1, &axis->to);
    for (int64_t i = 0; indices && i < axis->to; i++)
        indices->ints[i] = nearest_to(z, axis, position_of(z, axis, i));
    return indices;
}

// The last axis of a matrix is the one that is multiplied.
static struct tensor *multiply_axis(struct recording *r, struct tensor *t, size_t axis,
                                    struct tensor *weights)
{
    if (!t || !weights)
        return NULL;
    size_t last = t->rank - 1;
    t = swap_axes(r, t, axis, last);
    if (!t)
        return NULL;
    int64_t dims[MAX_RANK], matrix[2] = {product(t->dims, last), t->dims[last]};
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[last] = weights->dims[1];
    t = reshape(r, matmul(r, reshape(r, t, 2, matrix), weights), last + 1, dims);
    return swap_axes(r, t, axis, last);
}

// Outside of the region of interest is a value of its own.
static struct tensor *extrapolate(struct recording *r, const struct resize *z, struct tensor *t, size_t axis)
{
    if (!t || z->coordinates != CROP_AND_RESIZE)
        return t;
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    dims[axis] = z->axes[axis].to;
    struct tensor *outside = make_known(r, TYPE_BOOL, t->rank, dims);
    bool any = false;
    for (int64_t i = 0; outside && i < dims[axis]; i++) {
        outside->ints[i] = is_outside(z, &z->axes[axis], position_of(z, &z->axes[axis], i));
        any |= outside->ints[i] != 0;
    }
    return any ? choose(r, outside, make_number(r, t->type, z->extrapolation), t) : t;
}

// Whether resample2d does for an axis what is asked for: repeats elements, or interpolates half a pixel off
// between sizes that are exactly the scale apart (as far as float32 can tell).
static bool is_resampled(const struct resize *z, const struct resize_axis *axis)
{
    int64_t times = axis->to / axis->from;
    if (z->coordinates == CROP_AND_RESIZE || (z->mode == NEAREST && axis->to % axis->from) ||
        (z->antialias && axis->scale < 1))
        return false;
    struct resize_axis exact = {.over = (double)axis->from, .under = (double)axis->to};
    for (int64_t i = 0; i < axis->to; i++) {
        double at = position_of(z, axis, i);
        if (z->mode == NEAREST ? nearest_to(z, axis, at) != i / times
                               : fabs(at - half_pixel(&exact, i)) > 1e-6 * (double)axis->from)
            return false;
    }
    return true;
}

// The first of two neighboring axes that resample2d can resize at once; 0: none.
static size_t find_resampled(struct recording *r, const struct resize *z, const struct tensor *t)
{
    WNNDataType type = operand_type(r, t->type);
    bool fits = type == WNNDataType_Float32 || type == WNNDataType_Float16 ||
                (z->mode == NEAREST && (type == WNNDataType_Int8 || type == WNNDataType_Uint8));
    bool changed[4] = {false};
    if (t->rank != 4 || z->mode == CUBIC || !fits)
        return 0;
    for (size_t i = 0; i < 4; i++) {
        changed[i] = is_changed(z, i);
        if (changed[i] && !is_resampled(z, &z->axes[i]))
            return 0;
    }
    if (changed[0] || (changed[1] && changed[3]))
        return 0;
    return changed[1] ? 1 : changed[2] || changed[3] ? 2 : 0;
}

static struct tensor *resample(struct recording *r, const struct resize *z, struct tensor *t, size_t first)
{
    uint32_t axes[2] = {(uint32_t)first, (uint32_t)first + 1};
    uint32_t sizes[2] = {size_number(z->axes[first].to), size_number(z->axes[first + 1].to)};
    WNNResample2dOptions options = WNN_RESAMPLE2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.mode = z->mode == NEAREST ? WNNInterpolationMode_NearestNeighbor : WNNInterpolationMode_Linear;
    options.sizes = (WNNUint32List){sizes, 2};
    options.axes = (WNNUint32List){axes, 2};
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, wnnGraphBuilderResample2d(r->builder, operand, &options))
                   : NULL;
}

// One axis after another.
static struct tensor *resize_axes(struct recording *r, const struct resize *z, struct tensor *t)
{
    size_t rank = t->rank;
    for (size_t i = 0; t && i < rank; i++) {
        if (!is_changed(z, i))
            continue;
        if (z->mode == NEAREST)
            t = gather(r, t, make_nearest(r, z, &z->axes[i]), i);
        else
            t = multiply_axis(r, t, i, make_weights(r, z, &z->axes[i], t->type));
        t = extrapolate(r, z, t, i);
    }
    return t;
}

struct tensor *resize(struct recording *r, const struct resize *z, struct tensor *x)
{
    if (!x || r->failed)
        return NULL;
    bool whole = z->mode != NEAREST && !is_real(x->type); // numbers that have to be rounded
    struct tensor *y = whole ? cast(r, x, TYPE_FLOAT32) : x;
    size_t first = y ? find_resampled(r, z, y) : 0;
    if (y)
        y = first ? resample(r, z, y, first) : resize_axes(r, z, y);
    return whole ? cast(r, unary(r, ROUND, y), x->type) : y;
}

// ---------------------------------------------------------------------------------------------------------------
// Sizes that are late: positions are computed by the graph
// ---------------------------------------------------------------------------------------------------------------

static struct tensor *scale_of(struct recording *r, const struct resize_axis *axis)
{
    return axis->late_scale ? axis->late_scale : make_number(r, TYPE_FLOAT32, axis->scale);
}

// Positions of all elements of the output in the input, [to] of float32.
static struct tensor *late_positions(struct recording *r, const struct resize *z,
                                     const struct resize_axis *axis)
{
    struct tensor *x = make_range(r, TYPE_FLOAT32, 0, axis->to, 1);
    struct tensor *from = make_size(r, TYPE_FLOAT32, axis->from), *to = make_size(r, TYPE_FLOAT32, axis->to);
    if (z->coordinates == ALIGN_CORNERS) {
        struct tensor *width = axis->by_scale ? binary(r, MUL, from, scale_of(r, axis)) : to;
        struct tensor *last = with_number(r, MAX, with_number(r, SUB, width, 1), 1);
        return binary(r, DIV, binary(r, MUL, x, with_number(r, SUB, from, 1)), last);
    }
    double offset = z->coordinates == ASYMMETRIC ? 0 : 0.5;
    struct tensor *at = offset == 0 ? x : with_number(r, ADD, x, offset);
    at =
        axis->by_scale ? binary(r, DIV, at, scale_of(r, axis)) : binary(r, DIV, binary(r, MUL, at, from), to);
    if (z->coordinates == HALF_PIXEL || z->coordinates == PYTORCH_HALF_PIXEL)
        at = with_number(r, SUB, at, 0.5);
    if (z->coordinates == PYTORCH_HALF_PIXEL)
        at = choose(r, with_number(r, GREATER, to, 1), at, make_number(r, TYPE_FLOAT32, 0));
    return at;
}

static struct tensor *late_nearest(struct recording *r, const struct resize *z,
                                   const struct resize_axis *axis, struct tensor *at)
{
    bool up = z->rounding == ROUND_CEIL || (z->oldest && axis->by_scale && axis->scale < 1);
    if (!up && z->rounding != ROUND_FLOOR)
        at = with_number(r, z->rounding == PREFER_FLOOR ? SUB : ADD, at, 0.5);
    at = unary(r, up || z->rounding == PREFER_FLOOR ? CEIL : FLOOR, at);
    return cast(r, clamp_to_size(r, at, axis->from), TYPE_INT64);
}

// What an element at an offset from the one below a position weighs.
static struct tensor *late_weight(struct recording *r, const struct resize *z, struct tensor *fraction,
                                  int offset)
{
    struct tensor *d =
        offset < 1 ? with_number(r, SUB, fraction, offset) : number_with(r, SUB, offset, fraction);
    double a = z->cubic_a;
    bool near = offset == 0 || offset == 1;
    if (z->mode == LINEAR)
        return number_with(r, SUB, 1, d);
    const double k[2][4] = {{a, -5 * a, 8 * a, -4 * a}, {a + 2, -(a + 3), 0, 1}};
    struct tensor *sum = with_number(r, ADD, with_number(r, MUL, d, k[near][0]), k[near][1]);
    sum = with_number(r, ADD, binary(r, MUL, sum, d), k[near][2]);
    return with_number(r, ADD, binary(r, MUL, sum, d), k[near][3]);
}

// The elements around each position, weighted and added.
static struct tensor *late_sum(struct recording *r, const struct resize *z, struct tensor *t, size_t axis,
                               struct tensor *at)
{
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct tensor *low = unary(r, FLOOR, at), *sum = NULL;
    struct tensor *fraction = binary(r, SUB, at, low);
    dims[axis] = z->axes[axis].to;
    for (int offset = z->mode == LINEAR ? 0 : -1; offset <= (z->mode == LINEAR ? 1 : 2); offset++) {
        struct tensor *place = clamp_to_size(r, with_number(r, ADD, low, offset), z->axes[axis].from);
        struct tensor *weight = cast(r, late_weight(r, z, fraction, offset), t->type);
        struct tensor *part = gather(r, t, cast(r, place, TYPE_INT64), axis);
        part = binary(r, MUL, part, reshape(r, weight, t->rank, dims));
        sum = sum ? binary(r, ADD, sum, part) : part;
    }
    return sum;
}

// Whether resample2d interpolates as is asked for, of an image.
static bool is_late_resampled(const struct resize *z, const struct tensor *t)
{
    bool half = z->coordinates == HALF_PIXEL && z->mode == LINEAR && t->rank == 4;
    for (size_t i = 0; half && i < 4; i++)
        half = i < 2 ? z->axes[i].from == z->axes[i].to : !z->axes[i].by_scale;
    return half && (t->type == TYPE_FLOAT32 || t->type == TYPE_FLOAT16);
}

struct tensor *resize_late(struct recording *r, const struct resize *z, struct tensor *x)
{
    if (z->coordinates == CROP_AND_RESIZE || z->coordinates == HALF_PIXEL_SYMMETRIC || z->antialias ||
        z->exclude_outside)
        return fail(r, "regions, symmetry, antialiasing or exclude_outside with sizes that are not known");
    bool whole = z->mode != NEAREST && !is_real(x->type);
    struct tensor *y = whole ? cast(r, x, TYPE_FLOAT32) : x;
    if (y && is_late_resampled(z, y))
        return resample(r, z, y, 2);
    for (size_t i = 0; y && i < x->rank; i++) {
        const struct resize_axis *axis = &z->axes[i];
        if (axis->from == axis->to && !axis->by_scale)
            continue;
        struct tensor *at = late_positions(r, z, axis);
        y = z->mode == NEAREST ? gather(r, y, late_nearest(r, z, axis, at), i) : late_sum(r, z, y, i, at);
    }
    return whole ? cast(r, unary(r, ROUND, y), x->type) : y;
}
