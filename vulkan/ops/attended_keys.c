// SPDX-License-Identifier: Apache-2.0
//
// attendedKeys: a work group looks at a row of the mask.

#include "vulkan/ops/operators.h"
#include "vulkan/program/shader.h"

enum {
    LONG_ROW = 1024 // keys, which more invocations share
};

static void lower_attended_keys(struct lowering *lowering)
{
    const struct attended_keys_attrs *attrs = lowering->node->attrs;
    const struct tensor *mask = &lowering->in[0], *out = &lowering->out[0];
    uint32_t keys = mask->shape.dim[mask->shape.rank - 1];
    size_t rows = out->count / WNN_ATTENDED_NUMBERS;
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "attended_keys", mask->count);
    shader.local_size = keys >= LONG_ROW ? wnn_shader_large_group(lowering->gpu) : GPU_MIN_INVOCATIONS / 2;
    wnn_shader_number(&shader, "KEYS", keys);
    wnn_shader_number(&shader, "ROWS", (uint32_t)rows);
    wnn_shader_float(&shader, "DISTANCE", attrs->distance);
    wnn_shader_input(&shader, "mask", mask, FORM_VALUE);
    unsigned k = wnn_shader_bind(&shader, &out->region, true);
    wnn_shader_define(&shader, "put_key(i, key)", "s%u(i, key)", k);
    wnn_shader_end_groups(&shader, rows, 1);
}

const struct gpu_operator wnn_gpu_attendedKeys = {.lower = lower_attended_keys};
