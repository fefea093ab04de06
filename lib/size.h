// SPDX-License-Identifier: Apache-2.0
//
// Sizes that may not be known while a graph is recorded. A dimension above WNN_MAX_DIMENSION is the number of
// an expression in the graph's table: a name with bounds, or what inference computes of others. Equal numbers
// are equal sizes; of two others it may be certain that they differ, or not. Recording refuses what is
// certainly wrong. What may be wrong is found by inference again, when names have values (ops/bind.h): the
// same functions serve both, and nothing is left to what is only likely.

#ifndef LIB_SIZE_H_
#define LIB_SIZE_H_

#include "lib/arena.h"
#include "lib/shape.h"
#include "lib/text.h"

#define WNN_SYMBOLIC 0x80000000u // of a dimension: the rest is an index of the table

enum size_kind {
    SIZE_NAME,      // given by the program
    SIZE_LINEAR,    // an amount: a constant and multiples of others
    SIZE_PRODUCT,   // a * b
    SIZE_QUOTIENT,  // a / b, rounded down
    SIZE_SCALED,    // a * scale, rounded down
    SIZE_BROADCAST, // a, or b where a is 1
    SIZE_MINIMUM,   // the least of a and b
    SIZE_UNKNOWN,   // computed by an operator from values
};

#define WNN_AMOUNT_TERMS 6

// A whole number: constant + the sum of factor * size. The sizes are in the order of their numbers, none is
// SIZE_LINEAR, and no factor is 0. Arithmetic saturates near INT64_MAX / 2.
struct amount {
    int64_t constant;
    unsigned count;
    struct amount_term {
        uint32_t size;
        int64_t factor;
    } terms[WNN_AMOUNT_TERMS];
};

struct bounds {
    int64_t min, max;
};

struct size {
    enum size_kind kind;
    struct bounds range;
    struct string name; // SIZE_NAME
    uint32_t a, b;      // sizes
    double scale;
    const struct amount *amount; // SIZE_LINEAR
    uint32_t next;               // of the same hash: 1 + an index, or 0
};

#define WNN_MAX_SIZES    65536
#define WNN_SIZE_BUCKETS 1024

struct size_table {
    struct arena arena; // of everything
    struct size *items;
    size_t count, capacity;
    uint32_t *buckets; // NULL: none yet
    bool exhausted;    // memory or numbers ran out: what was computed since means nothing
};

// Whether a number stands for an expression of the table, which may be NULL. All others are what they are.
static inline bool wnn_size_is_symbolic(const struct size_table *sizes, uint32_t size)
{
    return size & WNN_SYMBOLIC && sizes && (size & ~WNN_SYMBOLIC) < sizes->count;
}

bool wnn_shape_is_symbolic(const struct size_table *sizes, const struct shape *shape);

void wnn_sizes_init(struct size_table *sizes, struct allocator *allocator); // no memory is taken
void wnn_sizes_free(struct size_table *sizes);
bool wnn_sizes_copy(const struct size_table *from,
                    struct size_table *to);                    // `to` is initialized; false: no memory
void wnn_sizes_rewind(struct size_table *sizes, size_t count); // forgets what came after so many

// The size of that name, if need be a new one; always a new one of the empty name. Bounds of a name that
// exists are intersected with those given; false: they exclude each other. `size` is 0 when memory runs out.
bool wnn_size_named(struct size_table *sizes, struct string name, struct bounds range, uint32_t *size);
// A size that only an execution can tell.
uint32_t wnn_size_unknown(struct size_table *sizes, struct bounds range);

struct bounds wnn_size_range(const struct size_table *sizes, uint32_t size);

// What is certain. Of numbers each question has an answer.
bool wnn_sizes_differ(const struct size_table *sizes, uint32_t a, uint32_t b);
bool wnn_shapes_differ(const struct size_table *sizes, const struct shape *a, const struct shape *b);

// Of two that do not differ the one of which more is known.
uint32_t wnn_size_meet(const struct size_table *sizes, uint32_t a, uint32_t b);

// https://www.w3.org/TR/webnn/#bidirectionally-broadcast and #unidirectionally-broadcast: false if the shapes
// certainly do not go together.
bool wnn_sizes_broadcast(struct size_table *sizes, const struct shape *a, const struct shape *b,
                         struct shape *result);
bool wnn_sizes_broadcast_to(const struct size_table *sizes, const struct shape *from, const struct shape *to);

// ---------------------------------------------------------------------------------------------------------------
// Arithmetic
// ---------------------------------------------------------------------------------------------------------------

struct amount wnn_amount(const struct size_table *sizes, uint32_t size);
struct amount wnn_amount_number(int64_t number);
struct amount wnn_amount_add(struct size_table *sizes, struct amount a, struct amount b);
struct amount wnn_amount_times(struct amount a, int64_t factor);
struct amount wnn_amount_product(struct size_table *sizes, struct amount a, struct amount b);
// Rounded down; the divisor is 1 or more.
struct amount wnn_amount_divide(struct size_table *sizes, struct amount a, int64_t divisor);
struct amount wnn_amount_elements(struct size_table *sizes, const struct shape *shape);
struct amount wnn_amount_minimum(struct size_table *sizes, struct amount a, struct amount b);
struct amount wnn_amount_scaled(struct size_table *sizes, uint32_t size, double scale);

struct bounds wnn_amount_range(const struct size_table *sizes, const struct amount *a);
bool wnn_amounts_differ(struct size_table *sizes, const struct amount *a,
                        const struct amount *b);                      // certainly
bool wnn_amount_indivisible(const struct amount *a, int64_t divisor); // certainly

// The size that an amount is, which its range allows to be one.
uint32_t wnn_amount_size(struct size_table *sizes, const struct amount *a);

// ---------------------------------------------------------------------------------------------------------------
// Values and text
// ---------------------------------------------------------------------------------------------------------------

// Computes all sizes from those of the names, and of SIZE_UNKNOWN, that stand in `values` already (count
// numbers). Those that are negative or beyond WNN_MAX_DIMENSION become WNN_MAX_DIMENSION + 1, which no check
// lets pass.
void wnn_sizes_evaluate(const struct size_table *sizes, uint32_t *values);

// Computes one size, of those that were not known, after others that it depends on have become known.
void wnn_size_settle(const struct size_table *sizes, uint32_t size, uint32_t *values);

// Says what a size is that was not known, of an operator's result. Where it is a sum with one term that is
// not known, that is known too then.
void wnn_size_learn(const struct size_table *sizes, uint32_t size, uint32_t value, uint32_t *values);

// What a size is, given these values; of a number the number.
static inline uint32_t wnn_size_value(const struct size_table *sizes, uint32_t size, const uint32_t *values)
{
    return wnn_size_is_symbolic(sizes, size) ? values[size & ~WNN_SYMBOLIC] : size;
}

// "batch", "past + 1", "?". And of a shape: "[batch, 3]".
#define WNN_SIZE_TEXT  96
#define WNN_SIZES_TEXT 256
const char *wnn_size_text(const struct size_table *sizes, uint32_t size, char buffer[WNN_SIZE_TEXT]);
const char *wnn_amount_text(const struct size_table *sizes, const struct amount *a,
                            char buffer[WNN_SIZE_TEXT]);
const char *wnn_sizes_text(const struct size_table *sizes, const struct shape *shape,
                           char buffer[WNN_SIZES_TEXT]);

#endif
