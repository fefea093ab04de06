// SPDX-License-Identifier: Apache-2.0
//
// The memory of a request, and its end.

#ifndef RUNTIME_REQUEST_H_
#define RUNTIME_REQUEST_H_

#include "runtime/internal.h"

// `size` bytes that begin with a request, filled with zeros, or NULL (and `error`).
void *wnn_request_create(WNNContext context, const struct request_kind *kind, size_t size,
                         struct error *error);

// For a request that was not submitted.
void wnn_request_free(WNNContext context, void *request);

// Runs the callback. Context NULL: there is none.
void wnn_request_call_back(WNNContext context, const struct request *request);

// Runs the callback of a request that is done, which ends it. The lock is held before and after, not within.
void wnn_request_deliver(WNNContext context, struct request *request);

void wnn_request_set_result(WNNContext context, struct request *request, const struct error *error);

// Ends a request in state RUNNING that has its result: drops what it refers to, and has the callback run.
// `here` says that a spontaneous one may run in this call; otherwise it is the worker's.
void wnn_request_conclude(WNNContext context, struct request *request, bool here);

// Both of the above.
void wnn_request_finish(WNNContext context, struct request *request, const struct error *error, bool here);

#endif
