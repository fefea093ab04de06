// SPDX-License-Identifier: Apache-2.0
//
// Writing a plan in the format of webnn/compiled.h.

#include "compiler/stored.h"

#include "lib/checksum.h"
#include "lib/sha256.h"
#include "ops/attr_sink.h"
#include "ops/attrs.h"
#include "ops/sink.h"

#include <stdlib.h>
#include <string.h>

struct blob {
    const void *data;
    uint64_t bytes;
};

struct writer {
    const struct store *store;
    struct arena arena;
    struct sink sink; // the head
    struct blob *blobs;
    size_t blob_count, blob_capacity;
    uint32_t *number; // by operand
    struct node_weights {
        const void *data;
        uint32_t node, blob;
    } * weights;          // by node, of those that have some, by address
    uint32_t *weights_of; // by node: a blob, or STORED_NONE
    struct code {
        unsigned char key[WNN_CODE_KEY];
        uint32_t blob;
    } * code;
    size_t code_count, code_capacity;
    uint32_t *recorded;     // by constant that was recorded: a blob, or STORED_NONE
    struct sink transcript; // as it is stored
    // Blobs of constants that others are made of, in the order in which they are written.
    uint32_t *sources;
    size_t source_count, source_capacity, sources_put;
    struct error *error;
};

void wnn_stored_library(struct text *text)
{
    wnn_text_add(text, "%d.%d.%d %s", WNN_VERSION_MAJOR, WNN_VERSION_MINOR, WNN_VERSION_PATCH,
                 wnn_fingerprint);
}

// ---------------------------------------------------------------------------------------------------------------
// What data there are
// ---------------------------------------------------------------------------------------------------------------

// Adds bytes to the data; STORED_NONE: no memory, or too many.
static uint32_t add_blob(struct writer *writer, const void *data, uint64_t bytes)
{
    struct blob *blobs = wnn_arena_grow(&writer->arena, writer->blobs, writer->blob_count,
                                        &writer->blob_capacity, sizeof *blobs);
    if (!blobs || writer->blob_count >= STORED_NONE)
        return STORED_NONE;
    writer->blobs = blobs;
    writer->blobs[writer->blob_count] = (struct blob){data, bytes};
    return (uint32_t)writer->blob_count++;
}

static int compare_weights(const void *a, const void *b)
{
    const struct node_weights *x = a, *y = b;
    if (x->data != y->data)
        return (uintptr_t)x->data < (uintptr_t)y->data ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

// Whether all that the node reads will be there again.
static bool can_pack_again(const struct node *node)
{
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i] && wnn_constant_is_lost(node->in[i]->constant))
            return false;
    return true;
}

static const void *packed_weights(const struct writer *writer, const struct node *node, uint64_t *bytes)
{
    const struct store *store = writer->store;
    *bytes = 0;
    if (!store->executable || (store->weightless && can_pack_again(node)))
        return NULL;
    return store->backend->packed_weights ? store->backend->packed_weights(store->executable, node, bytes)
                                          : NULL;
}

// Nodes that share packed weights share a blob, which has its place by the first of them.
static bool collect_weights(struct writer *writer)
{
    const struct graph *graph = &writer->store->plan->graph;
    size_t count = 0;
    writer->weights = wnn_arena_allocate(&writer->arena, graph->node_count * sizeof *writer->weights);
    writer->weights_of = wnn_arena_allocate(&writer->arena, graph->node_count * sizeof *writer->weights_of);
    uint64_t *bytes = wnn_arena_allocate(&writer->arena, graph->node_count * sizeof *bytes);
    uint32_t *first = wnn_arena_allocate(&writer->arena, graph->node_count * sizeof *first);
    if (!writer->weights || !writer->weights_of || !bytes || !first)
        return wnn_fail_memory(writer->error);
    for (size_t i = 0; i < graph->node_count; i++) {
        const void *data = packed_weights(writer, graph->nodes[i], &bytes[i]);
        writer->weights_of[i] = STORED_NONE;
        if (bytes[i])
            writer->weights[count++] = (struct node_weights){data, (uint32_t)i, STORED_NONE};
    }
    if (count)
        qsort(writer->weights, count, sizeof *writer->weights, compare_weights);
    for (size_t i = 0; i < count; i++) {
        bool same = i && writer->weights[i - 1].data == writer->weights[i].data;
        first[writer->weights[i].node] = same ? first[writer->weights[i - 1].node] : writer->weights[i].node;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        if (!bytes[i])
            continue;
        const void *data = packed_weights(writer, graph->nodes[i], &bytes[i]);
        uint32_t blob = first[i] == i ? add_blob(writer, data, bytes[i]) : writer->weights_of[first[i]];
        if (blob == STORED_NONE)
            return wnn_fail_memory(writer->error);
        writer->weights_of[i] = blob;
    }
    return true;
}

static bool has_code(const struct writer *writer, const struct stored_code *stored)
{
    for (size_t i = 0; i < writer->code_count; i++)
        if (memcmp(writer->code[i].key, stored->key, sizeof stored->key) == 0)
            return true;
    return false;
}

// Each once, if several have it.
static bool collect_code_of(struct writer *writer, const void *executable)
{
    const struct store *store = writer->store;
    struct stored_code stored;
    for (size_t i = 0; executable && store->backend->code && store->backend->code(executable, i, &stored);
         i++) {
        if (!store->plan && has_code(writer, &stored))
            continue;
        struct code *code = wnn_arena_grow(&writer->arena, writer->code, writer->code_count,
                                           &writer->code_capacity, sizeof *code);
        uint32_t blob = add_blob(writer, stored.data, stored.bytes);
        if (!code || blob == STORED_NONE)
            return wnn_fail_memory(writer->error);
        writer->code = code;
        code += writer->code_count++;
        memcpy(code->key, stored.key, sizeof code->key);
        code->blob = blob;
    }
    return true;
}

static bool collect_code(struct writer *writer)
{
    const struct store *store = writer->store;
    if (store->plan)
        return collect_code_of(writer, store->executable);
    for (size_t i = 0; i < store->executable_count; i++)
        if (!collect_code_of(writer, store->executables[i]))
            return false;
    return true;
}

// Data that may be there already: blobs, then constants that were recorded, by address.
struct address {
    const void *data;
    uint64_t bytes;
    size_t turn;
};

static int compare_addresses(const void *a, const void *b)
{
    const struct address *x = a, *y = b;
    if (x->data != y->data)
        return (uintptr_t)x->data < (uintptr_t)y->data ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

// Lets `first` be, for each turn, the first of the same data.
static void find_first(struct address *addresses, size_t count, size_t *first)
{
    if (count)
        qsort(addresses, count, sizeof addresses[0], compare_addresses);
    for (size_t i = 0; i < count; i++) {
        const struct address *at = &addresses[i];
        bool same = i && at->data && at[-1].data == at->data && at[-1].bytes == at->bytes;
        first[at->turn] = same ? first[at[-1].turn] : at->turn;
    }
}

// Whether a constant is written by its origin, of which the backend will arrange the bytes again.
static bool has_origin(const struct writer *writer, const struct constant *constant)
{
    return writer->store->weightless && constant->origin &&
           (!constant->data || constant->origin->held <= constant->bytes);
}

// Constants that were recorded are where the plan has them, if it has them still as they were.
static bool collect_recorded(struct writer *writer)
{
    const struct transcript *transcript = writer->store->transcript;
    if (!transcript)
        return true;
    size_t blobs = writer->blob_count, count = blobs, most = blobs + transcript->constant_count;
    struct address *addresses = wnn_arena_allocate(&writer->arena, (most + 1) * sizeof *addresses);
    size_t *first = wnn_arena_allocate(&writer->arena, (most + 1) * sizeof *first);
    writer->recorded =
        wnn_arena_allocate(&writer->arena, (transcript->constant_count + 1) * sizeof *writer->recorded);
    if (!addresses || !first || !writer->recorded)
        return wnn_fail_memory(writer->error);
    for (size_t i = 0; i < blobs; i++)
        addresses[i] = (struct address){writer->blobs[i].data, writer->blobs[i].bytes, i};
    for (size_t i = 0; i < transcript->constant_count; i++) {
        const struct constant *constant = transcript->constants[i];
        writer->recorded[i] = STORED_NONE;
        if (has_origin(writer, constant))
            continue;
        if (!wnn_constant_has_bytes(constant))
            return wnn_fail(writer->error, WNNStatus_NotSupportedError,
                            "save: what was recorded has constants whose bytes are not there");
        addresses[count++] = (struct address){constant->data, constant->bytes, blobs + i};
    }
    find_first(addresses, count, first);
    for (size_t i = 0; i < transcript->constant_count; i++) {
        const struct constant *constant = transcript->constants[i];
        size_t other = first[blobs + i];
        if (has_origin(writer, constant))
            continue;
        writer->recorded[i] = other < blobs       ? (uint32_t)other
                              : other < blobs + i ? writer->recorded[other - blobs]
                                                  : add_blob(writer, constant->data, constant->bytes);
        if (writer->recorded[i] == STORED_NONE)
            return wnn_fail_memory(writer->error);
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes
// ---------------------------------------------------------------------------------------------------------------

static void put_name(struct sink *sink, enum op op)
{
    wnn_sink_text(sink, (struct string){wnn_ops[op].name, strlen(wnn_ops[op].name)});
}

static void put_type(struct sink *sink, const struct descriptor *type)
{
    wnn_sink_kind(sink, type->type, type->shape.rank);
    for (unsigned i = 0; i < type->shape.rank; i++)
        wnn_sink_u32(sink, type->shape.dim[i]);
}

static void put_operands(struct writer *writer, struct operand *const *operands, unsigned count)
{
    wnn_sink_u32(&writer->sink, count);
    for (unsigned i = 0; i < count; i++)
        wnn_sink_u32(&writer->sink, operands[i] ? writer->number[operands[i]->index] : STORED_NONE);
}

static void put_steps(struct sink *sink, const struct elementwise_step *steps, unsigned count)
{
    wnn_sink_u32(sink, count);
    for (unsigned i = 0; i < count; i++) {
        put_name(sink, (enum op)steps[i].op);
        wnn_sink_u32(sink, steps[i].in_count);
        for (unsigned j = 0; j < steps[i].in_count; j++)
            wnn_sink_u32(sink, steps[i].in[j]);
        wnn_sink_u32(sink, steps[i].output == WNN_NO_OUTPUT ? STORED_NONE : steps[i].output);
        put_type(sink, &steps[i].type);
        wnn_sink_attrs(sink, (enum op)steps[i].op, steps[i].attrs);
    }
}

static void put_expression(struct writer *writer, const struct node *node, const struct expression *fused)
{
    unsigned turn = 0; // in which it was put there
    for (const struct expression *before = fused->next; before; before = before->next)
        turn++;
    const struct descriptor of = {fused->from, fused->steps[fused->count - 1].type.shape};
    wnn_sink_u32(&writer->sink, fused->at);
    wnn_sink_u32(&writer->sink, turn);
    put_type(&writer->sink, &of);
    put_operands(writer, node->in + fused->first, fused->operand_count);
    put_steps(&writer->sink, fused->steps, fused->count);
}

// That at the output is the last: a reader knows then what it is of.
static void put_fused(struct writer *writer, const struct node *node)
{
    const struct expression *output = wnn_fused(node, WNN_AT_OUTPUT);
    unsigned count = 0;
    for (const struct expression *fused = node->fused; fused; fused = fused->next)
        count++;
    wnn_sink_u32(&writer->sink, count);
    for (const struct expression *fused = node->fused; fused; fused = fused->next)
        if (fused != output)
            put_expression(writer, node, fused);
    if (output)
        put_expression(writer, node, output);
}

// `weights`: a blob, or STORED_NONE.
static void put_node(struct writer *writer, const struct node *node, uint32_t weights)
{
    struct sink *sink = &writer->sink;
    const void *attrs;
    WNNArgMinMaxAxesOptions axes;
    enum op op = wnn_op_form((enum op)node->op, node->attrs, &axes, &attrs);
    put_name(sink, op);
    wnn_sink_text(sink, node->label);
    put_operands(writer, node->in, node->in_count);
    wnn_sink_attrs(sink, op, attrs);
    if (op == WNN_OP_elementwise) {
        const struct elementwise_attrs *chain = attrs;
        put_steps(sink, chain->steps, chain->count);
    }
    put_fused(writer, node);
    wnn_sink_u32(sink, weights);
}

// ---------------------------------------------------------------------------------------------------------------
// Where constants can be had from
// ---------------------------------------------------------------------------------------------------------------

// Adds what there is by value.
static bool collect_sources(struct writer *writer, const struct origin *origin)
{
    for (size_t i = 0; origin->made && i < origin->made->operand_count; i++) {
        const struct constant *constant = origin->made->operands[i]->constant;
        if (!constant)
            continue;
        if (constant->origin) {
            if (!collect_sources(writer, constant->origin))
                return false;
            continue;
        }
        uint32_t *sources = wnn_arena_grow(&writer->arena, writer->sources, writer->source_count,
                                           &writer->source_capacity, sizeof *sources);
        uint32_t blob = add_blob(writer, constant->data, constant->bytes);
        if (!sources || blob == STORED_NONE)
            return wnn_fail_memory(writer->error);
        writer->sources = sources;
        sources[writer->source_count++] = blob;
    }
    return true;
}

static void put_origin(struct writer *writer, const struct origin *origin);

// The one node and what it reads; operands have the numbers that they have here.
static void put_made(struct writer *writer, const struct origin *origin)
{
    const struct graph *made = origin->made;
    uint32_t *outer = writer->number, count = 0;
    uint32_t *numbers = wnn_arena_allocate(&writer->arena, made->operand_count * sizeof *numbers);
    if (!numbers) {
        writer->sink.full = true;
        return;
    }
    for (size_t i = 0; i < made->operand_count; i++) {
        numbers[i] = (uint32_t)i;
        count += made->operands[i]->constant != NULL;
    }
    wnn_sink_u32(&writer->sink, origin->output);
    wnn_sink_u32(&writer->sink, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct operand *operand = made->operands[i];
        const struct origin *below = operand->constant->origin;
        put_type(&writer->sink, &operand->type);
        wnn_sink_u32(&writer->sink, below ? STORED_ORIGIN : 0);
        if (below)
            put_origin(writer, below);
        else
            wnn_sink_u32(&writer->sink, writer->sources[writer->sources_put++]);
    }
    writer->number = numbers;
    put_node(writer, made->nodes[0], STORED_NONE);
    writer->number = outer;
}

void wnn_store_name(const struct origin *origin, struct sink *sink)
{
    if (origin->id_length) {
        wnn_sink_u32(sink, WNNConstantForm_Id);
        wnn_sink_text(sink, (struct string){(const char *)origin->id, origin->id_length});
    } else {
        wnn_sink_u32(sink, WNNConstantForm_FileRange);
        wnn_sink_u64(sink, origin->file);
        wnn_sink_u64(sink, origin->offset);
    }
}

static void put_origin(struct writer *writer, const struct origin *origin)
{
    if (origin->made) {
        wnn_sink_u32(&writer->sink, STORED_MADE);
        put_made(writer, origin);
    } else {
        wnn_store_name(origin, &writer->sink);
    }
}

static void put_constant(struct writer *writer, const struct operand *operand, uint32_t blob)
{
    bool origin = has_origin(writer, operand->constant);
    put_type(&writer->sink, &operand->type);
    wnn_sink_u32(&writer->sink, origin ? STORED_ORIGIN : operand->arranged ? STORED_ARRANGED : 0u);
    if (origin)
        put_origin(writer, operand->constant->origin);
    else
        wnn_sink_u32(&writer->sink, blob);
}

// STORED_NONE: its bytes are not written.
static bool collect_constant(struct writer *writer, const struct operand *operand, uint32_t *blob)
{
    const struct constant *constant = operand->constant;
    *blob = STORED_NONE;
    if (has_origin(writer, constant))
        return collect_sources(writer, constant->origin);
    if (!constant->data)
        return true;
    *blob = add_blob(writer, constant->data, constant->bytes);
    return *blob != STORED_NONE || wnn_fail_memory(writer->error);
}

// ---------------------------------------------------------------------------------------------------------------
// The graph
// ---------------------------------------------------------------------------------------------------------------

// Inputs, constants that somebody reads, results of nodes: their numbers, in this order.
static bool number_operands(struct writer *writer, size_t *constant_count, uint32_t **blob_of)
{
    const struct graph *graph = &writer->store->plan->graph;
    uint32_t next = 0;
    unsigned char *read = wnn_arena_allocate(&writer->arena, graph->operand_count);
    writer->number = wnn_arena_allocate(&writer->arena, graph->operand_count * sizeof *writer->number);
    *blob_of = wnn_arena_allocate(&writer->arena, graph->operand_count * sizeof **blob_of);
    if (!read || !writer->number || !*blob_of)
        return wnn_fail_memory(writer->error);
    for (size_t i = 0; i < graph->operand_count; i++)
        writer->number[i] = STORED_NONE;
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned j = 0; j < wnn_operand_count(graph->nodes[i]); j++)
            if (graph->nodes[i]->in[j])
                read[graph->nodes[i]->in[j]->index] = 1;
    for (size_t i = 0; i < graph->output_count; i++)
        read[graph->outputs[i].operand->index] = 1;
    for (size_t i = 0; i < graph->input_count; i++)
        writer->number[graph->inputs[i].operand->index] = next++;
    *constant_count = 0;
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct constant *constant = graph->operands[i]->constant;
        if (!constant || !read[i])
            continue;
        writer->number[i] = next++;
        if (!collect_constant(writer, graph->operands[i], &(*blob_of)[(*constant_count)++]))
            return false;
    }
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned j = 0; j < graph->nodes[i]->out_count; j++)
            writer->number[graph->nodes[i]->out[j]->index] = next++;
    return true;
}

static void put_blobs(struct writer *writer)
{
    for (size_t i = 0; i < writer->blob_count; i++)
        wnn_sink_u64(&writer->sink, writer->blobs[i].bytes);
}

static void put_counts(struct writer *writer, size_t constant_count)
{
    static const struct graph none = {0};
    const struct graph *graph = writer->store->plan ? &writer->store->plan->graph : &none;
    const size_t counts[] = {graph->input_count,  constant_count,     graph->node_count,
                             graph->output_count, writer->code_count, writer->blob_count};
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++)
        wnn_sink_u32(&writer->sink, (uint32_t)counts[i]);
    put_blobs(writer);
}

static void put_constants(struct writer *writer, size_t constant_count, const uint32_t *blob_of)
{
    const struct graph *graph = &writer->store->plan->graph;
    for (size_t i = 0, constant = 0; constant < constant_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (!operand->constant || writer->number[i] != graph->input_count + constant)
            continue;
        put_constant(writer, operand, blob_of[constant++]);
    }
}

static void put_code(struct writer *writer)
{
    for (size_t i = 0; i < writer->code_count; i++) {
        unsigned char *key = wnn_sink_add(&writer->sink, WNN_CODE_KEY);
        if (key)
            memcpy(key, writer->code[i].key, WNN_CODE_KEY);
        wnn_sink_u32(&writer->sink, writer->code[i].blob);
    }
}

static bool put_plan(struct writer *writer)
{
    const struct graph *graph = &writer->store->plan->graph;
    struct sink *sink = &writer->sink;
    size_t constant_count = 0;
    uint32_t *blob_of = NULL;
    if (!number_operands(writer, &constant_count, &blob_of) || !collect_weights(writer) ||
        !collect_code(writer) || !collect_recorded(writer))
        return false;
    put_counts(writer, constant_count);
    for (size_t i = 0; i < graph->input_count; i++) {
        put_type(sink, &graph->inputs[i].operand->type);
        wnn_sink_text(sink, graph->inputs[i].name);
    }
    put_constants(writer, constant_count, blob_of);
    for (size_t i = 0; i < graph->node_count; i++)
        put_node(writer, graph->nodes[i], writer->weights_of[i]);
    for (size_t i = 0; i < graph->output_count; i++) {
        wnn_sink_text(sink, graph->outputs[i].name);
        wnn_sink_u32(sink, writer->number[graph->outputs[i].operand->index]);
    }
    put_code(writer);
    return true;
}

// Of a graph with sizes that are not known: code, and the data of what was recorded.
static bool put_no_plan(struct writer *writer)
{
    if (!collect_code(writer) || !collect_recorded(writer))
        return false;
    put_counts(writer, 0);
    put_code(writer);
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// All of it
// ---------------------------------------------------------------------------------------------------------------

static const char zeros[WNN_ALIGNMENT + WNN_SLACK];

// The zeros behind a blob at `offset`.
static size_t padding(uint64_t offset, uint64_t bytes)
{
    uint64_t next = 0;
    wnn_stored_next(offset, bytes, &next);
    return (size_t)(next - offset - bytes);
}

static uint64_t data_bytes(const struct writer *writer)
{
    uint64_t at = 0;
    for (size_t i = 0; i < writer->blob_count; i++)
        at += writer->blobs[i].bytes + padding(at, writer->blobs[i].bytes);
    return at;
}

// As if they were one piece: blobs begin at whole lines.
static uint64_t data_checksum(const struct writer *writer)
{
    struct checksum checksum;
    uint64_t at = 0;
    wnn_checksum_begin(&checksum);
    for (size_t i = 0; i < writer->blob_count; i++) {
        const struct blob *blob = &writer->blobs[i];
        size_t lines = wnn_aligned((size_t)blob->bytes), rest = padding(at, blob->bytes);
        wnn_checksum_add(&checksum, blob->data, (size_t)blob->bytes);
        wnn_checksum_add(&checksum, zeros, (size_t)blob->bytes + rest - lines);
        at += blob->bytes + rest;
    }
    return wnn_checksum_end(&checksum);
}

static bool hand_out(struct writer *writer, const void *bytes, size_t size, uint64_t *rest)
{
    const struct store *store = writer->store;
    if (size == 0)
        return true;
    *rest -= size;
    WNNStatus status = store->write(bytes, size, *rest, store->userdata1, store->userdata2);
    return status == WNNStatus_Success ||
           wnn_fail(writer->error, status, "save: the bytes could not be written");
}

static bool hand_out_all(struct writer *writer)
{
    uint64_t at = 0, rest = writer->sink.size + data_bytes(writer) + writer->transcript.size;
    if (!hand_out(writer, writer->sink.bytes, writer->sink.size, &rest))
        return false;
    for (size_t i = 0; i < writer->blob_count; i++) {
        const struct blob *blob = &writer->blobs[i];
        size_t behind = padding(at, blob->bytes);
        if (!hand_out(writer, blob->data, (size_t)blob->bytes, &rest) ||
            !hand_out(writer, zeros, behind, &rest))
            return false;
        at += blob->bytes + behind;
    }
    return hand_out(writer, writer->transcript.bytes, writer->transcript.size, &rest);
}

// Where each blob begins.
static uint64_t *find_places(struct writer *writer)
{
    uint64_t at = writer->sink.size,
             *places = wnn_arena_allocate(&writer->arena, (writer->blob_count + 1) * sizeof *places);
    for (size_t i = 0; places && i < writer->blob_count; i++) {
        uint64_t bytes = writer->blobs[i].bytes;
        places[i] = at;
        at += bytes + padding(at, bytes);
    }
    return places;
}

// When it is known where data lie.
static bool put_transcript(struct writer *writer)
{
    const struct transcript *transcript = writer->store->transcript;
    if (!transcript)
        return true;
    uint64_t *places = wnn_arena_allocate(&writer->arena, (transcript->constant_count + 1) * sizeof *places);
    const uint64_t *begins = find_places(writer);
    if (!places || !begins)
        return wnn_fail_memory(writer->error);
    for (size_t i = 0; i < transcript->constant_count; i++)
        places[i] = writer->recorded[i] == STORED_NONE ? 0 : begins[writer->recorded[i]];
    wnn_store_transcript(transcript, places, &writer->transcript);
    return !writer->transcript.full || wnn_fail_memory(writer->error);
}

static void fill_header(struct writer *writer)
{
    unsigned char *header = writer->sink.bytes;
    struct sha256 hash;
    memcpy(header, STORED_MAGIC, 8);
    wnn_store_u32(header + 8, STORED_VERSION);
    uint32_t flags = (writer->store->strict ? STORED_STRICT : 0) | (writer->store->plan ? 0 : STORED_LATE);
    uint64_t behind = writer->sink.size + data_bytes(writer);
    wnn_store_u32(header + 12, flags);
    wnn_store_u64(header + 16, behind + writer->transcript.size);
    wnn_store_u64(header + 24, writer->sink.size);
    wnn_store_u64(header + STORED_CHECKSUM_AT, data_checksum(writer));
    wnn_store_u64(header + STORED_TRANSCRIPT_AT, writer->store->transcript ? behind : 0);
    wnn_sha256_begin(&hash);
    wnn_sha256_add(&hash, header, writer->sink.size);
    wnn_sha256_end(&hash, header + STORED_DIGEST_AT);
}

static void put_text(struct writer *writer)
{
    const struct store *store = writer->store;
    char library[STORED_LIBRARY_TEXT], target[STORED_TARGET_TEXT];
    struct text library_text = TEXT(library), target_text = TEXT(target);
    wnn_stored_library(&library_text);
    target[0] = 0;
    store->backend->describe_target(store->state, &target_text);
    wnn_sink_text(&writer->sink, (struct string){library, library_text.length});
    wnn_sink_text(&writer->sink, (struct string){store->backend->name, strlen(store->backend->name)});
    wnn_sink_text(&writer->sink, (struct string){target, target_text.length});
}

static bool write_all(struct writer *writer)
{
    wnn_sink_add(&writer->sink, STORED_HEADER_BYTES);
    put_text(writer);
    if (!(writer->store->plan ? put_plan(writer) : put_no_plan(writer)))
        return false;
    wnn_sink_add(&writer->sink, wnn_aligned(writer->sink.size) - writer->sink.size);
    if (writer->sink.full)
        return wnn_fail_memory(writer->error);
    if (!put_transcript(writer))
        return false;
    fill_header(writer);
    return hand_out_all(writer);
}

bool wnn_store_plan(const struct store *store, struct error *error)
{
    struct writer writer = {.store = store, .error = error};
    wnn_arena_init(&writer.arena, store->allocator);
    writer.sink.arena = writer.transcript.arena = &writer.arena;
    bool done = write_all(&writer);
    wnn_arena_free(&writer.arena);
    return done;
}
