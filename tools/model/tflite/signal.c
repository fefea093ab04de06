// SPDX-License-Identifier: Apache-2.0
//
// Complex numbers: of a tensor of them the real and the imaginary parts are along a last axis of its own.
#include "tools/model/tflite/call.h"

#include <math.h>

#define MAX_LENGTH 4096 // of a Fourier transform

// cos(2 pi i k / n), or sin, of i and k below n and `bins`.
static struct tensor *make_wave(struct recording *r, int64_t n, int64_t bins, bool sine)
{
    struct tensor *t = make_known(r, TYPE_FLOAT32, 2, (int64_t[]){n, bins});
    double turn = 4 * acos(0) / (double)n;
    for (int64_t i = 0; t && i < n * bins; i++) {
        double angle = turn * (double)(i / bins * (i % bins) % n);
        set_known(t, i, sine ? sin(angle) : cos(angle));
    }
    return t;
}

static bool read_lengths(struct call *c, const struct tensor *x, int64_t *lengths)
{
    size_t count;
    if (!x || !known_ints(c, 1, "the lengths of the transform", 2, &count, lengths))
        return false;
    bool good = count == 2 && x->rank >= 2 && x->rank < MAX_RANK;
    for (size_t i = 0; good && i < 2; i++)
        good = lengths[i] >= 1 && lengths[i] <= MAX_LENGTH;
    return good || fail(c->r, "a transform of a tensor of rank %zu, or of other lengths than 1 to %d",
                        x->rank, MAX_LENGTH);
}

// Rows, of which the bins up to half of the length are kept, then columns; zeros follow what is too short.
void compose_rfft_2d(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0);
    int64_t lengths[2], none[MAX_RANK] = {0}, more[MAX_RANK] = {0};
    if (!read_lengths(c, x, lengths))
        return;
    size_t last = x->rank - 1;
    for (size_t i = 0; i < 2; i++)
        more[last - 1 + i] = lengths[i] - x->dims[last - 1 + i];
    x = pad(r, x, none, more, WNNPaddingMode_Constant, 0);
    int64_t bins = lengths[1] / 2 + 1;
    struct tensor *real = matmul(r, x, make_wave(r, lengths[1], bins, false));
    struct tensor *imaginary = unary(r, NEG, matmul(r, x, make_wave(r, lengths[1], bins, true)));
    if (lengths[0] > 1) { // (a + bi)(cos - i sin)
        struct tensor *cosine = make_wave(r, lengths[0], lengths[0], false);
        struct tensor *sine = make_wave(r, lengths[0], lengths[0], true);
        struct tensor *a = binary(r, ADD, matmul(r, cosine, real), matmul(r, sine, imaginary));
        imaginary = binary(r, SUB, matmul(r, cosine, imaginary), matmul(r, sine, real));
        real = a;
    }
    give_complex(c, real, imaginary);
}

void compose_complex(struct call *c)
{
    give_complex(c, real_at(c, 0), real_at(c, 1));
}

// Parameter 0: the real part, 1: the imaginary one, 2: the magnitude.
void compose_complex_part(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = stored_at(c, 0);
    size_t last = x && x->rank ? x->rank - 1 : 0;
    if (!x || c->inputs[0]->about->type != TYPE_COMPLEX64 || x->type != TYPE_FLOAT32 || x->dims[last] != 2) {
        fail(r, "numbers that are not complex, or constants");
        return;
    }
    if (c->parameter == 2)
        give(c, 0, reduce(r, L2, x, 1, &last, false));
    else
        give(c, 0, squeeze(r, slice_axis(r, x, last, c->parameter, 1, 1), last));
}
