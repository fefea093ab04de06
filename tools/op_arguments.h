// SPDX-License-Identifier: Apache-2.0
//
// Which attributes of an operator are arguments that a call needs, and not options.

#ifndef TOOLS_OP_ARGUMENTS_H_
#define TOOLS_OP_ARGUMENTS_H_

#include "ops/op.h"

// How many attribute rows of each operator are arguments; they come before the options. Rows of one name or
// one member (split's number or list, cast's two spellings) are one argument.
extern const unsigned char op_argument_rows[WNN_OP_COUNT];

#endif
