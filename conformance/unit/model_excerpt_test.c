// SPDX-License-Identifier: Apache-2.0
#include "tools/model/excerpt.h"

#include "conformance/unit/require.h"

#define SIZE 65536

static unsigned char file[SIZE];
static bool left_out[SIZE];

static unsigned random_below(unsigned *state, unsigned count)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % count;
}

static struct excerpt make(const size_t (*runs)[2], size_t count)
{
    struct byte_runs found = {0};
    struct excerpt excerpt;
    for (size_t i = 0; i < count; i++)
        wnn_add_run(&found, (struct bytes){file, SIZE}, (struct bytes){file + runs[i][0], runs[i][1]});
    REQUIRE(wnn_excerpt_make(&excerpt, (struct bytes){file, SIZE}, found));
    return excerpt;
}

// All that is within a run by whole multiples of 16 bytes, as far as it is worth it.
static void mark(const size_t (*runs)[2], size_t count)
{
    memset(left_out, 0, sizeof left_out);
    for (size_t i = 0; i < count; i++) {
        size_t begin = (runs[i][0] + 15) / 16 * 16, end = (runs[i][0] + runs[i][1]) / 16 * 16;
        if (runs[i][1] >= 256)
            memset(left_out + begin, 1, end - begin);
    }
}

static bool is_left(size_t at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (left_out[at + i])
            return false;
    return true;
}

// What is found is what the file has there, aligned as there; what is left out in part is not found.
static void any_runs(void)
{
    unsigned state = 1;
    for (int round = 0; round < 100; round++) {
        size_t runs[40][2], count = random_below(&state, 41), kept = 0;
        struct excerpt_piece last = {0, 0, NULL};
        for (size_t i = 0; i < count; i++) {
            runs[i][0] = random_below(&state, SIZE);
            runs[i][1] = random_below(&state, round % 2 ? 5000 : 600);
            if (runs[i][1] > SIZE - runs[i][0])
                runs[i][1] = SIZE - runs[i][0];
        }
        struct excerpt excerpt = make((const size_t(*)[2])runs, count);
        mark((const size_t(*)[2])runs, count);
        for (size_t i = 0; i < SIZE; i++)
            kept += !left_out[i];
        REQUIRE_EQUAL_INT(excerpt.left.size, kept);
        for (int i = 0; i < 2000; i++) {
            size_t size = 1 + random_below(&state, 40), at = random_below(&state, (unsigned)(SIZE - size));
            const unsigned char *found = wnn_excerpt_find(&excerpt, at, size, &last);
            REQUIRE_EQUAL_INT(found != NULL, is_left(at, size));
            REQUIRE(!found || (memcmp(found, file + at, size) == 0 && (uintptr_t)found % 16 == at % 16));
        }
        wnn_excerpt_free(&excerpt);
    }
}

static void edges(void)
{
    struct excerpt_piece last = {0, 0, NULL}, other = last;
    struct excerpt all = make((const size_t[][2]){{0, SIZE}, {16, 1024}}, 2);
    REQUIRE_EQUAL_INT(all.left.size, 0);
    REQUIRE(!wnn_excerpt_find(&all, 0, 1, &last) && !wnn_excerpt_find(&all, SIZE - 1, 1, &last));
    wnn_excerpt_free(&all);
    struct excerpt none = make(NULL, 0);
    REQUIRE_EQUAL_INT(none.left.size, SIZE);
    last = other;
    REQUIRE(wnn_excerpt_find(&none, 0, SIZE, &last) == none.left.data);
    REQUIRE(!wnn_excerpt_find(&none, 1, SIZE, &other) && !wnn_excerpt_find(&none, SIZE, 1, &other));
    REQUIRE(!wnn_excerpt_find(&none, 1, SIZE_MAX, &last));
    wnn_excerpt_free(&none);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    unsigned state = 7;
    for (size_t i = 0; i < SIZE; i++)
        file[i] = (unsigned char)random_below(&state, 256);
    CASE(any_runs());
    CASE(edges());
    return cases_end();
}
