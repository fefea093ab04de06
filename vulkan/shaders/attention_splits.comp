// SPDX-License-Identifier: Apache-2.0
//
// Joins the partial results of work groups that split the keys: for each row the greatest score, the sum of its
// weights, and the sum of the values times these. The last work group to finish joins them, always in the same order.

#define PARTIAL_QUADS ((WIDTH + 3u) / 4u)
#define PARTIAL_ROW(split, matrix, m) (((split) * MATRIX_COUNT + (matrix)) * ROWS + (m))
#define SPLITS_AT_ONCE min(8u, SPLITS)

shared uint splits_done;

attended put_partial_row(uint matrix, uint m, float top, float sum, bool first)
{
    uint row = PARTIAL_ROW(gl_WorkGroupID.y, matrix, m);
    if (first) {
        sums_word(STATISTICS + 2u * row) = floatBitsToUint(top);
        sums_word(STATISTICS + 2u * row + 1u) = floatBitsToUint(sum);
    }
    return attended(row * PARTIAL_QUADS, 1.0);
}

void put_partial_quad(attended row, uint q, vec4 x) { sums_quad(4u * (row.at + q)) = floatBitsToUint(x); }

// Joins a quad of a row, loading from several splits at once.
void join_quad(uint matrix, uint m, uint quad)
{
    float top = -INF, sum = 0.0;
    vec4 mixed = vec4(0.0);
    for (uint first = 0u; first < SPLITS; first += SPLITS_AT_ONCE) {
        vec2 statistics[SPLITS_AT_ONCE];
        vec4 quads[SPLITS_AT_ONCE];
        float before = top;
        UNROLL for (uint s = 0u; s < SPLITS_AT_ONCE; s++) {
            uint row = PARTIAL_ROW(min(first + s, SPLITS - 1u), matrix, m);
            statistics[s] = uintBitsToFloat(
                uvec2(sums_word(STATISTICS + 2u * row), sums_word(STATISTICS + 2u * row + 1u)));
            quads[s] = uintBitsToFloat(sums_quad(4u * (row * PARTIAL_QUADS + quad)));
            top = max(top, statistics[s].x);
        }
        float base = top == -INF ? 0.0 : top, factor = exp_from(before, base);
        sum *= factor;
        mixed *= factor;
        UNROLL for (uint s = 0u; s < SPLITS_AT_ONCE; s++) {
            float share = first + s < SPLITS ? exp_from(statistics[s].x, base) : 0.0;
            sum = mad(share, statistics[s].y, sum);
            mixed = mad(vec4(share), quads[s], mixed);
        }
    }
    write_quad(begin_row(matrix, m, top, sum, quad == 0u), quad, mixed);
}

void join_splits(uint matrix)
{
    uint first = ROW_GROUP * TILE_ROWS;
    LEAVE_UNLESS_LAST(matrix * ROW_TILES + ROW_GROUP, splits_done)
    for (uint i = gl_LocalInvocationIndex; i < min(TILE_ROWS, ROWS - first) * PARTIAL_QUADS; i += LOCAL_SIZE)
        join_quad(matrix, first + i / PARTIAL_QUADS, i % PARTIAL_QUADS);
}

#define begin_row put_partial_row
#define write_quad put_partial_quad
#define JOIN_SPLITS(matrix) join_splits(matrix);
