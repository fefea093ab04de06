// SPDX-License-Identifier: Apache-2.0
#include "lib/text.h"

#include "lib/arena.h"

#include <stdio.h>
#include <string.h>

struct string wnn_string(WNNStringView view)
{
    if (!view.data)
        return (struct string){"", 0};
    return (struct string){view.data, view.length == WNN_STRLEN ? strlen(view.data) : view.length};
}

WNNStringView wnn_string_view(struct string string)
{
    return (WNNStringView){string.data, string.length};
}

bool wnn_string_equal(struct string a, struct string b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

// RFC 3629, table 3-7 of Unicode.
size_t wnn_utf8_decode(const char *text, size_t length, uint32_t *character)
{
    const unsigned char *data = (const unsigned char *)text;
    unsigned first = data[0];
    if (first < 0x80) {
        *character = first;
        return 1;
    }
    size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (size == 0 || size > length)
        return 0;
    uint32_t value = first & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((data[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (data[i] & 0x3Fu);
    }
    if ((size == 3 && value < 0x800) || (size == 4 && value < 0x10000) || value > 0x10FFFF ||
        (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *character = value;
    return size;
}

bool wnn_string_is_utf8(struct string string)
{
    uint32_t character;
    for (size_t i = 0; i < string.length;) {
        size_t size = wnn_utf8_decode(string.data + i, string.length - i, &character);
        if (size == 0)
            return false;
        i += size;
    }
    return true;
}

struct string wnn_string_copy(struct arena *arena, struct string string)
{
    char *copy = wnn_arena_allocate(arena, string.length + 1);
    if (!copy)
        return (struct string){NULL, 0};
    if (string.length)
        memcpy(copy, string.data, string.length);
    return (struct string){copy, string.length};
}

static void mark_cut(struct text *text)
{
    size_t length = text->capacity - 1;
    if (length < 3)
        return;
    size_t at = length - 3;
    while (at > 0 && ((unsigned char)text->data[at] & 0xC0) == 0x80)
        at--;
    memcpy(text->data + at, "...", 4);
    text->length = length; // full: nothing is added any more
}

void wnn_text_add_list(struct text *text, const char *format, va_list arguments)
{
    size_t room = text->capacity - text->length;
    if (room <= 1)
        return;
    int size = vsnprintf(text->data + text->length, room, format, arguments);
    if (size < 0)
        return;
    if ((size_t)size < room)
        text->length += (size_t)size;
    else
        mark_cut(text);
}

void wnn_text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    wnn_text_add_list(text, format, arguments);
    va_end(arguments);
}

bool wnn_is_hidden(uint32_t character)
{
    return character < 0x20 || (character >= 0x7F && character < 0xA0) || character == 0xAD ||
           character == 0x61C || character == 0x180E || character == 0x200B ||
           (character >= 0x200E && character <= 0x200F) || (character >= 0x2028 && character <= 0x202E) ||
           (character >= 0x2060 && character <= 0x206F) || character == 0xFEFF ||
           (character >= 0xFFF9 && character <= 0xFFFB) || (character >= 0xE0000 && character <= 0xE007F);
}

void wnn_text_add_quoted(struct text *text, struct string string, size_t limit)
{
    for (size_t i = 0; i < string.length;) {
        if (i >= limit) {
            wnn_text_add(text, "...");
            return;
        }
        uint32_t character;
        const char *at = string.data + i;
        size_t size = wnn_utf8_decode(at, string.length - i, &character);
        if (size == 0)
            wnn_text_add(text, "\\x%02X", (unsigned char)*at);
        else if (wnn_is_hidden(character))
            wnn_text_add(text, "\\u{%X}", (unsigned)character);
        else
            wnn_text_add(text, "%.*s", (int)size, at);
        i += size ? size : 1;
    }
}
