// SPDX-License-Identifier: Apache-2.0
//
// The XNNPACK steps of the CPU backend. Two things: nodes that the packaged library is known to compute
// wrongly, to crash or to abort on are not accepted; and random nodes that are accepted agree with plain
// loops, with every input, weight, output and scratch memory lying right in front of a page that cannot be
// touched.

#include "cpu/xnnpack.h"
#include "lib/status.h"

#include "conformance/unit/require.h"

#include <math.h>
#include <pthreadpool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// ---------------------------------------------------------------------------------------------------------------
// Memory that ends where nothing is mapped
// ---------------------------------------------------------------------------------------------------------------

static struct mapping {
    void *data;
    size_t bytes;
} mappings[16];
static unsigned mapping_count;

static void *guarded(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (bytes + page - 1) / page * page;
    char *data = mmap(NULL, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(data != MAP_FAILED);
    REQUIRE(mprotect(data + used, page, PROT_NONE) == 0);
    REQUIRE(mapping_count < sizeof mappings / sizeof *mappings);
    mappings[mapping_count++] = (struct mapping){data, used + page};
    return data + used - bytes;
}

static void unmap_all(void)
{
    while (mapping_count > 0) {
        mapping_count--;
        munmap(mappings[mapping_count].data, mappings[mapping_count].bytes);
    }
}

static uint64_t state = 88172645463325252u;

static uint32_t below(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % limit;
}

static uint32_t between(uint32_t low, uint32_t high)
{
    return low + below(high - low + 1);
}

static void fill(float *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (float)((int)below(2001) - 1000) / 512;
}

// ---------------------------------------------------------------------------------------------------------------
// One node
// ---------------------------------------------------------------------------------------------------------------

static struct allocator allocator;
static struct parallel serial, pooled;

static void run_serially(const struct parallel *parallel, size_t count, void (*task)(void *, size_t),
                         void *argument)
{
    (void)parallel;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

union attrs {
    WNNConv2dOptions conv;
    WNNConvTranspose2dOptions transposed;
    WNNGemmOptions gemm;
    WNNPool2dOptions pool;
    WNNResample2dOptions resample;
    WNNOperatorOptions none;
};

struct subject {
    struct node node;
    union attrs attrs;
    struct operand operands[4];
    struct operand *in[3], *out[1];
    struct constant constants[2];
    struct activation activation;
    WNNClampOptions clamp;
    WNNLeakyReluOptions leaky;
    uint32_t padding[4], strides[2], dilations[2], window[2], axes[2], extra[2];
};

static struct shape make_shape(unsigned rank, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (struct shape){rank, {a, b, c, d}};
}

static struct shape image_shape(bool first, uint32_t n, uint32_t h, uint32_t w, uint32_t c)
{
    return first ? make_shape(4, n, c, h, w) : make_shape(4, n, h, w, c);
}

static void begin(struct subject *s, enum op op, struct shape in, struct shape out)
{
    memset(s, 0, sizeof *s);
    s->node = (struct node){
        .op = (uint16_t)op, .attrs = &s->attrs, .in = s->in, .out = s->out, .in_count = 1, .out_count = 1};
    for (int i = 0; i < 4; i++)
        s->operands[i].type.type = WNNDataType_Float32;
    s->operands[0].type.shape = in;
    s->operands[0].input = true;
    s->operands[0].placement.place = PLACE_INPUT;
    s->operands[3].type.shape = out;
    s->operands[3].producer = &s->node;
    s->operands[3].placement.place = PLACE_OUTPUT;
    s->in[0] = &s->operands[0];
    s->out[0] = &s->operands[3];
}

// Constant `index` (0: filter, 1: bias), lent, at an address that floats may have and nothing more.
static const float *add_constant(struct subject *s, unsigned index, struct shape shape)
{
    size_t count = wnn_shape_elements(&shape);
    float *data = guarded(count * sizeof *data);
    fill(data, count);
    s->constants[index] = (struct constant){.data = data, .bytes = count * sizeof *data, .lent = true};
    s->operands[index + 1].type.shape = shape;
    s->operands[index + 1].constant = &s->constants[index];
    s->in[index + 1] = &s->operands[index + 1];
    if (s->node.in_count < index + 2)
        s->node.in_count = index + 2;
    return data;
}

static void add_windows(struct subject *s, const uint32_t window[2], const uint32_t strides[2],
                        const uint32_t dilations[2], const uint32_t padding[4])
{
    memcpy(s->window, window, sizeof s->window);
    memcpy(s->strides, strides, sizeof s->strides);
    memcpy(s->dilations, dilations, sizeof s->dilations);
    memcpy(s->padding, padding, sizeof s->padding);
}

enum {
    NO_ACTIVATION,
    RELU,
    CLAMP,
    CLAMP_POINT,
    CLAMP_ABOVE,
    LEAKY_RELU,
    SIGMOID,
    ACTIVATIONS
};

static void add_activation(struct subject *s, unsigned which)
{
    static const enum op ops[] = {
        0, WNN_OP_relu, WNN_OP_clamp, WNN_OP_clamp, WNN_OP_clamp, WNN_OP_leakyRelu, WNN_OP_sigmoid};
    static const double low[] = {0, 0, -0.5, 0.25, 0.125}, high[] = {0, 0, 0.75, 0.25, INFINITY};
    if (which == NO_ACTIVATION)
        return;
    s->activation = (struct activation){.op = (uint16_t)ops[which], .attrs = &s->attrs.none};
    if (ops[which] == WNN_OP_clamp) {
        s->clamp.minValue = wnnNumberFloat64(low[which]);
        s->clamp.maxValue = wnnNumberFloat64(high[which]);
        s->activation.attrs = &s->clamp;
    } else if (which == LEAKY_RELU) {
        s->leaky.alpha = 0.125;
        s->activation.attrs = &s->leaky;
    }
    s->node.activation = &s->activation;
}

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

static bool accepted(const struct subject *s)
{
    return wnn_xnnpack_accepts(&s->node);
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
    const struct parallel *parallel = below(4) == 0 ? &pooled : &serial;
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

static const char *const conv_layouts[] = {NULL, "OIHW", "HWIO", "OHWI", "IHWO"};
static const char *const transposed_layouts[] = {NULL, "IOHW", "HWOI", "OHWI"};

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
// Nodes
// ---------------------------------------------------------------------------------------------------------------

struct conv_case {
    uint32_t n, in[2], out[2], group_in, group_out, groups, kernel[2], strides[2], dilations[2], padding[4];
    bool first, bias;
    unsigned layout;
};

static struct shape filter_shape(const char *layout, uint32_t o, uint32_t i, uint32_t h, uint32_t w)
{
    struct shape shape = {4, {0}};
    for (int k = 0; k < 4; k++)
        shape.dim[k] = layout[k] == 'O' ? o : layout[k] == 'I' ? i : layout[k] == 'H' ? h : w;
    return shape;
}

static void make_conv2d(struct subject *s, const struct conv_case *c)
{
    uint32_t outputs = c->groups * c->group_out;
    begin(s, WNN_OP_conv2d, image_shape(c->first, c->n, c->in[0], c->in[1], c->groups * c->group_in),
          image_shape(c->first, c->n, c->out[0], c->out[1], outputs));
    add_windows(s, c->kernel, c->strides, c->dilations, c->padding);
    add_constant(s, 0,
                 filter_shape(conv_layouts[c->layout], outputs, c->group_in, c->kernel[0], c->kernel[1]));
    if (c->bias)
        add_constant(s, 1, make_shape(1, outputs, 0, 0, 0));
    s->attrs.conv = (WNNConv2dOptions){
        .padding = {s->padding, 4},
        .strides = {s->strides, 2},
        .dilations = {s->dilations, 2},
        .groups = c->groups,
        .inputLayout = c->first ? WNNInputOperandLayout_NCHW : WNNInputOperandLayout_NHWC,
        .filterLayout = (WNNConv2dFilterOperandLayout)c->layout,
    };
}

static void make_transposed(struct subject *s, const struct conv_case *c)
{
    begin(s, WNN_OP_convTranspose2d, image_shape(c->first, c->n, c->in[0], c->in[1], c->groups * c->group_in),
          image_shape(c->first, c->n, c->out[0], c->out[1], c->groups * c->group_out));
    add_windows(s, c->kernel, c->strides, c->dilations, c->padding);
    add_constant(s, 0,
                 filter_shape(transposed_layouts[c->layout], c->group_out, c->groups * c->group_in,
                              c->kernel[0], c->kernel[1]));
    if (c->bias)
        add_constant(s, 1, make_shape(1, c->groups * c->group_out, 0, 0, 0));
    s->attrs.transposed = (WNNConvTranspose2dOptions){
        .padding = {s->padding, 4},
        .strides = {s->strides, 2},
        .dilations = {s->dilations, 2},
        .outputPadding = {s->extra, 2},
        .groups = c->groups,
        .inputLayout = c->first ? WNNInputOperandLayout_NCHW : WNNInputOperandLayout_NHWC,
        .filterLayout = (WNNConvTranspose2dFilterOperandLayout)c->layout,
    };
}

// Pooling of [1, in, in, channels] along both axes alike, or of what `c` says (kernel, strides ..., in, out).
static void make_pool(struct subject *s, enum op op, const struct conv_case *c)
{
    begin(s, op, image_shape(c->first, c->n, c->in[0], c->in[1], c->group_in),
          image_shape(c->first, c->n, c->out[0], c->out[1], c->group_in));
    add_windows(s, c->kernel, c->strides, c->dilations, c->padding);
    s->attrs.pool = (WNNPool2dOptions){
        .windowDimensions = {s->window, 2},
        .padding = {s->padding, 4},
        .strides = {s->strides, 2},
        .dilations = {s->dilations, 2},
        .layout = c->first ? WNNInputOperandLayout_NCHW : WNNInputOperandLayout_NHWC,
        .roundingType = WNNRoundingType_Floor,
    };
}

static void make_resample(struct subject *s, bool first, uint32_t n, const uint32_t in[2],
                          const uint32_t out[2], uint32_t channels)
{
    begin(s, WNN_OP_resample2d, image_shape(first, n, in[0], in[1], channels),
          image_shape(first, n, out[0], out[1], channels));
    s->axes[0] = first ? 2 : 1;
    s->axes[1] = first ? 3 : 2;
    s->attrs.resample = (WNNResample2dOptions){.mode = WNNInterpolationMode_Linear, .axes = {s->axes, 2}};
}

static void make_gemm(struct subject *s, uint32_t m, uint32_t k, uint32_t n, bool transposed)
{
    begin(s, WNN_OP_gemm, make_shape(2, m, k, 0, 0), make_shape(2, m, n, 0, 0));
    add_constant(s, 0, transposed ? make_shape(2, n, k, 0, 0) : make_shape(2, k, n, 0, 0));
    s->attrs.gemm = (WNNGemmOptions){.alpha = 1, .beta = 1, .bTranspose = transposed};
}

// The output size of a window, rounded up or down; 0: there is none.
static uint32_t window_output(const struct conv_case *c, int i, bool up)
{
    uint32_t padded = c->in[i] + c->padding[2 * i] + c->padding[2 * i + 1];
    uint32_t extent = (c->kernel[i] - 1) * c->dilations[i] + 1;
    return padded < extent ? 0 : (padded - extent + (up ? c->strides[i] - 1 : 0)) / c->strides[i] + 1;
}

static void random_windows(struct conv_case *c, uint32_t kernel, uint32_t stride, uint32_t dilation,
                           uint32_t padding)
{
    memset(c, 0, sizeof *c);
    c->n = between(1, 2);
    for (int i = 0; i < 2; i++) {
        c->in[i] = between(1, 12);
        c->kernel[i] = between(1, kernel);
        c->strides[i] = below(2) ? 1 : between(1, stride);
        c->dilations[i] = below(2) ? 1 : between(1, dilation);
    }
    for (int i = 0; below(2) && i < 4; i++)
        c->padding[i] = below(padding + 1);
    c->first = below(2);
    c->bias = below(2);
}

// ---------------------------------------------------------------------------------------------------------------
// Random nodes
// ---------------------------------------------------------------------------------------------------------------

static void test_random_conv2d(void)
{
    static const uint32_t taps[][2] = {{3, 1}, {1, 3}, {2, 2}, {3, 3}, {5, 5}, {1, 1}};
    struct subject s;
    unsigned computed = 0;
    for (int round = 0; round < 450; round++, unmap_all()) {
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
    unsigned computed = 0;
    for (int round = 0; round < 500; round++, unmap_all()) {
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
        REQUIRE(accepted(&s) == !small);
        if (small)
            continue;
        check(&s, activation, expect_transposed);
        computed++;
    }
    REQUIRE(computed >= 250);
}

static void test_random_pools(void)
{
    struct subject s;
    unsigned computed = 0, rounded_up = 0, dilated = 0;
    for (int round = 0; round < 1200; round++, unmap_all()) {
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
        uint32_t m = between(1, 9), k = below(2) ? 16 * between(1, 4) : between(1, 70), n = between(1, 50);
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
            uint32_t batch = between(1, 3);
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
// What must not reach the library
// ---------------------------------------------------------------------------------------------------------------

static const struct conv_case plain = {
    .n = 1,
    .in = {8, 8},
    .out = {6, 6},
    .group_in = 4,
    .group_out = 8,
    .groups = 1,
    .kernel = {3, 3},
    .strides = {1, 1},
    .dilations = {1, 1},
    .layout = 1,
};

static void test_refused_conv2d(void)
{
    struct subject s;
    struct conv_case c = plain;
    make_conv2d(&s, &c);
    REQUIRE(accepted(&s));

    // Shapes that contradict the parameters: XNNPACK writes what it computes, not what was declared.
    c.out[0] = 5;
    make_conv2d(&s, &c);
    REQUIRE(!accepted(&s));
    c.out[0] = 7;
    make_conv2d(&s, &c);
    REQUIRE(!accepted(&s));
    c = plain;
    make_conv2d(&s, &c);
    s.operands[3].type.shape.dim[3] += 1;
    REQUIRE(!accepted(&s));
    make_conv2d(&s, &c);
    s.operands[1].type.shape.dim[1] = 5;
    REQUIRE(!accepted(&s));

    // Weights that come at run time; other data types.
    make_conv2d(&s, &c);
    s.operands[1].constant = NULL;
    REQUIRE(!accepted(&s));
    c.bias = true;
    make_conv2d(&s, &c);
    REQUIRE(accepted(&s));
    s.operands[2].constant = NULL;
    REQUIRE(!accepted(&s));
    c = plain;
    for (WNNDataType type = WNNDataType_Float16; type <= WNNDataType_Uint8; type = (WNNDataType)(type + 1)) {
        make_conv2d(&s, &c);
        s.operands[0].type.type = s.operands[1].type.type = s.operands[3].type.type = type;
        REQUIRE(!accepted(&s));
    }
    unmap_all();

    // One channel a group: only where there are kernels for it.
    c = (struct conv_case){.n = 1,
                           .in = {9, 9},
                           .out = {3, 3},
                           .group_in = 1,
                           .group_out = 1,
                           .groups = 16,
                           .kernel = {7, 7},
                           .strides = {1, 1},
                           .dilations = {1, 1},
                           .layout = 2};
    make_conv2d(&s, &c);
    REQUIRE(!accepted(&s));
    c.kernel[0] = c.kernel[1] = 5;
    c.out[0] = c.out[1] = 5;
    make_conv2d(&s, &c);
    REQUIRE(accepted(&s));
    unmap_all();
}

// Parameters for which sizes inside of the library would overflow or be out of all proportion.
static void test_refused_sizes(void)
{
    struct subject s;
    struct conv_case c = plain;
    make_conv2d(&s, &c);
    s.strides[0] = 0x80000000u;
    s.operands[3].type.shape.dim[2] = 1;
    REQUIRE(!accepted(&s));
    make_conv2d(&s, &c);
    s.dilations[0] = 0x80000000u;
    REQUIRE(!accepted(&s));
    make_conv2d(&s, &c);
    s.padding[0] = 0xFFFFFFFFu;
    s.padding[1] = 1;
    REQUIRE(!accepted(&s));
    unmap_all();

    c.group_in = 1;
    for (int i = 0; i < 2; i++) {
        c.kernel[i] = c.in[i] = 65536;
        c.out[i] = 1;
    }
    make_pool(&s, WNN_OP_averagePool2d, &c);
    REQUIRE(!accepted(&s));
    make_pool(&s, WNN_OP_maxPool2d, &c);
    REQUIRE(!accepted(&s));
    // 2^16 pointers for each of 2^14 pixels.
    for (int i = 0; i < 2; i++) {
        c.kernel[i] = 256;
        c.in[i] = 383;
        c.out[i] = 128;
    }
    make_pool(&s, WNN_OP_maxPool2d, &c);
    REQUIRE(!accepted(&s));

    c = plain;
    c.group_in = 1 << 20; // a row of sums on the stack of a thread
    make_pool(&s, WNN_OP_averagePool2d, &c);
    REQUIRE(!accepted(&s));
    make_pool(&s, WNN_OP_maxPool2d, &c);
    REQUIRE(accepted(&s));

    // Few outputs in each of many groups are filled up to whole tiles.
    c = plain;
    c.groups = 65536;
    c.group_in = 1;
    c.group_out = 2;
    make_conv2d(&s, &c);
    REQUIRE(!accepted(&s));
    unmap_all();
}

static void test_refused_transposed(void)
{
    struct subject s;
    // 1 element to 2 with a stride of 3: the library's tables would be overrun.
    struct conv_case c = {.n = 1,
                          .in = {1, 4},
                          .out = {2, 4},
                          .group_in = 3,
                          .group_out = 3,
                          .groups = 1,
                          .kernel = {3, 1},
                          .strides = {3, 1},
                          .dilations = {1, 1},
                          .padding = {0, 1},
                          .layout = 1};
    make_transposed(&s, &c);
    REQUIRE(!accepted(&s));
    c.padding[1] = 0;
    c.out[0] = 3;
    make_transposed(&s, &c);
    REQUIRE(accepted(&s));
    // A size that is not to be had with a padding below the stride.
    c.out[0] = 6;
    make_transposed(&s, &c);
    REQUIRE(!accepted(&s));
    unmap_all();
}

static void test_refused_pools(void)
{
    static const enum op ops[] = {WNN_OP_averagePool2d, WNN_OP_maxPool2d};
    struct subject s;
    for (int i = 0; i < 2; i++) {
        struct conv_case c = plain;
        make_pool(&s, ops[i], &c);
        REQUIRE(accepted(&s));
        s.operands[3].type.shape.dim[3] += 1; // channels out of nowhere
        REQUIRE(!accepted(&s));

        // A window of one element.
        c.kernel[0] = c.kernel[1] = 1;
        c.out[0] = c.out[1] = 8;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));

        // Windows that lie in the padding: in front, behind, and behind because of rounding up.
        c = plain;
        c.padding[0] = 3;
        c.out[0] = 9;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));
        c = plain;
        c.padding[3] = 3;
        c.out[1] = 9;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));
        c = plain;
        c.strides[0] = 9;
        c.out[0] = 2;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));

        // Dilation.
        c = plain;
        c.dilations[0] = 2;
        c.out[0] = 4;
        make_pool(&s, ops[i], &c);
        REQUIRE(accepted(&s) == (ops[i] == WNN_OP_maxPool2d));
        c.padding[0] = 1;
        c.out[0] = 5;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));
        c.padding[0] = 0;
        c.padding[2] = 1;
        c.out[0] = 4;
        c.out[1] = 7;
        make_pool(&s, ops[i], &c);
        REQUIRE(!accepted(&s));
    }
    struct conv_case c = plain;
    make_pool(&s, WNN_OP_l2Pool2d, &c);
    REQUIRE(!accepted(&s));
}

static void test_refused_others(void)
{
    struct subject s;
    make_gemm(&s, 2, 16, 4, false);
    REQUIRE(accepted(&s));
    s.operands[1].type.shape.dim[0] = 15; // lengths that do not agree
    REQUIRE(!accepted(&s));
    make_gemm(&s, 2, 16, 4, false);
    s.attrs.gemm.alpha = 2; // could overflow in the weights
    REQUIRE(!accepted(&s));
    s.attrs.gemm.alpha = 0;
    REQUIRE(!accepted(&s));
    make_gemm(&s, 16, 16, 4, false);
    s.attrs.gemm.aTranspose = true;
    REQUIRE(!accepted(&s));
    make_gemm(&s, 2, 16, 4, false);
    add_constant(&s, 1, make_shape(2, 2, 4, 0, 0)); // another bias for every row
    REQUIRE(!accepted(&s));
    make_gemm(&s, 2, 16, 4, false);
    s.operands[1].constant = NULL;
    REQUIRE(!accepted(&s));
    unmap_all();
    begin(&s, WNN_OP_matmul, make_shape(3, 2, 3, 16, 0), make_shape(3, 2, 3, 4, 0));
    add_constant(&s, 0, make_shape(3, 2, 16, 4, 0)); // a batch of weights
    REQUIRE(!accepted(&s));

    make_resample(&s, false, 1, (const uint32_t[2]){4, 4}, (const uint32_t[2]){8, 8}, 3);
    REQUIRE(accepted(&s));
    s.attrs.resample.mode = WNNInterpolationMode_NearestNeighbor;
    REQUIRE(!accepted(&s));
    s.attrs.resample.mode = WNNInterpolationMode_Linear;
    s.axes[1] = 3; // height and channels
    REQUIRE(!accepted(&s));
    make_resample(&s, false, 1, (const uint32_t[2]){4, 4}, (const uint32_t[2]){7, 8}, 3);
    REQUIRE(!accepted(&s)); // coordinates that float32 cannot hold

    // Element-wise operators: NaN would become -infinity, prelu and elu have restrictions, fusing clamps
    // fails.
    static const enum op ops[] = {WNN_OP_add,       WNN_OP_relu,       WNN_OP_clamp,
                                  WNN_OP_prelu,     WNN_OP_elu,        WNN_OP_softmax,
                                  WNN_OP_hardSwish, WNN_OP_reduceMean, WNN_OP_quantizeLinear};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        begin(&s, ops[i], make_shape(4, 1, 8, 8, 4), make_shape(4, 1, 8, 8, 4));
        REQUIRE(!accepted(&s));
    }
    unmap_all();
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
    REQUIRE(wnn_xnnpack_create(&s.node, &allocator, &serial, &step, &error));
    float *input = guarded(16 * sizeof *input), *output = guarded(16 * sizeof *output);
    for (int i = 0; i < 16; i++)
        input[i] = i == 3 ? INFINITY : 1;
    struct tensor in = {input, WNNDataType_Float32, s.in[0]->type.shape, 16};
    struct tensor out = {output, WNNDataType_Float32, s.out[0]->type.shape, 16};
    struct kernel_call call = {&s.node, &in, &out, guarded(wnn_xnnpack_scratch(&s.node)), &serial};
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
        REQUIRE(wnn_xnnpack_create(&subject->node, &allocator, &serial, &step, &error));
        struct tensor in = {input, WNNDataType_Float32, subject->in[0]->type.shape, 256};
        struct tensor out = {outputs[i], WNNDataType_Float32, subject->out[0]->type.shape, 288};
        struct kernel_call call = {&subject->node, &in, &out, guarded(wnn_xnnpack_scratch(&subject->node)),
                                   &serial};
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
    REQUIRE(wnn_xnnpack_create(&s.node, &limited, &serial, &step, &error));
    REQUIRE(atomic_load(&limited.now) > 4 * 9 * 8 * sizeof(float));
    wnn_xnnpack_destroy(step);
    REQUIRE(atomic_load(&limited.now) == 0);

    wnn_allocator_init(&limited, NULL, 4096);
    REQUIRE(!wnn_xnnpack_create(&s.node, &limited, &serial, &step, &error));
    REQUIRE(error.status == WNNStatus_OutOfMemory);
    REQUIRE(step == NULL);
    REQUIRE(atomic_load(&limited.now) == 0);
    wnn_xnnpack_destroy(NULL);
    unmap_all();
}

int main(void)
{
    wnn_allocator_init(&allocator, NULL, 0);
    serial = (struct parallel){run_serially, 1, NULL, NULL};
    pthreadpool_t pool = pthreadpool_create(2);
    pooled = (struct parallel){run_serially, 2, pool, NULL};
    struct error error = {0};
    REQUIRE(wnn_xnnpack_preload(&error));
    REQUIRE(wnn_xnnpack_preload(&error));

    test_refused_conv2d();
    test_refused_sizes();
    test_refused_transposed();
    test_refused_pools();
    test_refused_others();
    test_random_conv2d();
    test_random_transposed();
    test_random_pools();
    test_random_products();
    test_random_resample();
    test_infinity();
    test_lent_bytes();
    test_memory();

    REQUIRE(atomic_load(&allocator.now) == 0);
    pthreadpool_destroy(pool);
    return 0;
}
