// SPDX-License-Identifier: Apache-2.0
//
// Signals of a process whose threads are not all its own.

#ifndef LIB_SIGNALS_H_
#define LIB_SIGNALS_H_

#include <signal.h>

// The signals that threads of the library leave to those of the host: all but the ones that a thread brings
// upon itself. Where these are blocked, the kernel ends the process whatever handler it has: for files that
// get shorter while they are mapped (SIGBUS), traps of a sandbox (SIGSYS) and reports of crashes.
static inline void wnn_asynchronous_signals(sigset_t *set)
{
    static const int own[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigfillset(set);
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(set, own[i]);
}

#endif
