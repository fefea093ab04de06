// SPDX-License-Identifier: Apache-2.0
//
// Quantized weights as chunks of eight terms of a column, for cooperative.comp: packs of them wait in registers for
// what is multiplied before, and become floats on their way to shared memory. Blocks of which not even eight terms have
// one scale become floats when they are read.

#if PIECES == 1
#define CHUNK_OF(low, high)                                                                                          \
    uvec4(stored_halves((low).xy), stored_halves((low).zw), stored_halves((high).xy), stored_halves((high).zw))
#else
#define CHUNK_OF(low, high) Chunk(low, high)
#endif

#if HOLDS_PACKS
#define HELD_B Weights
#define B_PACK (UNIT / 8u)

struct Weights { PACK pack; float scale, zero; };

// Beyond the inner dimension they become zeros.
Weights weights_of(uint k, uint n)
{
    bool inside = k < INNER;
    n = min(n, COLUMNS - 1u);
    k = min(k, INNER - UNIT);
    return Weights(b_pack(n * INNER + k), inside ? scale_at(n, k) : 0.0, zero_at(n, k));
}

// Chunk c of a pack.
Chunk chunk_of(Weights weights, uint c)
{
#if PIECES == 1 && (!EXACT || HALF_ARITHMETIC)
    uvec2 first = pairs_of(weights.pack, 2u * c, weights.scale, weights.zero),
          second = pairs_of(weights.pack, 2u * c + 1u, weights.scale, weights.zero);
    uvec2 even = uvec2(first.x, second.x), odd = uvec2(first.y, second.y);
    uvec4 chunk = uvec4(even & 0xFFFFu | odd << 16u, even >> 16u | odd & 0xFFFF0000u);
    return BITS == 4 ? chunk : chunk.xzyw;
#else
    vec4 low = quad_of(weights.pack, 2u * c, 0u, 0u, weights.scale, weights.zero);
    return CHUNK_OF(low, quad_of(weights.pack, 2u * c + 1u, 0u, 0u, weights.scale, weights.zero));
#endif
}
#else
Chunk b_chunk(uint at, uint rest)
{
    vec4 low = b_quad(at);
    return CHUNK_OF(low, b_quad(at + 4u));
}
#define b_whole(at) b_chunk((at) << 3, 8u)
#endif
