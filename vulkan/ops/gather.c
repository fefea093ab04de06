// SPDX-License-Identifier: Apache-2.0
//
// Operators that are told by indices where elements move.

#include "vulkan/ops/elements.h"
#include "vulkan/ops/operators.h"

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

static size_t scatter_scratch(const struct node *node)
{
    return wnn_shape_elements(&node->out[0]->type.shape) * sizeof(uint32_t);
}

// A mark for each element of the output: 1 plus the number of the last update that goes there. Then each
// element is taken from where its mark says, so that updates of one element cannot race.
static void scatter(struct lowering *lowering, bool by_element)
{
    const struct tensor *in = &lowering->in[0], *indices = &lowering->in[1], *updates = &lowering->in[2],
                        *out = &lowering->out[0];
    struct tensor marks = wnn_scratch(lowering, 0, WNNDataType_Uint32, out->count);
    wnn_fill(lowering, &marks.region);

    struct shader shader;
    wnn_shader_begin(&shader, lowering, "scatter_mark", updates->count);
    define_kinds(&shader, by_element ? "ELEMENTS" : "ND");
    if (by_element)
        describe_elements(&shader, &out->shape, &indices->shape,
                          ((const WNNScatterElementsOptions *)lowering->node->attrs)->axis);
    else
        describe_slices(&shader, &out->shape, &indices->shape);
    wnn_shader_number(&shader, "UPDATES", (uint32_t)updates->count);
    wnn_shader_input(&shader, "b", indices, FORM_VALUE);
    wnn_shader_words(&shader, "marks", &marks.region);
    wnn_shader_end_groups(&shader, ((uint64_t)updates->count + 63) / 64);

    struct elements elements;
    wnn_elements_begin(&elements, lowering, out->count);
    wnn_shader_input(&elements.shader, "u", updates, FORM_BITS);
    wnn_elements_same(&elements, "a", in, FORM_BITS);
    wnn_elements_same(&elements, "m", &marks, FORM_VALUE);
    wnn_elements_do(&elements, "if (m != 0u) { a = u_at(m - 1u); }");
    wnn_elements_output(&elements, "a", out, FORM_BITS);
    wnn_elements_end(&elements, NULL);
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
