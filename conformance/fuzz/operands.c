// SPDX-License-Identifier: Apache-2.0
#include "conformance/fuzz/operands.h"

#include "lib/half.h"

#include <math.h>
#include <stdio.h>

uint32_t fuzz_take_size(struct recorder *r)
{
    static const uint16_t sizes[] = {1,   2,   3,  4,  5,  6,  7,  8,  9,  10, 12, 13, 14, 15, 16,
                                     17,  23,  24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65, 96, 127,
                                     128, 129, 1,  1,  1,  2,  2,  3,  3,  4,  5,  6,  7,  8,  8};
    if (fuzz_is_empty(r))
        return 0;
    return CHOOSE(r, sizes);
}

// Channels, terms and other sizes that kernels take in pieces: 64, 256, 288, 512, 1024, 2048, 4096 and their
// neighbours.
uint32_t fuzz_take_channels(struct recorder *r)
{
    static const uint16_t many[] = {95,   96,   97,   127,  128,  129,  191,  255,  256,  257,  287,  288,
                                    289,  383,  384,  511,  512,  513,  576,  577,  768,  1023, 1024, 1025,
                                    1536, 1537, 2047, 2048, 2049, 2500, 3000, 3001, 4095, 4096, 4097, 5000};
    return CHANCE(r, 80) ? CHOOSE(r, many) : fuzz_take_size(r);
}

uint32_t fuzz_take_hostile(struct recorder *r)
{
    static const uint32_t hostile[] = {0,          65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
                                       0xFFFFFFFE, 46341, 1u << 30,   8192,       8193,
                                       46340,      65535, 0x3FFFFFFF, 0x10000001, 3};
    uint8_t byte = take(r->bytes);
    return byte < 200 ? byte % 12 : byte < 216 ? byte : hostile[byte % COUNT(hostile)];
}

double fuzz_take_real(struct recorder *r)
{
    static const double reals[] = {0.5,   1,      -1,     0,      2,  -2,    6,   1e-5, -0.0,
                                   1e300, -1e300, 3.4e38, 1e-310, 17, 1e-40, 255, 65504};
    uint8_t byte = take(r->bytes);
    if (byte >= 252)
        return byte == 252 ? (double)INFINITY : byte == 253 ? -(double)INFINITY : (double)NAN;
    return reals[byte < 200 ? byte % 7 : byte % COUNT(reals)];
}

uint32_t *fuzz_new_list(struct recorder *r, size_t count, WNNUint32List *list)
{
    static uint32_t spare[MAX_ITEMS];
    uint32_t *items = r->list_count < MAX_LISTS ? r->lists[r->list_count++].integers : spare;
    memset(items, 0, MAX_ITEMS * sizeof *items);
    *list = (WNNUint32List){items, count};
    return items;
}

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

void fuzz_fill(void *data, const struct descriptor *type, unsigned seed)
{
    static const float special[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e-40f, 3.4e38f, -65504, 1e9f};
    size_t count = wnn_shape_elements(&type->shape), bits = wnn_dtype_bits(type->type);
    uint32_t state = seed * 2654435761u + 12345;
    unsigned char *bytes = data;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        bool edge = seed % 5 == 4 && state >> 12 & 1;
        int64_t integer = (int64_t)(state >> 26) - 24;
        if (edge)
            integer = (state >> 20 & 3) == 0 ? INT64_MIN : (state >> 20 & 3) == 1 ? INT64_MAX : integer * 977;
        float number = edge ? special[state >> 20 & 7] : (float)((int)(state >> 24) - 128) / 64;
        uint16_t half = wnn_half_from_float(number);
        if (type->type == WNNDataType_Float32)
            memcpy(bytes + 4 * i, &number, 4);
        else if (type->type == WNNDataType_Float16)
            memcpy(bytes + 2 * i, &half, 2);
        else if (bits == 4)
            bytes[i / 2] = (unsigned char)((i % 2 ? bytes[i / 2] & 15 : 0) | (integer & 15) << i % 2 * 4);
        else
            memcpy(bytes + i * bits / 8, &integer, bits / 8);
    }
}

struct descriptor fuzz_type_of(WNNOperand operand)
{
    WNNUint32List shape = wnnOperandGetShape(operand);
    struct descriptor type = {.type = wnnOperandGetDataType(operand)};
    if (operand)
        wnn_shape_append(&type.shape, shape.data, (unsigned)shape.count);
    return type;
}

void fuzz_keep(struct recorder *r, WNNOperand operand, bool computed)
{
    if (!operand)
        return;
    if (r->operand_count == MAX_OPERANDS) {
        r->operand_count--;
        memmove(r->operands, r->operands + 1, r->operand_count * sizeof r->operands[0]);
    }
    r->operands[r->operand_count++] = (struct recorded){operand, computed};
}

static void free_loan(const void *data, size_t length, void *memory, void *unused)
{
    (void)data, (void)length, (void)unused;
    free(memory);
}

static WNNOperand tensor_constant(struct recorder *r, const struct descriptor *type, const void *data,
                                  size_t bytes)
{
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = type->type;
    descriptor.shape = (WNNUint32List){type->shape.dim, type->shape.rank};
    WNNTensor tensor = NULL;
    wnnContextCreateConstantTensor(r->context, &descriptor, data, bytes, &tensor);
    WNNOperand operand = wnnGraphBuilderTensorConstant(r->builder, tensor);
    wnnTensorRelease(tensor);
    return operand;
}

WNNOperand fuzz_new_source(struct recorder *r, const struct descriptor *type)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type->type;
    descriptor.shape = (WNNUint32List){type->shape.dim, type->shape.rank};
    uint8_t kind = take(r->bytes);
    WNNOperand operand;
    if (kind < 128) {
        char name[16];
        snprintf(name, sizeof name, "x%u", kind == 127 ? 0 : r->input_count++);
        operand = wnnGraphBuilderInput(r->builder, (WNNStringView){name, WNN_STRLEN}, &descriptor);
    } else {
        size_t elements = 0, bytes = 0;
        if (!wnn_shape_count(&type->shape, &elements) || elements > 1u << 20)
            elements = 0; // a size that is refused anyway
        bytes = wnn_dtype_bytes(type->type, elements) + (kind == 255);
        char *memory = malloc(bytes + 8), *data = memory + (kind & 4 ? kind & 3 : 0);
        if (!memory)
            return NULL;
        memset(memory, 0, bytes + 8);
        if (elements)
            fuzz_fill(data, type, kind >> 3 & 7);
        if (kind % 4 == 0) {
            WNNExternalBytes loan = WNN_EXTERNAL_BYTES_INIT;
            loan.data = data;
            loan.byteLength = bytes;
            loan.release = free_loan;
            loan.userdata1 = memory;
            operand = wnnGraphBuilderExternalConstant(r->builder, &descriptor, &loan);
            memory = NULL;
        } else if (kind % 4 == 1) {
            operand = tensor_constant(r, type, data, bytes);
        } else {
            operand = wnnGraphBuilderConstant(r->builder, &descriptor, data, bytes);
        }
        free(memory);
    }
    fuzz_keep(r, operand, false);
    return operand;
}

WNNDataType fuzz_take_type(struct recorder *r, uint32_t types)
{
    uint8_t byte = take(r->bytes);
    if (byte < 150 && types & F32)
        return WNNDataType_Float32;
    if (byte < 200 && types & F16)
        return WNNDataType_Float16;
    for (unsigned i = 0; i < WNN_DATA_TYPE_COUNT; i++) {
        unsigned type = (byte + i) % WNN_DATA_TYPE_COUNT;
        if (types >> type & 1)
            return (WNNDataType)type;
    }
    return WNNDataType_Float32;
}

uint32_t fuzz_limit(uint32_t size, size_t *room)
{
    if (size > *room)
        size = *room ? (uint32_t)*room : 1;
    *room /= size ? size : 1;
    return size;
}

uint32_t fuzz_limited(struct recorder *r, size_t room)
{
    return fuzz_limit(fuzz_take_channels(r), &room);
}

uint32_t fuzz_take_hidden(struct recorder *r)
{
    static const uint8_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65};
    if (fuzz_is_empty(r))
        return 0;
    return CHOOSE(r, sizes);
}

struct shape fuzz_take_shape(struct recorder *r, unsigned min_rank, unsigned max_rank)
{
    struct shape shape = {.rank = min_rank};
    unsigned usual = max_rank > 5 && !CHANCE(r, 40) ? 5 : max_rank;
    if (usual > min_rank)
        shape.rank += BELOW(r, usual - min_rank + 1);
    size_t room = ELEMENTS;
    unsigned large = CHANCE(r, 60) ? BELOW(r, shape.rank + 1) : shape.rank; // a dimension of many elements
    if (large < shape.rank) {
        room = CHANNELS;
        shape.dim[large] = fuzz_limit(fuzz_take_channels(r), &room);
    }
    for (unsigned d = 0; d < shape.rank; d++)
        if (d != large)
            shape.dim[d] = fuzz_limit(fuzz_take_size(r), &room);
    return shape;
}

static bool suits(const struct descriptor *type, uint32_t types, unsigned min_rank, unsigned max_rank)
{
    return types >> type->type & 1 && type->shape.rank >= min_rank && type->shape.rank <= max_rank;
}

WNNOperand fuzz_pick(struct recorder *r, uint32_t types, unsigned min_rank, unsigned max_rank,
                     struct descriptor *type)
{
    if (r->next) {
        WNNOperand next = r->next;
        r->next = NULL;
        *type = fuzz_type_of(next);
        if (suits(type, types, min_rank, max_rank))
            return next;
    }
    uint8_t byte = take(r->bytes);
    if (byte >= 64)
        for (size_t i = 0, skip = byte % 4; i < r->operand_count; i++) {
            WNNOperand operand = r->operands[r->operand_count - 1 - i].operand;
            *type = fuzz_type_of(operand);
            if (suits(type, types, min_rank, max_rank) && skip-- == 0)
                return operand;
        }
    type->type = fuzz_take_type(r, types);
    type->shape = fuzz_take_shape(r, min_rank, max_rank);
    return fuzz_new_source(r, type);
}

WNNOperand fuzz_like(struct recorder *r, WNNDataType type, struct shape shape)
{
    struct descriptor wanted = {type, shape};
    if (CHANCE(r, 128))
        for (size_t i = r->operand_count; i-- > 0;) {
            struct descriptor other = fuzz_type_of(r->operands[i].operand);
            if (wnn_descriptor_equal(&wanted, &other))
                return r->operands[i].operand;
        }
    return fuzz_new_source(r, &wanted);
}

WNNOperand fuzz_maybe_like(struct recorder *r, unsigned n, WNNDataType type, struct shape shape)
{
    return CHANCE(r, n) ? fuzz_like(r, type, shape) : NULL;
}

struct shape fuzz_narrowed(struct recorder *r, struct shape shape)
{
    uint8_t byte = take(r->bytes);
    unsigned dropped = byte >= 128 && shape.rank > 0 ? byte % (shape.rank + 1) : 0;
    struct shape result = {.rank = shape.rank - dropped};
    for (unsigned d = 0; d < result.rank; d++)
        result.dim[d] = byte % 4 == 3 && CHANCE(r, 128) ? 1 : shape.dim[d + dropped];
    return result;
}

WNNActivation fuzz_take_activation(struct recorder *r)
{
    WNNClampOptions clamp = WNN_CLAMP_OPTIONS_INIT;
    WNNEluOptions elu = WNN_ELU_OPTIONS_INIT;
    WNNSoftplusOptions softplus = WNN_SOFTPLUS_OPTIONS_INIT;
    WNNLeakyReluOptions leaky = WNN_LEAKY_RELU_OPTIONS_INIT;
    WNNLinearOptions linear = WNN_LINEAR_OPTIONS_INIT;
    WNNHardSigmoidOptions hard = WNN_HARD_SIGMOID_OPTIONS_INIT;
    clamp.minValue = CHANCE(r, 200) ? wnnNumberFloat64(fuzz_take_real(r)) : clamp.minValue;
    clamp.maxValue = CHANCE(r, 100) ? wnnNumberFloat64(6) : clamp.maxValue;
    // clang-format off
#define PLAIN(number, method)                                                                                \
    case number: return wnnGraphBuilderActivation##method(r->builder, NULL);
#define REAL(number, method, options, field)                                                                 \
    case number: options.field = fuzz_take_real(r); return wnnGraphBuilderActivation##method(r->builder, &options);
    switch (take(r->bytes) % 14) {
    PLAIN(0, Relu)
    case 1: return wnnGraphBuilderActivationClamp(r->builder, &clamp);
    REAL(2, Elu, elu, alpha)
    PLAIN(3, Gelu)
    REAL(4, HardSigmoid, hard, alpha)
    PLAIN(5, HardSwish)
    REAL(6, LeakyRelu, leaky, alpha)
    REAL(7, Linear, linear, beta)
    PLAIN(8, Sigmoid)
    PLAIN(9, Softmax)
    REAL(10, Softplus, softplus, steepness)
    PLAIN(11, Softsign)
    PLAIN(12, Tanh)
    default: return NULL;
    }
    // clang-format on
}

// ---------------------------------------------------------------------------------------------------------------
// Windows
// ---------------------------------------------------------------------------------------------------------------

struct window fuzz_take_window(struct recorder *r)
{
    static const uint16_t sizes[] = {1, 1, 1, 2, 3, 3, 3, 3, 4, 5, 7, 9, 13, 2, 6, 17},
                          strides[] = {1, 1, 1, 1, 2, 2, 3, 4, 5, 8, 17, 100, 1, 2, 2, 1000},
                          dilations[] = {1, 1, 1, 1, 1, 2, 2, 3, 4, 7, 16, 100, 1, 1, 1, 1},
                          padding[] = {0, 0, 0, 0, 1, 1, 1, 2, 3, 5, 8, 20, 0, 0, 0, 1};
    struct window window;
    uint8_t plain = take(r->bytes); // the same in both directions, mostly
    for (unsigned i = 0; i < 2; i++) {
        bool again = i == 1 && plain >= 96;
        window.size[i] = again ? window.size[0] : CHOOSE(r, sizes);
        window.strides[i] = again ? window.strides[0] : CHOOSE(r, strides);
        window.dilations[i] = again ? window.dilations[0] : CHOOSE(r, dilations);
        for (unsigned k = 0; k < 2; k++)
            window.padding[2 * i + k] = plain >= 160 ? window.size[i] / 2 : CHOOSE(r, padding);
    }
    return window;
}

void fuzz_set_window(struct recorder *r, const struct window *window, WNNUint32List *padding,
                     WNNUint32List *strides, WNNUint32List *dilations)
{
    memcpy(fuzz_new_list(r, 4, padding), window->padding, sizeof window->padding);
    memcpy(fuzz_new_list(r, 2, strides), window->strides, sizeof window->strides);
    memcpy(fuzz_new_list(r, 2, dilations), window->dilations, sizeof window->dilations);
}

uint32_t fuzz_reach(const struct window *window, unsigned i)
{
    uint32_t span = (window->size[i] - 1) * window->dilations[i] + 1;
    uint32_t padded = window->padding[2 * i] + window->padding[2 * i + 1];
    return span > padded ? span - padded : 1;
}
