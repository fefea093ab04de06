// SPDX-License-Identifier: Apache-2.0
#include "tools/array_set.h"

#include "tools/bounds.h"
#include "tools/memory.h"
#include "tools/name_table.h"
#include "tools/safe_name.h"
#include "tools/standard_input.h"
#include "tools/tensor_proto.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---------------------------------------------------------------------------------------------------------------
// Adding
// ---------------------------------------------------------------------------------------------------------------

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool array_set_recognize(const char *path)
{
    return is_folder(path) || ends_with(path, ".npz");
}

static char *copy_text(const char *text, size_t length)
{
    char *copy = must_allocate(length + 1);
    memcpy(copy, text, length);
    return copy;
}

static struct named_array *add(struct array_set *set, char *name, char *path)
{
    set->items = must_grow(set->items, set->count, &set->capacity, sizeof *set->items);
    struct named_array *item = &set->items[set->count++];
    *item = (struct named_array){.name = name, .path = path};
    return item;
}

void array_set_add_file(struct array_set *set, struct string name, const char *path)
{
    add(set, copy_text(name.data, name.length), must(strdup(path)));
}

static bool add_archive(struct array_set *set, const char *path, struct error *error)
{
    struct npz *archive = npz_open(path, error);
    if (!archive)
        return false;
    set->archives =
        must_grow(set->archives, set->archive_count, &set->archive_capacity, sizeof *set->archives);
    set->archives[set->archive_count++] = archive;
    for (size_t i = 0; i < archive->count; i++) {
        const struct npz_entry *entry = &archive->entries[i];
        struct named_array *item = add(set, copy_text(entry->name.data, entry->name.length), NULL);
        item->archive = archive;
        item->entry = entry;
    }
    return archive->count > 0 || wnn_fail(error, WNNStatus_TypeError, "%s: an archive of no arrays", path);
}

static size_t proto_extent(const unsigned char *data, size_t size, void *unused)
{
    (void)unused;
    return tensor_proto_extent(data, size);
}

static bool read_proto(const char *path, struct array *array, char **name, struct error *error)
{
    static const struct mapping_rule rule = {"a tensor", MAX_DATA_STREAM, false, proto_extent, NULL};
    struct string own = STRING("");
    struct mapping *file = open_or_standard(path, &rule, error);
    bool good = file && tensor_proto_decode(path, file, array, &own, error);
    if (good && name)
        *name = copy_text(own.data, own.length);
    mapping_unref(file);
    return good;
}

// "input_12.pb" and the like; false: it is called otherwise.
static bool parse_number(const char *file, const char *begin, size_t *number)
{
    size_t length = strlen(begin);
    char *end;
    if (strncmp(file, begin, length) != 0 || file[length] < '0' || file[length] > '9')
        return false;
    *number = strtoul(file + length, &end, 10);
    return strcmp(end, ".pb") == 0;
}

// A file of a folder, if it is an array.
static bool add_member(struct array_set *set, const char *folder, const char *file, struct error *error)
{
    size_t size = strlen(folder) + strlen(file) + sizeof "/", length = strlen(file), number = 0;
    enum array_role role = parse_number(file, "input_", &number)    ? ROLE_INPUT
                           : parse_number(file, "output_", &number) ? ROLE_OUTPUT
                                                                    : ROLE_ANY;
    if (role == ROLE_ANY && !ends_with(file, ".npy"))
        return true;
    char *path = must_allocate(size), *name = NULL;
    snprintf(path, size, "%s/%s", folder, file);
    struct array array = {.data = NULL};
    if (role == ROLE_ANY)
        name = safe_name_decode((struct string){file, length - strlen(".npy")});
    else if (!read_proto(path, &array, &name, error)) {
        free(path);
        return false;
    }
    array_close(&array);
    struct named_array *item = add(set, name, path);
    item->role = role;
    item->number = number;
    return true;
}

static bool add_folder(struct array_set *set, const char *path, struct error *error)
{
    struct dirent **entries;
    size_t before = set->count;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        return wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
    bool good = true;
    for (int i = 0; i < count; i++) {
        good = good && add_member(set, path, entries[i]->d_name, error);
        free(entries[i]);
    }
    free(entries);
    return good &&
           (set->count > before ||
            wnn_fail(error, WNNStatus_TypeError,
                     "%s: no arrays in this folder, neither .npy nor input_0.pb or output_0.pb", path));
}

bool array_set_add_all(struct array_set *set, const char *path, struct error *error)
{
    return is_folder(path) ? add_folder(set, path, error) : add_archive(set, path, error);
}

void array_set_free(struct array_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->items[i].name);
        free(set->items[i].path);
    }
    for (size_t i = 0; i < set->archive_count; i++)
        npz_close(set->archives[i]);
    free(set->items);
    free(set->archives);
    *set = (struct array_set){.items = NULL};
}

// ---------------------------------------------------------------------------------------------------------------
// Finding
// ---------------------------------------------------------------------------------------------------------------

static struct string name_of(const struct named_array *item)
{
    return (struct string){item->name, strlen(item->name)};
}

// Names decide; the numbers are for the arrays and the operands that are left.
void array_set_match(const struct array_set *set, enum array_role role, bool numbers, size_t count,
                     const struct string *names, const struct named_array **found)
{
    struct name_table table = {.names = NULL};
    bool *used = must_allocate(set->count);
    for (size_t i = 0; i < count; i++) {
        name_table_add(&table, names[i]);
        found[i] = NULL;
    }
    for (size_t i = 0; i < set->count; i++) {
        const struct named_array *item = &set->items[i];
        size_t at =
            item->role == ROLE_ANY || item->role == role ? name_table_find(&table, name_of(item)) : NO_NAME;
        // Of several for one, the first.
        if (at == NO_NAME || found[at])
            continue;
        found[at] = item;
        used[i] = true;
    }
    for (size_t i = 0; numbers && i < set->count; i++) {
        const struct named_array *item = &set->items[i];
        if (!used[i] && item->role != ROLE_ANY && item->role == role && item->number < count &&
            !found[item->number])
            found[item->number] = item;
    }
    name_table_free(&table);
    free(used);
}

bool named_array_read(const struct named_array *named, struct array *array, struct error *error)
{
    if (named->archive)
        return npz_read(named->archive, named->entry, array, error);
    return is_tensor_proto(named->path) ? read_proto(named->path, array, NULL, error)
                                        : array_read_npy(named->path, array, error);
}

char *named_array_place(const struct named_array *named)
{
    if (!named->archive)
        return must(strdup(named->path));
    size_t size = strlen(named->archive->path) + strlen(named->name) + sizeof "[]";
    char *place = must_allocate(size);
    snprintf(place, size, "%s[%s]", named->archive->path, named->name);
    return place;
}
