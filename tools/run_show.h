// SPDX-License-Identifier: Apache-2.0
//
// What `webnn run` shows of a result.

#ifndef TOOLS_RUN_SHOW_H_
#define TOOLS_RUN_SHOW_H_

#include "tools/run_data.h"

struct labels {
    char **lines;
    size_t count;
};

bool labels_read(const char *path, struct labels *labels, struct error *error);
void labels_free(struct labels *labels);

// Whether an output is a list of scores: all dimensions but one are 1.
bool is_scores(const struct descriptor *type);

// The index of the greatest score, the first of equal ones.
size_t best_score(const struct run_port *port);

// The highest scores, a line each, or for other outputs type, range and first values.
void show_output(const struct run_port *port, const struct labels *labels, size_t top);

// The input as a picture with the scores as bars beside it. False: the input is no image.
bool draw_result(const struct run_port *input, const struct pixel_rule *rule, const struct run_port *output,
                 const struct labels *labels, size_t top);

#endif
