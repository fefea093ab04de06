// SPDX-License-Identifier: Apache-2.0
//
// Products with a matrix of few bits in blocks: right for few and for many rows, in both orders of the
// matrix; and a graph that consists of such matrices needs no more memory than they do once more, packed,
// while it is built and while it runs.

#include "conformance/unit/runtime_fixture.h"
#include "lib/half.h"
#include "ops/expression.h"

#include <math.h>

static uint32_t state = 7;

static uint32_t draw(uint32_t end)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % end;
}

struct matrix {
    WNNDataType type;
    uint32_t dims[2], blocks[2]; // blocks: the shape of the scales
    unsigned char *data, *zeros;
    float *scales;
    uint16_t *halves; // the same, or NULL
};

static size_t bytes_of(WNNDataType type, const uint32_t dims[2])
{
    return wnn_dtype_bytes(type, (size_t)dims[0] * dims[1]);
}

static void *filled(size_t bytes)
{
    unsigned char *data = malloc(bytes);
    REQUIRE(data);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)draw(256);
    return data;
}

static void make_matrix(struct matrix *matrix)
{
    size_t count = (size_t)matrix->blocks[0] * matrix->blocks[1];
    matrix->data = filled(bytes_of(matrix->type, matrix->dims));
    matrix->zeros = filled(bytes_of(matrix->type, matrix->blocks));
    matrix->scales = malloc(count * sizeof(float));
    REQUIRE(matrix->scales);
    for (size_t i = 0; i < count; i++) { // of any sign, or 0: quantizers write both
        unsigned kind = (unsigned)draw(8);
        float size = 0.01f + 0.001f * (float)draw(16);
        matrix->scales[i] = kind == 0 ? 0 : kind < 4 ? -size : size;
    }
}

static void halve_scales(struct matrix *matrix)
{
    size_t count = (size_t)matrix->blocks[0] * matrix->blocks[1];
    matrix->halves = malloc(count * sizeof *matrix->halves);
    REQUIRE(matrix->halves);
    wnn_half_from_float_array(matrix->scales, matrix->halves, count);
    wnn_half_to_float_array(matrix->halves, matrix->scales, count);
}

// To what float16 holds, or bfloat16.
static void round_scales(struct matrix *matrix, bool half)
{
    for (size_t i = 0; i < (size_t)matrix->blocks[0] * matrix->blocks[1]; i++) {
        float *scale = &matrix->scales[i];
        uint32_t bits;
        memcpy(&bits, scale, sizeof bits);
        bits &= UINT32_C(0xFFFF0000);
        if (half)
            *scale = wnn_half_to_float(wnn_half_from_float(*scale));
        else
            memcpy(scale, &bits, sizeof bits);
    }
}

static void free_matrix(const struct matrix *matrix)
{
    free(matrix->data);
    free(matrix->zeros);
    free(matrix->scales);
    free(matrix->halves);
}

static double element(const struct matrix *matrix, uint32_t row, uint32_t column)
{
    size_t at = (size_t)row * matrix->dims[1] + column;
    size_t block = (size_t)(row / (matrix->dims[0] / matrix->blocks[0])) * matrix->blocks[1] +
                   column / (matrix->dims[1] / matrix->blocks[1]);
    return (wnn_number_double(wnn_number_load(matrix->type, matrix->data, at)) -
            wnn_number_double(wnn_number_load(matrix->type, matrix->zeros, block))) *
           (double)matrix->scales[block];
}

// The bytes stay the test's.
static WNNOperand lend(WNNGraphBuilder builder, WNNDataType type, const uint32_t dims[2], const void *data)
{
    WNNOperandDescriptor descriptor = {NULL, type, {dims, 2}};
    WNNExternalBytes bytes = {.data = data, .byteLength = bytes_of(type, dims)};
    return wnnGraphBuilderExternalConstant(builder, &descriptor, &bytes);
}

static WNNOperand dequantize(WNNGraphBuilder builder, const struct matrix *matrix)
{
    WNNOperand scales = matrix->halves ? lend(builder, WNNDataType_Float16, matrix->blocks, matrix->halves)
                                       : lend(builder, WNNDataType_Float32, matrix->blocks, matrix->scales);
    return wnnGraphBuilderDequantizeLinear(builder, lend(builder, matrix->type, matrix->dims, matrix->data),
                                           scales, lend(builder, matrix->type, matrix->blocks, matrix->zeros),
                                           NULL);
}

static WNNOperand transpose(WNNGraphBuilder builder, WNNOperand x)
{
    static const uint32_t permutation[2] = {1, 0};
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){permutation, 2};
    return wnnGraphBuilderTranspose(builder, x, &options);
}

static void run(WNNContext context, WNNGraph graph, const float *x, size_t x_count, float *y, size_t y_count)
{
    WNNNamedBuffer input = {view("x"), (void *)(uintptr_t)x, x_count * sizeof *x, WNNDataType_Float32};
    WNNNamedBuffer output = {view("y"), y, y_count * sizeof *y, WNNDataType_Float32};
    compute_buffers(context, graph, 1, &input, 1, &output);
}

// ---------------------------------------------------------------------------------------------------------------
// Numbers
// ---------------------------------------------------------------------------------------------------------------

static unsigned fused; // products that read their matrix as it is

static void count_fused(const struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++)
        fused += wnn_prologue_scale(graph->nodes[i], 1) > 0;
}

static void test_product(WNNContext context, uint32_t m, uint32_t k, uint32_t n, WNNDataType type,
                         bool turned, bool half, const uint32_t pieces[2])
{
    struct matrix matrix = {.type = type, .dims = {turned ? n : k, turned ? k : n}};
    for (unsigned i = 0; i < 2; i++)
        matrix.blocks[i] = pieces[i] && matrix.dims[i] % pieces[i] == 0 ? matrix.dims[i] / pieces[i] : 1;
    make_matrix(&matrix);
    unsigned rounds = (unsigned)draw(3);
    if (rounds > 0)
        round_scales(&matrix, rounds > 1);
    if (half)
        halve_scales(&matrix);
    float *x = malloc((size_t)m * k * sizeof *x), *y = malloc((size_t)m * n * sizeof *y);
    REQUIRE(x && y);
    for (size_t i = 0; i < (size_t)m * k; i++)
        x[i] = (float)draw(2049) / 1024 - 1; // numbers of either type

    WNNGraphBuilder builder = create_builder(context);
    WNNOperand w = dequantize(builder, &matrix), input = add_input(builder, "x", m, k);
    if (half)
        input = wnnGraphBuilderCast(builder, input, WNNDataType_Float16, NULL);
    WNNOperand product = wnnGraphBuilderMatmul(builder, input, turned ? transpose(builder, w) : w, NULL);
    if (half)
        product = wnnGraphBuilderCast(builder, product, WNNDataType_Float32, NULL);
    WNNNamedOperand output = {view("y"), product};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    count_fused(&wnn_graph_plan(graph)->graph);
    run(context, graph, x, (size_t)m * k, y, (size_t)m * n);
    for (uint32_t i = 0; i < m; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (uint32_t t = 0; t < k; t++) {
                double term =
                    (double)x[(size_t)i * k + t] * (turned ? element(&matrix, j, t) : element(&matrix, t, j));
                sum += term;
                size += fabs(term);
            }
            double bound = half ? 0x1p-11 * (size + fabs(sum)) + 1e-6 : 2e-6 * size + 1e-6;
            REQUIRE(fabs(sum - (double)y[(size_t)i * n + j]) <= bound);
        }
    }
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    free_matrix(&matrix);
    free(x);
    free(y);
}

static void test_products(WNNContext context)
{
    static const WNNDataType types[] = {WNNDataType_Int4, WNNDataType_Uint4, WNNDataType_Int8,
                                        WNNDataType_Uint8};
    static const uint32_t rows[] = {1, 1, 2, 4, 5, 29}, inner[] = {32, 64, 96, 100, 128, 257, 320};
    static const uint32_t columns[] = {48, 64, 127, 128, 256, 300, 385}, lengths[] = {1, 0, 16, 32, 64, 4};
    for (unsigned i = 0; i < (SANITIZED ? 60 : 240); i++) {
        bool turned = draw(2);
        uint32_t usual[2] = {turned ? 1 : 32, turned ? 32 : 1},
                 other[2] = {lengths[draw(6)], lengths[draw(6)]};
        test_product(context, rows[draw(6)], inner[draw(7)], columns[draw(7)], types[draw(4)], turned,
                     draw(4) == 0, draw(2) ? usual : other);
    }
    printf("%u products read their matrix as it is\n", fused);
    REQUIRE(fused >= (SANITIZED ? 60 : 240));
}

// Numbers of x that vary beyond what the loops over integers take: what the separate operators give,
// infinities and all that is not a number, where an integer is its zero point, too.
static void test_extremes(WNNContext context)
{
    static const float numbers[] = {INFINITY, -INFINITY, NAN, 0x1p-140f, -0x1p-126f, 0x1p110f, 0, -0.0f};
    enum {
        K = 64,
        N = 70
    };
    for (unsigned i = 0; i < 64; i++) {
        bool wide = i & 1, turned = i & 2, all = i & 4;
        uint32_t m = i & 8 ? 3 : 1;
        struct matrix matrix = {.type = wide ? WNNDataType_Uint8 : WNNDataType_Uint4,
                                .dims = {turned ? N : K, turned ? K : N},
                                .blocks = {turned ? N : 2, turned ? 2 : N}};
        make_matrix(&matrix);
        float x[3 * K], y[3 * N];
        for (unsigned j = 0; j < m * K; j++)
            x[j] = all ? numbers[3 + i / 16] * (float)(1 + draw(3)) : (float)draw(2049) / 1024 - 1;
        x[draw(m * K)] = numbers[draw(8)];
        WNNGraphBuilder builder = create_builder(context);
        WNNOperand w = dequantize(builder, &matrix), input = add_input(builder, "x", m, K);
        WNNOperand product = wnnGraphBuilderMatmul(builder, input, turned ? transpose(builder, w) : w, NULL);
        WNNNamedOperand output = {view("y"), product};
        WNNGraph graph = build_outputs(context, builder, 1, &output);
        run(context, graph, x, (size_t)m * K, y, (size_t)m * N);
        for (uint32_t r = 0; r < m; r++)
            for (uint32_t j = 0; j < N; j++) {
                double sum = 0, size = 0;
                for (uint32_t t = 0; t < K; t++) {
                    double term =
                        (double)x[r * K + t] * (turned ? element(&matrix, j, t) : element(&matrix, t, j));
                    sum += term;
                    size += fabs(term);
                }
                float got = y[r * N + j];
                bool same = isnan(sum)   ? isnan(got)
                            : isinf(sum) ? (double)got == sum
                                         : fabs(sum - (double)got) <= 2e-6 * size + 0x1p-140;
                REQUIRE(same);
            }
        wnnGraphRelease(graph);
        wnnGraphBuilderRelease(builder);
        free_matrix(&matrix);
    }
}

static uint64_t weight_bytes(WNNContext context, const struct matrix *matrix)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", 1, matrix->dims[1]);
    WNNNamedOperand output = {
        view("y"), wnnGraphBuilderMatmul(builder, x, transpose(builder, dequantize(builder, matrix)), NULL)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnGraphGetInfo(graph, &info), WNNStatus_Success);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    return info.weightBytes;
}

// Scales that two bytes hold take two.
static void test_scales(WNNContext context)
{
    enum {
        WIDTH = 256,
        BLOCKS = WIDTH * WIDTH / 32
    };
    uint64_t bytes[3];
    for (unsigned i = 0; i < 3; i++) {
        struct matrix matrix = {WNNDataType_Uint4, {WIDTH, WIDTH}, {WIDTH, WIDTH / 32}};
        make_matrix(&matrix);
        if (i > 0)
            round_scales(&matrix, i > 1);
        bytes[i] = weight_bytes(context, &matrix);
        free_matrix(&matrix);
    }
    REQUIRE_EQUAL_INT(bytes[0] - bytes[1], 2 * BLOCKS);
    REQUIRE_EQUAL_INT(bytes[0] - bytes[2], 2 * BLOCKS);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------------------

// A line of /proc/self/status; -1 where there is none.
static long status_kilobytes(const char *name)
{
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name), NULL, 10);
    if (file)
        fclose(file);
    return value;
}

static void test_memory(WNNContext context)
{
    enum {
        WIDTH = 2048,
        LAYERS = 12,
        BLOCK = 32,
        SLACK = 8 * 1024 // kilobytes
    };
    long before = status_kilobytes("VmRSS:");
    struct matrix matrices[LAYERS];
    size_t bytes = 0;
    for (unsigned i = 0; i < LAYERS; i++) {
        matrices[i] = (struct matrix){
            WNNDataType_Uint4, {WIDTH, WIDTH}, {WIDTH, WIDTH / BLOCK}, NULL, NULL, NULL, NULL};
        make_matrix(&matrices[i]);
        bytes += bytes_of(WNNDataType_Uint4, matrices[i].dims) +
                 bytes_of(WNNDataType_Uint4, matrices[i].blocks) +
                 bytes_of(WNNDataType_Float32, matrices[i].blocks);
    }
    float *x = calloc(WIDTH * 16, sizeof *x), *y = calloc(WIDTH * 16, sizeof *y);
    REQUIRE(x && y);
    for (uint32_t rows = 1; rows <= 16; rows += 15) {
        WNNGraphBuilder builder = create_builder(context);
        WNNOperand operand = add_input(builder, "x", rows, WIDTH);
        for (unsigned i = 0; i < LAYERS; i++)
            operand = wnnGraphBuilderMatmul(builder, operand,
                                            transpose(builder, dequantize(builder, &matrices[i])), NULL);
        WNNNamedOperand output = {view("y"), operand};
        WNNGraph graph = build_outputs(context, builder, 1, &output);
        run(context, graph, x, rows * WIDTH, y, rows * WIDTH);
        wnnGraphRelease(graph);
        wnnGraphBuilderRelease(builder);
    }
    long peak = status_kilobytes("VmHWM:"), packed = (long)(bytes / 1024);
    printf("weights of %ld kB, peak memory %ld kB more than before\n", packed, peak - before);
    // The matrices stay the caller's here, and are packed beside.
    REQUIRE(before < 0 || SANITIZED || peak - before <= packed * 215 / 100 + SLACK);
    for (unsigned i = 0; i < LAYERS; i++)
        free_matrix(&matrices[i]);
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    CASE(test_memory(context)); // first, before the process has had a peak of its own
    CASE(test_products(context));
    CASE(test_extremes(context));
    CASE(test_scales(context));
    wnnContextRelease(context);
    return cases_end();
}
