// SPDX-License-Identifier: Apache-2.0
//
// Fourier transforms, as products with matrices of waves.
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <math.h>
#include <string.h>

#define MAX_LENGTH 8192               // of a transform
#define MAX_FRAMES ((int64_t)1 << 26) // elements of all frames of a signal

// Waves of all frequencies of a transform of `from` numbers, [from, to].
static struct tensor *wave(struct recording *r, int64_t type, int64_t from, int64_t to, bool sine)
{
    struct tensor *t = make_known(r, type, 2, (int64_t[]){from, to});
    double turn = 4 * acos(0);
    for (int64_t i = 0; t && i < from; i++)
        for (int64_t k = 0; k < to; k++) {
            double angle = turn * (double)(i * k % from) / (double)from;
            set_known(t, i * to + k, sine ? sin(angle) : cos(angle));
        }
    return t;
}

struct transform {
    int64_t length, bins;
    bool inverse;
};

static bool check_length(struct recording *r, int64_t length)
{
    if (is_late(length))
        return fail(r, "a transform of a size that is not known");
    return (length >= 1 && length <= MAX_LENGTH) ||
           fail(r, "a transform of %lld numbers; up to %d are supported", (long long)length, MAX_LENGTH);
}

// Of the last axis of real and imaginary parts, of which the latter may be NULL: the real and the imaginary
// part along a new last axis.
static struct tensor *transform(struct recording *r, const struct transform *f, struct tensor *real,
                                struct tensor *imaginary)
{
    if (!real || r->failed)
        return NULL;
    size_t rank = real->rank;
    struct tensor *cosine = wave(r, real->type, f->length, f->bins, false),
                  *sine = wave(r, real->type, f->length, f->bins, true);
    struct tensor *parts[2] = {matmul(r, real, cosine), matmul(r, real, sine)};
    if (!f->inverse)
        parts[1] = unary(r, NEG, parts[1]);
    if (imaginary) { // (a + bi)(cos -+ i sin)
        parts[0] = binary(r, f->inverse ? SUB : ADD, parts[0], matmul(r, imaginary, sine));
        parts[1] = binary(r, ADD, parts[1], matmul(r, imaginary, cosine));
    }
    for (size_t i = 0; i < 2; i++) {
        parts[i] = f->inverse ? with_number(r, DIV, parts[i], (double)f->length) : parts[i];
        parts[i] = unsqueeze(r, parts[i], rank);
    }
    return concat(r, 2, parts, rank);
}

// Part 0 or 1 of the last axis, without it; NULL if there is none.
static struct tensor *part_of(struct recording *r, struct tensor *t, int64_t part)
{
    size_t last = t ? t->rank - 1 : 0;
    return t && part < t->dims[last] ? squeeze(r, slice_axis(r, t, last, part, 1, 1), last) : NULL;
}

// The axis is an attribute before operator set 20, and an input from then on.
static bool find_signal_axis(struct call *c, const struct tensor *x, size_t *axis)
{
    struct tensor *given = input(c, 2);
    int64_t at = c->version < 20 ? get_int(c, "axis", 1) : -2;
    if (given) {
        if (!require_known(c->r, given, "the axis") || count_elements(given) != 1)
            return false;
        at = known_integer(given, 0);
    }
    if (!find_axis(c->r, at, x->rank, axis))
        return false;
    if (x->rank < 2 || *axis + 1 == x->rank || x->dims[x->rank - 1] < 1 || x->dims[x->rank - 1] > 2)
        return fail(c->r, "signals of shapes other than [batch, ..., 1 or 2]");
    return true;
}

void record_dft(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *length = input(c, 1);
    struct transform f = {.inverse = get_int(c, "inverse", 0) != 0};
    size_t axis, last = x->rank - 1;
    if (!is_float(r, x, "the signal") || !find_signal_axis(c, x, &axis))
        return;
    if (length && (!require_known(r, length, "the length of the transform") || count_elements(length) != 1))
        return;
    f.length = length ? known_integer(length, 0) : x->dims[axis];
    if (!check_length(r, f.length))
        return;
    f.bins = get_int(c, "onesided", 0) ? f.length / 2 + 1 : f.length;
    int64_t zeros[MAX_RANK] = {0}, more[MAX_RANK] = {0};
    if (is_late(x->dims[axis])) {
        fail(r, "a transform along a size that is not known");
        return;
    }
    more[axis] = f.length - x->dims[axis];
    x = swap_axes(r, pad(r, x, zeros, more, WNNPaddingMode_Constant, 0), axis, last - 1);
    struct tensor *y = transform(r, &f, part_of(r, x, 0), part_of(r, x, 1));
    set_output(c, 0, swap_axes(r, y, axis, last - 1));
}

// A number that is given by an input of one element; false: an error.
static bool read_count(struct call *c, size_t index, const char *name, int64_t *value)
{
    struct tensor *t = input(c, index);
    if (!require_known(c->r, t, name))
        return false;
    *value = count_elements(t) == 1 ? known_integer(t, 0) : 0;
    return *value >= 1 || fail(c->r, "%s is %lld", name, (long long)*value);
}

// Frames of a signal of [batch, length, 1 or 2], [batch, frames, length of a frame], one part of it.
static struct tensor *frames_of(struct recording *r, struct tensor *x, int64_t part, int64_t step,
                                int64_t length, struct tensor *window)
{
    struct tensor *places = window_places(r, x->dims[1], length, step);
    struct tensor *signal = part_of(r, x, part);
    if (!signal)
        return NULL;
    struct tensor *frames = gather(r, signal, places, 1);
    return window ? binary(r, MUL, frames, window) : frames;
}

void record_stft(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *window = input(c, 2);
    struct transform f = {0};
    int64_t step;
    if (!is_float(r, x, "the signal") || !read_count(c, 1, "frame_step", &step))
        return;
    if (x->rank == 2)
        x = unsqueeze(r, x, 2);
    if (!x || x->rank != 3 || x->dims[2] < 1 || x->dims[2] > 2) {
        fail(r, "signals of shapes other than [batch, length, 1 or 2]");
        return;
    }
    if (input(c, 3) ? !read_count(c, 3, "frame_length", &f.length) : !window) {
        fail(r, "neither a window nor a frame_length");
        return;
    }
    f.length = input(c, 3) ? f.length : size_product(r, window->dims, window->rank);
    if (!check_length(r, f.length))
        return;
    if (f.length > x->dims[1] || (window && (window->rank != 1 || window->dims[0] != f.length))) {
        fail(r, "frames of %lld of a signal of %lld, or a window of another size", (long long)f.length,
             (long long)x->dims[1]);
        return;
    }
    int64_t count = compute_size(r, DIV, compute_size(r, SUB, x->dims[1], f.length), step);
    count = compute_size(r, ADD, count, 1);
    if (!is_late(count) && count > MAX_FRAMES / f.length) {
        fail(r, "%lld frames of %lld", (long long)count, (long long)f.length);
        return;
    }
    f.bins = x->dims[2] == 1 && get_int(c, "onesided", 1) ? f.length / 2 + 1 : f.length;
    set_output(c, 0,
               transform(r, &f, frames_of(r, x, 0, step, f.length, window),
                         frames_of(r, x, 1, step, f.length, window)));
}
