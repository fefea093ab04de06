// SPDX-License-Identifier: Apache-2.0
//
// Sizes that are not known in the format of webnn/serialize.h: numbers that stand for dimensions of operands
// and for what is computed of them.

#ifndef OPS_SERIAL_SIZES_H_
#define OPS_SERIAL_SIZES_H_

#include "ops/builder.h"
#include "ops/cursor.h"
#include "ops/sink.h"

// ---------------------------------------------------------------------------------------------------------------
// Writing
// ---------------------------------------------------------------------------------------------------------------

struct size_writer {
    const struct size_table *sizes;
    struct sink *sink;
    struct size_mark {
        uint32_t number;             // that a record has given it, or SERIAL_NONE
        uint32_t operand, dimension; // the first that has this size, of those written before; or SERIAL_NONE
        uint32_t sum;                // of a SIZE_UNKNOWN: a size with a place that is a sum of it and others
    } * marks;                       // by the index of a size
    uint32_t *stack;
    uint32_t count; // of records
};

// False: no memory.
bool wnn_size_writer_begin(struct size_writer *writer, const struct size_table *sizes, struct arena *arena,
                           struct sink *sink);

// Lets the dimensions of an operand that has been written stand for sizes.
void wnn_size_writer_see(struct size_writer *writer, const struct operand *operand);

// Writes the records that a size needs before it can be written. False: nothing computes it.
bool wnn_size_writer_add(struct size_writer *writer, uint32_t size);

// What stands for a size that has been added, or is a number.
uint32_t wnn_size_writer_number(const struct size_writer *writer, uint32_t size);

// ---------------------------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------------------------

struct size_reader {
    struct arena arena;
    uint32_t *items; // sizes of the builder
    size_t count, capacity;
};

// What a number in the bytes is. The cursor has a problem if no record before it has made such a size.
uint32_t wnn_size_reader_take(const struct size_reader *reader, struct cursor *cursor, uint32_t number);

// Reads a record behind its kind. `operands` are those that exist. The cursor has a problem if it is none;
// false: an error of the builder.
bool wnn_size_reader_record(struct size_reader *reader, struct WNNGraphBuilderImpl *builder,
                            const WNNOperand *operands, size_t operand_count, struct cursor *cursor);

#endif
