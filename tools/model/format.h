// SPDX-License-Identifier: Apache-2.0
//
// What a format of models is to libwebnn-model: how it is recognized, described and recorded. A format is a
// folder beside this file and one line in model.c.

#ifndef TOOLS_MODEL_FORMAT_H_
#define TOOLS_MODEL_FORMAT_H_

#include "tools/model/errors.h"
#include "tools/model/memory.h"
#include "tools/model/source.h"

// All of it lies in the model's memory or its file.
struct model_description {
    WNNModelInfo info;
    WNNModelValue *inputs, *outputs;
    WNNModelMetadata *metadata;
    WNNModelOperator *operators;
    size_t input_count, output_count, metadata_count, operator_count, operator_capacity;
    size_t *slots; // of a hash table of operators, two for each that has room: their places, from 1 on
};

struct model_record {
    WNNGraphBuilder builder;
    struct model_source *source;
    const WNNModelRecordOptions *options;
    struct model_errors errors;
    size_t memory_limit; // of what recording takes
    size_t capacity;
    WNNNamedOperand *outputs; // in the order of the file; `name` lies in the model's memory or its file
};

struct model_format {
    WNNModelFormat format;
    const char *name;   // for people: "ONNX"
    const char *ending; // of files that are of no other format, so that the error is about this one; or NULL
    size_t most;        // bytes that are read of a pipe or device; 0: 1 GiB

    // Whether the bytes begin as such a file does; 64 are enough to tell.
    bool (*recognize)(struct bytes bytes);

    // Copies what a mapped file says of a model; NULL: all of a file is read once, to describe it.
    bool (*copy_description)(struct model_source *source, struct error *error);

    // Reads the description; what it returns is given to `record`, and lies in `memory`. NULL: an error,
    // without the path.
    void *(*open)(struct model_source *source, struct model_memory *memory,
                  struct model_description *description, struct error *error);

    // Records it, with outputs up to the capacity. False: there is at least one error.
    bool (*record)(void *opened, struct model_record *record);

    // Frees what does not lie in `memory`; NULL: there is nothing.
    void (*close)(void *opened);
};

// Counts a node of an operator; false: no memory.
bool wnn_model_count_operator(struct model_memory *memory, struct model_description *description,
                              WNNStringView domain, WNNStringView name, bool supported);

// How much is read of a pipe or device that begins so (struct mapping_rule); of what is no model, the
// beginning.
size_t wnn_model_extent(const unsigned char *data, size_t size, void *unused);

extern const struct model_format wnn_format_onnx, wnn_format_tflite, wnn_format_webnn;

#endif
