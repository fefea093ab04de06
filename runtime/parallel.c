// SPDX-License-Identifier: Apache-2.0
//
// The compute threads of a context: a pool of our own, the host's own loop, or none. Whoever runs a task, it
// runs with the default floating-point environment: threads of the pool begin with it, threads of the host
// are set and restored around each task. Besides there may be a pthreadpool, for XNNPACK: it is made when a
// graph is built that needs it, or by wnnContextPreload, and its threads sleep whenever they have nothing to
// do.

#include "lib/signals.h"
#include "runtime/internal.h"
#include "runtime/pool.h"
#include "runtime/processor.h"

#include <pthreadpool.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

static void run_on_pool(const struct parallel *parallel, size_t count,
                        void (*task)(void *argument, size_t index), void *argument)
{
    wnn_thread_pool_run(((const struct WNNContextImpl *)parallel->host)->pool, count, task, argument);
}

static bool pool_rests(const struct parallel *parallel)
{
    return wnn_thread_pool_rests(((const struct WNNContextImpl *)parallel->host)->pool);
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
        wnn_serial.run(parallel, count, task, argument);
        return;
    }
    const WNNParallelFor *host = &((const struct WNNContextImpl *)parallel->host)->host_parallel;
    struct host_task wrapped = {task, argument};
    host->parallelFor(count, run_host_task, &wrapped, host->userdata);
}

static void *make_pthreadpool(const struct parallel *parallel)
{
    WNNContext context = (WNNContext)(uintptr_t)parallel->host;
    pthread_mutex_lock(&context->pthreadpool_lock);
    if (!context->pthreadpool)
        context->pthreadpool = wnn_pthreadpool_create(&context->allocator, parallel->threads);
    void *made = context->pthreadpool;
    pthread_mutex_unlock(&context->pthreadpool_lock);
    return made;
}

// Contexts that compute at the same time have a processor each.
static void run_on_shared_pool(const struct parallel *parallel, size_t count,
                               void (*task)(void *argument, size_t index), void *argument)
{
    WNNContext context = (WNNContext)(uintptr_t)parallel->host;
    if (wnn_turn_is_alone(context->thread_pool))
        wnn_thread_pool_run(context->pool, count, task, argument);
    else
        wnn_serial.run(parallel, count, task, argument);
}

static bool shared_pool_rests(const struct parallel *parallel)
{
    WNNContext context = (WNNContext)(uintptr_t)parallel->host;
    return !wnn_turn_is_alone(context->thread_pool) || wnn_thread_pool_rests(context->pool);
}

static void *shared_pthreadpool(const struct parallel *parallel)
{
    return wnn_thread_pool_pthreadpool(((const struct WNNContextImpl *)parallel->host)->thread_pool);
}

static void offer_turn(const struct parallel *parallel)
{
    const struct WNNContextImpl *context = parallel->host;
    wnn_turn_offer(context->thread_pool, context->priority);
}

static bool use_thread_pool(WNNContext context)
{
    struct parallel *parallel = &context->parallel;
    parallel->threads = wnn_thread_pool_threads(context->thread_pool);
    parallel->pause = offer_turn;
    if (parallel->threads == 1)
        return true;
    context->pool = wnn_thread_pool_compute(context->thread_pool);
    parallel->run = run_on_shared_pool;
    parallel->make_pthreadpool = shared_pthreadpool;
    parallel->rests = shared_pool_rests;
    return true;
}

bool wnn_threads_create(WNNContext context, uint32_t threads, struct error *error)
{
    struct parallel *parallel = &context->parallel;
    parallel->threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    parallel->host = context;
    parallel->run = context->host_parallel.parallelFor ? run_on_host : wnn_serial.run;
    if (context->thread_pool && !context->host_parallel.parallelFor)
        return use_thread_pool(context);
    if (context->host_parallel.parallelFor || parallel->threads == 1)
        return true;
    context->pool = wnn_thread_pool_create(&context->allocator, parallel->threads);
    if (!context->pool)
        return wnn_fail_threads(error, parallel->threads);
    parallel->run = run_on_pool;
    parallel->make_pthreadpool = make_pthreadpool;
    parallel->rests = pool_rests;
    return true;
}

// The C library opens a file of /proc when a thread other than the first gives memory back to the system for
// the first time. That is when some end of its heap is free: the more, the later. A heap has 64 MiB at most.
static void *settle_heap(void *unused)
{
    enum {
        BLOCKS = 480,
        BLOCK_BYTES = 100 << 10
    };
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(BLOCK_BYTES);
    for (int i = BLOCKS; i-- > 0;)
        free(blocks[i]);
    return unused;
}

bool wnn_threads_preload(WNNContext context, struct error *error)
{
    const struct parallel *parallel = &context->parallel;
    pthread_t thread;
    if (pthread_create(&thread, NULL, settle_heap, NULL) == 0)
        pthread_join(thread, NULL);
    return !parallel->make_pthreadpool || parallel->make_pthreadpool(parallel) ||
           wnn_fail_threads(error, parallel->threads);
}

void wnn_threads_destroy(WNNContext context)
{
    if (context->pthreadpool)
        pthreadpool_destroy(context->pthreadpool);
    context->pthreadpool = NULL;
    if (!context->thread_pool)
        wnn_thread_pool_destroy(context->pool);
    context->pool = NULL;
}
