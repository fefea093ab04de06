// SPDX-License-Identifier: Apache-2.0
//
// A graph with everything that it needs to run, and how long its runs took.

#ifndef TOOLS_SUBJECT_H_
#define TOOLS_SUBJECT_H_

#include "tools/run_data.h"

struct subject {
    struct session *session; // borrowed, and so is the graph
    WNNGraph graph;
    struct run_port *inputs, *outputs;
    size_t input_count, output_count;
    WNNNamedBuffer *input_buffers, *output_buffers;
    double *times; // seconds
    size_t time_count, time_capacity;
};

void subject_begin(struct subject *subject, struct session *session, WNNGraph graph);
void subject_end(struct subject *subject); // of one that has not begun, too, if it is zero

// Lets an output, "INPUT=OUTPUT", lie where an input does. False: they are not there, or of different types.
bool subject_replace(struct subject *subject, const char *pair, struct error *error);
// The number of the input that an output replaces, or SIZE_MAX.
size_t subject_replaced(const struct subject *subject, size_t output);

// One execution, and its time.
bool subject_run(struct subject *subject, struct error *error);
void subject_add_time(struct subject *subject, double seconds);

// The shortest time first.
void subject_sort_times(struct subject *subject);

#endif
