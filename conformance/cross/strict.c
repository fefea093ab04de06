// SPDX-License-Identifier: Apache-2.0
//
// A hostile graph is computed three times: compiled; without passes, where every result of every node is an
// output; and node by node on the reference, from the operands that the second run has shown. That keeps
// errors from growing from node to node, so that little has to be allowed:
//
//   The compiled graph has the bits of the one without passes (a NaN is any NaN). Sums may be taken in
//   another order when an image is turned or constants are folded, so that behind such a node results may
//   differ by SLACK of their size; NaN, infinity and number have to agree even there.
//
//   A node that computes single elements is within its operator's tolerance of the reference, and NaN,
//   infinite or finite with it; 32-bit integers that are quantized, within that of the float they come from.
//   Nodes that add up are only asked for the latter: their tolerances say nothing where terms cancel.
//
//   Where the filter of a convolution is not finite, an element may be NaN too: whether the zeros of a
//   padding, and those between the elements of a transposed one, are factors is not said anywhere.
//
//   Not compared is what the order of terms decides: finite numbers of float32 of at least HUGE_TERM in a
//   node that adds up, or in a batchNormalization, whose steps may overflow, logarithms of sums of both
//   signs, and results that are so near to overflow that rounding decides. Nor what comes of infinities in
//   gru and lstm, which meet gates that are 0 or merely next to it.

#include "conformance/cross/strict.h"

#include "compiler/compile.h"
#include "conformance/compare.h"
#include "conformance/cross/generate.h"
#include "conformance/reference/reference.h"
#include "conformance/test.h"
#include "ops/builder.h"
#include "runtime/context.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_TERM 0x1p40
#define SLACK     1e-5 // of float32; of float16 that much more that its units are larger

enum {
    MAX_OUTPUTS = 1024
};

// One recording of the graph and what came out, by output.
struct run {
    WNNGraphBuilder builder;
    WNNGraph graph;
    struct random_graph recorded;
    size_t count;
    WNNNamedOperand named[MAX_OUTPUTS];
    const struct operand *operands[MAX_OUTPUTS];
    char names[MAX_OUTPUTS][16];
    void *data[MAX_OUTPUTS];
};

static bool record(const struct strict_subject *subject, WNNContext context, uint64_t seed, struct run *run,
                   struct text *message)
{
    if (wnnContextCreateGraphBuilder(context, &run->builder) != WNNStatus_Success)
        return false;
    wnn_random_graph(seed, (struct random_kind){.flushed = subject->flushes, .hostile = true}, run->builder,
                     &run->recorded);
    WNNError error;
    wnnGraphBuilderGetError(run->builder, &error);
    if (error.status != WNNStatus_Success)
        wnn_text_add(message, "%s", error.message.data);
    return error.status == WNNStatus_Success;
}

static void add_output(struct run *run, struct operand *operand)
{
    if (run->count == MAX_OUTPUTS || wnn_descriptor_bytes(&operand->type) == 0)
        return;
    snprintf(run->names[run->count], sizeof run->names[0], "o%u", (unsigned)operand->index);
    run->named[run->count] = (WNNNamedOperand){{run->names[run->count], WNN_STRLEN}, (WNNOperand)operand};
    run->operands[run->count++] = operand;
}

static bool compute(WNNContext context, struct run *run, struct text *message)
{
    WNNNamedBuffer inputs[MAX_VALUES], outputs[MAX_OUTPUTS];
    size_t input_count = 0, needed_count;
    if (!wnn_build_and_wait(context, run->builder, run->count, run->named, &run->graph, message))
        return false;
    const WNNNamedDescriptor *needed = wnnGraphGetInputs(run->graph, &needed_count);
    for (size_t i = 0; i < needed_count; i++)
        for (size_t j = 0; j < run->recorded.input_count; j++) {
            const struct random_input *input = &run->recorded.inputs[j];
            if (strcmp(input->name, needed[i].name.data) == 0)
                inputs[input_count++] =
                    (WNNNamedBuffer){needed[i].name, input->data, input->bytes, input->type.type};
        }
    for (size_t i = 0; i < run->count; i++) {
        const struct descriptor *type = &run->operands[i]->type;
        size_t bytes = wnn_descriptor_bytes(type);
        run->data[i] = malloc(bytes);
        if (!run->data[i])
            return false;
        memset(run->data[i], 0x5A, bytes);
        outputs[i] = (WNNNamedBuffer){run->named[i].name, run->data[i], bytes, type->type};
    }
    return wnn_compute_and_wait(context, run->graph, input_count, inputs, run->count, outputs, message);
}

static void clear(struct run *run)
{
    for (size_t i = 0; i < run->count; i++)
        free(run->data[i]);
    wnn_random_graph_free(&run->recorded);
    wnnGraphRelease(run->graph);
    wnnGraphBuilderRelease(run->builder);
}

// ---------------------------------------------------------------------------------------------------------------
// What is known of each operand
// ---------------------------------------------------------------------------------------------------------------

// Whether results are sums, or quotients by them, of operands that are not at the same place.
static bool adds_up(enum op op)
{
    switch (op) {
    case WNN_OP_averagePool2d:
    case WNN_OP_conv2d:
    case WNN_OP_convTranspose2d:
    case WNN_OP_cumulativeSum:
    case WNN_OP_gemm:
    case WNN_OP_gru:
    case WNN_OP_gruCell:
    case WNN_OP_instanceNormalization:
    case WNN_OP_l2Pool2d:
    case WNN_OP_layerNormalization:
    case WNN_OP_lstm:
    case WNN_OP_lstmCell:
    case WNN_OP_matmul:
    case WNN_OP_resample2d:
    case WNN_OP_softmax:
    case WNN_OP_softmax2d:
        return true;
    default:
        return wnn_ops[op].infer == wnn_infer_reduce && op != WNN_OP_reduceMax && op != WNN_OP_reduceMin;
    }
}

struct knowledge {
    const void **data;   // by operand of the graph without passes
    unsigned char *sums; // 1: order may show in the elements; 2: and decide whether they are finite
};

static bool is_huge(const struct operand *operand, const void *data)
{
    bool huge = false;
    size_t count = wnn_shape_elements(&operand->type.shape);
    for (size_t i = 0; operand->type.type == WNNDataType_Float32 && i < count; i++) {
        double x = fabs(wnn_element_double(operand->type.type, data, i));
        huge |= isfinite(x) && x >= HUGE_TERM;
    }
    return huge;
}

// Whether rounding decides if the number is infinite.
static bool is_near_the_end(WNNDataType type, double x)
{
    double most = type == WNNDataType_Float16 ? 65504 : FLT_MAX;
    return isfinite(x) && fabs(x) > 0.99 * most;
}

static int class_of(double x)
{
    return isnan(x) ? 2 : isinf(x) ? (x > 0 ? 1 : -1) : 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Comparing
// ---------------------------------------------------------------------------------------------------------------

static void describe(struct text *message, const char *what, const struct operand *operand, const void *got,
                     const void *expected, size_t i)
{
    char a[48], b[48];
    wnn_element_text(operand->type.type, got, i, a, sizeof a);
    wnn_element_text(operand->type.type, expected, i, b, sizeof b);
    wnn_text_add(message, "%s %s, element %zu of t%u: got %s, expected %s", what,
                 operand->producer ? wnn_ops[operand->producer->op].name : "copy", i, operand->index, a, b);
}

static bool is_endless(const struct node *node, const void *const *in, unsigned i)
{
    bool endless = false;
    for (size_t k = 0; node->in[i] && k < wnn_shape_elements(&node->in[i]->type.shape); k++)
        endless |= !isfinite(wnn_element_double(node->in[i]->type.type, in[i], k));
    return endless;
}

// Whether zeros that nobody gave may meet what is not finite.
static bool imagines_zeros(const struct node *node, const void *const *in)
{
    return (node->op == WNN_OP_conv2d || node->op == WNN_OP_convTranspose2d) && is_endless(node, in, 1);
}

// Whether the order of terms, or how a gate is rounded, decides what is finite.
static bool is_delicate(const struct node *node, const void *const *in)
{
    bool delicate = false;
    switch (node->op) {
    case WNN_OP_gru:
    case WNN_OP_gruCell:
    case WNN_OP_lstm:
    case WNN_OP_lstmCell:
        for (unsigned i = 0; i < node->in_count; i++)
            delicate |= is_endless(node, in, i);
        return delicate;
    case WNN_OP_instanceNormalization:
    case WNN_OP_layerNormalization: // a difference from the mean of 0, or next to it, by an infinite scale
        return is_endless(node, in, 1);
    case WNN_OP_reduceLogSum:
        for (size_t i = 0; i < wnn_shape_elements(&node->in[0]->type.shape); i++)
            delicate |= wnn_element_double(node->in[0]->type.type, in[0], i) < 0;
        return delicate;
    default:
        return false;
    }
}

// What is said about the sums of a node.
struct terms {
    bool huge;     // operands are
    bool imagined; // zeros that nobody gave may meet infinities
};

static bool compare_node(struct strict_subject *subject, const struct node *node, unsigned output,
                         const void *got, const void *expected, struct terms terms, struct text *message)
{
    const struct operand *operand = node->out[output];
    WNNDataType type = operand->type.type;
    size_t count = wnn_shape_elements(&operand->type.shape);
    bool sums = adds_up((enum op)node->op) || (terms.huge && node->op == WNN_OP_batchNormalization);
    struct tolerance tolerance = wnn_node_tolerance(node);
    if (!sums || !wnn_dtype_is_float(type)) {
        struct difference difference;
        subject->elements += count;
        if (wnn_compare(type, count, got, expected, &tolerance, subject->flushes ? COMPARE_FLUSHED : 0,
                        &difference))
            return true;
        double x = wnn_element_double(type, got, difference.first),
               y = wnn_element_double(type, expected, difference.first);
        if (node->op == WNN_OP_quantizeLinear && fabs(x - y) <= fmax(1, fabs(y) * 0x1p-21))
            return true;
        if (difference.count == 1 && tolerance.value > 0 && class_of(x) != 2 && class_of(y) != 2 &&
            (is_near_the_end(type, x) || is_near_the_end(type, y)))
            return true;
        describe(message, "node by node,", operand, got, expected, difference.first);
        return false;
    }
    if (terms.huge) {
        subject->skipped += count;
        return true;
    }
    subject->elements += count;
    for (size_t i = 0; i < count; i++) {
        double x = wnn_element_double(type, got, i), y = wnn_element_double(type, expected, i);
        if (class_of(x) == class_of(y) || (isnan(x) && terms.imagined) || is_near_the_end(type, x) ||
            is_near_the_end(type, y))
            continue;
        describe(message, "node by node,", operand, got, expected, i);
        return false;
    }
    return true;
}

static bool check_node(struct strict_subject *subject, const struct node *node, struct knowledge *known,
                       struct text *message)
{
    const void *in[MAX_VALUES] = {NULL};
    void *out[MAX_VALUES] = {NULL};
    bool good = true, huge = false, shown = true;
    unsigned sums = adds_up((enum op)node->op);
    for (unsigned i = 0; i < node->in_count; i++) {
        if (!node->in[i])
            continue;
        in[i] = known->data[node->in[i]->index];
        shown = shown && in[i];
        huge |= in[i] && is_huge(node->in[i], in[i]);
        sums |= known->sums[node->in[i]->index];
    }
    huge |= shown && is_delicate(node, in);
    if ((adds_up((enum op)node->op) && huge) || (shown && imagines_zeros(node, in)))
        sums |= 2;
    sums |= node->op == WNN_OP_maxPool2d; // of two zeros either is the greatest
    for (unsigned i = 0; i < node->out_count; i++)
        known->sums[node->out[i]->index] = (unsigned char)sums;
    for (unsigned i = 0; shown && i < node->out_count; i++) {
        out[i] = calloc(wnn_descriptor_bytes(&node->out[i]->type) + 8, 1);
        shown = out[i] && known->data[node->out[i]->index];
    }
    if (shown)
        wnn_reference_run(node, in, out);
    struct terms terms = {huge, shown && imagines_zeros(node, in)};
    for (unsigned i = 0; good && shown && i < node->out_count; i++)
        good = compare_node(subject, node, i, known->data[node->out[i]->index], out[i], terms, message);
    for (unsigned i = 0; i < node->out_count; i++)
        free(out[i]);
    return good;
}

// One output of the compiled graph against the same operand of the other.
static bool compare_compiled(struct strict_subject *subject, const struct operand *operand, const void *got,
                             const void *expected, unsigned sums, struct text *message)
{
    WNNDataType type = operand->type.type;
    size_t count = wnn_shape_elements(&operand->type.shape);
    struct difference difference;
    struct tolerance none = {false, 0};
    subject->elements += count;
    if (wnn_compare(type, count, got, expected, &none, COMPARE_ZERO_SIGNS, &difference))
        return true;
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        double y = fabs(wnn_element_double(type, expected, i));
        largest = isfinite(y) && y > largest ? y : largest;
    }
    double slack = (type == WNNDataType_Float16 ? SLACK * 256 : SLACK) * fmax(largest, 1e-30);
    for (size_t i = 0; sums && i < count; i++) {
        double x = wnn_element_double(type, got, i), y = wnn_element_double(type, expected, i);
        bool near = class_of(x) == class_of(y) ? class_of(x) != 0 || fabs(x - y) <= slack
                                               : is_near_the_end(type, x) || is_near_the_end(type, y);
        if (near || sums & 2)
            continue;
        describe(message, "compiled,", operand, got, expected, i);
        return false;
    }
    if (!sums) {
        describe(message, "compiled, bits of", operand, got, expected, difference.first);
        return false;
    }
    return true;
}

static void write_text(void *argument, const char *text, size_t length)
{
    wnn_text_add(argument, "%.*s", (int)length, text);
}

static bool check(struct strict_subject *subject, const struct run *compiled, const struct run *apart,
                  struct knowledge *known, struct text *message)
{
    const struct graph *graph = &apart->builder->graph;
    bool good = true;
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->constant)
            known->data[i] = graph->operands[i]->constant->data;
    for (size_t i = 0; i < apart->recorded.input_count; i++)
        for (size_t j = 0; j < graph->operand_count; j++)
            if (graph->operands[j]->input &&
                wnn_operand_name(graph->operands[j]).length == strlen(apart->recorded.inputs[i].name) &&
                memcmp(wnn_operand_name(graph->operands[j]).data, apart->recorded.inputs[i].name,
                       wnn_operand_name(graph->operands[j]).length) == 0)
                known->data[j] = apart->recorded.inputs[i].data;
    for (size_t i = 0; i < apart->count; i++)
        known->data[apart->operands[i]->index] = apart->data[i];
    for (size_t i = 0; good && i < graph->node_count; i++)
        good = check_node(subject, graph->nodes[i], known, message);
    for (size_t i = 0; good && i < compiled->count; i++) {
        const struct operand *operand = compiled->operands[i];
        if (known->data[operand->index])
            good = compare_compiled(subject, operand, compiled->data[i], known->data[operand->index],
                                    known->sums[operand->index], message);
    }
    return good;
}

bool wnn_strict_graph(struct strict_subject *subject, uint64_t seed, struct text *message, struct text *graph)
{
    struct run *runs = calloc(2, sizeof *runs);
    if (!runs)
        return false;
    struct run *compiled = &runs[0], *apart = &runs[1];
    struct knowledge known = {0};
    bool good = record(subject, subject->compiled, seed, compiled, message) &&
                record(subject, subject->apart, seed, apart, message);
    if (good && compiled->recorded.output_count > 0) {
        const struct graph *recorded = &apart->builder->graph;
        for (size_t i = 0; i < compiled->recorded.output_count; i++)
            add_output(compiled, (struct operand *)(uintptr_t)wnn_operand(
                                     compiled->recorded.outputs[i].value->operand));
        for (size_t i = 0; i < recorded->node_count; i++)
            for (unsigned j = 0; j < recorded->nodes[i]->out_count; j++)
                add_output(apart, recorded->nodes[i]->out[j]);
        known.data = calloc(recorded->operand_count + 1, sizeof known.data[0]);
        known.sums = calloc(recorded->operand_count + 1, 1);
        good = known.data && known.sums && compute(subject->compiled, compiled, message) &&
               compute(subject->apart, apart, message) && check(subject, compiled, apart, &known, message);
    }
    if (!good && compiled->builder) {
        struct text_sink sink = {write_text, graph};
        wnn_dump_text(&compiled->builder->graph, &sink);
        wnn_text_add(graph, "compiled:\n");
        if (compiled->graph)
            wnn_dump_text(&wnn_graph_plan(compiled->graph)->graph, &sink);
    }
    free(known.data);
    free(known.sums);
    clear(compiled);
    clear(apart);
    free(runs);
    return good;
}
