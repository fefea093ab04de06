// SPDX-License-Identifier: Apache-2.0
//
// Weights on their way to a device: each is had from a source, put in order, uploaded and given back before
// the next one is had, so that a build takes little more memory than what stays; a source that fails at any
// of them leaves nothing behind; and a second graph has what the first has uploaded. On memory that the host
// can map, and through staging memory.

#include "conformance/backends.h"
#include "conformance/compiled.h"
#include "conformance/unit/runtime_fixture.h"

enum {
    ROWS = 4,
    WIDTH = 512,
    PRODUCTS = 32,  // of matrices of a MiB
    CHANNELS = 160, // and of filters of most of one
    CONVOLUTIONS = 16,
    SIDE = 6,
    MAX_CONSTANTS = PRODUCTS + CONVOLUTIONS
};

static const struct backend *backend;

// ---------------------------------------------------------------------------------------------------------------
// A source
// ---------------------------------------------------------------------------------------------------------------

static struct {
    atomic_long blocks, bytes, max_bytes, calls;
    long fails_at;     // the call that fails, from 1 on; 0: none
    bool is_odd;       // it gives too many bytes then, and says nothing
    long milliseconds; // that each call takes
} lent;

static void take_back(const void *data, size_t bytes, void *unused1, void *unused2)
{
    (void)unused1;
    (void)unused2;
    free((void *)(uintptr_t)data);
    atomic_fetch_sub(&lent.blocks, 1);
    atomic_fetch_sub(&lent.bytes, (long)bytes);
}

// Products and convolutions keep numbers about as large as they are.
static float number_of(uint64_t constant, size_t i)
{
    uint32_t mixed = ((uint32_t)i + (uint32_t)constant * 524287u) * 2654435761u;
    mixed = (mixed ^ mixed >> 15) * 2246822519u;
    return (float)((int)(mixed >> 24) - 128) * (constant < PRODUCTS ? 0.0006f : 0.0004f);
}

static WNNStatus find(const WNNConstantReference *reference, uint64_t bytes, WNNExternalBytes *found,
                      void *unused1, void *unused2)
{
    bool fails = atomic_fetch_add(&lent.calls, 1) + 1 == lent.fails_at;
    REQUIRE(!unused1 && !unused2 && reference->form == WNNConstantForm_FileRange);
    sleep_milliseconds(lent.milliseconds);
    if (fails && !lent.is_odd)
        return WNNStatus_SecurityError;
    float *block = malloc(bytes + sizeof *block);
    REQUIRE(block);
    for (size_t i = 0; i < bytes / sizeof *block; i++)
        block[i] = number_of(reference->offset, i);
    size_t given = bytes + (fails ? sizeof *block : 0);
    *found = (WNNExternalBytes){NULL, block, given, take_back, NULL, NULL};
    atomic_fetch_add(&lent.blocks, 1);
    long now = atomic_fetch_add(&lent.bytes, (long)given) + (long)given;
    if (now > atomic_load(&lent.max_bytes))
        atomic_store(&lent.max_bytes, now);
    return WNNStatus_Success;
}

static const WNNConstantSource source = {{NULL, WNNSType_ConstantSource}, find, NULL, NULL};

static void begin_source(long fails_at, bool is_odd)
{
    atomic_store(&lent.calls, 0);
    atomic_store(&lent.max_bytes, 0);
    lent.fails_at = fails_at;
    lent.is_odd = is_odd;
}

static void require_given_back(void)
{
    REQUIRE_EQUAL_INT(atomic_load(&lent.blocks), 0);
    REQUIRE_EQUAL_INT(atomic_load(&lent.bytes), 0);
}

// ---------------------------------------------------------------------------------------------------------------
// A graph
// ---------------------------------------------------------------------------------------------------------------

static uint64_t constant_count, all_bytes, max_bytes; // of one recording
static bool is_copied;

static WNNOperand weights(WNNGraphBuilder b, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNConstantReference reference = WNN_CONSTANT_REFERENCE_INIT;
    size_t count = 1;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    reference.form = WNNConstantForm_FileRange;
    reference.offset = constant_count++;
    all_bytes += count * sizeof(float);
    max_bytes = count * sizeof(float) > max_bytes ? count * sizeof(float) : max_bytes;
    if (!is_copied)
        return wnnGraphBuilderPromisedConstant(b, &descriptor, &reference);
    float *data = malloc(count * sizeof *data);
    REQUIRE(data);
    for (size_t i = 0; i < count; i++)
        data[i] = number_of(reference.offset, i);
    WNNOperand operand = wnnGraphBuilderConstant(b, &descriptor, data, count * sizeof *data);
    free(data);
    return operand;
}

static WNNOperand input(WNNGraphBuilder b, const char *name, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}

// Both kinds of weights that lie on a device in another order.
static void record(WNNGraphBuilder b, WNNNamedOperand outputs[2])
{
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    const uint32_t padding[] = {1, 1, 1, 1};
    options.padding = (WNNUint32List){padding, 4};
    constant_count = all_bytes = max_bytes = 0;
    WNNOperand rows = input(b, "rows", DIMS(ROWS, WIDTH)),
               image = input(b, "image", DIMS(1, CHANNELS, SIDE, SIDE));
    for (unsigned i = 0; i < PRODUCTS; i++)
        rows = wnnGraphBuilderMatmul(b, rows, weights(b, DIMS(WIDTH, WIDTH)), NULL);
    for (unsigned i = 0; i < CONVOLUTIONS; i++)
        image = wnnGraphBuilderConv2d(b, image, weights(b, DIMS(CHANNELS, CHANNELS, 3, 3)), &options);
    outputs[0] = (WNNNamedOperand){view("y"), rows};
    outputs[1] = (WNNNamedOperand){view("z"), image};
}

static WNNStatus try_build(WNNContext context, const WNNChainedStruct *chain, WNNGraph *graph,
                           struct answer *answer)
{
    WNNNamedOperand outputs[2];
    WNNGraphBuilder b = create_builder(context);
    *answer = (struct answer){.calls = 0};
    record(b, outputs);
    const WNNBuildCallbackInfo info = {chain, WNNCallbackMode_WaitAnyOnly, on_build, answer, NULL};
    wait_for(context, wnnGraphBuilderBuild(b, 2, outputs, info));
    wnnGraphBuilderRelease(b);
    *graph = answer->graph;
    return answer->status;
}

static WNNGraph build(WNNContext context, const WNNChainedStruct *chain)
{
    struct answer answer;
    WNNGraph graph;
    try_build(context, chain, &graph, &answer);
    REQUIRE_EQUAL_STR(answer.message, "");
    return graph;
}

struct result {
    float y[ROWS * WIDTH], z[CHANNELS * SIDE * SIDE];
};

static void compute(WNNContext context, WNNGraph graph, struct result *result)
{
    static float rows[ROWS * WIDTH], image[CHANNELS * SIDE * SIDE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows[i] = (float)(i % 7) - 3;
    for (size_t i = 0; i < sizeof image / sizeof *image; i++)
        image[i] = (float)(i % 5) - 2;
    WNNNamedBuffer in[] = {{view("rows"), rows, sizeof rows, WNNDataType_Float32},
                           {view("image"), image, sizeof image, WNNDataType_Float32}},
                   out[] = {{view("y"), result->y, sizeof result->y, WNNDataType_Float32},
                            {view("z"), result->z, sizeof result->z, WNNDataType_Float32}};
    compute_buffers(context, graph, 2, in, 2, out);
}

// What it is with weights that were there when they were recorded.
static struct result right;

static void compute_right(WNNContext context)
{
    bool any = false;
    is_copied = true;
    WNNGraph graph = build(context, NULL);
    is_copied = false;
    compute(context, graph, &right);
    wnnGraphRelease(graph);
    for (size_t i = 0; i < sizeof right.y / sizeof right.y[0]; i++)
        any |= right.y[i] > 0.01f && right.z[i] > 0.01f;
    REQUIRE(any);
}

static void require_right(WNNContext context, WNNGraph graph)
{
    static struct result result;
    compute(context, graph, &result);
    REQUIRE(memcmp(&result, &right, sizeof right) == 0);
}

static WNNContext create_context(void)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    descriptor.threadCount = 2;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, &descriptor, &context), WNNStatus_Success);
    return context;
}

// ---------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------

// The most that a context has had, beside what it has when a graph is there, and the most that was lent.
static void require_small_peak(WNNContext context)
{
    WNNContextCounters counters = counters_of(context);
    fprintf(stderr, "%llu bytes of weights: %llu kept, %llu at most, %ld lent at once\n",
            (unsigned long long)all_bytes, (unsigned long long)counters.allocatedBytes,
            (unsigned long long)counters.maxAllocatedBytes, atomic_load(&lent.max_bytes));
    REQUIRE(counters.allocatedBytes >= all_bytes);
    REQUIRE(counters.maxAllocatedBytes - counters.allocatedBytes <= all_bytes / 20);
    REQUIRE((uint64_t)atomic_load(&lent.max_bytes) <= max_bytes);
    require_given_back();
}

static void test_peak_of_build(void)
{
    WNNContext context = create_context();
    begin_source(0, false);
    WNNGraph graph = build(context, &source.chain);
    REQUIRE_EQUAL_INT(atomic_load(&lent.calls), MAX_CONSTANTS);
    require_small_peak(context);
    require_right(context, graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

static struct serialized save_weightless(void)
{
    const WNNWeightless weightless = WNN_WEIGHTLESS_INIT;
    struct serialized bytes = {0};
    char message[1024] = "";
    WNNContext context = create_context();
    WNNSaveGraphDescriptor descriptor = {&weightless.chain, wnn_serialized_add, &bytes, NULL};
    WNNConstantSource with = source;
    with.chain.next = &weightless.chain;
    WNNGraph graph = build(context, &with.chain);
    wnnGraphSaveSync(graph, &descriptor, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    return bytes;
}

static WNNStatus try_load(WNNContext context, const struct serialized *bytes, WNNGraph *graph,
                          char message[1024])
{
    message[0] = 0;
    return wnn_load_chained(context, &source.chain, bytes->data, bytes->size, graph, 1024, message);
}

static void test_peak_of_load(void)
{
    struct serialized bytes = save_weightless();
    char message[1024];
    WNNContext context = create_context();
    WNNGraph graph;
    begin_source(0, false);
    REQUIRE(bytes.size < all_bytes / 50);
    try_load(context, &bytes, &graph, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE_EQUAL_INT(atomic_load(&lent.calls), MAX_CONSTANTS);
    require_small_peak(context);
    require_right(context, graph);
    wnnGraphRelease(graph);
    free(bytes.data);
    wnnContextRelease(context);
}

// What a context holds when its worker has given up what a request took; less than `most`.
static uint64_t settled_bytes(WNNContext context, uint64_t most)
{
    uint64_t bytes = counters_of(context).allocatedBytes, before;
    unsigned same = 0;
    for (int i = 0; i < 5000 && same < 5; i++) {
        before = bytes;
        sleep_milliseconds(5);
        bytes = counters_of(context).allocatedBytes;
        same = bytes == before && bytes < most ? same + 1 : 0;
    }
    REQUIRE_EQUAL_INT(same, 5);
    return bytes;
}

// A source that fails at any constant, or gives another length, is told of and leaves nothing. `bytes` of a
// graph that is loaded, or NULL: it is built.
static void require_failures(const struct serialized *bytes)
{
    static struct answer answer;
    WNNContext context = create_context();
    WNNGraph graph;
    char message[1024];
    begin_source(0, false);
    wnnGraphRelease(build(context, &source.chain)); // what a context keeps is there then
    uint64_t before = settled_bytes(context, all_bytes);
    for (long n = 1; n <= MAX_CONSTANTS; n += SANITIZED ? 7 : 1) {
        bool is_odd = n % 2;
        begin_source(n, is_odd);
        WNNStatus status = bytes ? try_load(context, bytes, &graph, message)
                                 : try_build(context, &source.chain, &graph, &answer);
        const char *said = bytes ? message : answer.message;
        REQUIRE_EQUAL_INT(status, is_odd ? WNNStatus_TypeError : WNNStatus_SecurityError);
        REQUIRE_CONTAINS(said, is_odd ? "bytes; expected " : "the host has no bytes for it");
        REQUIRE_CONTAINS(said, "constant at byte ");
        REQUIRE_EQUAL_INT(atomic_load(&lent.calls), n);
        require_given_back();
        require_bytes(context, before);
    }
    begin_source(0, false);
    graph = build(context, &source.chain);
    require_right(context, graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

static void test_failures(void)
{
    struct serialized bytes = save_weightless();
    require_failures(NULL);
    require_failures(&bytes);
    free(bytes.data);
}

// A build that takes too long is stopped between two constants.
static void test_stopped(void)
{
    enum {
        SLEEP = 20
    };
    static struct answer answer;
    WNNContext context = create_context();
    WNNTimeLimit limit = WNN_TIME_LIMIT_INIT;
    WNNGraph graph;
    begin_source(0, false);
    wnnGraphRelease(build(context, &source.chain));
    uint64_t before = settled_bytes(context, all_bytes);
    limit.chain.next = &source.chain;
    limit.nanoseconds = UINT64_C(1000000) * SLEEP * MAX_CONSTANTS / 2;
    begin_source(0, false);
    lent.milliseconds = SLEEP;
    WNNStatus status = try_build(context, &limit.chain, &graph, &answer);
    lent.milliseconds = 0;
    REQUIRE_EQUAL_INT(status, WNNStatus_Cancelled);
    REQUIRE(atomic_load(&lent.calls) < MAX_CONSTANTS);
    require_given_back();
    require_bytes(context, before);
    graph = build(context, &source.chain);
    require_right(context, graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// The second graph of the same weights asks for none of them, and needs only what it computes in.
static void test_second(void)
{
    WNNContext context = create_context();
    WNNWeightSharing sharing = WNN_WEIGHT_SHARING_INIT;
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnCreateSharedWeights(NULL, &sharing.weights), WNNStatus_Success);
    sharing.chain.next = &source.chain;
    begin_source(0, false);
    WNNGraph first = build(context, &sharing.chain);
    require_small_peak(context);
    uint64_t before = settled_bytes(context, 2 * all_bytes);
    begin_source(1, false);
    WNNGraph second = build(context, &sharing.chain);
    uint64_t more = settled_bytes(context, 2 * all_bytes) - before;
    REQUIRE_EQUAL_INT(wnnGraphGetInfo(second, &info), WNNStatus_Success);
    fprintf(stderr, "%llu bytes for a second graph, %llu of an execution\n", (unsigned long long)more,
            (unsigned long long)info.executionBytes);
    REQUIRE(more <= 1000000);
    require_right(context, second);
    wnnGraphRelease(first);
    require_right(context, second);
    // Others have no part in it.
    begin_source(0, false);
    WNNGraph alone = build(context, &source.chain);
    REQUIRE_EQUAL_INT(atomic_load(&lent.calls), MAX_CONSTANTS);
    wnnGraphRelease(alone);
    wnnGraphRelease(second);
    wnnSharedWeightsRelease(sharing.weights);
    wnnContextRelease(context);
}

static bool has_device(void)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    WNNStatus status = wnn_create_context_on(backend, &descriptor, &context);
    if (status == WNNStatus_NotSupportedError)
        return false;
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    compute_right(context);
    wnnContextRelease(context);
    return true;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"vulkan", "vulkan-minimal"};
    cases_begin(argc, argv);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        backend = find_backend(names[i]);
        if (!has_device())
            return cases_skip("there is no device");
        CASE_AS(case_name("peak_of_build on %s", names[i]), test_peak_of_build());
        CASE_AS(case_name("peak_of_load on %s", names[i]), test_peak_of_load());
        CASE_AS(case_name("failures on %s", names[i]), test_failures());
        CASE_AS(case_name("stopped on %s", names[i]), test_stopped());
        CASE_AS(case_name("second on %s", names[i]), test_second());
    }
    return cases_end();
}
