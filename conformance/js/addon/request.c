// SPDX-License-Identifier: Apache-2.0
//
// From the library's futures to promises.

#include "conformance/js/addon/addon.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct request *wnn_js_request(napi_env env, enum request_kind kind, struct handle *context)
{
    struct request *request = calloc(1, sizeof *request);
    if (!request) {
        wnn_js_throw_memory(env);
        return NULL;
    }
    request->kind = kind;
    request->instance = context->instance;
    request->context = context;
    request->file = -1;
    request->thread = pthread_self();
    request->starting = true;
    request->instance->references++;
    if (kind == REQUEST_LOST)
        context->lost_request = request;
    else
        context->references++;
    return request;
}

void wnn_js_request_free(napi_env env, struct request *request)
{
    if (request->keep && env)
        napi_delete_reference(env, request->keep);
    if (request->kind != REQUEST_LOST)
        wnn_js_handle_drop(env, request->context);
    else if (request->context)
        request->context->lost_request = NULL;
    wnn_js_instance_drop(request->instance);
    wnnGraphRelease(request->graph);
    if (request->file >= 0)
        close(request->file);
    free(request->bytes);
    free(request->message);
    free(request);
}

// ---------------------------------------------------------------------------------------------------------------
// Called by the library
// ---------------------------------------------------------------------------------------------------------------

static void finish(struct request *request, WNNStatus status, WNNStringView message)
{
    request->status = status;
    request->message = message.length ? strdup(message.data) : NULL;
    if (pthread_equal(request->thread, pthread_self()) && request->starting) {
        request->refused = true;
        return;
    }
    struct instance *instance = request->instance;
    pthread_mutex_lock(&instance->lock);
    bool first = instance->done == NULL;
    *instance->done_end = request;
    instance->done_end = &request->next;
    pthread_mutex_unlock(&instance->lock);
    if (first)
        napi_call_threadsafe_function(instance->wake, NULL, napi_tsfn_nonblocking);
}

void wnn_js_on_done(WNNStatus status, WNNStringView message, void *request, void *unused)
{
    (void)unused;
    finish(request, status, message);
}

void wnn_js_on_built(WNNStatus status, WNNGraph graph, WNNStringView message, void *data, void *unused)
{
    (void)unused;
    struct request *request = data;
    request->graph = graph;
    finish(request, status, message);
}

void wnn_js_on_lost(WNNContextLostReason reason, WNNStringView message, void *request, void *unused)
{
    (void)reason;
    (void)unused;
    finish(request, WNNStatus_InvalidStateError, message);
}

// ---------------------------------------------------------------------------------------------------------------
// On the thread of JavaScript
// ---------------------------------------------------------------------------------------------------------------

static WNNStringView message_of(const struct request *request)
{
    return (WNNStringView){request->message ? request->message : "out of memory", WNN_STRLEN};
}

napi_value wnn_js_request_started(napi_env env, struct request *request)
{
    struct instance *instance = request->instance;
    napi_value promise = NULL;
    request->starting = false;
    if (request->refused) {
        wnn_js_throw(env, request->status, message_of(request));
        wnn_js_request_free(env, request);
        return NULL;
    }
    if (request->kind == REQUEST_DISPATCH)
        return NULL;
    if (!wnn_js_ok(env, napi_create_promise(env, &request->promise, &promise)))
        request->promise = NULL;
    if (instance->pending++ == 0)
        napi_ref_threadsafe_function(env, instance->wake);
    return promise;
}

static napi_value ports(napi_env env, WNNGraph graph, const WNNNamedDescriptor *named, size_t count)
{
    napi_value array;
    if (!wnn_js_ok(env, napi_create_array_with_length(env, count, &array)))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        napi_value port;
        if (!wnn_js_ok(env, napi_create_object(env, &port)) ||
            !wnn_js_set(env, port, "name", wnn_js_string_view(env, named[i].name)) ||
            !wnn_js_set_descriptor(env, port, named[i].descriptor.dataType, named[i].descriptor.shape, NULL,
                                   graph) ||
            !wnn_js_ok(env, napi_set_element(env, array, (uint32_t)i, port)))
            return NULL;
    }
    return array;
}

// {handle, inputs, outputs}
static napi_value built(napi_env env, struct request *request)
{
    napi_value object, external;
    size_t inputs, outputs;
    struct handle *handle = wnn_js_handle_create(env, HANDLE_GRAPH, request->context, &external);
    if (!handle)
        return NULL;
    handle->of.graph = request->graph;
    request->graph = NULL;
    const WNNNamedDescriptor *input = wnnGraphGetInputs(handle->of.graph, &inputs);
    const WNNNamedDescriptor *output = wnnGraphGetOutputs(handle->of.graph, &outputs);
    if (!wnn_js_ok(env, napi_create_object(env, &object)) || !wnn_js_set(env, object, "handle", external) ||
        !wnn_js_set(env, object, "inputs", ports(env, handle->of.graph, input, inputs)) ||
        !wnn_js_set(env, object, "outputs", ports(env, handle->of.graph, output, outputs)))
        return NULL;
    wnn_js_account(env, request->context);
    return object;
}

// The bytes go into the array that was given, if it can still take them; without one, `keep` is an
// ArrayBuffer that the worker has filled.
static napi_value take_read(napi_env env, struct request *request)
{
    napi_value array;
    if (!wnn_js_ok(env, napi_get_reference_value(env, request->keep, &array)))
        return NULL;
    if (!request->bytes)
        return array;
    void *data = NULL;
    size_t byte_length = 0;
    if (!wnn_js_get_bytes(env, array, &data, &byte_length))
        return NULL;
    if (byte_length < request->byte_length) {
        wnn_js_throw(env, WNNStatus_TypeError, (WNNStringView){"the output buffer was detached", WNN_STRLEN});
        return NULL;
    }
    memcpy(data, request->bytes, request->byte_length);
    napi_value undefined = NULL;
    napi_get_undefined(env, &undefined);
    return undefined;
}

static void tell_lost(napi_env env, struct request *request)
{
    struct handle *context = request->context;
    napi_value function, undefined, result, message = wnn_js_string_view(env, message_of(request));
    if (!context || !context->lost || napi_get_reference_value(env, context->lost, &function) != napi_ok)
        return;
    napi_get_undefined(env, &undefined);
    napi_call_function(env, undefined, function, 1, &message, &result);
    napi_delete_reference(env, context->lost);
    context->lost = NULL;
}

static void settle(napi_env env, struct request *request)
{
    struct instance *instance = request->instance;
    napi_value value = NULL, error = NULL;
    if (request->kind == REQUEST_LOST) {
        tell_lost(env, request);
        return;
    }
    if (request->kind == REQUEST_DISPATCH)
        return;
    if (--instance->pending == 0)
        napi_unref_threadsafe_function(env, instance->wake);
    if (!request->promise)
        return;
    if (request->status == WNNStatus_Success)
        value = request->kind == REQUEST_BUILD  ? built(env, request)
                : request->kind == REQUEST_READ ? take_read(env, request)
                                                : NULL;
    if ((request->kind == REQUEST_COMPUTE || request->kind == REQUEST_SAVE) &&
        request->status == WNNStatus_Success)
        napi_get_undefined(env, &value);
    bool pending = false;
    napi_is_exception_pending(env, &pending);
    if (pending)
        napi_get_and_clear_last_exception(env, &error);
    else if (!value)
        error = wnn_js_error(env, request->status, message_of(request));
    if (error)
        napi_reject_deferred(env, request->promise, error);
    else
        napi_resolve_deferred(env, request->promise, value);
}

static struct request *take_done(struct instance *instance)
{
    pthread_mutex_lock(&instance->lock);
    struct request *request = instance->done;
    instance->done = NULL;
    instance->done_end = &instance->done;
    pthread_mutex_unlock(&instance->lock);
    return request;
}

void wnn_js_settle(napi_env env, napi_value unused, void *data, void *nothing)
{
    (void)unused, (void)nothing;
    struct instance *instance = data;
    if (!env || instance->closed)
        return;
    for (struct request *request = take_done(instance), *next; request; request = next) {
        napi_handle_scope scope;
        next = request->next;
        if (napi_open_handle_scope(env, &scope) == napi_ok) {
            settle(env, request);
            napi_close_handle_scope(env, scope);
        }
        wnn_js_request_free(env, request);
    }
}

void wnn_js_discard(struct instance *instance)
{
    for (struct request *request = take_done(instance), *next; request; request = next) {
        next = request->next;
        wnn_js_request_free(NULL, request);
    }
}
