// SPDX-License-Identifier: Apache-2.0
//
// Resampling.

#include "ops/geometry.h"
#include "vulkan/ops/operators.h"

static void lower_resample2d(struct lowering *lowering)
{
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    const struct resampling r = wnn_node_resampling(lowering->node);
    struct shader shader;
    enum form form = r.linear ? FORM_VALUE : FORM_BITS;
    // The frame rounds and activates floats: nearest elements of a node with an activation are values.
    if (lowering->fused)
        form = FORM_VALUE;
    wnn_shader_begin(&shader, lowering, "resample", out->count);
    wnn_shader_define(&shader, "LINEAR", "%d", r.linear);
    wnn_shader_number(&shader, "MIDDLE", (uint32_t)r.middle);
    wnn_shader_number(&shader, "INNER", (uint32_t)r.inner);
    wnn_shader_numbers(&shader, "IN_SIZE", r.in, 2);
    wnn_shader_numbers(&shader, "OUT_SIZE", r.out, 2);
    wnn_shader_input(&shader, "a", in, form);
    wnn_shader_output(&shader, out, form, lowering->fused);
    wnn_shader_define(&shader, "RESULT(x)", "%s",
                      wnn_dtype_is_float(out->type)   ? "(x)"
                      : out->type == WNNDataType_Int8 ? "int_of(roundEven(x), -128.0, 127.0)"
                                                      : "uint_of(roundEven(x), 255.0)");
    wnn_shader_end(&shader);
}

const struct gpu_operator wnn_gpu_resample2d = {.lower = lower_resample2d, .fuses_epilogue = true};
