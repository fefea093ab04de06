// SPDX-License-Identifier: Apache-2.0
//
// Functions that kernels use, each behind a line that names it; a function must stand behind those that it calls. A
// piece becomes part of a shader if all words of its line occur in what comes after it there.
//
// Only +, -, *, comparisons and bit operations are trusted: native functions miss the tolerances on real devices.
// `precise` keeps what is written from being reassociated or contracted.

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
// From and to memory. Within a shader, drivers are known to leave out the rounding of native conversions.
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
// The nearest float16, ties to even, as a store and a load would make it.
float rounded_f16(float x)
{
    uint b = floatBitsToUint(x), m = b & 0x7FFFFFFFu;
    precise float tiny = uintBitsToFloat(m) + 0.5; // to where floats are the multiples of the least float16
    tiny = tiny - 0.5;
    uint y = (m + 0xFFFu + (m >> 13 & 1u)) & ~0x1FFFu;
    y = m < 0x38800000u ? floatBitsToUint(tiny) : y < 0x47800000u ? y : m > 0x7F800000u ? 0x7FC00000u : 0x7F800000u;
    return uintBitsToFloat(y | (b & 0x80000000u));
}

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

//: tiny_sum
// The sum of numbers below 2^-100, for devices that take denormal ones for 0: at 2^64 times the size.
float enlarged(float x)
{
    uint b = floatBitsToUint(x), m = b & 0x7FFFFFFFu;
    float y = m < 0x00800000u ? float(m) * 2.5849394142282115e-26 : uintBitsToFloat(m + (64u << 23));
    return uintBitsToFloat(floatBitsToUint(y) | (b & 0x80000000u));
}
float tiny_sum(float a, float b)
{
    precise float y = enlarged(a) + enlarged(b);
    uint bits = floatBitsToUint(y), m = bits & 0x7FFFFFFFu;
    m = m >= (65u << 23) ? m - (64u << 23) : uint(uintBitsToFloat(m) * 3.8685626227668134e25); // whole
    return uintBitsToFloat(m | (bits & 0x80000000u));
}

//: add
float add(float a, float b)
{
    if (max(floatBitsToUint(a) & 0x7FFFFFFFu, floatBitsToUint(b) & 0x7FFFFFFFu) < 0x0D800000u)
        return tiny_sum(a, b);
    precise float y = a + b;
    return y;
}
int add(int a, int b) { return a + b; }
uint add(uint a, uint b) { return a + b; }

//: add I64
I64 add(I64 a, I64 b) { uint c; uint lo = uaddCarry(a.lo, b.lo, c); return I64(lo, a.hi + b.hi + c); }

//: add U64
U64 add(U64 a, U64 b) { uint c; uint lo = uaddCarry(a.lo, b.lo, c); return U64(lo, a.hi + b.hi + c); }

//: sub
float sub(float a, float b) { return add(a, uintBitsToFloat(floatBitsToUint(b) ^ 0x80000000u)); }
int sub(int a, int b) { return a - b; }
uint sub(uint a, uint b) { return a - b; }

//: sub I64
I64 sub(I64 a, I64 b) { uint c; uint lo = usubBorrow(a.lo, b.lo, c); return I64(lo, a.hi - b.hi - c); }

//: sub U64
U64 sub(U64 a, U64 b) { uint c; uint lo = usubBorrow(a.lo, b.lo, c); return U64(lo, a.hi - b.hi - c); }

//: mul64
uvec2 mul64(uvec2 a, uvec2 b)
{
    uint hi, lo;
    umulExtended(a.x, b.x, hi, lo);
    return uvec2(lo, hi + a.x * b.y + a.y * b.x);
}

//: mul
// A denormal operand is enlarged, for devices that would take it for 0.
float mul(float a, float b)
{
    uint m = min(floatBitsToUint(a) & 0x7FFFFFFFu, floatBitsToUint(b) & 0x7FFFFFFFu);
    if (m - 1u < 0x007FFFFFu) {
        bool first = (floatBitsToUint(a) & 0x7FFFFFFFu) == m;
        precise float y = (float(m) * 2.6469779601696886e-23) * (first ? b : a);
        y = y * 5.293955920339377e-23; // 2^-75 and 2^-74
        return uintBitsToFloat(floatBitsToUint(y) ^ (floatBitsToUint(first ? a : b) & 0x80000000u));
    }
    precise float y = a * b;
    return y;
}
int mul(int a, int b) { return a * b; }
uint mul(uint a, uint b) { return a * b; }

//: mul I64
I64 mul(I64 a, I64 b) { uvec2 y = mul64(uvec2(a.lo, a.hi), uvec2(b.lo, b.hi)); return I64(y.x, y.y); }

//: mul U64
U64 mul(U64 a, U64 b) { uvec2 y = mul64(uvec2(a.lo, a.hi), uvec2(b.lo, b.hi)); return U64(y.x, y.y); }

//: neg
float neg(float x) { return uintBitsToFloat(floatBitsToUint(x) ^ 0x80000000u); }
int neg(int x) { return -x; }

//: neg I64
I64 neg(I64 x) { return x.lo == 0u ? I64(0u, -x.hi) : I64(-x.lo, ~x.hi); }

//: divided64
// The quotient of unsigned numbers, of which the divisor is not 0. Each estimate is a little less than what is left of it,
// by at most a share of 2^-19, so that four leave less than 2.
void divide_rest(inout uvec2 rest, inout uvec2 quotient, uvec2 b, float share)
{
    float estimate = (float(rest.y) * 4294967296.0 + float(rest.x)) * share;
    uint hi = uint(estimate * 2.3283064365386963e-10), borrow, carry;
    uvec2 part = uvec2(uint(max(estimate - float(hi) * 4294967296.0, 0.0)), hi), product = mul64(part, b);
    rest.x = usubBorrow(rest.x, product.x, borrow);
    rest.y = rest.y - product.y - borrow;
    quotient.x = uaddCarry(quotient.x, part.x, carry);
    quotient.y += part.y + carry;
}
uvec2 divided64(uvec2 a, uvec2 b)
{
    float share = 0.9999986 / (float(b.y) * 4294967296.0 + float(b.x));
    uvec2 rest = a, quotient = uvec2(0u);
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        divide_rest(rest, quotient, b, share);
    uint carry;
    uint more = rest.y > b.y || (rest.y == b.y && rest.x >= b.x) ? 1u : 0u;
    quotient.x = uaddCarry(quotient.x, more, carry);
    quotient.y += carry;
    return quotient;
}

//: exact_product
// a * b = y + error.
#ifdef FUSED
float exact_product(float a, float b, out float error)
{
    precise float y = a * b;
    precise float e = fma(a, b, -y);
    error = e;
    return y;
}
#else
float exact_product(float a, float b, out float error)
{
    precise float y = a * b;
    precise float ca = 4097.0 * a;
    precise float ah = ca - (ca - a);
    precise float al = a - ah;
    precise float cb = 4097.0 * b;
    precise float bh = cb - (cb - b);
    precise float bl = b - bh;
    precise float e = ((ah * bh - y) + ah * bl + al * bh) + al * bl;
    error = e;
    return y;
}
#endif

//: exact_sum
// a + b = y + error.
float exact_sum(float a, float b, out float error)
{
    precise float y = a + b;
    precise float c = y - a;
    precise float e = (a - (y - c)) + (b - c);
    error = e;
    return y;
}

//: ratio
// a / b where neither that nor 1 / b comes near the ends of the range: nearly always rounded once.
#ifdef FUSED
float ratio(float a, float b)
{
    precise float share = 1.0 / b, q = a * share, rest = fma(-q, b, a), y = fma(rest, share, q);
    return y;
}
#else
float ratio(float a, float b)
{
    precise float q = a / b;
    float error, p = exact_product(q, b, error);
    precise float rest = (a - p) - error;
    precise float y = q + rest / b;
    return y;
}
#endif

//: quotient
// a / b, rounded once where that is possible: quotients that lie between two integers are to be rounded to the
// right one.
float quotient(float a, float b)
{
    precise float q = a / b;
    float least = min(min(abs(a), abs(b)), abs(q)), most = max(max(abs(a), abs(b)), abs(q));
    if (!(least > 1e-30 && most < 1e30)) {
        // Native quotients beyond the range may be NaN.
        bool beyond = is_nan(q) && !is_nan(a) && !is_nan(b) && a != 0.0 && b != 0.0 && !is_inf(b);
        // The reciprocal of a divisor above 2^126 is denormal, which some devices take for 0.
        if (abs(b) > 8.507059e37)
            q = (a * 0.0625) / (b * 0.0625);
        uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
        return beyond ? uintBitsToFloat(sign | 0x7F800000u) : q;
    }
#ifdef FUSED
    precise float rough = 1.0 / b, share = fma(fma(-b, rough, 1.0), rough, rough), near = a * share,
                  nearer = fma(fma(-near, b, a), share, near), y = fma(fma(-nearer, b, a), share, nearer);
    return y;
#else
    return ratio(a, b);
#endif
}

//: div
float div(float a, float b) { return quotient(a, b); }
int div(int a, int b) { return b == 0 ? a : b == -1 ? -a : a / b; }
uint div(uint a, uint b) { return b == 0u ? a : a / b; }

//: div U64
U64 div(U64 a, U64 b)
{
    if ((b.lo | b.hi) == 0u)
        return a;
    uvec2 y = divided64(uvec2(a.lo, a.hi), uvec2(b.lo, b.hi));
    return U64(y.x, y.y);
}

//: div I64
I64 div(I64 a, I64 b)
{
    if ((b.lo | b.hi) == 0u)
        return a;
    bool negative = int(a.hi ^ b.hi) < 0;
    if (int(a.hi) < 0)
        a = neg(a);
    if (int(b.hi) < 0)
        b = neg(b);
    uvec2 q = divided64(uvec2(a.lo, a.hi), uvec2(b.lo, b.hi));
    I64 y = I64(q.x, q.y);
    return negative ? neg(y) : y;
}

//: greatest
float greatest(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : order_of(a) > order_of(b) ? a : b; }
int greatest(int a, int b) { return max(a, b); }
uint greatest(uint a, uint b) { return max(a, b); }

//: greatest I64
I64 greatest(I64 a, I64 b) { if (less(a, b)) return b; return a; }

//: greatest U64
U64 greatest(U64 a, U64 b) { if (less(a, b)) return b; return a; }

//: least
float least(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : order_of(a) < order_of(b) ? a : b; }
int least(int a, int b) { return min(a, b); }
uint least(uint a, uint b) { return min(a, b); }

//: least I64
I64 least(I64 a, I64 b) { if (less(b, a)) return b; return a; }

//: least U64
U64 least(U64 a, U64 b) { if (less(b, a)) return b; return a; }

//: within
float within(float x, float low, float high) { return less(x, low) ? low : less(high, x) ? high : x; }
int within(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
uint within(uint x, uint low, uint high) { return x < low ? low : x > high ? high : x; }

//: within I64
I64 within(I64 x, I64 low, I64 high) { if (less(x, low)) return low; if (less(high, x)) return high; return x; }

//: within U64
U64 within(U64 x, U64 low, U64 high) { if (less(x, low)) return low; if (less(high, x)) return high; return x; }

//: magnitude
float magnitude(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0x7FFFFFFFu); }
int magnitude(int x) { return x < 0 ? -x : x; }
uint magnitude(uint x) { return x; }

//: magnitude U64
U64 magnitude(U64 x) { return x; }

//: magnitude I64
I64 magnitude(I64 x) { if (int(x.hi) < 0) return neg(x); return x; }

//: sign_of
float sign_of(float x)
{
    uint b = floatBitsToUint(x);
    return (b & 0x7FFFFFFFu) == 0u || is_nan(x) ? 0.0 : b >> 31 != 0u ? -1.0 : 1.0;
}
int sign_of(int x) { return sign(x); }

//: sign_of I64
I64 sign_of(I64 x) { return int(x.hi) < 0 ? I64(~0u, ~0u) : I64((x.lo | x.hi) != 0u ? 1u : 0u, 0u); }

//: relu_of
float relu_of(float x) { return less(x, 0.0) ? 0.0 : x; }
int relu_of(int x) { return max(x, 0); }

//: relu_of I64
I64 relu_of(I64 x) { return int(x.hi) < 0 ? I64(0u, 0u) : x; }

//: prelu_of
float prelu_of(float x, float slope) { precise float y = x * slope; return less(x, 0.0) ? y : x; }
int prelu_of(int x, int slope) { return x < 0 ? x * slope : x; }

//: prelu_of I64
I64 prelu_of(I64 x, I64 slope) { if (int(x.hi) < 0) return mul(x, slope); return x; }

//: floor_of
float floor_of(float x)
{
    float y = floor(x);
    return y == 0.0 && less(x, 0.0) ? -1.0 : y;
}

//: ceil_of
float ceil_of(float x)
{
    float y = ceil(x);
    return y == 0.0 && less(0.0, x) ? 1.0 : y;
}

//: times_power
// y * 2^n for y from 1/2 to 2 and what the lowest nine bits of n say, denormal results included.
float times_power(float y, int n)
{
    int part = n >> 1;
    precise float z = y * intBitsToFloat((part << 23) + 0x3F800000);
    z = z * intBitsToFloat(((n - part) << 23) + 0x3F800000);
    return z;
}

//: exp_series
// (exp(r) - 1 - r) / (r * r) for r from -log(2) / 2 to log(2) / 2.
float exp_series(float r)
{
    precise float q = 1.394645196e-3;
    q = mad(q, r, 8.366586354e-3);
    q = mad(q, r, 4.166628200e-2);
    q = mad(q, r, 1.666654297e-1);
    q = mad(q, r, 5.000000062e-1);
    return q;
}

//: exp_reduced
// The r for which x = n log(2) + r, for |x| up to 128; the lowest nine bits of n are valid.
float exp_reduced(float x, out int n)
{
    precise float shifted = mad(x, 1.44269504, 12582912.0); // to where floats are the integers
    precise float k = shifted - 12582912.0;
    precise float r = mad(k, -0.693359375, x);
    r = mad(k, 2.12194440e-4, r);
    n = floatBitsToInt(shifted);
    return r;
}

//: exp_within
// exp(x + rest) for x from -104 to 89 and a small rest.
float exp_within(float x, float rest)
{
    int n;
    precise float r = exp_reduced(x, n) + rest;
    precise float e = mad(mad(exp_series(r), r, 1.0), r, 1.0);
    return times_power(e, n);
}

//: exp_normal
// exp(x) for x from -86 to 87.
float exp_normal(float x)
{
    int n;
    precise float r = exp_reduced(x, n), e = mad(mad(exp_series(r), r, 1.0), r, 1.0);
    return intBitsToFloat(floatBitsToInt(e) + (n << 23));
}

//: exp_with
// exp(x + rest) for a small rest.
float exp_with(float x, float rest)
{
    float limited = x < -104.0 ? -104.0 : x > 89.0 ? 89.0 : x;
    float y = exp_within(limited, limited == x ? rest : 0.0);
    return kept_nan(x, y);
}

//: exp_of
float exp_of(float x)
{
    float y = exp_within(x < -104.0 ? -104.0 : x > 89.0 ? 89.0 : x, 0.0);
    return kept_nan(x, y);
}

//: exp_down
// exp(a - b) for a up to b, with what rounding takes from the difference; 0 for -Inf, whatever b is.
float exp_down(float a, float b)
{
    float error, d = exact_sum(a, -b, error);
    bool least = d < -104.0 || a == -INF;
    return kept_nan(least ? 0.0 : d, exp_within(least ? -104.0 : d, least ? 0.0 : error));
}

//: exp_down_half
// For results that become float16. A limit for d would be a native maximum on some devices, which drops NaN.
float exp_down_half(float a, float b)
{
    precise float d = a - b, y = exp2(d * 1.44269504);
    return d < -40.0 ? 0.0 : y;
}

//: exp_below
// exp(a - b), with what rounding takes from the difference: the exponential would make many units of it.
float exp_below(float a, float b)
{
    float error, d = exact_sum(a, -b, error);
    return exp_with(d, is_nan(error) ? 0.0 : error);
}

//: expm1_within
// exp(x) - 1 for x from -64 to 64.
float expm1_within(float x)
{
    int n;
    float r = exp_reduced(x, n), power = intBitsToFloat((n << 23) + 0x3F800000);
    precise float e = mad(exp_series(r), r * r, r), rest = power - 1.0, y = mad(power, e, rest);
    return y;
}

//: log_near
// log(1 + f) + e log 2 for f from sqrt(1/2) - 1 to sqrt(2) - 1.
float log_near(float f, float e)
{
    precise float z = f * f;
    precise float q = 7.0376836292e-2;
    q = mad(q, f, -1.1514610310e-1);
    q = mad(q, f, 1.1676998740e-1);
    q = mad(q, f, -1.2420140846e-1);
    q = mad(q, f, 1.4249322787e-1);
    q = mad(q, f, -1.6668057665e-1);
    q = mad(q, f, 2.0000714765e-1);
    q = mad(q, f, -2.4999993993e-1);
    q = mad(q, f, 3.3333331174e-1);
    precise float y = q * f * z;
    y = y + e * -2.12194440e-4;
    y = y - 0.5 * z;
    precise float r = f + y;
    r = r + e * 0.693359375;
    return r;
}

//: mantissa_of
// A positive finite x is the result, from sqrt(1/2) to sqrt(2), times 2^exponent.
float mantissa_of(float x, out int exponent)
{
    uint b = floatBitsToUint(x);
    int more = 0;
    if (b < 0x00800000u) { // by bits, since the device may take denormal numbers for 0
        more = 23 - findMSB(b);
        b <<= uint(more);
    }
    exponent = int(b - 0x3F3504F3u) >> 23;
    float m = uintBitsToFloat(b - uint(exponent << 23));
    exponent -= more;
    return m;
}

//: small_whole
// The float of a whole number of at most 22 bits, without the conversion, which is slow on some devices.
float small_whole(int n)
{
    precise float y = intBitsToFloat(n + 0x4B400000) - 12582912.0;
    return y;
}

//: divided8
// a / b of integers of 8 bits, or a if b is 0: quotients are integers or further from them than what is added.
int divided8(int a, int b)
{
    precise float share = 1.0 / small_whole(b), q = small_whole(a) * share * 1.00005;
    return b == 0 ? a : int(q);
}
uint divided8(uint a, uint b) { return uint(divided8(int(a), int(b))); }

//: log_of
float log_of(float x)
{
    uint b = floatBitsToUint(x);
    if (b - 1u >= 0x7F7FFFFFu)
        return (b & 0x7FFFFFFFu) == 0u ? -INF : b == 0x7F800000u ? x : NAN;
    int e;
    float m = mantissa_of(x, e);
    return log_near(m - 1.0, small_whole(e));
}

//: log1p_within
// log(1 + x) for x from 0 to 1.
float log1p_within(float x)
{
    bool far = x > 0.41421356;
    precise float f = far ? 0.5 * x - 0.5 : x;
    return log_near(f, far ? 1.0 : 0.0);
}

//: tanh_of
float tanh_of(float x)
{
    float a = abs(x), e = expm1_within(a > 10.0 ? 20.0 : 2.0 * a);
    return kept_nan(x, with_sign(ratio(e, e + 2.0), x));
}

//: sigmoid_of
float sigmoid_of(float x)
{
    float a = abs(x), e = exp_within(a > 104.0 ? -104.0 : -a, 0.0);
    return kept_nan(x, ratio(x < 0.0 ? e : 1.0, 1.0 + e));
}

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

//: erf_of
// 1 - exp(-g) for a polynomial g of |x|.
float erf_of(float x)
{
    float a = abs(x);
    a = a > 3.95 ? 3.95 : a;
    precise float q = -9.257122507e-6;
    q = mad(q, a, 1.176489259e-4);
    q = mad(q, a, -6.328634217e-4);
    q = mad(q, a, 1.667073475e-3);
    q = mad(q, a, -1.604383848e-4);
    q = mad(q, a, -1.915304367e-2);
    q = mad(q, a, 1.027778260e-1);
    q = mad(q, a, 6.366193823e-1);
    q = mad(q, a, 1.128379172);
    return kept_nan(x, with_sign(expm1_within(-a * q), x));
}

//: erfc_far
// What gelu makes of x from 0 on where x is below 0: erfc(x / sqrt(2)) / 2, which is exp(-x^2 / 2) / (x + 4) times a
// polynomial of (x - 4) / (x + 4); times a factor, without which it may be a denormal number.
float erfc_far(float x, float factor)
{
    float error, s = exact_product(x, x, error);
    precise float share = 1.0 / (x + 4.0), t = mad(-8.0, share, 1.0);
    precise float p = -1.315024199e-4;
    p = mad(p, t, 1.803584243e-4);
    p = mad(p, t, 1.570273950e-3);
    p = mad(p, t, -3.513032219e-3);
    p = mad(p, t, -7.525546303e-3);
    p = mad(p, t, 6.040389600e-2);
    p = mad(p, t, -1.865233962e-1);
    p = mad(p, t, 3.871368985e-1);
    p = mad(p, t, -6.078965900e-1);
    p = mad(p, t, 7.552851354e-1);
    return factor * (p * share) * exp_within(-0.5 * s, -0.5 * error);
}

//: gelu_of
float gelu_of(float x)
{
    float low = x < -14.4 ? -14.4 : x, part = erfc_far(low > 14.4 ? 14.4 : abs(low), x < 0.0 ? low : 1.0);
    precise float y = x < 0.0 ? part : low * (1.0 - part);
    return kept_nan(x, y);
}

//: softplus_of
float softplus_of(float x, float steepness)
{
    float rest, y = exact_product(steepness, x, rest), a = abs(y);
    // What rounding takes from the product: the exponential would make many units of it.
    rest = a > 104.0 || is_nan(rest) ? 0.0 : y > 0.0 ? -rest : rest;
    precise float sum = (y > 0.0 ? y : 0.0) + log1p_within(exp_within(a > 104.0 ? -104.0 : -a, rest));
    sum = steepness == 1.0 ? sum : quotient(sum, steepness);
    return kept_nan(y, sum);
}

//: elu_of
float elu_of(float x, float alpha)
{
    precise float y = alpha * expm1_within(x < -30.0 ? -30.0 : x > 0.0 ? 0.0 : x);
    return x < 0.0 ? y : x;
}

//: linear_of
// alpha * x + beta with one rounding.
float linear_of(float x, float alpha, float beta)
{
    precise float plain = alpha * x + beta;
    float e1, e2, p = exact_product(alpha, x, e1), s = exact_sum(p, beta, e2);
    precise float y = s + (e1 + e2);
    return is_nan(y) || is_inf(y) ? plain : y;
}

//: softsign_of
float softsign_of(float x) { return is_inf(x) ? with_sign(1.0, x) : quotient(x, 1.0 + abs(x)); }

//: hard_swish_of
float hard_swish_of(float x) { precise float y = x * quotient(within(x + 3.0, 0.0, 6.0), 6.0); return y; }

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

//: exp_half
// Functions of float16 numbers, whose results become float16: native ones are good enough for that everywhere.
float exp_half(float x)
{
    precise float y = exp2((x < -18.0 ? -18.0 : x > 12.0 ? 12.0 : x) * 1.44269504);
    return kept_nan(x, y);
}

//: sigmoid_half
float sigmoid_half(float x)
{
    float a = abs(x);
    precise float e = exp2((a > 18.0 ? 18.0 : a) * -1.44269504), y = (x < 0.0 ? e : 1.0) / (1.0 + e);
    return kept_nan(x, y);
}

//: tanh_half
float tanh_half(float x)
{
    float a = abs(x);
    precise float e = exp2((a > 10.0 ? 10.0 : a) * -2.88539008), y = (1.0 - e) / (1.0 + e);
    return a < 0.0078125 ? x : kept_nan(x, with_sign(y, x));
}

//: erf_half
float erf_half(float x)
{
    float a = abs(x);
    a = a > 3.0 ? 3.0 : a;
    precise float q = 2.996060585e-3;
    q = mad(q, a, -2.979713331e-2);
    q = mad(q, a, 1.489368131e-1);
    q = mad(q, a, 9.183765386e-1);
    q = mad(q, a, 1.627908203);
    precise float y = a < 0.0078125 ? 1.128379167 * a : 1.0 - exp2(-a * q);
    return kept_nan(x, with_sign(y, x));
}

//: gelu_half
float gelu_half(float x)
{
    float low = x < -6.5 ? -6.5 : x, a = low > 6.5 ? 6.5 : abs(low);
    precise float share = 1.0 / (a + 3.0), t = mad(-6.0, share, 1.0);
    precise float p = 3.592120310e-3;
    p = mad(p, t, -1.181913091e-2);
    p = mad(p, t, -4.670965159e-2);
    p = mad(p, t, 2.302528171e-1);
    p = mad(p, t, -5.093587263e-1);
    p = mad(p, t, 7.290793752e-1);
    p = p * share * exp2(a * a * -0.72134752);
    precise float y = low * (x < 0.0 ? p : 1.0 - p);
    return kept_nan(x, y);
}

//: softplus_half
float softplus_half(float x, float steepness)
{
    precise float y = steepness * x;
    float a = abs(y);
    precise float e = exp2((a > 18.0 ? 18.0 : a) * -1.44269504);
    precise float q = 1.414078377e-2;
    q = mad(q, e, -6.640107802e-2);
    q = mad(q, e, 1.492230600e-1);
    q = mad(q, e, -2.350381795e-1);
    q = mad(q, e, 3.310943898e-1);
    q = mad(q, e, -4.998696478e-1);
    q = mad(q, e, 0.9999987314);
    precise float sum = (y > 0.0 ? y : 0.0) + q * e;
    sum = steepness == 1.0 ? sum : quotient(sum, steepness);
    return kept_nan(y, sum);
}

//: elu_half
float elu_half(float x, float alpha)
{
    float a = x > 0.0 ? 0.0 : x < -18.0 ? -18.0 : x;
    precise float e = a > -0.0078125 ? a + 0.5 * a * a : exp2(a * 1.44269504) - 1.0, y = alpha * e;
    return x < 0.0 ? y : x;
}

//: softsign_half
float softsign_half(float x)
{
    precise float y = x / (1.0 + abs(x));
    return is_inf(x) ? with_sign(1.0, x) : y;
}

//: sqrt_half
float sqrt_half(float x) { return x > 0.0 && x < 65536.0 ? sqrt(x) : x < 0.0 ? NAN : x; }

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

//: steps_half
// x / s of float16 numbers, rounded once where quotients lie between integers, or 0 for NaN: without a branch, which would
// keep the steps of neighbours apart.
float steps_half(float x, float s)
{
    precise float share = 1.0 / s, q = x * share, near = mad(less_product(x, q, s), share, q);
    float y = abs(q) < 1e9 ? near : q;
    return is_nan(y) ? 0.0 : y;
}

//: steps_of
// The same of any numbers.
float steps_of(float x, float s)
{
    float size = abs(s), unit = size > 1e30 ? 5.421010862427522e-20 : size < 1e-30 ? 1.8446744073709552e19 : 1.0;
    return steps_half(x * unit, s * unit);
}

//: whole_of
// The integer from low to high, of at most 9 bits, that is nearest to x; ties to even.
int whole_of(float x, int low, int high)
{
    precise float y = clamp(x, small_whole(low), small_whole(high)) + 12582912.0;
    return floatBitsToInt(y) - 0x4B400000;
}

//: whole_half
// That of x / s, of float16 numbers: quotients of less than 2^10 that are not half way between integers are further from
// there than 2^-12, to which the first sum rounds.
int whole_half(float x, float s, int low, int high)
{
    precise float q = x * (1.0 / s);
    precise float y = clamp(is_nan(q) ? 0.0 : q, small_whole(low), small_whole(high)) + 3072.0;
    y = y + 12579840.0;
    return floatBitsToInt(y) - 0x4B400000;
}

//: quantized
// A whole number plus the zero point, limited to the type.
int quantized(float y, int z)
{
    if (abs(y) < 1073741824.0 && z > -0x40000000 && z < 0x40000000)
        return int(y) + z;
    I64 sum = add(i64_of(within(y, -1e12, 1e12)), i64_of(z));
    return int(within(sum, I64(0x80000000u, ~0u), I64(0x7FFFFFFFu, 0u)).lo);
}
uint quantized(float y, uint z)
{
    if (abs(y) < 1073741824.0 && z < 0x40000000u)
        return uint(max(int(y) + int(z), 0));
    I64 sum = add(i64_of(within(y, -1e12, 1e12)), i64_of(z));
    return within(sum, I64(0u, 0u), I64(~0u, 0u)).lo;
}

//: scaled
// A difference of small integers times a scale, of which only the scale may be denormal.
float scaled(int difference, float scale)
{
    float d = small_whole(difference);
    if ((floatBitsToUint(scale) & 0x7FFFFFFFu) - 1u < 0x007FFFFFu)
        return mul(d, scale);
    precise float y = d * scale;
    return y;
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

//: product2
// Pairs of floats stand for their sum. What is not finite is in the first.
vec2 product2(float a, float b)
{
    float error, y = exact_product(a, b, error);
    return vec2(y, is_nan(error) ? 0.0 : error);
}

//: sum2
vec2 sum2(vec2 a, vec2 b)
{
    float e1, e2, s = exact_sum(a.x, b.x, e1);
    precise float low = e1 + (a.y + b.y);
    if (is_nan(low) || is_inf(low))
        return vec2(s, 0.0);
    float y = exact_sum(s, low, e2);
    return vec2(y, e2);
}

//: times2
vec2 times2(vec2 a, vec2 b)
{
    float e1, e2, p = exact_product(a.x, b.x, e1);
    precise float low = e1 + (a.x * b.y + a.y * b.x);
    if (is_nan(low) || is_inf(low))
        return vec2(p, 0.0);
    float y = exact_sum(p, low, e2);
    return vec2(y, e2);
}

//: quotient2
vec2 quotient2(vec2 a, vec2 b)
{
    precise float q = a.x / b.x;
    vec2 y = vec2(q, 0.0);
    for (int i = 0; i < 2; i++) { // native division is not exact
        vec2 rest = sum2(a, -times2(b, y));
        precise float more = (rest.x + rest.y) / b.x;
        if (is_nan(more) || is_inf(more))
            return y;
        y = sum2(y, vec2(more, 0.0));
    }
    // Less than a double would hold is an error, and makes no zero of what is one.
    return abs(y.y) < abs(y.x) * 8.8817842e-16 ? vec2(y.x, 0.0) : y;
}

//: exp_parts2
// exp(x) = 2^n * (1 + result), |x| up to 87.
vec2 exp_parts2(vec2 x, out int n)
{
    precise float k = roundEven(x.x * 1.44269504088896341);
    n = int(k);
    vec2 r = sum2(x, vec2(-k * 0.693359375, 0.0));
    r = sum2(r, product2(k, 2.12194440e-4));
    r = sum2(r, vec2(k * -1.6465718e-12, 0.0));
    precise float t = r.x;
    precise float q = 2.4801587e-5 * t + 1.9841270e-4;
    q = mad(q, t, 1.3888889e-3);
    q = mad(q, t, 8.3333333e-3);
    q = mad(q, t, 4.1666667e-2);
    precise float fourth = q * t * t * t * t;
    vec2 square = times2(r, r), cube = times2(square, r);
    vec2 tail = sum2(times2(cube, vec2(0.16666667163372040, -4.9670537e-9)), vec2(fourth, 0.0));
    return sum2(r, sum2(square * 0.5, tail));
}

//: expm1_2
vec2 expm1_2(vec2 x)
{
    int n;
    vec2 m = exp_parts2(x, n);
    float scale = intBitsToFloat((n + 127) << 23);
    return sum2(m * scale, vec2(scale - 1.0, 0.0));
}

//: sigmoid2
vec2 sigmoid2(vec2 x)
{
    if (is_nan(x.x))
        return x;
    if (abs(x.x) > 87.0)
        return vec2(x.x > 0.0 ? 1.0 : exp_of(x.x), 0.0);
    return quotient2(vec2(1.0, 0.0), sum2(vec2(2.0, 0.0), expm1_2(-x)));
}

//: tanh2
vec2 tanh2(vec2 x)
{
    if (is_nan(x.x))
        return x;
    if (abs(x.x) > 20.0)
        return vec2(x.x > 0.0 ? 1.0 : -1.0, 0.0);
    vec2 y = expm1_2(x * (x.x < 0.0 ? -2.0 : 2.0));
    y = quotient2(y, sum2(y, vec2(2.0, 0.0)));
    return x.x < 0.0 ? -y : y;
}

//: inverse_root
// 1 / sqrt(x), refined once.
vec2 inverse_root(vec2 x)
{
#ifdef FUSED
    if (x.x > 1e-30 && x.x < 1e30) {
        precise float y = inversesqrt(x.x), p = x.x * y, p_low = fma(x.x, y, -p) + x.y * y;
        precise float near = fma(-p, y, 1.0) - p_low * y;
        return vec2(y, 0.5 * y * near);
    }
#endif
    float v = x.x + x.y, f = quotient(1.0, sqrt_of(v));
    if (is_nan(f) || is_inf(f) || f == 0.0)
        return vec2(f, 0.0);
    vec2 rest = sum2(vec2(1.0, 0.0), -times2(x, product2(f, f)));
    return vec2(f, 0.5 * f * rest.x);
}

//: normalised
// (x - mean) * factor * scale + bias, rounded hardly more than once; `s` is mean and factor.
#ifdef FUSED
float normalised(float x, vec4 s, float scale, float bias)
{
    float rest, d = exact_sum(x, -s.x, rest);
    precise float low = rest - s.y, factor = s.z * scale, more = fma(s.w, scale, fma(s.z, scale, -factor));
    precise float plain = fma(d, factor, bias), y = fma(low, factor, fma(d, more, plain));
    return is_nan(y) ? plain : y;
}
#else
float normalised(float x, vec4 s, float scale, float bias)
{
    vec2 y = times2(sum2(vec2(x, 0.0), -s.xy), s.zw);
    y = sum2(times2(y, vec2(scale, 0.0)), vec2(bias, 0.0));
    return y.x + y.y;
}
#endif

//: dequantized
float dequantized(I64 difference, float scale)
{
    precise float high = float(int(difference.hi)) * 4294967296.0 + float(difference.lo >> 16) * 65536.0;
    float error, whole = exact_sum(high, float(difference.lo & 0xFFFFu), error);
    vec2 y = times2(vec2(whole, error), vec2(scale, 0.0));
    return y.x + y.y;
}

//: dequantized_half
// The halves of the difference are exact.
float dequantized_half(int x, int zero, float scale)
{
    precise float high = float(x >> 16) - float(zero >> 16), low = float(x & 0xFFFF) - float(zero & 0xFFFF);
    precise float y = mad(high, 65536.0, low) * scale;
    return y;
}
float dequantized_half(uint x, uint zero, float scale)
{
    precise float high = float(x >> 16) - float(zero >> 16), low = float(x & 0xFFFFu) - float(zero & 0xFFFFu);
    precise float y = mad(high, 65536.0, low) * scale;
    return y;
}

//: log_sum2
float log_sum2(vec2 x)
{
    precise float y = log_of(x.x) + (is_inf(x.x) || x.x == 0.0 ? 0.0 : x.y / x.x);
    return y;
}

//: mean2
// A sum of n numbers by n.
vec2 mean2(vec2 sum, float n) { return quotient2(sum, vec2(n, 0.0)); }

//: square2
vec2 square2(vec2 x) { return times2(x, x); }

//: log_half
float log_half(float x)
{
    precise float f = x - 1.0;
    precise float q = 2.037457324e-1;
    q = mad(q, f, -2.532675746e-1);
    q = mad(q, f, 3.333101320e-1);
    q = mad(q, f, -4.999874734e-1);
    precise float near = mad(q * f, f, f), y = abs(f) < 0.125 ? near : log2(x) * 0.693147181;
    return floatBitsToUint(x) - 1u < 0x7F7FFFFFu ? y : x == 0.0 ? -INF : x > 0.0 ? x : NAN;
}

//: turn_half
// What is left of x behind the nearest multiple of pi / 2, which the lowest two bits of `quarter` count.
#ifdef FUSED
float turn_half(float x, out int quarter)
{
    precise float shifted = fma(x, 0.63661977236758134, 12582912.0), n = shifted - 12582912.0;
    precise float r = fma(n, 4.37113900e-8, fma(n, -1.57079637050628662, x));
    quarter = floatBitsToInt(shifted);
    return r;
}
#else
float turn_half(float x, out int quarter) { return turn(x, quarter); }
#endif

//: sine_half
float sine_half(float x, int quarter)
{
    int q;
    precise float r = turn_half(x, q), z = r * r;
    precise float s = mad(mad(8.164564647e-3, z, -1.666345684e-1) * z, r, r);
    precise float c = mad(mad(mad(-1.359177352e-3, z, 4.165577109e-2), z, -4.999988465e-1), z, 1.0);
    q += quarter;
    float y = (q & 1) == 0 ? s : c;
    return (q & 2) == 0 ? y : -y;
}

//: tan_half
float tan_half(float x)
{
    int quarter;
    precise float r = turn_half(x, quarter), z = r * r;
    precise float q = 2.012324338e-2;
    q = mad(q, z, 1.298041959e-2);
    q = mad(q, z, 5.690707604e-2);
    q = mad(q, z, 1.329229583e-1);
    q = mad(q, z, 3.333516099e-1);
    precise float y = mad(q * z, r, r);
    return (quarter & 1) == 0 ? y : -1.0 / y;
}

//: linear_half
float linear_half(float x, float alpha, float beta) { precise float y = alpha * x + beta; return y; }

//: within_half
float within_half(float x, float low, float high) { return kept_nan(x, x < low ? low : x > high ? high : x); }

//: hard_swish_half
float hard_swish_half(float x)
{
    precise float y = x * (within_half(x + 3.0, 0.0, 6.0) * 0.166666667);
    return y;
}

//: pow_half
float pow_half(float x, float y)
{
    uint b = floatBitsToUint(x);
    if (b - 1u >= 0x7F7FFFFFu || !(abs(y) < 65536.0))
        return pow_far(x, y);
    int e = int(b - 0x3F3504F3u) >> 23;
    precise float f = uintBitsToFloat(b - uint(e << 23)) - 1.0, q = f / (f + 2.0), z = q * q;
    precise float series = mad(mad(mad(4.309867661e-1, z, 5.767530234e-1), z, 9.617982840e-1), z, 2.88539008);
    precise float t = y * mad(q, series, small_whole(e));
    return exp2(t < -26.0 ? -26.0 : t > 17.0 ? 17.0 : t);
}

//: normalised_half
float normalised_half(float x, vec4 s, float scale, float bias)
{
    precise float y = mad((x - s.x - s.y) * s.z, scale, bias);
    return y;
}
