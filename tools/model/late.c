// SPDX-License-Identifier: Apache-2.0
#include "tools/model/late.h"

static uint32_t seal_of(uint32_t number)
{
    return 0x40000000U | (number * 0x9E3779B1U + 0x7F4A7C15U) >> 2;
}

int64_t late_size(uint32_t number)
{
    return (int64_t)((uint64_t)seal_of(number) << 32 | number);
}

bool is_late(int64_t size)
{
    return size > INT32_MAX && (uint64_t)size >> 32 == seal_of((uint32_t)size) && (uint32_t)size > INT32_MAX;
}

bool has_late(const int64_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_late(sizes[i]))
            return true;
    return false;
}

uint32_t size_number(int64_t size)
{
    return is_late(size) || (size >= 0 && size <= INT32_MAX) ? (uint32_t)size : UINT32_MAX;
}
