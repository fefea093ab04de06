// SPDX-License-Identifier: Apache-2.0
//
// The operator table: ops.def as data.

#include "ops/op.h"

#include <math.h>
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
#define OPERAND(kind, empty, name, allowed, required, low, high, offset)                                     \
    {ROW_##kind, #name, allowed, required, low, high, offset, ATTR_u32, ROLE_NONE, NULL, false, empty},
#define IN(name, ...)   OPERAND(INPUT, false, name, __VA_ARGS__, 0)
#define INS(name, ...)  OPERAND(INPUT_LIST, false, name, __VA_ARGS__, 0)
#define IN0(name, ...)  OPERAND(INPUT, true, name, __VA_ARGS__, 0)
#define INS0(name, ...) OPERAND(INPUT_LIST, true, name, __VA_ARGS__, 0)
#define INO(options, name, ...)                                                                              \
    OPERAND(OPTIONAL_INPUT, false, name, __VA_ARGS__, offsetof(WNN##options##Options, name))
#define OUT(name, ...)  OPERAND(OUTPUT, false, name, __VA_ARGS__, 0)
#define OUTO(name, ...) OPERAND(OPTIONAL_OUTPUT, false, name, __VA_ARGS__, 0)
#define OUTS(name, ...) OPERAND(OUTPUT_LIST, false, name, __VA_ARGS__, 0)
#define ATTRIBUTE(name, offset, names, argument, ...)                                                        \
    {ROW_ATTRIBUTE, #name, 0, 0, 0, 0, offset, __VA_ARGS__, names, argument, false},
#define OPT(options, member, kind)                                                                           \
    ATTRIBUTE(member, offsetof(WNN##options##Options, member), NULL, false, KIND_##kind)
#define OPE(options, member, enumeration) OPA(options, member, member, enumeration)
#define OPA(options, member, name, enumeration)                                                              \
    ATTRIBUTE(name, offsetof(WNN##options##Options, member), enumeration##_names, false, ATTR_enum, ROLE_NONE)
#define OPL(options, member)                                                                                 \
    ATTRIBUTE(member, offsetof(WNN##options##Options, member), layout_names, false, ATTR_enum, ROLE_LAYOUT)
#define ARG(type, member, name, kind) ATTRIBUTE(name, offsetof(struct type, member), NULL, true, KIND_##kind)

#define KIND_u32            ATTR_u32, ROLE_NONE
#define KIND_i32            ATTR_i32, ROLE_NONE
#define KIND_bool           ATTR_bool, ROLE_NONE
#define KIND_f64            ATTR_f64, ROLE_NONE
#define KIND_number         ATTR_number, ROLE_NONE
#define KIND_u32s           ATTR_u32s, ROLE_NONE
#define KIND_f32s           ATTR_f32s, ROLE_NONE
#define KIND_dtype          ATTR_dtype, ROLE_NONE
#define KIND_activation     ATTR_activation, ROLE_NONE
#define KIND_activations    ATTR_activations, ROLE_NONE
#define KIND_axis           ATTR_u32, ROLE_AXIS
#define KIND_axes           ATTR_u32s, ROLE_AXES
#define KIND_ordered_axes   ATTR_u32s, ROLE_ORDERED_AXES
#define KIND_spatial_axes   ATTR_u32s, ROLE_SPATIAL_AXES
#define KIND_each_dimension ATTR_u32s, ROLE_EACH_DIMENSION
#define KIND_each_size      ATTR_u32s, ROLE_EACH_SIZE
#define KIND_size           ATTR_u32, ROLE_SIZES
#define KIND_sizes          ATTR_u32s, ROLE_SIZES

#define OP(class, id, method, options, defaults, infer, ...)                                                 \
    static const WNN##options##Options id##_defaults = WNN_##defaults##_OPTIONS_INIT;                        \
    static const struct op_row id##_rows[] = {__VA_ARGS__{.name = NULL}};
#define OPX(class, id, method, option_struct, defaults, attrs, infer, ...)                                   \
    static const struct attrs id##_defaults = {.options = WNN_##defaults##_OPTIONS_INIT};                    \
    static const struct op_row id##_rows[] = {__VA_ARGS__{.name = NULL}};
#define OPI(class, id, attrs, infer, ...)                                                                    \
    static const struct attrs id##_defaults = {.options = WNN_OPERATOR_OPTIONS_INIT};                        \
    static const struct op_row id##_rows[] = {__VA_ARGS__{.name = NULL}};
#include "ops/ops.def"

const struct op_info wnn_ops[WNN_OP_END] = {
#define INFO(class, id, infer)                                                                               \
    [WNN_OP_##id] = {#id, CLASS_##class, id##_rows, sizeof id##_defaults, &id##_defaults, wnn_infer_##infer},
#define OP(class, id, method, options, defaults, infer, ...)         INFO(class, id, infer)
#define OPX(class, id, method, options, defaults, attrs, infer, ...) INFO(class, id, infer)
#define OPI(class, id, attrs, infer, ...)                            INFO(class, id, infer)
#include "ops/ops.def"
};

enum op wnn_op_find(struct string name)
{
    for (unsigned op = 0; op < WNN_OP_COUNT; op++)
        if (strlen(wnn_ops[op].name) == name.length && memcmp(wnn_ops[op].name, name.data, name.length) == 0)
            return (enum op)op;
    return WNN_OP_COUNT;
}

enum op wnn_op_sibling(enum op op)
{
    static const unsigned short siblings[WNN_OP_END] = {
#define OP(...)
#define OPD1(sibling, id, ...) [WNN_OP_##id] = WNN_OP_##sibling,
#define OPD2                   OPD1
#define OPD3                   OPD1
#define OPDX                   OPD1
#include "ops/ops.def"
    };
    return wnn_ops[op].class == CLASS_SHAPING ? (enum op)siblings[op] : op;
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

size_t wnn_attr_bytes(enum attr_kind kind)
{
    static const uint8_t bytes[] = {
        [ATTR_u32] = sizeof(uint32_t),
        [ATTR_i32] = sizeof(int32_t),
        [ATTR_bool] = sizeof(bool),
        [ATTR_f64] = sizeof(double),
        [ATTR_number] = sizeof(WNNNumber),
        [ATTR_u32s] = sizeof(WNNUint32List),
        [ATTR_f32s] = sizeof(WNNFloat32List),
        [ATTR_dtype] = sizeof(WNNDataType),
        [ATTR_enum] = sizeof(int32_t),
        [ATTR_activation] = sizeof(WNNActivation),
        [ATTR_activations] = sizeof(WNNActivationList),
    };
    return bytes[kind];
}

double wnn_attr_given(double value)
{
    return isinf(value) ? copysign(1e300, value) : value;
}

bool wnn_attr_is_told(const struct op_info *info, const struct op_row *row, const void *attrs)
{
    const char *at = (const char *)attrs + row->offset;
    for (const struct op_row *other = info->rows; other != row; other++)
        if (other->kind == ROW_ATTRIBUTE &&
            (other->offset == row->offset || strcmp(other->name, row->name) == 0))
            return false;
    if (row->attr == ATTR_u32s || row->attr == ATTR_f32s) {
        WNNUint32List list;
        memcpy(&list, at, sizeof list);
        return list.count != WNN_LIST_ABSENT;
    }
    if (row->attr == ATTR_activation) {
        WNNActivation handle;
        memcpy(&handle, at, sizeof handle);
        return handle != NULL;
    }
    if (row->attr == ATTR_number) {
        WNNNumber number;
        memcpy(&number, at, sizeof number);
        return number.type != WNNNumberType_Undefined;
    }
    return row->argument || row->attr == ATTR_activations ||
           memcmp(at, (const char *)info->defaults + row->offset, wnn_attr_bytes(row->attr)) != 0;
}

bool wnn_op_row_is_first(const struct op_info *info, const struct op_row *row)
{
    for (const struct op_row *other = info->rows; other != row; other++)
        if (other->kind == ROW_ATTRIBUTE && other->offset == row->offset)
            return false;
    return true;
}

const struct op_row *wnn_attr_telling_row(const struct op_info *info, const struct op_row *row)
{
    const struct op_row *list =
        wnn_op_attr_row(info, (struct string){row->name, strlen(row->name)}, ATTR_u32s);
    return list ? list : row;
}
