// SPDX-License-Identifier: Apache-2.0
#include "tools/quantize_numbers.h"

#include "lib/half.h"
#include "tools/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 1024, // numbers that are read at a time
    INT8_MAX_STEP = 127,
    UINT4_MAX = 15
};

// The compiler reads weights as integers where no scale is smaller.
#define MIN_FLOAT32_SCALE 0x1p-100
#define MIN_FLOAT16_SCALE 0x1p-24 // the smallest number above 0

static void read_numbers(const struct numbers *numbers, size_t first, size_t count, float *to)
{
    if (numbers->type.type == WNNDataType_Float32) {
        memcpy(to, (const unsigned char *)numbers->data + first * sizeof *to, count * sizeof *to);
        return;
    }
    uint16_t halves[PIECE];
    memcpy(halves, (const unsigned char *)numbers->data + first * sizeof halves[0], count * sizeof halves[0]);
    wnn_half_to_float_array(halves, to, count);
}

double numbers_magnitude(const struct numbers *numbers)
{
    size_t elements = wnn_shape_elements(&numbers->type.shape);
    float piece[PIECE], most = 0;
    for (size_t at = 0, count; at < elements; at += count) {
        count = wnn_min(PIECE, elements - at);
        read_numbers(numbers, at, count, piece);
        for (size_t i = 0; i < count; i++) {
            float magnitude = fabsf(piece[i]);
            if (!(magnitude < INFINITY))
                return INFINITY;
            most = magnitude > most ? magnitude : most;
        }
    }
    return (double)most;
}

void *numbers_to_float16(const struct numbers *numbers)
{
    size_t elements = wnn_shape_elements(&numbers->type.shape);
    uint16_t *halves = must_allocate(elements * sizeof *halves);
    float piece[PIECE];
    for (size_t at = 0, count; at < elements; at += count) {
        count = wnn_min(PIECE, elements - at);
        read_numbers(numbers, at, count, piece);
        wnn_half_from_float_array(piece, halves + at, count);
    }
    return halves;
}

// ---------------------------------------------------------------------------------------------------------------
// Blocks
// ---------------------------------------------------------------------------------------------------------------

// What the numbers with one scale become: q = round(x / scale) + zero, from low to high.
struct block {
    float min, max; // of the numbers, and 0
    float scale, low, high, zero;
};

// Numbers that lie side by side in one row; `at` is the first. Number i is of block i / length from the
// first.
struct piece {
    float values[PIECE];
    size_t at, count, length;
    struct block *blocks;
};

// The block of the first element of a row.
static size_t first_block(const struct shape *shape, const struct shape *scale, size_t row)
{
    size_t block = 0, stride = scale->dim[shape->rank - 1];
    for (unsigned d = shape->rank - 1; d-- > 0;) {
        size_t index = row % shape->dim[d];
        row /= shape->dim[d];
        block += index / (shape->dim[d] / scale->dim[d]) * stride;
        stride *= scale->dim[d];
    }
    return block;
}

// Calls `visit` for all numbers, in order.
static void visit_pieces(const struct numbers *numbers, const struct shape *scale, struct block *blocks,
                         void (*visit)(const struct piece *piece, void *to), void *to)
{
    const struct shape *shape = &numbers->type.shape;
    size_t row_length = shape->dim[shape->rank - 1], rows = wnn_shape_elements(shape) / row_length;
    struct piece piece = {.length = row_length / scale->dim[shape->rank - 1]};
    // Whole blocks, or one part of a block after the other.
    size_t most = piece.length < PIECE ? PIECE / piece.length * piece.length : PIECE;
    for (size_t row = 0; row < rows; row++) {
        struct block *first = blocks + first_block(shape, scale, row);
        for (size_t i = 0, end; i < row_length; i = end) {
            size_t whole = piece.length < PIECE ? row_length : (i / piece.length + 1) * piece.length;
            end = wnn_min(i + most, whole);
            piece.at = row * row_length + i;
            piece.count = end - i;
            piece.blocks = first + i / piece.length;
            read_numbers(numbers, piece.at, piece.count, piece.values);
            visit(&piece, to);
        }
    }
}

static void find_range(const struct piece *piece, void *unused)
{
    struct block *block = piece->blocks;
    (void)unused;
    for (size_t i = 0; i < piece->count; block++) {
        for (size_t end = wnn_min(piece->count, i + piece->length); i < end; i++) {
            float value = piece->values[i];
            block->min = value < block->min ? value : block->min;
            block->max = value > block->max ? value : block->max;
        }
    }
}

static void round_int8(const struct piece *piece, void *to)
{
    int8_t *integers = (int8_t *)to + piece->at;
    const struct block *block = piece->blocks;
    for (size_t i = 0; i < piece->count; block++)
        for (size_t end = wnn_min(piece->count, i + piece->length); i < end; i++)
            integers[i] =
                (int8_t)fminf(fmaxf(rintf(piece->values[i] / block->scale), block->low), block->high);
}

static void round_uint4(const struct piece *piece, void *to)
{
    unsigned char *integers = to;
    const struct block *block = piece->blocks;
    for (size_t i = 0; i < piece->count; block++) {
        for (size_t end = wnn_min(piece->count, i + piece->length); i < end; i++) {
            size_t at = piece->at + i;
            float level = rintf(piece->values[i] / block->scale) + block->zero;
            unsigned value = (unsigned)fminf(fmaxf(level, block->low), block->high);
            integers[at / 2] |= (unsigned char)(value << (at % 2 * 4));
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Scales
// ---------------------------------------------------------------------------------------------------------------

// A number of the type above 0 that is near `value`. What is rounded to float16 is rounded up, so that all
// levels fit.
static float round_scale(double value, WNNDataType type)
{
    if (value == 0) // all numbers are 0
        return 1;
    if (type == WNNDataType_Float32)
        return (float)fmax(value, MIN_FLOAT32_SCALE);
    double rounded = wnn_round_to_dtype(fmax(value, MIN_FLOAT16_SCALE), WNNDataType_Float16);
    if (rounded < value) {
        uint16_t next = (uint16_t)(wnn_half_from_float((float)rounded) + 1);
        rounded = (double)wnn_half_to_float(next);
    }
    return (float)rounded;
}

static void choose_int8(struct block *block, WNNDataType scale_type)
{
    double most = fmax(-(double)block->min, (double)block->max);
    block->scale = round_scale(most / INT8_MAX_STEP, scale_type);
    block->low = -INT8_MAX_STEP;
    block->high = INT8_MAX_STEP;
}

static void choose_uint4(struct block *block, WNNDataType scale_type)
{
    block->scale = round_scale(((double)block->max - (double)block->min) / UINT4_MAX, scale_type);
    block->zero = rintf(-block->min / block->scale);
    block->high = UINT4_MAX;
}

static void *store_scales(const struct block *blocks, size_t count, WNNDataType type)
{
    void *scales = must_allocate(wnn_dtype_bytes(type, count));
    for (size_t i = 0; i < count; i++) {
        WNNNumber scale = wnnNumberFloat64((double)blocks[i].scale);
        wnn_number_store(wnn_number_convert(scale, type), type, scales, i);
    }
    return scales;
}

static void *store_zero_points(const struct block *blocks, size_t count, WNNDataType type)
{
    void *zeros = must_allocate(wnn_dtype_bytes(type, count));
    for (size_t i = 0; i < count; i++) {
        WNNNumber zero = wnnNumberFloat64((double)blocks[i].zero);
        wnn_number_store(wnn_number_convert(zero, type), type, zeros, i);
    }
    return zeros;
}

struct integers quantize_numbers(const struct numbers *numbers, WNNDataType type, const struct shape *scale,
                                 WNNDataType scale_type)
{
    bool is_int8 = type == WNNDataType_Int8;
    size_t count = wnn_shape_elements(scale);
    struct block *blocks = must_allocate(count * sizeof *blocks);
    visit_pieces(numbers, scale, blocks, find_range, NULL);
    for (size_t i = 0; i < count; i++) {
        if (is_int8)
            choose_int8(&blocks[i], scale_type);
        else
            choose_uint4(&blocks[i], scale_type);
    }
    struct integers integers = {
        .data = must_allocate(wnn_dtype_bytes(type, wnn_shape_elements(&numbers->type.shape))),
        .scales = store_scales(blocks, count, scale_type),
        .zero_points = store_zero_points(blocks, count, type)};
    visit_pieces(numbers, scale, blocks, is_int8 ? round_int8 : round_uint4, integers.data);
    free(blocks);
    return integers;
}
