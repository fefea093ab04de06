// SPDX-License-Identifier: Apache-2.0
#include "lib/shape.h"

#include "lib/text.h"

#include <string.h>

bool wnn_shape_equal(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

size_t wnn_shape_product(const struct shape *shape, unsigned begin, unsigned end)
{
    size_t elements = 1;
    for (unsigned i = begin; i < end; i++)
        elements *= shape->dim[i];
    return elements;
}

size_t wnn_shape_elements(const struct shape *shape)
{
    return wnn_shape_product(shape, 0, shape->rank);
}

bool wnn_shape_is_empty(const struct shape *shape)
{
    return wnn_shape_elements(shape) == 0;
}

bool wnn_shape_count(const struct shape *shape, size_t *elements)
{
    uint64_t count = 1;
    bool empty = false;
    for (unsigned i = 0; i < shape->rank; i++) {
        empty |= shape->dim[i] == 0;
        // Strides are products too, of the dimensions that are not 0.
        if (!wnn_multiply(count, shape->dim[i] ? shape->dim[i] : 1, &count) || count > WNN_MAX_DIMENSION)
            return false;
    }
    *elements = empty ? 0 : (size_t)count;
    return true;
}

bool wnn_shape_append(struct shape *shape, const uint32_t *dims, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (shape->rank >= WNN_MAX_RANK) {
            shape->rank = WNN_MAX_RANK + 1;
            return false;
        }
        shape->dim[shape->rank++] = dims[i];
    }
    return true;
}

void wnn_shape_strides(const struct shape *shape, size_t strides[WNN_MAX_RANK])
{
    size_t stride = 1;
    for (unsigned i = shape->rank; i-- > 0;) {
        strides[i] = stride;
        stride *= shape->dim[i];
    }
}

void wnn_shape_steps(const struct shape *shape, int64_t steps[WNN_MAX_RANK])
{
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(shape, strides);
    for (unsigned d = 0; d < shape->rank; d++)
        steps[d] = (int64_t)strides[d];
}

void wnn_shape_broadcast_strides(const struct shape *from, const struct shape *to,
                                 size_t strides[WNN_MAX_RANK])
{
    size_t stride = 1;
    unsigned missing = to->rank - from->rank;
    memset(strides, 0, WNN_MAX_RANK * sizeof strides[0]);
    for (unsigned i = from->rank; i-- > 0;) {
        strides[i + missing] = from->dim[i] == 1 ? 0 : stride;
        stride *= from->dim[i];
    }
}

// The size of dimension `i` counted from the last; 1 beyond the first.
static uint32_t size_from_end(const struct shape *shape, unsigned i)
{
    return i < shape->rank ? shape->dim[shape->rank - 1 - i] : 1;
}

bool wnn_shape_broadcast(const struct shape *a, const struct shape *b, struct shape *result)
{
    result->rank = a->rank > b->rank ? a->rank : b->rank;
    for (unsigned i = 0; i < result->rank; i++) {
        uint32_t x = size_from_end(a, i), y = size_from_end(b, i);
        if (x != y && x != 1 && y != 1)
            return false;
        result->dim[result->rank - 1 - i] = x == 1 ? y : x;
    }
    return true;
}

bool wnn_shape_broadcast_to(const struct shape *from, const struct shape *to)
{
    if (from->rank > to->rank)
        return false;
    for (unsigned i = 0; i < from->rank; i++) {
        uint32_t size = size_from_end(from, i);
        if (size != 1 && size != size_from_end(to, i))
            return false;
    }
    return true;
}

size_t wnn_descriptor_bytes(const struct descriptor *descriptor)
{
    return wnn_dtype_bytes(descriptor->type, wnn_shape_elements(&descriptor->shape));
}

bool wnn_descriptor_equal(const struct descriptor *a, const struct descriptor *b)
{
    return a->type == b->type && wnn_shape_equal(&a->shape, &b->shape);
}

const char *wnn_shape_text(const struct shape *shape, char buffer[WNN_SHAPE_TEXT])
{
    struct text text = {buffer, WNN_SHAPE_TEXT, 0};
    wnn_text_add(&text, "[");
    for (unsigned i = 0; i < shape->rank && i < WNN_MAX_RANK; i++)
        wnn_text_add(&text, "%s%u", i ? ", " : "", shape->dim[i]);
    wnn_text_add(&text, "]");
    return buffer;
}
