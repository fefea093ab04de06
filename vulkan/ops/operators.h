// SPDX-License-Identifier: Apache-2.0
//
// How each operator becomes dispatches. A function per family appends them to the program of its lowering;
// the graph has been validated, shapes and attributes are complete.

#ifndef VULKAN_OPERATORS_H_
#define VULKAN_OPERATORS_H_

#include "vulkan/program/shader.h"

struct gpu_operator {
    void (*lower)(struct lowering *lowering);
    size_t (*scratch)(const struct node *node); // bytes, SIZE_MAX: too many; NULL: none
    uint32_t in_place;   // bit i: output 0 may lie where input i lies, if that has its shape and size
    bool fuses_epilogue; // does by itself what becomes of its results (lowering.fused)
    // (optional) Whether it reads an input by wnn_shader_input, as floats or whatever it is (tensor.fused),
    // and each element of it a few times at most. NULL: never.
    bool (*fuses_prologue)(const struct node *node, unsigned input);
};

// By operator; NULL for the forms of 2024.
extern const struct gpu_operator *const wnn_gpu_operators[WNN_OP_END];

// Each is defined by the file of its family.
#define KERNEL(id, name) extern const struct gpu_operator wnn_gpu_##name;
#include "ops/kernels.def"

// elementwise.c
size_t wnn_scratch_of_elementwise(const struct gpu *gpu, const struct node *node);
bool wnn_elementwise_shares(const struct gpu *gpu, const struct node *node, unsigned input); // output 0
// The same values in another type, or elsewhere.
void wnn_lower_convert(struct lowering *lowering, const struct tensor *from, const struct tensor *to);

// attention.c
size_t wnn_scratch_of_attention(const struct gpu *gpu, const struct node *node);
bool wnn_wants_attended(const struct gpu *gpu, const struct node *node, size_t sharing);

// movement.c
// Element i of `to` is element offset + sum of position * step of `from`; dims are those that i counts.
void wnn_lower_move(struct lowering *lowering, const struct tensor *from, const struct tensor *to,
                    unsigned rank, const uint32_t *dims, const int64_t *steps, int64_t offset);

// gather.c: whether a scatterND looks at each element of its updates once.
bool wnn_scatter_computes_updates(const struct node *node);

// agreement.c: of each operand, by its index, what all that read it wish alike of a constant, or 0; uses are
// counted. In the graph's memory; NULL: there is none left.
typedef unsigned char wish_fn(const void *state, const struct node *node, unsigned input);
const unsigned char *wnn_agree(struct graph *graph, wish_fn *wish, const void *state);

// conv_filters.c: lets constant filters lie as convolutions read them best; uses are counted. Groups of so
// many channels are multiplied as matrices, and read filters as these do. False: there is no memory.
#define GPU_MIN_GROUP 8
bool wnn_turn_filters(struct graph *graph);

#endif
