// SPDX-License-Identifier: Apache-2.0
//
// Constant weights that several operators read, as of networks whose layers share them: they lie in the order
// that is read best where all want them so, and results are the processor's in any case.

#include "conformance/unit/differential_fixture.h"

enum odd { // another that reads the weights, too
    ODD_NONE,
    ODD_SUM,
    ODD_LIKE, // an operator like the others, which reads them in another order
    ODD_COUNT
};

struct sharing {
    enum {
        FILTERS,
        TRANSPOSED_FILTERS,
        ROWS, // of products
        FORMS
    } form;
    unsigned layers; // that read the same weights
    enum odd odd;
};

static const uint32_t filter[] = {16, 16, 3, 3}, matrix[] = {384, 384};

static WNNOperand convolve(struct subject *s, WNNOperand x, WNNOperand weights)
{
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    const uint32_t padding[] = {1, 1, 1, 1};
    options.padding = (WNNUint32List){padding, 4};
    options.inputLayout = WNNInputOperandLayout_NHWC;
    return wnnGraphBuilderConv2d(s->builder, x, weights, &options);
}

static WNNOperand convolve_back(struct subject *s, WNNOperand x, WNNOperand weights)
{
    WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    const uint32_t padding[] = {1, 1, 1, 1};
    options.padding = (WNNUint32List){padding, 4};
    options.inputLayout = WNNInputOperandLayout_NHWC;
    return wnnGraphBuilderConvTranspose2d(s->builder, x, weights, &options);
}

static void make(struct subject *s)
{
    const struct sharing *sharing = s->argument;
    bool rows = sharing->form == ROWS;
    WNNLinearOptions shrunk = WNN_LINEAR_OPTIONS_INIT;
    shrunk.alpha = 0.125;
    WNNOperand weights = rows ? constant_any(s, 2, matrix, 1) : constant_any(s, 4, filter, 1),
               x = rows ? INPUT(s, 2, 384) : INPUT(s, 1, 9, 9, 16);
    for (unsigned i = 0; i < sharing->layers; i++) {
        x = rows                       ? wnnGraphBuilderMatmul(s->builder, x, weights, NULL)
            : sharing->form == FILTERS ? convolve(s, x, weights)
                                       : convolve_back(s, x, weights);
        x = wnnGraphBuilderLinear(s->builder, x, &shrunk); // about as large as before
    }
    output(s, x);
    if (sharing->odd == ODD_SUM)
        output(s, wnnGraphBuilderAdd(s->builder, weights, rows ? input(s, 2, matrix) : input(s, 4, filter),
                                     NULL));
    if (sharing->odd == ODD_LIKE && rows)
        output(s, wnnGraphBuilderMatmul(s->builder, INPUT(s, 40, 384), weights, NULL)); // too many rows
    if (sharing->odd == ODD_LIKE && !rows) { // small groups read filters as transposed convolutions do
        WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
        options.groups = sharing->form == FILTERS ? 4 : 1;
        options.inputLayout = WNNInputOperandLayout_NHWC;
        output(s,
               wnnGraphBuilderConv2d(s->builder, INPUT(s, 1, 7, 7, 16 * options.groups), weights, &options));
    }
}

static struct {
    unsigned as_they_are, turned; // operators that read their weights so
} seen;

static void look(const struct graph *graph)
{
    memset(&seen, 0, sizeof seen);
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        bool turned;
        if (node->op == WNN_OP_conv2d)
            turned =
                ((const WNNConv2dOptions *)node->attrs)->filterLayout != WNNConv2dFilterOperandLayout_OIHW;
        else if (node->op == WNN_OP_convTranspose2d)
            turned = ((const WNNConvTranspose2dOptions *)node->attrs)->filterLayout !=
                     WNNConvTranspose2dFilterOperandLayout_IOHW;
        else if (node->op == WNN_OP_gemm || node->op == WNN_OP_matmul)
            turned = node->in[1]->arranged;
        else
            continue;
        seen.turned += turned;
        seen.as_they_are += !turned;
    }
}

static void test_form(WNNContext context, WNNContext cpu, unsigned form, WNNDataType type)
{
    static unsigned char unused[MAX_BYTES];
    for (unsigned layers = 1; layers <= 3; layers++)
        for (unsigned odd = 0; odd < ODD_COUNT; odd++) {
            const struct sharing sharing = {form, layers, odd};
            const struct trial trial = {make, &sharing, type, fill_any, look};
            run_trial(context, &trial, unused);
            if (odd == ODD_NONE)
                REQUIRE_EQUAL_INT(seen.turned, layers);
            else
                REQUIRE(seen.as_they_are >= layers);
            compare(context, cpu, make, &sharing, type, type == WNNDataType_Float16 ? 5e-3 : 1e-4, "sharing",
                    form * 100 + layers * 10 + odd);
        }
}

static void cases(WNNContext context, WNNContext cpu)
{
    for (unsigned form = 0; form < FORMS; form++) {
        CASE_AS("float32", test_form(context, cpu, form, WNNDataType_Float32));
        CASE_AS("float16", test_form(context, cpu, form, WNNDataType_Float16));
    }
}

static void minimal_cases(WNNContext context, WNNContext cpu)
{
    for (unsigned form = 0; form < FORMS; form++)
        CASE_AS("on the minimum", test_form(context, cpu, form, WNNDataType_Float32));
}

static void matrix_cases(WNNContext context, WNNContext cpu)
{
    for (unsigned form = 0; form < FORMS; form++)
        CASE_AS("on matrix units", test_form(context, cpu, form, WNNDataType_Float16));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    return run_on_devices(cases, minimal_cases, matrix_cases);
}
