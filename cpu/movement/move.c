// SPDX-License-Identifier: Apache-2.0
//
// The operators that only move elements. Nearly all of them are one strided copy: a loop nest with a byte
// stride in the source and in the destination for each dimension, which may be 0 (repetition) or negative
// (reversal). Data types count by their size only.
#include "cpu/kernel.h"
#include "cpu/simd/runs.h"
#include "cpu/simd/non_temporal.h"
#include "cpu/movement/transpose.h"
#include "cpu/simd/interleave.h"

enum {
    MOVE_RANK = 2 * WNN_MAX_RANK
}; // tile has two loops a dimension

struct loop {
    size_t count;
    ptrdiff_t from, to; // bytes
};

struct copy {
    const char *from;
    char *to;
    size_t size; // bytes that are moved at a time
    unsigned rank;
    struct loop loops[MOVE_RANK]; // outer to inner
};

static struct copy begin_copy(const struct tensor *in, const struct tensor *out)
{
    return (struct copy){.from = in->data, .to = out->data, .size = wnn_dtype_bits(out->type) / 8};
}

// Strides in elements.
static void add_loop(struct copy *copy, size_t count, ptrdiff_t from, ptrdiff_t to)
{
    ptrdiff_t size = (ptrdiff_t)copy->size;
    copy->loops[copy->rank++] = (struct loop){count, from * size, to * size};
}

// ---------------------------------------------------------------------------------------------------------------
// The inner two loops
// ---------------------------------------------------------------------------------------------------------------

struct word16 {
    uint64_t words[2];
};

enum {
    BLOCK = 16
};

// Elements of a constant size through memcpy: the addresses need not be aligned. In blocks, because one of
// the two sides may jump from line to line.
#define MOVE(type, to, from)                                                                                 \
    do {                                                                                                     \
        type value_;                                                                                         \
        memcpy(&value_, (from), sizeof value_);                                                              \
        memcpy((to), &value_, sizeof value_);                                                                \
    } while (0)
#define DEFINE_COPY(size, type)                                                                              \
    static void move_##size(const char *from, char *to, struct loop rows, struct loop columns)               \
    {                                                                                                        \
        for (size_t r0 = 0; r0 < rows.count; r0 += BLOCK) {                                                  \
            size_t height = rows.count - r0 < BLOCK ? rows.count - r0 : BLOCK;                               \
            for (size_t c0 = 0; c0 < columns.count; c0 += BLOCK) {                                           \
                size_t width = columns.count - c0 < BLOCK ? columns.count - c0 : BLOCK;                      \
                const char *x = from + (ptrdiff_t)r0 * rows.from + (ptrdiff_t)c0 * columns.from;             \
                char *y = to + (ptrdiff_t)r0 * rows.to + (ptrdiff_t)c0 * columns.to;                         \
                for (size_t r = 0; r < height; r++) {                                                        \
                    for (size_t c = 0; c < width; c++)                                                       \
                        MOVE(type, y + (ptrdiff_t)r * rows.to + (ptrdiff_t)c * columns.to,                   \
                             x + (ptrdiff_t)r * rows.from + (ptrdiff_t)c * columns.from);                    \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

DEFINE_COPY(1, uint8_t)
DEFINE_COPY(2, uint16_t)
DEFINE_COPY(4, uint32_t)
DEFINE_COPY(8, uint64_t)
DEFINE_COPY(16, struct word16)

typedef void (*copy_loop)(const char *from, char *to, struct loop rows, struct loop columns);

static void copy_runs(const char *from, char *to, size_t size, struct loop rows, struct loop columns)
{
    for (size_t r = 0; r < rows.count; r++) {
        for (size_t c = 0; c < columns.count; c++)
            wnn_copy_run(to + (ptrdiff_t)r * rows.to + (ptrdiff_t)c * columns.to,
                         from + (ptrdiff_t)r * rows.from + (ptrdiff_t)c * columns.from, size);
    }
}

static bool is_transposing(size_t size, struct loop rows, struct loop columns)
{
    return rows.from == (ptrdiff_t)size && columns.to == (ptrdiff_t)size && rows.count > 1 &&
           columns.count > 1;
}

// All columns of rows as long as there are rows, which lie side by side in the source.
static bool is_unweaving(size_t size, struct loop rows, struct loop columns)
{
    return is_transposing(size, rows, columns) && (size == 1 || size == 2 || size == 4) &&
           rows.count <= WNN_WOVEN && columns.from == (ptrdiff_t)(rows.count * size);
}

static void copy_elements(const char *from, char *to, size_t size, struct loop rows, struct loop columns)
{
    static const copy_loop moves[] = {move_1, move_2, move_4, move_8, move_16};
    if ((size & (size - 1)) != 0 || size > 16) {
        copy_runs(from, to, size, rows, columns);
        return;
    }
    ptrdiff_t unit = (ptrdiff_t)size, step = columns.from / unit;
    bool dense = columns.to == unit, transposing = is_transposing(size, rows, columns);
    bool steps =
        dense && size <= 4 && columns.from == step * unit && (step == -1 || (step >= 2 && step <= WNN_WOVEN));
    if (dense && columns.from == 0)
        wnn_repeat(from, rows.from, to, rows.to, size, rows.count, columns.count);
    else if (transposing && size <= 4 && columns.count <= WNN_WOVEN &&
             rows.to == unit * (ptrdiff_t)columns.count)
        wnn_interleave(from, columns.from, to, size, columns.count, rows.count);
    else if (is_unweaving(size, rows, columns))
        wnn_deinterleave(from, to, rows.to, size, rows.count, columns.count, false);
    else if (steps)
        for (size_t r = 0; r < rows.count; r++)
            wnn_take(from + (ptrdiff_t)r * rows.from, step, to + (ptrdiff_t)r * rows.to, size, columns.count);
    else if (transposing && size <= 8)
        wnn_transpose(from, columns.from, to, rows.to, size, rows.count, columns.count);
    else
        moves[__builtin_ctz((unsigned)size)](from, to, rows, columns);
}

// ---------------------------------------------------------------------------------------------------------------
// The others
// ---------------------------------------------------------------------------------------------------------------

enum {
    LINE = 64,
    TILE = 32768,   // bytes that a cache near the processor holds
    LONG_RUN = 256, // bytes; whole lines are stored as they are from here on
    ROW_RUN = 512   // bytes that are best read together where that takes a jump
};

// How a prepared copy is cut: tiles of the inner two loops, for each combination of the outer ones.
struct tiles {
    const struct copy *copy;        // rank 2 or more
    size_t row_count, column_count; // of a tile
    size_t row_tiles, column_tiles;
    bool non_temporal; // tiles have TILE bytes at most, or are parts of one run
    const struct interrupt *interrupt;
};

static size_t magnitude(ptrdiff_t stride)
{
    return (size_t)(stride < 0 ? -stride : stride);
}

// Worth streaming by themselves, also if lines are cut.
static bool is_long_run(size_t bytes)
{
    return bytes >= (bytes % LINE == 0 ? LONG_RUN : 8 * LONG_RUN);
}

// A tile leaves for memory in whole lines. Its columns are dense in the destination, and it is put together
// in a buffer, unless it consists of long runs or repetitions.
static void stream_elements(const char *from, char *to, size_t size, struct loop rows, struct loop columns)
{
    size_t bytes = columns.count * size;
    bool runs = is_long_run(size), fills = columns.from == 0 && bytes >= LONG_RUN && size <= 8 &&
                                           (size & (size - 1)) == 0 && (uintptr_t)to % size == 0;
    if (is_unweaving(size, rows, columns)) {
        wnn_deinterleave(from, to, rows.to, size, rows.count, columns.count, true);
        return;
    }
    for (size_t r = 0; r < rows.count && (runs || fills); r++) {
        const char *x = from + (ptrdiff_t)r * rows.from;
        char *y = to + (ptrdiff_t)r * rows.to;
        if (fills)
            wnn_nt_fill(y, x, size, bytes);
        for (size_t c = 0; c < columns.count && runs; c++)
            wnn_nt_store(y + (ptrdiff_t)c * columns.to, x + (ptrdiff_t)c * columns.from, size);
    }
    if (runs || fills)
        return;
    char buffer[TILE];
    bool dense = rows.to == (ptrdiff_t)bytes;
    struct loop packed = {rows.count, rows.from, (ptrdiff_t)bytes};
    // Runs are read in the order of the source.
    if (size >= LINE && magnitude(rows.from) < magnitude(columns.from))
        copy_elements(from, buffer, size, columns, packed);
    else
        copy_elements(from, buffer, size, packed, columns);
    for (size_t r = 0; r < (dense ? 1 : rows.count); r++)
        wnn_nt_store(to + (ptrdiff_t)r * rows.to, buffer + r * bytes, dense ? rows.count * bytes : bytes);
}

// Elements that are runs of so many bytes or more are moved in pieces, between which an interrupt may come.
#define RUN_PIECE ((size_t)1 << 20)

static void copy_long_runs(const struct tiles *tiles, const char *from, char *to, struct loop rows,
                           struct loop columns)
{
    size_t size = tiles->copy->size;
    for (size_t i = 0; i < rows.count * columns.count; i++) {
        ptrdiff_t row = (ptrdiff_t)(i / columns.count), column = (ptrdiff_t)(i % columns.count);
        const char *x = from + row * rows.from + column * columns.from;
        char *y = to + row * rows.to + column * columns.to;
        for (size_t at = 0, piece; at < size && !wnn_interrupted(tiles->interrupt); at += piece) {
            piece = wnn_min(size - at, RUN_PIECE);
            if (tiles->non_temporal)
                wnn_nt_store(y + at, x + at, piece);
            else
                memcpy(y + at, x + at, piece);
        }
    }
}

static void copy_tiles(void *argument, size_t begin, size_t end)
{
    const struct tiles *tiles = argument;
    const struct copy *copy = tiles->copy;
    for (size_t tile = begin; tile < end && !wnn_interrupted(tiles->interrupt); tile++) {
        struct loop rows = copy->loops[copy->rank - 2], columns = copy->loops[copy->rank - 1];
        size_t column = tile % tiles->column_tiles * tiles->column_count, rest = tile / tiles->column_tiles;
        size_t row = rest % tiles->row_tiles * tiles->row_count;
        rest /= tiles->row_tiles;
        ptrdiff_t from = (ptrdiff_t)row * rows.from + (ptrdiff_t)column * columns.from;
        ptrdiff_t to = (ptrdiff_t)row * rows.to + (ptrdiff_t)column * columns.to;
        for (unsigned d = copy->rank - 2; d-- > 0; rest /= copy->loops[d].count) {
            ptrdiff_t index = (ptrdiff_t)(rest % copy->loops[d].count);
            from += index * copy->loops[d].from;
            to += index * copy->loops[d].to;
        }
        rows.count = rows.count - row < tiles->row_count ? rows.count - row : tiles->row_count;
        columns.count =
            columns.count - column < tiles->column_count ? columns.count - column : tiles->column_count;
        if (copy->size >= RUN_PIECE)
            copy_long_runs(tiles, copy->from + from, copy->to + to, rows, columns);
        else
            (tiles->non_temporal ? stream_elements : copy_elements)(copy->from + from, copy->to + to,
                                                                    copy->size, rows, columns);
    }
    if (tiles->non_temporal)
        wnn_nt_fence();
}

// Fewer, longer loops, the inner two of which suit copy_elements. The order of the loops is free.
static void prepare_copy(struct copy *copy)
{
    unsigned rank = 0;
    for (unsigned d = 0; d < copy->rank; d++) {
        struct loop loop = copy->loops[d], *outer = rank ? &copy->loops[rank - 1] : NULL;
        if (loop.count == 1)
            continue;
        ptrdiff_t count = (ptrdiff_t)loop.count;
        if (outer && outer->from == loop.from * count && outer->to == loop.to * count)
            *outer = (struct loop){outer->count * loop.count, loop.from, loop.to};
        else
            copy->loops[rank++] = loop;
    }
    // A dense innermost loop becomes a larger element.
    if (rank && copy->loops[rank - 1].from == (ptrdiff_t)copy->size &&
        copy->loops[rank - 1].to == copy->loops[rank - 1].from)
        copy->size *= copy->loops[--rank].count;
    for (; rank < 2; rank++) {
        for (unsigned d = rank; d > 0; d--)
            copy->loops[d] = copy->loops[d - 1];
        copy->loops[0] = (struct loop){1, 0, 0};
    }
    // Columns are dense in the destination as far as possible, rows in the source.
    struct loop columns = copy->loops[rank - 1];
    if (columns.from != 0) {
        unsigned best = rank - 2;
        for (unsigned d = 0; d < rank - 1; d++) {
            const struct loop *loop = &copy->loops[d], *old = &copy->loops[best];
            if (old->count == 1 ||
                (loop->from != 0 && loop->count > 1 && magnitude(loop->from) < magnitude(old->from)))
                best = d;
        }
        if (magnitude(copy->loops[best].from) < magnitude(columns.from)) {
            struct loop rows = copy->loops[best];
            for (unsigned d = best; d + 2 < rank; d++)
                copy->loops[d] = copy->loops[d + 1];
            copy->loops[rank - 2] = rows;
        }
    }
    copy->rank = rank;
}

// Elements of a side of a tile: at most so many, in whole lines if it is not the only one.
static size_t tile_of(size_t count, size_t most, size_t size)
{
    size_t line = size < LINE ? LINE / size : 1;
    most = most < line ? most : most / line * line;
    if (count <= most)
        return count;
    size_t parts = (count + most - 1) / most, even = (count + parts - 1) / parts;
    even = (even + line - 1) / line * line;
    return even < most ? even : most;
}

static void copy_blocks(struct copy *copy, const struct parallel *parallel)
{
    for (unsigned d = 0; d < copy->rank; d++) {
        if (copy->loops[d].count == 0)
            return;
    }
    prepare_copy(copy);
    // A copy that is one run is cut into several.
    size_t tail = 0, rank = copy->rank;
    struct loop *rows = &copy->loops[rank - 2], *columns = &copy->loops[rank - 1];
    if (rank == 2 && rows->count * columns->count == 1 && copy->size > 2 * TILE) {
        tail = copy->size % TILE;
        *columns = (struct loop){copy->size / TILE, TILE, TILE};
        memcpy(copy->to + (copy->size - tail), copy->from + (copy->size - tail), tail);
        copy->size = TILE;
    }
    struct tiles tiles = {.copy = copy, .interrupt = parallel->interrupt};
    size_t total = copy->size, elements = copy->size < TILE ? TILE / copy->size : 1, row_run = 1;
    for (unsigned d = 0; d < rank; d++)
        total *= copy->loops[d].count;
    tiles.non_temporal =
        (columns->to == (ptrdiff_t)copy->size || is_long_run(copy->size)) && wnn_is_non_temporal(total);
    if (columns->to == (ptrdiff_t)copy->size &&
        magnitude(rows->from) < magnitude(columns->from)) { // transposing
        row_run = copy->size < 2 ? ROW_RUN / 2 : copy->size <= LINE ? ROW_RUN / copy->size : 8;
    }
    // First runs of some lines in the source, then as long ones as there is room for in the destination.
    tiles.row_count = tile_of(rows->count, row_run < elements ? row_run : elements, copy->size);
    tiles.column_count = tile_of(columns->count, elements / tiles.row_count, copy->size);
    tiles.row_count = tile_of(rows->count, elements / tiles.column_count, copy->size);
    tiles.row_tiles = (rows->count + tiles.row_count - 1) / tiles.row_count;
    tiles.column_tiles = (columns->count + tiles.column_count - 1) / tiles.column_count;
    size_t units = tiles.row_tiles * tiles.column_tiles;
    for (unsigned d = 0; d + 2 < rank; d++)
        units *= copy->loops[d].count;
    size_t bytes = copy->size * (rows->count < tiles.row_count ? rows->count : tiles.row_count) *
                   (columns->count < tiles.column_count ? columns->count : tiles.column_count);
    wnn_parallel_for(parallel, units, 4 * TILE / bytes + 1, copy_tiles, &tiles);
}

// ---------------------------------------------------------------------------------------------------------------
// The operators
// ---------------------------------------------------------------------------------------------------------------

// Writes all of `out`, element [i] from element sum(i * strides) of the source.
static void gather_strided(const struct kernel_call *call, ptrdiff_t first,
                           const ptrdiff_t strides[WNN_MAX_RANK])
{
    const struct tensor *out = &call->out[0];
    struct copy copy = begin_copy(&call->in[0], out);
    size_t to[WNN_MAX_RANK];
    wnn_shape_strides(&out->shape, to);
    if (out->count == 0)
        return;
    copy.from += first * (ptrdiff_t)copy.size;
    for (unsigned d = 0; d < out->shape.rank; d++)
        add_loop(&copy, out->shape.dim[d], strides[d], (ptrdiff_t)to[d]);
    copy_blocks(&copy, call->parallel);
}

// Elements of one position of `axis`.
static size_t elements_after(const struct shape *shape, unsigned axis)
{
    return wnn_shape_product(shape, axis + 1, shape->rank);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-concat
static void run_concat(const struct kernel_call *call)
{
    const struct concat_attrs *attrs = call->node->attrs;
    const struct tensor *out = &call->out[0];
    size_t inner = elements_after(&out->shape, attrs->axis), line = inner * out->shape.dim[attrs->axis],
           at = 0;
    for (unsigned i = 0; i < call->node->in_count && out->count > 0; i++) {
        const struct tensor *in = &call->in[i];
        size_t run = inner * in->shape.dim[attrs->axis];
        struct copy copy = begin_copy(in, out);
        copy.to += at * copy.size;
        add_loop(&copy, out->count / line, (ptrdiff_t)run, (ptrdiff_t)line);
        add_loop(&copy, run, 1, 1);
        if (copy.from != copy.to) // it may have been computed where it belongs
            copy_blocks(&copy, call->parallel);
        at += run;
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-split
static void run_split(const struct kernel_call *call)
{
    const struct split_attrs *attrs = call->node->attrs;
    const struct tensor *in = &call->in[0];
    unsigned axis = attrs->options.axis;
    size_t inner = elements_after(&in->shape, axis), line = inner * in->shape.dim[axis], at = 0;
    for (unsigned i = 0; i < call->node->out_count && in->count > 0; i++) {
        const struct tensor *out = &call->out[i];
        size_t run = inner * out->shape.dim[axis];
        struct copy copy = begin_copy(in, out);
        copy.from += at * copy.size;
        add_loop(&copy, in->count / line, (ptrdiff_t)line, (ptrdiff_t)run);
        add_loop(&copy, run, 1, 1);
        copy_blocks(&copy, call->parallel);
        at += run;
    }
}

static void run_copy(const struct kernel_call *call)
{
    const struct tensor *in = &call->in[0], *out = &call->out[0];
    struct copy copy = {.from = in->data, .to = out->data, .size = 1};
    add_loop(&copy, wnn_dtype_bytes(in->type, in->count), 1, 1);
    if (copy.from != copy.to)
        copy_blocks(&copy, call->parallel);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-expand
static void run_expand(const struct kernel_call *call)
{
    size_t from[WNN_MAX_RANK];
    ptrdiff_t strides[WNN_MAX_RANK] = {0};
    wnn_shape_broadcast_strides(&call->in[0].shape, &call->out[0].shape, from);
    for (unsigned d = 0; d < call->out[0].shape.rank; d++)
        strides[d] = (ptrdiff_t)from[d];
    gather_strided(call, 0, strides);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reverse-method
static void run_reverse(const struct kernel_call *call)
{
    const WNNReverseOptions *options = call->node->attrs;
    const struct shape *shape = &call->in[0].shape;
    size_t from[WNN_MAX_RANK];
    ptrdiff_t strides[WNN_MAX_RANK] = {0}, first = 0;
    wnn_shape_strides(shape, from);
    for (unsigned d = 0; d < shape->rank; d++)
        strides[d] = (ptrdiff_t)from[d];
    for (size_t i = 0; i < options->axes.count; i++) {
        uint32_t axis = options->axes.data[i];
        first += strides[axis] * ((ptrdiff_t)shape->dim[axis] - 1);
        strides[axis] = -strides[axis];
    }
    gather_strided(call, first, strides);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-slice
static void run_slice(const struct kernel_call *call)
{
    const struct slice_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->in[0].shape;
    size_t from[WNN_MAX_RANK];
    ptrdiff_t strides[WNN_MAX_RANK] = {0}, first = 0;
    wnn_shape_strides(shape, from);
    for (unsigned d = 0; d < shape->rank; d++) {
        first += (ptrdiff_t)(attrs->starts.data[d] * from[d]);
        // A stride beyond the size is not taken, and may be anything.
        strides[d] =
            call->out[0].shape.dim[d] > 1 ? (ptrdiff_t)(attrs->options.strides.data[d] * from[d]) : 0;
    }
    gather_strided(call, first, strides);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-tile
static void run_tile(const struct kernel_call *call)
{
    const struct tensor *in = &call->in[0], *out = &call->out[0];
    struct copy copy = begin_copy(in, out);
    size_t from[WNN_MAX_RANK], to[WNN_MAX_RANK];
    wnn_shape_strides(&in->shape, from);
    wnn_shape_strides(&out->shape, to);
    if (out->count == 0)
        return;
    for (unsigned d = 0; d < in->shape.rank; d++) {
        size_t size = in->shape.dim[d];
        add_loop(&copy, out->shape.dim[d] / size, 0, (ptrdiff_t)(to[d] * size));
        add_loop(&copy, size, (ptrdiff_t)from[d], (ptrdiff_t)to[d]);
    }
    copy_blocks(&copy, call->parallel);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-transpose
static void run_transpose(const struct kernel_call *call)
{
    const WNNTransposeOptions *options = call->node->attrs;
    size_t from[WNN_MAX_RANK];
    ptrdiff_t strides[WNN_MAX_RANK] = {0};
    wnn_shape_strides(&call->in[0].shape, from);
    for (unsigned d = 0; d < call->in[0].shape.rank; d++)
        strides[d] = (ptrdiff_t)from[options->permutation.data[d]];
    gather_strided(call, 0, strides);
}

struct triangle {
    const struct tensor *in, *out;
    size_t size, height, width;
    bool upper;
    int64_t diagonal;
};

static void triangle_rows(void *argument, size_t begin, size_t end)
{
    const struct triangle *t = argument;
    int64_t width = (int64_t)t->width;
    for (size_t row = begin; row < end; row++) {
        // Columns [first, last) are kept.
        int64_t edge = (int64_t)(row % t->height) + t->diagonal;
        int64_t first = t->upper ? edge : 0, last = t->upper ? width : edge + 1;
        first = first < 0 ? 0 : first > width ? width : first;
        last = last < first ? first : last > width ? width : last;
        const char *from = (const char *)t->in->data + row * t->width * t->size;
        char *to = (char *)t->out->data + row * t->width * t->size;
        size_t head = (size_t)first * t->size, kept = (size_t)(last - first) * t->size;
        memset(to, 0, head);
        if (from != to)
            memcpy(to + head, from + head, kept);
        memset(to + head + kept, 0, t->width * t->size - head - kept);
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-triangular
static void run_triangular(const struct kernel_call *call)
{
    const WNNTriangularOptions *options = call->node->attrs;
    const struct tensor *in = &call->in[0];
    unsigned rank = in->shape.rank;
    if (in->count == 0)
        return;
    struct triangle triangle = {in,
                                &call->out[0],
                                wnn_dtype_bits(in->type) / 8,
                                in->shape.dim[rank - 2],
                                in->shape.dim[rank - 1],
                                options->upper,
                                options->diagonal};
    size_t grain = 65536 / (triangle.width * triangle.size) + 1;
    wnn_parallel_for(call->parallel, in->count / triangle.width, grain, triangle_rows, &triangle);
}

const struct kernel wnn_cpu_identity = {.run = run_copy, .in_place = 1};
const struct kernel wnn_cpu_reshape = {.run = run_copy, .in_place = 1};
const struct kernel wnn_cpu_concat = {.run = run_concat};
const struct kernel wnn_cpu_expand = {.run = run_expand};
const struct kernel wnn_cpu_reverse = {.run = run_reverse};
const struct kernel wnn_cpu_slice = {.run = run_slice};
const struct kernel wnn_cpu_split = {.run = run_split};
const struct kernel wnn_cpu_tile = {.run = run_tile};
const struct kernel wnn_cpu_transpose = {.run = run_transpose};
const struct kernel wnn_cpu_triangular = {.run = run_triangular, .in_place = 1};
