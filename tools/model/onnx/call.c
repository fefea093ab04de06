// SPDX-License-Identifier: Apache-2.0
#include "tools/model/onnx/call.h"

#include "tools/model/onnx/order.h"
#include "tools/model/protobuf.h"

#include <string.h>

#define MAX_NUMBERS ((size_t)1 << 24) // of an attribute

static const struct onnx_operator operators[] = {
#define ONNX_OPERATOR(domain, name, least, most, function, parameter)                                        \
    {domain, name, least, most, function, parameter},
#include "tools/model/onnx/operators.def"
#undef ONNX_OPERATOR
};

// Operators that are known and cannot be recorded, by how their names begin.
static const struct {
    const char *name, *reason;
} refused[] = {
    {"String", "WebNN has no strings"},
    {"RegexFullMatch", "WebNN has no strings"},
    {"Tokenizer", "WebNN has no strings"},
    {"ImageDecoder", "it reads files of images"},
    {"Random", "WebNN has no random numbers"},
    {"Bernoulli", "WebNN has no random numbers"},
    {"Multinomial", "WebNN has no random numbers"},
    {"Sampling", "WebNN has no random numbers"},
    {"BeamSearch", "it runs whole networks until a text ends"},
    {"GreedySearch", "it runs whole networks until a text ends"},
    {"WhisperBeamSearch", "it runs whole networks until a text ends"},
    {"Gradient", "it is for training"},
    {"Ada", "it is for training"},
    {"Momentum", "it is for training"},
};

const char *wnn_onnx_refusal(struct bytes name)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        size_t length = strlen(refused[i].name);
        if (name.size >= length && memcmp(name.data, refused[i].name, length) == 0)
            return refused[i].reason;
    }
    return NULL;
}

const struct onnx_operator *wnn_onnx_operator(struct bytes domain, struct bytes name)
{
    if (is_text(domain, "ai.onnx"))
        domain.size = 0;
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (is_text(name, operators[i].name) && is_text(domain, operators[i].domain))
            return &operators[i];
    return NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Attributes
// ---------------------------------------------------------------------------------------------------------------

bool find_attribute(const struct call *c, const char *name, struct onnx_attribute *to)
{
    struct bytes wanted = {(const unsigned char *)name, strlen(name)};
    bool found = wnn_onnx_node_attribute(c->r->memory, c->node, wanted, to);
    while (found && to->reference.size && c->caller) { // one of the node of the function
        wanted = to->reference;
        found = wnn_onnx_node_attribute(c->r->memory, c->caller->node, wanted, to) ||
                wnn_onnx_default_attribute(c->r->memory, c->function, wanted, to);
        c = c->caller;
    }
    return found;
}

bool has_attribute(const struct call *c, const char *name)
{
    struct onnx_attribute attribute;
    return find_attribute(c, name, &attribute);
}

int64_t get_int(const struct call *c, const char *name, int64_t otherwise)
{
    struct onnx_attribute attribute;
    return find_attribute(c, name, &attribute) ? attribute.i : otherwise;
}

double get_float(const struct call *c, const char *name, double otherwise)
{
    struct onnx_attribute attribute;
    return find_attribute(c, name, &attribute) ? (double)attribute.f : otherwise;
}

bool has_text(const struct call *c, const char *name, const char *text, const char *otherwise)
{
    struct onnx_attribute attribute;
    return find_attribute(c, name, &attribute) ? is_text(attribute.s, text) : strcmp(text, otherwise) == 0;
}

// How many numbers there are in a repeated field.
static size_t count_numbers(const struct call *c, struct bytes message, uint32_t number)
{
    struct protobuf reader = {.left = message, .work = &c->r->memory->work};
    size_t count = 0;
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        if (field.number == number)
            count += number == 8 ? wnn_protobuf_numbers(&reader, &field, 0, NULL)
                                 : wnn_protobuf_floats(&reader, &field, 0, NULL);
    return count < MAX_NUMBERS ? count : 0;
}

int64_t *get_ints(const struct call *c, const char *name, size_t *count)
{
    struct onnx_attribute attribute;
    *count = 0;
    if (!find_attribute(c, name, &attribute))
        return NULL;
    size_t capacity = count_numbers(c, attribute.message, 8);
    struct protobuf reader = {.left = attribute.message, .work = &c->r->memory->work};
    int64_t *numbers = wnn_model_allocate(c->r->memory, capacity, sizeof *numbers);
    for (struct protobuf_field field; numbers && wnn_protobuf_next(&reader, &field);)
        if (field.number == 8) {
            size_t left = capacity - *count,
                   more = wnn_protobuf_numbers(&reader, &field, left, numbers + *count);
            *count += more < left ? more : left;
        }
    return numbers;
}

float *get_floats(const struct call *c, const char *name, size_t *count)
{
    struct onnx_attribute attribute;
    *count = 0;
    if (!find_attribute(c, name, &attribute))
        return NULL;
    size_t capacity = count_numbers(c, attribute.message, 7);
    struct protobuf reader = {.left = attribute.message, .work = &c->r->memory->work};
    float *numbers = wnn_model_allocate(c->r->memory, capacity, sizeof *numbers);
    for (struct protobuf_field field; numbers && wnn_protobuf_next(&reader, &field);)
        if (field.number == 7) {
            size_t left = capacity - *count,
                   more = wnn_protobuf_floats(&reader, &field, left, numbers + *count);
            *count += more < left ? more : left;
        }
    return numbers;
}

struct bytes *get_texts(const struct call *c, const char *name, size_t *count)
{
    enum {
        MAX_TEXTS = 64
    };
    struct onnx_attribute attribute;
    *count = 0;
    if (!find_attribute(c, name, &attribute))
        return NULL;
    struct protobuf reader = {.left = attribute.message, .work = &c->r->memory->work};
    struct bytes *texts = wnn_model_allocate(c->r->memory, MAX_TEXTS, sizeof *texts);
    for (struct protobuf_field field; texts && wnn_protobuf_next(&reader, &field);)
        if (field.number == 9 && *count < MAX_TEXTS)
            texts[(*count)++] = wnn_protobuf_bytes(&reader, &field);
    return texts;
}

bool get_graph(struct call *c, const char *name, struct onnx_graph *graph)
{
    struct onnx_attribute attribute;
    if (!find_attribute(c, name, &attribute) || !attribute.graph.data)
        return fail(c->r, "there is no attribute %s", name);
    const char *fault = wnn_onnx_graph(c->r->memory, attribute.graph, graph);
    if (fault)
        return fail(c->r, "%s: %s", name, fault);
    return wnn_onnx_order(c->r->memory, graph) || fail(c->r, "there is not enough memory");
}

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

struct tensor *input(const struct call *c, size_t index)
{
    return index < c->input_count ? c->inputs[index] : NULL;
}

struct tensor *needed(struct call *c, size_t index, const char *name)
{
    struct tensor *t = input(c, index);
    return t ? t : fail(c->r, "there is no %s", name);
}

bool is_float(struct recording *r, const struct tensor *t, const char *name)
{
    if (!t || r->failed)
        return false;
    return is_real(t->type) || fail(r, "%s is of type %s, not of real numbers", name, type_name(t->type));
}

bool wants(const struct call *c, size_t index)
{
    return index < c->output_count && c->node->outputs.items[index].size > 0;
}

void set_output(struct call *c, size_t index, struct tensor *t)
{
    if (index < c->output_count)
        c->outputs[index] = t;
}

bool get_list(struct call *c, size_t index, const char *name, size_t *count, int64_t **numbers)
{
    struct tensor *t = input(c, index);
    *numbers = NULL;
    *count = 0;
    if (!t) {
        *numbers = get_ints(c, name, count);
        return has_attribute(c, name);
    }
    if (!require_sizes(c->r, t, name))
        return false;
    if (!t->ints || (t->rank > 1 && t->dims[t->rank - 1] != count_elements(t)))
        return fail(c->r, "%s is no list of integers", name);
    *numbers = t->ints;
    *count = (size_t)count_elements(t);
    return true;
}
