// SPDX-License-Identifier: Apache-2.0
//
// Folds of groups of elements: LANES invocations fold the members of a group, then one another's results. The order is
// fixed, so that equal inputs give equal bits. Pieces of CHUNK members are folded by themselves, the results of which are
// another dispatch's elements: output number piece * GROUPS + group.
//
// With COLUMNS, members of neighbouring groups lie side by side, and invocations beside one another see to so many of
// those as load() brings; else load() brings members of one group.

#define TOGETHER (gl_WorkGroupSize.x / uint(LANES))
#if COLUMNS
#define NEXT_LANE TOGETHER
#define SUMS      WIDE
#else
#define NEXT_LANE 1u
#define SUMS      1u
#endif
#define TURNS 4u // loads on their way

#if LANES > 1
shared SUM parts[SUMS * gl_WorkGroupSize.x];
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

#if RAISE // not of NaN
float max_of(float a, float b) { return a > b ? a : b; }
float greatest_of(float x[4])
{
    return max_of(x[3], max_of(x[2], max_of(x[1], max_of(x[0], -INF))));
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
#if RAISE
        [[unroll]] for (uint e = 0u; e < WIDE; e++)
            raise(sums[e], greatest_of(float[](x[0][e], x[1][e], x[2][e], x[3][e])));
#endif
        [[unroll]] for (uint t = 0u; t < TURNS; t++)
            if (k + t * step < end)
                [[unroll]] for (uint e = 0u; e < WIDE; e++)
                    accumulate(sums[e], x[t][e], k + t * step);
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
    WORD word = WORD(0u);
    for (uint d = 0u; d < PER; d++) {
        uint number = unit * PER + d, group = number % GROUPS, begin = number / GROUPS * CHUNK,
             end = number < COUNT ? min(begin + CHUNK, MEMBERS) : 0u;
        SUM sums[4] = SUM[](NEUTRAL, NEUTRAL, NEUTRAL, NEUTRAL);
        for (uint k = begin + lane * WIDE; k < end; k += TURNS * step * WIDE) {
            ELEMENT x[TURNS][WIDE];
            [[unroll]] for (uint t = 0u; t < TURNS; t++)
                load(group, min(k + t * step * WIDE, end - WIDE), x[t]);
#if RAISE
            float top = -INF;
            [[unroll]] for (uint e = 0u; e < WIDE; e++)
                top = max_of(top, greatest_of(float[](x[0][e], x[1][e], x[2][e], x[3][e])));
            [[unroll]] for (uint t = 0u; t < 4u; t++)
                raise(sums[t], top);
#endif
            [[unroll]] for (uint t = 0u; t < TURNS; t++)
                if (k + t * step * WIDE < end)
                    [[unroll]] for (uint e = 0u; e < WIDE; e++)
                        accumulate(sums[(t * WIDE + e) % 4u], x[t][e], k + t * step * WIDE + e);
        }
        SUM all[1];
        all[0] = join(join(settled(sums[0]), settled(sums[1])), join(settled(sums[2]), settled(sums[3])));
        meet(all, lane);
        if (number < COUNT)
            put(word, d, finish(result_of(all[0]), number));
    }
    if (lane == 0u && unit < (COUNT + PER - 1u) / PER)
        store(unit, word);
#endif
}
