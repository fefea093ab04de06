// SPDX-License-Identifier: Apache-2.0
//
// What contexts make of their compute threads.

#include "conformance/unit/runtime_fixture.h"

#include <dirent.h>
#include <sched.h>

enum {
    WIDTH = 200000,
    LENGTH = 4
};

static WNNContext create_context(uint32_t threads, const WNNParallelFor *loop)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.threadCount = threads;
    descriptor.parallelFor = loop;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    return context;
}

static void fill(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = 1.0f / (float)(i % 1000 + 3);
}

static float *make_floats(void)
{
    float *values = malloc(WIDTH * sizeof *values);
    REQUIRE(values);
    fill(values, WIDTH);
    return values;
}

struct user {
    uint32_t threads;
    const float *x;
    float *y;
};

static void *use_context(void *argument)
{
    struct user *user = argument;
    WNNContext context = create_context(user->threads, NULL);
    WNNGraph graph = build_chain(context, LENGTH, WIDTH);
    for (int i = 0; i < 10; i++)
        wait_for(context, compute_chain(context, graph, user->x, user->y, WIDTH, tell_nobody()));
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    return NULL;
}

static void test_contexts_at_once(void)
{
    float *x = make_floats();
    struct user users[4];
    pthread_t threads[4];
    for (uint32_t i = 0; i < 4; i++) {
        users[i] = (struct user){i + 1, x, make_floats()};
        REQUIRE(pthread_create(&threads[i], NULL, use_context, &users[i]) == 0);
    }
    for (uint32_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < 4; i++)
        REQUIRE(memcmp(users[0].y, users[i].y, WIDTH * sizeof *x) == 0);
    for (uint32_t i = 0; i < 4; i++)
        free(users[i].y);
    free(x);
}

static unsigned count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    if (!folder)
        exit(SKIPPED);
    unsigned count = 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void run_in_order(size_t count, void (*task)(void *argument, size_t index), void *argument,
                         void *userdata)
{
    ++*(unsigned *)userdata;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

// y = conv2d(x), which XNNPACK may compute: 1 x 64 x 64 x 16, 3 x 3.
static WNNGraph build_convolution(WNNContext context)
{
    static float weights[16 * 3 * 3 * 16];
    fill(weights, sizeof weights / sizeof weights[0]);
    uint32_t shape[4] = {1, 64, 64, 16}, filter_shape[4] = {16, 3, 3, 16};
    WNNGraphBuilder builder = create_builder(context);
    WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
    type.dataType = WNNDataType_Float32;
    type.shape = (WNNUint32List){shape, 4};
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &type);
    type.shape = (WNNUint32List){filter_shape, 4};
    WNNOperand filter = wnnGraphBuilderConstant(builder, &type, weights, sizeof weights);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.inputLayout = WNNInputOperandLayout_NHWC;
    options.filterLayout = WNNConv2dFilterOperandLayout_OHWI;
    WNNNamedOperand output = {view("y"), wnnGraphBuilderConv2d(builder, x, filter, &options)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

#define RESULTS (62 * 62 * 16)

static void compute_convolution(WNNContext context, WNNGraph graph, float *y)
{
    static float x[64 * 64 * 16];
    fill(x, sizeof x / sizeof x[0]);
    WNNNamedBuffer input = {view("x"), x, sizeof x, WNNDataType_Float32};
    WNNNamedBuffer output = {view("y"), y, RESULTS * sizeof *y, WNNDataType_Float32};
    compute_buffers(context, graph, 1, &input, 1, &output);
}

// The worker and the builder are threads too, and wait; the host's loop brings all threads that compute.
static void test_thread_count(void)
{
    unsigned calls = 0, before = count_threads();
    const WNNParallelFor loop = {NULL, run_in_order, 4, &calls};
    WNNContext context = create_context(3, &loop);
    float *x = make_floats(), *y = make_floats();
    WNNGraph graph = build_chain(context, LENGTH, WIDTH), convolution = build_convolution(context);
    wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
    compute_convolution(context, convolution, y);
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(count_threads(), before + 2);
    REQUIRE(calls > 0);
    wnnGraphRelease(graph);
    wnnGraphRelease(convolution);
    wnnContextRelease(context);

    context = create_context(1, NULL);
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(count_threads(), before + 2);
    wnnContextRelease(context);

    // After preloading, no thread is made any more.
    context = create_context(3, NULL);
    REQUIRE_EQUAL_INT(count_threads(), before + 4);
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_Success);
    unsigned preloaded = count_threads();
    graph = build_convolution(context);
    compute_convolution(context, graph, y);
    REQUIRE_EQUAL_INT(count_threads(), preloaded);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    free(x);
    free(y);
}

// Where threads rest, since they have no processor, results are the same.
static void test_rest(void)
{
    cpu_set_t all, first;
    float *expected = make_floats(), *y = make_floats();
    WNNContext context = create_context(1, NULL);
    WNNGraph graph = build_convolution(context);
    compute_convolution(context, graph, expected);
    wnnGraphRelease(graph);
    wnnContextRelease(context);

    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&first);
    for (int i = 0; CPU_COUNT(&first) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &first);
    REQUIRE(sched_setaffinity(0, sizeof first, &first) == 0);
    context = create_context(3, NULL);
    REQUIRE(sched_setaffinity(0, sizeof all, &all) == 0);
    graph = build_convolution(context);
    for (int i = 0; i < 100; i++) {
        // First the caller is on any processor, then on that of its threads, which rest.
        REQUIRE(i != 50 || sched_setaffinity(0, sizeof first, &first) == 0);
        memset(y, 0, RESULTS * sizeof *y);
        compute_convolution(context, graph, y);
        REQUIRE(memcmp(y, expected, RESULTS * sizeof *y) == 0);
    }
    REQUIRE(sched_setaffinity(0, sizeof all, &all) == 0);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    free(expected);
    free(y);
}

enum {
    RESTS = 9
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Less than a hundredth of a processor is used while nothing is asked for; in most rests, as what the system
// counts for a thread that was held up is not the thread's.
static void test_idle(void)
{
    WNNContext context = create_context(4, NULL);
    float *x = make_floats(), *y = make_floats();
    WNNGraph graph = build_chain(context, LENGTH, WIDTH), convolution = build_convolution(context);
    double used[RESTS];
    for (int i = 0; i < RESTS; i++) {
        wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
        compute_convolution(context, convolution, y);
        double begin = now_seconds(), cpu = processor_seconds();
        sleep_milliseconds(50);
        used[i] = (processor_seconds() - cpu) / (now_seconds() - begin);
    }
    qsort(used, RESTS, sizeof used[0], compare);
    if (used[RESTS / 2] > 0.01 && !SANITIZED) {
        fprintf(stderr, "%.2f %% of a processor is used at rest, from %.2f to %.2f\n", 100 * used[RESTS / 2],
                100 * used[0], 100 * used[RESTS - 1]);
        case_fail();
    }
    wnnGraphRelease(graph);
    wnnGraphRelease(convolution);
    wnnContextRelease(context);
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_contexts_at_once());
    CASE(test_thread_count());
    CASE(test_rest());
    CASE(test_idle());
    return cases_end();
}
