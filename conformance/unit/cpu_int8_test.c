// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit integers by every set of vector loops that the processor has, against sums in 64 bits.

#include "conformance/unit/require.h"
#include "cpu/matmul/gemm.h"
#include "cpu/matmul/int8.h"

#include <math.h>
#include <stdlib.h>

struct matrices {
    size_t n, k, unit;
    bool a_signed, b_signed;
    uint8_t *a, *b; // [m, k], [k, n]
    float scale, offset;
};

static uint32_t state = 1;

static uint32_t draw(uint32_t end)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % end;
}

static int32_t number(bool is_signed, uint8_t byte)
{
    return is_signed ? (int8_t)byte : byte;
}

static void find(const struct int8_gemm *gemm, size_t row, unsigned count, const void **pointers,
                 uint8_t *room)
{
    (void)room;
    const struct matrices *matrices = gemm->argument;
    for (size_t s = 0; s < matrices->k / matrices->unit; s++)
        for (unsigned r = 0; r < count; r++)
            pointers[s * gemm->kernels->mr + r] = matrices->a + (row + r) * matrices->k + s * matrices->unit;
}

static void copy(const struct int8_gemm *gemm, size_t row, uint8_t *to)
{
    const struct matrices *matrices = gemm->argument;
    memcpy(to, matrices->a + row * matrices->k, matrices->k);
}

static void weights(const struct int8_gemm *gemm, size_t term, size_t count, size_t column, uint8_t *to)
{
    const struct matrices *matrices = gemm->argument;
    wnn_int8_gather(matrices->b + term * matrices->n + column, matrices->n, count, to);
}

static void scale_of(const struct int8_gemm *gemm, size_t column, float *scale, float *offset)
{
    const struct matrices *matrices = gemm->argument;
    *scale = matrices->scale;
    *offset = matrices->offset * (float)column;
}

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    REQUIRE(memory);
    return memory;
}

static void check(const struct int8_gemm *gemm, const struct matrices *matrices, size_t row, size_t column)
{
    const struct int8_numbers *numbers = &gemm->numbers;
    int64_t sum = 0;
    for (size_t i = 0; i < gemm->k; i++)
        sum += (int64_t)(number(matrices->a_signed, matrices->a[row * gemm->k + i]) - numbers->a_zero) *
               (number(matrices->b_signed, matrices->b[i * gemm->n + column]) - numbers->b_zero);
    double value = (double)sum * (double)matrices->scale + (double)matrices->offset * (double)column;
    value = fmin(fmax(value, (double)numbers->finish.low), (double)numbers->finish.high);
    size_t at = row * gemm->row_stride + column;
    if (numbers->finish.bytes) {
        double got = number(numbers->finish.is_signed, (uint8_t)gemm->c[at]) - numbers->finish.zero;
        REQUIRE(fabs(got - value) <= 0.5 + 1e-4);
    } else {
        float got = ((const float *)(const void *)gemm->c)[at];
        REQUIRE(fabs((double)got - value) <= 1e-6 * fabs(value) + 1e-4);
    }
}

static void run_case(const struct int8_kernels *kernels, size_t m, size_t n, size_t unit, size_t units,
                     bool bytes, bool extreme, unsigned threads)
{
    size_t k = unit * units;
    struct matrices matrices = {n, k, unit, draw(2), draw(2), allocate(m * k), allocate(k * n), 0, 0.25f};
    matrices.scale = (extreme ? 100.0f : 12.0f) / (float)(k * 128 * 16);
    for (size_t i = 0; i < m * k; i++)
        matrices.a[i] = (uint8_t)(extreme ? 0xFF * draw(2) ^ 0x80 * matrices.a_signed : draw(256));
    for (size_t i = 0; i < k * n; i++)
        matrices.b[i] = (uint8_t)(extreme ? 0xFF * draw(2) ^ 0x80 * matrices.b_signed : draw(256));
    bool out_signed = draw(2), in_place = kernels->size == 1; // whatever lies behind a piece counts nothing

    struct int8_gemm gemm = {.kernels = kernels,
                             .m = m,
                             .n = n,
                             .k = k,
                             .unit = in_place ? unit : k,
                             .in_place = in_place,
                             .argument = &matrices,
                             .find = find,
                             .copy = copy,
                             .weights = weights,
                             .scale = scale_of,
                             .row_stride = n + draw(3),
                             .column_stride = 1};
    gemm.numbers = (struct int8_numbers){
        .a_type = matrices.a_signed ? WNNDataType_Int8 : WNNDataType_Uint8,
        .b_type = matrices.b_signed ? WNNDataType_Int8 : WNNDataType_Uint8,
        .a_zero = number(matrices.a_signed, (uint8_t)draw(256)),
        .b_zero = draw(2) ? 0 : number(matrices.b_signed, (uint8_t)draw(256)),
        .finish = {
            .low = bytes ? -100 : -1e9f, .high = bytes ? 27 : 1e9f, .bytes = bytes, .is_signed = out_signed}};
    gemm.numbers.finish.zero = out_signed ? 100 : 128;
    char *packed = allocate(wnn_int8_gemm_packed_bytes(kernels, n, k, gemm.unit));
    int32_t a_zero = gemm.numbers.a_zero;
    gemm.numbers.computes_zero = draw(2);
    if (gemm.numbers.computes_zero)
        gemm.numbers.a_zero = 1;
    wnn_int8_gemm_pack(&gemm, &wnn_serial, packed);
    gemm.numbers.a_zero = a_zero;
    gemm.packed = packed;
    struct parallel several = wnn_serial; // cuts the work as that many threads would
    several.threads = threads;
    char *scratch = allocate(wnn_int8_gemm_scratch(&gemm, threads));
    size_t size = bytes ? 1 : sizeof(float);
    gemm.c = allocate((m * gemm.row_stride + 1) * size);
    memset(gemm.c, 0x55, m * gemm.row_stride * size);
    wnn_int8_gemm_run(&gemm, &several, scratch);
    for (size_t row = 0; row < m; row++) {
        for (size_t column = 0; column < n; column++)
            check(&gemm, &matrices, row, column);
        for (size_t i = n * size; i < gemm.row_stride * size; i++)
            REQUIRE_EQUAL_INT(gemm.c[row * gemm.row_stride * size + i], 0x55);
    }
    free(gemm.c);
    free(scratch);
    free(packed);
    free(matrices.a);
    free(matrices.b);
}

// A row of a depthwise convolution, each result against its sum.
static void run_depthwise(const struct int8_kernels *kernels, size_t channels, size_t columns, size_t rows,
                          size_t step, size_t count, bool is_signed)
{
    size_t groups = (rows + 3) / 4, pixels = (count - 1) * step + columns, room = (channels + 63) / 64 * 64;
    int8_t *weights = allocate(room * columns * groups * 4);
    int32_t *start = allocate(room * sizeof *start);
    float *scale = allocate(room * sizeof *scale), *offset = allocate(room * sizeof *offset);
    uint8_t *in = allocate(pixels * rows * channels), *out = allocate(count * channels + 64);
    const uint8_t **places = allocate(pixels * groups * 4 * sizeof *places);
    for (size_t i = 0; i < pixels * rows * channels; i++)
        in[i] = (uint8_t)draw(256);
    for (size_t i = 0; i < room * columns * groups * 4; i++)
        weights[i] = 0;
    for (size_t p = 0; p < pixels; p++)
        for (size_t r = 0; r < 4 * groups; r++)
            places[p * 4 * groups + r] = in + (p * rows + (r < rows ? r : 0)) * channels;
    int8_t *plain = allocate(columns * rows * channels);
    for (size_t i = 0; i < columns * rows * channels; i++)
        plain[i] = (int8_t)(draw(256) - 128);
    int32_t zero = (int32_t)draw(256) - 128 * is_signed, flip = draw(2);
    struct int8_depthwise work = {channels, columns, groups, step, flip, weights, {start, scale, offset}};
    work.finish.low = (float)((is_signed ? -128 : 0) - zero) + 20;
    work.finish.high = work.finish.low + 150;
    work.finish.zero = zero;
    work.finish.bytes = true;
    work.finish.is_signed = is_signed;
    for (size_t first = 0, width; first < channels; first += width) {
        width = wnn_int8_depthwise_width(channels - first);
        for (size_t i = 0; i < width && first + i < channels; i++) {
            size_t order = wnn_int8_depthwise_order(i, width);
            for (size_t c = 0; c < columns; c++)
                for (size_t r = 0; r < rows; r++)
                    weights[first * columns * groups * 4 + ((c * groups + r / 4) * width + order) * 4 +
                            r % 4] = plain[(c * rows + r) * channels + first + i];
            start[first + order] = (int32_t)(first + i) * 100;
            scale[first + order] = 1.0f / 256;
            offset[first + order] = (float)i;
        }
    }
    memset(out + count * channels, 0x55, 64);
    kernels->depthwise(&work, places, count, out);
    for (size_t i = 0; i < count; i++)
        for (size_t channel = 0; channel < channels; channel++) {
            int32_t sum = (int32_t)channel * 100;
            for (size_t c = 0; c < columns; c++)
                for (size_t r = 0; r < rows; r++)
                    sum += (in[((i * step + c) * rows + r) * channels + channel] ^ (flip ? 0x80 : 0)) *
                           plain[(c * rows + r) * channels + channel];
            size_t last = channels > 64 ? (channels - 1) / 64 * 64 : 0;
            double value = sum / 256.0 + (double)(channel >= last ? channel - last : channel % 64);
            value = fmin(fmax(value, (double)work.finish.low), (double)work.finish.high);
            double got = number(is_signed, out[i * channels + channel]) - zero;
            REQUIRE(fabs(got - value) <= 0.5 + 1e-4);
        }
    for (size_t i = 0; i < 64; i++)
        REQUIRE_EQUAL_INT(out[count * channels + i], 0x55);
    free(weights);
    free(start);
    free(scale);
    free(offset);
    free(in);
    free(out);
    free(places);
    free(plain);
}

static void test_random_products(const struct int8_kernels *kernels)
{
    static const size_t rows[] = {1, 2, 3, 5, 8, 13, 17}, columns[] = {1, 7, 8, 15, 16, 17, 32, 33, 49, 96};
    static const size_t units[] = {1, 2, 3, 4, 7, 8, 16, 33, 68};
    for (unsigned i = 0; i < 600; i++)
        run_case(kernels, rows[draw(7)], columns[draw(10)], units[draw(9)], 1 + draw(4), draw(2),
                 draw(4) == 0, 1 + draw(3));
}

static void test_depthwise(const struct int8_kernels *kernels)
{
    for (unsigned i = 0; kernels->depthwise && i < 400; i++) {
        size_t width = draw(3) ? 3 : 1 + draw(5);
        run_depthwise(kernels, 1 + draw(200), width, draw(2) ? 3 : 1 + draw(6), 1 + draw((uint32_t)width),
                      1 + draw(20), draw(2));
    }
}

static void test_large_products(const struct int8_kernels *kernels)
{
    run_case(kernels, 3, 20, 32000, 1, false, true, 1); // as large as sums become
    run_case(kernels, 9, 2000, 900, 1, true, false, 2); // several blocks of columns
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    const struct cpu_target *target;
    for (unsigned number = 0; (target = wnn_cpu_runnable(number)) != NULL; number++) {
        const struct int8_kernels *kernels = wnn_int8_kernels(target);
        CASE_AS(case_name("random products, %s", target->instructions), test_random_products(kernels));
        CASE_AS(case_name("depthwise, %s", target->instructions), test_depthwise(kernels));
    }
    CASE(test_large_products(wnn_int8_kernels(wnn_cpu_this_processor())));
    return cases_end();
}
