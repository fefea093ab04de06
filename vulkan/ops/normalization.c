// SPDX-License-Identifier: Apache-2.0
//
// softmax and normalizations: in one dispatch where what belongs together lies together, else in two: what is
// to be known of each group of elements, and then each element.

#include "vulkan/ops/normalization.h"

#include "vulkan/ops/elements.h"
#include "vulkan/ops/reduce.h"

#include <stdio.h>

// ---------------------------------------------------------------------------------------------------------------
// Rows
// ---------------------------------------------------------------------------------------------------------------

enum {
    FEWEST_MEMBERS = 2, // of a row
    GOOD_LANES = 128,   // of a row: rather than have more, they are given
    MAX_HELD = 16,      // vectors each, which stay in registers
    WIDE_LANES = 256,   // of a row, or twice as many, if registers hold halves
    MAX_LANES = 1024,   // where there are few rows
    FEW_GROUPS = 256,   // work groups that do not fill a device
    EDGE_LANES = 8,     // of a row that begins anywhere, at least
    NEAR_LANES = 4,     // of others: what they read at once is whole sectors of memory
    PART_LANES = 128,   // of a part of a row,
    PART_QUADS = 1536,  // and its vectors
    CHUNK_QUADS = 32,   // parts end at multiples of
    WAITING_PARTS = 64, // of a row, which a device has at once
    TURNS = 256,        // of waiting for another part, each about a microsecond
    PART_WORDS = 3
};

// Of how many vectors rows of a late graph are, whose kernels are few: for the first of these lanes that have
// as many with so many each.
static const struct row_class {
    unsigned lanes, held;
} row_classes[] = {{8, 4}, {64, 4}, {128, MAX_HELD}, {256, MAX_HELD}};
enum {
    ROW_CLASSES = sizeof row_classes / sizeof row_classes[0]
};

// NULL: rows are too long.
static const struct row_class *find_class(const struct gpu *gpu, size_t members)
{
    for (unsigned i = 0; i < ROW_CLASSES; i++)
        if (row_classes[i].lanes <= gpu->can.invocations &&
            members / 4 <= (size_t)row_classes[i].lanes * row_classes[i].held)
            return &row_classes[i];
    return NULL;
}

// Whether the groups are rows that the kernel for these can do.
static bool are_rows(const struct lowering *lowering, const struct groups *groups, const struct tensor *in,
                     const struct tensor *out, bool fixed)
{
    uint32_t sizes[WNN_MAX_RANK];
    int64_t steps[WNN_MAX_RANK];
    unsigned inner =
        wnn_shader_collapse(groups->inner, groups->inner_dims, groups->inner_steps, sizes, steps);
    if (inner != 1 || steps[0] != 1 || groups->members < FEWEST_MEMBERS || in->count < 4)
        return false;
    if (lowering->late && !fixed && !find_class(lowering->gpu, groups->members))
        return false;
    unsigned outer =
        wnn_shader_collapse(groups->outer, groups->outer_dims, groups->outer_steps, sizes, steps);
    if (outer > 1 || (outer == 1 && steps[0] != (int64_t)groups->members))
        return false;
    return wnn_shader_has_quads(lowering, in) && wnn_shader_has_quads(lowering, out) &&
           in->count <= INT32_MAX - 64;
}

// How rows are done; the stages are those of shaders/rows.comp.
struct rows {
    const struct groups *groups;
    bool fixed; // members are the same for all sizes of a late graph
    const struct tensor *in, *out;
    bool edges;         // rows begin anywhere
    size_t full, chunk; // whole vectors that a row has at least, and a part at most
    size_t parts;
    unsigned lanes;
    bool packed;         // halves stay halves in registers
    struct tensor known; // words, if there are several parts
    enum {
        ALONE,
        KEEP,
        FINISH,
        TOGETHER
    } stage;
};

static bool overlap(const struct region *a, const struct region *b)
{
    return a->buffer == b->buffer && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

// Whether work groups may read elements of others, which have perhaps written their results already.
static bool reads_results(const struct tensor *in, const struct tensor *out)
{
    bool reads = overlap(&in->region, &out->region);
    for (unsigned i = 0; in->fused && i < in->fused->input_count; i++)
        reads = reads || overlap(&in->fused->inputs[i].region, &out->region);
    return reads;
}

// Parts of about as many vectors, the last of which has some in every row.
static void cut_rows(struct rows *rows, size_t quads)
{
    size_t parts = (quads + PART_QUADS - 1) / PART_QUADS;
    rows->chunk = (quads - 1) / parts;
    do {
        rows->chunk = (rows->chunk / CHUNK_QUADS + 1) * CHUNK_QUADS;
        rows->parts = (rows->full + rows->chunk - 1) / rows->chunk;
    } while (rows->parts * rows->chunk < quads);
}

// `busy`: vectors of a lane, of a few lanes; `halves`: those that stay in registers if they are of halves.
static struct rows plan_rows(const struct lowering *lowering, const struct groups *groups,
                             const struct tensor *in, const struct tensor *out, bool fixed, size_t busy,
                             size_t halves)
{
    struct rows rows = {
        .groups = groups, .in = in, .out = out, .fixed = fixed || !lowering->late, .parts = 1};
    uint32_t most = lowering->gpu->can.invocations;
    most = most < MAX_LANES ? most : MAX_LANES;
    size_t quads = rows.chunk = groups->members / 4, wide = most < WIDE_LANES ? most : WIDE_LANES;
    rows.edges = groups->members % 4 != 0 || !rows.fixed;
    size_t edge = rows.edges ? 3 : 0; // elements, at most, that are in no whole vector
    rows.full = groups->members > edge ? (groups->members - edge) / 4 : 0;
    rows.lanes = rows.edges ? EDGE_LANES : NEAR_LANES;
    if (!rows.fixed) {
        rows.lanes = find_class(lowering->gpu, groups->members)->lanes;
        return rows;
    }
    rows.packed = in->type == WNNDataType_Float16 && !in->fused && quads > wide * MAX_HELD;
    if (rows.edges && in->type == WNNDataType_Float16)
        busy *= 2;
    if (rows.packed && 2 * wide <= most)
        wide *= 2;
    if (quads > wide * (rows.packed ? halves : MAX_HELD)) {
        cut_rows(&rows, quads);
        rows.lanes = PART_LANES;
        rows.known = wnn_scratch(lowering, 0, WNNDataType_Uint32, groups->count * rows.parts * PART_WORDS);
        bool waits = rows.parts <= WAITING_PARTS && !lowering->gpu->can.minimal && !reads_results(in, out);
        rows.stage = waits ? TOGETHER : KEEP;
        return rows;
    }
    while ((2 * rows.lanes <= wide && rows.lanes * (rows.lanes < GOOD_LANES ? busy : MAX_HELD) < quads) ||
           (2 * rows.lanes <= most && rows.lanes < quads && !lowering->late &&
            groups->count * rows.lanes < 64 * FEW_GROUPS))
        rows.lanes *= 2;
    return rows;
}

// Of so many lanes that exchange sums, those that sum up the others'.
static unsigned near_lanes(unsigned lanes)
{
    unsigned near = lanes < 8 ? lanes : 4;
    while (lanes > 8 && near * near < lanes)
        near *= 2;
    return lanes == 8 ? 8 : near;
}

// EACH_HELD(DO): DO(0) to DO(held - 1); TWO_HELD(DO): the same, two at a time if IN_TURN.
static void define_held(struct shader *shader, size_t held)
{
    wnn_shader_define(shader, "HELD", "%zu", held);
    wnn_shader_text(shader, "#define EACH_HELD(DO)");
    for (size_t k = 0; k < held; k++)
        wnn_shader_text(shader, " DO(%zu)", k);
    wnn_shader_text(shader, "\n#define TWO_HELD(DO)");
    for (size_t k = 0; k < held; k++)
        wnn_shader_text(shader, "%s DO(%zu)%s", k % 2 ? "" : " IN_TURN {", k,
                        k % 2 || k + 1 == held ? " }" : "");
    wnn_shader_text(shader, "\n");
}

// Begins a dispatch of the kernel for rows.
static void begin_rows(struct shader *shader, struct lowering *lowering, const struct rows *rows,
                       const struct fused *fused)
{
    const struct groups *groups = rows->groups;
    const struct tensor *in = rows->in, *out = rows->out;
    unsigned lanes = rows->lanes, shuffles = lowering->gpu->can.shuffles;
    bool pairs = in->type == WNNDataType_Float16 && !in->fused && out->type == WNNDataType_Float16;
    wnn_shader_begin(shader, lowering, "rows", in->count);
    bool few = lowering->late || groups->count * lanes < 128 * FEW_GROUPS;
    shader->local_size = lanes >= 128 ? lanes : few ? 64 : 128;
    if (shuffles)
        shader->extensions = "#extension GL_KHR_shader_subgroup_basic : require\n"
                             "#extension GL_KHR_shader_subgroup_shuffle : require\n";
    unsigned k = wnn_shader_input(shader, "a", in, FORM_VALUE);
    wnn_shader_quads(shader, "a", in);
    if (pairs)
        wnn_shader_define(shader, "a_pair(i)", "loaded_halves(w%u((i) / 2u))", k);
    if (rows->packed)
        wnn_shader_define(shader, "a_halves(i)", "q%u[(base%u + (i) / 2u) / 2u]", k, k);
    wnn_shader_output_quads(shader, out);
    wnn_shader_output(shader, out, FORM_VALUE, fused);
    if (rows->parts > 1)
        wnn_shader_words(shader, "known", &rows->known.region);
    wnn_shader_define(shader, "EDGES", "%d", rows->edges);
    wnn_shader_define(shader, "PAIRS", "%d", pairs);
    wnn_shader_define(shader, "PACKED", "%d", rows->packed);
    wnn_shader_define(shader, "LANES", "%u", lanes);
    wnn_shader_define(shader, "SHUFFLES", "%u", shuffles);
    wnn_shader_define(shader, "NEAR", "%u", near_lanes(lanes));
    define_held(shader, rows->fixed ? (rows->chunk + lanes - 1) / lanes
                                    : find_class(lowering->gpu, groups->members)->held);
    wnn_shader_define(shader, "PARTS", "%zu", rows->parts);
    wnn_shader_define(shader, "STAGE", "%d", rows->stage);
    wnn_shader_define(shader, "TURNS", "%uu", TURNS);
    wnn_shader_number_if(shader, "CHUNK", (uint32_t)rows->chunk, rows->fixed);
    wnn_shader_number_if(shader, "LEAST", (uint32_t)(rows->full - (rows->parts - 1) * rows->chunk),
                         rows->fixed);
    wnn_shader_number_if(shader, "MEMBERS", (uint32_t)groups->members, rows->fixed);
    wnn_shader_number(shader, "GROUPS", (uint32_t)groups->count);
}

static void end_rows(struct shader *shader, const struct rows *rows)
{
    struct lowering *lowering = shader->lowering;
    if (rows->stage == TOGETHER)
        wnn_fill(lowering, &rows->known.region);
    wnn_shader_end_groups(shader, (uint64_t)rows->groups->count * rows->parts,
                          shader->local_size / rows->lanes);
}

// ---------------------------------------------------------------------------------------------------------------
// Short rows
// ---------------------------------------------------------------------------------------------------------------

// How they are done: `held` sets of so many rows by each work group.
struct sets {
    unsigned lanes, rows, held;
};

enum {
    SHORT_MEMBERS = 64,
    SHORT_ODD_MEMBERS = 100, // of an odd number of vectors, which few lanes share badly
    SET_LANES = 48,          // at least
    SET_HELD = 4             // twice as many of float16, if rows begin with vectors
};

// How good so many lanes are: few of a subgroup are idle, and few wait for one another.
static int rate_lanes(unsigned lanes)
{
    return (int)(lanes * 1024 / ((lanes + 31) / 32 * 32)) - (int)lanes;
}

// Sets are of rows that begin and end with vectors.
static bool are_short_rows(const struct lowering *lowering, const struct groups *groups,
                           const struct tensor *in, bool fixed, struct sets *sets)
{
    size_t members = groups->members, together = members % 4 == 0 ? 1 : members % 2 == 0 ? 2 : 4;
    if (lowering->late && !fixed)
        return false;
    if (members > (members % 8 == 4 ? SHORT_ODD_MEMBERS : SHORT_MEMBERS))
        return false;
    unsigned step = (unsigned)(members * together / 4);
    sets->lanes = step;
    for (unsigned lanes = step; lanes <= lowering->gpu->can.invocations; lanes += step)
        if (sets->lanes < SET_LANES || rate_lanes(lanes) > rate_lanes(sets->lanes))
            sets->lanes = lanes;
    sets->rows = sets->lanes * 4 / (unsigned)members;
    sets->held = in->type == WNNDataType_Float16 && together == 1 ? 2 * SET_HELD : SET_HELD;
    size_t row_bytes = ((members + 3) / 4 + 1) * 2 * sizeof(float) + 4 * sizeof(float); // of shared memory
    while (sets->held > 1 && (lowering->late || (sets->rows * sets->held + 32) * row_bytes > GPU_MIN_SHARED ||
                              groups->count < (size_t)sets->rows * sets->held * 2 * FEW_GROUPS))
        sets->held /= 2;
    return true;
}

static void begin_short_rows(struct shader *shader, struct lowering *lowering, const struct groups *groups,
                             const struct sets *sets, const struct tensor *in, const struct tensor *out,
                             const struct fused *fused)
{
    wnn_shader_begin(shader, lowering, "short_rows", in->count);
    shader->local_size = sets->lanes;
    wnn_shader_input(shader, "a", in, FORM_VALUE);
    wnn_shader_quads(shader, "a", in);
    wnn_shader_output_quads(shader, out);
    wnn_shader_output(shader, out, FORM_VALUE, fused);
    wnn_shader_define(shader, "EDGES", "%d", groups->members % 4 != 0);
    wnn_shader_define(shader, "TAIL", "%d", in->count % 4 != 0 || (shader->late && groups->members % 4 != 0));
    wnn_shader_define(shader, "MEMBERS", "%zu", groups->members);
    wnn_shader_define(shader, "SET_ROWS", "%u", sets->rows);
    wnn_shader_define(shader, "HALF", "%d", in->type == WNNDataType_Float16);
    define_held(shader, sets->held);
    wnn_shader_number(shader, "GROUPS", (uint32_t)groups->count);
}

static void end_short_rows(struct shader *shader, const struct groups *groups, const struct sets *sets)
{
    wnn_shader_end_groups(shader, groups->count, sets->rows * sets->held);
}

// ---------------------------------------------------------------------------------------------------------------
// Columns
// ---------------------------------------------------------------------------------------------------------------

struct columns {
    uint32_t stride; // from member to member
    unsigned lanes;
    size_t held; // members of a lane
};

enum {
    COLUMN_LANES = 32,
    COLUMN_HELD = 8
};

// Whether the groups are such that the kernel for columns can do it, and how.
static bool are_columns(const struct lowering *lowering, const struct groups *groups, const struct tensor *in,
                        const struct tensor *out, bool fixed, struct columns *columns)
{
    uint32_t sizes[WNN_MAX_RANK], least = lowering->gpu->can.invocations / 4;
    int64_t steps[WNN_MAX_RANK];
    unsigned inner =
        wnn_shader_collapse(groups->inner, groups->inner_dims, groups->inner_steps, sizes, steps);
    if (inner != 1 || steps[0] % 4 != 0 || groups->members > (size_t)2 * COLUMN_HELD * COLUMN_LANES)
        return false;
    columns->stride = (uint32_t)steps[0];
    unsigned outer =
        wnn_shader_collapse(groups->outer, groups->outer_dims, groups->outer_steps, sizes, steps);
    if (outer == 0 || steps[0] != 1 || sizes[0] % 4 != 0)
        return false;
    for (unsigned d = 1; d < outer; d++)
        if (steps[d] % 4 != 0)
            return false;
    // Of a late graph there is a kernel for few members, one for more, and one for many.
    size_t members = groups->members;
    if (lowering->late && !fixed)
        members = members <= COLUMN_HELD       ? COLUMN_HELD
                  : members <= COLUMN_HELD * 8 ? COLUMN_HELD * 8
                                               : (size_t)2 * COLUMN_HELD * COLUMN_LANES;
    columns->lanes = 1;
    while (columns->lanes < COLUMN_LANES && columns->lanes < least &&
           (columns->lanes * COLUMN_HELD < members || (2 * columns->lanes <= members && !lowering->late &&
                                                       groups->count / 4 * columns->lanes < 64 * FEW_GROUPS)))
        columns->lanes *= 2;
    columns->held = (members + columns->lanes - 1) / columns->lanes;
    return wnn_shader_has_quads(lowering, in) && wnn_shader_has_quads(lowering, out) &&
           in->count <= INT32_MAX - 64;
}

static void begin_columns(struct shader *shader, struct lowering *lowering, const struct groups *groups,
                          const struct columns *columns, const struct tensor *in, const struct tensor *out,
                          const struct fused *fused)
{
    wnn_shader_begin(shader, lowering, "columns", in->count);
    shader->local_size = columns->lanes < 8 || lowering->gpu->can.invocations < 256 ? 128 : 256;
    wnn_shader_input(shader, "a", in, FORM_VALUE);
    wnn_shader_quads(shader, "a", in);
    wnn_shader_output_quads(shader, out);
    wnn_shader_output(shader, out, FORM_VALUE, fused);
    wnn_shader_map(shader, "group", groups->outer, groups->outer_dims, groups->outer_steps, 0);
    wnn_shader_define(shader, "LANES", "%u", columns->lanes);
    define_held(shader, columns->held);
    wnn_shader_number(shader, "STRIDE", columns->stride);
    wnn_shader_number(shader, "MEMBERS", (uint32_t)groups->members);
    wnn_shader_number(shader, "GROUPS", (uint32_t)groups->count);
}

static void end_columns(struct shader *shader, const struct groups *groups, const struct columns *columns)
{
    wnn_shader_end_groups(shader, groups->count, 4 * shader->local_size / columns->lanes);
}

// ---------------------------------------------------------------------------------------------------------------
// softmax: for each group its greatest element and the sum of exponentials, then each element
// ---------------------------------------------------------------------------------------------------------------

// What is known of groups, or of the parts of rows.
static size_t scratch_of_groups(size_t count, size_t members, unsigned width)
{
    size_t words = (members / 2048 + 1) * PART_WORDS;
    return count * (words > width ? words : width) * sizeof(float);
}

// An input with an element for each group of the output's elements.
static void add_groups(struct elements *elements, const struct tensor *tensor, enum form form,
                       const struct shape *shape, uint32_t axes)
{
    int64_t steps[WNN_MAX_RANK], step = 1;
    for (unsigned d = shape->rank; d-- > 0;) {
        bool listed = axes >> d & 1;
        steps[d] = listed ? 0 : step;
        step *= listed ? 1 : shape->dim[d];
    }
    wnn_elements_map(elements, "s", tensor, form, shape->rank, shape->dim, steps, 0);
}

static struct tensor vectors(const struct lowering *lowering, size_t groups, unsigned width)
{
    struct tensor tensor = wnn_scratch(lowering, 0, WNNDataType_Float32, groups);
    tensor.region.bytes = groups * width * sizeof(float);
    return tensor;
}

// x times scale plus mask, of element i.
static void define_prepared(struct shader *shader, const struct softmax_input *input,
                            const struct shape *shape)
{
    if (!input) {
        wnn_shader_text(shader, "#define prepared(x, i) (x)\n");
        return;
    }
    wnn_shader_float(shader, "INPUT_SCALE", input->scale);
    if (input->mask) {
        wnn_shader_broadcast(shader, "mask", &input->mask->shape, shape);
        wnn_shader_input(shader, "mask", input->mask, FORM_VALUE);
    }
    wnn_shader_text(shader, "float prepared(float x, uint i) { return x * INPUT_SCALE%s; }\n",
                    input->mask ? " + mask_at(mask_index(i))" : "");
}

// The same, in place.
static void prepare(struct lowering *lowering, const struct tensor *tensor, const struct softmax_input *input)
{
    struct elements elements;
    wnn_elements_begin(&elements, lowering, tensor->count);
    define_prepared(&elements.shader, input, &tensor->shape);
    wnn_elements_same(&elements, "x", tensor, FORM_VALUE);
    wnn_elements_output(&elements, "prepared(x, i)", tensor, FORM_VALUE);
    wnn_elements_end(&elements, NULL);
}

// zero_nan(x): a result of softmax.
static void define_zeros(struct shader *shader, const struct softmax_input *input)
{
    wnn_shader_text(shader, "float zero_nan(float x) { return %s; }\n",
                    input && input->zero_nan ? "is_nan(x) ? 0.0 : x" : "x");
}

static void define_softmax(struct shader *shader, const struct tensor *in, const struct softmax_input *input)
{
    if (input && input->zero_nan) {
        define_zeros(shader, input);
        wnn_shader_text(shader,
                        "#undef finish\n#undef finish_quad\n#define finish(x, i) zero_nan(x)\n"
                        "vec4 finish_quad(vec4 x, uint i)\n{\n"
                        "return vec4(zero_nan(x.x), zero_nan(x.y), zero_nan(x.z), zero_nan(x.w));\n}\n");
    }
    wnn_shader_define(shader, "SOFTMAX", "1");
    wnn_shader_define(shader, "weight(x, top)", "%s(x, top)",
                      in->type == WNNDataType_Float16 ? "exp_down_half" : "exp_down");
    define_prepared(shader, input, &in->shape);
}

// `input` NULL: of the elements as they are; else in place.
static void softmax(struct lowering *lowering, uint32_t axis, const struct tensor *in,
                    const struct tensor *out, const struct softmax_input *input, const struct fused *fused)
{
    struct groups groups = wnn_groups_along(&in->shape, 1u << axis);
    struct tensor known = vectors(lowering, groups.count, 2);
    struct shader shader;
    struct sets sets;
    bool in_rows = are_rows(lowering, &groups, in, out, false);
    if (in_rows && are_short_rows(lowering, &groups, in, false, &sets)) {
        begin_short_rows(&shader, lowering, &groups, &sets, in, out, fused);
        define_softmax(&shader, in, input);
        end_short_rows(&shader, &groups, &sets);
        return;
    }
    if (in_rows) {
        struct rows rows = plan_rows(lowering, &groups, in, out, false, 4, 25);
        do {
            begin_rows(&shader, lowering, &rows, fused);
            define_softmax(&shader, in, input);
            end_rows(&shader, &rows);
        } while (rows.stage++ == KEEP);
        return;
    }
    struct columns columns;
    if (are_columns(lowering, &groups, in, out, false, &columns)) {
        begin_columns(&shader, lowering, &groups, &columns, in, out, fused);
        define_softmax(&shader, in, input);
        end_columns(&shader, &groups, &columns);
        return;
    }
    if (input) {
        prepare(lowering, in, input);
        in = out;
    }
    wnn_reduce_begin(&shader, lowering, &groups, in, &known, FORM_PAIR, NULL);
    wnn_reduce_twice(&shader, "vec2(-INF, 0.0)", "vec2(greatest(a.x, b.x), 0.0)", "vec2(x, 0.0)", "s",
                     "vec2(0.0)", "vec2(exp_below(x, known.x), 0.0)", "vec2(known.x, s.x + s.y)");
    wnn_reduce_end(&shader, &groups);

    struct elements elements;
    wnn_elements_begin(&elements, lowering, out->count);
    wnn_elements_same(&elements, "x", in, FORM_VALUE);
    add_groups(&elements, &known, FORM_PAIR, &in->shape, 1u << axis);
    define_zeros(&elements.shader, input);
    wnn_elements_output(&elements, "zero_nan(quotient(exp_below(x, s.x), s.y))", out, FORM_VALUE);
    wnn_elements_end(&elements, fused);
}

static size_t softmax_scratch(const struct node *node)
{
    const struct groups groups = wnn_groups_of(node);
    return scratch_of_groups(groups.count, groups.members, 2);
}

static void lower_softmax(struct lowering *lowering)
{
    const struct softmax_attrs *attrs = lowering->node->attrs;
    softmax(lowering, attrs->axis, &lowering->in[0], &lowering->out[0], NULL, lowering->fused);
}

size_t wnn_scratch_of_softmax_of(size_t rows, size_t members)
{
    return scratch_of_groups(rows, members, 2);
}

void wnn_lower_softmax_of(struct lowering *lowering, const struct tensor *tensor,
                          const struct softmax_input *input)
{
    softmax(lowering, tensor->shape.rank - 1, tensor, tensor, input, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// Normalizations: mean and 1 / sqrt(variance + epsilon) of each group, then each element; CENTERED, or else
// the mean is taken for 0
// ---------------------------------------------------------------------------------------------------------------

// Where the parameters of normalizations lie, and what else their kernels are told.
struct normalization {
    double epsilon;
    size_t members;
    bool fixed;      // and these are the same for all sizes of a late graph
    bool of_members; // there is a parameter for each member, else one for some groups
    unsigned outer;
    uint32_t outer_dims[WNN_MAX_RANK];
    int64_t outer_steps[WNN_MAX_RANK];
};

// <name>_words(i, whole): the words of four elements from element i on, or of as many as there are.
static void define_words(struct shader *shader, const char *name, const struct tensor *tensor, unsigned k)
{
    bool half = tensor->type == WNNDataType_Float16;
    unsigned count = half ? 2 : 4;
    wnn_shader_text(shader, "uvec%u %s_words(uint i, bool whole)\n{\nif (whole)\n", count, name);
    if (half)
        wnn_shader_text(shader, "return q%u[(base%u + i / 2u) / 2u];\n", k, k);
    else
        wnn_shader_text(shader, "return floatBitsToUint(q%u[(base%u + i) / 4u]);\n", k, k);
    wnn_shader_text(shader, "i = i * %uu / 4u;\nreturn uvec%u(", count, count);
    for (unsigned e = 0; e < count; e++)
        wnn_shader_text(shader, "%sw%u(min(i + %uu, %zuu))", e ? ", " : "", k, e,
                        (tensor->count * count - 1) / 4);
    wnn_shader_text(shader, ");\n}\n");
}

// <function>(r, k, j): the four elements of a parameter that a kernel needs at once; <function>_OF(r, i): of
// element i.
static void define_parameter(struct shader *shader, const char *function, const char *name,
                             const struct tensor *tensor, const struct normalization *how, bool in_rows,
                             const char *none)
{
    char four[32], one[32];
    snprintf(four, sizeof four, "%s(r, k, j)", function);
    snprintf(one, sizeof one, "%s_OF(r, i)", function);
    if (!tensor->region.buffer) {
        wnn_shader_define(shader, four, "vec4(%s)", none);
        wnn_shader_define(shader, one, "%s", none);
        return;
    }
    unsigned k = wnn_shader_input(shader, name, tensor, FORM_VALUE);
    bool quads = in_rows && how->of_members && wnn_shader_has_quads(shader->lowering, tensor);
    wnn_shader_define(shader, one, "%s(%s_at, r, i)", how->of_members ? "OF_MEMBER" : "OF_GROUP", name);
    if (quads && tensor->count % 4 == 0) {
        wnn_shader_quads(shader, name, tensor);
        wnn_shader_define(shader, four, "OF_QUADS(%s_quad, r, k, j)", name);
    } else if (quads && !tensor->fused && (!shader->late || how->fixed)) {
        wnn_shader_quads(shader, name, tensor);
        define_words(shader, name, tensor, k);
        wnn_shader_define(shader, four, "OF_WORDS(%s_words, r, k, j)", name);
    } else {
        wnn_shader_define(shader, four, "%s(%s_at, r, k, j)", how->of_members ? "OF_MEMBERS" : "OF_GROUPS",
                          name);
    }
}

static bool is_centered(const struct node *node)
{
    return node->op != WNN_OP_rmsNormalization;
}

// Input 1 or 2, if the operator has it.
static const struct tensor *parameter_of(const struct lowering *lowering, unsigned input)
{
    static const struct tensor none;
    return input < lowering->node->in_count ? &lowering->in[input] : &none;
}

static bool is_constant_parameter(const struct lowering *lowering, unsigned input)
{
    return parameter_of(lowering, input)->region.buffer && lowering->node->in[input]->constant;
}

static void define_normalization(struct shader *shader, const struct normalization *how, bool in_rows)
{
    const struct lowering *lowering = shader->lowering;
    wnn_shader_define(shader, "SOFTMAX", "0");
    wnn_shader_define(shader, "CENTERED", "%d", is_centered(shader->lowering->node));
    wnn_shader_define(shader, "BY_MEMBER", "%d", how->of_members);
    wnn_shader_define(shader, "prepared(x, i)", "(x)");
    wnn_shader_map(shader, "parameter", how->outer, how->outer_dims, how->outer_steps, 0);
    wnn_shader_float(shader, "EPSILON", how->epsilon);
    wnn_shader_share(shader, "SHARE", how->members);
    define_parameter(shader, "SCALE", "scale", parameter_of(lowering, 1), how, in_rows, "1.0");
    define_parameter(shader, "BIAS", "bias", parameter_of(lowering, 2), how, in_rows, "-0.0");
    wnn_shader_define(shader, "NORMALIZED", "%s",
                      lowering->in->type == WNNDataType_Float16 ? "normalized_half" : "normalized");
}

static bool normalize_at_once(struct lowering *lowering, const struct groups *groups, uint32_t axes,
                              double epsilon, const int64_t parameter_steps[WNN_MAX_RANK])
{
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    const struct shape *shape = &in->shape;
    struct normalization how = {.epsilon = epsilon, .members = groups->members, .of_members = true};
    bool of_groups = true;
    int64_t step = 1;
    for (unsigned d = shape->rank; d-- > 0;)
        if (axes >> d & 1) {
            how.of_members = how.of_members && (shape->dim[d] == 1 || parameter_steps[d] == step);
            of_groups = of_groups && parameter_steps[d] == 0;
            step *= shape->dim[d];
        }
    for (unsigned d = 0; d < shape->rank; d++)
        if (!(axes >> d & 1)) {
            how.of_members = how.of_members && parameter_steps[d] == 0;
            how.outer_dims[how.outer] = shape->dim[d];
            how.outer_steps[how.outer++] = parameter_steps[d];
        }
    bool has_any = parameter_of(lowering, 1)->region.buffer || parameter_of(lowering, 2)->region.buffer;
    if (has_any && !how.of_members && !of_groups)
        return false;
    struct shader shader;
    struct columns columns;
    struct sets sets;
    // Constant parameters of members are for as many.
    bool fixed = how.fixed =
        how.of_members && (is_constant_parameter(lowering, 1) || is_constant_parameter(lowering, 2));
    bool in_rows = are_rows(lowering, groups, in, out, fixed);
    if (in_rows && are_short_rows(lowering, groups, in, fixed, &sets)) {
        begin_short_rows(&shader, lowering, groups, &sets, in, out, lowering->fused);
        define_normalization(&shader, &how, groups->members % 4 == 0);
        end_short_rows(&shader, groups, &sets);
        return true;
    }
    if (in_rows) {
        struct rows rows = plan_rows(lowering, groups, in, out, fixed, 8, 16);
        do {
            begin_rows(&shader, lowering, &rows, lowering->fused);
            define_normalization(&shader, &how, true);
            end_rows(&shader, &rows);
        } while (rows.stage++ == KEEP);
        return true;
    }
    if (!are_columns(lowering, groups, in, out, fixed, &columns))
        return false;
    begin_columns(&shader, lowering, groups, &columns, in, out, lowering->fused);
    define_normalization(&shader, &how, false);
    end_columns(&shader, groups, &columns);
    return true;
}

// The sum of elements as a pair, the sum of the squares of what they differ from their mean, and how many
// they are. known: the mean and 1 / sqrt(variance + epsilon), or that of the mean of squares, as pairs.
static struct reduction moments_of(const double *epsilon)
{
    return (struct reduction){
        .declarations =
            "vec2 mean_of(vec4 s)\n{\nfloat error;\nprecise float mean = s.x / s.w;\n"
            "float product = exact_product(mean, s.w, error);\n"
            "precise float rest = (((s.x - product) - error) + s.y) / s.w;\nreturn vec2(mean, rest);\n}\n"
            "vec4 merged(vec4 a, vec4 b)\n{\nif (a.w == 0.0 || b.w == 0.0) return a.w == 0.0 ? b : a;\n"
            "vec2 one = mean_of(a), other = mean_of(b);\nfloat n = a.w + b.w;\n"
            "precise float apart = (other.x - one.x) + (other.y - one.y);\n"
            "precise float squares = (a.z + b.z) + apart * apart * (a.w * (b.w / n));\n"
            "return vec4(sum2(a.xy, b.xy), squares, n);\n}\n"
            "#define known(s) \\\n"
            "vec4(mean2((s).xy, (s).w), inverse_root(vec2((s).z / (s).w + EPSILON, 0.0)))\n"
            "#define known_of_squares(s) vec4(0.0, 0.0, inverse_root(vec2(mean_of_squares(s) + EPSILON, "
            "0.0)))\n"
            "float mean_of_squares(vec4 s) { float mean = mean_of(s).x; return s.z / s.w + mean * mean; }\n",
        .sum = "vec4",
        .neutral = "vec4(0.0)",
        .join = "return merged(a, b);",
        .accumulate = "s = merged(s, vec4(x, 0.0, 0.0, 1.0));",
        .block = "float n = 0.0, sum = 0.0, error;\nprecise float low = 0.0, rest = 0.0, squares = 0.0;\n"
                 "[[unroll]] for (uint i = 0u; i < BLOCK; i++)\n"
                 "if (is_member(k, i, end)) { n += 1.0; sum = exact_sum(sum, x[i], error); low += error; }\n"
                 "precise float mean = sum / n;\n"
                 "[[unroll]] for (uint i = 0u; i < BLOCK; i++) {\n"
                 "precise float apart = is_member(k, i, end) ? x[i] - mean : 0.0, square = apart * apart;\n"
                 "rest += apart; squares += square;\n}\n"
                 "precise float left = abs(squares - rest * (rest / n));\n"
                 "s = merged(s, vec4(sum, is_nan(low) ? 0.0 : low, left, n));\nreturn true;",
        .settled = "s",
        .result = "s.x",
        .kept = "s",
        .back = "x",
        .kept_type = WNNDataType_Float32,
        .kept_form = FORM_QUAD,
        .kept_element = "vec4",
        .epsilon = epsilon,
        .dear = true};
}

static void normalize(struct lowering *lowering)
{
    const struct reduction_axes axes = wnn_node_reduction_axes(lowering->node);
    int64_t parameter_steps[WNN_MAX_RANK];
    for (unsigned d = 0; d < WNN_MAX_RANK; d++)
        parameter_steps[d] = (int64_t)axes.parameter[d];
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    struct groups groups = wnn_groups_of(lowering->node);
    struct tensor known = vectors(lowering, groups.count, 4);
    if (normalize_at_once(lowering, &groups, axes.mask, axes.epsilon, parameter_steps))
        return;
    const struct reduction moments = moments_of(&axes.epsilon);
    wnn_lower_kept_reduction(lowering, &groups, &moments,
                             is_centered(lowering->node) ? "known(s)" : "known_of_squares(s)", &known);

    struct elements elements;
    wnn_elements_begin(&elements, lowering, out->count);
    wnn_elements_same(&elements, "x", in, FORM_VALUE);
    add_groups(&elements, &known, FORM_QUAD, &in->shape, axes.mask);
    const struct tensor *parameters[] = {parameter_of(lowering, 1), parameter_of(lowering, 2)};
    static const char *const names[] = {"scale", "bias"}, *const absent[] = {"1.0", "-0.0"};
    for (unsigned i = 0; i < 2; i++) {
        if (parameters[i]->region.buffer)
            wnn_elements_map(&elements, names[i], parameters[i], FORM_VALUE, in->shape.rank, in->shape.dim,
                             parameter_steps, 0);
        else
            wnn_elements_do(&elements, "float %s = %s;", names[i], absent[i]);
    }
    wnn_elements_output(&elements, "normalized(x, s, scale, bias)", out, FORM_VALUE);
    wnn_elements_end(&elements, lowering->fused);
}

static size_t normalization_scratch(const struct node *node)
{
    const struct groups groups = wnn_groups_of(node);
    size_t rows = scratch_of_groups(groups.count, groups.members, 4),
           pieces = groups.count * 4 * sizeof(float) + wnn_reduction_scratch(&groups);
    return rows > pieces ? rows : pieces;
}

const struct gpu_operator wnn_gpu_instanceNormalization = {.lower = normalize,
                                                           .scratch = normalization_scratch,
                                                           .in_place = 1,
                                                           .fuses_epilogue = true,
                                                           .fuses_prologue = wnn_reduction_fuses_prologue};
const struct gpu_operator wnn_gpu_layerNormalization = {.lower = normalize,
                                                        .scratch = normalization_scratch,
                                                        .in_place = 1,
                                                        .fuses_epilogue = true,
                                                        .fuses_prologue = wnn_reduction_fuses_prologue};
const struct gpu_operator wnn_gpu_rmsNormalization = {.lower = normalize,
                                                      .scratch = normalization_scratch,
                                                      .in_place = 1,
                                                      .fuses_epilogue = true,
                                                      .fuses_prologue = wnn_reduction_fuses_prologue};
const struct gpu_operator wnn_gpu_softmax = {.lower = lower_softmax,
                                             .scratch = softmax_scratch,
                                             .in_place = 1,
                                             .fuses_epilogue = true,
                                             .fuses_prologue = wnn_reduction_fuses_prologue};
