// SPDX-License-Identifier: Apache-2.0
//
// Recording a TensorFlow Lite file into a builder.

#ifndef TOOLS_MODEL_TFLITE_RECORD_H_
#define TOOLS_MODEL_TFLITE_RECORD_H_

#include "tools/model/format.h"
#include "tools/model/tflite/file.h"

// An opened file, with the names that its inputs and outputs have for a program.
struct tflite_model {
    struct tflite_file file;
    WNNStringView *input_names, *output_names;
};

// Records an opened struct tflite_model, as a format does.
bool wnn_tflite_record(void *model, struct model_record *record);

#endif
