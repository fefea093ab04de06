// SPDX-License-Identifier: Apache-2.0
#include "ops/check.h"

#include <string.h>

// The shape with the least that each size can be.
static struct shape least_of(const struct size_table *sizes, const struct shape *shape)
{
    struct shape least = *shape;
    for (unsigned i = 0; i < shape->rank; i++) {
        int64_t min = wnn_size_range(sizes, shape->dim[i]).min; // of a difference perhaps below 0
        least.dim[i] = min < 0 ? 0 : (uint32_t)min;
    }
    return least;
}

bool wnn_check_limits(const WNNLimits *limits, const struct size_table *sizes, const char *what,
                      const struct descriptor *descriptor, struct error *error)
{
    const struct shape *shape = &descriptor->shape;
    char text[WNN_SIZES_TEXT];
    uint32_t least = wnn_min_dimension(limits);
    for (unsigned i = 0; i < shape->rank; i++) {
        struct bounds range = wnn_size_range(sizes, shape->dim[i]);
        if (range.max < least || range.min > WNN_MAX_DIMENSION)
            return wnn_fail(error, WNNStatus_TypeError,
                            "%s has shape %s; expected each dimension to be %u to 2147483647", what,
                            wnn_sizes_text(sizes, shape, text), least);
    }
    size_t elements;
    struct shape smallest = least_of(sizes, shape);
    if (!wnn_shape_count(&smallest, &elements))
        return wnn_fail(error, WNNStatus_TypeError, "%s has shape %s; expected at most 2147483647 elements",
                        what, wnn_sizes_text(sizes, shape, text));
    uint64_t bytes = wnn_dtype_bytes(descriptor->type, elements);
    if (limits->maxTensorByteLength && bytes > limits->maxTensorByteLength)
        return wnn_fail(error, WNNStatus_TypeError, "%s of %s %s has %llu bytes; expected at most %llu", what,
                        wnn_dtype_name(descriptor->type), wnn_sizes_text(sizes, shape, text),
                        (unsigned long long)bytes, (unsigned long long)limits->maxTensorByteLength);
    return true;
}

bool wnn_check_descriptor(const WNNLimits *limits, const struct size_table *sizes, const char *what,
                          WNNDataType type, WNNUint32List shape, struct descriptor *descriptor,
                          struct error *error)
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
    return wnn_check_limits(limits, sizes, what, descriptor, error);
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

static bool check_rank(struct op_call *call, const struct op_row *row, const struct shape *shape)
{
    if (shape->rank >= row->min_rank && shape->rank <= row->max_rank)
        return true;
    if (row->min_rank == row->max_rank)
        return wnn_op_fail(call, "%s has shape %s of rank %u; expected rank %u", row->name, SHAPE_TEXT(shape),
                           shape->rank, row->min_rank);
    return wnn_op_fail(call, "%s has shape %s of rank %u; expected rank %u to %u", row->name,
                       SHAPE_TEXT(shape), shape->rank, row->min_rank, row->max_rank);
}

static bool check_operand(struct op_call *call, const struct op_row *row, const struct operand *operand)
{
    char buffer[WNN_DTYPES_TEXT];
    const struct descriptor *type = &operand->type;
    if (row->types & WNN_SAME) {
        const struct operand *model = call->in[row->types & ~WNN_SAME];
        if (type->type != model->type.type)
            return wnn_op_fail(call, "%s has data type %s; expected %s, the type of %s", row->name,
                               wnn_dtype_name(type->type), wnn_dtype_name(model->type.type),
                               call->info->rows[row->types & ~WNN_SAME].name);
    } else if (!(row->types & 1u << type->type)) {
        return wnn_op_fail(call, "%s has data type %s; expected %s", row->name, wnn_dtype_name(type->type),
                           wnn_dtypes_text(row->types, buffer));
    }
    return check_rank(call, row, &type->shape);
}

bool wnn_op_check_ranks(struct op_call *call)
{
    unsigned index = 0;
    for (const struct op_row *row = call->info->rows; row->name; row++) {
        unsigned end = row->kind == ROW_INPUT_LIST ? call->in_count : index + wnn_op_row_is_input(row);
        for (; index < end; index++)
            if (call->in[index] && !check_rank(call, row, &call->in[index]->type.shape))
                return false;
    }
    return true;
}

bool wnn_op_check_operands(struct op_call *call,
                           uint32_t (*types)(void *context, enum op op, const struct op_row *row),
                           void *context)
{
    char buffer[WNN_DTYPES_TEXT];
    unsigned index = 0;
    for (const struct op_row *row = call->info->rows; row->name; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        uint32_t supported = types(context, call->op, row);
        unsigned end = row->kind == ROW_INPUT_LIST ? call->in_count : index + 1;
        for (; index < end; index++) {
            const struct operand *operand = call->in[index];
            if (!operand)
                continue;
            if (!check_operand(call, row, operand))
                return false;
            if (!(supported & 1u << operand->type.type))
                return wnn_op_fail(call, "%s has data type %s; this context supports %s", row->name,
                                   wnn_dtype_name(operand->type.type), wnn_dtypes_text(supported, buffer));
        }
    }
    return true;
}
