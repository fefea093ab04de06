// SPDX-License-Identifier: Apache-2.0
//
// Random graphs: matrix products and recurrent networks.

#include "conformance/cross/generator.h"

#include <string.h>

void wnn_make_gemm(struct random_graph *graph)
{
    struct value *operands[2] = {wnn_random_pick(graph, any_of(FLOATS, 2, 2))};
    struct value *a = operands[0];
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    if (a == NULL || !fits(a, magnitude(a) * 8 * fmax(a->type.shape.dim[0], a->type.shape.dim[1])))
        return;
    options.aTranspose = chance(graph, 40);
    options.bTranspose = chance(graph, 40);
    uint32_t rows = a->type.shape.dim[options.aTranspose ? 1 : 0],
             inner = a->type.shape.dim[options.aTranspose ? 0 : 1];
    uint32_t columns = wnn_random_size(graph);
    struct shape b = {2, {options.bTranspose ? columns : inner, options.bTranspose ? inner : columns}};
    operands[1] = wnn_random_new(graph, a->type.type, b);
    if (chance(graph, 50))
        options.alpha = between(graph, -2, 2);
    if (chance(graph, 60)) {
        struct shape c = wnn_random_broadcastable(graph, &(struct shape){2, {rows, columns}});
        options.c = operand_of(wnn_random_new(graph, a->type.type, c));
        options.beta = chance(graph, 50) ? 1 : between(graph, -2, 2);
    }
    double most = magnitude(a) * 4.2 * inner + 5;
    wnn_random_emit(graph, WNN_OP_gemm, 2, operands, &options, -most, most);
}

void wnn_make_matmul(struct random_graph *graph)
{
    struct value *operands[2] = {wnn_random_pick(graph, any_of(FLOATS, 2, WNN_MAX_RANK))};
    struct value *a = operands[0];
    if (a == NULL || !fits(a, magnitude(a) * 4 * a->type.shape.dim[a->type.shape.rank - 1]))
        return;
    struct shape b = wnn_random_broadcastable(graph, &(struct shape){0, {0}});
    const struct shape *shape = &a->type.shape;
    if (chance(graph, 60)) {
        struct shape batches = *shape;
        batches.rank -= 2;
        b = wnn_random_broadcastable(graph, &batches);
    }
    b.dim[b.rank++] = shape->dim[shape->rank - 1];
    b.dim[b.rank++] = wnn_random_size(graph);
    operands[1] = wnn_random_new(graph, a->type.type, b);
    double most = magnitude(a) * 2.1 * shape->dim[shape->rank - 1];
    wnn_random_emit(graph, WNN_OP_matmul, 2, operands, wnn_ops[WNN_OP_matmul].defaults, -most, most);
}

// New matrices, perhaps by way of a transpose.
static struct value *new_matrices(struct random_graph *graph, WNNDataType type, struct shape heads,
                                  uint32_t rows, uint32_t columns)
{
    bool turned = chance(graph, 50);
    uint32_t order[WNN_MAX_RANK];
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    heads.dim[heads.rank++] = turned ? columns : rows;
    heads.dim[heads.rank++] = turned ? rows : columns;
    struct value *value = wnn_random_new(graph, type, heads);
    if (!turned)
        return value;
    for (unsigned i = 0; i < heads.rank; i++)
        order[i] = i;
    order[heads.rank - 2] = heads.rank - 1;
    order[heads.rank - 1] = heads.rank - 2;
    options.permutation = (WNNUint32List){order, heads.rank};
    return wnn_random_emit(graph, WNN_OP_transpose, 1, &value, &options, -2, 2);
}

#define EDGE_SCORES 40000 // a kernel takes 32768 at a time

// What the compiler makes one operator of: softmax(q * k * scale + mask) * v.
void wnn_make_attention(struct random_graph *graph)
{
    WNNDataType type = wnn_random_type(graph, FLOATS);
    struct shape heads = {below(graph, 3), {1 + below(graph, 2), 1}}, shared = heads;
    uint32_t rows = 7 + below(graph, 10), depth = 1 + below(graph, 8);
    uint32_t columns = some(graph, 20), width = some(graph, 8);
    if (graph->edges) {
        rows = wnn_random_edge(graph, 130);
        columns = wnn_random_edge(graph, EDGE_SCORES / rows);
        depth = wnn_random_edge(graph, 66);
        width = wnn_random_edge(graph, 66);
    }
    if (chance(graph, 30))
        shared.dim[0] = 1;
    double most = 4 * depth;
    struct value *pair[2] = {new_matrices(graph, type, heads, rows, depth),
                             new_matrices(graph, type, shared, depth, columns)};
    struct value *scores =
        wnn_random_emit(graph, WNN_OP_matmul, 2, pair, wnn_ops[WNN_OP_matmul].defaults, -most, most);
    if (chance(graph, 60)) {
        struct value *scaled[2] = {scores, wnn_random_new(graph, type, (struct shape){0, {0}})};
        most *= 2;
        scores = wnn_random_emit(graph, WNN_OP_mul, 2, scaled, wnn_ops[WNN_OP_mul].defaults, -most, most);
    }
    if (scores != NULL && chance(graph, 60)) {
        struct shape mask = wnn_random_broadcastable(graph, &scores->type.shape);
        struct value *masked[2] = {scores, wnn_random_new(graph, type, mask)};
        most += 2;
        scores = wnn_random_emit(graph, WNN_OP_add, 2, masked, wnn_ops[WNN_OP_add].defaults, -most, most);
    }
    struct softmax_attrs softmax = {WNN_OPERATOR_OPTIONS_INIT, heads.rank + 1};
    pair[0] = wnn_random_emit(graph, WNN_OP_softmax, 1, &scores, &softmax, 0, 1);
    pair[1] = new_matrices(graph, type, shared, columns, width);
    wnn_random_emit(graph, WNN_OP_matmul, 2, pair, wnn_ops[WNN_OP_matmul].defaults, -2, 2);
}

static struct shape shape_of(unsigned rank, uint32_t a, uint32_t b, uint32_t c)
{
    return (struct shape){rank, {a, b, c}};
}

void wnn_make_recurrent(struct random_graph *graph, enum op op)
{
    bool cell = op == WNN_OP_gruCell || op == WNN_OP_lstmCell,
         lstm = op == WNN_OP_lstm || op == WNN_OP_lstmCell;
    uint32_t steps = cell ? 1 : some(graph, 4), batch = some(graph, 3), size = some(graph, 5),
             hidden = some(graph, 6), blocks = lstm ? 4 : 3;
    WNNRecurrentNetworkDirection direction = (WNNRecurrentNetworkDirection)(1 + below(graph, 3));
    uint32_t directions = !cell && direction == WNNRecurrentNetworkDirection_Both ? 2 : 1;
    WNNDataType type = wnn_random_type(graph, FLOATS);
    unsigned first = cell ? 1 : 0; // cells have no leading dimension
    const struct shape shapes[] = {
        shape_of(3, steps, batch, size),
        shape_of(3, directions, blocks * hidden, size),
        shape_of(3, directions, blocks * hidden, hidden),
        shape_of(3, directions, batch, hidden),      // states
        shape_of(2, directions, blocks * hidden, 0), // biases
        shape_of(2, directions, 3 * hidden, 0),      // peepholes
    };
    struct value *values[9] = {
        NULL}; // input, weight, recurrent weight, hidden, cell, bias, recurrent bias, peephole
    static const unsigned kinds[] = {0, 1, 2, 3, 3, 4, 4, 5};
    for (unsigned i = 0; i < 8; i++) {
        struct shape shape = shapes[kinds[i]];
        if (first == 1) {
            memmove(shape.dim, shape.dim + 1, (shape.rank - 1) * sizeof shape.dim[0]);
            shape.rank--;
        }
        if (i < 3 || (cell && i < (lstm ? 5u : 4u)) || chance(graph, 50))
            values[i] = wnn_random_new_within(graph, type, shape, -1, 1);
    }
    WNNActivation chosen[3];
    WNNActivationList activations = WNN_ACTIVATION_LIST_INIT;
    if (chance(graph, 40)) {
        static const enum op ops[] = {WNN_OP_sigmoid, WNN_OP_tanh, WNN_OP_softsign, WNN_OP_hardSigmoid};
        activations = (WNNActivationList){chosen, lstm ? 3 : 2};
        for (unsigned i = 0; i < activations.count; i++) {
            enum op activation = ops[below(graph, 4)];
            chosen[i] = wnn_builder_activation(graph->builder, activation, wnn_ops[activation].defaults);
        }
    }
    WNNOperand bias = operand_of(values[5]), recurrent_bias = operand_of(values[6]),
               peephole = operand_of(values[7]);
    bool reset_after = chance(graph, 50), sequence = chance(graph, 50);
    WNNGruWeightLayout gru_layout = (WNNGruWeightLayout)(1 + below(graph, 2));
    WNNLstmWeightLayout lstm_layout = (WNNLstmWeightLayout)(1 + below(graph, 2));
    double most = steps + 2.0;
    if (op == WNN_OP_gru) {
        struct gru_attrs attrs = {{NULL, WNN_STRING_VIEW_INIT, bias, recurrent_bias, operand_of(values[3]),
                                   reset_after, sequence, direction, gru_layout, activations},
                                  steps,
                                  hidden};
        wnn_random_emit(graph, op, 3, values, &attrs, -most, most);
    } else if (op == WNN_OP_gruCell) {
        struct gru_cell_attrs attrs = {
            {NULL, WNN_STRING_VIEW_INIT, bias, recurrent_bias, reset_after, gru_layout, activations}, hidden};
        wnn_random_emit(graph, op, 4, values, &attrs, -most, most);
    } else if (op == WNN_OP_lstm) {
        struct lstm_attrs attrs = {{NULL, WNN_STRING_VIEW_INIT, bias, recurrent_bias, peephole,
                                    operand_of(values[3]), operand_of(values[4]), sequence, direction,
                                    lstm_layout, activations},
                                   steps,
                                   hidden};
        wnn_random_emit(graph, op, 3, values, &attrs, -most, most);
    } else {
        struct lstm_cell_attrs attrs = {
            {NULL, WNN_STRING_VIEW_INIT, bias, recurrent_bias, peephole, lstm_layout, activations}, hidden};
        wnn_random_emit(graph, op, 5, values, &attrs, -most, most);
    }
}
