// SPDX-License-Identifier: Apache-2.0
//
// The operator table: ops.def as data.

#include "ops/op.h"

#include <string.h>

enum {
    ANY = F32 | F16 | I32 | U32 | I64 | U64 | I8 | U8,
    N = WNN_MAX_RANK
};

static const char *const layout_names[] = {"nchw", "nhwc", NULL};
static const char *const filterLayout_names[] = {"oihw", "hwio", "ohwi", "ihwo", NULL};
static const char *const transposeFilterLayout_names[] = {"iohw", "hwoi", "ohwi", NULL};
static const char *const interpolationMode_names[] = {"nearest-neighbor", "linear", NULL};
static const char *const paddingMode_names[] = {"constant", "edge", "reflection", "symmetric", NULL};
static const char *const roundingType_names[] = {"floor", "ceil", NULL};
static const char *const direction_names[] = {"forward", "backward", "both", NULL};
static const char *const gruLayout_names[] = {"zrn", "rzn", NULL};
static const char *const lstmLayout_names[] = {"iofg", "ifgo", NULL};

#define SAME(i) (WNN_SAME | (i))
#define OPERAND(kind, name, allowed, required, low, high, offset)                                            \
    {ROW_##kind, #name, allowed, required, low, high, offset, ATTR_u32, NULL, false},
#define IN(name, ...)  OPERAND(INPUT, name, __VA_ARGS__, 0)
#define INS(name, ...) OPERAND(INPUT_LIST, name, __VA_ARGS__, 0)
#define INO(options, name, ...)                                                                              \
    OPERAND(OPTIONAL_INPUT, name, __VA_ARGS__, offsetof(WNN##options##Options, name))
#define OUT(name, ...)                       OPERAND(OUTPUT, name, __VA_ARGS__, 0)
#define OUTO(name, ...)                      OPERAND(OPTIONAL_OUTPUT, name, __VA_ARGS__, 0)
#define OUTS(name, ...)                      OPERAND(OUTPUT_LIST, name, __VA_ARGS__, 0)
#define ATTRIBUTE(name, offset, kind, names) {ROW_ATTRIBUTE, name, 0, 0, 0, 0, offset, kind, names, false},
#define OPT(options, member, kind)                                                                           \
    ATTRIBUTE(#member, offsetof(WNN##options##Options, member), ATTR_##kind, NULL)
#define OPE(options, member, enumeration)                                                                    \
    ATTRIBUTE(#member, offsetof(WNN##options##Options, member), ATTR_enum, enumeration##_names)
#define OPA(options, member, name, enumeration)                                                              \
    ATTRIBUTE(#name, offsetof(WNN##options##Options, member), ATTR_enum, enumeration##_names)
#define ARG(type, member, name, kind)                                                                        \
    {ROW_ATTRIBUTE, #name, 0, 0, 0, 0, offsetof(struct type, member), ATTR_##kind, NULL, true},

#define OP(id, method, options, defaults, infer, ...)                                                        \
    static const WNN##options##Options id##_defaults = WNN_##defaults##_OPTIONS_INIT;                        \
    static const struct op_row id##_rows[] = {__VA_ARGS__{.name = NULL}};
#define OPX(id, method, option_struct, defaults, attrs, infer, ...)                                          \
    static const struct attrs id##_defaults = {.options = WNN_##defaults##_OPTIONS_INIT};                    \
    static const struct op_row id##_rows[] = {__VA_ARGS__{.name = NULL}};
#define OPI(id, attrs, infer, ...)                                                                           \
    static const struct attrs id##_defaults = {.options = WNN_OPERATOR_OPTIONS_INIT};                        \
    static const struct op_row id##_rows[] = {__VA_ARGS__{.name = NULL}};
#include "ops/ops.def"
#undef OP
#undef OPX

const struct op_info wnn_ops[WNN_OP_END] = {
#define OP(id, method, options, defaults, infer, ...)                                                        \
    [WNN_OP_##id] = {#id, id##_rows, sizeof id##_defaults, &id##_defaults, wnn_infer_##infer},
#define OPX(id, method, options, defaults, attrs, infer, ...)                                                \
    [WNN_OP_##id] = {#id, id##_rows, sizeof id##_defaults, &id##_defaults, wnn_infer_##infer},
#define OPI(id, attrs, infer, ...)                                                                           \
    [WNN_OP_##id] = {#id, id##_rows, sizeof id##_defaults, &id##_defaults, wnn_infer_##infer},
#include "ops/ops.def"
#undef OP
#undef OPX
};

enum op wnn_op_find(struct string name)
{
    for (unsigned op = 0; op < WNN_OP_COUNT; op++)
        if (strlen(wnn_ops[op].name) == name.length && memcmp(wnn_ops[op].name, name.data, name.length) == 0)
            return (enum op)op;
    return WNN_OP_COUNT;
}

static bool is_named(const struct op_row *row, struct string name)
{
    return strlen(row->name) == name.length && memcmp(row->name, name.data, name.length) == 0;
}

unsigned wnn_op_input_rows(const struct op_info *info)
{
    unsigned count = 0;
    for (const struct op_row *row = info->rows; row->name; row++)
        count += wnn_op_row_is_input(row);
    return count;
}

unsigned wnn_op_argument_rows(const struct op_info *info)
{
    unsigned count = 0;
    for (const struct op_row *row = info->rows; row->name; row++)
        count += row->argument;
    return count;
}

const struct op_row *wnn_op_operand_row(const struct op_info *info, struct string name, unsigned *input_index)
{
    unsigned index = 0;
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        if (is_named(row, name)) {
            *input_index = index;
            return row;
        }
        index++;
    }
    return NULL;
}

const struct op_row *wnn_op_attr_row(const struct op_info *info, struct string name, int attr)
{
    for (const struct op_row *row = info->rows; row->name; row++)
        if (row->kind == ROW_ATTRIBUTE && is_named(row, name) && (attr < 0 || (int)row->attr == attr))
            return row;
    return NULL;
}

bool wnn_op_is_activation(enum op op)
{
    switch (op) {
    case WNN_OP_clamp:
    case WNN_OP_elu:
    case WNN_OP_gelu:
    case WNN_OP_hardSigmoid:
    case WNN_OP_hardSwish:
    case WNN_OP_leakyRelu:
    case WNN_OP_linear:
    case WNN_OP_relu:
    case WNN_OP_sigmoid:
    case WNN_OP_softmax:
    case WNN_OP_softplus:
    case WNN_OP_softsign:
    case WNN_OP_tanh:
        return true;
    default:
        return false;
    }
}

bool wnn_op_is_elementwise(enum op op)
{
    switch (op) {
    case WNN_OP_abs:
    case WNN_OP_add:
    case WNN_OP_cast:
    case WNN_OP_ceil:
    case WNN_OP_clamp:
    case WNN_OP_cos:
    case WNN_OP_dequantizeLinear:
    case WNN_OP_div:
    case WNN_OP_elu:
    case WNN_OP_equal:
    case WNN_OP_erf:
    case WNN_OP_exp:
    case WNN_OP_floor:
    case WNN_OP_gelu:
    case WNN_OP_greater:
    case WNN_OP_greaterOrEqual:
    case WNN_OP_hardSigmoid:
    case WNN_OP_hardSwish:
    case WNN_OP_isInfinite:
    case WNN_OP_isNaN:
    case WNN_OP_leakyRelu:
    case WNN_OP_lesser:
    case WNN_OP_lesserOrEqual:
    case WNN_OP_linear:
    case WNN_OP_log:
    case WNN_OP_logicalAnd:
    case WNN_OP_logicalNot:
    case WNN_OP_logicalOr:
    case WNN_OP_logicalXor:
    case WNN_OP_max:
    case WNN_OP_min:
    case WNN_OP_mul:
    case WNN_OP_neg:
    case WNN_OP_notEqual:
    case WNN_OP_pow:
    case WNN_OP_prelu:
    case WNN_OP_quantizeLinear:
    case WNN_OP_reciprocal:
    case WNN_OP_relu:
    case WNN_OP_roundEven:
    case WNN_OP_sigmoid:
    case WNN_OP_sign:
    case WNN_OP_sin:
    case WNN_OP_softplus:
    case WNN_OP_softsign:
    case WNN_OP_sqrt:
    case WNN_OP_sub:
    case WNN_OP_tan:
    case WNN_OP_tanh:
    case WNN_OP_where:
        return true;
    default:
        return false;
    }
}
