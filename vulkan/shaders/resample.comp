// SPDX-License-Identifier: Apache-2.0
//
// resample2d: nearest, or linear between the four elements around a position; centres are at halves. The output is
// [outer, OUT_SIZE(0), middle, OUT_SIZE(1), inner].

// Along one axis, in units of 1 / (2 * out): the first of two neighbours and the share of the second.
uint neighbours(uint axis, uint to, out uint second, out float share)
{
    uint size = IN_SIZE(axis), target = OUT_SIZE(axis);
    uint hi, lo, borrow;
    umulExtended(2u * to + 1u, size, hi, lo);
#if LINEAR
    uint less_lo = usubBorrow(lo, target, borrow);
    uint unit = 2u * target;
    share = 0.0;
    second = 0u;
    if (hi < borrow)
        return 0u;
    hi -= borrow;
    uvec2 at = divided64(uvec2(less_lo, hi), uvec2(unit, 0u));
    uint first = at.y != 0u ? size - 1u : min(at.x, size - 1u);
    uint rest = less_lo - first * unit;
    second = min(first + 1u, size - 1u);
    if (first < size - 1u)
        share = quotient(float(rest), float(unit));
    return first;
#else
    // ceil((2 to + 1) size / (2 target)) - 1
    uint carry;
    lo = uaddCarry(lo, 2u * target - 1u, carry);
    uvec2 at = divided64(uvec2(lo, hi + carry), uvec2(2u * target, 0u));
    second = 0u;
    share = 0.0;
    return min(max(at.x, 1u) - 1u, size - 1u);
#endif
}

OUT element(uint i)
{
    uint inner = i % INNER, p = i / INNER, x = p % OUT_SIZE(1), q = p / OUT_SIZE(1), m = q % MIDDLE, r = q / MIDDLE,
         y = r % OUT_SIZE(0), outer = r / OUT_SIZE(0);
    uint below, right;
    float share_y, share_x;
    uint above = neighbours(0u, y, below, share_y), left = neighbours(1u, x, right, share_x);
    uint from = outer * IN_SIZE(0), row = MIDDLE * IN_SIZE(1);
#if LINEAR
    float sum = 0.0, error = 0.0;
    for (uint corner = 0u; corner < 4u; corner++) {
        bool down = (corner & 1u) != 0u, aside = (corner & 2u) != 0u;
        precise float rest_y = 1.0 - share_y, rest_x = 1.0 - share_x;
        precise float weight = (down ? share_y : rest_y) * (aside ? share_x : rest_x);
        if (weight == 0.0)
            continue;
        uint at = (((from + (down ? below : above)) * MIDDLE + m) * IN_SIZE(1) + (aside ? right : left)) * INNER + inner;
        float e1, e2, term = exact_product(weight, float_of(a_at(at)), e1);
        sum = exact_sum(sum, term, e2);
        error += e1 + e2;
    }
    precise float whole = sum + error;
    return RESULT(is_nan(whole) ? sum : whole);
#else
    return a_at((((from + above) * MIDDLE + m) * IN_SIZE(1) + left) * INNER + inner);
#endif
}
