// SPDX-License-Identifier: Apache-2.0
//
// pad: positions outside of the input get a constant, or an element of the edge or beyond the mirror.

OUT element(uint i)
{
    uint from = 0u;
    bool inside = true;
    for (uint d = RANK; d-- > 0u;) {
        uint rest = i / OUT_SIZE(d);
        int at = int(i - rest * OUT_SIZE(d)) - int(BEGIN(d)), size = int(IN_SIZE(d));
        i = rest;
#if MODE == CONSTANT
        inside = inside && at >= 0 && at < size;
#elif MODE == REFLECTION
        at = at < 0 ? -at : at >= size ? 2 * size - 2 - at : at;
#elif MODE == SYMMETRIC
        at = at < 0 ? -at - 1 : at >= size ? 2 * size - 1 - at : at;
#endif
        from += uint(clamp(at, 0, size - 1)) * STEP(d);
    }
    if (!inside)
        return FILL;
    return a_at(from);
}
