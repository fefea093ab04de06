// SPDX-License-Identifier: Apache-2.0
//
// Files of formats that are not read, for messages that say what somebody has.

#ifndef TOOLS_MODEL_FOREIGN_H_
#define TOOLS_MODEL_FOREIGN_H_

#include "tools/model/bytes.h"

// What such a file is, as "it is ..." goes on; NULL: not known.
const char *wnn_model_foreign(struct bytes bytes);

#endif
