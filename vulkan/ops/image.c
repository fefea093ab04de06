// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/image.h"

void wnn_shader_images(struct shader *shader, const struct image *in, const struct image *out)
{
    wnn_shader_define(shader, "NHWC", "%d", in->nhwc);
    wnn_shader_number(shader, "IN_HEIGHT", in->height);
    wnn_shader_number(shader, "IN_WIDTH", in->width);
    wnn_shader_number(shader, "IN_N", in->n);
    wnn_shader_number(shader, "IN_C", in->c);
    wnn_shader_number(shader, "IN_Y", in->y);
    wnn_shader_number(shader, "IN_X", in->x);
    wnn_shader_number(shader, "OUT_HEIGHT", out->height);
    wnn_shader_number(shader, "OUT_WIDTH", out->width);
}

void wnn_shader_windows(struct shader *shader, const uint32_t *padding, const uint32_t *strides,
                        const uint32_t *dilations)
{
    // Images are smaller with their padding: a step that leads so far leads beyond them.
    const uint32_t most = INT32_MAX;
    wnn_shader_number(shader, "PAD_Y", padding[0]);
    wnn_shader_number(shader, "PAD_X", padding[2]);
    wnn_shader_fixed(shader, "STRIDE_Y", strides[0] < most ? strides[0] : most);
    wnn_shader_fixed(shader, "STRIDE_X", strides[1] < most ? strides[1] : most);
    wnn_shader_fixed(shader, "DILATION_Y", dilations[0]);
    wnn_shader_fixed(shader, "DILATION_X", dilations[1]);
}
