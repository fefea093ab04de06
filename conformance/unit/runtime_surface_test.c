// SPDX-License-Identifier: Apache-2.0
//
// What the public functions have in common: the version, and the structs that they fill in, which hold a
// chain of structs that nobody knows, or are not there.

#include "conformance/unit/runtime_fixture.h"

#include <webnn/vulkan.h>

#define TEXT_OF_NUMBER(x) #x
#define TEXT_OF(x)        TEXT_OF_NUMBER(x)

static void test_version(void)
{
    // That of the build.
    REQUIRE_EQUAL_STR(
        TEXT_OF(WNN_VERSION_MAJOR) "." TEXT_OF(WNN_VERSION_MINOR) "." TEXT_OF(WNN_VERSION_PATCH),
        PROJECT_VERSION);
    REQUIRE_EQUAL_VIEW(wnnGetVersionText(), PROJECT_VERSION);
    REQUIRE_EQUAL_INT(wnnGetVersion(), WNN_VERSION);
    REQUIRE_EQUAL_INT(WNN_MAKE_VERSION(1, 2, 3), 0x01020003);
    REQUIRE(WNN_MAKE_VERSION(1, 0, 0) > WNN_MAKE_VERSION(0, 255, 65535));
}

static void test_names(void)
{
    REQUIRE_EQUAL_VIEW(wnnDataTypeName(WNNDataType_Float32), "float32");
    REQUIRE_EQUAL_VIEW(wnnDataTypeName(WNNDataType_Uint4), "uint4");
    REQUIRE_EQUAL_VIEW(wnnDataTypeName(WNNDataType_Undefined), "");
    REQUIRE_EQUAL_VIEW(wnnDataTypeName((WNNDataType)-1), "");
    REQUIRE_EQUAL_VIEW(wnnDataTypeName((WNNDataType)99), "");
}

// Calls with a chained struct are refused, leave the chain and all else alone, and are told to the error
// callback.
#define REFUSES_CHAIN(type, init, member, call)                                                              \
    do {                                                                                                     \
        WNNChainedStruct unknown = {NULL, 12345};                                                            \
        type s = init, untouched;                                                                            \
        s.nextInChain = &unknown;                                                                            \
        memset(&s.member, 0x5A, sizeof s.member);                                                            \
        memcpy(&untouched, &s, sizeof s);                                                                    \
        answer.message[0] = '\0';                                                                            \
        REQUIRE_EQUAL_INT((call), WNNStatus_TypeError);                                                      \
        REQUIRE(memcmp(&untouched, &s, sizeof s) == 0);                                                      \
        REQUIRE_CONTAINS(answer.message, "12345");                                                           \
        s.nextInChain = NULL;                                                                                \
        REQUIRE_EQUAL_INT((call), WNNStatus_Success);                                                        \
        REQUIRE(memcmp(&untouched.member, &s.member, sizeof s.member) != 0);                                 \
    } while (0)

static void test_context(void)
{
    struct answer answer = {0};
    WNNContext context;
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    REFUSES_CHAIN(WNNLimits, WNN_LIMITS_INIT, maxOperators, wnnContextGetLimits(context, &s));
    REFUSES_CHAIN(WNNContextCounters, WNN_CONTEXT_COUNTERS_INIT, graphs, wnnContextGetCounters(context, &s));
    REFUSES_CHAIN(WNNDeviceInfo, WNN_DEVICE_INFO_INIT, name, wnnContextGetDeviceInfo(context, &s));
    REFUSES_CHAIN(WNNOpSupportLimits, WNN_OP_SUPPORT_LIMITS_INIT, operators,
                  wnnContextGetOpSupportLimits(context, &s));
    REQUIRE_EQUAL_INT(wnnContextGetLimits(context, NULL), WNNStatus_TypeError);
    REQUIRE_CONTAINS(answer.message, "there is no place for the limits");
    REQUIRE_EQUAL_INT(wnnContextGetLimits(NULL, NULL), WNNStatus_TypeError);
    WNNVulkanHandles handles = WNN_VULKAN_HANDLES_INIT;
    WNNChainedStruct unknown = {NULL, 12345};
    handles.nextInChain = &unknown;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(context, &handles), WNNStatus_TypeError);
    wnnContextRelease(context);
}

static void test_graph(void)
{
    struct answer answer = {0};
    WNNContext context;
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    WNNGraph graph = build_chain(context, 3, 4);
    float x[4] = {0}, y[4];
    wnnGraphSetProfiling(graph, true);
    wait_for(context, compute_chain(context, graph, x, y, 4, tell_nobody()));
    REFUSES_CHAIN(WNNGraphInfo, WNN_GRAPH_INFO_INIT, nodeCount, wnnGraphGetInfo(graph, &s));
    REFUSES_CHAIN(WNNNodeInfo, WNN_NODE_INFO_INIT, operation, wnnGraphGetNodes(graph, 1, &s, NULL));
    REFUSES_CHAIN(WNNGraphProfile, WNN_GRAPH_PROFILE_INIT, runs,
                  wnnGraphGetProfile(graph, &s, 0, NULL, NULL));
    REFUSES_CHAIN(WNNNodeProfile, WNN_NODE_PROFILE_INIT, runs, wnnGraphGetProfile(graph, NULL, 1, &s, NULL));
    size_t count = 99;
    REQUIRE_EQUAL_INT(wnnGraphGetNodes(NULL, 0, NULL, &count), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(count, 0);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// These have no error callback.
static void test_others(void)
{
    WNNChainedStruct unknown = {NULL, 12345};
    WNNBudgetDescriptor descriptor = WNN_BUDGET_DESCRIPTOR_INIT;
    WNNBudget budget;
    WNNResources now = WNN_RESOURCES_INIT, peak = WNN_RESOURCES_INIT;
    REQUIRE_EQUAL_INT(wnnCreateBudget(&descriptor, &budget), WNNStatus_Success);
    peak.nextInChain = &unknown;
    REQUIRE_EQUAL_INT(wnnBudgetGetResources(budget, &now, &peak), WNNStatus_TypeError);
    peak.nextInChain = NULL;
    REQUIRE_EQUAL_INT(wnnBudgetGetResources(budget, &now, &peak), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnBudgetGetResources(NULL, &now, &peak), WNNStatus_TypeError);
    wnnBudgetRelease(budget);
    // Whether there is a device or not.
    WNNDeviceInfo devices[2] = {WNN_DEVICE_INFO_INIT, WNN_DEVICE_INFO_INIT};
    size_t count = 99;
    devices[1].nextInChain = &unknown;
    REQUIRE_EQUAL_INT(wnnEnumerateDevices(2, devices, &count), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(count, 0);
}

// What is read is refused as well.
static void test_inputs(void)
{
    struct answer answer = {0};
    WNNContext context;
    WNNChainedStruct unknown = {NULL, 12345};
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    WNNAllocator allocator = WNN_ALLOCATOR_INIT;
    WNNParallelFor loop = WNN_PARALLEL_FOR_INIT;
    WNNCache cache = WNN_CACHE_INIT;
    WNNLimits limits = WNN_LIMITS_INIT;
    allocator.nextInChain = loop.nextInChain = cache.nextInChain = limits.nextInChain = &unknown;
    for (int i = 0; i < 4; i++) {
        WNNContextDescriptor d = descriptor;
        d.allocator = i == 0 ? &allocator : NULL;
        d.parallelFor = i == 1 ? &loop : NULL;
        d.cache = i == 2 ? &cache : NULL;
        d.limits = i == 3 ? &limits : NULL;
        REQUIRE_EQUAL_INT(wnnCreateContext(&d, &context), WNNStatus_TypeError);
        REQUIRE_CONTAINS(answer.message, "12345");
    }
    WNNThreadPoolDescriptor pool_descriptor = WNN_THREAD_POOL_DESCRIPTOR_INIT;
    WNNThreadPool pool;
    pool_descriptor.allocator = &allocator;
    REQUIRE_EQUAL_INT(wnnCreateThreadPool(&pool_descriptor, &pool), WNNStatus_TypeError);
}

int main(void)
{
    test_version();
    test_names();
    test_context();
    test_graph();
    test_others();
    test_inputs();
    return 0;
}
