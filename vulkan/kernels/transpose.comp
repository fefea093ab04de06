// SPDX-License-Identifier: Apache-2.0
//
// Moves of elements that lie side by side along one dimension in the input, and along another in the output, by tiles in
// shared memory. A cell is an element of 32 or 64 bits, or the word of memory that has PACKED smaller ones.

// WIDE cells along the input's dimension, and TALL lines of them, which become TALL / PACKED cells along the output's.
shared CELL tile[TALL][WIDE + 1u];

// Part e of each of the words of a column: words whose elements lie side by side along the other dimension.
#if PACKED == 1
#define gathered(words, e) words[0]
#else
uint gathered(CELL words[PACKED], uint e)
{
    const uint bits = 32u / PACKED;
    uint word = 0u;
    [[unroll]] for (uint k = 0u; k < PACKED; k++)
        word |= bitfieldExtract(words[k], int(e * bits), int(bits)) << (k * bits);
    return word;
}
#endif

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
            tile[line][column] = cell_at(from / PACKED + column + (first_line + line) * (OUT_STEP / PACKED));
    }
    barrier();
    const uint cells = TALL / PACKED;
    uint line = self % cells * PACKED;
    [[unroll]] for (uint k = 0u; k < WIDE; k += gl_WorkGroupSize.x / cells) {
        uint place = k + self / cells;
        CELL words[PACKED];
        [[unroll]] for (uint e = 0u; e < PACKED; e++)
            words[e] = tile[line + e][place];
        [[unroll]] for (uint e = 0u; e < PACKED; e++)
            if (first_line + line < OUT_SIZE && first + place * PACKED + e < IN_SIZE)
                set_cell((to + line) / PACKED + (first + place * PACKED + e) * (IN_STEP / PACKED), gathered(words, e));
    }
}
