// SPDX-License-Identifier: Apache-2.0
//
// matmul and gemm.

#include "vulkan/ops/operators.h"
#include "vulkan/ops/gemm.h"

// What the shapes and options say; the tensors are the lowering's.
static struct product product_of_gemm(const struct node *node)
{
    const WNNGemmOptions *options = node->attrs;
    const struct shape *a = &node->in[0]->type.shape, *out = &node->out[0]->type.shape;
    struct product p = {.rows = out->dim[0],
                        .columns = out->dim[1],
                        .inner = a->dim[options->aTranspose ? 0 : 1],
                        .matrices = 1,
                        .out_row = out->dim[1],
                        .alpha = options->alpha,
                        .beta = options->beta,
                        .c_dims = {out->dim[0], out->dim[1]}};
    p.a_row = options->aTranspose ? 1 : p.inner;
    p.a_inner = options->aTranspose ? p.rows : 1;
    p.b_run = p.inner;
    p.b_inner = options->bTranspose ? 1 : p.columns;
    p.b_column = options->bTranspose ? p.inner : 1;
    if (node->in[2]) {
        size_t strides[WNN_MAX_RANK];
        wnn_shape_broadcast_strides(&node->in[2]->type.shape, out, strides);
        p.c_steps[0] = (int64_t)strides[0];
        p.c_steps[1] = (int64_t)strides[1];
    }
    return p;
}

static struct product product_of_matmul(const struct node *node)
{
    const struct shape *a = &node->in[0]->type.shape, *b = &node->in[1]->type.shape,
                       *out = &node->out[0]->type.shape;
    unsigned rank = out->rank;
    struct product p = {.rows = out->dim[rank - 2],
                        .columns = out->dim[rank - 1],
                        .inner = a->dim[a->rank - 1],
                        .matrices = 1,
                        .a_inner = 1,
                        .b_column = 1,
                        .alpha = 1,
                        .rank = rank - 2};
    p.a_row = p.b_run = p.inner;
    p.b_inner = p.out_row = p.columns;
    struct shape whole = *out, a_matrices = *a, b_matrices = *b;
    size_t a_strides[WNN_MAX_RANK], b_strides[WNN_MAX_RANK], out_strides[WNN_MAX_RANK];
    whole.rank -= 2;
    a_matrices.rank -= 2;
    b_matrices.rank -= 2;
    wnn_shape_broadcast_strides(&a_matrices, &whole, a_strides);
    wnn_shape_broadcast_strides(&b_matrices, &whole, b_strides);
    wnn_shape_strides(out, out_strides);
    for (unsigned d = 0; d < whole.rank; d++) {
        p.dims[d] = whole.dim[d];
        p.matrices *= whole.dim[d];
        p.a_steps[d] = (int64_t)a_strides[d] * p.rows * p.inner;
        p.b_steps[d] = (int64_t)b_strides[d] * p.inner * p.columns;
        p.out_steps[d] = (int64_t)out_strides[d];
    }
    // With one b for all, the matrices are one below another.
    if (p.matrices > 1 && wnn_shape_elements(&b_matrices) == 1 && wnn_shape_equal(&a_matrices, &whole)) {
        p.rows *= p.matrices;
        p.matrices = 1;
        p.rank = 0;
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
    wnn_product_steps(&shader, p);
    wnn_product_scale(&shader, p);
    wnn_shader_output(&shader, p->out, FORM_VALUE, lowering->fused);
    wnn_shader_end(&shader);
}

static void lower(struct lowering *lowering, struct product *p)
{
    p->a = &lowering->in[0];
    p->b = &lowering->in[1];
    p->out = &lowering->out[0];
    if (wnn_is_large_product(lowering, p)) {
        wnn_lower_product(lowering, p);
    } else {
        lowering->reason = "too small for tiles";
        wnn_lower_each_product(lowering, p);
    }
}

static void lower_gemm(struct lowering *lowering)
{
    struct product p = product_of_gemm(lowering->node);
    if (lowering->in[2].region.buffer)
        p.c = &lowering->in[2];
    lower(lowering, &p);
}

static void lower_matmul(struct lowering *lowering)
{
    struct product p = product_of_matmul(lowering->node);
    lower(lowering, &p);
}

static bool prepares(const struct node *node, unsigned input)
{
    // float16 gains nothing: it is rounded on the way by arithmetic, and would miss matrix units.
    if (input != 1 || node->out[0]->type.type != WNNDataType_Float32)
        return false;
    struct product p = node->op == WNN_OP_gemm ? product_of_gemm(node) : product_of_matmul(node);
    return wnn_reads_second_once(&p);
}

static size_t gemm_scratch(const struct node *node)
{
    struct product p = product_of_gemm(node);
    return wnn_scratch_of_product(&p, node->out[0]->type.type);
}

static size_t matmul_scratch(const struct node *node)
{
    struct product p = product_of_matmul(node);
    return wnn_scratch_of_product(&p, node->out[0]->type.type);
}

const struct gpu_operator wnn_gpu_gemm = {
    .lower = lower_gemm, .scratch = gemm_scratch, .finishes = true, .prepares = prepares};
const struct gpu_operator wnn_gpu_matmul = {
    .lower = lower_matmul, .scratch = matmul_scratch, .finishes = true, .prepares = prepares};
