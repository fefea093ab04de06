// SPDX-License-Identifier: Apache-2.0
//
// Memory that runs out. Twenty graphs are recorded, built and computed while the Nth allocation fails, for N
// = 1, 2, ... until none does: every failure is a status, nothing leaks, and the next attempt works. And an
// execution on memory that is aligned takes none.

#include "conformance/unit/runtime_fixture.h"

#include "runtime/queue.h"

// ---------------------------------------------------------------------------------------------------------------
// The allocator
// ---------------------------------------------------------------------------------------------------------------

static atomic_long blocks, bytes;
static atomic_long until_failure; // 0: none fails
static atomic_bool failed;
static atomic_bool fails_on; // all after the first fail too

static void *allocate(size_t size, size_t alignment, void *userdata)
{
    (void)userdata;
    if (atomic_load(&until_failure) > 0 && atomic_fetch_sub(&until_failure, 1) == 1) {
        atomic_store(&failed, true);
        return NULL;
    }
    if (atomic_load(&fails_on) && atomic_load(&failed))
        return NULL;
    void *memory;
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) != 0)
        return NULL;
    memset(memory, 0xCD, size);
    atomic_fetch_add(&blocks, 1);
    atomic_fetch_add(&bytes, (long)size);
    return memory;
}

static void release(void *memory, size_t size, size_t alignment, void *userdata)
{
    (void)alignment;
    (void)userdata;
    REQUIRE(memory);
    atomic_fetch_sub(&blocks, 1);
    atomic_fetch_sub(&bytes, (long)size);
    free(memory);
}

static const WNNAllocator allocator = {NULL, allocate, release, NULL};

static void fail_at(long n, bool and_after)
{
    atomic_store(&failed, false);
    atomic_store(&fails_on, and_after);
    atomic_store(&until_failure, n);
}

// ---------------------------------------------------------------------------------------------------------------
// The graphs
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand add_shaped(WNNGraphBuilder builder, const char *name, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderInput(builder, view(name), &descriptor);
}

// A constant of `count` small values.
static WNNOperand add_constant(WNNGraphBuilder builder, const uint32_t *dims, size_t rank, size_t count)
{
    static float values[4096];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        values[i] = (float)(i % 7) * 0.25f - 0.5f;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderConstant(builder, &descriptor, values, count * sizeof *values);
}

// The input repeated along its first dimension, twice, by way of its shape and a range.
static WNNOperand double_rows(WNNGraphBuilder b, WNNOperand x)
{
    WNNOperand shape = wnnGraphBuilderShape(b, x, NULL),
               zero = wnnGraphBuilderScalarConstant(b, WNNDataType_Uint32, wnnNumberInt64(0)),
               one = wnnGraphBuilderScalarConstant(b, WNNDataType_Uint32, wnnNumberInt64(1));
    WNNOperand rank =
        wnnGraphBuilderReshape(b, wnnGraphBuilderShape(b, shape, NULL), (WNNUint32List){NULL, 0}, NULL);
    WNNOperand place = wnnGraphBuilderRange(b, zero, rank, one, NULL);
    WNNOperand times = wnnGraphBuilderAdd(
        b, wnnGraphBuilderCast(b, wnnGraphBuilderEqual(b, place, zero, NULL), WNNDataType_Uint32, NULL), one,
        NULL);
    WNNOperand twice = wnnGraphBuilderTileDynamic(b, x, times, NULL);
    return wnnGraphBuilderReshapeDynamic(b, twice, wnnGraphBuilderMul(b, shape, times, NULL), NULL);
}

// Records graph number `index` with one input "x" of [1, 4, 6, 6] and one output of any shape.
static WNNOperand record(WNNGraphBuilder b, int index)
{
    WNNOperand x = add_shaped(b, "x", DIMS(1, 4, 6, 6)), y, z;
    WNNOperand outputs[2] = {NULL, NULL};
    WNNSplitOptions split = WNN_SPLIT_OPTIONS_INIT;
    split.axis = 2;
    switch (index) {
    case 0:
        return wnnGraphBuilderRelu(b, x, NULL);
    case 1:
        return wnnGraphBuilderAdd(b, x, x, NULL);
    case 2:
        return wnnGraphBuilderMul(b, x, add_constant(b, DIMS(4, 1, 1), 4), NULL);
    case 3:
        return wnnGraphBuilderConv2d(b, x, add_constant(b, DIMS(8, 4, 3, 3), 288), NULL);
    case 4:
        return wnnGraphBuilderRelu(
            b, wnnGraphBuilderConv2d(b, x, add_constant(b, DIMS(4, 4, 1, 1), 16), NULL), NULL);
    case 5:
        return wnnGraphBuilderMatmul(
            b, wnnGraphBuilderReshape(b, x, (WNNUint32List){(uint32_t[]){4, 36}, 2}, NULL),
            add_constant(b, DIMS(36, 5), 180), NULL);
    case 6:
        return wnnGraphBuilderMatmul(b, x, x, NULL);
    case 7:
        return wnnGraphBuilderTranspose(b, x, NULL);
    case 8:
        return wnnGraphBuilderSoftmax(b, x, 3, NULL);
    case 9:
        return wnnGraphBuilderMaxPool2d(b, x, NULL);
    case 10:
        return wnnGraphBuilderReduceMean(b, x, NULL);
    case 11:
        return wnnGraphBuilderConcat(b, 2, (WNNOperand[]){x, wnnGraphBuilderNeg(b, x, NULL)}, 1, NULL);
    case 12:
        return wnnGraphBuilderSplit(b, x, 2, &split, 2, outputs) == 2
                   ? wnnGraphBuilderAdd(b, outputs[0], outputs[1], NULL)
                   : NULL;
    case 13:
        return wnnGraphBuilderCast(b, wnnGraphBuilderCast(b, x, WNNDataType_Int32, NULL), WNNDataType_Float32,
                                   NULL);
    case 14:
        return wnnGraphBuilderAveragePool2d(b, x, NULL);
    case 15:
        return wnnGraphBuilderGemm(
            b, wnnGraphBuilderReshape(b, x, (WNNUint32List){(uint32_t[]){12, 12}, 2}, NULL),
            add_constant(b, DIMS(12, 3), 36), NULL);
    case 16:
        y = add_constant(b, DIMS(4), 4);
        z = wnnGraphBuilderExp(b, y, NULL); // folded
        return wnnGraphBuilderAdd(
            b, x, wnnGraphBuilderReshape(b, z, (WNNUint32List){(uint32_t[]){4, 1, 1}, 3}, NULL), NULL);
    case 17:
        return wnnGraphBuilderLayerNormalization(b, x, NULL);
    case 18:
        y = x;
        for (int i = 0; i < 30; i++)
            y = i % 2 ? wnnGraphBuilderAdd(b, y, x, NULL) : wnnGraphBuilderTanh(b, y, NULL);
        return y;
    case 19: // sizes and places that follow from a shape
        y = wnnGraphBuilderCast(b, wnnGraphBuilderShape(b, x, NULL), WNNDataType_Float32, NULL);
        return wnnGraphBuilderAdd(b, double_rows(b, x), wnnGraphBuilderReduceSum(b, y, NULL), NULL);
    default:
        return wnnGraphBuilderResample2d(b, x, NULL);
    }
}

enum {
    GRAPHS = 21,
    MOST = 4096
};

// ---------------------------------------------------------------------------------------------------------------
// Attempts
// ---------------------------------------------------------------------------------------------------------------

static void require_out_of_memory(WNNStatus status, const char *message)
{
    if (status == WNNStatus_OutOfMemory && message[0] && atomic_load(&failed))
        return;
    WNNStringView name = wnnStatusName(status);
    fprintf(stderr, "status %.*s (\"%s\") after %s allocation failure; expected OutOfMemory\n",
            (int)name.length, name.data, message, atomic_load(&failed) ? "an" : "no");
    case_fail();
}

// Aligned memory, and no other to be had: the result is the same.
static void require_no_allocation(WNNContext context, WNNComputeDescriptor *descriptor,
                                  const WNNNamedBuffer *in, const WNNNamedBuffer *out)
{
    static _Alignas(64) unsigned char memory[2][MOST * sizeof(float)];
    WNNNamedBuffer input = *in, output = *out;
    struct answer answer = {0};
    REQUIRE(in->byteLength <= sizeof memory[0] && out->byteLength <= sizeof memory[1]);
    input.data = memcpy(memory[0], in->data, in->byteLength);
    output.data = memory[1];
    descriptor->inputs = &input;
    descriptor->outputs = &output;
    fail_at(1, true);
    wait_for(context, wnnContextCompute(context, descriptor, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE(!atomic_load(&failed));
    fail_at(0, false);
    REQUIRE_EQUAL_INT(answer.status, WNNStatus_Success);
    REQUIRE(memcmp(memory[1], out->data, out->byteLength) == 0);
}

// The whole way from a builder to a result, in misaligned memory. True: it went well; `result` gets the
// bytes.
static bool attempt(WNNContext context, int index, unsigned char *result)
{
    static _Alignas(64) unsigned char input[144 * sizeof(float) + 1], output[MOST * sizeof(float) + 1];
    WNNGraphBuilder builder = NULL;
    struct answer built = {0}, computed = {0};
    WNNStatus status = wnnContextCreateGraphBuilder(context, &builder);
    if (status != WNNStatus_Success) {
        require_out_of_memory(status, "no builder");
        return false;
    }
    WNNOperand y = record(builder, index);
    WNNError error;
    wnnGraphBuilderGetError(builder, &error);
    REQUIRE((y == NULL) == (error.status != WNNStatus_Success));
    wait_for(context, start_build(builder, "y", y, &built, WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_INT(built.calls, 1);
    wnnGraphBuilderRelease(builder);
    if (built.status != WNNStatus_Success) {
        require_out_of_memory(built.status, built.message);
        return false;
    }
    size_t count, elements = 1;
    const WNNOperandDescriptor *type = &wnnGraphGetOutputs(built.graph, &count)->descriptor;
    for (size_t i = 0; i < type->shape.count; i++)
        elements *= type->shape.data[i];
    REQUIRE(elements <= MOST);
    for (int i = 0; i < 144; i++) {
        float value = (float)(i % 11) - 3.5f;
        memcpy(input + 1 + (size_t)i * sizeof value, &value, sizeof value);
    }
    memset(output, 0xA5, sizeof output);
    WNNNamedBuffer in = {view("x"), input + 1, sizeof input - 1, WNNDataType_Float32};
    WNNNamedBuffer out = {view("y"), output + 1, elements * sizeof(float), WNNDataType_Float32};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.graph = built.graph;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &in;
    descriptor.outputs = &out;
    wait_for(context, wnnContextCompute(context, &descriptor, tell(&computed, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(computed.calls, 1);
    if (computed.status == WNNStatus_Success && atomic_load(&until_failure) == 0 && !atomic_load(&failed))
        require_no_allocation(context, &descriptor, &in, &out);
    wnnGraphRelease(built.graph);
    if (computed.status != WNNStatus_Success) {
        require_out_of_memory(computed.status, computed.message);
        for (size_t i = 0; i < sizeof output; i++)
            REQUIRE_EQUAL_INT(output[i], 0xA5);
        return false;
    }
    memcpy(result, output, sizeof output);
    return true;
}

static void require_idle(WNNContext context, uint64_t expected)
{
    WNNContextCounters counters = counters_of(context);
    REQUIRE_EQUAL_INT(counters.builders + counters.graphs + counters.tensors + counters.pendingRequests, 0);
    require_bytes(context, expected);
}

static void test_graph(WNNContext context, int index, uint64_t before)
{
    static unsigned char right[MOST * sizeof(float) + 1], result[sizeof right];
    fail_at(0, false);
    REQUIRE(attempt(context, index, right));
    require_idle(context, before);
    long n = 0;
    for (bool through = false; !through;) {
        n++;
        for (int and_after = 0; and_after < 2; and_after++) {
            fail_at(n, and_after);
            through = attempt(context, index, result);
            bool hit = atomic_load(&failed);
            fail_at(0, false);
            // What fails may also be done without: the bits are the same then.
            REQUIRE(!through || memcmp(result, right, sizeof right) == 0);
            through = through && !hit;
            require_idle(context, before);
            REQUIRE(!wnnContextIsLost(context));
        }
    }
    REQUIRE(attempt(context, index, result));
    REQUIRE(memcmp(result, right, sizeof right) == 0);
    require_idle(context, before);
    printf("graph %d: %ld allocations\n", index, n - 1);
}

// ---------------------------------------------------------------------------------------------------------------
// Sizes that come late
// ---------------------------------------------------------------------------------------------------------------

enum {
    WIDTH = 24, // of rows, of which there are 1 to MAX_ROWS
    MAX_ROWS = 3,
    MAX_LATE = 2 * MAX_ROWS * WIDTH
};

static WNNOperand add_rows(WNNGraphBuilder builder, const char *name, uint32_t columns)
{
    WNNDimension dimensions[2] = {WNN_DIMENSION_INIT, WNN_DIMENSION_INIT};
    dimensions[0].name = view("n");
    WNNNamedDimensions named = {{NULL, WNNSType_NamedDimensions}, columns ? 2 : 1, dimensions};
    WNNOperandDescriptor type = {
        &named.chain, WNNDataType_Float32, {(const uint32_t[]){0, columns}, columns ? 2 : 1}};
    return wnnGraphBuilderInput(builder, view(name), &type);
}

// Sizes that follow from sizes.
static WNNOperand record_doubled(WNNGraphBuilder b)
{
    return double_rows(b, add_rows(b, "x", 0));
}

// Weights that are packed, folded, and in a convolution, which reads its input for so long that an output in
// its place is copied.
static WNNOperand record_layers(WNNGraphBuilder b)
{
    WNNOperand x = add_rows(b, "x", WIDTH), weights = add_constant(b, DIMS(WIDTH, WIDTH), WIDTH * WIDTH);
    WNNOperand y = wnnGraphBuilderMatmul(b, x, wnnGraphBuilderTanh(b, weights, NULL), NULL);
    y = wnnGraphBuilderMatmul(b, y, weights, NULL);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.padding = (WNNUint32List){(const uint32_t[]){1, 1, 1, 1}, 4};
    uint32_t rows = y ? wnnOperandGetShape(y).data[0] : 1;
    y = wnnGraphBuilderReshape(b, y, (WNNUint32List){DIMS(1, 1, rows, WIDTH)}, NULL);
    y = wnnGraphBuilderConv2d(b, y, add_constant(b, DIMS(1, 1, 3, 3), 9), &options);
    return wnnGraphBuilderReshape(b, y, (WNNUint32List){DIMS(rows, WIDTH)}, NULL);
}

// What a graph of one input does; `rank` and `times` are of the output, which has so many times the elements.
static const struct late_subject {
    const char *name;
    WNNOperand (*record)(WNNGraphBuilder builder);
    size_t rank, times;
} late_subjects[] = {{"doubled", record_doubled, 1, 2}, {"layers", record_layers, 2, 1}};

// Notes what went wrong, if anything did; false: it did.
static bool went_well(WNNStatus status, const char *message)
{
    if (status != WNNStatus_Success)
        require_out_of_memory(status, message);
    return status == WNNStatus_Success;
}

static bool build_late(WNNContext context, const struct late_subject *subject, WNNGraph *graph)
{
    WNNGraphBuilder builder = NULL;
    struct answer built = {0};
    *graph = NULL;
    if (!went_well(wnnContextCreateGraphBuilder(context, &builder), "no builder"))
        return false;
    WNNNamedOperand output = {view("y"), subject->record(builder)};
    WNNBuildCallbackInfo info = {NULL, WNNCallbackMode_WaitAnyOnly, on_build, &built, NULL};
    wait_for(context, wnnGraphBuilderBuild(builder, 1, &output, info));
    wnnGraphBuilderRelease(builder);
    *graph = built.graph;
    return went_well(built.status, built.message);
}

static void fill_rows(float *x)
{
    for (size_t i = 0; i < MAX_ROWS * WIDTH; i++)
        x[i] = (float)(i % 11) - 4;
}

static bool compute_rows(WNNContext context, WNNGraph graph, const struct late_subject *subject, uint32_t n,
                         float *result)
{
    struct answer computed = {0};
    float x[MAX_ROWS * WIDTH];
    fill_rows(x);
    const uint32_t dims[] = {n, WIDTH};
    size_t count = subject->rank == 1 ? n : n * WIDTH;
    WNNNamedShape shape = {view("x"), {dims, subject->rank}};
    WNNInputShapes shapes = {{NULL, WNNSType_InputShapes}, 1, &shape};
    WNNNamedBuffer in = {view("x"), x, count * sizeof *x, WNNDataType_Float32},
                   out = {view("y"), result, subject->times * count * sizeof *x, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = {&shapes.chain, WNN_STRING_VIEW_INIT, graph, 1, 1, &in, &out};
    wait_for(context, wnnContextCompute(context, &descriptor, tell(&computed, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(computed.calls, 1);
    return went_well(computed.status, computed.message);
}

// On one tensor, which is the input and then, if so wished, the output.
static bool dispatch_rows(WNNContext context, WNNGraph graph, const struct late_subject *subject, uint32_t n,
                          bool replaces, float *result)
{
    struct answer dispatched = {0};
    float x[MAX_ROWS * WIDTH];
    fill_rows(x);
    WNNTensor tensors[2] = {NULL, NULL};
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.readable = descriptor.writable = true;
    bool good = true;
    size_t count = subject->rank == 1 ? n : n * WIDTH;
    for (unsigned i = 0; good && i < (replaces ? 1 : 2); i++) {
        const uint32_t dims[] = {i ? n * (uint32_t)subject->times : n, WIDTH};
        descriptor.shape = (WNNUint32List){dims, subject->rank};
        good = went_well(wnnContextCreateTensor(context, &descriptor, &tensors[i]), "no tensor");
    }
    WNNTensor to = replaces ? tensors[0] : tensors[1];
    good = good && went_well(wnnContextWriteTensor(context, tensors[0], x, count * sizeof *x), "no write");
    WNNNamedTensor in = {view("x"), tensors[0]}, out = {view("y"), to};
    WNNDispatchDescriptor dispatch = {NULL, WNN_STRING_VIEW_INIT, graph, 1, 1, &in, &out};
    if (good) {
        wait_for(context,
                 wnnContextDispatch(context, &dispatch, tell(&dispatched, WNNCallbackMode_WaitAnyOnly)));
        REQUIRE_EQUAL_INT(dispatched.calls, 1);
        good = went_well(dispatched.status, dispatched.message);
    }
    struct answer read = {0};
    if (good) {
        wait_for(context, wnnContextReadTensor(context, to, result, subject->times * count * sizeof *x,
                                               tell(&read, WNNCallbackMode_WaitAnyOnly)));
        good = went_well(read.status, read.message);
    }
    wnnTensorRelease(tensors[0]);
    wnnTensorRelease(tensors[1]);
    return good;
}

// At more sizes than stay, on memory and on tensors; false: memory ran out. `results` get what came out.
static bool attempt_late(WNNContext context, const struct late_subject *subject, float results[][MAX_LATE])
{
    WNNGraph graph;
    bool good = build_late(context, subject, &graph);
    for (uint32_t n = 1; good && n <= MAX_ROWS; n++)
        good = compute_rows(context, graph, subject, n, results[n - 1]);
    for (uint32_t n = 1; good && n <= MAX_ROWS; n++)
        good = dispatch_rows(context, graph, subject, n, subject->times == 1, results[MAX_ROWS + n - 1]);
    wnnGraphRelease(graph);
    return good;
}

static void test_late(const WNNLimits *limits, const struct late_subject *subject)
{
    static float right[2 * MAX_ROWS][MAX_LATE], results[2 * MAX_ROWS][MAX_LATE];
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.allocator = &allocator;
    descriptor.limits = limits;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    uint64_t before = counters_of(context).allocatedBytes;
    memset(right, 0, sizeof right);
    REQUIRE(attempt_late(context, subject, right));
    REQUIRE(memcmp(right, right[MAX_ROWS], sizeof right / 2) == 0 && right[0][0] != 0);
    require_idle(context, before);
    long n = 0;
    for (bool through = false; !through;) {
        n++;
        for (int and_after = 0; and_after < 2; and_after++) {
            memset(results, 0, sizeof results);
            fail_at(n, and_after);
            through = attempt_late(context, subject, results);
            bool hit = atomic_load(&failed);
            fail_at(0, false);
            REQUIRE(!through || memcmp(results, right, sizeof right) == 0);
            through = through && !hit;
            require_idle(context, before);
            REQUIRE(!wnnContextIsLost(context));
        }
    }
    printf("%s, %u specializations: %ld allocations\n", subject->name, limits->maxSpecializations, n - 1);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(blocks, 0);
}

static void test_all_late(void)
{
    WNNLimits one = WNN_LIMITS_INIT, few_bytes = WNN_LIMITS_INIT;
    one.maxSpecializations = 1;
    few_bytes.maxSpecializations = 4;
    few_bytes.maxSpecializationBytes = 1; // the last one stays
    for (size_t i = 0; i < sizeof late_subjects / sizeof late_subjects[0]; i++) {
        CASE_AS(case_name("late %s, one stays", late_subjects[i].name), test_late(&one, &late_subjects[i]));
        CASE_AS(case_name("late %s, of few bytes", late_subjects[i].name),
                test_late(&few_bytes, &late_subjects[i]));
    }
}

enum {
    INPUTS = 60
};

// The sums of many inputs, each of a size of its own.
static WNNGraph build_sums(WNNContext context, char names[INPUTS][16])
{
    WNNGraphBuilder builder = NULL;
    WNNNamedOperand outputs[INPUTS];
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &builder), WNNStatus_Success);
    for (int i = 0; i < INPUTS; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        WNNDimension dimension = WNN_DIMENSION_INIT;
        dimension.name = view(names[i]);
        WNNNamedDimensions named = {{NULL, WNNSType_NamedDimensions}, 1, &dimension};
        WNNOperandDescriptor type = {&named.chain, WNNDataType_Float32, {(const uint32_t[]){0}, 1}};
        WNNOperand x = wnnGraphBuilderInput(builder, view(names[i]), &type);
        outputs[i] = (WNNNamedOperand){view(names[i]), wnnGraphBuilderReduceSum(builder, x, NULL)};
    }
    WNNGraph graph = NULL;
    char message[256] = "";
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(builder, INPUTS, outputs, &graph, sizeof message, message),
                      WNNStatus_Success);
    wnnGraphBuilderRelease(builder);
    return graph;
}

// Computes them; the sizes depend on `turn`.
static void compute_sums(WNNContext context, WNNGraph graph, char names[INPUTS][16], uint32_t turn)
{
    static float data[2 * INPUTS], sums[INPUTS];
    uint32_t sizes[INPUTS];
    WNNNamedBuffer in[INPUTS], out[INPUTS];
    WNNNamedShape given[INPUTS];
    for (uint32_t i = 0; i < INPUTS; i++) {
        sizes[i] = 1 + (i + turn) % 3;
        data[2 * i] = (float)(2 * i);
        data[2 * i + 1] = (float)(2 * i + 1);
        given[i] = (WNNNamedShape){view(names[i]), {&sizes[i], 1}};
        in[i] = (WNNNamedBuffer){view(names[i]), data + i, sizes[i] * sizeof(float), WNNDataType_Float32};
        out[i] = (WNNNamedBuffer){view(names[i]), sums + i, sizeof(float), WNNDataType_Float32};
    }
    WNNInputShapes shapes = {{NULL, WNNSType_InputShapes}, INPUTS, given};
    WNNComputeDescriptor descriptor = {&shapes.chain, WNN_STRING_VIEW_INIT, graph, INPUTS, INPUTS, in, out};
    struct answer computed = {0};
    wait_for(context, wnnContextCompute(context, &descriptor, tell(&computed, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(computed.status, WNNStatus_Success);
    for (int i = 0; i < INPUTS; i++) {
        float count = (float)sizes[i];
        REQUIRE(sums[i] == count * (float)i + count * (count - 1) / 2);
    }
}

// At sizes that a graph has had, nothing is allocated, however many there are.
static void test_many_inputs(WNNContext context, uint64_t before)
{
    static char names[INPUTS][16];
    WNNGraph graph = build_sums(context, names);
    for (uint32_t turn = 0; turn < 6; turn++) {
        fail_at(turn < 2 ? 0 : 1, true);
        compute_sums(context, graph, names, turn % 2);
        REQUIRE(!atomic_load(&failed));
        fail_at(0, false);
    }
    wnnGraphRelease(graph);
    require_idle(context, before);
}

// Contexts, tensors, reads and writes.
static bool attempt_tensors(void)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.allocator = &allocator;
    WNNContext context = NULL;
    WNNStatus status = wnnCreateContext(&descriptor, &context);
    if (status != WNNStatus_Success) {
        require_out_of_memory(status, "no context");
        REQUIRE(!context);
        return false;
    }
    static const uint32_t dims[] = {4};
    float data[4] = {1, 2, 3, 4}, result[4];
    WNNTensorDescriptor d = WNN_TENSOR_DESCRIPTOR_INIT;
    d.dataType = WNNDataType_Float32;
    d.shape = (WNNUint32List){dims, 1};
    WNNTensor constant = NULL, tensor = NULL;
    struct answer read = {0};
    status = wnnContextCreateConstantTensor(context, &d, data, sizeof data, &constant);
    d.readable = d.writable = true;
    if (status == WNNStatus_Success)
        status = wnnContextCreateTensor(context, &d, &tensor);
    if (status == WNNStatus_Success)
        status = wnnContextWriteTensor(context, tensor, data, sizeof data);
    if (status == WNNStatus_Success) {
        wait_for(context, wnnContextReadTensor(context, tensor, result, sizeof result,
                                               tell(&read, WNNCallbackMode_WaitAnyOnly)));
        status = read.status;
    }
    wnnTensorRelease(constant);
    wnnTensorRelease(tensor);
    wnnContextRelease(context);
    if (status == WNNStatus_Success)
        return true;
    require_out_of_memory(status, "tensors");
    return false;
}

static void test_tensors(void)
{
    bool through = false;
    for (long n = 1; !through; n++)
        for (int and_after = 0; and_after < 2; and_after++) {
            fail_at(n, and_after);
            through = attempt_tensors() && !atomic_load(&failed);
            fail_at(0, false);
            REQUIRE_EQUAL_INT(blocks, 0);
        }
}

// Without any memory every request is still answered once: first later, as long as there are places for that,
// then inside of its call.
static void test_no_memory_at_all(WNNContext context)
{
    enum {
        LATER = QUEUE_PLACES + 1, // and the one for emergencies
        CALLS = LATER + 2
    };
    struct answer answers[CALLS] = {0};
    fail_at(1, true);
    WNNFuture futures[CALLS];
    for (int i = 0; i < CALLS; i++)
        futures[i] = wnnContextCompute(context, NULL, tell(&answers[i], WNNCallbackMode_WaitAnyOnly));
    for (int i = 0; i < CALLS; i++)
        REQUIRE_EQUAL_INT(answers[i].calls, i < LATER ? 0 : 1);
    for (int i = 0; i < CALLS; i++) {
        REQUIRE(futures[i].id != 0);
        wait_for(context, futures[i]);
        REQUIRE_EQUAL_INT(answers[i].calls, 1);
        REQUIRE_EQUAL_INT(answers[i].status, WNNStatus_TypeError);
    }
    wait_for(context, wnnContextCompute(context, NULL, tell(&answers[0], WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(answers[0].calls, 2);
    fail_at(0, false);
    REQUIRE_EQUAL_INT(counters_of(context).pendingRequests, 0);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.allocator = &allocator;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    uint64_t idle = counters_of(context).allocatedBytes;
    for (int i = 0; i < GRAPHS; i++)
        CASE_AS(case_name("graph %d", i), test_graph(context, i, idle));
    CASE(test_many_inputs(context, idle));
    CASE(test_no_memory_at_all(context));
    wnnContextRelease(context);
    REQUIRE(!cases_complete() || (blocks == 0 && bytes == 0));
    test_all_late();
    CASE(test_tensors());
    return cases_end();
}
