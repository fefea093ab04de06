// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/matrix_units.h"

#include "vulkan/program/spirv.h"

#define EXTENSIONS                                                                                           \
    "#pragma use_vulkan_memory_model\n"                                                                      \
    "#extension GL_KHR_memory_scope_semantics : require\n"                                                   \
    "#extension GL_KHR_shader_subgroup_basic : require\n"
static const char khr_extensions[] =
    EXTENSIONS "#extension GL_EXT_spirv_intrinsics : require\n"
               "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
               "#extension GL_KHR_shader_subgroup_shuffle : require\n"
               "#extension GL_KHR_shader_subgroup_vote : require\n";
static const char nv_extensions[] =
    EXTENSIONS "#extension GL_NV_cooperative_matrix : require\n"
               "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n";

void wnn_shader_matrices(struct shader *shader, bool half)
{
    const struct capabilities *can = &shader->lowering->gpu->can;
    const struct matrix_size *size = half ? &can->half_matrices : &can->bfloat16_matrices;
    shader->extensions = can->matrix_units == MATRIX_UNITS_KHR  ? khr_extensions
                         : can->matrix_units == MATRIX_UNITS_NV ? nv_extensions
                                                                : NULL;
    wnn_shader_define(shader, "MATRICES", "%d", can->matrix_units);
    wnn_shader_define(shader, "PART_M", "%uu", size->m);
    wnn_shader_define(shader, "PART_N", "%uu", size->n);
    wnn_shader_define(shader, "PART_K", "%uu", size->k);
    wnn_shader_define(shader, "SUBGROUP", "%uu", can->subgroup);
    // That rounds to denormal numbers, too, which is known of the same devices.
    wnn_shader_define(shader, "HALF_ARITHMETIC", "%d",
                      can->matrix_units == MATRIX_UNITS_KHR && can->known_places);
    wnn_shader_define(shader, "COMPONENT", "0x%x", half ? SPIRV_FLOAT16 : SPIRV_BFLOAT16);
    wnn_shader_define(shader, "COMPONENT_EXTENSIONS", "\"SPV_KHR_cooperative_matrix\"%s",
                      half ? "" : ", \"SPV_KHR_bfloat16\"");
    wnn_shader_define(shader, "COMPONENT_CAPABILITIES", "%s", half ? "6022, 9" : "6022, 5116, 5118");
    wnn_shader_define(shader, "SINGLE", "0x%x", SPIRV_FLOAT32);
    wnn_shader_include(shader, "matrices");
}
