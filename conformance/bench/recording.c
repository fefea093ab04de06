// SPDX-License-Identifier: Apache-2.0
//
// What opening and recording a model takes of the heap, beyond its mapped file: webnn-bench-recording MODEL
// [INPUT=SIZExSIZE...]
//
// What libwebnn-model takes is told from what the builder takes: the context has an allocator of its own, and
// all else comes through malloc, which is this program's. Blocks count with what the C library adds.

#include <webnn/model.h>
#include <webnn/reflection.h>

#include <malloc.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_INPUTS  16
#define MAX_OUTPUTS 64

// The C library's own, of which those of the standard's names are this program's.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

struct heap {
    size_t now, peak;
};
static struct heap importer, builder, both;

static size_t size_of(void *memory)
{
    return memory ? malloc_usable_size(memory) + sizeof(size_t) : 0;
}

static void add(struct heap *heap, size_t bytes)
{
    heap->now += bytes;
    heap->peak = heap->now > heap->peak ? heap->now : heap->peak;
}

static void *taken(struct heap *heap, void *memory)
{
    add(heap, size_of(memory));
    add(&both, size_of(memory));
    return memory;
}

static void given_back(struct heap *heap, void *memory)
{
    heap->now -= size_of(memory);
    both.now -= size_of(memory);
}

void *malloc(size_t size)
{
    return taken(&importer, __libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return taken(&importer, __libc_calloc(count, size));
}

void *realloc(void *memory, size_t size)
{
    given_back(&importer, memory);
    return taken(&importer, __libc_realloc(memory, size));
}

void free(void *memory)
{
    given_back(&importer, memory);
    __libc_free(memory);
}

static void *allocate(size_t size, size_t alignment, void *userdata)
{
    (void)userdata;
    return taken(&builder,
                 alignment <= alignof(max_align_t) ? __libc_malloc(size) : __libc_memalign(alignment, size));
}

static void release(void *memory, size_t size, size_t alignment, void *userdata)
{
    (void)size, (void)alignment, (void)userdata;
    given_back(&builder, memory);
    __libc_free(memory);
}

static void begin(void)
{
    importer.peak = importer.now;
    builder.peak = builder.now;
    both.peak = both.now;
}

static size_t count_constants(WNNGraphBuilder recorded)
{
    size_t count = 0;
    for (size_t i = 0; i < wnnGraphBuilderGetOperandCount(recorded); i++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(recorded, i, &operand);
        count += operand.source == WNNOperandSource_Constant;
    }
    return count;
}

static WNNModelInputValue read_input(char *text, uint32_t sizes[8])
{
    WNNModelInputValue input = WNN_MODEL_INPUT_VALUE_INIT;
    char *at = strrchr(text, '=');
    input.name = (WNNStringView){text, at ? (size_t)(at - text) : strlen(text)};
    input.shape = (WNNUint32List){sizes, 0};
    for (at = at ? at + 1 : NULL; at && *at && input.shape.count < 8; at += *at == 'x')
        sizes[input.shape.count++] = (uint32_t)strtoul(at, &at, 10);
    return input;
}

static uint64_t file_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

// Prints what there is and what it took.
static void report(const char *path, WNNModel model, WNNGraphBuilder recorded, const struct heap steps[3])
{
    WNNModelInfo info = WNN_MODEL_INFO_INIT;
    wnnModelGetInfo(model, &info);
    size_t operators = wnnGraphBuilderGetOperatorCount(recorded), constants = count_constants(recorded);
    size_t most = steps[0].peak > steps[2].peak ? steps[0].peak : steps[2].peak;
    const char *slash = strrchr(path, '/');
    printf("%s: file %llu, weights %llu, %zu nodes; %zu operators, %zu constants\n", slash ? slash + 1 : path,
           (unsigned long long)file_size(path), (unsigned long long)info.weightBytes, info.nodeCount,
           operators, constants);
    printf(
        "  open: %zu at most, %zu stay; record: importer %zu more at most, builder %zu; both %zu at most\n",
        steps[0].peak, steps[0].now, steps[1].peak - steps[0].now, steps[2].now - steps[1].now, most);
    printf("  %.2f %% of the weights; beyond 5 %%, %.0f for each operator and constant\n",
           info.weightBytes ? 100 * (double)most / (double)info.weightBytes : 0,
           operators + constants
               ? ((double)most - 0.05 * (double)info.weightBytes) / (double)(operators + constants)
               : 0);
}

// What a heap has, without what it had.
static struct heap since(struct heap heap, struct heap before)
{
    return (struct heap){heap.now - before.now, heap.peak - before.now};
}

static WNNStatus measure(WNNContext context, const char *path, const WNNModelRecordOptions *options)
{
    WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
    WNNNamedOperand outputs[MAX_OUTPUTS];
    WNNModel model = NULL;
    WNNGraphBuilder recorded;
    size_t count;
    char message[1024] = "";
    file.path = (WNNStringView){path, WNN_STRLEN};
    WNNStatus status = wnnContextCreateGraphBuilder(context, &recorded);
    if (status != WNNStatus_Success)
        return status;
    begin();
    struct heap importer_before = importer, both_before = both, steps[3];
    status = wnnModelOpen(&file, &model, sizeof message, message);
    steps[0] = since(importer, importer_before);
    begin();
    if (status == WNNStatus_Success)
        status =
            wnnModelRecord(model, recorded, options, MAX_OUTPUTS, outputs, &count, sizeof message, message);
    steps[1] = since(importer, importer_before);
    steps[2] = since(both, both_before);
    if (status == WNNStatus_Success)
        report(path, model, recorded, steps);
    else
        fprintf(stderr, "%s\n", message);
    wnnGraphBuilderRelease(recorded);
    wnnModelRelease(model);
    return status;
}

int main(int argc, char **argv)
{
    const WNNAllocator allocator = {NULL, allocate, release, NULL};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    WNNModelInputValue inputs[MAX_INPUTS];
    uint32_t sizes[MAX_INPUTS][8];
    WNNContext context;
    if (argc < 2 || argc - 2 > MAX_INPUTS) {
        fputs("usage: webnn-bench-recording MODEL [INPUT=SIZExSIZE...]\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++)
        inputs[options.inputCount++] = read_input(argv[i], sizes[i - 2]);
    options.inputs = inputs;
    descriptor.allocator = &allocator;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        return 1;
    WNNStatus status = measure(context, argv[1], &options);
    wnnContextRelease(context);
    return status == WNNStatus_Success ? 0 : 1;
}
