// SPDX-License-Identifier: Apache-2.0
//
// Reference: matrix products.

#include "conformance/reference/kernels.h"

void wnn_reference_gemm(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const WNNGemmOptions *options = node->attrs;
    const struct tensor *a = &in[0], *b = &in[1], *c = &in[2];
    size_t rows = out->shape.dim[0], columns = out->shape.dim[1],
           inner = a->shape.dim[options->aTranspose ? 0 : 1];
    for (size_t m = 0; m < rows; m++)
        for (size_t n = 0; n < columns; n++) {
            struct line row =
                options->aTranspose ? (struct line){a, m, rows} : (struct line){a, m * inner, 1};
            struct line column =
                options->bTranspose ? (struct line){b, n * inner, 1} : (struct line){b, n, columns};
            double sum = options->alpha * sum_of_products(row, column, inner);
            if (c->data != NULL)
                sum += options->beta * load(c, broadcast_index(c, out, m * columns + n));
            store(out, m * columns + n, sum);
        }
}

// Where the matrix of `from` begins that stands at matrix `batch` of `out`: as broadcast_index, without the
// last two dimensions.
static size_t matrix_index(const struct tensor *from, const struct tensor *out, size_t batch)
{
    struct tensor from_batches = *from, out_batches = *out;
    from_batches.shape.rank -= 2;
    out_batches.shape.rank -= 2;
    const uint32_t *matrix = &from->shape.dim[from_batches.shape.rank];
    return broadcast_index(&from_batches, &out_batches, batch) * matrix[0] * matrix[1];
}

void wnn_reference_matmul(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    (void)node;
    const struct tensor *a = &in[0], *b = &in[1];
    size_t rows = out->shape.dim[out->shape.rank - 2], columns = out->shape.dim[out->shape.rank - 1];
    size_t inner = a->shape.dim[a->shape.rank - 1];
    size_t first_a = 0, first_b = 0;
    for (size_t i = 0; i < out->count; i++) {
        size_t batch = i / (rows * columns), m = i / columns % rows, n = i % columns;
        if (m == 0 && n == 0) {
            first_a = matrix_index(a, out, batch);
            first_b = matrix_index(b, out, batch);
        }
        struct line row = {a, first_a + m * inner, 1}, column = {b, first_b + n, columns};
        store(out, i, sum_of_products(row, column, inner));
    }
}
