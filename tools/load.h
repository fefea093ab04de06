// SPDX-License-Identifier: Apache-2.0
//
// What a word on the command line names: a file or a built-in architecture.

#ifndef TOOLS_LOAD_H_
#define TOOLS_LOAD_H_

#include "tools/model.h"

#include <webnn/model.h>

enum {
    MAX_OPEN = 64 // dimensions or shapes that are given
};

// What is said of a model that leaves something open.
struct load_options {
    const char *weights; // of a .webnn file, "-" for standard input, or NULL
    WNNModelDimensionValue dimensions[MAX_OPEN];
    WNNModelInputValue inputs[MAX_OPEN];
    uint32_t sizes[MAX_OPEN][8];  // of inputs
    const char *values[MAX_OPEN]; // "NAME=NUMBER,NUMBER..."
    size_t dimension_count, input_count, value_count;
    bool narrow;
    bool late;    // what is left open stays open, in a graph for all sizes
    bool several; // models are given this, of which each takes what it has
    // Shapes of values that are at hand for inputs, by name or place, for sizes that nothing else says; NULL:
    // there are none. Shapes that are not found stay as they are.
    void (*find_shapes)(const void *values, size_t count, const struct string *names, struct shape *shapes);
    const void *values_at_hand;
};

// Whether the weights are standard input.
bool load_reads_standard(const struct load_options *options);

// "NAME=SIZE", "NAME=1x3x224x224" and "NAME=NUMBER,NUMBER..."; the argument has to stay. False after a
// message.
bool load_add_dimension(struct load_options *options, const char *argument);
bool load_add_shape(struct load_options *options, const char *argument);
bool load_add_value(struct load_options *options, const char *argument);

// What standard input has: a model, or what webnn compile has written.
struct mapping *load_open_stream(struct error *error);

// Reads a model of ONNX, or a .webnn file with its weights or the .safetensors beside it, or makes a built-in
// architecture. The model has begun; it must be ended on failure too. NULL options: none. What is wrong with
// several nodes is shown on stderr, a line each, and the error says of how many.
bool model_load(struct model *model, const char *what, const struct load_options *options,
                struct error *error);

// The same, but those lines are only kept, as the model's faults.
bool model_load_silently(struct model *model, const char *what, const struct load_options *options,
                         struct error *error);

#endif
