// SPDX-License-Identifier: Apache-2.0
//
// Attention whose scores never leave a work group: it has some rows of the query, and goes over the keys and
// values. Where rows are too few to keep the device busy, several work groups share the keys, and a second
// dispatch, or the last of them, joins their partial results.

#include "vulkan/ops/attention_tiles.h"

#include "vulkan/ops/operators.h"

#include <stdio.h>

enum {
    MAX_SIZE = 256, // of a row of the query, and of the result
    MAX_FEW_ROWS = 16,
    MAX_ROWS_WITHOUT_UNITS = 4, // which matrix units are no faster with; an H200 has been measured
    MIN_SPLIT = 128,            // keys
    MIN_UNITS_SPLIT =
        384, // of which matrix units take as long as what joins two splits of many rows; likewise
    MAX_SPLITS = 64,
    MAX_ROUNDS = 256, // of lavapipe
    MAX_EMULATED_ROUNDS = 12,
    MAX_CACHED_SCORES = 1 << 22,
    MAX_PARTIALS = 1 << 22, // floats of scratch memory
    FEW_INVOCATIONS = GPU_MIN_INVOCATIONS,
    WIDE_INVOCATIONS = 512,
    MINIMAL_INVOCATIONS = 32, // tests
    FEW_LANES = 8,            // that share a key at least, if there are as many,
    MAX_FEW_LANES = 32,       // and at most
    MAX_FEW_PARTS = 2,        // of a value, and
    MAX_FEW_SUMS = 32,        // quads of sums of all rows that an invocation has rather than another lane
    MAX_FEW_QUADS = 16,       // that it reads at a time
    MAX_FEW_SCORES = 32,      // of an invocation at a time
    MAX_FEW_KEYS = 8,
    MAX_PARTIAL_BYTES = 16 << 10,
    WIDE_ROUNDS = 2 // of which a second dispatch would cost more
};

// An invocation has tm rows and tn keys of ty * tm and tx * tn.
struct tile {
    uint32_t tx, ty, tm, tn;
};
static const struct tile tiles[] = {{16, 16, 4, 4}, {16, 8, 4, 4}, {16, 16, 4, 2}, {16, 8, 4, 2},
                                    {16, 8, 4, 1},  {16, 8, 2, 1}, {8, 8, 2, 2},   {8, 8, 2, 1},
                                    {8, 8, 1, 1},   {8, 4, 1, 1},  {8, 2, 1, 1}};

// ---------------------------------------------------------------------------------------------------------------
// Matrices
// ---------------------------------------------------------------------------------------------------------------

static struct attention_matrices matrices_of(const struct attention *a)
{
    const struct heads *heads[] = {&a->query, &a->key, &a->value, &a->mask, &a->attended, &a->out};
    struct attention_matrices m = {.attention = a, .count = 1, .rows = a->rows};
    for (unsigned d = 0; d <= a->rank; d++) {
        bool row = d == a->rank || (a->key.head[d] == 0 && a->value.head[d] == 0);
        unsigned *rank = row ? &m.row_rank : &m.rank;
        (row ? m.row_dims : m.dims)[*rank] = d == a->rank ? a->rows : a->dims[d];
        for (unsigned o = 0; o < PARTIAL; o++)
            (row ? m.row_steps : m.steps)[o][*rank] = d < a->rank              ? heads[o]->head[d]
                                                      : o == KEY || o == VALUE ? 0
                                                                               : heads[o]->row;
        ++*rank;
        if (!row)
            m.count *= a->dims[d];
        else if (d < a->rank)
            m.rows *= a->dims[d];
    }
    int64_t step = a->width;
    for (unsigned d = m.row_rank; d-- > 0; step *= m.row_dims[d])
        m.row_steps[PARTIAL][d] = step;
    for (unsigned d = m.rank; d-- > 0; step *= m.dims[d])
        m.steps[PARTIAL][d] = step;
    for (unsigned o = 0; o < PARTIAL; o++)
        m.columns[o] = o == KEY ? heads[o]->row : heads[o]->column;
    m.columns[PARTIAL] = 1;
    m.lines[KEY] = a->key.column;
    m.lines[VALUE] = a->value.row;
    return m;
}

bool wnn_attention_divides(const struct attention_matrices *m, enum attention_operand operand,
                           uint32_t length, uint32_t unit)
{
    bool divides = m->columns[operand] == 1 && length % unit == 0 && m->lines[operand] % unit == 0;
    for (unsigned d = 0; divides && d < m->rank; d++)
        divides = m->steps[operand][d] % unit == 0;
    for (unsigned d = 0; divides && d < m->row_rank; d++)
        divides = m->row_steps[operand][d] % unit == 0;
    return divides;
}

// Whether two elements of a word are not beside each other in a row, so that two invocations would write it.
static bool is_odd(const struct attention_matrices *m)
{
    return m->attention->type == WNNDataType_Float16 &&
           !wnn_attention_divides(m, OUT, m->attention->width, 2);
}

// ---------------------------------------------------------------------------------------------------------------
// Schedules
// ---------------------------------------------------------------------------------------------------------------

static uint32_t quads_of(uint32_t size)
{
    return (size + 3) / 4;
}

static uint32_t most_quads(const struct attention *a)
{
    return quads_of(a->depth > a->width ? a->depth : a->width);
}

static uint32_t joined_of(const struct capabilities *can, uint32_t lanes)
{
    return can->shuffles == 0 ? 1 : can->shuffles < lanes ? can->shuffles : lanes;
}

static bool tile_fits(const struct capabilities *can, const struct attention *a, const struct tile *tile)
{
    uint32_t rows = tile->ty * tile->tm, keys = tile->tx * tile->tn;
    uint64_t quads = (uint64_t)rows * (quads_of(a->depth) | 1) + (uint64_t)keys * (most_quads(a) | 1) +
                     (uint64_t)rows * (keys / 4 + 1),
             shared = 16 * quads + 4 * (uint64_t)rows * (tile->tx / joined_of(can, tile->tx));
    return tile->tx * tile->ty <= can->invocations && shared <= can->shared_bytes;
}

// Work groups that the device has room for at once, very roughly.
static uint32_t processors_of(const struct capabilities *can)
{
    return can->minimal                                          ? 128 // tests
           : can->type == VK_PHYSICAL_DEVICE_TYPE_CPU            ? 4
           : can->type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ? 16
                                                                 : 128;
}

// The least that is no less.
static uint32_t power_of_two(uint32_t x)
{
    uint32_t power = 1;
    while (power < x)
        power *= 2;
    return power;
}

// Work groups of so many invocations. Lanes are so many that each has few sums of all rows.
static bool choose_few_of(const struct capabilities *can, const struct attention_matrices *m,
                          uint32_t invocations, struct attention_schedule *schedule)
{
    const struct attention *a = m->attention;
    uint32_t lanes = 1, rows = power_of_two(m->rows),
             most = can->shuffles > 1 && can->shuffles < MAX_FEW_LANES ? can->shuffles : MAX_FEW_LANES;
    while (2 * lanes <= most && lanes < most_quads(a) &&
           (lanes < FEW_LANES || wnn_divide_up(most_quads(a), lanes) > MAX_FEW_PARTS ||
            m->rows * wnn_divide_up(quads_of(a->width), lanes) > MAX_FEW_SUMS))
        lanes *= 2;
    bool joins = can->shuffles >= lanes;
    uint32_t widths = wnn_divide_up(quads_of(a->width), lanes),
             at_once = MAX_FEW_QUADS / (wnn_divide_up(quads_of(a->depth), lanes) + widths),
             joined = joins && can->shuffles < invocations ? can->shuffles
                      : joins                              ? invocations
                                                           : lanes;
    at_once = at_once > MAX_FEW_SCORES / rows ? MAX_FEW_SCORES / rows
              : at_once > MAX_FEW_KEYS        ? MAX_FEW_KEYS
                                              : at_once;
    at_once = at_once < 1 || !joins ? 1 : power_of_two(at_once / 2 + 1); // the greatest that is no more
    // Partial results of groups: greatest scores, sums of weights and of values; and products of lanes.
    uint32_t groups = invocations / joined;
    uint64_t shared = 16 * (uint64_t)m->rows * quads_of(a->depth) +
                      4 * (uint64_t)rows * (2 * groups + (joins ? 0 : at_once * invocations)),
             row = 16 * (uint64_t)groups * lanes * widths,
             free = shared < can->shared_bytes ? can->shared_bytes - shared : 0,
             partial = (free < MAX_PARTIAL_BYTES ? free : MAX_PARTIAL_BYTES) / row;
    partial = partial == 0 && free >= row ? 1 : partial;
    *schedule = (struct attention_schedule){.kernel = ATTENTION_FEW,
                                            .tile_rows = m->rows,
                                            .tile_keys = invocations / lanes * at_once,
                                            .lanes = lanes,
                                            .keys_at_once = at_once,
                                            .joined = joined,
                                            .partial_rows = partial < m->rows ? (uint32_t)partial : m->rows,
                                            .invocations = invocations};
    return partial > 0 && lanes <= invocations && invocations <= can->invocations;
}

// What waits for memory is more at a time.
static uint64_t wanted_groups(const struct capabilities *can, const struct attention_schedule *schedule)
{
    return (uint64_t)(schedule->kernel == ATTENTION_FEW ? 8 : 2) * processors_of(can);
}

// Large work groups for keys that are few, but would be split to keep the device busy.
static bool choose_few(const struct capabilities *can, const struct attention_matrices *m,
                       struct attention_schedule *schedule)
{
    bool small = can->minimal && quads_of(m->attention->width) <= MINIMAL_INVOCATIONS;
    uint32_t invocations = small ? MINIMAL_INVOCATIONS : FEW_INVOCATIONS, keys = m->attention->columns;
    struct attention_schedule wide;
    if (m->rows > MAX_FEW_ROWS || !choose_few_of(can, m, invocations, schedule))
        return false;
    if (keys > schedule->tile_keys && m->count < wanted_groups(can, schedule) / 2 &&
        choose_few_of(can, m, invocations * (WIDE_INVOCATIONS / FEW_INVOCATIONS), &wide) &&
        keys <= WIDE_ROUNDS * wide.tile_keys) {
        *schedule = wide;
        schedule->whole = true;
    }
    return true;
}

static bool choose_kernel(const struct gpu *gpu, const struct attention_matrices *m,
                          struct attention_schedule *schedule)
{
    const struct capabilities *can = &gpu->can;
    bool is_few = m->rows <= MAX_ROWS_WITHOUT_UNITS && !can->always_matrices;
    if ((is_few && choose_few(can, m, schedule)) || wnn_choose_attention_units(gpu, m, schedule) ||
        choose_few(can, m, schedule))
        return true;
    for (unsigned i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        const struct tile *tile = &tiles[i];
        // No more rows than there are, but for the last tiles.
        if (!tile_fits(can, m->attention, tile) || (tile->ty * tile->tm >= 2 * m->rows && tile->tm > 1))
            continue;
        *schedule = (struct attention_schedule){.kernel = ATTENTION_TILES,
                                                .tile_rows = tile->ty * tile->tm,
                                                .tile_keys = tile->tx * tile->tn,
                                                .tile = tile};
        return true;
    }
    return false;
}

static bool skips_keys(const struct attention *a)
{
    return a->window > 0 || a->has_ranges;
}

// Work groups that attend to the most keys are to begin first, so that none of them runs last: in a band
// those of the last rows, and where it is known only at run time more often these than others.
static bool begins_with_last(const struct attention_matrices *m, const struct attention_schedule *schedule)
{
    return skips_keys(m->attention) && schedule->kernel != ATTENTION_FEW;
}

// Work groups.
struct grid {
    uint32_t x, y, z;
};

static struct grid grid_of(const struct attention_matrices *m, const struct attention_schedule *schedule)
{
    if (begins_with_last(m, schedule))
        return (struct grid){m->count, schedule->splits, schedule->row_tiles};
    return (struct grid){schedule->row_tiles, schedule->splits, m->count};
}

static bool choose(const struct gpu *gpu, const struct attention_matrices *m,
                   struct attention_schedule *schedule)
{
    const struct capabilities *can = &gpu->can;
    const struct attention *a = m->attention;
    // Tiles are literals, which would be compiled again for other sizes.
    if (a->late)
        return false;
    // A processor has nothing between its caches and the memory that it would save to go to.
    uint64_t scores = (uint64_t)a->head_count * a->rows * a->columns;
    if (can->type == VK_PHYSICAL_DEVICE_TYPE_CPU && !can->minimal && !can->always_matrices &&
        scores <= MAX_CACHED_SCORES)
        return false;
    if (a->depth > MAX_SIZE || a->width > MAX_SIZE || wnn_shader_bindings(gpu, a->largest) != 1 ||
        !choose_kernel(gpu, m, schedule))
        return false;
    schedule->row_tiles = wnn_divide_up(m->rows, schedule->tile_rows);
    uint64_t groups = (uint64_t)schedule->row_tiles * m->count, wanted = wanted_groups(can, schedule);
    uint64_t most = (uint64_t)MAX_PARTIALS / ((uint64_t)m->count * m->rows * (a->width + 2));
    uint64_t splits = schedule->whole || groups >= wanted / 2 ? 1 : wanted / groups;
    uint32_t enough = can->minimal || can->always_matrices
                          ? wnn_divide_up(a->columns, 2 * schedule->tile_keys)
                      : schedule->kernel == ATTENTION_UNITS && m->rows > MAX_FEW_ROWS
                          ? a->columns / MIN_UNITS_SPLIT
                          : wnn_divide_up(a->columns, MIN_SPLIT);
    splits = splits > most ? most : splits;
    splits = splits > enough ? enough : splits;
    splits = splits > MAX_SPLITS ? MAX_SPLITS : splits < 1 ? 1 : splits;
    // Lavapipe ends loops after 65535 rounds of all of them.
    uint32_t rounds = schedule->kernel == ATTENTION_UNITS ? MAX_EMULATED_ROUNDS : MAX_ROUNDS;
    if (can->type == VK_PHYSICAL_DEVICE_TYPE_CPU && a->columns / schedule->tile_keys / rounds >= splits)
        splits = a->columns / schedule->tile_keys / rounds + 1;
    schedule->split =
        wnn_divide_up(wnn_divide_up(a->columns, (uint32_t)splits), schedule->tile_keys) * schedule->tile_keys;
    schedule->splits = wnn_divide_up(a->columns, schedule->split);
    schedule->partial = schedule->splits > 1 || is_odd(m);
    struct grid grid = grid_of(m, schedule);
    return grid.x <= can->groups[0] && grid.y <= can->groups[1] && grid.z <= can->groups[2];
}

static size_t elements_of(const struct attention_matrices *m)
{
    return (size_t)m->count * m->rows * m->attention->width;
}

bool wnn_attends_in_tiles(const struct gpu *gpu, const struct attention *a)
{
    struct attention_matrices m = matrices_of(a);
    struct attention_schedule schedule;
    return choose(gpu, &m, &schedule);
}

// The ranges are one more dispatch, and it takes a work group some time to join those of its rows.
bool wnn_tiles_skip_keys(const struct gpu *gpu, const struct attention *a, size_t sharing)
{
    enum {
        MIN_KEYS = 2048, // an H200 has been measured
        MIN_SHARED_KEYS = 512,
        MIN_BYTES = 1 << 25, // of keys and values, for few rows
        MIN_SLOW_BYTES = 1 << 20
    };
    struct attention_matrices m = matrices_of(a);
    struct attention_schedule schedule;
    const struct capabilities *can = &gpu->can;
    if (!choose(gpu, &m, &schedule))
        return false;
    uint64_t bytes = wnn_dtype_bytes(a->type, (uint64_t)m.count * a->columns * ((size_t)a->depth + a->width));
    uint64_t least = can->type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ? MIN_BYTES : MIN_SLOW_BYTES;
    if (can->minimal || can->always_matrices)
        return true;
    if (schedule.kernel == ATTENTION_FEW)
        return bytes >= least;
    return a->columns >= (sharing > 1 ? MIN_SHARED_KEYS : MIN_KEYS);
}

// Behind the sums of the splits, of whole quads: the greatest score and the sum of the weights of each row.
static size_t statistics_at(const struct attention_matrices *m, const struct attention_schedule *schedule)
{
    return wnn_aligned((size_t)m->count * m->rows * quads_of(m->attention->width) * 4 * schedule->splits *
                       sizeof(float));
}

static size_t statistics_of(const struct attention_matrices *m, const struct attention_schedule *schedule)
{
    return 2 * (size_t)m->count * m->rows * schedule->splits;
}

static size_t scratch_of(const struct attention_matrices *m, const struct attention_schedule *schedule)
{
    return statistics_at(m, schedule) + statistics_of(m, schedule) * sizeof(float);
}

static struct tensor partials_in(struct lowering *lowering, const struct attention_matrices *m,
                                 const struct attention_schedule *schedule)
{
    return wnn_scratch(lowering, 0, WNNDataType_Float32, elements_of(m) * schedule->splits);
}

static struct tensor statistics_in(struct lowering *lowering, const struct attention_matrices *m,
                                   const struct attention_schedule *schedule)
{
    return wnn_scratch(lowering, statistics_at(m, schedule), WNNDataType_Float32, statistics_of(m, schedule));
}

size_t wnn_scratch_of_tiles(const struct gpu *gpu, const struct attention *a)
{
    struct attention_matrices m = matrices_of(a);
    struct attention_schedule schedule;
    if (!choose(gpu, &m, &schedule) || !schedule.partial)
        return 0;
    return scratch_of(&m, &schedule);
}

// ---------------------------------------------------------------------------------------------------------------
// Shaders
// ---------------------------------------------------------------------------------------------------------------

void wnn_map_attention(struct shader *shader, const char *name, const struct attention_matrices *m,
                       enum attention_operand operand)
{
    char row[32];
    snprintf(row, sizeof row, "%s_row", name);
    wnn_shader_map(shader, name, m->rank, m->dims, m->steps[operand], 0);
    wnn_shader_map(shader, row, m->row_rank, m->row_dims, m->row_steps[operand], 0);
}

// <name>_part(from, line, q[, end]): quad q of a row of the query; or of a key or value, zeros from `end` on.
static void add_operand(struct shader *shader, const char *name, const struct attention_matrices *m,
                        enum attention_operand operand)
{
    const struct tensor *tensor = &shader->lowering->in[operand];
    uint32_t length = operand == VALUE ? m->attention->width : m->attention->depth;
    bool quads =
        wnn_shader_has_quads(shader->lowering, tensor) && wnn_attention_divides(m, operand, length, 4);
    wnn_map_attention(shader, name, m, operand);
    wnn_shader_input(shader, name, tensor, FORM_VALUE);
    if (quads)
        wnn_shader_quads(shader, name, tensor);
    if (operand == QUERY)
        wnn_shader_text(shader,
                        "vec4 query_part(uint from, uint m, uint q)\n{\nvec4 x = vec4(0.0);\nif (m >= ROWS)\n"
                        "return x;\nuint at = from + query_row_index(m) + 4u * q * %uu;\n",
                        m->columns[QUERY]);
    else
        wnn_shader_text(
            shader,
            "vec4 %s_part(uint from, uint n, uint q, uint end)\n{\nvec4 x = vec4(0.0);\nif (n >= end)\n"
            "return x;\nuint at = from + n * %uu + 4u * q * %uu;\n",
            name, m->lines[operand], m->columns[operand]);
    if (quads)
        wnn_shader_text(shader, "return %s_quad(at);\n}\n", name);
    else
        wnn_shader_text(shader,
                        "for (uint e = 0u; e < 4u && 4u * q + e < %uu; e++)\nx[e] = %s_at(at + e * %uu);\n"
                        "return x;\n}\n",
                        length, name, m->columns[operand]);
}

// MATRIX and ROW_GROUP: what a work group of the grid computes. first_key(begin, m) and last_key(end, m): the
// rounds of keys that some row of a group, whose first row is m, attends to. A kernel that HAS_RANGES joins
// them first: add_range(matrix, m) takes that of a row to [first_attended, end_attended), and what all rows
// have of their zeros to [first_zero, end_zeros). are_zeros(keys): whether the mask of a round is all zeros.
// Where no row has holes, in_run(x, key, run) is what the mask makes of a score of row m, with run_of(matrix,
// m).
static void add_keys(struct shader *shader, const struct attention_matrices *m,
                     const struct attention_schedule *schedule)
{
    const struct attention *a = m->attention;
    uint32_t round = schedule->tile_keys;
    bool last_first = begins_with_last(m, schedule);
    wnn_shader_define(shader, "HAS_RANGES", "%d", a->has_ranges);
    wnn_shader_define(shader, "MATRIX", "gl_WorkGroupID.%c", last_first ? 'x' : 'z');
    if (last_first)
        wnn_shader_define(shader, "ROW_GROUP", "(%uu - gl_WorkGroupID.z)", schedule->row_tiles - 1);
    else
        wnn_shader_define(shader, "ROW_GROUP", "gl_WorkGroupID.x");
    if (!skips_keys(a)) {
        wnn_shader_text(shader, "#define first_key(begin, m) (begin)\n#define last_key(end, m) (end)\n");
        return;
    }
    if (a->has_ranges) {
        wnn_map_attention(shader, "attended", m, ATTENDED);
        unsigned k = wnn_shader_bind(shader, &shader->lowering->in[ATTENDED].region, false);
        wnn_shader_text(shader,
                        "#define add_range(matrix, m) {\\\n"
                        "uint at = attended_index(matrix) + attended_row_index(m), after = w%u(at + 1u);\\\n"
                        "uint zeros = w%u(at + 2u);\\\n"
                        "first_attended = min(first_attended, after > 0u ? w%u(at) : KEYS);\\\n"
                        "end_attended = max(end_attended, after);\\\n"
                        "first_zero = max(first_zero, w%u(at));\\\nend_zeros = min(end_zeros, zeros);\\\n"
                        "holes = max(holes, uint(zeros != after));\\\n}\n",
                        k, k, k, k);
        wnn_shader_text(
            shader,
            "#define first_key(begin, m) max(begin, first_attended / %uu * %uu)\n"
            "#define last_key(end, m) min(end, (min(end_attended, end) + %uu) / %uu * %uu)\n"
            "#define are_zeros(keys) (keys >= first_zero && keys + %uu <= end_zeros)\n"
            "uvec2 run_of(uint matrix, uint m)\n{\nuint at = attended_index(matrix) + "
            "attended_row_index(min(m, ROWS - 1u));\nreturn uvec2(w%u(at), w%u(at + 1u));\n}\n"
            "float in_run(float x, uint key, uvec2 run) { return key >= run.x && key < run.y ? x : -INF; }\n",
            round, round, round - 1, round, round, round, k, k);
        return;
    }
    wnn_shader_number(shader, "WINDOW", a->window);
    wnn_shader_number(shader, "WINDOW_END", a->window_end);
    wnn_shader_text(shader,
                    "uint row_of(uint m) { return m %% %uu; }\n"
                    "bool is_one_head(uint m) { return m / %uu == min(m + %uu, ROWS - 1u) / %uu; }\n",
                    a->rows, a->rows, schedule->tile_rows - 1, a->rows);
    wnn_shader_text(shader,
                    "uint first_key(uint begin, uint m)\n{\n"
                    "uint end = (is_one_head(m) ? row_of(m) : 0u) + WINDOW_END;\n"
                    "return max(begin, end > WINDOW ? (end - WINDOW) / %uu * %uu : 0u);\n}\n"
                    "uint last_key(uint end, uint m)\n{\n"
                    "uint row = is_one_head(m) ? row_of(min(m + %uu, ROWS - 1u)) : %uu;\n"
                    "return min(end, (row + WINDOW_END + %uu) / %uu * %uu);\n}\n",
                    round, round, schedule->tile_rows - 1, a->rows - 1, round - 1, round, round);
}

// masked(x, at): a score after its mask, both in units of log 2 if weights are powers of two. The same in two
// steps: masked_by(x, mask_number(at)).
static void add_mask(struct shader *shader, const struct attention_matrices *m, bool powers)
{
    if (m->attention->window > 0) {
        // The place of a key behind the window of its row, which is negative in the window.
        wnn_shader_text(shader,
                        "#define MASK_COLUMN 1u\nuint mask_index(uint matrix) { return 0u; }\n"
                        "uint mask_row_index(uint m) { return 0u - (m %% %uu + %uu); }\n"
                        "float mask_number(uint at) { return ~at < %uu ? 0.0 : -INF; }\n"
                        "#define masked_by(x, mask) ((x) + (mask))\n"
                        "#define masked(x, at) (~(at) < %uu ? (x) : -INF)\n",
                        m->attention->rows, m->attention->window_end, m->attention->window,
                        m->attention->window);
        return;
    }
    wnn_map_attention(shader, "mask", m, MASK);
    wnn_shader_number(shader, "MASK_COLUMN", m->columns[MASK]);
    if (m->attention->masked) {
        const struct tensor *mask = &shader->lowering->in[MASK];
        unsigned k = wnn_shader_input(shader, "mask", mask, FORM_VALUE);
        // The lowest of float32 is not to become -INFINITY: rows of nothing else have equal weights.
        const char *power = mask->type == WNNDataType_Float16
                                ? "mad(mask, 1.44269504, x)"
                                : "x + (mask < -2e38 ? mask : mask * 1.44269504)";
        wnn_shader_text(shader, "#define mask_word(i) w%u(i)\n", k);
        wnn_shader_text(shader,
                        "float mask_number(uint at) { return mask_at(at); }\n"
                        "float masked_by(float x, float mask) { return %s; }\n",
                        powers ? power : "x + mask");
    } else {
        wnn_shader_text(shader, "#define mask_number(at) 0.0\n#define masked_by(x, mask) (x)\n");
    }
    wnn_shader_text(shader, "#define masked(x, at) masked_by(x, mask_number(at))\n");
}

// To where the result is, or one split behind the other.
static void write_rows(struct shader *shader, const struct attention_matrices *m,
                       const struct attention_schedule *schedule, bool partial)
{
    struct lowering *lowering = shader->lowering;
    const struct attention *a = m->attention;
    enum attention_operand operand = partial ? PARTIAL : OUT;
    struct tensor partials = partials_in(lowering, m, schedule),
                  statistics = statistics_in(lowering, m, schedule);
    const struct tensor *out = partial ? &partials : &lowering->out[0];
    bool quads = wnn_shader_has_quads(lowering, out) && wnn_attention_divides(m, operand, a->width, 4);
    wnn_map_attention(shader, "out", m, operand);
    if (quads)
        wnn_shader_output_quads(shader, out);
    wnn_shader_output(shader, out, FORM_VALUE, NULL);
    unsigned k = partial ? wnn_shader_bind(shader, &statistics.region, true) : 0;
    wnn_shader_text(shader, "attended begin_row(uint matrix, uint m, float top, float sum, bool first)\n{\n");
    if (partial)
        wnn_shader_text(shader,
                        "uint row = (gl_WorkGroupID.y * %uu + matrix) * ROWS + m;\nif (first) {\n"
                        "s%u(2u * row, floatBitsToUint(top));\ns%u(2u * row + 1u, floatBitsToUint(sum));\n}\n"
                        "return attended(row * WIDTH, 1.0);\n}\n",
                        m->count, k, k);
    else
        wnn_shader_text(shader,
                        "precise float share = 1.0 / sum;\n"
                        "return attended(out_index(matrix) + out_row_index(m), %s);\n}\n",
                        a->zero_nan ? "is_nan(sum) || sum == 0.0 ? 0.0 : share" : "share");
    wnn_shader_text(shader, "void write_quad(attended row, uint q, vec4 x)\n{\n%s",
                    a->zero_nan ? "if (row.share == 0.0)\nx = vec4(0.0);\n" : "");
    if (quads)
        wnn_shader_text(shader, "out_quad(row.at + 4u * q, x * row.share);\n}\n");
    else
        wnn_shader_text(shader,
                        "for (uint e = 0u; e < 4u && 4u * q + e < WIDTH; e += PER) {\nWORD word = WORD(0u);\n"
                        "for (uint w = 0u; w < PER; w++)\nput(word, w, x[e + w] * row.share);\n"
                        "store((row.at + (4u * q + e) * %uu) / PER, word);\n}\n}\n",
                        m->columns[operand]);
}

// begin_row(matrix, m, top, sum, first) is what write_quad(row, q, x) takes for each quad of a row's sums;
// `first`: of the invocations that have a piece of the row, this one is to note the statistics. Behind all
// rows a kernel has JOIN_SPLITS(matrix).
static void add_results(struct shader *shader, const struct attention_matrices *m,
                        const struct attention_schedule *schedule)
{
    wnn_shader_text(shader, "struct attended { uint at; float share; };\n");
    if (!schedule->joins_splits) {
        write_rows(shader, m, schedule, schedule->partial);
        wnn_shader_text(shader, "#define JOIN_SPLITS(matrix)\n");
        return;
    }
    struct tensor all =
        wnn_scratch(shader->lowering, 0, WNNDataType_Float32, scratch_of(m, schedule) / sizeof(float));
    wnn_shader_splits(shader, &all.region, true, schedule->splits, (size_t)m->count * schedule->row_tiles);
    wnn_shader_number(shader, "MATRIX_COUNT", m->count);
    wnn_shader_number(shader, "ROW_TILES", schedule->row_tiles);
    wnn_shader_number(shader, "TILE_ROWS", schedule->tile_rows);
    wnn_shader_define(shader, "LOCAL_SIZE", "%uu", shader->local_size);
    wnn_shader_number(shader, "STATISTICS", (uint32_t)(statistics_at(m, schedule) / sizeof(float)));
    write_rows(shader, m, schedule, false);
    wnn_shader_include(shader, "attention_splits");
}

static void describe(struct shader *shader, const struct attention_matrices *m,
                     const struct attention_schedule *schedule)
{
    const struct attention *a = m->attention;
    bool half = a->type == WNNDataType_Float16, powers = schedule->kernel == ATTENTION_UNITS;
    const struct capabilities *can = &shader->lowering->gpu->can;
    // Arrays of matrices are indexed by constants only.
    wnn_shader_unroll(shader, "UNROLL",
                      powers ? can->matrix_units != MATRIX_UNITS_EMULATED
                             : can->type != VK_PHYSICAL_DEVICE_TYPE_CPU);
    wnn_shader_number(shader, "ROWS", m->rows);
    wnn_shader_number(shader, "KEYS", a->columns);
    wnn_shader_number(shader, "DEPTH", a->depth);
    wnn_shader_number(shader, "WIDTH", a->width);
    wnn_shader_number(shader, "SPLIT", schedule->split);
    wnn_shader_float(shader, "SCALE", powers ? a->scale * 1.4426950408889634 : a->scale);
    wnn_shader_define(shader, "exp_from(a, b)", "%s(a, b)", half ? "exp_down_half" : "exp_down");
    add_keys(shader, m, schedule);
    add_mask(shader, m, powers);
}

static void add_operands(struct shader *shader, const struct attention_matrices *m)
{
    add_operand(shader, "query", m, QUERY);
    add_operand(shader, "key", m, KEY);
    add_operand(shader, "value", m, VALUE);
}

static const char shuffle_extensions[] = "#extension GL_KHR_shader_subgroup_basic : require\n"
                                         "#extension GL_KHR_shader_subgroup_shuffle : require\n";

// join_ranges(self): joins what the invocations of a work group have added; behind a barrier, read_ranges has
// it. So many lanes join without shared memory, where atomic operations wait for one another. An invocation
// adds every INVOCATIONS-th row from FIRST_RANGE(self) on, of RANGES(rows): one, if all rows have the same
// mask.
void wnn_shader_join_ranges(struct shader *shader, const struct attention_matrices *m, uint32_t lanes)
{
    static const struct {
        const char *name, *join, *atomic, *neutral;
    } ranges[] = {{"first_attended", "min", "atomicMin", "KEYS"},
                  {"end_attended", "max", "atomicMax", "0u"},
                  {"first_zero", "max", "atomicMax", "0u"},
                  {"end_zeros", "min", "atomicMin", "KEYS"},
                  {"holes", "max", "atomicMax", "0u"}};
    const unsigned count = sizeof ranges / sizeof ranges[0];
    const struct attention *a = m->attention;
    bool all_alike = true;
    for (unsigned d = 0; d < m->row_rank; d++)
        all_alike &= m->row_steps[ATTENDED][d] == 0;
    if (!a->has_ranges)
        return;
    if (all_alike) {
        wnn_shader_text(shader, "#define FIRST_RANGE(self) 0u\n#define RANGES(rows) 1u\n"
                                "#define join_ranges(self)\n#define read_ranges\n");
        return;
    }
    wnn_shader_text(shader, "#define FIRST_RANGE(self) self\n#define RANGES(rows) (rows)\n");
    wnn_shader_text(shader, "#define join_ranges(self) {\\\nif (self == 0u) {\\\n");
    for (unsigned i = 0; i < count; i++)
        wnn_shader_text(shader, "ranges[%u] = %s;\\\n", i, ranges[i].neutral);
    wnn_shader_text(shader, "}\\\nbarrier();\\\n");
    for (uint32_t far = 1; far < lanes; far <<= 1)
        for (unsigned i = 0; i < count; i++)
            wnn_shader_text(shader, "%s = %s(%s, subgroupShuffleXor(%s, %uu));\\\n", ranges[i].name,
                            ranges[i].join, ranges[i].name, ranges[i].name, far);
    wnn_shader_text(shader, "if (self %% %uu == 0u) {\\\n", lanes);
    for (unsigned i = 0; i < count; i++)
        wnn_shader_text(shader, "%s(ranges[%u], %s);\\\n", ranges[i].atomic, i, ranges[i].name);
    wnn_shader_text(shader, "}\\\n}\n#define read_ranges");
    for (unsigned i = 0; i < count; i++)
        wnn_shader_text(shader, " %s = ranges[%u];", ranges[i].name, i);
    wnn_shader_text(shader, "\n");
}

static void describe_few(struct shader *shader, const struct attention_matrices *m,
                         const struct attention_schedule *schedule)
{
    // Lanes share weights if there are as many; each has some of one row, or those of whole rows.
    uint32_t lanes = schedule->lanes, rows = power_of_two(m->rows);
    bool joins = shader->lowering->gpu->can.shuffles >= lanes,
         shares = joins && lanes > 1 && rows * schedule->keys_at_once >= lanes;
    shader->local_size = schedule->invocations;
    if (joins)
        shader->extensions = shuffle_extensions;
    wnn_shader_define(shader, "INVOCATIONS", "%uu", schedule->invocations);
    wnn_shader_define(shader, "JOINS", "%d", joins);
    wnn_shader_define(shader, "SHARES", "%d", shares);
    wnn_shader_number(shader, "LANES", lanes);
    wnn_shader_number(shader, "PAIR_ROWS", shares ? rows : m->rows);
    wnn_shader_number(shader, "KEYS_AT_ONCE", schedule->keys_at_once);
    wnn_shader_number(shader, "JOINED", schedule->joined);
    wnn_shader_define(shader, "PARTIAL_ROWS", "%uu", schedule->partial_rows);
    add_operands(shader, m);
}

static void describe_tiles(struct shader *shader, const struct attention_matrices *m,
                           const struct attention_schedule *schedule)
{
    const struct tile *tile = schedule->tile;
    uint32_t joined = joined_of(&shader->lowering->gpu->can, tile->tx);
    shader->local_size = tile->tx * tile->ty;
    if (joined > 1)
        shader->extensions = shuffle_extensions;
    wnn_shader_number(shader, "TX", tile->tx);
    wnn_shader_number(shader, "TY", tile->ty);
    wnn_shader_number(shader, "TM", tile->tm);
    wnn_shader_number(shader, "TN", tile->tn);
    wnn_shader_define(shader, "JOINS", "%d", joined > 1);
    wnn_shader_number(shader, "JOINED", joined);
    wnn_shader_join_ranges(shader, m, joined);
    wnn_shader_define(shader, "KEYS_ALONG", "%d", m->lines[KEY] == 1 && m->columns[KEY] != 1);
    wnn_shader_define(shader, "VALUES_ALONG", "%d", m->lines[VALUE] == 1 && m->columns[VALUE] != 1);
    add_operands(shader, m);
}

// Element i of the result is that of a row of the partial results, which is of a row of the statistics.
static void join_splits(struct lowering *lowering, const struct attention_matrices *m,
                        const struct attention_schedule *schedule)
{
    const struct attention_attrs *attrs = lowering->node->attrs;
    const struct attention *a = m->attention;
    const struct tensor *out = &lowering->out[0];
    size_t rows = (size_t)m->count * m->rows;
    struct tensor partials = partials_in(lowering, m, schedule),
                  statistics = statistics_in(lowering, m, schedule);
    int64_t steps[WNN_MAX_RANK], part_steps[WNN_MAX_RANK] = {0}, row_steps[WNN_MAX_RANK] = {0};
    unsigned kept = 0, row = 0;
    for (unsigned d = 0; d <= a->rank; d++) {
        bool is_row = d == a->rank || (a->key.head[d] == 0 && a->value.head[d] == 0);
        steps[d] = is_row ? m->row_steps[PARTIAL][row++] : m->steps[PARTIAL][kept++];
    }
    steps[a->rank + 1] = 1;
    for (unsigned k = 0; k < out->shape.rank; k++) {
        unsigned d = attrs->outputPermutation.data[k];
        part_steps[k] = steps[d];
        row_steps[k] = d > a->rank ? 0 : steps[d] / a->width;
    }
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "attention_sum", partials.count);
    wnn_shader_map(&shader, "part", out->shape.rank, out->shape.dim, part_steps, 0);
    wnn_shader_map(&shader, "row", out->shape.rank, out->shape.dim, row_steps, 0);
    wnn_shader_number(&shader, "SPLITS", schedule->splits);
    wnn_shader_number(&shader, "SPLIT_ROWS", (uint32_t)rows);
    wnn_shader_number(&shader, "SPLIT_PARTS", (uint32_t)elements_of(m));
    wnn_shader_define(&shader, "ZERO_NAN", "%d", a->zero_nan);
    wnn_shader_define(&shader, "exp_from(a, b)", "%s(a, b)",
                      a->type == WNNDataType_Float16 ? "exp_down_half" : "exp_down");
    wnn_shader_input(&shader, "part", &partials, FORM_VALUE);
    wnn_shader_input(&shader, "statistic", &statistics, FORM_PAIR);
    wnn_shader_output(&shader, out, FORM_VALUE, NULL);
    wnn_shader_end(&shader);
}

void wnn_lower_tiles(struct lowering *lowering, const struct attention *a)
{
    struct attention_matrices m = matrices_of(a);
    struct attention_schedule schedule;
    struct shader shader;
    if (!choose(lowering->gpu, &m, &schedule))
        return;
    // Another dispatch writes words that belong to two work groups.
    struct tensor partials = partials_in(lowering, &m, &schedule);
    schedule.joins_splits = schedule.splits > 1 && !is_odd(&m) && wnn_shader_can_count(lowering) &&
                            wnn_shader_has_quads(lowering, &partials);
    static const struct {
        const char *family;
        void (*describe)(struct shader *shader, const struct attention_matrices *m,
                         const struct attention_schedule *schedule);
    } kernels[] = {[ATTENTION_FEW] = {"attention_few", describe_few},
                   [ATTENTION_TILES] = {"attention", describe_tiles},
                   [ATTENTION_UNITS] = {"attention_units", wnn_describe_attention_units}};
    wnn_shader_begin(&shader, lowering, kernels[schedule.kernel].family, SIZE_MAX);
    describe(&shader, &m, &schedule);
    kernels[schedule.kernel].describe(&shader, &m, &schedule);
    add_results(&shader, &m, &schedule);
    struct grid grid = grid_of(&m, &schedule);
    wnn_shader_end_grid(&shader, grid.x, grid.y, grid.z);
    if (schedule.partial && !schedule.joins_splits)
        join_splits(lowering, &m, &schedule);
}
