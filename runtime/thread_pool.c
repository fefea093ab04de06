// SPDX-License-Identifier: Apache-2.0
//
// One lock, pool->lock, a leaf: no function of anybody else is called while it is held.

#include "runtime/thread_pool.h"

#include "lib/allocator.h"
#include "lib/interrupt.h"
#include "lib/signals.h"
#include "ops/check.h"
#include "runtime/fork.h"
#include "runtime/pool.h"
#include "runtime/processor.h"

#include <errno.h>
#include <pthreadpool.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

// How long a turn lasts if others of the same priority wait, and how long these wait at most.
#define TURN_NANOSECONDS 5000000u
#define WAIT_NANOSECONDS 50000000u

enum spare_state {
    SPARE_IDLE,
    SPARE_RUNNING,
    SPARE_DONE // and to be joined
};

struct spare {
    WNNThreadPool pool;
    pthread_t id;
    enum spare_state state;
    bool detached;
    void *(*function)(void *argument);
    void *argument;
    struct spare *next; // idle thread
};

// A context that waits for its turn; on the stack of its thread.
struct turn {
    WNNPriority priority;
    bool granted;
    struct turn *next;
};

struct WNNThreadPoolImpl {
    atomic_uint references; // handles and contexts
    unsigned forks;         // fork.h
    struct allocator allocator;
    struct pool *compute; // NULL: one thread
    uint32_t threads;     // that compute
    pthreadpool_t pthreadpool;
    pthread_mutex_t lock;
    pthread_cond_t work, done; // of spare threads
    pthread_cond_t turned;     // of turns
    struct spare *idle;
    bool ending;
    struct spare *freed_by;   // the one that ended the pool, or NULL
    atomic_uint computing;    // contexts whose turn it is
    atomic_uint waiting;      // for a turn
    struct turn *turns;       // by priority, then by arrival
    atomic_ullong turn_since; // when the turn that began last did
    uint32_t spare_count;
    struct spare spares[];
};

// ---------------------------------------------------------------------------------------------------------------
// Spare threads
// ---------------------------------------------------------------------------------------------------------------

static void free_pool(WNNThreadPool pool)
{
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->turned);
    struct allocator host;
    wnn_allocator_init(&host, &pool->allocator.host, 0);
    wnn_release(&host, pool);
}

static void *run_spare(void *argument)
{
    struct spare *spare = argument;
    WNNThreadPool pool = spare->pool;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (spare->state != SPARE_RUNNING && !pool->ending)
            pthread_cond_wait(&pool->work, &pool->lock);
        if (spare->state != SPARE_RUNNING)
            break;
        pthread_mutex_unlock(&pool->lock);
        spare->function(spare->argument);
        pthread_mutex_lock(&pool->lock);
        if (spare->detached) {
            spare->state = SPARE_IDLE;
            spare->next = pool->idle;
            pool->idle = spare;
        } else {
            spare->state = SPARE_DONE;
            pthread_cond_broadcast(&pool->done);
        }
    }
    bool own = pool->freed_by == spare;
    pthread_mutex_unlock(&pool->lock);
    if (own)
        free_pool(pool);
    return NULL;
}

bool wnn_fail_thread(struct error *error, int code)
{
    if (code == EPERM || code == EACCES || code == ENOSYS)
        return wnn_fail(
            error, WNNStatus_NotSupportedError,
            "a thread cannot be started: the system refuses clone (%s); threads can be made before, by "
            "wnnCreateThreadPool",
            strerror(code));
    return wnn_fail(error, WNNStatus_OutOfMemory, "a thread cannot be started: %s", strerror(code));
}

struct start {
    void *(*function)(void *argument);
    void *argument;
    sem_t begun;
};

static void *begin(void *argument)
{
    struct start *start = argument;
    void *(*function)(void *argument) = start->function;
    void *of = start->argument;
    sem_post(&start->begun); // it is gone then
    return function(of);
}

// Threads that are started from any thread of the host must not take its signals. What the C library does for
// a thread that begins is behind it when this returns: the process may not be allowed to do that later
// (wnnContextPreload).
static int start_quietly(pthread_t *id, void *(*function)(void *argument), void *argument)
{
    struct start start = {.function = function, .argument = argument};
    sigset_t all, before;
    sem_init(&start.begun, 0, 0);
    wnn_asynchronous_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(id, NULL, begin, &start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (code == 0 && sem_wait(&start.begun) != 0)
        continue;
    sem_destroy(&start.begun);
    return code;
}

static void *do_nothing(void *argument)
{
    return argument;
}

bool wnn_fail_threads(struct error *error, uint32_t count)
{
    pthread_t id;
    int code = start_quietly(&id, do_nothing, NULL);
    if (code != 0)
        return wnn_fail_thread(error, code);
    pthread_join(id, NULL);
    return wnn_fail(error, WNNStatus_OutOfMemory, "%u compute threads cannot be started", count);
}

bool wnn_thread_start(WNNThreadPool pool, struct thread *thread, void *(*function)(void *argument),
                      void *argument, struct error *error)
{
    thread->spare = NULL;
    if (pool) {
        pthread_mutex_lock(&pool->lock);
        struct spare *spare = thread->spare = pool->idle;
        if (spare) {
            pool->idle = spare->next;
            spare->function = function;
            spare->argument = argument;
            spare->detached = false;
            spare->state = SPARE_RUNNING;
            thread->id = spare->id;
            pthread_cond_broadcast(&pool->work);
        }
        pthread_mutex_unlock(&pool->lock);
    }
    int code = thread->spare ? 0 : start_quietly(&thread->id, function, argument);
    return code == 0 || wnn_fail_thread(error, code);
}

void wnn_thread_join(struct thread *thread)
{
    struct spare *spare = thread->spare;
    if (!spare) {
        pthread_join(thread->id, NULL);
        return;
    }
    WNNThreadPool pool = spare->pool;
    pthread_mutex_lock(&pool->lock);
    while (spare->state != SPARE_DONE)
        pthread_cond_wait(&pool->done, &pool->lock);
    spare->state = SPARE_IDLE;
    spare->next = pool->idle;
    pool->idle = spare;
    pthread_mutex_unlock(&pool->lock);
}

void wnn_thread_detach(struct thread *thread)
{
    struct spare *spare = thread->spare;
    if (!spare) {
        pthread_detach(thread->id);
        return;
    }
    pthread_mutex_lock(&spare->pool->lock);
    spare->detached = true;
    pthread_mutex_unlock(&spare->pool->lock);
}

bool wnn_thread_is_current(const struct thread *thread)
{
    return pthread_equal(thread->id, pthread_self());
}

// ---------------------------------------------------------------------------------------------------------------
// Turns
// ---------------------------------------------------------------------------------------------------------------

// Under the lock: lets the first that waits compute, if there is room.
static void grant(WNNThreadPool pool)
{
    bool granted = false;
    while (pool->turns && atomic_load(&pool->computing) < pool->threads) {
        pool->turns->granted = granted = true;
        pool->turns = pool->turns->next;
        atomic_fetch_add(&pool->computing, 1);
        atomic_fetch_sub(&pool->waiting, 1);
    }
    if (granted)
        pthread_cond_broadcast(&pool->turned);
}

static void enter_line(WNNThreadPool pool, struct turn *turn)
{
    struct turn **place = &pool->turns;
    while (*place && (*place)->priority >= turn->priority)
        place = &(*place)->next;
    turn->next = *place;
    *place = turn;
    atomic_fetch_add(&pool->waiting, 1);
}

static void leave_line(WNNThreadPool pool, struct turn *turn)
{
    struct turn **place = &pool->turns;
    while (*place != turn)
        place = &(*place)->next;
    *place = turn->next;
    atomic_fetch_sub(&pool->waiting, 1);
    atomic_fetch_add(&pool->computing, 1);
}

// Under the lock.
static void wait_for_turn(WNNThreadPool pool, WNNPriority priority)
{
    struct turn turn = {.priority = priority};
    enter_line(pool, &turn);
    grant(pool);
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_nsec += WAIT_NANOSECONDS;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_nsec -= 1000000000;
        deadline.tv_sec++;
    }
    while (!turn.granted && pthread_cond_timedwait(&pool->turned, &pool->lock, &deadline) == 0)
        ;
    // The system divides the processors then.
    if (!turn.granted)
        leave_line(pool, &turn);
    atomic_store(&pool->turn_since, wnn_nanoseconds());
}

void wnn_turn_begin(WNNThreadPool pool, WNNPriority priority)
{
    // What is urgent does not wait at all.
    if (priority == WNNPriority_High) {
        atomic_fetch_add(&pool->computing, 1);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    wait_for_turn(pool, priority);
    pthread_mutex_unlock(&pool->lock);
}

void wnn_turn_offer(WNNThreadPool pool, WNNPriority priority)
{
    if (atomic_load_explicit(&pool->waiting, memory_order_relaxed) == 0 || priority == WNNPriority_High)
        return;
    pthread_mutex_lock(&pool->lock);
    bool over = wnn_nanoseconds() - atomic_load(&pool->turn_since) >= TURN_NANOSECONDS;
    if (pool->turns && (pool->turns->priority > priority || (pool->turns->priority == priority && over))) {
        atomic_fetch_sub(&pool->computing, 1);
        wait_for_turn(pool, priority);
    }
    pthread_mutex_unlock(&pool->lock);
}

void wnn_turn_end(WNNThreadPool pool)
{
    atomic_fetch_sub(&pool->computing, 1);
    if (atomic_load(&pool->waiting) == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    grant(pool);
    pthread_mutex_unlock(&pool->lock);
}

bool wnn_turn_is_alone(WNNThreadPool pool)
{
    return atomic_load_explicit(&pool->computing, memory_order_relaxed) <= 1;
}

// ---------------------------------------------------------------------------------------------------------------
// The pool
// ---------------------------------------------------------------------------------------------------------------

struct pool *wnn_thread_pool_compute(WNNThreadPool pool)
{
    return pool->compute;
}

uint32_t wnn_thread_pool_threads(WNNThreadPool pool)
{
    return pool->threads;
}

void *wnn_thread_pool_pthreadpool(WNNThreadPool pool)
{
    return pool->pthreadpool;
}

void wnn_thread_pool_ref(WNNThreadPool pool)
{
    if (pool)
        atomic_fetch_add(&pool->references, 1);
}

bool wnn_thread_pool_forked(WNNThreadPool pool)
{
    return wnn_forked(pool->forks);
}

// Ends the threads. A spare one that does this, at the end of a context, ends last and frees the pool.
static void end_pool(WNNThreadPool pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    bool own = false;
    for (uint32_t i = 0; i < pool->spare_count; i++) {
        struct spare *spare = &pool->spares[i];
        if (!pthread_equal(spare->id, pthread_self())) {
            pthread_join(spare->id, NULL);
            continue;
        }
        own = true;
        pthread_mutex_lock(&pool->lock);
        spare->detached = true;
        pool->freed_by = spare;
        pthread_mutex_unlock(&pool->lock);
        pthread_detach(spare->id);
    }
    if (pool->pthreadpool)
        pthreadpool_destroy(pool->pthreadpool);
    wnn_thread_pool_destroy(pool->compute);
    if (!own)
        free_pool(pool);
}

void wnn_thread_pool_unref(WNNThreadPool pool)
{
    if (pool && atomic_fetch_sub(&pool->references, 1) == 1 && !wnn_forked(pool->forks))
        end_pool(pool);
}

static bool init_conditions(WNNThreadPool pool)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool made = pthread_cond_init(&pool->work, &attributes) == 0 &&
                pthread_cond_init(&pool->done, &attributes) == 0 &&
                pthread_cond_init(&pool->turned, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made && pthread_mutex_init(&pool->lock, NULL) == 0;
}

static bool start_spares(WNNThreadPool pool, uint32_t count, struct error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        struct spare *spare = &pool->spares[i];
        *spare = (struct spare){.pool = pool, .next = pool->idle};
        // Its own id is known to a thread only when this is unlocked.
        pthread_mutex_lock(&pool->lock);
        int code = start_quietly(&spare->id, run_spare, spare);
        if (code == 0) {
            pool->idle = spare;
            pool->spare_count++;
        }
        pthread_mutex_unlock(&pool->lock);
        if (code != 0)
            return wnn_fail_thread(error, code);
    }
    return true;
}

static WNNThreadPool create_thread_pool(const WNNThreadPoolDescriptor *d, struct error *error)
{
    static const WNNLimits limits = WNN_LIMITS_INIT;
    if (!wnn_check_chain(d->nextInChain, 0, "thread pool descriptor", error) ||
        (d->allocator && !wnn_check_chain(d->allocator->nextInChain, 0, "allocator", error)) ||
        !wnn_check_string(&limits, "thread pool label", d->label, error))
        return NULL;
    if (d->allocator && (!d->allocator->allocate || !d->allocator->release)) {
        wnn_fail(error, WNNStatus_TypeError, "allocator: allocate and release are both needed");
        return NULL;
    }
    uint32_t threads = d->computeThreads ? d->computeThreads : wnn_processor_count();
    threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    if (d->spareThreads > MAX_THREADS) {
        wnn_fail(error, WNNStatus_TypeError, "%u spare threads; expected at most %u", d->spareThreads,
                 MAX_THREADS);
        return NULL;
    }
    struct allocator host;
    wnn_allocator_init(&host, d->allocator, 0);
    WNNThreadPool pool = wnn_allocate_zero(&host, sizeof *pool + d->spareThreads * sizeof pool->spares[0]);
    if (!pool || !init_conditions(pool)) {
        wnn_release(&host, pool);
        wnn_fail_memory(error);
        return NULL;
    }
    atomic_init(&pool->references, 1);
    pool->forks = wnn_forks_begin();
    wnn_allocator_init(&pool->allocator, &host.host, 0);
    pool->threads = threads;
    bool made = start_spares(pool, d->spareThreads, error);
    if (made && threads > 1) {
        pool->compute = wnn_thread_pool_create(&pool->allocator, threads);
        pool->pthreadpool = pool->compute ? wnn_pthreadpool_create(&pool->allocator, threads) : NULL;
        made = pool->pthreadpool || wnn_fail_threads(error, threads);
    }
    if (made)
        return pool;
    end_pool(pool);
    return NULL;
}

WNNStatus wnnCreateThreadPool(const WNNThreadPoolDescriptor *descriptor, WNNThreadPool *pool)
{
    static const WNNThreadPoolDescriptor defaults = WNN_THREAD_POOL_DESCRIPTOR_INIT;
    if (!pool)
        return WNNStatus_TypeError;
    struct error error = {0};
    *pool = create_thread_pool(descriptor ? descriptor : &defaults, &error);
    return error.status;
}

void wnnThreadPoolAddRef(WNNThreadPool pool)
{
    wnn_thread_pool_ref(pool);
}

void wnnThreadPoolRelease(WNNThreadPool pool)
{
    wnn_thread_pool_unref(pool);
}
