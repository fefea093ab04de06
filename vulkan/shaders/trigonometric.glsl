// SPDX-License-Identifier: Apache-2.0
//
// Sines, cosines and tangents.

//: far_turn
// For |x| of 2^13 and more: x times 2 / pi in fixed point, from as many bits of 2 / pi as matter; the fraction of a
// quarter turn is what is left.
float far_turn(float x, out int quarter)
{
    const uint digits[8] = uint[](0x00000000u, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u,
                                  0x3C439041u, 0xFE5163ABu);
    uint b = floatBitsToUint(x), mantissa = (b & 0x7FFFFFu) | 0x800000u;
    int shift = int(b >> 23 & 0xFFu) - 120; // bits of 2 / pi that make multiples of 4 quarters only, and no others
    uint word = uint(shift) >> 5, bits = uint(shift) & 31u;
    uint d[3];
    for (uint i = 0u; i < 3u; i++) {
        uint at = min(word + i, 6u);
        d[i] = bits == 0u ? digits[at] : digits[at] << bits | digits[at + 1u] >> (32u - bits);
    }
    uint hi2, lo2, hi1, lo1, carry;
    umulExtended(mantissa, d[2], hi2, lo2);
    umulExtended(mantissa, d[1], hi1, lo1);
    uint low = uaddCarry(lo1, hi2, carry);
    uint high = mantissa * d[0] + hi1 + carry; // two bits of quarters, and a fraction
    quarter = int(high >> 30);
    uint top = high << 2 | low >> 30, rest = low << 2;
    if ((top & 0x80000000u) != 0u) {
        quarter++;
        uint borrow;
        rest = usubBorrow(0u, rest, borrow);
        top = 0u - top - borrow;
        precise float f = (float(top) + float(rest) * 2.3283064365386963e-10) * -2.3283064365386963e-10;
        precise float r = f * 1.57079632679489662;
        if (floatBitsToUint(x) >> 31 != 0u) {
            r = -r;
            quarter = -quarter;
        }
        return r;
    }
    precise float f = (float(top) + float(rest) * 2.3283064365386963e-10) * 2.3283064365386963e-10;
    precise float r = f * 1.57079632679489662;
    if (floatBitsToUint(x) >> 31 != 0u) {
        r = -r;
        quarter = -quarter;
    }
    return r;
}

//: turn
// What is left of x behind the nearest multiple of pi / 2.
float turn(float x, out int quarter)
{
    if (!(abs(x) < 8192.0)) {
        quarter = 0;
        return is_nan(x) || is_inf(x) ? NAN : far_turn(x, quarter);
    }
    precise float shifted = mad(x, 0.63661977236758134, 12582912.0); // to where floats are the integers
    precise float n = shifted - 12582912.0;
    precise float r = mad(n, -1.5703125, x);
    r = mad(n, -4.837512969970703125e-4, r);
    r = mad(n, -7.54978995489188216e-8, r);
    quarter = floatBitsToInt(shifted);
    return r;
}

//: sine_near
float sine_near(float r)
{
    precise float z = r * r;
    precise float q = -1.9515295891e-4;
    q = mad(q, z, 8.3321608736e-3);
    q = mad(q, z, -1.6666654611e-1);
    precise float s = q * z * r + r;
    return s;
}

//: cosine_near
float cosine_near(float r)
{
    precise float z = r * r;
    precise float q = 2.443315711809948e-5;
    q = mad(q, z, -1.388731625493765e-3);
    q = mad(q, z, 4.166664568298827e-2);
    precise float c = q * z * z - 0.5 * z + 1.0;
    return c;
}

//: sine_of
float sine_of(float x, int quarter)
{
    int q;
    float r = turn(x, q), s = sine_near(r), c = cosine_near(r);
    q += quarter;
    float y = (q & 1) == 0 ? s : c;
    return (q & 2) == 0 ? y : -y;
}

//: tan_of
float tan_of(float x)
{
    int q;
    float r = turn(x, q), s = sine_near(r), c = cosine_near(r);
    bool even = (q & 1) == 0;
    return ratio(even ? s : -c, even ? c : s);
}
