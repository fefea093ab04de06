// SPDX-License-Identifier: Apache-2.0
//
// Roots and powers.

//: sqrt_of
#ifdef FUSED
float sqrt_near(float x)
{
    precise float r = inversesqrt(x), s = x * r, rest = fma(-s, s, x), y = fma(rest, 0.5 * r, s);
    return y;
}
#else
float sqrt_near(float x)
{
    precise float s = sqrt(x);
    float error, p = exact_product(s, s, error);
    precise float rest = (x - p) - error;
    precise float y = s + 0.5 * rest / s;
    return y;
}
#endif
float sqrt_of(float x)
{
    uint b = floatBitsToUint(x);
    if (b - 0x1F800000u < 0x40000000u) // 2^-64 to 2^64
        return sqrt_near(x);
    if ((b & 0x7FFFFFFFu) == 0u || b == 0x7F800000u)
        return x;
    if (b > 0x7F800000u)
        return NAN;
    float v = x * 5.421010862427522e-20, back = 4.294967296e9;
    if (b < 0x00800000u) {
        v = float(b); // 2^149 times as much, and a half more to make it even
        v *= 2.0;
        back = 2.6469779601696886e-23;
    } else if (b < 0x1F800000u) {
        v = x * 1.8446744073709552e19;
        back = 2.3283064365386963e-10;
    }
    return sqrt_near(v) * back;
}

//: less_product
// c - a * b, where that is small beside c: hardly rounded but once.
#ifdef FUSED
float less_product(float c, float a, float b)
{
    precise float y = fma(-a, b, c);
    return y;
}
#else
float less_product(float c, float a, float b)
{
    float error, p = exact_product(a, b, error);
    precise float y = (c - p) - error;
    return y;
}
#endif

//: log2_parts
// The logarithm of a normal number with these bits, less `more`, is the result and `low`: two for the half of the
// logarithm of (1 + q) / (1 - q) as a series of q = f / (2 + f).
float log2_parts(uint b, int more, out float low)
{
    int e = int(b - 0x3F3504F3u) >> 23;
    precise float f = uintBitsToFloat(b - uint(e << 23)) - 1.0, whole = small_whole(e - more);
    precise float share = 1.0 / (f + 2.0), q = f * share, z = q * q;
    float q_low = less_product(mad(-2.0, q, f), q, f) * share;
    precise float series = 3.402488857e-1;
    series = mad(series, z, 4.117048305e-1);
    series = mad(series, z, 5.770828742e-1);
    series = mad(series, z, 9.617966791e-1);
    float error, p = exact_product(q, 2.88539004325866699, error); // 2 / log(2)
    precise float rest = mad(q, 3.85192598e-8, error);
    rest = mad(q_low, 2.88539004, rest);
    rest = mad(q * z, series, rest);
    precise float high = whole + p;
    low = (p - (high - whole)) + rest;
    return high;
}

//: pow_parts
// 2^n * result is the power with that exponent of a number whose logarithm is high + low, n in the lowest nine bits;
// `total` is the result's logarithm, up to 2^20.
float pow_parts(float high, float low, float exponent, out int n, out float total)
{
    float error, product = exact_product(exponent, high, error);
    precise float rest = mad(exponent, low, error), sum = product + rest;
    precise float shifted = sum + 12582912.0, k = shifted - 12582912.0; // to where floats are the integers
    precise float r = (product - k) + rest;
    precise float q = 1.535315284e-4;
    q = mad(q, r, 1.339913303e-3);
    q = mad(q, r, 9.618439856e-3);
    q = mad(q, r, 5.550331853e-2);
    q = mad(q, r, 2.402264788e-1);
    q = mad(q, r, 6.931472031e-1);
    precise float y = mad(q, r, 1.0);
    n = floatBitsToInt(shifted);
    total = sum;
    return y;
}

//: pow_far
float pow_far(float x, float y)
{
    float ax = abs(x), ay = abs(y);
    if (y == 0.0 || x == 1.0)
        return 1.0;
    if (is_nan(x) || is_nan(y))
        return NAN;
    bool whole = ay >= 8388608.0 || y == roundEven(y), odd = whole && ay < 16777216.0 && (int(ay) & 1) == 1;
    float s = odd ? with_sign(1.0, x) : 1.0;
    if (is_inf(y))
        return ax == 1.0 ? 1.0 : (ax > 1.0) == (y > 0.0) ? INF : 0.0;
    uint b = floatBitsToUint(x) & 0x7FFFFFFFu;
    if (b == 0u)
        return y > 0.0 ? s * 0.0 : s * INF;
    if (is_inf(x))
        return y > 0.0 ? s * INF : s * 0.0;
    if (floatBitsToUint(x) >> 31 != 0u && !whole)
        return NAN;
    int more = 0, n;
    if (b < 0x00800000u) { // by bits, since the device may take denormal numbers for 0
        more = 23 - findMSB(b);
        b <<= uint(more);
    }
    float low, total, high = log2_parts(b, more, low), z = pow_parts(high, low, within(y, -1e30, 1e30), n, total);
    return s * (total > 160.0 ? INF : total < -160.0 ? 0.0 : times_power(z, n));
}

//: pow_of
float pow_of(float x, float y)
{
    float low, total, high = log2_parts(floatBitsToUint(x), 0, low);
    int n;
    float z = pow_parts(high, low, y, n, total);
    if (floatBitsToUint(x) - 0x00800000u < 0x7F000000u && abs(y) <= 1e30 && abs(total) < 126.0)
        return intBitsToFloat(floatBitsToInt(z) + (n << 23));
    return pow_far(x, y);
}

//: whole_power
// a^b, which wraps. Of an odd number a, that to the power 2^9 is 1 + x, x a multiple of 2^11, of whose powers three terms of
// the binomial series are left; of an even one nothing is left.
uint whole_power(uint a, uint b)
{
    uint y = 1u, n = b >> 9;
    bool even = (a & 1u) == 0u;
    for (uint i = 0u; i < 9u && b >> i != 0u; i += 3u)
        [[unroll]] for (uint k = 0u; k < 3u; k++) {
            y *= (b >> (i + k) & 1u) != 0u ? a : 1u;
            a *= a;
        }
    if (n == 0u)
        return y;
    uint x = a - 1u;
    return even ? 0u : y * (1u + n * x + (n * (n - 1u) >> 1) * (x * x));
}

//: whole_power64
// Likewise: to the power 2^7, it is 1 + 2^9 w. (1 + 2^9 w)^n = 1 + 2^9 n w (1 + 2^8 (n - 1) w (1 + 2^9 (n - 2) w / 3 (...))) has
// seven such factors before there are only multiples of 2^64; what is multiplied by the kth matters in its lowest
// 64 - 9 k bits.
uvec2 less64(uvec2 a, uvec2 b) { uint c; uint lo = usubBorrow(a.x, b.x, c); return uvec2(lo, a.y - b.y - c); }
uvec2 times_more(uvec2 a, uvec2 b, uint shift) // a (1 + 2^shift b)
{
    uint c;
    uvec2 more = mul64(a, b);
    uint lo = uaddCarry(a.x, more.x << shift, c);
    return uvec2(lo, a.y + (more.y << shift | more.x >> (32u - shift)) + c);
}
uvec2 whole_power64(uvec2 a, uvec2 b)
{
    const uint third = 0xAAAAAAABu, fifth = 0xCCCCCCCDu; // as factors
    uvec2 y = uvec2(1u, 0u), n = uvec2(b.x >> 7 | b.y << 25, b.y >> 7);
    bool even = (a.x & 1u) == 0u;
    [[unroll]] for (uint i = 0u; i < 7u; i++) {
        if ((b.x >> i & 1u) != 0u)
            y = mul64(y, a);
        a = mul64(a, a);
    }
    if ((n.x | n.y) == 0u)
        return y;
    uvec2 w = uvec2(a.x >> 9 | a.y << 23, a.y >> 9), w0 = mul64(n, w), w1 = less64(w0, w), w2 = less64(w1, w);
    uint w3 = w2.x - w.x, w4 = w3 - w.x, w5 = w4 - w.x, w6 = w5 - w.x; // (n - 3) w and so on
    uint rest = 1u + ((w6 & 1u) << 9);
    rest = 1u + (w5 * third * rest << 8);
    rest = 1u + (w4 * fifth * rest << 9);
    uvec2 more = times_more(mul64(w2, uvec2(third, 0xAAAAAAAAu)), uvec2(w3 * rest, 0u), 7u);
    more = times_more(w0, times_more(w1, more, 9u), 8u);
    return even ? uvec2(0u) : times_more(y, more, 9u);
}

//: power8
// That of 8 bits, in the lowest of the result: to the power 4, an odd number is 1 + x, x a multiple of 2^4.
uint power8(uint a, uint b)
{
    uint n = b >> 2, square = a * a, y = (b & 1u) != 0u ? a : 1u;
    y *= (b & 2u) != 0u ? square : 1u;
    return (a & 1u) != 0u || n < 2u ? y * (n * (square * square - 1u) + 1u) : 0u;
}
int power8(int a, int b) { return b < 0 && uint(a + 1) > 2u ? 0 : int(power8(uint(a), uint(b))); }

//: power
float power(float a, float b) { return pow_of(a, b); }
int power(int a, int b)
{
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? ((b & 1) == 0 ? 1 : -1) : 0;
    return int(whole_power(uint(a), uint(b)));
}
uint power(uint a, uint b) { return whole_power(a, b); }

//: power I64
// Of what a negative exponent makes, only powers of 1 and -1 are not 0, and the same with 2^64 added to it.
I64 power(I64 a, I64 b)
{
    bool unit = (a.lo + 1u & ~2u) == 0u && a.hi == uint(int(a.lo) >> 31);
    uvec2 y = whole_power64(uvec2(a.lo, a.hi), uvec2(b.lo, b.hi));
    return int(b.hi) < 0 && !unit ? I64(0u, 0u) : I64(y.x, y.y);
}

//: power U64
U64 power(U64 a, U64 b) { uvec2 y = whole_power64(uvec2(a.lo, a.hi), uvec2(b.lo, b.hi)); return U64(y.x, y.y); }
