// SPDX-License-Identifier: Apache-2.0
#include "conformance/unit/processor.h"

#include "lib/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SKIPPED = 77 // Meson's exit code
};

static const struct {
    const char *name;
    struct isa_limit limit;
} processors[] = {
    {"portable", {.best = WNN_ISA_ANY, .alone = true}},
    {"AVX2", {.best = WNN_ISA_AVX2, .alone = true}},
    {"AVX2 and more", {.best = WNN_ISA_AVX2}},
    {"AVX-512", {.best = WNN_ISA_AVX512, .alone = true}},
};

void play_processor(void)
{
    const char *name = getenv("WNN_PROCESSOR");
    if (!name)
        return;
    for (size_t i = 0; i < sizeof processors / sizeof processors[0]; i++) {
        if (strcmp(processors[i].name, name) != 0)
            continue;
        wnn_isa_limit = processors[i].limit;
        if (wnn_isa() != wnn_isa_limit.best) {
            printf("skipped: this processor has no %s\n", name);
            exit(SKIPPED);
        }
        return;
    }
    printf("WNN_PROCESSOR=%s: no such processor\n", name);
    exit(EXIT_FAILURE);
}
