// SPDX-License-Identifier: Apache-2.0
//
// Time that tests and benchmarks measure, in seconds.

#ifndef CONFORMANCE_CLOCK_H_
#define CONFORMANCE_CLOCK_H_

#include <time.h>

static inline double clock_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline double now_seconds(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

// Of all threads of the process, whatever else the machine does.
static inline double processor_seconds(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
