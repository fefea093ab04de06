// SPDX-License-Identifier: Apache-2.0
//
// Attention of few rows of the query, which read each key and value once for all of them, straight from memory: what
// takes the time. BC keys at a time, LANES invocations share a key; PIECES invocations make weights of the scores of a
// row; and each has a quad of the columns of every GROUPS-th value then. What is read of memory is on its way before
// what comes first is waited for: keys, values, the query.

#define DEPTH_QUADS ((DEPTH + 3u) / 4u)
#define WIDTH_QUADS ((WIDTH + 3u) / 4u)
#define KEY_STEP (INVOCATIONS / LANES)
#define OWN_KEYS (BC / KEY_STEP)
#define GROUPS (INVOCATIONS / WIDTH_QUADS)
#define ROUNDS ((DEPTH_QUADS + LANES - 1u) / LANES)         // quads of a key that an invocation has
#define TOGETHER (OWN_KEYS < 8u ? 8u / OWN_KEYS : 1u)       // of them, on their way at once
#define AHEAD min(8u, (BC + GROUPS - 1u) / GROUPS)          // values, likewise

#define OWN_ROWS ((ROWS + LANES - 1u) / LANES)             // whose scores an invocation has

shared vec4 queries[ROWS * DEPTH_QUADS];
shared vec4 joined[JOINED_ROWS * INVOCATIONS];
shared float weights[ROWS * BC];
#if JOINS_PIECES
shared float pool[ROWS];
#else
shared float pool[ROWS * PIECES];
#endif
shared float factors[ROWS];

// Of all pieces of a row, which are beside one another.
#if JOINS_PIECES
#define JOIN_PIECES(x, join)                                                                                         \
    UNROLL for (uint far = 1u; far < PIECES; far <<= 1)                                                              \
        x = join(x, subgroupShuffleXor(x, far))
#else
#define JOIN_PIECES(x, join)
#endif
float plus(float x, float y) { return x + y; }

// A quad of a key; zeros where there is none.
vec4 key_at(uint from, uint n, uint q, uint end)
{
    return key_part(from, n, q, q < DEPTH_QUADS ? end : 0u);
}

void main()
{
    uint self = gl_LocalInvocationIndex, matrix = MATRIX, lane = self % LANES, line = self / LANES;
#if HAS_RANGES
    uint first_attended = KEYS, end_attended = 0u, first_zero = 0u, end_zeros = KEYS, holes = 0u;
    UNROLL for (uint m = 0u; m < ROWS; m++)
        add_range(matrix, m)
#endif
    uint begin = gl_WorkGroupID.y * SPLIT, end = last_key(min(begin + SPLIT, KEYS), 0u);
    begin = first_key(begin, 0u);
    uint from_query = query_index(matrix), from_key = key_index(matrix), from_value = value_index(matrix);
    uint from_mask = mask_index(matrix), quad = self % WIDTH_QUADS, group = self / WIDTH_QUADS;
    uint row = self / PIECES, piece = self % PIECES; // of the scores
    vec4 mixed[ROWS];
    UNROLL for (uint m = 0u; m < ROWS; m++)
        mixed[m] = vec4(0.0);
    float greatest = -INF, sum = 0.0;
    for (uint first = begin; first < end; first += BC) {
        uint stop = min(first + BC, end), stop_here = group < GROUPS ? stop : 0u;
        vec4 keys[TOGETHER][OWN_KEYS], values[AHEAD];
        float scores[OWN_KEYS][ROWS];
        UNROLL for (uint r = 0u; r < TOGETHER; r++)
            UNROLL for (uint k = 0u; k < OWN_KEYS; k++)
                keys[r][k] = key_at(from_key, first + line + k * KEY_STEP, lane + r * LANES, end);
        UNROLL for (uint a = 0u; a < AHEAD; a++)
            values[a] = value_part(from_value, first + group + a * GROUPS, quad, stop_here);
        float masks[OWN_KEYS][OWN_ROWS];
        UNROLL for (uint k = 0u; k < OWN_KEYS; k++)
            UNROLL for (uint i = 0u; i < OWN_ROWS; i++) {
                uint m = min(lane + i * LANES, ROWS - 1u), n = min(first + line + k * KEY_STEP, end - 1u);
                masks[k][i] = mask_number(from_mask + mask_row_index(m) + n * MASK_COLUMN);
            }
        if (first == begin) {
            for (uint i = self; i < ROWS * DEPTH_QUADS; i += INVOCATIONS)
                queries[i] = query_part(from_query, i / DEPTH_QUADS, i % DEPTH_QUADS);
            barrier();
        }
        UNROLL for (uint k = 0u; k < OWN_KEYS; k++)
            UNROLL for (uint m = 0u; m < ROWS; m++)
                scores[k][m] = 0.0;
        for (uint round = 0u; round < ROUNDS; round += TOGETHER) {
            UNROLL for (uint r = 0u; r < TOGETHER; r++)
                UNROLL for (uint m = 0u; m < ROWS; m++) {
                    vec4 query = queries[m * DEPTH_QUADS + min(lane + (round + r) * LANES, DEPTH_QUADS - 1u)];
                    UNROLL for (uint k = 0u; k < OWN_KEYS; k++)
                        UNROLL for (uint e = 0u; e < 4u; e++)
                            scores[k][m] = mad(query[e], keys[r][k][e], scores[k][m]);
                }
            UNROLL for (uint r = 0u; r < TOGETHER; r++)
                UNROLL for (uint k = 0u; k < OWN_KEYS; k++)
                    keys[r][k] = key_at(from_key, first + line + k * KEY_STEP, lane + (round + TOGETHER + r) * LANES, end);
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
                    weights[m * BC + place] = n < end ? masked_by(score * SCALE, masks[k][m / LANES]) : -INF;
            }
        barrier();
        float top = -INF;
        if (row < ROWS) {
            UNROLL for (uint n = 0u; n < BC; n += PIECES)
                top = max(top, weights[row * BC + n + piece]);
            JOIN_PIECES(top, max);
        }
#if !JOINS_PIECES
        if (row < ROWS)
            pool[self] = top;
        barrier();
        for (uint p = 0u; row < ROWS && p < PIECES; p++)
            top = max(top, pool[row * PIECES + p]);
#endif
        if (row < ROWS) {
            top = max(top, greatest);
            float base = top == -INF ? 0.0 : top, factor = exp_from(greatest, base);
            greatest = top;
            sum *= factor;
            UNROLL for (uint n = 0u; n < BC; n += PIECES) {
                float weight = exp_from(weights[row * BC + n + piece], base);
                weights[row * BC + n + piece] = weight;
                sum += weight;
            }
            if (piece == 0u)
                factors[row] = factor;
        }
        barrier();
        UNROLL for (uint m = 0u; m < ROWS; m++)
            mixed[m] *= factors[m];
        for (uint n = group; first + n < stop_here; n += AHEAD * GROUPS) {
            UNROLL for (uint a = 0u; a < AHEAD; a++)
                UNROLL for (uint m = 0u; m < ROWS; m++)
                    mixed[m] = mad(vec4(weights[m * BC + min(n + a * GROUPS, BC - 1u)]), values[a], mixed[m]);
            UNROLL for (uint a = 0u; a < AHEAD; a++)
                values[a] = value_part(from_value, first + n + (AHEAD + a) * GROUPS, quad, stop_here);
        }
        barrier();
    }

    if (row < ROWS) {
        JOIN_PIECES(sum, plus);
#if JOINS_PIECES
        pool[row] = sum;
#else
        pool[self] = sum;
#endif
        if (piece == 0u)
            factors[row] = greatest;
    }
    UNROLL for (uint begin_m = 0u; begin_m < ROWS; begin_m += JOINED_ROWS) {
        barrier();
        UNROLL for (uint j = 0u; j < JOINED_ROWS; j++)
            joined[j * INVOCATIONS + self] = mixed[min(begin_m + j, ROWS - 1u)];
        barrier();
        for (uint far = HALF_GROUPS; far > 0u; far >>= 1) {
            if (group < far && group + far < GROUPS)
                UNROLL for (uint j = 0u; j < JOINED_ROWS; j++)
                    joined[j * INVOCATIONS + self] += joined[j * INVOCATIONS + self + far * WIDTH_QUADS];
            barrier();
        }
        for (uint j = group; j < JOINED_ROWS && begin_m + j < ROWS && group < GROUPS; j += GROUPS) {
            uint m = begin_m + j;
#if JOINS_PIECES
            float total = pool[m];
#else
            float total = 0.0;
            for (uint p = 0u; p < PIECES; p++)
                total += pool[m * PIECES + p];
#endif
            write_quad(begin_row(matrix, m, factors[m], total, quad == 0u), quad, joined[j * INVOCATIONS + quad]);
        }
    }
}
