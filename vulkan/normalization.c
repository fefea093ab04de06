// SPDX-License-Identifier: Apache-2.0
//
// softmax and normalisations: in one dispatch where what belongs together lies together, else in two: what is
// to be known of each group of elements, and then each element.

#include "vulkan/normalization.h"

#include "vulkan/elements.h"
#include "vulkan/reduce.h"

#include <stdio.h>

// ---------------------------------------------------------------------------------------------------------------
// Rows
// ---------------------------------------------------------------------------------------------------------------

enum {
    FEWEST_MEMBERS = 8, // of a row
    GOOD_LANES = 256,   // of a row: of more, a device has too few groups at once
    MOST_LANES = 1024,
    MOST_HELD = 16,  // quads of a lane that stay in registers
    FEW_GROUPS = 256 // work groups that do not fill a device
};

// Whether the groups are rows that the kernel for these can do.
static bool are_rows(const struct lowering *lowering, const struct groups *groups, const struct tensor *in,
                     const struct tensor *out)
{
    uint32_t sizes[WNN_MAX_RANK];
    int64_t steps[WNN_MAX_RANK];
    unsigned inner =
        wnn_shader_collapse(groups->inner, groups->inner_dims, groups->inner_steps, sizes, steps);
    if (inner != 1 || steps[0] != 1 || groups->members < FEWEST_MEMBERS)
        return false;
    unsigned outer =
        wnn_shader_collapse(groups->outer, groups->outer_dims, groups->outer_steps, sizes, steps);
    if (outer > 1 || (outer == 1 && steps[0] != (int64_t)groups->members))
        return false;
    return wnn_shader_has_quads(lowering, in) && wnn_shader_has_quads(lowering, out) &&
           in->count <= INT32_MAX - 64;
}

// Begins a dispatch of the kernel for rows; returns how many invocations share one: so many that each has
// `busy` quads, or less if that would leave the device idle.
static unsigned begin_rows(struct shader *shader, struct lowering *lowering, const struct groups *groups,
                           const struct tensor *in, const struct tensor *out, size_t busy,
                           const struct fused *fused)
{
    bool edges = groups->members % 4 != 0;
    size_t quads = edges ? (groups->members + 6) / 4 : groups->members / 4;
    uint32_t most = lowering->gpu->can.invocations;
    unsigned lanes = 1;
    most = most < MOST_LANES ? most : MOST_LANES;
    while (2 * lanes <= most && (lanes * (lanes < GOOD_LANES ? busy : MOST_HELD) < quads ||
                                 (lanes < quads && groups->count * lanes < 64 * FEW_GROUPS)))
        lanes *= 2;
    // The largest groups leave each lane fewer registers.
    size_t held = (quads + lanes - 1) / lanes, room = lanes > 512 ? MOST_HELD / 2 : MOST_HELD;
    bool more = held > room;
    wnn_shader_begin(shader, lowering, "rows", in->count);
    shader->local_size = lanes >= 128 ? lanes : groups->count * lanes < 128 * FEW_GROUPS ? 64 : 128;
    wnn_shader_input(shader, "a", in, FORM_VALUE);
    wnn_shader_quads(shader, "a", in);
    wnn_shader_output_quads(shader, out);
    wnn_shader_output(shader, out, FORM_VALUE, fused);
    wnn_shader_define(shader, "LANES", "%u", lanes);
    wnn_shader_define(shader, "HELD", "%zu", more ? room : held);
    wnn_shader_define(shader, "MORE", "%d", more);
    wnn_shader_define(shader, "WHOLE", "%d", !edges && quads == lanes * held);
    wnn_shader_define(shader, "HALF", "%d", in->type == WNNDataType_Float16);
    wnn_shader_define(shader, "EDGES", "%d", edges);
    wnn_shader_number(shader, "MEMBERS", (uint32_t)groups->members);
    wnn_shader_number(shader, "GROUPS", (uint32_t)groups->count);
    return lanes;
}

static void end_rows(struct shader *shader, const struct groups *groups, unsigned lanes)
{
    unsigned together = shader->local_size / lanes;
    wnn_shader_end_groups(shader, ((uint64_t)groups->count + together - 1) / together);
}

// ---------------------------------------------------------------------------------------------------------------
// softmax: for each group its greatest element and the sum of exponentials, then each element
// ---------------------------------------------------------------------------------------------------------------

static size_t group_count(const struct shape *shape, uint32_t axes)
{
    size_t count = 1;
    for (unsigned d = 0; d < shape->rank; d++)
        count *= axes >> d & 1 ? 1 : shape->dim[d];
    return count;
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

// `input` NULL: of the elements as they are; else in place.
static void softmax(struct lowering *lowering, uint32_t axis, const struct tensor *in,
                    const struct tensor *out, const struct softmax_input *input, const struct fused *fused)
{
    struct groups groups = wnn_groups_along(&in->shape, &axis, 1);
    struct tensor known = vectors(lowering, groups.count, 2);
    struct shader shader;
    if (are_rows(lowering, &groups, in, out)) {
        unsigned lanes = begin_rows(&shader, lowering, &groups, in, out, 4, fused);
        wnn_shader_text(&shader, "#define SOFTMAX 1\n#define PART float\n#define NONE -INF\n");
        define_prepared(&shader, input, &in->shape);
        end_rows(&shader, &groups, lanes);
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
    wnn_elements_output(&elements, "quotient(exp_below(x, s.x), s.y)", out, FORM_VALUE);
    wnn_elements_end(&elements, fused);
}

size_t wnn_scratch_of_softmax(const struct node *node)
{
    const struct softmax_attrs *attrs = node->attrs;
    return group_count(&node->in[0]->type.shape, 1u << attrs->axis) * 2 * sizeof(float);
}

void wnn_lower_softmax(struct lowering *lowering)
{
    const struct softmax_attrs *attrs = lowering->node->attrs;
    softmax(lowering, attrs->axis, &lowering->in[0], &lowering->out[0], NULL, lowering->fused);
}

size_t wnn_scratch_of_last_softmax(const struct descriptor *type)
{
    unsigned rank = type->shape.rank;
    return group_count(&type->shape, rank ? 1u << (rank - 1) : 0) * 2 * sizeof(float);
}

void wnn_lower_last_softmax(struct lowering *lowering, const struct tensor *tensor)
{
    softmax(lowering, tensor->shape.rank - 1, tensor, tensor, NULL, NULL);
}

void wnn_lower_softmax_of(struct lowering *lowering, const struct tensor *tensor,
                          const struct softmax_input *input)
{
    softmax(lowering, tensor->shape.rank - 1, tensor, tensor, input, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// Normalisations: mean and 1 / sqrt(variance + epsilon) of each group, then each element
// ---------------------------------------------------------------------------------------------------------------

// The four elements of a parameter, of which there is one for each member or for some rows.
static const char *parameter_of(struct shader *shader, const char *name, const struct tensor *tensor,
                                bool of_members, const char *none, char text[64])
{
    if (!tensor->region.buffer) {
        snprintf(text, 64, "vec4(%s)", none);
        return text;
    }
    wnn_shader_input(shader, name, tensor, FORM_VALUE);
    if (of_members && tensor->count % 4 == 0 && wnn_shader_has_quads(shader->lowering, tensor)) {
        wnn_shader_quads(shader, name, tensor);
        snprintf(text, 64, "OF_QUADS(%s_quad, r, j)", name);
    } else {
        snprintf(text, 64, of_members ? "OF_MEMBERS(%s_at, r, j)" : "OF_ROW(%s_at, r)", name);
    }
    return text;
}

static bool normalize_rows(struct lowering *lowering, const struct groups *groups, uint32_t axes,
                           double epsilon, const int64_t parameter_steps[WNN_MAX_RANK])
{
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    const struct shape *shape = &in->shape;
    uint32_t outer_dims[WNN_MAX_RANK];
    int64_t outer_steps[WNN_MAX_RANK], step = 1;
    unsigned outer = 0;
    bool of_members = true, of_rows = true;
    if (!are_rows(lowering, groups, in, out))
        return false;
    for (unsigned d = shape->rank; d-- > 0;)
        if (axes >> d & 1) {
            of_members = of_members && (shape->dim[d] == 1 || parameter_steps[d] == step);
            of_rows = of_rows && parameter_steps[d] == 0;
            step *= shape->dim[d];
        }
    for (unsigned d = 0; d < shape->rank; d++)
        if (!(axes >> d & 1)) {
            of_members = of_members && parameter_steps[d] == 0;
            outer_dims[outer] = shape->dim[d];
            outer_steps[outer++] = parameter_steps[d];
        }
    bool has_any = lowering->in[1].region.buffer || lowering->in[2].region.buffer;
    if (has_any && !of_members && !of_rows)
        return false;
    struct shader shader;
    char scale[64], bias[64];
    unsigned lanes = begin_rows(&shader, lowering, groups, in, out, 8, lowering->fused);
    wnn_shader_map(&shader, "parameter", outer, outer_dims, outer_steps, 0);
    wnn_shader_float(&shader, "EPSILON", epsilon);
    wnn_shader_float(&shader, "SHARE", 1.0 / (double)groups->members);
    wnn_shader_text(&shader,
                    "#define SOFTMAX 0\n#define PART vec2\n#define NONE 0.0\n#define prepared(x, i) (x)\n");
    wnn_shader_define(&shader, "SCALE(r, j)", "%s",
                      parameter_of(&shader, "scale", &lowering->in[1], of_members, "1.0", scale));
    wnn_shader_define(&shader, "BIAS(r, j)", "%s",
                      parameter_of(&shader, "bias", &lowering->in[2], of_members, "-0.0", bias));
    wnn_shader_define(&shader, "NORMALISED", "%s",
                      in->type == WNNDataType_Float16 ? "normalised_half" : "normalised");
    end_rows(&shader, groups, lanes);
    return true;
}

static void normalize(struct lowering *lowering, const uint32_t *axes, size_t axis_count, double epsilon,
                      const int64_t parameter_steps[WNN_MAX_RANK])
{
    const struct tensor *in = &lowering->in[0], *scale = &lowering->in[1], *bias = &lowering->in[2],
                        *out = &lowering->out[0];
    struct groups groups = wnn_groups_along(&in->shape, axes, axis_count);
    struct tensor known = vectors(lowering, groups.count, 4);
    struct shader shader;
    uint32_t listed = 0;
    for (size_t i = 0; i < axis_count; i++)
        listed |= 1u << axes[i];
    if (normalize_rows(lowering, &groups, listed, epsilon, parameter_steps))
        return;
    wnn_reduce_begin(&shader, lowering, &groups, in, &known, FORM_QUAD, NULL);
    wnn_shader_float(&shader, "EPSILON", epsilon);
    wnn_reduce_twice(&shader, "vec2(0.0)", "sum2(a, b)", "vec2(x, 0.0)", "mean2(s, float(MEMBERS))",
                     "vec2(0.0)", "square2(sum2(vec2(x, 0.0), -known))",
                     "vec4(known, inverse_root(sum2(mean2(s, float(MEMBERS)), vec2(EPSILON, 0.0))))");
    wnn_reduce_end(&shader, &groups);

    struct elements elements;
    wnn_elements_begin(&elements, lowering, out->count);
    wnn_elements_same(&elements, "x", in, FORM_VALUE);
    add_groups(&elements, &known, FORM_QUAD, &in->shape, listed);
    const struct tensor *parameters[] = {scale, bias};
    static const char *const names[] = {"scale", "bias"}, *const absent[] = {"1.0", "-0.0"};
    for (unsigned i = 0; i < 2; i++) {
        if (parameters[i]->region.buffer)
            wnn_elements_map(&elements, names[i], parameters[i], FORM_VALUE, in->shape.rank, in->shape.dim,
                             parameter_steps, 0);
        else
            wnn_elements_do(&elements, "float %s = %s;", names[i], absent[i]);
    }
    wnn_elements_output(&elements, "normalised(x, s, scale, bias)", out, FORM_VALUE);
    wnn_elements_end(&elements, lowering->fused);
}

size_t wnn_scratch_of_normalization(const struct node *node)
{
    const struct shape *shape = &node->in[0]->type.shape;
    uint32_t axes = 0;
    if (node->op == WNN_OP_instanceNormalization) {
        const WNNInstanceNormalizationOptions *options = node->attrs;
        axes = options->layout == WNNInputOperandLayout_NHWC ? 0x6 : 0xC;
    } else {
        const WNNLayerNormalizationOptions *options = node->attrs;
        for (size_t i = 0; i < options->axes.count; i++)
            axes |= 1u << options->axes.data[i];
    }
    return group_count(shape, axes) * 4 * sizeof(float);
}

void wnn_lower_instance_normalization(struct lowering *lowering)
{
    const WNNInstanceNormalizationOptions *options = lowering->node->attrs;
    bool last = options->layout == WNNInputOperandLayout_NHWC;
    const uint32_t axes[2] = {last ? 1 : 2, last ? 2 : 3};
    int64_t steps[WNN_MAX_RANK] = {0};
    steps[last ? 3 : 1] = 1;
    normalize(lowering, axes, 2, options->epsilon, steps);
}

void wnn_lower_layer_normalization(struct lowering *lowering)
{
    const WNNLayerNormalizationOptions *options = lowering->node->attrs;
    const struct shape *shape = &lowering->in[0].shape;
    int64_t steps[WNN_MAX_RANK] = {0}, step = 1;
    // scale and bias have the axes in the order in which they are listed.
    for (size_t i = options->axes.count; i-- > 0;) {
        steps[options->axes.data[i]] = step;
        step *= shape->dim[options->axes.data[i]];
    }
    normalize(lowering, options->axes.data, options->axes.count, options->epsilon, steps);
}
