// SPDX-License-Identifier: Apache-2.0
//
// gemm and matmul of floats by a constant matrix of 4 or 8-bit integers with scales and zero points for
// blocks of it. The matrix is packed in strips, or, where blocks are so small that strips would be wider than
// it is, read where it lies.

#include "cpu/matmul/gemm.h"
#include "cpu/matmul/nbit.h"

#include "cpu/elementwise/elementwise.h"

#define MIN_ELEMENTS 1024 // smaller matrices are worth more as floats

// Whether a zero point is other than what is in the middle of the integers that strips have.
static bool has_zeros(WNNDataType type, const struct operand *zero)
{
    const unsigned char *data = zero->constant->data;
    size_t bytes = wnn_descriptor_bytes(&zero->type);
    unsigned char middle = type == WNNDataType_Uint4 ? 0x88 : type == WNNDataType_Uint8 ? 0x80 : 0;
    bool odd = wnn_dtype_bits(type) == 4 && wnn_shape_elements(&zero->type.shape) % 2;
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != middle && !(odd && i + 1 == bytes && (data[i] & 15) == (middle & 15)))
            return true;
    return false;
}

// Whether a smaller type holds a number of float32.
static bool holds(enum strip_scales scales, const unsigned char *number)
{
    uint32_t bits;
    float x;
    memcpy(&bits, number, sizeof bits);
    memcpy(&x, number, sizeof x);
    float half = wnn_half_to_float(wnn_half_from_float(x));
    return scales == WNN_SCALES_FLOAT16 ? memcmp(&x, &half, sizeof x) == 0 : (bits & UINT16_MAX) == 0;
}

// Scales of float32 that a smaller type holds, as the float16 and bfloat16 of which weights have been
// quantized often are, are packed as that: a tenth of all that a matrix of 4 bits reads.
static enum strip_scales scales_of(const struct operand *scale)
{
    size_t count = wnn_shape_elements(&scale->type.shape);
    const unsigned char *numbers = scale->constant->data;
    if (scale->type.type == WNNDataType_Float16)
        return WNN_SCALES_FLOAT16;
    for (enum strip_scales scales = WNN_SCALES_FLOAT16; scales <= WNN_SCALES_BFLOAT16; scales++) {
        size_t i = 0;
        while (i < count && holds(scales, numbers + i * sizeof(float)))
            i++;
        if (i == count)
            return scales;
    }
    return WNN_SCALES_FLOAT32;
}

static void choose(const struct node *node, void *choice)
{
    const struct matrix_product p = wnn_node_matrix_product(node);
    const struct shape *b = &node->in[1]->type.shape;
    const struct operand *scale = node->in[wnn_prologue_scale(node, 1)];
    const struct shape *blocks = &scale->type.shape;
    struct nbit_product product = {.m = p.m, .n = p.n, .k = p.k, .scale = wnn_gemm_scale_of(&p)};
    product.transposed = node->op == WNN_OP_gemm && ((const WNNGemmOptions *)node->attrs)->bTranspose;
    product.weights = (struct nbit_weights){.type = node->in[1]->type.type,
                                            .half = scale->type.type == WNNDataType_Float16,
                                            .rows = b->dim[0],
                                            .length = b->dim[1],
                                            .row_block = b->dim[0] / blocks->dim[0],
                                            .block = b->dim[1] / blocks->dim[1],
                                            .scale_row = blocks->dim[1]};
    product.strips =
        (struct strips){.n = p.n,
                        .k = p.k,
                        .block = product.transposed ? product.weights.block : product.weights.row_block,
                        .nibbles = wnn_dtype_bits(product.weights.type) == 4,
                        .scales = WNN_SCALES_FLOAT32};
    product.packs = wnn_nbit_worth_strips(&product.strips);
    if (product.packs)
        product.strips.scales = scales_of(scale);
    product.strips.zeros =
        product.packs && has_zeros(product.weights.type, node->in[wnn_prologue_scale(node, 1) + 1]);
    product.rounds = node->lowering == LOWER_ROUNDED;
    product.int8_kernels = product.rounds ? wnn_strip_int8_kernels(wnn_cpu_target(node)) : NULL;
    *(struct nbit_product *)choice = product;
}

static struct nbit_product product_of(const struct node *node)
{
    struct nbit_product memory;
    return *(const struct nbit_product *)wnn_choice(node, choose, &memory);
}

static bool accepts(const struct node *node)
{
    if (wnn_fused(node, 0) || wnn_fused(node, 2) || !wnn_prologue_scale(node, 1) ||
        wnn_epilogue(node).scale || (node->op != WNN_OP_gemm && node->op != WNN_OP_matmul) ||
        !wnn_has_weights(node) || node->in[1]->type.shape.rank != 2 ||
        wnn_dtype_bits(node->in[1]->type.type) > 8 ||
        wnn_shape_elements(&node->in[1]->type.shape) < MIN_ELEMENTS)
        return false;
    return node->op == WNN_OP_matmul || !((const WNNGemmOptions *)node->attrs)->aTranspose;
}

static bool is_thin(const struct nbit_product *product)
{
    return product->m <= (product->packs ? WNN_STRIP_ROWS : NBIT_FEW_ROWS);
}

static size_t scratch_bytes(const struct node *node, unsigned threads)
{
    struct nbit_product product = product_of(node);
    size_t bytes = wnn_floats_scratch_without_weights(node);
    size_t exact = !is_thin(&product) ? wnn_gemm_scratch(product.n, product.k)
                   : product.packs    ? wnn_nbit_strips_scratch(&product)
                                      : wnn_nbit_few_scratch(&product);
    size_t rounded = product.rounds ? wnn_nbit_int8_scratch(&product) : 0;
    (void)threads;
    return bytes + (exact > rounded ? exact : rounded);
}

static struct nbit_product load_weights(const struct kernel_call *call)
{
    struct nbit_product product = product_of(call->node);
    unsigned scale = wnn_prologue_scale(call->node, 1);
    product.weights.data = call->in[1].data;
    product.weights.scales = call->in[scale].data;
    product.weights.zeros = call->in[scale + 1].data;
    return product;
}

// All but the rows that it reads.
static struct nbit_product load_product(const struct kernel_call *call, struct scratch *scratch)
{
    struct nbit_product product = load_weights(call);
    wnn_gemm_read_addend(&product.scale, call, scratch);
    product.c = wnn_floats_out(call, 0, scratch);
    product.strips.packed = call->packed;
    return product;
}

static void run_joined(const struct kernel_call *calls, size_t count)
{
    struct nbit_product products[WNN_MAX_JOINED];
    struct scratch first = {calls[0].scratch};
    const float *a = wnn_floats_in(&calls[0], 0, &first);
    for (size_t i = 0; i < count; i++) {
        struct scratch own = {calls[i].scratch};
        products[i] = load_product(&calls[i], i == 0 ? &first : &own);
        products[i].a = a;
    }
    wnn_nbit_run_strips(products, count, calls[0].parallel, &first);
    for (size_t i = 0; i < count; i++)
        wnn_floats_store(&calls[i], 0, products[i].c);
}

static void run_gemm(const struct kernel_call *call)
{
    struct scratch scratch = {call->scratch};
    const float *a = wnn_floats_in(call, 0, &scratch);
    struct nbit_product product = load_product(call, &scratch);
    product.a = a;
    if (product.rounds && wnn_nbit_run_int8(&product, call->parallel, scratch)) {
        // Otherwise without rounding.
    } else if (is_thin(&product) && product.packs) {
        wnn_nbit_run_strips(&product, 1, call->parallel, &scratch);
    } else if (is_thin(&product)) {
        wnn_nbit_run_few(&product, call->parallel, &scratch);
    } else {
        wnn_nbit_run_panels(&product, call->parallel, &scratch);
    }
    wnn_floats_store(call, 0, product.c);
}

static size_t packed_bytes(const struct node *node)
{
    const struct nbit_product product = product_of(node);
    return product.packs ? wnn_strips_bytes(&product.strips) : 0;
}

static void pack_weights(const struct kernel_call *call, void *packed)
{
    const struct nbit_product product = load_weights(call);
    wnn_nbit_pack(&product, call->parallel, packed);
}

// Where rows are prepared alike for the strips of both.
static bool joins(const struct node *first, const struct node *node)
{
    const struct nbit_product a = product_of(first), b = product_of(node);
    return a.packs && b.packs && !a.rounds && !b.rounds && is_thin(&a) && a.m == b.m && a.k == b.k &&
           a.strips.block == b.strips.block && a.strips.nibbles == b.strips.nibbles;
}

static uint64_t packed_variant(const struct node *node)
{
    return product_of(node).transposed;
}

static bool rounds(const struct node *node)
{
    const struct nbit_product product = product_of(node);
    return product.packs && wnn_strip_int8_is_faster(wnn_strip_int8_kernels(wnn_cpu_target(node)), product.m);
}

static const char *method(const struct node *node)
{
    const struct nbit_product product = product_of(node);
    return product.rounds       ? "quantized rows in integers"
           : !is_thin(&product) ? "quantized weights"
           : product.packs      ? "quantized strips"
           : product.transposed ? "quantized dots"
                                : "quantized rows";
}

const struct kernel wnn_cpu_gemm_nbit = {.run = run_gemm,
                                         .choose = choose,
                                         .choice_bytes = sizeof(struct nbit_product),
                                         .scratch = scratch_bytes,
                                         .packed_bytes = packed_bytes,
                                         .pack = pack_weights,
                                         .packed_variant = packed_variant,
                                         .rounds = rounds,
                                         .joins = joins,
                                         .run_joined = run_joined,
                                         .method = method,
                                         .accepts = accepts};
