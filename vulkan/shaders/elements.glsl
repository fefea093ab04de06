// SPDX-License-Identifier: Apache-2.0
//
// The main function of families that compute each element by itself: an invocation computes the elements of one word
// of memory, so that no two write the same. FULL: there are as many words as invocations, all of PER elements.

void main()
{
#if FULL
    uint unit = gl_GlobalInvocationID.x;
#else
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
                gl_LocalInvocationID.x;
    if (unit >= (COUNT + PER - 1u) / PER)
        return;
#endif
    WORD word = WORD(0u);
    for (uint e = 0u; e < PER; e++) {
        uint i = unit * PER + e;
        if (FULL == 1 || i < COUNT)
            put(word, e, finish(element(i), i));
    }
    store(unit, word);
}
