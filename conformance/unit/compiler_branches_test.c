// SPDX-License-Identifier: Apache-2.0
//
// Sums of convolutions of one tensor, of itself and of its batchNormalization are one convolution with the
// numbers of the separate ones, whatever their filters, paddings, strides, dilations, groups and layouts; and
// are left alone where no filter has the taps of the other, or weights would overflow.

#include "compiler/compile.h"
#include "conformance/unit/runtime_fixture.h"

#include <math.h>

enum {
    MAX_ELEMENTS = 1 << 14
};

static uint32_t state = 5;

static uint32_t draw(uint32_t end)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % end;
}

static float number(void)
{
    return (float)draw(2001) / 1000 - 1;
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

struct window {
    uint32_t taps[2], padding[4]; // of height and width: before and after
};

struct sizes {
    bool nhwc, other_order; // of the image; of the first filter rather than the second
    uint32_t size[2], channels, outputs, groups, strides[2], dilations[2];
    struct window windows[2];
    bool biases[2], normalizes, adds; // the tensor itself, too, where the shape allows it
    bool swaps;                       // operands of sums
    float scale;                      // of weights
};

static const struct sizes plain = {.size = {6, 7},
                                   .channels = 4,
                                   .outputs = 4,
                                   .groups = 1,
                                   .strides = {1, 1},
                                   .dilations = {1, 1},
                                   .windows = {{{3, 3}, {1, 1, 1, 1}}, {{1, 1}, {0}}},
                                   .scale = 1};

static WNNOperand constant(WNNGraphBuilder builder, size_t rank, const uint32_t *dims, float scale,
                           float middle)
{
    static float values[MAX_ELEMENTS];
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, {dims, rank}};
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    REQUIRE(count <= MAX_ELEMENTS);
    for (size_t i = 0; i < count; i++)
        values[i] = middle + number() * scale;
    return wnnGraphBuilderConstant(builder, &descriptor, values, count * sizeof values[0]);
}

static WNNOperand convolve(WNNGraphBuilder builder, WNNOperand x, const struct sizes *s, unsigned number)
{
    const struct window *w = &s->windows[number];
    uint32_t inputs = s->channels / s->groups, oihw[4] = {s->outputs, inputs, w->taps[0], w->taps[1]},
             ihwo[4] = {inputs, w->taps[0], w->taps[1], s->outputs};
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.padding = (WNNUint32List){w->padding, 4};
    options.strides = (WNNUint32List){s->strides, 2};
    options.dilations = (WNNUint32List){s->dilations, 2};
    options.groups = s->groups;
    options.inputLayout = s->nhwc ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
    bool other = s->other_order == (number == 0);
    options.filterLayout = other ? WNNConv2dFilterOperandLayout_IHWO : WNNConv2dFilterOperandLayout_OIHW;
    options.bias = s->biases[number] ? constant(builder, 1, &s->outputs, 1, 0) : NULL;
    return wnnGraphBuilderConv2d(builder, x, constant(builder, 4, other ? ihwo : oihw, s->scale, 0),
                                 &options);
}

static WNNOperand normalize(WNNGraphBuilder builder, WNNOperand x, const struct sizes *s)
{
    WNNBatchNormalizationOptions options = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
    options.axis = s->nhwc ? 3 : 1;
    options.scale = constant(builder, 1, &s->channels, 0.5f, 1);
    options.bias = constant(builder, 1, &s->channels, 1, 0);
    return wnnGraphBuilderBatchNormalization(builder, x, constant(builder, 1, &s->channels, 1, 0),
                                             constant(builder, 1, &s->channels, 0.5f, 1), &options);
}

static WNNOperand add(WNNGraphBuilder builder, const struct sizes *s, WNNOperand a, WNNOperand b)
{
    return wnnGraphBuilderAdd(builder, s->swaps ? b : a, s->swaps ? a : b, NULL);
}

// Builds the graph with the numbers of a seed, runs it, and returns how many convolutions and sums are left.
static unsigned run(WNNContext context, const struct sizes *s, uint32_t seed, float *results, size_t *count)
{
    static float x[MAX_ELEMENTS];
    const uint32_t nchw[4] = {1, s->channels, s->size[0], s->size[1]},
                   nhwc[4] = {1, s->size[0], s->size[1], s->channels};
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, {s->nhwc ? nhwc : nchw, 4}};
    WNNGraphBuilder builder = create_builder(context);
    state = seed;
    WNNOperand in = wnnGraphBuilderInput(builder, view("x"), &descriptor);
    WNNOperand sum = add(builder, s, convolve(builder, in, s, 0), convolve(builder, in, s, 1));
    if (s->normalizes)
        sum = add(builder, s, sum, normalize(builder, in, s));
    if (s->adds)
        sum = add(builder, s, sum, in);
    WNNNamedOperand output = {view("y"), sum};
    size_t elements = (size_t)s->channels * s->size[0] * s->size[1];
    *count = wnn_shape_elements(&wnn_operand(sum)->type.shape);
    REQUIRE(elements <= MAX_ELEMENTS && *count <= MAX_ELEMENTS);
    for (size_t i = 0; i < elements; i++)
        x[i] = number();
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    WNNNamedBuffer from = {view("x"), x, elements * sizeof x[0], WNNDataType_Float32},
                   to = {view("y"), results, *count * sizeof results[0], WNNDataType_Float32};
    compute_buffers(context, graph, 1, &from, 1, &to);
    const struct graph *planned = &wnn_graph_plan(graph)->graph;
    unsigned left = 0;
    for (size_t i = 0; i < planned->node_count; i++)
        left += planned->nodes[i]->op != WNN_OP_reshape && planned->nodes[i]->op != WNN_OP_transpose;
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    return left;
}

static unsigned compare(WNNContext context, WNNContext separate, const struct sizes *s)
{
    static float got[MAX_ELEMENTS], expected[MAX_ELEMENTS];
    size_t count;
    uint32_t seed = state;
    run(separate, s, seed, expected, &count);
    unsigned left = run(context, s, seed, got, &count);
    for (size_t i = 0; i < count; i++)
        REQUIRE(fabsf(got[i] - expected[i]) <= 1e-4f * s->scale || got[i] == expected[i] ||
                (isnan(got[i]) && isnan(expected[i])));
    return left;
}

// ---------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------

// A smaller window inside of another, which gives as many results.
static void draw_windows(struct sizes *s)
{
    for (unsigned d = 0; d < 2; d++) {
        struct window *a = &s->windows[0], *b = &s->windows[1];
        a->taps[d] = 1 + draw(5);
        b->taps[d] = 1 + draw(a->taps[d]);
        uint32_t first = draw(a->taps[d] - b->taps[d] + 1) * s->dilations[d],
                 behind = (a->taps[d] - b->taps[d]) * s->dilations[d] - first;
        for (unsigned i = 0; i < 2; i++)
            b->padding[2 * d + i] = draw(3);
        a->padding[2 * d] = b->padding[2 * d] + first;
        a->padding[2 * d + 1] = b->padding[2 * d + 1] + behind;
    }
}

static void test_random(WNNContext context, WNNContext separate)
{
    for (unsigned i = 0; i < 300; i++) {
        struct sizes s = plain;
        s.nhwc = draw(2);
        s.other_order = draw(2);
        s.groups = 1 + draw(3);
        s.channels = s.groups * (1 + draw(4));
        s.outputs = s.groups * (1 + draw(4));
        for (unsigned d = 0; d < 2; d++) {
            s.size[d] = 9 + draw(5);
            s.strides[d] = 1 + draw(2);
            s.dilations[d] = 1 + draw(2);
            s.biases[d] = draw(2);
        }
        s.swaps = draw(2);
        draw_windows(&s);
        REQUIRE_EQUAL_INT(compare(context, separate, &s), 1);
    }
}

// With one or both of the tensor's own.
static void test_identity(WNNContext context, WNNContext separate)
{
    for (unsigned i = 0; i < 48; i++) {
        struct sizes s = plain;
        s.nhwc = i & 1;
        s.normalizes = i & 2 || !(i & 4);
        s.adds = i & 4;
        s.swaps = i & 8;
        s.biases[0] = s.biases[1] = i & 16;
        s.channels = s.outputs = 6;
        s.groups = (const uint32_t[]){1, 6, 2}[i % 3];
        REQUIRE_EQUAL_INT(compare(context, separate, &s), 1);
    }
}

static void test_refused(WNNContext context, WNNContext separate)
{
    struct sizes s = plain;
    // The tap of the second is none of the first's.
    s.windows[0] = (struct window){{3, 3}, {0, 3, 1, 1}};
    s.windows[1] = (struct window){{1, 1}, {1, 0, 0, 0}};
    REQUIRE(compare(context, separate, &s) > 1);
    // It lies between two of them.
    s = plain;
    s.dilations[0] = s.dilations[1] = 2;
    s.windows[0] = (struct window){{3, 3}, {1, 3, 2, 2}};
    REQUIRE(compare(context, separate, &s) > 1);
    // The last of its taps lies behind the last of the first's.
    s = plain;
    s.windows[0] = (struct window){{3, 1}, {3, 0, 0, 0}};
    s.windows[1] = (struct window){{2, 1}, {2, 0, 0, 0}};
    REQUIRE_EQUAL_INT(compare(context, separate, &s), 1);
    s.windows[0] = (struct window){{3, 1}, {5, 0, 0, 0}};
    s.windows[1] = (struct window){{2, 1}, {3, 1, 0, 0}};
    REQUIRE(compare(context, separate, &s) > 1);
    // Sums of weights overflow.
    s = plain;
    s.scale = 3e38f;
    REQUIRE(compare(context, separate, &s) > 1);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context, separate;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &separate), WNNStatus_Success);
    wnn_context_set_compile_options(separate, wnn_pass_bit("merge_branches"), false, NULL, NULL);
    CASE(test_random(context, separate));
    CASE(test_identity(context, separate));
    CASE(test_refused(context, separate));
    wnnContextRelease(context);
    wnnContextRelease(separate);
    return cases_end();
}
