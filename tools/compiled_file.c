// SPDX-License-Identifier: Apache-2.0
#include "tools/compiled_file.h"

#include "compiler/stored.h"
#include "tools/memory.h"
#include "tools/model/mapping.h"
#include "tools/terminal.h"

#include <webnn/compiled.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool compiled_file_is(const char *path)
{
    char begin[8];
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode))
        return false;
    FILE *file = fopen(path, "rb");
    bool is = file && fread(begin, 1, sizeof begin, file) == sizeof begin &&
              memcmp(begin, STORED_MAGIC, sizeof begin) == 0;
    if (file)
        fclose(file);
    return is;
}

static void give_back(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)data;
    (void)size;
    (void)userdata2;
    mapping_unref(userdata1);
}

bool compiled_file_load(struct session *session, const char *path, WNNGraph *graph, struct error *error)
{
    const struct mapping_rule rule = {.what = "a compiled graph", .most = SIZE_MAX / 2};
    char message[WNN_MESSAGE_SIZE];
    struct mapping *mapping = mapping_open(path, &rule, error);
    *graph = NULL;
    if (!mapping)
        return false;
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    descriptor.bytes = (WNNExternalBytes){NULL, mapping->data, mapping->size, give_back, mapping, NULL};
    WNNStatus status = wnnContextLoadGraphSync(session->context, &descriptor, graph, sizeof message, message);
    return status == WNNStatus_Success || wnn_fail(error, status, "%s: %s", SHOWN_STRING(path), message);
}

static WNNStatus write_bytes(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    (void)rest;
    (void)userdata2;
    return fwrite(data, 1, size, userdata1) == size ? WNNStatus_Success : WNNStatus_OperationError;
}

// Beside the file, so that it takes its place at once.
bool compiled_file_save(WNNGraph graph, const char *path, struct error *error)
{
    char message[WNN_MESSAGE_SIZE] = "";
    size_t size = strlen(path) + 8;
    char *beside = must(malloc(size));
    snprintf(beside, size, "%s.XXXXXX", path);
    int descriptor = mkstemp(beside);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    WNNSaveGraphDescriptor to = WNN_SAVE_GRAPH_DESCRIPTOR_INIT;
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
