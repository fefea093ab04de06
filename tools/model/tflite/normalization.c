// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tflite/call.h"

void compose_softmax(struct call *c)
{
    struct tensor *x = real_at(c, 0);
    double beta = option_float(c, 0);
    if (!x || x->rank < 1)
        fail(c->r, "a tensor of rank 0");
    else
        give(c, 0, softmax(c->r, beta == 1 ? x : with_number(c->r, MUL, x, beta), x->rank - 1));
}

void compose_log_softmax(struct call *c)
{
    struct tensor *x = real_at(c, 0);
    if (!x || x->rank < 1)
        fail(c->r, "a tensor of rank 0");
    else
        give(c, 0, log_softmax(c->r, x, x->rank - 1));
}

// Its option, an activation, is one that no implementation applies.
void compose_l2_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0);
    if (!x || x->rank < 1) {
        fail(r, "a tensor of rank 0");
        return;
    }
    struct tensor *length = reduce_axis(r, L2, x, x->rank - 1);
    give(c, 0, binary(r, DIV, x, with_number(r, MAX, length, 1e-6)));
}

// Sums of squares of neighboring channels are a pool over them.
void compose_local_response(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0);
    int64_t radius = option_int(c, 0, 0), size = 2 * radius + 1;
    double bias = option_float(c, 1), alpha = option_float(c, 2), beta = option_float(c, 3);
    if (!x || x->rank < 1 || radius < 0 || radius > 65536) {
        fail(r, "%lld channels to either side", (long long)radius);
        return;
    }
    int64_t channels = x->dims[x->rank - 1], aside[4] = {0, 0, radius, 0};
    const int64_t flat[] = {1, product(x->dims, x->rank - 1), channels, 1};
    struct tensor *squares =
        pad(r, reshape(r, binary(r, MUL, x, x), 4, flat), aside, aside, WNNPaddingMode_Constant, 0);
    uint32_t window[] = {1, (uint32_t)size};
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.layout = WNNInputOperandLayout_NHWC;
    options.windowDimensions = (WNNUint32List){window, 2};
    WNNOperand operand = operand_of(r, squares);
    if (!operand)
        return;
    struct tensor *mean =
        make_operand(r, x->type, wnnGraphBuilderAveragePool2d(r->builder, operand, &options));
    mean = reshape(r, mean, x->rank, x->dims);
    struct tensor *base = with_number(r, ADD, with_number(r, MUL, mean, alpha * (double)size), bias);
    give(c, 0, binary(r, MUL, x, with_number(r, POW, base, -beta)));
}
