// SPDX-License-Identifier: Apache-2.0
//
// Running one test of a vector file through the public API.

#ifndef CONFORMANCE_TEST_H_
#define CONFORMANCE_TEST_H_

#include "lib/text.h"

#include <cjson/cJSON.h>
#include <stdio.h>

enum outcome {
    OUTCOME_PASSED,
    OUTCOME_FAILED,
    OUTCOME_SKIPPED,
};

struct subject {
    WNNContext context;
    bool lossy;         // nodes may run on XNNPACK, which may make an infinity of a NaN
    bool flushes;       // the device takes denormal numbers for 0
    bool values;        // compare results; otherwise it is enough that a graph is built and computed
    bool tensors;       // compute by dispatch()
    bool serialized;    // build what a second builder reads of the first one's bytes
    bool compiled;      // run what is loaded of the graph that was built and saved
    bool weightless;    // run what is loaded of the graph that was saved without constants that have names
    WNNContext spoiled; // with `compiled`: loads it with mistakes too, so many times; or NULL
    size_t spoiled_count;
    bool constants;    // inputs are constants of the graph, so that compiling it is computing it
    FILE *saved_to;    // graphs are compiled and saved there, one behind the other, and not computed; or NULL
    FILE *loaded_from; // graphs are loaded from what has been saved so, in the same order; or NULL
};

// `kind` is the file's: "conformance", "derived" or "validation". `message` says what went wrong.
enum outcome wnn_run_test(const struct subject *subject, const char *kind, const cJSON *test,
                          struct text *message);

// Builds and computes on any context, waiting for the end. On failure `message` has the library's.
bool wnn_build_and_wait(WNNContext context, WNNGraphBuilder builder, size_t output_count,
                        const WNNNamedOperand *outputs, WNNGraph *graph, struct text *message);
bool wnn_compute_and_wait(WNNContext context, WNNGraph graph, size_t input_count,
                          const WNNNamedBuffer *inputs, size_t output_count, const WNNNamedBuffer *outputs,
                          struct text *message);
// The same on tensors.
bool wnn_dispatch_and_wait(WNNContext context, WNNGraph graph, size_t input_count,
                           const WNNNamedBuffer *inputs, size_t output_count, const WNNNamedBuffer *outputs,
                           struct text *message);

#endif
