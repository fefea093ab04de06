// SPDX-License-Identifier: Apache-2.0
//
// Operators that look at all elements along some axes. Sums are kept in two floats, which makes them as good
// as sums in double.

#include "vulkan/ops/reduce.h"

struct groups wnn_groups_along(const struct shape *shape, uint32_t mask)
{
    struct groups groups = {.count = 1, .members = 1};
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(shape, strides);
    for (unsigned d = 0; d < shape->rank; d++) {
        if (mask >> d & 1) {
            groups.inner_dims[groups.inner] = shape->dim[d];
            groups.inner_steps[groups.inner++] = (int64_t)strides[d];
            groups.members *= shape->dim[d];
        } else {
            groups.outer_dims[groups.outer] = shape->dim[d];
            groups.outer_steps[groups.outer++] = (int64_t)strides[d];
            groups.count *= shape->dim[d];
        }
    }
    return groups;
}

struct groups wnn_groups_of(const struct node *node)
{
    return wnn_groups_along(&node->in[0]->type.shape, wnn_node_reduction_axes(node).mask);
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

void wnn_reduce_begin(struct shader *shader, struct lowering *lowering, const struct groups *groups,
                      const struct tensor *in, const struct tensor *out, enum form form,
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
    wnn_shader_input(shader, "a", in, FORM_VALUE);
    wnn_shader_output(shader, out, form, fused);
    wnn_shader_define(shader, "LANES", "%u", lanes);
    wnn_shader_number(shader, "MEMBERS", (uint32_t)groups->members);
}

void wnn_reduce_end(struct shader *shader, const struct groups *groups)
{
    unsigned lanes = choose_lanes(groups), together = shader->local_size / lanes;
    uint64_t units = ((uint64_t)shader->count + shader->per - 1) / shader->per;
    wnn_shader_end_groups(shader, units, together);
}

void wnn_reduce_twice(struct shader *shader, const char *neutral, const char *first_join,
                      const char *prepared, const char *between, const char *second_neutral,
                      const char *mapped, const char *result)
{
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
// Reductions in one pass
// ---------------------------------------------------------------------------------------------------------------

// How a dispatch works.
struct schedule {
    bool columns, words, edges;         // words: loads are of whole words, up to 16 bytes
    unsigned side, rows;                // of a tile; rows: 0, there is none
    unsigned wide, loads_in_flight;     // elements of a load; loads of a lane that are in flight
    unsigned lanes, beside, local_size; // beside: invocations between lanes of a group
    size_t piece;                       // members
};

enum {
    MAX_LANES = 256,
    COLUMN_LANES = 8,
    LOADS = 16, // of a lane, if there are as many
    MAX_LOADS_IN_FLIGHT = 8,
    SIDE_LANES = 4,         // read what lies side by side, however little that is
    MIN_PIECE = 1 << 10,    // members
    LONG_COLUMN = 512,      // has pieces,
    MIN_COLUMN_PIECE = 128, // of so many members
    COLUMN_PIECES = 32,     // if they are no more
    FILLED = 1 << 18,       // invocations that a device has room for, roughly
    LARGE = 1 << 20,        // from so many invocations on, work groups are large: starting one takes time
    MAX_SHARED = 16 * 1024, // that all devices have
    FEW_MEMBERS = 64,       // of columns: results matter, too
    MAX_BESIDE = 32,
    LINE_BYTES = 128,  // that are read at once, at least
    EDGED_VECTORS = 4, // of a row that begins anywhere, at least
    TILED_BYTES = 256, // of the rows of a lane, at most
    TILED_LANES = 128,
    LANE_BYTES = 32, // that a lane should bring to a tile, at least
    MAX_VECTOR = 16, // members of a row that vectors make,
    MAX_HALVES = 64, // or of one of float16 that is cheap to join
};

static unsigned form_bits(WNNDataType type, enum form form)
{
    return form == FORM_QUAD ? 128 : form == FORM_PAIR ? 64 : wnn_dtype_bits(type);
}

bool wnn_are_multiples(unsigned count, const int64_t *steps, unsigned wide, unsigned first)
{
    for (unsigned d = first; d < count; d++)
        if (steps[d] % wide != 0)
            return false;
    return true;
}

size_t wnn_reduction_bytes(const struct reduction *reduction)
{
    return form_bits(reduction->kept_type, reduction->kept_form) / 8;
}

// Rows that lie one behind the other, short and many, are brought to shared memory together, if those of a
// lane, as many as make whole words of the input and of the output, are few bytes.
static void choose_tile(struct schedule *s, const struct groups *groups, unsigned bits, unsigned per,
                        bool dear)
{
    uint32_t sizes[WNN_MAX_RANK];
    int64_t steps[WNN_MAX_RANK];
    size_t row_bits = groups->members * bits;
    unsigned wide = bits < 32 ? 32 / bits : 1, side = per, size = TILED_LANES;
    while (row_bits * side % 32 != 0)
        side *= 2;
    size_t by_vectors = bits == 32 ? 0 : bits == 16 && !dear ? MAX_HALVES : MAX_VECTOR;
    if (s->columns || bits > 32 || (s->words && !s->edges && groups->members > by_vectors) ||
        row_bits * side > 8 * TILED_BYTES || groups->count < FILLED / 16)
        return;
    if (wnn_shader_collapse(groups->inner, groups->inner_dims, groups->inner_steps, sizes, steps) != 1 ||
        steps[0] != 1 ||
        wnn_shader_collapse(groups->outer, groups->outer_dims, groups->outer_steps, sizes, steps) != 1 ||
        steps[0] != (int64_t)groups->members)
        return;
    size_t bytes = (row_bits * side / 32 | 1) * 4; // of a lane, with a gap
    while (size > 32 && size * bytes > MAX_SHARED)
        size /= 2;
    if (size * bytes > MAX_SHARED)
        return;
    unsigned each = 1;
    while (each * bytes < LANE_BYTES && 2 * each * size * bytes <= MAX_SHARED)
        each *= 2;
    *s = (struct schedule){.side = side,
                           .rows = size * side * each,
                           .wide = wide,
                           .loads_in_flight = 1,
                           .lanes = 1,
                           .beside = 1,
                           .local_size = size,
                           .piece = groups->members};
    while (s->loads_in_flight < MAX_LOADS_IN_FLIGHT && s->loads_in_flight * wide < groups->members)
        s->loads_in_flight *= 2;
}

// Invocations beside one another read what lies side by side, and where that is little the lanes of a group
// come next: what they read lies behind it.
static void choose_columns(struct schedule *s, const struct groups *groups, uint32_t side_by_side,
                           unsigned bits)
{
    uint32_t beside = (side_by_side + s->wide - 1) / s->wide;
    size_t units = (groups->count + s->wide - 1) / s->wide;
    s->beside = beside < MAX_BESIDE ? beside : MAX_BESIDE;
    size_t bytes = (size_t)s->beside * s->wide * bits / 8;
    while (2 * s->lanes <= groups->members && 2 * s->beside * s->lanes <= MAX_LANES &&
           (bytes * s->lanes < LINE_BYTES || units * s->lanes < FILLED))
        s->lanes *= 2;
}

// Few invocations process a column, so that even small pieces of it are faster, until there are many.
static size_t most_pieces(const struct groups *groups)
{
    size_t most = groups->members / MIN_PIECE, small = groups->members / MIN_COLUMN_PIECE;
    if (!are_columns(groups) || groups->members < LONG_COLUMN || most >= COLUMN_PIECES)
        return most;
    return small < COLUMN_PIECES ? small : COLUMN_PIECES;
}

// Of a late graph, whose kernels are few: lanes and loads for little and for much.
static void choose_few_classes(struct schedule *s, size_t groups, size_t loads)
{
    unsigned lanes = loads <= 4 * SIDE_LANES ? SIDE_LANES : loads <= LOADS * 64 ? 32 : MAX_LANES;
    s->lanes = !s->columns ? lanes : loads < FEW_MEMBERS || groups >= FILLED ? 1 : COLUMN_LANES;
    s->beside = s->columns ? MAX_BESIDE : 1;
    s->loads_in_flight = !s->columns && lanes == SIDE_LANES ? 4 : MAX_LOADS_IN_FLIGHT;
}

static struct schedule schedule_of(const struct lowering *lowering, const struct groups *groups,
                                   WNNDataType type, const struct reduction *reduction, bool from_kept,
                                   unsigned per, bool aligned, bool pieces, bool can_tile)
{
    const struct gpu *gpu = lowering->gpu;
    bool late = lowering->late;
    enum form form = from_kept ? reduction->kept_form : FORM_VALUE;
    bool blocks = reduction->block && !from_kept;
    uint32_t sizes[WNN_MAX_RANK], outer_sizes[WNN_MAX_RANK];
    int64_t steps[WNN_MAX_RANK], outer_steps[WNN_MAX_RANK];
    unsigned inner =
                 wnn_shader_collapse(groups->inner, groups->inner_dims, groups->inner_steps, sizes, steps),
             outer = wnn_shader_collapse(groups->outer, groups->outer_dims, groups->outer_steps, outer_sizes,
                                         outer_steps),
             bits = form_bits(type, form), wide = bits >= 8 && bits < 128 ? 128 / bits : 1;
    struct schedule s = {.wide = 1, .lanes = 1, .beside = 1, .loads_in_flight = 1, .piece = groups->members};
    s.columns = inner > 0 && steps[0] != 1 && outer > 0 && outer_steps[0] == 1 && outer_sizes[0] > 1;
    if (s.columns) {
        // Less where more would take many registers, or results of a lane would lie far apart.
        bool few = groups->members < FEW_MEMBERS;
        if (bits == 16)
            wide = few || outer_sizes[0] * 2 % LINE_BYTES != 0 ? 4 : 2;
        else if (bits == 8 && per == 1 && few)
            wide = 4;
        while (wide > 1 && (outer_sizes[0] % wide != 0 || !wnn_are_multiples(outer, outer_steps, wide, 1) ||
                            !wnn_are_multiples(inner, steps, wide, 0)))
            wide /= 2;
        s.words = aligned && wide * bits >= 32 && wide >= per && bits <= 64;
    } else {
        s.words = aligned && inner > 0 && steps[0] == 1 && sizes[0] % wide == 0 &&
                  wnn_are_multiples(inner, steps, wide, 1) && wnn_are_multiples(outer, outer_steps, wide, 0);
        s.edges = !s.words && aligned && wide > 1 && inner == 1 && steps[0] == 1 &&
                  groups->members >= EDGED_VECTORS * wide;
        s.words |= s.edges;
    }
    s.wide = s.words ? wide : s.columns ? per : 1;
    size_t units = s.columns ? (groups->count + s.wide - 1) / s.wide : groups->count,
           loads = s.columns ? groups->members : groups->members / s.wide;
    unsigned side_lanes = blocks && reduction->dear && !s.edges ? 1 : SIDE_LANES,
             side_loads = s.edges ? 2 : 2 * SIDE_LANES;
    if (late)
        choose_few_classes(&s, units, loads);
    else if (s.columns)
        choose_columns(&s, groups, outer_sizes[0], bits);
    else
        while (s.lanes < MAX_LANES && (s.lanes * (size_t)LOADS < loads ||
                                       (s.lanes < side_lanes && s.lanes * (size_t)side_loads <= loads) ||
                                       (2 * s.lanes <= loads && units * s.lanes < FILLED / 4)))
            s.lanes *= 2;
    unsigned max_loads =
        s.columns && s.wide > 1 && s.wide * bits == 32 ? 2 * MAX_LOADS_IN_FLIGHT : MAX_LOADS_IN_FLIGHT;
    while (!late && s.loads_in_flight < max_loads && 2 * s.loads_in_flight * s.lanes <= loads)
        s.loads_in_flight *= 2;
    // Lanes of a group, and groups that share a word of the output, are in one work group.
    unsigned together = s.columns ? s.beside : per, least = units * s.lanes >= LARGE && !late ? 256 : 64;
    size_t most = MAX_SHARED / ((s.columns ? s.wide : 1) * wnn_reduction_bytes(reduction));
    most = most < gpu->can.invocations ? most : gpu->can.invocations;
    while (s.lanes > 1 && together * s.lanes > most)
        s.lanes /= 2;
    together *= s.lanes;
    least = least < most ? least : (unsigned)most;
    s.local_size = together < least ? least / together * together : together;
    if (!from_kept && can_tile && !late)
        choose_tile(&s, groups, bits, per, blocks && reduction->dear);
    size_t busy = units * s.lanes, max_pieces = most_pieces(groups);
    if (pieces && busy <= FILLED / 2 && max_pieces > 1) {
        size_t count = FILLED / busy;
        count = count < max_pieces ? count : max_pieces;
        size_t piece = (groups->members + count - 1) / count;
        s.piece = (piece + wide - 1) / wide * wide;
    }
    return s;
}

// A tile, in which the words of lanes lie an odd number apart, in different banks; and the begin of load().
static void define_tile(struct shader *shader, const struct schedule *s, unsigned k, unsigned bits)
{
    const struct lowering *lowering = shader->lowering;
    size_t members = lowering->in[0].count / lowering->out[0].count, unit = s->side * members * bits / 32;
    wnn_shader_define(shader, "SIDE", "%uu", s->side);
    wnn_shader_define(shader, "ROWS", "%uu", s->rows);
    wnn_shader_define(shader, "UNIT", "%zuu", unit);
    wnn_shader_define(shader, "input_word(i)", "w%u(i)", k);
    wnn_shader_number(shader, "LAST_WORD", (uint32_t)((lowering->in[0].region.bytes + 3) / 4 - 1));
    wnn_shader_text(shader,
                    "shared uint tile[%zu];\nvoid load(uint place, out ELEMENT x[WIDE]) {\n"
                    "uvec4 v = uvec4(tile[place]);\n",
                    s->rows / s->side * (unit | 1));
}

// <ELEMENT> x[WIDE] from member k on, or of member k of the groups from `group` on.
static void define_load(struct shader *shader, const struct schedule *s, unsigned k, WNNDataType type)
{
    unsigned bits = wnn_dtype_bits(type), words = s->wide * bits / 32;
    bool is_float = wnn_dtype_is_float(type);
    const char *name = wnn_shader_type(type);
    if (s->rows)
        define_tile(shader, s, k, bits);
    else
        wnn_shader_text(shader, "void load(uint group, uint k, out ELEMENT x[WIDE]) {\n");
    if (!s->rows && !s->words) {
        for (unsigned e = 0; e < s->wide; e++)
            wnn_shader_text(shader,
                            "x[%u] = a_at(group_index(min(group + %uu, GROUPS - 1u)) + member_index(k));\n",
                            e, e);
        wnn_shader_text(shader, "}\n");
        return;
    }
    if (!s->rows)
        wnn_shader_text(
            shader,
            words == 1
                ? "uvec4 v = uvec4(v%u[base%u + (group_index(group) + member_index(k)) / WIDE]);\n"
                : "uvec4 v = v%u[(base%u + (group_index(group) + member_index(k)) / WIDE * %uu) / %uu]%s;\n",
            k, k, words, words, words == 2 ? ".xyxy" : "");
    for (unsigned e = 0; e < s->wide; e++) {
        char word = "xyzw"[e * bits / 32], next = "xyzw"[(e * bits / 32 + 1) % 4];
        unsigned shift = e * bits % 32;
        if (bits == 64)
            wnn_shader_text(shader, "x[%u] = %s(v.%c, v.%c);\n", e, name, word, next);
        else if (bits == 32)
            wnn_shader_text(shader, "x[%u] = %s(v.%c);\n", e, is_float ? "uintBitsToFloat" : name, word);
        else if (is_float)
            wnn_shader_text(shader, "x[%u] = loaded_halves(v.%c).%c;\n", e, word, shift ? 'y' : 'x');
        else
            wnn_shader_text(shader, "x[%u] = bitfieldExtract(%s(v.%c), %u, %u);\n", e, name, word, shift,
                            bits);
    }
    wnn_shader_text(shader, "}\n");
}

// accumulate_block(s, x, k, end) of what LOADS_IN_FLIGHT loads from member k on have brought: element i is
// that member, and no other before it, if is_member().
static void define_block(struct shader *shader, const struct schedule *s, const char *block)
{
    unsigned line = s->columns ? 1 : s->wide;
    wnn_shader_define(shader, "BLOCK", "%uu", s->loads_in_flight * line);
    if (s->rows) {
        wnn_shader_text(
            shader,
            "bool is_member(uint k, uint i, uint end) { return k + i < end; }\n"
            "uint member_of(uint k, uint i, uint end) { return uint(clamp(int(k + i), 0, int(end) - 1)); }\n"
            "bool accumulate_block(inout SUM s, ELEMENT x[BLOCK], uint k, uint end) {\n%s\n}\n",
            block);
        return;
    }
    wnn_shader_text(shader, "bool is_member(uint k, uint i, uint end) { return k + i / %uu * %uu < end; }\n",
                    line, line * s->lanes);
    wnn_shader_text(
        shader,
        "uint member_of(uint k, uint i, uint end) { return min(k + i / %uu * %uu, end - %uu) + i %% %uu; "
        "}\n",
        line, line * s->lanes, line, line);
    wnn_shader_text(
        shader, "bool accumulate_block(inout SUM s, ELEMENT x[BLOCK], uint k, uint end) {\n%s\n}\n", block);
}

// One dispatch: of elements of the input, or of what the dispatch before has kept.
static void lower_pass(struct lowering *lowering, const struct groups *groups, const struct schedule *s,
                       const struct reduction *reduction, const struct tensor *in, bool from_kept,
                       const struct tensor *out, bool to_kept, size_t all_members)
{
    size_t pieces = (groups->members + s->piece - 1) / s->piece;
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "accumulate", groups->count * groups->members);
    shader.local_size = s->local_size;
    wnn_shader_define(&shader, "TILED", "%d", s->rows > 0);
    wnn_shader_define(&shader, "HALF_PAIRS", "%d", out->type == WNNDataType_Float16 && !to_kept);
    wnn_shader_define(&shader, "COLUMNS", "%d", s->columns);
    wnn_shader_define(&shader, "EDGES", "%d", s->edges);
    wnn_shader_define(&shader, "LANES", "%u", s->lanes);
    wnn_shader_define(&shader, "BESIDE", "%uu", s->beside);
    wnn_shader_define(&shader, "SHARED_WORDS", "%d", !s->columns && wnn_dtype_bits(out->type) < 32);
    wnn_shader_define(&shader, "WIDE", "%uu", s->wide);
    wnn_shader_define(&shader, "LOADS_IN_FLIGHT", "%uu", s->loads_in_flight);
    wnn_shader_number(&shader, "MEMBERS", (uint32_t)groups->members);
    wnn_shader_number(&shader, "GROUPS", (uint32_t)groups->count);
    wnn_shader_number(&shader, "CHUNK", (uint32_t)s->piece);
    wnn_shader_number(&shader, "PIECES", (uint32_t)pieces);
    wnn_shader_number(&shader, "ALL_MEMBERS", (uint32_t)all_members);
    wnn_shader_map(&shader, "group", groups->outer, groups->outer_dims, groups->outer_steps, 0);
    wnn_shader_map(&shader, "member", groups->inner, groups->inner_dims, groups->inner_steps, 0);
    unsigned k = wnn_shader_input(&shader, "a", in, from_kept ? reduction->kept_form : FORM_VALUE);
    wnn_shader_define(&shader, "ELEMENT", "%s",
                      from_kept ? reduction->kept_element : wnn_shader_type(in->type));
    if (s->words)
        wnn_shader_text(&shader, "layout(std430, set = 0, binding = %u) readonly buffer V%u { %s v%u[]; };\n",
                        k, k,
                        s->wide * wnn_dtype_bits(in->type) == 128  ? "uvec4"
                        : s->wide * wnn_dtype_bits(in->type) == 64 ? "uvec2"
                                                                   : "uint",
                        k);
    define_load(&shader, s, k, in->type);
    wnn_shader_output(&shader, out, to_kept ? reduction->kept_form : FORM_VALUE,
                      to_kept ? NULL : lowering->fused);
    if (reduction->epsilon)
        wnn_shader_float(&shader, "EPSILON", *reduction->epsilon);
    if (reduction->declarations)
        wnn_shader_text(&shader, "%s", reduction->declarations);
    wnn_shader_define(&shader, "SUM", "%s", reduction->sum);
    wnn_shader_define(&shader, "NEUTRAL", "%s", reduction->neutral);
    wnn_shader_define(&shader, "BLOCKS", "%d", reduction->block && !from_kept);
    wnn_shader_text(&shader, "SUM join(SUM a, SUM b) {\n%s\n}\n", reduction->join);
    if (from_kept)
        wnn_shader_text(&shader, "void accumulate(inout SUM s, ELEMENT x, uint k) { s = join(s, %s); }\n",
                        reduction->back);
    else
        wnn_shader_text(&shader, "void accumulate(inout SUM s, ELEMENT x, uint k) {\n%s\n}\n",
                        reduction->accumulate);
    if (reduction->block && !from_kept)
        define_block(&shader, s, reduction->block);
    wnn_shader_text(&shader, "SUM settled(SUM s) { return %s; }\n", from_kept ? "s" : reduction->settled);
    wnn_shader_text(&shader, "OUT result_of(SUM s) { return %s; }\n",
                    to_kept ? reduction->kept : reduction->result);
    uint64_t together = s->rows ? s->rows : s->local_size / s->lanes,
             units = s->columns ? (groups->count + s->wide - 1) / s->wide * pieces : shader.count;
    wnn_shader_end_groups(&shader, units, together);
}

// What is reduced of the input in pieces is reduced again. `pieces`: it may be.
static struct schedule first_schedule(const struct lowering *lowering, const struct groups *groups,
                                      const struct tensor *in, WNNDataType out,
                                      const struct reduction *reduction, bool pieces, bool can_tile)
{
    unsigned per = wnn_dtype_bits(out) < 32 ? 32 / wnn_dtype_bits(out) : 1;
    bool aligned = !in->fused && in->region.offset % 16 == 0 &&
                   wnn_shader_bindings(lowering->gpu, in->region.bytes) == 1;
    return schedule_of(lowering, groups, in->type, reduction, false, per, aligned, pieces, can_tile);
}

// In one go, or in pieces if there is room for them. What the last dispatch makes are results, or what is
// kept between dispatches: then pieces lie behind it.
static void reduce(struct lowering *lowering, const struct groups *groups, const struct reduction *reduction,
                   const struct reduction *last, const struct tensor *to, bool to_kept)
{
    const struct tensor *in = &lowering->in[0];
    struct schedule s =
        first_schedule(lowering, groups, in, to->type, reduction, true, !to_kept && !in->fused);
    size_t pieces = (groups->members + s.piece - 1) / s.piece,
           bytes = groups->count * wnn_reduction_bytes(reduction);
    if (pieces == 1 || lowering->scratch.bytes / bytes < pieces + to_kept) {
        s.piece = groups->members;
        lower_pass(lowering, groups, &s, last, in, false, to, to_kept, groups->members);
        return;
    }
    struct tensor kept =
        wnn_scratch(lowering, to_kept ? bytes : 0, reduction->kept_type, groups->count * pieces);
    kept.region.bytes = bytes * pieces;
    lower_pass(lowering, groups, &s, reduction, in, false, &kept, true, groups->members);
    struct groups rest = {.outer = 1,
                          .inner = 1,
                          .outer_dims = {(uint32_t)groups->count},
                          .outer_steps = {1},
                          .inner_dims = {(uint32_t)pieces},
                          .inner_steps = {(int64_t)groups->count},
                          .count = groups->count,
                          .members = pieces};
    unsigned per = wnn_dtype_bits(to->type) < 32 ? 32 / wnn_dtype_bits(to->type) : 1;
    s = schedule_of(lowering, &rest, reduction->kept_type, reduction, true, per, false, false, false);
    lower_pass(lowering, &rest, &s, last, &kept, true, to, to_kept, groups->members);
}

void wnn_lower_reduction(struct lowering *lowering, const struct groups *groups,
                         const struct reduction *reduction)
{
    reduce(lowering, groups, reduction, reduction, &lowering->out[0], false);
}

void wnn_lower_kept_reduction(struct lowering *lowering, const struct groups *groups,
                              const struct reduction *reduction, const char *result, const struct tensor *to)
{
    struct reduction last = *reduction;
    last.kept = result;
    reduce(lowering, groups, reduction, &last, to, true);
}

void wnn_lower_partial_reduction(struct lowering *lowering, const struct groups *groups,
                                 const struct reduction *reduction, size_t members, const struct tensor *kept)
{
    struct schedule s =
        first_schedule(lowering, groups, &lowering->in[0], lowering->out[0].type, reduction, false, false);
    s.piece = members;
    lower_pass(lowering, groups, &s, reduction, &lowering->in[0], false, kept, true, groups->members);
}

// Bytes for as many pieces as any device has work for.
size_t wnn_reduction_scratch(const struct groups *groups)
{
    size_t most = most_pieces(groups), pieces = groups->count < FILLED ? FILLED / groups->count : 1;
    pieces = pieces < most ? pieces : most;
    return pieces < 2 ? 0 : groups->count * pieces * 4 * sizeof(float);
}

// ---------------------------------------------------------------------------------------------------------------
// The ten reductions
// ---------------------------------------------------------------------------------------------------------------

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

const char *wnn_shader_extreme(WNNDataType type, bool least)
{
    switch (type) {
    case WNNDataType_Int64:
        return least ? "I64(0u, 0x80000000u)" : "I64(~0u, 0x7FFFFFFFu)";
    case WNNDataType_Uint64:
        return least ? "U64(0u, 0u)" : "U64(~0u, ~0u)";
    case WNNDataType_Uint32:
    case WNNDataType_Uint8:
    case WNNDataType_Uint4:
        return least ? "0u" : "~0u";
    default:
        return least ? "int(0x80000000u)" : "0x7FFFFFFF";
    }
}

// As it is computed with.
static WNNDataType wide_type(WNNDataType type)
{
    return wnn_dtype_is_float(type) || wnn_dtype_bits(type) >= 32
               ? (type == WNNDataType_Float16 ? WNNDataType_Float32 : type)
           : wnn_dtype_is_signed(type) ? WNNDataType_Int32
                                       : WNNDataType_Uint32;
}

// Of numbers of that type, as they are.
static struct reduction plain_reduction(WNNDataType type)
{
    const char *name = wnn_shader_type(type);
    return (struct reduction){.sum = name,
                              .settled = "s",
                              .result = "s",
                              .kept = "s",
                              .back = "x",
                              .kept_type = wide_type(type),
                              .kept_form = FORM_VALUE,
                              .kept_element = name};
}

// Floats in an order that integers have too, in which a NaN wins.
#define EXTREME(better)                                                                                      \
    "float y = x[0], all = 0.0;\n"                                                                           \
    "[[unroll]] for (uint i = 0u; i < BLOCK; i++) { y = " better "(y, x[i]); all += x[i]; }\n"               \
    "if (is_nan(all) || is_inf(all) || y == 0.0) return false;\n"                                            \
    "accumulate(s, y, k);\nreturn true;"

static struct reduction extreme_reduction(WNNDataType type, bool greatest)
{
    bool is_float = wnn_dtype_is_float(type);
    struct reduction reduction = plain_reduction(is_float ? WNNDataType_Int32 : type);
    reduction.neutral = wnn_shader_extreme(is_float ? WNNDataType_Int32 : type, greatest);
    reduction.join = greatest ? "return greatest(a, b);" : "return least(a, b);";
    reduction.accumulate = greatest ? "s = greatest(s, x);" : "s = least(s, x);";
    if (is_float) {
        reduction.neutral = greatest ? "int(0x807FFFFFu)" : "0x7F800000"; // the infinities
        reduction.accumulate = greatest
                                   ? "s = max(s, is_nan(x) ? 0x7FFFFFFF : ranked(floatBitsToInt(x)));"
                                   : "s = min(s, is_nan(x) ? int(0x80000000u) : ranked(floatBitsToInt(x)));";
        reduction.result = "intBitsToFloat(ranked(s))";
        // A zero may be of either sign.
        if (type == WNNDataType_Float16)
            reduction.block = greatest ? EXTREME("max") : EXTREME("min");
    }
    return reduction;
}

// Pairs of floats: while elements are added, the second is what the first has lost, and not a number if the
// first is no longer finite.
#define ADD(value, error)                                                                                    \
    "float lost; precise float v = " value "; s.x = exact_sum(s.x, v, lost);\n"                              \
    "precise float low = s.y + " error "; s.y = low;"
#define SQUARE "float error; " ADD("exact_product(x, x, error)", "(lost + error)")

// Adds the sum of a block, which is a float and what that has lost. A compiler must not look through it.
#define ADD_BLOCK(sum, rest)                                                                                 \
    "precise float all = " sum ", lost; s.x = exact_sum(s.x, all, lost);\n"                                  \
    "precise float low = s.y + (" rest "); s.y = low;\nreturn true;"

// The sum of a block of float16 numbers, which is nearly exact: below 2^22, of which whole numbers come apart
// from the rest. Of those that are not negative, no more is lost than a share of the sum.
#define BLOCK_SUM                                                                                            \
    "precise float whole = 12582912.0, rest = 0.0;\n"                                                        \
    "[[unroll]] for (uint i = 0u; i < BLOCK; i++) {\n"                                                       \
    "float v = is_member(k, i, end) ? x[i] : 0.0;\n"                                                         \
    "precise float next = whole + v, part = next - whole, more = rest + (v - part); whole = next; rest = "   \
    "more;\n}\n"                                                                                             \
    "if (is_nan(rest)) return false;\n" ADD_BLOCK("whole - 12582912.0", "rest + lost")
#define BLOCK_SUM_OF(magnitude)                                                                              \
    "float sum = 0.0;\n"                                                                                     \
    "[[unroll]] for (uint i = 0u; i < BLOCK; i++) { sum += is_member(k, i, end) ? " magnitude " : 0.0; }\n"  \
    "if (is_nan(sum) || is_inf(sum)) return false;\n" ADD_BLOCK("sum", "lost")

// Of floats in pairs; integers are added as they are, which `integers` does with one.
static struct reduction sum_reduction(WNNDataType type, const char *integers)
{
    struct reduction reduction = plain_reduction(type);
    if (!wnn_dtype_is_float(type)) {
        reduction.neutral = integer(type, false);
        reduction.join = "return add(a, b);";
        reduction.accumulate = integers;
        return reduction;
    }
    bool half = type == WNNDataType_Float16;
    return (struct reduction){.sum = "vec2",
                              .neutral = "vec2(0.0)",
                              .join = "return sum2(a, b);",
                              .accumulate = ADD("x", "lost"),
                              .block = half ? BLOCK_SUM : NULL,
                              .settled = half
                                             ? "vec2(s.x, is_nan(s.y) ? 0.0 : s.y)"
                                             : "is_nan(s.y) || is_inf(s.y) ? vec2(s.x, 0.0) : sum2(vec2(s.x, "
                                               "0.0), vec2(s.y, 0.0))",
                              .result = "s.x + s.y",
                              .kept = "s",
                              .back = "x",
                              .kept_type = WNNDataType_Float32,
                              .kept_form = FORM_PAIR,
                              .kept_element = "vec2"};
}

static struct reduction reduceSum_of(WNNDataType type)
{
    return sum_reduction(type, "s = add(s, x);");
}

static struct reduction reduceL1_of(WNNDataType type)
{
    struct reduction reduction = sum_reduction(type, "s = add(s, magnitude(x));");
    if (wnn_dtype_is_float(type))
        reduction.accumulate = ADD("magnitude(x)", "lost");
    if (reduction.block)
        reduction.block = BLOCK_SUM_OF("abs(x[i])");
    return reduction;
}

static struct reduction reduceSumSquare_of(WNNDataType type)
{
    struct reduction reduction = sum_reduction(type, "s = add(s, mul(x, x));");
    if (wnn_dtype_is_float(type))
        reduction.accumulate = SQUARE;
    if (reduction.block)
        reduction.block = BLOCK_SUM_OF("x[i] * x[i]");
    return reduction;
}

// This and the next three are of floats only.
static struct reduction reduceL2_of(WNNDataType type)
{
    struct reduction reduction = reduceSumSquare_of(type);
    reduction.result = "sqrt_of(s.x + s.y)";
    return reduction;
}

static struct reduction reduceLogSum_of(WNNDataType type)
{
    struct reduction reduction = reduceSum_of(type);
    reduction.result = type == WNNDataType_Float16 ? "log_half(s.x + s.y)" : "log_sum2(s)";
    return reduction;
}

static struct reduction reduceMean_of(WNNDataType type)
{
    struct reduction reduction = reduceSum_of(type);
    reduction.result =
        type == WNNDataType_Float16 ? "(s.x + s.y) / float(ALL_MEMBERS)" : "mean2(s, float(ALL_MEMBERS)).x";
    return reduction;
}

#define EXPONENTIALS(exponential)                                                                            \
    "float top = -INF, all = 0.0, sum = 0.0, lost;\n"                                                        \
    "[[unroll]] for (uint i = 0u; i < BLOCK; i++) { top = max(top, x[i]); all += x[i]; }\n"                  \
    "if (is_nan(all) || is_inf(all)) { return false; }\n"                                                    \
    "raise(s, top);\n"                                                                                       \
    "[[unroll]] for (uint i = 0u; i < BLOCK; i++)\n"                                                         \
    "sum += is_member(k, i, end) ? " exponential " : 0.0;\n"                                                 \
    "s.y = exact_sum(s.y, sum, lost); s.z += lost;\nreturn true;"

// A finite number that is nearly the greatest, the sum of exponentials below it as a pair, and +Inf or NaN if
// there is one. Of a block that has neither them nor -Inf, as its sum tells, the greatest is found first.
static struct reduction reduceLogSumExp_of(WNNDataType type)
{
    return (struct reduction){
        // What is less by so much hardly matters, and so do the last bits of the difference.
        .declarations = "void raise(inout vec4 s, float x) {\n"
                        "if (x > s.x + 8.0) {\ns.yz *= exp_normal(max(s.x - x, -86.0));\ns.x = x;\n}\n}\n",
        .sum = "vec4",
        .neutral = "vec4(-INF, 0.0, 0.0, 0.0)",
        .join =
            "if (a.x < b.x) { vec4 c = a; a = b; b = c; }\n"
            "return vec4(a.x, sum2(a.yz, b.yz * exp_down(b.x, a.x)), is_nan(a.w) || b.w == 0.0 ? a.w : b.w);",
        .accumulate = "if (is_nan(x) || x == INF) { s.w = is_nan(s.w) ? s.w : x; return; }\n"
                      "raise(s, x);\n"
                      "float lost; s.y = exact_sum(s.y, exp_down(x, s.x), lost); s.z += lost;",
        .block = type == WNNDataType_Float16 ? EXPONENTIALS("exp2(1.44269504 * (x[i] - s.x))")
                                             : EXPONENTIALS("exp_normal(max(x[i] - s.x, -86.0))"),
        .settled = "vec4(s.x, sum2(vec2(s.y, 0.0), vec2(s.z, 0.0)), s.w)",
        .result = type == WNNDataType_Float16
                      ? "is_nan(s.w) || s.w == INF ? s.w : is_inf(s.x) ? s.x : s.x + log_half(s.y + s.z)"
                      : "is_nan(s.w) || s.w == INF ? s.w : is_inf(s.x) ? s.x : s.x + log_sum2(s.yz)",
        .kept = "s",
        .back = "x",
        .kept_type = WNNDataType_Float32,
        .kept_form = FORM_QUAD,
        .kept_element = "vec4",
        .dear = true};
}

static struct reduction reduceMax_of(WNNDataType type)
{
    return extreme_reduction(type, true);
}

static struct reduction reduceMin_of(WNNDataType type)
{
    return extreme_reduction(type, false);
}

static struct reduction reduceProduct_of(WNNDataType type)
{
    struct reduction reduction = plain_reduction(type);
    reduction.neutral = integer(type, true);
    reduction.join = "return mul(a, b);";
    reduction.accumulate = "s = mul(s, x);";
    // Products of four float16 numbers are within the range of float32.
    if (type == WNNDataType_Float16)
        reduction.block = "[[unroll]] for (uint i = 0u; i < BLOCK; i += 4u) {\nprecise float p = 1.0;\n"
                          "[[unroll]] for (uint j = i; j < i + 4u && j < BLOCK; j++)\n"
                          "p = p * (is_member(k, j, end) ? x[j] : 1.0);\ns = mul(s, p);\n}\nreturn true;";
    return reduction;
}

struct reduction wnn_reduction_of(enum op op, WNNDataType type)
{
    static struct reduction (*const reductions[WNN_OP_COUNT])(WNNDataType type) = {
#define OP(...)
#define OP_REDUCTION(id, ...) [WNN_OP_##id] = id##_of,
#include "ops/ops.def"
    };
    return reductions[op](type);
}

static size_t scratch_bytes(const struct node *node)
{
    struct groups groups = wnn_groups_of(node);
    return wnn_reduction_scratch(&groups);
}

bool wnn_reduction_fuses_prologue(const struct node *node, unsigned input)
{
    (void)node;
    return input == 0;
}

static void lower_reduce(struct lowering *lowering)
{
    struct groups groups = wnn_groups_of(lowering->node);
    struct reduction reduction = wnn_reduction_of((enum op)lowering->node->op, lowering->in[0].type);
    wnn_lower_reduction(lowering, &groups, &reduction);
}

const struct gpu_operator wnn_gpu_reduction = {.lower = lower_reduce,
                                               .scratch = scratch_bytes,
                                               .fuses_epilogue = true,
                                               .fuses_prologue = wnn_reduction_fuses_prologue};
