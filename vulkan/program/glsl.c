// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/glsl.h"

#include "vulkan/program/spirv.h"

#include <shaderc/shaderc.h>
#include <stdlib.h>
#include <string.h>

struct compiler {
    shaderc_compiler_t compiler;
    shaderc_compile_options_t options,
        recent; // recent: for what Vulkan's memory model makes part of SPIR-V 1.5
};

static void destroy(void *pointer)
{
    struct compiler *compiler = pointer;
    if (compiler->options)
        shaderc_compile_options_release(compiler->options);
    if (compiler->recent)
        shaderc_compile_options_release(compiler->recent);
    if (compiler->compiler)
        shaderc_compiler_release(compiler->compiler);
    free(compiler);
}

static void *create_compiler(void)
{
    struct compiler *compiler = calloc(1, sizeof *compiler);
    if (!compiler)
        return NULL;
    compiler->compiler = shaderc_compiler_initialize();
    compiler->options = shaderc_compile_options_initialize();
    compiler->recent = shaderc_compile_options_initialize();
    if (!compiler->compiler || !compiler->options || !compiler->recent) {
        destroy(compiler);
        return NULL;
    }
    shaderc_compile_options_set_target_env(compiler->options, shaderc_target_env_vulkan,
                                           shaderc_env_version_vulkan_1_1);
    shaderc_compile_options_set_target_env(compiler->recent, shaderc_target_env_vulkan,
                                           shaderc_env_version_vulkan_1_2);
    shaderc_compile_options_set_optimization_level(compiler->options, shaderc_optimization_level_zero);
    shaderc_compile_options_set_optimization_level(compiler->recent, shaderc_optimization_level_zero);
    return compiler;
}

// Replaces the words by a completed copy of them.
static void complete(struct glsl_result *result)
{
    result->copy = malloc((result->count + SPIRV_GROWTH) * sizeof(uint32_t));
    if (result->copy)
        result->count = wnn_spirv_complete(result->words, result->count, result->copy);
    result->words = result->copy;
    result->message = "out of memory";
}

static struct glsl_result compile(void *pointer, const char *text, size_t length)
{
    static const char memory_model[] = "#pragma use_vulkan_memory_model";
    const struct compiler *compiler = pointer;
    bool recent = memmem(text, length, memory_model, sizeof memory_model - 1);
    shaderc_compilation_result_t result =
        shaderc_compile_into_spv(compiler->compiler, text, length, shaderc_compute_shader, "shader", "main",
                                 recent ? compiler->recent : compiler->options);
    struct glsl_result answer = {.memory = result, .message = "out of memory"};
    if (!result)
        return answer;
    answer.message = shaderc_result_get_error_message(result);
    if (shaderc_result_get_compilation_status(result) == shaderc_compilation_status_success) {
        answer.words = (const uint32_t *)(const void *)shaderc_result_get_bytes(result);
        answer.count = shaderc_result_get_length(result) / sizeof(uint32_t);
        if (wnn_spirv_incomplete(answer.words, answer.count))
            complete(&answer);
    }
    return answer;
}

static void release(struct glsl_result *result)
{
    if (result->memory)
        shaderc_result_release(result->memory);
    free(result->copy);
}

__attribute__((visibility("default")))
const struct glsl_compiler webnn_glsl = {GLSL_VERSION, compile, release, create_compiler, destroy};
