// SPDX-License-Identifier: Apache-2.0
//
// Hostile models of ONNX. Bytes that begin as a model does are one; of others, the first says whether a model
// is made or one of the folder that ONNX_MODELS names is taken, how many mistakes are made in it, and the
// rest says which. A model that is made means the same however its elements are stored.

#include "conformance/fuzz/fuzz.h"
#include "conformance/fuzz/model_check.h"
#include "conformance/fuzz/onnx_edit.h"
#include "conformance/fuzz/onnx_make.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SEED  65536 // bytes of a model that is taken
#define MAX_SEEDS 4000

unsigned long fuzz_built;

// ---------------------------------------------------------------------------------------------------------------
// Models of a folder
// ---------------------------------------------------------------------------------------------------------------

static char *seeds[MAX_SEEDS]; // paths
static size_t seed_count;

static int add_seed(const char *path, const struct stat *status, int type, struct FTW *place)
{
    size_t length = strlen(path);
    (void)place;
    if (type == FTW_F && length > 5 && strcmp(path + length - 5, ".onnx") == 0 && seed_count < MAX_SEEDS &&
        status->st_size <= MAX_SEED && !(seeds[seed_count++] = strdup(path)))
        abort();
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_seeds(void)
{
    static bool done;
    const char *models = getenv("ONNX_MODELS");
    if (done)
        return;
    done = true;
    if (models && nftw(models, add_seed, 16, FTW_PHYS) == 0)
        qsort(seeds, seed_count, sizeof seeds[0], compare_paths);
}

static struct contents read_path(const char *path)
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

// Inputs of a test of ONNX become initializers, as shapes and the like have to be known.
static void add_known(struct wire_pool *pool, struct wire_message *graph, const char *model,
                      struct edits *edits)
{
    size_t index = 0, folder = (size_t)(strrchr(model, '/') - model);
    unsigned which = take(edits);
    for (size_t i = 0, count = graph->count; i < count; i++) {
        struct wire_field *field = &graph->fields[i], *name = wire_find(field->message, 1);
        char path[600];
        if (field->number != 11 || !name || name->form != WIRE_BYTES)
            continue;
        snprintf(path, sizeof path, "%.*s/test_data_set_0/input_%zu.pb", (int)folder, model, index);
        if (which >> index++ % 8 & 1)
            continue;
        struct contents bytes = read_path(path);
        struct wire_message *tensor = wire_parse(pool, &onnx_tensor, bytes.data, bytes.size);
        free(bytes.data);
        if (!tensor || tensor->count == 0)
            continue;
        for (size_t k = tensor->count; k-- > 0;)
            if (tensor->fields[k].number == 8)
                wire_remove(tensor, k);
        wire_add_bytes(pool, tensor, 8, name->data, name->size);
        *wire_insert(pool, graph, graph->count) =
            (struct wire_field){.number = 5, .form = WIRE_MESSAGE, .message = tensor};
    }
}

static struct wire_message *take_seed(struct wire_pool *pool, struct edits *edits)
{
    const char *path = seeds[take_long(edits) % seed_count];
    struct contents bytes = read_path(path);
    struct wire_message *model = wire_parse(pool, &onnx_model, bytes.data, bytes.size);
    struct wire_field *graph = wire_find(model, 7);
    if (graph && graph->form == WIRE_MESSAGE)
        add_known(pool, graph->message, path, edits);
    free(bytes.data);
    return model;
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs
// ---------------------------------------------------------------------------------------------------------------

static struct model_result check_tree(const struct wire_message *model, const struct contents *external,
                                      const struct edits *choices, struct edits *damage)
{
    struct model_result result = {0};
    struct contents file = wire_write(model);
    if (!file.data)
        return result;
    folder_write(ONNX_EXTERNAL, external);
    if (damage)
        spoil(&file, damage);
    result = check_model(&file, choices);
    free(file.data);
    return result;
}

// Storages take more or less memory, which may be limited.
static bool same_result(const struct model_result *a, const struct model_result *b)
{
    if (a->opened && b->opened && a->recorded != b->recorded)
        return true;
    return a->opened == b->opened && a->recorded == b->recorded && a->computed == b->computed &&
           a->outputs == b->outputs;
}

// One model in each storage.
static void check_storages(const uint8_t *data, size_t size, const struct edits *choices)
{
    struct model_result results[ONNX_STORAGES];
    for (unsigned i = 0; i < ONNX_STORAGES; i++) {
        struct wire_pool pool = {0};
        struct edits edits = {data, size};
        struct contents external = {calloc(1, 1), 0};
        results[i] = check_tree(onnx_make(&pool, &edits, i, &external), &external, choices, NULL);
        free(external.data);
        wire_free(&pool);
        if (i > 0 && !results[i].limited && !same_result(&results[i], &results[0])) {
            fprintf(stderr, "other results with other storages: %d %d %d %llx, %d %d %d %llx\n",
                    results[0].opened, results[0].recorded, results[0].computed,
                    (unsigned long long)results[0].outputs, results[i].opened, results[i].recorded,
                    results[i].computed, (unsigned long long)results[i].outputs);
            abort();
        }
    }
}

// Two bytes choose, then choices of a program, which are at the end, so that a model can be made of the rest.
static void check_recipe(const uint8_t *data, size_t size)
{
    struct edits edits = {data, size};
    unsigned kind = take(&edits), how = take(&edits);
    size_t choice_count = edits.length / 8;
    struct edits choices = {edits.bytes + edits.length - choice_count, choice_count};
    edits.length -= choice_count;
    unsigned mistakes = how % 8 < 3 ? 0 : 1u << (how % 8 - 3) / 2;
    bool taken = seed_count > 0 && kind % 2;
    if (!taken && mistakes == 0) {
        check_storages(edits.bytes, edits.length, &choices);
        return;
    }
    // A part for the mistakes, as a model takes whatever there is.
    size_t reserve = taken ? 0 : edits.length / 3;
    struct wire_pool pool = {0};
    struct contents external = {calloc(1, 1), 0};
    edits.length -= reserve;
    struct wire_message *model = taken ? take_seed(&pool, &edits) : onnx_make(&pool, &edits, 0, &external);
    if (!taken)
        edits = (struct edits){choices.bytes - reserve, reserve};
    for (unsigned i = 0; model && i < mistakes; i++)
        onnx_spoil(&pool, model, &edits);
    if (model)
        check_tree(model, &external, &choices, how >= 248 ? &edits : NULL);
    free(external.data);
    wire_free(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    find_seeds();
    if (size > 1 && data[0] == 0x08) {
        // The choices are what bytes of the file are, somewhere behind its head.
        struct contents file = {(char *)(uintptr_t)data, size}, none = {NULL, 0};
        struct edits choices = {data + size / 2, size - size / 2};
        folder_write(ONNX_EXTERNAL, &none);
        check_model(&file, &choices);
        return 0;
    }
    check_recipe(data, size);
    return 0;
}

// Mistakes as above in inputs that are models, which leave them such; others as libFuzzer makes them.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed)
{
    struct wire_pool pool = {0};
    uint8_t random[64];
    struct edits edits = {random, sizeof random};
    uint64_t state = seed;
    for (size_t i = 0; i < sizeof random; i++)
        random[i] = (uint8_t)((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
    struct wire_message *model = size > 1 && data[0] == 0x08 && random[0] % 8
                                     ? wire_parse(&pool, &onnx_model, (const char *)data, size)
                                     : NULL;
    for (int i = 0; model && i < 1 + random[1] % 3; i++)
        onnx_spoil(&pool, model, &edits);
    struct contents bytes = model ? wire_write(model) : (struct contents){NULL, 0};
    bool fits = bytes.data && bytes.size > 1 && bytes.size <= capacity;
    if (fits)
        memcpy(data, bytes.data, bytes.size);
    free(bytes.data);
    wire_free(&pool);
    return fits ? bytes.size : LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, capacity) : size;
}
