// SPDX-License-Identifier: Apache-2.0
//
// What becomes of constants when a graph is built: those that have been packed are given up, external ones
// returned to their owner, and the graph computes the same without them.

#include "conformance/unit/runtime_fixture.h"

enum {
    ROWS = 24,
    WIDTH = 48,
    BYTES = WIDTH * WIDTH * (int)sizeof(float)
};

struct loan {
    atomic_int returns;
    char bytes[BYTES + 8];
    size_t offset;
};

static void take_back(const void *data, size_t size, void *loan, void *unused)
{
    struct loan *l = loan;
    (void)unused;
    REQUIRE(data == l->bytes + l->offset);
    REQUIRE_EQUAL_INT(size, BYTES);
    // Nobody may look at them any more.
    memset(l->bytes, 0xff, sizeof l->bytes);
    atomic_fetch_add(&l->returns, 1);
}

static float weight(size_t i)
{
    return (float)((int)(i * 7 % 31) - 15) / 16;
}

static WNNOperand lend(WNNGraphBuilder builder, struct loan *loan, size_t offset)
{
    loan->offset = offset;
    atomic_init(&loan->returns, 0);
    for (size_t i = 0; i < WIDTH * WIDTH; i++)
        memcpy(loan->bytes + offset + i * sizeof(float), &(float){weight(i)}, sizeof(float));
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    bytes.data = loan->bytes + offset;
    bytes.byteLength = BYTES;
    bytes.release = take_back;
    bytes.userdata1 = loan;
    uint32_t dims[] = {WIDTH, WIDTH};
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, 2};
    return wnnGraphBuilderExternalConstant(builder, &descriptor, &bytes);
}

static WNNGraph build_and_release(WNNContext context, WNNGraphBuilder builder, WNNOperand *outputs,
                                  size_t count)
{
    const WNNNamedOperand named[] = {{view("y"), outputs[0]}, {view("z"), count > 1 ? outputs[1] : NULL}};
    WNNGraph graph = build_outputs(context, builder, count, named);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static float input_value(size_t i)
{
    return (float)((int)(i % 13) - 6);
}

static void compute(WNNContext context, WNNGraph graph, float *y, float *z)
{
    static float x[ROWS * WIDTH];
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = input_value(i);
    WNNNamedBuffer input = {view("x"), x, sizeof x};
    WNNNamedBuffer outputs[] = {{view("y"), y, sizeof x}, {view("z"), z, BYTES}};
    compute_buffers(context, graph, 1, &input, z ? 2 : 1, outputs);
}

static void require_product(const float *y)
{
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < WIDTH; j++) {
            float sum = 0;
            for (size_t k = 0; k < WIDTH; k++)
                sum += input_value(i * WIDTH + k) * weight(k * WIDTH + j);
            REQUIRE_EQUAL_FLOAT(y[i * WIDTH + j], sum); // exact: multiples of 1/16
        }
    }
}

// Packed by the only node that reads them: returned with the builder, which has the last reference.
static void test_return(WNNContext context, size_t offset)
{
    static struct loan loan;
    static float y[ROWS * WIDTH];
    uint64_t before = counters_of(context).allocatedBytes;
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand product = wnnGraphBuilderMatmul(builder, add_input(builder, "x", ROWS, WIDTH),
                                               lend(builder, &loan, offset), NULL);
    WNNGraph graph = build_and_release(context, builder, &product, 1);
    REQUIRE_EQUAL_INT(atomic_load(&loan.returns), 1);
    compute(context, graph, y, NULL);
    require_product(y);
    compute(context, graph, y, NULL);
    require_product(y);
    wnnGraphRelease(graph);
    require_bytes(context, before);
    REQUIRE_EQUAL_INT(atomic_load(&loan.returns), 1);
}

// Also read as they are, by another node or as an output: kept until the graph goes.
static void test_kept(WNNContext context, bool as_output)
{
    static struct loan loan;
    static float y[ROWS * WIDTH], z[WIDTH * WIDTH];
    uint64_t before = counters_of(context).allocatedBytes;
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand weights = lend(builder, &loan, 0), x = add_input(builder, "x", ROWS, WIDTH);
    WNNOperand outputs[2] = {wnnGraphBuilderMatmul(builder, x, weights, NULL),
                             wnnGraphBuilderIdentity(builder, weights, NULL)};
    if (!as_output) {
        WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
        uint32_t starts[] = {0, 0}, sizes[] = {1, WIDTH};
        WNNOperand row =
            wnnGraphBuilderSlice(builder, x, (WNNUint32List){starts, 2}, (WNNUint32List){sizes, 2}, &options);
        outputs[1] = wnnGraphBuilderAdd(builder, weights, row, NULL);
    }
    WNNGraph graph = build_and_release(context, builder, outputs, 2);
    REQUIRE_EQUAL_INT(atomic_load(&loan.returns), 0);
    compute(context, graph, y, z);
    require_product(y);
    for (size_t i = 0; i < WIDTH * WIDTH; i++)
        REQUIRE_EQUAL_FLOAT(z[i], weight(i) + (as_output ? 0 : input_value(i % WIDTH)));
    wnnGraphRelease(graph);
    require_bytes(context, before);
    REQUIRE_EQUAL_INT(atomic_load(&loan.returns), 1);
}

// Two graphs of one builder share the bytes, each packs them.
static void test_shared(WNNContext context)
{
    static struct loan loan;
    static float y[ROWS * WIDTH];
    uint64_t before = counters_of(context).allocatedBytes;
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand product =
        wnnGraphBuilderMatmul(builder, add_input(builder, "x", ROWS, WIDTH), lend(builder, &loan, 0), NULL);
    WNNNamedOperand output = {view("y"), product};
    WNNGraph first = build_outputs(context, builder, 1, &output);
    REQUIRE_EQUAL_INT(atomic_load(&loan.returns), 0);
    WNNGraph second = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    REQUIRE_EQUAL_INT(atomic_load(&loan.returns), 1);
    compute(context, first, y, NULL);
    require_product(y);
    wnnGraphRelease(first);
    compute(context, second, y, NULL);
    require_product(y);
    wnnGraphRelease(second);
    require_bytes(context, before);
}

// The library's own copy of a constant goes too: what is left is one packed matrix and less than half of
// another.
static void test_copies(WNNContext context)
{
    enum {
        SIDE = 256
    };
    static float weights[SIDE * SIDE];
    uint64_t before = counters_of(context).allocatedBytes, matrix = sizeof weights;
    uint32_t dims[] = {SIDE, SIDE};
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, 2};
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand product =
        wnnGraphBuilderMatmul(builder, add_input(builder, "x", ROWS, SIDE),
                              wnnGraphBuilderConstant(builder, &descriptor, weights, sizeof weights), NULL);
    REQUIRE(counters_of(context).allocatedBytes - before >= matrix);
    WNNGraph graph = build_and_release(context, builder, &product, 1);
    REQUIRE(counters_of(context).allocatedBytes - before < matrix + matrix / 2);
    wnnGraphRelease(graph);
    require_bytes(context, before);
}

static bool lower_at_gate(void *state, struct plan *plan, void **executable, struct error *error)
{
    return pass_gate(error) && wnn_backend_find("cpu")->lower(state, plan, executable, error);
}

static const char *const in[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"};
static const char *const out[] = {"y0", "y1", "y2", "y3", "y4", "y5", "y6", "y7"};

static uint32_t rows_of(unsigned layer, bool alike)
{
    return alike ? ROWS : ROWS + layer / 2 * 17;
}

// Layers that share weights, of so many rows each: whole numbers, which sums do not round. All but the last,
// which reads them turned, are alike.
static WNNGraph build_layers(WNNContext context, WNNGraphBuilder builder, WNNOperand weights, uint32_t side,
                             unsigned layers, bool alike)
{
    WNNNamedOperand outputs[8];
    for (unsigned i = 0; i < layers; i++) {
        WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
        options.bTranspose = !alike && i + 1 == layers;
        WNNOperand x = add_input(builder, in[i], rows_of(i, alike), side);
        outputs[i] = (WNNNamedOperand){view(out[i]), wnnGraphBuilderGemm(builder, x, weights, &options)};
    }
    WNNGraph graph = build_outputs(context, builder, layers, outputs);
    wnnGraphBuilderRelease(builder);
    return graph;
}

// Weights that several products read alike are packed once; and what is packed otherwise is not taken for
// them.
static void test_layers(bool alike)
{
    enum {
        LAYERS = 8,
        SIDE = 400,
        MOST_ROWS = ROWS + LAYERS / 2 * 17
    };
    static float weights[SIDE * SIDE], x[MOST_ROWS * SIDE], y[LAYERS][MOST_ROWS * SIDE];
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.strictNumerics = true; // not by XNNPACK, which packs for itself
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    for (size_t i = 0; i < SIDE * SIDE; i++)
        weights[i] = (float)((int)(i * 7 % 31) - 15);
    for (size_t i = 0; i < MOST_ROWS * SIDE; i++)
        x[i] = input_value(i);
    uint64_t before = counters_of(context).allocatedBytes;
    WNNGraphBuilder builder = create_builder(context);
    uint32_t dims[] = {SIDE, SIDE};
    WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {dims, 2}};
    WNNOperand constant = wnnGraphBuilderConstant(builder, &type, weights, sizeof weights);
    WNNGraph graph = build_layers(context, builder, constant, SIDE, LAYERS, alike);
    uint64_t taken = counters_of(context).allocatedBytes - before;
    printf("%d layers of one matrix: %.2f of its bytes\n", LAYERS, (double)taken / sizeof weights);
    REQUIRE(!alike || taken < 2 * sizeof weights);
    WNNNamedBuffer inputs[LAYERS], outputs[LAYERS];
    for (unsigned i = 0; i < LAYERS; i++) {
        size_t bytes = sizeof(float) * SIDE * rows_of(i, alike);
        inputs[i] = (WNNNamedBuffer){view(in[i]), x, bytes};
        outputs[i] = (WNNNamedBuffer){view(out[i]), y[i], bytes};
    }
    compute_buffers(context, graph, LAYERS, inputs, LAYERS, outputs);
    for (unsigned l = 0; l < LAYERS; l++)
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < SIDE; j++) {
                bool turned = !alike && l + 1 == LAYERS;
                float sum = 0;
                for (size_t k = 0; k < SIDE; k++)
                    sum += x[i * SIDE + k] * weights[turned ? j * SIDE + k : k * SIDE + j];
                REQUIRE_EQUAL_FLOAT(y[l][i * SIDE + j], sum);
            }
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// Copies whose builder is gone before the build begins: each goes when it has been packed, so that the
// weights never exist twice. The other half: convolutions, which XNNPACK may pack.
static void test_peak(bool convolutions)
{
    enum {
        LAYERS = 12,
        SIDE = 192
    };
    static float weights[SIDE * SIDE];
    // The build waits behind another until the builder is gone, which keeps the weights too.
    static struct backend backend;
    backend = *wnn_backend_find("cpu");
    backend.lower = lower_at_gate;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    REQUIRE_EQUAL_INT(wnn_create_context_on(&backend, &descriptor, &context), WNNStatus_Success);
    WNNGraphBuilder builder = create_builder(context);
    struct answer tiny = {0}, built = {0};
    set_gate(true);
    WNNOperand relu = wnnGraphBuilderRelu(builder, add_input(builder, "x", ROWS, SIDE), NULL);
    WNNFuture first = start_build(builder, "y", relu, &tiny, WNNCallbackMode_WaitAnyOnly);
    wait_for_gate(1);
    wnnGraphBuilderRelease(builder);
    uint64_t before = counters_of(context).allocatedBytes;

    uint32_t dims[] = {SIDE, convolutions ? 1 : SIDE, 1, SIDE}, shape[] = {1, 2, 2, SIDE};
    WNNOperandDescriptor input = {NULL, WNNDataType_Float32, {shape, 4}};
    WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {dims, convolutions ? 4 : 2}};
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.inputLayout = WNNInputOperandLayout_NHWC;
    options.filterLayout = WNNConv2dFilterOperandLayout_OHWI;
    builder = create_builder(context);
    WNNOperand z =
        convolutions ? wnnGraphBuilderInput(builder, view("x"), &input) : add_input(builder, "x", ROWS, SIDE);
    for (int i = 0; i < LAYERS; i++) {
        weights[i] = (float)i; // so that no two are equal
        WNNOperand w = wnnGraphBuilderConstant(builder, &type, weights, sizeof weights);
        z = convolutions ? wnnGraphBuilderConv2d(builder, z, w, &options)
                         : wnnGraphBuilderMatmul(builder, z, w, NULL);
    }
    WNNFuture second = start_build(builder, "y", z, &built, WNNCallbackMode_WaitAnyOnly);
    wnnGraphBuilderRelease(builder);
    set_gate(false);
    wait_for(context, first);
    wait_for(context, second);
    REQUIRE_EQUAL_INT(built.status, WNNStatus_Success);
    WNNContextCounters counters = counters_of(context);
    uint64_t all = LAYERS * sizeof weights;
    printf("%s: %.2f of the weights at most while they were packed, %.2f then\n",
           convolutions ? "convolutions" : "products", (double)(counters.maxAllocatedBytes - before) / all,
           (double)(counters.allocatedBytes - before) / all);
    REQUIRE(counters.maxAllocatedBytes - before <= all + all / 4);
    wnnGraphRelease(built.graph);
    wnnGraphRelease(tiny.graph);
    wnnContextRelease(context);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_peak(false));
    CASE(test_peak(true));
    CASE(test_layers(true));
    CASE(test_layers(false));
    for (int strict = 0; strict < 2; strict++) {
        WNNContextDescriptor descriptor = describe_context(NULL, NULL);
        descriptor.strictNumerics = strict;
        WNNContext context;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
        CASE(test_return(context, 0));
        CASE(test_return(context, 3));
        CASE(test_kept(context, true));
        CASE(test_kept(context, false));
        CASE(test_shared(context));
        CASE(test_copies(context));
        wnnContextRelease(context);
    }
    return cases_end();
}
