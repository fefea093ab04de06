// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/spirv.h"

#include <string.h>

enum {
    MAGIC = 0x07230203,
    HEADER = 5, // words; the bound of ids is the fourth
    BOUND = 3,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_COOPERATIVE_MATRIX = 4456, // result, component, scope, rows, columns, use
    MATRIX_WORDS = 7
};

// The types that numbers stand for: OpTypeFloat, its width, and an encoding if that is not IEEE's.
struct scalar {
    uint32_t number, words, width, encoding;
};
static const struct scalar scalars[] = {
    {SPIRV_FLOAT16, 3, 16, 0},
    {SPIRV_FLOAT32, 3, 32, 0},
    {SPIRV_BFLOAT16, 4, 16, 0}, // encoding 0: BFloat16KHR
};
enum {
    SCALARS = sizeof scalars / sizeof scalars[0]
};

// The words of the instruction at `at`; 0: it does not end within the module.
static size_t length_at(const uint32_t *words, size_t count, size_t at)
{
    size_t length = words[at] >> 16;
    return length <= count - at ? length : 0;
}

static bool is_module(const uint32_t *words, size_t count)
{
    if (count < HEADER || words[0] != MAGIC)
        return false;
    size_t at = HEADER;
    for (size_t length = 1; at < count && length > 0; at += length)
        length = length_at(words, count, at);
    return at == count;
}

// The scalar that the matrix type at `at` names by a number; SCALARS: none.
static unsigned named_at(const uint32_t *words, size_t at)
{
    unsigned i = 0;
    if (words[at] != ((uint32_t)MATRIX_WORDS << 16 | OP_TYPE_COOPERATIVE_MATRIX))
        return SCALARS;
    while (i < SCALARS && words[at + 2] != scalars[i].number)
        i++;
    return i;
}

// The scalar that the instruction at `at` declares; SCALARS: none.
static unsigned declared_at(const uint32_t *words, size_t at)
{
    for (unsigned i = 0; i < SCALARS; i++)
        if (words[at] == (scalars[i].words << 16 | OP_TYPE_FLOAT) && words[at + 2] == scalars[i].width &&
            (scalars[i].words == 3 || words[at + 3] == scalars[i].encoding))
            return i;
    return SCALARS;
}

bool wnn_spirv_incomplete(const uint32_t *words, size_t count)
{
    if (!is_module(words, count))
        return false;
    for (size_t at = HEADER; at < count; at += length_at(words, count, at))
        if (named_at(words, at) < SCALARS)
            return true;
    return false;
}

size_t wnn_spirv_complete(const uint32_t *words, size_t count, uint32_t *out)
{
    uint32_t ids[SCALARS] = {0};
    bool needed[SCALARS] = {false}, done[SCALARS] = {false};
    if (!is_module(words, count))
        return 0;
    for (size_t at = HEADER; at < count; at += length_at(words, count, at)) {
        unsigned named = named_at(words, at), declared = declared_at(words, at);
        if (named < SCALARS)
            needed[named] = true;
        if (declared < SCALARS)
            ids[declared] = words[at + 1];
    }
    memcpy(out, words, HEADER * sizeof out[0]);
    size_t used = HEADER;
    for (size_t at = HEADER, length; at < count; at += length) {
        length = length_at(words, count, at);
        unsigned named = named_at(words, at), declared = declared_at(words, at);
        // A type that is declared, later or not at all, comes before the first that is made of it.
        if (named < SCALARS && !done[named]) {
            if (ids[named] == 0)
                ids[named] = out[BOUND]++;
            const uint32_t type[] = {scalars[named].words << 16 | OP_TYPE_FLOAT, ids[named],
                                     scalars[named].width, scalars[named].encoding};
            memcpy(out + used, type, scalars[named].words * sizeof type[0]);
            used += scalars[named].words;
            done[named] = true;
        }
        if (declared < SCALARS && done[declared] && needed[declared])
            continue;
        if (declared < SCALARS)
            done[declared] = true;
        memcpy(out + used, words + at, length * sizeof out[0]);
        if (named < SCALARS)
            out[used + 2] = ids[named];
        used += length;
    }
    return used;
}
