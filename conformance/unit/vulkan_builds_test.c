// SPDX-License-Identifier: Apache-2.0
//
// Graphs that are built on Vulkan while the same context works: executions and transfers do not wait for a
// build, not even for one that stands still, and a build that is cancelled, limited, destroyed or loses the
// device in the middle of all that ends as any other. Skipped where Vulkan has no device.
//
// Before patterns: --seconds=N of each of the races, --seed=N.

#include "conformance/unit/fault_layer.h"
#include "conformance/unit/runtime_fixture.h"
#include "vulkan/device/device.h"
#include "vulkan/device/open.h"
#include "vulkan/vulkan.h"

static struct gpu_origin origin;

static bool create_state(const struct backend_options *options, void **state, struct error *error)
{
    return wnn_vulkan_create(options, &origin, state, error);
}

// A cache that has nothing: a build asks it for each shader, and stands still at a closed gate.
static size_t load_at_gate(const void *key, size_t length, void *data, size_t capacity, void *unused)
{
    struct error ignored = {0};
    (void)key, (void)length, (void)data, (void)capacity, (void)unused;
    pass_gate(&ignored);
    return 0;
}

static void store_nothing(const void *key, size_t length, const void *data, size_t bytes, void *unused)
{
    (void)key, (void)length, (void)data, (void)bytes, (void)unused;
}

static void on_lost(WNNContextLostReason reason, WNNStringView message, void *answer, void *unused)
{
    (void)message, (void)unused;
    ((struct answer *)answer)->reason = reason;
    atomic_fetch_add(&((struct answer *)answer)->calls, 1);
}

// NULL: there is no device.
static WNNContext create_context(struct answer *lost)
{
    static struct backend backend;
    const WNNCache cache = {NULL, load_at_gate, store_nothing, NULL};
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    if (!backend.create) {
        backend = wnn_backend_vulkan;
        backend.create = create_state;
    }
    descriptor.threadCount = 2;
    descriptor.cache = &cache;
    if (lost) {
        descriptor.lostCallbackInfo.callback = on_lost;
        descriptor.lostCallbackInfo.userdata1 = lost;
    }
    return wnn_create_context_on(&backend, &descriptor, &context) == WNNStatus_Success ? context : NULL;
}

// Fails rather than wait for ever.
static void wait_some_time(WNNContext context, WNNFuture future)
{
    WNNFutureWaitInfo info = {future, false};
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 1, &info, 60000000000), WNNWaitStatus_Success);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs: float32 [ROWS, COLUMNS] to as many
// ---------------------------------------------------------------------------------------------------------------

enum {
    ROWS = 8,
    COLUMNS = 24,
    COUNT = ROWS * COLUMNS,
    KINDS = 24 // of graphs
};

static WNNOperand add_constant(WNNGraphBuilder builder, uint32_t rows, uint32_t columns, uint32_t kind)
{
    float values[COLUMNS * COLUMNS];
    REQUIRE(rows * columns <= COLUMNS * COLUMNS);
    for (uint32_t i = 0; i < rows * columns; i++)
        values[i] = (float)((i * 37 + kind) % 11) / 8 - 0.5f;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){(uint32_t[]){rows, columns}, 2};
    return wnnGraphBuilderConstant(builder, &descriptor, values, rows * columns * sizeof values[0]);
}

// Weights to upload, a node of constants to compute, and shaders that other kinds do not have.
static WNNFuture start_kind(WNNContext context, uint32_t kind, const void *chain, struct answer *answer,
                            WNNCallbackMode mode)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", ROWS, COLUMNS);
    WNNOperand folded =
        wnnGraphBuilderCumulativeSum(builder, add_constant(builder, ROWS, COLUMNS, kind), 0, NULL);
    WNNOperand y = wnnGraphBuilderMatmul(builder, x, add_constant(builder, COLUMNS, COLUMNS, kind), NULL);
    for (uint32_t bits = kind + 8; bits > 1; bits >>= 1)
        y = bits & 1 ? wnnGraphBuilderSoftmax(builder, wnnGraphBuilderMul(builder, y, folded, NULL), 1, NULL)
                     : wnnGraphBuilderTanh(builder, wnnGraphBuilderAdd(builder, y, x, NULL), NULL);
    *answer = (struct answer){.calls = 0};
    WNNNamedOperand output = {view("y"), y};
    WNNFuture future = wnnGraphBuilderBuild(builder, 1, &output,
                                            (WNNBuildCallbackInfo){chain, mode, on_build, answer, NULL});
    wnnGraphBuilderRelease(builder);
    return future;
}

static WNNGraph build_kind(WNNContext context, uint32_t kind)
{
    struct answer built;
    wait_some_time(context, start_kind(context, kind, NULL, &built, WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_STR(built.message, "");
    return built.graph;
}

static void fill(float x[COUNT], unsigned seed)
{
    for (unsigned i = 0; i < COUNT; i++)
        x[i] = (float)((i + seed) * 2654435761u >> 24) / 128 - 1;
}

static void compute(WNNContext context, WNNGraph graph, const float x[COUNT], float y[COUNT])
{
    struct answer computed = {0};
    wait_some_time(context,
                   compute_chain(context, graph, x, y, COUNT, tell(&computed, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_STR(computed.message, "");
}

// The same on tensors: written, dispatched, read.
static void dispatch(WNNContext context, WNNGraph graph, const float x[COUNT], float y[COUNT])
{
    WNNTensor in = create_tensor(context, ROWS, COLUMNS), out = create_tensor(context, ROWS, COLUMNS);
    struct answer computed = {0}, read = {0};
    WNNNamedTensor input = {view("x"), in}, output = {view("y"), out};
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &input;
    descriptor.outputs = &output;
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, in, x, COUNT * sizeof *x), WNNStatus_Success);
    wait_some_time(context,
                   wnnContextDispatch(context, &descriptor, tell(&computed, WNNCallbackMode_WaitAnyOnly)));
    wait_some_time(context, wnnContextReadTensor(context, out, y, COUNT * sizeof *y,
                                                 tell(&read, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_STR(computed.message, "");
    REQUIRE_EQUAL_STR(read.message, "");
    wnnTensorRelease(in);
    wnnTensorRelease(out);
}

// ---------------------------------------------------------------------------------------------------------------
// Beside a build that stands still
// ---------------------------------------------------------------------------------------------------------------

static bool is_at_gate(void)
{
    pthread_mutex_lock(&gate.lock);
    bool entered = gate.entered > 0;
    pthread_mutex_unlock(&gate.lock);
    return entered;
}

// Starts a build and waits until it is in the middle, or over already because of its limit.
static WNNFuture start_at_gate(WNNContext context, uint32_t kind, const void *chain, struct answer *built)
{
    set_gate(true);
    WNNFuture future = start_kind(context, kind, chain, built, WNNCallbackMode_AllowSpontaneous);
    while (!is_at_gate() && !built->calls)
        sleep_milliseconds(1);
    return future;
}

static void test_order(void)
{
    float x[COUNT], expected[COUNT], y[COUNT];
    struct answer built;
    WNNContext context = create_context(NULL);
    WNNGraph graph = build_kind(context, 1), other = build_kind(context, 2);
    fill(x, 1);
    compute(context, graph, x, expected);
    WNNFuture future = start_at_gate(context, 3, NULL, &built);
    for (int i = 0; i < 20; i++) {
        memset(y, 0, sizeof y);
        (i % 2 ? compute : dispatch)(context, graph, x, y);
        REQUIRE(memcmp(y, expected, sizeof y) == 0);
        if (i == 10)
            wnnGraphDestroy(other);
    }
    REQUIRE_EQUAL_INT(built.calls, 0);
    set_gate(false);
    wait_some_time(context, future);
    REQUIRE_EQUAL_STR(built.message, "");
    compute(context, built.graph, x, y);
    wnnGraphRelease(built.graph);
    wnnGraphRelease(graph);
    wnnGraphRelease(other);
    wnnContextRelease(context);
}

// A build that is told to stop, by a call, by its limit, or with its context.
static void test_stopping(void)
{
    float x[COUNT], expected[COUNT], y[COUNT];
    struct answer built;
    WNNTimeLimit limit = WNN_TIME_LIMIT_INIT;
    WNNContext context = create_context(NULL);
    WNNGraph graph = build_kind(context, 1);
    fill(x, 1);
    compute(context, graph, x, expected);
    for (int limited = 0; limited < 2; limited++) {
        limit.nanoseconds = limited ? 1000000 : 3600000000000;
        WNNFuture future = start_at_gate(context, 4, &limit.chain, &built);
        if (!limited)
            REQUIRE_EQUAL_INT(wnnContextCancel(context, future), WNNStatus_Success);
        compute(context, graph, x, y);
        REQUIRE(memcmp(y, expected, sizeof y) == 0);
        sleep_milliseconds(2);
        set_gate(false);
        wait_some_time(context, future);
        REQUIRE_EQUAL_INT(built.status, WNNStatus_Cancelled);
        REQUIRE_CONTAINS(built.message, limited ? "time limit" : "stopped while it ran");
    }
    wnnGraphRelease(build_kind(context, 4));
    start_at_gate(context, 5, NULL, &built);
    wnnContextDestroy(context);
    REQUIRE_EQUAL_INT(built.calls, 0);
    set_gate(false);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(built.calls, 1);
    REQUIRE_EQUAL_INT(built.status, WNNStatus_Cancelled);
    wnnGraphRelease(graph);
}

static void release_context(WNNStatus status, WNNGraph graph, WNNStringView message, void *context,
                            void *released)
{
    (void)status, (void)message;
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    atomic_fetch_add((atomic_int *)released, 1);
}

// The last release in the callback of a build, while executions are in flight: all callbacks have run then.
static void test_release_in_callback(void)
{
    enum {
        EXECUTIONS = 6
    };
    static float x[COUNT], y[EXECUTIONS][COUNT];
    for (int round = 0; round < 10; round++) {
        struct answer computed[EXECUTIONS] = {{0}};
        atomic_int released = 0;
        WNNContext context = create_context(NULL);
        WNNGraph graph = build_kind(context, 1);
        WNNGraphBuilder builder = create_builder(context);
        WNNNamedOperand output = {view("y"),
                                  wnnGraphBuilderRelu(builder, add_input(builder, "x", 1, 3), NULL)};
        for (int i = 0; i < EXECUTIONS; i++)
            compute_chain(context, graph, x, y[i], COUNT,
                          tell(&computed[i], WNNCallbackMode_AllowSpontaneous));
        wnnGraphBuilderBuild(builder, 1, &output,
                             (WNNBuildCallbackInfo){NULL, WNNCallbackMode_AllowSpontaneous, release_context,
                                                    context, &released});
        while (atomic_load(&released) == 0)
            sleep_milliseconds(1);
        for (int i = 0; i < EXECUTIONS; i++)
            REQUIRE_EQUAL_INT(computed[i].calls, 1);
        wnnGraphBuilderRelease(builder);
        wnnGraphRelease(graph);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Races
// ---------------------------------------------------------------------------------------------------------------

static struct race {
    WNNContext context;
    WNNGraph graph; // of kind 0
    float x[COUNT], expected[KINDS][COUNT];
    double end;
    unsigned seed;
    atomic_uint builds, executions;
} race;

static unsigned pick(unsigned *seed, unsigned count)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % count;
}

static void *execute(void *unused)
{
    float y[COUNT];
    (void)unused;
    for (unsigned i = 0; now_seconds() < race.end; i++) {
        (i % 3 ? compute : dispatch)(race.context, race.graph, race.x, y);
        REQUIRE(memcmp(y, race.expected[0], sizeof y) == 0);
        atomic_fetch_add(&race.executions, 1);
    }
    return NULL;
}

static void *build(void *unused)
{
    unsigned seed = race.seed;
    WNNTimeLimit limit = WNN_TIME_LIMIT_INIT;
    (void)unused;
    while (now_seconds() < race.end) {
        struct answer built;
        float y[COUNT];
        uint32_t kind = pick(&seed, KINDS);
        unsigned manner = pick(&seed, 4);
        limit.nanoseconds = manner == 0 ? pick(&seed, 3000000) + 1 : 3600000000000;
        WNNFuture future =
            start_kind(race.context, kind, &limit.chain, &built, WNNCallbackMode_AllowProcessEvents);
        if (manner == 1) {
            sleep_milliseconds(pick(&seed, 4));
            WNNStatus status = wnnContextCancel(race.context, future);
            REQUIRE(status == WNNStatus_Success || status == WNNStatus_InvalidStateError);
        }
        wait_some_time(race.context, future);
        REQUIRE_EQUAL_INT(built.calls, 1);
        REQUIRE(built.graph || (manner < 2 && built.status == WNNStatus_Cancelled));
        if (built.graph) {
            compute(race.context, built.graph, race.x, y);
            REQUIRE(memcmp(y, race.expected[kind], sizeof y) == 0);
            atomic_fetch_add(&race.builds, 1);
        }
        wnnGraphRelease(built.graph);
    }
    return NULL;
}

// Executions and builds on two threads each, and then the end in the middle of a build.
static void run_race(const char *name, double seconds)
{
    enum {
        THREADS = 4
    };
    pthread_t threads[THREADS];
    struct answer built;
    race.context = create_context(NULL);
    fill(race.x, 3);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        WNNGraph graph = build_kind(race.context, kind);
        compute(race.context, graph, race.x, race.expected[kind]);
        wnnGraphRelease(graph);
    }
    wnnContextRelease(race.context); // the race begins without pipelines
    race.context = create_context(NULL);
    race.graph = build_kind(race.context, 0);
    race.end = now_seconds() + seconds;
    race.builds = race.executions = 0;
    for (int i = 0; i < THREADS; i++)
        REQUIRE_EQUAL_INT(pthread_create(&threads[i], NULL, i % 2 ? build : execute, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%s: %u builds, %u executions\n", name, race.builds, race.executions);
    fflush(stdout);
    start_kind(race.context, race.seed++ % KINDS, NULL, &built, WNNCallbackMode_AllowSpontaneous);
    sleep_milliseconds(race.seed % 7);
    wnnContextRelease(race.context);
    REQUIRE_EQUAL_INT(built.calls, 1);
    wnnGraphRelease(built.graph);
    wnnGraphRelease(race.graph);
}

// With memory that the host maps and with staging, with semaphores that count and without, and in many
// pieces.
static void test_races(double seconds)
{
    static const struct {
        const char *name;
        struct gpu_origin origin;
    } races[] = {{"as it is", {0}},
                 {"memory of its own", {.apart = true}},
                 {"minimal", {.minimal = true}},
                 {"short submissions", {.budget = 1, .apart = true}}};
    for (size_t i = 0; i < sizeof races / sizeof *races; i++) {
        origin = races[i].origin;
        run_race(races[i].name, seconds);
    }
    origin = (struct gpu_origin){0};
}

// ---------------------------------------------------------------------------------------------------------------
// Loss
// ---------------------------------------------------------------------------------------------------------------

// The device is lost by the call of that number while a graph is built and another is computed. False: there
// were not as many.
static bool lose_at(unsigned call)
{
    enum {
        EXECUTIONS = 4
    };
    static float x[COUNT], y[EXECUTIONS][COUNT];
    struct answer lost = {0}, built, computed[EXECUTIONS] = {{0}};
    WNNFuture futures[EXECUTIONS];
    WNNContext context = create_context(&lost);
    REQUIRE(context);
    WNNGraph graph = build_kind(context, 0);
    fault_arm(call, VK_ERROR_DEVICE_LOST, false);
    WNNFuture build = start_kind(context, 1 + call % (KINDS - 1), NULL, &built, WNNCallbackMode_WaitAnyOnly);
    for (int i = 0; i < EXECUTIONS; i++)
        futures[i] =
            compute_chain(context, graph, x, y[i], COUNT, tell(&computed[i], WNNCallbackMode_WaitAnyOnly));
    for (int i = 0; i < EXECUTIONS; i++)
        wait_some_time(context, futures[i]);
    wait_some_time(context, build);
    bool fired = fault_disarm() != NULL, failed = !built.graph;
    REQUIRE_EQUAL_INT(built.calls, 1);
    for (int i = 0; i < EXECUTIONS; i++) {
        REQUIRE_EQUAL_INT(computed[i].calls, 1);
        failed |= computed[i].status != WNNStatus_Success;
    }
    REQUIRE(fired || !failed);
    REQUIRE(!failed || wnnContextIsLost(context));
    wnnGraphRelease(built.graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(lost.calls, 1);
    REQUIRE(!failed || lost.reason == WNNContextLostReason_DeviceLost);
    struct fault_objects objects = fault_objects();
    REQUIRE_EQUAL_INT(objects.lasting + objects.others + objects.mistakes, 0);
    return fired;
}

static void test_loss(void)
{
    if (!fault_begin())
        return;
    unsigned call = 1, losses = 0;
    origin = (struct gpu_origin){.get = fault_get, .apart = true};
    while (lose_at(call)) {
        losses++;
        call += 1 + call / 16;
    }
    printf("%u losses, in up to %u calls\n", losses, call);
    REQUIRE(losses > 3);
    fault_end();
    origin = (struct gpu_origin){0};
}

int main(int argc, char **argv)
{
    double seconds = 1.5;
    race.seed = (unsigned)time(NULL);
    while (case_option(&argc, &argv, "--seconds=%lf", &seconds) ||
           case_option(&argc, &argv, "--seed=%u", &race.seed))
        continue;
    cases_begin(argc, argv);
    WNNContext context = create_context(NULL);
    if (!context)
        return cases_skip("there is no Vulkan device");
    wnnContextRelease(context);
    fprintf(stderr, "--seconds=%g --seed=%u\n", seconds, race.seed);
    CASE(test_order());
    CASE(test_stopping());
    CASE(test_release_in_callback());
    CASE(test_races(seconds));
    CASE(test_loss());
    return cases_end();
}
