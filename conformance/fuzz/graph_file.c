// SPDX-License-Identifier: Apache-2.0
//
// Graph files with mistakes: a random graph is written, bytes say what is changed in its text or its weights,
// and the result is read. What is refused says where; what is read can be written and read again, as the same
// text. Operators come from the generator of random graphs, so that all of them are covered.

#include "conformance/fuzz/edit.h"
#include "conformance/fuzz/fuzz.h"
#include "tools/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_MEMORY (256u << 20)

unsigned long fuzz_built;

// ---------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------

static WNNContext create_context(void)
{
    static const WNNLimits limits = {.maxTensorByteLength = 16u << 20,
                                     .maxMemoryBytes = MAX_MEMORY,
                                     .maxConstantBytes = 64u << 20,
                                     .maxOperators = 2000,
                                     .maxOperands = 4000,
                                     .maxInputsAndOutputs = 1000,
                                     .maxStringLength = 10000,
                                     .acceptEmptyTensors = true};
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
static struct contents write_model(const struct model *model, const struct file *weights)
{
    struct contents text;
    struct error error = {WNNStatus_Success, ""};
    FILE *stream = open_memstream(&text.data, &text.size);
    if (!stream || !model_write(model, stream, weights ? weights->path : NULL, &error)) {
        fprintf(stderr, "not written: %s\n", error.message);
        abort();
    }
    fclose(stream);
    return text;
}

// Whether all constants may stand in the text.
static bool fits_in_text(const struct model *model)
{
    const struct graph *graph = model_graph(model);
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->constant && graph->operands[i]->constant->bytes > 65536)
            return false;
    return true;
}

// With constants in the text if that is wanted and possible, in the file otherwise.
static struct contents write_random(WNNContext context, unsigned seed, bool in_text,
                                    const struct file *weights)
{
    struct model model;
    begin(&model, context);
    fuzz_random_model(&model, seed);
    struct contents text = write_model(&model, in_text && fits_in_text(&model) ? NULL : weights);
    model_end(&model);
    return text;
}

// Whether it begins with a place in the file.
static bool has_place(const char *fault, const char *path)
{
    size_t length = strlen(path);
    unsigned line, column;
    return strncmp(fault, path, length) == 0 && (sscanf(fault + length, ":%u:%u: ", &line, &column) == 2 ||
                                                 strncmp(fault + length, ": its format is not", 19) == 0);
}

// False: it was refused, with a place in a file for each fault. If there are too many, the last is cut off.
static bool read_model(struct model *model, const struct file *text, const struct file *weights)
{
    struct error error = {WNNStatus_Success, ""};
    const struct load_options options = {.weights = weights->path};
    if (model_load_silently(model, text->path, &options, &error))
        return true;
    const char *faults = model->faults.length ? model->faults.data : error.message;
    for (const char *fault = faults, *end; fault; fault = end ? end + 1 : NULL) {
        end = strchr(fault, '\n');
        size_t length = strlen(fault);
        bool cut = fault != faults && !end && length >= 3 && strcmp(fault + length - 3, "...") == 0;
        if (error.status == WNNStatus_Success || !(has_place(fault, text->path) || cut)) {
            fprintf(stderr, "refused without a place: %s\n", fault);
            abort();
        }
    }
    return false;
}

// ---------------------------------------------------------------------------------------------------------------
// Mistakes
// ---------------------------------------------------------------------------------------------------------------

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

// Mistakes that are long: what is nested deeply, named at length, listed without end. All of it is linear.
static void lengthen(struct contents *bytes, size_t at, unsigned kind, unsigned amount)
{
    static const struct {
        const char *first, *again, *last; // `again` is repeated
    } forms[] = {
        {"", "[", ""},
        {"", "[", "]"},
        {"", "relu(", "x0)"},
        {"", "+ relu ", ""},
        {"\"", "name of a thousand letters ", "\""},
        {"a", "a", "a"},
        {"[1", ", 1", "]"},
        {"1", "0", ""},
        {"", "-", "1"},
        {"", ";", ""},
        {"", "\n", ""},
        {"\"", "\\u{10FFFF}", "\""},
        {"\"", "\\\"", "\""},
        {"//", "/", "\n"},
        {"", "{", "}"},
        {"@bytes([1", ",255", "])"},
        {"", "concat(", "x0, axis=0)"},
        {"y = relu(x0)", " + elu(alpha=1)", ";"},
        {"inputs { a: f32[1", ", 1", "]; }"},
        {"outputs { ", "y0; ", "}"},
        {"consts { ", "c: f32[1] @scalar(1); ", "}"},
        {"consts { big: f32[16384, ", "8", "] @scalar(1); }"},
        {"[a", ", a", "] = split(x0, 2);"},
        {"label=\"", "\xe2\x80\xae", "\""},
    };
    const size_t count = sizeof forms / sizeof *forms;
    const char *first = forms[kind % count].first, *again = forms[kind % count].again,
               *last = forms[kind % count].last;
    replace(bytes, at, 0, last, strlen(last), 1);
    replace(bytes, at, 0, again, strlen(again), (size_t)1 << amount % 17);
    replace(bytes, at, 0, first, strlen(first), 1);
}

static void change(struct contents *bytes, struct edits *edits)
{
    unsigned kind = take(edits);
    if (kind % 6 == 5 && kind <= 240) {
        size_t at = take_long(edits) % (bytes->size + 1);
        unsigned form = take(edits);
        lengthen(bytes, at, form, take(edits));
        return;
    }
    size_t at = take_long(edits) % (bytes->size + 1), rest = bytes->size - at;
    size_t length = 1 + take(edits) % 32;
    if (length > rest)
        length = rest;
    char byte = (char)take(edits);
    const char *text = word((unsigned char)byte);
    switch (kind % 6) {
    case 0: // left out
        replace(bytes, at, length, NULL, 0, 0);
        break;
    case 1: { // twice, or many times
        char twice[32];
        memcpy(twice, bytes->data + at, length);
        replace(bytes, at, 0, twice, length, kind < 200 ? 1 : (size_t)1 << (unsigned char)byte % 15);
        break;
    }
    case 2: // another byte
        replace(bytes, at, rest > 0, &byte, 1, 1);
        break;
    case 3:
        replace(bytes, at, 0, text, strlen(text), 1);
        break;
    case 4: // another word
        length = 0;
        while (length < rest && strchr(" \n,;:=()[]{}\"", bytes->data[at + length]) == NULL)
            length++;
        replace(bytes, at, length, text, strlen(text), 1);
        break;
    default: // the end is missing
        replace(bytes, at, rest, NULL, 0, 0);
        break;
    }
}

// What was read can be written and read again, as the same text.
static void read_again(WNNContext context, const struct model *model)
{
    struct file text_file = open_file(), weights_file = open_file(), unread = open_file();
    struct contents text = write_model(model, &weights_file), last;
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
    struct contents text = write_random(context, seed, !(how & 1), &weights_file);
    struct contents weights = read_file(&weights_file);
    for (unsigned i = 0; changed && i < count; i++)
        if ((how & 7) == 7)
            spoil(&weights, &edits);
        else
            change((how & 3) == 3 ? &weights : &text, &edits);
    fill_file(&text_file, &text);
    fill_file(&weights_file, &weights);

    struct fuzz_budget budget;
    struct model model;
    budget_begin(&budget);
    begin(&model, context);
    if (read_model(&model, &text_file, &weights_file)) {
        fuzz_built++;
        read_again(context, &model);
    } else if (!changed) {
        fail("what was written is refused", &text);
    }
    model_end(&model);
    wnnContextRelease(context);
    budget_end(&budget, "reading and writing", &text);
    free(text.data);
    free(weights.data);
    close(text_file.descriptor);
    close(weights_file.descriptor);
    return 0;
}
