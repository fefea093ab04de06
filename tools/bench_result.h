// SPDX-License-Identifier: Apache-2.0
//
// What `webnn bench` finds out about one graph, and how it shows that.

#ifndef TOOLS_BENCH_RESULT_H_
#define TOOLS_BENCH_RESULT_H_

#include "tools/bench_device.h"
#include "tools/bench_peer.h"

#include <cjson/cJSON.h>

// Of executions. Times are seconds.
struct statistics {
    size_t count;
    double median, mean, least, most, p90, p99, deviation;
    double spread;     // how far the medians of the repeats are apart, as a part of the median
    double per_second; // executions
};

struct bench_settings {
    const char *backend;
    WNNDataType type; // of built-in networks
    struct bench_length length;
    unsigned long warm_up, repeats, in_flight;
    bool tensors, strict, fast;
};

struct bench_result {
    struct bench_settings settings;
    const char *what;          // the word on the command line
    char *name;                // of the network; may be empty
    char *device;              // that computes
    unsigned threads;          // that computed, the host's own of a GPU too
    double load, build, first; // seconds
    double again;              // building with what a cache has kept of the first time; 0: not measured
    struct statistics times;
    uint64_t work;      // multiply-adds
    double resident;    // bytes at most, of the process
    uint64_t allocated; // at most, by the context
    WNNGraphInfo info;
    uint64_t device_peak, device_memory; // bytes: of the context at most, and what the device has; 0: unknown
    struct device_times device_times;
    struct peer_result *peers;
    size_t peer_count;
};

// `times` are of repeats, one after another, which end before `ends`; of a single one fifths take their
// place. `seconds` is what they took all together. They are sorted afterwards.
void statistics_make(struct statistics *statistics, double *times, size_t count, const size_t *ends,
                     size_t repeats, double seconds);

void bench_result_print_head(void);
void bench_result_print(const struct bench_result *result);

// The ports are those of the graph.
cJSON *bench_result_json(const struct bench_result *result, const struct subject *subject);

#endif
