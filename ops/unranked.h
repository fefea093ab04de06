// SPDX-License-Identifier: Apache-2.0
//
// Operands whose rank is known only when sizes are: what squeeze leaves of dimensions that may be 1, or what
// a list of sizes of an unknown number of items says. Whatever an operator makes of one is inferred for every
// rank that it may have, by the same inference as ever.

#ifndef OPS_UNRANKED_H_
#define OPS_UNRANKED_H_

#include "ops/op.h"

enum {
    // The table lets no operator have more, as a test ensures: operands, all of a list being one, and
    // combinations of the ranks that they may have.
    WNN_UNRANKED_OPERANDS = 8,
    WNN_UNRANKED_TRIALS = 1024
};

// Of operands as a call and a node have them.
bool wnn_has_unranked(struct operand *const *in, unsigned count);

// Checks and infers a call of which an operand has no rank, and which is ready for infer otherwise. `check`
// is what comes before infer. The result has what the results for all ranks that are possible have in common;
// false if none is, for the reason that the last of them gives.
bool wnn_infer_unranked(struct op_call *call, bool (*check)(struct op_call *call, void *context),
                        void *context);

#endif
