// SPDX-License-Identifier: Apache-2.0
//
// Numbers as two floats, whose sum they are: with them sums are as good as in double.

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

//: normalized
// (x - mean) * factor * scale + bias, rounded hardly more than once; `s` is mean and factor.
#ifdef FUSED
float normalized(float x, vec4 s, float scale, float bias)
{
    float rest, d = exact_sum(x, -s.x, rest);
    precise float low = rest - s.y, factor = s.z * scale, more = fma(s.w, scale, fma(s.z, scale, -factor));
    precise float plain = fma(d, factor, bias), y = fma(low, factor, fma(d, more, plain));
    return is_nan(y) ? plain : y;
}
#else
float normalized(float x, vec4 s, float scale, float bias)
{
    vec2 y = times2(sum2(vec2(x, 0.0), -s.xy), s.zw);
    y = sum2(times2(y, vec2(scale, 0.0)), vec2(bias, 0.0));
    return y.x + y.y;
}
#endif

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
