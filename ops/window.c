// SPDX-License-Identifier: Apache-2.0
#include "ops/window.h"

void wnn_infer_image(struct op_call *call, WNNInputOperandLayout layout, const struct image *from,
                     uint32_t channels, uint32_t height, uint32_t width)
{
    struct shape *shape = &call->out[0].shape;
    call->out[0].type = call->in[0]->type.type;
    if (layout == WNNInputOperandLayout_NHWC)
        *shape = (struct shape){4, {from->batches, height, width, channels}};
    else
        *shape = (struct shape){4, {from->batches, channels, height, width}};
}

bool wnn_check_items(struct op_call *call, const char *name, WNNUint32List list, uint32_t most)
{
    for (size_t i = 0; i < list.count; i++) {
        if (list.data[i] == 0)
            return wnn_op_fail(call, "%s[%zu] is 0; expected at least 1", name, i);
        if (most && list.data[i] > most)
            return wnn_op_fail(call, "%s[%zu] is %u; expected at most %u", name, i, list.data[i], most);
    }
    return true;
}

bool wnn_complete_window(struct op_call *call, WNNUint32List *padding, WNNUint32List *strides,
                         WNNUint32List *dilations)
{
    return wnn_list_complete(call, "padding", padding, 4, 0) &&
           wnn_list_complete(call, "strides", strides, 2, 1) &&
           wnn_check_items(call, "strides", *strides, call->limits->maxStride) &&
           wnn_list_complete(call, "dilations", dilations, 2, 1) &&
           wnn_check_items(call, "dilations", *dilations, call->limits->maxDilation);
}

int64_t wnn_window_reach(uint32_t a, uint32_t b)
{
    uint64_t product = (uint64_t)a * b;
    return product > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)product;
}

int64_t wnn_window_slack(uint32_t input, uint32_t window, uint32_t dilation, uint32_t begin, uint32_t end)
{
    return (int64_t)input + begin + end - (wnn_window_reach(window - 1, dilation) + 1);
}

bool wnn_check_padded(struct op_call *call, const struct image *image, const uint32_t *padding)
{
    uint64_t height = (uint64_t)image->height + padding[0] + padding[1];
    uint64_t width = (uint64_t)image->width + padding[2] + padding[3], elements;
    if (height > WNN_MAX_DIMENSION || width > WNN_MAX_DIMENSION || !wnn_multiply(height, width, &elements) ||
        !wnn_multiply(elements, image->channels, &elements) ||
        !wnn_multiply(elements, image->batches, &elements) || elements > WNN_MAX_DIMENSION)
        return wnn_op_fail(call, "input %s with padding [%u, %u, %u, %u] is larger than a tensor may be",
                           SHAPE_TEXT(&call->in[0]->type.shape), padding[0], padding[1], padding[2],
                           padding[3]);
    return true;
}
