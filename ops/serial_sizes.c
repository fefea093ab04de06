// SPDX-License-Identifier: Apache-2.0
#include "ops/serial_sizes.h"

#include "ops/serial.h"

#include <math.h>

// ---------------------------------------------------------------------------------------------------------------
// Writing
// ---------------------------------------------------------------------------------------------------------------

bool wnn_size_writer_begin(struct size_writer *writer, const struct size_table *sizes, struct arena *arena,
                           struct sink *sink)
{
    *writer = (struct size_writer){.sizes = sizes, .sink = sink};
    writer->marks = wnn_arena_allocate(arena, sizes->count * sizeof *writer->marks);
    writer->stack = wnn_arena_allocate(arena, sizes->count * sizeof *writer->stack);
    if (!writer->marks || !writer->stack)
        return false;
    for (size_t i = 0; i < sizes->count; i++)
        writer->marks[i] = (struct size_mark){SERIAL_NONE, SERIAL_NONE, 0, SERIAL_NONE};
    return true;
}

static uint32_t index_of(uint32_t size)
{
    return size & ~WNN_SYMBOLIC;
}

// An unknown term that a sum tells, since dimensions tell all others.
static void see_terms(struct size_writer *writer, uint32_t size)
{
    const struct size *of = &writer->sizes->items[index_of(size)];
    const struct amount_term *untold = NULL;
    unsigned count = 0;
    for (unsigned i = 0; of->kind == SIZE_LINEAR && i < of->amount->count; i++)
        if (writer->marks[index_of(of->amount->terms[i].size)].operand == SERIAL_NONE) {
            untold = &of->amount->terms[i];
            count++;
        }
    if (count == 1 && writer->sizes->items[index_of(untold->size)].kind == SIZE_UNKNOWN &&
        (untold->factor == 1 || untold->factor == -1))
        writer->marks[index_of(untold->size)].sum = size;
}

void wnn_size_writer_see(struct size_writer *writer, const struct operand *operand)
{
    for (unsigned i = 0; i < operand->type.shape.rank; i++) {
        uint32_t size = operand->type.shape.dim[i];
        if (!wnn_size_is_symbolic(writer->sizes, size) ||
            writer->marks[index_of(size)].operand != SERIAL_NONE)
            continue;
        writer->marks[index_of(size)].operand = operand->index;
        writer->marks[index_of(size)].dimension = i;
        see_terms(writer, size);
    }
}

uint32_t wnn_size_writer_number(const struct size_writer *writer, uint32_t size)
{
    return wnn_size_is_symbolic(writer->sizes, size) ? WNN_SYMBOLIC | writer->marks[index_of(size)].number
                                                     : size;
}

// The amount that a size is, without those that tell it; an unknown term of a sum is what the others leave.
static struct amount amount_of(const struct size_writer *writer, uint32_t index)
{
    const struct size *of = &writer->sizes->items[index];
    if (of->kind == SIZE_LINEAR)
        return *of->amount;
    uint32_t sum = writer->marks[index].sum;
    struct amount rest = *writer->sizes->items[index_of(sum)].amount;
    unsigned at = 0;
    while (index_of(rest.terms[at].size) != index)
        at++;
    int64_t sign = rest.terms[at].factor;
    rest.terms[at] = (struct amount_term){sum, -1};
    return wnn_amount_times(rest, -sign);
}

static bool is_told(const struct size_writer *writer, uint32_t index)
{
    enum size_kind kind = writer->sizes->items[index].kind;
    const struct size_mark *mark = &writer->marks[index];
    return mark->operand != SERIAL_NONE ||
           (kind != SIZE_NAME && (kind != SIZE_UNKNOWN || mark->sum != SERIAL_NONE));
}

// Of what a record of the size tells it.
static struct amount parts_of(const struct size_writer *writer, uint32_t index)
{
    const struct size *of = &writer->sizes->items[index];
    if (writer->marks[index].operand != SERIAL_NONE || !is_told(writer, index))
        return (struct amount){0};
    if (of->kind == SIZE_LINEAR || of->kind == SIZE_UNKNOWN)
        return amount_of(writer, index);
    bool two = of->kind != SIZE_QUOTIENT && of->kind != SIZE_SCALED;
    return (struct amount){.count = two ? 2 : 1, .terms = {{of->a, 1}, {of->b, 1}}};
}

static void put_amount(const struct size_writer *writer, uint32_t index)
{
    struct amount amount = amount_of(writer, index);
    wnn_sink_u32(writer->sink, SERIAL_SIZE_SUM);
    wnn_sink_u64(writer->sink, (uint64_t)amount.constant);
    wnn_sink_u32(writer->sink, amount.count);
    for (unsigned i = 0; i < amount.count; i++) {
        wnn_sink_u64(writer->sink, (uint64_t)amount.terms[i].factor);
        wnn_sink_u32(writer->sink, wnn_size_writer_number(writer, amount.terms[i].size));
    }
}

static void put_two(const struct size_writer *writer, enum serial_size kind, const struct size *of)
{
    wnn_sink_u32(writer->sink, kind);
    wnn_sink_u32(writer->sink, wnn_size_writer_number(writer, of->a));
    wnn_sink_u32(writer->sink, wnn_size_writer_number(writer, of->b));
}

static void put_computed(const struct size_writer *writer, uint32_t index)
{
    const struct size *of = &writer->sizes->items[index];
    switch (of->kind) {
    case SIZE_PRODUCT:
        put_two(writer, SERIAL_SIZE_PRODUCT, of);
        break;
    case SIZE_QUOTIENT: // the divisor is a number
        put_two(writer, SERIAL_SIZE_QUOTIENT, of);
        break;
    case SIZE_BROADCAST:
        put_two(writer, SERIAL_SIZE_BROADCAST, of);
        break;
    case SIZE_MINIMUM:
        put_two(writer, SERIAL_SIZE_MINIMUM, of);
        break;
    case SIZE_SCALED:
        wnn_sink_u32(writer->sink, SERIAL_SIZE_SCALED);
        wnn_sink_u32(writer->sink, wnn_size_writer_number(writer, of->a));
        wnn_sink_f64(writer->sink, of->scale);
        break;
    default:
        put_amount(writer, index);
        break;
    }
}

// False: nothing tells it.
static bool put_record(struct size_writer *writer, uint32_t index)
{
    struct size_mark *mark = &writer->marks[index];
    if (!is_told(writer, index))
        return false;
    wnn_sink_u32(writer->sink, SERIAL_SIZE);
    if (mark->operand != SERIAL_NONE) {
        wnn_sink_u32(writer->sink, SERIAL_SIZE_DIMENSION);
        wnn_sink_u32(writer->sink, mark->operand);
        wnn_sink_u32(writer->sink, mark->dimension);
    } else {
        put_computed(writer, index);
    }
    mark->number = writer->count++;
    return true;
}

static bool is_written(const struct size_writer *writer, uint32_t size)
{
    return !wnn_size_is_symbolic(writer->sizes, size) || writer->marks[index_of(size)].number != SERIAL_NONE;
}

// What a size is computed of comes before it, without recursion: there may be tens of thousands.
bool wnn_size_writer_add(struct size_writer *writer, uint32_t size)
{
    size_t depth = 0;
    if (is_written(writer, size))
        return true;
    writer->stack[depth++] = index_of(size);
    while (depth > 0) {
        struct amount parts = parts_of(writer, writer->stack[depth - 1]);
        unsigned i = 0;
        while (i < parts.count && is_written(writer, parts.terms[i].size))
            i++;
        if (i < parts.count)
            writer->stack[depth++] = index_of(parts.terms[i].size);
        else if (!put_record(writer, writer->stack[--depth]))
            return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------------------------

uint32_t wnn_size_reader_take(const struct size_reader *reader, struct cursor *cursor, uint32_t number)
{
    if (number <= WNN_MAX_DIMENSION)
        return number;
    if ((number & ~WNN_SYMBOLIC) < reader->count)
        return reader->items[number & ~WNN_SYMBOLIC];
    wnn_cursor_fail(cursor, "there is no such size before this record");
    return 0;
}

static uint32_t take(const struct size_reader *reader, struct cursor *cursor)
{
    return wnn_size_reader_take(reader, cursor, wnn_cursor_u32(cursor));
}

static struct amount take_dimension(struct size_table *sizes, const WNNOperand *operands, size_t count,
                                    struct cursor *cursor)
{
    uint32_t index = wnn_cursor_u32(cursor), dimension = wnn_cursor_u32(cursor);
    const struct operand *operand = index < count ? wnn_operand(operands[index]) : NULL;
    if (operand && !operand->unranked && dimension < operand->type.shape.rank)
        return wnn_amount(sizes, operand->type.shape.dim[dimension]);
    wnn_cursor_fail(cursor, "there is no such dimension before this record");
    return wnn_amount_number(0);
}

static struct amount take_sum(const struct size_reader *reader, struct size_table *sizes,
                              struct cursor *cursor)
{
    struct amount sum = wnn_amount_number((int64_t)wnn_cursor_u64(cursor));
    uint32_t count = wnn_cursor_u32(cursor);
    if (count > WNN_AMOUNT_TERMS)
        wnn_cursor_fail(cursor, "a sum has more than 6 terms");
    for (uint32_t i = 0; i < count && !cursor->problem; i++) {
        int64_t factor = (int64_t)wnn_cursor_u64(cursor);
        struct amount term = wnn_amount(sizes, take(reader, cursor));
        sum = wnn_amount_add(sizes, sum, wnn_amount_times(term, factor));
    }
    return sum;
}

static struct amount take_broadcast(const struct size_reader *reader, struct size_table *sizes,
                                    struct cursor *cursor)
{
    struct shape a = {.rank = 1, .dim = {take(reader, cursor)}},
                 b = {.rank = 1, .dim = {take(reader, cursor)}}, both = {.rank = 1};
    if (!cursor->problem && !wnn_sizes_broadcast(sizes, &a, &b, &both))
        wnn_cursor_fail(cursor, "two sizes cannot be broadcast");
    return wnn_amount(sizes, both.dim[0]);
}

static struct amount take_scaled(const struct size_reader *reader, struct size_table *sizes,
                                 struct cursor *cursor)
{
    uint32_t size = take(reader, cursor);
    double scale = wnn_cursor_f64(cursor);
    if (!isfinite(scale) || scale <= 0)
        wnn_cursor_fail(cursor, "a size is scaled by what is no positive number");
    return cursor->problem ? wnn_amount_number(0) : wnn_amount_scaled(sizes, size, scale);
}

static struct amount take_size(const struct size_reader *reader, struct size_table *sizes,
                               const WNNOperand *operands, size_t operand_count, struct cursor *cursor)
{
    uint32_t kind = wnn_cursor_u32(cursor), a, b;
    switch (kind) {
    case SERIAL_SIZE_DIMENSION:
        return take_dimension(sizes, operands, operand_count, cursor);
    case SERIAL_SIZE_SUM:
        return take_sum(reader, sizes, cursor);
    case SERIAL_SIZE_BROADCAST:
        return take_broadcast(reader, sizes, cursor);
    case SERIAL_SIZE_SCALED:
        return take_scaled(reader, sizes, cursor);
    case SERIAL_SIZE_QUOTIENT:
        a = take(reader, cursor);
        b = wnn_cursor_u32(cursor);
        if (b == 0 || b > WNN_MAX_DIMENSION)
            wnn_cursor_fail(cursor, "a divisor is not 1 to 2^31-1");
        return cursor->problem ? wnn_amount_number(0) : wnn_amount_divide(sizes, wnn_amount(sizes, a), b);
    case SERIAL_SIZE_PRODUCT:
    case SERIAL_SIZE_MINIMUM:
        a = take(reader, cursor);
        b = take(reader, cursor);
        return (kind == SERIAL_SIZE_PRODUCT ? wnn_amount_product : wnn_amount_minimum)(
            sizes, wnn_amount(sizes, a), wnn_amount(sizes, b));
    default:
        wnn_cursor_fail(cursor, "a size is of a kind that does not exist");
        return wnn_amount_number(0);
    }
}

bool wnn_size_reader_record(struct size_reader *reader, struct WNNGraphBuilderImpl *builder,
                            const WNNOperand *operands, size_t operand_count, struct cursor *cursor)
{
    struct size_table *sizes = &builder->graph.sizes;
    struct amount amount = take_size(reader, sizes, operands, operand_count, cursor);
    if (cursor->problem)
        return true;
    uint32_t *items =
        wnn_arena_grow(&reader->arena, reader->items, reader->count, &reader->capacity, sizeof *items);
    if (!items)
        return wnn_fail_memory(&builder->error);
    reader->items = items;
    reader->items[reader->count++] = wnn_builder_size(builder, "serialized graph", &amount);
    return builder->error.status == WNNStatus_Success;
}
