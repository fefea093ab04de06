// SPDX-License-Identifier: Apache-2.0
//
// Tensors, and reading and writing them: https://www.w3.org/TR/webnn/#api-mltensor. The bytes of a tensor
// change in the order of the timeline only, and stay as long as a request needs them.

#include "runtime/internal.h"
#include "runtime/request.h"
#include "runtime/submit.h"
#include "runtime/trace.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Memory of the device
// ---------------------------------------------------------------------------------------------------------------

// Before a call that needs the backend's state off the worker; false: it is about to go.
static bool begin_call(struct stored *stored)
{
    pthread_mutex_lock(&stored->lock);
    bool open = !stored->closed;
    stored->calls += open;
    pthread_mutex_unlock(&stored->lock);
    return open;
}

static void end_call(struct stored *stored)
{
    pthread_mutex_lock(&stored->lock);
    stored->calls--;
    pthread_cond_broadcast(&stored->changed);
    pthread_mutex_unlock(&stored->lock);
}

static void enter(struct stored *stored, WNNTensor tensor, void *memory)
{
    pthread_mutex_lock(&stored->lock);
    tensor->stored = memory;
    tensor->next = stored->first;
    if (tensor->next)
        tensor->next->previous = tensor;
    stored->first = tensor;
    pthread_mutex_unlock(&stored->lock);
}

// Under the lock.
static void *leave(struct stored *stored, WNNTensor tensor)
{
    void *memory = tensor->stored;
    tensor->stored = NULL;
    *(tensor->previous ? &tensor->previous->next : &stored->first) = tensor->next;
    if (tensor->next)
        tensor->next->previous = tensor->previous;
    return memory;
}

static bool store(WNNTensor tensor, const WNNChainedStruct *chain, struct error *error)
{
    WNNContext context = tensor->context;
    void *memory = NULL;
    if (!begin_call(&context->stored))
        return wnn_context_usable(context, error);
    bool done = context->backend->tensor_create(context->state, tensor->bytes, chain, &memory, error);
    if (done)
        enter(&context->stored, tensor, memory);
    end_call(&context->stored);
    return done;
}

static void free_stored(WNNTensor tensor)
{
    WNNContext context = tensor->context;
    struct stored *stored = &context->stored;
    void *memory = NULL;
    if (wnn_forked(context->forks))
        return;
    pthread_mutex_lock(&stored->lock);
    if (tensor->stored && !stored->closed) {
        memory = leave(stored, tensor);
        stored->calls++;
    }
    pthread_mutex_unlock(&stored->lock);
    if (!memory)
        return;
    context->backend->tensor_free(context->state, memory);
    end_call(stored);
}

void wnn_tensors_end(WNNContext context)
{
    struct stored *stored = &context->stored;
    pthread_mutex_lock(&stored->lock);
    stored->closed = true;
    while (stored->calls > 0)
        pthread_cond_wait(&stored->changed, &stored->lock);
    while (stored->first) {
        void *memory = leave(stored, stored->first);
        pthread_mutex_unlock(&stored->lock);
        context->backend->tensor_free(context->state, memory);
        pthread_mutex_lock(&stored->lock);
    }
    pthread_mutex_unlock(&stored->lock);
}

// ---------------------------------------------------------------------------------------------------------------
// Life
// ---------------------------------------------------------------------------------------------------------------

void wnn_tensor_ref(WNNTensor tensor)
{
    atomic_fetch_add(&tensor->references, 1);
}

bool wnn_tensor_begin_use(WNNTensor tensor)
{
    unsigned uses = atomic_load(&tensor->uses);
    do {
        if (uses == 0)
            return false;
    } while (!atomic_compare_exchange_weak(&tensor->uses, &uses, uses + 1));
    if (!atomic_load(&tensor->destroyed))
        return true;
    wnn_tensor_end_use(tensor);
    return false;
}

void wnn_tensor_end_use(WNNTensor tensor)
{
    if (atomic_fetch_sub(&tensor->uses, 1) != 1)
        return;
    free_stored(tensor);
    wnn_release(&tensor->context->allocator, tensor->data);
    wnn_constant_unref(tensor->constant);
    tensor->data = NULL;
    tensor->constant = NULL;
}

void wnn_tensor_unref(WNNTensor tensor)
{
    if (atomic_fetch_sub(&tensor->references, 1) != 1)
        return;
    WNNContext context = tensor->context;
    wnnTensorDestroy(tensor);
    wnn_release(&context->allocator, tensor);
    wnn_context_unref(context);
}

void wnnTensorAddRef(WNNTensor tensor)
{
    if (tensor)
        atomic_fetch_add(&tensor->handles, 1);
}

void wnnTensorRelease(WNNTensor tensor)
{
    if (!tensor || atomic_fetch_sub(&tensor->handles, 1) != 1)
        return;
    atomic_fetch_sub(&tensor->context->tensor_count, 1);
    wnn_budget_give(tensor->context->budget, WNNResource_Objects, 1);
    wnn_tensor_unref(tensor);
}

void wnnTensorDestroy(WNNTensor tensor)
{
    if (tensor && !atomic_exchange(&tensor->destroyed, true))
        wnn_tensor_end_use(tensor);
}

// ---------------------------------------------------------------------------------------------------------------
// Creation
// ---------------------------------------------------------------------------------------------------------------

// Checks the descriptor; `bytes` are what it takes.
static bool check(WNNContext context, const char *method, uint32_t chains,
                  const WNNTensorDescriptor *descriptor, struct descriptor *type, size_t *bytes,
                  struct error *error)
{
    if (!wnn_context_usable(context, error) || !wnn_context_executes(context, method, error))
        return false;
    if (!descriptor)
        return wnn_fail(error, WNNStatus_TypeError, "%s: no descriptor was given", method);
    char what[64];
    struct text text = TEXT(what);
    wnn_text_add(&text, "%s: the label", method);
    if (!wnn_check_chain(descriptor->nextInChain, chains, method, error) ||
        !wnn_check_string(&context->limits, what, descriptor->label, error))
        return false;
    text = TEXT(what);
    wnn_text_add(&text, "%s: the tensor", method);
    if (!wnn_check_descriptor(&context->limits, NULL, what, descriptor->dataType, descriptor->shape, type,
                              error))
        return false;
    *bytes = wnn_descriptor_bytes(type);
    return true;
}

// A tensor without memory.
static WNNTensor create_bare(WNNContext context, const WNNTensorDescriptor *descriptor,
                             const struct descriptor *type, size_t bytes)
{
    WNNTensor tensor = wnn_allocate_zero(&context->allocator, sizeof(struct WNNTensorImpl));
    if (!tensor)
        return NULL;
    wnn_context_ref(context);
    tensor->context = context;
    atomic_init(&tensor->handles, 1);
    atomic_init(&tensor->references, 1);
    atomic_init(&tensor->uses, 1);
    atomic_init(&tensor->destroyed, false);
    tensor->readable = descriptor->readable;
    tensor->writable = descriptor->writable;
    tensor->type = *type;
    tensor->bytes = bytes;
    return tensor;
}

// Takes the tensor, which may be NULL: counts it if it has got its memory, or drops it. Returns it or NULL.
static WNNTensor complete(WNNTensor tensor, bool good, const struct descriptor *type, size_t bytes,
                          struct error *error)
{
    if (tensor && good && wnn_take_object(tensor->context, error)) {
        atomic_fetch_add(&tensor->context->tensor_count, 1);
        return tensor;
    }
    if (tensor)
        wnn_tensor_unref(tensor);
    wnn_fail(error, WNNStatus_OutOfMemory, "out of memory for a tensor of %zu bytes (%s %s)", bytes,
             wnn_dtype_name(type->type), SHAPE_TEXT(&type->shape));
    return NULL;
}

static bool check_place(WNNContext context, WNNTensor *tensor, const char *method, struct error *error)
{
    if (tensor)
        *tensor = NULL;
    return (context && tensor) ||
           wnn_fail(error, WNNStatus_TypeError, "%s: no context or no place for the tensor", method);
}

// Gives back what a descriptor lends to a tensor that did not come to be.
static void return_external(const WNNTensorDescriptor *descriptor)
{
    const WNNVulkanBuffer *external =
        descriptor ? wnn_chained(descriptor->nextInChain, WNNSType_VulkanBuffer) : NULL;
    if (external && external->release)
        external->release(external->buffer, external->userdata);
}

// Of structs that are known.
static bool check_sources(const WNNChainedStruct *chain, const char *method, struct error *error)
{
    unsigned count = 0;
    for (const WNNChainedStruct *one = chain; one; one = one->next)
        count += one->sType != WNNSType_VulkanMemoryOwner;
    if (count > 1)
        return wnn_fail(error, WNNStatus_TypeError, "%s: the memory can have one source, not two", method);
    return !wnn_chained(chain, WNNSType_VulkanMemoryOwner) || wnn_chained(chain, WNNSType_VulkanMemory) ||
           wnn_fail(error, WNNStatus_TypeError, "%s: there is an owner, but no memory that is its", method);
}

static WNNTensor create_tensor(WNNContext context, const WNNTensorDescriptor *descriptor, struct error *error)
{
    static const char method[] = "createTensor";
    const uint32_t sources = 1u << WNNSType_VulkanBuffer | 1u << WNNSType_VulkanMemory |
                             1u << WNNSType_VulkanExport | 1u << WNNSType_VulkanMemoryOwner;
    struct descriptor type;
    size_t bytes;
    if (!check(context, method, sources, descriptor, &type, &bytes, error) ||
        !check_sources(descriptor->nextInChain, method, error))
        return NULL;
    const WNNChainedStruct *chain = descriptor->nextInChain;
    bool on_device = context->backend->tensor_create != NULL;
    if (chain && !on_device)
        return wnn_fail(error, WNNStatus_TypeError, "%s: the tensors of the backend %s have no Vulkan memory",
                        method, context->backend->name),
               NULL;
    WNNTensor tensor = create_bare(context, descriptor, &type, bytes);
    bool good = false;
    if (tensor && on_device) {
        tensor->exportable = wnn_chained(chain, WNNSType_VulkanExport) != NULL;
        good = store(tensor, chain, error);
    } else if (tensor) {
        tensor->data = wnn_allocate_zero(&context->allocator, bytes);
        good = tensor->data != NULL;
    }
    return complete(tensor, good, &type, bytes, error);
}

WNNStatus wnnContextCreateTensor(WNNContext context, const WNNTensorDescriptor *descriptor, WNNTensor *tensor)
{
    struct error error = {0};
    if (check_place(context, tensor, "createTensor", &error))
        *tensor = create_tensor(context, descriptor, &error);
    if (error.status != WNNStatus_Success)
        return_external(descriptor);
    return context ? wnn_context_report(context, &error) : error.status;
}

WNNStatus wnnContextCreateConstantTensor(WNNContext context, const WNNTensorDescriptor *descriptor,
                                         const void *data, size_t byteLength, WNNTensor *tensor)
{
    static const char method[] = "createConstantTensor";
    struct error error = {0};
    struct descriptor type;
    size_t bytes;
    if (check_place(context, tensor, method, &error) &&
        check(context, method, 0, descriptor, &type, &bytes, &error)) {
        if (descriptor->readable || descriptor->writable) {
            wnn_fail(&error, WNNStatus_TypeError, "%s: a constant tensor is neither readable nor writable",
                     method);
        } else if (byteLength != bytes || (!data && bytes)) {
            wnn_fail(&error, WNNStatus_TypeError, "%s: the data have %zu bytes%s; expected %zu (%s %s)",
                     method, byteLength, data ? "" : " at no address", bytes, wnn_dtype_name(type.type),
                     SHAPE_TEXT(&type.shape));
        } else {
            struct constant *constant = wnn_constant_create(&context->allocator, bytes);
            if (constant && bytes)
                memcpy((void *)(uintptr_t)constant->data, data, bytes);
            *tensor = constant ? create_bare(context, descriptor, &type, bytes) : NULL;
            if (*tensor) {
                (*tensor)->is_constant = true;
                (*tensor)->constant = constant;
            } else {
                wnn_constant_unref(constant);
            }
            *tensor = complete(*tensor, true, &type, bytes, &error);
        }
    }
    return context ? wnn_context_report(context, &error) : error.status;
}

// ---------------------------------------------------------------------------------------------------------------
// Properties
// ---------------------------------------------------------------------------------------------------------------

WNNDataType wnnTensorGetDataType(WNNTensor tensor)
{
    return tensor ? tensor->type.type : WNNDataType_Undefined;
}

WNNUint32List wnnTensorGetShape(WNNTensor tensor)
{
    return tensor ? (WNNUint32List){tensor->type.shape.dim, tensor->type.shape.rank}
                  : (WNNUint32List){NULL, 0};
}

size_t wnnTensorGetByteLength(WNNTensor tensor)
{
    return tensor ? tensor->bytes : 0;
}

bool wnnTensorGetReadable(WNNTensor tensor)
{
    return tensor && tensor->readable;
}

bool wnnTensorGetWritable(WNNTensor tensor)
{
    return tensor && tensor->writable;
}

bool wnnTensorGetConstant(WNNTensor tensor)
{
    return tensor && tensor->is_constant;
}

// ---------------------------------------------------------------------------------------------------------------
// Reading and writing
// ---------------------------------------------------------------------------------------------------------------

// The address of bytes that a caller gives; of no bytes he need not give one.
static const void *address_of(const void *data, size_t bytes)
{
    static max_align_t nothing;
    return data || bytes ? data : &nothing;
}

// A read or a write; the bytes of a write follow.
struct transfer {
    struct request request;
    WNNTensor tensor;
    void *target; // of a read
};

static bool run_read(WNNContext context, struct request *request, struct error *error)
{
    struct transfer *transfer = (struct transfer *)request;
    WNNTensor tensor = transfer->tensor;
    if (atomic_load(&tensor->destroyed))
        wnn_fail(error, WNNStatus_InvalidStateError, "readTensor: the tensor was destroyed");
    else if (tensor->stored)
        return context->backend->tensor_read(context->state, tensor->stored, transfer->target, error) ||
               (context->backend->lost && !context->backend->lost(context->state));
    else
        memcpy(transfer->target, tensor->data, tensor->bytes);
    return true;
}

static bool run_write(WNNContext context, struct request *request, struct error *error)
{
    struct transfer *transfer = (struct transfer *)request;
    WNNTensor tensor = transfer->tensor;
    // Nobody is told of a failure: the context has to be lost by it.
    if (tensor->stored)
        return context->backend->tensor_write(context->state, tensor->stored, transfer + 1, error);
    memcpy(tensor->data, transfer + 1, tensor->bytes);
    return true;
}

static void drop_transfer(WNNContext context, struct request *request)
{
    (void)context;
    WNNTensor tensor = ((struct transfer *)request)->tensor;
    wnn_tensor_end_use(tensor);
    wnn_tensor_unref(tensor);
}

static bool run_export(WNNContext context, struct request *request, struct error *error)
{
    struct transfer *transfer = (struct transfer *)request;
    return context->backend->tensor_export(context->state, transfer->tensor->stored, transfer->target, error);
}

static bool run_buffer(WNNContext context, struct request *request, struct error *error)
{
    struct transfer *transfer = (struct transfer *)request;
    return context->backend->tensor_buffer(context->state, transfer->tensor->stored, transfer->target, error);
}

static const struct request_kind buffer_kind = {.run = run_buffer, .drop = drop_transfer, .anywhere = true};
static const struct request_kind export_kind = {.run = run_export, .drop = drop_transfer, .anywhere = true};
static const struct request_kind read_kind = {.run = run_read, .drop = drop_transfer, .anywhere = true};
static const struct request_kind write_kind = {.run = run_write, .drop = drop_transfer, .anywhere = true};

static const char *method_of(const struct request_kind *kind)
{
    return kind == &read_kind     ? "readTensor"
           : kind == &write_kind  ? "writeTensor"
           : kind == &export_kind ? "exportVulkanMemory"
                                  : "getVulkanBuffer";
}

// What a tensor is not and should be, or NULL.
static const char *find_flaw(const struct request_kind *kind, WNNTensor tensor)
{
    if (kind == &read_kind)
        return tensor->readable ? NULL : "readable";
    if (kind == &write_kind)
        return tensor->writable ? NULL : "writable";
    if (kind == &export_kind)
        return tensor->exportable ? NULL : "exportable";
    return tensor->is_constant || !tensor->context->backend->tensor_buffer ? "in a Vulkan buffer" : NULL;
}

static bool check_transfer(WNNContext context, const struct request_kind *kind, WNNTensor tensor,
                           const void *data, size_t byteLength, struct error *error)
{
    const char *method = method_of(kind), *flaw;
    if (error->status != WNNStatus_Success || !wnn_context_usable(context, error))
        return false;
    if (!tensor)
        wnn_fail(error, WNNStatus_TypeError, "%s: no tensor was given", method);
    else if (tensor->context != context)
        wnn_fail(error, WNNStatus_TypeError, "%s: the tensor belongs to another context", method);
    else if (atomic_load(&tensor->destroyed))
        wnn_fail(error, WNNStatus_TypeError, "%s: the tensor was destroyed", method);
    else if ((flaw = find_flaw(kind, tensor)))
        wnn_fail(error, WNNStatus_TypeError, "%s: the tensor is not %s", method, flaw);
    else if (byteLength != tensor->bytes || !data)
        wnn_fail(error, WNNStatus_TypeError, "%s: the buffer has %zu bytes%s; expected %zu (%s %s)", method,
                 byteLength, data ? "" : " at no address", tensor->bytes, wnn_dtype_name(tensor->type.type),
                 SHAPE_TEXT(&tensor->type.shape));
    return error->status == WNNStatus_Success;
}

// Uses the tensor, which has been checked, for a transfer.
static bool use(WNNTensor tensor, const struct request_kind *kind, struct error *error)
{
    return wnn_tensor_begin_use(tensor) ||
           wnn_fail(error, WNNStatus_TypeError, "%s: the tensor was destroyed", method_of(kind));
}

// A transfer that holds the tensor, or NULL (and `error`).
static struct transfer *prepare(WNNContext context, const struct request_kind *kind, WNNTensor tensor,
                                struct error *error)
{
    struct transfer *transfer = wnn_request_create(
        context, kind, sizeof *transfer + (kind == &write_kind ? tensor->bytes : 0), error);
    if (!transfer)
        return NULL;
    if (!use(tensor, kind, error)) {
        wnn_request_free(context, transfer);
        return NULL;
    }
    wnn_tensor_ref(tensor);
    transfer->tensor = tensor;
    return transfer;
}

WNNFuture wnnContextReadTensor(WNNContext context, WNNTensor tensor, void *data, size_t byteLength,
                               WNNRequestCallbackInfo callbackInfo)
{
    struct callback callback = wnn_request_callback(&callbackInfo);
    if (!context)
        return wnn_refuse_without_context(&callback);
    struct error error = {0};
    struct trace_call trace;
    data = (void *)(uintptr_t)address_of(data, byteLength);
    wnn_trace_call(&trace, context, "readTensor", (WNNStringView){0});
    callback.flow = trace.flow;
    wnn_check_callback(callbackInfo.nextInChain, 0, &callback, &error);
    struct transfer *transfer = NULL;
    if (check_transfer(context, &read_kind, tensor, data, byteLength, &error) &&
        (transfer = prepare(context, &read_kind, tensor, &error)))
        transfer->target = data;
    WNNFuture future = wnn_submit(context, (struct request *)transfer, &callback, &error);
    wnn_trace_return(&trace);
    return future;
}

// Where nothing is before it on the timeline, the bytes are copied once, not twice. False: the device would
// have to be waited for.
static bool write_at_once(WNNContext context, WNNTensor tensor, const void *data, struct error *error)
{
    const struct backend *backend = context->backend;
    if (!use(tensor, &write_kind, error))
        return true;
    bool stored = backend->tensor_write != NULL,
         quick = !stored || backend->tensor_mapped(context->state, tensor->stored);
    if (quick && stored)
        backend->tensor_write(context->state, tensor->stored, data, error);
    else if (quick)
        memcpy(tensor->data, data, tensor->bytes);
    wnn_tensor_end_use(tensor);
    return quick;
}

// False: it is not on the timeline, and the error says why.
static bool write_later(WNNContext context, WNNTensor tensor, const void *data, uint64_t flow,
                        struct error *error)
{
    struct transfer *transfer = prepare(context, &write_kind, tensor, error);
    if (!transfer)
        return false;
    memcpy(transfer + 1, data, tensor->bytes);
    transfer->request.callback.flow = flow;
    return wnn_submit_silently(context, &transfer->request, error);
}

WNNStatus wnnContextWriteTensor(WNNContext context, WNNTensor tensor, const void *data, size_t byteLength)
{
    if (!context)
        return WNNStatus_TypeError;
    struct error error = {0};
    struct trace_call trace;
    bool queued = false;
    data = address_of(data, byteLength);
    wnn_trace_call(&trace, context, "writeTensor", (WNNStringView){0});
    if (check_transfer(context, &write_kind, tensor, data, byteLength, &error)) {
        bool written = false;
        if (wnn_queue_take(context)) {
            written = write_at_once(context, tensor, data, &error);
            wnn_queue_give(context);
        }
        if (!written)
            queued = write_later(context, tensor, data, trace.flow, &error);
    }
    if (!queued)
        wnn_trace_complete_call(&trace, error.status);
    wnn_trace_return(&trace);
    return wnn_context_report(context, &error);
}

// ---------------------------------------------------------------------------------------------------------------
// Exporting
// ---------------------------------------------------------------------------------------------------------------

// `chain` is what the caller has hung on the target.
static WNNFuture ask(WNNContext context, const struct request_kind *kind, WNNTensor tensor, void *target,
                     const WNNChainedStruct *chain, const WNNRequestCallbackInfo *info)
{
    struct callback callback = wnn_request_callback(info);
    if (!context)
        return wnn_refuse_without_context(&callback);
    struct error error = {0};
    struct trace_call trace;
    wnn_trace_call(&trace, context, method_of(kind), (WNNStringView){0});
    callback.flow = trace.flow;
    wnn_check_callback(info->nextInChain, 0, &callback, &error);
    struct transfer *transfer = NULL;
    if (wnn_check_chain(chain, 0, method_of(kind), &error) &&
        check_transfer(context, kind, tensor, target, tensor ? tensor->bytes : 0, &error) &&
        (transfer = prepare(context, kind, tensor, &error)))
        transfer->target = target;
    WNNFuture future = wnn_submit(context, (struct request *)transfer, &callback, &error);
    wnn_trace_return(&trace);
    return future;
}

WNNFuture wnnContextExportVulkanMemory(WNNContext context, WNNTensor tensor, WNNVulkanMemory *memory,
                                       WNNRequestCallbackInfo callbackInfo)
{
    const WNNChainedStruct *chain = memory ? memory->chain.next : NULL;
    if (memory)
        *memory = (WNNVulkanMemory)WNN_VULKAN_MEMORY_INIT;
    return ask(context, &export_kind, tensor, memory, chain, &callbackInfo);
}

WNNFuture wnnContextGetVulkanBuffer(WNNContext context, WNNTensor tensor, WNNVulkanBuffer *buffer,
                                    WNNRequestCallbackInfo callbackInfo)
{
    const WNNChainedStruct *chain = buffer ? buffer->chain.next : NULL;
    if (buffer)
        *buffer = (WNNVulkanBuffer)WNN_VULKAN_BUFFER_INIT;
    return ask(context, &buffer_kind, tensor, buffer, chain, &callbackInfo);
}
