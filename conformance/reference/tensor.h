// SPDX-License-Identifier: Apache-2.0
//
// Tensors of the reference backend: dense elements that are read and written one at a time, as bits, as
// integers or as doubles, and the arithmetic of coordinates. Slow on purpose; nothing of it is shared with
// another backend.

#ifndef CONFORMANCE_REFERENCE_TENSOR_H_
#define CONFORMANCE_REFERENCE_TENSOR_H_

#include "lib/shape.h"

#include <math.h>
#include <string.h>

struct tensor {
    WNNDataType type;
    struct shape shape;
    size_t count;
    unsigned char *data; // NULL: an optional operand that is not given
};

static inline bool is_float(const struct tensor *tensor)
{
    return tensor->type == WNNDataType_Float32 || tensor->type == WNNDataType_Float16;
}

static inline unsigned bits_of(WNNDataType type)
{
    switch (type) {
    case WNNDataType_Int64:
    case WNNDataType_Uint64:
        return 64;
    case WNNDataType_Float32:
    case WNNDataType_Int32:
    case WNNDataType_Uint32:
        return 32;
    case WNNDataType_Float16:
        return 16;
    case WNNDataType_Int4:
    case WNNDataType_Uint4:
        return 4;
    default:
        return 8;
    }
}

static inline bool is_signed(WNNDataType type)
{
    return type == WNNDataType_Int64 || type == WNNDataType_Int32 || type == WNNDataType_Int8 ||
           type == WNNDataType_Int4;
}

// The bits of one element, in the low bits of the result.
static inline uint64_t load_bits(const struct tensor *tensor, size_t index)
{
    unsigned bits = bits_of(tensor->type);
    uint64_t value = 0;
    if (bits == 4)
        return tensor->data[index / 2] >> (index % 2 * 4) & 0xFu;
    for (unsigned byte = bits / 8; byte-- > 0;)
        value = value << 8 | tensor->data[index * (bits / 8) + byte];
    return value;
}

static inline void store_bits(const struct tensor *tensor, size_t index, uint64_t value)
{
    unsigned bits = bits_of(tensor->type);
    if (bits == 4) {
        unsigned shift = index % 2 * 4;
        unsigned char *pair = &tensor->data[index / 2];
        *pair = (unsigned char)((*pair & ~(0xFu << shift)) | (unsigned)(value & 0xFu) << shift);
        return;
    }
    for (unsigned byte = 0; byte < bits / 8; byte++)
        tensor->data[index * (bits / 8) + byte] = (unsigned char)(value >> 8 * byte);
}

// An element of an integer tensor, exactly.
static inline __int128 load_integer(const struct tensor *tensor, size_t index)
{
    unsigned bits = bits_of(tensor->type);
    __int128 value = load_bits(tensor, index);
    if (is_signed(tensor->type) && value >> (bits - 1) != 0)
        value -= (__int128)1 << bits;
    return value;
}

// Keeps the low bits.
static inline void store_integer(const struct tensor *tensor, size_t index, __int128 value)
{
    store_bits(tensor, index, (uint64_t)value);
}

static inline __int128 least_integer(WNNDataType type)
{
    return is_signed(type) ? -((__int128)1 << (bits_of(type) - 1)) : 0;
}

static inline __int128 greatest_integer(WNNDataType type)
{
    return ((__int128)1 << (bits_of(type) - is_signed(type))) - 1;
}

static inline void store_saturated(const struct tensor *tensor, size_t index, __int128 value)
{
    __int128 least = least_integer(tensor->type), greatest = greatest_integer(tensor->type);
    store_integer(tensor, index, value < least ? least : value > greatest ? greatest : value);
}

// A double without its fraction, limited to what every integer type can be compared with; NaN is 0.
static inline __int128 integer_of(double value)
{
    return isnan(value) ? 0 : (__int128)fmax(fmin(value, 0x1p100), -0x1p100);
}

// 2^exponent, for exponents of normal doubles: ldexp() takes ten times as long.
static inline double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

// |value| < 2^exponent and not below half of that, as of frexp(), for normal doubles.
static inline int exponent_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int)(bits >> 52 & 0x7FF) - 1022;
}

// The float16 nearest to a value, ties to even: |value| < 2^e has steps of 2^(e - 11), but not finer than
// 2^-24.
static inline uint16_t half_of(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return 0x7E00;
    if (value == 0)
        return sign;
    if (fabs(value) >= 65536)
        return sign | 0x7C00;
    int exponent = exponent_of(value), step = exponent - 11 < -24 ? -24 : exponent - 11;
    double steps = rint(fabs(value) * power_of_two(-step)); // at most 2^11
    if (steps * power_of_two(step) > 65504)
        return sign | 0x7C00;
    // 2^10 steps begin the next exponent field, which is what adding them to the field does.
    return (uint16_t)(sign | ((unsigned)(step + 24) * 1024 + (unsigned)steps));
}

static inline double double_of_half(uint16_t half)
{
    int exponent = half >> 10 & 0x1F, mantissa = half & 0x3FF;
    double value;
    if (exponent == 0x1F)
        value = mantissa != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = mantissa * 0x1p-24;
    else
        value = (1024 + mantissa) * power_of_two(exponent - 25);
    return half & 0x8000 ? -value : value;
}

// An element of any tensor as a double; 64-bit integers are rounded.
static inline double load(const struct tensor *tensor, size_t index)
{
    if (tensor->type == WNNDataType_Float16) {
        uint16_t half;
        memcpy(&half, tensor->data + index * sizeof half, sizeof half);
        return double_of_half(half);
    }
    if (tensor->type == WNNDataType_Float32) {
        float value;
        memcpy(&value, tensor->data + index * sizeof value, sizeof value);
        return value;
    }
    return (double)load_integer(tensor, index);
}

// Rounds once, to the tensor's type: nearest even for floats, nearest even and saturated for integers.
static inline void store(const struct tensor *tensor, size_t index, double value)
{
    if (tensor->type == WNNDataType_Float16) {
        uint16_t half = half_of(value);
        memcpy(tensor->data + index * sizeof half, &half, sizeof half);
    } else if (tensor->type == WNNDataType_Float32) {
        float single = (float)value;
        memcpy(tensor->data + index * sizeof single, &single, sizeof single);
    } else {
        store_saturated(tensor, index, integer_of(rint(value)));
    }
}

// Elements that are `step` elements apart, from `at` on.
struct line {
    const struct tensor *tensor;
    size_t at, step;
};

static inline double sum_of_products(struct line a, struct line b, size_t count)
{
    double sum = 0;
    if (a.tensor->type != WNNDataType_Float32 || b.tensor->type != WNNDataType_Float32) {
        for (size_t i = 0; i < count; i++)
            sum += load(a.tensor, a.at + i * a.step) * load(b.tensor, b.at + i * b.step);
        return sum;
    }
    // What load() does, in a fifth of the time: most of that of tests is here.
    const unsigned char *x = a.tensor->data + a.at * sizeof(float),
                        *y = b.tensor->data + b.at * sizeof(float);
    for (size_t i = 0; i < count; i++) {
        float left, right;
        memcpy(&left, x + i * a.step * sizeof left, sizeof left);
        memcpy(&right, y + i * b.step * sizeof right, sizeof right);
        sum += (double)left * (double)right;
    }
    return sum;
}

static inline void copy_element(const struct tensor *to, size_t to_index, const struct tensor *from,
                                size_t from_index)
{
    store_bits(to, to_index, load_bits(from, from_index));
}

// The coordinates of an element, and back.
static inline void coordinates_of(const struct tensor *tensor, size_t index, size_t at[WNN_MAX_RANK])
{
    for (unsigned d = tensor->shape.rank; d-- > 0;) {
        at[d] = index % tensor->shape.dim[d];
        index /= tensor->shape.dim[d];
    }
}

static inline size_t index_at(const struct tensor *tensor, const size_t *at)
{
    size_t index = 0;
    for (unsigned d = 0; d < tensor->shape.rank; d++)
        index = index * tensor->shape.dim[d] + at[d];
    return index;
}

// The element of `from` that stands at element `index` of `to`, to which `from` broadcasts.
static inline size_t broadcast_index(const struct tensor *from, const struct tensor *to, size_t index)
{
    size_t at[WNN_MAX_RANK] = {0}, from_at[WNN_MAX_RANK] = {0};
    coordinates_of(to, index, at);
    for (unsigned d = 0; d < from->shape.rank; d++)
        from_at[d] = from->shape.dim[d] == 1 ? 0 : at[to->shape.rank - from->shape.rank + d];
    return index_at(from, from_at);
}

// The elements of a tensor cut into groups: the elements of one group differ only along `axes`. Inside of a
// group they are counted in row-major order of the axes as listed; groups are counted in row-major order of
// the other axes.
struct grouping {
    const struct tensor *tensor;
    unsigned axes[WNN_MAX_RANK]; // the other axes, then the listed ones
    unsigned outer, rank;        // how many are the others
    size_t groups, members;
};

static inline struct grouping group_along(const struct tensor *tensor, const uint32_t *axes,
                                          size_t axis_count)
{
    struct grouping grouping = {.tensor = tensor, .rank = tensor->shape.rank, .groups = 1, .members = 1};
    for (unsigned d = 0; d < tensor->shape.rank; d++) {
        bool listed = false;
        for (size_t i = 0; i < axis_count; i++)
            listed |= axes[i] == d;
        if (!listed) {
            grouping.axes[grouping.outer++] = d;
            grouping.groups *= tensor->shape.dim[d];
        }
    }
    for (size_t i = 0; i < axis_count; i++) {
        grouping.axes[grouping.outer + i] = axes[i];
        grouping.members *= tensor->shape.dim[axes[i]];
    }
    return grouping;
}

static inline size_t member_of(const struct grouping *grouping, size_t group, size_t member)
{
    size_t at[WNN_MAX_RANK] = {0};
    for (unsigned i = grouping->rank; i-- > 0;) {
        size_t *rest = i >= grouping->outer ? &member : &group;
        uint32_t size = grouping->tensor->shape.dim[grouping->axes[i]];
        at[grouping->axes[i]] = *rest % size;
        *rest /= size;
    }
    return index_at(grouping->tensor, at);
}

#endif
