// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/few_rows.h"

#include "ops/geometry.h"

#include <stdio.h>

enum {
    SOME_ROWS = 4,             // from which on their sums take as long to join as to make, with many lanes
    MANY_ROWS = 8,             // of which each invocation has fewer columns
    MAX_INVOCATIONS = 1 << 18, // as many as a large device has room for,
    MAX_NARROW = 1 << 17,      // with the registers that it takes to make floats of large packs of 4 bits
    FEW_INVOCATIONS = 1 << 17, // below these they have fewer columns too
    MOST_COLUMNS = 4,          // of an invocation
    ENOUGH_UNITS = 64,         // of a column
    // Of rows as whole numbers, which are worth making for many columns, by many invocations at once:
    FIXED_COLUMNS = 8,     // of each, or twice as many
    FIXED_LEAST = 1 << 16, // invocations that a large device is busy with,
    FIXED_ROUND = 1 << 17, // and so many that it runs at once with the registers that they take
    FIXED_FEWEST = 64,     // lanes of a column,
    FIXED_MOST = 512,
    FIXED_MANY = 256, // and so many where one work group follows another
    POOL = 4096,      // floats of shared memory,
    SQUARES = 256     // and those by which an invocation tells others of its part of a row
};

#define SHUFFLES                                                                                             \
    "#extension GL_KHR_shader_subgroup_basic : require\n"                                                    \
    "#extension GL_KHR_shader_subgroup_shuffle : require\n"

struct schedule {
    uint32_t unit, lanes, side, ahead, groups;
    uint32_t joined; // lanes that hand one another sums
    uint32_t local_size;
    bool fixed; // rows are whole numbers
};

// Of integers more are loaded at once, with one scale for all, if there are enough of such units.
static uint32_t choose_unit(const struct capabilities *can, const struct product *p, unsigned bits)
{
    uint32_t unit = wnn_weight_unit(bits);
    while (2 * unit * bits <= 128 && p->inner % (2 * unit) == 0 &&
           wnn_has_single_scales(p->weights, bits, 2 * unit) &&
           (p->inner / (2 * unit) >= ENOUGH_UNITS || can->minimal || can->always_matrices))
        unit *= 2;
    return unit;
}

// Whether rows are made whole numbers of (shaders/fixed.comp), by lanes of which each has one block if it
// can. Twice the columns are for what all runs at once then, and only then.
static bool choose_fixed(const struct capabilities *can, const struct product *p, unsigned bits,
                         struct schedule *schedule)
{
    bool half = p->a->type == WNNDataType_Float16 && p->b->type == WNNDataType_Float16 && !p->a->fused;
    if (!can->dots || can->shuffles == 0 || bits != 4 || schedule->unit * bits != 128 || !half ||
        p->rows > 1 || p->weights->exact)
        return false;
    uint32_t units = p->inner / schedule->unit,
             most = can->invocations < FIXED_MOST ? can->invocations : FIXED_MOST,
             lanes = wnn_divide_up(wnn_divide_up(units, wnn_divide_up(units, most)), can->shuffles) *
                     can->shuffles,
             side = FIXED_COLUMNS < can->shuffles ? FIXED_COLUMNS : can->shuffles;
    uint64_t invocations = (uint64_t)wnn_divide_up(p->columns, side) * lanes;
    bool at_once = invocations <= FIXED_ROUND, wide = !at_once && invocations <= 2 * FIXED_ROUND;
    if (lanes > most || (!can->always_matrices && (lanes < FIXED_FEWEST || invocations < FIXED_LEAST ||
                                                   (!at_once && !wide && lanes > FIXED_MANY))))
        return false;
    schedule->fixed = true;
    schedule->lanes = schedule->local_size = lanes;
    schedule->side = wide && 2 * side <= can->shuffles ? 2 * side : side;
    // The more columns, the fewer registers are left for what is on its way; with several rounds there are
    // enough.
    schedule->ahead = schedule->side > side ? 2 : at_once && side > 4 ? 4 : side;
    schedule->groups = 1;
    schedule->joined = can->shuffles;
    return true;
}

// `paired`: half of the columns of an invocation, whole words of them, are another product's.
static struct schedule choose(const struct capabilities *can, const struct product *p, unsigned bits,
                              bool paired)
{
    struct schedule schedule = {.unit = choose_unit(can, p, bits), .lanes = 1};
    if (choose_fixed(can, p, bits, &schedule))
        return schedule;
    uint32_t units = p->inner / schedule.unit, shuffles = can->shuffles;
    // Large packs of 4 bits take more to make floats of than to load: it is done by fewer lanes, which join
    // fewer sums. Without shuffles every invocation has sums in shared memory.
    bool narrow = bits == 4 && schedule.unit * bits == 128;
    uint32_t room = !shuffles || p->rows >= SOME_ROWS ? 64
                    : can->invocations >= 256         ? 256
                                                      : GPU_MIN_INVOCATIONS,
             most = narrow ? 64 : room;
    while (schedule.lanes < most && 2 * schedule.lanes <= units &&
           2 * schedule.lanes * (uint64_t)wnn_divide_up(p->columns, MOST_COLUMNS) <=
               (narrow ? MAX_NARROW : MAX_INVOCATIONS))
        schedule.lanes *= 2;
    bool many = p->rows > MANY_ROWS || (uint64_t)p->columns * schedule.lanes < FEW_INVOCATIONS;
    schedule.side = many && !paired ? MOST_COLUMNS / 2 : MOST_COLUMNS;
    schedule.joined = shuffles == 0 ? 1 : schedule.lanes < shuffles ? schedule.lanes : shuffles;
    schedule.local_size = schedule.lanes > 128 ? schedule.lanes : room < 128 ? room : 128;
    while (schedule.local_size > schedule.lanes && schedule.local_size > 32 &&
           schedule.local_size / schedule.joined * p->rows * schedule.side > POOL)
        schedule.local_size /= 2;
    schedule.groups = schedule.local_size / schedule.lanes;
    // Drivers for processors take long to unroll as much.
    uint32_t steps = wnn_divide_up(units, schedule.lanes), ahead = schedule.unit * bits < 128 ? 4
                                                                   : narrow                   ? 1
                                                                                              : 2;
    schedule.ahead = can->type == VK_PHYSICAL_DEVICE_TYPE_CPU ? 1 : steps < ahead ? steps : ahead;
    return schedule;
}

bool wnn_few_rows_have_room(const struct capabilities *can, const struct product *p)
{
    return (POOL + SQUARES + (uint64_t)p->rows * p->inner) * sizeof(float) <= can->shared_bytes;
}

bool wnn_few_rows_pair(const struct node *node)
{
    const struct weights *weights = node->choice;
    const struct expression *fused = wnn_fused(node, 1);
    unsigned bits = wnn_dtype_bits(fused ? fused->from : node->in[1]->type.type);
    return wnn_has_single_scales(weights, bits, wnn_weight_unit(bits));
}

// What rows are made of that are normalized when they are read.
static void describe_normalization(struct shader *shader, const struct product *p)
{
    const struct deferred *deferred = p->a->deferred;
    const struct node *node = deferred->node;
    static const char *const names[] = {NULL, "gain", "bias"}, *const quads[] = {NULL, "GAIN", "BIAS"},
                             *const none[] = {NULL, "1.0", "-0.0"};
    wnn_shader_define(shader, "CENTERED", "%d", node->op != WNN_OP_rmsNormalization);
    wnn_shader_define(shader, "SHUFFLES", "%u", shader->lowering->gpu->can.shuffles);
    wnn_shader_float(shader, "EPSILON", wnn_node_reduction_axes(node).epsilon);
    wnn_shader_float(shader, "SHARE", 1.0 / p->inner);
    wnn_shader_define(shader, "NORMALIZED(x, s, gain, bias)", "%s",
                      p->a->type == WNNDataType_Float16 ? "rounded_f16(normalized_half(x, s, gain, bias))"
                                                        : "normalized(x, s, gain, bias)");
    for (unsigned i = 1; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "%s(k)", quads[i]);
        if (i >= node->in_count || !node->in[i]) {
            wnn_shader_define(shader, name, "vec4(%s)", none[i]);
            continue;
        }
        const struct tensor *tensor = &deferred->in[i];
        wnn_shader_input(shader, names[i], tensor, FORM_VALUE);
        if (wnn_shader_has_quads(shader->lowering, tensor)) {
            wnn_shader_quads(shader, names[i], tensor);
            wnn_shader_define(shader, name, "%s_quad(k)", names[i]);
        } else {
            wnn_shader_define(shader, name, "vec4(%s_at(k), %s_at(k + 1u), %s_at(k + 2u), %s_at(k + 3u))",
                              names[i], names[i], names[i], names[i]);
        }
    }
}

static void describe_rows(struct shader *shader, const struct product *p)
{
    const struct tensor *a = p->a->deferred ? &p->a->deferred->in[0] : p->a;
    bool quads = wnn_shader_has_quads(shader->lowering, a) && p->a_inner == 1 && p->a_row % 4 == 0,
         eights = a->type == WNNDataType_Float16 && !a->fused && !p->a->deferred &&
                  a->region.offset % GPU_QUAD == 0 && p->a_row % 8 == 0;
    for (unsigned d = 0; d < p->rank; d++) {
        quads = quads && p->a_steps[d] % 4 == 0;
        eights = eights && p->a_steps[d] % 8 == 0;
    }
    eights = eights && quads; // in one binding
    wnn_shader_map(shader, "a", p->rank, p->dims, p->a_steps, 0);
    unsigned k = wnn_shader_input(shader, "a", a, FORM_VALUE);
    if (eights)
        wnn_shader_text(shader,
                        "layout(std430, set = 0, binding = %u) readonly buffer E%u { uvec4 e%u[]; };\n"
                        "#define a_eight(i) e%u[(base%u + (i) / 2u) / 4u]\n",
                        k, k, k, k, k);
    else if (quads)
        wnn_shader_quads(shader, "a", a);
    wnn_shader_define(shader, "QUADS_A", "%d", quads);
    wnn_shader_define(shader, "EIGHTS_A", "%d", eights);
    wnn_shader_define(shader, "NORMALIZES", "%d", p->a->deferred != NULL);
    if (p->a->deferred)
        describe_normalization(shader, p);
}

static void describe_partner(struct shader *shader, const struct deferred *partner, const struct product *p,
                             uint32_t unit)
{
    const struct expression *weights = wnn_fused(partner->node, 1);
    struct tensor b = partner->in[1];
    struct fused fused;
    if (weights) {
        fused = (struct fused){weights->steps, weights->count, partner->in + weights->first,
                               weights->operand_count, weights->from};
        b.fused = &fused;
    }
    wnn_shader_partner_weights(shader, &b, unit);
    wnn_product_partner_results(shader, partner, p->out->type);
}

void wnn_lower_few_rows(struct lowering *lowering, const struct product *p)
{
    const struct capabilities *can = &lowering->gpu->can;
    const struct deferred *partner = wnn_product_partner(lowering);
    struct product all = *p; // columns of both
    all.columns *= partner ? 2 : 1;
    unsigned bits = wnn_dtype_bits(p->b->fused ? p->b->fused->from : p->b->type);
    struct schedule schedule = choose(can, &all, bits, partner != NULL);
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "few_rows", SIZE_MAX);
    shader.local_size = schedule.local_size;
    if (schedule.joined > 1 || (p->a->deferred && can->shuffles))
        shader.extensions =
            schedule.fixed ? "#extension GL_EXT_spirv_intrinsics : require\n" SHUFFLES : SHUFFLES;
    wnn_shader_fixed(&shader, "ROWS", p->rows);
    wnn_product_steps(&shader, p);
    wnn_shader_fixed(&shader, "OUT_ROW", p->out_row);
    wnn_shader_fixed(&shader, "LANES", schedule.lanes);
    wnn_shader_fixed(&shader, "SIDE", schedule.side);
    wnn_shader_fixed(&shader, "AHEAD", schedule.ahead);
    wnn_shader_fixed(&shader, "GROUPS", schedule.groups);
    wnn_shader_define(&shader, "JOINED", "%u", schedule.joined);
    describe_rows(&shader, p);
    wnn_shader_weights(&shader, p, schedule.unit, false);
    wnn_shader_define(&shader, "FIXED", "%d", schedule.fixed);
    if (schedule.fixed)
        wnn_shader_include(&shader, "fixed");
    wnn_shader_define(&shader, "PAIRED", "%d", partner != NULL);
    if (partner)
        describe_partner(&shader, partner, p, schedule.unit);
    wnn_shader_map(&shader, "b", p->rank, p->dims, p->b_steps, 0);
    wnn_shader_map(&shader, "out", p->rank, p->dims, p->out_steps, 0);
    wnn_product_scale(&shader, p, false);
    wnn_shader_output(&shader, p->out, FORM_VALUE, lowering->fused);
    wnn_shader_end_grid(&shader, wnn_divide_up(all.columns, schedule.groups * schedule.side), 1, 1);
}
