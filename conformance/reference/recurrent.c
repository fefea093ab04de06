// SPDX-License-Identifier: Apache-2.0
//
// Reference: recurrent networks. One step of one row of the batch at a time, with the states kept as doubles
// from step to step and rounded only where they are outputs. The operators that do a single step are the
// sequences of one step.

#include "conformance/reference/kernels.h"

#include <stdlib.h>

enum {
    GATE_UPDATE,
    GATE_RESET,
    GATE_NEW
}; // of gru
enum {
    GATE_INPUT,
    GATE_OUTPUT,
    GATE_FORGET,
    GATE_CELL
}; // of lstm; the first three have peepholes

struct network {
    bool lstm;
    const struct tensor *input, *weight, *recurrent_weight, *bias, *recurrent_bias;
    const struct tensor *peephole, *first_cell; // lstm's
    const struct tensor *first_hidden;
    const struct tensor *last_hidden, *last_cell, *sequence; // NULL: not wanted
    WNNRecurrentNetworkDirection direction;
    bool reset_after;
    unsigned block[4]; // by gate: which block of rows of weights and biases is its
    const WNNActivationList *activations;
    size_t steps, batches, input_size, hidden_size;
};

// The state of one row, and room for the gates of one step.
struct row {
    double *hidden, *cell;
    double *gates[4];
};

// Element `i` of weight · x + bias for one gate, x being row `batch` of the input at `step`.
static double from_input(const struct network *network, size_t direction, unsigned gate, size_t i,
                         size_t step, size_t batch)
{
    unsigned blocks = network->lstm ? 4 : 3;
    size_t line = (direction * blocks + network->block[gate]) * network->hidden_size + i;
    double sum = network->bias->data != NULL ? load(network->bias, line) : 0;
    for (size_t k = 0; k < network->input_size; k++)
        sum += load(network->weight, line * network->input_size + k) *
               load(network->input, (step * network->batches + batch) * network->input_size + k);
    return sum;
}

// Element `i` of recurrentWeight · hidden + recurrentBias for one gate, with each hidden[k] scaled by
// scale[k] if given.
static double from_hidden(const struct network *network, size_t direction, unsigned gate, size_t i,
                          const double *hidden, const double *scale)
{
    unsigned blocks = network->lstm ? 4 : 3;
    size_t line = (direction * blocks + network->block[gate]) * network->hidden_size + i;
    double sum = network->recurrent_bias->data != NULL ? load(network->recurrent_bias, line) : 0;
    for (size_t k = 0; k < network->hidden_size; k++)
        sum += load(network->recurrent_weight, line * network->hidden_size + k) * hidden[k] *
               (scale != NULL ? scale[k] : 1);
    return sum;
}

static void activate(const struct network *network, unsigned which, double *row)
{
    wnn_reference_activate_row(wnn_activation(network->activations->data[which]), network->input->type, row,
                               network->hidden_size);
}

static void gru_step(const struct network *network, size_t direction, size_t step, size_t batch,
                     struct row *row)
{
    double *update = row->gates[0], *reset = row->gates[1], *new = row->gates[2];
    for (size_t i = 0; i < network->hidden_size; i++) {
        update[i] = from_input(network, direction, GATE_UPDATE, i, step, batch) +
                    from_hidden(network, direction, GATE_UPDATE, i, row->hidden, NULL);
        reset[i] = from_input(network, direction, GATE_RESET, i, step, batch) +
                   from_hidden(network, direction, GATE_RESET, i, row->hidden, NULL);
    }
    activate(network, 0, update);
    activate(network, 0, reset);
    for (size_t i = 0; i < network->hidden_size; i++) {
        new[i] = from_input(network, direction, GATE_NEW, i, step, batch);
        if (network->reset_after)
            new[i] += reset[i] * from_hidden(network, direction, GATE_NEW, i, row->hidden, NULL);
        else
            new[i] += from_hidden(network, direction, GATE_NEW, i, row->hidden, reset);
    }
    activate(network, 1, new);
    for (size_t i = 0; i < network->hidden_size; i++)
        row->hidden[i] = update[i] * row->hidden[i] + (1 - update[i]) * new[i];
}

static void lstm_step(const struct network *network, size_t direction, size_t step, size_t batch,
                      struct row *row)
{
    for (unsigned gate = 0; gate < 4; gate++) {
        for (size_t i = 0; i < network->hidden_size; i++) {
            double x = from_input(network, direction, gate, i, step, batch) +
                       from_hidden(network, direction, gate, i, row->hidden, NULL);
            if (gate != GATE_CELL && network->peephole->data != NULL)
                x +=
                    row->cell[i] * load(network->peephole, (direction * 3 + gate) * network->hidden_size + i);
            row->gates[gate][i] = x;
        }
        activate(network, gate == GATE_CELL ? 1 : 0, row->gates[gate]);
    }
    for (size_t i = 0; i < network->hidden_size; i++) {
        row->cell[i] =
            row->gates[GATE_FORGET][i] * row->cell[i] + row->gates[GATE_INPUT][i] * row->gates[GATE_CELL][i];
        row->hidden[i] = row->cell[i];
    }
    activate(network, 2, row->hidden);
    for (size_t i = 0; i < network->hidden_size; i++)
        row->hidden[i] *= row->gates[GATE_OUTPUT][i];
}

static void store_row(const struct network *network, const struct tensor *tensor, size_t at,
                      const double *row)
{
    for (size_t i = 0; tensor != NULL && tensor->data != NULL && i < network->hidden_size; i++)
        store(tensor, at * network->hidden_size + i, row != NULL ? row[i] : NAN);
}

static void run(const struct network *network)
{
    size_t size = network->hidden_size,
           directions = network->direction == WNNRecurrentNetworkDirection_Both ? 2 : 1;
    double *memory = calloc(6 * size, sizeof(double));
    for (size_t direction = 0; direction < directions; direction++)
        for (size_t batch = 0; batch < network->batches; batch++) {
            size_t at = direction * network->batches + batch;
            struct row row = {0};
            if (memory != NULL) {
                row.hidden = memory;
                row.cell = memory + size;
                for (unsigned gate = 0; gate < 4; gate++)
                    row.gates[gate] = memory + (2 + gate) * size;
                for (size_t i = 0; i < size; i++) {
                    row.hidden[i] =
                        network->first_hidden->data != NULL ? load(network->first_hidden, at * size + i) : 0;
                    row.cell[i] = network->lstm && network->first_cell->data != NULL
                                      ? load(network->first_cell, at * size + i)
                                      : 0;
                }
            }
            bool backward = network->direction == WNNRecurrentNetworkDirection_Backward || direction == 1;
            for (size_t k = 0; k < network->steps; k++) {
                size_t step = backward ? network->steps - 1 - k : k;
                if (memory != NULL)
                    (network->lstm ? lstm_step : gru_step)(network, direction, step, batch, &row);
                store_row(network, network->sequence,
                          (step * directions + direction) * network->batches + batch, row.hidden);
            }
            store_row(network, network->last_hidden, at, row.hidden);
            store_row(network, network->last_cell, at, row.cell);
        }
    free(memory);
}

static void set_gru_layout(struct network *network, WNNGruWeightLayout layout)
{
    bool rzn = layout == WNNGruWeightLayout_RZN;
    network->block[GATE_UPDATE] = rzn ? 1 : 0;
    network->block[GATE_RESET] = rzn ? 0 : 1;
    network->block[GATE_NEW] = 2;
}

static void set_lstm_layout(struct network *network, WNNLstmWeightLayout layout)
{
    bool ifgo = layout == WNNLstmWeightLayout_IFGO;
    network->lstm = true;
    network->block[GATE_INPUT] = 0;
    network->block[GATE_OUTPUT] = ifgo ? 3 : 1;
    network->block[GATE_FORGET] = ifgo ? 1 : 2;
    network->block[GATE_CELL] = ifgo ? 2 : 3;
}

void wnn_reference_gru(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct gru_attrs *attrs = node->attrs;
    struct network network = {
        .input = &in[0],
        .weight = &in[1],
        .recurrent_weight = &in[2],
        .bias = &in[3],
        .recurrent_bias = &in[4],
        .first_hidden = &in[5],
        .last_hidden = &out[0],
        .sequence = node->out_count > 1 ? &out[1] : NULL,
        .direction = attrs->options.direction,
        .reset_after = attrs->options.resetAfter,
        .activations = &attrs->options.activations,
        .steps = attrs->steps,
        .batches = in[0].shape.dim[1],
        .input_size = in[0].shape.dim[2],
        .hidden_size = attrs->hiddenSize,
    };
    set_gru_layout(&network, attrs->options.layout);
    run(&network);
}

void wnn_reference_gru_cell(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct gru_cell_attrs *attrs = node->attrs;
    struct network network = {
        .input = &in[0],
        .weight = &in[1],
        .recurrent_weight = &in[2],
        .first_hidden = &in[3],
        .bias = &in[4],
        .recurrent_bias = &in[5],
        .last_hidden = &out[0],
        .direction = WNNRecurrentNetworkDirection_Forward,
        .reset_after = attrs->options.resetAfter,
        .activations = &attrs->options.activations,
        .steps = 1,
        .batches = in[0].shape.dim[0],
        .input_size = in[0].shape.dim[1],
        .hidden_size = attrs->hiddenSize,
    };
    set_gru_layout(&network, attrs->options.layout);
    run(&network);
}

void wnn_reference_lstm(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct lstm_attrs *attrs = node->attrs;
    struct network network = {
        .input = &in[0],
        .weight = &in[1],
        .recurrent_weight = &in[2],
        .bias = &in[3],
        .recurrent_bias = &in[4],
        .peephole = &in[5],
        .first_hidden = &in[6],
        .first_cell = &in[7],
        .last_hidden = &out[0],
        .last_cell = &out[1],
        .sequence = node->out_count > 2 ? &out[2] : NULL,
        .direction = attrs->options.direction,
        .activations = &attrs->options.activations,
        .steps = attrs->steps,
        .batches = in[0].shape.dim[1],
        .input_size = in[0].shape.dim[2],
        .hidden_size = attrs->hiddenSize,
    };
    set_lstm_layout(&network, attrs->options.layout);
    run(&network);
}

void wnn_reference_lstm_cell(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct lstm_cell_attrs *attrs = node->attrs;
    struct network network = {
        .input = &in[0],
        .weight = &in[1],
        .recurrent_weight = &in[2],
        .first_hidden = &in[3],
        .first_cell = &in[4],
        .bias = &in[5],
        .recurrent_bias = &in[6],
        .peephole = &in[7],
        .last_hidden = &out[0],
        .last_cell = &out[1],
        .direction = WNNRecurrentNetworkDirection_Forward,
        .activations = &attrs->options.activations,
        .steps = 1,
        .batches = in[0].shape.dim[0],
        .input_size = in[0].shape.dim[1],
        .hidden_size = attrs->hiddenSize,
    };
    set_lstm_layout(&network, attrs->options.layout);
    run(&network);
}
