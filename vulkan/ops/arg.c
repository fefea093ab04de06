// SPDX-License-Identifier: Apache-2.0
//
// argMin and argMax.

#include "vulkan/ops/reduce.h"

#include <stdio.h>

#define JOIN_FOUND(first)                                                                                    \
    "if (a.k == ~0u || b.k == ~0u) { if (a.k == ~0u) return b; return a; }\n"                                \
    "if (better(a.x, b.x)) return a;\nif (better(b.x, a.x)) return b;\n"                                     \
    "if (a.k " first " b.k) return a;\nreturn b;"

static size_t scratch_bytes(const struct node *node)
{
    struct groups groups = wnn_groups_of(node);
    return wnn_reduction_scratch(&groups);
}

// Members by numbers, of which ~0 is that of none: a NaN has none.
static void lower_arg_min_max(struct lowering *lowering)
{
    const struct arg_min_max_attrs *attrs = lowering->node->attrs;
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    struct groups groups = wnn_groups_of(lowering->node);
    bool is_float = wnn_dtype_is_float(in->type), least = lowering->node->op == WNN_OP_argMin;
    bool large = wnn_dtype_bits(in->type) == 64;
    const char *type = is_float ? "int" : wnn_shader_type(in->type); // of floats the order
    const char *better = least ? "less(a, b)" : "less(b, a)";
    char declarations[256], neutral[64], accumulate[256], block[448], kept[64], back[96], result[96];
    snprintf(declarations, sizeof declarations,
             "struct Found { %s x; uint k; };\nbool better(%s a, %s b) { return %s; }\n", type, type, type,
             better);
    // The worst that there is: what is no better may as well be the first.
    snprintf(neutral, sizeof neutral, "Found(%s, ~0u)",
             wnn_shader_extreme(is_float ? WNNDataType_Int32 : in->type, !least));
    snprintf(accumulate, sizeof accumulate, "%s y = %s;\n%sif (%s) s = Found(y, k);", type,
             is_float ? "order_of(x)" : "x", is_float ? "if (is_nan(x)) return;\n" : "",
             attrs->selectLastIndex ? "!better(s.x, y)" : "better(y, s.x)");
    // Of 8 bits the place within a block, too, is part of what is compared.
    bool last = attrs->selectLastIndex, up = least != last;
    if (in->type == WNNDataType_Float16)
        snprintf(block, sizeof block,
                 "float best = x[0], all = 0.0;\nuint at = 0u;\n"
                 "[[unroll]] for (uint i = 0u; i < BLOCK; i++) {\n"
                 "bool is = x[i] %s best; best = is ? x[i] : best; at = is ? i : at; all += x[i];\n}\n"
                 "if (is_nan(all) || is_inf(all)) return false;\nint y = order_of(best);\n"
                 "if (%s) s = Found(y, member_of(k, at, end));\nreturn true;",
                 least  ? last ? "<=" : "<"
                 : last ? ">="
                        : ">",
                 last ? "!better(s.x, y)" : "better(y, s.x)");
    else
        snprintf(block, sizeof block,
                 "%s best = x[0] * 256 + %s(%s);\n"
                 "[[unroll]] for (uint i = 1u; i < BLOCK; i++) { best = %s(best, x[i] * 256 + %s(%s)); }\n"
                 "%s y = best >> 8;\nuint i = uint(best) & 255u;\n"
                 "if (%s) s = Found(y, member_of(k, %s, end));\nreturn true;",
                 type, type, up ? "0" : "255", least ? "min" : "max", type, up ? "i" : "255u - i", type,
                 last ? "!better(s.x, y)" : "better(y, s.x)", up ? "i" : "255u - i");
    snprintf(kept, sizeof kept,
             large ? "uintBitsToFloat(uvec4(s.x.lo, s.x.hi, s.k, 0u))" : "uvec2(s.x, s.k)");
    snprintf(back, sizeof back,
             large ? "Found(%s(floatBitsToUint(x.x), floatBitsToUint(x.y)), floatBitsToUint(x.z))"
                   : "Found(%s(x.x), x.y)",
             type);
    snprintf(result, sizeof result, "%s(s.k == ~0u ? 0u : s.k)",
             out->type == WNNDataType_Int64 ? "i64_of" : "int");
    struct reduction reduction = {.declarations = declarations,
                                  .sum = "Found",
                                  .neutral = neutral,
                                  .join = attrs->selectLastIndex ? JOIN_FOUND(">") : JOIN_FOUND("<"),
                                  .accumulate = accumulate,
                                  .block = wnn_dtype_bits(in->type) <= 16 ? block : NULL,
                                  .settled = "s",
                                  .result = result,
                                  .kept = kept,
                                  .back = back,
                                  .kept_type = WNNDataType_Uint64,
                                  .kept_form = large ? FORM_QUAD : FORM_BITS,
                                  .kept_element = large ? "vec4" : "uvec2",
                                  .dear = true};
    wnn_lower_reduction(lowering, &groups, &reduction);
}

const struct gpu_operator wnn_gpu_argMin = {
    .lower = lower_arg_min_max, .scratch = scratch_bytes, .fuses_prologue = wnn_reduction_fuses_prologue};
const struct gpu_operator wnn_gpu_argMax = {
    .lower = lower_arg_min_max, .scratch = scratch_bytes, .fuses_prologue = wnn_reduction_fuses_prologue};
