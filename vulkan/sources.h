// SPDX-License-Identifier: Apache-2.0
//
// The GLSL files of vulkan/kernels, made part of the library by vulkan/embed.c.

#ifndef VULKAN_SOURCES_H_
#define VULKAN_SOURCES_H_

#include <stddef.h>

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

#endif
