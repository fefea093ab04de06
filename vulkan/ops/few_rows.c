// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/few_rows.h"

enum {
    SOME_ROWS = 4,             // from which on their sums take as long to join as to make, with many lanes
    MANY_ROWS = 8,             // of which each invocation has fewer columns
    MAX_INVOCATIONS = 1 << 18, // as many as a large device has room for,
    MAX_NARROW = 1 << 17,      // with the registers that it takes to make floats of large packs of 4 bits
    FEW_INVOCATIONS = 1 << 17, // below these they have fewer columns too
    MOST_COLUMNS = 4,          // of an invocation
    ENOUGH_UNITS = 64,         // of a column
    POOL = 4096                // floats of shared memory
};

struct schedule {
    uint32_t unit, lanes, side, ahead, groups;
    uint32_t joined; // lanes that hand one another sums
    uint32_t local_size;
};

static uint32_t pieces(uint32_t whole, uint32_t piece)
{
    return whole / piece + (whole % piece != 0);
}

// Of integers more are loaded at once, with one scale for all, if there are enough of such units.
static uint32_t choose_unit(const struct capabilities *can, const struct product *p, unsigned bits)
{
    uint32_t unit = wnn_weight_unit(bits);
    while (2 * unit * bits <= 128 && p->inner % (2 * unit) == 0 &&
           wnn_has_single_scales(p->weights, bits, 2 * unit) &&
           (p->inner / (2 * unit) >= ENOUGH_UNITS || can->minimal))
        unit *= 2;
    return unit;
}

static struct schedule choose(const struct capabilities *can, const struct product *p, unsigned bits)
{
    struct schedule schedule = {.unit = choose_unit(can, p, bits), .lanes = 1};
    uint32_t units = p->inner / schedule.unit, shuffles = can->shuffles;
    // Large packs of 4 bits take more to make floats of than to load: it is done by fewer lanes, which join
    // fewer sums. Without shuffles every invocation has sums in shared memory.
    bool narrow = bits == 4 && schedule.unit * bits == 128;
    uint32_t room = !shuffles || p->rows >= SOME_ROWS ? 64
                    : can->invocations >= 256         ? 256
                                                      : GPU_MIN_INVOCATIONS,
             most = narrow ? 64 : room;
    while (schedule.lanes < most && 2 * schedule.lanes <= units &&
           2 * schedule.lanes * (uint64_t)pieces(p->columns, MOST_COLUMNS) <=
               (narrow ? MAX_NARROW : MAX_INVOCATIONS))
        schedule.lanes *= 2;
    bool many = p->rows > MANY_ROWS || (uint64_t)p->columns * schedule.lanes < FEW_INVOCATIONS;
    schedule.side = many ? MOST_COLUMNS / 2 : MOST_COLUMNS;
    schedule.joined = shuffles == 0 ? 1 : schedule.lanes < shuffles ? schedule.lanes : shuffles;
    schedule.local_size = schedule.lanes > 128 ? schedule.lanes : room < 128 ? room : 128;
    while (schedule.local_size > schedule.lanes && schedule.local_size > 32 &&
           schedule.local_size / schedule.joined * p->rows * schedule.side > POOL)
        schedule.local_size /= 2;
    schedule.groups = schedule.local_size / schedule.lanes;
    // Drivers for processors take long to unroll as much.
    uint32_t steps = pieces(units, schedule.lanes), ahead = schedule.unit * bits < 128 ? 4 : narrow ? 1 : 2;
    schedule.ahead = can->type == VK_PHYSICAL_DEVICE_TYPE_CPU ? 1 : steps < ahead ? steps : ahead;
    return schedule;
}

static void describe_rows(struct shader *shader, const struct product *p)
{
    bool quads = wnn_shader_has_quads(shader->lowering, p->a) && p->a_inner == 1 && p->a_row % 4 == 0,
         eights = p->a->type == WNNDataType_Float16 && !p->a->fused && p->a->region.offset % GPU_QUAD == 0 &&
                  p->a_row % 8 == 0;
    for (unsigned d = 0; d < p->rank; d++) {
        quads = quads && p->a_steps[d] % 4 == 0;
        eights = eights && p->a_steps[d] % 8 == 0;
    }
    eights = eights && quads; // in one binding
    wnn_shader_map(shader, "a", p->rank, p->dims, p->a_steps, 0);
    unsigned k = wnn_shader_input(shader, "a", p->a, FORM_VALUE);
    if (eights)
        wnn_shader_text(shader,
                        "layout(std430, set = 0, binding = %u) readonly buffer E%u { uvec4 e%u[]; };\n"
                        "#define a_eight(i) e%u[(base%u + (i) / 2u) / 4u]\n",
                        k, k, k, k, k);
    else if (quads)
        wnn_shader_quads(shader, "a", p->a);
    wnn_shader_define(shader, "QUADS_A", "%d", quads);
    wnn_shader_define(shader, "EIGHTS_A", "%d", eights);
}

void wnn_lower_few_rows(struct lowering *lowering, const struct product *p)
{
    const struct capabilities *can = &lowering->gpu->can;
    unsigned bits = wnn_dtype_bits(p->b->fused ? p->b->fused->from : p->b->type);
    struct schedule schedule = choose(can, p, bits);
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "few_rows", SIZE_MAX);
    shader.local_size = schedule.local_size;
    if (schedule.joined > 1)
        shader.extensions = "#extension GL_KHR_shader_subgroup_basic : require\n"
                            "#extension GL_KHR_shader_subgroup_shuffle : require\n";
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
    wnn_shader_map(&shader, "b", p->rank, p->dims, p->b_steps, 0);
    wnn_shader_map(&shader, "out", p->rank, p->dims, p->out_steps, 0);
    wnn_product_scale(&shader, p);
    wnn_shader_output(&shader, p->out, FORM_VALUE, lowering->fused);
    wnn_shader_end_grid(&shader, pieces(p->columns, schedule.groups * schedule.side), 1, 1);
}
