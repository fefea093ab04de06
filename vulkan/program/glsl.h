// SPDX-License-Identifier: Apache-2.0
//
// The GLSL compiler, in a library of its own (libwebnn-glsl) that pipeline.c opens: it is large, written in
// C++, and not needed by those who only use the processor.

#ifndef VULKAN_GLSL_H_
#define VULKAN_GLSL_H_

#include <stddef.h>
#include <stdint.h>

// Compiles a compute shader. Any thread. `words` is to be given back with `release`; NULL: `message` says
// why.
struct glsl_result {
    const uint32_t *words;
    size_t count;
    const char *message;
    void *memory;
    uint32_t *copy; // of the words, where they had to be changed; NULL: they are the compiler's
};

struct glsl_compiler {
    const char *version; // what compiles differently has another
    struct glsl_result (*compile)(void *compiler, const char *text, size_t length);
    void (*release)(struct glsl_result *result);
    void *(*create)(void); // NULL: out of memory
    void (*destroy)(void *compiler);
};

// What the library exports, and its name.
#define GLSL_SYMBOL "webnn_glsl"
extern const struct glsl_compiler webnn_glsl;

#endif
