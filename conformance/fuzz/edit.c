// SPDX-License-Identifier: Apache-2.0
#include "conformance/fuzz/edit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// Under a sanitizer everything takes several times as much, and freed memory is kept for a while.
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#define MAX_CPU_SECONDS 40.0
#define MAX_RESIDENT    (3L << 20) // KiB
#else
#define MAX_CPU_SECONDS 5.0
#define MAX_RESIDENT    (1L << 20)
#endif
#define MAX_SHOWN 4000

unsigned take(struct edits *edits)
{
    if (edits->length == 0)
        return 0;
    edits->length--;
    return *edits->bytes++;
}

unsigned take_long(struct edits *edits)
{
    unsigned high = take(edits);
    return high << 8 | take(edits);
}

void replace(struct contents *bytes, size_t at, size_t cut, const char *with, size_t length, size_t times)
{
    size_t put = length * times, size = bytes->size - cut + put;
    if (size > MAX_EDITED)
        return;
    char *data = malloc(size + 1);
    if (!data)
        abort();
    memcpy(data, bytes->data, at);
    for (size_t i = 0; length && i < times; i++)
        memcpy(data + at + i * length, with, length);
    memcpy(data + at + put, bytes->data + at + cut, bytes->size - at - cut);
    data[size] = '\0';
    free(bytes->data);
    *bytes = (struct contents){data, size};
}

void spoil(struct contents *bytes, struct edits *edits)
{
    static const uint32_t lengths[] = {0,          1,          2,          7,          0x7F,
                                       0xFF,       0x100,      0x7FFF,     0xFFFF,     0x10000,
                                       0xFFFFFF,   0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFF,
                                       0x01000000, 0x00400000, 0x40000000};
    unsigned kind = take(edits) % 8;
    // Most of what readers believe stands at the beginning.
    size_t at = take_long(edits) % (bytes->size + 1), rest;
    if (take(edits) & 1)
        at %= 64 < bytes->size ? 64 : bytes->size + 1;
    rest = bytes->size - at;
    size_t length = 1 + take(edits) % 32;
    unsigned value = take(edits);
    char byte = (char)value;
    if (length > rest)
        length = rest;
    switch (kind) {
    case 0: // left out
        replace(bytes, at, length, NULL, 0, 0);
        break;
    case 1: { // again, up to many times
        char again[32];
        memcpy(again, bytes->data + at, length);
        replace(bytes, at, 0, again, length, value < 128 ? 1 : (size_t)1 << (value % 16));
        break;
    }
    case 2: // another byte
    case 3:
        replace(bytes, at, rest > 0, &byte, 1, 1);
        break;
    case 4: { // a length, either end first
        uint32_t number = lengths[value % (sizeof lengths / sizeof *lengths)];
        char put[4];
        for (unsigned i = 0; i < 4; i++)
            put[value & 128 ? 3 - i : i] = (char)(number >> (8 * i));
        size_t width = length & 1 ? 4 : 2;
        replace(bytes, at, rest < width ? rest : width, put + (value & 128 ? 4 - width : 0), width, 1);
        break;
    }
    case 5: // one bit
        if (rest)
            bytes->data[at] = (char)(bytes->data[at] ^ 1 << value % 8);
        break;
    case 6: // more at the end
        replace(bytes, bytes->size, 0, &byte, 1, length);
        break;
    default: // the end is missing
        replace(bytes, at, rest, NULL, 0, 0);
        break;
    }
}

struct file open_file(void)
{
    struct file file = {.descriptor = memfd_create("fuzz", 0)};
    if (file.descriptor < 0)
        abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.descriptor);
    return file;
}

void fill_file(const struct file *file, const struct contents *bytes)
{
    if (ftruncate(file->descriptor, 0) != 0 ||
        pwrite(file->descriptor, bytes->data, bytes->size, 0) != (ssize_t)bytes->size)
        abort();
}

struct contents read_file(const struct file *file)
{
    off_t size = lseek(file->descriptor, 0, SEEK_END);
    struct contents bytes = {malloc((size_t)size + 1), (size_t)size};
    if (!bytes.data || pread(file->descriptor, bytes.data, bytes.size, 0) != size)
        abort();
    bytes.data[bytes.size] = '\0';
    return bytes;
}

static char folder[] = "/tmp/webnn-fuzz-XXXXXX";

static void path_in_folder(char *path, size_t size, const char *name)
{
    if (snprintf(path, size, "%s/%s", folder, name) >= (int)size)
        abort();
}

static void remove_folder(void)
{
    DIR *files = opendir(folder);
    for (struct dirent *entry; files && (entry = readdir(files));) {
        char path[400];
        path_in_folder(path, sizeof path, entry->d_name);
        unlink(path);
    }
    if (files)
        closedir(files);
    rmdir(folder);
}

const char *folder_path(void)
{
    static bool made;
    if (!made && (!mkdtemp(folder) || atexit(remove_folder) != 0))
        abort();
    made = true;
    return folder;
}

void folder_write(const char *name, const struct contents *bytes)
{
    char path[400];
    folder_path();
    path_in_folder(path, sizeof path, name);
    FILE *file = fopen(path, "wb");
    if (!file || (bytes->size > 0 && fwrite(bytes->data, 1, bytes->size, file) != bytes->size) ||
        fclose(file) != 0)
        abort();
}

static double cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void budget_begin(struct fuzz_budget *budget)
{
    budget->begin = cpu_seconds();
}

void budget_end(const struct fuzz_budget *budget, const char *what, const struct contents *bytes)
{
    struct rusage usage;
    double seconds = cpu_seconds() - budget->begin;
    getrusage(RUSAGE_SELF, &usage);
    if (seconds <= MAX_CPU_SECONDS && usage.ru_maxrss <= MAX_RESIDENT)
        return;
    fprintf(stderr, "%s: %zu bytes took %.1f s of the processor, and up to %ld MiB\n", what, bytes->size,
            seconds, usage.ru_maxrss >> 10);
    fail("more than its budget", bytes);
}

void fail(const char *what, const struct contents *bytes)
{
    size_t shown = bytes->size < MAX_SHOWN ? bytes->size : MAX_SHOWN;
    fprintf(stderr, "%s:\n%.*s\n", what, (int)shown, bytes->data);
    abort();
}
