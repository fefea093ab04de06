// SPDX-License-Identifier: Apache-2.0
//
// The reference backend: every operator, every data type and rank, as plain loops in double and in exact
// integers. It exists to be compared with the specification by reading it, and with other backends by running
// it.

#ifndef CONFORMANCE_REFERENCE_REFERENCE_H_
#define CONFORMANCE_REFERENCE_REFERENCE_H_

#include "compiler/backend.h"

extern const struct backend wnn_backend_reference;

// Runs one node of a builder's graph on memory, by operand; operands that are not given are NULL.
void wnn_reference_run(const struct node *node, const void *const *in, void *const *out);

// The same behind the passes of the compiler, with operands quantized wherever they can be.
extern const struct backend wnn_backend_compiled;

// The same, but every operator sees float operands that are off, and gives float results that are off, by
// random parts of the operator's tolerance (conformance/tolerance.h); every run differently. How far its
// results are from those of the reference shows how much a graph amplifies rounding.
extern const struct backend wnn_backend_perturbed;

#endif
