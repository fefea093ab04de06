// SPDX-License-Identifier: Apache-2.0
//
// Operators that look at all elements along some axes. Sums are kept in two floats, which makes them as good
// as sums in double.

#include "vulkan/reduce.h"

#include <math.h>
#include <string.h>

struct groups wnn_groups_along(const struct shape *shape, const uint32_t *axes, size_t axis_count)
{
    struct groups groups = {.count = 1, .members = 1};
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(shape, strides);
    for (unsigned d = 0; d < shape->rank; d++) {
        bool listed = false;
        for (size_t i = 0; i < axis_count; i++)
            listed |= axes[i] == d;
        if (listed)
            continue;
        groups.outer_dims[groups.outer] = shape->dim[d];
        groups.outer_steps[groups.outer++] = (int64_t)strides[d];
        groups.count *= shape->dim[d];
    }
    for (size_t i = 0; i < axis_count; i++) {
        groups.inner_dims[groups.inner] = shape->dim[axes[i]];
        groups.inner_steps[groups.inner++] = (int64_t)strides[axes[i]];
        groups.members *= shape->dim[axes[i]];
    }
    return groups;
}

// The invocations that share a group: many for a long one, if they do not lie idle.
static unsigned choose_lanes(size_t members)
{
    return members >= 1024 ? 128 : members >= 64 ? 64 : members >= 16 ? 8 : 1;
}

void wnn_reduce_begin(struct shader *shader, struct lowering *lowering, const struct groups *groups,
                      const struct tensor *in, const struct tensor *out, enum form form,
                      const struct epilogue *epilogue)
{
    unsigned lanes = choose_lanes(groups->members);
    wnn_shader_begin(shader, lowering, "reduce", groups->count * groups->members);
    shader->local_size = lanes > 64 ? lanes : 64;
    wnn_shader_map(shader, "group", groups->outer, groups->outer_dims, groups->outer_steps, 0);
    wnn_shader_map(shader, "member", groups->inner, groups->inner_dims, groups->inner_steps, 0);
    wnn_shader_input(shader, "a", in, FORM_VALUE);
    wnn_shader_output(shader, out, form, epilogue);
    wnn_shader_define(shader, "LANES", "%u", lanes);
    wnn_shader_number(shader, "MEMBERS", (uint32_t)groups->members);
}

void wnn_reduce_end(struct shader *shader, const struct groups *groups)
{
    unsigned lanes = choose_lanes(groups->members), together = shader->local_size / lanes;
    uint64_t units = ((uint64_t)shader->count + shader->per - 1) / shader->per;
    wnn_shader_end_groups(shader, (units + together - 1) / together);
}

// The fold of `type`, whose neutral element is an expression: sums of mapped elements, and the result of one.
static void define_fold(struct shader *shader, const char *type, const char *neutral, const char *join,
                        const char *element, const char *mapped, const char *result)
{
    wnn_shader_define(shader, "SUM", "%s", type);
    wnn_shader_define(shader, "NEUTRAL", "%s", neutral);
    wnn_shader_text(shader, "SUM join(SUM a, SUM b) { return %s; }\n", join);
    wnn_shader_text(shader, "SUM mapped(%s x, uint k) { return %s; }\n", element, mapped);
    wnn_shader_text(shader, "OUT result_of(SUM s) { return %s; }\n", result);
}

void wnn_reduce_twice(struct shader *shader, const char *neutral, const char *first_join,
                      const char *prepared, const char *between, const char *second_neutral,
                      const char *mapped, const char *result)
{
    wnn_shader_define(shader, "PREPARE", "1");
    wnn_shader_define(shader, "SUM", "vec2");
    wnn_shader_define(shader, "FIRST_NEUTRAL", "%s", neutral);
    wnn_shader_define(shader, "NEUTRAL", "%s", second_neutral);
    wnn_shader_text(shader, "SUM first_join(SUM a, SUM b) { return %s; }\n", first_join);
    wnn_shader_text(shader, "SUM join(SUM a, SUM b) { return sum2(a, b); }\n");
    wnn_shader_text(shader, "SUM prepared(float x) { return %s; }\n", prepared);
    wnn_shader_text(shader, "SUM between(SUM s) { return %s; }\n", between);
    wnn_shader_text(shader, "SUM mapped(float x, SUM known) { return %s; }\n", mapped);
    wnn_shader_text(shader, "OUT result_of(SUM s, SUM known) { return %s; }\n", result);
}

// ---------------------------------------------------------------------------------------------------------------
// The ten reductions
// ---------------------------------------------------------------------------------------------------------------

// Sums of floats.
static const struct {
    const char *mapped, *result;
} sums[WNN_OP_COUNT] = {
    [WNN_OP_reduceL1] = {"vec2(magnitude(x), 0.0)", "s.x + s.y"},
    [WNN_OP_reduceL2] = {"product2(x, x)", "sqrt_of(s.x + s.y)"},
    [WNN_OP_reduceLogSum] = {"vec2(x, 0.0)", "log_sum2(s)"},
    [WNN_OP_reduceMean] = {"vec2(x, 0.0)", "mean2(s, float(MEMBERS)).x"},
    [WNN_OP_reduceSum] = {"vec2(x, 0.0)", "s.x + s.y"},
    [WNN_OP_reduceSumSquare] = {"product2(x, x)", "s.x + s.y"},
};

// The least or greatest number of a type.
static const char *extreme(WNNDataType type, bool least)
{
    switch (type) {
    case WNNDataType_Float32:
    case WNNDataType_Float16:
        return least ? "-INF" : "INF";
    case WNNDataType_Int64:
        return least ? "I64(0u, 0x80000000u)" : "I64(~0u, 0x7FFFFFFFu)";
    case WNNDataType_Uint64:
        return least ? "U64(0u, 0u)" : "U64(~0u, ~0u)";
    case WNNDataType_Int32:
    case WNNDataType_Int8:
    case WNNDataType_Int4:
        return least ? "int(0x80000000u)" : "0x7FFFFFFF";
    default:
        return least ? "0u" : "~0u";
    }
}

static const char *integer(WNNDataType type, bool one)
{
    switch (type) {
    case WNNDataType_Int64:
        return one ? "I64(1u, 0u)" : "I64(0u, 0u)";
    case WNNDataType_Uint64:
        return one ? "U64(1u, 0u)" : "U64(0u, 0u)";
    case WNNDataType_Float32:
    case WNNDataType_Float16:
        return one ? "1.0" : "0.0";
    default:
        return wnn_dtype_is_signed(type) ? (one ? "1" : "0") : (one ? "1u" : "0u");
    }
}

void wnn_lower_reduce(struct lowering *lowering)
{
    const struct node *node = lowering->node;
    const WNNReduceOptions *options = node->attrs;
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    struct groups groups = wnn_groups_along(&in->shape, options->axes.data, options->axes.count);
    const char *type = wnn_shader_type(in->type);
    struct shader shader;
    wnn_reduce_begin(&shader, lowering, &groups, in, out, FORM_VALUE, lowering->fused);
    if (node->op == WNN_OP_reduceMax || node->op == WNN_OP_reduceMin)
        define_fold(&shader, type, extreme(in->type, node->op == WNN_OP_reduceMax),
                    node->op == WNN_OP_reduceMax ? "greatest(a, b)" : "least(a, b)", type, "x", "s");
    else if (node->op == WNN_OP_reduceProduct)
        define_fold(&shader, type, integer(in->type, true), "mul(a, b)", type, "x", "s");
    else if (node->op == WNN_OP_reduceLogSumExp)
        wnn_reduce_twice(&shader, "vec2(-INF, 0.0)", "vec2(greatest(a.x, b.x), 0.0)", "vec2(x, 0.0)", "s",
                         "vec2(0.0)", "vec2(exp_below(x, known.x), 0.0)",
                         "is_nan(known.x) || is_inf(known.x) ? known.x : known.x + log_sum2(s)");
    else if (wnn_dtype_is_float(in->type))
        define_fold(&shader, "vec2", "vec2(0.0)", "sum2(a, b)", type, sums[node->op].mapped,
                    sums[node->op].result);
    else
        define_fold(&shader, type, integer(in->type, false), "add(a, b)", type,
                    node->op == WNN_OP_reduceL1          ? "magnitude(x)"
                    : node->op == WNN_OP_reduceSumSquare ? "mul(x, x)"
                                                         : "x",
                    "s");
    wnn_reduce_end(&shader, &groups);
}

void wnn_lower_arg_min_max(struct lowering *lowering)
{
    const struct arg_min_max_attrs *attrs = lowering->node->attrs;
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    struct groups groups = wnn_groups_along(&in->shape, attrs->axes.data, attrs->axes.count);
    const char *type = wnn_shader_type(in->type);
    struct shader shader;
    wnn_reduce_begin(&shader, lowering, &groups, in, out, FORM_VALUE, NULL);
    // Number ~0 is that of no element: a NaN has none.
    wnn_shader_text(&shader, "struct Found { %s x; uint k; };\n", type);
    wnn_shader_define(&shader, "SUM", "Found");
    wnn_shader_define(&shader, "NEUTRAL", "Found(%s, ~0u)", integer(in->type, false));
    wnn_shader_text(&shader, "bool better(%s a, %s b) { return %s; }\n", type, type,
                    lowering->node->op == WNN_OP_argMin ? "less(a, b)" : "less(b, a)");
    wnn_shader_text(&shader,
                    "Found join(Found a, Found b) {\nif (a.k == ~0u || b.k == ~0u) { if (a.k == ~0u) return "
                    "b; return a; }\n"
                    "if (better(a.x, b.x)) return a;\nif (better(b.x, a.x)) return b;\n"
                    "if ((a.k < b.k) == %s) return a;\nreturn b;\n}\n",
                    attrs->selectLastIndex ? "false" : "true");
    wnn_shader_text(&shader, "Found mapped(%s x, uint k) { return Found(x, %s); }\n", type,
                    wnn_dtype_is_float(in->type) ? "is_nan(x) ? ~0u : k" : "k");
    wnn_shader_text(&shader, "OUT result_of(Found s) { uint k = s.k == ~0u ? 0u : s.k; return %s; }\n",
                    out->type == WNNDataType_Int64 ? "i64_of(k)" : "int(k)");
    wnn_reduce_end(&shader, &groups);
}

// ---------------------------------------------------------------------------------------------------------------
// cumulativeSum: float16 by way of float32, since neighbours of a word belong to different sums
// ---------------------------------------------------------------------------------------------------------------

size_t wnn_scratch_of_cumulative_sum(const struct node *node)
{
    return node->out[0]->type.type == WNNDataType_Float16
               ? wnn_shape_elements(&node->out[0]->type.shape) * sizeof(float)
               : 0;
}

void wnn_lower_cumulative_sum(struct lowering *lowering)
{
    const struct cumulative_sum_attrs *attrs = lowering->node->attrs;
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    struct groups groups = wnn_groups_along(&in->shape, &attrs->axis, 1);
    unsigned lanes = groups.members >= 64 ? 64 : 1;
    bool half = out->type == WNNDataType_Float16, is_float = wnn_dtype_is_float(out->type);
    struct tensor sums_of = half ? wnn_scratch(lowering, 0, WNNDataType_Float32, out->count) : *out;
    const char *type = wnn_shader_type(in->type);
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "scan", out->count);
    wnn_shader_map(&shader, "group", groups.outer, groups.outer_dims, groups.outer_steps, 0);
    wnn_shader_input(&shader, "a", in, FORM_VALUE);
    wnn_shader_output(&shader, &sums_of, FORM_VALUE, NULL);
    wnn_shader_define(&shader, "LANES", "%u", lanes);
    wnn_shader_number(&shader, "MEMBERS", (uint32_t)groups.members);
    wnn_shader_number(&shader, "GROUPS", (uint32_t)groups.count);
    wnn_shader_number(&shader, "STRIDE", (uint32_t)groups.inner_steps[0]);
    wnn_shader_number(&shader, "REVERSED", attrs->options.reversed);
    wnn_shader_number(&shader, "EXCLUSIVE", attrs->options.exclusive);
    wnn_shader_define(&shader, "SUM", "%s", is_float ? "vec2" : type);
    wnn_shader_define(&shader, "NEUTRAL", "%s", is_float ? "vec2(0.0)" : integer(in->type, false));
    wnn_shader_text(&shader, "SUM join(SUM a, SUM b) { return %s; }\n",
                    is_float ? "sum2(a, b)" : "add(a, b)");
    wnn_shader_text(&shader, "SUM mapped(%s x) { return %s; }\n", type, is_float ? "vec2(x, 0.0)" : "x");
    wnn_shader_text(&shader, "OUT result_of(SUM s) { return %s; }\n", is_float ? "s.x + s.y" : "s");
    wnn_shader_end_groups(&shader, ((uint64_t)groups.count * lanes + 63) / 64);
    if (half)
        wnn_lower_convert(lowering, &sums_of, out);
}
