// SPDX-License-Identifier: Apache-2.0
//
// Attention of float16 on the matrix units of the device. A subgroup has PARTS parts of PART_M rows of the query in
// registers, and meets KEYS_AT_ONCE keys and values at a time, which lie in shared memory for all subgroups while the
// next are on their way.
//
// Weights are powers of two of the scores over a base, which is the greatest score of the row when it was taken. It is
// taken anew only where a score is SLACK above it, so that sums are seldom shrunk. Scores that are NaN need not be the
// greatest, since what is made of them is NaN whatever the base is.
//
// Where it is KNOWN which elements of a matrix an invocation has (places.comp; the test PLACES), four that have two rows
// make weights of their scores where these are. Elsewhere scores pass through shared memory: LANES invocations of a row
// make weights of float16 of them, which are read back as a matrix.

#define INVOCATIONS (SUBGROUPS * SUBGROUP)
#define ALL_PARTS (SUBGROUPS * PARTS)
#define LANES (SUBGROUP / PART_M)
#define SLACK 10.0

// Chunks are eight elements that lie beside one another in memory: along a line. Lines are keys; or, of keys and values
// that are ALONG the other way, what the query and the result have in a row. A pitch is odd, against bank conflicts.
#define QUERY_CHUNKS (DEPTH_PADDED / 8u)
#define QUERY_PITCH (QUERY_CHUNKS | 1u)
#define QUERY_ROOM (ALL_PARTS * PART_M * QUERY_PITCH)
#define KEY_LINES (KEYS_ALONG != 0 ? DEPTH_PADDED : KEYS_AT_ONCE)
#define KEY_CHUNKS ((KEYS_ALONG != 0 ? KEYS_AT_ONCE : DEPTH_PADDED) / 8u)
#define KEY_PITCH (KEY_CHUNKS | 1u)
#define VALUE_LINES (VALUES_ALONG != 0 ? WIDTH_PADDED : KEYS_AT_ONCE)
#define VALUE_CHUNKS ((VALUES_ALONG != 0 ? KEYS_AT_ONCE : WIDTH_PADDED) / 8u)
#define VALUE_PITCH (VALUE_CHUNKS | 1u)
#define KEY_HELD ((KEY_LINES * KEY_CHUNKS + INVOCATIONS - 1u) / INVOCATIONS)
#define VALUE_HELD ((VALUE_LINES * VALUE_CHUNKS + INVOCATIONS - 1u) / INVOCATIONS)

// Of a subgroup: scores of a part in quads, and weights in chunks, which take their place. Emulated matrices stay where
// they are read from.
#define SCORE_PITCH (((KNOWN == 1 ? PART_N : KEYS_AT_ONCE) / 4u) | 1u)
#define SCORE_ROOM (PART_M * SCORE_PITCH)
#define WEIGHT_PITCH ((KEYS_AT_ONCE / 8u) | 1u)
#define WEIGHT_ROOM (PART_M * WEIGHT_PITCH)
#if MATRICES == EMULATED
#define KEYS_FROM QUERY_ROOM
#define SLAB (SCORE_ROOM + PARTS * WEIGHT_ROOM)
#define WEIGHTS_OF(part) (slab + SCORE_ROOM + (part) * WEIGHT_ROOM)
#else
#define KEYS_FROM 0u
#define SLAB SCORE_ROOM
#define WEIGHTS_OF(part) slab
#endif
#define VALUES_FROM (KEYS_FROM + KEY_LINES * KEY_PITCH)
#define SLABS_FROM max(VALUES_FROM + VALUE_LINES * VALUE_PITCH, QUERY_ROOM)

shared uvec4 pool[SLABS_FROM + SUBGROUPS * SLAB];
shared float of_lanes[INVOCATIONS];
#if !KNOWN
shared uint votes[SUBGROUPS];
#endif
#if HAS_RANGES
shared uint ranges[5];
#endif

// ---------------------------------------------------------------------------------------------------------------------
// Matrices of PART_M x PART_K, PART_K x PART_N and PART_M x PART_N elements
// ---------------------------------------------------------------------------------------------------------------------

#if MATRICES == KHR
INSTRUCTION(4457)
MATRIX_SUM read_sum(spirv_by_reference uvec4 from, int layout_of, uint stride, spirv_literal int access, uint visible);
spirv_instruction(id = 133) MATRIX_SUM shrink(MATRIX_SUM x, MATRIX_SUM y);
#if KNOWN
#define PUT_ELEMENT(sum, e, x) sum = sum_with_element(x, sum, e)
#define PUT_WEIGHTS(weights, e, pair, place) PUT_PAIR(weights, e, stored_halves(pair))
#define ANY(x) subgroupAny(x)
float greatest(float x)
{
    x = max(x, subgroupShuffleXor(x, 1u));
    return max(x, subgroupShuffleXor(x, 2u));
}
float total(float x)
{
    x += subgroupShuffleXor(x, 1u);
    return x + subgroupShuffleXor(x, 2u);
}
#endif
#define SHRINKS(factor) (factor)
#define READ_A(matrix, index, pitch) matrix = read_a(pool[index], 0, pitch, 0x30, BY_WORKGROUP)
#define READ_B(matrix, index, pitch, turned) matrix = read_b(pool[index], turned, pitch, 0x30, BY_WORKGROUP)
#define READ_SUM(matrix, index, pitch) matrix = read_sum(pool[index], 0, pitch, 0x30, BY_WORKGROUP)
#define WRITE_SUM(index, pitch, sum) write_sum(pool[index], sum, 0, pitch, 0x28, BY_WORKGROUP)

#elif MATRICES == NV
#define shrink(x, y) ((x) / (y)) // there is no product of elements
#define SHRINKS(factor) (1.0 / (factor))
#define READ_A(matrix, index, pitch) coopMatLoadNV(matrix, pool, index, pitch, false)
#define READ_B(matrix, index, pitch, turned) coopMatLoadNV(matrix, pool, index, pitch, (turned) != 0)
#define READ_SUM(matrix, index, pitch) coopMatLoadNV(matrix, pool, index, pitch, false)
#define WRITE_SUM(index, pitch, sum) coopMatStoreNV(sum, pool, index, pitch, false)

#else
// What is read stays where it is.
struct Place { uint index, pitch, turned; };
#define MATRIX_A Place
#define MATRIX_B Place
#define SHRINKS(factor) (factor)
#define READ_A(matrix, index, pitch) matrix = Place(index, pitch, 0u)
#define READ_B(matrix, index, pitch, turned) matrix = Place(index, pitch, uint(turned))
#define READ_SUM(matrix, index, pitch) matrix = read_own(index, pitch)
#define WRITE_SUM(index, pitch, sum) write_own(index, pitch, sum)
// As KNOWN matrices are.
uint place_of(uint e)
{
    uint lane = gl_LocalInvocationIndex % SUBGROUP;
    return (FIRST_ROW(lane) + ROW_IN(e) * 8u) * PART_N + FIRST_COLUMN(lane) + COLUMN_IN(e);
}
Sum shrink(Sum x, Sum y)
{
    for (uint e = 0u; e < OWN; e++)
        x.own[e] *= y.own[e];
    return x;
}
float element_at(Place p, uint row, uint column)
{
    uint line = p.turned != 0u ? column : row, e = p.turned != 0u ? row : column;
    return half_value(pool[p.index + line * p.pitch + e / 8u][e / 2u % 4u] >> (e % 2u * 16u) & 0xFFFFu);
}
Sum multiply_add(Place a, Place b, Sum sum)
{
    for (uint e = 0u; e < OWN; e++)
        for (uint k = 0u; k < PART_K; k++)
            sum.own[e] += element_at(a, place_of(e) / PART_N, k) * element_at(b, k, place_of(e) % PART_N);
    return sum;
}
Sum read_own(uint index, uint pitch)
{
    Sum sum;
    for (uint e = 0u; e < OWN; e++) {
        uint row = place_of(e) / PART_N, column = place_of(e) % PART_N;
        sum.own[e] = uintBitsToFloat(pool[index + row * pitch + column / 4u][column % 4u]);
    }
    return sum;
}
void write_own(uint index, uint pitch, Sum sum)
{
    for (uint e = 0u; e < OWN; e++) {
        uint row = place_of(e) / PART_N, column = place_of(e) % PART_N;
        pool[index + row * pitch + column / 4u][column % 4u] = floatBitsToUint(sum.own[e]);
    }
}
#endif

#if MATRICES == EMULATED && KNOWN
float element_of(Sum sum, uint e) { return sum.own[e]; }
float half_of(Place p, uint e) { return element_at(p, place_of(e) / PART_N, place_of(e) % PART_N); }
float second_half_of(Place p, uint e) { return element_at(p, place_of(e) % PART_N, place_of(e) / PART_N); }
#define PUT_ELEMENT(sum, e, x) sum.own[e] = x
#define PUT_WEIGHTS(weights, e, pair, place)                                                                         \
    {                                                                                                                \
        uint at = place_of(e) % PART_N;                                                                              \
        weights = Place(place, WEIGHT_PITCH, 0u);                                                                    \
        pool[place + place_of(e) / PART_N * WEIGHT_PITCH + at / 8u][at / 2u % 4u] = stored_halves(pair);             \
    }
#define ANY(x) (x)
float greatest(float x)
{
    uint self = gl_LocalInvocationIndex, four = self & ~3u;
    of_lanes[self] = x;
    barrier();
    x = max(max(of_lanes[four], of_lanes[four + 1u]), max(of_lanes[four + 2u], of_lanes[four + 3u]));
    barrier();
    return x;
}
float total(float x)
{
    uint self = gl_LocalInvocationIndex, four = self & ~3u;
    of_lanes[self] = x;
    barrier();
    x = of_lanes[four] + of_lanes[four + 1u] + of_lanes[four + 2u] + of_lanes[four + 3u];
    barrier();
    return x;
}
#endif

// Emulated, subgroups meet all together, and must agree on whether they do.
#if MATRICES == EMULATED
#define VOTE 0u
#define MEET() barrier()
#else
#define VOTE gl_SubgroupID
#define MEET() subgroupBarrier()
#endif

// ---------------------------------------------------------------------------------------------------------------------

#define DEPTH_STEPS (DEPTH_PADDED / PART_K)
#define WIDTH_STEPS (WIDTH_PADDED / PART_N)
#define KEY_STEPS (KEYS_AT_ONCE / PART_K)
#define SCORE_STEPS (KEYS_AT_ONCE / PART_N)
#define OWN_CHUNKS (KEYS_AT_ONCE / 8u / LANES)

// Rows whose bases and sums an invocation has: those of its elements, or of its lane.
#if KNOWN
#define BASES 2u
#define ROW_OF(r) (FIRST_ROW(LANE) + (r) * 8u)
#else
#define BASES 1u
#define ROW_OF(r) (LANE % PART_M)
#endif

#if PLACES
// The test of what is KNOWN: a matrix whose elements are their places is read as a sum, and as each operand, and an
// invocation says which elements it has.
void main()
{
    const uint operand = PART_M * PART_N / 4u;
    uint self = gl_LocalInvocationIndex;
    for (uint i = self; i < PART_M * PART_N / 4u; i += SUBGROUP)
        pool[i] = floatBitsToUint(vec4(4u * i, 4u * i + 1u, 4u * i + 2u, 4u * i + 3u));
    for (uint i = self; i < PART_M * PART_K / 8u; i += SUBGROUP)
        pool[operand + i] =
            uvec4(stored_halves(vec2(8u * i, 8u * i + 1u)), stored_halves(vec2(8u * i + 2u, 8u * i + 3u)),
                  stored_halves(vec2(8u * i + 4u, 8u * i + 5u)), stored_halves(vec2(8u * i + 6u, 8u * i + 7u)));
    barrier();
    MATRIX_SUM sum;
    MATRIX_A first;
    MATRIX_B second;
    READ_SUM(sum, 0u, PART_N / 4u);
    READ_A(first, operand, PART_K / 8u);
    READ_B(second, operand, PART_N / 8u, 0);
#define TELL_ALL(e)                                                                                                  \
    tell(self * 24u + uint(e), uint(element_of(sum, e)));                                                            \
    tell(self * 24u + uint(e) + 8u, uint(half_of(first, e)));                                                        \
    tell(self * 24u + uint(e) + 16u, uint(second_half_of(second, e)));
    FOR_ELEMENTS(TELL_ALL)
}
#else

// Where row r of part i of an invocation has its mask; a band is asked for in few rounds, and has no registers.
#define MASK_ROW(i, r) mask_row_index(min(first_row + (i) * PART_M + ROW_OF(r), ROWS - 1u))
#if BANDED
#define FROM_MASK(i, r) MASK_ROW(i, r)
#else
#define FROM_MASK(i, r) from_mask[(i) * BASES + (r)]
#endif

// Of a part i, in main(): takes two scores that are beside one another, of keys n * PART_N and after, to registers, as
// they are or with their mask, which is read first if it is in memory, so that all of it is on its way at once; shrinks
// what has been mixed; and makes weights of two scores.
#define KEY_OF(e) (keys + n * PART_N + FIRST_COLUMN(LANE) + uint(COLUMN_IN(e)))
#define MASK_OF(e) (FROM_MASK(i, uint(ROW_IN(e))) + KEY_OF(e) * MASK_COLUMN)
#define PUT_SCORES(e, pair)                                                                                          \
    own[n * 8u + uint(e)] = pair.x;                                                                                  \
    own[n * 8u + uint(e) + 1u] = pair.y;
#define SCORES_OF(e)                                                                                                 \
    (SCALE * vec2(element_of(scores[i * SCORE_STEPS + n], e), element_of(scores[i * SCORE_STEPS + n], e + 1)))
#define READ_MASK(e)                                                                                                 \
    {                                                                                                                \
        uint at = MASK_OF(e), key = KEY_OF(e);                                                                       \
        vec2 mask = MASK_PAIR(at, key);                                                                              \
        PUT_SCORES(e, mask)                                                                                          \
    }
#define TAKE_AS(e, pair)                                                                                             \
    {                                                                                                                \
        vec2 taken_pair = pair;                                                                                      \
        PUT_SCORES(e, taken_pair)                                                                                    \
        top[ROW_IN(e)] = max(top[ROW_IN(e)], max(taken_pair.x, taken_pair.y));                                       \
    }
#define TAKE(e) TAKE_AS(e, SCORES_OF(e))
#define TAKE_UNDER_MASK(e) TAKE_AS(e, under_mask(SCORES_OF(e), vec2(own[n * 8u + uint(e)], own[n * 8u + uint(e) + 1u])))
#define TAKE_UNTIL_END(e) TAKE_AS(e, until_end(SCORES_OF(e), MASK_OF(e), KEY_OF(e), end))
#if HAS_RANGES
#define TAKE_IN_RUN(e) TAKE_AS(e, of_run(SCORES_OF(e), KEY_OF(e), run[ROW_IN(e)]))
vec2 of_run(vec2 pair, uint key, uvec2 run) { return vec2(in_run(pair.x, key, run), in_run(pair.y, key + 1u, run)); }
#endif
#if READS_MASK
vec2 under_mask(vec2 pair, vec2 mask) { return vec2(masked_by(pair.x, mask.x), masked_by(pair.y, mask.y)); }
#if MASK_PAIRS
#define MASK_PAIR(at, key) (WHOLE_TILES == 1 || key < end ? mask_pair(at) : vec2(-INF))
#else
#define MASK_PAIR(at, key)                                                                                           \
    vec2(WHOLE_TILES == 1 || key < end ? mask_number(at) : -INF,                                                     \
         WHOLE_TILES == 1 || key + 1u < end ? mask_number(at + MASK_COLUMN) : -INF)
#endif
#else
vec2 until_end(vec2 pair, uint at, uint key, uint end)
{
    return vec2(WHOLE_TILES == 1 || key < end ? masked(pair.x, at) : -INF,
                WHOLE_TILES == 1 || key + 1u < end ? masked(pair.y, at + MASK_COLUMN) : -INF);
}
#endif
#define SHRINK(e)                                                                                                    \
    PUT_ELEMENT(mixed[i * WIDTH_STEPS + w], e,                                                                       \
                element_of(mixed[i * WIDTH_STEPS + w], e) * factor[ROW_IN(e)]);
#define WEIGH(e)                                                                                                     \
    {                                                                                                                \
        vec2 pair = exp2(vec2(own[n * 8u + uint(e)], own[n * 8u + uint(e) + 1u]) - under[ROW_IN(e)]);                \
        sums[i * 2u + uint(ROW_IN(e))] += pair.x + pair.y;                                                           \
        PUT_WEIGHTS(weights[i * KEY_STEPS + n], e, pair, WEIGHTS_OF(i) + n * PART_K / 8u)                            \
    }

void main()
{
    uint self = gl_LocalInvocationIndex, matrix = MATRIX;
    uint row_group = ROW_GROUP * ALL_PARTS * PART_M, first_row = row_group + SUBGROUP_INDEX * PARTS * PART_M;
    uint from_query = query_index(matrix), from_key = key_index(matrix), from_value = value_index(matrix);
    uint slab = SLABS_FROM + SUBGROUP_INDEX * SLAB, row = LANE % PART_M, lane = LANE / PART_M;
    uint numbers = SUBGROUP_INDEX * SUBGROUP + row; // of the invocations that share the row, PART_M apart

#if HAS_RANGES
    uint first_attended = KEYS, end_attended = 0u, first_zero = 0u, end_zeros = KEYS, holes = 0u;
    for (uint m = row_group + FIRST_RANGE(self), last = min(row_group + RANGES(ALL_PARTS * PART_M), ROWS); m < last;
         m += INVOCATIONS)
        add_range(matrix, m)
    join_ranges(self)
#endif
    for (uint i = self; i < ALL_PARTS * PART_M * QUERY_CHUNKS; i += INVOCATIONS)
        pool[i / QUERY_CHUNKS * QUERY_PITCH + i % QUERY_CHUNKS] =
            query_chunk(from_query, row_group + i / QUERY_CHUNKS, i % QUERY_CHUNKS);
    barrier();
#if HAS_RANGES
    read_ranges
#endif
    uint begin = gl_WorkGroupID.y * SPLIT, end = last_key(min(begin + SPLIT, KEYS), row_group);
    begin = first_key(begin, row_group);
    MATRIX_A queries[PARTS * DEPTH_STEPS];
    MATRIX_SUM mixed[PARTS * WIDTH_STEPS];
    float base[PARTS * BASES], sums[PARTS * BASES];
#if !BANDED
    uint from_mask[PARTS * BASES];
#endif
    UNROLL for (uint i = 0u; i < PARTS; i++) {
        UNROLL for (uint d = 0u; d < DEPTH_STEPS; d++)
            READ_A(queries[i * DEPTH_STEPS + d],
                   (SUBGROUP_INDEX * PARTS + i) * PART_M * QUERY_PITCH + d * PART_K / 8u, QUERY_PITCH);
        UNROLL for (uint w = 0u; w < WIDTH_STEPS; w++)
            mixed[i * WIDTH_STEPS + w] = all_of(0.0);
        UNROLL for (uint r = 0u; r < BASES; r++) {
            base[i * BASES + r] = -INF;
            sums[i * BASES + r] = 0.0;
#if !BANDED
            from_mask[i * BASES + r] = mask_index(matrix) + MASK_ROW(i, r);
#endif
        }
    }

    uvec4 held_keys[KEY_HELD], held_values[VALUE_HELD];
    for (uint first = begin; first < end + KEYS_AT_ONCE; first += KEYS_AT_ONCE) {
        // What the round before read from memory goes to shared memory, and the next is read while it is used.
        if (first != begin) {
            barrier();
            UNROLL for (uint i = 0u; i < KEY_HELD; i++) {
                uint at = i * INVOCATIONS + self;
                if (KEY_HELD * INVOCATIONS == KEY_LINES * KEY_CHUNKS || at < KEY_LINES * KEY_CHUNKS)
                    pool[KEYS_FROM + at / KEY_CHUNKS * KEY_PITCH + at % KEY_CHUNKS] = held_keys[i];
            }
            UNROLL for (uint i = 0u; i < VALUE_HELD; i++) {
                uint at = i * INVOCATIONS + self;
                if (VALUE_HELD * INVOCATIONS == VALUE_LINES * VALUE_CHUNKS || at < VALUE_LINES * VALUE_CHUNKS)
                    pool[VALUES_FROM + at / VALUE_CHUNKS * VALUE_PITCH + at % VALUE_CHUNKS] = held_values[i];
            }
            barrier();
        }
        if (first < end) {
            UNROLL for (uint i = 0u; i < KEY_HELD; i++) {
                uint at = i * INVOCATIONS + self;
                held_keys[i] = key_chunk(from_key, first, at / KEY_CHUNKS, at % KEY_CHUNKS, end);
            }
            UNROLL for (uint i = 0u; i < VALUE_HELD; i++) {
                uint at = i * INVOCATIONS + self;
                held_values[i] = value_chunk(from_value, first, at / VALUE_CHUNKS, at % VALUE_CHUNKS, end);
            }
        }
        if (first == begin)
            continue;
        uint keys = first - KEYS_AT_ONCE; // those in shared memory

        MATRIX_SUM scores[PARTS * SCORE_STEPS];
        UNROLL for (uint n = 0u; n < SCORE_STEPS; n++) {
            UNROLL for (uint i = 0u; i < PARTS; i++)
                scores[i * SCORE_STEPS + n] = all_of(0.0);
            UNROLL for (uint d = 0u; d < DEPTH_STEPS; d++) {
                MATRIX_B key;
                READ_B(key,
                       KEYS_FROM + (KEYS_ALONG != 0 ? d * PART_K * KEY_PITCH + n * PART_N / 8u
                                                    : n * PART_N * KEY_PITCH + d * PART_K / 8u),
                       KEY_PITCH, KEYS_ALONG == 0 ? 1 : 0);
                UNROLL for (uint i = 0u; i < PARTS; i++)
                    scores[i * SCORE_STEPS + n] =
                        multiply_add(queries[i * DEPTH_STEPS + d], key, scores[i * SCORE_STEPS + n]);
            }
        }

        MATRIX_A weights[PARTS * KEY_STEPS];
#if KNOWN
        UNROLL for (uint i = 0u; i < PARTS; i++) {
            float own[SCORE_STEPS * 8u], top[2], under[2];
            bool taken[2];
            top[0] = top[1] = -INF;
#if BANDED || HAS_RANGES
            if (attends_to_all(first_row + i * PART_M, keys))
                UNROLL for (uint n = 0u; n < SCORE_STEPS; n++) {
                    FOR_PAIRS(TAKE)
                }
            else
#endif
#if HAS_RANGES
            if (holes == 0u) {
                uvec2 run[2];
                UNROLL for (uint r = 0u; r < 2u; r++)
                    run[r] = run_of(matrix, first_row + i * PART_M + ROW_OF(r));
                UNROLL for (uint n = 0u; n < SCORE_STEPS; n++) {
                    FOR_PAIRS(TAKE_IN_RUN)
                }
            } else
#endif
            {
#if READS_MASK
                UNROLL for (uint n = 0u; n < SCORE_STEPS; n++) {
                    FOR_PAIRS(READ_MASK)
                }
                UNROLL for (uint n = 0u; n < SCORE_STEPS; n++) {
                    FOR_PAIRS(TAKE_UNDER_MASK)
                }
#else
                UNROLL for (uint n = 0u; n < SCORE_STEPS; n++) {
                    FOR_PAIRS(TAKE_UNTIL_END)
                }
#endif
            }
            UNROLL for (uint r = 0u; r < 2u; r++) {
                top[r] = greatest(top[r]);
                taken[r] = !(top[r] <= base[i * 2u + r] + SLACK);
            }
            if (ANY(taken[0] || taken[1])) {
                float factor[2];
                UNROLL for (uint r = 0u; r < 2u; r++) {
                    float before = base[i * 2u + r], after = taken[r] ? max(before, top[r]) : before;
                    base[i * 2u + r] = after;
                    factor[r] = taken[r] ? exp2(before - (after == -INF ? 0.0 : after)) : 1.0;
                    sums[i * 2u + r] *= factor[r];
                }
                UNROLL for (uint w = 0u; w < WIDTH_STEPS; w++) {
                    FOR_ELEMENTS(SHRINK)
                }
            }
            UNROLL for (uint r = 0u; r < 2u; r++)
                under[r] = base[i * 2u + r] == -INF ? 0.0 : base[i * 2u + r];
            UNROLL for (uint n = 0u; n < SCORE_STEPS; n++) {
                FOR_PAIRS(WEIGH)
            }
        }
#if MATRICES == EMULATED
        barrier();
#endif
#else
        UNROLL for (uint i = 0u; i < PARTS; i++) {
            MEET();
            UNROLL for (uint n = 0u; n < SCORE_STEPS; n++)
                WRITE_SUM(slab + n * PART_N / 4u, SCORE_PITCH, scores[i * SCORE_STEPS + n]);
            MEET();
            vec4 own[2u * OWN_CHUNKS];
            float top = -INF;
            UNROLL for (uint c = 0u; c < 2u * OWN_CHUNKS; c++) {
                uint quad = (c / 2u * LANES + lane) * 2u + c % 2u, n = keys + 4u * quad;
                own[c] = uintBitsToFloat(pool[slab + row * SCORE_PITCH + quad]) * SCALE;
                UNROLL for (uint e = 0u; e < 4u; e++) {
                    uint mask = (n + e) * MASK_COLUMN;
                    own[c][e] = WHOLE_TILES == 1 || n + e < end ? masked(own[c][e], FROM_MASK(i, 0u) + mask) : -INF;
                    top = max(top, own[c][e]);
                }
            }
            of_lanes[SUBGROUP_INDEX * SUBGROUP + LANE] = top;
            MEET();
            UNROLL for (uint k = 0u; k < LANES; k++)
                top = max(top, of_lanes[numbers + k * PART_M]);
            bool taken = !(top <= base[i] + SLACK);
            uint stamp = keys * PARTS + i + 1u; // of this round
            float before = base[i];
            if (taken) {
                base[i] = max(before, top);
                votes[VOTE] = stamp;
            }
            float under = base[i] == -INF ? 0.0 : base[i], factor = taken ? exp2(before - under) : 1.0;
            sums[i] *= factor;
            UNROLL for (uint c = 0u; c < OWN_CHUNKS; c++) {
                vec4 low = exp2(own[2u * c] - under), high = exp2(own[2u * c + 1u] - under);
                sums[i] += (low.x + low.y + low.z + low.w) + (high.x + high.y + high.z + high.w);
                pool[WEIGHTS_OF(i) + row * WEIGHT_PITCH + c * LANES + lane] =
                    uvec4(stored_halves(low.xy), stored_halves(low.zw), stored_halves(high.xy),
                          stored_halves(high.zw));
            }
            MEET();
            UNROLL for (uint k = 0u; k < KEY_STEPS; k++)
                READ_A(weights[i * KEY_STEPS + k], WEIGHTS_OF(i) + k * PART_K / 8u, WEIGHT_PITCH);
            if (votes[VOTE] == stamp && keys != begin) {
                MEET();
                for (uint e = lane; e < PART_N / 4u; e += LANES)
                    pool[slab + row * SCORE_PITCH + e] = uvec4(floatBitsToUint(SHRINKS(factor)));
                MEET();
                MATRIX_SUM factors;
                READ_SUM(factors, slab, SCORE_PITCH);
                UNROLL for (uint w = 0u; w < WIDTH_STEPS; w++)
                    mixed[i * WIDTH_STEPS + w] = shrink(mixed[i * WIDTH_STEPS + w], factors);
            }
        }

#endif

        UNROLL for (uint k = 0u; k < KEY_STEPS; k++)
            UNROLL for (uint w = 0u; w < WIDTH_STEPS; w++) {
                MATRIX_B value;
                READ_B(value,
                       VALUES_FROM + (VALUES_ALONG != 0 ? w * PART_N * VALUE_PITCH + k * PART_K / 8u
                                                        : k * PART_K * VALUE_PITCH + w * PART_N / 8u),
                       VALUE_PITCH, VALUES_ALONG != 0 ? 1 : 0);
                UNROLL for (uint i = 0u; i < PARTS; i++)
                    mixed[i * WIDTH_STEPS + w] =
                        multiply_add(weights[i * KEY_STEPS + k], value, mixed[i * WIDTH_STEPS + w]);
            }
    }

    UNROLL for (uint i = 0u; i < PARTS; i++) {
        uint m = first_row + i * PART_M + row;
        float sum = 0.0, greatest_score;
        MEET();
#if KNOWN
        UNROLL for (uint r = 0u; r < 2u; r++)
            sums[i * 2u + r] = total(sums[i * 2u + r]);
        UNROLL for (uint r = 0u; r < 2u && LANE % 4u == 0u; r++) {
            of_lanes[SUBGROUP_INDEX * SUBGROUP + ROW_OF(r)] = sums[i * 2u + r];
            of_lanes[SUBGROUP_INDEX * SUBGROUP + PART_M + ROW_OF(r)] = base[i * 2u + r];
        }
        MEET();
        sum = of_lanes[numbers];
        greatest_score = of_lanes[numbers + PART_M];
#else
        of_lanes[SUBGROUP_INDEX * SUBGROUP + LANE] = sums[i];
        MEET();
        UNROLL for (uint k = 0u; k < LANES; k++)
            sum += of_lanes[numbers + k * PART_M];
        greatest_score = base[i];
#endif
        attended to = begin_row(matrix, min(m, ROWS - 1u), greatest_score * 0.693147181, sum, lane == 0u && m < ROWS);
        UNROLL for (uint w = 0u; w < WIDTH_STEPS; w++) {
            MEET();
            WRITE_SUM(slab, SCORE_PITCH, mixed[i * WIDTH_STEPS + w]);
            MEET();
            [[dont_unroll]] for (uint e = lane; e < PART_N / 4u; e += LANES) {
                uint quad = w * PART_N / 4u + e;
                if (m < ROWS && 4u * quad < WIDTH)
                    write_quad(to, quad, uintBitsToFloat(pool[slab + row * SCORE_PITCH + e]));
            }
        }
    }
    JOIN_SPLITS(matrix)
}
#endif
