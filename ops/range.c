// SPDX-License-Identifier: Apache-2.0
#include "ops/range.h"

#include "lib/shape.h"

#include <math.h>

__extension__ typedef __int128 wide; // holds all 64-bit integers and their differences

static wide wide_of(WNNNumber number)
{
    return number.type == WNNNumberType_Int64 ? (wide)number.value.i64 : (wide)number.value.u64;
}

bool wnn_range_count(WNNNumber start, WNNNumber end, WNNNumber step, uint32_t least, uint32_t *count)
{
    double items = ceil((wnn_number_double(end) - wnn_number_double(start)) / wnn_number_double(step));
    if (start.type != WNNNumberType_Float64 && end.type != WNNNumberType_Float64 &&
        step.type != WNNNumberType_Float64) {
        wide span = wide_of(end) - wide_of(start), by = wide_of(step);
        if (by < 0) {
            span = -span;
            by = -by;
        }
        wide exact = span <= 0 ? 0 : (span + by - 1) / by;
        items = exact > (wide)WNN_MAX_DIMENSION ? INFINITY : (double)exact;
    }
    items = items < 0 ? 0 : items;
    if (!(items >= least && items <= WNN_MAX_DIMENSION))
        return false;
    *count = (uint32_t)items;
    return true;
}

WNNNumber wnn_range_item(WNNNumber start, WNNNumber step, uint32_t i)
{
    if (start.type != WNNNumberType_Float64 && step.type != WNNNumberType_Float64) {
        wide item = wide_of(start) + wide_of(step) * i; // at most 32 bits longer than a step
        return item < 0 ? wnnNumberInt64(item < INT64_MIN ? INT64_MIN : (int64_t)item)
                        : wnnNumberUint64(item > UINT64_MAX ? UINT64_MAX : (uint64_t)item);
    }
    return wnnNumberFloat64(wnn_number_double(start) + i * wnn_number_double(step));
}
