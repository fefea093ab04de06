// SPDX-License-Identifier: Apache-2.0
#include "ops/check.h"

#include <string.h>

bool wnn_check_limits(const WNNLimits *limits, const char *what, const struct descriptor *descriptor,
                      struct error *error)
{
    const struct shape *shape = &descriptor->shape;
    unsigned least = limits->acceptEmptyTensors ? 0 : 1;
    for (unsigned i = 0; i < shape->rank; i++)
        if (shape->dim[i] < least || shape->dim[i] > WNN_MAX_DIMENSION)
            return wnn_fail(error, WNNStatus_TypeError,
                            "%s has shape %s; expected each dimension to be %u to 2147483647", what,
                            SHAPE_TEXT(shape), least);
    size_t elements;
    if (!wnn_shape_count(shape, &elements))
        return wnn_fail(error, WNNStatus_TypeError, "%s has shape %s; expected at most 2147483647 elements",
                        what, SHAPE_TEXT(shape));
    uint64_t bytes = wnn_dtype_bytes(descriptor->type, elements);
    if (limits->maxTensorByteLength && bytes > limits->maxTensorByteLength)
        return wnn_fail(error, WNNStatus_TypeError, "%s of %s %s has %llu bytes; expected at most %llu", what,
                        wnn_dtype_name(descriptor->type), SHAPE_TEXT(shape), (unsigned long long)bytes,
                        (unsigned long long)limits->maxTensorByteLength);
    return true;
}

bool wnn_check_descriptor(const WNNLimits *limits, const char *what, WNNDataType type, WNNUint32List shape,
                          struct descriptor *descriptor, struct error *error)
{
    if (!wnn_dtype_valid(type))
        return wnn_fail(error, WNNStatus_TypeError, "%s has data type %d, which does not exist", what,
                        (int)type);
    if (shape.count == WNN_LIST_ABSENT)
        return wnn_fail(error, WNNStatus_TypeError, "%s has no shape", what);
    if (shape.count > WNN_MAX_RANK)
        return wnn_fail(error, WNNStatus_TypeError, "%s has rank %zu; expected at most %d", what, shape.count,
                        WNN_MAX_RANK);
    if (shape.count && !shape.data)
        return wnn_fail(error, WNNStatus_TypeError, "%s has rank %zu but no dimensions", what, shape.count);
    *descriptor = (struct descriptor){.type = type};
    wnn_shape_append(&descriptor->shape, shape.data, (unsigned)shape.count);
    return wnn_check_limits(limits, what, descriptor, error);
}

bool wnn_check_string(const WNNLimits *limits, const char *what, WNNStringView view, struct error *error)
{
    if (!view.data && view.length != WNN_STRLEN && view.length != 0)
        return wnn_fail(error, WNNStatus_TypeError, "%s has %zu bytes but no data", what, view.length);
    struct string string = wnn_string(view);
    if (limits->maxStringLength && string.length > limits->maxStringLength)
        return wnn_fail(error, WNNStatus_TypeError, "%s has %zu bytes; expected at most %u", what,
                        string.length, limits->maxStringLength);
    if (!wnn_string_is_utf8(string))
        return wnn_fail(error, WNNStatus_TypeError, "%s is not well-formed UTF-8", what);
    return true;
}

bool wnn_op_fail(struct op_call *call, const char *format, ...)
{
    char buffer[WNN_MESSAGE_SIZE];
    struct text text = TEXT(buffer);
    wnn_text_add(&text, "%s", call->info->name);
    struct string label = wnn_string(((const WNNOperatorOptions *)call->attrs)->label);
    if (label.length) {
        wnn_text_add(&text, " \"");
        wnn_text_add_quoted(&text, label, WNN_LABEL_TEXT);
        wnn_text_add(&text, "\"");
    }
    wnn_text_add(&text, ": ");
    va_list arguments;
    va_start(arguments, format);
    wnn_text_add_list(&text, format, arguments);
    va_end(arguments);
    return wnn_fail(call->error, WNNStatus_TypeError, "%s", buffer);
}
