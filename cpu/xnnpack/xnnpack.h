// SPDX-License-Identifier: Apache-2.0
//
// Nodes that XNNPACK computes: float32 convolutions, fully connected layers, pooling and bilinear resampling
// whose parameters it is known to compute correctly. One XNNPACK runtime a node, made when a graph is
// lowered. In builds without XNNPACK (stub.c) nothing is accepted.

#ifndef CPU_XNNPACK_H_
#define CPU_XNNPACK_H_

#include "cpu/kernel.h"

struct xnnpack_step;

// Initializes XNNPACK for the process. Any thread, any number of times.
bool wnn_xnnpack_preload(struct error *error);

// Whether XNNPACK may compute this node (with its fused activation). Filter and bias have to be constants.
// *refusal is why not, as static text; NULL: it may, or the operator is one that XNNPACK is never used for.
bool wnn_xnnpack_accepts(const struct node *node, const char **refusal);

// Which XNNPACK the library was built with, as static text.
const char *wnn_xnnpack_edition(void);

// Bytes of scratch memory that one run needs: padded copies and layout changes.
size_t wnn_xnnpack_scratch(const struct node *node);

// Makes the runtime and packs the weights. The pool of `parallel` is used if it is a pthreadpool, else one
// thread.
bool wnn_xnnpack_create(const struct node *node, struct allocator *allocator, const struct parallel *parallel,
                        struct xnnpack_step **step, struct error *error);
void wnn_xnnpack_destroy(struct xnnpack_step *step); // NULL is accepted

// The bytes that XNNPACK holds for the step, at most; of NULL 0.
uint64_t wnn_xnnpack_bytes(const struct xnnpack_step *step);

// Computes call->out[0] from call->in[0], the activation included, with the memory of this call; one run of a
// step at a time. False only for failures of XNNPACK itself.
bool wnn_xnnpack_run(struct xnnpack_step *step, const struct kernel_call *call);

#endif
