// SPDX-License-Identifier: Apache-2.0
#include "tools/file_cache.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// False: the path would be too long.
static bool path_of(char path[PATH_MAX], const char *directory, const unsigned char *key, size_t length,
                    const char *suffix)
{
    int used = snprintf(path, PATH_MAX, "%s/", directory);
    for (size_t i = 0; used > 0 && used < PATH_MAX && i < length; i++)
        used += snprintf(path + used, (size_t)(PATH_MAX - used), "%02x", key[i]);
    if (used > 0 && used < PATH_MAX)
        used += snprintf(path + used, (size_t)(PATH_MAX - used), "%s", suffix);
    return used > 0 && used < PATH_MAX;
}

static size_t load(const void *key, size_t length, void *data, size_t capacity, void *directory)
{
    char path[PATH_MAX];
    struct stat status;
    size_t bytes = 0;
    FILE *file = path_of(path, directory, key, length, "") ? fopen(path, "rb") : NULL;
    if (!file)
        return 0;
    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        bytes = (size_t)status.st_size;
    if (bytes <= capacity && fread(data, 1, bytes, file) != bytes)
        bytes = 0;
    fclose(file);
    return bytes;
}

// Under another name first, so that others see all of it or nothing.
static void store(const void *key, size_t length, const void *data, size_t bytes, void *directory)
{
    char path[PATH_MAX], temporary[PATH_MAX], suffix[32];
    snprintf(suffix, sizeof suffix, ".%ld", (long)getpid());
    if (!path_of(path, directory, key, length, "") || !path_of(temporary, directory, key, length, suffix))
        return;
    mkdir(directory, 0777);
    FILE *file = fopen(temporary, "wb");
    if (!file)
        return;
    bool good = fwrite(data, 1, bytes, file) == bytes;
    good = fclose(file) == 0 && good;
    if (!good || rename(temporary, path) != 0)
        unlink(temporary);
}

WNNCache file_cache(const char *directory)
{
    return (WNNCache){load, store, (void *)(uintptr_t)directory};
}
