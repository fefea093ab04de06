// SPDX-License-Identifier: Apache-2.0
//
// Which GPU a context is on: the list of them, a choice by index and by UUID, what is no choice, and what the
// chosen one says about the size of tensors. Skipped where there is none.

#include "conformance/unit/runtime_fixture.h"

static WNNStatus create_on(const char *device, struct answer *error, WNNContext *context)
{
    WNNContextDescriptor descriptor = describe_context(error, NULL);
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.device = view(device);
    return wnnCreateContext(&descriptor, context);
}

static void require_on(const char *device, const char *name)
{
    struct answer answer = {0};
    WNNContext context;
    REQUIRE_EQUAL_INT(create_on(device, &answer, &context), WNNStatus_Success);
    REQUIRE_EQUAL_STR(wnn_context_device(context), name);
    wnnContextRelease(context);
}

static void require_refused(const char *device, WNNStatus status, const char *message)
{
    struct answer answer = {0};
    WNNContext context;
    REQUIRE_EQUAL_INT(create_on(device, &answer, &context), status);
    REQUIRE(!context);
    REQUIRE_CONTAINS(answer.message, message);
}

static void test_choice(const WNNDeviceInfo *device)
{
    char index[16], uuid[40], dashed[40];
    snprintf(index, sizeof index, "%u", device->index);
    for (int i = 0; i < 16; i++)
        snprintf(uuid + i * 2, 3, "%02X", device->uuid[i]);
    snprintf(dashed, sizeof dashed, "%.8s-%.4s-%.4s-%.4s-%.12s", uuid, uuid + 8, uuid + 12, uuid + 16,
             uuid + 20);
    require_on(index, device->name);
    require_on(uuid, device->name);
    require_on(dashed, device->name);
}

static void test_no_choice(void)
{
    require_refused("9999", WNNStatus_NotSupportedError, "none is \"9999\"");
    require_refused("ffffffff-ffff-ffff-ffff-fffffffffff0", WNNStatus_NotSupportedError, "none is \"ffff");
    static const char *const nonsense[] = {"first",
                                           "-1",
                                           "0 ",
                                           "0x0",
                                           "10000",
                                           "99999999999999999999",
                                           "ffffffff-ffff-ffff-ffff-fffffffffff",
                                           "ffffffff-ffff-ffff-ffff-fffffffffff00",
                                           "\n",
                                           "a"};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++)
        require_refused(nonsense[i], WNNStatus_TypeError, "neither a number nor a UUID");
    require_refused("\xff", WNNStatus_TypeError, "UTF-8");

    // The processor is one.
    struct answer answer = {0};
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    descriptor.device = view("0");
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_TypeError);
    REQUIRE_CONTAINS(answer.message, "cpu has only one");
}

// The limit is the device's, a smaller one of the caller's stays, and what is larger is refused before it is
// built.
static void test_limits(void)
{
    struct answer answer = {0};
    WNNContext context;
    WNNLimits limits = WNN_LIMITS_INIT;
    WNNOpSupportLimits support;
    REQUIRE_EQUAL_INT(create_on("", &answer, &context), WNNStatus_Success);
    wnnContextGetLimits(context, &limits);
    wnnContextGetOpSupportLimits(context, &support);
    REQUIRE(limits.maxTensorByteLength >= (1 << 27) - 4 && limits.maxTensorByteLength <= 0x7FFFFFFF);
    REQUIRE_EQUAL_INT(support.maxTensorByteLength, limits.maxTensorByteLength);
    if (limits.maxTensorByteLength < 0x7FFFFFFF) {
        WNNGraphBuilder builder = create_builder(context);
        WNNError error;
        REQUIRE(!add_input(builder, "x", (uint32_t)(limits.maxTensorByteLength / 4 + 1), 1));
        wnnGraphBuilderGetError(builder, &error);
        REQUIRE_EQUAL_INT(error.status, WNNStatus_TypeError);
        wnnGraphBuilderRelease(builder);
    }
    wnnContextRelease(context);

    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.limits = &limits;
    limits.maxTensorByteLength = 1000;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    wnnContextGetOpSupportLimits(context, &support);
    REQUIRE_EQUAL_INT(support.maxTensorByteLength, 1000);
    wnnContextRelease(context);
}

int main(void)
{
    WNNDeviceInfo devices[8];
    size_t count = wnnEnumerateDevices(8, devices), usable = 0;
    REQUIRE_EQUAL_INT(wnnEnumerateDevices(0, NULL), count);
    for (size_t i = 0; i < count && i < 8; i++) {
        REQUIRE_EQUAL_INT(devices[i].index, i);
        REQUIRE_EQUAL_INT(devices[i].deviceType, WNNDeviceType_GPU);
        REQUIRE(devices[i].name[0] && devices[i].memoryBytes > 0);
        usable += devices[i].usable;
    }
    struct answer answer = {0};
    WNNContext context;
    WNNStatus status = create_on("", &answer, &context);
    if (usable == 0 || status == WNNStatus_NotSupportedError) {
        REQUIRE_EQUAL_INT(status, WNNStatus_NotSupportedError);
        fprintf(stderr, "skipped: %s\n", answer.message);
        return SKIPPED;
    }
    wnnContextRelease(context);
    for (size_t i = 0; i < count && i < 8; i++)
        if (devices[i].usable)
            test_choice(&devices[i]);
    test_no_choice();
    test_limits();
    return 0;
}
