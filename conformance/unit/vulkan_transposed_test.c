// SPDX-License-Identifier: Apache-2.0
//
// Transposed convolutions, with strides that leave the phases of a result taps of their own: what the device
// computes is what the CPU does, whatever the padding, the layouts and what follows; and those that can be
// are conv2d.

#include "conformance/unit/differential_fixture.h"

struct deconvolution {
    uint32_t batches, inputs, outputs;
    uint32_t size[2], taps[2], strides[2], padding[4], more[2];
    bool nhwc, bias;
    WNNConvTranspose2dFilterOperandLayout layout;
    unsigned after; // what is done with the result
    uint32_t seed;
};

static void make(struct subject *s)
{
    const struct deconvolution *d = s->argument;
    const uint32_t x[2][4] = {{d->batches, d->inputs, d->size[0], d->size[1]},
                              {d->batches, d->size[0], d->size[1], d->inputs}};
    const uint32_t w[3][4] = {{d->inputs, d->outputs, d->taps[0], d->taps[1]},
                              {d->taps[0], d->taps[1], d->outputs, d->inputs},
                              {d->outputs, d->taps[0], d->taps[1], d->inputs}};
    WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    options.padding = (WNNUint32List){d->padding, 4};
    options.strides = (WNNUint32List){d->strides, 2};
    options.outputPadding = (WNNUint32List){d->more, 2};
    options.inputLayout = d->nhwc ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
    options.filterLayout = d->layout;
    if (d->bias)
        options.bias = constant_any(s, 1, &d->outputs, d->seed + 1);
    unsigned layout = d->layout == WNNConvTranspose2dFilterOperandLayout_IOHW   ? 0
                      : d->layout == WNNConvTranspose2dFilterOperandLayout_HWOI ? 1
                                                                                : 2;
    WNNOperand y = wnnGraphBuilderConvTranspose2d(s->builder, input(s, 4, x[d->nhwc]),
                                                  constant_any(s, 4, w[layout], d->seed), &options);
    if (d->after == 1 || d->after == 2)
        output(s, wnnGraphBuilderRelu(s->builder, y, NULL));
    if (d->after == 2) // the result is used twice
        output(s, wnnGraphBuilderNeg(s->builder, y, NULL));
    if (d->after == 3)
        output(s, wnnGraphBuilderMul(s->builder, y, y, NULL));
    if (d->after == 4)
        output(s, wnnGraphBuilderTanh(s->builder, wnnGraphBuilderAbs(s->builder, y, NULL), NULL));
    if (d->after == 0 || d->after == 5)
        output(s, y);
    if (d->after == 5) // an output is not what is computed of it
        output(s, wnnGraphBuilderSigmoid(s->builder, y, NULL));
    if (d->after == 6) { // numbers of channels, also in another type
        const uint32_t channels[] = {1, d->outputs, 1, 1};
        WNNOperand row = constant_any(s, d->nhwc ? 1 : 4, d->nhwc ? &channels[1] : channels, d->seed + 2);
        y = wnnGraphBuilderSub(s->builder, row, y, NULL);
        WNNBatchNormalizationOptions how = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
        how.axis = d->nhwc ? 3 : 1;
        how.scale = constant_any(s, 1, &d->outputs, d->seed + 3);
        WNNOperand mean = constant_any(s, 1, &d->outputs, d->seed + 4),
                   one = constant_any(s, 1, &d->outputs, 5);
        y = wnnGraphBuilderBatchNormalization(s->builder, y, mean, wnnGraphBuilderExp(s->builder, one, NULL),
                                              &how);
        output(s, wnnGraphBuilderRelu(s->builder, y, NULL));
    }
}

static unsigned transposed; // of the last plan

static void look(const struct graph *graph)
{
    transposed = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        transposed += graph->nodes[i]->op == WNN_OP_convTranspose2d;
}

static uint32_t between(uint32_t *seed, uint32_t least, uint32_t most)
{
    return least + next(seed) % (most - least + 1);
}

static struct deconvolution random_one(uint32_t *seed)
{
    static const WNNConvTranspose2dFilterOperandLayout layouts[] = {
        WNNConvTranspose2dFilterOperandLayout_IOHW, WNNConvTranspose2dFilterOperandLayout_HWOI,
        WNNConvTranspose2dFilterOperandLayout_OHWI};
    struct deconvolution d = {.seed = next(seed), .nhwc = next(seed) % 2, .bias = next(seed) % 2};
    bool square = next(seed) % 2, even = next(seed) % 2;
    d.layout = layouts[next(seed) % 3];
    d.after = next(seed) % 7;
    d.batches = between(seed, 1, 2);
    d.inputs = between(seed, 40, 120);
    d.outputs = between(seed, 8, 72);
    for (unsigned i = 0; i < 2; i++) {
        d.strides[i] = square && i == 1 ? d.strides[0] : between(seed, 1, 4);
        d.taps[i] = square && i == 1 ? d.taps[0] : between(seed, 1, 8);
        d.size[i] = between(seed, 8, 17);
        d.more[i] = next(seed) % d.strides[i];
        d.padding[2 * i] = next(seed) % (d.taps[i] + (even ? 0 : 2));
        d.padding[2 * i + 1] = even ? d.padding[2 * i] : next(seed) % d.taps[i];
    }
    return d;
}

static void test_random(WNNContext context, WNNContext cpu, unsigned count, uint32_t seed)
{
    for (unsigned i = 0; i < count; i++) {
        const struct deconvolution d = random_one(&seed);
        bool half = i % 2;
        compare(context, cpu, make, &d, half ? WNNDataType_Float16 : WNNDataType_Float32, half ? 2e-2 : 1e-3,
                "transposed convolution", i);
    }
}

// Forms that networks have: 4 taps of strides of 2, which begin between blocks, 3 taps, those of sound, and
// of scales of 4 with 9 taps.
static void test_common(WNNContext context, WNNContext cpu)
{
    static const struct deconvolution common[] = {
        {1, 64, 64, {12, 12}, {4, 4}, {2, 2}, {1, 1, 1, 1}, .after = 1},
        {2, 64, 64, {12, 10}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, .nhwc = true, .bias = true},
        {1, 64, 64, {1, 128}, {1, 16}, {1, 8}, {0, 0, 4, 4}, .after = 4},
        {1, 512, 1, {15, 15}, {9, 9}, {4, 4}, {4, 4, 4, 4}, {3, 3}, .bias = true},
        {1, 64, 64, {9, 10}, {5, 5}, {2, 2}, {2, 2, 2, 2}, {1, 1}, .after = 6},
        {1, 24, 24, {11, 12}, {2, 2}, {2, 2}, .after = 4}};
    for (unsigned i = 0; i < sizeof common / sizeof common[0]; i++) {
        static unsigned char unused[MAX_BYTES];
        struct deconvolution d = common[i];
        const struct trial trial = {make, &d, WNNDataType_Float32, fill_any, look};
        d.layout = WNNConvTranspose2dFilterOperandLayout_IOHW;
        run_trial(context, &trial, unused);
        if (transposed > 0)
            fprintf(stderr, "common form %u is not computed by phases\n", i);
        REQUIRE_EQUAL_INT(transposed, 0);
        compare(context, cpu, make, &d, WNNDataType_Float32, 1e-3, "common form", i);
        compare(context, cpu, make, &d, WNNDataType_Float16, 2e-2, "common form", i);
    }
}

static void cases(WNNContext context, WNNContext cpu)
{
    CASE(test_random(context, cpu, 36, 1));
    CASE(test_common(context, cpu));
}

static void minimal_cases(WNNContext context, WNNContext cpu)
{
    CASE_AS("random on the minimum", test_random(context, cpu, 12, 2));
}

static void matrix_cases(WNNContext context, WNNContext cpu)
{
    CASE_AS("random on matrix units", test_random(context, cpu, 12, 3));
    CASE_AS("common on matrix units", test_common(context, cpu));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    return run_on_devices(cases, minimal_cases, matrix_cases);
}
