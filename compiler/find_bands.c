// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: where the mask of an attention is constant, or chooses between two
// numbers as a constant says, and is a causal mask or a sliding window (each row attends to a run of keys,
// and the next row to the run that begins one key later), the attention says so (attention_attrs.window), so
// that kernels need not read the mask.

#include "compiler/rewrite.h"

// The numbers of a constant; or `yes` where it is not 0, and else `no`.
struct mask {
    const struct operand *constant;
    bool chooses;
    double yes, no;
};

struct band {
    uint32_t rows, keys;
    uint32_t window, end; // of attention_attrs
};

static double element_of(const struct mask *mask, size_t i)
{
    const unsigned char *bytes = mask->constant->constant->data;
    if (!mask->chooses)
        return wnn_rewrite_value(mask->constant, i);
    return bytes[i] ? mask->yes : mask->no;
}

// False: it is not constant, or not of a number for each element.
static bool take_mask(const struct operand *operand, struct mask *mask)
{
    const struct node *where = operand->producer;
    *mask = (struct mask){.constant = operand};
    if (!where || where->op != WNN_OP_where)
        return wnn_rewrite_is_floats(operand);
    const struct operand *condition = where->in[0];
    if (!condition->constant || !condition->constant->data ||
        !wnn_shape_equal(&condition->type.shape, &operand->type.shape) ||
        !wnn_rewrite_is_number(where->in[1]) || !wnn_rewrite_is_number(where->in[2]))
        return false;
    *mask = (struct mask){condition, true, wnn_rewrite_value(where->in[1], 0),
                          wnn_rewrite_value(where->in[2], 0)};
    return true;
}

// The run of keys [begin, end) that row number `row` of all matrices attends to; false: there is no single
// run, or the mask adds something to its scores.
static bool find_row(const struct mask *mask, size_t row, uint32_t keys, uint32_t *begin, uint32_t *end)
{
    size_t at = row * keys;
    uint32_t i = 0;
    while (i < keys && element_of(mask, at + i) <= -WNN_EXCLUDED_DISTANCE)
        i++;
    *begin = i;
    while (i < keys && element_of(mask, at + i) == 0)
        i++;
    *end = i;
    while (i < keys && element_of(mask, at + i) <= -WNN_EXCLUDED_DISTANCE)
        i++;
    return i == keys && *begin < *end;
}

// The first and the last row tell what it is; then all must be so.
static bool find_band(const struct mask *mask, struct band *band)
{
    size_t all = wnn_shape_elements(&mask->constant->type.shape) / band->keys;
    uint32_t begin, end;
    if (!find_row(mask, 0, band->keys, &begin, &end) || end == band->keys)
        return false;
    band->end = end;
    if (!find_row(mask, band->rows - 1, band->keys, &begin, &end))
        return false;
    band->window = band->rows - 1 + band->end - begin;
    for (size_t row = 0; row < all; row++) {
        uint32_t behind = (uint32_t)(row % band->rows) + band->end;
        if (!find_row(mask, row, band->keys, &begin, &end) || end != wnn_min(behind, band->keys) ||
            begin != (behind > band->window ? behind - band->window : 0))
            return false;
    }
    return true;
}

// What is worth looking at has a matrix for each head, or for all.
static bool is_candidate(const struct node *node, struct band *band)
{
    const struct operand *mask = node->op == WNN_OP_attention ? node->in[3] : NULL;
    if (!mask || mask->type.shape.rank < 2)
        return false;
    const struct attention_attrs *attrs = node->attrs;
    const struct shape *shape = &mask->type.shape;
    unsigned rank = (unsigned)attrs->queryPermutation.count;
    band->rows = node->in[0]->type.shape.dim[attrs->queryPermutation.data[rank - 2]];
    band->keys = node->in[1]->type.shape.dim[attrs->keyPermutation.data[rank - 1]];
    return band->rows > 1 && band->rows < INT32_MAX && band->keys > 0 && band->keys < INT32_MAX &&
           shape->dim[shape->rank - 2] == band->rows && shape->dim[shape->rank - 1] == band->keys;
}

bool wnn_find_bands(struct pass_context *context, struct graph *graph)
{
    // Layers share their mask, or what it is chosen by.
    struct mask mask, before = {0};
    struct band last = {0};
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        struct band band = {0};
        if (!is_candidate(node, &band) || !take_mask(node->in[3], &mask))
            continue;
        bool same = mask.constant == before.constant && mask.yes == before.yes && mask.no == before.no &&
                    band.rows == last.rows && band.keys == last.keys;
        if (!same) {
            before = mask;
            last = band;
            last.window = find_band(&mask, &last) ? last.window : 0;
        }
        wnn_explain(context->explainer, "find_bands", "band of keys", node->out[0],
                    last.window > 0
                        ? NULL
                        : "the mask is constant, and adds something, or does not move with the rows");
        struct attention_attrs *attrs = (struct attention_attrs *)(uintptr_t)node->attrs;
        attrs->window = last.window;
        attrs->windowEnd = last.window > 0 ? last.end : 0;
    }
    return true;
}
