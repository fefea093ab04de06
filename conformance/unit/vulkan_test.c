// SPDX-License-Identifier: Apache-2.0
//
// The Vulkan backend beyond single operators: creation where there is nothing to create from, contexts beside
// one another, memory that there is not, the check for missing barriers. Skipped where Vulkan has no device.

#include "conformance/unit/runtime_fixture.h"
#include "vulkan/program.h"
#include "vulkan/vulkan.h"

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
        REQUIRE_EQUAL_INT(
            create_on(i ? &wnn_backend_vulkan_minimal : &wnn_backend_vulkan, &answer, &contexts[i]),
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
    limits.maxMemory = 32 << 20;
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
    REQUIRE(counters.peakAllocatedBytes <= limits.maxMemory);
    wnnContextRelease(context);
}

static bool check(const struct binding *first, const struct binding *second, size_t barriers)
{
    struct error error = {0};
    struct step steps[2] = {{.next = &steps[1], .binding_count = 1, .bindings = {*first}},
                            {.binding_count = 1, .bindings = {*second}, .barriers = barriers}};
    struct program program = {.first = steps};
    return wnn_program_check(&program, &error);
}

static void test_hazards(void)
{
    const struct buffer one = {.bytes = 64}, other = {.bytes = 64};
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

int main(void)
{
    struct answer answer = {0};
    WNNContext context;
    test_hazards();
    if (create_on(NULL, &answer, &context) == WNNStatus_NotSupportedError) {
        fprintf(stderr, "skipped: %s\n", answer.message);
        return SKIPPED;
    }
    wnnContextRelease(context);
    test_without_driver();
    test_contexts();
    test_memory();
    return 0;
}
