// SPDX-License-Identifier: Apache-2.0
//
// Attention of BR rows of the query at once, which meet BC keys at a time. Scores stay with the invocations that make
// them, and become weights in shared memory; the greatest score of a row so far, the sum of its weights and of the
// values times these are shrunk where a greater one comes. An invocation has TM rows, every TX-th key, and every TX-th
// quad of the columns. Scores that are NaN need not be the greatest: their weights are NaN, whatever is.

#define THREADS (TX * TY)
#define BR (TY * TM)
#define BC (TX * TN)
#define DEPTH_QUADS ((DEPTH + 3u) / 4u)
#define WIDTH_QUADS ((WIDTH + 3u) / 4u)
#define QUERY_PITCH (DEPTH_QUADS | 1u)
#define TILE_PITCH (max(DEPTH_QUADS, WIDTH_QUADS) | 1u)
#define WEIGHT_PITCH (BC / 4u + 1u)
#define OWN_QUADS ((WIDTH_QUADS + TX - 1u) / TX)
#define PARTS (TX / JOINED)

shared vec4 queries[BR * QUERY_PITCH];
shared vec4 tile[BC * TILE_PITCH]; // keys, then values
shared vec4 weights[BR * WEIGHT_PITCH];
shared float pool[BR * PARTS];
#if HAS_RANGES
shared uint ranges[5];
#endif

void main()
{
    uint self = gl_LocalInvocationIndex, tx = self % TX, ty = self / TX;
    uint matrix = MATRIX, first_row = ROW_GROUP * BR;
#if HAS_RANGES
    uint first_attended = KEYS, end_attended = 0u, first_zero = 0u, end_zeros = KEYS, holes = 0u;
    for (uint m = first_row + FIRST_RANGE(self); m < min(first_row + RANGES(BR), ROWS); m += THREADS)
        add_range(matrix, m)
    join_ranges(self)
    barrier();
    read_ranges
#endif
    uint begin = gl_WorkGroupID.y * SPLIT, end = last_key(min(begin + SPLIT, KEYS), first_row);
    begin = first_key(begin, first_row);
    uint from_query = query_index(matrix), from_key = key_index(matrix), from_value = value_index(matrix);
    for (uint i = self; i < BR * DEPTH_QUADS; i += THREADS)
        queries[i / DEPTH_QUADS * QUERY_PITCH + i % DEPTH_QUADS] =
            query_part(from_query, first_row + i / DEPTH_QUADS, i % DEPTH_QUADS);

    vec4 mixed[TM][OWN_QUADS];
    float greatest[TM], sums[TM];
    uint from_mask[TM];
    UNROLL for (uint i = 0u; i < TM; i++) {
        greatest[i] = -INF;
        sums[i] = 0.0;
        from_mask[i] = mask_index(matrix) + mask_row_index(min(first_row + ty * TM + i, ROWS - 1u));
        UNROLL for (uint c = 0u; c < OWN_QUADS; c++)
            mixed[i][c] = vec4(0.0);
    }
    for (uint first = begin; first < end; first += BC) {
        for (uint i = self; i < BC * DEPTH_QUADS; i += THREADS) {
            uint n = KEYS_ALONG == 1 ? i % BC : i / DEPTH_QUADS, q = KEYS_ALONG == 1 ? i / BC : i % DEPTH_QUADS;
            tile[n * TILE_PITCH + q] = key_part(from_key, first + n, q, end);
        }
        barrier();
        float scores[TM][TN];
        UNROLL for (uint i = 0u; i < TM; i++)
            UNROLL for (uint j = 0u; j < TN; j++)
                scores[i][j] = 0.0;
        for (uint q = 0u; q < DEPTH_QUADS; q++) {
            vec4 rows[TM];
            UNROLL for (uint i = 0u; i < TM; i++)
                rows[i] = queries[(ty * TM + i) * QUERY_PITCH + q];
            UNROLL for (uint j = 0u; j < TN; j++) {
                vec4 key = tile[(tx + j * TX) * TILE_PITCH + q];
                UNROLL for (uint i = 0u; i < TM; i++)
                    UNROLL for (uint e = 0u; e < 4u; e++)
                        scores[i][j] = mad(rows[i][e], key[e], scores[i][j]);
            }
        }
#if HAS_RANGES
        if (are_zeros(first)) {
            UNROLL for (uint i = 0u; i < TM; i++)
                UNROLL for (uint j = 0u; j < TN; j++)
                    scores[i][j] *= SCALE;
        } else if (holes == 0u) {
            UNROLL for (uint i = 0u; i < TM; i++) {
                uvec2 run = run_of(matrix, first_row + ty * TM + i);
                UNROLL for (uint j = 0u; j < TN; j++)
                    scores[i][j] = in_run(scores[i][j] * SCALE, first + tx + j * TX, run);
            }
        } else
#endif
            UNROLL for (uint i = 0u; i < TM; i++)
                UNROLL for (uint j = 0u; j < TN; j++) {
                    uint n = first + tx + j * TX;
                    scores[i][j] = n < end ? masked(scores[i][j] * SCALE, from_mask[i] + n * MASK_COLUMN) : -INF;
                }
        UNROLL for (uint i = 0u; i < TM; i++) {
            float top = -INF;
            UNROLL for (uint j = 0u; j < TN; j++)
                top = max(top, scores[i][j]);
#if JOINS
            UNROLL for (uint far = 1u; far < JOINED; far <<= 1)
                top = max(top, subgroupShuffleXor(top, far));
#endif
            if (tx % JOINED == 0u)
                pool[(ty * TM + i) * PARTS + tx / JOINED] = top;
        }
        barrier();
        UNROLL for (uint i = 0u; i < TM; i++) {
            float top = greatest[i];
            for (uint part = 0u; part < PARTS; part++)
                top = max(top, pool[(ty * TM + i) * PARTS + part]);
            float base = top == -INF ? 0.0 : top, shrunk = exp_from(greatest[i], base);
            greatest[i] = top;
            sums[i] *= shrunk;
            UNROLL for (uint c = 0u; c < OWN_QUADS; c++)
                mixed[i][c] *= shrunk;
            UNROLL for (uint j = 0u; j < TN; j++) {
                float weight = exp_from(scores[i][j], base);
                uint n = tx + j * TX;
                sums[i] += weight;
                weights[(ty * TM + i) * WEIGHT_PITCH + n / 4u][n % 4u] = weight;
            }
        }
        for (uint i = self; i < BC * WIDTH_QUADS; i += THREADS) {
            uint n = VALUES_ALONG == 1 ? i % BC : i / WIDTH_QUADS, q = VALUES_ALONG == 1 ? i / BC : i % WIDTH_QUADS;
            tile[n * TILE_PITCH + q] = value_part(from_value, first + n, q, end);
        }
        barrier();
        for (uint n = 0u; n < BC / 4u; n++) {
            vec4 of_row[TM];
            UNROLL for (uint i = 0u; i < TM; i++)
                of_row[i] = weights[(ty * TM + i) * WEIGHT_PITCH + n];
            UNROLL for (uint c = 0u; c < OWN_QUADS; c++) {
                uint q = min(tx + c * TX, WIDTH_QUADS - 1u);
                UNROLL for (uint e = 0u; e < 4u; e++) {
                    vec4 value = tile[(4u * n + e) * TILE_PITCH + q];
                    UNROLL for (uint i = 0u; i < TM; i++)
                        mixed[i][c] = mad(vec4(of_row[i][e]), value, mixed[i][c]);
                }
            }
        }
        barrier();
    }

    UNROLL for (uint i = 0u; i < TM; i++) {
        float sum = sums[i];
#if JOINS
        UNROLL for (uint far = 1u; far < JOINED; far <<= 1)
            sum += subgroupShuffleXor(sum, far);
#endif
        if (tx % JOINED == 0u)
            pool[(ty * TM + i) * PARTS + tx / JOINED] = sum;
    }
    barrier();
    UNROLL for (uint i = 0u; i < TM; i++) {
        uint m = first_row + ty * TM + i;
        float sum = 0.0;
        for (uint part = 0u; part < PARTS; part++)
            sum += pool[(ty * TM + i) * PARTS + part];
        if (m < ROWS) {
            attended row = begin_row(matrix, m, greatest[i], sum, tx == 0u);
            UNROLL for (uint c = 0u; c < OWN_QUADS; c++)
                if (tx + c * TX < WIDTH_QUADS)
                    write_quad(row, tx + c * TX, mixed[i][c]);
        }
    }
    JOIN_SPLITS(matrix)
}
