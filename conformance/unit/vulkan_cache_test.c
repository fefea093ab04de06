// SPDX-License-Identifier: Apache-2.0
//
// The cache of compiled shaders. Without a device: entries that are cut off, damaged in every bit, of another
// key, another driver or another size are noticed. With one: contexts that share a cache compile once, and
// what a cache gets wrong changes no result.

#include "conformance/unit/host_cache.h"
#include "vulkan/program/cache.h"
#include "vulkan/vulkan.h"

// ---------------------------------------------------------------------------------------------------------------
// Entries
// ---------------------------------------------------------------------------------------------------------------

struct fixture {
    struct allocator allocator;
    struct host host;
    WNNCache callbacks;
    struct cache cache;
    unsigned char data[40]; // the driver's
};

static void begin(struct fixture *f)
{
    *f = (struct fixture){.callbacks = {NULL, host_load, host_store, &f->host}};
    wnn_allocator_init(&f->allocator, NULL, 0);
    f->cache = (struct cache){
        &f->allocator, &f->callbacks, NULL, {0x10DE, 0x2335, 7, VK_API_VERSION_1_2, {1, 2, 3}, "compiler 1"}};
    VkPipelineCacheHeaderVersionOne head = {sizeof head,
                                            VK_PIPELINE_CACHE_HEADER_VERSION_ONE,
                                            f->cache.identity.vendor,
                                            f->cache.identity.device,
                                            {0}};
    memcpy(head.pipelineCacheUUID, f->cache.identity.uuid, VK_UUID_SIZE);
    memset(f->data, 0xAB, sizeof f->data);
    memcpy(f->data, &head, sizeof head);
}

static void end(struct fixture *f)
{
    REQUIRE_EQUAL_INT(atomic_load(&f->allocator.now), 0);
    host_forget(&f->host);
}

static const uint32_t words[] = {0x07230203, 0x10000, 0, 100, 0, 0x20011, 1};

static void put(struct fixture *f, const struct cache_key *key, size_t data_bytes)
{
    struct cache_entry entry;
    REQUIRE(wnn_cache_make(&f->cache, key, words, sizeof words / sizeof *words, f->data, data_bytes, &entry));
    wnn_cache_store(&f->cache, key, &entry);
    wnn_cache_drop(&f->cache, &entry);
}

// What becomes of what the host has; 0: nothing of use, 1: the words, 2: the driver's data too.
static int get(struct fixture *f, const struct cache_key *key)
{
    struct cache_entry entry;
    int result = 0;
    if (wnn_cache_load(&f->cache, key, &entry) && wnn_cache_check(&f->cache, key, &entry)) {
        REQUIRE_EQUAL_INT(entry.word_count, sizeof words / sizeof *words);
        REQUIRE(memcmp(entry.words, words, sizeof words) == 0);
        REQUIRE_EQUAL_INT((uintptr_t)entry.words % sizeof(uint32_t), 0);
        REQUIRE((entry.data != NULL) == (entry.data_bytes != 0));
        REQUIRE(!entry.data ||
                (entry.data_bytes <= sizeof f->data && memcmp(entry.data, f->data, entry.data_bytes) == 0));
        result = entry.data ? 2 : 1;
    }
    wnn_cache_drop(&f->cache, &entry);
    return result;
}

static void test_damage(void)
{
    struct fixture f;
    begin(&f);
    struct cache_key key = wnn_cache_key(&f.cache, "text", 4), other = wnn_cache_key(&f.cache, "texs", 4);
    REQUIRE_EQUAL_INT(get(&f, &key), 0);
    put(&f, &key, sizeof f.data);
    REQUIRE_EQUAL_INT(get(&f, &key), 2);
    REQUIRE_EQUAL_INT(get(&f, &other), 0);
    size_t bytes = f.host.entries[0].bytes;
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        unsigned char *byte = (unsigned char *)f.host.entries[0].data + bit / 8;
        *byte ^= (unsigned char)(1u << bit % 8);
        REQUIRE_EQUAL_INT(get(&f, &key), 0);
        *byte ^= (unsigned char)(1u << bit % 8);
    }
    for (f.host.entries[0].bytes = 0; f.host.entries[0].bytes < bytes; f.host.entries[0].bytes++)
        REQUIRE_EQUAL_INT(get(&f, &key), 0);
    // A longer one.
    f.host.entries[0].data = realloc(f.host.entries[0].data, bytes + 64);
    REQUIRE(f.host.entries[0].data);
    memset((char *)f.host.entries[0].data + bytes, 0, 64);
    for (f.host.entries[0].bytes = bytes + 1; f.host.entries[0].bytes <= bytes + 64;
         f.host.entries[0].bytes++)
        REQUIRE_EQUAL_INT(get(&f, &key), 0);
    f.host.entries[0].bytes = bytes;
    REQUIRE_EQUAL_INT(get(&f, &key), 2);
    // What is stored under another key is another's.
    memcpy(f.host.entries[0].key, other.bytes, sizeof other.bytes);
    REQUIRE_EQUAL_INT(get(&f, &other), 0);
    end(&f);
}

// Hosts that say what is not so.
static void test_sizes(void)
{
    static const size_t answers[] = {1, 47, 48, 49, 1000, GPU_CACHE_ENTRY, GPU_CACHE_ENTRY + 1, SIZE_MAX};
    struct fixture f;
    begin(&f);
    struct cache_key key = wnn_cache_key(&f.cache, "text", 4);
    put(&f, &key, sizeof f.data);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        f.host.first_answer = answers[i];
        f.host.second_answer = 0;
        REQUIRE_EQUAL_INT(get(&f, &key), 0);
        f.host.first_answer = 0;
        f.host.second_answer = answers[i];
        REQUIRE_EQUAL_INT(get(&f, &key), 0);
    }
    f.host.second_answer = 0;
    REQUIRE_EQUAL_INT(get(&f, &key), 2);
    struct cache_entry entry;
    REQUIRE(!wnn_cache_make(&f.cache, &key, words, GPU_CACHE_ENTRY, NULL, 0, &entry));
    REQUIRE(!wnn_cache_make(&f.cache, &key, words, SIZE_MAX / 4, NULL, 0, &entry));
    REQUIRE(!wnn_cache_make(&f.cache, &key, words, 5, f.data, GPU_CACHE_ENTRY, &entry));
    REQUIRE(!entry.memory);
    f.cache.host = NULL;
    REQUIRE_EQUAL_INT(get(&f, &key), 0);
    end(&f);
}

// The driver is not handed what is not its own.
static void test_drivers(void)
{
    struct fixture f;
    begin(&f);
    struct cache_key key = wnn_cache_key(&f.cache, "text", 4);
    put(&f, &key, 0);
    REQUIRE_EQUAL_INT(get(&f, &key), 1);
    put(&f, &key, sizeof(VkPipelineCacheHeaderVersionOne) - 1);
    REQUIRE_EQUAL_INT(get(&f, &key), 1);
    put(&f, &key, sizeof(VkPipelineCacheHeaderVersionOne));
    REQUIRE_EQUAL_INT(get(&f, &key), 2);
    for (size_t i = 0; i < sizeof(VkPipelineCacheHeaderVersionOne); i++) {
        f.data[i] ^= 1;
        put(&f, &key, sizeof f.data);
        REQUIRE_EQUAL_INT(get(&f, &key), 1);
        f.data[i] ^= 1;
    }
    // What is not SPIR-V is nobody's.
    static const uint32_t nonsense[8] = {1, 2, 3};
    struct cache_entry entry;
    REQUIRE(wnn_cache_make(&f.cache, &key, nonsense, 8, NULL, 0, &entry));
    wnn_cache_store(&f.cache, &key, &entry);
    wnn_cache_drop(&f.cache, &entry);
    REQUIRE_EQUAL_INT(get(&f, &key), 0);
    end(&f);
}

static void test_keys(void)
{
    struct fixture f;
    begin(&f);
    struct cache other = f.cache;
    struct cache_key key = wnn_cache_key(&f.cache, "text", 4), again = wnn_cache_key(&other, "text", 4);
    REQUIRE(memcmp(&key, &again, sizeof key) == 0);
#define REQUIRE_OTHER(change)                                                                                \
    do {                                                                                                     \
        other = f.cache;                                                                                     \
        change;                                                                                              \
        again = wnn_cache_key(&other, "text", 4);                                                            \
        REQUIRE(memcmp(&key, &again, sizeof key) != 0);                                                      \
    } while (0)
    REQUIRE_OTHER(other.identity.vendor++);
    REQUIRE_OTHER(other.identity.device++);
    REQUIRE_OTHER(other.identity.driver_version++);
    REQUIRE_OTHER(other.identity.api_version++);
    REQUIRE_OTHER(other.identity.uuid[15]++);
    REQUIRE_OTHER(other.identity.compiler = "compiler 2");
    REQUIRE_OTHER(other.identity.compiler = "compiler 1t");
    again = wnn_cache_key(&f.cache, "tex", 3);
    REQUIRE(memcmp(&key, &again, sizeof key) != 0);
    end(&f);
}

// ---------------------------------------------------------------------------------------------------------------
// Contexts
// ---------------------------------------------------------------------------------------------------------------

static bool create(struct host *host, struct answer *answer, WNNContext *context)
{
    const WNNCache cache = {NULL, host_load, host_store, host};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.threadCount = 2;
    descriptor.cache = &cache;
    descriptor.errorCallbackInfo = (WNNErrorCallbackInfo){NULL, on_request, answer, NULL};
    return wnnCreateContext(&descriptor, context) == WNNStatus_Success;
}

// Transposed and exponentials of it: two shaders and the self-test's.
static void use(struct host *host)
{
    enum {
        ROWS = 3,
        COLUMNS = 5
    };
    struct answer answer = {0}, built = {0};
    WNNContext context;
    REQUIRE(create(host, &answer, &context));
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = add_input(builder, "x", ROWS, COLUMNS);
    WNNOperand y = wnnGraphBuilderNeg(builder, wnnGraphBuilderTranspose(builder, x, NULL), NULL);
    wait_for(context, start_build(builder, "y", wnnGraphBuilderCumulativeSum(builder, y, 0, NULL), &built,
                                  WNNCallbackMode_WaitAnyOnly));
    wnnGraphBuilderRelease(builder);
    REQUIRE_EQUAL_INT(built.status, WNNStatus_Success);
    float in[ROWS * COLUMNS], out[COLUMNS * ROWS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        in[i] = (float)i;
    WNNNamedBuffer input = {view("x"), in, sizeof in, WNNDataType_Float32},
                   output = {view("y"), out, sizeof out, WNNDataType_Float32};
    compute_buffers(context, built.graph, 1, &input, 1, &output);
    for (int row = 0; row < ROWS; row++) {
        float sum = 0;
        for (int column = 0; column < COLUMNS; column++)
            REQUIRE_EQUAL_FLOAT(out[column * ROWS + row], sum -= in[row * COLUMNS + column]);
    }
    wnnGraphRelease(built.graph);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(answer.calls, 0);
}

static void test_contexts(void)
{
    struct host host = {.count = 0};
    use(&host);
    size_t shaders = host.loads;
    REQUIRE(shaders >= 2);
    REQUIRE_EQUAL_INT(host.stores, shaders);
    REQUIRE_EQUAL_INT(host.hits, 0);
    use(&host);
    REQUIRE_EQUAL_INT(host.loads, 2 * shaders);
    REQUIRE_EQUAL_INT(host.hits, shaders);
    REQUIRE_EQUAL_INT(host.stores, shaders);
    // Damaged in one place each, and then repaired by being stored again.
    for (size_t i = 0; i < host.count; i++)
        ((unsigned char *)host.entries[i].data)[(i + 1) * 97 % host.entries[i].bytes] ^= 0x10;
    use(&host);
    REQUIRE_EQUAL_INT(host.stores, 2 * shaders);
    // Everything under another's name.
    void *first = host.entries[0].data;
    size_t bytes = host.entries[0].bytes;
    for (size_t i = 0; i + 1 < host.count; i++) {
        host.entries[i].data = host.entries[i + 1].data;
        host.entries[i].bytes = host.entries[i + 1].bytes;
    }
    host.entries[host.count - 1].data = first;
    host.entries[host.count - 1].bytes = bytes;
    use(&host);
    REQUIRE_EQUAL_INT(host.stores, 3 * shaders);
    host.first_answer = SIZE_MAX;
    use(&host);
    REQUIRE_EQUAL_INT(host.stores, 4 * shaders);
    host_forget(&host);
}

// As many equal nodes, each of another's result.
static size_t count_shaders(unsigned nodes)
{
    struct host host = {.count = 0};
    struct answer answer = {0}, built = {0};
    WNNContext context;
    REQUIRE(create(&host, &answer, &context));
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand y = add_input(builder, "x", 3, 5);
    for (unsigned i = 0; i < nodes; i++)
        y = wnnGraphBuilderSoftmax(builder, wnnGraphBuilderCumulativeSum(builder, y, 0, NULL), 1, NULL);
    wait_for(context, start_build(builder, "y", y, &built, WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_INT(built.status, WNNStatus_Success);
    size_t count = host.loads;
    wnnGraphRelease(built.graph);
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(context);
    host_forget(&host);
    return count;
}

// Equal nodes have one pipeline.
static void test_sharing(void)
{
    size_t count = count_shaders(1);
    REQUIRE(count >= 3); // with that of the device's test
    REQUIRE_EQUAL_INT(count_shaders(7), count);
}

// A cache needs both functions, on any device.
static void test_descriptor(void)
{
    for (int i = 0; i < 3; i++) {
        const WNNCache cache = {NULL, i & 1 ? host_load : NULL, i & 2 ? host_store : NULL, NULL};
        struct answer answer = {0};
        WNNContextDescriptor descriptor = describe_context(&answer, NULL);
        WNNContext context;
        descriptor.cache = &cache;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_TypeError);
        REQUIRE_CONTAINS(answer.message, "cache");
    }
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_damage());
    CASE(test_sizes());
    CASE(test_drivers());
    CASE(test_keys());
    CASE(test_descriptor());
    struct answer answer = {0};
    struct host host = {.count = 0};
    WNNContext context;
    if (!create(&host, &answer, &context))
        return cases_skip(answer.message);
    wnnContextRelease(context);
    host_forget(&host);
    CASE(test_contexts());
    CASE(test_sharing());
    return cases_end();
}
