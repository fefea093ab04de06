// SPDX-License-Identifier: Apache-2.0
//
// Nodes made by hand for the tests of cpu/xnnpack/xnnpack.c, with memory that lies right in front of a page
// that cannot be touched.

#ifndef CONFORMANCE_UNIT_XNNPACK_SUBJECT_H_
#define CONFORMANCE_UNIT_XNNPACK_SUBJECT_H_

#include "cpu/xnnpack/xnnpack.h"
#include "lib/status.h"

#include "conformance/unit/require.h"

#include <math.h>
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

static inline void *guarded(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (bytes + page - 1) / page * page;
    char *data = mmap(NULL, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(data != MAP_FAILED);
    REQUIRE(mprotect(data + used, page, PROT_NONE) == 0);
    REQUIRE(mapping_count < sizeof mappings / sizeof *mappings);
    mappings[mapping_count++] = (struct mapping){data, used + page};
    return data + used - bytes;
}

static inline void unmap_all(void)
{
    while (mapping_count > 0) {
        mapping_count--;
        munmap(mappings[mapping_count].data, mappings[mapping_count].bytes);
    }
}

static uint64_t state = 88172645463325252u;

static inline uint32_t below(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state * 2685821657736338717u >> 32) % limit;
}

static inline uint32_t between(uint32_t low, uint32_t high)
{
    return low + below(high - low + 1);
}

static inline void fill(float *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (float)((int)below(2001) - 1000) / 512;
}

// ---------------------------------------------------------------------------------------------------------------
// One node
// ---------------------------------------------------------------------------------------------------------------

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
    struct expression fused;
    struct elementwise_step step;
    WNNClampOptions clamp;
    WNNLeakyReluOptions leaky;
    uint32_t padding[4], strides[2], dilations[2], window[2], axes[2], extra[2];
};

static inline struct shape make_shape(unsigned rank, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (struct shape){rank, {a, b, c, d}};
}

static inline struct shape image_shape(bool first, uint32_t n, uint32_t h, uint32_t w, uint32_t c)
{
    return first ? make_shape(4, n, c, h, w) : make_shape(4, n, h, w, c);
}

static inline void begin(struct subject *s, enum op op, struct shape in, struct shape out)
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

// Constant `index` (0: filter, 1: bias), external, at an address that floats may have and nothing more.
static const float *add_constant(struct subject *s, unsigned index, struct shape shape)
{
    size_t count = wnn_shape_elements(&shape);
    float *data = guarded(count * sizeof *data);
    fill(data, count);
    s->constants[index] = (struct constant){.data = data, .bytes = count * sizeof *data, .external = true};
    s->operands[index + 1].type.shape = shape;
    s->operands[index + 1].constant = &s->constants[index];
    s->in[index + 1] = &s->operands[index + 1];
    if (s->node.in_count < index + 2)
        s->node.in_count = index + 2;
    return data;
}

static inline void add_windows(struct subject *s, const uint32_t window[2], const uint32_t strides[2],
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

static inline void add_activation(struct subject *s, unsigned which)
{
    static const enum op ops[] = {
        0, WNN_OP_relu, WNN_OP_clamp, WNN_OP_clamp, WNN_OP_clamp, WNN_OP_leakyRelu, WNN_OP_sigmoid};
    static const double low[] = {0, 0, -0.5, 0.25, 0.125}, high[] = {0, 0, 0.75, 0.25, INFINITY};
    if (which == NO_ACTIVATION)
        return;
    s->step = (struct elementwise_step){
        .op = (uint16_t)ops[which], .in_count = 1, .attrs = &s->attrs.none, .type = s->out[0]->type};
    if (ops[which] == WNN_OP_clamp) {
        s->clamp.minValue = wnnNumberFloat64(low[which]);
        s->clamp.maxValue = wnnNumberFloat64(high[which]);
        s->step.attrs = &s->clamp;
    } else if (which == LEAKY_RELU) {
        s->leaky.alpha = 0.125;
        s->step.attrs = &s->leaky;
    }
    s->fused = (struct expression){.at = WNN_AT_OUTPUT,
                                   .from = s->out[0]->type.type,
                                   .first = s->node.in_count,
                                   .count = 1,
                                   .steps = &s->step};
    s->node.fused = &s->fused;
}

// Ends the program where the library is built without XNNPACK.
static inline void skip_without_xnnpack(void)
{
    struct subject s;
    struct error error = {0};
    struct xnnpack_step *step;
    begin(&s, WNN_OP_relu, make_shape(1, 1, 0, 0, 0), make_shape(1, 1, 0, 0, 0));
    REQUIRE(!wnn_xnnpack_create(&s.node, NULL, NULL, &step, &error));
    if (strstr(error.message, "no XNNPACK")) {
        puts("skipped: this build has no XNNPACK");
        exit(SKIPPED);
    }
}

static inline bool accepted(const struct subject *s)
{
    const char *refusal;
    return wnn_xnnpack_accepts(&s->node, &refusal);
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes
// ---------------------------------------------------------------------------------------------------------------

struct conv_case {
    uint32_t n, in[2], out[2], group_in, group_out, groups, kernel[2], strides[2], dilations[2], padding[4];
    bool first, bias;
    unsigned layout;
};

// By enumerator.
static const char *const conv_layouts[] = {NULL, "OIHW", "HWIO", "OHWI", "IHWO"};
static const char *const transposed_layouts[] = {NULL, "IOHW", "HWOI", "OHWI"};

static inline struct shape filter_shape(const char *layout, uint32_t o, uint32_t i, uint32_t h, uint32_t w)
{
    struct shape shape = {4, {0}};
    for (int k = 0; k < 4; k++)
        shape.dim[k] = layout[k] == 'O' ? o : layout[k] == 'I' ? i : layout[k] == 'H' ? h : w;
    return shape;
}

static inline void make_conv2d(struct subject *s, const struct conv_case *c)
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

static inline void make_transposed(struct subject *s, const struct conv_case *c)
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
static inline void make_pool(struct subject *s, enum op op, const struct conv_case *c)
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

static inline void make_resample(struct subject *s, bool first, uint32_t n, const uint32_t in[2],
                                 const uint32_t out[2], uint32_t channels)
{
    begin(s, WNN_OP_resample2d, image_shape(first, n, in[0], in[1], channels),
          image_shape(first, n, out[0], out[1], channels));
    s->axes[0] = first ? 2 : 1;
    s->axes[1] = first ? 3 : 2;
    s->attrs.resample = (WNNResample2dOptions){.mode = WNNInterpolationMode_Linear, .axes = {s->axes, 2}};
}

static inline void make_gemm(struct subject *s, uint32_t m, uint32_t k, uint32_t n, bool transposed)
{
    begin(s, WNN_OP_gemm, make_shape(2, m, k, 0, 0), make_shape(2, m, n, 0, 0));
    add_constant(s, 0, transposed ? make_shape(2, n, k, 0, 0) : make_shape(2, k, n, 0, 0));
    s->attrs.gemm = (WNNGemmOptions){.alpha = 1, .beta = 1, .bTranspose = transposed};
}

// The output size of a window, rounded up or down; 0: there is none.
static inline uint32_t window_output(const struct conv_case *c, int i, bool up)
{
    uint32_t padded = c->in[i] + c->padding[2 * i] + c->padding[2 * i + 1];
    uint32_t extent = (c->kernel[i] - 1) * c->dilations[i] + 1;
    return padded < extent ? 0 : (padded - extent + (up ? c->strides[i] - 1 : 0)) / c->strides[i] + 1;
}

static inline void random_windows(struct conv_case *c, uint32_t kernel, uint32_t stride, uint32_t dilation,
                                  uint32_t padding)
{
    memset(c, 0, sizeof *c);
    c->n = between(1, 2);
    for (int i = 0; i < 2; i++) {
        c->in[i] = below(4) == 0 ? between(1, 2) : between(1, 12);
        c->kernel[i] = between(1, kernel);
        c->strides[i] = below(2) ? 1 : between(1, stride);
        c->dilations[i] = below(2) ? 1 : between(1, dilation);
    }
    for (int i = 0; below(2) && i < 4; i++)
        c->padding[i] = below(padding + 1);
    c->first = below(2);
    c->bias = below(2);
}

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
    .first = true,
    .layout = 1,
};

#endif
