// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/product.h"

#include "compiler/plan.h"

enum {
    MIN_WORK = 1 << 16, // multiplications
    MIN_TERMS = 16
};

bool wnn_has_fixed_rows(const struct product *p)
{
    return p->fixed_b && p->a_inner == 1;
}

bool wnn_product_is_odd(const struct product *p, WNNDataType type)
{
    bool odd = p->columns % 2 != 0 || p->out_row % 2 != 0;
    for (unsigned d = 0; d < p->rank; d++)
        odd |= p->out_steps[d] % 2 != 0;
    return odd && type == WNNDataType_Float16;
}

bool wnn_product_is_small(const struct capabilities *can, const struct product *p)
{
    bool little = (uint64_t)p->rows * p->columns * p->matrices * p->inner < MIN_WORK;
    bool waits = can->type != VK_PHYSICAL_DEVICE_TYPE_CPU && p->inner >= MIN_TERMS;
    return little && !waits && !can->minimal && !can->always_matrices;
}

void wnn_product_steps(struct shader *shader, const struct product *p)
{
    wnn_shader_number_if(shader, "COLUMNS", p->columns, p->fixed_b);
    wnn_shader_number_if(shader, "INNER", p->inner, p->fixed_b);
    wnn_shader_number_if(shader, "A_ROW", p->a_row, wnn_has_fixed_rows(p));
    wnn_shader_number_if(shader, "A_INNER", p->a_inner, wnn_has_fixed_rows(p));
    wnn_shader_number_if(shader, "B_INNER", p->b_inner, p->fixed_b);
    wnn_shader_number_if(shader, "B_COLUMN", p->b_column, p->fixed_b);
}

void wnn_product_gather(struct shader *shader, const struct gather *from)
{
    wnn_shader_number(shader, "IN_HEIGHT", from->in_height);
    wnn_shader_number(shader, "IN_WIDTH", from->in_width);
    wnn_shader_number(shader, "OUT_HEIGHT", from->out_height);
    wnn_shader_number(shader, "OUT_WIDTH", from->out_width);
    wnn_shader_number_if(shader, "FILTER_WIDTH", from->filter_width, from->fixed);
    wnn_shader_number_if(shader, "CHANNELS", from->channels, from->fixed);
    wnn_shader_number(shader, "IMAGE", from->image);
    wnn_shader_number(shader, "LINE", from->line);
    wnn_shader_number_if(shader, "PIXEL", from->pixel, from->fixed);
    wnn_shader_number(shader, "PAD_Y", from->padding[0]);
    wnn_shader_number(shader, "PAD_X", from->padding[1]);
    wnn_shader_fixed(shader, "STRIDE_Y", from->strides[0]);
    wnn_shader_fixed(shader, "STRIDE_X", from->strides[1]);
    wnn_shader_fixed(shader, "DILATION_Y", from->dilations[0]);
    wnn_shader_fixed(shader, "DILATION_X", from->dilations[1]);
}

// The text of what c has for the four elements from i on.
static void add_quad_of_c(struct shader *shader, const struct product *p)
{
    bool together = p->c_dims[1] % 4 == 0, aligned = p->c_steps[0] % 4 == 0;
    if (together && p->c_steps[1] == 0)
        wnn_shader_text(shader, "vec4(c_at(c_index(i)))");
    else if (together && p->c_steps[1] == 1 && aligned && wnn_shader_has_quads(shader->lowering, p->c))
        wnn_shader_text(shader, "c_quad(c_index(i))");
    else
        wnn_shader_text(
            shader,
            "vec4(c_at(c_index(i)), c_at(c_index(i + 1u)), c_at(c_index(i + 2u)), c_at(c_index(i + 3u)))");
}

void wnn_product_scale(struct shader *shader, const struct product *p, bool quads)
{
    if (p->alpha != 1)
        wnn_shader_float(shader, "ALPHA", p->alpha);
    if (p->c) {
        wnn_shader_map(shader, "c", 2, p->c_dims, p->c_steps, 0);
        wnn_shader_input(shader, "c", p->c, FORM_VALUE);
        if (quads && wnn_shader_has_quads(shader->lowering, p->c))
            wnn_shader_quads(shader, "c", p->c);
        if (p->beta != 1)
            wnn_shader_float(shader, "BETA", p->beta);
    }
    const char *factor = p->alpha != 1 ? "ALPHA * " : "", *plus = p->c && p->beta != 1 ? " + BETA * "
                                                                  : p->c               ? " + "
                                                                                       : "";
    wnn_shader_text(shader, "float scaled(float sum, uint i)\n{\nreturn %ssum%s%s;\n}\n", factor, plus,
                    p->c ? "c_at(c_index(i))" : "");
    if (!quads)
        return;
    wnn_shader_text(shader, "vec4 scaled_quad(vec4 sums, uint i)\n{\nreturn %ssums%s", factor, plus);
    if (p->c)
        add_quad_of_c(shader, p);
    wnn_shader_text(shader, ";\n}\n");
}

void wnn_product_sums(struct shader *shader)
{
    wnn_shader_text(shader, "#define scaled(sum, i) (sum)\n#define scaled_quad(sums, i) (sums)\n");
}

const struct deferred *wnn_product_partner(const struct lowering *lowering)
{
    for (unsigned i = 0; lowering->fused && i < lowering->fused->input_count; i++)
        if (lowering->fused->inputs[i].deferred)
            return lowering->fused->inputs[i].deferred;
    return NULL;
}

void wnn_product_partner_results(struct shader *shader, const struct deferred *partner, WNNDataType type)
{
    const struct expression *results = wnn_fused(partner->node, WNN_AT_OUTPUT);
    if (results)
        wnn_shader_fused(shader, "partner_result",
                         &(struct fused){results->steps, results->count, NULL, 0, results->from}, true,
                         false);
    wnn_shader_define(shader, "partner_of(sum, i)", "%s(%s(sum%s))",
                      type == WNNDataType_Float16 ? "rounded_f16" : "", results ? "partner_result" : "",
                      results ? ", i" : "");
    wnn_shader_text(shader, "float partner;\n");
}

void wnn_product_sum(struct lowering *lowering, const struct product *p, const struct tensor *partials,
                     uint32_t splits)
{
    // The invocations of quads write to words of their own, whatever rows begin where.
    bool quads = p->out->count % 4 == 0 && wnn_shader_has_quads(lowering, p->out) &&
                 wnn_shader_has_quads(lowering, partials);
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "product_sum", partials->count);
    wnn_shader_input(&shader, "a", partials, FORM_VALUE);
    if (quads)
        wnn_shader_quads(&shader, "a", partials);
    wnn_shader_number(&shader, "SPLITS", splits);
    wnn_product_scale(&shader, p, quads);
    wnn_shader_define(&shader, "QUADS_OUT", "%d", quads);
    if (quads)
        wnn_shader_output_quads(&shader, p->out);
    wnn_shader_output(&shader, p->out, FORM_VALUE, lowering->fused);
    if (!quads) {
        wnn_shader_end(&shader);
        return;
    }
    if (!shader.literal)
        shader.local_size = wnn_shader_large_group(lowering->gpu);
    uint64_t units = p->out->count / 4;
    wnn_shader_number(&shader, "UNITS", (uint32_t)units);
    wnn_shader_end_groups(&shader, units, shader.local_size);
}
