// SPDX-License-Identifier: Apache-2.0
//
// What the operators of a context accept, https://www.w3.org/TR/webnn/#api-mlcontext-opsupportlimits: the
// rows of the operator table, cut down to what the backend can do.

#include "runtime/internal.h"

#include <string.h>

// The forms of 2024 that are recorded as other operators stand at the end of the table.
#define OPERATOR_COUNT ((size_t)WNN_OP_argMinAxes)

#define ALL_TYPES (F32 | F16 | I32 | U32 | I64 | U64 | I8 | U8 | I4 | U4)

bool wnn_limits_create(WNNContext context, struct error *error)
{
    size_t operands = 0;
    for (size_t op = 0; op < OPERATOR_COUNT; op++)
        for (const struct op_row *row = wnn_ops[op].rows; row->name; row++)
            operands += row->kind != ROW_ATTRIBUTE;
    WNNOperatorLimits *operators = wnn_allocate_zero(
        &context->allocator, OPERATOR_COUNT * sizeof *operators + operands * sizeof(WNNOperandLimits));
    if (!operators)
        return wnn_fail_memory(error);
    WNNOperandLimits *operand = (WNNOperandLimits *)(operators + OPERATOR_COUNT);
    for (size_t op = 0; op < OPERATOR_COUNT; op++) {
        operators[op].name = (WNNStringView){wnn_ops[op].name, strlen(wnn_ops[op].name)};
        operators[op].operands = operand;
        for (const struct op_row *row = wnn_ops[op].rows; row->name; row++) {
            if (row->kind == ROW_ATTRIBUTE)
                continue;
            *operand++ =
                (WNNOperandLimits){.name = {row->name, strlen(row->name)},
                                   .isOptional = wnn_op_row_is_optional(row),
                                   .limits = {wnn_supported_types(context->backend, (enum op)op, row),
                                              row->min_rank, row->max_rank}};
        }
        operators[op].operandCount = (size_t)(operand - operators[op].operands);
    }
    context->operator_limits = operators;
    context->operator_count = OPERATOR_COUNT;
    return true;
}

WNNStatus wnnContextGetOpSupportLimits(WNNContext context, WNNOpSupportLimits *limits)
{
    struct error error = {0};
    if (!context)
        return WNNStatus_TypeError;
    if (!wnn_check_outputs(limits, 1, sizeof *limits, "operator limits", &error))
        return wnn_context_report(context, &error);
    const WNNTensorLimits all = {ALL_TYPES, 0, WNN_MAX_RANK};
    // The element count is bounded in any case; the widest elements have 8 bytes.
    uint64_t most = (uint64_t)WNN_MAX_DIMENSION * 8, limit = context->limits.maxTensorByteLength;
    *limits = (WNNOpSupportLimits){.preferredInputLayout = context->backend->preferred_layout,
                                   .maxTensorByteLength = limit != 0 && limit < most ? limit : most,
                                   .input = all,
                                   .constant = all,
                                   .output = all,
                                   .operatorCount = context->operator_count,
                                   .operators = context->operator_limits};
    return WNNStatus_Success;
}
