// SPDX-License-Identifier: Apache-2.0
//
// Quantized numbers: operators compute with the real numbers that they stand for, and quantize the result,
// which the compiler fuses again where the backend computes with integers.
#include "tools/model/tflite/call.h"

#include <math.h>

double scale_at(const struct tflite_tensor *about, size_t i)
{
    return (double)wnn_flatbuffer_float_at(&about->scales, about->scales.count == 1 ? 0 : i);
}

int64_t zero_at(const struct tflite_tensor *about, size_t i)
{
    return wnn_flatbuffer_number_at(&about->zeros, FLATBUFFER_INT64, about->zeros.count == 1 ? 0 : i);
}

bool is_quantized_tensor(const struct tflite_tensor *about)
{
    switch (about->type) {
    case TYPE_INT8:
    case TYPE_UINT8:
    case TYPE_INT16:
    case TYPE_UINT16:
    case TYPE_INT4:
    case TYPE_UINT4:
        return about->scales.count > 0;
    default:
        return false;
    }
}

bool is_quantized_alike(const struct tflite_tensor *a, const struct tflite_tensor *b)
{
    if (!is_quantized_tensor(a) || !is_quantized_tensor(b))
        return !is_quantized_tensor(a) && !is_quantized_tensor(b);
    return a->type == b->type && a->scales.count == 1 && b->scales.count == 1 && !a->is_custom &&
           !b->is_custom && scale_at(a, 0) == scale_at(b, 0) && zero_at(a, 0) == zero_at(b, 0);
}

// Scales and zero points with the rank of t; the latter of the type that is stored.
static bool make_scales(struct recording *r, const struct tflite_tensor *about, const struct tensor *t,
                        struct tensor **scale, struct tensor **zero)
{
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1}, count = (int64_t)about->scales.count;
    size_t axis = 0;
    if (about->is_custom)
        return fail(r, "numbers that are quantized in another way than by scales for an axis");
    if (count != 1 && !find_axis(r, about->axis, t->rank, &axis))
        return false;
    if (count != 1 && t->dims[axis] != count)
        return fail(r, "%lld scales for a size of %lld", (long long)count, (long long)t->dims[axis]);
    dims[axis] = count;
    *scale = make_known(r, TYPE_FLOAT32, t->rank, dims);
    *zero = make_known(r, about->type, t->rank, dims);
    for (int64_t i = 0; *scale && *zero && i < count; i++) {
        (*scale)->reals[i] = scale_at(about, (size_t)i);
        if (!((*scale)->reals[i] > 0 && (*scale)->reals[i] < INFINITY))
            return fail(r, "a scale of %g", (*scale)->reals[i]);
        set_known(*zero, i, (double)zero_at(about, (size_t)i));
    }
    return *scale && *zero;
}

// Of constants of 16 bits, for which WebNN has no type.
static struct tensor *dequantize_known(struct recording *r, struct tensor *t, struct tensor *scale,
                                       struct tensor *zero)
{
    if (!require_known(r, t, "a constant"))
        return NULL;
    return binary(r, MUL, binary(r, SUB, cast(r, t, TYPE_FLOAT32), cast(r, zero, TYPE_FLOAT32)), scale);
}

struct tensor *dequantized(struct recording *r, const struct tflite_tensor *about, struct tensor *t)
{
    struct tensor *scale, *zero;
    if (!t || !make_scales(r, about, t, &scale, &zero))
        return NULL;
    bool wide = about->type == TYPE_INT16 || about->type == TYPE_UINT16;
    return wide && t->source ? dequantize_known(r, t, scale, zero) : dequantize_linear(r, t, scale, zero);
}

struct tensor *quantized(struct recording *r, const struct tflite_tensor *about, struct tensor *t)
{
    struct tensor *scale, *zero;
    if (!t || !make_scales(r, about, t, &scale, &zero))
        return NULL;
    return quantize_linear(r, cast(r, t, TYPE_FLOAT32), scale, zero, about->type);
}

struct tensor *real_of(struct recording *r, struct value *value)
{
    if (value->real)
        return value->real;
    if (!is_quantized_tensor(value->about))
        return value->stored;
    r->kept_count += value->node < r->node;
    return value->real = dequantized(r, value->about, value->stored);
}

struct tensor *stored_of(struct recording *r, struct value *value)
{
    if (value->stored)
        return value->stored;
    r->kept_count += value->node < r->node;
    return value->stored = quantized(r, value->about, value->real);
}

// QUANTIZE, also from other scales, and DEQUANTIZE, also of float16, are what the types of input and output
// say.
void compose_quantize(struct call *c)
{
    struct tensor *t = scaled_at(c, 0);
    if (t && !is_real(t->type))
        t = fail(c->r, "numbers of type %s without scales", type_name(t->type));
    if (given_type(c, 0) == TYPE_INT32)
        t = quantized(c->r, c->outputs[0]->about, t);
    give(c, 0, t);
}

// Rounds to steps between limits that are moved so that zero is a step.
void compose_fake_quant(struct call *c)
{
    struct recording *r = c->r;
    double low = option_float(c, 0), high = option_float(c, 1);
    int64_t bits = option_int(c, 2, 0);
    if (!(low <= 0 && high >= 0 && low < high && high - low < INFINITY) || bits < 2 || bits > 16) {
        fail(r, "%lld bits from %g to %g", (long long)bits, low, high);
        return;
    }
    // In float32, which decides where zero lies between two steps.
    float first = option_bool(c, 3) ? 1 : 0, last = (float)(ldexp(1, (int)bits) - 1);
    float scale = (float)(high - low) / (last - first), zero = first - (float)low / scale;
    zero = zero < first ? first : zero > last ? last : floorf(zero + 0.5f);
    double least = (double)((first - zero) * scale), most = (double)((last - zero) * scale);
    struct tensor *x = clamp(r, stored_at(c, 0), least, most);
    struct tensor *steps = with_number(r, DIV, with_number(r, SUB, x, least), (double)scale);
    steps = unary(r, FLOOR, with_number(r, ADD, steps, 0.5));
    give(c, 0, with_number(r, ADD, with_number(r, MUL, steps, (double)scale), least));
}
