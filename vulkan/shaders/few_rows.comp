// SPDX-License-Identifier: Apache-2.0
//
// Products of few rows with constants, whose bytes are read once and are what takes the time: LANES invocations share
// the terms of SIDE columns, for all rows. An invocation loads UNIT weights of a column at a time, neighbors those
// beside them, AHEAD of them on their way at once.

#define STEP       (LANES * UNIT)
#define TOGETHER   uint(JOINED) // lanes that hand one another sums
#define PARTS      (LANES / TOGETHER)
#define PLACES     (GROUPS * SIDE) // columns of a workgroup
#define SPAN       min(WEIGHT_QUADS, 2u)

shared float pool[GROUPS * PARTS * ROWS * SIDE];

// SPAN quads of the terms of a row.
void load_row(uint at, out vec4 row[SPAN])
{
#if EIGHTS_A
    uvec4 words = a_eight(at);
    row[0] = vec4(loaded_halves(words.x), loaded_halves(words.y));
    row[1] = vec4(loaded_halves(words.z), loaded_halves(words.w));
#elif QUADS_A
    [[unroll]] for (uint q = 0u; q < SPAN; q++)
        row[q] = a_quad(at + 4u * q);
#else
    [[unroll]] for (uint q = 0u; q < SPAN; q++)
        [[unroll]] for (uint e = 0u; e < 4u; e++)
            row[q][e] = a_at(at + (4u * q + e) * A_INNER);
#endif
}

void main()
{
    uint self = gl_LocalInvocationIndex, lane = self % LANES, group = self / LANES, matrix = gl_WorkGroupID.z;
    uint begin = gl_WorkGroupID.x * PLACES, from_a = a_index(matrix), from_b = b_index(matrix), columns[SIDE];
    float sums[ROWS][SIDE];
    [[unroll]] for (uint c = 0u; c < SIDE; c++) {
        columns[c] = min(begin + group * SIDE + c, COLUMNS - 1u);
        [[unroll]] for (uint m = 0u; m < ROWS; m++)
            sums[m][c] = 0.0;
    }
    for (uint first = lane * UNIT; first < INNER; first += AHEAD * STEP) {
        PACK packs[AHEAD][SIDE];
        float scales[AHEAD][SIDE], zeros[AHEAD][SIDE];
        [[unroll]] for (uint i = 0u; i < AHEAD; i++)
            [[unroll]] for (uint c = 0u; c < SIDE; c++) {
                uint k = min(first + i * STEP, INNER - UNIT);
                packs[i][c] = b_pack(from_b + columns[c] * B_COLUMN + k);
                scales[i][c] = SINGLE_SCALE == 1 ? scale_at(columns[c], k) : 1.0;
                zeros[i][c] = SINGLE_SCALE == 1 ? zero_at(columns[c], k) : 0.0;
            }
        [[unroll]] for (uint i = 0u; i < AHEAD; i++) {
            uint k = first + i * STEP;
            if (k < INNER) {
                float parts[ROWS][SIDE]; // of the sums, before they are scaled
                [[unroll]] for (uint m = 0u; m < ROWS; m++)
                    [[unroll]] for (uint c = 0u; c < SIDE; c++)
                        parts[m][c] = SCALES_SUMS == 1 ? 0.0 : sums[m][c];
                [[unroll]] for (uint s = 0u; s < WEIGHT_QUADS; s += SPAN) {
                    vec4 weights[SIDE][SPAN], row[SPAN];
                    [[unroll]] for (uint c = 0u; c < SIDE; c++)
                        [[unroll]] for (uint q = 0u; q < SPAN; q++)
                            weights[c][q] = quad_of(packs[i][c], s + q, columns[c], k, scales[i][c], zeros[i][c]);
                    [[unroll]] for (uint m = 0u; m < ROWS; m++) {
                        load_row(from_a + m * A_ROW + (k + 4u * s) * A_INNER, row);
                        [[unroll]] for (uint c = 0u; c < SIDE; c++)
                            [[unroll]] for (uint q = 0u; q < SPAN; q++)
                                [[unroll]] for (uint e = 0u; e < 4u; e++)
                                    parts[m][c] = mad(row[q][e], weights[c][q][e], parts[m][c]);
                    }
                }
                [[unroll]] for (uint m = 0u; m < ROWS; m++)
                    [[unroll]] for (uint c = 0u; c < SIDE; c++)
                        sums[m][c] = SCALES_SUMS == 1 ? mad(parts[m][c], scales[i][c], sums[m][c]) : parts[m][c];
            }
        }
    }
    [[unroll]] for (uint m = 0u; m < ROWS; m++)
        [[unroll]] for (uint c = 0u; c < SIDE; c++) {
            float sum = sums[m][c];
#if JOINED > 1
            [[unroll]] for (uint far = 1u; far < TOGETHER; far <<= 1)
                sum += subgroupShuffleXor(sum, far);
#endif
            if (lane % TOGETHER == 0u)
                pool[((group * PARTS + lane / TOGETHER) * ROWS + m) * SIDE + c] = sum;
        }
    barrier();
    uint from_out = out_index(matrix);
    for (uint i = self * PER; i < ROWS * PLACES; i += gl_WorkGroupSize.x * PER) {
        uint m = i / PLACES, n = i % PLACES, at = from_out + m * OUT_ROW + begin + n;
        if (begin + n >= COLUMNS) // a multiple of PER
            continue;
        WORD word = WORD(0u);
        [[unroll]] for (uint d = 0u; d < PER; d++) {
            float sum = 0.0;
            for (uint part = 0u; part < PARTS; part++)
                sum += pool[(((n + d) / SIDE * PARTS + part) * ROWS + m) * SIDE + (n + d) % SIDE];
            put(word, d, finish(scaled(sum, at + d), at + d));
        }
        store(at / PER, word);
    }
}
