// SPDX-License-Identifier: Apache-2.0
//
// What the kernels for few rows have in common: how weights are loaded, and what becomes of the sums of a work group.

// A pack of column n, of the product or its partner, at term k, and what all of its weights have in common.
void load_weights(bool of_partner, uint n, uint from_b, uint k, out PACK pack, out float scale, out float zero)
{
    uint at = from_b + n * B_COLUMN + k;
#if PAIRED
    if (of_partner) {
        pack = partner_pack(at);
        scale = partner_scale_at(n, k);
        zero = partner_zero_at(n, k);
        return;
    }
#endif
    pack = b_pack(at);
    scale = SINGLE_SCALE == 1 ? scale_at(n, k) : 1.0;
    zero = SINGLE_SCALE == 1 ? zero_at(n, k) : 0.0;
}

// The kernel's own: of row m and column n of the work group, `more` columns on.
float sum_of(uint m, uint n, uint more);

// Of so many columns of a work group, from `begin` on; a partner's sums are `more` behind.
void write_results(uint matrix, uint begin, uint places, uint more)
{
    uint from_out = out_index(matrix);
    for (uint i = gl_LocalInvocationIndex * PER; i < ROWS * places; i += gl_WorkGroupSize.x * PER) {
        uint m = i / places, n = i % places, at = from_out + m * OUT_ROW + begin + n;
        if (begin + n >= COLUMNS) // a multiple of PER, or of the only row
            continue;
        WORD word = WORD(0u);
        [[unroll]] for (uint d = 0u; d < PER; d++) {
            float sum = sum_of(m, n + d, 0u);
#if PAIRED
            partner = partner_of(sum_of(m, n + d, more), at + d);
#endif
            put(word, d, finish(scaled(sum, at + d), at + d));
        }
        store(at / PER, word);
    }
}
