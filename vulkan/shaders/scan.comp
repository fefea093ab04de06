// SPDX-License-Identifier: Apache-2.0
//
// cumulativeSum: each of LANES invocations that share a group sums HELD members in registers, then all learn what those
// before them have, and so on with the next LANES * HELD members, a chunk. The order is fixed, so that equal inputs give
// equal bits. A unit is a piece of SHARE chunks of a group; what the pieces before it have is known from another dispatch.
//
// With COLUMNS, members of neighbouring groups lie side by side, and invocations beside one another process PER of them
// each. Else the members of a group lie side by side and go through shared memory, which makes neighbours of what is read
// and written by neighbours; HELD is odd there, so that lanes find theirs in different banks. ROWS groups are a work
// group's.

#define SIZE  gl_WorkGroupSize.x
#define CHUNK (uint(LANES) * HELD)
#if COLUMNS
#define NEXT_LANE (SIZE / uint(LANES))
#define SUMS      PER
#else
#define NEXT_LANE 1u
#define SUMS      1u
#endif

#if LANES > 1
shared SUM parts[SUMS * SIZE];
#endif

// What the lanes before have, and what all have.
void meet(uint e, uint lane, SUM own, out SUM before, out SUM all)
{
#if LANES > 1
    uint self = e * SIZE + gl_LocalInvocationID.x;
    parts[self] = own;
    barrier();
    [[unroll]] for (uint far = 1u; far < uint(LANES); far *= 2u) {
        if (lane >= far)
            own = join(parts[self - far * NEXT_LANE], own);
        barrier();
        parts[self] = own;
        barrier();
    }
    before = NEUTRAL;
    if (lane > 0u)
        before = parts[self - NEXT_LANE];
    all = parts[self + (uint(LANES) - 1u - lane) * NEXT_LANE];
    barrier();
#else
    before = NEUTRAL;
    all = own;
#endif
}

// What pieces before this one have.
SUM carried(uint e, uint lane, uint group, uint piece)
{
    SUM sum = NEUTRAL, before, all = NEUTRAL;
#if PIECES > 1
    uint begin = REVERSED == 1 ? piece + 1u : 0u, end = REVERSED == 1 ? uint(PIECES) : piece;
    for (uint p = begin + lane; p < end; p += uint(LANES))
        sum = join(sum, kept_sum(kept_at(p * GROUPS + group)));
    meet(e, lane, sum, before, all);
#endif
    return all;
}

// Of the elements of a lane.
SUM sum_of(CELL x[HELD])
{
    SUM sum = NEUTRAL;
    [[unroll]] for (uint h = 0u; h < HELD; h++)
        accumulate(sum, x[h]);
    return sum;
}

// Makes of them the sums up to them, where `sum` comes before them.
void sum_up(inout CELL x[HELD], SUM sum)
{
    [[unroll]] for (uint h = 0u; h < HELD; h++) {
        CELL y = result_of(sum);
        accumulate(sum, x[h]);
        x[h] = EXCLUSIVE == 1 ? y : result_of(sum);
    }
}

// Member h of a lane within a chunk.
uint place_of(uint lane, uint h) { return REVERSED == 1 ? CHUNK - 1u - (lane * HELD + h) : lane * HELD + h; }

#if COLUMNS
void main()
{
    const uint units = (GROUPS + PER - 1u) / PER;
    uint self = gl_LocalInvocationID.x, lane = self / NEXT_LANE;
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * NEXT_LANE + self % NEXT_LANE;
    bool exists = unit < units * uint(PIECES);
    uint piece = exists ? unit / units : 0u, group = exists ? unit % units * PER : 0u, first = group_index(group);
    SUM carry[PER], before, all;
    [[unroll]] for (uint e = 0u; e < PER; e++)
        carry[e] = carried(e, lane, group + e, piece);
    for (uint turn = 0u; turn < SHARE; turn++) {
        uint chunk = piece * SHARE + (REVERSED == 1 ? SHARE - 1u - turn : turn);
        uint begin = chunk * CHUNK;
        CELL x[PER][HELD];
        [[unroll]] for (uint h = 0u; h < HELD; h++) {
            uint k = begin + place_of(lane, h), at = first + min(k, MEMBERS - 1u) * STRIDE;
#if PAIRS
            vec2 pair = loaded_halves(a_word(at / 2u));
            x[0][h] = k < MEMBERS ? pair.x : NOTHING;
            x[1][h] = k < MEMBERS ? pair.y : NOTHING;
#else
            x[0][h] = NOTHING;
            if (k < MEMBERS)
                x[0][h] = a_at(at);
#endif
        }
        [[unroll]] for (uint e = 0u; e < PER; e++) {
            meet(e, lane, sum_of(x[e]), before, all);
            sum_up(x[e], join(carry[e], before));
            carry[e] = join(carry[e], all);
        }
        [[unroll]] for (uint h = 0u; h < HELD; h++) {
            uint k = begin + place_of(lane, h);
            WORD word = WORD(0u);
#if PAIRS
            word = stored_halves(vec2(x[0][h], x[1][h]));
#else
            put(word, 0u, x[0][h]);
#endif
            if (exists && k < MEMBERS)
                store((first + k * STRIDE) / PER, word);
        }
    }
}
#else

shared CELL tile[SIZE * HELD];

// Where element j of a work group's elements is in the tile.
uint tile_place(uint j)
{
#if ROWS == 1
    return j;
#else
    return j / MEMBERS * CHUNK + j % MEMBERS;
#endif
}

void main()
{
    uint self = gl_LocalInvocationID.x, lane = self % uint(LANES), row = self / uint(LANES);
    uint unit = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint piece = unit % uint(PIECES), group = unit / uint(PIECES) * uint(ROWS);
    if (group >= GROUPS)
        return;
    SUM carry = carried(0u, lane, group, piece), all;
    for (uint turn = 0u; turn < SHARE; turn++) {
        uint begin = (piece * SHARE + (REVERSED == 1 ? SHARE - 1u - turn : turn)) * CHUNK;
        if (begin >= MEMBERS)
            continue;
        uint first = group * MEMBERS + begin;
        uint count = ROWS == 1 ? min(CHUNK, MEMBERS - begin) : min(uint(ROWS), GROUPS - group) * MEMBERS;
        const uint turns = (HELD + PER - 1u) / PER;
        // All are asked for before any is looked at.
#if PAIRS
        vec2 read[turns];
        [[unroll]] for (uint t = 0u; t < turns; t++)
            read[t] = loaded_halves(a_word((first + min((t * SIZE + self) * 2u, count - 1u)) / 2u));
#else
        CELL read[turns][1];
        [[unroll]] for (uint t = 0u; t < turns; t++)
            read[t][0] = a_at(first + min(t * SIZE + self, count - 1u));
#endif
        [[unroll]] for (uint t = 0u; t < turns; t++)
            [[unroll]] for (uint e = 0u; e < PER; e++) {
                uint j = (t * SIZE + self) * PER + e;
                if (j < count)
                    tile[tile_place(j)] = read[t][e];
            }
        barrier();
        CELL x[HELD];
        SUM before;
        [[unroll]] for (uint h = 0u; h < HELD; h++) {
            uint p = place_of(lane, h);
            x[h] = NOTHING;
            if (begin + p < MEMBERS)
                x[h] = tile[row * CHUNK + p];
        }
        meet(0u, lane, sum_of(x), before, all);
        sum_up(x, join(carry, before));
        carry = join(carry, all);
        [[unroll]] for (uint h = 0u; h < HELD; h++)
            tile[row * CHUNK + place_of(lane, h)] = x[h];
        barrier();
        [[unroll]] for (uint t = 0u; t < turns; t++) {
            uint j = (t * SIZE + self) * PER;
            WORD word = WORD(0u);
#if PAIRS
            uint next = min(j + 1u, count - 1u);
            word = stored_halves(vec2(tile[tile_place(j)], tile[tile_place(next)]));
#else
            if (j < count)
                put(word, 0u, tile[tile_place(j)]);
#endif
            if (j < count)
                store((first + j) / PER, word);
        }
        barrier();
    }
}
#endif
