// SPDX-License-Identifier: Apache-2.0
//
// usage: npz_noise ARCHIVE SCRATCH
//
// Reads all arrays of an archive, and of every archive that differs from it by one bit, by all bits of a byte
// or by its end, which are written to the file SCRATCH. Each is read, or refused with a message.

#include "tools/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, size_t at)
{
    fprintf(stderr, "%s: byte %zu\n", what, at);
    exit(1);
}

// Returns how many arrays there are to read.
static size_t read_all(const char *path, size_t at)
{
    struct error error = {WNNStatus_Success, ""};
    struct npz *archive = npz_open(path, &error);
    size_t count = 0;
    if (!archive && !error.message[0])
        fail("refused without a message", at);
    for (size_t i = 0; archive && i < archive->count; i++) {
        struct array array;
        error = (struct error){WNNStatus_Success, ""};
        if (npz_read(archive, &archive->entries[i], &array, &error)) {
            array_close(&array);
            count++;
        } else if (!error.message[0]) {
            fail("an array is refused without a message", at);
        }
    }
    npz_close(archive);
    return count;
}

static size_t read_bytes(const char *scratch, const unsigned char *bytes, size_t size, size_t at)
{
    remove(scratch); // or the file system would wait for the disk with each file that takes another's place
    FILE *file = fopen(scratch, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        fail("cannot be written", at);
    return read_all(scratch, at);
}

int main(int argc, char **argv)
{
    static unsigned char bytes[4096];
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0, unharmed = 0, arrays;
    if (file)
        fclose(file);
    if (size == 0 || size == sizeof bytes || (arrays = read_all(argv[1], 0)) == 0)
        fail("no archive of a few arrays", 0);
    for (size_t at = 0; at < size; at++) {
        for (unsigned bit = 0; bit < 9; bit++) {
            unsigned char change = (unsigned char)(bit < 8 ? 1u << bit : 255);
            bytes[at] ^= change;
            unharmed += read_bytes(argv[2], bytes, size, at) == arrays;
            bytes[at] ^= change;
        }
        if (read_bytes(argv[2], bytes, at, at) > 0)
            fail("an archive without its end is read", at);
    }
    printf("%zu arrays, %zu bytes; %zu of %zu changes harm nothing\n", arrays, size, unharmed, 9 * size);
    return unharmed == 9 * size; // what is checked by a sum would be noticed
}
