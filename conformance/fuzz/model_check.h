// SPDX-License-Identifier: Apache-2.0
//
// What holds of any file that is opened as a model, whatever its format: it is refused with a reason, or
// described, recorded, built and computed; twice the same; within its memory; and nothing is left.

#ifndef CONFORMANCE_FUZZ_MODEL_CHECK_H_
#define CONFORMANCE_FUZZ_MODEL_CHECK_H_

#include "conformance/fuzz/edit.h"

// What came of a model, to be compared with that of another one.
struct model_result {
    bool limited; // to less memory than a small model takes
    bool opened, recorded, computed;
    uint64_t outputs; // a hash of names, shapes and elements
};

// Opens a model, whose external data are in the folder of edit.h, records it with what `choices` say, and so
// on. Ends the process if something does not hold.
struct model_result check_model(const struct contents *file, const struct edits *choices);

#endif
