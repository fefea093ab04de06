// SPDX-License-Identifier: Apache-2.0
//
// Graphs with names in the place of sizes on Vulkan: at many sizes they compute what graphs do that were
// recorded for these, of few sizes alone shaders are compiled, and weights are on the device once.

#include "conformance/backends.h"
#include "conformance/unit/runtime_fixture.h"
#include "vulkan/vulkan.h"

#include <math.h>

// A name of a list of sizes.
enum {
    MAX_NAMES = 4,
    MAX_PORTS = 8,
    MAX_FLOATS = 1 << 16
};

// What is recorded: with names, or with their sizes.
struct recording {
    WNNGraphBuilder builder;
    const char *const *names;
    const uint32_t *sizes; // NULL: the names are
    unsigned input_count, output_count, constant_count;
    WNNNamedOperand outputs[MAX_PORTS];
    struct port {
        char name[4];
        uint32_t dims[WNN_MAX_RANK]; // a size, or the number of a name from NAMED on
        unsigned rank;
    } inputs[MAX_PORTS];
};

#define NAMED   0x10000000u
#define NAME(i) (NAMED + (i))

static size_t compiled;
static const struct backend *backend = &wnn_backend_vulkan;

static size_t load(const void *key, size_t length, void *data, size_t capacity, void *userdata)
{
    (void)key, (void)length, (void)data, (void)capacity, (void)userdata;
    return 0;
}

static void store(const void *key, size_t length, const void *data, size_t bytes, void *userdata)
{
    (void)key, (void)length, (void)data, (void)bytes, (void)userdata;
    compiled++;
}

// NULL: there is no device.
static WNNContext create(void)
{
    static const WNNCache cache = {NULL, load, store, NULL};
    static WNNLimits limits = WNN_LIMITS_INIT;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    limits.maxSpecializations = 4;
    descriptor.limits = &limits;
    descriptor.threadCount = 2;
    descriptor.cache = &cache;
    return wnn_create_context_on(backend, &descriptor, &context) == WNNStatus_Success ? context : NULL;
}

static bool has_device(void)
{
    WNNContext context = create();
    if (context)
        wnnContextRelease(context);
    return context;
}

// ---------------------------------------------------------------------------------------------------------------
// Recording
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand input(struct recording *r, unsigned rank, const uint32_t *dims)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNNamedDimensions named = WNN_NAMED_DIMENSIONS_INIT;
    WNNDimension dimensions[WNN_MAX_RANK];
    uint32_t shape[WNN_MAX_RANK];
    REQUIRE(r->input_count < MAX_PORTS);
    struct port *port = &r->inputs[r->input_count];
    snprintf(port->name, sizeof port->name, "x%u", r->input_count++);
    port->rank = rank;
    for (unsigned d = 0; d < rank; d++) {
        port->dims[d] = shape[d] = dims[d];
        dimensions[d] = (WNNDimension)WNN_DIMENSION_INIT;
        if (dims[d] >= NAMED) {
            shape[d] = r->sizes ? r->sizes[dims[d] - NAMED] : 0;
            dimensions[d].name = view(r->names[dims[d] - NAMED]);
        }
    }
    named.dimensionCount = rank;
    named.dimensions = dimensions;
    descriptor.nextInChain = r->sizes ? NULL : &named.chain;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){shape, rank};
    return wnnGraphBuilderInput(r->builder, view(port->name), &descriptor);
}
#define RANKED(...)                                                                                          \
    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[])                           \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define INPUT(r, ...) input(r, RANKED(__VA_ARGS__))

static void output(struct recording *r, WNNOperand operand)
{
    static const char names[MAX_PORTS][3] = {"y0", "y1", "y2", "y3", "y4", "y5", "y6", "y7"};
    WNNError error;
    wnnGraphBuilderGetError(r->builder, &error);
    REQUIRE_EQUAL_VIEW(error.message, "");
    REQUIRE(operand && r->output_count < MAX_PORTS);
    r->outputs[r->output_count] = (WNNNamedOperand){view(names[r->output_count]), operand};
    r->output_count++;
}

// Of small numbers, which are others in each constant.
static WNNOperand constant(struct recording *r, unsigned rank, const uint32_t *dims)
{
    static float values[MAX_FLOATS];
    size_t count = 1, seed = r->constant_count++;
    for (unsigned d = 0; d < rank; d++)
        count *= dims[d];
    REQUIRE(count <= MAX_FLOATS);
    for (size_t i = 0; i < count; i++)
        values[i] = ((float)((i * 2654435761u + seed * 40503u) >> 7 & 255) - 127) / 1024;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderConstant(r->builder, &descriptor, values, count * sizeof(float));
}
#define CONSTANT(r, ...) constant(r, RANKED(__VA_ARGS__))

static uint32_t size_of(WNNOperand operand, unsigned d)
{
    return wnnOperandGetShape(operand).data[d];
}

static WNNOperand reshape(struct recording *r, WNNOperand x, unsigned rank, const uint32_t *dims)
{
    return wnnGraphBuilderReshape(r->builder, x, (WNNUint32List){dims, rank}, NULL);
}
#define RESHAPE(r, x, ...) reshape(r, x, RANKED(__VA_ARGS__))

static WNNOperand transpose(struct recording *r, WNNOperand x, unsigned rank, const uint32_t *permutation)
{
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){permutation, rank};
    return wnnGraphBuilderTranspose(r->builder, x, &options);
}
#define TRANSPOSE(r, x, ...) transpose(r, x, RANKED(__VA_ARGS__))

enum {
    WIDTH = 64,
    HEADS = 4,
    DEPTH = WIDTH / HEADS
};

// [1, n, WIDTH] as heads.
static WNNOperand split_heads(struct recording *r, WNNOperand x)
{
    return TRANSPOSE(r, RESHAPE(r, x, 1, size_of(x, 1), HEADS, DEPTH), 0, 2, 1, 3);
}

// A layer that is told new tokens (n) and has seen others (p); the mask is for all of them (m).
static void record_decoder(struct recording *r)
{
    WNNGraphBuilder b = r->builder;
    WNNOperand x = INPUT(r, 1, NAME(0), WIDTH), keys = INPUT(r, 1, HEADS, NAME(1), DEPTH),
               values = INPUT(r, 1, HEADS, NAME(1), DEPTH), mask = INPUT(r, 1, 1, NAME(0), NAME(2));
    WNNLayerNormalizationOptions norm = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    norm.scale = CONSTANT(r, WIDTH);
    norm.bias = CONSTANT(r, WIDTH);
    norm.axes = (WNNUint32List){(const uint32_t[]){2}, 1};
    WNNOperand h = wnnGraphBuilderLayerNormalization(b, x, &norm);
    WNNOperand q = split_heads(r, wnnGraphBuilderMatmul(b, h, CONSTANT(r, WIDTH, WIDTH), NULL));
    WNNOperand k = split_heads(r, wnnGraphBuilderMatmul(b, h, CONSTANT(r, WIDTH, WIDTH), NULL));
    WNNOperand v = split_heads(r, wnnGraphBuilderMatmul(b, h, CONSTANT(r, WIDTH, WIDTH), NULL));
    const WNNOperand all_keys[] = {keys, k}, all_values[] = {values, v};
    k = wnnGraphBuilderConcat(b, 2, all_keys, 2, NULL);
    v = wnnGraphBuilderConcat(b, 2, all_values, 2, NULL);
    WNNOperand scores = wnnGraphBuilderMatmul(b, q, TRANSPOSE(r, k, 0, 1, 3, 2), NULL);
    scores = wnnGraphBuilderAdd(b, wnnGraphBuilderMul(b, scores, CONSTANT(r, 1), NULL), mask, NULL);
    WNNOperand mixed = wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 3, NULL), v, NULL);
    mixed = TRANSPOSE(r, mixed, 0, 2, 1, 3);
    mixed = RESHAPE(r, mixed, 1, size_of(x, 1), WIDTH);
    x = wnnGraphBuilderAdd(b, x, wnnGraphBuilderMatmul(b, mixed, CONSTANT(r, WIDTH, WIDTH), NULL), NULL);
    // RMSNorm, SwiGLU.
    WNNReduceOptions mean = WNN_REDUCE_OPTIONS_INIT;
    mean.axes = norm.axes;
    mean.keepDimensions = true;
    WNNOperand squares = wnnGraphBuilderReduceMean(b, wnnGraphBuilderMul(b, x, x, NULL), &mean);
    h = wnnGraphBuilderDiv(b, x, wnnGraphBuilderSqrt(b, squares, NULL), NULL);
    h = wnnGraphBuilderMul(b, h, norm.scale, NULL);
    WNNOperand opened = wnnGraphBuilderMatmul(b, h, CONSTANT(r, WIDTH, 2 * WIDTH), NULL),
               up = wnnGraphBuilderMatmul(b, h, CONSTANT(r, WIDTH, 2 * WIDTH), NULL);
    h = wnnGraphBuilderMul(b, wnnGraphBuilderMul(b, opened, wnnGraphBuilderSigmoid(b, opened, NULL), NULL),
                           up, NULL);
    h = wnnGraphBuilderMatmul(b, h, CONSTANT(r, 2 * WIDTH, WIDTH), NULL);
    output(r, wnnGraphBuilderAdd(b, x, h, NULL));
    output(r, k);
    output(r, v);
}

// Lines of text of any width (n): convolutions, a recurrent network, probabilities.
static void record_reader(struct recording *r)
{
    WNNGraphBuilder b = r->builder;
    WNNOperand x = INPUT(r, 1, 1, 16, NAME(0));
    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    conv.padding = (WNNUint32List){(const uint32_t[]){1, 1, 1, 1}, 4};
    conv.bias = CONSTANT(r, 16);
    x = wnnGraphBuilderRelu(b, wnnGraphBuilderConv2d(b, x, CONSTANT(r, 16, 1, 3, 3), &conv), NULL);
    WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
    pool.windowDimensions = pool.strides = (WNNUint32List){(const uint32_t[]){2, 2}, 2};
    x = wnnGraphBuilderMaxPool2d(b, x, &pool);
    conv.groups = 16;
    x = wnnGraphBuilderHardSwish(b, wnnGraphBuilderConv2d(b, x, CONSTANT(r, 16, 1, 3, 3), &conv), NULL);
    conv = (WNNConv2dOptions)WNN_CONV2D_OPTIONS_INIT;
    x = wnnGraphBuilderConv2d(b, x, CONSTANT(r, 32, 16, 1, 1), &conv);
    WNNReduceOptions mean = WNN_REDUCE_OPTIONS_INIT;
    mean.axes = (WNNUint32List){(const uint32_t[]){2, 3}, 2};
    mean.keepDimensions = true;
    x = wnnGraphBuilderMul(b, x, wnnGraphBuilderSigmoid(b, wnnGraphBuilderReduceMean(b, x, &mean), NULL),
                           NULL);
    pool.windowDimensions = (WNNUint32List){(const uint32_t[]){8, 1}, 2};
    pool.strides = (WNNUint32List){(const uint32_t[]){8, 1}, 2};
    x = wnnGraphBuilderAveragePool2d(b, x, &pool); // [1, 32, 1, n / 2]
    x = TRANSPOSE(r, x, 3, 0, 1, 2);
    uint32_t steps = size_of(x, 0);
    x = RESHAPE(r, x, steps, 1, 32);
    WNNGruOptions gru = WNN_GRU_OPTIONS_INIT;
    gru.returnSequence = true;
    WNNOperand states[2];
    REQUIRE(
        wnnGraphBuilderGru(b, x, CONSTANT(r, 1, 96, 32), CONSTANT(r, 1, 96, 32), steps, 32, &gru, states));
    x = RESHAPE(r, states[1], steps, 32);
    WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;
    gemm.c = CONSTANT(r, 40);
    x = wnnGraphBuilderSoftmax(b, wnnGraphBuilderGemm(b, x, CONSTANT(r, 32, 40), &gemm), 1, NULL);
    output(r, x);
    WNNReduceOptions most = WNN_REDUCE_OPTIONS_INIT;
    most.axes = (WNNUint32List){(const uint32_t[]){0}, 1};
    output(r, wnnGraphBuilderReduceMax(b, x, &most));
}

static WNNOperand halves(struct recording *r, WNNOperand x)
{
    return wnnGraphBuilderCast(r->builder, x, WNNDataType_Float16, NULL);
}

// Images of three channels and of any height (n), as float16: a convolution, and SwiGLU of its lines.
static void record_lines(struct recording *r)
{
    WNNGraphBuilder b = r->builder;
    WNNOperand x = halves(r, INPUT(r, 1, NAME(0), 13, 3)), gates, ups;
    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    conv.padding = (WNNUint32List){(const uint32_t[]){2, 2, 2, 2}, 4};
    conv.strides = (WNNUint32List){(const uint32_t[]){2, 2}, 2};
    conv.inputLayout = WNNInputOperandLayout_NHWC;
    conv.filterLayout = WNNConv2dFilterOperandLayout_OHWI;
    conv.bias = halves(r, CONSTANT(r, 32));
    x = wnnGraphBuilderConv2d(b, x, halves(r, CONSTANT(r, 32, 5, 5, 3)), &conv);
    WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
    pool.windowDimensions = (WNNUint32List){(const uint32_t[]){1, 7}, 2};
    pool.layout = WNNInputOperandLayout_NHWC;
    x = wnnGraphBuilderAveragePool2d(b, x, &pool); // [1, n / 2, 1, 32]
    x = RESHAPE(r, x, size_of(x, 1), 32);
    gates = wnnGraphBuilderMatmul(b, x, halves(r, CONSTANT(r, 32, 48)), NULL);
    ups = wnnGraphBuilderMatmul(b, x, halves(r, CONSTANT(r, 32, 48)), NULL);
    gates = wnnGraphBuilderMul(b, gates, wnnGraphBuilderSigmoid(b, gates, NULL), NULL);
    output(r, wnnGraphBuilderCast(b, wnnGraphBuilderMul(b, gates, ups, NULL), WNNDataType_Float32, NULL));
}

// A few rows of float16 (n) by weights of float16 and of 4 bits.
static void record_few_rows(struct recording *r)
{
    enum {
        TERMS = 96,
        COLUMNS = 64
    };
    static const uint32_t dims[] = {TERMS, COLUMNS}, blocks[] = {TERMS / 32, COLUMNS};
    uint8_t integers[TERMS * COLUMNS / 2];
    WNNGraphBuilder b = r->builder;
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Uint4, {dims, 2}};
    for (size_t i = 0; i < sizeof integers; i++)
        integers[i] = (uint8_t)(i * 2654435761u >> 9);
    WNNOperand x = halves(r, INPUT(r, NAME(0), 128)), q, zero;
    x = wnnGraphBuilderRelu(b, wnnGraphBuilderMatmul(b, x, halves(r, CONSTANT(r, 128, TERMS)), NULL), NULL);
    q = wnnGraphBuilderConstant(b, &descriptor, integers, sizeof integers);
    descriptor.shape = (WNNUint32List){blocks, 2};
    zero = wnnGraphBuilderConstant(b, &descriptor, integers, TERMS / 32 * COLUMNS / 2);
    q = wnnGraphBuilderDequantizeLinear(b, q, halves(r, CONSTANT(r, TERMS / 32, COLUMNS)), zero, NULL);
    output(r, wnnGraphBuilderCast(b, wnnGraphBuilderMatmul(b, x, q, NULL), WNNDataType_Float32, NULL));
}

// ---------------------------------------------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------------------------------------------

struct subject {
    void (*record)(struct recording *recording);
    const char *names[MAX_NAMES];
    struct recording recording; // with names
    WNNContext context;
    WNNGraph graph;
};

static WNNGraph build(struct recording *recording)
{
    char message[1024];
    WNNGraph graph = NULL;
    wnnGraphBuilderBuildSync(recording->builder, recording->output_count, recording->outputs, &graph,
                             sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    return graph;
}

static void begin(struct subject *subject)
{
    subject->context = create();
    REQUIRE(subject->context);
    subject->recording = (struct recording){.names = subject->names};
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(subject->context, &subject->recording.builder),
                      WNNStatus_Success);
    subject->record(&subject->recording);
    subject->graph = build(&subject->recording);
}

static void end(struct subject *subject)
{
    wnnGraphRelease(subject->graph);
    wnnGraphBuilderRelease(subject->recording.builder);
    wnnContextRelease(subject->context);
}

// The elements of an input, whose shape goes to `shape`.
static size_t shape_of(const struct port *port, const uint32_t *sizes, uint32_t *shape)
{
    size_t count = 1;
    for (unsigned d = 0; d < port->rank; d++) {
        shape[d] = port->dims[d] >= NAMED ? sizes[port->dims[d] - NAMED] : port->dims[d];
        count *= shape[d];
    }
    return count;
}

// Results go to `out`, one behind the other; returns how many numbers they are.
static size_t compute(WNNContext context, WNNGraph graph, const struct recording *r, const uint32_t *sizes,
                      bool named, float *out)
{
    static float values[MAX_PORTS][MAX_FLOATS];
    uint32_t shapes[MAX_PORTS][WNN_MAX_RANK];
    WNNNamedShape given[MAX_PORTS];
    WNNNamedBuffer inputs[MAX_PORTS], outputs[MAX_PORTS];
    WNNOutputShape made[MAX_PORTS];
    char message[1024];
    size_t total = 0;
    for (unsigned i = 0; i < r->input_count; i++) {
        size_t count = shape_of(&r->inputs[i], sizes, shapes[i]);
        REQUIRE(count <= MAX_FLOATS);
        for (size_t k = 0; k < count; k++)
            values[i][k] = ((float)((k + i) * 2246822519u >> 9 & 1023) - 511) / 512;
        given[i] = (WNNNamedShape){view(r->inputs[i].name), {shapes[i], r->inputs[i].rank}};
        inputs[i] =
            (WNNNamedBuffer){view(r->inputs[i].name), values[i], count * sizeof(float), WNNDataType_Float32};
    }
    for (unsigned i = 0; i < r->output_count; i++)
        made[i] = (WNNOutputShape)WNN_OUTPUT_SHAPE_INIT;
    wnnGraphComputeShapes(graph, r->input_count, given, r->output_count, made, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    for (unsigned i = 0; i < r->output_count; i++) {
        outputs[i] =
            (WNNNamedBuffer){r->outputs[i].name, out + total, made[i].byteLength, WNNDataType_Float32};
        total += made[i].byteLength / sizeof(float);
    }
    REQUIRE(total <= MAX_FLOATS);
    WNNInputShapes all = WNN_INPUT_SHAPES_INIT;
    all.shapeCount = r->input_count;
    all.shapes = given;
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.nextInChain = named ? &all.chain : NULL;
    descriptor.graph = graph;
    descriptor.inputCount = r->input_count;
    descriptor.inputs = inputs;
    descriptor.outputCount = r->output_count;
    descriptor.outputs = outputs;
    wnnContextComputeSync(context, &descriptor, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    return total;
}

#define REQUIRE_NEAR(a, b) REQUIRE(fabsf((a) - (b)) <= 1e-5f + 1e-5f * fabsf(b))

// Whether a graph that is recorded for these sizes computes the same.
static void require_same(const struct subject *subject, const uint32_t *sizes, const float *results,
                         size_t count)
{
    static float expected[MAX_FLOATS];
    struct recording recording = {.names = subject->names, .sizes = sizes};
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(subject->context, &recording.builder), WNNStatus_Success);
    subject->record(&recording);
    WNNGraph graph = build(&recording);
    REQUIRE_EQUAL_INT(compute(subject->context, graph, &recording, sizes, false, expected), count);
    for (size_t i = 0; i < count; i++)
        REQUIRE_NEAR(results[i], expected[i]);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(recording.builder);
}

// Runs the graph at these sizes, of which the last `rest` need no shader that those before did not.
static void run(struct subject *subject, size_t names, size_t count, size_t rest,
                const uint32_t sizes[][MAX_NAMES])
{
    static float results[MAX_FLOATS];
    size_t total[64];
    (void)names;
    begin(subject);
    for (size_t i = 0; i < count; i++) {
        compiled = 0;
        total[i] = compute(subject->context, subject->graph, &subject->recording, sizes[i], true, results);
        if (i >= count - rest)
            REQUIRE_EQUAL_INT(compiled, 0);
    }
    for (size_t i = 0; i < count; i++) {
        REQUIRE_EQUAL_INT(
            compute(subject->context, subject->graph, &subject->recording, sizes[i], true, results),
            total[i]);
        require_same(subject, sizes[i], results, total[i]);
    }
    end(subject);
}

static void test_decoder(void)
{
    struct subject subject = {.record = record_decoder, .names = {"n", "p", "m"}};
    static const uint32_t sizes[][MAX_NAMES] = {
        // These bound the classes.
        {7, 1, 8},
        {1, 7, 8},
        {1, 15, 16},
        {1, 200, 201},
        // These are in them.
        {1, 8, 9},
        {1, 9, 10},
        {1, 10, 11},
        {1, 11, 12},
        {1, 12, 13},
        {1, 13, 14},
        {1, 14, 15},
        {1, 16, 17},
        {1, 17, 18},
        {1, 30, 31},
        {1, 31, 32},
        {1, 32, 33},
        {1, 63, 64},
        {1, 64, 65},
        {1, 100, 101},
        {1, 127, 128},
        {1, 255, 256},
        {1, 299, 300},
        {1, 300, 301},
    };
    run(&subject, 3, sizeof sizes / sizeof sizes[0], sizeof sizes / sizeof sizes[0] - 4, sizes);
}

static void test_reader(void)
{
    struct subject subject = {.record = record_reader, .names = {"n"}};
    static const uint32_t sizes[][MAX_NAMES] = {
        // These bound the classes.
        {32},
        {66},
        {128},
        {400},
        {512},
        {600},
        // These are in them.
        {34},
        {48},
        {64},
        {80},
        {96},
        {100},
        {130},
        {160},
        {200},
        {256},
        {300},
        {320},
        {322},
        {640},
    };
    run(&subject, 1, sizeof sizes / sizeof sizes[0], sizeof sizes / sizeof sizes[0] - 6, sizes);
}

static void test_matrices(void)
{
    struct subject subject = {.record = record_lines, .names = {"n"}};
    static const uint32_t sizes[][MAX_NAMES] = {{12}, {34}, {40}, {100}, {71}, {9}, {141}};
    backend = vulkan_matrices();
    run(&subject, 1, sizeof sizes / sizeof sizes[0], 0, sizes);
    // As many matrices take them: up to eight rows, and up to 16.
    static const uint32_t rows[][MAX_NAMES] = {{8}, {16}, {3}, {5}, {7}, {9}, {12}, {2}};
    subject.record = record_few_rows;
    run(&subject, 1, sizeof rows / sizeof rows[0], 6, rows);
    backend = &wnn_backend_vulkan;
}

enum {
    SIDE = 256,
    LAYERS = 4
};

static void record_layers(struct recording *r)
{
    WNNOperand x = INPUT(r, NAME(0), SIDE);
    for (unsigned i = 0; i < LAYERS; i++)
        x = wnnGraphBuilderRelu(r->builder,
                                wnnGraphBuilderMatmul(r->builder, x, CONSTANT(r, SIDE, SIDE), NULL), NULL);
    output(r, x);
}

// Products of a few rows read their weights in another order than those of many: both are on the device once,
// for all sizes.
static void test_weights(void)
{
    static float results[MAX_FLOATS];
    struct subject subject = {.record = record_layers, .names = {"n"}};
    static const uint32_t sizes[2][4][MAX_NAMES] = {{{1}, {3}, {2}, {4}}, {{20}, {33}, {48}, {40}}};
    const uint64_t weights = (uint64_t)LAYERS * SIDE * SIDE * sizeof(float);
    begin(&subject);
    for (size_t k = 0; k < 2; k++) {
        uint64_t first = 0;
        for (size_t i = 0; i < 4; i++) {
            compute(subject.context, subject.graph, &subject.recording, sizes[k][i], true, results);
            uint64_t now = counters_of(subject.context).allocatedBytes;
            REQUIRE(i == 0 || now < first + weights);
            first = i == 0 ? now : first;
        }
    }
    for (size_t i = 0; i < 8; i++) {
        size_t count =
            compute(subject.context, subject.graph, &subject.recording, sizes[i / 4][i % 4], true, results);
        require_same(&subject, sizes[i / 4][i % 4], results, count);
    }
    end(&subject);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    if (!has_device())
        return cases_skip("there is no device");
    CASE(test_decoder());
    CASE(test_reader());
    CASE(test_weights());
    CASE(test_matrices());
    return cases_end();
}
