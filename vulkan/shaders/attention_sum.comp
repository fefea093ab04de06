// SPDX-License-Identifier: Apache-2.0
//
// Joins what splits of the keys have left of each row: its greatest score, the sum of its weights, and of the values
// times these.

OUT element(uint i)
{
    uint row = row_index(i), from = part_index(i);
    float top = -INF, sum = 0.0, mixed = 0.0;
    for (uint s = 0u; s < SPLITS; s++)
        top = max(top, statistic_at(s * SPLIT_ROWS + row).x);
    float base = top == -INF ? 0.0 : top;
    for (uint s = 0u; s < SPLITS; s++) {
        vec2 statistic = statistic_at(s * SPLIT_ROWS + row);
        float share = exp_from(statistic.x, base);
        sum += share * statistic.y;
        mixed = mad(share, part_at(s * SPLIT_PARTS + from), mixed);
    }
    precise float share = 1.0 / sum;
#if ZERO_NAN
    if (is_nan(sum) || sum == 0.0)
        return 0.0;
#endif
    return mixed * share;
}
