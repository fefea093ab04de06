// SPDX-License-Identifier: Apache-2.0
//
// How long a device works on the nodes of a graph, by its own clock.

#ifndef TOOLS_BENCH_DEVICE_H_
#define TOOLS_BENCH_DEVICE_H_

#include "tools/subject.h"

struct device_times {
    double least, median; // seconds
    size_t runs;          // 0: the graph runs on no device, or on one without a clock
    uint64_t bytes;       // that all nodes read and write
};

// Runs for so long, at least three times if there is a device.
bool device_measure(struct subject *subject, double seconds, struct device_times *times, struct error *error);

#endif
