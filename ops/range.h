// SPDX-License-Identifier: Apache-2.0
//
// Numbers at equal distances: of a constant, and of the operator range.

#ifndef OPS_RANGE_H_
#define OPS_RANGE_H_

#include "lib/dtype.h"

// How many there are from start up to, and without, end: ceil((end - start) / step), 0 if that is negative;
// exact for integers. The step is not 0. False: fewer than `least`, more than a dimension can have, or NaN.
bool wnn_range_count(WNNNumber start, WNNNumber end, WNNNumber step, uint32_t least, uint32_t *count);

// Item i, not converted to a type yet.
WNNNumber wnn_range_item(WNNNumber start, WNNNumber step, uint32_t i);

#endif
