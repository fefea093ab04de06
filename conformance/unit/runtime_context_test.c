// SPDX-License-Identifier: Apache-2.0
//
// Contexts: descriptors, properties, limits, loss, and the lives of the objects that hang on them.

#include "conformance/unit/runtime_fixture.h"

#include <fenv.h>
#include <sys/resource.h>

static void on_lost(WNNContextLostReason reason, WNNStringView message, void *answer, void *unused)
{
    (void)unused;
    ((struct answer *)answer)->reason = reason;
    note_answer(answer, WNNStatus_UnknownError, message);
}

static void require_refused(WNNContextDescriptor descriptor, WNNStatus status, const char *part)
{
    struct answer error = {0};
    descriptor.errorCallbackInfo.callback = on_request;
    descriptor.errorCallbackInfo.userdata1 = &error;
    WNNContext context = (WNNContext)&error;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), status);
    REQUIRE(context == NULL);
    REQUIRE_EQUAL_INT(error.calls, 1);
    REQUIRE_EQUAL_INT(error.status, status);
    REQUIRE_CONTAINS(error.message, part);
}

static void *allocate_nothing(size_t size, size_t alignment, void *userdata)
{
    (void)size;
    (void)alignment;
    (void)userdata;
    return NULL;
}

static void release_nothing(void *memory, size_t size, size_t alignment, void *userdata)
{
    (void)memory;
    (void)size;
    (void)alignment;
    (void)userdata;
}

static void test_descriptors(void)
{
    const WNNContextDescriptor good = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContextDescriptor d = good;
    WNNChainedStruct chained = {NULL, 1000};
    d.nextInChain = &chained;
    require_refused(d, WNNStatus_TypeError, "struct of type 1000");
    d = good;
    d.lostCallbackInfo.nextInChain = &chained;
    require_refused(d, WNNStatus_TypeError, "lost callback info");
    d = good;
    d.errorCallbackInfo.nextInChain = &chained;
    require_refused(d, WNNStatus_TypeError, "error callback info");
    d = good;
    d.deviceType = (WNNDeviceType)9;
    require_refused(d, WNNStatus_TypeError, "device type 9");
    d = good;
    d.powerPreference = (WNNPowerPreference)0;
    require_refused(d, WNNStatus_TypeError, "power preference 0");
    d = good;
    d.lostCallbackInfo.mode = (WNNCallbackMode)0;
    require_refused(d, WNNStatus_TypeError, "mode 0");
    d = good;
    d.label = (WNNStringView){"\xFF", 1};
    require_refused(d, WNNStatus_TypeError, "UTF-8");
    d = good;
    WNNAllocator allocator = {NULL, allocate_nothing, NULL, NULL};
    d.allocator = &allocator;
    require_refused(d, WNNStatus_TypeError, "allocator");
    allocator.release = release_nothing;
    require_refused(d, WNNStatus_OutOfMemory, "out of memory");
    d = good;
    WNNParallelFor loop = {NULL, NULL, 1, NULL};
    d.parallelFor = &loop;
    require_refused(d, WNNStatus_TypeError, "parallelFor");
    d = good;
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.maxMemoryBytes = 100;
    d.limits = &limits;
    require_refused(d, WNNStatus_OutOfMemory, "out of memory");
    REQUIRE_EQUAL_INT(wnnCreateContext(&good, NULL), WNNStatus_TypeError);
    if (!wnn_backend_for_device(WNNDeviceType_GPU)) {
        d = good;
        d.deviceType = WNNDeviceType_GPU;
        require_refused(d, WNNStatus_NotSupportedError, "GPU");
    }
}

static void test_names(void)
{
    REQUIRE_EQUAL_VIEW(wnnStatusName(WNNStatus_Success), "Success");
    REQUIRE_EQUAL_VIEW(wnnStatusName(WNNStatus_TypeError), "TypeError");
    REQUIRE_EQUAL_VIEW(wnnStatusName(WNNStatus_InvalidStateError), "InvalidStateError");
    REQUIRE_EQUAL_VIEW(wnnStatusName(WNNStatus_Cancelled), "Cancelled");
    REQUIRE_EQUAL_VIEW(wnnStatusName((WNNStatus)99), "unknown status");
    REQUIRE_EQUAL_VIEW(wnnGetVersionText(), "0.1.0");
}

static void test_properties(void)
{
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(NULL, &context), WNNStatus_Success);
    REQUIRE(wnnContextGetAccelerated(context));
    REQUIRE(!wnnContextIsLost(context));
    WNNLimits limits = WNN_LIMITS_INIT;
    wnnContextGetLimits(context, &limits);
    REQUIRE_EQUAL_INT(limits.maxOperators, 1000000);
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_Success);
    wnnContextAddRef(context);
    wnnContextRelease(context);
    REQUIRE(!wnnContextIsLost(context));

    WNNOpSupportLimits support = WNN_OP_SUPPORT_LIMITS_INIT;
    wnnContextGetOpSupportLimits(context, &support);
    REQUIRE_EQUAL_INT(support.operatorCount, 109);
    REQUIRE_EQUAL_INT(support.maxTensorByteLength, 0x7FFFFFFF);
    REQUIRE_EQUAL_INT(support.input.maxRank, WNN_MAX_RANK);
    bool found = false;
    for (size_t i = 0; i < support.operatorCount; i++) {
        const WNNOperatorLimits *op = &support.operators[i];
        REQUIRE(op->name.length > 0 && op->operandCount > 0);
        for (size_t j = 0; j < op->operandCount; j++) {
            REQUIRE(op->operands[j].name.length > 0);
            REQUIRE(op->operands[j].limits.dataTypes != 0);
            REQUIRE(op->operands[j].limits.dataTypes < 1u << 11);
            REQUIRE(op->operands[j].limits.minRank <= op->operands[j].limits.maxRank);
        }
        if (op->name.length == 6 && memcmp(op->name.data, "conv2d", 6) == 0) {
            found = true;
            REQUIRE_EQUAL_INT(op->operandCount, 4);
            REQUIRE_EQUAL_VIEW(op->operands[2].name, "bias");
            REQUIRE(op->operands[2].isOptional && !op->operands[1].isOptional);
            REQUIRE_EQUAL_INT(op->operands[1].limits.dataTypes, op->operands[0].limits.dataTypes);
            REQUIRE_EQUAL_INT(op->operands[0].limits.minRank, 4);
        }
    }
    REQUIRE(found);
    wnnContextRelease(context);
    wnnContextRelease(NULL);
}

static void test_loss(void)
{
    for (int mode = WNNCallbackMode_WaitAnyOnly; mode <= WNNCallbackMode_AllowSpontaneous; mode++) {
        struct answer lost = {0}, error = {0}, answer = {0};
        WNNContextDescriptor descriptor = describe_context(&error, &lost);
        descriptor.lostCallbackInfo.callback = on_lost;
        descriptor.lostCallbackInfo.mode = (WNNCallbackMode)mode;
        WNNContext context;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
        WNNGraph graph = build_chain(context, 2, 4);
        WNNTensor tensor = create_tensor(context, 1, 4);
        WNNGraphBuilder builder = create_builder(context);
        REQUIRE_EQUAL_INT(wnnContextGetLostReason(context), WNNContextLostReason_None);
        wnnContextDestroy(context);
        REQUIRE_EQUAL_INT(wnnContextGetLostReason(context), WNNContextLostReason_Destroyed);
        REQUIRE_EQUAL_INT(lost.calls, mode == WNNCallbackMode_AllowSpontaneous);
        REQUIRE(wnnContextIsLost(context));
        wnnContextDestroy(context);
        float x[4] = {0}, y[4];
        wait_for(context, compute_chain(context, graph, x, y, 4, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
        REQUIRE_EQUAL_INT(lost.calls, 1);
        REQUIRE_CONTAINS(lost.message, "wnnContextDestroy");
        REQUIRE_EQUAL_INT(lost.reason, WNNContextLostReason_Destroyed);
        REQUIRE_EQUAL_INT(answer.status, WNNStatus_InvalidStateError);
        REQUIRE_CONTAINS(answer.message, "the context is lost: wnnContextDestroy");
        REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, x, sizeof x), WNNStatus_InvalidStateError);
        REQUIRE_EQUAL_INT(error.status, WNNStatus_InvalidStateError);
        WNNGraphBuilder another;
        REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &another), WNNStatus_InvalidStateError);
        REQUIRE(!another);
        REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_InvalidStateError);
        REQUIRE(!add_input(builder, "x", 1, 1));
        WNNError builder_error;
        wnnGraphBuilderGetError(builder, &builder_error);
        REQUIRE_EQUAL_INT(builder_error.status, WNNStatus_InvalidStateError);
        REQUIRE_EQUAL_INT(error.calls, 3);
        wnnContextRelease(context);
        REQUIRE_EQUAL_INT(lost.calls, 1);
        wnnGraphRelease(graph);
        wnnTensorRelease(tensor);
        wnnGraphBuilderRelease(builder);
    }
}

// Handles that outlive their context.
static void test_orphans(void)
{
    struct answer lost = {0}, answer = {0};
    WNNContextDescriptor descriptor = describe_context(NULL, &lost);
    descriptor.lostCallbackInfo.callback = on_lost;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    WNNGraph graph = build_sum(context);
    WNNTensor tensor = create_tensor(context, 2, 3);
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand y = wnnGraphBuilderRelu(builder, add_input(builder, "x", 1, 1), NULL);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(lost.calls, 1);
    REQUIRE_CONTAINS(lost.message, "released");
    REQUIRE_EQUAL_INT(lost.reason, WNNContextLostReason_Released);

    size_t count;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, &count);
    REQUIRE_EQUAL_INT(count, 2);
    REQUIRE_EQUAL_VIEW(inputs[1].name, "b");
    REQUIRE_EQUAL_INT(wnnTensorGetShape(tensor).data[1], 3);
    // Nobody can wait any more, so that the answer comes at once.
    start_build(builder, "y", y, &answer, WNNCallbackMode_WaitAnyOnly);
    REQUIRE_EQUAL_INT(answer.calls, 1);
    REQUIRE_EQUAL_INT(answer.status, WNNStatus_InvalidStateError);
    wnnGraphDestroy(graph);
    wnnTensorDestroy(tensor);
    wnnGraphAddRef(graph);
    wnnGraphRelease(graph);
    wnnGraphRelease(graph);
    wnnTensorRelease(tensor);
    wnnGraphBuilderRelease(builder);
}

static void test_counters(void)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    const WNNContextCounters before = counters_of(context);
    REQUIRE_EQUAL_INT(before.builders + before.graphs + before.tensors + before.pendingRequests, 0);
    WNNGraphBuilder builder = create_builder(context);
    WNNGraph graph = build_sum(context);
    WNNTensor tensor = create_tensor(context, 100, 100);
    WNNContextCounters now = counters_of(context);
    REQUIRE_EQUAL_INT(now.builders, 1);
    REQUIRE_EQUAL_INT(now.graphs, 1);
    REQUIRE_EQUAL_INT(now.tensors, 1);
    REQUIRE_EQUAL_INT(now.pendingRequests, 0);
    REQUIRE(now.allocatedBytes >= before.allocatedBytes + 40000);
    REQUIRE(now.maxAllocatedBytes >= now.allocatedBytes);
    wnnTensorDestroy(tensor);
    REQUIRE(counters_of(context).allocatedBytes <= now.allocatedBytes - 40000);
    wnnTensorRelease(tensor);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    now = counters_of(context);
    REQUIRE_EQUAL_INT(now.builders + now.graphs + now.tensors + now.pendingRequests, 0);
    require_bytes(context, before.allocatedBytes);
    wnnContextRelease(context);
}

static void test_memory_limit(void)
{
    struct answer error = {0};
    WNNContextDescriptor descriptor = describe_context(&error, NULL);
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.maxMemoryBytes = 1000000;
    descriptor.limits = &limits;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    uint32_t dims[] = {1000, 1000};
    WNNTensorDescriptor tensor_descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    tensor_descriptor.dataType = WNNDataType_Float32;
    tensor_descriptor.shape = (WNNUint32List){dims, 2};
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &tensor_descriptor, &tensor), WNNStatus_OutOfMemory);
    REQUIRE(!tensor);
    REQUIRE_CONTAINS(error.message, "4000000 bytes (float32 [1000, 1000])");
    REQUIRE(counters_of(context).maxAllocatedBytes <= 1000000);
    wnnContextRelease(context);
}

// ---------------------------------------------------------------------------------------------------------------
// The host's loop and allocator, and the floating-point environment
// ---------------------------------------------------------------------------------------------------------------

static size_t host_calls;

// Runs the tasks backwards, with an environment that must not reach them and must be there again afterwards.
static void run_backwards(size_t count, void (*task)(void *argument, size_t index), void *argument,
                          void *userdata)
{
    REQUIRE(userdata == &host_calls);
    host_calls++;
    fesetround(FE_DOWNWARD);
    for (size_t i = count; i-- > 0;)
        task(argument, i);
    REQUIRE_EQUAL_INT(fegetround(), FE_DOWNWARD);
    fesetround(FE_TONEAREST);
}

static struct accounting {
    atomic_size_t blocks, bytes;
} accounting;

static void *allocate(size_t size, size_t alignment, void *userdata)
{
    REQUIRE(userdata == &accounting && size > 0 && (alignment & (alignment - 1)) == 0);
    void *memory;
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) != 0)
        return NULL;
    atomic_fetch_add(&accounting.blocks, 1);
    atomic_fetch_add(&accounting.bytes, size);
    return memory;
}

static void release(void *memory, size_t size, size_t alignment, void *userdata)
{
    REQUIRE(memory && userdata == &accounting && alignment > 0);
    atomic_fetch_sub(&accounting.blocks, 1);
    atomic_fetch_sub(&accounting.bytes, size);
    free(memory);
}

// A chain of 1/3 + 1/3 + ... under a strange rounding mode of the caller's gives the same bits as without.
static void test_host_services(void)
{
    enum {
        WIDTH = 100000,
        LENGTH = 7
    };
    static float x[WIDTH], y[2][WIDTH];
    for (size_t i = 0; i < WIDTH; i++)
        x[i] = 1.0f / (float)(i + 3);
    for (int host = 0; host < 2; host++) {
        const WNNParallelFor loop = {NULL, run_backwards, 4, &host_calls};
        const WNNAllocator allocator = {NULL, allocate, release, &accounting};
        WNNContextDescriptor descriptor = describe_context(NULL, NULL);
        if (host) {
            descriptor.parallelFor = &loop;
            descriptor.allocator = &allocator;
            fesetround(FE_UPWARD);
        }
        WNNContext context;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
        WNNGraph graph = build_chain(context, LENGTH, WIDTH);
        wait_for(context, compute_chain(context, graph, x, y[host], WIDTH, tell_nobody()));
        if (host)
            REQUIRE(accounting.blocks > 0);
        // A graph that outlives its context; the accounting says whether its executable did.
        wnnContextRelease(context);
        wnnGraphRelease(graph);
        fesetround(FE_TONEAREST);
    }
    REQUIRE(memcmp(y[0], y[1], sizeof y[0]) == 0);
    REQUIRE_EQUAL_INT(accounting.blocks, 0);
    REQUIRE_EQUAL_INT(accounting.bytes, 0);
}

static void test_threads(void)
{
    static const uint32_t threads[] = {0, 2, 7};
    enum {
        WIDTH = 100000
    };
    static float x[WIDTH], y[WIDTH];
    for (size_t i = 0; i < WIDTH; i++)
        x[i] = (float)i;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        WNNContextDescriptor descriptor = describe_context(NULL, NULL);
        descriptor.threadCount = threads[i]; // 0: one per processor
        WNNContext context;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
        WNNGraph graph = build_chain(context, 3, WIDTH);
        wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
        for (size_t j = 0; j < WIDTH; j++)
            REQUIRE_EQUAL_FLOAT(y[j], 4 * (float)j);
        wnnGraphRelease(graph);
        wnnContextRelease(context);
    }
}

// Denormals of a caller whose processor flushes them are not flushed by the context.
static void test_denormals(void)
{
#ifdef __SSE__
    enum {
        WIDTH = 40000
    };
    static float x[WIDTH], y[WIDTH];
    for (size_t i = 0; i < WIDTH; i++)
        x[i] = 0x1p-140f;
    for (uint32_t threads = 1; threads <= (THREAD_SANITIZED ? 1 : 3); threads += 2) {
        unsigned before = __builtin_ia32_stmxcsr();
        __builtin_ia32_ldmxcsr(before | 0x8040);
        WNNContextDescriptor descriptor = describe_context(NULL, NULL);
        descriptor.threadCount = threads;
        WNNContext context;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
        WNNGraph graph = build_chain(context, 3, WIDTH);
        wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
        wnnGraphRelease(graph);
        wnnContextRelease(context);
        REQUIRE_EQUAL_INT(__builtin_ia32_stmxcsr() & 0x8040, 0x8040);
        __builtin_ia32_ldmxcsr(before);
        for (size_t i = 0; i < WIDTH; i++)
            REQUIRE_EQUAL_FLOAT(y[i], 0x1p-138f);
    }
#endif
}

// A process that may not have more memory for stacks gets a status, and does not wait for threads that never
// start.
static void test_too_many_threads(void)
{
    struct rlimit before, tight;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return;
    REQUIRE_EQUAL_INT(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    REQUIRE_EQUAL_INT(getrlimit(RLIMIT_AS, &before), 0);
    struct answer error = {0};
    for (int room = 4; room <= 64;
         room += 60) { // MiB: not even the worker starts, or it does and its helpers do not
        WNNContextDescriptor descriptor = describe_context(&error, NULL);
        descriptor.threadCount = 1000;
        tight = before;
        tight.rlim_cur = (rlim_t)pages * 4096 + (rlim_t)room * 1024 * 1024;
        REQUIRE_EQUAL_INT(setrlimit(RLIMIT_AS, &tight), 0);
        WNNContext context;
        WNNStatus status = wnnCreateContext(&descriptor, &context);
        REQUIRE_EQUAL_INT(setrlimit(RLIMIT_AS, &before), 0);
        REQUIRE_EQUAL_INT(status, WNNStatus_OutOfMemory);
        REQUIRE(!context);
    }
    REQUIRE_EQUAL_INT(error.calls, 2);
    REQUIRE_CONTAINS(error.message, "1000 compute threads cannot be started");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_descriptors());
    CASE(test_names());
    CASE(test_properties());
    CASE(test_loss());
    CASE(test_orphans());
    CASE(test_counters());
    CASE(test_memory_limit());
    CASE(test_host_services());
    CASE(test_denormals());
    if (!SANITIZED)
        CASE(test_too_many_threads());
    if (!THREAD_SANITIZED)
        CASE(test_threads());
    return cases_end();
}
