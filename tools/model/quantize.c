// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tensor.h"

typedef WNNOperand (*entry_quantize)(WNNGraphBuilder builder, WNNOperand input, WNNOperand scale,
                                     WNNOperand zero_point, const WNNOperatorOptions *options);

static struct tensor *call_quantize(struct recording *r, entry_quantize entry, struct tensor *t,
                                    struct tensor *scale, struct tensor *zero, int64_t type)
{
    WNNOperatorOptions options = {NULL, label_of(r)};
    WNNOperand a = operand_of(r, t), b = operand_of(r, scale), z = operand_of(r, zero);
    return a && b && z ? make_operand(r, type, entry(r->builder, a, b, z, &options)) : NULL;
}

struct tensor *quantize_linear(struct recording *r, struct tensor *t, struct tensor *scale,
                               struct tensor *zero, int64_t type)
{
    struct tensor *y = call_quantize(r, wnnGraphBuilderQuantizeLinear, t, scale, zero, type);
    // The operand is wider than the type.
    if (type == TYPE_UINT16)
        return clamp(r, y, 0, 65535);
    return type == TYPE_INT16 ? clamp(r, y, -32768, 32767) : y;
}

struct tensor *dequantize_linear(struct recording *r, struct tensor *t, struct tensor *scale,
                                 struct tensor *zero)
{
    return call_quantize(r, wnnGraphBuilderDequantizeLinear, t, scale, zero, scale ? scale->type : 0);
}
