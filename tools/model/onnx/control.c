// SPDX-License-Identifier: Apache-2.0
//
// Control flow, as far as it is decided when the graph is recorded.
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <string.h>

#define MAX_TRIPS 4096

static bool allocate_tensors(struct call *c, size_t count, struct tensor ***tensors)
{
    *tensors = wnn_model_allocate(c->r->memory, count, sizeof(struct tensor *));
    return *tensors || fail(c->r, "there is not enough memory");
}

// As far as sizes are known.
static bool has_same_shape(const struct tensor *a, const struct tensor *b)
{
    bool same = a->type == b->type && a->rank == b->rank;
    for (size_t i = 0; same && i < a->rank; i++)
        same = !sizes_differ(a->dims[i], b->dims[i]);
    return same;
}

static bool record_branch(struct call *c, const char *name, size_t *count, struct tensor ***outputs)
{
    struct onnx_graph graph;
    if (!get_graph(c, name, &graph) || !allocate_tensors(c, graph.output_count, outputs))
        return false;
    *count = graph.output_count;
    return record_graph(c, &graph, 0, NULL, *outputs);
}

// A branch that is known is taken. Otherwise both are computed, and one is chosen: graphs do nothing but
// compute.
void record_if(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *condition = input(c, 0), **outputs, **otherwise;
    size_t count, other_count;
    if (count_elements(condition) != 1) {
        fail(r, "a condition of %lld elements", (long long)count_elements(condition));
        return;
    }
    if (is_known(r, condition)) {
        if (!record_branch(c, known_number(condition, 0) != 0 ? "then_branch" : "else_branch", &count,
                           &outputs))
            return;
        for (size_t i = 0; i < count; i++)
            set_output(c, i, outputs[i]);
        return;
    }
    if (!record_branch(c, "then_branch", &count, &outputs) ||
        !record_branch(c, "else_branch", &other_count, &otherwise))
        return;
    condition = reshape(r, condition, 0, NULL);
    for (size_t i = 0; i < count && i < other_count; i++) {
        const struct tensor *a = outputs[i], *b = otherwise[i];
        if (!has_same_shape(a, b)) {
            fail(r, "its condition is computed by the graph, and its branches give other shapes");
            return;
        }
        set_output(c, i, choose(r, condition, outputs[i], otherwise[i]));
    }
}

// Joins every so many-th item along a new axis.
static struct tensor *stack(struct call *c, size_t count, struct tensor **items, size_t stride, size_t axis)
{
    struct tensor **all;
    if (!allocate_tensors(c, count, &all))
        return NULL;
    for (size_t i = 0; i < count; i++)
        all[i] = unsqueeze(c->r, items[i * stride], axis);
    return c->r->failed ? NULL : concat(c->r, count, all, axis);
}

// What no trip gave, of which only the body can say the type and sizes.
static struct tensor *stack_nothing(struct call *c, const struct onnx_value *value)
{
    int64_t dims[MAX_RANK] = {0};
    bool good = value->has_shape && value->rank < MAX_RANK;
    for (size_t i = 0; good && i < value->rank; i++) {
        dims[i + 1] = value->dims[i].value;
        good = value->dims[i].known && dims[i + 1] >= 0 && dims[i + 1] <= INT32_MAX;
    }
    if (!good)
        return fail(c->r, "a loop without trips, whose body does not say the shape of its results");
    return make_known(c->r, value->type, value->rank + 1, dims);
}

// ---------------------------------------------------------------------------------------------------------------
// Loop
// ---------------------------------------------------------------------------------------------------------------

struct loop {
    struct onnx_graph body;
    size_t carried, results; // values from trip to trip; and of every trip
    double limit;
    // The trip, the condition and what is carried. `active`: whether the trips go on, where the graph
    // computes it; NULL before.
    struct tensor **given, *active;
};

static bool read_loop(struct call *c, struct loop *l)
{
    struct tensor *most = input(c, 0);
    *l = (struct loop){.carried = c->input_count > 2 ? c->input_count - 2 : 0};
    if ((most && !require_known(c->r, most, "the number of trips")) || !get_graph(c, "body", &l->body))
        return false;
    l->limit = most && count_elements(most) == 1 ? known_number(most, 0) : MAX_TRIPS + 1;
    if (l->body.input_count != l->carried + 2 || l->body.output_count < l->carried + 1)
        return fail(c->r, "its body has %zu inputs and %zu outputs", l->body.input_count,
                    l->body.output_count);
    l->results = l->body.output_count - l->carried - 1;
    if (!allocate_tensors(c, l->carried + 2, &l->given))
        return false;
    for (size_t i = 0; i < l->carried; i++)
        if (!(l->given[i + 2] = input(c, i + 2)))
            return fail(c->r, "input %zu is missing", i + 2);
    l->given[1] = input(c, 1) ? input(c, 1) : make_number(c->r, ONNX_BOOL, 1);
    return !c->r->failed;
}

// Whether there is another trip. Where only the graph knows, there is, and it changes nothing once the
// condition was false.
static bool goes_on(struct call *c, struct loop *l, size_t trip)
{
    struct recording *r = c->r;
    struct tensor *condition = l->given[1];
    if (!condition || r->failed || (double)trip >= l->limit)
        return false;
    if (count_elements(condition) != 1)
        return fail(r, "a condition of %lld elements", (long long)count_elements(condition));
    bool known = is_known(r, condition);
    if (known && known_number(condition, 0) == 0)
        return false;
    if (trip >= MAX_TRIPS || (!known && l->limit > MAX_TRIPS))
        return fail(r, "a loop of more than %d trips%s", MAX_TRIPS,
                    known ? "" : ", as its condition is computed by the graph");
    if (known)
        return true;
    if (l->results > 0)
        return fail(r, "how many results there are depends on a condition that the graph computes");
    condition = reshape(r, condition, 0, NULL);
    l->active = l->active ? binary(r, AND, l->active, condition) : condition;
    return !r->failed;
}

static bool keep_if_inactive(struct call *c, const struct loop *l, struct tensor **now)
{
    for (size_t i = 0; l->active && i < l->carried; i++) {
        const struct tensor *a = now[i], *b = l->given[i + 2];
        if (!has_same_shape(a, b))
            return fail(c->r, "a loop that the graph ends changes the shape of what it carries");
        now[i] = choose(c->r, l->active, now[i], l->given[i + 2]);
    }
    return !c->r->failed;
}

void record_loop(struct call *c)
{
    struct recording *r = c->r;
    struct loop l;
    struct tensor **all;
    size_t trips = 0;
    if (!read_loop(c, &l) || !allocate_tensors(c, l.body.output_count * (MAX_TRIPS + 1), &all))
        return;
    for (; goes_on(c, &l, trips); trips++) {
        l.given[0] = make_number(r, ONNX_INT64, (double)trips);
        struct tensor **outputs = all + trips * l.body.output_count;
        if (!record_graph(c, &l.body, l.carried + 2, l.given, outputs) ||
            !keep_if_inactive(c, &l, outputs + 1))
            return;
        memcpy(l.given + 1, outputs, (l.carried + 1) * sizeof *outputs);
    }
    for (size_t i = 0; i < l.carried; i++)
        set_output(c, i, l.given[i + 2]);
    for (size_t i = 0; i < l.results; i++)
        if (wants(c, l.carried + i))
            set_output(c, l.carried + i,
                       trips ? stack(c, trips, all + l.carried + 1 + i, l.body.output_count, 0)
                             : stack_nothing(c, &l.body.outputs[l.carried + 1 + i]));
}

// ---------------------------------------------------------------------------------------------------------------
// Scan
// ---------------------------------------------------------------------------------------------------------------

struct scan {
    struct onnx_graph body;
    size_t carried, scanned, results;
    struct tensor **states, **inputs;        // of the node
    const int64_t *axes, *backwards;         // of inputs; may be shorter than they are many
    const int64_t *out_axes, *out_backwards; // of results
    size_t axis_count, back_count, out_axis_count, out_back_count;
};

static bool read_scan(struct call *c, struct scan *s)
{
    size_t first = c->version < 9 ? 1 : 0, count = c->input_count > first ? c->input_count - first : 0;
    int64_t scanned = get_int(c, "num_scan_inputs", 0);
    *s = (struct scan){0};
    if (!get_graph(c, "body", &s->body))
        return false;
    if (scanned < 1 || scanned > (int64_t)count || s->body.input_count != count ||
        s->body.output_count + (size_t)scanned < count)
        return fail(c->r, "its body has %zu inputs and %zu outputs", s->body.input_count,
                    s->body.output_count);
    s->scanned = (size_t)scanned;
    s->carried = count - s->scanned;
    s->results = s->body.output_count - s->carried;
    s->states = c->inputs + first;
    s->inputs = s->states + s->carried;
    for (size_t i = 0; i < count; i++)
        if (!s->states[i])
            return fail(c->r, "input %zu is missing", first + i);
    s->backwards = get_ints(c, c->version < 9 ? "directions" : "scan_input_directions", &s->back_count);
    s->axes = get_ints(c, "scan_input_axes", &s->axis_count);
    s->out_axes = get_ints(c, "scan_output_axes", &s->out_axis_count);
    s->out_backwards = get_ints(c, "scan_output_directions", &s->out_back_count);
    return !c->r->failed;
}

// All trips: `states` become the last ones, `results` what all trips gave.
static bool run_scan(struct call *c, const struct scan *s, int64_t trips, struct tensor **states,
                     struct tensor *const *inputs, struct tensor **results)
{
    struct recording *r = c->r;
    struct tensor **given, **all;
    size_t axis, count = s->body.output_count;
    if (is_late(trips))
        return fail(r, "the number of trips depends on a size that is not known");
    if (trips < 1 || trips > MAX_TRIPS)
        return fail(r, "%lld trips; 1 to %d are supported", (long long)trips, MAX_TRIPS);
    if (!allocate_tensors(c, s->carried + s->scanned, &given) ||
        !allocate_tensors(c, count * (size_t)trips, &all))
        return false;
    memcpy(given, states, s->carried * sizeof *given);
    for (int64_t trip = 0; trip < trips; trip++) {
        struct tensor **now = all + (size_t)trip * count;
        for (size_t i = 0; i < s->scanned; i++) {
            bool back = i < s->back_count && s->backwards[i] == 1;
            if (!find_axis(r, i < s->axis_count ? s->axes[i] : 0, inputs[i]->rank, &axis))
                return false;
            if (inputs[i]->dims[axis] < trips)
                return fail(r, "sequences of %lld and %lld", (long long)inputs[i]->dims[axis],
                            (long long)trips);
            given[s->carried + i] =
                squeeze(r, slice_axis(r, inputs[i], axis, back ? trips - 1 - trip : trip, 1, 1), axis);
        }
        if (r->failed || !record_graph(c, &s->body, s->carried + s->scanned, given, now))
            return false;
        memcpy(given, now, s->carried * sizeof *given);
    }
    memcpy(states, given, s->carried * sizeof *given);
    for (size_t i = 0; i < s->results; i++) {
        struct tensor **item = all + s->carried + i;
        if (!find_axis(r, i < s->out_axis_count ? s->out_axes[i] : 0, item[0]->rank + 1, &axis))
            return false;
        results[i] = stack(c, (size_t)trips, item, count, axis);
        if (i < s->out_back_count && s->out_backwards[i] == 1)
            results[i] = slice_axis(r, results[i], axis, trips - 1, trips, -1);
    }
    return !r->failed;
}

// Each of the batch by itself, as operator set 8 has it: [batch, steps, ...], of which some may be shorter.
static bool scan_batch(struct call *c, const struct scan *s, struct tensor **outputs)
{
    struct recording *r = c->r;
    struct tensor *lengths = input(c, 0), **one, **all;
    size_t count = s->carried + s->results;
    if (s->inputs[0]->rank < 2 || (lengths && !require_known(r, lengths, "the lengths of sequences")))
        return false;
    int64_t batch = s->inputs[0]->dims[0], steps = s->inputs[0]->dims[1];
    if (batch < 1 || batch > MAX_TRIPS || (lengths && count_elements(lengths) != batch))
        return fail(r, "a batch of %lld", (long long)batch);
    if (!allocate_tensors(c, s->carried + s->scanned, &one) ||
        !allocate_tensors(c, count * (size_t)batch, &all))
        return false;
    for (int64_t b = 0; b < batch; b++) {
        struct tensor **now = all + (size_t)b * count;
        for (size_t i = 0; i < s->carried + s->scanned; i++) {
            if (s->states[i]->rank < 1 || s->states[i]->dims[0] != batch)
                return fail(r, "operands of other batches");
            one[i] = squeeze(r, slice_axis(r, s->states[i], 0, b, 1, 1), 0);
        }
        int64_t trips = lengths ? known_integer(lengths, b) : steps;
        if (r->failed || !run_scan(c, s, trips, one, one + s->carried, now + s->carried))
            return false;
        memcpy(now, one, s->carried * sizeof *now);
        for (size_t i = s->carried; i < count; i++) {
            int64_t none[MAX_RANK] = {0}, more[MAX_RANK] = {steps - trips};
            now[i] = pad(r, now[i], none, more, WNNPaddingMode_Constant, 0);
        }
    }
    for (size_t i = 0; i < count && !r->failed; i++)
        outputs[i] = stack(c, (size_t)batch, all + i, count, 0);
    return !r->failed;
}

void record_scan(struct call *c)
{
    struct recording *r = c->r;
    struct scan s;
    struct tensor **outputs;
    size_t axis;
    if (!read_scan(c, &s) || !allocate_tensors(c, s.carried + s.results, &outputs))
        return;
    if (c->version < 9) {
        if (!scan_batch(c, &s, outputs))
            return;
    } else {
        if (!find_axis(r, s.axis_count ? s.axes[0] : 0, s.inputs[0]->rank, &axis))
            return;
        for (size_t i = 0; i < s.carried; i++)
            outputs[i] = s.states[i];
        if (!run_scan(c, &s, s.inputs[0]->dims[axis], outputs, s.inputs, outputs + s.carried))
            return;
    }
    for (size_t i = 0; i < s.carried + s.results; i++)
        set_output(c, i, outputs[i]);
}
