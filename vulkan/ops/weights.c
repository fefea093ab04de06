// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/weights.h"

#include "compiler/rewrite.h"
#include "ops/expression.h"
#include "vulkan/ops/operators.h"
#include "vulkan/program/arrangement.h"

#include <string.h>

enum {
    MAX_ROWS = 16,        // of the kernel for few rows
    MAX_HALF_ROWS = 1024, // of matrix units: for more it is worth making floats of integers once
    // Of few rows on matrix units: of float16, or quantized, of which floats have to be made in any case.
    MIN_UNIT_ROWS = 6,
    MIN_QUANTIZED_ROWS = 12,
    MIN_UNIT_WORK = 1 << 25,
    // Where the places of elements are known; an H200 has been measured.
    MIN_KNOWN_ROWS = 3,
    MAX_KNOWN_FLOAT_ROWS = 16,     // beyond which shared memory is as fast,
    MAX_KNOWN_QUANTIZED_ROWS = 48, // or rows take as long to read as weights,
    MIN_KNOWN_WORK = 1 << 22,
    MAX_KNOWN_FLOAT_BYTES = 1 << 27, // of weights: parts of more are not well read all at once
    MANY_COLUMNS = 1000
};

// ---------------------------------------------------------------------------------------------------------------
// What they are for
// ---------------------------------------------------------------------------------------------------------------

// The dequantizeLinear that is all that is fused at the second operand, of integers of 4 or 8 bits; or NULL.
static const struct expression *quantized(const struct node *node)
{
    const struct expression *fused = wnn_fused(node, 1);
    return fused && wnn_prologue_scale(node, 1) && wnn_dtype_bits(fused->from) <= 8 ? fused : NULL;
}

// Its scale (1) or zero point (2), which are the expression's own operands, in this order.
static struct operand **parameter(const struct node *node, const struct expression *fused, unsigned which)
{
    return &node->in[fused->first + which - 1];
}

// Weights that are loaded together, and the bytes that they are.
uint32_t wnn_weight_unit(unsigned bits)
{
    return bits == 32 ? 4 : 8;
}

static bool is_even(const struct product *p, uint32_t unit)
{
    bool even = p->inner % unit == 0;
    for (unsigned d = 0; d < p->rank; d++)
        even = even && p->b_steps[d] % unit == 0;
    return even;
}

// Whether words of the output hold elements of one row; behind the last there is nothing.
static bool writes_words(const struct product *p, WNNDataType type)
{
    uint32_t per = wnn_dtype_bits(type) < 32 ? 32 / wnn_dtype_bits(type) : 1;
    if (p->rows == 1 && p->matrices == 1)
        return per <= 2;
    bool whole = per <= 2 && p->columns % per == 0 && p->out_row % per == 0;
    for (unsigned d = 0; d < p->rank; d++)
        whole = whole && p->out_steps[d] % per == 0;
    return whole;
}

// The elements of a matrix of two dimensions that stands for the second operand or its scales.
static bool is_matrix(const struct operand *operand)
{
    return operand->type.shape.rank == 2;
}

static bool is_transposed(const struct node *node)
{
    return node->op == WNN_OP_gemm && ((const WNNGemmOptions *)node->attrs)->bTranspose;
}

// Shapes and types alone; a weight has so many bits.
static bool suits(const struct gpu *gpu, const struct node *node, const struct product *p, unsigned bits)
{
    const struct operand *b = node->in[1];
    uint64_t groups = ((uint64_t)p->columns + 1) / 2;
    return p->columns >= 8 && !wnn_product_is_small(&gpu->can, p) && b->constant && is_matrix(b) &&
           p->matrices == 1 && wnn_dtype_is_float(node->out[0]->type.type) &&
           is_even(p, wnn_weight_unit(bits)) && writes_words(p, node->out[0]->type.type) &&
           wnn_shader_bindings(gpu, wnn_descriptor_bytes(&b->type)) == 1 && groups <= gpu->can.groups[0];
}

// Whether tiles are made of integers, for all of their rows; more of float16, which is soon multiplied, are
// better made of floats.
static bool suits_tiles(const struct gpu *gpu, const struct node *node, const struct product *p)
{
    bool half = node->out[0]->type.type == WNNDataType_Float16;
    return p->inner >= 32 && p->rows / 32 < gpu->can.groups[1] &&
           (p->rows <= MAX_ROWS || !half || p->rows <= MAX_HALF_ROWS);
}

static bool is_matrix_constant(const struct operand *operand)
{
    return operand->constant && (is_matrix(operand) || wnn_shape_elements(&operand->type.shape) == 1);
}

bool wnn_takes_quantized(const struct gpu *gpu, const struct node *node)
{
    const struct expression *fused = quantized(node);
    if (!fused || (node->op != WNN_OP_matmul && node->op != WNN_OP_gemm))
        return false;
    struct product p = wnn_product_of(node);
    return suits(gpu, node, &p, wnn_dtype_bits(fused->from)) &&
           is_matrix_constant(*parameter(node, fused, 1)) && is_matrix_constant(*parameter(node, fused, 2)) &&
           (p.rows <= MAX_ROWS || suits_tiles(gpu, node, &p));
}

// ---------------------------------------------------------------------------------------------------------------
// Constants
// ---------------------------------------------------------------------------------------------------------------

// Puts another constant in the place of an operand of a node: of all, if nothing else uses it. The reference
// passes to the graph. False: there is no memory.
static bool replace(struct graph *graph, struct operand **in, const struct descriptor *type,
                    struct constant *constant)
{
    struct operand *operand = *in;
    if (!constant)
        return false;
    if (operand->uses == 1) {
        wnn_constant_unref(operand->constant);
        operand->constant = constant;
        operand->type = *type;
        return true;
    }
    struct operand *other = wnn_graph_add_constant(graph, type, constant);
    if (!other)
        return false;
    other->uses = 1;
    operand->uses--;
    *in = other;
    return true;
}

// A transpose in memory, of which the shape says nothing, made when it is uploaded. One that was loaded may
// lie so already. What others read, too, stays as it is for these, unless all want it turned.
static bool turn(struct graph *graph, struct operand **in, bool agreed)
{
    struct operand *operand = *in;
    if (operand->arranged || wnn_shape_elements(&operand->type.shape) == 1)
        return true;
    const struct descriptor type = operand->type;
    if (!agreed && !replace(graph, in, &type, wnn_constant_ref(operand->constant)))
        return false;
    (*in)->arranged = true;
    (*in)->arrangement = ARRANGED_COLUMNS;
    return true;
}

// Zero points are often all the same, and then not worth reading.
static void unite(struct graph *graph, struct operand **in, struct allocator *allocator)
{
    struct descriptor type = (*in)->type;
    size_t count = wnn_shape_elements(&type.shape);
    double first = wnn_number_double(wnn_number_load(type.type, (*in)->constant->data, 0));
    for (size_t i = 1; i < count; i++)
        if (wnn_number_double(wnn_number_load(type.type, (*in)->constant->data, i)) != first)
            return;
    if (count == 1)
        return;
    for (unsigned d = 0; d < type.shape.rank; d++)
        type.shape.dim[d] = 1;
    struct constant *constant = wnn_constant_create(allocator, wnn_descriptor_bytes(&type));
    if (constant)
        memcpy((void *)(uintptr_t)constant->data, (*in)->constant->data, constant->bytes);
    replace(graph, in, &type, constant);
}

// Elements from one to the next along columns and terms.
static void steps_of(const struct operand *operand, bool transposed, bool turned, uint32_t *column,
                     uint32_t *term)
{
    bool single = wnn_shape_elements(&operand->type.shape) == 1;
    const uint32_t *dim = operand->type.shape.dim;
    *column = single ? 0 : turned ? dim[0] : transposed ? dim[1] : 1;
    *term = single ? 0 : turned || transposed ? 1 : dim[1];
}

static void describe_blocks(struct weights *choice, const struct node *node, const struct product *p,
                            const struct expression *fused)
{
    const struct operand *scale = *parameter(node, fused, 1), *zero = *parameter(node, fused, 2);
    bool transposed = is_transposed(node), single = wnn_shape_elements(&scale->type.shape) == 1;
    const uint32_t *dim = scale->type.shape.dim;
    choice->block_columns = single ? p->columns : p->columns / dim[transposed ? 0 : 1];
    choice->block_terms = single ? p->inner : p->inner / dim[transposed ? 1 : 0];
    steps_of(scale, transposed, choice->turned, &choice->scale_column, &choice->scale_term);
    steps_of(zero, transposed, choice->turned, &choice->zero_column, &choice->zero_term);
}

static bool turn_all(struct graph *graph, struct node *node, const struct expression *fused, bool agreed)
{
    return turn(graph, &node->in[1], agreed) && (!fused || (turn(graph, parameter(node, fused, 1), false) &&
                                                            turn(graph, parameter(node, fused, 2), false)));
}

bool wnn_is_for_units(const struct capabilities *can, const struct product *p, bool quantized)
{
    uint64_t work = (uint64_t)p->rows * p->columns * p->matrices * p->inner;
    return can->matrix_units != MATRIX_UNITS_NONE && can->half_matrices.m > 0 && work >= MIN_UNIT_WORK &&
           p->rows >= (uint32_t)(quantized ? MIN_QUANTIZED_ROWS : MIN_UNIT_ROWS) && p->columns % 8 == 0 &&
           p->inner % 8 == 0;
}

// Whether they are read as they are for each row, of which there are few.
static bool has_few_rows(const struct gpu *gpu, const struct node *node, const struct product *p)
{
    bool half = node->out[0]->type.type == WNNDataType_Float16;
    return p->rows <= MAX_ROWS &&
           !(half && !wnn_fused(node, 0) && wnn_is_for_units(&gpu->can, p, quantized(node) != NULL));
}

// Whether few rows of float16 meet weights of so many bits on matrix units of which it is known who has what.
static bool are_places_of_use(const struct capabilities *can, const struct node *node,
                              const struct product *p, unsigned bits)
{
    uint64_t weights = (uint64_t)p->columns * p->inner;
    bool quantized = bits <= 8;
    bool half = node->in[0]->type.type == WNNDataType_Float16 &&
                node->out[0]->type.type == WNNDataType_Float16 && bits <= 16;
    uint32_t most = quantized ? MAX_KNOWN_QUANTIZED_ROWS : MAX_KNOWN_FLOAT_ROWS;
    // Rows that are read one element at a time cost more than is saved.
    bool pays = p->rows >= MIN_KNOWN_ROWS && p->rows * weights >= MIN_KNOWN_WORK && p->a_inner == 1 &&
                p->a_row % 8 == 0 && (quantized || weights * bits / 8 <= MAX_KNOWN_FLOAT_BYTES);
    return can->known_places && half && !wnn_fused(node, 0) && p->matrices == 1 && p->inner % 8 == 0 &&
           p->rows > 1 && p->rows <= most && (pays || can->always_matrices);
}

// Whether floats are read in larger pieces along the terms than along the columns, of which there is an odd
// number (the words that a language model knows).
static bool is_better_turned(const struct node *node, const struct product *p, unsigned bits)
{
    const struct operand *b = node->in[1];
    uint32_t unit = 128 / bits;
    return b->constant && is_matrix(b) && p->matrices == 1 && wnn_dtype_is_float(b->type.type) &&
           p->columns >= MANY_COLUMNS && p->columns % unit != 0 && p->inner >= 32 && p->inner % unit == 0;
}

// Looks at the numbers of scales and zero points. What is promised is given back then, and had again when it
// is uploaded. False: nobody has them, or there is no memory.
static bool look_at_scales(const struct gpu *gpu, struct plan *plan, struct node *node,
                           const struct expression *fused, struct weights *choice, struct error *error)
{
    struct operand *scale = *parameter(node, fused, 1), **zero = parameter(node, fused, 2);
    struct operand *looked_at[] = {scale, *zero};
    struct constant *before[] = {wnn_constant_ref(scale->constant), wnn_constant_ref((*zero)->constant)};
    bool done = wnn_resolve_operand(plan->resolver, scale, error) &&
                wnn_resolve_operand(plan->resolver, *zero, error);
    if (done) {
        choice->exact = gpu->strict || wnn_rewrite_scale_use(scale, *zero) == SCALE_NONE;
        unite(&plan->graph, zero, gpu->allocator);
    }
    for (unsigned i = 0; i < 2; i++) {
        bool united = wnn_shape_elements(&looked_at[i]->type.shape) == 1;
        if (wnn_constant_is_promised(before[i]) && !united) {
            wnn_constant_unref(looked_at[i]->constant);
            looked_at[i]->constant = wnn_constant_ref(before[i]);
        }
        wnn_constant_unref(before[i]);
    }
    return done;
}

// What becomes of a product's constant weights.
enum use {
    USE_NONE,  // nothing that the kernels here do
    USE_PLAIN, // they are only turned
    USE_TAKEN
};

static enum use use_of(const struct gpu *gpu, const struct node *node, bool *on_units)
{
    if (node->op != WNN_OP_matmul && node->op != WNN_OP_gemm)
        return USE_NONE;
    const struct expression *fused = quantized(node);
    struct product p = wnn_product_of(node);
    unsigned bits = wnn_dtype_bits(fused ? fused->from : node->in[1]->type.type);
    *on_units = are_places_of_use(&gpu->can, node, &p, bits);
    if (fused ? wnn_takes_quantized(gpu, node)
              : !wnn_fused(node, 1) && (*on_units || has_few_rows(gpu, node, &p)) &&
                    node->in[0]->type.type == node->in[1]->type.type && suits(gpu, node, &p, bits))
        return USE_TAKEN;
    bool plain = !wnn_fused(node, 1) && !is_transposed(node) && is_better_turned(node, &p, bits);
    return plain ? USE_PLAIN : USE_NONE;
}

// Of wnn_agree(): the state is a GPU.
static unsigned char wish(const void *state, const struct node *node, unsigned input)
{
    bool on_units, can = input == 1 && !node->in[1]->arranged && !is_transposed(node);
    return can && use_of(state, node, &on_units) != USE_NONE ? ARRANGED_COLUMNS : ARRANGED_AS_IT_IS;
}

// All that read the node's weights want them alike if this is `agreed`.
static bool arrange(const struct gpu *gpu, struct plan *plan, struct node *node, bool agreed,
                    struct error *error)
{
    struct graph *graph = &plan->graph;
    bool on_units;
    enum use use = use_of(gpu, node, &on_units);
    if (use == USE_NONE)
        return true;
    const struct expression *fused = quantized(node);
    bool transposed = is_transposed(node);
    // Transposing floats that others use otherwise would take much memory; integers are small.
    if (!fused && !transposed && !agreed && !node->in[1]->arranged)
        return true;
    struct weights *choice = wnn_arena_allocate(&graph->arena, sizeof *choice);
    if (!choice)
        return wnn_fail_memory(error);
    struct product p = wnn_product_of(node);
    *choice = (struct weights){.turned = !transposed, .plain = use == USE_PLAIN};
    if (fused && !look_at_scales(gpu, plan, node, fused, choice, error))
        return false;
    if (fused)
        describe_blocks(choice, node, &p, fused);
    unsigned bits = wnn_dtype_bits(fused ? fused->from : node->in[1]->type.type);
    choice->on_units =
        !choice->plain && on_units && wnn_has_single_scales(choice, bits, wnn_weight_unit(bits));
    choice->few_rows = !choice->plain && (choice->on_units || has_few_rows(gpu, node, &p));
    node->choice = choice;
    return transposed || turn_all(graph, node, fused, agreed) || wnn_fail_memory(error);
}

bool wnn_weights_are_alike(const struct node *a, const struct node *b)
{
    const struct weights *x = a->choice, *y = b->choice;
    const struct expression *of_a = quantized(a), *of_b = quantized(b);
    if (memcmp(x, y, sizeof *x) != 0 || a->in[1]->type.type != b->in[1]->type.type || !of_a != !of_b)
        return false;
    for (unsigned i = 1; of_a && i < 3; i++)
        if (!wnn_shape_equal(&(*parameter(a, of_a, i))->type.shape, &(*parameter(b, of_b, i))->type.shape))
            return false;
    return true;
}

// Whether the node reads all of its constants as they lie.
static bool reads_arranged(const struct node *node)
{
    const struct weights *choice = node->choice;
    const struct expression *fused = choice && choice->turned ? quantized(node) : NULL;
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        if (!node->in[i] || !node->in[i]->arranged)
            continue;
        bool turned = choice && choice->turned &&
                      (i == 1 || (fused && (&node->in[i] == parameter(node, fused, 1) ||
                                            &node->in[i] == parameter(node, fused, 2))));
        if (!turned)
            return false;
    }
    return true;
}

bool wnn_arrange_weights(const struct gpu *gpu, struct plan *plan, struct error *error)
{
    struct graph *graph = &plan->graph;
    size_t known = graph->operand_count; // before others are made of them
    const unsigned char *agreed = wnn_agree(graph, wish, gpu);
    if (!agreed)
        return wnn_fail_memory(error);
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        const struct operand *weights = node->in_count > 1 ? node->in[1] : NULL;
        bool alike = weights && weights->index < known && agreed[weights->index] == ARRANGED_COLUMNS;
        node->choice = NULL;
        if (!arrange(gpu, plan, node, alike, error))
            return false;
        if (!reads_arranged(node))
            return wnn_fail(error, WNNStatus_TypeError,
                            "Vulkan: %s reads a constant that lies in another order", wnn_ops[node->op].name);
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Shaders
// ---------------------------------------------------------------------------------------------------------------

bool wnn_has_single_scales(const struct weights *weights, unsigned bits, uint32_t unit)
{
    return bits > 8 || weights->block_terms % unit == 0;
}

// <name>_pack(i): the pack with element i.
static void describe_packs(struct shader *shader, const char *name, const struct tensor *b, unsigned bits,
                           uint32_t unit)
{
    unsigned k = wnn_shader_bind(shader, &b->region, false);
    wnn_shader_text(shader,
                    "layout(std430, set = 0, binding = %u) readonly buffer U%u { PACK u%u[]; };\n"
                    "#define %s_pack(i) u%u[(base%u + (i) / %uu) / %uu]\n",
                    k, k, k, name, k, k, 32 / bits, unit * bits / 32);
}

static unsigned bits_of(const struct tensor *b)
{
    return wnn_dtype_bits(b->fused ? b->fused->from : b->type);
}

// The scale (1) or zero point (2) that weights are quantized by.
static const struct tensor *parameter_of(const struct fused *fused, unsigned which)
{
    return &fused->inputs[fused->list[0].in[which] - 1];
}

static void describe_scales(struct shader *shader, const struct product *p, uint32_t unit, bool dense)
{
    const struct weights *weights = p->weights;
    const struct fused *fused = p->b->fused;
    const struct tensor *scale = parameter_of(fused, 1), *zero = parameter_of(fused, 2);
    unsigned bits = wnn_dtype_bits(fused->from);
    bool is_signed = wnn_dtype_is_signed(fused->from), half = p->b->type == WNNDataType_Float16,
         single = wnn_has_single_scales(weights, bits, unit);
    wnn_shader_input(shader, "s", scale, FORM_VALUE);
    wnn_shader_input(shader, "z", zero, FORM_VALUE);
    wnn_shader_define(shader, "SINGLE_ZERO", "%d", zero->count == 1);
    wnn_shader_define(shader, "SINGLE_SCALE", "%d", single);
    wnn_shader_define(shader, "EXACT", "%d", weights->exact);
    wnn_shader_define(shader, "ROUNDED(x)", half ? "rounded_f16(x)" : "(x)");
    wnn_shader_define(shader, "SCALES_SUMS", "%d", single && half && !weights->exact && !dense);
    wnn_shader_define(shader, "FLIPPED", "%s", !is_signed ? "0u" : bits == 4 ? "0x88888888u" : "0x80808080u");
    wnn_shader_define(shader, "OFFSET", "%d", is_signed ? 1 << (bits - 1) : 0);
    wnn_shader_fixed(shader, "SCALE_COLUMNS", weights->block_columns);
    wnn_shader_fixed(shader, "SCALE_TERMS", weights->block_terms);
    wnn_shader_fixed(shader, "SCALE_COLUMN", weights->scale_column);
    wnn_shader_fixed(shader, "SCALE_TERM", weights->scale_term);
    wnn_shader_fixed(shader, "ZERO_COLUMN", weights->zero_column);
    wnn_shader_fixed(shader, "ZERO_TERM", weights->zero_term);
}

void wnn_shader_weights(struct shader *shader, const struct product *p, uint32_t unit, bool dense)
{
    const char *const packs[] = {"uint", "uvec2", "uvec4"};
    unsigned bits = bits_of(p->b), words = unit * bits / 32;
    wnn_shader_define(shader, "BITS", "%u", bits);
    wnn_shader_fixed(shader, "UNIT", unit);
    wnn_shader_define(shader, "PACK", "%s", packs[words / 2]);
    wnn_shader_define(shader, "word_of(pack, w)", words == 1 ? "(pack)" : "pack[w]");
    describe_packs(shader, "b", p->b, bits, unit);
    if (bits <= 8) {
        describe_scales(shader, p, unit, dense);
    } else {
        wnn_shader_define(shader, "SINGLE_SCALE", "1");
        wnn_shader_define(shader, "SCALES_SUMS", "0");
    }
    wnn_shader_define(shader, "DENSE", "%d", dense);
    wnn_shader_include(shader, "weights");
}

void wnn_shader_partner_weights(struct shader *shader, const struct tensor *b, uint32_t unit)
{
    describe_packs(shader, "partner", b, bits_of(b), unit);
    if (bits_of(b) > 8) {
        wnn_shader_text(shader, "#define partner_scale_at(n, k) 1.0\n#define partner_zero_at(n, k) 0.0\n");
        return;
    }
    wnn_shader_input(shader, "t", parameter_of(b->fused, 1), FORM_VALUE);
    wnn_shader_input(shader, "y", parameter_of(b->fused, 2), FORM_VALUE);
    wnn_shader_text(shader, "#define partner_scale_at(n, k) t_at(scale_of(n, k))\n"
                            "#define partner_zero_at(n, k) float(int(y_at(zero_of(n, k))) + OFFSET)\n");
}
