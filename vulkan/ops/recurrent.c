// SPDX-License-Identifier: Apache-2.0
//
// gru, lstm and their cells, which are sequences of one step. What all steps take from the input is one
// product. Then come the steps, one after the other: of a small state many in one dispatch, in which a work
// group goes its own way with each row of the batch in each direction, else in a dispatch or two each, in
// which work groups share the units.

#include "vulkan/ops/elements.h"
#include "vulkan/ops/operators.h"
#include "vulkan/ops/gemm.h"

enum {
    EXACT = 64, // so many terms and fewer are summed in pairs of floats, and what comes of them too
    SMALL_STATE = 1 << 16, // weights that a work group reads again and again
    MAX_STEPS = 1 << 13,   // that are dispatches of their own
    MAX_WORK = 1 << 22,    // multiplications of a row in one dispatch
    MAX_TOGETHER = 4,      // rows of the batch for which weights are loaded once
    MAX_GATES = 4
};

struct network {
    bool lstm, reset_after, backward;
    const struct tensor *input, *weight, *recurrent_weight, *bias, *recurrent_bias, *peephole, *first_hidden,
        *first_cell;
    const struct tensor *last_hidden, *last_cell, *sequence; // NULL: not wanted
    uint32_t block[MAX_GATES]; // by gate: which block of lines of the weights is its
    WNNActivationList activations;
    uint32_t directions, steps, batches, inputs, size, gates;
};

// What shapes and attributes say of it.
static struct network network_of(const struct node *node)
{
    bool lstm = node->op == WNN_OP_lstm || node->op == WNN_OP_lstmCell,
         cell = node->op == WNN_OP_gruCell || node->op == WNN_OP_lstmCell;
    const uint32_t *dim = node->in[0]->type.shape.dim;
    struct network n = {.lstm = lstm, .gates = lstm ? 4 : 3, .directions = 1, .steps = 1};
    n.batches = dim[cell ? 0 : 1];
    n.inputs = dim[cell ? 1 : 2];
    WNNRecurrentNetworkDirection direction = WNNRecurrentNetworkDirection_Forward;
    bool rzn = false, ifgo = false;
    if (node->op == WNN_OP_gruCell) {
        const struct gru_cell_attrs *attrs = node->attrs;
        n.size = attrs->hiddenSize;
        n.reset_after = attrs->options.resetAfter;
        n.activations = attrs->options.activations;
        rzn = attrs->options.layout == WNNGruWeightLayout_RZN;
    } else if (node->op == WNN_OP_gru) {
        const struct gru_attrs *attrs = node->attrs;
        n.steps = attrs->steps;
        n.size = attrs->hiddenSize;
        n.reset_after = attrs->options.resetAfter;
        n.activations = attrs->options.activations;
        direction = attrs->options.direction;
        rzn = attrs->options.layout == WNNGruWeightLayout_RZN;
    } else if (node->op == WNN_OP_lstmCell) {
        const struct lstm_cell_attrs *attrs = node->attrs;
        n.size = attrs->hiddenSize;
        n.activations = attrs->options.activations;
        ifgo = attrs->options.layout == WNNLstmWeightLayout_IFGO;
    } else {
        const struct lstm_attrs *attrs = node->attrs;
        n.steps = attrs->steps;
        n.size = attrs->hiddenSize;
        n.activations = attrs->options.activations;
        direction = attrs->options.direction;
        ifgo = attrs->options.layout == WNNLstmWeightLayout_IFGO;
    }
    n.directions = direction == WNNRecurrentNetworkDirection_Both ? 2 : 1;
    n.backward = direction == WNNRecurrentNetworkDirection_Backward;
    const uint32_t gru_blocks[] = {rzn ? 1 : 0, rzn ? 0 : 1, 2, 0},    // update, reset, new
        lstm_blocks[] = {0, ifgo ? 3 : 1, ifgo ? 1 : 2, ifgo ? 2 : 3}; // input, output, forget, cell
    for (unsigned g = 0; g < MAX_GATES; g++)
        n.block[g] = lstm ? lstm_blocks[g] : gru_blocks[g];
    return n;
}

// Cells have their states in front of the biases, networks behind them.
static void find_tensors(struct network *n, const struct lowering *lowering)
{
    const struct node *node = lowering->node;
    const struct tensor *in = lowering->in, *out = lowering->out;
    bool cell = node->op == WNN_OP_gruCell || node->op == WNN_OP_lstmCell;
    unsigned states = n->lstm ? 2 : 1, first_bias = cell ? 3 + states : 3,
             first_state = cell ? 3 : first_bias + (n->lstm ? 3 : 2);
    n->input = &in[0];
    n->weight = &in[1];
    n->recurrent_weight = &in[2];
    n->bias = &in[first_bias];
    n->recurrent_bias = &in[first_bias + 1];
    n->peephole = n->lstm ? &in[first_bias + 2] : NULL;
    n->first_hidden = &in[first_state];
    n->first_cell = n->lstm ? &in[first_state + 1] : NULL;
    n->last_hidden = &out[0];
    n->last_cell = n->lstm ? &out[1] : NULL;
    n->sequence = node->out_count > states ? &out[states] : NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Scratch memory
// ---------------------------------------------------------------------------------------------------------------

static bool given(const struct tensor *tensor)
{
    return tensor && tensor->region.buffer;
}

static bool is_exact(const struct network *n)
{
    return n->size <= EXACT;
}

// Whether the input's part is pairs of floats.
static bool has_pairs(const struct network *n)
{
    return n->inputs <= EXACT;
}

// Bytes: the input's part; for each direction its states, STATES times a row for each item of the batch, and
// gates, as pairs, or what one dispatch of a step leaves to the other; the sequence, unless it is the output;
// what the product needs.
struct places {
    uint64_t states, direction, gates, sequence, rest, end;
    uint64_t row; // of elements, for all of the batch
};

enum {
    HIDDEN,
    OTHER_HIDDEN, // steps take turns
    CELL,
    STATES
};

static struct product input_product(const struct network *n)
{
    uint32_t lines = n->gates * n->size, rows = n->steps * n->batches;
    return (struct product){.fixed_b = true,
                            .rows = rows,
                            .columns = lines,
                            .inner = n->inputs,
                            .matrices = n->directions,
                            .a_row = n->inputs,
                            .a_inner = 1,
                            .b_column = n->inputs,
                            .out_row = lines,
                            .b_run = n->inputs,
                            .b_inner = 1,
                            .alpha = 1,
                            .rank = 1,
                            .dims = {n->directions},
                            .a_steps = {0},
                            .b_steps = {(int64_t)lines * n->inputs},
                            .out_steps = {(int64_t)rows * lines}};
}

// Dimensions are an operand's: their product is below 2^31, or as many bytes as can be counted.
static struct places places_of(const struct network *n)
{
    struct places p = {.row = (uint64_t)n->batches * n->size};
    uint64_t part = p.row * n->directions * n->steps * n->gates * (has_pairs(n) ? 8 : 4);
    p.states = (part + WNN_ALIGNMENT - 1) / WNN_ALIGNMENT * WNN_ALIGNMENT;
    p.gates = p.row * STATES * 4;
    p.direction = (p.gates + p.row * MAX_GATES * 8 + WNN_ALIGNMENT - 1) / WNN_ALIGNMENT * WNN_ALIGNMENT;
    p.sequence = p.states + n->directions * p.direction;
    p.rest = p.sequence + p.row * n->directions * n->steps * 4;
    p.rest = (p.rest + WNN_ALIGNMENT - 1) / WNN_ALIGNMENT * WNN_ALIGNMENT;
    p.end = p.rest;
    return p;
}

static size_t scratch_bytes(const struct node *node)
{
    struct network n = network_of(node);
    // The input's part has as many elements as an operand can have, or is too large.
    uint64_t elements;
    if (!wnn_multiply((uint64_t)n.directions * n.steps, n.batches, &elements) ||
        !wnn_multiply(elements, (uint64_t)n.size * n.gates, &elements) || elements > INT32_MAX)
        return SIZE_MAX;
    struct places places = places_of(&n);
    if (!has_pairs(&n)) {
        struct product product = input_product(&n);
        size_t more = wnn_scratch_of_product(&product, WNNDataType_Float32);
        if (more > SIZE_MAX / 2)
            return SIZE_MAX;
        places.end += more;
    }
    return places.end > SIZE_MAX / 2 ? SIZE_MAX : (size_t)places.end;
}

static struct tensor floats_at(const struct lowering *lowering, uint64_t offset, uint64_t count)
{
    return wnn_scratch(lowering, (size_t)offset, WNNDataType_Float32, (size_t)count);
}

// One of a direction's states.
static struct tensor state_of(const struct lowering *lowering, const struct places *places,
                              uint32_t direction, unsigned which)
{
    return floats_at(lowering, places->states + direction * places->direction + which * places->row * 4,
                     places->row);
}

// A direction's part of a tensor with a row for each.
static struct tensor part_of(const struct tensor *tensor, uint64_t first, uint64_t count)
{
    struct tensor part = *tensor;
    part.shape = (struct shape){1, {(uint32_t)count}};
    part.count = (size_t)count;
    part.region.offset += (size_t)first * (wnn_dtype_bits(tensor->type) / 8);
    part.region.bytes = (size_t)count * (wnn_dtype_bits(tensor->type) / 8);
    return part;
}

// ---------------------------------------------------------------------------------------------------------------
// Before and after the steps
// ---------------------------------------------------------------------------------------------------------------

static struct tensor input_part(const struct lowering *lowering, const struct network *n)
{
    uint64_t count = (uint64_t)n->directions * n->steps * n->batches * n->size * n->gates;
    struct tensor tensor = floats_at(lowering, 0, count);
    if (has_pairs(n))
        tensor.region.bytes *= 2;
    return tensor;
}

static void lower_input(struct lowering *lowering, const struct network *n, const struct places *places)
{
    struct tensor part = input_part(lowering, n);
    if (!has_pairs(n)) {
        struct region scratch = lowering->scratch;
        struct product product = input_product(n);
        product.a = n->input;
        product.b = n->weight;
        product.out = &part;
        lowering->scratch.offset += (size_t)places->rest;
        lowering->scratch.bytes -= (size_t)places->rest;
        if (wnn_is_large_product(lowering, &product))
            wnn_lower_product(lowering, &product);
        else
            wnn_lower_each_product(lowering, &product);
        lowering->scratch = scratch;
        return;
    }
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "recurrent_input", part.count * n->inputs);
    wnn_shader_fixed(&shader, "LINES", n->size * n->gates);
    wnn_shader_number(&shader, "STEPS", n->steps);
    wnn_shader_number(&shader, "BATCHES", n->batches);
    wnn_shader_fixed(&shader, "INPUTS", n->inputs);
    wnn_shader_input(&shader, "a", n->input, FORM_VALUE);
    wnn_shader_input(&shader, "w", n->weight, FORM_VALUE);
    wnn_shader_output(&shader, &part, FORM_PAIR, NULL);
    wnn_shader_end(&shader);
}

// The values of `to`, element i of which is where dims and steps say, from `offset` on.
static void move_values(struct lowering *lowering, const struct tensor *from, const struct tensor *to,
                        unsigned rank, const uint32_t *dims, const int64_t *steps, int64_t offset)
{
    struct elements elements;
    wnn_elements_begin(&elements, lowering, to->count);
    wnn_elements_map(&elements, "x", from, FORM_VALUE, rank, dims, steps, offset);
    wnn_elements_output(&elements, "x", to, FORM_VALUE);
    wnn_elements_end(&elements, NULL);
}

// The first state of a direction, zeros if none is given.
static void set_state(struct lowering *lowering, const struct places *places, const struct tensor *first,
                      uint32_t direction, unsigned which)
{
    struct tensor state = state_of(lowering, places, direction, which);
    if (given(first)) {
        move_values(lowering, first, &state, 1, state.shape.dim, (const int64_t[]){1},
                    (int64_t)(direction * places->row));
        return;
    }
    wnn_fill(lowering, &state.region);
}

// A state of all directions to where an output has them.
static void get_states(struct lowering *lowering, const struct network *n, const struct places *places,
                       unsigned which, const struct tensor *out)
{
    struct tensor states = state_of(lowering, places, 0, which);
    const uint32_t dims[] = {n->directions, (uint32_t)places->row};
    const int64_t steps[] = {(int64_t)(places->direction / 4), 1};
    states.region.bytes += (size_t)((n->directions - 1) * places->direction);
    move_values(lowering, &states, out, 2, dims, steps, 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Steps
// ---------------------------------------------------------------------------------------------------------------

// How a dispatch works.
struct schedule {
    bool alone, shared, quads; // as in the kernel
    bool even;                 // what changes from step to step begins at multiples of GPU_QUAD bytes
    uint32_t lanes, rows, local_size;
};

static uint32_t power_above(uint64_t count, uint32_t most)
{
    uint32_t power = 1;
    while (power < count && power < most)
        power *= 2;
    return power;
}

static bool has_softmax(const struct network *n)
{
    for (size_t i = 0; i < n->activations.count; i++) {
        enum op op = (enum op)wnn_activation(n->activations.data[i])->op;
        if (op == WNN_OP_softmax)
            return true;
    }
    return false;
}

static uint64_t shared_bytes(const struct network *n, const struct schedule *s)
{
    uint32_t number = is_exact(n) ? 8 : 4, gates = !n->lstm && !n->reset_after ? 2 : n->gates;
    uint64_t bytes = (uint64_t)(s->local_size * gates * s->rows + s->lanes) * number;
    if (!s->alone)
        bytes += MAX_GATES * s->rows * (s->local_size / s->lanes) * number;
    else if (s->shared)
        bytes += (uint64_t)n->size * (MAX_GATES * number + STATES * 4);
    return bytes;
}

static struct schedule choose(const struct lowering *lowering, const struct network *n,
                              const struct tensor *sequence)
{
    const struct gpu *gpu = lowering->gpu;
    const struct capabilities *can = &gpu->can;
    uint64_t weights = (uint64_t)n->gates * n->size * n->size,
             largest = (uint64_t)n->gates * n->size * n->batches * 8; // of what changes from step to step
    bool small = weights <= SMALL_STATE && !can->minimal,             // tests: as if the state were large
        processor = can->type == VK_PHYSICAL_DEVICE_TYPE_CPU;
    struct schedule s = {.alone = small || has_softmax(n) || n->steps > MAX_STEPS ||
                                  largest > wnn_shader_piece(gpu),
                         .rows = 1};
    uint32_t most = can->invocations < 1024 || processor ? 128 : s.alone ? 1024 : 256;
    s.lanes = power_above(((uint64_t)n->size + 7) / 8, 64);
    s.lanes = s.lanes < 4 ? 4 : s.lanes;
    if (!s.alone && n->batches > 1) {
        s.lanes = s.lanes < 16 ? 16 : s.lanes;
        s.rows = power_above(n->batches, MAX_TOGETHER);
    }
    s.shared = s.alone;
    s.local_size = power_above((uint64_t)s.lanes * n->size, most);
    s.local_size = s.local_size < 64 ? 64 : s.local_size;
    if (shared_bytes(n, &s) > can->shared_bytes)
        s.shared = false;
    while (shared_bytes(n, &s) > can->shared_bytes && s.local_size > 64)
        s.local_size /= 2;
    while (shared_bytes(n, &s) > can->shared_bytes && s.rows > 1)
        s.rows /= 2;
    s.quads = !is_exact(n) && n->size % 4 == 0 && wnn_shader_has_quads(lowering, n->recurrent_weight) &&
              (!sequence || wnn_shader_has_quads(lowering, sequence));
    s.even = (uint64_t)n->batches * n->size % (GPU_QUAD / 4) == 0 &&
             (!sequence || sequence->region.offset % GPU_QUAD == 0);
    return s;
}

static void define_activation(struct shader *shader, const struct network *n, unsigned which)
{
    const struct activation *activation = wnn_activation(n->activations.data[which]);
    bool softmax = activation->op == WNN_OP_softmax;
    char expression[256], prefix[16] = {'A', 'C', 'T', (char)('0' + which), 0};
    wnn_shader_text(shader, "#define SOFTMAX_%u %d\n", which, softmax);
    if (softmax)
        return;
    if (is_exact(n) && (activation->op == WNN_OP_sigmoid || activation->op == WNN_OP_tanh)) {
        wnn_shader_text(shader, "#define activation%u(x) %s(x)\n", which,
                        activation->op == WNN_OP_tanh ? "tanh2" : "sigmoid2");
        return;
    }
    if (is_exact(n) && activation->op == WNN_OP_relu) {
        wnn_shader_text(shader, "vec2 activation%u(vec2 x) { return x.x < 0.0 ? vec2(0.0) : x; }\n", which);
        return;
    }
    wnn_shader_function(shader, prefix, (enum op)activation->op, activation->attrs, n->input->type,
                        expression, sizeof expression);
    wnn_shader_text(shader, "NUMBER activation%u(NUMBER y) { float x = value(y); return number(%s); }\n",
                    which, expression);
}

// Arithmetic of numbers.
static void define_numbers(struct shader *shader, const struct network *n)
{
    bool exact = is_exact(n), pairs = has_pairs(n);
    wnn_shader_text(
        shader, exact ? "#define NUMBER vec2\n#define number(x) vec2(x, 0.0)\n#define value(x) x_and_y(x)\n"
                        "float x_and_y(vec2 x) { return x.x + x.y; }\n"
                        "#define plus(a, b) sum2(a, b)\n#define times(a, b) times2(a, b)\n"
                      : "#define NUMBER float\n#define number(x) (x)\n#define value(x) (x)\n"
                        "#define plus(a, b) ((a) + (b))\n#define times(a, b) ((a) * (b))\n");
    wnn_shader_text(shader, "NUMBER x_number(uint i) { %s; }\n",
                    exact && !pairs   ? "return vec2(x_at(i), 0.0)"
                    : !exact && pairs ? "vec2 x = x_at(i); return x.x + x.y"
                                      : "return x_at(i)");
}

// Bindings whose regions change from step to step.
struct slots {
    unsigned x, factors, hidden, next;
};

// What all kinds of dispatches have in common; `x` is the input's part for them, whose binding is returned,
// and `direction` what shaders say for the direction.
static unsigned begin_steps(struct shader *shader, struct lowering *lowering, const struct network *n,
                            const struct schedule *s, const char *direction, const struct tensor *x,
                            size_t work)
{
    wnn_shader_begin(shader, lowering, "recurrent", work);
    shader->local_size = s->local_size;
    wnn_shader_define(shader, "ALONE", "%d", s->alone);
    wnn_shader_define(shader, "SHARED", "%d", s->shared);
    wnn_shader_define(shader, "LSTM", "%d", n->lstm);
    wnn_shader_define(shader, "RESET_AFTER", "%d", !n->lstm && n->reset_after);
    wnn_shader_define(shader, "QUADS", "%d", s->quads);
    wnn_shader_define(shader, "LANES", "%uu", s->lanes);
    wnn_shader_define(shader, "ROWS", "%uu", s->rows);
    wnn_shader_define(shader, "UNROLL", "%s", shader->large && n->size <= 16 * s->lanes ? "[[unroll]]" : "");
    wnn_shader_define(shader, "DIRECTION", "%s", direction);
    wnn_shader_define(shader, "DIRECTIONS", "%uu", n->directions);
    wnn_shader_number(shader, "BATCHES", n->batches);
    if (s->shared) // it is the length of arrays
        wnn_shader_define(shader, "SIZE", "%uu", n->size);
    else
        wnn_shader_fixed(shader, "SIZE", n->size);
    wnn_shader_fixed(shader, "LINES", n->size * n->gates);
    wnn_shader_numbers(shader, "BLOCK", n->block, MAX_GATES);
    unsigned k = wnn_shader_input(shader, "x", x, has_pairs(n) ? FORM_PAIR : FORM_VALUE);
    define_numbers(shader, n);
    wnn_shader_input(shader, "r", n->recurrent_weight, FORM_VALUE);
    if (s->quads)
        wnn_shader_quads(shader, "r", n->recurrent_weight);
    if (given(n->bias)) {
        wnn_shader_define(shader, "BIAS", "1");
        wnn_shader_input(shader, "b", n->bias, FORM_VALUE);
    }
    if (given(n->recurrent_bias)) {
        wnn_shader_define(shader, "RECURRENT_BIAS", "1");
        wnn_shader_define(shader, "BIASED_GATES", "%uu", !n->lstm && n->reset_after ? 2 : MAX_GATES);
        wnn_shader_input(shader, "q", n->recurrent_bias, FORM_VALUE);
    }
    if (given(n->peephole)) {
        wnn_shader_define(shader, "PEEPHOLE", "1");
        wnn_shader_input(shader, "p", n->peephole, FORM_VALUE);
    }
    for (unsigned i = 0; i < (n->lstm ? 3 : 2); i++)
        define_activation(shader, n, i);
    if (!n->lstm)
        wnn_shader_define(shader, "SOFTMAX_2", "0");
    return k;
}

// Pieces of the input's part and the sequence: `steps` of them from `first` on.
static struct tensor part_of_input(const struct lowering *lowering, const struct network *n,
                                   uint32_t direction, uint32_t first, uint32_t steps)
{
    struct tensor part = input_part(lowering, n);
    size_t row = (size_t)n->batches * n->size * n->gates * (has_pairs(n) ? 8 : 4);
    part.region.offset += ((size_t)direction * n->steps + first) * row;
    part.region.bytes = steps * row;
    part.count = (size_t)steps * n->batches * n->size * n->gates;
    return part;
}

static struct tensor part_of_sequence(const struct network *n, const struct tensor *sequence, uint32_t first,
                                      uint32_t steps)
{
    uint64_t row = (uint64_t)n->directions * n->batches * n->size;
    return part_of(sequence, first * row, steps * row);
}

// Many steps in a dispatch, of a direction and those behind it.
static void lower_alone(struct lowering *lowering, const struct network *n, const struct places *places,
                        const struct schedule *s, uint32_t direction, uint32_t directions,
                        const struct tensor *sequence)
{
    bool backward = n->backward || direction == 1;
    uint64_t work = (uint64_t)n->gates * n->size * n->size;
    uint32_t most = work < MAX_WORK ? (uint32_t)(MAX_WORK / work) : 1;
    for (uint32_t done = 0, steps; done < n->steps; done += steps) {
        steps = n->steps - done < most ? n->steps - done : most;
        // What a shader sees: all of it, if that is of both directions.
        uint32_t first = directions > 1 ? 0 : backward ? n->steps - done - steps : done;
        uint32_t seen = directions > 1 ? n->directions * n->steps : steps;
        struct tensor x = part_of_input(lowering, n, direction, first, seen);
        struct tensor state = state_of(lowering, places, 0, HIDDEN);
        struct shader shader;
        state.region.bytes = (size_t)(n->directions * places->direction);
        begin_steps(&shader, lowering, n, s, "direction", &x,
                    (size_t)(work * steps * n->batches * directions));
        wnn_shader_number(&shader, "ALL_STEPS", n->steps);
        wnn_shader_number(&shader, "SEEN_FROM", first);
        wnn_shader_define(&shader, "FIRST_DIRECTION", "%uu", direction);
        wnn_shader_define(&shader, "SEEN_DIRECTIONS", "%uu", directions);
        wnn_shader_number(&shader, "DONE", done);
        wnn_shader_number(&shader, "STEPS", steps);
        wnn_shader_define(&shader, "PHASE", "0");
        wnn_shader_fixed(&shader, "BACKWARD", n->backward);
        wnn_shader_number(&shader, "STATES_OF_DIRECTION", (uint32_t)(places->direction / 4));
        wnn_shader_words(&shader, "work", &state.region);
        if (!s->shared) {
            unsigned width = is_exact(n) ? 2 : 1;
            wnn_shader_number(&shader, "GATES_AT", (uint32_t)(places->gates / 4));
            wnn_shader_text(&shader,
                            "#define PLACE_OF(i) (direction * STATES_OF_DIRECTION + GATES_AT + "
                            "(first_row * 4u * SIZE + (i)) * %uu)\n",
                            width);
            wnn_shader_text(
                &shader, width == 2
                             ? "#define work_number(i) uintBitsToFloat(uvec2(work_word(PLACE_OF(i)), "
                               "work_word(PLACE_OF(i) + 1u)))\n"
                               "#define set_work_number(i, v) { uvec2 bits = floatBitsToUint(v); "
                               "work_word(PLACE_OF(i)) = bits.x; work_word(PLACE_OF(i) + 1u) = bits.y; }\n"
                             : "#define work_number(i) uintBitsToFloat(work_word(PLACE_OF(i)))\n"
                               "#define set_work_number(i, v) work_word(PLACE_OF(i)) = floatBitsToUint(v)\n");
        }
        if (sequence) {
            struct tensor part = part_of_sequence(n, sequence, first, directions > 1 ? n->steps : steps);
            unsigned k = wnn_shader_bind(&shader, &part.region, true);
            wnn_shader_define(&shader, "SEQUENCE", "1");
            wnn_shader_define(&shader, "set_sequence(i, x)", "s%u(i, floatBitsToUint(x))", k);
        }
        wnn_shader_end_groups(&shader, (uint64_t)n->batches * directions, 1);
    }
}

// The regions of one dispatch of a step.
struct turn {
    struct tensor x, hidden, next;
};

enum phase {
    WHOLE, // as in the kernel
    GATES,
    REST
};

// What the first dispatch of a step leaves to the second: update gates, and states as the reset gates leave
// them.
static struct tensor kept_of(const struct lowering *lowering, const struct network *n,
                             const struct places *places, uint32_t direction, unsigned which)
{
    unsigned number = is_exact(n) ? 8 : 4;
    struct tensor kept = floats_at(lowering,
                                   places->states + direction * places->direction + places->gates +
                                       which * places->row * number,
                                   places->row);
    kept.region.bytes = (size_t)places->row * number;
    return kept;
}

static void bind_factors(struct shader *shader, const struct network *n, const struct schedule *s,
                         const struct tensor *tensor, enum phase phase)
{
    bool exact = is_exact(n);
    wnn_shader_input(shader, "s", tensor, exact && phase == REST ? FORM_PAIR : FORM_VALUE);
    if (s->quads)
        wnn_shader_quads(shader, "s", tensor);
    wnn_shader_define(shader, "factor_at(i)", exact && phase != REST ? "vec2(s_at(i), 0.0)" : "s_at(i)");
}

static struct slots lower_step(struct lowering *lowering, const struct network *n,
                               const struct places *places, const struct schedule *s, uint32_t direction,
                               enum phase phase, const struct turn *turn)
{
    struct tensor update = kept_of(lowering, n, places, direction, 0),
                  factors = kept_of(lowering, n, places, direction, 1), kept = update,
                  cell = state_of(lowering, places, direction, CELL);
    bool exact = is_exact(n);
    enum form form = exact ? FORM_PAIR : FORM_VALUE;
    struct slots slots = {0};
    struct shader shader;
    slots.x = begin_steps(&shader, lowering, n, s, direction == 1 ? "1u" : "0u", &turn->x, SIZE_MAX);
    shader.shifts = !s->even;
    wnn_shader_define(&shader, "PHASE", "%d", phase);
    slots.factors = shader.binding_count;
    bind_factors(&shader, n, s, phase == REST ? &factors : &turn->hidden, phase);
    if (phase == REST) {
        slots.hidden = wnn_shader_input(&shader, "h", &turn->hidden, FORM_VALUE);
        wnn_shader_input(&shader, "u", &update, form);
        wnn_shader_define(&shader, "u_number(i)", "u_at(i)");
    }
    if (n->lstm)
        wnn_shader_words(&shader, "cell", &cell.region);
    if (phase == GATES) {
        kept.region.bytes *= 2;
        unsigned k = wnn_shader_bind(&shader, &kept.region, true);
        if (exact)
            wnn_shader_text(&shader,
                            "void set_kept(uint i, vec2 x) { s%u(2u * i, floatBitsToUint(x.x)); "
                            "s%u(2u * i + 1u, floatBitsToUint(x.y)); }\n",
                            k, k);
        else
            wnn_shader_text(&shader, "void set_kept(uint i, float x) { s%u(i, floatBitsToUint(x)); }\n", k);
    } else {
        slots.next = wnn_shader_bind(&shader, &turn->next.region, true);
        wnn_shader_define(&shader, "set_next(i, x)", "s%u(i, floatBitsToUint(x))", slots.next);
    }
    uint32_t units = s->local_size / s->lanes;
    wnn_shader_end_grid(&shader, (n->size + units - 1) / units, (n->batches + s->rows - 1) / s->rows, 1);
    return slots;
}

// The same for another step.
static void repeat_step(struct lowering *lowering, const struct step *model, const struct slots *slots,
                        enum phase phase, const struct turn *turn)
{
    struct step *step = wnn_program_repeat(lowering->program, model);
    if (!step) {
        lowering->failed = !wnn_fail_memory(lowering->error);
        return;
    }
    step->bindings[slots->x].region = turn->x.region;
    step->bindings[phase == REST ? slots->hidden : slots->factors].region = turn->hidden.region;
    if (phase != GATES)
        step->bindings[slots->next].region = turn->next.region;
}

// The state after so many steps, which the sequence has too if there is one.
static struct tensor state_after(const struct lowering *lowering, const struct network *n,
                                 const struct places *places, uint32_t direction, uint32_t steps,
                                 const struct tensor *sequence)
{
    if (steps == 0 || !sequence)
        return state_of(lowering, places, direction, steps % 2 ? OTHER_HIDDEN : HIDDEN);
    uint32_t time = n->backward || direction == 1 ? n->steps - steps : steps - 1;
    return part_of(sequence, ((uint64_t)time * n->directions + direction) * places->row, places->row);
}

static void lower_steps(struct lowering *lowering, const struct network *n, const struct places *places,
                        const struct schedule *s, const struct tensor *sequence)
{
    bool halves = !n->lstm && !n->reset_after;
    struct step *models[2][REST + 1] = {{NULL}};
    struct slots slots[2][REST + 1];
    struct turn turn;
    for (uint32_t k = 0; k < n->steps; k++)
        for (enum phase phase = halves ? GATES : WHOLE; phase <= (halves ? REST : WHOLE); phase++)
            for (uint32_t d = 0; d < n->directions && !lowering->failed; d++) {
                uint32_t time = n->backward || d == 1 ? n->steps - 1 - k : k;
                turn.x = part_of_input(lowering, n, d, time, 1);
                turn.hidden = state_after(lowering, n, places, d, k, sequence);
                turn.next = state_after(lowering, n, places, d, k + 1, sequence);
                if (models[d][phase]) {
                    repeat_step(lowering, models[d][phase], &slots[d][phase], phase, &turn);
                    continue;
                }
                struct step **place = lowering->program->last;
                slots[d][phase] = lower_step(lowering, n, places, s, d, phase, &turn);
                models[d][phase] = *place;
                if (*place)
                    (*place)->cooperating_dispatches = n->steps;
            }
}

// Whether a shader sees all of both directions in one piece.
static bool goes_together(const struct lowering *lowering, const struct network *n,
                          const struct tensor *sequence)
{
    size_t piece = wnn_shader_piece(lowering->gpu);
    return input_part(lowering, n).region.bytes <= piece && (!sequence || sequence->region.bytes <= piece);
}

static void lower_recurrent(struct lowering *lowering)
{
    struct network n = network_of(lowering->node);
    struct places places = places_of(&n);
    struct tensor sequence;
    find_tensors(&n, lowering);
    if (n.sequence) {
        sequence = *n.sequence;
        if (sequence.type != WNNDataType_Float32)
            sequence = floats_at(lowering, places.sequence, sequence.count);
    }
    const struct tensor *kept = n.sequence ? &sequence : NULL;
    struct schedule s = choose(lowering, &n, kept);
    lower_input(lowering, &n, &places);
    for (uint32_t d = 0; d < n.directions; d++) {
        set_state(lowering, &places, n.first_hidden, d, HIDDEN);
        if (n.lstm)
            set_state(lowering, &places, n.first_cell, d, CELL);
    }
    uint32_t together = goes_together(lowering, &n, kept) ? n.directions : 1;
    for (uint32_t d = 0; s.alone && d < n.directions; d += together)
        lower_alone(lowering, &n, &places, &s, d, together, kept);
    if (!s.alone)
        lower_steps(lowering, &n, &places, &s, kept);

    // A direction's last state is in the sequence, or where the steps have left it.
    if (kept && !s.alone) {
        const uint32_t dims[] = {n.directions, (uint32_t)places.row};
        uint32_t times[] = {n.backward ? 0 : n.steps - 1, 0};
        int64_t first = (int64_t)times[0] * n.directions * (int64_t)places.row,
                other = ((int64_t)times[1] * n.directions + 1) * (int64_t)places.row;
        move_values(lowering, kept, n.last_hidden, 2, dims, (const int64_t[]){other - first, 1}, first);
    } else {
        get_states(lowering, &n, &places, s.alone || n.steps % 2 == 0 ? HIDDEN : OTHER_HIDDEN, n.last_hidden);
    }
    if (n.lstm)
        get_states(lowering, &n, &places, CELL, n.last_cell);
    if (kept && n.sequence->type != WNNDataType_Float32)
        wnn_lower_convert(lowering, kept, n.sequence);
}

const struct gpu_operator wnn_gpu_gru = {.lower = lower_recurrent, .scratch = scratch_bytes};
const struct gpu_operator wnn_gpu_gruCell = {.lower = lower_recurrent, .scratch = scratch_bytes};
const struct gpu_operator wnn_gpu_lstm = {.lower = lower_recurrent, .scratch = scratch_bytes};
const struct gpu_operator wnn_gpu_lstmCell = {.lower = lower_recurrent, .scratch = scratch_bytes};
