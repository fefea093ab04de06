// SPDX-License-Identifier: Apache-2.0
//
// JSON that the program prints: the tree is cJSON's. A program without memory ends.

#ifndef TOOLS_JSON_H_
#define TOOLS_JSON_H_

#include "lib/shape.h"
#include "lib/text.h"

#include <cjson/cJSON.h>

// Text up to its end or its first NUL.
cJSON *json_text(struct string text);
void json_add_text(cJSON *object, const char *key, struct string text);

// "float32" and [1, 3, 224, 224], as the items "type" and "shape".
void json_add_type(cJSON *object, const struct descriptor *type);

// The names of a set of data types, 1u << WNNDataType_X for each.
cJSON *json_types(uint32_t types);

// Prints a tree in one line on standard output, and deletes it.
void json_print(cJSON *tree);

#endif
