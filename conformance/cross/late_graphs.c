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

#include "conformance/backends.h"
#include "conformance/cross/generate.h"
#include "conformance/test.h"
#include "ops/builder.h"
#include "runtime/context.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: webnn-late-graphs [--count=N] [--seed=S] [--backend=NAME]\n"
                            "\n"
                            "  --count=N         how many graphs (200)\n"
                            "  --seed=S          of the first (1)\n"
                            "  --backend=NAME    what computes them (cpu)\n";

enum {
    SETS = 4,            // of sizes, the first of which is the one that the graph was generated with
    MOST_ELEMENTS = 4096 // of an input
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
    const struct graph *source;
    unsigned set; // of sizes; SETS: names
};

// One recording, by the index of the operands of the source.
struct recording {
    WNNGraphBuilder builder;
    WNNOperand *operands;
    char refusal[1024]; // empty: none
};

static bool has_name(const struct trial *trial, const struct operand *input, unsigned d)
{
    return choose(trial->seed, 1, input->index, d) % 100 < 70;
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
    if (!has_name(trial, input, d) || trial->set == 0)
        return input->type.shape.dim[d];
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
        wnnGraphBuilderInput(recording->builder, wnn_string_view(input->name), &descriptor);
}

static void record_constant(struct recording *recording, const struct operand *constant)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = constant->type.type;
    descriptor.shape = (WNNUint32List){constant->type.shape.dim, constant->type.shape.rank};
    recording->operands[constant->index] = wnnGraphBuilderConstant(
        recording->builder, &descriptor, constant->constant->data, constant->constant->bytes);
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
        if (d < shape->rank && shape->dim[d] == items[i] && choose(trial->seed, 7, node->index, i) % 100 < 80)
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

static WNNGraph build(const struct recording *recording, const struct random_graph *random, char *refusal,
                      size_t size)
{
    WNNNamedOperand outputs[MAX_VALUES];
    for (size_t i = 0; i < random->output_count; i++)
        outputs[i] =
            (WNNNamedOperand){{random->outputs[i].name, WNN_STRLEN},
                              recording->operands[wnn_operand(random->outputs[i].value->operand)->index]};
    WNNGraph graph = NULL;
    wnnGraphBuilderBuildSync(recording->builder, random->output_count, outputs, &graph, size, refusal);
    return graph;
}

static const struct operand *find_input(const struct graph *source, WNNStringView name)
{
    for (size_t i = 0; i < source->operand_count; i++)
        if (source->operands[i]->input && wnn_string_equal(source->operands[i]->name, wnn_string(name)))
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

static void compute(const struct trial *trial, WNNGraph graph, struct result *result)
{
    WNNNamedBuffer inputs[MAX_VALUES], outputs[MAX_VALUES];
    WNNNamedShape shapes[MAX_VALUES];
    uint32_t sizes[MAX_VALUES][WNN_MAX_RANK];
    WNNOutputShape *made = calloc(MAX_VALUES, sizeof *made);
    size_t count, output_count;
    const WNNNamedDescriptor *needed = wnnGraphGetInputs(graph, &count);
    wnnGraphGetOutputs(graph, &output_count);
    for (size_t i = 0; i < count; i++) {
        const struct operand *input = find_input(trial->source, needed[i].name);
        struct descriptor type = input->type;
        for (unsigned d = 0; d < type.shape.rank; d++)
            type.shape.dim[d] = sizes[i][d] = size_of(trial, input, d);
        size_t bytes = wnn_descriptor_bytes(&type);
        shapes[i] = (WNNNamedShape){needed[i].name, {sizes[i], type.shape.rank}};
        inputs[i] = (WNNNamedBuffer){needed[i].name, calloc(bytes + 1, 1), bytes, type.type};
        fill(&type, inputs[i].data, trial->seed + i);
    }
    WNNInputShapes given = {{NULL, WNNSType_InputShapes}, count, shapes};
    if (!wnnGraphComputeShapes(graph, count, shapes, output_count, made, sizeof result->refusal,
                               result->refusal)) {
        result->count = output_count;
        for (size_t i = 0; i < output_count; i++) {
            result->bytes[i] = made[i].byteLength;
            result->types[i] = made[i].dataType;
            result->data[i] = malloc(made[i].byteLength + 1);
            memset(result->data[i], 0x5A, made[i].byteLength + 1);
            outputs[i] =
                (WNNNamedBuffer){made[i].name, result->data[i], made[i].byteLength, made[i].dataType};
        }
        WNNComputeDescriptor descriptor = {
            &given.chain, WNN_STRING_VIEW_INIT, graph, count, output_count, inputs, outputs};
        wnnContextComputeSync(trial->context, &descriptor, sizeof result->refusal, result->refusal);
    }
    for (size_t i = 0; i < count; i++)
        free(inputs[i].data);
    free(made);
}

static void clear(struct result *result)
{
    for (size_t i = 0; i < result->count; i++)
        free(result->data[i]);
}

// What an operator says, without who was asked.
static const char *reason_of(const char *refusal)
{
    static const char *const methods[] = {"compute: ", "computeShapes: ", "build: "};
    for (unsigned i = 0; i < 3; i++)
        if (strncmp(refusal, methods[i], strlen(methods[i])) == 0)
            return refusal + strlen(methods[i]);
    return refusal;
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
    bool exact;
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
    if (recording.refusal[0])
        memcpy(known.refusal, recording.refusal, sizeof known.refusal);
    else
        graph = build(&recording, random, known.refusal, sizeof known.refusal);
    if (graph)
        compute(trial, graph, &known);
    bool good = true;
    // What is certainly wrong is wrong here; and a rank has to be known.
    if (!late)
        good = known.refusal[0] || strstr(refusal, "coordinates of an unknown number") ||
               fail(trial, "only names are refused", refusal, "");
    else
        compute(trial, late, &of_late);
    if (late)
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

static bool try_graph(WNNContext context, uint64_t seed, struct tally *tally)
{
    WNNGraphBuilder builder;
    static struct random_graph random;
    if (wnnContextCreateGraphBuilder(context, &builder))
        abort();
    wnn_random_graph(seed, (struct random_kind){.small = true}, builder, &random);
    struct trial trial = {seed, context, &builder->graph, SETS};
    struct recording recording = {.builder = NULL};
    record(&trial, &recording);
    char refusal[1024];
    memcpy(refusal, recording.refusal, sizeof refusal);
    WNNGraph late = refusal[0] ? NULL : build(&recording, &random, refusal, sizeof refusal);
    tally->graphs++;
    tally->refused_early += !late;
    bool good = true;
    for (trial.set = 0; trial.set < SETS; trial.set++)
        good &= try_sizes(&trial, &random, late, refusal, tally);
    wnnGraphRelease(late);
    forget(&recording);
    wnn_random_graph_free(&random);
    wnnGraphBuilderRelease(builder);
    return good;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"count", required_argument, NULL, 'c'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"backend", required_argument, NULL, 'b'},
                                            {NULL, 0, NULL, 0}};
    uint64_t count = 200, seed = 1, failed = 0;
    const char *name = "cpu";
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'c') {
            count = strtoull(optarg, NULL, 10);
        } else if (option == 's') {
            seed = strtoull(optarg, NULL, 10);
        } else if (option == 'b') {
            name = optarg;
        } else {
            fputs(usage, stderr);
            return 2;
        }
    }
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
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
    wnn_context_set_sharing(context, true);
    struct tally tally = {.exact = !strstr(name, "vulkan")};
    for (uint64_t i = 0; i < count; i++)
        failed += !try_graph(context, seed + i, &tally);
    wnnContextRelease(context);
    printf("%" PRIu64 " graphs, %" PRIu64 " certainly wrong; %" PRIu64 " sizes, %" PRIu64
           " of them refused, %" PRIu64 " computed; %" PRIu64 " of %" PRIu64
           " outputs differ by a few units; %" PRIu64 " graphs failed\n",
           tally.graphs, tally.refused_early, tally.sets, tally.refused, tally.computed, tally.near,
           tally.outputs, failed);
    return failed != 0;
}
