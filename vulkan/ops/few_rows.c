// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/few_rows.h"

#include "ops/geometry.h"
#include "vulkan/ops/matrix_units.h"

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
    SQUARES = 256,    // and those by which an invocation tells others of its part of a row
    // Of rows of float32, of which lanes load more than of weights: neighbors load what lies beside one
    // another, and lanes of other columns the same again. An H200 has been measured.
    NEAR_LANES = 32,        // that load the same terms of rows together
    NEAR_INTEGERS = 4,      // neighbors of these along the terms of a column of integers,
    NEAR_FLOATS = 8,        // and of floats
    NEAR_WEIGHTS = 1 << 24, // floats from which on it is worth it
    MIN_NEAR_ROWS = 2,      // rows from which on it is worth it by integers
    SOME_NEAR_ROWS = 3,     // rows from which on packs of integers need not be on their way early
    MANY_NEAR_ROWS = 5,     // rows from which on it is worth it by floats, and packs are small:
    NEAR_TERMS = 64,        // terms of packs of all neighbors
    LEAST_NEAR = 1024,      // times NEAR_LANES that many rows need for it,
    ENOUGH_NEAR = 2048,     // and fewer rows, and that are enough
    MOST_FAR = 16,          // times NEAR_LANES in a work group,
    NEAR_POOL = 2 * POOL,   // and floats of shared memory for their sums
    // On matrix units, by parts of so many rows and columns; an H200 has been measured:
    PART = 16,
    WIDE = 3200,          // columns from which on a subgroup has two parts of them,
    WIDEST = 12800,       // or four, if rows are in several,
    MOST_SUBGROUPS = 16,  // of a work group,
    LEAST_SUBGROUPS = 4,  // if there are terms for them,
    MANY_SUBGROUPS = 2112 // that a large device runs at once
};

#define SHUFFLES                                                                                             \
    "#extension GL_KHR_shader_subgroup_basic : require\n"                                                    \
    "#extension GL_KHR_shader_subgroup_shuffle : require\n"

struct schedule {
    uint32_t unit, lanes, side, ahead, groups;
    uint32_t near;   // lanes of a column that are beside one another, or 0: all
    uint32_t joined; // lanes that hand one another sums
    bool prefetch;   // packs are on their way while others are multiplied
    uint32_t local_size;
    bool fixed;                // rows are whole numbers
    uint32_t parts, subgroups; // of a work group, on matrix units
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

// Whether few lanes of a column are beside one another; for many rows with small packs, so that what they
// load of one is close together.
static bool choose_near(const struct capabilities *can, const struct product *p, unsigned bits,
                        struct schedule *schedule)
{
    bool floats = bits > 8, many = p->rows >= MANY_NEAR_ROWS, tested = can->minimal || can->always_matrices;
    uint32_t near = floats ? NEAR_FLOATS : NEAR_INTEGERS, unit = schedule->unit, far = 1;
    if (p->a->type != WNNDataType_Float32 || can->shuffles < near ||
        p->rows < (uint32_t)(floats ? MANY_NEAR_ROWS : MIN_NEAR_ROWS) ||
        (floats && (uint64_t)p->inner * p->columns < NEAR_WEIGHTS && !tested))
        return false;
    while (many && near * unit > NEAR_TERMS && unit > wnn_weight_unit(bits))
        unit /= 2;
    uint32_t groups = NEAR_LANES / near, columns = groups * MOST_COLUMNS,
             places = wnn_divide_up(p->columns, columns), room = can->shared_bytes / sizeof(float),
             sums = p->a->deferred || room < NEAR_POOL ? POOL : NEAR_POOL;
    while (far < MOST_FAR && places * far < ENOUGH_NEAR && 2 * far * near * unit <= p->inner &&
           2 * far * NEAR_LANES <= can->invocations && 2 * far * columns * p->rows <= sums)
        far *= 2;
    if (places * far < (uint32_t)(many ? LEAST_NEAR : ENOUGH_NEAR) && !tested)
        return false;
    schedule->unit = unit;
    schedule->near = schedule->joined = near;
    schedule->lanes = near * far;
    schedule->groups = groups;
    schedule->side = MOST_COLUMNS;
    schedule->local_size = NEAR_LANES * far;
    schedule->ahead = 1;
    schedule->prefetch = floats || p->rows < SOME_NEAR_ROWS;
    return true;
}

// `paired`: half of the columns of an invocation, whole words of them, are another product's.
static struct schedule choose(const struct capabilities *can, const struct product *p, unsigned bits,
                              bool paired)
{
    struct schedule schedule = {.unit = choose_unit(can, p, bits), .lanes = 1};
    if (choose_fixed(can, p, bits, &schedule) || choose_near(can, p, bits, &schedule))
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

// As many subgroups as run at once, which are of few work groups if there are few columns. Of a work group
// there are no more than it has terms and shared memory for, and some even of those that run one after the
// other, since they read on beside one another.
static struct schedule choose_units(const struct capabilities *can, const struct product *p, unsigned bits)
{
    struct schedule schedule = {.unit = choose_unit(can, p, bits), .ahead = bits > 8 ? 2 : 1, .subgroups = 1};
    uint32_t panels = wnn_divide_up(p->rows, PART);
    schedule.parts = p->columns < WIDE ? 1 : panels > 1 && p->columns >= WIDEST ? 4 : 2;
    uint32_t columns = schedule.parts * PART, groups = wnn_divide_up(p->columns, columns),
             steps = wnn_divide_up(p->inner, 4 * schedule.unit * schedule.ahead);
    // Bytes of shared memory that a subgroup takes for its sums, and to emulate matrices.
    uint32_t sums = panels * PART * (columns + 4) * 4,
             pairs = can->matrix_units == MATRIX_UNITS_EMULATED ? can->subgroup * 8 * 4 : 0;
    for (uint32_t more = 2;
         more <= MOST_SUBGROUPS && more <= steps && more * can->subgroup <= can->invocations &&
         more * (sums + pairs) <= can->shared_bytes &&
         (more <= LEAST_SUBGROUPS || more * groups <= MANY_SUBGROUPS);
         more *= 2)
        schedule.subgroups = more;
    schedule.local_size = schedule.subgroups * can->subgroup;
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

static void describe_invocations(struct shader *shader, const struct product *p,
                                 const struct schedule *schedule)
{
    if (schedule->joined > 1 || (p->a->deferred && shader->lowering->gpu->can.shuffles))
        shader->extensions =
            schedule->fixed ? "#extension GL_EXT_spirv_intrinsics : require\n" SHUFFLES : SHUFFLES;
    wnn_shader_fixed(shader, "LANES", schedule->lanes);
    wnn_shader_define(shader, "SPREAD", "%d", schedule->near > 0);
    if (schedule->near > 0)
        wnn_shader_fixed(shader, "NEAR", schedule->near);
    wnn_shader_define(shader, "PREFETCH", "%d", schedule->prefetch);
    wnn_shader_fixed(shader, "SIDE", schedule->side);
    wnn_shader_fixed(shader, "AHEAD", schedule->ahead);
    wnn_shader_fixed(shader, "GROUPS", schedule->groups);
    wnn_shader_define(shader, "JOINED", "%u", schedule->joined);
}

static void describe_units(struct shader *shader, const struct product *p, const struct schedule *schedule)
{
    wnn_shader_matrices(shader, true);
    wnn_shader_include(shader, "places");
    wnn_shader_unroll(shader, "UNROLL", shader->lowering->gpu->can.matrix_units != MATRIX_UNITS_EMULATED);
    wnn_shader_fixed(shader, "EIGHTS", wnn_divide_up(p->rows, 8)); // all else is the same for as many
    wnn_shader_define(shader, "SUBGROUPS", "%uu", schedule->subgroups);
    wnn_shader_define(shader, "COLUMN_PARTS", "%uu", schedule->parts);
    wnn_shader_define(shader, "AHEAD", "%uu", schedule->ahead);
}

void wnn_lower_few_rows(struct lowering *lowering, const struct product *p)
{
    const struct capabilities *can = &lowering->gpu->can;
    const struct deferred *partner = wnn_product_partner(lowering);
    struct product all = *p; // columns of both
    all.columns *= partner ? 2 : 1;
    unsigned bits = wnn_dtype_bits(p->b->fused ? p->b->fused->from : p->b->type);
    bool on_units = p->weights->on_units;
    struct schedule schedule =
        on_units ? choose_units(can, &all, bits) : choose(can, &all, bits, partner != NULL);
    struct shader shader;
    wnn_shader_begin(&shader, lowering, on_units ? "few_rows_units" : "few_rows", SIZE_MAX);
    shader.local_size = schedule.local_size;
    wnn_shader_number_if(&shader, "ROWS", p->rows, !on_units);
    wnn_product_steps(&shader, p);
    wnn_shader_fixed(&shader, "OUT_ROW", p->out_row);
    if (on_units)
        describe_units(&shader, p, &schedule);
    else
        describe_invocations(&shader, p, &schedule);
    describe_rows(&shader, p);
    wnn_shader_weights(&shader, p, schedule.unit, false);
    wnn_shader_define(&shader, "FIXED", "%d", schedule.fixed);
    if (schedule.fixed)
        wnn_shader_include(&shader, "fixed");
    wnn_shader_define(&shader, "PAIRED", "%d", partner != NULL);
    wnn_shader_define(&shader, "B_OPERANDS", "%uu", partner ? 2 : 1);
    if (partner)
        describe_partner(&shader, partner, p, schedule.unit);
    wnn_shader_map(&shader, "b", p->rank, p->dims, p->b_steps, 0);
    wnn_shader_map(&shader, "out", p->rank, p->dims, p->out_steps, 0);
    wnn_product_scale(&shader, p, false);
    wnn_shader_output(&shader, p->out, FORM_VALUE, lowering->fused);
    wnn_shader_include(&shader, "few_rows_ends");
    uint32_t columns = on_units ? schedule.parts * PART : schedule.groups * schedule.side; // of a work group
    wnn_shader_end_grid(&shader, wnn_divide_up(all.columns, columns), 1, 1);
}
