// SPDX-License-Identifier: Apache-2.0
//
// Reductions: LANES invocations fold the members of a group, then one another's results. A group is one element of the
// output; the invocations see to all groups that share a word of it. The order is fixed, so that equal inputs give
// equal bits. With COLUMNS, invocations beside one another see to groups beside one another; with CHUNK, a group is folded
// in pieces of so many members, the results of which are the elements of the output. With PREPARE there are two folds, and the second knows the result of the first.

#define TOGETHER (gl_WorkGroupSize.x / uint(LANES))
#if COLUMNS
#define NEXT_LANE TOGETHER
#else
#define NEXT_LANE 1u
#endif

#if LANES > 1
shared SUM parts[gl_WorkGroupSize.x];

// What all lanes together have, by the given fold.
#define ALL_LANES(sum, fold)                                                                                           \
    parts[self] = sum;                                                                                                 \
    barrier();                                                                                                         \
    for (uint half_of = uint(LANES) / 2u; half_of > 0u; half_of >>= 1) {                                               \
        if (lane < half_of)                                                                                            \
            parts[self] = fold(parts[self], parts[self + half_of * NEXT_LANE]);                                        \
        barrier();                                                                                                     \
    }                                                                                                                  \
    sum = parts[self - lane * NEXT_LANE];                                                                              \
    barrier();
#else
#define ALL_LANES(sum, fold)
#endif

// Member k of a group of `end` members, which there is, or the last.
#define MEMBER(k) a_at(first + member_index(min(k, end - 1u)))

void main()
{
    const uint step = uint(LANES);
    uint self = gl_LocalInvocationID.x, lane = self / NEXT_LANE % step;
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * TOGETHER +
                (COLUMNS == 1 ? self % TOGETHER : self / step);
    WORD word = WORD(0u);
    for (uint e = 0u; e < PER; e++) {
        uint number = unit * PER + e, group = number, begin = 0u, end = number < COUNT ? MEMBERS : 0u;
#ifdef CHUNK
        group = number % GROUPS;
        begin = number / GROUPS * CHUNK;
        end = min(end, begin + CHUNK);
#endif
        uint first = number < COUNT ? group_index(group) : 0u;
#ifdef PREPARE
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
#else
        SUM sum = NEUTRAL;
        // Several at a time, so that the next do not wait for the last.
        for (uint k = begin + lane; k < end; k += 4u * step) {
            ELEMENT x0 = MEMBER(k), x1 = MEMBER(k + step), x2 = MEMBER(k + 2u * step), x3 = MEMBER(k + 3u * step);
            sum = join(sum, mapped(x0, k));
            if (k + step < end)
                sum = join(sum, mapped(x1, k + step));
            if (k + 2u * step < end)
                sum = join(sum, mapped(x2, k + 2u * step));
            if (k + 3u * step < end)
                sum = join(sum, mapped(x3, k + 3u * step));
        }
        ALL_LANES(sum, join)
        OUT result = result_of(sum);
#endif
        if (number < COUNT)
            put(word, e, finish(result, number));
    }
    if (lane == 0u && unit < (COUNT + PER - 1u) / PER)
        store(unit, word);
}
