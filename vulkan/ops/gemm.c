// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/gemm.h"

#include "vulkan/ops/cooperative_tiles.h"
#include "vulkan/ops/gemm_cooperative.h"
#include "vulkan/ops/operators.h"
#include "vulkan/ops/weights.h"

// ---------------------------------------------------------------------------------------------------------------
// Schedules
// ---------------------------------------------------------------------------------------------------------------

// A tile of m x n sums along k of the inner dimension, of which an invocation has thread_m x thread_n;
// lanes_m x lanes_n invocations lie beside one another, so that what they read of shared memory is together.
struct tile {
    uint32_t m, n, k, thread_m, thread_n, lanes_m, lanes_n;
};

static const struct tile tiles[] = {
    {128, 128, 16, 8, 8, 8, 4},
    {64, 64, 16, 8, 4, 8, 4},
    {32, 32, 16, 4, 4, 4, 4},
};

enum {
    TILES = sizeof tiles / sizeof tiles[0],
    MAX_SLICES = 4,
    MAX_SPLITS = 16,
    FEW_ROWS = 4,
    FEW_UNITS = 4,         // of columns, or quads of them, of a workgroup
    MAX_PARTIALS = 1 << 22 // sums in scratch memory
};

struct schedule {
    bool few; // rows, that need no tiles
    const struct tile *tile;
    uint32_t slices; // of a workgroup
    uint32_t splits; // workgroups that share a tile
};

struct limits {
    uint32_t processors, shared_bytes, invocations;
};

static uint32_t threads_of(const struct tile *tile)
{
    return tile->m / tile->thread_m * (tile->n / tile->thread_n);
}

// In floats.
static uint32_t pool_of(const struct tile *tile, uint32_t slices)
{
    uint32_t operands = slices * tile->k * (tile->m + 4 + tile->n + 4), sums = slices / 2 * tile->m * tile->n;
    return sums > operands ? sums : operands;
}

static bool fits(const struct tile *tile, uint32_t slices, const struct limits *limits)
{
    return threads_of(tile) * slices <= limits->invocations &&
           pool_of(tile, slices) * sizeof(float) <= limits->shared_bytes;
}

// Roughly, in cycles of a processor: what its lanes take for the sums, or what it waits for between one step
// along k and the next, whichever is more. Small blocks of sums reach less of the lanes' rate, since they
// read more of shared memory for each. The numbers are what fits the layers of several networks on a large
// device.
static uint64_t cost_of(const struct product *p, const struct schedule *schedule, const struct limits *limits)
{
    enum {
        LANES = 128,
        REGISTERS = 65536,
        WAIT = 900,   // for a step
        BEGIN = 5000, // and end of a workgroup
        PASS = 7000   // that adds splits up
    };
    const struct tile *tile = schedule->tile;
    uint32_t sums = tile->thread_m * tile->thread_n, threads = threads_of(tile) * schedule->slices,
             percent = sums > 32
                           ? 70
                           : 60; // of the lanes' rate, since blocks of sums are read into from shared memory
    uint64_t groups = (uint64_t)wnn_divide_up(p->rows, tile->m) * wnn_divide_up(p->columns, tile->n) *
                      p->matrices * schedule->splits,
             busiest = (groups + limits->processors - 1) / limits->processors,
             at_once = REGISTERS / ((32 + 2 * sums) * threads),
             waits = at_once ? (busiest + at_once - 1) / at_once : busiest,
             steps = wnn_divide_up(wnn_divide_up(p->inner, tile->k * schedule->slices), schedule->splits),
             busy = busiest * schedule->slices * tile->m * tile->n * tile->k * 100 / (LANES * percent),
             wait = waits * (WAIT + 50 * schedule->slices);
    return steps * (busy > wait ? busy : wait) + waits * BEGIN + (schedule->splits > 1 ? PASS : 0);
}

// No tile: the device has room for none.
static struct schedule choose(const struct product *p, bool odd, const struct limits *limits)
{
    struct schedule best = {p->rows <= FEW_ROWS && !p->gather && !odd, NULL, 1, 1};
    uint64_t count = (uint64_t)p->rows * p->columns * p->matrices, least = UINT64_MAX;
    for (unsigned i = 0; i < TILES && !best.few; i++)
        for (uint32_t slices = 1; slices <= MAX_SLICES && fits(&tiles[i], slices, limits); slices *= 2)
            for (uint32_t splits = 1; splits <= MAX_SPLITS; splits *= 2) {
                const struct schedule schedule = {false, &tiles[i], slices, splits};
                uint64_t cost = cost_of(p, &schedule, limits);
                if (splits > 1 && count * splits > MAX_PARTIALS)
                    break;
                if (cost < least) {
                    least = cost;
                    best = schedule;
                }
            }
    return best;
}

// What scratch memory is planned for, whatever the device.
static const struct limits largest = {128, 48 * 1024, 1024};

// How many workgroups the device has room for at once, very roughly.
static struct limits limits_of(const struct capabilities *can)
{
    struct limits limits = largest;
    if (can->type == VK_PHYSICAL_DEVICE_TYPE_CPU)
        limits.processors = 4;
    else if (can->type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU)
        limits.processors = 16;
    if (can->minimal) // tests: small tiles, slices and splits
        limits.processors = 128;
    limits.shared_bytes = can->shared_bytes;
    limits.invocations = can->invocations;
    return limits;
}

size_t wnn_scratch_of_product(const struct product *p, WNNDataType type)
{
    bool odd = wnn_product_is_odd(p, type);
    struct schedule schedule = choose(p, odd, &largest);
    uint64_t count = (uint64_t)p->rows * p->columns * p->matrices, splits = schedule.splits;
    uint32_t of_units = type == WNNDataType_Float16 ? wnn_cooperative_splits(p) : 1;
    if (splits < of_units)
        splits = of_units;
    if (splits == 1 && !odd)
        return 0;
    uint64_t bytes = count * splits * sizeof(float);
    return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

// Of columns, for a workgroup that computes few rows; the filter's layout says what the quads of b go along.
static uint32_t few_columns(const struct product *p)
{
    return p->b_column == 1 ? 4 * FEW_UNITS : FEW_UNITS;
}

static void groups_of(const struct product *p, const struct schedule *schedule, uint32_t groups[3])
{
    groups[0] = wnn_divide_up(p->columns, schedule->few ? few_columns(p) : schedule->tile->n);
    groups[1] = schedule->few ? 1 : wnn_divide_up(p->rows, schedule->tile->m);
    groups[2] = p->matrices * schedule->splits; // which is little if there are splits
}

bool wnn_reads_second_once(const struct product *p)
{
    for (unsigned d = 0; d < p->rank; d++)
        if (p->b_steps[d] == 0 && p->dims[d] > 1)
            return false;
    return p->rows <= tiles[TILES - 1].m && !p->gather;
}

bool wnn_is_large_product(const struct lowering *lowering, const struct product *p)
{
    const struct capabilities *can = &lowering->gpu->can;
    struct limits limits = limits_of(can);
    bool odd = wnn_product_is_odd(p, p->out->type);
    struct schedule schedule = choose(p, odd, &limits);
    if ((!schedule.few && !schedule.tile) || wnn_product_is_small(can, p) || p->inner < 8 ||
        (odd && lowering->scratch.bytes / sizeof(float) < p->out->count))
        return false;
    uint32_t groups[3];
    groups_of(p, &schedule, groups);
    return groups[0] <= can->groups[0] && groups[1] <= can->groups[1] && groups[2] <= can->groups[2];
}

// ---------------------------------------------------------------------------------------------------------------
// Shaders
// ---------------------------------------------------------------------------------------------------------------

static bool all_quads(const struct product *p, const int64_t *steps)
{
    for (unsigned d = 0; d < p->rank; d++)
        if (steps[d] % 4 != 0)
            return false;
    return true;
}

static void describe_a(struct shader *shader, const struct product *p, bool few)
{
    const struct gather *from = p->gather;
    bool along_k = from || few || p->a_inner == 1,
         quads = wnn_shader_has_quads(shader->lowering, p->a) && all_quads(p, p->a_steps);
    if (from)
        quads &=
            from->channels % 4 == 0 && from->pixel % 4 == 0 && from->line % 4 == 0 && from->image % 4 == 0;
    else if (along_k)
        quads &= p->a_inner == 1 && p->inner % 4 == 0 && p->a_row % 4 == 0;
    else
        quads &= p->rows % 4 == 0 && p->a_inner % 4 == 0;
    wnn_shader_map(shader, "a", p->rank, p->dims, p->a_steps, 0);
    wnn_shader_input(shader, "a", p->a, FORM_VALUE);
    if (quads)
        wnn_shader_quads(shader, "a", p->a);
    wnn_shader_define(shader, "GATHER", "%d", from != NULL);
    wnn_shader_define(shader, "ALONG_K_A", "%d", along_k);
    wnn_shader_define(shader, "QUADS_A", "%d", quads);
    wnn_shader_number(shader, "LAST_A", p->rows - (quads && !along_k ? 4 : 1));
    wnn_shader_number_if(shader, "A_ROW", p->a_row, wnn_has_fixed_rows(p));
    wnn_shader_number_if(shader, "A_INNER", p->a_inner, wnn_has_fixed_rows(p));
    if (from) {
        wnn_shader_define(shader, "TRANSPOSED", "%d", from->transposed);
        wnn_shader_define(shader, "RUNS", "%d", from->dilations[1] == 1 && from->channels == from->pixel);
        wnn_product_gather(shader, from);
    }
}

static void describe_b(struct shader *shader, const struct product *p)
{
    bool even = p->b_run == p->inner || p->weights || p->b_jump == p->b_run * p->b_inner,
         along_k = p->b_column != 1,
         quads =
             wnn_shader_has_quads(shader->lowering, p->b) && all_quads(p, p->b_steps) && p->b_jump % 4 == 0;
    if (p->weights)
        quads = true;
    else if (along_k)
        quads &= p->b_inner == 1 && p->inner % 4 == 0 && p->b_run % 4 == 0 && p->b_column % 4 == 0;
    else
        quads &= p->columns % 4 == 0 && p->b_inner % 4 == 0;
    wnn_shader_map(shader, "b", p->rank, p->dims, p->b_steps, 0);
    if (p->weights)
        wnn_shader_weights(shader, p, wnn_weight_unit(8), true);
    else
        wnn_shader_input(shader, "b", p->b, FORM_VALUE);
    if (quads && !p->weights)
        wnn_shader_quads(shader, "b", p->b);
    wnn_shader_define(shader, "EVEN_B", "%d", even);
    wnn_shader_define(shader, "ALONG_K_B", "%d", along_k);
    wnn_shader_define(shader, "QUADS_B", "%d", quads);
    wnn_shader_number_if(shader, "LAST_B", p->columns - (quads && !along_k ? 4 : 1), p->fixed_b);
    wnn_shader_number_if(shader, "B_COLUMN", p->b_column, p->fixed_b);
    wnn_shader_number_if(shader, "B_RUN", p->b_run, p->fixed_b);
    wnn_shader_number_if(shader, "B_JUMP", p->b_jump, p->fixed_b);
    wnn_shader_number_if(shader, "B_INNER", p->b_inner, p->fixed_b);
}

static void describe_tiles(struct shader *shader, const struct product *p, const struct schedule *schedule)
{
    const struct tile *tile = schedule->tile;
    uint32_t steps = wnn_divide_up(p->inner, tile->k * schedule->slices);
    wnn_shader_fixed(shader, "TILE_M", tile->m);
    wnn_shader_fixed(shader, "TILE_N", tile->n);
    wnn_shader_fixed(shader, "TILE_K", tile->k);
    wnn_shader_fixed(shader, "THREAD_M", tile->thread_m);
    wnn_shader_fixed(shader, "THREAD_N", tile->thread_n);
    wnn_shader_fixed(shader, "LANES_M", tile->lanes_m);
    wnn_shader_fixed(shader, "LANES_N", tile->lanes_n);
    wnn_shader_fixed(shader, "POOL", pool_of(tile, schedule->slices) / 4);
    wnn_shader_define(shader, "SEVERAL_SLICES", "%d", schedule->slices > 1);
    wnn_shader_fixed(shader, "SLICES", schedule->slices);
    wnn_shader_number(shader, "SPLITS", schedule->splits);
    wnn_shader_number(shader, "ALL_STEPS", steps);
    wnn_shader_number(shader, "STEPS", wnn_divide_up(steps, schedule->splits));
    wnn_shader_define(shader, "WHOLE_K", "%d",
                      (!shader->late || p->fixed_b) && p->inner % (tile->k * schedule->slices) == 0);
    wnn_shader_unroll(shader, "UNROLL_K", shader->lowering->gpu->can.type != VK_PHYSICAL_DEVICE_TYPE_CPU);
}

static uint32_t few_lanes(const struct limits *limits)
{
    return (limits->invocations >= 256 ? 256 : 128) / FEW_UNITS;
}

static void describe_few(struct shader *shader, const struct product *p, const struct limits *limits)
{
    uint32_t lanes = few_lanes(limits);
    wnn_shader_fixed(shader, "LANES", lanes);
    wnn_shader_fixed(shader, "UNITS", FEW_UNITS);
    wnn_shader_fixed(shader, "POOL", p->rows * lanes * FEW_UNITS);
    wnn_shader_define(shader, "WHOLE_K", "0");
}

void wnn_lower_product(struct lowering *lowering, const struct product *p)
{
    if (wnn_lower_cooperative(lowering, p))
        return;
    struct limits limits = limits_of(&lowering->gpu->can);
    bool odd = wnn_product_is_odd(p, p->out->type);
    struct schedule schedule = choose(p, odd, &limits);
    size_t count = p->out->count;
    while (schedule.splits > 1 && lowering->scratch.bytes / sizeof(float) / schedule.splits < count)
        schedule.splits /= 2;
    if (schedule.splits > 1) { // none of them without work
        uint32_t steps = wnn_divide_up(p->inner, schedule.tile->k * schedule.slices);
        schedule.splits = wnn_divide_up(steps, wnn_divide_up(steps, schedule.splits));
    }
    struct tensor partials = *p->out;
    bool through = odd || schedule.splits > 1;
    if (through)
        partials = wnn_scratch(lowering, 0, WNNDataType_Float32, count * schedule.splits);

    struct shader shader;
    wnn_shader_begin(&shader, lowering, "product", SIZE_MAX);
    wnn_shader_define(&shader, "FEW", "%d", schedule.few);
    wnn_shader_number_if(&shader, "ROWS", p->rows, schedule.few);
    wnn_shader_number_if(&shader, "COLUMNS", p->columns, p->fixed_b);
    wnn_shader_number_if(&shader, "INNER", p->inner, p->fixed_b);
    if (schedule.few)
        describe_few(&shader, p, &limits);
    else
        describe_tiles(&shader, p, &schedule);
    shader.local_size =
        schedule.few ? few_lanes(&limits) * FEW_UNITS : threads_of(schedule.tile) * schedule.slices;
    describe_a(&shader, p, schedule.few);
    describe_b(&shader, p);
    wnn_shader_map(&shader, "out", p->rank, p->dims, p->out_steps, 0);
    wnn_shader_number_if(&shader, "OUT_ROW", p->out_row, p->fixed_b);
    wnn_shader_number(&shader, "SPLIT_STEP", (uint32_t)count);
    bool quads = wnn_shader_has_quads(lowering, &partials) && p->columns % 4 == 0 && p->out_row % 4 == 0 &&
                 all_quads(p, p->out_steps) && (schedule.splits == 1 || count % 4 == 0);
    if (through)
        wnn_product_sums(&shader);
    else
        wnn_product_scale(&shader, p, quads);
    wnn_shader_define(&shader, "QUADS_OUT", "%d", quads);
    if (quads)
        wnn_shader_output_quads(&shader, &partials);
    wnn_shader_output(&shader, &partials, FORM_VALUE, through ? NULL : lowering->fused);
    uint32_t groups[3];
    groups_of(p, &schedule, groups);
    wnn_shader_end_grid(&shader, groups[0], groups[1], groups[2]);
    if (!through)
        return;
    wnn_product_sum(lowering, p, &partials, schedule.splits);
}
