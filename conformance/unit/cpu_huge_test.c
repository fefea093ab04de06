// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the CPU backend on tensors of as many elements as there may be, beyond 2 and 4 GiB, where
// offsets in 32 bits end. Inputs are one small file of zeros that is mapped again and again, but for some
// marks; outputs are another one, but for the pages of the elements that are looked at. Nothing lies for
// 4 GiB before and behind either, so that an offset that wraps around ends the program.
//
// WNN_LONG=1 in the environment: also what takes longer.

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "conformance/unit/kernel_fixture.h"

#include <math.h>

#if !defined(__linux__) || UINTPTR_MAX < UINT64_MAX
int main(void)
{
    puts("skipped: there are no sparse mappings of that size");
    return SKIPPED;
}
#else

#define MOST 2147483647u // elements, a prime number

// ---------------------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------------------

enum {
    WINDOW = 16 << 20, // bytes of the file
    PAGE = 65536       // at least as large as a page of any processor
};

static const size_t guard = (size_t)4 << 30;

struct memory {
    char *begin, *data;
    size_t bytes, mapped; // mapped: from begin + guard on
};

static void skip(const char *why)
{
    exit(cases_skip(why));
}

// Ends where the mapping ends.
static struct memory reserve(size_t bytes)
{
    struct memory memory = {.bytes = bytes, .mapped = (bytes + PAGE - 1) / PAGE * PAGE};
    memory.begin =
        mmap(NULL, 2 * guard + memory.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory.begin == MAP_FAILED)
        skip("there is not enough address space");
    memory.data = memory.begin + guard + memory.mapped - bytes;
    return memory;
}

static void map(char *at, size_t bytes, int flags, int file)
{
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | flags, file, 0) == MAP_FAILED)
        skip("memory cannot be mapped so often");
}

// The same file again and again. Copies of its pages are made where they are written, or they are shared.
static struct memory map_windows(size_t bytes, bool shared)
{
    static int files[2] = {-1, -1};
    int *file = &files[shared];
    if (*file < 0) {
        *file = memfd_create("cpu_huge_test", 0);
        if (*file < 0 || ftruncate(*file, WINDOW) != 0)
            skip("there is no file in memory");
    }
    struct memory memory = reserve(bytes);
    for (size_t at = 0; at < memory.mapped; at += WINDOW)
        map(memory.begin + guard + at, memory.mapped - at < WINDOW ? memory.mapped - at : WINDOW,
            shared ? MAP_SHARED | MAP_POPULATE : MAP_PRIVATE | MAP_NORESERVE, *file);
    return memory;
}

static void unmap(const struct memory *memory)
{
    munmap(memory->begin, 2 * guard + memory->mapped);
}

// ---------------------------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------------------------

static const struct node *node;
static struct tensor in[4], out[2];
static struct memory memories[8];
static size_t memory_count;

static struct tensor huge_tensor(const struct operand *operand, bool written)
{
    struct tensor tensor = {.type = operand->type.type, .shape = operand->type.shape};
    tensor.count = wnn_shape_elements(&tensor.shape);
    size_t bytes = tensor.count * size_of(&tensor);
    memories[memory_count] = map_windows(bytes, written && bytes > WINDOW);
    tensor.data = memories[memory_count++].data;
    return tensor;
}

// What follows is about this operator: its operands are there, and zeros.
static void prepare(WNNOperand result)
{
    REQUIRE(result);
    node = wnn_operand(result)->producer;
    memory_count = 0;
    REQUIRE(node->in_count <= 4 && node->out_count <= 2);
    for (unsigned i = 0; i < node->in_count; i++)
        in[i] = node->in[i] ? huge_tensor(node->in[i], false) : (struct tensor){0};
    for (unsigned i = 0; i < node->out_count; i++)
        out[i] = huge_tensor(node->out[i], true);
}

static void *element(const struct tensor *tensor, size_t i)
{
    REQUIRE(i < tensor->count);
    return (char *)tensor->data + i * size_of(tensor);
}

// Has the element in pages of its own.
static void watch(const struct tensor *tensor, size_t i)
{
    uintptr_t first = (uintptr_t)element(tensor, i) / PAGE * PAGE,
              last = ((uintptr_t)element(tensor, i) + size_of(tensor) - 1) / PAGE * PAGE;
    map((char *)first, last - first + PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void set(const struct tensor *tensor, size_t i, double value)
{
    float narrow = (float)value;
    uint16_t half = wnn_half_from_float(narrow);
    int64_t integer = (int64_t)value;
    memcpy(element(tensor, i),
           tensor->type == WNNDataType_Float32   ? (void *)&narrow
           : tensor->type == WNNDataType_Float16 ? (void *)&half
                                                 : (void *)&integer,
           size_of(tensor));
}

static void run(void)
{
    const struct parallel parallel = in_turn(3);
    const struct kernel *kernel = wnn_cpu_kernels[node->op];
    size_t bytes = wnn_kernel_scratch(kernel, node, parallel.threads);
    struct kernel_call call = {node, in, out, NULL, &parallel, NULL};
    struct memory scratch = map_windows(bytes + 64, bytes > WINDOW);
    call.scratch = (void *)((uintptr_t)scratch.begin + guard);
    double start = now_seconds();
    kernel->run(&call);
    printf("%6.2f s %s\n", now_seconds() - start, wnn_ops[node->op].name);
    fflush(stdout);
    unmap(&scratch);
}

static void require_value(const struct tensor *tensor, size_t i, double expected)
{
    char wanted[8];
    struct tensor one = {.data = wanted, .type = tensor->type, .count = 1};
    set(&one, 0, expected);
    if (memcmp(wanted, element(tensor, i), size_of(tensor)) == 0)
        return;
    fprintf(stderr, "%s: element %zu of an output is not %g\n", wnn_ops[node->op].name, i, expected);
    case_fail();
}

static void finish(void)
{
    for (size_t i = 0; i < memory_count; i++)
        unmap(&memories[i]);
}

static WNNOperand of(WNNDataType type, WNNUint32List shape)
{
    return input(type, shape.data, shape.count);
}

#define U8(...)  of(WNNDataType_Uint8, LIST(__VA_ARGS__))
#define F16(...) of(WNNDataType_Float16, LIST(__VA_ARGS__))
#define F32(...) of(WNNDataType_Float32, LIST(__VA_ARGS__))
#define I32(...) of(WNNDataType_Int32, LIST(__VA_ARGS__))

// Runs an operator that moves elements: the places of some in the input, and in the output.
static void require_moved(WNNOperand result, size_t count, const size_t places[][2])
{
    prepare(result);
    for (size_t i = 0; i < count; i++) {
        set(&in[0], places[i][0], (double)(i + 1));
        watch(&out[0], places[i][1]);
    }
    run();
    for (size_t i = 0; i < count; i++)
        require_value(&out[0], places[i][1], (double)(i + 1));
    finish();
}

#define REQUIRE_MOVED(result, ...)                                                                           \
    require_moved(result, sizeof((size_t[][2]){__VA_ARGS__}) / sizeof(size_t[2]), (size_t[][2]){__VA_ARGS__})

// ---------------------------------------------------------------------------------------------------------------
// Operators that read much and write little
// ---------------------------------------------------------------------------------------------------------------

static void test_searches(void)
{
    WNNArgMinMaxAxesOptions last = WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT;
    prepare(wnnGraphBuilderArgMaxAxes(builder, U8(MOST), &last));
    set(&in[0], MOST - 2, 3);
    run();
    require_value(&out[0], 0, MOST - 2);
    finish();

    uint32_t axis = 0; // columns
    last.axes = (WNNUint32List){&axis, 1};
    prepare(wnnGraphBuilderArgMaxAxes(builder, U8(1u << 30, 1), &last));
    set(&in[0], (1u << 30) - 1, 3);
    run();
    require_value(&out[0], 0, (1u << 30) - 1);
    finish();

    prepare(wnnGraphBuilderReduceMax(builder, U8(MOST), NULL));
    set(&in[0], MOST - 1, 9);
    run();
    require_value(&out[0], 0, 9);
    finish();
}

// 2 to the 31st less some elements of float32 and float16: windows are far from one another.
static void test_images(void)
{
    enum {
        SIDE = 46340,
        STEP = 46338
    };
    WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
    pool.windowDimensions = LIST(2, 2);
    pool.strides = LIST(STEP, STEP);
    const size_t far = (size_t)SIDE * SIDE - 1;
    const WNNDataType types[] = {WNNDataType_Float32, WNNDataType_Float16, WNNDataType_Uint8};
    for (int i = 0; i < 3; i++) {
        uint32_t last[] = {1, SIDE, SIDE, 1}, first[] = {1, 1, SIDE, SIDE}, some[] = {1, SIDE / 8, SIDE, 8};
        uint32_t *shapes[] = {first, last, some};
        for (int s = 0; s < 3; s++) {
            pool.layout = s ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
            pool.strides = s == 2 ? LIST(SIDE / 8 - 2, STEP) : LIST(STEP, STEP);
            prepare(wnnGraphBuilderMaxPool2d(builder, input(types[i], shapes[s], 4), &pool));
            set(&in[0], in[0].count - 1, 5);
            run();
            require_value(&out[0], out[0].count - 1, 5);
            finish();
        }
        WNNResample2dOptions resample = WNN_RESAMPLE2D_OPTIONS_INIT;
        resample.sizes = LIST(SIDE / 5, 1);
        prepare(wnnGraphBuilderResample2d(builder, of(types[i], LIST(1, 1, SIDE, SIDE)), &resample));
        set(&in[0], far - SIDE * 2 - SIDE / 2 + 1, 7);
        run();
        finish();
        resample.sizes = LIST(2, 2);
        resample.mode = WNNInterpolationMode_Linear;
        prepare(wnnGraphBuilderResample2d(builder, of(types[i], LIST(1, 1, SIDE, SIDE)), &resample));
        run();
        finish();
    }
    pool.strides = LIST(STEP, STEP);
    for (int last = 0; last < 2; last++) {
        pool.layout = last ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
        prepare(wnnGraphBuilderAveragePool2d(builder, last ? F32(1, SIDE, SIDE, 1) : F32(1, 1, SIDE, SIDE),
                                             &pool));
        set(&in[0], far, 4);
        run();
        require_value(&out[0], 3, 1);
        finish();

        // One channel, and two groups of one.
        for (uint32_t groups = 1; groups <= 2; groups++) {
            WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
            const uint32_t height = SIDE / groups;
            conv.strides = LIST(height - 2, STEP);
            conv.groups = groups;
            conv.inputLayout = pool.layout;
            conv.filterLayout = last ? WNNConv2dFilterOperandLayout_OHWI : WNNConv2dFilterOperandLayout_OIHW;
            prepare(wnnGraphBuilderConv2d(builder,
                                          last ? F32(1, height, SIDE, groups) : F32(1, groups, height, SIDE),
                                          last ? F32(groups, 2, 2, 1) : F32(groups, 1, 2, 2), &conv));
            set(&in[0], in[0].count - 1, 3);
            for (size_t i = 0; i < in[1].count; i++)
                set(&in[1], i, 2);
            run();
            require_value(&out[0], out[0].count - 1, 6);
            finish();
        }
    }
}

static void test_choices(void)
{
    enum {
        COLUMNS = 2,
        ROWS = MOST / COLUMNS
    };
    const int32_t chosen[] = {ROWS - 1, 0, -2};
    WNNGatherOptions axis = WNN_GATHER_OPTIONS_INIT;
    prepare(wnnGraphBuilderGather(builder, U8(ROWS, COLUMNS), I32(3), &axis));
    memcpy(in[1].data, chosen, sizeof chosen);
    set(&in[0], (size_t)ROWS * COLUMNS - 1, 8);
    set(&in[0], (size_t)ROWS * COLUMNS - 4, 6);
    run();
    require_value(&out[0], 1, 8);
    require_value(&out[0], 4, 6);
    finish();

    prepare(wnnGraphBuilderGather(builder, F32(MOST), I32(3), &axis));
    memcpy(in[1].data, (int32_t[]){(int32_t)MOST - 1, -1, 1 << 30}, 12);
    set(&in[0], MOST - 1, 8);
    set(&in[0], 1u << 30, 5);
    run();
    require_value(&out[0], 0, 8);
    require_value(&out[0], 1, 8);
    require_value(&out[0], 2, 5);
    finish();

    for (int wide = 0; wide < 2; wide++) {
        prepare(wnnGraphBuilderGatherElements(builder, wide ? F32(ROWS, COLUMNS) : U8(ROWS, COLUMNS),
                                              I32(40, COLUMNS), &axis));
        for (size_t i = 0; i < in[1].count; i++)
            set(&in[1], i, ROWS - 1);
        set(&in[0], (size_t)ROWS * COLUMNS - 1, 8);
        run();
        require_value(&out[0], 79, 8);
        require_value(&out[0], 78, 0);
        finish();

        prepare(wnnGraphBuilderGatherND(builder, wide ? F32(ROWS, COLUMNS) : U8(ROWS, COLUMNS), I32(40, 2),
                                        NULL));
        for (size_t i = 0; i < in[1].count; i++)
            set(&in[1], i, i % 2 ? 1 : ROWS - 1);
        set(&in[0], (size_t)ROWS * COLUMNS - 1, 8);
        run();
        require_value(&out[0], 39, 8);
        finish();
    }

    WNNSliceOptions slice = WNN_SLICE_OPTIONS_INIT;
    REQUIRE_MOVED(wnnGraphBuilderSlice(builder, U8(MOST), LIST(MOST - 5), LIST(5), &slice), {MOST - 1, 4});
    slice.strides = LIST(1u << 30);
    REQUIRE_MOVED(wnnGraphBuilderSlice(builder, F32(MOST), LIST(0), LIST(MOST), &slice), {0, 0},
                  {1u << 30, 1});
}

// A product of the last elements of both operands, which is the last result.
static void require_product(WNNOperand result)
{
    prepare(result);
    set(&in[0], in[0].count - 1, 3);
    set(&in[1], in[1].count - 1, 2);
    run();
    require_value(&out[0], out[0].count - 1, 6);
    finish();
}

// ---------------------------------------------------------------------------------------------------------------
// Operators that write much
// ---------------------------------------------------------------------------------------------------------------

static void test_moves(void)
{
    enum {
        A = 46340,
        B = 46341
    };
    const size_t count = (size_t)A * B;
    WNNOperand parts[2];
    parts[0] = U8(MOST - 9);
    parts[1] = U8(9);
    prepare(wnnGraphBuilderConcat(builder, 2, parts, 0, NULL));
    set(&in[0], MOST - 10, 4);
    set(&in[1], 8, 5);
    watch(&out[0], MOST - 10);
    watch(&out[0], MOST - 1);
    run();
    require_value(&out[0], MOST - 10, 4);
    require_value(&out[0], MOST - 1, 5);
    finish();

    REQUIRE_MOVED(wnnGraphBuilderTranspose(builder, U8(A, B), NULL), {count - 1, count - 1},
                  {B - 1, count - A}, {count - B, A - 1});
    REQUIRE_MOVED(wnnGraphBuilderPad(builder, U8(1, MOST - 9), LIST(0, 4), LIST(0, 5), NULL),
                  {MOST - 10, MOST - 6}, {0, 4});
}

// Two updates of a row of MOST.
static void require_scattered(WNNOperand result)
{
    prepare(result);
    memcpy(in[1].data, (int32_t[]){-1, 1 << 30}, 8);
    set(&in[2], 0, 7);
    set(&in[2], 1, 8);
    watch(&out[0], MOST - 1);
    watch(&out[0], 1u << 30);
    run();
    require_value(&out[0], MOST - 1, 7);
    require_value(&out[0], 1u << 30, 8);
    finish();
}

static void test_updates(void)
{
    require_scattered(wnnGraphBuilderScatterND(builder, U8(MOST), I32(2, 1), U8(2), NULL));
}

// ---------------------------------------------------------------------------------------------------------------
// What takes longer
// ---------------------------------------------------------------------------------------------------------------

// Sums of zeros and a one.
static void test_reductions(void)
{
    uint32_t axis = 0;
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    const WNNDataType types[] = {WNNDataType_Float32, WNNDataType_Float16, WNNDataType_Int32,
                                 WNNDataType_Int64};
    for (int i = 0; i < 4; i++)
        for (int columns = 0; columns < 2; columns++) {
            options.axes = columns ? (WNNUint32List){&axis, 1} : (WNNUint32List)WNN_UINT32_LIST_INIT;
            prepare(wnnGraphBuilderReduceSum(builder, of(types[i], columns ? LIST(MOST / 2, 2) : LIST(MOST)),
                                             &options));
            set(&in[0], in[0].count - 1, 3);
            run();
            require_value(&out[0], out[0].count - 1, 3);
            finish();
        }
}

static void test_element_wise(void)
{
    REQUIRE_MOVED(wnnGraphBuilderRelu(builder, F16(MOST), NULL), {MOST - 1, MOST - 1}, {0, 0});
    REQUIRE_MOVED(wnnGraphBuilderRelu(builder, F32(MOST), NULL), {MOST - 1, MOST - 1}, {1u << 30, 1u << 30});
    REQUIRE_MOVED(wnnGraphBuilderAdd(builder, F16(2, MOST / 2), F16(MOST / 2), NULL), {MOST - 2, MOST - 2});
    REQUIRE_MOVED(wnnGraphBuilderCast(builder, U8(MOST), WNNDataType_Float32, NULL), {MOST - 1, MOST - 1});
    REQUIRE_MOVED(wnnGraphBuilderCast(builder, F32(MOST), WNNDataType_Uint8, NULL), {MOST - 1, MOST - 1});
    REQUIRE_MOVED(wnnGraphBuilderCast(builder, U8(MOST), WNNDataType_Int64, NULL), {MOST - 1, MOST - 1});
    prepare(wnnGraphBuilderDequantizeLinear(builder, U8(MOST), F32(1), U8(1), NULL));
    set(&in[0], MOST - 1, 9);
    set(&in[1], 0, 2);
    watch(&out[0], MOST - 1);
    run();
    require_value(&out[0], MOST - 1, 18);
    finish();
    prepare(wnnGraphBuilderWhere(builder, U8(MOST), U8(1), U8(MOST), NULL));
    set(&in[0], MOST - 1, 1);
    set(&in[1], 0, 6);
    set(&in[2], MOST - 2, 5);
    watch(&out[0], MOST - 1);
    watch(&out[0], MOST - 2);
    run();
    require_value(&out[0], MOST - 1, 6);
    require_value(&out[0], MOST - 2, 5);
    finish();
}

static void test_long_moves(void)
{
    enum {
        A = 46340,
        B = 46341
    };
    const size_t count = (size_t)A * B;
    REQUIRE_MOVED(wnnGraphBuilderReverse(builder, U8(MOST), NULL), {MOST - 1, 0}, {0, MOST - 1});
    REQUIRE_MOVED(wnnGraphBuilderReverse(builder, F32(MOST), NULL), {MOST - 1, 0}, {0, MOST - 1});
    REQUIRE_MOVED(wnnGraphBuilderTranspose(builder, F32(A, B), NULL), {count - 1, count - 1},
                  {B - 1, count - A});
    REQUIRE_MOVED(wnnGraphBuilderTranspose(builder, F16(2, MOST / 2), NULL), {MOST - 2, MOST - 2},
                  {MOST / 2, 1});
    REQUIRE_MOVED(wnnGraphBuilderTile(builder, F32(1, MOST / 4), LIST(4, 1), NULL), {0, 0},
                  {MOST / 4 - 1, (size_t)MOST / 4 * 4 - 1});
    REQUIRE_MOVED(wnnGraphBuilderExpand(builder, U8(A, 1), LIST(A, B), NULL), {A - 1, count - 1}, {0, B - 1});
    WNNTriangularOptions triangular = WNN_TRIANGULAR_OPTIONS_INIT;
    REQUIRE_MOVED(wnnGraphBuilderTriangular(builder, F32(A, B), &triangular), {count - 1, count - 1}, {0, 0});
    WNNPadOptions pad = WNN_PAD_OPTIONS_INIT;
    for (WNNPaddingMode mode = WNNPaddingMode_Constant; mode <= WNNPaddingMode_Symmetric; mode++) {
        pad.mode = mode;
        REQUIRE_MOVED(wnnGraphBuilderPad(builder, F32(A - 9, B), LIST(4, 0), LIST(5, 0), &pad),
                      {(size_t)(A - 9) * B - 1, (size_t)(A - 5) * B - 1});
    }
    require_scattered(wnnGraphBuilderScatterElements(builder, F32(MOST), I32(2), F32(2), NULL));
    prepare(wnnGraphBuilderCumulativeSum(builder, I32(MOST), 0, NULL));
    set(&in[0], 5, 7);
    set(&in[0], MOST - 1, 8);
    watch(&out[0], MOST - 1);
    run();
    require_value(&out[0], MOST - 1, 15);
    finish();
}

static void test_rows(void)
{
    // Numbers that are equal, but for what a mean of them is.
    prepare(wnnGraphBuilderSoftmax(builder, F16(2, MOST / 2), 0, NULL));
    watch(&out[0], MOST - 2);
    run();
    require_value(&out[0], MOST - 2, 0.5);
    finish();
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    options.axes = LIST(1);
    prepare(wnnGraphBuilderLayerNormalization(builder, F32(2, MOST / 2), &options));
    watch(&out[0], MOST - 2);
    run();
    require_value(&out[0], MOST - 2, 0);
    finish();
}

// Rows, terms and columns beyond 4 GiB of float32.
static void test_long_products(void)
{
    require_product(wnnGraphBuilderMatmul(builder, F32(1, 1u << 29), F32(1u << 29, 1), NULL));
    require_product(wnnGraphBuilderMatmul(builder, F32(1u << 22, 300), F32(300, 1), NULL));
    require_product(wnnGraphBuilderMatmul(builder, F32(1, 300), F32(300, 1u << 22), NULL));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    if (SANITIZED)
        return cases_skip("sanitizers keep notes of their own about gigabytes");
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    const WNNLimits limits = {0}; // none
    descriptor.limits = &limits;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    builder = create_kernel_builder();
    const char *lasting = getenv("WNN_LONG");
    CASE(test_searches());
    CASE(test_images());
    CASE(test_choices());
    CASE(test_moves());
    CASE(test_updates());
    if (lasting && *lasting == '1') {
        CASE(test_reductions());
        CASE(test_element_wise());
        CASE(test_long_moves());
        CASE(test_rows());
        CASE(test_long_products());
    }
    end_kernels();
    return cases_end();
}
#endif
