// SPDX-License-Identifier: Apache-2.0
//
// gru and lstm, and their cells, which are one step of one direction. What the input contributes to the gates
// is one product of matrices for many steps; what the state contributes is a product with a vector (or with a
// few, for a batch) a step. Gates are in double until the new state is known; states are kept in float32.
//
// Threads share the hidden units of a step, of both directions at once, and take each to its new state: they
// meet once a step, or twice where a gate depends on what all units have made of others.

#include "cpu/matmul/small_gemm.h"
#include "cpu/matmul/gemm.h"
#include "cpu/simd/vmath.h"

#include <math.h>

enum {
    MAX_GATES = 4,
    MAX_DIRECTIONS = 2,
    PROJECTED_ROWS = 64, // batch items of as many steps as the input is multiplied for at a time
    PIECE = 196608,      // multiplications that are worth a thread
    STEP_PIECE = 32768,  // likewise of a step, whose weights a thread's caches keep
};

struct recurrent;

// A direction on its way from step to step.
struct line {
    const struct recurrent *recurrent;
    size_t direction;
    bool backward;
    const float *hidden, *cell;    // before the step; NULL: zeros
    float *next, *next_cell, *out; // after it; `out` is its row of the sequence, or NULL
    double *projections;           // [steps of a chunk, batch, gates, hidden]
    const double *projected;       // those of the step
    float *states[2];              // [batch, hidden], as all that follow
    double *gate[MAX_GATES];
    float *product, *rest; // gru: r * h, and what rounding took from it
    double *rest_sum;
    float *floats; // for an activation that works on float32
};

struct recurrent {
    bool lstm;
    unsigned gates;            // 3 or 4
    unsigned block[MAX_GATES]; // of gates z, r, n or i, o, f, g: which block of weights it has
    bool reset_after;
    const struct activation *activation[3];
    bool whole; // an activation looks at all hidden units
    WNNRecurrentNetworkDirection direction;
    size_t steps, directions, batch, inputs, hidden;
    const float *panels;                 // the packed weights for the input, or NULL
    const struct float_kernels *kernels; // of the panels
    float *sums; // the input's share as they give it, [steps of a chunk, batch, blocks, hidden]
    // NULL where absent.
    const float *input, *weight, *recurrent_weight, *bias, *recurrent_bias, *peephole;
    const float *initial_hidden, *initial_cell;
    float *hidden_out, *cell_out, *sequence;
    struct line line[MAX_DIRECTIONS];
};

// A run of steps of one direction.
struct chunk {
    const struct line *line;
    size_t first, steps;
};

static double at(const float *values, size_t index)
{
    return values == NULL ? 0 : values[index];
}

// The index of a gate's first row in weights and biases of all directions.
static size_t weight_row(const struct recurrent *r, size_t direction, unsigned gate)
{
    return (direction * r->gates + r->block[gate]) * r->hidden;
}

static size_t steps_of_chunk(size_t steps, size_t batch)
{
    size_t most = batch < PROJECTED_ROWS ? PROJECTED_ROWS / batch : 1;
    return steps < most ? steps : most;
}

static void add_floats(double *to, const float *values, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        to[i] += (double)values[i];
}

// ---------------------------------------------------------------------------------------------------------------
// Weights that are packed once: those for the input as panels, where a product is worth that, those for the
// state as they are, but aligned and in float32.
// ---------------------------------------------------------------------------------------------------------------

enum {
    PANEL_ROWS = 4 // of the input, at least
};

struct sizes {
    size_t rows, inputs, hidden, directions, width; // of the product of a chunk; of all gates
    const struct float_kernels *kernels;            // whose panels are packed
};

static struct sizes sizes_of(const struct node *node)
{
    const struct shape *input = &node->in[0]->type.shape, *recurrent = &node->in[2]->type.shape;
    bool cell = input->rank == 2;
    size_t steps = cell ? 1 : input->dim[0], batch = input->dim[cell ? 0 : 1];
    return (struct sizes){
        steps_of_chunk(steps, batch) * batch, input->dim[cell ? 1 : 2],
        recurrent->dim[recurrent->rank - 1],  cell ? 1 : recurrent->dim[0],
        recurrent->dim[recurrent->rank - 2],  wnn_float_kernels_of(wnn_cpu_target(node)->isa)};
}

static bool uses_panels(const struct sizes *sizes)
{
    return sizes->inputs > WNN_SMALL_GEMM_EXACT && sizes->rows >= PANEL_ROWS;
}

// Of the weights for the input, a multiple of WNN_ALIGNMENT bytes.
static size_t packed_floats(const struct sizes *sizes)
{
    size_t all = sizes->directions * sizes->width * sizes->inputs * sizeof(float);
    return uses_panels(sizes)
               ? sizes->directions * wnn_gemm_packed_floats(sizes->kernels, sizes->width, sizes->inputs)
               : wnn_aligned(all) / sizeof(float);
}

static size_t packed_bytes(const struct node *node)
{
    if (!wnn_has_weights(node) || !node->in[2]->constant ||
        wnn_shape_elements(&node->out[0]->type.shape) == 0)
        return 0;
    struct sizes sizes = sizes_of(node);
    return (packed_floats(&sizes) + wnn_shape_elements(&node->in[2]->type.shape)) * sizeof(float);
}

static uint64_t packed_variant(const struct node *node)
{
    struct sizes sizes = sizes_of(node);
    return uses_panels(&sizes);
}

static void pack_weights(const struct gemm *gemm, size_t k, size_t length, size_t column, unsigned count,
                         float *panel, unsigned width)
{
    const struct tensor *weights = gemm->argument;
    size_t first = column * gemm->k + k;
    if (weights->type == WNNDataType_Float16)
        wnn_gemm_pack_halves((const uint16_t *)weights->data + first, gemm->k, 1, count, length, panel,
                             width);
    else
        wnn_gemm_pack((const float *)weights->data + first, gemm->k, 1, count, length, panel, width);
}

static void pack_matrices(const struct kernel_call *call, void *packed)
{
    struct sizes sizes = sizes_of(call->node);
    size_t direction_bytes = sizes.width * sizes.inputs * (wnn_dtype_bits(call->in[1].type) / 8);
    if (!uses_panels(&sizes))
        wnn_floats_copy(&call->in[1], packed, call->parallel);
    for (size_t d = 0; uses_panels(&sizes) && d < sizes.directions; d++) {
        struct tensor weights = call->in[1];
        weights.data = (char *)weights.data + d * direction_bytes;
        struct gemm gemm = {.kernels = sizes.kernels,
                            .n = sizes.width,
                            .k = sizes.inputs,
                            .unit = sizes.inputs,
                            .panel = pack_weights,
                            .argument = &weights};
        size_t floats = wnn_gemm_packed_floats(sizes.kernels, sizes.width, sizes.inputs);
        wnn_gemm_pack_all(&gemm, call->parallel, (float *)packed + d * floats);
    }
    wnn_floats_copy(&call->in[2], (float *)packed + packed_floats(&sizes), call->parallel);
}

// ---------------------------------------------------------------------------------------------------------------
// Sums
// ---------------------------------------------------------------------------------------------------------------

static void input_rows(const struct gemm *gemm, size_t row, unsigned count, size_t k, size_t segments,
                       size_t length, unsigned mr, const float **pointers, float *buffer)
{
    (void)segments, (void)length, (void)mr, (void)buffer;
    for (unsigned r = 0; r < count; r++)
        pointers[r] = (const float *)gemm->argument + (row + r) * gemm->k + k;
}

static void multiply_input(const struct chunk *chunk, const struct parallel *parallel)
{
    const struct recurrent *r = chunk->line->recurrent;
    size_t width = r->gates * r->hidden;
    struct gemm gemm = {
        .kernels = r->kernels,
        .m = chunk->steps * r->batch,
        .n = width,
        .k = r->inputs,
        .unit = r->inputs,
        .rows = input_rows,
        .c = r->sums,
        .row_stride = width,
        .argument = r->input + chunk->first * r->batch * r->inputs,
        .packed = r->panels + chunk->line->direction * wnn_gemm_packed_floats(r->kernels, width, r->inputs),
    };
    wnn_gemm_run(&gemm, parallel, NULL);
}

// Items are hidden units. The input's share of all gates, with the biases but for the one that gru's gate n
// adds to the state's share.
static void project(void *argument, size_t begin, size_t end)
{
    const struct chunk *chunk = argument;
    const struct recurrent *r = chunk->line->recurrent;
    size_t rows = chunk->steps * r->batch, width = r->gates * r->hidden;
    const float *input = r->input + chunk->first * r->batch * r->inputs;
    for (unsigned gate = 0; gate < r->gates; gate++) {
        size_t row = weight_row(r, chunk->line->direction, gate);
        double *out = chunk->line->projections + gate * r->hidden;
        for (size_t j = 0; r->panels != NULL && j < rows; j++) {
            const float *sums = r->sums + r->block[gate] * r->hidden + j * width;
            for (size_t unit = begin; unit < end; unit++)
                out[j * width + unit] = (double)sums[unit];
        }
        if (r->panels == NULL)
            wnn_small_gemm(r->weight + (row + begin) * r->inputs, end - begin, input, rows, r->inputs,
                           out + begin, width);
        const float *biases[2] = {r->bias, r->lstm || gate < 2 ? r->recurrent_bias : NULL};
        for (unsigned i = 0; i < 2; i++) {
            for (size_t j = 0; biases[i] != NULL && j < rows; j++)
                add_floats(out + j * width, biases[i] + row, begin, end);
        }
    }
}

// The state's share of gates [first, last). There is none before the first step if there is no initial state.
static void multiply_state(const struct line *line, const float *state, unsigned first, unsigned last,
                           size_t begin, size_t end)
{
    const struct recurrent *r = line->recurrent;
    for (unsigned gate = first; gate < last; gate++) {
        double *out = line->gate[gate] + begin;
        if (line->hidden != NULL) {
            size_t row = weight_row(r, line->direction, gate) + begin;
            wnn_small_gemm(r->recurrent_weight + row * r->hidden, end - begin, state, r->batch, r->hidden,
                           out, r->hidden);
        } else {
            for (size_t b = 0; b < r->batch; b++)
                memset(out + b * r->hidden, 0, (end - begin) * sizeof *out);
        }
    }
}

static void add_projected(const struct line *line, unsigned gate, size_t begin, size_t end)
{
    const struct recurrent *r = line->recurrent;
    for (size_t b = 0; b < r->batch; b++) {
        const double *projected = line->projected + (b * r->gates + gate) * r->hidden;
        double *out = line->gate[gate] + b * r->hidden;
        for (size_t unit = begin; unit < end; unit++)
            out[unit] += projected[unit];
    }
}

static void add_recurrent_bias(const struct line *line, size_t begin, size_t end)
{
    const struct recurrent *r = line->recurrent;
    size_t row = weight_row(r, line->direction, 2);
    for (size_t b = 0; r->recurrent_bias != NULL && b < r->batch; b++)
        add_floats(line->gate[2] + b * r->hidden, r->recurrent_bias + row, begin, end);
}

// lstm's gates; gru's z and r, and with reset_after the state's share of n, which r is to be multiplied with.
static void sum_gates(const struct line *line, size_t begin, size_t end)
{
    const struct recurrent *r = line->recurrent;
    unsigned gates = r->lstm ? 4 : 2;

    multiply_state(line, line->hidden, 0, gates + r->reset_after, begin, end);
    for (unsigned gate = 0; gate < gates; gate++)
        add_projected(line, gate, begin, end);
    if (r->reset_after)
        add_recurrent_bias(line, begin, end);
    // Peepholes are in the order i, o, f, and all look at the cell before the step.
    for (unsigned gate = 0; r->peephole != NULL && line->cell != NULL && gate < 3; gate++) {
        const float *peephole = r->peephole + (line->direction * 3 + gate) * r->hidden;
        for (size_t b = 0; b < r->batch; b++) {
            for (size_t unit = begin; unit < end; unit++)
                line->gate[gate][b * r->hidden + unit] +=
                    (double)peephole[unit] * line->cell[b * r->hidden + unit];
        }
    }
}

// gru's gate n without reset_after, for which r * h is known.
static void sum_new_gate(const struct line *line, size_t begin, size_t end)
{
    const struct recurrent *r = line->recurrent;

    multiply_state(line, line->product, 2, 3, begin, end);
    if (line->hidden != NULL && r->hidden <= WNN_SMALL_GEMM_EXACT) {
        const float *weights = r->recurrent_weight + (weight_row(r, line->direction, 2) + begin) * r->hidden;
        wnn_small_gemm(weights, end - begin, line->rest, r->batch, r->hidden, line->rest_sum + begin,
                       r->hidden);
        for (size_t b = 0; b < r->batch; b++) {
            for (size_t unit = begin; unit < end; unit++) {
                double rest = line->rest_sum[b * r->hidden + unit]; // of infinite products and weights NaN
                line->gate[2][b * r->hidden + unit] += isfinite(rest) ? rest : 0;
            }
        }
    }
    add_recurrent_bias(line, begin, end);
    add_projected(line, 2, begin, end);
}

// The usual functions in double, others in float32; `values` are gates of all batch items.
static void activate(const struct line *line, unsigned index, double *values, size_t begin, size_t end)
{
    const struct recurrent *r = line->recurrent;
    const struct activation *activation = r->activation[index];
    size_t count = end - begin;
    for (size_t b = 0; b < r->batch; b++) {
        double *row = values + b * r->hidden + begin;
        float *floats = line->floats + b * r->hidden + begin;
        switch (activation->op) {
        case WNN_OP_sigmoid:
            wnn_vmath_doubles(VMATH_SIGMOID, row, count);
            break;
        case WNN_OP_tanh:
            wnn_vmath_doubles(VMATH_TANH, row, count);
            break;
        case WNN_OP_relu:
            for (size_t i = 0; i < count; i++)
                row[i] = row[i] < 0 ? 0 : row[i];
            break;
        default:
            for (size_t i = 0; i < count; i++)
                floats[i] = (float)row[i];
            wnn_cpu_activate_floats(activation, floats, count, count);
            for (size_t i = 0; i < count; i++)
                row[i] = floats[i];
            break;
        }
    }
}

static void leave(const struct line *line, size_t index, double state)
{
    line->next[index] = (float)state;
    if (line->out != NULL)
        line->out[index] = (float)state;
}

static void lstm_units(const struct line *line, size_t begin, size_t end)
{
    const struct recurrent *r = line->recurrent;
    double *const *gate = line->gate;
    sum_gates(line, begin, end);
    for (unsigned g = 0; g < 3; g++)
        activate(line, 0, gate[g], begin, end);
    activate(line, 1, gate[3], begin, end);
    for (size_t b = 0; b < r->batch; b++)
        for (size_t i = b * r->hidden + begin; i < b * r->hidden + end; i++) {
            gate[3][i] = gate[2][i] * at(line->cell, i) + gate[0][i] * gate[3][i];
            line->next_cell[i] = (float)gate[3][i];
        }
    activate(line, 2, gate[3], begin, end);
    for (size_t b = 0; b < r->batch; b++)
        for (size_t i = b * r->hidden + begin; i < b * r->hidden + end; i++)
            leave(line, i, gate[1][i] * gate[3][i]);
}

// z, r, and without reset_after r * h, of which gate n is made next.
static void gru_gates(const struct line *line, size_t begin, size_t end)
{
    const struct recurrent *r = line->recurrent;
    double *const *gate = line->gate;
    sum_gates(line, begin, end);
    activate(line, 0, gate[0], begin, end);
    activate(line, 0, gate[1], begin, end);
    for (size_t b = 0; b < r->batch; b++)
        for (size_t i = b * r->hidden + begin; i < b * r->hidden + end; i++) {
            if (r->reset_after) {
                gate[2][i] *= gate[1][i];
            } else if (line->hidden != NULL) {
                double product = gate[1][i] * line->hidden[i];
                line->product[i] = (float)product;
                line->rest[i] = (float)(product - line->product[i]);
            }
        }
}

static void gru_state(const struct line *line, size_t begin, size_t end)
{
    const struct recurrent *r = line->recurrent;
    double *const *gate = line->gate;
    if (r->reset_after)
        add_projected(line, 2, begin, end);
    else
        sum_new_gate(line, begin, end);
    activate(line, 1, gate[2], begin, end);
    for (size_t b = 0; b < r->batch; b++)
        for (size_t i = b * r->hidden + begin; i < b * r->hidden + end; i++)
            leave(line, i, gate[0][i] * at(line->hidden, i) + (1 - gate[0][i]) * gate[2][i]);
}

static void gru_units(const struct line *line, size_t begin, size_t end)
{
    gru_gates(line, begin, end);
    gru_state(line, begin, end);
}

// ---------------------------------------------------------------------------------------------------------------
// Steps
// ---------------------------------------------------------------------------------------------------------------

struct units {
    const struct recurrent *recurrent;
    size_t direction; // the first of those that are at work
    void (*work)(const struct line *line, size_t begin, size_t end);
};

// Items are the hidden units of one direction behind those of the other, or directions.
static void run_units(void *argument, size_t begin, size_t end)
{
    const struct units *units = argument;
    const struct recurrent *r = units->recurrent;
    size_t each = r->whole ? 1 : r->hidden;
    for (size_t d = begin / each; d * each < end; d++) {
        size_t first = d * each < begin ? begin - d * each : 0,
               last = end - d * each < each ? end - d * each : each;
        units->work(&r->line[units->direction + d], r->whole ? 0 : first, r->whole ? r->hidden : last);
    }
}

static void for_units(const struct recurrent *r, size_t direction, size_t directions,
                      const struct parallel *parallel,
                      void (*work)(const struct line *line, size_t begin, size_t end))
{
    struct units units = {r, direction, work};
    size_t grain = 1 + STEP_PIECE / (r->batch * r->hidden * r->gates);
    wnn_parallel_for(parallel, directions * (r->whole ? 1 : r->hidden), r->whole ? 1 : grain, run_units,
                     &units);
}

static void run_step(const struct recurrent *r, size_t direction, size_t directions,
                     const struct parallel *parallel)
{
    if (r->lstm) {
        for_units(r, direction, directions, parallel, lstm_units);
    } else if (r->reset_after) {
        for_units(r, direction, directions, parallel, gru_units);
    } else {
        for_units(r, direction, directions, parallel, gru_gates);
        for_units(r, direction, directions, parallel, gru_state);
    }
}

// The input's share of some steps of a direction, from step `done` of it on.
static void begin_chunk(struct line *line, size_t done, size_t steps, const struct parallel *parallel)
{
    const struct recurrent *r = line->recurrent;
    struct chunk chunk = {line, line->backward ? r->steps - done - steps : done, steps};
    size_t work = steps * r->batch * r->gates * (r->panels != NULL ? 4 : r->inputs);
    if (r->panels != NULL)
        multiply_input(&chunk, parallel);
    wnn_parallel_for(parallel, r->hidden, 1 + PIECE / work, project, &chunk);
}

static void begin_line(struct recurrent *r, size_t direction)
{
    size_t count = r->batch * r->hidden;
    struct line *line = &r->line[direction];
    line->recurrent = r;
    line->direction = direction;
    line->backward = direction == 1 || r->direction == WNNRecurrentNetworkDirection_Backward;
    line->hidden = r->initial_hidden == NULL ? NULL : r->initial_hidden + direction * count;
    line->cell = r->initial_cell == NULL ? NULL : r->initial_cell + direction * count;
    line->next_cell = r->lstm ? r->cell_out + direction * count : NULL;
}

// Before step i of a chunk.
static void set_step(struct line *line, size_t done, size_t i, size_t steps)
{
    const struct recurrent *r = line->recurrent;
    size_t count = r->batch * r->hidden, row = line->backward ? steps - 1 - i : i,
           time = line->backward ? r->steps - 1 - done - i : done + i;
    line->projected = line->projections + row * count * r->gates;
    line->next = line->states[(done + i) % 2];
    line->out = r->sequence == NULL ? NULL : r->sequence + (time * r->directions + line->direction) * count;
}

static void run_lines(struct recurrent *r, size_t direction, size_t directions,
                      const struct parallel *parallel)
{
    size_t count = r->batch * r->hidden, most = steps_of_chunk(r->steps, r->batch),
           end = direction + directions;
    for (size_t d = direction; d < end; d++)
        begin_line(r, d);
    for (size_t done = 0, steps; done < r->steps; done += steps) {
        steps = r->steps - done < most ? r->steps - done : most;
        for (size_t d = direction; d < end; d++)
            begin_chunk(&r->line[d], done, steps, parallel);
        for (size_t i = 0; i < steps && !wnn_interrupted(parallel->interrupt); i++) {
            for (size_t d = direction; d < end; d++)
                set_step(&r->line[d], done, i, steps);
            run_step(r, direction, directions, parallel);
            for (size_t d = direction; d < end; d++) {
                r->line[d].hidden = r->line[d].next;
                r->line[d].cell = r->line[d].next_cell;
            }
        }
    }
    // Before the first step there was an interrupt, and nobody will see outputs.
    for (size_t d = direction; d < end && r->line[d].next != NULL; d++)
        memcpy(r->hidden_out + d * count, r->line[d].next, count * sizeof *r->hidden_out);
}

// A thread alone keeps the weights of one direction in its caches.
static void run(struct recurrent *r, const struct parallel *parallel)
{
    if (parallel->threads > 1)
        run_lines(r, 0, r->directions, parallel);
    else
        for (size_t d = 0; d < r->directions; d++)
            run_lines(r, d, 1, parallel);
}

// ---------------------------------------------------------------------------------------------------------------
// From nodes
// ---------------------------------------------------------------------------------------------------------------

static void set_activations(struct recurrent *r, WNNActivationList list)
{
    for (size_t i = 0; i < list.count && i < 3; i++) {
        r->activation[i] = (const struct activation *)list.data[i];
        r->whole |= r->activation[i]->op == WNN_OP_softmax;
    }
}

static size_t gate_bytes(size_t batch, size_t hidden)
{
    return wnn_aligned(batch * hidden * sizeof(double));
}

// Weights that are read often enough are copied if vectors of them would straddle cache lines.
enum {
    READ_OFTEN = 16
};

static size_t weight_bytes(size_t steps, size_t directions, size_t gates, size_t hidden)
{
    return steps < READ_OFTEN ? 0 : directions * gates * hidden * hidden * sizeof(float);
}

struct copy {
    float *to;
    const float *from;
};

static void copy_weights(void *argument, size_t begin, size_t end)
{
    const struct copy *copy = argument;
    memcpy(copy->to + begin, copy->from + begin, (end - begin) * sizeof *copy->to);
}

static const float *align_weights(const struct recurrent *r, const float *weights, struct scratch *scratch,
                                  const struct parallel *parallel)
{
    size_t bytes = weight_bytes(r->steps, r->directions, r->gates, r->hidden);
    if (bytes == 0 || (uintptr_t)weights % WNN_ALIGNMENT == 0)
        return weights;
    struct copy copy = {wnn_scratch_take(scratch, bytes), weights};
    wnn_parallel_for(parallel, bytes / sizeof(float), PIECE, copy_weights, &copy);
    return copy.to;
}

static void set_weights(struct recurrent *r, const struct kernel_call *call, struct scratch *scratch)
{
    if (call->packed == NULL) {
        r->weight = wnn_floats_in(call, 1, scratch);
        r->recurrent_weight = align_weights(r, wnn_floats_in(call, 2, scratch), scratch, call->parallel);
        return;
    }
    struct sizes sizes = sizes_of(call->node);
    r->recurrent_weight = (const float *)call->packed + packed_floats(&sizes);
    if (!uses_panels(&sizes)) {
        r->weight = call->packed;
        return;
    }
    r->panels = call->packed;
    r->kernels = sizes.kernels;
    r->sums = wnn_scratch_take(scratch, sizes.rows * sizes.width * sizeof *r->sums);
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
    set_weights(r, call, scratch);
    r->hidden_out = wnn_floats_out(call, 0, scratch);
    for (size_t d = 0; d < r->directions; d++) {
        struct line *line = &r->line[d];
        for (unsigned gate = 0; gate < r->gates; gate++)
            line->gate[gate] = wnn_scratch_take(scratch, gate_bytes(r->batch, r->hidden));
        line->product = wnn_scratch_take(scratch, gate_bytes(r->batch, r->hidden));
        line->rest = wnn_scratch_take(scratch, gate_bytes(r->batch, r->hidden));
        line->rest_sum = wnn_scratch_take(scratch, gate_bytes(r->batch, r->hidden));
        line->floats = wnn_scratch_take(scratch, gate_bytes(r->batch, r->hidden));
        for (unsigned i = 0; i < 2; i++)
            line->states[i] = wnn_scratch_take(scratch, gate_bytes(r->batch, r->hidden));
        line->projections = wnn_scratch_take(
            scratch, gate_bytes(steps_of_chunk(r->steps, r->batch) * r->batch * r->gates, r->hidden));
    }
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

static void run_gru(const struct kernel_call *call)
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

static void run_lstm(const struct kernel_call *call)
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
    size_t batch = output->dim[output->rank - 2], hidden = output->dim[output->rank - 1];
    size_t steps = input->rank == 3 ? input->dim[0] : 1;
    if (batch == 0 || hidden == 0)
        return 0;
    size_t directions = output->rank == 3 ? output->dim[0] : 1, rows = steps_of_chunk(steps, batch) * batch;
    size_t bytes = directions * ((gates + 6) * gate_bytes(batch, hidden) + gate_bytes(rows * gates, hidden));
    if (packed_bytes(node) > 0) // without copies of weights
        return bytes + wnn_floats_scratch_without(node, 6) +
               wnn_aligned(rows * gates * hidden * sizeof(float));
    return bytes + wnn_floats_scratch(node) + wnn_aligned(weight_bytes(steps, directions, gates, hidden));
}

static size_t gru_scratch(const struct node *node, unsigned threads)
{
    (void)threads;
    return recurrent_scratch(node, 3);
}

static size_t lstm_scratch(const struct node *node, unsigned threads)
{
    (void)threads;
    return recurrent_scratch(node, 4);
}

enum {
    WEIGHTS = 1 << 1 | 1 << 2 // the inputs
};

const struct kernel wnn_cpu_gru = {.run = run_gru,
                                   .scratch = gru_scratch,
                                   .packed_bytes = packed_bytes,
                                   .pack = pack_matrices,
                                   .packed_variant = packed_variant,
                                   .weights = WEIGHTS};
const struct kernel wnn_cpu_gruCell = {.run = run_gru,
                                       .scratch = gru_scratch,
                                       .packed_bytes = packed_bytes,
                                       .pack = pack_matrices,
                                       .packed_variant = packed_variant,
                                       .weights = WEIGHTS};
const struct kernel wnn_cpu_lstm = {.run = run_lstm,
                                    .scratch = lstm_scratch,
                                    .packed_bytes = packed_bytes,
                                    .pack = pack_matrices,
                                    .packed_variant = packed_variant,
                                    .weights = WEIGHTS};
const struct kernel wnn_cpu_lstmCell = {.run = run_lstm,
                                        .scratch = lstm_scratch,
                                        .packed_bytes = packed_bytes,
                                        .pack = pack_matrices,
                                        .packed_variant = packed_variant,
                                        .weights = WEIGHTS};
