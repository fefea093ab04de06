// SPDX-License-Identifier: Apache-2.0
//
// What calls of operators are made of: numbers, operands and windows that the bytes of a program choose.

#ifndef CONFORMANCE_FUZZ_OPERANDS_H_
#define CONFORMANCE_FUZZ_OPERANDS_H_

#include "conformance/fuzz/recorder.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_INPUTS = 24,    // of one operator
    MAX_OUTPUTS = 24,   // likewise
    MAX_ATTRS = 512,    // bytes
    ELEMENTS = 1 << 13, // of a new operand, at most, but for its channels
    CHANNELS = 1 << 15, // of a new operand that has many
    FILTER = 1 << 17,   // elements
    FLOATS = F32 | F16,
    INDICES = I32 | U32 | I64,
    ALL = F32 | F16 | I32 | U32 | I64 | U64 | I8 | U8
};

#define COUNT(array)     (sizeof(array) / sizeof(array)[0])
#define CHOOSE(r, array) ((array)[take((r)->bytes) % COUNT(array)])
#define CHANCE(r, n)     take_chance((r)->bytes, n)
#define BELOW(r, end)    take_below((r)->bytes, end)

struct call {
    enum op op;
    WNNOperand in[MAX_INPUTS];
    size_t count;
    _Alignas(max_align_t) char attrs[MAX_ATTRS];
};

static inline void put(struct call *call, WNNOperand operand)
{
    if (call->count < MAX_INPUTS)
        call->in[call->count++] = operand;
}

// Sizes around those of vectors, tiles and blocks; more of channels and terms, at most `room`; and any.
// Whether the size that is wanted becomes 0: now and then, where the context accepts operands without
// elements.
static inline bool fuzz_is_empty(struct recorder *r)
{
    return r->empty && CHANCE(r, 20);
}

uint32_t fuzz_take_size(struct recorder *r);
uint32_t fuzz_take_channels(struct recorder *r);
uint32_t fuzz_limited(struct recorder *r, size_t room);
uint32_t fuzz_take_hidden(struct recorder *r);
uint32_t fuzz_take_hostile(struct recorder *r);
double fuzz_take_real(struct recorder *r);

// The size, or what room there is, which becomes less.
uint32_t fuzz_limit(uint32_t size, size_t *room);

// Zeros, of the call that is being prepared.
uint32_t *fuzz_new_list(struct recorder *r, size_t count, WNNUint32List *list);

struct descriptor fuzz_type_of(WNNOperand operand);
WNNDataType fuzz_take_type(struct recorder *r, uint32_t types);
struct shape fuzz_take_shape(struct recorder *r, unsigned min_rank, unsigned max_rank);
void fuzz_keep(struct recorder *r, WNNOperand operand, bool computed);

// An input or a constant.
WNNOperand fuzz_new_source(struct recorder *r, const struct descriptor *type);

// An operand that there is, later ones rather than earlier ones, or a new one. Its type and shape are filled
// in.
WNNOperand fuzz_pick(struct recorder *r, uint32_t types, unsigned min_rank, unsigned max_rank,
                     struct descriptor *type);

// An operand of that type and shape; with a chance of `n` in 256, or NULL.
WNNOperand fuzz_like(struct recorder *r, WNNDataType type, struct shape shape);
WNNOperand fuzz_maybe_like(struct recorder *r, unsigned n, WNNDataType type, struct shape shape);

// A shape that broadcasts to this one.
struct shape fuzz_narrowed(struct recorder *r, struct shape shape);

static inline struct shape vector(uint32_t size)
{
    return (struct shape){1, {size}};
}

WNNActivation fuzz_take_activation(struct recorder *r);

struct window {
    uint32_t size[2], strides[2], dilations[2], padding[4];
};
struct window fuzz_take_window(struct recorder *r);
void fuzz_set_window(struct recorder *r, const struct window *window, WNNUint32List *padding,
                     WNNUint32List *strides, WNNUint32List *dilations);

// What one direction of an input must have for the window to fit.
uint32_t fuzz_reach(const struct window *window, unsigned i);

// Each fills in a call of the operators of one family.
typedef void preparation(struct recorder *r, struct call *call);
preparation fuzz_prepare_convolution, fuzz_prepare_pool, fuzz_prepare_resample, fuzz_prepare_normalization,
    fuzz_prepare_gemm, fuzz_prepare_matmul, fuzz_prepare_network, fuzz_prepare_cell, fuzz_prepare_binary,
    fuzz_prepare_where, fuzz_prepare_quantize, fuzz_prepare_reduction, fuzz_prepare_gather,
    fuzz_prepare_concat, fuzz_prepare_split, fuzz_prepare_shape;

#endif
