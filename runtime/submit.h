// SPDX-License-Identifier: Apache-2.0
//
// How requests come to the timeline.

#ifndef RUNTIME_SUBMIT_H_
#define RUNTIME_SUBMIT_H_

#include "runtime/internal.h"

// Puts the request on the timeline, or refuses it at once: because `error` holds a status other than Success
// (the request may be NULL then), or because the context is lost. Takes the request. Never fails: where there
// is no memory for the answer, a spare request carries it, and where that is in use, the callback runs inside
// of this call whatever its mode.
WNNFuture wnn_submit(WNNContext context, struct request *request, const struct callback *callback,
                     struct error *error);

// The answer to a call that has no context: the callback runs inside of it.
WNNFuture wnn_refuse_without_context(const struct callback *callback);

// Puts a request without callback and future on the timeline. False (and `error`): the context is lost, and
// the request is gone.
bool wnn_submit_silently(WNNContext context, struct request *request, struct error *error);

// The request that was to make an awaited build does not come.
void wnn_queue_tell_builder(WNNContext context);

// Takes the timeline for the thread that calls, so that what it does next is in order; nothing of it runs
// until the thread gives it back. False: something is on it, or the context is lost.
bool wnn_queue_take(WNNContext context);
void wnn_queue_give(WNNContext context);

// Checks what every callback info struct has, which may be followed by the structs of `chains`; a mode that
// does not exist makes the callback run inside of the call.
bool wnn_check_callback(const WNNChainedStruct *chain, uint32_t chains, struct callback *callback,
                        struct error *error);

// The smaller of the limit of a chained WNNTimeLimit, if there is one, and `limit`; 0: none.
uint64_t wnn_time_limit(const WNNChainedStruct *chain, uint64_t limit);

// Sets the deadline of a request that begins to run, unless it has one already: `limit` nanoseconds from now,
// 0: none.
void wnn_request_begin(struct request *request, uint64_t limit);

#endif
