// SPDX-License-Identifier: Apache-2.0
//
// The operators of the reference backend, by family. `in` and `out` are in the order of the node's operands;
// an operand that is not given has no data.

#ifndef CONFORMANCE_REFERENCE_KERNELS_H_
#define CONFORMANCE_REFERENCE_KERNELS_H_

#include "conformance/reference/tensor.h"
#include "lib/graph.h"
#include "ops/op.h"

typedef void (*reference_kernel)(const struct node *node, const struct tensor *in, const struct tensor *out);

// elementwise.c
void wnn_reference_unary(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_binary(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_comparison(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_test(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_cast(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_clamp(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_where(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_quantize(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_dequantize(const struct node *node, const struct tensor *in, const struct tensor *out);

// The value of an element-wise float operator; numbers in `attrs` are rounded to `type` first.
double wnn_reference_function(enum op op, const void *attrs, WNNDataType type, double x);
// An activation on one row of a rank-2 tensor, without rounding.
void wnn_reference_activate_row(const struct activation *activation, WNNDataType type, double *row,
                                size_t count);
// An activation on a tensor, in place, with its own rounding.
void wnn_reference_activate(const struct activation *activation, const struct tensor *tensor);

// movement.c
void wnn_reference_copy(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_concat(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_expand(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_pad(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_reverse(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_slice(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_split(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_tile(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_transpose(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_triangular(const struct node *node, const struct tensor *in, const struct tensor *out);

// gather.c
void wnn_reference_gather(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_gather_elements(const struct node *node, const struct tensor *in,
                                   const struct tensor *out);
void wnn_reference_gather_nd(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_scatter_elements(const struct node *node, const struct tensor *in,
                                    const struct tensor *out);
void wnn_reference_scatter_nd(const struct node *node, const struct tensor *in, const struct tensor *out);

// reduce.c
void wnn_reference_reduce(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_arg_min_max(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_cumulative_sum(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_softmax(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_batch_normalization(const struct node *node, const struct tensor *in,
                                       const struct tensor *out);
void wnn_reference_instance_normalization(const struct node *node, const struct tensor *in,
                                          const struct tensor *out);
void wnn_reference_layer_normalization(const struct node *node, const struct tensor *in,
                                       const struct tensor *out);

// spatial.c
void wnn_reference_conv2d(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_conv_transpose2d(const struct node *node, const struct tensor *in,
                                    const struct tensor *out);
void wnn_reference_pool2d(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_resample2d(const struct node *node, const struct tensor *in, const struct tensor *out);

// matrix.c
void wnn_reference_gemm(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_matmul(const struct node *node, const struct tensor *in, const struct tensor *out);

// recurrent.c: memory that runs out makes the results NaN.
void wnn_reference_gru(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_gru_cell(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_lstm(const struct node *node, const struct tensor *in, const struct tensor *out);
void wnn_reference_lstm_cell(const struct node *node, const struct tensor *in, const struct tensor *out);

#endif
