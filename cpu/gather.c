// SPDX-License-Identifier: Apache-2.0
//
// gather, gatherElements, gatherND, scatterElements, scatterND.
//
// Indices come from outside and may change while they are read: each is loaded once and made valid before
// use.
#include "cpu/kernel.h"
#include "cpu/runs.h"
#include "cpu/variants.h"

// Indices name elements of a dimension of `size` (1 or more): they are clamped to [-size, size - 1], and
// counted from the end if they are negative.
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

enum {
    CHUNK = 512 // indices at a time
};

// Up to CHUNK of them: what they are is decided by the copy.
WNN_INLINE void load_indices_body(const struct tensor *indices, size_t first, size_t count, size_t size,
                                  uint32_t *valid)
{
    union {
        int32_t narrow[CHUNK];
        int64_t wide[CHUNK];
    } raw;
    size_t bytes = wnn_dtype_bits(indices->type) / 8;
    int32_t limit = (int32_t)size;
    memcpy(&raw, (const char *)indices->data + first * bytes, count * bytes);
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

#if defined(__x86_64__)
WNN_AVX2 static void load_indices_avx2(const struct tensor *indices, size_t first, size_t count, size_t size,
                                       uint32_t *valid)
{
    load_indices_body(indices, first, count, size, valid);
}
#endif

static void load_indices(const struct tensor *indices, size_t first, size_t count, size_t size,
                         uint32_t *valid)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        load_indices_avx2(indices, first, count, size, valid);
        return;
    }
#endif
    load_indices_body(indices, first, count, size, valid);
}

// One element, or a block of them.
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
        wnn_copy_run(to, from, size);
        break;
    }
}

#define UNROLLED 8 // elements that are read before they are written, so that no load waits for a store

// Element i comes from place valid[i] * line + i * step, or goes there: `bytes` is a constant.
WNN_INLINE void gather_places(char *to, const char *from, const uint32_t *valid, size_t count, size_t line,
                              size_t step, size_t bytes)
{
    size_t i = 0;
    for (; bytes <= sizeof(uint64_t) && i + UNROLLED <= count; i += UNROLLED) {
        uint64_t values[UNROLLED] = {0};
        for (size_t j = 0; j < UNROLLED; j++)
            memcpy(&values[j], from + valid[i + j] * line + (i + j) * step, bytes);
        for (size_t j = 0; j < UNROLLED; j++)
            memcpy(to + (i + j) * bytes, &values[j], bytes);
    }
    for (; i < count; i++)
        copy_bytes(to + i * bytes, from + valid[i] * line + i * step, bytes);
}

WNN_INLINE void scatter_places(char *to, const char *from, const uint32_t *valid, size_t count, size_t line,
                               size_t step, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        copy_bytes(to + valid[i] * line + i * step, from + i * bytes, bytes);
}

// Calls loop(..., bytes) with constants for the usual sizes of what is moved.
#define CALL_WITH_SIZE(loop, bytes, ...)                                                                     \
    do {                                                                                                     \
        switch (bytes) {                                                                                     \
        case 1:                                                                                              \
            loop(__VA_ARGS__, 1);                                                                            \
            break;                                                                                           \
        case 2:                                                                                              \
            loop(__VA_ARGS__, 2);                                                                            \
            break;                                                                                           \
        case 4:                                                                                              \
            loop(__VA_ARGS__, 4);                                                                            \
            break;                                                                                           \
        case 8:                                                                                              \
            loop(__VA_ARGS__, 8);                                                                            \
            break;                                                                                           \
        case 16:                                                                                             \
            loop(__VA_ARGS__, 16);                                                                           \
            break;                                                                                           \
        case 32:                                                                                             \
            loop(__VA_ARGS__, 32);                                                                           \
            break;                                                                                           \
        default:                                                                                             \
            loop(__VA_ARGS__, bytes);                                                                        \
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
    size_t outer, size, inner;
};

enum {
    ROWS = 16
};

// Units are CHUNK indices (or what is left of them) at ROWS places of `outer`.
WNN_INLINE void gather_runs_of(const struct gather *g, size_t begin, size_t end, size_t bytes)
{
    size_t count = g->indices->count, chunks = (count + CHUNK - 1) / CHUNK;
    for (size_t unit = begin; unit < end; unit++) {
        uint32_t valid[CHUNK];
        size_t first = unit % chunks * CHUNK, n = count - first < CHUNK ? count - first : CHUNK;
        size_t row = unit / chunks * ROWS, last = g->outer - row < ROWS ? g->outer : row + ROWS;
        load_indices(g->indices, first, n, g->size, valid);
        for (; row < last; row++) {
            const char *from = (const char *)g->in->data + row * g->size * bytes;
            char *to = (char *)g->out->data + (row * count + first) * bytes;
            gather_places(to, from, valid, n, bytes, 0, bytes);
        }
    }
}

static void gather_runs(void *argument, size_t begin, size_t end)
{
    const struct gather *g = argument;
    CALL_WITH_SIZE(gather_runs_of, g->inner, g, begin, end);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gather
void wnn_cpu_gather(const struct kernel_call *call)
{
    const WNNGatherOptions *options = call->node->attrs;
    const struct tensor *in = &call->in[0];
    struct gather gather = {in,
                            &call->in[1],
                            &call->out[0],
                            product(&in->shape, 0, options->axis),
                            in->shape.dim[options->axis],
                            product(&in->shape, options->axis + 1, in->shape.rank) * element_size(in)};
    if (nothing_to_gather(call))
        return;
    size_t chunks = (gather.indices->count + CHUNK - 1) / CHUNK, rows = (gather.outer + ROWS - 1) / ROWS;
    size_t work = gather.out->count * element_size(in) / (chunks * rows);
    wnn_parallel_for(call->parallel, chunks * rows, 32768 / (work + 1) + 1, gather_runs, &gather);
}

// One side is [outer, size, inner], the indices and the other side are [outer, steps, inner].
struct elements {
    const struct tensor *indices;
    const char *input; // NULL, or what a unit copies to the output before it scatters
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

WNN_INLINE void gather_elements_of(const struct elements *e, size_t begin, size_t end, size_t bytes)
{
    size_t outer = begin / (e->steps * e->inner), rest = begin % (e->steps * e->inner);
    size_t step = rest / e->inner, column = rest % e->inner;
    for (size_t i = begin, n; i < end; i += n) {
        uint32_t valid[CHUNK];
        const char *from = e->from + (outer * e->size * e->inner + column) * bytes;
        size_t left = e->inner == 1 ? e->steps - step : e->inner - column;
        char *to = e->to + i * bytes;
        n = end - i < left ? end - i : left;
        n = n < CHUNK ? n : CHUNK;
        load_indices(e->indices, i, n, e->size, valid);
        if (e->inner == 1) {
            gather_places(to, from, valid, n, bytes, 0, bytes);
            step += n;
        } else {
            gather_places(to, from, valid, n, e->inner * bytes, bytes, bytes);
            column += n;
            step += column == e->inner;
            column = column == e->inner ? 0 : column;
        }
        outer += step == e->steps;
        step = step == e->steps ? 0 : step;
    }
}

static void gather_elements(void *argument, size_t begin, size_t end)
{
    const struct elements *e = argument;
    CALL_WITH_SIZE(gather_elements_of, e->bytes, e, begin, end);
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
    COLUMNS = 256,
    CACHED = 262144 // bytes that stay near the processor
};

// A unit is some columns: no other unit writes to them, so that the last update of an element is the one that
// stays.
WNN_INLINE void scatter_elements_of(const struct elements *e, size_t begin, size_t end, size_t bytes)
{
    uint32_t valid[CHUNK];
    size_t whole = e->size * e->inner * bytes;
    for (size_t unit = begin; unit < end; unit++) {
        size_t outer = unit / e->blocks, column = unit % e->blocks * COLUMNS, n;
        if (e->input)
            memcpy(e->to + outer * whole, e->input + outer * whole, whole);
        size_t width = e->inner - column < COLUMNS ? e->inner - column : COLUMNS, line = e->inner * bytes;
        char *to = e->to + (outer * e->size * e->inner + column) * bytes;
        for (size_t step = 0; step < e->steps; step += n) {
            // A row of columns, or steps of the only one.
            size_t row = (outer * e->steps + step) * e->inner + column;
            const char *from = e->from + row * bytes;
            n = e->inner > 1 ? 1 : e->steps - step < CHUNK ? e->steps - step : CHUNK;
            load_indices(e->indices, row, e->inner > 1 ? width : n, e->size, valid);
            if (e->inner == 1)
                scatter_places(to, from, valid, n, bytes, 0, bytes);
            else
                scatter_places(to, from, valid, width, line, bytes, bytes);
        }
    }
}

static void scatter_elements(void *argument, size_t begin, size_t end)
{
    const struct elements *e = argument;
    CALL_WITH_SIZE(scatter_elements_of, e->bytes, e, begin, end);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-scatterelements
void wnn_cpu_scatter_elements(const struct kernel_call *call)
{
    const WNNScatterElementsOptions *options = call->node->attrs;
    const struct tensor *out = &call->out[0];
    struct elements elements = element_sides(out, &call->in[1], options->axis);
    if (out->count == 0)
        return;
    elements.from = call->in[2].data;
    elements.to = out->data;
    elements.blocks = (elements.inner + COLUMNS - 1) / COLUMNS;
    if (elements.blocks > 1 || elements.size * elements.inner * elements.bytes > CACHED)
        copy_input(call);
    else if (call->in[0].data != out->data)
        elements.input = call->in[0].data;
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
