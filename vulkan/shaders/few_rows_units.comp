// SPDX-License-Identifier: Apache-2.0
//
// Products of few rows of float16 with constants, floats or quantized, on the matrix units of the device. Rows and
// weights come from memory to the registers of matrices, of which it is known who has what (places.comp), so that no
// invocation waits for another before sums are added up. Matrices lie the other way round: a row of one is a column of
// the product, and what an invocation has of it lies along k, as the constants do.
//
// A subgroup meets AHEAD times SPAN terms of COLUMN_PARTS parts of 16 columns; while it multiplies them, the next are
// on their way. Of each SPAN an invocation has a unit of every column of HELD, and the same terms of a row of each of
// EIGHTS. Which of these terms a matrix calls its first is all the same, and is what is soonest made of words of
// integers.

#define PANELS      ((EIGHTS + 1u) / 2u) // of 16 rows
#define PANEL_ROWS  (PANELS * 16u)
#define HELD        (2u * COLUMN_PARTS)   // columns of an invocation
#define PLACES      (16u * COLUMN_PARTS)  // and of a work group,
#define PLAIN       (PLACES / B_OPERANDS) // that are no partner's
#define PITCH       (PLACES + 4u)
#define SPAN        (4u * UNIT)
#define STEP        (AHEAD * SPAN)
#define STRIDE      (SUBGROUPS * STEP)

// Emulated, subgroups wait for one another, and none may be done before the others.
#define UNEVEN      (INNER % STEP != 0u || MATRICES == EMULATED)
#define LAST        (MATRICES == EMULATED ? (INNER + STRIDE - 1u) / STRIDE * STRIDE : INNER)

shared float pool[SUBGROUPS * PANEL_ROWS * PITCH];

#if MATRICES == EMULATED
// An invocation has what it would of matrices that are known: of operands four pairs.
struct Pairs { uint words[4]; };
#define MATRIX_A Pairs
#define MATRIX_B Pairs
#define PUT_PAIR(matrix, e, pair) { matrix.words[(e) / 2] = pair; }
#define PUT_SECOND_PAIR PUT_PAIR
#define element_of(sum, e) sum.own[e]

shared uint exchanged[SUBGROUPS * SUBGROUP * 8u];

// Element k of a row of the first operand, or from `pair` 4 on of a column of the second.
float exchanged_at(uint row, uint k, uint pair)
{
    uint lane = SUBGROUP_INDEX * SUBGROUP + row % 8u * 4u + k % 8u / 2u;
    return loaded_halves(exchanged[lane * 8u + pair + row / 8u * 2u + k / 8u])[k % 2u];
}

Sum multiply_add(Pairs a, Pairs b, Sum sum)
{
    barrier();
    for (uint i = 0u; i < 4u; i++) {
        exchanged[gl_LocalInvocationIndex * 8u + i] = a.words[i];
        exchanged[gl_LocalInvocationIndex * 8u + 4u + i] = b.words[i];
    }
    barrier();
    for (uint e = 0u; e < 8u; e++)
        for (uint k = 0u; k < 16u; k++)
            sum.own[e] += exchanged_at(FIRST_ROW(LANE) + ROW_IN(e) * 8u, k, 0u) *
                          exchanged_at(FIRST_COLUMN(LANE) + COLUMN_IN(e), k, 4u);
    return sum;
}
#endif

// Eight terms of a row that begins at `from`, from k on.
#if EIGHTS_A
#define EIGHT_OF(from, k) a_eight((from) + (k))
#else
#define EIGHT_OF(from, k) eight_of((from) + (k) * A_INNER)
uvec4 eight_of(uint at)
{
    uvec4 eight;
    for (uint e = 0u; e < 4u; e++)
        eight[e] = stored_halves(vec2(a_at(at + 2u * e * A_INNER), a_at(at + (2u * e + 1u) * A_INNER)));
    return eight;
}
#endif

// Of four terms, quad q of a unit or of eight terms of a row, the two pairs that a matrix has beside one another.
#if BITS == 16
uvec2 pairs_of(PACK pack, uint q, float scale, float zero) { return uvec2(pack[2u * q], pack[2u * q + 1u]); }
uvec2 pairs_of_row(uvec4 eight, uint q) { return q == 0u ? eight.xy : eight.zw; }
#else
uvec2 pairs_of_row(uvec4 eight, uint q)
{
#if BITS == 4
    uvec2 words = q == 0u ? eight.xz : eight.yw;
#else
    uvec2 words = q == 0u ? eight.xy : eight.zw;
#endif
    return uvec2(words.x & 0xFFFFu | words.y << 16u, words.x >> 16u | words.y & 0xFFFF0000u);
}
#endif

// A matrix of two lines of pairs.
#define PUT_PAIRS(PUT, matrix, upper, lower)                                                                         \
    PUT(matrix, 0, upper.x) PUT(matrix, 2, upper.y) PUT(matrix, 4, lower.x) PUT(matrix, 6, lower.y)

// A unit is a pack.
#define LOAD(first)                                                                                                  \
    UNROLL for (uint i = 0u; i < AHEAD; i++)                                                                         \
        UNROLL for (uint c = 0u; c < HELD; c++)                                                                      \
            load_weights(c >= HELD / B_OPERANDS, columns[c], from_b, min((first) + i * SPAN, INNER - UNIT),          \
                         next[i * HELD + c], next_scales[i * HELD + c], next_zeros[i * HELD + c]);

float sum_of(uint m, uint n, uint more)
{
    float sum = 0.0;
    UNROLL for (uint part = 0u; part < SUBGROUPS; part++)
        sum += pool[(part * PANEL_ROWS + m) * PITCH + n + more];
    return sum;
}

void main()
{
    uint matrix = gl_WorkGroupID.z, line = FIRST_ROW(LANE), lane = LANE % 4u;
    uint begin = gl_WorkGroupID.x * PLAIN, from_a = a_index(matrix), from_b = b_index(matrix);
    uint columns[HELD], from_rows[2u * PANELS];
    UNROLL for (uint c = 0u; c < HELD; c++)
        columns[c] = min(begin + (c * 8u + line) % PLAIN, COLUMNS - 1u);
    UNROLL for (uint r = 0u; r < 2u * PANELS; r++)
        from_rows[r] = from_a + min(r * 8u + line, ROWS - 1u) * A_ROW; // whose results nobody writes may be any
    MATRIX_SUM sums[COLUMN_PARTS * PANELS];
    UNROLL for (uint i = 0u; i < COLUMN_PARTS * PANELS; i++)
        sums[i] = all_of(0.0);

    PACK next[AHEAD * HELD];
    float next_scales[AHEAD * HELD], next_zeros[AHEAD * HELD];
    LOAD(SUBGROUP_INDEX * STEP + lane * UNIT)
    for (uint first = SUBGROUP_INDEX * STEP; first < LAST; first += STRIDE) {
        PACK packs[AHEAD * HELD] = next;
        float scales[AHEAD * HELD] = next_scales, zeros[AHEAD * HELD] = next_zeros;
        LOAD(first + STRIDE + lane * UNIT)
        UNROLL for (uint i = 0u; i < AHEAD; i++) {
            uint term = first + i * SPAN + lane * UNIT, k = min(term, INNER - UNIT);
            bool counts = !UNEVEN || term < INNER;
            UNROLL for (uint w = 0u; w < UNIT / 8u; w++) {
                uvec4 eights[2u * PANELS];
                UNROLL for (uint r = 0u; r < 2u * PANELS; r++)
                    eights[r] = r < EIGHTS && counts ? EIGHT_OF(from_rows[r], k + 8u * w) : uvec4(0u);
                UNROLL for (uint q = 0u; q < 2u; q++) {
                    MATRIX_A weights[COLUMN_PARTS];
                    UNROLL for (uint c = 0u; c < COLUMN_PARTS; c++) {
                        uint upper_at = i * HELD + 2u * c, lower_at = upper_at + 1u;
                        uvec2 upper = pairs_of(packs[upper_at], 2u * w + q, scales[upper_at], zeros[upper_at]);
                        uvec2 lower = pairs_of(packs[lower_at], 2u * w + q, scales[lower_at], zeros[lower_at]);
                        upper = counts ? upper : uvec2(0u);
                        lower = counts ? lower : uvec2(0u);
                        PUT_PAIRS(PUT_PAIR, weights[c], upper, lower)
                    }
                    UNROLL for (uint p = 0u; p < PANELS; p++) {
                        MATRIX_B rows;
                        uvec2 upper = pairs_of_row(eights[2u * p], q), lower = pairs_of_row(eights[2u * p + 1u], q);
                        PUT_PAIRS(PUT_SECOND_PAIR, rows, upper, lower)
                        UNROLL for (uint c = 0u; c < COLUMN_PARTS; c++)
                            sums[c * PANELS + p] = multiply_add(weights[c], rows, sums[c * PANELS + p]);
                    }
                }
            }
        }
    }

#define LAY(e)                                                                                                       \
    pool[(SUBGROUP_INDEX * PANEL_ROWS + p * 16u + FIRST_COLUMN(LANE) + uint(COLUMN_IN(e))) * PITCH + c * 16u + line + \
         uint(ROW_IN(e)) * 8u] = element_of(sums[c * PANELS + p], e);
    UNROLL for (uint c = 0u; c < COLUMN_PARTS; c++)
        UNROLL for (uint p = 0u; p < PANELS; p++) {
            FOR_ELEMENTS(LAY)
        }
    barrier();
    write_results(matrix, begin, PLAIN, PLAIN);
}
