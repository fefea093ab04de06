// SPDX-License-Identifier: Apache-2.0
//
// Moves of elements that lie side by side along one dimension in the input, and along another in the output, by tiles in
// shared memory. A cell is an element of 32 or 64 bits, or the word of memory that has PACKED smaller ones.

// WIDE cells along the input's dimension, and TALL lines of them, which become TALL / PACKED cells along the output's.
// Lines are turned so that the cells of a column, of every PACKED lines, are in different banks.
shared CELL tile[(TALL + (TALL - 1u) / (PACKED * WIDE)) * WIDE];
uint place_of(uint line, uint column)
{
    return (line + line / (PACKED * WIDE)) * WIDE + (column + line / PACKED) % WIDE;
}

// Words of a column become words whose elements lie side by side along the other dimension.
void turn(inout CELL words[PACKED])
{
#if PACKED == 2
    words = uint[](words[0] & 0xFFFFu | words[1] << 16, words[0] >> 16 | words[1] & 0xFFFF0000u);
#elif PACKED == 4
    const uint even = 0x00FF00FFu;
    uint a = words[0] & even | (words[1] & even) << 8, b = words[0] >> 8 & even | words[1] & ~even,
         c = words[2] & even | (words[3] & even) << 8, d = words[2] >> 8 & even | words[3] & ~even;
    words = uint[](a & 0xFFFFu | c << 16, b & 0xFFFFu | d << 16, a >> 16 | c & 0xFFFF0000u, b >> 16 | d & 0xFFFF0000u);
#endif
}

void main()
{
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, self = gl_LocalInvocationID.x;
    if (group >= GROUPS)
        return;
    uint first_line = group % TILES_OUT * TALL, rest = group / TILES_OUT, first = rest % TILES_IN * (WIDE * PACKED),
         batch = rest / TILES_IN;
    uint from = from_index(batch) + first, to = to_index(batch) + first_line;
    uint column = self % WIDE;
    [[unroll]] for (uint k = 0u; k < TALL; k += gl_WorkGroupSize.x / WIDE) {
        uint line = k + self / WIDE;
        if (first_line + line < OUT_SIZE && first + column * PACKED < IN_SIZE)
            tile[place_of(line, column)] = cell_at(from / PACKED + column + (first_line + line) * (OUT_STEP / PACKED));
    }
    barrier();
    const uint cells = TALL / PACKED;
    uint line = self % cells * PACKED;
    [[unroll]] for (uint k = 0u; k < WIDE; k += gl_WorkGroupSize.x / cells) {
        uint place = k + self / cells;
        CELL words[PACKED];
        [[unroll]] for (uint e = 0u; e < PACKED; e++)
            words[e] = tile[place_of(line + e, place)];
        turn(words);
        [[unroll]] for (uint e = 0u; e < PACKED; e++)
            if (first_line + line < OUT_SIZE && first + place * PACKED + e < IN_SIZE)
                set_cell((to + line) / PACKED + (first + place * PACKED + e) * (IN_STEP / PACKED), words[e]);
    }
}
