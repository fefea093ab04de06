// SPDX-License-Identifier: Apache-2.0
//
// Graph files with mistakes: a random graph is written, bytes say what is changed in its text or its weights,
// and the result is read. What is refused says where; what is read can be written and read again, as the same
// text. Operators come from the generator of random graphs, so that all of them are covered.

#include "conformance/fuzz/fuzz.h"
#include "tools/graph_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_MEMORY (256u << 20)

unsigned long fuzz_built;

// A file without a name, and its path.
struct file {
    int descriptor;
    char path[32];
};

struct bytes {
    char *data;
    size_t size;
};

struct edits {
    const uint8_t *bytes; // what is left
    size_t length;
};

// 0 when there are no more.
static unsigned take(struct edits *edits)
{
    if (edits->length == 0)
        return 0;
    edits->length--;
    return *edits->bytes++;
}

static unsigned take_long(struct edits *edits)
{
    unsigned high = take(edits);
    return high << 8 | take(edits);
}

static void fail(const char *what, const struct bytes *text)
{
    fprintf(stderr, "%s:\n%.*s\n", what, (int)text->size, text->data);
    abort();
}

// ---------------------------------------------------------------------------------------------------------------
// Files
// ---------------------------------------------------------------------------------------------------------------

static struct file open_file(void)
{
    struct file file = {.descriptor = memfd_create("fuzz", 0)};
    if (file.descriptor < 0)
        abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.descriptor);
    return file;
}

static void fill_file(const struct file *file, const struct bytes *bytes)
{
    if (ftruncate(file->descriptor, 0) != 0 ||
        pwrite(file->descriptor, bytes->data, bytes->size, 0) != (ssize_t)bytes->size)
        abort();
}

static struct bytes read_file(const struct file *file)
{
    off_t size = lseek(file->descriptor, 0, SEEK_END);
    struct bytes bytes = {malloc((size_t)size + 1), (size_t)size};
    if (!bytes.data || pread(file->descriptor, bytes.data, bytes.size, 0) != size)
        abort();
    return bytes;
}

// ---------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------

static WNNContext create_context(void)
{
    static const WNNLimits limits = {.maxTensorByteLength = 16u << 20,
                                     .maxMemory = MOST_MEMORY,
                                     .maxConstantBytes = 64u << 20,
                                     .maxOperators = 2000,
                                     .maxOperands = 4000,
                                     .maxInputsAndOutputs = 1000,
                                     .maxStringLength = 10000};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.limits = &limits;
    descriptor.threadCount = 1;
    WNNContext context = NULL;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        abort();
    return context;
}

static void begin(struct model *model, WNNContext context)
{
    struct error error = {WNNStatus_Success, ""};
    if (!model_begin(model, context, &error))
        abort();
}

// Its text; the weights go to the file unless it is NULL.
static struct bytes write_model(const struct model *model, const struct file *weights)
{
    struct bytes text;
    struct error error = {WNNStatus_Success, ""};
    FILE *stream = open_memstream(&text.data, &text.size);
    if (!stream || !graph_file_write(model, stream, weights ? weights->path : NULL, &error)) {
        fprintf(stderr, "not written: %s\n", error.message);
        abort();
    }
    fclose(stream);
    return text;
}

static struct bytes write_random(WNNContext context, unsigned seed, const struct file *weights)
{
    struct model model;
    begin(&model, context);
    fuzz_random_model(&model, seed);
    struct bytes text = write_model(&model, weights);
    model_end(&model);
    return text;
}

// False: it was refused, with a place in a file.
static bool read_model(struct model *model, const struct file *text, const struct file *weights)
{
    struct error error = {WNNStatus_Success, ""};
    if (graph_file_read(model, text->path, weights->path, &error))
        return true;
    size_t length = strlen(text->path);
    unsigned line, column;
    if (error.status == WNNStatus_Success || strncmp(error.message, text->path, length) != 0 ||
        sscanf(error.message + length, ":%u:%u: ", &line, &column) != 2) {
        fprintf(stderr, "refused without a place: %s\n", error.message);
        abort();
    }
    return false;
}

// ---------------------------------------------------------------------------------------------------------------
// Mistakes
// ---------------------------------------------------------------------------------------------------------------

static void replace(struct bytes *bytes, size_t at, size_t cut, const char *with, size_t length)
{
    char *data = malloc(bytes->size - cut + length + 1);
    if (!data)
        abort();
    memcpy(data, bytes->data, at);
    if (length)
        memcpy(data + at, with, length);
    memcpy(data + at + length, bytes->data + at + cut, bytes->size - at - cut);
    free(bytes->data);
    *bytes = (struct bytes){data, bytes->size - cut + length};
}

static const char *word(unsigned index)
{
    static const char *const words[] = {"0",
                                        "1",
                                        "-1",
                                        "4294967296",
                                        "2147483647",
                                        "18446744073709551616",
                                        "1e400",
                                        "nan",
                                        "[",
                                        "]",
                                        "[[[[[[[[[",
                                        "{",
                                        "}",
                                        "(",
                                        ")",
                                        ";",
                                        ",",
                                        "=",
                                        "\"",
                                        "\\",
                                        "@scalar(0)",
                                        "@weights(\"c0\")",
                                        "null",
                                        "true",
                                        "f32",
                                        "u4",
                                        "int64",
                                        "@bytes([1])",
                                        "axis=0",
                                        "x0",
                                        "y0",
                                        "//",
                                        "label",
                                        "+",
                                        "+ relu",
                                        "\n",
                                        "\xff\xfe",
                                        "inputs {",
                                        ":",
                                        "relu(x0)",
                                        "[65536, 65536]",
                                        "data_offsets",
                                        "65536",
                                        "F32",
                                        "U8",
                                        "shape"};
    const size_t count = sizeof words / sizeof words[0];
    index %= (unsigned)count + WNN_OP_COUNT;
    return index < count ? words[index] : wnn_ops[index - count].name;
}

static void change(struct bytes *bytes, struct edits *edits)
{
    unsigned kind = take(edits);
    size_t at = take_long(edits) % (bytes->size + 1), rest = bytes->size - at;
    size_t length = 1 + take(edits) % 32;
    if (length > rest)
        length = rest;
    char byte = (char)take(edits);
    const char *text = word((unsigned char)byte);
    switch (kind % 6) {
    case 0: // left out
        replace(bytes, at, length, NULL, 0);
        break;
    case 1: { // twice
        char twice[32];
        memcpy(twice, bytes->data + at, length);
        replace(bytes, at, 0, twice, length);
        break;
    }
    case 2: // another byte
        replace(bytes, at, rest > 0, &byte, 1);
        break;
    case 3:
        replace(bytes, at, 0, text, strlen(text));
        break;
    case 4: // another word
        length = 0;
        while (length < rest && strchr(" \n,;:=()[]{}\"", bytes->data[at + length]) == NULL)
            length++;
        replace(bytes, at, length, text, strlen(text));
        break;
    default: // the end is missing
        if (kind > 240)
            replace(bytes, at, rest, NULL, 0);
        break;
    }
}

// What was read can be written and read again, as the same text.
static void read_again(WNNContext context, const struct model *model)
{
    struct file text_file = open_file(), weights_file = open_file(), unread = open_file();
    struct bytes text = write_model(model, &weights_file), last;
    struct model again;
    fill_file(&text_file, &text);
    begin(&again, context);
    if (!read_model(&again, &text_file, &weights_file))
        fail("what was written is refused", &text);
    last = write_model(&again, &unread);
    if (last.size != text.size || memcmp(last.data, text.data, last.size) != 0) {
        fprintf(stderr, "%s\nbecomes\n", text.data);
        fail("what was read is written as something else", &last);
    }
    model_end(&again);
    free(text.data);
    free(last.data);
    close(text_file.descriptor);
    close(weights_file.descriptor);
    close(unread.descriptor);
}

// Two bytes choose a graph, the third what is changed, and the rest says how.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct edits edits = {data, size};
    struct file text_file = open_file(), weights_file = open_file();
    WNNContext context = create_context();
    unsigned seed = take_long(&edits), how = take(&edits), count = 1 + take(&edits) % 3;
    bool changed = how >= 8;
    struct bytes text = write_random(context, seed, how & 1 ? &weights_file : NULL);
    struct bytes weights = read_file(&weights_file);
    for (unsigned i = 0; changed && i < count; i++)
        change((how & 3) == 3 ? &weights : &text, &edits);
    fill_file(&text_file, &text);
    fill_file(&weights_file, &weights);

    struct model model;
    begin(&model, context);
    if (read_model(&model, &text_file, &weights_file)) {
        fuzz_built++;
        read_again(context, &model);
    } else if (!changed) {
        fail("what was written is refused", &text);
    }
    model_end(&model);
    wnnContextRelease(context);
    free(text.data);
    free(weights.data);
    close(text_file.descriptor);
    close(weights_file.descriptor);
    return 0;
}
