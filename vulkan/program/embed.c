// SPDX-License-Identifier: Apache-2.0
//
// usage: embed LIBRARY... -- ELEMENTS FAMILY...: prints the GLSL files as the tables of
// vulkan/program/sources.h. Runs while the library is built.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *path, const char *problem)
{
    fprintf(stderr, "embed: %s: %s\n", path, problem);
    exit(1);
}

// Prints a line as a C string, without indentation and comment.
static void print_line(const char *line)
{
    line += strspn(line, " ");
    size_t length = strcspn(line, "\n");
    const char *comment = strstr(line, "//");
    if (comment && comment < line + length)
        length = (size_t)(comment - line);
    while (length > 0 && line[length - 1] == ' ')
        length--;
    if (length == 0)
        return;
    printf("    \"");
    for (size_t i = 0; i < length; i++)
        printf(line[i] == '"' || line[i] == '\\' ? "\\%c" : "%c", line[i]);
    printf("\\n\"\n");
}

static void print_file(const char *path, int is_library)
{
    char line[1024];
    FILE *file = fopen(path, "r");
    int begun = !is_library;
    if (!file)
        fail(path, "cannot be read");
    while (fgets(line, sizeof line, file)) {
        if (is_library && strncmp(line, "//: ", 4) == 0) {
            line[strcspn(line, "\n")] = 0;
            printf("%s    {\"%s\",\n", begun ? "    },\n" : "", line + 4);
            begun = 1;
        } else if (begun) {
            print_line(line);
        }
    }
    if (is_library)
        printf("    },\n");
    fclose(file);
}

// "shaders/pad.comp" to "pad".
static void print_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    printf("    {\"%.*s\",\n", (int)strcspn(name, "."), name);
}

int main(int count, char **arguments)
{
    int dashes = 1;
    while (dashes < count && strcmp(arguments[dashes], "--") != 0)
        dashes++;
    if (dashes == 1 || dashes + 2 >= count)
        fail("arguments", "a library, --, the frame of elements, and families are needed");
    printf("#include \"vulkan/program/sources.h\"\n\nconst struct source_text wnn_gpu_library[] = {\n");
    for (int i = 1; i < dashes; i++)
        print_file(arguments[i], 1);
    printf("};\nconst size_t wnn_gpu_library_count = sizeof wnn_gpu_library / sizeof wnn_gpu_library[0];\n\n"
           "const char wnn_gpu_elements[] =\n");
    print_file(arguments[dashes + 1], 0);
    printf(";\n\nconst struct source_text wnn_gpu_families[] = {\n");
    for (int i = dashes + 2; i < count; i++) {
        print_name(arguments[i]);
        print_file(arguments[i], 0);
        printf("    },\n");
    }
    printf("    {NULL, NULL},\n};\n");
    return 0;
}
