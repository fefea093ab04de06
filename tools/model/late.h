// SPDX-License-Identifier: Apache-2.0
//
// Sizes that are not known while a model is recorded (WNNModelRecordOptions.nameDimensions). Such a size
// stands among dimensions, and among the integers that shapes are computed with, as a number that no model
// has: the number that the builder has for it (wnnGraphBuilderComputeSize), below bits that are made of that
// number. So those who only hand it on need not know, and what comes of arithmetic that does not know of it
// (tools/model/sizes.c does), which wraps, is no size of anything, and is refused.

#ifndef TOOLS_MODEL_LATE_H_
#define TOOLS_MODEL_LATE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int64_t late_size(uint32_t number); // for a size of the builder
bool is_late(int64_t size);
bool has_late(const int64_t *sizes, size_t count);

// A size as the builder takes it; of what is none, a number that it refuses.
uint32_t size_number(int64_t size);

#endif
