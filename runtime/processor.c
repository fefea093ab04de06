// SPDX-License-Identifier: Apache-2.0
#include "runtime/processor.h"

#include "lib/signals.h"

#include <fenv.h>
#include <pthread.h>
#include <pthreadpool.h>
#include <sched.h>
#include <signal.h>

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

static void do_nothing(void *unused, size_t index)
{
    (void)unused, (void)index;
}

// Threads that are started from any thread of the host must not take its signals.
void *wnn_pthreadpool_create(struct allocator *allocator, uint32_t threads)
{
    sigset_t all, before;
    wnn_asynchronous_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthreadpool_t made = can_start_threads(allocator, threads - 1) ? pthreadpool_create(threads) : NULL;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    // They wait as they were told to by the last call, and before the first one by turning in circles.
    if (made)
        pthreadpool_parallelize_1d(made, do_nothing, NULL, threads, PTHREADPOOL_FLAG_YIELD_WORKERS);
    return made;
}
