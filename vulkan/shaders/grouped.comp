// SPDX-License-Identifier: Apache-2.0
//
// conv2d with groups of few channels, channels last: an invocation computes STRIP pixels of OUTS channels of one group,
// from INS channels of the input at a time.

#if INS == 4
#define TERM vec4
#define load_a(at) a_quad(at)
#else
#define TERM float
#define load_a(at) a_at(at)
#endif

// The factors of OUTS channels from `c` on for channel k of the group, at a tap that begins at `at`.
void load_b(uint at, uint c, uint k, out float factors[OUTS])
{
#if QUADS_B
    vec4 quad = b_quad(at + k * F_I + c);
    [[unroll]] for (uint o = 0u; o < OUTS; o++)
        factors[o] = quad[o];
#else
    [[unroll]] for (uint o = 0u; o < OUTS; o++)
        factors[o] = b_at(at + k * F_I + (c + o) * F_O);
#endif
}

void main()
{
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
                gl_LocalInvocationID.x;
    if (unit >= UNITS)
        return;
    const uint blocks = OUT_CHANNELS / OUTS;
    uint c = unit % blocks * OUTS, p = unit / blocks, x = p % STRIPS * STRIP, q = p / STRIPS, y = q % OUT_HEIGHT,
         n = q / OUT_HEIGHT;
    uint first = n * IN_N + c / GROUP_OUTPUTS * GROUP_INPUTS;
    float sums[STRIP][OUTS];
    [[unroll]] for (uint s = 0u; s < STRIP; s++)
        [[unroll]] for (uint o = 0u; o < OUTS; o++)
            sums[s][o] = 0.0;
    for (uint h = 0u; h < F_HEIGHT; h++) {
        int from_y = int(y * STRIDE_Y + h * DILATION_Y) - int(PAD_Y);
        if (uint(from_y) >= IN_HEIGHT)
            continue;
        uint line = first + uint(from_y) * IN_Y;
        UNROLL for (uint w = 0u; w < F_WIDTH; w++) {
            uint tap = h * F_Y + w * F_X;
            for (uint k = 0u; k < GROUP_INPUTS; k += INS) {
                TERM inputs[STRIP];
                [[unroll]] for (uint s = 0u; s < STRIP; s++) {
                    int from_x = int((x + s) * STRIDE_X + w * DILATION_X) - int(PAD_X);
                    inputs[s] = uint(from_x) < IN_WIDTH ? load_a(line + uint(from_x) * IN_X + k) : TERM(0.0);
                }
                [[unroll]] for (uint i = 0u; i < INS; i++) {
                    float factors[OUTS];
                    load_b(tap, c, k + i, factors);
                    [[unroll]] for (uint s = 0u; s < STRIP; s++)
                        [[unroll]] for (uint o = 0u; o < OUTS; o++)
#if INS == 4
                            sums[s][o] += inputs[s][i] * factors[o];
#else
                            sums[s][o] += inputs[s] * factors[o];
#endif
                }
            }
        }
    }
    [[unroll]] for (uint s = 0u; s < STRIP; s++) {
        if (x + s >= OUT_WIDTH)
            return;
        uint i = ((n * OUT_HEIGHT + y) * OUT_WIDTH + x + s) * OUT_CHANNELS + c;
#ifdef BIAS
        [[unroll]] for (uint o = 0u; o < OUTS; o++)
            sums[s][o] += c_at(c + o);
#endif
#if QUADS_OUT
        vec4 results;
        [[unroll]] for (uint o = 0u; o < OUTS; o++)
            results[o] = finish(sums[s][o], i + o);
        out_quad(i, results);
#else
        [[unroll]] for (uint o = 0u; o < OUTS; o += PER) {
            WORD word = WORD(0u);
            [[unroll]] for (uint d = 0u; d < PER; d++)
                put(word, d, finish(sums[s][o + d], i + o + d));
            store((i + o) / PER, word);
        }
#endif
    }
}
