// SPDX-License-Identifier: Apache-2.0
//
// The functions of cpu/simd/vmath.h against the C library's in double, over all exponents of float32: their
// errors are within what the header says, NaN and infinities are as there, and a result depends neither on
// its place nor on whether it is written where its argument was. --all: over one in 251 of all float32, or
// with WNN_LONG=1 in the environment over all.
#include "conformance/unit/float_bits.h"
#include "conformance/unit/require.h"
#include "cpu/simd/non_temporal.h"
#include "cpu/simd/vmath.h"
#include "lib/half.h"

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
    {"gelu", VMATH_GELU, gelu, 4},
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

// Whether all of COUNT numbers are right; the case has failed if not. `worst` grows to their greatest error.
static bool compute_right(const struct function *f, const float *x, double *worst)
{
    static float y[COUNT];
    wnn_vmath(f->function, x, y, COUNT, 1);
    for (size_t i = 0; i < COUNT; i++) {
        if (!is_right(f, x[i], y[i])) {
            fprintf(stderr, "%s(%.9g) is %.9g; expected %.9g\n", f->name, (double)x[i], (double)y[i],
                    f->exact((double)x[i]));
            case_fail();
            return false;
        }
        double error = error_of(y[i], f->exact((double)x[i])) / 2;
        *worst = isfinite(error) && error > *worst ? error : *worst;
    }
    return true;
}

static void test_error(const struct function *f)
{
    static float x[COUNT];
    double worst = 0;
    for (uint32_t seed = 1; seed <= 8; seed++) {
        fill(x, seed);
        if (!compute_right(f, x, &worst))
            return;
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

// What is stored past the caches is the same, wherever it begins.
static void test_stream(const struct function *f)
{
    static float x[COUNT], y[COUNT];
    static _Alignas(64) float z[COUNT];
    fill(x, 7);
    wnn_vmath(f->function, x, y, COUNT, 1);
    for (size_t length = 0; length < 1500; length += 1 + length / 8) {
        size_t first = 37 * length % 311;
        memcpy(z, x, sizeof z);
        wnn_vmath_stream(f->function, x + first, z + first, length, 1);
        wnn_nt_fence();
        for (size_t i = 0; i < 2000; i++) {
            float want = i >= first && i < first + length ? y[i] : x[i];
            REQUIRE(isnan(want) ? isnan(z[i]) : bits_of(z[i]) == bits_of(want));
        }
    }
}

// Compilers choose which of two NaN the float32 loop of gelu takes the sign of.
static bool is_same_half(const struct function *f, uint16_t got, uint16_t expected)
{
    bool none = isnan(wnn_half_to_float(got)) && isnan(wnn_half_to_float(expected));
    return got == expected || (f->function == VMATH_GELU && none);
}

// All numbers of float16, and parts of them wherever these lie: to the bit as in float32, rounded once more.
static void test_halves(const struct function *f, float alpha)
{
    enum {
        ALL = 65536,
        AROUND = 64
    };
    static _Alignas(64) uint16_t x[ALL], y[ALL], z[ALL];
    static float wide[ALL];
    for (uint32_t i = 0; i < ALL; i++)
        x[i] = (uint16_t)(i * 40503u);
    wnn_half_to_float_array(x, wide, ALL);
    wnn_vmath(f->function, wide, wide, ALL, alpha);
    wnn_half_from_float_array(wide, y, ALL);
    for (int stream = 0; stream < 2; stream++) {
        for (size_t length = 0; length <= ALL - AROUND; length += 1 + length / 6) {
            size_t first = 37 * length % AROUND;
            memset(z, 0xee, sizeof z);
            if (!wnn_vmath_halves(f->function, x + first, z + first, length, alpha, stream))
                return;
            wnn_nt_fence();
            for (size_t i = 0; i < ALL; i++)
                REQUIRE(is_same_half(f, z[i], i >= first && i < first + length ? y[i] : 0xeeee));
        }
    }
    memcpy(z, x, sizeof z);
    wnn_vmath_halves(f->function, z, z, ALL, alpha, false);
    for (size_t i = 0; i < ALL; i++)
        REQUIRE(is_same_half(f, z[i], y[i]));
}

// The same of a chain, whose sigmoid is rounded too.
static void test_silu(void)
{
    enum {
        ALL = 65536
    };
    static _Alignas(64) uint16_t x[ALL], y[ALL], z[ALL];
    static float wide[ALL], result[ALL];
    const struct vmath_chain packed = {.form = VMATH_CHAIN_SILU, .half = true, .packed = true};
    for (uint32_t i = 0; i < ALL; i++)
        x[i] = (uint16_t)i;
    wnn_half_to_float_array(x, wide, ALL);
    wnn_vmath(VMATH_SIGMOID, wide, result, ALL, 1);
    wnn_half_round_array(result, ALL);
    for (uint32_t i = 0; i < ALL; i++)
        result[i] *= wide[i];
    wnn_half_from_float_array(result, y, ALL);
    wnn_vmath_chain(&packed, x, NULL, z, ALL, false);
    for (size_t i = 0; i < ALL; i++)
        REQUIRE(z[i] == y[i] || (isnan(wnn_half_to_float(y[i])) && isnan(wnn_half_to_float(z[i]))));
}

// Where a formula gives way to another, and where results begin to be denormal, 0, 1 or infinity.
static void test_edges(const struct function *f)
{
    static const float at[] = {0,       0x1p-149f, 0x1p-126f, 0x1p-100f, 0x1p-24f, 0.0625f, 0.1875f, 1,
                               3,       3.93f,     3.9375f,   4,         7,        9,       10,      12,
                               12.9f,   13.25f,    14.2f,     14.5f,     20,       87,      87.33f,  88.73f,
                               88.376f, 103.2789f, 103.97f,   104,       104.9f,   105,     708,     0x1p20f,
                               0x1p22f, 0x1p126f,  INFINITY,  NAN};
    enum {
        AROUND = 64
    };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        float x[2 * AROUND], y[2 * AROUND];
        for (uint32_t j = 0; j < AROUND; j++) {
            uint32_t bits = bits_of(at[i]) + j - AROUND / 2;
            x[j] = float_of(bits & 0x7FFFFFFFu);
            x[AROUND + j] = float_of(bits | 0x80000000u);
        }
        wnn_vmath(f->function, x, y, 2 * AROUND, 1);
        for (size_t j = 0; j < 2 * AROUND; j++) {
            if (!is_right(f, x[j], y[j])) {
                fprintf(stderr, "%s(%.9g) is %.9g; expected %.9g\n", f->name, (double)x[j], (double)y[j],
                        f->exact((double)x[j]));
                case_fail();
                return;
            }
        }
    }
    float zero = -0.0f, y;
    wnn_vmath(f->function, &zero, &y, 1, 1);
    if (f->exact(0) == 0)
        REQUIRE(bits_of(y) == bits_of(-0.0f));
}

static void test_all(const struct function *f)
{
    static float x[COUNT];
    const uint64_t step = getenv("WNN_LONG") ? 1 : 251;
    double worst = 0;
    for (uint64_t first = 0; first >> 32 == 0; first += step * COUNT) {
        for (uint32_t i = 0; i < COUNT; i++)
            x[i] = float_of((uint32_t)(first + i * step));
        if (!compute_right(f, x, &worst))
            return;
    }
    printf("%-20s %.3f ULP\n", f->name, worst);
}

int main(int argc, char **argv)
{
    bool all = argc > 1 && strcmp(argv[1], "--all") == 0;
    cases_begin(argc - all, argv + all);
    for (unsigned i = 0; all && i < FUNCTIONS; i++)
        CASE_AS(case_name("all of %s", functions[i].name), test_all(&functions[i]));
    for (unsigned i = 0; !all && i < FUNCTIONS; i++) {
        CASE_AS(case_name("errors of %s", functions[i].name), test_error(&functions[i]));
        CASE_AS(case_name("edges of %s", functions[i].name), test_edges(&functions[i]));
        CASE_AS(case_name("places of %s", functions[i].name), test_places(&functions[i]));
        CASE_AS(case_name("stream of %s", functions[i].name), test_stream(&functions[i]));
        CASE_AS(case_name("float16 of %s", functions[i].name), test_halves(&functions[i], 1));
        if (functions[i].function == VMATH_ELU)
            CASE_AS("float16 of elu of other alphas",
                    (test_halves(&functions[i], 0.3f), test_halves(&functions[i], -7)));
    }
    if (!all)
        CASE_AS("float16 of a SiLU chain", test_silu());
    return cases_end();
}
