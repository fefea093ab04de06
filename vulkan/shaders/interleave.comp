// SPDX-License-Identifier: Apache-2.0
//
// Moves of small elements between CHANNELS planes and lines where those of all planes at a place lie side by side: into the
// planes with APART. An invocation has a word of each plane. Lines go through shared memory, as they lie, so that
// neighbours read and write what lies side by side.

shared uint lines[gl_WorkGroupSize.x * CHANNELS];

void main()
{
    const uint bits = 32u / PACKED, size = gl_WorkGroupSize.x;
    uint self = gl_LocalInvocationID.x, first = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * size;
    uint unit = min(first + self, UNITS - 1u), batch = unit / LINE, column = unit % LINE;
    uint from = from_index(batch) / PACKED + column, to = to_index(batch) / PACKED + column;
    uint words[CHANNELS];
#if APART
    [[unroll]] for (uint c = 0u; c < CHANNELS; c++)
        words[c] = word_at(min(first * CHANNELS + c * size + self, UNITS * CHANNELS - 1u));
    [[unroll]] for (uint c = 0u; c < CHANNELS; c++)
        lines[c * size + self] = words[c];
    barrier();
    [[unroll]] for (uint c = 0u; c < CHANNELS; c++)
        words[c] = lines[self * CHANNELS + c];
#else
    [[unroll]] for (uint c = 0u; c < CHANNELS; c++)
        words[c] = word_at(from + c * PLANE);
#endif
    uint turned[CHANNELS];
    [[unroll]] for (uint c = 0u; c < CHANNELS; c++) {
        turned[c] = 0u;
        [[unroll]] for (uint e = 0u; e < PACKED; e++) {
            uint place = APART == 1 ? e * CHANNELS + c : c * PACKED + e; // among those that lie side by side
            uint other = APART == 1 ? words[place / PACKED] >> (place % PACKED * bits)
                                    : words[place % CHANNELS] >> (place / CHANNELS * bits);
            turned[c] |= bitfieldExtract(other, 0, int(bits)) << (e * bits);
        }
    }
#if APART
    if (first + self < UNITS)
        [[unroll]] for (uint c = 0u; c < CHANNELS; c++)
            set_word(to + c * PLANE, turned[c]);
#else
    [[unroll]] for (uint c = 0u; c < CHANNELS; c++)
        lines[self * CHANNELS + c] = turned[c];
    barrier();
    [[unroll]] for (uint c = 0u; c < CHANNELS; c++)
        if (first * CHANNELS + c * size + self < UNITS * CHANNELS)
            set_word(first * CHANNELS + c * size + self, lines[c * size + self]);
#endif
}
