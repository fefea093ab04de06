// SPDX-License-Identifier: Apache-2.0
//
// Programs to compare with: shell commands that run the same network with something else and print how many
// milliseconds it took.

#ifndef TOOLS_BENCH_PEER_H_
#define TOOLS_BENCH_PEER_H_

#include "lib/status.h"

// What one peer has shown on one graph.
struct peer_result {
    char name[64];
    bool found;   // it printed a time
    double least; // seconds
};

// Runs the command once, with WEBNN_GRAPH and WEBNN_THREADS in its environment, and takes the least of what
// it prints: a number at the beginning of a line, or "min_ms" of a JSON object in a line, whose "peer" is the
// name. Exit code 77 says that the peer does not have this network.
bool peer_run(const char *command, const char *graph, unsigned threads, struct peer_result *result,
              struct error *error);

#endif
