// SPDX-License-Identifier: Apache-2.0
//
// Names of files for values that have names of their own, which are not trusted: letters, digits, '_', '-'
// and '.' stay, but for a '.' that comes first, and every other byte becomes a '%' and two digits. So no name
// leads out of a folder, is hidden, or commands a terminal, and what a name was can be told from the file.

#ifndef TOOLS_SAFE_NAME_H_
#define TOOLS_SAFE_NAME_H_

#include "tools/name_table.h"

// The names in a folder. They differ in more than the case of letters, which is nothing to some file systems;
// names that are too long for a file are cut off.
struct safe_names {
    struct name_table lower; // in small letters
    size_t collisions;
};

// A name for a file with this ending that no other value has; to be freed.
char *safe_names_add(struct safe_names *names, struct string name, const char *ending);
void safe_names_free(struct safe_names *names);

// The name of which a file's name, without its ending, was made; to be freed.
char *safe_name_decode(struct string file);

#endif
