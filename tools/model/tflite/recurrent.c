// SPDX-License-Identifier: Apache-2.0
//
// Recurrent networks of TensorFlow Lite. lstm of WebNN is used for what it can do; everything else is
// unrolled, one step after another. What these operators keep from one invocation to the next begins as zeros
// each time a graph is computed.
#include "tools/model/tflite/call.h"

#include <string.h>

#define MAX_STEPS 1024 // that are unrolled

// ---------------------------------------------------------------------------------------------------------------
// Sequences
// ---------------------------------------------------------------------------------------------------------------

// What a direction of a network sees: [steps, batch, inputs].
struct sequence {
    struct tensor *x;
    int64_t steps, batch, inputs;
    bool backwards;
};

// Input 0, of which time or the batch comes first, or without time.
static bool read_sequence(struct call *c, bool has_time, bool time_major, struct sequence *s)
{
    struct tensor *x = real_at(c, 0);
    if (!x)
        return false;
    if (x->rank != (has_time ? 3 : 2))
        return fail(c->r, "a tensor of rank %zu", x->rank);
    if (!has_time)
        x = unsqueeze(c->r, x, 0);
    else if (!time_major)
        x = swap_axes(c->r, x, 0, 1);
    if (!x)
        return false;
    *s = (struct sequence){x, x->dims[0], x->dims[1], x->dims[2], false};
    return (s->steps >= 1 && s->steps <= MAX_STEPS) ||
           fail(c->r, "a sequence of %lld steps; up to %d are supported", (long long)s->steps, MAX_STEPS);
}

// [steps, batch, n] as input 0 has time and batch.
static struct tensor *arrange(struct call *c, struct tensor *y, bool has_time, bool time_major)
{
    if (!has_time)
        return squeeze(c->r, y, 0);
    return time_major ? y : swap_axes(c->r, y, 0, 1);
}

static struct tensor *step_of(struct recording *r, struct tensor *t, int64_t step)
{
    return squeeze(r, slice_axis(r, t, 0, step, 1, 1), 0);
}

static struct tensor *join_steps(struct recording *r, const struct sequence *s, struct tensor **steps)
{
    for (int64_t i = 0; i < s->steps; i++)
        steps[i] = unsqueeze(r, steps[i], 0);
    return r->failed ? NULL : concat(r, (size_t)s->steps, steps, 0);
}

// Whether a tensor has a shape, or is left out and may be.
static bool check_shape(struct recording *r, const struct tensor *t, const char *what, size_t rank, int64_t a,
                        int64_t b)
{
    if (!t || r->failed)
        return !r->failed;
    if (t->rank != rank || t->dims[0] != a || (rank == 2 && t->dims[1] != b))
        return fail(r, "%s of rank %zu and another shape", what, t->rank);
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// RNN
// ---------------------------------------------------------------------------------------------------------------

// act(x W^T + h R^T + bias), from h = 0 on. The first of its inputs are W, R and the bias; `aux` W of another
// input, or NULL.
struct cell {
    struct tensor *w, *u, *bias, *aux_x, *aux_w;
    int64_t activation;
};

static struct tensor *run_rnn(struct call *c, const struct sequence *s, const struct cell *cell)
{
    struct recording *r = c->r;
    int64_t units = cell->w ? cell->w->dims[0] : 0;
    struct tensor **steps = wnn_model_allocate(r->memory, (size_t)s->steps, sizeof *steps), *h = NULL;
    if (!steps || !cell->w || !cell->u)
        return fail(r, "weights are missing");
    if (!check_shape(r, cell->w, "weights", 2, units, s->inputs) ||
        !check_shape(r, cell->u, "recurrent weights", 2, units, units) ||
        !check_shape(r, cell->bias, "a bias", 1, units, 0))
        return NULL;
    // All steps at once, as far as they do not depend on each other.
    struct tensor *all = multiply_rows(r, s->x, cell->w, cell->bias);
    if (cell->aux_w && cell->aux_x)
        all = binary(r, ADD, all, multiply_rows(r, cell->aux_x, cell->aux_w, NULL));
    for (int64_t i = 0; i < s->steps && !r->failed; i++) {
        int64_t at = s->backwards ? s->steps - 1 - i : i;
        struct tensor *sum = step_of(r, all, at);
        if (h)
            sum = binary(r, ADD, sum, multiply_rows(r, h, cell->u, NULL));
        h = steps[at] = apply_activation(r, sum, cell->activation);
    }
    return join_steps(r, s, steps);
}

// Parameter 1: of a sequence.
void compose_rnn(struct call *c)
{
    bool has_time = c->parameter == 1, time_major = has_time && option_bool(c, 0);
    struct sequence s;
    struct cell cell = {.w = real_at(c, 1),
                        .u = real_at(c, 2),
                        .bias = real_at(c, 3),
                        .activation = option_enum(c, has_time ? 1 : 0)};
    if (read_sequence(c, has_time, time_major, &s))
        give(c, 0, arrange(c, run_rnn(c, &s, &cell), has_time, time_major));
}

// The results of two directions: as two outputs, or one behind the other.
static void give_both(struct call *c, struct tensor *forward, struct tensor *backward, bool merged,
                      bool time_major)
{
    struct tensor *both[] = {arrange(c, forward, true, time_major), arrange(c, backward, true, time_major)};
    if (!both[0] || !both[1])
        return;
    if (merged) {
        give(c, 0, concat(c->r, 2, both, 2));
    } else {
        give(c, 0, both[0]);
        give(c, 1, both[1]);
    }
}

// Another input of both directions, arranged as the first one; NULL: left out, or an error.
static struct tensor *read_aux(struct call *c, size_t index, bool time_major, const struct sequence *s)
{
    struct tensor *aux = real_at(c, index);
    if (aux && aux->rank == 3 && !time_major)
        aux = swap_axes(c->r, aux, 0, 1);
    if (aux && (aux->rank != 3 || aux->dims[0] != s->steps || aux->dims[1] != s->batch))
        return fail(c->r, "another input of rank %zu and other sequences", aux->rank);
    return aux;
}

// Without weights, which is how layers are put on each other, the other input is what the backward direction
// sees.
static struct sequence reversed(const struct sequence *s, struct tensor *aux, const struct tensor *aux_w)
{
    struct sequence reverse = *s;
    reverse.backwards = true;
    if (aux && !aux_w) {
        reverse.x = aux;
        reverse.inputs = aux->dims[2];
    }
    return reverse;
}

void compose_bidirectional_rnn(struct call *c)
{
    bool time_major = option_bool(c, 0);
    int64_t activation = option_enum(c, 1);
    struct sequence s;
    if (!read_sequence(c, true, time_major, &s))
        return;
    struct tensor *aux = read_aux(c, 9, time_major, &s);
    struct cell forward = {real_at(c, 1), real_at(c, 2), real_at(c, 3), aux, real_at(c, 10), activation};
    struct cell backward = {real_at(c, 5), real_at(c, 6), real_at(c, 7), aux, real_at(c, 11), activation};
    struct sequence reverse = reversed(&s, aux, forward.aux_w);
    struct tensor *a = run_rnn(c, &s, &forward), *b = run_rnn(c, &reverse, &backward);
    give_both(c, a, b, option_bool(c, 2), time_major);
}

// ---------------------------------------------------------------------------------------------------------------
// LSTM
// ---------------------------------------------------------------------------------------------------------------

enum gate {
    INPUT_GATE,
    FORGET_GATE,
    CELL_GATE,
    OUTPUT_GATE,
    GATES
};

// Weights of a direction; NULL: left out.
struct lstm {
    struct tensor *w[GATES], *u[GATES], *bias[GATES], *norm[GATES], *aux_w[GATES], *aux_x;
    struct tensor *peephole[GATES]; // the cell gate has none
    struct tensor *projection, *projection_bias, *h, *cell;
    double cell_clip, projection_clip;
    int64_t activation, units, outputs;
};

// Inputs from `first` on: weights of the input, of the last result, of the cell, biases, and the projection.
static void read_gates(struct call *c, size_t first, struct lstm *l)
{
    static const enum gate peepholes[] = {INPUT_GATE, FORGET_GATE, OUTPUT_GATE};
    for (size_t i = 0; i < GATES; i++) {
        l->w[i] = real_at(c, first + i);
        l->u[i] = real_at(c, first + 4 + i);
        l->bias[i] = bias_at(c, first + 11 + i, 0, first + i);
    }
    for (size_t i = 0; i < 3; i++)
        l->peephole[peepholes[i]] = real_at(c, first + 8 + i);
    l->projection = real_at(c, first + 15);
    l->projection_bias = real_at(c, first + 16);
    l->activation = option_enum(c, 0);
    l->cell_clip = option_float(c, 1);
    l->projection_clip = option_float(c, 2);
}

static bool check_gates(struct recording *r, struct lstm *l, const struct sequence *s)
{
    if (r->failed)
        return false;
    if (!l->w[OUTPUT_GATE] || !l->u[OUTPUT_GATE] || l->w[OUTPUT_GATE]->rank != 2 ||
        !l->w[INPUT_GATE] != !l->u[INPUT_GATE])
        return fail(r, "weights are missing");
    l->units = l->w[OUTPUT_GATE]->dims[0];
    l->outputs = l->projection ? l->projection->dims[0] : l->units;
    for (size_t i = l->w[INPUT_GATE] ? INPUT_GATE : FORGET_GATE; i < GATES; i++)
        if (!l->w[i] || !l->u[i] || !l->bias[i] ||
            !check_shape(r, l->w[i], "weights", 2, l->units, s->inputs) ||
            !check_shape(r, l->u[i], "recurrent weights", 2, l->units, l->outputs) ||
            !check_shape(r, l->bias[i], "a bias", 1, l->units, 0) ||
            !check_shape(r, l->peephole[i], "weights of the cell", 1, l->units, 0) ||
            !check_shape(r, l->norm[i], "weights of a normalization", 1, l->units, 0))
            return r->failed ? false : fail(r, "weights are missing");
    return check_shape(r, l->projection, "a projection", 2, l->outputs, l->units) &&
           check_shape(r, l->projection_bias, "a bias of the projection", 1, l->outputs, 0) &&
           check_shape(r, l->h, "a state", 2, s->batch, l->outputs) &&
           check_shape(r, l->cell, "a state of cells", 2, s->batch, l->units);
}

// Whether it is what lstm of WebNN computes.
static bool is_plain(const struct lstm *l)
{
    for (size_t i = 0; i < GATES; i++)
        if (!l->w[i] || l->peephole[i] || l->norm[i] || l->aux_w[i])
            return false;
    return !l->projection && l->cell_clip == 0 && l->activation == ACTIVATION_TANH;
}

static WNNOperand join_gates(struct recording *r, struct tensor *const *gates)
{
    return operand_of(r, unsqueeze(r, concat(r, GATES, gates, 0), 0));
}

// A state as [1, batch, units].
static WNNOperand state_operand(struct recording *r, struct tensor *t)
{
    return t ? operand_of(r, unsqueeze(r, t, 0)) : NULL;
}

static struct tensor *run_plain(struct recording *r, const struct sequence *s, const struct lstm *l)
{
    WNNLstmOptions options = WNN_LSTM_OPTIONS_INIT;
    WNNOperand x = operand_of(r, s->x), w = join_gates(r, l->w), u = join_gates(r, l->u), outputs[3];
    options.label = label_of(r);
    options.bias = join_gates(r, l->bias);
    options.layout = WNNLstmWeightLayout_IFGO;
    options.direction =
        s->backwards ? WNNRecurrentNetworkDirection_Backward : WNNRecurrentNetworkDirection_Forward;
    options.returnSequence = true;
    options.initialHiddenState = state_operand(r, l->h);
    options.initialCellState = state_operand(r, l->cell);
    if (!x || !w || !u || r->failed)
        return NULL;
    size_t count =
        wnnGraphBuilderLstm(r->builder, x, w, u, (uint32_t)s->steps, (uint32_t)l->units, &options, outputs);
    return squeeze(r, make_operand(r, s->x->type, count == 3 ? outputs[2] : NULL), 1);
}

static struct tensor *normalized(struct recording *r, struct tensor *t, struct tensor *scale,
                                 struct tensor *bias)
{
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    options.label = label_of(r);
    options.axes = (WNNUint32List){(uint32_t[]){1}, 1};
    options.epsilon = 1e-8;
    options.scale = operand_of(r, scale);
    options.bias = operand_of(r, bias);
    WNNOperand x = operand_of(r, t);
    return x && !r->failed
               ? make_operand(r, t->type, wnnGraphBuilderLayerNormalization(r->builder, x, &options))
               : NULL;
}

// What a gate adds up in a step: `all` is what the input adds in every step.
static struct tensor *sum_gate(struct recording *r, const struct lstm *l, enum gate gate, struct tensor *all,
                               int64_t step, struct tensor *h, struct tensor *cell)
{
    struct tensor *sum = step_of(r, all, step);
    if (h)
        sum = binary(r, ADD, sum, multiply_rows(r, h, l->u[gate], NULL));
    if (l->peephole[gate] && cell)
        sum = binary(r, ADD, sum, binary(r, MUL, cell, l->peephole[gate]));
    return l->norm[gate] ? normalized(r, sum, l->norm[gate], l->bias[gate]) : sum;
}

static struct tensor *clip(struct recording *r, struct tensor *t, double limit)
{
    return limit > 0 ? clamp(r, t, -limit, limit) : t;
}

static struct tensor *project(struct recording *r, const struct lstm *l, struct tensor *h)
{
    if (!l->projection)
        return h;
    return clip(r, multiply_rows(r, h, l->projection, l->projection_bias), l->projection_clip);
}

// One step; `h` and `cell` are NULL where they are zeros, and become those of the next step.
static void run_step(struct recording *r, const struct lstm *l, struct tensor *const *all, int64_t step,
                     struct tensor **h, struct tensor **cell)
{
    struct tensor *forget = unary(r, SIGMOID, sum_gate(r, l, FORGET_GATE, all[FORGET_GATE], step, *h, *cell));
    // Without a gate of its own the input takes what is forgotten.
    struct tensor *in = l->w[INPUT_GATE]
                            ? unary(r, SIGMOID, sum_gate(r, l, INPUT_GATE, all[INPUT_GATE], step, *h, *cell))
                            : number_with(r, SUB, 1, forget);
    struct tensor *now = sum_gate(r, l, CELL_GATE, all[CELL_GATE], step, *h, NULL);
    now = binary(r, MUL, in, apply_activation(r, now, l->activation));
    if (*cell)
        now = binary(r, ADD, now, binary(r, MUL, forget, *cell));
    *cell = clip(r, now, l->cell_clip);
    struct tensor *out = unary(r, SIGMOID, sum_gate(r, l, OUTPUT_GATE, all[OUTPUT_GATE], step, *h, *cell));
    *h = project(r, l, binary(r, MUL, out, apply_activation(r, *cell, l->activation)));
}

static struct tensor *run_lstm(struct call *c, const struct sequence *s, struct lstm *l)
{
    struct recording *r = c->r;
    struct tensor *all[GATES] = {NULL}, *h = l->h, *cell = l->cell;
    if (!check_gates(r, l, s))
        return NULL;
    if (is_plain(l))
        return run_plain(r, s, l);
    struct tensor **steps = wnn_model_allocate(r->memory, (size_t)s->steps, sizeof *steps);
    if (!steps)
        return fail(r, "there is not enough memory");
    for (size_t i = 0; i < GATES; i++) {
        if (!l->w[i])
            continue;
        all[i] = multiply_rows(r, s->x, l->w[i], l->norm[i] ? NULL : l->bias[i]);
        if (l->aux_w[i] && l->aux_x)
            all[i] = binary(r, ADD, all[i], multiply_rows(r, l->aux_x, l->aux_w[i], NULL));
    }
    for (int64_t i = 0; i < s->steps && !r->failed; i++) {
        int64_t at = s->backwards ? s->steps - 1 - i : i;
        run_step(r, l, all, at, &h, &cell);
        steps[at] = h;
    }
    return join_steps(r, s, steps);
}

// The kernel of one product: rows of weights are those of input, cell, forget and output gates. Its results
// are activations, cells, and what it computes between.
static void compose_basic_lstm(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0), *h = real_at(c, 1), *w = real_at(c, 2), *bias = bias_at(c, 3, 0, 2),
                  *cell = real_at(c, 4), *gates[4];
    if (!x || !h || !w || !cell || x->rank != 2 || h->rank != 2 || w->rank != 2 || cell->rank != 2) {
        fail(r, "its inputs are not five matrices and vectors");
        return;
    }
    int64_t units = cell->dims[1];
    struct tensor *both = concat(r, 2, (struct tensor *[]){x, h}, 1);
    struct tensor *sums = multiply_rows(r, both, w, bias);
    if (!sums || sums->dims[1] != 4 * units) {
        fail(r, "weights of %lld rows for %lld units", (long long)w->dims[0], (long long)units);
        return;
    }
    for (int64_t i = 0; i < 4; i++) {
        gates[i] = slice_axis(r, sums, 1, i * units, units, 1);
        gates[i] = unary(r, i == 1 ? TANH : SIGMOID, gates[i]);
    }
    cell = binary(r, ADD, binary(r, MUL, gates[0], gates[1]), binary(r, MUL, gates[2], cell));
    give(c, 0, binary(r, MUL, gates[3], unary(r, TANH, cell)));
    give(c, 1, cell);
    give(c, 2, both);
    give(c, 3, sums);
}

// Parameter 1: of a sequence.
void compose_lstm(struct call *c)
{
    bool has_time = c->parameter == 1, time_major = has_time && option_bool(c, 3);
    struct sequence s;
    struct lstm l = {.h = real_at(c, 18), .cell = real_at(c, 19)};
    if (!has_time && (option_enum(c, 3) == 1 || c->input_count == 5)) {
        compose_basic_lstm(c);
        return;
    }
    read_gates(c, 1, &l);
    for (size_t i = 0; i < GATES; i++)
        l.norm[i] = real_at(c, 20 + i);
    if (read_sequence(c, has_time, time_major, &s))
        give(c, 0, arrange(c, run_lstm(c, &s, &l), has_time, time_major));
}

void compose_bidirectional_lstm(struct call *c)
{
    bool time_major = wnn_flatbuffer_number(&c->node->options, 4, FLATBUFFER_UINT8, 1) != 0;
    struct sequence s;
    struct lstm forward = {.h = real_at(c, 35), .cell = real_at(c, 36)},
                backward = {.h = real_at(c, 37), .cell = real_at(c, 38)};
    if (!read_sequence(c, true, time_major, &s))
        return;
    struct tensor *aux = read_aux(c, 39, time_major, &s);
    read_gates(c, 1, &forward);
    read_gates(c, 18, &backward);
    forward.aux_x = backward.aux_x = aux;
    for (size_t i = 0; i < GATES; i++) {
        forward.aux_w[i] = real_at(c, 40 + i);
        backward.aux_w[i] = real_at(c, 44 + i);
    }
    struct sequence reverse = reversed(&s, aux, forward.aux_w[OUTPUT_GATE]);
    struct tensor *a = run_lstm(c, &s, &forward), *b = run_lstm(c, &reverse, &backward);
    give_both(c, a, b, option_bool(c, 3), time_major);
}

// ---------------------------------------------------------------------------------------------------------------
// SVDF
// ---------------------------------------------------------------------------------------------------------------

// A product with a matrix of lower rank: features [batch, filters] of the input, each weighted over time, of
// which the last weight is that of now. Those of the times before meet zeros.
void compose_svdf(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0), *features = real_at(c, 1), *time = real_at(c, 2),
                  *bias = scaled_at(c, 3);
    int64_t rank = option_int(c, 0, 0);
    if (!x || !features || !time)
        return;
    if (x->rank != 2 || features->rank != 2 || time->rank != 2 || rank < 1 || features->dims[0] % rank ||
        time->dims[0] != features->dims[0]) {
        fail(r, "weights of rank %zu and %zu, for matrices of rank %lld", features->rank, time->rank,
             (long long)rank);
        return;
    }
    struct tensor *now = squeeze(r, slice_axis(r, time, 1, time->dims[1] - 1, 1, 1), 1);
    struct tensor *y = binary(r, MUL, multiply_rows(r, x, features, NULL), now);
    const int64_t dims[] = {x->dims[0], features->dims[0] / rank, rank};
    y = reduce(r, SUM, reshape(r, y, 3, dims), 1, &(size_t){2}, false);
    y = bias ? binary(r, ADD, y, bias) : y;
    give(c, 0, activate_output(c, y, option_enum(c, 1)));
}
