// SPDX-License-Identifier: Apache-2.0
//
// Attention, and the two ways to compute it: in tiles, whose scores never leave a work group, or with all
// scores in scratch memory.

#ifndef VULKAN_OPS_ATTENTION_H_
#define VULKAN_OPS_ATTENTION_H_

#include "vulkan/program/shader.h"

// Matrices in a tensor, one for each head: steps of elements.
struct heads {
    int64_t head[WNN_MAX_RANK];
    uint32_t row, column;
};

struct attention {
    struct heads query, key, value, mask, attended, out;
    WNNDataType type;
    double scale;
    bool zero_nan; // rows whose softmax is NaN give zeros
    bool masked;
    bool has_ranges;             // of keys, of each row of the mask (attendedKeys)
    uint32_t window, window_end; // of attention_attrs
    bool late;                   // of a specialization: other sizes are to come
    unsigned rank;               // of the leading dimensions
    uint32_t dims[WNN_MAX_RANK], head_count;
    uint32_t rows, columns, depth, width;
    size_t largest; // bytes of an operand
    bool moved;     // the result is not in the order of the heads
};

// attention_scores.c
size_t wnn_scratch_of_scores(const struct attention *a, WNNDataType type);
void wnn_lower_scores(struct lowering *lowering, const struct attention *a);

// attention_tiles.c: whether tiles are faster with the ranges of keys that the rows of a mask attend to,
// which so many attentions share.
bool wnn_tiles_skip_keys(const struct gpu *gpu, const struct attention *a, size_t sharing);

// Whether the device has room for tiles, and they are not slower; scratch memory that is
// linear in the number of rows; and the dispatches.
bool wnn_attends_in_tiles(const struct gpu *gpu, const struct attention *a);
size_t wnn_scratch_of_tiles(const struct gpu *gpu, const struct attention *a);
void wnn_lower_tiles(struct lowering *lowering, const struct attention *a);

#endif
