// SPDX-License-Identifier: Apache-2.0
//
// Functions of which the result becomes float16: a few bits do.

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
    precise float e = exp2((a > 10.0 ? 10.0 : a) * -2.88539008), y = a < 0.0078125 ? a : (1.0 - e) / (1.0 + e);
    return kept_nan(x, with_sign(y, x)); // a choice behind the sign becomes 0 in LLVM 15 for Zen 5
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
// x times erfc(|x| / sqrt(2)) / 2, or what that leaves of 1: 2^(-1 - g) for a polynomial g of |x|.
float gelu_half(float x)
{
    float low = x < -6.5 ? -6.5 : x, a = min(abs(low), 6.5); // NaN comes through low
    precise float q = -3.26063487e-5;
    q = mad(q, a, 7.50861512e-4);
    q = mad(q, a, -7.95659458e-3);
    q = mad(q, a, 5.30928113e-2);
    q = mad(q, a, 4.59111924e-1);
    q = mad(q, a, 1.15107416);
    precise float p = exp2(mad(-q, a, -1.0)), y = low * (x < 0.0 ? p : 1.0 - p);
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

//: normalized_half
float normalized_half(float x, vec4 s, float scale, float bias)
{
    precise float y = mad((x - s.x - s.y) * s.z, scale, bias);
    return y;
}
