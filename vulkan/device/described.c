// SPDX-License-Identifier: Apache-2.0
#include "vulkan/device/described.h"

#include "compiler/stored.h"
#include "lib/parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Text
// ---------------------------------------------------------------------------------------------------------------

// The numbers behind the names, in order. What is tested when the device is used is not among them: a test
// comes out as it did before.
#define NUMBERS(F)                                                                                           \
    F(type)                                                                                                  \
    F(storage_range)                                                                                         \
    F(allocation)                                                                                            \
    F(storage_alignment)                                                                                     \
    F(groups[0])                                                                                             \
    F(groups[1])                                                                                             \
    F(groups[2])                                                                                             \
    F(shared_bytes)                                                                                          \
    F(invocations)                                                                                           \
    F(shuffles)                                                                                              \
    F(buffers)                                                                                               \
    F(max_push_constants)                                                                                    \
    F(unified)                                                                                               \
    F(host_visible_vram)                                                                                     \
    F(keeps_special)                                                                                         \
    F(keeps_denormals)                                                                                       \
    F(minimal)                                                                                               \
    F(dots)                                                                                                  \
    F(matrix_units)                                                                                          \
    F(subgroup)                                                                                              \
    F(half_matrices.m)                                                                                       \
    F(half_matrices.n)                                                                                       \
    F(half_matrices.k)                                                                                       \
    F(bfloat16_matrices.m)                                                                                   \
    F(bfloat16_matrices.n)                                                                                   \
    F(bfloat16_matrices.k)                                                                                   \
    F(always_matrices)                                                                                       \
    F(matrix_tile)

enum {
    MAX_NAME = 96 // of the device
};

void wnn_gpu_write_target(const struct gpu *gpu, const char *compiler, struct text *text)
{
    const struct capabilities *can = &gpu->can;
    wnn_text_add(text, "%.*s (%04x:%04x), driver %s (%08x), Vulkan %s (%08x), caches ", MAX_NAME, can->name,
                 can->vendor, can->device, gpu->info.driverVersionText, can->driver_version,
                 gpu->info.apiVersionText, can->api_version);
    for (unsigned i = 0; i < VK_UUID_SIZE; i++)
        wnn_text_add(text, "%02x", can->pipeline_cache[i]);
    wnn_text_add(text, ", %s, limits", compiler);
#define F(number) wnn_text_add(text, " %llx", (unsigned long long)can->number);
    NUMBERS(F)
#undef F
    wnn_text_add(text, ", %zu bits", 8 * sizeof(void *));
}

// What comes before `mark` and the part in parentheses in front of that, which `inner` receives; the text
// goes on behind the mark. False: there is no such part.
static bool take_part(const char **text, const char *mark, char *outer, size_t capacity, const char **inner)
{
    const char *end = strstr(*text, mark), *open = end;
    while (open && open > *text && strncmp(open, " (", 2) != 0)
        open--;
    if (!end || open == *text || (size_t)(open - *text) >= capacity)
        return false;
    memcpy(outer, *text, (size_t)(open - *text));
    outer[open - *text] = 0;
    *inner = open + 2;
    *text = end + strlen(mark);
    return true;
}

static bool take_bytes(const char **text, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++, *text += 2) {
        unsigned byte;
        if (sscanf(*text, "%2x", &byte) != 1 || strnlen(*text, 2) < 2)
            return false;
        bytes[i] = (uint8_t)byte;
    }
    return true;
}

static bool take_number(const char **text, uint64_t *number)
{
    char *end;
    *number = strtoull(*text, &end, 16);
    bool taken = end != *text;
    *text = end;
    return taken;
}

static bool read_target(struct gpu *gpu, const char *text)
{
    struct capabilities *can = &gpu->can;
    const char *numbers = strstr(text, ", limits "), *inner;
    if (!numbers ||
        !take_part(&text, "), driver ", can->name,
                   sizeof can->name < MAX_NAME ? sizeof can->name : MAX_NAME + 1, &inner) ||
        sscanf(inner, "%x:%x", &can->vendor, &can->device) != 2 ||
        !take_part(&text, "), Vulkan ", gpu->info.driverVersionText, sizeof gpu->info.driverVersionText,
                   &inner) ||
        sscanf(inner, "%x", &can->driver_version) != 1 ||
        !take_part(&text, "), caches ", gpu->info.apiVersionText, sizeof gpu->info.apiVersionText, &inner) ||
        sscanf(inner, "%x", &can->api_version) != 1 || !take_bytes(&text, can->pipeline_cache, VK_UUID_SIZE))
        return false;
    numbers += strlen(", limits ");
    uint64_t number;
    bool complete = true;
#define F(member)                                                                                            \
    complete = complete && take_number(&numbers, &number);                                                   \
    if (complete)                                                                                            \
        can->member = number;
    NUMBERS(F)
#undef F
    return complete;
}

static bool is_size(const struct matrix_size *size)
{
    return (size->m == 0 && size->n == 0 && size->k == 0) ||
           ((size->m == 8 || size->m == 16) && (size->n == 8 || size->n == 16) &&
            (size->k == 8 || size->k == 16));
}

static bool is_power(uint32_t x, uint32_t least, uint32_t most)
{
    return x >= least && x <= most && (x & (x - 1)) == 0;
}

// Whether it is within what Vulkan asks of devices, and we of them, so that nothing divides by zero or
// overflows.
static bool is_possible(const struct capabilities *can)
{
    return can->type <= VK_PHYSICAL_DEVICE_TYPE_CPU && can->storage_range >= 1 << 27 &&
           can->allocation >= 1 << 30 && is_power(can->storage_alignment, 1, GPU_MAX_ALIGNMENT) &&
           can->groups[0] >= 65535 && can->groups[1] >= 65535 && can->groups[2] >= 65535 &&
           can->shared_bytes >= GPU_MIN_SHARED && can->invocations >= GPU_MIN_INVOCATIONS &&
           (can->shuffles == 0 || is_power(can->shuffles, 1, 64)) && can->buffers >= GPU_MIN_BUFFERS &&
           can->buffers <= GPU_BUFFERS && can->max_push_constants >= GPU_MIN_PUSHED &&
           can->max_push_constants <= GPU_PUSHED && can->matrix_units <= MATRIX_UNITS_EMULATED &&
           is_size(&can->half_matrices) && is_size(&can->bfloat16_matrices) &&
           (can->matrix_units == MATRIX_UNITS_NONE
                ? can->half_matrices.m == 0 && can->bfloat16_matrices.m == 0
                : is_power(can->subgroup, 1, 128)) &&
           can->matrix_tile <= 16;
}

// ---------------------------------------------------------------------------------------------------------------
// A driver that does nothing
// ---------------------------------------------------------------------------------------------------------------

// Callers may give a function more arguments than it takes, wherever there is Vulkan.
static VKAPI_ATTR VkResult VKAPI_CALL do_nothing(void)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL refuse(void)
{
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

#define HANDLE(type) ((type)(uintptr_t)1)

static VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks,
                                                    VkShaderModule *module)
{
    (void)device;
    (void)info;
    (void)callbacks;
    *module = HANDLE(VkShaderModule);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                       const VkComputePipelineCreateInfo *infos,
                                                       const VkAllocationCallbacks *callbacks,
                                                       VkPipeline *pipelines)
{
    (void)device;
    (void)cache;
    (void)infos;
    (void)callbacks;
    for (uint32_t i = 0; i < count; i++)
        pipelines[i] = HANDLE(VkPipeline);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_set_layout(VkDevice device,
                                                        const VkDescriptorSetLayoutCreateInfo *info,
                                                        const VkAllocationCallbacks *callbacks,
                                                        VkDescriptorSetLayout *layout)
{
    (void)device;
    (void)info;
    (void)callbacks;
    *layout = HANDLE(VkDescriptorSetLayout);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_layout(VkDevice device, const VkPipelineLayoutCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks,
                                                    VkPipelineLayout *layout)
{
    (void)device;
    (void)info;
    (void)callbacks;
    *layout = HANDLE(VkPipelineLayout);
    return VK_SUCCESS;
}

bool wnn_gpu_open_described(struct gpu *gpu, const struct backend_options *options, struct string target,
                            struct error *error)
{
    char text[STORED_TARGET_TEXT];
    *gpu = (struct gpu){.allocator = options->allocator,
                        .parallel = options->parallel ? options->parallel : &wnn_serial,
                        .log = options->log,
                        .strict = options->strict_numerics,
                        .is_described = true,
                        .info = {.deviceType = WNNDeviceType_GPU, .index = WNN_DEVICE_INDEX_UNKNOWN},
                        .budget = GPU_BUDGET};
    bool readable = target.length < sizeof text && !memchr(target.data, 0, target.length);
    if (readable) {
        memcpy(text, target.data, target.length);
        text[target.length] = 0;
        readable = read_target(gpu, text) && is_possible(&gpu->can);
    }
    if (!readable)
        return wnn_fail(error, WNNStatus_NotSupportedError,
                        "the target is no Vulkan device as this library describes them");
    struct text name = TEXT(gpu->info.name);
    wnn_text_add(&name, "%s", gpu->can.name);
    gpu->info.vendorId = gpu->can.vendor;
    gpu->info.deviceId = gpu->can.device;
    gpu->info.driverVersion = gpu->can.driver_version;
    gpu->info.apiVersion = gpu->can.api_version;
#define F(name) gpu->vk.name = (PFN_vk##name)(PFN_vkVoidFunction)do_nothing;
    VK_ALL_FUNCTIONS(F)
#undef F
    gpu->vk.CreatePipelineCache = (PFN_vkCreatePipelineCache)(PFN_vkVoidFunction)refuse;
    gpu->vk.CreateShaderModule = create_module;
    gpu->vk.CreateComputePipelines = create_pipelines;
    gpu->vk.CreateDescriptorSetLayout = create_set_layout;
    gpu->vk.CreatePipelineLayout = create_layout;
    pthread_mutex_init(&gpu->lock, NULL);
    wnn_gate_open(&gpu->gate, NULL);
    wnn_gate_enter(&gpu->gate);
    return true;
}
