// SPDX-License-Identifier: Apache-2.0
//
// Elements of images between their pixels: samples at the points of a grid, of regions, and of deformed
// windows. The pixels of all images become rows of a table, [batch * pixels, channels], of which those that
// surround a point are gathered.
#include "tools/model/late.h"
#include "tools/model/onnx/window.h"

#include <math.h>
#include <string.h>

#define MAX_SAMPLES 32 // of a bin of a region, along an axis

struct sampling {
    struct recording *r;
    size_t axes;
    struct tensor *rows;
    struct tensor *first;                            // row of each image, of the rank of positions
    int64_t type, batch, channels, sizes[3], pixels; // of an image
    bool align, reflect, border;
};

// The table of images of [n, groups * channels, ...], where each group is an image of its own.
static bool begin(struct sampling *s, struct recording *r, struct tensor *x, int64_t groups)
{
    if (!check_sizes(r, x, "the input", 4, 5))
        return false;
    *s = (struct sampling){.r = r,
                           .axes = x->rank - 2,
                           .type = x->type,
                           .batch = compute_size(r, MUL, x->dims[0], groups),
                           .channels = compute_size(r, DIV, x->dims[1], groups)};
    memcpy(s->sizes, x->dims + 2, s->axes * sizeof s->sizes[0]);
    s->pixels = size_product(r, s->sizes, s->axes);
    const int64_t images[] = {s->batch, s->channels, s->pixels},
                  rows[] = {compute_size(r, MUL, s->batch, s->pixels), s->channels};
    s->rows = reshape(r, swap_axes(r, reshape(r, x, 3, images), 1, 2), 2, rows);
    return s->rows != NULL;
}

static int64_t index_type(const struct sampling *s)
{
    bool few = !is_late(s->batch) && !is_late(s->pixels) && s->batch * s->pixels <= INT32_MAX;
    return few ? ONNX_INT32 : ONNX_INT64;
}

// The first row of each image, for positions of a rank whose axis 0 is the batch.
static void begin_images(struct sampling *s, size_t rank)
{
    int64_t dims[MAX_RANK] = {s->batch, 1, 1, 1, 1, 1, 1, 1};
    s->first = reshape(s->r, make_range(s->r, index_type(s), 0, s->batch, s->pixels), rank, dims);
}

// ---------------------------------------------------------------------------------------------------------------
// Pixels and what is between them
// ---------------------------------------------------------------------------------------------------------------

// A size among positions.
static struct tensor *real_size(struct sampling *s, int64_t size)
{
    return make_size(s->r, ONNX_FLOAT, size);
}

// Back into the range of an axis, as often as it takes.
static struct tensor *reflected(struct sampling *s, struct tensor *x, int64_t size)
{
    struct recording *r = s->r;
    double low = s->align ? 0 : -0.5;
    if (size == 1 && s->align)
        return with_number(r, MUL, x, 0);
    struct tensor *span = real_size(s, size);
    span = s->align ? with_number(r, SUB, span, 1) : span;
    // Of one element that turns out to be all, every position is the first.
    struct tensor *width = s->align && is_late(size) ? with_number(r, MAX, span, 1) : span;
    struct tensor *d = unary(r, ABS, with_number(r, SUB, x, low));
    struct tensor *turns = unary(r, FLOOR, binary(r, DIV, d, width));
    struct tensor *rest = binary(r, SUB, d, binary(r, MUL, turns, width));
    struct tensor *half = with_number(r, MUL, turns, 0.5);
    struct tensor *even = binary(r, EQUAL, half, unary(r, FLOOR, half));
    struct tensor *back = binary(r, SUB, with_number(r, ADD, span, low), rest);
    struct tensor *y = choose(r, even, with_number(r, ADD, rest, low), back);
    return width == span ? y : choose(r, with_number(r, LESSER, span, 1), with_number(r, MUL, x, 0), y);
}

// The pixels at whole positions, one for each axis, which are broadcast: [..., channels].
static struct tensor *pixels(struct sampling *s, struct tensor *const *at)
{
    struct recording *r = s->r;
    struct tensor *index = NULL, *inside = NULL;
    int64_t type = index_type(s);
    for (size_t i = 0; i < s->axes; i++) {
        struct tensor *x = s->reflect ? reflected(s, at[i], s->sizes[i]) : at[i];
        struct tensor *in = clamp_to_size(r, x, s->sizes[i]);
        if (!s->reflect && !s->border) {
            struct tensor *here = binary(r, EQUAL, x, in);
            inside = inside ? binary(r, AND, inside, here) : here;
        }
        if (s->reflect) // halves that rounding left
            in = unary(r, ROUND, in);
        in = cast(r, in, type);
        index = index ? binary(r, ADD, with_size(r, MUL, index, s->sizes[i]), in) : in;
    }
    struct tensor *all = gather(r, s->rows, binary(r, ADD, index, s->first), 0);
    return inside ? binary(r, MUL, all, unsqueeze(r, cast(r, inside, s->type), inside->rank)) : all;
}

// Weights of the four pixels around a position at fraction t, with the constant -0.75 of cubic convolution.
static struct tensor *cubic(struct recording *r, struct tensor *t, int offset)
{
    const double a = -0.75;
    struct tensor *d = unary(r, ABS, with_number(r, SUB, t, offset));
    bool near = offset == 0 || offset == 1;
    const double k[2][4] = {{a, -5 * a, 8 * a, -4 * a}, {a + 2, -(a + 3), 0, 1}};
    struct tensor *sum = with_number(r, ADD, with_number(r, MUL, d, k[near][0]), k[near][1]);
    sum = with_number(r, ADD, binary(r, MUL, sum, d), k[near][2]);
    return with_number(r, ADD, binary(r, MUL, sum, d), k[near][3]);
}

// The pixels around positions, weighted and joined: added for an interpolation. [..., channels]
static struct tensor *interpolate(struct sampling *s, struct tensor *const *at, bool is_cubic,
                                  enum binary join)
{
    struct recording *r = s->r;
    int first = is_cubic ? -1 : 0, count = is_cubic ? 4 : 2, corners = 1;
    struct tensor *low[3], *fraction[3], *result = NULL;
    for (size_t i = 0; i < s->axes; i++) {
        low[i] = unary(r, FLOOR, at[i]);
        fraction[i] = binary(r, SUB, at[i], low[i]);
        corners *= count;
    }
    for (int corner = 0; corner < corners && !r->failed; corner++) {
        struct tensor *place[3], *weight = NULL;
        for (int i = (int)s->axes - 1, rest = corner; i >= 0; rest /= count, i--) {
            int offset = first + rest % count;
            struct tensor *own = is_cubic ? cubic(r, fraction[i], offset)
                                 : offset ? fraction[i]
                                          : number_with(r, SUB, 1, fraction[i]);
            place[i] = with_number(r, ADD, low[i], offset);
            weight = weight ? binary(r, MUL, own, weight) : own;
        }
        struct tensor *value = pixels(s, place);
        weight = cast(r, weight, s->type);
        value = binary(r, MUL, value, weight ? unsqueeze(r, weight, weight->rank) : NULL);
        result = result ? binary(r, join, result, value) : value;
    }
    return result;
}

// [batch, points, channels] as [batch, channels, dims...]
static struct tensor *channels_first(struct recording *r, struct tensor *t, size_t count, const int64_t *dims)
{
    if (!t || r->failed)
        return NULL;
    int64_t whole[MAX_RANK] = {t->dims[0], t->dims[2]};
    memcpy(whole + 2, dims, count * sizeof *dims);
    return reshape(r, swap_axes(r, t, 1, 2), 2 + count, whole);
}

// ---------------------------------------------------------------------------------------------------------------
// Grids
// ---------------------------------------------------------------------------------------------------------------

// Where a point of -1 to 1 is among the pixels of an axis.
static struct tensor *place(struct sampling *s, struct tensor *x, int64_t size)
{
    struct recording *r = s->r;
    struct tensor *n = real_size(s, size);
    x = with_number(r, ADD, x, 1);
    if (s->align)
        return binary(r, MUL, x, with_number(r, DIV, with_number(r, SUB, n, 1), 2));
    return with_number(r, MUL, with_number(r, SUB, binary(r, MUL, x, n), 1), 0.5);
}

void record_grid_sample(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *grid = input(c, 1), *at[3], *y;
    struct sampling s;
    size_t axes = x->rank - 2;
    if (!check_sizes(r, x, "the input", 4, 5))
        return;
    if (grid->rank != x->rank || grid->dims[axes + 1] != (int64_t)axes ||
        sizes_differ(grid->dims[0], x->dims[0])) {
        fail(r, "a grid of rank %zu for images of rank %zu, or of another batch", grid->rank, x->rank);
        return;
    }
    bool nearest = has_text(c, "mode", "nearest", "linear"),
         is_cubic = has_text(c, "mode", "cubic", "linear") || has_text(c, "mode", "bicubic", "linear");
    if (!begin(&s, r, x, 1))
        return;
    s.align = get_int(c, "align_corners", 0) != 0;
    s.reflect = has_text(c, "padding_mode", "reflection", "zeros");
    s.border = has_text(c, "padding_mode", "border", "zeros");
    begin_images(&s, 2);
    grid = reshape(r, grid, 3, (int64_t[]){s.batch, size_product(r, grid->dims + 1, axes), (int64_t)axes});
    grid = cast(r, grid, ONNX_FLOAT);
    for (size_t i = 0; i < axes; i++) { // the last axis of an image comes first
        struct tensor *p = squeeze(r, slice_axis(r, grid, 2, (int64_t)(axes - 1 - i), 1, 1), 2);
        p = place(&s, p, s.sizes[i]);
        if (s.reflect && !is_cubic)
            p = reflected(&s, p, s.sizes[i]);
        if ((s.reflect || s.border) && !is_cubic)
            p = clamp_to_size(r, p, s.sizes[i]);
        at[i] = nearest ? unary(r, ROUND, p) : p;
    }
    y = nearest ? pixels(&s, at) : interpolate(&s, at, is_cubic, ADD);
    set_output(c, 0, channels_first(r, y, axes, input(c, 1)->dims + 1));
}

// Coordinates of -1 to 1 along an axis.
static struct tensor *coordinates(struct recording *r, int64_t type, int64_t size, bool align)
{
    struct tensor *at = make_range(r, is_late(size) ? ONNX_FLOAT : ONNX_DOUBLE, 0, size, 1);
    at = with_number(r, MUL, at, 2);
    if (is_late(size)) {
        struct tensor *n = make_size(r, ONNX_FLOAT, size);
        n = align ? with_number(r, MAX, with_number(r, SUB, n, 1), 1) : n;
        at = binary(r, DIV, align ? at : with_number(r, ADD, at, 1), n);
    } else if (align) {
        at = with_number(r, DIV, at, size > 1 ? (double)(size - 1) : 1);
    } else {
        at = with_number(r, DIV, with_number(r, ADD, at, 1), (double)size);
    }
    return cast(r, with_number(r, SUB, at, 1), type);
}

// All points of a grid, the last axis of an image first, and 1: [points, axes + 1].
static struct tensor *grid_points(struct recording *r, int64_t type, size_t axes, const int64_t *sizes,
                                  int64_t points, bool align)
{
    struct tensor *columns[4];
    const int64_t one[] = {points, 1};
    for (size_t i = 0; i < axes; i++) {
        int64_t dims[3] = {1, 1, 1};
        size_t axis = axes - 1 - i;
        dims[axis] = sizes[axis];
        struct tensor *at = reshape(r, coordinates(r, type, sizes[axis], align), axes, dims);
        columns[i] = reshape(r, expand(r, at, axes, sizes), 2, one);
    }
    columns[axes] = make_filled(r, type, 2, one, 1);
    return concat(r, axes + 1, columns, 1);
}

// Points of a grid times matrices of [n, axes, axes + 1].
void record_affine_grid(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *theta = input(c, 0);
    bool align = get_int(c, "align_corners", 0) != 0;
    size_t count;
    int64_t *sizes, dims[MAX_RANK];
    if (!get_list(c, 1, "size", &count, &sizes) || count < 4 || count > 5) {
        fail(r, "a grid of %zu sizes; 4 or 5 are supported", count);
        return;
    }
    int64_t axes = (int64_t)count - 2, points = size_product(r, sizes + 2, count - 2);
    if (theta->rank != 3 || sizes_differ(theta->dims[0], sizes[0]) || theta->dims[1] != axes ||
        theta->dims[2] != axes + 1 || points < 1 || (points > LARGEST && !is_late(points))) {
        fail(r, "matrices that do not fit a grid of %lld points", (long long)points);
        return;
    }
    struct tensor *base = grid_points(r, theta->type, count - 2, sizes + 2, points, align);
    dims[0] = sizes[0];
    memcpy(dims + 1, sizes + 2, (size_t)axes * sizeof *dims);
    dims[axes + 1] = axes;
    set_output(c, 0, reshape(r, matmul(r, base, swap_axes(r, theta, 1, 2)), count, dims));
}

// ---------------------------------------------------------------------------------------------------------------
// Regions
// ---------------------------------------------------------------------------------------------------------------

// What regions are cut from images.
struct regions {
    struct sampling s;
    int64_t count, to[2]; // regions, and the size of what is cut from each
    struct tensor
        *edges[4]; // of height, width, height and width: where they begin and end, [count, 1] of float32
};

// `edges`: the columns of [count, ...] that have the edges.
static bool begin_regions(struct regions *g, struct recording *r, struct tensor *x, struct tensor *boxes,
                          const int64_t *edges, double scale)
{
    if (!is_float(r, x, "the input") || !is_float(r, boxes, "a region"))
        return false;
    if (x->rank != 4 || boxes->rank != 2 || boxes->dims[1] < 4 || boxes->dims[0] < 1)
        return fail(r, "regions of rank %zu in images of rank %zu", boxes->rank, x->rank);
    if (g->to[0] < 1 || g->to[1] < 1 || g->to[0] > LARGEST || g->to[1] > LARGEST)
        return fail(r, "regions of a size of %lld by %lld", (long long)g->to[0], (long long)g->to[1]);
    if (!isfinite(scale))
        return fail(r, "the scale of regions is not finite");
    g->count = boxes->dims[0];
    boxes = cast(r, boxes, ONNX_FLOAT);
    for (size_t i = 0; i < 4; i++) {
        g->edges[i] = slice_axis(r, boxes, 1, edges[i], 1, 1);
        if (scale != 1)
            g->edges[i] = with_number(r, MUL, g->edges[i], scale);
    }
    return begin(&g->s, r, x, 1);
}

// Which image each region is of.
static bool choose_images(struct regions *g, struct tensor *images)
{
    struct recording *r = g->s.r;
    int64_t type = index_type(&g->s);
    if (!images || r->failed)
        return false;
    if (sizes_differ(size_product(r, images->dims, images->rank), g->count))
        return fail(r, "%lld images for %lld regions", (long long)count_elements(images),
                    (long long)g->count);
    images = cast(r, reshape(r, images, 3, (int64_t[]){g->count, 1, 1}), type);
    g->s.first = with_size(r, MUL, images, g->s.pixels);
    return g->s.first != NULL;
}

// 0, 1, ... as [1, count] of float32.
static struct tensor *steps(struct recording *r, int64_t count)
{
    return unsqueeze(r, make_range(r, ONNX_FLOAT, 0, count, 1), 0);
}

// Halves go away from zero.
static struct tensor *rounded(struct recording *r, struct tensor *t)
{
    struct tensor *size = unary(r, FLOOR, with_number(r, ADD, unary(r, ABS, t), 0.5));
    return binary(r, MUL, unary(r, SIGN, t), size);
}

// [count, height], as [count, height, 1], or widths as [count, 1, width]
static struct tensor *along(struct recording *r, struct tensor *t, size_t axis)
{
    return unsqueeze(r, t, axis == 0 ? 2 : 1);
}

static struct tensor *is_within(struct recording *r, struct tensor *t, double low, struct tensor *high)
{
    return binary(r, AND, with_number(r, GREATER_OR_EQUAL, t, low), binary(r, LESSER_OR_EQUAL, t, high));
}

// [count, height, width, channels] with channels first.
static void set_regions(struct call *c, struct tensor *t)
{
    set_output(c, 0, transpose(c->r, t, (size_t[]){0, 3, 1, 2}));
}

// Samples of RoiAlign along an axis: `count` of each bin, or as many as the size of a bin asks for, which is
// not the same for all regions.
struct samples {
    struct tensor *start, *bin; // [count, 1]
    int64_t count;              // the largest
    struct tensor *own;         // how many each region has, [count, 1]; NULL: all `count`
};

static bool count_samples(struct regions *g, struct samples *a, size_t axis, int64_t ratio, double shift,
                          double least)
{
    struct recording *r = g->s.r;
    a->start = with_number(r, SUB, g->edges[axis], shift);
    struct tensor *size = binary(r, SUB, with_number(r, SUB, g->edges[axis + 2], shift), a->start);
    if (least > 0)
        size = with_number(r, MAX, size, least);
    a->bin = with_number(r, DIV, size, (double)g->to[axis]);
    a->count = ratio;
    if (ratio > 0)
        return !r->failed;
    if (!is_known(r, a->bin))
        return fail(r, "a sampling_ratio of 0 asks for regions that are known when the graph is recorded");
    a->own = unary(r, CEIL, a->bin);
    a->count = 1;
    for (int64_t i = 0; a->own && i < g->count; i++)
        if (known_number(a->own, i) > (double)a->count)
            a->count =
                known_number(a->own, i) > MAX_SAMPLES ? MAX_SAMPLES + 1 : (int64_t)known_number(a->own, i);
    return !r->failed;
}

// Sample i of every bin of an axis, [count, bins] with the axes that it lacks; and the weight of those that
// are too far outside: 0.
static struct tensor *sample_at(struct regions *g, const struct samples *a, size_t axis, int64_t i,
                                struct tensor **weight)
{
    struct recording *r = g->s.r;
    struct tensor *size = real_size(&g->s, g->s.sizes[axis]);
    struct tensor *share = a->own ? number_with(r, DIV, (double)i + 0.5, with_number(r, MAX, a->own, 1))
                                  : make_number(r, ONNX_FLOAT, ((double)i + 0.5) / (double)a->count);
    struct tensor *at = binary(r, MUL, binary(r, ADD, steps(r, g->to[axis]), share), a->bin);
    at = binary(r, ADD, at, a->start);
    *weight = along(r, cast(r, is_within(r, at, -1, size), g->s.type), axis);
    return along(r, clamp_to_size(r, at, g->s.sizes[axis]), axis);
}

// Which regions have samples i and k of their bins, [count, 1, 1, 1]; NULL: all of them.
static struct tensor *have_samples(struct regions *g, const struct samples *a, int64_t i, int64_t k)
{
    struct recording *r = g->s.r;
    if (!a[0].own)
        return NULL;
    struct tensor *both = binary(r, AND, with_number(r, GREATER, a[0].own, (double)i),
                                 with_number(r, GREATER, a[1].own, (double)k));
    return reshape(r, both, 4, (int64_t[]){g->count, 1, 1, 1});
}

static struct tensor *align_regions(struct regions *g, const struct samples *a, bool is_max)
{
    struct recording *r = g->s.r;
    enum binary join = is_max ? MAX : ADD;
    struct tensor *result = NULL, *count, *none = make_number(r, g->s.type, 0);
    struct tensor *least = make_number(r, g->s.type, is_max ? -INFINITY : 0);
    for (int64_t i = 0; i < a[0].count; i++)
        for (int64_t k = 0; k < a[1].count && !r->failed; k++) {
            struct tensor *weights[2],
                *at[2] = {sample_at(g, &a[0], 0, i, &weights[0]), sample_at(g, &a[1], 1, k, &weights[1])};
            struct tensor *value = interpolate(&g->s, at, false, join);
            struct tensor *weight = binary(r, MUL, weights[0], weights[1]), *has = have_samples(g, a, i, k);
            value = binary(r, MUL, value, weight ? unsqueeze(r, weight, 3) : NULL);
            value = has ? choose(r, has, value, least) : value;
            result = result ? binary(r, join, result, value) : value;
        }
    if (!a[0].own)
        return is_max ? result : with_number(r, DIV, result, (double)(a[0].count * a[1].count));
    if (is_max)
        return choose(r, have_samples(g, a, 0, 0), result, none);
    count = binary(r, MUL, with_number(r, MAX, a[0].own, 1), with_number(r, MAX, a[1].own, 1));
    count = cast(r, reshape(r, count, 4, (int64_t[]){g->count, 1, 1, 1}), g->s.type);
    return binary(r, DIV, result, count);
}

// The largest of products with weights, not of interpolated values, is what ONNX takes for mode max.
void record_roi_align(struct call *c)
{
    static const int64_t edges[] = {1, 0, 3, 2};
    struct recording *r = c->r;
    struct regions g = {.to = {get_int(c, "output_height", 1), get_int(c, "output_width", 1)}};
    struct samples samples[2] = {0};
    int64_t ratio = get_int(c, "sampling_ratio", 0);
    bool half = c->version >= 16 && has_text(c, "coordinate_transformation_mode", "half_pixel", "half_pixel"),
         is_max = has_text(c, "mode", "max", "avg");
    if (!begin_regions(&g, r, input(c, 0), input(c, 1), edges, get_float(c, "spatial_scale", 1)) ||
        !choose_images(&g, input(c, 2)))
        return;
    g.s.border = true;
    for (size_t i = 0; i < 2; i++)
        if (!count_samples(&g, &samples[i], i, ratio, half ? 0.5 : 0, half ? 0 : 1))
            return;
    if (ratio < 0 || samples[0].count > MAX_SAMPLES || samples[1].count > MAX_SAMPLES) {
        fail(r, "%lld samples of a bin; up to %d are supported", (long long)samples[0].count, MAX_SAMPLES);
        return;
    }
    set_regions(c, align_regions(&g, samples, is_max));
}

// Where element i of `count` is between two edges, which are at the first and the last one.
static struct tensor *cut(struct regions *g, size_t axis)
{
    struct recording *r = g->s.r;
    struct tensor *last = with_number(r, SUB, real_size(&g->s, g->s.sizes[axis]), 1);
    struct tensor *start = g->edges[axis], *end = g->edges[axis + 2];
    if (g->to[axis] == 1)
        return binary(r, MUL, binary(r, ADD, start, end), with_number(r, DIV, last, 2));
    struct tensor *step = with_number(r, DIV, last, (double)(g->to[axis] - 1));
    step = binary(r, MUL, binary(r, SUB, end, start), step);
    return binary(r, ADD, binary(r, MUL, start, last), binary(r, MUL, steps(r, g->to[axis]), step));
}

void record_crop_and_resize(struct call *c)
{
    static const int64_t edges[] = {0, 1, 2, 3};
    struct recording *r = c->r;
    struct regions g = {0};
    struct tensor *at[2], *visible = NULL;
    size_t count;
    int64_t *sizes;
    if (!get_list(c, 3, "crop_size", &count, &sizes) || count != 2) {
        fail(r, "a size of %zu numbers", count);
        return;
    }
    memcpy(g.to, sizes, sizeof g.to);
    if (!begin_regions(&g, r, input(c, 0), input(c, 1), edges, 1) || !choose_images(&g, input(c, 2)))
        return;
    g.s.border = true;
    bool nearest = has_text(c, "mode", "nearest", "bilinear");
    for (size_t i = 0; i < 2; i++) {
        struct tensor *last = with_number(r, SUB, real_size(&g.s, g.s.sizes[i]), 1);
        struct tensor *p = along(r, cut(&g, i), i), *inside = is_within(r, p, 0, last);
        visible = visible ? binary(r, AND, visible, inside) : inside;
        p = clamp_to_size(r, p, g.s.sizes[i]);
        at[i] = nearest ? rounded(r, p) : p;
    }
    struct tensor *y = nearest ? pixels(&g.s, at) : interpolate(&g.s, at, false, ADD);
    visible = visible ? unsqueeze(r, visible, 3) : NULL;
    struct tensor *other = make_number(r, g.s.type, get_float(c, "extrapolation_value", 0));
    set_regions(c, choose(r, visible, y, other));
}

// ---------------------------------------------------------------------------------------------------------------
// The largest of bins of regions, by the largest of all windows whose sizes are powers of two: a bin is
// covered by two of them along each axis
// ---------------------------------------------------------------------------------------------------------------

// The largest of two neighbors that are a distance apart; beyond the end is nothing.
static struct tensor *largest_of_two(struct recording *r, struct tensor *t, size_t axis, int64_t distance)
{
    uint32_t window[2] = {1, 1}, dilations[2] = {1, 1}, padding[4] = {0};
    window[axis] = 2;
    dilations[axis] = (uint32_t)distance;
    padding[2 * axis + 1] = (uint32_t)distance;
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.windowDimensions = (WNNUint32List){window, 2};
    options.dilations = (WNNUint32List){dilations, 2};
    options.padding = (WNNUint32List){padding, 4};
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, wnnGraphBuilderMaxPool2d(r->builder, operand, &options)) : NULL;
}

static int64_t count_levels(int64_t size)
{
    int64_t levels = 1;
    while ((int64_t)1 << levels <= size)
        levels++;
    return levels;
}

// Images of all window sizes, one after the other: [levels of height * levels of width * n, channels, ...]
static struct tensor *windows_of(struct recording *r, struct tensor *x, const int64_t *levels)
{
    struct tensor **all = wnn_model_allocate(r->memory, (size_t)(levels[0] * levels[1]), sizeof *all);
    struct tensor *row = x;
    if (!all)
        return fail(r, "there is not enough memory");
    for (int64_t i = 0; i < levels[0] && !r->failed; i++) {
        row = i ? largest_of_two(r, row, 0, (int64_t)1 << (i - 1)) : row;
        struct tensor *t = row;
        for (int64_t k = 0; k < levels[1]; k++)
            all[i * levels[1] + k] = t = k ? largest_of_two(r, t, 1, (int64_t)1 << (k - 1)) : t;
    }
    return r->failed ? NULL : concat(r, (size_t)(levels[0] * levels[1]), all, 0);
}

// Bins of an axis: where the first and the last window that cover each begin, which level they are of, and
// whether there is anything. [count, bins] with the axis that they lack
struct bins {
    struct tensor *first, *last, *level, *any;
};

static struct bins find_bins(struct regions *g, size_t axis, int64_t levels)
{
    struct recording *r = g->s.r;
    double size = (double)g->s.sizes[axis];
    struct tensor *start = rounded(r, g->edges[axis]), *end = rounded(r, g->edges[axis + 2]);
    struct tensor *extent = with_number(r, MAX, with_number(r, ADD, binary(r, SUB, end, start), 1), 1);
    struct tensor *bin = with_number(r, DIV, extent, (double)g->to[axis]), *step = steps(r, g->to[axis]);
    struct tensor *from = unary(r, FLOOR, binary(r, MUL, step, bin));
    struct tensor *to = unary(r, CEIL, binary(r, MUL, with_number(r, ADD, step, 1), bin));
    from = clamp(r, binary(r, ADD, from, start), 0, size);
    to = clamp(r, binary(r, ADD, to, start), 0, size);
    struct tensor *length = binary(r, SUB, to, from), *level = NULL, *width = make_number(r, ONNX_FLOAT, 1);
    for (int64_t i = 1; i < levels; i++) {
        double power = ldexp(1, (int)i);
        struct tensor *is = cast(r, with_number(r, GREATER_OR_EQUAL, length, power), ONNX_FLOAT);
        level = level ? binary(r, ADD, level, is) : is;
        width = binary(r, ADD, width, with_number(r, MUL, is, power / 2));
    }
    level = level ? level : with_number(r, MUL, length, 0);
    return (struct bins){along(r, clamp(r, from, 0, size - 1), axis),
                         along(r, clamp(r, binary(r, SUB, to, width), 0, size - 1), axis),
                         along(r, level, axis), along(r, with_number(r, GREATER, length, 0), axis)};
}

void record_max_roi_pool(struct call *c)
{
    static const int64_t edges[] = {2, 1, 4, 3};
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *boxes = input(c, 1), *y = NULL;
    struct regions g = {0};
    size_t count;
    int64_t *shape = get_ints(c, "pooled_shape", &count), levels[2];
    if (!check_sizes(r, x, "the input", 4, 4))
        return;
    if (count != 2 || boxes->rank != 2 || boxes->dims[1] != 5) {
        fail(r, "regions that are not 5 numbers each");
        return;
    }
    memcpy(g.to, shape, sizeof g.to);
    if (has_late(x->dims + 2, 2)) {
        fail(r, "how many windows cover a bin depends on sizes that are not known");
        return;
    }
    for (size_t i = 0; i < 2; i++)
        levels[i] = count_levels(x->dims[2 + i]);
    struct tensor *windows = windows_of(r, x, levels);
    if (!windows || !begin_regions(&g, r, windows, boxes, edges, get_float(c, "spatial_scale", 1)))
        return;
    g.s.border = true;
    struct bins rows = find_bins(&g, 0, levels[0]), columns = find_bins(&g, 1, levels[1]);
    // The image of a region, of the level of its windows.
    struct tensor *image = binary(r, ADD, with_number(r, MUL, rows.level, (double)levels[1]), columns.level);
    struct tensor *own = unsqueeze(r, cast(r, slice_axis(r, boxes, 1, 0, 1, 1), ONNX_FLOAT), 2);
    image = binary(r, ADD, with_size(r, MUL, image, x->dims[0]), own);
    g.s.first = with_size(r, MUL, cast(r, image, index_type(&g.s)), g.s.pixels);
    for (int i = 0; i < 4; i++) {
        struct tensor *at[2] = {i / 2 ? rows.last : rows.first, i % 2 ? columns.last : columns.first};
        struct tensor *value = pixels(&g.s, at);
        y = y ? binary(r, MAX, y, value) : value;
    }
    struct tensor *any = binary(r, AND, rows.any, columns.any);
    any = any ? unsqueeze(r, any, 3) : NULL;
    set_regions(c, choose(r, any, y, make_number(r, x->type, 0)));
}

// ---------------------------------------------------------------------------------------------------------------
// Deformed windows
// ---------------------------------------------------------------------------------------------------------------

struct deformed {
    struct tensor *x, *w, *offsets, *bias, *mask;
    int64_t groups, parts, strides[2], dilations[2], before[2], out[2];
};

static bool read_pair(struct call *c, const char *name, size_t count, int64_t otherwise, int64_t least,
                      int64_t *values)
{
    size_t given;
    const int64_t *numbers = get_ints(c, name, &given);
    for (size_t i = 0; i < count; i++) {
        values[i] = given ? numbers[i < given ? i : 0] : otherwise;
        if ((given && given != count) || values[i] < least || values[i] > INT32_MAX)
            return fail(c->r, "%s has %zu numbers, or one of %lld", name, given, (long long)values[i]);
    }
    return !c->r->failed;
}

static bool read_deformed(struct call *c, struct deformed *d)
{
    struct recording *r = c->r;
    int64_t pads[4];
    *d = (struct deformed){.x = input(c, 0),
                           .w = input(c, 1),
                           .offsets = input(c, 2),
                           .bias = input(c, 3),
                           .mask = input(c, 4),
                           .groups = get_int(c, "group", 1),
                           .parts = get_int(c, "offset_group", 1)};
    if (!is_float(r, d->x, "the input") || !check_sizes(r, d->x, "the input", 4, 4) ||
        !check_sizes(r, d->w, "the filter", 4, 4) || !check_sizes(r, d->offsets, "the offsets", 4, 4))
        return false;
    const int64_t *x = d->x->dims, *w = d->w->dims;
    if (is_late(x[1]) || !knows_shape(d->w))
        return fail(r, "channels, or a filter, of a size that is not known");
    if (!read_pair(c, "strides", 2, 1, 1, d->strides) || !read_pair(c, "dilations", 2, 1, 1, d->dilations) ||
        !read_pair(c, "pads", 4, 0, 0, pads))
        return false;
    if (d->groups < 1 || d->parts < 1 || d->groups > x[1] || d->parts > x[1] || x[1] % d->parts ||
        x[1] != w[1] * d->groups || w[0] % d->groups || w[2] * w[3] > MAX_PARTS)
        return fail(
            r, "%lld channels in %lld groups and %lld groups of offsets with weights for %lld to %lld",
            (long long)x[1], (long long)d->groups, (long long)d->parts, (long long)w[1], (long long)w[0]);
    for (size_t i = 0; i < 2; i++) {
        int64_t room = compute_size(r, ADD, x[2 + i], pads[i] + pads[2 + i]);
        room = compute_size(r, SUB, room, (w[2 + i] - 1) * d->dilations[i] + 1);
        d->before[i] = pads[i];
        d->out[i] = room < 0 ? 0 : compute_size(r, ADD, compute_size(r, DIV, room, d->strides[i]), 1);
    }
    if (r->failed)
        return false;
    const int64_t points = w[2] * w[3] * d->parts, offsets[] = {x[0], 2 * points, d->out[0], d->out[1]},
                  mask[] = {x[0], points, d->out[0], d->out[1]};
    bool fits = d->out[0] >= 1 && d->out[1] >= 1 && (!d->mask || d->mask->rank == 4);
    for (size_t i = 0; fits && i < 4; i++)
        fits = !sizes_differ(offsets[i], d->offsets->dims[i]) &&
               !(d->mask && sizes_differ(mask[i], d->mask->dims[i]));
    if (!fits)
        return fail(r, "offsets or a mask that do not fit an output of %lld by %lld", (long long)d->out[0],
                    (long long)d->out[1]);
    return !d->bias || (d->bias->rank == 1 && d->bias->dims[0] == w[0]) ||
           fail(r, "a bias that does not have %lld elements", (long long)w[0]);
}

// Where the elements of all windows lie before they are moved, along an axis: [1, kernel, points].
static struct tensor *deformed_places(struct recording *r, const struct deformed *d, size_t axis)
{
    const int64_t *kernel = d->w->dims + 2;
    int64_t points = size_product(r, d->out, 2), elements = kernel[0] * kernel[1], along[] = {1, 1};
    struct tensor *element = make_known(r, ONNX_FLOAT, 3, (int64_t[]){1, elements, 1});
    for (int64_t i = 0; element && i < elements; i++)
        element->reals[i] =
            (double)((axis ? i % kernel[1] : i / kernel[1]) * d->dilations[axis] - d->before[axis]);
    along[axis] = d->out[axis];
    struct tensor *window = make_range(r, ONNX_FLOAT, 0, d->out[axis], d->strides[axis]);
    window = expand(r, reshape(r, window, 2, along), 2, d->out);
    return binary(r, ADD, reshape(r, window, 3, (int64_t[]){1, 1, points}), element);
}

// The products of windows, [n, points, channels * kernel] in the order of the weights, with them.
static struct tensor *multiply_windows(struct recording *r, const struct deformed *d, struct tensor *windows)
{
    const int64_t *w = d->w->dims;
    int64_t n = d->x->dims[0], points = size_product(r, d->out, 2), each = w[0] / d->groups,
            depth = product(w + 1, 3);
    const int64_t split[] = {n, points, d->groups, depth}, matrix[] = {d->groups, each, depth},
                  whole[] = {n, w[0], d->out[0], d->out[1]};
    windows = transpose(r, reshape(r, windows, 4, split), (size_t[]){0, 2, 3, 1});
    return reshape(r, matmul(r, reshape(r, d->w, 3, matrix), windows), 4, whole);
}

void record_deform_conv(struct call *c)
{
    struct recording *r = c->r;
    struct deformed d;
    struct sampling s;
    if (!read_deformed(c, &d) || !begin(&s, r, d.x, d.parts))
        return;
    int64_t n = d.x->dims[0], points = size_product(r, d.out, 2), kernel = d.w->dims[2] * d.w->dims[3];
    const int64_t moves[] = {s.batch, kernel, 2, points}, all[] = {s.batch, kernel, points, 1},
                  split[] = {n, d.parts, kernel, points, s.channels},
                  joined[] = {n, points, d.parts * s.channels * kernel};
    struct tensor *offsets = reshape(r, cast(r, d.offsets, ONNX_FLOAT), 4, moves), *at[2];
    for (size_t i = 0; i < 2; i++) {
        struct tensor *own = squeeze(r, slice_axis(r, offsets, 2, (int64_t)i, 1, 1), 2);
        at[i] = binary(r, ADD, own, deformed_places(r, &d, i));
    }
    begin_images(&s, 3);
    struct tensor *samples = interpolate(&s, at, false, ADD);
    if (d.mask)
        samples = binary(r, MUL, samples, reshape(r, d.mask, 4, all));
    samples = transpose(r, reshape(r, samples, 5, split), (size_t[]){0, 3, 1, 4, 2});
    struct tensor *y = multiply_windows(r, &d, reshape(r, samples, 3, joined));
    if (d.bias)
        y = binary(r, ADD, y, reshape(r, d.bias, 4, (int64_t[]){1, d.bias->dims[0], 1, 1}));
    set_output(c, 0, y);
}

// ---------------------------------------------------------------------------------------------------------------
// Boxes that overlap others
// ---------------------------------------------------------------------------------------------------------------

struct suppression {
    struct recording *r;
    const struct tensor *boxes, *scores; // [batch, count, 4], [batch, classes, count]
    int64_t count, classes, most;
    double overlap, least; // of scores
    bool centered;
    int64_t *candidates, *kept; // of a class
};

// y1, x1, y2, x2 with the smaller ones first.
static void corners_of(const struct suppression *s, int64_t box, double *corners)
{
    double v[4];
    for (int64_t i = 0; i < 4; i++)
        v[i] = known_number(s->boxes, box * 4 + i);
    for (int i = 0; i < 2; i++) {
        double a = s->centered ? v[1 - i] - v[3 - i] / 2 : fmin(v[i], v[2 + i]);
        double b = s->centered ? v[1 - i] + v[3 - i] / 2 : fmax(v[i], v[2 + i]);
        corners[i] = a;
        corners[2 + i] = b;
    }
}

static double area_of(const double *c)
{
    return (c[2] - c[0]) * (c[3] - c[1]);
}

static bool overlaps(const struct suppression *s, int64_t a, int64_t b)
{
    double p[4], q[4];
    corners_of(s, a, p);
    corners_of(s, b, q);
    double common[4] = {fmax(p[0], q[0]), fmax(p[1], q[1]), fmin(p[2], q[2]), fmin(p[3], q[3])};
    if (common[2] <= common[0] || common[3] <= common[1] || area_of(p) <= 0 || area_of(q) <= 0)
        return false;
    return area_of(common) / (area_of(p) + area_of(q) - area_of(common)) > s->overlap;
}

// The boxes of a class that remain, in `kept`; how many.
static int64_t suppress(const struct suppression *s, int64_t batch, int64_t class)
{
    int64_t base = (batch * s->classes + class) * s->count, left = 0, count = 0;
    for (int64_t i = 0; i < s->count; i++)
        if (known_number(s->scores, base + i) > s->least)
            s->candidates[left++] = i;
    while (left > 0 && count < s->most && wnn_model_work(s->r, (uint64_t)left * 4)) {
        int64_t best = 0, next = 0;
        for (int64_t i = 1; i < left; i++)
            if (known_number(s->scores, base + s->candidates[i]) >
                known_number(s->scores, base + s->candidates[best]))
                best = i;
        int64_t box = s->kept[count++] = s->candidates[best];
        for (int64_t i = 0; i < left; i++)
            if (i != best && !overlaps(s, batch * s->count + box, batch * s->count + s->candidates[i]))
                s->candidates[next++] = s->candidates[i];
        left = next;
    }
    return count;
}

static bool read_limit(struct call *c, size_t index, const char *name, double *value)
{
    struct tensor *t = input(c, index);
    if (!t || count_elements(t) == 0)
        return true;
    if (!require_known(c->r, t, name))
        return false;
    *value = known_number(t, 0);
    return true;
}

// How many boxes remain depends on what they are: the result has a shape only where they are known.
void record_non_max_suppression(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *boxes = input(c, 0), *scores = input(c, 1);
    double most = 0, overlap = 0, least = -INFINITY;
    if (!require_known(r, boxes, "the tensor of boxes, on which the shape of the result depends,") ||
        !require_known(r, scores, "the tensor of scores, on which the shape of the result depends,") ||
        !read_limit(c, 2, "the number of boxes", &most) || !read_limit(c, 3, "the overlap", &overlap) ||
        !read_limit(c, 4, "the least score", &least))
        return;
    if (boxes->rank != 3 || boxes->dims[2] != 4 || scores->rank != 3 || scores->dims[0] != boxes->dims[0] ||
        scores->dims[2] != boxes->dims[1] || !boxes->reals || !scores->reals) {
        fail(r, "boxes and scores that do not fit each other");
        return;
    }
    struct suppression s = {.r = r,
                            .boxes = boxes,
                            .scores = scores,
                            .count = boxes->dims[1],
                            .classes = scores->dims[1],
                            .overlap = overlap,
                            .least = least,
                            .centered = get_int(c, "center_point_box", 0) != 0};
    int64_t lists = boxes->dims[0] * s.classes, found = 0;
    s.most = most < 0 ? 0 : most < (double)s.count ? (int64_t)most : s.count;
    s.candidates = wnn_model_allocate(r->memory, (size_t)s.count, sizeof *s.candidates);
    s.kept = wnn_model_allocate(r->memory, (size_t)s.count, sizeof *s.kept);
    int64_t *rows = wnn_model_allocate(r->memory, (size_t)(lists * s.most), 3 * sizeof *rows);
    if (!s.candidates || !s.kept || !rows || (double)lists * (double)s.count * (double)s.most > 0x1p32) {
        fail(r, "more boxes than can be compared");
        return;
    }
    for (int64_t i = 0; i < lists && wnn_model_work(r, (uint64_t)s.count); i++) {
        int64_t count = suppress(&s, i / s.classes, i % s.classes);
        for (int64_t k = 0; k < count; k++, found++) {
            rows[3 * found] = i / s.classes;
            rows[3 * found + 1] = i % s.classes;
            rows[3 * found + 2] = s.kept[k];
        }
    }
    set_output(c, 0, reshape(r, make_ints(r, (size_t)(3 * found), rows), 2, (int64_t[]){found, 3}));
}
