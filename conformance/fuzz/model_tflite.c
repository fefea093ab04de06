// SPDX-License-Identifier: Apache-2.0
//
// Hostile models of TensorFlow Lite. Bytes that begin as such a file does are one; of others, the first says
// whether a model is made or one of the folder that TFLITE_MODELS names is taken, and how many mistakes are
// made in it. A model that is made is a chain of any operators on any tensors, with any options, of which few
// mean something; the files that conformance/tflite/operators.py writes all do.

#include "conformance/fuzz/fuzz.h"
#include "conformance/fuzz/model_check.h"
#include "conformance/unit/flatbuffer_writer.h"
#include "tools/model/tflite/file.h"

#include <dirent.h>

#define MAX_SEED        65536 // bytes of a model that is taken
#define MAX_SEEDS       4000
#define MAX_TENSORS     40
#define MAX_DESCRIPTION ((size_t)64 << 20)

unsigned long fuzz_built;

// ---------------------------------------------------------------------------------------------------------------
// Models that are made
// ---------------------------------------------------------------------------------------------------------------

static const struct {
    int32_t code;
    size_t least, most;
} operators[] = {
#define TFLITE_OPERATOR(number, name, least, most, function, parameter) {number, least, most},
#include "tools/model/tflite/operators.def"
};
#define OPERATORS (sizeof operators / sizeof operators[0])

struct recipe {
    struct writer *w;
    struct edits *edits;
    size_t tensor_slots, buffer_slots; // of the next ones
    int32_t tensors, buffers;          // so far
    int32_t inputs[MAX_TENSORS];
    size_t input_count;
    size_t of[4]; // operators by their codes; OPERATORS: one that is not recorded
};

static const unsigned char types[] = {TFLITE_FLOAT32, TFLITE_FLOAT32,  TFLITE_FLOAT32, TFLITE_INT32,
                                      TFLITE_INT8,    TFLITE_UINT8,    TFLITE_INT64,   TFLITE_BOOL,
                                      TFLITE_INT16,   TFLITE_FLOAT16,  TFLITE_INT4,    TFLITE_STRING,
                                      TFLITE_FLOAT64, TFLITE_COMPLEX64};

static size_t width_of(unsigned type)
{
    return type == TFLITE_INT64 || type == TFLITE_FLOAT64 || type == TFLITE_COMPLEX64 ? 8
           : type == TFLITE_FLOAT32 || type == TFLITE_INT32                           ? 4
           : type == TFLITE_INT16 || type == TFLITE_FLOAT16                           ? 2
                                                                                      : 1;
}

static void put_elements(struct recipe *r, unsigned type, size_t count)
{
    unsigned char data[512];
    size_t width = width_of(type), size = count * width < sizeof data ? count * width : sizeof data;
    unsigned random = take(r->edits);
    memset(data, 0, sizeof data);
    for (size_t i = 0; i + width <= size; i += width) {
        float number = (float)((int)(random >> i / width % 8 & 3) - 1);
        if (type == TFLITE_FLOAT32)
            memcpy(data + i, &number, 4);
        else
            data[i] = (unsigned char)(random >> i / width % 8 & 3);
    }
    size_t buffer = TABLE(r->w, r->buffer_slots + 4 * (size_t)r->buffers, REFERENCE);
    put_data(r->w, buffer, data, size);
}

// Scales for all numbers, or for each index of an axis.
static void put_scales(struct recipe *r, size_t slot, size_t rank, const int32_t *dims)
{
    unsigned how = take(r->edits), axis = rank ? how / 4 % (unsigned)rank : 0;
    int32_t scales[8];
    size_t count = how % 4 == 3 && rank ? (size_t)dims[axis] : 1;
    for (size_t i = 0; i < 8; i++)
        scales[i] = 0x3D000000; // 1/32
    size_t table = TABLE(r->w, slot, ABSENT, ABSENT, REFERENCE, REFERENCE, how == 255, ABSENT, (long)axis);
    put_vector(r->w, table + 8, count < 8 ? count : 8, scales);
    put_vector(r->w, table + 12, 0, NULL);
}

// Kind 0: computed, 1: an input, 2: a constant, 3: a variable.
static int32_t add_tensor(struct recipe *r, unsigned type, unsigned kind)
{
    int32_t dims[8] = {0};
    unsigned shape = take(r->edits), sizes = take_long(r->edits);
    size_t rank = shape % 8 < 6 ? shape % 6 : 1, count = 1;
    char name[2] = {(char)('a' + r->tensors % 26), 0};
    if (r->tensors >= MAX_TENSORS)
        return 0;
    for (size_t i = 0; i < rank; i++) {
        dims[i] = (int32_t)(1 + (sizes >> 2 * i & 3));
        count *= (size_t)dims[i];
    }
    if (shape >= 250 && rank)
        dims[0] = shape == 250 ? 0 : shape == 251 ? -1 : 100000;
    bool quantized =
        (type == TFLITE_INT8 || type == TFLITE_UINT8 || type == TFLITE_INT16 || type == TFLITE_INT4) &&
        shape % 3;
    if (kind == 2 && r->buffers < MAX_TENSORS)
        put_elements(r, type, count);
    size_t fields = TABLE(r->w, r->tensor_slots + 4 * (size_t)r->tensors, REFERENCE, type,
                          kind == 2 && r->buffers < MAX_TENSORS ? r->buffers++ : 0, REFERENCE,
                          quantized ? REFERENCE : ABSENT, kind == 3);
    put_vector(r->w, fields, rank, dims);
    put_data(r->w, fields + 12, name, 1);
    if (quantized)
        put_scales(r, fields + 16, rank, dims);
    if (kind == 1)
        r->inputs[r->input_count++] = r->tensors;
    return r->tensors++;
}

static void put_options(struct recipe *r, size_t slot)
{
    static const long values[] = {0, 1, 2, 3, -1, 0x3F800000, 100000, ABSENT};
    long fields[10];
    unsigned count = take(r->edits) % 10, list = take(r->edits);
    for (unsigned i = 0; i < count; i++) {
        unsigned choice = take(r->edits);
        fields[i] = i == 0 && list % 4 == 0 ? REFERENCE
                    : choice < 192          ? (long)(choice % 3)
                                            : values[choice % 8];
    }
    size_t first = put_table(r->w, slot, count, fields);
    if (count && fields[0] == REFERENCE)
        VECTOR(r->w, first, (int32_t)(list / 4 % 4), -1);
}

// A table of operands and options; gives the tensor that it computes.
static int32_t put_operator(struct recipe *r, size_t slot, size_t index)
{
    int32_t inputs[24], outputs[2];
    unsigned how = take(r->edits), type = types[take(r->edits) % sizeof types];
    size_t least = 1, most = 4, output_count = how < 224 ? 1 : 2;
    if (r->of[index] < OPERATORS) {
        least = operators[r->of[index]].least;
        most = operators[r->of[index]].most;
    }
    most = most > 24 ? least + 3 : most;
    size_t count = least + how % (most - least + 1);
    for (size_t i = 0; i < count; i++) {
        unsigned choice = take(r->edits);
        if (choice < 32 && r->tensors)
            inputs[i] = (int32_t)(choice % (unsigned)r->tensors);
        else if (choice > 252)
            inputs[i] = choice == 253 ? -1 : (int32_t)choice;
        else // operands behind the first are constants, mostly, and those integers
            inputs[i] = add_tensor(r, choice % 3 == 0 && i ? TFLITE_INT32 : type,
                                   i == 0         ? 1
                                   : choice < 192 ? 2
                                                  : choice % 4);
    }
    size_t fields = TABLE(r->w, slot, (long)index, REFERENCE, REFERENCE, 1, REFERENCE, ABSENT, ABSENT, ABSENT,
                          ABSENT, ABSENT, ABSENT, 1, REFERENCE);
    for (size_t i = 0; i < output_count; i++)
        outputs[i] = add_tensor(r, take(r->edits) % 4 ? type : TFLITE_INT32, 0);
    put_vector(r->w, fields + 4, count, inputs);
    put_vector(r->w, fields + 8, output_count, outputs);
    put_options(r, fields + 16);
    TABLE(r->w, fields + 48, ABSENT, 1);
    return outputs[0];
}

// What is left of a list are tables without fields.
static void leave_empty(struct writer *w, size_t slots, int32_t used)
{
    size_t table = 0;
    for (size_t i = (size_t)used; i < MAX_TENSORS; i++)
        if (table)
            refer(w, slots + 4 * i, table);
        else
            table = TABLE(w, slots + 4 * i, ABSENT) - 4;
}

static struct writer make(struct edits *edits)
{
    struct writer w = {.size = 8};
    struct recipe r = {.w = &w, .edits = edits, .buffers = 1};
    size_t count = 1 + take(edits) % 3;
    int32_t outputs[4];
    memcpy(w.bytes + 4, "TFL3", 4);
    size_t root = TABLE(&w, 0, 3, REFERENCE, REFERENCE, ABSENT, REFERENCE);
    size_t codes = put_vector(&w, root + 4, count, NULL);
    for (size_t i = 0; i < count; i++) {
        unsigned choice = take_long(edits);
        r.of[i] = choice % 16 ? choice / 16 % OPERATORS : OPERATORS;
        TABLE(&w, codes + 4 * i, 0, ABSENT, 1,
              r.of[i] < OPERATORS ? operators[r.of[i]].code : (long)(choice / 16 % TFLITE_OPERATORS));
    }
    size_t graphs = put_vector(&w, root + 8, 2, NULL), graph[2];
    r.buffer_slots = put_vector(&w, root + 16, MAX_TENSORS, NULL);
    TABLE(&w, r.buffer_slots, ABSENT);
    for (size_t g = 0; g < 2; g++) { // the second one may be a branch or a loop
        graph[g] = TABLE(&w, graphs + 4 * g, REFERENCE, REFERENCE, REFERENCE, REFERENCE);
        r.tensor_slots = put_vector(&w, graph[g], MAX_TENSORS, NULL);
        r.tensors = 0;
        r.input_count = 0;
        size_t slots = put_vector(&w, graph[g] + 12, count, NULL);
        for (size_t i = 0; i < count; i++)
            outputs[i] = put_operator(&r, slots + 4 * i, i);
        put_vector(&w, graph[g] + 4, r.input_count, r.inputs);
        put_vector(&w, graph[g] + 8, count, outputs);
        leave_empty(&w, r.tensor_slots, r.tensors);
    }
    leave_empty(&w, r.buffer_slots, r.buffers);
    return w;
}

// ---------------------------------------------------------------------------------------------------------------
// Models of a folder
// ---------------------------------------------------------------------------------------------------------------

static char *seeds[MAX_SEEDS]; // paths
static size_t seed_count;

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_seeds(void)
{
    static bool done;
    const char *folder = getenv("TFLITE_MODELS");
    DIR *files = done || !folder ? NULL : opendir(folder);
    done = true;
    for (struct dirent *file; files && seed_count < MAX_SEEDS && (file = readdir(files));) {
        size_t length = strlen(file->d_name);
        if (length <= 7 || strcmp(file->d_name + length - 7, ".tflite") != 0)
            continue;
        char *path = malloc(strlen(folder) + length + 2);
        if (!path)
            abort();
        sprintf(path, "%s/%s", folder, file->d_name);
        seeds[seed_count++] = path;
    }
    if (files)
        closedir(files);
    qsort(seeds, seed_count, sizeof seeds[0], compare_paths);
}

static struct contents read_seed(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct contents bytes = {malloc(MAX_SEED + 1), 0};
    if (!bytes.data)
        abort();
    if (file) {
        bytes.size = fread(bytes.data, 1, MAX_SEED, file);
        fclose(file);
    }
    return bytes;
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs
// ---------------------------------------------------------------------------------------------------------------

static bool same_bytes(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void compare_tensors(struct tflite_file *whole, struct tflite_file *excerpt, size_t graph)
{
    for (size_t i = 0; i < whole->subgraphs[graph].tensors.count; i++) {
        struct tflite_tensor a, b;
        wnn_tflite_tensor(whole, &whole->subgraphs[graph], i, &a);
        wnn_tflite_tensor(excerpt, &excerpt->subgraphs[graph], i, &b);
        if (!same_bytes(a.name, b.name) || a.type != b.type || a.shape.count != b.shape.count ||
            !same_bytes(a.data, b.data))
            abort();
    }
}

// What an excerpt says, as one is made of a mapped file, is what the file says, or a fault.
static void check_excerpt(const struct contents *file)
{
    const struct bytes bytes = {(const unsigned char *)file->data, file->size};
    struct model_memory memory = {.limit = MAX_DESCRIPTION};
    struct byte_runs runs = {0};
    struct excerpt excerpt;
    struct tflite_file whole, read;
    wnn_tflite_find_weights(bytes, &runs);
    if (!wnn_excerpt_make(&excerpt, bytes, runs))
        abort();
    const char *fault = wnn_tflite_open(bytes, NULL, &memory, &whole);
    if (!wnn_tflite_open(bytes, &excerpt, &memory, &read)) {
        if (fault || whole.subgraph_count != read.subgraph_count || whole.weight_bytes != read.weight_bytes)
            abort();
        for (size_t i = 0; i < whole.subgraph_count; i++)
            compare_tensors(&whole, &read, i);
    }
    wnn_excerpt_free(&excerpt);
    wnn_model_free(&memory);
}

static struct contents copy_of(const struct writer *w)
{
    struct contents bytes = {malloc(w->size + 1), w->size};
    if (!bytes.data)
        abort();
    memcpy(bytes.data, w->bytes, w->size);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct edits edits = {data, size};
    find_seeds();
    if (size > 8 && memcmp(data + 4, "TFL3", 4) == 0) {
        struct contents file = {(char *)(uintptr_t)data, size};
        struct edits choices = {data + size / 2, size - size / 2};
        check_excerpt(&file);
        check_model(&file, &choices);
        return 0;
    }
    // A byte chooses, then choices of a program, which are at the end.
    unsigned kind = take(&edits), mistakes = kind / 2 % 8 < 5 ? 0 : kind / 2 % 8 - 4;
    size_t choice_count = edits.length / 8;
    struct edits choices = {edits.bytes + edits.length - choice_count, choice_count};
    edits.length -= choice_count;
    struct contents file;
    if (seed_count > 0 && kind % 2) {
        file = read_seed(seeds[take_long(&edits) % seed_count]);
    } else {
        struct writer made = make(&edits);
        file = copy_of(&made);
    }
    for (unsigned i = 0; i < mistakes; i++)
        spoil(&file, &edits);
    check_excerpt(&file);
    check_model(&file, &choices);
    free(file.data);
    return 0;
}
