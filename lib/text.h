// SPDX-License-Identifier: Apache-2.0
//
// Strings with lengths, and text that is put together piece by piece.

#ifndef LIB_TEXT_H_
#define LIB_TEXT_H_

#include <webnn/webnn.h>

#include <stdarg.h>

struct arena;

// A string of known length; data is never NULL.
struct string {
    const char *data;
    size_t length;
};
#define STRING(literal) ((struct string){"" literal, sizeof(literal) - 1})

struct string wnn_string(WNNStringView view);
WNNStringView wnn_string_view(struct string string);
bool wnn_string_equal(struct string a, struct string b);
bool wnn_string_is_utf8(struct string string);

// The bytes of the character at `text`, of at least one byte; 0 if they are not UTF-8.
size_t wnn_utf8_decode(const char *text, size_t length, uint32_t *character);
// Control characters, those that change the direction of text, and those that nobody sees.
bool wnn_is_hidden(uint32_t character);

// A copy followed by a NUL; data NULL when memory runs out.
struct string wnn_string_copy(struct arena *arena, struct string string);

// Text of bounded length. What does not fit is cut off at a character and marked with "...".
struct text {
    char *data; // always ends with a NUL
    size_t capacity, length;
};
#define TEXT(array) ((struct text){(array), sizeof(array), 0})

void wnn_text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void wnn_text_add_list(struct text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

// Adds what somebody else wrote: hidden characters and ill-formed UTF-8 as escapes,
// at most `limit` bytes of it.
void wnn_text_add_quoted(struct text *text, struct string string, size_t limit);

#endif
