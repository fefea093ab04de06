// SPDX-License-Identifier: Apache-2.0
//
// A network in a file, ready to compute: what the examples share.

#ifndef TOOLS_EXAMPLES_NETWORK_H_
#define TOOLS_EXAMPLES_NETWORK_H_

#include <webnn/model.h>
#include <webnn/webnn.h>

// Functions that fail have said why on standard error. All zeros can be closed.
struct network {
    const char *path;
    WNNContext context; // the caller's, who keeps it for as long as the network
    WNNModel model;
    WNNGraph graph;    // NULL until it is built
    uint32_t shape[4]; // that network_apply built it for
};

// "program: " and a message, whose control characters, which may come from a file, are shown as question
// marks.
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A context on the CPU, or on a GPU if the first argument is --gpu, which is taken away. NULL on failure.
WNNContext open_context(int *argc, char ***argv);

bool network_open(struct network *network, WNNContext context, const char *path);

// Builds the graph for inputs of which the model leaves something open: sizes, or the values of constants.
// May be called again, for others.
bool network_build(struct network *network, size_t count, const WNNModelInputValue *inputs);

// Computes a network with one input and one output, as those on images are; it is built for the shape if it
// is not yet. The output belongs to the caller, who frees it, its shape to the network until that is built
// again. NULL on failure.
float *network_apply(struct network *network, const uint32_t shape[4], const float *input,
                     WNNUint32List *output_shape);

void network_close(struct network *network);

#endif
