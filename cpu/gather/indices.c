// SPDX-License-Identifier: Apache-2.0
//
// Indices made valid, and the places that they name.
#include "cpu/gather/indices.h"

#define DEFINE_VALID(name, Type)                                                                             \
    static inline Type name(Type index, Type size)                                                           \
    {                                                                                                        \
        index = index < -size ? -size : index;                                                               \
        index = index >= size ? size - 1 : index;                                                            \
        return index < 0 ? index + size : index;                                                             \
    }
DEFINE_VALID(valid_int32, int32_t)
DEFINE_VALID(valid_int64, int64_t)

static size_t load_index(const struct tensor *indices, size_t i, size_t size)
{
    int64_t index;
    switch (indices->type) {
    case WNNDataType_Int32:
        index = ((const volatile int32_t *)indices->data)[i];
        break;
    case WNNDataType_Uint32:
        index = ((const volatile uint32_t *)indices->data)[i];
        break;
    default:
        index = ((const volatile int64_t *)indices->data)[i];
        break;
    }
    return (size_t)valid_int64(index, (int64_t)size);
}

// What the indices are is decided by the copy.
WNN_INLINE void load_indices_body(const struct tensor *indices, size_t first, size_t count, size_t size,
                                  uint32_t *valid)
{
    union {
        int32_t narrow[WNN_INDICES];
        int64_t wide[WNN_INDICES];
    } raw;
    size_t bytes = wnn_element_size(indices);
    const char *from = (const char *)indices->data + first * bytes;
    int32_t limit = (int32_t)size;
    memcpy(&raw, from, count * bytes);
    __asm__ volatile("" : : "r"(&raw) : "memory");
    if (indices->type == WNNDataType_Int32) {
        for (size_t i = 0; i < count; i++)
            valid[i] = (uint32_t)valid_int32(raw.narrow[i], limit);
    } else if (indices->type == WNNDataType_Uint32) {
        for (size_t i = 0; i < count; i++) {
            uint32_t index = (uint32_t)raw.narrow[i];
            valid[i] = index < (uint32_t)limit ? index : (uint32_t)limit - 1;
        }
    } else {
        for (size_t i = 0; i < count; i++)
            valid[i] = (uint32_t)valid_int64(raw.wide[i], limit);
    }
}

WNN_INLINE void load_places_body(const struct elements *e, size_t first, size_t count, size_t origin,
                                 uint32_t *places)
{
    // Rows of columns, or, of a single column, all its steps.
    size_t row = e->inner > 1 ? e->inner : e->steps, rows = e->inner > 1 ? e->steps : 1;
    size_t at = first % row, within = first / row % rows;
    size_t base = first / row / rows * e->size * e->inner - origin;
    load_indices_body(e->indices, first, count, e->size, places);
    for (size_t i = 0, n; i < count; i += n) {
        n = wnn_min(count - i, row - at);
        if (e->inner == 1) {
            for (size_t j = i; j < i + n; j++)
                places[j] += (uint32_t)base;
        } else {
            uint32_t place = (uint32_t)(base + at - i), line = (uint32_t)e->inner;
            for (size_t j = i; j < i + n; j++)
                places[j] = places[j] * line + place + (uint32_t)j;
        }
        at = 0;
        within = within + 1 == rows ? 0 : within + 1;
        base += within == 0 ? e->size * e->inner : 0;
    }
}

WNN_DISPATCH(load_indices,
             (const struct tensor *indices, size_t first, size_t count, size_t size, uint32_t *valid),
             (indices, first, count, size, valid))
WNN_DISPATCH(load_places,
             (const struct elements *e, size_t first, size_t count, size_t origin, uint32_t *places),
             (e, first, count, origin, places))

void wnn_load_indices(const struct tensor *indices, size_t first, size_t count, size_t size, uint32_t *valid)
{
    load_indices(indices, first, count, size, valid);
}

void wnn_load_places(const struct elements *e, size_t first, size_t count, size_t origin, uint32_t *places)
{
    load_places(e, first, count, origin, places);
}

struct elements wnn_element_sides(const struct tensor *tensor, const struct tensor *indices, unsigned axis,
                                  size_t ahead)
{
    size_t inner = wnn_shape_product(&tensor->shape, axis + 1, tensor->shape.rank);
    return (struct elements){.indices = indices,
                             .outer = wnn_shape_product(&tensor->shape, 0, axis),
                             .size = tensor->shape.dim[axis],
                             .steps = indices->shape.dim[axis],
                             .inner = inner,
                             .ahead = (ahead + inner - 1) / inner * inner,
                             .bytes = wnn_element_size(tensor)};
}

struct tuples wnn_tuple_sides(const struct tensor *tensor, const struct tensor *indices)
{
    size_t length = indices->shape.dim[indices->shape.rank - 1];
    return (struct tuples){.indices = indices,
                           .shape = &tensor->shape,
                           .length = length,
                           .count = wnn_shape_product(&indices->shape, 0, indices->shape.rank - 1),
                           .bytes = wnn_shape_product(&tensor->shape, (unsigned)length, tensor->shape.rank) *
                                    wnn_element_size(tensor)};
}

void wnn_load_blocks(const struct tuples *t, size_t first, size_t count, uint32_t *places)
{
    if (t->length == 1) {
        wnn_load_indices(t->indices, first, count, t->shape->dim[0], places);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t block = 0;
        for (size_t k = 0; k < t->length; k++)
            block = block * t->shape->dim[k] +
                    load_index(t->indices, (first + i) * t->length + k, t->shape->dim[k]);
        places[i] = (uint32_t)block;
    }
}
