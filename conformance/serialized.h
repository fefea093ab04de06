// SPDX-License-Identifier: Apache-2.0
//
// Serialized graphs in memory, for tests: constants are in them, or stand where they are and have their
// address as id.

#ifndef CONFORMANCE_SERIALIZED_H_
#define CONFORMANCE_SERIALIZED_H_

#include <webnn/serialize.h>

struct serialized {
    unsigned char *data; // to be freed with free()
    size_t size, capacity;
};

// A WNNWriteCallback that appends to the struct serialized at userdata1. Ends the process if there is no
// memory.
WNNStatus wnn_serialized_add(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2);

// Ends the process if malloc() has no memory. `message` of `message_size` bytes, or NULL.
WNNStatus wnn_serialize(WNNGraphBuilder builder, size_t output_count, const WNNNamedOperand *outputs,
                        bool by_address, struct serialized *to, size_t message_size, char *message);

// The builder that has written constants by their address has to outlive what is made of this one.
WNNStatus wnn_deserialize(WNNGraphBuilder builder, const struct serialized *from,
                          WNNDeserializedGraph *graph);

bool wnn_serialized_equal(const struct serialized *a, const struct serialized *b);

// Writes what the first builder holds, records it in the second one, and writes that: the same. The outputs
// are those of the second one. Returns what went wrong, in `message` or static, or NULL.
const char *wnn_serialize_across(WNNGraphBuilder from, size_t output_count, const WNNNamedOperand *outputs,
                                 bool by_address, WNNGraphBuilder to, WNNDeserializedGraph *graph,
                                 size_t message_size, char *message);

#endif
