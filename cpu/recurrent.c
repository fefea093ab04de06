// SPDX-License-Identifier: Apache-2.0
//
// gru and lstm, and their cells, which are one step of one direction. Gates are summed in float64 and rounded
// once, before their activation; states are kept in float32.

#include "cpu/gemm.h"

#include <math.h>

enum {
    MAX_GATES = 4
};

struct recurrent {
    bool lstm;
    unsigned gates;            // 3 or 4
    unsigned block[MAX_GATES]; // of gates z, r, n or i, o, f, g: which block of weights it has
    bool reset_after;
    const struct activation *activation[3];
    WNNRecurrentNetworkDirection direction;
    size_t steps, directions, batch, inputs, hidden;
    // NULL where absent.
    const float *input, *weight, *recurrent_weight, *bias, *recurrent_bias, *peephole;
    const float *initial_hidden, *initial_cell;
    float *hidden_out, *cell_out, *sequence; // the first two hold the states from step to step
    // [batch, hidden] each.
    double *gate[MAX_GATES];
    double *product; // gru: r * h
    float *floats;   // for an activation that works on float32
    // What weights are multiplied by in a step: [batch, inputs] and [batch, hidden].
    double *wide_input, *wide_hidden;
};

// One step of one direction.
struct step {
    const struct recurrent *recurrent;
    size_t direction;
    const float *hidden, *cell; // before the step
};

static double dot(const double *a, const float *b, size_t count)
{
    return wnn_float_kernels()->dot_double(a, b, count);
}

static double at(const float *values, size_t index)
{
    return values == NULL ? 0 : values[index];
}

// The index of unit j's row of a gate in weights and biases of all directions.
static size_t weight_row(const struct step *step, unsigned gate, size_t unit)
{
    const struct recurrent *r = step->recurrent;
    return (step->direction * r->gates + r->block[gate]) * r->hidden + unit;
}

// Items are hidden units. The gates that depend on nothing but the input and the states before the step.
static void sum_gates(void *argument, size_t begin, size_t end)
{
    const struct step *step = argument;
    const struct recurrent *r = step->recurrent;
    unsigned gates = r->lstm ? 4 : 2;

    for (size_t unit = begin; unit < end; unit++) {
        for (unsigned gate = 0; gate < gates; gate++) {
            size_t row = weight_row(step, gate, unit);
            double bias = at(r->bias, row) + at(r->recurrent_bias, row);
            for (size_t b = 0; b < r->batch; b++) {
                double sum =
                    dot(r->wide_input + b * r->inputs, r->weight + row * r->inputs, r->inputs) + bias;
                if (step->hidden != NULL)
                    sum +=
                        dot(r->wide_hidden + b * r->hidden, r->recurrent_weight + row * r->hidden, r->hidden);
                // Peepholes are in the order i, o, f, and all look at the cell before the step.
                if (r->peephole != NULL && gate < 3 && step->cell != NULL)
                    sum += (double)r->peephole[(step->direction * 3 + gate) * r->hidden + unit] *
                           step->cell[b * r->hidden + unit];
                r->gate[gate][b * r->hidden + unit] = sum;
            }
        }
    }
}

// gru's gate n, for which r is known, and r * h too unless reset_after is set.
static void sum_new_gate(void *argument, size_t begin, size_t end)
{
    const struct step *step = argument;
    const struct recurrent *r = step->recurrent;

    for (size_t unit = begin; unit < end; unit++) {
        size_t row = weight_row(step, 2, unit);
        const float *weights = r->recurrent_weight + row * r->hidden;
        for (size_t b = 0; b < r->batch; b++) {
            size_t i = b * r->hidden + unit;
            double sum =
                dot(r->wide_input + b * r->inputs, r->weight + row * r->inputs, r->inputs) + at(r->bias, row);
            double inner = at(r->recurrent_bias, row);
            if (step->hidden != NULL)
                inner +=
                    dot((r->reset_after ? r->wide_hidden : r->product) + b * r->hidden, weights, r->hidden);
            r->gate[2][i] = sum + (r->reset_after ? r->gate[1][i] * inner : inner);
        }
    }
}

// The usual functions in float64, others in float32.
static void activate(const struct recurrent *r, unsigned index, double *values)
{
    const struct activation *activation = r->activation[index];
    size_t count = r->batch * r->hidden;

    switch (activation->op) {
    case WNN_OP_sigmoid:
        for (size_t i = 0; i < count; i++)
            values[i] = 1 / (1 + exp(-values[i]));
        break;
    case WNN_OP_tanh:
        for (size_t i = 0; i < count; i++)
            values[i] = tanh(values[i]);
        break;
    case WNN_OP_relu:
        for (size_t i = 0; i < count; i++)
            values[i] = values[i] < 0 ? 0 : values[i];
        break;
    default:
        for (size_t i = 0; i < count; i++)
            r->floats[i] = (float)values[i];
        wnn_cpu_activate_floats(activation, r->floats, count, r->hidden);
        for (size_t i = 0; i < count; i++)
            values[i] = r->floats[i];
        break;
    }
}

static void gru_step(const struct recurrent *r, struct step *step, size_t grain,
                     const struct parallel *parallel, float *state)
{
    size_t count = r->batch * r->hidden;
    wnn_parallel_for(parallel, r->hidden, grain, sum_gates, step);
    activate(r, 0, r->gate[0]);
    activate(r, 0, r->gate[1]);
    if (!r->reset_after && step->hidden != NULL) {
        for (size_t i = 0; i < count; i++)
            r->product[i] = r->gate[1][i] * step->hidden[i];
    }
    wnn_parallel_for(parallel, r->hidden, grain, sum_new_gate, step);
    activate(r, 1, r->gate[2]);
    for (size_t i = 0; i < count; i++) {
        double z = r->gate[0][i];
        state[i] = (float)(z * at(step->hidden, i) + (1 - z) * r->gate[2][i]);
    }
}

static void lstm_step(const struct recurrent *r, struct step *step, size_t grain,
                      const struct parallel *parallel, float *state, float *cell)
{
    size_t count = r->batch * r->hidden;
    wnn_parallel_for(parallel, r->hidden, grain, sum_gates, step);
    for (unsigned gate = 0; gate < 3; gate++)
        activate(r, 0, r->gate[gate]);
    activate(r, 1, r->gate[3]);
    for (size_t i = 0; i < count; i++) {
        r->gate[3][i] = r->gate[2][i] * at(step->cell, i) + r->gate[0][i] * r->gate[3][i];
        cell[i] = (float)r->gate[3][i];
    }
    activate(r, 2, r->gate[3]);
    for (size_t i = 0; i < count; i++)
        state[i] = (float)(r->gate[1][i] * r->gate[3][i]);
}

static void widen(double *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
}

static void run(const struct recurrent *r, const struct parallel *parallel)
{
    size_t count = r->batch * r->hidden;
    size_t grain = 1 + 8192 / (1 + r->batch * (r->inputs + r->hidden) * r->gates);

    for (size_t d = 0; d < r->directions; d++) {
        bool backward = d == 1 || r->direction == WNNRecurrentNetworkDirection_Backward;
        float *state = r->hidden_out + d * count, *cell = r->lstm ? r->cell_out + d * count : NULL;
        struct step step = {
            .recurrent = r,
            .direction = d,
            .hidden = r->initial_hidden == NULL ? NULL : r->initial_hidden + d * count,
            .cell = r->initial_cell == NULL ? NULL : r->initial_cell + d * count,
        };
        for (size_t i = 0; i < r->steps; i++) {
            size_t time = backward ? r->steps - 1 - i : i;
            widen(r->wide_input, r->input + time * r->batch * r->inputs, r->batch * r->inputs);
            if (step.hidden != NULL)
                widen(r->wide_hidden, step.hidden, count);
            if (r->lstm)
                lstm_step(r, &step, grain, parallel, state, cell);
            else
                gru_step(r, &step, grain, parallel, state);
            step.hidden = state;
            step.cell = cell;
            if (r->sequence != NULL)
                memcpy(r->sequence + (time * r->directions + d) * count, state, count * sizeof *state);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// From nodes
// ---------------------------------------------------------------------------------------------------------------

static void set_activations(struct recurrent *r, WNNActivationList list)
{
    for (size_t i = 0; i < list.count && i < 3; i++)
        r->activation[i] = (const struct activation *)list.data[i];
}

static size_t gate_bytes(size_t batch, size_t hidden)
{
    return wnn_scratch_round(batch * hidden * sizeof(double));
}

// Sizes, the operands that all four operators have, and memory for the gates.
static void set_operands(struct recurrent *r, const struct kernel_call *call, struct scratch *scratch,
                         bool cell)
{
    const uint32_t *input = call->in[0].shape.dim;
    r->steps = cell ? 1 : input[0];
    r->batch = input[cell ? 0 : 1];
    r->inputs = input[cell ? 1 : 2];
    r->directions = r->direction == WNNRecurrentNetworkDirection_Both ? 2 : 1;
    r->input = wnn_floats_in(call, 0, scratch);
    r->weight = wnn_floats_in(call, 1, scratch);
    r->recurrent_weight = wnn_floats_in(call, 2, scratch);
    r->hidden_out = wnn_floats_out(call, 0, scratch);
    for (unsigned gate = 0; gate < r->gates; gate++)
        r->gate[gate] = wnn_scratch_take(scratch, gate_bytes(r->batch, r->hidden));
    r->product = wnn_scratch_take(scratch, gate_bytes(r->batch, r->hidden));
    r->floats = wnn_scratch_take(scratch, gate_bytes(r->batch, r->hidden));
    r->wide_hidden = wnn_scratch_take(scratch, gate_bytes(r->batch, r->hidden));
    r->wide_input = wnn_scratch_take(scratch, gate_bytes(r->batch, r->inputs));
}

static const float *optional(const struct kernel_call *call, unsigned index, struct scratch *scratch)
{
    return index < call->node->in_count ? wnn_floats_in(call, index, scratch) : NULL;
}

static void store_outputs(const struct kernel_call *call, const struct recurrent *r, unsigned sequence)
{
    wnn_floats_store(call, 0, r->hidden_out);
    if (r->lstm)
        wnn_floats_store(call, 1, r->cell_out);
    if (r->sequence != NULL)
        wnn_floats_store(call, sequence, r->sequence);
}

static void set_gru_layout(struct recurrent *r, WNNGruWeightLayout layout)
{
    bool reset_first = layout == WNNGruWeightLayout_RZN;
    r->gates = 3;
    r->block[0] = reset_first;
    r->block[1] = !reset_first;
    r->block[2] = 2;
}

static void set_lstm_layout(struct recurrent *r, WNNLstmWeightLayout layout)
{
    bool forget_second = layout == WNNLstmWeightLayout_IFGO;
    r->lstm = true;
    r->gates = 4;
    r->block[0] = 0;
    r->block[1] = forget_second ? 3 : 1;
    r->block[2] = forget_second ? 1 : 2;
    r->block[3] = forget_second ? 2 : 3;
}

void wnn_cpu_gru(const struct kernel_call *call)
{
    struct scratch scratch = {call->scratch};
    bool cell = call->node->op == WNN_OP_gruCell;
    struct recurrent r = {.direction = WNNRecurrentNetworkDirection_Forward};
    if (call->out[0].count == 0)
        return;

    if (cell) {
        const struct gru_cell_attrs *attrs = call->node->attrs;
        set_gru_layout(&r, attrs->options.layout);
        set_activations(&r, attrs->options.activations);
        r.reset_after = attrs->options.resetAfter;
        r.hidden = attrs->hiddenSize;
        r.initial_hidden = wnn_floats_in(call, 3, &scratch);
        r.bias = optional(call, 4, &scratch);
        r.recurrent_bias = optional(call, 5, &scratch);
    } else {
        const struct gru_attrs *attrs = call->node->attrs;
        set_gru_layout(&r, attrs->options.layout);
        set_activations(&r, attrs->options.activations);
        r.reset_after = attrs->options.resetAfter;
        r.direction = attrs->options.direction;
        r.hidden = attrs->hiddenSize;
        r.bias = optional(call, 3, &scratch);
        r.recurrent_bias = optional(call, 4, &scratch);
        r.initial_hidden = optional(call, 5, &scratch);
        if (call->node->out_count > 1)
            r.sequence = wnn_floats_out(call, 1, &scratch);
    }
    set_operands(&r, call, &scratch, cell);
    run(&r, call->parallel);
    store_outputs(call, &r, 1);
}

void wnn_cpu_lstm(const struct kernel_call *call)
{
    struct scratch scratch = {call->scratch};
    bool cell = call->node->op == WNN_OP_lstmCell;
    struct recurrent r = {.direction = WNNRecurrentNetworkDirection_Forward};
    if (call->out[0].count == 0)
        return;

    if (cell) {
        const struct lstm_cell_attrs *attrs = call->node->attrs;
        set_lstm_layout(&r, attrs->options.layout);
        set_activations(&r, attrs->options.activations);
        r.hidden = attrs->hiddenSize;
        r.initial_hidden = wnn_floats_in(call, 3, &scratch);
        r.initial_cell = wnn_floats_in(call, 4, &scratch);
        r.bias = optional(call, 5, &scratch);
        r.recurrent_bias = optional(call, 6, &scratch);
        r.peephole = optional(call, 7, &scratch);
    } else {
        const struct lstm_attrs *attrs = call->node->attrs;
        set_lstm_layout(&r, attrs->options.layout);
        set_activations(&r, attrs->options.activations);
        r.direction = attrs->options.direction;
        r.hidden = attrs->hiddenSize;
        r.bias = optional(call, 3, &scratch);
        r.recurrent_bias = optional(call, 4, &scratch);
        r.peephole = optional(call, 5, &scratch);
        r.initial_hidden = optional(call, 6, &scratch);
        r.initial_cell = optional(call, 7, &scratch);
        if (call->node->out_count > 2)
            r.sequence = wnn_floats_out(call, 2, &scratch);
    }
    r.cell_out = wnn_floats_out(call, 1, &scratch);
    set_operands(&r, call, &scratch, cell);
    run(&r, call->parallel);
    store_outputs(call, &r, 2);
}

// A [.., batch, hidden] output gives the size of a state.
static size_t recurrent_scratch(const struct node *node, size_t gates)
{
    const struct shape *output = &node->out[0]->type.shape, *input = &node->in[0]->type.shape;
    size_t batch = output->dim[output->rank - 2];
    return wnn_floats_scratch(node) + (gates + 3) * gate_bytes(batch, output->dim[output->rank - 1]) +
           gate_bytes(batch, input->dim[input->rank - 1]);
}

size_t wnn_cpu_gru_scratch(const struct node *node, unsigned threads)
{
    (void)threads;
    return recurrent_scratch(node, 3);
}

size_t wnn_cpu_lstm_scratch(const struct node *node, unsigned threads)
{
    (void)threads;
    return recurrent_scratch(node, 4);
}
