// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/gemm_cooperative.h"

#include "vulkan/ops/matrix_units.h"
#include "vulkan/ops/weights.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Tiles
// ---------------------------------------------------------------------------------------------------------------

// What a work group makes at once, the share of a subgroup of it, and how many share that along k. How long
// it takes on an H100 or H200, in microseconds: around the steps along k, once and for each work group that a
// processor has after another; a step, if a processor has nothing else to do; and if it has enough.
struct tile {
    uint32_t m, n, k, subgroup_m, subgroup_n, slices;
    float start, round, step, busy;
};
static const struct tile half_tiles[COOPERATIVE_TILES] = {
    {128, 128, 64, 64, 64, 1, 8, 1.5f, 0.93f, 0.74f},   {64, 64, 64, 32, 32, 1, 5, 0.55f, 0.46f, 0.32f},
    {32, 64, 64, 16, 32, 1, 4, 0.4f, 0.37f, 0.23f},     {32, 32, 64, 16, 16, 1, 2.4f, 0, 0.32f, 0.23f},
    {16, 64, 64, 16, 16, 1, 2.5f, 0, 0.8f, 0.27f},      {128, 128, 64, 64, 32, 1, 7, 1.5f, 0.87f, 0.93f},
    {96, 128, 64, 48, 64, 1, 9.5f, 0.5f, 0.72f, 0.62f}, {192, 128, 64, 48, 64, 1, 6.5f, 3, 1.1f, 1.1f},
    {96, 128, 64, 48, 64, 2, 8, 1.5f, 0.65f, 0.65f}};
static const struct tile single_tiles[COOPERATIVE_TILES] = {{128, 128, 16, 64, 64, 1, 16, 0, 1.34f, 1.02f},
                                                            {64, 64, 32, 32, 32, 1, 3, 0, 1.17f, 0.69f},
                                                            {32, 64, 32, 16, 32, 1, 3.5f, 0, 0.7f, 0.5f},
                                                            {32, 32, 32, 16, 16, 1, 3, 0, 0.46f, 0.34f},
                                                            {16, 64, 32, 16, 16, 1, 3, 0, 0.5f, 0.4f}};

enum {
    PIECES = 3,       // of a float32
    PROCESSORS = 132, // of an H100 or H200
    MAX_SPLITS = 16,
    PAST_INNER = 1024,
    PAST_ROUNDS = 16,        // see reads_past_cache
    PLANNED_SPLITS = 8,      // that scratch memory is planned for,
    FEW_PARTIALS = 1 << 20,  // of so many sums, of MIN_ROWS or fewer;
    MANY_PARTIALS = 1 << 22, // or of so many, of more rows,
    PLANNED_INNER = 256,     // with so many inner indices each
    MIN_ROWS = 16,           // unless wnn_is_for_units
    MIN_HALF_WORK = 1 << 20, // multiplications
    MIN_SINGLE_WORK = 1 << 29
};

struct schedule {
    struct tile tile;
    uint32_t splits, split; // of so many inner indices each
    uint32_t tiles_m, tiles_n;
};

// What a product is computed with, and beside.
struct operands {
    bool half, paired; // paired: with another product
    bool a_turned, b_turned;
    bool reads;    // what is fused with it reads as much as there are results
    double beside; // microseconds of the device that what runs at the same time takes
};

static uint32_t subgroups_of(const struct tile *tile)
{
    return tile->m / tile->subgroup_m * (tile->n / tile->subgroup_n) * tile->slices;
}

static bool tile_fits(const struct capabilities *can, const struct tile *tile, const struct matrix_size *size,
                      const struct operands *with)
{
    bool a_turned = with->a_turned, b_turned = with->b_turned;
    uint32_t pieces = with->half ? 1 : PIECES, subgroup_columns = tile->subgroup_n / (with->paired ? 2 : 1);
    uint32_t subgroups = subgroups_of(tile), invocations = subgroups * can->subgroup;
    uint32_t a_lines = a_turned ? tile->k : tile->m, a_chunks = (a_turned ? tile->m : tile->k) / 8;
    uint32_t b_lines = b_turned ? tile->n : tile->k, b_chunks = (b_turned ? tile->k : tile->n) / 8;
    uint32_t steps = pieces * 16 * (a_lines * (a_chunks + 1) + b_lines * (b_chunks + 1)),
             slabs = 4 * subgroups * size->m * (tile->subgroup_n + 4), shared = steps > slabs ? steps : slabs;
    return invocations <= can->invocations && invocations % a_chunks == 0 && invocations % b_chunks == 0 &&
           a_lines * a_chunks % invocations == 0 && b_lines * b_chunks % invocations == 0 &&
           shared <= can->shared_bytes && tile->subgroup_m % size->m == 0 &&
           subgroup_columns % size->n == 0 && tile->k / tile->slices % size->k == 0 &&
           size->m * subgroup_columns % (4 * can->subgroup * tile->slices) == 0;
}

// How long a product takes, in microseconds, until what runs beside it is done, too, which keeps processors
// busy for so long: splits cost a dispatch, and memory; what is fused and reads as much as there are results
// is read by the splits' sum at once, and without splits part by part.
static double time_of(const struct product *p, const struct tile *tile, uint32_t splits,
                      const struct operands *with)
{
    double groups =
        (double)wnn_divide_up(p->rows, tile->m) * wnn_divide_up(p->columns, tile->n) * p->matrices * splits;
    double rounds = ceil(groups / PROCESSORS),
           steps = wnn_divide_up(wnn_divide_up(p->inner, splits), tile->k);
    double alone = steps * tile->step, busy = steps * rounds * tile->busy + with->beside;
    double sums = (double)p->rows * p->columns * p->matrices * splits;
    double end = splits > 1    ? 2.5 + sums * 8e-7
                 : with->reads ? tile->subgroup_m * tile->subgroup_n * 0.0025
                               : 0;
    return tile->start + rounds * tile->round + (busy > alone ? busy : alone) + end;
}

uint32_t wnn_splits_for_units(const struct product *p)
{
    const struct tile *tile = &half_tiles[0];
    bool few = p->rows <= MIN_ROWS;
    uint64_t count = (uint64_t)p->rows * p->columns * p->matrices,
             tiles =
                 (uint64_t)wnn_divide_up(p->rows, tile->m) * wnn_divide_up(p->columns, tile->n) * p->matrices;
    uint32_t splits = PLANNED_SPLITS;
    while (splits > 1 && (count * splits > (few ? FEW_PARTIALS : MANY_PARTIALS) ||
                          (!few && (tiles * splits > 2 * PROCESSORS || p->inner < splits * PLANNED_INNER))))
        splits /= 2;
    return splits;
}

// What takes the least time, with no more splits than scratch memory has room for; of paired products, whose
// columns are those of both, with none.
static bool choose(const struct capabilities *can, const struct product *p, const struct operands *with,
                   size_t scratch, struct schedule *schedule)
{
    const struct tile *tiles = with->half ? half_tiles : single_tiles;
    const struct matrix_size *size = with->half ? &can->half_matrices : &can->bfloat16_matrices;
    uint32_t most = scratch < MAX_SPLITS ? (uint32_t)scratch : MAX_SPLITS, splits = 0;
    double least = INFINITY;
    for (unsigned i = 0; i < COOPERATIVE_TILES && tiles[i].m > 0; i++) {
        if ((can->matrix_tile > 0 && i + 1 != can->matrix_tile) || !tile_fits(can, &tiles[i], size, with) ||
            (uint64_t)wnn_divide_up(p->rows, tiles[i].m) * wnn_divide_up(p->columns, tiles[i].n) >
                can->groups[0])
            continue;
        uint32_t first = can->matrix_tile > 0 && most > 1 ? most : 1;
        for (uint32_t s = first; s == first || s <= most; s++) {
            double time = time_of(p, &tiles[i], s, with);
            if (time >= least)
                continue;
            least = time;
            splits = s;
            schedule->tile = tiles[i];
        }
    }
    if (splits == 0)
        return false;
    const struct tile *tile = &schedule->tile;
    schedule->tiles_m = wnn_divide_up(p->rows, tile->m);
    schedule->tiles_n = wnn_divide_up(p->columns, tile->n);
    schedule->split = wnn_divide_up(wnn_divide_up(p->inner, splits), tile->k) * tile->k;
    schedule->splits = wnn_divide_up(p->inner, schedule->split);
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Shaders
// ---------------------------------------------------------------------------------------------------------------

// How many elements beside one another a load takes: what divides all steps, up to a chunk.
static unsigned unit_of(const struct tensor *tensor, const uint32_t *steps, unsigned count, unsigned rank,
                        const int64_t *matrix_steps)
{
    unsigned bytes = wnn_dtype_bits(tensor->type) / 8, unit = 8;
    for (; unit > 1; unit /= 2) {
        bool divides = tensor->region.offset % (unit * bytes < 16 ? unit * bytes : 16) == 0;
        for (unsigned i = 0; divides && i < count; i++)
            divides = steps[i] % unit == 0;
        for (unsigned i = 0; divides && i < rank; i++)
            divides = matrix_steps[i] % unit == 0;
        if (divides)
            break;
    }
    return unit;
}

// Whether what a line of the filter sees of an image of few channels is read at once.
static bool reads_runs(const struct product *p, bool half)
{
    const struct gather *g = p->gather;
    return g && half && !p->weights && !g->transposed && g->channels % 8 != 0 && g->pixel == g->channels &&
           g->dilations[1] == 1 && p->matrices == 1;
}

// Terms of a sum, with those between runs that are zeros.
static uint32_t depth_of(const struct product *p, bool half)
{
    uint32_t run = reads_runs(p, half) ? p->gather->filter_width * p->gather->channels : 0;
    return run > 0 ? p->inner / run * wnn_divide_up(run, 8) * 8 : p->inner;
}

// <name>_chunk(at, rest): eight elements, zeros from `rest` on, which is a multiple of `unit`.
// <name>_single(chunk, e, at): puts one in place e, where zero is.
// <name>_whole(at), of float16 with a unit of eight: the chunk of that number. `past`: units of 16 bytes are
// read past the first cache. Returns the binding.
static unsigned add_operand(struct shader *shader, const char *name, const struct tensor *tensor,
                            unsigned unit, bool past)
{
    unsigned k = shader->binding_count;
    bool half = tensor->type == WNNDataType_Float16;
    wnn_shader_input(shader, name, tensor, FORM_VALUE);
    if (unit * (half ? 2 : 4) >= 16)
        wnn_shader_text(shader,
                        "layout(std430, set = 0, binding = %u) %sreadonly buffer U%u { uvec4 u%u[]; };\n"
                        "#define %s_quad(at) u%u[(base%u >> 2) + ((at) >> %u)]\n",
                        k, past ? "coherent " : "", k, k, name, k, k, half ? 3 : 2);
    if (half)
        wnn_shader_text(shader,
                        "void %s_single(inout Chunk chunk, uint e, uint at) { chunk[e / 2u] |= "
                        "bitfieldExtract(w%u(at >> 1), int(at & 1u) * 16, 16) << (e %% 2u * 16u); }\n",
                        name, k);
    else
        wnn_shader_text(shader,
                        "void %s_single(inout Chunk chunk, uint e, uint at) { if (e < 4u) chunk.low[e] = "
                        "%s_at(at); else chunk.high[e - 4u] = %s_at(at); }\n",
                        name, name, name);
    if (half && unit == 8)
        wnn_shader_text(
            shader,
            "#define %s_chunk(at, rest) %s_quad(at)\n#define %s_whole(at) u%u[(base%u >> 2) + (at)]\n", name,
            name, name, k, k);
    else if (half && unit >= 2)
        wnn_shader_text(
            shader,
            "Chunk %s_chunk(uint at, uint rest) { Chunk chunk = no_chunk(); UNROLL for (uint e = 0u; "
            "e < 4u; e++) if (2u * e < rest) chunk[e] = w%u((at >> 1) + e); return chunk; }\n",
            name, k);
    else if (unit >= 4)
        wnn_shader_text(shader,
                        "Chunk %s_chunk(uint at, uint rest) { return Chunk(uintBitsToFloat(%s_quad(at)), "
                        "%suintBitsToFloat(%s_quad((at) + 4u))); }\n",
                        name, name, unit == 8 ? "" : "rest <= 4u ? vec4(0.0) : ", name);
    else
        wnn_shader_text(
            shader,
            "Chunk %s_chunk(uint at, uint rest) { Chunk chunk = no_chunk(); UNROLL for (uint e = 0u; "
            "e < 8u; e++) if (e < rest) %s_single(chunk, e, at + e); return chunk; }\n",
            name, name);
    return k;
}

// <name>_run(at, first, last), of float16: the eight elements from `at` on, wherever that is, with zeros for
// those before `first` and from `last` on; one at least is neither.
static void add_run(struct shader *shader, const char *name, unsigned binding)
{
    wnn_shader_text(shader,
                    "Chunk %s_run(int at, int first, int last)\n{\n"
                    "int word = at >> 1, odd = at & 1;\nuint words[5];\nChunk chunk;\n"
                    "UNROLL for (int i = 0; i < 5; i++)\n"
                    "words[i] = 2 * i + 1 - odd >= first && 2 * i - odd < last ? w%u(uint(word + i)) : 0u;\n"
                    "UNROLL for (int i = 0; i < 4; i++) {\n"
                    "uint pair = odd != 0 ? words[i] >> 16 | words[i + 1] << 16 : words[i];\n"
                    "chunk[i] = (2 * i >= first && 2 * i < last ? pair & 0xFFFFu : 0u) |\n"
                    "(2 * i + 1 >= first && 2 * i + 1 < last ? pair & 0xFFFF0000u : 0u);\n}\n"
                    "return chunk;\n}\n",
                    name, binding);
}

// Of a product's weights.
static void add_weights(struct shader *shader, const struct product *p)
{
    wnn_shader_weights(shader, p, wnn_weight_unit(8), true);
    wnn_shader_text(shader,
                    "#define b_whole(at) b_chunk((at) << 3, 8u)\n"
                    "Chunk b_chunk(uint at, uint rest)\n{\nvec4 low = b_quad(at), high = b_quad(at + 4u);\n"
                    "return %s;\n}\n",
                    p->out->type == WNNDataType_Float16
                        ? "uvec4(stored_halves(low.xy), stored_halves(low.zw), stored_halves(high.xy), "
                          "stored_halves(high.zw))"
                        : "Chunk(low, high)");
}

static void describe_tile(struct shader *shader, const struct schedule *schedule)
{
    const struct capabilities *can = &shader->lowering->gpu->can;
    const struct tile *tile = &schedule->tile;
    wnn_shader_define(shader, "TILE_M", "%uu", tile->m);
    wnn_shader_define(shader, "TILE_N", "%uu", tile->n);
    wnn_shader_define(shader, "TILE_K", "%uu", tile->k);
    wnn_shader_define(shader, "SUBGROUP_M", "%uu", tile->subgroup_m);
    wnn_shader_define(shader, "SUBGROUP_N", "%uu", tile->subgroup_n);
    wnn_shader_define(shader, "SLICES", "%u", tile->slices);
    wnn_shader_define(shader, "BAND", "8u");
    wnn_shader_define(shader, "SUBGROUP_ROOM", "%d", tile->subgroup_m < 64);
    wnn_shader_number(shader, "SPLIT", schedule->split);
    shader->local_size = subgroups_of(tile) * can->subgroup;
}

static void describe_components(struct shader *shader, bool half)
{
    // Arrays of matrices are indexed by constants only. Drivers for processors take long to unroll as much.
    wnn_shader_define(shader, "UNROLL", "%s",
                      shader->lowering->gpu->can.matrix_units == MATRIX_UNITS_EMULATED ? "[[dont_unroll]]"
                                                                                       : "[[unroll]]");
    if (half)
        wnn_shader_text(shader, "#define Chunk uvec4\n#define no_chunk() uvec4(0u)\n");
    else
        wnn_shader_text(shader, "struct Chunk { vec4 low, high; };\n"
                                "Chunk no_chunk() { return Chunk(vec4(0.0), vec4(0.0)); }\n");
    wnn_shader_define(shader, "PIECES", "%d", half ? 1 : PIECES);
}

static struct operands operands_of(const struct product *p, WNNDataType type, bool paired)
{
    return (struct operands){.half = type == WNNDataType_Float16,
                             .paired = paired,
                             .a_turned = !p->gather && p->a_inner != 1,
                             .b_turned = p->b_inner == 1};
}

// Microseconds that the device takes for so many multiplications in tiles that suit it.
static double time_of_work(uint64_t work, bool half)
{
    const struct tile *tile = half ? &half_tiles[0] : &single_tiles[0];
    return (double)work / ((double)tile->m * tile->n * tile->k) * tile->busy / PROCESSORS;
}

static bool reads_as_much(const struct fused *fused, size_t count)
{
    for (unsigned i = 0; fused && i < fused->input_count; i++)
        if (!fused->inputs[i].deferred && fused->inputs[i].count == count)
            return true;
    return false;
}

// Large tiles that a processor has at the same time have hardly an operand in common: the first cache would
// be filled for nothing, which on an H100 takes 3 to 5 % of the time. Not so pixels, of which neighbors see
// the same, few steps, tiles so many that processors drift apart, or columns of two products.
static bool reads_past_cache(const struct product *p, const struct schedule *schedule, bool paired)
{
    uint64_t groups = (uint64_t)schedule->tiles_m * schedule->tiles_n * schedule->splits * p->matrices;
    return !p->gather && !paired && schedule->tile.subgroup_m == 64 && schedule->tile.subgroup_n == 64 &&
           schedule->split >= PAST_INNER && groups > PROCESSORS && groups <= PAST_ROUNDS * PROCESSORS;
}

static void multiply(struct lowering *lowering, const struct product *p, const struct schedule *schedule,
                     const struct tensor *out)
{
    const struct gather *g = p->gather;
    const struct deferred *partner = wnn_product_partner(lowering);
    struct operands with = operands_of(p, p->a->type, partner != NULL);
    bool half = with.half, a_turned = with.a_turned, b_turned = with.b_turned, whole = out == p->out,
         runs = reads_runs(p, half), past = half && reads_past_cache(p, schedule, partner != NULL);
    const uint32_t a_steps[4] = {a_turned ? p->a_inner : p->a_row, a_turned ? p->rows : p->inner},
                   b_steps[2] = {b_turned ? p->b_column : p->b_inner, b_turned ? p->inner : p->columns},
                   pixel_steps[4] = {g ? g->channels : 0, g ? g->image : 0, g ? g->line : 0,
                                     g ? g->pixel : 0};
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "cooperative", SIZE_MAX);
    wnn_shader_matrices(&shader, half);
    describe_tile(&shader, schedule);
    describe_components(&shader, half);
    wnn_shader_number(&shader, "ROWS", p->rows);
    wnn_product_steps(&shader, p);
    wnn_shader_number_if(&shader, "OUT_ROW", p->out_row, p->fixed_b);
    wnn_shader_number(&shader, "SPLIT_STEP", (uint32_t)p->out->count);
    wnn_shader_define(&shader, "A_TURNED", "%d", a_turned);
    wnn_shader_define(&shader, "B_TURNED", "%d", b_turned);
    wnn_shader_define(&shader, "GATHERED", "%d", g != NULL);
    wnn_shader_define(&shader, "RUNS", "%d", runs);
    wnn_shader_define(&shader, "PAIRED", "%d", partner != NULL);
    wnn_shader_define(&shader, "B_OPERANDS", "%uu", partner ? 2 : 1);
    // Not of sizes that come late; those of b may be known all the same.
    const struct tile *tile = &schedule->tile;
    unsigned a_unit = unit_of(p->a, g ? pixel_steps : a_steps, g ? 4 : 2, p->rank, p->a_steps),
             b_unit = p->weights ? 8 : unit_of(p->b, b_steps, 2, p->rank, p->b_steps),
             other_unit = partner ? unit_of(&partner->in[1], b_steps, 2, p->rank, p->b_steps) : b_unit;
    b_unit = other_unit < b_unit ? other_unit : b_unit;
    bool whole_k = half && !runs && (!shader.late || p->fixed_b) && p->inner % tile->k == 0,
         whole_a = whole_k && !g && !shader.late && p->rows % tile->m == 0 && a_unit == 8,
         whole_b = whole_k && p->columns % (tile->n / (partner ? 2 : 1)) == 0 && b_unit == 8;
    wnn_shader_define(&shader, "WHOLE_A", "%d", whole_a);
    wnn_shader_define(&shader, "WHOLE_B", "%d", whole_b);
    if (g) {
        wnn_shader_define(&shader, "CHANNELS_IN_CHUNKS", "%d", g->channels % 8 == 0);
        wnn_product_gather(&shader, g);
    }
    wnn_shader_map(&shader, "a", p->rank, p->dims, p->a_steps, 0);
    wnn_shader_map(&shader, "b", p->rank, p->dims, p->b_steps, 0);
    wnn_shader_map(&shader, "out", p->rank, p->dims, p->out_steps, 0);
    unsigned a = add_operand(&shader, "a", p->a, a_unit, past), b = 0;
    if (p->weights)
        add_weights(&shader, p);
    else
        b = add_operand(&shader, "b", p->b, b_unit, past);
    if (runs)
        add_run(&shader, "a", a);
    if (runs && b_turned)
        add_run(&shader, "b", b);
    if (partner) {
        add_operand(&shader, "other", &partner->in[1], b_unit, past);
        wnn_product_partner_results(&shader, partner, p->out->type);
    }
    bool quads = wnn_shader_has_quads(lowering, out) && p->columns % 4 == 0 &&
                 unit_of(out, &p->out_row, 1, p->rank, p->out_steps) >= 4 &&
                 (schedule->splits == 1 || p->out->count % 4 == 0);
    if (whole)
        wnn_product_scale(&shader, p, quads);
    else
        wnn_product_sums(&shader);
    wnn_shader_define(&shader, "QUADS_OUT", "%d", quads);
    if (quads)
        wnn_shader_output_quads(&shader, out);
    wnn_shader_output(&shader, out, FORM_VALUE, whole ? lowering->fused : NULL);
    wnn_shader_end_grid(&shader, schedule->tiles_m * schedule->tiles_n, schedule->splits, p->matrices);
}

// Too little, and the others are as fast: fewer rows than a matrix has, or a device that is busy for as long
// with what is around the multiplications.
static bool is_worth_it(const struct capabilities *can, const struct product *p, bool half)
{
    uint64_t work = (uint64_t)p->rows * p->columns * p->matrices * p->inner;
    // Pixels that are read one element at a time cost more than is saved.
    bool whole = !p->gather || p->gather->channels % 8 == 0 || reads_runs(p, half);
    bool enough = p->rows >= MIN_ROWS || (half && wnn_is_for_units(can, p, p->weights != NULL));
    return can->always_matrices || (whole && enough && p->columns >= 16 && p->inner >= 16 &&
                                    work >= (half ? MIN_HALF_WORK : MIN_SINGLE_WORK));
}

// Why a product is not for matrix units, whatever its tensors, or NULL.
static const char *find_refusal(const struct capabilities *can, const struct product *p, WNNDataType type)
{
    bool half = type == WNNDataType_Float16;
    const struct matrix_size *size = half ? &can->half_matrices : &can->bfloat16_matrices;
    if (!wnn_dtype_is_float(type))
        return "matrix units are used for floats only";
    if (can->matrix_units == MATRIX_UNITS_NONE)
        return "the device has no matrix units that the driver lets Vulkan use";
    if (size->m == 0)
        return half ? "the device has no matrix units for float16 that work"
                    : "the device has no matrix units for bfloat16 that work, of which float32 products are "
                      "made";
    if ((p->gather && p->gather->transposed) || (!p->gather && p->a_row != 1 && p->a_inner != 1) ||
        (p->b_inner != 1 && p->b_column != 1) ||
        (p->b_run != p->inner && p->b_jump != p->b_run * p->b_inner) || p->matrices > can->groups[2])
        return "the operands lie in a way that matrix units cannot read";
    return is_worth_it(can, p, half) ? NULL : "too small, or too few channels, to be worth matrix units";
}

// Likewise of its operands.
static const char *find_fault(const struct gpu *gpu, const struct product *p)
{
    WNNDataType type = p->out->type;
    if (p->a->type != type || p->b->type != type || p->a->fused || (p->b->fused && !p->weights))
        return "an operand is converted on the way, which matrix units cannot";
    if (wnn_shader_bindings(gpu, p->a->region.bytes) != 1 ||
        wnn_shader_bindings(gpu, p->b->region.bytes) != 1)
        return "an operand is larger than what shaders can see of a buffer";
    return NULL;
}

bool wnn_units_pair(const struct gpu *gpu, const struct node *node)
{
    struct product p = wnn_product_of(node), both = p;
    WNNDataType type = node->out[0]->type.type;
    struct operands with = operands_of(&p, type, true);
    struct schedule schedule;
    both.columns *= 2;
    return with.half && !node->choice && !wnn_fused(node, 0) && !wnn_fused(node, 1) &&
           node->in[0]->type.type == type && node->in[1]->type.type == type && p.matrices == 1 &&
           !with.b_turned && !wnn_product_is_odd(&p, type) && p.columns <= UINT32_MAX / 2 &&
           wnn_shader_bindings(gpu, wnn_descriptor_bytes(&node->in[0]->type)) == 1 &&
           wnn_shader_bindings(gpu, wnn_descriptor_bytes(&node->in[1]->type)) == 1 &&
           !find_refusal(&gpu->can, &p, type) && choose(&gpu->can, &both, &with, 1, &schedule);
}

bool wnn_lower_cooperative(struct lowering *lowering, const struct product *p)
{
    const struct capabilities *can = &lowering->gpu->can;
    WNNDataType type = p->out->type;
    lowering->reason = find_refusal(can, p, type);
    if (!lowering->reason)
        lowering->reason = find_fault(lowering->gpu, p);
    if (lowering->reason)
        return false;
    bool paired = wnn_product_partner(lowering) != NULL, odd = wnn_product_is_odd(p, type);
    struct product all = *p; // with the columns of both
    all.columns *= paired ? 2 : 1;
    struct operands with = operands_of(p, type, paired);
    with.reads = reads_as_much(lowering->fused, p->out->count);
    with.beside = time_of_work(lowering->work_beside, with.half);
    all.inner = depth_of(p, with.half);
    size_t scratch = paired ? 1 : lowering->scratch.bytes / sizeof(float) / p->out->count;
    struct schedule schedule;
    if ((odd && scratch == 0) || !choose(can, &all, &with, scratch, &schedule)) {
        lowering->reason = "no tile of matrix units fits the device";
        return false;
    }
    if (schedule.splits == 1 && !odd) {
        multiply(lowering, p, &schedule, p->out);
        return true;
    }
    struct tensor sums = wnn_scratch(lowering, 0, WNNDataType_Float32, p->out->count * schedule.splits);
    multiply(lowering, p, &schedule, &sums);
    wnn_product_sum(lowering, p, &sums, schedule.splits);
    return true;
}
