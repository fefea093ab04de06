// SPDX-License-Identifier: Apache-2.0
//
// What Resize and Upsample of ONNX ask for; tools/model/resize.c does it.
#include "tools/model/late.h"
#include "tools/model/onnx/window.h"
#include "tools/model/resize.h"

#include <math.h>
#include <string.h>

#define MAX_RESIZED (1 << 26) // positions that are computed for an axis

enum aspect {
    STRETCH,
    NOT_LARGER,
    NOT_SMALLER
};

static bool set_size(struct recording *r, struct resize_axis *axis, double size)
{
    if (!(size >= 1 && size <= MAX_RESIZED))
        return fail(r, "a size of %lld is resized to %g", (long long)axis->from, size);
    axis->to = (int64_t)size;
    return true;
}

static bool set_scale(struct recording *r, const struct resize *z, struct resize_axis *axis, double scale)
{
    if (!(scale > 0 && scale <= LARGEST))
        return fail(r, "a scale of %g", scale);
    axis->scale = axis->under = scale;
    axis->over = 1;
    axis->width = (double)axis->from * scale;
    // In float32, as scales are: 0.7 * 10 is 7.
    double size = axis->from < 1 << 20 ? (float)((float)axis->from * (float)scale) : axis->width;
    if (z->coordinates == CROP_AND_RESIZE)
        size = (float)(size * (axis->end - axis->start));
    return set_size(r, axis, floor(size));
}

static bool stretch(struct recording *r, struct resize_axis *axis, double size)
{
    if (!set_size(r, axis, size))
        return false;
    axis->over = (double)axis->from;
    axis->under = axis->width = (double)axis->to;
    axis->scale = axis->under / axis->over;
    return true;
}

// Numbers of an input, one for each axis that is resized. False: left out, or an error.
static bool read_input(struct call *c, size_t index, size_t count, const char *what, double *numbers)
{
    struct tensor *t = input(c, index);
    if (!t || c->r->failed || (t->rank == 1 && t->dims[0] == 0) || !require_known(c->r, t, what))
        return false;
    if (t->rank != 1 || t->dims[0] != (int64_t)count)
        return fail(c->r, "%s have a rank of %zu or are not %zu", what, t->rank, count);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = known_number(t, (int64_t)i);
        if (!isfinite(numbers[i]))
            return fail(c->r, "%s are not finite", what);
    }
    return true;
}

static bool read_scale_attribute(struct call *c, size_t count, double *numbers)
{
    size_t given = 0;
    const float *scales = get_floats(c, "scales", &given);
    if (c->r->failed || given == 0 || !scales)
        return false;
    if (given != count)
        return fail(c->r, "%zu scales, not %zu", given, count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = scales[i];
    return true;
}

// The axes that are resized; 0: an error.
static size_t read_axes(struct call *c, const struct tensor *x, size_t *axes)
{
    bool used[MAX_RANK] = {false};
    size_t given = 0;
    const int64_t *numbers = get_ints(c, "axes", &given);
    if (c->r->failed)
        return 0;
    size_t count = given && numbers ? given : x->rank;
    if (count > x->rank)
        return fail(c->r, "%zu axes of a tensor of rank %zu", count, x->rank) != NULL;
    for (size_t i = 0; i < count; i++) {
        axes[i] = i;
        if (given && numbers && !find_axis(c->r, numbers[i], x->rank, &axes[i]))
            return 0;
        if (used[axes[i]])
            return fail(c->r, "axis %zu is given twice", axes[i]) != NULL;
        used[axes[i]] = true;
    }
    return count;
}

static bool read_sizes(struct call *c, struct resize *z, size_t count, const size_t *axes,
                       const double *sizes)
{
    static const char *const texts[] = {"stretch", "not_larger", "not_smaller"};
    enum aspect aspect = (enum aspect)find_text(c, "keep_aspect_ratio_policy", 3, texts);
    double scale = 0;
    for (size_t i = 0; i < count; i++) {
        double own = sizes[i] / (double)z->axes[axes[i]].from;
        if (i == 0 || (aspect == NOT_LARGER ? own < scale : own > scale))
            scale = own;
    }
    for (size_t i = 0; i < count && !c->r->failed; i++) {
        struct resize_axis *axis = &z->axes[axes[i]];
        if (aspect == STRETCH) {
            stretch(c->r, axis, sizes[i]);
        } else {
            axis->width = (double)axis->from * scale;
            axis->scale = axis->under = scale;
            axis->over = 1;
            set_size(c->r, axis, floor(axis->width + 0.5));
        }
    }
    return !c->r->failed;
}

static bool read_region(struct call *c, struct resize *z, size_t count, const size_t *axes)
{
    double region[2 * MAX_RANK];
    if (z->coordinates != CROP_AND_RESIZE)
        return true;
    if (!read_input(c, 1, 2 * count, "the region of interest", region))
        return c->r->failed ? false : fail(c->r, "tf_crop_and_resize without a region of interest") != NULL;
    for (size_t i = 0; i < count; i++) {
        z->axes[axes[i]].start = region[i];
        z->axes[axes[i]].end = region[count + i];
    }
    return true;
}

static void read_modes(struct call *c, struct resize *z, bool upsample)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const places[] = {"half_pixel",          "half_pixel_symmetric", "pytorch_half_pixel",
                                         "align_corners",       "asymmetric",           "tf_crop_and_resize",
                                         "tf_half_pixel_for_nn"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    *z = (struct resize){.mode = (enum interpolation)find_text(c, "mode", 3, modes)};
    z->coordinates = ASYMMETRIC;
    z->rounding = ROUND_FLOOR;
    z->oldest = !upsample && c->version <= 10;
    if (upsample || z->oldest)
        return;
    z->coordinates = (enum coordinates)find_text(c, "coordinate_transformation_mode", 7, places);
    z->rounding = (enum rounding)find_text(c, "nearest_mode", 4, roundings);
    z->antialias = get_int(c, "antialias", 0) != 0 && z->mode != NEAREST;
    z->exclude_outside = get_int(c, "exclude_outside", 0) != 0;
    z->cubic_a = get_float(c, "cubic_coeff_a", -0.75);
    z->extrapolation = get_float(c, "extrapolation_value", 0);
    if (!isfinite(z->cubic_a))
        fail(c->r, "cubic_coeff_a is not finite");
}

static bool read_resize(struct call *c, const struct tensor *x, struct resize *z, bool upsample)
{
    double scales[MAX_RANK], sizes[MAX_RANK];
    size_t axes[MAX_RANK];
    read_modes(c, z, upsample);
    for (size_t i = 0; i < x->rank; i++)
        z->axes[i] = (struct resize_axis){.from = x->dims[i],
                                          .to = x->dims[i],
                                          .scale = 1,
                                          .over = 1,
                                          .under = 1,
                                          .width = (double)x->dims[i],
                                          .end = 1};
    size_t count = read_axes(c, x, axes);
    bool older = upsample || z->oldest;
    if (count == 0 || c->r->failed || !read_region(c, z, count, axes))
        return false;
    bool scaled = read_input(c, older ? 1 : 2, count, "scales", scales) ||
                  (upsample && read_scale_attribute(c, count, scales));
    bool sized = !older && read_input(c, 3, count, "sizes", sizes);
    if (c->r->failed)
        return false;
    if (scaled == sized)
        return fail(c->r, "%s", scaled ? "both scales and sizes" : "neither scales nor sizes");
    for (size_t i = 0; scaled && i < count; i++)
        if (!set_scale(c->r, z, &z->axes[axes[i]], scales[i]))
            return false;
    return scaled || read_sizes(c, z, count, axes, sizes);
}

// How many times larger an axis becomes; 0: it is not known, or no whole number.
static int64_t times_of(struct recording *r, const struct resize_axis *axis)
{
    if (axis->late_scale)
        return 0;
    if (axis->by_scale)
        return axis->scale >= 1 && axis->scale <= 64 && axis->scale == floor(axis->scale)
                   ? (int64_t)axis->scale
                   : 0;
    for (int64_t times = 1; times <= 64; times++)
        if (compute_size(r, MUL, axis->from, times) == axis->to)
            return times;
    return 0;
}

// Whether WebNN takes the elements at the same places as ONNX when both sizes of an image become so many
// times larger.
static bool is_plain(const struct resize *z)
{
    bool half = z->coordinates == HALF_PIXEL || z->coordinates == PYTORCH_HALF_PIXEL;
    if (z->mode == LINEAR)
        return half;
    return z->mode == NEAREST && ((half && (z->rounding == PREFER_FLOOR || z->rounding == PREFER_CEIL)) ||
                                  (z->coordinates == ASYMMETRIC && z->rounding == ROUND_FLOOR));
}

// An image that becomes a whole number of times larger; false: it is none, or does not.
static bool enlarge(struct recording *r, const struct resize *z, struct tensor *x, struct tensor **y)
{
    float scales[2];
    if (x->rank != 4 || !is_plain(z) || !is_real(x->type) || is_late(x->dims[1]))
        return false;
    for (size_t i = 0; i < 4; i++) {
        int64_t times = times_of(r, &z->axes[i]);
        if (i < 2 ? times != 1 : times == 0)
            return false;
        if (i >= 2)
            scales[i - 2] = (float)times;
    }
    WNNResample2dOptions options = WNN_RESAMPLE2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.mode = z->mode == NEAREST ? WNNInterpolationMode_NearestNeighbor : WNNInterpolationMode_Linear;
    options.scales = (WNNFloat32List){scales, 2};
    options.axes = (WNNUint32List){(uint32_t[]){2, 3}, 2};
    WNNOperand operand = operand_of(r, x);
    *y = operand ? make_operand(r, x->type, wnnGraphBuilderResample2d(r->builder, operand, &options)) : NULL;
    return true;
}

// What a scale makes of a size, in float32 as scales are.
static bool scale_late(struct recording *r, struct resize_axis *axis, double scale)
{
    if (!(scale > 0 && scale <= LARGEST))
        return fail(r, "a scale of %g", scale);
    axis->scale = scale;
    axis->by_scale = scale != 1;
    struct tensor *size = with_number(r, MUL, forget(r, make_size(r, ONNX_FLOAT, axis->from)), scale);
    if (scale == floor(scale))
        axis->to = compute_size(r, MUL, axis->from, (int64_t)scale);
    else
        axis->to = settle(r, cast(r, unary(r, FLOOR, size), ONNX_INT64));
    return !r->failed;
}

// The same of scales that the graph computes of sizes, or of which it does so with some.
static bool read_late_scales(struct recording *r, struct tensor *scales, struct resize *z, size_t count,
                             const size_t *axes)
{
    if (!scales || scales->type != ONNX_FLOAT || scales->rank != 1 || scales->dims[0] != (int64_t)count)
        return fail(r, "scales that are not %zu numbers of float32", count);
    for (size_t i = 0; i < count && !r->failed; i++) {
        struct resize_axis *axis = &z->axes[axes[i]];
        struct tensor *scale = list_element(r, scales, (int64_t)i);
        if (is_known(r, scale)) {
            scale_late(r, axis, known_number(scale, 0));
            continue;
        }
        struct tensor *size = make_size(r, ONNX_FLOAT, axis->from);
        axis->by_scale = true;
        axis->late_scale = scale;
        axis->to = settle(r, cast(r, unary(r, FLOOR, binary(r, MUL, size, scale)), ONNX_INT64));
    }
    return !r->failed;
}

// Sizes that are not known, or become others that are not.
static bool read_late(struct call *c, const struct tensor *x, struct resize *z, bool upsample)
{
    struct recording *r = c->r;
    double scales[MAX_RANK];
    size_t axes[MAX_RANK], count, given = 0;
    int64_t *sizes;
    read_modes(c, z, upsample);
    bool older = upsample || z->oldest;
    for (size_t i = 0; i < x->rank; i++)
        z->axes[i] = (struct resize_axis){.from = x->dims[i], .to = x->dims[i], .scale = 1};
    if (!(count = read_axes(c, x, axes)))
        return false;
    struct tensor *computed = input(c, older ? 1 : 2);
    if (computed && !is_known(r, computed) && !computed->source)
        return read_late_scales(r, computed, z, count, axes);
    if (read_input(c, older ? 1 : 2, count, "scales", scales) ||
        (upsample && read_scale_attribute(c, count, scales))) {
        for (size_t i = 0; i < count; i++)
            if (!scale_late(r, &z->axes[axes[i]], scales[i]))
                return false;
        return true;
    }
    if (r->failed || older || !input(c, 3) || !get_list(c, 3, "sizes", &given, &sizes) || given != count)
        return fail(r, "neither scales nor sizes of %zu axes", count);
    if (!has_text(c, "keep_aspect_ratio_policy", "stretch", "stretch"))
        return fail(r, "a ratio of sizes that are not known cannot be kept");
    for (size_t i = 0; i < count; i++)
        if ((z->axes[axes[i]].to = sizes[i]) < 1)
            return fail(r, "a size of %lld", (long long)sizes[i]);
    return true;
}

void record_resize(struct call *c)
{
    struct tensor *x = input(c, 0);
    struct resize z;
    struct tensor *sizes = input(c, 3), *y = NULL;
    if (!knows_shape(x) ||
        (sizes && c->r->late && require_sizes(c->r, sizes, "sizes") && has_late_elements(sizes))) {
        if (read_late(c, x, &z, c->parameter == 1))
            set_output(c, 0, enlarge(c->r, &z, x, &y) ? y : resize_late(c->r, &z, x));
        return;
    }
    if (check_sizes(c->r, x, "the input", 1, MAX_RANK) && read_resize(c, x, &z, c->parameter == 1))
        set_output(c, 0, resize(c->r, &z, x));
}
