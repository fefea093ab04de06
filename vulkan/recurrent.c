// SPDX-License-Identifier: Apache-2.0
//
// gru, lstm and their cells, which are sequences of one step: what comes from the input for all steps at
// once, then the steps in one dispatch, then the results in the types and places of the outputs.

#include "vulkan/operators.h"

struct network {
    bool lstm, reset_after, backward;
    const struct tensor *input, *weight, *recurrent_weight, *bias, *recurrent_bias, *peephole, *first_hidden,
        *first_cell;
    const struct tensor *last_hidden, *last_cell, *sequence; // NULL: not wanted
    uint32_t block[4]; // by gate: which block of lines of the weights is its
    const WNNActivationList *activations;
    uint32_t directions, steps, batches, inputs, size;
};

// Scratch memory in bytes: the input's part, then rows of states and gates, then results.
struct places {
    uint64_t rows, results, end;
    uint64_t row_words, cell, sequence; // of the results in elements
};

static struct places places_of(bool lstm, uint64_t directions, uint64_t steps, uint64_t batches,
                               uint64_t size)
{
    struct places p;
    uint64_t line = directions * batches * size; // dimensions of an operand: below 2^31
    p.rows = (line * steps * (lstm ? 4 : 3) * 8 + WNN_ALIGNMENT - 1) / WNN_ALIGNMENT * WNN_ALIGNMENT;
    p.row_words = line * (lstm ? 6 : 5) * 2;
    p.results = p.rows + p.row_words * 4;
    p.cell = line;
    p.sequence = 2 * line;
    p.end = p.results + (2 + steps) * line * 4;
    return p;
}

static size_t scratch_of(bool lstm, uint64_t directions, uint64_t steps, uint64_t batches, uint64_t size)
{
    // As many elements as an operand of these dimensions has bytes that can be counted.
    uint64_t elements;
    if (!wnn_multiply(directions * steps, batches, &elements) || !wnn_multiply(elements, size, &elements) ||
        elements > UINT64_C(1) << 40)
        return SIZE_MAX;
    uint64_t bytes = places_of(lstm, directions, steps, batches, size).end;
    return bytes > SIZE_MAX / 2 ? SIZE_MAX : (size_t)bytes;
}

size_t wnn_scratch_of_gru(const struct node *node)
{
    const uint32_t *dim = node->in[0]->type.shape.dim;
    if (node->op == WNN_OP_gruCell)
        return scratch_of(false, 1, 1, dim[0], ((const struct gru_cell_attrs *)node->attrs)->hiddenSize);
    const struct gru_attrs *attrs = node->attrs;
    return scratch_of(false, attrs->options.direction == WNNRecurrentNetworkDirection_Both ? 2 : 1,
                      attrs->steps, dim[1], attrs->hiddenSize);
}

size_t wnn_scratch_of_lstm(const struct node *node)
{
    const uint32_t *dim = node->in[0]->type.shape.dim;
    if (node->op == WNN_OP_lstmCell)
        return scratch_of(true, 1, 1, dim[0], ((const struct lstm_cell_attrs *)node->attrs)->hiddenSize);
    const struct lstm_attrs *attrs = node->attrs;
    return scratch_of(true, attrs->options.direction == WNNRecurrentNetworkDirection_Both ? 2 : 1,
                      attrs->steps, dim[1], attrs->hiddenSize);
}

static struct tensor input_part(const struct lowering *lowering, const struct network *n)
{
    uint64_t count = (uint64_t)n->directions * n->steps * n->batches * n->size * (n->lstm ? 4 : 3);
    struct tensor tensor = wnn_scratch(lowering, 0, WNNDataType_Float32, (size_t)count);
    tensor.region.bytes = (size_t)count * 2 * sizeof(float);
    return tensor;
}

static void lower_input(struct lowering *lowering, const struct network *n)
{
    uint32_t lines = n->size * (n->lstm ? 4 : 3);
    struct tensor part = input_part(lowering, n);
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "recurrent_input", part.count * n->inputs);
    wnn_shader_number(&shader, "LINES", lines);
    wnn_shader_number(&shader, "STEPS", n->steps);
    wnn_shader_number(&shader, "BATCHES", n->batches);
    wnn_shader_number(&shader, "INPUTS", n->inputs);
    wnn_shader_input(&shader, "a", n->input, FORM_VALUE);
    wnn_shader_input(&shader, "w", n->weight, FORM_VALUE);
    if (n->bias->region.buffer) {
        wnn_shader_define(&shader, "BIAS", "1");
        wnn_shader_input(&shader, "b", n->bias, FORM_VALUE);
    }
    if (n->recurrent_bias->region.buffer) {
        wnn_shader_define(&shader, "RECURRENT_BIAS", "1");
        wnn_shader_number(&shader, "BIASED_LINES", n->reset_after ? 2 * n->size : lines);
        wnn_shader_input(&shader, "r", n->recurrent_bias, FORM_VALUE);
    }
    wnn_shader_output(&shader, &part, FORM_PAIR, NULL);
    wnn_shader_end(&shader);
}

static void define_activation(struct shader *shader, const struct network *n, unsigned which)
{
    const struct activation *activation = wnn_activation(n->activations->data[which]);
    bool softmax = activation->op == WNN_OP_softmax || activation->op == WNN_OP_softmax2d;
    char expression[256], prefix[16] = {'A', 'C', 'T', (char)('0' + which), 0};
    wnn_shader_text(shader, "#define SOFTMAX_%u %d\n", which, softmax);
    if (softmax)
        return;
    if (activation->op == WNN_OP_sigmoid || activation->op == WNN_OP_tanh) {
        wnn_shader_text(shader, "#define activation%u(x) %s(x)\n", which,
                        activation->op == WNN_OP_tanh ? "tanh2" : "sigmoid2");
        return;
    }
    if (activation->op == WNN_OP_relu) {
        wnn_shader_text(shader, "vec2 activation%u(vec2 x) { return x.x < 0.0 ? vec2(0.0) : x; }\n", which);
        return;
    }
    wnn_shader_function(shader, prefix, (enum op)activation->op, activation->attrs, n->input->type,
                        expression, sizeof expression);
    wnn_shader_text(shader, "vec2 activation%u(vec2 y) { float x = y.x + y.y; return vec2(%s, 0.0); }\n",
                    which, expression);
}

static void lower_steps(struct lowering *lowering, const struct network *n, const struct places *places)
{
    struct tensor part = input_part(lowering, n);
    struct region work = {lowering->scratch.buffer, lowering->scratch.offset + (size_t)places->rows,
                          (size_t)(places->end - places->rows)};
    uint64_t rows = (uint64_t)n->directions * n->batches;
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "recurrent", (size_t)rows * n->steps * n->size * n->size);
    shader.local_size = n->size > 64 ? 128 : 64;
    wnn_shader_define(&shader, "LSTM", "%d", n->lstm);
    wnn_shader_define(&shader, "RESET_AFTER", "%d", n->reset_after);
    wnn_shader_number(&shader, "BACKWARD", n->backward);
    wnn_shader_number(&shader, "DIRECTIONS", n->directions);
    wnn_shader_number(&shader, "STEPS", n->steps);
    wnn_shader_number(&shader, "BATCHES", n->batches);
    wnn_shader_number(&shader, "SIZE", n->size);
    wnn_shader_number(&shader, "LINES", n->size * (n->lstm ? 4 : 3));
    wnn_shader_number(&shader, "ROW_SIZE", n->size * (n->lstm ? 6 : 5));
    wnn_shader_number(&shader, "RESULTS", (uint32_t)places->row_words);
    wnn_shader_number(&shader, "SEQUENCE", n->sequence != NULL);
    wnn_shader_number(&shader, "HIDDEN_AT", 0);
    wnn_shader_number(&shader, "CELL_AT", (uint32_t)places->cell);
    wnn_shader_number(&shader, "SEQUENCE_AT", (uint32_t)places->sequence);
    wnn_shader_numbers(&shader, "BLOCK", n->block, 4);
    wnn_shader_input(&shader, "x", &part, FORM_PAIR);
    wnn_shader_input(&shader, "r", n->recurrent_weight, FORM_VALUE);
    if (n->lstm && n->peephole->region.buffer) {
        wnn_shader_define(&shader, "PEEPHOLE", "1");
        wnn_shader_input(&shader, "p", n->peephole, FORM_VALUE);
    }
    if (n->reset_after && n->recurrent_bias->region.buffer) {
        wnn_shader_define(&shader, "RECURRENT_BIAS", "1");
        wnn_shader_input(&shader, "p", n->recurrent_bias, FORM_VALUE);
    }
    if (n->first_hidden->region.buffer) {
        wnn_shader_define(&shader, "FIRST_HIDDEN", "1");
        wnn_shader_input(&shader, "h", n->first_hidden, FORM_VALUE);
    }
    if (n->lstm && n->first_cell->region.buffer) {
        wnn_shader_define(&shader, "FIRST_CELL", "1");
        wnn_shader_input(&shader, "c", n->first_cell, FORM_VALUE);
    }
    wnn_shader_words(&shader, "work", &work);
    wnn_shader_text(&shader,
                    "vec2 work_at(uint i) { return vec2(uintBitsToFloat(work_word(2u * i)), "
                    "uintBitsToFloat(work_word(2u * i + 1u))); }\n"
                    "void set_work(uint i, vec2 v) { work_word(2u * i) = floatBitsToUint(v.x); "
                    "work_word(2u * i + 1u) = floatBitsToUint(v.y); }\n"
                    "void set_result(uint i, float v) { work_word(RESULTS + i) = floatBitsToUint(v); }\n");
    for (unsigned i = 0; i < (n->lstm ? 3 : 2); i++)
        define_activation(&shader, n, i);
    if (!n->lstm)
        wnn_shader_define(&shader, "SOFTMAX_2", "0");
    wnn_shader_end_groups(&shader, rows);
}

static void lower_result(struct lowering *lowering, const struct places *places, uint64_t first,
                         const struct tensor *out)
{
    if (!out)
        return;
    struct tensor result = wnn_scratch(lowering, (size_t)(places->results + first * sizeof(float)),
                                       WNNDataType_Float32, out->count);
    wnn_lower_convert(lowering, &result, out);
}

static void lower(struct lowering *lowering, const struct network *n)
{
    struct places places = places_of(n->lstm, n->directions, n->steps, n->batches, n->size);
    lower_input(lowering, n);
    lower_steps(lowering, n, &places);
    lower_result(lowering, &places, 0, n->last_hidden);
    lower_result(lowering, &places, places.cell, n->last_cell);
    lower_result(lowering, &places, places.sequence, n->sequence);
}

static void set_gru_layout(struct network *network, WNNGruWeightLayout layout)
{
    bool rzn = layout == WNNGruWeightLayout_RZN;
    network->block[0] = rzn ? 1 : 0; // update
    network->block[1] = rzn ? 0 : 1; // reset
    network->block[2] = 2;           // new
}

static void set_lstm_layout(struct network *network, WNNLstmWeightLayout layout)
{
    bool ifgo = layout == WNNLstmWeightLayout_IFGO;
    network->lstm = true;
    network->block[0] = 0;            // input
    network->block[1] = ifgo ? 3 : 1; // output
    network->block[2] = ifgo ? 1 : 2; // forget
    network->block[3] = ifgo ? 2 : 3; // cell
}

static void set_direction(struct network *network, WNNRecurrentNetworkDirection direction)
{
    network->directions = direction == WNNRecurrentNetworkDirection_Both ? 2 : 1;
    network->backward = direction == WNNRecurrentNetworkDirection_Backward;
}

void wnn_lower_gru(struct lowering *lowering)
{
    const struct tensor *in = lowering->in, *out = lowering->out;
    const uint32_t *dim = in[0].shape.dim;
    struct network network = {
        .input = &in[0], .weight = &in[1], .recurrent_weight = &in[2], .last_hidden = &out[0]};
    if (lowering->node->op == WNN_OP_gruCell) {
        const struct gru_cell_attrs *attrs = lowering->node->attrs;
        network.first_hidden = &in[3];
        network.bias = &in[4];
        network.recurrent_bias = &in[5];
        network.reset_after = attrs->options.resetAfter;
        network.activations = &attrs->options.activations;
        network.directions = network.steps = 1;
        network.batches = dim[0];
        network.inputs = dim[1];
        network.size = attrs->hiddenSize;
        set_gru_layout(&network, attrs->options.layout);
    } else {
        const struct gru_attrs *attrs = lowering->node->attrs;
        network.bias = &in[3];
        network.recurrent_bias = &in[4];
        network.first_hidden = &in[5];
        network.sequence = lowering->node->out_count > 1 ? &out[1] : NULL;
        network.reset_after = attrs->options.resetAfter;
        network.activations = &attrs->options.activations;
        network.steps = attrs->steps;
        network.batches = dim[1];
        network.inputs = dim[2];
        network.size = attrs->hiddenSize;
        set_direction(&network, attrs->options.direction);
        set_gru_layout(&network, attrs->options.layout);
    }
    lower(lowering, &network);
}

void wnn_lower_lstm(struct lowering *lowering)
{
    const struct tensor *in = lowering->in, *out = lowering->out;
    const uint32_t *dim = in[0].shape.dim;
    struct network network = {.input = &in[0],
                              .weight = &in[1],
                              .recurrent_weight = &in[2],
                              .last_hidden = &out[0],
                              .last_cell = &out[1]};
    if (lowering->node->op == WNN_OP_lstmCell) {
        const struct lstm_cell_attrs *attrs = lowering->node->attrs;
        network.first_hidden = &in[3];
        network.first_cell = &in[4];
        network.bias = &in[5];
        network.recurrent_bias = &in[6];
        network.peephole = &in[7];
        network.activations = &attrs->options.activations;
        network.directions = network.steps = 1;
        network.batches = dim[0];
        network.inputs = dim[1];
        network.size = attrs->hiddenSize;
        set_lstm_layout(&network, attrs->options.layout);
    } else {
        const struct lstm_attrs *attrs = lowering->node->attrs;
        network.bias = &in[3];
        network.recurrent_bias = &in[4];
        network.peephole = &in[5];
        network.first_hidden = &in[6];
        network.first_cell = &in[7];
        network.sequence = lowering->node->out_count > 2 ? &out[2] : NULL;
        network.activations = &attrs->options.activations;
        network.steps = attrs->steps;
        network.batches = dim[1];
        network.inputs = dim[2];
        network.size = attrs->hiddenSize;
        set_direction(&network, attrs->options.direction);
        set_lstm_layout(&network, attrs->options.layout);
    }
    lower(lowering, &network);
}
