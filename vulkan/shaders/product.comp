// SPDX-License-Identifier: Apache-2.0
//
// Products in tiles of TILE_M x TILE_N. A slice of the workgroup holds TILE_K columns of a and rows of b in shared
// memory, and each of its invocations a block of THREAD_M x THREAD_N sums in registers; the slices take turns along
// the inner dimension and add up at the end. With several splits so do workgroups, in another dispatch.
//
// A few rows are computed without tiles, since nothing would be used twice.
//
// Operands are loaded by quads: four elements side by side, along k or along the other dimension. Places outside of a
// matrix are read at its edge and not written; elements beyond the inner dimension are zeros.

#if !FEW
#define THREADS (TILE_M / THREAD_M * (TILE_N / THREAD_N))
#define STEP_A (TILE_M / 4u + 1u) // of `pool`, from one k to the next
#define STEP_B (TILE_N / 4u + 1u)
#define LOADS_A (TILE_M * TILE_K / 4u / THREADS)
#define LOADS_B (TILE_N * TILE_K / 4u / THREADS)
#endif

const bool along_k_a = ALONG_K_A == 1, along_k_b = ALONG_K_B == 1;

// The tiles of all slices, at the end their sums.
shared vec4 pool[POOL];

bool is_inside(uint k)
{
#if WHOLE_K
    return true;
#else
    return k < INNER;
#endif
}

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

// What quads are loaded from for all k: where it begins, and where the filter's first tap is in a gathered image, or
// (x) how many elements there are behind the first of a quad that does not go along k.
struct Line { uint from; int y, x; };

#if GATHER
Line line_of_a(uint m, uint first)
{
    uint x = m % OUT_WIDTH, rest = m / OUT_WIDTH, y = rest % OUT_HEIGHT, n = rest / OUT_HEIGHT;
#if TRANSPOSED
    return Line(first + n * IMAGE, int(y + PAD_Y), int(x + PAD_X));
#else
    return Line(first + n * IMAGE, int(y * STRIDE_Y) - int(PAD_Y), int(x * STRIDE_X) - int(PAD_X));
#endif
}

bool find_a(Line line, uint k, out uint at)
{
    uint h = k / (FILTER_WIDTH * CHANNELS), rest = k % (FILTER_WIDTH * CHANNELS);
#if TRANSPOSED
    int steps_y = line.y - int(h * DILATION_Y), steps_x = line.x - int(rest / CHANNELS * DILATION_X);
    uint y = uint(steps_y) / STRIDE_Y, x = uint(steps_x) / STRIDE_X;
    at = line.from + y * LINE + x * PIXEL + rest % CHANNELS;
    return steps_y >= 0 && steps_x >= 0 && y * STRIDE_Y == uint(steps_y) && x * STRIDE_X == uint(steps_x) &&
           y < IN_HEIGHT && x < IN_WIDTH;
#else
#if !RUNS // the elements that a line of the filter sees are not beside one another
    rest = rest / CHANNELS * (DILATION_X * PIXEL) + rest % CHANNELS;
#endif
    int y = line.y + int(h * DILATION_Y), x = line.x * int(PIXEL) + int(rest);
    at = line.from + uint(y * int(LINE) + x);
    return uint(y) < IN_HEIGHT && uint(x) < IN_WIDTH * PIXEL;
#endif
}
#else
Line line_of_a(uint m, uint first) { return Line(first + m * A_ROW, 0, int(ROWS - 1u - m)); }

bool find_a(Line line, uint k, out uint at)
{
    at = line.from + k * A_INNER;
    return true;
}
#endif

vec4 load_a(Line line, uint k)
{
    uint at;
#if QUADS_A
    return is_inside(k) && find_a(line, k, at) ? a_quad(at) : vec4(0.0);
#else
    vec4 quad = vec4(0.0);
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
#if ALONG_K_A
        if (is_inside(k + e) && find_a(line, k + e, at))
            quad[e] = a_at(at);
#else
        if (is_inside(k) && find_a(line, k, at))
            quad[e] = a_at(at + min(e, uint(line.x)));
#endif
    }
    return quad;
#endif
}

Line line_of_b(uint n, uint first) { return Line(first + n * B_COLUMN, 0, int(COLUMNS - 1u - n)); }

uint find_b(Line line, uint k)
{
#if EVEN_B
    return line.from + k * B_INNER;
#else
    return line.from + k / B_RUN * B_JUMP + k % B_RUN * B_INNER;
#endif
}

vec4 load_b(Line line, uint k)
{
#if QUADS_B
    return is_inside(k) ? b_quad(find_b(line, k)) : vec4(0.0);
#else
    vec4 quad = vec4(0.0);
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
#if ALONG_K_B
        if (is_inside(k + e))
            quad[e] = b_at(find_b(line, k + e));
#else
        if (is_inside(k))
            quad[e] = b_at(find_b(line, k) + min(e, uint(line.x)));
#endif
    }
    return quad;
#endif
}

// ---------------------------------------------------------------------------------------------------------------
// Results
// ---------------------------------------------------------------------------------------------------------------

// Four sums of row m, from column n on; the first element of their matrix is `first`.
void write(uint m, uint n, uint first, vec4 sums)
{
    if (m >= ROWS || n >= COLUMNS)
        return;
    uint i = first + m * OUT_ROW + n;
#if QUADS_OUT
    out_quad(i, finish_quad(scaled_quad(sums, i), i));
#else
    [[unroll]] for (uint e = 0u; e < 4u; e += PER) {
        if (n + e >= COLUMNS) // a multiple of PER
            continue;
        WORD word = WORD(0u);
        [[unroll]] for (uint d = 0u; d < PER; d++)
            put(word, d, finish(scaled(sums[e + d], i + e + d), i + e + d));
        store((i + e) / PER, word);
    }
#endif
}

#if FEW
// A few rows: LANES invocations share what is along k for UNITS quads of columns, or columns if quads go along k.
void main()
{
    const uint ahead = 4u; // loads in flight
    uint self = gl_LocalInvocationIndex, lane = along_k_b ? self % LANES : self / UNITS,
         unit = along_k_b ? self / LANES : self % UNITS, matrix = gl_WorkGroupID.z;
    uint first_n = gl_WorkGroupID.x * (along_k_b ? UNITS : 4u * UNITS), n = first_n + (along_k_b ? unit : 4u * unit);
    const uint step = along_k_b ? 4u : 1u;
    Line line_b = line_of_b(min(n, LAST_B), b_index(matrix)), lines_a[ROWS];
    vec4 sums[ROWS];
    [[unroll]] for (uint m = 0u; m < ROWS; m++) {
        lines_a[m] = line_of_a(m, a_index(matrix));
        sums[m] = vec4(0.0);
    }
    for (uint k0 = lane * step; k0 < INNER; k0 += ahead * LANES * step) {
        vec4 quads[ahead];
        [[unroll]] for (uint e = 0u; e < ahead; e++) {
            quads[e] = load_b(line_b, k0 + e * LANES * step);
        }
        [[unroll]] for (uint e = 0u; e < ahead; e++) {
            uint k = k0 + e * LANES * step;
            [[unroll]] for (uint m = 0u; m < ROWS; m++) {
#if ALONG_K_B
                sums[m] += load_a(lines_a[m], k) * quads[e];
#else
                uint at;
                sums[m] += k < INNER && find_a(lines_a[m], k, at) ? a_at(at) * quads[e] : vec4(0.0);
#endif
            }
        }
    }
    [[unroll]] for (uint m = 0u; m < ROWS; m++)
        pool[(m * LANES + lane) * UNITS + unit] = sums[m];
    for (uint others = LANES / 2u; others > 0u; others /= 2u) {
        barrier();
        if (lane < others)
            [[unroll]] for (uint m = 0u; m < ROWS; m++)
                pool[(m * LANES + lane) * UNITS + unit] += pool[(m * LANES + lane + others) * UNITS + unit];
    }
    barrier();
    uint first = out_index(matrix);
#if ALONG_K_B
    if (self < ROWS) {
        vec4 sum;
        [[unroll]] for (uint u = 0u; u < UNITS; u++)
            sum[u] = dot(pool[self * LANES * UNITS + u], vec4(1.0));
        write(self, first_n, first, sum);
    }
#else
    if (self < ROWS * UNITS)
        write(self / UNITS, first_n + self % UNITS * 4u, first, pool[self / UNITS * LANES * UNITS + self % UNITS]);
#endif
}
#else

// Of the quad that invocation t loads as its i-th: the row or column in a tile of so many, and k.
uvec2 place_of(bool along_k, uint size, uint t, uint i)
{
    const uint quads = TILE_K / 4u;
    if (along_k)
        return uvec2(t / quads + i * (THREADS / quads), t % quads * 4u);
    return uvec2(t % (size / 4u) * 4u, t / (size / 4u) + i * (THREADS / (size / 4u)));
}

void keep(bool along_k, uint tile, uint step, uvec2 place, vec4 quad)
{
    uint at = tile + place.y * step + place.x / 4u;
    if (along_k) {
        [[unroll]] for (uint e = 0u; e < 4u; e++)
            pool[at + e * step][place.x % 4u] = quad[e];
    } else {
        pool[at] = quad;
    }
}

// Row i of an invocation's block, from its first.
uint row_of_block(uint i) { return i / 4u * (4u * LANES_M) + i % 4u; }

void main()
{
    uint t = gl_LocalInvocationIndex % THREADS, slice = gl_LocalInvocationIndex / THREADS;
    uint matrix = gl_WorkGroupID.z / SPLITS, split = gl_WorkGroupID.z % SPLITS;
    uint first_m = gl_WorkGroupID.y * TILE_M, first_n = gl_WorkGroupID.x * TILE_N;
    uint tile_a = slice * (TILE_K * (STEP_A + STEP_B)), tile_b = tile_a + TILE_K * STEP_A;

    // Blocks of 4 x 4 of an invocation lie apart, among those of LANES_M x LANES_N neighbours.
    const uint groups_n = TILE_N / (LANES_N * THREAD_N);
    uint group = t / (LANES_M * LANES_N), lane = t % (LANES_M * LANES_N);
    uint self_m = group / groups_n * (LANES_M * THREAD_M) + lane / LANES_N * 4u;
    uint self_n = group % groups_n * (LANES_N * THREAD_N) + lane % LANES_N * 4u;

    Line lines_a[LOADS_A], lines_b[LOADS_B];
    [[unroll]] for (uint i = 0u; i < LOADS_A; i++)
        lines_a[i] = line_of_a(min(first_m + place_of(along_k_a, TILE_M, t, i).x, LAST_A), a_index(matrix));
    [[unroll]] for (uint i = 0u; i < LOADS_B; i++)
        lines_b[i] = line_of_b(min(first_n + place_of(along_k_b, TILE_N, t, i).x, LAST_B), b_index(matrix));

    vec4 sums[THREAD_M][THREAD_N / 4u], next_a[LOADS_A], next_b[LOADS_B];
    [[unroll]] for (uint i = 0u; i < THREAD_M; i++)
        [[unroll]] for (uint j = 0u; j < THREAD_N / 4u; j++)
            sums[i][j] = vec4(0.0);

    uint k0 = split * (STEPS * SLICES * TILE_K) + slice * TILE_K, steps = min(STEPS, ALL_STEPS - split * STEPS);
    [[unroll]] for (uint i = 0u; i < LOADS_A; i++)
        next_a[i] = load_a(lines_a[i], k0 + place_of(along_k_a, TILE_M, t, i).y);
    [[unroll]] for (uint i = 0u; i < LOADS_B; i++)
        next_b[i] = load_b(lines_b[i], k0 + place_of(along_k_b, TILE_N, t, i).y);
    for (uint step = 0u; step < steps; step++) {
        barrier();
        [[unroll]] for (uint i = 0u; i < LOADS_A; i++)
            keep(along_k_a, tile_a, STEP_A, place_of(along_k_a, TILE_M, t, i), next_a[i]);
        [[unroll]] for (uint i = 0u; i < LOADS_B; i++)
            keep(along_k_b, tile_b, STEP_B, place_of(along_k_b, TILE_N, t, i), next_b[i]);
        barrier();
        k0 += SLICES * TILE_K;
        if (step + 1u < steps) { // on its way while this tile is multiplied
            [[unroll]] for (uint i = 0u; i < LOADS_A; i++)
                next_a[i] = load_a(lines_a[i], k0 + place_of(along_k_a, TILE_M, t, i).y);
            [[unroll]] for (uint i = 0u; i < LOADS_B; i++)
                next_b[i] = load_b(lines_b[i], k0 + place_of(along_k_b, TILE_N, t, i).y);
        }
        UNROLL_K for (uint k = 0u; k < TILE_K; k++) {
            vec4 column[THREAD_M / 4u], row[THREAD_N / 4u];
            [[unroll]] for (uint i = 0u; i < THREAD_M / 4u; i++)
                column[i] = pool[tile_a + k * STEP_A + self_m / 4u + i * LANES_M];
            [[unroll]] for (uint j = 0u; j < THREAD_N / 4u; j++)
                row[j] = pool[tile_b + k * STEP_B + self_n / 4u + j * LANES_N];
            [[unroll]] for (uint i = 0u; i < THREAD_M; i++)
                [[unroll]] for (uint j = 0u; j < THREAD_N / 4u; j++)
                    sums[i][j] += column[i / 4u][i % 4u] * row[j];
        }
    }

#if SEVERAL_SLICES // of which half hand over their sums to the others, until there is one
    const uint quads = TILE_N / 4u;
    for (uint others = SLICES / 2u; others > 0u; others /= 2u) {
        barrier();
        if (slice >= others && slice < 2u * others)
            [[unroll]] for (uint i = 0u; i < THREAD_M; i++)
                [[unroll]] for (uint j = 0u; j < THREAD_N / 4u; j++)
                    pool[((slice - others) * TILE_M + self_m + row_of_block(i)) * quads + self_n / 4u + j * LANES_N] =
                        sums[i][j];
        barrier();
        if (slice < others)
            [[unroll]] for (uint i = 0u; i < THREAD_M; i++)
                [[unroll]] for (uint j = 0u; j < THREAD_N / 4u; j++)
                    sums[i][j] +=
                        pool[(slice * TILE_M + self_m + row_of_block(i)) * quads + self_n / 4u + j * LANES_N];
    }
    if (slice > 0u)
        return;
#endif
    uint first = out_index(matrix) + split * SPLIT_STEP;
    [[unroll]] for (uint i = 0u; i < THREAD_M; i++)
        [[unroll]] for (uint j = 0u; j < THREAD_N / 4u; j++)
            write(first_m + self_m + row_of_block(i), first_n + self_n + j * (4u * LANES_N), first, sums[i][j]);
}
#endif
