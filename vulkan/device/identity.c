// SPDX-License-Identifier: Apache-2.0
#include "vulkan/device/identity.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Vendors
// ---------------------------------------------------------------------------------------------------------------

enum {
    VENDOR_INTEL = 0x8086
};

const char *wnn_gpu_vendor_name(uint32_t vendor)
{
    // Those of the PCI, and behind them Khronos's own (VkVendorId), some of which are newer than Debian's
    // headers.
    static const struct {
        uint32_t id;
        const char *name;
    } vendors[] = {{0x1002, "AMD"},
                   {0x1010, "Imagination Technologies"},
                   {GPU_VENDOR_NVIDIA, "NVIDIA"},
                   {0x106B, "Apple"},
                   {0x13B5, "Arm"},
                   {0x1414, "Microsoft"},
                   {0x144D, "Samsung"},
                   {0x14E4, "Broadcom"},
                   {0x15AD, "VMware"},
                   {0x19E5, "Huawei"},
                   {0x1AE0, "Google"},
                   {0x1AF4, "Red Hat (virtio)"},
                   {0x1EB5, "Samsung"},
                   {0x5143, "Qualcomm"},
                   {VENDOR_INTEL, "Intel"},
                   {0x10001, "Vivante"},
                   {0x10002, "VeriSilicon"},
                   {0x10003, "Kazan"},
                   {0x10004, "Codeplay"},
                   {0x10005, "Mesa"},
                   {0x10006, "PoCL"},
                   {0x10007, "Mobileye"}};
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        if (vendors[i].id == vendor)
            return vendors[i].name;
    return NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Versions
// ---------------------------------------------------------------------------------------------------------------

#ifdef _WIN32
#define IS_WINDOWS true
#else
#define IS_WINDOWS false
#endif

void wnn_gpu_driver_version(uint32_t vendor, uint32_t driver, uint32_t version, struct text *text)
{
    if (driver == VK_DRIVER_ID_NVIDIA_PROPRIETARY || (driver == 0 && vendor == GPU_VENDOR_NVIDIA)) {
        // 10, 8, 8 and 6 bits. NVIDIA writes all but the first with two digits, and leaves zeros at the end
        // out.
        const unsigned parts[] = {version >> 22, version >> 14 & 0xFF, version >> 6 & 0xFF, version & 0x3F};
        unsigned count = 4;
        while (count > 2 && parts[count - 1] == 0)
            count--;
        wnn_text_add(text, "%u", parts[0]);
        for (unsigned i = 1; i < count; i++)
            wnn_text_add(text, ".%02u", parts[i]);
    } else if (driver == VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS ||
               (driver == 0 && vendor == VENDOR_INTEL && IS_WINDOWS)) {
        wnn_text_add(text, "%u.%u", version >> 14, version & 0x3FFF);
    } else if (driver == VK_DRIVER_ID_MOLTENVK) {
        wnn_text_add(text, "%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
    } else {
        // Vulkan's own fields. Drivers use the bits of the variant for larger numbers.
        wnn_text_add(text, "%u.%u.%u", version >> 22, VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Devices
// ---------------------------------------------------------------------------------------------------------------

// Copies text that its owner may not have ended.
static void copy_text(const char *from, size_t size, char *to, size_t capacity)
{
    struct text text = {to, capacity, 0};
    wnn_text_add(&text, "%.*s", (int)strnlen(from, size), from);
}

static WNNDeviceKind kind_of(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return WNNDeviceKind_Integrated;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return WNNDeviceKind_Discrete;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return WNNDeviceKind_Virtual;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return WNNDeviceKind_Processor;
    default:
        return WNNDeviceKind_Other;
    }
}

static void identify_driver(struct gpu *gpu, VkPhysicalDevice physical, WNNDeviceInfo *info)
{
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &driver};
    VkPhysicalDevice before = gpu->physical;
    gpu->physical = physical; // that is asked for its extensions
    bool known = (info->apiVersion >= VK_API_VERSION_1_2 && gpu->version >= VK_API_VERSION_1_2) ||
                 wnn_gpu_has_extension(gpu, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
    gpu->physical = before;
    if (!known)
        return;
    gpu->vk.GetPhysicalDeviceProperties2(physical, &properties);
    info->driverId = (uint32_t)driver.driverID;
    copy_text(driver.driverName, sizeof driver.driverName, info->driverName, sizeof info->driverName);
    copy_text(driver.driverInfo, sizeof driver.driverInfo, info->driverInfo, sizeof info->driverInfo);
}

void wnn_gpu_identify(struct gpu *gpu, VkPhysicalDevice physical, WNNDeviceInfo *info)
{
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &id};
    VkPhysicalDeviceMemoryProperties memory;
    gpu->vk.GetPhysicalDeviceProperties2(physical, &properties);
    gpu->vk.GetPhysicalDeviceMemoryProperties(physical, &memory);
    const VkPhysicalDeviceProperties *p = &properties.properties;
    info->kind = kind_of(p->deviceType);
    memcpy(info->uuid, id.deviceUUID, sizeof info->uuid);
    for (uint32_t i = 0; i < memory.memoryHeapCount && i < VK_MAX_MEMORY_HEAPS; i++)
        if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
            info->memoryBytes += memory.memoryHeaps[i].size;
    info->vendorId = p->vendorID;
    info->deviceId = p->deviceID;
    info->driverVersion = p->driverVersion;
    info->apiVersion = p->apiVersion;
    copy_text(p->deviceName, sizeof p->deviceName, info->name, sizeof info->name);
    identify_driver(gpu, physical, info);

    const char *vendor = wnn_gpu_vendor_name(p->vendorID);
    struct text vendor_text = TEXT(info->vendorName), driver_text = TEXT(info->driverVersionText),
                api_text = TEXT(info->apiVersionText);
    if (vendor)
        wnn_text_add(&vendor_text, "%s", vendor);
    else
        wnn_text_add(&vendor_text, "0x%04X", p->vendorID);
    wnn_gpu_driver_version(p->vendorID, info->driverId, p->driverVersion, &driver_text);
    wnn_text_add(&api_text, "%u.%u.%u", VK_API_VERSION_MAJOR(p->apiVersion),
                 VK_API_VERSION_MINOR(p->apiVersion), VK_API_VERSION_PATCH(p->apiVersion));
}
