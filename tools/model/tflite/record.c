// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tflite/record.h"

#include "tools/model/inputs.h"
#include "tools/model/tflite/call.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH    32     // of subgraphs in subgraphs
#define MAX_NODES    400000 // recorded in all, loops unrolled
#define MAX_OPERANDS 4096   // of an operator
// Of all operators that are recorded, which may be the same again, and of the subgraphs that they are of.
#define MAX_ALL_OPERANDS ((size_t)1 << 24)
#define MAX_ALL_TENSORS  ((size_t)1 << 26)

struct document {
    struct model_record *record;
    struct tflite_model *model;
    size_t node_count, operand_count, tensor_count;
};

// What is kept of a tensor between the operators that it is of: of most nothing but the operand is known, and
// a value is made of that again. A constant of the file is read again.
struct slot {
    struct value *value;     // while an operator of it is recorded, or what is known is more; or NULL
    WNNOperand stored, real; // otherwise, or NULL
    uint32_t maker;          // which operator of the subgraph makes it, from 1 on; 0: none
    uint8_t stored_type, real_type;
    bool is_constant; // of the file, and was made
    bool is_lost;     // its operator could not be recorded, which was said there
};
_Static_assert(TYPE_OPAQUE <= UINT8_MAX, "types of elements fit");

// A subgraph that is recorded.
struct scope {
    struct document *document;
    const struct tflite_subgraph *graph;
    struct slot *slots; // by tensor
    unsigned depth;
};

static const struct bytes none = {NULL, 0};

// ---------------------------------------------------------------------------------------------------------------
// Tensors
// ---------------------------------------------------------------------------------------------------------------

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

// What is known of a tensor, for as long as the memory of the operator at hand is there; NULL: an error.
static struct value *open_value(struct recording *r, struct scope *scope, size_t index)
{
    struct opened {
        struct value value;
        struct tflite_tensor about;
    } * opened;
    struct slot *slot = &scope->slots[index];
    if (slot->value)
        return slot->value;
    if (!(opened = wnn_model_allocate(r->memory, 1, sizeof *opened)))
        return fail(r, "there is not enough memory");
    wnn_tflite_tensor(&scope->document->model->file, scope->graph, index, &opened->about);
    struct value *value = &opened->value;
    *value = (struct value){.about = &opened->about, .node = r->node};
    if (slot->is_constant && (value->stored = make_file_constant(r, value->about)))
        value->stored->operand = slot->stored;
    else if (slot->stored)
        value->stored = make_operand(r, slot->stored_type, slot->stored);
    if (slot->real)
        value->real = make_operand(r, slot->real_type, slot->real);
    return r->failed ? NULL : (slot->value = value);
}

static struct value *value_at(struct recording *r, struct scope *scope,
                              const struct flatbuffer_vector *tensors, size_t i)
{
    return open_value(r, scope, (size_t)wnn_flatbuffer_number_at(tensors, FLATBUFFER_INT32, i));
}

// A value that is there, after a constant was made of one that is not; NULL: it is none, or an error.
static struct value *find_value(struct recording *r, struct scope *scope, size_t index)
{
    struct slot *slot = &scope->slots[index];
    struct value *value = slot->is_lost ? NULL : open_value(r, scope, index);
    if (value && !value->stored && !value->real && is_constant(value->about)) {
        value->stored = make_file_constant(r, value->about);
        slot->is_constant = value->stored && value->stored->source;
    }
    return value && (value->stored || value->real) ? value : NULL;
}

static bool open_scope(struct recording *r, struct scope *scope)
{
    const struct tflite_subgraph *graph = scope->graph;
    size_t *count = &scope->document->tensor_count;
    if (scope->depth > MAX_DEPTH)
        return fail(r, "subgraphs within subgraphs, more than %d deep", MAX_DEPTH);
    *count += graph->tensors.count;
    if (*count > MAX_ALL_TENSORS)
        return fail(r, "subgraphs of more than %zu tensors, loops unrolled", MAX_ALL_TENSORS);
    scope->slots = wnn_model_allocate(r->memory, graph->tensors.count, sizeof scope->slots[0]);
    return scope->slots || fail(r, "there is not enough memory");
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

static struct value **allocate_values(struct call *c, const struct flatbuffer_vector *tensors)
{
    size_t *count = &c->scope->document->operand_count;
    if (tensors->count > MAX_OPERANDS)
        return fail(c->r, "%zu inputs or outputs; %d at most are supported", tensors->count, MAX_OPERANDS);
    *count += tensors->count;
    if (*count > MAX_ALL_OPERANDS)
        return fail(c->r, "more than %zu inputs and outputs are recorded, loops unrolled", MAX_ALL_OPERANDS);
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
        if (index < 0 || (uint64_t)index >= c->scope->graph->tensors.count)
            return fail(c->r, "its input %zu is a tensor that there is not", i), true;
        if (c->scope->slots[index].is_lost)
            return false;
        c->inputs[i] = find_value(c->r, c->scope, (size_t)index);
        const struct value *value = c->scope->slots[index].value;
        if (c->inputs[i] || !value || value->about->is_variable)
            continue;
        char shown[160];
        wnn_model_print(shown, sizeof shown, value->about->name);
        return fail(c->r, "its input \"%s\" is not there", shown), true;
    }
    c->input_count = tensors->count;
    return true;
}

// `place`: of the operator in its subgraph.
static void find_outputs(struct call *c, size_t place)
{
    const struct flatbuffer_vector *tensors = &c->node->outputs;
    c->outputs = allocate_values(c, tensors);
    for (size_t i = 0; c->outputs && i < tensors->count; i++) {
        int64_t index = wnn_flatbuffer_number_at(tensors, FLATBUFFER_INT32, i);
        if (index == -1)
            continue;
        if (index < 0 || (uint64_t)index >= c->scope->graph->tensors.count) {
            fail(c->r, "its output %zu is a tensor that there is not", i);
            return;
        }
        struct value *value = open_value(c->r, c->scope, (size_t)index);
        struct slot *slot = &c->scope->slots[index];
        if (!value || value->stored || value->real || slot->is_lost || value->about->data.size) {
            fail(c->r, "its output %zu is there already", i);
            return;
        }
        slot->maker = (uint32_t)place + 1;
        value->node = c->r->node;
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
    return index >= 0 ? wnn_tflite_tensor_name(scope->graph, (size_t)index) : none;
}

// Whether a value that was opened for the operator at hand can be made again of what a slot keeps.
static bool fits_slot(const struct recording *r, const struct slot *slot)
{
    const struct value *value = slot->value;
    bool stored = !value->stored || is_plain_operand(r, value->stored) ||
                  (slot->is_constant && value->stored->source && !value->stored->is_input);
    return stored && (!value->real || is_plain_operand(r, value->real));
}

static void close_value(struct slot *slot)
{
    const struct value *value = slot->value;
    slot->stored = value->stored ? value->stored->operand : NULL;
    slot->stored_type = value->stored ? (uint8_t)value->stored->type : 0;
    slot->real = value->real ? value->real->operand : NULL;
    slot->real_type = value->real ? (uint8_t)value->real->type : 0;
    slot->value = NULL;
}

// Does something with the slots of an operator's tensors that were opened for it: closes them, or tells
// whether all can be closed.
static bool visit_opened(struct call *c, const struct flatbuffer_vector *tensors, bool close)
{
    bool fit = true;
    for (size_t i = 0; fit && i < tensors->count; i++) {
        int64_t index = wnn_flatbuffer_number_at(tensors, FLATBUFFER_INT32, i);
        struct slot *slot = index < 0 ? NULL : &c->scope->slots[index];
        if (!slot || !slot->value || slot->value->node != c->r->node)
            continue;
        if (close)
            close_value(slot);
        else
            fit = fits_slot(c->r, slot);
    }
    return fit;
}

// Frees what an operator that has been recorded needed, unless there is more to know of its tensors than
// their operands, or something that was there before has come to refer to its memory.
static void free_operator(struct call *c, struct model_mark mark, size_t kept_count)
{
    if (c->r->kept_count != kept_count || !visit_opened(c, &c->node->inputs, false) ||
        !visit_opened(c, &c->node->outputs, false))
        return;
    visit_opened(c, &c->node->inputs, true);
    visit_opened(c, &c->node->outputs, true);
    wnn_model_rewind(c->r->memory, mark);
}

static void lose_outputs(struct call *c)
{
    for (size_t i = 0; i < c->output_count; i++)
        if (c->outputs[i])
            c->scope->slots[wnn_flatbuffer_number_at(&c->node->outputs, FLATBUFFER_INT32, i)].is_lost = true;
}

// False: an error, which is among the document's.
static bool record_operator(struct recording *r, struct scope *scope, size_t place)
{
    struct document *document = scope->document;
    struct tflite_operator node;
    wnn_tflite_operator(&document->model->file, scope->graph, place, &node);
    struct call call = {.r = r, .node = &node, .scope = scope};
    struct bytes label = r->label;
    struct model_mark mark = wnn_model_mark(r->memory);
    size_t kept_count = r->kept_count;
    uint32_t outer = r->node;
    r->label = name_of(scope, &node);
    r->node = (uint32_t)++document->node_count;
    bool silent = false;
    find_outputs(&call, place);
    if (document->node_count > MAX_NODES)
        fail(r, "more than %d operators are recorded, loops unrolled", MAX_NODES);
    const struct tflite_builtin *builtin = r->failed ? NULL : find_builtin(&call);
    if (builtin)
        silent = !find_inputs(&call);
    if (!r->failed && !silent)
        check_and_compose(&call, builtin);
    bool failed = r->failed || silent;
    if (r->failed)
        wnn_model_add_error(&document->record->errors, r->label, wnn_tflite_name(&node), r->fault);
    r->failed = false;
    r->label = label;
    if (failed)
        lose_outputs(&call);
    else
        free_operator(&call, mark, kept_count);
    r->node = outer;
    return !failed;
}

static bool record_operators(struct recording *r, struct scope *scope)
{
    bool good = true;
    for (size_t i = 0; i < scope->graph->operators.count; i++) {
        good &= record_operator(r, scope, i);
        if (scope->document->node_count > MAX_NODES || scope->document->operand_count > MAX_ALL_OPERANDS)
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
    if (!scope.graph || !wnn_model_work(c->r, scope.graph->tensors.count + scope.graph->operators.count) ||
        !open_scope(c->r, &scope))
        return false;
    if (count != scope.graph->inputs.count)
        return fail(c->r, "subgraph %lld has %zu inputs, not %zu", (long long)index,
                    scope.graph->inputs.count, count);
    for (size_t i = 0; i < count; i++) {
        struct value *value = value_at(c->r, &scope, &scope.graph->inputs, i);
        if (!value || !pass_value(c->r, value, &inputs[i]))
            return false;
    }
    if (!record_operators(c->r, &scope))
        return fail(c->r, "an operator of its subgraph cannot be recorded");
    for (size_t i = 0; i < scope.graph->outputs.count; i++) {
        int64_t tensor = wnn_flatbuffer_number_at(&scope.graph->outputs, FLATBUFFER_INT32, i);
        struct value *value = find_value(c->r, &scope, (size_t)tensor);
        if (!value)
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
    struct value *value = value_at(r, scope, &scope->graph->inputs, index);
    const struct tflite_tensor *about = value ? value->about : NULL;
    WNNStringView name = scope->document->model->input_names[index];
    struct model_dimension dims[MAX_RANK];
    int64_t sizes[MAX_RANK];
    if (!value || about->data.size || value->stored || !read_shape(r, about, sizes))
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
    int64_t tensor = wnn_flatbuffer_number_at(&scope->graph->outputs, FLATBUFFER_INT32, index);
    struct value *value = find_value(r, scope, (size_t)tensor);
    WNNStringView name = scope->document->model->output_names[index];
    char shown[120], line[700];
    wnn_model_print(shown, sizeof shown, (struct bytes){(const unsigned char *)name.data, name.length});
    if (!value)
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

// The operand of what is stored, if there is that, or else of what is real; NULL: none.
static WNNOperand operand_in(const struct slot *slot)
{
    const struct value *value = slot->value;
    if (!value)
        return slot->is_constant || slot->stored ? slot->stored : slot->real;
    const struct tensor *t = value->stored ? value->stored : value->real;
    return t ? t->operand : NULL;
}

// Tells the caller the operands that have names: of quantized numbers what is stored, if there is that.
static void tell_names(const struct scope *scope, const WNNModelRecordOptions *options)
{
    struct tflite_file *file = &scope->document->model->file;
    for (size_t i = 0; options->onName && i < scope->graph->tensors.count; i++) {
        const struct slot *slot = &scope->slots[i];
        WNNOperand operand = operand_in(slot);
        struct bytes name = wnn_tflite_tensor_name(scope->graph, i);
        if (!operand || name.size == 0)
            continue;
        WNNModelNamedValue told = {{(const char *)name.data, name.size}, operand, {"", 0}, {"", 0}};
        if (slot->maker) {
            struct tflite_operator node;
            wnn_tflite_operator(file, scope->graph, slot->maker - 1, &node);
            struct bytes maker = wnn_tflite_name(&node);
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
