// SPDX-License-Identifier: Apache-2.0
//
// webnn-late-graphs: records random graphs with names in the place of sizes, and runs each at several sizes.
//
// A random graph is recorded anew from its nodes, once with dimensions that have names, and for each set of
// sizes once with these. Where the latter can be recorded and built, the former must compute the same bits at
// these sizes. Where it is refused, so must the former be: when it is recorded, or, at these sizes, with the
// same message.
//
// On the CPU both run the same kernels. On Vulkan sums may be in another order at a size that comes late, so
// that floats may differ by a few units in the last place of the greatest; how many outputs did is told at
// the end.
//
// With --tensors what has names is dispatched, on tensors of its own and with outputs in the place of inputs.
//
// With --serialized what has names is written as bytes and read by another builder, which has to write the
// same; with --compiled it is built, saved, and loaded; with --weightless, without constants that have names.
//
// With --shaders each graph with names runs at sizes that leave the same remainders, which kernels look at.
// Now and then a larger size has a kernel of its own; if every one compiles a shader, there is a size in its
// text.

#include "conformance/backends.h"
#include "conformance/compiled.h"
#include "conformance/cross/generate.h"
#include "conformance/test.h"
#include "conformance/weightless.h"
#include "ops/builder.h"
#include "runtime/context.h"
#include "runtime/internal.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: webnn-late-graphs [--count=N] [--seed=S] [--backend=NAME]\n"
                            "                         [--tensors | --shaders] [--shared | --serialized |\n"
                            "                          --compiled [--weightless] [--spoiled=N]]\n"
                            "\n"
                            "  --count=N         how many graphs (200)\n"
                            "  --seed=S          of the first (1)\n"
                            "  --backend=NAME    what computes them (cpu)\n"
                            "  --tensors         by dispatch(), also with outputs in the place of inputs\n"
                            "  --shared          all of them share their weights\n"
                            "  --serialized      of bytes that another builder has written\n"
                            "  --compiled        saved and loaded\n"
                            "  --weightless      likewise, without the bytes of constants that have names\n"
                            "  --spoiled=N       and loaded N times with mistakes\n"
                            "  --shaders         count those that other sizes compile\n";

enum {
    SETS = 4,             // of sizes, the first of which is the one that the graph was generated with
    MOST_ELEMENTS = 4096, // of an input

    // Sizes that leave the same remainders, where there are names.
    FURTHER = 4, // behind the first
    REMAINDERS = 8
};

// What is computed of where in a trial, so that every recording of a graph makes the same choices.
static uint64_t choose(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = seed * 0x9E3779B97F4A7C15u + a * 0xBF58476D1CE4E5B9u + b * 0x94D049BB133111EBu + c + 1;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

struct trial {
    uint64_t seed;
    WNNContext context;
    const struct random_graph *random;
    const struct graph *source; // its nodes
    unsigned set;               // of sizes; SETS: names
    bool alike;                 // sizes leave the same remainders
};

// One recording, by the index of the operands of the source.
struct recording {
    WNNGraphBuilder builder;
    WNNOperand *operands;
    char refusal[1024]; // empty: none
};

static bool has_name(const struct trial *trial, const struct operand *input, unsigned d)
{
    return choose(trial->seed, 1, input->index, d) % 100 < (trial->alike ? 35 : 70);
}

// The name of a dimension: equal sizes mostly have one.
static unsigned name_of(const struct trial *trial, const struct operand *input, unsigned d)
{
    if (choose(trial->seed, 2, input->index, d) % 100 < 80)
        return input->type.shape.dim[d];
    return 1000 + input->index * 8 + d;
}

static uint32_t size_of(const struct trial *trial, const struct operand *input, unsigned d)
{
    if (!has_name(trial, input, d) || (trial->set == 0 && !trial->alike))
        return input->type.shape.dim[d];
    if (trial->alike)
        return (uint32_t)(REMAINDERS * (2 + trial->set) +
                          choose(trial->seed, 3, name_of(trial, input, d), 0) % REMAINDERS);
    return (uint32_t)(choose(trial->seed, 3, name_of(trial, input, d), trial->set) % 7);
}

static void record_input(const struct trial *trial, struct recording *recording, const struct operand *input)
{
    unsigned rank = input->type.shape.rank;
    uint32_t sizes[WNN_MAX_RANK];
    WNNDimension dimensions[WNN_MAX_RANK];
    char names[WNN_MAX_RANK][16];
    WNNNamedDimensions named = WNN_NAMED_DIMENSIONS_INIT;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    for (unsigned d = 0; d < rank; d++) {
        sizes[d] = size_of(trial, input, d);
        dimensions[d] = (WNNDimension)WNN_DIMENSION_INIT;
        dimensions[d].minSize = 0;
        if (!has_name(trial, input, d))
            continue;
        snprintf(names[d], sizeof names[d], "n%u", name_of(trial, input, d));
        dimensions[d].name = (WNNStringView){names[d], WNN_STRLEN};
    }
    named.dimensionCount = rank;
    named.dimensions = dimensions;
    descriptor.nextInChain = trial->set == SETS ? &named.chain : NULL;
    descriptor.dataType = input->type.type;
    descriptor.shape = (WNNUint32List){sizes, rank};
    recording->operands[input->index] =
        wnnGraphBuilderInput(recording->builder, wnn_string_view(wnn_operand_name(input)), &descriptor);
}

static void record_constant(struct recording *recording, const struct operand *constant)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = constant->type.type;
    descriptor.shape = (WNNUint32List){constant->type.shape.dim, constant->type.shape.rank};
    recording->operands[constant->index] = wnnGraphBuilderConstant(
        recording->builder, &descriptor, constant->constant->data, constant->constant->bytes);
}

// Whether its rank may be known later than its name, so that there is no dimension to be named.
static bool may_lack_rank(const struct operand *operand)
{
    const struct node *node = operand->producer;
    bool lacks = node && (node->op == WNN_OP_squeeze || node->op == WNN_OP_gatherND);
    for (unsigned i = 0; node && !lacks && i < node->in_count; i++)
        lacks = node->in[i] && may_lack_rank(node->in[i]);
    return lacks;
}

// Sizes that attributes say come now and then of an operand instead, where that has the same; and sizes of
// outputs are mostly left to inference.
static void change_sizes(const struct trial *trial, const struct node *node, WNNOperand input,
                         const struct op_row *row, WNNUint32List *list, uint32_t *items)
{
    bool computed = !row->argument && choose(trial->seed, 4, node->index, row->offset) % 100 < 80;
    if (computed && (node->op == WNN_OP_convTranspose2d || wnn_ops[node->op].class == CLASS_POOLING)) {
        *list = (WNNUint32List)WNN_UINT32_LIST_INIT;
        return;
    }
    const struct shape *shape = &node->in[0]->type.shape;
    for (size_t i = 0; i < list->count && i < WNN_MAX_RANK; i++) {
        items[i] = list->data[i];
        unsigned d = (unsigned)(choose(trial->seed, 5, node->index, i) % (shape->rank ? shape->rank : 1));
        if (i < shape->rank && choose(trial->seed, 6, node->index, i) % 100 < 70)
            d = (unsigned)i;
        if (d < shape->rank && shape->dim[d] == items[i] && !may_lack_rank(node->in[0]) &&
            choose(trial->seed, 7, node->index, i) % 100 < 80)
            items[i] = wnnOperandGetShape(input).data[d];
    }
    if (list->count <= WNN_MAX_RANK)
        list->data = items;
}

// Puts what belongs to the other builder into attributes; false: it has not been recorded.
static bool translate(const struct trial *trial, struct recording *recording, const struct node *node,
                      char *attrs, uint32_t items[][WNN_MAX_RANK])
{
    unsigned input = 0, lists = 0;
    for (const struct op_row *row = wnn_ops[node->op].rows; row->name; row++) {
        char *at = attrs + row->offset;
        if (row->kind == ROW_OPTIONAL_INPUT && node->in[input]) {
            WNNOperand operand = recording->operands[node->in[input]->index];
            memcpy(at, &operand, sizeof operand);
        } else if (row->kind == ROW_ATTRIBUTE && row->attr == ATTR_activations) {
            WNNActivationList list;
            memcpy(&list, at, sizeof list);
            for (size_t i = 0; i < list.count; i++) {
                const struct activation *activation = wnn_activation(list.data[i]);
                ((WNNActivation *)(uintptr_t)list.data)[i] =
                    wnn_builder_activation(recording->builder, (enum op)activation->op, activation->attrs);
            }
        } else if (wnn_op_row_is_size(row) && row->attr == ATTR_u32s && node->in_count && lists < 4) {
            WNNUint32List list;
            memcpy(&list, at, sizeof list);
            change_sizes(trial, node, recording->operands[node->in[0]->index], row, &list, items[lists++]);
            memcpy(at, &list, sizeof list);
        }
        if (wnn_op_row_is_input(row))
            input++;
    }
    return true;
}

// One size as an operand of rank 1: that of a dimension of the input, by arithmetic that gives it back, or a
// constant.
static WNNOperand size_operand(const struct trial *trial, struct recording *recording,
                               const struct node *node, uint32_t item, size_t i)
{
    WNNGraphBuilder builder = recording->builder;
    const struct shape *shape = &node->in[0]->type.shape;
    WNNOperand input = recording->operands[node->in[0]->index];
    uint32_t one = 1, d = (uint32_t)i;
    WNNUint32List ones = {&one, 1};
    const WNNOperandDescriptor descriptor = {NULL, WNNDataType_Int32, ones};
    WNNOperand three = wnnGraphBuilderConstant(builder, &descriptor, (const int32_t[]){3}, 4);
    if (i >= shape->rank || shape->dim[i] != item || choose(trial->seed, 10, node->index, i) % 100 >= 80)
        return wnnGraphBuilderConstant(builder, &descriptor, (const int32_t[]){(int32_t)item}, 4);
    WNNOperand sizes =
        wnnGraphBuilderCast(builder, wnnGraphBuilderShape(builder, input, NULL), WNNDataType_Int32, NULL);
    WNNOperand size = wnnGraphBuilderSlice(builder, sizes, (WNNUint32List){&d, 1}, ones, NULL);
    switch (choose(trial->seed, 11, node->index, i) % 5) {
    case 0:
        return wnnGraphBuilderSub(builder, wnnGraphBuilderAdd(builder, size, three, NULL), three, NULL);
    case 1:
        return wnnGraphBuilderDiv(builder, wnnGraphBuilderMul(builder, size, three, NULL), three, NULL);
    case 2: // of which no name is left
        return wnnGraphBuilderCast(
            builder,
            wnnGraphBuilderAbs(builder, wnnGraphBuilderCast(builder, size, WNNDataType_Float32, NULL), NULL),
            WNNDataType_Int32, NULL);
    case 3:
        return wnnGraphBuilderAdd(
            builder, wnnGraphBuilderMul(builder, wnnGraphBuilderDiv(builder, size, three, NULL), three, NULL),
            wnnGraphBuilderModulusFloor(builder, size, three, NULL), NULL);
    default:
        return size;
    }
}

static WNNOperand list_operand(const struct trial *trial, struct recording *recording,
                               const struct node *node, WNNUint32List list)
{
    WNNOperand items[WNN_MAX_RANK];
    uint32_t none = 0;
    const WNNOperandDescriptor descriptor = {NULL, WNNDataType_Int32, {&none, 1}};
    for (size_t i = 0; i < list.count && i < WNN_MAX_RANK; i++)
        items[i] = size_operand(trial, recording, node, list.data[i], i);
    return list.count ? wnnGraphBuilderConcat(recording->builder, list.count, items, 0, NULL)
                      : wnnGraphBuilderConstant(recording->builder, &descriptor, NULL, 0);
}

// Records a node now and then by the operator whose sizes are operands.
static bool record_dynamic(const struct trial *trial, struct recording *recording, const struct node *node,
                           WNNOperand *out)
{
    enum op form = wnn_random_dynamic_form((enum op)node->op);
    _Alignas(16) char attrs[256];
    WNNOperand in[3] = {recording->operands[node->in[0]->index]};
    size_t count = 1;
    if (form == WNN_OP_COUNT || choose(trial->seed, 9, node->index, 0) % 100 >= 50)
        return false;
    wnn_random_dynamic_attrs(form, node->attrs, attrs);
    for (const struct op_row *row = wnn_ops[form].rows; row->name; row++) {
        WNNUint32List list;
        if (!wnn_random_dynamic_list(form, row, node->attrs, &list))
            continue;
        if (list.count > WNN_MAX_RANK)
            return false;
        WNNOperand operand = list_operand(trial, recording, node, list);
        if (row->kind == ROW_OPTIONAL_INPUT)
            memcpy(attrs + row->offset, &operand, sizeof operand);
        else
            in[count++] = operand;
    }
    wnn_builder_call(recording->builder, form, count, in, attrs, node->out_count, out);
    return true;
}

static void record_node(const struct trial *trial, struct recording *recording, const struct node *node)
{
    struct arena arena;
    struct allocator allocator;
    uint32_t items[4][WNN_MAX_RANK];
    wnn_allocator_init(&allocator, NULL, 0);
    wnn_arena_init(&arena, &allocator);
    WNNOperand *in = wnn_arena_allocate(&arena, (node->in_count + 1) * sizeof *in),
               *out = wnn_arena_allocate(&arena, (node->out_count + 1) * sizeof *out);
    char *attrs = wnn_op_copy_attrs(&arena, (enum op)node->op, node->attrs);
    if (!in || !out || !attrs)
        abort();
    bool list = wnn_ops[node->op].rows[0].kind == ROW_INPUT_LIST;
    size_t count = 0;
    for (unsigned i = 0; list && i < node->in_count; i++)
        in[count++] = recording->operands[node->in[i]->index];
    for (const struct op_row *row = wnn_ops[node->op].rows; !list && row->name && row->kind == ROW_INPUT;
         row++, count++)
        in[count] = recording->operands[node->in[count]->index];
    if (!(node->in_count && node->in[0] && record_dynamic(trial, recording, node, out)) &&
        translate(trial, recording, node, attrs, items))
        wnn_builder_call(recording->builder, (enum op)node->op, count, in, attrs, node->out_count, out);
    for (unsigned i = 0; i < node->out_count; i++)
        recording->operands[node->out[i]->index] = out[i];
    wnn_arena_free(&arena);
}

// An output that has lost its dimensions of size 1 now and then, and with that its rank if sizes are not
// known.
static WNNOperand squeeze(const struct trial *trial, WNNGraphBuilder builder, WNNOperand output, size_t i)
{
    uint64_t choice = choose(trial->seed, 12, i, 0) % 100;
    if (choice >= 30)
        return output;
    output = wnnGraphBuilderSqueeze(builder, output, NULL);
    if (choice % 3 == 0)
        return wnnGraphBuilderTranspose(builder, output, NULL);
    return choice % 3 == 1 ? wnnGraphBuilderConcat(builder, 2, (WNNOperand[]){output, output}, 0, NULL)
                           : output;
}

static void record(const struct trial *trial, struct recording *recording)
{
    const struct graph *source = trial->source;
    recording->operands = calloc(source->operand_count + 1, sizeof *recording->operands);
    if (!recording->operands || wnnContextCreateGraphBuilder(trial->context, &recording->builder))
        abort();
    for (size_t i = 0; i < source->operand_count; i++) {
        if (source->operands[i]->input)
            record_input(trial, recording, source->operands[i]);
        else if (source->operands[i]->constant)
            record_constant(recording, source->operands[i]);
    }
    WNNError error;
    wnnGraphBuilderGetError(recording->builder, &error);
    for (size_t i = 0; i < source->node_count && error.status == WNNStatus_Success; i++) {
        record_node(trial, recording, source->nodes[i]);
        wnnGraphBuilderGetError(recording->builder, &error);
    }
    for (size_t i = 0; i < trial->random->output_count && error.status == WNNStatus_Success; i++) {
        uint32_t index = wnn_operand(trial->random->outputs[i].value->operand)->index;
        recording->operands[index] = squeeze(trial, recording->builder, recording->operands[index], i);
        wnnGraphBuilderGetError(recording->builder, &error);
    }
    snprintf(recording->refusal, sizeof recording->refusal, "%s", error.message.data);
}

static void forget(struct recording *recording)
{
    wnnGraphBuilderRelease(recording->builder);
    free(recording->operands);
}

// ---------------------------------------------------------------------------------------------------------------
// Computing
// ---------------------------------------------------------------------------------------------------------------

struct result {
    char refusal[1024];
    size_t count, bytes[MAX_VALUES];
    WNNDataType types[MAX_VALUES];
    void *data[MAX_VALUES];
};

// How what has names comes to be a graph.
static enum {
    BUILT,
    SERIALIZED,
    COMPILED,
    WEIGHTLESS
} travels;

// Who gets what was saved with mistakes, how often, and how often that was taken for a graph.
static WNNContext spoiled;
static size_t spoiled_count, loaded_count;

static size_t list_outputs(const struct recording *recording, const struct random_graph *random,
                           WNNNamedOperand *outputs)
{
    for (size_t i = 0; i < random->output_count; i++)
        outputs[i] =
            (WNNNamedOperand){{random->outputs[i].name, WNN_STRLEN},
                              recording->operands[wnn_operand(random->outputs[i].value->operand)->index]};
    return random->output_count;
}

// Constants of a graph that can be saved have been computed as any processor does it.
static const WNNSavable savable = WNN_SAVABLE_INIT;

// All graphs share their weights, if there is an object.
static WNNWeightSharing sharing = WNN_WEIGHT_SHARING_INIT;

static WNNGraph build(WNNContext context, const struct recording *recording,
                      const struct random_graph *random, const WNNChainedStruct *chain, char *refusal,
                      size_t size)
{
    WNNNamedOperand outputs[MAX_VALUES];
    size_t count = list_outputs(recording, random, outputs);
    WNNGraph graph = NULL;
    wnn_build_chained(context, recording->builder, chain, count, outputs, &graph, size, refusal);
    return graph;
}

static WNNGraph build_serialized(WNNContext context, const struct recording *recording,
                                 const struct random_graph *random, char *refusal, size_t size)
{
    WNNNamedOperand outputs[MAX_VALUES];
    size_t count = list_outputs(recording, random, outputs);
    WNNDeserializedGraph read = WNN_DESERIALIZED_GRAPH_INIT;
    WNNGraphBuilder builder;
    WNNGraph graph = NULL;
    if (wnnContextCreateGraphBuilder(context, &builder))
        abort();
    const char *problem =
        wnn_serialize_across(recording->builder, count, outputs, false, builder, &read, size, refusal);
    if (problem && problem != refusal)
        snprintf(refusal, size, "%s", problem);
    if (!problem)
        wnnGraphBuilderBuildSync(builder, read.outputCount, read.outputs, &graph, size, refusal);
    wnnGraphBuilderRelease(builder);
    return graph;
}

// Builds, saves, loads and saves again, which makes the same bytes.
static WNNGraph build_compiled(WNNContext context, const struct recording *recording,
                               const struct random_graph *random, char *refusal, size_t size)
{
    WNNGraph graph = build(context, recording, random, &savable.chain, refusal, size), loaded = NULL;
    struct serialized bytes = {0}, again = {0};
    if (graph && !wnn_save_graph(graph, &bytes, size, refusal) &&
        !wnn_load_copy(context, bytes.data, bytes.size, &loaded, size, refusal) &&
        !wnn_save_graph(loaded, &again, size, refusal) && !wnn_serialized_equal(&bytes, &again))
        snprintf(refusal, size, "what was loaded is saved as something else");
    if (spoiled && bytes.size)
        loaded_count += wnn_try_spoiled(spoiled, &bytes, NULL, spoiled_count, bytes.size);
    wnnGraphRelease(graph);
    free(bytes.data);
    free(again.data);
    return loaded;
}

static WNNGraph build_weightless(WNNContext context, const struct recording *recording,
                                 const struct random_graph *random, uint64_t seed, char *refusal, size_t size)
{
    WNNNamedOperand outputs[MAX_VALUES];
    size_t count = list_outputs(recording, random, outputs);
    struct serialized bytes = {0};
    const WNNConstantSource source = wnn_source_of(recording->builder);
    WNNGraph graph =
        wnn_build_weightless(context, recording->builder, count, outputs, seed, &bytes, size, refusal);
    if (spoiled && bytes.size)
        loaded_count += wnn_try_spoiled(spoiled, &bytes, &source, spoiled_count, bytes.size);
    free(bytes.data);
    return graph;
}

static const struct operand *find_input(const struct graph *source, WNNStringView name)
{
    for (size_t i = 0; i < source->operand_count; i++)
        if (source->operands[i]->input &&
            wnn_string_equal(wnn_operand_name(source->operands[i]), wnn_string(name)))
            return source->operands[i];
    abort();
}

// Elements that mean something in every type: small whole numbers, which all indices are below.
static void fill(const struct descriptor *type, void *data, uint64_t seed)
{
    for (size_t i = 0; i < wnn_shape_elements(&type->shape); i++)
        wnn_number_store(wnn_number_convert(wnnNumberInt64((int64_t)(choose(seed, i, 8, 8) % 3)), type->type),
                         type->type, data, i);
}

static atomic_ulong compiled; // shaders

static size_t load_nothing(const void *key, size_t length, void *data, size_t capacity, void *unused)
{
    (void)key, (void)length, (void)data, (void)capacity, (void)unused;
    return 0;
}

static void count_shader(const void *key, size_t length, const void *data, size_t bytes, void *unused)
{
    (void)key, (void)length, (void)data, (void)bytes, (void)unused;
    atomic_fetch_add(&compiled, 1);
}

// What an operator says, without who was asked.
static const char *reason_of(const char *refusal)
{
    static const char *const methods[] = {"compute: ", "computeShapes: ", "dispatch: ", "build: "};
    for (unsigned i = 0; i < 4; i++)
        if (strncmp(refusal, methods[i], strlen(methods[i])) == 0)
            return refusal + strlen(methods[i]);
    return refusal;
}

static void note_refusal(WNNStatus status, WNNStringView message, void *text, void *unused)
{
    (void)unused;
    if (status != WNNStatus_Success)
        wnn_text_add(text, "%.*s", (int)message.length, message.data);
}

// The inputs of an execution, of which the graph is told the shapes, and room for its outputs.
struct ports {
    size_t count, output_count;
    WNNNamedBuffer inputs[MAX_VALUES], outputs[MAX_VALUES];
    WNNNamedShape shapes[MAX_VALUES];
    uint32_t sizes[MAX_VALUES][WNN_MAX_RANK];
    WNNOutputShape made[MAX_VALUES];
};

static void make_inputs(const struct trial *trial, WNNGraph graph, struct ports *ports)
{
    const WNNNamedDescriptor *needed = wnnGraphGetInputs(graph, &ports->count);
    for (size_t i = 0; i < ports->count; i++) {
        const struct operand *input = find_input(trial->source, needed[i].name);
        struct descriptor type = input->type;
        for (unsigned d = 0; d < type.shape.rank; d++)
            type.shape.dim[d] = ports->sizes[i][d] = size_of(trial, input, d);
        size_t bytes = wnn_descriptor_bytes(&type);
        ports->shapes[i] = (WNNNamedShape){needed[i].name, {ports->sizes[i], type.shape.rank}};
        ports->inputs[i] = (WNNNamedBuffer){needed[i].name, calloc(bytes + 1, 1), bytes, type.type};
        fill(&type, ports->inputs[i].data, trial->seed + i);
    }
}

static void make_outputs(struct ports *ports, struct result *result)
{
    result->count = ports->output_count;
    for (size_t i = 0; i < ports->output_count; i++) {
        const WNNOutputShape *made = &ports->made[i];
        result->bytes[i] = made->byteLength;
        result->types[i] = made->dataType;
        result->data[i] = malloc(made->byteLength + 1);
        memset(result->data[i], 0x5A, made->byteLength + 1);
        ports->outputs[i] = (WNNNamedBuffer){made->name, result->data[i], made->byteLength, made->dataType};
    }
}

static WNNTensor create_tensor(const struct trial *trial, WNNDataType type, WNNUint32List shape)
{
    WNNTensor tensor = NULL;
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = type;
    descriptor.shape = shape;
    descriptor.readable = descriptor.writable = true;
    if (wnnContextCreateTensor(trial->context, &descriptor, &tensor) != WNNStatus_Success)
        abort();
    return tensor;
}

// What dispatch() says, without its name: empty if it has computed.
static void dispatch(const struct trial *trial, WNNGraph graph, const struct ports *ports,
                     const WNNNamedTensor *inputs, const WNNNamedTensor *outputs, char *refusal, size_t size)
{
    struct text text = {refusal, size, 0};
    refusal[0] = 0;
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputCount = ports->count;
    descriptor.outputCount = ports->output_count;
    descriptor.inputs = inputs;
    descriptor.outputs = outputs;
    WNNRequestCallbackInfo callback = WNN_REQUEST_CALLBACK_INFO_INIT;
    callback.mode = WNNCallbackMode_WaitAnyOnly;
    callback.callback = note_refusal;
    callback.userdata1 = &text;
    WNNFutureWaitInfo wait = {wnnContextDispatch(trial->context, &descriptor, callback), false};
    wnnContextWaitAny(trial->context, 1, &wait, WNN_WAIT_FOREVER);
}

// The input that output `i` is to replace: one of its type and shape, which no other output replaces.
// SIZE_MAX: there is none.
static size_t find_replaced(const struct ports *ports, size_t i, bool *taken)
{
    const WNNOutputShape *made = &ports->made[i];
    for (size_t k = 0; k < ports->count; k++) {
        WNNUint32List shape = ports->shapes[k].shape;
        if (taken[k] || ports->inputs[k].dataType != made->dataType || shape.count != made->rank ||
            (made->rank && memcmp(shape.data, made->dimensions, made->rank * sizeof shape.data[0]) != 0))
            continue;
        taken[k] = true;
        return k;
    }
    return SIZE_MAX;
}

static uint64_t replaced_count;

static uint64_t replaced_count;

// On tensors, where with `replacing` outputs lie where inputs of their type do; results go to `data`. False:
// an input has changed that was to stay.
static bool run_on_tensors(const struct trial *trial, WNNGraph graph, const struct ports *ports,
                           bool replacing, void *const *data, char *refusal, size_t size)
{
    WNNNamedTensor in[MAX_VALUES], out[MAX_VALUES];
    bool taken[MAX_VALUES] = {false}, untouched = true;
    size_t place[MAX_VALUES];
    for (size_t i = 0; i < ports->count; i++) {
        const WNNNamedBuffer *buffer = &ports->inputs[i];
        in[i] =
            (WNNNamedTensor){buffer->name, create_tensor(trial, buffer->dataType, ports->shapes[i].shape)};
        wnnContextWriteTensor(trial->context, in[i].tensor, buffer->data, buffer->byteLength);
    }
    for (size_t i = 0; i < ports->output_count; i++) {
        const WNNOutputShape *made = &ports->made[i];
        place[i] = replacing ? find_replaced(ports, i, taken) : SIZE_MAX;
        out[i] = (WNNNamedTensor){
            made->name, place[i] != SIZE_MAX ? in[place[i]].tensor
                                             : create_tensor(trial, made->dataType,
                                                             (WNNUint32List){made->dimensions, made->rank})};
    }
    dispatch(trial, graph, ports, in, out, refusal, size);
    for (size_t i = 0; i < ports->output_count && !refusal[0]; i++)
        wnnContextReadTensorSync(trial->context, out[i].tensor, data[i], ports->made[i].byteLength, size,
                                 refusal);
    for (size_t i = 0; i < ports->count && !refusal[0]; i++) {
        void *bytes = calloc(1, ports->inputs[i].byteLength + 1);
        wnnContextReadTensorSync(trial->context, in[i].tensor, bytes, ports->inputs[i].byteLength, size,
                                 refusal);
        replaced_count += taken[i];
        replaced_count += taken[i];
        untouched &= taken[i] || memcmp(bytes, ports->inputs[i].data, ports->inputs[i].byteLength) == 0;
        free(bytes);
    }
    for (size_t i = 0; i < ports->output_count; i++)
        if (place[i] == SIZE_MAX)
            wnnTensorRelease(out[i].tensor);
    for (size_t i = 0; i < ports->count; i++)
        wnnTensorRelease(in[i].tensor);
    return untouched;
}

// On tensors of its own, then with outputs in the place of inputs, which must not make a difference.
static void compute_on_tensors(const struct trial *trial, WNNGraph graph, const struct ports *ports,
                               struct result *result)
{
    void *again[MAX_VALUES];
    bool good =
        run_on_tensors(trial, graph, ports, false, result->data, result->refusal, sizeof result->refusal);
    if (!result->refusal[0] && good) {
        for (size_t i = 0; i < result->count; i++)
            again[i] = calloc(1, result->bytes[i] + 1);
        good = run_on_tensors(trial, graph, ports, true, again, result->refusal, sizeof result->refusal);
        for (size_t i = 0; i < result->count; i++) {
            good &= result->refusal[0] || memcmp(again[i], result->data[i], result->bytes[i]) == 0;
            free(again[i]);
        }
    }
    if (!good)
        snprintf(result->refusal, sizeof result->refusal, "an output differs in the place of an input");
}

// Where shapes cannot be computed, dispatch() says why as computeShapes() does.
static void require_refused(const struct trial *trial, WNNGraph graph, const struct ports *ports,
                            struct result *result)
{
    char refusal[1024];
    WNNNamedTensor in[MAX_VALUES], out[MAX_VALUES];
    WNNTensor any = create_tensor(trial, WNNDataType_Float32, (WNNUint32List){NULL, 0});
    for (size_t i = 0; i < ports->count; i++)
        in[i] = (WNNNamedTensor){ports->inputs[i].name,
                                 create_tensor(trial, ports->inputs[i].dataType, ports->shapes[i].shape)};
    const WNNNamedDescriptor *outputs = wnnGraphGetOutputs(graph, &(size_t){0});
    for (size_t i = 0; i < ports->output_count; i++)
        out[i] = (WNNNamedTensor){outputs[i].name, any};
    dispatch(trial, graph, ports, in, out, refusal, sizeof refusal);
    if (strcmp(reason_of(refusal), reason_of(result->refusal)) != 0)
        snprintf(result->refusal, sizeof result->refusal, "dispatch says \"%.900s\"", refusal);
    for (size_t i = 0; i < ports->count; i++)
        wnnTensorRelease(in[i].tensor);
    wnnTensorRelease(any);
}

static void compute_on_memory(const struct trial *trial, WNNGraph graph, const struct ports *ports,
                              struct result *result)
{
    WNNInputShapes given = {{NULL, WNNSType_InputShapes}, ports->count, ports->shapes};
    WNNComputeDescriptor descriptor = {&given.chain,        WNN_STRING_VIEW_INIT, graph,         ports->count,
                                       ports->output_count, ports->inputs,        ports->outputs};
    wnnContextComputeSync(trial->context, &descriptor, sizeof result->refusal, result->refusal);
}

static void compute(const struct trial *trial, WNNGraph graph, bool tensors, struct result *result)
{
    struct ports *ports = calloc(1, sizeof *ports);
    wnnGraphGetOutputs(graph, &ports->output_count);
    make_inputs(trial, graph, ports);
    if (!wnnGraphComputeShapes(graph, ports->count, ports->shapes, ports->output_count, ports->made,
                               sizeof result->refusal, result->refusal)) {
        make_outputs(ports, result);
        (tensors ? compute_on_tensors : compute_on_memory)(trial, graph, ports, result);
    } else if (tensors) {
        require_refused(trial, graph, ports, result);
    }
    for (size_t i = 0; i < ports->count; i++)
        free(ports->inputs[i].data);
    free(ports);
}

static void clear(struct result *result)
{
    for (size_t i = 0; i < result->count; i++)
        free(result->data[i]);
}

static bool fail(const struct trial *trial, const char *what, const char *one, const char *other)
{
    fprintf(stderr, "graph %" PRIu64 ", sizes %u: %s\n  names: %s\n  sizes: %s\n", trial->seed, trial->set,
            what, one, other);
    return false;
}

enum {
    FEW_UNITS = 64 // in the last place of the greatest element
};

// Whether two outputs that are not the same bits are near one another; integers never are.
static bool are_near(WNNDataType type, size_t bytes, const void *one, const void *other)
{
    size_t count = bytes * 8 / wnn_dtype_bits(type);
    double most = 0, unit = type == WNNDataType_Float16 ? 0x1p-11 : 0x1p-24;
    for (size_t i = 0; i < count; i++) {
        double x = fabs(wnn_number_double(wnn_number_load(type, one, i)));
        most = isfinite(x) && x > most ? x : most;
    }
    for (size_t i = 0; i < count; i++) {
        double x = wnn_number_double(wnn_number_load(type, one, i)),
               y = wnn_number_double(wnn_number_load(type, other, i));
        if (!(x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= FEW_UNITS * unit * most))
            return false;
    }
    return wnn_dtype_is_float(type);
}

static bool compare(const struct trial *trial, const struct result *late, const struct result *known,
                    bool exact, uint64_t *near_count)
{
    if (strcmp(reason_of(late->refusal), reason_of(known->refusal)) != 0)
        return fail(trial, "one is refused, or for another reason", late->refusal, known->refusal);
    for (size_t i = 0; late->refusal[0] == 0 && i < known->count; i++)
        if (late->bytes[i] != known->bytes[i] || late->types[i] != known->types[i]) {
            return fail(trial, "results of another size", "", "");
        } else if (memcmp(late->data[i], known->data[i], known->bytes[i]) != 0) {
            if (exact || !are_near(known->types[i], known->bytes[i], late->data[i], known->data[i]))
                return fail(trial, "other results", "", "");
            ++*near_count;
        }
    return true;
}

struct tally {
    uint64_t graphs, refused_early, sets, refused, computed, outputs, near;
    uint64_t shaders, further,
        with_more; // compiled by the first sizes; further ones, and how many of them did
    bool exact, tensors;
};

static bool try_sizes(struct trial *trial, const struct random_graph *random, WNNGraph late,
                      const char *refusal, struct tally *tally)
{
    struct recording recording = {.builder = NULL};
    static struct result known, of_late;
    known.count = of_late.count = 0;
    known.refusal[0] = of_late.refusal[0] = 0;
    record(trial, &recording);
    WNNGraph graph = NULL;
    bool stored = travels >= COMPILED && late && !late->late; // all of it, since no size of it is open
    if (recording.refusal[0])
        memcpy(known.refusal, recording.refusal, sizeof known.refusal);
    else
        graph = build(trial->context, &recording, random,
                      stored            ? &savable.chain
                      : sharing.weights ? &sharing.chain
                                        : NULL,
                      known.refusal, sizeof known.refusal);
    if (graph)
        compute(trial, graph, false, &known);
    bool good = true;
    // What is certainly wrong is wrong here; and a rank has to be known. With several axes argMin is recorded
    // here as the compiler has it, for which there is no call where the rank is not known.
    if (!late)
        good = known.refusal[0] || strstr(refusal, "coordinates of an unknown number") ||
               (travels != BUILT && strstr(refusal, "which this form is not for")) ||
               fail(trial, "only names are refused", refusal, "");
    else
        compute(trial, late, tally->tensors, &of_late);
    // Where all sizes are known, what is promised is computed in another order: that is for
    // webnn-random-graphs.
    if (late && (late->late || travels != WEIGHTLESS))
        good = compare(trial, &of_late, &known, tally->exact, &tally->near);
    tally->sets++;
    tally->refused += known.refusal[0] != 0;
    tally->computed += late && known.refusal[0] == 0;
    tally->outputs += late && known.refusal[0] == 0 ? known.count : 0;
    clear(&known);
    clear(&of_late);
    wnnGraphRelease(graph);
    forget(&recording);
    return good;
}

// A graph with names, and what it was made of.
struct late_graph {
    struct trial trial;
    WNNGraphBuilder builder;
    struct random_graph random;
    struct recording recording;
    WNNGraph graph; // NULL: it is refused
    char refusal[1024];
};

static void begin(struct late_graph *late, WNNContext context, uint64_t seed, bool alike)
{
    if (wnnContextCreateGraphBuilder(context, &late->builder))
        abort();
    wnn_random_graph(seed, (struct random_kind){.small = true}, late->builder, &late->random);
    late->trial = (struct trial){seed, context, &late->random, &late->builder->graph, SETS, alike};
    late->recording = (struct recording){.builder = NULL};
    record(&late->trial, &late->recording);
    memcpy(late->refusal, late->recording.refusal, sizeof late->refusal);
    late->graph = NULL;
    if (late->refusal[0])
        return;
    switch (travels) {
    case BUILT:
        late->graph = build(context, &late->recording, &late->random, sharing.weights ? &sharing.chain : NULL,
                            late->refusal, sizeof late->refusal);
        return;
    case SERIALIZED:
        late->graph =
            build_serialized(context, &late->recording, &late->random, late->refusal, sizeof late->refusal);
        return;
    case WEIGHTLESS:
        late->graph = build_weightless(context, &late->recording, &late->random, seed, late->refusal,
                                       sizeof late->refusal);
        return;
    default:
        late->graph =
            build_compiled(context, &late->recording, &late->random, late->refusal, sizeof late->refusal);
        return;
    }
}

static void end(struct late_graph *late)
{
    wnnGraphRelease(late->graph);
    forget(&late->recording);
    wnn_random_graph_free(&late->random);
    wnnGraphBuilderRelease(late->builder);
}

static bool try_graph(WNNContext context, uint64_t seed, struct tally *tally)
{
    static struct late_graph late;
    begin(&late, context, seed, false);
    tally->graphs++;
    tally->refused_early += !late.graph;
    bool good = true;
    for (late.trial.set = 0; late.trial.set < SETS; late.trial.set++)
        good &= try_sizes(&late.trial, &late.random, late.graph, late.refusal, tally);
    end(&late);
    return good;
}

// Whether there is a size that compiles no shader behind one that was computed.
static bool try_shaders(WNNContext context, uint64_t seed, struct tally *tally)
{
    static struct late_graph late;
    unsigned computed = 0, more = 0;
    begin(&late, context, seed, true);
    for (late.trial.set = 0; late.graph && late.trial.set <= FURTHER; late.trial.set++) {
        static struct result result;
        result.count = 0;
        result.refusal[0] = 0;
        unsigned long before = atomic_load(&compiled);
        compute(&late.trial, late.graph, false, &result);
        unsigned long made = atomic_load(&compiled) - before;
        if (!result.refusal[0]) {
            tally->shaders += computed == 0 ? made : 0;
            tally->further += computed > 0;
            more += computed > 0 && made > 0;
            computed++;
        }
        clear(&result);
    }
    tally->graphs += computed > 1;
    tally->with_more += more;
    bool good = computed < 3 || more < computed - 1;
    if (!good)
        fprintf(stderr, "graph %" PRIu64 ": every size compiles a shader\n", seed);
    end(&late);
    return good;
}

static int tell_computed(const struct tally *tally, uint64_t count, uint64_t failed)
{
    printf("%" PRIu64 " graphs, %" PRIu64 " certainly wrong; %" PRIu64 " sizes, %" PRIu64
           " of them refused, %" PRIu64 " computed; %" PRIu64 " of %" PRIu64
           " outputs differ by a few units, %" PRIu64 " inputs replaced; %" PRIu64 " graphs failed\n",
           tally->graphs, tally->refused_early, tally->sets, tally->refused, tally->computed, tally->near,
           tally->outputs, replaced_count, failed);
    return failed > 0 || (tally->tensors && count >= 100 && replaced_count == 0);
}

static int tell_shaders(const struct tally *tally, uint64_t failed)
{
    printf("%" PRIu64 " graphs of %" PRIu64 " shaders; %" PRIu64 " further sizes, of which %" PRIu64
           " compiled one; %" PRIu64 " graphs failed\n",
           tally->graphs, tally->shaders, tally->further, tally->with_more, failed);
    return failed > 0 || tally->further == 0 || tally->shaders == 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"count", required_argument, NULL, 'c'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"backend", required_argument, NULL, 'b'},
                                            {"tensors", no_argument, NULL, 't'},
                                            {"shaders", no_argument, NULL, 'h'},
                                            {"serialized", no_argument, NULL, 'z'},
                                            {"compiled", no_argument, NULL, 'f'},
                                            {"shared", no_argument, NULL, 'w'},
                                            {"spoiled", required_argument, NULL, 'm'},
                                            {"weightless", no_argument, NULL, 'n'},
                                            {NULL, 0, NULL, 0}};
    uint64_t count = 200, seed = 1, failed = 0;
    const char *name = "cpu";
    struct tally tally = {0};
    bool shaders = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'c') {
            count = strtoull(optarg, NULL, 10);
        } else if (option == 's') {
            seed = strtoull(optarg, NULL, 10);
        } else if (option == 'b') {
            name = optarg;
        } else if (option == 't') {
            tally.tensors = true;
        } else if (option == 'z' || option == 'f' || option == 'n') {
            travels = option == 'z' ? SERIALIZED : option == 'f' ? COMPILED : WEIGHTLESS;
        } else if (option == 'm') {
            spoiled_count = strtoull(optarg, NULL, 10);
        } else if (option == 'h') {
            shaders = true;
        } else if (option == 'w' && !sharing.weights) {
            if (wnnCreateSharedWeights(NULL, &sharing.weights))
                abort();
        } else {
            fputs(usage, stderr);
            return 2;
        }
    }
    static const WNNLimits limits = {.maxTensorByteLength = 1u << 20,
                                     .maxMemoryBytes = 64u << 20,
                                     .maxOperatorWork = 1u << 22,
                                     .maxGraphWork = 1u << 24,
                                     .maxConstantBytes = 1u << 24,
                                     .maxOperators = 2000,
                                     .maxOperands = 4000};
    WNNContextDescriptor few = WNN_CONTEXT_DESCRIPTOR_INIT;
    few.limits = &limits;
    few.threadCount = 1;
    static const WNNCache cache = {NULL, load_nothing, count_shader, NULL};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.cache = &cache;
    const struct backend *backend = find_backend(name);
    WNNContext context = NULL;
    if (!backend) {
        fputs(usage, stderr);
        return 2;
    }
    if (wnn_create_context_on(backend, &descriptor, &context)) {
        puts("skipped: there is no device");
        return 77;
    }
    if (spoiled_count && wnn_create_context_on(backend, &few, &spoiled))
        abort();
    wnn_context_set_sharing(context, true);
    tally.exact = !strstr(name, "vulkan");
    for (uint64_t i = 0; i < count; i++)
        failed += shaders ? !try_shaders(context, seed + i, &tally) : !try_graph(context, seed + i, &tally);
    wnnContextRelease(context);
    wnnContextRelease(spoiled);
    failed += wnnSharedWeightsGetByteLength(sharing.weights) > 0;
    wnnSharedWeightsRelease(sharing.weights);
    if (spoiled_count)
        printf("%zu graphs with mistakes were taken for some\n", loaded_count);
    failed += spoiled_count && loaded_count == 0;
    return shaders ? tell_shaders(&tally, failed) : tell_computed(&tally, count, failed);
}
