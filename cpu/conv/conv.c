// SPDX-License-Identifier: Apache-2.0
//
// conv2d and convTranspose2d: products of the filter with patches of the input, which never exist as a whole
// (product.c, product_nchw.c, winograd.c), or loops for small groups. Padding counts as zeros. A
// constant filter is packed once: for the product, or as struct conv wants it for the loops.

#include "cpu/conv/conv.h"
#include "cpu/conv/kernel.h"
#include "ops/geometry.h"

// ---------------------------------------------------------------------------------------------------------------
// All parts of a phase
// ---------------------------------------------------------------------------------------------------------------

static bool is_product(const struct conv *conv)
{
    return conv->method == CONV_PRODUCT || conv->method == CONV_WINOGRAD || conv->method == CONV_PRODUCT_NCHW;
}

// The packed filter of one group.
static size_t packed_floats(const struct conv *conv)
{
    return conv->method == CONV_WINOGRAD  ? wnn_conv_winograd_floats(conv)
           : conv->method == CONV_PRODUCT ? wnn_conv_product_floats(conv)
                                          : wnn_conv_product_nchw_floats(conv);
}

static void run_part(const struct conv *conv, size_t image, size_t group, const struct parallel *parallel,
                     float *scratch)
{
    if (conv->method == CONV_WINOGRAD)
        wnn_conv_winograd(conv, parallel, scratch);
    else if (conv->method == CONV_PRODUCT)
        wnn_conv_product(conv, group, parallel);
    else
        wnn_conv_product_nchw(conv, image, group, parallel, scratch);
}

struct parts {
    const struct conv *conv;
    size_t count, chunks;
    float *scratch;
    size_t scratch_floats; // of one chunk
};

static size_t part_count(const struct conv *conv)
{
    return conv->groups * (conv->channels_last ? 1 : conv->batch);
}

static size_t chunk_count(size_t parts, unsigned threads)
{
    return parts < 4 * (size_t)threads ? parts : 4 * (size_t)threads;
}

static void run_chunks(void *argument, size_t begin, size_t end)
{
    const struct parts *parts = argument;
    const struct conv *conv = parts->conv;
    for (size_t chunk = begin; chunk < end; chunk++) {
        float *scratch =
            parts->scratch_floats > 0 ? parts->scratch + chunk * parts->scratch_floats : parts->scratch;
        const struct parallel alone = wnn_parallel_alone(conv->interrupt);
        for (size_t i = parts->count * chunk / parts->chunks; i < parts->count * (chunk + 1) / parts->chunks;
             i++)
            run_part(conv, i / conv->groups, i % conv->groups, &alone, scratch);
    }
}

// Of all groups; `packed` has packed_floats for each.
static void pack_groups(const struct conv *conv, const struct parallel *parallel, float *packed)
{
    if (conv->method == CONV_WINOGRAD) {
        wnn_conv_winograd_pack(conv, parallel, packed);
    } else if (conv->method == CONV_PRODUCT_NCHW) {
        wnn_conv_product_nchw_pack(conv, parallel, packed);
    } else {
        for (size_t group = 0; group < conv->groups; group++)
            wnn_conv_product_pack(conv, group, parallel, packed + group * packed_floats(conv));
    }
}

static void run_products(struct conv *conv, const struct parallel *parallel, float *scratch)
{
    struct parts parts = {.conv = conv, .count = part_count(conv), .scratch = scratch};
    if (conv->method != CONV_PRODUCT_NCHW && conv->packed == NULL) {
        pack_groups(conv, parallel, scratch);
        conv->packed = scratch;
    }
    if (parts.count >= 2 * (size_t)parallel->threads) {
        parts.chunks = chunk_count(parts.count, parallel->threads);
        if (conv->method == CONV_PRODUCT_NCHW)
            parts.scratch_floats = wnn_conv_product_nchw_scratch(conv) / sizeof(float);
        wnn_parallel_for(parallel, parts.chunks, 1, run_chunks, &parts);
    } else {
        for (size_t i = 0; i < parts.count; i++)
            run_part(conv, i / conv->groups, i % conv->groups, parallel, scratch);
    }
}

static void run_phase(struct conv *conv, const struct parallel *parallel, float *scratch)
{
    if (conv->method == CONV_DEPTHWISE)
        wnn_conv_depthwise(conv, parallel);
    else if (is_product(conv))
        run_products(conv, parallel, scratch);
    else if (wnn_conv_has_quads(conv) || !wnn_conv_planes(conv, parallel, scratch))
        wnn_conv_direct(conv, parallel);
}

// ---------------------------------------------------------------------------------------------------------------
// From nodes
// ---------------------------------------------------------------------------------------------------------------

// Everything but the data and the axes.
static struct conv describe_conv(const struct node *node, const struct convolution *c)
{
    return (struct conv){
        .kernels = wnn_conv_kernels_of(wnn_cpu_target(node)->isa),
        .batch = c->from.batches,
        .groups = c->groups,
        .inputs = c->inputs,
        .outputs = c->outputs,
        .joined = 1,
        .channels_last = c->from.nhwc,
        .in_image = c->from.n,
        .in_y = c->from.y,
        .in_x = c->from.x,
        .in_channel = c->from.c,
        .out_image = c->to.n,
        .out_y = c->to.y,
        .out_x = c->to.x,
        .out_channel = c->to.c,
        .filter_group = c->filter_group,
        .filter_out = c->filter.o,
        .filter_in = c->filter.i,
        .filter_y = c->filter.y,
        .filter_x = c->filter.x,
        .y = {.in = c->from.height, .count = c->to.height},
        .x = {.in = c->from.width, .count = c->to.width},
    };
}

// The direct loops over vectors of channels want output channels side by side.
static bool must_copy_filter(const struct conv *conv)
{
    bool depthwise = conv->inputs == 1 && conv->outputs == 1;
    return conv->channels_last && (depthwise ? conv->filter_group : conv->filter_out) != 1;
}

static size_t copied_channels(const struct conv *conv)
{
    return conv->groups * conv->inputs * conv->outputs;
}

static void copy_filter(const struct conv *conv, size_t height, size_t width, float *to)
{
    for (size_t tap = 0; tap < height * width; tap++) {
        size_t from = tap / width * conv->filter_y + tap % width * conv->filter_x;
        for (size_t group = 0; group < conv->groups; group++) {
            for (size_t i = 0; i < conv->inputs; i++) {
                for (size_t o = 0; o < conv->outputs; o++) {
                    size_t at =
                        from + group * conv->filter_group + i * conv->filter_in + o * conv->filter_out;
                    *to++ = conv->filter_halves != NULL ? wnn_half_to_float(conv->filter_halves[at])
                                                        : conv->filter[at];
                }
            }
        }
    }
}

static void use_copied_filter(struct conv *conv, size_t width, const float *copy)
{
    conv->filter = copy;
    conv->filter_x = copied_channels(conv);
    conv->filter_y = width * conv->filter_x;
    conv->filter_group = conv->inputs * conv->outputs;
    conv->filter_in = conv->outputs;
    conv->filter_out = 1;
}

static struct conv_axis conv_axis(const struct conv_axis *sizes, size_t taps, uint32_t padding,
                                  uint32_t stride, uint32_t dilation)
{
    return (struct conv_axis){
        .taps = taps,
        .tap_step = 1,
        .offset = -(int64_t)padding,
        .offset_step = dilation,
        .step = stride,
        .out_step = 1,
        .count = sizes->count,
        .in = sizes->in,
    };
}

static bool is_pointwise(const struct conv_axis *axis)
{
    return axis->taps == 1 && axis->step == 1 && axis->offset == 0 && axis->in == (int64_t)axis->count;
}

// The number i < modulus for which a * i leaves 1; a and modulus have no common divisor.
static uint64_t inverse(uint64_t a, uint64_t modulus)
{
    int64_t before = 0, now = 1;
    uint64_t high = modulus, low = a % modulus;
    if (modulus == 1)
        return 0;
    while (low > 1) {
        uint64_t quotient = high / low, rest = high % low;
        int64_t next = before - (int64_t)quotient * now;
        before = now;
        now = next;
        high = low;
        low = rest;
    }
    return (uint64_t)(now < 0 ? now + (int64_t)modulus : now);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static struct conv_reach reach_of(size_t taps, uint32_t padding, uint32_t stride, uint32_t dilation)
{
    uint64_t divisor = common_divisor(stride, dilation), period = stride / divisor;
    return (struct conv_reach){divisor, period,  inverse(dilation / divisor, period), taps, padding,
                               stride,  dilation};
}

// The phase of output elements first, first + stride, ... whose first tap is number `tap`, which is less than
// the period. An input element i meets filter element k at output element i * stride + k * dilation -
// padding, so that the others are a period apart. The count is 0 if the phase lies behind the output.
static struct conv_axis transpose_axis(const struct conv_axis *sizes, const struct conv_reach *reach,
                                       uint32_t stride, uint32_t dilation, size_t tap)
{
    uint64_t reached = (uint64_t)tap * dilation;
    uint64_t first = (reached % stride + stride - reach->padding % stride) % stride;
    return (struct conv_axis){
        .tap = tap,
        .tap_step = (size_t)reach->period,
        .taps = (size_t)((reach->taps - 1 - tap) / reach->period + 1),
        .offset = ((int64_t)(first + reach->padding) - (int64_t)reached) / stride,
        .offset_step = -(int64_t)(dilation / reach->divisor),
        .step = 1,
        .out = (size_t)first,
        .out_step = stride,
        .count = first < sizes->count ? (size_t)((sizes->count - first + stride - 1) / stride) : 0,
        .in = sizes->in,
    };
}

// ---------------------------------------------------------------------------------------------------------------
// Both operators: a number of phases, one for conv2d
// ---------------------------------------------------------------------------------------------------------------

struct layer {
    const struct node *node;
    struct conv conv;              // without axes
    size_t height, width;          // of the filter
    size_t rows_of_phases, phases; // phases: in a row of them
    struct conv_reach reach[2];    // of convTranspose2d
    const uint32_t *padding, *strides, *dilations;
    bool transposed, joined; // joined: a row of phases is one
};

#define MANY_PHASES 16
#define PHASE_WORK  128 // multiplications that are worth a phase

// Whether there are many phases with next to nothing to multiply each.
static bool phases_are_tiny(const struct layer *layer)
{
    const struct conv *conv = &layer->conv;
    const struct conv_reach *y = &layer->reach[0], *x = &layer->reach[1];
    const size_t factors[] = {
        conv->batch,
        conv->groups,
        conv->inputs,
        conv->outputs,
        (conv->y.count - 1) / (size_t)y->stride + 1,
        (conv->x.count - 1) / (size_t)x->stride + 1,
        (layer->height - 1) / (size_t)y->period + 1,
        (layer->width - 1) / (size_t)x->period + 1,
    };
    size_t work = 1;
    for (size_t i = 0; i < sizeof factors / sizeof factors[0] && work < PHASE_WORK; i++)
        work = factors[i] < PHASE_WORK ? work * factors[i] : PHASE_WORK;
    return work < PHASE_WORK && layer->rows_of_phases * layer->phases >= MANY_PHASES;
}

// Whether the filter covers the output in rows without gaps and overlaps, as where images are made larger:
// each input pixel makes as many output pixels as the filter is wide, which lie side by side.
static bool can_join(const struct layer *layer)
{
    const struct conv *conv = &layer->conv;
    return layer->transposed && conv->method == CONV_PRODUCT && conv->groups == 1 &&
           layer->phases == layer->width && layer->strides[1] == layer->width && layer->dilations[1] == 1 &&
           layer->padding[2] == 0 && conv->out_x == conv->outputs &&
           conv->x.count == (size_t)conv->x.in * layer->width;
}

// The one place where it is chosen how a node is computed.
static enum conv_method choose_method(const struct layer *layer)
{
    const struct conv *conv = &layer->conv;
    if (layer->transposed && phases_are_tiny(layer))
        return CONV_REACH;
    if (conv->groups == 1 || (conv->outputs >= (conv->channels_last ? 16 : 8) &&
                              conv->inputs * layer->height * layer->width >= 16))
        return layer->node->lowering == LOWER_FAST ? CONV_WINOGRAD
               : conv->channels_last               ? CONV_PRODUCT
                                                   : CONV_PRODUCT_NCHW;
    return conv->channels_last && conv->inputs == 1 && conv->outputs == 1 ? CONV_DEPTHWISE : CONV_DIRECT;
}

static void choose(const struct node *node, void *choice)
{
    const struct convolution c = wnn_node_convolution(node);
    struct layer layer = {.node = node,
                          .conv = describe_conv(node, &c),
                          .height = c.filter.height,
                          .width = c.filter.width,
                          .rows_of_phases = 1,
                          .phases = 1,
                          .padding = c.padding,
                          .strides = c.strides,
                          .dilations = c.dilations,
                          .transposed = c.transposed};
    if (layer.transposed) {
        layer.reach[0] = reach_of(layer.height, layer.padding[0], layer.strides[0], layer.dilations[0]);
        layer.reach[1] = reach_of(layer.width, layer.padding[2], layer.strides[1], layer.dilations[1]);
        layer.rows_of_phases = wnn_min(layer.height, layer.reach[0].period);
        layer.phases = wnn_min(layer.width, layer.reach[1].period);
    }
    layer.conv.method = choose_method(&layer);
    layer.joined = can_join(&layer);
    if (layer.joined)
        layer.phases = 1;
    *(struct layer *)choice = layer;
}

static struct layer layer_of(const struct node *node)
{
    struct layer memory;
    return *(const struct layer *)wnn_choice(node, choose, &memory);
}

// Phase number `index` of all that taps reach, with its axes.
static struct conv phase_of(const struct layer *layer, size_t index)
{
    const uint32_t *padding = layer->padding, *strides = layer->strides, *dilations = layer->dilations;
    struct conv conv = layer->conv;
    if (layer->transposed) {
        conv.y =
            transpose_axis(&layer->conv.y, &layer->reach[0], strides[0], dilations[0], index / layer->phases);
        conv.x =
            transpose_axis(&layer->conv.x, &layer->reach[1], strides[1], dilations[1], index % layer->phases);
        if (layer->joined) {
            conv.joined = layer->width;
            conv.outputs *= conv.joined;
            conv.out_x *= conv.joined;
            conv.x.out_step = 1;
        }
        return conv;
    }
    conv.y = conv_axis(&layer->conv.y, layer->height, padding[0], strides[0], dilations[0]);
    conv.x = conv_axis(&layer->conv.x, layer->width, padding[2], strides[1], dilations[1]);
    if (is_pointwise(&conv.y) && is_pointwise(&conv.x)) {
        // Rows may as well be one long row.
        conv.x.count *= conv.y.count;
        conv.x.in *= conv.y.in;
        conv.y.count = 1;
        conv.y.in = 1;
    }
    return conv;
}

static size_t phase_count(const struct layer *layer)
{
    return layer->rows_of_phases * layer->phases;
}

// Whether all of a phase lies behind the output.
static bool is_empty(const struct conv *phase)
{
    return phase->y.count == 0 || phase->x.count == 0;
}

static size_t copied_floats(const struct layer *layer)
{
    return layer->height * layer->width * copied_channels(&layer->conv);
}

static bool takes_range(const struct layer *layer)
{
    return layer->conv.method != CONV_DIRECT;
}

static size_t packed_filter_floats(const struct layer *layer)
{
    size_t floats = 0;
    for (size_t i = 0; i < phase_count(layer); i++) {
        struct conv phase = phase_of(layer, i);
        if (!is_empty(&phase))
            floats += phase.groups * packed_floats(&phase);
    }
    return floats;
}

// Whether float16 is read and written by the loops themselves, or the former by strips.
static bool takes_halves(const struct layer *layer)
{
    return !layer->transposed && layer->node->in[0]->type.type == WNNDataType_Float16 &&
           ((layer->conv.channels_last && is_product(&layer->conv)) ||
            (layer->conv.method == CONV_DEPTHWISE && layer->height * layer->width <= WNN_CONV_TAPS));
}

struct strip_call {
    const struct layer *layer;
    const struct parallel *parallel;
    float *scratch;
};

static void run_strip(const struct conv *strip, const void *argument)
{
    const struct strip_call *call = argument;
    struct conv conv = *strip;
    run_phase(&conv, call->parallel, call->scratch);
}

// Of float16, with a filter as `conv` wants it.
static void run_halves(const struct layer *layer, const struct kernel_call *call, struct scratch *scratch)
{
    struct conv whole = phase_of(layer, 0);
    whole.input_halves = call->in[0].data;
    whole.output_halves = call->out[0].data;
    unsigned addend = wnn_epilogue(call->node).addend;
    if (addend)
        whole.addend_halves = call->in[addend].data;
    if (whole.method == CONV_DEPTHWISE) {
        wnn_conv_depthwise(&whole, call->parallel);
        return;
    }
    float *strip = wnn_scratch_take(scratch, wnn_conv_strips_scratch(&whole, call->parallel->threads));
    whole.packed = call->packed;
    if (whole.packed == NULL) {
        pack_groups(&whole, call->parallel, (float *)scratch->next);
        whole.packed = (float *)scratch->next;
    }
    struct strip_call run = {layer, call->parallel, (float *)scratch->next};
    wnn_conv_strips(&whole, run_strip, &run, call->parallel, strip);
}

static void run_conv2d(const struct kernel_call *call)
{
    struct scratch scratch = {call->scratch};
    if (call->out[0].count == 0)
        return;

    struct layer layer = layer_of(call->node);
    struct conv *conv = &layer.conv;
    conv->interrupt = call->parallel->interrupt;
    const float *packed = call->packed;
    bool halves = takes_halves(&layer);
    if (!halves)
        conv->input = wnn_floats_in(call, 0, &scratch);
    if (packed == NULL)
        conv->filter = wnn_floats_in(call, 1, &scratch);
    conv->bias = call->node->in_count > 2 ? wnn_floats_in(call, 2, &scratch) : NULL;
    if (!halves)
        conv->output = wnn_floats_out(call, 0, &scratch);
    float range[2];
    conv->range = takes_range(&layer) && wnn_activation_range(call->node, range) ? range : NULL;
    if (conv->method == CONV_REACH) {
        wnn_conv_reach(conv, &layer.reach[0], &layer.reach[1], call->parallel);
        wnn_floats_store(call, 0, conv->output);
        return;
    }
    if (!is_product(&layer.conv) && packed != NULL) {
        use_copied_filter(conv, layer.width, packed);
    } else if (!is_product(&layer.conv) && must_copy_filter(conv)) {
        float *copy = wnn_scratch_take(&scratch, copied_floats(&layer) * sizeof *copy);
        copy_filter(conv, layer.height, layer.width, copy);
        use_copied_filter(conv, layer.width, copy);
    }
    if (halves) {
        run_halves(&layer, call, &scratch);
        return;
    }
    unsigned addend = wnn_epilogue(call->node).addend;
    if (addend)
        conv->addend = call->in[addend].data;
    if (layer.transposed)
        wnn_conv_unreached(conv, &layer.reach[0], &layer.reach[1], call->parallel);
    for (size_t i = 0; i < phase_count(&layer); i++) {
        struct conv phase = phase_of(&layer, i);
        if (wnn_interrupted(call->parallel->interrupt))
            return;
        if (is_empty(&phase))
            continue;
        if (packed != NULL && is_product(&layer.conv)) {
            phase.packed = packed;
            packed += phase.groups * packed_floats(&phase);
        }
        run_phase(&phase, call->parallel, (float *)scratch.next);
    }
    wnn_floats_store(call, 0, conv->output);
}

// Whether the filter serves as it is. Then it stays where it is.
static bool filter_serves(const struct layer *layer)
{
    const struct conv phase = phase_of(layer, 0);
    if (layer->node->in[1]->type.type != WNNDataType_Float32)
        return false;
    if (!is_product(&layer->conv))
        return !must_copy_filter(&layer->conv);
    return phase.method == CONV_PRODUCT_NCHW && phase_count(layer) == 1 &&
           wnn_conv_product_nchw_reads(&phase);
}

static size_t packed_bytes(const struct node *node)
{
    struct layer layer = layer_of(node);
    if (!wnn_has_weights(node) || layer.conv.method == CONV_REACH ||
        wnn_shape_elements(&node->out[0]->type.shape) == 0 || filter_serves(&layer))
        return 0;
    return (is_product(&layer.conv) ? packed_filter_floats(&layer) : copied_floats(&layer)) * sizeof(float);
}

static size_t scratch_bytes(const struct node *node, unsigned threads)
{
    struct layer layer = layer_of(node);
    const struct conv *conv = &layer.conv;
    size_t taps = layer.height * layer.width;
    bool packed = packed_bytes(node) > 0;
    uint32_t without = packed ? 2 : 0; // the inputs of which there is no copy
    size_t bytes = 0;
    if (conv->method == CONV_REACH)
        return wnn_floats_scratch(node);
    if (takes_halves(&layer)) {
        const struct conv phase = phase_of(&layer, 0);
        without |= 1;
        bytes = wnn_floats_scratch_without(node, without) - wnn_floats_copy_bytes(node->out[0]);
        if (is_product(&layer.conv))
            bytes += wnn_conv_strips_scratch(&phase, threads);
    } else {
        bytes = wnn_floats_scratch_without(node, without);
    }
    if (is_product(&layer.conv)) {
        if (conv->method == CONV_PRODUCT_NCHW)
            bytes += chunk_count(part_count(conv), threads) *
                     wnn_gemm_scratch(conv->y.count * conv->x.count, taps * conv->inputs);
        else if (!packed)
            bytes += wnn_aligned(packed_filter_floats(&layer) * sizeof(float));
        const struct conv phase = phase_of(&layer, 0);
        if (phase.method == CONV_WINOGRAD)
            bytes += wnn_conv_winograd_scratch(&phase, threads);
        return bytes;
    }
    if (!packed && must_copy_filter(conv))
        bytes += wnn_aligned(copied_floats(&layer) * sizeof(float));
    size_t most = 0;
    for (size_t i = 0; conv->method == CONV_DIRECT && i < phase_count(&layer); i++) {
        struct conv phase = phase_of(&layer, i);
        size_t planes =
            is_empty(&phase) || wnn_conv_has_quads(&phase) ? 0 : wnn_conv_planes_scratch(&phase, threads);
        most = planes > most ? planes : most;
    }
    return bytes + most;
}

static void pack_filter(const struct kernel_call *call, void *packed)
{
    struct layer layer = layer_of(call->node);
    struct conv *conv = &layer.conv;
    float *to = packed;
    if (call->in[1].type == WNNDataType_Float16)
        conv->filter_halves = call->in[1].data;
    else
        conv->filter = call->in[1].data;
    if (!is_product(&layer.conv)) {
        copy_filter(conv, layer.height, layer.width, to);
        return;
    }
    for (size_t i = 0; i < phase_count(&layer); i++) {
        struct conv phase = phase_of(&layer, i);
        if (is_empty(&phase))
            continue;
        pack_groups(&phase, call->parallel, to);
        to += phase.groups * packed_floats(&phase);
    }
}

// The method, and how many phases there are in each direction: fewer where the result is small.
static uint64_t packed_variant(const struct node *node)
{
    struct layer layer = layer_of(node);
    uint64_t rows = 0, columns = 0;
    for (size_t i = 0; layer.transposed && i < phase_count(&layer); i++) {
        struct conv phase = phase_of(&layer, i);
        rows += i % layer.phases == 0 && phase.y.count > 0;
        columns += i < layer.phases && phase.x.count > 0;
    }
    return (uint64_t)layer.conv.method << 56 ^ (uint64_t)layer.joined << 48 ^ rows << 24 ^ columns;
}

static const char *method(const struct node *node)
{
    static const char *const names[] = {[CONV_DIRECT] = "native direct",
                                        [CONV_DEPTHWISE] = "native depthwise",
                                        [CONV_PRODUCT] = "native product",
                                        [CONV_WINOGRAD] = "Winograd",
                                        [CONV_PRODUCT_NCHW] = "native product of planes",
                                        [CONV_REACH] = "native scatter"};
    return names[layer_of(node).conv.method];
}

static bool activates(const struct node *node)
{
    struct layer layer = layer_of(node);
    float range[2];
    return takes_range(&layer) && wnn_activation_range(node, range);
}

static bool has_fast(const struct node *node)
{
    struct layer layer = layer_of(node);
    const struct conv phase = phase_of(&layer, 0);
    return is_product(&layer.conv) && wnn_has_weights(node) && wnn_conv_winograd_suits(&phase);
}

static bool can_add(const struct node *node)
{
    struct layer layer = layer_of(node);
    return is_product(&layer.conv) && layer.conv.channels_last &&
           (node->out[0]->type.type == WNNDataType_Float32 || takes_halves(&layer));
}

const struct kernel wnn_cpu_conv2d = {.run = run_conv2d,
                                      .choose = choose,
                                      .choice_bytes = sizeof(struct layer),
                                      .scratch = scratch_bytes,
                                      .packed_bytes = packed_bytes,
                                      .pack = pack_filter,
                                      .packed_variant = packed_variant,
                                      .method = method,
                                      .activates = activates,
                                      .can_add_residual = can_add,
                                      .fast = has_fast};
const struct kernel wnn_cpu_convTranspose2d = {.run = run_conv2d,
                                               .choose = choose,
                                               .choice_bytes = sizeof(struct layer),
                                               .scratch = scratch_bytes,
                                               .packed_bytes = packed_bytes,
                                               .pack = pack_filter,
                                               .packed_variant = packed_variant,
                                               .method = method,
                                               .activates = activates};
