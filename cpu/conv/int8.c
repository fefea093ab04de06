// SPDX-License-Identifier: Apache-2.0
//
// conv2d of 8-bit integers: a product of patches of the input, which are read where they are if channels lie
// side by side and in fours, and the packed filter; or, for depthwise convolutions with the channels last,
// loops over vectors of channels. Padding is the zero point of the input, from a line of its own.

#include "cpu/matmul/int8.h"
#include "ops/geometry.h"

#include "cpu/elementwise/elementwise.h"
#include "cpu/matmul/gemm.h"
#include "cpu/simd/isa.h"

#define ALIGNED 64

struct int8_conv {
    const struct node *node;
    const struct int8_kernels *kernels;
    size_t first;                         // output channel of the group
    const uint8_t *input, *filter, *line; // line: `inputs` times the zero point
    uint8_t *output;
    size_t batch, groups, inputs, outputs;   // inputs and outputs: channels of a group
    size_t in_image, in_y, in_x, in_channel; // strides
    size_t out_image, out_x, out_channel;
    size_t filter_group, filter_out, filter_in, filter_y, filter_x;
    int64_t in_size[2], padding[2], stride[2], dilation[2];
    size_t taps[2], out_size[2]; // height, width
    uint8_t zero;
    bool channels_last;
    const uint8_t *input_end;
    struct int8_layer layer;
    struct int8_scales scales; // for packing
};

static struct int8_conv measure(const struct node *node)
{
    const struct convolution c = wnn_node_convolution(node);
    struct int8_conv conv = {
        .node = node,
        .kernels = wnn_int8_kernels(wnn_cpu_target(node)),
        .batch = c.from.batches,
        .groups = c.groups,
        .inputs = c.inputs,
        .outputs = c.outputs,
        .in_image = c.from.n,
        .in_y = c.from.y,
        .in_x = c.from.x,
        .in_channel = c.from.c,
        .out_image = c.to.n,
        .out_x = c.to.x,
        .out_channel = c.to.c,
        .filter_group = c.filter_group,
        .filter_out = c.filter.o,
        .filter_in = c.filter.i,
        .filter_y = c.filter.y,
        .filter_x = c.filter.x,
        .channels_last = c.from.nhwc,
        .in_size = {c.from.height, c.from.width},
        .out_size = {c.to.height, c.to.width},
        .taps = {c.filter.height, c.filter.width},
    };
    for (unsigned i = 0; i < 2; i++) {
        conv.padding[i] = c.padding[2 * i];
        conv.stride[i] = c.strides[i];
        conv.dilation[i] = c.dilations[i];
    }
    return conv;
}

static size_t term_count(const struct int8_conv *conv)
{
    return conv->taps[0] * conv->taps[1] * conv->inputs;
}

static void choose(const struct node *node, void *choice)
{
    struct int8_conv conv = measure(node);
    conv.layer = (struct int8_layer){.columns = conv.groups * conv.outputs,
                                     .column_axis = wnn_filter_axes(WNN_OP_conv2d, node->attrs)[0],
                                     .bias = node->in[2],
                                     .alpha = 1,
                                     .beta = 1,
                                     .terms = term_count(&conv)};
    *(struct int8_conv *)choice = conv;
}

static struct int8_conv conv_of(const struct node *node)
{
    struct int8_conv memory;
    return *(const struct int8_conv *)wnn_choice(node, choose, &memory);
}

static int32_t weight_at(const struct int8_numbers *numbers, const struct int8_conv *conv, size_t offset)
{
    return numbers->b_type == WNNDataType_Int8 ? (int8_t)conv->filter[offset] : conv->filter[offset];
}

// The pixel of the input at the coordinates, or NULL.
WNN_INLINE const uint8_t *pixel(const struct int8_conv *conv, const uint8_t *image, int64_t y, int64_t x)
{
    if (y < 0 || y >= conv->in_size[0] || x < 0 || x >= conv->in_size[1])
        return NULL;
    return image + (size_t)y * conv->in_y + (size_t)x * conv->in_x;
}

// ---------------------------------------------------------------------------------------------------------------
// Products: pixels by output channels of a group; terms are taps, then input channels
// ---------------------------------------------------------------------------------------------------------------

// The first tap of output pixel `row`.
struct patch {
    const uint8_t *image;
    int64_t y, x;
};

static struct patch patch_of(const struct int8_conv *conv, size_t row)
{
    size_t x = row % conv->out_size[1], y = row / conv->out_size[1] % conv->out_size[0];
    size_t image = row / conv->out_size[1] / conv->out_size[0];
    return (struct patch){conv->input + image * conv->in_image,
                          (int64_t)y * conv->stride[0] - conv->padding[0],
                          (int64_t)x * conv->stride[1] - conv->padding[1]};
}

// The taps of `count` output pixels that lie side by side.
static void find_taps(const struct int8_conv *conv, struct patch patch, unsigned count, unsigned mr,
                      const void **pointers)
{
    const uint64_t width = (uint64_t)conv->in_size[1];
    const size_t stride = conv->in_x;
    for (size_t ky = 0; ky < conv->taps[0]; ky++) {
        const int64_t y = patch.y + (int64_t)ky * conv->dilation[0];
        const bool inside = y >= 0 && y < conv->in_size[0];
        const uint8_t *line = inside ? patch.image + (size_t)y * conv->in_y : conv->line;
        for (size_t kx = 0; kx < conv->taps[1]; kx++, pointers += mr) {
            int64_t x = patch.x + (int64_t)kx * conv->dilation[1];
            for (unsigned r = 0; r < count; r++, x += conv->stride[1])
                pointers[r] = inside && (uint64_t)x < width ? line + (size_t)x * stride : conv->line;
        }
    }
}

// Pieces are pixels, of a multiple of four channels.
static void find_pixels_of_patches(const struct int8_gemm *gemm, size_t row, unsigned count,
                                   const void **pointers, uint8_t *room)
{
    const struct int8_conv *conv = gemm->argument;
    size_t x = row % conv->out_size[1];
    (void)room;
    for (unsigned r = 0, some; r < count; r += some, x = 0) {
        some = (unsigned)wnn_min(count - r, conv->out_size[1] - x);
        find_taps(conv, patch_of(conv, row + r), some, gemm->kernels->mr, pointers + r);
    }
}

// The same where output pixels are products of the input pixels at their places.
static void find_pixels_in_order(const struct int8_gemm *gemm, size_t row, unsigned count,
                                 const void **pointers, uint8_t *room)
{
    const struct int8_conv *conv = gemm->argument;
    (void)room;
    for (unsigned r = 0; r < count; r++)
        pointers[r] = conv->input + (row + r) * conv->in_x;
}

// `unit` bytes of a line of the image from column x on, with padding.
static void copy_piece(const struct int8_conv *conv, const uint8_t *image, int64_t y, int64_t x, uint8_t *to)
{
    size_t unit = conv->taps[1] * conv->inputs;
    int64_t begin = x < 0 ? -x : 0, end = conv->in_size[1] - x;
    begin = begin < (int64_t)conv->taps[1] ? begin : (int64_t)conv->taps[1];
    end = end < (int64_t)conv->taps[1] ? end : (int64_t)conv->taps[1];
    memset(to, conv->zero, wnn_round_up(unit, 4));
    if (begin < end)
        memcpy(to + (size_t)begin * conv->inputs, pixel(conv, image, y, x + begin),
               (size_t)(end - begin) * conv->inputs);
}

// Pieces are what a row of the filter covers. Up to three bytes behind it are read, for which weights are 0.
static void find_lines_of_patches(const struct int8_gemm *gemm, size_t row, unsigned count,
                                  const void **pointers, uint8_t *room)
{
    const struct int8_conv *conv = gemm->argument;
    unsigned mr = gemm->kernels->mr;
    size_t x = row % conv->out_size[1], bytes = wnn_round_up(gemm->unit, 4);
    struct patch patch = patch_of(conv, row);
    for (unsigned r = 0; r < count; r++) {
        bool inside = patch.x >= 0 && patch.x + (int64_t)conv->taps[1] <= conv->in_size[1];
        for (size_t ky = 0; ky < conv->taps[0]; ky++, room += bytes) {
            int64_t y = patch.y + (int64_t)ky * conv->dilation[0];
            const uint8_t *from = inside ? pixel(conv, patch.image, y, patch.x) : NULL;
            if (y < 0 || y >= conv->in_size[0]) {
                from = conv->line;
            } else if (!from || (size_t)(conv->input_end - from) < bytes) {
                copy_piece(conv, patch.image, y, patch.x, room);
                from = room;
            }
            pointers[ky * mr + r] = from;
        }
        patch.x += conv->stride[1];
        if (++x == conv->out_size[1]) {
            x = 0;
            if (r + 1 < count)
                patch = patch_of(conv, row + r + 1);
        }
    }
}

static void copy_patch(const struct int8_gemm *gemm, size_t row, uint8_t *to)
{
    const struct int8_conv *conv = gemm->argument;
    struct patch patch = patch_of(conv, row);
    size_t line = conv->taps[1] * conv->inputs;
    bool joined = conv->dilation[1] == 1 && conv->in_channel == 1 && conv->in_x == conv->inputs &&
                  patch.x >= 0 && patch.x + (int64_t)conv->taps[1] <= conv->in_size[1];
    for (size_t ky = 0; ky < conv->taps[0]; ky++) {
        int64_t y = patch.y + (int64_t)ky * conv->dilation[0];
        if (joined || y < 0 || y >= conv->in_size[0]) {
            const uint8_t *from = pixel(conv, patch.image, y, patch.x);
            if (joined && from)
                memcpy(to, from, line);
            else
                memset(to, conv->zero, line);
            to += line;
            continue;
        }
        for (size_t kx = 0; kx < conv->taps[1]; kx++, to += conv->inputs) {
            const uint8_t *from = pixel(conv, patch.image, y, patch.x + (int64_t)kx * conv->dilation[1]);
            if (!from)
                memset(to, conv->zero, conv->inputs);
            else if (conv->in_channel == 1)
                memcpy(to, from, conv->inputs);
            else
                for (size_t i = 0; i < conv->inputs; i++)
                    to[i] = from[i * conv->in_channel];
        }
    }
}

static void read_weights(const struct int8_gemm *gemm, size_t term, size_t count, size_t column, uint8_t *to)
{
    const struct int8_conv *conv = gemm->argument;
    const uint8_t *filter = conv->filter + column * conv->filter_out;
    while (count > 0) {
        size_t tap = term / conv->inputs, channel = term % conv->inputs;
        size_t channels = conv->inputs - channel < count ? conv->inputs - channel : count;
        const uint8_t *from = filter + channel * conv->filter_in + tap / conv->taps[1] * conv->filter_y +
                              tap % conv->taps[1] * conv->filter_x;
        wnn_int8_gather(from, conv->filter_in, channels, to);
        term += channels;
        count -= channels;
        to += channels;
    }
}

static void read_scale(const struct int8_gemm *gemm, size_t column, float *scale, float *offset)
{
    const struct int8_conv *conv = gemm->argument;
    wnn_int8_scale(&conv->scales, conv->first + column, scale, offset);
}

// Where rows go if channels are not last.
static size_t place_row(const struct int8_gemm *gemm, size_t row)
{
    const struct int8_conv *conv = gemm->argument;
    size_t pixels = conv->out_size[0] * conv->out_size[1];
    return row / pixels * conv->out_image + row % pixels * conv->out_x;
}

// How many bytes of a patch are read where they are; 0 if patches must be copied.
static size_t unit_in_place(const struct int8_conv *conv)
{
    if (conv->kernels->size != 1 || conv->in_channel != 1)
        return 0;
    if (conv->inputs % 4 == 0)
        return conv->inputs;
    return conv->dilation[1] == 1 && conv->in_x == conv->inputs ? conv->taps[1] * conv->inputs : 0;
}

static size_t unit_of(const struct int8_conv *conv)
{
    size_t unit = unit_in_place(conv);
    return unit ? unit : term_count(conv);
}

static bool is_in_order(const struct int8_conv *conv)
{
    return term_count(conv) == conv->inputs && conv->stride[0] == 1 && conv->stride[1] == 1 &&
           conv->padding[0] == 0 && conv->padding[1] == 0 && (size_t)conv->in_size[0] == conv->out_size[0] &&
           (size_t)conv->in_size[1] == conv->out_size[1];
}

static struct int8_gemm gemm_of(const struct int8_conv *conv)
{
    return (struct int8_gemm){
        .kernels = conv->kernels,
        .numbers = wnn_int8_read(conv->node),
        .m = conv->batch * conv->out_size[0] * conv->out_size[1],
        .n = conv->outputs,
        .k = term_count(conv),
        .unit = unit_of(conv),
        .in_place = unit_in_place(conv) != 0,
        .copies = unit_in_place(conv) != 0 && conv->inputs % 4 != 0,
        .even = conv->inputs % 4 == 0 && is_in_order(conv),
        .argument = conv,
        .find = conv->inputs % 4 != 0 ? find_lines_of_patches
                : is_in_order(conv)   ? find_pixels_in_order
                                      : find_pixels_of_patches,
        .copy = copy_patch,
        .weights = read_weights,
        .scale = read_scale,
        .row_stride = conv->out_x,
        .column_stride = conv->out_channel,
        .place = conv->channels_last ? NULL : place_row,
    };
}

// ---------------------------------------------------------------------------------------------------------------
// Depthwise with the channels last
// ---------------------------------------------------------------------------------------------------------------

#define MAX_TAPS 256

static bool is_depthwise(const struct int8_conv *conv)
{
    return conv->channels_last && conv->inputs == 1 && conv->outputs == 1 &&
           conv->taps[0] * conv->taps[1] <= MAX_TAPS;
}

// Whether weights are symmetric bytes, so that nothing of the input needs to be summed up on its own.
static bool has_vectors(const struct int8_conv *conv, const struct int8_numbers *numbers)
{
    return conv->kernels->depthwise && numbers->finish.bytes &&
           numbers->b_zero == (numbers->b_type == WNNDataType_Int8 ? 0 : 128);
}

// Numbers for each channel and the weights: as struct int8_depthwise has them, or [tap][channel] of 16 bits.
struct depthwise {
    const struct int8_conv *conv;
    struct int8_numbers numbers;
    bool vectors;
    int32_t *start;
    float *scale, *offset;
    void *weights;
    const uint8_t *line;
    size_t groups; // of four rows of the kernel
    // Columns of pixels of one result, and between the first ones of two.
    size_t step;
};

#define BLOCK 64

static size_t depthwise_bytes(const struct int8_conv *conv)
{
    size_t channels = wnn_round_up(conv->groups, BLOCK),
           taps = conv->taps[1] * wnn_round_up(conv->taps[0], 4);
    return channels * 3 * sizeof(float) + channels * taps * sizeof(int16_t) +
           wnn_round_up(conv->groups, ALIGNED);
}

static struct depthwise depthwise_of(const struct int8_conv *conv, char *packed)
{
    size_t channels = wnn_round_up(conv->groups, BLOCK),
           taps = conv->taps[1] * wnn_round_up(conv->taps[0], 4);
    struct depthwise depthwise = {
        .conv = conv, .numbers = wnn_int8_read(conv->node), .groups = (conv->taps[0] + 3) / 4};
    bool overlap = conv->dilation[1] == 1 && conv->stride[1] < (int64_t)conv->taps[1];
    depthwise.vectors = has_vectors(conv, &depthwise.numbers);
    depthwise.start = (int32_t *)(void *)packed;
    depthwise.scale = (float *)(depthwise.start + channels);
    depthwise.offset = depthwise.scale + channels;
    depthwise.weights = depthwise.offset + channels;
    depthwise.line = (uint8_t *)depthwise.weights + channels * taps * sizeof(int16_t);
    depthwise.step = overlap ? (size_t)conv->stride[1] : conv->taps[1];
    return depthwise;
}

static void pack_channel(const struct depthwise *depthwise, int32_t a_zero, size_t channel)
{
    const struct int8_conv *conv = depthwise->conv;
    size_t channels = wnn_round_up(conv->groups, BLOCK), first = channel / BLOCK * BLOCK;
    size_t width = wnn_int8_depthwise_width(conv->groups - first);
    while (channel - first >= width) { // the last blocks may be of several widths
        first += width;
        width = wnn_int8_depthwise_width(conv->groups - first);
    }
    size_t order = wnn_int8_depthwise_order(channel - first, width);
    int8_t *bytes = (int8_t *)depthwise->weights + first * conv->taps[1] * depthwise->groups * 4;
    int16_t *wide = depthwise->weights;
    int32_t sum = 0;
    for (size_t ky = 0; ky < conv->taps[0]; ky++)
        for (size_t kx = 0; kx < conv->taps[1]; kx++) {
            size_t offset = channel * conv->filter_group + ky * conv->filter_y + kx * conv->filter_x;
            int32_t value = weight_at(&depthwise->numbers, conv, offset) - depthwise->numbers.b_zero;
            sum += value;
            if (depthwise->vectors)
                bytes[((kx * depthwise->groups + ky / 4) * width + order) * 4 + ky % 4] = (int8_t)value;
            else
                wide[(ky * conv->taps[1] + kx) * channels + channel] = (int16_t)value;
        }
    size_t at = depthwise->vectors ? first + order : channel;
    depthwise->start[at] = -a_zero * sum;
    wnn_int8_scale(&conv->scales, channel, &depthwise->scale[at], &depthwise->offset[at]);
}

static void pack_depthwise(const struct int8_conv *conv, char *packed)
{
    struct depthwise depthwise = depthwise_of(conv, packed);
    const struct int8_numbers *numbers = &depthwise.numbers;
    bool flip = depthwise.vectors && numbers->a_type == WNNDataType_Int8;
    memset(packed, 0, depthwise_bytes(conv));
    memset((uint8_t *)(uintptr_t)depthwise.line, numbers->a_zero, conv->groups);
    for (size_t channel = 0; channel < conv->groups; channel++)
        pack_channel(&depthwise, numbers->a_zero + (flip ? 128 : 0), channel);
}

// One block of channels of one pixel, without vectors for it. What is no tap of the image is the line of zero
// points.
WNN_INLINE void sum_block(const struct depthwise *depthwise, const uint8_t *const *taps, size_t first,
                          size_t count, bool is_signed, int32_t sums[BLOCK])
{
    const struct int8_conv *conv = depthwise->conv;
    size_t channels = wnn_round_up(conv->groups, BLOCK);
    for (size_t i = 0; i < BLOCK; i++)
        sums[i] = depthwise->start[first + i];
    for (size_t tap = 0; tap < conv->taps[0] * conv->taps[1]; tap++) {
        const int16_t *weights = (const int16_t *)depthwise->weights + tap * channels + first;
        const uint8_t *from = taps[tap] + first;
        if (is_signed) {
            for (size_t i = 0; i < count; i++)
                sums[i] += (int8_t)from[i] * weights[i];
        } else {
            for (size_t i = 0; i < count; i++)
                sums[i] += from[i] * weights[i];
        }
    }
}

static void finish_block(const struct depthwise *depthwise, const int32_t sums[BLOCK], size_t first,
                         size_t count, void *out)
{
    const struct int8_finish *finish = &depthwise->numbers.finish;
    for (size_t i = 0; i < count; i++) {
        float value = (float)sums[i] * depthwise->scale[first + i] + depthwise->offset[first + i];
        value = value < finish->low ? finish->low : value;
        value = value > finish->high ? finish->high : value;
        if (finish->bytes)
            ((uint8_t *)out)[i] = (uint8_t)((int32_t)wnn_cpu_round_even(value) + finish->zero);
        else
            ((float *)out)[i] = value;
    }
}

static void run_pixel(const struct depthwise *depthwise, const uint8_t *const *taps, size_t pixel_index)
{
    const struct int8_conv *conv = depthwise->conv;
    const struct int8_numbers *numbers = &depthwise->numbers;
    size_t place = pixel_index * conv->groups * (numbers->finish.bytes ? 1 : sizeof(float));
    int32_t sums[BLOCK];
    for (size_t first = 0; first < conv->groups; first += BLOCK) {
        size_t count = conv->groups - first < BLOCK ? conv->groups - first : BLOCK;
        sum_block(depthwise, taps, first, count, numbers->a_type == WNNDataType_Int8, sums);
        finish_block(depthwise, sums, first, count,
                     conv->output + place + first * (numbers->finish.bytes ? 1 : sizeof(float)));
    }
}

// Items are rows of the output.
static void run_depthwise_rows(void *argument, size_t begin, size_t end)
{
    const struct depthwise *depthwise = argument;
    const struct int8_conv *conv = depthwise->conv;
    const uint8_t *taps[MAX_TAPS];
    for (size_t row = begin; row < end; row++) {
        struct patch patch = patch_of(conv, row * conv->out_size[1]);
        for (size_t x = 0; x < conv->out_size[1]; x++, patch.x += conv->stride[1]) {
            const uint8_t **at = taps;
            for (size_t ky = 0; ky < conv->taps[0]; ky++)
                for (size_t kx = 0; kx < conv->taps[1]; kx++, at++) {
                    const uint8_t *from = pixel(conv, patch.image, patch.y + (int64_t)ky * conv->dilation[0],
                                                patch.x + (int64_t)kx * conv->dilation[1]);
                    *at = from ? from : depthwise->line;
                }
            run_pixel(depthwise, taps, row * conv->out_size[1] + x);
        }
    }
}
WNN_VARIANTS_256(run_depthwise_rows)

#define MAX_PIXELS 1024 // of at least one result: the kernel has MAX_TAPS of them, in columns of fours

// Points at the pixels of `count` results from column x of the output on.
static void find_pixels(const struct depthwise *depthwise, const uint8_t *const *lines, size_t x,
                        size_t count, const uint8_t **pixels)
{
    const struct int8_conv *conv = depthwise->conv;
    size_t rows = 4 * depthwise->groups, fresh = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t first = (int64_t)(x + i) * conv->stride[1] - conv->padding[1];
        for (size_t kx = fresh; kx < conv->taps[1]; kx++, pixels += rows) {
            int64_t at = first + (int64_t)kx * conv->dilation[1];
            bool inside = at >= 0 && at < conv->in_size[1];
            size_t offset = inside ? (size_t)at * conv->in_x : 0;
            for (size_t r = 0; r < rows; r++)
                pixels[r] = inside && lines[r] ? lines[r] + offset : depthwise->line;
        }
        fresh = conv->taps[1] - depthwise->step;
    }
}

// Items are rows of the output.
static void run_depthwise_vectors(void *argument, size_t begin, size_t end)
{
    const struct depthwise *depthwise = argument;
    const struct int8_conv *conv = depthwise->conv;
    struct int8_depthwise work = {.channels = conv->groups,
                                  .columns = conv->taps[1],
                                  .groups = depthwise->groups,
                                  .step = depthwise->step,
                                  .flip = depthwise->numbers.a_type == WNNDataType_Int8,
                                  .weights = depthwise->weights,
                                  .finish = depthwise->numbers.finish};
    size_t rows = 4 * depthwise->groups;
    size_t strip = (MAX_PIXELS / rows - conv->taps[1]) / depthwise->step + 1;
    const uint8_t *pixels[MAX_PIXELS], *lines[MAX_TAPS + 4] = {NULL};
    work.finish.start = depthwise->start;
    work.finish.scale = depthwise->scale;
    work.finish.offset = depthwise->offset;
    for (size_t row = begin; row < end; row++) {
        struct patch patch = patch_of(conv, row * conv->out_size[1]);
        for (size_t ky = 0; ky < conv->taps[0]; ky++)
            lines[ky] = pixel(conv, patch.image, patch.y + (int64_t)ky * conv->dilation[0], 0);
        for (size_t x = 0, count; x < conv->out_size[1]; x += count) {
            count = conv->out_size[1] - x < strip ? conv->out_size[1] - x : strip;
            find_pixels(depthwise, lines, x, count, pixels);
            conv->kernels->depthwise(&work, pixels, count,
                                     conv->output + (row * conv->out_size[1] + x) * conv->groups);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// From nodes
// ---------------------------------------------------------------------------------------------------------------

// Depthwise convolutions are packed for one zero point.
static bool accepts(const struct node *node)
{
    struct int8_conv conv = conv_of(node);
    return wnn_int8_accepts(node, &conv.layer) && !(is_depthwise(&conv) && wnn_int8_read(node).computes_zero);
}

// The line of zero points, then the groups.
static size_t line_bytes(const struct int8_conv *conv)
{
    size_t unit = unit_in_place(conv);
    return wnn_round_up(unit > conv->inputs ? unit : conv->inputs, ALIGNED);
}

// The same in scratch memory, if the zero point is computed.
static size_t own_line_bytes(const struct int8_conv *conv, const struct int8_gemm *gemm)
{
    return gemm->numbers.computes_zero ? line_bytes(conv) : 0;
}

static size_t group_bytes(const struct int8_conv *conv)
{
    return wnn_int8_gemm_packed_bytes(conv->kernels, conv->outputs, term_count(conv), unit_of(conv));
}

static size_t packed_bytes(const struct node *node)
{
    struct int8_conv conv = conv_of(node);
    return is_depthwise(&conv) ? depthwise_bytes(&conv)
                               : line_bytes(&conv) + conv.groups * group_bytes(&conv);
}

static void pack_filter(const struct kernel_call *call, void *packed)
{
    struct int8_conv conv = conv_of(call->node);
    const uint8_t *filter = call->in[1].data;
    conv.filter = filter;
    conv.scales = wnn_int8_scales(call->node, &conv.layer);
    if (is_depthwise(&conv)) {
        pack_depthwise(&conv, packed);
        return;
    }
    struct int8_gemm gemm = gemm_of(&conv);
    memset(packed, gemm.numbers.a_zero, line_bytes(&conv));
    char *to = (char *)packed + line_bytes(&conv);
    for (size_t group = 0; group < conv.groups; group++, to += group_bytes(&conv)) {
        conv.filter = filter + group * conv.filter_group;
        conv.first = group * conv.outputs;
        wnn_int8_gemm_pack(&gemm, call->parallel, to);
    }
}

static size_t scratch_bytes(const struct node *node, unsigned threads)
{
    struct int8_conv conv = conv_of(node);
    if (is_depthwise(&conv))
        return 0;
    struct int8_gemm gemm = gemm_of(&conv);
    return own_line_bytes(&conv, &gemm) + wnn_int8_gemm_scratch(&gemm, threads);
}

static void run_conv2d(const struct kernel_call *call)
{
    struct int8_conv conv = conv_of(call->node);
    conv.input = call->in[0].data;
    conv.output = call->out[0].data;
    if (is_depthwise(&conv)) {
        struct depthwise depthwise = depthwise_of(&conv, (char *)(uintptr_t)call->packed);
        size_t work = conv.out_size[1] * conv.groups * conv.taps[0] * conv.taps[1];
        wnn_parallel_for(call->parallel, conv.batch * conv.out_size[0], 1 + 65536 / work,
                         depthwise.vectors ? run_depthwise_vectors : WNN_BEST_ISA_256(run_depthwise_rows),
                         &depthwise);
        return;
    }
    struct int8_gemm gemm = gemm_of(&conv);
    gemm.numbers = wnn_int8_read_run(call);
    const uint8_t *input = conv.input;
    char *scratch = call->scratch;
    size_t size = gemm.numbers.finish.bytes ? 1 : sizeof(float);
    conv.input_end = conv.input + call->in[0].count;
    conv.line = call->packed;
    conv.zero = (uint8_t)gemm.numbers.a_zero;
    if (gemm.numbers.computes_zero)
        conv.line = memset(scratch, conv.zero, line_bytes(&conv));
    scratch += own_line_bytes(&conv, &gemm);
    gemm.packed = (const char *)call->packed + line_bytes(&conv);
    for (size_t group = 0; group < conv.groups; group++, gemm.packed += group_bytes(&conv)) {
        conv.input = input + group * conv.inputs * conv.in_channel;
        gemm.c = (char *)conv.output + group * conv.outputs * conv.out_channel * size;
        wnn_int8_gemm_run(&gemm, call->parallel, scratch);
    }
}

static const char *method(const struct node *node)
{
    const struct int8_conv conv = conv_of(node);
    return is_depthwise(&conv) ? "quantized depthwise" : "quantized product";
}

const struct kernel wnn_cpu_conv2d_int8 = {.run = run_conv2d,
                                           .choose = choose,
                                           .choice_bytes = sizeof(struct int8_conv),
                                           .scratch = scratch_bytes,
                                           .packed_bytes = packed_bytes,
                                           .pack = pack_filter,
                                           .method = method,
                                           .activates = wnn_int8_activates,
                                           .accepts = accepts};
