// SPDX-License-Identifier: Apache-2.0
//
// The functions of cpu/simd/vmath.h against the C library's in double, over all exponents of float32: their
// errors are within what the header says, NaN and infinities are as there, and a result depends neither on
// its place nor on whether it is written where its argument was.
#include "conformance/unit/float_bits.h"
#include "conformance/unit/require.h"
#include "cpu/simd/vmath.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double gelu(double x)
{
    return isinf(x) && x < 0 ? 0 : x * erfc(-x * 0.70710678118654752440) / 2; // the limit
}

static double elu(double x)
{
    return x < 0 ? expm1(x) : x;
}

static double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static const struct function {
    const char *name;
    enum vmath function;
    double (*exact)(double x);
    double ulp; // that an error may have
} functions[] = {
    {"cos", VMATH_COS, cos, 0.6},
    {"elu", VMATH_ELU, elu, 2},
    {"erf", VMATH_ERF, erf, 0.6},
    {"exp", VMATH_EXP, exp, 0.6},
    {"gelu", VMATH_GELU, gelu, 8},
    {"log", VMATH_LOG, log, 0.6},
    {"sigmoid", VMATH_SIGMOID, sigmoid, 4},
    {"sin", VMATH_SIN, sin, 0.6},
    {"softplus", VMATH_SOFTPLUS, softplus, 0.6},
    {"softplus of alpha 1", VMATH_SOFTPLUS_ONE, softplus, 4},
    {"tan", VMATH_TAN, tan, 0.6},
    {"tanh", VMATH_TANH, tanh, 4},
};

enum {
    FUNCTIONS = sizeof functions / sizeof functions[0],
    COUNT = 512 * 64 // so many of each sign and exponent
};

// All signs and exponents, infinities, NaN and zeros among them.
static void fill(float *x, uint32_t seed)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = float_of(i % 512 << 23 | (i / 512 ? seed >> 9 : 0));
    }
}

// Units of 2^-24 of the exact result, of what is denormal at least 2^-149.
static double error_of(float y, double exact)
{
    double size = fabs(exact) < 0x1p-126 ? 0x1p-126 : fabs(exact);
    return fabs((double)y - exact) / (size * 0x1p-23) * 2;
}

static bool is_right(const struct function *f, float x, float y)
{
    double exact = f->exact((double)x);
    if (isnan(exact) || isnan(x))
        return isnan(y);
    if (isinf(exact) || isinf(y) || fabs(exact) > 0x1.fffffep127)
        return y == (float)exact || (isinf(y) && fabs(exact) > 0x1.fffffep127 * (1 - f->ulp * 0x1p-23));
    return error_of(y, exact) <= 2 * f->ulp;
}

static void test_error(const struct function *f)
{
    static float x[COUNT], y[COUNT];
    double worst = 0;
    for (uint32_t seed = 1; seed <= 8; seed++) {
        fill(x, seed);
        wnn_vmath(f->function, x, y, COUNT, 1);
        for (size_t i = 0; i < COUNT; i++) {
            if (!is_right(f, x[i], y[i])) {
                fprintf(stderr, "%s(%.9g) is %.9g; expected %.9g\n", f->name, (double)x[i], (double)y[i],
                        f->exact((double)x[i]));
                case_fail();
                return;
            }
            double error = error_of(y[i], f->exact((double)x[i])) / 2;
            worst = isfinite(error) && error > worst ? error : worst;
        }
    }
    printf("%-20s %.2f ULP\n", f->name, worst);
}

static void test_places(const struct function *f)
{
    static float x[COUNT], y[COUNT], z[COUNT];
    fill(x, 5);
    wnn_vmath(f->function, x, y, COUNT, 1);
    for (size_t length = 1; length < 200; length += 1 + length / 8) {
        size_t first = 37 * length % 311;
        memcpy(z, x, sizeof z);
        wnn_vmath(f->function, z + first, z + first, length, 1);
        for (size_t i = 0; i < 1000; i++) {
            bool within = i >= first && i < first + length;
            float want = within ? y[i] : x[i];
            REQUIRE(isnan(want) ? isnan(z[i]) : bits_of(z[i]) == bits_of(want));
        }
    }
}

static void test_silu(void)
{
    static float x[COUNT], s[COUNT], y[COUNT];
    fill(x, 9);
    wnn_vmath(VMATH_SIGMOID, x, s, COUNT, 1);
    wnn_vmath(VMATH_SILU, x, y, COUNT, 1);
    for (size_t i = 0; i < COUNT; i++) {
        float want = x[i] * s[i];
        REQUIRE(isnan(want) ? isnan(y[i]) : bits_of(y[i]) == bits_of(want));
    }
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        CASE_AS(case_name("errors of %s", functions[i].name), test_error(&functions[i]));
        CASE_AS(case_name("places of %s", functions[i].name), test_places(&functions[i]));
    }
    CASE(test_silu());
    return cases_end();
}
