// SPDX-License-Identifier: Apache-2.0
#include "tools/session.h"

#include "runtime/backends.h"
#include "tools/late_sizes.h"
#include "tools/terminal.h"

#include <webnn/compiled.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parse_count(const char *option, const char *argument, unsigned long low, unsigned long high,
                 unsigned long *value)
{
    char *end;
    errno = 0;
    *value = strtoul(argument, &end, 10);
    // A sign, also behind spaces, would make a large number of a small one.
    if (errno == 0 && *argument >= '0' && *argument <= '9' && *end == '\0' && *value >= low && *value <= high)
        return true;
    fprintf(stderr, "webnn: --%s=%s: expected a number from %lu to %lu\n", option, SHOWN_STRING(argument),
            low, high);
    return false;
}

bool parse_real(const char *option, const char *argument, double low, double high, double *value)
{
    char *end;
    *value = strtod(argument, &end);
    if (end != argument && *end == '\0' && *value >= low && *value <= high)
        return true;
    fprintf(stderr, "webnn: --%s=%s: expected a number from %g to %g\n", option, SHOWN_STRING(argument), low,
            high);
    return false;
}

const struct backend *session_find_backend(const char *name)
{
    return wnn_backend_find(strcmp(name, "gpu") == 0 ? "vulkan" : name);
}

bool session_option(struct session_options *options, int option, const char *argument)
{
    unsigned long threads;
    switch (option) {
    case 1001:
        options->backend = argument;
        return true;
    case 1002:
        if (!parse_count("threads", argument, 1, MAX_THREADS, &threads))
            return false;
        options->threads = (unsigned)threads;
        return true;
    case 1003:
        options->strict = true;
        return true;
    case 1011:
        options->fast = true;
        return true;
    case 1004:
        options->load.weights = argument;
        return true;
    case 1006:
        options->device = argument;
        return true;
    case 1005:
        options->cache = argument;
        return true;
    case 1012:
        options->trust = true;
        return true;
    case 1007:
        return load_add_dimension(&options->load, argument);
    case 1008:
        return load_add_shape(&options->load, argument);
    case 1010:
        return load_add_value(&options->load, argument);
    case 1009:
        options->load.narrow = true;
        return true;
    default:
        return false;
    }
}

static void keep_error(WNNStatus status, WNNStringView message, void *session, void *unused)
{
    struct error *error = &((struct session *)session)->error;
    struct string text = wnn_string(message);
    (void)unused;
    error->status = WNNStatus_Success;
    wnn_fail(error, status, "%.*s", (int)text.length, text.data);
}

bool session_open(struct session *session, const struct session_options *options, struct error *error)
{
    *session =
        (struct session){.cache = FILE_CACHE_INIT, .trust = options->trust, .weights = options->load.weights};
    const char *backend = options->backend ? options->backend : options->device ? "gpu" : "cpu";
    session->backend = session_find_backend(backend);
    if (!session->backend)
        return wnn_fail(error, WNNStatus_NotSupportedError, "this build has no backend %.40s", backend);
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.threadCount = options->threads;
    descriptor.strictNumerics = options->strict;
    WNNContextNumerics numerics = WNN_CONTEXT_NUMERICS_INIT;
    numerics.numerics = WNNNumerics_Fast;
    if (options->fast)
        descriptor.nextInChain = &numerics.chain;
    WNNContextTarget target = WNN_CONTEXT_TARGET_INIT;
    target.target.data = options->target;
    target.chain.next = descriptor.nextInChain;
    if (options->target)
        descriptor.nextInChain = &target.chain;
    descriptor.device.data = options->device;
    descriptor.budget = options->budget;
    WNNCache cache = file_cache(&session->cache);
    if (options->cache && !file_cache_open(&session->cache, options->cache, error)) {
        file_cache_close(&session->cache);
        return false;
    }
    descriptor.cache = options->cache ? &cache : NULL;
    descriptor.errorCallbackInfo = (WNNErrorCallbackInfo){NULL, keep_error, session, NULL};
    WNNStatus status = wnn_create_context_on(session->backend, &descriptor, &session->context);
    if (status == WNNStatus_Success)
        return true;
    file_cache_close(&session->cache);
    return wnn_fail(error, status, "no context on the backend %s: %s", session->backend->name,
                    session->error.status ? session->error.message : wnnStatusName(status).data);
}

void session_close(struct session *session)
{
    late_sizes_free(session->sizes);
    session->sizes = NULL;
    wnnContextRelease(session->context);
    session->context = NULL;
    file_cache_close(&session->cache);
}

// Waits for one future; the terminal sees how long it has been when it is long.
static void wait_for(struct session *session, WNNFuture future, const char *what)
{
    struct progress progress;
    progress_begin(&progress, what);
    WNNFutureWaitInfo info = {future, false};
    while (wnnContextWaitAny(session->context, 1, &info, 200000000) == WNNWaitStatus_TimedOut)
        progress_show(&progress, 0, 0);
    progress_end(&progress);
}

struct build_result {
    WNNGraph graph;
    struct error *error;
};

static void keep_graph(WNNStatus status, WNNGraph graph, WNNStringView message, void *result, void *unused)
{
    struct build_result *build = result;
    struct string text = wnn_string(message);
    (void)unused;
    build->graph = graph;
    if (status != WNNStatus_Success)
        wnn_fail(build->error, status, "%.*s", (int)text.length, text.data);
}

static bool build(struct session *session, const struct model *model, const WNNChainedStruct *chain,
                  WNNGraph *graph, struct error *error)
{
    struct build_result result = {NULL, error};
    WNNBuildCallbackInfo info = WNN_BUILD_CALLBACK_INFO_INIT;
    info.nextInChain = chain;
    info.callback = keep_graph;
    info.userdata1 = &result;
    WNNFuture future = wnnGraphBuilderBuild(model->builder, model->output_count, model->outputs, info);
    wait_for(session, future, "building");
    *graph = result.graph;
    return result.graph || wnn_fail(error, WNNStatus_UnknownError, "the graph could not be built");
}

bool session_build(struct session *session, const struct model *model, WNNGraph *graph, struct error *error)
{
    return build(session, model, NULL, graph, error);
}

bool session_build_savable(struct session *session, const struct model *model, enum keeping keeping,
                           WNNGraph *graph, struct error *error)
{
    static const WNNSavable plan = WNN_SAVABLE_INIT;
    static const WNNRecompilable recorded = WNN_RECOMPILABLE_INIT;
    static const WNNWeightless no_weights = WNN_WEIGHTLESS_INIT;
    static const WNNChainedStruct *const chains[] = {[KEEPS_PLAN] = &plan.chain,
                                                     [KEEPS_RECORDED] = &recorded.chain,
                                                     [KEEPS_NO_WEIGHTS] = &no_weights.chain};
    return build(session, model, chains[keeping], graph, error);
}

static WNNStatus vouch(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)data;
    (void)size;
    (void)userdata1;
    (void)userdata2;
    return WNNStatus_Success;
}

bool session_load(struct session *session, WNNExternalBytes bytes, const WNNConstantSource *source,
                  bool skip_data_check, WNNGraph *graph, struct error *error)
{
    char message[WNN_MESSAGE_SIZE] = "";
    WNNRecompilable recompilable = WNN_RECOMPILABLE_INIT;
    recompilable.chain.next = source ? &source->chain : NULL;
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    descriptor.nextInChain = &recompilable.chain;
    descriptor.bytes = bytes;
    descriptor.authenticate = session->trust ? vouch : NULL;
    descriptor.skipDataCheck = skip_data_check;
    *graph = NULL;
    WNNStatus status = wnnContextLoadGraphSync(session->context, &descriptor, graph, sizeof message, message);
    return status == WNNStatus_Success || wnn_fail(error, status, "%s", message);
}

static void keep_status(WNNStatus status, WNNStringView message, void *error, void *unused)
{
    struct string text = wnn_string(message);
    (void)unused;
    if (status != WNNStatus_Success)
        wnn_fail(error, status, "%.*s", (int)text.length, text.data);
}

static WNNRequestCallbackInfo keep_in(struct error *error)
{
    WNNRequestCallbackInfo info = WNN_REQUEST_CALLBACK_INFO_INIT;
    info.callback = keep_status;
    info.userdata1 = error;
    return info;
}

bool session_await(struct session *session, WNNFuture future, const struct error *error)
{
    WNNFutureWaitInfo wait = {future, false};
    wnnContextWaitAny(session->context, 1, &wait, WNN_WAIT_FOREVER);
    return error->status == WNNStatus_Success;
}

WNNFuture session_begin_compute(struct session *session, WNNGraph graph, size_t input_count,
                                const WNNNamedBuffer *inputs, size_t output_count,
                                const WNNNamedBuffer *outputs, struct error *error)
{
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.nextInChain = session->sizes ? &session->sizes->chain.chain : NULL;
    descriptor.graph = graph;
    descriptor.inputCount = input_count;
    descriptor.inputs = inputs;
    descriptor.outputCount = output_count;
    descriptor.outputs = outputs;
    return wnnContextCompute(session->context, &descriptor, keep_in(error));
}

WNNFuture session_begin_dispatch(struct session *session, WNNGraph graph, size_t input_count,
                                 const WNNNamedTensor *inputs, size_t output_count,
                                 const WNNNamedTensor *outputs, struct error *error)
{
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputCount = input_count;
    descriptor.inputs = inputs;
    descriptor.outputCount = output_count;
    descriptor.outputs = outputs;
    return wnnContextDispatch(session->context, &descriptor, keep_in(error));
}

bool session_compute(struct session *session, WNNGraph graph, size_t input_count,
                     const WNNNamedBuffer *inputs, size_t output_count, const WNNNamedBuffer *outputs,
                     struct error *error)
{
    WNNFuture future =
        session_begin_compute(session, graph, input_count, inputs, output_count, outputs, error);
    return session_await(session, future, error);
}
