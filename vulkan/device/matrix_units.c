// SPDX-License-Identifier: Apache-2.0
#include "vulkan/device/matrix_units.h"

#include <string.h>

// VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16, for headers that are older.
enum {
    TYPE_MATRIX_PROPERTIES = 1000506001,
    COMPONENT_FLOAT16 = 0,
    COMPONENT_FLOAT32 = 1,
    COMPONENT_BFLOAT16 = 1000141000,
    SCOPE_SUBGROUP = 3,
    MAX_SIZES = 128
};

// VkCooperativeMatrixPropertiesKHR; NV's is the same but for `saturates`.
struct khr_properties {
    VkStructureType type;
    void *next;
    uint32_t m, n, k;
    int32_t a, b, c, result;
    VkBool32 saturates;
    int32_t scope;
};
typedef VkResult(VKAPI_PTR *PFN_matrix_properties)(VkPhysicalDevice device, uint32_t *count,
                                                   struct khr_properties *properties);

// Takes a size if it is one of `component` with sums of float32, and the best so far: of 16 along all
// dimensions, or else the first.
static void consider(struct matrix_size *best, const struct khr_properties *p, int32_t component)
{
    bool square = p->m == 16 && p->n == 16 && p->k == 16;
    if (p->a == component && p->b == component && p->c == COMPONENT_FLOAT32 &&
        p->result == COMPONENT_FLOAT32 && p->scope == SCOPE_SUBGROUP && p->m % 8 == 0 && p->n % 8 == 0 &&
        p->k % 8 == 0 && p->m <= 16 && p->n <= 16 && p->k <= 16 && (square || best->m == 0))
        *best = (struct matrix_size){p->m, p->n, p->k};
}

static void read_khr_sizes(struct gpu *gpu)
{
    struct khr_properties properties[MAX_SIZES] = {{0}};
    PFN_matrix_properties get =
        (PFN_matrix_properties)gpu->get(gpu->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    uint32_t count = MAX_SIZES;
    for (uint32_t i = 0; i < count; i++)
        properties[i].type = (VkStructureType)TYPE_MATRIX_PROPERTIES;
    VkResult result = get ? get(gpu->physical, &count, properties) : VK_ERROR_EXTENSION_NOT_PRESENT;
    for (uint32_t i = 0; (result == VK_SUCCESS || result == VK_INCOMPLETE) && i < count; i++) {
        consider(&gpu->can.half_matrices, &properties[i], COMPONENT_FLOAT16);
        consider(&gpu->can.bfloat16_matrices, &properties[i], COMPONENT_BFLOAT16);
    }
}

static void read_nv_sizes(struct gpu *gpu)
{
    VkCooperativeMatrixPropertiesNV properties[MAX_SIZES] = {{0}};
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV get =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV)gpu->get(
            gpu->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV");
    uint32_t count = MAX_SIZES;
    for (uint32_t i = 0; i < count; i++)
        properties[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV;
    VkResult result = get ? get(gpu->physical, &count, properties) : VK_ERROR_EXTENSION_NOT_PRESENT;
    for (uint32_t i = 0; (result == VK_SUCCESS || result == VK_INCOMPLETE) && i < count; i++) {
        const VkCooperativeMatrixPropertiesNV *p = &properties[i];
        const struct khr_properties same = {.m = p->MSize,
                                            .n = p->NSize,
                                            .k = p->KSize,
                                            .a = (int32_t)p->AType,
                                            .b = (int32_t)p->BType,
                                            .c = (int32_t)p->CType,
                                            .result = (int32_t)p->DType,
                                            .scope = (int32_t)p->scope};
        consider(&gpu->can.half_matrices, &same, COMPONENT_FLOAT16);
    }
}

// Puts a structure of features in front of the chain.
#define CHAIN(features, structure, member)                                                                   \
    ((structure).member = (void *)(uintptr_t)(features)->chain, (features)->chain = &(structure))

void wnn_cooperative_query(struct gpu *gpu, struct cooperative_features *features)
{
    struct capabilities *can = &gpu->can;
    *features = (struct cooperative_features){
        .matrices.type = (VkStructureType)GPU_TYPE_MATRIX_FEATURES,
        .bfloat16.type = (VkStructureType)GPU_TYPE_BFLOAT16_FEATURES,
        .half.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
        .memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
    if (can->minimal || can->api_version < VK_API_VERSION_1_2 || gpu->version < VK_API_VERSION_1_2)
        return;
    bool khr = wnn_gpu_has_extension(gpu, "VK_KHR_cooperative_matrix"),
         nv = !khr && wnn_gpu_has_extension(gpu, "VK_NV_cooperative_matrix"),
         bfloat16 = khr && wnn_gpu_has_extension(gpu, "VK_KHR_shader_bfloat16");
    if (!khr && !nv)
        return;
    if (nv)
        features->matrices.type = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV;

    VkPhysicalDeviceSubgroupProperties subgroup = {.sType =
                                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &subgroup};
    gpu->vk.GetPhysicalDeviceProperties2(gpu->physical, &properties);
    CHAIN(features, features->half, pNext);
    CHAIN(features, features->memory, pNext);
    CHAIN(features, features->matrices, next);
    if (bfloat16)
        CHAIN(features, features->bfloat16, next);
    VkPhysicalDeviceFeatures2 asked = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                       .pNext = (void *)(uintptr_t)features->chain};
    wnn_gpu_get_features(gpu, &asked);
    features->half.shaderInt8 = features->memory.vulkanMemoryModelDeviceScope =
        features->memory.vulkanMemoryModelAvailabilityVisibilityChains = VK_FALSE;
    features->matrices.robust = features->bfloat16.dot_product = VK_FALSE;

    if (!features->matrices.cooperative || !features->half.shaderFloat16 ||
        !features->memory.vulkanMemoryModel || !(subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT)) {
        features->chain = NULL;
        return;
    }
    if (khr)
        read_khr_sizes(gpu);
    else
        read_nv_sizes(gpu);
    if (!features->bfloat16.bfloat16 || !features->bfloat16.cooperative)
        can->bfloat16_matrices = (struct matrix_size){0};
    can->matrix_units = khr ? MATRIX_UNITS_KHR : MATRIX_UNITS_NV;
    can->subgroup = subgroup.subgroupSize;
    features->extensions[features->extension_count++] =
        khr ? "VK_KHR_cooperative_matrix" : "VK_NV_cooperative_matrix";
    if (bfloat16)
        features->extensions[features->extension_count++] = "VK_KHR_shader_bfloat16";
}

void wnn_cooperative_emulate(struct gpu *gpu)
{
    struct capabilities *can = &gpu->can;
    can->always_matrices = true;
    if (can->matrix_units == MATRIX_UNITS_NONE) {
        can->matrix_units = MATRIX_UNITS_EMULATED;
        can->subgroup = 32;
        can->half_matrices = can->bfloat16_matrices = (struct matrix_size){16, 16, 16};
    }
}
