// SPDX-License-Identifier: Apache-2.0
#include "ops/lists.h"

bool wnn_list_set(struct op_call *call, WNNUint32List *list, const uint32_t *items, size_t count)
{
    list->data = wnn_arena_copy_packed(call->arena, items, count * sizeof items[0]);
    list->count = count;
    return list->data != NULL || wnn_fail_memory(call->error);
}

bool wnn_list_check(struct op_call *call, const char *name, WNNUint32List list, unsigned count)
{
    if (list.count == WNN_LIST_ABSENT)
        return wnn_op_fail(call, "%s is absent", name);
    if (list.count != count)
        return wnn_op_fail(call, "%s has %zu items; expected %u", name, list.count, count);
    return true;
}

bool wnn_list_complete(struct op_call *call, const char *name, WNNUint32List *list, unsigned count,
                       uint32_t value)
{
    if (list->count == WNN_LIST_ABSENT) {
        uint32_t items[WNN_MAX_RANK];
        for (unsigned i = 0; i < count; i++)
            items[i] = value;
        return wnn_list_set(call, list, items, count);
    }
    return wnn_list_check(call, name, *list, count);
}

bool wnn_check_axis(struct op_call *call, uint32_t axis, const char *operand, const struct shape *shape)
{
    if (axis >= shape->rank)
        return wnn_op_fail(call, "axis is %u; %s %s has rank %u", axis, operand, SHAPE_OF(call, shape),
                           shape->rank);
    return true;
}

bool wnn_axes_complete(struct op_call *call, WNNUint32List *axes, const struct shape *shape, unsigned first)
{
    if (axes->count == WNN_LIST_ABSENT) {
        uint32_t items[WNN_MAX_RANK];
        unsigned count = 0;
        for (unsigned i = first; i < shape->rank; i++)
            items[count++] = i;
        return wnn_list_set(call, axes, items, count);
    }
    uint32_t seen = 0;
    for (size_t i = 0; i < axes->count; i++) {
        if (axes->data[i] >= shape->rank)
            return wnn_op_fail(call, "axes[%zu] is %u; input %s has rank %u", i, axes->data[i],
                               SHAPE_OF(call, shape), shape->rank);
        if (seen & 1u << axes->data[i])
            return wnn_op_fail(call, "axes[%zu] repeats axis %u", i, axes->data[i]);
        seen |= 1u << axes->data[i];
    }
    return true;
}

void wnn_list_sort(WNNUint32List *list)
{
    uint32_t *items = (uint32_t *)(uintptr_t)list->data;
    for (size_t i = 1; i < list->count; i++)
        for (size_t j = i; j > 0 && items[j - 1] > items[j]; j--) {
            uint32_t item = items[j];
            items[j] = items[j - 1];
            items[j - 1] = item;
        }
}
