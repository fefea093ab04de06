// SPDX-License-Identifier: Apache-2.0
//
// Attention of few rows of the query, which read each key and value once for all of them, straight from memory: what
// takes the time. A line of LANES invocations reads KEYS_AT_ONCE keys and their values at a time, each invocation every
// LANES-th quad of them, and adds the values to its own sums: no line waits for another before the last key. All loads
// are issued before the first of them is waited for: keys, values, masks, the query.
//
// A pair is the score of a row and a key. Each invocation computes the weights of all pairs, or of OWN_PAIRS where it
// SHARES them with its line; PAIR_ROWS is a power of two then, and the rows above ROWS have no results.

#define DEPTH_QUADS ((DEPTH + 3u) / 4u)
#define WIDTH_QUADS ((WIDTH + 3u) / 4u)
#define DEPTH_PARTS ((DEPTH_QUADS + LANES - 1u) / LANES) // quads of a key that an invocation has
#define WIDTH_PARTS ((WIDTH_QUADS + LANES - 1u) / LANES) // and of a value
#define LINES (INVOCATIONS / LANES)
#define PAIRS (PAIR_ROWS * KEYS_AT_ONCE)
#define ROW_OF(pair) ((pair) / KEYS_AT_ONCE)
#define KEY_OF(pair) (first + line + (pair) % KEYS_AT_ONCE * LINES)
#if SHARES
#define OWN_PAIRS (PAIRS / LANES)
#define OWN_ROWS ((OWN_PAIRS + KEYS_AT_ONCE - 1u) / KEYS_AT_ONCE)
#define FIRST_PAIR (lane * OWN_PAIRS)
#define PAIR(pair) subgroupShuffle(pairs[(pair) % OWN_PAIRS], line_begin + (pair) / OWN_PAIRS)
#define FACTOR(m) subgroupShuffle(factors[(m) % OWN_ROWS], line_begin + (m) * KEYS_AT_ONCE / OWN_PAIRS)
#define WRITES_ROWS (self % JOINED < LANES && lane % ROW_LANES == 0u)
#else
#define OWN_PAIRS PAIRS
#define OWN_ROWS PAIR_ROWS
#define FIRST_PAIR 0u
#define PAIR(pair) pairs[pair]
#define FACTOR(m) factors[m]
#define WRITES_ROWS (self % JOINED == 0u)
#endif
#define OWN_KEYS (OWN_PAIRS / OWN_ROWS)
#define ROW_LANES (KEYS_AT_ONCE / OWN_KEYS) // that have pairs of the same row
#define OWN_ROW(r) (ROW_OF(FIRST_PAIR) + (r))

// JOINED neighbors add up their lines' results by shuffles; GROUPS partial results go through shared memory.
#define GROUPS (INVOCATIONS / JOINED)

shared vec4 queries[ROWS * DEPTH_QUADS];
shared vec4 partials[PARTIAL_ROWS * GROUPS * WIDTH_PARTS * LANES];
shared float partial_tops[PAIR_ROWS * GROUPS];
shared float partial_sums[PAIR_ROWS * GROUPS];
#if !JOINS
shared float products[PAIRS * INVOCATIONS];
#endif

// Of invocations from `from` to `to`, a power of two, apart.
#if JOINS
#define JOIN(x, join, from, to)                                                                                      \
    UNROLL for (uint far = from; far < (to); far <<= 1)                                                              \
        x = join(x, subgroupShuffleXor(x, far))
#else
#define JOIN(x, join, from, to)
#endif
float plus(float x, float y) { return x + y; }
vec4 plus(vec4 x, vec4 y) { return x + y; }

void main()
{
    uint self = gl_LocalInvocationIndex, matrix = MATRIX, lane = self % LANES, line = self / LANES;
#if SHARES
    uint line_begin = gl_SubgroupInvocationID / LANES * LANES;
#endif
#if HAS_RANGES
    uint first_attended = KEYS, end_attended = 0u, first_zero = 0u, end_zeros = KEYS, holes = 0u;
    UNROLL for (uint m = 0u; m < ROWS; m++)
        add_range(matrix, m)
#endif
    uint begin = gl_WorkGroupID.y * SPLIT, end = last_key(min(begin + SPLIT, KEYS), 0u);
    begin = first_key(begin, 0u);
    uint from_query = query_index(matrix), from_key = key_index(matrix), from_value = value_index(matrix);
    uint from_mask = mask_index(matrix);
    vec4 mixed[ROWS][WIDTH_PARTS];
    float greatest[OWN_ROWS], sums[OWN_ROWS];
    UNROLL for (uint m = 0u; m < ROWS; m++)
        UNROLL for (uint p = 0u; p < WIDTH_PARTS; p++)
            mixed[m][p] = vec4(0.0);
    UNROLL for (uint r = 0u; r < OWN_ROWS; r++) {
        greatest[r] = -INF;
        sums[r] = 0.0;
    }
    for (uint first = begin; first < end; first += KEYS_AT_ONCE * LINES) {
        vec4 keys[KEYS_AT_ONCE][DEPTH_PARTS], values[KEYS_AT_ONCE][WIDTH_PARTS];
        float masks[OWN_PAIRS], pairs[PAIRS], factors[OWN_ROWS];
        UNROLL for (uint k = 0u; k < KEYS_AT_ONCE; k++)
            UNROLL for (uint p = 0u; p < DEPTH_PARTS; p++) {
                uint q = lane + p * LANES;
                keys[k][p] = key_part(from_key, KEY_OF(k), q, q < DEPTH_QUADS ? end : 0u);
            }
        UNROLL for (uint k = 0u; k < KEYS_AT_ONCE; k++)
            UNROLL for (uint p = 0u; p < WIDTH_PARTS; p++) {
                uint q = lane + p * LANES;
                values[k][p] = value_part(from_value, KEY_OF(k), q, q < WIDTH_QUADS ? end : 0u);
            }
        UNROLL for (uint i = 0u; i < OWN_PAIRS; i++)
            masks[i] = mask_number(from_mask + mask_row_index(min(ROW_OF(FIRST_PAIR + i), ROWS - 1u)) +
                                   min(KEY_OF(FIRST_PAIR + i), end - 1u) * MASK_COLUMN);
        if (first == begin) {
            for (uint i = self; i < ROWS * DEPTH_QUADS; i += INVOCATIONS)
                queries[i] = query_part(from_query, i / DEPTH_QUADS, i % DEPTH_QUADS);
            barrier();
        }
        UNROLL for (uint i = 0u; i < PAIRS; i++)
            pairs[i] = 0.0;
        UNROLL for (uint m = 0u; m < ROWS; m++)
            UNROLL for (uint p = 0u; p < DEPTH_PARTS; p++) {
                vec4 query = queries[m * DEPTH_QUADS + min(lane + p * LANES, DEPTH_QUADS - 1u)];
                UNROLL for (uint k = 0u; k < KEYS_AT_ONCE; k++)
                    UNROLL for (uint e = 0u; e < 4u; e++)
                        pairs[m * KEYS_AT_ONCE + k] = mad(query[e], keys[k][p][e], pairs[m * KEYS_AT_ONCE + k]);
            }
#if SHARES
        // In each step an invocation exchanges half of its sums for its partner's part of the other half.
        UNROLL for (uint far = LANES / 2u; far > 0u; far >>= 1) {
            bool keeps_second = (lane & far) != 0u;
            UNROLL for (uint i = 0u; i < OWN_PAIRS * far; i++) {
                float one = pairs[i], other = pairs[i + OWN_PAIRS * far];
                pairs[i] = (keeps_second ? other : one) + subgroupShuffleXor(keeps_second ? one : other, far);
            }
        }
#elif JOINS
        UNROLL for (uint i = 0u; i < PAIRS; i++)
            JOIN(pairs[i], plus, 1u, LANES);
#else
        UNROLL for (uint i = 0u; i < PAIRS; i++)
            products[i * INVOCATIONS + self] = pairs[i];
        barrier();
        UNROLL for (uint i = 0u; i < PAIRS; i++) {
            pairs[i] = 0.0;
            for (uint l = 0u; l < LANES; l++)
                pairs[i] += products[i * INVOCATIONS + line * LANES + l];
        }
        barrier();
#endif
        UNROLL for (uint r = 0u; r < OWN_ROWS; r++) {
            float top = greatest[r];
            UNROLL for (uint i = r * OWN_KEYS; i < (r + 1u) * OWN_KEYS; i++) {
                pairs[i] = KEY_OF(FIRST_PAIR + i) < end ? masked_by(pairs[i] * SCALE, masks[i]) : -INF;
                top = max(top, pairs[i]);
            }
            JOIN(top, max, 1u, ROW_LANES);
            float base = top == -INF ? 0.0 : top;
            factors[r] = exp_from(greatest[r], base);
            greatest[r] = top;
            sums[r] *= factors[r];
            UNROLL for (uint i = r * OWN_KEYS; i < (r + 1u) * OWN_KEYS; i++) {
                pairs[i] = exp_from(pairs[i], base);
                sums[r] += pairs[i];
            }
        }
        UNROLL for (uint m = 0u; m < ROWS; m++) {
            float factor = FACTOR(m);
            UNROLL for (uint p = 0u; p < WIDTH_PARTS; p++)
                mixed[m][p] *= factor;
            UNROLL for (uint k = 0u; k < KEYS_AT_ONCE; k++) {
                float weight = PAIR(m * KEYS_AT_ONCE + k);
                UNROLL for (uint p = 0u; p < WIDTH_PARTS; p++)
                    mixed[m][p] = mad(vec4(weight), values[k][p], mixed[m][p]);
            }
        }
    }

    // The lines' sums are scaled from their own greatest score to that of all lines, and added up.
    uint group = self / JOINED;
    float factors[OWN_ROWS];
    UNROLL for (uint r = 0u; r < OWN_ROWS; r++) {
        float top = greatest[r];
        JOIN(top, max, LANES, JOINED);
        if (WRITES_ROWS)
            partial_tops[OWN_ROW(r) * GROUPS + group] = top;
    }
    barrier();
    UNROLL for (uint r = 0u; r < OWN_ROWS; r++) {
        float top = -INF;
        for (uint g = 0u; g < GROUPS; g++)
            top = max(top, partial_tops[OWN_ROW(r) * GROUPS + g]);
        factors[r] = exp_from(greatest[r], top == -INF ? 0.0 : top);
        sums[r] *= factors[r];
        JOIN(sums[r], plus, 1u, ROW_LANES);
        JOIN(sums[r], plus, LANES, JOINED);
        if (WRITES_ROWS)
            partial_sums[OWN_ROW(r) * GROUPS + group] = sums[r];
    }
    UNROLL for (uint m = 0u; m < ROWS; m++) {
        float factor = FACTOR(m);
        UNROLL for (uint p = 0u; p < WIDTH_PARTS; p++) {
            mixed[m][p] *= factor;
            JOIN(mixed[m][p], plus, LANES, JOINED);
        }
    }
    UNROLL for (uint begin_m = 0u; begin_m < ROWS; begin_m += PARTIAL_ROWS) {
        if (self % JOINED < LANES)
            UNROLL for (uint j = 0u; j < PARTIAL_ROWS; j++)
                UNROLL for (uint p = 0u; p < WIDTH_PARTS; p++)
                    partials[((j * GROUPS + group) * WIDTH_PARTS + p) * LANES + lane] =
                        mixed[min(begin_m + j, ROWS - 1u)][p];
        barrier();
        for (uint i = self; i < PARTIAL_ROWS * WIDTH_QUADS && begin_m + i / WIDTH_QUADS < ROWS; i += INVOCATIONS) {
            uint j = i / WIDTH_QUADS, quad = i % WIDTH_QUADS, m = begin_m + j;
            vec4 x = vec4(0.0);
            float top = -INF, sum = 0.0;
            for (uint g = 0u; g < GROUPS; g++) {
                x += partials[(j * GROUPS + g) * WIDTH_PARTS * LANES + quad];
                top = max(top, partial_tops[m * GROUPS + g]);
                sum += partial_sums[m * GROUPS + g];
            }
            write_quad(begin_row(matrix, m, top, sum, quad == 0u), quad, x);
        }
        barrier();
    }
    JOIN_SPLITS(matrix)
}
