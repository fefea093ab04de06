// SPDX-License-Identifier: Apache-2.0
//
// gru and lstm of few inputs: what all steps take from the input, W x, as [direction, step, batch, line] with a line
// for each element of each gate. Sums are kept in two floats.

OUT element(uint i)
{
    uint line = i % LINES, rest = i / LINES, at = rest % (STEPS * BATCHES), direction = rest / (STEPS * BATCHES);
    uint whole_line = direction * LINES + line;
    vec2 sum = vec2(0.0);
    for (uint k = 0u; k < INPUTS; k++)
        sum = sum2(sum, product2(w_at(whole_line * INPUTS + k), a_at(at * INPUTS + k)));
    return sum;
}
