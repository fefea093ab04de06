// SPDX-License-Identifier: Apache-2.0
#include "tools/file_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Room for the digits of a key and what stands behind them.
#define MAX_NAME  (NAME_MAX + 1)
#define MAX_TRIES 16

// False: the name would be too long.
static bool name_of(char name[MAX_NAME], const unsigned char *key, size_t length, const char *suffix)
{
    if (length == 0 || length * 2 + strlen(suffix) >= MAX_NAME)
        return false;
    for (size_t i = 0; i < length; i++)
        snprintf(name + 2 * i, 3, "%02x", key[i]);
    strcpy(name + 2 * length, suffix);
    return true;
}

// O_NONBLOCK: a pipe in the place of a file would have it wait.
static size_t load(const void *key, size_t length, void *data, size_t capacity, void *argument)
{
    const struct file_cache *cache = argument;
    char name[MAX_NAME];
    struct stat status;
    if (!name_of(name, key, length, ""))
        return 0;
    int file = openat(cache->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return 0;
    size_t bytes = 0, done = 0;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        bytes = (size_t)status.st_size;
    while (bytes <= capacity && done < bytes) {
        ssize_t count = read(file, (char *)data + done, bytes - done);
        if (count <= 0 && !(count < 0 && errno == EINTR))
            break;
        done += count > 0 ? (size_t)count : 0;
    }
    close(file);
    return bytes <= capacity && done < bytes ? 0 : bytes;
}

static bool write_all(int file, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t count = write(file, data, bytes);
        if (count < 0 && errno != EINTR)
            return false;
        data += count > 0 ? count : 0;
        bytes -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

// Under another name first, so that others see all of it or nothing: one that nothing has.
static void store(const void *key, size_t length, const void *data, size_t bytes, void *argument)
{
    const struct file_cache *cache = argument;
    char name[MAX_NAME], temporary[MAX_NAME], suffix[48];
    int file = -1;
    if (!name_of(name, key, length, ""))
        return;
    for (int i = 0; file < 0 && i < MAX_TRIES; i++) {
        snprintf(suffix, sizeof suffix, ".%ld.%d", (long)getpid(), i);
        if (!name_of(temporary, key, length, suffix))
            return;
        file =
            openat(cache->directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST)
            return;
    }
    if (file < 0)
        return;
    bool good = write_all(file, data, bytes);
    good = close(file) == 0 && good;
    if (!good || renameat(cache->directory, temporary, cache->directory, name) != 0)
        unlinkat(cache->directory, temporary, 0);
}

bool file_cache_open(struct file_cache *cache, const char *directory, struct error *error)
{
    struct stat status;
    mkdir(directory, 0700);
    cache->directory = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (cache->directory < 0 || fstat(cache->directory, &status) != 0) {
        int reason = errno;
        bool link = lstat(directory, &status) == 0 && S_ISLNK(status.st_mode);
        return wnn_fail(error, WNNStatus_UnknownError, "the cache %s: %s", directory,
                        link ? "it is a symbolic link" : strerror(reason));
    }
    if (status.st_uid != geteuid())
        return wnn_fail(error, WNNStatus_UnknownError, "the cache %s belongs to another user", directory);
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return wnn_fail(error, WNNStatus_UnknownError,
                        "others may write to the cache %s; chmod 700 takes that from them", directory);
    return true;
}

void file_cache_close(struct file_cache *cache)
{
    if (cache->directory >= 0)
        close(cache->directory);
    cache->directory = -1;
}

WNNCache file_cache(struct file_cache *cache)
{
    return (WNNCache){NULL, load, store, cache};
}
