// SPDX-License-Identifier: Apache-2.0
//
// The matrix where it lies: where blocks are so small that strips would be wider than it is, or rows are
// many.

#include "cpu/matmul/gemm.h"
#include "cpu/matmul/nbit.h"

#include "cpu/elementwise/elementwise.h"

#define LOOK_TERMS (1 << 14) // terms between two looks at the interrupt

// ---------------------------------------------------------------------------------------------------------------
// Integers and scales to floats
// ---------------------------------------------------------------------------------------------------------------

static void read_scales(const struct nbit_weights *weights, size_t first, size_t count, float *to)
{
    if (weights->half)
        wnn_half_to_float_array((const uint16_t *)weights->scales + first, to, count);
    else
        memcpy(to, (const float *)weights->scales + first, count * sizeof *to);
}

// What dequantizeLinear makes of elements [first, first + count) of a row; count is at most NBIT_PIECE.
WNN_INLINE void read_row(const struct nbit_weights *weights, size_t row, size_t first, size_t count,
                         float *to)
{
    int16_t values[NBIT_PIECE], zeros[NBIT_PIECE];
    float scales[NBIT_PIECE];
    size_t block = weights->block, at = row / weights->row_block * weights->scale_row + first / block;
    size_t blocks = (first + count - 1) / block - first / block + 1;
    wnn_nbit_read(weights->type, weights->data, row * weights->length + first, count, values);
    wnn_nbit_read(weights->type, weights->zeros, at, blocks, zeros);
    read_scales(weights, at, blocks, scales);
    if (block == 1) {
        for (size_t i = 0; i < count; i++)
            to[i] = (float)(values[i] - zeros[i]) * scales[i];
        return;
    }
    for (size_t i = 0, j = 0; i < count; j++) {
        size_t end = wnn_min(count, i + block - (first + i) % block);
        int16_t zero = zeros[j];
        float scale = scales[j];
        for (; i < end; i++)
            to[i] = (float)(values[i] - zero) * scale;
    }
}

#if WNN_X86_64
#include <immintrin.h>

#define AVX512       WNN_TARGET_AVX512
#define HAVE_VECTORS 1

static bool is_signed(WNNDataType type)
{
    return type == WNNDataType_Int4 || type == WNNDataType_Int8;
}

// How vectors read the integers: as `number - middle`, which is what fits in a table or a signed byte; blocks
// make up for the difference of the middle and their zero points with the sum of what they are multiplied
// with.
static int32_t middle_of(WNNDataType type)
{
    return is_signed(type) ? 0 : type == WNNDataType_Uint4 ? 8 : 128;
}

static bool has_vectors(void)
{
    return wnn_isa_of_numbers() == WNN_ISA_AVX512;
}

// The floats of the 4-bit numbers from 0 to 15, less the middle.
static inline __attribute__((always_inline)) AVX512 __m512 table_of(WNNDataType type)
{
    __m512 up = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512 wrapped = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    return type == WNNDataType_Int4 ? wrapped : _mm512_sub_ps(up, _mm512_set1_ps(8));
}

// Two vectors of floats: of 32 4-bit numbers the even ones and the odd ones, of 8-bit numbers the first 16
// and the others.
static inline __attribute__((always_inline)) AVX512 void read_32(const unsigned char *from, WNNDataType type,
                                                                 __m512 table, __m512 to[2])
{
    if (type == WNNDataType_Int4 || type == WNNDataType_Uint4) {
        __m512i pairs = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
        to[0] = _mm512_permutexvar_ps(pairs, table);
        to[1] = _mm512_permutexvar_ps(_mm512_srli_epi32(pairs, 4), table);
        return;
    }
    __m128i change = _mm_set1_epi8(type == WNNDataType_Uint8 ? (char)0x80 : 0);
    for (int i = 0; i < 2; i++) {
        __m128i bytes =
            _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(from + 16 * i)), change);
        to[i] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
    }
}

// Sixteen floats of 32-bit numbers whose lowest bits are the integers; other bits may be anything.
static inline __attribute__((always_inline)) AVX512 __m512 lowest(__m512i bits, WNNDataType type,
                                                                  __m512 table)
{
    if (type == WNNDataType_Int4 || type == WNNDataType_Uint4)
        return _mm512_permutexvar_ps(bits, table);
    __m512i up = _mm512_slli_epi32(bits, 24);
    if (type == WNNDataType_Uint8)
        up = _mm512_xor_si512(up, _mm512_set1_epi32(INT32_MIN));
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(up, 24));
}

// Zero points, of which the lowest bits count, and scales of sixteen integers.
struct steps {
    uint8_t zeros[16];
    float scales[16];
};

struct step_vectors {
    __m512 zeros, scales;
};

static inline __attribute__((always_inline)) AVX512 struct step_vectors
vectors_of(const struct steps *steps, WNNDataType type, __m512 table)
{
    __m512i zeros = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)steps->zeros));
    return (struct step_vectors){lowest(zeros, type, table), _mm512_loadu_ps(steps->scales)};
}

// What dequantizeLinear makes of sixteen integers.
static inline __attribute__((always_inline)) AVX512 void
store_16(__m512i bits, WNNDataType type, __m512 table, const struct step_vectors *steps, float *to)
{
    __m512 difference = _mm512_sub_ps(lowest(bits, type, table), steps->zeros);
    _mm512_storeu_ps(to, _mm512_mul_ps(difference, steps->scales));
}

// Four times 32 bits of each of 16 rows: vector i has number i of every row.
static inline __attribute__((always_inline)) AVX512 void load_columns(const unsigned char *from,
                                                                      size_t stride, __m512i to[4])
{
    __m512i a[4], b[4];
    for (size_t i = 0; i < 4; i++) {
        const unsigned char *row = from + i * stride;
        a[i] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)row));
        a[i] =
            _mm512_inserti32x4(a[i], _mm_loadu_si128((const __m128i *)(const void *)(row + 4 * stride)), 1);
        a[i] =
            _mm512_inserti32x4(a[i], _mm_loadu_si128((const __m128i *)(const void *)(row + 8 * stride)), 2);
        a[i] =
            _mm512_inserti32x4(a[i], _mm_loadu_si128((const __m128i *)(const void *)(row + 12 * stride)), 3);
    }
    for (size_t i = 0; i < 4; i += 2) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
    for (size_t i = 0; i < 2; i++) {
        to[2 * i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
        to[2 * i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    }
}

// The zero points of `count` blocks, from one on, for one of the sixteen integers.
WNN_INLINE void load_zeros(const struct nbit_weights *weights, bool pairs, size_t at, size_t count,
                           size_t lane, struct steps *to)
{
    size_t i = 0;
    for (; i < count && !pairs; i++)
        to[i].zeros[lane] = weights->zeros[at + i];
    if (i < count && at % 2)
        to[i++].zeros[lane] = weights->zeros[at / 2] >> 4;
    for (; i < count; i += 2) {
        uint8_t both = weights->zeros[(at + i) / 2];
        to[i].zeros[lane] = both;
        if (i + 1 < count)
            to[i + 1].zeros[lane] = both >> 4;
    }
}

// What belongs to `blocks` blocks of each of 16 rows, from one block on.
WNN_INLINE void load_steps(const struct nbit_weights *weights, bool pairs, size_t row, size_t block,
                           size_t blocks, struct steps *to)
{
    for (size_t i = 0; i < 16; i++) {
        size_t at = (row + i) / weights->row_block * weights->scale_row + block;
        const float *scales = (const float *)weights->scales + at;
        float copy[NBIT_PIECE / 32 + 1];
        if (weights->half) {
            read_scales(weights, at, blocks, copy);
            scales = copy;
        }
        for (size_t j = 0; j < blocks; j++)
            to[j].scales[i] = scales[j];
        load_zeros(weights, pairs, at, blocks, i, to);
    }
}

// Elements [first, first + count) of 16 rows become columns; count is at most NBIT_PIECE.
static inline __attribute__((always_inline)) AVX512 void turn_rows(const struct nbit_weights *weights,
                                                                   WNNDataType type, size_t row, size_t first,
                                                                   size_t count, float *to, size_t width)
{
    bool pairs = type == WNNDataType_Int4 || type == WNNDataType_Uint4;
    size_t bits = pairs ? 4 : 8, stride = weights->length * bits / 8, terms = 32 / bits;
    size_t block = first / weights->block, end = (first + count - 1) / weights->block + 1;
    const unsigned char *from = weights->data + (row * weights->length + first) * bits / 8;
    struct steps steps[NBIT_PIECE / 32 + 1];
    __m512 table = table_of(type);
    load_steps(weights, pairs, row, block, end - block, steps);
    for (size_t k = 0; k < count; k += 4 * terms, from += 16) {
        struct step_vectors here = vectors_of(&steps[(first + k) / weights->block - block], type, table);
        __m512i words[4];
        load_columns(from, stride, words);
        for (size_t i = 0; i < 4; i++)
            for (size_t t = 0; t < terms; t++, to += width) {
                store_16(words[i], type, table, &here, to);
                words[i] = pairs ? _mm512_srli_epi32(words[i], 4) : _mm512_srli_epi32(words[i], 8);
            }
    }
}

// Columns [column, column + count) of rows that share scales.
static inline __attribute__((always_inline)) AVX512 void spread_rows(const struct nbit_weights *weights,
                                                                     WNNDataType type, size_t row,
                                                                     size_t rows, size_t column, size_t count,
                                                                     float *to)
{
    bool pairs = type == WNNDataType_Int4 || type == WNNDataType_Uint4;
    size_t at = row / weights->row_block * weights->scale_row, first = column / weights->block;
    float scales[WNN_GEMM_MAX_NR];
    struct steps steps[WNN_GEMM_MAX_NR / 16];
    __m512i shifts = _mm512_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4);
    __m512 table = table_of(type);
    read_scales(weights, at + first, (column + count - 1) / weights->block - first + 1, scales);
    for (size_t i = 0; i < count; i++) {
        size_t block = (column + i) / weights->block;
        steps[i / 16].scales[i % 16] = scales[block - first];
        load_zeros(weights, pairs, at + block, 1, i % 16, &steps[i / 16]);
    }
    for (size_t j = 0; j < count; j += 16) {
        struct step_vectors here = vectors_of(&steps[j / 16], type, table);
        for (size_t i = 0; i < rows; i++) {
            size_t place = (row + i) * weights->length + column + j;
            const void *from = weights->data + (pairs ? place / 2 : place);
            __m128i bytes = pairs ? _mm_loadl_epi64(from) : _mm_loadu_si128(from);
            __m512i wide = _mm512_cvtepu8_epi32(pairs ? _mm_unpacklo_epi8(bytes, bytes) : bytes);
            store_16(pairs ? _mm512_srlv_epi32(wide, shifts) : wide, type, table, &here, to + i * count + j);
        }
    }
}

// Terms [k, k + length) of `count` columns, a multiple of 16, to a panel that is as wide.
typedef void (*panel_loop)(const struct nbit_weights *weights, bool transposed, size_t k, size_t length,
                           size_t column, size_t count, float *to);

#define PANEL(name, type)                                                                                    \
    static AVX512 void panel_##name(const struct nbit_weights *weights, bool transposed, size_t k,           \
                                    size_t length, size_t column, size_t count, float *to)                   \
    {                                                                                                        \
        for (size_t i = 0; i < count && transposed; i += 16)                                                 \
            for (size_t j = 0; j < length; j += NBIT_PIECE)                                                  \
                turn_rows(weights, WNNDataType_##type, column + i, k + j, wnn_min(NBIT_PIECE, length - j),   \
                          to + j * count + i, count);                                                        \
        for (size_t end = k + length, rows; k < end && !transposed; k += rows, to += rows * count) {         \
            rows = wnn_min(weights->row_block - k % weights->row_block, end - k);                            \
            spread_rows(weights, WNNDataType_##type, k, rows, column, count, to);                            \
        }                                                                                                    \
    }
PANEL(i4, Int4)
PANEL(u4, Uint4)
PANEL(i8, Int8)
PANEL(u8, Uint8)

// False, and nothing done, if vectors do not fit.
static bool fill_vectors(const struct nbit_weights *weights, bool transposed, size_t k, size_t length,
                         size_t column, size_t count, float *to)
{
    bool fit = transposed ? k % 32 == 0 && length % 32 == 0 && weights->block % 32 == 0 : column % 2 == 0;
    if (!has_vectors() || !fit || count % 16 != 0 || weights->length % 2 != 0)
        return false;
    const panel_loop panel = weights->type == WNNDataType_Int4    ? panel_i4
                             : weights->type == WNNDataType_Uint4 ? panel_u4
                             : weights->type == WNNDataType_Int8  ? panel_i8
                                                                  : panel_u8;
    panel(weights, transposed, k, length, column, count, to);
    return true;
}
#endif

// ---------------------------------------------------------------------------------------------------------------
// Many rows
// ---------------------------------------------------------------------------------------------------------------

static void find_rows(const struct gemm *gemm, size_t row, unsigned count, size_t k, size_t segments,
                      size_t length, unsigned mr, const float **pointers, float *buffer)
{
    const struct nbit_product *product = gemm->argument;
    (void)segments, (void)length, (void)mr, (void)buffer;
    for (unsigned r = 0; r < count; r++)
        pointers[r] = product->a + (row + r) * product->k + k;
}

// A panel, as wnn_parallel_for would ask for a piece of it.
struct panel {
    const struct nbit_product *product;
    size_t k, column;
    unsigned count, width;
    float *to;
};

// Rows [begin, end) of the panel.
static void fill_panel(void *argument, size_t begin, size_t end)
{
    const struct panel *panel = argument;
    const struct nbit_weights *weights = &panel->product->weights;
    float piece[WNN_GEMM_MAX_NR][NBIT_PIECE];
#ifdef HAVE_VECTORS
    if (panel->count == panel->width &&
        fill_vectors(weights, panel->product->transposed, panel->k + begin, end - begin, panel->column,
                     panel->count, panel->to + begin * panel->width))
        return;
#endif
    if (!panel->product->transposed) {
        for (size_t i = begin; i < end; i++) {
            float *to = panel->to + i * panel->width;
            read_row(weights, panel->k + i, panel->column, panel->count, to);
            for (size_t j = panel->count; j < panel->width; j++)
                to[j] = 0;
        }
        return;
    }
    for (size_t i = begin, n; i < end; i += n) {
        n = wnn_min(NBIT_PIECE, end - i);
        for (unsigned j = 0; j < panel->count; j++)
            read_row(weights, panel->column + j, panel->k + i, n, piece[j]);
        wnn_gemm_pack(piece[0], NBIT_PIECE, 1, panel->count, n, panel->to + i * panel->width, panel->width);
    }
}
WNN_VARIANTS_256(fill_panel)

static void make_panel(const struct gemm *gemm, size_t k, size_t length, size_t column, unsigned count,
                       float *to, unsigned width)
{
    struct panel panel = {gemm->argument, k, column, count, width, to};
    if (panel.product->packs) {
        wnn_strips_panel(&panel.product->strips, k, length, column, width, to);
        return;
    }
    WNN_BEST_ISA_256(fill_panel)(&panel, 0, length);
}

static void finish_tile(const struct gemm *gemm, float *tile, unsigned width, size_t row, unsigned rows,
                        size_t column, unsigned columns)
{
    const struct nbit_product *product = gemm->argument;
    for (unsigned r = 0; r < rows; r++)
        wnn_gemm_scale_values(&product->scale, tile + r * width, row + r, column, columns);
}

void wnn_nbit_run_panels(const struct nbit_product *product, const struct parallel *parallel,
                         struct scratch *scratch)
{
    struct gemm gemm = {.kernels = wnn_float_kernels(),
                        .m = product->m,
                        .n = product->n,
                        .k = product->k,
                        .unit = product->k,
                        .rows = find_rows,
                        .panel = make_panel,
                        .finish = product->scale.alpha != 1 || product->scale.addend ? finish_tile : NULL,
                        .c = product->c,
                        .row_stride = product->n,
                        .argument = product,
                        .in_place = true};
    wnn_gemm_run(&gemm, parallel, (float *)(void *)scratch->next);
}

// ---------------------------------------------------------------------------------------------------------------
// Few rows
// ---------------------------------------------------------------------------------------------------------------

#ifdef HAVE_VECTORS
// 32 floats in the order of read_32.
static inline __attribute__((always_inline)) AVX512 void order_32(WNNDataType type, const float *from,
                                                                  __m512 to[2])
{
    __m512 first = _mm512_loadu_ps(from), second = _mm512_loadu_ps(from + 16);
    __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    bool pairs = type == WNNDataType_Int4 || type == WNNDataType_Uint4;
    to[0] = pairs ? _mm512_permutex2var_ps(first, even, second) : first;
    to[1] =
        pairs ? _mm512_permutex2var_ps(first, _mm512_add_epi32(even, _mm512_set1_epi32(1)), second) : second;
}

// Adds to sums[r], for each of `rows` rows of x, `stride` floats apart and in the order of read_32, the sum
// over blocks of 32 terms of scales[i] times the products of that block with x.
static inline __attribute__((always_inline)) AVX512 void
dot_blocks(const unsigned char *row, WNNDataType type, const float *x, size_t stride, const float *scales,
           size_t blocks, float *sums, const size_t bytes, const int rows)
{
    enum {
        PARALLEL = 4
    };
    const int chains = PARALLEL / rows; // sums of one row that do not wait for one another
    __m512 table = table_of(type), sum[PARALLEL];
    for (int j = 0; j < PARALLEL; j++)
        sum[j] = _mm512_setzero_ps();
    size_t i = 0;
    for (; i + (size_t)chains <= blocks; i += (size_t)chains) {
        for (int j = 0; j < chains; j++) {
            __m512 value[2], scale = _mm512_set1_ps(scales[i + (size_t)j]);
            size_t at = i + (size_t)j;
            read_32(row + at * bytes, type, table, value);
            for (int r = 0; r < rows; r++) {
                const float *from = x + (size_t)r * stride + at * 32;
                __m512 part = _mm512_mul_ps(value[0], _mm512_loadu_ps(from));
                part = _mm512_fmadd_ps(value[1], _mm512_loadu_ps(from + 16), part);
                sum[r * chains + j] = _mm512_fmadd_ps(scale, part, sum[r * chains + j]);
            }
        }
    }
    for (; i < blocks; i++) {
        __m512 value[2];
        read_32(row + i * bytes, type, table, value);
        for (int r = 0; r < rows; r++) {
            const float *from = x + (size_t)r * stride + i * 32;
            __m512 part = _mm512_mul_ps(value[0], _mm512_loadu_ps(from));
            part = _mm512_fmadd_ps(value[1], _mm512_loadu_ps(from + 16), part);
            sum[r * chains] = _mm512_fmadd_ps(_mm512_set1_ps(scales[i]), part, sum[r * chains]);
        }
    }
    for (int r = 0; r < rows; r++) {
        __m512 total = sum[r * chains];
        for (int j = 1; j < chains; j++)
            total = _mm512_add_ps(total, sum[r * chains + j]);
        sums[r] += _mm512_reduce_add_ps(total);
    }
}

// The same for so many rows that numbers are worth their scales' multiplication.
static inline __attribute__((always_inline)) AVX512 void
dot_several(const unsigned char *row, WNNDataType type, const float *x, size_t stride, const float *scales,
            size_t blocks, float *sums, const size_t bytes, const int rows)
{
    __m512 table = table_of(type), sum[4][2];
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = _mm512_setzero_ps();
    for (size_t i = 0; i < blocks; i++) {
        __m512 value[2], scale = _mm512_set1_ps(scales[i]);
        read_32(row + i * bytes, type, table, value);
        for (int h = 0; h < 2; h++)
            value[h] = _mm512_mul_ps(value[h], scale);
        for (int r = 0; r < rows; r++)
            for (int h = 0; h < 2; h++)
                sum[r][h] = _mm512_fmadd_ps(
                    value[h], _mm512_loadu_ps(x + (size_t)r * stride + i * 32 + 16 * h), sum[r][h]);
    }
    for (int r = 0; r < rows; r++)
        sums[r] += _mm512_reduce_add_ps(_mm512_add_ps(sum[r][0], sum[r][1]));
}

#define DOT(name, type, bytes)                                                                               \
    static AVX512 void dot_##name(const unsigned char *row, const float *x, size_t stride,                   \
                                  const float *scales, size_t blocks, float *sums, size_t rows)              \
    {                                                                                                        \
        for (; rows >= 4; rows -= 4, x += 4 * stride, sums += 4)                                             \
            dot_several(row, WNNDataType_##type, x, stride, scales, blocks, sums, bytes, 4);                 \
        for (; rows >= 2; rows -= 2, x += 2 * stride, sums += 2)                                             \
            dot_blocks(row, WNNDataType_##type, x, stride, scales, blocks, sums, bytes, 2);                  \
        for (; rows > 0; rows--, x += stride, sums++)                                                        \
            dot_blocks(row, WNNDataType_##type, x, stride, scales, blocks, sums, bytes, 1);                  \
    }
DOT(i4, Int4, 16)
DOT(u4, Uint4, 16)
DOT(i8, Int8, 32)
DOT(u8, Uint8, 32)

// Adds to 32 columns of y the sums over `count` rows (`stride` bytes apart) of x[i] times the integers, times
// scales, in the order of columns.
static inline __attribute__((always_inline)) AVX512 void
add_columns(const unsigned char *from, size_t stride, WNNDataType type, const float *x, size_t count,
            const float *scales, const float *excess, float x_sum, float *y, const int groups,
            const size_t bytes)
{
    __m512 table = table_of(type), sum[4][2];
    for (int g = 0; g < groups; g++)
        sum[g][0] = sum[g][1] = _mm512_setzero_ps();
    for (size_t i = 0; i < count; i++, from += stride) {
        __m512 factor = _mm512_set1_ps(x[i]);
        for (int g = 0; g < groups; g++) {
            __m512 value[2];
            read_32(from + (size_t)g * bytes, type, table, value);
            sum[g][0] = _mm512_fmadd_ps(value[0], factor, sum[g][0]);
            sum[g][1] = _mm512_fmadd_ps(value[1], factor, sum[g][1]);
        }
    }
    for (int g = 0; g < groups; g++) {
        __m512 scale[2], zero[2], before[2];
        order_32(type, scales + 32 * g, scale);
        order_32(type, excess + 32 * g, zero);
        for (int i = 0; i < 2; i++) {
            before[i] = _mm512_loadu_ps(y + 32 * g + 16 * i); // in the order of read_32 until the end
            sum[g][i] = _mm512_fmadd_ps(zero[i], _mm512_set1_ps(x_sum), sum[g][i]);
            _mm512_storeu_ps(y + 32 * g + 16 * i, _mm512_fmadd_ps(scale[i], sum[g][i], before[i]));
        }
    }
}

#define ADD(name, type, bytes)                                                                               \
    static AVX512 void add_##name(const unsigned char *from, size_t stride, const float *x, size_t count,    \
                                  const float *scales, const float *excess, float x_sum, float *y)           \
    {                                                                                                        \
        add_columns(from, stride, WNNDataType_##type, x, count, scales, excess, x_sum, y, 4, bytes);         \
    }
ADD(i4, Int4, 16)
ADD(u4, Uint4, 16)
ADD(i8, Int8, 32)
ADD(u8, Uint8, 32)

// Puts 32 floats in the order of columns, or of read_32.
static AVX512 void sort_32(WNNDataType type, bool back, float *values)
{
    float copy[32];
    bool pairs = type == WNNDataType_Int4 || type == WNNDataType_Uint4;
    for (unsigned i = 0; i < 32 && pairs; i++)
        copy[back ? i % 16 * 2 + i / 16 : i % 2 * 16 + i / 2] = values[i];
    if (pairs)
        memcpy(values, copy, sizeof copy);
}

typedef void (*dot_loop)(const unsigned char *row, const float *x, size_t stride, const float *scales,
                         size_t blocks, float *sums, size_t rows);
typedef void (*add_loop)(const unsigned char *from, size_t stride, const float *x, size_t count,
                         const float *scales, const float *excess, float x_sum, float *y);

static dot_loop dot_of(WNNDataType type)
{
    return type == WNNDataType_Int4    ? dot_i4
           : type == WNNDataType_Uint4 ? dot_u4
           : type == WNNDataType_Int8  ? dot_i8
                                       : dot_u8;
}

static add_loop add_of(WNNDataType type)
{
    return type == WNNDataType_Int4    ? add_i4
           : type == WNNDataType_Uint4 ? add_u4
           : type == WNNDataType_Int8  ? add_i8
                                       : add_u8;
}

static size_t bits_of(WNNDataType type)
{
    return type == WNNDataType_Int4 || type == WNNDataType_Uint4 ? 4 : 8;
}

// The middle less the zero points of blocks [first, first + count) of the scales.
static void read_excess(const struct nbit_weights *weights, size_t first, size_t count, float *to)
{
    int16_t zeros[NBIT_PIECE];
    int32_t middle = middle_of(weights->type);
    wnn_nbit_read(weights->type, weights->zeros, first, count, zeros);
    for (size_t i = 0; i < count; i++)
        to[i] = (float)(middle - zeros[i]);
}
#endif

// One row of A, prepared for vectors of terms.
struct thin {
    const struct nbit_product *product;
    const struct interrupt *interrupt;
    float *x;      // [m][k], each 32 in the order of read_32, if there are vectors
    float *x_sums; // [m][k / 32]
    bool vectors;
};

// Whether to leave after `count` more terms; `since`: those since the last look.
static inline bool is_stopped(const struct thin *thin, size_t count, size_t *since)
{
    *since += count;
    if (*since < LOOK_TERMS)
        return false;
    *since = 0;
    return wnn_interrupted(thin->interrupt);
}

// Columns [begin, end): rows of the matrix, whose terms lie side by side.
static void dot_rows(void *argument, size_t begin, size_t end)
{
    const struct thin *thin = argument;
    const struct nbit_product *product = thin->product;
    const struct nbit_weights *weights = &product->weights;
    const struct float_kernels *kernels = wnn_float_kernels();
    float values[NBIT_PIECE], sums[NBIT_FEW_ROWS];
    size_t since = 0;
    for (size_t j = begin; j < end; j++) {
        memset(sums, 0, sizeof sums);
#ifdef HAVE_VECTORS
        if (thin->vectors) {
            float scales[NBIT_PIECE], excess[NBIT_PIECE];
            size_t blocks = product->k / 32, repeat = weights->block / 32, bits = bits_of(weights->type);
            dot_loop dot = dot_of(weights->type);
            for (size_t block = 0, count; block < blocks; block += count) {
                count = wnn_min(NBIT_PIECE, blocks - block);
                if (is_stopped(thin, count * 32, &since))
                    return;
                size_t at = j / weights->row_block * weights->scale_row, first = block / repeat;
                size_t several = (block + count - 1) / repeat - first + 1;
                read_scales(weights, at + first, several, scales);
                read_excess(weights, at + first, several, excess);
                for (size_t i = count; i-- > 0 && repeat > 1;) {
                    scales[i] = scales[(block + i) / repeat - first];
                    excess[i] = excess[(block + i) / repeat - first];
                }
                for (size_t i = 0; i < count; i++)
                    excess[i] *= scales[i];
                for (size_t i = 0; i < product->m; i++)
                    sums[i] += kernels->dot(excess, thin->x_sums + i * blocks + block, count);
                dot(weights->data + (j * product->k + block * 32) * bits / 8, thin->x + block * 32,
                    product->k, scales, count, sums, product->m);
            }
        }
#endif
        for (size_t k = 0, count; k < product->k && !thin->vectors; k += count) {
            count = wnn_min(NBIT_PIECE, product->k - k);
            if (is_stopped(thin, count, &since))
                return;
            read_row(weights, j, k, count, values);
            for (size_t i = 0; i < product->m; i++)
                sums[i] += kernels->dot(product->a + i * product->k + k, values, count);
        }
        for (size_t i = 0; i < product->m; i++) {
            product->c[i * product->n + j] = sums[i];
            wnn_gemm_scale_values(&product->scale, &product->c[i * product->n + j], i, j, 1);
        }
    }
}
WNN_VARIANTS_256(dot_rows)

#define STRIPE 128 // columns that are summed at a time

static void sum_stripe(const struct thin *thin, size_t column, size_t count)
{
    const struct nbit_product *product = thin->product;
    const struct nbit_weights *weights = &product->weights;
    const struct float_kernels *kernels = wnn_float_kernels();
    enum {
        ROWS = 8
    };
    float values[ROWS][STRIPE], factors[ROWS];
    const float *rows[ROWS];
    for (size_t k = 0, terms, since = 0; k < product->k; k += terms) {
        terms = wnn_min(ROWS, product->k - k);
        if (is_stopped(thin, terms, &since))
            return;
        for (size_t t = 0; t < terms; t++) {
            read_row(weights, k + t, column, count, values[t]);
            rows[t] = values[t];
        }
        for (size_t i = 0; i < product->m; i++) {
            for (size_t t = 0; t < terms; t++)
                factors[t] = product->a[i * product->k + k + t];
            kernels->combine(product->c + i * product->n + column, count, rows, factors, terms);
        }
    }
}

#ifdef HAVE_VECTORS
static void sum_stripe_vectors(const struct thin *thin, size_t column)
{
    const struct nbit_product *product = thin->product;
    const struct nbit_weights *weights = &product->weights;
    size_t block = weights->row_block, bits = bits_of(weights->type), stride = product->n * bits / 8;
    add_loop add = add_of(weights->type);
    float scales[STRIPE], excess[STRIPE];
    for (size_t k = 0, terms, since = 0; k < product->k; k += terms) {
        terms = wnn_min(wnn_min(block - k % block, LOOK_TERMS), product->k - k);
        if (is_stopped(thin, terms, &since))
            return;
        size_t at = k / block * weights->scale_row;
        size_t first = weights->block == 1 ? column : column / weights->block;
        size_t several = weights->block == 1 ? STRIPE : (column + STRIPE - 1) / weights->block - first + 1;
        read_scales(weights, at + first, several, scales);
        read_excess(weights, at + first, several, excess);
        for (size_t i = STRIPE; i-- > 0 && weights->block > 1;) {
            scales[i] = scales[(column + i) / weights->block - first];
            excess[i] = excess[(column + i) / weights->block - first];
        }
        for (size_t i = 0; i < product->m; i++) {
            const float *x = product->a + i * product->k + k;
            float x_sum = 0;
            for (size_t t = 0; t < terms; t++)
                x_sum += x[t];
            add(weights->data + k * stride + column * bits / 8, stride, x, terms, scales, excess, x_sum,
                product->c + i * product->n + column);
        }
    }
    for (size_t i = 0; i < product->m; i++)
        for (size_t j = 0; j < STRIPE; j += 32)
            sort_32(weights->type, true, product->c + i * product->n + column + j);
}
#endif

// Stripes of columns, which lie side by side.
static void sum_columns(void *argument, size_t begin, size_t end)
{
    const struct thin *thin = argument;
    const struct nbit_product *product = thin->product;
    for (size_t stripe = begin; stripe < end; stripe++) {
        size_t column = stripe * STRIPE, count = wnn_min(STRIPE, product->n - column);
        for (size_t i = 0; i < product->m; i++)
            memset(product->c + i * product->n + column, 0, count * sizeof(float));
#ifdef HAVE_VECTORS
        if (thin->vectors && count == STRIPE)
            sum_stripe_vectors(thin, column);
        else
#endif
            sum_stripe(thin, column, count);
        for (size_t i = 0; i < product->m; i++)
            wnn_gemm_scale_values(&product->scale, product->c + i * product->n + column, i, column, count);
    }
}
WNN_VARIANTS_256(sum_columns)

// Whether vectors can read the rows of the matrix.
static bool vectors_fit(const struct nbit_product *product)
{
#ifdef HAVE_VECTORS
    const struct nbit_weights *weights = &product->weights;
    if (!has_vectors())
        return false;
    return product->transposed ? product->k % 32 == 0 && weights->block % 32 == 0 : product->n % 2 == 0;
#else
    (void)product;
    return false;
#endif
}

// Blocks [begin, end) of 32 terms of all rows, for vectors.
static void prepare_blocks(void *argument, size_t begin, size_t end)
{
#ifdef HAVE_VECTORS
    const struct thin *thin = argument;
    for (size_t i = begin; i < end; i++) {
        float *x = thin->x + 32 * i, sum = 0;
        memcpy(x, thin->product->a + 32 * i, 32 * sizeof *x);
        for (unsigned j = 0; j < 32; j++)
            sum += x[j];
        thin->x_sums[i] = sum;
        sort_32(thin->product->weights.type, false, x);
    }
#else
    (void)argument, (void)begin, (void)end;
#endif
}

size_t wnn_nbit_few_scratch(const struct nbit_product *product)
{
    if (!product->transposed || !vectors_fit(product))
        return 0;
    return wnn_aligned(product->m * product->k * sizeof(float)) +
           wnn_aligned(product->m * product->k / 32 * sizeof(float));
}

void wnn_nbit_run_few(const struct nbit_product *product, const struct parallel *parallel,
                      struct scratch *scratch)
{
    struct thin thin = {
        .product = product, .interrupt = parallel->interrupt, .vectors = vectors_fit(product)};
    size_t work = product->m * product->k;
    if (!product->transposed) {
        wnn_parallel_for(parallel, (product->n + STRIPE - 1) / STRIPE, 1 + 65536 / (work * STRIPE),
                         WNN_BEST_ISA_256(sum_columns), &thin);
        return;
    }
    if (thin.vectors) {
        thin.x = wnn_scratch_take(scratch, work * sizeof(float));
        thin.x_sums = wnn_scratch_take(scratch, work / 32 * sizeof(float));
        wnn_parallel_for(parallel, work / 32, 2048, prepare_blocks, &thin);
    }
    wnn_parallel_for(parallel, product->n, 1 + 65536 / work, WNN_BEST_ISA_256(dot_rows), &thin);
}
