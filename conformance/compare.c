// SPDX-License-Identifier: Apache-2.0

#include "conformance/compare.h"

#include "lib/half.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// The bits of one element, in the low bits of the result.
static uint64_t bits_at(WNNDataType type, const void *data, size_t index)
{
    unsigned width = wnn_dtype_bits(type);
    const unsigned char *bytes = data;
    uint64_t bits = 0;
    if (width == 4)
        return bytes[index / 2] >> (index % 2 * 4) & 0xFu;
    for (unsigned byte = width / 8; byte-- > 0;)
        bits = bits << 8 | bytes[index * (width / 8) + byte];
    return bits;
}

// The value of an integer, or the position of a float among the floats of its type, both zeros being 0.
static __int128 position(WNNDataType type, uint64_t bits)
{
    unsigned width = wnn_dtype_bits(type);
    uint64_t sign = (uint64_t)1 << (width - 1);
    if (wnn_dtype_is_float(type))
        return bits & sign ? -(__int128)(bits ^ sign) : (__int128)bits;
    if (wnn_dtype_is_signed(type) && bits & sign)
        return (__int128)bits - ((__int128)sign << 1);
    return bits;
}

double wnn_element_double(WNNDataType type, const void *data, size_t index)
{
    uint64_t bits = bits_at(type, data, index);
    if (type == WNNDataType_Float16)
        return wnn_half_to_float((uint16_t)bits);
    if (type == WNNDataType_Float32) {
        uint32_t word = (uint32_t)bits;
        float value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    return (double)position(type, bits);
}

void wnn_element_text(WNNDataType type, const void *data, size_t index, char *buffer, size_t size)
{
    uint64_t bits = bits_at(type, data, index);
    if (wnn_dtype_is_float(type))
        snprintf(buffer, size, "%.9g (0x%0*" PRIx64 ")", wnn_element_double(type, data, index),
                 (int)wnn_dtype_bits(type) / 4, bits);
    else if (type == WNNDataType_Uint64)
        snprintf(buffer, size, "%" PRIu64, bits);
    else
        snprintf(buffer, size, "%" PRId64, (int64_t)position(type, bits));
}

// 0 for equal values; infinite where nothing is near enough.
static double distance(WNNDataType type, const void *got, const void *expected, size_t index, bool absolute,
                       unsigned flags)
{
    uint64_t a = bits_at(type, got, index), b = bits_at(type, expected, index);
    if (a == b)
        return 0;
    double x = wnn_element_double(type, got, index), y = wnn_element_double(type, expected, index);
    if (isnan(x) || isnan(y))
        return isnan(y) && (isnan(x) || (isinf(x) && flags & COMPARE_LOST_NAN)) ? 0 : INFINITY;
    if (flags & COMPARE_ZERO_SIGNS && x == 0 && y == 0 && wnn_dtype_is_float(type))
        return INFINITY;
    if (flags & COMPARE_FLUSHED && type == WNNDataType_Float32 && fabs(x) < FLT_MIN && fabs(y) < FLT_MIN)
        return 0;
    if (absolute)
        return x == y && wnn_dtype_is_float(type) ? 0 : fabs(x - y);
    __int128 apart = position(type, a) - position(type, b);
    return (double)(apart < 0 ? -apart : apart);
}

bool wnn_compare(WNNDataType type, size_t count, const void *got, const void *expected,
                 const struct tolerance *tolerance, unsigned flags, struct difference *difference)
{
    *difference = (struct difference){0};
    for (size_t i = 0; i < count; i++) {
        double apart = distance(type, got, expected, i, tolerance->absolute, flags);
        difference->greatest = apart > difference->greatest ? apart : difference->greatest;
        if (apart <= tolerance->value)
            continue;
        if (difference->count++ > 0)
            continue;
        difference->first = i;
        difference->distance = apart;
        wnn_element_text(type, got, i, difference->got, sizeof difference->got);
        wnn_element_text(type, expected, i, difference->expected, sizeof difference->expected);
    }
    return difference->count == 0;
}
