// SPDX-License-Identifier: Apache-2.0
//
// Control flow, as far as it is decided when the graph is recorded.
#include "model/onnx/call.h"

#include <string.h>

#define MAX_TRIPS 4096

static bool allocate_tensors(struct call *c, size_t count, struct tensor ***tensors)
{
    *tensors = wnn_onnx_allocate(c->r->memory, count, sizeof(struct tensor *));
    return *tensors || fail(c->r, "there is not enough memory");
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
        if (a->type != b->type || a->rank != b->rank ||
            memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0])) {
            fail(r, "its condition is computed by the graph, and its branches give other shapes");
            return;
        }
        set_output(c, i, choose(r, condition, outputs[i], otherwise[i]));
    }
}

// Joins what each trip gave along a new first axis.
static struct tensor *stack(struct call *c, size_t count, struct tensor **items, size_t stride, size_t axis)
{
    struct tensor **all;
    if (count == 0)
        return fail(c->r, "a loop without trips, whose results have no elements");
    if (!allocate_tensors(c, count, &all))
        return NULL;
    for (size_t i = 0; i < count; i++)
        all[i] = unsqueeze(c->r, items[i * stride], axis);
    return c->r->failed ? NULL : concat(c->r, count, all, axis);
}

void record_loop(struct call *c)
{
    struct recording *r = c->r;
    struct onnx_graph graph;
    struct tensor *most = input(c, 0), *condition = input(c, 1), **given, **all;
    size_t carried = c->input_count > 2 ? c->input_count - 2 : 0, trips = 0;
    if ((most && !require_known(r, most, "the number of trips")) || !get_graph(c, "body", &graph))
        return;
    double limit = most && count_elements(most) == 1 ? known_number(most, 0) : MAX_TRIPS + 1;
    if (graph.input_count != carried + 2 || graph.output_count < carried + 1) {
        fail(r, "its body has %zu inputs and %zu outputs", graph.input_count, graph.output_count);
        return;
    }
    size_t scans = graph.output_count - carried - 1;
    if (!allocate_tensors(c, carried + 2, &given) ||
        !allocate_tensors(c, graph.output_count * (MAX_TRIPS + 1), &all))
        return;
    for (size_t i = 0; i < carried; i++)
        if (!(given[i + 2] = input(c, i + 2))) {
            fail(r, "input %zu is missing", i + 2);
            return;
        }
    given[1] = condition ? condition : make_number(r, ONNX_BOOL, 1);
    for (; (double)trips < limit; trips++) {
        if (!require_known(r, given[1], "the condition of the loop") || count_elements(given[1]) != 1)
            return;
        if (known_number(given[1], 0) == 0)
            break;
        if (trips >= MAX_TRIPS) {
            fail(r, "a loop of more than %d trips", MAX_TRIPS);
            return;
        }
        given[0] = make_number(r, ONNX_INT64, (double)trips);
        struct tensor **outputs = all + trips * graph.output_count;
        if (!record_graph(c, &graph, carried + 2, given, outputs))
            return;
        memcpy(given + 1, outputs, (carried + 1) * sizeof *outputs);
    }
    for (size_t i = 0; i < carried; i++)
        set_output(c, i, given[i + 2]);
    for (size_t i = 0; i < scans && carried + i < c->output_count; i++)
        if (wants(c, carried + i))
            set_output(c, carried + i, stack(c, trips, all + carried + 1 + i, graph.output_count, 0));
}

void record_scan(struct call *c)
{
    struct recording *r = c->r;
    struct onnx_graph graph;
    if (c->version < 9) {
        fail(r, "scans of operator sets before 9");
        return;
    }
    size_t scanned = (size_t)get_int(c, "num_scan_inputs", 0), count;
    if (!get_graph(c, "body", &graph))
        return;
    if (scanned < 1 || scanned > c->input_count || graph.input_count != c->input_count ||
        graph.output_count < c->input_count - scanned) {
        fail(r, "its body has %zu inputs and %zu outputs", graph.input_count, graph.output_count);
        return;
    }
    size_t carried = c->input_count - scanned, results = graph.output_count - carried;
    struct tensor **given, **all, *first = input(c, carried);
    size_t in_count, in_axis_count, out_count;
    int64_t *backwards = get_ints(c, "scan_input_directions", &in_count);
    int64_t *axes = get_ints(c, "scan_input_axes", &in_axis_count);
    int64_t *out_axes = get_ints(c, "scan_output_axes", &out_count);
    int64_t *out_backwards = get_ints(c, "scan_output_directions", &count);
    size_t axis = 0;
    for (size_t i = 0; i < c->input_count; i++)
        if (!input(c, i)) {
            fail(r, "input %zu is missing", i);
            return;
        }
    if (!find_axis(r, in_axis_count ? axes[0] : 0, first->rank, &axis))
        return;
    int64_t trips = first->dims[axis];
    if (trips < 1 || trips > MAX_TRIPS) {
        fail(r, "%lld trips; 1 to %d are supported", (long long)trips, MAX_TRIPS);
        return;
    }
    if (!allocate_tensors(c, c->input_count, &given) ||
        !allocate_tensors(c, graph.output_count * (size_t)trips, &all))
        return;
    memcpy(given, c->inputs, carried * sizeof *given);
    for (int64_t trip = 0; trip < trips; trip++) {
        for (size_t i = 0; i < scanned; i++) {
            struct tensor *x = input(c, carried + i);
            if (!find_axis(r, i < in_axis_count ? axes[i] : 0, x->rank, &axis))
                return;
            if (x->dims[axis] != trips) {
                fail(r, "sequences of %lld and %lld", (long long)x->dims[axis], (long long)trips);
                return;
            }
            bool back = i < in_count && backwards[i] == 1;
            given[carried + i] =
                squeeze(r, slice_axis(r, x, axis, back ? trips - 1 - trip : trip, 1, 1), axis);
        }
        if (r->failed ||
            !record_graph(c, &graph, c->input_count, given, all + (size_t)trip * graph.output_count))
            return;
        memcpy(given, all + (size_t)trip * graph.output_count, carried * sizeof *given);
    }
    for (size_t i = 0; i < carried; i++)
        set_output(c, i, given[i]);
    for (size_t i = 0; i < results; i++) {
        struct tensor *item = all[carried + i];
        if (!wants(c, carried + i) || !find_axis(r, i < out_count ? out_axes[i] : 0, item->rank + 1, &axis))
            continue;
        struct tensor *joined = stack(c, (size_t)trips, all + carried + i, graph.output_count, axis);
        if (i < count && out_backwards[i] == 1)
            joined = slice_axis(r, joined, axis, trips - 1, trips, -1);
        set_output(c, carried + i, joined);
    }
}
