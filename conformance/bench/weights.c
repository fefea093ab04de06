// SPDX-License-Identifier: Apache-2.0
//
// What large weights cost in memory that a context allocates: the peak of a build out of a mapped file, as a
// multiple of what stays; of a load that packs the same weights of a graph that was saved without them; and
// of a second graph that shares them. The same of graphs whose rows are told late, which have run then: the
// first of as many as the others have, the second of these and of one, or of two images. Networks are stacks
// of matrices of the sizes of known ones, of zeros, in a file with holes.
//
// --check fails if a bar is missed: 1.05 of what stays, and 1 MB for the second graph, without the memory of
// its executions.

#include <webnn/compiled.h>
#include <webnn/ops.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_RATIO  1.05
#define MAX_SECOND 1e6

static const struct size {
    const char *name;
    uint32_t layers, width, inner, vocabulary;
    bool channels_first; // convolutions in the place of products, as models for channels first have them
} sizes[] = {
    {"convolutions", 16, 256, 256, 0, true},
    {"bert-base", 12, 768, 3072, 0, false},
    {"language model", 4, 2048, 5632, 32000, false},
};

enum {
    ROWS = 64,
    SIDE = 14 // of an image
};

// The file of the network that is recorded, and how far it is taken.
static struct {
    int descriptor;
    const char *data;
    uint64_t used, size;
} file;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static WNNOperand constant(WNNGraphBuilder b, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNNamedBytes named = WNN_NAMED_BYTES_INIT;
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    bytes.byteLength = sizeof(float);
    for (size_t i = 0; i < rank; i++)
        bytes.byteLength *= dims[i];
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    named.reference.form = WNNConstantForm_FileRange;
    named.reference.offset = file.used;
    bytes.nextInChain = &named.chain;
    bytes.data = file.data + file.used;
    file.used += (bytes.byteLength + 63) / 64 * 64;
    if (file.used > file.size)
        fail("constant", "the file is too small");
    return wnnGraphBuilderExternalConstant(b, &descriptor, &bytes);
}

static WNNOperand product(WNNGraphBuilder b, const struct size *size, WNNOperand x, uint32_t in, uint32_t out)
{
    if (!size->channels_first) {
        const uint32_t dims[] = {in, out};
        return wnnGraphBuilderMatmul(b, x, constant(b, dims, 2), NULL);
    }
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    const uint32_t dims[] = {out, in, 3, 3}, padding[] = {1, 1, 1, 1};
    options.padding = (WNNUint32List){padding, 4};
    return wnnGraphBuilderConv2d(b, x, constant(b, dims, 4), &options);
}

// The input of so many rows, or images; 0: as many as come.
static size_t shape_input(const struct size *size, uint32_t rows, uint32_t dims[4])
{
    dims[0] = rows == ROWS && size->channels_first ? 1 : rows;
    dims[1] = size->width;
    dims[2] = dims[3] = SIDE;
    return size->vocabulary ? 1 : size->channels_first ? 4 : 2;
}

static WNNOperand input(WNNGraphBuilder b, const struct size *size, uint32_t rows)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNNamedDimensions names = WNN_NAMED_DIMENSIONS_INIT;
    WNNDimension dimensions[4];
    uint32_t dims[4];
    size_t rank = shape_input(size, rows, dims);
    for (size_t i = 0; i < rank; i++)
        dimensions[i] = (WNNDimension)WNN_DIMENSION_INIT;
    dimensions[0].name = (WNNStringView){"rows", 4};
    names.dimensions = dimensions;
    names.dimensionCount = rank;
    descriptor.nextInChain = rows ? NULL : &names.chain;
    descriptor.dataType = size->vocabulary ? WNNDataType_Int32 : WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderInput(b, (WNNStringView){"x", 1}, &descriptor);
}

static WNNOperand record(WNNGraphBuilder b, const struct size *size, uint32_t rows)
{
    const uint32_t table[] = {size->vocabulary, size->width};
    file.used = 0;
    WNNOperand x = size->vocabulary
                       ? wnnGraphBuilderGather(b, constant(b, table, 2), input(b, size, rows), NULL)
                       : input(b, size, rows);
    for (uint32_t i = 0; i < size->layers; i++) {
        for (unsigned k = 0; k < 4; k++)
            x = wnnGraphBuilderRelu(b, product(b, size, x, size->width, size->width), NULL);
        x = wnnGraphBuilderRelu(b, product(b, size, x, size->width, size->inner), NULL);
        x = product(b, size, x, size->inner, size->width);
    }
    return x;
}

static void keep(WNNStatus status, WNNGraph graph, WNNStringView message, void *result, void *unused)
{
    (void)unused;
    if (status != WNNStatus_Success)
        fail("build", message.data);
    *(WNNGraph *)result = graph;
}

static WNNGraph build(WNNContext context, const struct size *size, uint32_t rows,
                      const WNNChainedStruct *chain)
{
    WNNGraph graph = NULL;
    WNNGraphBuilder b;
    WNNError error = WNN_ERROR_INIT;
    if (wnnContextCreateGraphBuilder(context, &b))
        fail("builder", "out of memory");
    const WNNNamedOperand output = {{"y", 1}, record(b, size, rows)};
    wnnGraphBuilderGetError(b, &error);
    if (error.status)
        fail("record", error.message.data);
    const WNNBuildCallbackInfo info = {chain, WNNCallbackMode_WaitAnyOnly, keep, &graph, NULL};
    WNNFutureWaitInfo wait = {wnnGraphBuilderBuild(b, 1, &output, info), false};
    wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER);
    wnnGraphBuilderRelease(b);
    return graph;
}

static WNNContext create_context(WNNBudget budget)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    descriptor.threadCount = 1;
    descriptor.budget = budget;
    if (wnnCreateContext(&descriptor, &context))
        fail("context", "it cannot be made");
    return context;
}

static WNNContextCounters counters_of(WNNContext context)
{
    WNNContextCounters counters = WNN_CONTEXT_COUNTERS_INIT;
    wnnContextGetCounters(context, &counters);
    return counters;
}

// The peak of a context that has made one graph, beside what it had before, by what it has then.
static double ratio_of(WNNContext context, uint64_t before)
{
    WNNContextCounters counters = counters_of(context);
    return (double)(counters.maxAllocatedBytes - before) / (double)(counters.allocatedBytes - before);
}

static double measure_build(const struct size *size, double *kept)
{
    WNNContext context = create_context(NULL);
    uint64_t before = counters_of(context).allocatedBytes;
    WNNGraph graph = build(context, size, ROWS, NULL);
    *kept = (double)(counters_of(context).allocatedBytes - before);
    double ratio = ratio_of(context, before);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    return ratio;
}

struct bytes {
    unsigned char *data;
    size_t size;
};

static WNNStatus add_bytes(const void *data, size_t size, uint64_t rest, void *to, void *unused)
{
    struct bytes *bytes = to;
    (void)unused;
    if (!bytes->data && posix_memalign((void **)&bytes->data, 64, size + (size_t)rest))
        return WNNStatus_OutOfMemory;
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return WNNStatus_Success;
}

static void unmap(const void *data, size_t size, void *unused1, void *unused2)
{
    (void)unused1;
    (void)unused2;
    munmap((void *)((uintptr_t)data / 4096 * 4096), size + (uintptr_t)data % 4096);
}

static WNNStatus map_bytes(const WNNConstantReference *reference, uint64_t size, WNNExternalBytes *bytes,
                           void *unused1, void *unused2)
{
    uint64_t begin = reference->offset / 4096 * 4096, lead = reference->offset - begin;
    (void)unused1;
    (void)unused2;
    void *memory = mmap(NULL, size + lead, PROT_READ, MAP_SHARED, file.descriptor, (off_t)begin);
    if (memory == MAP_FAILED)
        return WNNStatus_OperationError;
    *bytes = (WNNExternalBytes){NULL, (char *)memory + lead, size, unmap, NULL, NULL};
    return WNNStatus_Success;
}

static double measure_load(const struct size *size, double *stored)
{
    const WNNWeightless weightless = WNN_WEIGHTLESS_INIT;
    const WNNConstantSource source = {{NULL, WNNSType_ConstantSource}, map_bytes, NULL, NULL};
    WNNContext context = create_context(NULL);
    struct bytes bytes = {NULL, 0};
    WNNSaveGraphDescriptor save = {&weightless.chain, add_bytes, &bytes, NULL};
    WNNGraph graph = build(context, size, ROWS, &weightless.chain);
    char message[1024] = "";
    if (wnnGraphSaveSync(graph, &save, sizeof message, message))
        fail("save", message);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    context = create_context(NULL);
    uint64_t before = counters_of(context).allocatedBytes;
    WNNLoadGraphDescriptor load = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    load.nextInChain = &source.chain;
    load.bytes.data = bytes.data;
    load.bytes.byteLength = bytes.size;
    if (wnnContextLoadGraphSync(context, &load, &graph, sizeof message, message))
        fail("load", message);
    double ratio = ratio_of(context, before);
    *stored = (double)bytes.size;
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    free(bytes.data);
    return ratio;
}

// Bytes of the second of two graphs that share.
static double measure_second(const struct size *size)
{
    WNNContext context = create_context(NULL);
    WNNWeightSharing sharing = WNN_WEIGHT_SHARING_INIT;
    if (wnnCreateSharedWeights(NULL, &sharing.weights))
        fail("weights", "out of memory");
    WNNGraph first = build(context, size, ROWS, &sharing.chain);
    uint64_t before = counters_of(context).allocatedBytes + wnnSharedWeightsGetByteLength(sharing.weights);
    WNNGraph second = build(context, size, ROWS, &sharing.chain);
    uint64_t after = counters_of(context).allocatedBytes + wnnSharedWeightsGetByteLength(sharing.weights);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    wnnGraphGetInfo(second, &info);
    wnnGraphRelease(first);
    wnnGraphRelease(second);
    wnnSharedWeightsRelease(sharing.weights);
    wnnContextRelease(context);
    return (double)(after - before) - (double)info.executionBytes;
}

static void run(WNNContext context, WNNGraph graph, const struct size *size, uint32_t rows)
{
    uint32_t dims[4];
    size_t rank = shape_input(size, rows, dims), count = 1;
    const WNNNamedShape shape = {{"x", 1}, {dims, rank}};
    const WNNInputShapes shapes = {{NULL, WNNSType_InputShapes}, 1, &shape};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    char message[1024] = "";
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    size_t results = size->channels_first ? count : (size_t)rows * size->width;
    void *from = calloc(count, sizeof(float)), *to = calloc(results, sizeof(float));
    if (!from || !to)
        fail("run", "out of memory");
    const WNNNamedBuffer x = {{"x", 1},
                              from,
                              count * sizeof(float),
                              size->vocabulary ? WNNDataType_Int32 : WNNDataType_Float32},
                         y = {{"y", 1}, to, results * sizeof(float), WNNDataType_Float32};
    descriptor.nextInChain = &shapes.chain;
    descriptor.graph = graph;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &x;
    descriptor.outputs = &y;
    if (wnnContextComputeSync(context, &descriptor, sizeof message, message))
        fail("run", message);
    free(from);
    free(to);
}

static uint64_t host_bytes(WNNBudget budget, bool peak)
{
    WNNResources now = WNN_RESOURCES_INIT, most = WNN_RESOURCES_INIT;
    wnnBudgetGetResources(budget, &now, &most);
    return peak ? most.hostBytes : now.hostBytes;
}

// The peak of the first of two graphs whose rows are told late, by what it has then, and bytes of the second.
static double measure_late(const struct size *size, double *second_bytes)
{
    WNNBudgetDescriptor everything = WNN_BUDGET_DESCRIPTOR_INIT;
    WNNSharedWeightsDescriptor descriptor = WNN_SHARED_WEIGHTS_DESCRIPTOR_INIT;
    WNNWeightSharing sharing = WNN_WEIGHT_SHARING_INIT;
    WNNBudget budget;
    if (wnnCreateBudget(&everything, &budget))
        fail("budget", "out of memory");
    descriptor.budget = budget;
    if (wnnCreateSharedWeights(&descriptor, &sharing.weights))
        fail("weights", "out of memory");
    WNNContext context = create_context(budget);
    uint64_t before = host_bytes(budget, false);
    WNNGraph first = build(context, size, 0, &sharing.chain);
    run(context, first, size, ROWS);
    uint64_t kept = host_bytes(budget, false) - before;
    double ratio = (double)(host_bytes(budget, true) - before) / (double)kept;
    WNNGraph second = build(context, size, 0, &sharing.chain);
    run(context, second, size, size->channels_first ? 2 : 1);
    run(context, second, size, ROWS);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    wnnGraphGetInfo(second, &info);
    *second_bytes = (double)(host_bytes(budget, false) - before - kept) - (double)info.executionBytes;
    wnnGraphRelease(first);
    wnnGraphRelease(second);
    wnnContextRelease(context);
    wnnSharedWeightsRelease(sharing.weights);
    wnnBudgetRelease(budget);
    return ratio;
}

// Returns whether it is within the bars.
static bool measure(const struct size *size)
{
    uint64_t layer = 4 * (uint64_t)size->width * size->width + 2 * (uint64_t)size->width * size->inner;
    char path[] = "/tmp/webnn-weights-XXXXXX";
    file.size = 4 * (layer * size->layers * (size->channels_first ? 9 : 1) +
                     (uint64_t)size->vocabulary * size->width) +
                65536;
    file.descriptor = mkstemp(path);
    if (file.descriptor < 0 || unlink(path) || ftruncate(file.descriptor, (off_t)file.size))
        fail(path, "it cannot be made");
    file.data = mmap(NULL, file.size, PROT_READ, MAP_SHARED, file.descriptor, 0);
    if (file.data == MAP_FAILED)
        fail(path, "it cannot be mapped");
    double kept, stored, built = measure_build(size, &kept), loaded = measure_load(size, &stored),
                         second = measure_second(size), second_late, late = measure_late(size, &second_late);
    printf("%-16s %8.1f %8.1f %8.3f %8.1f %8.3f %10.1f %8.3f %10.1f\n", size->name, (double)file.size * 1e-6,
           kept * 1e-6, built, stored * 1e-3, loaded, second * 1e-3, late, second_late * 1e-3);
    munmap((void *)(uintptr_t)file.data, file.size);
    close(file.descriptor);
    return built <= MAX_RATIO && loaded <= MAX_RATIO && second <= MAX_SECOND && late <= MAX_RATIO &&
           second_late <= MAX_SECOND;
}

int main(int argc, char **argv)
{
    bool check = argc > 1 && strcmp(argv[1], "--check") == 0, good = true;
    if (argc > 1 && !check) {
        fputs("usage: webnn-bench-weights [--check]\n", stderr);
        return 2;
    }
    puts("                     known when recorded                                    told late\n"
         "                  file MB  kept MB    ratio  file kB    ratio  second kB    ratio  second kB");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        good = measure(&sizes[i]) && good;
    return good || !check ? 0 : 1;
}
