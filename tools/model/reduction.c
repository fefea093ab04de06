// SPDX-License-Identifier: Apache-2.0
#include "tools/model/known.h"

#include <math.h>

typedef WNNOperand (*entry_reduce)(WNNGraphBuilder builder, WNNOperand input,
                                   const WNNReduceOptions *options);

static const entry_reduce reductions[] = {
    [SUM] = wnnGraphBuilderReduceSum,
    [MEAN] = wnnGraphBuilderReduceMean,
    [MAXIMUM] = wnnGraphBuilderReduceMax,
    [MINIMUM] = wnnGraphBuilderReduceMin,
    [PRODUCT] = wnnGraphBuilderReduceProduct,
    [L1] = wnnGraphBuilderReduceL1,
    [L2] = wnnGraphBuilderReduceL2,
    [LOG_SUM] = wnnGraphBuilderReduceLogSum,
    [LOG_SUM_EXP] = wnnGraphBuilderReduceLogSumExp,
    [SUM_SQUARE] = wnnGraphBuilderReduceSumSquare,
};

// Those that shapes are made with.
static struct tensor *reduce_known(struct recording *r, enum reduction op, struct tensor *t, size_t rank,
                                   const int64_t *dims, const int64_t *to)
{
    struct tensor *result = make_filled(r, t->type, rank, dims, op == PRODUCT ? 1 : 0);
    struct nd_iterator n = {.rank = t->rank, .count = 1, .dims = t->dims};
    for (size_t k = 0; k < t->rank; k++)
        n.strides[0][k] = to[k];
    bool good = result && wnn_model_work(r, (uint64_t)count_elements(t));
    for (int64_t i = 0; good && i < count_elements(t); i++, advance_known(&n)) {
        int64_t at = n.at[0];
        bool first = true;
        for (size_t k = 0; k < t->rank; k++)
            first &= to[k] != 0 || n.index[k] == 0 || t->dims[k] == 1;
        if (t->ints && has_late((int64_t[]){t->ints[i], result->ints[at]}, 2)) {
            result->ints[at] = compute_size(r, op == SUM ? ADD : MUL, result->ints[at], t->ints[i]);
            continue;
        }
        double value = known_number(t, i), old = known_number(result, at);
        if (op == SUM_SQUARE)
            value *= value;
        set_known(result, at,
                  op == PRODUCT                   ? old * value
                  : op == SUM || op == SUM_SQUARE ? old + value
                  : first                         ? value
                  : op == MAXIMUM                 ? fmax(old, value)
                                                  : fmin(old, value));
    }
    return result;
}

struct tensor *reduce(struct recording *r, enum reduction op, struct tensor *t, size_t count,
                      const size_t *axes, bool keep)
{
    if (!t || r->failed)
        return NULL;
    uint32_t axis_list[MAX_RANK];
    bool reduced[MAX_RANK] = {false};
    for (size_t i = 0; i < count; i++) {
        axis_list[i] = (uint32_t)axes[i];
        reduced[axes[i]] = true;
    }
    if (is_known(r, t) && (op == SUM || op == PRODUCT || !has_late_elements(t)) &&
        (op == SUM || op == PRODUCT || op == MAXIMUM || op == MINIMUM || op == SUM_SQUARE)) {
        int64_t dims[MAX_RANK], to[MAX_RANK], stride = 1;
        size_t rank = 0;
        for (size_t i = 0; i < t->rank; i++)
            if (keep || !reduced[i])
                dims[rank++] = reduced[i] ? 1 : t->dims[i];
        for (size_t i = t->rank; i-- > 0;) {
            to[i] = reduced[i] ? 0 : stride;
            stride *= reduced[i] ? 1 : t->dims[i];
        }
        return reduce_known(r, op, t, rank, dims, to);
    }
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.label = label_of(r);
    options.axes = (WNNUint32List){axis_list, count};
    options.keepDimensions = keep;
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, reductions[op](r->builder, operand, &options)) : NULL;
}

struct tensor *reduce_axis(struct recording *r, enum reduction op, struct tensor *t, size_t axis)
{
    return reduce(r, op, t, 1, &axis, true);
}

struct tensor *arg_max(struct recording *r, struct tensor *t, size_t axis, bool least, bool keep)
{
    WNNArgMinMaxOptions options = WNN_ARG_MIN_MAX_OPTIONS_INIT;
    options.label = label_of(r);
    options.keepDimensions = keep;
    options.outputDataType = WNNDataType_Int64;
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, TYPE_INT64,
                                  (least ? wnnGraphBuilderArgMin : wnnGraphBuilderArgMax)(
                                      r->builder, operand, (uint32_t)axis, &options))
                   : NULL;
}

struct tensor *matmul(struct recording *r, struct tensor *a, struct tensor *b)
{
    WNNOperand x = operand_of(r, a), y = operand_of(r, b);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return x && y ? make_operand(r, a->type, wnnGraphBuilderMatmul(r->builder, x, y, &options)) : NULL;
}

struct tensor *softmax(struct recording *r, struct tensor *t, size_t axis)
{
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return operand ? make_operand(r, t->type,
                                  wnnGraphBuilderSoftmax(r->builder, operand, (uint32_t)axis, &options))
                   : NULL;
}

struct tensor *cumulative_sum(struct recording *r, struct tensor *t, size_t axis, bool exclusive,
                              bool reversed)
{
    WNNCumulativeSumOptions options = WNN_CUMULATIVE_SUM_OPTIONS_INIT;
    options.label = label_of(r);
    options.exclusive = exclusive;
    options.reversed = reversed;
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type,
                                  wnnGraphBuilderCumulativeSum(r->builder, operand, (uint32_t)axis, &options))
                   : NULL;
}

struct tensor *range(struct recording *r, struct tensor *start, struct tensor *limit, struct tensor *step)
{
    WNNOperand a = operand_of(r, reshape(r, start, 0, NULL)), b = operand_of(r, reshape(r, limit, 0, NULL)),
               s = operand_of(r, reshape(r, step, 0, NULL));
    WNNOperatorOptions options = {NULL, label_of(r)};
    return a && b && s ? make_operand(r, start->type, wnnGraphBuilderRange(r->builder, a, b, s, &options))
                       : NULL;
}

struct tensor *late_range(struct recording *r, int64_t count)
{
    struct late_operands *late = find_late(r, count);
    r->kept_count += late && !late->range;
    if (late && !late->range)
        late->range = range(r, make_number(r, TYPE_INT64, 0), make_size(r, TYPE_INT64, count),
                            make_number(r, TYPE_INT64, 1));
    return late ? late->range : NULL;
}

struct tensor *log_softmax(struct recording *r, struct tensor *t, size_t axis)
{
    t = binary(r, SUB, t, reduce_axis(r, MAXIMUM, t, axis));
    return binary(r, SUB, t, unary(r, LOG, reduce_axis(r, SUM, unary(r, EXP, t), axis)));
}
