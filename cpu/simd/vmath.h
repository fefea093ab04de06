// SPDX-License-Identifier: Apache-2.0
//
// Functions of float32 arrays that a processor has no instruction for, in vector code for the best
// instruction set it has. Unless another error is given, errors are below 0.6 ULP (2^-24 of the result),
// results that are denormal included, and NaN, infinities and zeros give what C's functions give. An
// element's result does not depend on its place in the array or on the array's length.

#ifndef CPU_VMATH_H_
#define CPU_VMATH_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vmath {
    VMATH_COS,
    VMATH_ELU, // x, or alpha * (exp(x) - 1) below 0, with an error below 2 ULP
    VMATH_ERF,
    VMATH_EXP,
    VMATH_GELU, // x * (1 + erf(x / sqrt(2))) / 2, with an error below 4 ULP
    VMATH_LOG,
    VMATH_SIGMOID, // with an error below 4 ULP
    VMATH_SIN,
    VMATH_SOFTPLUS,     // log(1 + exp(alpha * x)) / alpha
    VMATH_SOFTPLUS_ONE, // the same with an alpha of 1, and an error below 4 ULP
    VMATH_TAN,
    VMATH_TANH, // with an error below 4 ULP
    VMATH_COUNT
};

enum vmath_pair {
    VMATH_POW,
    VMATH_EXP_BELOW, // exp(a - b) for a <= b or NaN, with an error below 2 ULP
    VMATH_PAIR_COUNT
};

// y[i] = function of x[i]; y may be x. `alpha` is read where it is mentioned above.
void wnn_vmath(enum vmath function, const float *x, float *y, size_t count, float alpha);

// The same numbers, stored past the caches (cpu/simd/non_temporal.h): the caller ends that. y is not x.
void wnn_vmath_stream(enum vmath function, const float *x, float *y, size_t count, float alpha);

// The same of float16, rounded once more, in one loop; where `stream` says so past the caches, likewise, and
// else y may be x. Returns whether there is such a loop for this processor; for a count of 0 that is all.
bool wnn_vmath_halves(enum vmath function, const uint16_t *x, uint16_t *y, size_t count, float alpha,
                      bool stream);

// y[i] = function of a[i] and b[i]; y may be one of them.
void wnn_vmath_pair(enum vmath_pair function, const float *a, const float *b, float *y, size_t count);

// What several operators compute one after another, to the same bits as they do; of float16, which lies as
// float32, up to the last rounding.
enum vmath_chain_form {
    VMATH_CHAIN_SILU,         // a * sigmoid(a)
    VMATH_CHAIN_SILU_TIMES,   // the same times b
    VMATH_CHAIN_GELU_BY_TANH, // a * ((1 + tanh(outer * (a + cubic * a^3))) * early) * late
};

// cubic * a^3 as
enum vmath_cube {
    VMATH_CUBE_LAST,  // a * (a * a * cubic)
    VMATH_CUBE_FIRST, // a * a * a * cubic
    VMATH_CUBE_POWER, // a^3 * cubic, of which the power is rounded once
};

struct vmath_chain {
    enum vmath_chain_form form;
    enum vmath_cube cube;
    float cubic, outer, early, late; // early is a power of two
    bool half;
    bool packed; // float16 lies in memory as such, and is rounded at the end; not for GELU
};

// y may be a or b, unless the results are stored past the caches, in which case the caller ends that.
void wnn_vmath_chain(const struct vmath_chain *chain, const void *a, const void *b, void *y, size_t count,
                     bool stream);

// In place, and in double all the way, with a relative error below 2^-34: exp, sigmoid and tanh.
void wnn_vmath_doubles(enum vmath function, double *values, size_t count);

#endif
