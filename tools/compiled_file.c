// SPDX-License-Identifier: Apache-2.0
#include "tools/compiled_file.h"

#include "compiler/stored.h"
#include "tools/late_sizes.h"
#include "tools/memory.h"
#include "tools/model/mapping.h"
#include "tools/standard_input.h"
#include "tools/standard_output.h"
#include "tools/terminal.h"

#include <webnn/compiled.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct mapping *open_file(const char *path, struct error *error)
{
    const struct mapping_rule rule = {.what = "a compiled graph", .most = SIZE_MAX / 2};
    return is_standard(path) ? load_open_stream(error) : mapping_open(path, &rule, error);
}

static bool is_compiled_stream(void)
{
    struct error error = {WNNStatus_Success, ""};
    struct mapping *mapping = open_file("-", &error);
    bool is = mapping && mapping->size >= 8 && memcmp(mapping->data, STORED_MAGIC, 8) == 0;
    mapping_unref(mapping);
    return is;
}

bool compiled_file_is(const char *path)
{
    char begin[8];
    struct stat status;
    if (is_standard(path))
        return is_compiled_stream();
    if (stat(path, &status) || !S_ISREG(status.st_mode))
        return false;
    FILE *file = fopen(path, "rb");
    bool is = file && fread(begin, 1, sizeof begin, file) == sizeof begin &&
              memcmp(begin, STORED_MAGIC, sizeof begin) == 0;
    if (file)
        fclose(file);
    return is;
}

bool compiled_file_open_session(struct session *session, const struct session_options *options,
                                const char *path, struct error *error)
{
    char name[64];
    struct session_options chosen = *options;
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    struct mapping *mapping =
        !options->backend && !options->device && compiled_file_is(path) ? open_file(path, error) : NULL;
    // Loading says what is wrong with a file that tells nothing.
    if (mapping && wnnGetCompiledGraphInfo(mapping->data, mapping->size, &info) == WNNStatus_Success) {
        snprintf(name, sizeof name, "%.*s", (int)info.backend.length, info.backend.data);
        chosen.backend = name;
    }
    mapping_unref(mapping);
    return session_open(session, &chosen, error);
}

static void give_back(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)data;
    (void)size;
    (void)userdata2;
    mapping_unref(userdata1);
}

static void free_copy(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)data;
    (void)size;
    (void)userdata2;
    free(userdata1);
}

// The file, which is given back with the graph; what was read of a pipe lies anywhere and is copied.
static WNNExternalBytes lend(struct mapping *mapping)
{
    enum {
        ALIGNMENT = 64
    };
    if ((uintptr_t)mapping->data % ALIGNMENT == 0)
        return (WNNExternalBytes){NULL, mapping->data, mapping->size, give_back, mapping, NULL};
    void *copy = must(aligned_alloc(ALIGNMENT, (mapping->size / ALIGNMENT + 1) * ALIGNMENT));
    memcpy(copy, mapping->data, mapping->size);
    WNNExternalBytes bytes = {NULL, copy, mapping->size, free_copy, copy, NULL};
    mapping_unref(mapping);
    return bytes;
}

bool compiled_file_open(struct session *session, const char *path, const struct load_options *options,
                        WNNGraph *graph, struct error *error)
{
    if (!compiled_file_load(session, path, graph, error))
        return false;
    if (wnnGraphIsRecompiled(*graph))
        fprintf(stderr,
                "webnn: %s was compiled by another library or for another target, and is built anew\n",
                is_standard(path) ? "standard input" : SHOWN_STRING(path));
    if (late_sizes_has(*graph))
        session->sizes = late_sizes_find(*graph, options, error);
    return error->status == WNNStatus_Success;
}

// ---------------------------------------------------------------------------------------------------------------
// Weights that are elsewhere
// ---------------------------------------------------------------------------------------------------------------

struct weights {
    const char *path;        // of one of the files
    struct mapping *mapping; // that which was opened last, or NULL
    char *name;              // of that, as constants say it
    struct error error;
};

// "NAME:OFFSET", as tools/model/source.h has it. The name is no path, so that it leads nowhere else.
static bool read_name(const WNNConstantReference *reference, char name[WNN_MAX_CONSTANT_ID + 1],
                      uint64_t *offset)
{
    if (reference->form != WNNConstantForm_Id)
        return false;
    memcpy(name, reference->id, reference->idLength);
    name[reference->idLength] = 0;
    char *colon = strrchr(name, ':'), *end;
    if (!colon || strlen(name) != reference->idLength || colon[1] < '0' || colon[1] > '9')
        return false;
    errno = 0;
    *offset = strtoull(colon + 1, &end, 10);
    *colon = 0;
    return errno == 0 && !*end && name[0] && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The file that was named if it has that name, or the one beside it.
static bool open_weights(struct weights *weights, const char *name)
{
    const struct mapping_rule rule = {.what = "weights", .most = SIZE_MAX / 2};
    if (weights->mapping && strcmp(weights->name, name) == 0)
        return true;
    size_t folder = (size_t)(name_of(weights->path) - weights->path), size = folder + strlen(name) + 1;
    char *path = must(malloc(size));
    memcpy(path, weights->path, folder);
    memcpy(path + folder, name, size - folder);
    mapping_unref(weights->mapping);
    free(weights->name);
    weights->name = must(strdup(name));
    weights->mapping = mapping_open(path, &rule, &weights->error);
    free(path);
    return weights->mapping != NULL;
}

static WNNStatus find_bytes(const WNNConstantReference *reference, uint64_t size, WNNExternalBytes *bytes,
                            void *userdata1, void *userdata2)
{
    struct weights *weights = userdata1;
    char name[WNN_MAX_CONSTANT_ID + 1];
    uint64_t offset;
    (void)userdata2;
    if (!read_name(reference, name, &offset))
        return WNNStatus_OperationError;
    if (!weights->path) {
        wnn_fail(&weights->error, WNNStatus_OperationError,
                 "it has no weights of its own; --weights says which file they are in: %s",
                 SHOWN_STRING(name));
        return WNNStatus_OperationError;
    }
    if (!open_weights(weights, name))
        return weights->error.status;
    if (offset > weights->mapping->size || size > weights->mapping->size - offset) {
        wnn_fail(&weights->error, WNNStatus_OperationError,
                 "%s ends before byte %llu, where a weight is to be", SHOWN_STRING(name),
                 (unsigned long long)(offset + size));
        return WNNStatus_OperationError;
    }
    *bytes = (WNNExternalBytes){NULL,      weights->mapping->data + offset, (size_t)size,
                                give_back, mapping_ref(weights->mapping),   NULL};
    return WNNStatus_Success;
}

bool compiled_file_load(struct session *session, const char *path, WNNGraph *graph, struct error *error)
{
    struct error refusal = {WNNStatus_Success, ""};
    struct mapping *mapping = open_file(path, error);
    *graph = NULL;
    if (!mapping)
        return false;
    struct weights weights = {.path = session->weights};
    const WNNConstantSource source = {{NULL, WNNSType_ConstantSource}, find_bytes, &weights, NULL};
    bool good = session_load(session, lend(mapping), &source, false, graph, &refusal);
    mapping_unref(weights.mapping);
    free(weights.name);
    const char *why = weights.error.status ? weights.error.message : refusal.message;
    return good || wnn_fail(error, refusal.status, "%s: %s",
                            is_standard(path) ? "standard input" : SHOWN_STRING(path), why);
}

static WNNStatus write_bytes(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    (void)rest;
    (void)userdata2;
    return fwrite(data, 1, size, userdata1) == size ? WNNStatus_Success : WNNStatus_OperationError;
}

static bool write_standard(WNNGraph graph, const WNNChainedStruct *chain, struct error *error)
{
    char message[WNN_MESSAGE_SIZE] = "";
    WNNSaveGraphDescriptor to = WNN_SAVE_GRAPH_DESCRIPTOR_INIT;
    to.nextInChain = chain;
    to.write = write_bytes;
    to.userdata1 = create_binary("-", error);
    if (!to.userdata1)
        return false;
    WNNStatus status = wnnGraphSaveSync(graph, &to, sizeof message, message);
    return close_or_standard(stdout, "-", error) && (!status || wnn_fail(error, status, "%s", message));
}

// Beside the file, so that it takes its place at once.
bool compiled_file_save(WNNGraph graph, const char *path, bool weightless, struct error *error)
{
    const WNNWeightless without = WNN_WEIGHTLESS_INIT;
    const WNNChainedStruct *chain = weightless ? &without.chain : NULL;
    char message[WNN_MESSAGE_SIZE] = "";
    if (is_standard(path))
        return write_standard(graph, chain, error);
    size_t size = strlen(path) + 8;
    char *beside = must(malloc(size));
    snprintf(beside, size, "%s.XXXXXX", path);
    int descriptor = mkstemp(beside);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    WNNSaveGraphDescriptor to = WNN_SAVE_GRAPH_DESCRIPTOR_INIT;
    to.nextInChain = chain;
    to.write = write_bytes;
    to.userdata1 = file;
    errno = descriptor < 0 ? errno : 0;
    WNNStatus status =
        file ? wnnGraphSaveSync(graph, &to, sizeof message, message) : WNNStatus_OperationError;
    mode_t mask = umask(0);
    umask(mask);
    bool written = file && fchmod(descriptor, 0666 & ~mask) == 0;
    written =
        file && fclose(file) == 0 && written && status == WNNStatus_Success && rename(beside, path) == 0;
    if (!written) {
        int code = errno;
        if (descriptor >= 0)
            unlink(beside);
        wnn_fail(error, status ? status : WNNStatus_OperationError, "%s: %s", SHOWN_STRING(path),
                 code ? strerror(code) : message);
    }
    free(beside);
    return written;
}
