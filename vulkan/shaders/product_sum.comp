// SPDX-License-Identifier: Apache-2.0
//
// Adds up what the splits of a product have left in scratch memory: four elements of it, or those of a word.

#if QUADS_OUT
void main()
{
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
                gl_LocalInvocationID.x;
    if (unit >= UNITS)
        return;
    uint i = 4u * unit;
    vec4 sums = a_quad(i);
    for (uint s = 1u; s < SPLITS; s++)
        sums += a_quad(s * COUNT + i);
    out_quad(i, finish_quad(scaled_quad(sums, i), i));
}
#else
OUT element(uint i)
{
    float sum = a_at(i);
    for (uint s = 1u; s < SPLITS; s++)
        sum += a_at(s * COUNT + i);
    return scaled(sum, i);
}
#endif
