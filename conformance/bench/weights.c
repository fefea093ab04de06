// SPDX-License-Identifier: Apache-2.0
//
// What large weights cost in memory that a context allocates, on the host and on a device: the peak of a
// build out of a mapped file, as a multiple of what stays; of a load that packs the same weights of a graph
// that was saved without them; and of a second graph that shares them. The same of graphs whose rows are told
// late, which have run then: the first of as many as the others have, the second of these and of half as
// many, or of two images and of one. (A GPU has the weights once more for products of few rows, in another
// order.) Networks are stacks of matrices of the sizes of known ones, of zeros, in a file with holes; and
// those of webnn bench, of which only the build is measured. "host MB" is the most that the build had in
// memory of the host.
//
// --check fails if a bar is missed: 1.05 of what stays, 0.05 of it in memory of the host where a device has
// the weights, and 1 MB for the second graph, without the memory of its executions.

#include "conformance/backends.h"
#include "runtime/context.h"
#include "tools/load.h"

#include <webnn/compiled.h>
#include <webnn/ops.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_RATIO  1.05
#define MAX_HOST   0.05
#define MAX_SECOND 1e6

static const struct backend *backend;

static const struct network {
    const char *name;
    uint32_t layers, width, inner, vocabulary;
    bool channels_first; // convolutions in the place of products, as models for channels first have them
    bool is_model;       // of webnn bench
} networks[] = {
    {"convolutions", 16, 256, 256, 0, true},
    {"bert-base", 12, 768, 3072, 0, false},
    {"language model", 4, 2048, 5632, 32000, false},
};

static const char *const models[] = {"resnet50", "mobilenet_v2", "bert_layer"};

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

static WNNOperand product(WNNGraphBuilder b, const struct network *network, WNNOperand x, uint32_t in,
                          uint32_t out)
{
    if (!network->channels_first) {
        const uint32_t dims[] = {in, out};
        return wnnGraphBuilderMatmul(b, x, constant(b, dims, 2), NULL);
    }
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    const uint32_t dims[] = {out, in, 3, 3}, padding[] = {1, 1, 1, 1};
    options.padding = (WNNUint32List){padding, 4};
    return wnnGraphBuilderConv2d(b, x, constant(b, dims, 4), &options);
}

// The input of so many rows, or images; 0: as many as come.
static size_t shape_input(const struct network *network, uint32_t rows, uint32_t dims[4])
{
    dims[0] = rows == ROWS && network->channels_first ? 1 : rows;
    dims[1] = network->width;
    dims[2] = dims[3] = SIDE;
    return network->vocabulary ? 1 : network->channels_first ? 4 : 2;
}

static WNNOperand input(WNNGraphBuilder b, const struct network *network, uint32_t rows)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNNamedDimensions names = WNN_NAMED_DIMENSIONS_INIT;
    WNNDimension dimensions[4];
    uint32_t dims[4];
    size_t rank = shape_input(network, rows, dims);
    for (size_t i = 0; i < rank; i++)
        dimensions[i] = (WNNDimension)WNN_DIMENSION_INIT;
    dimensions[0].name = (WNNStringView){"rows", 4};
    names.dimensions = dimensions;
    names.dimensionCount = rank;
    descriptor.nextInChain = rows ? NULL : &names.chain;
    descriptor.dataType = network->vocabulary ? WNNDataType_Int32 : WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, rank};
    return wnnGraphBuilderInput(b, (WNNStringView){"x", 1}, &descriptor);
}

static WNNOperand record(WNNGraphBuilder b, const struct network *network, uint32_t rows)
{
    const uint32_t table[] = {network->vocabulary, network->width};
    file.used = 0;
    WNNOperand x = network->vocabulary
                       ? wnnGraphBuilderGather(b, constant(b, table, 2), input(b, network, rows), NULL)
                       : input(b, network, rows);
    for (uint32_t i = 0; i < network->layers; i++) {
        for (unsigned k = 0; k < 4; k++)
            x = wnnGraphBuilderRelu(b, product(b, network, x, network->width, network->width), NULL);
        x = wnnGraphBuilderRelu(b, product(b, network, x, network->width, network->inner), NULL);
        x = product(b, network, x, network->inner, network->width);
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

static WNNGraph build_outputs(WNNContext context, WNNGraphBuilder b, size_t count,
                              const WNNNamedOperand *outputs, const WNNChainedStruct *chain)
{
    WNNGraph graph = NULL;
    WNNError error = WNN_ERROR_INIT;
    wnnGraphBuilderGetError(b, &error);
    if (error.status)
        fail("record", error.message.data);
    const WNNBuildCallbackInfo info = {chain, WNNCallbackMode_WaitAnyOnly, keep, &graph, NULL};
    WNNFutureWaitInfo wait = {wnnGraphBuilderBuild(b, count, outputs, info), false};
    wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER);
    return graph;
}

static WNNGraph build(WNNContext context, const struct network *network, uint32_t rows,
                      const WNNChainedStruct *chain)
{
    struct error error = {WNNStatus_Success, ""};
    WNNGraphBuilder b;
    WNNGraph graph;
    struct model model;
    if (!network->is_model) {
        if (wnnContextCreateGraphBuilder(context, &b))
            fail("builder", "out of memory");
        const WNNNamedOperand output = {{"y", 1}, record(b, network, rows)};
        graph = build_outputs(context, b, 1, &output, chain);
        wnnGraphBuilderRelease(b);
        return graph;
    }
    if (!model_begin(&model, context, &error) || !model_load(&model, network->name, NULL, &error))
        fail(network->name, error.message);
    graph = build_outputs(context, model.builder, model.output_count, model.outputs, chain);
    model_end(&model);
    return graph;
}

// `budget` may be NULL.
static WNNContext create_context(WNNBudget budget)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    descriptor.threadCount = 1;
    descriptor.budget = budget;
    if (wnn_create_context_on(backend, &descriptor, &context))
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

// What one graph costs, in bytes, and as multiples of what is kept.
struct cost {
    double kept, built, host, stored, loaded, lent, second;
    double late, second_late; // of graphs whose rows are told late
};

static void measure_build(const struct network *network, struct cost *cost)
{
    const WNNBudgetDescriptor unlimited = WNN_BUDGET_DESCRIPTOR_INIT;
    WNNBudget budget;
    WNNResources now = WNN_RESOURCES_INIT, peak = WNN_RESOURCES_INIT;
    if (wnnCreateBudget(&unlimited, &budget))
        fail("budget", "out of memory");
    WNNContext context = create_context(budget);
    uint64_t before = counters_of(context).allocatedBytes;
    wnnBudgetGetResources(budget, &now, NULL);
    WNNGraph graph = build(context, network, ROWS, NULL);
    wnnBudgetGetResources(budget, NULL, &peak);
    cost->kept = (double)(counters_of(context).allocatedBytes - before);
    cost->built = ratio_of(context, before);
    cost->host = (double)(peak.hostBytes - now.hostBytes);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    wnnBudgetRelease(budget);
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

// By the source, on the thread that builds.
static uint64_t lent, max_lent;

static void unmap(const void *data, size_t size, void *unused1, void *unused2)
{
    (void)unused1;
    (void)unused2;
    lent -= size;
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
    lent += size;
    max_lent = lent > max_lent ? lent : max_lent;
    return WNNStatus_Success;
}

static void measure_load(const struct network *network, struct cost *cost)
{
    const WNNWeightless weightless = WNN_WEIGHTLESS_INIT;
    const WNNConstantSource source = {{NULL, WNNSType_ConstantSource}, map_bytes, NULL, NULL};
    WNNContext context = create_context(NULL);
    struct bytes bytes = {NULL, 0};
    WNNSaveGraphDescriptor save = {&weightless.chain, add_bytes, &bytes, NULL};
    WNNGraph graph = build(context, network, ROWS, &weightless.chain);
    char message[1024] = "";
    if (wnnGraphSaveSync(graph, &save, sizeof message, message))
        fail("save", message);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    context = create_context(NULL);
    max_lent = 0;
    uint64_t before = counters_of(context).allocatedBytes;
    WNNLoadGraphDescriptor load = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    load.nextInChain = &source.chain;
    load.bytes.data = bytes.data;
    load.bytes.byteLength = bytes.size;
    if (wnnContextLoadGraphSync(context, &load, &graph, sizeof message, message))
        fail("load", message);
    cost->loaded = ratio_of(context, before);
    cost->stored = (double)bytes.size;
    cost->lent = (double)max_lent;
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    free(bytes.data);
}

// Bytes of the second of two graphs that share.
static double measure_second(const struct network *network)
{
    WNNContext context = create_context(NULL);
    WNNWeightSharing sharing = WNN_WEIGHT_SHARING_INIT;
    if (wnnCreateSharedWeights(NULL, &sharing.weights))
        fail("weights", "out of memory");
    WNNGraph first = build(context, network, ROWS, &sharing.chain);
    uint64_t before = counters_of(context).allocatedBytes + wnnSharedWeightsGetByteLength(sharing.weights);
    WNNGraph second = build(context, network, ROWS, &sharing.chain);
    uint64_t after = counters_of(context).allocatedBytes + wnnSharedWeightsGetByteLength(sharing.weights);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    wnnGraphGetInfo(second, &info);
    wnnGraphRelease(first);
    wnnGraphRelease(second);
    wnnSharedWeightsRelease(sharing.weights);
    wnnContextRelease(context);
    return (double)(after - before) - (double)info.executionBytes;
}

static void run(WNNContext context, WNNGraph graph, const struct network *network, uint32_t rows)
{
    uint32_t dims[4];
    size_t rank = shape_input(network, rows, dims), count = 1;
    const WNNNamedShape shape = {{"x", 1}, {dims, rank}};
    const WNNInputShapes shapes = {{NULL, WNNSType_InputShapes}, 1, &shape};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    char message[1024] = "";
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    size_t results = network->channels_first ? count : (size_t)rows * network->width;
    void *from = calloc(count, sizeof(float)), *to = calloc(results, sizeof(float));
    if (!from || !to)
        fail("run", "out of memory");
    const WNNNamedBuffer x = {{"x", 1},
                              from,
                              count * sizeof(float),
                              network->vocabulary ? WNNDataType_Int32 : WNNDataType_Float32},
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

static uint64_t bytes_of(WNNBudget budget, bool peak)
{
    WNNResources now = WNN_RESOURCES_INIT, most = WNN_RESOURCES_INIT;
    wnnBudgetGetResources(budget, &now, &most);
    return peak ? most.hostBytes + most.deviceBytes : now.hostBytes + now.deviceBytes;
}

// The peak of the first of two graphs whose rows are told late, by what it has then, and bytes of the second.
static void measure_late(const struct network *network, struct cost *cost)
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
    uint64_t before = bytes_of(budget, false);
    WNNGraph first = build(context, network, 0, &sharing.chain);
    run(context, first, network, ROWS);
    uint64_t kept = bytes_of(budget, false) - before;
    cost->late = (double)(bytes_of(budget, true) - before) / (double)kept;
    WNNGraph second = build(context, network, 0, &sharing.chain);
    run(context, second, network, network->channels_first ? 2 : ROWS);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    wnnGraphGetInfo(second, &info); // of the sizes that take most, in whose memory the others run
    run(context, second, network, network->channels_first ? 1 : ROWS / 2);
    cost->second_late = (double)(bytes_of(budget, false) - before - kept) - (double)info.executionBytes;
    wnnGraphRelease(first);
    wnnGraphRelease(second);
    wnnContextRelease(context);
    wnnSharedWeightsRelease(sharing.weights);
    wnnBudgetRelease(budget);
}

static bool is_within_bars(const struct cost *cost)
{
    bool on_device = backend->submit != NULL; // where executions have memory that is not told apart
    return cost->built <= MAX_RATIO && cost->loaded <= MAX_RATIO && cost->second <= MAX_SECOND &&
           cost->late <= MAX_RATIO && (on_device || cost->second_late <= MAX_SECOND) &&
           (!on_device || cost->host <= MAX_HOST * cost->kept);
}

static void print_cost(const char *name, double bytes, const struct cost *cost)
{
    printf("%-16s %8.1f %8.1f %8.3f %8.1f %8.1f %8.3f %8.1f %10.1f %8.3f %10.1f\n", name, bytes * 1e-6,
           cost->kept * 1e-6, cost->built, cost->host * 1e-6, cost->stored * 1e-3, cost->loaded,
           cost->lent * 1e-6, cost->second * 1e-3, cost->late, cost->second_late * 1e-3);
    fflush(stdout);
}

static bool measure_model(const char *name)
{
    const struct network network = {.name = name, .is_model = true};
    struct cost cost = {.kept = 0};
    measure_build(&network, &cost);
    print_cost(name, 0, &cost);
    return is_within_bars(&cost);
}

// Returns whether it is within the bars.
static bool measure(const struct network *network)
{
    uint64_t layer =
        4 * (uint64_t)network->width * network->width + 2 * (uint64_t)network->width * network->inner;
    char path[] = "/tmp/webnn-weights-XXXXXX";
    file.size = 4 * (layer * network->layers * (network->channels_first ? 9 : 1) +
                     (uint64_t)network->vocabulary * network->width) +
                65536;
    file.descriptor = mkstemp(path);
    if (file.descriptor < 0 || unlink(path) || ftruncate(file.descriptor, (off_t)file.size))
        fail(path, "it cannot be made");
    file.data = mmap(NULL, file.size, PROT_READ, MAP_SHARED, file.descriptor, 0);
    if (file.data == MAP_FAILED)
        fail(path, "it cannot be mapped");
    struct cost cost = {.kept = 0};
    measure_build(network, &cost);
    measure_load(network, &cost);
    cost.second = measure_second(network);
    measure_late(network, &cost);
    print_cost(network->name, (double)file.size, &cost);
    munmap((void *)(uintptr_t)file.data, file.size);
    close(file.descriptor);
    return is_within_bars(&cost);
}

int main(int argc, char **argv)
{
    const char *name = "cpu";
    bool check = false, good = true, known = true;
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--backend=", 10) == 0)
            name = argv[i] + 10;
        else if (strcmp(argv[i], "--check") == 0)
            check = true;
        else
            known = false;
    backend = find_backend(name);
    if (!known || !backend) {
        fputs("usage: webnn-bench-weights [--check] [--backend=cpu|vulkan|vulkan-minimal]\n", stderr);
        return 2;
    }
    puts("                     known when recorded                                                      told "
         "late\n"
         "                  file MB  kept MB    ratio  host MB  file kB    ratio  lent MB  second kB    "
         "ratio  second kB");
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        good = measure(&networks[i]) && good;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        good = measure_model(models[i]) && good;
    return good || !check ? 0 : 1;
}
