// SPDX-License-Identifier: Apache-2.0
//
// Rows that are rounded to integers before they meet strips of n-bit weights (WNNNumerics_Fast): sums of all
// kernels that this processor has are exact, at the ends of the range too; rounding is as good as the header
// says; and contexts say no to two kinds of numerics at once. Rows in fixed point are as good as floats, and
// those of which something would be lost are refused.

#include "conformance/unit/runtime_fixture.h"
#include "conformance/unit/trapped_tiles.h"
#include "cpu/matmul/strips_int8.h"

#include <math.h>

#define MOST_ROWS 32 // that meet a strip at once here

static uint32_t state = 5;

static uint32_t draw(uint32_t end)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % end;
}

static void *cleared(size_t bytes)
{
    void *data = aligned_alloc(64, (bytes + 127) / 64 * 64);
    REQUIRE(data);
    memset(data, 0, (bytes + 127) / 64 * 64);
    return data;
}

// ---------------------------------------------------------------------------------------------------------------
// Kernels
// ---------------------------------------------------------------------------------------------------------------

// A matrix of integers as strips have them: from 0 to 15, or from -128 to 127.
struct packed {
    struct strips strips;
    int *integers, *zeros; // [k][n], [blocks][n]
    float *scales;         // [blocks][n]
};

static struct packed make_packed(size_t n, size_t k, size_t block, bool nibbles, bool zeros, bool ends)
{
    struct packed p = {.strips = {n, k, block, nibbles, false, zeros, NULL}};
    size_t blocks = k / block;
    unsigned char *bytes = cleared(wnn_strips_bytes(&p.strips));
    p.integers = cleared(k * n * sizeof(int));
    p.zeros = cleared(blocks * n * sizeof(int));
    p.scales = cleared(blocks * n * sizeof(float));
    for (size_t j = 0; j < n; j++)
        for (size_t b = 0; b < blocks; b++) {
            struct strip_column to = wnn_strip_column(&p.strips, bytes, j, b);
            // Sums of what is at the ends of the range are as large as float32 holds.
            float scale = (float)(1 << (ends ? 0 : draw(3))) * (draw(2) ? 1 : -1);
            int least = nibbles ? 0 : -128, span = nibbles ? 16 : 256;
            int zero = zeros ? least + (int)draw((uint32_t)span) : nibbles ? 8 : 0;
            memcpy(to.scale, &scale, sizeof scale);
            if (zeros)
                *to.zero = (unsigned char)zero;
            p.zeros[b * n + j] = zero;
            p.scales[b * n + j] = scale;
            for (size_t t = 0; t < block; t++) {
                int value = least + (ends ? (draw(4) ? 0 : span - 1) : (int)draw((uint32_t)span));
                p.integers[(b * block + t) * n + j] = value;
                if (nibbles)
                    to.integers[t / 8 * to.stride + t % 8 / 2] |= (unsigned char)(value << t % 2 * 4);
                else
                    to.integers[t / 4 * to.stride + t % 4 * WNN_STRIP] = (unsigned char)value;
            }
        }
    p.strips.packed = bytes;
    return p;
}

static void free_packed(const struct packed *p)
{
    free((void *)(uintptr_t)p->strips.packed);
    free(p->integers);
    free(p->zeros);
    free(p->scales);
}

static double exact(const struct packed *p, const float *x, size_t column)
{
    const struct strips *s = &p->strips;
    double sum = 0;
    for (size_t t = 0, at = column; t < s->k; at += s->n) {
        double block = 0;
        int zero = p->zeros[at];
        for (size_t end = t + s->block; t < end; t++)
            block += (double)x[t] * (p->integers[t * s->n + column] - zero);
        sum += block * (double)p->scales[at];
    }
    return sum;
}

static struct strip_int8_rows allocate_rows(const struct strips *strips, size_t tile, size_t tiles)
{
    size_t runs = tiles * tile * wnn_strip_runs(strips);
    return (struct strip_int8_rows){cleared(tiles * tile * wnn_strip_int8_row_bytes(strips)),
                                    cleared(runs * sizeof(float)), cleared(runs * sizeof(int32_t)),
                                    cleared(tiles * sizeof(bool))};
}

static void free_rows(const struct strip_int8_rows *rows)
{
    free(rows->x);
    free(rows->scales);
    free(rows->starts);
    free(rows->extreme);
}

// Integers of which each run has one of the largest size are not rounded, and all results are integers that
// float32 holds.
static void test_integers(const struct strip_int8_kernels *kernels, size_t m, size_t n, size_t k,
                          size_t block, bool nibbles, bool zeros, bool ends)
{
    struct packed p = make_packed(n, k, block, nibbles, zeros, ends);
    kernels = wnn_strip_int8_on_tiles(kernels, &p.strips, m);
    size_t tile_rows = wnn_strip_int8_tile(kernels), tiles = (m + tile_rows - 1) / tile_rows;
    size_t strips = (n + WNN_STRIP - 1) / WNN_STRIP;
    struct strip_int8_rows rows = allocate_rows(&p.strips, tile_rows, tiles);
    float *x = cleared(m * k * sizeof *x), totals[MOST_ROWS * WNN_STRIP_GROUP * WNN_STRIP];
    struct tile_file *file = cleared(sizeof *file);
    for (size_t i = 0; i < m * k; i++) {
        bool first = i % k % block % WNN_STRIP_RUN == 0;
        x[i] = (float)(ends || first ? (draw(4) ? 127 : -127) : (int)draw(255) - 127);
    }
    wnn_strip_int8_prepare(kernels, &p.strips, x, m, 0, tiles, &rows);
    for (size_t row = 0, height; row < m; row += height) {
        height = wnn_min(tile_rows * (1 + draw((uint32_t)(MOST_ROWS / tile_rows))), m - row);
        REQUIRE(!rows.extreme[row / tile_rows]);
        for (size_t strip = 0, count; strip < strips; strip += count) {
            count = wnn_min(WNN_STRIP_GROUP - strip % WNN_STRIP_GROUP, 1 + draw(WNN_STRIP_GROUP));
            count = wnn_min(count, strips - strip);
            wnn_strip_int8_multiply(kernels, file, &p.strips, &rows, row, (unsigned)height, strip, count,
                                    totals);
            for (size_t i = 0; i < height; i++)
                for (size_t j = 0; j < count * WNN_STRIP && strip * WNN_STRIP + j < n; j++) {
                    double sum = exact(&p, x + (row + i) * k, strip * WNN_STRIP + j);
                    REQUIRE((double)totals[i * WNN_STRIP_GROUP * WNN_STRIP + j] == sum);
                }
        }
    }
    wnn_strip_int8_end(kernels, file);
    free_rows(&rows);
    free_packed(&p);
    free(x);
    free(file);
}

static void test_kernels(void)
{

    // Sums of octets are as large as float32 holds sooner.
    static const size_t blocks[] = {8, 16, 20, 32, 33, 48, 64, 128, 850};
    const struct cpu_target *target;
    for (unsigned number = 0; (target = wnn_cpu_runnable(number)); number++) {
        const struct strip_int8_kernels *kernels = wnn_strip_int8_kernels(target);
        for (unsigned i = 0; i < 120 && kernels; i++) {
            bool nibbles = i & 1;
            size_t block = blocks[draw(nibbles ? 9 : 8)], n = 1 + draw(block > 128 ? 50 : 200);
            test_integers(kernels, 1 + draw(50), n, block * (1 + draw(nibbles && block <= 128 ? 6 : 3)),
                          block, nibbles, i & 2, i & 4);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Fixed point
// ---------------------------------------------------------------------------------------------------------------

static struct strip_fixed_rows allocate_fixed(const struct strips *strips, size_t m)
{
    size_t runs = wnn_strip_runs(strips) * WNN_STRIP_FIXED_ROWS;
    return (struct strip_fixed_rows){m, cleared(wnn_strip_words(strips) * WNN_STRIP_FIXED_WORD),
                                     cleared(runs * sizeof(float)), cleared(2 * runs * sizeof(int32_t))};
}

static void free_fixed(const struct strip_fixed_rows *rows)
{
    free(rows->x);
    free(rows->units);
    free(rows->sums);
}

// How far a product of a row and a column may be from the exact one: terms are off by half of the last bit
// that the largest of their run has in 31, and sums of runs are rounded as float32 is.
static double fixed_bound(const struct packed *p, const float *x, size_t column)
{
    const struct strips *s = &p->strips;
    double bound = 0;
    for (size_t t = 0; t < s->k; t += s->block)
        for (size_t run = 0; run < s->block; run += WNN_STRIP_RUN) {
            double largest = 0, weights = 0, sum = 0;
            for (size_t i = run; i < wnn_min(run + WNN_STRIP_RUN, s->block); i++) {
                int weight = p->integers[(t + i) * s->n + column] - p->zeros[t / s->block * s->n + column];
                largest = fmax(largest, fabs((double)x[t + i]));
                weights += abs(weight);
                sum += fabs((double)x[t + i]) * abs(weight);
            }
            bound += (largest * 0x1p-30 * weights + sum * 0x1p-21) *
                     fabs((double)p->scales[t / s->block * s->n + column]);
        }
    return bound;
}

static void test_fixed_rows(const struct strip_int8_kernels *kernels, size_t m, size_t n, size_t k,
                            size_t block, bool nibbles, bool zeros, bool ends)
{
    struct packed p = make_packed(n, k, block, nibbles, zeros, ends);
    struct strip_fixed_rows rows = allocate_fixed(&p.strips, m);
    size_t strips = (n + WNN_STRIP - 1) / WNN_STRIP, blocks = k / block;
    float *x = cleared(m * k * sizeof *x), magnitude = ldexpf(1, (int)draw(160) - 80);
    for (size_t i = 0; i < m * k; i++)
        x[i] = ends ? (draw(8) ? magnitude : -magnitude) : ((float)draw(1 << 24) * 0x1p-23f - 1) * magnitude;
    REQUIRE(wnn_strip_fixed_prepare(&p.strips, x, &rows));
    for (size_t strip = 0, count; strip < strips; strip += count) {
        float totals[WNN_STRIP_FIXED_ROWS * WNN_STRIP_GROUP * WNN_STRIP] = {0};
        size_t middle = draw((uint32_t)blocks + 1);
        count = wnn_min(WNN_STRIP_GROUP - strip % WNN_STRIP_GROUP, 1 + draw(WNN_STRIP_GROUP));
        count = wnn_min(count, strips - strip);
        wnn_strip_fixed_multiply(kernels, &p.strips, &rows, strip, count, 0, middle, totals);
        wnn_strip_fixed_multiply(kernels, &p.strips, &rows, strip, count, middle, blocks, totals);
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < count * WNN_STRIP && strip * WNN_STRIP + j < n; j++) {
                size_t column = strip * WNN_STRIP + j;
                double sum = exact(&p, x + i * k, column), bound = fixed_bound(&p, x + i * k, column);
                REQUIRE(fabs((double)totals[i * WNN_STRIP_GROUP * WNN_STRIP + j] - sum) <= bound);
            }
    }
    free_fixed(&rows);
    free_packed(&p);
    free(x);
}

static void test_fixed(void)
{
    static const size_t blocks[] = {8, 16, 20, 32, 33, 48, 64, 128, 300};
    const struct cpu_target *target;
    for (unsigned number = 0; (target = wnn_cpu_runnable(number)); number++) {
        const struct strip_int8_kernels *kernels = wnn_strip_int8_kernels(target);
        for (unsigned i = 0; i < 200; i++) {
            size_t block = blocks[draw(9)], n = 1 + draw(200);
            unsigned most = wnn_strip_fixed_most(kernels, &(struct strips){.nibbles = i & 1});
            if (!most)
                continue;
            test_fixed_rows(kernels, 1 + draw(most), n, block * (1 + draw(3)), block, i & 1, i & 2, i & 4);
        }
    }
}

// Of 64 terms, half are one number and others.
static bool takes(float number, float others)
{
    struct packed p = make_packed(16, 64, 64, true, false, false);
    struct strip_fixed_rows rows = allocate_fixed(&p.strips, 1);
    float x[64];
    for (size_t i = 0; i < 64; i++)
        x[i] = i < 32 ? 1 : others;
    x[50] = number;
    bool takes = wnn_strip_fixed_prepare(&p.strips, x, &rows);
    free_fixed(&rows);
    free_packed(&p);
    return takes;
}

// Numbers are taken if none of a run is so much larger than the others that these would lose what counts.
static void test_fixed_refusals(void)
{
    REQUIRE(takes(0, 0) && takes(1, 1) && takes(1, 0) && takes(-0.0f, 0x1p-80f) && takes(-0x1p99f, 0));
    REQUIRE(takes(1000, 1) && takes(-1, 0x1p-14f) && takes(0x1p14f, 1));
    REQUIRE(!takes(0x1p20f, 1) && !takes(-0x1p30f, 1) && !takes(1, 0x1p-80f));
    REQUIRE(!takes(INFINITY, 1) && !takes(-INFINITY, INFINITY) && !takes(NAN, 1) && !takes(0, NAN));
    REQUIRE(!takes(0x1p101f, 0x1p100f) && !takes(0x1p-100f, 0x1p-101f) && !takes(0x1p-140f, 0));
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand constant(WNNGraphBuilder builder, WNNDataType type, uint32_t rows, uint32_t columns,
                           const void *data)
{
    uint32_t dims[2] = {rows, columns};
    WNNOperandDescriptor descriptor = {NULL, type, {dims, 2}};
    return wnnGraphBuilderConstant(builder, &descriptor, data, wnn_dtype_bytes(type, (size_t)rows * columns));
}

// y of a matmul of x [m, k] by a matrix [k, n] of random integers in blocks of 32 terms.
struct product {
    uint32_t m, k, n;
    unsigned char *integers, *zeros;
    float *scales;
    bool nibbles;
};

static struct product make_product(uint32_t m, uint32_t k, uint32_t n, bool nibbles)
{
    struct product p = {
        m, k, n, cleared(k * n), cleared(k / 32 * n), cleared(k / 32 * n * sizeof(float)), nibbles};
    for (size_t i = 0; i < (size_t)k * n; i++)
        p.integers[i] = (unsigned char)draw(256);
    for (size_t i = 0; i < k / 32 * n; i++) {
        p.zeros[i] = (unsigned char)draw(256);
        p.scales[i] = (0.5f + (float)draw(512) / 1024) * (draw(2) ? 0.01f : -0.01f);
    }
    return p;
}

static double weight(const struct product *p, size_t term, size_t column)
{
    size_t at = term * p->n + column, block = term / 32 * p->n + column;
    int value = p->nibbles ? p->integers[at / 2] >> at % 2 * 4 & 15 : p->integers[at];
    int zero = p->nibbles ? p->zeros[block / 2] >> block % 2 * 4 & 15 : p->zeros[block];
    return (value - zero) * (double)p->scales[block];
}

static void free_product(const struct product *p)
{
    free(p->integers);
    free(p->zeros);
    free(p->scales);
}

// Whether it was in integers.
static bool multiply(WNNContext context, const struct product *p, const float *x, float *y)
{
    WNNDataType type = p->nibbles ? WNNDataType_Uint4 : WNNDataType_Uint8;
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand w =
        wnnGraphBuilderDequantizeLinear(builder, constant(builder, type, p->k, p->n, p->integers),
                                        constant(builder, WNNDataType_Float32, p->k / 32, p->n, p->scales),
                                        constant(builder, type, p->k / 32, p->n, p->zeros), NULL);
    WNNOperand product = wnnGraphBuilderMatmul(builder, add_input(builder, "x", p->m, p->k), w, NULL);
    WNNNamedOperand output = {view("y"), product};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    WNNNamedBuffer in = {view("x"), (void *)(uintptr_t)x, (size_t)p->m * p->k * sizeof *x,
                         WNNDataType_Float32};
    WNNNamedBuffer out = {view("y"), y, (size_t)p->m * p->n * sizeof *y, WNNDataType_Float32};
    compute_buffers(context, graph, 1, &in, 1, &out);
    WNNNodeInfo node = WNN_NODE_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnGraphGetNodes(graph, 1, &node, NULL), WNNStatus_Success);
    bool rounded = strstr(node.kernel.data, "integers") != NULL;
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    return rounded;
}

// Not further from the exact product than the header says; the same for any number of threads.
static void test_error(WNNContext fast, WNNContext threads)
{
    static const uint32_t heights[] = {1, 2, 7, 8, 33, 130};
    for (unsigned i = 0; i < 24; i++) {
        uint32_t terms = 32 * (1 + draw(9)), columns = 2 * (1 + draw(150));
        struct product p = make_product(heights[i % 6], terms, columns, i / 6 % 2);
        size_t m = p.m, k = p.k, n = p.n;
        float *x = cleared(m * k * sizeof *x), *y = cleared(m * n * sizeof *y),
              *z = cleared(m * n * sizeof *z);
        for (size_t j = 0; j < m * k; j++)
            x[j] = ((float)draw(2049) / 1024 - 1) * (float)(1 + draw(100));
        bool rounded = multiply(fast, &p, x, y);
        multiply(threads, &p, x, z);
        // A few columns, or numbers, are better off as floats.
        REQUIRE(n < WNN_STRIP || n * k < 1024
                    ? !rounded || m > 1
                    : rounded ==
                          wnn_strip_int8_is_faster(wnn_strip_int8_kernels(wnn_cpu_this_processor()), m));
        REQUIRE(memcmp(y, z, m * n * sizeof *y) == 0);
        for (size_t r = 0; r < m; r++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0, size = 0, bound = 0;
                for (size_t t = 0; t < k; t += 32) {
                    double largest = 0, weights = 0;
                    for (size_t s = t; s < t + 32; s++) {
                        double term = (double)x[r * k + s] * weight(&p, s, j);
                        largest = fmax(largest, fabs((double)x[r * k + s]));
                        weights += fabs(weight(&p, s, j));
                        sum += term;
                        size += fabs(term);
                    }
                    bound += largest / 254 * weights;
                }
                REQUIRE(fabs(sum - (double)y[r * n + j]) <= bound * 1.0001 + 4e-6 * size);
            }
        free_product(&p);
        free(x);
        free(y);
        free(z);
    }
}

// The same bits as with vectors.
static void test_tiles(WNNContext fast, WNNContext threads, enum tiles tiles)
{
    static const uint32_t heights[] = {8, 9, 16, 23, 32, 70};
    for (unsigned i = 0; i < 24; i++) {
        uint32_t terms = 32 * (1 + draw(9)), columns = 2 * (16 + draw(150));
        struct product p = make_product(heights[i % 6], terms, columns, i / 6 % 2);
        size_t m = p.m, k = p.k, n = p.n;
        float *x = cleared(m * k * sizeof *x), *y = cleared(m * n * sizeof *y),
              *z = cleared(m * n * sizeof *z);
        for (size_t j = 0; j < m * k; j++)
            x[j] = ((float)draw(2049) / 1024 - 1) * (float)(1 + draw(100));
        wnn_tiles_force(WNN_TILES_NONE);
        REQUIRE(multiply(fast, &p, x, y));
        wnn_tiles_force(tiles);
        multiply(i % 2 ? threads : fast, &p, x, z);
        REQUIRE(memcmp(y, z, m * n * sizeof *y) == 0);
        free_product(&p);
        free(x);
        free(y);
        free(z);
    }
}

// Numbers that cannot be rounded give what they give without.
static void test_extremes(WNNContext fast, WNNContext plain)
{
    static const float numbers[] = {INFINITY, -INFINITY, NAN, 0x1p-140f, 0x1p110f};
    for (unsigned i = 0; i < 10; i++) {
        struct product p = make_product(20, 64, 70, i & 1);
        float x[20 * 64], y[20 * 70], z[20 * 70];
        for (size_t j = 0; j < 20 * 64; j++)
            x[j] = j < 32 && i / 2 == 3 ? 0 : (float)draw(2049) / 1024 - 1;
        x[draw(32)] = numbers[i / 2];
        multiply(fast, &p, x, y);
        multiply(plain, &p, x, z);
        for (size_t j = 0; j < 20 * 70; j++)
            REQUIRE(isnan(y[j]) ? isnan(z[j]) : y[j] == z[j]);
        free_product(&p);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Contexts
// ---------------------------------------------------------------------------------------------------------------

static WNNStatus create(WNNNumerics numerics, bool strict, uint32_t threads, WNNContext *context)
{
    WNNContextNumerics chained = WNN_CONTEXT_NUMERICS_INIT;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    chained.numerics = numerics;
    descriptor.nextInChain = &chained.chain;
    descriptor.strictNumerics = strict;
    descriptor.threadCount = threads;
    return wnnCreateContext(&descriptor, context);
}

static void test_contexts(void)
{
    WNNContext context;
    REQUIRE_EQUAL_INT(create(WNNNumerics_Fast, true, 1, &context), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(create(WNNNumerics_Default, true, 1, &context), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(create((WNNNumerics)0, false, 1, &context), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(create((WNNNumerics)4, false, 1, &context), WNNStatus_TypeError);
    REQUIRE(!context);
    REQUIRE_EQUAL_INT(create(WNNNumerics_Strict, true, 1, &context), WNNStatus_Success);
    wnnContextRelease(context);
    // Strict and the default do not round.
    struct product p = make_product(8, 64, 64, true);
    float x[8 * 64] = {1}, y[8 * 64];
    for (int i = 1; i <= 2; i++) {
        REQUIRE_EQUAL_INT(create((WNNNumerics)i, false, 1, &context), WNNStatus_Success);
        REQUIRE(!multiply(context, &p, x, y));
        wnnContextRelease(context);
    }
    free_product(&p);
}

int main(int argc, char **argv)
{
    WNNContext fast, threads, plain;
    cases_begin(argc, argv);
    REQUIRE_EQUAL_INT(create(WNNNumerics_Fast, false, 1, &fast), WNNStatus_Success);
    REQUIRE_EQUAL_INT(create(WNNNumerics_Fast, false, 3, &threads), WNNStatus_Success);
    REQUIRE_EQUAL_INT(create(WNNNumerics_Default, false, 1, &plain), WNNStatus_Success);
    const char *names[] = {"vectors", "emulated tiles", "AMX"};
    enum tiles last = WNN_TILES_AMX;
    if (wnn_tiles() != WNN_TILES_AMX) {
        names[WNN_TILES_AMX] = "AMX trapped";
        last = trap_tiles() ? WNN_TILES_AMX : WNN_TILES_EMULATED;
    }
    for (enum tiles tiles = WNN_TILES_NONE; tiles <= last; tiles++) {
        wnn_tiles_force(tiles);
        CASE_AS(case_name("kernels, %s", names[tiles]), test_kernels());
        if (wnn_strip_int8_kernels(wnn_cpu_this_processor()))
            CASE_AS(case_name("tiles, %s", names[tiles]), test_tiles(fast, threads, tiles));
        CASE_AS(case_name("error, %s", names[tiles]), test_error(fast, threads));
        CASE_AS(case_name("extremes, %s", names[tiles]), test_extremes(fast, plain));
    }
    CASE(test_fixed());
    CASE(test_fixed_refusals());
    CASE(test_contexts());
    wnnContextRelease(fast);
    wnnContextRelease(threads);
    wnnContextRelease(plain);
    return cases_end();
}
