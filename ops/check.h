// SPDX-License-Identifier: Apache-2.0
//
// Checks of what callers pass, whoever records it.

#ifndef OPS_CHECK_H_
#define OPS_CHECK_H_

#include "ops/op.h"

#define WNN_LABEL_TEXT 128 // characters of a label in messages

// Checks a public descriptor against the limits and converts it:
// https://www.w3.org/TR/webnn/#mloperanddescriptor-check-dimensions. `what` begins the message. `sizes` may
// be NULL: all are known.
bool wnn_check_descriptor(const WNNLimits *limits, const struct size_table *sizes, const char *what,
                          WNNDataType type, WNNUint32List shape, struct descriptor *descriptor,
                          struct error *error);

// The same for a descriptor that exists: dimensions, element count, byte length. Of sizes that are not known
// what is certain; `sizes` may be NULL.
bool wnn_check_limits(const WNNLimits *limits, const struct size_table *sizes, const char *what,
                      const struct descriptor *descriptor, struct error *error);

// A name or label: length and UTF-8.
bool wnn_check_string(const WNNLimits *limits, const char *what, WNNStringView view, struct error *error);

// The ranks of the operands of a call that are there, by the table.
bool wnn_op_check_ranks(struct op_call *call);

// The operands of a call that are there: data types and ranks by the table, and by `types`, which is asked
// what is supported of a row.
bool wnn_op_check_operands(struct op_call *call,
                           uint32_t (*types)(void *context, enum op op, const struct op_row *row),
                           void *context);

// Whether the names of ports differ from each other; `what` they are begins the message. snapshot.c
bool wnn_check_port_names(struct arena *arena, const struct graph_port *ports, size_t count, const char *what,
                          struct error *error);

#endif
