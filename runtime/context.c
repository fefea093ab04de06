// SPDX-License-Identifier: Apache-2.0
//
// Contexts: creation, life and loss, and what they tell about themselves.

#include "runtime/backends.h"
#include "runtime/cancel.h"
#include "runtime/context.h"
#include "runtime/internal.h"
#include "runtime/processor.h"
#include "runtime/worker.h"

#include <webnn/compiled.h>

#include <string.h>
#include <time.h>

#define TEXT_OF_NUMBER(x) #x
#define TEXT_OF(x)        TEXT_OF_NUMBER(x)

uint32_t wnnGetVersion(void)
{
    return WNN_VERSION;
}

WNNStringView wnnGetVersionText(void)
{
    static const char version[] =
        TEXT_OF(WNN_VERSION_MAJOR) "." TEXT_OF(WNN_VERSION_MINOR) "." TEXT_OF(WNN_VERSION_PATCH);
    return (WNNStringView){version, sizeof version - 1};
}

WNNStringView wnnStatusName(WNNStatus status)
{
    static const char *const names[] = {"Success",        "TypeError",         "InvalidStateError",
                                        "OperationError", "NotSupportedError", "SecurityError",
                                        "UnknownError",   "OutOfMemory",       "Cancelled"};
    const char *name = (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown status";
    return (WNNStringView){name, strlen(name)};
}

WNNStringView wnnDataTypeName(WNNDataType dataType)
{
    const char *name = wnn_dtype_valid(dataType) ? wnn_dtype_name(dataType) : "";
    return (WNNStringView){name, strlen(name)};
}

// ---------------------------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------------------------

static WNNStatus report(const WNNErrorCallbackInfo *info, const struct error *error)
{
    if (error->status != WNNStatus_Success && info->callback)
        info->callback(error->status, wnn_error_message(error), info->userdata1, info->userdata2);
    return error->status;
}

WNNStatus wnn_context_report(WNNContext context, const struct error *error)
{
    // What belongs to the callback may be gone with the last handle.
    if (atomic_load(&context->handles) == 0)
        return error->status;
    return report(&context->error_callback, error);
}

bool wnn_context_usable(WNNContext context, struct error *error)
{
    struct queue *queue = &context->queue;
    if (wnn_forked(context->forks))
        return wnn_fail_forked(error);
    pthread_mutex_lock(&queue->lock);
    bool lost = queue->lost;
    pthread_mutex_unlock(&queue->lock);
    return !lost ||
           wnn_fail(error, WNNStatus_InvalidStateError, "the context is lost: %s", queue->lost_message);
}

bool wnn_context_executes(WNNContext context, const char *method, struct error *error)
{
    return !context->described ||
           wnn_fail(error, WNNStatus_NotSupportedError,
                    "%s: the context only compiles, for the target \"%s\"", method, context->target);
}

// ---------------------------------------------------------------------------------------------------------------
// Creation
// ---------------------------------------------------------------------------------------------------------------

static bool check_descriptor(const WNNContextDescriptor *d, struct error *error)
{
    static const WNNLimits default_limits = WNN_LIMITS_INIT;
    if (!wnn_check_chain(d->nextInChain,
                         1u << WNNSType_VulkanDevice | 1u << WNNSType_Trace | 1u << WNNSType_Log |
                             1u << WNNSType_ContextNumerics | 1u << WNNSType_ContextTarget,
                         "context descriptor", error) ||
        !wnn_check_chain(d->lostCallbackInfo.nextInChain, 0, "lost callback info", error) ||
        !wnn_check_chain(d->errorCallbackInfo.nextInChain, 0, "error callback info", error))
        return false;
    if (d->deviceType != WNNDeviceType_CPU && d->deviceType != WNNDeviceType_GPU)
        return wnn_fail(error, WNNStatus_TypeError, "device type %d does not exist", (int)d->deviceType);
    if (d->powerPreference < WNNPowerPreference_Default || d->powerPreference > WNNPowerPreference_LowPower)
        return wnn_fail(error, WNNStatus_TypeError, "power preference %d does not exist",
                        (int)d->powerPreference);
    if (d->priority < WNNPriority_Low || d->priority > WNNPriority_High)
        return wnn_fail(error, WNNStatus_TypeError, "priority %d does not exist", (int)d->priority);
    WNNCallbackMode mode = d->lostCallbackInfo.mode;
    if (mode < WNNCallbackMode_WaitAnyOnly || mode > WNNCallbackMode_AllowSpontaneous)
        return wnn_fail(error, WNNStatus_TypeError, "lost callback: mode %d does not exist", (int)mode);
    if (d->threadPool && wnn_thread_pool_forked(d->threadPool))
        return wnn_fail_forked(error);
    if ((d->allocator && !wnn_check_chain(d->allocator->nextInChain, 0, "allocator", error)) ||
        (d->parallelFor && !wnn_check_chain(d->parallelFor->nextInChain, 0, "parallelFor", error)) ||
        (d->cache && !wnn_check_chain(d->cache->nextInChain, 0, "cache", error)) ||
        (d->limits && !wnn_check_chain(d->limits->nextInChain, 0, "limits", error)))
        return false;
    if (d->allocator && (!d->allocator->allocate || !d->allocator->release))
        return wnn_fail(error, WNNStatus_TypeError, "allocator: allocate and release are both needed");
    if (d->parallelFor && (!d->parallelFor->parallelFor || d->parallelFor->concurrency == 0))
        return wnn_fail(error, WNNStatus_TypeError,
                        "parallelFor: a function and a concurrency of at least 1 are needed");
    const WNNContextNumerics *numerics = wnn_chained(d->nextInChain, WNNSType_ContextNumerics);
    if (numerics && (numerics->numerics < WNNNumerics_Default || numerics->numerics > WNNNumerics_Fast))
        return wnn_fail(error, WNNStatus_TypeError, "numerics %d do not exist", (int)numerics->numerics);
    if (numerics && d->strictNumerics && numerics->numerics != WNNNumerics_Strict)
        return wnn_fail(error, WNNStatus_TypeError,
                        "numerics: strictNumerics is set, which allows only Strict");
    const WNNTrace *trace = wnn_chained(d->nextInChain, WNNSType_Trace);
    if (trace && !trace->event)
        return wnn_fail(error, WNNStatus_TypeError, "trace: a function for its events is needed");
    const WNNLog *log = wnn_chained(d->nextInChain, WNNSType_Log);
    if (log && (!log->callback || log->maxLevel < WNNLogLevel_Error || log->maxLevel > WNNLogLevel_Verbose))
        return wnn_fail(error, WNNStatus_TypeError, "log: a callback and a level that exists are needed");
    if (d->cache && (!d->cache->load || !d->cache->store))
        return wnn_fail(error, WNNStatus_TypeError, "cache: load and store are both needed");
    const WNNLimits *limits = d->limits ? d->limits : &default_limits;
    return wnn_check_string(limits, "context label", d->label, error) &&
           wnn_check_string(limits, "the name of the device", d->device, error);
}

// Of a target that is described.
static bool check_target(const struct backend *backend, const WNNContextDescriptor *d, struct error *error)
{
    static const WNNLimits default_limits = WNN_LIMITS_INIT;
    const WNNContextTarget *target = wnn_chained(d->nextInChain, WNNSType_ContextTarget);
    if (!target)
        return true;
    if (!wnn_check_string(d->limits ? d->limits : &default_limits, "the target", target->target, error))
        return false;
    if (wnn_string(target->target).length == 0)
        return wnn_fail(error, WNNStatus_TypeError, "target: there is no text that describes it");
    if (wnn_string(d->device).length > 0 || wnn_chained(d->nextInChain, WNNSType_VulkanDevice))
        return wnn_fail(error, WNNStatus_TypeError,
                        "target: a device is chosen, but the context is for a target "
                        "that is described");
    return backend->takes_target ||
           wnn_fail(error, WNNStatus_NotSupportedError,
                    "target: the backend %s compiles only for what it computes on", backend->name);
}

// Futures of different contexts differ, as good as always, so that those of another context are noticed.
// Small enough for a double.
static uint64_t first_future(WNNContext context)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t x = (uint64_t)(uintptr_t)context ^ (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return ((x >> 44) << 32) + 1;
}

static void free_context(WNNContext context)
{
    wnn_release(&context->allocator, context->operator_limits);
    wnn_queue_free(&context->queue, &context->allocator);
    wnn_spare_free(&context->spare, &context->allocator);
    pthread_mutex_destroy(&context->pthreadpool_lock);
    pthread_mutex_destroy(&context->stored.lock);
    pthread_cond_destroy(&context->stored.changed);
    WNNThreadPool pool = context->thread_pool;
    WNNBudget budget = context->shared_budget;
    wnn_budget_give(context->budget, WNNResource_Threads, context->threads);
    wnn_budget_give(context->budget, WNNResource_Objects, context->counted);
    struct allocator host;
    wnn_allocator_init(&host, &context->allocator.host, 0);
    wnn_release(&host, context);
    wnn_thread_pool_unref(pool);
    wnnBudgetRelease(budget);
}

void wnn_context_ref(WNNContext context)
{
    atomic_fetch_add(&context->references, 1);
}

void wnn_context_unref(WNNContext context)
{
    if (atomic_fetch_sub(&context->references, 1) == 1)
        free_context(context);
}

static void *completion_thread(void *argument)
{
    wnn_floating_point_default();
    wnn_queue_retire(argument);
    return NULL;
}

// On the worker, whose signal mask it inherits.
static bool start_completion_thread(WNNContext context, struct error *error)
{
    return !context->backend->submit || wnn_thread_start(context->thread_pool, &context->completion_thread,
                                                         completion_thread, context, error);
}

static void end_completion_thread(WNNContext context)
{
    if (!context->backend->submit)
        return;
    wnn_queue_stop(context);
    wnn_thread_join(&context->completion_thread);
}

static void *builder(void *argument)
{
    wnn_floating_point_default();
    wnn_queue_build(argument);
    return NULL;
}

static void return_external(const WNNVulkanDevice *external)
{
    if (external && external->ended)
        external->ended(external->userdata);
}

static struct string described_target(const WNNContextDescriptor *descriptor)
{
    const WNNContextTarget *target = wnn_chained(descriptor->nextInChain, WNNSType_ContextTarget);
    return target ? wnn_string(target->target) : STRING("");
}

// What stored graphs say that they are of and for.
static void name_target(WNNContext context)
{
    struct text library = TEXT(context->library), target = TEXT(context->target);
    if (!context->backend->describe_target)
        return;
    wnn_stored_library(&library);
    context->backend->describe_target(context->state, &target);
}

static void *worker(void *argument)
{
    WNNContext context = argument;
    struct queue *queue = &context->queue;
    wnn_floating_point_default();

    const WNNContextDescriptor *descriptor = context->start_descriptor;
    const struct backend_options options = {.allocator = &context->allocator,
                                            .parallel = &context->parallel,
                                            .strict_numerics = context->strict_numerics,
                                            .fast_numerics = context->fast_numerics,
                                            .power_preference = context->power_preference,
                                            .device = wnn_string(descriptor->device),
                                            .target = described_target(descriptor),
                                            .external =
                                                wnn_chained(descriptor->nextInChain, WNNSType_VulkanDevice),
                                            .cache = context->cache.load ? &context->cache : NULL,
                                            .log = &context->log};
    bool threads = wnn_threads_create(context, context->parallel.threads, context->start_error);
    bool created = threads && context->backend->create(&options, &context->state, context->start_error);
    if (created)
        name_target(context);
    bool runs = created && start_completion_thread(context, context->start_error);
    if (runs &&
        !wnn_thread_start(context->thread_pool, &context->builder, builder, context, context->start_error)) {
        end_completion_thread(context);
        runs = false;
    }
    if (!runs && context->start_error->status == WNNStatus_Success)
        wnn_fail(context->start_error, WNNStatus_UnknownError, "the backend %s does not start",
                 context->backend->name);
    pthread_mutex_lock(&queue->lock);
    context->started = runs ? WORKER_RUNS : WORKER_FAILED;
    context->start_error = NULL;
    context->start_descriptor = NULL;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);

    if (runs) {
        wnn_queue_work(context);
        wnn_thread_join(&context->builder); // which may have made graphs until now
        while (!wnn_graphs_end(context))
            wnn_queue_work(context);
        end_completion_thread(context);
    }
    if (created) {
        wnn_tensors_end(context);
        context->backend->destroy(context->state);
    }
    if (threads)
        wnn_threads_destroy(context);
    if (runs)
        return_external(&context->external_device);
    wnn_context_unref(context);
    return NULL;
}

static bool start_worker(WNNContext context, const WNNContextDescriptor *descriptor, struct error *error)
{
    struct queue *queue = &context->queue;
    wnn_context_ref(context);
    context->start_error = error;
    context->start_descriptor = descriptor;
    if (!wnn_thread_start(context->thread_pool, &context->worker, worker, context, error)) {
        wnn_context_unref(context);
        return false;
    }
    pthread_mutex_lock(&queue->lock);
    while (context->started == WORKER_STARTS)
        pthread_cond_wait(&queue->changed, &queue->lock);
    bool runs = context->started == WORKER_RUNS;
    pthread_mutex_unlock(&queue->lock);
    if (!runs)
        wnn_thread_join(&context->worker);
    return runs;
}

// The context itself and its threads.
static bool take_of_budget(WNNContext context, struct error *error)
{
    uint64_t threads = 2 + (context->backend->submit != NULL);
    if (!context->thread_pool && !context->host_parallel.parallelFor)
        threads += context->parallel.threads - 1;
    if (wnn_budget_take(context->budget, WNNResource_Threads, threads))
        context->threads = threads;
    else
        return wnn_fail(error, WNNStatus_OutOfMemory, "the budget has no %llu threads left",
                        (unsigned long long)threads);
    context->counted = wnn_take_object(context, error);
    return context->counted;
}

bool wnn_take_object(WNNContext context, struct error *error)
{
    return wnn_budget_take(context->budget, WNNResource_Objects, 1) ||
           wnn_fail(error, WNNStatus_OutOfMemory, "the budget allows no more objects");
}

static bool create_context(const struct backend *backend, const WNNContextDescriptor *descriptor,
                           WNNContext *result, struct error *error)
{
    if (!check_descriptor(descriptor, error))
        return false;
    if (!backend && !(backend = wnn_backend_for_device(descriptor->deviceType)))
        return wnn_fail(error, WNNStatus_NotSupportedError, "there is no backend for the device type %s",
                        descriptor->deviceType == WNNDeviceType_GPU ? "GPU" : "CPU");
    if (!backend->enumerate && wnn_string(descriptor->device).length > 0)
        return wnn_fail(error, WNNStatus_TypeError, "a device is named, but the backend %s has only one",
                        backend->name);
    if (!check_target(backend, descriptor, error))
        return false;
    const WNNVulkanDevice *external = wnn_chained(descriptor->nextInChain, WNNSType_VulkanDevice);
    if (external && !backend->handles)
        return wnn_fail(error, WNNStatus_TypeError,
                        "the context descriptor has a Vulkan device for the backend %s", backend->name);
    struct allocator host;
    wnn_allocator_init(&host, descriptor->allocator, 0);
    WNNContext context = wnn_allocate_zero(&host, sizeof *context);
    if (!context)
        return wnn_fail_memory(error);
    if (!wnn_queue_init(&context->queue, first_future(context))) {
        wnn_release(&host, context);
        return wnn_fail_memory(error);
    }

    context->forks = wnn_forks_begin();
    pthread_mutex_init(&context->pthreadpool_lock, NULL);
    pthread_mutex_init(&context->stored.lock, NULL);
    pthread_cond_init(&context->stored.changed, NULL);
    atomic_init(&context->handles, 1);
    atomic_init(&context->references, 1);
    context->backend = backend;
    context->limits = descriptor->limits ? *descriptor->limits : (WNNLimits)WNN_LIMITS_INIT;
    context->queue.max_pending = context->limits.maxPendingRequests;
    wnn_allocator_init(&context->allocator, &host.host, context->limits.maxMemoryBytes);
    context->lost_callback = descriptor->lostCallbackInfo;
    context->error_callback = descriptor->errorCallbackInfo;
    context->accelerated = descriptor->accelerated;
    const WNNContextNumerics *numerics = wnn_chained(descriptor->nextInChain, WNNSType_ContextNumerics);
    context->strict_numerics =
        descriptor->strictNumerics || (numerics && numerics->numerics == WNNNumerics_Strict);
    context->fast_numerics = numerics && numerics->numerics == WNNNumerics_Fast;
    context->described = described_target(descriptor).length > 0;
    context->external = external != NULL;
    if (external)
        context->external_device = *external;
    context->power_preference = descriptor->powerPreference;
    context->shared_budget = descriptor->budget;
    wnnBudgetAddRef(context->shared_budget);
    context->allocator.budget = context->budget = wnn_budget_of(context->shared_budget);
    context->thread_pool = descriptor->threadPool;
    context->priority = descriptor->priority;
    wnn_thread_pool_ref(context->thread_pool);
    if (descriptor->cache)
        context->cache = *descriptor->cache;
    const WNNTrace *trace = wnn_chained(descriptor->nextInChain, WNNSType_Trace);
    if (trace)
        context->trace = *trace;
    const WNNLog *log = wnn_chained(descriptor->nextInChain, WNNSType_Log);
    if (log)
        context->log = *log;
    atomic_init(&context->trace_flows, context->queue.first_id);
    if (descriptor->parallelFor)
        context->host_parallel = *descriptor->parallelFor;
    context->parallel.threads = descriptor->parallelFor   ? descriptor->parallelFor->concurrency
                                : descriptor->threadCount ? descriptor->threadCount
                                                          : wnn_processor_count();
#ifndef NDEBUG
    context->compile.verify = true;
#endif
    if (!take_of_budget(context, error) || !wnn_limits_create(context, error) ||
        !start_worker(context, descriptor, error)) {
        wnn_context_unref(context);
        return false;
    }
    uint64_t most = backend->max_bytes ? backend->max_bytes(context->state) : 0;
    if (most > 0 && (context->limits.maxTensorByteLength == 0 || most < context->limits.maxTensorByteLength))
        context->limits.maxTensorByteLength = most;
    wnn_log(&context->log, Info, "context on %s (%s), %u threads", wnn_context_device(context), backend->name,
            context->parallel.threads);
    *result = context;
    return true;
}

WNNStatus wnn_create_context_on(const struct backend *backend, const WNNContextDescriptor *descriptor,
                                WNNContext *context)
{
    static const WNNContextDescriptor defaults = WNN_CONTEXT_DESCRIPTOR_INIT;
    if (!descriptor)
        descriptor = &defaults;
    struct error error = {0};
    if (!context)
        wnn_fail(&error, WNNStatus_TypeError, "createContext: no place for the context");
    else if ((*context = NULL), !create_context(backend, descriptor, context, &error))
        *context = NULL;
    if (error.status != WNNStatus_Success)
        return_external(wnn_chained(descriptor->nextInChain, WNNSType_VulkanDevice));
    return report(&descriptor->errorCallbackInfo, &error);
}

WNNStatus wnnCreateContext(const WNNContextDescriptor *descriptor, WNNContext *context)
{
    return wnn_create_context_on(NULL, descriptor, context);
}

// ---------------------------------------------------------------------------------------------------------------
// Life
// ---------------------------------------------------------------------------------------------------------------

void wnnContextAddRef(WNNContext context)
{
    if (context)
        atomic_fetch_add(&context->handles, 1);
}

static void lose(WNNContext context, WNNContextLostReason reason, const char *message)
{
    struct request_list cancelled = {NULL, NULL};
    if (wnn_lose_begin(context, reason, message, &cancelled))
        wnn_lose_end(context, &cancelled);
}

void wnnContextRelease(WNNContext context)
{
    if (!context || atomic_fetch_sub(&context->handles, 1) != 1 || wnn_forked(context->forks))
        return;
    struct queue *queue = &context->queue;
    lose(context, WNNContextLostReason_Released, "its last handle was released");
    pthread_mutex_lock(&queue->lock);
    queue->ending = true;
    pthread_cond_signal(&queue->work);
    pthread_cond_signal(&queue->build_work);
    pthread_mutex_unlock(&queue->lock);
    // In a callback on a thread of the context: it goes on to its end by itself.
    bool own = wnn_thread_is_current(&context->worker) || wnn_thread_is_current(&context->builder) ||
               (context->backend->submit && wnn_thread_is_current(&context->completion_thread));
    if (own) {
        // Other threads of the context may be in the middle of requests, which were told to stop.
        bool builds = wnn_thread_is_current(&context->builder),
             retires = context->backend->submit && wnn_thread_is_current(&context->completion_thread);
        pthread_mutex_lock(&queue->lock);
        while ((builds ? queue->running : queue->builder_busy) ||
               (!retires && (queue->in_flight.first || queue->retiring)))
            pthread_cond_wait(&queue->changed, &queue->lock);
        pthread_mutex_unlock(&queue->lock);
        wnn_thread_detach(&context->worker);
    } else
        wnn_thread_join(&context->worker);
    wnn_queue_close(context);
    wnn_context_unref(context);
}

void wnnContextDestroy(WNNContext context)
{
    if (!context || wnn_forked(context->forks))
        return;
    wnn_context_ref(context);
    lose(context, WNNContextLostReason_Destroyed, "wnnContextDestroy was called");
    wnn_context_unref(context);
}

bool wnnContextIsLost(WNNContext context)
{
    struct error error = {0};
    return !context || !wnn_context_usable(context, &error);
}

WNNContextLostReason wnnContextGetLostReason(WNNContext context)
{
    if (!context)
        return WNNContextLostReason_Destroyed;
    if (wnn_forked(context->forks))
        return WNNContextLostReason_DeviceLost;
    pthread_mutex_lock(&context->queue.lock);
    WNNContextLostReason reason = context->queue.lost_reason;
    pthread_mutex_unlock(&context->queue.lock);
    return reason;
}

// ---------------------------------------------------------------------------------------------------------------
// Properties
// ---------------------------------------------------------------------------------------------------------------

WNNStatus wnnContextGetVulkanHandles(WNNContext context, WNNVulkanHandles *handles)
{
    struct error error = {0};
    if (!context)
        return WNNStatus_TypeError;
    if (!wnn_check_outputs(handles, 1, sizeof *handles, "Vulkan handles", &error))
        return wnn_context_report(context, &error);
    *handles = (WNNVulkanHandles)WNN_VULKAN_HANDLES_INIT;
    if (!context->backend->handles)
        wnn_fail(&error, WNNStatus_NotSupportedError, "the backend %s has no Vulkan handles",
                 context->backend->name);
    else if (wnn_context_usable(context, &error))
        context->backend->handles(context->state, handles);
    return wnn_context_report(context, &error);
}

WNNStatus wnnContextGetTarget(WNNContext context, WNNTargetInfo *info)
{
    struct error error = {0};
    if (!context)
        return WNNStatus_TypeError;
    if (!wnn_check_outputs(info, 1, sizeof *info, "target info", &error))
        return wnn_context_report(context, &error);
    *info = (WNNTargetInfo)WNN_TARGET_INFO_INIT;
    if (!context->backend->describe_target)
        wnn_fail(&error, WNNStatus_NotSupportedError, "the backend %s does not save graphs",
                 context->backend->name);
    else
        *info = (WNNTargetInfo){.library = {context->library, strlen(context->library)},
                                .backend = {context->backend->name, strlen(context->backend->name)},
                                .target = {context->target, strlen(context->target)},
                                .isDescribed = context->described};
    return wnn_context_report(context, &error);
}

bool wnnContextGetAccelerated(WNNContext context)
{
    return context && context->accelerated;
}

WNNStatus wnnContextGetLimits(WNNContext context, WNNLimits *limits)
{
    struct error error = {0};
    if (!context)
        return WNNStatus_TypeError;
    if (wnn_check_outputs(limits, 1, sizeof *limits, "limits", &error))
        *limits = context->limits;
    return wnn_context_report(context, &error);
}

WNNStatus wnnContextPreload(WNNContext context)
{
    if (!context)
        return WNNStatus_TypeError;
    struct error error = {0};
    if (wnn_context_usable(context, &error) && context->backend->preload &&
        !(context->backend->preload(&error) && wnn_threads_preload(context, &error)))
        wnn_fail(&error, WNNStatus_UnknownError, "the backend %s cannot be loaded", context->backend->name);
    return wnn_context_report(context, &error);
}

WNNStatus wnnContextGetCounters(WNNContext context, WNNContextCounters *counters)
{
    struct error error = {0};
    if (!context)
        return WNNStatus_TypeError;
    if (!wnn_check_outputs(counters, 1, sizeof *counters, "counters", &error))
        return wnn_context_report(context, &error);
    *counters = (WNNContextCounters)WNN_CONTEXT_COUNTERS_INIT;
    if (wnn_forked(context->forks)) {
        wnn_fail_forked(&error);
        return wnn_context_report(context, &error);
    }
    pthread_mutex_lock(&context->queue.lock);
    counters->pendingRequests = context->queue.pending;
    pthread_mutex_unlock(&context->queue.lock);
    counters->builders = atomic_load(&context->builder_count);
    counters->graphs = atomic_load(&context->graph_count);
    counters->tensors = atomic_load(&context->tensor_count);
    // An allocation that is being tried counts for a moment, and may be refused then.
    uint64_t now = atomic_load(&context->allocator.now), peak = atomic_load(&context->allocator.peak);
    counters->allocatedBytes = now < peak ? now : peak;
    counters->maxAllocatedBytes = peak;
    return WNNStatus_Success;
}

const char *wnn_context_device(WNNContext context)
{
    const struct backend *backend = context->backend;
    return backend->device_name ? backend->device_name(context->state) : backend->name;
}

bool wnn_context_flushes_denormals(WNNContext context)
{
    const struct backend *backend = context->backend;
    return backend->flushes_denormals && backend->flushes_denormals(context->state);
}

uint32_t wnn_context_threads(WNNContext context)
{
    return context->parallel.threads;
}

void wnn_context_set_sharing(WNNContext context, bool shares)
{
    pthread_mutex_lock(&context->queue.lock);
    context->compile.shares = shares;
    pthread_mutex_unlock(&context->queue.lock);
}

void wnn_context_set_compile_options(WNNContext context, uint32_t skip, bool verify,
                                     void (*observe)(void *argument, const char *pass,
                                                     const struct graph *graph),
                                     void *observer)
{
    pthread_mutex_lock(&context->queue.lock);
    context->compile.skip = skip;
    context->compile.verify = verify;
    context->compile.observe = observe;
    context->compile.observer = observer;
    pthread_mutex_unlock(&context->queue.lock);
}

void wnn_context_set_explainer(WNNContext context, struct explainer explainer)
{
    pthread_mutex_lock(&context->queue.lock);
    context->compile.explainer = explainer;
    pthread_mutex_unlock(&context->queue.lock);
}
