// SPDX-License-Identifier: Apache-2.0
#include "tools/model/errors.h"

#include "lib/text.h"

#include <string.h>

void wnn_model_print(char *to, size_t size, struct bytes text)
{
    size_t length = text.size < size - 1 ? text.size : size - 1;
    for (size_t i = 0; i < length; i++)
        to[i] = text.data[i] < ' ' || text.data[i] == 0x7F ? '?' : (char)text.data[i];
    to[length] = 0;
}

// What somebody else may have written ends no line: a line is one error.
static void add_line(struct text *text, const char *part, const char *end)
{
    wnn_text_add_quoted(text, (struct string){part, strlen(part)}, strlen(part));
    wnn_text_add(text, "%s", end);
}

void wnn_model_add_error(struct model_errors *errors, struct bytes name, struct bytes operation,
                         const char *fault)
{
    char shown[160], type[80];
    struct text text = {errors->text, errors->size, errors->length};
    errors->count++;
    if (errors->length + 1 >= errors->size)
        return;
    if (errors->length)
        wnn_text_add(&text, "\n");
    if (errors->path)
        add_line(&text, errors->path, ": ");
    if (operation.size) {
        wnn_model_print(shown, sizeof shown, name);
        wnn_model_print(type, sizeof type, operation);
        wnn_text_add(&text, "node \"%s\" (%s): ", shown, type);
    }
    add_line(&text, fault, "");
    errors->length = text.length;
}
