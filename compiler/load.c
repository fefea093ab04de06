// SPDX-License-Identifier: Apache-2.0
//
// Reading a plan in the format of webnn/compiled.h. The head is copied before anything of it is believed; of
// the data only numbers are used that no place or count depends on, or that are looked at again where they
// are used.

#include "compiler/load.h"

#include "compiler/compile.h"
#include "lib/checksum.h"
#include "lib/sha256.h"
#include "ops/builder.h"
#include "ops/check.h"

#include <string.h>

enum {
    // The fewest bytes of an item of a list.
    BLOB_BYTES = 8,
    PORT_BYTES = 8,
    CONSTANT_BYTES = 12,
    CODE_BYTES = WNN_CODE_KEY + 4,
    NODE_BYTES = 20
};

// ---------------------------------------------------------------------------------------------------------------
// The head
// ---------------------------------------------------------------------------------------------------------------

static bool has_digest(const unsigned char *data, size_t bytes)
{
    static const unsigned char none[WNN_SHA256_BYTES];
    struct sha256 hash;
    unsigned char digest[WNN_SHA256_BYTES];
    size_t behind = STORED_DIGEST_AT + WNN_SHA256_BYTES;
    wnn_sha256_begin(&hash);
    wnn_sha256_add(&hash, data, STORED_DIGEST_AT);
    wnn_sha256_add(&hash, none, sizeof none);
    wnn_sha256_add(&hash, data + behind, bytes - behind);
    wnn_sha256_end(&hash, digest);
    return memcmp(digest, data + STORED_DIGEST_AT, sizeof digest) == 0;
}

static bool fail(struct error *error, WNNStatus status, const char *what)
{
    return wnn_fail(error, status, "load: %s", what);
}

// Whether the first bytes are those of a stored plan that has `bytes` in all.
static bool read_header(const void *data, size_t present, size_t bytes, struct stored_head *head,
                        struct error *error)
{
    struct cursor cursor = {.data = data, .size = present};
    const unsigned char *magic = wnn_cursor_bytes(&cursor, 8, 4);
    if (!magic || memcmp(magic, STORED_MAGIC, 8) != 0)
        return wnn_fail(error, WNNStatus_TypeError, "load: %zu bytes that do not begin as a compiled graph",
                        bytes);
    uint32_t version = wnn_cursor_u32(&cursor), flags = wnn_cursor_u32(&cursor);
    uint64_t total = wnn_cursor_u64(&cursor);
    head->data_at = wnn_cursor_u64(&cursor);
    uint64_t zero = wnn_cursor_u64(&cursor);
    head->checksum = wnn_cursor_u64(&cursor);
    head->transcript_at = wnn_cursor_u64(&cursor);
    head->data_end = head->transcript_at ? head->transcript_at : bytes;
    zero |= wnn_cursor_u64(&cursor);
    head->strict = flags & STORED_STRICT;
    head->late = flags & STORED_LATE;
    if (cursor.problem || present < STORED_HEADER_BYTES)
        return fail(error, WNNStatus_TypeError, "it ends within its header");
    if (version != STORED_VERSION)
        return wnn_fail(error, WNNStatus_NotSupportedError,
                        "load: it has version %u of the format; this library reads version %d", version,
                        STORED_VERSION);
    if (total != bytes)
        return wnn_fail(error, WNNStatus_TypeError, "load: it has %zu bytes; its header says %llu", bytes,
                        (unsigned long long)total);
    if (head->data_at > bytes || head->data_at < STORED_HEADER_BYTES || head->data_at % WNN_ALIGNMENT)
        return fail(error, WNNStatus_TypeError, "its head does not end where it can");
    if (head->data_end > bytes || head->data_end < head->data_at || (head->late && !head->transcript_at))
        return fail(error, WNNStatus_TypeError, "what was recorded does not begin where it can");
    if (zero || flags & ~(uint32_t)(STORED_STRICT | STORED_LATE))
        return fail(error, WNNStatus_TypeError, "bytes that stand for nothing are not zero");
    return true;
}

// Of bytes that begin one, of which `present` are there: all of the head at least.
static bool read_head(const void *data, size_t present, size_t bytes, struct stored_head *head,
                      struct error *error)
{
    *head = (struct stored_head){0};
    if (!read_header(data, present, bytes, head, error))
        return false;
    if (head->data_at > present || !has_digest(data, (size_t)head->data_at))
        return fail(error, WNNStatus_TypeError, "it is damaged: its head has another digest than it says");
    struct cursor cursor = {.data = data, .size = (size_t)head->data_at, .at = STORED_HEADER_BYTES};
    head->library = wnn_cursor_text(&cursor);
    head->backend = wnn_cursor_text(&cursor);
    head->target = wnn_cursor_text(&cursor);
    head->graph_at = cursor.at;
    return !cursor.problem || fail(error, WNNStatus_TypeError, cursor.problem);
}

bool wnn_stored_read_head(const void *data, size_t bytes, struct stored_head *head, struct error *error)
{
    return read_head(data, bytes, bytes, head, error);
}

static bool is_text(WNNStringView view, const char *text)
{
    return view.length == strlen(text) && memcmp(view.data, text, view.length) == 0;
}

// What differs, in a sentence.
static bool check_text(struct error *error, const char *what, WNNStringView have, const char *want)
{
    char quoted[2 * STORED_TARGET_TEXT];
    struct text text = TEXT(quoted);
    if (is_text(have, want))
        return true;
    quoted[0] = 0;
    wnn_text_add_quoted(&text, wnn_string(have), STORED_TARGET_TEXT);
    return wnn_fail(error, WNNStatus_NotSupportedError, "load: it was compiled %s \"%s\"; this is \"%s\"",
                    what, quoted, want);
}

static bool check_target(const struct load *load, const struct stored_head *head, struct error *error)
{
    char library[STORED_LIBRARY_TEXT], target[STORED_TARGET_TEXT];
    struct text library_text = TEXT(library), target_text = TEXT(target);
    library[0] = target[0] = 0;
    wnn_stored_library(&library_text);
    load->backend->describe_target(load->state, &target_text);
    if (!check_text(error, "by the library", head->library, library) ||
        !check_text(error, "for the backend", head->backend, load->backend->name) ||
        !check_text(error, "for the target", head->target, target))
        return false;
    return head->strict == load->strict ||
           wnn_fail(error, WNNStatus_NotSupportedError,
                    "load: it was compiled %s strictNumerics; this context is %s it",
                    head->strict ? "with" : "without", load->strict ? "with" : "without");
}

// ---------------------------------------------------------------------------------------------------------------
// Pieces
// ---------------------------------------------------------------------------------------------------------------

bool wnn_load_check(struct reader *reader)
{
    const struct cursor *cursor = &reader->head;
    return !cursor->problem || FAIL(reader, "byte %zu: %s", cursor->place, cursor->problem);
}

struct operand *wnn_load_operand(struct reader *reader, uint32_t number)
{
    if (number < reader->graph->operand_count)
        return reader->graph->operands[number];
    wnn_cursor_fail(&reader->head, "there is no such operand before this place");
    return NULL;
}

bool wnn_load_type(struct reader *reader, const char *what, struct descriptor *type)
{
    struct cursor *cursor = &reader->head;
    uint32_t kind = wnn_cursor_u32(cursor), rank = kind >> 8, dims[WNN_MAX_RANK];
    if (rank > WNN_MAX_RANK)
        wnn_cursor_fail(cursor, "a type has a rank of more than 8, or flags");
    for (unsigned i = 0; i < rank && !cursor->problem; i++)
        dims[i] = wnn_cursor_u32(cursor);
    if (!wnn_load_check(reader))
        return false;
    struct error inner = {0};
    return wnn_check_descriptor(reader->load->limits, NULL, what, (WNNDataType)(kind & 0xFF),
                                (WNNUint32List){dims, rank}, type, &inner) ||
           wnn_fail(reader->error, inner.status, "load: %s", inner.message);
}

bool wnn_load_string(struct reader *reader, const char *what, struct string *string)
{
    const WNNLimits *limits = reader->load->limits;
    WNNStringView view = wnn_cursor_text(&reader->head);
    struct graph *graph = reader->graph;
    struct error inner = {0};
    bool full = false;
    if (!wnn_load_check(reader))
        return false;
    if (!wnn_check_string(limits, what, view, &inner))
        return wnn_fail(reader->error, inner.status, "load: %s", inner.message);
    if (view.length == 0) {
        *string = STRING("");
        return true;
    }
    if (!graph->strings)
        graph->strings = wnn_string_pool_create(graph->arena.allocator);
    *string = (struct string){NULL, 0};
    if (graph->strings)
        *string = wnn_string_pool_add(graph->strings, wnn_string(view), limits->maxTotalStringBytes, &full);
    if (full)
        return wnn_fail(reader->error, WNNStatus_OutOfMemory,
                        "load: names and labels have more than %llu bytes",
                        (unsigned long long)limits->maxTotalStringBytes);
    return string->data || wnn_fail_memory(reader->error);
}

// ---------------------------------------------------------------------------------------------------------------
// Data
// ---------------------------------------------------------------------------------------------------------------

// Blobs follow one another as wnn_stored_next says, to the end, and what lies between them is zero.
static bool read_blobs(struct reader *reader, const struct stored_head *head, uint32_t count)
{
    const struct constant *source = reader->load->source;
    uint64_t at = head->data_at, next;
    if (count > (reader->head.size - reader->head.at) / BLOB_BYTES)
        return FAIL(reader, "there are more blobs than there is room for");
    reader->blobs = wnn_arena_allocate(&reader->graph->arena, count * sizeof *reader->blobs);
    if (!reader->blobs)
        return wnn_fail_memory(reader->error);
    for (uint32_t i = 0; i < count; i++, at = next) {
        uint64_t bytes = wnn_cursor_u64(&reader->head);
        if (!wnn_stored_next(at, bytes, &next) || next > head->data_end)
            return FAIL(reader, "blob %u ends behind the data", i);
        reader->blobs[i] = (struct stored_weights){(const char *)source->data + at, bytes};
    }
    reader->blob_count = count;
    return at == head->data_end || FAIL(reader, "there are more data than blobs");
}

static bool check_data(const struct load *load, const struct stored_head *head, struct error *error)
{
    return load->skip_data_check ||
           wnn_checksum(load->parallel, (const char *)load->source->data + head->data_at,
                        (size_t)(head->data_end - head->data_at)) == head->checksum ||
           fail(error, WNNStatus_TypeError, "it is damaged: its data have another checksum than it says");
}

static void release_source(const void *data, size_t bytes, void *userdata1, void *userdata2)
{
    (void)data;
    (void)bytes;
    (void)userdata2;
    wnn_constant_unref(userdata1);
}

struct constant *wnn_load_slice(const struct load *load, struct allocator *allocator, const void *data,
                                size_t bytes)
{
    WNNExternalBytes loan = {.data = data, .byteLength = bytes};
    struct constant *constant = wnn_constant_lend(allocator, &loan);
    if (!constant)
        return NULL;
    constant->external = false; // it is aligned, and others are behind it
    constant->loan.release = release_source;
    constant->loan.userdata1 = wnn_constant_ref(load->source);
    return constant;
}

// A part of the source, or, without a blob, nothing but a number of bytes.
static struct constant *create_constant(struct reader *reader, const struct stored_weights *blob,
                                        size_t bytes)
{
    struct allocator *allocator = reader->graph->arena.allocator;
    return blob ? wnn_load_slice(reader->load, allocator, blob->data, bytes)
                : wnn_constant_promise(allocator, bytes, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// The graph
// ---------------------------------------------------------------------------------------------------------------

static bool read_input(struct reader *reader, struct graph_port *port)
{
    struct descriptor type;
    if (!wnn_load_type(reader, "an input", &type) ||
        !wnn_load_string(reader, "the name of an input", &port->name))
        return false;
    if (port->name.length == 0)
        return FAIL(reader, "the name of an input is empty");
    port->operand = wnn_graph_add_operand(reader->graph, &type);
    if (!port->operand)
        return wnn_fail_memory(reader->error);
    port->operand->input = true;
    struct operand_details *details = wnn_graph_detail(port->operand);
    if (!details)
        return wnn_fail_memory(reader->error);
    details->name = port->name;
    return true;
}

static struct constant *read_blob_constant(struct reader *reader, size_t bytes)
{
    uint32_t number = wnn_cursor_u32(&reader->head);
    if (!wnn_load_check(reader))
        return NULL;
    if (number != STORED_NONE && number >= reader->blob_count) {
        FAIL(reader, "a constant has data that are not there");
        return NULL;
    }
    const struct stored_weights *blob = number == STORED_NONE ? NULL : &reader->blobs[number];
    if (blob && blob->bytes != bytes) {
        FAIL(reader, "a constant of %zu bytes has data of %llu", bytes, (unsigned long long)blob->bytes);
        return NULL;
    }
    struct constant *constant = create_constant(reader, blob, bytes);
    if (!constant)
        wnn_fail_memory(reader->error);
    return constant;
}

static struct origin *read_origin(struct reader *reader, size_t bytes, unsigned depth);

static struct constant *read_promise(struct reader *reader, size_t bytes, unsigned depth)
{
    struct origin *origin = read_origin(reader, bytes, depth);
    if (!origin)
        return NULL;
    struct constant *constant = wnn_constant_promise(reader->graph->arena.allocator, bytes, origin);
    wnn_origin_unref(origin);
    if (!constant)
        wnn_fail_memory(reader->error);
    return constant;
}

// `depth`: of how many constants that are made of others it is a part.
static bool read_constant(struct reader *reader, unsigned depth)
{
    const WNNLimits *limits = reader->load->limits;
    struct descriptor type;
    if (!wnn_load_type(reader, "a constant", &type))
        return false;
    uint32_t flags = wnn_cursor_u32(&reader->head), order = flags & ~(uint32_t)STORED_ORIGIN;
    if (!wnn_load_check(reader))
        return false;
    if (order && (flags != STORED_ARRANGED || !reader->load->backend->arranges))
        return FAIL(reader, "a constant lies in an order that the backend does not know");
    size_t bytes = wnn_descriptor_bytes(&type);
    uint64_t sum;
    if (limits->maxConstantBytes &&
        (!wnn_add(reader->graph->constant_bytes, bytes, &sum) || sum > limits->maxConstantBytes))
        return wnn_fail(reader->error, WNNStatus_OutOfMemory, "load: constants have more than %llu bytes",
                        (unsigned long long)limits->maxConstantBytes);
    struct constant *constant =
        flags & STORED_ORIGIN ? read_promise(reader, bytes, depth) : read_blob_constant(reader, bytes);
    if (!constant)
        return false;
    struct operand *operand = wnn_graph_add_constant(reader->graph, &type, constant);
    if (!operand)
        return wnn_fail_memory(reader->error);
    operand->arranged = order == STORED_ARRANGED;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Where constants can be had from
// ---------------------------------------------------------------------------------------------------------------

struct origin *wnn_load_name(struct cursor *cursor, struct allocator *allocator, size_t bytes)
{
    WNNStringView id = {NULL, 0};
    uint64_t file = 0, offset = 0;
    uint32_t form = wnn_cursor_u32(cursor);
    if (form == WNNConstantForm_Id) {
        id = wnn_cursor_text(cursor);
        if (id.length == 0 || id.length > WNN_MAX_CONSTANT_ID)
            wnn_cursor_fail(cursor, "the id of a constant has no bytes or more than 256");
    } else if (form == WNNConstantForm_FileRange) {
        file = wnn_cursor_u64(cursor);
        offset = wnn_cursor_u64(cursor);
    } else {
        wnn_cursor_fail(cursor, "a constant can be had from nowhere");
    }
    return cursor->problem ? NULL : wnn_origin_name(allocator, bytes, file, offset, id.data, id.length);
}

// Whether what has been read of a graph is one node that makes constants of constants.
static bool check_made(struct reader *reader, uint32_t output, size_t bytes)
{
    struct graph *made = reader->graph;
    struct node *node = made->nodes[0];
    struct error inner = {0};
    struct descriptor types[WNN_MAX_ORIGIN_OUTPUTS];
    if (node->fused || node->stored || output >= node->out_count || node->out_count > WNN_MAX_ORIGIN_OUTPUTS)
        return FAIL(reader, "a constant is made by a node that makes none");
    for (unsigned i = 0; i < node->out_count; i++)
        types[i] = node->out[i]->type;
    if (wnn_descriptor_bytes(&types[output]) != bytes)
        return FAIL(reader, "a constant of %zu bytes is made by a node that makes %zu", bytes,
                    wnn_descriptor_bytes(&types[output]));
    for (size_t i = 0; i < made->operand_count; i++)
        if (made->operands[i]->arranged ||
            (made->operands[i]->constant && !made->operands[i]->constant->data && bytes &&
             !made->operands[i]->constant->origin))
            return FAIL(reader, "a constant is made of one that is not there");
    if (!wnn_verify(made, "load", &inner))
        return wnn_fail(reader->error,
                        inner.status == WNNStatus_OutOfMemory ? inner.status : WNNStatus_TypeError,
                        "load: %s", inner.message);
    made->work = wnn_op_work((enum op)node->op, node->in, types, node->out_count, node->attrs);
    return wnn_load_admit(reader, node);
}

// All of them together are as bounded as the nodes of a graph.
static bool count_made(struct reader *reader)
{
    const WNNLimits *limits = reader->load->limits;
    if (!wnn_add(reader->made_work, reader->graph->work, &reader->made_work))
        reader->made_work = UINT64_MAX;
    if (limits->maxGraphWork && reader->made_work > limits->maxGraphWork)
        return wnn_fail(reader->error, WNNStatus_OperationError,
                        "load: constants take more than %llu multiply-adds to be made",
                        (unsigned long long)limits->maxGraphWork);
    reader->made_count++;
    return !limits->maxOperators || reader->made_count <= limits->maxOperators ||
           wnn_fail(reader->error, WNNStatus_OutOfMemory, "load: more than %u operators that make constants",
                    limits->maxOperators);
}

static bool read_made(struct reader *reader, uint32_t output, size_t bytes, unsigned depth)
{
    uint32_t count = wnn_cursor_count(&reader->head, CONSTANT_BYTES);
    for (uint32_t i = 0; i < count && wnn_load_check(reader); i++)
        if (!read_constant(reader, depth + 1))
            return false;
    return wnn_load_check(reader) && wnn_load_node(reader) && check_made(reader, output, bytes) &&
           count_made(reader);
}

// In a graph of its own, as if it were that of the file.
static struct origin *read_node_origin(struct reader *reader, size_t bytes, unsigned depth)
{
    uint32_t output = wnn_cursor_u32(&reader->head);
    if (depth >= WNN_MAX_ORIGIN_DEPTH)
        wnn_cursor_fail(&reader->head, "constants are made of each other more than 8 times");
    if (!wnn_load_check(reader))
        return NULL;
    struct graph *outer = reader->graph, made;
    struct allocator *allocator = outer->arena.allocator;
    struct origin *origin = NULL;
    wnn_graph_init(&made, allocator);
    reader->graph = &made;
    bool done = read_made(reader, output, bytes, depth);
    reader->graph = outer;
    if (done && !(origin = wnn_origin_make(allocator, bytes, &made, output)))
        wnn_fail_memory(reader->error);
    if (!origin)
        wnn_graph_free(&made);
    return origin;
}

static struct origin *read_origin(struct reader *reader, size_t bytes, unsigned depth)
{
    struct cursor ahead = reader->head;
    if (wnn_cursor_u32(&ahead) == STORED_MADE) {
        reader->head = ahead;
        return read_node_origin(reader, bytes, depth);
    }
    struct origin *origin = wnn_load_name(&reader->head, reader->graph->arena.allocator, bytes);
    if (wnn_load_check(reader) && !origin)
        wnn_fail_memory(reader->error);
    return origin;
}

// The first operand of a node whose numbers may be looked at while the graph is checked: of scales and zero
// points, which stand behind the operator's own operands, or the bias of a product of integers.
static unsigned first_looked_at(const struct node *node)
{
    enum op_class class = wnn_ops[node->op].class;
    bool product = class == CLASS_CONVOLUTION || class == CLASS_PRODUCT;
    return product && wnn_fused(node, 0) ? 2 : node->in_count;
}

// Whatever is not had here is had when it is needed, or not at all.
static bool resolve_scales(struct reader *reader)
{
    const struct graph *graph = reader->graph;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        for (unsigned j = first_looked_at(node); j < wnn_operand_count(node); j++)
            if (!wnn_resolve_operand(reader->load->resolver, node->in[j], reader->error))
                return false;
    }
    return true;
}

// Whether somebody has the bytes of what is promised.
static bool check_source_of_constants(struct reader *reader)
{
    const struct operand *operand = wnn_find_promised(reader->graph);
    const struct resolver *resolver = reader->load->resolver;
    if (!operand || (resolver && resolver->find))
        return true;
    return wnn_resolve(NULL, operand->constant, reader->error) != NULL;
}

static bool read_output(struct reader *reader, struct graph_port *port)
{
    if (!wnn_load_string(reader, "the name of an output", &port->name))
        return false;
    port->operand = wnn_load_operand(reader, wnn_cursor_u32(&reader->head));
    if (!wnn_load_check(reader))
        return false;
    if (port->name.length == 0)
        return FAIL(reader, "the name of an output is empty");
    if (port->operand->input)
        return FAIL(reader, "an output is an input");
    const struct constant *constant = port->operand->constant;
    return !constant || constant->data || wnn_constant_is_promised(constant) ||
           FAIL(reader, "an output is a constant that is not there");
}

// What it does is the backend's to check; who has made it, the host's.
static bool read_code(struct reader *reader, uint32_t count)
{
    struct graph *graph = reader->graph;
    struct stored_code *code = wnn_arena_allocate(&graph->arena, count * sizeof *code);
    if (!code)
        return wnn_fail_memory(reader->error);
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *key = wnn_cursor_bytes(&reader->head, WNN_CODE_KEY, 4);
        uint32_t number = wnn_cursor_u32(&reader->head);
        if (!wnn_load_check(reader))
            return false;
        if (number >= reader->blob_count)
            return FAIL(reader, "there is a key of code that is not there");
        code[i] =
            (struct stored_code){.data = reader->blobs[number].data, .bytes = reader->blobs[number].bytes};
        memcpy(code[i].key, key, WNN_CODE_KEY);
    }
    graph->code = code;
    graph->code_count = reader->load->vouched ? count : 0;
    return true;
}

struct counts {
    uint32_t inputs, constants, nodes, outputs, codes, blobs;
};

static bool check_counts(struct reader *reader, const struct counts *counts)
{
    const WNNLimits *limits = reader->load->limits;
    size_t rest = reader->head.size - reader->head.at;
    if (counts->inputs > rest / PORT_BYTES || counts->outputs > rest / PORT_BYTES ||
        counts->constants > rest / CONSTANT_BYTES || counts->nodes > rest / NODE_BYTES ||
        counts->codes > rest / CODE_BYTES)
        return FAIL(reader, "it counts more than it has room for");
    if (reader->late && (counts->inputs || counts->constants || counts->nodes || counts->outputs))
        return FAIL(reader, "there is a plan of a graph with sizes that are not known");
    if (!reader->late && counts->outputs == 0)
        return FAIL(reader, "there are no outputs");
    uint64_t ports = (uint64_t)counts->inputs + counts->outputs;
    if (limits->maxInputsAndOutputs && ports > limits->maxInputsAndOutputs)
        return FAIL(reader, "%llu inputs and outputs; expected at most %u", (unsigned long long)ports,
                    limits->maxInputsAndOutputs);
    if (limits->maxOperators && counts->nodes > limits->maxOperators)
        return wnn_fail(reader->error, WNNStatus_OutOfMemory, "load: %u operators; expected at most %u",
                        counts->nodes, limits->maxOperators);
    return true;
}

static bool read_ports(struct reader *reader, uint32_t count, struct graph_port **ports, size_t *done,
                       bool (*read)(struct reader *reader, struct graph_port *port), const char *twice)
{
    *ports = wnn_arena_allocate(&reader->graph->arena, count * sizeof **ports);
    if (!*ports)
        return wnn_fail_memory(reader->error);
    for (uint32_t i = 0; i < count; i++) {
        if (!read(reader, &(*ports)[i]))
            return false;
        *done = i + 1u;
    }
    return wnn_check_port_names(&reader->graph->arena, *ports, count, twice, reader->error);
}

static bool read_nodes(struct reader *reader, uint32_t count)
{
    const WNNLimits *limits = reader->load->limits;
    for (uint32_t i = 0; i < count; i++) {
        if (!wnn_load_node(reader))
            return false;
        if (limits->maxOperands && reader->graph->operand_count > limits->maxOperands)
            return wnn_fail(reader->error, WNNStatus_OutOfMemory, "load: more than the limit of %u operands",
                            limits->maxOperands);
    }
    return true;
}

static bool read_graph(struct reader *reader, const struct stored_head *head)
{
    struct cursor *cursor = &reader->head;
    struct graph *graph = reader->graph;
    struct counts counts = {.inputs = wnn_cursor_u32(cursor)};
    counts.constants = wnn_cursor_u32(cursor);
    counts.nodes = wnn_cursor_u32(cursor);
    counts.outputs = wnn_cursor_u32(cursor);
    counts.codes = wnn_cursor_u32(cursor);
    counts.blobs = wnn_cursor_u32(cursor);
    if (!wnn_load_check(reader) || !check_counts(reader, &counts) ||
        !read_blobs(reader, head, counts.blobs) ||
        !read_ports(reader, counts.inputs, &graph->inputs, &graph->input_count, read_input,
                    "load: there is an input "))
        return false;
    for (uint32_t i = 0; i < counts.constants; i++)
        if (!read_constant(reader, 0))
            return false;
    if (!read_nodes(reader, counts.nodes) ||
        !read_ports(reader, counts.outputs, &graph->outputs, &graph->output_count, read_output,
                    "load: there is an output ") ||
        !read_code(reader, counts.codes))
        return false;
    for (; cursor->at < cursor->size; cursor->at++)
        if (cursor->data[cursor->at])
            return FAIL(reader, "there is more than a graph");
    return true;
}

// Together, now that each is legal by itself.
static bool check_graph(struct reader *reader)
{
    struct error inner = {0};
    if (!wnn_verify(reader->graph, "load", &inner))
        return wnn_fail(reader->error,
                        inner.status == WNNStatus_OutOfMemory ? inner.status : WNNStatus_TypeError,
                        "load: %s", inner.message);
    for (size_t i = 0; i < reader->graph->node_count; i++)
        if (!wnn_load_admit(reader, reader->graph->nodes[i]))
            return false;
    return wnn_check_graph_work(reader->load->limits, reader->graph, reader->error);
}

static bool check_backend(const struct load *load, struct error *error)
{
    return load->backend->describe_target ||
           wnn_fail(error, WNNStatus_NotSupportedError, "load: the backend %s does not load graphs",
                    load->backend->name);
}

// Whether it is a stored graph at all, and where what was recorded lies, if it has that. It may be of any
// version.
static bool check_source(const struct load *load, uint64_t *transcript_at, struct error *error)
{
    const struct constant *source = load->source;
    unsigned char header[STORED_HEADER_BYTES];
    *transcript_at = 0;
    if ((uintptr_t)source->data % WNN_ALIGNMENT)
        return wnn_fail(error, WNNStatus_TypeError, "load: the bytes are not aligned to %d", WNN_ALIGNMENT);
    if (source->bytes < sizeof header)
        return true; // which the reader of the header says
    memcpy(header, source->data, sizeof header);
    *transcript_at = wnn_stored_transcript_at(header);
    return true;
}

// What is this library's, for this target. `reader` has the head that others may not change.
static bool read_own(struct reader *reader, struct stored_head *head, struct loaded *loaded)
{
    const struct load *load = reader->load;
    loaded->late = reader->late = head->late;
    if (!check_data(load, head, reader->error) || !read_graph(reader, head))
        return false;
    if (!head->late &&
        (!check_source_of_constants(reader) || !resolve_scales(reader) || !check_graph(reader)))
        return false;
    if (head->transcript_at)
        loaded->transcript = wnn_load_transcript(load, head->transcript_at, false, reader->error);
    return loaded->transcript || !head->transcript_at;
}

// Reads a copy of the head, unless it is for somebody else: `why` says so then, as NotSupportedError.
static bool open_head(struct reader *reader, struct stored_head *head, struct error *why)
{
    const struct load *load = reader->load;
    const struct constant *source = load->source;
    if (!check_backend(load, why) || !read_header(source->data, source->bytes, source->bytes, head, why))
        return false;
    size_t bytes = (size_t)head->data_at;
    unsigned char *copy = wnn_arena_copy(&reader->arena, source->data, bytes);
    if (!copy)
        return wnn_fail_memory(why);
    if (!read_head(copy, bytes, source->bytes, head, why) || !check_target(load, head, why))
        return false;
    reader->head = (struct cursor){.data = copy, .size = (size_t)head->data_at, .at = head->graph_at};
    return true;
}

bool wnn_load_graph(const struct load *load, struct graph *graph, struct loaded *loaded, struct error *error)
{
    struct reader reader = {.load = load, .graph = graph, .error = error};
    struct stored_head head;
    struct error why = {0};
    uint64_t transcript_at;
    *loaded = (struct loaded){0};
    graph->source = wnn_constant_ref(load->source);
    if (load->backend->target)
        wnn_graph_set_target(graph, load->backend->target(load->state));
    if (!check_source(load, &transcript_at, error))
        return false;
    wnn_arena_init(&reader.arena, graph->arena.allocator);
    bool done;
    if (open_head(&reader, &head, &why)) {
        done = read_own(&reader, &head, loaded);
    } else if (why.status == WNNStatus_NotSupportedError && load->recompile && transcript_at) {
        loaded->transcript = wnn_load_transcript(load, transcript_at, true, error);
        done = loaded->recompile = loaded->transcript != NULL;
    } else {
        done = wnn_fail(error, why.status, "%s", why.message);
    }
    wnn_arena_free(&reader.arena);
    return done;
}
