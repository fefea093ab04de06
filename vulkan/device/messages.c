// SPDX-License-Identifier: Apache-2.0
#include "vulkan/device/messages.h"

#include "lib/log.h"

static VKAPI_ATTR VkBool32 VKAPI_CALL pass_on(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                              VkDebugUtilsMessageTypeFlagsEXT types,
                                              const VkDebugUtilsMessengerCallbackDataEXT *data, void *log)
{
    const char *message = data && data->pMessage ? data->pMessage : "";
    const char *id = data && data->pMessageIdName ? data->pMessageIdName : "";
    (void)types;
    WNNLogLevel level = severity & (VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT |
                                    VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)
                            ? WNNLogLevel_Warning
                            : WNNLogLevel_Verbose;
    if (wnn_logs(log, level))
        wnn_log_message(log, level, "Vulkan: %s%s%s", id, id[0] ? ": " : "", message);
    return VK_FALSE;
}

static VkResult list_of_instance(const struct gpu *gpu, uint32_t *count, VkExtensionProperties *all)
{
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)gpu->get(NULL, "vkEnumerateInstanceExtensionProperties");
    return enumerate ? enumerate(NULL, count, all) : VK_ERROR_EXTENSION_NOT_PRESENT;
}

bool wnn_messages_prepare(struct gpu *gpu, VkDebugUtilsMessengerCreateInfoEXT *info)
{
    VkDebugUtilsMessageSeverityFlagsEXT severities =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    if (!wnn_logs(gpu->log, WNNLogLevel_Warning) ||
        !wnn_gpu_find_extension(gpu, list_of_instance, VK_EXT_DEBUG_UTILS_EXTENSION_NAME))
        return false;
    if (wnn_logs(gpu->log, WNNLogLevel_Verbose))
        severities |=
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_VERBOSE_BIT_EXT;
    *info =
        (VkDebugUtilsMessengerCreateInfoEXT){.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
                                             .messageSeverity = severities,
                                             .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                                                            VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                                                            VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
                                             .pfnUserCallback = pass_on,
                                             .pUserData = (void *)(uintptr_t)gpu->log};
    return true;
}

void wnn_messages_open(struct gpu *gpu, const VkDebugUtilsMessengerCreateInfoEXT *info)
{
    PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)gpu->get(gpu->instance, "vkCreateDebugUtilsMessengerEXT");
    if (!create || create(gpu->instance, info, NULL, &gpu->messenger) != VK_SUCCESS)
        gpu->messenger = VK_NULL_HANDLE;
}

void wnn_messages_close(struct gpu *gpu)
{
    PFN_vkDestroyDebugUtilsMessengerEXT destroy =
        gpu->messenger
            ? (PFN_vkDestroyDebugUtilsMessengerEXT)gpu->get(gpu->instance, "vkDestroyDebugUtilsMessengerEXT")
            : NULL;
    if (destroy)
        destroy(gpu->instance, gpu->messenger, NULL);
}
