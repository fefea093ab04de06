// SPDX-License-Identifier: Apache-2.0
//
// From the operator table back to the public functions. A new operator with positional arguments needs a
// function here, and does not compile without one.

#include "conformance/fuzz/recorder.h"

#include <string.h>

struct method_call {
    WNNGraphBuilder builder;
    size_t count, capacity;
    const WNNOperand *in;
    WNNOperand *out;
    const void *options; // may be NULL
};

static size_t single(const struct method_call *c, WNNOperand output)
{
    c->out[0] = output;
    return output != NULL;
}

#define POSITIONAL(id, ...) static size_t call_##id(const struct method_call *c, const struct __VA_ARGS__ *a)
#define OPTIONS(type)       ((const WNN##type##Options *)c->options)

POSITIONAL(argMin, arg_min_max_attrs)
{
    return single(c, wnnGraphBuilderArgMin(c->builder, c->in[0], a->axis, OPTIONS(ArgMinMax)));
}

POSITIONAL(argMax, arg_min_max_attrs)
{
    return single(c, wnnGraphBuilderArgMax(c->builder, c->in[0], a->axis, OPTIONS(ArgMinMax)));
}

POSITIONAL(cast, cast_attrs)
{
    return single(c, wnnGraphBuilderCast(c->builder, c->in[0], a->dataType, OPTIONS(Operator)));
}

POSITIONAL(concat, concat_attrs)
{
    return single(c, wnnGraphBuilderConcat(c->builder, c->count, c->in, a->axis, OPTIONS(Operator)));
}

POSITIONAL(cumulativeSum, cumulative_sum_attrs)
{
    return single(c, wnnGraphBuilderCumulativeSum(c->builder, c->in[0], a->axis, OPTIONS(CumulativeSum)));
}

POSITIONAL(expand, expand_attrs)
{
    return single(c, wnnGraphBuilderExpand(c->builder, c->in[0], a->newShape, OPTIONS(Operator)));
}

POSITIONAL(reshape, expand_attrs)
{
    return single(c, wnnGraphBuilderReshape(c->builder, c->in[0], a->newShape, OPTIONS(Operator)));
}

POSITIONAL(gru, gru_attrs)
{
    return wnnGraphBuilderGru(c->builder, c->in[0], c->in[1], c->in[2], a->steps, a->hiddenSize, OPTIONS(Gru),
                              c->out);
}

POSITIONAL(gruCell, gru_cell_attrs)
{
    return single(c, wnnGraphBuilderGruCell(c->builder, c->in[0], c->in[1], c->in[2], c->in[3], a->hiddenSize,
                                            OPTIONS(GruCell)));
}

POSITIONAL(lstm, lstm_attrs)
{
    return wnnGraphBuilderLstm(c->builder, c->in[0], c->in[1], c->in[2], a->steps, a->hiddenSize,
                               OPTIONS(Lstm), c->out);
}

POSITIONAL(lstmCell, lstm_cell_attrs)
{
    return wnnGraphBuilderLstmCell(c->builder, c->in[0], c->in[1], c->in[2], c->in[3], c->in[4],
                                   a->hiddenSize, OPTIONS(LstmCell), c->out);
}

POSITIONAL(pad, pad_attrs)
{
    return single(
        c, wnnGraphBuilderPad(c->builder, c->in[0], a->beginningPadding, a->endingPadding, OPTIONS(Pad)));
}

POSITIONAL(slice, slice_attrs)
{
    return single(c, wnnGraphBuilderSlice(c->builder, c->in[0], a->starts, a->sizes, OPTIONS(Slice)));
}

POSITIONAL(softmax, softmax_attrs)
{
    return single(c, wnnGraphBuilderSoftmax(c->builder, c->in[0], a->axis, OPTIONS(Operator)));
}

POSITIONAL(split, split_attrs)
{
    if (a->sizes.count == WNN_LIST_ABSENT)
        return wnnGraphBuilderSplit(c->builder, c->in[0], a->count, OPTIONS(Split), c->capacity, c->out);
    return wnnGraphBuilderSplitSizes(c->builder, c->in[0], a->sizes, OPTIONS(Split), c->capacity, c->out);
}

POSITIONAL(splitDynamic, split_dynamic_attrs)
{
    (void)a;
    return wnnGraphBuilderSplitDynamic(c->builder, c->in[0], c->in[1], OPTIONS(Split), c->capacity, c->out);
}

POSITIONAL(tile, tile_attrs)
{
    return single(c, wnnGraphBuilderTile(c->builder, c->in[0], a->repetitions, OPTIONS(Operator)));
}

POSITIONAL(unsqueeze, unsqueeze_attrs)
{
    return single(c, wnnGraphBuilderUnsqueeze(c->builder, c->in[0], a->axes, OPTIONS(Operator)));
}

size_t fuzz_call(WNNGraphBuilder builder, enum op op, size_t count, const WNNOperand *in, const void *attrs,
                 bool no_options, size_t capacity, WNNOperand *outputs)
{
    const struct method_call call = {builder, count, capacity, in, outputs, no_options ? NULL : attrs};
    memset(outputs, 0, capacity * sizeof outputs[0]);
    switch (op) {
#define OP1(class, id, method, ...)                                                                          \
    case WNN_OP_##id:                                                                                        \
        return single(&call, wnnGraphBuilder##method(builder, in[0], call.options));
#define OP2(class, id, method, ...)                                                                          \
    case WNN_OP_##id:                                                                                        \
        return single(&call, wnnGraphBuilder##method(builder, in[0], in[1], call.options));
#define OP3(class, id, method, ...)                                                                          \
    case WNN_OP_##id:                                                                                        \
        return single(&call, wnnGraphBuilder##method(builder, in[0], in[1], in[2], call.options));
#define OPX(class, id, ...)                                                                                  \
    case WNN_OP_##id:                                                                                        \
        return call_##id(&call, attrs);
#include "ops/ops.def"
    default:
        return 0;
    }
}
