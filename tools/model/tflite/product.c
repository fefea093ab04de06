// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tflite/call.h"

#include <string.h>

struct tensor *multiply_rows(struct recording *r, struct tensor *x, struct tensor *weights,
                             struct tensor *bias)
{
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    options.label = label_of(r);
    options.bTranspose = true;
    if (!x || !weights || r->failed)
        return NULL;
    int64_t dims[MAX_RANK], width = weights->dims[1];
    if (x->rank < 1 || x->dims[x->rank - 1] != width)
        return fail(r, "rows of %lld elements times weights for %lld",
                    (long long)(x->rank ? x->dims[x->rank - 1] : 1), (long long)width);
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = weights->dims[0];
    const int64_t flat[] = {product(x->dims, x->rank - 1), width};
    WNNOperand a = operand_of(r, reshape(r, x, 2, flat)), b = operand_of(r, weights);
    options.c = bias ? operand_of(r, bias) : NULL;
    if (!a || !b || r->failed)
        return NULL;
    struct tensor *y = make_operand(r, x->type, wnnGraphBuilderGemm(r->builder, a, b, &options));
    return reshape(r, y, x->rank, dims);
}

// Of the input all but the last axis, or as many elements as weights have columns, are a row each.
void compose_fully_connected(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0), *weights = real_at(c, 1), *bias = bias_at(c, 2, 0, 1);
    if (!x || !weights)
        return;
    if (option_enum(c, 1) != 0) {
        fail(r, "weights that are shuffled for one processor");
        return;
    }
    if (weights->rank != 2 || weights->dims[1] < 1 || count_elements(x) % weights->dims[1]) {
        fail(r, "weights of rank %zu, or that do not fit %lld elements", weights->rank,
             (long long)count_elements(x));
        return;
    }
    if (bias && bias->rank != 1)
        bias = reshape(r, bias, 1, &(int64_t){count_elements(bias)});
    const int64_t rows[] = {count_elements(x) / weights->dims[1], weights->dims[1]};
    if (!option_bool(c, 2))
        x = reshape(r, x, 2, rows);
    give(c, 0, activate_output(c, multiply_rows(r, x, weights, bias), option_enum(c, 0)));
}

static struct tensor *adjoint(struct recording *r, struct tensor *t, bool swapped)
{
    if (!t || t->rank < 2)
        return t ? fail(r, "a product of a tensor of rank %zu", t->rank) : NULL;
    return swapped ? swap_axes(r, t, t->rank - 2, t->rank - 1) : t;
}

void compose_batch_matmul(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = adjoint(r, real_at(c, 0), option_bool(c, 0));
    struct tensor *b = adjoint(r, real_at(c, 1), option_bool(c, 1));
    bool whole = a && is_integer(a->type);
    if (whole) { // float32 is exact for sums below 2^24
        a = cast(r, a, TYPE_FLOAT32);
        b = cast(r, b, TYPE_FLOAT32);
    }
    struct tensor *y = matmul(r, a, b);
    give(c, 0, whole ? cast(r, y, given_type(c, 0)) : y);
}
