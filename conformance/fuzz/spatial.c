// SPDX-License-Identifier: Apache-2.0
//
// Operators on images.
#include "conformance/fuzz/operands.h"

struct image {
    uint32_t batch, channels, size[2];
};

static struct image image_of(const struct shape *shape, WNNInputOperandLayout layout)
{
    const uint32_t *d = shape->dim;
    if (layout == WNNInputOperandLayout_NHWC)
        return (struct image){d[0], d[3], {d[1], d[2]}};
    return (struct image){d[0], d[1], {d[2], d[3]}};
}

static struct shape image_shape(const struct image *image, WNNInputOperandLayout layout)
{
    if (layout == WNNInputOperandLayout_NHWC)
        return (struct shape){4, {image->batch, image->size[0], image->size[1], image->channels}};
    return (struct shape){4, {image->batch, image->channels, image->size[0], image->size[1]}};
}

// An image that there is, if it is large enough for the window, or a new one.
static WNNOperand pick_image(struct recorder *r, uint32_t types, WNNInputOperandLayout layout,
                             struct window *window, bool fits, struct image *image, WNNDataType *type)
{
    struct descriptor found;
    if (r->next || CHANCE(r, 140)) {
        WNNOperand operand = fuzz_pick(r, types, 4, 4, &found);
        *image = image_of(&found.shape, layout);
        *type = found.type;
        for (unsigned i = 0; i < 2 && fits; i++)
            if (fuzz_reach(window, i) > image->size[i]) {
                window->size[i] = window->dilations[i] = 1;
                window->padding[2 * i] = window->padding[2 * i + 1] = 0;
            }
        return operand;
    }
    size_t room = CHANNELS;
    image->channels = fuzz_limit(fuzz_take_channels(r), &room);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t least = fits ? fuzz_reach(window, i) : 1;
        uint32_t more = BELOW(r, 3) * window->strides[i];
        image->size[i] = fuzz_limit(least + more + fuzz_take_size(r) / 4, &room);
        if (fits && image->size[i] < least)
            window->size[i] = window->dilations[i] = 1;
    }
    image->batch = fuzz_is_empty(r) ? 0 : fuzz_limit(1 + BELOW(r, 3), &room);
    *type = fuzz_take_type(r, types);
    found = (struct descriptor){*type, image_shape(image, layout)};
    return fuzz_new_source(r, &found);
}

static struct shape filter_shape(bool transposed, unsigned layout, uint32_t in, uint32_t out,
                                 const uint32_t *size)
{
    uint32_t h = size[0], w = size[1];
    if (transposed)
        return layout == WNNConvTranspose2dFilterOperandLayout_HWOI   ? (struct shape){4, {h, w, out, in}}
               : layout == WNNConvTranspose2dFilterOperandLayout_OHWI ? (struct shape){4, {out, h, w, in}}
                                                                      : (struct shape){4, {in, out, h, w}};
    return layout == WNNConv2dFilterOperandLayout_HWIO   ? (struct shape){4, {h, w, in, out}}
           : layout == WNNConv2dFilterOperandLayout_OHWI ? (struct shape){4, {out, h, w, in}}
           : layout == WNNConv2dFilterOperandLayout_IHWO ? (struct shape){4, {in, h, w, out}}
                                                         : (struct shape){4, {out, in, h, w}};
}

static uint32_t take_groups(struct recorder *r, uint32_t channels)
{
    switch (channels ? take(r->bytes) % 8 : 0) {
    case 5:
        return channels;
    case 6:
        return channels % 2 == 0 ? 2 : 1;
    case 7:
        return channels % 4 == 0 ? channels / 4 : channels % 3 == 0 ? 3 : 1;
    default:
        return 1;
    }
}

void fuzz_prepare_convolution(struct recorder *r, struct call *call)
{
    bool transposed = call->op == WNN_OP_convTranspose2d;
    WNNConv2dOptions *plain = (void *)call->attrs;
    WNNConvTranspose2dOptions *options = (void *)call->attrs;
    WNNInputOperandLayout layout = (WNNInputOperandLayout)(1 + BELOW(r, 2));
    unsigned filter_layout = 1 + BELOW(r, transposed ? 3 : 4);
    struct window window = fuzz_take_window(r);
    struct image image;
    WNNDataType type;
    put(call, pick_image(r, FLOATS, layout, &window, !transposed, &image, &type));
    uint32_t groups = take_groups(r, image.channels);
    uint32_t in = transposed ? image.channels : image.channels / groups;
    uint32_t out = take(r->bytes) % 4 == 3 ? fuzz_take_channels(r) : fuzz_take_size(r);
    size_t room = FILTER / ((size_t)in * window.size[0] * window.size[1] + 1);
    out = fuzz_limit(out, &room);
    if (!transposed)
        out = (out + groups - 1) / groups * groups;
    uint32_t channels = transposed ? out * groups : out;
    put(call, fuzz_like(r, type, filter_shape(transposed, filter_layout, in, out, window.size)));
    WNNOperand bias = fuzz_maybe_like(r, 100, type, vector(channels));
    WNNActivation activation = CHANCE(r, 70) ? fuzz_take_activation(r) : NULL;
    if (!transposed) {
        fuzz_set_window(r, &window, &plain->padding, &plain->strides, &plain->dilations);
        plain->groups = groups;
        plain->inputLayout = layout;
        plain->filterLayout = (WNNConv2dFilterOperandLayout)filter_layout;
        plain->bias = bias;
        plain->activation = activation;
        return;
    }
    fuzz_set_window(r, &window, &options->padding, &options->strides, &options->dilations);
    options->groups = groups;
    options->inputLayout = layout;
    options->filterLayout = (WNNConvTranspose2dFilterOperandLayout)filter_layout;
    options->bias = bias;
    options->activation = activation;
    uint8_t sized = take(r->bytes);
    if (sized < 160)
        return;
    uint32_t *sizes = fuzz_new_list(r, 2, sized < 210 ? &options->outputSizes : &options->outputPadding);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t computed = (image.size[i] - 1) * window.strides[i] +
                            (window.size[i] - 1) * window.dilations[i] + 1 - window.padding[2 * i] -
                            window.padding[2 * i + 1];
        uint32_t extra = sized & 1 ? window.strides[i] - 1 : BELOW(r, window.strides[i]);
        sizes[i] = sized < 210 ? computed + extra : extra;
    }
}

void fuzz_prepare_pool(struct recorder *r, struct call *call)
{
    WNNPool2dOptions *options = (void *)call->attrs;
    struct window window = fuzz_take_window(r);
    struct image image;
    WNNDataType type;
    options->layout = (WNNInputOperandLayout)(1 + BELOW(r, 2));
    put(call, pick_image(r, call->op == WNN_OP_maxPool2d ? ALL : FLOATS, options->layout, &window, true,
                         &image, &type));
    if (!CHANCE(r, 40)) {
        memcpy(fuzz_new_list(r, 2, &options->windowDimensions), window.size, sizeof window.size);
        fuzz_set_window(r, &window, &options->padding, &options->strides, &options->dilations);
    }
    options->roundingType = (WNNRoundingType)(1 + BELOW(r, 2));
}

void fuzz_prepare_resample(struct recorder *r, struct call *call)
{
    WNNResample2dOptions *options = (void *)call->attrs;
    static const float scales[] = {1, 2, 0.5f, 3, 1.5f, 0.3f, 4, 7.7f, 0.01f, 1e-3f, 33, 1.0000001f};
    static const uint8_t axes[][2] = {{2, 3}, {1, 2}, {3, 2}, {0, 1}, {0, 3}, {3, 1}};
    struct descriptor type;
    put(call, fuzz_pick(r, FLOATS | U8 | I8, 4, 4, &type));
    options->mode = (WNNInterpolationMode)(1 + BELOW(r, 2));
    uint8_t byte = take(r->bytes), how = byte % 3;
    if (byte >= 100) {
        uint32_t *chosen = fuzz_new_list(r, 2, &options->axes);
        chosen[0] = axes[byte % COUNT(axes)][0];
        chosen[1] = axes[byte % COUNT(axes)][1];
    }
    if (how < 2 && r->list_count < MAX_LISTS) {
        float *items = r->lists[r->list_count++].floats;
        items[0] = CHOOSE(r, scales);
        items[1] = CHOOSE(r, scales);
        options->scales = (WNNFloat32List){items, 2};
    }
    if (how > 0) {
        uint32_t *sizes = fuzz_new_list(r, 2, &options->sizes);
        sizes[0] = fuzz_take_size(r);
        sizes[1] = fuzz_take_size(r);
    }
}
