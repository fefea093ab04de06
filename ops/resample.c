// SPDX-License-Identifier: Apache-2.0
//
// Inference of resampling.

#include "ops/window.h"

#include <math.h>

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-resample2d-method
bool wnn_infer_resample2d(struct op_call *call)
{
    WNNResample2dOptions *options = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    uint32_t least = wnn_min_dimension(call->limits);
    bool scaled = options->scales.count != WNN_LIST_ABSENT, sized = options->sizes.count != WNN_LIST_ABSENT;
    if (scaled && options->scales.count != 2)
        return wnn_op_fail(call, "scales has %zu items; expected 2", options->scales.count);
    for (unsigned i = 0; scaled && i < 2; i++)
        if (!(options->scales.data[i] > 0))
            return wnn_op_fail(call, "scales[%u] is %g; expected more than 0", i,
                               (double)options->scales.data[i]);
    if (sized && (!wnn_list_complete(call, "sizes", &options->sizes, 2, 1) ||
                  !wnn_check_sizes(call, "sizes", options->sizes, least, 0)))
        return false;
    if (options->axes.count == WNN_LIST_ABSENT && !wnn_list_set(call, &options->axes, (uint32_t[]){2, 3}, 2))
        return false;
    if (!wnn_list_complete(call, "axes", &options->axes, 2, 0) ||
        !wnn_axes_complete(call, &options->axes, &input->shape, 0))
        return false;
    call->out[0] = *input;
    uint32_t result[2];
    for (unsigned i = 0; i < 2; i++) {
        uint32_t axis = options->axes.data[i], size = input->shape.dim[axis];
        double scale = scaled ? (double)options->scales.data[i] : 1;
        struct amount exact = wnn_amount_scaled(call->sizes, size, scale);
        struct bounds range = wnn_amount_range(call->sizes, &exact);
        if (!sized && (range.max < least || range.min > WNN_MAX_DIMENSION))
            return wnn_op_fail(call, "dimension %u of %s scaled by %g would be %g; expected %u to 2147483647",
                               axis, SIZE_OF(call, size), scale,
                               floor((double)wnn_size_range(call->sizes, size).min * scale), least);
        result[i] = sized ? options->sizes.data[i] : wnn_amount_size(call->sizes, &exact);
        call->out[0].shape.dim[axis] = result[i];
    }
    return wnn_list_set(call, &options->sizes, result, 2);
}
