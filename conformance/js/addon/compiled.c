// SPDX-License-Identifier: Apache-2.0
//
// Compiled graphs in files, for the cache of ../graph_cache.mjs. These functions are not for pages: they take
// descriptors of this process, and tell what the device is.

#include "conformance/js/addon/addon.h"

#include <webnn/compiled.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool get_file(napi_env env, napi_value value, int *file)
{
    uint32_t number;
    if (!wnn_js_get_u32(env, value, &number))
        return false;
    *file = number <= INT_MAX ? (int)number : -1;
    return true;
}

static void throw_text(napi_env env, WNNStatus status, const char *text)
{
    wnn_js_throw(env, status, (WNNStringView){text, WNN_STRLEN});
}

// describeDevice(context): what compiled graphs are for, as far as it can be told before there is one.
napi_value wnn_js_describe_device(napi_env env, napi_callback_info info)
{
    napi_value argument;
    struct handle *context;
    WNNDeviceInfo device = WNN_DEVICE_INFO_INIT;
    char text[2048];
    if (!wnn_js_arguments(env, info, 1, &argument) ||
        !(context = wnn_js_handle(env, argument, HANDLE_CONTEXT)))
        return NULL;
    wnnContextGetDeviceInfo(context->of.context, &device);
    snprintf(text, sizeof text, "%d %x:%x %s; %u %s %s %s; %s", (int)device.deviceType, device.vendorId,
             device.deviceId, device.name, device.driverId, device.driverName, device.driverVersionText,
             device.driverInfo, device.instructionSets);
    return wnn_js_string(env, text);
}

// ---------------------------------------------------------------------------------------------------------------
// Files
// ---------------------------------------------------------------------------------------------------------------

static WNNStatus write_file(const void *data, size_t size, uint64_t rest, void *userdata, void *unused)
{
    struct request *request = userdata;
    const char *bytes = data;
    (void)unused;
    if (size > request->byte_length || rest > request->byte_length - size)
        return WNNStatus_OperationError;
    request->byte_length -= size;
    while (size > 0) {
        ssize_t count = write(request->file, bytes, size);
        if (count < 0 && errno != EINTR)
            return WNNStatus_OperationError;
        bytes += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return WNNStatus_Success;
}

// save(graph, file, maxBytes): a promise of undefined. Nothing is written of a graph that takes more.
napi_value wnn_js_save_graph(napi_env env, napi_callback_info info)
{
    napi_value arguments[3];
    struct handle *graph;
    struct request *request;
    int file;
    double max;
    if (!wnn_js_arguments(env, info, 3, arguments) ||
        !(graph = wnn_js_handle(env, arguments[0], HANDLE_GRAPH)) || !get_file(env, arguments[1], &file) ||
        !wnn_js_ok(env, napi_get_value_double(env, arguments[2], &max)) ||
        !(request = wnn_js_request(env, REQUEST_SAVE, graph->context)))
        return NULL;
    // The worker writes while JavaScript may close the file: at the end of a worker thread, for instance.
    request->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (request->file < 0) {
        wnn_js_request_free(env, request);
        throw_text(env, WNNStatus_TypeError, strerror(errno));
        return NULL;
    }
    request->byte_length = max >= 9007199254740992.0 ? SIZE_MAX : max > 0 ? (size_t)max : 0;
    WNNSaveGraphDescriptor descriptor = WNN_SAVE_GRAPH_DESCRIPTOR_INIT;
    descriptor.write = write_file;
    descriptor.userdata1 = request;
    wnnGraphSave(graph->of.graph, &descriptor,
                 (WNNRequestCallbackInfo){.mode = WNNCallbackMode_AllowSpontaneous,
                                          .callback = wnn_js_on_done,
                                          .userdata1 = request});
    return wnn_js_request_started(env, request);
}

static void unmap(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)userdata1, (void)userdata2;
    munmap((void *)(uintptr_t)data, size);
}

static WNNStatus vouch(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)data, (void)size, (void)userdata1, (void)userdata2;
    return WNNStatus_Success;
}

static bool map_file(napi_env env, int file, WNNExternalBytes *bytes)
{
    struct stat status;
    void *data = MAP_FAILED;
    bool good = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
    if (good)
        data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) {
        throw_text(env, WNNStatus_TypeError, good ? strerror(errno) : "no file, or an empty one");
        return false;
    }
    *bytes = (WNNExternalBytes){NULL, data, (size_t)status.st_size, unmap, NULL, NULL};
    return true;
}

// load(context, file): a promise as of build(). The caller vouches for the file: that nobody writes to it any
// more, and that no stranger has.
napi_value wnn_js_load_graph(napi_env env, napi_callback_info info)
{
    napi_value arguments[2];
    struct handle *context;
    struct request *request;
    int file;
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    if (!wnn_js_arguments(env, info, 2, arguments) ||
        !(context = wnn_js_handle(env, arguments[0], HANDLE_CONTEXT)) ||
        !get_file(env, arguments[1], &file) || !map_file(env, file, &descriptor.bytes))
        return NULL;
    if (!(request = wnn_js_request(env, REQUEST_BUILD, context))) {
        unmap(descriptor.bytes.data, descriptor.bytes.byteLength, NULL, NULL);
        return NULL;
    }
    descriptor.authenticate = vouch;
    wnnContextLoadGraph(context->of.context, &descriptor,
                        (WNNBuildCallbackInfo){.mode = WNNCallbackMode_AllowSpontaneous,
                                               .callback = wnn_js_on_built,
                                               .userdata1 = request});
    return wnn_js_request_started(env, request);
}
