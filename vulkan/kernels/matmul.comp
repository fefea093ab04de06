// SPDX-License-Identifier: Apache-2.0
//
// matmul and gemm, an element at a time: alpha * sum of a[m, k] * b[k, n] + beta * c[m, n], a matrix of each operand
// for each matrix of the output.

OUT element(uint i)
{
    uint n = i % COLUMNS, rest = i / COLUMNS, m = rest % ROWS, matrix = rest / ROWS;
    uint from_a = a_index(matrix) + m * A_ROW, from_b = b_index(matrix) + n * B_COLUMN;
    float sum = 0.0;
    for (uint k = 0u; k < INNER; k++)
        sum += a_at(from_a + k * A_INNER) * b_at(from_b + k * B_INNER);
#ifdef ALPHA
    sum *= ALPHA;
#endif
#ifdef BETA
    sum += BETA * c_at(m * C_ROW + n * C_COLUMN);
#endif
    return sum;
}
