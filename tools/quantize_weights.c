// SPDX-License-Identifier: Apache-2.0
#include "tools/quantize_weights.h"

#include "ops/geometry.h"
#include "tools/memory.h"
#include "tools/quantize_numbers.h"
#include "tools/rebuild.h"
#include "tools/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FLOAT16 65504.0
#define MIN_FLOAT16 0x1p-14 // below it, float16 has fewer bits

// How a node reads an operand as weights: what it sums along these dimensions, by bit, so that all numbers
// along the others can have scales of their own; `blocked` of them can have blocks. Dimensions are the
// operand's.
struct role {
    uint32_t summed;
    unsigned blocked;
    bool table; // rows of it are looked up along the only dimension that is not summed
};

// What is known of a constant.
struct weight {
    const struct operand *constant;
    bool used;            // some node reads it as weights
    bool table_only;      // `role` is a table's
    bool tabled;          // some node looks rows up
    bool widened, narrow; // read through a cast from float16 to float32, read without one
    struct role role;     // of the first node that is not a look-up, or of one
    struct shape scale;   // of integers
    WNNDataType type;     // what is stored; Undefined: what it was
    WNNDataType expanded; // what operators read
    WNNOperand packed[3]; // numbers, scales and zero points in the new graph
    struct converted_constant *result;
};

// Which constant's numbers an operand has, in another order: dimension d of the operand is dimension order[d]
// of the constant.
struct view {
    uint32_t weight; // 1 + an index; 0: none
    bool widened;    // by a cast to float32
    bool moved;      // order is not 0, 1, 2...
    uint8_t order[WNN_MAX_RANK];
};

struct quantizer {
    const struct weights_form *form;
    struct rebuild rebuild;
    struct weight *weights;
    size_t weight_count;
    struct view *views; // by operand of the old graph
    struct progress progress;
};

// ---------------------------------------------------------------------------------------------------------------
// Which constants are weights
// ---------------------------------------------------------------------------------------------------------------

static struct role role_in_product(const struct node *node, unsigned input)
{
    unsigned rank = node->in[input]->type.shape.rank;
    bool transposed = false;
    if (node->op == WNN_OP_gemm) {
        const WNNGemmOptions *options = node->attrs;
        transposed = input == 0 ? options->aTranspose : options->bTranspose;
    }
    // Terms are the columns of a and the rows of b.
    unsigned terms = (input == 0) != transposed ? rank - 1 : rank - 2;
    return (struct role){.summed = 1u << terms, .blocked = terms};
}

static struct role role_as_filter(const struct node *node)
{
    // Output channels, input channels, height and width.
    const uint8_t *axes = wnn_filter_axes((enum op)node->op, node->attrs);
    return (struct role){.summed = 1u << axes[1] | 1u << axes[2] | 1u << axes[3], .blocked = axes[1]};
}

// The rows are those of the units of gates.
static struct role role_in_recurrence(const struct node *node, unsigned input)
{
    unsigned terms = node->in[input]->type.shape.rank - 1;
    return (struct role){.summed = 1u << terms, .blocked = terms};
}

static struct role role_as_table(const struct node *node)
{
    const struct shape *shape = &node->in[0]->type.shape;
    uint32_t axis = ((const WNNGatherOptions *)node->attrs)->axis;
    struct role role = {.summed = ((1u << shape->rank) - 1) & ~(1u << axis), .table = true};
    for (unsigned d = 0; d < shape->rank; d++)
        if (d != axis)
            role.blocked = d;
    return role;
}

// False: the node does not read that input as weights.
static bool find_role(const struct node *node, unsigned input, struct role *role)
{
    bool weights = false;
    switch (wnn_ops[node->op].class) {
    case CLASS_PRODUCT:
        weights = input < 2;
        if (weights)
            *role = role_in_product(node, input);
        break;
    case CLASS_CONVOLUTION:
        weights = input == 1;
        if (weights)
            *role = role_as_filter(node);
        break;
    case CLASS_RECURRENT: // weight and recurrentWeight
        weights = input == 1 || input == 2;
        if (weights)
            *role = role_in_recurrence(node, input);
        break;
    case CLASS_GATHER:
        weights = node->op == WNN_OP_gather && input == 0;
        if (weights)
            *role = role_as_table(node);
        break;
    default:
        break;
    }
    return weights;
}

// The first reason stays.
static void give_reason(struct weight *weight, const char *reason)
{
    if (!weight->result->reason[0])
        snprintf(weight->result->reason, sizeof weight->result->reason, "%s", reason);
}

// What the specification calls an input of a node.
static const char *input_name(const struct node *node, unsigned input)
{
    unsigned rows = wnn_op_input_rows(&wnn_ops[node->op]), end = 0;
    for (const struct op_row *row = wnn_ops[node->op].rows;; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        end += row->kind == ROW_INPUT_LIST ? node->in_count - (rows - 1) : 1;
        if (input < end)
            return row->name;
    }
}

static void give_reader(struct weight *weight, const struct node *node, unsigned input)
{
    char reason[sizeof weight->result->reason];
    snprintf(reason, sizeof reason, "%s of %s", input_name(node, input), wnn_ops[node->op].name);
    give_reason(weight, reason);
}

static void note_role(struct weight *weight, const struct view *view, const struct role *role)
{
    struct role turned = {.blocked = view->order[role->blocked], .table = role->table};
    for (unsigned d = 0; d < weight->constant->type.shape.rank; d++)
        if (role->summed >> d & 1)
            turned.summed |= 1u << view->order[d];
    weight->tabled = weight->tabled || role->table;
    if (!weight->used || (weight->table_only && !role->table)) {
        weight->role = turned;
        weight->table_only = role->table;
    }
    weight->used = true;
    weight->widened = weight->widened || view->widened;
    weight->narrow = weight->narrow || !view->widened;
}

// Whether the node only hands the numbers on; its output then shows them.
static bool note_movement(struct quantizer *quantizer, const struct node *node, const struct view *view)
{
    struct view *output = &quantizer->views[node->out[0]->index];
    const struct operand *in = node->in[0];
    if (node->op == WNN_OP_transpose) {
        const WNNTransposeOptions *options = node->attrs;
        *output = *view;
        output->moved = true;
        for (unsigned d = 0; d < in->type.shape.rank; d++)
            output->order[d] = view->order[options->permutation.data[d]];
        return true;
    }
    bool widens = node->op == WNN_OP_cast && in->type.type == WNNDataType_Float16 &&
                  node->out[0]->type.type == WNNDataType_Float32;
    if (widens) {
        *output = *view;
        output->widened = true;
    }
    return widens;
}

static void note_reader(struct quantizer *quantizer, const struct node *node, unsigned input)
{
    const struct view *view = &quantizer->views[node->in[input]->index];
    struct role role = {0};
    if (!view->weight)
        return;
    struct weight *weight = &quantizer->weights[view->weight - 1];
    if (!weight->result->reader || quantizer->views[weight->result->reader->out[0]->index].weight)
        weight->result->reader = node; // rather one that computes something
    if (find_role(node, input, &role))
        note_role(weight, view, &role);
    else if (!note_movement(quantizer, node, view))
        give_reader(weight, node, input);
}

static bool is_live(const struct quantizer *quantizer, const struct node *node)
{
    for (unsigned i = 0; i < node->out_count; i++)
        if (quantizer->rebuild.live[node->out[i]->index])
            return true;
    return false;
}

static void find_roles(struct quantizer *quantizer)
{
    const struct model *model = quantizer->rebuild.from;
    const struct graph *graph = model_graph(model);
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned k = 0; k < graph->nodes[i]->in_count; k++)
            if (graph->nodes[i]->in[k] && is_live(quantizer, graph->nodes[i]))
                note_reader(quantizer, graph->nodes[i], k);
    for (size_t i = 0; i < model->output_count; i++) {
        const struct view *view = &quantizer->views[wnn_operand(model->outputs[i].operand)->index];
        if (view->weight)
            give_reason(&quantizer->weights[view->weight - 1], "it is an output");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// What they become
// ---------------------------------------------------------------------------------------------------------------

// How many elements of a dimension of `size` make a block, where `wanted` would be right; 0: no number that
// is near divides it.
static uint32_t choose_block(uint32_t size, uint32_t wanted)
{
    if (size <= wanted)
        return size;
    for (uint32_t block = wanted; 2 * (uint64_t)block >= wanted; block--)
        if (size % block == 0)
            return block;
    for (uint64_t block = (uint64_t)wanted + 1; block <= 4 * (uint64_t)wanted && block <= size; block++)
        if (size % block == 0)
            return (uint32_t)block;
    return 0;
}

// The shape of scales for blocks of so many elements, or for whole channels if `block` is 0. False: the
// dimension has no blocks of about that size.
static bool choose_scale(const struct weight *weight, uint32_t block, struct shape *scale)
{
    const struct shape *shape = &weight->constant->type.shape;
    size_t beside = 1; // elements of a block for each along the dimension of blocks
    *scale = *shape;
    for (unsigned d = 0; d < shape->rank; d++) {
        if (!(weight->role.summed >> d & 1))
            continue;
        beside *= d == weight->role.blocked ? 1 : shape->dim[d];
        scale->dim[d] = 1;
    }
    if (!block || !weight->role.summed)
        return true;
    uint32_t wanted = block > beside ? (uint32_t)(block / beside) : 1;
    uint32_t chosen = choose_block(shape->dim[weight->role.blocked], wanted);
    if (chosen)
        scale->dim[weight->role.blocked] = shape->dim[weight->role.blocked] / chosen;
    return chosen != 0;
}

static size_t stored_bytes(const struct weight *weight, WNNDataType type)
{
    size_t numbers = wnn_dtype_bytes(type, wnn_shape_elements(&weight->constant->type.shape));
    if (type == WNNDataType_Float16)
        return numbers;
    size_t scales = wnn_shape_elements(&weight->scale);
    return numbers + wnn_dtype_bytes(weight->expanded, scales) + wnn_dtype_bytes(type, scales);
}

// The type that is stored, and the scales of integers.
static WNNDataType choose_type(const struct weights_form *form, struct weight *weight)
{
    if (form->type == WNNDataType_Float16)
        return WNNDataType_Float16;
    bool is_uint4 = form->type == WNNDataType_Uint4;
    if (is_uint4 && weight->tabled)
        give_reason(weight, "gather takes no 4-bit integers");
    else if (choose_scale(weight, form->block, &weight->scale))
        return form->type;
    else
        give_reason(weight, "no block of about that size divides its terms");
    choose_scale(weight, 0, &weight->scale);
    return WNNDataType_Int8;
}

static bool is_candidate(const struct weights_form *form, struct weight *weight)
{
    const struct descriptor *type = &weight->constant->type;
    if (type->type == form->type)
        give_reason(weight, "it has that data type");
    else if (!weight->used)
        give_reason(weight, "nothing reads it as weights");
    else if (wnn_shape_elements(&type->shape) < form->min_elements)
        give_reason(weight, "it is small");
    return !weight->result->reason[0];
}

// Whether the numbers can be in that form.
static bool check_numbers(const struct weights_form *form, struct weight *weight)
{
    struct numbers numbers = {weight->constant->constant->data, weight->constant->type};
    double most = numbers_magnitude(&numbers);
    bool fit = most <= MAX_FLOAT16 && (most == 0 || most >= MIN_FLOAT16);
    if (isinf(most))
        give_reason(weight, "not all of its numbers are finite");
    else if (form->type == WNNDataType_Float16 && !fit)
        give_reason(weight, "float16 does not hold its numbers");
    return !weight->result->reason[0];
}

static void decide(const struct weights_form *form, struct weight *weight)
{
    struct converted_constant *result = weight->result;
    if (!is_candidate(form, weight) || !check_numbers(form, weight))
        return;
    bool widens = weight->widened && !weight->narrow;
    weight->expanded = widens ? WNNDataType_Float32 : weight->constant->type.type;
    WNNDataType type = choose_type(form, weight);
    size_t bytes = stored_bytes(weight, type);
    if (bytes >= weight->constant->constant->bytes) {
        result->reason[0] = '\0';
        give_reason(weight, "it would not get smaller");
        return;
    }
    weight->type = type;
    result->bytes = bytes;
    result->type.type = type;
    if (type != WNNDataType_Float16)
        result->scale = weight->scale;
}

// ---------------------------------------------------------------------------------------------------------------
// The new graph
// ---------------------------------------------------------------------------------------------------------------

// Records the numbers as they are stored.
static bool record_packed(struct quantizer *quantizer, struct weight *weight)
{
    struct rebuild *rebuild = &quantizer->rebuild;
    struct numbers numbers = {weight->constant->constant->data, weight->constant->type};
    struct descriptor type = {weight->type, numbers.type.shape};
    if (weight->packed[0])
        return true;
    progress_show(&quantizer->progress, (size_t)(weight - quantizer->weights), quantizer->weight_count);
    if (weight->type == WNNDataType_Float16) {
        weight->packed[0] = rebuild_constant(rebuild, &type, numbers_to_float16(&numbers));
        return weight->packed[0] != NULL;
    }
    struct integers integers = quantize_numbers(&numbers, weight->type, &weight->scale, weight->expanded);
    struct descriptor scale = {weight->expanded, weight->scale}, zero_point = {weight->type, weight->scale};
    weight->packed[0] = rebuild_constant(rebuild, &type, integers.data);
    weight->packed[1] = rebuild_constant(rebuild, &scale, integers.scales);
    weight->packed[2] = rebuild_constant(rebuild, &zero_point, integers.zero_points);
    return weight->packed[0] && weight->packed[1] && weight->packed[2];
}

// Records floats of numbers, scales and zero points, the constant's or rows of them. NULL: an error.
static WNNOperand record_floats(struct quantizer *quantizer, const struct weight *weight,
                                const WNNOperand packed[3])
{
    if (weight->type != WNNDataType_Float16)
        return rebuild_call(&quantizer->rebuild, WNN_OP_dequantizeLinear, 3, packed, NULL);
    struct cast_attrs attrs = {.options = WNN_OPERATOR_OPTIONS_INIT, .dataType = WNNDataType_Float32};
    return rebuild_call(&quantizer->rebuild, WNN_OP_cast, 1, packed, &attrs);
}

static struct weight *find_weight(const struct quantizer *quantizer, const struct operand *operand)
{
    uint32_t weight = quantizer->views[operand->index].weight;
    if (!weight || !quantizer->weights[weight - 1].type)
        return NULL;
    return &quantizer->weights[weight - 1];
}

// What stands for a constant, or for what has been cast from one that has become float32 at once.
static bool record_operand(struct rebuild *rebuild, const struct operand *operand, WNNOperand *result)
{
    struct quantizer *quantizer = rebuild->argument;
    struct weight *weight = find_weight(quantizer, operand);
    if (!weight)
        return true;
    if (!operand->constant)
        *result = rebuild_operand(rebuild, operand->producer->in[0]);
    else if (record_packed(quantizer, weight))
        *result = record_floats(quantizer, weight, weight->packed);
    return *result != NULL;
}

// Looks up rows of what is stored, and makes floats of them.
static bool record_lookup(struct quantizer *quantizer, const struct node *node, struct weight *weight)
{
    struct rebuild *rebuild = &quantizer->rebuild;
    WNNOperand rows[3] = {NULL}, indices = rebuild_operand(rebuild, node->in[1]);
    if (!indices || !record_packed(quantizer, weight))
        return false;
    for (unsigned i = 0; i < 3 && weight->packed[i]; i++) {
        rows[i] =
            rebuild_call(rebuild, WNN_OP_gather, 2, (WNNOperand[]){weight->packed[i], indices}, node->attrs);
        if (!rows[i])
            return false;
    }
    rebuild->recorded[node->out[0]->index] = record_floats(quantizer, weight, rows);
    return rebuild->recorded[node->out[0]->index] != NULL;
}

// Whether there are scales for every row that a node looks up.
static bool has_row_scales(const struct node *node, const struct weight *weight)
{
    uint32_t axis = ((const WNNGatherOptions *)node->attrs)->axis;
    return weight->type == WNNDataType_Float16 ||
           weight->scale.dim[axis] == weight->constant->type.shape.dim[axis];
}

static bool record_node(struct rebuild *rebuild, const struct node *node, bool *skip)
{
    struct quantizer *quantizer = rebuild->argument;
    struct weight *weight = node->in_count ? find_weight(quantizer, node->in[0]) : NULL;
    if (!weight)
        return true;
    *skip = node->op == WNN_OP_cast && weight->expanded != weight->constant->type.type;
    bool lookup = node->op == WNN_OP_gather && !quantizer->views[node->in[0]->index].moved &&
                  node->in[0]->type.type == weight->expanded && has_row_scales(node, weight);
    return !lookup || record_lookup(quantizer, node, weight);
}

// ---------------------------------------------------------------------------------------------------------------
// Names
// ---------------------------------------------------------------------------------------------------------------

static bool is_taken(const struct model *model, const char *name)
{
    struct string string = wnn_string((WNNStringView){name, WNN_STRLEN});
    bool taken = model_find(model, string) != NULL;
    for (size_t i = 0; i < model->output_count && !taken; i++)
        taken = wnn_string_equal(wnn_string(model->outputs[i].name), string);
    return taken;
}

// Gives an operand the name, or one that begins with it; returns what it is.
static const char *add_name(struct model *model, const char *wanted, WNNOperand operand)
{
    char *name;
    for (unsigned i = 1;; i++) {
        int length = i == 1 ? asprintf(&name, "%s", wanted) : asprintf(&name, "%s.%u", wanted, i);
        if (length < 0)
            must(NULL);
        if (!is_taken(model, name))
            break;
        free(name);
    }
    model_add_name(model, wnn_string((WNNStringView){name, WNN_STRLEN}), operand);
    free(name);
    return model->names[model->name_count - 1].name.data;
}

// What takes the constant's place in calls has its name already.
static void name_packed(struct quantizer *quantizer, struct weight *weight)
{
    const char *endings[3] = {wnn_dtype_name(weight->type), "scale", "zeroPoint"};
    struct string label = weight->result->reader->label;
    const char *base = weight->result->name ? weight->result->name : label.length ? label.data : "weight";
    for (unsigned i = 0; i < 3 && weight->packed[i]; i++) {
        char *wanted;
        if (asprintf(&wanted, "%s.%s", base, endings[i]) < 0)
            must(NULL);
        const char *name = add_name(quantizer->rebuild.to, wanted, weight->packed[i]);
        if (i == 0)
            weight->result->stored_name = name;
        free(wanted);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// All of it
// ---------------------------------------------------------------------------------------------------------------

static void list_constants(struct quantizer *quantizer, struct conversion *conversion)
{
    const struct model *model = quantizer->rebuild.from;
    const struct graph *graph = model_graph(model);
    quantizer->weights = must_allocate(graph->operand_count * sizeof *quantizer->weights);
    quantizer->views = must_allocate(graph->operand_count * sizeof *quantizer->views);
    conversion->constants = must_allocate(graph->operand_count * sizeof *conversion->constants);
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (!operand->constant || !quantizer->rebuild.live[i])
            continue;
        struct converted_constant *result = &conversion->constants[conversion->constant_count++];
        *result = (struct converted_constant){
            .operand = operand, .type = operand->type, .bytes = operand->constant->bytes};
        quantizer->weights[quantizer->weight_count++] =
            (struct weight){.constant = operand, .result = result};
        struct view *view = &quantizer->views[i];
        view->weight = (uint32_t)quantizer->weight_count;
        for (unsigned d = 0; d < WNN_MAX_RANK; d++)
            view->order[d] = (uint8_t)d;
        if (!wnn_dtype_is_float(operand->type.type))
            give_reason(&quantizer->weights[quantizer->weight_count - 1], "it has no floats");
    }
    for (size_t i = 0; i < model->name_count; i++) {
        const struct operand *operand = wnn_operand(model->names[i].operand);
        uint32_t weight = operand->constant ? quantizer->views[operand->index].weight : 0;
        if (weight && !quantizer->weights[weight - 1].result->name)
            quantizer->weights[weight - 1].result->name = model->names[i].name.data;
    }
}

bool quantize_weights(const struct model *from, const struct weights_form *form, struct model *to,
                      struct conversion *conversion, struct error *error)
{
    bool *live = rebuild_find_live(from);
    struct quantizer quantizer = {.form = form,
                                  .rebuild = {.from = from,
                                              .to = to,
                                              .live = live,
                                              .node = record_node,
                                              .operand = record_operand,
                                              .argument = &quantizer,
                                              .error = error}};
    *conversion = (struct conversion){NULL, 0};
    list_constants(&quantizer, conversion);
    find_roles(&quantizer);
    for (size_t i = 0; i < quantizer.weight_count && form->type; i++)
        decide(form, &quantizer.weights[i]);
    progress_begin(&quantizer.progress, "converting weights");
    bool good = rebuild_run(&quantizer.rebuild);
    progress_end(&quantizer.progress);
    for (size_t i = 0; i < quantizer.weight_count && good; i++)
        if (quantizer.weights[i].packed[0])
            name_packed(&quantizer, &quantizer.weights[i]);
    free(quantizer.weights);
    free(quantizer.views);
    free(live);
    return good;
}

void conversion_free(struct conversion *conversion)
{
    free(conversion->constants);
    *conversion = (struct conversion){NULL, 0};
}
