// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tflite/call.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

static const struct tflite_builtin builtins[TFLITE_OPERATORS] = {
#define TFLITE_OPERATOR(number, name, least, most, function, parameter)                                      \
    [number] = {#name, least, most, function, parameter},
#define TFLITE_REFUSED(number, name, reason) [number] = {#name, 0, 0, NULL, 0},
#include "tools/model/tflite/operators.def"
};

static const char *const reasons[TFLITE_OPERATORS] = {
#define TFLITE_REFUSED(number, name, reason) [number] = reason,
#include "tools/model/tflite/operators.def"
};

static const struct tflite_builtin customs[] = {
#define TFLITE_CUSTOM_OPERATOR(name, least, most, function, parameter)                                       \
    {name, least, most, function, parameter},
#include "tools/model/tflite/operators.def"
};

const struct tflite_builtin *wnn_tflite_find(const struct tflite_operator *node)
{
    if (node->builtin == TFLITE_CUSTOM) {
        for (size_t i = 0; i < sizeof customs / sizeof customs[0]; i++)
            if (is_text(node->custom_name, customs[i].name))
                return &customs[i];
        return NULL;
    }
    bool known = node->builtin >= 0 && node->builtin < TFLITE_OPERATORS;
    return known && builtins[node->builtin].compose ? &builtins[node->builtin] : NULL;
}

struct bytes wnn_tflite_name(const struct tflite_operator *node)
{
    const char *name = "an unknown operator";
    if (node->builtin == TFLITE_CUSTOM && node->custom_name.size)
        return node->custom_name;
    if (node->builtin == TFLITE_CUSTOM)
        name = "CUSTOM";
    else if (node->builtin >= 0 && node->builtin < TFLITE_OPERATORS && builtins[node->builtin].name)
        name = builtins[node->builtin].name;
    return (struct bytes){(const unsigned char *)name, strlen(name)};
}

const char *wnn_tflite_refusal(const struct tflite_operator *node)
{
    static const char flex[] = "Flex";
    if (node->builtin != TFLITE_CUSTOM)
        return node->builtin >= 0 && node->builtin < TFLITE_OPERATORS ? reasons[node->builtin] : NULL;
    if (node->custom_name.size > 4 && memcmp(node->custom_name.data, flex, 4) == 0)
        return "it is one of TensorFlow's own";
    return "it is a custom operator";
}

// ---------------------------------------------------------------------------------------------------------------
// Options
// ---------------------------------------------------------------------------------------------------------------

int64_t option_int(const struct call *c, unsigned field, int64_t otherwise)
{
    return wnn_flatbuffer_number(&c->node->options, field, FLATBUFFER_INT32, otherwise);
}

int64_t option_enum(const struct call *c, unsigned field)
{
    return wnn_flatbuffer_number(&c->node->options, field, FLATBUFFER_INT8, 0);
}

bool option_bool(const struct call *c, unsigned field)
{
    return wnn_flatbuffer_number(&c->node->options, field, FLATBUFFER_UINT8, 0) != 0;
}

double option_float(const struct call *c, unsigned field)
{
    return (double)wnn_flatbuffer_float(&c->node->options, field, 0);
}

// Whether all numbers that output 0 can have lie between limits, or are those that the limits become.
static bool is_within(const struct call *c, double low, double high)
{
    const struct tflite_tensor *about = c->outputs[0]->about;
    if (!is_quantized_tensor(about) || about->scales.count != 1)
        return false;
    struct type_limits limits = limits_of(about->type);
    double scale = scale_at(about, 0), zero = (double)zero_at(about, 0);
    return scale * (limits.low - zero) > low - scale / 2 && scale * (limits.high - zero) < high + scale / 2;
}

static const struct {
    double low, high;
} limits_of_activation[] = {[ACTIVATION_NONE] = {-INFINITY, INFINITY},
                            [ACTIVATION_RELU] = {0, INFINITY},
                            [ACTIVATION_RELU_N1_TO_1] = {-1, 1},
                            [ACTIVATION_RELU6] = {0, 6}};

struct tensor *apply_activation(struct recording *r, struct tensor *t, int64_t activation)
{
    if (activation == ACTIVATION_NONE)
        return t;
    if (activation == ACTIVATION_TANH)
        return unary(r, TANH, t);
    if (activation == ACTIVATION_RELU)
        return unary(r, RELU, t);
    if (activation < 0 || activation > ACTIVATION_RELU6)
        return fail(r, "an activation of number %lld", (long long)activation);
    return clamp(r, t, limits_of_activation[activation].low, limits_of_activation[activation].high);
}

struct tensor *activate_output(struct call *c, struct tensor *t, int64_t activation)
{
    bool limits = activation >= ACTIVATION_NONE && activation <= ACTIVATION_RELU6;
    if (t && limits &&
        is_within(c, limits_of_activation[activation].low, limits_of_activation[activation].high))
        return t;
    return apply_activation(c->r, t, activation);
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs
// ---------------------------------------------------------------------------------------------------------------

bool has_input(const struct call *c, size_t index)
{
    return index < c->input_count && c->inputs[index];
}

struct tensor *stored_at(struct call *c, size_t index)
{
    return has_input(c, index) ? stored_of(c->r, c->inputs[index]) : NULL;
}

struct tensor *real_at(struct call *c, size_t index)
{
    return has_input(c, index) ? real_of(c->r, c->inputs[index]) : NULL;
}

struct tensor *moved_at(struct call *c, size_t index)
{
    if (!has_input(c, index))
        return NULL;
    const struct tflite_tensor *from = c->inputs[index]->about, *to = c->outputs[0]->about;
    bool alike = is_quantized_alike(from, to) && from->type != TYPE_INT16;
    return alike ? stored_at(c, index) : real_at(c, index);
}

struct tensor *scaled_at(struct call *c, size_t index)
{
    struct value *value = has_input(c, index) ? c->inputs[index] : NULL;
    bool wide = value && value->about->type == TYPE_INT32 && value->about->scales.count;
    return wide ? dequantized(c->r, value->about, value->stored) : real_at(c, index);
}

struct tensor *bias_at(struct call *c, size_t index, size_t x, size_t w)
{
    struct recording *r = c->r;
    struct tensor *t = stored_at(c, index);
    if (!t || is_real(t->type))
        return t;
    if (!has_input(c, x) || !has_input(c, w))
        return fail(r, "a bias of weights that are missing");
    const struct tflite_tensor *a = c->inputs[x]->about, *b = c->inputs[w]->about;
    if (!is_quantized_tensor(a) || !is_quantized_tensor(b))
        return fail(r, "a bias of %s without scales", type_name(t->type));
    int64_t count = (int64_t)b->scales.count;
    struct tensor *scale = make_known(r, TYPE_FLOAT32, 1, &count);
    for (int64_t i = 0; scale && i < count; i++)
        set_known(scale, i, scale_at(a, 0) * scale_at(b, (size_t)i));
    return binary(r, MUL, cast(r, t, TYPE_FLOAT32), scale);
}

static struct tensor *require_ints(struct call *c, size_t index, const char *what)
{
    struct tensor *t = stored_at(c, index);
    if (!t)
        return fail(c->r, "there is no input for %s", what);
    if (!require_known(c->r, t, what))
        return NULL;
    return t->ints ? t : fail(c->r, "%s: numbers of type %s", what, type_name(t->type));
}

bool known_ints(struct call *c, size_t index, const char *what, size_t capacity, size_t *count,
                int64_t *numbers)
{
    struct tensor *t = require_ints(c, index, what);
    *count = 0;
    if (!t)
        return false;
    if (count_elements(t) > (int64_t)capacity)
        return fail(c->r, "%s: %lld numbers, more than %zu", what, (long long)count_elements(t), capacity);
    *count = (size_t)count_elements(t);
    for (size_t i = 0; i < *count; i++) {
        numbers[i] = t->ints[i];
        if (numbers[i] < INT32_MIN || numbers[i] > LARGEST)
            return fail(c->r, "%s: %lld", what, (long long)numbers[i]);
    }
    return true;
}

bool known_int(struct call *c, size_t index, const char *what, int64_t *number)
{
    size_t count;
    return known_ints(c, index, what, 1, &count, number) && (count == 1 || fail(c->r, "%s: no number", what));
}

bool known_axes(struct call *c, size_t index, const struct tensor *t, size_t *count, size_t *axes)
{
    int64_t numbers[4 * MAX_RANK];
    size_t given;
    bool used[MAX_RANK] = {false};
    *count = 0;
    if (!t || !known_ints(c, index, "the axes", sizeof numbers / sizeof numbers[0], &given, numbers))
        return false;
    for (size_t i = 0; i < given; i++) {
        size_t axis;
        if (!find_axis(c->r, numbers[i], t->rank, &axis))
            return false;
        if (!used[axis])
            axes[(*count)++] = axis;
        used[axis] = true;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Outputs
// ---------------------------------------------------------------------------------------------------------------

int64_t given_type(const struct call *c, size_t index)
{
    return index < c->output_count && c->outputs[index] ? c->outputs[index]->about->type : TYPE_UNDEFINED;
}

// Numbers of 16 bits stay real, within the limits of those.
static struct tensor *limit(struct recording *r, const struct tflite_tensor *about, struct tensor *t)
{
    double scale = scale_at(about, 0), zero = (double)zero_at(about, 0);
    return clamp(r, t, scale * (-32768 - zero), scale * (32767 - zero));
}

void give(struct call *c, size_t index, struct tensor *t)
{
    struct value *value = index < c->output_count ? c->outputs[index] : NULL;
    if (!t || !value || c->r->failed)
        return;
    const struct tflite_tensor *about = value->about;
    if (!is_quantized_tensor(about) || !is_real(t->type))
        value->stored = t->type == about->type ? t : cast(c->r, t, about->type);
    else if (about->type == TYPE_INT16 && about->scales.count == 1)
        value->real = limit(c->r, about, t);
    else
        value->stored = quantized(c->r, about, t);
}

void give_complex(struct call *c, struct tensor *real, struct tensor *imaginary)
{
    if (!real || !imaginary)
        return;
    if (real->rank == MAX_RANK || given_type(c, 0) != TYPE_COMPLEX64 || real->type != TYPE_FLOAT32) {
        fail(c->r, "complex numbers of type %s", type_name(given_type(c, 0)));
        return;
    }
    struct tensor *parts[] = {unsqueeze(c->r, real, real->rank), unsqueeze(c->r, imaginary, imaginary->rank)};
    c->outputs[0]->stored = concat(c->r, 2, parts, real->rank);
}

bool static_shape(const struct call *c, size_t index, size_t *rank, int64_t *dims)
{
    if (index >= c->output_count || !c->outputs[index] || !c->outputs[index]->about->has_rank)
        return false;
    const struct tflite_tensor *about = c->outputs[index]->about;
    *rank = about->shape.count;
    for (size_t i = 0; i < *rank; i++) {
        if (i >= MAX_RANK || wnn_flatbuffer_number_at(&about->signature, FLATBUFFER_INT32, i) < 0)
            return false;
        dims[i] = wnn_flatbuffer_number_at(&about->shape, FLATBUFFER_INT32, i);
        if (dims[i] < 0)
            return false;
    }
    return true;
}
