// SPDX-License-Identifier: Apache-2.0
//
// Attributes of a call: taken from the caller's struct by the operator table.

#ifndef OPS_ATTRS_H_
#define OPS_ATTRS_H_

#include "ops/op.h"

// Copies `attrs` (NULL: the defaults) with everything that it points to into call->arena, and checks what can
// be checked without knowing the operator: chained structs, label, enumerators, lists, numbers, owners of
// activations.
bool wnn_attrs_take(struct op_call *call, const struct graph *owner, const void *attrs);

// The activation with its attributes completed for operands of a data type.
bool wnn_activation_complete(struct op_call *call, const struct activation *activation, WNNDataType type,
                             struct activation *complete);

#endif
