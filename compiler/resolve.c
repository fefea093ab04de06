// SPDX-License-Identifier: Apache-2.0
#include "compiler/resolve.h"

#include "ops/attrs.h"
#include "ops/check.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Origins
// ---------------------------------------------------------------------------------------------------------------

static void free_made(struct allocator *allocator, struct graph *made)
{
    wnn_graph_free(made);
    wnn_release(allocator, made);
}

static void add_below(struct origin *origin, const struct constant *constant)
{
    const struct origin *below = constant->origin;
    if (!below) {
        origin->held += constant->bytes;
        return;
    }
    origin->held += below->held;
    origin->asks |= below->asks && !constant->data;
    origin->holds |= constant->data || below->holds;
    if (below->depth >= origin->depth)
        origin->depth = below->depth + 1;
    if (!wnn_add(origin->work, below->work, &origin->work))
        origin->work = UINT64_MAX;
}

struct origin *wnn_origin_make(struct allocator *allocator, size_t bytes, const struct graph *made,
                               unsigned output)
{
    struct origin *origin = wnn_allocate_record(allocator, sizeof *origin);
    struct graph *own = wnn_allocate(allocator, sizeof *own);
    if (!origin || !own) {
        wnn_release_record(allocator, origin, sizeof *origin);
        wnn_release(allocator, own);
        return NULL;
    }
    *own = *made;
    *origin = (struct origin){.references = 1,
                              .allocator = allocator,
                              .bytes = bytes,
                              .made = own,
                              .free_made = free_made,
                              .output = (uint16_t)output,
                              .depth = 1,
                              .work = made->work};
    for (size_t i = 0; i < own->operand_count; i++) {
        own->operands[i]->graph = own;
        if (own->operands[i]->constant)
            add_below(origin, own->operands[i]->constant);
    }
    return origin;
}

bool wnn_can_have_origin(const struct node *node)
{
    if (node->fused || node->stored || node->out_count > WNN_MAX_ORIGIN_OUTPUTS)
        return false;
    for (unsigned i = 0; i < node->in_count; i++) {
        const struct constant *constant = node->in[i] ? node->in[i]->constant : NULL;
        if (!node->in[i])
            continue;
        if (!constant || node->in[i]->arranged || wnn_constant_is_lost(constant) ||
            (constant->origin && constant->origin->depth >= WNN_MAX_ORIGIN_DEPTH))
            return false;
    }
    return true;
}

struct origin *wnn_kept_origin(const struct constant *constant)
{
    enum {
        MAX_HELD = 65536
    };
    return constant->origin && constant->origin->held <= MAX_HELD ? constant->origin : NULL;
}

bool wnn_is_worth_origin(const struct node *node)
{
    for (unsigned i = 0; i < node->in_count; i++)
        if (node->in[i] && node->in[i]->constant && node->in[i]->constant->origin)
            return true;
    return false;
}

// Adds what the node reads: of what can be had again, not the bytes, unless it is to hold them.
static bool add_inputs(struct graph *graph, struct allocator *allocator, const struct node *node, bool holds)
{
    for (unsigned i = 0; i < node->in_count; i++) {
        struct constant *from = node->in[i] ? node->in[i]->constant : NULL;
        if (!from)
            continue;
        struct constant *constant = from->origin && !(holds && from->data)
                                        ? wnn_constant_promise(allocator, from->bytes, from->origin)
                                        : wnn_constant_ref(from);
        if (!constant || !wnn_graph_add_constant(graph, &node->in[i]->type, constant))
            return false;
    }
    return true;
}

static bool copy_node(struct graph *graph, const struct node *from)
{
    size_t next = 0;
    struct descriptor *types = wnn_arena_allocate(&graph->arena, from->out_count * sizeof types[0]);
    for (unsigned i = 0; types && i < from->out_count; i++)
        types[i] = from->out[i]->type;
    struct node *to =
        types ? wnn_graph_add_node(graph, from->op, from->in_count, from->out_count, types) : NULL;
    if (!to || !(to->attrs = wnn_op_copy_attrs(&graph->arena, (enum op)from->op, from->attrs)))
        return false;
    ((WNNOperatorOptions *)to->attrs)->label = (WNNStringView){"", 0}; // which belongs to another graph
    for (unsigned i = 0; i < from->in_count; i++)
        to->in[i] = from->in[i] ? graph->operands[next++] : NULL;
    graph->work = wnn_op_work((enum op)from->op, to->in, types, from->out_count, to->attrs);
    return true;
}

struct origin *wnn_origin_of(struct allocator *allocator, const struct node *node, unsigned output,
                             bool holds, uint64_t most, struct error *error)
{
    struct graph graph;
    size_t bytes = wnn_descriptor_bytes(&node->out[output]->type);
    wnn_graph_init(&graph, allocator);
    struct origin *origin = add_inputs(&graph, allocator, node, holds) && copy_node(&graph, node)
                                ? wnn_origin_make(allocator, bytes, &graph, output)
                                : NULL;
    if (!origin) {
        wnn_graph_free(&graph);
        wnn_fail_memory(error);
    } else if (origin->work > most) {
        wnn_origin_unref(origin);
        origin = NULL;
    }
    return origin;
}

// Puts origins without bytes in the place of those that hold some. False: no memory.
static bool strip_inputs(struct allocator *allocator, struct graph *made)
{
    for (size_t i = 0; i < made->operand_count; i++) {
        const struct constant *constant = made->operands[i]->constant;
        if (!constant || !constant->origin || !constant->origin->holds)
            continue;
        struct origin *below = wnn_strip_origin(allocator, constant->origin);
        struct constant *stripped = below ? wnn_constant_promise(allocator, constant->bytes, below) : NULL;
        wnn_origin_unref(below);
        if (!stripped)
            return false;
        wnn_constant_unref(made->operands[i]->constant);
        made->operands[i]->constant = stripped;
    }
    return true;
}

struct origin *wnn_strip_origin(struct allocator *allocator, struct origin *origin)
{
    struct graph graph;
    if (!origin || !origin->holds)
        return wnn_origin_ref(origin);
    const struct node *node = origin->made->nodes[0];
    wnn_graph_init(&graph, allocator);
    struct origin *stripped = add_inputs(&graph, allocator, node, false) && copy_node(&graph, node) &&
                                      strip_inputs(allocator, &graph)
                                  ? wnn_origin_make(allocator, origin->bytes, &graph, origin->output)
                                  : NULL;
    if (!stripped)
        wnn_graph_free(&graph);
    return stripped;
}

// ---------------------------------------------------------------------------------------------------------------
// Bytes
// ---------------------------------------------------------------------------------------------------------------

static void name_origin(const struct origin *origin, struct text *text)
{
    while (origin && origin->made) { // the first of what it is made of that has a name
        const struct origin *below = NULL;
        for (size_t i = 0; !below && i < origin->made->operand_count; i++) {
            const struct constant *constant = origin->made->operands[i]->constant;
            below = constant ? constant->origin : NULL;
        }
        origin = below;
    }
    wnn_text_add(text, "constant ");
    if (!origin)
        return;
    if (origin->id_length) {
        wnn_text_add(text, "\"");
        wnn_text_add_quoted(text, (struct string){(const char *)origin->id, origin->id_length},
                            WNN_LABEL_TEXT / 2);
        wnn_text_add(text, "\"");
    } else {
        wnn_text_add(text, "at byte %llu of file %llu", (unsigned long long)origin->offset,
                     (unsigned long long)origin->file);
    }
}

void wnn_name_promised(const struct constant *constant, struct text *text)
{
    name_origin(constant->origin, text);
}

#define NAME_TEXT (WNN_LABEL_TEXT + 64)

// What the host lends for a name.
static struct constant *find_named(const struct resolver *resolver, struct origin *origin,
                                   struct error *error)
{
    char name[NAME_TEXT];
    struct text text = TEXT(name);
    WNNConstantReference reference = WNN_CONSTANT_REFERENCE_INIT;
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    struct constant *constant = NULL;
    reference.form = origin->id_length ? WNNConstantForm_Id : WNNConstantForm_FileRange;
    reference.file = origin->file;
    reference.offset = origin->offset;
    reference.id = origin->id_length ? origin->id : NULL;
    reference.idLength = origin->id_length;
    name[0] = 0;
    name_origin(origin, &text);
    WNNStatus status =
        resolver->find(&reference, origin->bytes, &bytes, resolver->userdata1, resolver->userdata2);
    if (status != WNNStatus_Success) {
        wnn_fail(error, status, "%s: the host has no bytes for it", name);
        return NULL;
    }
    if (bytes.nextInChain || !bytes.data || bytes.byteLength != origin->bytes)
        wnn_fail(error, WNNStatus_TypeError, "%s: the host gave %zu bytes%s; expected %zu", name,
                 bytes.byteLength, bytes.data ? "" : " without data", origin->bytes);
    else if (!(constant = wnn_constant_lend(resolver->allocator, &bytes)))
        wnn_fail_memory(error);
    if (constant)
        constant->origin = wnn_origin_ref(origin);
    else if (bytes.release)
        bytes.release(bytes.data, bytes.byteLength, bytes.userdata1, bytes.userdata2);
    return constant;
}

static struct constant *resolve_origin(const struct resolver *resolver, struct origin *origin,
                                       struct error *error);

// What a node reads, aligned and with slack, as evaluating it wants it.
static struct constant *take_input(const struct resolver *resolver, struct constant *constant,
                                   struct error *error)
{
    struct constant *with = wnn_constant_is_promised(constant)
                                ? resolve_origin(resolver, constant->origin, error)
                                : wnn_constant_ref(constant);
    if (!with || !with->external)
        return with;
    struct constant *copy = wnn_constant_create(resolver->allocator, with->bytes);
    if (copy)
        memcpy((void *)(uintptr_t)copy->data, with->data, with->bytes);
    else
        wnn_fail_memory(error);
    wnn_constant_unref(with);
    return copy;
}

struct making {
    struct constant **in, **out; // by operand and output of the node
    const void **from;
    void **to;
};

static bool begin_making(const struct resolver *resolver, const struct node *node, struct arena *arena,
                         struct making *making, struct error *error)
{
    *making = (struct making){wnn_arena_allocate(arena, node->in_count * sizeof making->in[0]),
                              wnn_arena_allocate(arena, node->out_count * sizeof making->out[0]),
                              wnn_arena_allocate(arena, node->in_count * sizeof making->from[0]),
                              wnn_arena_allocate(arena, node->out_count * sizeof making->to[0])};
    if (!making->in || !making->out || !making->from || !making->to)
        return wnn_fail_memory(error);
    for (unsigned i = 0; i < node->in_count; i++) {
        if (!node->in[i])
            continue;
        if (!(making->in[i] = take_input(resolver, node->in[i]->constant, error)))
            return false;
        making->from[i] = making->in[i]->data;
    }
    for (unsigned i = 0; i < node->out_count; i++) {
        making->out[i] = wnn_constant_create(resolver->allocator, wnn_descriptor_bytes(&node->out[i]->type));
        if (!making->out[i])
            return wnn_fail_memory(error);
        making->to[i] = (void *)(uintptr_t)making->out[i]->data;
    }
    return true;
}

static struct constant *make(const struct resolver *resolver, struct origin *origin, struct error *error)
{
    const struct backend *backend = resolver->backend;
    const struct node *node = origin->made->nodes[0];
    struct constant *made = NULL;
    struct making making;
    struct arena arena;
    wnn_arena_init(&arena, resolver->allocator);
    if (begin_making(resolver, node, &arena, &making, error)) {
        if (!backend->evaluate)
            wnn_fail(error, WNNStatus_NotSupportedError, "the backend %s does not compute a constant by %s",
                     backend->name, wnn_ops[node->op].name);
        else if (!backend->evaluate(resolver->state, node, making.from, making.to, resolver->portable,
                                    resolver->interrupt))
            wnn_fail_memory(error); // for want of which it is not possible
        else if (wnn_interrupt_check(resolver->interrupt, error))
            made = wnn_constant_ref(making.out[origin->output]);
    }
    for (unsigned i = 0; making.in && i < node->in_count; i++)
        wnn_constant_unref(making.in[i]);
    for (unsigned i = 0; making.out && i < node->out_count; i++)
        wnn_constant_unref(making.out[i]);
    wnn_arena_free(&arena);
    if (made)
        made->origin = wnn_strip_origin(resolver->allocator, origin);
    return made;
}

static struct constant *resolve_origin(const struct resolver *resolver, struct origin *origin,
                                       struct error *error)
{
    return origin->made ? make(resolver, origin, error) : find_named(resolver, origin, error);
}

struct constant *wnn_resolve(const struct resolver *resolver, const struct constant *constant,
                             struct error *error)
{
    if (resolver && (resolver->find || !constant->origin->asks))
        return resolve_origin(resolver, constant->origin, error);
    char name[NAME_TEXT];
    struct text text = TEXT(name);
    name[0] = 0;
    wnn_name_promised(constant, &text);
    wnn_fail(error, WNNStatus_InvalidStateError, "%s has no bytes yet, and nobody was named who has them",
             name);
    return NULL;
}

bool wnn_resolve_operand(const struct resolver *resolver, struct operand *operand, struct error *error)
{
    if (!operand || !wnn_constant_is_promised(operand->constant))
        return true;
    struct constant *constant = wnn_resolve(resolver, operand->constant, error);
    if (!constant)
        return false;
    wnn_constant_unref(operand->constant);
    operand->constant = constant;
    return true;
}

bool wnn_resolve_all(const struct resolver *resolver, struct graph *graph, struct error *error)
{
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned j = 0; j < wnn_operand_count(graph->nodes[i]); j++)
            if (!wnn_resolve_operand(resolver, graph->nodes[i]->in[j], error))
                return false;
    for (size_t i = 0; i < graph->output_count; i++)
        if (!wnn_resolve_operand(resolver, graph->outputs[i].operand, error))
            return false;
    return true;
}

const struct operand *wnn_find_promised(const struct graph *graph)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        if (wnn_constant_is_promised(graph->operands[i]->constant) &&
            graph->operands[i]->constant->origin->asks)
            return graph->operands[i];
    return NULL;
}
