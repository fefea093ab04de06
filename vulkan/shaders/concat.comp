// SPDX-License-Identifier: Apache-2.0
//
// concat of a few tensors, which are [outer, SIZE_k, INNER].

#define PART(k)                                                                                                         \
    if (at < SIZE_##k)                                                                                                  \
        return a##k##_at((outer * SIZE_##k + at) * INNER + inner);                                                      \
    at -= SIZE_##k;

OUT element(uint i)
{
    uint inner = i % INNER, rest = i / INNER, outer = rest / WHOLE, at = rest - outer * WHOLE;
    PART(0)
#if PARTS > 1
    PART(1)
#endif
#if PARTS > 2
    PART(2)
#endif
#if PARTS > 3
    PART(3)
#endif
#if PARTS > 4
    PART(4)
#endif
#if PARTS > 5
    PART(5)
#endif
    return OUT(0u);
}
