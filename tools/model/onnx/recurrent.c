// SPDX-License-Identifier: Apache-2.0
//
// Recurrent networks of ONNX. lstm and gru of WebNN are used for what they can do, and gru for an RNN of more
// steps than are unrolled, or of a number that is not known; everything else (RNN, other activations,
// sequences of different lengths, clipping, peepholes) is unrolled, one step after another.
#include "tools/model/errors.h"
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define MAX_STEPS 1024 // that are unrolled

// ---------------------------------------------------------------------------------------------------------------
// Activations
// ---------------------------------------------------------------------------------------------------------------

enum function {
    F_SIGMOID,
    F_TANH,
    F_RELU,
    F_AFFINE,
    F_LEAKY_RELU,
    F_THRESHOLDED_RELU,
    F_SCALED_TANH,
    F_HARD_SIGMOID,
    F_ELU,
    F_SOFTSIGN,
    F_SOFTPLUS,
    FUNCTION_COUNT
};

static const struct {
    const char *name;
    bool has_alpha, has_beta;
    double alpha, beta; // by default
} functions[FUNCTION_COUNT] = {
    [F_SIGMOID] = {"Sigmoid", false, false, 0, 0},
    [F_TANH] = {"Tanh", false, false, 0, 0},
    [F_RELU] = {"Relu", false, false, 0, 0},
    [F_AFFINE] = {"Affine", true, true, 1, 0},
    [F_LEAKY_RELU] = {"LeakyRelu", true, false, 0.01, 0},
    [F_THRESHOLDED_RELU] = {"ThresholdedRelu", true, false, 1, 0},
    [F_SCALED_TANH] = {"ScaledTanh", true, true, 1, 1},
    [F_HARD_SIGMOID] = {"HardSigmoid", true, true, 0.2, 0.5},
    [F_ELU] = {"Elu", true, false, 1, 0},
    [F_SOFTSIGN] = {"Softsign", false, false, 0, 0},
    [F_SOFTPLUS] = {"Softplus", false, false, 0, 0},
};

struct activation {
    enum function function;
    double alpha, beta;
};

static bool find_function(const struct call *c, struct bytes name, enum function *function)
{
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        size_t length = 0;
        while (functions[i].name[length])
            length++;
        // Models are not strict about capitals.
        if (name.size == length && strncasecmp((const char *)name.data, functions[i].name, length) == 0) {
            *function = (enum function)i;
            return true;
        }
    }
    char shown[64];
    wnn_model_print(shown, sizeof shown, name);
    return fail(c->r, "an activation \"%s\"", shown);
}

static struct tensor *apply(struct recording *r, const struct activation *a, struct tensor *x)
{
    if (!x)
        return NULL;
    switch (a->function) {
    case F_SIGMOID:
        return unary(r, SIGMOID, x);
    case F_TANH:
        return unary(r, TANH, x);
    case F_RELU:
        return unary(r, RELU, x);
    case F_AFFINE:
        return with_number(r, ADD, with_number(r, MUL, x, a->alpha), a->beta);
    case F_LEAKY_RELU:
        return leaky_relu(r, x, a->alpha);
    case F_THRESHOLDED_RELU:
        return choose(r, with_number(r, GREATER_OR_EQUAL, x, a->alpha), x, make_number(r, x->type, 0));
    case F_SCALED_TANH:
        return with_number(r, MUL, unary(r, TANH, with_number(r, MUL, x, a->beta)), a->alpha);
    case F_HARD_SIGMOID:
        return hard_sigmoid(r, x, a->alpha, a->beta);
    case F_ELU:
        return elu(r, x, a->alpha);
    case F_SOFTSIGN:
        return unary(r, SOFTSIGN, x);
    case F_SOFTPLUS:
        return unary(r, SOFTPLUS, x);
    case FUNCTION_COUNT:
        break;
    }
    return NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Operands and attributes
// ---------------------------------------------------------------------------------------------------------------

enum direction {
    FORWARD,
    REVERSE,
    BIDIRECTIONAL
};
enum gate_inputs {
    X_INPUT,
    W_INPUT,
    R_INPUT,
    B_INPUT,
    LENGTHS_INPUT,
    H_INPUT,
    C_INPUT,
    P_INPUT
};

#define MAX_FUNCTIONS 3 // of a direction

struct network {
    struct call *c;
    struct recording *r;
    enum direction direction;
    bool batch_first, input_forget, linear_before_reset;
    double clip; // 0: none
    int64_t gates, steps, batch, inputs, hidden, directions;
    size_t function_count; // of a direction
    bool wants_sequence;   // the results of all steps
    struct activation activations[2][MAX_FUNCTIONS];
    // Shapes as of WebNN, without layout. NULL: left out.
    struct tensor *x, *w, *u, *bias, *recurrent_bias, *lengths, *h, *cell, *peephole;
    struct tensor *last_h, *last_cell, *sequence; // results
};

// A function takes its parameters from the lists only if it has them.
static double next_parameter(const float *values, size_t count, size_t *used, bool has, double otherwise)
{
    return has && values && *used < count ? values[(*used)++] : otherwise;
}

static bool read_activations(struct network *n, const enum function *defaults)
{
    size_t count = 0, alpha_count = 0, beta_count = 0, alphas_used = 0, betas_used = 0;
    const struct bytes *names = get_texts(n->c, "activations", &count);
    const float *alphas = get_floats(n->c, "activation_alpha", &alpha_count);
    const float *betas = get_floats(n->c, "activation_beta", &beta_count);
    size_t needed = n->function_count * (size_t)n->directions;
    if (n->r->failed)
        return false;
    if (count && (!names || count != needed))
        return fail(n->r, "%zu activations, not %zu", count, needed);
    for (size_t i = 0; i < needed; i++) {
        struct activation *a = &n->activations[i / n->function_count][i % n->function_count];
        a->function = defaults[i % n->function_count];
        if (count && !find_function(n->c, names[i], &a->function))
            return false;
        a->alpha = next_parameter(alphas, alpha_count, &alphas_used, functions[a->function].has_alpha,
                                  functions[a->function].alpha);
        a->beta = next_parameter(betas, beta_count, &betas_used, functions[a->function].has_beta,
                                 functions[a->function].beta);
        if (!isfinite(a->alpha) || !isfinite(a->beta))
            return fail(n->r, "activation_alpha or activation_beta is not finite");
    }
    return true;
}

static bool check_shape(struct network *n, const struct tensor *t, const char *what, size_t rank,
                        const int64_t *dims)
{
    if (!t)
        return !n->r->failed;
    if (t->type != n->x->type)
        return fail(n->r, "%s of type %s for an input of %s", what, type_name(t->type),
                    type_name(n->x->type));
    if (t->rank != rank)
        return fail(n->r, "%s of rank %zu, not %zu", what, t->rank, rank);
    for (size_t i = 0; i < rank; i++)
        if (sizes_differ(t->dims[i], dims[i]))
            return fail(n->r, "%s: dimension %zu is %lld, not %lld", what, i, (long long)t->dims[i],
                        (long long)dims[i]);
    return true;
}

static bool read_direction(struct network *n)
{
    if (has_text(n->c, "direction", "bidirectional", "forward"))
        n->direction = BIDIRECTIONAL;
    else if (has_text(n->c, "direction", "reverse", "forward"))
        n->direction = REVERSE;
    else if (!has_text(n->c, "direction", "forward", "forward"))
        return fail(n->r, "a direction that ONNX does not know");
    n->directions = n->direction == BIDIRECTIONAL ? 2 : 1;
    int64_t layout = get_int(n->c, "layout", 0);
    if (layout != 0 && layout != 1)
        return fail(n->r, "layout is %lld", (long long)layout);
    n->batch_first = layout == 1;
    n->clip = get_float(n->c, "clip", 0);
    if (!(n->clip >= 0) || isinf(n->clip))
        return fail(n->r, "clip is %g", n->clip);
    return !n->r->failed;
}

// A state, which a layout of 1 turns over.
static struct tensor *read_state(struct network *n, size_t index, const char *what)
{
    struct tensor *t = input(n->c, index);
    if (t && t->rank == 3 && n->batch_first)
        t = swap_axes(n->r, t, 0, 1);
    return check_shape(n, t, what, 3, (int64_t[]){n->directions, n->batch, n->hidden}) ? t : NULL;
}

static bool read_bias(struct network *n)
{
    struct tensor *b = input(n->c, B_INPUT);
    int64_t rows = n->gates * n->hidden;
    if (!b)
        return true;
    if (!check_shape(n, b, "the bias", 2, (int64_t[]){n->directions, 2 * rows}))
        return false;
    n->bias = slice_axis(n->r, b, 1, 0, rows, 1);
    n->recurrent_bias = slice_axis(n->r, b, 1, rows, rows, 1);
    return !n->r->failed;
}

// Whether there are too many steps to unroll them, or their number, or the batch, is not known.
static bool is_long(const struct network *n)
{
    return is_late(n->steps) || is_late(n->batch) || n->steps > MAX_STEPS;
}

// Lengths that all are the number of steps are none; others become [batch, 1].
static bool read_lengths(struct network *n)
{
    struct tensor *t = input(n->c, LENGTHS_INPUT);
    bool whole = true;
    if (!t || n->r->failed)
        return !n->r->failed;
    if (!is_integer(t->type) || t->rank != 1 || sizes_differ(t->dims[0], n->batch))
        return fail(n->r, "sequence_lens is not a list of %lld integers", (long long)n->batch);
    if (!is_known(n->r, t) || has_late_elements(t) || is_long(n))
        n->lengths = t;
    for (int64_t i = 0; !n->lengths && !n->r->failed && i < n->batch; i++) {
        double length = known_number(t, i);
        if (!(length >= 0 && length <= (double)n->steps))
            return fail(n->r, "a sequence of length %g in %lld steps", length, (long long)n->steps);
        whole &= length == (double)n->steps;
    }
    if (!whole)
        n->lengths = t;
    if (n->lengths)
        n->lengths = reshape(n->r, n->lengths, 2, (int64_t[]){n->batch, 1});
    return !n->r->failed;
}

static bool read_sizes(struct network *n)
{
    struct tensor *x = input(n->c, X_INPUT);
    n->w = input(n->c, W_INPUT);
    n->u = input(n->c, R_INPUT);
    if (!x || !n->w || !n->u)
        return fail(n->r, "X, W or R is missing");
    if (x->rank != 3 || n->w->rank != 3 || n->u->rank != 3)
        return fail(n->r, "X, W and R of ranks %zu, %zu and %zu, not 3", x->rank, n->w->rank, n->u->rank);
    n->x = n->batch_first ? swap_axes(n->r, x, 0, 1) : x;
    if (!n->x)
        return false;
    n->steps = n->x->dims[0];
    n->batch = n->x->dims[1];
    n->inputs = n->x->dims[2];
    n->hidden = n->u->dims[2];
    const int64_t sizes[] = {n->steps, n->batch, n->inputs, n->hidden};
    for (size_t i = 0; i < 4; i++)
        if ((i > 1 || !is_late(sizes[i])) && (sizes[i] < 1 || sizes[i] > INT32_MAX / 8))
            return fail(n->r, "a dimension of size %lld", (long long)sizes[i]);
    if (get_int(n->c, "hidden_size", n->hidden) != n->hidden)
        return fail(n->r, "hidden_size is not the %lld that the weights have", (long long)n->hidden);
    return true;
}

static bool read_network(struct network *n, struct call *c, int64_t gates, size_t function_count,
                         const enum function *defaults)
{
    *n = (struct network){
        .c = c, .r = c->r, .gates = gates, .function_count = function_count, .wants_sequence = wants(c, 0)};
    if (!read_direction(n) || !read_sizes(n) || !read_activations(n, defaults))
        return false;
    int64_t rows = n->gates * n->hidden;
    if (!check_shape(n, n->w, "W", 3, (int64_t[]){n->directions, rows, n->inputs}) ||
        !check_shape(n, n->u, "R", 3, (int64_t[]){n->directions, rows, n->hidden}) || !read_bias(n) ||
        !read_lengths(n))
        return false;
    n->h = read_state(n, H_INPUT, "initial_h");
    return !n->r->failed;
}

static void set_results(struct network *n)
{
    static const size_t to_batch[] = {2, 0, 1, 3}; // [steps, directions, batch, hidden]
    if (n->batch_first) {
        n->last_h = swap_axes(n->r, n->last_h, 0, 1);
        n->last_cell = swap_axes(n->r, n->last_cell, 0, 1);
        n->sequence = transpose(n->r, n->sequence, to_batch);
    }
    if (wants(n->c, 0))
        set_output(n->c, 0, n->sequence);
    if (wants(n->c, 1))
        set_output(n->c, 1, n->last_h);
    if (n->gates == 4 && wants(n->c, 2))
        set_output(n->c, 2, n->last_cell);
}

// ---------------------------------------------------------------------------------------------------------------
// Unrolled
// ---------------------------------------------------------------------------------------------------------------

// One direction of a network, with what its steps share.
struct pass {
    struct network *n;
    const struct activation *activations;
    struct tensor *inputs;       // x * W^T and the biases that are only added, [steps, batch, gates * hidden]
    struct tensor *recurrent;    // R^T, [hidden, gates * hidden]; of GRU, of the update and reset gates
    struct tensor *fresh;        // R^T of the new gate of GRU
    struct tensor *fresh_bias;   // its recurrent bias, [hidden], or NULL
    struct tensor *peepholes[3]; // of the gates i, o, f: [hidden], or NULL
    struct tensor *h, *cell;     // [batch, hidden]
};

typedef void (*take_step)(struct pass *p, struct tensor *x);

static struct tensor *direction_of(struct network *n, struct tensor *t, int64_t direction)
{
    return t ? squeeze(n->r, slice_axis(n->r, t, 0, direction, 1, 1), 0) : NULL;
}

// The columns of some gates, of [..., gates * hidden].
static struct tensor *gates_of(struct network *n, struct tensor *t, int64_t first, int64_t count)
{
    return t ? slice_axis(n->r, t, t->rank - 1, first * n->hidden, count * n->hidden, 1) : NULL;
}

static struct tensor *gate(struct pass *p, size_t function, struct tensor *t)
{
    if (p->n->clip > 0)
        t = clamp(p->n->r, t, -p->n->clip, p->n->clip);
    return apply(p->n->r, &p->activations[function], t);
}

static struct tensor *one_minus(struct recording *r, struct tensor *t)
{
    return number_with(r, SUB, 1, t);
}

static void step_rnn(struct pass *p, struct tensor *x)
{
    struct recording *r = p->n->r;
    p->h = gate(p, 0, binary(r, ADD, x, matmul(r, p->h, p->recurrent)));
}

// A gate's sum with what its peephole sees of a cell. `which`: of the gates i, o, f.
static struct tensor *peek(struct pass *p, struct tensor *t, size_t which, struct tensor *cell)
{
    if (!p->peepholes[which])
        return t;
    return binary(p->n->r, ADD, t, binary(p->n->r, MUL, cell, p->peepholes[which]));
}

// The peephole of the output gate looks at the new cell state, other than WebNN's.
static void step_lstm(struct pass *p, struct tensor *x)
{
    struct network *n = p->n;
    struct recording *r = n->r;
    struct tensor *sums = binary(r, ADD, x, matmul(r, p->h, p->recurrent));
    struct tensor *in = gate(p, 0, peek(p, gates_of(n, sums, 0, 1), 0, p->cell));
    struct tensor *forget =
        n->input_forget ? one_minus(r, in) : gate(p, 0, peek(p, gates_of(n, sums, 2, 1), 2, p->cell));
    struct tensor *fresh = gate(p, 1, gates_of(n, sums, 3, 1));
    p->cell = binary(r, ADD, binary(r, MUL, forget, p->cell), binary(r, MUL, in, fresh));
    struct tensor *out = gate(p, 0, peek(p, gates_of(n, sums, 1, 1), 1, p->cell));
    p->h = binary(r, MUL, out, apply(r, &p->activations[2], p->cell));
}

static void step_gru(struct pass *p, struct tensor *x)
{
    struct network *n = p->n;
    struct recording *r = n->r;
    struct tensor *sums = matmul(r, p->h, p->recurrent), *fresh;
    sums = gate(p, 0, binary(r, ADD, gates_of(n, x, 0, 2), sums));
    struct tensor *update = gates_of(n, sums, 0, 1), *reset = gates_of(n, sums, 1, 1);
    if (n->linear_before_reset) {
        fresh = matmul(r, p->h, p->fresh);
        if (p->fresh_bias)
            fresh = binary(r, ADD, fresh, p->fresh_bias);
        fresh = binary(r, MUL, reset, fresh);
    } else {
        fresh = matmul(r, binary(r, MUL, reset, p->h), p->fresh);
    }
    fresh = gate(p, 1, binary(r, ADD, gates_of(n, x, 2, 1), fresh));
    p->h = binary(r, ADD, binary(r, MUL, one_minus(r, update), fresh), binary(r, MUL, update, p->h));
}

static struct tensor *initial_state(struct network *n, struct tensor *given, int64_t direction)
{
    if (given)
        return direction_of(n, given, direction);
    return make_known(n->r, n->x->type, 2, (int64_t[]){n->batch, n->hidden});
}

// Input products of all steps at once, with the biases.
static struct tensor *input_products(struct network *n, int64_t direction)
{
    struct recording *r = n->r;
    struct tensor *w = swap_axes(r, direction_of(n, n->w, direction), 0, 1);
    struct tensor *x = reshape(r, n->x, 2, (int64_t[]){n->steps * n->batch, n->inputs});
    x = matmul(r, x, w);
    if (n->bias) {
        struct tensor *bias = direction_of(n, n->bias, direction);
        struct tensor *more = direction_of(n, n->recurrent_bias, direction);
        if (n->gates == 3 && n->linear_before_reset) { // the reset gate scales the last one
            struct tensor *parts[] = {gates_of(n, more, 0, 2), make_known(r, n->x->type, 1, &n->hidden)};
            more = concat(r, 2, parts, 0);
        }
        x = binary(r, ADD, x, binary(r, ADD, bias, more));
    }
    return reshape(r, x, 3, (int64_t[]){n->steps, n->batch, n->gates * n->hidden});
}

// After the end of a sequence, its state stays and its results are 0.
static struct tensor *take_masked(struct pass *p, take_step step, struct tensor *x, int64_t t)
{
    struct network *n = p->n;
    struct tensor *h = p->h, *cell = p->cell;
    step(p, x);
    if (!n->lengths || !p->h)
        return p->h;
    struct tensor *within = with_number(n->r, GREATER, n->lengths, (double)t), *result;
    result = choose(n->r, within, p->h, make_number(n->r, p->h->type, 0));
    p->h = choose(n->r, within, p->h, h);
    p->cell = p->cell ? choose(n->r, within, p->cell, cell) : NULL;
    return result;
}

// All steps of a direction: [steps, 1, batch, hidden].
static struct tensor *run_pass(struct pass *p, take_step step, bool backward)
{
    struct network *n = p->n;
    const int64_t dims[] = {1, 1, n->batch, n->hidden};
    struct tensor *results[MAX_STEPS];
    for (int64_t i = 0; i < n->steps && !n->r->failed; i++) {
        int64_t t = backward ? n->steps - 1 - i : i;
        struct tensor *x = squeeze(n->r, slice_axis(n->r, p->inputs, 0, t, 1, 1), 0);
        struct tensor *result = take_masked(p, step, x, t);
        results[t] = wants(n->c, 0) ? reshape(n->r, result, 4, dims) : NULL;
    }
    return n->r->failed || !wants(n->c, 0) ? NULL : concat(n->r, (size_t)n->steps, results, 0);
}

// Directions next to each other.
static struct tensor *join(struct network *n, struct tensor *const *parts, size_t axis)
{
    return parts[0] ? concat(n->r, (size_t)n->directions, parts, axis) : NULL;
}

static struct pass make_pass(struct network *n, int64_t direction)
{
    struct pass p = {.n = n, .activations = n->activations[direction]};
    struct tensor *bias = direction_of(n, n->recurrent_bias, direction);
    struct tensor *peephole = direction_of(n, n->peephole, direction);
    p.inputs = input_products(n, direction);
    p.recurrent = swap_axes(n->r, direction_of(n, n->u, direction), 0, 1);
    if (n->gates == 3) {
        p.fresh = gates_of(n, p.recurrent, 2, 1);
        p.fresh_bias = gates_of(n, bias, 2, 1);
        p.recurrent = gates_of(n, p.recurrent, 0, 2);
    }
    for (int64_t i = 0; i < 3; i++)
        p.peepholes[i] = gates_of(n, peephole, i, 1);
    p.h = initial_state(n, n->h, direction);
    p.cell = n->gates == 4 ? initial_state(n, n->cell, direction) : NULL;
    return p;
}

static void unroll(struct network *n, take_step step)
{
    struct tensor *h[2] = {NULL}, *cell[2] = {NULL}, *sequence[2] = {NULL};
    if (is_late(n->steps) || is_late(n->batch)) {
        fail(n->r, "steps, or a batch, of a size that is not known, that WebNN cannot take as one operator");
        return;
    }
    if (n->steps > MAX_STEPS) {
        fail(n->r, "%lld steps that WebNN cannot take as one operator; more than %d are not supported",
             (long long)n->steps, MAX_STEPS);
        return;
    }
    for (int64_t d = 0; d < n->directions && !n->r->failed; d++) {
        struct pass p = make_pass(n, d);
        sequence[d] = run_pass(&p, step, n->direction == REVERSE || d == 1);
        h[d] = unsqueeze(n->r, p.h, 0);
        cell[d] = unsqueeze(n->r, p.cell, 0);
    }
    if (n->r->failed)
        return;
    n->sequence = join(n, sequence, 1);
    n->last_h = join(n, h, 0);
    n->last_cell = join(n, cell, 0);
}

// ---------------------------------------------------------------------------------------------------------------
// lstm and gru of WebNN
// ---------------------------------------------------------------------------------------------------------------

// Whether WebNN's operator can be used, as far as both kinds ask for the same: it has one set of activations
// for both directions.
static bool is_plain(const struct network *n)
{
    for (size_t i = 0; i < n->function_count; i++)
        for (int64_t d = 0; d < n->directions; d++)
            if (n->activations[d][i].function > F_RELU ||
                n->activations[d][i].function != n->activations[0][i].function)
                return false;
    return n->clip == 0 && !n->input_forget;
}

static bool make_activations(struct network *n, WNNActivation *activations)
{
    WNNOperatorOptions options = {NULL, label_of(n->r)};
    for (size_t i = 0; i < n->function_count; i++) {
        enum function function = n->activations[0][i].function;
        activations[i] = function == F_SIGMOID ? wnnGraphBuilderActivationSigmoid(n->r->builder, &options)
                         : function == F_TANH  ? wnnGraphBuilderActivationTanh(n->r->builder, &options)
                                               : wnnGraphBuilderActivationRelu(n->r->builder, &options);
        if (!activations[i]) {
            make_operand(n->r, n->x->type, NULL); // takes the builder's error
            return false;
        }
    }
    return true;
}

// The defaults need no activations.
static bool has_defaults(const struct network *n)
{
    for (size_t i = 0; i < n->function_count; i++)
        if (n->activations[0][i].function != (i == 0 ? F_SIGMOID : F_TANH))
            return false;
    return true;
}

static WNNRecurrentNetworkDirection direction_option(const struct network *n)
{
    return n->direction == BIDIRECTIONAL ? WNNRecurrentNetworkDirection_Both
           : n->direction == REVERSE     ? WNNRecurrentNetworkDirection_Backward
                                         : WNNRecurrentNetworkDirection_Forward;
}

static WNNOperand optional(struct network *n, struct tensor *t)
{
    return t ? operand_of(n->r, t) : NULL;
}

static void use_lstm(struct network *n)
{
    struct recording *r = n->r;
    WNNActivation activations[MAX_FUNCTIONS];
    WNNOperand outputs[3] = {NULL}, x = operand_of(r, n->x), w = operand_of(r, n->w), u = operand_of(r, n->u);
    WNNLstmOptions options = WNN_LSTM_OPTIONS_INIT;
    options.label = label_of(r);
    options.bias = optional(n, n->bias);
    options.recurrentBias = optional(n, n->recurrent_bias);
    options.initialHiddenState = optional(n, n->h);
    options.initialCellState = optional(n, n->cell);
    options.returnSequence = n->wants_sequence;
    options.direction = direction_option(n);
    options.layout = WNNLstmWeightLayout_IOFG;
    if (r->failed || !x || !w || !u || (!has_defaults(n) && !make_activations(n, activations)))
        return;
    if (!has_defaults(n))
        options.activations = (WNNActivationList){activations, n->function_count};
    size_t count = wnnGraphBuilderLstm(r->builder, x, w, u, size_number(n->steps), (uint32_t)n->hidden,
                                       &options, outputs);
    n->last_h = make_operand(r, n->x->type, count ? outputs[0] : NULL);
    n->last_cell = n->last_h ? make_operand(r, n->x->type, outputs[1]) : NULL;
    if (options.returnSequence && n->last_cell)
        n->sequence = make_operand(r, n->x->type, outputs[2]);
}

static void use_gru(struct network *n)
{
    struct recording *r = n->r;
    WNNActivation activations[MAX_FUNCTIONS];
    WNNOperand outputs[2] = {NULL}, x = operand_of(r, n->x), w = operand_of(r, n->w), u = operand_of(r, n->u);
    WNNGruOptions options = WNN_GRU_OPTIONS_INIT;
    options.label = label_of(r);
    options.bias = optional(n, n->bias);
    options.recurrentBias = optional(n, n->recurrent_bias);
    options.initialHiddenState = optional(n, n->h);
    options.resetAfter = n->linear_before_reset;
    options.returnSequence = n->wants_sequence;
    options.direction = direction_option(n);
    options.layout = WNNGruWeightLayout_ZRN;
    if (r->failed || !x || !w || !u || (!has_defaults(n) && !make_activations(n, activations)))
        return;
    if (!has_defaults(n))
        options.activations = (WNNActivationList){activations, n->function_count};
    size_t count = wnnGraphBuilderGru(r->builder, x, w, u, size_number(n->steps), (uint32_t)n->hidden,
                                      &options, outputs);
    n->last_h = make_operand(r, n->x->type, count ? outputs[0] : NULL);
    if (options.returnSequence && n->last_h)
        n->sequence = make_operand(r, n->x->type, outputs[1]);
}

// ---------------------------------------------------------------------------------------------------------------
// Sequences of different lengths
// ---------------------------------------------------------------------------------------------------------------

typedef void (*use_operator)(struct network *n);

// A direction by itself, forward.
static struct network one_direction(struct network *n, int64_t direction)
{
    struct network one = *n;
    struct tensor **parts[] = {&one.w, &one.u, &one.bias, &one.recurrent_bias, &one.h, &one.cell};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        *parts[i] = *parts[i] ? slice_axis(n->r, *parts[i], 0, direction, 1, 1) : NULL;
    memcpy(one.activations[0], n->activations[direction], sizeof one.activations[0]);
    one.direction = FORWARD;
    one.directions = 1;
    one.lengths = NULL;
    one.wants_sequence = true;
    return one;
}

// Results after the end of a sequence are 0, and the last one is the one at its end; the initial state, or 0,
// of a sequence of no steps.
static void cut_sequences(struct network *n, struct network *one)
{
    struct recording *r = n->r;
    struct tensor *step = make_range(r, ONNX_INT64, 1, n->steps, 1), *zero = make_number(r, n->x->type, 0);
    step = reshape(r, step, 4, (int64_t[]){n->steps, 1, 1, 1});
    struct tensor *end = reshape(r, cast(r, n->lengths, ONNX_INT64), 4, (int64_t[]){1, 1, n->batch, 1});
    one->sequence = choose(r, binary(r, LESSER_OR_EQUAL, step, end), one->sequence, zero);
    struct tensor *last = choose(r, binary(r, EQUAL, step, end), one->sequence, zero);
    one->last_h = reduce(r, SUM, last, 1, (size_t[]){0}, false);
    if (one->h)
        one->last_h = choose(r, squeeze(r, with_number(r, EQUAL, end, 0), 0), one->h, one->last_h);
}

#define SHUT 1e4 // what sigmoid makes 0 of if it is subtracted, and 1 if it is added

// Cells of lstm stay as they are after the end of a sequence: one more input, which is 1 there, shuts the
// input gate and opens the forget gate.
static void keep_cells(struct network *n, struct network *one)
{
    struct recording *r = n->r;
    int64_t rows = 4 * n->hidden;
    if (one->activations[0][0].function != F_SIGMOID) {
        fail(r, "last cells of sequences of different lengths beside sizes that are not known");
        return;
    }
    struct tensor *step =
        reshape(r, make_range(r, ONNX_INT64, 1, n->steps, 1), 3, (int64_t[]){n->steps, 1, 1});
    struct tensor *end = reshape(r, cast(r, n->lengths, ONNX_INT64), 3, (int64_t[]){1, n->batch, 1});
    struct tensor *after = cast(r, binary(r, GREATER, step, end), n->x->type);
    struct tensor *column = make_known(r, n->x->type, 3, (int64_t[]){1, rows, 1});
    for (int64_t i = 0; column && i < n->hidden; i++) {
        set_known(column, i, -SHUT);
        set_known(column, 2 * n->hidden + i, SHUT);
    }
    one->x = concat(r, 2, (struct tensor *[]){one->x, after}, 2);
    one->w = concat(r, 2, (struct tensor *[]){one->w, column}, 2);
}

// Each direction goes forward over whole sequences, backward over those that are turned; what comes after the
// end of a sequence changes nothing before it.
static void use_lengths(struct network *n, use_operator use)
{
    struct recording *r = n->r;
    struct tensor *h[2] = {NULL}, *cell[2] = {NULL}, *sequence[2] = {NULL},
                  *lengths = reshape(r, n->lengths, 1, &n->batch);
    for (int64_t d = 0; d < n->directions && !r->failed; d++) {
        struct network one = one_direction(n, d);
        bool backward = n->direction == REVERSE || d == 1;
        one.x = backward ? reverse_sequence(r, n->x, lengths, 1, 0) : n->x;
        if (n->gates == 4 && wants(n->c, 2))
            keep_cells(n, &one);
        if (!r->failed)
            use(&one);
        cut_sequences(n, &one);
        sequence[d] = backward ? reverse_sequence(r, one.sequence, lengths, 2, 0) : one.sequence;
        h[d] = one.last_h;
        cell[d] = one.last_cell;
    }
    n->sequence = join(n, sequence, 1);
    n->last_h = join(n, h, 0);
    n->last_cell = join(n, cell, 0);
}

// By an operator of WebNN, if there is one that can, or step by step.
static void compute(struct network *n, use_operator use, take_step step)
{
    if (n->r->failed)
        return;
    if (use && !n->lengths)
        use(n);
    else if (use && is_long(n))
        use_lengths(n, use);
    else
        unroll(n, step);
    if (!n->r->failed)
        set_results(n);
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

// Peepholes of zeros are none.
static bool read_peephole(struct network *n)
{
    struct tensor *t = input(n->c, P_INPUT);
    if (!check_shape(n, t, "the peephole weights", 2, (int64_t[]){n->directions, 3 * n->hidden}))
        return false;
    bool zeros = t && is_known(n->r, t);
    for (int64_t i = 0; zeros && i < count_elements(t); i++)
        zeros = known_number(t, i) == 0;
    n->peephole = zeros ? NULL : t;
    return !n->r->failed;
}

void record_lstm(struct call *c)
{
    static const enum function defaults[] = {F_SIGMOID, F_TANH, F_TANH};
    struct network n;
    if (!read_network(&n, c, 4, 3, defaults) || !read_peephole(&n))
        return;
    n.input_forget = get_int(c, "input_forget", 0) != 0;
    n.cell = read_state(&n, C_INPUT, "initial_c");
    if (c->r->failed)
        return;
    compute(&n, is_plain(&n) && !n.peephole ? use_lstm : NULL, step_lstm);
}

// Weights of bytes, [directions, inputs, gates * hidden], with scales and zero points for each direction or
// column; computed with real numbers, also what ONNX Runtime quantizes on the way.
static struct tensor *quantized_weights(struct call *c, size_t index, size_t scale_index)
{
    struct recording *r = c->r;
    struct tensor *w = input(c, index), *scale = input(c, scale_index), *zero = input(c, scale_index + 1);
    if (!w || !scale || w->rank != 3 || scale->rank < 1 || scale->rank > 2 || scale->dims[0] != w->dims[0])
        return fail(r, "weights that are not of rank 3, or scales that do not fit them");
    int64_t dims[] = {w->dims[0], 1, scale->rank == 2 ? scale->dims[1] : 1},
            each[] = {dims[0], 1, w->dims[2]};
    scale = expand(r, reshape(r, scale, 3, dims), 3, each);
    zero = zero ? expand(r, reshape(r, zero, 3, dims), 3, each) : NULL;
    return swap_axes(r, dequantize(r, w, scale, zero, 1, w->dims[1]), 1, 2);
}

void record_quantized_lstm(struct call *c)
{
    struct tensor *inputs[8] = {NULL};
    struct call real = *c;
    for (size_t i = 0; i < 8; i++)
        inputs[i] = input(c, i);
    inputs[W_INPUT] = quantized_weights(c, W_INPUT, 8);
    inputs[R_INPUT] = quantized_weights(c, R_INPUT, 10);
    real.inputs = inputs;
    real.input_count = 8;
    if (!c->r->failed)
        record_lstm(&real);
}

void record_gru(struct call *c)
{
    static const enum function defaults[] = {F_SIGMOID, F_TANH};
    struct network n;
    if (!read_network(&n, c, 3, 2, defaults))
        return;
    n.linear_before_reset = get_int(c, "linear_before_reset", 0) != 0;
    compute(&n, is_plain(&n) ? use_gru : NULL, step_gru);
}

// [directions, hidden, ...] as the last of three gates, of which the others are `update` and `reset`.
static struct tensor *as_new_gate(struct network *n, struct tensor *t, double update, double reset)
{
    int64_t dims[MAX_RANK] = {n->directions, n->hidden};
    for (size_t i = 2; t && i < t->rank; i++)
        dims[i] = t->dims[i];
    size_t rank = t ? t->rank : 2;
    struct tensor *gates[] = {make_filled(n->r, n->x->type, rank, dims, update),
                              make_filled(n->r, n->x->type, rank, dims, reset),
                              t ? t : make_filled(n->r, n->x->type, rank, dims, 0)};
    return concat(n->r, 3, gates, 1);
}

// As a gru whose update gate is 0 and whose reset gate is 1: relu of constants.
static void use_gru_for_rnn(struct network *n)
{
    n->w = as_new_gate(n, n->w, 0, 0);
    n->u = as_new_gate(n, n->u, 0, 0);
    n->bias = as_new_gate(n, n->bias, 0, 1);
    n->recurrent_bias = n->recurrent_bias ? as_new_gate(n, n->recurrent_bias, 0, 0) : NULL;
    n->linear_before_reset = true;
    n->function_count = 2;
    n->gates = 3;
    for (size_t d = 0; d < 2; d++) {
        n->activations[d][1] = n->activations[d][0];
        n->activations[d][0] = (struct activation){F_RELU, 0, 0};
    }
    use_gru(n);
}

void record_rnn(struct call *c)
{
    static const enum function defaults[] = {F_TANH};
    struct network n;
    if (!read_network(&n, c, 1, 1, defaults))
        return;
    compute(&n, is_plain(&n) && is_long(&n) ? use_gru_for_rnn : NULL, step_rnn);
}
