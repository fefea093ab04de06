// SPDX-License-Identifier: Apache-2.0
//
// The characters that a network reads, and what its output says with them: a CTC decoder. Symbol 0 of the
// network is a gap, the last one a space, those between are the lines of a file.

#ifndef TOOLS_EXAMPLES_CHARACTERS_H_
#define TOOLS_EXAMPLES_CHARACTERS_H_

#include <stdbool.h>
#include <stddef.h>

struct characters {
    char *text;         // of the file
    const char **lines; // without their ends, in it
    size_t count;
};

// Says on standard error why it fails. All zeros can be freed.
bool characters_read(const char *path, struct characters *characters);
void characters_free(struct characters *characters);

// Prints the text that columns of count + 2 scores, which are from 0 to 1, stand for, after `before`. A text
// that is not likely is not printed; *printed becomes true where one is. False: out of memory.
bool characters_print(const struct characters *characters, const float *scores, size_t columns,
                      const char *before, bool *printed);

#endif
