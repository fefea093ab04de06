// SPDX-License-Identifier: Apache-2.0
//
// The benchmark page: a text file with the machine, the times and the ratios to peers.

#ifndef TOOLS_BENCH_REPORT_H_
#define TOOLS_BENCH_REPORT_H_

#include "tools/bench_peer.h"
#include "tools/bench_run.h"

#include <stdio.h>

// Everything above the tables.
void report_head(FILE *file, size_t rounds, const struct bench_length *length, size_t peer_count,
                 const char *const *commands);

// A row; the heading of a table stands above its first row. `least` and `first` are ours, in seconds.
void report_table(FILE *file, unsigned threads);
void report_row(FILE *file, const char *graph, double least, double first, double gflops,
                const struct peer_result *peers, size_t peer_count);

// Below the last row: how busy the machine was.
void report_table_end(FILE *file);

#endif
