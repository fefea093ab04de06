// SPDX-License-Identifier: Apache-2.0
#include "tools/standard_output.h"

#include "tools/standard_input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(const char *path)
{
    return is_standard(path) ? "standard output" : path;
}

FILE *create_or_standard(const char *path, struct error *error)
{
    FILE *file = is_standard(path) ? stdout : fopen(path, "wb");
    if (!file)
        wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
    return file;
}

FILE *create_binary(const char *path, struct error *error)
{
    if (!is_standard(path) || !isatty(STDOUT_FILENO))
        return create_or_standard(path, error);
    wnn_fail(error, WNNStatus_TypeError, "standard output: such bytes are nothing for a terminal to show");
    return NULL;
}

bool close_or_standard(FILE *file, const char *path, struct error *error)
{
    errno = 0;
    bool good = !ferror(file);
    good = (is_standard(path) ? fflush(file) : fclose(file)) == 0 && good;
    int reason = errno;
    return good || wnn_fail(error, WNNStatus_UnknownError, "%s: %s", name_of(path),
                            reason ? strerror(reason) : "it cannot be written");
}

bool copy_to_standard(const char *path, struct error *error)
{
    char buffer[1 << 16];
    FILE *from = fopen(path, "rb");
    if (!from)
        return wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
    size_t count;
    while ((count = fread(buffer, 1, sizeof buffer, from)) > 0 && fwrite(buffer, 1, count, stdout) == count) {
    }
    bool good = !ferror(from) || wnn_fail(error, WNNStatus_UnknownError, "%s: it cannot be read", path);
    fclose(from);
    return close_or_standard(stdout, "-", error) && good;
}
