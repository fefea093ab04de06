// SPDX-License-Identifier: Apache-2.0
//
// Between types; indices within dimensions.

//: float_of
float float_of(float x) { return x; }
float float_of(int x) { return float(x); }
float float_of(uint x) { return float(x); }

//: float_of U64
// Rounded once: all bits below the upper 26 can be one.
float float_of(U64 x)
{
    if (x.hi == 0u)
        return float(x.lo);
    int top = findMSB(x.hi);
    uint shift = uint(31 - top);
    uint bits = shift == 0u ? x.hi : x.hi << shift | x.lo >> (32u - shift);
    if (x.lo << shift != 0u)
        bits |= 1u;
    // The conversion of 32 bits rounds to nearest even; the last of them is among those that are rounded away.
    return float(bits) * intBitsToFloat((32 - int(shift) + 127) << 23);
}

//: float_of I64
float float_of(I64 x)
{
    bool negative = int(x.hi) < 0;
    if (negative)
        x = neg(x);
    float y = float_of(U64(x.lo, x.hi));
    return negative ? -y : y;
}

//: int_of
// Saturated to [low, high], two floats; NaN is 0.
int int_of(float x, float low, float high)
{
    if (high < 2147483648.0)
        return is_nan(x) ? 0 : int(clamp(x, low, high));
    return is_nan(x) ? 0 : x >= 2147483648.0 ? 0x7FFFFFFF : int(max(x, low));
}
int int_of(int x, float low, float high) { return x; }
int int_of(uint x, float low, float high) { return int(x); }

//: int_of I64
int int_of(I64 x, float low, float high) { return int(x.lo); }

//: int_of U64
int int_of(U64 x, float low, float high) { return int(x.lo); }

//: uint_of
uint uint_of(float x, float high)
{
    if (!(x > 0.0))
        return 0u;
    return x >= 4294967296.0 ? (high < 4294967296.0 ? uint(high) : 0xFFFFFFFFu) : uint(x > high ? high : x);
}
uint uint_of(int x, float high) { return uint(x); }
uint uint_of(uint x, float high) { return x; }

//: uint_of I64
uint uint_of(I64 x, float high) { return x.lo; }

//: uint_of U64
uint uint_of(U64 x, float high) { return x.lo; }

//: bits64_of
// The integral part of |x| below 2^64.
uvec2 bits64_of(float x)
{
    uint b = floatBitsToUint(x) & 0x7FFFFFFFu, mantissa = (b & 0x7FFFFFu) | 0x800000u;
    int shift = int(b >> 23) - 150;
    if (shift <= -24)
        return uvec2(0u);
    if (shift <= 0)
        return uvec2(mantissa >> uint(-shift), 0u);
    if (shift < 32)
        return uvec2(mantissa << uint(shift), mantissa >> uint(32 - shift));
    return uvec2(0u, mantissa << uint(shift - 32));
}

//: i64_of trunc64
I64 i64_of(float x)
{
    if (is_nan(x))
        return I64(0u, 0u);
    if (x >= 9223372036854775808.0)
        return I64(0xFFFFFFFFu, 0x7FFFFFFFu);
    if (x <= -9223372036854775808.0)
        return I64(0u, 0x80000000u);
    uvec2 b = bits64_of(x);
    I64 y = I64(b.x, b.y);
    return x < 0.0 ? neg(y) : y;
}

//: u64_of trunc64
U64 u64_of(float x)
{
    if (!(x >= 1.0))
        return U64(0u, 0u);
    if (x >= 18446744073709551616.0)
        return U64(0xFFFFFFFFu, 0xFFFFFFFFu);
    uvec2 b = bits64_of(x);
    return U64(b.x, b.y);
}

//: resolved
// An index into a dimension of `size`: limited to [-size, size - 1], and counted from the end if negative.
uint resolved(int i, uint size)
{
    int n = int(size);
    i = i < -n ? -n : i > n - 1 ? n - 1 : i;
    return uint(i < 0 ? i + n : i);
}
uint resolved(uint i, uint size) { return min(i, size - 1u); }

//: resolved I64
uint resolved(I64 i, uint size)
{
    bool negative = int(i.hi) < 0;
    if (i.hi != (negative ? ~0u : 0u) || int(i.lo) < 0 != negative)
        return negative ? 0u : size - 1u;
    return resolved(int(i.lo), size);
}
