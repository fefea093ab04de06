// SPDX-License-Identifier: Apache-2.0
//
// Models of ONNX that are mostly valid, of nodes as onnx_nodes.def describes them and of graphs in graphs.

#ifndef CONFORMANCE_FUZZ_ONNX_MAKE_H_
#define CONFORMANCE_FUZZ_ONNX_MAKE_H_

#include "conformance/fuzz/wire.h"

// The file that external data are in, beside the model.
#define ONNX_EXTERNAL "w.bin"

// How many ways there are to store elements: one by one, as they lie in memory, in another file. A model
// means the same in each.
#define ONNX_STORAGES 3

// Makes the model that the bytes say. Elements are stored in a way that `storage` turns on; what belongs into
// the file of external data is added to `external`. A dimension that is called "n=3" is 3.
struct wire_message *onnx_make(struct wire_pool *pool, struct edits *edits, unsigned storage,
                               struct contents *external);

#endif
