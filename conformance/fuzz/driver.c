// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzzer on random bytes, or on the bytes of files.
//
// Usage: webnn-fuzz-... [--count=N] [--seed=N] [FILE...]

#include "conformance/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES   700
#define MOST_SECONDS 120 // of one input: longer is a hang

static int run_file(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return LLVMFuzzerTestOneInput(bytes, size);
}

int main(int argc, char **argv)
{
    unsigned long count = 1000, seed = 1;
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++)
        if (sscanf(argv[1], "--count=%lu", &count) != 1 && sscanf(argv[1], "--seed=%lu", &seed) != 1)
            return 2;
    for (int i = 1; i < argc; i++)
        if (run_file(argv[i]) != 0)
            return 1;
    if (argc > 1)
        return 0;
    // What a crash leaves behind: among which hundred its seed is.
    for (unsigned long i = 0; i < count; i++) {
        uint8_t bytes[MOST_BYTES];
        uint64_t state = (seed + i) * 0x9E3779B97F4A7C15u;
        size_t size = 0;
        do {
            uint64_t x = state += 0x9E3779B97F4A7C15u;
            x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
            x = (x ^ x >> 27) * 0x94D049BB133111EBu;
            bytes[size] = (uint8_t)(x >> 32);
        } while (++size < sizeof bytes && size < 60 + (seed + i) % 640);
        if (i % 100 == 0)
            fprintf(stderr, "from seed %lu\n", seed + i);
        alarm(MOST_SECONDS);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    alarm(0);
    printf("%lu inputs, %lu graphs\n", count, fuzz_built);
    return fuzz_built == 0 && count >= 100;
}
