// SPDX-License-Identifier: Apache-2.0
//
// Operators of float16 that take a few instructions, in one loop over numbers as they lie in memory: what is
// read is computed in float32 and rounded in registers, to the bits of the operator's loop over float32 and a
// rounding behind that.

#ifndef CPU_ELEMENTWISE_HALVES_H_
#define CPU_ELEMENTWISE_HALVES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum halves {
    HALVES_ABS,
    HALVES_CLAMP, // from alpha to beta
    HALVES_HARD_SIGMOID,
    HALVES_HARD_SWISH,
    HALVES_LEAKY_RELU,
    HALVES_LINEAR,
    HALVES_NEG,
    HALVES_RECIPROCAL,
    HALVES_RELU,
    // Of two operands.
    HALVES_ADD,
    HALVES_DIV,
    HALVES_MAX,
    HALVES_MIN,
    HALVES_MUL,
    HALVES_PRELU,
    HALVES_SUB,
    HALVES_COUNT
};

// out[i] = function of x[i] and, of two operands, y[i]; alpha and beta hold what float16 can. `out` may be an
// operand, unless `stream` says that it is stored past the caches, which the caller ends. Returns whether
// this processor has such loops, as those have not that would convert number by number; for a count of 0 that
// is all.
bool wnn_cpu_halves(enum halves function, const uint16_t *x, const uint16_t *y, uint16_t *out, size_t count,
                    float alpha, float beta, bool stream);

#endif
