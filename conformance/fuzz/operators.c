// SPDX-License-Identifier: Apache-2.0
//
// What the operators of a program are, and what the compiler makes one of.
#include "conformance/fuzz/operands.h"

#include <stdio.h>

#define STORE(type, ...)                                                                                     \
    do {                                                                                                     \
        type value_ = __VA_ARGS__;                                                                           \
        memcpy(at, &value_, sizeof value_);                                                                  \
    } while (0)

// Any value of the attribute's C type.
static void spoil_attribute(struct recorder *r, const struct op_row *row, char *at)
{
    size_t length = take(r->bytes) % (MAX_ITEMS + 2);
    union list *list = r->list_count < MAX_LISTS ? &r->lists[r->list_count++] : NULL;
    if (length > MAX_ITEMS)
        length = WNN_LIST_ABSENT;
    switch (row->attr) {
    case ATTR_u32:
    case ATTR_i32:
    case ATTR_dtype:
    case ATTR_enum:
        STORE(uint32_t, fuzz_take_hostile(r));
        break;
    case ATTR_bool:
        STORE(bool, take(r->bytes) & 1);
        break;
    case ATTR_f64:
        STORE(double, fuzz_take_real(r));
        break;
    case ATTR_number:
        STORE(WNNNumber, take(r->bytes) & 1 ? wnnNumberFloat64(fuzz_take_real(r))
                                            : wnnNumberUint64(fuzz_take_hostile(r)));
        break;
    case ATTR_activation:
        STORE(WNNActivation, fuzz_take_activation(r));
        break;
    case ATTR_u32s:
        for (size_t i = 0; list && i < length && i < MAX_ITEMS; i++)
            list->integers[i] = fuzz_take_hostile(r);
        STORE(WNNUint32List, {list ? list->integers : NULL, length});
        break;
    case ATTR_f32s:
        for (size_t i = 0; list && i < length && i < MAX_ITEMS; i++)
            list->floats[i] = (float)fuzz_take_real(r);
        STORE(WNNFloat32List, {list ? list->floats : NULL, length});
        break;
    case ATTR_activations:
        for (size_t i = 0; list && i < length && i < MAX_ITEMS; i++)
            list->activations[i] = fuzz_take_activation(r);
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

// clang-format off
#define BY(how, op) [WNN_OP_##op] = fuzz_prepare_##how
static preparation *const preparations[WNN_OP_COUNT] = {
    BY(convolution, conv2d), BY(convolution, convTranspose2d),
    BY(pool, averagePool2d), BY(pool, l2Pool2d), BY(pool, maxPool2d), BY(resample, resample2d),
    BY(normalization, batchNormalization), BY(normalization, instanceNormalization),
    BY(normalization, layerNormalization),
    BY(gemm, gemm), BY(matmul, matmul), BY(where, where),
    BY(network, gru), BY(network, lstm), BY(cell, gruCell), BY(cell, lstmCell),
    BY(quantize, quantizeLinear), BY(quantize, dequantizeLinear),
    BY(reduction, argMin), BY(reduction, argMax), BY(reduction, argMinAxes), BY(reduction, argMaxAxes),
    BY(reduction, reverse), BY(reduction, softmax), BY(reduction, cumulativeSum),
    BY(gather, gather), BY(gather, gatherElements), BY(gather, gatherND),
    BY(gather, scatterElements), BY(gather, scatterND),
    BY(concat, concat), BY(split, split),
    BY(shape, reshape), BY(shape, expand), BY(shape, tile), BY(shape, transpose), BY(shape, pad),
    BY(shape, slice), BY(shape, triangular)
};
// clang-format on

// Operators that are not in the table take two operands, reduce, or take one.
static void prepare(struct recorder *r, struct call *call)
{
    const struct op_info *info = &wnn_ops[call->op];
    const struct op_row *rows = info->rows;
    struct descriptor type;
    if (preparations[call->op]) {
        preparations[call->op](r, call);
    } else if (info->infer == wnn_infer_binary || info->infer == wnn_infer_comparison) {
        fuzz_prepare_binary(r, call);
    } else if (info->infer == wnn_infer_reduce) {
        fuzz_prepare_reduction(r, call);
    } else {
        put(call, fuzz_pick(r, rows[0].types, rows[0].min_rank, rows[0].max_rank, &type));
        if (call->op == WNN_OP_cast)
            ((struct cast_attrs *)(void *)call->attrs)->dataType = fuzz_take_type(r, ALL);
        else
            prepare_options(r, call);
    }
}

static void trace(const struct recorder *r, const struct call *call, const WNNOperand *output)
{
    WNNError error;
    wnnGraphBuilderGetError(r->builder, &error);
    fprintf(stderr, "%s", wnn_ops[call->op].name);
    for (size_t i = 0; i < call->count + (output != NULL); i++) {
        struct descriptor type = fuzz_type_of(i < call->count ? call->in[i] : *output);
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
        fuzz_keep(r, outputs[i], true);
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
    struct descriptor type = {fuzz_take_type(r, ALL | I4 | U4), {.rank = 0}};
    uint8_t byte = take(r->bytes);
    if (byte >= 240) { // a shape that is refused, or should be
        type.shape.rank = byte % (WNN_MAX_RANK + 1);
        for (unsigned i = 0; i < type.shape.rank; i++)
            type.shape.dim[i] = fuzz_take_hostile(r);
        fuzz_new_source(r, &type);
    } else if (byte >= 232) {
        fuzz_keep(r,
                  wnnGraphBuilderScalarConstant(r->builder, type.type, wnnNumberFloat64(fuzz_take_real(r))),
                  false);
    } else if (byte >= 224) {
        WNNNumber start = wnnNumberFloat64(fuzz_take_real(r)), end = wnnNumberInt64(fuzz_take_size(r));
        WNNNumber step = wnnNumberFloat64(fuzz_take_real(r));
        fuzz_keep(r, wnnGraphBuilderRangeConstant(r->builder, start, end, step, type.type), false);
    } else {
        type.shape = fuzz_take_shape(r, 0, byte < 200 ? 4 : WNN_MAX_RANK);
        fuzz_new_source(r, &type);
    }
}

// matmul(softmax(matmul(q, transpose(k)) * scale + mask), v)
static void record_attention(struct recorder *r)
{
    uint32_t heads = 1 + BELOW(r, 3), rows = fuzz_take_size(r), columns = fuzz_take_size(r),
             depth = fuzz_take_hidden(r);
    WNNDataType type = fuzz_take_type(r, FLOATS);
    WNNGraphBuilder b = r->builder;
    WNNOperand q = fuzz_like(r, type, (struct shape){3, {heads, rows, depth}});
    WNNOperand k = fuzz_like(r, type, (struct shape){3, {heads, columns, depth}});
    WNNOperand v = fuzz_like(r, type, (struct shape){3, {heads, columns, fuzz_take_hidden(r)}});
    WNNTransposeOptions order = WNN_TRANSPOSE_OPTIONS_INIT;
    order.permutation = (WNNUint32List){(const uint32_t[]){0, 2, 1}, 3};
    WNNOperand x = wnnGraphBuilderMatmul(b, q, wnnGraphBuilderTranspose(b, k, &order), NULL);
    if (!CHANCE(r, 64))
        x = wnnGraphBuilderMul(b, x, wnnGraphBuilderScalarConstant(b, type, wnnNumberFloat64(0.25)), NULL);
    if (!CHANCE(r, 128))
        x = wnnGraphBuilderAdd(
            b, x, fuzz_like(r, type, fuzz_narrowed(r, (struct shape){3, {heads, rows, columns}})), NULL);
    x = wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, x, 2, NULL), v, NULL);
    fuzz_keep(r, x, true);
}

// A product or convolution of dequantized operands whose result is quantized again.
static void record_quantized(struct recorder *r)
{
    WNNGraphBuilder b = r->builder;
    WNNDataType type = CHANCE(r, 128) ? WNNDataType_Uint8 : WNNDataType_Int8, weights = type;
    bool convolution = CHANCE(r, 128);
    if (CHANCE(r, 60))
        weights = CHANCE(r, 128) ? WNNDataType_Int4 : WNNDataType_Int8;
    struct window window = fuzz_take_window(r);
    size_t room = CHANNELS;
    uint32_t in = fuzz_limit(fuzz_take_channels(r), &room),
             out = fuzz_limited(r, FILTER / (in * window.size[0] * window.size[1] + 1) + 1);
    uint32_t height = fuzz_limit(fuzz_reach(&window, 0) + fuzz_take_size(r) / 8, &room),
             width = fuzz_limit(fuzz_reach(&window, 1), &room);
    struct shape x =
        convolution ? (struct shape){4, {1, height, width, in}} : (struct shape){2, {fuzz_take_size(r), in}};
    struct shape w = convolution ? (struct shape){4, {out, window.size[0], window.size[1], in}}
                                 : (struct shape){2, {in, out}};
    struct shape one = {x.rank, {1, 1, 1, 1}}, each = one;
    if (CHANCE(r, 128))
        each.dim[convolution ? 0 : 1] = out;
    WNNOperand operands[2];
    for (unsigned i = 0; i < 2; i++) {
        WNNDataType integer = i == 0 ? type : weights;
        operands[i] = fuzz_like(r, integer, i == 0 ? x : w);
        WNNOperand scale = fuzz_like(r, WNNDataType_Float32, i == 0 ? one : each);
        WNNOperand zero = fuzz_like(r, integer, i == 0 ? one : each);
        operands[i] = wnnGraphBuilderDequantizeLinear(b, operands[i], scale, zero, NULL);
    }
    WNNOperand y;
    if (convolution) {
        WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
        r->list_count = 0;
        fuzz_set_window(r, &window, &options.padding, &options.strides, &options.dilations);
        options.inputLayout = WNNInputOperandLayout_NHWC;
        options.filterLayout = WNNConv2dFilterOperandLayout_OHWI;
        options.activation = CHANCE(r, 100) ? fuzz_take_activation(r) : NULL;
        y = wnnGraphBuilderConv2d(b, operands[0], operands[1], &options);
    } else {
        y = wnnGraphBuilderMatmul(b, operands[0], operands[1], NULL);
    }
    fuzz_keep(r, y, true);
    if (CHANCE(r, 128)) {
        y = wnnGraphBuilderRelu(b, y, NULL);
        WNNOperand scale = fuzz_like(r, WNNDataType_Float32, one), zero = fuzz_like(r, type, one);
        y = wnnGraphBuilderQuantizeLinear(b, y, scale, zero, NULL);
        fuzz_keep(r, y, true);
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
