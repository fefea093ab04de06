// SPDX-License-Identifier: Apache-2.0
#include "tools/safe_name.h"

#include "tools/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_NAME = 200 // bytes, to which a number and an ending are added
};

static bool stays(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || (c == '.' && !first);
}

static void encode(struct string name, char safe[MAX_NAME + 1])
{
    size_t length = 0;
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        bool plain = stays(c, i == 0);
        if (length + (plain ? 1 : 3) > MAX_NAME)
            break;
        length += (size_t)snprintf(safe + length, 4, plain ? "%c" : "%%%02X", plain ? c : (unsigned char)c);
    }
    safe[length] = '\0';
}

// False: the folder has a file of that name.
static bool take(struct safe_names *names, const char *file)
{
    char *lower = must(strdup(file));
    for (char *c = lower; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    size_t before = names->lower.count;
    name_table_add(&names->lower, (struct string){lower, strlen(lower)});
    if (names->lower.count > before)
        return true;
    free(lower);
    return false;
}

// '~' is in no name that was encoded.
char *safe_names_add(struct safe_names *names, struct string name, const char *ending)
{
    char safe[MAX_NAME + 1], file[MAX_NAME + 64];
    encode(name, safe);
    snprintf(file, sizeof file, "%s%s", safe[0] ? safe : "~", ending);
    while (!take(names, file))
        snprintf(file, sizeof file, "%s~%zu%s", safe, ++names->collisions, ending);
    return must(strdup(file));
}

void safe_names_free(struct safe_names *names)
{
    for (size_t i = 0; i < names->lower.count; i++)
        free((void *)(uintptr_t)names->lower.names[i].data);
    name_table_free(&names->lower);
}

static int digit_of(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

char *safe_name_decode(struct string file)
{
    char *name = must_allocate(file.length + 1);
    size_t length = 0;
    for (size_t i = 0; i < file.length; i++) {
        int high = file.data[i] == '%' && i + 2 < file.length ? digit_of(file.data[i + 1]) : -1;
        int low = high >= 0 ? digit_of(file.data[i + 2]) : -1;
        name[length++] = low >= 0 ? (char)(high << 4 | low) : file.data[i];
        i += low >= 0 ? 2 : 0;
    }
    return name;
}
