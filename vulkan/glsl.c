// SPDX-License-Identifier: Apache-2.0
#include "vulkan/glsl.h"

#include <shaderc/shaderc.h>

struct compiler {
    shaderc_compiler_t compiler;
    shaderc_compile_options_t options;
};

#include <stdlib.h>

static void destroy(void *pointer)
{
    struct compiler *compiler = pointer;
    if (compiler->options)
        shaderc_compile_options_release(compiler->options);
    if (compiler->compiler)
        shaderc_compiler_release(compiler->compiler);
    free(compiler);
}

static void *create(void)
{
    struct compiler *compiler = calloc(1, sizeof *compiler);
    if (!compiler)
        return NULL;
    compiler->compiler = shaderc_compiler_initialize();
    compiler->options = shaderc_compile_options_initialize();
    if (!compiler->compiler || !compiler->options) {
        destroy(compiler);
        return NULL;
    }
    shaderc_compile_options_set_target_env(compiler->options, shaderc_target_env_vulkan,
                                           shaderc_env_version_vulkan_1_1);
    shaderc_compile_options_set_optimization_level(compiler->options, shaderc_optimization_level_zero);
    return compiler;
}

static struct glsl_result compile(void *pointer, const char *text, size_t length)
{
    const struct compiler *compiler = pointer;
    shaderc_compilation_result_t result = shaderc_compile_into_spv(
        compiler->compiler, text, length, shaderc_compute_shader, "shader", "main", compiler->options);
    struct glsl_result answer = {.memory = result, .message = "out of memory"};
    if (!result)
        return answer;
    answer.message = shaderc_result_get_error_message(result);
    if (shaderc_result_get_compilation_status(result) == shaderc_compilation_status_success) {
        answer.words = (const uint32_t *)(const void *)shaderc_result_get_bytes(result);
        answer.count = shaderc_result_get_length(result) / sizeof(uint32_t);
    }
    return answer;
}

static void release(struct glsl_result *result)
{
    if (result->memory)
        shaderc_result_release(result->memory);
}

__attribute__((visibility("default")))
const struct glsl_compiler webnn_glsl = {GLSL_VERSION, compile, release, create, destroy};
