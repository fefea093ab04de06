// SPDX-License-Identifier: Apache-2.0
//
// The Vulkan backend beyond single operators: creation where there is nothing to create from, contexts beside
// one another, memory that there is not, the check for missing barriers. Skipped where Vulkan has no device.

#include "conformance/backends.h"
#include "conformance/unit/runtime_fixture.h"
#include "vulkan/device/open.h"
#include "vulkan/program/program.h"
#include "vulkan/vulkan.h"

#include <math.h>

static WNNStatus create_on(const struct backend *backend, struct answer *answer, WNNContext *context)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.threadCount = 2;
    descriptor.errorCallbackInfo = (WNNErrorCallbackInfo){NULL, on_request, answer, NULL};
    return wnn_create_context_on(backend, &descriptor, context);
}

// The loader finds no driver: the error says so, and the processor is not touched by it.
static void test_without_driver(void)
{
    struct answer answer = {0};
    WNNContext context = NULL, cpu = NULL;
    setenv("VK_DRIVER_FILES", "/nowhere.json", 1);
    setenv("VK_ICD_FILENAMES", "/nowhere.json", 1);
    REQUIRE_EQUAL_INT(create_on(NULL, &answer, &context), WNNStatus_NotSupportedError);
    REQUIRE(!context);
    REQUIRE_CONTAINS(answer.message, "Vulkan");
    unsetenv("VK_DRIVER_FILES");
    unsetenv("VK_ICD_FILENAMES");
    REQUIRE_EQUAL_INT(wnnCreateContext(NULL, &cpu), WNNStatus_Success);
    wnnContextRelease(cpu);
}

// x + x + ..., which is exact.
static void compute_sums(WNNContext context, unsigned length, float first)
{
    enum {
        WIDTH = 37
    };
    float x[WIDTH], y[WIDTH];
    WNNGraph graph = build_chain(context, length, WIDTH);
    for (int i = 0; i < WIDTH; i++) {
        x[i] = first + (float)i;
        y[i] = -1;
    }
    wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
    for (int i = 0; i < WIDTH; i++)
        REQUIRE_EQUAL_FLOAT(y[i], x[i] * (float)(length + 1));
    wnnGraphRelease(graph);
}

// Two contexts in use at once, each with a device of its own; then a third.
static void test_contexts(void)
{
    struct answer answer = {0};
    WNNContext contexts[2];
    for (int i = 0; i < 2; i++)
        REQUIRE_EQUAL_INT(create_on(i ? vulkan_minimal() : &wnn_backend_vulkan, &answer, &contexts[i]),
                          WNNStatus_Success);
    for (unsigned length = 1; length < 4; length++)
        for (int i = 0; i < 2; i++)
            compute_sums(contexts[i], length, (float)i);
    wnnContextRelease(contexts[0]);
    compute_sums(contexts[1], 5, 2);
    REQUIRE_EQUAL_INT(create_on(NULL, &answer, &contexts[0]), WNNStatus_Success);
    compute_sums(contexts[0], 2, 3);
    wnnContextRelease(contexts[0]);
    wnnContextRelease(contexts[1]);
    REQUIRE_EQUAL_INT(atomic_load(&answer.calls), 0);
}

// Memory on the device counts as the context's: what is more than its limit is an error of the build, and the
// context goes on.
static void test_memory(void)
{
    struct answer answer = {0}, built = {0};
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.maxMemoryBytes = 32 << 20;
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.limits = &limits;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", 1, 1);
    const uint32_t shape[] = {4000, 4000};
    WNNOperand large = wnnGraphBuilderExpand(builder, x, (WNNUint32List){shape, 2}, NULL);
    WNNNamedOperand output = {view("y"), wnnGraphBuilderCumulativeSum(builder, large, 0, NULL)};
    WNNBuildCallbackInfo info = {NULL, WNNCallbackMode_WaitAnyOnly, on_build, &built, NULL};
    wait_for(context, wnnGraphBuilderBuild(builder, 1, &output, info));
    REQUIRE_EQUAL_INT(built.status, WNNStatus_OutOfMemory);
    wnnGraphBuilderRelease(builder);
    REQUIRE(!wnnContextIsLost(context));
    compute_sums(context, 3, 1);
    WNNContextCounters counters = counters_of(context);
    REQUIRE(counters.allocatedBytes < 1 << 20);
    REQUIRE(counters.maxAllocatedBytes <= limits.maxMemoryBytes);
    wnnContextRelease(context);
}

static bool check(const struct binding *first, const struct binding *second, size_t barriers)
{
    struct error error = {0};
    struct step steps[2] = {{.next = &steps[1], .binding_count = 1, .bindings = {*first}},
                            {.binding_count = 1, .bindings = {*second}, .barriers = barriers}};
    struct program program = {.first = steps};
    return wnn_program_check(&program, &(struct record_params){0}, &error);
}

static void test_hazards(void)
{
    const struct buffer one = {.handle = (VkBuffer)(uintptr_t)1}, other = {.handle = (VkBuffer)(uintptr_t)2};
    const struct binding write = {{&one, 0, 8}, true}, read = {{&one, 4, 8}, false},
                         beside = {{&one, 8, 8}, true}, elsewhere = {{&other, 0, 64}, true},
                         half_word = {{&one, 6, 2}, true};
    REQUIRE(!check(&write, &read, 0));
    REQUIRE(!check(&read, &write, 0));
    REQUIRE(!check(&write, &write, 0));
    REQUIRE(!check(&half_word, &read, 0)); // shaders write whole words
    REQUIRE(check(&write, &read, 1));
    REQUIRE(check(&read, &read, 0));
    REQUIRE(check(&write, &beside, 0));
    REQUIRE(check(&write, &elsewhere, 0));
}

// ---------------------------------------------------------------------------------------------------------------
// Time
// ---------------------------------------------------------------------------------------------------------------

// A product, a sum along a long axis, and a chain of scans: what is long in different ways.
static WNNGraph build_work(WNNContext context, uint32_t size)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", size, size);
    WNNOperand y = wnnGraphBuilderMatmul(builder, x, wnnGraphBuilderRelu(builder, x, NULL), NULL);
    y = wnnGraphBuilderCumulativeSum(builder, wnnGraphBuilderTanh(builder, y, NULL), 1, NULL);
    WNNNamedOperand output = {view("y"), wnnGraphBuilderMatmul(builder, y, x, NULL)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

enum {
    WORK = 96
};

static void compute_work(WNNContext context, WNNGraph graph, float *y)
{
    static float x[WORK * WORK];
    for (int i = 0; i < WORK * WORK; i++)
        x[i] = (float)(i * 37 % 101 - 50) / 64;
    wait_for(context, compute_chain(context, graph, x, y, WORK * WORK, tell_nobody()));
}

// The device's clock says how long each node took.
static void test_profile(void)
{
    enum {
        RUNS = 5
    };
    static float y[WORK * WORK];
    struct answer answer = {0};
    WNNContext context;
    REQUIRE_EQUAL_INT(create_on(NULL, &answer, &context), WNNStatus_Success);
    WNNGraph graph = build_work(context, WORK);
    compute_work(context, graph, y);
    wnnGraphSetProfiling(graph, true);
    for (int i = 0; i < RUNS; i++)
        compute_work(context, graph, y);
    WNNGraphProfile profile;
    WNNNodeProfile nodes[8];
    size_t count = profile_of(graph, &profile, 8, nodes);
    if (count > 0) { // the device has a clock
        REQUIRE(count >= 3 && count <= 8);
        REQUIRE_EQUAL_INT(profile.runs, RUNS);
        REQUIRE(profile.minDeviceNanoseconds > 0);
        REQUIRE(profile.minDeviceNanoseconds * RUNS <= profile.totalDeviceNanoseconds);
        uint64_t sum = 0, last = nodes[0].lastBeginNanoseconds;
        for (size_t i = 0; i < count; i++) {
            REQUIRE_EQUAL_INT(nodes[i].runs, RUNS);
            REQUIRE_EQUAL_INT(nodes[i].lastBeginNanoseconds, last);
            last += nodes[i].lastNanoseconds;
            sum += nodes[i].totalNanoseconds;
        }
        REQUIRE(sum <= profile.totalDeviceNanoseconds + RUNS * count);
        REQUIRE((double)sum >= 0.95 * (double)profile.totalDeviceNanoseconds);
        REQUIRE(last <= profile.lastBeginNanoseconds + profile.lastNanoseconds + 1000 * 1000);
    }
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

static void note_count(size_t count, void (*task)(void *argument, size_t index), void *argument, void *most)
{
    if (count > *(size_t *)most)
        *(size_t *)most = count;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

// What shaders a graph needs are compiled at once, by whatever threads there are.
static void test_compiling(void)
{
    size_t most = 0;
    const WNNParallelFor loop = {NULL, note_count, 2, &most};
    struct answer answer = {0};
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.parallelFor = &loop;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    most = 0;
    WNNGraph graph = build_work(context, WORK);
    REQUIRE(most >= 3); // products, chains of functions, scans
    most = 0;
    wnnGraphRelease(build_work(context, WORK));
    REQUIRE_EQUAL_INT(most, 0); // they are there
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

static double test_budget;

static bool create_hurried(const struct backend_options *options, void **state, struct error *error)
{
    const struct gpu_origin origin = {.budget = test_budget};
    return wnn_vulkan_create(options, &origin, state, error);
}

// Whatever the budget, the numbers are the same, while it learns and then.
static void test_budgets(void)
{
    static float expected[WORK * WORK], y[WORK * WORK];
    const double budgets[] = {1, 20e3, 1e6, GPU_BUDGET};
    struct backend hurried = wnn_backend_vulkan;
    struct answer answer = {0};
    hurried.create = create_hurried;
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        WNNContext context;
        test_budget = budgets[i];
        REQUIRE_EQUAL_INT(create_on(&hurried, &answer, &context), WNNStatus_Success);
        WNNGraph graph = build_work(context, WORK);
        for (int round = 0; round < 8; round++) {
            compute_work(context, graph, i + round ? y : expected);
            REQUIRE(i + round == 0 || memcmp(y, expected, sizeof y) == 0);
        }
        wnnGraphRelease(graph);
        wnnContextRelease(context);
    }
}

// Where a program is cut.
static void test_cuts(void)
{
    struct gpu gpu = {.budget = 100};
    struct step steps[] = {{.kind = STEP_COPY, .cost = 500},
                           {.kind = STEP_DISPATCH, .cost = 20, .groups = {4, 1, 1}},
                           {.kind = STEP_DISPATCH, .cost = 29, .groups = {4, 1, 1}},
                           {.kind = STEP_DISPATCH, .cost = 2, .groups = {1, 1, 1}},
                           {.kind = STEP_DISPATCH, .cost = 120, .groups = {9, 7, 1}},
                           {.kind = STEP_DISPATCH, .cost = 1, .groups = {9, 1, 1}},
                           {.kind = STEP_DISPATCH, .cost = 1e9, .groups = {5, 1, 1}},
                           {.kind = STEP_DISPATCH, .cost = 1e9, .groups = {1, 1, 1}}};
    const struct {
        size_t submission;
        uint32_t parts;
    } expected[] = {{0, 1}, {1, 1}, {1, 1}, {2, 1}, {3, 3}, {6, 1}, {7, 5}, {12, 1}};
    size_t count = sizeof steps / sizeof steps[0];
    for (size_t i = 0; i + 1 < count; i++)
        steps[i].next = &steps[i + 1];
    struct program program = {.gpu = &gpu, .first = steps};
    wnn_program_cut(&program);
    for (size_t i = 0; i < count; i++) {
        REQUIRE_EQUAL_INT(steps[i].submission, expected[i].submission);
        REQUIRE_EQUAL_INT(steps[i].parts, expected[i].parts);
    }
    REQUIRE_EQUAL_INT(program.submissions, 13);
    gpu.budget = 0;
    wnn_program_cut(&program);
    REQUIRE_EQUAL_INT(program.submissions, count + 5);
}

// A clock that has gone on by 10 at each stamp.
static VKAPI_ATTR VkResult VKAPI_CALL tell_tens(VkDevice device, VkQueryPool pool, uint32_t first,
                                                uint32_t count, size_t bytes, void *data, VkDeviceSize stride,
                                                VkQueryResultFlags flags)
{
    (void)device, (void)pool, (void)flags;
    REQUIRE_EQUAL_INT(stride, sizeof(uint64_t));
    REQUIRE_EQUAL_INT(bytes, count * sizeof(uint64_t));
    for (uint32_t i = 0; i < count; i++)
        ((uint64_t *)data)[i] = 10 * (uint64_t)(first + i);
    return VK_SUCCESS;
}

// What was thought to be so long that it was cut, and is not, is not cut any more.
static void test_learning(void)
{
    struct allocator allocator;
    wnn_allocator_init(&allocator, NULL, 0);
    struct gpu gpu = {.allocator = &allocator, .budget = 100, .can = {.clock_bits = 64, .clock_period = 1}};
    gpu.vk.GetQueryPoolResults = tell_tens;
    struct step step = {.kind = STEP_DISPATCH, .cost = 60, .groups = {4, 1, 1}};
    struct program program = {.gpu = &gpu, .first = &step, .measured = true};
    struct recording recording = {.program = &program, .timestamps = TIMESTAMPS_SUBMISSIONS};
    for (unsigned version = 0; version < 2; version++) {
        wnn_program_cut(&program);
        recording.version = version;
        recording.count = program.submissions;
        recording.timestamp_count = 2 * (uint32_t)program.submissions;
        REQUIRE_EQUAL_INT(program.submissions, version == 0 ? 2 : 1);
        wnn_program_learn(&program, &recording, 1000);
        REQUIRE_EQUAL_INT(program.version, 1);
        REQUIRE_EQUAL_INT(program.settled, version == 1);
        REQUIRE(step.cost == (version == 0 ? 20 : 10));
    }
}

// What creating a context takes beyond opening the driver: the known-answer test is short where shaders
// compile fast.
static void test_opening(void)
{
    enum {
        TRIES = 5
    };
    struct allocator allocator;
    struct error error = {0};
    const struct backend_options options = {.allocator = &allocator, .parallel = &wnn_serial};
    const struct gpu_origin origin = {0};
    double opening = INFINITY, creating = INFINITY; // the least of each: others may have the processor
    bool is_processor = false;
    wnn_allocator_init(&allocator, NULL, 0);
    for (int i = 0; i < TRIES; i++) {
        struct gpu gpu;
        void *state;
        double begin = now_seconds();
        REQUIRE(wnn_gpu_open(&gpu, &options, &origin, &error));
        opening = fmin(opening, now_seconds() - begin);
        is_processor = gpu.can.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
        wnn_gpu_close(&gpu);
        begin = now_seconds();
        REQUIRE(wnn_vulkan_create(&options, &origin, &state, &error));
        creating = fmin(creating, now_seconds() - begin);
        wnn_backend_vulkan.destroy(state);
    }
    double least = creating - opening;
    printf("the test of a new device takes %.1f ms\n", 1e3 * least);
    REQUIRE(is_processor || least < 50e-3);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    struct answer answer = {0};
    WNNContext context;
    CASE(test_hazards());
    CASE(test_cuts());
    CASE(test_learning());
    if (create_on(NULL, &answer, &context) == WNNStatus_NotSupportedError)
        return cases_skip(answer.message);
    wnnContextRelease(context);
    CASE(test_opening());
    CASE(test_without_driver());
    CASE(test_contexts());
    CASE(test_memory());
    CASE(test_compiling());
    CASE(test_profile());
    CASE(test_budgets());
    return cases_end();
}
