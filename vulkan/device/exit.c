// SPDX-License-Identifier: Apache-2.0
//
// What is global here is so because the end of the process is: the only state of the backend that contexts
// share. A child of fork() has none of the threads, and forgets all gates.

#include "vulkan/device/exit.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define SECOND 1000000000u

// Threads come out between two shaders, two submissions, and all some milliseconds while they wait. What
// takes longer than this is stuck.
#define LONGEST_STAY (UINT64_C(5) * SECOND)
#define LONGEST_WAIT ((uint64_t)SECOND)

atomic_bool wnn_process_ends;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of the list
static struct exit_gate *gates;
static atomic_ullong ended; // when the handler had run; 0: it has not
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void sleep_shortly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void forget_gates(void)
{
    pthread_mutex_init(&lock, NULL);
    gates = NULL;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_gates);
}

void wnn_gate_open(struct exit_gate *gate, void (*close)(struct exit_gate *gate, bool empty))
{
    pthread_once(&once, watch_forks);
    atomic_init(&gate->inside, 0);
    gate->close = close;
    pthread_mutex_lock(&lock);
    gate->next = gates;
    gate->place = &gates;
    if (gates)
        gates->place = &gate->next;
    gates = gate;
    pthread_mutex_unlock(&lock);
}

void wnn_gate_close(struct exit_gate *gate)
{
    pthread_mutex_lock(&lock);
    *gate->place = gate->next;
    if (gate->next)
        gate->next->place = gate->place;
    pthread_mutex_unlock(&lock);
}

void wnn_gate_wait(struct exit_gate *gate)
{
    uint64_t end;
    wnn_gate_leave(gate);
    while (!(end = atomic_load(&ended)) || nanoseconds() - end < LONGEST_WAIT)
        sleep_shortly();
    atomic_fetch_add(&gate->inside, 1);
}

static void end_process(void)
{
    if (atomic_exchange(&wnn_process_ends, true))
        return;
    uint64_t begin = nanoseconds();
    pthread_mutex_lock(&lock);
    for (struct exit_gate *gate = gates; gate; gate = gate->next)
        while (atomic_load(&gate->inside) > 0 && nanoseconds() - begin < LONGEST_STAY)
            sleep_shortly();
    for (struct exit_gate *gate = gates; gate; gate = gate->next)
        if (gate->close)
            gate->close(gate, atomic_load(&gate->inside) == 0);
    pthread_mutex_unlock(&lock);
    atomic_store(&ended, nanoseconds());
}

bool wnn_gate_register(void)
{
    return atexit(end_process) == 0;
}
