// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements without looking at them.

#include "vulkan/ops/elements.h"
#include "vulkan/ops/operators.h"

#include <stdio.h>

// ---------------------------------------------------------------------------------------------------------------
// By steps
// ---------------------------------------------------------------------------------------------------------------

enum {
    MIN_SIDE = 16 // of what is worth tiles
};

// By tiles, if elements lie side by side along different dimensions in `from` and `to`. `rank` dimensions, of
// which no two are one, the innermost of `to` first. False: they do not, or words have elements of two lines.
static bool lower_tiles(struct lowering *lowering, const struct tensor *from, const struct tensor *to,
                        unsigned rank, const uint32_t *sizes, const int64_t *steps, int64_t offset)
{
    uint32_t bits = wnn_dtype_bits(to->type), packed = bits < 32 ? 32 / bits : 1, dims[GPU_MAP_RANK];
    int64_t from_steps[GPU_MAP_RANK], to_steps[GPU_MAP_RANK], to_step = (int64_t)to->count, along_step = 0;
    unsigned along = 0, rest = 0;
    for (unsigned d = 1; d < rank; d++)
        along = steps[d] == 1 ? d : along;
    if (to->count == 0 || bits < 8 || along == 0 || steps[0] <= 1 || sizes[0] < MIN_SIDE ||
        sizes[along] < MIN_SIDE)
        return false;
    bool whole = sizes[0] % packed == 0 && offset % packed == 0;
    for (unsigned d = rank; d-- > 0;) {
        to_step /= sizes[d];
        whole = whole && (d == along || steps[d] % packed == 0);
        if (d == along)
            along_step = to_step;
        if (d == 0 || d == along)
            continue;
        dims[rest] = sizes[d];
        from_steps[rest] = steps[d];
        to_steps[rest++] = to_step;
    }
    if (!whole)
        return false;
    // Of bytes, four to a cell, tiles of 128 x 128 are best, but not for images of 64 channels.
    uint32_t wide = 32, tall = 32 * packed;
    if (packed == 4 && (sizes[along] <= 64 || lowering->gpu->can.shared_bytes < 128 * 32 * sizeof(uint32_t)))
        wide = 16;
    else if (packed == 4 && sizes[0] <= 64)
        tall = 64;
    uint64_t tiles_in = (sizes[along] - 1) / (wide * packed) + 1, tiles_out = (sizes[0] - 1) / tall + 1,
             groups = tiles_in * tiles_out * (to->count / sizes[0] / sizes[along]);
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "transpose", to->count);
    shader.local_size = wnn_shader_large_group(lowering->gpu);
    wnn_shader_map(&shader, "from", rest, dims, from_steps, offset);
    wnn_shader_map(&shader, "to", rest, dims, to_steps, 0);
    wnn_shader_define(&shader, "PACKED", "%u", packed);
    wnn_shader_define(&shader, "WIDE", "%uu", wide);
    wnn_shader_define(&shader, "TALL", "%uu", tall);
    wnn_shader_define(&shader, "CELL", bits == 64 ? "uvec2" : "uint");
    wnn_shader_number(&shader, "IN_SIZE", sizes[along]);
    wnn_shader_number(&shader, "OUT_SIZE", sizes[0]);
    wnn_shader_number(&shader, "OUT_STEP", (uint32_t)steps[0]);
    wnn_shader_number(&shader, "IN_STEP", (uint32_t)along_step);
    wnn_shader_number(&shader, "TILES_IN", (uint32_t)tiles_in);
    wnn_shader_number(&shader, "TILES_OUT", (uint32_t)tiles_out);
    wnn_shader_number(&shader, "GROUPS", (uint32_t)groups);
    unsigned a = wnn_shader_bind(&shader, &from->region, false),
             b = wnn_shader_bind(&shader, &to->region, true);
    if (bits == 64)
        wnn_shader_text(&shader,
                        "#define cell_at(i) uvec2(w%u(2u * (i)), w%u(2u * (i) + 1u))\n"
                        "#define set_cell(i, cell) { uvec2 v = cell; uint k = 2u * (i); s%u(k, v.x); s%u(k + "
                        "1u, v.y); }\n",
                        a, a, b, b);
    else
        wnn_shader_text(&shader, "#define cell_at(i) w%u(i)\n#define set_cell(i, x) s%u(i, x)\n", a, b);
    wnn_shader_end_groups(&shader, groups, 1);
    return true;
}

// A few planes of elements smaller than a word, and their lines at the same places. As for tiles.
static bool lower_interleaved(struct lowering *lowering, const struct tensor *from, const struct tensor *to,
                              unsigned rank, const uint32_t *sizes, const int64_t *steps, int64_t offset)
{
    uint32_t bits = wnn_dtype_bits(to->type), packed = bits < 32 ? 32 / bits : 1, dims[GPU_MAP_RANK];
    int64_t from_steps[GPU_MAP_RANK], to_steps[GPU_MAP_RANK], to_step = (int64_t)to->count;
    unsigned along = 0, rest = 0;
    for (unsigned d = 1; d < rank; d++)
        along = steps[d] == 1 ? d : along;
    if (to->count == 0 || bits < 8 || packed == 1 || along == 0 || steps[0] <= 1)
        return false;
    // Lines are of `channels` elements beside one another in one of the tensors.
    bool apart = sizes[0] > sizes[along];
    uint32_t channels = apart ? sizes[along] : sizes[0], length = apart ? sizes[0] : sizes[along];
    if (channels >= MIN_SIDE || length % packed != 0 || offset % packed != 0 ||
        (apart ? steps[0] != channels : along != 1 || steps[0] % packed != 0))
        return false;
    int64_t plane = steps[0];
    for (unsigned d = rank; d-- > 0;) {
        to_step /= sizes[d];
        if (apart && d == along)
            plane = to_step;
        if (d == 0 || d == along)
            continue;
        if (steps[d] % packed != 0)
            return false;
        dims[rest] = sizes[d];
        from_steps[rest] = steps[d];
        to_steps[rest++] = to_step;
    }
    int64_t line = (int64_t)channels * length;
    for (unsigned d = rest; apart && d-- > 0; line *= dims[d])
        if (from_steps[d] != line) // lines of the input are to be one behind the other
            return false;
    if (apart && offset != 0)
        return false;
    uint64_t units = to->count / channels / packed;
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "interleave", to->count);
    shader.local_size = lowering->gpu->can.invocations >= 256 ? 256 : 128;
    wnn_shader_map(&shader, "from", rest, dims, from_steps, offset);
    wnn_shader_map(&shader, "to", rest, dims, to_steps, 0);
    wnn_shader_define(&shader, "PACKED", "%uu", packed);
    wnn_shader_define(&shader, "CHANNELS", "%uu", channels);
    wnn_shader_define(&shader, "APART", "%d", apart);
    wnn_shader_number(&shader, "LINE", length / packed);
    wnn_shader_number(&shader, "PLANE", (uint32_t)(plane / packed));
    wnn_shader_number(&shader, "UNITS", (uint32_t)units);
    wnn_shader_define(&shader, "word_at(i)", "w%u(i)", wnn_shader_bind(&shader, &from->region, false));
    wnn_shader_define(&shader, "set_word(i, word)", "s%u(i, word)",
                      wnn_shader_bind(&shader, &to->region, true));
    wnn_shader_end_groups(&shader, units, shader.local_size);
    return true;
}

void wnn_lower_move(struct lowering *lowering, const struct tensor *from, const struct tensor *to,
                    unsigned rank, const uint32_t *dims, const int64_t *steps, int64_t offset)
{
    uint32_t sizes[GPU_MAP_RANK];
    int64_t strides[GPU_MAP_RANK];
    unsigned count = wnn_shader_collapse(rank, dims, steps, sizes, strides);
    if (lower_tiles(lowering, from, to, count, sizes, strides, offset) ||
        lower_interleaved(lowering, from, to, count, sizes, strides, offset))
        return;
    struct elements elements;
    wnn_elements_begin(&elements, lowering, to->count);
    wnn_elements_map(&elements, "x", from, FORM_BITS, rank, dims, steps, offset);
    wnn_elements_output(&elements, "x", to, FORM_BITS);
    wnn_elements_end(&elements, NULL);
}

static void lower_copy(struct lowering *lowering)
{
    wnn_copy(lowering, &lowering->in[0].region, &lowering->out[0].region);
}

static void lower_expand(struct lowering *lowering)
{
    const struct shape *to = &lowering->out[0].shape;
    size_t strides[WNN_MAX_RANK];
    int64_t steps[WNN_MAX_RANK];
    wnn_shape_broadcast_strides(&lowering->in[0].shape, to, strides);
    for (unsigned d = 0; d < to->rank; d++)
        steps[d] = (int64_t)strides[d];
    wnn_lower_move(lowering, &lowering->in[0], &lowering->out[0], to->rank, to->dim, steps, 0);
}

static void lower_reverse(struct lowering *lowering)
{
    const WNNReverseOptions *options = lowering->node->attrs;
    const struct shape *shape = &lowering->in[0].shape;
    int64_t steps[WNN_MAX_RANK], offset = 0;
    wnn_shape_steps(shape, steps);
    for (size_t i = 0; i < options->axes.count; i++) {
        uint32_t axis = options->axes.data[i];
        offset += steps[axis] * (int64_t)(shape->dim[axis] - 1);
        steps[axis] = -steps[axis];
    }
    wnn_lower_move(lowering, &lowering->in[0], &lowering->out[0], shape->rank, shape->dim, steps, offset);
}

static void lower_slice(struct lowering *lowering)
{
    const struct slice_attrs *attrs = lowering->node->attrs;
    const struct shape *to = &lowering->out[0].shape;
    int64_t steps[WNN_MAX_RANK], offset = 0;
    wnn_shape_steps(&lowering->in[0].shape, steps);
    for (unsigned d = 0; d < to->rank; d++) {
        offset += steps[d] * attrs->starts.data[d];
        steps[d] *= attrs->options.strides.data[d];
    }
    wnn_lower_move(lowering, &lowering->in[0], &lowering->out[0], to->rank, to->dim, steps, offset);
}

static void lower_split(struct lowering *lowering)
{
    const struct split_attrs *attrs = lowering->node->attrs;
    int64_t steps[WNN_MAX_RANK], offset = 0;
    wnn_shape_steps(&lowering->in[0].shape, steps);
    for (unsigned k = 0; k < lowering->node->out_count; k++) {
        const struct tensor *out = &lowering->out[k];
        wnn_lower_move(lowering, &lowering->in[0], out, out->shape.rank, out->shape.dim, steps, offset);
        offset += steps[attrs->options.axis] * out->shape.dim[attrs->options.axis];
    }
}

static void lower_tile(struct lowering *lowering)
{
    const struct shape *from = &lowering->in[0].shape, *to = &lowering->out[0].shape;
    uint32_t dims[2 * WNN_MAX_RANK];
    int64_t strides[WNN_MAX_RANK], steps[2 * WNN_MAX_RANK];
    wnn_shape_steps(from, strides);
    for (unsigned d = 0; d < from->rank; d++) {
        dims[2 * d] = to->dim[d] / from->dim[d];
        dims[2 * d + 1] = from->dim[d];
        steps[2 * d] = 0;
        steps[2 * d + 1] = strides[d];
    }
    wnn_lower_move(lowering, &lowering->in[0], &lowering->out[0], 2 * from->rank, dims, steps, 0);
}

static void lower_transpose(struct lowering *lowering)
{
    const WNNTransposeOptions *options = lowering->node->attrs;
    const struct shape *to = &lowering->out[0].shape;
    int64_t strides[WNN_MAX_RANK], steps[WNN_MAX_RANK];
    wnn_shape_steps(&lowering->in[0].shape, strides);
    for (unsigned d = 0; d < to->rank; d++)
        steps[d] = strides[options->permutation.data[d]];
    wnn_lower_move(lowering, &lowering->in[0], &lowering->out[0], to->rank, to->dim, steps, 0);
}

static void lower_triangular(struct lowering *lowering)
{
    const WNNTriangularOptions *options = lowering->node->attrs;
    const struct tensor *out = &lowering->out[0];
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "triangular", out->count);
    wnn_shader_input(&shader, "a", &lowering->in[0], FORM_BITS);
    wnn_shader_output(&shader, out, FORM_BITS, NULL);
    wnn_shader_divisor(&shader, "ROWS", out->shape.dim[out->shape.rank - 2]);
    wnn_shader_divisor(&shader, "COLUMNS", out->shape.dim[out->shape.rank - 1]);
    wnn_shader_number(&shader, "UPPER", options->upper);
    wnn_shader_number(&shader, "DIAGONAL", (uint32_t)options->diagonal);
    wnn_shader_end(&shader);
}

// ---------------------------------------------------------------------------------------------------------------
// pad
// ---------------------------------------------------------------------------------------------------------------

static void lower_pad(struct lowering *lowering)
{
    const struct pad_attrs *attrs = lowering->node->attrs;
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    static const char *const modes[] = {[WNNPaddingMode_Constant] = "CONSTANT",
                                        [WNNPaddingMode_Edge] = "EDGE",
                                        [WNNPaddingMode_Reflection] = "REFLECTION",
                                        [WNNPaddingMode_Symmetric] = "SYMMETRIC"};
    uint32_t steps[WNN_MAX_RANK];
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(&in->shape, strides);
    for (unsigned d = 0; d < in->shape.rank; d++)
        steps[d] = (uint32_t)strides[d];
    // The constant as bits, which is how elements are moved.
    unsigned char bytes[8] = {0};
    wnn_number_store(attrs->options.value, out->type, bytes, 0);
    uint32_t low = 0, high = 0;
    for (unsigned i = 4; i-- > 0;) {
        low = low << 8 | bytes[i];
        high = high << 8 | bytes[4 + i];
    }
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "pad", out->count);
    wnn_shader_text(&shader,
                    "#define CONSTANT 1\n#define EDGE 2\n#define REFLECTION 3\n#define SYMMETRIC 4\n");
    wnn_shader_define(&shader, "MODE", "%s", modes[attrs->options.mode]);
    wnn_shader_number(&shader, "RANK", in->shape.rank);
    wnn_shader_numbers(&shader, "OUT_SIZE", out->shape.dim, out->shape.rank);
    wnn_shader_numbers(&shader, "IN_SIZE", in->shape.dim, in->shape.rank);
    wnn_shader_numbers(&shader, "BEGIN", attrs->beginningPadding.data, in->shape.rank);
    wnn_shader_numbers(&shader, "STEP", steps, in->shape.rank);
    wnn_shader_number(&shader, "FILL_LOW", low);
    wnn_shader_number(&shader, "FILL_HIGH", high);
    wnn_shader_define(&shader, "FILL", "%s",
                      wnn_dtype_bits(out->type) == 64 ? "uvec2(FILL_LOW, FILL_HIGH)" : "FILL_LOW");
    wnn_shader_input(&shader, "a", in, FORM_BITS);
    wnn_shader_output(&shader, out, FORM_BITS, NULL);
    wnn_shader_end(&shader);
}

// ---------------------------------------------------------------------------------------------------------------
// concat: a few tensors at a time, through scratch memory if they are many
// ---------------------------------------------------------------------------------------------------------------

enum {
    MAX_JOINED = GPU_MIN_BUFFERS - 2
};

static void join(struct lowering *lowering, const struct tensor *parts, unsigned count, unsigned axis,
                 const struct tensor *out)
{
    struct shader shader;
    uint32_t inner = 1, whole = 0;
    for (unsigned d = axis + 1; d < parts[0].shape.rank; d++)
        inner *= parts[0].shape.dim[d];
    for (unsigned k = 0; k < count; k++)
        whole += parts[k].shape.dim[axis];
    wnn_shader_begin(&shader, lowering, "concat", out->count);
    wnn_shader_number(&shader, "INNER", inner);
    wnn_shader_number(&shader, "WHOLE", whole);
    wnn_shader_define(&shader, "PARTS", "%u", count);
    for (unsigned k = 0; k < count; k++) {
        char name[16];
        snprintf(name, sizeof name, "SIZE_%u", k);
        wnn_shader_number(&shader, name, parts[k].shape.dim[axis]);
        snprintf(name, sizeof name, "a%u", k);
        wnn_shader_input(&shader, name, &parts[k], FORM_BITS);
    }
    wnn_shader_output(&shader, out, FORM_BITS, NULL);
    wnn_shader_end(&shader);
}

// Two halves of scratch memory, each for what a round makes: not more than the output and what alignment
// takes.
static size_t half_of_concat(const struct node *node)
{
    return wnn_aligned(wnn_descriptor_bytes(&node->out[0]->type)) +
           (size_t)node->in_count * 2 * WNN_ALIGNMENT;
}

static size_t concat_scratch(const struct node *node)
{
    return node->in_count <= MAX_JOINED ? 0 : 2 * half_of_concat(node);
}

// Where parts lie in the output already (compiler/plan_memory.c), the others are copied there. False: none
// does.
static bool complete(struct lowering *lowering)
{
    const struct region *whole = &lowering->out[0].region;
    bool any = false;
    for (unsigned copy = 0; copy < 2; copy++) {
        struct region region = *whole;
        for (unsigned k = 0; k < lowering->node->in_count; k++) {
            struct tensor to = lowering->in[k];
            region.bytes = to.region.bytes;
            bool there = to.region.buffer == region.buffer && to.region.offset == region.offset;
            any |= there;
            to.region = region;
            if (copy && !there)
                wnn_lower_convert(lowering, &lowering->in[k], &to);
            region.offset += region.bytes;
        }
        if (!any)
            return false;
    }
    return true;
}

static void lower_concat(struct lowering *lowering)
{
    if (complete(lowering))
        return;
    const struct node *node = lowering->node;
    unsigned axis = ((const struct concat_attrs *)node->attrs)->axis, count = node->in_count;
    struct tensor *parts = wnn_arena_copy(&lowering->program->records, lowering->in, count * sizeof *parts);
    if (!parts) {
        lowering->failed = !wnn_fail_memory(lowering->error);
        return;
    }
    for (size_t half = 0; count > MAX_JOINED; half = half ? 0 : half_of_concat(node)) {
        unsigned made = 0;
        size_t at = half;
        for (unsigned first = 0, some; first < count; first += some) {
            some = count - first < MAX_JOINED ? count - first : MAX_JOINED;
            struct shape shape = parts[first].shape;
            for (unsigned k = 1; k < some; k++)
                shape.dim[axis] += parts[first + k].shape.dim[axis];
            struct tensor joined = wnn_scratch(lowering, at, parts[first].type, wnn_shape_elements(&shape));
            joined.shape = shape;
            joined.region.bytes = wnn_dtype_bytes(joined.type, joined.count);
            at = wnn_aligned(at + joined.region.bytes);
            join(lowering, parts + first, some, axis, &joined);
            parts[made++] = joined;
        }
        count = made;
    }
    join(lowering, parts, count, axis, &lowering->out[0]);
}

const struct gpu_operator wnn_gpu_concat = {.lower = lower_concat, .scratch = concat_scratch};
const struct gpu_operator wnn_gpu_identity = {.lower = lower_copy, .in_place = 1};
const struct gpu_operator wnn_gpu_reshape = {.lower = lower_copy, .in_place = 1};
const struct gpu_operator wnn_gpu_expand = {.lower = lower_expand};
const struct gpu_operator wnn_gpu_reverse = {.lower = lower_reverse};
const struct gpu_operator wnn_gpu_slice = {.lower = lower_slice};
const struct gpu_operator wnn_gpu_split = {.lower = lower_split};
const struct gpu_operator wnn_gpu_tile = {.lower = lower_tile};
const struct gpu_operator wnn_gpu_transpose = {.lower = lower_transpose};
const struct gpu_operator wnn_gpu_triangular = {.lower = lower_triangular};
const struct gpu_operator wnn_gpu_pad = {.lower = lower_pad};
