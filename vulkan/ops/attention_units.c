// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/attention_tiles.h"

#include "vulkan/device/identity.h"
#include "vulkan/ops/matrix_units.h"

#include <math.h>

enum {
    MAX_REGISTERS = 208, // of an invocation, for what lasts as long as a round
    PROCESSORS = 132,    // of an H200
    FITTED_SIZE = 128,   // a row of the query and one of the result, where times were fitted
    MIN_SIZE = 16,       // keys, and what is in a row; and rows where places are not known
    PLACES = 8           // elements of a matrix that an invocation has, where places are known
};

// Subgroups of so many parts of the matrix size's rows, and keys at a time; from the best to the least, where
// places are not known. Where they are, what seems to take the least time is taken: in microseconds, fitted
// to attention of 50 to 4096 rows and keys on an H200 (but for the last four, which are for what the others
// do not fit). `start` passes for each time that a processor's room for work groups is full; a round takes
// `busy` for each work group that a processor has, and `alone` at least.
struct units {
    uint32_t subgroups, parts, keys;
    uint32_t registers; // not if an invocation needs more; 0: in any case
    bool known;         // only where places are,
    bool unknown;       // or only where they are not,
    uint32_t at_once;   // and for so many work groups
    float start, busy, alone;
    uint32_t room;
};
static const struct units all[] = {{4, 2, 32, 160, true, .start = 4, .busy = 0.6f, .alone = 0.95f, .room = 2},
                                   {8, 1, 128, 160, true, .start = 2, .busy = 2.6f, .room = 1},
                                   {8, 1, 64, 160, true, .start = 1.5f, .busy = 1.45f, .room = 1},
                                   {8, 1, 32, 72, .unknown = true, .at_once = 2 * PROCESSORS},
                                   {4, 1, 64, .start = 2, .busy = 0.78f, .alone = 0.85f, .room = 4},
                                   {4, 1, 32, .start = 2.5f, .busy = 0.385f, .alone = 0.44f, .room = 5},
                                   {4, 1, 16, .start = 3, .busy = 0.25f, .alone = 0.4f, .room = 5},
                                   {2, 1, 32, .start = 3, .busy = 0.25f, .alone = 0.4f, .room = 8},
                                   {2, 1, 16, .start = 3, .busy = 0.2f, .alone = 0.4f, .room = 8},
                                   {1, 1, 16, .start = 3, .busy = 0.15f, .alone = 0.4f, .room = 16}};

static uint32_t padded(uint32_t size, uint32_t unit)
{
    unit = unit < 8 ? 8 : unit;
    return (size + unit - 1) / unit * unit;
}

// Whether keys or values lie beside one another, and not what is in a row of the query or of the result.
static bool is_along(const struct attention_matrices *m, enum attention_operand operand)
{
    return m->lines[operand] == 1 && m->columns[operand] != 1;
}

// Chunks of shared memory that lines of so many elements take; as in attention_units.comp.
static uint32_t room_of(uint32_t lines, uint32_t length)
{
    return lines * (length / 8 | 1);
}

static bool fits(const struct capabilities *can, const struct attention_matrices *m,
                 const struct units *units)
{
    const struct attention *a = m->attention;
    const struct matrix_size *size = &can->half_matrices;
    uint32_t depth = padded(a->depth, size->k), width = padded(a->width, size->n);
    uint32_t invocations = units->subgroups * can->subgroup, lanes = can->subgroup / size->m;
    uint32_t rows = units->subgroups * units->parts * size->m;
    uint32_t queries = room_of(rows, depth),
             keys = is_along(m, KEY) ? room_of(depth, units->keys) : room_of(units->keys, depth),
             values = is_along(m, VALUE) ? room_of(width, units->keys) : room_of(units->keys, width);
    uint32_t across = can->known_places ? size->n : units->keys, slab = size->m * (across / 4 | 1),
             rounds = keys + values, numbers = invocations + (can->known_places ? 0 : units->subgroups);
    if (can->matrix_units == MATRIX_UNITS_EMULATED) {
        rounds += queries;
        slab += units->parts * size->m * (units->keys / 8 | 1);
    } else {
        rounds = rounds > queries ? rounds : queries;
    }
    uint32_t shared = 16 * (rounds + units->subgroups * slab) + 4 * numbers;
    return invocations <= can->invocations && shared <= can->shared_bytes && can->subgroup % size->m == 0 &&
           units->keys % size->n == 0 && units->keys % size->k == 0 && units->keys % (8 * lanes) == 0 &&
           size->n % 4 == 0 && size->m * size->n % can->subgroup == 0;
}

// What an invocation keeps: sums and queries, scores, and the keys and values that are on their way.
static uint32_t registers_of(const struct capabilities *can, const struct attention *a,
                             const struct units *units)
{
    uint32_t rows = units->parts * can->half_matrices.m, invocations = units->subgroups * can->subgroup;
    return (rows * (a->width + a->depth / 2 + units->keys)) / can->subgroup +
           units->keys * (a->depth + a->width) / 2 / invocations;
}

// How many rounds a work group has in a band: the mean of all, and the most.
static double rounds_of(const struct attention_matrices *m, uint32_t window, uint32_t window_end,
                        uint32_t rows, uint32_t keys, double *most)
{
    const struct attention *a = m->attention;
    uint64_t sum = 0, groups = wnn_divide_up(a->rows, rows);
    *most = 0;
    for (uint64_t i = 0; i < groups; i++) {
        uint64_t first = i * rows, end = wnn_min(first + rows, a->rows) - 1 + window_end;
        uint64_t begin = first + window_end > window ? first + window_end - window : 0;
        uint64_t own = (wnn_min(end, a->columns) + keys - 1) / keys - begin / keys;
        *most = fmax(*most, (double)own);
        sum += own;
    }
    return (double)sum / (double)groups;
}

// How long it takes, for what is in rows of this size. Where a processor has room for many work groups, and
// there are fewer than two for each, it is the mean that counts, not the most; and so it is in a band.
static double time_of(const struct attention_matrices *m, const struct units *units, uint32_t rows,
                      uint32_t keys, uint32_t window, uint32_t window_end)
{
    const struct attention *a = m->attention;
    double groups = (double)m->count * wnn_divide_up(m->rows, rows), mean = groups / PROCESSORS,
           each = window > 0 || (units->room > 2 && mean < 2) ? fmax(mean, 1) : ceil(mean),
           most = wnn_divide_up(a->columns, keys), rounds = most,
           size = (double)(a->depth + a->width) / FITTED_SIZE;
    if (window > 0)
        rounds = rounds_of(m, window, window_end, rows, keys, &most);
    return ceil(each / units->room) * units->start +
           keys * size / units->keys *
               fmax(rounds * each * units->busy, most * fmax(units->alone, units->busy));
}

// The same, where what is attended to is known only at run time half for all keys, half for a causal mask.
static double expected_time(const struct attention_matrices *m, const struct units *units, uint32_t rows,
                            uint32_t keys)
{
    const struct attention *a = m->attention;
    double time = time_of(m, units, rows, keys, a->window, a->window_end);
    if (!a->has_ranges || a->columns < a->rows)
        return time;
    return (time + time_of(m, units, rows, keys, a->columns, a->columns - a->rows + 1)) / 2;
}

// How bad it is; where places are not known: rows that there are not; then, more registers than there are.
// INFINITY: not to be taken.
static double cost_of(const struct capabilities *can, const struct attention_matrices *m,
                      const struct units *units, uint32_t rows, uint32_t keys)
{
    uint32_t registers = registers_of(can, m->attention, units);
    bool excess = registers > MAX_REGISTERS;
    if (units->registers > 0 && registers > units->registers && !can->always_matrices)
        return INFINITY;
    if (can->known_places)
        return units->unknown ? INFINITY : expected_time(m, units, rows, keys) * (excess ? 4 : 1);
    uint64_t groups = (uint64_t)m->count * wnn_divide_up(m->rows, rows), at_once = units->at_once,
             rounds = at_once > 0 ? (groups + at_once - 1) / at_once : 0;
    if (units->known || 10 * groups < 9 * rounds * at_once)
        return INFINITY;
    return (m->rows <= rows / 2 ? rows << 16 : 0) + (excess ? registers : 0);
}

static bool is_worth_it(const struct capabilities *can, const struct attention_matrices *m)
{
    const struct attention *a = m->attention;
    return can->always_matrices || ((can->known_places || m->rows >= MIN_SIZE) && a->columns >= MIN_SIZE &&
                                    a->depth >= MIN_SIZE && a->width >= MIN_SIZE);
}

// Keys of a round: in as many rounds as there must be, all have as many. It is what fits() asks for.
static uint32_t keys_of(const struct capabilities *can, const struct attention_matrices *m,
                        const struct units *units)
{
    const struct matrix_size *size = &can->half_matrices;
    uint32_t lanes = can->subgroup / size->m, unit = 8 * lanes;
    while (unit % size->n != 0 || unit % size->k != 0)
        unit += 8 * lanes;
    uint32_t rounds = wnn_divide_up(m->attention->columns, units->keys);
    return wnn_divide_up(wnn_divide_up(m->attention->columns, rounds), unit) * unit;
}

bool wnn_choose_attention_units(const struct gpu *gpu, const struct attention_matrices *m,
                                struct attention_schedule *schedule)
{
    const struct capabilities *can = &gpu->can;
    const struct attention *a = m->attention;
    if (can->matrix_units == MATRIX_UNITS_NONE || can->half_matrices.m == 0 ||
        a->type != WNNDataType_Float16 || !is_worth_it(can, m))
        return false;
    double least = INFINITY;
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        if ((can->matrix_tile > 0 && i + 1 != can->matrix_tile) || !fits(can, m, &all[i]))
            continue;
        uint32_t part = all[i].parts * can->half_matrices.m, rows = all[i].subgroups * part,
                 keys = keys_of(can, m, &all[i]);
        double cost = cost_of(can, m, &all[i], rows, keys);
        if (cost >= least)
            continue;
        least = cost;
        *schedule = (struct attention_schedule){
            .kernel = ATTENTION_UNITS, .tile_rows = rows, .tile_keys = keys, .subgroup_rows = part};
    }
    return least < INFINITY;
}

// ---------------------------------------------------------------------------------------------------------------
// Shaders
// ---------------------------------------------------------------------------------------------------------------

// <name>_load(at, rest): eight elements, zeros from `rest` on.
static void add_load(struct shader *shader, const char *name, const struct tensor *tensor, uint32_t unit,
                     uint32_t step)
{
    unsigned k = wnn_shader_input(shader, name, tensor, FORM_VALUE);
    if (unit == 8) {
        wnn_shader_text(shader,
                        "layout(std430, set = 0, binding = %u) readonly buffer U%u { uvec4 u%u[]; };\n"
                        "#define %s_load(at, rest) u%u[(base%u >> 2) + ((at) >> 3)]\n",
                        k, k, k, name, k, k);
        return;
    }
    wnn_shader_text(shader, "uvec4 %s_load(uint at, uint rest)\n{\nuvec4 chunk = uvec4(0u);\n", name);
    if (unit >= 2)
        wnn_shader_text(shader,
                        "UNROLL for (uint e = 0u; e < 4u; e++)\nif (2u * e < rest)\n"
                        "chunk[e] = w%u((at >> 1) + e);\nreturn chunk;\n}\n",
                        k);
    else
        wnn_shader_text(
            shader,
            "UNROLL for (uint e = 0u; e < 8u; e++)\nif (e < rest) {\nuint i = at + e * %uu;\n"
            "chunk[e / 2u] |= bitfieldExtract(w%u(i >> 1), int(i & 1u) * 16, 16) << (e %% 2u * 16u);\n"
            "}\nreturn chunk;\n}\n",
            step, k);
}

// How many elements beside one another a load takes.
static uint32_t unit_of(const struct attention_matrices *m, enum attention_operand operand,
                        const struct tensor *tensor, uint32_t length)
{
    for (uint32_t unit = 8; unit > 1; unit /= 4)
        if (tensor->region.offset % (2 * unit) == 0 && wnn_attention_divides(m, operand, length, unit))
            return unit;
    return 1;
}

static void add_query(struct shader *shader, const struct attention_matrices *m)
{
    const struct tensor *tensor = &shader->lowering->in[QUERY];
    uint32_t step = m->columns[QUERY];
    wnn_map_attention(shader, "query", m, QUERY);
    add_load(shader, "query", tensor, unit_of(m, QUERY, tensor, m->attention->depth), step);
    wnn_shader_text(shader,
                    "uvec4 query_chunk(uint from, uint m, uint c)\n{\nreturn m < ROWS && 8u * c < DEPTH ? "
                    "query_load(from + query_row_index(m) + 8u * c * %uu, DEPTH - 8u * c) : uvec4(0u);\n}\n",
                    step);
}

// <name>_chunk(from, first, line, c, end): of the keys or values from number `first` on, up to `end`.
static void add_lines(struct shader *shader, const char *name, const struct attention_matrices *m,
                      enum attention_operand operand)
{
    const struct tensor *tensor = &shader->lowering->in[operand];
    uint32_t length = operand == KEY ? m->attention->depth : m->attention->width;
    wnn_map_attention(shader, name, m, operand);
    if (!is_along(m, operand)) {
        add_load(shader, name, tensor, unit_of(m, operand, tensor, length), m->columns[operand]);
        wnn_shader_text(shader,
                        "uvec4 %s_chunk(uint from, uint first, uint line, uint c, uint end)\n{\n"
                        "return first + line < end && 8u * c < %uu ? "
                        "%s_load(from + (first + line) * %uu + 8u * c * %uu, %uu - 8u * c) : uvec4(0u);\n}\n",
                        name, length, name, m->lines[operand], m->columns[operand], length);
        return;
    }
    struct attention_matrices turned = *m;
    turned.lines[operand] = m->columns[operand];
    turned.columns[operand] = m->lines[operand];
    add_load(shader, name, tensor, unit_of(&turned, operand, tensor, m->attention->columns), 1);
    wnn_shader_text(
        shader,
        "uvec4 %s_chunk(uint from, uint first, uint line, uint c, uint end)\n{\nuint n = first + 8u * c;\n"
        "return n < end && line < %uu ? %s_load(from + n + line * %uu, end - n) : uvec4(0u);\n}\n",
        name, length, name, m->columns[operand]);
}

static void describe_units(struct shader *shader, const struct attention_schedule *schedule, uint32_t depth,
                           uint32_t width)
{
    const struct capabilities *can = &shader->lowering->gpu->can;
    const struct matrix_size *size = &can->half_matrices;
    wnn_shader_matrices(shader, true);
    wnn_shader_include(shader, "places");
    uint32_t subgroups = schedule->tile_rows / schedule->subgroup_rows;
    shader->local_size = subgroups * can->subgroup;
    wnn_shader_define(shader, "SUBGROUPS", "%uu", subgroups);
    wnn_shader_define(shader, "PARTS", "%uu", schedule->subgroup_rows / size->m);
    wnn_shader_define(shader, "KEYS_AT_ONCE", "%uu", schedule->tile_keys);
    wnn_shader_define(shader, "DEPTH_PADDED", "%uu", padded(depth, size->k));
    wnn_shader_define(shader, "WIDTH_PADDED", "%uu", padded(width, size->n));
}

// attends_to_all(m, keys): whether the rows of a part, which begin with m, attend to all keys of a round, to
// whose scores the mask adds nothing. mask_pair(at): two elements of the mask, where one load reads both.
static void describe_mask(struct shader *shader, const struct attention_matrices *m,
                          const struct attention_schedule *schedule)
{
    const struct attention *a = m->attention;
    const struct tensor *mask = &shader->lowering->in[MASK];
    bool pairs = a->masked && a->window == 0 && mask->type == WNNDataType_Float16 &&
                 unit_of(m, MASK, mask, a->columns) > 1;
    wnn_shader_define(shader, "BANDED", "%d", a->window > 0);
    wnn_shader_define(shader, "READS_MASK", "%d", a->masked && a->window == 0);
    wnn_shader_define(shader, "MASK_PAIRS", "%d", pairs);
    if (a->window > 0)
        wnn_shader_text(shader,
                        "bool attends_to_all(uint m, uint keys)\n{\nuint last = row_of(m) + %uu;\n"
                        "return last < %uu && keys + %uu <= row_of(m) + WINDOW_END && last + WINDOW_END <= "
                        "keys + WINDOW;\n}\n",
                        shader->lowering->gpu->can.half_matrices.m - 1, a->rows, schedule->tile_keys);
    if (a->has_ranges)
        wnn_shader_text(shader, "#define attends_to_all(m, keys) are_zeros(keys)\n");
    if (pairs)
        wnn_shader_text(shader, "vec2 mask_pair(uint at) { return loaded_halves(mask_word(at >> 1)); }\n");
}

void wnn_describe_attention_units(struct shader *shader, const struct attention_matrices *m,
                                  const struct attention_schedule *schedule)
{
    describe_units(shader, schedule, m->attention->depth, m->attention->width);
    wnn_shader_define(shader, "PLACES", "0");
    wnn_shader_define(shader, "KNOWN", "%d", shader->lowering->gpu->can.known_places);
    wnn_shader_define(shader, "WHOLE_TILES", "%d", m->attention->columns % schedule->tile_keys == 0);
    wnn_shader_define(shader, "KEYS_ALONG", "%d", is_along(m, KEY));
    wnn_shader_define(shader, "VALUES_ALONG", "%d", is_along(m, VALUE));
    describe_mask(shader, m, schedule);
    const struct capabilities *can = &shader->lowering->gpu->can;
    bool joins = can->known_places && can->matrix_units == MATRIX_UNITS_KHR;
    wnn_shader_join_ranges(shader, m, joins ? can->subgroup : 1);
    add_query(shader, m);
    add_lines(shader, "key", m, KEY);
    add_lines(shader, "value", m, VALUE);
}

// ---------------------------------------------------------------------------------------------------------------
// Places
// ---------------------------------------------------------------------------------------------------------------

bool wnn_may_know_places(const struct capabilities *can)
{
    const struct matrix_size *size = &can->half_matrices;
    return size->m == 16 && size->n == 16 && size->k == 16 && can->subgroup == 32 && !can->hides_places &&
           (can->matrix_units == MATRIX_UNITS_EMULATED ||
            (can->matrix_units == MATRIX_UNITS_KHR && can->shuffles == can->subgroup));
}

void wnn_lower_places(struct lowering *lowering)
{
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "attention_units", SIZE_MAX);
    describe_units(
        &shader, &(struct attention_schedule){.tile_rows = 16, .tile_keys = 16, .subgroup_rows = 16}, 16, 16);
    wnn_shader_define(&shader, "PLACES", "1");
    wnn_shader_define(&shader, "KNOWN", "1");
    wnn_shader_define(&shader, "KEYS_ALONG", "0");
    wnn_shader_define(&shader, "VALUES_ALONG", "0");
    unsigned k = wnn_shader_bind(&shader, &lowering->out[0].region, true);
    wnn_shader_define(&shader, "tell(i, place)", "s%u(i, place)", k);
    wnn_shader_end_grid(&shader, 1, 1, 1);
}

bool wnn_are_places(const uint32_t places[WNN_PLACES])
{
    bool known = true;
    for (uint32_t i = 0; i < WNN_PLACES; i++) {
        uint32_t lane = i / (3 * PLACES), matrix = i / PLACES % 3, e = i % PLACES;
        uint32_t row = lane / 4 + e / 4 * 8, column = lane % 4 * 2 + e % 2 + e / 2 % 2 * 8;
        known = known && places[i] == (matrix < 2 ? row * 16 + column : column * 16 + row);
    }
    return known;
}

bool wnn_are_described_places(const struct capabilities *can)
{
    return can->matrix_units == MATRIX_UNITS_EMULATED || can->vendor == GPU_VENDOR_NVIDIA;
}
