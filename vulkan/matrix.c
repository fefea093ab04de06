// SPDX-License-Identifier: Apache-2.0
//
// matmul and gemm: in tiles where rows of the output are whole words, else an element at a time.

#include "vulkan/operators.h"

struct product {
    const struct tensor *a, *b, *c, *out;
    uint32_t rows, columns, inner, matrices;
    uint32_t a_row, a_inner, b_inner, b_column, c_row, c_column; // steps
    double alpha, beta;
    // Of the operands' matrices, by matrix of the output.
    unsigned rank;
    const uint32_t *dims;
    int64_t a_steps[WNN_MAX_RANK], b_steps[WNN_MAX_RANK];
};

static void lower(struct lowering *lowering, const struct product *p)
{
    bool half = p->out->type == WNNDataType_Float16;
    bool tiled = (!half || p->columns % 2 == 0) && p->rows >= 8 && p->columns >= 8 && p->inner >= 8 &&
                 lowering->gpu->can.shared_bytes >= 16 * 1024 && p->matrices <= 65535 &&
                 p->rows / 64 < 65535 && p->columns / 64 < 65535;
    uint64_t work = (uint64_t)p->out->count * p->inner;
    struct shader shader;
    wnn_shader_begin(&shader, lowering, tiled ? "matmul_tiled" : "matmul",
                     work > SIZE_MAX ? SIZE_MAX : (size_t)work);
    wnn_shader_map(&shader, "a", p->rank, p->dims, p->a_steps, 0);
    wnn_shader_map(&shader, "b", p->rank, p->dims, p->b_steps, 0);
    wnn_shader_input(&shader, "a", p->a, FORM_VALUE);
    wnn_shader_input(&shader, "b", p->b, FORM_VALUE);
    wnn_shader_number(&shader, "ROWS", p->rows);
    wnn_shader_number(&shader, "COLUMNS", p->columns);
    wnn_shader_number(&shader, "INNER", p->inner);
    wnn_shader_number(&shader, "A_ROW", p->a_row);
    wnn_shader_number(&shader, "A_INNER", p->a_inner);
    wnn_shader_number(&shader, "B_INNER", p->b_inner);
    wnn_shader_number(&shader, "B_COLUMN", p->b_column);
    if (p->alpha != 1)
        wnn_shader_float(&shader, "ALPHA", p->alpha);
    if (p->c->region.buffer) {
        wnn_shader_input(&shader, "c", p->c, FORM_VALUE);
        wnn_shader_float(&shader, "BETA", p->beta);
        wnn_shader_number(&shader, "C_ROW", p->c_row);
        wnn_shader_number(&shader, "C_COLUMN", p->c_column);
    }
    wnn_shader_output(&shader, p->out, FORM_VALUE, lowering->fused);
    if (!tiled) {
        wnn_shader_end(&shader);
        return;
    }
    // Small tiles where large ones would leave most of the device idle.
    uint32_t tile = p->rows >= 256 && p->columns >= 256 ? 64 : 32;
    shader.local_size = 256;
    wnn_shader_define(&shader, "TILE_M", "%uu", tile);
    wnn_shader_define(&shader, "TILE_N", "%uu", tile);
    wnn_shader_define(&shader, "TILE_K", "16u");
    wnn_shader_end_grid(&shader, (p->columns + tile - 1) / tile, (p->rows + tile - 1) / tile, p->matrices);
}

void wnn_lower_gemm(struct lowering *lowering)
{
    const WNNGemmOptions *options = lowering->node->attrs;
    const struct tensor *a = &lowering->in[0], *b = &lowering->in[1], *c = &lowering->in[2],
                        *out = &lowering->out[0];
    struct product p = {.a = a,
                        .b = b,
                        .c = c,
                        .out = out,
                        .rows = out->shape.dim[0],
                        .columns = out->shape.dim[1],
                        .matrices = 1,
                        .alpha = options->alpha,
                        .beta = options->beta};
    p.inner = a->shape.dim[options->aTranspose ? 0 : 1];
    p.a_row = options->aTranspose ? 1 : p.inner;
    p.a_inner = options->aTranspose ? p.rows : 1;
    p.b_inner = options->bTranspose ? 1 : p.columns;
    p.b_column = options->bTranspose ? p.inner : 1;
    if (c->region.buffer) {
        size_t strides[WNN_MAX_RANK];
        wnn_shape_broadcast_strides(&c->shape, &out->shape, strides);
        p.c_row = (uint32_t)strides[0];
        p.c_column = (uint32_t)strides[1];
    }
    lower(lowering, &p);
}

void wnn_lower_matmul(struct lowering *lowering)
{
    static const struct tensor none;
    const struct tensor *a = &lowering->in[0], *b = &lowering->in[1], *out = &lowering->out[0];
    unsigned rank = out->shape.rank;
    struct product p = {.a = a,
                        .b = b,
                        .c = &none,
                        .out = out,
                        .rows = out->shape.dim[rank - 2],
                        .columns = out->shape.dim[rank - 1],
                        .inner = a->shape.dim[a->shape.rank - 1],
                        .alpha = 1,
                        .rank = rank - 2,
                        .dims = out->shape.dim};
    p.matrices = (uint32_t)(out->count / p.rows / p.columns);
    p.a_row = p.inner;
    p.a_inner = 1;
    p.b_inner = p.columns;
    p.b_column = 1;
    struct shape whole = out->shape, a_matrices = a->shape, b_matrices = b->shape;
    size_t a_strides[WNN_MAX_RANK], b_strides[WNN_MAX_RANK];
    whole.rank -= 2;
    a_matrices.rank -= 2;
    b_matrices.rank -= 2;
    wnn_shape_broadcast_strides(&a_matrices, &whole, a_strides);
    wnn_shape_broadcast_strides(&b_matrices, &whole, b_strides);
    for (unsigned d = 0; d < whole.rank; d++) {
        p.a_steps[d] = (int64_t)a_strides[d] * p.rows * p.inner;
        p.b_steps[d] = (int64_t)b_strides[d] * p.inner * p.columns;
    }
    lower(lowering, &p);
}
