// SPDX-License-Identifier: Apache-2.0
//
// Resampling.

#include "vulkan/ops/operators.h"

static void lower_resample2d(struct lowering *lowering)
{
    const WNNResample2dOptions *options = lowering->node->attrs;
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    bool linear = options->mode == WNNInterpolationMode_Linear;
    unsigned first = options->axes.data[0], second = options->axes.data[1];
    if (first > second) {
        unsigned third = first;
        first = second;
        second = third;
    }
    uint32_t middle = 1, inner = 1;
    for (unsigned d = first + 1; d < in->shape.rank; d++)
        *(d < second ? &middle : &inner) *= d == second ? 1 : in->shape.dim[d];
    struct shader shader;
    enum form form = linear ? FORM_VALUE : FORM_BITS;
    // The frame rounds and activates floats: nearest elements of a node with an activation are values.
    if (lowering->fused)
        form = FORM_VALUE;
    wnn_shader_begin(&shader, lowering, "resample", out->count);
    wnn_shader_define(&shader, "LINEAR", "%d", linear);
    wnn_shader_number(&shader, "MIDDLE", middle);
    wnn_shader_number(&shader, "INNER", inner);
    wnn_shader_numbers(&shader, "IN_SIZE", (const uint32_t[2]){in->shape.dim[first], in->shape.dim[second]},
                       2);
    wnn_shader_numbers(&shader, "OUT_SIZE",
                       (const uint32_t[2]){out->shape.dim[first], out->shape.dim[second]}, 2);
    wnn_shader_input(&shader, "a", in, form);
    wnn_shader_output(&shader, out, form, lowering->fused);
    wnn_shader_define(&shader, "RESULT(x)", "%s",
                      wnn_dtype_is_float(out->type)   ? "(x)"
                      : out->type == WNNDataType_Int8 ? "int_of(roundEven(x), -128.0, 127.0)"
                                                      : "uint_of(roundEven(x), 255.0)");
    wnn_shader_end(&shader);
}

const struct gpu_operator wnn_gpu_resample2d = {.lower = lower_resample2d, .finishes = true};
