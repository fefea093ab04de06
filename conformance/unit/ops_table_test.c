// SPDX-License-Identifier: Apache-2.0
//
// The rules that the operator table states, for every operator: from a legal call, each operand in turn gets
// another data type, another rank, another builder, or is left out; and each allowed data type is accepted.

#include "conformance/unit/validation.h"
#include "ops/unranked.h"

enum {
    MOST = 8
};

// A legal call with every optional operand: the shapes in table order, and the attributes.
struct legal {
    enum op op;
    WNNUint32List shapes[MOST];
    const void *attrs;
};

#define ONE  LIST(1)
#define ONE2 LIST(1, 1)
#define ONE3 LIST(1, 1, 1)
#define ONE4 LIST(1, 1, 1, 1)

static uint32_t ops_seen;

static unsigned count_inputs(const struct op_info *info, bool positional)
{
    unsigned count = 0;
    for (const struct op_row *row = info->rows; row->name; row++)
        count += row->kind == ROW_INPUT || row->kind == ROW_INPUT_LIST ||
                 (!positional && row->kind == ROW_OPTIONAL_INPUT);
    return count;
}

static WNNDataType first_type(uint32_t set)
{
    int type = 0;
    while (!(set & 1u << type))
        type++;
    return (WNNDataType)type;
}

// Calls with these operands, the optional ones put into a copy of the attributes. The first output, or NULL.
static WNNOperand call(const struct legal *legal, const WNNOperand *operands)
{
    const struct op_info *info = &wnn_ops[legal->op];
    _Alignas(16) char attrs[512];
    REQUIRE(info->attrs_size <= sizeof attrs);
    memcpy(attrs, legal->attrs ? legal->attrs : info->defaults, info->attrs_size);
    for (unsigned i = 0; i < count_inputs(info, false); i++)
        if (info->rows[i].kind == ROW_OPTIONAL_INPUT)
            memcpy(attrs + info->rows[i].offset, &operands[i], sizeof operands[i]);
    WNNOperand outputs[3] = {NULL};
    wnn_builder_call(b, legal->op, count_inputs(info, true), operands, attrs, 3, outputs);
    return outputs[0];
}

// An operand that an operator reads while it is recorded: a slice begins at 0, and a range ends at 2.
static WNNOperand constant_of(enum op op, unsigned i, WNNDataType type, WNNUint32List shape)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    uint64_t data[2] = {0};
    size_t count = shape.count ? shape.data[0] : 1;
    int64_t value = op == WNN_OP_sliceDynamic && i == 1 ? 0 : op == WNN_OP_range && i == 1 ? 2 : 1;
    descriptor.dataType = type;
    descriptor.shape = shape;
    for (size_t k = 0; k < count; k++)
        wnn_number_store(wnn_number_convert(wnnNumberInt64(value), type), type, data, k);
    return wnnGraphBuilderConstant(b, &descriptor, data, wnn_dtype_bytes(type, count));
}

// Operands of the first data type of each row but for that of row `lead`, which others may follow.
static void make_operands(const struct legal *legal, unsigned lead, WNNDataType type, WNNOperand *operands)
{
    const struct op_info *info = &wnn_ops[legal->op];
    for (unsigned i = 0; i < count_inputs(info, false); i++) {
        const struct op_row *row = &info->rows[i],
                            *model = row->types & WNN_SAME ? &info->rows[row->types & ~WNN_SAME] : row;
        WNNDataType own = model == &info->rows[lead] ? type : first_type(model->types);
        bool read = info->class == CLASS_SHAPING && (i > 0 || legal->op == WNN_OP_range);
        operands[i] =
            (read ? constant_of(legal->op, i, own, legal->shapes[i]) : operand(own, legal->shapes[i]));
    }
}

static void test_types(const struct legal *legal)
{
    const struct op_info *info = &wnn_ops[legal->op];
    WNNOperand operands[MOST];
    for (unsigned i = 0; i < count_inputs(info, false); i++) {
        const struct op_row *row = &info->rows[i];
        for (int t = WNNDataType_Float32; t <= WNNDataType_Uint4; t++) {
            WNNDataType type = (WNNDataType)t;
            char message[256], list[WNN_DTYPES_TEXT];
            if (row->types & WNN_SAME) {
                unsigned model = row->types & ~WNN_SAME;
                make_operands(legal, 0, first_type(info->rows[0].types), operands);
                WNNDataType wanted = wnnOperandGetDataType(operands[model]);
                if (type == wanted)
                    continue;
                operands[i] = operand(type, legal->shapes[i]);
                snprintf(message, sizeof message, "%s: %s has data type %s; expected %s, the type of %s",
                         info->name, row->name, wnn_dtype_name(type), wnn_dtype_name(wanted),
                         info->rows[model].name);
                REFUSES(call(legal, operands), message);
                continue;
            }
            make_operands(legal, i, type, operands);
            if (!(row->types & 1u << type)) {
                snprintf(message, sizeof message, "%s: %s has data type %s; expected %s", info->name,
                         row->name, wnn_dtype_name(type), wnn_dtypes_text(row->types, list));
                REFUSES(call(legal, operands), message);
                continue;
            }
            WNNOperand output = call(legal, operands);
            WNNError error;
            wnnGraphBuilderGetError(b, &error);
            REQUIRE_EQUAL_VIEW(error.message, "");
            // The output's type is what its row says.
            const struct op_row *result = info->rows;
            while (result->kind != ROW_OUTPUT && result->kind != ROW_OUTPUT_LIST)
                result++;
            WNNDataType got = wnnOperandGetDataType(output);
            if (result->types & WNN_SAME)
                REQUIRE_EQUAL_INT(got, wnnOperandGetDataType(operands[result->types & ~WNN_SAME]));
            else
                REQUIRE(result->types & 1u << got);
            REQUIRE(wnnOperandGetShape(output).count >= result->min_rank);
        }
    }
}

static void test_ranks(const struct legal *legal)
{
    const struct op_info *info = &wnn_ops[legal->op];
    WNNOperand operands[MOST];
    static const uint32_t ones[WNN_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (unsigned i = 0; i < count_inputs(info, false); i++) {
        const struct op_row *row = &info->rows[i];
        for (unsigned rank = 0; rank <= WNN_MAX_RANK; rank++) {
            if (rank >= row->min_rank && rank <= row->max_rank)
                continue;
            make_operands(legal, 0, first_type(info->rows[0].types), operands);
            operands[i] = operand(wnnOperandGetDataType(operands[i]), (WNNUint32List){ones, rank});
            char message[256], range[32];
            struct shape shape = {rank, {1, 1, 1, 1, 1, 1, 1, 1}};
            if (row->min_rank == row->max_rank)
                snprintf(range, sizeof range, "%u", row->min_rank);
            else
                snprintf(range, sizeof range, "%u to %u", row->min_rank, row->max_rank);
            snprintf(message, sizeof message, "%s: %s has shape %s of rank %u; expected rank %s", info->name,
                     row->name, SHAPE_TEXT(&shape), rank, range);
            REFUSES(call(legal, operands), message);
        }
    }
}

static void test_owners(const struct legal *legal, WNNGraphBuilder other)
{
    const struct op_info *info = &wnn_ops[legal->op];
    WNNOperand operands[MOST];
    WNNGraphBuilder own = b;
    for (unsigned i = 0; i < count_inputs(info, false); i++) {
        const struct op_row *row = &info->rows[i];
        char message[128];
        make_operands(legal, 0, first_type(info->rows[0].types), operands);
        b = other;
        operands[i] = operand(wnnOperandGetDataType(operands[i]), legal->shapes[i]);
        b = own;
        snprintf(message, sizeof message, "%s: %s is an operand of another builder", info->name, row->name);
        REFUSES(call(legal, operands), message);
        operands[i] = NULL;
        if (row->kind == ROW_OPTIONAL_INPUT) {
            REQUIRE(call(legal, operands));
            continue;
        }
        snprintf(message, sizeof message, "%s: %s is NULL", info->name, row->name);
        REFUSES(call(legal, operands), message);
    }
}

static void test(const struct legal *legal, WNNGraphBuilder other)
{
    ops_seen++;
    test_types(legal);
    test_ranks(legal);
    test_owners(legal, other);
}

// So few ranks of all operands that all combinations can be looked at.
static void test_combinations(void)
{
    for (enum op op = 0; op < WNN_OP_COUNT; op++) {
        unsigned operands = 0, combinations = 1;
        for (const struct op_row *row = wnn_ops[op].rows; row->name; row++) {
            if (!wnn_op_row_is_input(row))
                continue;
            operands++;
            combinations *= row->max_rank - row->min_rank + 1u;
        }
        REQUIRE(operands <= WNN_UNRANKED_OPERANDS && combinations <= WNN_UNRANKED_TRIALS);
    }
}

// What matrix units are for, and what counts multiply-adds.
static void test_multiplies(void)
{
    static const enum op operators[] = {WNN_OP_conv2d,   WNN_OP_convTranspose2d, WNN_OP_gemm, WNN_OP_matmul,
                                        WNN_OP_gru,      WNN_OP_gruCell,         WNN_OP_lstm, WNN_OP_lstmCell,
                                        WNN_OP_attention};
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        REQUIRE(wnn_op_multiplies(operators[i]));
    REQUIRE(!wnn_op_multiplies(WNN_OP_add) && !wnn_op_multiplies(WNN_OP_softmax) &&
            !wnn_op_multiplies(WNN_OP_gather) && !wnn_op_multiplies(WNN_OP_reduceSum));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    const struct arg_min_max_attrs arg = {.options = WNN_ARG_MIN_MAX_OPTIONS_INIT};
    const WNNBatchNormalizationOptions batch = {NULL, {NULL, 0}, NULL, NULL, 0, 1e-5, NULL};
    const struct cast_attrs cast = {WNN_OPERATOR_OPTIONS_INIT, WNNDataType_Float32};
    const struct expand_attrs expand = {WNN_OPERATOR_OPTIONS_INIT, LIST(1)};
    const struct gru_attrs gru = {WNN_GRU_OPTIONS_INIT, 1, 1};
    const struct gru_cell_attrs gru_cell = {WNN_GRU_CELL_OPTIONS_INIT, 1};
    const struct lstm_attrs lstm = {WNN_LSTM_OPTIONS_INIT, 1, 1};
    const struct lstm_cell_attrs lstm_cell = {WNN_LSTM_CELL_OPTIONS_INIT, 1};
    const struct pad_attrs pad = {WNN_PAD_OPTIONS_INIT, LIST(1), LIST(0)};
    const struct slice_attrs slice = {WNN_SLICE_OPTIONS_INIT, LIST(0), LIST(1)};
    const struct unsqueeze_attrs unsqueeze = {WNN_OPERATOR_OPTIONS_INIT, LIST(0)};
    const struct split_attrs split = {WNN_SPLIT_OPTIONS_INIT, 1, WNN_UINT32_LIST_INIT};
    const struct tile_attrs tile = {WNN_OPERATOR_OPTIONS_INIT, LIST(2)};
    // Operators that need more than operands of shape [1].
    const struct legal special[] = {
        {WNN_OP_argMin, {ONE}, &arg},
        {WNN_OP_argMax, {ONE}, &arg},
        {WNN_OP_batchNormalization, {ONE, ONE, ONE, ONE, ONE}, &batch},
        {WNN_OP_cast, {ONE}, &cast},
        {WNN_OP_conv2d, {ONE4, ONE4, ONE}, NULL},
        {WNN_OP_convTranspose2d, {ONE4, ONE4, ONE}, NULL},
        {WNN_OP_expand, {ONE}, &expand},
        {WNN_OP_gemm, {ONE2, ONE2, ONE2}, NULL},
        {WNN_OP_gru, {ONE3, LIST(1, 3, 1), LIST(1, 3, 1), LIST(1, 3), LIST(1, 3), ONE3}, &gru},
        {WNN_OP_gruCell, {ONE2, LIST(3, 1), LIST(3, 1), ONE2, LIST(3), LIST(3)}, &gru_cell},
        {WNN_OP_instanceNormalization, {ONE4, ONE, ONE}, NULL},
        {WNN_OP_layerNormalization, {ONE2, ONE, ONE}, NULL},
        {WNN_OP_lstm,
         {ONE3, LIST(1, 4, 1), LIST(1, 4, 1), LIST(1, 4), LIST(1, 4), LIST(1, 3), ONE3, ONE3},
         &lstm},
        {WNN_OP_lstmCell, {ONE2, LIST(4, 1), LIST(4, 1), ONE2, ONE2, LIST(4), LIST(4), LIST(3)}, &lstm_cell},
        {WNN_OP_matmul, {ONE2, ONE2}, NULL},
        {WNN_OP_pad, {ONE}, &pad},
        {WNN_OP_averagePool2d, {ONE4}, NULL},
        {WNN_OP_l2Pool2d, {ONE4}, NULL},
        {WNN_OP_maxPool2d, {ONE4}, NULL},
        {WNN_OP_resample2d, {ONE4}, NULL},
        {WNN_OP_reshape, {ONE}, &expand},
        {WNN_OP_scatterND, {ONE, ONE, EMPTY}, NULL},
        {WNN_OP_range, {EMPTY, EMPTY, EMPTY}, NULL},
        {WNN_OP_resample2dDynamic, {ONE4, LIST(2)}, NULL},
        {WNN_OP_slice, {ONE}, &slice},
        {WNN_OP_unsqueeze, {ONE}, &unsqueeze},
        {WNN_OP_split, {ONE}, &split},
        {WNN_OP_tile, {ONE}, &tile},
        {WNN_OP_triangular, {ONE2}, NULL},
        {WNN_OP_softmax2d, {ONE2}, NULL},
    };
    for (unsigned op = 0; op < WNN_OP_COUNT; op++) {
        struct legal legal = {(enum op)op, {ONE, ONE, ONE}, NULL};
        for (size_t i = 0; i < sizeof special / sizeof *special; i++)
            if (special[i].op == op)
                legal = special[i];
        begin(NULL);
        WNNGraphBuilder other;
        REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &other), WNNStatus_Success);
        CASE_AS(wnn_ops[op].name, test(&legal, other));
        wnnGraphBuilderRelease(other);
        end();
    }
    CASE(test_multiplies());
    CASE(test_combinations());
    REQUIRE(!cases_complete() || ops_seen == 95 + 14 + 3);
    return cases_end();
}
