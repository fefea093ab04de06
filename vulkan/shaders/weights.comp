// SPDX-License-Identifier: Apache-2.0
//
// Constant weights, a pack of UNIT of a column at a time: what other families have before them.
//
// BITS of a weight: floats, or integers that are made floats in registers. FLIPPED says which bits turn a word of
// signed integers into unsigned ones, that are larger by OFFSET.

#define WEIGHT_QUADS (UNIT / 4u)
#define MAGIC        8388608.0
#define MAGIC_BITS   0x4B000000u

#if BITS <= 8
// Where the scale of the weight in column n at term k is.
uint scale_of(uint n, uint k)
{
    return n / SCALE_COLUMNS * SCALE_COLUMN + k / SCALE_TERMS * SCALE_TERM;
}

#if SINGLE_ZERO
#define zero_of(n, k) 0u
#else
uint zero_of(uint n, uint k) { return n / SCALE_COLUMNS * ZERO_COLUMN + k / SCALE_TERMS * ZERO_TERM; }
#endif

float scale_at(uint n, uint k) { return s_at(scale_of(n, k)); }
float zero_at(uint n, uint k) { return float(int(z_at(zero_of(n, k))) + OFFSET); }

// Integer e of quad q of a pack, larger by OFFSET.
uint integer_of(PACK pack, uint q, uint e)
{
#if BITS == 4
    return (word_of(pack, q / 2u) ^ FLIPPED) >> (16u * (q % 2u) + 4u * e) & 15u;
#else
    return (word_of(pack, q) ^ FLIPPED) >> (8u * e) & 255u;
#endif
}

// The same less the zero point. A few bits alone are a float16 that is denormal, and two of them become float32 with
// fewer instructions than integers do: every other of a quad of 8 bits, or those of one place in two quads of 4, where
// there are so many that it is not their latency that counts.
float difference_of(PACK pack, uint q, uint e, float zero)
{
#if defined(HALVES) && !DENSE
#if BITS == 8
    return mad(loaded_halves((word_of(pack, q) ^ FLIPPED) >> (8u * (e % 2u)) & 0x00FF00FFu)[e / 2u], 16777216.0, -zero);
#else
    if (UNIT == 32u) {
        uint word = (word_of(pack, q / 2u) ^ FLIPPED) >> (8u * (e / 2u));
        vec2 two = loaded_halves(word & (e % 2u == 0u ? 0x000F000Fu : 0x00F000F0u));
        return mad(two[q % 2u], e % 2u == 0u ? 16777216.0 : 1048576.0, -zero);
    }
#endif
#endif
    return uintBitsToFloat(integer_of(pack, q, e) | MAGIC_BITS) - (MAGIC + zero);
}

// Without what rounds a weight to the type that it would have been given, nor its scale, unless that is EXACT.
float weight_of(PACK pack, uint q, uint e, float scale, float zero)
{
#if EXACT
    return ROUNDED(scaled(int(integer_of(pack, q, e)) - int(zero), scale));
#elif SCALES_SUMS
    return difference_of(pack, q, e, zero);
#else
    return difference_of(pack, q, e, zero) * scale;
#endif
}

#ifdef MATRICES
// Two integers as matrices hold them, rounded as dequantizeLinear rounds. With some bits more they are 1024 and that, of
// float16.
uint pair_of(uint two, float scale, float zero)
{
#if HALF_ARITHMETIC
    return packFloat2x16((unpackFloat2x16(two | 0x64006400u) - float16_t(1024.0 + zero)) * float16_t(scale));
#else
    return stored_halves((loaded_halves(two | 0x64006400u) - (1024.0 + zero)) * scale);
#endif
}

// Of quad q of a pack the pairs that masks leave of a word: every other of four bytes, or every fourth of eight times
// 4 bits, of which the other quad has the rest.
uvec2 pairs_of(PACK pack, uint q, float scale, float zero)
{
#if BITS == 4
    uint word = (word_of(pack, q / 2u) ^ FLIPPED) >> (q % 2u * 8u), mask = 0x000F000Fu;
#else
    uint word = word_of(pack, q) ^ FLIPPED, mask = 0x00FF00FFu;
#endif
    return uvec2(pair_of(word & mask, scale, zero), pair_of(word >> BITS & mask, scale, zero));
}
#endif
#else
#define scale_at(n, k) 1.0
#define zero_at(n, k) 0.0
#endif

// Quad q of the pack of column n at term k, with the scale and zero point of all of it if there is a SINGLE_SCALE.
vec4 quad_of(PACK pack, uint q, uint n, uint k, float scale, float zero)
{
    vec4 quad;
#if BITS == 32
    quad = uintBitsToFloat(pack);
#elif BITS == 16
    quad = vec4(loaded_halves(pack[2u * q]), loaded_halves(pack[2u * q + 1u]));
#else
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
#if !SINGLE_SCALE
        scale = scale_at(n, k + 4u * q + e);
        zero = zero_at(n, k + 4u * q + e);
#endif
        quad[e] = weight_of(pack, q, e, scale, zero);
    }
#endif
    return quad;
}

#if DENSE // a column begins where another ends, and the first where memory does
vec4 b_quad(uint at)
{
    uint n = at / INNER, k = at % INNER, q = k % UNIT / 4u;
    k -= k % UNIT;
#if SINGLE_SCALE
    return quad_of(b_pack(at), q, n, k, scale_at(n, k), zero_at(n, k));
#else
    return quad_of(b_pack(at), q, n, k, 1.0, 0.0);
#endif
}
float b_at(uint at) { return b_quad(at - at % 4u)[at % 4u]; }
#endif
