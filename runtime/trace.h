// SPDX-License-Identifier: Apache-2.0
//
// Events for the host's trace (WNNTrace). Every request has a flow, which begins in the call of the API that
// makes the request, and ends when its callback has been called, whatever becomes of it. Without a trace a
// call site compares one pointer with NULL. No event is sent while a lock is held.

#ifndef RUNTIME_TRACE_H_
#define RUNTIME_TRACE_H_

#include "runtime/internal.h"

// A call of the API, on its stack: the context may be gone before the call returns.
struct trace_call {
    uint64_t flow; // of the request; 0: there is no trace
    const char *name;
    WNNTrace trace;
};

void wnn_trace_call_begin(struct trace_call *call, WNNContext context, const char *name, WNNStringView label);
void wnn_trace_call_end(const struct trace_call *call);

static inline void wnn_trace_call(struct trace_call *call, WNNContext context, const char *name,
                                  WNNStringView label)
{
    call->flow = 0;
    if (context && context->trace.event)
        wnn_trace_call_begin(call, context, name, label);
}

static inline void wnn_trace_return(const struct trace_call *call)
{
    if (call->flow)
        wnn_trace_call_end(call);
}

// A slice of this thread that belongs to a request, or, of NULL, to none.
void wnn_trace_slice_begin(WNNContext context, const char *name, const struct request *request);
void wnn_trace_slice_end(WNNContext context, const char *name);

static inline void wnn_trace_begin(WNNContext context, const char *name, const struct request *request)
{
    if (context->trace.event)
        wnn_trace_slice_begin(context, name, request);
}

static inline void wnn_trace_end(WNNContext context, const char *name)
{
    if (context->trace.event)
        wnn_trace_slice_end(context, name);
}

// The end of a request: around its callback, with its status. Context NULL: the call had none.
void wnn_trace_complete_begin(WNNContext context, const struct request *request);

static inline void wnn_trace_complete(WNNContext context, const struct request *request)
{
    if (context && context->trace.event)
        wnn_trace_complete_begin(context, request);
}

static inline void wnn_trace_completed(WNNContext context)
{
    if (context)
        wnn_trace_end(context, "complete");
}

// The end of what was done inside of its call.
void wnn_trace_complete_call(const struct trace_call *call, WNNStatus status);

// The context is lost.
void wnn_trace_lost(WNNContext context);

// The nodes of one execution that the host computes: what the backend is to be given as its observer, NULL
// where nobody wants to know. What did not end because the execution failed ends with wnn_trace_nodes_end.
struct trace_nodes {
    struct observer observer; // first
    WNNContext context;
    const struct node *open; // begun, and not ended
};
const struct observer *wnn_trace_nodes(struct trace_nodes *nodes, WNNContext context);
void wnn_trace_nodes_end(struct trace_nodes *nodes);

#endif
