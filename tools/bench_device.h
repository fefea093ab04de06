// SPDX-License-Identifier: Apache-2.0
//
// How long a device works on the nodes of a graph, by its own clock.

#ifndef TOOLS_BENCH_DEVICE_H_
#define TOOLS_BENCH_DEVICE_H_

#include "tools/bench_run.h"

struct device_times {
    double least, median; // seconds
    size_t runs;          // 0: the graph runs on no device, or on one without a clock
    uint64_t bytes;       // that all nodes read and write
};

// Executes if there is a device. The times of the subject are lost.
bool device_measure(struct subject *subject, const struct bench_length *length, struct device_times *times,
                    struct error *error);

#endif
