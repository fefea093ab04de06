// SPDX-License-Identifier: Apache-2.0
//
// The end of the process. Drivers take themselves down in exit handlers of their own, and a thread that is
// inside of entrance then crashes. An exit handler of ours, which runs before those, lets no thread enter the
// driver any more and waits until all that are inside have come out.
//
// Every use of a driver passes the gate of its device. A thread that comes to it while the process ends waits
// there, for a second after the handler, by when the process is gone as a rule; if it is not, because a later
// handler releases a context for instance, the thread goes on and finds that the driver answers nothing but
// that the device is lost.

#ifndef VULKAN_EXIT_H_
#define VULKAN_EXIT_H_

#include <stdatomic.h>
#include <stdbool.h>

struct exit_gate {
    struct exit_gate *next, **place; // in the list of all
    atomic_uint inside;              // threads
    // Called in the handler, when nobody is inside or all that can be waited for: takes care that nobody uses
    // the driver later. `empty`: nobody is inside. NULL: nothing is to be done.
    void (*close)(struct exit_gate *entrance, bool empty);
};

extern atomic_bool wnn_process_ends;

// Any thread. What is opened is to be closed when nobody passes the gate any more.
void wnn_gate_open(struct exit_gate *entrance, void (*close)(struct exit_gate *entrance, bool empty));
void wnn_gate_close(struct exit_gate *entrance);

// Puts our exit handler before those that have been registered until now: called when a driver and all that
// it loads are there. The C library keeps an entry of some bytes for every call. False: out of memory.
bool wnn_gate_register(void);

// Waits outside; comes in when the handler has run.
void wnn_gate_wait(struct exit_gate *entrance);

// A thread enters once before it leaves.
static inline void wnn_gate_enter(struct exit_gate *entrance)
{
    atomic_fetch_add(&entrance->inside, 1);
    if (atomic_load(&wnn_process_ends))
        wnn_gate_wait(entrance);
}

static inline void wnn_gate_leave(struct exit_gate *entrance)
{
    atomic_fetch_sub_explicit(&entrance->inside, 1, memory_order_release);
}

// Out and in again, for a thread that stays inside for long.
static inline void wnn_gate_pass(struct exit_gate *entrance)
{
    if (atomic_load_explicit(&wnn_process_ends, memory_order_relaxed))
        wnn_gate_wait(entrance);
}

// Whether what takes long inside should not be begun.
static inline bool wnn_gate_closes(void)
{
    return atomic_load_explicit(&wnn_process_ends, memory_order_relaxed);
}

#endif
