// SPDX-License-Identifier: Apache-2.0
//
// Random legal graphs whose results are well-conditioned: the values that reach an operator are within its
// comfortable range, and operators that jump (comparisons, rounding, arg-min and such) see only values on
// which all implementations agree exactly. Some graphs consist of such operators only, and have NaN,
// infinities, zeros of both signs and denormals in their inputs. Hostile graphs have them before all
// operators; of their values ranges are not known. The same seed gives the same graph on every builder.

#ifndef CONFORMANCE_CROSS_GENERATE_H_
#define CONFORMANCE_CROSS_GENERATE_H_

#include "conformance/cross/random_graph.h"

// Records a graph on a builder. Ends with wnn_random_graph_free.
void wnn_random_graph(uint64_t seed, struct random_kind kind, WNNGraphBuilder builder,
                      struct random_graph *graph);
void wnn_random_graph_free(struct random_graph *graph);

#endif
