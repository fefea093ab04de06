// SPDX-License-Identifier: Apache-2.0
//
// Attention of few rows of the query, which read each key and value once for all of them, straight from memory: what
// takes the time. BC keys at a time, LANES invocations share a key; PIECES invocations make weights of the scores of a
// row; and each has a quad of the columns of every GROUPS-th value then.

#define DEPTH_QUADS ((DEPTH + 3u) / 4u)
#define WIDTH_QUADS ((WIDTH + 3u) / 4u)
#define KEY_STEP (INVOCATIONS / LANES)
#define OWN_KEYS (BC / KEY_STEP)
#define GROUPS (INVOCATIONS / WIDTH_QUADS)
#define AHEAD 4u

shared vec4 queries[ROWS * DEPTH_QUADS];
shared vec4 joined[INVOCATIONS];
shared float weights[ROWS * BC];
shared float pool[ROWS * PIECES];
shared float factors[ROWS];

void main()
{
    uint self = gl_LocalInvocationIndex, matrix = gl_WorkGroupID.z, lane = self % LANES, line = self / LANES;
    uint begin = gl_WorkGroupID.y * SPLIT, end = min(begin + SPLIT, KEYS);
    uint from_query = query_index(matrix), from_key = key_index(matrix), from_value = value_index(matrix);
    uint from_mask = mask_index(matrix), quad = self % WIDTH_QUADS, group = self / WIDTH_QUADS;
    uint row = self / PIECES, piece = self % PIECES; // of the scores
    for (uint i = self; i < ROWS * DEPTH_QUADS; i += INVOCATIONS)
        queries[i] = query_part(from_query, i / DEPTH_QUADS, i % DEPTH_QUADS);
    vec4 mixed[ROWS];
    UNROLL for (uint m = 0u; m < ROWS; m++)
        mixed[m] = vec4(0.0);
    float greatest = -INF, sum = 0.0;
    barrier();
    for (uint first = begin; first < end; first += BC) {
        float scores[OWN_KEYS][ROWS];
        UNROLL for (uint k = 0u; k < OWN_KEYS; k++)
            UNROLL for (uint m = 0u; m < ROWS; m++)
                scores[k][m] = 0.0;
        for (uint q = lane; q < DEPTH_QUADS; q += LANES) {
            vec4 keys[OWN_KEYS];
            UNROLL for (uint k = 0u; k < OWN_KEYS; k++)
                keys[k] = key_part(from_key, first + line + k * KEY_STEP, q, end);
            UNROLL for (uint m = 0u; m < ROWS; m++) {
                vec4 query = queries[m * DEPTH_QUADS + q];
                UNROLL for (uint k = 0u; k < OWN_KEYS; k++)
                    UNROLL for (uint e = 0u; e < 4u; e++)
                        scores[k][m] = mad(query[e], keys[k][e], scores[k][m]);
            }
        }
        UNROLL for (uint k = 0u; k < OWN_KEYS; k++)
            UNROLL for (uint m = 0u; m < ROWS; m++) {
                uint place = line + k * KEY_STEP, n = first + place;
                float score = scores[k][m];
#if JOINS
                UNROLL for (uint far = 1u; far < LANES; far <<= 1)
                    score += subgroupShuffleXor(score, far);
#endif
                if (m % LANES == lane)
                    weights[m * BC + place] =
                        n < end ? masked(score * SCALE, from_mask + mask_row_index(m) + n * MASK_COLUMN) : -INF;
            }
        barrier();
        if (row < ROWS) {
            float top = -INF;
            for (uint n = piece; n < BC; n += PIECES)
                top = max(top, weights[row * BC + n]);
            pool[self] = top;
        }
        barrier();
        if (row < ROWS) {
            float top = greatest;
            for (uint p = 0u; p < PIECES; p++)
                top = max(top, pool[row * PIECES + p]);
            float base = top == -INF ? 0.0 : top, factor = exp_from(greatest, base);
            greatest = top;
            sum *= factor;
            for (uint n = piece; n < BC; n += PIECES) {
                float weight = exp_from(weights[row * BC + n], base);
                weights[row * BC + n] = weight;
                sum += weight;
            }
            if (piece == 0u)
                factors[row] = factor;
        }
        barrier();
        if (group < GROUPS) {
            UNROLL for (uint m = 0u; m < ROWS; m++)
                mixed[m] *= factors[m];
            uint stop = min(first + BC, end);
            for (uint n = group; first + n < stop; n += AHEAD * GROUPS) {
                vec4 values[AHEAD];
                UNROLL for (uint a = 0u; a < AHEAD; a++)
                    values[a] = value_part(from_value, first + n + a * GROUPS, quad, stop);
                UNROLL for (uint a = 0u; a < AHEAD; a++)
                    UNROLL for (uint m = 0u; m < ROWS; m++)
                        mixed[m] = mad(vec4(weights[m * BC + min(n + a * GROUPS, BC - 1u)]), values[a], mixed[m]);
            }
        }
        barrier();
    }

    if (row < ROWS) {
        pool[self] = sum;
        if (piece == 0u)
            factors[row] = greatest;
    }
    UNROLL for (uint m = 0u; m < ROWS; m++) {
        barrier();
        joined[self] = mixed[m];
        barrier();
        if (group == 0u) {
            vec4 all = mixed[m];
            float total = 0.0;
            for (uint g = 1u; g < GROUPS; g++)
                all += joined[g * WIDTH_QUADS + quad];
            for (uint p = 0u; p < PIECES; p++)
                total += pool[m * PIECES + p];
            write_quad(begin_row(matrix, m, factors[m], total, quad == 0u), quad, all);
        }
    }
}
