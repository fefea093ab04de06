// SPDX-License-Identifier: Apache-2.0
#include "ops/expression.h"

// Whether a step is that operator, on the value before and, as further operands, the expression's from number
// `next` on.
static bool is_step(const struct elementwise_step *step, enum op op, unsigned before, unsigned next)
{
    if (step->op != op || step->in[0] != before)
        return false;
    for (unsigned i = 1; i < step->in_count; i++)
        if (step->in[i] != next + i - 1)
            return false;
    return true;
}

struct epilogue wnn_epilogue(const struct node *node)
{
    const struct expression *fused = wnn_fused(node, WNN_AT_OUTPUT);
    struct epilogue epilogue = {0};
    unsigned before = 0, next = 1; // the value that the next step reads, and its first operand
    for (unsigned i = 0; fused && i < fused->count; i++) {
        const struct elementwise_step *step = &fused->steps[i];
        if (i == 0 && is_step(step, WNN_OP_add, before, next) && next <= fused->operand_count)
            epilogue.addend = fused->first + next - 1;
        else if (step->in_count == 1 && step->in[0] == before && wnn_op_is_activation((enum op)step->op) &&
                 !epilogue.activation.attrs && !epilogue.scale)
            epilogue.activation = (struct activation){.op = step->op, .attrs = step->attrs};
        else if (is_step(step, WNN_OP_quantizeLinear, before, next) && !epilogue.scale)
            epilogue.scale = fused->first + next - 1;
        else
            epilogue.other = true;
        next += step->in_count - 1u;
        before = fused->operand_count + 1 + i;
    }
    return epilogue;
}

unsigned wnn_prologue_scale(const struct node *node, unsigned i)
{
    const struct expression *fused = wnn_fused(node, i);
    return fused && fused->count == 1 && is_step(&fused->steps[0], WNN_OP_dequantizeLinear, 0, 1)
               ? fused->first
               : 0;
}

bool wnn_is_quantized(const struct node *node)
{
    const struct expression *fused = node->fused;
    return (fused && (fused->at != WNN_AT_OUTPUT || fused->next)) || wnn_epilogue(node).scale;
}
