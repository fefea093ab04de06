// SPDX-License-Identifier: Apache-2.0
//
// What the inference of convolution, pooling and resampling has in common.

#ifndef OPS_WINDOW_H_
#define OPS_WINDOW_H_

#include "ops/geometry.h"
#include "ops/lists.h"

// Checks that each item is at least 1, and at most `most`; 0: any.
bool wnn_check_items(struct op_call *call, const char *name, WNNUint32List list, uint32_t most);
// The same of sizes, which may be unknown, and at least `least`.
bool wnn_check_sizes(struct op_call *call, const char *name, WNNUint32List list, uint32_t least,
                     uint32_t most);

// The attributes of every window: four paddings, two strides and dilations of at least 1.
bool wnn_complete_window(struct op_call *call, WNNUint32List *padding, WNNUint32List *strides,
                         WNNUint32List *dilations);

// (size - 1) * step: how far the last of so many elements lies from the first.
struct amount wnn_window_reach(struct op_call *call, uint32_t size, uint32_t step);

// What is left of the input, padding included, beside one window: negative if the window does not fit.
struct amount wnn_window_slack(struct op_call *call, uint32_t input, uint32_t window, uint32_t dilation,
                               const uint32_t padding[2]);

// Kernels may lay a padded input out: it has to be a legal tensor too.
bool wnn_check_padded(struct op_call *call, const struct image *image, const uint32_t *padding);

// Output 0: as many images as `from`, of the type of input 0.
void wnn_infer_image(struct op_call *call, WNNInputOperandLayout layout, const struct image *from,
                     uint32_t channels, uint32_t height, uint32_t width);

#endif
