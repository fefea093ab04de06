// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/record.h"

#include "model/onnx/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32     // of graphs in graphs
#define MAX_NODES 400000 // recorded in all, loops unrolled

struct name {
    struct bytes text;
    struct tensor *tensor; // NULL: its node could not be recorded
    struct name *next;     // of the same bucket
};

struct document {
    const struct onnx_record *options;
    const struct onnx_file *file;
    size_t error_length, error_count, node_count;
};

struct scope {
    struct scope *outer;
    struct document *document;
    struct name **buckets;
    size_t bucket_count;
    unsigned depth;
};

// ---------------------------------------------------------------------------------------------------------------
// Names
// ---------------------------------------------------------------------------------------------------------------

static size_t hash(struct bytes text)
{
    size_t h = 14695981039346656037U;
    for (size_t i = 0; i < text.size; i++)
        h = (h ^ text.data[i]) * 1099511628211U;
    return h ^ h >> 29;
}

static struct name *find_name(struct scope *scope, struct bytes text)
{
    size_t h = hash(text);
    for (; scope; scope = scope->outer)
        for (struct name *name = scope->buckets[h % scope->bucket_count]; name; name = name->next)
            if (same_text(name->text, text))
                return name;
    return NULL;
}

static bool add_name(struct recording *r, struct scope *scope, struct bytes text, struct tensor *t)
{
    struct name *name = wnn_onnx_allocate(r->memory, 1, sizeof *name);
    if (!name)
        return fail(r, "there is not enough memory");
    struct name **bucket = &scope->buckets[hash(text) % scope->bucket_count];
    *name = (struct name){text, t, *bucket};
    *bucket = name;
    return true;
}

static bool open_scope(struct recording *r, struct scope *scope, const struct onnx_graph *graph)
{
    if (scope->depth > MAX_DEPTH)
        return fail(r, "graphs within graphs, more than %d deep", MAX_DEPTH);
    scope->bucket_count = graph->node_count + graph->initializer_count + graph->input_count + 1;
    scope->buckets = wnn_onnx_allocate(r->memory, scope->bucket_count, sizeof(struct name *));
    return scope->buckets || fail(r, "there is not enough memory");
}

// ---------------------------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------------------------

// Text of a file for a message: what a terminal might obey becomes '?'.
static void print_text(char *to, size_t size, struct bytes text)
{
    size_t length = text.size < size - 1 ? text.size : size - 1;
    for (size_t i = 0; i < length; i++)
        to[i] = text.data[i] < ' ' || text.data[i] == 0x7F ? '?' : (char)text.data[i];
    to[length] = 0;
}

static void add_error(struct document *document, const struct onnx_node *node, const char *fault)
{
    const struct onnx_record *o = document->options;
    char name[160] = "", operation[80] = "";
    document->error_count++;
    size_t left = o->error_size - document->error_length;
    if (left < 2)
        return;
    char *to = o->errors + document->error_length;
    int length;
    if (node) {
        print_text(name, sizeof name,
                   node->name.size       ? node->name
                   : node->outputs.count ? node->outputs.items[0]
                                         : node->name);
        print_text(operation, sizeof operation, node->operation);
        length = snprintf(to, left, "%snode \"%s\" (%s): %s", document->error_length ? "\n" : "", name,
                          operation, fault);
    } else {
        length = snprintf(to, left, "%s%s", document->error_length ? "\n" : "", fault);
    }
    document->error_length += length < 0 ? 0 : (size_t)length < left ? (size_t)length : left - 1;
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes
// ---------------------------------------------------------------------------------------------------------------

static int64_t version_of(const struct onnx_file *file, struct bytes domain)
{
    for (size_t i = 0; i < file->opset_count; i++)
        if (same_text(file->opsets[i].domain, domain) ||
            (domain.size == 0 && is_text(file->opsets[i].domain, "ai.onnx")))
            return file->opsets[i].version;
    return domain.size ? 1 : 7;
}

// What an input is; false: a node before could not be recorded, which was said there.
static bool find_inputs(struct call *c, struct scope *scope)
{
    for (size_t i = 0; i < c->input_count; i++) {
        struct bytes text = c->node->inputs.items[i];
        if (text.size == 0)
            continue;
        struct name *name = find_name(scope, text);
        char shown[160];
        print_text(shown, sizeof shown, text);
        if (!name)
            return fail(c->r, "its input \"%s\" is not there", shown), true;
        if (!name->tensor)
            return false;
        c->inputs[i] = name->tensor;
    }
    return true;
}

static void check_and_record(struct call *c)
{
    char domain[80];
    print_text(domain, sizeof domain, c->node->domain);
    const struct onnx_operator *op = wnn_onnx_operator(c->node->domain, c->node->operation);
    if (!op) {
        const char *reason = wnn_onnx_refusal(c->node->operation);
        fail(c->r, "the operator%s%s is not supported%s%s", domain[0] ? " of " : "", domain,
             reason ? ": " : "", reason ? reason : "");
        return;
    }
    if (c->input_count > op->most) {
        fail(c->r, "%zu inputs; it takes %zu at most", c->input_count, op->most);
        return;
    }
    for (size_t i = 0; i < op->least; i++)
        if (!input(c, i)) {
            fail(c->r, "input %zu is missing", i);
            return;
        }
    c->parameter = op->parameter;
    op->record(c);
}

// False: an error, which is among the document's.
static bool record_node(struct recording *r, struct scope *scope, const struct onnx_node *node)
{
    struct document *document = scope->document;
    struct call call = {.r = r,
                        .node = node,
                        .scope = scope,
                        .input_count = node->inputs.count,
                        .output_count = node->outputs.count,
                        .version = version_of(document->file, node->domain)};
    call.inputs = wnn_onnx_allocate(r->memory, call.input_count, sizeof(struct tensor *));
    call.outputs = wnn_onnx_allocate(r->memory, call.output_count, sizeof(struct tensor *));
    struct bytes label = r->label;
    r->label = node->name;
    bool good = call.inputs && call.outputs, silent = false;
    if (!good || ++document->node_count > MAX_NODES)
        fail(r, good ? "more than %d nodes are recorded, loops unrolled" : "there is not enough memory",
             MAX_NODES);
    else if (!find_inputs(&call, scope))
        silent = true;
    else if (!r->failed)
        check_and_record(&call);
    for (size_t i = 0; !r->failed && !silent && i < call.output_count; i++)
        if (node->outputs.items[i].size && !call.outputs[i])
            fail(r, "its output %zu is not supported", i);
    bool failed = r->failed || silent;
    if (r->failed)
        add_error(document, node, r->fault);
    r->failed = false;
    r->label = label;
    for (size_t i = 0; i < call.output_count; i++)
        if (node->outputs.items[i].size &&
            !add_name(r, scope, node->outputs.items[i], failed ? NULL : call.outputs[i]))
            return false;
    return !failed;
}

// Makes tensors of initializers; a name that an input of the graph has stays the input's.
static bool add_initializers(struct recording *r, struct scope *scope, const struct onnx_graph *graph)
{
    struct scope own = {.buckets = scope->buckets, .bucket_count = scope->bucket_count};
    bool good = true;
    for (size_t i = 0; i < graph->initializer_count; i++) {
        struct bytes name = graph->initializers[i].name;
        if (find_name(&own, name))
            continue;
        struct tensor *t = make_initializer(r, &graph->initializers[i]);
        if (!t) {
            add_error(scope->document, NULL, r->fault);
            r->failed = good = false;
        }
        if (!add_name(r, scope, name, t))
            return false;
    }
    return good;
}

static bool record_nodes(struct recording *r, struct scope *scope, const struct onnx_graph *graph)
{
    bool good = true;
    for (size_t i = 0; i < graph->node_count; i++) {
        good &= record_node(r, scope, &graph->nodes[i]);
        if (scope->document->node_count > MAX_NODES)
            return false;
    }
    return good;
}

bool record_graph(struct call *c, const struct onnx_graph *graph, size_t count, struct tensor *const *inputs,
                  struct tensor **outputs)
{
    struct scope scope = {.outer = c->scope, .document = c->scope->document, .depth = c->scope->depth + 1};
    if (!open_scope(c->r, &scope, graph))
        return false;
    for (size_t i = 0; i < graph->input_count && i < count; i++)
        if (!add_name(c->r, &scope, graph->inputs[i].name, inputs[i]))
            return false;
    bool good = add_initializers(c->r, &scope, graph);
    if (!record_nodes(c->r, &scope, graph) || !good)
        return fail(c->r, "a node of its graph cannot be recorded");
    for (size_t i = 0; i < graph->output_count; i++) {
        struct name *name = find_name(&scope, graph->outputs[i].name);
        if (!name || !name->tensor)
            return fail(c->r, "output %zu of its graph is not there", i);
        outputs[i] = name->tensor;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// The file
// ---------------------------------------------------------------------------------------------------------------

static const struct onnx_known_input *find_known(const struct onnx_record *options, struct bytes name)
{
    for (size_t i = 0; i < options->known_count; i++)
        if (same_text(options->known[i].name, name))
            return &options->known[i];
    return NULL;
}

static bool find_shape(struct recording *r, const struct onnx_record *options, const struct onnx_value *value,
                       const struct onnx_known_input *known, size_t *rank, int64_t *dims)
{
    char name[120], param[120];
    print_text(name, sizeof name, value->name);
    *rank = known && known->has_shape ? known->rank : value->rank;
    if (!value->has_shape && !(known && known->has_shape))
        return fail(r, "input \"%s\" has no shape in the model; give it one", name);
    if (*rank > MAX_RANK || (value->has_shape && *rank != value->rank))
        return fail(r, "input \"%s\" of rank %zu%s", name, *rank,
                    *rank > MAX_RANK ? "; more than 8 are not supported" : ", which is not the model's");
    for (size_t i = 0; i < *rank; i++) {
        const struct onnx_dimension *d = value->has_shape ? &value->dims[i] : NULL;
        int64_t given = known && known->has_shape ? known->dims[i] : -1;
        for (size_t k = 0; d && !d->known && given < 0 && d->param.size && k < options->dimension_count; k++)
            if (same_text(options->dimensions[k].name, d->param))
                given = options->dimensions[k].value;
        if (d && d->known && d->value >= 0 && given >= 0 && given != d->value)
            return fail(r, "dimension %zu of input \"%s\" is %lld, not %lld", i, name, (long long)d->value,
                        (long long)given);
        dims[i] = d && d->known && d->value >= 0 ? d->value : given;
        if (dims[i] >= 0)
            continue;
        print_text(param, sizeof param, d ? d->param : (struct bytes){0});
        return param[0]
                   ? fail(r, "dimension %zu of input \"%s\" is \"%s\", which has no value", i, name, param)
                   : fail(r, "dimension %zu of input \"%s\" is unknown; give the input a shape", i, name);
    }
    return true;
}

static struct tensor *make_input(struct recording *r, const struct onnx_record *options,
                                 const struct onnx_value *value)
{
    const struct onnx_known_input *known = find_known(options, value->name);
    size_t rank;
    int64_t dims[MAX_RANK];
    char name[120];
    print_text(name, sizeof name, value->name);
    if (value->type == ONNX_UNDEFINED)
        return fail(r, "input \"%s\" is a sequence, an optional or a map, not a tensor", name);
    if (!find_shape(r, options, value, known, &rank, dims))
        return NULL;
    if (known && known->data.data) {
        struct onnx_tensor *source = wnn_onnx_allocate(r->memory, 1, sizeof *source);
        int64_t *copy = wnn_onnx_allocate(r->memory, rank, sizeof *copy);
        if (!source || !copy)
            return fail(r, "there is not enough memory");
        memcpy(copy, dims, rank * sizeof *dims);
        *source = (struct onnx_tensor){
            .name = value->name, .type = value->type, .dims = copy, .rank = rank, .raw = known->data};
        struct tensor *t = make_initializer(r, source);
        if (!require_known(r, t, "an input"))
            return NULL;
        t->source = NULL; // its bytes are the caller's
        return t;
    }
    uint32_t shape[MAX_RANK];
    for (size_t i = 0; i < rank; i++)
        shape[i] = (uint32_t)(dims[i] < UINT32_MAX ? dims[i] : UINT32_MAX);
    WNNOperandDescriptor descriptor = {NULL, operand_type(r, value->type), {shape, rank}};
    if (descriptor.dataType == WNNDataType_Undefined)
        return fail(r, "input \"%s\": WebNN has no type for %s%s", name, type_name(value->type),
                    value->type == ONNX_DOUBLE ? ", and narrowing was not asked for" : "");
    struct tensor *t = make_operand(
        r, value->type,
        wnnGraphBuilderInput(r->builder, (WNNStringView){(const char *)value->name.data, value->name.size},
                             &descriptor));
    if (t)
        t->is_input = true;
    return t;
}

static bool is_initializer(struct scope *scope, struct bytes name)
{
    struct name *found = find_name(scope, name);
    return found && found->tensor && found->tensor->source;
}

// An output is an operand of its own: never an input, a constant, or another output.
static WNNOperand output_operand(struct recording *r, struct tensor *t)
{
    bool own = t->operand && !t->is_input && !t->source && !t->ints && !t->reals;
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, WNN_STRING_VIEW_INIT};
    if (!operand || own)
        return operand;
    struct tensor *copy = make_operand(r, t->type, wnnGraphBuilderIdentity(r->builder, operand, &options));
    return copy ? copy->operand : NULL;
}

bool wnn_onnx_record(struct onnx_file *file, const struct onnx_record *options, size_t capacity,
                     WNNNamedOperand *outputs, size_t *count)
{
    struct onnx_memory memory = {.limit = (size_t)1 << 32};
    struct recording *r = calloc(1, sizeof *r);
    struct document document = {.options = options, .file = file};
    struct scope scope = {.document = &document};
    const struct onnx_graph *graph = &file->graph;
    *count = 0;
    options->errors[0] = 0;
    if (!r)
        return false;
    *r = (struct recording){.memory = &memory,
                            .builder = options->builder,
                            .narrow = options->narrow,
                            .external = options->external,
                            .lend = options->lend,
                            .release = options->release,
                            .userdata = options->userdata,
                            .lent = options->lent};
    bool good = open_scope(r, &scope, graph);
    if (!good)
        add_error(&document, NULL, r->fault);
    good = good && add_initializers(r, &scope, graph); // which may be inputs too, and are constants then
    for (size_t i = 0; good && i < graph->input_count; i++) {
        if (is_initializer(&scope, graph->inputs[i].name))
            continue;
        struct tensor *t = make_input(r, options, &graph->inputs[i]);
        if (!t)
            add_error(&document, NULL, r->fault);
        r->failed = false;
        add_name(r, &scope, graph->inputs[i].name, t);
    }
    good = good && document.error_count == 0;
    good = good && record_nodes(r, &scope, graph);
    for (size_t i = 0; good && i < graph->output_count && i < capacity; i++) {
        struct name *name = find_name(&scope, graph->outputs[i].name);
        char shown[120];
        print_text(shown, sizeof shown, graph->outputs[i].name);
        if (!name || !name->tensor)
            fail(r, "output \"%s\" is not there", shown);
        WNNOperand operand = r->failed ? NULL : output_operand(r, name->tensor);
        if (!operand) {
            char line[700];
            snprintf(line, sizeof line, "output \"%s\": %s", shown, r->fault);
            add_error(&document, NULL, line);
            good = r->failed = false;
        } else {
            outputs[(*count)++] = (WNNNamedOperand){
                {(const char *)graph->outputs[i].name.data, graph->outputs[i].name.size}, operand};
        }
    }
    wnn_onnx_free(&memory);
    free(r);
    return good;
}
