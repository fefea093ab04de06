// SPDX-License-Identifier: Apache-2.0
//
// gru and lstm, their cells too: what the state adds to the gates, and the new state. LANES invocations share a product
// of a line of the weights with the state, for ROWS rows of the batch at once.
//
// ALONE: a work group goes through STEPS steps of a row in a direction by itself, with states and gates in `work` or,
// SHARED, in shared memory between the first and the last step. Otherwise work groups share a step among them by units,
// each of which has an element of every gate; PHASE says whether that is all of the step (0) or, for a gru whose new
// state needs the reset state of all units, the update and reset gates (1) or the rest (2).
//
// A NUMBER is a float, or a pair of them whose sum counts; states are floats.

#if LSTM // input, output, forget, cell
#define FIRST_GATES 4u
#elif RESET_AFTER // update, reset, new
#define FIRST_GATES 3u
#else
#define FIRST_GATES 2u
#endif
#define GATES 4u // and for gru what the new state takes from the input

#if QUADS
#define TERM  vec4
#define WIDTH 4u
#else
#define TERM  NUMBER
#define WIDTH 1u
#endif

#define UNITS (gl_WorkGroupSize.x / LANES)
#define DOTS  (FIRST_GATES * ROWS * UNITS)
shared NUMBER parts[LANES * (DOTS + 1u)];

uint first_row, first_unit; // of the work group
uint at;                    // the step, counted in the bindings
#if ALONE
uint direction;
#endif

// ---------------------------------------------------------------------------------------------------------------
// Where states and gates are, by row and unit
// ---------------------------------------------------------------------------------------------------------------

#if ALONE
#define ITS_UNITS SIZE
#define STATE(which, unit) (direction * STATES_OF_DIRECTION + ((which) * BATCHES + first_row) * SIZE + (unit))
#define GATE(g, row, unit) ((g) * SIZE + (unit))
#if SHARED
shared float states[3u * SIZE];
shared NUMBER gates[GATES * SIZE];
#define meet() barrier()
#else
void meet()
{
    memoryBarrierBuffer();
    barrier();
}
#endif

float state_at(uint which, uint unit)
{
#if SHARED
    return states[which * SIZE + unit];
#else
    return uintBitsToFloat(work_word(STATE(which, unit)));
#endif
}

void set_state(uint which, uint unit, float x)
{
#if SHARED
    states[which * SIZE + unit] = x;
#else
    work_word(STATE(which, unit)) = floatBitsToUint(x);
#endif
}

#define hidden_at(row, unit) state_at(0u, unit)
#define cell_at(row, unit)   state_at(2u, unit)
#define set_cell(row, unit, x) set_state(2u, unit, x)
#else
#define ITS_UNITS UNITS
#define GATE(g, row, unit) (((g) * ROWS + (row)) * UNITS + (unit) - first_unit)
#define PLACE(row, unit) ((first_row + (row)) * SIZE + (unit))
shared NUMBER gates[GATES * ROWS * UNITS];
#define meet() barrier()
#if PHASE == 2
#define hidden_at(row, unit) h_at(PLACE(row, unit))
#else
#define hidden_at(row, unit) s_at(PLACE(row, unit))
#endif
#define cell_at(row, unit)     uintBitsToFloat(cell_word(PLACE(row, unit)))
#define set_cell(row, unit, x) cell_word(PLACE(row, unit)) = floatBitsToUint(x)
#endif

#if ALONE && !SHARED
NUMBER gate_at(uint g, uint row, uint unit) { return work_number(GATE(g, row, unit)); }
void set_gate(uint g, uint row, uint unit, NUMBER x) { set_work_number(GATE(g, row, unit), x); }
#else
NUMBER gate_at(uint g, uint row, uint unit) { return gates[GATE(g, row, unit)]; }
void set_gate(uint g, uint row, uint unit, NUMBER x) { gates[GATE(g, row, unit)] = x; }
#endif

// ---------------------------------------------------------------------------------------------------------------
// Sums
// ---------------------------------------------------------------------------------------------------------------

// What the state is multiplied with, from element k on: itself, or what the reset gate has left of it.
TERM factor(uint row, uint k, bool reset)
{
#if !ALONE && QUADS
    return s_quad(PLACE(row, k));
#elif !ALONE
    return factor_at(PLACE(row, k));
#elif QUADS
    if (reset)
        return vec4(gate_at(1u, row, k), gate_at(1u, row, k + 1u), gate_at(1u, row, k + 2u), gate_at(1u, row, k + 3u));
    return vec4(hidden_at(row, k), hidden_at(row, k + 1u), hidden_at(row, k + 2u), hidden_at(row, k + 3u));
#else
    return reset ? gate_at(1u, row, k) : number(hidden_at(row, k));
#endif
}

// This lane's shares of `count` gates of a unit.
void multiply(uint unit, uint first, uint count, bool reset)
{
    TERM sums[FIRST_GATES][ROWS];
    uint lines[FIRST_GATES], lane = gl_LocalInvocationID.x % LANES, place = gl_LocalInvocationID.x / LANES;
    [[unroll]] for (uint g = 0u; g < FIRST_GATES; g++) {
        if (g < count)
            lines[g] = (DIRECTION * LINES + BLOCK(first + g) * SIZE + min(unit, SIZE - 1u)) * SIZE;
        [[unroll]] for (uint r = 0u; r < ROWS; r++)
            sums[g][r] = TERM(0.0);
    }
    UNROLL for (uint k = lane * WIDTH; k < SIZE; k += LANES * WIDTH) {
        TERM factors[ROWS];
        [[unroll]] for (uint r = 0u; r < ROWS; r++)
            factors[r] = factor(min(r, BATCHES - 1u - first_row), k, reset);
        [[unroll]] for (uint g = 0u; g < FIRST_GATES; g++) {
            if (g >= count)
                continue;
#if QUADS
            vec4 weights = r_quad(lines[g] + k);
            [[unroll]] for (uint r = 0u; r < ROWS; r++)
                sums[g][r] += weights * factors[r];
#else
            NUMBER weight = number(r_at(lines[g] + k));
            [[unroll]] for (uint r = 0u; r < ROWS; r++)
                sums[g][r] = plus(sums[g][r], times(weight, factors[r]));
#endif
        }
    }
    [[unroll]] for (uint g = 0u; g < FIRST_GATES; g++)
        [[unroll]] for (uint r = 0u; r < ROWS; r++)
            if (g < count) {
#if QUADS
                vec4 s = sums[g][r];
                parts[lane * (DOTS + 1u) + (g * ROWS + r) * UNITS + place] = (s.x + s.y) + (s.z + s.w);
#else
                parts[lane * (DOTS + 1u) + (g * ROWS + r) * UNITS + place] = sums[g][r];
#endif
            }
}

// What a gate takes from elsewhere.
NUMBER from_input(uint g, uint row, uint unit)
{
    uint line = BLOCK(g) * SIZE + unit, whole_line = DIRECTION * LINES + line;
#if ALONE
    NUMBER x = x_number((((direction - FIRST_DIRECTION) * ALL_STEPS + at) * BATCHES + first_row + row) * LINES + line);
#else
    NUMBER x = x_number((at * BATCHES + first_row + row) * LINES + line);
#endif
#ifdef BIAS
    x = plus(x, number(b_at(whole_line)));
#endif
#ifdef RECURRENT_BIAS
    if (g < BIASED_GATES)
        x = plus(x, number(q_at(whole_line)));
#endif
#ifdef PEEPHOLE
    if (g < 3u)
        x = plus(x, times(number(cell_at(row, unit)), number(p_at((DIRECTION * 3u + g) * SIZE + unit))));
#endif
    return x;
}

#if SOFTMAX_0
#define FIRST(x) (x)
#else
#define FIRST(x) activation0(x)
#endif
#if SOFTMAX_1
#define SECOND(x) (x)
#else
#define SECOND(x) activation1(x)
#endif
#if SOFTMAX_2
#define THIRD(x) (x)
#else
#define THIRD(x) activation2(x)
#endif

// `count` gates of UNITS units.
void compute(uint begin, uint first, uint count, bool reset)
{
    uint self = gl_LocalInvocationID.x, g = first + self / (ROWS * UNITS), row = self / UNITS % ROWS,
         unit = begin + self % UNITS;
    bool exists = self < count * ROWS * UNITS && unit < SIZE && first_row + row < BATCHES;
    NUMBER x = NUMBER(0.0), sum = NUMBER(0.0);
    if (exists)
        x = from_input(g, row, unit); // on its way meanwhile
    multiply(begin + self / LANES, first, count, reset);
    barrier();
    if (exists) {
        for (uint l = 0u; l < LANES; l++)
            sum = plus(sum, parts[l * (DOTS + 1u) + self]);
#if RESET_AFTER
        if (g == 2u) {
#ifdef RECURRENT_BIAS
            sum = plus(sum, number(q_at(DIRECTION * LINES + BLOCK(2u) * SIZE + unit)));
#endif
            set_gate(2u, row, unit, sum);
            set_gate(3u, row, unit, x);
        } else
#endif
        {
            sum = plus(sum, x);
            // Of a gru all are alike, which compilers see where `first` is known.
            if (LSTM == 1 ? g < 3u : first < 2u)
                sum = FIRST(sum);
            else
                sum = SECOND(sum);
            set_gate(g, row, unit, sum);
        }
    }
    meet();
}

#if SOFTMAX_0 || SOFTMAX_1 || SOFTMAX_2
// softmax of a gate, for the activations that are that.
void softmax_gate(uint g)
{
    float top = -INF;
    NUMBER sum = NUMBER(0.0);
    meet();
    for (uint k = 0u; k < SIZE; k++)
        top = max(top, value(gate_at(g, 0u, k)));
    for (uint k = 0u; k < SIZE; k++)
        sum = plus(sum, number(exp_below(value(gate_at(g, 0u, k)), top)));
    meet();
    for (uint i = gl_LocalInvocationID.x; i < SIZE; i += gl_WorkGroupSize.x)
        set_gate(g, 0u, i, number(quotient(exp_below(value(gate_at(g, 0u, i)), top), value(sum))));
    meet();
}
#endif

// ---------------------------------------------------------------------------------------------------------------
// New states
// ---------------------------------------------------------------------------------------------------------------

// Each row and unit of the work group, always by the same invocation.
#define EACH                                                                                                           \
    for (uint i = gl_LocalInvocationID.x, row = i / ITS_UNITS, unit = first_unit + i % ITS_UNITS;                      \
         i < ROWS * ITS_UNITS;                                                                                         \
         i += gl_WorkGroupSize.x, row = i / ITS_UNITS, unit = first_unit + i % ITS_UNITS)                              \
        if (unit < SIZE && first_row + row < BATCHES)

#if PHASE != 1
void set_hidden(uint row, uint unit, NUMBER x)
{
    float y = value(x);
#if ALONE
    set_state(0u, unit, y);
#ifdef SEQUENCE
    set_sequence(((at * DIRECTIONS + DIRECTION) * BATCHES + first_row) * SIZE + unit, y);
#endif
#else
    set_next(PLACE(row, unit), y);
#endif
}

// From the gates, of which gru's `update` may be elsewhere.
void renew()
{
#if LSTM
    EACH {
        NUMBER cell = plus(times(gate_at(2u, row, unit), number(cell_at(row, unit))),
                           times(gate_at(0u, row, unit), gate_at(3u, row, unit)));
        set_cell(row, unit, value(cell));
        set_gate(3u, row, unit, THIRD(cell));
    }
#if SOFTMAX_2
    softmax_gate(3u);
#endif
    EACH set_hidden(row, unit, times(gate_at(3u, row, unit), gate_at(1u, row, unit)));
#else
#if RESET_AFTER
    EACH set_gate(2u, row, unit, SECOND(plus(gate_at(3u, row, unit),
                                             times(gate_at(2u, row, unit), gate_at(1u, row, unit)))));
#endif
#if SOFTMAX_1
    softmax_gate(2u);
#endif
    EACH {
#if PHASE == 2
        NUMBER update = u_number(PLACE(row, unit));
#else
        NUMBER update = gate_at(0u, row, unit);
#endif
        NUMBER rest = plus(number(1.0), -update);
        set_hidden(row, unit, plus(times(update, number(hidden_at(row, unit))), times(rest, gate_at(2u, row, unit))));
    }
#endif
}
#endif

#if ALONE
void compute_all(uint first, uint count, bool reset)
{
    for (uint begin = 0u; begin < SIZE; begin += UNITS)
        compute(begin, first, count, reset);
}

void main()
{
    uint number = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    first_row = number / SEEN_DIRECTIONS;
    direction = FIRST_DIRECTION + number % SEEN_DIRECTIONS;
    first_unit = 0u;
    if (first_row >= BATCHES)
        return;
#if SHARED
    EACH {
        set_state(0u, unit, uintBitsToFloat(work_word(STATE(0u, unit))));
        set_state(2u, unit, uintBitsToFloat(work_word(STATE(2u, unit))));
    }
#endif
    meet();
    for (uint k = 0u; k < STEPS; k++) {
        at = (BACKWARD == 1u || direction == 1u ? ALL_STEPS - 1u - DONE - k : DONE + k) - SEEN_FROM;
        compute_all(0u, FIRST_GATES, false);
#if SOFTMAX_0
        softmax_gate(0u);
        softmax_gate(1u);
#if LSTM
        softmax_gate(2u);
#endif
#endif
#if SOFTMAX_1 && LSTM
        softmax_gate(3u);
#endif
#if !LSTM && !RESET_AFTER
        EACH set_gate(1u, 0u, unit, times(gate_at(1u, 0u, unit), number(hidden_at(0u, unit))));
        meet();
        compute_all(2u, 1u, true);
#endif
        renew();
        meet();
    }
#if SHARED
    EACH {
        work_word(STATE(0u, unit)) = floatBitsToUint(state_at(0u, unit));
        work_word(STATE(2u, unit)) = floatBitsToUint(state_at(2u, unit));
    }
#endif
}
#else
void main()
{
    first_row = gl_WorkGroupID.y * ROWS;
    first_unit = gl_WorkGroupID.x * UNITS;
    at = 0u;
#if PHASE == 2
    compute(first_unit, 2u, 1u, true);
    renew();
#else
    compute(first_unit, 0u, FIRST_GATES, false);
#if PHASE == 1
    EACH {
        set_kept(PLACE(row, unit), gate_at(0u, row, unit));
        set_kept(BATCHES * SIZE + PLACE(row, unit), times(gate_at(1u, row, unit), number(hidden_at(row, unit))));
    }
#else
    renew();
#endif
#endif
}
#endif
