// SPDX-License-Identifier: Apache-2.0
//
// Products of few rows with constants, whose bytes are read once and are what takes the time: LANES invocations share
// the terms of SIDE columns, for all rows; half of them are those of a PAIRED product with other weights. An invocation
// loads UNIT weights of a column at a time, neighbors those beside them, AHEAD of them on their way at once. Where lanes
// are SPREAD, NEAR of a column are neighbors, and beside these are those with the same terms of other columns, so that
// what they load of rows is the same.

#define STEP       (LANES * UNIT)
#define TOGETHER   uint(JOINED) // lanes that hand one another sums
#define PARTS      (LANES / TOGETHER)
#define OWN        (SIDE / (PAIRED == 1 ? 2u : 1u)) // columns of an invocation that are no partner's
#define PLACES     (GROUPS * OWN)  // columns of a workgroup
#define SPAN       min(WEIGHT_QUADS, 2u)

shared float pool[GROUPS * PARTS * ROWS * SIDE];

#if NORMALIZES
#define TERM(m, k)  ((m) * INNER + (k))
#define TERM_AT(at) rows[(at) / 4u][(at) % 4u]

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
#define TERM(m, k)  (from_a + (m) * A_ROW + (k) * A_INNER)
#define TERM_AT(at) a_at(at)
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

#if FIXED
#define STEPS ((INNER + STEP - 1u) / STEP)

// Adds the products of all terms of a lane's row by whole numbers of packs, in fixed point. False: that will not do.
// Lanes without a block multiply the last one by nothing, so that no branch keeps loads from being the first to begin.
bool add_fixed(uint lane, uint columns[SIDE], uint from_a, uint from_b, inout float sums[ROWS][SIDE])
{
    bool even = true;
    for (uint step = 0u; step < STEPS; step++) {
        uint own = step * STEP + lane * UNIT, k = min(own, INNER - UNIT);
        bool counts = INNER % STEP == 0u || own < INNER;
        PACK packs[SIDE];
        float scales[SIDE], zeros[SIDE];
        vec4 row[WEIGHT_QUADS], span[SPAN];
        uvec3 bytes[WEIGHT_QUADS];
        Block block = Block(0.0, 0.0);
        ivec3 total = ivec3(0);
        [[unroll]] for (uint c = 0u; c < AHEAD; c++)
            load_weights(c >= OWN, columns[c], from_b, k, packs[c], scales[c], zeros[c]);
        [[unroll]] for (uint s = 0u; s < WEIGHT_QUADS; s += SPAN) {
            load_row(TERM(0u, k + 4u * s), span);
            [[unroll]] for (uint q = 0u; q < SPAN; q++) {
                row[s + q] = span[q];
                look_at(span[q], block);
            }
        }
        even = even && (is_even(block) || !counts);
        uint exponent = exponent_of(block);
        float factor = factor_of(exponent), unit = unit_of(exponent);
        // Every other of eight terms, as a mask leaves weights of 4 bits.
        [[unroll]] for (uint q = 0u; q < WEIGHT_QUADS; q += 2u) {
            bytes[q] = bytes_of(vec4(row[q].xz, row[q + 1u].xz), factor);
            bytes[q + 1u] = bytes_of(vec4(row[q].yw, row[q + 1u].yw), factor);
            total += dots(bytes[q], ONES) + dots(bytes[q + 1u], ONES);
        }
        float all = together(total);
        [[unroll]] for (uint c = 0u; c < SIDE; c++) {
            if (c + AHEAD < SIDE)
                load_weights(c + AHEAD >= OWN, columns[c + AHEAD], from_b, k, packs[c + AHEAD], scales[c + AHEAD],
                             zeros[c + AHEAD]);
            ivec3 first = ivec3(0), second = ivec3(0); // second: 16 times as much
            [[unroll]] for (uint q = 0u; q < WEIGHT_QUADS; q += 2u) {
                uint word = word_of(packs[c], q / 2u) ^ FLIPPED;
                first += dots(bytes[q], word & 0x0F0F0F0Fu);
                second += dots(bytes[q + 1u], word & 0xF0F0F0F0u);
            }
            float part = mad(-zeros[c], all, together(first + (second >> 4)));
            sums[0][c] = mad(part, counts ? unit * scales[c] : 0.0, sums[0][c]);
        }
    }
    return even;
}

// The same by one multiplication after the other, of one column after the other, so that it takes few registers.
void add_one_by_one(uint lane, uint columns[SIDE], uint from_a, uint from_b, out float sums[ROWS][SIDE])
{
    [[unroll]] for (uint c = 0u; c < SIDE; c++) {
        sums[0][c] = 0.0;
        for (uint k = lane * UNIT; k < INNER; k += STEP) {
            PACK pack;
            float scale, zero, part = 0.0;
            load_weights(c >= OWN, columns[c], from_b, k, pack, scale, zero);
            for (uint w = 0u; w < UNIT / 8u; w++) {
                uint word = word_of(pack, w) ^ FLIPPED;
                [[unroll]] for (uint e = 0u; e < 8u; e++)
                    part = mad(TERM_AT(TERM(0u, k + 8u * w + e)), float(word >> 4u * e & 15u) - zero, part);
            }
            sums[0][c] = mad(part, scale, sums[0][c]);
        }
    }
}

// Half of a lane's sums for half of its neighbor's, while there are several.
#define EXCHANGE(far, half)                                                                                            \
    if (half > 0u) {                                                                                                   \
        bool upper = (lane & far) != 0u;                                                                               \
        column += upper ? half : 0u;                                                                                   \
        [[unroll]] for (uint i = 0u; i < half; i++) {                                                                  \
            float low = sums[0][i], high = sums[0][i + half];                                                          \
            sums[0][i] = (upper ? high : low) + subgroupShuffleXor(upper ? low : high, far);                           \
        }                                                                                                              \
    }
#endif

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
#if SPREAD
    uint self = gl_LocalInvocationIndex, lane = self / (NEAR * GROUPS) * NEAR + self % NEAR, group = self / NEAR % GROUPS;
#else
    uint self = gl_LocalInvocationIndex, lane = self % LANES, group = self / LANES;
#endif
    uint matrix = gl_WorkGroupID.z;
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
#if FIXED
    if (!add_fixed(lane, columns, from_a, from_b, sums))
        add_one_by_one(lane, columns, from_a, from_b, sums);
    uint column = 0u;
    EXCHANGE(1u, SIDE / 2u)
    EXCHANGE(2u, SIDE / 4u)
    EXCHANGE(4u, SIDE / 8u)
    EXCHANGE(8u, SIDE / 16u)
    [[unroll]] for (uint far = SIDE; far < TOGETHER; far <<= 1)
        sums[0][0] += subgroupShuffleXor(sums[0][0], far);
    if (lane % TOGETHER < SIDE)
        pool[(group * PARTS + lane / TOGETHER) * SIDE + column] = sums[0][0];
#else
#define LOAD(packs, scales, zeros, first)                                                                              \
    [[unroll]] for (uint i = 0u; i < AHEAD; i++)                                                                       \
        [[unroll]] for (uint c = 0u; c < SIDE; c++)                                                                    \
            load_weights(c >= OWN, columns[c], from_b, min((first) + i * STEP, INNER - UNIT), packs[i][c],             \
                         scales[i][c], zeros[i][c]);
#if PREFETCH
    PACK next[AHEAD][SIDE];
    float next_scales[AHEAD][SIDE], next_zeros[AHEAD][SIDE];
    LOAD(next, next_scales, next_zeros, lane * UNIT)
#endif
    for (uint first = lane * UNIT; first < INNER; first += AHEAD * STEP) {
#if PREFETCH
        PACK packs[AHEAD][SIDE] = next;
        float scales[AHEAD][SIDE] = next_scales, zeros[AHEAD][SIDE] = next_zeros;
        LOAD(next, next_scales, next_zeros, first + AHEAD * STEP)
#else
        PACK packs[AHEAD][SIDE];
        float scales[AHEAD][SIDE], zeros[AHEAD][SIDE];
        LOAD(packs, scales, zeros, first)
#endif
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
#endif
    barrier();
    write_results(matrix, begin, PLACES, OWN);
}
