// SPDX-License-Identifier: Apache-2.0
//
// scatterElements and scatterND: writes blocks of updates over the output, which has the input's elements. Of several
// updates of one place the last stays. Where they are few each looks for a later one (FEW). Others note their numbers,
// plus 1, in a mark of their place, of which the greatest stays (CLEAR, MARK), and write if it is theirs (WRITE).

// The number of the block that update `row` goes to. No index leaves its dimension, whatever the data.
uint place_of(uint row)
{
#if KIND == ELEMENTS
    return a_index(row) + resolved(b_at(row), SIZE) * STRIDE;
#else
    uint place = 0u;
    for (uint d = 0u; d < GIVEN; d++)
        place += resolved(b_at(row * GIVEN + d), IN_SIZE(d)) * STEP(d);
    return place;
#endif
}

#if PASS == WRITE
bool is_last(uint row, uint place)
{
#if !FEW
    return marks_word(place) == row + 1u;
#elif KIND == ELEMENTS
    // Others of the same row along the axis.
    uint end = (row / (STEPS * INNER) + 1u) * (STEPS * INNER);
    for (uint later = row + INNER; later < end; later += INNER)
        if (place_of(later) == place)
            return false;
    return true;
#else
    for (uint later = row + 1u; later < ROWS; later++)
        if (place_of(later) == place)
            return false;
    return true;
#endif
}
#endif

void main()
{
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
             gl_LocalInvocationID.x;
    if (i >= UNITS)
        return;
#if PASS == CLEAR
    marks_word(place_of(i)) = 0u;
#elif PASS == MARK
    atomicMax(marks_word(place_of(i)), i + 1u);
#else
    uint row = i / BLOCK, place = place_of(row), to = place * BLOCK + (i - row * BLOCK);
    if (!is_last(row, place))
        return;
#if BITS >= 32
    set_word(to, word_at(i));
#else
    // Neighbors share words, of which each has its part.
    uint shift = to % (32u / BITS) * BITS, mask = ((1u << BITS) - 1u) << shift;
    atomicAnd(out_word(to / (32u / BITS)), ~mask);
    atomicOr(out_word(to / (32u / BITS)), u_at(i) << shift & mask);
#endif
#endif
}
