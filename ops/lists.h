// SPDX-License-Identifier: Apache-2.0
//
// Attribute lists that inference checks and completes.

#ifndef OPS_LISTS_H_
#define OPS_LISTS_H_

#include "ops/op.h"

// Checks that a list that has to be given has `count` items.
bool wnn_list_check(struct op_call *call, const char *name, WNNUint32List list, unsigned count);

// Fills an absent list with `count` times `value`, or checks that a given one has `count` items.
bool wnn_list_complete(struct op_call *call, const char *name, WNNUint32List *list, unsigned count,
                       uint32_t value);

// Checks that each item is a dimension of `shape` and none is repeated; an absent list becomes all from
// `first` on.
bool wnn_axes_complete(struct op_call *call, WNNUint32List *axes, const struct shape *shape, unsigned first);

// A list of its own with these items; false: out of memory.
bool wnn_list_set(struct op_call *call, WNNUint32List *list, const uint32_t *items, size_t count);

// Sorts the list upwards. The items are the call's own copy.
void wnn_list_sort(WNNUint32List *list);

bool wnn_check_axis(struct op_call *call, uint32_t axis, const char *operand, const struct shape *shape);

#endif
