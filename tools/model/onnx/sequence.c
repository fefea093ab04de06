// SPDX-License-Identifier: Apache-2.0
//
// Sequences and optional values, which exist only while recording: how many tensors a sequence has, and
// which one is meant, has to be known then.
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <string.h>

#define MAX_ITEMS 65536 // of a sequence

static struct tensor *make_sequence(struct recording *r, int64_t count)
{
    struct tensor *t = make_tensor(r, ONNX_SEQUENCE, 0, NULL);
    if (!t || count > MAX_ITEMS)
        return t ? fail(r, "a sequence of %lld tensors", (long long)count) : NULL;
    t->item_count = (size_t)count;
    t->items = wnn_model_allocate(r->memory, t->item_count, sizeof *t->items);
    return t->items ? t : fail(r, "there is not enough memory");
}

static bool is_sequence(struct recording *r, const struct tensor *t, const char *name)
{
    if (!t || r->failed)
        return false;
    return t->type == ONNX_SEQUENCE || fail(r, "%s is of type %s, not a sequence", name, type_name(t->type));
}

// A position in a sequence, which may count from the end; left out: the last one. `after`: there is one more,
// after all of them.
static bool find_position(struct call *c, size_t index, size_t count, bool after, size_t *position)
{
    struct recording *r = c->r;
    struct tensor *t = input(c, index);
    int64_t size = (int64_t)count, at = size - !after;
    if (t && (!require_known(r, t, "a position in a sequence") || count_elements(t) != 1))
        return false;
    at = t ? known_integer(t, 0) : at;
    if (at < -size || at >= size + after)
        return fail(r, "position %lld of %zu tensors", (long long)at, count);
    *position = (size_t)(at < 0 ? at + size : at);
    return true;
}

void record_sequence_construct(struct call *c)
{
    struct tensor *t = make_sequence(c->r, (int64_t)c->input_count);
    for (size_t i = 0; t && i < c->input_count; i++)
        if (!(t->items[i] = input(c, i))) {
            fail(c->r, "input %zu is missing", i);
            return;
        }
    set_output(c, 0, t);
}

// Parameter 1: with a tensor less, 0: with one more.
void record_sequence_change(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *from = input(c, 0);
    bool erases = c->parameter == 1;
    if (!is_sequence(r, from, "the input"))
        return;
    size_t count = from->item_count, at;
    if (!find_position(c, erases ? 1 : 2, count, !erases, &at))
        return;
    struct tensor *t = make_sequence(r, (int64_t)count + (erases ? -1 : 1));
    if (!t)
        return;
    memcpy(t->items, from->items, at * sizeof *t->items);
    if (!erases)
        t->items[at] = input(c, 1);
    memcpy(t->items + at + !erases, from->items + at + erases, (count - at - erases) * sizeof *t->items);
    set_output(c, 0, t);
}

void record_sequence_at(struct call *c)
{
    size_t at;
    if (is_sequence(c->r, input(c, 0), "the input") &&
        find_position(c, 1, input(c, 0)->item_count, false, &at))
        set_output(c, 0, input(c, 0)->items[at]);
}

void record_sequence_length(struct call *c)
{
    if (is_sequence(c->r, input(c, 0), "the input"))
        set_output(c, 0, make_number(c->r, ONNX_INT64, (double)input(c, 0)->item_count));
}

// Parts of one size, or of the sizes that are given; without sizes of 1, without the axis if it is not kept.
void record_split_to_sequence(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *split = input(c, 1), *t;
    size_t axis;
    if (!find_axis(r, get_int(c, "axis", 0), x->rank, &axis) ||
        (split && !require_known(r, split, "the size of parts")))
        return;
    int64_t size = x->dims[axis], each = split && split->rank == 0 ? known_integer(split, 0) : 1, at = 0;
    bool listed = split && split->rank > 0, keeps = split || get_int(c, "keepdims", 1) != 0;
    if (each < 1) {
        fail(r, "parts of %lld", (long long)each);
        return;
    }
    if (is_late(size) || is_late(each)) {
        fail(r, "how many parts there are depends on a size that is not known");
        return;
    }
    if (!(t = make_sequence(r, listed ? count_elements(split) : (size + each - 1) / each)))
        return;
    for (size_t i = 0; i < t->item_count && !r->failed; i++) {
        int64_t now = listed ? known_integer(split, (int64_t)i) : each < size - at ? each : size - at;
        if (now < 0 || now > size - at) {
            fail(r, "parts of %lld of a size of %lld", (long long)now, (long long)size);
            return;
        }
        t->items[i] = slice_axis(r, x, axis, at, now, 1);
        t->items[i] = keeps ? t->items[i] : squeeze(r, t->items[i], axis);
        at += now;
    }
    set_output(c, 0, t);
}

void record_concat_from_sequence(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *from = input(c, 0), **items;
    bool stacks = get_int(c, "new_axis", 0) != 0;
    size_t axis;
    if (!is_sequence(r, from, "the input"))
        return;
    if (from->item_count == 0 || from->items[0]->type == ONNX_SEQUENCE) {
        fail(r, "nothing to join");
        return;
    }
    items = wnn_model_allocate(r->memory, from->item_count, sizeof *items);
    if (!items || !find_axis(r, get_int(c, "axis", 0), from->items[0]->rank + stacks, &axis)) {
        fail(r, "there is not enough memory");
        return;
    }
    for (size_t i = 0; i < from->item_count; i++)
        items[i] = stacks ? unsqueeze(r, from->items[i], axis) : from->items[i];
    set_output(c, 0, concat(r, from->item_count, items, axis));
}

// A graph for each tensor of the first input; other inputs are sequences that go along, or tensors.
void record_sequence_map(struct call *c)
{
    struct recording *r = c->r;
    struct onnx_graph graph;
    struct tensor *first = input(c, 0), **given, **results;
    if (!is_sequence(r, first, "the first input") || !get_graph(c, "body", &graph))
        return;
    given = wnn_model_allocate(r->memory, c->input_count, sizeof(struct tensor *));
    results = wnn_model_allocate(r->memory, graph.output_count, sizeof(struct tensor *));
    if (!given || !results || graph.input_count != c->input_count || graph.output_count < c->output_count) {
        fail(r, "its body has %zu inputs and %zu outputs", graph.input_count, graph.output_count);
        return;
    }
    for (size_t k = 0; k < c->output_count; k++)
        set_output(c, k, make_sequence(r, (int64_t)first->item_count));
    for (size_t i = 0; i < first->item_count && !r->failed; i++) {
        for (size_t k = 0; k < c->input_count; k++) {
            struct tensor *t = input(c, k);
            bool goes_along = t && t->type == ONNX_SEQUENCE;
            if (!t || (goes_along && t->item_count != first->item_count)) {
                fail(r, t ? "sequences of other lengths" : "an input is missing");
                return;
            }
            given[k] = goes_along ? t->items[i] : t;
        }
        if (!record_graph(c, &graph, c->input_count, given, results))
            return;
        for (size_t k = 0; k < c->output_count; k++)
            c->outputs[k]->items[i] = results[k];
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Optional values: what they have, or a tensor of a type of its own, which is no input of a node
// ---------------------------------------------------------------------------------------------------------------

void record_optional(struct call *c)
{
    set_output(c, 0, input(c, 0) ? input(c, 0) : make_tensor(c->r, ONNX_NOTHING, 0, NULL));
}

void record_optional_has_element(struct call *c)
{
    set_output(c, 0, make_number(c->r, ONNX_BOOL, input(c, 0) != NULL));
}

void record_optional_get_element(struct call *c)
{
    set_output(c, 0, input(c, 0));
}
