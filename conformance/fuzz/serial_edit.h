// SPDX-License-Identifier: Apache-2.0
//
// Mistakes that serialized graphs can have. Shares nothing with what reads them but the description in
// webnn/serialize.h.

#ifndef CONFORMANCE_FUZZ_SERIAL_EDIT_H_
#define CONFORMANCE_FUZZ_SERIAL_EDIT_H_

#include "conformance/fuzz/edit.h"

// Makes one mistake: mostly a number, a text or a list becomes another one and all lengths and counts around
// it stay right; else one in the header or in bytes of any meaning.
void serial_spoil(struct contents *bytes, struct edits *edits);

#endif
