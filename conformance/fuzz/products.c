// SPDX-License-Identifier: Apache-2.0
//
// Products and recurrent networks.
#include "conformance/fuzz/operands.h"

void fuzz_prepare_gemm(struct recorder *r, struct call *call)
{
    WNNGemmOptions *options = (void *)call->attrs;
    struct descriptor a;
    put(call, fuzz_pick(r, FLOATS, 2, 2, &a));
    options->aTranspose = CHANCE(r, 80);
    options->bTranspose = CHANCE(r, 100);
    uint32_t m = a.shape.dim[options->aTranspose], k = a.shape.dim[!options->aTranspose];
    uint32_t n = fuzz_limited(r, FILTER / (k + 1) + 1);
    put(call,
        fuzz_like(r, a.type, options->bTranspose ? (struct shape){2, {n, k}} : (struct shape){2, {k, n}}));
    options->c = fuzz_maybe_like(r, 140, a.type, fuzz_narrowed(r, (struct shape){2, {m, n}}));
    options->alpha = CHANCE(r, 60) ? fuzz_take_real(r) : 1;
    options->beta = CHANCE(r, 60) ? fuzz_take_real(r) : 1;
}

void fuzz_prepare_matmul(struct recorder *r, struct call *call)
{
    struct descriptor a;
    put(call, fuzz_pick(r, FLOATS, 2, WNN_MAX_RANK, &a));
    struct shape batch = a.shape, b;
    batch.rank -= 2;
    b = fuzz_narrowed(r, batch);
    uint32_t k = a.shape.dim[a.shape.rank - 1];
    wnn_shape_append(&b, (uint32_t[]){k, fuzz_limited(r, FILTER / (k + 1) + 1)}, 2);
    put(call, fuzz_like(r, a.type, b));
}

static WNNActivationList take_activations(struct recorder *r, unsigned count)
{
    WNNActivationList list = WNN_ACTIVATION_LIST_INIT;
    if (!CHANCE(r, 80) || r->list_count == MAX_LISTS)
        return list;
    WNNActivation *items = r->lists[r->list_count++].activations;
    for (unsigned i = 0; i < count; i++)
        if (!(items[i] = fuzz_take_activation(r)))
            return list;
    return (WNNActivationList){items, count};
}

void fuzz_prepare_network(struct recorder *r, struct call *call)
{
    bool lstm = call->op == WNN_OP_lstm;
    uint32_t gates = lstm ? 4 : 3, hidden = fuzz_take_hidden(r);
    struct descriptor input;
    WNNOperand x = fuzz_pick(r, FLOATS, 3, 3, &input);
    uint32_t steps = input.shape.dim[0], batch = input.shape.dim[1], columns = input.shape.dim[2];
    WNNRecurrentNetworkDirection direction = (WNNRecurrentNetworkDirection)(1 + BELOW(r, 3));
    uint32_t d = direction == WNNRecurrentNetworkDirection_Both ? 2 : 1;
    struct shape bias = {2, {d, gates * hidden}}, state = {3, {d, batch, hidden}};
    put(call, x);
    put(call, fuzz_like(r, input.type, (struct shape){3, {d, gates * hidden, columns}}));
    put(call, fuzz_like(r, input.type, (struct shape){3, {d, gates * hidden, hidden}}));
    if (lstm) {
        struct lstm_attrs *attrs = (void *)call->attrs;
        attrs->steps = steps;
        attrs->hiddenSize = hidden;
        attrs->options.direction = direction;
        attrs->options.bias = fuzz_maybe_like(r, 128, input.type, bias);
        attrs->options.recurrentBias = fuzz_maybe_like(r, 128, input.type, bias);
        attrs->options.peepholeWeight =
            fuzz_maybe_like(r, 100, input.type, (struct shape){2, {d, 3 * hidden}});
        attrs->options.initialHiddenState = fuzz_maybe_like(r, 128, input.type, state);
        attrs->options.initialCellState = fuzz_maybe_like(r, 128, input.type, state);
        attrs->options.returnSequence = CHANCE(r, 128);
        attrs->options.layout = (WNNLstmWeightLayout)(1 + BELOW(r, 2));
        attrs->options.activations = take_activations(r, 3);
    } else {
        struct gru_attrs *attrs = (void *)call->attrs;
        attrs->steps = steps;
        attrs->hiddenSize = hidden;
        attrs->options.direction = direction;
        attrs->options.bias = fuzz_maybe_like(r, 128, input.type, bias);
        attrs->options.recurrentBias = fuzz_maybe_like(r, 128, input.type, bias);
        attrs->options.initialHiddenState = fuzz_maybe_like(r, 128, input.type, state);
        attrs->options.resetAfter = CHANCE(r, 128);
        attrs->options.returnSequence = CHANCE(r, 128);
        attrs->options.layout = (WNNGruWeightLayout)(1 + BELOW(r, 2));
        attrs->options.activations = take_activations(r, 2);
    }
}

void fuzz_prepare_cell(struct recorder *r, struct call *call)
{
    bool lstm = call->op == WNN_OP_lstmCell;
    uint32_t gates = lstm ? 4 : 3, hidden = fuzz_take_hidden(r);
    struct descriptor input;
    WNNOperand x = fuzz_pick(r, FLOATS, 2, 2, &input);
    struct shape state = {2, {input.shape.dim[0], hidden}};
    put(call, x);
    put(call, fuzz_like(r, input.type, (struct shape){2, {gates * hidden, input.shape.dim[1]}}));
    put(call, fuzz_like(r, input.type, (struct shape){2, {gates * hidden, hidden}}));
    put(call, fuzz_like(r, input.type, state));
    if (lstm) {
        struct lstm_cell_attrs *attrs = (void *)call->attrs;
        put(call, fuzz_like(r, input.type, state));
        attrs->hiddenSize = hidden;
        attrs->options.bias = fuzz_maybe_like(r, 128, input.type, vector(gates * hidden));
        attrs->options.recurrentBias = fuzz_maybe_like(r, 128, input.type, vector(gates * hidden));
        attrs->options.peepholeWeight = fuzz_maybe_like(r, 128, input.type, vector(3 * hidden));
        attrs->options.layout = (WNNLstmWeightLayout)(1 + BELOW(r, 2));
        attrs->options.activations = take_activations(r, 3);
    } else {
        struct gru_cell_attrs *attrs = (void *)call->attrs;
        attrs->hiddenSize = hidden;
        attrs->options.bias = fuzz_maybe_like(r, 128, input.type, vector(gates * hidden));
        attrs->options.recurrentBias = fuzz_maybe_like(r, 128, input.type, vector(gates * hidden));
        attrs->options.resetAfter = CHANCE(r, 128);
        attrs->options.layout = (WNNGruWeightLayout)(1 + BELOW(r, 2));
        attrs->options.activations = take_activations(r, 2);
    }
}
