// SPDX-License-Identifier: Apache-2.0
//
// Sums, products, quotients, extremes, signs.

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

//: mul_coarse
// Without a branch: a denormal factor is as good as any that is as small, but no 0, of which infinity makes a NaN.
float normal_or_zero(float x)
{
    uint b = floatBitsToUint(x);
    return (b & 0x7FFFFFFFu) - 1u < 0x007FFFFFu ? uintBitsToFloat((b & 0x80000000u) | 0x00800000u) : x;
}
float mul_coarse(float a, float b)
{
    precise float y = normal_or_zero(a) * normal_or_zero(b);
    return y;
}

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

//: modulus_truncate
// By bits, so that it is exact and denormal numbers count: eight bits of the quotient at a time.
float modulus_truncate(float a, float b)
{
    uint x = floatBitsToUint(a) & 0x7FFFFFFFu, y = floatBitsToUint(b) & 0x7FFFFFFFu;
    if (x >= 0x7F800000u || y > 0x7F800000u || y == 0u)
        return NAN;
    if (x < y)
        return a;
    uint rest = x < 0x00800000u ? x : (x & 0x007FFFFFu) | 0x00800000u;
    uint divisor = y < 0x00800000u ? y : (y & 0x007FFFFFu) | 0x00800000u;
    int exponent = max(int(y >> 23), 1), shift = max(int(x >> 23), 1) - exponent;
    rest %= divisor;
    for (; shift > 0 && rest != 0u; shift -= 8)
        rest = (rest << uint(min(shift, 8))) % divisor;
    if (rest == 0u)
        return uintBitsToFloat(floatBitsToUint(a) & 0x80000000u);
    int up = min(23 - findMSB(rest), exponent - 1);
    rest <<= uint(up);
    uint bits = rest < 0x00800000u ? rest : (rest & 0x007FFFFFu) | uint(exponent - up) << 23;
    return uintBitsToFloat(bits | (floatBitsToUint(a) & 0x80000000u));
}
int modulus_truncate(int a, int b)
{
    uint rest = b == 0 ? uint(abs(a)) : uint(abs(a)) % uint(abs(b));
    return a < 0 ? -int(rest) : int(rest);
}
uint modulus_truncate(uint a, uint b) { return b == 0u ? a : a % b; }

//: modulus_truncate U64
U64 modulus_truncate(U64 a, U64 b)
{
    if ((b.lo | b.hi) == 0u)
        return a;
    return sub(a, mul(div(a, b), b));
}

//: modulus_truncate I64
I64 modulus_truncate(I64 a, I64 b)
{
    if ((b.lo | b.hi) == 0u)
        return a;
    return sub(a, mul(div(a, b), b));
}

//: modulus_floor
float modulus_floor(float a, float b)
{
    float rest = modulus_truncate(a, b);
    uint bits = floatBitsToUint(rest), sign = floatBitsToUint(b) & 0x80000000u;
    if (is_nan(rest))
        return rest;
    if ((bits & 0x7FFFFFFFu) == 0u)
        return uintBitsToFloat(sign);
    return (bits & 0x80000000u) == sign ? rest : add(rest, b);
}
int modulus_floor(int a, int b)
{
    int rest = modulus_truncate(a, b);
    return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
uint modulus_floor(uint a, uint b) { return modulus_truncate(a, b); }

//: modulus_floor U64
U64 modulus_floor(U64 a, U64 b) { return modulus_truncate(a, b); }

//: modulus_floor I64
I64 modulus_floor(I64 a, I64 b)
{
    I64 rest = modulus_truncate(a, b);
    bool none = (rest.lo | rest.hi) == 0u || (b.lo | b.hi) == 0u;
    if (none || int(rest.hi ^ b.hi) >= 0)
        return rest;
    return add(rest, b);
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
