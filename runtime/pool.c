// SPDX-License-Identifier: Apache-2.0
//
// One lock, pool->lock, which is held only to go to sleep and to wake others; no task runs under it.
//
// A loop is published by storing how many of its items are left. Whoever decrements that number has got an
// item, and only then reads what the loop is: the loop cannot end, and the next cannot begin, before that
// item is done.
//
// Which item that is depends on the thread: each has a part of the loop, always the same of loops of one
// length, and goes to the next thread's when it is through with its own. What a thread has written in one
// loop is in its caches when it reads it in the next.
//
// A thread may be awake and yet not run. When loops go by that only their caller has worked at, it does not
// divide the next ones until a thread has looked for work.
//
// A thread that has to share its processor stays away for a time: the system would stop it in the middle of
// an item, and everybody would wait for it. From where the caller is it goes elsewhere, and it shares with
// others if it comes back late when it gives the processor up, which it does between items, before the
// system would take it.

#include "runtime/pool.h"

#include "lib/signals.h"
#include "runtime/processor.h"
#include "runtime/spin.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

// How long threads look for work before they sleep, and how long the caller waits for the last items before
// it does.
#define SPIN_NANOSECONDS 40000u

// How long a thread keeps its processor, and after how long without it others must have been there.
#define TURN_NANOSECONDS 1000000u
#define LATE_NANOSECONDS 50000u

// How long a thread stays away: longer each time, until it has had a processor for itself.
#define BACKOFF_MIN 1000000u
#define BACKOFF_MAX 16000000u

// What loops gain by threads, and lose by waiting for them, is credited to an account; once it is overdrawn,
// the caller works alone until the loss is a small part of the time: a smaller one each time, until there is
// plenty of credit again.
#define CREDIT_MAX     200000
#define CREDIT_MIN     (-50000)
#define ALONE_PER_LOSS 6
#define ALONE_MAX      1600 // times the loss
#define ALONE_LONGEST  1000000000

// After so many loops that nobody has helped with, nobody is there.
#define MAX_UNASSISTED 3

#define CACHE_LINE 64

// A thread with its part of the loop. The first is the caller's.
struct lane {
    _Alignas(CACHE_LINE) atomic_size_t next; // the next item of the part; more than `end` when it is through
    size_t end;
    struct pool *pool;
    pthread_t thread;
    // The thread's own.
    bool shares;      // its processor
    uint64_t turn;    // when it last gave way to others
    uint64_t backoff; // how long it stays away the next time
};

struct pool {
    struct allocator *allocator;
    pthread_mutex_t lock;
    pthread_cond_t work, back, done;
    sem_t begun;                  // once for each thread
    unsigned lane_count, at_once; // at_once: how many of them there are processors for
    unsigned called;              // sleepers that have yet to wake; under the lock
    bool ending;                  // under the lock

    // Of the loop that runs; written by its caller only.
    void (*task)(void *argument, size_t index);
    void *argument;
    // Of the callers, one at a time; nanoseconds.
    int64_t credit, alone_per_loss;
    atomic_ullong alone_until;

    // Loops that the caller has done by itself since a thread last looked for work.
    atomic_uint unassisted;

    // How many threads stay away, and until when; changed under the lock.
    atomic_uint backoff;
    atomic_ullong backoff_until;

    _Alignas(CACHE_LINE) atomic_bool busy;         // a loop runs
    _Alignas(CACHE_LINE) atomic_size_t left;       // items that nobody has taken
    _Alignas(CACHE_LINE) atomic_size_t unfinished; // items that are not done
    _Alignas(CACHE_LINE) atomic_uint sleepers;     // changed under the lock
    atomic_bool caller_sleeps;                     // changed under the lock
    atomic_int caller_processor;                   // of the last loop
    struct lane lanes[];
};

static bool beside_caller(struct pool *pool)
{
    int processor = sched_getcpu();
    return processor >= 0 && processor == atomic_load_explicit(&pool->caller_processor, memory_order_relaxed);
}

// Takes the calling thread to another processor; false: it may use no other. The system, which has put it
// where its caller is, would leave it there for long.
static bool go_elsewhere(void)
{
    cpu_set_t mine, others;
    int processor = sched_getcpu();
    if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof mine, &mine) != 0)
        return false;
    others = mine;
    CPU_CLR(processor, &others);
    return CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0 &&
           sched_setaffinity(0, sizeof mine, &mine) == 0;
}

// A thread is there for the caller.
static void mark_active(struct pool *pool)
{
    if (atomic_load_explicit(&pool->unassisted, memory_order_relaxed) > 0)
        atomic_store_explicit(&pool->unassisted, 0, memory_order_relaxed);
}

// Looks for work a little; returns whether there is any.
static bool spin_for_work(struct pool *pool)
{
    struct spin spin = {.length = SPIN_NANOSECONDS};
    for (; atomic_load(&pool->left) == 0; mark_active(pool))
        if (!wnn_spin(&spin))
            return false;
    return true;
}

// An item of the lane's part, or of another's. There is one for everybody who has decremented pool->left.
static size_t take(struct pool *pool, struct lane *lane)
{
    for (;;) {
        size_t item = atomic_fetch_add(&lane->next, 1);
        if (item < lane->end)
            return item;
        if (++lane == pool->lanes + pool->lane_count)
            lane = pool->lanes;
    }
}

// Whether a thread has its processor for itself. Now and then it lets others have it, and sees whether there
// are any.
static bool look_around(struct lane *lane)
{
    lane->shares = beside_caller(lane->pool) && !go_elsewhere();
    uint64_t now = wnn_nanoseconds();
    if (lane->shares || now - lane->turn < TURN_NANOSECONDS)
        return !lane->shares;
    sched_yield();
    lane->turn = wnn_nanoseconds();
    lane->shares = lane->turn - now > LATE_NANOSECONDS;
    if (!lane->shares)
        lane->backoff = BACKOFF_MIN;
    return !lane->shares;
}

// Takes items of the loop until none is left, or the thread is to stay away; returns how many it took.
static size_t work(struct pool *pool, struct lane *lane)
{
    bool caller = lane == pool->lanes, on = true;
    size_t left = atomic_load(&pool->left), taken = 0;
    while (left > 0 && on) {
        if (!atomic_compare_exchange_weak(&pool->left, &left, left - 1))
            continue;
        pool->task(pool->argument, take(pool, lane));
        taken++;
        if (atomic_fetch_sub(&pool->unfinished, 1) == 1 && atomic_load(&pool->caller_sleeps)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
        on = caller || look_around(lane);
        left = atomic_load(&pool->left);
    }
    return taken;
}

// Under the lock: sleeps until it is called, unless there is work already.
static void sleep_for_work(struct pool *pool)
{
    atomic_fetch_add(&pool->sleepers, 1);
    if (atomic_load(&pool->left) > 0) {
        atomic_fetch_sub(&pool->sleepers, 1);
        return;
    }
    while (!pool->ending && pool->called == 0)
        pthread_cond_wait(&pool->work, &pool->lock);
    pool->called -= pool->called > 0;
}

// Under the lock: sleeps until it is time to look around again, which the caller of a loop tells.
static void stay_away(struct pool *pool, struct lane *lane)
{
    atomic_fetch_add(&pool->backoff, 1);
    atomic_store(&pool->backoff_until, wnn_nanoseconds() + lane->backoff);
    if (!pool->ending)
        pthread_cond_wait(&pool->back, &pool->lock);
    atomic_fetch_sub(&pool->backoff, 1);
    if (lane->backoff < BACKOFF_MAX)
        lane->backoff *= 2;
    lane->turn = 0;
}

// Returns false at the end.
static bool wait_for_work(struct pool *pool, struct lane *lane)
{
    if (!lane->shares && !beside_caller(pool) && spin_for_work(pool))
        return true;
    pthread_mutex_lock(&pool->lock);
    if (lane->shares)
        stay_away(pool, lane);
    else
        sleep_for_work(pool);
    bool on = !pool->ending;
    pthread_mutex_unlock(&pool->lock);
    return on;
}

static void *thread(void *argument)
{
    struct lane *lane = argument;
    struct pool *pool = lane->pool;
    sem_post(&pool->begun);
    wnn_floating_point_default();
    while (wait_for_work(pool, lane))
        if (look_around(lane))
            work(pool, lane);
    return NULL;
}

// Waits for the items that others have taken.
static void wait_for_others(struct pool *pool)
{
    struct spin spin = {.length = SPIN_NANOSECONDS};
    while (atomic_load(&pool->unfinished) > 0 && wnn_spin(&spin))
        ;
    if (atomic_load(&pool->unfinished) == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true);
    while (atomic_load(&pool->unfinished) > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->lock);
}

// When a loop was called, when its threads had been woken, when the caller found no more items, and the end.
struct times {
    uint64_t call, begin, middle, end;
};

// The caller took `taken` of the items; alone it would have taken all.
static void adapt_credit(struct pool *pool, size_t count, size_t taken, const struct times *times)
{
    if (taken == 0)
        return;
    double alone = (double)(times->middle - times->begin) / (double)taken * (double)count;
    double credit = (double)pool->credit + alone - (double)(times->end - times->call);
    if (credit >= CREDIT_MAX) {
        credit = CREDIT_MAX;
        pool->alone_per_loss = ALONE_PER_LOSS;
    }
    pool->credit = (int64_t)credit;
    if (pool->credit >= CREDIT_MIN)
        return;
    double pause = -credit * (double)pool->alone_per_loss;
    atomic_store_explicit(&pool->alone_until,
                          times->end + (uint64_t)(pause < ALONE_LONGEST ? pause : ALONE_LONGEST),
                          memory_order_relaxed);
    if (pool->alone_per_loss < ALONE_MAX)
        pool->alone_per_loss *= 2;
    pool->credit = 0;
}

static void run_alone(size_t count, void (*task)(void *argument, size_t index), void *argument)
{
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

// Wakes as many threads as the items and the processors are worth; returns whether it did.
static bool wake(struct pool *pool, size_t items)
{
    // A thread counts as asleep before it looks for work for the last time, and does both under the lock.
    if (atomic_load(&pool->sleepers) == 0)
        return false;
    pthread_mutex_lock(&pool->lock);
    unsigned sleepers = atomic_load(&pool->sleepers), calls = 0;
    size_t awake = pool->lane_count - sleepers; // who is away has no substitute
    size_t wanted = items < pool->at_once ? items : pool->at_once;
    for (; calls < sleepers && awake + calls < wanted; calls++)
        pthread_cond_signal(&pool->work);
    atomic_fetch_sub(&pool->sleepers, calls);
    pool->called += calls;
    pthread_mutex_unlock(&pool->lock);
    return calls > 0;
}

// Calls the threads that stay away. Until they have looked around they do.
static void call_back(struct pool *pool, uint64_t now)
{
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->backoff_until, now + BACKOFF_MIN);
    pthread_cond_broadcast(&pool->back);
    pthread_mutex_unlock(&pool->lock);
}

static bool all_back_off(const struct pool *pool)
{
    return atomic_load(&pool->backoff) >= pool->at_once - 1;
}

// As many threads as may be are awake, but take nothing: they wait for their processors.
static bool nobody_comes(const struct pool *pool)
{
    return atomic_load_explicit(&pool->unassisted, memory_order_relaxed) >= MAX_UNASSISTED &&
           pool->lane_count - atomic_load(&pool->sleepers) >= pool->at_once;
}

static bool rests(const struct pool *pool, uint64_t now)
{
    bool backoff = atomic_load(&pool->backoff) > 0 && now < atomic_load(&pool->backoff_until);
    return now < atomic_load_explicit(&pool->alone_until, memory_order_relaxed) ||
           (backoff && all_back_off(pool)) ||
           (nobody_comes(pool) && (backoff || atomic_load(&pool->backoff) == 0));
}

// The clock costs more than the rest.
bool wnn_thread_pool_rests(const struct pool *pool)
{
    bool may = nobody_comes(pool) || all_back_off(pool) ||
               atomic_load_explicit(&pool->alone_until, memory_order_relaxed) > 0;
    return may && rests(pool, wnn_nanoseconds());
}

static void run_together(struct pool *pool, size_t count, void (*task)(void *argument, size_t index),
                         void *argument, uint64_t call)
{
    pool->task = task;
    pool->argument = argument;
    for (size_t i = 0, end = 0; i < pool->lane_count; i++) {
        atomic_store_explicit(&pool->lanes[i].next, end, memory_order_relaxed);
        end += count / pool->lane_count + (i < count % pool->lane_count);
        pool->lanes[i].end = end;
    }
    atomic_store(&pool->unfinished, count);
    atomic_store(&pool->left, count);
    struct times times = {.call = call, .begin = call};
    if (wake(pool, count))
        times.begin = wnn_nanoseconds();
    size_t taken = work(pool, pool->lanes);
    times.middle = wnn_nanoseconds();
    wait_for_others(pool);
    times.end = wnn_nanoseconds();
    if (taken == count)
        atomic_fetch_add_explicit(&pool->unassisted, 1, memory_order_relaxed);
    adapt_credit(pool, count, taken, &times);
}

void wnn_thread_pool_run(struct pool *pool, size_t count, void (*task)(void *argument, size_t index),
                         void *argument)
{
    if (count <= 1 || atomic_exchange(&pool->busy, true)) {
        run_alone(count, task, argument);
        return;
    }
    uint64_t call = wnn_nanoseconds();
    atomic_store_explicit(&pool->caller_processor, sched_getcpu(), memory_order_relaxed);
    if (atomic_load(&pool->backoff) > 0 && call >= atomic_load(&pool->backoff_until))
        call_back(pool, call);
    if (rests(pool, call)) {
        run_alone(count, task, argument);
    } else {
        atomic_store_explicit(&pool->alone_until, 0, memory_order_relaxed);
        run_together(pool, count, task, argument, call);
    }
    atomic_store(&pool->busy, false);
}

// Ends and joins the threads of the first `count` lanes.
static void stop(struct pool *pool, unsigned count)
{
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_cond_broadcast(&pool->back);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 1; i < count; i++)
        pthread_join(pool->lanes[i].thread, NULL);
}

static void free_pool(struct pool *pool)
{
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->back);
    pthread_cond_destroy(&pool->done);
    sem_destroy(&pool->begun);
    wnn_release(pool->allocator, pool);
}

struct pool *wnn_thread_pool_create(struct allocator *allocator, unsigned threads)
{
    struct pool *pool = wnn_allocate_zero(allocator, sizeof *pool + threads * sizeof pool->lanes[0]);
    if (!pool)
        return NULL;
    pool->allocator = allocator;
    pool->lane_count = threads;
    // A caller that is bound to one processor now may be elsewhere later.
    unsigned processors = wnn_processor_count() > 2 ? wnn_processor_count() : 2;
    pool->at_once = processors < threads ? processors : threads;
    pool->alone_per_loss = ALONE_PER_LOSS;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->back, NULL);
    pthread_cond_init(&pool->done, NULL);
    sem_init(&pool->begun, 0, 0);
    sigset_t all, before;
    wnn_asynchronous_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; i < threads; i++) {
        pool->lanes[i].pool = pool;
        pool->lanes[i].backoff = BACKOFF_MIN;
    }
    atomic_init(&pool->caller_processor, -1);
    unsigned started = 1;
    while (started < threads &&
           pthread_create(&pool->lanes[started].thread, NULL, thread, &pool->lanes[started]) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    // What the C library does for a thread that begins is behind all of them: later it may not be allowed to.
    for (unsigned i = 1; i < started; i++)
        while (sem_wait(&pool->begun) != 0)
            continue;
    if (started == threads)
        return pool;
    stop(pool, started);
    free_pool(pool);
    return NULL;
}

void wnn_thread_pool_destroy(struct pool *pool)
{
    if (!pool)
        return;
    stop(pool, pool->lane_count);
    free_pool(pool);
}
