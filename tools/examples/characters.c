// SPDX-License-Identifier: Apache-2.0
#include "tools/examples/characters.h"

#include "tools/examples/network.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_FILE = 1 << 20
};

// Reads a whole file, and ends it with a NUL.
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        complain("%s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = malloc(MAX_FILE + 1);
    size_t size = text ? fread(text, 1, MAX_FILE + 1, file) : 0;
    bool good = text && size > 0 && size <= MAX_FILE && !ferror(file);
    fclose(file);
    if (good) {
        text[size] = 0;
        return text;
    }
    complain("%s: empty, longer than %d bytes, or it cannot be read", path, MAX_FILE);
    free(text);
    return NULL;
}

// Control characters among them could make a terminal do something.
static bool is_printable(const char *line)
{
    for (const unsigned char *c = (const unsigned char *)line; *c; c++)
        if (*c < ' ' || *c == 0x7F || (*c == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0))
            return false;
    return *line;
}

bool characters_read(const char *path, struct characters *characters)
{
    characters->text = read_file(path);
    if (!characters->text)
        return false;
    size_t lines = 1;
    for (const char *c = characters->text; *c; c++)
        lines += *c == '\n';
    characters->lines = malloc(lines * sizeof *characters->lines);
    if (!characters->lines) {
        complain("%s: out of memory", path);
        return false;
    }
    char *rest = characters->text;
    for (char *line; (line = strsep(&rest, "\n")) && (rest || *line);) {
        line[strcspn(line, "\r")] = 0;
        if (!is_printable(line)) {
            complain("%s: line %zu is empty or has control characters", path, characters->count + 1);
            return false;
        }
        characters->lines[characters->count++] = line;
    }
    return true;
}

void characters_free(struct characters *characters)
{
    free(characters->lines);
    free(characters->text);
}

// The symbols that the columns say, without spaces around them: the best of each column, where it is no gap
// and not that of the column before. The network was trained on Chinese above all, which has no spaces: a gap
// that may at all be a space is one. `text` has room for two symbols a column. Returns how many there are;
// *mean is how likely they are.
static size_t decode(const float *scores, size_t columns, size_t symbols, size_t *text, float *mean)
{
    const float least_space = 0.05f;
    size_t count = 0, read = 0, previous = 0, space = symbols - 1;
    float sum = 0, space_score = 0;
    for (size_t column = 0; column < columns; column++) {
        const float *score = scores + column * symbols;
        size_t best = 0;
        for (size_t i = 1; i < symbols; i++)
            best = score[i] > score[best] ? i : best;
        if (best == 0) {
            space_score = fmaxf(space_score, score[space]);
        } else if (best != previous) {
            if (count > 0 && best != space && text[count - 1] != space && space_score > least_space)
                text[count++] = space;
            if (count > 0 || best != space)
                text[count++] = best;
            sum += score[best];
            read++;
            space_score = 0;
        }
        previous = best;
    }
    if (count > 0 && text[count - 1] == space)
        count--;
    *mean = read > 0 ? sum / (float)read : 0;
    return count;
}

bool characters_print(const struct characters *characters, const float *scores, size_t columns,
                      const char *before, bool *printed)
{
    const float least_mean = 0.5f;
    size_t symbols = characters->count + 2, *text = malloc(2 * columns * sizeof *text);
    if (!text) {
        complain("out of memory");
        return false;
    }
    float mean;
    size_t count = decode(scores, columns, symbols, text, &mean);
    if (count > 0 && mean >= least_mean) {
        fputs(before, stdout);
        for (size_t i = 0; i < count; i++)
            fputs(text[i] == symbols - 1 ? " " : characters->lines[text[i] - 1], stdout);
        *printed = true;
    }
    free(text);
    return true;
}
