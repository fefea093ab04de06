// SPDX-License-Identifier: Apache-2.0
#include "runtime/fork.h"

#include <pthread.h>

atomic_uint wnn_forks;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    atomic_fetch_add(&wnn_forks, 1);
}

static void watch(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

unsigned wnn_forks_begin(void)
{
    pthread_once(&once, watch);
    return atomic_load(&wnn_forks);
}
