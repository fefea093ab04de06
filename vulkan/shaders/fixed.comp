// SPDX-License-Identifier: Apache-2.0
//
// Blocks of UNIT terms of a row of float16 as whole numbers of 23 bits, three bytes each, which weights of 4 bits are
// multiplied by four at a time: what is added up so is exact.

spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4451)
uint dot_unsigned(uint a, uint b, spirv_literal int format);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4452)
int dot_mixed(uint a, uint b, spirv_literal int format); // a: signed

#define FOUR_BYTES   0 // of a word
#define ONES         0x01010101u
#define ROUNDER      12582912.0 // a sum with it has a whole number in its last bits
#define ROUNDER_BITS 0x4B400000u
#define FRACTION     21u // bits behind the first

// Of magnitudes.
struct Block {
    float greatest, sum;
};

void look_at(vec4 x, inout Block block)
{
    vec4 y = abs(x);
    block.greatest = max(block.greatest, max(max(y.x, y.y), max(y.z, y.w)));
    block.sum += (y.x + y.y) + (y.z + y.w);
}

// Whether terms are finite, and nothing is lost that counts: they are multiples of 2^-24, and no others are needed below
// 2^-2; else the greatest makes the others lack 2^-22 of it at most, which shall be no more than 2^-13 of their mean.
bool is_even(Block block)
{
    float others = block.sum - block.greatest;
    return block.sum < INF && (block.greatest < 0.25 || others * 16.0 >= block.greatest);
}

// The exponent of a power of two that is greater than all terms, however these are rounded.
uint exponent_of(Block block) { return max((floatBitsToUint(block.greatest) + 4u) >> 23, 64u); }
float factor_of(uint exponent) { return uintBitsToFloat((254u + FRACTION - exponent) << 23); }
float unit_of(uint exponent) { return uintBitsToFloat((exponent - FRACTION) << 23); }

uint whole(float x, float factor) { return floatBitsToUint(mad(x, factor, ROUNDER)) - ROUNDER_BITS; }

// The bytes of four terms, the lowest first; the third are signed.
uvec3 bytes_of(vec4 x, float factor)
{
    uint a = whole(x.x, factor), b = whole(x.y, factor), c = whole(x.z, factor), d = whole(x.w, factor);
    uint low_ac = a & 0xFFFFu | c << 16, low_bd = b & 0xFFFFu | d << 16;
    uint high_ac = a >> 16 | c & 0xFFFF0000u, high_bd = b >> 16 | d & 0xFFFF0000u;
    return uvec3(low_ac & 0x00FF00FFu | low_bd << 8 & 0xFF00FF00u, low_ac >> 8 & 0x00FF00FFu | low_bd & 0xFF00FF00u,
                 high_ac & 0x00FF00FFu | high_bd << 8 & 0xFF00FF00u);
}

// Sums of three kinds of bytes, and the number that they are.
ivec3 dots(uvec3 bytes, uint weights)
{
    return ivec3(dot_unsigned(bytes.x, weights, FOUR_BYTES), dot_unsigned(bytes.y, weights, FOUR_BYTES),
                 dot_mixed(bytes.z, weights, FOUR_BYTES));
}
float together(ivec3 sums) { return mad(float(sums.z * 256 + sums.y), 256.0, float(sums.x)); }
