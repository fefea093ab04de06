// SPDX-License-Identifier: Apache-2.0
//
// Products on the matrix units of the device: matmul, gemm, and convolutions of NHWC images as products of the pixels
// under the filter. A work group of SUBGROUPS subgroups makes a tile of TILE_M x TILE_N sums, TILE_K steps at a time, which
// lie in shared memory as 16-bit numbers: those of float16 operands as they are, a float32 as PIECES bfloat16 that add
// up to it. Of the products of pieces the six greatest are taken; what a matrix unit adds up is short, since it drops
// bits that float32 would round. Where a tile has few subgroups to hide behind one another, SLICES of them share its
// parts: each multiplies its own of the inner indices of a step, and their sums are added at the end.
//
// A PAIRED product is computed along with another, of the same rows and with as many columns, which what is fused with
// it reads: of the columns of a subgroup the first half are those of b, the others the same ones of the other's matrix.
//
// Chunks are eight elements that lie beside one another in memory: along a line. A line of an operand is a row, or an
// inner index where the operand is TURNED.

#define SUBGROUPS_N (TILE_N / SUBGROUP_N)
#define SLICE_SUBGROUPS (TILE_M / SUBGROUP_M * SUBGROUPS_N)
#define SUBGROUPS (SLICE_SUBGROUPS * SLICES)
#define SLICED_K (PART_K * SLICES)
#define PARTS_M (SUBGROUP_M / PART_M)
#define PARTS_N (SUBGROUP_N / PART_N)
#define INVOCATIONS (SUBGROUPS * SUBGROUP)

// Lines in shared memory, their chunks, and how far one is from the next: no power of two, against bank conflicts.
#define A_LINES (A_TURNED != 0 ? TILE_K : TILE_M)
#define B_LINES (B_TURNED != 0 ? TILE_N : TILE_K)
#define A_CHUNKS ((A_TURNED != 0 ? TILE_M : TILE_K) / 8u)
#define B_CHUNKS ((B_TURNED != 0 ? TILE_K : TILE_N) / 8u)
#define A_PITCH (A_CHUNKS + 1u)
#define B_PITCH (B_CHUNKS + 1u)
#define A_HELD (A_LINES * A_CHUNKS / INVOCATIONS)

// What is held of b: chunks, or packs of constants, of B_PACK chunks each (weight_chunks.comp).
#if !HOLDS_PACKS
#define HELD_B Chunk
#define B_PACK 1u
#define chunk_of(held, c) held
#endif
#define B_HELD (B_LINES * B_CHUNKS / B_PACK / INVOCATIONS)

// Columns of the output that a tile and a subgroup have; the packs of a line that come from one operand, and how many
// of them an invocation reads.
#define TILE_COLUMNS (TILE_N / B_OPERANDS)
#define SUBGROUP_COLUMNS (SUBGROUP_N / B_OPERANDS)
#define B_PLACES (B_CHUNKS / B_PACK / B_OPERANDS)
#define B_LOADS (B_HELD / B_OPERANDS)
#define HALF_CHUNKS (SUBGROUP_COLUMNS / 8u)

// Shared memory has a step of both operands, and after the last a slab of each subgroup, where it lays parts of its sums
// that are beside one another, to be read by element.
#define A_TILE (PIECES * A_LINES * A_PITCH)
#define B_TILE (PIECES * B_LINES * B_PITCH)
#define SLAB_PITCH (SUBGROUP_N / 4u + 1u)
#define SLAB (PART_M * SLAB_PITCH)
#define SLICE_SLABS (SLICE_SUBGROUPS * SLAB)
const uint SLABS = SUBGROUPS * SLAB;
shared uvec4 tiles[A_TILE + B_TILE > SLABS ? A_TILE + B_TILE : SLABS];

// Sums beside one another, from tiles[at] on: of all slices. Which slice and subgroup of it this is stands in no
// variable, which would take a register throughout.
#if SLICES > 1
uvec4 sums_at(uint at)
{
    vec4 sums = uintBitsToFloat(tiles[at]);
    UNROLL for (uint s = 1u; s < SLICES; s++)
        sums += uintBitsToFloat(tiles[at + s * SLICE_SLABS]);
    return floatBitsToUint(sums);
}
#define SLICE (SUBGROUP_INDEX / SLICE_SUBGROUPS)
#define SUBGROUP_K(k) (SLICE * PART_K + (k))
#define SLICE_SLAB(at) (SLICE * SLICE_SLABS + (at))
#define SLICE_ITEM(i) (SLICE * ITEMS + (i))
#define SLICE_SUBGROUP (SUBGROUP_INDEX % SLICE_SUBGROUPS)
#else
#define sums_at(at) tiles[at]
#define SUBGROUP_K(k) (k)
#define SLICE_SLAB(at) (at)
#define SLICE_ITEM(i) (i)
#define SLICE_SUBGROUP SUBGROUP_INDEX
#endif

// Elements that are written at once: COLUMNS is a multiple. They are made of sums that lie from tiles[at][e] on.
#if PAIRED
#define FINISHED(e, place)                                                                                           \
    (partner = partner_of(uintBitsToFloat(others[e]), place), finish(scaled(uintBitsToFloat(own[e]), place), place))
#else
#define FINISHED(e, place) finish(scaled(uintBitsToFloat(own[e]), place), place)
#endif
#if QUADS_OUT
#define BESIDE 4u
#define RESULTS vec4
#define WRITE_RESULTS(place, results) out_quad(place, results)
vec4 results_of(uint at, uint e, uint place)
{
    uvec4 own = sums_at(at);
#if PAIRED
    uvec4 others = sums_at(at + SUBGROUP_COLUMNS / 4u);
    return vec4(FINISHED(0u, place), FINISHED(1u, place + 1u), FINISHED(2u, place + 2u), FINISHED(3u, place + 3u));
#else
    return finish_quad(scaled_quad(uintBitsToFloat(own), place), place);
#endif
}
#else
#define BESIDE PER
#define RESULTS WORD
#define WRITE_RESULTS(place, results) store((place) / PER, results)
WORD results_of(uint at, uint e, uint place)
{
    WORD word = WORD(0u);
    uvec4 own = sums_at(at);
#if PAIRED
    uvec4 others = sums_at(at + SUBGROUP_COLUMNS / 4u);
#endif
    UNROLL for (uint w = 0u; w < PER; w++)
        put(word, w, FINISHED(e + w, place + w));
    return word;
}
#endif

// What is written where the sums of a subgroup are: results, or what is left of a split, which is to be added up by the
// work group of a tile that comes last.
#if SUMS_INSIDE
#define LEFT uvec4
uvec4 left_of(uint at, uint e, uint unused)
{
    uvec4 own = sums_at(at);
    return QUADS_OUT == 1 ? own : uvec4(own[e], own[(e + 1u) % 4u], 0u, 0u);
}
#if QUADS_OUT
#define WRITE_LEFT(place, left) sums_quad(place) = left
#define READ_LEFT(place) uintBitsToFloat(sums_quad(place))
RESULTS summed(vec4 sums, uint place) { return finish_quad(scaled_quad(sums, place), place); }
#else
#define WRITE_LEFT(place, left)                                                                                      \
    UNROLL for (uint w = 0u; w < PER; w++)                                                                           \
        sums_word((place) + w) = left[w];
vec4 read_left(uint place)
{
    vec4 left = vec4(0.0);
    UNROLL for (uint w = 0u; w < PER; w++)
        left[w] = uintBitsToFloat(sums_word(place + w));
    return left;
}
#define READ_LEFT(place) read_left(place)
RESULTS summed(vec4 sums, uint place)
{
    WORD word = WORD(0u);
    UNROLL for (uint w = 0u; w < PER; w++)
        put(word, w, finish(scaled(sums[w], place + w), place + w));
    return word;
}
#endif
#else
#define LEFT RESULTS
#define left_of(at, e, place) results_of(at, e, place)
#define WRITE_LEFT(place, left) WRITE_RESULTS(place, left)
#endif
#define ROW_ITEMS (SUBGROUP_COLUMNS / BESIDE)
#define ITEMS (PART_M * ROW_ITEMS / (SUBGROUP * SLICES))
#define AT_ONCE (ITEMS < 4u ? ITEMS : 4u)
#define TILE_ITEMS (TILE_M * TILE_N / BESIDE)
// How much of READ_AT_ONCE are elements, and splits.
#define SUMMED_AT_ONCE clamp(TILE_ITEMS / INVOCATIONS, 1u, 4u)
#define SPLITS_AT_ONCE (READ_AT_ONCE / SUMMED_AT_ONCE)
#define OUTSIDE 0xFFFFFFFFu
#define IS_OWN(m, n) ((WHOLE_A == 1 ? (m) >= own_m : (m) < ROWS) && (WHOLE_B == 1 ? (n) >= own_n : (n) < COLUMNS))

// ---------------------------------------------------------------------------------------------------------------------
// Matrices of PART_M x PART_K, PART_K x PART_N and PART_M x PART_N elements
// ---------------------------------------------------------------------------------------------------------------------

#if MATRICES == KHR
spirv_instruction(id = 129) MATRIX_SUM add_sums(MATRIX_SUM x, MATRIX_SUM y);
// Memory that other invocations write (0x20) is made visible (0x10) or available (0x8) to the work group.
#define READ_A(matrix, index) matrix = read_a(tiles[index], A_TURNED, A_PITCH, 0x30, BY_WORKGROUP)
#define READ_B(matrix, index) matrix = read_b(tiles[index], B_TURNED, B_PITCH, 0x30, BY_WORKGROUP)
#define WRITE_SUM(index, sum) write_sum(tiles[index], sum, 0, SLAB_PITCH, 0x28, BY_WORKGROUP)

#elif MATRICES == NV
#define add_sums(x, y) ((x) + (y))
#define READ_A(matrix, index) coopMatLoadNV(matrix, tiles, index, A_PITCH, A_TURNED != 0)
#define READ_B(matrix, index) coopMatLoadNV(matrix, tiles, index, B_PITCH, B_TURNED != 0)
#define WRITE_SUM(index, sum) coopMatStoreNV(sum, tiles, index, SLAB_PITCH, false)

#else
// What is read stays where it is; an invocation has every SUBGROUP-th of the sums.
#define MATRIX_A uint
#define MATRIX_B uint
#define READ_A(matrix, index) matrix = index
#define READ_B(matrix, index) matrix = index
Sum add_sums(Sum x, Sum y)
{
    for (uint e = 0u; e < OWN; e++)
        x.own[e] += y.own[e];
    return x;
}
float piece_of(uvec4 chunk, uint place)
{
    uint bits = chunk[place / 2u % 4u] >> (place % 2u * 16u);
    return PIECES == 1 ? half_value(bits & 0xFFFFu) : uintBitsToFloat(bits << 16);
}
float piece_at(uint index, uint place) { return piece_of(tiles[index + place / 8u], place); }
Sum multiply_add(uint a, uint b, Sum sum)
{
    for (uint e = 0u; e < OWN; e++) {
        uint place = e * SUBGROUP + gl_LocalInvocationIndex % SUBGROUP, m = place / PART_N, n = place % PART_N;
        for (uint k = 0u; k < PART_K; k++)
            sum.own[e] += piece_at(a + (A_TURNED != 0 ? k : m) * A_PITCH, A_TURNED != 0 ? m : k) *
                          piece_at(b + (B_TURNED != 0 ? n : k) * B_PITCH, B_TURNED != 0 ? k : n);
    }
    return sum;
}
void write_own(uint index, Sum sum)
{
    for (uint e = 0u; e < OWN; e++) {
        uint place = e * SUBGROUP + gl_LocalInvocationIndex % SUBGROUP;
        tiles[index + place / PART_N * SLAB_PITCH + place % PART_N / 4u][place % 4u] = floatBitsToUint(sum.own[e]);
    }
}
#define WRITE_SUM(index, sum) write_own(index, sum)
#endif

// Parts of the sums are finished one after the other. What becomes of a LARGE_END is there once for all of them: drivers do
// not unroll what is too large, and sums would leave their registers for it.
#define WRITE_SUMS(i)                                                                                                \
    UNROLL for (uint j = 0u; j < PARTS_N; j++)                                                                       \
        WRITE_SUM(SLICE_SLAB(slab + j * PART_N / 4u), sums[(i) * PARTS_N + j]);
#if LARGE_END
#define EACH_PART(i) [[dont_unroll]] for (uint i = 0u; i < PARTS_M; i++)
#define WRITE_PART(i)                                                                                                \
    UNROLL for (uint part = 0u; part < PARTS_M; part++)                                                              \
        if (part == i) {                                                                                             \
            WRITE_SUMS(part)                                                                                         \
        }
#else
#define EACH_PART(i)  UNROLL for (uint i = 0u; i < PARTS_M; i++)
#define WRITE_PART(i) WRITE_SUMS(i)
#endif

#if MATRICES == EMULATED || SLICES > 1
#define MEET() barrier()
#else
#define MEET() subgroupBarrier()
#endif

// ---------------------------------------------------------------------------------------------------------------------
// Operands: from memory to registers, and on to shared memory
// ---------------------------------------------------------------------------------------------------------------------

#if PIECES == 1
#define WORDS_OF(chunk, piece) (chunk)
#else
// Rounds to bfloat16, or cuts where nothing is to be left; takes what it returns off the chunk.
uvec4 take_piece(inout Chunk chunk, bool last)
{
    uvec4 low = floatBitsToUint(chunk.low), high = floatBitsToUint(chunk.high);
    low = (last ? low : low + 0x8000u) & 0xFFFF0000u;
    high = (last ? high : high + 0x8000u) & 0xFFFF0000u;
    chunk.low -= uintBitsToFloat(low);
    chunk.high -= uintBitsToFloat(high);
    return uvec4(low.x >> 16 | low.y, low.z >> 16 | low.w, high.x >> 16 | high.y, high.z >> 16 | high.w);
}
#define WORDS_OF(chunk, piece) take_piece(chunk, piece + 1u == PIECES)
#endif

// What lies along k. Of pixels of few channels it is RUNS, that a line of the filter has beside one another in the image;
// each has whole chunks, and behind it zeros.
#if RUNS
#define RUN (FILTER_WIDTH * CHANNELS)
#define RUN_PITCH ((RUN + 7u) / 8u * 8u)
#define DEPTH (INNER / RUN * RUN_PITCH)
#define INNER_OF(k) ((k) / RUN_PITCH * RUN + (k) % RUN_PITCH)
#define IS_INNER(k) ((k) < DEPTH && (k) % RUN_PITCH < RUN)
#else
#define DEPTH INNER
#define INNER_OF(k) (k)
#define IS_INNER(k) ((k) < INNER)
#endif

#if GATHERED
// The pixel of a row, and the element at the corner of its window; rows that there are not lie outside of all images.
struct Pixel { int y, x; uint from; };
Pixel pixel_of(uint row, uint from)
{
    if (row >= ROWS)
        return Pixel(-0x40000000, -0x40000000, 0u);
    uint x = row % OUT_WIDTH, rest = row / OUT_WIDTH, y = rest % OUT_HEIGHT, n = rest / OUT_HEIGHT;
    int from_y = int(y * STRIDE_Y) - int(PAD_Y), from_x = int(x * STRIDE_X) - int(PAD_X);
    return Pixel(from_y, from_x, from + n * IMAGE + uint(from_y) * LINE + uint(from_x) * PIXEL);
}

// Whether the image has inner index k + place of a row, and where. What all invocations have in common they need not
// compute each: that is the tap, if a step has channels of one only.
bool find(Pixel pixel, uint k, uint place, out uint at)
{
    uint whole = k + (CHANNELS_IN_STEPS == 1 ? 0u : place), own = CHANNELS_IN_STEPS == 1 ? place : 0u;
    uint tap = whole / CHANNELS, c = whole % CHANNELS;
    uint tap_x = tap % FILTER_WIDTH * DILATION_X, tap_y = tap / FILTER_WIDTH * DILATION_Y;
    at = pixel.from + own + (tap_y * LINE + tap_x * PIXEL + c);
    return whole < INNER && uint(pixel.y + int(tap_y)) < IN_HEIGHT && uint(pixel.x + int(tap_x)) < IN_WIDTH;
}

// Elements k + place to k + place + 7.
Chunk read_pixel(Pixel pixel, uint k, uint place)
{
    uint at;
#if CHANNELS_IN_CHUNKS
    return find(pixel, k, place, at) ? a_chunk(at, 8u) : no_chunk();
#elif RUNS
    k += place;
    uint tap_y = k / RUN_PITCH * DILATION_Y, place_in_run = k % RUN_PITCH;
    int begin = pixel.x * int(CHANNELS) + int(place_in_run); // from the left side of the image
    int first = max(-begin, 0), last = min(min(8, int(RUN - place_in_run)), int(IN_WIDTH * CHANNELS) - begin);
    return k < DEPTH && uint(pixel.y + int(tap_y)) < IN_HEIGHT && first < last
               ? a_run(int(pixel.from + tap_y * LINE + place_in_run), first, last)
               : no_chunk();
#else
    Chunk chunk = no_chunk();
    UNROLL for (uint e = 0u; e < 8u; e++)
        if (find(pixel, k, place + e, at))
            a_single(chunk, e, at);
    return chunk;
#endif
}
#endif

#if PIECES > 1
// Infinities, and numbers that round to them, break in pieces: their sums are made anew.
float sum_of(uint from_a, uint from_b, uint m, uint n, uint begin, uint end)
{
    float sum = 0.0;
#if GATHERED
    Pixel pixel = pixel_of(m, from_a);
    uint at;
    for (uint k = begin; k < end; k++)
        if (find(pixel, k, 0u, at))
            sum += a_at(at) * b_at(from_b + k * B_INNER + n * B_COLUMN);
#else
    for (uint k = begin; k < end; k++)
        sum += a_at(from_a + m * A_ROW + k * A_INNER) * b_at(from_b + k * B_INNER + n * B_COLUMN);
#endif
    return sum;
}
#endif

// The chunk that an invocation reads as number i of a step that begins at k0. Where tiles are WHOLE, nothing lies outside
// of the operand, and chunks are counted from the first of the step on. The last of them begin before their place where
// they would end outside, and share rows or columns with those before, to which these belong.
#if WHOLE_A
#define CHUNK_A(i, k0) a_whole(at_a + (i) * (step_a * a_line / 8u))
#elif GATHERED
#define CHUNK_A(i, k0) read_pixel(pixels[i], k0, place_a * 8u)
#elif A_TURNED
Chunk chunk_of_a(uint from, uint m, uint k)
{
    return m < ROWS && k < INNER ? a_chunk(from + k * A_INNER + m, ROWS - m) : no_chunk();
}
#define CHUNK_A(i, k0) chunk_of_a(from_a, first_m + place_a * 8u, (k0) + line_a + (i) * step_a)
#else
Chunk chunk_of_a(uint from, uint m, uint k)
{
    return m < ROWS && k < INNER ? a_chunk(from + m * A_ROW + k, INNER - k) : no_chunk();
}
#define CHUNK_A(i, k0) chunk_of_a(from_a, first_m + line_a + (i) * step_a, (k0) + place_a * 8u)
#endif

// Columns beside one another, of b or of the other's matrix.
#define CHUNK_BESIDE(chunk, k, n)                                                                                    \
    ((n) < COLUMNS && IS_INNER(k) ? chunk(from_b + INNER_OF(k) * B_INNER + (n), COLUMNS - (n)) : no_chunk())

#if HOLDS_PACKS
#define CHUNK_B(i, k0) weights_of((k0) + place_b * UNIT, first_n + line_b + (i) * step_b)
#elif WHOLE_B
#define CHUNK_B(i, k0) b_whole(at_b + (i) * (step_b * b_line / 8u))
#elif B_TURNED
Chunk chunk_of_b(uint from, uint k, uint n)
{
#if RUNS
    return n < COLUMNS && k < DEPTH
               ? b_run(int(from + n * B_COLUMN + INNER_OF(k)), 0, min(8, int(RUN - k % RUN_PITCH)))
               : no_chunk();
#else
    return n < COLUMNS && k < INNER ? b_chunk(from + n * B_COLUMN + k, INNER - k) : no_chunk();
#endif
}
#define CHUNK_B(i, k0) chunk_of_b(from_b, (k0) + place_b * 8u, first_n + line_b + (i) * step_b)
#else
#define CHUNK_B(i, k0) CHUNK_BESIDE(b_chunk, (k0) + line_b + (i) * step_b, first_n + place_b * 8u)
#endif

#if PAIRED && WHOLE_B
#define CHUNK_OTHER(i, k0) other_whole(at_b + (i) * (step_b * b_line / 8u))
#elif PAIRED
#define CHUNK_OTHER(i, k0) CHUNK_BESIDE(other_chunk, (k0) + line_b + (i) * step_b, first_n + place_b * 8u)
#else
#define CHUNK_OTHER(i, k0) CHUNK_B(i, k0) // there is none
#endif

// Where part i or j of the rows or columns of a subgroup lies at inner index k of a tile, which is the first slice's.
#define PLACE_A(p, i, k)                                                                                             \
    (A_TURNED != 0 ? ((p) * A_LINES + SUBGROUP_K(k)) * A_PITCH + (subgroup_m + (i) * PART_M) / 8u                    \
                   : ((p) * A_LINES + subgroup_m + (i) * PART_M) * A_PITCH + SUBGROUP_K(k) / 8u)
#define PLACE_B(p, j, k)                                                                                             \
    (A_TILE +                                                                                                        \
     (B_TURNED != 0 ? ((p) * B_LINES + subgroup_n + (j) * PART_N) * B_PITCH + SUBGROUP_K(k) / 8u                     \
                    : ((p) * B_LINES + SUBGROUP_K(k)) * B_PITCH + (subgroup_n + (j) * PART_N) / 8u))
#define READ_PARTS(at, k)                                                                                            \
    {                                                                                                                \
        UNROLL for (uint i = 0u; i < PARTS_M; i++)                                                                   \
            READ_A(a[(at) * PARTS_M + i], PLACE_A(0u, i, k));                                                        \
        UNROLL for (uint j = 0u; j < PARTS_N; j++)                                                                   \
            READ_B(b[(at) * PARTS_N + j], PLACE_B(0u, j, k));                                                        \
    }

#define MULTIPLY(now)                                                                                                \
    UNROLL for (uint j = 0u; j < PARTS_N; j++)                                                                       \
        UNROLL for (uint i = 0u; i < PARTS_M; i++)                                                                   \
            sums[i * PARTS_N + j] =                                                                                  \
                multiply_add(a[(now) * PARTS_M + i], b[(now) * PARTS_N + j], sums[i * PARTS_N + j]);

// ASKS: in each step, whether there is another to be read. Otherwise the last is read again: what is in a branch is not
// ordered among other instructions, and pixels take many to be found.
#if ASKS
#define MORE(k0, step) (step)
#else
#define MORE(k0, step) ((k0) + TILE_K < end ? (step) : 0u)
#endif
#define FETCH(k0)                                                                                                    \
    {                                                                                                                \
        UNROLL for (uint i = 0u; i < A_HELD; i++)                                                                    \
            held_a[i] = CHUNK_A(i, k0);                                                                              \
        UNROLL for (uint i = 0u; i < B_LOADS; i++)                                                                   \
            held_b[i] = CHUNK_B(i, k0);                                                                              \
        UNROLL for (uint i = B_LOADS; i < B_HELD; i++)                                                               \
            held_b[i] = CHUNK_OTHER(i - B_LOADS, k0);                                                                \
        at_a += MORE(k0, next_a);                                                                                    \
        at_b += MORE(k0, next_b);                                                                                    \
    }
#define PUT()                                                                                                        \
    {                                                                                                                \
        UNROLL for (uint i = 0u; i < A_HELD; i++)                                                                    \
            UNROLL for (uint p = 0u; p < PIECES; p++)                                                                \
                tiles[(p * A_LINES + line_a + i * step_a) * A_PITCH + place_a] = WORDS_OF(held_a[i], p);             \
        UNROLL for (uint i = 0u; i < B_HELD; i++)                                                                    \
            UNROLL for (uint c = 0u; c < B_PACK; c++) {                                                              \
                Chunk chunk = chunk_of(held_b[i], c);                                                                \
                UNROLL for (uint p = 0u; p < PIECES; p++)                                                            \
                    tiles[A_TILE + (p * B_LINES + line_b + i % B_LOADS * step_b) * B_PITCH + kept_b + c +            \
                          i / B_LOADS * HALF_CHUNKS] = WORDS_OF(chunk, p);                                           \
            }                                                                                                        \
    }

// ---------------------------------------------------------------------------------------------------------------------

void main()
{
    uint self = gl_LocalInvocationIndex, matrix = gl_WorkGroupID.z, split = gl_WorkGroupID.y;
    // Work groups that run at once share operands: tiles are numbered down a few rows of them, then across.
    const uint tiles_m = (ROWS + TILE_M - 1u) / TILE_M, tiles_n = (COLUMNS + TILE_COLUMNS - 1u) / TILE_COLUMNS;
    uint band = gl_WorkGroupID.x / (BAND * tiles_n) * BAND, height = min(tiles_m - band, BAND);
    uint place = gl_WorkGroupID.x % (BAND * tiles_n);
    uint own_m = (band + place % height) * TILE_M, own_n = place / height * TILE_COLUMNS; // from where on it writes
    uint first_m = WHOLE_A == 1 ? min(own_m, ROWS - TILE_M) : own_m;
    uint first_n = WHOLE_B == 1 ? min(own_n, COLUMNS - TILE_COLUMNS) : own_n;
    uint from_a = a_index(matrix), from_b = b_index(matrix);
    uint begin = split * SPLIT, end = min(begin + SPLIT, DEPTH);
    uint subgroup_m = SLICE_SUBGROUP / SUBGROUPS_N * SUBGROUP_M, subgroup_n = SLICE_SUBGROUP % SUBGROUPS_N * SUBGROUP_N;

    Chunk held_a[A_HELD];
    HELD_B held_b[B_HELD];
    uint line_a = self / A_CHUNKS, place_a = self % A_CHUNKS, step_a = INVOCATIONS / A_CHUNKS;
    uint line_b = self / B_PLACES, place_b = self % B_PLACES, step_b = INVOCATIONS / B_PLACES;
#if PAIRED
    uint kept_b = place_b / HALF_CHUNKS * (2u * HALF_CHUNKS) + place_b % HALF_CHUNKS;
#else
    uint kept_b = place_b * B_PACK;
#endif
    const uint a_line = A_TURNED != 0 ? A_INNER : A_ROW, next_a = A_TURNED != 0 ? TILE_K * a_line / 8u : TILE_K / 8u;
    const uint b_line = B_TURNED != 0 ? B_COLUMN : B_INNER, next_b = B_TURNED != 0 ? TILE_K / 8u : TILE_K * b_line / 8u;
    uint at_a = place_a + (A_TURNED != 0 ? from_a + (begin + line_a) * a_line + first_m
                                         : from_a + (first_m + line_a) * a_line + begin) / 8u;
    uint at_b = place_b + (B_TURNED != 0 ? from_b + (first_n + line_b) * b_line + begin
                                         : from_b + (begin + line_b) * b_line + first_n) / 8u;
#if GATHERED
    Pixel pixels[A_HELD];
    UNROLL for (uint i = 0u; i < A_HELD; i++)
        pixels[i] = pixel_of(first_m + line_a + i * step_a, from_a);
#endif
    MATRIX_SUM sums[PARTS_M * PARTS_N];
    UNROLL for (uint i = 0u; i < PARTS_M * PARTS_N; i++)
        sums[i] = all_of(0.0);

    // What is emulated reads shared memory when it multiplies.
#if PIECES == 1 && MATRICES != EMULATED
    // What was read from memory goes to shared memory, and what comes next is read while that is multiplied; parts of it
    // are read from there before those are multiplied that come first.
    MATRIX_A a[2u * PARTS_M];
    MATRIX_B b[2u * PARTS_N];
    FETCH(begin)
    PUT()
    barrier();
    READ_PARTS(0u, 0u)
    for (uint k0 = begin; k0 < end; k0 += TILE_K) {
#if ASKS
        if (k0 + TILE_K < end)
            FETCH(k0 + TILE_K)
#else
        const uint following = k0 + MORE(k0, TILE_K);
        FETCH(following)
#endif
        UNROLL for (uint k = 0u; k < TILE_K; k += SLICED_K) {
            const uint now = k / SLICED_K % 2u;
            if (k + SLICED_K < TILE_K) {
                READ_PARTS(1u - now, k + SLICED_K)
                MULTIPLY(now)
            } else { // the last parts are in registers: shared memory is free while they are multiplied
                barrier();
                MULTIPLY(now)
                PUT()
                barrier();
                READ_PARTS(1u - now, 0u)
            }
        }
    }
#else
    // What was read from memory goes to shared memory, and what comes next is read while that is used. Large tiles have
    // no registers to spare, and read in one place only.
#if SUBGROUP_ROOM
    FETCH(begin)
    for (uint k0 = begin; k0 < end; k0 += TILE_K) {
        if (k0 != begin)
            barrier();
        PUT()
        barrier();
        if (k0 + TILE_K < end)
            FETCH(k0 + TILE_K)
#else
    for (uint k0 = begin; k0 < end + TILE_K; k0 += TILE_K) {
        if (k0 != begin) {
            barrier();
            PUT()
            barrier();
        }
        if (k0 < end)
            FETCH(k0)
        if (k0 == begin)
            continue;
#endif
        UNROLL for (uint k = 0u; k < TILE_K; k += SLICED_K) {
            MATRIX_A a[PIECES * PARTS_M];
            MATRIX_B b[PIECES];
            UNROLL for (uint p = 0u; p < PIECES; p++)
                UNROLL for (uint i = 0u; i < PARTS_M; i++)
                    READ_A(a[p * PARTS_M + i], PLACE_A(p, i, k));
            UNROLL for (uint j = 0u; j < PARTS_N; j++) {
                UNROLL for (uint p = 0u; p < PIECES; p++)
                    READ_B(b[p], PLACE_B(p, j, k));
                MATRIX_SUM some[PARTS_M];
                UNROLL for (uint i = 0u; i < PARTS_M; i++)
                    some[i] = all_of(0.0);
                // The least products first.
                UNROLL for (uint q = 0u; q < PIECES; q++)
                    UNROLL for (uint p = 0u; p < PIECES - q; p++)
                        UNROLL for (uint i = 0u; i < PARTS_M; i++)
                            some[i] = multiply_add(a[p * PARTS_M + i], b[PIECES - 1u - q - p], some[i]);
                UNROLL for (uint i = 0u; i < PARTS_M; i++)
                    sums[i * PARTS_N + j] = add_sums(sums[i * PARTS_N + j], some[i]);
            }
        }
    }
#endif

    // A subgroup lays its sums down, parts beside one another at once; an invocation finishes ITEMS of BESIDE elements of
    // them and of other slices', AT_ONCE of these together, so that what they read is on its way at the same time. It is
    // the loop over them that must not be unrolled: those around it are, or the sums would leave their registers.
    uint to = out_index(matrix) + split * SPLIT_STEP, slab = SLICE_SUBGROUP * SLAB;
    barrier();
    EACH_PART(i) {
        uint top = first_m + subgroup_m + i * PART_M, left = first_n + subgroup_n / B_OPERANDS;
        MEET();
        WRITE_PART(i)
        MEET();
#if PIECES > 1
        [[dont_unroll]] for (uint e = 0u; e < ITEMS * BESIDE; e++) {
            uint item = e / BESIDE * SUBGROUP + LANE, m = top + item / ROW_ITEMS;
            uint column = item % ROW_ITEMS * BESIDE + e % BESIDE, n = left + column;
            uint at = slab + item / ROW_ITEMS * SLAB_PITCH + column / 4u;
            if ((tiles[at][column % 4u] & 0x7F800000u) == 0x7F800000u && m < ROWS && n < COLUMNS)
                tiles[at][column % 4u] = floatBitsToUint(sum_of(from_a, from_b, m, n, begin, end));
        }
#endif
        [[dont_unroll]] for (uint first = 0u; first < ITEMS; first += AT_ONCE) {
            uint places[AT_ONCE];
            LEFT results[AT_ONCE];
            UNROLL for (uint a = 0u; a < AT_ONCE; a++) {
                uint item = SLICE_ITEM(first + a) * SUBGROUP + LANE;
                uint row = item / ROW_ITEMS, column = item % ROW_ITEMS * BESIDE;
                bool inside = IS_OWN(top + row, left + column);
                // What lies outside reads what there is, and is not written.
                uint o = inside ? to + (top + row) * OUT_ROW + left + column : to;
                places[a] = inside ? o : OUTSIDE;
                results[a] = left_of(slab + row * SLAB_PITCH + column / 4u, column % 4u, o);
            }
            UNROLL for (uint a = 0u; a < AT_ONCE; a++)
                if (places[a] != OUTSIDE)
                    WRITE_LEFT(places[a], results[a]);
        }
    }

#if SUMS_INSIDE
    LEAVE_UNLESS_LAST(matrix * tiles_m * tiles_n + gl_WorkGroupID.x, tiles[0].x)
    const uint row_items = TILE_N / BESIDE;
    [[dont_unroll]] for (uint first = self; first < TILE_ITEMS; first += SUMMED_AT_ONCE * INVOCATIONS) {
        uint from[SUMMED_AT_ONCE], to[SUMMED_AT_ONCE];
        vec4 all[SUMMED_AT_ONCE];
        RESULTS results[SUMMED_AT_ONCE];
        UNROLL for (uint a = 0u; a < SUMMED_AT_ONCE; a++) {
            uint item = first + a * INVOCATIONS, m = first_m + item / row_items, n = first_n + item % row_items * BESIDE;
            bool inside = item < TILE_ITEMS && IS_OWN(m, n);
            from[a] = inside ? out_index(matrix) + m * OUT_ROW + n : out_index(matrix);
            to[a] = inside ? from[a] : OUTSIDE;
            all[a] = vec4(0.0);
        }
        [[dont_unroll]] for (uint s = 0u; s < SPLITS; s += SPLITS_AT_ONCE) {
            vec4 left[SPLITS_AT_ONCE * SUMMED_AT_ONCE];
            UNROLL for (uint i = 0u; i < SPLITS_AT_ONCE * SUMMED_AT_ONCE; i++)
                left[i] = READ_LEFT(from[i % SUMMED_AT_ONCE] + min(s + i / SUMMED_AT_ONCE, SPLITS - 1u) * SPLIT_STEP);
            UNROLL for (uint i = 0u; i < SPLITS_AT_ONCE * SUMMED_AT_ONCE; i++)
                if (s + i / SUMMED_AT_ONCE < SPLITS)
                    all[i % SUMMED_AT_ONCE] += left[i];
        }
        UNROLL for (uint a = 0u; a < SUMMED_AT_ONCE; a++)
            results[a] = summed(all[a], from[a]);
        UNROLL for (uint a = 0u; a < SUMMED_AT_ONCE; a++)
            if (to[a] != OUTSIDE)
                WRITE_RESULTS(to[a], results[a]);
    }
#endif
}
