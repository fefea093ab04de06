// SPDX-License-Identifier: Apache-2.0
//
// The compute threads: the pool by itself under stress, and what contexts make of it.

#include "conformance/unit/runtime_fixture.h"
#include "runtime/pool.h"

#include <dirent.h>
#include <sys/resource.h>

static struct allocator allocator;

// ---------------------------------------------------------------------------------------------------------------
// The pool
// ---------------------------------------------------------------------------------------------------------------

#define MOST 300

struct tally {
    struct pool *pool;
    atomic_uint runs[MOST];
    size_t inner; // items of a loop inside of each item
    atomic_uint inner_runs;
};

static void count_inner(void *argument, size_t index)
{
    (void)index;
    atomic_fetch_add(&((struct tally *)argument)->inner_runs, 1);
}

static void count_one(void *argument, size_t index)
{
    struct tally *tally = argument;
    atomic_fetch_add_explicit(&tally->runs[index], 1, memory_order_relaxed);
    if (tally->inner)
        wnn_pool_run(tally->pool, tally->inner, count_inner, tally);
}

static void require_once_each(struct tally *tally, size_t count)
{
    for (size_t i = 0; i < MOST; i++)
        REQUIRE_EQUAL_INT(atomic_exchange_explicit(&tally->runs[i], 0, memory_order_relaxed), i < count);
    REQUIRE_EQUAL_INT(atomic_exchange(&tally->inner_runs, 0), count * tally->inner);
}

static void test_every_item_once(void)
{
    static struct tally tally;
    for (unsigned threads = 2; threads <= 9; threads += threads < 4 ? 1 : 5) {
        tally.pool = wnn_pool_create(&allocator, threads);
        REQUIRE(tally.pool);
        for (unsigned i = 0; i < 3000; i++) {
            size_t count = i % 11 ? i % 7 : i % MOST;
            tally.inner = i % 13 ? 0 : 5;
            wnn_pool_run(tally.pool, count, count_one, &tally);
            require_once_each(&tally, count);
            // Now and then long enough that threads go to sleep.
            if (i % 500 == 0)
                sleep_milliseconds(1);
        }
        wnn_pool_destroy(tally.pool);
    }
    wnn_pool_destroy(NULL);
}

// Items of which some take long: the others are done meanwhile.
static void sleep_sometimes(void *argument, size_t index)
{
    if (index % 4 == 0)
        sleep_milliseconds(1);
    count_one(argument, index);
}

static void test_uneven_items(void)
{
    static struct tally tally;
    tally.pool = wnn_pool_create(&allocator, 4);
    REQUIRE(tally.pool);
    for (unsigned i = 0; i < 20; i++) {
        wnn_pool_run(tally.pool, 16, sleep_sometimes, &tally);
        require_once_each(&tally, 16);
    }
    wnn_pool_destroy(tally.pool);
}

struct costly {
    pthread_t caller;
    unsigned others_milliseconds; // what an item takes that is not the caller's
    atomic_uint others;           // how many were
};

static void cost(void *argument, size_t index)
{
    struct costly *costly = argument;
    (void)index;
    if (pthread_equal(pthread_self(), costly->caller)) {
        nanosleep(&(struct timespec){0, 100000}, NULL);
    } else {
        atomic_fetch_add(&costly->others, 1);
        sleep_milliseconds(costly->others_milliseconds);
    }
}

// How many loops it takes until other threads have a part of one, or have none.
static unsigned loops_until(struct pool *pool, struct costly *costly, bool others, unsigned most)
{
    for (unsigned i = 0; i < most; i++) {
        atomic_store(&costly->others, 0);
        wnn_pool_run(pool, 16, cost, costly);
        if ((atomic_load(&costly->others) > 0) == others)
            return i;
    }
    return most;
}

// Threads that are stopped in the middle of their items are left out for a time.
static void test_costly_threads(void)
{
    struct pool *pool = wnn_pool_create(&allocator, 2);
    REQUIRE(pool);
    struct costly costly = {.caller = pthread_self(), .others_milliseconds = 20};
    REQUIRE(loops_until(pool, &costly, true, 100) < 100);
    REQUIRE(loops_until(pool, &costly, false, 100) < 100);
    costly.others_milliseconds = 0;
    REQUIRE(loops_until(pool, &costly, true, 5000) < 5000);
    wnn_pool_destroy(pool);
}

static void *run_loops(void *argument)
{
    struct tally tally = {.pool = argument};
    for (unsigned i = 0; i < 2000; i++) {
        wnn_pool_run(tally.pool, i % 20, count_one, &tally);
        require_once_each(&tally, i % 20);
    }
    return NULL;
}

static void test_callers_at_once(void)
{
    struct pool *pool = wnn_pool_create(&allocator, 3);
    REQUIRE(pool);
    pthread_t callers[3];
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&callers[i], NULL, run_loops, pool) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(callers[i], NULL);
    wnn_pool_destroy(pool);
}

static void test_short_lives(void)
{
    for (unsigned i = 0; i < 50; i++)
        wnn_pool_destroy(wnn_pool_create(&allocator, 2 + i % 4));
    REQUIRE_EQUAL_INT(allocator.now, 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Contexts
// ---------------------------------------------------------------------------------------------------------------

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

static float *make_floats(void)
{
    float *values = malloc(WIDTH * sizeof *values);
    REQUIRE(values);
    for (size_t i = 0; i < WIDTH; i++)
        values[i] = 1.0f / (float)(i + 3);
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

static void compute_convolution(WNNContext context, WNNGraph graph)
{
    static float x[64 * 64 * 16], y[62 * 62 * 16];
    WNNNamedBuffer input = {view("x"), x, sizeof x, WNNDataType_Float32};
    WNNNamedBuffer output = {view("y"), y, sizeof y, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &input;
    descriptor.outputs = &output;
    wait_for(context, wnnContextCompute(context, &descriptor, tell_nobody()));
}

// The worker is a thread too, and waits; the host's loop brings all threads that compute.
static void test_thread_count(void)
{
    unsigned calls = 0, before = count_threads();
    const WNNParallelFor loop = {run_in_order, 4, &calls};
    WNNContext context = create_context(3, &loop);
    float *x = make_floats(), *y = make_floats();
    WNNGraph graph = build_chain(context, LENGTH, WIDTH), convolution = build_convolution(context);
    wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
    compute_convolution(context, convolution);
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(count_threads(), before + 1);
    REQUIRE(calls > 0);
    wnnGraphRelease(graph);
    wnnGraphRelease(convolution);
    wnnContextRelease(context);

    context = create_context(1, NULL);
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(count_threads(), before + 1);
    wnnContextRelease(context);

    // After preloading, no thread is made any more.
    context = create_context(3, NULL);
    REQUIRE_EQUAL_INT(count_threads(), before + 3);
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_Success);
    unsigned preloaded = count_threads();
    graph = build_convolution(context);
    compute_convolution(context, graph);
    REQUIRE_EQUAL_INT(count_threads(), preloaded);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    free(x);
    free(y);
}

static double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
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
        compute_convolution(context, convolution);
        double begin = now_seconds(), cpu = processor_seconds();
        sleep_milliseconds(50);
        used[i] = (processor_seconds() - cpu) / (now_seconds() - begin);
    }
    qsort(used, RESTS, sizeof used[0], compare);
    if (used[RESTS / 2] > 0.01 && !SANITIZED) {
        fprintf(stderr, "%.2f %% of a processor is used at rest, from %.2f to %.2f\n", 100 * used[RESTS / 2],
                100 * used[0], 100 * used[RESTS - 1]);
        exit(1);
    }
    wnnGraphRelease(graph);
    wnnGraphRelease(convolution);
    wnnContextRelease(context);
    free(x);
    free(y);
}

int main(void)
{
    wnn_allocator_init(&allocator, NULL, 0);
    test_every_item_once();
    test_uneven_items();
    test_costly_threads();
    test_callers_at_once();
    test_short_lives();
    test_contexts_at_once();
    test_thread_count();
    test_idle();
    puts("threads: passed");
    return 0;
}
