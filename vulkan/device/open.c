// SPDX-License-Identifier: Apache-2.0
//
// In the order in which a device is opened.

#include "vulkan/device/open.h"

#include "lib/log.h"
#include "lib/parallel.h"
#include "vulkan/device/identity.h"
#include "vulkan/device/matrix_units.h"
#include "vulkan/device/memory.h"
#include "vulkan/device/messages.h"
#include "vulkan/device/timeline.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// The end of the process
// ---------------------------------------------------------------------------------------------------------------

// The functions of a driver that is gone. Callers may give a function more arguments than it takes, wherever
// there is Vulkan.
static VKAPI_ATTR VkResult VKAPI_CALL answer_lost(void)
{
    return VK_ERROR_DEVICE_LOST;
}

// In the exit handler. What the device works on should have ended when its driver ends.
static void abandon(struct exit_gate *gate, bool empty)
{
    struct gpu *gpu = (struct gpu *)(void *)((char *)gate - offsetof(struct gpu, gate));
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &gpu->timeline,
                                      .pValues = &gpu->submitted};
    if (empty && gpu->timeline && !gpu->is_external && !gpu->lost)
        gpu->vk.WaitSemaphores(gpu->device, &info, GPU_LAST_WAIT);
#define F(name) gpu->vk.name = (PFN_vk##name)(PFN_vkVoidFunction)answer_lost;
    VK_ALL_FUNCTIONS(F)
#undef F
    gpu->lost = true;
    gpu->gone = true;
}

// The first step to open a device; false: there is none any more.
static bool enter_new(struct gpu *gpu, struct error *error)
{
    pthread_mutex_init(&gpu->lock, NULL);
    wnn_gate_open(&gpu->gate, abandon);
    wnn_gate_enter(&gpu->gate);
    return !wnn_gate_closes() || wnn_fail(error, WNNStatus_InvalidStateError, "Vulkan: the process ends");
}

// ---------------------------------------------------------------------------------------------------------------
// The library and the instance
// ---------------------------------------------------------------------------------------------------------------

bool wnn_gpu_load(void **library, struct error *error)
{
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so", "libvulkan.1.dylib"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((*library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL)))
            return true;
    return wnn_fail(error, WNNStatus_NotSupportedError, "there is no Vulkan loader (%s)", names[0]);
}

static bool find_loader(struct gpu *gpu, const struct gpu_origin *origin, struct error *error)
{
    gpu->get = origin->get;
    if (gpu->get)
        return true;
    if (!wnn_gpu_load(&gpu->library, error))
        return false;
    *(void **)&gpu->get = dlsym(gpu->library, "vkGetInstanceProcAddr");
    return gpu->get ||
           wnn_fail(error, WNNStatus_NotSupportedError, "the Vulkan loader has no vkGetInstanceProcAddr");
}

static bool load_instance(struct gpu *gpu, struct error *error)
{
    bool complete = true;
#define F(name) complete &= (gpu->vk.name = (PFN_vk##name)gpu->get(gpu->instance, "vk" #name)) != NULL;
    VK_INSTANCE_FUNCTIONS(F)
#undef F
    if (complete)
        return true;
    // Nothing else could be called to close it.
    if (!gpu->is_external && gpu->vk.DestroyInstance)
        gpu->vk.DestroyInstance(gpu->instance, NULL);
    gpu->instance = VK_NULL_HANDLE;
    return wnn_fail(error, WNNStatus_NotSupportedError, "the Vulkan loader lacks functions of version 1.1");
}

static bool create_instance(struct gpu *gpu, struct error *error)
{
    const PFN_vkGetInstanceProcAddr get = gpu->get;
#define F(name) gpu->vk.name = (PFN_vk##name)get(NULL, "vk" #name);
    VK_GLOBAL_FUNCTIONS(F)
#undef F
    uint32_t version = VK_API_VERSION_1_0;
    bool complete = gpu->vk.CreateInstance && gpu->vk.EnumerateInstanceVersion;
    VkResult result = complete ? gpu->vk.EnumerateInstanceVersion(&version) : VK_SUCCESS;
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkEnumerateInstanceVersion", error);
    if (!complete || version < VK_API_VERSION_1_1)
        return wnn_fail(error, WNNStatus_NotSupportedError, "the Vulkan loader is older than version 1.1");
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pEngineName = "webnn",
                                           .apiVersion = version < VK_API_VERSION_1_2 ? VK_API_VERSION_1_1
                                                                                      : VK_API_VERSION_1_2};
    VkDebugUtilsMessengerCreateInfoEXT messages;
    bool logs = wnn_messages_prepare(gpu, &messages);
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = logs ? &messages : NULL,
                                       .pApplicationInfo = &application,
                                       .enabledExtensionCount = logs,
                                       .ppEnabledExtensionNames =
                                           (const char *const[]){VK_EXT_DEBUG_UTILS_EXTENSION_NAME}};
    gpu->version = application.apiVersion;
    result = gpu->vk.CreateInstance(&info, NULL, &gpu->instance);
    if (result != VK_SUCCESS) {
        gpu->instance = VK_NULL_HANDLE;
        return wnn_gpu_fail(gpu, result, "vkCreateInstance", error);
    }
    // Drivers have been loaded, and what they do when the process ends comes before what was registered until
    // now.
    if (!(wnn_gate_register() || wnn_fail_memory(error)) || !load_instance(gpu, error))
        return false;
    if (logs)
        wnn_messages_open(gpu, &messages);
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Choosing a device
// ---------------------------------------------------------------------------------------------------------------

enum {
    MAX_FAMILIES = 32
};

// A queue family that computes, one without graphics if there is one; UINT32_MAX: none.
static uint32_t find_family(const struct gpu *gpu, VkPhysicalDevice physical)
{
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES, best = UINT32_MAX;
    gpu->vk.GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) || families[i].queueCount == 0)
            continue;
        if (best == UINT32_MAX || !(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT)) {
            best = i;
            if (!(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT))
                break;
        }
    }
    return best;
}

// Why a device will not do, or NULL.
static const char *find_flaw(const struct gpu *gpu, VkPhysicalDevice physical,
                             const VkPhysicalDeviceProperties *p)
{
    if (p->apiVersion < VK_API_VERSION_1_1)
        return "its driver is older than version 1.1";
    if (find_family(gpu, physical) == UINT32_MAX)
        return "it does not compute";
    if (p->limits.maxPerStageDescriptorStorageBuffers < GPU_MIN_BUFFERS)
        return "its shaders see too few buffers";
    if (p->limits.maxComputeWorkGroupInvocations < 256 || p->limits.maxComputeWorkGroupSize[0] < 256)
        return "its work groups are smaller than 256";
    return NULL;
}

// The processor comes last.
static int score_device(const VkPhysicalDeviceProperties *p, WNNPowerPreference power)
{
    bool low = power == WNNPowerPreference_LowPower;
    switch (p->deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return low ? 4 : 5;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return low ? 5 : 4;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return 3;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return 1;
    default:
        return 2;
    }
}

enum {
    MAX_DEVICES = 32
};

static bool list_devices(struct gpu *gpu, VkPhysicalDevice *devices, uint32_t *count, struct error *error)
{
    *count = MAX_DEVICES;
    VkResult result = gpu->vk.EnumeratePhysicalDevices(gpu->instance, count, devices);
    if (result == VK_SUCCESS || result == VK_INCOMPLETE)
        return true;
    *count = 0;
    return wnn_gpu_fail(gpu, result, "vkEnumeratePhysicalDevices", error);
}

static void get_properties(const struct gpu *gpu, VkPhysicalDevice physical, VkPhysicalDeviceProperties *p,
                           uint8_t uuid[VK_UUID_SIZE])
{
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &id};
    gpu->vk.GetPhysicalDeviceProperties2(physical, &properties);
    *p = properties.properties;
    memcpy(uuid, id.deviceUUID, VK_UUID_SIZE);
}

// What the caller asks for: the best, or one by its number or its UUID.
struct wish {
    enum {
        WISH_BEST,
        WISH_INDEX,
        WISH_UUID
    } kind;
    uint32_t index;
    uint8_t uuid[VK_UUID_SIZE];
};

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool parse_wish(struct string text, struct wish *wish, struct error *error)
{
    *wish = (struct wish){WISH_BEST};
    if (text.length == 0)
        return true;
    size_t digits = 0, decimals = 0, at = 0;
    for (; at < text.length; at++) {
        int digit = digit_of(text.data[at]);
        if (digit < 0 && text.data[at] == '-' && at > 0)
            continue;
        if (digit < 0 || digits == 2 * VK_UUID_SIZE)
            break;
        wish->index = wish->index * 10 + (uint32_t)digit;
        wish->uuid[digits / 2] = (uint8_t)(wish->uuid[digits / 2] << 4 | digit);
        decimals += digit < 10;
        digits++;
    }
    wish->kind = digits == 2 * VK_UUID_SIZE ? WISH_UUID : WISH_INDEX;
    if (at == text.length && (wish->kind == WISH_UUID || (decimals == text.length && decimals <= 4)))
        return true;
    char quoted[96];
    struct text out = TEXT(quoted);
    wnn_text_add_quoted(&out, text, 48);
    return wnn_fail(error, WNNStatus_TypeError,
                    "the device \"%s\" is neither a number nor a UUID of 32 hexadecimal digits", quoted);
}

static bool choose_device(struct gpu *gpu, const struct backend_options *options, struct error *error)
{
    struct wish wish;
    VkPhysicalDevice devices[MAX_DEVICES];
    uint32_t count;
    if (!parse_wish(options->device, &wish, error) || !list_devices(gpu, devices, &count, error))
        return false;
    int best = 0;
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties p;
        uint8_t uuid[VK_UUID_SIZE];
        get_properties(gpu, devices[i], &p, uuid);
        const char *flaw = find_flaw(gpu, devices[i], &p);
        if (wish.kind == WISH_INDEX ? wish.index == i
                                    : wish.kind == WISH_UUID && !memcmp(wish.uuid, uuid, sizeof uuid)) {
            gpu->physical = devices[i];
            gpu->info.index = i;
            return !flaw || wnn_fail(error, WNNStatus_NotSupportedError,
                                     "the Vulkan device %.64s will not do: %s", p.deviceName, flaw);
        }
        if (flaw)
            wnn_log(gpu->log, Warning, "device %u, %.64s, is passed over: %s", i, p.deviceName, flaw);
        int score = flaw ? 0 : score_device(&p, options->power_preference);
        if (wish.kind == WISH_BEST && score > best) {
            best = score;
            gpu->physical = devices[i];
            gpu->info.index = i;
        }
    }
    if (wish.kind != WISH_BEST)
        return wnn_fail(error, WNNStatus_NotSupportedError, "Vulkan has %u devices, and none is \"%.*s\"",
                        count, (int)options->device.length, options->device.data);
    return best > 0 || wnn_fail(error, WNNStatus_NotSupportedError,
                                "Vulkan has %u devices, and none that will do (version 1.1, compute, %d "
                                "buffers a shader, work groups of 256)",
                                count, GPU_MIN_BUFFERS);
}

// All but nextInChain.
static void describe_device(struct gpu *gpu, VkPhysicalDevice physical, uint32_t index, WNNDeviceInfo *info)
{
    VkPhysicalDeviceProperties p;
    *info =
        (WNNDeviceInfo){.nextInChain = info->nextInChain, .deviceType = WNNDeviceType_GPU, .index = index};
    wnn_gpu_identify(gpu, physical, info);
    get_properties(gpu, physical, &p, info->uuid);
    info->isUsable = !find_flaw(gpu, physical, &p);
}

size_t wnn_gpu_enumerate(size_t capacity, WNNDeviceInfo *infos)
{
    struct gpu gpu = {0};
    struct error error = {0};
    VkPhysicalDevice devices[MAX_DEVICES];
    struct allocator host;
    uint32_t count = 0;
    wnn_allocator_init(&host, NULL, 0);
    gpu.allocator = &host;
    if (enter_new(&gpu, &error) && find_loader(&gpu, &(struct gpu_origin){0}, &error) &&
        create_instance(&gpu, &error) && list_devices(&gpu, devices, &count, &error))
        for (uint32_t i = 0; i < count && i < capacity; i++)
            describe_device(&gpu, devices[i], i, &infos[i]);
    wnn_gpu_close(&gpu);
    return count;
}

// ---------------------------------------------------------------------------------------------------------------
// What the device can do
// ---------------------------------------------------------------------------------------------------------------

static void read_timeline(struct gpu *gpu)
{
    struct capabilities *can = &gpu->can;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &timeline};
    can->timeline_is_new = gpu->version >= VK_API_VERSION_1_2 && can->api_version >= VK_API_VERSION_1_2;
    if (can->timeline_is_new || wnn_gpu_has_extension(gpu, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME))
        wnn_gpu_get_features(gpu, &features);
    can->timeline = timeline.timelineSemaphore;
}

// Only where all subgroups have the same size, so that invocations can be told to which they belong.
static void read_shuffles(struct gpu *gpu)
{
    VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
    VkPhysicalDeviceSubgroupProperties subgroups = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &sizes};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &subgroups};
    if (!wnn_gpu_has_extension(gpu, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
        return;
    gpu->vk.GetPhysicalDeviceProperties2(gpu->physical, &properties);
    VkSubgroupFeatureFlags needed = VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT;
    if (subgroups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT &&
        (subgroups.supportedOperations & needed) == needed &&
        sizes.minSubgroupSize == sizes.maxSubgroupSize && sizes.maxSubgroupSize <= 64)
        gpu->can.shuffles = subgroups.subgroupSize;
}

// Where one is as fast as any other multiplication, or to be tested.
static void read_dots(struct gpu *gpu, bool slow_ones)
{
    VkPhysicalDeviceShaderIntegerDotProductProperties dots = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &dots};
    VkPhysicalDeviceShaderIntegerDotProductFeatures integers = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &integers};
    if (!wnn_gpu_has_extension(gpu, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME))
        return;
    gpu->vk.GetPhysicalDeviceProperties2(gpu->physical, &properties);
    wnn_gpu_get_features(gpu, &features);
    bool fast = dots.integerDotProduct4x8BitPackedUnsignedAccelerated &&
                dots.integerDotProduct4x8BitPackedMixedSignednessAccelerated;
    gpu->can.dots = integers.shaderIntegerDotProduct && (fast || slow_ones);
}

static void read_clock(struct gpu *gpu, const VkPhysicalDeviceLimits *limits)
{
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;
    gpu->vk.GetPhysicalDeviceQueueFamilyProperties(gpu->physical, &count, families);
    gpu->can.clock_bits = gpu->family < count ? families[gpu->family].timestampValidBits : 0;
    gpu->can.clock_period = limits->timestampPeriod;
}

static void read_capabilities(struct gpu *gpu, const struct gpu_origin *origin)
{
    bool minimal = origin->minimal;
    VkPhysicalDeviceFloatControlsProperties floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
    VkPhysicalDeviceMaintenance3Properties maintenance = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &maintenance};
    gpu->vk.GetPhysicalDeviceProperties2(gpu->physical, &properties);
    const VkPhysicalDeviceProperties *p = &properties.properties;
    struct capabilities *can = &gpu->can;
    if (p->apiVersion >= VK_API_VERSION_1_2 && gpu->version >= VK_API_VERSION_1_2) {
        maintenance.pNext = &floats;
        gpu->vk.GetPhysicalDeviceProperties2(gpu->physical, &properties);
    }
    memcpy(can->name, p->deviceName, sizeof can->name);
    can->name[sizeof can->name - 1] = 0;
    can->type = p->deviceType;
    can->vendor = p->vendorID;
    can->device = p->deviceID;
    memcpy(can->pipeline_cache, p->pipelineCacheUUID, sizeof can->pipeline_cache);
    can->driver_version = p->driverVersion;
    can->api_version = p->apiVersion;
    can->storage_range = p->limits.maxStorageBufferRange;
    can->allocation = maintenance.maxMemoryAllocationSize;
    can->storage_alignment =
        minimal ? GPU_MAX_ALIGNMENT : (uint32_t)p->limits.minStorageBufferOffsetAlignment;
    can->non_coherent_atom_size = (uint32_t)p->limits.nonCoherentAtomSize;
    memcpy(can->groups, p->limits.maxComputeWorkGroupCount, sizeof can->groups);
    can->shared_bytes = minimal ? GPU_MIN_SHARED : p->limits.maxComputeSharedMemorySize;
    can->invocations = minimal ? GPU_MIN_INVOCATIONS : p->limits.maxComputeWorkGroupInvocations;
    uint32_t buffers = p->limits.maxPerStageDescriptorStorageBuffers;
    can->buffers = minimal ? GPU_MIN_BUFFERS : buffers < GPU_BUFFERS ? buffers : GPU_BUFFERS;
    uint32_t constants = p->limits.maxPushConstantsSize / (uint32_t)sizeof(uint32_t) - GPU_BUFFERS;
    can->max_push_constants = minimal ? GPU_MIN_PUSHED : constants < GPU_PUSHED ? constants : GPU_PUSHED;
    can->minimal = minimal;
    wnn_gpu_read_memory(gpu, origin->apart);
    if (minimal)
        return;
    read_timeline(gpu);
    can->shares_memory = wnn_gpu_has_extension(gpu, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    read_clock(gpu, &p->limits);
    read_shuffles(gpu);
    read_dots(gpu, origin->matrices);
    can->keeps_special = floats.shaderSignedZeroInfNanPreserveFloat32;
    can->keeps_denormals = floats.shaderDenormPreserveFloat32;
}

// ---------------------------------------------------------------------------------------------------------------
// Opening
// ---------------------------------------------------------------------------------------------------------------

static bool load_device(struct gpu *gpu, struct error *error)
{
    bool complete = true, extended = gpu->can.timeline && !gpu->can.timeline_is_new;
#define F(name)                                                                                              \
    complete &= (gpu->vk.name = (PFN_vk##name)gpu->vk.GetDeviceProcAddr(gpu->device, "vk" #name)) != NULL;
    VK_DEVICE_FUNCTIONS(F)
#undef F
#define F(name)                                                                                              \
    gpu->vk.name =                                                                                           \
        (PFN_vk##name)gpu->vk.GetDeviceProcAddr(gpu->device, extended ? "vk" #name "KHR" : "vk" #name);      \
    complete &= !gpu->can.timeline || gpu->vk.name != NULL;
    VK_TIMELINE_FUNCTIONS(F)
#undef F
#define F(name)                                                                                              \
    if (gpu->can.shares_memory)                                                                              \
        complete &= (gpu->vk.name = (PFN_vk##name)gpu->vk.GetDeviceProcAddr(gpu->device, "vk" #name)) != NULL;
    VK_SHARING_FUNCTIONS(F)
#undef F
    if (complete)
        return true;
    if (!gpu->is_external && gpu->vk.DestroyDevice)
        gpu->vk.DestroyDevice(gpu->device, NULL);
    gpu->device = VK_NULL_HANDLE;
    return wnn_fail(error, WNNStatus_NotSupportedError,
                    "the Vulkan driver lacks functions of version 1.1, or of its extensions");
}

static bool create_device(struct gpu *gpu, struct error *error)
{
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = gpu->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    struct cooperative_features cooperative;
    wnn_cooperative_query(gpu, &cooperative);
    const VkPhysicalDeviceShaderIntegerDotProductFeatures dots = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
        .pNext = (void *)(uintptr_t)cooperative.chain,
        .shaderIntegerDotProduct = VK_TRUE};
    const void *chain = gpu->can.dots ? &dots : cooperative.chain;
    const VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = (void *)(uintptr_t)chain,
        .timelineSemaphore = VK_TRUE};
    const char *extensions[4 + COOPERATIVE_EXTENSIONS];
    uint32_t extension_count = cooperative.extension_count;
    memcpy(extensions, cooperative.extensions, extension_count * sizeof extensions[0]);
    if (gpu->can.dots)
        extensions[extension_count++] = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
    if (gpu->can.timeline && !gpu->can.timeline_is_new)
        extensions[extension_count++] = VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME;
    if (gpu->can.shares_memory)
        extensions[extension_count++] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    // Not used here: for semaphores that callers make (wnnContextGetVulkanHandles).
    if (!gpu->can.minimal && wnn_gpu_has_extension(gpu, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME))
        extensions[extension_count++] = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = gpu->can.timeline ? &timeline : chain,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = extension_count,
                                     .ppEnabledExtensionNames = extensions};
    VkResult result = gpu->vk.CreateDevice(gpu->physical, &info, NULL, &gpu->device);
    if (result != VK_SUCCESS) {
        gpu->device = VK_NULL_HANDLE;
        return wnn_gpu_fail(gpu, result, "vkCreateDevice", error);
    }
    if (!load_device(gpu, error))
        return false;
    gpu->vk.GetDeviceQueue(gpu->device, gpu->family, 0, &gpu->queue);
    return true;
}

static bool open_own(struct gpu *gpu, const struct backend_options *options, const struct gpu_origin *origin,
                     struct error *error)
{
    if (!create_instance(gpu, error) || !choose_device(gpu, options, error))
        return false;
    gpu->family = find_family(gpu, gpu->physical);
    read_capabilities(gpu, origin);
    return create_device(gpu, error);
}

static bool check_external(const WNNVulkanDevice *external, struct error *error)
{
    if (!external->instance || !external->physicalDevice || !external->device || !external->queue)
        return wnn_fail(error, WNNStatus_TypeError, "the Vulkan device to use lacks a %s",
                        !external->instance         ? "VkInstance"
                        : !external->physicalDevice ? "VkPhysicalDevice"
                        : !external->device         ? "VkDevice"
                                                    : "VkQueue");
    if (external->apiVersion < VK_API_VERSION_1_1)
        return wnn_fail(
            error, WNNStatus_TypeError, "the Vulkan device to use has version %u.%u; expected 1.1 or newer",
            VK_API_VERSION_MAJOR(external->apiVersion), VK_API_VERSION_MINOR(external->apiVersion));
    if (!external->lockQueue != !external->unlockQueue)
        return wnn_fail(error, WNNStatus_TypeError,
                        "the Vulkan device to use has only one of the two lock functions");
    return external->enabledExtensionCount == 0 || external->enabledExtensions ||
           wnn_fail(error, WNNStatus_TypeError, "the Vulkan device to use has %zu extensions at no address",
                    external->enabledExtensionCount);
}

static bool open_external(struct gpu *gpu, const struct gpu_origin *origin, struct error *error)
{
    const WNNVulkanDevice *external = &gpu->external;
    gpu->version = external->apiVersion;
    gpu->instance = external->instance;
    gpu->physical = external->physicalDevice;
    if (!load_instance(gpu, error))
        return false;
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;
    gpu->vk.GetPhysicalDeviceQueueFamilyProperties(gpu->physical, &count, families);
    gpu->family = external->queueFamilyIndex;
    if (gpu->family >= count || !(families[gpu->family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        return wnn_fail(error, WNNStatus_TypeError, "the queue family %u of the Vulkan device to use %s",
                        gpu->family, gpu->family < count ? "does not compute" : "does not exist");
    VkPhysicalDeviceProperties p;
    uint8_t uuid[VK_UUID_SIZE];
    get_properties(gpu, gpu->physical, &p, uuid);
    const char *flaw = find_flaw(gpu, gpu->physical, &p);
    if (flaw)
        return wnn_fail(error, WNNStatus_NotSupportedError, "the Vulkan device %.64s will not do: %s",
                        p.deviceName, flaw);
    struct cooperative_features enabled;
    read_capabilities(gpu, origin);
    wnn_cooperative_query(gpu, &enabled);
    gpu->device = external->device;
    gpu->queue = external->queue;
    return load_device(gpu, error);
}

bool wnn_gpu_open(struct gpu *gpu, const struct backend_options *options, const struct gpu_origin *origin,
                  struct error *error)
{
    struct gpu_origin from = *origin;
    *gpu = (struct gpu){.allocator = options->allocator,
                        .parallel = options->parallel ? options->parallel : &wnn_serial,
                        .log = options->log,
                        .strict = options->strict_numerics,
                        .is_external = options->external != NULL,
                        .info.index = WNN_DEVICE_INDEX_UNKNOWN,
                        .budget = origin->budget > 0 ? origin->budget
                                  : origin->minimal  ? 0
                                                     : GPU_BUDGET};
    if (gpu->is_external) {
        gpu->external = *options->external;
        if (gpu->external.getInstanceProcAddr)
            from.get = (PFN_vkGetInstanceProcAddr)gpu->external.getInstanceProcAddr;
        if (!check_external(&gpu->external, error))
            return false;
    }
    bool opened =
        enter_new(gpu, error) && find_loader(gpu, &from, error) &&
        (gpu->is_external ? open_external(gpu, origin, error) : open_own(gpu, options, origin, error)) &&
        wnn_timeline_open(gpu, error);
    if (opened)
        wnn_gate_register(); // again when all that the driver loads is there
    if (!opened) {
        wnn_gpu_close(gpu);
        return false;
    }
    describe_device(gpu, gpu->physical, gpu->info.index, &gpu->info);
    if (origin->matrices)
        wnn_cooperative_emulate(gpu);
    gpu->can.hides_places = origin->hides_places;
    return true;
}

void wnn_gpu_close(struct gpu *gpu)
{
    wnn_release(gpu->allocator, gpu->extensions);
    if (gpu->device) {
        // The caller's device may have other work; ours has ended.
        if (!gpu->is_external)
            gpu->vk.DeviceWaitIdle(gpu->device);
        for (uint32_t i = 0; i <= GPU_BUFFERS; i++) {
            gpu->vk.DestroyPipelineLayout(gpu->device, gpu->layouts[i], NULL);
            gpu->vk.DestroyDescriptorSetLayout(gpu->device, gpu->set_layouts[i], NULL);
        }
        wnn_timeline_close(gpu);
        if (!gpu->is_external)
            gpu->vk.DestroyDevice(gpu->device, NULL);
    }
    wnn_messages_close(gpu);
    if (gpu->instance && !gpu->is_external)
        gpu->vk.DestroyInstance(gpu->instance, NULL);
    if (gpu->library && !gpu->gone)
        dlclose(gpu->library);
    wnn_gate_leave(&gpu->gate);
    wnn_gate_close(&gpu->gate);
    pthread_mutex_destroy(&gpu->lock);
    *gpu = (struct gpu){0};
}
