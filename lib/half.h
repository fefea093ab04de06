// SPDX-License-Identifier: Apache-2.0
//
// IEEE binary16 to and from float32: exact, and rounded to nearest even, whatever the processor's mode flags
// say about denormals.

#ifndef LIB_HALF_H_
#define LIB_HALF_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline float wnn_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1Fu, mantissa = half & 0x3FFu, bits;
    if (exponent == 0x1F) {
        bits = sign | 0x7F800000u | mantissa << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    } else if (mantissa != 0) {
        unsigned shift = (unsigned)__builtin_clz(mantissa) - 21;
        bits = sign | (113 - shift) << 23 | (mantissa << (shift + 13) & 0x7FFFFFu);
    } else {
        bits = sign;
    }
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint16_t wnn_half_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u)
        return (uint16_t)(sign | 0x7E00u | (magnitude >> 13 & 0x1FFu));
    if (magnitude >= 0x477FF000u) // rounds to 2^16 or above
        return (uint16_t)(sign | 0x7C00u);
    if (magnitude >= 0x38800000u) { // normal
        uint32_t odd = magnitude >> 13 & 1u;
        return (uint16_t)(sign | (magnitude - 0x38000000u + 0xFFFu + odd) >> 13);
    }
    if (magnitude < 0x33000000u)
        return (uint16_t)sign;
    unsigned shift = 126 - (magnitude >> 23); // 14 to 24
    uint32_t mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
    uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
    kept += rest > middle || (rest == middle && (kept & 1u));
    return (uint16_t)(sign | kept);
}

// Whole arrays, with the processor's conversion instructions where it has them.
// Keys are in the order of the numbers, with NaN above or below them all.
enum {
    WNN_HALF_NAN_LAST = 0x83FF,
    WNN_HALF_NAN_FIRST = 0x7C01
};

static inline uint16_t wnn_half_key(uint16_t half, uint16_t order)
{
    uint16_t sign = (uint16_t)((int16_t)half >> 15);
    return (uint16_t)((half ^ (sign & 0x7FFF)) - order);
}

static inline uint16_t wnn_half_of_key(uint16_t key, uint16_t order)
{
    uint16_t number = (uint16_t)(key + order), sign = (uint16_t)((int16_t)number >> 15);
    return (uint16_t)(number ^ (sign & 0x7FFF));
}

void wnn_half_to_float_array(const uint16_t *halves, float *values, size_t count);
void wnn_half_from_float_array(const float *values, uint16_t *halves, size_t count);
void wnn_half_round_array(float *values, size_t count); // to what float16 holds

#endif
