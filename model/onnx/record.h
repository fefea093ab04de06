// SPDX-License-Identifier: Apache-2.0
//
// Recording an ONNX file into a builder.

#ifndef MODEL_ONNX_RECORD_H_
#define MODEL_ONNX_RECORD_H_

#include "model/onnx/file.h"

#include <webnn/webnn.h>

struct onnx_dimension_value {
    struct bytes name;
    int64_t value;
};

// The elements or the shape of an input that are known before.
struct onnx_known_input {
    struct bytes name;
    bool has_shape; // `dims` are given
    size_t rank;
    const int64_t *dims;
    struct bytes data; // of its type, as it lies in memory; NULL: not known
};

struct onnx_record {
    WNNGraphBuilder builder;
    const struct onnx_dimension_value *dimensions;
    size_t dimension_count;
    const struct onnx_known_input *known;
    size_t known_count;
    bool narrow;
    // Where external data are; both are called for each part that is lent, `release` from any thread.
    struct bytes (*external)(void *userdata, const struct onnx_tensor *tensor, const char **fault);
    void (*lend)(void *lent);
    void (*release)(const void *data, size_t size, void *lent, void *unused);
    void *userdata; // of external
    void *lent;     // of lend and release
    // What went wrong with each node, one line each, as many as fit.
    char *errors;
    size_t error_size;
};

// Outputs in the order of the model, up to `capacity`. False: `errors` says why. Text in outputs is the
// file's.
bool wnn_onnx_record(struct onnx_file *file, const struct onnx_record *options, size_t capacity,
                     WNNNamedOperand *outputs, size_t *count);

#endif
