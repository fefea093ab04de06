// SPDX-License-Identifier: Apache-2.0
//
// Operators that are told by indices where elements move.

#include "vulkan/ops/operators.h"
#include "vulkan/ops/rotary.h"

static void define_kinds(struct shader *shader, const char *kind)
{
    wnn_shader_text(shader, "#define GATHER 1\n#define ELEMENTS 2\n#define ND 3\n#define KIND %s\n", kind);
}

// Where along the axis an element lies is data; the other positions are those in the indices.
static void describe_elements(struct shader *shader, const struct shape *tensor, const struct shape *indices,
                              uint32_t axis)
{
    int64_t steps[WNN_MAX_RANK];
    wnn_shape_steps(tensor, steps);
    wnn_shader_number(shader, "SIZE", tensor->dim[axis]);
    wnn_shader_number(shader, "STRIDE", (uint32_t)steps[axis]);
    steps[axis] = 0;
    wnn_shader_map(shader, "a", indices->rank, indices->dim, steps, 0);
}

// Rows of indices name slices of the tensor.
static void describe_slices(struct shader *shader, const struct shape *tensor, const struct shape *indices)
{
    uint32_t given = indices->dim[indices->rank - 1], steps[WNN_MAX_RANK], inner = 1;
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(tensor, strides);
    for (unsigned d = 0; d < tensor->rank; d++) {
        steps[d] = (uint32_t)strides[d];
        inner *= d >= given ? tensor->dim[d] : 1;
    }
    wnn_shader_number(shader, "INNER", inner);
    wnn_shader_number(shader, "GIVEN", given);
    wnn_shader_numbers(shader, "IN_SIZE", tensor->dim, tensor->rank);
    wnn_shader_numbers(shader, "STEP", steps, tensor->rank);
}

// Rows of indices name blocks of `inner` elements of the tensor.
static void describe_blocks(struct shader *shader, const struct shape *tensor, const struct shape *indices,
                            uint32_t inner)
{
    uint32_t given = indices->dim[indices->rank - 1], steps[WNN_MAX_RANK];
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(tensor, strides);
    for (unsigned d = 0; d < tensor->rank; d++)
        steps[d] = (uint32_t)(strides[d] / inner);
    wnn_shader_number(shader, "GIVEN", given);
    wnn_shader_numbers(shader, "IN_SIZE", tensor->dim, tensor->rank);
    wnn_shader_numbers(shader, "STEP", steps, tensor->rank);
}

static bool fuses_prologue(const struct node *node, unsigned input)
{
    return input == 0 &&
           wnn_shape_elements(&node->out[0]->type.shape) / 2 <= wnn_shape_elements(&node->in[0]->type.shape);
}

// Bits, whatever they mean, unless something is to be made of them.
static enum form gathered_form(const struct lowering *lowering)
{
    return lowering->fused || lowering->in[0].fused ? FORM_VALUE : FORM_BITS;
}

static void lower_gather(struct lowering *lowering)
{
    const struct tensor *in = &lowering->in[0], *indices = &lowering->in[1], *out = &lowering->out[0];
    uint32_t axis = ((const WNNGatherOptions *)lowering->node->attrs)->axis, inner = 1;
    for (unsigned d = axis + 1; d < in->shape.rank; d++)
        inner *= in->shape.dim[d];
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "gather", out->count);
    define_kinds(&shader, "GATHER");
    wnn_shader_number(&shader, "INNER", inner);
    wnn_shader_number(&shader, "INDICES", (uint32_t)indices->count);
    wnn_shader_number(&shader, "SIZE", in->shape.dim[axis]);
    wnn_shader_input(&shader, "a", in, gathered_form(lowering));
    wnn_shader_input(&shader, "b", indices, FORM_VALUE);
    wnn_shader_output(&shader, out, gathered_form(lowering), lowering->fused);
    wnn_shader_end(&shader);
}

static void lower_gather_elements(struct lowering *lowering)
{
    const struct tensor *in = &lowering->in[0], *indices = &lowering->in[1], *out = &lowering->out[0];
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "gather", out->count);
    define_kinds(&shader, "ELEMENTS");
    describe_elements(&shader, &in->shape, &indices->shape,
                      ((const WNNGatherOptions *)lowering->node->attrs)->axis);
    wnn_shader_input(&shader, "a", in, gathered_form(lowering));
    wnn_shader_input(&shader, "b", indices, FORM_VALUE);
    wnn_shader_output(&shader, out, gathered_form(lowering), lowering->fused);
    wnn_shader_end(&shader);
}

static void lower_gather_nd(struct lowering *lowering)
{
    const struct tensor *in = &lowering->in[0], *indices = &lowering->in[1], *out = &lowering->out[0];
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "gather", out->count);
    define_kinds(&shader, "ND");
    describe_slices(&shader, &in->shape, &indices->shape);
    wnn_shader_input(&shader, "a", in, gathered_form(lowering));
    wnn_shader_input(&shader, "b", indices, FORM_VALUE);
    wnn_shader_output(&shader, out, gathered_form(lowering), lowering->fused);
    wnn_shader_end(&shader);
}

// How the updates of a scatter lie: blocks of `inner` elements, each to a place of its own.
struct updates {
    bool by_element;
    size_t rows, places; // blocks of updates, and of the output
    uint32_t inner;
    uint32_t steps; // by_element: updates along the axis, so many elements apart:
    uint32_t apart;
};

// Up to so many updates look for a later one of their place.
enum {
    FEW_UPDATES = 64
};

static struct updates describe_updates(const struct node *node, bool by_element)
{
    const struct shape *tensor = &node->out[0]->type.shape, *indices = &node->in[1]->type.shape;
    struct updates updates = {.by_element = by_element, .inner = 1, .steps = 1, .apart = 1};
    if (by_element) {
        uint32_t axis = ((const WNNScatterElementsOptions *)node->attrs)->axis;
        updates.rows = wnn_shape_elements(indices);
        updates.steps = indices->dim[axis];
        for (unsigned d = axis + 1; d < indices->rank; d++)
            updates.apart *= indices->dim[d];
    } else {
        uint32_t given = indices->dim[indices->rank - 1];
        for (unsigned d = given; d < tensor->rank; d++)
            updates.inner *= tensor->dim[d];
        updates.rows = wnn_shape_elements(&node->in[2]->type.shape) / (updates.inner ? updates.inner : 1);
    }
    updates.places = wnn_shape_elements(tensor) / (updates.inner ? updates.inner : 1);
    return updates;
}

static bool is_few(const struct updates *updates)
{
    return (updates->by_element ? updates->steps : updates->rows) <= FEW_UPDATES;
}

// Whether updates are written in whole words.
static bool has_words(const struct updates *updates, WNNDataType type)
{
    return (uint64_t)updates->inner * wnn_dtype_bits(type) % 32 == 0;
}

bool wnn_scatter_computes_updates(const struct node *node)
{
    struct updates updates = describe_updates(node, false);
    return is_few(&updates) && has_words(&updates, node->out[0]->type.type);
}

static size_t scatter_scratch(const struct node *node)
{
    struct updates updates = describe_updates(node, node->op == WNN_OP_scatterElements);
    return is_few(&updates) ? 0 : updates.places * sizeof(uint32_t);
}

// One pass over the updates, which is given its own bindings and numbers before its end.
static void begin_pass(struct shader *shader, struct lowering *lowering, const struct updates *updates,
                       const char *pass, size_t units)
{
    const struct tensor *indices = &lowering->in[1], *out = &lowering->out[0];
    wnn_shader_begin(shader, lowering, "scatter", units);
    define_kinds(shader, updates->by_element ? "ELEMENTS" : "ND");
    wnn_shader_text(shader,
                    "#define CLEAR 1\n#define MARK 2\n#define WRITE 3\n#define PASS %s\n#define FEW %d\n",
                    pass, is_few(updates));
    if (updates->by_element)
        describe_elements(shader, &out->shape, &indices->shape,
                          ((const WNNScatterElementsOptions *)lowering->node->attrs)->axis);
    else
        describe_blocks(shader, &out->shape, &indices->shape, updates->inner);
    wnn_shader_number(shader, "UNITS", (uint32_t)units);
    wnn_shader_input(shader, "b", indices, FORM_VALUE);
}

static void end_pass(struct shader *shader, size_t units)
{
    wnn_shader_end_groups(shader, units, shader->local_size);
}

static void lower_marks(struct lowering *lowering, const struct updates *updates, const char *pass,
                        const struct tensor *marks)
{
    struct shader shader;
    begin_pass(&shader, lowering, updates, pass, updates->rows);
    wnn_shader_words(&shader, "marks", &marks->region);
    end_pass(&shader, updates->rows);
}

// word_at(i): word i of the updates.
static void describe_words(struct shader *shader, const struct tensor *from)
{
    if (!from->deferred) {
        wnn_shader_define(shader, "word_at(i)", "w%u(i)", wnn_shader_bind(shader, &from->region, false));
        return;
    }
    wnn_shader_rotated(shader, from->deferred);
    wnn_shader_define(shader, "word_at(i)", "%s",
                      from->type == WNNDataType_Float16
                          ? "stored_halves(vec2(rotated_at(2u * (i)), rotated_at(2u * (i) + 1u)))"
                          : "floatBitsToUint(rotated_at(i))");
}

// The input's elements, unless they are there, and the updates over them: in whole words where these begin
// and end with words.
static void scatter(struct lowering *lowering, bool by_element)
{
    const struct tensor *from = &lowering->in[2], *out = &lowering->out[0];
    struct updates updates = describe_updates(lowering->node, by_element);
    uint32_t bits = wnn_dtype_bits(out->type), block = updates.inner;
    bool words = has_words(&updates, out->type);
    wnn_copy(lowering, &lowering->in[0].region, &out->region);
    if (from->count == 0 || out->count == 0)
        return;
    struct tensor marks = wnn_scratch(lowering, 0, WNNDataType_Uint32, is_few(&updates) ? 0 : updates.places);
    if (!is_few(&updates)) {
        lower_marks(lowering, &updates, "CLEAR", &marks);
        lower_marks(lowering, &updates, "MARK", &marks);
    }
    if (words)
        block = (uint32_t)((uint64_t)updates.inner * bits / 32);
    size_t units = updates.rows * block;
    struct shader shader;
    begin_pass(&shader, lowering, &updates, "WRITE", units);
    wnn_shader_define(&shader, "BITS", "%u", words ? 32 : bits);
    wnn_shader_number(&shader, "BLOCK", block);
    wnn_shader_number(&shader, "ROWS", (uint32_t)updates.rows);
    wnn_shader_number(&shader, "STEPS", updates.steps);
    wnn_shader_number(&shader, "INNER", updates.apart);
    if (!is_few(&updates))
        wnn_shader_words(&shader, "marks", &marks.region);
    if (words) {
        describe_words(&shader, from);
        wnn_shader_define(&shader, "set_word(i, word)", "s%u(i, word)",
                          wnn_shader_bind(&shader, &out->region, true));
    } else {
        wnn_shader_input(&shader, "u", from, FORM_BITS);
        wnn_shader_words(&shader, "out", &out->region);
    }
    end_pass(&shader, units);
}

static void lower_scatter_elements(struct lowering *lowering)
{
    scatter(lowering, true);
}

static void lower_scatter_nd(struct lowering *lowering)
{
    scatter(lowering, false);
}

const struct gpu_operator wnn_gpu_gather = {
    .lower = lower_gather, .fuses_epilogue = true, .fuses_prologue = fuses_prologue};
const struct gpu_operator wnn_gpu_gatherElements = {
    .lower = lower_gather_elements, .fuses_epilogue = true, .fuses_prologue = fuses_prologue};
const struct gpu_operator wnn_gpu_gatherND = {
    .lower = lower_gather_nd, .fuses_epilogue = true, .fuses_prologue = fuses_prologue};
const struct gpu_operator wnn_gpu_scatterElements = {
    .lower = lower_scatter_elements, .scratch = scatter_scratch, .in_place = 1};
const struct gpu_operator wnn_gpu_scatterND = {
    .lower = lower_scatter_nd, .scratch = scatter_scratch, .in_place = 1};
