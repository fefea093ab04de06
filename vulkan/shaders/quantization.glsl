// SPDX-License-Identifier: Apache-2.0
//
// quantizeLinear and dequantizeLinear.

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
