// SPDX-License-Identifier: Apache-2.0
//
// Control flow, as far as it is decided when the graph is recorded.
#include "tools/model/tflite/call.h"

#include <string.h>

#define MAX_TRIPS 4096

// Inputs from one on, as values for a subgraph; NULL: an error.
static struct value *take_inputs(struct call *c, size_t first)
{
    struct value *values = wnn_model_allocate(c->r->memory, c->input_count, sizeof *values);
    if (!values)
        return fail(c->r, "there is not enough memory");
    for (size_t i = first; i < c->input_count; i++) {
        if (!has_input(c, i))
            return fail(c->r, "input %zu is missing", i);
        values[i - first] = *c->inputs[i];
    }
    return values;
}

static void give_values(struct call *c, size_t count, const struct value *values)
{
    for (size_t i = 0; i < c->output_count && i < count; i++)
        if (c->outputs[i])
            pass_value(c->r, c->outputs[i], &values[i]);
}

// Records a subgraph; NULL: an error. `count` is how many outputs it has.
static struct value *run_subgraph(struct call *c, int64_t index, size_t count, const struct value *inputs,
                                  size_t *output_count)
{
    size_t input_count;
    if (!count_subgraph(c, index, &input_count, output_count))
        return NULL;
    struct value *outputs = wnn_model_allocate(c->r->memory, *output_count, sizeof *outputs);
    if (!outputs)
        return fail(c->r, "there is not enough memory");
    return record_subgraph(c, index, count, inputs, outputs) ? outputs : NULL;
}

// Parameter 1: of an operator that is made of others, which is the same without it.
void compose_call(struct call *c)
{
    struct value *inputs = take_inputs(c, 0), *outputs;
    size_t count;
    int64_t index = c->parameter ? wnn_flatbuffer_number(&c->node->options2, 1, FLATBUFFER_INT32, -1)
                                 : wnn_flatbuffer_number(&c->node->options, 0, FLATBUFFER_UINT32, -1);
    outputs = inputs ? run_subgraph(c, index, c->input_count, inputs, &count) : NULL;
    if (outputs)
        give_values(c, count, outputs);
}

// A branch that is known is taken. Otherwise both are computed, and one is chosen: graphs do nothing but
// compute.
void compose_if(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *condition = stored_at(c, 0);
    struct value *inputs = take_inputs(c, 1), *outputs, *otherwise;
    int64_t branches[] = {option_int(c, 0, -1), option_int(c, 1, -1)};
    size_t count, other_count;
    if (!condition || !inputs || count_elements(condition) != 1) {
        fail(r, "a condition of several elements");
        return;
    }
    bool known = is_known(r, condition), first = !known || known_number(condition, 0) != 0;
    outputs = run_subgraph(c, branches[first ? 0 : 1], c->input_count - 1, inputs, &count);
    if (outputs && known)
        give_values(c, count, outputs);
    if (!outputs || known)
        return;
    otherwise = run_subgraph(c, branches[1], c->input_count - 1, inputs, &other_count);
    condition = reshape(r, condition, 0, NULL);
    for (size_t i = 0; otherwise && i < count && i < other_count && i < c->output_count; i++) {
        struct tensor *a = real_of(r, &outputs[i]), *b = real_of(r, &otherwise[i]);
        if (a && b && (a->rank != b->rank || memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]))) {
            fail(r, "its condition is computed by the graph, and its branches give other shapes");
            return;
        }
        give(c, i, choose(r, condition, a, b));
    }
}

// A loop is unrolled, as long as its condition is known.
void compose_while(struct call *c)
{
    struct value *values = take_inputs(c, 0), *condition;
    int64_t test = option_int(c, 0, -1), body = option_int(c, 1, -1);
    size_t count = c->input_count, one;
    for (size_t trips = 0; values; trips++) {
        condition = run_subgraph(c, test, count, values, &one);
        struct tensor *t = condition && one == 1 ? stored_of(c->r, &condition[0]) : NULL;
        if (!require_known(c->r, t, "the condition of the loop") || count_elements(t) != 1) {
            fail(c->r, "a condition of several elements");
            return;
        }
        if (known_number(t, 0) == 0)
            break;
        if (trips == MAX_TRIPS) {
            fail(c->r, "a loop of more than %d trips", MAX_TRIPS);
            return;
        }
        values = run_subgraph(c, body, count, values, &count);
    }
    if (values)
        give_values(c, count, values);
}
