// SPDX-License-Identifier: Apache-2.0
//
// A model: a graph in a builder, with the names that its author gave to operands. It comes from a .webnn file
// or is one of the built-in architectures.

#ifndef TOOLS_MODEL_H_
#define TOOLS_MODEL_H_

#include "ops/builder.h"

#include <webnn/model.h>

#include <stdio.h>

struct model_name {
    WNNOperand operand;
    struct string name;
    struct string key;  // of a constant, among its weights; empty otherwise
    struct string type; // of the operator of its format that makes it; empty otherwise
};

struct model {
    struct allocator allocator;
    struct arena arena; // of names
    WNNContext context; // borrowed
    WNNDataType type;   // of the operands of built-in architectures
    WNNGraphBuilder builder;
    struct string name;
    struct model_name *names; // of operands; an operand may have several
    size_t name_count, name_capacity;
    uint32_t *buckets; // names by hash: 1 + an index, or 0
    size_t bucket_count;
    WNNNamedOperand *outputs;
    size_t output_count, output_capacity;
    struct string *inputs; // names of the file's, also of those that were empty or had values while recording
    size_t input_count;
    struct string faults; // a line for each node that cannot be recorded, if there are several
};

// An empty model; false: the builder could not be made.
bool model_begin(struct model *model, WNNContext context, struct error *error);
void model_end(struct model *model);

// Gives an operand a name; false if something has that name already.
bool model_add_name(struct model *model, struct string name, WNNOperand operand);
bool model_add_value(struct model *model, const WNNModelNamedValue *value);
void model_add_output(struct model *model, struct string name, WNNOperand operand);
// Adds outputs under names that are longer than all others, since a value may have the name of an output, or
// be one. Returns the number of the first; the others follow.
size_t model_add_values(struct model *model, size_t count, const struct operand *const *operands);

// NULL if there is none.
WNNOperand model_find(const struct model *model, struct string name);

// The builder's graph.
static inline const struct graph *model_graph(const struct model *model)
{
    return &((const struct WNNGraphBuilderImpl *)model->builder)->graph;
}

// Multiply-adds (or elements) of one execution.
uint64_t model_work(const struct model *model);

// Starts an error with what the builder says.
bool model_builder_error(struct model *model, struct error *error);

// Writes it as .webnn text, and its weights too unless `weights` is NULL.
bool model_write(const struct model *model, FILE *file, const char *weights, struct error *error);

#endif
