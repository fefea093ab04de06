// SPDX-License-Identifier: Apache-2.0
//
// How fast the kernels of the CPU backend that are bound by memory are: each as a part of what a copy of the
// same number of bytes, read and written, reaches on as many threads. Kernels are called directly. And how
// many times as fast as a plain loop over the mathematical library, on one thread, those of functions are.
//
// Tensors of every type have the same number of bytes: what is to come from memory must not fit in a cache
// because its elements are small. A kernel and its copy take turns, and the shortest time of each counts.

#include "conformance/chain.h"
#include "conformance/clock.h"
#include "cpu/kernel.h"

#include <math.h>
#include <pthreadpool.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned threads = 1;
static double budget = 0.02, below = 1e9, required = 0; // below: what is printed; required: what fails
static unsigned measured, slow;
static pthreadpool_t pool;

static void run_parallel(const struct parallel *parallel, size_t count, void (*task)(void *, size_t),
                         void *argument)
{
    (void)parallel;
    pthreadpool_parallelize_1d(pool, task, argument, count, 0);
}

static struct parallel parallel = {.run = run_parallel};

// ---------------------------------------------------------------------------------------------------------------
// The yardstick
// ---------------------------------------------------------------------------------------------------------------

struct bytes {
    char *to;
    const char *from;
};

static void copy_range(void *argument, size_t begin, size_t end)
{
    const struct bytes *bytes = argument;
    memcpy(bytes->to + begin, bytes->from + begin, end - begin);
}

static void copy_bytes(void *argument, size_t count)
{
    wnn_parallel_for(&parallel, count, 65536, copy_range, argument);
}

// ---------------------------------------------------------------------------------------------------------------
// One case
// ---------------------------------------------------------------------------------------------------------------

// Floating-point numbers lie between 1 - spread / 2 and 1 + spread / 2.
static float spread = 1;

static void fill(const struct tensor *tensor)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < tensor->count; i++) {
        state = state * 1664525 + 1013904223;
        float value = 1 + ((float)(state >> 8) / 16777216.0f - 0.5f) * spread;
        if (tensor->type == WNNDataType_Float32)
            ((float *)tensor->data)[i] = value;
        else if (tensor->type == WNNDataType_Float16)
            ((uint16_t *)tensor->data)[i] = wnn_half_from_float(value);
        else if (tensor->type == WNNDataType_Int32)
            ((int32_t *)tensor->data)[i] = (int32_t)(state >> 24);
        else
            ((uint8_t *)tensor->data)[i] = (uint8_t)(state >> 31);
    }
}

static struct tensor make_tensor(const struct operand *operand)
{
    struct tensor tensor = {.type = operand->type.type, .shape = operand->type.shape};
    tensor.count = wnn_shape_elements(&tensor.shape);
    tensor.data = aligned_alloc(64, (wnn_descriptor_bytes(&operand->type) + 127) / 64 * 64);
    if (!tensor.data)
        exit(1);
    if (operand->constant && operand->constant->data)
        memcpy(tensor.data, operand->constant->data, wnn_descriptor_bytes(&operand->type));
    else
        fill(&tensor);
    return tensor;
}

static void measure(const char *name, const char *size, const struct node *node)
{
    struct tensor in[8] = {{0}}, out[8] = {{0}};
    size_t bytes = 0;
    for (unsigned i = 0; i < node->in_count; i++) {
        if (!node->in[i])
            continue;
        in[i] = make_tensor(node->in[i]);
        bytes += wnn_descriptor_bytes(&node->in[i]->type);
    }
    // What is not read does not count.
    if (node->op == WNN_OP_slice || (node->op == WNN_OP_gather))
        bytes = wnn_descriptor_bytes(&node->out[0]->type) +
                (bytes > 1 && node->op == WNN_OP_gather ? wnn_descriptor_bytes(&node->in[1]->type) : 0);
    for (unsigned i = 0; i < node->out_count; i++) {
        out[i] = make_tensor(node->out[i]);
        bytes += wnn_descriptor_bytes(&node->out[i]->type);
    }
    const struct kernel *kernel = wnn_cpu_kernels[node->op];
    size_t scratch = wnn_kernel_scratch(kernel, node, threads);
    struct kernel_call call = {node, in, out, scratch ? aligned_alloc(64, (scratch + 63) / 64 * 64) : NULL,
                               &parallel};
    struct bytes copy = {aligned_alloc(64, bytes / 128 * 64 + 64), aligned_alloc(64, bytes / 128 * 64 + 64)};
    memset(copy.to, 1, bytes / 2);
    memset((char *)copy.from, 1, bytes / 2);
    double best = 1e9, best_copy = 1e9, start = now_seconds();
    for (int i = 0; i < 3 || now_seconds() - start < budget; i++) {
        // As often as makes what is measured longer than the clock is coarse, and caches warm.
        int times = bytes < 4000000 ? 4 : 1;
        double before = now_seconds();
        for (int j = 0; j < times; j++)
            kernel->run(&call);
        double middle = now_seconds();
        for (int j = 0; j < times; j++)
            copy_bytes(&copy, bytes / 2);
        double after = now_seconds();
        best = (middle - before) / times < best ? (middle - before) / times : best;
        best_copy = (after - middle) / times < best_copy ? (after - middle) / times : best_copy;
    }
    measured++;
    slow += best_copy / best * 100 < required;
    if (best_copy / best * 100 < below)
        printf("%-34s %-5s %8.1f us %7.2f GB/s  copy %7.2f GB/s  %4.0f %%\n", name, size, best * 1e6,
               (double)bytes / best * 1e-9, (double)bytes / best_copy * 1e-9, best_copy / best * 100);
    fflush(stdout);
    for (unsigned i = 0; i < node->in_count; i++)
        free(in[i].data);
    for (unsigned i = 0; i < node->out_count; i++)
        free(out[i].data);
    free(call.scratch);
    free(copy.to);
    free((char *)copy.from);
}

// ---------------------------------------------------------------------------------------------------------------
// The cases
// ---------------------------------------------------------------------------------------------------------------

static WNNContext context;
static WNNGraphBuilder b;
static char **wanted;
static int wanted_count;
static WNNDataType type = WNNDataType_Float32;
static int number;

// As many rows of the type as have the bytes of `rows` of four bytes an element.
static uint32_t rows_of(uint32_t rows)
{
    return rows * 4 / (uint32_t)wnn_dtype_bytes(type, 1);
}

static bool is_wanted(const char *name)
{
    bool found = wanted_count == 0;
    for (int i = 0; i < wanted_count; i++)
        found |= strstr(name, wanted[i]) != NULL;
    return found;
}

#define LIST(...)                                                                                            \
    (WNNUint32List)                                                                                          \
    {                                                                                                        \
        (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)                      \
    }

static WNNOperand input_of(WNNDataType data_type, WNNUint32List shape)
{
    char name[16];
    int length = snprintf(name, sizeof name, "i%d", number++);
    WNNOperandDescriptor descriptor = {.dataType = data_type, .shape = shape};
    return wnnGraphBuilderInput(b, (WNNStringView){name, (size_t)length}, &descriptor);
}

static struct operand *recorded(const char *name, WNNOperand result)
{
    if (!result) {
        WNNError error;
        wnnGraphBuilderGetError(b, &error);
        fprintf(stderr, "%s: %.*s\n", name, (int)error.message.length, error.message.data);
        exit(1);
    }
    return wnn_operand(result);
}

static void check(const char *name, const char *size, WNNOperand result)
{
    measure(name, size, recorded(name, result)->producer);
}

// All that the result is computed of as one node.
static void check_chain(const char *name, const char *size, WNNOperand result)
{
    struct chain chain;
    make_chain(&chain, recorded(name, result));
    measure(name, size, &chain.node);
}

// The node of a layerNormalization as one that leaves the mean and the bias out.
static void check_rms(const char *name, const char *size, WNNOperand layer)
{
    struct node node = *recorded(name, layer)->producer;
    const WNNLayerNormalizationOptions *options = node.attrs;
    struct rms_normalization_attrs attrs = {.axes = options->axes, .epsilon = options->epsilon};
    node.op = WNN_OP_rmsNormalization;
    node.attrs = &attrs;
    node.in_count = 2;
    measure(name, size, &node);
}

#define IN(...) input_of(type, LIST(__VA_ARGS__))
#define OPTIONS(Struct, ...)                                                                                 \
    &(Struct)                                                                                                \
    {                                                                                                        \
        .label = WNN_STRING_VIEW_INIT, __VA_ARGS__                                                           \
    }
#define CASE_OF(checked, name, ...)                                                                          \
    do {                                                                                                     \
        if (is_wanted(name))                                                                                 \
            checked(name, size, __VA_ARGS__);                                                                \
    } while (0)
#define CASE(name, ...)       CASE_OF(check, name, __VA_ARGS__)
#define CHAIN_CASE(name, ...) CASE_OF(check_chain, name, __VA_ARGS__)

#define REDUCE(name, Op, rows, columns)                                                                      \
    CASE(name " last",                                                                                       \
         wnnGraphBuilder##Op(b, IN(rows, columns), OPTIONS(WNNReduceOptions, .axes = LIST(1))));             \
    CASE(name " first",                                                                                      \
         wnnGraphBuilder##Op(b, IN(rows, columns), OPTIONS(WNNReduceOptions, .axes = LIST(0))));             \
    CASE(name " middle", wnnGraphBuilder##Op(b, IN(rows / 16, 64, columns / 4),                              \
                                             OPTIONS(WNNReduceOptions, .axes = LIST(1))));                   \
    CASE(name " all",                                                                                        \
         wnnGraphBuilder##Op(b, IN(rows, columns), OPTIONS(WNNReduceOptions, .axes = LIST(0, 1))));

static void reductions(const char *size, uint32_t rows)
{
    type = WNNDataType_Float32;
    uint32_t n = rows_of(rows);
    REDUCE("reduceSum f32", ReduceSum, n, 1024)
    REDUCE("reduceMean f32", ReduceMean, n, 1024)
    REDUCE("reduceMax f32", ReduceMax, n, 1024)
    REDUCE("reduceMin f32", ReduceMin, n, 1024)
    REDUCE("reduceL2 f32", ReduceL2, n, 1024)
    REDUCE("reduceSumSquare f32", ReduceSumSquare, n, 1024)
    spread = 0x1p-10f; // products of all numbers stay far from where they would be denormal
    REDUCE("reduceProduct f32", ReduceProduct, n, 1024)
    spread = 1;
    CASE("reduceSum f32 last, short",
         wnnGraphBuilderReduceSum(b, IN(n * 16, 64), OPTIONS(WNNReduceOptions, .axes = LIST(1))));
    CASE("reduceSum f32 middle, narrow",
         wnnGraphBuilderReduceSum(b, IN(n, 256, 4), OPTIONS(WNNReduceOptions, .axes = LIST(1))));
    CASE("argMax f32 last", wnnGraphBuilderArgMax(b, IN(n, 1024), 1, NULL));
    CASE("argMax f32 first", wnnGraphBuilderArgMax(b, IN(n, 1024), 0, NULL));
    CASE("cumulativeSum f32 last", wnnGraphBuilderCumulativeSum(b, IN(n, 1024), 1, NULL));
    CASE("cumulativeSum f32 first", wnnGraphBuilderCumulativeSum(b, IN(n, 1024), 0, NULL));
    type = WNNDataType_Float16;
    n = rows_of(rows);
    REDUCE("reduceSum f16", ReduceSum, n, 1024)
    REDUCE("reduceMax f16", ReduceMax, n, 1024)
    CASE("argMax f16 last", wnnGraphBuilderArgMax(b, IN(n, 1024), 1, NULL));
    CASE("cumulativeSum f16 first", wnnGraphBuilderCumulativeSum(b, IN(n, 1024), 0, NULL));
    type = WNNDataType_Int32;
    n = rows_of(rows);
    REDUCE("reduceSum i32", ReduceSum, n, 1024)
    REDUCE("reduceMax i32", ReduceMax, n, 1024)
    CASE("argMax i32 last", wnnGraphBuilderArgMax(b, IN(n, 1024), 1, NULL));
    CASE("argMax i32 first", wnnGraphBuilderArgMax(b, IN(n, 1024), 0, NULL));
    CASE("cumulativeSum i32 last", wnnGraphBuilderCumulativeSum(b, IN(n, 1024), 1, NULL));
    CASE("cumulativeSum i32 first", wnnGraphBuilderCumulativeSum(b, IN(n, 1024), 0, NULL));
    type = WNNDataType_Uint8;
    n = rows_of(rows);
    REDUCE("reduceMax u8", ReduceMax, n, 1024)
}

static void normalizations(const char *size, uint32_t rows)
{
    static const char *const names[2][6] = {
        {"layerNormalization f32", "instanceNormalization f32 nchw", "instanceNormalization f32 nhwc",
         "batchNormalization f32 nchw", "batchNormalization f32 nhwc", "layerNormalization f32 plain"},
        {"layerNormalization f16", "instanceNormalization f16 nchw", "instanceNormalization f16 nhwc",
         "batchNormalization f16 nchw", "batchNormalization f16 nhwc", "layerNormalization f16 plain"}};
    for (int half = 0; half < 2; half++) {
        const char *const *name = names[half];
        type = half ? WNNDataType_Float16 : WNNDataType_Float32;
        const uint32_t n = rows_of(rows);
        CASE(name[0],
             wnnGraphBuilderLayerNormalization(b, IN(n, 768),
                                               OPTIONS(WNNLayerNormalizationOptions, .axes = LIST(1),
                                                       .epsilon = 1e-5, .scale = IN(768), .bias = IN(768))));
        CASE(name[5],
             wnnGraphBuilderLayerNormalization(
                 b, IN(n, 768), OPTIONS(WNNLayerNormalizationOptions, .axes = LIST(1), .epsilon = 1e-5)));
        CASE(name[1], wnnGraphBuilderInstanceNormalization(
                          b, IN(1, n / 4, 56, 56),
                          OPTIONS(WNNInstanceNormalizationOptions, .layout = WNNInputOperandLayout_NCHW,
                                  .epsilon = 1e-5, .scale = IN(n / 4), .bias = IN(n / 4))));
        CASE(name[2], wnnGraphBuilderInstanceNormalization(
                          b, IN(n / 32, 28, 28, 32),
                          OPTIONS(WNNInstanceNormalizationOptions, .layout = WNNInputOperandLayout_NHWC,
                                  .epsilon = 1e-5, .scale = IN(32), .bias = IN(32))));
        CASE(name[3], wnnGraphBuilderBatchNormalization(b, IN(1, n / 4, 56, 56), IN(n / 4), IN(n / 4),
                                                        OPTIONS(WNNBatchNormalizationOptions, .axis = 1,
                                                                .epsilon = 1e-5, .scale = IN(n / 4),
                                                                .bias = IN(n / 4))));
        CASE(name[4],
             wnnGraphBuilderBatchNormalization(b, IN(1, n / 4, 56, 56), IN(56), IN(56),
                                               OPTIONS(WNNBatchNormalizationOptions, .axis = 3,
                                                       .epsilon = 1e-5, .scale = IN(56), .bias = IN(56))));
    }
}

static void movements(const char *size, uint32_t rows)
{
    static const WNNDataType types[] = {WNNDataType_Float32, WNNDataType_Float16, WNNDataType_Uint8};
    static const char *const suffixes[] = {"f32", "f16", "u8"};
    for (int t = 0; t < 3; t++) {
        char name[64];
        type = types[t];
        const uint32_t n = rows_of(rows);
#define NAMED(text, ...)                                                                                     \
    snprintf(name, sizeof name, text " %s", suffixes[t]);                                                    \
    CASE(name, __VA_ARGS__)
        NAMED("transpose 2d", wnnGraphBuilderTranspose(b, IN(n, 512), NULL));
        NAMED("transpose nchw to nhwc",
              wnnGraphBuilderTranspose(b, IN(1, n / 4, 56, 56),
                                       OPTIONS(WNNTransposeOptions, .permutation = LIST(0, 2, 3, 1))));
        NAMED("transpose nhwc to nchw",
              wnnGraphBuilderTranspose(b, IN(1, 56, 56, n / 4),
                                       OPTIONS(WNNTransposeOptions, .permutation = LIST(0, 3, 1, 2))));
        NAMED("transpose 3 channels to nchw",
              wnnGraphBuilderTranspose(b, IN(n / 8, 112, 112, 3),
                                       OPTIONS(WNNTransposeOptions, .permutation = LIST(0, 3, 1, 2))));
        NAMED("transpose 3 channels to nhwc",
              wnnGraphBuilderTranspose(b, IN(n / 8, 3, 112, 112),
                                       OPTIONS(WNNTransposeOptions, .permutation = LIST(0, 2, 3, 1))));
        NAMED("transpose heads",
              wnnGraphBuilderTranspose(b, IN(1, n, 8, 64),
                                       OPTIONS(WNNTransposeOptions, .permutation = LIST(0, 2, 1, 3))));
        NAMED("transpose heads 2",
              wnnGraphBuilderTranspose(b, IN(1, n, 8, 64),
                                       OPTIONS(WNNTransposeOptions, .permutation = LIST(0, 2, 3, 1))));
        NAMED("slice rows", wnnGraphBuilderSlice(b, IN(n, 1024), LIST(1, 3), LIST(n - 2, 1000), NULL));
        NAMED("slice step 2", wnnGraphBuilderSlice(b, IN(n, 1024), LIST(0, 0), LIST(n, 1024),
                                                   OPTIONS(WNNSliceOptions, .strides = LIST(1, 2))));
        NAMED("concat rows",
              wnnGraphBuilderConcat(b, 2, (WNNOperand[]){IN(n / 2, 512), IN(n / 2, 512)}, 0, NULL));
        NAMED("concat columns",
              wnnGraphBuilderConcat(b, 2, (WNNOperand[]){IN(n * 8, 32), IN(n * 8, 32)}, 1, NULL));
        WNNOperand parts[4];
        NAMED("split columns",
              wnnGraphBuilderSplit(b, IN(n, 512), 4, OPTIONS(WNNSplitOptions, .axis = 1), 4, parts) ? parts[0]
                                                                                                    : NULL);
        NAMED("pad images", wnnGraphBuilderPad(b, IN(1, n / 4, 56, 56), LIST(0, 0, 1, 1), LIST(0, 0, 1, 1),
                                               OPTIONS(WNNPadOptions, .mode = WNNPaddingMode_Constant)));
        NAMED("pad small images",
              wnnGraphBuilderPad(b, IN(1, n * 4, 14, 14), LIST(0, 0, 1, 1), LIST(0, 0, 1, 1),
                                 OPTIONS(WNNPadOptions, .mode = WNNPaddingMode_Constant)));
        NAMED("pad nhwc", wnnGraphBuilderPad(b, IN(1, 56, 56, n / 4), LIST(0, 1, 1, 0), LIST(0, 1, 1, 0),
                                             OPTIONS(WNNPadOptions, .mode = WNNPaddingMode_Constant)));
        NAMED("pad reflection",
              wnnGraphBuilderPad(b, IN(1, n / 4, 56, 56), LIST(0, 0, 1, 1), LIST(0, 0, 1, 1),
                                 OPTIONS(WNNPadOptions, .mode = WNNPaddingMode_Reflection)));
        NAMED("tile", wnnGraphBuilderTile(b, IN(n / 4, 512), LIST(2, 2), NULL));
        NAMED("expand rows", wnnGraphBuilderExpand(b, IN(1, 512), LIST(n, 512), NULL));
        NAMED("expand columns", wnnGraphBuilderExpand(b, IN(n, 1), LIST(n, 512), NULL));
        NAMED("expand narrow", wnnGraphBuilderExpand(b, IN(n * 64, 1), LIST(n * 64, 8), NULL));
        NAMED("reverse rows",
              wnnGraphBuilderReverse(b, IN(n, 512), OPTIONS(WNNReverseOptions, .axes = LIST(0))));
        NAMED("reverse columns",
              wnnGraphBuilderReverse(b, IN(n, 512), OPTIONS(WNNReverseOptions, .axes = LIST(1))));
        NAMED("where", wnnGraphBuilderWhere(b, input_of(WNNDataType_Uint8, LIST(n, 512)), IN(n, 512),
                                            IN(n, 512), NULL));
        NAMED("where mask",
              wnnGraphBuilderWhere(b, input_of(WNNDataType_Uint8, LIST(n, 512)), IN(n, 512), IN(1), NULL));
        NAMED("triangular", wnnGraphBuilderTriangular(b, IN(n / 64, 256, 128), NULL));
        NAMED("gather rows",
              wnnGraphBuilderGather(b, IN(256, 512), input_of(WNNDataType_Int32, LIST(n)), NULL));
        NAMED("gather axis 1", wnnGraphBuilderGather(b, IN(n, 256), input_of(WNNDataType_Int32, LIST(512)),
                                                     OPTIONS(WNNGatherOptions, .axis = 1)));
        NAMED("gather narrow rows",
              wnnGraphBuilderGather(b, IN(256, 16), input_of(WNNDataType_Int32, LIST(n * 32)), NULL));
        NAMED("gatherElements 0",
              wnnGraphBuilderGatherElements(b, IN(n, 512), input_of(WNNDataType_Int32, LIST(n, 512)), NULL));
        NAMED("gatherElements 1",
              wnnGraphBuilderGatherElements(b, IN(n, 512), input_of(WNNDataType_Int32, LIST(n, 512)),
                                            OPTIONS(WNNGatherOptions, .axis = 1)));
        NAMED("gatherND",
              wnnGraphBuilderGatherND(b, IN(256, 512), input_of(WNNDataType_Int32, LIST(n, 1)), NULL));
        NAMED("scatterND", wnnGraphBuilderScatterND(b, IN(256, 512), input_of(WNNDataType_Int32, LIST(n, 1)),
                                                    IN(n, 512), NULL));
        NAMED("scatterElements 0",
              wnnGraphBuilderScatterElements(b, IN(n, 512), input_of(WNNDataType_Int32, LIST(n, 512)),
                                             IN(n, 512), NULL));
        NAMED("scatterElements 1",
              wnnGraphBuilderScatterElements(b, IN(n, 512), input_of(WNNDataType_Int32, LIST(n, 512)),
                                             IN(n, 512), OPTIONS(WNNScatterElementsOptions, .axis = 1)));
    }
}

static void elements(const char *size, uint32_t rows)
{
    static const struct {
        WNNDataType from, to;
        const char *name;
    } casts[] = {
        {WNNDataType_Float32, WNNDataType_Float16, "cast f32 to f16"},
        {WNNDataType_Float16, WNNDataType_Float32, "cast f16 to f32"},
        {WNNDataType_Float32, WNNDataType_Int32, "cast f32 to i32"},
        {WNNDataType_Int32, WNNDataType_Float32, "cast i32 to f32"},
        {WNNDataType_Float32, WNNDataType_Uint8, "cast f32 to u8"},
        {WNNDataType_Uint8, WNNDataType_Float32, "cast u8 to f32"},
        {WNNDataType_Int32, WNNDataType_Int64, "cast i32 to i64"},
        {WNNDataType_Int64, WNNDataType_Int32, "cast i64 to i32"},
        {WNNDataType_Int64, WNNDataType_Float32, "cast i64 to f32"},
        {WNNDataType_Float32, WNNDataType_Int64, "cast f32 to i64"},
    };
    static const WNNDataType bytes[] = {WNNDataType_Int8, WNNDataType_Uint8};
    static const char *const quantize[] = {"quantizeLinear i8", "quantizeLinear u8"},
                             *const dequantize[] = {"dequantizeLinear i8", "dequantizeLinear u8"};
    type = WNNDataType_Float32;
    uint32_t n = rows_of(rows);
    for (size_t i = 0; i < sizeof casts / sizeof casts[0]; i++)
        CASE(casts[i].name, wnnGraphBuilderCast(b, input_of(casts[i].from, LIST(n, 512)), casts[i].to, NULL));
    for (int i = 0; i < 2; i++) {
        CASE(quantize[i], wnnGraphBuilderQuantizeLinear(b, input_of(WNNDataType_Float32, LIST(n, 512)),
                                                        input_of(WNNDataType_Float32, LIST(1, 1)),
                                                        input_of(bytes[i], LIST(1, 1)), NULL));
        CASE(dequantize[i], wnnGraphBuilderDequantizeLinear(b, input_of(bytes[i], LIST(n, 512)),
                                                            input_of(WNNDataType_Float32, LIST(1, 1)),
                                                            input_of(bytes[i], LIST(1, 1)), NULL));
    }
    static const char *const names[2][9] = {
        {"softmax f32 last", "softmax f32 last, short", "softmax f32 first", "add f32", "add f32 row",
         "mul f32 column", "relu f32", "clamp f32", "hardSwish f32"},
        {"softmax f16 last", "softmax f16 last, short", "softmax f16 first", "add f16", "add f16 row",
         "mul f16 column", "relu f16", "clamp f16", "hardSwish f16"}};
    for (int half = 0; half < 2; half++) {
        const char *const *name = names[half];
        type = half ? WNNDataType_Float16 : WNNDataType_Float32;
        n = rows_of(rows);
        CASE(name[0], wnnGraphBuilderSoftmax(b, IN(n, 1024), 1, NULL));
        CASE(name[1], wnnGraphBuilderSoftmax(b, IN(n * 16, 64), 1, NULL));
        CASE(name[2], wnnGraphBuilderSoftmax(b, IN(64, n * 16), 0, NULL));
        CASE(name[3], wnnGraphBuilderAdd(b, IN(n, 512), IN(n, 512), NULL));
        CASE(name[4], wnnGraphBuilderAdd(b, IN(n, 512), IN(512), NULL));
        CASE(name[5], wnnGraphBuilderMul(b, IN(n, 512), IN(n, 1), NULL));
        CASE(name[6], wnnGraphBuilderRelu(b, IN(n, 512), NULL));
        CASE(name[7], wnnGraphBuilderClamp(b, IN(n, 512),
                                           OPTIONS(WNNClampOptions, .minValue = wnnNumberFloat64(0),
                                                   .maxValue = wnnNumberFloat64(1))));
        CASE(name[8], wnnGraphBuilderHardSwish(b, IN(n, 512), NULL));
    }
}

// Rows of softmax and layerNormalization from short ones to those that no cache near the processor keeps.
static void rows_of_lengths(const char *size, uint32_t rows)
{
    static const char *const suffixes[] = {"f32", "f16"};
    char name[64];
    for (int half = 0; half < 2; half++) {
        type = half ? WNNDataType_Float16 : WNNDataType_Float32;
        const uint32_t n = rows_of(rows);
        for (uint32_t length = 64; length <= 131072; length *= length < 8192 ? 2 : 16) {
            if (n * 1024 < length)
                continue;
            uint32_t count = n * 1024 / length;
            snprintf(name, sizeof name, "softmax %s rows of %u", suffixes[half], length);
            CASE(name, wnnGraphBuilderSoftmax(b, IN(count, length), 1, NULL));
            snprintf(name, sizeof name, "layerNormalization %s rows of %u", suffixes[half], length);
            CASE(name, wnnGraphBuilderLayerNormalization(b, IN(count, length),
                                                         OPTIONS(WNNLayerNormalizationOptions,
                                                                 .axes = LIST(1), .epsilon = 1e-5,
                                                                 .scale = IN(length), .bias = IN(length))));
            snprintf(name, sizeof name, "rmsNormalization %s rows of %u", suffixes[half], length);
            CASE_OF(check_rms, name,
                    wnnGraphBuilderLayerNormalization(b, IN(count, length),
                                                      OPTIONS(WNNLayerNormalizationOptions, .axes = LIST(1),
                                                              .epsilon = 1e-5, .scale = IN(length))));
        }
    }
}

static void functions_of_elements(const char *size, uint32_t rows)
{
    static const char *const suffixes[] = {"f32", "f16"};
    char name[64];
    spread = 10;
    for (int half = 0; half < 2; half++) {
        type = half ? WNNDataType_Float16 : WNNDataType_Float32;
        const uint32_t n = rows_of(rows);
#define ELEMENTS(text, Op)                                                                                   \
    snprintf(name, sizeof name, text " %s", suffixes[half]);                                                 \
    CASE(name, wnnGraphBuilder##Op(b, IN(n, 512), NULL))
        ELEMENTS("exp", Exp);
        ELEMENTS("tanh", Tanh);
        ELEMENTS("sigmoid", Sigmoid);
        ELEMENTS("erf", Erf);
        ELEMENTS("gelu", Gelu);
        ELEMENTS("elu", Elu);
        ELEMENTS("softplus", Softplus);
        ELEMENTS("log", Log);
    }
    spread = 1;
}

static WNNOperand number_of(double value)
{
    return make_scalar(b, type, value);
}

static WNNOperand times(WNNOperand x, WNNOperand y)
{
    return wnnGraphBuilderMul(b, x, y, NULL);
}

// In the forms that converters write: of the cube, the second is a power.
static WNNOperand gelu_by_tanh(WNNOperand x, bool is_power)
{
    WNNOperand cubic = is_power ? times(wnnGraphBuilderPow(b, x, number_of(3), NULL), number_of(0.044715))
                                : times(x, times(times(x, x), number_of(0.044715)));
    WNNOperand inner = times(wnnGraphBuilderAdd(b, x, cubic, NULL), number_of(0.7978845608));
    WNNOperand outer = wnnGraphBuilderAdd(b, wnnGraphBuilderTanh(b, inner, NULL), number_of(1), NULL);
    return is_power ? times(number_of(0.5), times(x, outer)) : times(times(x, number_of(0.5)), outer);
}

// Of the networks that are transformers, and others.
static void chains_of_elements(const char *size, uint32_t rows)
{
    static const char *const names[2][6] = {
        {"chain SiLU f32", "chain SwiGLU f32", "chain GELU by tanh f32", "chain GELU by tanh, pow f32",
         "chain hardSigmoid times x f32", "chain add, relu f32"},
        {"chain SiLU f16", "chain SwiGLU f16", "chain GELU by tanh f16", "chain GELU by tanh, pow f16",
         "chain hardSigmoid times x f16", "chain add, relu f16"}};
    spread = 10;
    for (int half = 0; half < 2; half++) {
        const char *const *name = names[half];
        type = half ? WNNDataType_Float16 : WNNDataType_Float32;
        WNNOperand x = IN(rows_of(rows), 512), y = IN(rows_of(rows), 512);
        WNNOperand silu = times(x, wnnGraphBuilderSigmoid(b, x, NULL));
        CHAIN_CASE(name[0], silu);
        CHAIN_CASE(name[1], times(silu, y));
        CHAIN_CASE(name[2], gelu_by_tanh(x, false));
        CHAIN_CASE(name[3], gelu_by_tanh(x, true));
        CHAIN_CASE(name[4], times(x, wnnGraphBuilderHardSigmoid(b, x, NULL)));
        CHAIN_CASE(name[5], wnnGraphBuilderRelu(b, wnnGraphBuilderAdd(b, x, y, NULL), NULL));
    }
    spread = 1;
}

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

static float gelu(float x)
{
    return 0.5f * x * (1 + erff(x * 0.70710678f));
}

static float softplus(float x)
{
    return log1pf(expf(x));
}

static float elu(float x)
{
    return x > 0 ? x : expm1f(x);
}

static float to_cube(float x)
{
    return powf(x, 3.3f);
}

// What a program without a library of kernels would write.
static void run_plainly(float (*function)(float), const float *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = function(from[i]);
}

static void compare(const char *name, float (*function)(float), WNNOperand result)
{
    const struct node *node = wnn_operand(result)->producer;
    struct tensor in[2] = {make_tensor(node->in[0])}, out = make_tensor(node->out[0]);
    double best = 1e9, best_plain = 1e9, start = now_seconds();
    if (node->in_count > 1)
        in[1] = make_tensor(node->in[1]);
    struct kernel_call call = {node, in, &out, NULL, &parallel};
    float *from = aligned_alloc(64, in->count * sizeof *from),
          *to = aligned_alloc(64, in->count * sizeof *to);
    for (size_t i = 0; i < in->count; i++)
        from[i] = (float)(i % 1000) / 500.0f + 0.01f;
    if (node->in[0]->type.type == WNNDataType_Float32)
        memcpy(in->data, from, in->count * sizeof *from);
    for (int i = 0; i < 3 || now_seconds() - start < budget; i++) {
        double before = now_seconds();
        wnn_cpu_kernels[node->op]->run(&call);
        double middle = now_seconds();
        run_plainly(function, from, to, in->count);
        double after = now_seconds();
        best = middle - before < best ? middle - before : best;
        best_plain = after - middle < best_plain ? after - middle : best_plain;
    }
    printf("%-34s       %8.3f ns an element, %8.3f by libm: %5.1f times as fast\n", name,
           best * 1e9 / (double)in->count, best_plain * 1e9 / (double)in->count, best_plain / best);
    free(in[0].data);
    free(in[1].data);
    free(out.data);
    free(from);
    free(to);
}

static void functions(void)
{
    static const char *const suffixes[] = {"f32", "f16"};
    char name[64];
    for (int half = 0; half < 2; half++) {
        type = half ? WNNDataType_Float16 : WNNDataType_Float32;
#define FUNCTION(text, function, ...)                                                                        \
    snprintf(name, sizeof name, text " %s", suffixes[half]);                                                 \
    if (is_wanted(name))                                                                                     \
    compare(name, function, __VA_ARGS__)
#define UNARY(text, function, Op) FUNCTION(text, function, wnnGraphBuilder##Op(b, IN(64, 1024), NULL))
        UNARY("exp", expf, Exp);
        UNARY("log", logf, Log);
        UNARY("tanh", tanhf, Tanh);
        UNARY("sigmoid", sigmoid, Sigmoid);
        UNARY("erf", erff, Erf);
        UNARY("gelu", gelu, Gelu);
        UNARY("sin", sinf, Sin);
        UNARY("cos", cosf, Cos);
        UNARY("tan", tanf, Tan);
        UNARY("sqrt", sqrtf, Sqrt);
        UNARY("softplus", softplus, Softplus);
        UNARY("elu", elu, Elu);
        FUNCTION("pow", to_cube, wnnGraphBuilderPow(b, IN(64, 1024), IN(64, 1024), NULL));
    }
}

static void images(const char *size, uint32_t rows)
{
    static const WNNDataType types[] = {WNNDataType_Float32, WNNDataType_Float16, WNNDataType_Uint8};
    static const char *const suffixes[] = {"f32", "f16", "u8"};
    for (int t = 0; t < 3; t++) {
        for (int last = 0; last < 2; last++) {
            char name[64];
            type = types[t];
            const uint32_t n = rows_of(rows);
            WNNInputOperandLayout order = last ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
#define IMAGE(text, ...)                                                                                     \
    snprintf(name, sizeof name, text " %s %s", suffixes[t], last ? "nhwc" : "nchw");                         \
    CASE(name, __VA_ARGS__)
#define X (last ? IN(1, 56, 56, n / 4) : IN(1, n / 4, 56, 56))
#define POOL(text, Op)                                                                                       \
    IMAGE(text " 3x3 s2 p1",                                                                                 \
          wnnGraphBuilder##Op(b, X,                                                                          \
                              OPTIONS(WNNPool2dOptions, .outputSizes = WNN_UINT32_LIST_INIT,                 \
                                      .dilations = LIST(1, 1), .windowDimensions = LIST(3, 3),               \
                                      .strides = LIST(2, 2), .padding = LIST(1, 1, 1, 1), .layout = order,   \
                                      .roundingType = WNNRoundingType_Floor)));                              \
    IMAGE(text " 2x2 s2",                                                                                    \
          wnnGraphBuilder##Op(b, X,                                                                          \
                              OPTIONS(WNNPool2dOptions, .outputSizes = WNN_UINT32_LIST_INIT,                 \
                                      .dilations = LIST(1, 1), .padding = LIST(0, 0, 0, 0),                  \
                                      .windowDimensions = LIST(2, 2), .strides = LIST(2, 2),                 \
                                      .layout = order, .roundingType = WNNRoundingType_Floor)));             \
    IMAGE(text " 3x3 s1 p1",                                                                                 \
          wnnGraphBuilder##Op(b, X,                                                                          \
                              OPTIONS(WNNPool2dOptions, .outputSizes = WNN_UINT32_LIST_INIT,                 \
                                      .dilations = LIST(1, 1), .strides = LIST(1, 1),                        \
                                      .windowDimensions = LIST(3, 3), .padding = LIST(1, 1, 1, 1),           \
                                      .layout = order, .roundingType = WNNRoundingType_Floor)));             \
    IMAGE(text " global",                                                                                    \
          wnnGraphBuilder##Op(b, X,                                                                          \
                              OPTIONS(WNNPool2dOptions, .windowDimensions = WNN_UINT32_LIST_INIT,            \
                                      .outputSizes = WNN_UINT32_LIST_INIT, .dilations = LIST(1, 1),          \
                                      .padding = LIST(0, 0, 0, 0), .strides = LIST(1, 1), .layout = order,   \
                                      .roundingType = WNNRoundingType_Floor)));
            POOL("maxPool", MaxPool2d)
            if (t < 2) {
                POOL("averagePool", AveragePool2d)
                POOL("l2Pool", L2Pool2d)
            }
#define Y    (last ? IN(1, 28, 28, n / 4) : IN(1, n / 4, 28, 28))
#define AXES .axes = (last ? LIST(1, 2) : LIST(2, 3)), .scales = {(float[]){2, 2}, 2}
            IMAGE("resample nearest",
                  wnnGraphBuilderResample2d(b, Y,
                                            OPTIONS(WNNResample2dOptions, .sizes = WNN_UINT32_LIST_INIT,
                                                    .mode = WNNInterpolationMode_NearestNeighbor, AXES)));
            IMAGE("resample linear",
                  wnnGraphBuilderResample2d(b, Y,
                                            OPTIONS(WNNResample2dOptions, .sizes = WNN_UINT32_LIST_INIT,
                                                    .mode = WNNInterpolationMode_Linear, AXES)));
        }
    }
}

static const char usage[] =
    "usage: webnn-bench-memory [--threads=N] [--time=MILLISECONDS] [--below=PERCENT] [--check[=PERCENT]] "
    "[--size=L2|L3|DRAM] [NAME-PART...]\n"
    "--check fails if a case is slower than PERCENT (70) of a copy, or if there is none.\n";

int main(int argc, char **argv)
{
    char only[8] = "";
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        if (sscanf(argv[1], "--threads=%u", &threads) == 1 || sscanf(argv[1], "--size=%7s", only) == 1)
            continue;
        if (sscanf(argv[1], "--time=%lf", &budget) == 1)
            budget /= 1000;
        else if (strcmp(argv[1], "--check") == 0)
            required = 70;
        else if (sscanf(argv[1], "--check=%lf", &required) == 1)
            continue;
        else if (sscanf(argv[1], "--below=%lf", &below) != 1)
            return fputs(usage, stderr), 2;
    }
    wanted = argv + 1;
    wanted_count = argc - 1;
    pool = pthreadpool_create(threads);
    parallel.threads = threads;
    parallel.pthreadpool = pool;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success ||
        wnnContextCreateGraphBuilder(context, &b) != WNNStatus_Success)
        return 1;
    static const struct {
        const char *name;
        uint32_t rows;
    } sizes[] = {{"L2", 256}, {"L3", 2048}, {"DRAM", 16384}};
    for (int i = 0; i < 3; i++) {
        if (only[0] != '\0' && strcmp(only, sizes[i].name) != 0)
            continue;
        reductions(sizes[i].name, sizes[i].rows);
        normalizations(sizes[i].name, sizes[i].rows);
        movements(sizes[i].name, sizes[i].rows);
        images(sizes[i].name, sizes[i].rows);
        elements(sizes[i].name, sizes[i].rows);
        rows_of_lengths(sizes[i].name, sizes[i].rows);
        functions_of_elements(sizes[i].name, sizes[i].rows);
        chains_of_elements(sizes[i].name, sizes[i].rows);
    }
    if (required == 0)
        functions();
    wnnGraphBuilderRelease(b);
    wnnContextRelease(context);
    pthreadpool_destroy(pool);
    if (required > 0)
        printf("%u of %u cases are below %.0f %% of a copy\n", slow, measured, required);
    return required > 0 && (slow > 0 || measured == 0);
}
