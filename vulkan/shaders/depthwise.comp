// SPDX-License-Identifier: Apache-2.0
//
// conv2d with a filter for each channel, channels last: an invocation computes STRIP pixels of four channels.

vec4 tap(uint at, uint c)
{
#if QUADS_B
    return b_quad(at + c);
#else
    return vec4(b_at(at + c * F_O), b_at(at + (c + 1u) * F_O), b_at(at + (c + 2u) * F_O), b_at(at + (c + 3u) * F_O));
#endif
}

void main()
{
    uint unit = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
                gl_LocalInvocationID.x;
    if (unit >= UNITS)
        return;
    const uint quads = OUT_CHANNELS / 4u;
    uint c = unit % quads * 4u, p = unit / quads, x = p % STRIPS * STRIP, q = p / STRIPS, y = q % OUT_HEIGHT,
         n = q / OUT_HEIGHT;
    int from_x = int(x * STRIDE_X) - int(PAD_X);
    vec4 sums[STRIP];
    [[unroll]] for (uint s = 0u; s < STRIP; s++)
        sums[s] = vec4(0.0);
    [[unroll]] for (uint h = 0u; h < F_HEIGHT; h++) {
        int from_y = int(y * STRIDE_Y + h * DILATION_Y) - int(PAD_Y);
        bool inside = uint(from_y) < IN_HEIGHT;
        uint from = n * IN_N + uint(from_y) * IN_Y + c;
        vec4 line[SPAN]; // of which those are loaded that a tap falls on
        [[unroll]] for (uint k = 0u; k < SPAN; k++)
            line[k] = inside && uint(from_x + int(k)) < IN_WIDTH ? a_quad(from + uint(from_x + int(k)) * IN_X)
                                                                 : vec4(0.0);
        [[unroll]] for (uint w = 0u; w < F_WIDTH; w++) {
            vec4 factors = tap(h * F_Y + w * F_X, c);
            [[unroll]] for (uint s = 0u; s < STRIP; s++)
                sums[s] += line[s * STRIDE_X + w * DILATION_X] * factors;
        }
    }
    [[unroll]] for (uint s = 0u; s < STRIP; s++) {
        if (x + s >= OUT_WIDTH)
            return;
        uint i = ((n * OUT_HEIGHT + y) * OUT_WIDTH + x + s) * OUT_CHANNELS + c;
        vec4 results;
        [[unroll]] for (uint e = 0u; e < 4u; e++) {
            float sum = sums[s][e];
#ifdef BIAS
            sum += c_at(c + e);
#endif
            results[e] = sum;
        }
        out_quad(i, finish_quad(results, i));
    }
}
