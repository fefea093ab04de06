// SPDX-License-Identifier: Apache-2.0
//
// Queries, keys and values of one input, in the forms in which frameworks write them: as parts of one product
// or as products of their own, and the halves of gated units. What the device computes is what the CPU does,
// and nothing is moved on the way where it promises that.

#include "conformance/unit/differential_fixture.h"

enum form {
    FORM_COLUMNS,     // [.., 3 * heads * depth], cut along the last dimension
    FORM_OUTERMOST,   // [3, batch, heads, rows, depth], as vision transformers write it
    FORM_INTERLEAVED, // [.., heads, 3 * depth], cut along the last dimension
    FORM_BETWEEN,     // [.., heads, 3, depth], cut along the second one
    FORM_PRODUCTS,    // three products
    FORMS
};

struct projection {
    enum form form;
    uint32_t batch, rows, terms, heads, depth;
    bool gemm, turned;   // with bTranspose
    unsigned rows_added; // bit i: a row is added to product i, or to the only one
    bool splits, scaled;
    bool odd; // parts are read by something else, too, or do not cover the whole
    uint32_t seed;
};

static const struct projection *now;

static WNNOperand constant_of(struct subject *s, uint32_t rows, uint32_t columns, uint32_t seed)
{
    static float numbers[1 << 18];
    static uint16_t halves[1 << 18];
    size_t count = (size_t)(rows ? rows : 1) * columns;
    const uint32_t dims[] = {rows ? rows : columns, columns};
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    REQUIRE(count <= sizeof numbers / sizeof numbers[0]);
    descriptor.dataType = s->type;
    descriptor.shape = (WNNUint32List){dims, rows ? 2 : 1};
    for (size_t i = 0; i < count; i++) {
        numbers[i] = ((float)(next(&seed) % 2001) / 1000 - 1) * 0.3f;
        halves[i] = wnn_half_from_float(numbers[i]);
    }
    bool half = s->type == WNNDataType_Float16;
    return wnnGraphBuilderConstant(s->builder, &descriptor, half ? (void *)halves : (void *)numbers,
                                   wnn_dtype_bytes(s->type, count));
}

static WNNOperand reshape(struct subject *s, WNNOperand x, unsigned rank, const uint32_t *dims)
{
    return wnnGraphBuilderReshape(s->builder, x, (WNNUint32List){dims, rank}, NULL);
}
#define RESHAPE(s, x, ...)                                                                                   \
    reshape(s, x, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

static WNNOperand transpose(struct subject *s, WNNOperand x, unsigned rank, const uint32_t *order)
{
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){order, rank};
    return wnnGraphBuilderTranspose(s->builder, x, &options);
}
#define TRANSPOSE(s, x, ...)                                                                                 \
    transpose(s, x, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

// x [batch, rows, terms] times constants, as [batch, rows, columns].
static WNNOperand multiply(struct subject *s, WNNOperand x, uint32_t columns, unsigned number)
{
    const struct projection *p = now;
    WNNOperand row = p->rows_added & 1u << number ? constant_of(s, 0, columns, p->seed + number) : NULL;
    if (!p->gemm) {
        WNNOperand y = wnnGraphBuilderMatmul(s->builder, x,
                                             constant_of(s, p->terms, columns, p->seed + 10 + number), NULL);
        return row ? wnnGraphBuilderAdd(s->builder, number % 2 ? y : row, number % 2 ? row : y, NULL) : y;
    }
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    options.c = row;
    options.bTranspose = p->turned;
    WNNOperand weights = p->turned ? constant_of(s, columns, p->terms, p->seed + 20 + number)
                                   : constant_of(s, p->terms, columns, p->seed + 20 + number);
    WNNOperand y =
        wnnGraphBuilderGemm(s->builder, RESHAPE(s, x, p->batch * p->rows, p->terms), weights, &options);
    return RESHAPE(s, y, p->batch, p->rows, columns);
}

// Thirds along an axis.
static void cut(struct subject *s, WNNOperand x, unsigned axis, WNNOperand *parts)
{
    const struct shape *shape = &wnn_operand(x)->type.shape;
    if (now->splits) {
        WNNSplitOptions options = WNN_SPLIT_OPTIONS_INIT;
        options.axis = axis;
        REQUIRE(wnnGraphBuilderSplit(s->builder, x, 3, &options, 3, parts) == 3);
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        uint32_t starts[WNN_MAX_RANK] = {0}, sizes[WNN_MAX_RANK];
        memcpy(sizes, shape->dim, sizeof sizes);
        sizes[axis] = shape->dim[axis] / 3;
        starts[axis] = i * sizes[axis];
        parts[i] = wnnGraphBuilderSlice(s->builder, x, (WNNUint32List){starts, shape->rank},
                                        (WNNUint32List){sizes, shape->rank}, NULL);
    }
}

// Queries, keys and values [batch, heads, rows, depth].
static void project(struct subject *s, WNNOperand x, WNNOperand *parts)
{
    const struct projection *p = now;
    uint32_t b = p->batch, t = p->rows, h = p->heads, d = p->depth;
    if (p->form == FORM_PRODUCTS) {
        for (unsigned i = 0; i < 3; i++)
            parts[i] = multiply(s, x, h * d, i);
    } else {
        WNNOperand all = multiply(s, x, 3 * h * d, 0);
        if (p->form == FORM_COLUMNS) {
            cut(s, all, 2, parts);
        } else if (p->form == FORM_INTERLEAVED) {
            cut(s, RESHAPE(s, all, b, t, h, 3 * d), 3, parts);
        } else if (p->form == FORM_BETWEEN) {
            cut(s, RESHAPE(s, all, b, t, h, 3, d), 3, parts);
        } else {
            cut(s, TRANSPOSE(s, RESHAPE(s, all, b, t, 3, h, d), 2, 0, 3, 1, 4), 0, parts);
            for (unsigned i = 0; i < 3; i++)
                parts[i] = RESHAPE(s, parts[i], b, h, t, d);
            return;
        }
        if (p->odd)
            output(s, wnnGraphBuilderNeg(s->builder, all, NULL));
    }
    for (unsigned i = 0; i < 3; i++)
        parts[i] = TRANSPOSE(s, RESHAPE(s, parts[i], b, t, h, d), 0, 2, 1, 3);
}

static void make_attention(struct subject *s)
{
    const struct projection *p = now;
    WNNOperand parts[3], x = INPUT(s, p->batch, p->rows, p->terms);
    WNNOperandDescriptor one = WNN_OPERAND_DESCRIPTOR_INIT;
    uint16_t half = wnn_half_from_float(0.25f);
    float quarter = 0.25f;
    project(s, x, parts);
    one.dataType = s->type;
    WNNOperand scale = s->type == WNNDataType_Float16
                           ? wnnGraphBuilderConstant(s->builder, &one, &half, sizeof half)
                           : wnnGraphBuilderConstant(s->builder, &one, &quarter, sizeof quarter);
    if (p->scaled)
        parts[0] = wnnGraphBuilderMul(s->builder, parts[0], scale, NULL);
    WNNOperand scores = wnnGraphBuilderMatmul(s->builder, parts[0], TRANSPOSE(s, parts[1], 0, 1, 3, 2), NULL);
    if (!p->scaled)
        scores = wnnGraphBuilderMul(s->builder, scores, scale, NULL);
    WNNOperand y = wnnGraphBuilderSoftmax(s->builder, scores, 3, NULL);
    y = TRANSPOSE(s, wnnGraphBuilderMatmul(s->builder, y, parts[2], NULL), 0, 2, 1, 3);
    output(s, RESHAPE(s, y, p->batch, p->rows, p->heads * p->depth));
}

static unsigned moves, products; // of the last plan

static void look(const struct graph *graph)
{
    moves = products = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        bool moved = node->op == WNN_OP_transpose || node->op == WNN_OP_slice || node->op == WNN_OP_split ||
                     node->op == WNN_OP_concat || node->op == WNN_OP_reshape;
        moves += moved && node->lowering != WNN_LOWER_VIEW;
        products += node->op == WNN_OP_matmul || node->op == WNN_OP_gemm;
    }
}

static void compare_one(WNNContext context, WNNContext cpu, const struct projection *p, WNNDataType type)
{
    static unsigned char got[MAX_BYTES], expected[MAX_BYTES];
    const struct trial trial = {make_attention, NULL, type, fill_any, look},
                       same = {make_attention, NULL, type, fill_any, NULL};
    now = p;
    memset(got, 0, sizeof got);
    memset(expected, 0, sizeof expected);
    size_t bytes = run_trial(context, &trial, got);
    REQUIRE_EQUAL_INT(run_trial(cpu, &same, expected), bytes);
    double tolerance = type == WNNDataType_Float16 ? 8e-3 : 2e-5;
    for (size_t i = 0; i < bytes / wnn_dtype_bytes(type, 1); i++) {
        double y = number_at(got, type, i), want = number_at(expected, type, i);
        if (fabs(y - want) <= tolerance * (1 + fabs(want)))
            continue;
        fprintf(stderr,
                "%s, form %d: %u x %u x %u, %u heads of %u%s%s, rows %u%s%s, seed %u: number %zu is %.9g; "
                "expected %.9g\n",
                wnn_dtype_name(type), (int)p->form, p->batch, p->rows, p->terms, p->heads, p->depth,
                p->gemm ? ", gemm" : "", p->turned ? " turned" : "", p->rows_added,
                p->splits ? ", split" : "", p->odd ? ", odd" : "", p->seed, i, y, want);
        case_fail();
        return;
    }
}

static struct projection random_projection(uint32_t *seed)
{
    static const uint32_t depths[] = {8, 16, 24, 32, 64};
    struct projection p = {.form = (enum form)(next(seed) % FORMS), .seed = next(seed)};
    p.batch = 1 + next(seed) % 2;
    p.rows = next(seed) % 3 ? 17 + next(seed) % 60 : 1 + next(seed) % 20;
    p.terms = 8 + next(seed) % 90;
    p.heads = 1 + next(seed) % 4;
    p.depth = depths[next(seed) % 5];
    p.gemm = next(seed) % 2;
    p.turned = next(seed) % 2;
    p.rows_added = next(seed) % 8;
    p.splits = next(seed) % 2;
    p.scaled = next(seed) % 2;
    p.odd = next(seed) % 6 == 0;
    return p;
}

static void test_random(WNNContext context, WNNContext cpu, unsigned count, uint32_t seed)
{
    for (unsigned i = 0; i < count; i++) {
        const struct projection p = random_projection(&seed);
        compare_one(context, cpu, &p, i % 2 ? WNNDataType_Float16 : WNNDataType_Float32);
    }
}

// Of many rows all is one product, and attention reads its parts where they lie.
static void test_nothing_moves(WNNContext context, WNNContext cpu)
{
    for (unsigned form = 0; form < FORMS; form++)
        for (unsigned variant = 0; variant < 4; variant++) {
            const struct projection p = {.form = (enum form)form,
                                         .batch = 1 + variant % 2,
                                         .rows = 40,
                                         .terms = 64,
                                         .heads = 2,
                                         .depth = 32,
                                         .gemm = variant & 2,
                                         .turned = variant & 2,
                                         .rows_added = variant & 1 ? 5 : 0,
                                         .splits = variant & 1,
                                         .scaled = variant & 1,
                                         .seed = variant};
            compare_one(context, cpu, &p, WNNDataType_Float16);
            REQUIRE_EQUAL_INT(products, 1);
            REQUIRE_EQUAL_INT(moves, 0);
        }
}

// The halves of a gated unit, of any number of rows.
static void make_gated(struct subject *s)
{
    const struct projection *p = now;
    WNNOperand halves[2], x = INPUT(s, p->batch, p->rows, p->terms);
    WNNSplitOptions options = WNN_SPLIT_OPTIONS_INIT;
    options.axis = 2;
    REQUIRE(wnnGraphBuilderSplit(s->builder, multiply(s, x, 128, 0), 2, &options, 2, halves) == 2);
    WNNOperand opened = wnnGraphBuilderSigmoid(s->builder, halves[1], NULL);
    output(s, wnnGraphBuilderMul(s->builder, halves[0], opened, NULL));
}

static void test_gated(WNNContext context, WNNContext cpu)
{
    for (unsigned variant = 0; variant < 8; variant++) {
        const struct projection p = {.batch = 1,
                                     .rows = variant & 4 ? 3 : 70,
                                     .terms = 32,
                                     .gemm = variant & 1,
                                     .turned = variant & 1,
                                     .rows_added = variant & 2 ? 1 : 0,
                                     .seed = variant};
        now = &p;
        compare(context, cpu, make_gated, NULL, variant % 2 ? WNNDataType_Float16 : WNNDataType_Float32,
                variant % 2 ? 8e-3 : 2e-5, "gated", variant);
    }
}

static void cases(WNNContext context, WNNContext cpu)
{
    CASE(test_random(context, cpu, 24, 1));
    CASE(test_nothing_moves(context, cpu));
    CASE(test_gated(context, cpu));
}

static void minimal_cases(WNNContext context, WNNContext cpu)
{
    CASE_AS("random on the minimum", test_random(context, cpu, 10, 2));
}

static void matrix_cases(WNNContext context, WNNContext cpu)
{
    CASE_AS("random on matrix units", test_random(context, cpu, 10, 3));
    CASE_AS("nothing moves on matrix units", test_nothing_moves(context, cpu));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    return run_on_devices(cases, minimal_cases, matrix_cases);
}
