// SPDX-License-Identifier: Apache-2.0
//
// Inference of gru, gruCell, lstm and lstmCell.

#include "ops/attrs.h"

// That an operand, if there is one, has this shape.
static bool check_shape(struct op_call *call, unsigned index, unsigned rank, const uint32_t *dims)
{
    const struct operand *operand = call->in[index];
    struct shape expected = {0};
    wnn_shape_append(&expected, dims, rank);
    if (operand && wnn_shapes_differ(call->sizes, &operand->type.shape, &expected))
        return wnn_op_fail(call, "%s has shape %s; expected %s (input %s)", call->info->rows[index].name,
                           SHAPE_OF(call, &operand->type.shape), SHAPE_OF(call, &expected),
                           SHAPE_OF(call, &call->in[0]->type.shape));
    return true;
}

// hiddenSize and `blocks` of it are valid dimensions.
static bool check_hidden_size(struct op_call *call, uint32_t hidden_size, unsigned blocks)
{
    uint32_t least = wnn_min_dimension(call->limits);
    if (hidden_size < least || (uint64_t)hidden_size * blocks > WNN_MAX_DIMENSION)
        return wnn_op_fail(call, "hiddenSize is %u; expected %u to %u", hidden_size, least,
                           WNN_MAX_DIMENSION / blocks);
    return true;
}

// Completes the activations for the data type, or sets the defaults: sigmoid, then tanh.
static bool complete_activations(struct op_call *call, WNNActivationList *list, unsigned count)
{
    static const WNNOperatorOptions no_options = WNN_OPERATOR_OPTIONS_INIT;
    if (list->count != 0 && list->count != count)
        return wnn_op_fail(call, "activations has %zu items; expected %u", list->count, count);
    WNNActivation *items = wnn_arena_allocate(call->arena, count * sizeof items[0]);
    if (!items)
        return wnn_fail_memory(call->error);
    for (unsigned i = 0; i < count; i++) {
        struct activation given = {NULL, i == 0 ? WNN_OP_sigmoid : WNN_OP_tanh, &no_options};
        if (list->count)
            given = *wnn_activation(list->data[i]);
        struct activation *complete = wnn_arena_allocate(call->arena, sizeof *complete);
        if (!complete)
            return wnn_fail_memory(call->error);
        if (!wnn_activation_complete(call, &given, call->in[0]->type.type, complete))
            return false;
        items[i] = (WNNActivation)complete;
    }
    *list = (WNNActivationList){items, count};
    return true;
}

// The sizes that all of one recurrent operator's shapes are made of.
struct network {
    uint32_t directions, steps, batch, input_size, hidden_size;
};

// What gru and lstm have in common: input, weights, biases, the first state. `gates` is 3 or 4; `states` are
// the input rows of the initial states, `bias` the first of the two biases.
static bool check_network(struct op_call *call, uint32_t steps, uint32_t hidden_size,
                          WNNRecurrentNetworkDirection direction, unsigned gates, struct network *network)
{
    const struct shape *input = &call->in[0]->type.shape;
    if (wnn_sizes_differ(call->sizes, input->dim[0], steps))
        return wnn_op_fail(call, "steps is %s; expected %s, the first dimension of input %s",
                           SIZE_OF(call, steps), SIZE_OF(call, input->dim[0]), SHAPE_OF(call, input));
    if (!check_hidden_size(call, hidden_size, 2 * gates))
        return false;
    *network = (struct network){direction == WNNRecurrentNetworkDirection_Both ? 2 : 1, steps, input->dim[1],
                                input->dim[2], hidden_size};
    uint32_t d = network->directions, h = hidden_size;
    return check_shape(call, 1, 3, (uint32_t[]){d, gates * h, network->input_size}) &&
           check_shape(call, 2, 3, (uint32_t[]){d, gates * h, h}) &&
           check_shape(call, 3, 2, (uint32_t[]){d, gates * h}) &&
           check_shape(call, 4, 2, (uint32_t[]){d, gates * h});
}

static void set_network_outputs(struct op_call *call, const struct network *network, unsigned states,
                                bool sequence)
{
    struct shape state = {3, {network->directions, network->batch, network->hidden_size}};
    for (unsigned i = 0; i < states; i++)
        call->out[i] = (struct descriptor){call->in[0]->type.type, state};
    call->out_count = states;
    if (sequence)
        call->out[call->out_count++] = (struct descriptor){
            call->in[0]->type.type,
            {4, {network->steps, network->directions, network->batch, network->hidden_size}}};
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gru
bool wnn_infer_gru(struct op_call *call)
{
    struct gru_attrs *attrs = call->attrs;
    struct network network = {0};
    if (!check_network(call, attrs->steps, attrs->hiddenSize, attrs->options.direction, 3, &network) ||
        !check_shape(call, 5, 3, (uint32_t[]){network.directions, network.batch, network.hidden_size}) ||
        !complete_activations(call, &attrs->options.activations, 2))
        return false;
    set_network_outputs(call, &network, 1, attrs->options.returnSequence);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-lstm
bool wnn_infer_lstm(struct op_call *call)
{
    struct lstm_attrs *attrs = call->attrs;
    struct network network = {0};
    if (!check_network(call, attrs->steps, attrs->hiddenSize, attrs->options.direction, 4, &network))
        return false;
    uint32_t state[] = {network.directions, network.batch, network.hidden_size};
    if (!check_shape(call, 5, 2, (uint32_t[]){network.directions, 3 * network.hidden_size}) ||
        !check_shape(call, 6, 3, state) || !check_shape(call, 7, 3, state) ||
        !complete_activations(call, &attrs->options.activations, 3))
        return false;
    set_network_outputs(call, &network, 2, attrs->options.returnSequence);
    return true;
}

// What the cells have in common. `bias` is the input row of the first of two biases; the states come before
// it.
static bool check_cell(struct op_call *call, uint32_t hidden_size, unsigned gates, unsigned bias)
{
    const struct shape *input = &call->in[0]->type.shape;
    if (!check_hidden_size(call, hidden_size, 2 * gates))
        return false;
    uint32_t rows = gates * hidden_size, state[] = {input->dim[0], hidden_size};
    if (!check_shape(call, 1, 2, (uint32_t[]){rows, input->dim[1]}) ||
        !check_shape(call, 2, 2, (uint32_t[]){rows, hidden_size}))
        return false;
    for (unsigned i = 3; i < bias; i++)
        if (!check_shape(call, i, 2, state))
            return false;
    if (!check_shape(call, bias, 1, &rows) || !check_shape(call, bias + 1, 1, &rows))
        return false;
    for (unsigned i = 0; i < 2; i++)
        call->out[i] = (struct descriptor){call->in[0]->type.type, {2, {state[0], state[1]}}};
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-grucell
bool wnn_infer_gruCell(struct op_call *call)
{
    struct gru_cell_attrs *attrs = call->attrs;
    return check_cell(call, attrs->hiddenSize, 3, 4) &&
           complete_activations(call, &attrs->options.activations, 2);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-lstmcell
bool wnn_infer_lstmCell(struct op_call *call)
{
    struct lstm_cell_attrs *attrs = call->attrs;
    uint32_t peephole = 3 * attrs->hiddenSize; // only looked at once hiddenSize is known to be small enough
    call->out_count = 2;
    return check_cell(call, attrs->hiddenSize, 4, 5) && check_shape(call, 7, 1, &peephole) &&
           complete_activations(call, &attrs->options.activations, 3);
}
