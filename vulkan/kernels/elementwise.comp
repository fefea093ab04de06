// SPDX-License-Identifier: Apache-2.0
//
// Each element from the elements that stand at its place, or that an index map says, of up to six inputs.

OUT element(uint i)
{
    LOADS
    return VALUE;
}
