// SPDX-License-Identifier: Apache-2.0
//
// The GLSL files of vulkan/shaders, made part of the library by vulkan/program/embed.c.

#ifndef VULKAN_SOURCES_H_
#define VULKAN_SOURCES_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// The words that functions of the library are asked for by, each with a number.
enum {
    GPU_WORDS = 192, // or fewer
    GPU_WORD_SLOTS = 1024
};

struct word_set {
    uint64_t bits[GPU_WORDS / 64];
};

struct word_slot {
    const char *word; // NULL: no more words of that hash
    size_t length, number;
};
extern const struct word_slot wnn_gpu_words[GPU_WORD_SLOTS];

static inline size_t wnn_gpu_hash_word(const char *word, size_t length)
{
    uint32_t hash = 0x811C9DC5u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)word[i]) * 0x01000193u;
    return (hash ^ hash >> 16) % GPU_WORD_SLOTS;
}

static inline int wnn_gpu_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Goes on to the next word, and returns its length; 0: there is none.
static inline size_t wnn_gpu_next_word(const char **text)
{
    size_t length = 0;
    while (**text && !wnn_gpu_is_letter(**text))
        ++*text;
    while (wnn_gpu_is_letter((*text)[length]))
        length++;
    return length;
}

struct source_text {
    const char *name, *text;
    size_t length;
    struct word_set names, words; // in the name, and in the text
};

// Functions that kernels use (vulkan/shaders/*.glsl), each behind a line that names it: "//: add I64". A
// piece becomes part of a shader if all words of its line occur in what comes after it there, so that a
// function must stand behind those that it calls, in its file and in the order of the files in
// vulkan/meson.build. Only +, -, *, comparisons and bit operations are trusted in them: native functions miss
// the tolerances on real devices. `precise` keeps what is written from being reassociated or contracted.
extern const struct source_text wnn_gpu_library[];
extern const size_t wnn_gpu_library_count;

// elements.glsl: the main function of families that define `element`.
extern const struct source_text wnn_gpu_elements;

// The *.comp files by name; ended by NULL.
extern const struct source_text wnn_gpu_families[];

// What stands before probe.comp, and the SPIR-V of all four (vulkan/program/precompile.c), if that could be
// made: with or without denormal numbers kept (1) and sums of products of bytes (2).
#define GPU_PROBE_HEAD  "#version 450\n"
#define GPU_PROBE_KEEPS "#define KEEPS_DENORMALS\n"
#define GPU_PROBE_DOTS  "#define DOTS\n"
struct source_words {
    const uint32_t *words;
    size_t count;
};
extern const struct source_words wnn_gpu_probe[4];

#endif
