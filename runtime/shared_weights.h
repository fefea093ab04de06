// SPDX-License-Identifier: Apache-2.0
#ifndef RUNTIME_SHARED_WEIGHTS_H_
#define RUNTIME_SHARED_WEIGHTS_H_

#include "compiler/derived.h"
#include "lib/status.h"

struct derived *wnn_shared_weights_of(WNNSharedWeights weights); // NULL is accepted

// The object that a chain gives, with a reference, or NULL. False: it gives none where it should.
bool wnn_take_sharing(const WNNChainedStruct *chain, const char *what, WNNSharedWeights *weights,
                      struct error *error);

#endif
