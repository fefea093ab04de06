// SPDX-License-Identifier: Apache-2.0
//
// Compiling for a Vulkan device that is described and not opened: here the one that there is, so that what
// was compiled runs on it. Skipped where Vulkan has no device.

#include "conformance/compiled.h"
#include "conformance/unit/runtime_fixture.h"
#include "vulkan/device/open.h"
#include "vulkan/vulkan.h"

static char target[1024];
static struct gpu_origin origin;

static bool create_state(const struct backend_options *options, void **state, struct error *error)
{
    if (!wnn_vulkan_create(options, &origin, state, error))
        return false;
    if (origin.target.length == 0) {
        struct text text = TEXT(target);
        wnn_backend_vulkan.describe_target(*state, &text);
    }
    return true;
}

static WNNStatus create(struct answer *error, const WNNCache *cache, WNNContext *context)
{
    static struct backend backend;
    backend = wnn_backend_vulkan;
    backend.create = create_state;
    WNNContextDescriptor descriptor = describe_context(error, NULL);
    descriptor.cache = cache;
    return wnn_create_context_on(&backend, &descriptor, context);
}

static WNNContext create_working(const char *on, const WNNCache *cache)
{
    static struct answer error; // which the context may tell more of
    WNNContext context;
    error = (struct answer){0};
    origin = (struct gpu_origin){.target = {on, on ? strlen(on) : 0}};
    create(&error, cache, &context);
    REQUIRE_EQUAL_STR(error.message, "");
    return context;
}

// ---------------------------------------------------------------------------------------------------------------
// A graph with a product, whose weights are arranged, and some small operators
// ---------------------------------------------------------------------------------------------------------------

enum {
    ROWS = 2,
    INNER = 256,
    COLUMNS = 512
};

static WNNGraph build(WNNContext context)
{
    static float weights[INNER * COLUMNS];
    const uint32_t dims[] = {INNER, COLUMNS};
    for (size_t i = 0; i < INNER * COLUMNS; i++)
        weights[i] = (float)((uint32_t)i * 2654435761u >> 26) - 31;
    WNNGraphBuilder builder = create_builder(context);
    WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
    type.dataType = WNNDataType_Float32;
    type.shape = (WNNUint32List){dims, 2};
    WNNOperand x = add_input(builder, "x", ROWS, INNER),
               w = wnnGraphBuilderConstant(builder, &type, weights, sizeof weights),
               y = wnnGraphBuilderMatmul(builder, wnnGraphBuilderTanh(builder, x, NULL), w, NULL);
    WNNNamedOperand output = {view("y"), wnnGraphBuilderSoftmax(builder, y, 1, NULL)};
    char message[1024] = "";
    WNNGraph graph;
    wnn_build_savable(context, builder, 1, &output, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    wnnGraphBuilderRelease(builder);
    return graph;
}

static void compute(WNNContext context, WNNGraph graph, float *y)
{
    float x[ROWS * INNER];
    for (size_t i = 0; i < ROWS * INNER; i++)
        x[i] = (float)(i * 37 % 101) / 50 - 1;
    WNNNamedBuffer input = {view("x"), x, sizeof x, WNNDataType_Float32},
                   output = {view("y"), y, ROWS * COLUMNS * sizeof y[0], WNNDataType_Float32};
    compute_buffers(context, graph, 1, &input, 1, &output);
}

static struct serialized save(WNNGraph graph)
{
    struct serialized bytes = {0};
    char message[1024] = "";
    wnn_save_graph(graph, &bytes, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    return bytes;
}

static struct serialized compile_described(void)
{
    WNNContext context = create_working(target, NULL);
    WNNGraph graph = build(context);
    struct serialized bytes = save(graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    return bytes;
}

// ---------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------

static size_t count_load(const void *key, size_t length, void *data, size_t capacity, void *asked)
{
    (void)key;
    (void)length;
    (void)data;
    (void)capacity;
    ++*(unsigned *)asked;
    return 0;
}

static void ignore_entry(const void *key, size_t length, const void *data, size_t size, void *unused)
{
    (void)key;
    (void)length;
    (void)data;
    (void)size;
    (void)unused;
}

// The same bytes each time; the device that is there takes them for its own, finds all of its shaders in
// them, and computes what it computes of a graph that it has built.
static void test_loading(void)
{
    static float expected[ROWS * COLUMNS], y[ROWS * COLUMNS];
    unsigned asked = 0;
    const WNNCache cache = {NULL, count_load, ignore_entry, &asked};
    WNNContext context = create_working(NULL, NULL);
    WNNGraph built = build(context), loaded;
    compute(context, built, expected);
    wnnGraphRelease(built);
    wnnContextRelease(context);

    struct serialized bytes = compile_described(), again = compile_described();
    REQUIRE(wnn_serialized_equal(&bytes, &again));
    free(again.data);

    context = create_working(NULL, &cache);
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    char message[1024] = "";
    void *memory = wnn_aligned_copy(bytes.data, bytes.size);
    descriptor.bytes.data = memory;
    descriptor.bytes.byteLength = bytes.size;
    descriptor.authenticate = wnn_vouch;
    wnnContextLoadGraphSync(context, &descriptor, &loaded, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE_EQUAL_INT(asked, 0);
    compute(context, loaded, y);
    REQUIRE(memcmp(y, expected, sizeof y) == 0);
    wnnGraphRelease(loaded);
    wnnContextRelease(context);
    free(bytes.data);
    free(memory);
}

// What is compiled for a device that is not there does not run.
static void test_running(void)
{
    static float y[ROWS * COLUMNS];
    WNNContext context = create_working(target, NULL);
    WNNGraph graph = build(context);
    float x[ROWS * INNER] = {0};
    WNNNamedBuffer input = {view("x"), x, sizeof x, WNNDataType_Float32},
                   output = {view("y"), y, sizeof y, WNNDataType_Float32};
    char message[1024] = "";
    REQUIRE_EQUAL_INT(
        wnnContextComputeSync(
            context,
            &(WNNComputeDescriptor){
                .graph = graph, .inputCount = 1, .outputCount = 1, .inputs = &input, .outputs = &output},
            sizeof message, message),
        WNNStatus_NotSupportedError);
    REQUIRE_CONTAINS(message, "is described, and not there");
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    WNNTensor tensor;
    descriptor.dataType = WNNDataType_Float32;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &tensor), WNNStatus_NotSupportedError);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// The public way to such a context, which says what it is for.
static void test_chain(void)
{
    struct answer error = {0};
    WNNContextTarget described = WNN_CONTEXT_TARGET_INIT;
    WNNTargetInfo info = WNN_TARGET_INFO_INIT;
    WNNContextDescriptor descriptor = describe_context(&error, NULL);
    WNNContext context;
    described.target = view(target);
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.nextInChain = &described.chain;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextGetTarget(context, &info), WNNStatus_Success);
    REQUIRE(info.isDescribed && info.target.length == strlen(target));
    REQUIRE(memcmp(info.target.data, target, info.target.length) == 0);
    wnnGraphRelease(build(context));
    wnnContextRelease(context);
}

// Any other text is refused, or is that of another device.
static void test_text(void)
{
    char text[sizeof target];
    size_t length = strlen(target);
    unsigned refused = 0, taken = 0;
    for (size_t at = 0; at < length; at++)
        for (unsigned way = 0; way < 4; way++) {
            struct answer error = {0};
            WNNContext context = NULL;
            memcpy(text, target, length + 1);
            if (way == 0)
                text[at] = 0;
            else if (way == 1)
                text[at] = '0';
            else if (way == 2)
                text[at] = 'f';
            else
                memmove(text + at, text + at + 1, length - at);
            if (strcmp(text, target) == 0 || text[0] == 0)
                continue;
            origin = (struct gpu_origin){.target = {text, strlen(text)}};
            WNNStatus status = create(&error, NULL, &context);
            REQUIRE(status == WNNStatus_Success || status == WNNStatus_NotSupportedError);
            REQUIRE((context != NULL) == (status == WNNStatus_Success));
            *(context ? &taken : &refused) += 1;
            wnnContextRelease(context);
        }
    printf("%zu bytes of a target: %u others refused, %u of other devices\n", length, refused, taken);
    REQUIRE(refused > length && taken > 0);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    struct answer error = {0};
    WNNContext context;
    if (create(&error, NULL, &context) != WNNStatus_Success)
        return cases_skip(error.message);
    wnnContextRelease(context);
    CASE(test_loading());
    CASE(test_running());
    CASE(test_chain());
    CASE(test_text());
    return cases_end();
}
