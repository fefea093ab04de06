// SPDX-License-Identifier: Apache-2.0
//
// attendedKeys, for constants: attention on a CPU looks at its mask itself (attention_mask.c).

#include "cpu/kernel.h"

#include <math.h>

struct masks {
    const struct tensor *mask;
    uint32_t *keys;
    size_t columns;
    float distance;
};

static float number_at(const struct masks *masks, size_t i)
{
    return masks->mask->type == WNNDataType_Float16
               ? wnn_half_to_float(((const uint16_t *)masks->mask->data)[i])
               : ((const float *)masks->mask->data)[i];
}

static void find_keys(void *argument, size_t first, size_t end)
{
    const struct masks *masks = argument;
    for (size_t row = first; row < end; row++) {
        uint32_t *keys = masks->keys + WNN_ATTENDED_NUMBERS * row;
        float greatest = -INFINITY;
        for (size_t k = 0; k < masks->columns; k++) {
            float number = number_at(masks, row * masks->columns + k);
            greatest = number > greatest ? number : greatest; // gcc 12 crashes for AArch64 on fmaxf() here
        }
        for (unsigned n = 0; n < WNN_ATTENDED_NUMBERS; n++)
            keys[n] = 0;
        for (uint32_t k = 0; k < masks->columns; k++) {
            float number = number_at(masks, row * masks->columns + k);
            if (number == -INFINITY || number < greatest - masks->distance)
                continue;
            if (keys[WNN_ATTENDED_END] == 0)
                keys[WNN_ATTENDED_FIRST] = keys[WNN_ATTENDED_ZEROS] = k;
            keys[WNN_ATTENDED_END] = k + 1;
            if (number == 0 && keys[WNN_ATTENDED_ZEROS] == k)
                keys[WNN_ATTENDED_ZEROS] = k + 1;
        }
    }
}

static void run_attended_keys(const struct kernel_call *call)
{
    const struct attended_keys_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->in[0].shape;
    struct masks masks = {&call->in[0], call->out[0].data, shape->dim[shape->rank - 1],
                          (float)attrs->distance};
    wnn_parallel_for(call->parallel, call->out[0].count / WNN_ATTENDED_NUMBERS,
                     1 + 4096 / (masks.columns + 1), find_keys, &masks);
}

const struct kernel wnn_cpu_attendedKeys = {.run = run_attended_keys};
