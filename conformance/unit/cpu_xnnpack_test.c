// SPDX-License-Identifier: Apache-2.0
//
// The XNNPACK steps of the CPU backend: random nodes agree with plain loops, with every input, weight, output
// and scratch memory lying right in front of a page that cannot be touched.

#include "conformance/unit/xnnpack_subject.h"

#include <pthreadpool.h>

static struct allocator allocator;
static struct parallel pooled;

// ---------------------------------------------------------------------------------------------------------------
// Computing
// ---------------------------------------------------------------------------------------------------------------

static double activated(unsigned which, double x)
{
    switch (which) {
    case RELU:
        return x > 0 ? x : 0;
    case CLAMP:
        return x < -0.5 ? -0.5 : x > 0.75 ? 0.75 : x;
    case CLAMP_POINT:
        return 0.25;
    case CLAMP_ABOVE:
        return x < 0.125 ? 0.125 : x;
    case LEAKY_RELU:
        return x < 0 ? 0.125 * x : x;
    case SIGMOID:
        return 1 / (1 + exp(-x));
    default:
        return x;
    }
}

// The value that one output element should have, and the sum of the magnitudes that went into it.
typedef double (*expect)(const struct subject *s, const float *input, size_t index, double *magnitude);

static void compute(struct xnnpack_step *step, struct subject *s, void *scratch,
                    const struct parallel *parallel, unsigned activation, expect expected, bool slack)
{
    size_t in_count = wnn_shape_elements(&s->in[0]->type.shape);
    size_t out_count = wnn_shape_elements(&s->out[0]->type.shape);
    // In the arena, memory goes on behind operands; XNNPACK may read 16 bytes of it.
    s->operands[0].placement.place = slack ? PLACE_ARENA : PLACE_INPUT;
    float *input = guarded(in_count * sizeof *input + (slack ? 16 : 0)),
          *output = guarded(out_count * sizeof *output);
    fill(input, in_count);
    for (int i = 0; slack && i < 4; i++)
        input[in_count + (size_t)i] = NAN;
    for (size_t i = 0; i < out_count; i++)
        output[i] = NAN;

    struct tensor in = {input, WNNDataType_Float32, s->in[0]->type.shape, in_count};
    struct tensor out = {output, WNNDataType_Float32, s->out[0]->type.shape, out_count};
    struct kernel_call call = {&s->node, &in, &out, scratch, parallel};
    REQUIRE(wnn_xnnpack_run(step, &call));

    for (size_t i = 0; i < out_count; i++) {
        double magnitude = 0, value = activated(activation, expected(s, input, i, &magnitude));
        if (!(fabs(output[i] - value) <= 2e-6 * (magnitude + 1))) {
            char text[WNN_SHAPE_TEXT];
            fprintf(stderr, "op %u: element %zu of %s is %.9g, expected %.9g\n", s->node.op, i,
                    wnn_shape_text(&s->out[0]->type.shape, text), (double)output[i], value);
            REQUIRE(!"the output is right");
        }
    }
}

// Computes the node twice with one step, on inputs at different addresses.
static void check(struct subject *s, unsigned activation, expect expected)
{
    struct error error = {0};
    struct xnnpack_step *step;
    const struct parallel *parallel = below(4) == 0 ? &pooled : &wnn_serial;
    if (!wnn_xnnpack_create(&s->node, &allocator, parallel, &step, &error)) {
        fprintf(stderr, "op %u: %s\n", s->node.op, error.message);
        REQUIRE(!"the step can be made");
    }
    void *scratch = guarded(wnn_xnnpack_scratch(&s->node));
    bool slack = below(2);
    compute(step, s, scratch, parallel, activation, expected, slack);
    compute(step, s, scratch, parallel, activation, expected, !slack);
    wnn_xnnpack_destroy(step);
}

// ---------------------------------------------------------------------------------------------------------------
// Plain loops
// ---------------------------------------------------------------------------------------------------------------

struct place {
    uint32_t n, y, x, c;
};

static struct place place_of(const struct shape *shape, bool first, size_t index)
{
    const uint32_t *d = shape->dim;
    uint32_t last[4];
    for (int i = 3; i >= 0; i--) {
        last[i] = (uint32_t)(index % d[i]);
        index /= d[i];
    }
    return first ? (struct place){last[0], last[2], last[3], last[1]}
                 : (struct place){last[0], last[1], last[2], last[3]};
}

// An element of an image, 0 outside of it; `inside` tells.
static double pixel(const struct shape *shape, bool first, const float *data, uint32_t n, int64_t y,
                    int64_t x, uint32_t c, bool *inside)
{
    const uint32_t *d = shape->dim;
    uint32_t height = d[first ? 2 : 1], width = d[first ? 3 : 2], channels = d[first ? 1 : 3];
    *inside = y >= 0 && x >= 0 && y < height && x < width;
    if (!*inside)
        return 0;
    size_t row = (size_t)y, column = (size_t)x;
    return data[first ? ((n * (size_t)channels + c) * height + row) * width + column
                      : ((n * (size_t)height + row) * width + column) * channels + c];
}

// An element of a filter whose dimensions are named by the letters of `layout`.
static double filter_at(const struct operand *filter, const char *layout, uint32_t o, uint32_t i, uint32_t y,
                        uint32_t x)
{
    size_t index = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t at = layout[k] == 'O' ? o : layout[k] == 'I' ? i : layout[k] == 'H' ? y : x;
        index = index * filter->type.shape.dim[k] + at;
    }
    return ((const float *)filter->constant->data)[index];
}

static uint32_t filter_dim(const struct operand *filter, const char *layout, char letter)
{
    return filter->type.shape.dim[strchr(layout, letter) - layout];
}

static double bias_at(const struct subject *s, uint32_t channel)
{
    return s->in[2] ? ((const float *)s->in[2]->constant->data)[channel] : 0;
}

static double expect_conv2d(const struct subject *s, const float *input, size_t index, double *magnitude)
{
    const WNNConv2dOptions *options = &s->attrs.conv;
    bool first = options->inputLayout == WNNInputOperandLayout_NCHW, inside;
    const struct shape *in = &s->in[0]->type.shape, *out = &s->out[0]->type.shape;
    const char *layout = conv_layouts[options->filterLayout];
    const struct operand *filter = s->in[1];
    struct place at = place_of(out, first, index);
    uint32_t group_in = filter_dim(filter, layout, 'I');
    uint32_t group = at.c / (filter_dim(filter, layout, 'O') / options->groups);
    double sum = bias_at(s, at.c);
    *magnitude = fabs(sum);
    for (uint32_t y = 0; y < filter_dim(filter, layout, 'H'); y++)
        for (uint32_t x = 0; x < filter_dim(filter, layout, 'W'); x++)
            for (uint32_t i = 0; i < group_in; i++) {
                int64_t row = (int64_t)at.y * s->strides[0] + (int64_t)y * s->dilations[0] - s->padding[0];
                int64_t column = (int64_t)at.x * s->strides[1] + (int64_t)x * s->dilations[1] - s->padding[2];
                double term = pixel(in, first, input, at.n, row, column, group * group_in + i, &inside) *
                              filter_at(filter, layout, at.c, i, y, x);
                sum += term;
                *magnitude += fabs(term);
            }
    return sum;
}

static double expect_transposed(const struct subject *s, const float *input, size_t index, double *magnitude)
{
    const WNNConvTranspose2dOptions *options = &s->attrs.transposed;
    bool first = options->inputLayout == WNNInputOperandLayout_NCHW, inside;
    const struct shape *in = &s->in[0]->type.shape, *out = &s->out[0]->type.shape;
    const char *layout = transposed_layouts[options->filterLayout];
    const struct operand *filter = s->in[1];
    struct place at = place_of(out, first, index);
    uint32_t group_out = filter_dim(filter, layout, 'O'), group = at.c / group_out;
    uint32_t group_in = filter_dim(filter, layout, 'I') / options->groups;
    double sum = bias_at(s, at.c);
    *magnitude = fabs(sum);
    for (uint32_t y = 0; y < filter_dim(filter, layout, 'H'); y++)
        for (uint32_t x = 0; x < filter_dim(filter, layout, 'W'); x++) {
            int64_t row = (int64_t)at.y + s->padding[0] - (int64_t)y * s->dilations[0];
            int64_t column = (int64_t)at.x + s->padding[2] - (int64_t)x * s->dilations[1];
            if (row < 0 || column < 0 || row % s->strides[0] != 0 || column % s->strides[1] != 0)
                continue;
            for (uint32_t i = 0; i < group_in; i++) {
                uint32_t c = group * group_in + i;
                double term =
                    pixel(in, first, input, at.n, row / s->strides[0], column / s->strides[1], c, &inside) *
                    filter_at(filter, layout, at.c % group_out, c, y, x);
                sum += term;
                *magnitude += fabs(term);
            }
        }
    return sum;
}

static double expect_pool(const struct subject *s, const float *input, size_t index, double *magnitude)
{
    bool first = s->attrs.pool.layout == WNNInputOperandLayout_NCHW;
    struct place at = place_of(&s->out[0]->type.shape, first, index);
    double sum = 0, most = -INFINITY;
    unsigned count = 0;
    for (uint32_t y = 0; y < s->window[0]; y++)
        for (uint32_t x = 0; x < s->window[1]; x++) {
            bool inside;
            double value = pixel(&s->in[0]->type.shape, first, input, at.n,
                                 (int64_t)at.y * s->strides[0] + (int64_t)y * s->dilations[0] - s->padding[0],
                                 (int64_t)at.x * s->strides[1] + (int64_t)x * s->dilations[1] - s->padding[2],
                                 at.c, &inside);
            if (!inside)
                continue;
            sum += value;
            *magnitude += fabs(value);
            most = value > most ? value : most;
            count++;
        }
    return s->node.op == WNN_OP_maxPool2d ? most : sum / count;
}

static double expect_resample(const struct subject *s, const float *input, size_t index, double *magnitude)
{
    bool first = s->axes[0] + s->axes[1] == 5;
    const struct shape *in = &s->in[0]->type.shape, *out = &s->out[0]->type.shape;
    struct place at = place_of(out, first, index);
    const uint32_t where[2] = {at.y, at.x};
    double low[2], part[2], sum = 0;
    for (int i = 0; i < 2; i++) {
        double from = in->dim[first ? 2 + i : 1 + i], to = out->dim[first ? 2 + i : 1 + i];
        double source = (where[i] + 0.5) * from / to - 0.5;
        source = source < 0 ? 0 : source > from - 1 ? from - 1 : source;
        low[i] = floor(source);
        part[i] = source - low[i];
    }
    for (int k = 0; k < 4; k++) {
        double weight = (k & 1 ? part[0] : 1 - part[0]) * (k & 2 ? part[1] : 1 - part[1]);
        bool inside;
        double value = pixel(in, first, input, at.n, (int64_t)low[0] + (k & 1), (int64_t)low[1] + (k >> 1),
                             at.c, &inside);
        sum += weight * value;
        *magnitude += fabs(value);
    }
    return sum;
}

static double expect_product(const struct subject *s, const float *input, size_t index, double *magnitude)
{
    const struct shape *out = &s->out[0]->type.shape, *b = &s->in[1]->type.shape, *a = &s->in[0]->type.shape;
    const WNNGemmOptions *gemm = s->node.op == WNN_OP_gemm ? &s->attrs.gemm : NULL;
    size_t columns = out->dim[out->rank - 1], length = a->dim[a->rank - 1];
    size_t row = index / columns, column = index % columns;
    const float *weights = s->in[1]->constant->data;
    double sum = 0;
    for (size_t k = 0; k < length; k++) {
        double term =
            (double)input[row * length + k] *
            weights[gemm && gemm->bTranspose ? column * length + k : k * b->dim[b->rank - 1] + column];
        sum += term;
        *magnitude += fabs(term);
    }
    if (!gemm)
        return sum;
    sum *= gemm->alpha;
    if (s->in[2]) {
        const float *c = s->in[2]->constant->data;
        double term = gemm->beta * c[wnn_shape_elements(&s->in[2]->type.shape) == 1 ? 0 : column];
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

// ---------------------------------------------------------------------------------------------------------------
// Random nodes
// ---------------------------------------------------------------------------------------------------------------

static void test_random_conv2d(void)
{
    static const uint32_t taps[][2] = {{3, 1}, {1, 3}, {2, 2}, {3, 3}, {5, 5}, {1, 1}};
    struct subject s;
    unsigned computed = 0;
    for (int round = 0; round < 1000; round++, unmap_all()) {
        struct conv_case c;
        random_windows(&c, 4, 4, 3, 3);
        c.layout = between(1, 4);
        switch (below(4)) {
        case 0:
            c.groups = between(1, 20);
            c.group_in = c.group_out = 1;
            memcpy(c.kernel, taps[below(6)], sizeof c.kernel);
            break;
        case 1:
            c.groups = between(1, 3);
            c.group_in = between(1, 9);
            c.group_out = between(4, 20);
            break;
        default:
            c.groups = 1;
            c.group_in = between(1, 20);
            c.group_out = between(1, 40);
        }
        for (int i = 0; i < 2; i++)
            c.out[i] = window_output(&c, i, false);
        if (c.out[0] == 0 || c.out[1] == 0)
            continue;
        make_conv2d(&s, &c);
        unsigned activation = below(ACTIVATIONS);
        add_activation(&s, activation);
        if (!accepted(&s))
            continue;
        check(&s, activation, expect_conv2d);
        computed++;
    }
    REQUIRE(computed >= 250);
}

static void test_random_transposed(void)
{
    struct subject s;
    unsigned computed = 0, refused = 0;
    for (int round = 0; round < 700; round++, unmap_all()) {
        struct conv_case c;
        random_windows(&c, 4, 4, 3, 2);
        c.layout = between(1, 3);
        c.groups = below(3) == 0 ? between(2, 3) : 1;
        c.group_in = between(1, 9);
        c.group_out = c.groups == 1 ? between(1, 20) : between(4, 20);
        bool possible = true;
        for (int i = 0; i < 2; i++) {
            int least = (int)((c.in[i] - 1) * c.strides[i] + (c.kernel[i] - 1) * c.dilations[i] + 1 +
                              below(c.strides[i])) -
                        (int)(c.padding[2 * i] + c.padding[2 * i + 1]);
            possible = possible && least > 0;
            c.out[i] = (uint32_t)least;
        }
        if (!possible)
            continue;
        make_transposed(&s, &c);
        unsigned activation = below(ACTIVATIONS);
        add_activation(&s, activation);
        bool small = c.out[0] < c.strides[0] || c.out[1] < c.strides[1];
        refused += small;
        REQUIRE(!small || !accepted(&s));
        if (!accepted(&s))
            continue;
        check(&s, activation, expect_transposed);
        computed++;
    }
    REQUIRE(computed >= 250 && refused > 0);
}

static void test_random_pools(void)
{
    struct subject s;
    unsigned computed = 0, rounded_up = 0, dilated = 0;
    for (int round = 0; round < 4000; round++, unmap_all()) {
        struct conv_case c;
        random_windows(&c, 5, 4, 3, 3);
        bool max = below(2), up = below(2);
        if (below(8) == 0) { // the whole input
            memcpy(c.kernel, c.in, sizeof c.kernel);
            c.dilations[0] = c.dilations[1] = 1;
            memset(c.padding, 0, sizeof c.padding);
        }
        c.group_in = between(1, 40);
        for (int i = 0; i < 2; i++)
            c.out[i] = window_output(&c, i, up);
        if (c.out[0] == 0 || c.out[1] == 0)
            continue;
        make_pool(&s, max ? WNN_OP_maxPool2d : WNN_OP_averagePool2d, &c);
        unsigned activation = below(ACTIVATIONS);
        add_activation(&s, activation);
        if (!accepted(&s))
            continue;
        check(&s, activation, expect_pool);
        computed++;
        rounded_up += c.out[0] != window_output(&c, 0, false) || c.out[1] != window_output(&c, 1, false);
        dilated += (c.kernel[0] > 1 && c.dilations[0] > 1) || (c.kernel[1] > 1 && c.dilations[1] > 1);
    }
    REQUIRE(computed >= 300);
    REQUIRE(rounded_up >= 30);
    REQUIRE(dilated >= 30);
}

static void test_random_products(void)
{
    struct subject s;
    for (int round = 0; round < 200; round++, unmap_all()) {
        uint32_t m = between(1, 7), k = below(2) ? 16 * between(1, 3) : between(1, 63), n = between(1, 50);
        unsigned activation = below(ACTIVATIONS);
        if (below(2)) {
            make_gemm(&s, m, k, n, below(2));
            static const double alphas[] = {1, 1, 0.5, -0.25};
            s.attrs.gemm.alpha = alphas[below(4)];
            if (below(2)) {
                static const double betas[] = {1, 1, 2, 0};
                s.attrs.gemm.beta = betas[below(4)];
                switch (below(4)) {
                case 0:
                    add_constant(&s, 1, make_shape(0, 0, 0, 0, 0));
                    break;
                case 1:
                    add_constant(&s, 1, make_shape(1, n, 0, 0, 0));
                    break;
                case 2:
                    add_constant(&s, 1, make_shape(2, 1, 1, 0, 0));
                    break;
                default:
                    add_constant(&s, 1, make_shape(2, 1, n, 0, 0));
                }
            }
        } else {
            uint32_t batch = between(1, 7 / m); // more rows are not for XNNPACK
            begin(&s, WNN_OP_matmul, make_shape(3, batch, m, k, 0), make_shape(3, batch, m, n, 0));
            add_constant(&s, 0, make_shape(2, k, n, 0, 0));
        }
        add_activation(&s, activation);
        REQUIRE(accepted(&s));
        check(&s, activation, expect_product);
    }
}

static void test_random_resample(void)
{
    struct subject s;
    for (int round = 0; round < 150; round++, unmap_all()) {
        uint32_t in[2], out[2];
        for (int i = 0; i < 2; i++) {
            uint32_t base = between(1, 6);
            static const uint32_t ratios[][2] = {{1, 1}, {1, 2}, {1, 4}, {2, 1},
                                                 {3, 1}, {3, 2}, {3, 4}, {5, 8}};
            const uint32_t *ratio = ratios[below(8)];
            in[i] = base * ratio[0];
            out[i] = base * ratio[1];
        }
        make_resample(&s, below(2), between(1, 2), in, out, between(1, 20));
        unsigned activation = below(ACTIVATIONS);
        add_activation(&s, activation);
        REQUIRE(accepted(&s));
        check(&s, activation, expect_resample);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Values and memory
// ---------------------------------------------------------------------------------------------------------------

// What XNNPACK's kernels do with infinities; the input is an image of one pixel and 16 channels.
static void test_infinity(void)
{
    struct subject s;
    make_gemm(&s, 1, 16, 16, true);
    float *weights = (float *)(uintptr_t)s.in[1]->constant->data;
    for (int i = 0; i < 256; i++)
        weights[i] = i % 17 == 0 ? 1 : 0.5f;
    struct error error = {0};
    struct xnnpack_step *step;
    REQUIRE(wnn_xnnpack_create(&s.node, &allocator, &wnn_serial, &step, &error));
    float *input = guarded(16 * sizeof *input), *output = guarded(16 * sizeof *output);
    for (int i = 0; i < 16; i++)
        input[i] = i == 3 ? INFINITY : 1;
    struct tensor in = {input, WNNDataType_Float32, s.in[0]->type.shape, 16};
    struct tensor out = {output, WNNDataType_Float32, s.out[0]->type.shape, 16};
    struct kernel_call call = {&s.node, &in, &out, guarded(wnn_xnnpack_scratch(&s.node)), &wnn_serial};
    REQUIRE(wnn_xnnpack_run(step, &call));
    for (int i = 0; i < 16; i++)
        REQUIRE(output[i] == INFINITY);
    input[3] = -INFINITY;
    REQUIRE(wnn_xnnpack_run(step, &call));
    for (int i = 0; i < 16; i++)
        REQUIRE(output[i] == -INFINITY);
    wnn_xnnpack_destroy(step);
    unmap_all();
}

// Weights that are not even aligned.
static void test_lent_bytes(void)
{
    struct subject s;
    struct conv_case c = plain;
    c.layout = WNNConv2dFilterOperandLayout_OHWI;
    c.bias = true;
    make_conv2d(&s, &c);
    struct subject moved = s;
    for (int i = 0; i < 2; i++) {
        char *bytes = guarded(s.constants[i].bytes + 1);
        memcpy(bytes, s.constants[i].data, s.constants[i].bytes);
        moved.constants[i].data = bytes;
        REQUIRE((uintptr_t)bytes % sizeof(float) != 0);
        moved.operands[i + 1].constant = &moved.constants[i];
        moved.in[i + 1] = &moved.operands[i + 1];
    }
    moved.node.attrs = &moved.attrs;
    moved.node.in = moved.in;
    moved.node.out = moved.out;
    moved.in[0] = &moved.operands[0];
    moved.out[0] = &moved.operands[3];
    moved.attrs.conv.padding.data = moved.padding;
    moved.attrs.conv.strides.data = moved.strides;
    moved.attrs.conv.dilations.data = moved.dilations;

    float *outputs[2], *input = guarded(256 * sizeof *input);
    fill(input, 256);
    for (int i = 0; i < 2; i++) {
        struct subject *subject = i == 0 ? &s : &moved;
        struct error error = {0};
        struct xnnpack_step *step;
        outputs[i] = guarded(288 * sizeof(float));
        REQUIRE(wnn_xnnpack_create(&subject->node, &allocator, &wnn_serial, &step, &error));
        struct tensor in = {input, WNNDataType_Float32, subject->in[0]->type.shape, 256};
        struct tensor out = {outputs[i], WNNDataType_Float32, subject->out[0]->type.shape, 288};
        struct kernel_call call = {&subject->node, &in, &out, guarded(wnn_xnnpack_scratch(&subject->node)),
                                   &wnn_serial};
        REQUIRE(wnn_xnnpack_run(step, &call));
        wnn_xnnpack_destroy(step);
    }
    REQUIRE(memcmp(outputs[0], outputs[1], 288 * sizeof(float)) == 0);
    unmap_all();
}

// The memory of the library counts, and a limit on it holds.
static void test_memory(void)
{
    struct allocator limited;
    struct error error = {0};
    struct xnnpack_step *step;
    struct subject s;
    struct conv_case c = plain;
    make_conv2d(&s, &c);
    wnn_allocator_init(&limited, NULL, 1 << 20);
    REQUIRE(wnn_xnnpack_create(&s.node, &limited, &wnn_serial, &step, &error));
    REQUIRE(atomic_load(&limited.now) > 4 * 9 * 8 * sizeof(float));
    wnn_xnnpack_destroy(step);
    REQUIRE(atomic_load(&limited.now) == 0);

    // Too little memory, at every place where some is asked for.
    unsigned failures = 0;
    make_gemm(&s, 3, 40, 24, false);
    s.attrs.gemm.alpha = s.attrs.gemm.beta = 0.5;
    add_constant(&s, 1, make_shape(1, 24, 0, 0, 0));
    for (uint64_t limit = 1;; limit += 64) {
        wnn_allocator_init(&limited, NULL, limit);
        error = (struct error){0};
        bool made = wnn_xnnpack_create(&s.node, &limited, &wnn_serial, &step, &error);
        REQUIRE(made == (step != NULL));
        wnn_xnnpack_destroy(step);
        REQUIRE(atomic_load(&limited.now) == 0);
        if (made)
            break;
        REQUIRE(error.status == WNNStatus_OutOfMemory);
        failures++;
    }
    REQUIRE(failures > 40);
    wnn_xnnpack_destroy(NULL);
    unmap_all();
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    skip_without_xnnpack();
    wnn_allocator_init(&allocator, NULL, 0);
    pthreadpool_t pool = pthreadpool_create(2);
    pooled = (struct parallel){wnn_serial.run, 2, pool, NULL};
    struct error error = {0};
    REQUIRE(wnn_xnnpack_preload(&error));
    REQUIRE(wnn_xnnpack_preload(&error));

    CASE(test_random_conv2d());
    CASE(test_random_transposed());
    CASE(test_random_pools());
    CASE(test_random_products());
    CASE(test_random_resample());
    CASE(test_infinity());
    CASE(test_lent_bytes());
    CASE(test_memory());

    REQUIRE(atomic_load(&allocator.now) == 0);
    pthreadpool_destroy(pool);
    return cases_end();
}
