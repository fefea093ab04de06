// SPDX-License-Identifier: Apache-2.0
//
// Tensors with a rim. The output is made of rows of units: elements, or what lies behind the last dimension
// that is padded.
#include "cpu/kernel.h"
#include "cpu/simd/runs.h"
#include "cpu/simd/non_temporal.h"
#include "cpu/simd/isa.h"

enum {
    VECTOR = 16,     // bytes
    SHORT_ROW = 256, // bytes, up to which calls would take longer than copies
    BUFFER = 16384
};

struct padding {
    size_t before, size, out, stride; // of the input: in rows
};

struct pad {
    WNNPaddingMode mode;
    const char *from, *from_end;
    char *to;
    bool non_temporal;
    unsigned rank; // of what is outside of planes, which are [plane, width, unit]
    struct padding outer[WNN_MAX_RANK], plane;
    size_t head, width, out_width, unit; // of a row: units of padding, of the input, of the output; bytes
    char pattern[VECTOR];                // the constant
};

// Which one of `size` elements stands at a place of a padded dimension: SIZE_MAX is the constant.
static size_t padded(WNNPaddingMode mode, size_t at, size_t before, size_t size)
{
    if (at >= before && at - before < size)
        return at - before;
    size_t mirror = mode == WNNPaddingMode_Reflection ? 1 : 0;
    switch (mode) {
    case WNNPaddingMode_Edge:
        return at < before ? 0 : size - 1;
    case WNNPaddingMode_Reflection:
    case WNNPaddingMode_Symmetric:
        return at < before ? before - at - 1 + mirror : 2 * size - 1 - mirror - (at - before);
    default:
        return SIZE_MAX;
    }
}

// How a row is written: as it is, or in whole vectors (one for each run of it, or several) that run over what
// they are for, and are overwritten by what comes next.
enum put_method {
    EXACT,
    VECTORS,
    ONE_VECTOR
};

// Vectors from places that are `step` bytes apart.
WNN_INLINE void put_vectors(char *to, const char *from, size_t step, size_t size, enum put_method method)
{
    size_t i = 0;
    do {
        memcpy(to + i, from, VECTOR);
        i += VECTOR;
        from += step;
    } while (method == VECTORS && i < size);
}

WNN_INLINE void put_copy(char *to, const char *from, size_t size, enum put_method method)
{
    if (method == EXACT)
        wnn_copy_run(to, from, size);
    else
        put_vectors(to, from, VECTOR, size, method);
}

WNN_INLINE void put_constant(char *to, const char *pattern, size_t size, enum put_method method)
{
    if (method == EXACT)
        wnn_fill_run(to, pattern, size);
    else
        put_vectors(to, pattern, 0, size, method);
}

// Units [begin, end) of a row, which are padding from one of its sides: neighbours come from neighbours, or
// all from the same.
WNN_INLINE void put_units(const struct pad *pad, const char *row, char *to, size_t begin, size_t end,
                          size_t unit)
{
    if (begin == end)
        return;
    const char *from = row + padded(pad->mode, begin, pad->head, pad->width) * unit;
    ptrdiff_t step = pad->mode == WNNPaddingMode_Edge ? 0 : -(ptrdiff_t)unit;
    for (size_t at = begin; at < end; at++, from += step) {
        if (unit <= 8)
            memcpy(to + at * unit, from, unit);
        else
            wnn_copy_run(to + at * unit, from, unit);
    }
}

// Rows that follow one another on both sides.
WNN_INLINE void put_rows(const struct pad *pad, const char *row, char *to, size_t count, size_t unit,
                         enum put_method method)
{
    size_t head = pad->head * unit, line = pad->width * unit, out_line = pad->out_width * unit;
    size_t tail = out_line - head - line;
    if (pad->mode == WNNPaddingMode_Constant) {
        char pattern[VECTOR];
        memcpy(pattern, pad->pattern, VECTOR);
        if (method == ONE_VECTOR) { // the end of a row and the begin of the next are one
            put_constant(to, pattern, head, method);
            for (size_t i = 0; i < count; i++, row += line, to += out_line) {
                put_copy(to + head, row, line, method);
                put_constant(to + head + line, pattern, tail + head, method);
            }
            return;
        }
        for (size_t i = 0; i < count; i++, row += line, to += out_line) {
            put_constant(to, pattern, head, method);
            put_copy(to + head, row, line, method);
            put_constant(to + head + line, pattern, tail, method);
        }
    } else {
        for (size_t i = 0; i < count; i++, row += line, to += out_line) {
            put_units(pad, row, to, 0, pad->head, unit);
            put_copy(to + head, row, line, method);
            put_units(pad, row, to, pad->head + pad->width, pad->out_width, unit);
        }
    }
}

WNN_INLINE void put_rows_of_unit(const struct pad *pad, const char *row, char *to, size_t count,
                                 enum put_method method)
{
    if (pad->unit == 1)
        put_rows(pad, row, to, count, 1, method);
    else if (pad->unit == 2)
        put_rows(pad, row, to, count, 2, method);
    else if (pad->unit == 4)
        put_rows(pad, row, to, count, 4, method);
    else
        put_rows(pad, row, to, count, pad->unit, method);
}

// So many of `count` rows of `line` bytes have a vector more behind them before `end`.
static size_t rows_before(const char *at, const char *end, size_t line, size_t count)
{
    size_t room = (size_t)(end - at);
    if (room >= count * line + VECTOR)
        return count;
    return room < VECTOR + line ? 0 : (room - VECTOR) / line;
}

// Rows [begin, end) of a plane of the output, which are made of rows of the input from `from` on, or of the
// constant if it is NULL. Up to `to_end` they may run over.
static void pad_plane(const struct pad *pad, const char *from, char *to, const char *to_end, size_t begin,
                      size_t end)
{
    size_t line = pad->width * pad->unit, out_line = pad->out_width * pad->unit;
    for (size_t y = begin, count; y < end; y += count, to += count * out_line) {
        const struct padding *plane = &pad->plane;
        size_t source = from ? padded(pad->mode, y, plane->before, plane->size) : SIZE_MAX;
        // Those of the input follow one another.
        count = y >= plane->before && y - plane->before < plane->size ? plane->size - (y - plane->before) : 1;
        count = count < end - y ? count : end - y;
        if (source == SIZE_MAX) {
            wnn_fill_run(to, pad->pattern, count * out_line);
            continue;
        }
        const char *row = from + source * line;
        size_t over = out_line > SHORT_ROW ? 0 : rows_before(to, to_end, out_line, count);
        over = over ? rows_before(row, pad->from_end, line, over) : 0;
        if (over > 0)
            put_rows_of_unit(pad, row, to, over, out_line <= VECTOR ? ONE_VECTOR : VECTORS);
        put_rows_of_unit(pad, row + over * line, to + over * out_line, count - over, EXACT);
    }
}

// Items are rows of the output.
static void pad_rows(void *argument, size_t begin, size_t end)
{
    const struct pad *pad = argument;
    size_t height = pad->plane.out, out_line = pad->out_width * pad->unit;
    // Rows leave for memory as many at a time as the buffer has room for.
    char buffer[BUFFER + VECTOR];
    size_t room = pad->non_temporal ? BUFFER / out_line : end - begin, made = 0;
    char *to = pad->non_temporal ? buffer : pad->to + begin * out_line;
    const char *to_end = pad->non_temporal ? buffer + sizeof buffer : pad->to + end * out_line;
    size_t plane = begin / height, y = begin % height;
    for (size_t row = begin, count; row < end; row += count) {
        bool inside = pad->width > 0 && pad->plane.size > 0;
        size_t offset = 0;
        for (size_t d = pad->rank, rest = plane; d-- > 0;) {
            const struct padding *outer = &pad->outer[d];
            size_t at = d > 0 ? rest % outer->out : rest; // a division takes as long as a row
            size_t source = padded(pad->mode, at, outer->before, outer->size);
            inside &= source != SIZE_MAX;
            offset += inside ? source * outer->stride : 0;
            rest = d > 0 ? rest / outer->out : 0;
        }
        count = end - row < height - y ? end - row : height - y;
        count = count < room - made ? count : room - made;
        const char *from = inside ? pad->from + offset * pad->width * pad->unit : NULL;
        pad_plane(pad, from, to + made * out_line, to_end, y, y + count);
        made += count;
        y += count;
        if (y == height) {
            plane++;
            y = 0;
        }
        if (pad->non_temporal && (made == room || row + count == end)) {
            wnn_nt_store(pad->to + (row + count - made) * out_line, buffer, made * out_line);
            made = 0;
        }
    }
    if (pad->non_temporal)
        wnn_nt_fence();
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-pad
static void run_pad(const struct kernel_call *call)
{
    const struct pad_attrs *attrs = call->node->attrs;
    const struct tensor *in = &call->in[0], *out = &call->out[0];
    const uint32_t *before = attrs->beginningPadding.data;
    if (out->count == 0 || (in->count == 0 && attrs->options.mode != WNNPaddingMode_Constant))
        return;
    struct pad pad = {.mode = attrs->options.mode,
                      .from = in->data,
                      .to = out->data,
                      .rank = in->shape.rank,
                      .width = 1,
                      .out_width = 1,
                      .unit = wnn_dtype_bits(in->type) / 8};
    if (pad.mode == WNNPaddingMode_Constant) {
        uint64_t value = 0;
        wnn_number_store(attrs->options.value, in->type, &value, 0);
        for (size_t i = 0; i < VECTOR; i += pad.unit)
            memcpy(pad.pattern + i, &value, pad.unit);
    }
    for (; pad.rank > 0 && in->shape.dim[pad.rank - 1] == out->shape.dim[pad.rank - 1]; pad.rank--)
        pad.unit *= in->shape.dim[pad.rank - 1];
    if (pad.rank > 0) {
        pad.rank--;
        pad.head = before[pad.rank];
        pad.width = in->shape.dim[pad.rank];
        pad.out_width = out->shape.dim[pad.rank];
    }
    // Dimensions that have no padding, one within the other, are one.
    unsigned rank = 0;
    for (unsigned d = 0; d < pad.rank; d++) {
        struct padding dimension = {before[d], in->shape.dim[d], out->shape.dim[d], 0},
                       *last = &pad.outer[rank];
        if (rank > 0 && last[-1].size == last[-1].out && dimension.size == dimension.out) {
            last[-1].size *= dimension.size;
            last[-1].out = last[-1].size;
        } else {
            pad.outer[rank++] = dimension;
        }
    }
    pad.rank = rank;
    size_t stride = 1, rows = 1;
    for (unsigned d = rank; d-- > 0;) {
        pad.outer[d].stride = stride;
        stride *= pad.outer[d].size;
        rows *= pad.outer[d].out;
    }
    size_t out_line = pad.out_width * pad.unit;
    pad.from_end = pad.from + wnn_dtype_bytes(in->type, in->count);
    pad.non_temporal = out_line <= BUFFER && wnn_is_non_temporal(rows * out_line);
    pad.plane = (struct padding){0, 1, 1, 1};
    if (pad.rank > 0)
        pad.plane = pad.outer[--pad.rank];
    wnn_parallel_for(call->parallel, rows, 65536 / out_line + 1, pad_rows, &pad);
}

const struct kernel wnn_cpu_pad = {.run = run_pad};
