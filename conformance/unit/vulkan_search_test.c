// SPDX-License-Identifier: Apache-2.0
//
// Ways to compute a product that are tried on the device: the answer is asked for once, kept by the host and
// in compiled graphs, asked for again if it is not one, and whatever it says, the result is the same. Without
// a cache nobody asks.

#include "conformance/backends.h"
#include "conformance/compiled.h"
#include "conformance/unit/failing_allocator.h"
#include "conformance/unit/host_cache.h"
#include "lib/half.h"
#include "vulkan/program/cache.h"

enum {
    ROWS = 64,
    INNER = 512,
    COLUMNS = 64
};

static const struct backend *backend;

// Sums of integers, whatever their order, are exact.
static float element(size_t row, size_t column, unsigned salt)
{
    return (float)((int)((row * 7 + column * 3 + salt) % 5) - 2);
}

static float expected(size_t row, size_t column)
{
    float sum = element(0, column, 3);
    for (size_t k = 0; k < INNER; k++)
        sum += element(row, k, 1) * element(k, column, 2);
    return sum > 0 ? sum : 0;
}

static uint16_t *matrix(size_t rows, size_t columns, unsigned salt)
{
    uint16_t *data = malloc(rows * columns * sizeof *data);
    REQUIRE(data);
    for (size_t i = 0; i < rows * columns; i++)
        data[i] = wnn_half_from_float(element(i / columns, i % columns, salt));
    return data;
}

struct listener {
    size_t searches;
};

static void listen(WNNLogLevel level, WNNStringView message, void *userdata1, void *userdata2)
{
    (void)level;
    (void)userdata2;
    ((struct listener *)userdata1)->searches += strstr(message.data, " ways, number ") != NULL;
}

// With a cache, or NULL.
static WNNContext create_on(const WNNAllocator *allocator, struct host *host, struct listener *listener)
{
    const WNNCache cache = {NULL, host_load, host_store, host};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    WNNLog log = WNN_LOG_INIT;
    log.callback = listen;
    log.maxLevel = WNNLogLevel_Verbose;
    log.userdata1 = listener;
    descriptor.nextInChain = &log.chain;
    descriptor.threadCount = 2;
    descriptor.allocator = allocator;
    descriptor.cache = host ? &cache : NULL;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, &descriptor, &context), WNNStatus_Success);
    return context;
}

static WNNContext create_with(struct host *host, struct listener *listener)
{
    return create_on(NULL, host, listener);
}

static WNNOperand add_matrix(WNNGraphBuilder b, const char *name, uint32_t rows, uint32_t columns)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float16;
    descriptor.shape = (WNNUint32List){(uint32_t[]){rows, columns}, 2};
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}

// y = relu(a * b + c), and more of the same shapes up to so many, one after the other. `failure`: of an
// allocation.
static void try_build(WNNContext context, unsigned products, long failure, struct answer *answer)
{
    WNNGraphBuilder b = create_builder(context);
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    WNNOperand left = add_matrix(b, "a", ROWS, INNER), right = add_matrix(b, "b", INNER, COLUMNS), y;
    options.c = add_matrix(b, "c", 1, COLUMNS);
    WNNNamedOperand outputs[4];
    char names[4][2] = {"y", "z", "v", "w"};
    for (unsigned i = 0; i < products; i++) {
        y = wnnGraphBuilderRelu(b, wnnGraphBuilderGemm(b, left, right, &options), NULL);
        outputs[i] = (WNNNamedOperand){view(names[i]), y};
        left = wnnGraphBuilderAdd(b, left,
                                  wnnGraphBuilderMul(b, wnnGraphBuilderReduceMin(b, y, NULL),
                                                     wnnGraphBuilderReduceMin(b, left, NULL), NULL),
                                  NULL);
    }
    WNNSavable savable = WNN_SAVABLE_INIT;
    atomic_store(&until_failure, failure);
    wait_for(context, wnnGraphBuilderBuild(b, products, outputs,
                                           (WNNBuildCallbackInfo){&savable.chain, WNNCallbackMode_WaitAnyOnly,
                                                                  on_build, answer, NULL}));
    wnnGraphBuilderRelease(b);
}

static WNNGraph build(WNNContext context, unsigned products)
{
    struct answer answer = {0};
    try_build(context, products, 0, &answer);
    REQUIRE_EQUAL_STR(answer.message, "");
    return answer.graph;
}

static void require_right(WNNContext context, WNNGraph graph)
{
    size_t outputs;
    uint16_t *a = matrix(ROWS, INNER, 1), *b = matrix(INNER, COLUMNS, 2), *c = matrix(1, COLUMNS, 3),
             *y = matrix(ROWS, COLUMNS, 0);
    const WNNNamedBuffer in[] = {{view("a"), a, ROWS * INNER * sizeof *a, WNNDataType_Float16},
                                 {view("b"), b, INNER * COLUMNS * sizeof *a, WNNDataType_Float16},
                                 {view("c"), c, COLUMNS * sizeof *a, WNNDataType_Float16}},
                         out = {view("y"), y, ROWS * COLUMNS * sizeof *a, WNNDataType_Float16};
    wnnGraphGetOutputs(graph, &outputs);
    REQUIRE_EQUAL_INT(outputs, 1);
    compute_buffers(context, graph, 3, in, 1, &out);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        REQUIRE_EQUAL_FLOAT(wnn_half_to_float(y[i]), expected(i / COLUMNS, i % COLUMNS));
    free(a);
    free(b);
    free(c);
    free(y);
}

// Builds, runs and forgets a graph of one product in a context of its own. Returns how often was searched.
static size_t use(struct host *host)
{
    struct listener listener = {0};
    WNNContext context = create_with(host, &listener);
    WNNGraph graph = build(context, 1);
    require_right(context, graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    return listener.searches;
}

// The only answer that the host has.
static size_t find_answer(const struct host *host)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < host->count; i++)
        if (host->entries[i].bytes == CACHE_CHOICE_BYTES) {
            REQUIRE_EQUAL_INT(found, SIZE_MAX);
            found = i;
        }
    REQUIRE(found < host->count);
    return found;
}

// As if it were lost.
static void forget_answer(struct host *host)
{
    for (size_t i = 0; i < host->count; i++)
        if (host->entries[i].bytes == CACHE_CHOICE_BYTES)
            memset(host->entries[i].data, 0, CACHE_CHOICE_BYTES);
}

static void answer(struct host *host, size_t way)
{
    size_t at = find_answer(host);
    struct cache_choice choice;
    memcpy(choice.key.bytes, host->entries[at].key, sizeof choice.key.bytes);
    wnn_cache_make_choice(way, &choice);
    memcpy(host->entries[at].data, choice.bytes, sizeof choice.bytes);
}

static void test_kept(void)
{
    struct host host = {.count = 0};
    REQUIRE_EQUAL_INT(use(&host), 1);
    size_t stores = host.stores, at = find_answer(&host);
    REQUIRE_EQUAL_INT(use(&host), 0);
    REQUIRE_EQUAL_INT(host.stores, stores);
    // Damaged, in each part of it.
    for (size_t i = 0; i < CACHE_CHOICE_BYTES; i += 19) {
        ((unsigned char *)host.entries[at].data)[i] ^= 4;
        REQUIRE_EQUAL_INT(use(&host), 1);
    }
    answer(&host, 1000);
    REQUIRE_EQUAL_INT(use(&host), 1);
    // Gone.
    host.entries[at].bytes = 20;
    REQUIRE_EQUAL_INT(use(&host), 1);
    REQUIRE_EQUAL_INT(find_answer(&host), at);
    host_forget(&host);
    REQUIRE_EQUAL_INT(use(NULL), 0);
}

// Every way computes the same, by a shader of its own.
static void test_ways(void)
{
    struct host host = {.count = 0};
    REQUIRE_EQUAL_INT(use(&host), 1);
    size_t way = 0, shaders = host.count, found = 0;
    for (answer(&host, 0); use(&host) == 0; answer(&host, ++way)) {
        found += host.count > shaders;
        shaders = host.count;
    }
    fprintf(stderr, "%zu ways\n", way);
    REQUIRE(way > 1);
    REQUIRE_EQUAL_INT(found, way - 1); // but for the first answer's
    host_forget(&host);
}

// Equal products are one question.
static void test_equal(void)
{
    struct host host = {.count = 0};
    struct listener listener = {0};
    WNNContext context = create_with(&host, &listener);
    WNNGraph graph = build(context, 3);
    REQUIRE_EQUAL_INT(listener.searches, 1);
    find_answer(&host);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    host_forget(&host);
}

static struct serialized save_one(struct host *host)
{
    struct serialized bytes = {0};
    struct listener listener = {0};
    char message[1024] = "";
    WNNContext context = create_with(host, &listener);
    WNNGraph graph = build(context, 1);
    REQUIRE_EQUAL_INT(wnn_save_chained(graph, NULL, &bytes, sizeof message, message), WNNStatus_Success);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(listener.searches, 0);
    return bytes;
}

// Of a host that vouches for the bytes. Returns how many entries its cache was asked for.
static size_t load_one(struct host *host, const struct serialized *bytes)
{
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    struct listener listener = {0};
    char message[1024] = "";
    void *memory = wnn_aligned_copy(bytes->data, bytes->size);
    WNNGraph graph;
    descriptor.bytes.data = memory;
    descriptor.bytes.byteLength = bytes->size;
    descriptor.authenticate = wnn_vouch;
    WNNContext context = create_with(host, &listener);
    size_t before = host ? host->loads : 0;
    wnnContextLoadGraphSync(context, &descriptor, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    require_right(context, graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    free(memory);
    REQUIRE_EQUAL_INT(listener.searches, 0);
    return host ? host->loads - before : 0;
}

// Code that is loaded is that of the way that was taken where it was saved, whatever others say.
static void test_compiled(void)
{
    struct host host = {.count = 0};
    use(&host);
    for (size_t way = 0; way < 2; way++) {
        struct host empty = {.count = 0};
        answer(&host, way);
        struct serialized bytes = save_one(&host);
        answer(&host, 1 - way);
        load_one(NULL, &bytes);
        REQUIRE_EQUAL_INT(load_one(&empty, &bytes), 0);
        REQUIRE_EQUAL_INT(load_one(&host, &bytes), 0);
        free(bytes.data);
        host_forget(&empty);
    }
    // Saved by somebody who had no cache, and so did not ask.
    struct serialized bytes = save_one(NULL);
    REQUIRE_EQUAL_INT(load_one(&host, &bytes), 0);
    free(bytes.data);
    host_forget(&host);
}

// A search for which there is no memory is none, and what is built without an answer is right.
static void test_memory(void)
{
    struct host host = {.count = 0};
    struct listener listener = {0};
    WNNContext context = create_on(&failing_allocator, &host, &listener);
    WNNGraph first = build(context, 1);
    size_t failures = 0, searches = 0;
    wnnGraphRelease(first);
    for (long n = 1, done = 0; !done; n += 3) {
        struct answer built = {0};
        forget_answer(&host);
        listener.searches = 0;
        try_build(context, 1, n, &built);
        done = atomic_exchange(&until_failure, 0) > 0;
        failures += built.status == WNNStatus_OutOfMemory;
        searches += listener.searches;
        if (built.status == WNNStatus_Success)
            require_right(context, built.graph);
        else
            REQUIRE(built.status == WNNStatus_OutOfMemory && !done);
        wnnGraphRelease(built.graph);
    }
    fprintf(stderr, "%zu builds failed, %zu searched\n", failures, searches);
    REQUIRE(failures > 0 && searches > 0);
    wnnContextRelease(context);
    require_no_blocks();
    host_forget(&host);
}

int main(int argc, char **argv)
{
    const WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    backend = vulkan_matrices();
    cases_begin(argc, argv);
    if (wnn_create_context_on(backend, &descriptor, &context) != WNNStatus_Success)
        return cases_skip("there is no device");
    wnnContextRelease(context);
    CASE(test_kept());
    CASE(test_ways());
    CASE(test_equal());
    CASE(test_compiled());
    CASE(test_memory());
    return cases_end();
}
