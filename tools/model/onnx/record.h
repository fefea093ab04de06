// SPDX-License-Identifier: Apache-2.0
//
// Recording an ONNX file into a builder.

#ifndef TOOLS_MODEL_ONNX_RECORD_H_
#define TOOLS_MODEL_ONNX_RECORD_H_

#include "tools/model/format.h"
#include "tools/model/onnx/file.h"

// Records an opened struct onnx_file, as a format does.
bool wnn_onnx_record(void *file, struct model_record *record);

#endif
