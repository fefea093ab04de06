// SPDX-License-Identifier: Apache-2.0
//
// cumulativeSum: each of LANES invocations sums a stretch of the group, then each begins where those before it end.

#if LANES > 1
shared SUM parts[gl_WorkGroupSize.x];
#endif

void main()
{
    uint lane = gl_LocalInvocationID.x % uint(LANES), self = gl_LocalInvocationID.x;
    uint group = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * (gl_WorkGroupSize.x / uint(LANES)) +
                 self / uint(LANES);
    bool exists = group < GROUPS;
    uint first = exists ? group_index(group) : 0u;
    uint stretch = (MEMBERS + uint(LANES) - 1u) / uint(LANES), begin = min(lane * stretch, MEMBERS);
    uint end = exists ? min(begin + stretch, MEMBERS) : begin;
    SUM sum = NEUTRAL;
#if LANES > 1
    for (uint k = begin; k < end; k++)
        sum = join(sum, mapped(a_at(first + (REVERSED != 0u ? MEMBERS - 1u - k : k) * STRIDE)));
    parts[self] = sum;
    barrier();
    sum = NEUTRAL;
    for (uint other = self - lane; other < self; other++)
        sum = join(sum, parts[other]);
#endif
    for (uint k = begin; k < end; k++) {
        uint at = first + (REVERSED != 0u ? MEMBERS - 1u - k : k) * STRIDE;
        SUM before = sum;
        sum = join(sum, mapped(a_at(at)));
        WORD word = WORD(0u);
        put(word, 0u, result_of(EXCLUSIVE != 0u ? before : sum));
        store(at, word);
    }
}
