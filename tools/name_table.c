// SPDX-License-Identifier: Apache-2.0
#include "tools/name_table.h"

#include "tools/memory.h"

#include <stdint.h>
#include <stdlib.h>

static size_t hash(struct string name)
{
    uint64_t value = 14695981039346656037u;
    for (size_t i = 0; i < name.length; i++)
        value = (value ^ (unsigned char)name.data[i]) * 1099511628211u;
    return (size_t)(value ^ value >> 32);
}

// Where a name is in the table, or would be.
static size_t *bucket_of(const struct name_table *table, struct string name)
{
    size_t at = hash(name) & (table->bucket_count - 1);
    while (table->buckets[at] && !wnn_string_equal(table->names[table->buckets[at] - 1], name))
        at = (at + 1) & (table->bucket_count - 1);
    return &table->buckets[at];
}

size_t name_table_find(const struct name_table *table, struct string name)
{
    return table->bucket_count ? *bucket_of(table, name) - 1 : NO_NAME;
}

static void grow(struct name_table *table)
{
    free(table->buckets);
    table->bucket_count = table->bucket_count ? table->bucket_count * 2 : 64;
    table->buckets = must_allocate(table->bucket_count * sizeof *table->buckets);
    for (size_t i = 0; i < table->count; i++)
        *bucket_of(table, table->names[i]) = i + 1;
}

size_t name_table_add(struct name_table *table, struct string name)
{
    if (table->count * 2 >= table->bucket_count)
        grow(table);
    size_t *bucket = bucket_of(table, name);
    if (*bucket)
        return *bucket - 1;
    table->names = must_grow(table->names, table->count, &table->capacity, sizeof *table->names);
    table->names[table->count++] = name;
    *bucket = table->count;
    return table->count - 1;
}

void name_table_free(struct name_table *table)
{
    free(table->names);
    free(table->buckets);
    *table = (struct name_table){.names = NULL};
}
