// SPDX-License-Identifier: Apache-2.0
//
// What the operators of a program are: their operands, and options at their edges.

#include "conformance/fuzz/recorder.h"

#include "lib/half.h"

#include <math.h>
#include <stdio.h>
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

struct call {
    enum op op;
    WNNOperand in[MAX_INPUTS];
    size_t count;
    _Alignas(max_align_t) char attrs[MAX_ATTRS];
};

// ---------------------------------------------------------------------------------------------------------------
// Numbers
// ---------------------------------------------------------------------------------------------------------------

#define COUNT(array)     (sizeof(array) / sizeof(array)[0])
#define CHOOSE(r, array) ((array)[take((r)->bytes) % COUNT(array)])
#define CHANCE(r, n)     take_chance((r)->bytes, n)
#define BELOW(r, end)    take_below((r)->bytes, end)

// Sizes around those of vectors, tiles and blocks.
static uint32_t take_size(struct recorder *r)
{
    static const uint16_t sizes[] = {1,   2,   3,  4,  5,  6,  7,  8,  9,  10, 12, 13, 14, 15, 16,
                                     17,  23,  24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65, 96, 127,
                                     128, 129, 1,  1,  1,  2,  2,  3,  3,  4,  5,  6,  7,  8,  8};
    return CHOOSE(r, sizes);
}

// Channels, terms and other sizes that kernels take in pieces: 64, 256, 288, 512, 1024, 2048, 4096 and their
// neighbours.
static uint32_t take_channels(struct recorder *r)
{
    static const uint16_t many[] = {95,   96,   97,   127,  128,  129,  191,  255,  256,  257,  287,  288,
                                    289,  383,  384,  511,  512,  513,  576,  577,  768,  1023, 1024, 1025,
                                    1536, 1537, 2047, 2048, 2049, 2500, 3000, 3001, 4095, 4096, 4097, 5000};
    return CHANCE(r, 80) ? CHOOSE(r, many) : take_size(r);
}

static uint32_t take_hostile(struct recorder *r)
{
    static const uint32_t hostile[] = {0,          65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
                                       0xFFFFFFFE, 46341, 1u << 30,   8192,       8193,
                                       46340,      65535, 0x3FFFFFFF, 0x10000001, 3};
    uint8_t byte = take(r->bytes);
    return byte < 200 ? byte % 12 : byte < 216 ? byte : hostile[byte % COUNT(hostile)];
}

static double take_real(struct recorder *r)
{
    static const double reals[] = {0.5,   1,      -1,     0,      2,  -2,    6,   1e-5, -0.0,
                                   1e300, -1e300, 3.4e38, 1e-310, 17, 1e-40, 255, 65504};
    uint8_t byte = take(r->bytes);
    if (byte >= 252)
        return byte == 252 ? (double)INFINITY : byte == 253 ? -(double)INFINITY : (double)NAN;
    return reals[byte < 200 ? byte % 7 : byte % COUNT(reals)];
}

static uint32_t *new_list(struct recorder *r, size_t count, WNNUint32List *list)
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

static struct descriptor type_of(WNNOperand operand)
{
    WNNUint32List shape = wnnOperandGetShape(operand);
    struct descriptor type = {.type = wnnOperandGetDataType(operand)};
    if (operand)
        wnn_shape_append(&type.shape, shape.data, (unsigned)shape.count);
    return type;
}

static void keep(struct recorder *r, WNNOperand operand, bool computed)
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

static WNNOperand new_source(struct recorder *r, const struct descriptor *type)
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
            WNNLentBytes loan = WNN_LENT_BYTES_INIT;
            loan.data = data;
            loan.byteLength = bytes;
            loan.release = free_loan;
            loan.userdata1 = memory;
            operand = wnnGraphBuilderLentConstant(r->builder, &descriptor, &loan);
            memory = NULL;
        } else if (kind % 4 == 1) {
            operand = tensor_constant(r, type, data, bytes);
        } else {
            operand = wnnGraphBuilderConstant(r->builder, &descriptor, data, bytes);
        }
        free(memory);
    }
    keep(r, operand, false);
    return operand;
}

static WNNDataType take_type(struct recorder *r, uint32_t types)
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

static uint32_t limit(uint32_t size, size_t *room)
{
    if (size > *room)
        size = *room ? (uint32_t)*room : 1;
    *room /= size;
    return size;
}

static struct shape take_shape(struct recorder *r, unsigned min_rank, unsigned max_rank)
{
    struct shape shape = {.rank = min_rank};
    unsigned usual = max_rank > 5 && !CHANCE(r, 40) ? 5 : max_rank;
    if (usual > min_rank)
        shape.rank += BELOW(r, usual - min_rank + 1);
    size_t room = ELEMENTS;
    unsigned large = CHANCE(r, 60) ? BELOW(r, shape.rank + 1) : shape.rank; // a dimension of many elements
    if (large < shape.rank) {
        room = CHANNELS;
        shape.dim[large] = limit(take_channels(r), &room);
    }
    for (unsigned d = 0; d < shape.rank; d++)
        if (d != large)
            shape.dim[d] = limit(take_size(r), &room);
    return shape;
}

static bool suits(const struct descriptor *type, uint32_t types, unsigned min_rank, unsigned max_rank)
{
    return types >> type->type & 1 && type->shape.rank >= min_rank && type->shape.rank <= max_rank;
}

// An operand that there is, later ones rather than earlier ones, or a new one. Its type and shape are filled
// in.
static WNNOperand pick(struct recorder *r, uint32_t types, unsigned min_rank, unsigned max_rank,
                       struct descriptor *type)
{
    if (r->next) {
        WNNOperand next = r->next;
        r->next = NULL;
        *type = type_of(next);
        if (suits(type, types, min_rank, max_rank))
            return next;
    }
    uint8_t byte = take(r->bytes);
    if (byte >= 64)
        for (size_t i = 0, skip = byte % 4; i < r->operand_count; i++) {
            WNNOperand operand = r->operands[r->operand_count - 1 - i].operand;
            *type = type_of(operand);
            if (suits(type, types, min_rank, max_rank) && skip-- == 0)
                return operand;
        }
    type->type = take_type(r, types);
    type->shape = take_shape(r, min_rank, max_rank);
    return new_source(r, type);
}

// An operand of that type and shape.
static WNNOperand like(struct recorder *r, WNNDataType type, struct shape shape)
{
    struct descriptor wanted = {type, shape};
    if (CHANCE(r, 128))
        for (size_t i = r->operand_count; i-- > 0;) {
            struct descriptor other = type_of(r->operands[i].operand);
            if (wnn_descriptor_equal(&wanted, &other))
                return r->operands[i].operand;
        }
    return new_source(r, &wanted);
}

static WNNOperand maybe_like(struct recorder *r, unsigned n, WNNDataType type, struct shape shape)
{
    return CHANCE(r, n) ? like(r, type, shape) : NULL;
}

static struct shape vector(uint32_t size)
{
    return (struct shape){1, {size}};
}

// A shape that broadcasts to this one.
static struct shape narrowed(struct recorder *r, struct shape shape)
{
    uint8_t byte = take(r->bytes);
    unsigned dropped = byte >= 128 && shape.rank > 0 ? byte % (shape.rank + 1) : 0;
    struct shape result = {.rank = shape.rank - dropped};
    for (unsigned d = 0; d < result.rank; d++)
        result.dim[d] = byte % 4 == 3 && CHANCE(r, 128) ? 1 : shape.dim[d + dropped];
    return result;
}

static void put(struct call *call, WNNOperand operand)
{
    if (call->count < MAX_INPUTS)
        call->in[call->count++] = operand;
}

static WNNActivation take_activation(struct recorder *r)
{
    WNNClampOptions clamp = WNN_CLAMP_OPTIONS_INIT;
    WNNEluOptions elu = WNN_ELU_OPTIONS_INIT;
    WNNSoftplusOptions softplus = WNN_SOFTPLUS_OPTIONS_INIT;
    WNNLeakyReluOptions leaky = WNN_LEAKY_RELU_OPTIONS_INIT;
    WNNLinearOptions linear = WNN_LINEAR_OPTIONS_INIT;
    WNNHardSigmoidOptions hard = WNN_HARD_SIGMOID_OPTIONS_INIT;
    clamp.minValue = CHANCE(r, 200) ? wnnNumberFloat64(take_real(r)) : clamp.minValue;
    clamp.maxValue = CHANCE(r, 100) ? wnnNumberFloat64(6) : clamp.maxValue;
    switch (take(r->bytes) % 14) {
    case 0:
        return wnnGraphBuilderActivationRelu(r->builder, NULL);
    case 1:
        return wnnGraphBuilderActivationClamp(r->builder, &clamp);
    case 2:
        elu.alpha = take_real(r);
        return wnnGraphBuilderActivationElu(r->builder, &elu);
    case 3:
        return wnnGraphBuilderActivationGelu(r->builder, NULL);
    case 4:
        hard.alpha = take_real(r);
        return wnnGraphBuilderActivationHardSigmoid(r->builder, &hard);
    case 5:
        return wnnGraphBuilderActivationHardSwish(r->builder, NULL);
    case 6:
        leaky.alpha = take_real(r);
        return wnnGraphBuilderActivationLeakyRelu(r->builder, &leaky);
    case 7:
        linear.beta = take_real(r);
        return wnnGraphBuilderActivationLinear(r->builder, &linear);
    case 8:
        return wnnGraphBuilderActivationSigmoid(r->builder, NULL);
    case 9:
        return wnnGraphBuilderActivationSoftmax(r->builder, NULL);
    case 10:
        softplus.steepness = take_real(r);
        return wnnGraphBuilderActivationSoftplus(r->builder, &softplus);
    case 11:
        return wnnGraphBuilderActivationSoftsign(r->builder, NULL);
    case 12:
        return wnnGraphBuilderActivationTanh(r->builder, NULL);
    default:
        return NULL;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Windows
// ---------------------------------------------------------------------------------------------------------------

struct window {
    uint32_t size[2], strides[2], dilations[2], padding[4];
};

static struct window take_window(struct recorder *r)
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

static void set_window(struct recorder *r, const struct window *window, WNNUint32List *padding,
                       WNNUint32List *strides, WNNUint32List *dilations)
{
    memcpy(new_list(r, 4, padding), window->padding, sizeof window->padding);
    memcpy(new_list(r, 2, strides), window->strides, sizeof window->strides);
    memcpy(new_list(r, 2, dilations), window->dilations, sizeof window->dilations);
}

// What one direction of an input must have for the window to fit.
static uint32_t reach(const struct window *window, unsigned i)
{
    uint32_t span = (window->size[i] - 1) * window->dilations[i] + 1;
    uint32_t padded = window->padding[2 * i] + window->padding[2 * i + 1];
    return span > padded ? span - padded : 1;
}

struct image {
    uint32_t batch, channels, size[2];
};

static struct image image_of(const struct shape *shape, WNNInputOperandLayout layout)
{
    const uint32_t *d = shape->dim;
    if (layout == WNNInputOperandLayout_NHWC)
        return (struct image){d[0], d[3], {d[1], d[2]}};
    return (struct image){d[0], d[1], {d[2], d[3]}};
}

static struct shape image_shape(const struct image *image, WNNInputOperandLayout layout)
{
    if (layout == WNNInputOperandLayout_NHWC)
        return (struct shape){4, {image->batch, image->size[0], image->size[1], image->channels}};
    return (struct shape){4, {image->batch, image->channels, image->size[0], image->size[1]}};
}

// An image that there is, if it is large enough for the window, or a new one.
static WNNOperand pick_image(struct recorder *r, uint32_t types, WNNInputOperandLayout layout,
                             struct window *window, bool fits, struct image *image, WNNDataType *type)
{
    struct descriptor found;
    if (r->next || CHANCE(r, 140)) {
        WNNOperand operand = pick(r, types, 4, 4, &found);
        *image = image_of(&found.shape, layout);
        *type = found.type;
        for (unsigned i = 0; i < 2 && fits; i++)
            if (reach(window, i) > image->size[i]) {
                window->size[i] = window->dilations[i] = 1;
                window->padding[2 * i] = window->padding[2 * i + 1] = 0;
            }
        return operand;
    }
    size_t room = CHANNELS;
    image->channels = limit(take_channels(r), &room);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t least = fits ? reach(window, i) : 1;
        uint32_t more = BELOW(r, 3) * window->strides[i];
        image->size[i] = limit(least + more + take_size(r) / 4, &room);
        if (fits && image->size[i] < least)
            window->size[i] = window->dilations[i] = 1;
    }
    image->batch = limit(1 + BELOW(r, 3), &room);
    *type = take_type(r, types);
    found = (struct descriptor){*type, image_shape(image, layout)};
    return new_source(r, &found);
}

static struct shape filter_shape(bool transposed, unsigned layout, uint32_t in, uint32_t out,
                                 const uint32_t *size)
{
    uint32_t h = size[0], w = size[1];
    if (transposed)
        return layout == WNNConvTranspose2dFilterOperandLayout_HWOI   ? (struct shape){4, {h, w, out, in}}
               : layout == WNNConvTranspose2dFilterOperandLayout_OHWI ? (struct shape){4, {out, h, w, in}}
                                                                      : (struct shape){4, {in, out, h, w}};
    return layout == WNNConv2dFilterOperandLayout_HWIO   ? (struct shape){4, {h, w, in, out}}
           : layout == WNNConv2dFilterOperandLayout_OHWI ? (struct shape){4, {out, h, w, in}}
           : layout == WNNConv2dFilterOperandLayout_IHWO ? (struct shape){4, {in, h, w, out}}
                                                         : (struct shape){4, {out, in, h, w}};
}

static uint32_t take_groups(struct recorder *r, uint32_t channels)
{
    switch (take(r->bytes) % 8) {
    case 5:
        return channels;
    case 6:
        return channels % 2 == 0 ? 2 : 1;
    case 7:
        return channels % 4 == 0 ? channels / 4 : channels % 3 == 0 ? 3 : 1;
    default:
        return 1;
    }
}

static void prepare_convolution(struct recorder *r, struct call *call)
{
    bool transposed = call->op == WNN_OP_convTranspose2d;
    WNNConv2dOptions *plain = (void *)call->attrs;
    WNNConvTranspose2dOptions *options = (void *)call->attrs;
    WNNInputOperandLayout layout = (WNNInputOperandLayout)(1 + BELOW(r, 2));
    unsigned filter_layout = 1 + BELOW(r, transposed ? 3 : 4);
    struct window window = take_window(r);
    struct image image;
    WNNDataType type;
    put(call, pick_image(r, FLOATS, layout, &window, !transposed, &image, &type));
    uint32_t groups = take_groups(r, image.channels);
    uint32_t in = transposed ? image.channels : image.channels / groups;
    uint32_t out = take(r->bytes) % 4 == 3 ? take_channels(r) : take_size(r);
    size_t room = FILTER / ((size_t)in * window.size[0] * window.size[1] + 1);
    out = limit(out, &room);
    if (!transposed)
        out = (out + groups - 1) / groups * groups;
    uint32_t channels = transposed ? out * groups : out;
    put(call, like(r, type, filter_shape(transposed, filter_layout, in, out, window.size)));
    WNNOperand bias = maybe_like(r, 100, type, vector(channels));
    WNNActivation activation = CHANCE(r, 70) ? take_activation(r) : NULL;
    if (!transposed) {
        set_window(r, &window, &plain->padding, &plain->strides, &plain->dilations);
        plain->groups = groups;
        plain->inputLayout = layout;
        plain->filterLayout = (WNNConv2dFilterOperandLayout)filter_layout;
        plain->bias = bias;
        plain->activation = activation;
        return;
    }
    set_window(r, &window, &options->padding, &options->strides, &options->dilations);
    options->groups = groups;
    options->inputLayout = layout;
    options->filterLayout = (WNNConvTranspose2dFilterOperandLayout)filter_layout;
    options->bias = bias;
    options->activation = activation;
    uint8_t sized = take(r->bytes);
    if (sized < 160)
        return;
    uint32_t *sizes = new_list(r, 2, sized < 210 ? &options->outputSizes : &options->outputPadding);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t computed = (image.size[i] - 1) * window.strides[i] +
                            (window.size[i] - 1) * window.dilations[i] + 1 - window.padding[2 * i] -
                            window.padding[2 * i + 1];
        uint32_t extra = sized & 1 ? window.strides[i] - 1 : BELOW(r, window.strides[i]);
        sizes[i] = sized < 210 ? computed + extra : extra;
    }
}

static void prepare_pool(struct recorder *r, struct call *call)
{
    WNNPool2dOptions *options = (void *)call->attrs;
    struct window window = take_window(r);
    struct image image;
    WNNDataType type;
    options->layout = (WNNInputOperandLayout)(1 + BELOW(r, 2));
    put(call, pick_image(r, call->op == WNN_OP_maxPool2d ? ALL : FLOATS, options->layout, &window, true,
                         &image, &type));
    if (!CHANCE(r, 40)) {
        memcpy(new_list(r, 2, &options->windowDimensions), window.size, sizeof window.size);
        set_window(r, &window, &options->padding, &options->strides, &options->dilations);
    }
    options->roundingType = (WNNRoundingType)(1 + BELOW(r, 2));
}

static void prepare_resample(struct recorder *r, struct call *call)
{
    WNNResample2dOptions *options = (void *)call->attrs;
    static const float scales[] = {1, 2, 0.5f, 3, 1.5f, 0.3f, 4, 7.7f, 0.01f, 1e-3f, 33, 1.0000001f};
    static const uint8_t axes[][2] = {{2, 3}, {1, 2}, {3, 2}, {0, 1}, {0, 3}, {3, 1}};
    struct descriptor type;
    put(call, pick(r, FLOATS | U8 | I8, 4, 4, &type));
    options->mode = (WNNInterpolationMode)(1 + BELOW(r, 2));
    uint8_t byte = take(r->bytes), how = byte % 3;
    if (byte >= 100) {
        uint32_t *chosen = new_list(r, 2, &options->axes);
        chosen[0] = axes[byte % COUNT(axes)][0];
        chosen[1] = axes[byte % COUNT(axes)][1];
    }
    if (how < 2 && r->list_count < MAX_LISTS) {
        float *items = r->lists[r->list_count++].floats;
        items[0] = CHOOSE(r, scales);
        items[1] = CHOOSE(r, scales);
        options->scales = (WNNFloat32List){items, 2};
    }
    if (how > 0) {
        uint32_t *sizes = new_list(r, 2, &options->sizes);
        sizes[0] = take_size(r);
        sizes[1] = take_size(r);
    }
}

static void prepare_normalization(struct recorder *r, struct call *call)
{
    struct descriptor type;
    if (call->op == WNN_OP_batchNormalization) {
        WNNBatchNormalizationOptions *options = (void *)call->attrs;
        put(call, pick(r, FLOATS, 1, WNN_MAX_RANK, &type));
        options->axis = type.shape.rank > 1 && !CHANCE(r, 80) ? 1 : BELOW(r, type.shape.rank);
        struct shape channels = vector(type.shape.dim[options->axis]);
        put(call, like(r, type.type, channels));
        put(call, like(r, type.type, channels));
        options->scale = maybe_like(r, 128, type.type, channels);
        options->bias = maybe_like(r, 128, type.type, channels);
        options->epsilon = CHANCE(r, 60) ? take_real(r) : options->epsilon;
        options->activation = CHANCE(r, 60) ? take_activation(r) : NULL;
    } else if (call->op == WNN_OP_instanceNormalization) {
        WNNInstanceNormalizationOptions *options = (void *)call->attrs;
        put(call, pick(r, FLOATS, 4, 4, &type));
        options->layout = (WNNInputOperandLayout)(1 + BELOW(r, 2));
        struct shape channels = vector(image_of(&type.shape, options->layout).channels);
        options->scale = maybe_like(r, 128, type.type, channels);
        options->bias = maybe_like(r, 128, type.type, channels);
        options->epsilon = CHANCE(r, 60) ? take_real(r) : options->epsilon;
    } else {
        WNNLayerNormalizationOptions *options = (void *)call->attrs;
        put(call, pick(r, FLOATS, 0, WNN_MAX_RANK, &type));
        struct shape over = {.rank = type.shape.rank ? type.shape.rank - 1 : 0};
        if (CHANCE(r, 180)) {
            over.rank = BELOW(r, type.shape.rank + 1);
            uint32_t *axes = new_list(r, over.rank, &options->axes);
            uint32_t first = CHANCE(r, 100) ? BELOW(r, type.shape.rank) : type.shape.rank - over.rank;
            for (unsigned i = 0; i < over.rank; i++) {
                axes[i] = (first + i) % type.shape.rank;
                over.dim[i] = type.shape.dim[axes[i]];
            }
        } else {
            memcpy(over.dim, type.shape.dim + 1, over.rank * sizeof over.dim[0]);
        }
        options->scale = maybe_like(r, 128, type.type, over);
        options->bias = maybe_like(r, 128, type.type, over);
        options->epsilon = CHANCE(r, 60) ? take_real(r) : options->epsilon;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Products and recurrent networks
// ---------------------------------------------------------------------------------------------------------------

static uint32_t limited(struct recorder *r, size_t room)
{
    return limit(take_channels(r), &room);
}

static void prepare_gemm(struct recorder *r, struct call *call)
{
    WNNGemmOptions *options = (void *)call->attrs;
    struct descriptor a;
    put(call, pick(r, FLOATS, 2, 2, &a));
    options->aTranspose = CHANCE(r, 80);
    options->bTranspose = CHANCE(r, 100);
    uint32_t m = a.shape.dim[options->aTranspose], k = a.shape.dim[!options->aTranspose];
    uint32_t n = limited(r, FILTER / k + 1);
    put(call, like(r, a.type, options->bTranspose ? (struct shape){2, {n, k}} : (struct shape){2, {k, n}}));
    options->c = maybe_like(r, 140, a.type, narrowed(r, (struct shape){2, {m, n}}));
    options->alpha = CHANCE(r, 60) ? take_real(r) : 1;
    options->beta = CHANCE(r, 60) ? take_real(r) : 1;
}

static void prepare_matmul(struct recorder *r, struct call *call)
{
    struct descriptor a;
    put(call, pick(r, FLOATS, 2, WNN_MAX_RANK, &a));
    struct shape batch = a.shape, b;
    batch.rank -= 2;
    b = narrowed(r, batch);
    uint32_t k = a.shape.dim[a.shape.rank - 1];
    wnn_shape_append(&b, (uint32_t[]){k, limited(r, FILTER / k + 1)}, 2);
    put(call, like(r, a.type, b));
}

static WNNActivationList take_activations(struct recorder *r, unsigned count)
{
    WNNActivationList list = WNN_ACTIVATION_LIST_INIT;
    if (!CHANCE(r, 80) || r->list_count == MAX_LISTS)
        return list;
    WNNActivation *items = r->lists[r->list_count++].activations;
    for (unsigned i = 0; i < count; i++)
        if (!(items[i] = take_activation(r)))
            return list;
    return (WNNActivationList){items, count};
}

static uint32_t take_hidden(struct recorder *r)
{
    static const uint8_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65};
    return CHOOSE(r, sizes);
}

static void prepare_network(struct recorder *r, struct call *call)
{
    bool lstm = call->op == WNN_OP_lstm;
    uint32_t gates = lstm ? 4 : 3, hidden = take_hidden(r);
    struct descriptor input;
    WNNOperand x = pick(r, FLOATS, 3, 3, &input);
    uint32_t steps = input.shape.dim[0], batch = input.shape.dim[1], columns = input.shape.dim[2];
    WNNRecurrentNetworkDirection direction = (WNNRecurrentNetworkDirection)(1 + BELOW(r, 3));
    uint32_t d = direction == WNNRecurrentNetworkDirection_Both ? 2 : 1;
    struct shape bias = {2, {d, gates * hidden}}, state = {3, {d, batch, hidden}};
    put(call, x);
    put(call, like(r, input.type, (struct shape){3, {d, gates * hidden, columns}}));
    put(call, like(r, input.type, (struct shape){3, {d, gates * hidden, hidden}}));
    if (lstm) {
        struct lstm_attrs *attrs = (void *)call->attrs;
        attrs->steps = steps;
        attrs->hiddenSize = hidden;
        attrs->options.direction = direction;
        attrs->options.bias = maybe_like(r, 128, input.type, bias);
        attrs->options.recurrentBias = maybe_like(r, 128, input.type, bias);
        attrs->options.peepholeWeight = maybe_like(r, 100, input.type, (struct shape){2, {d, 3 * hidden}});
        attrs->options.initialHiddenState = maybe_like(r, 128, input.type, state);
        attrs->options.initialCellState = maybe_like(r, 128, input.type, state);
        attrs->options.returnSequence = CHANCE(r, 128);
        attrs->options.layout = (WNNLstmWeightLayout)(1 + BELOW(r, 2));
        attrs->options.activations = take_activations(r, 3);
    } else {
        struct gru_attrs *attrs = (void *)call->attrs;
        attrs->steps = steps;
        attrs->hiddenSize = hidden;
        attrs->options.direction = direction;
        attrs->options.bias = maybe_like(r, 128, input.type, bias);
        attrs->options.recurrentBias = maybe_like(r, 128, input.type, bias);
        attrs->options.initialHiddenState = maybe_like(r, 128, input.type, state);
        attrs->options.resetAfter = CHANCE(r, 128);
        attrs->options.returnSequence = CHANCE(r, 128);
        attrs->options.layout = (WNNGruWeightLayout)(1 + BELOW(r, 2));
        attrs->options.activations = take_activations(r, 2);
    }
}

static void prepare_cell(struct recorder *r, struct call *call)
{
    bool lstm = call->op == WNN_OP_lstmCell;
    uint32_t gates = lstm ? 4 : 3, hidden = take_hidden(r);
    struct descriptor input;
    WNNOperand x = pick(r, FLOATS, 2, 2, &input);
    struct shape state = {2, {input.shape.dim[0], hidden}};
    put(call, x);
    put(call, like(r, input.type, (struct shape){2, {gates * hidden, input.shape.dim[1]}}));
    put(call, like(r, input.type, (struct shape){2, {gates * hidden, hidden}}));
    put(call, like(r, input.type, state));
    if (lstm) {
        struct lstm_cell_attrs *attrs = (void *)call->attrs;
        put(call, like(r, input.type, state));
        attrs->hiddenSize = hidden;
        attrs->options.bias = maybe_like(r, 128, input.type, vector(gates * hidden));
        attrs->options.recurrentBias = maybe_like(r, 128, input.type, vector(gates * hidden));
        attrs->options.peepholeWeight = maybe_like(r, 128, input.type, vector(3 * hidden));
        attrs->options.layout = (WNNLstmWeightLayout)(1 + BELOW(r, 2));
        attrs->options.activations = take_activations(r, 3);
    } else {
        struct gru_cell_attrs *attrs = (void *)call->attrs;
        attrs->hiddenSize = hidden;
        attrs->options.bias = maybe_like(r, 128, input.type, vector(gates * hidden));
        attrs->options.recurrentBias = maybe_like(r, 128, input.type, vector(gates * hidden));
        attrs->options.resetAfter = CHANCE(r, 128);
        attrs->options.layout = (WNNGruWeightLayout)(1 + BELOW(r, 2));
        attrs->options.activations = take_activations(r, 2);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Elements, and where they go
// ---------------------------------------------------------------------------------------------------------------

static void prepare_binary(struct recorder *r, struct call *call)
{
    const struct op_row *rows = wnn_ops[call->op].rows;
    struct descriptor a;
    WNNOperand first = pick(r, rows[0].types, 0, WNN_MAX_RANK, &a), second = first;
    uint8_t byte = take(r->bytes);
    if (byte >= 32)
        second = like(r, a.type, narrowed(r, a.shape));
    bool swap = byte % 4 == 3 && call->op != WNN_OP_prelu;
    put(call, swap ? second : first);
    put(call, swap ? first : second);
}

static void prepare_where(struct recorder *r, struct call *call)
{
    struct descriptor a;
    WNNOperand first = pick(r, ALL, 0, WNN_MAX_RANK, &a);
    put(call, like(r, WNNDataType_Uint8, narrowed(r, a.shape)));
    put(call, first);
    put(call, like(r, a.type, narrowed(r, a.shape)));
}

static void prepare_quantize(struct recorder *r, struct call *call)
{
    const struct op_row *rows = wnn_ops[call->op].rows;
    bool dequantize = call->op == WNN_OP_dequantizeLinear;
    struct descriptor type;
    put(call, pick(r, rows[0].types, 0, WNN_MAX_RANK, &type));
    struct shape scale = type.shape;
    uint8_t byte = take(r->bytes);
    for (unsigned d = 0; d < scale.rank; d++)
        if (byte % 4 == 0) // one of all, of each, of some dimensions, or of blocks
            scale.dim[d] = 1;
        else if (byte % 4 == 2)
            scale.dim[d] = CHANCE(r, 128) ? 1 : scale.dim[d];
        else if (byte % 4 == 3)
            scale.dim[d] = scale.dim[d] % 4 == 0 ? scale.dim[d] / 4 : scale.dim[d] % 3 ? 1 : scale.dim[d] / 3;
    put(call, like(r, dequantize ? take_type(r, FLOATS) : type.type, scale));
    put(call, like(r, dequantize ? type.type : take_type(r, rows[2].types), scale));
}

static void take_axes(struct recorder *r, WNNUint32List *list, unsigned rank)
{
    uint8_t byte = take(r->bytes);
    if (byte < 64)
        return; // absent
    unsigned count = byte < 140 && rank > 0 ? 1 : BELOW(r, rank + 1);
    uint32_t *axes = new_list(r, count, list);
    uint32_t first = BELOW(r, rank);
    for (unsigned i = 0; i < count; i++)
        axes[i] = (first + (byte & 1 ? i : rank - i)) % rank;
}

static void prepare_reduction(struct recorder *r, struct call *call)
{
    const struct op_row *rows = wnn_ops[call->op].rows;
    struct descriptor type;
    put(call, pick(r, rows[0].types, rows[0].min_rank, WNN_MAX_RANK, &type));
    unsigned rank = type.shape.rank;
    if (call->op == WNN_OP_argMin || call->op == WNN_OP_argMax) {
        struct arg_min_max_attrs *attrs = (void *)call->attrs;
        attrs->axis = BELOW(r, rank);
        attrs->options.keepDimensions = CHANCE(r, 128);
        attrs->options.outputDataType = CHANCE(r, 128) ? WNNDataType_Int64 : WNNDataType_Int32;
    } else if (call->op == WNN_OP_argMinAxes || call->op == WNN_OP_argMaxAxes) {
        WNNArgMinMaxAxesOptions *options = (void *)call->attrs;
        take_axes(r, &options->axes, rank);
        options->keepDimensions = CHANCE(r, 128);
        options->selectLastIndex = CHANCE(r, 128);
    } else if (call->op == WNN_OP_reverse) {
        take_axes(r, &((WNNReverseOptions *)(void *)call->attrs)->axes, rank);
    } else if (call->op == WNN_OP_softmax) {
        ((struct softmax_attrs *)(void *)call->attrs)->axis = BELOW(r, rank);
    } else if (call->op == WNN_OP_cumulativeSum) {
        struct cumulative_sum_attrs *attrs = (void *)call->attrs;
        attrs->axis = BELOW(r, rank);
        attrs->options.exclusive = CHANCE(r, 128);
        attrs->options.reversed = CHANCE(r, 128);
    } else {
        WNNReduceOptions *options = (void *)call->attrs;
        take_axes(r, &options->axes, rank);
        options->keepDimensions = CHANCE(r, 128);
    }
}

static void prepare_gather(struct recorder *r, struct call *call)
{
    struct descriptor type;
    put(call, pick(r, ALL, 1, WNN_MAX_RANK, &type));
    struct shape *shape = &type.shape, indices = *shape, updates;
    WNNDataType index_type = take_type(r, INDICES);
    uint32_t axis = BELOW(r, shape->rank);
    switch ((int)call->op) {
    case WNN_OP_gather:
        ((WNNGatherOptions *)(void *)call->attrs)->axis = axis;
        put(call, like(r, index_type, take_shape(r, 0, WNN_MAX_RANK + 1 - shape->rank)));
        return;
    case WNN_OP_gatherElements:
        ((WNNGatherOptions *)(void *)call->attrs)->axis = axis;
        indices.dim[axis] = take_size(r);
        put(call, like(r, index_type, indices));
        return;
    case WNN_OP_scatterElements:
        ((WNNScatterElementsOptions *)(void *)call->attrs)->axis = axis;
        indices.dim[axis] = take_size(r);
        put(call, like(r, index_type, indices));
        put(call, like(r, type.type, indices));
        return;
    default:
        break;
    }
    uint32_t coordinates = 1 + BELOW(r, shape->rank), room = WNN_MAX_RANK - (shape->rank - coordinates);
    indices = updates = take_shape(r, 0, room < 3 ? room : 3);
    indices.rank = updates.rank = indices.rank < WNN_MAX_RANK ? indices.rank : WNN_MAX_RANK - 1;
    wnn_shape_append(&indices, &coordinates, 1);
    wnn_shape_append(&updates, shape->dim + coordinates, shape->rank - coordinates);
    put(call, like(r, index_type, indices));
    if (call->op == WNN_OP_scatterND)
        put(call, like(r, type.type, updates));
}

static void prepare_concat(struct recorder *r, struct call *call)
{
    struct descriptor type;
    WNNOperand first = pick(r, ALL, 1, WNN_MAX_RANK, &type);
    uint32_t axis = BELOW(r, type.shape.rank), count = CHANCE(r, 16) ? MAX_INPUTS : 1 + BELOW(r, 4);
    ((struct concat_attrs *)(void *)call->attrs)->axis = axis;
    put(call, first);
    for (uint32_t i = 1; i < count; i++) {
        struct shape shape = type.shape;
        if (CHANCE(r, 100))
            shape.dim[axis] = take_size(r);
        put(call, CHANCE(r, 60) ? first : like(r, type.type, shape));
    }
}

static void prepare_split(struct recorder *r, struct call *call)
{
    struct split_attrs *attrs = (void *)call->attrs;
    struct descriptor type;
    put(call, pick(r, ALL, 1, WNN_MAX_RANK, &type));
    uint32_t axis = attrs->options.axis = BELOW(r, type.shape.rank), size = type.shape.dim[axis];
    attrs->count = 1;
    attrs->sizes = (WNNUint32List)WNN_UINT32_LIST_INIT;
    if (CHANCE(r, 128)) {
        uint32_t count = 1 + BELOW(r, size < 4 ? size : 4), *sizes = new_list(r, count, &attrs->sizes);
        for (uint32_t i = 0; i + 1 < count; i++, size -= sizes[i - 1])
            sizes[i] = 1 + BELOW(r, size - (count - 1 - i));
        sizes[count - 1] = size;
    } else {
        for (uint32_t parts = 2 + BELOW(r, MAX_OUTPUTS); parts > 1 && attrs->count == 1; parts--)
            attrs->count = size % parts == 0 ? parts : 1;
    }
}

static void prepare_shape(struct recorder *r, struct call *call)
{
    struct descriptor type;
    put(call, pick(r, ALL, call->op == WNN_OP_triangular ? 2 : 0, WNN_MAX_RANK, &type));
    const struct shape *shape = &type.shape;
    unsigned rank = shape->rank;
    uint32_t *items;
    switch ((int)call->op) {
    case WNN_OP_reshape: {
        struct expand_attrs *attrs = (void *)call->attrs;
        size_t left = wnn_shape_elements(shape);
        unsigned count = left == 1 ? BELOW(r, 3) : 1 + BELOW(r, 6);
        items = new_list(r, count, &attrs->newShape);
        for (unsigned i = 0; i < count; i++) {
            uint32_t factor = rank ? shape->dim[BELOW(r, rank)] : 1;
            factor = CHANCE(r, 80) ? 2 : factor;
            items[i] = i + 1 == count ? (uint32_t)left : left % factor == 0 ? factor : 1;
            left /= items[i];
        }
        break;
    }
    case WNN_OP_expand: {
        struct expand_attrs *attrs = (void *)call->attrs;
        unsigned more = rank < WNN_MAX_RANK ? BELOW(r, 2) : 0;
        size_t room = CHANNELS / wnn_shape_elements(shape) + 1;
        items = new_list(r, rank + more, &attrs->newShape);
        for (unsigned i = 0; i < rank + more; i++)
            items[i] =
                i >= more && shape->dim[i - more] != 1 ? shape->dim[i - more] : limit(take_size(r), &room);
        break;
    }
    case WNN_OP_tile: {
        struct tile_attrs *attrs = (void *)call->attrs;
        size_t room = CHANNELS / wnn_shape_elements(shape) + 1;
        items = new_list(r, rank, &attrs->repetitions);
        for (unsigned i = 0; i < rank; i++)
            items[i] = CHANCE(r, 128) ? limit(1 + BELOW(r, 9), &room) : 1;
        break;
    }
    case WNN_OP_transpose: {
        WNNTransposeOptions *options = (void *)call->attrs;
        uint8_t byte = take(r->bytes);
        if (byte < 32)
            break;
        items = new_list(r, rank, &options->permutation);
        for (unsigned i = 0; i < rank; i++)
            items[i] = byte >= 160 && i < 1      ? 0
                       : byte >= 160 && rank > 1 ? 1 + (i - 1 + byte) % (rank - 1)
                                                 : i;
        for (unsigned i = 0; byte < 160 && i + 1 < rank; i++) {
            unsigned k = i + BELOW(r, rank - i);
            uint32_t one = items[i];
            items[i] = items[k];
            items[k] = one;
        }
        break;
    }
    case WNN_OP_pad: {
        static const uint8_t amounts[] = {0, 0, 0, 1, 1, 2, 3, 5, 8, 16, 17, 40};
        struct pad_attrs *attrs = (void *)call->attrs;
        attrs->options.mode = (WNNPaddingMode)(1 + BELOW(r, 4));
        if (CHANCE(r, 80))
            attrs->options.value = wnnNumberFloat64(take_real(r));
        uint32_t *begin = new_list(r, rank, &attrs->beginningPadding),
                 *end = new_list(r, rank, &attrs->endingPadding);
        for (unsigned i = 0; i < rank; i++) {
            uint32_t most = attrs->options.mode == WNNPaddingMode_Reflection  ? shape->dim[i] - 1
                            : attrs->options.mode == WNNPaddingMode_Symmetric ? shape->dim[i]
                                                                              : 40;
            begin[i] = CHOOSE(r, amounts);
            end[i] = CHOOSE(r, amounts);
            begin[i] = begin[i] < most ? begin[i] : most;
            end[i] = end[i] < most ? end[i] : most;
        }
        break;
    }
    case WNN_OP_slice: {
        struct slice_attrs *attrs = (void *)call->attrs;
        uint32_t *starts = new_list(r, rank, &attrs->starts), *sizes = new_list(r, rank, &attrs->sizes);
        for (unsigned i = 0; i < rank; i++) {
            starts[i] = CHANCE(r, 128) ? BELOW(r, shape->dim[i]) : 0;
            sizes[i] = shape->dim[i] - starts[i];
            sizes[i] = CHANCE(r, 80) ? 1 + BELOW(r, sizes[i]) : sizes[i];
        }
        if (CHANCE(r, 100)) {
            items = new_list(r, rank, &attrs->options.strides);
            for (unsigned i = 0; i < rank; i++)
                items[i] = 1 + BELOW(r, 4) * BELOW(r, 4);
        }
        break;
    }
    default: {
        WNNTriangularOptions *options = (void *)call->attrs;
        options->upper = CHANCE(r, 128);
        options->diagonal = (int32_t)BELOW(r, 40) - 20;
    }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Calls
// ---------------------------------------------------------------------------------------------------------------

#define STORE(type, ...)                                                                                     \
    do {                                                                                                     \
        type value_ = __VA_ARGS__;                                                                           \
        memcpy(at, &value_, sizeof value_);                                                                  \
    } while (0)

// Any value of the attribute's C type.
static void spoil_attribute(struct recorder *r, const struct op_row *row, char *at)
{
    size_t length = take(r->bytes) % (MAX_ITEMS + 2);
    union {
        uint32_t integers[MAX_ITEMS];
        float floats[MAX_ITEMS];
        WNNActivation activations[MAX_ITEMS];
    } *list = r->list_count < MAX_LISTS ? (void *)&r->lists[r->list_count++] : NULL;
    if (length > MAX_ITEMS)
        length = WNN_LIST_ABSENT;
    switch (row->attr) {
    case ATTR_u32:
    case ATTR_i32:
    case ATTR_dtype:
    case ATTR_enum:
        STORE(uint32_t, take_hostile(r));
        break;
    case ATTR_bool:
        STORE(bool, take(r->bytes) & 1);
        break;
    case ATTR_f64:
        STORE(double, take_real(r));
        break;
    case ATTR_number:
        STORE(WNNNumber,
              take(r->bytes) & 1 ? wnnNumberFloat64(take_real(r)) : wnnNumberUint64(take_hostile(r)));
        break;
    case ATTR_activation:
        STORE(WNNActivation, take_activation(r));
        break;
    case ATTR_u32s:
        for (size_t i = 0; list && i < length && i < MAX_ITEMS; i++)
            list->integers[i] = take_hostile(r);
        STORE(WNNUint32List, {list ? list->integers : NULL, length});
        break;
    case ATTR_f32s:
        for (size_t i = 0; list && i < length && i < MAX_ITEMS; i++)
            list->floats[i] = (float)take_real(r);
        STORE(WNNFloat32List, {list ? list->floats : NULL, length});
        break;
    case ATTR_activations:
        for (size_t i = 0; list && i < length && i < MAX_ITEMS; i++)
            list->activations[i] = take_activation(r);
        STORE(WNNActivationList, {list ? list->activations : NULL, length});
        break;
    }
}

// Replaces an operand or an attribute by another, which mostly does not fit.
static void spoil(struct recorder *r, struct call *call)
{
    const struct op_row *rows = wnn_ops[call->op].rows;
    unsigned count = 0;
    while (rows[count].name)
        count++;
    const struct op_row *row = &rows[take(r->bytes) % count];
    WNNOperand other =
        r->operand_count && !CHANCE(r, 40) ? r->operands[BELOW(r, (uint32_t)r->operand_count)].operand : NULL;
    char *at = call->attrs + row->offset;
    if (row->kind == ROW_ATTRIBUTE)
        spoil_attribute(r, row, at);
    else if (row->kind == ROW_OPTIONAL_INPUT)
        STORE(WNNOperand, other);
    else
        call->in[take(r->bytes) % (call->count ? call->count : 1)] = other;
}

static void prepare_options(struct recorder *r, struct call *call)
{
    // Plain options of operators that work on each element: any finite numbers.
    for (const struct op_row *row = wnn_ops[call->op].rows; row->name; row++)
        if (row->kind == ROW_ATTRIBUTE && CHANCE(r, 128))
            spoil_attribute(r, row, call->attrs + row->offset);
}

static void prepare(struct recorder *r, struct call *call)
{
    const struct op_info *info = &wnn_ops[call->op];
    const struct op_row *rows = info->rows;
    struct descriptor type;
    switch ((int)call->op) {
    case WNN_OP_conv2d:
    case WNN_OP_convTranspose2d:
        prepare_convolution(r, call);
        return;
    case WNN_OP_averagePool2d:
    case WNN_OP_l2Pool2d:
    case WNN_OP_maxPool2d:
        prepare_pool(r, call);
        return;
    case WNN_OP_resample2d:
        prepare_resample(r, call);
        return;
    case WNN_OP_batchNormalization:
    case WNN_OP_instanceNormalization:
    case WNN_OP_layerNormalization:
        prepare_normalization(r, call);
        return;
    case WNN_OP_gemm:
        prepare_gemm(r, call);
        return;
    case WNN_OP_matmul:
        prepare_matmul(r, call);
        return;
    case WNN_OP_gru:
    case WNN_OP_lstm:
        prepare_network(r, call);
        return;
    case WNN_OP_gruCell:
    case WNN_OP_lstmCell:
        prepare_cell(r, call);
        return;
    case WNN_OP_where:
        prepare_where(r, call);
        return;
    case WNN_OP_quantizeLinear:
    case WNN_OP_dequantizeLinear:
        prepare_quantize(r, call);
        return;
    case WNN_OP_argMin:
    case WNN_OP_argMax:
    case WNN_OP_argMinAxes:
    case WNN_OP_argMaxAxes:
    case WNN_OP_reverse:
    case WNN_OP_softmax:
    case WNN_OP_cumulativeSum:
        prepare_reduction(r, call);
        return;
    case WNN_OP_gather:
    case WNN_OP_gatherElements:
    case WNN_OP_gatherND:
    case WNN_OP_scatterElements:
    case WNN_OP_scatterND:
        prepare_gather(r, call);
        return;
    case WNN_OP_concat:
        prepare_concat(r, call);
        return;
    case WNN_OP_split:
        prepare_split(r, call);
        return;
    case WNN_OP_reshape:
    case WNN_OP_expand:
    case WNN_OP_tile:
    case WNN_OP_transpose:
    case WNN_OP_pad:
    case WNN_OP_slice:
    case WNN_OP_triangular:
        prepare_shape(r, call);
        return;
    default:
        if (info->infer == wnn_infer_binary || info->infer == wnn_infer_comparison) {
            prepare_binary(r, call);
        } else if (info->infer == wnn_infer_reduce) {
            prepare_reduction(r, call);
        } else {
            put(call, pick(r, rows[0].types, rows[0].min_rank, rows[0].max_rank, &type));
            if (call->op == WNN_OP_cast)
                ((struct cast_attrs *)(void *)call->attrs)->dataType = take_type(r, ALL);
            else
                prepare_options(r, call);
        }
    }
}

static void trace(const struct recorder *r, const struct call *call, const WNNOperand *output)
{
    WNNError error;
    wnnGraphBuilderGetError(r->builder, &error);
    fprintf(stderr, "%s", wnn_ops[call->op].name);
    for (size_t i = 0; i < call->count + (output != NULL); i++) {
        struct descriptor type = type_of(i < call->count ? call->in[i] : *output);
        fprintf(stderr, "%s %s%s", i < call->count ? "" : " ->", wnn_dtype_name(type.type),
                SHAPE_TEXT(&type.shape));
    }
    fprintf(stderr, "  %.*s\n", (int)error.message.length, error.message.data);
}

// The operator's first output, or NULL.
static WNNOperand record(struct recorder *r, enum op op)
{
    static const char label[] = "a label of \xC3\xA4 and \xFF";
    struct call call = {.op = op};
    WNNOperand outputs[MAX_OUTPUTS];
    if (wnn_ops[op].attrs_size > sizeof call.attrs)
        abort();
    memcpy(call.attrs, wnn_ops[op].defaults, wnn_ops[op].attrs_size);
    r->list_count = 0;
    prepare(r, &call);
    uint8_t byte = take(r->bytes);
    for (unsigned i = byte >= 232 ? byte % 3 : 0; i > 0; i--)
        spoil(r, &call);
    if (byte % 16 == 1) // well-formed, or with its last byte
        ((WNNOperatorOptions *)(void *)call.attrs)->label =
            (WNNStringView){label, byte < 224 ? 8 : sizeof label - 1};
    size_t capacity = byte == 255 ? 1 : MAX_OUTPUTS;
    if (op == WNN_OP_gru || op == WNN_OP_lstm || op == WNN_OP_lstmCell)
        capacity = MAX_OUTPUTS; // the functions write three
    size_t count =
        fuzz_call(r->builder, op, call.count, call.in, call.attrs, byte % 16 == 2, capacity, outputs);
    for (size_t i = 0; i < count && i < capacity; i++)
        keep(r, outputs[i], true);
    if (getenv("WNN_FUZZ_TRACE"))
        trace(r, &call, count ? outputs : NULL);
    return count ? outputs[0] : NULL;
}

void fuzz_record_operator(struct recorder *r)
{
    record(r, (enum op)(take(r->bytes) % WNN_OP_COUNT));
}

void fuzz_record_source(struct recorder *r)
{
    struct descriptor type = {take_type(r, ALL | I4 | U4), {.rank = 0}};
    uint8_t byte = take(r->bytes);
    if (byte >= 240) { // a shape that is refused, or should be
        type.shape.rank = byte % (WNN_MAX_RANK + 1);
        for (unsigned i = 0; i < type.shape.rank; i++)
            type.shape.dim[i] = take_hostile(r);
        new_source(r, &type);
    } else if (byte >= 232) {
        keep(r, wnnGraphBuilderScalarConstant(r->builder, type.type, wnnNumberFloat64(take_real(r))), false);
    } else if (byte >= 224) {
        WNNNumber start = wnnNumberFloat64(take_real(r)), end = wnnNumberInt64(take_size(r));
        WNNNumber step = wnnNumberFloat64(take_real(r));
        keep(r, wnnGraphBuilderRangeConstant(r->builder, start, end, step, type.type), false);
    } else {
        type.shape = take_shape(r, 0, byte < 200 ? 4 : WNN_MAX_RANK);
        new_source(r, &type);
    }
}

// matmul(softmax(matmul(q, transpose(k)) * scale + mask), v)
static void record_attention(struct recorder *r)
{
    uint32_t heads = 1 + BELOW(r, 3), rows = take_size(r), columns = take_size(r), depth = take_hidden(r);
    WNNDataType type = take_type(r, FLOATS);
    WNNGraphBuilder b = r->builder;
    WNNOperand q = like(r, type, (struct shape){3, {heads, rows, depth}});
    WNNOperand k = like(r, type, (struct shape){3, {heads, columns, depth}});
    WNNOperand v = like(r, type, (struct shape){3, {heads, columns, take_hidden(r)}});
    WNNTransposeOptions order = WNN_TRANSPOSE_OPTIONS_INIT;
    order.permutation = (WNNUint32List){(const uint32_t[]){0, 2, 1}, 3};
    WNNOperand x = wnnGraphBuilderMatmul(b, q, wnnGraphBuilderTranspose(b, k, &order), NULL);
    if (!CHANCE(r, 64))
        x = wnnGraphBuilderMul(b, x, wnnGraphBuilderScalarConstant(b, type, wnnNumberFloat64(0.25)), NULL);
    if (!CHANCE(r, 128))
        x = wnnGraphBuilderAdd(b, x, like(r, type, narrowed(r, (struct shape){3, {heads, rows, columns}})),
                               NULL);
    x = wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, x, 2, NULL), v, NULL);
    keep(r, x, true);
}

// A product or convolution of dequantised operands whose result is quantised again.
static void record_quantized(struct recorder *r)
{
    WNNGraphBuilder b = r->builder;
    WNNDataType type = CHANCE(r, 128) ? WNNDataType_Uint8 : WNNDataType_Int8, weights = type;
    bool convolution = CHANCE(r, 128);
    if (CHANCE(r, 60))
        weights = CHANCE(r, 128) ? WNNDataType_Int4 : WNNDataType_Int8;
    struct window window = take_window(r);
    size_t room = CHANNELS;
    uint32_t in = limit(take_channels(r), &room),
             out = limited(r, FILTER / (in * window.size[0] * window.size[1]) + 1);
    uint32_t height = limit(reach(&window, 0) + take_size(r) / 8, &room),
             width = limit(reach(&window, 1), &room);
    struct shape x =
        convolution ? (struct shape){4, {1, height, width, in}} : (struct shape){2, {take_size(r), in}};
    struct shape w = convolution ? (struct shape){4, {out, window.size[0], window.size[1], in}}
                                 : (struct shape){2, {in, out}};
    struct shape one = {x.rank, {1, 1, 1, 1}}, each = one;
    if (CHANCE(r, 128))
        each.dim[convolution ? 0 : 1] = out;
    WNNOperand operands[2];
    for (unsigned i = 0; i < 2; i++) {
        WNNDataType integer = i == 0 ? type : weights;
        operands[i] = like(r, integer, i == 0 ? x : w);
        WNNOperand scale = like(r, WNNDataType_Float32, i == 0 ? one : each);
        WNNOperand zero = like(r, integer, i == 0 ? one : each);
        operands[i] = wnnGraphBuilderDequantizeLinear(b, operands[i], scale, zero, NULL);
    }
    WNNOperand y;
    if (convolution) {
        WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
        r->list_count = 0;
        set_window(r, &window, &options.padding, &options.strides, &options.dilations);
        options.inputLayout = WNNInputOperandLayout_NHWC;
        options.filterLayout = WNNConv2dFilterOperandLayout_OHWI;
        options.activation = CHANCE(r, 100) ? take_activation(r) : NULL;
        y = wnnGraphBuilderConv2d(b, operands[0], operands[1], &options);
    } else {
        y = wnnGraphBuilderMatmul(b, operands[0], operands[1], NULL);
    }
    keep(r, y, true);
    if (CHANCE(r, 128)) {
        y = wnnGraphBuilderRelu(b, y, NULL);
        WNNOperand scale = like(r, WNNDataType_Float32, one), zero = like(r, type, one);
        y = wnnGraphBuilderQuantizeLinear(b, y, scale, zero, NULL);
        keep(r, y, true);
    }
}

void fuzz_record_motif(struct recorder *r)
{
    static const uint8_t motifs[][10] = {
        {WNN_OP_conv2d, WNN_OP_batchNormalization, WNN_OP_relu},
        {WNN_OP_pad, WNN_OP_conv2d, WNN_OP_add, WNN_OP_clamp},
        {WNN_OP_transpose, WNN_OP_conv2d, WNN_OP_mul, WNN_OP_add, WNN_OP_transpose},
        {WNN_OP_convTranspose2d, WNN_OP_batchNormalization, WNN_OP_leakyRelu, WNN_OP_maxPool2d},
        {WNN_OP_conv2d, WNN_OP_averagePool2d, WNN_OP_reshape, WNN_OP_gemm, WNN_OP_softmax},
        {WNN_OP_matmul, WNN_OP_add, WNN_OP_gelu, WNN_OP_matmul, WNN_OP_add, WNN_OP_layerNormalization},
        {WNN_OP_gemm, WNN_OP_add, WNN_OP_sigmoid, WNN_OP_mul},
        {WNN_OP_mul, WNN_OP_erf, WNN_OP_add, WNN_OP_mul, WNN_OP_mul},
        {WNN_OP_reduceMean, WNN_OP_sub, WNN_OP_mul, WNN_OP_reduceMean, WNN_OP_add, WNN_OP_sqrt, WNN_OP_div},
        {WNN_OP_add, WNN_OP_exp, WNN_OP_mul, WNN_OP_tanh, WNN_OP_sub, WNN_OP_abs, WNN_OP_cast, WNN_OP_add},
        {WNN_OP_dequantizeLinear, WNN_OP_transpose, WNN_OP_matmul, WNN_OP_add},
        {WNN_OP_concat, WNN_OP_split, WNN_OP_reshape, WNN_OP_transpose, WNN_OP_slice, WNN_OP_concat},
        {WNN_OP_reshape, WNN_OP_transpose, WNN_OP_reshape, WNN_OP_matmul, WNN_OP_transpose},
        {WNN_OP_resample2d, WNN_OP_conv2d, WNN_OP_add, WNN_OP_hardSwish, WNN_OP_l2Pool2d},
        {WNN_OP_quantizeLinear, WNN_OP_dequantizeLinear, WNN_OP_conv2d, WNN_OP_relu, WNN_OP_quantizeLinear},
        {WNN_OP_softmax, WNN_OP_matmul, WNN_OP_expand, WNN_OP_where, WNN_OP_cumulativeSum},
    };
    uint8_t byte = take(r->bytes) % (COUNT(motifs) + 8);
    if (byte >= COUNT(motifs) + 4) {
        record_quantized(r);
        return;
    }
    if (byte >= COUNT(motifs)) {
        record_attention(r);
        return;
    }
    for (unsigned i = 0; i < COUNT(motifs[0]) && (i == 0 || motifs[byte][i] != 0); i++)
        r->next = record(r, (enum op)motifs[byte][i]);
    r->next = NULL;
}
