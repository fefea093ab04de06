// SPDX-License-Identifier: Apache-2.0
//
// How each operator becomes dispatches. A function per family appends them to the program of its lowering;
// the graph has been validated, shapes and attributes are complete.

#ifndef VULKAN_OPERATORS_H_
#define VULKAN_OPERATORS_H_

#include "vulkan/program/shader.h"

struct gpu_operator {
    void (*lower)(struct lowering *lowering);   // NULL: the backend cannot do it
    size_t (*scratch)(const struct node *node); // bytes, SIZE_MAX: too many; NULL: none
    uint32_t in_place; // bit i: output 0 may lie where input i lies, if that has its shape and size
    bool finishes;     // does by itself what becomes of its results (lowering.fused)
    // (optional) Whether it reads an input by wnn_shader_input, as floats or whatever it is (tensor.fused),
    // and each element of it a few times at most. NULL: never.
    bool (*prepares)(const struct node *node, unsigned input);
};
extern const struct gpu_operator wnn_gpu_operators[WNN_OP_END];

// elementwise.c
void wnn_lower_step(struct lowering *lowering); // any operator of single elements
void wnn_lower_where(struct lowering *lowering);
void wnn_lower_cast(struct lowering *lowering);
void wnn_lower_elementwise(struct lowering *lowering);
size_t wnn_scratch_of_elementwise(const struct gpu *gpu, const struct node *node);
bool wnn_elementwise_shares(const struct gpu *gpu, const struct node *node, unsigned input); // output 0
void wnn_lower_batch_normalization(struct lowering *lowering);
// An activation on a tensor in place.
void wnn_lower_activation(struct lowering *lowering, const struct activation *activation,
                          const struct tensor *tensor);
// The same values in another type, or elsewhere.
void wnn_lower_convert(struct lowering *lowering, const struct tensor *from, const struct tensor *to);

// attention.c
void wnn_lower_attention(struct lowering *lowering);
size_t wnn_scratch_of_attention(const struct node *node);

// movement.c
// Element i of `to` is element offset + sum of position * step of `from`; dims are those that i counts.
void wnn_lower_move(struct lowering *lowering, const struct tensor *from, const struct tensor *to,
                    unsigned rank, const uint32_t *dims, const int64_t *steps, int64_t offset);
void wnn_lower_copy(struct lowering *lowering);
void wnn_lower_concat(struct lowering *lowering);
size_t wnn_scratch_of_concat(const struct node *node);
void wnn_lower_expand(struct lowering *lowering);
void wnn_lower_pad(struct lowering *lowering);
void wnn_lower_reverse(struct lowering *lowering);
void wnn_lower_slice(struct lowering *lowering);
void wnn_lower_split(struct lowering *lowering);
void wnn_lower_tile(struct lowering *lowering);
void wnn_lower_transpose(struct lowering *lowering);
void wnn_lower_triangular(struct lowering *lowering);
bool wnn_gather_prepares(const struct node *node, unsigned input);
void wnn_lower_gather(struct lowering *lowering);
void wnn_lower_gather_elements(struct lowering *lowering);
void wnn_lower_gather_nd(struct lowering *lowering);
void wnn_lower_scatter_elements(struct lowering *lowering);
void wnn_lower_scatter_nd(struct lowering *lowering);
size_t wnn_scratch_of_scatter(const struct node *node);

// reduce.c
bool wnn_fold_prepares(const struct node *node, unsigned input);
void wnn_lower_reduce(struct lowering *lowering);
size_t wnn_scratch_of_reduce(const struct node *node);
size_t wnn_scratch_of_pool2d(const struct node *node);
void wnn_lower_arg_min_max(struct lowering *lowering);
size_t wnn_scratch_of_arg_min_max(const struct node *node);
void wnn_lower_cumulative_sum(struct lowering *lowering);
size_t wnn_scratch_of_cumulative_sum(const struct node *node);

// normalization.c
void wnn_lower_softmax(struct lowering *lowering);
size_t wnn_scratch_of_softmax(const struct node *node);
// softmax in place along the last axis; `scratch` in the lowering is as much as wnn_scratch_of_last_softmax
// says.
void wnn_lower_last_softmax(struct lowering *lowering, const struct tensor *tensor);
size_t wnn_scratch_of_last_softmax(const struct descriptor *type);
void wnn_lower_instance_normalization(struct lowering *lowering);
void wnn_lower_layer_normalization(struct lowering *lowering);
size_t wnn_scratch_of_normalization(const struct node *node);

// filters.c: lets constant filters lie as convolutions read them best; uses are counted. Groups of so many
// channels are multiplied as matrices, and read filters as these do.
#define GPU_LEAST_GROUP 8
void wnn_turn_filters(struct graph *graph, struct allocator *allocator);

// matrix.c, convolution.c, image.c, recurrent.c
bool wnn_product_prepares(const struct node *node, unsigned input); // of gemm and matmul
void wnn_lower_gemm(struct lowering *lowering);
void wnn_lower_matmul(struct lowering *lowering);
size_t wnn_scratch_of_gemm(const struct node *node);
size_t wnn_scratch_of_matmul(const struct node *node);
size_t wnn_scratch_of_conv2d(const struct node *node);
void wnn_lower_conv2d(struct lowering *lowering); // convTranspose2d too
bool wnn_pool_prepares(const struct node *node, unsigned input);
void wnn_lower_pool2d(struct lowering *lowering);
void wnn_lower_resample2d(struct lowering *lowering);
void wnn_lower_recurrent(struct lowering *lowering); // gru, lstm and their cells
size_t wnn_scratch_of_recurrent(const struct node *node);

#endif
