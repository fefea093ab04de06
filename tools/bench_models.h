// SPDX-License-Identifier: Apache-2.0
//
// Networks to measure with: well-known architectures and single operators, recorded through the public API
// with random weights that are the same every time.

#ifndef TOOLS_BENCH_MODELS_H_
#define TOOLS_BENCH_MODELS_H_

#include "tools/model.h"

struct net;

struct bench_model {
    const char *name; // one that ends in ':' is followed by sizes: "matmul:512x512x512"
    const char *summary;
    bool (*build)(struct net *net, const char *sizes, struct error *error);
};

// All of them; the last has no name.
extern const struct bench_model bench_models[];

// The one that a word means, or NULL.
const struct bench_model *bench_model_find(const char *word);

bool bench_model_build(const struct bench_model *bench, const char *word, struct model *model,
                       struct error *error);

// A stream of numbers in [-1, 1).
float random_number(uint64_t *state);

#endif
