// SPDX-License-Identifier: Apache-2.0
#include "tools/op_arguments.h"

#define IN(...)
#define INS(...)
#define INO(...)
#define OUT(...)
#define OUTO(...)
#define OUTS(...)
#define OPT(...)
#define OPE(...)
#define OPA(...)
#define ARG(...) +1
const unsigned char op_argument_rows[WNN_OP_COUNT] = {
#define OP(id, method, options, defaults, infer, ...)         [WNN_OP_##id] = 0 __VA_ARGS__,
#define OPX(id, method, options, defaults, attrs, infer, ...) [WNN_OP_##id] = 0 __VA_ARGS__,
#include "ops/ops.def"
#undef OP
#undef OPX
};
