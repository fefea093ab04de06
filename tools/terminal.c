// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal.h"

#include "tools/memory.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool terminal_colours(void)
{
    const char *off = getenv("NO_COLOR"), *kind = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(off && *off) && kind && strcmp(kind, "dumb") != 0;
}

const char *terminal_style(const char *code)
{
    if (!terminal_colours())
        return "";
    return strcmp(code, "1") == 0    ? "\033[1m"
           : strcmp(code, "2") == 0  ? "\033[2m"
           : strcmp(code, "32") == 0 ? "\033[32m"
                                     : "\033[0m";
}

const char *terminal_text(struct string string, char buffer[TERMINAL_TEXT])
{
    struct text text = {buffer, TERMINAL_TEXT, 0};
    buffer[0] = '\0';
    wnn_text_add_quoted(&text, string, 200);
    return buffer;
}

static void print_line(FILE *file, const char *begin, int width, const char *text, size_t length)
{
    enum {
        MAX_ESCAPE = 10 // bytes, "\u{10FFFF}", for one
    };
    size_t capacity = length * MAX_ESCAPE + 1;
    char *buffer = must_allocate(capacity);
    struct text escaped = {buffer, capacity, 0};
    wnn_text_add_quoted(&escaped, (struct string){text, length}, length);
    fprintf(file, "%*s%s\n", width, begin, buffer);
    free(buffer);
}

void terminal_line(FILE *file, const char *begin, const char *text)
{
    print_line(file, begin, 0, text, strlen(text));
}

void terminal_lines(FILE *file, const char *begin, const char *text)
{
    int width = (int)strlen(begin);
    for (const char *line = text; line;) {
        size_t length = strcspn(line, "\n");
        print_line(file, line == text ? begin : "", width, line, length);
        line = line[length] ? line + length + 1 : NULL;
    }
}

// In JSON without line breaks they can only be in strings.
void terminal_json(FILE *file, const char *json)
{
    for (size_t length = strlen(json), size; length; json += size, length -= size) {
        uint32_t character;
        size = wnn_utf8_decode(json, length, &character);
        if (size == 0) {
            size = 1;
            fputs("\\uFFFD", file);
        } else if (!wnn_is_hidden(character)) {
            fwrite(json, 1, size, file);
        } else if (character < 0x10000) {
            fprintf(file, "\\u%04X", (unsigned)character);
        } else {
            character -= 0x10000;
            fprintf(file, "\\u%04X\\u%04X", 0xD800 | (unsigned)(character >> 10),
                    0xDC00 | (unsigned)(character & 0x3FF));
        }
    }
    fputc('\n', file);
}

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void progress_begin(struct progress *progress, const char *what)
{
    *progress = (struct progress){what, now(), 0, false};
}

void progress_show(struct progress *progress, size_t done, size_t all)
{
    double time = now();
    if (time - progress->begin < 1 || time - progress->shown < 0.1 || !isatty(STDERR_FILENO))
        return;
    progress->shown = time;
    progress->visible = true;
    if (all)
        fprintf(stderr, "\r%s: %zu of %zu, %.0f s ", SHOWN_STRING(progress->what), done, all,
                time - progress->begin);
    else
        fprintf(stderr, "\r%s: %.0f s ", SHOWN_STRING(progress->what), time - progress->begin);
}

void progress_end(struct progress *progress)
{
    if (progress->visible)
        fputs("\r\033[K", stderr);
}

const char *bytes_text(uint64_t bytes, char buffer[BYTES_TEXT])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        unit++;
    }
    snprintf(buffer, BYTES_TEXT, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return buffer;
}

const char *ranks_text(uint32_t lowest, uint32_t highest, char buffer[RANKS_TEXT])
{
    if (lowest == highest)
        snprintf(buffer, RANKS_TEXT, "%u", lowest);
    else
        snprintf(buffer, RANKS_TEXT, "%u to %u", lowest, highest);
    return buffer;
}
