// SPDX-License-Identifier: Apache-2.0
//
// Nodes that their readers compute: normalizations in front of products of few rows, one of two products
// that are joined, and rotary embeddings in front of what scatters them; and what keeps them from it. Results
// are those of the reference.

#include "conformance/reference/reference.h"
#include "conformance/unit/differential_fixture.h"

struct form {
    uint32_t rows, inner, columns;
    bool centered, gain, bias;
    bool quantized;  // weights of 4 bits
    bool reshaped;   // between the normalization and the products
    bool residual;   // the products add the rows as they were
    unsigned count;  // of the products
    bool units;      // they go to matrix units in float16 if the device has them, which normalize nothing
    uint32_t offset; // of the rows, in elements of what they are a part of
    enum {
        NOTHING,
        OUTPUT,   // the graph has the normalized rows as an output,
        OTHER,    // another operator reads them,
        AN_INPUT, // the rows are an input of the graph, whose place an output may take,
        SECOND,   // they are multiplied with themselves
        COLUMNS,  // columns are normalized
    } hindrance;
};

static WNNOperand constant(struct subject *s, unsigned rank, const uint32_t *dims, float middle, float range)
{
    static unsigned char data[MAX_BYTES];
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    size_t count = 1;
    uint32_t state = 5;
    for (unsigned d = 0; d < rank; d++)
        count *= dims[d];
    REQUIRE(count * sizeof(float) <= sizeof data);
    descriptor.dataType = s->type;
    descriptor.shape = (WNNUint32List){dims, rank};
    for (size_t i = 0; i < count; i++) {
        double value = (double)middle + (double)range * ((double)(next(&state) % 2001) / 1000 - 1);
        wnn_number_store(wnn_number_convert(wnnNumberFloat64(value), s->type), s->type, data, i);
    }
    return wnnGraphBuilderConstant(s->builder, &descriptor, data, wnn_dtype_bytes(s->type, count));
}

static WNNOperand quantized(struct subject *s, const struct form *f, uint32_t state)
{
    static unsigned char data[MAX_BYTES];
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    const uint32_t dims[] = {f->inner, f->columns}, blocks[] = {f->inner / 32, f->columns};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)next(&state);
    descriptor.dataType = WNNDataType_Int4;
    descriptor.shape = (WNNUint32List){dims, 2};
    WNNOperand integers =
        wnnGraphBuilderConstant(s->builder, &descriptor, data, (size_t)f->inner * f->columns / 2);
    memset(data, 0, sizeof data);
    descriptor.shape = (WNNUint32List){blocks, 2};
    WNNOperand zeros = wnnGraphBuilderConstant(s->builder, &descriptor, data,
                                               ((size_t)f->inner / 32 * f->columns + 1) / 2),
               scales = constant(s, 2, blocks, 0.02f, 0.01f);
    return wnnGraphBuilderDequantizeLinear(s->builder, integers, scales, zeros, NULL);
}

static WNNOperand normalize(struct subject *s, const struct form *f, WNNOperand x)
{
    WNNGraphBuilder b = s->builder;
    const uint32_t axes[] = {f->hindrance != COLUMNS}, size = axes[0] ? f->inner : f->rows;
    const uint32_t shape[] = {size, 1};
    WNNOperand gain = f->gain ? constant(s, axes[0] ? 1 : 2, shape, 1, 0.5f) : NULL,
               bias = f->bias ? constant(s, 1, shape, 0, 0.5f) : NULL;
    if (f->centered) {
        WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
        options.scale = gain;
        options.bias = bias;
        options.axes = (WNNUint32List){axes, 1};
        return wnnGraphBuilderLayerNormalization(b, x, &options);
    }
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = (WNNUint32List){axes, 1};
    options.keepDimensions = true;
    const uint32_t one = 1;
    WNNOperand mean = wnnGraphBuilderReduceMean(b, wnnGraphBuilderMul(b, x, x, NULL), &options),
               root = wnnGraphBuilderSqrt(
                   b, wnnGraphBuilderAdd(b, mean, constant(s, 1, &one, 1e-3f, 0), NULL), NULL),
               y = wnnGraphBuilderDiv(b, x, root, NULL);
    return f->gain ? wnnGraphBuilderMul(b, gain, y, NULL) : y;
}

static WNNOperand rows(struct subject *s, const struct form *f)
{
    WNNGraphBuilder b = s->builder;
    if (f->hindrance == AN_INPUT)
        return INPUT(s, f->rows, f->inner);
    if (!f->offset)
        return wnnGraphBuilderAbs(b, INPUT(s, f->rows, f->inner), NULL);
    const uint32_t whole = f->offset + f->rows * f->inner, size = f->rows * f->inner,
                   shape[] = {f->rows, f->inner};
    WNNOperand x = wnnGraphBuilderAbs(b, input(s, 1, &whole), NULL);
    x = wnnGraphBuilderSlice(b, x, (WNNUint32List){&f->offset, 1}, (WNNUint32List){&size, 1}, NULL);
    return wnnGraphBuilderReshape(b, x, (WNNUint32List){shape, 2}, NULL);
}

static void make(struct subject *s)
{
    const struct form *f = s->argument;
    WNNGraphBuilder b = s->builder;
    WNNOperand x = rows(s, f), n = normalize(s, f, x);
    const uint32_t deep[] = {1, 1, f->rows, f->inner}, flat[] = {f->rows, f->inner},
                   dims[] = {f->inner, f->columns};
    if (f->hindrance == OUTPUT)
        output(s, n);
    if (f->hindrance == OTHER)
        output(s, wnnGraphBuilderTriangular(b, n, NULL));
    if (f->reshaped)
        n = wnnGraphBuilderReshape(b, wnnGraphBuilderReshape(b, n, (WNNUint32List){deep, 4}, NULL),
                                   (WNNUint32List){flat, 2}, NULL);
    for (unsigned i = 0; i < f->count; i++) {
        WNNOperand w = f->quantized ? quantized(s, f, i) : constant(s, 2, dims, 0, 0.1f + 0.1f * (float)i),
                   y = wnnGraphBuilderMatmul(b, n, w, NULL);
        y = f->residual ? wnnGraphBuilderAdd(b, y, x, NULL) : i ? wnnGraphBuilderRelu(b, y, NULL) : y;
        if (f->hindrance == SECOND)
            y = wnnGraphBuilderAdd(b, y, n, NULL);
        output(s, y);
    }
    // What lies in the memory of what nobody needs any more.
    if (f->hindrance != AN_INPUT)
        output(s,
               wnnGraphBuilderSoftplus(b, wnnGraphBuilderSin(b, wnnGraphBuilderCos(b, x, NULL), NULL), NULL));
}

// ---------------------------------------------------------------------------------------------------------------
// Two products
// ---------------------------------------------------------------------------------------------------------------

struct pair {
    uint32_t rows, inner, columns;
    bool quantized, normalized;
    enum {
        NONE,
        SILU,
        GELU,
        SHIFTED, // by an input of the graph
    } activation;
    enum {
        JOINED,
        OF_INPUT,   // the rows are an input of the graph,
        BIASED,     // the first has a bias,
        OTHER_ROWS, // the products are of other rows,
        TWICE,      // the first is an output, too,
        THREE,      // three are joined
    } hindrance;
};

static WNNOperand activate(struct subject *s, const struct pair *p, WNNOperand x)
{
    WNNGraphBuilder b = s->builder;
    switch (p->activation) {
    case SILU:
        return wnnGraphBuilderMul(b, x, wnnGraphBuilderSigmoid(b, x, NULL), NULL);
    case GELU:
        return wnnGraphBuilderGelu(b, x, NULL);
    case SHIFTED:
        return wnnGraphBuilderAdd(b, x, INPUT(s, p->rows, p->columns), NULL);
    default:
        return x;
    }
}

static void make_pair(struct subject *s)
{
    const struct pair *p = s->argument;
    WNNGraphBuilder b = s->builder;
    const struct form f = {.rows = p->rows, .inner = p->inner, .columns = p->columns, .gain = true};
    const uint32_t dims[] = {p->inner, p->columns};
    WNNOperand x = INPUT(s, p->rows, p->inner), y, z, weights[3];
    x = p->hindrance == OF_INPUT ? x : wnnGraphBuilderAbs(b, x, NULL);
    if (p->normalized) {
        output(s, wnnGraphBuilderCos(b, x, NULL)); // or its producer would be fused
        x = normalize(s, &f, x);
    }
    for (unsigned i = 0; i < 3; i++)
        weights[i] = p->quantized ? quantized(s, &f, i) : constant(s, 2, dims, 0, 0.1f + 0.05f * (float)i);
    if (p->hindrance == BIASED) {
        WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
        options.c = constant(s, 1, &p->columns, 0, 1);
        y = wnnGraphBuilderGemm(b, x, weights[0], &options);
    } else {
        y = wnnGraphBuilderMatmul(b, x, weights[0], NULL);
    }
    z = wnnGraphBuilderMatmul(b, p->hindrance == OTHER_ROWS ? wnnGraphBuilderNeg(b, x, NULL) : x, weights[1],
                              NULL);
    if (p->hindrance == TWICE)
        output(s, y);
    z = wnnGraphBuilderMul(b, activate(s, p, y), z, NULL);
    output(s, p->hindrance == THREE
                  ? wnnGraphBuilderMul(b, z, wnnGraphBuilderMatmul(b, x, weights[2], NULL), NULL)
                  : z);
}

// ---------------------------------------------------------------------------------------------------------------
// Rotations
// ---------------------------------------------------------------------------------------------------------------

// The rows of keys of a few tokens, turned, are put into a cache.
static void make_rotation(struct subject *s)
{
    const bool *is_read = s->argument;
    WNNGraphBuilder b = s->builder;
    enum {
        HEADS = 3,
        TOKENS = 4,
        HALF = 16
    };
    const uint32_t turn[] = {1, 1, TOKENS, 2 * HALF}, zeros[] = {0, 0, 0, 0}, half[] = {0, 0, 0, HALF},
                   size[] = {1, HEADS, TOKENS, HALF}, slots[] = {1, HEADS, TOKENS, 3};
    WNNOperand x = wnnGraphBuilderSin(b, INPUT(s, 1, HEADS, TOKENS, 2 * HALF), NULL),
               cosines = constant(s, 4, turn, 0, 1), sines = constant(s, 4, turn, 0.5f, 0.5f),
               cache = INPUT(s, 1, HEADS, 8, 2 * HALF),
               first = wnnGraphBuilderSlice(b, x, (WNNUint32List){zeros, 4}, (WNNUint32List){size, 4}, NULL),
               second = wnnGraphBuilderSlice(b, x, (WNNUint32List){half, 4}, (WNNUint32List){size, 4}, NULL);
    const WNNOperand halves[] = {wnnGraphBuilderNeg(b, second, NULL), first};
    WNNOperand other = wnnGraphBuilderMul(b, wnnGraphBuilderConcat(b, 2, halves, 3, NULL), sines, NULL),
               turned = wnnGraphBuilderAdd(b, wnnGraphBuilderMul(b, x, cosines, NULL), other, NULL);
    int32_t places[HEADS * TOKENS][3];
    for (int i = 0; i < HEADS * TOKENS; i++)
        memcpy(places[i], (const int32_t[]){0, i / TOKENS, 7 - i % TOKENS}, sizeof places[i]);
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Int32, {slots, 4}};
    WNNOperand indices = wnnGraphBuilderConstant(b, &descriptor, places, sizeof places);
    output(s, wnnGraphBuilderScatterND(b, cache, indices, turned, NULL));
    if (*is_read)
        output(s, wnnGraphBuilderTanh(b, turned, NULL));
    output(s, wnnGraphBuilderCos(b, wnnGraphBuilderExp(b, x, NULL), NULL));
}

// ---------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------

enum {
    ANY = 100,   // nodes that are deferred
    OF_HALVES,   // one in float16, none in float32
    BUT_ON_UNITS // one, but none in float16 if matrix units read it
};

static unsigned deferred;
static bool uses_units;

static void look(const struct graph *graph)
{
    deferred = 0;
    uses_units = false;
    for (size_t i = 0; i < graph->node_count; i++) {
        const char *kernel = graph->nodes[i]->kernel ? graph->nodes[i]->kernel : "";
        deferred += strcmp(kernel, "readers") == 0;
        uses_units |= strcmp(kernel, "few_rows_units") == 0 || strcmp(kernel, "cooperative") == 0;
    }
}

static unsigned count_of(unsigned expected, bool half)
{
    return expected == OF_HALVES ? half : expected == BUT_ON_UNITS ? !(half && uses_units) : expected;
}

// Of a graph that begins with so many terms in a sum.
static void compare_graphs(WNNContext context, WNNContext reference, maker *made, const void *argument,
                           uint32_t terms, unsigned expected_count)
{
    static unsigned char got[MAX_BYTES], expected[MAX_BYTES];
    for (unsigned half = 0; half < 2; half++) {
        WNNDataType type = half ? WNNDataType_Float16 : WNNDataType_Float32;
        const struct trial trial = {made, argument, type, fill_any, look},
                           same = {made, argument, type, fill_any, NULL};
        memset(got, 0, sizeof got);
        memset(expected, 0, sizeof expected);
        size_t bytes = run_trial(context, &trial, got);
        REQUIRE_EQUAL_INT(run_trial(reference, &same, expected), bytes);
        REQUIRE(expected_count == ANY || deferred == count_of(expected_count, half));
        double tolerance = half ? 4e-3 : 4e-6, size = sqrt(terms);
        for (size_t i = 0; i < bytes / (half ? 2 : 4); i++) {
            double y = number_at(got, type, i), want = number_at(expected, type, i);
            if (!(fabs(y - want) <= tolerance * (size + fabs(want)))) {
                fprintf(stderr, "%u terms of %s: number %zu is %.9g; expected %.9g\n", terms,
                        wnn_dtype_name(type), i, y, want);
                case_fail();
            }
        }
    }
}

static void test_forms(const struct backend *backend, bool may_defer)
{
    static const struct form forms[] = {
        {.rows = 1, .inner = 576, .columns = 192, .gain = true, .count = 3},
        {.rows = 1, .inner = 704, .columns = 704, .gain = true, .residual = true, .count = 2},
        {.rows = 1, .inner = 768, .columns = 96, .centered = true, .gain = true, .bias = true, .count = 3},
        {.rows = 3, .inner = 256, .columns = 128, .centered = true, .count = 1, .reshaped = true},
        {.rows = 2, .inner = 1000, .columns = 66, .count = 2, .gain = true, .reshaped = true},
        {.rows = 1, .inner = 576, .columns = 130, .gain = true, .quantized = true, .count = 2},
        {.rows = 5,
         .inner = 640,
         .columns = 130,
         .centered = true,
         .bias = true,
         .quantized = true,
         .count = 1},
        {.rows = 5,
         .inner = 544,
         .columns = 2050,
         .gain = true,
         .quantized = true,
         .count = 1,
         .units = true},
        {.rows = 1, .inner = 1984, .columns = 34, .gain = true, .count = 1, .offset = 5},
        {.rows = 4,
         .inner = 320,
         .columns = 320,
         .gain = true,
         .residual = true,
         .count = 1,
         .reshaped = true},
    };
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++)
        compare_graphs(context, reference, make, &forms[i], forms[i].inner,
                       may_defer && forms[i].units ? BUT_ON_UNITS : may_defer);
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

static void test_hindrances(void)
{
    WNNContext context = create_on(&wnn_backend_vulkan), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (int hindrance = OUTPUT; hindrance <= COLUMNS; hindrance++)
        for (unsigned centered = 0; centered < 2; centered++) {
            const struct form form = {.rows = 2,
                                      .inner = 512,
                                      .columns = 512,
                                      .centered = centered,
                                      .gain = hindrance != COLUMNS,
                                      .count = 2,
                                      .hindrance = hindrance};
            compare_graphs(context, reference, make, &form, form.inner, 0);
        }
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

static void test_pairs(const struct backend *backend, bool may_defer)
{
    static const struct pair pairs[] = {
        {.rows = 1, .inner = 576, .columns = 768, .activation = SILU},
        {.rows = 1, .inner = 576, .columns = 384, .quantized = true, .normalized = true, .activation = SILU},
        {.rows = 1, .inner = 1024, .columns = 130, .normalized = true, .activation = GELU},
        {.rows = 3, .inner = 512, .columns = 98, .quantized = true},
        {.rows = 2, .inner = 2080, .columns = 66, .quantized = true, .activation = SILU},
        {.rows = 5, .inner = 96, .columns = 190, .activation = GELU},
    };
    WNNContext context = create_on(backend), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        compare_graphs(context, reference, make_pair, &pairs[i], pairs[i].inner,
                       may_defer ? 1 + pairs[i].normalized : ANY);
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

// Of many rows, on matrix units.
static void test_large_pairs(void)
{
    static const struct pair pairs[] = {
        {.rows = 64, .inner = 128, .columns = 64, .activation = SILU},
        {.rows = 35, .inner = 70, .columns = 50, .activation = GELU},
        {.rows = 129, .inner = 200, .columns = 98},
        {.rows = 48, .inner = 72, .columns = 136, .normalized = true, .activation = SILU},
    };
    static const struct pair others[] = {
        {.rows = 64, .inner = 64, .columns = 64, .hindrance = OTHER_ROWS},
        {.rows = 64, .inner = 64, .columns = 64, .hindrance = TWICE},
        {.rows = 64, .inner = 64, .columns = 64, .activation = SHIFTED},
        {.rows = 64, .inner = 64, .columns = 33}, // words of two rows
    };
    WNNContext context = create_on(vulkan_matrices()), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        compare_graphs(context, reference, make_pair, &pairs[i], pairs[i].inner, OF_HALVES);
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        compare_graphs(context, reference, make_pair, &others[i], others[i].inner, 0);
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

// Of three that are joined, one is still computed with another.
static void test_single_products(void)
{
    WNNContext context = create_on(&wnn_backend_vulkan), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (int hindrance = OF_INPUT; hindrance <= THREE; hindrance++) {
        const struct pair pair = {.rows = 2, .inner = 512, .columns = 128, .hindrance = hindrance};
        compare_graphs(context, reference, make_pair, &pair, pair.inner, hindrance == THREE);
    }
    const struct pair shifted = {.rows = 2, .inner = 512, .columns = 128, .activation = SHIFTED};
    compare_graphs(context, reference, make_pair, &shifted, shifted.inner, 0);
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

static void test_rotations(void)
{
    WNNContext context = create_on(&wnn_backend_vulkan), reference = create_on(&wnn_backend_reference);
    REQUIRE(context && reference);
    for (unsigned i = 0; i < 2; i++)
        compare_graphs(context, reference, make_rotation, &(const bool){i}, 1, !i);
    wnnContextRelease(reference);
    wnnContextRelease(context);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    if (!has_device())
        return cases_skip("there is no device");
    CASE(test_forms(&wnn_backend_vulkan, true));
    CASE(test_forms(vulkan_minimal(), false));
    CASE(test_hindrances());
    CASE(test_pairs(&wnn_backend_vulkan, true));
    CASE(test_pairs(vulkan_minimal(), false));
    CASE(test_pairs(vulkan_matrices(), false));
    CASE(test_large_pairs());
    CASE(test_single_products());
    CASE(test_rotations());
    return cases_end();
}
