// SPDX-License-Identifier: Apache-2.0
//
// Which GPU a context is on: the best of several, the list of them, a choice by index and by UUID, what is no
// choice, and what the chosen one says about the size of tensors. But for the first, skipped where there is
// none.

#include "conformance/unit/runtime_fixture.h"
#include "vulkan/device/open.h"
#include "vulkan/device/device.h"

// ---------------------------------------------------------------------------------------------------------------
// A machine with several, of which only as much is there as a choice needs: none can be opened
// ---------------------------------------------------------------------------------------------------------------

enum {
    MAX_FAKES = 4
};

static struct fake {
    VkPhysicalDeviceType type;
    uint32_t version;
    VkQueueFlags does;
} fakes[MAX_FAKES];
static uint32_t fake_count;
static int chosen;

static int number_of(VkPhysicalDevice physical)
{
    return (int)((const struct fake *)(const void *)physical - fakes);
}

static VKAPI_ATTR VkResult VKAPI_CALL get_version(uint32_t *version)
{
    *version = VK_API_VERSION_1_2;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *callbacks,
                                                      VkInstance *instance)
{
    (void)info;
    (void)callbacks;
    *instance = (VkInstance)(void *)fakes;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance,
                                                   const VkAllocationCallbacks *callbacks)
{
    (void)instance;
    (void)callbacks;
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate(VkInstance instance, uint32_t *count,
                                                VkPhysicalDevice *devices)
{
    (void)instance;
    REQUIRE(*count >= fake_count);
    *count = fake_count;
    for (uint32_t i = 0; i < fake_count; i++)
        devices[i] = (VkPhysicalDevice)(void *)&fakes[i];
    return VK_SUCCESS;
}

// The last byte of the UUID is the device's number.
static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *p)
{
    int number = number_of(physical);
    p->properties =
        (VkPhysicalDeviceProperties){.apiVersion = fakes[number].version,
                                     .deviceType = fakes[number].type,
                                     .deviceName = "a fake",
                                     .limits = {.maxPerStageDescriptorStorageBuffers = GPU_MIN_BUFFERS,
                                                .maxComputeWorkGroupInvocations = 256,
                                                .maxComputeWorkGroupSize = {256, 256, 64},
                                                .minStorageBufferOffsetAlignment = 16,
                                                .maxPushConstantsSize = 128}};
    VkPhysicalDeviceIDProperties *id = p->pNext;
    if (id->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES) {
        id->deviceUUID[0] = 0x0E;
        id->deviceUUID[15] = (uint8_t)number;
    }
}

static VKAPI_ATTR void VKAPI_CALL get_families(VkPhysicalDevice physical, uint32_t *count,
                                               VkQueueFamilyProperties *families)
{
    *count = 1;
    families[0] = (VkQueueFamilyProperties){.queueFlags = fakes[number_of(physical)].does, .queueCount = 1};
}

static VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice physical,
                                             VkPhysicalDeviceMemoryProperties *memory)
{
    (void)physical;
    *memory = (VkPhysicalDeviceMemoryProperties){0};
}

static VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *features)
{
    (void)physical;
    (void)features;
}

static VKAPI_ATTR VkResult VKAPI_CALL get_extensions(VkPhysicalDevice physical, const char *layer,
                                                     uint32_t *count, VkExtensionProperties *extensions)
{
    (void)physical;
    (void)layer;
    (void)extensions;
    *count = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkDevice *device)
{
    (void)info;
    (void)callbacks;
    (void)device;
    chosen = number_of(physical);
    return VK_ERROR_INITIALIZATION_FAILED;
}

static void call_nobody(void)
{
    abort();
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_fake(VkInstance instance, const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } functions[] = {
        {"vkEnumerateInstanceVersion", (PFN_vkVoidFunction)get_version},
        {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
        {"vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance},
        {"vkEnumeratePhysicalDevices", (PFN_vkVoidFunction)enumerate},
        {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)get_properties},
        {"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)get_families},
        {"vkGetPhysicalDeviceMemoryProperties", (PFN_vkVoidFunction)get_memory},
        {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)get_features},
        {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)get_extensions},
        {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
    };
    (void)instance;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].function;
    return call_nobody;
}

#define GPU(kind)                                                                                            \
    {                                                                                                        \
        VK_PHYSICAL_DEVICE_TYPE_##kind, VK_API_VERSION_1_1, VK_QUEUE_COMPUTE_BIT                             \
    }
#define OLD(kind)                                                                                            \
    {                                                                                                        \
        VK_PHYSICAL_DEVICE_TYPE_##kind, VK_API_VERSION_1_0, VK_QUEUE_COMPUTE_BIT                             \
    }
#define IDLER(kind)                                                                                          \
    {                                                                                                        \
        VK_PHYSICAL_DEVICE_TYPE_##kind, VK_API_VERSION_1_1, VK_QUEUE_TRANSFER_BIT                            \
    }

// Which is taken of those that there are, -1: none.
static void test_best(void)
{
    static const struct {
        struct fake fakes[MAX_FAKES];
        const char *device;
        int any, low; // with any preference but low power, and with that
        const char *message;
    } machines[] = {
        {{GPU(CPU), GPU(INTEGRATED_GPU), GPU(DISCRETE_GPU), GPU(DISCRETE_GPU)}, "", 2, 1, "vkCreateDevice"},
        {{GPU(DISCRETE_GPU), GPU(INTEGRATED_GPU), GPU(INTEGRATED_GPU), GPU(CPU)}, "", 0, 1, "vkCreateDevice"},
        {{GPU(CPU), GPU(OTHER), GPU(VIRTUAL_GPU), GPU(OTHER)}, "", 2, 2, "vkCreateDevice"},
        {{GPU(CPU), GPU(OTHER)}, "", 1, 1, "vkCreateDevice"},
        {{GPU(VIRTUAL_GPU), GPU(DISCRETE_GPU)}, "", 1, 1, "vkCreateDevice"},
        {{GPU(CPU)}, "", 0, 0, "vkCreateDevice"},
        {{OLD(DISCRETE_GPU), IDLER(INTEGRATED_GPU), GPU(CPU)}, "", 2, 2, "vkCreateDevice"},
        {{OLD(DISCRETE_GPU), IDLER(INTEGRATED_GPU)}, "", -1, -1, "none that will do"},
        {{GPU(CPU), GPU(DISCRETE_GPU)}, "0", 0, 0, "vkCreateDevice"},
        {{GPU(CPU), GPU(DISCRETE_GPU)}, "2", -1, -1, "none is \"2\""},
        {{GPU(DISCRETE_GPU), OLD(CPU)}, "1", -1, -1, "older than version 1.1"},
        {{GPU(DISCRETE_GPU), GPU(CPU)}, "0e000000000000000000000000000001", 1, 1, "vkCreateDevice"},
        {{GPU(DISCRETE_GPU), GPU(CPU)}, "0e000000000000000000000000000002", -1, -1, "none is \"0e00"},
    };
    static const WNNPowerPreference preferences[] = {
        WNNPowerPreference_Default, WNNPowerPreference_HighPerformance, WNNPowerPreference_LowPower};
    struct allocator allocator;
    wnn_allocator_init(&allocator, NULL, 0);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        for (size_t k = 0; k < sizeof preferences / sizeof *preferences; k++) {
            struct gpu gpu;
            struct error error = {0};
            const struct backend_options options = {.allocator = &allocator,
                                                    .power_preference = preferences[k],
                                                    .device = wnn_string(view(machines[i].device))};
            memcpy(fakes, machines[i].fakes, sizeof fakes);
            for (fake_count = 0; fake_count < MAX_FAKES && fakes[fake_count].version;)
                fake_count++;
            chosen = -1;
            REQUIRE(!wnn_gpu_open(&gpu, &options, &(struct gpu_origin){.get = find_fake}, &error));
            REQUIRE_EQUAL_INT(error.status, WNNStatus_NotSupportedError);
            REQUIRE_EQUAL_INT(chosen, k == 2 ? machines[i].low : machines[i].any);
            REQUIRE_CONTAINS(error.message, machines[i].message);
        }
    REQUIRE_EQUAL_INT(atomic_load(&allocator.now), 0);
}

// ---------------------------------------------------------------------------------------------------------------
// The machine that there is
// ---------------------------------------------------------------------------------------------------------------

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
    WNNOpSupportLimits support = WNN_OP_SUPPORT_LIMITS_INIT;
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

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNDeviceInfo devices[8] = {WNN_DEVICE_INFO_INIT};
    CASE(test_best());
    size_t count = count_devices(8, devices), usable = 0;
    REQUIRE_EQUAL_INT(count_devices(0, NULL), count);
    for (size_t i = 0; i < count && i < 8; i++) {
        REQUIRE_EQUAL_INT(devices[i].index, i);
        REQUIRE_EQUAL_INT(devices[i].deviceType, WNNDeviceType_GPU);
        REQUIRE(devices[i].name[0] && devices[i].memoryBytes > 0);
        usable += devices[i].isUsable;
    }
    struct answer answer = {0};
    WNNContext context;
    WNNStatus status = create_on("", &answer, &context);
    if (usable == 0 || status == WNNStatus_NotSupportedError) {
        REQUIRE_EQUAL_INT(status, WNNStatus_NotSupportedError);
        return cases_skip(answer.message);
    }
    wnnContextRelease(context);
    for (size_t i = 0; i < count && i < 8; i++)
        if (devices[i].isUsable)
            CASE(test_choice(&devices[i]));
    CASE(test_no_choice());
    CASE(test_limits());
    return cases_end();
}
