// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/product.h"

bool wnn_has_fixed_rows(const struct product *p)
{
    return p->fixed_b && p->a_inner == 1;
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

void wnn_product_scale(struct shader *shader, const struct product *p)
{
    if (p->alpha != 1)
        wnn_shader_float(shader, "ALPHA", p->alpha);
    if (p->c) {
        wnn_shader_map(shader, "c", 2, p->c_dims, p->c_steps, 0);
        wnn_shader_input(shader, "c", p->c, FORM_VALUE);
        if (p->beta != 1)
            wnn_shader_float(shader, "BETA", p->beta);
    }
    wnn_shader_text(shader, "float scaled(float sum, uint i)\n{\nreturn %ssum%s%s;\n}\n",
                    p->alpha != 1 ? "ALPHA * " : "",
                    p->c && p->beta != 1 ? " + BETA *"
                    : p->c               ? " +"
                                         : "",
                    p->c ? " c_at(c_index(i))" : "");
}

void wnn_product_sum(struct lowering *lowering, const struct product *p, const struct tensor *partials,
                     uint32_t splits)
{
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "product_sum", partials->count);
    wnn_shader_input(&shader, "a", partials, FORM_VALUE);
    wnn_shader_number(&shader, "SPLITS", splits);
    wnn_product_scale(&shader, p);
    wnn_shader_output(&shader, p->out, FORM_VALUE, lowering->fused);
    wnn_shader_end(&shader);
}
