// SPDX-License-Identifier: Apache-2.0
#include "tools/model/source.h"

#include "lib/text.h"
#include "tools/model/bounds.h"
#include "tools/model/mapping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FILES 1024 // of external data of one model

struct source_file {
    struct source_file *next;
    struct mapping *mapping;
    char path[];
};

void wnn_source_unref(struct model_source *source)
{
    if (!source || atomic_fetch_sub_explicit(&source->references, 1, memory_order_acq_rel) != 1)
        return;
    for (struct source_file *file = source->files, *next; file; file = next) {
        next = file->next;
        mapping_unref(file->mapping);
        free(file);
    }
    wnn_excerpt_free(&source->excerpt);
    free(source->written);
    const WNNModelDescriptor *memory = &source->memory;
    if (memory->release)
        memory->release(memory->data, memory->byteLength, memory->userdata1, memory->userdata2);
    free(source->own_path);
    free(source->own_weights_path);
    free(source);
}

uint64_t wnn_source_size(const struct model_source *source)
{
    uint64_t size = source->bytes.size;
    for (const struct source_file *file = source->files; file; file = file->next)
        size += file->mapping->size;
    return size;
}

struct mapping *wnn_source_file(struct model_source *source, const char *path,
                                const struct mapping_rule *rule, struct error *error)
{
    for (struct source_file *file = source->files; file; file = file->next)
        if (strcmp(file->path, path) == 0)
            return file->mapping;
    if (source->file_count > MAX_FILES) {
        wnn_fail(error, WNNStatus_TypeError, "more than %d files of external data", MAX_FILES);
        return NULL;
    }
    size_t length = strlen(path) + 1;
    struct source_file *file = calloc(1, sizeof *file + length);
    if (!file) {
        wnn_fail_memory(error);
        return NULL;
    }
    file->mapping = mapping_open(path, rule, error);
    if (!file->mapping) {
        free(file);
        return NULL;
    }
    memcpy(file->path, path, length);
    file->next = source->files;
    source->files = file;
    source->file_count++;
    return file->mapping;
}

char *wnn_source_copy_path(WNNStringView view)
{
    struct string text = wnn_string(view);
    char *copy = calloc(1, text.length + 1);
    if (copy && text.length)
        memcpy(copy, text.data, text.length);
    return copy;
}

// A file may be of any size, a pipe or device may not.
static struct mapping_rule rule_of(const struct model_source *source, const char *path)
{
    struct stat status;
    bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    return (struct mapping_rule){
        .what = "a model", .most = regular ? SIZE_MAX / 4 : MAX_MODEL_STREAM, .copy = source->copy};
}

struct model_source *wnn_source_open(const WNNModelDescriptor *descriptor,
                                     size_t (*extent)(const unsigned char *data, size_t size, void *unused),
                                     struct error *error)
{
    struct model_source *source = calloc(1, sizeof *source);
    if (!source) {
        wnn_fail_memory(error);
        return NULL;
    }
    atomic_init(&source->references, 1);
    source->path = source->own_path = wnn_source_copy_path(descriptor->path);
    source->weights_path = source->own_weights_path = wnn_source_copy_path(descriptor->weightsPath);
    source->copy = descriptor->copy;
    source->bytes = (struct bytes){descriptor->data, descriptor->byteLength};
    bool good = (source->path && source->weights_path) || wnn_fail_memory(error);
    if (good && !descriptor->data) {
        struct mapping_rule rule = rule_of(source, source->path);
        rule.extent = extent;
        struct mapping *file = wnn_source_file(source, source->path, &rule, error);
        good = file != NULL;
        if (file)
            source->bytes = (struct bytes){file->data, file->size};
    }
    if (!good) {
        wnn_source_unref(source);
        return NULL;
    }
    source->memory = *descriptor; // from here on it is the source's to release
    return source;
}

// ---------------------------------------------------------------------------------------------------------------
// Descriptions
// ---------------------------------------------------------------------------------------------------------------

static bool is_mapped(const struct model_source *source)
{
    return source->files && source->files->mapping->mapped;
}

bool wnn_source_make_excerpt(struct model_source *source,
                             void (*find)(struct bytes file, struct byte_runs *runs), struct error *error)
{
    struct byte_runs runs = {0};
    if (!is_mapped(source))
        return true;
    find(source->bytes, &runs);
    if (!wnn_excerpt_make(&source->excerpt, source->bytes, runs))
        return wnn_fail_memory(error);
    source->bytes = source->excerpt.left;
    return true;
}

bool wnn_source_write_description(struct model_source *source,
                                  void (*write)(struct bytes file, struct description *to),
                                  struct error *error)
{
    struct description to = {NULL, 0, 0, false};
    if (!is_mapped(source))
        return true;
    write(source->bytes, &to);
    unsigned char *fitting = to.failed ? NULL : realloc(to.data, to.size + !to.size);
    if (!fitting) {
        free(to.data);
        return wnn_fail_memory(error);
    }
    source->file = source->bytes;
    source->bytes = (struct bytes){fitting, to.size};
    source->written = fitting;
    return true;
}

unsigned char *wnn_description_add(struct description *to, size_t size)
{
    enum {
        FIRST = 4096
    };
    size_t capacity = to->capacity ? to->capacity : FIRST;
    while (capacity - to->size < size)
        capacity *= 2; // of what is in memory already
    if (capacity > to->capacity) {
        unsigned char *grown = to->failed ? NULL : realloc(to->data, capacity);
        to->failed |= !grown;
        if (!grown)
            return NULL;
        to->data = grown;
        to->capacity = capacity;
    }
    to->size += size;
    return to->data + to->size - size;
}

struct bytes wnn_source_part(const struct model_source *source, uint64_t offset, uint64_t size)
{
    bool is_there =
        source && source->written && offset <= source->file.size && size <= source->file.size - offset;
    return is_there ? (struct bytes){source->file.data + offset, (size_t)size} : (struct bytes){NULL, 0};
}

// A name that leads out of the folder is refused.
static bool is_below(struct bytes name)
{
    if (name.size == 0 || name.size > 4096 || name.data[0] == '/' || memchr(name.data, 0, name.size))
        return false;
    for (size_t i = 0; i + 1 < name.size; i++)
        if ((i == 0 || name.data[i - 1] == '/') && name.data[i] == '.' && name.data[i + 1] == '.' &&
            (i + 2 == name.size || name.data[i + 2] == '/'))
            return false;
    return true;
}

// A path in the folder of the file `beside`, to be freed; NULL: no memory.
static char *path_of(const char *beside, struct bytes name)
{
    const char *slash = strrchr(beside, '/');
    size_t folder = slash ? (size_t)(slash - beside) + 1 : 0;
    char *path = calloc(1, folder + name.size + 1);
    if (path) {
        memcpy(path, beside, folder);
        memcpy(path + folder, name.data, name.size);
    }
    return path;
}

struct bytes wnn_source_find_beside(struct model_source *source, const char *beside, struct bytes name,
                                    const char **path, bool *is_new, const char **fault)
{
    static _Thread_local struct error error;
    error = (struct error){WNNStatus_Success, ""};
    if (!source || !is_below(name)) {
        *fault = source ? "its file is not in the folder of the model" : "there is no folder for its file";
        return (struct bytes){0};
    }
    size_t before = source->file_count;
    char *whole = path_of(beside, name);
    const struct mapping_rule rule = rule_of(source, whole ? whole : "");
    struct mapping *file = whole ? wnn_source_file(source, whole, &rule, &error) : NULL;
    if (!whole)
        wnn_fail_memory(&error);
    for (const struct source_file *f = source->files; path && file && f; f = f->next)
        if (f->mapping == file)
            *path = f->path;
    if (is_new)
        *is_new = source->file_count != before;
    free(whole);
    if (!file) {
        *fault = error.message;
        return (struct bytes){0};
    }
    return (struct bytes){file->data, file->size};
}

struct bytes wnn_source_find(struct model_source *source, struct bytes name, const char **path, bool *is_new,
                             const char **fault)
{
    return wnn_source_find_beside(source, source ? source->path : "", name, path, is_new, fault);
}

static void release_lent(const void *data, size_t size, void *source, void *unused)
{
    (void)data, (void)size, (void)unused;
    wnn_source_unref(source);
}

// False: they lie in no file, or it has too long a name.
static bool name_bytes(const struct model_source *source, struct bytes data, struct source_name *name)
{
    const struct source_file *file = source ? source->files : NULL;
    for (; file; file = file->next) {
        uintptr_t begin = (uintptr_t)file->mapping->data, at = (uintptr_t)data.data;
        if (at >= begin && at - begin <= file->mapping->size &&
            data.size <= file->mapping->size - (at - begin))
            break;
    }
    if (!file)
        return false;
    const char *slash = strrchr(file->path, '/');
    int length = snprintf(name->id, sizeof name->id, "%s:%zu", slash ? slash + 1 : file->path,
                          (size_t)(data.data - file->mapping->data));
    name->named = (WNNNamedBytes)WNN_NAMED_BYTES_INIT;
    name->named.reference.form = WNNConstantForm_Id;
    name->named.reference.id = name->id;
    name->named.reference.idLength = (size_t)length;
    return length > 0 && (size_t)length < sizeof name->id;
}

WNNExternalBytes wnn_source_lend(struct model_source *source, struct bytes data, struct source_name *name)
{
    if (source)
        atomic_fetch_add_explicit(&source->references, 1, memory_order_relaxed);
    return (WNNExternalBytes){.nextInChain = name_bytes(source, data, name) ? &name->named.chain : NULL,
                              .data = data.data,
                              .byteLength = data.size,
                              .release = release_lent,
                              .userdata1 = source};
}
