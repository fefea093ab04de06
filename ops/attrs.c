// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs.h"

#include "ops/check.h"

#include <math.h>
#include <string.h>

#define MAX_ITEMS 8192

// Copies the items behind a list or an activation that stands at `at`. False: out of memory.
static bool copy_behind(struct arena *arena, enum attr_kind kind, char *at)
{
    if (kind == ATTR_u32s || kind == ATTR_f32s) {
        WNNUint32List list; // the lists have one layout
        memcpy(&list, at, sizeof list);
        if (list.count == WNN_LIST_ABSENT)
            return true;
        list.data = wnn_arena_copy_packed(arena, list.data, list.count * sizeof list.data[0]);
        memcpy(at, &list, sizeof list);
        return list.data != NULL;
    }
    if (kind == ATTR_activations) {
        WNNActivationList list;
        memcpy(&list, at, sizeof list);
        WNNActivation *items = wnn_arena_copy(arena, list.data, list.count * sizeof items[0]);
        if (!items)
            return false;
        for (size_t i = 0; i < list.count; i++) {
            const struct activation *from = wnn_activation(items[i]);
            struct activation *to = wnn_arena_copy(arena, from, sizeof *from);
            if (!to || !(to->attrs = wnn_op_copy_attrs(arena, (enum op)from->op, from->attrs)))
                return false;
            items[i] = (WNNActivation)to;
        }
        list.data = items;
        memcpy(at, &list, sizeof list);
    }
    return true;
}
_Static_assert(sizeof(WNNUint32List) == sizeof(WNNFloat32List) && sizeof(uint32_t) == sizeof(float),
               "lists have one layout");

void *wnn_op_copy_attrs(struct arena *arena, enum op op, const void *attrs)
{
    const struct op_info *info = &wnn_ops[op];
    char *copy = wnn_arena_copy_packed(arena, attrs, info->attrs_size);
    if (!copy)
        return NULL;
    WNNOperatorOptions *head = (WNNOperatorOptions *)(void *)copy;
    head->label = wnn_string_view(wnn_string(head->label));
    for (const struct op_row *row = info->rows; row->name; row++)
        if (row->kind == ROW_ATTRIBUTE && !copy_behind(arena, row->attr, copy + row->offset))
            return NULL;
    if (op == WNN_OP_argMin || op == WNN_OP_argMax) { // the axes that inference adds have no row
        struct arg_min_max_attrs *arg = (void *)copy;
        if (arg->axes.data && !copy_behind(arena, ATTR_u32s, (char *)&arg->axes))
            return NULL;
    }
    return copy;
}

// ---------------------------------------------------------------------------------------------------------------
// Comparing
// ---------------------------------------------------------------------------------------------------------------

static WNNUint32List list_at(const void *at)
{
    WNNUint32List list;
    memcpy(&list, at, sizeof list);
    return list;
}

static bool lists_equal(WNNUint32List a, WNNUint32List b)
{
    return a.count == b.count && (a.count == WNN_LIST_ABSENT || a.count == 0 ||
                                  memcmp(a.data, b.data, a.count * sizeof a.data[0]) == 0);
}

static bool activations_equal(const void *a_at, const void *b_at)
{
    WNNActivationList a, b;
    memcpy(&a, a_at, sizeof a);
    memcpy(&b, b_at, sizeof b);
    if (a.count != b.count)
        return false;
    for (size_t i = 0; i < a.count; i++) {
        const struct activation *x = wnn_activation(a.data[i]), *y = wnn_activation(b.data[i]);
        if (x->op != y->op || !wnn_op_attrs_equal((enum op)x->op, x->attrs, y->attrs, true))
            return false;
    }
    return true;
}

size_t wnn_attr_flat_size(enum attr_kind kind)
{
    switch (kind) {
    case ATTR_u32:
    case ATTR_i32:
    case ATTR_dtype:
    case ATTR_enum:
        return 4;
    case ATTR_bool:
        return sizeof(bool);
    case ATTR_f64:
        return sizeof(double);
    case ATTR_activation:
        return sizeof(WNNActivation);
    default:
        return 0;
    }
}

static bool attr_equal(enum attr_kind kind, const void *a, const void *b)
{
    switch (kind) {
    case ATTR_u32s:
    case ATTR_f32s: // the lists have one layout
        return lists_equal(list_at(a), list_at(b));
    case ATTR_activations:
        return activations_equal(a, b);
    case ATTR_number: {
        WNNNumber x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x.type == y.type && (x.type == WNNNumberType_Undefined || x.value.u64 == y.value.u64);
    }
    default:
        return memcmp(a, b, wnn_attr_flat_size(kind)) == 0;
    }
}

bool wnn_op_attrs_equal(enum op op, const void *a, const void *b, bool sizes)
{
    for (const struct op_row *row = wnn_ops[op].rows; row->name; row++)
        if (row->kind == ROW_ATTRIBUTE && (sizes || !wnn_op_row_is_size(row)) &&
            !attr_equal(row->attr, (const char *)a + row->offset, (const char *)b + row->offset))
            return false;
    if (op != WNN_OP_argMin && op != WNN_OP_argMax)
        return true;
    const struct arg_min_max_attrs *x = a, *y = b; // what the form of 2024 says has no rows
    return lists_equal(x->axes, y->axes) && x->selectLastIndex == y->selectLastIndex;
}

// ---------------------------------------------------------------------------------------------------------------
// Checking
// ---------------------------------------------------------------------------------------------------------------

static bool check_u32s(struct op_call *call, const struct op_row *row, const char *at)
{
    WNNUint32List list;
    memcpy(&list, at, sizeof list);
    if (list.count == WNN_LIST_ABSENT)
        return true;
    if (list.count > MAX_ITEMS)
        return wnn_op_fail(call, "%s has %zu items; expected at most %d", row->name, list.count, MAX_ITEMS);
    if (list.count && !list.data)
        return wnn_op_fail(call, "%s has %zu items but no data", row->name, list.count);
    return true;
}

static bool check_f32s(struct op_call *call, const struct op_row *row, const char *at)
{
    WNNFloat32List list;
    memcpy(&list, at, sizeof list);
    if (!check_u32s(call, row, at))
        return false;
    for (size_t i = 0; list.count != WNN_LIST_ABSENT && i < list.count; i++)
        if (!isfinite(list.data[i]))
            return wnn_op_fail(call, "%s[%zu] is %g; expected a finite number", row->name, i,
                               (double)list.data[i]);
    return true;
}

static bool check_enum(struct op_call *call, const struct op_row *row, const char *at)
{
    int32_t value, count = 0;
    memcpy(&value, at, sizeof value);
    while (row->names[count])
        count++;
    if (value < 1 || value > count)
        return wnn_op_fail(call, "%s is %d; expected an enumerator from 1 to %d", row->name, (int)value,
                           (int)count);
    return true;
}

static bool check_activation(struct op_call *call, const struct op_row *row, const struct graph *owner,
                             WNNActivation handle)
{
    if (!handle)
        return wnn_op_fail(call, "%s has an activation that is NULL", row->name);
    if (wnn_activation(handle)->graph != owner)
        return wnn_op_fail(call, "%s has an activation of another builder", row->name);
    return true;
}

static bool check_attr(struct op_call *call, const struct op_row *row, const struct graph *owner,
                       const char *at)
{
    switch (row->attr) {
    case ATTR_u32s:
        return check_u32s(call, row, at);
    case ATTR_f32s:
        return check_f32s(call, row, at);
    case ATTR_enum:
        return check_enum(call, row, at);
    case ATTR_f64: {
        double value;
        memcpy(&value, at, sizeof value);
        if (!isfinite(value))
            return wnn_op_fail(call, "%s is %g; expected a finite number", row->name, value);
        return true;
    }
    case ATTR_number: {
        WNNNumber number;
        memcpy(&number, at, sizeof number);
        if (number.type < WNNNumberType_Undefined || number.type > WNNNumberType_Float64)
            return wnn_op_fail(call, "%s has number type %d, which does not exist", row->name,
                               (int)number.type);
        return true;
    }
    case ATTR_dtype: {
        int32_t type;
        memcpy(&type, at, sizeof type);
        if (!wnn_dtype_valid((WNNDataType)type))
            return wnn_op_fail(call, "%s is %d, which is not a data type", row->name, (int)type);
        return true;
    }
    case ATTR_activation: {
        WNNActivation handle;
        memcpy(&handle, at, sizeof handle);
        return !handle || check_activation(call, row, owner, handle);
    }
    case ATTR_activations: {
        WNNActivationList list;
        memcpy(&list, at, sizeof list);
        if (list.count > MAX_ITEMS || (list.count && !list.data))
            return wnn_op_fail(call, "%s has %zu items; expected those of the operator", row->name,
                               list.count);
        for (size_t i = 0; i < list.count; i++)
            if (!check_activation(call, row, owner, list.data[i]))
                return false;
        return true;
    }
    case ATTR_u32:
    case ATTR_i32:
    case ATTR_bool:
        break;
    }
    return true;
}

bool wnn_attrs_take(struct op_call *call, const struct graph *owner, const void *attrs)
{
    if (!attrs)
        attrs = call->info->defaults;
    const WNNOperatorOptions *head = attrs;
    struct error error = {0};
    if (!wnn_check_string(call->limits, "label", head->label, &error))
        return wnn_op_fail(call, "%s", error.message);
    // From here on messages have the label.
    call->attrs = (void *)(uintptr_t)attrs;
    if (head->nextInChain)
        return wnn_op_fail(call, "the options have a chained struct of unknown type %u",
                           (unsigned)head->nextInChain->sType);
    for (const struct op_row *row = call->info->rows; row->name; row++)
        if (row->kind == ROW_ATTRIBUTE && !check_attr(call, row, owner, (const char *)attrs + row->offset))
            return false;
    void *copy = wnn_op_copy_attrs(call->arena, call->op, attrs);
    if (!copy)
        return wnn_fail_memory(call->error);
    call->attrs = copy;
    return true;
}

bool wnn_activation_complete(struct op_call *call, const struct activation *activation, WNNDataType type,
                             struct activation *complete)
{
    // The operator is inferred on an operand that stands for any of its type.
    struct operand sample = {.type = {.type = type, .shape = {.rank = 2, .dim = {1, 1}}}};
    struct operand *in[] = {&sample};
    struct descriptor out;
    struct op_call inner = {.op = (enum op)activation->op,
                            .info = &wnn_ops[activation->op],
                            .in = in,
                            .in_count = 1,
                            .attrs =
                                wnn_op_copy_attrs(call->arena, (enum op)activation->op, activation->attrs),
                            .out = &out,
                            .out_count = 1,
                            .out_capacity = 1,
                            .arena = call->arena,
                            .limits = call->limits,
                            .error = call->error};
    if (!inner.attrs)
        return wnn_fail_memory(call->error);
    if (!inner.info->infer(&inner))
        return false;
    *complete = (struct activation){NULL, (uint16_t)inner.op, inner.attrs};
    return true;
}

enum op wnn_op_form(enum op op, const void *attrs, WNNArgMinMaxAxesOptions *axes, const void **form)
{
    const struct arg_min_max_attrs *from = attrs;
    *form = attrs;
    if (op != WNN_OP_argMin && op != WNN_OP_argMax)
        return op;
    // Of an operand without a rank the axis is still as it was called.
    if ((from->axes.count == 1 || !from->axes.data) && !from->selectLastIndex)
        return op;
    *axes = (WNNArgMinMaxAxesOptions){.axes = from->axes,
                                      .keepDimensions = from->options.keepDimensions,
                                      .selectLastIndex = from->selectLastIndex};
    *form = axes;
    return op == WNN_OP_argMin ? WNN_OP_argMinAxes : WNN_OP_argMaxAxes;
}
