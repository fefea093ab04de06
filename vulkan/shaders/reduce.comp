// SPDX-License-Identifier: Apache-2.0
//
// Two reductions of groups of elements, of which the second knows the result of the first: LANES invocations reduce the members
// of a group, then one another's results. A group is one element of the output; the invocations process all groups that
// share a word of it. The order is fixed, so that equal inputs give equal bits. With COLUMNS, invocations beside one
// another process groups beside one another.

#define TOGETHER (gl_WorkGroupSize.x / uint(LANES))
#if COLUMNS
#define NEXT_LANE TOGETHER
#else
#define NEXT_LANE 1u
#endif

#if LANES > 1
shared SUM parts[gl_WorkGroupSize.x];

// What all lanes together have, by the given reduction.
#define ALL_LANES(sum, reduce)                                                                                         \
    parts[self] = sum;                                                                                                 \
    barrier();                                                                                                         \
    for (uint half_of = uint(LANES) / 2u; half_of > 0u; half_of >>= 1) {                                               \
        if (lane < half_of)                                                                                            \
            parts[self] = reduce(parts[self], parts[self + half_of * NEXT_LANE]);                                      \
        barrier();                                                                                                     \
    }                                                                                                                  \
    sum = parts[self - lane * NEXT_LANE];                                                                              \
    barrier();
#else
#define ALL_LANES(sum, reduce)
#endif

void main()
{
    const uint step = uint(LANES);
    uint self = gl_LocalInvocationID.x, lane = self / NEXT_LANE % step;
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * TOGETHER +
                (COLUMNS == 1 ? self % TOGETHER : self / step);
    WORD word = WORD(0u);
    for (uint e = 0u; e < PER; e++) {
        uint number = unit * PER + e, end = number < COUNT ? MEMBERS : 0u;
        uint first = number < COUNT ? group_index(number) : 0u;
        SUM known = FIRST_NEUTRAL;
        for (uint k = lane; k < end; k += step)
            known = first_join(known, prepared(a_at(first + member_index(k))));
        ALL_LANES(known, first_join)
        known = between(known);
        SUM sum = NEUTRAL;
        for (uint k = lane; k < end; k += step)
            sum = join(sum, mapped(a_at(first + member_index(k)), known));
        ALL_LANES(sum, join)
        OUT result = result_of(sum, known);
        if (number < COUNT)
            put(word, e, finish(result, number));
    }
    if (lane == 0u && unit < (COUNT + PER - 1u) / PER)
        store(unit, word);
}
