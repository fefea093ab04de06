// SPDX-License-Identifier: Apache-2.0
//
// Few rows times constant matrices of float16, which are packed in strips: right for all widths of a group,
// one matrix or several, with and without what gemm adds, and for infinities; and with the same bits for any
// number of threads.

#include "conformance/unit/runtime_fixture.h"
#include "lib/half.h"

#include <math.h>

static uint32_t state = 11;

static uint32_t draw(uint32_t end)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % end;
}

// Numbers of float16 from -1 to 1.
static uint16_t *draw_halves(size_t count)
{
    uint16_t *halves = malloc(count * sizeof *halves);
    REQUIRE(halves);
    for (size_t i = 0; i < count; i++)
        halves[i] = wnn_half_from_float((float)draw(2049) / 1024 - 1);
    return halves;
}

static double number(uint16_t half)
{
    return (double)wnn_half_to_float(half);
}

// y [batch, m, n] = alpha * x [batch, m, k] * w [batch, k, n] + beta * c [n]; c may be NULL. gemm, where the
// batch is 1, has x transposed if `turned`.
struct product {
    uint32_t batch, m, k, n;
    bool gemm, turned;
    const uint16_t *x, *w, *c;
};

enum {
    ALPHA = 2,
    BETA = 3
};

static WNNOperand constant(WNNGraphBuilder builder, const uint16_t *data, WNNUint32List shape)
{
    size_t count = 1;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float16, shape};
    return wnnGraphBuilderConstant(builder, &descriptor, data, count * sizeof *data);
}

static WNNOperand record(WNNGraphBuilder builder, const struct product *p)
{
    uint32_t x_shape[3] = {p->batch, p->m, p->k}, w_shape[3] = {p->batch, p->k, p->n},
             turned[2] = {p->k, p->m};
    WNNUint32List matrix = p->turned ? (WNNUint32List){turned, 2} : (WNNUint32List){x_shape + 1, 2};
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float16,
                                       p->gemm ? matrix : (WNNUint32List){x_shape, 3}};
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &descriptor);
    if (!p->gemm)
        return wnnGraphBuilderMatmul(builder, x, constant(builder, p->w, (WNNUint32List){w_shape, 3}), NULL);
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    options.alpha = ALPHA;
    options.beta = BETA;
    options.aTranspose = p->turned;
    if (p->c)
        options.c = constant(builder, p->c, (WNNUint32List){w_shape + 2, 1});
    return wnnGraphBuilderGemm(builder, x, constant(builder, p->w, (WNNUint32List){w_shape + 1, 2}),
                               &options);
}

// `strips`: whether it is to be computed that way.
static uint16_t *compute(WNNContext context, const struct product *p, bool strips)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNNamedOperand output = {view("y"), record(builder, p)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    const struct graph *plan = &wnn_graph_plan(graph)->graph;
    unsigned found = 0;
    for (size_t i = 0; i < plan->node_count; i++)
        found += plan->nodes[i]->kernel && strcmp(plan->nodes[i]->kernel, "native strips") == 0;
    REQUIRE_EQUAL_INT(found, strips);
    size_t x_count = (size_t)p->batch * p->m * p->k, y_count = (size_t)p->batch * p->m * p->n;
    uint16_t *y = malloc(y_count * sizeof *y);
    REQUIRE(y);
    WNNNamedBuffer in = {view("x"), (void *)(uintptr_t)p->x, x_count * sizeof *y, WNNDataType_Float16};
    WNNNamedBuffer out = {view("y"), y, y_count * sizeof *y, WNNDataType_Float16};
    compute_buffers(context, graph, 1, &in, 1, &out);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    return y;
}

static void check(const struct product *p, const uint16_t *y)
{
    for (size_t i = 0; i < (size_t)p->batch * p->m * p->n; i++) {
        size_t j = i % p->n, row = i / p->n, matrix = row / p->m;
        double sum = 0, size = 0;
        for (size_t t = 0; t < p->k; t++) {
            size_t at = p->turned ? t * p->m + row : row * p->k + t;
            double term = number(p->x[at]) * number(p->w[(matrix * p->k + t) * p->n + j]);
            sum += term;
            size += fabs(term);
        }
        double scale = p->gemm ? ALPHA : 1;
        sum *= scale;
        sum += p->c ? BETA * number(p->c[j]) : 0;
        double got = number(y[i]);
        bool same = isnan(sum)   ? isnan(got)
                    : isinf(sum) ? got == sum
                                 : fabs(got - sum) <= 0x1p-11 * fabs(sum) + 4e-6 * scale * size + 1e-6;
        REQUIRE(same);
    }
}

static void test_product(const WNNContext contexts[2], struct product p)
{
    uint16_t *x = draw_halves((size_t)p.batch * p.m * p.k), *c = p.gemm && draw(2) ? draw_halves(p.n) : NULL;
    uint16_t *w = draw_halves((size_t)p.batch * p.k * p.n);
    if (draw(4) == 0)
        w[draw(p.batch * p.k * p.n)] = 0x7c00;
    p.x = x;
    p.w = w;
    p.c = c;
    bool strips = (size_t)p.m * p.n * p.k > 4096 && p.m <= 4 && p.n > 4;
    uint16_t *y = compute(contexts[0], &p, strips), *again = compute(contexts[1], &p, strips);
    check(&p, y);
    REQUIRE(memcmp(y, again, (size_t)p.batch * p.m * p.n * sizeof *y) == 0);
    free(again);
    free(x);
    free(c);
    free(w);
    free(y);
}

static void test_products(const WNNContext contexts[2])
{
    static const uint32_t widths[] = {5, 16, 31, 32, 33, 63, 64, 65, 96, 97, 128, 200, 640};
    for (unsigned i = 0; i < (SANITIZED ? 60 : 200); i++) {
        bool gemm = draw(2);
        struct product p = {.batch = gemm ? 1 : 1 + draw(3), .m = 1 + draw(5), .gemm = gemm};
        p.n = widths[draw(sizeof widths / sizeof *widths)];
        p.k = draw(8) ? 1 + draw(200) : 1024 + draw(100);
        p.turned = gemm && draw(2);
        test_product(contexts, p);
    }
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNContext contexts[2];
    for (uint32_t i = 0; i < 2; i++) {
        WNNContextDescriptor descriptor = describe_context(NULL, NULL);
        descriptor.threadCount = 1 + 2 * i;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &contexts[i]), WNNStatus_Success);
    }
    CASE(test_products(contexts));
    for (unsigned i = 0; i < 2; i++)
        wnnContextRelease(contexts[i]);
    return cases_end();
}
