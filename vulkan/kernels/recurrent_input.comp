// SPDX-License-Identifier: Apache-2.0
//
// gru and lstm: what all steps take from the input, W x + bias (+ recurrentBias), as [direction, step, batch, line]
// with a line for each element of each gate. Sums are kept in two floats.

OUT element(uint i)
{
    uint line = i % LINES, rest = i / LINES, at = rest % (STEPS * BATCHES), direction = rest / (STEPS * BATCHES);
    uint whole_line = direction * LINES + line;
    vec2 sum = vec2(0.0);
    for (uint k = 0u; k < INPUTS; k++)
        sum = sum2(sum, product2(w_at(whole_line * INPUTS + k), a_at(at * INPUTS + k)));
#ifdef BIAS
    sum = sum2(sum, vec2(b_at(whole_line), 0.0));
#endif
#ifdef RECURRENT_BIAS
    // With a reset after it, the gate of the new state takes its bias along.
    if (line < BIASED_LINES)
        sum = sum2(sum, vec2(r_at(whole_line), 0.0));
#endif
    return sum;
}
