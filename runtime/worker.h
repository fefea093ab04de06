// SPDX-License-Identifier: Apache-2.0
//
// The threads of a context: the worker, the builder, and the one that retires what a device has computed.

#ifndef RUNTIME_WORKER_H_
#define RUNTIME_WORKER_H_

#include "runtime/internal.h"

// The builder's loop; returns when the queue is ending and nothing is to be built.
void wnn_queue_build(WNNContext context);

// The worker's loop; returns when the queue is ending and nothing waits.
void wnn_queue_work(WNNContext context);

// The loop of the thread that retires requests, until wnn_queue_stop.
void wnn_queue_retire(WNNContext context);
void wnn_queue_stop(WNNContext context);

// Under the lock, which they leave: runs the first request of the timeline, and nothing else of it; waits for
// the first request in flight, and ends it, and no other.
void wnn_queue_run_first(WNNContext context);
void wnn_queue_retire_first(WNNContext context);

// Likewise: makes a build that waits in line, out of turn, while nobody builds (queue.builder_busy).
void wnn_queue_build_here(WNNContext context, struct request *request);

#endif
