// SPDX-License-Identifier: Apache-2.0
//
// Folds of groups of elements: LANES invocations fold the members of a group, then one another's results. The order is
// fixed, so that equal inputs give equal bits. Pieces of CHUNK members are folded by themselves, the results of which are
// another dispatch's elements: output number piece * GROUPS + group.
//
// With COLUMNS, members of neighbouring groups lie side by side, and invocations beside one another see to so many of
// those as load() brings; else load() brings members of one group. TURNS loads are on their way; with BLOCKS, what they
// bring of one group is accumulated together, if accumulate_block() can do that.

#define TOGETHER (gl_WorkGroupSize.x / uint(LANES))
#if COLUMNS
#define NEXT_LANE TOGETHER
#define SUMS      WIDE
#else
#define NEXT_LANE 1u
#define SUMS      1u
#endif

#if LANES > 1
shared SUM parts[SUMS * gl_WorkGroupSize.x];
#endif

#if SHARED_WORDS // groups that share a word of the output are a work group's
shared OUT results[TOGETHER];
#endif

// What all lanes together have.
void meet(inout SUM sums[SUMS], uint lane)
{
#if LANES > 1
    uint self = gl_LocalInvocationID.x;
    const uint size = gl_WorkGroupSize.x;
    [[unroll]] for (uint e = 0u; e < SUMS; e++)
        parts[e * size + self] = sums[e];
    barrier();
    for (uint half_of = uint(LANES) / 2u; half_of > 0u; half_of >>= 1) {
        if (lane < half_of)
            [[unroll]] for (uint e = 0u; e < SUMS; e++)
                parts[e * size + self] = join(parts[e * size + self], parts[e * size + self + half_of * NEXT_LANE]);
        barrier();
    }
    [[unroll]] for (uint e = 0u; e < SUMS; e++)
        sums[e] = parts[e * size + self - lane * NEXT_LANE];
    barrier();
#endif
}

#if BLOCKS
void accumulate_each(inout SUM sum, uint group, uint k, uint end)
{
    for (uint i = 0u; i < BLOCK; i++)
        if (is_member(k, i, end))
            accumulate(sum, a_at(group_index(group) + member_index(member_of(k, i, end))), member_of(k, i, end));
}
#endif

void main()
{
    const uint step = uint(LANES);
    uint self = gl_LocalInvocationID.x, lane = self / NEXT_LANE % step;
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * TOGETHER +
                (COLUMNS == 1 ? self % TOGETHER : self / step);
#if COLUMNS
    const uint units = (GROUPS + WIDE - 1u) / WIDE;
    uint piece = unit / units, group = unit % units * WIDE, begin = piece * CHUNK,
         end = min(begin + CHUNK, piece < PIECES ? MEMBERS : 0u);
    SUM sums[WIDE];
    [[unroll]] for (uint e = 0u; e < WIDE; e++)
        sums[e] = NEUTRAL;
    for (uint k = begin + lane; k < end; k += TURNS * step) {
        ELEMENT x[TURNS][WIDE];
        [[unroll]] for (uint t = 0u; t < TURNS; t++)
            load(group, min(k + t * step, end - 1u), x[t]);
        [[unroll]] for (uint e = 0u; e < WIDE; e++) {
#if BLOCKS
            ELEMENT block[BLOCK];
            [[unroll]] for (uint t = 0u; t < TURNS; t++)
                block[t] = x[t][e];
            if (!accumulate_block(sums[e], block, k, end))
                accumulate_each(sums[e], min(group + e, GROUPS - 1u), k, end);
#else
            [[unroll]] for (uint t = 0u; t < TURNS; t++)
                if (k + t * step < end)
                    accumulate(sums[e], x[t][e], k + t * step);
#endif
        }
    }
    [[unroll]] for (uint e = 0u; e < WIDE; e++)
        sums[e] = settled(sums[e]);
    meet(sums, lane);
    if (lane > 0u || piece >= PIECES)
        return;
    uint number = piece * GROUPS + group;
    [[unroll]] for (uint e = 0u; e < WIDE; e += PER) {
        if (group + e >= GROUPS)
            continue;
        WORD word = WORD(0u);
        [[unroll]] for (uint d = 0u; d < PER; d++)
            if (group + e + d < GROUPS)
                put(word, d, finish(result_of(sums[e + d]), number + e + d));
        store((number + e) / PER, word);
    }
#else
    uint group = unit % GROUPS, begin = unit / GROUPS * CHUNK, end = unit < COUNT ? min(begin + CHUNK, MEMBERS) : 0u;
    SUM sums[1];
    sums[0] = NEUTRAL;
    for (uint k = begin + lane * WIDE; k < end; k += TURNS * step * WIDE) {
        ELEMENT x[TURNS][WIDE];
        [[unroll]] for (uint t = 0u; t < TURNS; t++)
            load(group, min(k + t * step * WIDE, end - WIDE), x[t]);
#if BLOCKS
        ELEMENT block[BLOCK];
        [[unroll]] for (uint e = 0u; e < BLOCK; e++)
            block[e] = x[e / WIDE][e % WIDE];
        if (!accumulate_block(sums[0], block, k, end))
            accumulate_each(sums[0], group, k, end);
#else
        [[unroll]] for (uint t = 0u; t < TURNS; t++)
            if (k + t * step * WIDE < end)
                [[unroll]] for (uint e = 0u; e < WIDE; e++)
                    accumulate(sums[0], x[t][e], k + t * step * WIDE + e);
#endif
    }
    sums[0] = settled(sums[0]);
    meet(sums, lane);
    OUT result = finish(result_of(sums[0]), min(unit, COUNT - 1u));
    WORD word = WORD(0u);
#if SHARED_WORDS
    if (lane == 0u)
        results[self / step] = result;
    barrier();
    uint first = unit - self / step + self * PER;
    if (self >= TOGETHER / PER || first >= COUNT)
        return;
    [[unroll]] for (uint d = 0u; d < PER; d++)
        if (first + d < COUNT)
            put(word, d, results[self * PER + d]);
    store(first / PER, word);
#else
    put(word, 0u, result);
    if (lane == 0u && unit < COUNT)
        store(unit, word);
#endif
#endif
}
