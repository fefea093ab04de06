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

bool wnn_check_sizes(struct op_call *call, const char *name, WNNUint32List list, uint32_t least,
                     uint32_t most)
{
    for (size_t i = 0; i < list.count; i++) {
        struct bounds range = wnn_size_range(call->sizes, list.data[i]);
        if (range.max < least)
            return wnn_op_fail(call, "%s[%zu] is 0; expected at least 1", name, i);
        if (most && range.min > most)
            return wnn_op_fail(call, "%s[%zu] is %s; expected at most %u", name, i,
                               SIZE_OF(call, list.data[i]), most);
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

struct amount wnn_window_reach(struct op_call *call, uint32_t size, uint32_t step)
{
    struct amount last = wnn_amount(call->sizes, size);
    last.constant--;
    return wnn_amount_times(last, step);
}

struct amount wnn_window_slack(struct op_call *call, uint32_t input, uint32_t window, uint32_t dilation,
                               const uint32_t padding[2])
{
    struct amount slack = wnn_amount_add(call->sizes, wnn_amount(call->sizes, input),
                                         wnn_amount_times(wnn_window_reach(call, window, dilation), -1));
    slack.constant += (int64_t)padding[0] + padding[1] - 1;
    return slack;
}

bool wnn_check_padded(struct op_call *call, const struct image *image, const uint32_t *padding)
{
    uint64_t height = (uint64_t)wnn_size_range(call->sizes, image->height).min + padding[0] + padding[1];
    uint64_t width = (uint64_t)wnn_size_range(call->sizes, image->width).min + padding[2] + padding[3],
             elements;
    uint64_t channels = (uint64_t)wnn_size_range(call->sizes, image->channels).min,
             batches = (uint64_t)wnn_size_range(call->sizes, image->batches).min;
    if (height > WNN_MAX_DIMENSION || width > WNN_MAX_DIMENSION || !wnn_multiply(height, width, &elements) ||
        !wnn_multiply(elements, channels, &elements) || !wnn_multiply(elements, batches, &elements) ||
        elements > WNN_MAX_DIMENSION)
        return wnn_op_fail(call, "input %s with padding [%u, %u, %u, %u] is larger than a tensor may be",
                           SHAPE_OF(call, &call->in[0]->type.shape), padding[0], padding[1], padding[2],
                           padding[3]);
    return true;
}
