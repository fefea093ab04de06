// SPDX-License-Identifier: Apache-2.0
#include "compiler/layout_rules.h"

#include <stddef.h>
#include <string.h>

const uint32_t wnn_layout_axis[4] = {0, 3, 1, 2}, wnn_layout_permutation[4] = {0, 2, 3, 1};

enum kind {
    NONE,
    ELEMENTS, // element-wise, with broadcasting
    AXIS,     // `at`: one axis
    AXES,     // `at`: a list of them, in any order
    ORDERED,  // `at`: a list of axes that other operands follow
    LISTS,    // `at`: lists of one item a dimension
    LAYOUT,   // `at`: an enumerator that says where the channels are
    SPATIAL,  // `at`: a list of the axes of height and width
};

struct rule {
    uint8_t kind;
    uint16_t at[3]; // 0: none
};

#define AT(type, member)                                                                                     \
    {                                                                                                        \
        offsetof(type, member)                                                                               \
    }
#define REDUCE                                                                                               \
    {                                                                                                        \
        AXES, AT(WNNReduceOptions, axes)                                                                     \
    }
#define POOL                                                                                                 \
    {                                                                                                        \
        LAYOUT, AT(WNNPool2dOptions, layout)                                                                 \
    }

static const struct rule rules[WNN_OP_END] = {
    [WNN_OP_abs] = {ELEMENTS, {0}},
    [WNN_OP_add] = {ELEMENTS, {0}},
    [WNN_OP_cast] = {ELEMENTS, {0}},
    [WNN_OP_ceil] = {ELEMENTS, {0}},
    [WNN_OP_clamp] = {ELEMENTS, {0}},
    [WNN_OP_cos] = {ELEMENTS, {0}},
    [WNN_OP_dequantizeLinear] = {ELEMENTS, {0}},
    [WNN_OP_div] = {ELEMENTS, {0}},
    [WNN_OP_elu] = {ELEMENTS, {0}},
    [WNN_OP_equal] = {ELEMENTS, {0}},
    [WNN_OP_erf] = {ELEMENTS, {0}},
    [WNN_OP_exp] = {ELEMENTS, {0}},
    [WNN_OP_floor] = {ELEMENTS, {0}},
    [WNN_OP_gelu] = {ELEMENTS, {0}},
    [WNN_OP_greater] = {ELEMENTS, {0}},
    [WNN_OP_greaterOrEqual] = {ELEMENTS, {0}},
    [WNN_OP_hardSigmoid] = {ELEMENTS, {0}},
    [WNN_OP_hardSwish] = {ELEMENTS, {0}},
    [WNN_OP_identity] = {ELEMENTS, {0}},
    [WNN_OP_isInfinite] = {ELEMENTS, {0}},
    [WNN_OP_isNaN] = {ELEMENTS, {0}},
    [WNN_OP_leakyRelu] = {ELEMENTS, {0}},
    [WNN_OP_lesser] = {ELEMENTS, {0}},
    [WNN_OP_lesserOrEqual] = {ELEMENTS, {0}},
    [WNN_OP_linear] = {ELEMENTS, {0}},
    [WNN_OP_log] = {ELEMENTS, {0}},
    [WNN_OP_logicalAnd] = {ELEMENTS, {0}},
    [WNN_OP_logicalNot] = {ELEMENTS, {0}},
    [WNN_OP_logicalOr] = {ELEMENTS, {0}},
    [WNN_OP_logicalXor] = {ELEMENTS, {0}},
    [WNN_OP_max] = {ELEMENTS, {0}},
    [WNN_OP_min] = {ELEMENTS, {0}},
    [WNN_OP_mul] = {ELEMENTS, {0}},
    [WNN_OP_neg] = {ELEMENTS, {0}},
    [WNN_OP_notEqual] = {ELEMENTS, {0}},
    [WNN_OP_pow] = {ELEMENTS, {0}},
    [WNN_OP_prelu] = {ELEMENTS, {0}},
    [WNN_OP_quantizeLinear] = {ELEMENTS, {0}},
    [WNN_OP_reciprocal] = {ELEMENTS, {0}},
    [WNN_OP_relu] = {ELEMENTS, {0}},
    [WNN_OP_roundEven] = {ELEMENTS, {0}},
    [WNN_OP_sigmoid] = {ELEMENTS, {0}},
    [WNN_OP_sign] = {ELEMENTS, {0}},
    [WNN_OP_sin] = {ELEMENTS, {0}},
    [WNN_OP_softplus] = {ELEMENTS, {0}},
    [WNN_OP_softsign] = {ELEMENTS, {0}},
    [WNN_OP_sqrt] = {ELEMENTS, {0}},
    [WNN_OP_sub] = {ELEMENTS, {0}},
    [WNN_OP_tan] = {ELEMENTS, {0}},
    [WNN_OP_tanh] = {ELEMENTS, {0}},
    [WNN_OP_where] = {ELEMENTS, {0}},

    [WNN_OP_batchNormalization] = {AXIS, AT(WNNBatchNormalizationOptions, axis)},
    [WNN_OP_concat] = {AXIS, AT(struct concat_attrs, axis)},
    [WNN_OP_cumulativeSum] = {AXIS, AT(struct cumulative_sum_attrs, axis)},
    [WNN_OP_softmax] = {AXIS, AT(struct softmax_attrs, axis)},
    [WNN_OP_split] = {AXIS, AT(WNNSplitOptions, axis)},

    [WNN_OP_reduceL1] = REDUCE,
    [WNN_OP_reduceL2] = REDUCE,
    [WNN_OP_reduceLogSum] = REDUCE,
    [WNN_OP_reduceLogSumExp] = REDUCE,
    [WNN_OP_reduceMax] = REDUCE,
    [WNN_OP_reduceMean] = REDUCE,
    [WNN_OP_reduceMin] = REDUCE,
    [WNN_OP_reduceProduct] = REDUCE,
    [WNN_OP_reduceSum] = REDUCE,
    [WNN_OP_reduceSumSquare] = REDUCE,
    [WNN_OP_reverse] = {AXES, AT(WNNReverseOptions, axes)},
    [WNN_OP_layerNormalization] = {ORDERED, AT(WNNLayerNormalizationOptions, axes)},

    [WNN_OP_expand] = {LISTS, AT(struct expand_attrs, newShape)},
    [WNN_OP_pad] = {LISTS,
                    {offsetof(struct pad_attrs, beginningPadding),
                     offsetof(struct pad_attrs, endingPadding)}},
    [WNN_OP_slice] = {LISTS,
                      {offsetof(struct slice_attrs, starts), offsetof(struct slice_attrs, sizes),
                       offsetof(struct slice_attrs, options.strides)}},
    [WNN_OP_tile] = {LISTS, AT(struct tile_attrs, repetitions)},

    [WNN_OP_averagePool2d] = POOL,
    [WNN_OP_l2Pool2d] = POOL,
    [WNN_OP_maxPool2d] = POOL,
    [WNN_OP_conv2d] = {LAYOUT, AT(WNNConv2dOptions, inputLayout)},
    [WNN_OP_convTranspose2d] = {LAYOUT, AT(WNNConvTranspose2dOptions, inputLayout)},
    [WNN_OP_instanceNormalization] = {LAYOUT, AT(WNNInstanceNormalizationOptions, layout)},
    [WNN_OP_resample2d] = {SPATIAL, AT(WNNResample2dOptions, axes)},
};

static WNNUint32List list_at(const struct node *node, size_t offset)
{
    WNNUint32List list;
    memcpy(&list, (const char *)node->attrs + offset, sizeof list);
    return list;
}

// Reductions that leave out what they reduce.
static bool loses_dimensions(const struct node *node)
{
    return rules[node->op].kind == AXES && node->op != WNN_OP_reverse &&
           !((const WNNReduceOptions *)node->attrs)->keepDimensions;
}

// Whether the dimensions that such a reduction leaves are in one order before and after.
static bool keeps_order(const struct node *node)
{
    WNNUint32List axes = list_at(node, rules[node->op].at[0]);
    uint32_t reduced = 0, last = 0;
    for (size_t i = 0; i < axes.count; i++)
        reduced |= 1u << axes.data[i];
    for (unsigned axis = 0; axis < 4; axis++) {
        if (reduced & 1u << axis)
            continue;
        if (wnn_layout_axis[axis] < last)
            return false;
        last = wnn_layout_axis[axis];
    }
    return true;
}

// transpose does not know the 4-bit types.
static bool is_image(const struct operand *operand)
{
    return operand->type.shape.rank == 4 && wnn_dtype_bits(operand->type.type) >= 8;
}

static bool inputs_fit(const struct node *node)
{
    for (unsigned i = 0; i < node->in_count; i++) {
        if (!node->in[i] || !wnn_layout_turns_input(node, i))
            continue;
        const struct descriptor *type = &node->in[i]->type;
        bool broadcasts = rules[node->op].kind == ELEMENTS && type->shape.rank < 4;
        if (wnn_dtype_bits(type->type) < 8 || (!broadcasts && !is_image(node->in[i])))
            return false;
    }
    return true;
}

enum layout_role wnn_layout_role(const struct node *node)
{
    const struct rule *rule = &rules[node->op];
    if (rule->kind == NONE || node->in_count == 0 || !node->in[0] || !inputs_fit(node))
        return LAYOUT_FIXED;
    for (unsigned i = 0; i < node->out_count; i++)
        if (wnn_layout_turns_output(node, i) && !is_image(node->out[i]))
            return LAYOUT_FIXED;
    if (rule->kind == LAYOUT) {
        WNNInputOperandLayout layout;
        memcpy(&layout, (const char *)node->attrs + rule->at[0], sizeof layout);
        return layout == WNNInputOperandLayout_NCHW ? LAYOUT_ANCHOR : LAYOUT_FIXED;
    }
    if (rule->kind == SPATIAL) {
        WNNUint32List axes = list_at(node, rule->at[0]);
        return axes.data[0] >= 2 && axes.data[1] >= 2 ? LAYOUT_ANCHOR : LAYOUT_FIXED;
    }
    if (loses_dimensions(node) && !keeps_order(node))
        return LAYOUT_FIXED;
    return LAYOUT_CARRIER;
}

bool wnn_layout_turns_input(const struct node *node, unsigned i)
{
    return i == 0 || rules[node->op].kind == ELEMENTS || node->op == WNN_OP_concat;
}

bool wnn_layout_turns_output(const struct node *node, unsigned i)
{
    (void)i;
    return !loses_dimensions(node);
}

static bool turn_list(struct graph *graph, struct node *node, enum kind kind, size_t offset)
{
    WNNUint32List list = list_at(node, offset);
    uint32_t turned[4];
    if (list.count > 4)
        return true; // an absent list
    for (size_t i = 0; i < list.count; i++)
        turned[i] = kind == LISTS ? list.data[wnn_layout_permutation[i]] : wnn_layout_axis[list.data[i]];
    for (size_t i = 1; kind == AXES && i < list.count; i++)
        for (size_t j = i; j > 0 && turned[j - 1] > turned[j]; j--) {
            uint32_t swapped = turned[j];
            turned[j] = turned[j - 1];
            turned[j - 1] = swapped;
        }
    if (!wnn_rewrite_list(graph, &list, turned, list.count))
        return false;
    memcpy((char *)node->attrs + offset, &list, sizeof list);
    return true;
}

bool wnn_layout_turn_attrs(struct graph *graph, struct node *node)
{
    const struct rule *rule = &rules[node->op];
    char *at = (char *)node->attrs + rule->at[0];
    if (rule->kind == AXIS) {
        uint32_t axis;
        memcpy(&axis, at, sizeof axis);
        memcpy(at, &wnn_layout_axis[axis], sizeof axis);
    } else if (rule->kind == LAYOUT) {
        WNNInputOperandLayout layout = WNNInputOperandLayout_NHWC;
        memcpy(at, &layout, sizeof layout);
    } else if (rule->kind != ELEMENTS) {
        for (unsigned i = 0; i < 3 && rule->at[i]; i++)
            if (!turn_list(graph, node, (enum kind)rule->kind, rule->at[i]))
                return false;
    }
    return true;
}
