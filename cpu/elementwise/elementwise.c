// SPDX-License-Identifier: Apache-2.0
//
// Views of operands (elementwise.h), and the operator that needs nothing else: where.

#include "cpu/elementwise/elementwise.h"

// Adds the next outer dimension.
static void push(struct view *view, size_t dim, size_t stride)
{
    if (dim == 1)
        return;
    if (view->rank > 0) {
        unsigned last = view->rank - 1;
        if (stride == view->stride[last] * view->dim[last]) {
            view->dim[last] *= dim;
            return;
        }
    }
    view->dim[view->rank] = dim;
    view->stride[view->rank++] = stride;
}

void wnn_cpu_view_init(struct view *view, const struct tensor *from, const struct shape *to)
{
    view->data = from->data;
    view->type = from->type;
    view->rank = 0;
    size_t stride = 1;
    for (unsigned i = 1; i <= to->rank; i++) {
        size_t own = i <= from->shape.rank ? from->shape.dim[from->shape.rank - i] : 1;
        push(view, to->dim[to->rank - i] / own, 0);
        push(view, own, stride);
        stride *= own;
    }
    if (view->rank == 0) {
        view->rank = 1;
        view->dim[0] = 1;
        view->stride[0] = 0;
    }
}

void wnn_cpu_cursor_init(struct cursor *cursor, const struct view *view)
{
    cursor->view = view;
    cursor->filled = cursor->offset = 0;
}

#define FILL(Type)                                                                                           \
    do {                                                                                                     \
        Type value;                                                                                          \
        memcpy(&value, from, sizeof value);                                                                  \
        for (size_t i = 0; i < count; i++)                                                                   \
            memcpy(out + i * sizeof value, &value, sizeof value);                                            \
    } while (0)

static void fill(unsigned char *out, const unsigned char *from, size_t size, size_t count)
{
    switch (size) {
    case 1:
        FILL(uint8_t);
        break;
    case 2:
        FILL(uint16_t);
        break;
    case 4:
        FILL(uint32_t);
        break;
    default:
        FILL(uint64_t);
    }
}

// int8 or uint8 of `count` elements of a 4-bit type.
static void unpack(const struct view *view, size_t offset, size_t count, unsigned char *out)
{
    unsigned sign = view->type == WNNDataType_Int4 ? 8 : 0;
    const unsigned char *pairs = view->data + offset / 2;
    if (offset % 2 != 0 && count > 0) {
        *out++ = (unsigned char)((*pairs++ >> 4 ^ sign) - sign);
        count--;
    }
    for (size_t i = 0; i < count / 2; i++) {
        unsigned pair = pairs[i];
        out[2 * i] = (unsigned char)(((pair & 0xFu) ^ sign) - sign);
        out[2 * i + 1] = (unsigned char)((pair >> 4 ^ sign) - sign);
    }
    if (count % 2 != 0)
        out[count - 1] = (unsigned char)(((pairs[count / 2] & 0xFu) ^ sign) - sign);
}

static size_t element_size(const struct view *view)
{
    unsigned bits = wnn_dtype_bits(view->type);
    return bits < 8 ? 1 : bits / 8;
}

static void copy_run(const struct view *view, size_t offset, size_t count, unsigned char *out)
{
    size_t size = element_size(view);
    bool packed = wnn_dtype_bits(view->type) == 4;
    if (packed && view->stride[0] == 0) {
        unsigned char value;
        unpack(view, offset, 1, &value);
        memset(out, value, count);
    } else if (packed) {
        unpack(view, offset, count, out);
    } else if (view->stride[0] == 0) {
        fill(out, view->data + offset * size, size, count);
    } else {
        memcpy(out, view->data + offset * size, count * size);
    }
}

// Makes `count` bytes of the `period` bytes that stand at the start, which is not less than 1.
static void repeat(unsigned char *bytes, size_t period, size_t count)
{
    for (size_t done = period; done < count; done *= 2)
        memcpy(bytes + done, bytes, done < count - done ? done : count - done);
}

#define STRETCH(Type, times)                                                                                 \
    for (size_t i = 0; i < count; i++, from += sizeof(Type), out += (times) * sizeof(Type)) {                \
        for (size_t j = 0; j < (times); j++)                                                                 \
            memcpy(out + j * sizeof(Type), from, sizeof(Type));                                              \
    }

#define STRETCH_ANY(Type)                                                                                    \
    do {                                                                                                     \
        if (times == 2)                                                                                      \
            STRETCH(Type, 2)                                                                                 \
        else if (times == 3)                                                                                 \
            STRETCH(Type, 3)                                                                                 \
        else if (times == 4)                                                                                 \
            STRETCH(Type, 4)                                                                                 \
        else                                                                                                 \
            STRETCH(Type, times)                                                                             \
    } while (0)

// Each of `count` elements a few times.
static void stretch(unsigned char *out, const unsigned char *from, size_t size, size_t count, size_t times)
{
    switch (size) {
    case 1:
        STRETCH_ANY(uint8_t);
        break;
    case 2:
        STRETCH_ANY(uint16_t);
        break;
    case 4:
        STRETCH_ANY(uint32_t);
        break;
    default:
        STRETCH_ANY(uint64_t);
    }
}

// `index` holds the position in every dimension of the view.
static void expand(const struct view *view, size_t index[], size_t offset, size_t count, unsigned char *out)
{
    size_t size = element_size(view);
    bool periodic = view->rank > 1 && view->stride[1] == 0;
    bool stretched = view->rank > 1 && view->stride[0] == 0 && view->stride[1] == 1 && view->dim[0] <= 32 &&
                     wnn_dtype_bits(view->type) != 4;
    for (;;) {
        size_t run = view->dim[0] - index[0];
        if (periodic && index[0] == 0 && count >= 2 * run) {
            // The row stands in the tensor once and here many times.
            size_t rows = view->dim[1] - index[1], whole = count / run < rows ? count / run : rows;
            copy_run(view, offset, run, out);
            repeat(out, run * size, whole * run * size);
            run *= whole;
            index[1] += whole - 1;
        } else if (stretched && index[0] == 0 && count >= run) {
            size_t rows = view->dim[1] - index[1], whole = count / run < rows ? count / run : rows;
            stretch(out, view->data + offset * size, size, whole, run);
            run *= whole;
            index[1] += whole - 1;
            offset += whole - 1;
        } else {
            run = run < count ? run : count;
            copy_run(view, offset, run, out);
        }
        count -= run;
        if (count == 0)
            return;
        out += run * size;
        // The run ends its row: on to the next one.
        offset -= index[0] * view->stride[0];
        index[0] = 0;
        for (unsigned d = 1; d < view->rank; d++) {
            offset += view->stride[d];
            if (++index[d] < view->dim[d])
                break;
            offset -= view->dim[d] * view->stride[d];
            index[d] = 0;
        }
    }
}

const void *wnn_cpu_cursor_read(struct cursor *cursor, size_t index, size_t count)
{
    const struct view *view = cursor->view;
    size_t position[2 * WNN_MAX_RANK], offset = 0;
    for (unsigned d = 0; d < view->rank; d++) {
        position[d] = d + 1 < view->rank ? index % view->dim[d] : index;
        index /= view->dim[d];
        offset += position[d] * view->stride[d];
    }
    if (position[0] + count > view->dim[0]) {
        cursor->filled = 0;
        expand(view, position, offset, count, cursor->buffer);
        return cursor->buffer;
    }
    if (view->stride[0] == 1) {
        if (wnn_dtype_bits(view->type) != 4)
            return view->data + offset * element_size(view);
        cursor->filled = 0;
        unpack(view, offset, count, cursor->buffer);
        return cursor->buffer;
    }
    if (cursor->offset != offset || cursor->filled < count) {
        copy_run(view, offset, count, cursor->buffer);
        cursor->offset = offset;
        cursor->filled = count;
    }
    return cursor->buffer;
}

const float *wnn_cpu_cursor_read_floats(struct cursor *cursor, size_t index, size_t count, float *floats)
{
    const void *values = wnn_cpu_cursor_read(cursor, index, count);
    if (cursor->view->type != WNNDataType_Float16)
        return values;
    wnn_half_to_float_array(values, floats, count);
    return floats;
}

// ---------------------------------------------------------------------------------------------------------------
// where
// ---------------------------------------------------------------------------------------------------------------

struct where {
    struct view condition, yes, no;
    unsigned char *out;
    size_t size;
};

// Integers that stand for elements of any type of their size.
typedef uint16_t __attribute__((may_alias)) bits16;
typedef uint32_t __attribute__((may_alias)) bits32;
typedef uint64_t __attribute__((may_alias)) bits64;

#define SELECT(Type)                                                                                         \
    do {                                                                                                     \
        const Type *t = yes, *f = no;                                                                        \
        Type *y = out;                                                                                       \
        WNN_INDEPENDENT                                                                                      \
        for (size_t i = 0; i < count; i++) {                                                                 \
            Type a = t[i], b = f[i];                                                                         \
            y[i] = condition[i] ? a : b;                                                                     \
        }                                                                                                    \
    } while (0)

static void select_elements(const uint8_t *condition, const void *yes, const void *no, void *out, size_t size,
                            size_t count)
{
    switch (size) {
    case 1:
        SELECT(uint8_t);
        break;
    case 2:
        SELECT(bits16);
        break;
    case 4:
        SELECT(bits32);
        break;
    default:
        SELECT(bits64);
    }
}

static void where_piece(void *argument, size_t begin, size_t end)
{
    const struct where *where = argument;
    struct cursor condition, yes, no;
    wnn_cpu_cursor_init(&condition, &where->condition);
    wnn_cpu_cursor_init(&yes, &where->yes);
    wnn_cpu_cursor_init(&no, &where->no);
    for (size_t i = begin, n; i < end; i += n) {
        n = end - i < WNN_CHUNK ? end - i : WNN_CHUNK;
        select_elements(wnn_cpu_cursor_read(&condition, i, n), wnn_cpu_cursor_read(&yes, i, n),
                        wnn_cpu_cursor_read(&no, i, n), where->out + i * where->size, where->size, n);
    }
}

static void run_chunk_step(const struct chunk_step *step, const void *const in[3], void *out, size_t count)
{
    select_elements(in[0], in[1], in[2], out, step->size, count);
}

struct chunk_step wnn_cpu_where_step(WNNDataType type)
{
    return (struct chunk_step){
        .run = run_chunk_step, .size = wnn_cpu_chunk_size(type), .grain = WNN_GRAIN_CHEAP};
}

static void run_where(const struct kernel_call *call)
{
    const struct tensor *out = call->out;
    if (out->count == 0)
        return;
    struct where where = {.out = out->data, .size = wnn_dtype_bits(out->type) / 8};
    wnn_cpu_view_init(&where.condition, &call->in[0], &out->shape);
    wnn_cpu_view_init(&where.yes, &call->in[1], &out->shape);
    wnn_cpu_view_init(&where.no, &call->in[2], &out->shape);
    wnn_parallel_for(call->parallel, out->count, WNN_GRAIN_CHEAP, where_piece, &where);
}

const struct kernel wnn_cpu_where = {.run = run_where, .in_place = 7};
