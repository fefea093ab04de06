// SPDX-License-Identifier: Apache-2.0
//
// matmul and gemm.

#include "ops/geometry.h"
#include "vulkan/ops/few_rows.h"
#include "vulkan/ops/gemm.h"
#include "vulkan/ops/operators.h"

struct product wnn_product_of(const struct node *node)
{
    const struct matrix_product of = wnn_node_matrix_product(node);
    struct product p = {.rows = (uint32_t)of.m,
                        .columns = (uint32_t)of.n,
                        .inner = (uint32_t)of.k,
                        .matrices = (uint32_t)of.count,
                        .a_row = (uint32_t)of.a_row,
                        .a_inner = (uint32_t)of.a_term,
                        .b_column = (uint32_t)of.b_column,
                        .out_row = (uint32_t)of.n,
                        .b_run = (uint32_t)of.k,
                        .b_inner = (uint32_t)of.b_term,
                        .alpha = of.alpha,
                        .beta = of.beta,
                        .rank = of.batch.rank,
                        .c_dims = {(uint32_t)of.m, (uint32_t)of.n},
                        .c_steps = {(int64_t)of.c_row, (int64_t)of.c_column}};
    const struct weights *weights = node->choice;
    p.weights = weights && !weights->plain ? weights : NULL;
    p.fixed_b = node->in[1]->constant;
    if (weights && weights->turned) {
        p.b_inner = 1;
        p.b_column = p.inner;
    }
    size_t out_steps[WNN_MAX_RANK];
    wnn_shape_strides(&node->out[0]->type.shape, out_steps);
    for (unsigned d = 0; d < p.rank; d++) {
        p.dims[d] = of.batch.dim[d];
        p.a_steps[d] = (int64_t)of.a_steps[d];
        p.b_steps[d] = (int64_t)of.b_steps[d];
        p.out_steps[d] = (int64_t)out_steps[d];
    }
    return p;
}

void wnn_lower_each_product(struct lowering *lowering, const struct product *p)
{
    uint64_t work = (uint64_t)p->out->count * p->inner;
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "matmul", work > SIZE_MAX ? SIZE_MAX : (size_t)work);
    wnn_shader_map(&shader, "a", p->rank, p->dims, p->a_steps, 0);
    wnn_shader_map(&shader, "b", p->rank, p->dims, p->b_steps, 0);
    wnn_shader_input(&shader, "a", p->a, FORM_VALUE);
    wnn_shader_input(&shader, "b", p->b, FORM_VALUE);
    wnn_shader_number(&shader, "ROWS", p->rows);
    wnn_product_steps(&shader, p);
    wnn_product_scale(&shader, p, false);
    wnn_shader_output(&shader, p->out, FORM_VALUE, lowering->fused);
    wnn_shader_end(&shader);
}

static void lower(struct lowering *lowering)
{
    struct product p = wnn_product_of(lowering->node);
    p.a = &lowering->in[0];
    p.b = &lowering->in[1];
    p.out = &lowering->out[0];
    if (lowering->node->op == WNN_OP_gemm && lowering->in[2].region.buffer)
        p.c = &lowering->in[2];
    if (p.weights && p.weights->few_rows) {
        lowering->reason =
            p.weights->on_units ? "a few rows with constants, on matrix units" : "a few rows with constants";
        wnn_lower_few_rows(lowering, &p);
    } else if (p.weights || wnn_is_large_product(lowering, &p)) {
        wnn_lower_product(lowering, &p);
    } else {
        lowering->reason = "too small for tiles";
        wnn_lower_each_product(lowering, &p);
    }
}

static bool fuses_prologue(const struct node *node, unsigned input)
{
    // float16 gains nothing: it is rounded on the way by arithmetic, and would miss matrix units.
    if (input != 1 || node->out[0]->type.type != WNNDataType_Float32)
        return false;
    struct product p = wnn_product_of(node);
    return wnn_reads_second_once(&p);
}

static size_t scratch_bytes(const struct node *node)
{
    struct product p = wnn_product_of(node);
    return p.weights && p.weights->few_rows ? 0 : wnn_scratch_of_product(&p, node->out[0]->type.type);
}

const struct gpu_operator wnn_gpu_gemm = {
    .lower = lower, .scratch = scratch_bytes, .fuses_epilogue = true, .fuses_prologue = fuses_prologue};
const struct gpu_operator wnn_gpu_matmul = {
    .lower = lower, .scratch = scratch_bytes, .fuses_epilogue = true, .fuses_prologue = fuses_prologue};
