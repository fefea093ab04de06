// SPDX-License-Identifier: Apache-2.0
//
// The known-answer test, and what the device's arithmetic does beyond what all devices promise. One work group. With
// KEEPS_DENORMALS the device is asked not to take denormal numbers for 0; with DOTS it adds up products of bytes.

#if defined(KEEPS_DENORMALS) || defined(DOTS)
#extension GL_EXT_spirv_intrinsics : require
#endif
#ifdef KEEPS_DENORMALS
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4464], 4459, 32);
#endif
#ifdef DOTS
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4451)
uint dot_unsigned(uint a, uint b, spirv_literal int format);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4452)
int dot_mixed(uint a, uint b, spirv_literal int format);
#endif

const uint COUNT = 128u;
layout(local_size_x = 128) in;
layout(push_constant) uniform Bases { uint in_base, out_base; };
layout(std430, set = 0, binding = 0) readonly buffer In { uint numbers[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Out { uint results[]; };
shared float parts[128];

float number(uint row, uint i) { return uintBitsToFloat(numbers[in_base + row * COUNT + i]); }
void answer(uint row, uint i, uint bits) { results[out_base + row * COUNT + i] = bits; }

void main()
{
    uint i = gl_LocalInvocationID.x;
    parts[i] = number(0u, i);
    barrier();
    for (uint far = 1u; far < COUNT; far *= 2u) {
        float more = i >= far ? parts[i - far] : 0.0;
        barrier();
        parts[i] += more;
        barrier();
    }
    float a = number(1u, i), b = number(2u, i);
    precise float product = a * b, rest = fma(a, b, -product);
    precise float tiny = number(3u, i) + number(3u, COUNT - 1u - i);
    answer(0u, i, floatBitsToUint(parts[i]));
    answer(1u, i, floatBitsToUint(rest));
    answer(2u, i, packHalf2x16(vec2(a, 0.0)));
    answer(3u, i, floatBitsToUint(unpackHalf2x16(floatBitsToUint(b)).x));
    answer(4u, i, floatBitsToUint(tiny));
    answer(5u, i, floatBitsToUint(unpackHalf2x16(packHalf2x16(vec2(a, 0.0)) << 16).y));
#ifdef DOTS
    uint x = floatBitsToUint(b), y = floatBitsToUint(a);
    answer(6u, i, dot_unsigned(x, y, 0));
    answer(7u, i, uint(dot_mixed(x, y, 0)));
#endif
}
