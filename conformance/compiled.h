// SPDX-License-Identifier: Apache-2.0
//
// Compiled graphs in memory, for tests.

#ifndef CONFORMANCE_COMPILED_H_
#define CONFORMANCE_COMPILED_H_

#include "conformance/serialized.h"

#include <webnn/compiled.h>

// What a context that reads the bytes of a stranger may be asked for in tests: small graphs.
extern const WNNLimits wnn_limits_of_strangers;

// Builds a graph as a chain says, which may be NULL, and waits. `message` of `message_size` bytes.
WNNStatus wnn_build_chained(WNNContext context, WNNGraphBuilder builder, const WNNChainedStruct *chain,
                            size_t output_count, const WNNNamedOperand *outputs, WNNGraph *graph,
                            size_t message_size, char *message);

// Builds a graph that can be saved, and waits. `message` of `message_size` bytes.
WNNStatus wnn_build_savable(WNNContext context, WNNGraphBuilder builder, size_t output_count,
                            const WNNNamedOperand *outputs, WNNGraph *graph, size_t message_size,
                            char *message);

// The same with what was recorded.
WNNStatus wnn_build_recompilable(WNNContext context, WNNGraphBuilder builder, size_t output_count,
                                 const WNNNamedOperand *outputs, WNNGraph *graph, size_t message_size,
                                 char *message);

// As a chain says, which may be NULL, in the place of what `to` holds.
WNNStatus wnn_save_chained(WNNGraph graph, const WNNChainedStruct *chain, struct serialized *to,
                           size_t message_size, char *message);
WNNStatus wnn_save_graph(WNNGraph graph, struct serialized *to, size_t message_size, char *message);

// Aligned as bytes to load should be; to be freed.
void *wnn_aligned_copy(const void *data, size_t size);

// Loads a copy that is freed with the graph. Checksums are checked.
WNNStatus wnn_load_chained(WNNContext context, const WNNChainedStruct *chain, const void *data, size_t size,
                           WNNGraph *graph, size_t message_size, char *message);
WNNStatus wnn_load_copy(WNNContext context, const void *data, size_t size, WNNGraph *graph,
                        size_t message_size, char *message);

// The same without a copy: the bytes must not change before the graph is released.
WNNStatus wnn_load_borrowed(WNNContext context, const WNNChainedStruct *chain, const void *data, size_t size,
                            WNNGraph *graph, size_t message_size, char *message);

// As wnn_load_copy, built of what was recorded if need be.
WNNStatus wnn_load_recompiling(WNNContext context, const void *data, size_t size, WNNGraph *graph,
                               size_t message_size, char *message);

// For WNNLoadGraphDescriptor.authenticate: the host vouches for all bytes.
WNNStatus wnn_vouch(const void *data, size_t size, void *userdata1, void *userdata2);

// Where what was recorded begins; `size`: it is not there.
size_t wnn_compiled_recording(const unsigned char *data, size_t size);

// Makes digests and the checksum those of the bytes, as far as there are so many; the length too.
void wnn_seal_compiled(unsigned char *data, size_t size);

// Runs a graph on some numbers, at some sizes if they are not known, and waits.
void wnn_compute_any(WNNContext context, WNNGraph graph);

// Loads bytes, which are right, `count` times with mistakes in the head and what was recorded, sealed so that
// it is believed, and runs what is taken for a graph. Returns how often that was so. The context should have
// limits. `source`: of constants that are not in the bytes, or NULL.
size_t wnn_try_spoiled(WNNContext context, const struct serialized *bytes, const WNNConstantSource *source,
                       size_t count, uint64_t seed);

#endif
