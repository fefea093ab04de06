// SPDX-License-Identifier: Apache-2.0
//
// The generator of random graphs: values, recording, and the choice of operators.

#include "conformance/cross/generate.h"

#include "conformance/cross/generator.h"

#include "conformance/tolerance.h"
#include "lib/half.h"
#include "ops/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Chance
// ---------------------------------------------------------------------------------------------------------------

enum {
    ELEMENTS = 700,
    MANY_ELEMENTS = 12000,
    EDGE_ELEMENTS = 34000,
    USUAL_RANK = 5
};

uint32_t wnn_random_size(struct random_graph *graph)
{
    static const uint16_t sizes[] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 13, 16, 17, 33};
    static const uint16_t large[] = {48, 63, 64, 65, 100, 130, 257, 515, 1030};
    if (graph->empty && chance(graph, 12))
        return 0;
    if (graph->most_elements == MANY_ELEMENTS && chance(graph, 30))
        return large[below(graph, sizeof large / sizeof large[0])];
    return sizes[below(graph, sizeof sizes / sizeof sizes[0])];
}

// Vectors, tiles, panels, blocks and chunks of the kernels in cpu/, of whatever they count.
uint32_t wnn_random_edge(struct random_graph *graph, uint32_t most)
{
    static const uint16_t cuts[] = {4,   6,   7,   8,   16,   24,   32,   48,   64,   96,    128,   196,
                                    256, 288, 336, 512, 1024, 1056, 2048, 4096, 8192, 10240, 16384, 32768};
    unsigned count = 0;
    while (count < sizeof cuts / sizeof cuts[0] && cuts[count] < most)
        count++;
    if (count == 0)
        return 1 + below(graph, most);
    return cuts[below(graph, count)] + below(graph, 3) - 1;
}

// One dimension is an edge, another may be a small one; the others are tiny.
static struct shape edge_shape(struct random_graph *graph, struct shape shape)
{
    unsigned first = below(graph, shape.rank), second = below(graph, shape.rank);
    size_t elements = 1;
    for (unsigned d = 0; d < shape.rank; d++)
        elements *= shape.dim[d] = d == first || d == second ? 1 : 1 + below(graph, 3);
    if (second != first && chance(graph, 50))
        elements *= shape.dim[second] = wnn_random_edge(graph, 66);
    size_t room = graph->most_elements / elements;
    shape.dim[first] = room > 1 ? wnn_random_edge(graph, (uint32_t)room) : 1;
    return shape;
}

struct shape wnn_random_shape(struct random_graph *graph, unsigned min_rank, unsigned max_rank)
{
    struct shape shape = {.rank = min_rank};
    if (max_rank > graph->most_rank)
        max_rank = min_rank > graph->most_rank ? min_rank : graph->most_rank;
    if (max_rank > min_rank)
        shape.rank += below(graph, max_rank - min_rank + 1);
    if (graph->edges && shape.rank > 0)
        return edge_shape(graph, shape);
    size_t elements = 1;
    for (unsigned d = 0; d < shape.rank; d++) {
        shape.dim[d] = wnn_random_size(graph);
        if (elements * shape.dim[d] > graph->most_elements)
            shape.dim[d] = elements > graph->most_elements ? 1 : 1 + below(graph, 2);
        elements *= shape.dim[d] ? shape.dim[d] : 1;
    }
    return shape;
}

WNNDataType wnn_random_type(struct random_graph *graph, uint32_t types)
{
    if (types & FLOATS && chance(graph, 70))
        return types & F16 && (chance(graph, 30) || !(types & F32)) ? WNNDataType_Float16
                                                                    : WNNDataType_Float32;
    for (;;) {
        unsigned type = 1 + below(graph, WNN_DATA_TYPE_COUNT - 1);
        if (types >> type & 1)
            return (WNNDataType)type;
    }
}

// A shape that broadcasts with `shape`.
struct shape wnn_random_broadcastable(struct random_graph *graph, const struct shape *shape)
{
    struct shape result = *shape;
    unsigned dropped = chance(graph, 40) && shape->rank > 0 ? below(graph, shape->rank + 1) : 0;
    result.rank = shape->rank - dropped;
    for (unsigned d = 0; d < result.rank; d++) {
        result.dim[d] = shape->dim[d + dropped];
        if (chance(graph, 20))
            result.dim[d] = 1;
    }
    return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Values
// ---------------------------------------------------------------------------------------------------------------

static double random_float(struct random_graph *graph, double low, double high)
{
    static const double nice[] = {0, 1, -1, 0.5, -0.5, 2, -2};
    static const double special[] = {NAN,       INFINITY, -INFINITY, -0.0,    0x1p-140,
                                     -0x1p-140, 0x1p-24,  65504,     -3.4e38, 0x1p63};
    double value = nice[below(graph, 7)];
    if (graph->special && chance(graph, 30)) {
        double one = special[below(graph, sizeof special / sizeof special[0])];
        return fabs(one) == 0x1p-140 && graph->kind.flushed ? one * 0x1p40 : one;
    }
    return chance(graph, 15) && value >= low && value <= high ? value : between(graph, low, high);
}

// What the floats of one operand are like in a hostile graph.
enum temper {
    MILD,  // small multiples of 1/4, of which sums and products are exact in any order
    MIXED, // likewise, with anything in between
    ONE,   // likewise, with one kind of special number
    LARGE, // so large that squares overflow, and of one sign or both
    TEMPERS
};

static double hostile_float(struct random_graph *graph, WNNDataType type, enum temper temper, unsigned kind)
{
    static const double special[] = {NAN,      INFINITY,  -INFINITY, -0.0,    0,
                                     0x1p-140, -0x1p-130, 0x1p-20,   -0x1p-24};
    double mild = ((int)below(graph, 65) - 32) / 4.0;
    bool half = type == WNNDataType_Float16;
    if (temper == LARGE && chance(graph, 80)) {
        double large =
            half ? 256.0 * (1 + below(graph, 250)) : ldexp(1 + below(graph, 7), 60 + (int)below(graph, 65));
        return kind % 3 == 0 ? large : kind % 3 == 1 ? -large : chance(graph, 50) ? large : -large;
    }
    if ((temper == MIXED && chance(graph, 12)) || (temper == ONE && chance(graph, 20))) {
        double one = special[temper == ONE ? kind % (sizeof special / sizeof special[0])
                                           : below(graph, sizeof special / sizeof special[0])];
        bool denormal = one != 0 && fabs(one) < (half ? 0x1p-14 : 0x1p-126);
        return denormal && graph->kind.flushed && !half ? 0 : one;
    }
    return mild;
}

static uint64_t random_integer(struct random_graph *graph)
{
    static const uint64_t edges[] = {INT8_MAX,  (uint64_t)INT8_MIN,  UINT8_MAX,
                                     INT32_MAX, (uint64_t)INT32_MIN, UINT32_MAX,
                                     INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX};
    if (chance(graph, 6))
        return edges[below(graph, sizeof edges / sizeof edges[0])];
    return chance(graph, 10) ? draw(graph) : (uint64_t)((int64_t)below(graph, 24) - 8);
}

static void fill(struct random_graph *graph, struct random_input *input, double low, double high)
{
    size_t count = wnn_shape_elements(&input->type.shape);
    enum temper temper = graph->kind.hostile ? (enum temper)below(graph, TEMPERS) : MILD;
    unsigned kind = graph->kind.hostile ? below(graph, 36) : 0;
    for (size_t i = 0; i < count; i++) {
        float value = 0;
        uint64_t integer = 0;
        if (wnn_dtype_is_float(input->type.type))
            value = (float)(graph->kind.hostile ? hostile_float(graph, input->type.type, temper, kind)
                                                : random_float(graph, low, high));
        else
            integer = random_integer(graph);
        uint16_t half = wnn_half_from_float(value);
        unsigned char *bytes = input->data;
        switch (input->type.type) {
        case WNNDataType_Float32:
            memcpy(bytes + 4 * i, &value, 4);
            break;
        case WNNDataType_Float16:
            memcpy(bytes + 2 * i, &half, 2);
            break;
        case WNNDataType_Int4:
        case WNNDataType_Uint4:
            bytes[i / 2] |= (unsigned char)((integer & 0xF) << (i % 2 * 4));
            break;
        default: {
            size_t size = wnn_dtype_bits(input->type.type) / 8;
            memcpy(bytes + size * i, &integer, size); // little-endian: the low bits
        }
        }
    }
}

static struct value *add_value(struct random_graph *graph, WNNOperand operand, double low, double high,
                               bool exact)
{
    if (operand == NULL)
        graph->refused = true;
    if (graph->refused || graph->value_count == MAX_VALUES)
        return NULL;
    if (graph->kind.hostile) { // so that they suit
        low = -2;
        high = 2;
    }
    struct value *value = &graph->values[graph->value_count++];
    *value = (struct value){
        .operand = operand, .type = wnn_operand(operand)->type, .low = low, .high = high, .exact = exact};
    return value;
}

struct value *wnn_random_add_constant(struct random_graph *graph, const struct descriptor *type,
                                      const void *data)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type->type;
    descriptor.shape = (WNNUint32List){type->shape.dim, type->shape.rank};
    WNNOperand operand = graph->refused ? NULL
                                        : wnnGraphBuilderConstant(graph->builder, &descriptor, data,
                                                                  wnn_descriptor_bytes(type));
    return add_value(graph, operand, -MOST, MOST, true);
}

// A new constant or input with random elements, floats between low and high.
static struct value *new_within(struct random_graph *graph, WNNDataType type, struct shape shape, double low,
                                double high, unsigned constants)
{
    if (graph->input_count == MAX_VALUES || graph->refused)
        return NULL;
    struct random_input *input = &graph->inputs[graph->input_count++];
    input->type = (struct descriptor){type, shape};
    input->bytes = wnn_descriptor_bytes(&input->type);
    input->data = calloc(input->bytes + 1, 1);
    if (input->data == NULL)
        return NULL;
    snprintf(input->name, sizeof input->name, "x%zu", graph->input_count - 1);
    fill(graph, input, low, high);
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){shape.dim, shape.rank};
    WNNOperand operand =
        chance(graph, constants)
            ? wnnGraphBuilderConstant(graph->builder, &descriptor, input->data, input->bytes)
            : wnnGraphBuilderInput(graph->builder, (WNNStringView){input->name, WNN_STRLEN}, &descriptor);
    // Rounding to float16 may pass the ends.
    return add_value(graph, operand, low - 1e-3 * fabs(low), high + 1e-3 * fabs(high), true);
}

struct value *wnn_random_new_within(struct random_graph *graph, WNNDataType type, struct shape shape,
                                    double low, double high)
{
    return new_within(graph, type, shape, low, high, 50);
}

struct value *wnn_random_new_constant(struct random_graph *graph, WNNDataType type, struct shape shape)
{
    return new_within(graph, type, shape, -2, 2, 100);
}

struct value *wnn_random_new(struct random_graph *graph, WNNDataType type, struct shape shape)
{
    return wnn_random_new_within(graph, type, shape, -2, 2);
}

bool wnn_random_suits(const struct value *value, const struct wish *wish)
{
    const struct shape *shape = &value->type.shape;
    return wish->types >> value->type.type & 1 && shape->rank >= wish->min_rank &&
           shape->rank <= wish->max_rank && !value->rounded && (value->exact || !wish->exact) &&
           (!wnn_dtype_is_float(value->type.type) || (value->low >= wish->low && value->high <= wish->high));
}

// A value that there is already, mostly, or a new one.
struct value *wnn_random_pick(struct random_graph *graph, struct wish wish)
{
    struct value *found = NULL;
    uint32_t seen = 0;
    if (chance(graph, 80))
        for (size_t i = 0; i < graph->value_count; i++)
            if (wnn_random_suits(&graph->values[i], &wish)) {
                seen += 1 + (uint32_t)(i * 2 / graph->value_count); // later ones rather than earlier ones
                if (below(graph, seen) < 2)
                    found = &graph->values[i];
            }
    if (found != NULL)
        return found;
    return wnn_random_new_within(graph, wnn_random_type(graph, wish.types),
                                 wnn_random_shape(graph, wish.min_rank, wish.max_rank), fmax(wish.low, -2),
                                 fmin(wish.high, wish.low > 0 ? 4 : 2));
}

// Marks the operands of a node as used; returns whether all are exact.
static bool use_operands(struct random_graph *graph, const struct node *node)
{
    bool exact = true;
    for (size_t k = 0; k < graph->value_count; k++)
        for (unsigned i = 0; i < node->in_count; i++)
            if (graph->values[k].operand == (WNNOperand)node->in[i]) {
                graph->values[k].used = true;
                exact &= graph->values[k].exact;
            }
    return exact;
}

// Records an operator. Its results are in [low, high]. Returns the first, or NULL.
struct value *wnn_random_emit(struct random_graph *graph, enum op op, unsigned count,
                              struct value *const *values, const void *attrs, double low, double high)
{
    if (graph->dynamic != WNN_OP_COUNT && wnn_op_sibling(graph->dynamic) == op &&
        wnn_random_has_dynamic(graph, graph->dynamic, attrs)) {
        enum op form = graph->dynamic;
        graph->dynamic = WNN_OP_COUNT;
        return wnn_random_emit_dynamic(graph, form, values[0], attrs, low, high);
    }
    WNNOperand operands[MAX_VALUES], outputs[16];
    bool exact = true, of_nothing = false; // of which not every operator has a result
    for (unsigned i = 0; i < count; i++) {
        if (values[i] == NULL)
            return NULL;
        operands[i] = values[i]->operand;
        of_nothing |= wnn_shape_is_empty(&values[i]->type.shape);
    }
    if (graph->value_count + 16 > MAX_VALUES)
        return NULL;
    const struct graph *recorded = &graph->builder->graph;
    size_t node_count = recorded->node_count;
    size_t output_count = wnn_builder_call(graph->builder, op, count, operands, attrs, 16, outputs);
    if (output_count == 0) {
        graph->refused = !of_nothing;
        if (of_nothing)
            wnnGraphBuilderClearError(graph->builder);
        return NULL;
    }
    graph->uses[op]++;
    double tolerance = 0;
    for (; node_count < recorded->node_count; node_count++) { // an activation is a node of its own
        const struct node *node = recorded->nodes[node_count];
        tolerance += wnn_node_tolerance(node).value;
        exact &= use_operands(graph, node);
    }
    exact &= tolerance == 0;
    struct value *first = NULL;
    for (size_t i = 0; i < output_count; i++) {
        struct value *value = add_value(graph, outputs[i], low, high, exact);
        if (value != NULL && !wnn_dtype_is_float(value->type.type) && tolerance > 0)
            value->rounded = true;
        first = first != NULL ? first : value;
    }
    return first;
}

// An activation without parameters, sometimes.
WNNActivation wnn_random_activation(struct random_graph *graph, unsigned percent)
{
    static const enum op ops[] = {WNN_OP_relu,      WNN_OP_sigmoid, WNN_OP_tanh,        WNN_OP_softsign,
                                  WNN_OP_hardSwish, WNN_OP_elu,     WNN_OP_hardSigmoid, WNN_OP_leakyRelu,
                                  WNN_OP_softplus,  WNN_OP_linear,  WNN_OP_gelu,        WNN_OP_clamp};
    enum op op = ops[below(graph, sizeof ops / sizeof ops[0])];
    if (!chance(graph, percent))
        return NULL;
    if (op == WNN_OP_clamp) {
        WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;
        options.minValue = wnnNumberFloat64(0);
        options.maxValue = wnnNumberFloat64(6);
        return wnn_builder_activation(graph->builder, op, &options);
    }
    return wnn_builder_activation(graph->builder, op, wnn_ops[op].defaults);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------------------------------------------

static void make(struct random_graph *graph, enum op op)
{
    graph->dynamic = WNN_OP_COUNT;
    if (wnn_ops[op].infer == wnn_infer_dynamic) {
        graph->dynamic = op;
        op = wnn_op_sibling(op);
    } else if (wnn_ops[op].class == CLASS_SHAPING) {
        wnn_make_shaping(graph, op);
        return;
    }
    switch (op) {
    case WNN_OP_argMin:
    case WNN_OP_argMax:
    case WNN_OP_argMinAxes:
    case WNN_OP_argMaxAxes:
        wnn_make_arg(graph, op);
        return;
    case WNN_OP_batchNormalization:
    case WNN_OP_instanceNormalization:
    case WNN_OP_layerNormalization:
        wnn_make_normalization(graph, op);
        return;
    case WNN_OP_cast:
        wnn_make_cast(graph);
        return;
    case WNN_OP_concat:
        wnn_make_concat(graph);
        return;
    case WNN_OP_conv2d:
    case WNN_OP_convTranspose2d:
        wnn_make_convolution(graph, op);
        return;
    case WNN_OP_cumulativeSum:
    case WNN_OP_softmax:
    case WNN_OP_softmax2d:
        wnn_make_along_axis(graph, op);
        return;
    case WNN_OP_quantizeLinear:
    case WNN_OP_dequantizeLinear:
        wnn_make_quantize(graph, op);
        return;
    case WNN_OP_expand:
    case WNN_OP_reshape:
    case WNN_OP_reverse:
    case WNN_OP_slice:
    case WNN_OP_split:
    case WNN_OP_tile:
    case WNN_OP_transpose:
    case WNN_OP_triangular:
    case WNN_OP_pad:
        wnn_make_movement(graph, op);
        return;
    case WNN_OP_gather:
    case WNN_OP_gatherElements:
    case WNN_OP_gatherND:
    case WNN_OP_scatterElements:
    case WNN_OP_scatterND:
        wnn_make_gather(graph, op);
        return;
    case WNN_OP_gemm:
        wnn_make_gemm(graph);
        return;
    case WNN_OP_gru:
    case WNN_OP_gruCell:
    case WNN_OP_lstm:
    case WNN_OP_lstmCell:
        wnn_make_recurrent(graph, op);
        return;
    case WNN_OP_matmul:
        if (chance(graph, 30))
            wnn_make_attention(graph);
        else
            wnn_make_matmul(graph);
        return;
    case WNN_OP_averagePool2d:
    case WNN_OP_l2Pool2d:
    case WNN_OP_maxPool2d:
        wnn_make_pool(graph, op);
        return;
    case WNN_OP_resample2d:
        wnn_make_resample(graph);
        return;
    case WNN_OP_where:
        wnn_make_where(graph);
        return;
    default:
        if (wnn_ops[op].infer == wnn_infer_reduce)
            wnn_make_reduction(graph, op);
        else if (wnn_ops[op].infer == wnn_infer_binary || wnn_ops[op].infer == wnn_infer_comparison)
            wnn_make_binary(graph, op);
        else
            wnn_make_unary(graph, op);
    }
}

// Whether an operator has one right result for NaN and infinities too. Pools may go to XNNPACK, which loses
// NaN.
static bool is_special(enum op op)
{
    return (wnn_op_is_exact(op) && op != WNN_OP_maxPool2d) || op == WNN_OP_cast;
}

void wnn_random_graph(uint64_t seed, struct random_kind kind, WNNGraphBuilder builder,
                      struct random_graph *graph)
{
    *graph = (struct random_graph){.random = seed, .kind = kind, .builder = builder, .dynamic = WNN_OP_COUNT};
    unsigned operators = 3 + below(graph, 10), made = 0;
    graph->special = !kind.hostile && chance(graph, 15);
    // Most find mistakes with less, but loops over blocks and vectors need some elements to begin.
    graph->most_elements = chance(graph, 5) && !kind.small ? MANY_ELEMENTS : ELEMENTS;
    graph->most_rank = chance(graph, 12) ? WNN_MAX_RANK : USUAL_RANK;
    graph->edges = (chance(graph, 2) || kind.edges) && !kind.small;
    // Of the seed, so that all others stay as they are.
    graph->empty = builder->limits.acceptEmptyTensors && seed % 8 == 0 && !graph->edges && !kind.hostile;
    if (graph->edges) {
        graph->most_elements = EDGE_ELEMENTS;
        operators = 1 + below(graph, 5);
    }
    for (unsigned tries = 0; made < operators && tries < 10 * operators && !graph->refused; tries++) {
        size_t before = graph->value_count, inputs = graph->input_count;
        enum op op = (enum op)below(graph, WNN_OP_COUNT);
        if (graph->special && !is_special(op))
            continue;
        if (kind.hostile && wnn_ops[op].class == CLASS_SHAPING)
            continue; // no kernel computes it, node by node
        if (kind.hostile && chance(graph, 60))
            wnn_make_fusable(graph);
        else if (graph->edges && !graph->special && chance(graph, 40))
            wnn_make_edge_convolution(graph);
        else if (graph->edges && !graph->special && chance(graph, 30))
            wnn_make_edge_product(graph);
        else if (!graph->special && chance(graph, graph->edges ? 30 : 10))
            wnn_make_quantized(graph);
        else if (!graph->special && chance(graph, 3))
            wnn_make_packed_weights(graph);
        else
            make(graph, op);
        graph->dynamic = WNN_OP_COUNT;
        made += graph->value_count - before > graph->input_count - inputs;
    }
    for (size_t i = 0; i < graph->value_count && !graph->refused; i++) {
        const struct value *value = &graph->values[i];
        const struct operand *operand = wnn_operand(value->operand);
        if (operand->producer == NULL || (value->used && !chance(graph, 10)))
            continue;
        struct random_output *output = &graph->outputs[graph->output_count++];
        snprintf(output->name, sizeof output->name, "y%u", (unsigned)i % 100000000);
        output->value = value;
    }
}

void wnn_random_graph_free(struct random_graph *graph)
{
    for (size_t i = 0; i < graph->input_count; i++)
        free(graph->inputs[i].data);
}
