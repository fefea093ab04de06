// SPDX-License-Identifier: Apache-2.0
//
// Output elements of transposed convolutions that no tap of the filter reaches, whatever the input, as where
// a stride is larger than the filter: they are the bias. However many phases they belong to, all are written
// in one pass over the output.

#include "cpu/conv.h"

#define ITEM_FLOATS ((size_t)1 << 15) // that are worth a thread's attention

struct unreached {
    const struct conv *conv;
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

static float bias_of(const struct conv *conv, size_t channel)
{
    float value = conv->bias == NULL ? 0 : conv->bias[channel];
    if (conv->range != NULL) {
        value = value < conv->range[0] ? conv->range[0] : value;
        value = value > conv->range[1] ? conv->range[1] : value;
    }
    return value;
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

static void fill_between(const struct unreached *unreached, float *row, size_t channel)
{
    const struct conv *conv = unreached->conv;
    struct place place = place_at(unreached->x, 0);
    size_t begin = 0;
    for (size_t x = 0; x < conv->x.count; x++, next(unreached->x, &place)) {
        if (!is_reached(unreached->x, &place))
            continue;
        fill(conv, row, begin, x, channel);
        begin = x + 1;
    }
    fill(conv, row, begin, conv->x.count, channel);
}

// Items are rows of the output: of an image, or with the channels first, of a plane.
static void fill_rows(void *argument, size_t first, size_t end)
{
    const struct unreached *unreached = argument;
    const struct conv *conv = unreached->conv;
    size_t planes = conv->channels_last ? 1 : conv->groups * conv->outputs;
    for (size_t item = first; item < end; item++) {
        size_t y = item % conv->y.count, channel = item / conv->y.count % planes;
        size_t image = item / conv->y.count / planes;
        float *row = conv->output + image * conv->out_image + channel * conv->out_channel + y * conv->out_y;
        struct place place = place_at(unreached->y, y);
        if (is_reached(unreached->y, &place))
            fill_between(unreached, row, channel);
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
    struct unreached unreached = {conv, y, x};
    if (reaches_all(y) && reaches_all(x))
        return;
    size_t planes = conv->channels_last ? 1 : conv->groups * conv->outputs;
    size_t row = conv->x.count * (conv->channels_last ? conv->groups * conv->outputs : 1);
    wnn_parallel_for(parallel, conv->batch * planes * conv->y.count, 1 + ITEM_FLOATS / row, fill_rows,
                     &unreached);
}
