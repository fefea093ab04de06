// SPDX-License-Identifier: Apache-2.0
//
// `webnn graph --why`: what the compiler's passes say of their patterns.

#ifndef TOOLS_WHY_H_
#define TOOLS_WHY_H_

#include "compiler/explain.h"

#include <stdio.h>

struct why {
    struct remark *remarks;
    size_t count;
};

// Collects remarks in *why, which is to be freed.
struct explainer why_explainer(struct why *why);
void why_free(struct why *why);

// Prints, for each product, attention and normalization of the compiled graph, and for what came near to one,
// which patterns took it or what kept it from them.
void why_show(const struct why *why, const struct graph *graph, FILE *file);

#endif
