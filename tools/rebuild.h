// SPDX-License-Identifier: Apache-2.0
//
// Recording the graph of a model anew with other operands in the place of some: what a converter of weights
// does. What no output depends on is left behind.

#ifndef TOOLS_REBUILD_H_
#define TOOLS_REBUILD_H_

#include "tools/model.h"

struct rebuild {
    const struct model *from;
    struct model *to;     // has begun, and is empty
    const bool *live;     // by operand of `from`: an output depends on it, or it is an input
    WNNOperand *recorded; // by operand of `from`: what stands for it in `to`; NULL: nothing yet
    // Called for every live node, in order: may let `*skip` be true, which leaves the node out, or put what
    // stands for its outputs in `recorded` itself. False: an error.
    bool (*node)(struct rebuild *rebuild, const struct node *node, bool *skip);
    // Called when a constant or the result of a node that was left out is needed: what stands for it. A
    // constant for which `*result` stays NULL is recorded as it was. False: an error.
    bool (*operand)(struct rebuild *rebuild, const struct operand *operand, WNNOperand *result);
    void *argument; // of the two
    struct error *error;
};

// Which operands of a model outputs depend on, and its inputs; to be freed with free().
bool *rebuild_find_live(const struct model *model);

// Records everything, and gives names and outputs to what stands for their operands. The caller has filled in
// all but `recorded`. The bytes of constants are those of `from`, which has to outlive `to` and its graphs.
bool rebuild_run(struct rebuild *rebuild);

// What stands for an operand, for those functions. NULL and an error if it cannot be recorded.
WNNOperand rebuild_operand(struct rebuild *rebuild, const struct operand *operand);

// Records one operator with these operands and attributes, which are of no other builder; one output. NULL
// and an error if the builder refuses it.
WNNOperand rebuild_call(struct rebuild *rebuild, enum op op, size_t count, const WNNOperand *operands,
                        const void *attrs);

// A constant whose bytes, of malloc(), become the builder's in any case.
WNNOperand rebuild_constant(struct rebuild *rebuild, const struct descriptor *type, void *bytes);

#endif
