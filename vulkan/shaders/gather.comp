// SPDX-License-Identifier: Apache-2.0
//
// gather and its kin: data say which element. No index leaves its dimension, whatever the data.

OUT element(uint i)
{
#if KIND == GATHER
    // [outer, indices, inner]
    uint inner = i % INNER, rest = i / INNER;
    uint outer = rest / INDICES;
    return a_at((outer * SIZE + resolved(b_at(rest - outer * INDICES), SIZE)) * INNER + inner);
#elif KIND == ELEMENTS
    return a_at(a_index(i) + resolved(b_at(i), SIZE) * STRIDE);
#else
    uint row = i / INNER, from = 0u;
    for (uint d = 0u; d < GIVEN; d++)
        from += resolved(b_at(row * GIVEN + d), IN_SIZE(d)) * STEP(d);
    return a_at(from + (i - row * INNER));
#endif
}
