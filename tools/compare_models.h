// SPDX-License-Identifier: Apache-2.0
//
// How far the outputs of one model lie from those of another with the same inputs and outputs.

#ifndef TOOLS_COMPARE_MODELS_H_
#define TOOLS_COMPARE_MODELS_H_

#include "tools/session.h"

// What both models are run on: files, and random numbers for inputs without one.
struct comparison_inputs {
    const char *const *files; // "NAME=FILE", or "FILE" for the only input
    size_t file_count;
    uint64_t seed; // not 0
};

// Of the outputs of one name. An element that is not finite in one model counts as infinitely far, unless it
// is the same in both.
struct output_difference {
    struct string name; // of the model that was passed
    double max;         // absolute
    double relative;    // of the greatest magnitude that the first model has there
    double rms;         // root of the mean square
    double cosine;      // of the angle between the two as vectors; 1 where both are 0
};

// Runs both graphs once, and fills in a difference for each output of `model`, whose outputs both have.
bool compare_graphs(struct session *session, const struct model *model, WNNGraph first, WNNGraph second,
                    const struct comparison_inputs *inputs, struct output_difference *differences,
                    struct error *error);

#endif
