// SPDX-License-Identifier: Apache-2.0
//
// conv2d and convTranspose2d, an element at a time. *_N, *_C, *_Y and *_X are strides of images, F_* of the filter.

OUT element(uint i)
{
#if NHWC
    uint c = i % OUT_CHANNELS, p = i / OUT_CHANNELS, x = p % OUT_WIDTH, q = p / OUT_WIDTH, y = q % OUT_HEIGHT,
         n = q / OUT_HEIGHT;
#else
    uint x = i % OUT_WIDTH, p = i / OUT_WIDTH, y = p % OUT_HEIGHT, q = p / OUT_HEIGHT, c = q % OUT_CHANNELS,
         n = q / OUT_CHANNELS;
#endif
    float sum = 0.0;
    uint group = c / GROUP_OUTPUTS;
    uint from_n = n * IN_N + group * GROUP_INPUTS * IN_C;
#if TRANSPOSED
    uint filter_c = (c - group * GROUP_OUTPUTS) * F_O + group * GROUP_INPUTS * F_I;
#else
    uint filter_c = c * F_O;
#endif
    for (uint h = 0u; h < F_HEIGHT; h++) {
#if TRANSPOSED
        int steps_y = int(y + PAD_Y) - int(h * DILATION_Y), from_y = steps_y / int(STRIDE_Y);
        if (from_y * int(STRIDE_Y) != steps_y)
            continue;
#else
        int from_y = int(y * STRIDE_Y + h * DILATION_Y) - int(PAD_Y);
#endif
        if (from_y < 0 || from_y >= int(IN_HEIGHT))
            continue;
        for (uint w = 0u; w < F_WIDTH; w++) {
#if TRANSPOSED
            int steps_x = int(x + PAD_X) - int(w * DILATION_X), from_x = steps_x / int(STRIDE_X);
            if (from_x * int(STRIDE_X) != steps_x)
                continue;
#else
            int from_x = int(x * STRIDE_X + w * DILATION_X) - int(PAD_X);
#endif
            if (from_x < 0 || from_x >= int(IN_WIDTH))
                continue;
            uint from = from_n + uint(from_y) * IN_Y + uint(from_x) * IN_X;
            uint tap = filter_c + h * F_Y + w * F_X;
            for (uint k = 0u; k < GROUP_INPUTS; k++)
                sum += a_at(from + k * IN_C) * b_at(tap + k * F_I);
        }
    }
#ifdef BIAS
    sum += c_at(c);
#endif
    return sum;
}
