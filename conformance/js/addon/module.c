// SPDX-License-Identifier: Apache-2.0
//
// The module: what an environment owns, and the handles that the garbage collector sees.

#include "conformance/js/addon/addon.h"

#include <stdlib.h>

// Bytes that contexts allocate before the objects are looked through for those that have been collected. V8
// itself collects when some 64 MB were added.
#define GROWTH_TO_LOOK (INT64_C(16) << 20)

struct instance *wnn_js_instance(napi_env env)
{
    void *instance = NULL;
    napi_get_instance_data(env, &instance);
    return instance;
}

void wnn_js_instance_drop(struct instance *instance)
{
    if (--instance->references > 0)
        return;
    pthread_mutex_destroy(&instance->lock);
    free(instance);
}

// ---------------------------------------------------------------------------------------------------------------
// Handles
// ---------------------------------------------------------------------------------------------------------------

void wnn_js_list(struct handle **list, struct handle *handle)
{
    handle->next = *list;
    if (handle->next)
        handle->next->previous = handle;
    *list = handle;
}

void wnn_js_unlist(struct handle **list, struct handle *handle)
{
    if (handle->next)
        handle->next->previous = handle->previous;
    if (handle->previous)
        handle->previous->next = handle->next;
    else if (*list == handle)
        *list = handle->next;
    handle->next = handle->previous = NULL;
}

// Adds what the context has allocated or freed since the last call.
static int64_t tell_collector(napi_env env, struct handle *context)
{
    WNNContextCounters counters = WNN_CONTEXT_COUNTERS_INIT;
    if (context->of.context)
        wnnContextGetCounters(context->of.context, &counters);
    int64_t change = (int64_t)counters.allocatedBytes - context->accounted;
    if (change != 0)
        napi_adjust_external_memory(env, change, &context->instance->external_bytes);
    context->accounted = (int64_t)counters.allocatedBytes;
    return change;
}

// Releases what the handle is for. The handle stays.
static void release_object(struct handle *handle)
{
    switch (handle->kind) {
    case HANDLE_CONTEXT:
        break;
    case HANDLE_TENSOR:
        wnnTensorRelease(handle->of.tensor);
        handle->of.tensor = NULL;
        break;
    case HANDLE_BUILDER:
        wnnGraphBuilderRelease(handle->of.builder);
        handle->of.builder = NULL;
        handle->operand_count = handle->activation_count = 0;
        break;
    case HANDLE_GRAPH:
        wnnGraphRelease(handle->of.graph);
        handle->of.graph = NULL;
        break;
    }
}

// Finalizers run when the event loop turns, which it does not in a loop that awaits what is there already.
// Here the objects are released whose externals have been collected; their finalizers free the handles later.
static void release_collected(napi_env env, struct instance *instance)
{
    for (struct handle *handle = instance->objects; handle; handle = handle->next) {
        napi_handle_scope scope;
        napi_value external = NULL;
        if (!handle->weak || napi_open_handle_scope(env, &scope) != napi_ok)
            continue;
        bool collected = napi_get_reference_value(env, handle->weak, &external) == napi_ok && !external;
        napi_close_handle_scope(env, scope);
        if (collected) {
            release_object(handle);
            tell_collector(env, handle->context);
        }
    }
}

void wnn_js_account(napi_env env, struct handle *context)
{
    struct instance *instance = context->instance;
    int64_t change = tell_collector(env, context);
    if (change <= 0 || (instance->grown_bytes += change) < GROWTH_TO_LOOK)
        return;
    instance->grown_bytes = 0;
    release_collected(env, instance);
}

static void release_context(napi_env env, struct handle *handle)
{
    WNNContext context = handle->of.context;
    if (!context)
        return;
    if (handle->lost && env)
        napi_delete_reference(env, handle->lost); // nobody is left who could ask
    handle->lost = NULL;
    handle->of.context = NULL;
    wnn_js_unlist(&handle->instance->contexts, handle);
    wnnContextRelease(context); // calls wnn_js_on_lost, unless that has happened
    if (handle->lost_request)
        handle->lost_request->context = NULL;
}

void wnn_js_handle_drop(napi_env env, struct handle *handle)
{
    if (--handle->references > 0)
        return;
    if (handle->kind == HANDLE_CONTEXT) {
        release_context(env, handle);
    } else {
        release_object(handle);
        free(handle->operands);
        free(handle->activations);
        wnn_js_unlist(&handle->instance->objects, handle);
        if (handle->weak && env)
            napi_delete_reference(env, handle->weak);
    }
    if (env)
        wnn_js_account(env, handle->context ? handle->context : handle);
    if (handle->context)
        wnn_js_handle_drop(env, handle->context);
    handle->instance->live[handle->kind]--;
    wnn_js_instance_drop(handle->instance);
    free(handle);
}

static void finalize_handle(napi_env env, void *handle, void *unused)
{
    (void)unused;
    wnn_js_handle_drop(env, handle);
}

struct handle *wnn_js_handle_create(napi_env env, enum handle_kind kind, struct handle *context,
                                    napi_value *external)
{
    struct handle *handle = calloc(1, sizeof *handle);
    if (!handle) {
        wnn_js_throw_memory(env);
        return NULL;
    }
    struct instance *instance = wnn_js_instance(env);
    handle->kind = kind;
    handle->references = 1;
    handle->instance = instance;
    handle->context = context;
    if (!wnn_js_ok(env, napi_create_external(env, handle, finalize_handle, NULL, external))) {
        free(handle);
        return NULL;
    }
    instance->references++;
    instance->live[kind]++;
    if (context) {
        context->references++;
        wnn_js_list(&instance->objects, handle);
        napi_create_reference(env, *external, 0,
                              &handle->weak); // without it, the finalizer releases the object
    }
    return handle;
}

struct handle *wnn_js_handle(napi_env env, napi_value value, enum handle_kind kind)
{
    void *data = NULL;
    if (!wnn_js_ok(env, napi_get_value_external(env, value, &data)))
        return NULL;
    struct handle *handle = data;
    struct handle *context = handle->context ? handle->context : handle;
    if (handle->kind == kind && context->of.context)
        return handle;
    wnn_js_throw(env, WNNStatus_TypeError, (WNNStringView){"a handle of the wrong kind", WNN_STRLEN});
    return NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Module
// ---------------------------------------------------------------------------------------------------------------

// The environment ends while contexts may still work: the last release of a context waits for its worker, so
// that nobody calls instance->wake later. Registered after the thread-safe function, it runs before that
// one's own hook.
static void close_instance(void *data)
{
    struct instance *instance = data;
    instance->closed = true;
    while (instance->contexts)
        release_context(NULL, instance->contexts);
    wnn_js_discard(instance);
}

static void finalize_instance(napi_env env, void *data, void *unused)
{
    (void)env, (void)unused;
    wnn_js_instance_drop(data);
}

static bool create_instance(napi_env env)
{
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance) {
        wnn_js_throw_memory(env);
        return false;
    }
    instance->references = 1;
    instance->done_end = &instance->done;
    pthread_mutex_init(&instance->lock, NULL);
    if (!wnn_js_ok(env,
                   napi_create_threadsafe_function(env, NULL, NULL, wnn_js_string(env, "webnn"), 0, 1, NULL,
                                                   NULL, instance, wnn_js_settle, &instance->wake)) ||
        !wnn_js_ok(env, napi_unref_threadsafe_function(env, instance->wake)) ||
        !wnn_js_ok(env, napi_set_instance_data(env, instance, finalize_instance, NULL))) {
        wnn_js_instance_drop(instance);
        return false;
    }
    return wnn_js_ok(env, napi_add_env_cleanup_hook(env, close_instance, instance));
}

struct export
{
    const char *name;
    napi_callback function;
};

static bool export_functions(napi_env env, napi_value object, const struct export *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        napi_value function;
        if (!wnn_js_ok(env, napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH,
                                                 functions[i].function, NULL, &function)) ||
            !wnn_js_set(env, object, functions[i].name, function))
            return false;
    }
    return true;
}

#ifdef NODE_API_MODULE_GET_API_VERSION // which the macro defines without a prototype
NAPI_MODULE_EXPORT int32_t NODE_API_MODULE_GET_API_VERSION(void);
#endif
NAPI_MODULE_INIT()
{
    static const struct export functions[] = {
        {"createContext", wnn_js_create_context},
        {"destroyContext", wnn_js_destroy_context},
        {"opSupportLimits", wnn_js_op_support_limits},
        {"counters", wnn_js_counters},
        {"createTensor", wnn_js_create_tensor},
        {"createConstantTensor", wnn_js_create_constant_tensor},
        {"destroyTensor", wnn_js_destroy_tensor},
        {"writeTensor", wnn_js_write_tensor},
        {"readTensor", wnn_js_read_tensor},
        {"createBuilder", wnn_js_create_builder},
        {"releaseBuilder", wnn_js_release_builder},
        {"input", wnn_js_input},
        {"constant", wnn_js_constant},
        {"scalarConstant", wnn_js_scalar_constant},
        {"rangeConstant", wnn_js_range_constant},
        {"tensorConstant", wnn_js_tensor_constant},
        {"operator", wnn_js_operator},
        {"activation", wnn_js_activation},
        {"build", wnn_js_build},
        {"serialize", wnn_js_serialize},
        {"destroyGraph", wnn_js_destroy_graph},
        {"computeShapes", wnn_js_compute_shapes},
        {"dispatch", wnn_js_dispatch},
        {"compute", wnn_js_compute},
    };
    // What no page may have: what the device is, and files by descriptors of this process. Apart, so that who
    // passes on the functions above does not pass on these.
    static const struct export host_functions[] = {
        {"describeDevice", wnn_js_describe_device}, {"save", wnn_js_save_graph}, {"load", wnn_js_load_graph}};
    napi_value host;
    if (!create_instance(env) || !wnn_js_ok(env, napi_create_object(env, &host)) ||
        !export_functions(env, exports, functions, sizeof functions / sizeof functions[0]) ||
        !export_functions(env, host, host_functions, sizeof host_functions / sizeof host_functions[0]) ||
        !wnn_js_set(env, exports, "host", host))
        return NULL;
    if (!wnn_js_set(env, exports, "operators", wnn_js_operators(env)) ||
        !wnn_js_set(env, exports, "dataTypes", wnn_js_types(env, UINT32_MAX)) ||
        !wnn_js_set(env, exports, "version", wnn_js_string_view(env, wnnGetVersionText())))
        return NULL;
    return exports;
}
