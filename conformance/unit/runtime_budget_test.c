// SPDX-License-Identifier: Apache-2.0
//
// Budgets that contexts share: every resource is counted and given back, limits fail where they are met and
// nowhere else, and thresholds are told once.

#include "conformance/unit/runtime_fixture.h"

#include <string.h>

#define WIDTH 1024

struct notes {
    atomic_int calls[6];
    atomic_ullong amount;
};

static void note(WNNResource resource, uint64_t amount, void *argument, void *unused)
{
    (void)unused;
    struct notes *notes = argument;
    REQUIRE(resource >= WNNResource_HostMemory && resource <= WNNResource_Work);
    atomic_fetch_add(&notes->calls[resource], 1);
    atomic_store(&notes->amount, amount);
}

static WNNBudget create_budget(WNNResources limits, WNNResources thresholds, struct notes *notes)
{
    WNNBudgetDescriptor descriptor = WNN_BUDGET_DESCRIPTOR_INIT;
    descriptor.limits = limits;
    descriptor.thresholds = thresholds;
    descriptor.callback = notes ? note : NULL;
    descriptor.userdata1 = notes;
    WNNBudget budget;
    REQUIRE_EQUAL_INT(wnnCreateBudget(&descriptor, &budget), WNNStatus_Success);
    return budget;
}

static WNNResources now(WNNBudget budget)
{
    WNNResources resources = WNN_RESOURCES_INIT;
    wnnBudgetGetResources(budget, &resources, NULL);
    return resources;
}

static WNNStatus try_context(WNNBudget budget, struct answer *error, WNNContext *context)
{
    WNNContextDescriptor descriptor = describe_context(error, NULL);
    descriptor.threadCount = 2;
    descriptor.budget = budget;
    return wnnCreateContext(&descriptor, context);
}

static WNNContext create_on(WNNBudget budget, struct answer *error)
{
    WNNContext context;
    REQUIRE_EQUAL_INT(try_context(budget, error, &context), WNNStatus_Success);
    return context;
}

static void require_nothing(WNNBudget budget)
{
    WNNResources left = now(budget);
    REQUIRE_EQUAL_INT(left.hostBytes, 0);
    REQUIRE_EQUAL_INT(left.deviceBytes, 0);
    REQUIRE_EQUAL_INT(left.threads, 0);
    REQUIRE_EQUAL_INT(left.objects, 0);
    REQUIRE_EQUAL_INT(left.work, 0);
}

// What contexts have is the sum of what each says of itself, and nothing stays.
static void test_counting(void)
{
    WNNBudget budget =
        create_budget((WNNResources)WNN_RESOURCES_INIT, (WNNResources)WNN_RESOURCES_INIT, NULL);
    WNNContext one = create_on(budget, NULL), other = create_on(budget, NULL);
    REQUIRE_EQUAL_INT(now(budget).objects, 2);
    REQUIRE_EQUAL_INT(now(budget).threads,
                      6); // a worker, a builder, and a compute thread besides the caller's
    WNNGraph graph = build_chain(one, 3, WIDTH);
    WNNTensor tensor = create_tensor(other, 4, WIDTH);
    WNNGraphBuilder builder = create_builder(other);
    REQUIRE_EQUAL_INT(now(budget).objects, 5);
    REQUIRE_EQUAL_INT(now(budget).hostBytes,
                      counters_of(one).allocatedBytes + counters_of(other).allocatedBytes);
    float x[WIDTH] = {1}, y[WIDTH];
    wait_for(one, compute_chain(one, graph, x, y, WIDTH, tell_nobody()));
    REQUIRE_EQUAL_INT(now(budget).work, 0);
    WNNResources peak = WNN_RESOURCES_INIT;
    wnnBudgetGetResources(budget, NULL, &peak);
    REQUIRE_EQUAL_INT(peak.work, 3 * WIDTH);
    REQUIRE(peak.hostBytes >= now(budget).hostBytes && peak.objects >= 5);
    wnnContextRelease(one);
    wnnContextRelease(other);
    REQUIRE_EQUAL_INT(now(budget).objects, 5); // handles of lost contexts are objects
    wnnGraphRelease(graph);
    wnnTensorRelease(tensor);
    wnnGraphBuilderRelease(builder);
    require_nothing(budget);
    wnnBudgetRelease(budget);
}

// One takes what there is; the other is refused, goes on, and has it when the first gives it back.
static void test_memory(void)
{
    struct notes notes = {0};
    WNNResources limits = WNN_RESOURCES_INIT, thresholds = WNN_RESOURCES_INIT;
    limits.hostBytes = 16 << 20;
    thresholds.hostBytes = 8 << 20;
    WNNBudget budget = create_budget(limits, thresholds, &notes);
    struct answer error = {0};
    WNNContext one = create_on(budget, NULL), other = create_on(budget, &error);
    WNNGraph graph = build_chain(other, 3, WIDTH);
    float x[WIDTH] = {1}, y[WIDTH];
    for (int round = 0; round < 3; round++) {
        WNNTensor large = create_tensor(one, 1 << 10, 3 << 10), refused = NULL;
        REQUIRE_EQUAL_INT(notes.calls[WNNResource_HostMemory], round + 1);
        REQUIRE(notes.amount >= thresholds.hostBytes);
        WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
        descriptor.dataType = WNNDataType_Float32;
        descriptor.shape = (WNNUint32List){(uint32_t[]){1 << 10, 3 << 9}, 2};
        REQUIRE_EQUAL_INT(wnnContextCreateTensor(other, &descriptor, &refused), WNNStatus_OutOfMemory);
        REQUIRE(!refused);
        REQUIRE(!wnnContextIsLost(one) && !wnnContextIsLost(other));
        wait_for(other, compute_chain(other, graph, x, y, WIDTH, tell_nobody()));
        REQUIRE_EQUAL_FLOAT(y[0], 4);
        wnnTensorRelease(large);
        REQUIRE_EQUAL_INT(wnnContextCreateTensor(other, &descriptor, &refused), WNNStatus_Success);
        wnnTensorRelease(refused);
    }
    wnnGraphRelease(graph);
    wnnContextRelease(one);
    wnnContextRelease(other);
    require_nothing(budget);
    wnnBudgetRelease(budget);
}

static void test_threads_and_objects(void)
{
    WNNResources limits = WNN_RESOURCES_INIT;
    limits.threads = 7;
    limits.objects = 4;
    WNNBudget budget = create_budget(limits, (WNNResources)WNN_RESOURCES_INIT, NULL);
    struct answer error = {0};
    WNNContext one = create_on(budget, &error), other = create_on(budget, &error), third;
    REQUIRE_EQUAL_INT(try_context(budget, &error, &third), WNNStatus_OutOfMemory);
    REQUIRE_EQUAL_STR(error.message, "the budget has no 3 threads left");
    WNNGraphBuilder first = create_builder(one), second = create_builder(other), none;
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(one, &none), WNNStatus_OutOfMemory);
    REQUIRE_EQUAL_STR(error.message, "the budget allows no more objects");
    struct answer built = {0};
    wait_for(one, start_build(first, "y", wnnGraphBuilderRelu(first, add_input(first, "x", 1, 1), NULL),
                              &built, WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_INT(built.status, WNNStatus_OutOfMemory);
    wnnGraphBuilderRelease(second);
    wait_for(one, start_build(first, "y", wnnGraphBuilderRelu(first, add_input(first, "x", 1, 1), NULL),
                              &built, WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_INT(built.status, WNNStatus_Success);
    wnnGraphRelease(built.graph);
    wnnGraphBuilderRelease(first);
    wnnContextRelease(one);
    wnnContextRelease(other);
    require_nothing(budget);
    wnnBudgetRelease(budget);
}

static void test_work(void)
{
    WNNResources limits = WNN_RESOURCES_INIT;
    limits.work = 3 * WIDTH;
    WNNBudget budget = create_budget(limits, (WNNResources)WNN_RESOURCES_INIT, NULL);
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.budget = budget;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnn_create_context_on(gated_backend(), &descriptor, &context), WNNStatus_Success);
    WNNGraph graph = build_chain(context, 3, WIDTH), larger = build_chain(context, 4, WIDTH);
    static float x[WIDTH], y[2][WIDTH];
    struct answer first = {0}, second = {0}, third = {0};
    set_gate(true);
    WNNFuture future =
        compute_chain(context, graph, x, y[0], WIDTH, tell(&first, WNNCallbackMode_WaitAnyOnly));
    wait_for_gate(1);
    wait_for(context,
             compute_chain(context, graph, x, y[1], WIDTH, tell(&second, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(second.status, WNNStatus_OutOfMemory);
    REQUIRE_EQUAL_STR(second.message, "compute: the budget has no 3072 multiply-adds left");
    set_gate(false);
    wait_for(context, future);
    REQUIRE_EQUAL_INT(first.status, WNNStatus_Success);
    wait_for(context,
             compute_chain(context, larger, x, y[1], WIDTH, tell(&third, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(third.status, WNNStatus_OutOfMemory);
    wnnGraphRelease(graph);
    wnnGraphRelease(larger);
    wnnContextRelease(context);
    require_nothing(budget);
    wnnBudgetRelease(budget);
}

static void test_bad_descriptors(void)
{
    WNNBudget budget;
    WNNChainedStruct chained = {NULL, 3};
    WNNBudgetDescriptor descriptor = WNN_BUDGET_DESCRIPTOR_INIT;
    REQUIRE_EQUAL_INT(wnnCreateBudget(NULL, &budget), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnCreateBudget(&descriptor, NULL), WNNStatus_TypeError);
    descriptor.limits.nextInChain = &chained;
    REQUIRE_EQUAL_INT(wnnCreateBudget(&descriptor, &budget), WNNStatus_TypeError);
    REQUIRE(!budget);
    wnnBudgetRelease(NULL);
    wnnBudgetAddRef(NULL);
    wnnBudgetGetResources(NULL, NULL, NULL);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_bad_descriptors());
    CASE(test_counting());
    CASE(test_memory());
    CASE(test_threads_and_objects());
    CASE(test_work());
    return cases_end();
}
