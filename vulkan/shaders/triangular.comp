// SPDX-License-Identifier: Apache-2.0
//
// triangular: keeps what is on one side of a diagonal.

OUT element(uint i)
{
    OUT x = a_at(i); // on its way while the place is looked at
    uint rows = COLUMNS_in(i);
    int distance = int(i - rows * COLUMNS) - int(rows - ROWS_in(rows) * ROWS);
    if (UPPER != 0u ? distance >= int(DIAGONAL) : distance <= int(DIAGONAL))
        return x;
    return OUT(0u);
}
