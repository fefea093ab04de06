// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/gemm_cooperative.h"

#include "vulkan/ops/cooperative_tiles.h"
#include "vulkan/ops/matrix_units.h"
#include "vulkan/ops/tile_search.h"
#include "vulkan/ops/weights.h"

#include <string.h>

enum {
    PAST_INNER = 1024,
    PAST_ROUNDS = 16,        // see reads_past_cache
    MANY_STEPS = 16,         // of which finding and reading pixels in vain once costs nothing
    MIN_ROWS = 16,           // unless wnn_is_for_units
    MIN_COLUMNS = 16,        // unless
    MANY_ROWS = 1024,        // of so many rows, and
    MANY_TERMS = 128,        // inner indices, which keep other kernels as busy for a few columns
    MIN_HALF_WORK = 1 << 20, // multiplications
    MIN_SINGLE_WORK = 1 << 29,
    MIN_SEARCHED_WORK = 1 << 28 // that takes ten microseconds or so where a search has been measured
};

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

// Weights that an invocation reads together, which share a scale, and makes floats of on their way to shared
// memory; or 0: floats are made of them when they are read, eight at a time.
static uint32_t choose_pack(const struct product *p, const struct cooperative_tile *tile, uint32_t subgroup)
{
    unsigned bits = wnn_dtype_bits(p->b->fused->from);
    uint32_t invocations = wnn_cooperative_subgroups(tile) * subgroup, unit = 128 / bits;
    while (unit >= 8 &&
           (p->inner % unit != 0 || !wnn_has_single_scales(p->weights, bits, unit) || tile->k % unit != 0 ||
            invocations % (tile->k / unit) != 0 || tile->n * (tile->k / unit) % invocations != 0))
        unit /= 2;
    return unit >= 8 ? unit : 0;
}

// Of a product's weights.
static void add_weights(struct shader *shader, const struct product *p, uint32_t pack)
{
    wnn_shader_weights(shader, p, pack > 0 ? pack : wnn_weight_unit(8), true);
    wnn_shader_include(shader, "weight_chunks");
}

static void describe_tile(struct shader *shader, const struct cooperative_schedule *schedule)
{
    const struct capabilities *can = &shader->lowering->gpu->can;
    const struct cooperative_tile *tile = &schedule->tile;
    wnn_shader_define(shader, "TILE_M", "%uu", tile->m);
    wnn_shader_define(shader, "TILE_N", "%uu", tile->n);
    wnn_shader_define(shader, "TILE_K", "%uu", tile->k);
    wnn_shader_define(shader, "SUBGROUP_M", "%uu", tile->subgroup_m);
    wnn_shader_define(shader, "SUBGROUP_N", "%uu", tile->subgroup_n);
    wnn_shader_define(shader, "SLICES", "%u", tile->slices);
    wnn_shader_define(shader, "BAND", "8u");
    wnn_shader_define(shader, "SUBGROUP_ROOM", "%d", tile->subgroup_m < 64);
    wnn_shader_number(shader, "SPLIT", schedule->split);
    shader->local_size = wnn_cooperative_subgroups(tile) * can->subgroup;
}

static void describe_components(struct shader *shader, bool half)
{
    // Arrays of matrices are indexed by constants only.
    wnn_shader_unroll(shader, "UNROLL", shader->lowering->gpu->can.matrix_units != MATRIX_UNITS_EMULATED);
    if (half)
        wnn_shader_text(shader, "#define Chunk uvec4\n#define no_chunk() uvec4(0u)\n");
    else
        wnn_shader_text(shader, "struct Chunk { vec4 low, high; };\n"
                                "Chunk no_chunk() { return Chunk(vec4(0.0), vec4(0.0)); }\n");
    wnn_shader_define(shader, "PIECES", "%d", half ? 1 : COOPERATIVE_PIECES);
}

static struct cooperative_operands operands_of(const struct product *p, WNNDataType type, bool paired)
{
    return (struct cooperative_operands){.half = type == WNNDataType_Float16,
                                         .paired = paired,
                                         .pixels = p->gather != NULL,
                                         .quantized = p->weights != NULL,
                                         .a_turned = !p->gather && p->a_inner != 1,
                                         .b_turned = p->b_inner == 1};
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
static bool reads_past_cache(const struct product *p, const struct cooperative_schedule *schedule,
                             bool paired)
{
    uint64_t groups = (uint64_t)schedule->tiles_m * schedule->tiles_n * schedule->splits * p->matrices;
    return !p->gather && !paired && schedule->tile.subgroup_m == 64 && schedule->tile.subgroup_n == 64 &&
           schedule->split >= PAST_INNER && groups > COOPERATIVE_PROCESSORS &&
           groups <= PAST_ROUNDS * COOPERATIVE_PROCESSORS;
}

// `sums`: scratch memory of splits, or NULL.
static void multiply(struct lowering *lowering, const struct product *p,
                     const struct cooperative_schedule *schedule, const struct tensor *sums)
{
    const struct tensor *out = sums && !schedule->sums_inside ? sums : p->out;
    const struct gather *g = p->gather;
    const struct deferred *partner = wnn_product_partner(lowering);
    struct cooperative_operands with = operands_of(p, p->a->type, partner != NULL);
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
    wnn_shader_define(&shader, "ASKS", "%d", !half || !g || schedule->split < MANY_STEPS * schedule->tile.k);
    wnn_shader_define(&shader, "B_OPERANDS", "%uu", partner ? 2 : 1);
    // Not of sizes that come late; those of b may be known all the same.
    const struct cooperative_tile *tile = &schedule->tile;
    uint32_t pack = p->weights ? choose_pack(p, tile, lowering->gpu->can.subgroup) : 0;
    wnn_shader_define(&shader, "HOLDS_PACKS", "%d", pack > 0);
    unsigned a_unit = unit_of(p->a, g ? pixel_steps : a_steps, g ? 4 : 2, p->rank, p->a_steps),
             b_unit = p->weights ? 8 : unit_of(p->b, b_steps, 2, p->rank, p->b_steps),
             other_unit = partner ? unit_of(&partner->in[1], b_steps, 2, p->rank, p->b_steps) : b_unit;
    b_unit = other_unit < b_unit ? other_unit : b_unit;
    bool whole_k = half && !runs && (!shader.late || p->fixed_b) && p->inner % tile->k == 0,
         whole_a = whole_k && !g && !shader.late && p->rows >= tile->m && a_unit == 8,
         whole_b = whole_k && p->columns >= tile->n / (partner ? 2 : 1) && b_unit == 8;
    wnn_shader_define(&shader, "WHOLE_A", "%d", whole_a);
    wnn_shader_define(&shader, "WHOLE_B", "%d", whole_b);
    if (g) {
        wnn_shader_define(&shader, "CHANNELS_IN_CHUNKS", "%d", g->channels % 8 == 0);
        wnn_shader_define(&shader, "CHANNELS_IN_STEPS", "%d",
                          g->fixed && g->channels % schedule->tile.k == 0);
        wnn_product_gather(&shader, g);
    }
    wnn_shader_map(&shader, "a", p->rank, p->dims, p->a_steps, 0);
    wnn_shader_map(&shader, "b", p->rank, p->dims, p->b_steps, 0);
    wnn_shader_map(&shader, "out", p->rank, p->dims, p->out_steps, 0);
    unsigned a = add_operand(&shader, "a", p->a, a_unit, past), b = 0;
    if (p->weights)
        add_weights(&shader, p, pack);
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
                 (schedule->splits == 1 || p->out->count % 4 == 0) &&
                 (!sums || wnn_shader_has_quads(lowering, sums));
    if (whole)
        wnn_product_scale(&shader, p, quads);
    else
        wnn_product_sums(&shader);
    wnn_shader_define(&shader, "QUADS_OUT", "%d", quads);
    wnn_shader_define(&shader, "SUMS_INSIDE", "%d", schedule->sums_inside);
    // Also of pixels of float32, whose parts leave no registers (measured on an H200).
    // And of what reads much of float16, of which an unrolled end asks too early (likewise).
    bool large = whole && (wnn_fused_is_large(lowering->fused) ||
                           (half && reads_as_much(lowering->fused, out->count)));
    wnn_shader_define(&shader, "LARGE_END", "%d", large || (g && !half));
    if (schedule->sums_inside) {
        wnn_shader_splits(&shader, &sums->region, quads, schedule->splits,
                          (size_t)schedule->tiles_m * schedule->tiles_n * p->matrices);
        wnn_shader_define(&shader, "READ_AT_ONCE", "%uu", wnn_cooperative_reads(&schedule->tile));
    }
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
    bool wide = p->columns >= MIN_COLUMNS || (half && p->rows >= MANY_ROWS && p->inner >= MANY_TERMS);
    return can->always_matrices ||
           (whole && enough && wide && p->inner >= 16 && work >= (half ? MIN_HALF_WORK : MIN_SINGLE_WORK));
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
    struct cooperative_operands with = operands_of(&p, type, true);
    struct cooperative_schedule schedule;
    both.columns *= 2;
    return with.half && !node->choice && !wnn_fused(node, 0) && !wnn_fused(node, 1) &&
           node->in[0]->type.type == type && node->in[1]->type.type == type && p.matrices == 1 &&
           !with.b_turned && !wnn_product_is_odd(&p, type) && p.columns <= UINT32_MAX / 2 &&
           wnn_shader_bindings(gpu, wnn_descriptor_bytes(&node->in[0]->type)) == 1 &&
           wnn_shader_bindings(gpu, wnn_descriptor_bytes(&node->in[1]->type)) == 1 &&
           !find_refusal(&gpu->can, &p, type) &&
           wnn_cooperative_choose(&gpu->can, &both, &with, 1, &schedule);
}

static void multiply_and_sum(struct lowering *lowering, const struct product *p,
                             const struct cooperative_schedule *schedule)
{
    if (schedule->splits == 1 && !wnn_product_is_odd(p, p->out->type)) {
        multiply(lowering, p, schedule, NULL);
        return;
    }
    struct tensor sums = wnn_scratch(lowering, 0, WNNDataType_Float32, p->out->count * schedule->splits);
    multiply(lowering, p, schedule, &sums);
    if (!schedule->sums_inside)
        wnn_product_sum(lowering, p, &sums, schedule->splits);
}

// ---------------------------------------------------------------------------------------------------------------
// Tiles that are tried
// ---------------------------------------------------------------------------------------------------------------

struct tiles {
    struct product product;
    const struct cooperative_schedule *schedules;
};

static void try_tile(struct lowering *lowering, const void *what, size_t way)
{
    const struct tiles *tiles = what;
    multiply_and_sum(lowering, &tiles->product, &tiles->schedules[way]);
}

static void tell_product(struct search *search, const struct product *p)
{
    const struct gather *g = p->gather;
    const uint32_t numbers[] = {
        p->out->type, p->rows,    p->columns,  p->inner,  p->matrices,
        p->a_row,     p->a_inner, p->b_column, p->b_run,  p->b_jump,
        p->b_inner,   p->out_row, p->rank,     g != NULL, (uint32_t)search->lowering->scratch.bytes};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        wnn_search_tell(search, numbers[i]);
    for (unsigned i = 0; i < p->rank; i++) {
        wnn_search_tell(search, p->dims[i]);
        wnn_search_tell(search, (uint64_t)p->a_steps[i]);
        wnn_search_tell(search, (uint64_t)p->b_steps[i]);
        wnn_search_tell(search, (uint64_t)p->out_steps[i]);
    }
    if (!g)
        return;
    const uint32_t gathers[] = {g->in_height,    g->in_width,     g->out_height,  g->out_width,
                                g->filter_width, g->channels,     g->image,       g->line,
                                g->pixel,        g->padding[0],   g->padding[1],  g->strides[0],
                                g->strides[1],   g->dilations[0], g->dilations[1]};
    for (size_t i = 0; i < sizeof gathers / sizeof gathers[0]; i++)
        wnn_search_tell(search, gathers[i]);
}

static void tell_schedule(struct search *search, const struct cooperative_schedule *schedule)
{
    const struct cooperative_tile *tile = &schedule->tile;
    const uint32_t numbers[] = {tile->m,          tile->n,          tile->k,
                                tile->subgroup_m, tile->subgroup_n, tile->slices,
                                schedule->splits, schedule->split,  schedule->sums_inside};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        wnn_search_tell(search, numbers[i]);
}

// Of products that take long, which have the device to themselves, and whose sizes are known: alone, without
// what becomes of the results.
static size_t search_tiles(struct lowering *lowering, const struct product *p,
                           const struct cooperative_schedule *schedules, size_t count)
{
    uint64_t work = (uint64_t)p->rows * p->columns * p->matrices * p->inner;
    if (lowering->late || p->weights || lowering->work_beside > 0 ||
        (work < MIN_SEARCHED_WORK && !lowering->gpu->can.always_matrices))
        return 0;
    struct tensor a = *p->a, b = *p->b, out = *p->out;
    struct tiles tiles = {*p, schedules};
    a.deferred = b.deferred = NULL;
    tiles.product.a = &a;
    tiles.product.b = &b;
    tiles.product.out = &out;
    tiles.product.c = NULL;
    tiles.product.alpha = 1;
    struct search search = {.lowering = lowering,
                            .ways = count,
                            .lower = try_tile,
                            .what = &tiles,
                            .tensors = {&a, &b, &out},
                            .tensor_count = 3};
    tell_product(&search, p);
    for (size_t i = 0; i < count; i++)
        tell_schedule(&search, &schedules[i]);
    return wnn_search(&search);
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
    struct cooperative_operands with = operands_of(p, type, paired);
    with.reads = reads_as_much(lowering->fused, p->out->count);
    with.beside = wnn_cooperative_time(lowering->work_beside, with.half);
    with.counts = !odd && wnn_shader_can_count(lowering);
    all.inner = depth_of(p, with.half);
    size_t scratch = paired ? 1 : lowering->scratch.bytes / sizeof(float) / p->out->count;
    struct cooperative_schedule schedules[SEARCH_WAYS];
    size_t count = wnn_cooperative_candidates(can, &all, &with, scratch, schedules, SEARCH_WAYS);
    if ((odd && scratch == 0) || count == 0) {
        lowering->reason = "no tile of matrix units fits the device";
        return false;
    }
    size_t way = paired ? 0 : search_tiles(lowering, p, schedules, count);
    multiply_and_sum(lowering, p, &schedules[way]);
    return true;
}
