// SPDX-License-Identifier: Apache-2.0
#include "tools/mapping.h"

#include "tools/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Reads what cannot be mapped.
static bool read_all(int file, struct mapping *mapping)
{
    unsigned char *data = NULL;
    size_t capacity = 0, size = 0;
    for (;;) {
        if (size == capacity) {
            capacity = capacity ? capacity * 2 : 65536;
            data = must(realloc(data, capacity));
        }
        ssize_t count = read(file, data + size, capacity - size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            free(data);
            return false;
        }
        if (count == 0)
            break;
        size += (size_t)count;
    }
    mapping->data = data;
    mapping->size = size;
    return true;
}

struct mapping *mapping_open(const char *path, struct error *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
        if (file >= 0)
            close(file);
        return NULL;
    }
    struct mapping *mapping = must_allocate(sizeof *mapping);
    atomic_init(&mapping->references, 1);
    bool good;
    if (S_ISREG(status.st_mode) && status.st_size > 0) {
        mapping->size = (size_t)status.st_size;
        void *data = mmap(NULL, mapping->size, PROT_READ, MAP_PRIVATE, file, 0);
        good = data != MAP_FAILED;
        mapping->data = data;
        mapping->mapped = true;
    } else {
        good = read_all(file, mapping);
    }
    if (!good) {
        wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
        free(mapping);
        mapping = NULL;
    }
    close(file);
    return mapping;
}

struct mapping *mapping_share(struct mapping *mapping)
{
    atomic_fetch_add_explicit(&mapping->references, 1, memory_order_relaxed);
    return mapping;
}

void mapping_release(struct mapping *mapping)
{
    if (!mapping || atomic_fetch_sub_explicit(&mapping->references, 1, memory_order_acq_rel) != 1)
        return;
    // The qualifier only kept this program from writing into the file's bytes.
    void *data = (void *)(uintptr_t)mapping->data;
    if (mapping->mapped)
        munmap(data, mapping->size);
    else
        free(data);
    free(mapping);
}
