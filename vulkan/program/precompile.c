// SPDX-License-Identifier: Apache-2.0
//
// usage: precompile PROBE: prints the SPIR-V of the probe as the table of vulkan/program/sources.h. Runs
// while the library is built.

#include "vulkan/program/glsl.h"
#include "vulkan/program/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *path, const char *problem)
{
    fprintf(stderr, "precompile: %s: %s\n", path, problem);
    exit(1);
}

int main(int count, char **arguments)
{
    static const char *const heads[] = {GPU_PROBE_HEAD, GPU_PROBE_HEAD GPU_PROBE_KEEPS,
                                        GPU_PROBE_HEAD GPU_PROBE_DOTS,
                                        GPU_PROBE_HEAD GPU_PROBE_DOTS GPU_PROBE_KEEPS};
    const int variants = sizeof heads / sizeof heads[0];
    char text[16384], whole[17000];
    FILE *file = count == 2 ? fopen(arguments[1], "r") : NULL;
    if (!file)
        fail("arguments", "the probe cannot be read");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    void *compiler = webnn_glsl.create();
    if (!compiler)
        fail(arguments[1], "out of memory");
    printf("#include \"vulkan/program/sources.h\"\n\n");
    for (int i = 0; i < variants; i++) {
        int length = snprintf(whole, sizeof whole, "%s%s", heads[i], text);
        struct glsl_result spirv = webnn_glsl.compile(compiler, whole, (size_t)length);
        if (!spirv.words)
            fail(arguments[1], spirv.message);
        printf("static const uint32_t words%d[] = {", i);
        for (size_t k = 0; k < spirv.count; k++)
            printf("%s0x%08X,", k % 8 ? " " : "\n    ", (unsigned)spirv.words[k]);
        printf("\n};\n\n");
        webnn_glsl.release(&spirv);
    }
    webnn_glsl.destroy(compiler);
    printf("const struct source_words wnn_gpu_probe[%d] = {\n", variants);
    for (int i = 0; i < variants; i++)
        printf("    {words%d, sizeof words%d / sizeof words%d[0]},\n", i, i, i);
    printf("};\n");
    return 0;
}
