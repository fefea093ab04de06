// SPDX-License-Identifier: Apache-2.0
//
// Executions that are measured: one after another or several in flight, on the host's memory or on tensors of
// the context.

#ifndef TOOLS_BENCH_RUN_H_
#define TOOLS_BENCH_RUN_H_

#include "tools/subject.h"

// How often, or for how long since it began, at least three times.
struct bench_length {
    unsigned long iterations; // 0: as often as fits
    double seconds;
};

bool bench_length_reached(const struct bench_length *length, size_t runs, double begin);

struct lane; // what one execution in flight has for itself

struct bench_run {
    struct subject *subject; // borrowed
    struct lane *lanes;
    size_t lane_count;
    WNNNamedTensor *inputs; // shared by all; NULL: the host's memory is used
};

// `tensors`: the inputs are written to tensors once, and the outputs stay in theirs. False: there are none;
// to be ended all the same.
bool bench_run_begin(struct bench_run *run, struct subject *subject, size_t in_flight, bool tensors,
                     struct error *error);
void bench_run_end(struct bench_run *run); // of zeros too

// Executes. Each time, from the call to the end, is added to those of the subject, and the time that all of
// them took together to *seconds. `what` is for the terminal.
bool bench_run_execute(struct bench_run *run, const struct bench_length *length, const char *what,
                       double *seconds, struct error *error);

#endif
