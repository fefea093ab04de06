// SPDX-License-Identifier: Apache-2.0
//
// usage: embed LIBRARY... -- ELEMENTS FAMILY...: prints the GLSL files as the tables of
// vulkan/program/sources.h. Runs while the library is built.

#include "vulkan/program/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TEXTS = 256,
    MAX_TEXT = 1 << 16
};

struct piece {
    char name[64]; // of a function of the library: all words of its line
    char *text;
};

static struct piece library[MAX_TEXTS], elements[MAX_TEXTS], families[MAX_TEXTS];
static size_t library_count, element_count, family_count;
static char words[GPU_WORDS][64];
static size_t word_count;

static void fail(const char *path, const char *problem)
{
    fprintf(stderr, "embed: %s: %s\n", path, problem);
    exit(1);
}

// ---------------------------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------------------------

static struct piece *add_piece(struct piece *pieces, size_t *count, const char *name, size_t length)
{
    struct piece *piece = &pieces[(*count)++];
    if (*count > MAX_TEXTS || length >= sizeof piece->name)
        fail(name, "too many pieces, or too long a name");
    memcpy(piece->name, name, length);
    piece->text = calloc(1, MAX_TEXT);
    if (!piece->text)
        fail(name, "out of memory");
    return piece;
}

// Appends a line without indentation and comment.
static void add_line(struct piece *piece, const char *line)
{
    line += strspn(line, " ");
    size_t length = strcspn(line, "\n"), used = strlen(piece->text);
    const char *comment = strstr(line, "//");
    if (comment && comment < line + length)
        length = (size_t)(comment - line);
    while (length > 0 && line[length - 1] == ' ')
        length--;
    if (used + length + 2 > MAX_TEXT)
        fail(piece->name, "too long");
    if (length > 0)
        sprintf(piece->text + used, "%.*s\n", (int)length, line);
}

// `piece`: what the lines belong to; NULL: to the functions that the lines name.
static void read_file(const char *path, struct piece *piece)
{
    char line[1024];
    FILE *file = fopen(path, "r");
    int is_library = !piece;
    if (!file)
        fail(path, "cannot be read");
    while (fgets(line, sizeof line, file)) {
        if (is_library && strncmp(line, "//: ", 4) == 0)
            piece = add_piece(library, &library_count, line + 4, strcspn(line + 4, "\n"));
        else if (piece)
            add_line(piece, line);
    }
    fclose(file);
}

// "shaders/pad.comp" is "pad".
static void read_family(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    read_file(path, add_piece(families, &family_count, name, strcspn(name, ".")));
}

// ---------------------------------------------------------------------------------------------------------------
// Words
// ---------------------------------------------------------------------------------------------------------------

// The number of a word; word_count: it has none.
static size_t number_of(const char *word, size_t length)
{
    size_t i = 0;
    while (i < word_count && (strlen(words[i]) != length || memcmp(words[i], word, length) != 0))
        i++;
    return i;
}

static void number_words(const char *names)
{
    for (; *names; names += *names == ' ') {
        size_t length = strcspn(names, " ");
        if (number_of(names, length) == word_count) {
            if (word_count == GPU_WORDS)
                fail(names, "too many words");
            memcpy(words[word_count++], names, length);
        }
        names += length;
    }
}

static void print_set(const char *text)
{
    struct word_set set = {{0}};
    for (size_t length; (length = wnn_gpu_next_word(&text)) > 0; text += length) {
        size_t number = number_of(text, length);
        if (number < word_count)
            set.bits[number / 64] |= (uint64_t)1 << number % 64;
    }
    printf("{{");
    for (size_t i = 0; i < GPU_WORDS / 64; i++)
        printf("0x%llXu,", (unsigned long long)set.bits[i]);
    printf("}}");
}

// Which word has which number, by hashes.
static void print_words(void)
{
    size_t slots[GPU_WORD_SLOTS];
    for (size_t i = 0; i < GPU_WORD_SLOTS; i++)
        slots[i] = word_count;
    printf("const struct word_slot wnn_gpu_words[GPU_WORD_SLOTS] = {\n");
    for (size_t i = 0; i < word_count; i++) {
        size_t slot = wnn_gpu_hash_word(words[i], strlen(words[i]));
        while (slots[slot] < word_count)
            slot = (slot + 1) % GPU_WORD_SLOTS;
        slots[slot] = i;
        printf("    [%zu] = {\"%s\", %zu, %zu},\n", slot, words[i], strlen(words[i]), i);
    }
    printf("};\n\n");
}

// ---------------------------------------------------------------------------------------------------------------
// Printing
// ---------------------------------------------------------------------------------------------------------------

static void print_text(const char *text)
{
    for (; *text; text++) {
        printf("\n    \"");
        for (; *text != '\n'; text++)
            printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
        printf("\\n\"");
    }
}

static void print_piece(const struct piece *piece)
{
    printf("    {\"%s\",", piece->name);
    print_text(piece->text);
    printf(",\n    %zu, ", strlen(piece->text));
    print_set(piece->name);
    printf(", ");
    print_set(piece->text);
    printf("}");
}

static void print_pieces(const struct piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        print_piece(&pieces[i]);
        printf(",\n");
    }
}

int main(int count, char **arguments)
{
    int dashes = 1;
    while (dashes < count && strcmp(arguments[dashes], "--") != 0)
        dashes++;
    if (dashes == 1 || dashes + 2 >= count)
        fail("arguments", "a library, --, the frame of elements, and families are needed");
    for (int i = 1; i < dashes; i++)
        read_file(arguments[i], NULL);
    read_file(arguments[dashes + 1], add_piece(elements, &element_count, "elements", strlen("elements")));
    for (int i = dashes + 2; i < count; i++)
        read_family(arguments[i]);
    for (size_t i = 0; i < library_count; i++)
        number_words(library[i].name);

    printf("#include \"vulkan/program/sources.h\"\n\n");
    print_words();
    printf("const struct source_text wnn_gpu_library[] = {\n");
    print_pieces(library, library_count);
    printf("};\nconst size_t wnn_gpu_library_count = %zu;\n\nconst struct source_text wnn_gpu_elements =\n",
           library_count);
    print_piece(elements);
    printf(";\n\nconst struct source_text wnn_gpu_families[] = {\n");
    print_pieces(families, family_count);
    printf("    {NULL, NULL, 0, {{0}}, {{0}}},\n};\n");
    return 0;
}
