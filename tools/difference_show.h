// SPDX-License-Identifier: Apache-2.0
//
// Differences as text and as JSON.

#ifndef TOOLS_DIFFERENCE_SHOW_H_
#define TOOLS_DIFFERENCE_SHOW_H_

#include "tools/difference.h"

#include <cjson/cJSON.h>

// Some lines about a value, indented. `items`: how many were compared.
void difference_show(struct string name, const struct difference *difference, size_t items);

// In a few words, for a list: "equal", "1.2e-07 of the scale".
#define DIFFERENCE_TEXT 80
const char *difference_text(const struct difference *difference, char buffer[DIFFERENCE_TEXT]);

cJSON *difference_json(struct string name, const struct difference *difference);

// "float32[1, 10]"
#define TYPE_TEXT (WNN_SHAPE_TEXT + 16)
const char *type_text(const struct element_type *type, const struct shape *shape, char buffer[TYPE_TEXT]);

// Text that is not terminated; NaN and infinities, which JSON has no numbers for, as strings.
void json_add_string(cJSON *object, const char *key, struct string text);
void json_add_shape(cJSON *object, const char *key, const struct shape *shape);
void json_add_number(cJSON *object, const char *key, WNNNumber number);

#endif
