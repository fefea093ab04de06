// SPDX-License-Identifier: Apache-2.0
//
// Calls of operators as the vector files describe them, made by way of the operator table.

#ifndef CONFORMANCE_CALL_H_
#define CONFORMANCE_CALL_H_

#include "ops/op.h"

#include <cjson/cJSON.h>

// Operands by name.
struct scope {
    struct scope_entry {
        const char *name; // not copied
        WNNOperand operand;
    } * entries;
    size_t count, capacity;
};

bool wnn_scope_add(struct scope *scope, const char *name, WNNOperand operand); // false when memory runs out
bool wnn_scope_find(const struct scope *scope, const char *name, WNNOperand *operand);
void wnn_scope_free(struct scope *scope);

enum call_result {
    CALL_DONE,
    CALL_REFUSED,  // by the builder, whose error says why
    CALL_NO_VALUE, // an argument has no value in C; what JavaScript would refuse before the builder sees it
    CALL_UNKNOWN,  // the file is wrong: no such operator, operand, attribute or spelling
};

// Calls the operator {"name", "operands", "attributes"} with the label "name#index". `outputs` has room for
// `capacity`; their number is in *count. `message` explains the last two results.
enum call_result wnn_call_json(WNNGraphBuilder builder, const cJSON *operator, unsigned index,
                               const struct scope *scope, struct arena *arena, size_t capacity,
                               WNNOperand *outputs, size_t *count, struct text *message);

#endif
