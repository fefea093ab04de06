// SPDX-License-Identifier: Apache-2.0
//
// Sizes that are not known: whatever is certain of them holds for all values that names can have.

#include "lib/size.h"
#include "conformance/unit/require.h"

#include <math.h>

enum {
    NAMES = 4,
    EXPRESSIONS = 40,
    TRIALS = 3000
};

static uint64_t state;

static uint32_t below(uint32_t end)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(((state >> 33) * end) >> 31);
}

// Expressions of each other at random, with the values that they have.
struct trial {
    struct size_table sizes;
    uint32_t size[NAMES + EXPRESSIONS];
    int64_t value[NAMES + EXPRESSIONS];
    unsigned count;
};

static void add_names(struct trial *t)
{
    for (unsigned i = 0; i < NAMES; i++) {
        char name[2] = {(char)('a' + i), 0};
        uint32_t value = below(9), min = below(value + 1), max = value + below(5);
        REQUIRE(wnn_size_named(&t->sizes, (struct string){name, 1}, (struct bounds){min, max}, &t->size[i]));
        t->value[t->count++] = value;
    }
}

static void add_expression(struct trial *t)
{
    unsigned i = below(t->count), k = below(t->count);
    struct amount a = wnn_amount(&t->sizes, t->size[i]), b = wnn_amount(&t->sizes, t->size[k]), result;
    int64_t x = t->value[i], y = t->value[k], value, number = 1 + below(4), more = below(7);
    switch (below(8)) {
    case 0:
        result = wnn_amount_add(&t->sizes, a, b);
        value = x + y;
        break;
    case 1:
        result = wnn_amount_add(&t->sizes, a, wnn_amount_times(b, -1));
        value = x - y;
        break;
    case 2:
        result = wnn_amount_product(&t->sizes, a, b);
        value = x * y;
        break;
    case 3:
        result = wnn_amount_divide(&t->sizes, a, number);
        value = x / number;
        break;
    case 4:
        result = wnn_amount_add(&t->sizes, wnn_amount_times(a, number), wnn_amount_number(more));
        value = x * number + more;
        break;
    case 5:
        result = wnn_amount_scaled(&t->sizes, t->size[i], 0.75 * (double)number);
        value = (int64_t)floor((double)x * 0.75 * (double)number);
        break;
    case 6:
        result = wnn_amount_minimum(&t->sizes, a, b);
        value = x < y ? x : y;
        break;
    default:
        if (x != y && x != 1 && y != 1)
            return;
        struct shape one = {1, {t->size[i]}}, other = {1, {t->size[k]}}, both;
        REQUIRE(wnn_sizes_broadcast(&t->sizes, &one, &other, &both));
        result = wnn_amount(&t->sizes, both.dim[0]);
        value = x == 1 ? y : x;
    }
    if (value < 0 || value > 100000)
        return;
    struct bounds range = wnn_amount_range(&t->sizes, &result);
    REQUIRE(range.min <= value && value <= range.max);
    t->size[t->count] = wnn_amount_size(&t->sizes, &result);
    t->value[t->count++] = value;
}

static void check(struct trial *t)
{
    uint32_t values[512];
    REQUIRE(!t->sizes.exhausted && t->sizes.count <= 512);
    for (size_t i = 0; i < t->sizes.count; i++)
        values[i] = WNN_MAX_DIMENSION + 1u;
    for (unsigned i = 0; i < NAMES; i++)
        values[t->size[i] & ~WNN_SYMBOLIC] = (uint32_t)t->value[i];
    wnn_sizes_evaluate(&t->sizes, values);
    for (unsigned i = 0; i < t->count; i++) {
        struct bounds range = wnn_size_range(&t->sizes, t->size[i]);
        uint32_t value =
            wnn_size_is_symbolic(&t->sizes, t->size[i]) ? values[t->size[i] & ~WNN_SYMBOLIC] : t->size[i];
        REQUIRE(range.min <= t->value[i] && t->value[i] <= range.max);
        // What has no form, or has a part that is negative, is not computed; nothing is computed wrong.
        REQUIRE(value == t->value[i] || value > WNN_MAX_DIMENSION);
        for (unsigned k = 0; k < i; k++) {
            bool differ = wnn_sizes_differ(&t->sizes, t->size[i], t->size[k]);
            REQUIRE(!differ || t->value[i] != t->value[k]);
            REQUIRE(t->size[i] != t->size[k] || t->value[i] == t->value[k]);
        }
    }
}

static void test_random(void)
{
    struct allocator allocator;
    wnn_allocator_init(&allocator, NULL, 0);
    for (unsigned seed = 0; seed < TRIALS; seed++) {
        static struct trial t;
        t = (struct trial){.count = 0};
        state = seed;
        wnn_sizes_init(&t.sizes, &allocator);
        add_names(&t);
        for (unsigned i = 0; i < EXPRESSIONS; i++)
            add_expression(&t);
        check(&t);
        wnn_sizes_free(&t.sizes);
    }
}

static const char *text_of(const struct size_table *sizes, struct amount amount)
{
    static char buffer[WNN_SIZE_TEXT];
    return wnn_amount_text(sizes, &amount, buffer);
}

static void test_forms(void)
{
    struct allocator allocator;
    struct size_table sizes;
    uint32_t batch, past, other;
    wnn_allocator_init(&allocator, NULL, 0);
    wnn_sizes_init(&sizes, &allocator);
    REQUIRE(wnn_size_named(&sizes, STRING("batch"), (struct bounds){1, 8}, &batch));
    REQUIRE(wnn_size_named(&sizes, STRING("past"), (struct bounds){0, 2048}, &past));
    REQUIRE(wnn_size_named(&sizes, STRING("batch"), (struct bounds){2, 100}, &other));
    REQUIRE_EQUAL_INT(other, batch);
    REQUIRE_EQUAL_INT(wnn_size_range(&sizes, batch).min, 2);
    REQUIRE_EQUAL_INT(wnn_size_range(&sizes, batch).max, 8);
    REQUIRE(!wnn_size_named(&sizes, STRING("batch"), (struct bounds){9, 9}, &other));
    struct amount b = wnn_amount(&sizes, batch), p = wnn_amount(&sizes, past), next = p;
    next.constant++;
    REQUIRE_EQUAL_STR(text_of(&sizes, next), "past + 1");
    struct amount product = wnn_amount_product(&sizes, next, wnn_amount_times(b, 3));
    REQUIRE_EQUAL_STR(text_of(&sizes, product), "3 * batch + 3 * (batch * past)");
    // The same in another order, and what is left of it.
    struct amount again = wnn_amount_product(&sizes, wnn_amount_times(b, 3), next);
    REQUIRE_EQUAL_INT(wnn_amount_size(&sizes, &product), wnn_amount_size(&sizes, &again));
    REQUIRE_EQUAL_STR(text_of(&sizes, wnn_amount_divide(&sizes, product, 3)), "batch + (batch * past)");
    // The least of two, unless one is certainly less.
    struct amount least = wnn_amount_minimum(&sizes, p, b), same = wnn_amount_minimum(&sizes, b, p);
    REQUIRE_EQUAL_INT(wnn_amount_size(&sizes, &least), wnn_amount_size(&sizes, &same));
    REQUIRE_EQUAL_STR(text_of(&sizes, least), "(the least of batch and past)");
    REQUIRE_EQUAL_INT(wnn_amount_range(&sizes, &least).max, 8);
    REQUIRE_EQUAL_STR(text_of(&sizes, wnn_amount_minimum(&sizes, next, p)), "past");
    REQUIRE_EQUAL_STR(text_of(&sizes, wnn_amount_minimum(&sizes, wnn_amount_number(9), b)), "batch");
    // A size that comes of a stride of 2, and that it is certainly another.
    struct amount half = wnn_amount_divide(&sizes, next, 2);
    REQUIRE_EQUAL_STR(text_of(&sizes, half), "((past + 1) / 2)");
    uint32_t grown = wnn_amount_size(&sizes, &next);
    REQUIRE(wnn_sizes_differ(&sizes, grown, past));
    REQUIRE(!wnn_sizes_differ(&sizes, grown, batch));
    REQUIRE(wnn_sizes_differ(&sizes, batch, 1));
    REQUIRE(!wnn_sizes_differ(&sizes, batch, 5));
    // Equal sizes are one, also after what came later is forgotten.
    size_t count = sizes.count;
    struct amount more = wnn_amount_add(&sizes, product, wnn_amount_number(7));
    uint32_t size = wnn_amount_size(&sizes, &more);
    wnn_sizes_rewind(&sizes, count);
    REQUIRE(!wnn_size_is_symbolic(&sizes, size));
    REQUIRE_EQUAL_INT(wnn_amount_size(&sizes, &next), grown);
    REQUIRE_EQUAL_INT(wnn_amount_size(&sizes, &more), size);
    wnn_sizes_free(&sizes);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_forms());
    CASE(test_random());
    return cases_end();
}
