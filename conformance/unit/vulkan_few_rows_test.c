// SPDX-License-Identifier: Apache-2.0
//
// Products with constants, floats and quantized, of every form that the kernels for few rows read, and tiles
// of more: random ones, seeded. Elements are small whole numbers and scales powers of two, so that sums are
// exact in any order and must equal those of the reference bit for bit.

#include "conformance/backends.h"
#include "conformance/reference/reference.h"
#include "conformance/unit/differential_fixture.h"

struct form {
    uint32_t rows, inner, columns, block_terms, block_columns;
    WNNDataType weights; // or that of the graph: not quantized
    bool transposed;     // gemm's second operand has a column in each row,
    bool parted;         // or a transpose has: blocks are a dimension of their own, as in other programs
    bool deep;           // the rows are those of several matrices
    bool a_transposed, bias, relu, residual;
    bool shared; // by another product
    enum {
        ZERO_NONE,
        ZERO_SAME,
        ZERO_EACH
    } zero;
    enum {
        SCALE_POWER, // of two
        SCALE_ANY,
        SCALE_TINY // denormal ones of float16
    } scale;
    enum {
        ROW_WHOLE,    // of small whole numbers
        ROW_LARGE,    // of some more
        ROW_ANY,      // of numbers with as many digits as there are
        ROW_TINY,     // of denormal ones
        ROW_UNEVEN,   // of small ones and one that is 10^7 times as large
        ROW_SINGLE,   // of zeros but for that
        ROW_INFINITE, // of any and an infinity
        ROW_NAN       // of small ones and what is no number
    } row;
    uint32_t seed;
};

static const struct form *form;

static double element(uint32_t random, size_t i)
{
    bool large = i == 165;
    double any = (int)(random % 2001) - 1000;
    switch (form->row) {
    case ROW_ANY:
        return any * 0.00781;
    case ROW_LARGE:
        return 4096 * ((int)(random % 5) - 2);
    case ROW_TINY:
        return ldexp(any, -24);
    case ROW_UNEVEN:
        return large ? 60000 : any * 1.1e-5;
    case ROW_SINGLE:
        return large ? any : 0;
    case ROW_INFINITE:
        return i == 77 ? INFINITY : any * 0.00781;
    case ROW_NAN:
        return i == 1077 ? NAN : any * 1.1e-5;
    default:
        return (int)(random % 5) - 2;
    }
}

static void fill_row(void *data, WNNDataType type, size_t count, unsigned seed)
{
    uint32_t state = seed + form->seed;
    for (size_t i = 0; i < count; i++)
        wnn_number_store(wnn_number_convert(wnnNumberFloat64(element(next(&state), i)), type), type, data, i);
}

enum {
    MANY_COLUMNS = 16514, // of which large devices have each invocation compute more
    MOST_WEIGHTS = 2048 * MANY_COLUMNS / 2
};

static WNNOperand constant(struct subject *s, WNNDataType type, unsigned rank, const uint32_t *dims,
                           double (*number)(uint32_t random))
{
    static unsigned char data[MOST_WEIGHTS];
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    size_t count = 1;
    uint32_t state = form->seed * 7 + type * 3 + rank;
    for (unsigned d = 0; d < rank; d++)
        count *= dims[d];
    REQUIRE(wnn_dtype_bytes(type, count) <= sizeof data);
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){dims, rank};
    for (size_t i = 0; i < count; i++)
        wnn_number_store(wnn_number_convert(wnnNumberFloat64(number(next(&state))), type), type, data, i);
    return wnnGraphBuilderConstant(s->builder, &descriptor, data, wnn_dtype_bytes(type, count));
}

static double any_integer(uint32_t random)
{
    unsigned bits = wnn_dtype_bits(form->weights);
    return (double)(random % (1u << bits)) - (wnn_dtype_is_signed(form->weights) ? 1 << (bits - 1) : 0);
}

static double whole(uint32_t random)
{
    return (double)(random % 9) - 4;
}

static double zero_point(uint32_t random)
{
    return form->zero == ZERO_NONE ? 0 : form->zero == ZERO_SAME ? 7 : any_integer(random);
}

// Of any sign, and 0 for some.
static double any_scale(uint32_t random)
{
    return form->scale == SCALE_ANY ? (random % 1000 + 1) * 1e-5
           : random % 11 == 0
               ? 0
               : ldexp(random % 3 ? 1 : -1, (form->scale == SCALE_TINY ? -17 : 0) - (int)(random % 4));
}

static WNNOperand weights(struct subject *s)
{
    bool transposed = form->transposed || form->parted;
    uint32_t terms = form->inner, columns = form->columns;
    const uint32_t dims[2] = {transposed ? columns : terms, transposed ? terms : columns};
    if (form->weights == s->type)
        return constant(s, s->type, 2, dims, whole);
    uint32_t blocks[2] = {terms / form->block_terms, columns / form->block_columns};
    const uint32_t scales[3] = {blocks[transposed], blocks[!transposed], 1},
                   parts[3] = {columns, blocks[0], form->block_terms};
    unsigned rank = form->parted ? 3 : 2;
    WNNOperand integers = constant(s, form->weights, rank, form->parted ? parts : dims, any_integer),
               scale = constant(s, s->type, rank, scales, any_scale),
               zero = constant(s, form->weights, rank, scales, zero_point);
    WNNOperand x = wnnGraphBuilderDequantizeLinear(s->builder, integers, scale, zero, NULL);
    if (form->parted)
        x = wnnGraphBuilderReshape(s->builder, x, (WNNUint32List){dims, 2}, NULL);
    return form->parted && !form->transposed ? wnnGraphBuilderTranspose(s->builder, x, NULL) : x;
}

static void make_product(struct subject *s)
{
    WNNGraphBuilder b = s->builder;
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    WNNOperand x = form->a_transposed ? INPUT(s, form->inner, form->rows)
                   : form->deep       ? INPUT(s, 1, form->rows, form->inner)
                                      : INPUT(s, form->rows, form->inner);
    WNNOperand w = weights(s), y;
    if (form->bias) {
        options.c = constant(s, s->type, 1, &form->columns, whole);
        options.alpha = 2;
    }
    options.aTranspose = form->a_transposed;
    options.bTranspose = form->transposed;
    bool gemm = form->transposed || form->bias || form->a_transposed;
    y = gemm ? wnnGraphBuilderGemm(b, x, w, &options) : wnnGraphBuilderMatmul(b, x, w, NULL);
    y = form->relu ? wnnGraphBuilderRelu(b, y, NULL) : y;
    if (form->residual)
        y = wnnGraphBuilderAdd(
            b, y, form->deep ? INPUT(s, 1, form->rows, form->columns) : INPUT(s, form->rows, form->columns),
            NULL);
    output(s, y);
    if (form->shared)
        output(s, wnnGraphBuilderMatmul(b, wnnGraphBuilderAdd(b, x, x, NULL), w, NULL));
}

static unsigned taken, // for the kernels, or with the integers in tiles
    on_units;          // for that on matrix units

static void look(const struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const char *kernel = graph->nodes[i]->kernel ? graph->nodes[i]->kernel : "";
        bool units = strcmp(kernel, "few_rows_units") == 0;
        taken += wnn_fused(graph->nodes[i], 1) || units || strcmp(kernel, "few_rows") == 0;
        on_units += units;
    }
}

static void fail(WNNDataType type, size_t i, double y, double want)
{
    fprintf(
        stderr,
        "%u x %u x %u of %s, weights of %s, blocks of %u x %u, seed %u: number %zu is %.9g; expected %.9g\n",
        form->rows, form->inner, form->columns, wnn_dtype_name(type), wnn_dtype_name(form->weights),
        form->block_terms, form->block_columns, form->seed, i, y, want);
    case_fail();
}

static void compare_form(WNNContext context, WNNContext reference, const struct form *of, WNNDataType type,
                         double tolerance)
{
    static unsigned char got[MAX_BYTES], expected[MAX_BYTES];
    const struct trial trial = {make_product, NULL, type, fill_row, look},
                       other = {make_product, NULL, type, fill_row, NULL};
    form = of;
    memset(got, 0, sizeof got); // also what lies between two outputs
    memset(expected, 0, sizeof expected);
    size_t bytes = run_trial(context, &trial, got);
    REQUIRE_EQUAL_INT(run_trial(reference, &other, expected), bytes);
    for (size_t i = 0; i < bytes * 8 / wnn_dtype_bits(type); i++) {
        double y = number_at(got, type, i), want = number_at(expected, type, i);
        bool same = y == want || (isnan(y) && isnan(want));
        if (!same && !(fabs(y - want) <= tolerance * (1 + fabs(want))))
            fail(type, i, y, want);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------

static const WNNDataType small[] = {WNNDataType_Int4, WNNDataType_Uint4, WNNDataType_Int8, WNNDataType_Uint8};

// Sizes that the kernel takes: whole units along the terms, and even columns.
static struct form random_form(uint32_t *seed, WNNDataType type)
{
    static const uint32_t blocks[] = {1, 2, 3, 8, 16, 24, 32, 64, 128};
    struct form f = {.seed = next(seed)};
    uint32_t quantized = next(seed) % 4, block = blocks[next(seed) % 9], unit = block % 8 ? 8 * block : block;
    f.rows = next(seed) % 3 == 0 ? 1 : 1 + next(seed) % 16;
    f.rows += next(seed) % 5 == 0 ? 16 + next(seed) % 120 : 0;
    f.columns = 8 + 2 * (next(seed) % 90);
    uint32_t units = next(seed), most = next(seed) % 4 == 0 ? 2500 : 500;
    f.inner = unit * (1 + units % (1 + most / unit));
    f.block_terms = next(seed) % 5 == 0 ? f.inner : block;
    f.block_columns = next(seed) % 5 == 0 ? f.columns : next(seed) % 5 == 0 ? 2 : 1;
    f.weights = quantized ? small[next(seed) % 4] : type;
    f.transposed = next(seed) % 2;
    f.parted = quantized && next(seed) % 2;
    f.block_columns = f.parted ? 1 : f.block_columns;
    f.zero = next(seed) % 3;
    f.bias = next(seed) % 3 == 0;
    f.relu = next(seed) % 3 == 0;
    f.residual = next(seed) % 3 == 0;
    f.a_transposed = next(seed) % 6 == 0;
    f.deep = !f.transposed && !f.bias && !f.a_transposed && next(seed) % 2;
    return f;
}

static void test_random(const struct backend *backend, unsigned count, uint32_t seed)
{
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    taken = 0;
    for (unsigned i = 0; i < count; i++) {
        WNNDataType type = i % 2 ? WNNDataType_Float16 : WNNDataType_Float32;
        const struct form random = random_form(&seed, type);
        // The product of float16 need not be rounded before something is added to it.
        bool rounded_once = random.residual && type == WNNDataType_Float16;
        compare_form(context, reference, &random, type, rounded_once ? 2e-3 : 0);
    }
    REQUIRE(taken * 10 >= count * 6);
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

// Scales that are no powers of two, in the form in which other programs write them: strictly as the separate
// operators, and otherwise with weights that need not be rounded to float16.
static void test_rounding(bool strict)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context, reference = create_on(&wnn_backend_reference);
    descriptor.strictNumerics = strict;
    REQUIRE(wnn_create_context_on(&wnn_backend_vulkan, &descriptor, &context) == WNNStatus_Success);
    for (unsigned i = 0; i < 16; i++) {
        WNNDataType type = i % 2 ? WNNDataType_Float16 : WNNDataType_Float32;
        const struct form f = {.rows = 1 + i / 4 * 3,
                               .inner = 512,
                               .columns = 160,
                               .block_terms = i % 4 < 2 ? 32 : 4,
                               .block_columns = 1,
                               .weights = small[i / 2 % 4],
                               .parted = !strict && i % 3 == 0,
                               .zero = ZERO_EACH,
                               .scale = SCALE_ANY,
                               .seed = i};
        taken = 0;
        compare_form(context, reference, &f, type, type == WNNDataType_Float32 ? 3e-5 : strict ? 1e-3 : 3e-2);
        REQUIRE_EQUAL_INT(taken, 1);
    }
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

// So many terms that integers are loaded 16 bytes at a time, with rows that can be and that cannot.
static void test_long(const struct backend *backend)
{
    static const struct form forms[] = {
        {1, 2048, 98, 64, 1, WNNDataType_Int4, .transposed = true, .zero = ZERO_EACH},
        {5, 2080, 66, 32, 1, WNNDataType_Uint4, .parted = true, .zero = ZERO_EACH},
        {2, 1040, 66, 16, 2, WNNDataType_Int8, .zero = ZERO_SAME},
        {16, 2048, 34, 2048, 1, WNNDataType_Uint8, .a_transposed = true, .zero = ZERO_SAME},
        {9, 2056, 34, 8, 1, WNNDataType_Uint4, .bias = true},
        {2, 1040, 66, 16, 1, WNNDataType_Int4, .zero = ZERO_EACH, .shared = true},
    };
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        taken = 0;
        compare_form(context, reference, &forms[i], WNNDataType_Float32, 0);
        compare_form(context, reference, &forms[i], WNNDataType_Float16, 0);
        REQUIRE_EQUAL_INT(taken, forms[i].shared ? 4 : 2);
    }
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

// What is known of matrices is used for all products of float16 of some rows, whose scales are each of all
// weights that are loaded at once, and for no other.
static void test_units(void)
{
    static const struct form forms[] = {
        {2, 520, 98, 8, 1, WNNDataType_Uint4, .zero = ZERO_EACH, .row = ROW_LARGE, .scale = SCALE_TINY},
        {3, 544, 66, 32, 1, WNNDataType_Int4, .transposed = true, .row = ROW_LARGE, .scale = SCALE_TINY},
        {8, 2048, 34, 32, 1, WNNDataType_Uint4, .parted = true, .zero = ZERO_EACH, .relu = true},
        {9, 1040, 66, 16, 2, WNNDataType_Int8, .zero = ZERO_SAME, .row = ROW_LARGE, .scale = SCALE_TINY},
        {16, 136, 50, 136, 1, WNNDataType_Uint8, .a_transposed = true, .bias = true, .zero = ZERO_EACH},
        {17, 2048, 130, 128, 130, WNNDataType_Uint4, .zero = ZERO_EACH},
        {48, 264, 130, 24, 1, WNNDataType_Int4, .deep = true, .zero = ZERO_SAME},
        {5, 88, 98, 88, 1, WNNDataType_Float16, .row = ROW_LARGE},
        {16, 1032, 34, 1032, 1, WNNDataType_Float16, .transposed = true, .bias = true},
    };
    static const struct form others[] = {
        {1, 2048, 34, 32, 1, WNNDataType_Uint4, .zero = ZERO_EACH},
        {8, 516, 34, 4, 1, WNNDataType_Uint4, .zero = ZERO_EACH},
        {49, 512, 130, 32, 1, WNNDataType_Uint4, .zero = ZERO_EACH},
        {17, 512, 34, 512, 1, WNNDataType_Float16},
    };
    const unsigned count = sizeof forms / sizeof forms[0], other_count = sizeof others / sizeof others[0];
    WNNContext context = create_on(vulkan_matrices()), hidden = create_on(vulkan_places_hidden()),
               reference = create_on(&wnn_backend_reference);
    REQUIRE(context && hidden && reference);
    for (unsigned i = 0; i < count; i++) {
        on_units = 0;
        compare_form(context, reference, &forms[i], WNNDataType_Float16, 0);
        REQUIRE_EQUAL_INT(on_units, 1);
        compare_form(hidden, reference, &forms[i], WNNDataType_Float16, 0);
        if (forms[i].weights != WNNDataType_Float16)
            compare_form(context, reference, &forms[i], WNNDataType_Float32, 0);
        REQUIRE_EQUAL_INT(on_units, 1);
    }
    for (unsigned i = 0; i < other_count; i++)
        compare_form(context, reference, &others[i], WNNDataType_Float16, 0);
    REQUIRE_EQUAL_INT(on_units, 1);
    wnnContextRelease(reference);
    wnnContextRelease(hidden);
    wnnContextRelease(context);
}

// Tiles of more rows, of packs of every size and of blocks that have none.
static void test_packs(void)
{
    static const struct form forms[] = {
        {50, 544, 130, 32, 1, WNNDataType_Uint4, .zero = ZERO_EACH, .row = ROW_LARGE, .scale = SCALE_TINY},
        {130, 304, 130, 16, 1, WNNDataType_Int4, .transposed = true, .zero = ZERO_SAME, .relu = true},
        {66, 1032, 34, 24, 2, WNNDataType_Uint4, .zero = ZERO_EACH},
        {49, 1032, 34, 4, 1, WNNDataType_Int4, .zero = ZERO_EACH},
        {70, 336, 98, 48, 1, WNNDataType_Int8, .zero = ZERO_EACH, .row = ROW_LARGE, .scale = SCALE_TINY},
        {52, 264, 130, 264, 130, WNNDataType_Uint8, .bias = true, .zero = ZERO_SAME},
        {64, 520, 66, 2, 1, WNNDataType_Uint8, .parted = true, .residual = true},
    };
    WNNContext context = create_on(vulkan_matrices()), hidden = create_on(vulkan_places_hidden()),
               reference = create_on(&wnn_backend_reference);
    REQUIRE(context && hidden && reference);
    taken = 0;
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        double tolerance = forms[i].residual ? 2e-3 : 0; // see test_random
        compare_form(context, reference, &forms[i], WNNDataType_Float16, tolerance);
        compare_form(hidden, reference, &forms[i], WNNDataType_Float16, tolerance);
        compare_form(context, reference, &forms[i], WNNDataType_Float32, 0);
    }
    REQUIRE_EQUAL_INT(taken, 3 * sizeof forms / sizeof forms[0]);
    wnnContextRelease(reference);
    wnnContextRelease(hidden);
    wnnContextRelease(context);
}

// Rows of all kinds, of which whole numbers can be made or cannot, by weights of which some are 0.
static void test_rows(void)
{
    WNNContext context = create_on(vulkan_matrices()), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (unsigned i = 0; i < 15; i++) {
        const struct form f = {.rows = 1,
                               .inner = i % 2 ? 1376 : 2048,
                               .columns = i < 14 ? 90 : MANY_COLUMNS,
                               .block_terms = 32,
                               .block_columns = 1,
                               .weights = i % 2 ? WNNDataType_Int4 : WNNDataType_Uint4,
                               .transposed = i % 3 == 0,
                               .zero = i % 2   ? ZERO_NONE
                                       : i % 4 ? ZERO_SAME
                                               : ZERO_EACH,
                               .row = i < 14 ? i / 2 : ROW_ANY,
                               .seed = i};
        taken = 0;
        compare_form(context, reference, &f, WNNDataType_Float16, 1e-3);
        REQUIRE_EQUAL_INT(taken, 1);
    }
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

// What is not taken is right all the same: odd columns of float16, terms that are no whole units.
static void test_others(const struct backend *backend)
{
    static const struct form forms[] = {
        {1, 512, 97, 32, 1, WNNDataType_Int4, .transposed = true, .zero = ZERO_EACH},
        {3, 509, 98, 509, 1, WNNDataType_Uint8, .zero = ZERO_SAME},
        {2, 516, 98, 4, 1, WNNDataType_Uint4, .zero = ZERO_SAME},
        {17, 24, 98, 8, 1, WNNDataType_Int8, .zero = ZERO_NONE},
        {33, 512, 98, 16, 1, WNNDataType_Int4, .transposed = true, .parted = true, .zero = ZERO_EACH},
        {15, 192, 176, 192, 1, WNNDataType_Uint8, .parted = true, .relu = true, .zero = ZERO_EACH},
        {15, 192, 176, 32, 1, WNNDataType_Int4, .parted = true, .residual = true, .deep = true},
    };
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        compare_form(context, reference, &forms[i], WNNDataType_Float32, 0);
        compare_form(context, reference, &forms[i], WNNDataType_Float16, 0);
    }
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    if (!has_device())
        return cases_skip("there is no device");
    CASE(test_random(&wnn_backend_vulkan, 60, 1));
    CASE(test_random(vulkan_minimal(), 40, 2));
    CASE(test_random(vulkan_matrices(), 20, 3));
    CASE(test_long(&wnn_backend_vulkan));
    CASE(test_long(vulkan_minimal()));
    CASE(test_long(vulkan_matrices()));
    CASE(test_units());
    CASE(test_packs());
    CASE(test_rows());
    CASE(test_rounding(false));
    CASE(test_rounding(true));
    CASE(test_others(&wnn_backend_vulkan));
    CASE(test_others(vulkan_minimal()));
    return cases_end();
}
