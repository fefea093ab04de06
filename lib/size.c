// SPDX-License-Identifier: Apache-2.0
#include "lib/size.h"

#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide;

#define MOST        (INT64_MAX / 2 - 1) // sums of a few stay far from the end of 64 bits
#define MAX_FACTORS 16

static int64_t saturate(wide value)
{
    return value > MOST ? MOST : value < -MOST ? -MOST : (int64_t)value;
}

static struct size *item(const struct size_table *sizes, uint32_t size)
{
    return &sizes->items[size & ~WNN_SYMBOLIC];
}

bool wnn_shape_is_symbolic(const struct size_table *sizes, const struct shape *shape)
{
    for (unsigned i = 0; i < shape->rank; i++)
        if (wnn_size_is_symbolic(sizes, shape->dim[i]))
            return true;
    return false;
}

// ---------------------------------------------------------------------------------------------------------------
// The table
// ---------------------------------------------------------------------------------------------------------------

void wnn_sizes_init(struct size_table *sizes, struct allocator *allocator)
{
    *sizes = (struct size_table){.items = NULL};
    wnn_arena_init(&sizes->arena, allocator);
}

void wnn_sizes_free(struct size_table *sizes)
{
    wnn_arena_free(&sizes->arena);
}

static uint32_t mix(uint32_t hash, uint64_t value)
{
    return (uint32_t)(((hash ^ value) * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static uint32_t hash_of(const struct size *size)
{
    uint32_t hash = mix(0, (uint64_t)size->kind);
    if (size->kind == SIZE_NAME) {
        for (size_t i = 0; i < size->name.length; i++)
            hash = mix(hash, (unsigned char)size->name.data[i]);
    } else if (size->kind == SIZE_LINEAR) {
        hash = mix(hash, (uint64_t)size->amount->constant);
        for (unsigned i = 0; i < size->amount->count; i++)
            hash = mix(mix(hash, size->amount->terms[i].size), (uint64_t)size->amount->terms[i].factor);
    } else {
        uint64_t scale;
        memcpy(&scale, &size->scale, sizeof scale);
        hash = mix(mix(mix(hash, size->a), size->b), scale);
    }
    return hash % WNN_SIZE_BUCKETS;
}

static bool amounts_equal(const struct amount *a, const struct amount *b)
{
    if (a->constant != b->constant || a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        if (a->terms[i].size != b->terms[i].size || a->terms[i].factor != b->terms[i].factor)
            return false;
    return true;
}

static bool same(const struct size *a, const struct size *b)
{
    if (a->kind != b->kind || a->kind == SIZE_UNKNOWN)
        return false;
    if (a->kind == SIZE_NAME)
        return a->name.length > 0 && wnn_string_equal(a->name, b->name);
    if (a->kind == SIZE_LINEAR)
        return amounts_equal(a->amount, b->amount);
    return a->a == b->a && a->b == b->b && a->scale == b->scale;
}

// The number of an expression, which is added if it is not there.
static uint32_t intern(struct size_table *sizes, const struct size *wanted)
{
    if (!sizes->buckets)
        sizes->buckets = wnn_arena_allocate(&sizes->arena, WNN_SIZE_BUCKETS * sizeof sizes->buckets[0]);
    if (sizes->exhausted || !sizes->buckets)
        goto exhausted;
    uint32_t *bucket = &sizes->buckets[hash_of(wanted)];
    for (uint32_t i = *bucket; i; i = sizes->items[i - 1].next)
        if (same(&sizes->items[i - 1], wanted))
            return WNN_SYMBOLIC | (i - 1);
    if (sizes->count == WNN_MAX_SIZES)
        goto exhausted;
    struct size *items =
        wnn_arena_grow(&sizes->arena, sizes->items, sizes->count, &sizes->capacity, sizeof *items);
    if (!items)
        goto exhausted;
    sizes->items = items;
    struct size *added = &items[sizes->count];
    *added = *wanted;
    if (wanted->kind == SIZE_NAME)
        added->name = wnn_string_copy(&sizes->arena, wanted->name);
    if (wanted->kind == SIZE_LINEAR)
        added->amount = wnn_arena_copy(&sizes->arena, wanted->amount, sizeof *wanted->amount);
    if ((wanted->kind == SIZE_NAME && !added->name.data) || (wanted->kind == SIZE_LINEAR && !added->amount))
        goto exhausted;
    added->next = *bucket;
    *bucket = (uint32_t)++sizes->count;
    return WNN_SYMBOLIC | (uint32_t)(sizes->count - 1);
exhausted:
    sizes->exhausted = true;
    return 0;
}

void wnn_sizes_rewind(struct size_table *sizes, size_t count)
{
    while (sizes->count > count) {
        const struct size *last = &sizes->items[--sizes->count];
        sizes->buckets[hash_of(last)] = last->next;
    }
    sizes->exhausted = false;
}

bool wnn_sizes_copy(const struct size_table *from, struct size_table *to)
{
    for (size_t i = 0; i < from->count; i++)
        if (intern(to, &from->items[i]) != (WNN_SYMBOLIC | (uint32_t)i))
            return false;
    return true;
}

bool wnn_size_named(struct size_table *sizes, struct string name, struct bounds range, uint32_t *size)
{
    const struct size wanted = {.kind = SIZE_NAME, .range = range, .name = name};
    *size = intern(sizes, &wanted);
    if (!*size)
        return true;
    struct bounds *known = &item(sizes, *size)->range;
    const struct bounds both = {known->min > range.min ? known->min : range.min,
                                known->max < range.max ? known->max : range.max};
    if (both.min > both.max)
        return false;
    *known = both;
    return true;
}

uint32_t wnn_size_unknown(struct size_table *sizes, struct bounds range)
{
    return intern(sizes, &(struct size){.kind = SIZE_UNKNOWN, .range = range});
}

struct bounds wnn_size_range(const struct size_table *sizes, uint32_t size)
{
    return wnn_size_is_symbolic(sizes, size) ? item(sizes, size)->range : (struct bounds){size, size};
}

// What an expression gives is a dimension, or the graph cannot run.
static struct bounds dimension_range(struct bounds range)
{
    range.min = range.min < 0 ? 0 : range.min > WNN_MAX_DIMENSION ? WNN_MAX_DIMENSION : range.min;
    range.max = range.max > WNN_MAX_DIMENSION ? WNN_MAX_DIMENSION
                : range.max < range.min       ? range.min
                                              : range.max;
    return range;
}

// ---------------------------------------------------------------------------------------------------------------
// Amounts
// ---------------------------------------------------------------------------------------------------------------

struct amount wnn_amount_number(int64_t number)
{
    return (struct amount){.constant = number};
}

static struct amount amount_of_term(uint32_t size, int64_t factor)
{
    return (struct amount){.count = 1, .terms = {{size, factor}}};
}

struct amount wnn_amount(const struct size_table *sizes, uint32_t size)
{
    if (!wnn_size_is_symbolic(sizes, size))
        return wnn_amount_number(size);
    const struct size *of = item(sizes, size);
    return of->kind == SIZE_LINEAR ? *of->amount : amount_of_term(size, 1);
}

struct bounds wnn_amount_range(const struct size_table *sizes, const struct amount *a)
{
    wide min = a->constant, max = a->constant;
    for (unsigned i = 0; i < a->count; i++) {
        struct bounds range = wnn_size_range(sizes, a->terms[i].size);
        wide low = (wide)a->terms[i].factor * range.min, high = (wide)a->terms[i].factor * range.max;
        min += low < high ? low : high;
        max += low < high ? high : low;
    }
    return (struct bounds){saturate(min), saturate(max)};
}

uint32_t wnn_amount_size(struct size_table *sizes, const struct amount *a)
{
    struct bounds range = dimension_range(wnn_amount_range(sizes, a));
    if (a->count == 0)
        return (uint32_t)range.min;
    if (a->count == 1 && a->constant == 0 && a->terms[0].factor == 1)
        return a->terms[0].size;
    return intern(sizes, &(struct size){.kind = SIZE_LINEAR, .range = range, .amount = a});
}

struct amount wnn_amount_times(struct amount a, int64_t factor)
{
    if (factor == 0)
        return wnn_amount_number(0);
    a.constant = saturate((wide)a.constant * factor);
    for (unsigned i = 0; i < a.count; i++)
        a.terms[i].factor = saturate((wide)a.terms[i].factor * factor);
    return a;
}

// Makes one term of all: where there are too many, for what has no other form.
static struct amount collapse(struct size_table *sizes, const struct amount *a)
{
    struct amount terms = *a;
    terms.constant = 0;
    struct bounds range = wnn_amount_range(sizes, &terms);
    uint32_t size = wnn_size_unknown(sizes, range);
    struct amount one = amount_of_term(size, 1);
    one.constant = a->constant;
    return one;
}

struct amount wnn_amount_add(struct size_table *sizes, struct amount a, struct amount b)
{
    struct amount sum = {.constant = saturate((wide)a.constant + b.constant)};
    unsigned i = 0, k = 0;
    while (i < a.count || k < b.count) {
        bool from_a = k == b.count || (i < a.count && a.terms[i].size <= b.terms[k].size),
             from_b = i == a.count || (k < b.count && b.terms[k].size <= a.terms[i].size);
        struct amount_term term = {from_a ? a.terms[i].size : b.terms[k].size, 0};
        if (from_a)
            term.factor = a.terms[i++].factor;
        if (from_b)
            term.factor = saturate((wide)term.factor + b.terms[k++].factor);
        if (term.factor == 0)
            continue;
        if (sum.count == WNN_AMOUNT_TERMS)
            sum = collapse(sizes, &sum);
        sum.terms[sum.count++] = term;
    }
    return sum;
}

static struct bounds product_range(struct bounds x, struct bounds y)
{
    const wide ends[] = {(wide)x.min * y.min, (wide)x.min * y.max, (wide)x.max * y.min, (wide)x.max * y.max};
    wide min = ends[0], max = ends[0];
    for (unsigned i = 1; i < 4; i++) {
        min = ends[i] < min ? ends[i] : min;
        max = ends[i] > max ? ends[i] : max;
    }
    return (struct bounds){saturate(min), saturate(max)};
}

// Adds the factors of a size to those of a product; false: there are too many.
static bool add_factors(const struct size_table *sizes, uint32_t size, uint32_t *factors, unsigned *count)
{
    for (; item(sizes, size)->kind == SIZE_PRODUCT && *count < MAX_FACTORS; size = item(sizes, size)->a)
        factors[(*count)++] = item(sizes, size)->b;
    if (*count == MAX_FACTORS)
        return false;
    factors[(*count)++] = size;
    return true;
}

static uint32_t multiply(struct size_table *sizes, uint32_t a, uint32_t b)
{
    struct bounds x = wnn_size_range(sizes, a), y = wnn_size_range(sizes, b);
    return intern(sizes, &(struct size){.kind = SIZE_PRODUCT, .range = product_range(x, y), .a = a, .b = b});
}

// With the factors in the order of their numbers, as long as they are not too many for that.
static uint32_t multiply_sizes(struct size_table *sizes, uint32_t a, uint32_t b)
{
    uint32_t factors[MAX_FACTORS];
    unsigned count = 0;
    if (!add_factors(sizes, a, factors, &count) || !add_factors(sizes, b, factors, &count))
        return multiply(sizes, a, b);
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = i; k > 0 && factors[k - 1] > factors[k]; k--) {
            uint32_t factor = factors[k];
            factors[k] = factors[k - 1];
            factors[k - 1] = factor;
        }
    uint32_t product = factors[0];
    for (unsigned i = 1; i < count && product; i++)
        product = multiply(sizes, product, factors[i]);
    return product;
}

struct amount wnn_amount_product(struct size_table *sizes, struct amount a, struct amount b)
{
    struct amount sum = wnn_amount_times(a, b.constant);
    b.constant = 0;
    for (unsigned k = 0; k < b.count; k++) {
        sum = wnn_amount_add(
            sizes, sum, wnn_amount_times(amount_of_term(b.terms[k].size, b.terms[k].factor), a.constant));
        for (unsigned i = 0; i < a.count; i++) {
            uint32_t product = multiply_sizes(sizes, a.terms[i].size, b.terms[k].size);
            if (!product)
                return wnn_amount_number(0);
            struct amount term =
                wnn_amount_times(amount_of_term(product, a.terms[i].factor), b.terms[k].factor);
            sum = wnn_amount_add(sizes, sum, term);
        }
    }
    return sum;
}

static int64_t floor_divide(int64_t a, int64_t divisor)
{
    return a / divisor - (a % divisor < 0);
}

struct amount wnn_amount_divide(struct size_table *sizes, struct amount a, int64_t divisor)
{
    bool divides = true;
    for (unsigned i = 0; i < a.count; i++)
        divides &= a.terms[i].factor % divisor == 0;
    if (divides) {
        a.constant = floor_divide(a.constant, divisor);
        for (unsigned i = 0; i < a.count; i++)
            a.terms[i].factor /= divisor;
        return a;
    }
    // A whole number of divisors comes out, so that a size stands above the line.
    int64_t whole = floor_divide(a.constant, divisor);
    a.constant -= whole * divisor;
    struct bounds range = wnn_amount_range(sizes, &a);
    if (range.min < 0 && range.max - range.min < WNN_MAX_DIMENSION - divisor) { // no more than is needed
        int64_t more = -floor_divide(range.min, divisor);
        whole -= more;
        a.constant += more * divisor;
        range.min += more * divisor;
        range.max += more * divisor;
    }
    uint32_t above = wnn_amount_size(sizes, &a), size;
    if (range.min < 0 || divisor > WNN_MAX_DIMENSION)
        size =
            wnn_size_unknown(sizes, (struct bounds){floor_divide(range.min, divisor), range.max / divisor});
    else
        size = intern(sizes, &(struct size){.kind = SIZE_QUOTIENT,
                                            .range = {range.min / divisor, range.max / divisor},
                                            .a = above,
                                            .b = (uint32_t)divisor});
    struct amount quotient = size ? amount_of_term(size, 1) : wnn_amount_number(0);
    quotient.constant = whole;
    return quotient;
}

struct amount wnn_amount_elements(struct size_table *sizes, const struct shape *shape)
{
    struct amount elements = wnn_amount_number(1);
    for (unsigned i = 0; i < shape->rank; i++)
        elements = wnn_amount_product(sizes, elements, wnn_amount(sizes, shape->dim[i]));
    return elements;
}

struct amount wnn_amount_minimum(struct size_table *sizes, struct amount a, struct amount b)
{
    struct amount rest = wnn_amount_add(sizes, a, wnn_amount_times(b, -1));
    struct bounds range = wnn_amount_range(sizes, &rest);
    if (range.max <= 0 || range.min >= 0)
        return range.max <= 0 ? a : b;
    uint32_t x = wnn_amount_size(sizes, &a), y = wnn_amount_size(sizes, &b);
    struct bounds p = wnn_size_range(sizes, x), q = wnn_size_range(sizes, y);
    uint32_t size =
        intern(sizes, &(struct size){.kind = SIZE_MINIMUM,
                                     .range = {p.min < q.min ? p.min : q.min, p.max < q.max ? p.max : q.max},
                                     .a = x < y ? x : y,
                                     .b = x < y ? y : x});
    return size ? amount_of_term(size, 1) : wnn_amount_number(0);
}

struct amount wnn_amount_scaled(struct size_table *sizes, uint32_t size, double scale)
{
    if (!wnn_size_is_symbolic(sizes, size)) {
        double exact = floor((double)size * scale);
        return wnn_amount_number(exact < (double)MOST ? (int64_t)exact : MOST);
    }
    struct bounds range = wnn_size_range(sizes, size);
    double low = floor((double)range.min * scale), high = floor((double)range.max * scale);
    uint32_t scaled = intern(sizes, &(struct size){.kind = SIZE_SCALED,
                                                   .range = {low < (double)MOST ? (int64_t)low : MOST,
                                                             high < (double)MOST ? (int64_t)high : MOST},
                                                   .a = size,
                                                   .scale = scale});
    return scaled ? amount_of_term(scaled, 1) : wnn_amount_number(0);
}

// ---------------------------------------------------------------------------------------------------------------
// What is certain
// ---------------------------------------------------------------------------------------------------------------

bool wnn_amounts_differ(struct size_table *sizes, const struct amount *a, const struct amount *b)
{
    struct amount rest = wnn_amount_add(sizes, *a, wnn_amount_times(*b, -1));
    struct bounds range = wnn_amount_range(sizes, &rest);
    return range.min > 0 || range.max < 0;
}

bool wnn_sizes_differ(const struct size_table *sizes, uint32_t a, uint32_t b)
{
    if (a == b || (!wnn_size_is_symbolic(sizes, a) && !wnn_size_is_symbolic(sizes, b)))
        return a != b;
    struct amount x = wnn_amount(sizes, a), y = wnn_amount(sizes, b);
    if (x.count + y.count <= WNN_AMOUNT_TERMS) // so that nothing is added to the table
        return wnn_amounts_differ((struct size_table *)(uintptr_t)sizes, &x, &y);
    struct bounds p = wnn_size_range(sizes, a), q = wnn_size_range(sizes, b);
    return p.max < q.min || q.max < p.min;
}

bool wnn_shapes_differ(const struct size_table *sizes, const struct shape *a, const struct shape *b)
{
    if (a->rank != b->rank)
        return true;
    for (unsigned i = 0; i < a->rank; i++)
        if (wnn_sizes_differ(sizes, a->dim[i], b->dim[i]))
            return true;
    return false;
}

bool wnn_amount_indivisible(const struct amount *a, int64_t divisor)
{
    for (unsigned i = 0; i < a->count; i++)
        if (a->terms[i].factor % divisor)
            return false;
    return a->constant % divisor != 0;
}

uint32_t wnn_size_meet(const struct size_table *sizes, uint32_t a, uint32_t b)
{
    struct bounds x = wnn_size_range(sizes, a), y = wnn_size_range(sizes, b);
    return y.max - y.min < x.max - x.min ? b : a;
}

static bool can_be_one(const struct size_table *sizes, uint32_t size)
{
    return !wnn_sizes_differ(sizes, size, 1);
}

// The size of two that are broadcast together; false: they cannot be.
static bool broadcast(struct size_table *sizes, uint32_t a, uint32_t b, uint32_t *result)
{
    bool one_a = can_be_one(sizes, a), one_b = can_be_one(sizes, b);
    *result = a == 1 ? b : !one_a && !one_b ? wnn_size_meet(sizes, a, b) : !one_b ? b : a;
    if (a == b || a == 1 || b == 1 || !one_a || !one_b)
        return one_a || one_b || !wnn_sizes_differ(sizes, a, b);
    struct bounds x = wnn_size_range(sizes, a), y = wnn_size_range(sizes, b);
    *result =
        intern(sizes, &(struct size){.kind = SIZE_BROADCAST,
                                     .range = {x.min < y.min ? x.min : y.min, x.max > y.max ? x.max : y.max},
                                     .a = a < b ? a : b,
                                     .b = a < b ? b : a});
    return true;
}

bool wnn_sizes_broadcast(struct size_table *sizes, const struct shape *a, const struct shape *b,
                         struct shape *result)
{
    const struct shape *longer = a->rank >= b->rank ? a : b, *shorter = a->rank >= b->rank ? b : a;
    struct shape broadcasted = *longer;
    unsigned skipped = longer->rank - shorter->rank;
    for (unsigned i = 0; i < shorter->rank; i++)
        if (!broadcast(sizes, longer->dim[skipped + i], shorter->dim[i], &broadcasted.dim[skipped + i]))
            return false;
    *result = broadcasted;
    return true;
}

bool wnn_sizes_broadcast_to(const struct size_table *sizes, const struct shape *from, const struct shape *to)
{
    if (from->rank > to->rank)
        return false;
    for (unsigned i = 0; i < from->rank; i++) {
        uint32_t size = from->dim[i];
        if (!can_be_one(sizes, size) && wnn_sizes_differ(sizes, size, to->dim[to->rank - from->rank + i]))
            return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Values and text
// ---------------------------------------------------------------------------------------------------------------

static wide evaluate(const struct size_table *sizes, const struct size *size, const uint32_t *values)
{
    uint32_t a = wnn_size_value(sizes, size->a, values), b = wnn_size_value(sizes, size->b, values);
    wide sum;
    if (a > WNN_MAX_DIMENSION || b > WNN_MAX_DIMENSION)
        return -1;
    switch (size->kind) {
    case SIZE_LINEAR:
        sum = size->amount->constant;
        for (unsigned i = 0; i < size->amount->count; i++) {
            const struct amount_term *term = &size->amount->terms[i];
            uint32_t value = wnn_size_value(sizes, term->size, values);
            if (value > WNN_MAX_DIMENSION)
                return -1;
            sum += (wide)term->factor * value;
        }
        return sum;
    case SIZE_PRODUCT:
        return (wide)a * b;
    case SIZE_QUOTIENT:
        return b ? (wide)(a / b) : -1;
    case SIZE_SCALED:
        return saturate((wide)floor((double)a * size->scale));
    case SIZE_MINIMUM:
        return a < b ? a : b;
    default:
        return a == 1 ? b : a;
    }
}

void wnn_sizes_evaluate(const struct size_table *sizes, uint32_t *values)
{
    for (size_t i = 0; i < sizes->count; i++) {
        const struct size *size = &sizes->items[i];
        if (size->kind == SIZE_NAME || size->kind == SIZE_UNKNOWN)
            continue;
        wide value = evaluate(sizes, size, values);
        values[i] = value < 0 || value > WNN_MAX_DIMENSION ? WNN_MAX_DIMENSION + 1u : (uint32_t)value;
    }
}

#define MAX_DEPTH 32 // of sizes that are settled at once

static void settle(const struct size_table *sizes, uint32_t size, uint32_t *values, unsigned depth)
{
    if (!wnn_size_is_symbolic(sizes, size) || values[size & ~WNN_SYMBOLIC] <= WNN_MAX_DIMENSION || depth == 0)
        return;
    const struct size *of = item(sizes, size);
    if (of->kind == SIZE_NAME || of->kind == SIZE_UNKNOWN)
        return;
    settle(sizes, of->a, values, depth - 1);
    if (of->kind != SIZE_SCALED)
        settle(sizes, of->b, values, depth - 1);
    for (unsigned i = 0; of->kind == SIZE_LINEAR && i < of->amount->count; i++)
        settle(sizes, of->amount->terms[i].size, values, depth - 1);
    wide value = evaluate(sizes, of, values);
    values[size & ~WNN_SYMBOLIC] =
        value < 0 || value > WNN_MAX_DIMENSION ? WNN_MAX_DIMENSION + 1u : (uint32_t)value;
}

void wnn_size_settle(const struct size_table *sizes, uint32_t size, uint32_t *values)
{
    settle(sizes, size, values, MAX_DEPTH);
}

void wnn_size_learn(const struct size_table *sizes, uint32_t size, uint32_t value, uint32_t *values)
{
    if (!wnn_size_is_symbolic(sizes, size) || values[size & ~WNN_SYMBOLIC] <= WNN_MAX_DIMENSION)
        return;
    values[size & ~WNN_SYMBOLIC] = value;
    const struct size *of = item(sizes, size);
    if (of->kind != SIZE_LINEAR)
        return;
    const struct amount_term *unknown = NULL;
    wide rest = (wide)value - of->amount->constant;
    for (unsigned i = 0; i < of->amount->count; i++) {
        const struct amount_term *term = &of->amount->terms[i];
        wnn_size_settle(sizes, term->size, values);
        uint32_t of_term = values[term->size & ~WNN_SYMBOLIC];
        if (of_term <= WNN_MAX_DIMENSION)
            rest -= (wide)of_term * term->factor;
        else if (unknown)
            return;
        else
            unknown = term;
    }
    if (unknown && rest % unknown->factor == 0 && rest / unknown->factor >= 0 &&
        rest / unknown->factor <= WNN_MAX_DIMENSION)
        values[unknown->size & ~WNN_SYMBOLIC] = (uint32_t)(rest / unknown->factor);
}

static void add_size(const struct size_table *sizes, uint32_t size, struct text *text, unsigned depth);

static void add_amount(const struct size_table *sizes, const struct amount *a, struct text *text,
                       unsigned depth)
{
    for (unsigned i = 0; i < a->count; i++) {
        int64_t factor = a->terms[i].factor, magnitude = factor < 0 ? -factor : factor;
        wnn_text_add(text, "%s", i ? (factor < 0 ? " - " : " + ") : factor < 0 ? "-" : "");
        if (magnitude != 1)
            wnn_text_add(text, "%lld * ", (long long)magnitude);
        add_size(sizes, a->terms[i].size, text, depth + 1);
    }
    if (a->count == 0)
        wnn_text_add(text, "%lld", (long long)a->constant);
    else if (a->constant)
        wnn_text_add(text, " %c %lld", a->constant < 0 ? '-' : '+',
                     (long long)(a->constant < 0 ? -a->constant : a->constant));
}

static void add_size(const struct size_table *sizes, uint32_t size, struct text *text, unsigned depth)
{
    if (!wnn_size_is_symbolic(sizes, size)) {
        wnn_text_add(text, "%u", size);
        return;
    }
    const struct size *of = item(sizes, size);
    bool nested = depth > 0 && of->kind != SIZE_NAME;
    if (of->kind == SIZE_UNKNOWN || (of->kind == SIZE_NAME && of->name.length == 0) || depth > 4) {
        wnn_text_add(text, "?");
        return;
    }
    wnn_text_add(text, "%s", nested ? "(" : "");
    if (of->kind == SIZE_NAME) {
        wnn_text_add_quoted(text, of->name, 40);
    } else if (of->kind == SIZE_LINEAR) {
        add_amount(sizes, of->amount, text, depth);
    } else {
        wnn_text_add(text, "%s", of->kind == SIZE_MINIMUM ? "the least of " : "");
        add_size(sizes, of->a, text, depth + 1);
        if (of->kind == SIZE_SCALED) {
            wnn_text_add(text, " * %g", of->scale);
        } else {
            wnn_text_add(text, "%s",
                         of->kind == SIZE_PRODUCT    ? " * "
                         : of->kind == SIZE_QUOTIENT ? " / "
                         : of->kind == SIZE_MINIMUM  ? " and "
                                                     : " or ");
            add_size(sizes, of->b, text, depth + 1);
        }
    }
    wnn_text_add(text, "%s", nested ? ")" : "");
}

const char *wnn_size_text(const struct size_table *sizes, uint32_t size, char buffer[WNN_SIZE_TEXT])
{
    struct text text = {buffer, WNN_SIZE_TEXT, 0};
    add_size(sizes, size, &text, 0);
    return buffer;
}

const char *wnn_amount_text(const struct size_table *sizes, const struct amount *a,
                            char buffer[WNN_SIZE_TEXT])
{
    struct text text = {buffer, WNN_SIZE_TEXT, 0};
    add_amount(sizes, a, &text, 0);
    return buffer;
}

const char *wnn_sizes_text(const struct size_table *sizes, const struct shape *shape,
                           char buffer[WNN_SIZES_TEXT])
{
    struct text text = {buffer, WNN_SIZES_TEXT, 0};
    for (unsigned i = 0; i < shape->rank && i < WNN_MAX_RANK; i++) {
        wnn_text_add(&text, "%s", i ? ", " : "[");
        add_size(sizes, shape->dim[i], &text, 0);
    }
    wnn_text_add(&text, "%s", shape->rank ? "]" : "[]");
    return buffer;
}
