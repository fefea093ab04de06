// SPDX-License-Identifier: Apache-2.0
//
// Matrices of PART_M x PART_K, PART_K x PART_N and PART_M x PART_N elements on the matrix units of the device, for
// cooperative.comp and attention_units.comp, which have them read and written, and few_rows_units.comp.

#define KHR      1 // GL_KHR_cooperative_matrix, in instructions that vulkan/program/spirv.c completes
#define NV       2 // GL_NV_cooperative_matrix
#define EMULATED 3 // by the invocations of the work group: tests

#if MATRICES == KHR
// glslang knows no types as arguments of types: COMPONENT and SINGLE are numbers that stand for them.
const uint BY_SUBGROUP = 3u, BY_WORKGROUP = 2u, USE_A = 0u, USE_B = 1u, USE_SUM = 2u;
const uint SIZE_M = PART_M, SIZE_N = PART_N, SIZE_K = PART_K;
#define MATRIX_OF(type, rows, columns, use)                                                                          \
    spirv_type(extensions = [COMPONENT_EXTENSIONS], capabilities = [COMPONENT_CAPABILITIES], id = 4456, type,        \
               BY_SUBGROUP, rows, columns, use)
#define INSTRUCTION(number)                                                                                          \
    spirv_instruction(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022], id = number)
#define MATRIX_A MATRIX_OF(COMPONENT, SIZE_M, SIZE_K, USE_A)
#define MATRIX_B MATRIX_OF(COMPONENT, SIZE_K, SIZE_N, USE_B)
#define MATRIX_SUM MATRIX_OF(SINGLE, SIZE_M, SIZE_N, USE_SUM)
INSTRUCTION(4457)
MATRIX_A read_a(spirv_by_reference uvec4 from, int layout_of, uint stride, spirv_literal int access, uint visible);
INSTRUCTION(4457)
MATRIX_B read_b(spirv_by_reference uvec4 from, int layout_of, uint stride, spirv_literal int access, uint visible);
INSTRUCTION(4458)
void write_sum(spirv_by_reference uvec4 to, MATRIX_SUM sum, int layout_of, uint stride, spirv_literal int access,
               uint available);
INSTRUCTION(4459) MATRIX_SUM multiply_add(MATRIX_A a, MATRIX_B b, MATRIX_SUM sum);
spirv_instruction(id = 80) MATRIX_SUM all_of(float x);

#elif MATRICES == NV
#define MATRIX_A fcoopmatNV<16, gl_ScopeSubgroup, PART_M, PART_K>
#define MATRIX_B fcoopmatNV<16, gl_ScopeSubgroup, PART_K, PART_N>
#define MATRIX_SUM fcoopmatNV<32, gl_ScopeSubgroup, PART_M, PART_N>
#define all_of(x) MATRIX_SUM(x)
#define multiply_add(a, b, sum) coopMatMulAddNV(a, b, sum)
#endif

#if MATRICES == EMULATED
// An invocation has so many of the sums.
#define OWN (PART_M * PART_N / SUBGROUP)
struct Sum { float own[OWN]; };
#define MATRIX_SUM Sum
Sum all_of(float x)
{
    Sum sum;
    for (uint e = 0u; e < OWN; e++)
        sum.own[e] = x;
    return sum;
}
#define SUBGROUP_INDEX (gl_LocalInvocationIndex / SUBGROUP)
#define LANE (gl_LocalInvocationIndex % SUBGROUP)
#else
#define SUBGROUP_INDEX gl_SubgroupID
#define LANE gl_SubgroupInvocationID
#endif
