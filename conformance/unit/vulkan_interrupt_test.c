// SPDX-License-Identifier: Apache-2.0
//
// Executions and builds on Vulkan that are told to stop. A long execution is submitted in pieces; when it is
// interrupted, no more than what is ahead still runs, its outputs become zeros, signals come, and the context
// goes on. Later executions keep their order and their bits. Skipped where Vulkan has no device.

#include "conformance/unit/interop.h"
#include "conformance/unit/long_task.h"
#include "vulkan/device/device.h"
#include "vulkan/device/open.h"
#include "vulkan/vulkan.h"

// Of what is asked for next; NULL: what the runtime has.
static struct interrupt *execution_interrupt, *build_interrupt;
static struct gpu_origin origin;

static bool create_state(const struct backend_options *options, void **state, struct error *error)
{
    return wnn_vulkan_create(options, &origin, state, error);
}

static struct bindings interrupted(const struct bindings *bindings)
{
    struct bindings result = *bindings;
    if (execution_interrupt)
        result.interrupt = execution_interrupt;
    return result;
}

static bool submit_interrupted(void *state, void *executable, const struct bindings *bindings, void **flight,
                               struct error *error)
{
    const struct bindings changed = interrupted(bindings);
    return wnn_backend_vulkan.submit(state, executable, &changed, flight, error);
}

static bool land_interrupted(void *state, void *executable, void *flight, const struct bindings *bindings,
                             struct error *error)
{
    const struct bindings changed = interrupted(bindings);
    return wnn_backend_vulkan.retire(state, executable, flight, &changed, error);
}

static bool lower_interrupted(void *state, struct plan *plan, void **executable, struct error *error)
{
    if (build_interrupt)
        plan->interrupt = build_interrupt;
    return wnn_backend_vulkan.lower(state, plan, executable, error);
}

static const struct backend *backend(void)
{
    static struct backend changed;
    changed = wnn_backend_vulkan;
    changed.create = create_state;
    changed.submit = submit_interrupted;
    changed.retire = land_interrupted;
    changed.lower = lower_interrupted;
    return &changed;
}

static WNNContext create_context(void)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    descriptor.threadCount = 2;
    return wnn_create_context_on(backend(), &descriptor, &context) == WNNStatus_Success ? context : NULL;
}

// A thread that raises an interrupt after some milliseconds.
struct raiser {
    pthread_t thread;
    struct interrupt interrupt;
    long delay;
    double raised; // seconds
};

static void *raise_later(void *argument)
{
    struct raiser *raiser = argument;
    sleep_milliseconds(raiser->delay);
    raiser->raised = now_seconds();
    wnn_interrupt_raise(&raiser->interrupt);
    return NULL;
}

static void start_raiser(struct raiser *raiser, long delay)
{
    wnn_interrupt_init(&raiser->interrupt, 0);
    raiser->delay = delay;
    REQUIRE_EQUAL_INT(pthread_create(&raiser->thread, NULL, raise_later, raiser), 0);
}

// Submissions of two budgets, which is 0.2 s, are ahead; lavapipe's are estimated, and the machine is shared.
static void require_soon(struct raiser *raiser, const char *what)
{
    double end = now_seconds();
    pthread_join(raiser->thread, NULL);
    printf("%s: stopped after %.3f s\n", what, end - raiser->raised);
    if (!SANITIZED)
        REQUIRE(end - raiser->raised < 1.0);
}

static void require_cancelled(const struct answer *answer)
{
    REQUIRE_EQUAL_INT(answer->calls, 1);
    REQUIRE_EQUAL_INT(answer->status, WNNStatus_Cancelled);
}

static size_t task_count(void)
{
    return (size_t)task.size * task.size;
}

// 1 where row == column: its powers are itself.
static void fill_task(void)
{
    for (size_t i = 0; i < task_count(); i++) {
        task.x[i] = i / task.size == i % task.size;
        task.y[i] = 7;
    }
}

static void require_task_output(bool complete)
{
    for (size_t i = 0; i < task_count(); i++)
        REQUIRE(task.y[i] == (complete ? task.x[i] : 0));
}

// ---------------------------------------------------------------------------------------------------------------
// Executions
// ---------------------------------------------------------------------------------------------------------------

static void test_compute(WNNContext context)
{
    struct raiser raiser;
    struct answer stopped = {0}, done = {0}, early = {0};
    fill_task();
    start_raiser(&raiser, 150);
    execution_interrupt = &raiser.interrupt;
    wait_for(context, start_task(context, tell(&stopped, WNNCallbackMode_WaitAnyOnly)));
    require_soon(&raiser, "compute");
    require_cancelled(&stopped);
    REQUIRE_CONTAINS(stopped.message, "stopped while it ran");
    require_task_output(false);
    // One that is stopped before it begins.
    fill_task();
    wait_for(context, start_task(context, tell(&early, WNNCallbackMode_WaitAnyOnly)));
    require_cancelled(&early);
    require_task_output(false);
    execution_interrupt = NULL;
    wait_for(context, start_task(context, tell(&done, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_STR(done.message, "");
    require_task_output(true);
    REQUIRE(!wnnContextIsLost(context));
}

static void test_deadline(WNNContext context)
{
    struct answer stopped = {0};
    struct interrupt interrupt;
    double begin = now_seconds();
    wnn_interrupt_init(&interrupt, wnn_nanoseconds() + 100000000);
    execution_interrupt = &interrupt;
    fill_task();
    wait_for(context, start_task(context, tell(&stopped, WNNCallbackMode_WaitAnyOnly)));
    execution_interrupt = NULL;
    require_cancelled(&stopped);
    REQUIRE_CONTAINS(stopped.message, "time limit");
    require_task_output(false);
    printf("deadline: stopped after %.3f s of 0.1\n", now_seconds() - begin);
    if (!SANITIZED)
        REQUIRE(now_seconds() - begin < 1.1);
}

static WNNTensor make_matrix(WNNContext context)
{
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    WNNTensor tensor;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){(uint32_t[]){task.size, task.size}, 2};
    descriptor.readable = descriptor.writable = true;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &tensor), WNNStatus_Success);
    return tensor;
}

static WNNFuture dispatch_powers(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y,
                                 const void *chain, struct answer *answer)
{
    WNNNamedTensor input = {view("x"), x}, output = {view("y"), y};
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.nextInChain = chain;
    descriptor.graph = graph;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &input;
    descriptor.outputs = &output;
    return wnnContextDispatch(context, &descriptor, tell(answer, WNNCallbackMode_WaitAnyOnly));
}

// The outputs are zeros, on the device too, and what waits for it is not left waiting.
static void test_dispatch(WNNContext context, WNNGraph graph, const WNNVulkanSync *sync)
{
    struct raiser raiser;
    struct answer stopped = {0}, done = {0};
    WNNTensor x = make_matrix(context), y = make_matrix(context);
    fill_task();
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, x, task.x, task_count() * sizeof *task.x),
                      WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, y, task.y, task_count() * sizeof *task.y),
                      WNNStatus_Success);
    read_tensor(context, y, task.y, task_count() * sizeof *task.y);
    start_raiser(&raiser, 150);
    execution_interrupt = &raiser.interrupt;
    WNNFuture future = dispatch_powers(context, graph, x, y, sync, &stopped);
    wait_for(context, future);
    execution_interrupt = NULL;
    require_soon(&raiser, sync ? "dispatch that signals" : "dispatch");
    require_cancelled(&stopped);
    read_tensor(context, y, task.y, task_count() * sizeof *task.y);
    require_task_output(false);
    wait_for(context, dispatch_powers(context, graph, x, y, NULL, &done));
    REQUIRE_EQUAL_STR(done.message, "");
    read_tensor(context, y, task.y, task_count() * sizeof *task.y);
    require_task_output(true);
    wnnTensorRelease(x);
    wnnTensorRelease(y);
}

// On the device of somebody else, who waits for the signal.
static void test_signals(void)
{
    struct host host;
    if (!open_host(&host)) {
        fprintf(stderr, "not tested: there is no device with timeline semaphores\n");
        return;
    }
    WNNVulkanDevice external = lend(&host);
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.nextInChain = &external.chain;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend(), &descriptor, &context), WNNStatus_Success);
    VkSemaphore semaphore = create_semaphore(&host);
    const WNNVulkanTimelinePoint point = {(uint64_t)semaphore, 1};
    WNNVulkanSync sync = WNN_VULKAN_SYNC_INIT;
    sync.signalCount = 1;
    sync.signals = &point;
    WNNGraph graph = build_powers(context, task.size, task.length);
    test_dispatch(context, graph, &sync);
    wait_semaphore(&host, semaphore, 1);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    host.more.DestroySemaphore(host.device, semaphore, NULL);
    close_host(&host);
}

// ---------------------------------------------------------------------------------------------------------------
// Pieces
// ---------------------------------------------------------------------------------------------------------------

enum {
    SIZE = 96,
    LENGTH = 24,
    TURNS = 6,
    SHARED_TURNS = 8,
    ROWS = 16,
    LONG = 512
};

// Dispatches that hand tensors to one another, long and short ones by turns, and computations between them.
static void run_chain(WNNContext context, float result[SIZE * SIZE])
{
    static float x[SIZE * SIZE], other[SIZE * SIZE];
    static struct answer ignored[2 * TURNS + 1];
    memset(ignored, 0, sizeof ignored);
    for (size_t i = 0; i < SIZE * SIZE; i++)
        x[i] = (float)(i * 2654435761u >> 24) / 2560 - 0.05f;
    WNNGraph many = build_powers(context, SIZE, LENGTH), one = build_powers(context, SIZE, 1);
    task.size = SIZE;
    WNNTensor a = make_matrix(context), b = make_matrix(context);
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, a, x, sizeof x), WNNStatus_Success);
    WNNFuture last = {0};
    for (int i = 0; i < TURNS; i++) {
        last = dispatch_powers(context, i % 2 ? one : many, i % 2 ? b : a, i % 2 ? a : b, NULL, &ignored[i]);
        compute_chain(context, many, x, other, SIZE * SIZE, tell_nobody());
    }
    wait_for(context, last);
    for (int i = 0; i < TURNS; i++)
        REQUIRE_EQUAL_STR(ignored[i].message, "");
    read_tensor(context, a, result, SIZE * SIZE * sizeof *result);
    wnnTensorRelease(a);
    wnnTensorRelease(b);
    wnnGraphRelease(many);
    wnnGraphRelease(one);
}

// However short submissions are, with semaphores that count and without.
static void test_pieces(void)
{
    static float expected[SIZE * SIZE], result[SIZE * SIZE];
    const struct gpu_origin origins[] = {{0}, {.budget = 1}, {.budget = 3e5}, {.budget = 2e6}};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        origin = origins[i];
        WNNContext context = create_context();
        for (int k = 0; k < 3; k++) {
            run_chain(context, i + (size_t)k == 0 ? expected : result);
            REQUIRE(i + (size_t)k == 0 || memcmp(expected, result, sizeof result) == 0);
        }
        wnnContextRelease(context);
    }
    REQUIRE(expected[5] != 0);
    origin = (struct gpu_origin){.minimal = true}; // rounds otherwise
    WNNContext context = create_context();
    run_chain(context, expected);
    run_chain(context, result);
    REQUIRE(memcmp(expected, result, sizeof result) == 0);
    wnnContextRelease(context);
    origin = (struct gpu_origin){0};
}

// y = x, times the transpose of x and x again and again, float32 [ROWS, LONG]: products of few rows and long
// sums, which work groups share.
static WNNGraph build_shared_sums(WNNContext context)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", ROWS, LONG), y = x,
               turned = wnnGraphBuilderTranspose(builder, x, NULL);
    for (unsigned i = 0; i < 2; i++)
        y = wnnGraphBuilderMatmul(builder, wnnGraphBuilderMatmul(builder, y, turned, NULL), x, NULL);
    WNNNamedOperand output = {view("y"), y};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

// Of work groups that share sums some have run, and some never will, when an execution is left in the middle:
// the next one counts them anew.
static void test_shared_sums(void)
{
    static float x[ROWS * LONG], expected[ROWS * LONG], y[ROWS * LONG];
    origin = (struct gpu_origin){.matrices = true, .budget = 1};
    WNNContext context = create_context();
    WNNGraph graph = build_shared_sums(context);
    for (size_t i = 0; i < ROWS * LONG; i++)
        x[i] = (float)(i * 2654435761u >> 24) / 4096 - 0.03f;
    wait_for(context, compute_chain(context, graph, x, expected, ROWS * LONG, tell_nobody()));
    unsigned stopped = 0;
    for (long i = 0; i < SHARED_TURNS; i++) {
        struct raiser raiser;
        struct answer answer = {0};
        start_raiser(&raiser, i);
        execution_interrupt = &raiser.interrupt;
        wait_for(context, compute_chain(context, graph, x, y, ROWS * LONG,
                                        tell(&answer, WNNCallbackMode_WaitAnyOnly)));
        execution_interrupt = NULL;
        pthread_join(raiser.thread, NULL);
        stopped += answer.status == WNNStatus_Cancelled;
        wait_for(context, compute_chain(context, graph, x, y, ROWS * LONG, tell_nobody()));
        REQUIRE(memcmp(expected, y, sizeof y) == 0);
    }
    fprintf(stderr, "%u of %u stopped\n", stopped, (unsigned)SHARED_TURNS);
    REQUIRE(stopped > 0 && expected[5] != 0);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    origin = (struct gpu_origin){0};
}

// ---------------------------------------------------------------------------------------------------------------
// Builds
// ---------------------------------------------------------------------------------------------------------------

static WNNFuture start_long_build(WNNGraphBuilder builder, uint32_t first, struct answer *answer)
{
    enum {
        SHADERS = 48
    };
    WNNOperand parts[SHADERS];
    for (uint32_t i = 0; i < SHADERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%u", (unsigned)i);
        WNNOperand x = add_input(builder, name, first + i, 5 + i % 3);
        x = wnnGraphBuilderReduceSum(builder, wnnGraphBuilderSoftmax(builder, x, 1, NULL), NULL);
        parts[i] = wnnGraphBuilderReshape(builder, x, (WNNUint32List){(uint32_t[]){1}, 1}, NULL);
    }
    return start_build(builder, "y", wnnGraphBuilderConcat(builder, SHADERS, parts, 0, NULL), answer,
                       WNNCallbackMode_WaitAnyOnly);
}

static void test_build(void)
{
    origin = (struct gpu_origin){.minimal = true}; // shapes are part of the text
    WNNContext context = create_context();
    struct raiser raiser;
    struct answer stopped = {0};
    WNNGraphBuilder builder = create_builder(context);
    start_raiser(&raiser, 60);
    build_interrupt = &raiser.interrupt;
    wait_for(context, start_long_build(builder, 3, &stopped));
    build_interrupt = NULL;
    require_soon(&raiser, "build");
    require_cancelled(&stopped);
    wnnGraphBuilderRelease(builder);
    static float x[16], y[16];
    WNNGraph graph = build_chain(context, 3, 16);
    wait_for(context, compute_chain(context, graph, x, y, 16, tell_nobody()));
    REQUIRE(!wnnContextIsLost(context));
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    origin = (struct gpu_origin){0};
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNContext context = create_context();
    if (!context)
        return cases_skip("there is no Vulkan device");
    make_task(context);
    for (int i = 0; i < 2; i++) {
        CASE(test_compute(context));
        CASE(test_deadline(context));
        CASE(test_dispatch(context, task.graph, NULL));
    }
    wnnGraphRelease(task.graph);
    wnnContextRelease(context);
    CASE(test_signals());
    CASE(test_build());
    CASE(test_pieces());
    CASE(test_shared_sums());
    return cases_end();
}
