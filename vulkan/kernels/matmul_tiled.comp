// SPDX-License-Identifier: Apache-2.0
//
// matmul and gemm in tiles of TILE_M x TILE_N: a workgroup of 16 x 16 invocations holds TILE_K columns of a and rows of
// b in shared memory, and each invocation a block of sums in registers. Elements of a block lie 16 apart, those of a
// word beside one another.

#define BLOCK_M (TILE_M / 16u)
#define BLOCK_N (TILE_N / 16u)

shared float tile_a[TILE_K][TILE_M + 1u];
shared float tile_b[TILE_K][TILE_N + 1u];

// The column of the tile of element j of an invocation's block.
uint column_of(uint j, uint x) { return (j / PER * 16u + x) * PER + j % PER; }

void main()
{
    uint self = gl_LocalInvocationIndex, x = self % 16u, y = self / 16u, matrix = gl_WorkGroupID.z;
    uint first_m = gl_WorkGroupID.y * TILE_M, first_n = gl_WorkGroupID.x * TILE_N;
    uint from_a = a_index(matrix), from_b = b_index(matrix);
    float sums[BLOCK_M][BLOCK_N];
    for (uint i = 0u; i < BLOCK_M; i++)
        for (uint j = 0u; j < BLOCK_N; j++)
            sums[i][j] = 0.0;
    for (uint k0 = 0u; k0 < INNER; k0 += TILE_K) {
        for (uint t = self; t < TILE_M * TILE_K; t += 256u) {
            // Neighbours load neighbours.
            uint m = A_INNER == 1u ? t / TILE_K : t % TILE_M, k = A_INNER == 1u ? t % TILE_K : t / TILE_M;
            bool inside = first_m + m < ROWS && k0 + k < INNER;
            tile_a[k][m] = inside ? a_at(from_a + (first_m + m) * A_ROW + (k0 + k) * A_INNER) : 0.0;
        }
        for (uint t = self; t < TILE_N * TILE_K; t += 256u) {
            uint n = B_COLUMN == 1u ? t % TILE_N : t / TILE_K, k = B_COLUMN == 1u ? t / TILE_N : t % TILE_K;
            bool inside = first_n + n < COLUMNS && k0 + k < INNER;
            tile_b[k][n] = inside ? b_at(from_b + (first_n + n) * B_COLUMN + (k0 + k) * B_INNER) : 0.0;
        }
        barrier();
        for (uint k = 0u; k < TILE_K; k++) {
            float column[BLOCK_M], row[BLOCK_N];
            for (uint i = 0u; i < BLOCK_M; i++)
                column[i] = tile_a[k][i * 16u + y];
            for (uint j = 0u; j < BLOCK_N; j++)
                row[j] = tile_b[k][column_of(j, x)];
            for (uint i = 0u; i < BLOCK_M; i++)
                for (uint j = 0u; j < BLOCK_N; j++)
                    sums[i][j] += column[i] * row[j];
        }
        barrier();
    }
    for (uint i = 0u; i < BLOCK_M; i++) {
        uint m = first_m + i * 16u + y;
        if (m >= ROWS)
            continue;
        for (uint j = 0u; j < BLOCK_N; j += PER) {
            uint n = first_n + column_of(j, x);
            if (n >= COLUMNS)
                continue;
            WORD word = WORD(0u);
            for (uint e = 0u; e < PER; e++) { // COLUMNS is a multiple of PER
                float sum = sums[i][j + e];
#ifdef ALPHA
                sum *= ALPHA;
#endif
#ifdef BETA
                sum += BETA * c_at(m * C_ROW + (n + e) * C_COLUMN);
#endif
                put(word, e, finish(sum, (matrix * ROWS + m) * COLUMNS + n + e));
            }
            store(((matrix * ROWS + m) * COLUMNS + n) / PER, word);
        }
    }
}
