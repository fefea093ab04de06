// SPDX-License-Identifier: Apache-2.0
//
// Pooling, an element at a time, over those elements of the window that are inside of the input.

OUT element(uint i)
{
#if NHWC
    uint c = i % CHANNELS, p = i / CHANNELS, x = p % OUT_WIDTH, q = p / OUT_WIDTH, y = q % OUT_HEIGHT,
         n = q / OUT_HEIGHT;
#else
    uint x = i % OUT_WIDTH, p = i / OUT_WIDTH, y = p % OUT_HEIGHT, q = p / OUT_HEIGHT, c = q % CHANNELS,
         n = q / CHANNELS;
#endif
    uint from_n = n * IN_N + c * IN_C, count = 0u;
    SUM sum = NEUTRAL;
    for (uint h = 0u; h < WINDOW_Y; h++) {
        int from_y = int(y * STRIDE_Y + h * DILATION_Y) - int(PAD_Y);
        if (from_y < 0 || from_y >= int(IN_HEIGHT))
            continue;
        UNROLL for (uint w = 0u; w < WINDOW_X; w++) {
            int from_x = int(x * STRIDE_X + w * DILATION_X) - int(PAD_X);
            if (from_x < 0 || from_x >= int(IN_WIDTH))
                continue;
            sum = join(sum, mapped(a_at(from_n + uint(from_y) * IN_Y + uint(from_x) * IN_X)));
            count++;
        }
    }
    return result_of(sum, count);
}
