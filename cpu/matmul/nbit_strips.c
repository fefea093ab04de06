// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/gemm.h"
#include "cpu/matmul/nbit.h"

#define STRIP_TERMS 4096 // that all rows meet before the next: a group of strips stays in a cache
#define MAX_STRIP_TERMS                                                                                      \
    (1 << 18)             // which rows are prepared for, and may meet, without a look at the interrupt
#define STRIP_BYTES 32768 // that are worth a thread's attention
#define FLOAT_TERMS 64    // that become floats at a time

// Blocks of so few terms would leave words half empty, and have more scales than integers.
bool wnn_nbit_worth_strips(const struct strips *strips)
{
    return strips->block >= 8 && strips->k <= MAX_STRIP_TERMS &&
           (!strips->nibbles || wnn_round_up(strips->block, 8) * 4 <= strips->block * 5);
}

// Which scale a block of terms of a column has.
static size_t scale_of(const struct nbit_product *product, size_t column, size_t block)
{
    const struct nbit_weights *weights = &product->weights;
    return product->transposed ? column / weights->row_block * weights->scale_row + block
                               : block * weights->scale_row + column / weights->block;
}

// The integers of a block of a column, as strips have them.
static void pack_integers(const struct nbit_product *product, size_t column, size_t block,
                          const struct strip_column *to)
{
    const struct nbit_weights *weights = &product->weights;
    const struct strips *strips = &product->strips;
    int16_t values[NBIT_PIECE], none = strips->nibbles ? 0 : 128;
    bool is_signed = weights->type == WNNDataType_Int4 || weights->type == WNNDataType_Int8;
    int16_t shift = (int16_t)((is_signed ? 128 : 0) >> (strips->nibbles ? 4 : 0)) - none;
    size_t step = product->transposed ? NBIT_PIECE : 1;
    for (size_t t = 0, count; t < strips->block; t += count) {
        size_t term = block * strips->block + t;
        count = wnn_min(step, strips->block - t);
        wnn_nbit_read(weights->type, weights->data,
                      product->transposed ? column * weights->length + term : term * weights->length + column,
                      count, values);
        for (size_t i = 0, at = t; i < count; i++, at++) {
            int value = values[i] + shift;
            if (strips->nibbles)
                to->integers[at / 8 * to->stride + at % 8 / 2] |= (unsigned char)(value << at % 2 * 4);
            else
                to->integers[at / WNN_STRIP_OCTETS * to->stride + at % WNN_STRIP_OCTETS * WNN_STRIP] =
                    (unsigned char)value;
        }
    }
}

static void pack_scale(const struct nbit_product *product, size_t at, unsigned char *to)
{
    const float *floats = product->weights.scales;
    const uint16_t *halves = product->weights.scales;
    uint32_t bits = 0;
    uint16_t half;
    switch (product->strips.scales) {
    case WNN_SCALES_FLOAT32:
        memcpy(to, floats + at, sizeof *floats);
        return;
    case WNN_SCALES_FLOAT16:
        half = product->weights.half ? halves[at] : wnn_half_from_float(floats[at]);
        break;
    case WNN_SCALES_BFLOAT16:
    default:
        memcpy(&bits, floats + at, sizeof bits);
        half = (uint16_t)(bits >> 16);
    }
    memcpy(to, &half, sizeof half);
}

struct packing {
    const struct nbit_product *product;
    unsigned char *packed;
};

static void pack_columns(void *argument, size_t begin, size_t end)
{
    const struct packing *packing = argument;
    const struct nbit_product *product = packing->product;
    const struct strips *strips = &product->strips;
    end = wnn_min(end * WNN_STRIP, product->n);
    for (size_t j = begin * WNN_STRIP; j < end; j++)
        for (size_t b = 0; b < strips->k / strips->block; b++) {
            struct strip_column to = wnn_strip_column(strips, packing->packed, j, b);
            size_t at = scale_of(product, j, b);
            pack_scale(product, at, to.scale);
            if (strips->zeros) {
                int16_t zero;
                wnn_nbit_read(product->weights.type, product->weights.zeros, at, 1, &zero);
                *to.zero = (unsigned char)(product->weights.type == WNNDataType_Int4    ? zero + 8
                                           : product->weights.type == WNNDataType_Uint8 ? zero - 128
                                                                                        : zero);
            }
            pack_integers(product, j, b, &to);
        }
}

void wnn_nbit_pack(const struct nbit_product *product, const struct parallel *parallel, void *packed)
{
    struct packing packing = {product, packed};
    memset(packed, 0, wnn_strips_bytes(&product->strips));
    wnn_parallel_for(parallel, (product->n + WNN_STRIP - 1) / WNN_STRIP, 1 + 16384 / (WNN_STRIP * product->k),
                     pack_columns, &packing);
}

struct strip_product {
    const struct nbit_product *product;
    const struct interrupt *interrupt;
    const struct strip_int8_kernels *fixed; // or NULL
    struct strip_fixed_rows fixed_rows;     // for these
    struct strip_rows rows;                 // otherwise
};

// By way of floats, as the separate operators compute it.
static void add_floats(const struct nbit_product *product, size_t k, size_t end, size_t strip, size_t count,
                       float *totals)
{
    float panel[FLOAT_TERMS * WNN_STRIP_GROUP * WNN_STRIP];
    unsigned width = (unsigned)(count * WNN_STRIP);
    struct float_rows rows = {panel, width, false};
    for (size_t terms; k < end; k += terms) {
        terms = wnn_min(FLOAT_TERMS, end - k);
        wnn_strips_panel(&product->strips, k, terms, strip * WNN_STRIP, width, panel);
        for (size_t i = 0; i < product->m; i++)
            wnn_float_kernels()->add_rows(totals + i * WNN_STRIP_GROUP * WNN_STRIP, width, &rows,
                                          product->a + i * product->k + k, 1, terms);
    }
}

// Strips of one group.
static void multiply_group(const struct strip_product *argument, size_t strip, size_t count)
{
    const struct nbit_product *product = argument->product;
    const struct strips *strips = &product->strips;
    float totals[WNN_STRIP_ROWS * WNN_STRIP_GROUP * WNN_STRIP] = {0};
    size_t blocks = product->k / strips->block, step = 1 + STRIP_TERMS / strips->block;
    for (size_t b = 0; b < blocks; b += step) {
        size_t end = wnn_min(b + step, blocks);
        if (wnn_interrupted(argument->interrupt))
            return;
        if (argument->fixed)
            wnn_strip_fixed_multiply(argument->fixed, strips, &argument->fixed_rows, strip, count, b, end,
                                     totals);
        else if (argument->rows.extreme)
            add_floats(product, b * strips->block, end * strips->block, strip, count, totals);
        else
            wnn_strips_multiply(strips, &argument->rows, strip, count, b, end, totals);
    }
    size_t column = strip * WNN_STRIP, columns = wnn_min(count * WNN_STRIP, product->n - column);
    for (size_t i = 0; i < product->m; i++) {
        float *c = product->c + i * product->n + column;
        memcpy(c, totals + i * WNN_STRIP_GROUP * WNN_STRIP, columns * sizeof *c);
        wnn_gemm_scale_values(&product->scale, c, i, column, columns);
    }
}

// Products of the same rows: product i begins with strip first[i] of all.
struct joint {
    struct strip_product products[WNN_MAX_JOINED];
    size_t count, first[WNN_MAX_JOINED + 1];
};

static void multiply_strips(void *argument, size_t begin, size_t end)
{
    const struct joint *joint = argument;
    for (size_t i = 0; i < joint->count; i++) {
        size_t strip = begin > joint->first[i] ? begin - joint->first[i] : 0, count;
        size_t last = wnn_min(end, joint->first[i + 1]);
        for (; joint->first[i] + strip < last; strip += count) {
            count = wnn_min(WNN_STRIP_GROUP - strip % WNN_STRIP_GROUP, last - joint->first[i] - strip);
            multiply_group(&joint->products[i], strip, count);
        }
    }
}

static size_t float_rows_bytes(const struct strips *strips, size_t m)
{
    return wnn_aligned(m * wnn_strip_terms(strips) * sizeof(float)) +
           wnn_aligned(m * (strips->k / strips->block) * sizeof(float));
}

static size_t fixed_rows_bytes(const struct strips *strips)
{
    size_t words = wnn_strip_words(strips), runs = wnn_strip_runs(strips);
    return wnn_aligned(words * WNN_STRIP_FIXED_WORD) +
           wnn_aligned(runs * WNN_STRIP_FIXED_ROWS * sizeof(float)) +
           wnn_aligned(runs * WNN_STRIP_FIXED_ROWS * 2 * sizeof(int32_t));
}

// Whatever processor it is for.
size_t wnn_nbit_strips_scratch(const struct nbit_product *product)
{
    size_t floats = float_rows_bytes(&product->strips, product->m);
    size_t fixed = product->m <= WNN_STRIP_FIXED_ROWS ? fixed_rows_bytes(&product->strips) : 0;
    return floats > fixed ? floats : fixed;
}

// In integers, if this processor multiplies these faster and nothing is lost.
static bool prepare_fixed(const struct nbit_product *product, struct scratch scratch,
                          struct strip_product *to)
{
    const struct strips *strips = &product->strips;
    const struct strip_int8_kernels *kernels =
        wnn_portable_numbers ? NULL : wnn_strip_int8_kernels(wnn_cpu_this_processor());
    if (product->m > wnn_strip_fixed_most(kernels, strips))
        return false;
    size_t runs = wnn_strip_runs(strips) * WNN_STRIP_FIXED_ROWS;
    struct strip_fixed_rows *rows = &to->fixed_rows;
    rows->m = product->m;
    rows->x = wnn_scratch_take(&scratch, wnn_strip_words(strips) * WNN_STRIP_FIXED_WORD);
    rows->units = wnn_scratch_take(&scratch, runs * sizeof *rows->units);
    rows->sums = wnn_scratch_take(&scratch, runs * 2 * sizeof *rows->sums);
    to->fixed = kernels;
    return wnn_strip_fixed_prepare(strips, product->a, rows);
}

static void prepare_floats(const struct nbit_product *product, struct scratch scratch,
                           struct strip_product *to)
{
    const struct strips *strips = &product->strips;
    struct strip_rows *rows = &to->rows;
    rows->m = product->m;
    rows->x = wnn_scratch_take(&scratch, rows->m * wnn_strip_terms(strips) * sizeof *rows->x);
    rows->sums = wnn_scratch_take(&scratch, rows->m * (product->k / strips->block) * sizeof *rows->sums);
    to->fixed = NULL;
    wnn_strip_prepare(strips, product->a, rows);
}

void wnn_nbit_run_strips(const struct nbit_product *products, size_t count, const struct parallel *parallel,
                         struct scratch *scratch)
{
    struct joint joint = {.count = count};
    struct strip_product product = {.interrupt = parallel->interrupt};
    size_t bytes = 0;
    if (!prepare_fixed(products, *scratch, &product))
        prepare_floats(products, *scratch, &product);
    for (size_t i = 0; i < count; i++) {
        joint.products[i] = product;
        joint.products[i].product = &products[i];
        joint.first[i + 1] = joint.first[i] + (products[i].n + WNN_STRIP - 1) / WNN_STRIP;
        bytes += wnn_strips_bytes(&products[i].strips);
    }
    wnn_parallel_for(parallel, joint.first[count], 1 + STRIP_BYTES / (bytes / joint.first[count] + 1),
                     multiply_strips, &joint);
}
