// SPDX-License-Identifier: Apache-2.0
//
// The compute threads of a context: a pthreadpool, the host's own loop, or none. Whoever runs a task, it runs
// with the default floating-point environment: threads of the pool inherit it from the worker, threads of the
// host are set and restored around each task.

#include "runtime/internal.h"

#include <pthreadpool.h>
#include <sched.h>

// More threads than this never help, and a number from outside must not exhaust the process.
#define MOST_THREADS 1024u

void wnn_floating_point_default(void)
{
    fesetenv(FE_DFL_ENV);
}

uint32_t wnn_processor_count(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (uint32_t)count : 1;
}

static void run_here(const struct parallel *parallel, size_t count,
                     void (*task)(void *argument, size_t index), void *argument)
{
    (void)parallel;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

static void run_on_pool(const struct parallel *parallel, size_t count,
                        void (*task)(void *argument, size_t index), void *argument)
{
    if (count <= 1)
        run_here(parallel, count, task, argument);
    else
        pthreadpool_parallelize_1d(parallel->pthreadpool, task, argument, count,
                                   PTHREADPOOL_FLAG_YIELD_WORKERS);
}

struct host_task {
    void (*task)(void *argument, size_t index);
    void *argument;
};

static void run_host_task(void *argument, size_t index)
{
    const struct host_task *host = argument;
    fenv_t environment;
    fegetenv(&environment);
    wnn_floating_point_default();
    host->task(host->argument, index);
    fesetenv(&environment);
}

static void run_on_host(const struct parallel *parallel, size_t count,
                        void (*task)(void *argument, size_t index), void *argument)
{
    if (count <= 1) {
        run_here(parallel, count, task, argument);
        return;
    }
    const WNNParallelFor *host = parallel->host;
    struct host_task wrapped = {task, argument};
    host->parallelFor(count, run_host_task, &wrapped, host->userdata);
}

static void *wait_for_mutex(void *argument)
{
    pthread_mutex_lock(argument);
    pthread_mutex_unlock(argument);
    return NULL;
}

// Whether that many threads can live at once. pthreadpool does not ask: it waits for ever for a thread that
// did not start.
static bool can_start_threads(struct allocator *allocator, uint32_t count)
{
    pthread_t *threads = wnn_allocate(allocator, count * sizeof *threads);
    if (!threads)
        return false;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    uint32_t started = 0;
    pthread_mutex_lock(&gate);
    while (started < count && pthread_create(&threads[started], NULL, wait_for_mutex, &gate) == 0)
        started++;
    pthread_mutex_unlock(&gate);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&gate);
    wnn_release(allocator, threads);
    return started == count;
}

bool wnn_threads_create(WNNContext context, uint32_t threads, struct error *error)
{
    struct parallel *parallel = &context->parallel;
    parallel->threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    if (context->host_parallel.parallelFor) {
        parallel->run = run_on_host;
        parallel->host = &context->host_parallel;
        return true;
    }
    parallel->run = run_here;
    if (parallel->threads == 1)
        return true;
    if (can_start_threads(&context->allocator, parallel->threads - 1))
        parallel->pthreadpool = pthreadpool_create(parallel->threads);
    if (!parallel->pthreadpool)
        return wnn_fail(error, WNNStatus_OutOfMemory, "%u compute threads cannot be started",
                        parallel->threads);
    parallel->run = run_on_pool;
    return true;
}

void wnn_threads_destroy(WNNContext context)
{
    if (context->parallel.pthreadpool)
        pthreadpool_destroy(context->parallel.pthreadpool);
    context->parallel.pthreadpool = NULL;
}
