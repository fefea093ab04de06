// SPDX-License-Identifier: Apache-2.0
//
// Bytes become operators on a graph builder, through public functions only: mostly legal calls whose sizes
// lie around those at which kernels change their ways, and some calls with anything in them.

#ifndef CONFORMANCE_FUZZ_RECORDER_H_
#define CONFORMANCE_FUZZ_RECORDER_H_

#include "ops/op.h"

enum {
    MAX_OPERANDS = 64,
    MAX_LISTS = 24, // of one call
    MAX_ITEMS = 10, // of a list
};

// A program that is being read. Behind its end are zeros, which ask for what is plain.
struct bytes {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t take(struct bytes *bytes)
{
    if (bytes->left == 0)
        return 0;
    bytes->left--;
    return *bytes->at++;
}

static inline uint32_t take_below(struct bytes *bytes, uint32_t end)
{
    uint32_t high = end > 256 ? take(bytes) : 0;
    return end < 2 ? 0 : (high << 8 | take(bytes)) % end;
}

// True for `n` bytes of 256; false at the end of the program.
static inline bool take_chance(struct bytes *bytes, unsigned n)
{
    return take(bytes) + n >= 256;
}

struct recorder {
    struct bytes *bytes;
    WNNContext context;
    WNNGraphBuilder builder;
    struct recorded {
        WNNOperand operand;
        bool computed; // neither an input nor a constant
    } operands[MAX_OPERANDS];
    size_t operand_count;
    unsigned input_count;
    bool empty;      // sizes may be 0
    WNNOperand next; // what the next operator had better work on, or NULL
    union list {
        uint32_t integers[MAX_ITEMS];
        float floats[MAX_ITEMS];
        WNNActivation activations[MAX_ITEMS];
    } lists[MAX_LISTS]; // of the call that is being prepared
    size_t list_count;
};

// Records an operator, several that the compiler makes one of, or an input or a constant.
void fuzz_record_operator(struct recorder *recorder);
void fuzz_record_motif(struct recorder *recorder);
void fuzz_record_source(struct recorder *recorder);

// Calls the public function of an operator. `attrs` are the operator's in the table; NULL options are passed
// if `no_options`. Returns the number of outputs.
size_t fuzz_call(WNNGraphBuilder builder, enum op op, size_t count, const WNNOperand *in, const void *attrs,
                 bool no_options, size_t capacity, WNNOperand *outputs);

// Fills a tensor with numbers that depend on nothing but the seed: small ones, and of some seeds NaN,
// infinities and the ends of ranges too.
void fuzz_fill(void *data, const struct descriptor *type, unsigned seed);

#endif
