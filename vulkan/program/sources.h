// SPDX-License-Identifier: Apache-2.0
//
// The GLSL files of vulkan/shaders, made part of the library by vulkan/program/embed.c.

#ifndef VULKAN_SOURCES_H_
#define VULKAN_SOURCES_H_

#include <stddef.h>
#include <stdint.h>

struct source_text {
    const char *name, *text;
};

// Functions that kernels use (vulkan/shaders/*.glsl), each behind a line that names it: "//: add I64". A
// piece becomes part of a shader if all words of its line occur in what comes after it there, so that a
// function must stand behind those that it calls, in its file and in the order of the files in
// vulkan/meson.build. Only +, -, *, comparisons and bit operations are trusted in them: native functions miss
// the tolerances on real devices. `precise` keeps what is written from being reassociated or contracted.
extern const struct source_text wnn_gpu_library[];
extern const size_t wnn_gpu_library_count;

// elements.glsl: the main function of families that define `element`.
extern const char wnn_gpu_elements[];

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
