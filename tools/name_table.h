// SPDX-License-Identifier: Apache-2.0
//
// Numbers of names, by hash.

#ifndef TOOLS_NAME_TABLE_H_
#define TOOLS_NAME_TABLE_H_

#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>

struct name_table {
    struct string *names; // borrowed, in the order in which they were added
    size_t count, capacity;
    size_t *buckets; // 1 + an index, or 0
    size_t bucket_count;
};

#define NO_NAME ((size_t)-1)

// The number of a name, or NO_NAME.
size_t name_table_find(const struct name_table *table, struct string name);

// The number of a name, which is added unless it is there. The text has to stay.
size_t name_table_add(struct name_table *table, struct string name);
void name_table_free(struct name_table *table);

#endif
