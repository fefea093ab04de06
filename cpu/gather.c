// SPDX-License-Identifier: Apache-2.0
//
// gather, gatherElements, gatherND, scatterElements, scatterND.
//
// Indices come from outside and may change while they are read: each is loaded once and made valid before
// use.
#include "cpu/kernel.h"
#include "cpu/variants.h"

// Position `i` of the indices, which names an element of a dimension of `size` (1 or more): clamped to
// [-size, size - 1], and counted from the end if it is negative.
WNN_INLINE size_t load_index_of(const struct tensor *indices, WNNDataType type, size_t i, size_t size)
{
    int64_t index, count = (int64_t)size;
    switch (type) {
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
    index = index < -count ? -count : index > count - 1 ? count - 1 : index;
    return (size_t)(index < 0 ? index + count : index);
}

static size_t load_index(const struct tensor *indices, size_t i, size_t size)
{
    return load_index_of(indices, indices->type, i, size);
}

WNN_INLINE void copy_bytes(char *to, const char *from, size_t size)
{
    switch (size) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    case 16:
        memcpy(to, from, 16);
        break;
    case 32:
        memcpy(to, from, 32);
        break;
    default:
        memcpy(to, from, size);
        break;
    }
}

// Calls loop(..., bytes, type) with constants for the usual sizes of what is moved and the types of indices,
// so that what each element needs is decided once.
#define CALL_WITH_TYPE(loop, bytes, indices, ...)                                                            \
    do {                                                                                                     \
        if ((indices)->type == WNNDataType_Int32)                                                            \
            loop(__VA_ARGS__, bytes, WNNDataType_Int32);                                                     \
        else if ((indices)->type == WNNDataType_Uint32)                                                      \
            loop(__VA_ARGS__, bytes, WNNDataType_Uint32);                                                    \
        else                                                                                                 \
            loop(__VA_ARGS__, bytes, WNNDataType_Int64);                                                     \
    } while (0)
#define CALL_WITH_CONSTANTS(loop, bytes, indices, ...)                                                       \
    do {                                                                                                     \
        switch (bytes) {                                                                                     \
        case 1:                                                                                              \
            CALL_WITH_TYPE(loop, 1, indices, __VA_ARGS__);                                                   \
            break;                                                                                           \
        case 2:                                                                                              \
            CALL_WITH_TYPE(loop, 2, indices, __VA_ARGS__);                                                   \
            break;                                                                                           \
        case 4:                                                                                              \
            CALL_WITH_TYPE(loop, 4, indices, __VA_ARGS__);                                                   \
            break;                                                                                           \
        case 8:                                                                                              \
            CALL_WITH_TYPE(loop, 8, indices, __VA_ARGS__);                                                   \
            break;                                                                                           \
        case 16:                                                                                             \
            CALL_WITH_TYPE(loop, 16, indices, __VA_ARGS__);                                                  \
            break;                                                                                           \
        case 32:                                                                                             \
            CALL_WITH_TYPE(loop, 32, indices, __VA_ARGS__);                                                  \
            break;                                                                                           \
        default:                                                                                             \
            CALL_WITH_TYPE(loop, bytes, indices, __VA_ARGS__);                                               \
            break;                                                                                           \
        }                                                                                                    \
    } while (0)

static size_t product(const struct shape *shape, unsigned begin, unsigned end)
{
    size_t count = 1;
    for (unsigned d = begin; d < end; d++)
        count *= shape->dim[d];
    return count;
}

static size_t element_size(const struct tensor *tensor)
{
    return wnn_dtype_bits(tensor->type) / 8;
}

static size_t grain(size_t bytes)
{
    return 32768 / (bytes + 16) + 1;
}

// Whether there is nothing to choose from, or nothing to choose: the output, if it has elements, becomes 0.
static bool nothing_to_gather(const struct kernel_call *call)
{
    const struct tensor *out = &call->out[0];
    if (call->in[0].count == 0 && out->count > 0)
        memset(out->data, 0, out->count * element_size(out));
    return call->in[0].count == 0 || out->count == 0;
}

// The input is [outer, size, inner bytes] and the output [outer, indices, inner bytes].
struct gather {
    const struct tensor *in, *indices, *out;
    size_t size, inner;
};

WNN_INLINE void gather_runs_of(const struct gather *g, size_t begin, size_t end, size_t bytes,
                               WNNDataType type)
{
    size_t count = g->indices->count, outer = begin / count, i = begin % count;
    const char *from = (const char *)g->in->data + outer * g->size * bytes;
    char *to = (char *)g->out->data + begin * bytes;
    for (size_t n = end - begin; n > 0; from += g->size * bytes, i = 0) {
        size_t stop = count - i < n ? count : i + n;
        n -= stop - i;
        for (; i < stop; i++, to += bytes)
            copy_bytes(to, from + load_index_of(g->indices, type, i, g->size) * bytes, bytes);
    }
}

static void gather_runs(void *argument, size_t begin, size_t end)
{
    const struct gather *g = argument;
    CALL_WITH_CONSTANTS(gather_runs_of, g->inner, g->indices, g, begin, end);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gather
void wnn_cpu_gather(const struct kernel_call *call)
{
    const WNNGatherOptions *options = call->node->attrs;
    const struct tensor *in = &call->in[0];
    struct gather gather = {in, &call->in[1], &call->out[0], in->shape.dim[options->axis],
                            product(&in->shape, options->axis + 1, in->shape.rank) * element_size(in)};
    if (nothing_to_gather(call))
        return;
    size_t runs = product(&in->shape, 0, options->axis) * gather.indices->count;
    wnn_parallel_for(call->parallel, runs, grain(gather.inner), gather_runs, &gather);
}

// One side is [outer, size, inner], the indices and the other side are [outer, steps, inner].
struct elements {
    const struct tensor *indices;
    const char *from;
    char *to;
    size_t size, steps, inner, bytes, blocks;
};

static struct elements element_sides(const struct tensor *tensor, const struct tensor *indices, unsigned axis)
{
    return (struct elements){.indices = indices,
                             .size = tensor->shape.dim[axis],
                             .steps = indices->shape.dim[axis],
                             .inner = product(&tensor->shape, axis + 1, tensor->shape.rank),
                             .bytes = element_size(tensor)};
}

WNN_INLINE void gather_elements_of(const struct elements *e, size_t begin, size_t end, size_t bytes,
                                   WNNDataType type)
{
    size_t outer = begin / (e->steps * e->inner), rest = begin % (e->steps * e->inner);
    size_t step = rest / e->inner, column = rest % e->inner;
    for (size_t i = begin; i < end; column = 0) {
        const char *from = e->from + (outer * e->size * e->inner + column) * bytes;
        if (e->inner == 1) { // the rest of the steps
            size_t stop = e->steps - step < end - i ? i + e->steps - step : end;
            for (; i < stop; i++)
                copy_bytes(e->to + i * bytes, from + load_index_of(e->indices, type, i, e->size) * bytes,
                           bytes);
            step = e->steps - 1;
        } else {
            size_t stop = e->inner - column < end - i ? i + e->inner - column : end, line = e->inner * bytes;
            for (; i < stop; i++, from += bytes)
                copy_bytes(e->to + i * bytes, from + load_index_of(e->indices, type, i, e->size) * line,
                           bytes);
        }
        if (++step == e->steps) {
            step = 0;
            outer++;
        }
    }
}

static void gather_elements(void *argument, size_t begin, size_t end)
{
    const struct elements *e = argument;
    CALL_WITH_CONSTANTS(gather_elements_of, e->bytes, e->indices, e, begin, end);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gatherelements
void wnn_cpu_gather_elements(const struct kernel_call *call)
{
    const WNNGatherOptions *options = call->node->attrs;
    struct elements elements = element_sides(&call->in[0], &call->in[1], options->axis);
    if (nothing_to_gather(call))
        return;
    elements.from = call->in[0].data;
    elements.to = call->out[0].data;
    wnn_parallel_for(call->parallel, call->out[0].count, grain(elements.bytes), gather_elements, &elements);
}

struct bytes {
    const char *from;
    char *to;
};

static void copy_range(void *argument, size_t begin, size_t end)
{
    const struct bytes *bytes = argument;
    memcpy(bytes->to + begin, bytes->from + begin, end - begin);
}

static void copy_input(const struct kernel_call *call)
{
    struct bytes bytes = {call->in[0].data, call->out[0].data};
    if (bytes.from != bytes.to)
        wnn_parallel_for(call->parallel, call->in[0].count * element_size(&call->in[0]), 131072, copy_range,
                         &bytes);
}

enum {
    COLUMNS = 64
};

// A unit is some columns: no other unit writes to them, so that the last update of an element is the one that
// stays.
WNN_INLINE void scatter_elements_of(const struct elements *e, size_t begin, size_t end, size_t bytes,
                                    WNNDataType type)
{
    for (size_t unit = begin; unit < end; unit++) {
        size_t outer = unit / e->blocks, column = unit % e->blocks * COLUMNS;
        size_t last = e->inner - column < COLUMNS ? e->inner : column + COLUMNS;
        for (size_t step = 0; step < e->steps; step++) {
            size_t row = (outer * e->steps + step) * e->inner;
            for (size_t c = column; c < last; c++) {
                size_t index = load_index_of(e->indices, type, row + c, e->size);
                copy_bytes(e->to + ((outer * e->size + index) * e->inner + c) * bytes,
                           e->from + (row + c) * bytes, bytes);
            }
        }
    }
}

static void scatter_elements(void *argument, size_t begin, size_t end)
{
    const struct elements *e = argument;
    CALL_WITH_CONSTANTS(scatter_elements_of, e->bytes, e->indices, e, begin, end);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-scatterelements
void wnn_cpu_scatter_elements(const struct kernel_call *call)
{
    const WNNScatterElementsOptions *options = call->node->attrs;
    const struct tensor *out = &call->out[0];
    struct elements elements = element_sides(out, &call->in[1], options->axis);
    if (out->count == 0)
        return;
    copy_input(call);
    elements.from = call->in[2].data;
    elements.to = out->data;
    elements.blocks = (elements.inner + COLUMNS - 1) / COLUMNS;
    size_t units = product(&out->shape, 0, options->axis) * elements.blocks;
    size_t columns = elements.inner < COLUMNS ? elements.inner : COLUMNS;
    wnn_parallel_for(call->parallel, units, grain(elements.steps * columns * elements.bytes),
                     scatter_elements, &elements);
}

// Tuples of indices, each of which names a block of the larger side.
struct tuples {
    const struct tensor *indices;
    const struct shape *shape; // of the larger side
    const char *from;
    char *to;
    size_t length, count; // indices in a tuple, tuples
    size_t bytes;         // of a block
};

static struct tuples tuple_sides(const struct tensor *tensor, const struct tensor *indices)
{
    size_t length = indices->shape.dim[indices->shape.rank - 1];
    return (struct tuples){.indices = indices,
                           .shape = &tensor->shape,
                           .length = length,
                           .count = product(&indices->shape, 0, indices->shape.rank - 1),
                           .bytes = product(&tensor->shape, (unsigned)length, tensor->shape.rank) *
                                    element_size(tensor)};
}

// The block that a tuple names.
static size_t load_tuple(const struct tuples *t, size_t tuple)
{
    size_t block = 0;
    for (size_t k = 0; k < t->length; k++)
        block = block * t->shape->dim[k] + load_index(t->indices, tuple * t->length + k, t->shape->dim[k]);
    return block;
}

static void gather_blocks(void *argument, size_t begin, size_t end)
{
    const struct tuples *t = argument;
    for (size_t i = begin; i < end; i++)
        copy_bytes(t->to + i * t->bytes, t->from + load_tuple(t, i) * t->bytes, t->bytes);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gathernd
void wnn_cpu_gather_nd(const struct kernel_call *call)
{
    struct tuples tuples = tuple_sides(&call->in[0], &call->in[1]);
    if (nothing_to_gather(call))
        return;
    tuples.from = call->in[0].data;
    tuples.to = call->out[0].data;
    wnn_parallel_for(call->parallel, tuples.count, grain(tuples.bytes), gather_blocks, &tuples);
}

// Bytes [begin, end) of all blocks, in the order of the updates: the last one stays.
static void scatter_blocks(void *argument, size_t begin, size_t end)
{
    const struct tuples *t = argument;
    for (size_t i = 0; i < t->count; i++)
        copy_bytes(t->to + load_tuple(t, i) * t->bytes + begin, t->from + i * t->bytes + begin, end - begin);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-scatternd
void wnn_cpu_scatter_nd(const struct kernel_call *call)
{
    struct tuples tuples = tuple_sides(&call->in[0], &call->in[1]);
    if (call->out[0].count == 0)
        return;
    copy_input(call);
    tuples.from = call->in[2].data;
    tuples.to = call->out[0].data;
    // Indices that change between the readings of two threads could tear a block, but not leave the tensor.
    wnn_parallel_for(call->parallel, tuples.bytes, 4096, scatter_blocks, &tuples);
}
