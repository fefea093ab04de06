// SPDX-License-Identifier: Apache-2.0
//
// Reductions: LANES invocations fold the members of a group, then one another's results. A group is one element of the
// output; the invocations see to all groups that share a word of it. The order is fixed, so that equal inputs give
// equal bits. With PREPARE there are two folds, and the second knows the result of the first.

#if LANES > 1
shared SUM parts[gl_WorkGroupSize.x];

// What all lanes together have, by the given fold.
#define ALL_LANES(sum, fold)                                                                                           \
    parts[self] = sum;                                                                                                 \
    barrier();                                                                                                         \
    for (uint half_of = uint(LANES) / 2u; half_of > 0u; half_of >>= 1) {                                               \
        if (lane < half_of)                                                                                            \
            parts[self] = fold(parts[self], parts[self + half_of]);                                                    \
        barrier();                                                                                                     \
    }                                                                                                                  \
    sum = parts[self - lane];                                                                                          \
    barrier();
#else
#define ALL_LANES(sum, fold)
#endif

void main()
{
    uint self = gl_LocalInvocationID.x, lane = self % uint(LANES);
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * (gl_WorkGroupSize.x / uint(LANES)) +
                self / uint(LANES);
    WORD word = WORD(0u);
    for (uint e = 0u; e < PER; e++) {
        uint group = unit * PER + e, first = group < COUNT ? group_index(group) : 0u;
        uint members = group < COUNT ? MEMBERS : 0u;
#ifdef PREPARE
        SUM known = FIRST_NEUTRAL;
        for (uint k = lane; k < members; k += uint(LANES))
            known = first_join(known, prepared(a_at(first + member_index(k))));
        ALL_LANES(known, first_join)
        known = between(known);
        SUM sum = NEUTRAL;
        for (uint k = lane; k < members; k += uint(LANES))
            sum = join(sum, mapped(a_at(first + member_index(k)), known));
        ALL_LANES(sum, join)
        OUT result = result_of(sum, known);
#else
        SUM sum = NEUTRAL;
        for (uint k = lane; k < members; k += uint(LANES))
            sum = join(sum, mapped(a_at(first + member_index(k)), k));
        ALL_LANES(sum, join)
        OUT result = result_of(sum);
#endif
        if (group < COUNT)
            put(word, e, finish(result, group));
    }
    if (lane == 0u && unit < (COUNT + PER - 1u) / PER)
        store(unit, word);
}
