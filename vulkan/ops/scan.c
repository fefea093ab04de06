// SPDX-License-Identifier: Apache-2.0
//
// cumulativeSum.

#include "vulkan/ops/reduce.h"

// How a group is shared by invocations, and by work groups if there are few of them.
struct scan {
    bool columns,
        by_float32; // by_float32: words of float16 numbers would be of two groups that nobody has both of
    unsigned lanes, held, rows, local_size;
    size_t chunk, share, pieces; // members; chunks; pieces of a group
};

enum {
    SCAN_LANES = 128,
    SCAN_COLUMN_LANES = 8,
    SCAN_FILLED = 1 << 18, // invocations that a device has room for, roughly
    HELD_COLUMNS = 8,
    MIN_SHARE = 4, // chunks
    MAX_PIECES = 512
};

static struct scan scan_of(const struct groups *groups, WNNDataType type, bool late)
{
    bool half = type == WNNDataType_Float16;
    size_t members = groups->members;
    uint32_t sizes[WNN_MAX_RANK];
    int64_t steps[WNN_MAX_RANK];
    unsigned outer =
        wnn_shader_collapse(groups->outer, groups->outer_dims, groups->outer_steps, sizes, steps);
    struct scan s = {.columns = members > 1 && groups->inner_steps[0] != 1, .lanes = 1, .rows = 1};
    if (s.columns) {
        s.held = HELD_COLUMNS;
        while (s.lanes < SCAN_COLUMN_LANES && (late || s.lanes * s.held < members))
            s.lanes *= 2;
        s.local_size = s.lanes == 1 ? 64 : 32 * s.lanes;
        s.by_float32 = half && (outer == 0 || steps[0] != 1 || sizes[0] % 2 != 0 ||
                                !wnn_are_multiples(outer, steps, 2, 1) || groups->inner_steps[0] % 2 != 0);
    } else {
        // Where few lanes are enough, more work groups are in flight, which wait for fewer lanes.
        unsigned most = wnn_dtype_bits(type) == 64 ? 9 : 17, lanes = half ? 32 : 64,
                 held_most = half ? 33 : most;
        bool few = members <= (size_t)lanes * held_most;
        most = few ? held_most : most;
        s.local_size = few ? lanes : SCAN_LANES;
        // Of a late graph, kernels are for few members, for more, and for many, of one group.
        size_t expected = !late ? members : members <= lanes ? lanes : (size_t)s.local_size * most;
        while (s.lanes < s.local_size && (late || s.lanes * (size_t)most < expected))
            s.lanes *= 2;
        size_t held = ((expected + s.lanes - 1) / s.lanes) | 1;
        s.held = held < most ? (unsigned)held : most;
        s.rows = s.local_size / s.lanes;
        s.by_float32 = half && members % 2 != 0 && s.rows == 1 && groups->count > 1;
    }
    s.chunk = s.lanes * s.held;
    size_t chunks = (members + s.chunk - 1) / s.chunk, busy = groups->count * s.lanes,
           pieces = busy < SCAN_FILLED / 4 ? SCAN_FILLED / (busy ? busy : 1) : 1;
    pieces = late ? 1 : pieces < MAX_PIECES ? pieces : MAX_PIECES;
    s.share = pieces > 1 ? (chunks + pieces - 1) / pieces : chunks;
    s.share = s.share < MIN_SHARE ? MIN_SHARE : s.share;
    s.share = s.share < chunks ? s.share : chunks;
    s.pieces = s.share ? (chunks + s.share - 1) / s.share : 1;
    return s;
}

// What the pieces have comes first, then, at a multiple of 256 bytes, float16 numbers as float32.
static size_t kept_bytes(const struct groups *groups, const struct scan *s, const struct reduction *reduction)
{
    return s->pieces > 1 ? (groups->count * s->pieces * wnn_reduction_bytes(reduction) + 255) / 256 * 256 : 0;
}

static size_t scratch_bytes(const struct node *node)
{
    const struct descriptor *type = &node->in[0]->type;
    struct groups groups = wnn_groups_of(node);
    struct scan s = scan_of(&groups, type->type, wnn_node_is_late(node));
    struct reduction reduction = wnn_reduction_of(WNN_OP_reduceSum, type->type);
    return kept_bytes(&groups, &s, &reduction) +
           (s.by_float32 ? wnn_shape_elements(&type->shape) * sizeof(float) : 0);
}

static void lower_scan(struct lowering *lowering, const struct groups *groups, const struct scan *s,
                       const struct reduction *reduction, const struct tensor *out, const struct tensor *kept)
{
    const struct cumulative_sum_attrs *attrs = lowering->node->attrs;
    const struct tensor *in = &lowering->in[0];
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "scan", out->count);
    shader.local_size = s->local_size;
    wnn_shader_map(&shader, "group", groups->outer, groups->outer_dims, groups->outer_steps, 0);
    unsigned k = wnn_shader_input(&shader, "a", in, FORM_VALUE);
    wnn_shader_define(&shader, "a_word(i)", "w%u(i)", k);
    if (s->pieces > 1)
        wnn_shader_input(&shader, "kept", kept, reduction->kept_form);
    wnn_shader_output(&shader, out, FORM_VALUE, NULL);
    wnn_shader_define(&shader, "PAIRS", "%d", shader.per == 2);
    wnn_shader_define(&shader, "COLUMNS", "%d", s->columns);
    wnn_shader_define(&shader, "LANES", "%u", s->lanes);
    wnn_shader_define(&shader, "HELD", "%uu", s->held);
    wnn_shader_define(&shader, "ROWS", "%u", s->rows);
    wnn_shader_define(&shader, "PIECES", "%zu", s->pieces);
    wnn_shader_define(&shader, "REVERSED", "%d", attrs->options.reversed);
    wnn_shader_define(&shader, "EXCLUSIVE", "%d", attrs->options.exclusive);
    wnn_shader_number(&shader, "SHARE", (uint32_t)s->share);
    wnn_shader_number(&shader, "MEMBERS", (uint32_t)groups->members);
    wnn_shader_number(&shader, "GROUPS", (uint32_t)groups->count);
    wnn_shader_number(&shader, "STRIDE", (uint32_t)groups->inner_steps[0]);
    wnn_shader_define(&shader, "CELL", "%s", wnn_shader_type(in->type));
    wnn_shader_define(&shader, "NOTHING", "%s", wnn_dtype_is_float(in->type) ? "0.0" : reduction->neutral);
    wnn_shader_define(&shader, "SUM", "%s", reduction->sum);
    wnn_shader_define(&shader, "NEUTRAL", "%s", reduction->neutral);
    wnn_shader_text(&shader, "SUM kept_sum(%s x) { return %s; }\n", reduction->kept_element, reduction->back);
    wnn_shader_text(&shader, "void accumulate(inout SUM s, CELL x) {\n%s\n}\n", reduction->accumulate);
    // Pairs of floats are not put in order: the second is not a number where the first is not finite.
    if (!wnn_dtype_is_float(in->type))
        wnn_shader_text(&shader, "SUM join(SUM a, SUM b) { return add(a, b); }\n"
                                 "CELL result_of(SUM s) { return s; }\n");
    else
        wnn_shader_text(&shader,
                        "vec2 join(vec2 a, vec2 b) {\nfloat lost, high = exact_sum(a.x, b.x, lost);\n"
                        "precise float low = a.y + b.y + lost;\nreturn vec2(high, low);\n}\n"
                        "float result_of(vec2 s) {\n"
                        "precise float y = s.x + s.y;\nreturn is_nan(s.y) ? s.x : y;\n}\n");
    if (s->columns)
        wnn_shader_end_groups(&shader, (groups->count + shader.per - 1) / shader.per * s->pieces,
                              s->local_size / s->lanes);
    else
        wnn_shader_end_groups(&shader, (groups->count + s->rows - 1) / s->rows * s->pieces, 1);
}

static void lower_cumulative_sum(struct lowering *lowering)
{
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    struct groups groups = wnn_groups_of(lowering->node);
    struct scan s = scan_of(&groups, in->type, lowering->late);
    struct reduction reduction = wnn_reduction_of(WNN_OP_reduceSum, in->type);
    struct tensor kept = wnn_scratch(lowering, 0, reduction.kept_type, groups.count * s.pieces);
    kept.region.bytes = groups.count * s.pieces * wnn_reduction_bytes(&reduction);
    if (s.pieces > 1)
        wnn_lower_partial_reduction(lowering, &groups, &reduction, s.share * s.chunk, &kept);
    if (!s.by_float32) {
        lower_scan(lowering, &groups, &s, &reduction, out, &kept);
        return;
    }
    struct tensor sums =
        wnn_scratch(lowering, kept_bytes(&groups, &s, &reduction), WNNDataType_Float32, out->count);
    lower_scan(lowering, &groups, &s, &reduction, &sums, &kept);
    wnn_lower_convert(lowering, &sums, out);
}

const struct gpu_operator wnn_gpu_cumulativeSum = {.lower = lower_cumulative_sum, .scratch = scratch_bytes};
