// SPDX-License-Identifier: Apache-2.0
//
// Contexts, tensors, execution.

#include "conformance/js/addon/addon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Contexts
// ---------------------------------------------------------------------------------------------------------------

// What the library says where it returns a status alone; called inside of such a call.
static void keep_message(WNNStatus status, WNNStringView message, void *data, void *unused)
{
    (void)status, (void)unused;
    struct instance *instance = data;
    snprintf(instance->message, sizeof instance->message, "%.*s", (int)message.length, message.data);
}

static void throw_last(napi_env env, WNNStatus status)
{
    wnn_js_throw(env, status, (WNNStringView){wnn_js_instance(env)->message, WNN_STRLEN});
}

static bool get_choice(napi_env env, napi_value options, const char *name, const char *const *choices,
                       int *choice)
{
    napi_value value;
    char text[24];
    size_t length;
    if (!wnn_js_ok(env, napi_get_named_property(env, options, name, &value)))
        return false;
    if (wnn_js_is_undefined(env, value))
        return true;
    if (!wnn_js_ok(env, napi_get_value_string_utf8(env, value, text, sizeof text, &length)))
        return false;
    for (int i = 0; choices[i]; i++)
        if (strcmp(text, choices[i]) == 0)
            *choice = i + 1;
    return true;
}

static bool get_flag(napi_env env, napi_value options, const char *name, bool *flag)
{
    napi_value value;
    return wnn_js_ok(env, napi_get_named_property(env, options, name, &value)) &&
           (wnn_js_is_undefined(env, value) || wnn_js_get_bool(env, value, flag));
}

static bool get_options(napi_env env, napi_value options, WNNContextDescriptor *descriptor)
{
    static const char *const devices[] = {"cpu", "gpu", NULL};
    static const char *const preferences[] = {"default", "high-performance", "low-power", NULL};
    int device = WNNDeviceType_CPU, preference = WNNPowerPreference_Default;
    napi_value threads;
    if (!get_choice(env, options, "deviceType", devices, &device) ||
        !get_choice(env, options, "powerPreference", preferences, &preference) ||
        !get_flag(env, options, "accelerated", &descriptor->accelerated) ||
        !get_flag(env, options, "strictNumerics", &descriptor->strictNumerics) ||
        !wnn_js_ok(env, napi_get_named_property(env, options, "threadCount", &threads)))
        return false;
    descriptor->deviceType = (WNNDeviceType)device;
    descriptor->powerPreference = (WNNPowerPreference)preference;
    return wnn_js_is_undefined(env, threads) || wnn_js_get_u32(env, threads, &descriptor->threadCount);
}

// createContext(options, lost): `lost` is called with a message, at most once.
napi_value wnn_js_create_context(napi_env env, napi_callback_info info)
{
    napi_value arguments[2], external;
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.acceptEmptyTensors = false; // as the specification has it
    descriptor.limits = &limits;
    if (!wnn_js_arguments(env, info, 2, arguments) || !get_options(env, arguments[0], &descriptor))
        return NULL;
    struct handle *handle = wnn_js_handle_create(env, HANDLE_CONTEXT, NULL, &external);
    struct request *request = handle ? wnn_js_request(env, REQUEST_LOST, handle) : NULL;
    if (!request || !wnn_js_ok(env, napi_create_reference(env, arguments[1], 1, &handle->lost)))
        return NULL;
    request->starting = false;
    descriptor.errorCallbackInfo.callback = keep_message;
    descriptor.errorCallbackInfo.userdata1 = handle->instance;
    descriptor.lostCallbackInfo.callback = wnn_js_on_lost;
    descriptor.lostCallbackInfo.userdata1 = request;
    WNNStatus status = wnnCreateContext(&descriptor, &handle->of.context);
    if (status != WNNStatus_Success) {
        wnn_js_request_free(env, request);
        throw_last(env, status);
        return NULL;
    }
    wnn_js_list(&handle->instance->contexts, handle);
    wnn_js_account(env, handle);
    return external;
}

napi_value wnn_js_destroy_context(napi_env env, napi_callback_info info)
{
    napi_value argument;
    struct handle *handle;
    if (wnn_js_arguments(env, info, 1, &argument) && (handle = wnn_js_handle(env, argument, HANDLE_CONTEXT)))
        wnnContextDestroy(handle->of.context);
    return NULL;
}

// counters(context): what the context counts; counters(): of this environment, live handles and
// the bytes outside of the heap that the garbage collector was told of.
napi_value wnn_js_counters(napi_env env, napi_callback_info info)
{
    static const char *const kinds[] = {"contexts", "tensors", "builders", "graphs"};
    napi_value argument, object;
    if (!wnn_js_arguments(env, info, 1, &argument) || !wnn_js_ok(env, napi_create_object(env, &object)))
        return NULL;
    if (wnn_js_is_undefined(env, argument)) {
        for (int i = 0; i < 4; i++)
            wnn_js_set_u32(env, object, kinds[i], wnn_js_instance(env)->live[i]);
        wnn_js_set_u32(env, object, "externalBytes", (double)wnn_js_instance(env)->external_bytes);
        return object;
    }
    struct handle *context = wnn_js_handle(env, argument, HANDLE_CONTEXT);
    if (!context)
        return NULL;
    WNNContextCounters counters = WNN_CONTEXT_COUNTERS_INIT;
    wnnContextGetCounters(context->of.context, &counters);
    wnn_js_set_u32(env, object, "builders", (double)counters.builders);
    wnn_js_set_u32(env, object, "graphs", (double)counters.graphs);
    wnn_js_set_u32(env, object, "tensors", (double)counters.tensors);
    wnn_js_set_u32(env, object, "pendingRequests", (double)counters.pendingRequests);
    wnn_js_set_u32(env, object, "allocatedBytes", (double)counters.allocatedBytes);
    wnn_js_set_u32(env, object, "maxAllocatedBytes", (double)counters.maxAllocatedBytes);
    return object;
}

// ---------------------------------------------------------------------------------------------------------------
// Tensors
// ---------------------------------------------------------------------------------------------------------------

// createTensor(context, dataType, shape, readable, writable), createConstantTensor(context, dataType, shape,
// bytes)
static napi_value create_tensor(napi_env env, napi_callback_info info, bool is_constant)
{
    napi_value arguments[5], external = NULL;
    struct scratch scratch = {NULL};
    void *data = NULL;
    size_t byte_length = 0;
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    if (!wnn_js_arguments(env, info, is_constant ? 4 : 5, arguments))
        return NULL;
    struct handle *context = wnn_js_handle(env, arguments[0], HANDLE_CONTEXT);
    if (!context || !wnn_js_get_type(env, arguments[1], &descriptor.dataType) ||
        !wnn_js_get_u32s(env, arguments[2], &scratch, &descriptor.shape) ||
        !(is_constant ? wnn_js_get_bytes(env, arguments[3], &data, &byte_length)
                      : wnn_js_get_bool(env, arguments[3], &descriptor.readable) &&
                            wnn_js_get_bool(env, arguments[4], &descriptor.writable)))
        goto end;
    WNNTensor tensor = NULL;
    WNNStatus status = is_constant ? wnnContextCreateConstantTensor(context->of.context, &descriptor, data,
                                                                    byte_length, &tensor)
                                   : wnnContextCreateTensor(context->of.context, &descriptor, &tensor);
    if (status != WNNStatus_Success) {
        throw_last(env, status);
        goto end;
    }
    struct handle *handle = wnn_js_handle_create(env, HANDLE_TENSOR, context, &external);
    if (handle)
        handle->of.tensor = tensor;
    else
        wnnTensorRelease(tensor);
    wnn_js_account(env, context);
end:
    wnn_js_scratch_free(&scratch);
    return external;
}

napi_value wnn_js_create_tensor(napi_env env, napi_callback_info info)
{
    return create_tensor(env, info, false);
}

napi_value wnn_js_create_constant_tensor(napi_env env, napi_callback_info info)
{
    return create_tensor(env, info, true);
}

napi_value wnn_js_destroy_tensor(napi_env env, napi_callback_info info)
{
    napi_value argument;
    struct handle *handle;
    if (!wnn_js_arguments(env, info, 1, &argument) || !(handle = wnn_js_handle(env, argument, HANDLE_TENSOR)))
        return NULL;
    wnnTensorDestroy(handle->of.tensor);
    wnn_js_account(env, handle->context);
    return NULL;
}

// writeTensor(context, tensor, bytes)
napi_value wnn_js_write_tensor(napi_env env, napi_callback_info info)
{
    napi_value arguments[3];
    struct handle *context, *tensor;
    void *data;
    size_t byte_length;
    if (!wnn_js_arguments(env, info, 3, arguments) ||
        !(context = wnn_js_handle(env, arguments[0], HANDLE_CONTEXT)) ||
        !(tensor = wnn_js_handle(env, arguments[1], HANDLE_TENSOR)) ||
        !wnn_js_get_bytes(env, arguments[2], &data, &byte_length))
        return NULL;
    WNNStatus status = wnnContextWriteTensor(context->of.context, tensor->of.tensor, data, byte_length);
    if (status != WNNStatus_Success)
        throw_last(env, status);
    return NULL;
}

static WNNRequestCallbackInfo callback_of(struct request *request)
{
    return (WNNRequestCallbackInfo){
        .mode = WNNCallbackMode_AllowSpontaneous, .callback = wnn_js_on_done, .userdata1 = request};
}

// readTensor(context, tensor): a promise of an ArrayBuffer
// readTensor(context, tensor, array): a promise of undefined; the bytes are in the array then
napi_value wnn_js_read_tensor(napi_env env, napi_callback_info info)
{
    napi_value arguments[3], buffer;
    struct handle *context, *tensor;
    void *data;
    if (!wnn_js_arguments(env, info, 3, arguments) ||
        !(context = wnn_js_handle(env, arguments[0], HANDLE_CONTEXT)) ||
        !(tensor = wnn_js_handle(env, arguments[1], HANDLE_TENSOR)))
        return NULL;
    size_t byte_length = wnnTensorGetByteLength(tensor->of.tensor);
    bool to_array = !wnn_js_is_undefined(env, arguments[2]);
    if (!to_array && !wnn_js_ok(env, napi_create_arraybuffer(env, byte_length, &data, &buffer)))
        return NULL;
    struct request *request = wnn_js_request(env, REQUEST_READ, context);
    if (!request)
        return NULL;
    request->byte_length = byte_length;
    if (to_array && !(data = request->bytes = malloc(byte_length))) {
        wnn_js_throw_memory(env);
        wnn_js_request_free(env, request);
        return NULL;
    }
    if (!wnn_js_ok(env, napi_create_reference(env, to_array ? arguments[2] : buffer, 1, &request->keep))) {
        wnn_js_request_free(env, request);
        return NULL;
    }
    wnnContextReadTensor(context->of.context, tensor->of.tensor, data, byte_length, callback_of(request));
    return wnn_js_request_started(env, request);
}

// ---------------------------------------------------------------------------------------------------------------
// Execution
// ---------------------------------------------------------------------------------------------------------------

napi_value wnn_js_destroy_graph(napi_env env, napi_callback_info info)
{
    napi_value argument;
    struct handle *handle;
    if (wnn_js_arguments(env, info, 1, &argument) && (handle = wnn_js_handle(env, argument, HANDLE_GRAPH)))
        wnnGraphDestroy(handle->of.graph);
    return NULL;
}

static bool get_shapes(napi_env env, napi_value names, napi_value shapes, struct scratch *scratch,
                       size_t *count, const WNNNamedShape **list)
{
    uint32_t length;
    napi_value name, value;
    if (!wnn_js_ok(env, napi_get_array_length(env, names, &length)))
        return false;
    WNNNamedShape *named = wnn_js_allocate(env, scratch, length, sizeof *named);
    if (!named)
        return false;
    for (uint32_t i = 0; i < length; i++)
        if (!wnn_js_ok(env, napi_get_element(env, names, i, &name)) ||
            !wnn_js_ok(env, napi_get_element(env, shapes, i, &value)) ||
            !wnn_js_get_string(env, name, scratch, &named[i].name) ||
            !wnn_js_get_u32s(env, value, scratch, &named[i].shape))
            return false;
    *count = length;
    *list = named;
    return true;
}

// [name, [size, ...]]
static napi_value shape_value(napi_env env, const WNNOutputShape *shape)
{
    napi_value pair, sizes, size;
    if (!wnn_js_ok(env, napi_create_array_with_length(env, 2, &pair)) ||
        !wnn_js_ok(env, napi_create_array_with_length(env, shape->rank, &sizes)))
        return NULL;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (!wnn_js_ok(env, napi_create_uint32(env, shape->dimensions[i], &size)) ||
            !wnn_js_ok(env, napi_set_element(env, sizes, i, size)))
            return NULL;
    return wnn_js_ok(env, napi_set_element(env, pair, 0, wnn_js_string_view(env, shape->name))) &&
                   wnn_js_ok(env, napi_set_element(env, pair, 1, sizes))
               ? pair
               : NULL;
}

// computeShapes(graph, inputNames, inputShapes): [[outputName, [size, ...]], ...]
napi_value wnn_js_compute_shapes(napi_env env, napi_callback_info info)
{
    napi_value arguments[3], result = NULL, pair;
    struct handle *graph;
    struct scratch scratch = {NULL};
    size_t input_count, count;
    const WNNNamedShape *inputs;
    char message[1024];
    if (!wnn_js_arguments(env, info, 3, arguments) ||
        !(graph = wnn_js_handle(env, arguments[0], HANDLE_GRAPH)) ||
        !get_shapes(env, arguments[1], arguments[2], &scratch, &input_count, &inputs))
        goto end;
    wnnGraphGetOutputs(graph->of.graph, &count);
    WNNOutputShape *shapes = wnn_js_allocate(env, &scratch, count, sizeof *shapes);
    if (!shapes)
        goto end;
    WNNStatus status =
        wnnGraphComputeShapes(graph->of.graph, input_count, inputs, count, shapes, sizeof message, message);
    if (status != WNNStatus_Success) {
        wnn_js_throw(env, status, (WNNStringView){message, WNN_STRLEN});
        goto end;
    }
    if (!wnn_js_ok(env, napi_create_array_with_length(env, count, &result)))
        goto end;
    for (size_t i = 0; result && i < count; i++)
        if (!(pair = shape_value(env, &shapes[i])) ||
            !wnn_js_ok(env, napi_set_element(env, result, (uint32_t)i, pair)))
            result = NULL;
end:
    wnn_js_scratch_free(&scratch);
    return result;
}

static bool get_tensors(napi_env env, napi_value names, napi_value tensors, struct scratch *scratch,
                        size_t *count, const WNNNamedTensor **list)
{
    uint32_t length;
    napi_value name, value;
    struct handle *handle;
    if (!wnn_js_ok(env, napi_get_array_length(env, names, &length)))
        return false;
    WNNNamedTensor *named = wnn_js_allocate(env, scratch, length, sizeof *named);
    if (!named)
        return false;
    for (uint32_t i = 0; i < length; i++) {
        if (!wnn_js_ok(env, napi_get_element(env, names, i, &name)) ||
            !wnn_js_ok(env, napi_get_element(env, tensors, i, &value)) ||
            !wnn_js_get_string(env, name, scratch, &named[i].name) ||
            !(handle = wnn_js_handle(env, value, HANDLE_TENSOR)))
            return false;
        named[i].tensor = handle->of.tensor;
    }
    *count = length;
    *list = named;
    return true;
}

static bool get_buffers(napi_env env, napi_value names, napi_value arrays, struct scratch *scratch,
                        size_t *count, const WNNNamedBuffer **list)
{
    uint32_t length;
    napi_value name, value;
    if (!wnn_js_ok(env, napi_get_array_length(env, names, &length)))
        return false;
    WNNNamedBuffer *named = wnn_js_allocate(env, scratch, length, sizeof *named);
    if (!named)
        return false;
    for (uint32_t i = 0; i < length; i++)
        if (!wnn_js_ok(env, napi_get_element(env, names, i, &name)) ||
            !wnn_js_ok(env, napi_get_element(env, arrays, i, &value)) ||
            !wnn_js_get_string(env, name, scratch, &named[i].name) ||
            !wnn_js_get_bytes(env, value, &named[i].data, &named[i].byteLength))
            return false;
    *count = length;
    *list = named;
    return true;
}

// dispatch(context, graph, inputNames, inputTensors, outputNames, outputTensors)
napi_value wnn_js_dispatch(napi_env env, napi_callback_info info)
{
    napi_value arguments[6], result = NULL;
    struct handle *context, *graph;
    struct request *request;
    struct scratch scratch = {NULL};
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    if (wnn_js_arguments(env, info, 6, arguments) &&
        (context = wnn_js_handle(env, arguments[0], HANDLE_CONTEXT)) &&
        (graph = wnn_js_handle(env, arguments[1], HANDLE_GRAPH)) &&
        get_tensors(env, arguments[2], arguments[3], &scratch, &descriptor.inputCount, &descriptor.inputs) &&
        get_tensors(env, arguments[4], arguments[5], &scratch, &descriptor.outputCount,
                    &descriptor.outputs) &&
        (request = wnn_js_request(env, REQUEST_DISPATCH, context))) {
        descriptor.graph = graph->of.graph;
        wnnContextDispatch(context->of.context, &descriptor, callback_of(request));
        result = wnn_js_request_started(env, request);
    }
    wnn_js_scratch_free(&scratch);
    return result;
}

// compute(context, graph, inputNames, inputArrays, outputNames, outputArrays): a promise of undefined. Nobody
// may touch the arrays before it is settled.
napi_value wnn_js_compute(napi_env env, napi_callback_info info)
{
    napi_value arguments[6], kept, result = NULL;
    struct handle *context, *graph;
    struct request *request;
    struct scratch scratch = {NULL};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    if (!wnn_js_arguments(env, info, 6, arguments) ||
        !(context = wnn_js_handle(env, arguments[0], HANDLE_CONTEXT)) ||
        !(graph = wnn_js_handle(env, arguments[1], HANDLE_GRAPH)) ||
        !get_buffers(env, arguments[2], arguments[3], &scratch, &descriptor.inputCount, &descriptor.inputs) ||
        !get_buffers(env, arguments[4], arguments[5], &scratch, &descriptor.outputCount,
                     &descriptor.outputs) ||
        !wnn_js_ok(env, napi_create_array(env, &kept)) ||
        !wnn_js_ok(env, napi_set_element(env, kept, 0, arguments[3])) ||
        !wnn_js_ok(env, napi_set_element(env, kept, 1, arguments[5])) ||
        !(request = wnn_js_request(env, REQUEST_COMPUTE, context)))
        goto end;
    if (wnn_js_ok(env, napi_create_reference(env, kept, 1, &request->keep))) {
        descriptor.graph = graph->of.graph;
        wnnContextCompute(context->of.context, &descriptor, callback_of(request));
        result = wnn_js_request_started(env, request);
    } else {
        wnn_js_request_free(env, request);
    }
end:
    wnn_js_scratch_free(&scratch);
    return result;
}
