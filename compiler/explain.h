// SPDX-License-Identifier: Apache-2.0
//
// What passes say of their patterns to whoever wants to know: what took a node, and what kept one that came
// near.

#ifndef COMPILER_EXPLAIN_H_
#define COMPILER_EXPLAIN_H_

#include "lib/graph.h"

struct explanation {
    const char *pass;    // that looks for the pattern; static text
    const char *pattern; // what the node would be a part of, or is; static text
    bool taken;
    const char *reason;           // why not, a sentence without its end; valid during the call
    const struct operand *result; // what the node computes, or computed
};

struct explainer {
    void (*explain)(void *argument, const struct explanation *explanation);
    void *argument;
};

// Nothing happens where nobody wants to know, that is without an explainer. A NULL reason: it is taken.
static inline void wnn_explain(const struct explainer *explainer, const char *pass, const char *pattern,
                               const struct operand *result, const char *reason)
{
    const struct explanation explanation = {pass, pattern, !reason, reason ? reason : "", result};
    if (explainer)
        explainer->explain(explainer->argument, &explanation);
}

#endif
