// SPDX-License-Identifier: Apache-2.0
//
// First half of scatterElements and scatterND: notes for each element of the output which update is its last, plus 1.

void main()
{
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
             gl_LocalInvocationID.x;
    if (i >= UPDATES)
        return;
#if KIND == ELEMENTS
    uint to = a_index(i) + resolved(b_at(i), SIZE) * STRIDE;
#else
    uint row = i / INNER, to = i - row * INNER;
    for (uint d = 0u; d < GIVEN; d++)
        to += resolved(b_at(row * GIVEN + d), IN_SIZE(d)) * STEP(d);
#endif
    atomicMax(marks_word(to), i + 1u);
}
