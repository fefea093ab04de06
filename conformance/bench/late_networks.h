// SPDX-License-Identifier: Apache-2.0
//
// Networks whose sizes come late, with the same random weights each time: a decoder that adds a token to what
// it has seen, and a reader of lines of text of any width.

#ifndef CONFORMANCE_BENCH_LATE_NETWORKS_H_
#define CONFORMANCE_BENCH_LATE_NETWORKS_H_

#include <webnn/ops.h>

// Constants in the order in which a network makes them, kept for the next time that it is recorded.
struct late_weights {
    float **items;
    size_t count, capacity;
};

void late_weights_free(struct late_weights *weights);

// Inputs "token" and "position", [1, 1] of int32, and per layer "past_key_N" and "past_value_N",
// [1, pairs, rows, 64]; outputs "next", [1, 1] of int32, and "present_key_N", "present_value_N". heads is a
// multiple of pairs.
struct late_decoder {
    unsigned layers, heads, pairs, inner, vocabulary;
    unsigned rows; // of the caches; 0: as many as there are, and the present has one more
    bool savable;
};

enum {
    LATE_HEAD = 64
};

// Input "image", [1, 3, 32, width]; output "scores", [width / 4, 1, classes]. Width 0: of any size.
struct late_reader {
    unsigned width, classes;
};

// NULL: `message` says why not.
WNNGraph late_decoder_build(WNNContext context, const struct late_decoder *decoder,
                            struct late_weights *weights, size_t capacity, char *message);
WNNGraph late_reader_build(WNNContext context, const struct late_reader *reader, struct late_weights *weights,
                           size_t capacity, char *message);

#endif
