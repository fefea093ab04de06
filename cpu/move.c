// SPDX-License-Identifier: Apache-2.0
//
// The operators that only move elements. Nearly all of them are one strided copy: a loop nest with a byte
// stride in the source and in the destination for each dimension, which may be 0 (repetition) or negative
// (reversal). Data types count by their size only.
#include "cpu/kernel.h"
#include "cpu/variants.h"

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
// Blocks that are transposed
// ---------------------------------------------------------------------------------------------------------------

enum {
    LINE = 64,  // bytes that are best read and written together
    VECTOR = 16 // bytes
};

typedef uint8_t vector1 __attribute__((vector_size(VECTOR)));
typedef uint16_t vector2 __attribute__((vector_size(VECTOR)));
typedef uint32_t vector4 __attribute__((vector_size(VECTOR)));
typedef uint64_t vector8 __attribute__((vector_size(VECTOR)));

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifdef SHUFFLE
// The elements of the first and of the second halves of two vectors, in turn.
#define LOW_1(a, b)  SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_1(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_2(a, b)  SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_2(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_4(a, b)  SHUFFLE(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define LOW_8(a, b)  SHUFFLE(a, b, 0, 2)
#define HIGH_8(a, b) SHUFFLE(a, b, 1, 3)

// After as many rounds as it takes to come from two to all vectors, they are transposed.
#define TRANSPOSE(size, rows)                                                                                \
    for (int width = 1; width < VECTOR / (size); width *= 2) {                                               \
        vector##size mixed[VECTOR / (size)];                                                                 \
        UNROLL                                                                                               \
        for (int i = 0; i < VECTOR / (size) / 2; i++) {                                                      \
            mixed[2 * i] = LOW_##size(rows[i], rows[i + VECTOR / (size) / 2]);                               \
            mixed[2 * i + 1] = HIGH_##size(rows[i], rows[i + VECTOR / (size) / 2]);                          \
        }                                                                                                    \
        UNROLL                                                                                               \
        for (int i = 0; i < VECTOR / (size); i++)                                                            \
            rows[i] = mixed[i];                                                                              \
    }
#else
#define TRANSPOSE(size, rows)                                                                                \
    for (int i = 0; i < VECTOR / (size); i++) {                                                              \
        for (int j = 0; j < i; j++) {                                                                        \
            uint##size##_type value = rows[i][j];                                                            \
            rows[i][j] = rows[j][i];                                                                         \
            rows[j][i] = value;                                                                              \
        }                                                                                                    \
    }
typedef uint8_t uint1_type;
typedef uint16_t uint2_type;
typedef uint32_t uint4_type;
typedef uint64_t uint8_type;
#endif
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

// LINE bytes of as many rows as a line has elements, with from_stride and to_stride bytes between them.
#define DEFINE_TRANSPOSE(size)                                                                               \
    static void transpose_##size(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride)     \
    {                                                                                                        \
        enum {                                                                                               \
            SIDE = VECTOR / (size)                                                                           \
        };                                                                                                   \
        for (ptrdiff_t column = 0; column < LINE; column += VECTOR, to += SIDE * to_stride) {                \
            for (ptrdiff_t row = 0; row < LINE / (size); row += SIDE) {                                      \
                vector##size rows[SIDE];                                                                     \
                const char *x = from + row * from_stride + column;                                           \
                char *y = to + row * (size);                                                                 \
                UNROLL                                                                                       \
                for (int i = 0; i < SIDE; i++)                                                               \
                    memcpy(&rows[i], x + i * from_stride, VECTOR);                                           \
                TRANSPOSE(size, rows)                                                                        \
                UNROLL                                                                                       \
                for (int i = 0; i < SIDE; i++)                                                               \
                    memcpy(y + i * to_stride, &rows[i], VECTOR);                                             \
            }                                                                                                \
        }                                                                                                    \
    }
DEFINE_TRANSPOSE(1)
DEFINE_TRANSPOSE(2)
DEFINE_TRANSPOSE(4)
DEFINE_TRANSPOSE(8)

// Rows are side by side in the source, and columns in the destination.
static void transpose(const char *from, char *to, size_t size, struct loop rows, struct loop columns)
{
    void (*block)(const char *, ptrdiff_t, char *, ptrdiff_t) = size == 1   ? transpose_1
                                                                : size == 2 ? transpose_2
                                                                : size == 4 ? transpose_4
                                                                            : transpose_8;
    size_t side = LINE / size;
    for (size_t c = 0; c < columns.count; c += side) {
        size_t width = columns.count - c < side ? columns.count - c : side;
        for (size_t r = 0; r < rows.count; r += side) {
            size_t height = rows.count - r < side ? rows.count - r : side;
            const char *x = from + (ptrdiff_t)c * columns.from + r * size;
            char *y = to + (ptrdiff_t)r * rows.to + c * size;
            if (width == side && height == side) {
                for (ptrdiff_t i = 0; i < (ptrdiff_t)side && r + 2 * side <= rows.count; i++)
                    __builtin_prefetch(y + ((ptrdiff_t)side + i) * rows.to, 1);
                block(x, columns.from, y, rows.to);
                continue;
            }
            char in[LINE * LINE] = {0}, out[LINE * LINE];
            for (size_t i = 0; i < width; i++)
                memcpy(in + i * LINE, x + (ptrdiff_t)i * columns.from, height * size);
            block(in, LINE, out, LINE);
            for (size_t i = 0; i < height; i++)
                memcpy(y + (ptrdiff_t)i * rows.to, out + i * LINE, width * size);
        }
    }
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

// Elements of a constant size through memcpy: the addresses need not be aligned.
//   move   in blocks, because one of the two sides may jump from line to line
//   take   columns side by side from every step-th element, one behind the other if it is -1
//   weave  a few columns, side by side, from rows
//   fill   columns are repetitions
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
    }                                                                                                        \
    static void fill_##size(const char *from, char *to, struct loop rows, struct loop columns)               \
    {                                                                                                        \
        for (size_t r = 0; r < rows.count; r++) {                                                            \
            type value;                                                                                      \
            memcpy(&value, from + (ptrdiff_t)r * rows.from, sizeof value);                                   \
            char *y = to + (ptrdiff_t)r * rows.to;                                                           \
            for (size_t c = 0; c < columns.count; c++)                                                       \
                memcpy(y + c * sizeof value, &value, sizeof value);                                          \
        }                                                                                                    \
    }
#define DEFINE_VECTOR_COPY(set, TARGET, size, type)                                                          \
    TARGET static void take_##size##_##set(const char *from, char *to, struct loop rows,                     \
                                           struct loop columns)                                              \
    {                                                                                                        \
        for (size_t r = 0; r < rows.count; r++) {                                                            \
            const type *restrict x = (const void *)(from + (ptrdiff_t)r * rows.from);                        \
            type *restrict y = (void *)(to + (ptrdiff_t)r * rows.to);                                        \
            switch (columns.from / size) {                                                                   \
            case -1:                                                                                         \
                for (ptrdiff_t c = 0; c < (ptrdiff_t)columns.count; c++)                                     \
                    y[c] = x[-c];                                                                            \
                break;                                                                                       \
            case 2:                                                                                          \
                for (size_t c = 0; c < columns.count; c++)                                                   \
                    y[c] = x[2 * c];                                                                         \
                break;                                                                                       \
            case 3:                                                                                          \
                for (size_t c = 0; c < columns.count; c++)                                                   \
                    y[c] = x[3 * c];                                                                         \
                break;                                                                                       \
            default:                                                                                         \
                for (size_t c = 0; c < columns.count; c++)                                                   \
                    y[c] = x[4 * c];                                                                         \
                break;                                                                                       \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    TARGET static void weave_##size##_##set(const char *from, char *to, struct loop rows,                    \
                                            struct loop columns)                                             \
    {                                                                                                        \
        size_t last = columns.count - 1;                                                                     \
        const type *restrict a = (const void *)from;                                                         \
        const type *restrict b = (const void *)(from + columns.from);                                        \
        const type *restrict c = (const void *)(from + (ptrdiff_t)(last < 2 ? last : 2) * columns.from);     \
        const type *restrict d = (const void *)(from + (ptrdiff_t)last * columns.from);                      \
        type *restrict y = (void *)to;                                                                       \
        if (last == 1) {                                                                                     \
            for (size_t r = 0; r < rows.count; r++) {                                                        \
                y[2 * r] = a[r];                                                                             \
                y[2 * r + 1] = b[r];                                                                         \
            }                                                                                                \
        } else if (last == 2) {                                                                              \
            for (size_t r = 0; r < rows.count; r++) {                                                        \
                y[3 * r] = a[r];                                                                             \
                y[3 * r + 1] = b[r];                                                                         \
                y[3 * r + 2] = c[r];                                                                         \
            }                                                                                                \
        } else {                                                                                             \
            for (size_t r = 0; r < rows.count; r++) {                                                        \
                y[4 * r] = a[r];                                                                             \
                y[4 * r + 1] = b[r];                                                                         \
                y[4 * r + 2] = c[r];                                                                         \
                y[4 * r + 3] = d[r];                                                                         \
            }                                                                                                \
        }                                                                                                    \
    }
#define DEFINE_SET(set, TARGET)                                                                              \
    DEFINE_VECTOR_COPY(set, TARGET, 1, bits8)                                                                \
    DEFINE_VECTOR_COPY(set, TARGET, 2, bits16)                                                               \
    DEFINE_VECTOR_COPY(set, TARGET, 4, bits32)

// Elements of any type, wherever they lie.
typedef uint8_t bits8;
typedef uint16_t __attribute__((may_alias, aligned(1))) bits16;
typedef uint32_t __attribute__((may_alias, aligned(1))) bits32;

DEFINE_COPY(1, uint8_t)
DEFINE_COPY(2, uint16_t)
DEFINE_COPY(4, uint32_t)
DEFINE_COPY(8, uint64_t)
DEFINE_COPY(16, struct word16)
DEFINE_SET(any, )
#if defined(__x86_64__)
DEFINE_SET(avx2, WNN_AVX2)
DEFINE_SET(avx512, WNN_AVX512)
#endif

typedef void (*copy_loop)(const char *from, char *to, struct loop rows, struct loop columns);

static copy_loop vector_copy(unsigned log, bool weave)
{
#define LOOPS(set)                                                                                           \
    {                                                                                                        \
        {take_1_##set, take_2_##set, take_4_##set},                                                          \
        {                                                                                                    \
            weave_1_##set, weave_2_##set, weave_4_##set                                                      \
        }                                                                                                    \
    }
    static const copy_loop any[2][3] = LOOPS(any);
#if defined(__x86_64__)
    static const copy_loop avx2[2][3] = LOOPS(avx2), avx512[2][3] = LOOPS(avx512);
    if (wnn_has_avx512())
        return avx512[weave][log];
    if (__builtin_cpu_supports("avx2"))
        return avx2[weave][log];
#endif
    return any[weave][log];
}

static void copy_runs(const char *from, char *to, size_t size, struct loop rows, struct loop columns)
{
    for (size_t r = 0; r < rows.count; r++) {
        for (size_t c = 0; c < columns.count; c++)
            memcpy(to + (ptrdiff_t)r * rows.to + (ptrdiff_t)c * columns.to,
                   from + (ptrdiff_t)r * rows.from + (ptrdiff_t)c * columns.from, size);
    }
}

static bool is_transposing(size_t size, struct loop rows, struct loop columns)
{
    return rows.from == (ptrdiff_t)size && columns.to == (ptrdiff_t)size && rows.count > 1 &&
           columns.count > 1;
}

static void copy_elements(const char *from, char *to, size_t size, struct loop rows, struct loop columns)
{
    static const copy_loop moves[] = {move_1, move_2, move_4, move_8, move_16};
    static const copy_loop fills[] = {fill_1, fill_2, fill_4, fill_8, fill_16};
    if ((size & (size - 1)) != 0 || size > 16) {
        copy_runs(from, to, size, rows, columns);
        return;
    }
    unsigned log = (unsigned)__builtin_ctz((unsigned)size);
    ptrdiff_t unit = (ptrdiff_t)size, step = columns.from / unit;
    bool dense = columns.to == unit, transposing = is_transposing(size, rows, columns) && log < 4;
    if (dense && columns.from == 0)
        fills[log](from, to, rows, columns);
    else if (transposing && columns.count <= 4 && rows.to == unit * (ptrdiff_t)columns.count && log < 3)
        vector_copy(log, true)(from, to, rows, columns);
    else if (dense && log < 3 && (step == -1 || (step >= 2 && step <= 4)) && columns.from == step * unit)
        vector_copy(log, false)(from, to, rows, columns);
    else if (transposing)
        transpose(from, to, size, rows, columns);
    else
        moves[log](from, to, rows, columns);
}

// ---------------------------------------------------------------------------------------------------------------
// The others
// ---------------------------------------------------------------------------------------------------------------

// How a prepared copy is cut: tiles of the inner two loops, for each combination of the outer ones.
struct tiles {
    const struct copy *copy;        // rank 2 or more
    size_t row_count, column_count; // of a tile
    size_t row_tiles, column_tiles;
};

static void copy_tiles(void *argument, size_t begin, size_t end)
{
    const struct tiles *tiles = argument;
    const struct copy *copy = tiles->copy;
    for (size_t tile = begin; tile < end; tile++) {
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
        copy_elements(copy->from + from, copy->to + to, copy->size, rows, columns);
    }
}

static size_t magnitude(ptrdiff_t stride)
{
    return (size_t)(stride < 0 ? -stride : stride);
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

static void run_copy(struct copy *copy, const struct parallel *parallel)
{
    for (unsigned d = 0; d < copy->rank; d++) {
        if (copy->loops[d].count == 0)
            return;
    }
    prepare_copy(copy);
    // A copy that is one run is cut into several.
    enum {
        TILE = 32768
    };
    size_t tail = 0, rank = copy->rank;
    struct loop *rows = &copy->loops[rank - 2], *columns = &copy->loops[rank - 1];
    if (rank == 2 && rows->count * columns->count == 1 && copy->size > 2 * TILE) {
        tail = copy->size % TILE;
        *columns = (struct loop){copy->size / TILE, TILE, TILE};
        memcpy(copy->to + (copy->size - tail), copy->from + (copy->size - tail), tail);
        copy->size = TILE;
    }
    struct tiles tiles = {.copy = copy};
    size_t elements = copy->size < TILE ? TILE / copy->size : 1;
    if (columns->to == (ptrdiff_t)copy->size &&
        magnitude(rows->from) < magnitude(columns->from)) { // transposing
        tiles.row_count = columns->count <= 4 ? 2048 : copy->size < 8 ? 512 / copy->size : 64;
        tiles.column_count = rows->count <= 4 ? 2048 : 128;
    } else {
        tiles.column_count = columns->count < elements ? columns->count : elements;
        tiles.row_count = elements / tiles.column_count;
    }
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
    run_copy(&copy, call->parallel);
}

// Elements of one position of `axis`.
static size_t elements_after(const struct shape *shape, unsigned axis)
{
    size_t count = 1;
    for (unsigned d = axis + 1; d < shape->rank; d++)
        count *= shape->dim[d];
    return count;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-concat
void wnn_cpu_concat(const struct kernel_call *call)
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
            run_copy(&copy, call->parallel);
        at += run;
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-split
void wnn_cpu_split(const struct kernel_call *call)
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
        run_copy(&copy, call->parallel);
        at += run;
    }
}

void wnn_cpu_copy(const struct kernel_call *call)
{
    const struct tensor *in = &call->in[0], *out = &call->out[0];
    struct copy copy = {.from = in->data, .to = out->data, .size = 1};
    add_loop(&copy, wnn_dtype_bytes(in->type, in->count), 1, 1);
    if (copy.from != copy.to)
        run_copy(&copy, call->parallel);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-expand
void wnn_cpu_expand(const struct kernel_call *call)
{
    size_t from[WNN_MAX_RANK];
    ptrdiff_t strides[WNN_MAX_RANK] = {0};
    wnn_shape_broadcast_strides(&call->in[0].shape, &call->out[0].shape, from);
    for (unsigned d = 0; d < call->out[0].shape.rank; d++)
        strides[d] = (ptrdiff_t)from[d];
    gather_strided(call, 0, strides);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reverse-method
void wnn_cpu_reverse(const struct kernel_call *call)
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
void wnn_cpu_slice(const struct kernel_call *call)
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
void wnn_cpu_tile(const struct kernel_call *call)
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
    run_copy(&copy, call->parallel);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-transpose
void wnn_cpu_transpose(const struct kernel_call *call)
{
    const WNNTransposeOptions *options = call->node->attrs;
    size_t from[WNN_MAX_RANK];
    ptrdiff_t strides[WNN_MAX_RANK] = {0};
    wnn_shape_strides(&call->in[0].shape, from);
    for (unsigned d = 0; d < call->in[0].shape.rank; d++)
        strides[d] = (ptrdiff_t)from[options->permutation.data[d]];
    gather_strided(call, 0, strides);
}

// Where a part of a padded dimension comes from: elements first, first + stride, ... of the input's.
struct part {
    size_t at, count; // in the output
    ptrdiff_t first, stride;
};

static struct part pad_part(WNNPaddingMode mode, unsigned which, size_t before, size_t size, size_t after)
{
    ptrdiff_t last = (ptrdiff_t)size - 1, begin = (ptrdiff_t)before;
    if (which == 0)
        return (struct part){before, size, 0, 1};
    struct part part = {which == 1 ? 0 : before + size, which == 1 ? before : after, 0, 0};
    switch (mode) {
    case WNNPaddingMode_Edge:
        part.first = which == 1 ? 0 : last;
        break;
    case WNNPaddingMode_Reflection:
        part.first = which == 1 ? begin : last - 1;
        part.stride = -1;
        break;
    case WNNPaddingMode_Symmetric:
        part.first = which == 1 ? begin - 1 : last;
        part.stride = -1;
        break;
    default:
        break;
    }
    return part;
}

// Padding with a constant, where there are enough planes of the last two dimensions: these are written in
// order.
struct constant_pad {
    const struct pad_attrs *attrs;
    const struct shape *in, *out;
    const char *from;
    char *to;
    size_t size;
    uint64_t value;
};

static void fill(char *to, const uint64_t *value, size_t size, size_t count)
{
    struct loop row = {1, 0, 0}, columns = {count, 0, (ptrdiff_t)size};
    if (count == 1)
        memcpy(to, value, size);
    else if (count > 0)
        copy_elements((const char *)value, to, size, row, columns);
}

// Items are planes of the output.
static void pad_planes(void *argument, size_t begin, size_t end)
{
    const struct constant_pad *pad = argument;
    unsigned rank = pad->in->rank, last = rank - 1, row = rank - 2;
    const uint32_t *before = pad->attrs->beginningPadding.data;
    size_t height = pad->in->dim[row], out_height = pad->out->dim[row];
    size_t line = pad->in->dim[last] * pad->size, out_line = pad->out->dim[last] * pad->size;
    for (size_t plane = begin; plane < end; plane++) {
        char *to = pad->to + plane * out_height * out_line;
        size_t rest = plane, source = 0, step = 1;
        bool inside = true;
        for (unsigned d = row; d-- > 0;) {
            size_t at = rest % pad->out->dim[d];
            rest /= pad->out->dim[d];
            inside &= at >= before[d] && at - before[d] < pad->in->dim[d];
            source += inside ? (at - before[d]) * step : 0;
            step *= pad->in->dim[d];
        }
        // What lies between two rows is one gap; small planes are filled and then written to.
        const char *from = pad->from + (inside ? source * height * line : 0);
        size_t head = before[row] * out_line + before[last] * pad->size, gap = out_line - line;
        bool small = out_line <= 512;
        if (!inside || small)
            fill(to, &pad->value, pad->size, out_height * out_line / pad->size);
        else
            fill(to, &pad->value, pad->size, head / pad->size);
        to += head;
        for (size_t y = 0; inside && y < height; y++, to += out_line, from += line) {
            memcpy(to, from, line);
            size_t tail =
                y + 1 < height ? gap : (size_t)(pad->to + (plane + 1) * out_height * out_line - to) - line;
            if (!small)
                fill(to + line, &pad->value, pad->size, tail / pad->size);
        }
    }
}

static void pad_with_constant(const struct kernel_call *call, uint64_t value)
{
    const struct tensor *in = &call->in[0], *out = &call->out[0];
    struct constant_pad pad = {
        call->node->attrs, &in->shape, &out->shape, in->data, out->data, wnn_dtype_bits(in->type) / 8, value};
    unsigned rank = out->shape.rank;
    size_t plane = (size_t)out->shape.dim[rank - 1] * out->shape.dim[rank - 2];
    wnn_parallel_for(call->parallel, out->count / plane, 65536 / (plane * pad.size) + 1, pad_planes, &pad);
}

// Each dimension has three parts, the middle one, before and after; each combination of parts that is not
// empty is one copy, of the input's elements or of the constant.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-pad
void wnn_cpu_pad(const struct kernel_call *call)
{
    const struct pad_attrs *attrs = call->node->attrs;
    const struct tensor *in = &call->in[0], *out = &call->out[0];
    WNNPaddingMode mode = attrs->options.mode;
    unsigned rank = in->shape.rank, which[WNN_MAX_RANK] = {0}, moved;
    size_t from[WNN_MAX_RANK], to[WNN_MAX_RANK];
    wnn_shape_strides(&in->shape, from);
    wnn_shape_strides(&out->shape, to);
    uint64_t value = 0;
    if (mode == WNNPaddingMode_Constant)
        wnn_number_store(attrs->options.value, in->type, &value, 0);
    if (out->count == 0 || (in->count == 0 && mode != WNNPaddingMode_Constant))
        return;
    size_t plane = rank < 2 ? 0 : (size_t)out->shape.dim[rank - 1] * out->shape.dim[rank - 2];
    if (mode == WNNPaddingMode_Constant && in->count > 0 && out->count >= 8 * plane && plane > 0) {
        pad_with_constant(call, value);
        return;
    }
    for (;;) {
        struct copy copy = begin_copy(in, out);
        ptrdiff_t source = 0, target = 0;
        bool constant = false, empty = false;
        for (unsigned d = 0; d < rank; d++) {
            struct part part = pad_part(mode, which[d], attrs->beginningPadding.data[d], in->shape.dim[d],
                                        attrs->endingPadding.data[d]);
            constant |= which[d] != 0 && mode == WNNPaddingMode_Constant;
            empty |= part.count == 0;
            target += (ptrdiff_t)(part.at * to[d] * copy.size);
            source += part.first * (ptrdiff_t)(from[d] * copy.size);
            add_loop(&copy, part.count, part.stride * (ptrdiff_t)from[d], (ptrdiff_t)to[d]);
        }
        for (unsigned d = 0; constant && d < rank; d++)
            copy.loops[d].from = 0;
        if (!empty) {
            copy.from = constant ? (const char *)&value : copy.from + source;
            copy.to += target;
            run_copy(&copy, call->parallel);
        }
        // The next combination.
        for (moved = rank; moved > 0 && which[moved - 1] == 2; moved--)
            which[moved - 1] = 0;
        if (moved == 0)
            return;
        which[moved - 1]++;
    }
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
void wnn_cpu_triangular(const struct kernel_call *call)
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
