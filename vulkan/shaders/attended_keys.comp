// SPDX-License-Identifier: Apache-2.0
//
// attendedKeys: the greatest number of a row of the mask; then the first and the last that is not too far below it; then
// the first from there on that is not zero.

shared float tops[gl_WorkGroupSize.x];
shared uint first_key, last_key, end_of_zeros;

void main()
{
    uint self = gl_LocalInvocationID.x, row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint from = row * KEYS, end = row < ROWS ? KEYS : 0u, first = KEYS, last = 0u;
    float top = -INF;
    for (uint i = self; i < end; i += gl_WorkGroupSize.x)
        top = max(top, mask_at(from + i));
    tops[self] = top;
    if (self == 0u) {
        first_key = KEYS;
        last_key = 0u;
        end_of_zeros = KEYS;
    }
    barrier();
    for (uint far = gl_WorkGroupSize.x / 2u; far > 0u; far >>= 1) {
        if (self < far)
            tops[self] = max(tops[self], tops[self + far]);
        barrier();
    }
    top = tops[0] - DISTANCE;
    for (uint i = self; i < end; i += gl_WorkGroupSize.x) {
        float x = mask_at(from + i);
        if (is_nan(x) || (x >= top && x != -INF)) {
            first = min(first, i);
            last = i + 1u;
        }
    }
    if (first < last) {
        atomicMin(first_key, first);
        atomicMax(last_key, last);
    }
    barrier();
    first = first_key + self;
    while (first < end && mask_at(from + first) == 0.0)
        first += gl_WorkGroupSize.x;
    if (first < end)
        atomicMin(end_of_zeros, first);
    barrier();
    if (self == 0u && row < ROWS) {
        put_key(3u * row, last_key > 0u ? first_key : 0u);
        put_key(3u * row + 1u, last_key);
        put_key(3u * row + 2u, last_key > 0u ? end_of_zeros : 0u);
    }
}
