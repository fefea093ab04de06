// SPDX-License-Identifier: Apache-2.0
//
// Exponentials and logarithms, and what is made of them alone.

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
