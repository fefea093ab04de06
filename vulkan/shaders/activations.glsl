// SPDX-License-Identifier: Apache-2.0
//
// Activations that are no more than a formula.

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
