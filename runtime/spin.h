// SPDX-License-Identifier: Apache-2.0
//
// Waiting for another thread without sleep, for microseconds at most: a thread that sleeps takes longer than
// that to wake.

#ifndef RUNTIME_SPIN_H_
#define RUNTIME_SPIN_H_

#include "lib/interrupt.h"

#include <stdbool.h>
#include <stdint.h>

struct spin {
    uint64_t length, end;
    unsigned turns;
};

// For `while (condition && wnn_spin(&spin))`, with a struct spin of that length in nanoseconds: false when it
// is time to sleep.
static inline bool wnn_spin(struct spin *spin)
{
    if (spin->turns++ % 16 == 0) {
        uint64_t now = wnn_nanoseconds();
        if (spin->turns == 1)
            spin->end = now + spin->length;
        if (now >= spin->end)
            return false;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
    return true;
}

#endif
