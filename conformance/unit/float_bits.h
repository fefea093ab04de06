// SPDX-License-Identifier: Apache-2.0
//
// The bits of a float32, and back.

#ifndef CONFORMANCE_UNIT_FLOAT_BITS_H_
#define CONFORMANCE_UNIT_FLOAT_BITS_H_

#include <stdint.h>
#include <string.h>

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#endif
