// SPDX-License-Identifier: Apache-2.0
//
// Taking requests back, and losing the context.

#ifndef RUNTIME_CANCEL_H_
#define RUNTIME_CANCEL_H_

#include "runtime/internal.h"

// Marks the context lost, unless it is already: requests that wait are taken off the timeline and can be
// ended with wnn_lose_end, which also calls the lost callback. Between the two the caller may end what it has
// in hand.
bool wnn_lose_begin(WNNContext context, WNNContextLostReason reason, const char *message,
                    struct request_list *cancelled);
void wnn_lose_end(WNNContext context, struct request_list *cancelled);

// Takes back what `matches`, as wnnContextCancel does: ends what waits, and interrupts what runs.
void wnn_queue_cancel(WNNContext context,
                      bool (*matches)(const struct request *request, const void *argument),
                      const void *argument, const char *message);

// Under the lock, which it leaves: calls the lost callback if it has not been called.
void wnn_tell_lost(WNNContext context);

// Delivers whatever has not been delivered, and everything that comes later where it arises.
void wnn_queue_close(WNNContext context);

#endif
