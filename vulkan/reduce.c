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

// Whether elements of neighbouring groups lie side by side, and those of one group do not.
static bool are_columns(const struct groups *groups)
{
    uint32_t sizes[WNN_MAX_RANK];
    int64_t steps[WNN_MAX_RANK];
    if (wnn_shader_collapse(groups->inner, groups->inner_dims, groups->inner_steps, sizes, steps) == 0 ||
        steps[0] == 1)
        return false;
    return wnn_shader_collapse(groups->outer, groups->outer_dims, groups->outer_steps, sizes, steps) > 0 &&
           steps[0] == 1 && sizes[0] >= 16;
}

// The invocations that share a group: many for a long one, if they do not lie idle.
static unsigned choose_lanes(const struct groups *groups)
{
    if (are_columns(groups))
        return groups->members >= 64 ? 8 : 1;
    return groups->members >= 1024 ? 128 : groups->members >= 64 ? 64 : groups->members >= 16 ? 8 : 1;
}

static void begin_fold(struct shader *shader, struct lowering *lowering, const struct groups *groups,
                       const struct tensor *in, enum form in_form, const struct tensor *out, enum form form,
                       const struct fused *fused)
{
    unsigned lanes = choose_lanes(groups);
    bool columns = are_columns(groups);
    wnn_shader_begin(shader, lowering, "reduce", groups->count * groups->members);
    shader->local_size = columns ? 32 * lanes : lanes;
    shader->local_size = shader->local_size > 64 ? shader->local_size : 64;
    wnn_shader_define(shader, "COLUMNS", "%d", columns);
    wnn_shader_map(shader, "group", groups->outer, groups->outer_dims, groups->outer_steps, 0);
    wnn_shader_map(shader, "member", groups->inner, groups->inner_dims, groups->inner_steps, 0);
    wnn_shader_input(shader, "a", in, in_form);
    wnn_shader_output(shader, out, form, fused);
    wnn_shader_define(shader, "LANES", "%u", lanes);
    wnn_shader_number(shader, "MEMBERS", (uint32_t)groups->members);
}

void wnn_reduce_begin(struct shader *shader, struct lowering *lowering, const struct groups *groups,
                      const struct tensor *in, const struct tensor *out, enum form form,
                      const struct fused *fused)
{
    begin_fold(shader, lowering, groups, in, FORM_VALUE, out, form, fused);
}

void wnn_reduce_end(struct shader *shader, const struct groups *groups)
{
    unsigned lanes = choose_lanes(groups), together = shader->local_size / lanes;
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
    wnn_shader_define(shader, "ELEMENT", "%s", element);
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
    [WNN_OP_reduceMean] = {"vec2(x, 0.0)", "mean2(s, float(ALL_MEMBERS)).x"},
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

// The fold of one of them. `partial`: of members to what is kept in between; `merged`: of that to results.
static void define_reduction(struct shader *shader, enum op op, WNNDataType in, bool partial, bool merged)
{
    const char *type = wnn_shader_type(in);
    bool greatest = op == WNN_OP_reduceMax;
    if (greatest || op == WNN_OP_reduceMin)
        define_fold(shader, type, extreme(in, greatest), greatest ? "greatest(a, b)" : "least(a, b)", type,
                    "x", "s");
    else if (op == WNN_OP_reduceProduct)
        define_fold(shader, type, integer(in, true), "mul(a, b)", type, "x", "s");
    else if (wnn_dtype_is_float(in))
        define_fold(shader, "vec2", "vec2(0.0)", "sum2(a, b)", merged ? "vec2" : type,
                    merged ? "x" : sums[op].mapped, partial ? "s" : sums[op].result);
    else
        define_fold(shader, type, integer(in, false), "add(a, b)", type,
                    op == WNN_OP_reduceL1          ? "magnitude(x)"
                    : op == WNN_OP_reduceSumSquare ? "mul(x, x)"
                                                   : "x",
                    "s");
}

enum {
    LONG = 1 << 15,   // members of groups that are worth pieces
    PIECE = 1 << 10,  // the least members of one
    FILLED = 1 << 18, // invocations that a device has room for, roughly
};

// How many members of a group make a piece: all, if there are enough groups or it is short.
static size_t choose_piece(const struct groups *groups, WNNDataType type)
{
    size_t busy = groups->count * choose_lanes(groups);
    if (groups->members < LONG || busy > FILLED / 2 || type != WNNDataType_Float32)
        return groups->members;
    size_t pieces = FILLED / busy, most = groups->members / PIECE;
    pieces = pieces < most ? pieces : most;
    return (groups->members + pieces - 1) / pieces;
}

// Sums are kept as pairs between the two dispatches.
static bool is_sum(enum op op)
{
    return sums[op].mapped != NULL;
}

size_t wnn_scratch_of_reduce(const struct node *node)
{
    const WNNReduceOptions *options = node->attrs;
    const struct descriptor *in = &node->in[0]->type;
    struct groups groups = wnn_groups_along(&in->shape, options->axes.data, options->axes.count);
    size_t piece = choose_piece(&groups, in->type);
    if (!is_sum((enum op)node->op) || piece >= groups.members)
        return 0;
    return groups.count * ((groups.members + piece - 1) / piece) * 2 * sizeof(float);
}

// Pieces of long groups at first, then what comes of them.
static void reduce_pieces(struct lowering *lowering, const struct groups *groups, size_t piece)
{
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    enum op op = (enum op)lowering->node->op;
    uint32_t pieces = (uint32_t)((groups->members + piece - 1) / piece);
    struct tensor partial = wnn_scratch(lowering, 0, in->type, groups->count * pieces);
    partial.region.bytes *= 2;
    struct shader shader;
    wnn_reduce_begin(&shader, lowering, groups, in, &partial, FORM_PAIR, NULL);
    wnn_shader_number(&shader, "CHUNK", (uint32_t)piece);
    wnn_shader_number(&shader, "GROUPS", (uint32_t)groups->count);
    define_reduction(&shader, op, in->type, true, false);
    wnn_reduce_end(&shader, groups);

    struct groups rest = {.outer = 1,
                          .inner = 1,
                          .outer_dims = {(uint32_t)groups->count},
                          .outer_steps = {1},
                          .inner_dims = {pieces},
                          .inner_steps = {(int64_t)groups->count},
                          .count = groups->count,
                          .members = pieces};
    begin_fold(&shader, lowering, &rest, &partial, FORM_PAIR, out, FORM_VALUE, lowering->fused);
    wnn_shader_number(&shader, "ALL_MEMBERS", (uint32_t)groups->members);
    define_reduction(&shader, op, in->type, false, true);
    wnn_reduce_end(&shader, &rest);
}

// Normalisations and softmax, too, read what they fold up to three times.
bool wnn_fold_prepares(const struct node *node, unsigned input)
{
    (void)node;
    return input == 0;
}

void wnn_lower_reduce(struct lowering *lowering)
{
    const struct node *node = lowering->node;
    const WNNReduceOptions *options = node->attrs;
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    struct groups groups = wnn_groups_along(&in->shape, options->axes.data, options->axes.count);
    size_t piece = choose_piece(&groups, in->type);
    if (is_sum((enum op)node->op) && piece < groups.members) {
        reduce_pieces(lowering, &groups, piece);
        return;
    }
    struct shader shader;
    wnn_reduce_begin(&shader, lowering, &groups, in, out, FORM_VALUE, lowering->fused);
    wnn_shader_number(&shader, "ALL_MEMBERS", (uint32_t)groups.members);
    if (node->op == WNN_OP_reduceLogSumExp)
        wnn_reduce_twice(&shader, "vec2(-INF, 0.0)", "vec2(greatest(a.x, b.x), 0.0)", "vec2(x, 0.0)", "s",
                         "vec2(0.0)", "vec2(exp_below(x, known.x), 0.0)",
                         "is_nan(known.x) || is_inf(known.x) ? known.x : known.x + log_sum2(s)");
    else
        define_reduction(&shader, (enum op)node->op, in->type, false, false);
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
    wnn_shader_define(&shader, "ELEMENT", "%s", type);
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
