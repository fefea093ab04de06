// SPDX-License-Identifier: Apache-2.0
//
// The graph builder: a graph that grows, its first error, its limits. Used by one thread at a time.

#ifndef OPS_BUILDER_H_
#define OPS_BUILDER_H_

#include "ops/check.h"

// What the builder needs of the context that it belongs to; the runtime's.
struct builder_host {
    // InvalidStateError and such: whether the builder may be used now. False: `error` says why.
    bool (*usable)(void *host, struct error *error);
    // The data types of a row that the context's backend supports.
    uint32_t (*types)(void *host, enum op op, const struct op_row *row);
    // The bytes, type and shape of a constant tensor, with a new reference to the bytes; false (and `error`):
    // refused.
    bool (*tensor)(void *host, WNNTensor tensor, struct descriptor *type, struct constant **constant,
                   struct error *error);
};

struct WNNGraphBuilderImpl {
    struct graph graph;
    struct error error; // the first one
    WNNLimits limits;
    const struct builder_host *host;
    void *context;                      // passed to the host's functions
    struct arena told, told_activation; // what webnn/reflection.h told last of an operator and an activation
};

// A builder inside of memory that the runtime owns.
void wnn_builder_init(struct WNNGraphBuilderImpl *builder, struct allocator *allocator,
                      const WNNLimits *limits, const struct builder_host *host, void *context);
void wnn_builder_free(struct WNNGraphBuilderImpl *builder);

// The sizes of the dimensions of an input, some of which may have names; false: the builder's error says why
// not. sizes.c
bool wnn_name_dimensions(struct WNNGraphBuilderImpl *builder, const char *what,
                         const WNNNamedDimensions *dimensions, WNNUint32List shape, uint32_t *sizes);
// What these say of each dimension, as operand.named; NULL: no memory.
const struct bounds *wnn_named_bounds(struct WNNGraphBuilderImpl *builder,
                                      const WNNNamedDimensions *dimensions);
// The size that an amount is; 0 when there are too many or memory runs out, which the builder's error says.
uint32_t wnn_builder_size(struct WNNGraphBuilderImpl *builder, const char *what, const struct amount *amount);
// What a size is; false: none.
bool wnn_describe_size(const struct size_table *sizes, uint32_t size, WNNDimension *dimension);

// Adds up the work of a graph; false: it is more than the limits allow.
bool wnn_check_graph_work(const WNNLimits *limits, struct graph *graph, struct error *error);

// Keeps a name or label for as long as the builder and what is built from it; `string` becomes the copy.
// False: an error of the builder, that `what` has no room or there is no memory.
bool wnn_builder_keep_string(struct WNNGraphBuilderImpl *builder, const char *what, struct string *string);

// A constant of the builder that has a reference to these bytes; NULL: the builder's error says why not.
WNNOperand wnn_builder_share_constant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                      struct constant *constant);

// Copies what the outputs depend on into an empty graph, with its inputs and outputs as ports: the steps of
// build() that the caller's thread takes, https://www.w3.org/TR/webnn/#api-mlgraphbuilder-build.
// `tensor_alive` tells whether the tensor behind a constant(tensor) still exists. Until the builder is copied
// again, the link of each of its operands is the copy, or NULL.
bool wnn_builder_snapshot(struct WNNGraphBuilderImpl *builder, size_t output_count,
                          const WNNNamedOperand *outputs, bool (*tensor_alive)(const void *origin),
                          struct graph *graph, struct error *error);

#endif
