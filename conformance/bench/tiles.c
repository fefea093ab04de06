// SPDX-License-Identifier: Apache-2.0
//
// What tiles (AMX) are worth: products and convolutions of 8-bit integers on tiles, on vectors alone, and in
// float32, which take turns on one thread; and likewise products of rows that are rounded to 8 bits
// (WNNNumerics_Fast) by matrices of 8 or 4 bits with scales for blocks of 32. Shows the best of each in 10^9
// operations a second.

#include "cpu/simd/tiles.h"
#include "conformance/clock.h"

#include <webnn/ops.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 1.0 // for all of a size
#define ROUNDS  5   // at least

// A product [m, k] * [k, n], or a convolution of a square image, with its channels last.
static const struct size {
    uint32_t m, k, n;
    uint32_t image, channels, outputs, filter;
    uint32_t bits; // of a matrix that floats are multiplied with
} sizes[] = {
    {.m = 128, .k = 768, .n = 3072},
    {.m = 512, .k = 512, .n = 512},
    {.m = 1024, .k = 1024, .n = 1024},
    {.m = 64, .k = 4096, .n = 4096},
    {.m = 8, .k = 1024, .n = 1024},
    {.m = 16, .k = 1024, .n = 1024},
    {.image = 56, .channels = 64, .outputs = 64, .filter = 3},
    {.image = 28, .channels = 128, .outputs = 128, .filter = 3},
    {.image = 14, .channels = 1024, .outputs = 256, .filter = 1},
    {.image = 14, .channels = 1024, .outputs = 1024, .filter = 1},
    {.m = 128, .k = 1024, .n = 1024, .bits = 8},
    {.m = 128, .k = 1024, .n = 1024, .bits = 4},
    {.m = 16, .k = 1024, .n = 1024, .bits = 4},
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory)
        fail("memory", "there is not enough");
    return memory;
}

static uint32_t state = 1;

static uint32_t draw(uint32_t end)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % end;
}

static size_t elements(WNNUint32List shape)
{
    size_t count = 1;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    return count;
}

static void *random_data(WNNDataType type, size_t count)
{
    bool is_float = type == WNNDataType_Float32;
    void *data = allocate(count * (is_float ? sizeof(float) : 1));
    for (size_t i = 0; i < count; i++)
        if (is_float)
            ((float *)data)[i] = (float)draw(256) / 256 - 0.5f;
        else
            ((uint8_t *)data)[i] = (uint8_t)draw(256);
    return data;
}

static WNNOperand constant(WNNGraphBuilder b, WNNDataType type, WNNUint32List shape, const void *data)
{
    WNNOperandDescriptor descriptor = {NULL, type, shape};
    size_t bits = type == WNNDataType_Float32 ? 32 : type == WNNDataType_Uint4 ? 4 : 8;
    return wnnGraphBuilderConstant(b, &descriptor, data, bits * elements(shape) / 8);
}

// One scale and zero point.
struct steps {
    WNNOperand scale, zero;
};

static struct steps make_steps(WNNGraphBuilder b, WNNDataType type, float scale, uint8_t zero, size_t rank)
{
    static const uint32_t ones[] = {1, 1, 1, 1};
    return (struct steps){constant(b, WNNDataType_Float32, (WNNUint32List){ones, rank}, &scale),
                          constant(b, type, (WNNUint32List){ones, rank}, &zero)};
}

static WNNOperand scale_blocks(WNNGraphBuilder b, const struct size *size, WNNDataType type, WNNOperand w)
{
    const uint32_t blocks[] = {size->k / 32, size->n};
    const WNNUint32List shape = {blocks, 2};
    void *scales = random_data(WNNDataType_Float32, elements(shape)),
         *zeros = random_data(WNNDataType_Uint8, elements(shape));
    w = wnnGraphBuilderDequantizeLinear(b, w, constant(b, WNNDataType_Float32, shape, scales),
                                        constant(b, type, shape, zeros), NULL);
    free(scales);
    free(zeros);
    return w;
}

static WNNOperand compute_layer(WNNGraphBuilder b, const struct size *size, WNNOperand x, WNNOperand w)
{
    if (size->m)
        return wnnGraphBuilderMatmul(b, x, w, NULL);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    const uint32_t edge = size->filter / 2, padding[] = {edge, edge, edge, edge};
    options.padding = (WNNUint32List){padding, 4};
    options.inputLayout = WNNInputOperandLayout_NHWC;
    options.filterLayout = WNNConv2dFilterOperandLayout_OHWI;
    return wnnGraphBuilderConv2d(b, x, w, &options);
}

static void keep(WNNStatus status, WNNGraph graph, WNNStringView message, void *result, void *unused)
{
    (void)unused;
    if (status != WNNStatus_Success)
        fail("build", message.data);
    *(WNNGraph *)result = graph;
}

// A graph, and memory of its input and output.
struct subject {
    WNNGraph graph;
    WNNNamedBuffer in, out;
};

static struct subject build(WNNContext context, const struct size *size, bool quantized)
{
    const uint32_t matrix[] = {size->m, size->k}, weights[] = {size->k, size->n},
                   image[] = {1, size->image, size->image, size->channels},
                   filter[] = {size->outputs, size->filter, size->filter, size->channels};
    size_t rank = size->m ? 2 : 4;
    WNNUint32List input = {size->m ? matrix : image, rank}, second = {size->m ? weights : filter, rank};
    WNNDataType type = quantized ? WNNDataType_Uint8 : WNNDataType_Float32,
                weight_type = quantized         ? WNNDataType_Int8
                              : size->bits == 4 ? WNNDataType_Uint4
                              : size->bits == 8 ? WNNDataType_Uint8
                                                : WNNDataType_Float32;
    WNNOperandDescriptor descriptor = {NULL, type, input};
    WNNGraphBuilder b;
    if (wnnContextCreateGraphBuilder(context, &b))
        fail("builder", "out of memory");
    void *data = random_data(weight_type, elements(second));
    WNNOperand x = wnnGraphBuilderInput(b, (WNNStringView){"x", 1}, &descriptor),
               w = constant(b, weight_type, second, data);
    if (quantized) {
        struct steps in = make_steps(b, type, 0.02f, 128, rank),
                     by = make_steps(b, weight_type, 0.01f, 0, rank);
        x = wnnGraphBuilderDequantizeLinear(b, x, in.scale, in.zero, NULL);
        w = wnnGraphBuilderDequantizeLinear(b, w, by.scale, by.zero, NULL);
    }
    if (size->bits)
        w = scale_blocks(b, size, weight_type, w);
    WNNOperand y = compute_layer(b, size, x, w);
    WNNUint32List shape = wnnOperandGetShape(y);
    size_t out = elements(shape), bytes = quantized ? 1 : sizeof(float);
    if (quantized) {
        struct steps to = make_steps(b, type, 0.3f, 128, rank);
        y = wnnGraphBuilderQuantizeLinear(b, y, to.scale, to.zero, NULL);
    }
    const WNNNamedOperand output = {{"y", 1}, y};
    struct subject subject = {
        .in = {{"x", 1}, random_data(type, elements(input)), bytes * elements(input), type},
        .out = {{"y", 1}, allocate(bytes * out), bytes * out, type}};
    const WNNBuildCallbackInfo info = {NULL, WNNCallbackMode_WaitAnyOnly, keep, &subject.graph, NULL};
    WNNFutureWaitInfo wait = {wnnGraphBuilderBuild(b, 1, &output, info), false};
    wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER);
    wnnGraphBuilderRelease(b);
    free(data);
    return subject;
}

static void release(struct subject *subject)
{
    wnnGraphRelease(subject->graph);
    free(subject->in.data);
    free(subject->out.data);
}

// Seconds of one execution, the best of a few, of which the first finds the caches as another has left them.
static double run(WNNContext context, const struct subject *subject)
{
    char message[1024] = "";
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.graph = subject->graph;
    descriptor.inputs = &subject->in;
    descriptor.inputCount = 1;
    descriptor.outputs = &subject->out;
    descriptor.outputCount = 1;
    double best = INFINITY;
    for (unsigned i = 0; i < 3; i++) {
        double start = now_seconds();
        if (wnnContextComputeSync(context, &descriptor, sizeof message, message))
            fail("compute", message);
        best = fmin(best, now_seconds() - start);
    }
    return best;
}

static void show(const struct size *size, const double best[3])
{
    char name[64];
    double pixels = (double)size->image * size->image * size->filter * size->filter,
           operations =
               2 * (size->m ? (double)size->m * size->k * size->n : pixels * size->channels * size->outputs);
    if (size->bits)
        snprintf(name, sizeof name, "rounded rows %ux%ux%u, %u bits", size->m, size->k, size->n, size->bits);
    else if (size->m)
        snprintf(name, sizeof name, "product %ux%ux%u", size->m, size->k, size->n);
    else
        snprintf(name, sizeof name, "convolution %ux%ux%u, %ux%u to %u", size->image, size->image,
                 size->channels, size->filter, size->filter, size->outputs);
    printf("%-36s", name);
    for (unsigned i = 0; i < 3; i++)
        printf(" %8.1f", operations / best[i] * 1e-9);
    printf("   %5.2f %5.2f\n", best[1] / best[0], best[2] / best[0]);
    fflush(stdout);
}

static void measure(WNNContext fast, WNNContext plain, const struct size *size, enum tiles tiles)
{
    struct subject integers = build(fast, size, size->bits == 0), floats = build(plain, size, false);
    double best[3] = {INFINITY, INFINITY, INFINITY}, end = now_seconds() + SECONDS;
    uint8_t *other = allocate(integers.out.byteLength);
    for (unsigned round = 0; round < ROUNDS || now_seconds() < end; round++) {
        for (unsigned i = 0; i < 2; i++) {
            wnn_tiles_force(i == 0 ? tiles : WNN_TILES_NONE);
            best[i] = fmin(best[i], run(fast, &integers));
            if (i == 0)
                memcpy(other, integers.out.data, integers.out.byteLength);
        }
        if (memcmp(other, integers.out.data, integers.out.byteLength) != 0)
            fail("tiles", "other results than on vectors");
        best[2] = fmin(best[2], run(plain, &floats));
    }
    show(size, best);
    free(other);
    release(&integers);
    release(&floats);
}

static WNNContext create(WNNNumerics numerics)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContextNumerics chained = WNN_CONTEXT_NUMERICS_INIT;
    WNNContext context;
    chained.numerics = numerics;
    descriptor.nextInChain = &chained.chain;
    descriptor.threadCount = 1;
    if (wnnCreateContext(&descriptor, &context))
        fail("context", "it cannot be made");
    return context;
}

int main(int argc, char **argv)
{
    enum tiles tiles = wnn_tiles();
    if (argc > 1 && strcmp(argv[1], "--emulate") == 0) {
        tiles = WNN_TILES_EMULATED;
    } else if (argc > 1) {
        fputs("usage: webnn-bench-tiles [--emulate]\n", stderr);
        return 2;
    }
    WNNContext fast = create(WNNNumerics_Fast), plain = create(WNNNumerics_Default);
    printf("tiles: %s\n", tiles == WNN_TILES_AMX        ? "AMX"
                          : tiles == WNN_TILES_EMULATED ? "emulated"
                          : wnn_has_amx()               ? "refused by the system"
                                                        : "none");
    printf("%-36s %8s %8s %8s   %s\n", "GOP/s", "tiles", "vectors", "float32", "tiles faster than both");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        measure(fast, plain, &sizes[i], tiles);
    wnnContextRelease(fast);
    wnnContextRelease(plain);
    return 0;
}
