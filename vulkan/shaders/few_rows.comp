// SPDX-License-Identifier: Apache-2.0
//
// Products of few rows with constants, whose bytes are read once and are what takes the time: LANES invocations share
// the terms of SIDE columns, for all rows; half of them are those of a PAIRED product with other weights. An invocation
// loads UNIT weights of a column at a time, neighbors those beside them, AHEAD of them on their way at once.

#define STEP       (LANES * UNIT)
#define TOGETHER   uint(JOINED) // lanes that hand one another sums
#define PARTS      (LANES / TOGETHER)
#define OWN        (SIDE / (PAIRED == 1 ? 2u : 1u)) // columns of an invocation that are no partner's
#define PLACES     (GROUPS * OWN)  // columns of a workgroup
#define SPAN       min(WEIGHT_QUADS, 2u)

shared float pool[GROUPS * PARTS * ROWS * SIDE];

#if NORMALIZES
#define TERM(m, k) ((m) * INNER + (k))

shared vec4 rows[ROWS * INNER / 4u];
shared float squares[gl_WorkGroupSize.x];

// The sum of the x of all invocations.
float of_all(uint self, float x)
{
    uint count = gl_WorkGroupSize.x;
#if SHUFFLES
    [[unroll]] for (uint far = 1u; far < uint(SHUFFLES); far <<= 1)
        x += subgroupShuffleXor(x, far);
    count /= uint(SHUFFLES);
    if (self % uint(SHUFFLES) == 0u)
        squares[self / uint(SHUFFLES)] = x;
#else
    squares[self] = x;
    barrier();
    for (uint far = count / 2u; far > 1u; far /= 2u) {
        if (self < far)
            squares[self] += squares[self + far];
        barrier();
    }
    count = min(count, 2u);
#endif
    barrier();
    x = squares[0];
    for (uint other = 1u; other < count; other++)
        x += squares[other];
    barrier();
    return x;
}

float total(vec4 x) { return (x.x + x.y) + (x.z + x.w); }

vec4 quad_of_a(uint at)
{
#if QUADS_A
    return a_quad(at);
#else
    return vec4(a_at(at), a_at(at + 1u), a_at(at + 2u), a_at(at + 3u));
#endif
}

// Leaves the rows in shared memory, as the operator alone would have.
void normalize_rows(uint self, uint from)
{
    for (uint m = 0u; m < ROWS; m++) {
        float sum = 0.0, mean = 0.0;
        vec2 rest = vec2(0.0);
        for (uint k = 4u * self; k < INNER; k += 4u * gl_WorkGroupSize.x) {
            vec4 x = quad_of_a(from + m * A_ROW + k);
            rows[TERM(m, k) / 4u] = x;
            sum += total(CENTERED == 1 ? x : x * x);
        }
#if CENTERED
        mean = of_all(self, sum) * SHARE;
        for (uint k = 4u * self; k < INNER; k += 4u * gl_WorkGroupSize.x) {
            precise vec4 d = rows[TERM(m, k) / 4u] - mean;
            rest += vec2(total(d), total(d * d));
        }
        precise float more = of_all(self, rest.x) * SHARE, variance = of_all(self, rest.y) * SHARE - more * more;
        vec4 around = vec4(mean, more, inverse_root(vec2(abs(variance) + EPSILON, 0.0)));
#else
        precise float variance = of_all(self, sum) * SHARE;
        vec4 around = vec4(0.0, 0.0, inverse_root(vec2(variance + EPSILON, 0.0)));
#endif
        for (uint k = 4u * self; k < INNER; k += 4u * gl_WorkGroupSize.x) {
            vec4 x = rows[TERM(m, k) / 4u], gain = GAIN(k), bias = BIAS(k);
            [[unroll]] for (uint e = 0u; e < 4u; e++)
                x[e] = NORMALIZED(x[e], around, gain[e], bias[e]);
            rows[TERM(m, k) / 4u] = x;
        }
    }
    barrier();
}
#else
#define TERM(m, k) (from_a + (m) * A_ROW + (k) * A_INNER)
#endif

// SPAN quads of the terms of a row.
void load_row(uint at, out vec4 row[SPAN])
{
#if NORMALIZES
    [[unroll]] for (uint q = 0u; q < SPAN; q++)
        row[q] = rows[at / 4u + q];
#elif EIGHTS_A
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

// Of row m and column n of the work group, `more` columns on.
float sum_of(uint m, uint n, uint more)
{
    float sum = 0.0;
    for (uint part = 0u; part < PARTS; part++)
        sum += pool[((n / OWN * PARTS + part) * ROWS + m) * SIDE + n % OWN + more];
    return sum;
}

void main()
{
    uint self = gl_LocalInvocationIndex, lane = self % LANES, group = self / LANES, matrix = gl_WorkGroupID.z;
    uint begin = gl_WorkGroupID.x * PLACES, from_a = a_index(matrix), from_b = b_index(matrix), columns[SIDE];
    float sums[ROWS][SIDE];
    [[unroll]] for (uint c = 0u; c < SIDE; c++) {
        columns[c] = min(begin + group * OWN + c % OWN, COLUMNS - 1u);
        [[unroll]] for (uint m = 0u; m < ROWS; m++)
            sums[m][c] = 0.0;
    }
#if NORMALIZES
    normalize_rows(self, from_a);
#endif
    for (uint first = lane * UNIT; first < INNER; first += AHEAD * STEP) {
        PACK packs[AHEAD][SIDE];
        float scales[AHEAD][SIDE], zeros[AHEAD][SIDE];
        [[unroll]] for (uint i = 0u; i < AHEAD; i++)
            [[unroll]] for (uint c = 0u; c < SIDE; c++) {
                uint k = min(first + i * STEP, INNER - UNIT);
                uint at = from_b + columns[c] * B_COLUMN + k;
#if PAIRED
                if (c >= OWN) {
                    packs[i][c] = partner_pack(at);
                    scales[i][c] = partner_scale_at(columns[c], k);
                    zeros[i][c] = partner_zero_at(columns[c], k);
                    continue;
                }
#endif
                packs[i][c] = b_pack(at);
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
                        load_row(TERM(m, k + 4u * s), row);
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
            float sum = sum_of(m, n + d, 0u);
#if PAIRED
            partner = partner_of(sum_of(m, n + d, OWN), at + d);
#endif
            put(word, d, finish(scaled(sum, at + d), at + d));
        }
        store(at / PER, word);
    }
}
