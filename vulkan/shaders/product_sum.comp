// SPDX-License-Identifier: Apache-2.0
//
// Adds up what the splits of a product have left in scratch memory.

OUT element(uint i)
{
    float sum = a_at(i);
    for (uint s = 1u; s < SPLITS; s++)
        sum += a_at(s * COUNT + i);
    return scaled(sum, i);
}
