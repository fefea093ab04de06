// SPDX-License-Identifier: Apache-2.0
#include "tools/model/onnx/record.h"

#include "lib/text.h"
#include "tools/model/inputs.h"
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH  32                  // of graphs in graphs
#define MAX_NODES  400000              // recorded in all, loops unrolled
#define MAX_BYTES  ((uint64_t)1 << 32) // of their messages, which are read each time
#define GRAPH_WORK 32                  // of a graph, as fields

// The newest versions that are known: what later ones change would be read as what it was before.
#define NEWEST_IR    14
#define NEWEST_OPSET 27

// Of most results nothing but the operand is known, and of a constant what its message says: a tensor is
// made of them where they are read. There are as many as nodes and initializers.
struct name {
    const unsigned char *text;
    uint32_t size;
    uint8_t type; // of the operand
    bool is_tensor;
    enum name_kind {
        RESULT,
        INITIALIZER,
        CONSTANT // a node that has the tensor as its attribute
    } kind : 8;
    union {
        struct tensor *tensor;
        WNNOperand operand; // NULL: it has not been, or could not be recorded
    };
    const struct bytes *message; // of the initializer or of the node that makes it, in its graph; NULL: none
    struct name *next;           // of the same bucket
};
_Static_assert(ONNX_OPAQUE <= UINT8_MAX, "types of elements fit");

struct document {
    struct model_record *record;
    const struct onnx_file *file;
    size_t node_count;
    uint64_t bytes;
};

static const struct bytes none = {NULL, 0};

struct scope {
    struct scope *outer;
    struct document *document;
    struct name **buckets;
    size_t bucket_count;
    unsigned depth;
    const struct onnx_opset *opsets;
    size_t opset_count;
    // Of a function, and of graphs in it.
    const struct call *caller;
    const struct onnx_function *function;
};

// ---------------------------------------------------------------------------------------------------------------
// Names
// ---------------------------------------------------------------------------------------------------------------

static struct name *find_name(struct scope *scope, struct bytes text)
{
    size_t h = hash_text(text);
    for (; scope; scope = scope->outer)
        for (struct name *name = scope->buckets[h % scope->bucket_count]; name; name = name->next)
            if (same_text((struct bytes){name->text, name->size}, text))
                return name;
    return NULL;
}

// The tensor that a node has as its attribute; empty: none.
static struct bytes value_of(struct recording *r, struct bytes node)
{
    const struct bytes value = {(const unsigned char *)"value", 5};
    struct onnx_attribute attribute;
    bool found = wnn_onnx_node_attribute(r->memory, &(struct onnx_node){.message = node}, value, &attribute);
    return found ? attribute.tensor : none;
}

// NULL: its node could not be recorded, or an error.
static struct tensor *tensor_of(struct recording *r, struct name *name)
{
    struct onnx_tensor constant;
    if (name->is_tensor)
        return name->tensor;
    if (name->kind == RESULT)
        return name->operand ? make_operand(r, name->type, name->operand) : NULL;
    struct bytes message = name->kind == CONSTANT ? value_of(r, *name->message) : *name->message;
    const char *fault = wnn_onnx_tensor(r->memory, message, &constant);
    struct tensor *t = fault ? fail(r, "%s", fault) : make_initializer(r, &constant);
    if (!t)
        return NULL;
    t->operand = name->operand;
    name->is_tensor = true;
    return name->tensor = t;
}

// The operand of a name, which it has when the tensor is freed.
static WNNOperand operand_in(const struct name *name)
{
    return !name->is_tensor ? name->operand : name->tensor ? name->tensor->operand : NULL;
}

static struct name *add_name(struct recording *r, struct scope *scope, struct bytes text, struct tensor *t)
{
    struct name *name = wnn_model_allocate(r->memory, 1, sizeof *name);
    if (!name || text.size > UINT32_MAX)
        return name ? fail(r, "a name of %zu bytes", text.size) : fail(r, "there is not enough memory");
    struct name **bucket = &scope->buckets[hash_text(text) % scope->bucket_count];
    *name = (struct name){
        .text = text.data, .size = (uint32_t)text.size, .is_tensor = true, .tensor = t, .next = *bucket};
    *bucket = name;
    return name;
}

static bool open_scope(struct recording *r, struct scope *scope, const struct onnx_graph *graph)
{
    if (scope->depth > MAX_DEPTH)
        return fail(r, "graphs within graphs, more than %d deep", MAX_DEPTH);
    scope->bucket_count = graph->made_count + graph->initializer_count + graph->input_count + 1;
    scope->buckets = wnn_model_allocate(r->memory, scope->bucket_count, sizeof(struct name *));
    return scope->buckets || fail(r, "there is not enough memory");
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes
// ---------------------------------------------------------------------------------------------------------------

static int64_t version_of(const struct scope *scope, struct bytes domain)
{
    for (size_t i = 0; i < scope->opset_count; i++)
        if (same_text(scope->opsets[i].domain, domain) ||
            (domain.size == 0 && is_text(scope->opsets[i].domain, "ai.onnx")))
            return scope->opsets[i].version;
    return domain.size ? 1 : 7;
}

static bool check_opsets(struct recording *r, const struct onnx_opset *opsets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((opsets[i].domain.size == 0 || is_text(opsets[i].domain, "ai.onnx")) &&
            opsets[i].version > NEWEST_OPSET)
            return fail(r, "operator set %lld of ai.onnx is imported; those up to %d are known",
                        (long long)opsets[i].version, NEWEST_OPSET);
    return true;
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
        wnn_model_print(shown, sizeof shown, text);
        if (!name)
            return fail(c->r, "its input \"%s\" is not there", shown), true;
        c->inputs[i] = tensor_of(c->r, name);
        if (!c->inputs[i])
            return c->r->failed;
        if (c->inputs[i]->type == ONNX_NOTHING)
            c->inputs[i] = NULL;
    }
    return true;
}

static void record_function(struct call *c, const struct onnx_function *function);

// Whether all sizes of the inputs are known; false: an error.
static bool knows_sizes(struct call *c)
{
    char name[120];
    for (size_t i = 0; c->r->late && i < c->input_count; i++) {
        const struct tensor *t = input(c, i);
        for (size_t k = 0; t && k < t->rank; k++)
            if (is_late(t->dims[k]))
                return fail(c->r,
                            "it is not recorded without the size of dimension %zu of input %zu; give "
                            "\"%s\" a value",
                            k, i, late_name(c->r, t->dims[k], name));
        if (t && has_late_elements(t))
            return fail(c->r, "it is not recorded without the sizes that input %zu was computed of", i);
    }
    return true;
}

// Whether a fault shows what arithmetic makes of a size that is not known.
static bool shows_late(const char *fault)
{
    size_t digits = 0;
    for (; *fault && digits < 10; fault++)
        digits = *fault >= '0' && *fault <= '9' ? digits + 1 : 0;
    return digits >= 10;
}

// What a node is: a function of the model, or an operator. Neither: an error, whatever its inputs are.
struct kind {
    const struct onnx_function *function;
    const struct onnx_operator *op;
};

static bool find_kind(struct call *c, struct kind *kind)
{
    char domain[80];
    const struct onnx_node *node = c->node;
    kind->function = wnn_onnx_function(c->scope->document->file, node);
    kind->op = kind->function ? NULL : wnn_onnx_operator(node->domain, node->operation);
    if (kind->function || kind->op)
        return true;
    const char *reason = wnn_onnx_refusal(node->operation);
    wnn_model_print(domain, sizeof domain, node->domain);
    return fail(c->r, "the operator%s%s is not supported%s%s", domain[0] ? " of " : "", domain,
                reason ? ": " : "", reason ? reason : "");
}

static void check_and_record(struct call *c, const struct kind *kind)
{
    const struct onnx_operator *op = kind->op;
    if (kind->function) {
        record_function(c, kind->function);
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
    // Which size is not known says more than what arithmetic made of it.
    if (c->r->failed && c->r->late && shows_late(c->r->fault)) {
        c->r->failed = false;
        if (knows_sizes(c))
            c->r->failed = true;
    }
}

// Many nodes have no name but those of their outputs.
static struct bytes name_of(const struct onnx_node *node)
{
    return node->name.size == 0 && node->outputs.count ? node->outputs.items[0] : node->name;
}

#define FEW 8 // inputs or outputs of a node, which need no memory

static struct tensor **make_places(struct recording *r, size_t count, struct tensor **few)
{
    return count <= FEW ? few : wnn_model_allocate(r->memory, count, sizeof(struct tensor *));
}

// Whether a tensor is what a node that is a constant says.
static bool is_constant(const struct call *call, const struct tensor *t)
{
    return t->source && !t->operand && !t->ints && !t->reals && is_text(call->node->operation, "Constant") &&
           t->source->form.data == value_of(call->r, call->node->message).data;
}

// Whether the outputs of a node, of which there are few, need none of its memory.
static bool leaves_operands(const struct recording *r, const struct call *call)
{
    bool plain = call->output_count <= FEW;
    for (size_t i = 0; plain && i < call->output_count; i++)
        plain =
            !call->outputs[i] || is_plain_operand(r, call->outputs[i]) || is_constant(call, call->outputs[i]);
    return plain;
}

// Tensors of constants go with the memory of the node, and what was recorded of them stays; or they stay too.
static void keep_constants(struct call *c, struct scope *scope, bool leaves)
{
    for (size_t i = 0; i < c->input_count; i++) {
        struct name *name =
            c->inputs[i] && c->inputs[i]->source ? find_name(scope, c->node->inputs.items[i]) : NULL;
        if (!name || name->kind == RESULT || !name->is_tensor)
            continue;
        c->r->kept_count += !leaves;
        if (!leaves)
            continue;
        name->operand = operand_in(name);
        name->is_tensor = false;
    }
}

// False: an error, which is among the document's.
static bool record_node(struct recording *r, struct scope *scope, const struct bytes *message)
{
    struct document *document = scope->document;
    struct onnx_node own, *node = &own;
    const char *fault = wnn_onnx_node(r->memory, *message, node);
    struct model_mark mark = wnn_model_mark(r->memory);
    size_t kept_count = r->kept_count;
    struct call call = {.r = r,
                        .node = node,
                        .scope = scope,
                        .input_count = node->inputs.count,
                        .output_count = node->outputs.count,
                        .caller = scope->caller,
                        .function = scope->function,
                        .version = version_of(scope, node->domain)};
    struct tensor *inputs[FEW] = {NULL}, *outputs[FEW] = {NULL}; // nothing refers to them afterwards
    call.inputs = make_places(r, call.input_count, inputs);
    call.outputs = make_places(r, call.output_count, outputs);
    struct bytes label = r->label;
    uint32_t outer = r->node;
    r->label = name_of(node);
    r->node = (uint32_t)++document->node_count;
    bool silent = false;
    struct kind kind = {0};
    document->bytes += message->size;
    if (fault || !call.inputs || !call.outputs)
        fail(r, "%s", fault ? fault : "there is not enough memory");
    else if (document->node_count > MAX_NODES || document->bytes > MAX_BYTES)
        fail(r, "more than %d nodes, or 4 GiB of them, are recorded, loops unrolled", MAX_NODES);
    else if (wnn_model_work(r, 1) && find_kind(&call, &kind) && !find_inputs(&call, scope))
        silent = true;
    else if (!r->failed)
        check_and_record(&call, &kind);
    for (size_t i = 0; !r->failed && !silent && i < call.output_count; i++)
        if (node->outputs.items[i].size && !call.outputs[i])
            fail(r, "its output %zu is not supported", i);
    bool leaves = !r->failed && !silent && r->kept_count == kept_count && leaves_operands(r, &call);
    struct name results[FEW];
    for (size_t i = 0; leaves && i < call.output_count; i++) {
        const struct tensor *t = call.outputs[i];
        if (t)
            results[i] = (struct name){
                .operand = t->operand, .type = (uint8_t)t->type, .kind = t->source ? CONSTANT : RESULT};
    }
    if (call.inputs)
        keep_constants(&call, scope, leaves);
    if (leaves)
        wnn_model_rewind(r->memory, mark);
    bool failed = r->failed || silent;
    if (r->failed)
        wnn_model_add_error(&document->record->errors, name_of(node), node->operation, r->fault);
    r->failed = false;
    r->label = label;
    r->node = outer;
    for (size_t i = 0; i < call.output_count; i++) {
        if (node->outputs.items[i].size == 0)
            continue;
        struct tensor *t = failed || leaves ? NULL : call.outputs[i];
        struct name *name = add_name(r, scope, node->outputs.items[i], t);
        if (!name)
            return false;
        if (leaves) {
            name->is_tensor = false;
            name->operand = results[i].operand;
            name->type = results[i].type;
            name->kind = results[i].kind;
        }
        name->message = message;
    }
    return !failed;
}

// Makes tensors of initializers; a name that an input of the graph has stays the input's.
static bool add_initializers(struct recording *r, struct scope *scope, const struct onnx_graph *graph)
{
    struct scope own = {.buckets = scope->buckets, .bucket_count = scope->bucket_count};
    bool good = true;
    for (size_t i = 0; i < graph->initializer_count; i++) {
        struct onnx_tensor tensor;
        const char *fault = wnn_onnx_tensor(r->memory, graph->initializers[i], &tensor);
        struct bytes name = tensor.name;
        if (find_name(&own, name))
            continue;
        struct model_mark mark = wnn_model_mark(r->memory);
        struct tensor *made = fault ? fail(r, "%s", fault) : make_initializer(r, &tensor);
        wnn_model_rewind(r->memory, mark); // it is made again where it is read
        if (!made) {
            wnn_model_add_error(&scope->document->record->errors, none, none, r->fault);
            r->failed = good = false;
        }
        struct name *added = add_name(r, scope, name, NULL);
        if (!added)
            return false;
        added->is_tensor = !made;
        added->operand = NULL;
        added->kind = made ? INITIALIZER : RESULT;
        added->message = made ? &graph->initializers[i] : NULL;
    }
    return good;
}

static bool record_nodes(struct recording *r, struct scope *scope, const struct onnx_graph *graph)
{
    bool good = true;
    for (size_t i = 0; i < graph->node_count; i++) {
        good &= record_node(r, scope, &graph->nodes[i]);
        if (scope->document->node_count > MAX_NODES || scope->document->bytes > MAX_BYTES ||
            !wnn_model_work(r, 0))
            return false;
    }
    return good;
}

// A graph without nodes has other things that take time; false: an error.
static bool check_graph(struct scope *scope, struct recording *r, const struct onnx_graph *graph)
{
    uint64_t *bytes = &scope->document->bytes;
    for (size_t i = 0; i < graph->output_count; i++)
        *bytes += graph->outputs[i].name.size;
    if (*bytes > MAX_BYTES)
        return fail(r, "4 GiB of graphs are recorded, loops unrolled");
    return wnn_model_work(r, GRAPH_WORK + graph->input_count + graph->output_count);
}

bool record_graph(struct call *c, const struct onnx_graph *graph, size_t count, struct tensor *const *inputs,
                  struct tensor **outputs)
{
    struct scope scope = *c->scope;
    scope.outer = c->scope;
    scope.depth++;
    if (!check_graph(&scope, c->r, graph) || !open_scope(c->r, &scope, graph))
        return false;
    for (size_t i = 0; i < graph->input_count && i < count; i++)
        if (!add_name(c->r, &scope, graph->inputs[i].name, inputs[i]))
            return false;
    bool good = add_initializers(c->r, &scope, graph);
    if (!record_nodes(c->r, &scope, graph) || !good)
        return fail(c->r, "a node of its graph cannot be recorded");
    for (size_t i = 0; i < graph->output_count; i++) {
        struct name *name = find_name(&scope, graph->outputs[i].name);
        outputs[i] = name ? tensor_of(c->r, name) : NULL;
        if (!outputs[i])
            return fail(c->r, "output %zu of its graph is not there", i);
    }
    return true;
}

// The nodes of a function, which see nothing but its inputs.
static void record_function(struct call *c, const struct onnx_function *function)
{
    struct recording *r = c->r;
    struct scope scope = {.document = c->scope->document,
                          .depth = c->scope->depth + 1,
                          .opsets = function->opset_count ? function->opsets : c->scope->opsets,
                          .opset_count =
                              function->opset_count ? function->opset_count : c->scope->opset_count,
                          .caller = c,
                          .function = function};
    struct onnx_graph graph = function->graph;
    graph.input_count = function->inputs.count; // for the size of the scope
    if (!wnn_model_work(r, GRAPH_WORK + function->inputs.count + graph.made_count) ||
        !check_opsets(r, scope.opsets, scope.opset_count) || !open_scope(r, &scope, &graph))
        return;
    if (c->input_count > function->inputs.count || c->output_count > function->outputs.count) {
        fail(r, "a function of %zu inputs and %zu outputs", function->inputs.count, function->outputs.count);
        return;
    }
    struct tensor *nothing = make_tensor(r, ONNX_NOTHING, 0, NULL);
    for (size_t i = 0; i < function->inputs.count; i++)
        if (!add_name(r, &scope, function->inputs.items[i], input(c, i) ? input(c, i) : nothing))
            return;
    if (!record_nodes(r, &scope, &function->graph)) {
        fail(r, "a node of its function cannot be recorded");
        return;
    }
    for (size_t i = 0; i < c->output_count; i++) {
        struct name *name = find_name(&scope, function->outputs.items[i]);
        set_output(c, i, name ? tensor_of(r, name) : NULL);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// The file
// ---------------------------------------------------------------------------------------------------------------

// Whether a node of its graph makes it.
static bool is_made(const struct name *name)
{
    return name->message && name->kind != INITIALIZER;
}

static void tell_name(const struct name *name, struct bytes operation, const WNNModelRecordOptions *options)
{
    WNNOperand operand = operand_in(name);
    WNNModelNamedValue value = {{(const char *)name->text, name->size}, operand, {"", 0}, {"", 0}};
    if (operation.size)
        value.operatorName = (WNNStringView){(const char *)operation.data, operation.size};
    if (operand)
        options->onName(&value, options->userdata1, options->userdata2);
}

// Tells the caller the operands that have names: node by node, as a node may have many outputs.
static void tell_names(struct recording *r, struct scope *scope, const struct onnx_graph *graph,
                       const WNNModelRecordOptions *options)
{
    for (size_t i = 0; options->onName && i < scope->bucket_count; i++)
        for (const struct name *name = scope->buckets[i]; name; name = name->next)
            if (!is_made(name))
                tell_name(name, none, options);
    for (size_t i = 0; options->onName && i < graph->node_count; i++) {
        struct onnx_node node;
        struct model_mark mark = wnn_model_mark(r->memory);
        const char *fault = wnn_onnx_node(r->memory, graph->nodes[i], &node);
        for (size_t k = 0; !fault && k < node.outputs.count; k++) {
            const struct name *name = find_name(scope, node.outputs.items[k]);
            if (name && is_made(name) && name->message == &graph->nodes[i])
                tell_name(name, node.operation, options);
        }
        wnn_model_rewind(r->memory, mark);
    }
}

static bool check_versions(struct recording *r, const struct onnx_file *file)
{
    if (file->ir_version > NEWEST_IR)
        return fail(r, "the file is of version %lld of ONNX's format (IR); those up to %d are known",
                    (long long)file->ir_version, NEWEST_IR);
    return check_opsets(r, file->opsets, file->opset_count);
}

static struct tensor *make_onnx_input(struct recording *r, const WNNModelRecordOptions *options,
                                      const struct onnx_value *value)
{
    struct model_dimension *dims = wnn_model_allocate(r->memory, value->rank, sizeof *dims);
    char name[120];
    wnn_model_print(name, sizeof name, value->name);
    if (value->type == ONNX_UNDEFINED || value->type >= ONNX_SEQUENCE)
        return fail(r, "input \"%s\" is %s, not a tensor", name, type_name(value->type));
    if (!dims)
        return fail(r, "there is not enough memory");
    for (size_t i = 0; i < value->rank; i++)
        dims[i] =
            (struct model_dimension){value->dims[i].known ? value->dims[i].value : -1, value->dims[i].param};
    return make_input(r, options,
                      &(struct model_input){value->name, value->type, value->has_shape, value->rank, dims});
}

static bool is_initializer(struct scope *scope, struct bytes name)
{
    struct name *found = find_name(scope, name);
    return found && found->kind != RESULT;
}

static bool add_output(struct recording *r, struct scope *scope, struct model_record *record, size_t index)
{
    struct bytes text = scope->document->file->graph.outputs[index].name;
    struct name *name = find_name(scope, text);
    char shown[120], line[700];
    wnn_model_print(shown, sizeof shown, text);
    struct tensor *t = name ? tensor_of(r, name) : NULL;
    if (!t)
        fail(r, "output \"%s\" is not there", shown);
    WNNOperand operand = r->failed ? NULL : output_operand(r, t);
    if (operand) {
        record->outputs[index] = (WNNNamedOperand){{(const char *)text.data, text.size}, operand};
        return true;
    }
    snprintf(line, sizeof line, "output \"%s\": %s", shown, r->fault);
    wnn_model_add_error(&record->errors, none, none, line);
    return false;
}

bool wnn_onnx_record(void *opened, struct model_record *record)
{
    struct onnx_file *file = opened;
    struct model_memory memory = {.limit = record->memory_limit};
    struct recording *r = calloc(1, sizeof *r);
    struct document document = {.record = record, .file = file};
    struct scope scope = {.document = &document, .opsets = file->opsets, .opset_count = file->opset_count};
    const struct onnx_graph *graph = &file->graph;
    if (!r) {
        wnn_model_add_error(&record->errors, none, none, "there is not enough memory");
        return false;
    }
    *r = (struct recording){.memory = &memory,
                            .builder = record->builder,
                            .narrow = record->options->narrow,
                            .late = record->options->nameDimensions,
                            .source = record->source};
    bool good = check_versions(r, file) && open_scope(r, &scope, graph);
    if (!good)
        wnn_model_add_error(&record->errors, none, none, r->fault);
    good = good && add_initializers(r, &scope, graph); // which may be inputs too, and are constants then
    for (size_t i = 0; good && i < graph->input_count; i++) {
        if (is_initializer(&scope, graph->inputs[i].name))
            continue;
        char name[120];
        wnn_model_print(name, sizeof name, graph->inputs[i].name);
        struct tensor *t = find_name(&scope, graph->inputs[i].name)
                               ? fail(r, "two inputs are called \"%s\"", name)
                               : make_onnx_input(r, record->options, &graph->inputs[i]);
        if (!t)
            wnn_model_add_error(&record->errors, none, none, r->fault);
        r->failed = false;
        add_name(r, &scope, graph->inputs[i].name, t);
    }
    // Of nodes whose inputs are not there only what no input would mend is told.
    good = good && record_nodes(r, &scope, graph) && record->errors.count == 0;
    for (size_t i = 0; good && i < graph->output_count && i < record->capacity; i++)
        good = add_output(r, &scope, record, i);
    if (good)
        tell_names(r, &scope, graph, record->options);
    else if (record->errors.count == 0)
        wnn_model_add_error(&record->errors, none, none, r->fault);
    wnn_model_free(&memory);
    free(r);
    return good;
}
