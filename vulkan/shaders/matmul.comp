// SPDX-License-Identifier: Apache-2.0
//
// Small products, an element at a time, a matrix of each operand for each matrix of the output.

OUT element(uint i)
{
    uint n = i % COLUMNS, rest = i / COLUMNS, m = rest % ROWS, matrix = rest / ROWS;
    uint from_a = a_index(matrix) + m * A_ROW, from_b = b_index(matrix) + n * B_COLUMN;
    vec2 pair = vec2(0.0); // these sums are short
    for (uint k = 0u; k < INNER; k++)
        pair = sum2(pair, product2(a_at(from_a + k * A_INNER), b_at(from_b + k * B_INNER)));
    return scaled(pair.x + pair.y, i);
}
