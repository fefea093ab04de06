// SPDX-License-Identifier: Apache-2.0
//
// The pool of compute threads by itself: under stress, and when processors are not its own.

#include "conformance/unit/runtime_fixture.h"
#include "runtime/pool.h"

#include <sched.h>

static struct allocator allocator;

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
        wnn_thread_pool_run(tally->pool, tally->inner, count_inner, tally);
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
        tally.pool = wnn_thread_pool_create(&allocator, threads);
        REQUIRE(tally.pool);
        for (unsigned i = 0; i < 3000; i++) {
            size_t count = i % 11 ? i % 7 : i % MOST;
            tally.inner = i % 13 ? 0 : 5;
            wnn_thread_pool_run(tally.pool, count, count_one, &tally);
            require_once_each(&tally, count);
            // Now and then long enough that threads go to sleep.
            if (i % 500 == 0)
                sleep_milliseconds(1);
        }
        wnn_thread_pool_destroy(tally.pool);
    }
    wnn_thread_pool_destroy(NULL);
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
    tally.pool = wnn_thread_pool_create(&allocator, 4);
    REQUIRE(tally.pool);
    for (unsigned i = 0; i < 20; i++) {
        wnn_thread_pool_run(tally.pool, 16, sleep_sometimes, &tally);
        require_once_each(&tally, 16);
    }
    wnn_thread_pool_destroy(tally.pool);
}

// ---------------------------------------------------------------------------------------------------------------
// Threads that rest
// ---------------------------------------------------------------------------------------------------------------

enum {
    ITEMS = 16,
    ITEM_MICROSECONDS = 50
};

struct costly {
    pthread_t caller;
    unsigned others_milliseconds; // that an item takes which is not the caller's
    atomic_uint others;           // how many were
};

static void cost(void *argument, size_t index)
{
    struct costly *costly = argument;
    (void)index;
    if (!pthread_equal(pthread_self(), costly->caller)) {
        atomic_fetch_add(&costly->others, 1);
        sleep_milliseconds(costly->others_milliseconds);
    }
    for (double begin = now_seconds(); now_seconds() - begin < 1e-6 * ITEM_MICROSECONDS;)
        ;
}

// Whether it happens, within so many seconds, that other threads have a part of a loop, or have none.
static bool comes_to(struct pool *pool, struct costly *costly, bool others, double seconds)
{
    for (double begin = now_seconds(); now_seconds() - begin < seconds;) {
        atomic_store(&costly->others, 0);
        wnn_thread_pool_run(pool, ITEMS, cost, costly);
        if ((atomic_load(&costly->others) > 0) == others)
            return true;
    }
    return false;
}

// The processors that this process may use, and two of them.
static cpu_set_t all, first, last;

static void find_processors(void)
{
    int lowest = -1, highest = -1;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all)) {
            lowest = lowest < 0 ? i : lowest;
            highest = i;
        }
    }
    CPU_SET(lowest, &first);
    CPU_SET(highest, &last);
}

static void go_to(const cpu_set_t *processors)
{
    REQUIRE(sched_setaffinity(0, sizeof *processors, processors) == 0);
}

// Whether something else wants the last processor too.
static bool others_compete(void)
{
    cpu_set_t before;
    bool late = false;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    go_to(&last);
    for (double begin = now_seconds(), now = begin, then; now - begin < 0.05; now = then) {
        sched_yield();
        then = now_seconds();
        late |= then - now > 50e-6;
    }
    go_to(&before);
    return late;
}

// Whether other threads have a part of a loop again. A machine that does much else need not let them.
static bool others_return(struct pool *pool, struct costly *costly)
{
    for (unsigned i = 0; i < 10; i++)
        if (comes_to(pool, costly, true, 0.5))
            return true;
    return others_compete();
}

// Threads that are stopped in the middle of their items are left out for a time.
static void test_costly_threads(void)
{
    struct pool *pool = wnn_thread_pool_create(&allocator, 2);
    REQUIRE(pool);
    struct costly costly = {.caller = pthread_self(), .others_milliseconds = 20};
    if (!CPU_EQUAL(&first, &last)) {
        REQUIRE(others_return(pool, &costly));
        REQUIRE(comes_to(pool, &costly, false, 10));
        costly.others_milliseconds = 0;
        REQUIRE(others_return(pool, &costly));
    }
    wnn_thread_pool_destroy(pool);
}

// A thread that may be only where its caller is takes nothing, until the caller is elsewhere.
static void test_beside_the_caller(void)
{
    go_to(&last);
    struct pool *pool = wnn_thread_pool_create(&allocator, 2);
    REQUIRE(pool);
    struct costly costly = {.caller = pthread_self()};
    bool rested = false;
    for (int i = 0; i < 200; i++) {
        wnn_thread_pool_run(pool, ITEMS, cost, &costly);
        rested |= wnn_thread_pool_rests(pool);
    }
    REQUIRE_EQUAL_INT(atomic_load(&costly.others), 0);
    REQUIRE(rested);
    go_to(&first);
    REQUIRE(CPU_EQUAL(&first, &last) || others_return(pool, &costly));
    wnn_thread_pool_destroy(pool);
    go_to(&all);
}

static void *hold_processor(void *stop)
{
    while (!atomic_load((atomic_bool *)stop))
        ;
    return NULL;
}

// A thread that others leave no processor stays away until they do.
static void test_beside_others(void)
{
    if (CPU_EQUAL(&first, &last))
        return;
    go_to(&last);
    struct pool *pool = wnn_thread_pool_create(&allocator, 2);
    REQUIRE(pool);
    pthread_t other;
    atomic_bool stop = false;
    REQUIRE(pthread_create(&other, NULL, hold_processor, &stop) == 0);
    go_to(&first);
    struct costly costly = {.caller = pthread_self()};
    for (double begin = now_seconds(); !wnn_thread_pool_rests(pool);) {
        wnn_thread_pool_run(pool, ITEMS, cost, &costly);
        REQUIRE(now_seconds() - begin < 10);
    }
    atomic_store(&stop, true);
    pthread_join(other, NULL);
    REQUIRE(others_return(pool, &costly));
    wnn_thread_pool_destroy(pool);
    go_to(&all);
}

static void *make_idle_pool(void *pool)
{
    go_to(&last);
    REQUIRE(sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}) == 0);
    *(struct pool **)pool = wnn_thread_pool_create(&allocator, 2);
    REQUIRE(*(struct pool **)pool);
    return NULL;
}

// A thread that is awake, but has no processor, is not waited for: its caller rests, without counting the
// time.
static void test_without_processor(void)
{
    if (CPU_EQUAL(&first, &last))
        return;
    struct pool *pool = NULL;
    pthread_t maker, other;
    atomic_bool stop = false;
    REQUIRE(pthread_create(&maker, NULL, make_idle_pool, &pool) == 0);
    pthread_join(maker, NULL);
    go_to(&last);
    REQUIRE(pthread_create(&other, NULL, hold_processor, &stop) == 0);
    go_to(&first);
    struct costly costly = {.caller = pthread_self()};
    for (unsigned idle_looks = 0; !wnn_thread_pool_rests(pool);) {
        wnn_thread_pool_run(pool, ITEMS, cost, &costly);
        idle_looks = atomic_exchange(&costly.others, 0) == 0 ? idle_looks + 1 : 0;
        REQUIRE(idle_looks < 6);
    }
    atomic_store(&stop, true);
    pthread_join(other, NULL);
    REQUIRE(others_return(pool, &costly));
    wnn_thread_pool_destroy(pool);
    go_to(&all);
}

struct crowd {
    pthread_t threads[ITEMS];
};

static void note_thread(void *argument, size_t index)
{
    ((struct crowd *)argument)->threads[index] = pthread_self();
    sleep_milliseconds(2); // there is room for all
}

static unsigned count_threads(const struct crowd *crowd)
{
    unsigned count = 0;
    for (int i = 0; i < ITEMS; i++) {
        bool known = false;
        for (int k = 0; k < i; k++)
            known |= pthread_equal(crowd->threads[i], crowd->threads[k]) != 0;
        count += !known;
    }
    return count;
}

// No more threads are woken than there are processors. Some may be late to fall asleep.
static void test_more_threads_than_processors(void)
{
    unsigned processors = (unsigned)CPU_COUNT(&all) > 2 ? (unsigned)CPU_COUNT(&all) : 2, fewest = ITEMS;
    struct pool *pool = wnn_thread_pool_create(&allocator, 2 * processors);
    REQUIRE(pool);
    for (int i = 0; i < 10; i++) {
        struct crowd crowd;
        sleep_milliseconds(20);
        wnn_thread_pool_run(pool, ITEMS, note_thread, &crowd);
        unsigned count = count_threads(&crowd);
        fewest = count < fewest ? count : fewest;
    }
    REQUIRE(fewest <= processors);
    wnn_thread_pool_destroy(pool);
}

// ---------------------------------------------------------------------------------------------------------------
// Callers and ends
// ---------------------------------------------------------------------------------------------------------------

static void *run_loops(void *argument)
{
    struct tally tally = {.pool = argument};
    for (unsigned i = 0; i < 2000; i++) {
        wnn_thread_pool_run(tally.pool, i % 20, count_one, &tally);
        require_once_each(&tally, i % 20);
    }
    return NULL;
}

static void test_callers_at_once(void)
{
    struct pool *pool = wnn_thread_pool_create(&allocator, 3);
    REQUIRE(pool);
    pthread_t callers[3];
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&callers[i], NULL, run_loops, pool) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(callers[i], NULL);
    wnn_thread_pool_destroy(pool);
}

static void test_short_lives(void)
{
    for (unsigned i = 0; i < 50; i++)
        wnn_thread_pool_destroy(wnn_thread_pool_create(&allocator, 2 + i % 4));
    REQUIRE_EQUAL_INT(allocator.now, 0);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    wnn_allocator_init(&allocator, NULL, 0);
    find_processors();
    CASE(test_every_item_once());
    CASE(test_uneven_items());
    CASE(test_costly_threads());
    CASE(test_beside_the_caller());
    CASE(test_beside_others());
    CASE(test_without_processor());
    CASE(test_more_threads_than_processors());
    CASE(test_callers_at_once());
    CASE(test_short_lives());
    return cases_end();
}
