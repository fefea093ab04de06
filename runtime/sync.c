// SPDX-License-Identifier: Apache-2.0
//
// Calls that wait for their result: the asynchronous ones, and a wait.

#include "runtime/internal.h"

#include <webnn/compiled.h>

// Where the caller wants the result.
struct result {
    WNNStatus status;
    WNNGraph *graph;
    size_t capacity; // of `message`, which may be NULL
    char *message;
};

static void set_message(const struct result *result, WNNStringView message)
{
    struct text text = {result->message, result->capacity, 0};
    if (!text.data || text.capacity == 0)
        return;
    text.data[0] = '\0';
    wnn_text_add(&text, "%.*s", (int)message.length, message.data);
}

static void on_request(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
    struct result *result = userdata1;
    (void)userdata2;
    result->status = status;
    set_message(result, message);
}

static void on_build(WNNStatus status, WNNGraph graph, WNNStringView message, void *userdata1,
                     void *userdata2)
{
    *((struct result *)userdata1)->graph = graph;
    on_request(status, message, userdata1, userdata2);
}

static WNNRequestCallbackInfo tell(struct result *result)
{
    return (WNNRequestCallbackInfo){NULL, WNNCallbackMode_WaitAnyOnly, on_request, result, NULL};
}

// False: the thread must not wait, and the result says so.
static bool begin(WNNContext context, struct result *result)
{
    struct error error = {0};
    set_message(result, (WNNStringView){"", 0});
    // A process that was forked is told by the request; a thread that is not there may hold the queue.
    if (!context || wnn_forked(context->forks) || wnn_queue_may_wait(&context->queue))
        return true;
    wnn_fail(&error, WNNStatus_InvalidStateError, "a spontaneous callback cannot wait");
    result->status = error.status;
    set_message(result, wnn_error_message(&error));
    return false;
}

// A request that cannot be waited for, because there is no context or its process was forked, is answered
// inside of its call.
static WNNStatus finish(WNNContext context, const struct result *result, WNNFuture future)
{
    WNNFutureWaitInfo info = {future, false};
    wnnContextWaitAny(context, 1, &info, WNN_WAIT_FOREVER);
    return result->status;
}

WNNStatus wnnGraphBuilderBuildSync(WNNGraphBuilder builder, size_t outputCount,
                                   const WNNNamedOperand *outputs, WNNGraph *graph, size_t capacity,
                                   char *message)
{
    WNNGraph made = NULL;
    WNNContext context = builder ? ((struct builder *)builder)->context : NULL;
    struct result result = {WNNStatus_UnknownError, &made, capacity, message};
    if (graph)
        *graph = NULL;
    if (!begin(context, &result))
        return result.status;
    if (!graph) {
        set_message(&result, wnn_string_view(STRING("build: no place for the graph")));
        return WNNStatus_TypeError;
    }
    WNNBuildCallbackInfo info = {NULL, WNNCallbackMode_WaitAnyOnly, on_build, &result, NULL};
    finish(context, &result, wnnGraphBuilderBuild(builder, outputCount, outputs, info));
    *graph = made;
    return result.status;
}

WNNStatus wnnContextLoadGraphSync(WNNContext context, const WNNLoadGraphDescriptor *descriptor,
                                  WNNGraph *graph, size_t capacity, char *message)
{
    WNNGraph made = NULL;
    struct result result = {WNNStatus_UnknownError, &made, capacity, message};
    const WNNExternalBytes *bytes = descriptor ? &descriptor->bytes : NULL;
    bool begun = begin(context, &result);
    if (graph)
        *graph = NULL;
    if (begun && graph) {
        WNNBuildCallbackInfo info = {NULL, WNNCallbackMode_WaitAnyOnly, on_build, &result, NULL};
        finish(context, &result, wnnContextLoadGraph(context, descriptor, info));
        *graph = made;
        return result.status;
    }
    if (begun) {
        set_message(&result, wnn_string_view(STRING("load: no place for the graph")));
        result.status = WNNStatus_TypeError;
    }
    if (bytes && bytes->release)
        bytes->release(bytes->data, bytes->byteLength, bytes->userdata1, bytes->userdata2);
    return result.status;
}

WNNStatus wnnGraphSaveSync(WNNGraph graph, const WNNSaveGraphDescriptor *descriptor, size_t capacity,
                           char *message)
{
    struct result result = {WNNStatus_UnknownError, NULL, capacity, message};
    WNNContext context = graph ? graph->context : NULL;
    if (!begin(context, &result))
        return result.status;
    return finish(context, &result, wnnGraphSave(graph, descriptor, tell(&result)));
}

WNNStatus wnnContextComputeSync(WNNContext context, const WNNComputeDescriptor *descriptor, size_t capacity,
                                char *message)
{
    struct result result = {WNNStatus_UnknownError, NULL, capacity, message};
    if (!begin(context, &result))
        return result.status;
    return finish(context, &result, wnnContextCompute(context, descriptor, tell(&result)));
}

WNNStatus wnnContextReadTensorSync(WNNContext context, WNNTensor tensor, void *data, size_t byteLength,
                                   size_t capacity, char *message)
{
    struct result result = {WNNStatus_UnknownError, NULL, capacity, message};
    if (!begin(context, &result))
        return result.status;
    return finish(context, &result, wnnContextReadTensor(context, tensor, data, byteLength, tell(&result)));
}
