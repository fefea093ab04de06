// SPDX-License-Identifier: Apache-2.0
//
// Tensors, and reading and writing them: https://www.w3.org/TR/webnn/#api-mltensor. The bytes of a tensor
// change in the order of the timeline only, and stay as long as a request needs them.

#include "runtime/internal.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Life
// ---------------------------------------------------------------------------------------------------------------

void wnn_tensor_hold(WNNTensor tensor)
{
    atomic_fetch_add(&tensor->references, 1);
}

bool wnn_tensor_use(WNNTensor tensor)
{
    unsigned uses = atomic_load(&tensor->uses);
    do {
        if (uses == 0)
            return false;
    } while (!atomic_compare_exchange_weak(&tensor->uses, &uses, uses + 1));
    if (!atomic_load(&tensor->destroyed))
        return true;
    wnn_tensor_unuse(tensor);
    return false;
}

void wnn_tensor_unuse(WNNTensor tensor)
{
    if (atomic_fetch_sub(&tensor->uses, 1) != 1)
        return;
    wnn_release(&tensor->context->allocator, tensor->data);
    wnn_constant_release(tensor->constant);
    tensor->data = NULL;
    tensor->constant = NULL;
}

void wnn_tensor_drop(WNNTensor tensor)
{
    if (atomic_fetch_sub(&tensor->references, 1) != 1)
        return;
    WNNContext context = tensor->context;
    wnnTensorDestroy(tensor);
    wnn_release(&context->allocator, tensor);
    wnn_context_drop(context);
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
    wnn_tensor_drop(tensor);
}

void wnnTensorDestroy(WNNTensor tensor)
{
    if (tensor && !atomic_exchange(&tensor->destroyed, true))
        wnn_tensor_unuse(tensor);
}

// ---------------------------------------------------------------------------------------------------------------
// Creation
// ---------------------------------------------------------------------------------------------------------------

// Checks the descriptor; `bytes` are what it takes.
static bool check(WNNContext context, const char *method, const WNNTensorDescriptor *descriptor,
                  struct descriptor *type, size_t *bytes, struct error *error)
{
    if (!wnn_context_usable(context, error))
        return false;
    if (!descriptor)
        return wnn_fail(error, WNNStatus_TypeError, "%s: no descriptor was given", method);
    char what[64];
    struct text text = TEXT(what);
    wnn_text_add(&text, "%s: the label", method);
    if (!wnn_check_chain(descriptor->nextInChain, method, error) ||
        !wnn_check_string(&context->limits, what, descriptor->label, error))
        return false;
    text = TEXT(what);
    wnn_text_add(&text, "%s: the tensor", method);
    if (!wnn_check_descriptor(&context->limits, what, descriptor->dataType, descriptor->shape, type, error))
        return false;
    *bytes = wnn_descriptor_bytes(type);
    return true;
}

// Takes `data` or `constant`, on failure too.
static WNNTensor create(WNNContext context, const WNNTensorDescriptor *descriptor,
                        const struct descriptor *type, size_t bytes, void *data, struct constant *constant,
                        struct error *error)
{
    WNNTensor tensor =
        data || constant ? wnn_allocate_zero(&context->allocator, sizeof(struct WNNTensorImpl)) : NULL;
    if (!tensor) {
        wnn_release(&context->allocator, data);
        wnn_constant_release(constant);
        wnn_fail(error, WNNStatus_OutOfMemory, "out of memory for a tensor of %zu bytes (%s %s)", bytes,
                 wnn_dtype_name(type->type), SHAPE_TEXT(&type->shape));
        return NULL;
    }
    wnn_context_hold(context);
    tensor->context = context;
    atomic_init(&tensor->handles, 1);
    atomic_init(&tensor->references, 1);
    atomic_init(&tensor->uses, 1);
    atomic_init(&tensor->destroyed, false);
    tensor->readable = descriptor->readable;
    tensor->writable = descriptor->writable;
    tensor->is_constant = constant != NULL;
    tensor->type = *type;
    tensor->bytes = bytes;
    tensor->data = data;
    tensor->constant = constant;
    atomic_fetch_add(&context->tensor_count, 1);
    return tensor;
}

static bool check_place(WNNContext context, WNNTensor *tensor, const char *method, struct error *error)
{
    if (tensor)
        *tensor = NULL;
    return (context && tensor) ||
           wnn_fail(error, WNNStatus_TypeError, "%s: no context or no place for the tensor", method);
}

WNNStatus wnnContextCreateTensor(WNNContext context, const WNNTensorDescriptor *descriptor, WNNTensor *tensor)
{
    struct error error = {0};
    struct descriptor type;
    size_t bytes;
    if (check_place(context, tensor, "createTensor", &error) &&
        check(context, "createTensor", descriptor, &type, &bytes, &error))
        *tensor = create(context, descriptor, &type, bytes, wnn_allocate_zero(&context->allocator, bytes),
                         NULL, &error);
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
        check(context, method, descriptor, &type, &bytes, &error)) {
        if (descriptor->readable || descriptor->writable) {
            wnn_fail(&error, WNNStatus_TypeError, "%s: a constant tensor is neither readable nor writable",
                     method);
        } else if (byteLength != bytes || !data) {
            wnn_fail(&error, WNNStatus_TypeError, "%s: the data have %zu bytes%s; expected %zu (%s %s)",
                     method, byteLength, data ? "" : " at no address", bytes, wnn_dtype_name(type.type),
                     SHAPE_TEXT(&type.shape));
        } else {
            struct constant *constant = wnn_constant_create(&context->allocator, bytes);
            if (constant)
                memcpy((void *)(uintptr_t)constant->data, data, bytes);
            *tensor = create(context, descriptor, &type, bytes, NULL, constant, &error);
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

// A read or a write; the bytes of a write follow.
struct transfer {
    struct request request;
    WNNTensor tensor;
    void *target; // of a read
};

static bool run_read(WNNContext context, struct request *request, struct error *error)
{
    (void)context;
    struct transfer *transfer = (struct transfer *)request;
    WNNTensor tensor = transfer->tensor;
    if (atomic_load(&tensor->destroyed))
        wnn_fail(error, WNNStatus_InvalidStateError, "readTensor: the tensor was destroyed");
    else
        memcpy(transfer->target, tensor->data, tensor->bytes);
    return true;
}

static bool run_write(WNNContext context, struct request *request, struct error *error)
{
    (void)context;
    (void)error;
    struct transfer *transfer = (struct transfer *)request;
    memcpy(transfer->tensor->data, transfer + 1, transfer->tensor->bytes);
    return true;
}

static void drop_transfer(WNNContext context, struct request *request)
{
    (void)context;
    WNNTensor tensor = ((struct transfer *)request)->tensor;
    wnn_tensor_unuse(tensor);
    wnn_tensor_drop(tensor);
}

static const struct request_kind read_kind = {run_read, drop_transfer, true, NULL, NULL};
static const struct request_kind write_kind = {run_write, drop_transfer, true, NULL, NULL};

static bool check_transfer(WNNContext context, bool reads, WNNTensor tensor, const void *data,
                           size_t byteLength, struct error *error)
{
    const char *method = reads ? "readTensor" : "writeTensor";
    if (error->status != WNNStatus_Success || !wnn_context_usable(context, error))
        return false;
    if (!tensor)
        wnn_fail(error, WNNStatus_TypeError, "%s: no tensor was given", method);
    else if (tensor->context != context)
        wnn_fail(error, WNNStatus_TypeError, "%s: the tensor belongs to another context", method);
    else if (atomic_load(&tensor->destroyed))
        wnn_fail(error, WNNStatus_TypeError, "%s: the tensor was destroyed", method);
    else if (reads ? !tensor->readable : !tensor->writable)
        wnn_fail(error, WNNStatus_TypeError, "%s: the tensor is not %s", method,
                 reads ? "readable" : "writable");
    else if (byteLength != tensor->bytes || !data)
        wnn_fail(error, WNNStatus_TypeError, "%s: the buffer has %zu bytes%s; expected %zu (%s %s)", method,
                 byteLength, data ? "" : " at no address", tensor->bytes, wnn_dtype_name(tensor->type.type),
                 SHAPE_TEXT(&tensor->type.shape));
    return error->status == WNNStatus_Success;
}

// Uses the tensor, which has been checked, for a transfer.
static bool use(WNNTensor tensor, bool reads, struct error *error)
{
    return wnn_tensor_use(tensor) || wnn_fail(error, WNNStatus_TypeError, "%s: the tensor was destroyed",
                                              reads ? "readTensor" : "writeTensor");
}

// A transfer that holds the tensor, or NULL (and `error`).
static struct transfer *prepare(WNNContext context, const struct request_kind *kind, WNNTensor tensor,
                                struct error *error)
{
    bool reads = kind == &read_kind;
    struct transfer *transfer =
        wnn_request_create(context, kind, sizeof *transfer + (reads ? 0 : tensor->bytes), error);
    if (!transfer)
        return NULL;
    if (!use(tensor, reads, error)) {
        wnn_request_free(context, transfer);
        return NULL;
    }
    wnn_tensor_hold(tensor);
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
    wnn_check_callback(callbackInfo.nextInChain, &callback, &error);
    struct transfer *transfer = NULL;
    if (check_transfer(context, true, tensor, data, byteLength, &error) &&
        (transfer = prepare(context, &read_kind, tensor, &error)))
        transfer->target = data;
    return wnn_submit(context, (struct request *)transfer, &callback, &error);
}

// Where nothing is before it on the timeline, the bytes are copied once, not twice.
static void write_at_once(WNNTensor tensor, const void *data, struct error *error)
{
    if (!use(tensor, false, error))
        return;
    memcpy(tensor->data, data, tensor->bytes);
    wnn_tensor_unuse(tensor);
}

static void write_later(WNNContext context, WNNTensor tensor, const void *data, struct error *error)
{
    struct transfer *transfer = prepare(context, &write_kind, tensor, error);
    if (!transfer)
        return;
    memcpy(transfer + 1, data, tensor->bytes);
    wnn_submit_silently(context, &transfer->request, error);
}

WNNStatus wnnContextWriteTensor(WNNContext context, WNNTensor tensor, const void *data, size_t byteLength)
{
    if (!context)
        return WNNStatus_TypeError;
    struct error error = {0};
    if (check_transfer(context, false, tensor, data, byteLength, &error)) {
        if (wnn_queue_take(context)) {
            write_at_once(tensor, data, &error);
            wnn_queue_give(context);
        } else {
            write_later(context, tensor, data, &error);
        }
    }
    return wnn_context_report(context, &error);
}
