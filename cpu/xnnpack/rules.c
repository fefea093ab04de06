// SPDX-License-Identifier: Apache-2.0
#include "cpu/xnnpack/rules.h"

#include "cpu/target.h"

#include <math.h>

// Bounds that keep every 32-bit product inside of XNNPACK from overflowing.
#define MAX_ELEMENTS       (((size_t)1 << 29) - 1) // of a tensor: 2^31 bytes
#define MAX_DIMENSION      ((1u << 24) - 1)
#define MAX_PARAMETER      (1u << 20) // strides, dilations, padding
#define MAX_WINDOW         1024u      // one side
#define MAX_TAPS           65536u
#define MAX_TABLE          ((uint64_t)256 << 20) // bytes of pointers to pixels
#define MAX_PACKED         ((uint64_t)1 << 31)   // bytes of weights
#define MAX_FILLING        ((uint64_t)4 << 20)   // zeros among them, where there are few outputs a group
#define MAX_STACK_CHANNELS 16384u                // average pooling keeps a row of sums on the stack

// The largest tiles of rows and columns that XNNPACK's matrix kernels round up to.
#define TILE_ROWS    8
#define TILE_COLUMNS 16

// What else a runtime costs.
#define RUNTIME_BYTES 4096

// Refusals, for developers.
static const char beyond[] = "its sizes or options are not among those that XNNPACK is trusted with",
                  variable[] = "XNNPACK packs weights when it is made; these are no float32 constants",
                  slower[] = "the library's own kernel is the faster one",
                  no_kernel[] = "XNNPACK has no fast kernel for this window";

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static size_t pixels(const struct xnnpack_image *image)
{
    return image->height * image->width;
}

static void image_of(const struct shape *shape, bool channels_first, struct xnnpack_image *image)
{
    struct image from =
        wnn_image_of(shape, channels_first ? WNNInputOperandLayout_NCHW : WNNInputOperandLayout_NHWC);
    *image = (struct xnnpack_image){from.height, from.width, from.channels};
}

static bool images_of(const struct node *node, bool channels_first, struct xnnpack_op *op)
{
    const struct shape *in = &node->in[0]->type.shape, *out = &node->out[0]->type.shape;
    if (in->rank != 4 || out->rank != 4 || in->dim[0] != out->dim[0])
        return false;
    op->channels_first = channels_first;
    op->batch = in->dim[0];
    image_of(in, channels_first, &op->in);
    image_of(out, channels_first, &op->out);
    return true;
}

static bool image_fits(const struct xnnpack_op *op, const struct xnnpack_image *image)
{
    return image->height <= MAX_DIMENSION && image->width <= MAX_DIMENSION &&
           image->channels <= MAX_DIMENSION && wnn_image_elements(image, op->batch) <= MAX_ELEMENTS;
}

static bool sizes_fit(const struct xnnpack_op *op)
{
    return op->batch > 0 && op->batch <= MAX_DIMENSION && wnn_image_elements(&op->in, op->batch) > 0 &&
           wnn_image_elements(&op->out, op->batch) > 0 && image_fits(op, &op->in) && image_fits(op, &op->out);
}

static bool windows_fit(const struct xnnpack_op *op)
{
    for (int i = 0; i < 2; i++) {
        if (op->kernel[i] == 0 || op->kernel[i] > MAX_WINDOW || op->stride[i] == 0 ||
            op->stride[i] > MAX_PARAMETER || op->dilation[i] == 0 || op->dilation[i] > MAX_PARAMETER ||
            op->before[i] > MAX_PARAMETER || op->after[i] > MAX_PARAMETER)
            return false;
    }
    return op->kernel[0] * op->kernel[1] <= MAX_TAPS;
}

// Sets the windows from lists of [height, width] and, for the padding, [top, bottom, left, right].
static bool windows_of(const uint32_t kernel[2], WNNUint32List strides, WNNUint32List dilations,
                       WNNUint32List padding, struct xnnpack_op *op)
{
    if (strides.count != 2 || dilations.count != 2 || padding.count != 4)
        return false;
    for (int i = 0; i < 2; i++) {
        op->kernel[i] = kernel[i];
        op->stride[i] = strides.data[i];
        op->dilation[i] = kernel[i] == 1 ? 1 : dilations.data[i];
        op->before[i] = padding.data[2 * i];
        op->after[i] = padding.data[2 * i + 1];
    }
    return windows_fit(op);
}

static int64_t extent(const struct xnnpack_op *op, int i)
{
    return (int64_t)(op->kernel[i] - 1) * op->dilation[i] + 1;
}

static int64_t length(const struct xnnpack_image *image, int i)
{
    return (int64_t)(i == 0 ? image->height : image->width);
}

// XNNPACK computes output sizes by itself, rounding down, and writes that much whatever it was told.
static bool windows_give_output(const struct xnnpack_op *op)
{
    for (int i = 0; i < 2; i++) {
        int64_t padded = length(&op->in, i) + op->before[i] + op->after[i];
        if (padded < extent(op, i) || (padded - extent(op, i)) / op->stride[i] + 1 != length(&op->out, i))
            return false;
    }
    return true;
}

static bool is_float(const struct operand *operand)
{
    return operand && operand->type.type == WNNDataType_Float32;
}

// Weights are packed when the runtime is made.
static bool is_weight(const struct operand *operand)
{
    return is_float(operand) && operand->constant;
}

static bool bound_of(WNNNumber number, float absent, float *bound)
{
    if (number.type == WNNNumberType_Undefined) {
        *bound = absent;
        return true;
    }
    double value = number.type == WNNNumberType_Int64    ? (double)number.value.i64
                   : number.type == WNNNumberType_Uint64 ? (double)number.value.u64
                                                         : number.value.f64;
    // Beyond float32's range is as good as no bound only where it is one: leave it to the activation.
    if (isnan(value) || (isfinite(value) && fabs(value) > 3.4e38))
        return false;
    *bound = (float)value;
    return true;
}

// Relu and clamp are ranges of the output. XNNPACK refuses a range that is empty, or a single number, or has
// a NaN.
static void range_of(const struct node *node, bool has_range, struct xnnpack_op *op)
{
    const struct activation activation = wnn_epilogue(node).activation;
    op->min = -INFINITY;
    op->max = INFINITY;
    op->activate = false;
    if (!activation.attrs)
        return;
    if (has_range && activation.op == WNN_OP_relu) {
        op->min = 0;
        return;
    }
    if (has_range && activation.op == WNN_OP_clamp) {
        const WNNClampOptions *clamp = activation.attrs;
        float min, max;
        if (bound_of(clamp->minValue, -INFINITY, &min) && bound_of(clamp->maxValue, INFINITY, &max) &&
            min < max) {
            op->min = min;
            op->max = max;
            return;
        }
    }
    op->activate = true;
}

// ---------------------------------------------------------------------------------------------------------------
// Speed
// ---------------------------------------------------------------------------------------------------------------

// XNNPACK of 2022, which Debian has, or a newer one.
#ifdef HAVE_XNN_DEFINE_UNARY
#define IS_NEWER true
#else
#define IS_NEWER false
#endif

// The packaged library's matrix kernels for processors with FMA but without AVX-512 keep a sum in memory,
// which makes them almost three times slower than the processor allows.
static bool matrices_are_slow(const struct cpu_target *target)
{
    return !IS_NEWER && target->isa == WNN_ISA_AVX2;
}

// Whether the backend's own kernels are the faster ones. Measured on a Xeon with AVX-512, batch 1, with
// layers of MobileNet, MobileNetV2, and ResNet-50; XNNPACK's time by ours, on 1 thread and on 2:
//
//                                                      Debian's, 2022          of August 2026
//     channels last, 1x1, 7x7x160x960 to 56x56x64x256    1.1-1.3, 1.3-2.0        1.0-1.2, 1.0-1.5
//     channels last, 3x3, 56x56x64x64 to 7x7x512x512     1.8-2.7, 2.0-3.3        1.3-1.9, 1.4-1.9
//     channels last, 3x3, groups of 4, 8 (EPYC)          3.4, 3                  not measured
//     channels last, depthwise                           0.8-1.5, 1.4-2.1        0.8-1.4, 1.3-2.3
//     channels last, transposed, 4x4, stride 2           1.0-1.1, 1.3-1.6        2.9-3.4, 2.9-3.3
//     channels last, transposed, 2x2, stride 2 (EPYC)    1.4-4.2, 2.3-10          not measured
//     channels first, 1x1                                0.7-1.2, 0.7-1.3        0.6-1.1, 0.9-1.2
//     channels first, 3x3, 56x56x64x64                   0.9, 0.9                0.7, 0.7
//     channels first, 3x3, 14x14x256x256, 7x7x512x512    1.2-1.5, 1.0-1.2        0.8-0.9, 0.6-0.7
//     channels first, 3x3, depthwise, 112x112 to 28x28   1.3-2.2, 2.0-3.1        1.3-1.7, 2.0-2.4
//     channels first, 3x3, depthwise, 14x14, 7x7         0.3-0.5, 0.7-1.2        0.4-0.7, 0.7-1.3
//     channels first, 3x3, groups of 2, 4, 7 channels    5, 2.5, 1.1             not measured
//     channels first, 3x3, groups of 16 channels         0.5, 0.6                0.3, 0.8
//     channels first, transposed                         0.6-0.7, 0.7            1.4-2.0, 1.2-1.4
//
// XNNPACK goes through all weights for every few rows, and has to transpose what has its channels first.
static bool own_product_is_faster(const struct xnnpack_op *op)
{
    uint64_t taps = (uint64_t)op->kernel[0] * op->kernel[1], terms = taps * op->group_in;
    uint64_t weights = op->groups * op->group_out * terms;
    bool many = op->group_out >= TILE_COLUMNS && terms >= (taps == 1 ? 24 : 64);
    if (op->kind == XNNPACK_CONVOLUTION && !op->channels_first && op->groups == 1)
        return true;
    if (op->kind == XNNPACK_CONVOLUTION && !op->channels_first && op->group_out % 4 == 0 &&
        op->group_out < TILE_COLUMNS)
        return true;
    if (op->channels_first && op->kind == XNNPACK_CONVOLUTION && !op->slow_matrices)
        return (op->groups > 1 && op->group_out < 8) ||
               (many && !IS_NEWER && (taps == 1 || weights >= 1u << 19));
    return many && (!op->channels_first || IS_NEWER || op->slow_matrices);
}

// Whether a transposed convolution makes rows without gaps and overlaps, which the backend's kernel computes
// at once (cpu/conv/conv.c).
static bool covers_rows(const struct xnnpack_op *op)
{
    return !op->channels_first && op->groups == 1 && op->kernel[1] == op->stride[1] && op->before[1] == 0 &&
           op->out.width == op->in.width * op->stride[1];
}

static bool own_depthwise_is_faster(const struct xnnpack_op *op)
{
    return !op->channels_first || pixels(&op->out) >= 28 * 28;
}

// ---------------------------------------------------------------------------------------------------------------
// Convolution
// ---------------------------------------------------------------------------------------------------------------

// The memory of packed weights; false if it is out of proportion: few outputs a group are filled up to a
// whole tile.
static bool weights_fit(struct xnnpack_op *op, uint64_t biases)
{
    uint64_t terms = (uint64_t)op->kernel[0] * op->kernel[1] * op->group_in;
    uint64_t plain = op->groups * op->group_out * terms * sizeof(float);
    uint64_t columns = op->groups * round_up(op->group_out, TILE_COLUMNS);
    uint64_t packed = columns * (round_up(terms, 4) + biases) * sizeof(float);
    if (op->group_in > MAX_DIMENSION || op->group_out > MAX_DIMENSION || terms > MAX_ELEMENTS ||
        plain > MAX_PACKED || packed > MAX_PACKED)
        return false;
    op->memory += packed + RUNTIME_BYTES;
    return packed <= 4 * plain + MAX_FILLING;
}

static bool table_fits(struct xnnpack_op *op, uint64_t entries, uint64_t bytes)
{
    if (entries > MAX_TABLE / bytes)
        return false;
    op->memory += entries * bytes;
    return true;
}

// One channel a group has kernels of its own for some numbers of taps; all others would be computed as one
// column of a matrix tile each.
static bool is_depthwise(const struct xnnpack_op *op)
{
    return op->group_in == 1 && op->group_out == 1;
}

static bool depthwise_is_fast(const struct xnnpack_op *op)
{
    uint32_t taps = op->kernel[0] * op->kernel[1];
    if (taps == 1)
        return op->stride[0] == 1 && op->stride[1] == 1 &&
               (op->before[0] | op->before[1] | op->after[0] | op->after[1]) == 0;
    return taps == 3 || taps == 4 || taps == 9 || taps == 25;
}

static bool channels_fit(const struct node *node, const struct xnnpack_op *op)
{
    if (op->in.channels != op->group_in * op->groups || op->out.channels != op->group_out * op->groups)
        return false;
    if (node->in_count < 3 || !node->in[2])
        return true;
    const struct shape *bias = &node->in[2]->type.shape;
    return is_weight(node->in[2]) && bias->rank == 1 && bias->dim[0] == op->out.channels;
}

// What a convolution has of its filter.
static bool filter_of(const struct node *node, struct xnnpack_op *op, struct convolution *c)
{
    op->refusal = variable;
    if (!is_weight(node->in[1]) || node->in[1]->type.shape.rank != 4 ||
        !wnn_filter_axes((enum op)node->op, node->attrs))
        return false;
    op->refusal = beyond;
    *c = wnn_node_convolution(node);
    op->groups = c->groups;
    op->group_in = c->transposed && c->groups > 0 ? c->filter.inputs / c->groups : c->filter.inputs;
    op->group_out = c->outputs;
    op->group_step = c->transposed ? op->group_in * c->filter.i : c->filter_group;
    op->out_step = c->filter.o;
    op->in_step = c->filter.i;
    op->step[0] = c->filter.y;
    op->step[1] = c->filter.x;
    range_of(node, true, op);
    return c->groups > 0;
}

static bool describe_conv2d(const struct node *node, struct xnnpack_op *op)
{
    const WNNConv2dOptions *options = node->attrs;
    struct convolution c;
    if (!filter_of(node, op, &c))
        return false;
    op->kind = XNNPACK_CONVOLUTION;
    const uint32_t window[2] = {c.filter.height, c.filter.width};
    if (!images_of(node, options->inputLayout == WNNInputOperandLayout_NCHW, op) || !sizes_fit(op) ||
        !windows_of(window, options->strides, options->dilations, options->padding, op) ||
        !windows_give_output(op) || !channels_fit(node, op))
        return false;
    if (is_depthwise(op)) {
        op->refusal = depthwise_is_fast(op) ? slower : no_kernel;
        if (!depthwise_is_fast(op) || own_depthwise_is_faster(op))
            return false;
        op->memory +=
            op->groups * ((uint64_t)op->kernel[0] * op->kernel[1] + 1) * sizeof(float) + RUNTIME_BYTES;
    } else {
        op->refusal = own_product_is_faster(op) ? slower : beyond;
        if (own_product_is_faster(op) || !weights_fit(op, 1))
            return false;
    }
    op->refusal = beyond;
    return table_fits(op, round_up(pixels(&op->out), TILE_ROWS) * op->kernel[0] * op->kernel[1],
                      sizeof(void *));
}

static bool describe_conv_transpose2d(const struct node *node, struct xnnpack_op *op)
{
    const WNNConvTranspose2dOptions *options = node->attrs;
    struct convolution c;
    if (!filter_of(node, op, &c))
        return false;
    op->kind = XNNPACK_DECONVOLUTION;
    const uint32_t window[2] = {c.filter.height, c.filter.width};
    if (!images_of(node, options->inputLayout == WNNInputOperandLayout_NCHW, op) || !sizes_fit(op) ||
        !windows_of(window, options->strides, options->dilations, options->padding, op) ||
        !channels_fit(node, op))
        return false;
    for (int i = 0; i < 2; i++) {
        int64_t size = length(&op->out, i), least = (length(&op->in, i) - 1) * op->stride[i] + extent(op, i) -
                                                    op->before[i] - op->after[i];
        // An output smaller than the stride makes XNNPACK write outside of its tables.
        if (size < least || size - least >= op->stride[i] || size < op->stride[i])
            return false;
        op->adjustment[i] = (uint32_t)(size - least);
    }
    // With a stride, the filter is cut up into one for every remainder, each with biases of its own.
    uint64_t taps = (uint64_t)op->kernel[0] * op->kernel[1], parts = (uint64_t)op->stride[0] * op->stride[1];
    uint64_t tiled = op->out.height * op->stride[1] *
                     round_up((op->out.width + op->stride[1] - 1) / op->stride[1], TILE_ROWS);
    uint64_t flat = round_up(pixels(&op->out), TILE_ROWS);
    op->memory += parts <= taps ? parts * 64 : 0;
    bool slow = own_product_is_faster(op) || covers_rows(op);
    op->refusal = slow ? slower : beyond;
    return !slow && weights_fit(op, parts <= taps ? parts : 1) &&
           table_fits(op, taps * (tiled > flat ? tiled : flat), sizeof(void *));
}

// ---------------------------------------------------------------------------------------------------------------
// Matrix products
// ---------------------------------------------------------------------------------------------------------------

// The addend of gemm: the same for all rows.
static bool addend_fits(const struct node *node, const struct matrix_product *p)
{
    const struct operand *c = node->op == WNN_OP_gemm && node->in_count > 2 ? node->in[2] : NULL;
    return !c || (is_weight(c) && p->c_row == 0);
}

// With constant weights, all rows by one matrix.
static bool describe_product(const struct node *node, struct xnnpack_op *op)
{
    const struct matrix_product p = wnn_node_matrix_product(node);
    op->refusal = is_weight(node->in[1]) ? beyond : variable;
    if (!is_weight(node->in[1]) || p.b_count != 1 || p.a_term != 1 || p.k == 0)
        return false;
    // A factor goes into the weights, which must neither overflow nor vanish by it.
    double alpha = fabs(p.alpha);
    if (!(alpha >= 1.0 / (1 << 20) && alpha <= 1) || !isfinite(p.beta) || fabs(p.beta) > 3.4e38)
        return false;
    range_of(node, true, op);
    // As a convolution of one tap: where threads share the outputs of a fully connected layer, the packaged
    // library steps wrongly over weights that its kernels take in groups, unless the inputs come in whole
    // groups.
    op->kind = XNNPACK_CONVOLUTION;
    op->channels_first = false;
    op->batch = 1;
    op->in = (struct xnnpack_image){p.m, 1, p.k};
    op->out = (struct xnnpack_image){p.m, 1, p.n};
    op->groups = 1;
    op->group_in = p.k;
    op->group_out = p.n;
    op->out_step = p.b_column;
    op->in_step = p.b_term;
    op->step[0] = op->step[1] = op->group_step = p.k * p.n;
    for (int i = 0; i < 2; i++)
        op->kernel[i] = op->stride[i] = op->dilation[i] = 1;
    // The backend's own product needs no second copy of the weights and is as fast or faster, but for a few
    // rows of which it makes no tile (4x256x256: 1.4 times XNNPACK's time).
    bool small = p.m < 8 && p.k * p.n <= 1u << 17 && !(op->slow_matrices && p.k >= 64);
    op->refusal = small ? beyond : slower;
    return sizes_fit(op) && small && weights_fit(op, 1) && addend_fits(node, &p);
}

// ---------------------------------------------------------------------------------------------------------------
// Pooling and resampling
// ---------------------------------------------------------------------------------------------------------------

static bool describe_pool2d(const struct node *node, struct xnnpack_op *op)
{
    const WNNPool2dOptions *options = node->attrs;
    op->kind = node->op == WNN_OP_averagePool2d ? XNNPACK_AVERAGE_POOL : XNNPACK_MAX_POOL;
    range_of(node, true, op);
    if (options->windowDimensions.count != 2 ||
        !images_of(node, options->layout == WNNInputOperandLayout_NCHW, op) || !sizes_fit(op) ||
        op->in.channels != op->out.channels ||
        !windows_of(options->windowDimensions.data, options->strides, options->dilations, options->padding,
                    op) ||
        op->kernel[0] * op->kernel[1] == 1)
        return false;
    for (int i = 0; i < 2; i++) {
        // Rounding up is rounding down with more padding. The first and the last window must hold something,
        // in its first tap for those behind the front padding; those between do then.
        int64_t last = (length(&op->out, i) - 1) * op->stride[i] - op->before[i];
        int64_t after = last + extent(op, i) - length(&op->in, i);
        if (after > MAX_PARAMETER || last >= length(&op->in, i) || op->before[i] >= extent(op, i))
            return false;
        if (after > op->after[i])
            op->after[i] = (uint32_t)after;
    }
    // Its maxima of channels that lie side by side are no faster than the backend's own, and on threads of
    // theirs. Whole images with channels second are sums of rows, for which it would transpose them.
    bool own = op->kind == XNNPACK_MAX_POOL ? !op->channels_first
                                            : op->channels_first && wnn_node_pooling(node).global;
    op->refusal = own ? slower : beyond;
    if (!windows_give_output(op) || own)
        return false;
    bool dilated = op->dilation[0] > 1 || op->dilation[1] > 1;
    if (op->kind == XNNPACK_AVERAGE_POOL && (dilated || op->in.channels > MAX_STACK_CHANNELS))
        return false;
    // With dilation and padding in front, max pooling reads the wrong elements and others that are outside.
    if (dilated && (op->before[0] | op->before[1]) != 0)
        return false;
    uint64_t taps = (uint64_t)op->kernel[0] * op->kernel[1];
    op->memory = op->in.channels * sizeof(float) + RUNTIME_BYTES;
    return table_fits(op, (pixels(&op->out) + TILE_COLUMNS) * taps + pixels(&op->out), sizeof(void *));
}

// XNNPACK computes coordinates in float32: exact where the ratio of the sizes has a power of two as its
// denominator, and else off by more than the tolerance of the operator.
static bool ratio_is_exact(size_t in, size_t out)
{
    size_t a = in, b = out;
    while (b != 0) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    size_t numerator = in / a, denominator = out / a;
    return (denominator & (denominator - 1)) == 0 && (uint64_t)numerator * out < 1u << 22;
}

static bool describe_resample2d(const struct node *node, struct xnnpack_op *op)
{
    const struct resampling r = wnn_node_resampling(node);
    op->kind = XNNPACK_RESIZE;
    range_of(node, false, op);
    op->refusal = "XNNPACK resamples linearly only";
    if (!r.linear)
        return false;
    op->refusal = beyond;
    if (r.first == 0 || r.second != r.first + 1 || !images_of(node, r.first == 2, op) || !sizes_fit(op) ||
        op->in.channels != op->out.channels || !ratio_is_exact(op->in.height, op->out.height) ||
        !ratio_is_exact(op->in.width, op->out.width))
        return false;
    op->memory = RUNTIME_BYTES;
    return table_fits(op, pixels(&op->out), 4 * sizeof(void *) + 2 * sizeof(float));
}

bool wnn_xnnpack_describe(const struct node *node, struct xnnpack_op *op)
{
#define F(id, rule) [WNN_OP_##id] = rule,
    static bool (*const rules[WNN_OP_END])(const struct node *node,
                                           struct xnnpack_op *op) = {XNNPACK_OPERATORS(F)};
#undef F
    *op = (struct xnnpack_op){.groups = 1, .slow_matrices = matrices_are_slow(wnn_cpu_target(node))};
    if (!rules[node->op])
        return false;
    bool quantized = wnn_is_quantized(node), adds = wnn_epilogue(node).addend > 0;
    op->refusal = quantized ? "XNNPACK is not used for quantized operands"
                  : adds    ? "XNNPACK adds no residual on the way"
                            : "XNNPACK is used for float32 only";
    if (quantized || adds || !is_float(node->in[0]) || !is_float(node->out[0]))
        return false;
    op->refusal = beyond;
    return rules[node->op](node, op);
}
