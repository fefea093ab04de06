// SPDX-License-Identifier: Apache-2.0
//
// Products of bytes on tiles: sums of their loops against plain ones, and whole products and graphs bit for
// bit against vectors. Tiles are emulated, and once more those of the processor, whose instructions are
// trapped where it has none.

#include "conformance/unit/runtime_fixture.h"
#include "conformance/unit/trapped_tiles.h"
#include "cpu/matmul/gemm.h"
#include "cpu/matmul/int8.h"
#include "cpu/matmul/int8_tiles.h"

#include <signal.h>
#if WNN_X86_64
#include <cpuid.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

static uint32_t state = 1;

static uint32_t draw(uint32_t end)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % end;
}

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    REQUIRE(memory);
    return memory;
}

static uint8_t *random_bytes(size_t count, bool extreme)
{
    uint8_t *bytes = malloc(count);
    REQUIRE(bytes);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(extreme ? 0x7F + draw(2) + draw(2) * 0x80 : draw(256));
    return bytes;
}

static bool trapped_amx; // there is none

// Whether this thread has been left with tiles in use, as the processor sees it, if it tells.
static bool has_tiles_in_use(enum tiles tiles, bool guess)
{
    if (trapped_amx && tiles == WNN_TILES_AMX)
        return has_trapped_tiles_in_use();
#if WNN_X86_64
    unsigned eax, ebx, ecx, edx, low, high;
    if (tiles == WNN_TILES_AMX) {
        if (!__get_cpuid_count(0xD, 1, &eax, &ebx, &ecx, &edx) || !(eax & 4))
            return guess;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
        return low >> 17 & 3;
    }
#endif
    (void)tiles;
    (void)guess;
    return wnn_emulated_is_configured();
}

// ---------------------------------------------------------------------------------------------------------------
// Loops
// ---------------------------------------------------------------------------------------------------------------

static void count_call(void *count)
{
    ++*(size_t *)count;
}

// Rows are `stride` bytes apart, and copied for the last step as who calls the loops does it.
static void check_sums(const struct int8_tile_loops *loops, struct tile_file *file, unsigned rows,
                       size_t groups, unsigned vectors, bool a_signed, bool extreme)
{
    size_t in_step = wnn_min(groups, WNN_INT8_TILE_GROUPS), steps = (groups + in_step - 1) / in_step;
    size_t stride = 4 * groups + draw(3), columns = vectors * WNN_TILE_ROWS, over = steps * in_step - groups;
    // Nothing lies behind the last byte.
    uint8_t *a = random_bytes((rows - 1) * stride + 4 * groups, extreme);
    uint8_t *b = random_bytes(4 * groups * columns, extreme), *last = allocate(rows * WNN_TILE_BYTES);
    struct int8_tile_rows *at = allocate(2 * steps * sizeof *at);
    for (size_t step = 0; step < steps; step++)
        for (size_t half = 0; half < 2; half++)
            at[2 * step + half] =
                (struct int8_tile_rows){a + half * WNN_TILE_ROWS * stride + 4 * step * in_step, stride};
    for (unsigned r = 0; r < rows && over > 0; r++) {
        memset(last + r * WNN_TILE_BYTES, 0, 4 * over);
        memcpy(last + r * WNN_TILE_BYTES + 4 * over, a + r * stride + 4 * (steps - 1) * in_step,
               4 * (in_step - over));
    }
    for (size_t half = 0; half < 2 && over > 0; half++)
        at[2 * (steps - 1) + half] =
            (struct int8_tile_rows){last + half * WNN_TILE_ROWS * WNN_TILE_BYTES, WNN_TILE_BYTES};
    size_t called = 0;
    struct int8_tile_product product = {at, steps, groups, b, vectors, a_signed, count_call, &called};
    int32_t sums[WNN_INT8_TILE_ROWS][WNN_INT8_TILE_COLUMNS];
    memset(sums, 0x55, sizeof sums);
    loops->configure(file, rows, (unsigned)in_step);
    loops->multiply(file, &product, sums);
    REQUIRE_EQUAL_INT(called, steps);
    for (size_t r = 0; r < WNN_INT8_TILE_ROWS; r++)
        for (size_t j = 0; j < WNN_INT8_TILE_COLUMNS; j++) {
            int64_t sum = 0;
            for (size_t k = 0; k < 4 * groups && r < rows && j < columns; k++) {
                uint8_t left = a[r * stride + k], right = b[(k / 4 * columns + j) * 4 + k % 4];
                sum += a_signed ? (int8_t)left * right : left * (int8_t)right;
            }
            REQUIRE_EQUAL_INT(sums[r][j], r < rows && j < columns ? (int32_t)sum : 0x55555555);
        }
    free(a);
    free(b);
    free(last);
    free(at);
}

static void test_loops(enum tiles tiles)
{
    static const size_t groups[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 48, 100};
    const struct int8_tile_loops *loops = wnn_int8_tile_loops(tiles);
    struct tile_file *file = allocate(sizeof *file);
    file->config.palette = 0;
    for (unsigned i = 0; i < 400; i++) {
        check_sums(loops, file, draw(3) ? 1 + draw(32) : 32, groups[draw(11)], 1 + draw(2), draw(2),
                   draw(4) == 0);
        if (draw(8) == 0)
            loops->release(file);
    }
    loops->configure(file, 1, 1);
    REQUIRE(has_tiles_in_use(tiles, true));
    loops->release(file);
    loops->release(file);
    REQUIRE(!has_tiles_in_use(tiles, false));
    free(file);
}

// ---------------------------------------------------------------------------------------------------------------
// Products
// ---------------------------------------------------------------------------------------------------------------

struct matrices {
    const uint8_t *a, *b; // [m, k], rows of a `stride` bytes apart; [k, n]
    size_t stride;
    bool odd; // rows are not equally far apart
    float scale;
};

static const uint8_t *row_of(const struct matrices *matrices, size_t row)
{
    return matrices->a + (matrices->odd ? row ^ 1 : row) * matrices->stride;
}

static void find(const struct int8_gemm *gemm, size_t row, unsigned count, const void **pointers,
                 uint8_t *room)
{
    const struct matrices *matrices = gemm->argument;
    size_t bytes = wnn_round_up(gemm->unit, 4);
    for (size_t s = 0; s < gemm->k / gemm->unit; s++)
        for (unsigned r = 0; r < count; r++) {
            const uint8_t *from = row_of(matrices, row + r) + s * gemm->unit;
            if (gemm->copies && draw(2)) {
                from = memcpy(room, from, gemm->unit);
                room += bytes;
            }
            pointers[s * gemm->kernels->mr + r] = from;
        }
}

static void copy(const struct int8_gemm *gemm, size_t row, uint8_t *to)
{
    memcpy(to, row_of(gemm->argument, row), gemm->k);
}

static void weights(const struct int8_gemm *gemm, size_t term, size_t count, size_t column, uint8_t *to)
{
    const struct matrices *matrices = gemm->argument;
    wnn_int8_gather(matrices->b + term * gemm->n + column, gemm->n, count, to);
}

static void scale_of(const struct int8_gemm *gemm, size_t column, float *scale, float *offset)
{
    const struct matrices *matrices = gemm->argument;
    *scale = matrices->scale * (float)(1 + column % 7);
    *offset = 0.25f * (float)column;
}

static size_t place(const struct int8_gemm *gemm, size_t row)
{
    return row * (gemm->column_stride == 1 ? gemm->row_stride : 1);
}

// The bytes of C, computed on such tiles.
static char *multiply(const struct int8_gemm *description, enum tiles tiles, unsigned threads,
                      const struct interrupt *interrupt)
{
    struct int8_gemm gemm = *description;
    struct parallel several = wnn_parallel_alone(interrupt); // cuts the work as that many threads would
    size_t bytes = gemm.m * gemm.row_stride * (gemm.numbers.finish.bytes ? 1 : sizeof(float));
    several.threads = threads;
    gemm.c = allocate(bytes);
    memset(gemm.c, 0x55, bytes);
    char *scratch = allocate(wnn_int8_gemm_scratch(&gemm, threads));
    wnn_tiles_force(tiles);
    wnn_int8_gemm_run(&gemm, &several, scratch);
    REQUIRE(!has_tiles_in_use(tiles, false));
    free(scratch);
    return gemm.c;
}

static void compare_products(const struct int8_kernels *kernels, enum tiles tiles)
{
    static const size_t units[] = {4, 7, 16, 33, 36, 64, 100, 128, 200};
    size_t m = 8 + draw(draw(2) ? 90 : 10), n = 1 + draw(150), unit = units[draw(9)], pieces = 1 + draw(4);
    unsigned how = draw(3); // in place, with copies, copied
    if (unit * n < 1024)
        n += 1024 / unit;
    m += (1u << 17) / (n * unit * pieces);
    size_t k = unit * pieces;
    struct matrices matrices = {.stride = k + draw(2), .odd = draw(2), .scale = 0.01f / (float)k};
    bool extreme = draw(4) == 0, bytes = draw(2), out_signed = draw(2), far = draw(4) == 0;
    uint8_t *a = random_bytes((m + 1) * matrices.stride + 4, extreme), *b = random_bytes(k * n, extreme);
    matrices.a = a;
    matrices.b = b;
    struct int8_gemm gemm = {.kernels = kernels,
                             .m = m,
                             .n = n,
                             .k = k,
                             .unit = how < 2 ? unit : k,
                             .in_place = how < 2,
                             .copies = how == 1,
                             .even = how == 0 && pieces == 1 && !matrices.odd,
                             .argument = &matrices,
                             .find = find,
                             .copy = copy,
                             .weights = weights,
                             .scale = scale_of,
                             .row_stride = n + (far ? 0 : draw(3)),
                             .column_stride = far ? m : 1,
                             .place = far || draw(4) == 0 ? place : NULL};
    gemm.numbers = (struct int8_numbers){
        .a_type = draw(2) ? WNNDataType_Int8 : WNNDataType_Uint8,
        .b_type = draw(2) ? WNNDataType_Int8 : WNNDataType_Uint8,
        .a_zero = (int32_t)draw(100),
        .b_zero = draw(2) ? 0 : (int32_t)draw(100),
        .computes_zero = draw(2),
        .finish = {
            .low = bytes ? -100 : -1e9f, .high = bytes ? 27 : 1e9f, .bytes = bytes, .is_signed = out_signed}};
    gemm.numbers.finish.zero = out_signed ? 100 : 128;
    char *packed = allocate(wnn_int8_gemm_packed_bytes(kernels, n, k, gemm.unit));
    int32_t a_zero = gemm.numbers.a_zero;
    gemm.numbers.a_zero = gemm.numbers.computes_zero ? 1 : a_zero;
    wnn_int8_gemm_pack(&gemm, &wnn_serial, packed);
    gemm.numbers.a_zero = a_zero;
    gemm.packed = packed;
    struct interrupt interrupt; // by its limit, in the middle
    wnn_interrupt_init(&interrupt, wnn_nanoseconds() + draw(100000));
    free(multiply(&gemm, tiles, 1, &interrupt));
    char *expected = multiply(&gemm, WNN_TILES_NONE, 1, NULL),
         *got = multiply(&gemm, tiles, 1 + draw(3), NULL);
    REQUIRE(memcmp(got, expected, m * gemm.row_stride * (bytes ? 1 : sizeof(float))) == 0);
    free(expected);
    free(got);
    free(packed);
    free(a);
    free(b);
}

static void test_products(const struct int8_kernels *kernels, enum tiles tiles)
{
    for (unsigned i = 0; i < 200; i++)
        compare_products(kernels, tiles);
}

// ---------------------------------------------------------------------------------------------------------------
// Processes
// ---------------------------------------------------------------------------------------------------------------

static void require_child(pid_t child)
{
    int status;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE_EQUAL_INT(WEXITSTATUS(status), 0);
}

// What the system has permitted, it permits a child.
static void test_fork(const struct int8_kernels *kernels, enum tiles tiles)
{
    compare_products(kernels, tiles);
    pid_t child = fork();
    for (unsigned i = 0; child == 0 && i < 10; i++)
        compare_products(kernels, tiles);
    if (child == 0)
        _exit(0);
    require_child(child);
}

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
    (void)number;
    handled++;
}

static void compute_on_small_stack(const struct int8_kernels *kernels)
{
    static char memory[8192];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    REQUIRE(sigaltstack(&stack, NULL) == 0);
    REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0);
    REQUIRE(wnn_tiles() == WNN_TILES_NONE);
    compare_products(kernels, wnn_tiles());
    REQUIRE(raise(SIGUSR1) == 0 && handled == 1);
}

// A thread has an alternate signal stack that tiles do not fit on: the system refuses them, and nothing
// changes. In a process that has not asked.
static void test_small_stack(const struct int8_kernels *kernels)
{
    pid_t child = fork();
    if (child == 0) {
        compute_on_small_stack(kernels);
        _exit(0);
    }
    require_child(child);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

enum {
    MAX_NUMBERS = 1 << 17
};

static WNNOperand constant(WNNGraphBuilder builder, WNNDataType type, WNNUint32List shape, const void *data,
                           size_t bytes)
{
    WNNOperandDescriptor descriptor = {NULL, type, shape};
    return wnnGraphBuilderConstant(builder, &descriptor, data, bytes);
}

// dequantizeLinear by one scale and zero point.
static WNNOperand dequantize(WNNGraphBuilder builder, WNNOperand x, WNNDataType type, float scale,
                             uint8_t zero)
{
    const uint32_t ones[] = {1, 1, 1, 1};
    WNNUint32List shape = {ones, wnnOperandGetShape(x).count};
    return wnnGraphBuilderDequantizeLinear(
        builder, x, constant(builder, WNNDataType_Float32, shape, &scale, sizeof scale),
        constant(builder, type, shape, &zero, 1), NULL);
}

static WNNOperand quantize(WNNGraphBuilder builder, WNNOperand x, float scale, uint8_t zero)
{
    const uint32_t ones[] = {1, 1, 1, 1};
    WNNUint32List shape = {ones, wnnOperandGetShape(x).count};
    return wnnGraphBuilderQuantizeLinear(builder, x,
                                         constant(builder, WNNDataType_Float32, shape, &scale, sizeof scale),
                                         constant(builder, WNNDataType_Uint8, shape, &zero, 1), NULL);
}

// y = quantizeLinear(f(dequantizeLinear(x), dequantizeLinear(weights))).
struct layer {
    WNNUint32List input, filter;
    uint32_t stride, dilation, padding, groups; // stride 0: a product of matrices
    bool channels_first;
};

static WNNGraph build_layer(WNNContext context, const struct layer *layer)
{
    static uint8_t numbers[MAX_NUMBERS];
    WNNGraphBuilder builder = create_builder(context);
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Uint8, layer->input};
    size_t count = 1;
    for (size_t i = 0; i < layer->filter.count; i++)
        count *= layer->filter.data[i];
    REQUIRE(count <= MAX_NUMBERS);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (uint8_t)draw(256);
    WNNOperand x = dequantize(builder, wnnGraphBuilderInput(builder, view("x"), &descriptor),
                              WNNDataType_Uint8, 0.5f, 120);
    WNNOperand w = dequantize(builder, constant(builder, WNNDataType_Int8, layer->filter, numbers, count),
                              WNNDataType_Int8, 0.01f, 0);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    const uint32_t padding[] = {layer->padding, layer->padding, layer->padding, layer->padding},
                   strides[] = {layer->stride, layer->stride},
                   dilations[] = {layer->dilation, layer->dilation};
    options.padding = (WNNUint32List){padding, 4};
    options.strides = (WNNUint32List){strides, 2};
    options.dilations = (WNNUint32List){dilations, 2};
    options.groups = layer->groups;
    if (!layer->channels_first) {
        options.inputLayout = WNNInputOperandLayout_NHWC;
        options.filterLayout = WNNConv2dFilterOperandLayout_OHWI;
    }
    WNNOperand y = layer->stride ? wnnGraphBuilderConv2d(builder, x, w, &options)
                                 : wnnGraphBuilderMatmul(builder, x, w, NULL);
    WNNNamedOperand output = {view("y"), quantize(builder, y, 2.5f, 128)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static size_t elements_of(WNNUint32List shape)
{
    size_t count = 1;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    return count;
}

// Some node is one, beside those that change layouts.
static void require_product(WNNGraph graph)
{
    WNNNodeInfo nodes[4];
    size_t found = 0, count;
    for (size_t i = 0; i < 4; i++)
        nodes[i] = (WNNNodeInfo)WNN_NODE_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnGraphGetNodes(graph, 4, nodes, &count), WNNStatus_Success);
    for (size_t i = 0; i < count; i++)
        found += strcmp(nodes[i].kernel.data, "quantized product") == 0;
    REQUIRE_EQUAL_INT(found, 1);
}

static void compare_layer(WNNContext context, const struct layer *layer, enum tiles tiles)
{
    WNNGraph graph = build_layer(context, layer);
    size_t count;
    WNNUint32List shape = wnnGraphGetOutputs(graph, &count)[0].descriptor.shape;
    size_t in = elements_of(layer->input), out = elements_of(shape);
    uint8_t *x = random_bytes(in, false), *y = allocate(out), *z = allocate(out);
    require_product(graph);
    WNNNamedBuffer input = {view("x"), x, in, WNNDataType_Uint8};
    for (int i = 0; i < 2; i++) {
        WNNNamedBuffer output = {view("y"), i ? z : y, out, WNNDataType_Uint8};
        wnn_tiles_force(i ? tiles : WNN_TILES_NONE);
        compute_buffers(context, graph, 1, &input, 1, &output);
    }
    REQUIRE(memcmp(y, z, out) == 0);
    free(x);
    free(y);
    free(z);
    wnnGraphRelease(graph);
}

static void test_graphs(enum tiles tiles)
{
    const struct layer layers[] = {
        {LIST(1, 14, 14, 64), LIST(96, 1, 1, 64), 1, 1, 0, 1, false},
        {LIST(2, 15, 13, 64), LIST(48, 3, 3, 64), 1, 1, 1, 1, false},
        {LIST(1, 29, 29, 32), LIST(40, 3, 3, 32), 2, 1, 1, 1, false},
        {LIST(1, 20, 20, 36), LIST(64, 3, 3, 36), 1, 2, 2, 1, false},
        {LIST(1, 33, 33, 3), LIST(160, 3, 3, 3), 2, 1, 1, 1, false},
        {LIST(1, 14, 14, 30), LIST(64, 3, 3, 30), 1, 1, 1, 1, false},
        {LIST(1, 14, 14, 128), LIST(96, 1, 1, 128), 2, 1, 0, 1, false},
        {LIST(1, 14, 14, 128), LIST(128, 3, 3, 64), 1, 1, 1, 2, false},
        {LIST(1, 64, 12, 12), LIST(72, 64, 3, 3), 1, 1, 1, 1, true},
        {LIST(40, 300), LIST(300, 100), 0, 0, 0, 0, false},
        {LIST(70, 258), LIST(258, 61), 0, 0, 0, 0, false},
    };
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        WNNContext context;
        descriptor.threadCount = threads;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
        for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
            compare_layer(context, &layers[i], tiles);
        wnnContextRelease(context);
    }
}

int main(int argc, char **argv)
{
    const char *names[] = {"", "emulated", "AMX"};
    const struct int8_kernels *kernels = wnn_int8_kernels(wnn_cpu_this_processor());
    cases_begin(argc, argv);
    if (kernels->finish[1])
        CASE(test_small_stack(kernels)); // before this process asks the system
    trapped_amx = wnn_tiles() != WNN_TILES_AMX && wnn_int8_tile_loops(WNN_TILES_AMX) && trap_tiles();
    enum tiles last = trapped_amx ? WNN_TILES_AMX : wnn_tiles();
    printf("tiles of the processor: %s\n", wnn_tiles() == WNN_TILES_AMX ? "used"
                                           : wnn_has_amx()              ? "the system refuses them"
                                                                        : "none");
    if (trapped_amx)
        names[WNN_TILES_AMX] = "AMX trapped";
    for (enum tiles tiles = WNN_TILES_EMULATED; tiles <= last || tiles == WNN_TILES_EMULATED; tiles++) {
        CASE_AS(case_name("loops, %s", names[tiles]), test_loops(tiles));
        if (!kernels->finish[1])
            continue; // vectors of another width
        CASE_AS(case_name("products, %s", names[tiles]), test_products(kernels, tiles));
        CASE_AS(case_name("fork, %s", names[tiles]), test_fork(kernels, tiles));
        CASE_AS(case_name("graphs, %s", names[tiles]), test_graphs(tiles));
    }
    return cases_end();
}
