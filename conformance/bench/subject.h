// SPDX-License-Identifier: Apache-2.0
//
// A built-in float32 network, built and with memory to run on: what the benchmarks measure.

#ifndef CONFORMANCE_BENCH_SUBJECT_H_
#define CONFORMANCE_BENCH_SUBJECT_H_

#include "conformance/clock.h"
#include "tools/session.h"

struct subject {
    struct session *session; // borrowed
    WNNGraph graph;          // owned
    size_t input_count, output_count;
    WNNNamedBuffer *inputs, *outputs;
};

// Takes the graph, and has touched all memory of inputs and outputs.
void subject_begin(struct subject *subject, struct session *session, WNNGraph graph);
void subject_end(struct subject *subject);

// One execution; false after a message.
bool subject_run(struct subject *subject);

// Sorts, and returns the one in the middle.
double median_of(double *values, size_t count);

#endif
