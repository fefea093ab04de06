// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tflite/record.h"

#include "tools/model/inputs.h"
#include "tools/model/tflite/call.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH    32     // of subgraphs in subgraphs
#define MAX_NODES    400000 // recorded in all, loops unrolled
#define MAX_OPERANDS 4096   // of an operator

struct document {
    struct model_record *record;
    struct tflite_model *model;
    size_t node_count;
};

// A subgraph that is recorded.
struct scope {
    struct document *document;
    const struct tflite_subgraph *graph;
    struct value *values; // by tensor
    unsigned depth;
};

static const struct bytes none = {NULL, 0};

// ---------------------------------------------------------------------------------------------------------------
// Tensors
// ---------------------------------------------------------------------------------------------------------------

static struct value *value_at(struct scope *scope, const struct flatbuffer_vector *tensors, size_t i)
{
    return &scope->values[wnn_flatbuffer_number_at(tensors, FLATBUFFER_INT32, i)];
}

// The sizes of a tensor; false: an error.
static bool read_shape(struct recording *r, const struct tflite_tensor *about, int64_t *dims)
{
    if (about->shape.count > MAX_RANK)
        return fail(r, "a tensor of rank %zu; more than %d are not supported", about->shape.count, MAX_RANK);
    for (size_t i = 0; i < about->shape.count; i++)
        dims[i] = wnn_flatbuffer_number_at(&about->shape, FLATBUFFER_INT32, i);
    return true;
}

struct tensor *make_file_constant(struct recording *r, const struct tflite_tensor *about)
{
    int64_t dims[MAX_RANK];
    if (about->sparsity.at)
        return densify(r, about);
    struct constant *constant = wnn_model_allocate(r->memory, 1, sizeof *constant);
    if (!constant)
        return fail(r, "there is not enough memory");
    if (!read_shape(r, about, dims))
        return NULL;
    *constant = (struct constant){.type = about->type, .bytes = about->data};
    return make_constant(r, constant, about->shape.count, dims);
}

// Whether a tensor is there without being computed: it has data, or needs none as it has no elements.
static bool is_constant(const struct tflite_tensor *about)
{
    bool empty = false;
    for (size_t i = 0; i < about->shape.count && i < MAX_RANK; i++)
        empty |= wnn_flatbuffer_number_at(&about->shape, FLATBUFFER_INT32, i) == 0;
    return about->data.size > 0 || (empty && !about->is_variable);
}

// Makes a constant of a value that is not there; false: it is none, or an error.
static bool has_value(struct recording *r, struct value *value)
{
    if (!value->stored && !value->real && !value->is_lost && is_constant(value->about))
        value->stored = make_file_constant(r, value->about);
    return value->stored || value->real;
}

static bool open_scope(struct recording *r, struct scope *scope)
{
    const struct tflite_subgraph *graph = scope->graph;
    if (scope->depth > MAX_DEPTH)
        return fail(r, "subgraphs within subgraphs, more than %d deep", MAX_DEPTH);
    scope->values = wnn_model_allocate(r->memory, graph->tensor_count, sizeof scope->values[0]);
    for (size_t i = 0; scope->values && i < graph->tensor_count; i++)
        scope->values[i].about = &graph->tensors[i];
    return scope->values || fail(r, "there is not enough memory");
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

static struct value **allocate_values(struct call *c, const struct flatbuffer_vector *tensors)
{
    if (tensors->count > MAX_OPERANDS)
        return fail(c->r, "%zu inputs or outputs; %d at most are supported", tensors->count, MAX_OPERANDS);
    struct value **values = wnn_model_allocate(c->r->memory, tensors->count, sizeof(struct value *));
    return values ? values : fail(c->r, "there is not enough memory");
}

// Constants become tensors when they are used. What operators keep for the next time is left out: it is empty
// the first time. False: an operator before could not be recorded, which was said there.
static bool find_inputs(struct call *c)
{
    const struct flatbuffer_vector *tensors = &c->node->inputs;
    c->inputs = allocate_values(c, tensors);
    for (size_t i = 0; c->inputs && i < tensors->count; i++) {
        int64_t index = wnn_flatbuffer_number_at(tensors, FLATBUFFER_INT32, i);
        if (index == -1)
            continue;
        if (index < 0 || (uint64_t)index >= c->scope->graph->tensor_count)
            return fail(c->r, "its input %zu is a tensor that there is not", i), true;
        struct value *value = &c->scope->values[index];
        if (value->is_lost)
            return false;
        char shown[160];
        wnn_model_print(shown, sizeof shown, value->about->name);
        if (has_value(c->r, value))
            c->inputs[i] = value;
        else if (!value->about->is_variable)
            return fail(c->r, "its input \"%s\" is not there", shown), true;
    }
    c->input_count = tensors->count;
    return true;
}

static void find_outputs(struct call *c)
{
    const struct flatbuffer_vector *tensors = &c->node->outputs;
    c->outputs = allocate_values(c, tensors);
    for (size_t i = 0; c->outputs && i < tensors->count; i++) {
        int64_t index = wnn_flatbuffer_number_at(tensors, FLATBUFFER_INT32, i);
        if (index == -1)
            continue;
        if (index < 0 || (uint64_t)index >= c->scope->graph->tensor_count) {
            fail(c->r, "its output %zu is a tensor that there is not", i);
            return;
        }
        struct value *value = &c->scope->values[index];
        if (value->stored || value->real || value->is_lost || value->about->data.size) {
            fail(c->r, "its output %zu is there already", i);
            return;
        }
        value->maker = c->node;
        c->outputs[i] = value;
        c->output_count = i + 1;
    }
}

static const struct tflite_builtin *find_builtin(struct call *c)
{
    const struct tflite_builtin *builtin = wnn_tflite_find(c->node);
    const char *reason = builtin ? NULL : wnn_tflite_refusal(c->node);
    if (!builtin)
        fail(c->r, "the operator is not supported%s%s", reason ? ": " : "", reason ? reason : "");
    return builtin;
}

static void check_and_compose(struct call *c, const struct tflite_builtin *builtin)
{
    if (c->input_count > builtin->most) {
        fail(c->r, "%zu inputs; it takes %zu at most", c->input_count, builtin->most);
        return;
    }
    if (c->output_count == 0 || !c->outputs[0]) {
        fail(c->r, "it has no result");
        return;
    }
    for (size_t i = 0; i < builtin->least; i++)
        if (!has_input(c, i)) {
            fail(c->r, "input %zu is missing", i);
            return;
        }
    for (size_t i = 0; i < c->input_count && builtin->compose != compose_complex_part; i++)
        if (has_input(c, i) && c->inputs[i]->about->type == TYPE_COMPLEX64) {
            fail(c->r, "WebNN has no complex numbers");
            return;
        }
    c->parameter = builtin->parameter;
    builtin->compose(c);
    struct flatbuffer *buffer = &c->scope->document->model->file.buffer;
    if (buffer->fault) // its options lie outside of the file
        fail(c->r, "%s", buffer->fault);
    buffer->fault = NULL;
    for (size_t i = 0; !c->r->failed && i < c->output_count; i++)
        if (c->outputs[i] && !c->outputs[i]->stored && !c->outputs[i]->real)
            fail(c->r, "its output %zu is not supported", i);
}

// An operator has no name but that of what it computes.
static struct bytes name_of(struct scope *scope, const struct tflite_operator *node)
{
    int64_t index = node->outputs.count ? wnn_flatbuffer_number_at(&node->outputs, FLATBUFFER_INT32, 0) : -1;
    bool there = index >= 0 && (uint64_t)index < scope->graph->tensor_count;
    return there ? scope->graph->tensors[index].name : none;
}

// False: an error, which is among the document's.
static bool record_operator(struct recording *r, struct scope *scope, const struct tflite_operator *node)
{
    struct document *document = scope->document;
    struct call call = {.r = r, .node = node, .scope = scope};
    struct bytes label = r->label;
    r->label = name_of(scope, node);
    bool silent = false;
    find_outputs(&call);
    if (++document->node_count > MAX_NODES)
        fail(r, "more than %d operators are recorded, loops unrolled", MAX_NODES);
    const struct tflite_builtin *builtin = r->failed ? NULL : find_builtin(&call);
    if (builtin)
        silent = !find_inputs(&call);
    if (!r->failed && !silent)
        check_and_compose(&call, builtin);
    bool failed = r->failed || silent;
    if (r->failed)
        wnn_model_add_error(&document->record->errors, r->label, wnn_tflite_name(node), r->fault);
    r->failed = false;
    r->label = label;
    for (size_t i = 0; failed && i < call.output_count; i++)
        if (call.outputs[i])
            call.outputs[i]->is_lost = true;
    return !failed;
}

static bool record_operators(struct recording *r, struct scope *scope)
{
    bool good = true;
    for (size_t i = 0; i < scope->graph->operator_count; i++) {
        good &= record_operator(r, scope, &scope->graph->operators[i]);
        if (scope->document->node_count > MAX_NODES)
            return false;
    }
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Subgraphs
// ---------------------------------------------------------------------------------------------------------------

static const struct tflite_subgraph *find_subgraph(struct call *c, int64_t index)
{
    const struct tflite_file *file = &c->scope->document->model->file;
    if (index < 0 || (uint64_t)index >= file->subgraph_count)
        return fail(c->r, "there is no subgraph %lld", (long long)index);
    return &file->subgraphs[index];
}

bool count_subgraph(struct call *c, int64_t index, size_t *inputs, size_t *outputs)
{
    const struct tflite_subgraph *graph = find_subgraph(c, index);
    if (!graph)
        return false;
    *inputs = graph->inputs.count;
    *outputs = graph->outputs.count;
    return (*inputs <= MAX_OPERANDS && *outputs <= MAX_OPERANDS) ||
           fail(c->r, "a subgraph of %zu inputs and %zu outputs", *inputs, *outputs);
}

bool pass_value(struct recording *r, struct value *to, const struct value *from)
{
    if (to->about->type != from->about->type || !is_quantized_alike(to->about, from->about))
        return fail(r, "a subgraph whose inputs or outputs have other types or scales");
    to->stored = from->stored;
    to->real = from->real;
    return true;
}

bool record_subgraph(struct call *c, int64_t index, size_t count, const struct value *inputs,
                     struct value *outputs)
{
    struct scope scope = {
        .document = c->scope->document, .graph = find_subgraph(c, index), .depth = c->scope->depth + 1};
    if (!scope.graph || !open_scope(c->r, &scope))
        return false;
    if (count != scope.graph->inputs.count)
        return fail(c->r, "subgraph %lld has %zu inputs, not %zu", (long long)index,
                    scope.graph->inputs.count, count);
    for (size_t i = 0; i < count; i++)
        if (!pass_value(c->r, value_at(&scope, &scope.graph->inputs, i), &inputs[i]))
            return false;
    if (!record_operators(c->r, &scope))
        return fail(c->r, "an operator of its subgraph cannot be recorded");
    for (size_t i = 0; i < scope.graph->outputs.count; i++) {
        struct value *value = value_at(&scope, &scope.graph->outputs, i);
        if (!has_value(c->r, value))
            return fail(c->r, "output %zu of its subgraph is not there", i);
        outputs[i] = *value;
    }
    return !c->r->failed;
}

// ---------------------------------------------------------------------------------------------------------------
// The file
// ---------------------------------------------------------------------------------------------------------------

static void add_input(struct recording *r, struct scope *scope, size_t index)
{
    struct value *value = value_at(scope, &scope->graph->inputs, index);
    const struct tflite_tensor *about = value->about;
    WNNStringView name = scope->document->model->input_names[index];
    struct model_dimension dims[MAX_RANK];
    int64_t sizes[MAX_RANK];
    if (about->data.size || value->stored || !read_shape(r, about, sizes))
        return;
    for (size_t i = 0; i < about->shape.count; i++) {
        bool open = wnn_flatbuffer_number_at(&about->signature, FLATBUFFER_INT32, i) < 0;
        dims[i] = (struct model_dimension){.size = open ? -1 : sizes[i], .usual = sizes[i]};
    }
    struct model_input input = {
        {(const unsigned char *)name.data, name.length}, about->type, true, about->shape.count, dims};
    value->stored = make_input(r, scope->document->record->options, &input);
}

static bool add_output(struct recording *r, struct scope *scope, size_t index)
{
    struct model_record *record = scope->document->record;
    struct value *value = value_at(scope, &scope->graph->outputs, index);
    WNNStringView name = scope->document->model->output_names[index];
    char shown[120], line[700];
    wnn_model_print(shown, sizeof shown, (struct bytes){(const unsigned char *)name.data, name.length});
    if (!has_value(r, value))
        fail(r, "it is not there");
    else if (value->about->type == TYPE_COMPLEX64)
        fail(r, "WebNN has no complex numbers");
    struct tensor *t = r->failed ? NULL : stored_of(r, value);
    WNNOperand operand = t ? output_operand(r, t) : NULL;
    if (operand) {
        record->outputs[index] = (WNNNamedOperand){name, operand};
        return true;
    }
    snprintf(line, sizeof line, "output \"%s\": %s", shown, r->fault);
    wnn_model_add_error(&record->errors, none, none, line);
    r->failed = false;
    return false;
}

// Tells the caller the operands that have names: of quantized numbers what is stored, if there is that.
static void tell_names(const struct scope *scope, const WNNModelRecordOptions *options)
{
    for (size_t i = 0; options->onName && i < scope->graph->tensor_count; i++) {
        const struct value *value = &scope->values[i];
        const struct tensor *t = value->stored ? value->stored : value->real;
        struct bytes name = value->about->name;
        if (!t || !t->operand || name.size == 0)
            continue;
        WNNModelNamedValue told = {{(const char *)name.data, name.size}, t->operand, {"", 0}, {"", 0}};
        if (value->maker) {
            struct bytes maker = wnn_tflite_name(value->maker);
            told.operatorName = (WNNStringView){(const char *)maker.data, maker.size};
        }
        options->onName(&told, options->userdata1, options->userdata2);
    }
}

bool wnn_tflite_record(void *opened, struct model_record *record)
{
    struct tflite_model *model = opened;
    struct model_memory memory = {.limit = record->memory_limit};
    struct recording *r = calloc(1, sizeof *r);
    struct document document = {.record = record, .model = model};
    struct scope scope = {.document = &document, .graph = &model->file.subgraphs[0]};
    if (!r) {
        wnn_model_add_error(&record->errors, none, none, "there is not enough memory");
        return false;
    }
    *r = (struct recording){.memory = &memory,
                            .builder = record->builder,
                            .narrow = record->options->narrow,
                            .source = record->source};
    bool good = open_scope(r, &scope);
    if (!good)
        wnn_model_add_error(&record->errors, none, none, r->fault);
    for (size_t i = 0; good && i < scope.graph->inputs.count; i++) {
        add_input(r, &scope, i);
        if (r->failed)
            wnn_model_add_error(&record->errors, none, none, r->fault);
        r->failed = false;
    }
    good = good && record->errors.count == 0 && record_operators(r, &scope);
    for (size_t i = 0; good && i < scope.graph->outputs.count && i < record->capacity; i++)
        good = add_output(r, &scope, i);
    if (good)
        tell_names(&scope, record->options);
    wnn_model_free(&memory);
    free(r);
    return good;
}
