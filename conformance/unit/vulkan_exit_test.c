// SPDX-License-Identifier: Apache-2.0
//
// The end of a process that has contexts at work: threads of the library are out of the driver when that
// takes itself down, and the process ends with the status that it wants to, soon. Each scenario is a process
// of its own. A layer over the driver watches the order (fault_watch_exit).
//
// --device, before patterns: on the device as it is, without the layer; a driver that crashes is noticed.
// Skipped where Vulkan has no device.

#include "conformance/unit/fault_layer.h"
#include "conformance/unit/long_task.h"
#include "vulkan/device/device.h"
#include "vulkan/device/open.h"
#include "vulkan/vulkan.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STATUS = 42,    // of a process that ends as it should
    LONGEST = 240,  // seconds for a process, most of which a slow device takes to compile
    LONGEST_END = 8 // and from main's return on
};

static bool watches;

static bool create_state(const struct backend_options *options, void **state, struct error *error)
{
    return wnn_vulkan_create(options, &(struct gpu_origin){.get = watches ? fault_get : NULL}, state, error);
}

static WNNStatus create(WNNContext *context)
{
    static struct backend watched;
    struct backend backend = wnn_backend_vulkan;
    backend.create = create_state;
    if (!watched.create)
        watched = backend;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.threadCount = 2;
    return wnn_create_context_on(&watched, &descriptor, context);
}

static WNNContext create_one(void)
{
    WNNContext context;
    REQUIRE_EQUAL_INT(create(&context), WNNStatus_Success);
    return context;
}

// ---------------------------------------------------------------------------------------------------------------
// Scenarios
// ---------------------------------------------------------------------------------------------------------------

static WNNContext context;

static void start_thread(void *(*run)(void *argument))
{
    pthread_t thread;
    REQUIRE_EQUAL_INT(pthread_create(&thread, NULL, run, NULL), 0);
}

static void idle(void)
{
    context = create_one();
    wnnGraphRelease(build_powers(context, 16, 1));
}

static void execution(void)
{
    context = create_one();
    make_task(context);
    start_task(context, tell_nobody());
    sleep_milliseconds(150);
}

static void queued_executions(void)
{
    context = create_one();
    make_task(context);
    for (int i = 0; i < 3; i++)
        start_task(context, tell_nobody());
    WNNContext other = create_one();
    WNNGraph graph = build_powers(other, 16, 1);
    static float x[16 * 16], y[16 * 16];
    for (int i = 0; i < 100; i++)
        compute_chain(other, graph, x, y, 16 * 16, tell_nobody());
}

static void *wait_for_task(void *unused)
{
    (void)unused;
    WNNFutureWaitInfo wait = {start_task(context, tell_nobody()), false};
    wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER);
    return NULL;
}

static void thread_that_waits(void)
{
    context = create_one();
    make_task(context);
    start_thread(wait_for_task);
    sleep_milliseconds(150);
}

static void *compute_small(void *graph)
{
    static float x[16 * 16], y[16 * 16];
    for (;;) {
        WNNFutureWaitInfo wait = {compute_chain(context, graph, x, y, 16 * 16, tell_nobody()), false};
        wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER);
    }
    return NULL;
}

static void thread_that_computes(void)
{
    pthread_t thread;
    context = create_one();
    WNNGraph graph = build_powers(context, 16, 1);
    REQUIRE_EQUAL_INT(pthread_create(&thread, NULL, compute_small, graph), 0);
    sleep_milliseconds(100);
}

static void build_in_progress(void)
{
    static struct answer answer;
    context = create_one();
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand y = add_input(builder, "x", 3, 4), all[64];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t dims[] = {i % 8 + 1, i / 8 + 1};
        WNNOperand x =
            wnnGraphBuilderExpand(builder,
                                  wnnGraphBuilderSlice(builder, y, (WNNUint32List){(uint32_t[]){0, 0}, 2},
                                                       (WNNUint32List){(uint32_t[]){1, 1}, 2}, NULL),
                                  (WNNUint32List){dims, 2}, NULL);
        all[i] = wnnGraphBuilderReshape(builder, wnnGraphBuilderSoftmax(builder, x, 1, NULL),
                                        (WNNUint32List){(uint32_t[]){dims[0] * dims[1]}, 1}, NULL);
    }
    start_build(builder, "y", wnnGraphBuilderConcat(builder, 64, all, 0, NULL), &answer,
                WNNCallbackMode_AllowSpontaneous);
    sleep_milliseconds(100);
}

static void *create_and_release(void *unused)
{
    (void)unused;
    for (;;) {
        WNNContext other;
        if (create(&other) == WNNStatus_Success)
            wnnContextRelease(other);
    }
    return NULL;
}

static void creation_in_progress(void)
{
    context = create_one();
    start_thread(create_and_release);
    sleep_milliseconds(100);
}

// Runs after the library's handler, and after the driver's.
static void release_at_exit(void)
{
    wnnGraphRelease(task.graph);
    wnnContextRelease(context);
}

static void late_release(void)
{
    atexit(release_at_exit);
    context = create_one();
    make_task(context);
    start_task(context, tell_nobody());
    sleep_milliseconds(150);
}

// Everything is asked of a context whose driver has gone.
static void use_at_exit(void)
{
    struct answer answer = {0}, second = {0};
    wait_for(context, start_task(context, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    if (answer.status == WNNStatus_Success)
        _exit(1);
    wait_for(context, start_task(context, tell(&second, WNNCallbackMode_WaitAnyOnly)));
    WNNTensor tensor;
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){(uint32_t[]){4}, 1};
    WNNVulkanHandles handles = WNN_VULKAN_HANDLES_INIT;
    if (second.status == WNNStatus_Success ||
        wnnContextCreateTensor(context, &descriptor, &tensor) == WNNStatus_Success ||
        wnnContextGetVulkanHandles(context, &handles) == WNNStatus_Success || !wnnContextIsLost(context))
        _exit(1);
    WNNContext other;
    if (create(&other) == WNNStatus_Success)
        _exit(1);
    release_at_exit();
}

static void late_use(void)
{
    atexit(use_at_exit);
    context = create_one();
    make_task(context);
}

static void end_process(WNNStatus status, WNNStringView message, void *unused, void *unused2)
{
    (void)status;
    (void)message;
    (void)unused;
    (void)unused2;
    exit(STATUS);
}

static void exit_in_callback(void)
{
    context = create_one();
    make_task(context);
    WNNRequestCallbackInfo info = {NULL, WNNCallbackMode_AllowSpontaneous, end_process, NULL, NULL};
    start_task(context, info);
    start_task(context, tell_nobody());
    for (;;)
        pause();
}

static const struct scenario {
    const char *name;
    void (*run)(void);
    int lives; // how often it may be tried
} scenarios[] = {
    {"idle", idle},
    {"execution", execution},
    {"queued-executions", queued_executions},
    {"thread-that-waits", thread_that_waits},
    {"thread-that-computes", thread_that_computes},
    {"build", build_in_progress},
    // webnn.h promises nothing while a driver is being loaded on another thread: some crash, one time in
    // hundreds.
    {"creation", creation_in_progress, 3},
    {"late-release", late_release},
    {"late-use", late_use},
    {"exit-in-callback", exit_in_callback},
};

// The process of one scenario.
static int run_scenario(const char *name)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(scenarios[i].name, name) == 0) {
            scenarios[i].run();
            alarm(LONGEST_END);
            return STATUS;
        }
    return 1;
}

// ---------------------------------------------------------------------------------------------------------------

static int spawn(const char *program, const char *mode, const char *name)
{
    int status;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(LONGEST);
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1); // what is in use at the end is not given back
        execl(program, program, "scenario", mode, name, (char *)NULL);
        _exit(1);
    }
    REQUIRE_EQUAL_INT(waitpid(child, &status, 0), child);
    return status;
}

static bool has_device(void)
{
    WNNDeviceInfo infos[16] = {0};
    bool found = false;
    size_t count = count_devices(16, infos);
    for (size_t i = 0; i < count && i < 16; i++)
        found |= infos[i].isUsable;
    return found;
}

static void test_scenario(const char *mode, const char *name, int lives)
{
    double begin = now_seconds();
    int status = spawn("/proc/self/exe", mode, name);
    while (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && --lives > 0)
        status = spawn("/proc/self/exe", mode, name);
    printf("%s: %s %d (%.1f s)\n", name, WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), now_seconds() - begin);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
}

int main(int count, char **arguments)
{
    if (count == 4 && strcmp(arguments[1], "scenario") == 0) {
        watches = strcmp(arguments[2], "layer") == 0;
        REQUIRE(!watches || fault_begin());
        fault_watch_exit();
        return run_scenario(arguments[3]);
    }
    bool device = count > 1 && strcmp(arguments[1], "--device") == 0;
    cases_begin(count - device, arguments + device);
    if (!has_device())
        return cases_skip("there is no Vulkan device");
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        CASE_AS(scenarios[i].name,
                test_scenario(device ? "device" : "layer", scenarios[i].name, scenarios[i].lives));
    return cases_end();
}
