// SPDX-License-Identifier: Apache-2.0
//
// fork() with contexts and thread pools: the child has none of their threads. Whatever it asks of them is
// refused, at once and without waiting for anybody, the handles can be released, and contexts and pools of
// its own work; the parent does not notice. On the CPU, and on Vulkan where there is a device.

#include "conformance/unit/runtime_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LONGEST = 20, // seconds for a child
    WIDTH = 4096,
    LENGTH = 200
};

static WNNDeviceType type;
static float x[WIDTH], y[WIDTH];

// What the child inherits.
static struct {
    WNNThreadPool pool, idle; // of the context, or NULL; and of no context
    WNNContext context;
    WNNGraphBuilder builder;
    WNNOperand operand;
    WNNGraph graph;
    WNNTensor tensor;
    WNNFuture done, flying;
    struct answer told; // by the error callback
} parent;

static WNNThreadPool create_pool(void)
{
    WNNThreadPoolDescriptor descriptor = WNN_THREAD_POOL_DESCRIPTOR_INIT;
    WNNThreadPool pool;
    descriptor.computeThreads = 2;
    descriptor.spareThreads = 2;
    REQUIRE_EQUAL_INT(wnnCreateThreadPool(&descriptor, &pool), WNNStatus_Success);
    return pool;
}

static WNNContext create_context(WNNThreadPool pool, struct answer *error)
{
    WNNContextDescriptor descriptor = describe_context(error, NULL);
    WNNContext context;
    descriptor.deviceType = type;
    descriptor.threadCount = 2;
    descriptor.threadPool = pool;
    return wnnCreateContext(&descriptor, &context) == WNNStatus_Success ? context : NULL;
}

static void require_refused(const struct answer *answer)
{
    REQUIRE_EQUAL_INT(answer->calls, 1);
    REQUIRE_EQUAL_INT(answer->status, WNNStatus_InvalidStateError);
    REQUIRE_CONTAINS(answer->message, "the process was forked");
}

// A request of the child's is answered inside of the call, whatever the mode.
static void require_no_requests(WNNContext context)
{
    const WNNCallbackMode modes[] = {WNNCallbackMode_WaitAnyOnly, WNNCallbackMode_AllowProcessEvents,
                                     WNNCallbackMode_AllowSpontaneous};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct answer computed = {0}, read = {0}, dispatched = {0}, built = {0};
        compute_chain(context, parent.graph, x, y, WIDTH, tell(&computed, modes[i]));
        require_refused(&computed);
        wnnContextReadTensor(context, parent.tensor, y, sizeof y, tell(&read, modes[i]));
        require_refused(&read);
        WNNDispatchDescriptor dispatch = WNN_DISPATCH_DESCRIPTOR_INIT;
        dispatch.graph = parent.graph;
        wnnContextDispatch(context, &dispatch, tell(&dispatched, modes[i]));
        require_refused(&dispatched);
        start_build(parent.builder, "y", parent.operand, &built, modes[i]);
        require_refused(&built);
    }
}

static void require_no_waiting(WNNContext context)
{
    WNNFutureWaitInfo waits[] = {{parent.done, false}, {parent.flying, false}};
    const uint64_t timeouts[] = {0, 1000, WNN_WAIT_FOREVER};
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++)
        REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 2, waits, timeouts[i]), WNNWaitStatus_Error);
    wnnContextProcessEvents(context);
    wnnGraphCancel(parent.graph);
    REQUIRE_EQUAL_INT(wnnContextCancel(context, parent.flying), WNNStatus_InvalidStateError);
}

static void require_no_objects(WNNContext context)
{
    WNNTensor tensor;
    WNNGraphBuilder builder;
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){(uint32_t[]){4}, 1};
    descriptor.writable = true;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &tensor), WNNStatus_InvalidStateError);
    descriptor.writable = false;
    REQUIRE_EQUAL_INT(wnnContextCreateConstantTensor(context, &descriptor, x, 4 * sizeof *x, &tensor),
                      WNNStatus_InvalidStateError);
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, parent.tensor, x, sizeof x),
                      WNNStatus_InvalidStateError);
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &builder), WNNStatus_InvalidStateError);
    REQUIRE(!wnnGraphBuilderAdd(parent.builder, parent.operand, parent.operand, NULL));
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_InvalidStateError);
    REQUIRE(wnnContextIsLost(context));
    REQUIRE_EQUAL_INT(wnnContextGetLostReason(context), WNNContextLostReason_DeviceLost);
    WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;
    wnnGraphSetProfiling(parent.graph, true);
    REQUIRE_EQUAL_INT(wnnGraphGetProfile(parent.graph, &profile, 0, NULL, NULL), WNNStatus_InvalidStateError);
    REQUIRE_EQUAL_INT(counters_of(context).graphs, 0);
    REQUIRE_CONTAINS(parent.told.message, "the process was forked");
}

// A pool without threads makes no contexts, and ends none of the threads that it has not.
static void require_no_threads(WNNThreadPool pool)
{
    struct answer error = {0};
    wnnThreadPoolAddRef(pool);
    REQUIRE(!create_context(pool, &error));
    require_refused(&error);
    wnnThreadPoolRelease(pool);
}

static void release_parent(void)
{
    wnnThreadPoolRelease(parent.pool);
    wnnThreadPoolRelease(parent.idle);
    wnnContextDestroy(parent.context);
    wnnGraphDestroy(parent.graph);
    wnnGraphRelease(parent.graph);
    wnnTensorRelease(parent.tensor);
    wnnGraphBuilderRelease(parent.builder);
    wnnContextRelease(parent.context);
}

static void require_chain(WNNContext context, WNNGraph graph)
{
    for (int i = 0; i < WIDTH; i++)
        x[i] = (float)(i % 5);
    wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
    for (int i = 0; i < WIDTH; i++)
        REQUIRE(y[i] == (LENGTH + 1) * x[i]);
}

static void use_own_context(WNNThreadPool pool)
{
    type = WNNDeviceType_CPU;
    WNNContext context = create_context(pool, NULL);
    REQUIRE(context);
    wnnThreadPoolRelease(pool);
    WNNGraph graph = build_chain(context, LENGTH, WIDTH);
    require_chain(context, graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

static void run_child(void)
{
    alarm(LONGEST);
    require_no_requests(parent.context);
    require_no_waiting(parent.context);
    require_no_objects(parent.context);
    require_no_threads(parent.idle);
    release_parent();
    use_own_context(NULL);
    use_own_context(create_pool());
}

// Forks while the parent's threads compute, build and wait, so that some lock or other is held.
static void test_forks(bool shared)
{
    enum {
        FORKS = 25
    };
    parent.pool = shared ? create_pool() : NULL;
    parent.idle = create_pool();
    if (!(parent.context = create_context(parent.pool, &parent.told))) {
        fprintf(stderr, "not tested: there is no device of type %d\n", (int)type);
        return;
    }
    WNNContext context = parent.context;
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){(uint32_t[]){WIDTH}, 1};
    descriptor.readable = descriptor.writable = true;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &parent.tensor), WNNStatus_Success);
    parent.builder = create_builder(context);
    parent.operand = add_input(parent.builder, "x", 1, 4);
    parent.graph = build_chain(context, LENGTH, WIDTH);
    for (int i = 0; i < FORKS; i++) {
        static float other[WIDTH];
        int status;
        struct answer built = {0};
        parent.done = compute_chain(context, parent.graph, x, other, WIDTH, tell_nobody());
        wait_for(context, parent.done);
        WNNGraphBuilder builder = create_builder(context);
        WNNOperand operand = add_input(builder, "x", 1, (uint32_t)i + 1);
        WNNFuture build = start_build(builder, "y", wnnGraphBuilderTanh(builder, operand, NULL), &built,
                                      WNNCallbackMode_WaitAnyOnly);
        parent.flying = compute_chain(context, parent.graph, x, other, WIDTH, tell_nobody());
        for (volatile int pause = i * 20000; pause > 0; pause--)
            continue;
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            run_child();
            _exit(0);
        }
        REQUIRE_EQUAL_INT(waitpid(child, &status, 0), child);
        REQUIRE(WIFEXITED(status));
        REQUIRE_EQUAL_INT(WEXITSTATUS(status), 0);
        wait_for(context, build);
        wait_for(context, parent.flying);
        wnnGraphRelease(built.graph);
        wnnGraphBuilderRelease(builder);
    }
    require_chain(context, parent.graph);
    REQUIRE_EQUAL_INT(parent.told.calls, 0);
    release_parent();
    printf("%s%s: %d children\n", type == WNNDeviceType_CPU ? "CPU" : "GPU",
           shared ? ", with a thread pool" : "", FORKS);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    if (SANITIZED)
        return cases_skip("sanitizers do not work in children that have threads");
    type = WNNDeviceType_CPU;
    CASE_AS("contexts on the CPU", test_forks(false));
    CASE_AS("a shared thread pool", test_forks(true));
    type = WNNDeviceType_GPU;
    CASE_AS("contexts on a GPU", test_forks(false));
    return cases_end();
}
