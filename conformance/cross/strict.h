// SPDX-License-Identifier: Apache-2.0
//
// What strictNumerics promises, on hostile random graphs: a graph that is compiled gives what its operators
// give one by one, and each of these what the reference makes of the same operands.

#ifndef CONFORMANCE_CROSS_STRICT_H_
#define CONFORMANCE_CROSS_STRICT_H_

#include "lib/text.h"

#include <webnn/webnn.h>

struct strict_subject {
    WNNContext compiled, apart; // strict contexts of one backend, the latter without passes
    bool flushes;               // denormal numbers are 0
    uint64_t elements, skipped; // compared, and not
};

// False: `message` says what is wrong, and the graph is in `graph` as text.
bool wnn_strict_graph(struct strict_subject *subject, uint64_t seed, struct text *message,
                      struct text *graph);

#endif
