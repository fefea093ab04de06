// SPDX-License-Identifier: Apache-2.0
//
// Kinds of numbers: 64-bit integers, NaN and infinity, float16 in memory, order.

//: I64
// 64-bit integers, whether or not the device has any.
struct I64 { uint lo, hi; };

//: U64
struct U64 { uint lo, hi; };

//: small_quotient
// i / size for i < 2^16, where `inverse` is 2^32 / size, rounded up; 0: the size is 1.
uint small_quotient(uint i, uint inverse)
{
    uint high, low;
    umulExtended(i, inverse, high, low);
    return inverse == 0u ? i : high;
}

//: any_quotient
// i / size for any i: the factor, and shifts in the halves of a word, are what a size makes of them
// (vulkan/program/shader.c).
uint any_quotient(uint i, uint factor, uint shifts)
{
    uint high, low;
    umulExtended(i, factor, high, low);
    return (high + ((i - high) >> (shifts & 0xFFFFu))) >> (shifts >> 16);
}

//: is_nan
#ifdef SPECIAL
bool is_nan(float x) { return isnan(x); }
#else
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7FFFFFFFu) > 0x7F800000u; }
#endif

//: is_inf
bool is_inf(float x) { return (floatBitsToUint(x) & 0x7FFFFFFFu) == 0x7F800000u; }

//: kept_nan
// y, unless x is NaN, for what makes NaN of NaN where the device keeps to IEEE.
#ifdef SPECIAL
#define kept_nan(x, y) (y)
#else
float kept_nan(float x, float y) { return is_nan(x) ? x : y; }
#endif

//: NAN
#define NAN uintBitsToFloat(0x7FC00000u)

//: INF
#define INF uintBitsToFloat(0x7F800000u)

//: with_sign
float with_sign(float magnitude, float sign)
{
    return uintBitsToFloat((floatBitsToUint(magnitude) & 0x7FFFFFFFu) | (floatBitsToUint(sign) & 0x80000000u));
}

//: mad
// a * b + c, rounded once or twice.
#ifdef FUSED
#define mad(a, b, c) fma(a, b, c)
#else
#define mad(a, b, c) ((a) * (b) + (c))
#endif

//: half_bits
// The nearest float16, ties to even, denormal ones too.
uint half_bits(float x)
{
    uint b = floatBitsToUint(x), s = b >> 16 & 0x8000u, m = b & 0x7FFFFFFFu;
    if (m > 0x7F800000u)
        return s | 0x7E00u | (m >> 13 & 0x1FFu);
    if (m >= 0x477FF000u)
        return s | 0x7C00u;
    if (m >= 0x38800000u)
        return s | (m - 0x38000000u + 0xFFFu + (m >> 13 & 1u)) >> 13;
    if (m < 0x33000000u)
        return s;
    uint shift = 126u - (m >> 23), mantissa = (m & 0x7FFFFFu) | 0x800000u;
    uint kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1u), middle = 1u << (shift - 1u);
    if (rest > middle || (rest == middle && (kept & 1u) != 0u))
        kept++;
    return s | kept;
}

//: half_value
float half_value(uint h)
{
    uint e = h >> 10 & 31u, m = h & 0x3FFu, s = (h & 0x8000u) << 16;
    if (e == 31u)
        return uintBitsToFloat(s | 0x7F800000u | m << 13);
    if (e == 0u)
        return uintBitsToFloat(s | floatBitsToUint(float(m) * 5.9604644775390625e-8));
    return uintBitsToFloat(s | (((h & 0x7FFFu) << 13) + 0x38000000u));
}

//: loaded_half
// From and to memory.
#ifdef HALVES
float loaded_half(uint h) { return unpackHalf2x16(h).x; }
#else
float loaded_half(uint h) { return half_value(h); }
#endif

//: loaded_halves
#ifdef HALVES
vec2 loaded_halves(uint h) { return unpackHalf2x16(h); }
#else
vec2 loaded_halves(uint h) { return vec2(half_value(h & 0xFFFFu), half_value(h >> 16)); }
#endif

//: stored_halves
#ifdef HALVES
uint stored_halves(vec2 x) { return packHalf2x16(x); }
#else
uint stored_halves(vec2 x) { return half_bits(x.x) | half_bits(x.y) << 16; }
#endif

//: rounded_f16
// The nearest float16, ties to even, as a store and a load would make it. Drivers are known to take a conversion and its
// inverse for nothing, but not if something happens between them.
#ifdef ROUNDS_HALVES
float rounded_f16(float x) { return unpackHalf2x16(packHalf2x16(vec2(x, 0.0)) << 16).y; }
#else
float rounded_f16(float x)
{
    uint b = floatBitsToUint(x), m = b & 0x7FFFFFFFu;
    precise float tiny = uintBitsToFloat(m) + 0.5; // to where floats are the multiples of the least float16
    tiny = tiny - 0.5;
    uint y = (m + 0xFFFu + (m >> 13 & 1u)) & ~0x1FFFu;
    y = m < 0x38800000u ? floatBitsToUint(tiny) : y < 0x47800000u ? y : m > 0x7F800000u ? 0x7FC00000u : 0x7F800000u;
    return uintBitsToFloat(y | (b & 0x80000000u));
}
#endif

//: i64_of
I64 i64_of(I64 x) { return x; }
I64 i64_of(int x) { return I64(uint(x), uint(x >> 31)); }
I64 i64_of(uint x) { return I64(x, 0u); }

//: i64_of U64
I64 i64_of(U64 x) { return I64(x.lo, x.hi); }

//: u64_of
U64 u64_of(U64 x) { return x; }
U64 u64_of(int x) { return U64(uint(x), uint(x >> 31)); }
U64 u64_of(uint x) { return U64(x, 0u); }

//: u64_of I64
U64 u64_of(I64 x) { return U64(x.lo, x.hi); }

//: order_of
// A number that is ordered as the float is, for devices that take denormal numbers for 0. Not of NaN.
int order_of(float x)
{
    int b = floatBitsToInt(x);
    return b < 0 ? -(b & 0x7FFFFFFF) : b;
}

//: ranked
// Of a float's bits and back: a number that is ordered as the float is. Not of NaN.
int ranked(int b) { return b ^ (b >> 31 & 0x7FFFFFFF); }

//: equal
bool equals(float a, float b) { return !is_nan(a) && !is_nan(b) && order_of(a) == order_of(b); }
bool equals(int a, int b) { return a == b; }
bool equals(uint a, uint b) { return a == b; }
#define equal(a, b) equals(a, b)

//: equal I64
bool equals(I64 a, I64 b) { return a.lo == b.lo && a.hi == b.hi; }

//: equal U64
bool equals(U64 a, U64 b) { return a.lo == b.lo && a.hi == b.hi; }

//: less
bool less(float a, float b) { return !is_nan(a) && !is_nan(b) && order_of(a) < order_of(b); }
bool less(int a, int b) { return a < b; }
bool less(uint a, uint b) { return a < b; }

//: less I64
bool less(I64 a, I64 b) { return a.hi == b.hi ? a.lo < b.lo : int(a.hi) < int(b.hi); }

//: less U64
bool less(U64 a, U64 b) { return a.hi == b.hi ? a.lo < b.lo : a.hi < b.hi; }

//: at_least
bool at_least(float a, float b) { return !is_nan(a) && !is_nan(b) && order_of(a) >= order_of(b); }
bool at_least(int a, int b) { return a >= b; }
bool at_least(uint a, uint b) { return a >= b; }

//: at_least I64
bool at_least(I64 a, I64 b) { return !less(a, b); }

//: at_least U64
bool at_least(U64 a, U64 b) { return !less(a, b); }
