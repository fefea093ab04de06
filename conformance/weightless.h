// SPDX-License-Identifier: Apache-2.0
//
// Graphs whose constants have names, saved without their bytes, for tests.

#ifndef CONFORMANCE_WEIGHTLESS_H_
#define CONFORMANCE_WEIGHTLESS_H_

#include "conformance/serialized.h"

#include <webnn/compiled.h>

// Who has the bytes of constants of a builder, by the indices of their operands. It may be asked by
// strangers.
WNNConstantSource wnn_source_of(WNNGraphBuilder builder);

// Records what a builder holds in another one, where `salt` chooses for each constant whether it is a name,
// or bytes with one or without; builds that, saves it without weights, and loads it: with the bytes that are
// there, and what wnn_source_of has. `bytes` gets what was saved. NULL: the message says why not.
WNNGraph wnn_build_weightless(WNNContext context, WNNGraphBuilder from, size_t output_count,
                              const WNNNamedOperand *outputs, uint64_t salt, struct serialized *bytes,
                              size_t message_size, char *message);

#endif
