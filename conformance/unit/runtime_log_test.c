// SPDX-License-Identifier: Apache-2.0
//
// The log of a context: what is in it at each level, and that it is not there where nobody asks.

#include "conformance/unit/runtime_fixture.h"

#include <webnn/vulkan.h>

struct log {
    pthread_mutex_t lock;
    int counts[5]; // by level
    char text[16384];
};

static void take(WNNLogLevel level, WNNStringView message, void *userdata1, void *userdata2)
{
    struct log *log = userdata1;
    REQUIRE(userdata2 == &log->text);
    REQUIRE(level >= WNNLogLevel_Error && level <= WNNLogLevel_Verbose);
    REQUIRE(message.length > 0 && message.data[message.length] == '\0');
    pthread_mutex_lock(&log->lock);
    size_t used = strlen(log->text);
    snprintf(log->text + used, sizeof log->text - used, "%d %s\n", (int)level, message.data);
    log->counts[level]++;
    pthread_mutex_unlock(&log->lock);
}

static WNNLog log_to(struct log *log, WNNLogLevel level)
{
    *log = (struct log){.lock = PTHREAD_MUTEX_INITIALIZER};
    WNNLog chained = WNN_LOG_INIT;
    chained.maxLevel = level;
    chained.callback = take;
    chained.userdata1 = log;
    chained.userdata2 = &log->text;
    return chained;
}

// A convolution whose filter is no constant, for which not every kernel will do.
static WNNGraph build_layer(WNNContext context)
{
    WNNGraphBuilder builder = create_builder(context);
    const uint32_t image[] = {1, 8, 16, 16}, window[] = {8, 8, 3, 3};
    WNNOperandDescriptor input = {NULL, WNNDataType_Float32, {image, 4}},
                         filter = {NULL, WNNDataType_Float32, {window, 4}};
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &input),
               w = wnnGraphBuilderInput(builder, view("w"), &filter);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.label = view("layer");
    WNNNamedOperand output = {view("y"), wnnGraphBuilderConv2d(builder, x, w, &options)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static void test_levels(void)
{
    for (int level = WNNLogLevel_Error; level <= WNNLogLevel_Verbose; level++) {
        struct log log;
        WNNLog chained = log_to(&log, (WNNLogLevel)level);
        WNNContext context;
        WNNContextDescriptor descriptor = describe_context(NULL, NULL);
        descriptor.nextInChain = &chained.chain;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
        wnnGraphRelease(build_layer(context));
        wnnContextRelease(context);
        for (int more = level + 1; more <= WNNLogLevel_Verbose; more++)
            REQUIRE_EQUAL_INT(log.counts[more], 0);
        REQUIRE_EQUAL_INT(log.counts[WNNLogLevel_Error], 0); // to be released is no error
        if (level < WNNLogLevel_Info)
            continue;
        REQUIRE_CONTAINS(log.text, "3 context on ");
        REQUIRE_CONTAINS(log.text, "1 threads");
        REQUIRE_CONTAINS(log.text, "3 graph of 1 operators: 1 nodes");
        REQUIRE_CONTAINS(log.text, "3 conv2d \"layer\" is computed by native product");
    }
}

static void test_refusals(void)
{
    struct answer answer = {0};
    struct log log;
    WNNContext context;
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    WNNLog chained = log_to(&log, WNNLogLevel_Info), good = chained;
    descriptor.nextInChain = &chained.chain;
    chained.callback = NULL;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_TypeError);
    REQUIRE_CONTAINS(answer.message, "log: a callback");
    for (int level = 0; level <= 5; level += 5) {
        chained = good;
        chained.maxLevel = (WNNLogLevel)level;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_TypeError);
    }
    REQUIRE_EQUAL_STR(log.text, "");
}

// ---------------------------------------------------------------------------------------------------------------
// On a device
// ---------------------------------------------------------------------------------------------------------------

static size_t load_nothing(const void *key, size_t keyLength, void *data, size_t capacity, void *userdata)
{
    (void)key, (void)keyLength, (void)data, (void)capacity, (void)userdata;
    return 0;
}

static void store_nothing(const void *key, size_t keyLength, const void *data, size_t length, void *userdata)
{
    (void)key, (void)keyLength, (void)data, (void)length, (void)userdata;
}

static void test_device(void)
{
    struct log log;
    WNNLog chained = log_to(&log, WNNLogLevel_Verbose);
    WNNCache cache = {NULL, load_nothing, store_nothing, NULL};
    WNNContext context;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.nextInChain = &chained.chain;
    descriptor.cache = &cache;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success) {
        fprintf(stderr, "not tested: there is no GPU\n");
        return;
    }
    wnnGraphRelease(build_layer(context));
    WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnContextGetDeviceInfo(context, &info), WNNStatus_Success);
    wnnContextRelease(context);
    REQUIRE_CONTAINS(log.text, info.name);
    REQUIRE_CONTAINS(log.text, "4 the cache has no shader ");
}

int main(void)
{
    test_levels();
    test_refusals();
    test_device();
    return 0;
}
