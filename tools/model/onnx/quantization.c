// SPDX-License-Identifier: Apache-2.0
//
// Quantized operators: they dequantize, compute with real numbers and quantize, which the compiler fuses
// again where the backend computes with integers.

#include "tools/model/onnx/call.h"

#include <math.h>
#include <string.h>

#define LARGEST    ((int64_t)1 << 28) // of sizes in attributes
#define MAX_JOINED 1024

// ---------------------------------------------------------------------------------------------------------------
// Checks
// ---------------------------------------------------------------------------------------------------------------

static bool is_byte(struct recording *r, const struct tensor *t, const char *name)
{
    if (!t || r->failed)
        return false;
    return t->type == ONNX_UINT8 || t->type == ONNX_INT8 ||
           fail(r, "%s is of type %s, not of uint8 or int8", name, type_name(t->type));
}

// Whether WebNN quantizes to a type. Numbers of 16 bits are those of 32 when they may be.
static bool is_quantized(struct recording *r, int64_t type)
{
    WNNDataType operand = operand_type(r, type);
    bool fits = is_integer(type) && operand != WNNDataType_Undefined && operand != WNNDataType_Int64 &&
                operand != WNNDataType_Uint64;
    return fits || fail(r, "quantized numbers of type %s are not supported%s", type_name(type),
                        type == ONNX_INT16 || type == ONNX_UINT16 ? " unless they may be wider" : "");
}

static bool same_dims(const struct tensor *a, const struct tensor *b)
{
    return a->rank == b->rank && (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0);
}

// ---------------------------------------------------------------------------------------------------------------
// To quantize and to dequantize
// ---------------------------------------------------------------------------------------------------------------

#define ANY_BLOCK (-1)

// A scale or zero point with the rank of x: one for all, one for each index of an axis, or of x's rank with
// one for `block` indices of the axis. Block 0: there are no blocks.
static struct tensor *spread(struct recording *r, struct tensor *t, const struct tensor *x, int64_t axis,
                             int64_t block)
{
    int64_t dims[MAX_RANK];
    size_t at;
    if (!t || !x || r->failed)
        return NULL;
    for (size_t i = 0; i < x->rank; i++)
        dims[i] = 1;
    if (count_elements(t) == 1)
        return reshape(r, t, x->rank, dims);
    if (!find_axis(r, axis, x->rank, &at))
        return NULL;
    if (t->rank == 1 && (block == 0 || x->rank != 1)) {
        if (t->dims[0] != x->dims[at])
            return fail(r, "%lld scales or zero points for a size of %lld", (long long)t->dims[0],
                        (long long)x->dims[at]);
        dims[at] = t->dims[0];
        return reshape(r, t, x->rank, dims);
    }
    if (t->rank != x->rank)
        return fail(r, "scales or zero points of rank %zu for a tensor of rank %zu", t->rank, x->rank);
    for (size_t i = 0; i < x->rank; i++) {
        int64_t blocks = t->dims[i], size = x->dims[i];
        if (blocks == 1 || blocks == size)
            continue;
        if (i != at || block == 0 || blocks < 1 || size % blocks || (block > 0 && size / blocks != block))
            return fail(r, "%lld scales or zero points at axis %zu do not fit a size of %lld",
                        (long long)blocks, i, (long long)size);
    }
    return t;
}

// A zero point for every scale, the same for all. Many are written as they are stored, as known numbers take
// much more memory.
static struct tensor *uniform(struct recording *r, int64_t type, size_t rank, const int64_t *dims,
                              int64_t value)
{
    int64_t count = product(dims, rank);
    bool nibbles = type == ONNX_UINT4 || type == ONNX_INT4;
    uint32_t shape[MAX_RANK];
    if (count <= 65536 || (!nibbles && type != ONNX_UINT8 && type != ONNX_INT8))
        return make_filled(r, type, rank, dims, (double)value);
    for (size_t i = 0; i < rank; i++)
        if ((shape[i] = (uint32_t)dims[i]) != dims[i])
            return fail(r, "a dimension of size %lld", (long long)dims[i]);
    WNNOperandDescriptor descriptor = {NULL, operand_type(r, type), {shape, rank}};
    size_t size = nibbles ? ((size_t)count + 1) / 2 : (size_t)count;
    unsigned char *data = wnn_model_allocate(r->memory, size, 1);
    if (!data)
        return fail(r, "there is not enough memory");
    memset(data, (int)(nibbles ? value * 17 : value), size);
    if (nibbles && count % 2)
        data[size - 1] &= 15;
    return make_operand(r, type, wnnGraphBuilderConstant(r->builder, &descriptor, data, size));
}

// Scale and zero point with the rank of x and one shape. Without a zero point it is 0.
static bool spread_both(struct recording *r, const struct tensor *x, struct tensor **scale,
                        struct tensor **zero, int64_t type, int64_t axis, int64_t block)
{
    if (!x || !is_float(r, *scale, "the scale") || !is_quantized(r, type))
        return false;
    *scale = spread(r, *scale, x, axis, block);
    if (!*scale)
        return false;
    *zero = *zero ? spread(r, *zero, x, axis, block) : uniform(r, type, x->rank, (*scale)->dims, 0);
    if (!*zero)
        return false;
    if ((*zero)->type != type)
        return fail(r, "a zero point of type %s for numbers of type %s", type_name((*zero)->type),
                    type_name(type));
    if (count_elements(*zero) == 1)
        *zero = expand(r, *zero, x->rank, (*scale)->dims);
    else if (count_elements(*scale) == 1)
        *scale = expand(r, *scale, x->rank, (*zero)->dims);
    if (!*scale || !*zero)
        return false;
    return same_dims(*scale, *zero) || fail(r, "scale and zero point have different shapes");
}

static struct tensor *quantize(struct recording *r, struct tensor *x, struct tensor *scale,
                               struct tensor *zero, int64_t type, int64_t axis, int64_t block)
{
    if (!x || !scale || r->failed || !spread_both(r, x, &scale, &zero, type, axis, block))
        return NULL;
    if (!is_real(x->type) && x->type != ONNX_INT32)
        return fail(r, "a tensor of type %s cannot be quantized", type_name(x->type));
    return quantize_linear(r, cast(r, x, scale->type), scale, zero, type);
}

struct tensor *dequantize(struct recording *r, struct tensor *x, struct tensor *scale, struct tensor *zero,
                          int64_t axis, int64_t block)
{
    if (!x || !scale || r->failed || !spread_both(r, x, &scale, &zero, x->type, axis, block))
        return NULL;
    return dequantize_linear(r, x, scale, zero);
}

// An input with its scale and zero point in the inputs that follow.
static struct tensor *dequantized_input(struct call *c, size_t index, int64_t axis)
{
    struct tensor *x = needed(c, index, "quantized input"), *scale = needed(c, index + 1, "scale");
    return dequantize(c->r, x, scale, input(c, index + 2), axis, 0);
}

// The result as output 0, with scale and zero point in an input and the one that follows; `type` is what is
// quantized to without a zero point.
static void set_quantized(struct call *c, struct tensor *y, size_t index, int64_t type, int64_t axis)
{
    struct tensor *scale = needed(c, index, "scale of the output"), *zero = input(c, index + 1);
    set_output(c, 0, quantize(c->r, y, scale, zero, zero ? zero->type : type, axis, 0));
}

static void record_to_quantized(struct call *c, struct tensor *x, struct tensor *scale, int64_t axis,
                                int64_t block)
{
    struct recording *r = c->r;
    struct tensor *zero = input(c, 2);
    int64_t given = get_int(c, "output_dtype", 0), precision = get_int(c, "precision", 0);
    int64_t type = zero ? zero->type : given ? given : ONNX_UINT8;
    if (given && given != type)
        fail(r, "output_dtype is %s, but the zero point is of %s", type_name(given), type_name(type));
    if (scale && !is_real(scale->type))
        scale = cast(r, scale, ONNX_FLOAT);
    if (precision && scale && precision != scale->type)
        fail(r, "a precision other than that of the scale is not supported");
    set_output(c, 0, quantize(r, x, scale, zero, type, axis, block));
}

void record_quantize(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = needed(c, 0, "input"), *scale = needed(c, 1, "scale");
    int64_t axis = get_int(c, "axis", 1), block = get_int(c, "block_size", 0), type;
    if (block < 0 || block > LARGEST) {
        fail(r, "block_size is %lld", (long long)block);
        return;
    }
    if (!c->parameter) {
        record_to_quantized(c, x, scale, axis, block);
        return;
    }
    struct tensor *y = dequantize(r, x, scale, input(c, 2), axis, block);
    type = get_int(c, "output_dtype", 0);
    if (type && !is_real(type))
        fail(r, "output_dtype is %s", type_name(type));
    set_output(c, 0, type ? cast(r, y, type) : y);
}

// ---------------------------------------------------------------------------------------------------------------
// Scales that are computed from what is quantized
// ---------------------------------------------------------------------------------------------------------------

struct dynamic {
    struct tensor *steps, *scale, *zero; // real numbers; steps and zero are whole, of 0 to 255
};

static bool quantize_dynamically(struct recording *r, struct tensor *x, struct dynamic *d)
{
    size_t axes[MAX_RANK];
    if (!is_float(r, x, "the input"))
        return false;
    for (size_t i = 0; i < x->rank; i++)
        axes[i] = i;
    struct tensor *high = with_number(r, MAX, reduce(r, MAXIMUM, x, x->rank, axes, false), 0);
    struct tensor *low = with_number(r, MIN, reduce(r, MINIMUM, x, x->rank, axes, false), 0);
    struct tensor *scale = with_number(r, DIV, binary(r, SUB, high, low), 255);
    // All zeros have any scale but 0.
    d->scale = choose(r, with_number(r, EQUAL, scale, 0), make_number(r, x->type, 1), scale);
    d->zero = unary(r, ROUND, clamp(r, unary(r, NEG, binary(r, DIV, low, d->scale)), 0, 255));
    struct tensor *rounded = unary(r, ROUND, binary(r, DIV, x, d->scale));
    d->steps = clamp(r, binary(r, ADD, rounded, d->zero), 0, 255);
    return d->steps != NULL;
}

void record_dynamic_quantize(struct call *c)
{
    struct dynamic d;
    if (!quantize_dynamically(c->r, needed(c, 0, "input"), &d))
        return;
    set_output(c, 0, cast(c->r, d.steps, ONNX_UINT8));
    set_output(c, 1, d.scale);
    set_output(c, 2, cast(c->r, d.zero, ONNX_UINT8));
}

// ---------------------------------------------------------------------------------------------------------------
// Products
// ---------------------------------------------------------------------------------------------------------------

// The axis of rows of a left operand.
static int64_t row_axis(const struct tensor *t)
{
    return t && t->rank > 1 ? -2 : -1;
}

// x - zero as real numbers, by a scale of 1: products of these are products of integers to a backend that has
// such.
static struct tensor *center(struct recording *r, struct tensor *x, struct tensor *zero, int64_t axis)
{
    return is_byte(r, x, "the input") ? dequantize(r, x, make_number(r, ONNX_FLOAT, 1), zero, axis, 0) : NULL;
}

// Where integers are not multiplied as such, but as float32, sums are exact below 2^24, as those of 258
// products of any bytes always are, and have 24 correct bits above.
void record_integer_matmul(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = needed(c, 0, "A"), *b = needed(c, 1, "B");
    struct tensor *x = center(r, a, input(c, 2), row_axis(a)), *y = center(r, b, input(c, 3), -1);
    set_output(c, 0, cast(r, multiply(r, x, y), ONNX_INT32));
}

void record_integer_conv(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = center(r, needed(c, 0, "x"), input(c, 2), 1);
    struct tensor *w = center(r, needed(c, 1, "w"), input(c, 3), 0);
    if (x && w)
        set_output(c, 0, cast(r, convolve(c, x, w, NULL), ONNX_INT32));
}

void record_quantized_matmul(struct call *c)
{
    struct tensor *a = dequantized_input(c, 0, row_axis(input(c, 0))), *b = dequantized_input(c, 3, -1);
    struct tensor *y = multiply(c->r, a, b);
    set_quantized(c, y, 6, input(c, 0) ? input(c, 0)->type : ONNX_UINT8, row_axis(y));
}

// The product of two scales, of rank 0 or 1.
static struct tensor *multiply_scales(struct recording *r, struct tensor *a, struct tensor *b)
{
    if (!is_float(r, a, "a scale") || !is_float(r, b, "a scale"))
        return NULL;
    if (count_elements(a) == 1)
        a = reshape(r, a, 0, NULL);
    if (count_elements(b) == 1)
        b = reshape(r, b, 0, NULL);
    return binary(r, MUL, a, b);
}

void record_quantized_conv(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = dequantized_input(c, 0, 1), *w = dequantized_input(c, 3, 0), *bias = input(c, 8), *y;
    bool last = get_int(c, "channels_last", 0) != 0; // of com.microsoft
    if (bias && (bias->rank != 1 || bias->type != ONNX_INT32)) {
        fail(r, "a bias of rank %zu and type %s instead of rank 1 and int32", bias->rank,
             type_name(bias->type));
        return;
    }
    if (bias)
        bias = dequantize(r, bias, multiply_scales(r, input(c, 1), input(c, 4)), NULL, 0, 0);
    if (!x || !w || r->failed)
        return;
    y = convolve(c, last ? channels_second(r, x) : x, w, bias);
    set_quantized(c, last ? channels_last(r, y) : y, 6, input(c, 0)->type, 1);
}

static struct tensor *transposed_if(struct call *c, const char *name, struct tensor *t)
{
    return get_int(c, name, 0) ? swap_axes(c->r, t, 0, 1) : t;
}

void record_quantized_gemm(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = needed(c, 0, "A"), *b = needed(c, 3, "B"), *bias = input(c, 6);
    double alpha = get_float(c, "alpha", 1);
    if (!a || !b)
        return;
    if (a->rank != 2 || b->rank != 2 || !isfinite(alpha)) {
        fail(r, "A and B have to be matrices, and alpha has to be finite");
        return;
    }
    a = transposed_if(c, "transA", dequantized_input(c, 0, 0));
    b = transposed_if(c, "transB", dequantized_input(c, 3, get_int(c, "transB", 0) ? 0 : 1));
    struct tensor *y = matmul(r, a, b);
    if (bias && (bias->type != ONNX_INT32 || bias->rank > 2)) {
        fail(r, "C of rank %zu and type %s", bias->rank, type_name(bias->type));
        return;
    }
    if (bias && y) {
        struct tensor *scale = multiply_scales(r, input(c, 1), input(c, 4));
        struct tensor *sum = binary(r, ADD, y, binary(r, MUL, cast(r, bias, y->type), scale));
        if (sum && !same_dims(sum, y))
            fail(r, "C does not fit the product");
        y = sum;
    }
    if (alpha != 1)
        y = with_number(r, MUL, y, alpha);
    if (input(c, 7))
        set_quantized(c, y, 7, input(c, 0)->type, 0);
    else
        set_output(c, 0, input(c, 8) ? fail(r, "a zero point of the output without a scale") : y);
}

static struct tensor *add_columns(struct recording *r, struct tensor *y, struct tensor *bias)
{
    if (!bias || !y || r->failed)
        return y;
    if (bias->rank != 1 || y->rank < 1 || bias->dims[0] != y->dims[y->rank - 1])
        return fail(r, "the bias does not fit the columns");
    return binary(r, ADD, y, bias);
}

void record_dynamic_quantize_matmul(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *b = needed(c, 1, "B"), *scale = needed(c, 2, "b_scale");
    struct dynamic d;
    if (!is_byte(r, b, "B") || !quantize_dynamically(r, needed(c, 0, "A"), &d))
        return;
    struct tensor *y =
        multiply(r, binary(r, SUB, d.steps, d.zero), dequantize(r, b, scale, input(c, 3), -1, 0));
    set_output(c, 0, add_columns(r, binary(r, MUL, y, d.scale), input(c, 4)));
}

void record_integer_to_float(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = needed(c, 0, "A"), *b = needed(c, 1, "B");
    struct tensor *x = dequantize(r, a, needed(c, 2, "a_scale"), input(c, 4), row_axis(a), 0);
    struct tensor *y = dequantize(r, b, needed(c, 3, "b_scale"), input(c, 5), -1, 0);
    set_output(c, 0, add_columns(r, multiply(r, x, y), input(c, 6)));
}

// ---------------------------------------------------------------------------------------------------------------
// Elementwise
// ---------------------------------------------------------------------------------------------------------------

void record_quantized_binary(struct call *c)
{
    struct tensor *a = dequantized_input(c, 0, 1), *b = dequantized_input(c, 3, 1);
    if (a && b)
        set_quantized(c, binary(c->r, (enum binary)c->parameter, a, b), 6, input(c, 0)->type, 1);
}

enum quantized {
    Q_SIGMOID,
    Q_LEAKY_RELU,
    Q_AVERAGE,
    Q_AVERAGE_ALL,
    Q_SOFTMAX,
    Q_MEAN
};

static struct tensor *average_all(struct call *c, struct tensor *x)
{
    size_t axes[MAX_RANK];
    if (x->rank < 3)
        return fail(c->r, "a tensor of rank %zu has no spatial axes", x->rank);
    for (size_t i = 0; i < x->rank - 2; i++)
        axes[i] = 2 + i;
    return reduce(c->r, MEAN, x, x->rank - 2, axes, true);
}

// Over all axes where none are told.
static struct tensor *average_axes(struct call *c, struct tensor *x)
{
    size_t count, axes[MAX_RANK];
    int64_t *numbers = get_ints(c, "axes", &count);
    if (!find_axes(c->r, x->rank, count, numbers, axes))
        return NULL;
    for (size_t i = 0; count == 0 && i < x->rank; i++)
        axes[i] = i;
    return reduce(c->r, MEAN, x, count ? count : x->rank, axes, get_int(c, "keepdims", 1) != 0);
}

static struct tensor *compute_quantized(struct call *c, enum quantized op, struct tensor *x)
{
    struct recording *r = c->r;
    bool last = get_int(c, "channels_last", 0) != 0;
    switch (op) {
    case Q_SIGMOID:
        return unary(r, SIGMOID, x);
    case Q_LEAKY_RELU:
        return leaky_relu(r, x, get_float(c, "alpha", 0.01));
    case Q_MEAN:
        return average_axes(c, x);
    case Q_SOFTMAX:
        return softmax_from(r, x, get_int(c, "axis", -1), get_int(c, "opset", 13) < 13);
    default:
        x = last ? channels_second(r, x) : x;
        x = !x ? NULL : op == Q_AVERAGE ? average_windows(c, x) : average_all(c, x);
        return last ? channels_last(r, x) : x;
    }
}

// Inputs: numbers, their scale and zero point, and those of the result.
void record_quantized_unary(struct call *c)
{
    struct tensor *x = dequantized_input(c, 0, 1);
    if (x)
        set_quantized(c, compute_quantized(c, (enum quantized)c->parameter, x), 3, input(c, 0)->type, 1);
}

// Inputs: scale and zero point of the result, then numbers with theirs.
void record_quantized_concat(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *parts[MAX_JOINED];
    size_t axis, count = c->input_count > 2 ? (c->input_count - 2) / 3 : 0;
    if (count < 1 || count > MAX_JOINED) {
        fail(r, "%zu tensors are joined; 1 to %d are supported", count, MAX_JOINED);
        return;
    }
    for (size_t i = 0; i < count; i++)
        parts[i] = dequantized_input(c, 2 + 3 * i, 1);
    if (parts[0] && find_axis(r, get_int(c, "axis", 0), parts[0]->rank, &axis))
        set_quantized(c, concat(r, count, parts, axis), 0, input(c, 2)->type, 1);
}

void record_quantized_where(struct call *c)
{
    struct tensor *a = dequantized_input(c, 1, 1), *b = dequantized_input(c, 4, 1);
    if (a && b)
        set_quantized(c, choose(c->r, input(c, 0), a, b), 7, input(c, 1)->type, 1);
}

// (a - its zero point) * (b - its own), as int32.
void record_integer_product(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *parts[2];
    for (size_t i = 0; i < 2; i++) {
        struct tensor *zero = input(c, 2 * i + 1);
        parts[i] = cast(r, needed(c, 2 * i, i ? "B" : "A"), ONNX_INT32);
        parts[i] = zero ? binary(r, SUB, parts[i], cast(r, zero, ONNX_INT32)) : parts[i];
    }
    set_output(c, 0, binary(r, MUL, parts[0], parts[1]));
}

// ---------------------------------------------------------------------------------------------------------------
// Numbers of 4 bits
// ---------------------------------------------------------------------------------------------------------------

// The bytes of an initializer as those of another type, which are as many.
static struct tensor *view(struct recording *r, const struct tensor *t, int64_t type, size_t rank,
                           const int64_t *dims)
{
    struct constant *source = wnn_model_allocate(r->memory, 1, sizeof *source);
    if (!source)
        return fail(r, "there is not enough memory");
    *source = *t->source;
    source->type = type;
    return make_constant(r, source, rank, dims);
}

// Bytes of four numbers of 2 bits as such of two of 4 bits, which stay packed as they may be many: [rows,
// width], whose product is even.
static struct tensor *widen_pairs(struct recording *r, const struct tensor *t, int64_t rows, int64_t width)
{
    size_t size = (size_t)(rows * width / 2);
    unsigned char *data = wnn_model_allocate(r->memory, size, 1);
    uint32_t shape[] = {(uint32_t)rows, (uint32_t)width};
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Uint4, {shape, 2}};
    if (!data)
        return fail(r, "there is not enough memory");
    for (size_t i = 0; i < size; i++) {
        int64_t pair = t->ints[i / 2] >> (i % 2 ? 4 : 0);
        data[i] = (unsigned char)((pair & 3) | (pair & 12) << 2);
    }
    return make_operand(r, ONNX_UINT4, wnnGraphBuilderConstant(r->builder, &descriptor, data, size));
}

// Rows of packed bytes as `width` numbers of 4 bits or 2 each, the lower part of a byte first. What is left
// over in the last byte of a row is skipped. `t` has rows * ceil(width * bits / 8) bytes.
static struct tensor *as_nibbles(struct recording *r, struct tensor *t, int64_t bits, int64_t rows,
                                 int64_t width, const char *name)
{
    int64_t dims[] = {rows, width}, bytes = (width * bits + 7) / 8, each = 8 / bits;
    if (bits == 4 && t->source && t->source->type == ONNX_UINT8 && width % 2 == 0)
        return view(r, t, ONNX_UINT4, 2, dims);
    if (!require_known(r, t, name))
        return NULL;
    if (bits == 2 && width % 4 == 0)
        return widen_pairs(r, t, rows, width);
    struct tensor *result = make_known(r, ONNX_UINT4, 2, dims);
    for (int64_t i = 0; result && i < rows * width; i++) {
        int64_t column = i % width, byte = t->ints[i / width * bytes + column / each];
        result->ints[i] = byte >> column % each * bits & ((1 << bits) - 1);
    }
    return result;
}

// Numbers of 4 bits two to a byte, as uint8; the last size is even.
static struct tensor *as_bytes(struct recording *r, struct tensor *t, const char *name)
{
    int64_t dims[MAX_RANK];
    memcpy(dims, t->dims, sizeof dims);
    dims[t->rank - 1] /= 2;
    if (t->source && t->source->type == t->type)
        return view(r, t, ONNX_UINT8, t->rank, dims);
    if (!require_known(r, t, name))
        return NULL;
    struct tensor *result = make_known(r, ONNX_UINT8, t->rank, dims);
    for (int64_t i = 0; result && i < count_elements(result); i++)
        result->ints[i] = (t->ints[2 * i] & 15) | (t->ints[2 * i + 1] & 15) << 4;
    return result;
}

// The numbers of packed bytes, as real numbers; the last axis has twice the size.
static struct tensor *unpack(struct recording *r, struct tensor *bytes, bool negative, int64_t type)
{
    if (!bytes || r->failed)
        return NULL;
    int64_t dims[MAX_RANK];
    size_t last = bytes->rank - 1;
    struct tensor *both = cast(r, bytes, type), *halves[2];
    halves[1] = unary(r, FLOOR, with_number(r, MUL, both, 1.0 / 16));
    halves[0] = binary(r, SUB, both, with_number(r, MUL, halves[1], 16));
    for (int i = 0; i < 2; i++) {
        if (negative) // 8 to 15 are -8 to -1
            halves[i] =
                binary(r, SUB, halves[i],
                       with_number(r, MUL, unary(r, FLOOR, with_number(r, MUL, halves[i], 1.0 / 8)), 16));
        halves[i] = unsqueeze(r, halves[i], last + 1);
    }
    memcpy(dims, bytes->dims, sizeof dims);
    dims[last] *= 2;
    return reshape(r, concat(r, 2, halves, last + 1), bytes->rank, dims);
}

// ---------------------------------------------------------------------------------------------------------------
// Products with weights of few bits
// ---------------------------------------------------------------------------------------------------------------

struct few_bits {
    int64_t rows, width, bits, block, blocks; // weights are [rows, width], in blocks of a row
};

static bool get_few_bits(struct call *c, struct few_bits *f)
{
    struct recording *r = c->r;
    f->rows = get_int(c, "N", 0);
    f->width = get_int(c, "K", 0);
    f->bits = get_int(c, "bits", 4);
    f->block = get_int(c, "block_size", 0);
    if (f->rows < 1 || f->rows > LARGEST || f->width < 1 || f->width > LARGEST)
        return fail(r, "weights of sizes N %lld and K %lld", (long long)f->rows, (long long)f->width);
    if (f->bits != 2 && f->bits != 4 && f->bits != 8)
        return fail(r, "weights of %lld bits; 2, 4 and 8 are supported", (long long)f->bits);
    if (f->block < 2 || f->block > LARGEST || f->block * f->bits % 8)
        return fail(r, "block_size is %lld", (long long)f->block);
    f->blocks = (f->width + f->block - 1) / f->block;
    return !get_int(c, "weight_prepacked", 0) || fail(r, "weight_prepacked is not supported");
}

// Packed zero points as numbers of the weights' type.
static struct tensor *packed_zeros(struct recording *r, const struct few_bits *f, struct tensor *zeros,
                                   int64_t type)
{
    int64_t dims[] = {f->rows, f->blocks};
    if (!zeros)
        return uniform(r, type, 2, dims, 1 << (f->bits - 1));
    int64_t bytes = (f->blocks * f->bits + 7) / 8;
    if (zeros->type != ONNX_UINT8 || count_elements(zeros) != f->rows * bytes)
        return fail(r, "zero_points has to have %lld bytes", (long long)(f->rows * bytes));
    return f->bits < 8 ? as_nibbles(r, zeros, f->bits, f->rows, f->blocks, "zero_points")
                       : reshape(r, zeros, 2, dims);
}

// (weights - zeros) * scales, where the zero points are real numbers; [rows, blocks * block]
static struct tensor *shift_blocks(struct recording *r, const struct few_bits *f, struct tensor *weights,
                                   struct tensor *zeros, struct tensor *scales)
{
    int64_t each[] = {f->rows, f->blocks, 1}, all[] = {f->rows, f->blocks, f->block};
    if (count_elements(zeros) != f->rows * f->blocks || zeros->type != scales->type)
        return fail(r, "zero_points does not fit scales");
    struct tensor *numbers = dequantize(r, weights, make_number(r, scales->type, 1), NULL, 1, 0);
    numbers = binary(r, SUB, reshape(r, numbers, 3, all), reshape(r, zeros, 3, each));
    numbers = binary(r, MUL, numbers, reshape(r, scales, 3, each));
    return reshape(r, numbers, 2, weights->dims);
}

// With a block for each column, in any order: [rows, blocks * block] with scales and zero points gathered.
static struct tensor *scale_by_index(struct call *c, const struct few_bits *f, struct tensor *weights)
{
    struct recording *r = c->r;
    struct tensor *scales = input(c, 2), *zeros = input(c, 3), *index = input(c, 4);
    int64_t each[] = {f->rows, f->blocks}, size = count_elements(index);
    if (!is_integer(index->type) || index->rank != 1 || (size != f->width && size != f->blocks * f->block))
        return fail(r, "g_idx does not have %lld numbers", (long long)f->width);
    index = slice_axis(r, index, 0, 0, f->width, 1);
    weights =
        slice_axis(r, dequantize(r, weights, make_number(r, scales->type, 1), NULL, 1, 0), 1, 0, f->width, 1);
    if (!zeros || !is_real(zeros->type))
        zeros = cast(r, packed_zeros(r, f, zeros, f->bits < 8 ? ONNX_UINT4 : ONNX_UINT8), scales->type);
    zeros = gather(r, reshape(r, zeros, 2, each), index, 1);
    return binary(r, MUL, binary(r, SUB, weights, zeros), gather(r, reshape(r, scales, 2, each), index, 1));
}

// [rows, width] of real numbers
static struct tensor *weights_of(struct call *c, const struct few_bits *f)
{
    struct recording *r = c->r;
    struct tensor *packed = needed(c, 1, "B"), *scales = needed(c, 2, "scales"), *zeros = input(c, 3);
    if (!packed || !is_float(r, scales, "scales"))
        return NULL;
    int64_t all[] = {f->rows, f->blocks * f->block}, each[] = {f->rows, f->blocks};
    if (packed->type != ONNX_UINT8 || count_elements(packed) != product(all, 2) / (8 / f->bits))
        return fail(r, "B has to have %lld bytes", (long long)(product(all, 2) / (8 / f->bits)));
    if (count_elements(scales) != product(each, 2))
        return fail(r, "scales has to have %lld numbers", (long long)product(each, 2));
    struct tensor *weights =
        f->bits < 8 ? as_nibbles(r, packed, f->bits, all[0], all[1], "B") : reshape(r, packed, 2, all);
    if (!weights)
        return NULL;
    if (input(c, 4))
        return scale_by_index(c, f, weights);
    if (zeros && is_real(zeros->type))
        weights = shift_blocks(r, f, weights, zeros, scales);
    else
        weights = dequantize(r, weights, reshape(r, scales, 2, each),
                             packed_zeros(r, f, zeros, weights->type), 1, ANY_BLOCK);
    return slice_axis(r, weights, 1, 0, f->width, 1); // the last block of a row may have more
}

// accuracy_level only allows to be less exact.
void record_matmul_nbits(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = needed(c, 0, "A");
    struct few_bits f = {0};
    if (!is_float(r, a, "A") || !get_few_bits(c, &f))
        return;
    struct tensor *weights = weights_of(c, &f);
    if (!weights || a->rank < 1 || a->dims[a->rank - 1] != f.width || a->type != weights->type) {
        fail(r, "A does not fit K or the type of scales");
        return;
    }
    set_output(c, 0, add_columns(r, multiply(r, a, swap_axes(r, weights, 0, 1)), input(c, 5)));
}

// The numbers that 4 bits stand for, in shares of the largest of a block: FP4 and NF4 of bitsandbytes.
static const float bnb_values[][16] = {
    {0, 0.005208333333F, 0.66666667F, 1, 0.33333333F, 0.5F, 0.16666667F, 0.25F, -0.0F, -0.005208333333F,
     -0.66666667F, -1, -0.33333333F, -0.5F, -0.16666667F, -0.25F},
    {-1, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F, -0.28444138169288635F,
     -0.18477343022823334F, -0.09105003625154495F, 0, 0.07958029955625534F, 0.16093020141124725F,
     0.24611230194568634F, 0.33791524171829224F, 0.44070982933044434F, 0.5626170039176941F,
     0.7229568362236023F, 1},
};

// Weights are numbers of a table, two to a byte, the higher half first.
void record_matmul_bnb(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = input(c, 0), *bytes = input(c, 1), *largest = input(c, 2);
    int64_t width = get_int(c, "K", 0), rows = get_int(c, "N", 0), block = get_int(c, "block_size", 0),
            kind = get_int(c, "quant_type", 0), pairs = 256;
    if (width < 1 || width > LARGEST || rows < 1 || rows > LARGEST || block < 2 || kind < 0 || kind > 1 ||
        width * rows % block || bytes->type != ONNX_UINT8 || count_elements(bytes) * 2 != width * rows ||
        count_elements(largest) * block != width * rows || get_int(c, "transB", 1) != 1) {
        fail(r, "weights of sizes N %lld and K %lld in blocks of %lld", (long long)rows, (long long)width,
             (long long)block);
        return;
    }
    struct tensor *table = make_known(r, largest->type, 2, (int64_t[]){pairs, 2});
    for (int64_t i = 0; table && i < pairs; i++) {
        set_known(table, 2 * i, (double)bnb_values[kind][i / 16]);
        set_known(table, 2 * i + 1, (double)bnb_values[kind][i % 16]);
    }
    struct tensor *index = cast(r, reshape(r, bytes, 1, &(int64_t){width * rows / 2}), ONNX_INT32);
    int64_t blocks[] = {width * rows / block, block}, whole[] = {rows, width};
    struct tensor *weights = reshape(r, gather(r, table, index, 0), 2, blocks);
    weights = binary(r, MUL, weights, reshape(r, largest, 2, (int64_t[]){blocks[0], 1}));
    set_output(c, 0, multiply(r, a, swap_axes(r, reshape(r, weights, 2, whole), 0, 1)));
}

// ---------------------------------------------------------------------------------------------------------------
// Rows of a quantized table
// ---------------------------------------------------------------------------------------------------------------

// Slices of a table of integers as real numbers: of bytes that are two numbers of 4 bits, or of bytes. They
// are gathered as they are packed, as WebNN gathers no less than bytes, and only what is needed is unpacked.
// The last axis has `width` numbers.
static struct tensor *gather_numbers(struct recording *r, struct tensor *t, bool packed,
                                     struct tensor *indices, size_t axis, int64_t width, int64_t type,
                                     const char *name)
{
    if (!t || r->failed)
        return NULL;
    bool nibbles = t->type == ONNX_INT4 || t->type == ONNX_UINT4, negative = t->type == ONNX_INT4;
    if (nibbles && t->dims[t->rank - 1] % 2) { // rows begin within bytes
        if (!require_known(r, t, name))
            return NULL;
        t = cast(r, t, negative ? ONNX_INT8 : ONNX_UINT8);
        packed = false;
    } else if (nibbles) {
        t = as_bytes(r, t, name);
        packed = true;
    }
    struct tensor *rows = gather(r, t, indices, axis);
    rows = packed ? unpack(r, rows, negative, type) : cast(r, rows, type);
    return rows ? slice_axis(r, rows, rows->rank - 1, 0, width, 1) : NULL;
}

struct table {
    struct tensor *data, *scales, *zeros, *indices;
    size_t axis; // of the gather
    int64_t width, blocks;
    bool packed; // two numbers in a byte
};

static bool check_table(struct call *c, struct table *t)
{
    struct recording *r = c->r;
    int64_t block = get_int(c, "block_size", 128), bits = get_int(c, "bits", 4);
    size_t last, at;
    t->data = needed(c, 0, "data");
    t->indices = needed(c, 1, "indices");
    t->scales = needed(c, 2, "scales");
    t->zeros = input(c, 3);
    if (!t->data || !t->indices || !is_float(r, t->scales, "scales") ||
        !find_axis(r, get_int(c, "gather_axis", 0), t->data->rank, &t->axis) ||
        !find_axis(r, get_int(c, "quantize_axis", 1), t->data->rank, &at))
        return false;
    last = t->data->rank - 1;
    bool nibbles = t->data->type == ONNX_INT4 || t->data->type == ONNX_UINT4;
    if (!nibbles && t->data->type != ONNX_UINT8)
        return fail(r, "data of type %s", type_name(t->data->type));
    if (t->indices->type != ONNX_INT32 && t->indices->type != ONNX_INT64)
        return fail(r, "indices of type %s", type_name(t->indices->type));
    if ((bits != 4 && bits != 8) || (nibbles && bits != 4))
        return fail(r, "data of %lld bits; 4 and 8 are supported", (long long)bits);
    if (at != last || t->axis == last)
        return fail(r, "only blocks of the last axis are supported, and a gather along another one");
    if (block < 1 || block > LARGEST || t->data->dims[last] > LARGEST)
        return fail(r, "block_size or data is out of range");
    t->packed = !nibbles && bits == 4;
    t->width = t->data->dims[last] * (t->packed ? 2 : 1);
    t->blocks = (t->width + block - 1) / block;
    if (t->blocks > 1 && t->width % block)
        return fail(r, "blocks of %lld do not divide a size of %lld", (long long)block, (long long)t->width);
    return true;
}

// Scales have a size for each block, zero points too, or for each two if they are packed.
static bool check_blocks(struct recording *r, const struct table *t, const struct tensor *each, int64_t size,
                         const char *name)
{
    size_t last = t->data->rank - 1;
    bool fits = each->rank == t->data->rank && each->dims[last] == size;
    for (size_t i = 0; fits && i < last; i++)
        fits = each->dims[i] == t->data->dims[i];
    return fits || fail(r, "%s does not fit data", name);
}

static struct tensor *table_zeros(struct recording *r, const struct table *t, double otherwise)
{
    int64_t type = t->scales->type;
    if (!t->zeros)
        return make_number(r, type, otherwise);
    if (t->zeros->type != t->data->type)
        return fail(r, "zero_points of type %s", type_name(t->zeros->type));
    if (!check_blocks(r, t, t->zeros, t->packed ? (t->blocks + 1) / 2 : t->blocks, "zero_points"))
        return NULL;
    struct tensor *zeros =
        gather_numbers(r, t->zeros, t->packed, t->indices, t->axis, t->blocks, type, "zero_points");
    return zeros ? unsqueeze(r, zeros, zeros->rank) : NULL;
}

void record_gather_block_quantized(struct call *c)
{
    struct recording *r = c->r;
    struct table t;
    if (!check_table(c, &t) || !check_blocks(r, &t, t.scales, t.blocks, "scales"))
        return;
    if (t.width < 1 || t.data->rank + t.indices->rank > MAX_RANK) {
        fail(r, "data without elements, or a result of more than %d axes", MAX_RANK - 1);
        return;
    }
    double otherwise = t.data->type != ONNX_UINT8 ? 0 : t.packed ? 8 : 128;
    struct tensor *rows =
        gather_numbers(r, t.data, t.packed, t.indices, t.axis, t.width, t.scales->type, "data");
    struct tensor *scales = gather(r, t.scales, t.indices, t.axis);
    struct tensor *zeros = table_zeros(r, &t, otherwise);
    if (!rows || !scales || !zeros)
        return;
    int64_t dims[MAX_RANK];
    memcpy(dims, rows->dims, sizeof dims);
    dims[rows->rank - 1] = t.blocks;
    dims[rows->rank] = t.width / t.blocks;
    struct tensor *numbers = binary(r, SUB, reshape(r, rows, rows->rank + 1, dims), zeros);
    numbers = binary(r, MUL, numbers, unsqueeze(r, scales, scales->rank));
    set_output(c, 0, reshape(r, numbers, rows->rank, rows->dims));
}
