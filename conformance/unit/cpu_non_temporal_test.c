// SPDX-License-Identifier: Apache-2.0
//
// Stores past the caches: every byte that is asked for and no other, from and to any address.
#include "conformance/unit/require.h"
#include "cpu/simd/non_temporal.h"

#include <string.h>

#define ROOM 512
static _Alignas(64) unsigned char from[ROOM], to[ROOM];

static void require_copied(size_t source, size_t target, size_t bytes)
{
    memset(to, 0xee, sizeof to);
    wnn_nt_store(to + target, from + source, bytes);
    wnn_nt_fence();
    for (size_t i = 0; i < ROOM; i++)
        REQUIRE(to[i] == (i < target || i >= target + bytes ? 0xee : from[source + i - target]));
}

static void require_filled(size_t size, size_t target, size_t bytes)
{
    memset(to, 0xee, sizeof to);
    wnn_nt_fill(to + target, from, size, bytes);
    wnn_nt_fence();
    for (size_t i = 0; i < ROOM; i++)
        REQUIRE(to[i] == (i < target || i >= target + bytes ? 0xee : from[(i - target) % size]));
}

static void test_copies(void)
{
    for (size_t target = 0; target < 130; target++)
        for (size_t bytes = 0; bytes < 260; bytes += bytes < 70 ? 1 : 13)
            require_copied(target * 5 % 67, target, bytes);
}

static void test_fills(size_t size)
{
    for (size_t target = 0; target < 130; target += size)
        for (size_t count = 0; count < 260 / size; count++)
            require_filled(size, target, count * size);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    for (size_t i = 0; i < ROOM; i++)
        from[i] = (unsigned char)(i * 7 % 238);
    CASE(test_copies());
    for (size_t size = 1; size <= 8; size *= 2)
        CASE_AS(case_name("fill with elements of %zu bytes", size), test_fills(size));
    return cases_end();
}
