// SPDX-License-Identifier: Apache-2.0
#include "tools/json.h"

#include "tools/memory.h"
#include "tools/terminal.h"

#include <stdlib.h>
#include <string.h>

cJSON *json_text(struct string text)
{
    char *copy = must(strndup(text.data, text.length));
    cJSON *item = must(cJSON_CreateString(copy));
    free(copy);
    return item;
}

void json_add_text(cJSON *object, const char *key, struct string text)
{
    cJSON_AddItemToObject(object, key, json_text(text));
}

void json_add_type(cJSON *object, const struct descriptor *type)
{
    cJSON_AddStringToObject(object, "type", wnn_dtype_name(type->type));
    cJSON *shape = must(cJSON_AddArrayToObject(object, "shape"));
    for (unsigned i = 0; i < type->shape.rank; i++)
        cJSON_AddItemToArray(shape, must(cJSON_CreateNumber(type->shape.dim[i])));
}

cJSON *json_types(uint32_t types)
{
    cJSON *list = must(cJSON_CreateArray());
    for (unsigned type = 1; type < WNN_DATA_TYPE_COUNT; type++)
        if (types & 1u << type)
            cJSON_AddItemToArray(list, must(cJSON_CreateString(wnn_dtype_name((WNNDataType)type))));
    return list;
}

void json_print(cJSON *tree)
{
    char *text = must(cJSON_PrintUnformatted(tree));
    terminal_json(stdout, text);
    cJSON_free(text);
    cJSON_Delete(tree);
}
