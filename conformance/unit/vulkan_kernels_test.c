// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the Vulkan backend that only large operands take, against the processor: transposes by tiles,
// recurrent networks in one dispatch a step; and convolutions that are products of matrices. Skipped where
// Vulkan has no device.

#include "conformance/unit/differential_fixture.h"

#include <math.h>

// ---------------------------------------------------------------------------------------------------------------
// Transposes
// ---------------------------------------------------------------------------------------------------------------

struct permuted {
    unsigned rank;
    uint32_t dims[4], permutation[4];
};

static void make_transpose(struct subject *s)
{
    const struct permuted *p = s->argument;
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){p->permutation, p->rank};
    output(s, wnnGraphBuilderTranspose(s->builder, input(s, p->rank, p->dims), &options));
}

static void test_transposes(WNNContext context, WNNContext cpu)
{
    static const struct permuted cases[] = {
        {2, {64, 128}, {1, 0}},
        {2, {132, 36}, {1, 0}},
        {2, {35, 133}, {1, 0}}, // words of small elements have those of two lines
        {2, {16, 17}, {1, 0}},
        {2, {257, 20}, {1, 0}},
        {3, {3, 68, 40}, {0, 2, 1}},
        {3, {20, 3, 64}, {2, 1, 0}},
        {4, {2, 40, 5, 24}, {0, 2, 3, 1}},
        {4, {2, 5, 24, 40}, {0, 3, 1, 2}},
        {4, {20, 2, 3, 36}, {3, 1, 2, 0}},
        {3, {2, 3, 68}, {0, 2, 1}}, // planes, and lines of what lies in all of them
        {3, {2, 68, 3}, {0, 2, 1}},
        {4, {3, 5, 6, 10}, {0, 2, 3, 1}},
        {4, {3, 6, 10, 7}, {0, 3, 1, 2}},
        {4, {4, 3, 2, 44}, {1, 3, 2, 0}},
        {2, {2, 4096}, {1, 0}},
    };
    static const WNNDataType types[] = {WNNDataType_Float32, WNNDataType_Float16, WNNDataType_Int64,
                                        WNNDataType_Int8};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned k = 0; k < 4; k++)
            compare(context, cpu, make_transpose, &cases[i], types[k], 0, "transpose", i);
}

// ---------------------------------------------------------------------------------------------------------------
// Places
// ---------------------------------------------------------------------------------------------------------------

// Where an element lies in its row and its column, and where in what is broadcast to it.
static void make_places(struct subject *s)
{
    const uint32_t *dims = s->argument;
    WNNOperand x = input(s, 3, dims), y = INPUT(s, dims[1], 1), z = INPUT(s, dims[0], 1, dims[2]);
    output(s, wnnGraphBuilderTriangular(s->builder, x, NULL));
    output(s, wnnGraphBuilderAdd(s->builder, x, y, NULL));
    output(s, wnnGraphBuilderAdd(s->builder, x, z, NULL));
}

// Up to 2^16 - 1 elements, and from there on.
static void test_places(WNNContext context, WNNContext cpu)
{
    static const uint32_t cases[][3] = {{15, 17, 257}, {257, 17, 15}, {1, 1, 65535}, {1, 65535, 1},
                                        {65535, 1, 1}, {3, 1, 21845}, {1, 255, 257}, {2, 32767, 1},
                                        {7, 8, 9},     {32, 32, 64},  {3, 151, 149}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        compare(context, cpu, make_places, cases[i], WNNDataType_Float32, 0, "places", i);
}

// Pieces of tensors begin where what a shader is bound to cannot begin, also as results.
static void make_pieces(struct subject *s)
{
    static const uint32_t sizes[] = {1, 256, 3, 254, 65536, 2};
    enum {
        PIECES = sizeof sizes / sizeof sizes[0]
    };
    WNNOperand pieces[PIECES], others[PIECES], x = INPUT(s, 1, 1 + 256 + 3 + 254 + 65536 + 2);
    WNNSplitOptions options = WNN_SPLIT_OPTIONS_INIT;
    options.axis = 1;
    wnnGraphBuilderSplitSizes(s->builder, x, (WNNUint32List){sizes, PIECES}, &options, PIECES, pieces);
    for (unsigned i = 0; i < PIECES; i++) {
        pieces[i] = wnnGraphBuilderTriangular(s->builder, pieces[i], NULL);
        others[i] = wnnGraphBuilderSoftmax(s->builder, pieces[i], 1, NULL);
    }
    output(s, wnnGraphBuilderConcat(s->builder, PIECES, pieces, 1, NULL));
    output(s, wnnGraphBuilderConcat(s->builder, PIECES, others, 1, NULL));
}

static void test_pieces(WNNContext context, WNNContext cpu)
{
    compare(context, cpu, make_pieces, NULL, WNNDataType_Float32, 1e-6, "pieces", 0);
    compare(context, cpu, make_pieces, NULL, WNNDataType_Float16, 1e-3, "pieces", 1);
}

// ---------------------------------------------------------------------------------------------------------------
// Recurrent networks
// ---------------------------------------------------------------------------------------------------------------

struct network {
    bool lstm;
    uint32_t steps, batches, inputs, size;
    WNNRecurrentNetworkDirection direction;
    bool reset_after, biases, peephole, states, sequence, relu;
};

static void make_network(struct subject *s)
{
    const struct network *n = s->argument;
    uint32_t directions = n->direction == WNNRecurrentNetworkDirection_Both ? 2 : 1, gates = n->lstm ? 4 : 3;
    WNNOperand x = INPUT(s, n->steps, n->batches, n->inputs),
               weight = INPUT(s, directions, gates * n->size, n->inputs),
               recurrent = INPUT(s, directions, gates * n->size, n->size), outputs[3] = {NULL};
    // Sums of products of numbers around 0 stay there.
    WNNOperandDescriptor one = WNN_OPERAND_DESCRIPTOR_INIT;
    uint32_t dims[] = {1};
    one.dataType = s->type;
    one.shape = (WNNUint32List){dims, 1};
    float share = 0.1f;
    uint16_t half = wnn_half_from_float(share);
    bool small = s->type == WNNDataType_Float16;
    WNNOperand scale =
        wnnGraphBuilderConstant(s->builder, &one, small ? (void *)&half : &share, small ? 2 : 4);
    weight = wnnGraphBuilderMul(s->builder, weight, scale, NULL);
    recurrent = wnnGraphBuilderMul(s->builder, recurrent, scale, NULL);
    WNNOperand bias = n->biases ? INPUT(s, directions, gates * n->size) : NULL,
               recurrent_bias = n->biases ? INPUT(s, directions, gates * n->size) : NULL,
               hidden = n->states ? INPUT(s, directions, n->batches, n->size) : NULL;
    WNNActivation activations[] = {wnnGraphBuilderActivationSigmoid(s->builder, NULL),
                                   wnnGraphBuilderActivationRelu(s->builder, NULL),
                                   wnnGraphBuilderActivationTanh(s->builder, NULL)};
    size_t count;
    if (n->lstm) {
        WNNLstmOptions options = WNN_LSTM_OPTIONS_INIT;
        options.bias = bias;
        options.recurrentBias = recurrent_bias;
        options.initialHiddenState = hidden;
        options.initialCellState = n->states ? INPUT(s, directions, n->batches, n->size) : NULL;
        options.peepholeWeight = n->peephole ? INPUT(s, directions, 3 * n->size) : NULL;
        options.direction = n->direction;
        options.returnSequence = n->sequence;
        if (n->relu)
            options.activations = (WNNActivationList){activations, 3};
        count = wnnGraphBuilderLstm(s->builder, x, weight, recurrent, n->steps, n->size, &options, outputs);
    } else {
        WNNGruOptions options = WNN_GRU_OPTIONS_INIT;
        options.bias = bias;
        options.recurrentBias = recurrent_bias;
        options.initialHiddenState = hidden;
        options.resetAfter = n->reset_after;
        options.direction = n->direction;
        options.returnSequence = n->sequence;
        if (n->relu)
            options.activations = (WNNActivationList){activations, 2};
        count = wnnGraphBuilderGru(s->builder, x, weight, recurrent, n->steps, n->size, &options, outputs);
    }
    REQUIRE(count > 0);
    for (size_t i = 0; i < count; i++)
        output(s, outputs[i]);
}

static void test_networks(WNNContext context, WNNContext cpu)
{
#define FORWARD  WNNRecurrentNetworkDirection_Forward
#define BACKWARD WNNRecurrentNetworkDirection_Backward
#define BOTH     WNNRecurrentNetworkDirection_Both
    static const struct network cases[] = {
        // lstm, steps, batches, inputs, size, direction, reset_after, biases, peephole, states, sequence,
        // relu
        {false, 4, 1, 20, 152, FORWARD, true, true, false, false, true, false},
        {false, 3, 2, 70, 152, BOTH, false, true, false, true, true, false},
        {false, 3, 3, 7, 151, BACKWARD, false, false, false, false, false, false},
        {false, 5, 5, 80, 149, BOTH, true, true, false, true, false, true},
        {false, 70, 1, 3, 12, BOTH, true, true, false, false, true, false},
        {false, 2, 2, 5, 100, FORWARD, false, true, false, true, true, false},
        {true, 4, 1, 20, 132, FORWARD, false, true, true, false, true, false},
        {true, 3, 6, 66, 130, BOTH, false, true, true, true, true, true},
        {true, 2, 3, 9, 129, BACKWARD, false, false, false, false, false, false},
        {true, 3, 1, 100, 72, BOTH, false, true, true, true, true, false},
        {true, 75, 2, 6, 120, BOTH, false, true, false, true, true, false}, // in two dispatches
        {false, 90, 1, 70, 128, BACKWARD, false, true, false, false, true, false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        compare(context, cpu, make_network, &cases[i], WNNDataType_Float32, 3e-6, "recurrent network", i);
        if (i % 3 == 1)
            compare(context, cpu, make_network, &cases[i], WNNDataType_Float16, 2e-3, "recurrent network", i);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Convolutions of images with their channels second
// ---------------------------------------------------------------------------------------------------------------

static void make_convolution(struct subject *s)
{
    const uint32_t *groups = s->argument;
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.groups = *groups;
    options.padding = (WNNUint32List){(const uint32_t[]){1, 1, 1, 1}, 4};
    options.bias = INPUT(s, 64);
    output(s, wnnGraphBuilderConv2d(s->builder, INPUT(s, 1, 64, 31, 29), INPUT(s, 64, 64 / *groups, 3, 3),
                                    &options));
}

static void test_convolutions(WNNContext context, WNNContext cpu)
{
    static const uint32_t groups[] = {1, 16};
    for (unsigned i = 0; i < 2; i++)
        compare(context, cpu, make_convolution, &groups[i], WNNDataType_Float32, 1e-4, "convolution", i);
}

// Windows that share no element: side by side, or all of an image.
struct windows {
    bool transposed, nhwc;
    uint32_t filter_layout, input[4], filter[4], outputs, stride;
};

static WNNOperand constant(struct subject *s, unsigned rank, const uint32_t *dims)
{
    uint32_t count = 1;
    for (unsigned i = 0; i < rank; i++)
        count *= dims[i];
    return constant_any(s, rank, dims, count);
}

static void make_windows(struct subject *s)
{
    const struct windows *w = s->argument;
    WNNInputOperandLayout layout = w->nhwc ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
    WNNUint32List strides = {(const uint32_t[]){w->stride, w->stride}, 2};
    WNNOperand x = input(s, 4, w->input), filter = constant(s, 4, w->filter),
               bias = constant(s, 1, &w->outputs);
    if (w->transposed) {
        WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
        options.strides = strides;
        options.inputLayout = layout;
        options.filterLayout = (WNNConvTranspose2dFilterOperandLayout)w->filter_layout;
        options.bias = bias;
        output(s, wnnGraphBuilderConvTranspose2d(s->builder, x, filter, &options));
    } else {
        WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
        options.strides = strides;
        options.inputLayout = layout;
        options.filterLayout = (WNNConv2dFilterOperandLayout)w->filter_layout;
        options.bias = bias;
        output(s, wnnGraphBuilderConv2d(s->builder, x, filter, &options));
    }
}

static void test_windows(WNNContext context, WNNContext cpu)
{
    enum {
        OIHW = WNNConv2dFilterOperandLayout_OIHW,
        HWIO = WNNConv2dFilterOperandLayout_HWIO,
        OHWI = WNNConv2dFilterOperandLayout_OHWI,
        IHWO = WNNConv2dFilterOperandLayout_IHWO,
        IOHW = WNNConvTranspose2dFilterOperandLayout_IOHW,
        HWOI = WNNConvTranspose2dFilterOperandLayout_HWOI,
        TRANSPOSED_OHWI = WNNConvTranspose2dFilterOperandLayout_OHWI
    };
    static const struct windows cases[] = {
        {false, false, OIHW, {2, 3, 64, 80}, {40, 3, 16, 16}, 40, 16},
        {false, true, HWIO, {1, 64, 80, 3}, {16, 16, 3, 72}, 72, 16},
        {false, true, OHWI, {3, 96, 64, 1}, {32, 8, 8, 1}, 32, 8},
        {false, false, IHWO, {1, 4, 96, 96}, {4, 8, 8, 56}, 56, 8},
        {true, false, IOHW, {2, 24, 16, 20}, {24, 20, 4, 4}, 20, 4},
        {true, true, HWOI, {1, 18, 16, 48}, {2, 2, 32, 48}, 32, 2},
        {true, true, TRANSPOSED_OHWI, {1, 20, 20, 32}, {12, 3, 3, 32}, 12, 3},
        {false, true, OHWI, {1, 7, 5, 32}, {72, 7, 5, 32}, 72, 1},
        {false, true, IHWO, {3, 6, 6, 16}, {16, 6, 6, 136}, 136, 1},
        {false, false, OIHW, {2, 32, 7, 7}, {40, 32, 7, 7}, 40, 2},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        compare(context, cpu, make_windows, &cases[i], WNNDataType_Float32, 1e-4, "windows", i);
        compare(context, cpu, make_windows, &cases[i], WNNDataType_Float16, 2e-3, "windows", i);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Elements
// ---------------------------------------------------------------------------------------------------------------

static void make_wholes(struct subject *s)
{
    WNNOperand a = INPUT(s, 30001), b = INPUT(s, 30001);
    output(s, wnnGraphBuilderDiv(s->builder, a, b, NULL));
    output(s, wnnGraphBuilderPow(s->builder, a, b, NULL));
    output(s, wnnGraphBuilderLesserOrEqual(s->builder, a, b, NULL));
    b = wnnGraphBuilderCast(s->builder, wnnGraphBuilderCast(s->builder, b, WNNDataType_Int8, NULL), s->type,
                            NULL);
    output(s, wnnGraphBuilderDiv(s->builder, a, b, NULL));
    output(s, wnnGraphBuilderPow(s->builder, a, b, NULL));
}

// Parts of words are read, and two elements of 64 bits are computed at once.
static void make_casts(struct subject *s)
{
    WNNOperand x = INPUT(s, 30001);
    output(s, wnnGraphBuilderCast(s->builder, x, WNNDataType_Int64, NULL));
    output(s, wnnGraphBuilderCast(s->builder, x, WNNDataType_Int8, NULL));
    output(s, wnnGraphBuilderCast(s->builder, x, WNNDataType_Float32, NULL));
}

// Many quotients of the multiples of 2^-11 and these scales lie between two integers.
static void make_quantized(struct subject *s)
{
    static const float scales[] = {0x1p-8f, 3 * 0x1p-9f, 5 * 0x1p-10f, 0.011f, 1e-5f, 3e-31f};
    const WNNDataType *type = s->argument;
    const uint32_t rows = sizeof scales / sizeof scales[0];
    uint16_t halves[sizeof scales / sizeof scales[0]];
    int32_t zeros[sizeof scales / sizeof scales[0]] = {0};
    for (unsigned i = 0; i < rows; i++)
        halves[i] = wnn_half_from_float(scales[i]);
    ((signed char *)zeros)[1] = 5;
    ((signed char *)zeros)[2] = 117;
    WNNOperandDescriptor column = WNN_OPERAND_DESCRIPTOR_INIT;
    column.dataType = s->type;
    column.shape = (WNNUint32List){(const uint32_t[]){rows, 1}, 2};
    WNNOperand scale = s->type == WNNDataType_Float16
                           ? wnnGraphBuilderConstant(s->builder, &column, halves, sizeof halves)
                           : wnnGraphBuilderConstant(s->builder, &column, scales, sizeof scales);
    column.dataType = *type;
    WNNOperand zero = wnnGraphBuilderConstant(s->builder, &column, zeros, wnn_dtype_bytes(*type, rows));
    WNNOperand x = INPUT(s, rows, 4096), y = wnnGraphBuilderQuantizeLinear(s->builder, x, scale, zero, NULL);
    output(s, y);
    output(s, wnnGraphBuilderDequantizeLinear(s->builder, y, scale, zero, NULL));
}

// So many that an invocation has two parts.
static void make_large_quantized(struct subject *s)
{
    const WNNDataType *type = s->argument;
    uint16_t scales[512];
    int32_t zeros[512];
    for (unsigned i = 0; i < 512; i++) {
        scales[i] = wnn_half_from_float(0x1p-8f * (float)(1 + i % 5));
        zeros[i] = (int32_t)i - 300;
    }
    WNNOperandDescriptor column = {NULL, s->type, {(const uint32_t[]){512, 1}, 2}};
    WNNOperand scale = wnnGraphBuilderConstant(s->builder, &column, scales, sizeof scales);
    column.dataType = *type;
    WNNOperand zero = wnnGraphBuilderConstant(s->builder, &column, zeros, sizeof zeros);
    output(s, wnnGraphBuilderQuantizeLinear(s->builder, INPUT(s, 512, 1024), scale, zero, NULL));
}

static void test_elements(WNNContext context, WNNContext cpu)
{
    static const WNNDataType wholes[] = {WNNDataType_Int8, WNNDataType_Uint8, WNNDataType_Int32,
                                         WNNDataType_Int64, WNNDataType_Uint64},
                             quantized[] = {WNNDataType_Int8, WNNDataType_Uint8, WNNDataType_Int32,
                                            WNNDataType_Uint4};
    for (unsigned i = 0; i < sizeof wholes / sizeof wholes[0]; i++) {
        compare(context, cpu, make_wholes, NULL, wholes[i], 0, "integers", i);
        compare(context, cpu, make_casts, NULL, wholes[i], 0, "cast", i);
    }
    compare(context, cpu, make_casts, NULL, WNNDataType_Float16, 0, "cast", 5);
    static const WNNDataType type = WNNDataType_Int32;
    compare(context, cpu, make_large_quantized, &type, WNNDataType_Float16, 0, "quantized", 0);
    for (unsigned i = 0; i < sizeof quantized / sizeof quantized[0]; i++) {
        compare(context, cpu, make_quantized, &quantized[i], WNNDataType_Float32, 0, "quantized", i);
        compare(context, cpu, make_quantized, &quantized[i], WNNDataType_Float16, 0, "quantized", i);
    }
}

static void test_device(WNNContext context, WNNContext cpu)
{
    CASE(test_transposes(context, cpu));
    CASE(test_places(context, cpu));
    CASE(test_pieces(context, cpu));
    CASE(test_networks(context, cpu));
    CASE(test_convolutions(context, cpu));
    CASE(test_windows(context, cpu));
    CASE(test_elements(context, cpu));
}

static void test_minimal(WNNContext context, WNNContext cpu)
{
    CASE(test_networks(context, cpu));
    CASE(test_windows(context, cpu));
    CASE(test_elements(context, cpu));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    return run_on_devices(test_device, test_minimal, NULL);
}
