// SPDX-License-Identifier: Apache-2.0
//
// Runs while the library is built: prints a digest of the sources in some folders, as C. Two libraries of one
// fingerprint pack weights and make code for devices alike.
//
// usage: fingerprint OUTPUT DEPENDENCIES ROOT FOLDER...

#include "lib/sha256.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char **paths;
    size_t count;
} files;

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "fingerprint: %s %s\n", what, name);
    exit(1);
}

static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path)
        fail("no memory for", name);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static void add_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        fail("cannot open", path);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        char *below = join(path, entry->d_name);
        if (!strchr(entry->d_name, '.')) {
            add_folder(below);
            free(below);
            continue;
        }
        files.paths = realloc(files.paths, (files.count + 1) * sizeof files.paths[0]);
        if (!files.paths)
            fail("no memory for", below);
        files.paths[files.count++] = below;
    }
    closedir(folder);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_file(struct sha256 *hash, const char *path, const char *name)
{
    static char bytes[65536];
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("cannot open", path);
    wnn_sha256_add(hash, name, strlen(name) + 1);
    for (size_t size; (size = fread(bytes, 1, sizeof bytes, file)) > 0;)
        wnn_sha256_add(hash, bytes, size);
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        fail("too few", "arguments");
    for (int i = 4; i < argc; i++) {
        char *folder = join(argv[3], argv[i]);
        add_folder(folder);
        free(folder);
    }
    qsort(files.paths, files.count, sizeof files.paths[0], compare);
    FILE *dependencies = fopen(argv[2], "w"), *output = fopen(argv[1], "w");
    if (!dependencies || !output)
        fail("cannot write", argv[1]);
    struct sha256 hash;
    unsigned char digest[WNN_SHA256_BYTES];
    wnn_sha256_begin(&hash);
    fprintf(dependencies, "%s:", argv[1]);
    for (size_t i = 0; i < files.count; i++) {
        add_file(&hash, files.paths[i], files.paths[i] + strlen(argv[3]));
        fprintf(dependencies, " %s", files.paths[i]);
        free(files.paths[i]);
    }
    free(files.paths);
    wnn_sha256_end(&hash, digest);
    fprintf(dependencies, "\n");
    fprintf(output, "#include \"compiler/stored.h\"\n\nconst char wnn_fingerprint[] = \"");
    for (unsigned i = 0; i < 16; i++)
        fprintf(output, "%02x", digest[i]);
    fprintf(output, "\";\n");
    return fclose(dependencies) || fclose(output);
}
