// SPDX-License-Identifier: Apache-2.0
//
// Reductions of groups of elements: LANES invocations reduce the members of a group, then one another's results. The order is
// fixed, so that equal inputs give equal bits. Pieces of CHUNK members are reduced by themselves, the results of which are
// another dispatch's elements: output number piece * GROUPS + group.
//
// With COLUMNS, members of neighbouring groups lie side by side, and invocations beside one another process so many of
// those as load() brings; else load() brings members of one group. LOADS_IN_FLIGHT loads are on their way; with BLOCKS, what they
// bring of one group is accumulated together, if accumulate_block() can do that. Lanes of a group are BESIDE invocations
// apart. With EDGES, rows begin anywhere in what a load brings: lanes have elements in front and behind by themselves.
//
// With TILED, groups lie one behind the other and are short. A work group brings ROWS of them to shared memory, as they lie,
// and an invocation reduces SIDE of them at a time there, which make whole words of the input and of the output.

#if TILED

#if BLOCKS
// What is not a member of the block that begins with member k stands for the first or the last.
bool accumulate_line(inout SUM sum, ELEMENT x[LOADS_IN_FLIGHT][WIDE], ELEMENT first, ELEMENT last, uint k)
{
    ELEMENT block[BLOCK];
    [[unroll]] for (uint i = 0u; i < BLOCK; i++) {
        block[i] = x[i / WIDE][i % WIDE];
        if (i < WIDE && int(k + i) < 0)
            block[i] = first;
        else if (k + i >= MEMBERS)
            block[i] = last;
    }
    return accumulate_block(sum, block, k, MEMBERS);
}
#else
bool accumulate_line(inout SUM sum, ELEMENT x[LOADS_IN_FLIGHT][WIDE], ELEMENT first, ELEMENT last, uint k)
{
    [[unroll]] for (uint i = 0u; i < LOADS_IN_FLIGHT * WIDE; i++)
        if (k + i < MEMBERS)
            accumulate(sum, x[i / WIDE][i % WIDE], k + i);
    return true;
}
#endif

// Row number `d` of the SIDE rows from word `place` of the tile on: its first word may have elements of another. If a
// block cannot be accumulated as such, none is.
SUM reduced(uint place, uint d)
{
    SUM sum = NEUTRAL;
    const uint begin = d * MEMBERS, skip = begin % WIDE, end = MEMBERS + skip, tail = (end - 1u) / WIDE * WIDE;
    ELEMENT line[WIDE], x[LOADS_IN_FLIGHT][WIDE];
    place += begin / WIDE;
    load(place, line);
    ELEMENT first = line[skip], last;
    bool is_done = true;
    load(place + tail / WIDE, line);
    last = line[end - 1u - tail];
    [[unroll]] for (uint k = 0u; k < end; k += LOADS_IN_FLIGHT * WIDE) {
        [[unroll]] for (uint t = 0u; t < LOADS_IN_FLIGHT; t++)
            load(place + min(k + t * WIDE, tail) / WIDE, x[t]);
        is_done = accumulate_line(sum, x, first, last, k - skip) && is_done;
    }
    if (!is_done) {
        sum = NEUTRAL;
        for (uint k = 0u; k < MEMBERS; k++) {
            load(place + (k + skip) / WIDE, line);
            accumulate(sum, line[(k + skip) % WIDE], k);
        }
    }
    return settled(sum);
}

#define GAP    (1u - UNIT % 2u)
#define FLIGHT 16u

void main()
{
    const uint size = gl_WorkGroupSize.x, words = UNIT * (ROWS / SIDE);
    uint self = gl_LocalInvocationID.x, group = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * ROWS;
    if (group >= GROUPS)
        return;
    uint begin = group / SIDE * UNIT;
    for (uint i = 0u; i < words; i += FLIGHT * size) {
        uint flight[FLIGHT];
        [[unroll]] for (uint t = 0u; t < FLIGHT; t++)
            if (i + t * size < words)
                flight[t] = input_word(min(begin + i + t * size + self, LAST_WORD));
        [[unroll]] for (uint t = 0u; t < FLIGHT; t++)
            if (i + t * size < words) {
                uint at = i + t * size + self;
                tile[at + at / UNIT * GAP] = flight[t];
            }
    }
    barrier();
    for (uint row = self * SIDE; row < ROWS; row += size * SIDE) {
        OUT results[SIDE];
        [[unroll]] for (uint d = 0u; d < SIDE; d++)
            results[d] = finish(result_of(reduced(row / SIDE * (UNIT + GAP), d)), min(group + row + d, COUNT - 1u));
        [[unroll]] for (uint e = 0u; e < SIDE; e += PER) {
            uint number = group + row + e;
            WORD word = WORD(0u);
#if HALF_PAIRS
            word = stored_halves(vec2(results[e], results[e + 1u]));
#else
            [[unroll]] for (uint d = 0u; d < PER; d++)
                put(word, d, results[e + d]);
#endif
            if (number < COUNT)
                store(number / PER, word);
        }
    }
}
#else

#define TOGETHER (gl_WorkGroupSize.x / uint(LANES))
#if COLUMNS
#define SUMS WIDE
#else
#define SUMS 1u
#endif

#if LANES > 1
shared SUM parts[SUMS * gl_WorkGroupSize.x];
#endif

#if SHARED_WORDS // groups that share a word of the output are a work group's
shared OUT results[TOGETHER];
#endif

// What all lanes together have.
void meet(inout SUM sums[SUMS], uint lane)
{
#if LANES > 1
    uint self = gl_LocalInvocationID.x;
    const uint size = gl_WorkGroupSize.x;
    [[unroll]] for (uint e = 0u; e < SUMS; e++)
        parts[e * size + self] = sums[e];
    barrier();
    for (uint half_of = uint(LANES) / 2u; half_of > 0u; half_of >>= 1) {
        if (lane < half_of)
            [[unroll]] for (uint e = 0u; e < SUMS; e++)
                parts[e * size + self] = join(parts[e * size + self], parts[e * size + self + half_of * BESIDE]);
        barrier();
    }
    [[unroll]] for (uint e = 0u; e < SUMS; e++)
        sums[e] = parts[e * size + self - lane * BESIDE];
    barrier();
#endif
}

#if BLOCKS
void accumulate_each(inout SUM sum, uint group, uint k, uint end)
{
    for (uint i = 0u; i < BLOCK; i++)
        if (is_member(k, i, end))
            accumulate(sum, a_at(group_index(group) + member_index(member_of(k, i, end))), member_of(k, i, end));
}
#endif

void main()
{
    const uint step = uint(LANES);
    uint self = gl_LocalInvocationID.x, lane = self / BESIDE % step;
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * TOGETHER +
                self / (BESIDE * step) * BESIDE + self % BESIDE;
#if COLUMNS
    const uint units = (GROUPS + WIDE - 1u) / WIDE;
    uint piece = unit / units, group = unit % units * WIDE, begin = piece * CHUNK,
         end = min(begin + CHUNK, piece < PIECES ? MEMBERS : 0u);
    SUM sums[WIDE];
    [[unroll]] for (uint e = 0u; e < WIDE; e++)
        sums[e] = NEUTRAL;
    for (uint k = begin + lane; k < end; k += LOADS_IN_FLIGHT * step) {
        ELEMENT x[LOADS_IN_FLIGHT][WIDE];
        [[unroll]] for (uint t = 0u; t < LOADS_IN_FLIGHT; t++)
            load(group, min(k + t * step, end - 1u), x[t]);
        [[unroll]] for (uint e = 0u; e < WIDE; e++) {
#if BLOCKS
            ELEMENT block[BLOCK];
            [[unroll]] for (uint t = 0u; t < LOADS_IN_FLIGHT; t++)
                block[t] = x[t][e];
            if (!accumulate_block(sums[e], block, k, end))
                accumulate_each(sums[e], min(group + e, GROUPS - 1u), k, end);
#else
            [[unroll]] for (uint t = 0u; t < LOADS_IN_FLIGHT; t++)
                if (k + t * step < end)
                    accumulate(sums[e], x[t][e], k + t * step);
#endif
        }
    }
    [[unroll]] for (uint e = 0u; e < WIDE; e++)
        sums[e] = settled(sums[e]);
    meet(sums, lane);
    if (lane > 0u || piece >= PIECES)
        return;
    uint number = piece * GROUPS + group;
    [[unroll]] for (uint e = 0u; e < WIDE; e += PER) {
        if (group + e >= GROUPS)
            continue;
        WORD word = WORD(0u);
        [[unroll]] for (uint d = 0u; d < PER; d++)
            if (group + e + d < GROUPS)
                put(word, d, finish(result_of(sums[e + d]), number + e + d));
        store((number + e) / PER, word);
    }
#else
    uint group = unit % GROUPS, begin = unit / GROUPS * CHUNK, end = unit < COUNT ? min(begin + CHUNK, MEMBERS) : 0u;
    SUM sums[1];
    sums[0] = NEUTRAL;
#if EDGES
    // What lies in front of the first whole vector and behind the last is asked for first.
    const uint edges = (2u * WIDE - 3u) / step + 1u;
    uint places[edges], front = min((WIDE - (group_index(group) + begin) % WIDE) % WIDE, end - min(begin, end)),
                        behind = (end - min(begin, end) - front) % WIDE;
    ELEMENT edge[edges];
    end -= behind;
    [[unroll]] for (uint i = 0u; i < edges; i++) {
        uint at = lane + i * step;
        places[i] = at < front + behind ? at < front ? begin + at : end + at - front : ~0u;
        edge[i] = a_at(group_index(group) + member_index(places[i] == ~0u ? 0u : places[i]));
    }
    begin += front;
#endif
    for (uint k = begin + lane * WIDE; k < end; k += LOADS_IN_FLIGHT * step * WIDE) {
        ELEMENT x[LOADS_IN_FLIGHT][WIDE];
        [[unroll]] for (uint t = 0u; t < LOADS_IN_FLIGHT; t++)
            load(group, min(k + t * step * WIDE, end - WIDE), x[t]);
#if BLOCKS
        ELEMENT block[BLOCK];
        [[unroll]] for (uint e = 0u; e < BLOCK; e++)
            block[e] = x[e / WIDE][e % WIDE];
        if (!accumulate_block(sums[0], block, k, end))
            accumulate_each(sums[0], group, k, end);
#else
        [[unroll]] for (uint t = 0u; t < LOADS_IN_FLIGHT; t++)
            if (k + t * step * WIDE < end)
                [[unroll]] for (uint e = 0u; e < WIDE; e++)
                    accumulate(sums[0], x[t][e], k + t * step * WIDE + e);
#endif
    }
#if EDGES
    SUM others = NEUTRAL;
    [[unroll]] for (uint i = 0u; i < edges; i++)
        if (places[i] != ~0u)
            accumulate(others, edge[i], places[i]);
    sums[0] = join(settled(sums[0]), settled(others));
#else
    sums[0] = settled(sums[0]);
#endif
    meet(sums, lane);
    OUT result = finish(result_of(sums[0]), min(unit, COUNT - 1u));
    WORD word = WORD(0u);
#if SHARED_WORDS
    if (lane == 0u)
        results[self / step] = result;
    barrier();
    uint first = unit - self / step + self * PER;
    if (self >= TOGETHER / PER || first >= COUNT)
        return;
    [[unroll]] for (uint d = 0u; d < PER; d++)
        if (first + d < COUNT)
            put(word, d, results[self * PER + d]);
    store(first / PER, word);
#else
    put(word, 0u, result);
    if (lane == 0u && unit < COUNT)
        store(unit, word);
#endif
#endif
}
#endif
