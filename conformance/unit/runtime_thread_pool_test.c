// SPDX-License-Identifier: Apache-2.0
//
// Thread pools that contexts share: spare threads where none can be made any more, turns and priorities, and
// what idle contexts cost.

#include "conformance/unit/runtime_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WIDTH 4

static WNNThreadPool create_pool(uint32_t compute, uint32_t spare)
{
    WNNThreadPoolDescriptor descriptor = WNN_THREAD_POOL_DESCRIPTOR_INIT;
    descriptor.computeThreads = compute;
    descriptor.spareThreads = spare;
    WNNThreadPool pool;
    REQUIRE_EQUAL_INT(wnnCreateThreadPool(&descriptor, &pool), WNNStatus_Success);
    return pool;
}

static WNNStatus try_context(WNNThreadPool pool, WNNPriority priority, struct answer *error,
                             WNNContext *context)
{
    WNNContextDescriptor descriptor = describe_context(error, NULL);
    descriptor.threadPool = pool;
    descriptor.priority = priority;
    descriptor.threadCount = 1; // where there is no pool
    return wnnCreateContext(&descriptor, context);
}

static WNNContext create_on(WNNThreadPool pool, WNNPriority priority)
{
    WNNContext context;
    REQUIRE_EQUAL_INT(try_context(pool, priority, NULL, &context), WNNStatus_Success);
    return context;
}

static unsigned count_threads(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    REQUIRE(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static void compute_once(WNNContext context)
{
    float x[WIDTH] = {1, 2, 3, 4}, y[WIDTH];
    WNNGraph graph = build_chain(context, 2, WIDTH);
    wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
    REQUIRE_EQUAL_FLOAT(y[3], 12);
    wnnGraphRelease(graph);
}

// ---------------------------------------------------------------------------------------------------------------
// Spare threads
// ---------------------------------------------------------------------------------------------------------------

static void test_spare_threads(void)
{
    unsigned before = count_threads();
    WNNThreadPool pool = create_pool(2, 4);
    unsigned with_pool = count_threads();
    for (int i = 0; i < 20; i++) {
        WNNContext one = create_on(pool, WNNPriority_Normal), other = create_on(pool, WNNPriority_Low);
        compute_once(one);
        compute_once(other);
        REQUIRE_EQUAL_INT(count_threads(), with_pool);
        wnnContextRelease(one);
        wnnContextRelease(other);
    }
    // More than there are spare threads for.
    WNNContext contexts[3];
    for (int i = 0; i < 3; i++)
        contexts[i] = create_on(pool, WNNPriority_Normal);
    REQUIRE_EQUAL_INT(count_threads(), with_pool + 2);
    wnnThreadPoolRelease(pool); // contexts keep it
    for (int i = 0; i < 3; i++) {
        compute_once(contexts[i]);
        wnnContextRelease(contexts[i]);
    }
    for (int i = 0; i < 1000 && count_threads() > before; i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(count_threads(), before);
}

static void release_in_callback(WNNStatus status, WNNStringView message, void *context, void *calls)
{
    (void)status, (void)message;
    wnnContextRelease(context);
    atomic_fetch_add((atomic_int *)calls, 1);
}

// The last handle of the context, and of the pool, on a thread of the pool.
static void test_release_in_callback(void)
{
    unsigned before = count_threads();
    atomic_int calls = 0;
    for (int i = 0; i < 20; i++) {
        WNNThreadPool pool = create_pool(2, 2);
        WNNContext context = create_on(pool, WNNPriority_Normal);
        wnnThreadPoolRelease(pool);
        WNNGraph graph = build_chain(context, 2, WIDTH);
        static float x[WIDTH], y[20][WIDTH];
        compute_chain(context, graph, x, y[i], WIDTH,
                      (WNNRequestCallbackInfo){NULL, WNNCallbackMode_AllowSpontaneous, release_in_callback,
                                               context, &calls});
        wnnGraphRelease(graph);
    }
    for (int i = 0; i < 5000 && (atomic_load(&calls) < 20 || count_threads() > before); i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(atomic_load(&calls), 20);
    REQUIRE_EQUAL_INT(count_threads(), before);
}

static bool forbid_threads(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static int without_clone(void)
{
    WNNThreadPool pool = create_pool(2, 2);
    if (!forbid_threads())
        return 77;
    struct answer error = {0};
    WNNContext context = NULL, more = NULL;
    REQUIRE_EQUAL_INT(try_context(pool, WNNPriority_Normal, &error, &context), WNNStatus_Success);
    compute_once(context);
    REQUIRE_EQUAL_INT(try_context(pool, WNNPriority_Normal, &error, &more), WNNStatus_NotSupportedError);
    REQUIRE_CONTAINS(error.message, "the system refuses clone");
    REQUIRE(!more);
    compute_once(context);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(try_context(pool, WNNPriority_Normal, &error, &context), WNNStatus_Success);
    compute_once(context);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(try_context(NULL, WNNPriority_Normal, &error, &context), WNNStatus_NotSupportedError);
    WNNThreadPool another = NULL;
    WNNThreadPoolDescriptor descriptor = WNN_THREAD_POOL_DESCRIPTOR_INIT;
    descriptor.computeThreads = 2;
    REQUIRE_EQUAL_INT(wnnCreateThreadPool(&descriptor, &another), WNNStatus_NotSupportedError);
    wnnThreadPoolRelease(another);
    wnnThreadPoolRelease(pool);
    return 0;
}

static void test_without_clone(void)
{
    int status;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(without_clone());
    REQUIRE_EQUAL_INT(waitpid(child, &status, 0), child);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
}

// ---------------------------------------------------------------------------------------------------------------
// Turns
// ---------------------------------------------------------------------------------------------------------------

// A context that computes a graph of some milliseconds, in nodes of less than one, again and again.
struct runner {
    WNNContext context;
    WNNGraph graph;
    pthread_t thread;
    atomic_bool *stop;
    float *x, *y;
    unsigned runs;
    double longest; // milliseconds of an execution, the wait for a turn included
};

enum {
    LONG_WIDTH = 1 << 15
};

static void *run_again(void *argument)
{
    struct runner *runner = argument;
    while (!atomic_load(runner->stop)) {
        double begin = now_seconds();
        wait_for(runner->context, compute_chain(runner->context, runner->graph, runner->x, runner->y,
                                                LONG_WIDTH, tell_nobody()));
        double milliseconds = (now_seconds() - begin) * 1e3;
        runner->longest = milliseconds > runner->longest ? milliseconds : runner->longest;
        runner->runs++;
    }
    return NULL;
}

// tanh of tanh of ..., which is not joined as its results are outputs of other nodes.
static WNNGraph build_long(WNNContext context)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", 1, LONG_WIDTH);
    for (int i = 0; i < 40; i++)
        x = wnnGraphBuilderSoftmax(builder, x, 1, NULL);
    WNNNamedOperand output = {view("y"), x};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static void start_runner(struct runner *runner, WNNThreadPool pool, WNNPriority priority, atomic_bool *stop)
{
    *runner = (struct runner){.context = create_on(pool, priority), .stop = stop};
    runner->graph = build_long(runner->context);
    runner->x = calloc(LONG_WIDTH, sizeof *runner->x);
    runner->y = calloc(LONG_WIDTH, sizeof *runner->y);
    REQUIRE(runner->x && runner->y);
    REQUIRE_EQUAL_INT(pthread_create(&runner->thread, NULL, run_again, runner), 0);
}

static void end_runner(struct runner *runner)
{
    pthread_join(runner->thread, NULL);
    wnnGraphRelease(runner->graph);
    wnnContextRelease(runner->context);
    free(runner->x);
    free(runner->y);
}

// Contexts of one priority share a processor evenly, those of low priority get what is left, those of high
// priority are there at once.
static void test_turns(void)
{
    enum {
        COUNT = 5
    };
    static const WNNPriority priorities[COUNT] = {WNNPriority_Normal, WNNPriority_Normal, WNNPriority_Normal,
                                                  WNNPriority_Low, WNNPriority_High};
    WNNThreadPool pool = create_pool(1, 2 * COUNT);
    struct runner runners[COUNT];
    atomic_bool stop = false;
    for (int i = 0; i < 4; i++)
        start_runner(&runners[i], pool, priorities[i], &stop);
    sleep_milliseconds(1500);
    atomic_store(&stop, true);
    unsigned least = UINT32_MAX, most = 0;
    for (int i = 0; i < 4; i++) {
        end_runner(&runners[i]);
        printf("priority %d: %u runs, the longest %.1f ms\n", (int)priorities[i], runners[i].runs,
               runners[i].longest);
        if (i == 3)
            continue;
        least = runners[i].runs < least ? runners[i].runs : least;
        most = runners[i].runs > most ? runners[i].runs : most;
    }
    REQUIRE(least > 0);
    REQUIRE(most < 4 * least + 4);
    REQUIRE(runners[3].runs > 0);         // nobody starves
    REQUIRE(runners[3].runs <= most + 1); // but comes last
    wnnThreadPoolRelease(pool);
}

// Several contexts on a pool of one thread give the same results as alone, and more of them than threads end.
static void test_many_contexts(void)
{
    enum {
        COUNT = 24
    };
    WNNThreadPool pool = create_pool(2, 0);
    WNNContext contexts[COUNT];
    for (int i = 0; i < COUNT; i++)
        contexts[i] = create_on(pool, (WNNPriority)(1 + i % 3));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < COUNT; i++)
            compute_once(contexts[i]);
    for (int i = 0; i < COUNT; i++)
        wnnContextRelease(contexts[i]);
    wnnThreadPoolRelease(pool);
}

// ---------------------------------------------------------------------------------------------------------------
// Idle contexts
// ---------------------------------------------------------------------------------------------------------------

// How often threads of the process but this one gave up a processor or lost it.
static unsigned long count_switches(void)
{
    unsigned long sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    REQUIRE(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks));) {
        char path[300], line[200];
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == (int)getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file)) {
            unsigned long count;
            if (sscanf(line, "voluntary_ctxt_switches: %lu", &count) == 1 ||
                sscanf(line, "nonvoluntary_ctxt_switches: %lu", &count) == 1)
                sum += count;
        }
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return sum;
}

// Contexts that have nothing to do wake nobody: 10 s in the long mode, 1 s else.
static void test_idle(void)
{
    WNNThreadPool pool = create_pool(2, 4);
    WNNContext contexts[4];
    for (int i = 0; i < 4; i++) {
        contexts[i] = create_on(i < 2 ? pool : NULL, WNNPriority_Normal);
        compute_once(contexts[i]);
    }
    // On a machine with other work threads come to rest later.
    unsigned long switches = 1;
    for (int i = 0; i < 5 && switches > 0; i++) {
        sleep_milliseconds(50);
        unsigned long before = count_switches();
        sleep_milliseconds(getenv("WNN_LONG") ? 10000 : 1000);
        switches = count_switches() - before;
    }
    REQUIRE_EQUAL_INT(switches, 0);
    for (int i = 0; i < 4; i++)
        wnnContextRelease(contexts[i]);
    wnnThreadPoolRelease(pool);
}

static void test_bad_descriptors(void)
{
    struct answer error = {0};
    WNNContext context;
    REQUIRE_EQUAL_INT(try_context(NULL, (WNNPriority)0, &error, &context), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(error.message, "priority 0 does not exist");
    REQUIRE_EQUAL_INT(wnnCreateThreadPool(NULL, NULL), WNNStatus_TypeError);
    WNNThreadPoolDescriptor descriptor = WNN_THREAD_POOL_DESCRIPTOR_INIT;
    WNNThreadPool pool;
    descriptor.spareThreads = 5000;
    REQUIRE_EQUAL_INT(wnnCreateThreadPool(&descriptor, &pool), WNNStatus_TypeError);
    REQUIRE(!pool);
    wnnThreadPoolRelease(NULL);
    wnnThreadPoolAddRef(NULL);
}

static void *do_nothing(void *unused)
{
    return unused;
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    // ThreadSanitizer has a thread of its own from the first one on.
    pthread_t thread;
    REQUIRE_EQUAL_INT(pthread_create(&thread, NULL, do_nothing, NULL), 0);
    pthread_join(thread, NULL);
    CASE(test_bad_descriptors());
    CASE(test_spare_threads());
    CASE(test_release_in_callback());
    CASE(test_without_clone());
    CASE(test_many_contexts());
    CASE(test_turns());
    if (!SANITIZED) // which have threads of their own
        CASE(test_idle());
    return cases_end();
}
