// SPDX-License-Identifier: Apache-2.0
//
// gru and lstm, their cells too: one workgroup a direction and row of the batch goes through all steps. Numbers are
// pairs of floats whose sum counts, rounded where they are outputs. `work` holds for each row its state and gates;
// results follow: the last hidden states, the last cell states, and the sequence.

// A row of `work`.
#define HIDDEN(i) (row * ROW_SIZE + (i))
#define CELL(i)   (row * ROW_SIZE + SIZE + (i))
#define GATE(g, i) (row * ROW_SIZE + (2u + (g)) * SIZE + (i))

void meet()
{
    memoryBarrierBuffer();
    barrier();
}

// The recurrent part of one line: R times the hidden state, scaled by gate 1 where `reset` says so.
vec2 from_hidden(uint row, uint direction, uint line, bool reset)
{
    uint first = (direction * LINES + line) * SIZE;
    vec2 sum = vec2(0.0);
    for (uint k = 0u; k < SIZE; k++) {
        vec2 h = work_at(HIDDEN(k));
        if (reset)
            h = times2(h, work_at(GATE(1u, k)));
        sum = sum2(sum, times2(h, vec2(r_at(first + k), 0.0)));
    }
    return sum;
}

// softmax of one row of numbers in `work`, for the activations that are that.
void softmax_row(uint first)
{
    float top = -INF;
    vec2 sum = vec2(0.0);
    for (uint k = 0u; k < SIZE; k++)
        top = max(top, work_at(first + k).x);
    for (uint k = 0u; k < SIZE; k++)
        sum = sum2(sum, vec2(exp_below(work_at(first + k).x, top), 0.0));
    meet();
    for (uint i = gl_LocalInvocationID.x; i < SIZE; i += gl_WorkGroupSize.x)
        set_work(first + i, vec2(quotient(exp_below(work_at(first + i).x, top), sum.x + sum.y), 0.0));
    meet();
}

#if SOFTMAX_0
#define FIRST(x) (x)
#define FIRST_ROW(g) meet(); softmax_row(GATE(g, 0u));
#else
#define FIRST(x) activation0(x)
#define FIRST_ROW(g)
#endif
#if SOFTMAX_1
#define SECOND(x) (x)
#define SECOND_ROW(g) meet(); softmax_row(GATE(g, 0u));
#else
#define SECOND(x) activation1(x)
#define SECOND_ROW(g)
#endif
#if SOFTMAX_2
#define THIRD(x) (x)
#else
#define THIRD(x) activation2(x)
#endif

#define EACH(i) for (uint i = lane; i < SIZE; i += gl_WorkGroupSize.x)

void main()
{
    uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
    if (row >= DIRECTIONS * BATCHES)
        return;
    uint direction = row / BATCHES, batch = row % BATCHES;
    EACH(i) {
#ifdef FIRST_HIDDEN
        set_work(HIDDEN(i), vec2(h_at(row * SIZE + i), 0.0));
#else
        set_work(HIDDEN(i), vec2(0.0));
#endif
#if LSTM
#ifdef FIRST_CELL
        set_work(CELL(i), vec2(c_at(row * SIZE + i), 0.0));
#else
        set_work(CELL(i), vec2(0.0));
#endif
#endif
    }
    meet();
    for (uint k = 0u; k < STEPS; k++) {
        uint step_at = BACKWARD != 0u || direction == 1u ? STEPS - 1u - k : k;
        uint from = ((direction * STEPS + step_at) * BATCHES + batch) * LINES;
#if LSTM
        // gates: input, output, forget, cell
        EACH(i) {
            for (uint g = 0u; g < 4u; g++) {
                uint line = BLOCK(g) * SIZE + i;
                vec2 x = sum2(x_at(from + line), from_hidden(row, direction, line, false));
#ifdef PEEPHOLE
                if (g != 3u)
                    x = sum2(x, times2(work_at(CELL(i)), vec2(p_at((direction * 3u + g) * SIZE + i), 0.0)));
#endif
                if (g == 3u)
                    x = SECOND(x);
                else
                    x = FIRST(x);
                set_work(GATE(g, i), x);
            }
        }
        FIRST_ROW(0u) FIRST_ROW(1u) FIRST_ROW(2u) SECOND_ROW(3u)
        meet();
        EACH(i) {
            vec2 cell = sum2(times2(work_at(GATE(2u, i)), work_at(CELL(i))),
                             times2(work_at(GATE(0u, i)), work_at(GATE(3u, i))));
            set_work(CELL(i), cell);
            set_work(GATE(3u, i), THIRD(cell));
        }
#if SOFTMAX_2
        meet();
        softmax_row(GATE(3u, 0u));
#endif
        EACH(i) {
            vec2 hidden = times2(work_at(GATE(3u, i)), work_at(GATE(1u, i)));
            set_work(HIDDEN(i), hidden);
            if (SEQUENCE != 0u)
                set_result(SEQUENCE_AT + ((step_at * DIRECTIONS + direction) * BATCHES + batch) * SIZE + i,
                           hidden.x + hidden.y);
        }
#else
        // gates: update, reset, new
        EACH(i) {
            for (uint g = 0u; g < 2u; g++) {
                uint line = BLOCK(g) * SIZE + i;
                set_work(GATE(g, i), FIRST(sum2(x_at(from + line), from_hidden(row, direction, line, false))));
            }
        }
        FIRST_ROW(0u) FIRST_ROW(1u)
        meet();
        EACH(i) {
            uint line = BLOCK(2u) * SIZE + i;
#if RESET_AFTER
            vec2 part = from_hidden(row, direction, line, false);
#ifdef RECURRENT_BIAS
            part = sum2(part, vec2(p_at(direction * LINES + line), 0.0));
#endif
            part = times2(part, work_at(GATE(1u, i)));
#else
            vec2 part = from_hidden(row, direction, line, true);
#endif
            set_work(GATE(2u, i), SECOND(sum2(x_at(from + line), part)));
        }
        SECOND_ROW(2u)
        meet();
        EACH(i) {
            vec2 update = work_at(GATE(0u, i)), rest = sum2(vec2(1.0, 0.0), -update);
            vec2 hidden = sum2(times2(update, work_at(HIDDEN(i))), times2(rest, work_at(GATE(2u, i))));
            set_work(HIDDEN(i), hidden);
            if (SEQUENCE != 0u)
                set_result(SEQUENCE_AT + ((step_at * DIRECTIONS + direction) * BATCHES + batch) * SIZE + i,
                           hidden.x + hidden.y);
        }
#endif
        meet();
    }
    EACH(i) {
        vec2 hidden = work_at(HIDDEN(i));
        set_result(HIDDEN_AT + row * SIZE + i, hidden.x + hidden.y);
#if LSTM
        vec2 cell = work_at(CELL(i));
        set_result(CELL_AT + row * SIZE + i, cell.x + cell.y);
#endif
    }
}
