// SPDX-License-Identifier: Apache-2.0
//
// Attributes of a call: taken from the caller's struct by the operator table, and compared by it.

#ifndef OPS_ATTRS_H_
#define OPS_ATTRS_H_

#include "ops/op.h"

// Copies `attrs` (NULL: the defaults) with everything that it points to into call->arena, and checks what can
// be checked without knowing the operator: chained structs, label, enumerators, lists, numbers, owners of
// activations.
bool wnn_attrs_take(struct op_call *call, const struct graph *owner, const void *attrs);

// Whether the attributes of two calls of an operator are equal; `sizes`: those too that are sizes.
bool wnn_op_attrs_equal(enum op op, const void *a, const void *b, bool sizes);

// The bytes of an attribute that lies in the struct itself; 0: it has others behind it.
size_t wnn_attr_flat_size(enum attr_kind kind);

// The activation with its attributes completed for operands of a data type.
bool wnn_activation_complete(struct op_call *call, const struct activation *activation, WNNDataType type,
                             struct activation *complete);

// The operator whose rows say all that complete attributes do: a form of 2024, where today's do not. *form:
// its attributes, which are `axes` then.
enum op wnn_op_form(enum op op, const void *attrs, WNNArgMinMaxAxesOptions *axes, const void **form);

#endif
