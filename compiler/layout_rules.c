// SPDX-License-Identifier: Apache-2.0
#include "compiler/layout_rules.h"
#include "ops/geometry.h"

#include <string.h>

const uint32_t wnn_layout_axis[4] = {0, 3, 1, 2}, wnn_layout_permutation[4] = {0, 2, 3, 1};

static bool is_elementwise(const struct node *node)
{
    return wnn_op_is_elementwise((enum op)node->op) || node->op == WNN_OP_identity;
}

// The first row from `row` on of an attribute that speaks of dimensions, or NULL.
static const struct op_row *next_role(const struct op_row *row)
{
    while (row->name && (row->role == ROLE_NONE || row->role == ROLE_SIZES))
        row++;
    return row->name ? row : NULL;
}

static WNNUint32List list_at(const struct node *node, size_t offset)
{
    WNNUint32List list;
    memcpy(&list, (const char *)node->attrs + offset, sizeof list);
    return list;
}

// Reductions that leave out what they reduce.
static bool loses_dimensions(const struct node *node)
{
    return wnn_ops[node->op].class == CLASS_REDUCTION &&
           !((const WNNReduceOptions *)node->attrs)->keepDimensions;
}

// Whether the dimensions that such a reduction leaves are in one order before and after.
static bool keeps_order(const struct node *node)
{
    uint32_t reduced = wnn_node_reduction_axes(node).mask, last = 0;
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
        bool broadcasts = is_elementwise(node) && type->shape.rank < 4;
        if (wnn_dtype_bits(type->type) < 8 || (!broadcasts && !is_image(node->in[i])))
            return false;
    }
    return true;
}

enum layout_role wnn_layout_role(const struct node *node)
{
    const struct op_row *row = next_role(wnn_ops[node->op].rows);
    if ((!row && !is_elementwise(node)) || node->in_count == 0 || !node->in[0] || !inputs_fit(node))
        return LAYOUT_FIXED;
    for (unsigned i = 0; i < node->out_count; i++)
        if (wnn_layout_turns_output(node, i) && !is_image(node->out[i]))
            return LAYOUT_FIXED;
    if (row && row->role == ROLE_LAYOUT) {
        WNNInputOperandLayout layout;
        memcpy(&layout, (const char *)node->attrs + row->offset, sizeof layout);
        return layout == WNNInputOperandLayout_NCHW ? LAYOUT_ANCHOR : LAYOUT_FIXED;
    }
    if (row && row->role == ROLE_SPATIAL_AXES) {
        WNNUint32List axes = list_at(node, row->offset);
        return axes.data[0] >= 2 && axes.data[1] >= 2 ? LAYOUT_ANCHOR : LAYOUT_FIXED;
    }
    if (loses_dimensions(node) && !keeps_order(node))
        return LAYOUT_FIXED;
    return LAYOUT_CARRIER;
}

bool wnn_layout_turns_input(const struct node *node, unsigned i)
{
    return i == 0 || is_elementwise(node) || node->op == WNN_OP_concat;
}

bool wnn_layout_turns_output(const struct node *node, unsigned i)
{
    (void)i;
    return !loses_dimensions(node);
}

static bool turn_list(struct graph *graph, struct node *node, enum attr_role role, size_t offset)
{
    WNNUint32List list = list_at(node, offset);
    uint32_t turned[4];
    if (list.count > 4)
        return true; // an absent list
    for (size_t i = 0; i < list.count; i++)
        turned[i] = role == ROLE_EACH_DIMENSION || role == ROLE_EACH_SIZE
                        ? list.data[wnn_layout_permutation[i]]
                        : wnn_layout_axis[list.data[i]];
    for (size_t i = 1; role == ROLE_AXES && i < list.count; i++)
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
    const struct op_row *row = wnn_ops[node->op].rows;
    for (; (row = next_role(row)) != NULL; row++) {
        char *at = (char *)node->attrs + row->offset;
        if (row->role == ROLE_AXIS) {
            uint32_t axis;
            memcpy(&axis, at, sizeof axis);
            memcpy(at, &wnn_layout_axis[axis], sizeof axis);
        } else if (row->role == ROLE_LAYOUT) {
            WNNInputOperandLayout layout = WNNInputOperandLayout_NHWC;
            memcpy(at, &layout, sizeof layout);
        } else if (!turn_list(graph, node, row->role, row->offset)) {
            return false;
        }
    }
    return true;
}
