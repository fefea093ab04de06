// SPDX-License-Identifier: Apache-2.0
//
// What stays: the memory of a process that builds, computes and destroys for ever does not grow; and what a
// submission and an execution cost besides the kernels.

#include "conformance/unit/runtime_fixture.h"

#include <unistd.h>

static long resident_kilobytes(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = -1;
    if (file)
        fclose(file);
    return resident < 0 ? -1 : resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void use_once(WNNContext context)
{
    enum {
        WIDTH = 64
    };
    float x[WIDTH] = {1}, y[WIDTH];
    WNNGraph graph = build_chain(context, 5, WIDTH);
    wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
    REQUIRE_EQUAL_FLOAT(y[0], 6);
    wnnGraphDestroy(graph);
    wnnGraphRelease(graph);
}

static void test_growth(WNNContext context, int rounds)
{
    for (int i = 0; i < rounds / 10; i++)
        use_once(context);
    long before = resident_kilobytes();
    for (int i = 0; i < rounds; i++)
        use_once(context);
    long after = resident_kilobytes();
    printf("resident memory: %ld kB, after %d rounds %ld kB\n", before, rounds, after);
    // A sanitizer keeps freed memory in quarantine.
    REQUIRE(before < 0 || SANITIZED || after - before < 1024);
}

static void test_latency(WNNContext context)
{
    enum {
        WIDTH = 256,
        COUNT = 501
    };
    static float x[WIDTH], y[WIDTH];
    static double seconds[COUNT];
    WNNGraph graph = build_chain(context, 200, WIDTH);
    for (int i = 0; i < COUNT; i++) {
        sleep_milliseconds(1); // so that the worker sleeps and has to be woken
        double before = now_seconds();
        WNNFuture future = compute_chain(context, graph, x, y, WIDTH, tell_nobody());
        seconds[i] = now_seconds() - before;
        wait_for(context, future);
    }
    qsort(seconds, COUNT, sizeof *seconds, compare_doubles);
    printf("submitting a graph of 200 operators: median %.1f us, 95%% %.1f us\n", seconds[COUNT / 2] * 1e6,
           seconds[COUNT * 95 / 100] * 1e6);
    REQUIRE(seconds[COUNT / 2] < (SANITIZED ? 10e-3 : 100e-6));
    wnnGraphRelease(graph);
}

// An execution of one tiny operator, from the call to the end of the wait: the least of several medians, so
// that other processes do not count.
static void test_overhead(WNNContext context)
{
    enum {
        WIDTH = 16,
        ROUNDS = 7,
        COUNT = 301
    };
    static float x[WIDTH], y[WIDTH];
    static double seconds[COUNT];
    WNNGraph graph = build_chain(context, 1, WIDTH);
    double least = 1;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++) {
            double before = now_seconds();
            wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
            seconds[i] = now_seconds() - before;
        }
        qsort(seconds, COUNT, sizeof *seconds, compare_doubles);
        least = seconds[COUNT / 2] < least ? seconds[COUNT / 2] : least;
    }
    printf("executing one small operator: median %.2f us\n", least * 1e6);
    REQUIRE(least < (SANITIZED ? 1e-3 : 5e-6));
    wnnGraphRelease(graph);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    int rounds = SANITIZED ? 1000 : 10000;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    uint64_t bytes = counters_of(context).allocatedBytes;
    CASE(test_growth(context, rounds));
    CASE(test_latency(context));
    CASE(test_overhead(context));
    require_bytes(context, bytes);
    wnnContextRelease(context);
    return cases_end();
}
