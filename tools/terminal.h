// SPDX-License-Identifier: Apache-2.0
//
// What depends on whether somebody is looking: colours, and signs that work goes on.

#ifndef TOOLS_TERMINAL_H_
#define TOOLS_TERMINAL_H_

#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Whether standard output understands colours: a terminal, without NO_COLOR, that is not "dumb".
bool terminal_colours(void);

// "\033[1m" and so on, or "" without colours.
#define STYLE_BOLD  terminal_style("1")
#define STYLE_FAINT terminal_style("2")
#define STYLE_GREEN terminal_style("32")
#define STYLE_NONE  terminal_style("0")
const char *terminal_style(const char *code);

// What somebody else wrote, a name from a file for example, as a terminal shows it instead of obeying it:
// control characters and the like as escapes. Names, paths and messages reach the terminal in one of these
// ways only.
#define TERMINAL_TEXT 320
const char *terminal_text(struct string string, char buffer[TERMINAL_TEXT]); // cut off after 200 bytes
#define SHOWN(text) terminal_text((text), (char[TERMINAL_TEXT]){0})
#define SHOWN_STRING(characters)                                                                             \
    terminal_text(wnn_string((WNNStringView){(characters), WNN_STRLEN}), (char[TERMINAL_TEXT]){0})
void terminal_line(FILE *file, const char *begin, const char *text); // all of `text`, and a newline
// The same of text that may have several lines; those after the first are indented.
void terminal_lines(FILE *file, const char *begin, const char *text);
// JSON that is well-formed but for bytes that are not UTF-8, and a newline.
void terminal_json(FILE *file, const char *json);

// Work that may take long. After a second, and only if standard error is a terminal, a line there says how
// far it is.
struct progress {
    const char *what;
    double begin, shown;
    bool visible;
};
void progress_begin(struct progress *progress, const char *what);
void progress_show(struct progress *progress, size_t done, size_t all); // all 0: unknown
void progress_end(struct progress *progress);                           // takes the line away

// Seconds of a clock that only goes forward.
double now(void);

// "1.5 MiB"
#define BYTES_TEXT 32
const char *bytes_text(uint64_t bytes, char buffer[BYTES_TEXT]);

// "4" or "0 to 8"
#define RANKS_TEXT 32
const char *ranks_text(uint32_t lowest, uint32_t highest, char buffer[RANKS_TEXT]);

#endif
