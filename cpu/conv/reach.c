// SPDX-License-Identifier: Apache-2.0
//
// Transposed convolutions by the taps of the filter that reach an output element. Those that none reaches,
// whatever the input, as where a stride is larger than the filter, are the bias: however many phases they
// belong to, all are written in one pass. Where phases are many and have next to nothing to multiply, all
// elements are computed in such a pass.

#include "cpu/conv/conv.h"

#define ITEM_FLOATS ((size_t)1 << 15) // that are worth a thread's attention

struct output {
    const struct conv *conv; // the axes are the whole output's
    const struct conv_reach *y, *x;
};

// A coordinate: `rest` of the common divisor and `tap`, the first one that would reach it if `rest` were 0.
struct place {
    uint64_t rest, tap;
};

static struct place place_at(const struct conv_reach *reach, size_t coordinate)
{
    uint64_t target = (uint64_t)coordinate + reach->padding;
    return (struct place){target % reach->divisor,
                          target / reach->divisor % reach->period * reach->inverse % reach->period};
}

static void next(const struct conv_reach *reach, struct place *place)
{
    if (++place->rest < reach->divisor)
        return;
    place->rest = 0;
    place->tap += reach->inverse;
    if (place->tap >= reach->period)
        place->tap -= reach->period;
}

static bool is_reached(const struct conv_reach *reach, const struct place *place)
{
    return place->rest == 0 && place->tap < reach->taps;
}

static float within_range(const struct conv *conv, float value)
{
    if (conv->range != NULL) {
        value = value < conv->range[0] ? conv->range[0] : value;
        value = value > conv->range[1] ? conv->range[1] : value;
    }
    return value;
}

static float bias_of(const struct conv *conv, size_t channel)
{
    return within_range(conv, conv->bias == NULL ? 0 : conv->bias[channel]);
}

// Elements [begin, end) of a row: of one channel, or of all with channels_last.
static void fill(const struct conv *conv, float *row, size_t begin, size_t end, size_t channel)
{
    if (conv->channels_last) {
        size_t channels = conv->groups * conv->outputs;
        for (size_t x = begin; x < end; x++)
            for (size_t c = 0; c < channels; c++)
                row[x * conv->out_x + c] = bias_of(conv, c);
    } else {
        float value = bias_of(conv, channel);
        for (size_t x = begin; x < end; x++)
            row[x * conv->out_x] = value;
    }
}

static void fill_between(const struct output *output, float *row, size_t channel)
{
    const struct conv *conv = output->conv;
    struct place place = place_at(output->x, 0);
    size_t begin = 0;
    for (size_t x = 0; x < conv->x.count; x++, next(output->x, &place)) {
        if (!is_reached(output->x, &place))
            continue;
        fill(conv, row, begin, x, channel);
        begin = x + 1;
    }
    fill(conv, row, begin, conv->x.count, channel);
}

// Items are rows of the output: of an image, or with the channels first, of a plane.
static void fill_rows(void *argument, size_t first, size_t end)
{
    const struct output *output = argument;
    const struct conv *conv = output->conv;
    size_t planes = conv->channels_last ? 1 : conv->groups * conv->outputs;
    for (size_t item = first; item < end; item++) {
        size_t y = item % conv->y.count, channel = item / conv->y.count % planes;
        size_t image = item / conv->y.count / planes;
        float *row = conv->output + image * conv->out_image + channel * conv->out_channel + y * conv->out_y;
        struct place place = place_at(output->y, y);
        if (is_reached(output->y, &place))
            fill_between(output, row, channel);
        else
            fill(conv, row, 0, conv->x.count, channel);
    }
}

static bool reaches_all(const struct conv_reach *reach)
{
    return reach->divisor == 1 && reach->taps >= reach->period;
}

void wnn_conv_unreached(const struct conv *conv, const struct conv_reach *y, const struct conv_reach *x,
                        const struct parallel *parallel)
{
    struct output output = {conv, y, x};
    if (reaches_all(y) && reaches_all(x))
        return;
    size_t planes = conv->channels_last ? 1 : conv->groups * conv->outputs;
    size_t row = conv->x.count * (conv->channels_last ? conv->groups * conv->outputs : 1);
    wnn_parallel_for(parallel, conv->batch * planes * conv->y.count, 1 + ITEM_FLOATS / row, fill_rows,
                     &output);
}

// ---------------------------------------------------------------------------------------------------------------
// All elements
// ---------------------------------------------------------------------------------------------------------------

// The input coordinate below a tap of an output coordinate that it reaches; false if it is outside.
static bool find_input(const struct conv_reach *reach, size_t coordinate, uint64_t tap, int64_t size,
                       size_t *at)
{
    int64_t target = (int64_t)((uint64_t)coordinate + reach->padding) - (int64_t)(tap * reach->dilation);
    *at = (size_t)(target / (int64_t)reach->stride);
    return target >= 0 && *at < (size_t)size;
}

static float sum_of(const struct output *output, size_t image, size_t y, uint64_t first_y, size_t x,
                    uint64_t first_x, size_t channel)
{
    const struct conv *conv = output->conv;
    size_t group = channel / conv->outputs, in_y, in_x;
    const float *input = conv->input + image * conv->in_image + group * conv->inputs * conv->in_channel;
    const float *filter =
        conv->filter + group * conv->filter_group + channel % conv->outputs * conv->filter_out;
    float sum = conv->bias == NULL ? 0 : conv->bias[channel];
    for (uint64_t ky = first_y; ky < output->y->taps; ky += output->y->period) {
        if (!find_input(output->y, y, ky, conv->y.in, &in_y))
            continue;
        for (uint64_t kx = first_x; kx < output->x->taps; kx += output->x->period) {
            if (!find_input(output->x, x, kx, conv->x.in, &in_x))
                continue;
            const float *from = input + in_y * conv->in_y + in_x * conv->in_x;
            const float *weights = filter + ky * conv->filter_y + kx * conv->filter_x;
            for (size_t i = 0; i < conv->inputs; i++)
                sum += from[i * conv->in_channel] * weights[i * conv->filter_in];
        }
    }
    return within_range(conv, sum);
}

// Items are rows of images.
static void sum_rows(void *argument, size_t begin, size_t end)
{
    const struct output *output = argument;
    const struct conv *conv = output->conv;
    for (size_t item = begin; item < end; item++) {
        size_t image = item / conv->y.count, y = item % conv->y.count;
        float *row = conv->output + image * conv->out_image + y * conv->out_y;
        struct place down = place_at(output->y, y), across = place_at(output->x, 0);
        bool reached = is_reached(output->y, &down);
        for (size_t x = 0; x < conv->x.count; x++, next(output->x, &across))
            for (size_t c = 0; c < conv->groups * conv->outputs; c++)
                row[x * conv->out_x + c * conv->out_channel] =
                    reached && is_reached(output->x, &across)
                        ? sum_of(output, image, y, down.tap, x, across.tap, c)
                        : bias_of(conv, c);
    }
}

void wnn_conv_reach(const struct conv *conv, const struct conv_reach *y, const struct conv_reach *x,
                    const struct parallel *parallel)
{
    struct output output = {conv, y, x};
    size_t row = conv->x.count * conv->groups * conv->outputs;
    wnn_parallel_for(parallel, conv->batch * conv->y.count, 1 + ITEM_FLOATS / 16 / row, sum_rows, &output);
}
