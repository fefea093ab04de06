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

// The pieces of library.glsl, each with the words that a shader must mention to need it.
extern const struct source_text wnn_gpu_library[];
extern const size_t wnn_gpu_library_count;

// elements.glsl: the main function of families that define `element`.
extern const char wnn_gpu_elements[];

// The *.comp files by name; ended by NULL.
extern const struct source_text wnn_gpu_families[];

// What stands before probe.comp, and the SPIR-V of both (vulkan/program/precompile.c), if that could be made:
// with or without denormal numbers kept.
#define GPU_PROBE_HEAD  "#version 450\n"
#define GPU_PROBE_KEEPS "#define KEEPS_DENORMALS\n"
struct source_words {
    const uint32_t *words;
    size_t count;
};
extern const struct source_words wnn_gpu_probe[2];

#endif
