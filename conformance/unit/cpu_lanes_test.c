// SPDX-License-Identifier: Apache-2.0
//
// The vectors of each instruction set that the processor has, against plain arithmetic: conversions, parts of
// vectors, maxima with NaN, powers of two down to denormal results.
#include "conformance/unit/require.h"
#include "cpu/simd/lanes.h"
#include "cpu/simd/non_temporal.h"

#include <math.h>
#include <stdbool.h>

static bool same(float a, float b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

#define NEAR(a, b) REQUIRE(fabs((double)(a) - (double)(b)) <= 0x1p-22 * fabs((double)(b)))

#define DEFINE_TEST(set, TARGET)                                                                             \
    static TARGET void test_parts_##set(void)                                                                \
    {                                                                                                        \
        float from[LANES_MAX + 1], to[LANES_MAX + 1];                                                        \
        uint16_t halves[LANES_MAX + 1], back[LANES_MAX + 1];                                                 \
        for (int i = 0; i <= LANES_MAX; i++) {                                                               \
            from[i] = (float)i * 1.25f - 3;                                                                  \
            halves[i] = wnn_half_from_float(from[i]);                                                        \
        }                                                                                                    \
        for (size_t n = 0; n <= LANES_##set; n++) {                                                          \
            bool whole = n == LANES_##set;                                                                   \
            for (int i = 0; i <= LANES_MAX; i++) {                                                           \
                to[i] = 77;                                                                                  \
                back[i] = 77;                                                                                \
            }                                                                                                \
            vector_##set a = whole ? load_##set(from) : load_some_##set(from, n, 5);                         \
            vector_##set b = whole ? load_half_##set(halves) : load_some_half_##set(halves, n, 5);           \
            float lanes[2][LANES_##set];                                                                     \
            memcpy(lanes[0], &a, sizeof a);                                                                  \
            memcpy(lanes[1], &b, sizeof b);                                                                  \
            for (size_t i = 0; i < LANES_##set; i++) {                                                       \
                REQUIRE(same(lanes[0][i], i < n ? from[i] : 5));                                             \
                REQUIRE(same(lanes[1][i], i < n ? from[i] : 5));                                             \
            }                                                                                                \
            if (whole) {                                                                                     \
                store_##set(to, a);                                                                          \
                store_half_##set(back, b);                                                                   \
            } else {                                                                                         \
                store_some_##set(to, n, a);                                                                  \
                store_some_half_##set(back, n, b);                                                           \
            }                                                                                                \
            for (size_t i = 0; i <= LANES_MAX; i++) {                                                        \
                REQUIRE(same(to[i], i < n ? from[i] : 77));                                                  \
                REQUIRE_EQUAL_INT(back[i], i < n ? halves[i] : 77);                                          \
            }                                                                                                \
        }                                                                                                    \
        doubles_##set d = load_doubles_##set(from);                                                          \
        store_doubles_##set(to,                                                                              \
                            fma_doubles_##set(d, broadcast_double_##set(3), broadcast_double_##set(0.125))); \
        double sum = 0;                                                                                      \
        for (size_t i = 0; i < LANES_##set / 2; i++) {                                                       \
            sum += (double)from[i];                                                                          \
            REQUIRE(same(to[i], from[i] * 3 + 0.125f));                                                      \
        }                                                                                                    \
        REQUIRE(sum_doubles_##set(d) == sum);                                                                \
    }                                                                                                        \
    static TARGET void test_folds_##set(void)                                                                \
    {                                                                                                        \
        for (size_t at = 0; at < LANES_##set; at++) {                                                        \
            float from[LANES_##set], sum = 0;                                                                \
            for (size_t i = 0; i < LANES_##set; i++) {                                                       \
                from[i] = i == at ? 9 : (float)i - 20;                                                       \
                sum += from[i];                                                                              \
            }                                                                                                \
            vector_##set v = load_##set(from);                                                               \
            REQUIRE(max_lane_##set(v) == 9);                                                                 \
            REQUIRE(sum_##set(v) == sum);                                                                    \
            vector_##set all[LANES_##set];                                                                   \
            for (size_t i = 0; i < LANES_##set; i++)                                                         \
                all[i] = v * (float)(i + 1);                                                                 \
            float sums[LANES_##set];                                                                         \
            store_##set(sums, sum_each_##set(all));                                                          \
            for (size_t i = 0; i < LANES_##set; i++)                                                         \
                REQUIRE(sums[i] == sum * (float)(i + 1));                                                    \
            from[at] = NAN;                                                                                  \
            store_##set(from, max_##set(v, load_##set(from)));                                               \
            REQUIRE(from[at] == 9); /* a NaN is passed over */                                               \
            store_##set(from, max_##set(broadcast_##set(NAN), v));                                           \
            REQUIRE(isnan(from[at]));                                                                        \
        }                                                                                                    \
        for (int n = -250; n <= 128; n++) {                                                                  \
            float to[LANES_##set], p = 1.3125f;                                                              \
            store_##set(to, scale_by_pow2_##set(broadcast_##set(p), broadcast_##set((float)n)));             \
            for (size_t i = 0; i < LANES_##set; i++)                                                         \
                REQUIRE(n < 128 ? fabs((double)to[i] - ldexp((double)p, n)) <= 0x1p-149 : isinf(to[i]));     \
        }                                                                                                    \
        float line[LANES_##set], moved[LANES_##set];                                                         \
        for (size_t i = 0; i < LANES_##set; i++)                                                             \
            line[i] = (float)i + 1;                                                                          \
        for (size_t by = 1; by < LANES_##set; by *= 2) {                                                     \
            store_##set(moved, shifted_##set(load_##set(line), (int)by));                                    \
            for (size_t i = 0; i < LANES_##set; i++)                                                         \
                REQUIRE(moved[i] == (i < by ? 0 : line[i - by]));                                            \
        }                                                                                                    \
        for (size_t by = 1; by < LANES_##set / 2; by *= 2) {                                                 \
            store_doubles_##set(moved, shifted_doubles_##set(load_doubles_##set(line), (int)by));            \
            for (size_t i = 0; i < LANES_##set / 2; i++)                                                     \
                REQUIRE(moved[i] == (i < by ? 0 : line[i - by]));                                            \
        }                                                                                                    \
        store_##set(moved, turned_##set(load_##set(line)));                                                  \
        for (size_t i = 0; i < LANES_##set; i++)                                                             \
            REQUIRE(moved[i] == line[LANES_##set - 1 - i]);                                                  \
        store_doubles_##set(moved, turned_doubles_##set(load_doubles_##set(line)));                          \
        for (size_t i = 0; i < LANES_##set / 2; i++)                                                         \
            REQUIRE(moved[i] == line[LANES_##set / 2 - 1 - i]);                                              \
        store_doubles_##set(moved, last_doubles_##set(load_doubles_##set(line)));                            \
        REQUIRE(last_##set(load_##set(line)) == LANES_##set && moved[0] == LANES_##set / 2);                 \
        _Alignas(64) float streamed[LANES_##set + 1];                                                        \
        _Alignas(64) uint16_t halves[2 * LANES_##set + 1];                                                   \
        streamed[LANES_##set] = 77;                                                                          \
        halves[2 * LANES_##set] = 77;                                                                        \
        stream_##set(streamed, load_##set(line));                                                            \
        stream_halves_##set(halves, load_##set(line), turned_##set(load_##set(line)));                       \
        wnn_nt_fence();                                                                                      \
        for (size_t i = 0; i < LANES_##set; i++) {                                                           \
            REQUIRE(streamed[i] == line[i]);                                                                 \
            REQUIRE_EQUAL_INT(halves[i], wnn_half_from_float(line[i]));                                      \
            REQUIRE_EQUAL_INT(halves[LANES_##set + i], wnn_half_from_float(line[LANES_##set - 1 - i]));      \
        }                                                                                                    \
        REQUIRE(streamed[LANES_##set] == 77 && halves[2 * LANES_##set] == 77);                               \
        store_##set(moved, narrow_##set(load_doubles_##set(line), load_doubles_##set(line + 1)));            \
        for (size_t i = 0; i < LANES_##set; i++)                                                             \
            REQUIRE(moved[i] == line[i < LANES_##set / 2 ? i : i + 1 - LANES_##set / 2]);                    \
        for (size_t i = 0; i < LANES_##set; i++) {                                                           \
            float last = line[i];                                                                            \
            REQUIRE(any_within_##set(load_##set(line), last - 0.5f, last + 0.5f));                           \
            REQUIRE(!any_within_##set(load_##set(line), last, last + 1));                                    \
            REQUIRE(all_within_##set(load_##set(line), -1000, 1000));                                        \
            line[i] = 1000;                                                                                  \
            REQUIRE(!all_within_##set(load_##set(line), -1000, 1000));                                       \
            line[i] = NAN;                                                                                   \
            REQUIRE(!all_within_##set(load_##set(line), -1000, 1000));                                       \
            REQUIRE(!any_within_##set(load_##set(line), last - 0.5f, last + 0.5f));                          \
            line[i] = last;                                                                                  \
        }                                                                                                    \
        float product[LANES_##set];                                                                          \
        store_##set(product,                                                                                 \
                    fma_##set(broadcast_##set(1.1f), broadcast_##set(-2.3f), broadcast_##set(0.7f)));        \
        NEAR(product[0], 0.7f - 1.1f * 2.3f);                                                                \
    }

DEFINE_TEST(any, )
#if WNN_X86_64
DEFINE_TEST(avx2, WNN_TARGET_AVX2)
DEFINE_TEST(avx512, WNN_TARGET_AVX512)
#endif

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_parts_any());
    CASE(test_folds_any());
#if WNN_X86_64
    if (wnn_isa() >= WNN_ISA_AVX2) {
        CASE(test_parts_avx2());
        CASE(test_folds_avx2());
    }
    if (wnn_isa() == WNN_ISA_AVX512) {
        CASE(test_parts_avx512());
        CASE(test_folds_avx512());
    }
#endif
    return cases_end();
}
