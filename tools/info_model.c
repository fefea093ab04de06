// SPDX-License-Identifier: Apache-2.0
#include "tools/info_model.h"

#include "runtime/context.h"
#include "tools/json.h"
#include "tools/memory.h"
#include "tools/terminal.h"

#include <stdlib.h>
#include <string.h>

const char *const info_targets[INFO_TARGETS] = {"cpu", "gpu", "dummy"};

void info_target_open(struct info_target *target, const char *backend)
{
    struct session_options options = SESSION_OPTIONS_INIT;
    options.backend = backend;
    options.threads = 1;
    memset(target, 0, sizeof *target);
    target->open = session_open(&target->session, &options, &target->error);
    if (target->open)
        wnnContextGetOpSupportLimits(target->session.context, &target->limits);
}

void info_target_close(struct info_target *target)
{
    session_close(&target->session);
}

// ---------------------------------------------------------------------------------------------------------------
// The file
// ---------------------------------------------------------------------------------------------------------------

static const char *format_name(WNNModelFormat format)
{
    return format == WNNModelFormat_ONNX             ? "ONNX"
           : format == WNNModelFormat_TensorFlowLite ? "TensorFlow Lite"
           : format == WNNModelFormat_WebNN          ? "WebNN"
                                                     : "unknown";
}

static void print_value(const WNNModelValue *value)
{
    char shape[16 * WNN_MAX_RANK + TERMINAL_TEXT];
    struct text text = TEXT(shape);
    wnn_text_add(&text, value->hasShape ? "[" : "of any shape");
    for (size_t i = 0; value->hasShape && i < value->rank; i++) {
        const WNNModelDimension *dimension = &value->dimensions[i];
        wnn_text_add(&text, i ? ", " : "");
        if (dimension->size)
            wnn_text_add(&text, "%llu", (unsigned long long)dimension->size);
        else if (dimension->name.length)
            wnn_text_add_quoted(&text, wnn_string(dimension->name), 40);
        else
            wnn_text_add(&text, "?");
    }
    wnn_text_add(&text, value->hasShape ? "]" : "");
    printf("  %-24s %-8s %s\n", SHOWN(wnn_string(value->name)),
           value->typeName.length ? SHOWN(wnn_string(value->typeName)) : "any", shape);
}

static void print_values(const char *what, const WNNModelValue *values, size_t count)
{
    printf("%s%s of the file%s\n", STYLE_BOLD, what, STYLE_NONE);
    for (size_t i = 0; i < count; i++)
        print_value(&values[i]);
}

static void print_file(WNNModel file)
{
    WNNModelInfo info = WNN_MODEL_INFO_INIT;
    size_t count;
    wnnModelGetInfo(file, &info);
    printf("%sfile%s\n  %s, version %llu", STYLE_BOLD, STYLE_NONE, format_name(info.format),
           (unsigned long long)info.formatVersion);
    if (info.producer.length)
        printf(", made by %s%s%s", SHOWN(wnn_string(info.producer)), info.producerVersion.length ? " " : "",
               SHOWN(wnn_string(info.producerVersion)));
    printf("\n  %zu nodes, %s of weights\n", info.nodeCount,
           bytes_text(info.weightBytes, (char[BYTES_TEXT]){0}));
    const WNNModelMetadata *metadata = wnnModelGetMetadata(file, &count);
    for (size_t i = 0; i < count; i++)
        printf("  %s: %s\n", SHOWN(wnn_string(metadata[i].key)), SHOWN(wnn_string(metadata[i].value)));
    const WNNModelValue *values = wnnModelGetInputs(file, &count);
    print_values("inputs", values, count);
    values = wnnModelGetOutputs(file, &count);
    print_values("outputs", values, count);
    const WNNModelOperator *operators = wnnModelGetOperators(file, &count);
    printf("%soperators of the file%s\n", STYLE_BOLD, STYLE_NONE);
    for (size_t i = 0; i < count; i++)
        printf("  %-22s %6zu  %s%s%s\n", SHOWN(wnn_string(operators[i].name)), operators[i].count,
               operators[i].supported ? "supported" : "not supported",
               operators[i].domain.length ? ", of " : "", SHOWN(wnn_string(operators[i].domain)));
}

// Sizes are numbers, symbolic ones their names, or null.
static cJSON *value_json(const WNNModelValue *value)
{
    cJSON *object = must(cJSON_CreateObject());
    json_add_text(object, "name", wnn_string(value->name));
    json_add_text(object, "type", wnn_string(value->typeName));
    if (value->dataType == WNNDataType_Undefined)
        cJSON_AddNullToObject(object, "operand_type");
    else
        cJSON_AddStringToObject(object, "operand_type", wnn_dtype_name(value->dataType));
    if (!value->hasShape) {
        cJSON_AddNullToObject(object, "shape");
        return object;
    }
    cJSON *shape = must(cJSON_AddArrayToObject(object, "shape"));
    for (size_t i = 0; i < value->rank; i++) {
        const WNNModelDimension *dimension = &value->dimensions[i];
        cJSON_AddItemToArray(shape, dimension->size ? must(cJSON_CreateNumber((double)dimension->size))
                                    : dimension->name.length ? json_text(wnn_string(dimension->name))
                                                             : must(cJSON_CreateNull()));
    }
    return object;
}

static void add_values(cJSON *object, const char *key, const WNNModelValue *values, size_t count)
{
    cJSON *array = must(cJSON_AddArrayToObject(object, key));
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(array, value_json(&values[i]));
}

static void add_metadata(cJSON *object, WNNModel file)
{
    size_t count;
    const WNNModelMetadata *metadata = wnnModelGetMetadata(file, &count);
    cJSON *array = must(cJSON_AddArrayToObject(object, "metadata"));
    for (size_t i = 0; i < count; i++) {
        cJSON *item = must(cJSON_CreateObject());
        json_add_text(item, "key", wnn_string(metadata[i].key));
        json_add_text(item, "value", wnn_string(metadata[i].value));
        cJSON_AddItemToArray(array, item);
    }
}

static void add_file_operators(cJSON *object, WNNModel file)
{
    size_t count;
    const WNNModelOperator *operators = wnnModelGetOperators(file, &count);
    cJSON *array = must(cJSON_AddArrayToObject(object, "operators"));
    for (size_t i = 0; i < count; i++) {
        cJSON *item = must(cJSON_CreateObject());
        json_add_text(item, "domain", wnn_string(operators[i].domain));
        json_add_text(item, "name", wnn_string(operators[i].name));
        cJSON_AddNumberToObject(item, "count", (double)operators[i].count);
        cJSON_AddBoolToObject(item, "supported", operators[i].supported);
        cJSON_AddItemToArray(array, item);
    }
}

static cJSON *file_json(WNNModel file)
{
    WNNModelInfo info = WNN_MODEL_INFO_INIT;
    size_t count;
    cJSON *object = must(cJSON_CreateObject());
    wnnModelGetInfo(file, &info);
    cJSON_AddStringToObject(object, "format", format_name(info.format));
    cJSON_AddNumberToObject(object, "format_version", (double)info.formatVersion);
    json_add_text(object, "name", wnn_string(info.name));
    json_add_text(object, "producer", wnn_string(info.producer));
    json_add_text(object, "producer_version", wnn_string(info.producerVersion));
    cJSON_AddNumberToObject(object, "nodes", (double)info.nodeCount);
    cJSON_AddNumberToObject(object, "weight_bytes", (double)info.weightBytes);
    const WNNModelValue *values = wnnModelGetInputs(file, &count);
    add_values(object, "inputs", values, count);
    values = wnnModelGetOutputs(file, &count);
    add_values(object, "outputs", values, count);
    add_file_operators(object, file);
    add_metadata(object, file);
    return object;
}

// ---------------------------------------------------------------------------------------------------------------
// The recorded graph
// ---------------------------------------------------------------------------------------------------------------

// The limits of one operand of an operator, or NULL.
static const WNNOperandLimits *find_limits(const struct info_target *target, const struct op_info *info,
                                           const struct op_row *row)
{
    for (size_t i = 0; i < target->limits.operatorCount; i++) {
        const WNNOperatorLimits *limits = &target->limits.operators[i];
        if (strcmp(limits->name.data, info->name) != 0)
            continue;
        for (size_t k = 0; k < limits->operandCount; k++)
            if (strcmp(limits->operands[k].name.data, row->name) == 0)
                return &limits->operands[k];
    }
    return NULL;
}

// The data types that a node uses and a backend does not have for it.
static uint32_t missing_types(const struct info_target *target, const struct node *node)
{
    const struct op_info *info = &wnn_ops[node->op];
    unsigned inputs = wnn_op_input_rows(info), in = 0;
    uint32_t missing = 0;
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        unsigned last = row->kind == ROW_INPUT_LIST ? node->in_count - (inputs - 1) : 1;
        for (unsigned i = 0; i < last && in < node->in_count; i++, in++) {
            const WNNOperandLimits *limits = find_limits(target, info, row);
            if (node->in[in] && (!limits || !(limits->limits.dataTypes & 1u << node->in[in]->type.type)))
                missing |= 1u << node->in[in]->type.type;
        }
    }
    return missing;
}

// One operator of the graph: how many nodes, and what each backend lacks for them.
struct operator_use {
    size_t count;
    uint32_t missing[INFO_TARGETS];
};

static void count_operators(const struct info_model *info, struct operator_use uses[WNN_OP_COUNT])
{
    const struct graph *graph = model_graph(info->model);
    memset(uses, 0, WNN_OP_COUNT * sizeof uses[0]);
    for (size_t i = 0; i < graph->node_count; i++) {
        struct operator_use *use = &uses[graph->nodes[i]->op];
        use->count++;
        for (unsigned k = 0; k < INFO_TARGETS; k++)
            if (info->targets[k].open)
                use->missing[k] |= missing_types(&info->targets[k], graph->nodes[i]);
    }
}

struct weights {
    uint64_t parameters, bytes;
    size_t tensors;
};

static struct weights count_weights(const struct graph *graph)
{
    struct weights weights = {0, 0, 0};
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (!operand->constant)
            continue;
        weights.tensors++;
        weights.parameters += wnn_shape_elements(&operand->type.shape);
        weights.bytes += operand->constant->bytes;
    }
    return weights;
}

static void print_port(struct string name, const struct descriptor *type)
{
    printf("  %-24s %-8s %-24s %s\n", SHOWN(name), wnn_dtype_name(type->type), SHAPE_TEXT(&type->shape),
           bytes_text(wnn_descriptor_bytes(type), (char[BYTES_TEXT]){0}));
}

static void print_ports(const struct model *model)
{
    const struct graph *graph = model_graph(model);
    printf("%sinputs%s\n", STYLE_BOLD, STYLE_NONE);
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->input)
            print_port(wnn_operand_name(graph->operands[i]), &graph->operands[i]->type);
    printf("%soutputs%s\n", STYLE_BOLD, STYLE_NONE);
    for (size_t i = 0; i < model->output_count; i++)
        print_port(wnn_string(model->outputs[i].name), &wnn_operand(model->outputs[i].operand)->type);
}

static void print_operators(const struct info_model *info)
{
    static struct operator_use uses[WNN_OP_COUNT];
    count_operators(info, uses);
    printf("%soperators%s (%zu)%*s", STYLE_BOLD, STYLE_NONE, model_graph(info->model)->node_count, 17, "");
    for (unsigned i = 0; i < INFO_TARGETS; i++)
        printf(" %-16s", info_targets[i]);
    printf("\n");
    for (unsigned op = 0; op < WNN_OP_COUNT; op++) {
        if (!uses[op].count)
            continue;
        printf("  %-22s %6zu ", wnn_ops[op].name, uses[op].count);
        for (unsigned k = 0; k < INFO_TARGETS; k++) {
            uint32_t missing = uses[op].missing[k];
            char cell[WNN_DTYPES_TEXT + 8], types[WNN_DTYPES_TEXT];
            snprintf(cell, sizeof cell, "no %s", missing ? wnn_dtypes_text(missing, types) : "");
            printf(" %-16s", !info->targets[k].open ? "-" : missing ? cell : "yes");
        }
        printf("\n");
    }
    for (unsigned k = 0; k < INFO_TARGETS; k++) {
        if (!info->targets[k].open)
            printf("  %s: %s\n", info_targets[k], SHOWN_STRING(info->targets[k].error.message));
        else if (strcmp(info_targets[k], "gpu") == 0)
            printf("  gpu: %s\n", SHOWN_STRING(wnn_context_device(info->targets[k].session.context)));
    }
}

void info_model_print(const struct info_model *info)
{
    WNNModelInfo file = WNN_MODEL_INFO_INIT;
    wnnModelGetInfo(info->file, &file);
    // A graph file says what the graph does.
    if (info->file && (file.format != WNNModelFormat_WebNN || !info->model))
        print_file(info->file);
    if (!info->model)
        return;
    struct weights weights = count_weights(model_graph(info->model));
    printf("%sgraph%s\n  %s\n", STYLE_BOLD, STYLE_NONE, SHOWN(info->model->name));
    print_ports(info->model);
    print_operators(info);
    printf("%sconstants%s\n  %llu parameters in %zu tensors, %s\n", STYLE_BOLD, STYLE_NONE,
           (unsigned long long)weights.parameters, weights.tensors,
           bytes_text(weights.bytes, (char[BYTES_TEXT]){0}));
    printf("%swork%s\n  %.4g million multiply-adds an execution\n", STYLE_BOLD, STYLE_NONE,
           (double)model_work(info->model) / 1e6);
}

static cJSON *port_json(struct string name, const struct descriptor *type)
{
    cJSON *object = must(cJSON_CreateObject());
    json_add_text(object, "name", name);
    json_add_type(object, type);
    cJSON_AddNumberToObject(object, "bytes", (double)wnn_descriptor_bytes(type));
    return object;
}

static cJSON *support_json(const struct info_target *target, uint32_t missing)
{
    cJSON *object = must(cJSON_CreateObject());
    cJSON_AddBoolToObject(object, "supported", target->open && !missing);
    cJSON_AddItemToObject(object, "missing_types", json_types(missing));
    return object;
}

static void add_operators(cJSON *object, const struct info_model *info)
{
    static struct operator_use uses[WNN_OP_COUNT];
    count_operators(info, uses);
    cJSON *array = must(cJSON_AddArrayToObject(object, "operators"));
    for (unsigned op = 0; op < WNN_OP_COUNT; op++) {
        if (!uses[op].count)
            continue;
        cJSON *item = must(cJSON_CreateObject());
        cJSON_AddStringToObject(item, "name", wnn_ops[op].name);
        cJSON_AddNumberToObject(item, "count", (double)uses[op].count);
        cJSON *support = must(cJSON_AddObjectToObject(item, "targets"));
        for (unsigned k = 0; k < INFO_TARGETS; k++)
            cJSON_AddItemToObject(support, info_targets[k],
                                  support_json(&info->targets[k], uses[op].missing[k]));
        cJSON_AddItemToArray(array, item);
    }
}

static cJSON *graph_json(const struct info_model *info)
{
    const struct graph *graph = model_graph(info->model);
    struct weights weights = count_weights(graph);
    cJSON *object = must(cJSON_CreateObject());
    json_add_text(object, "name", info->model->name);
    cJSON *inputs = must(cJSON_AddArrayToObject(object, "inputs"));
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->input)
            cJSON_AddItemToArray(inputs,
                                 port_json(wnn_operand_name(graph->operands[i]), &graph->operands[i]->type));
    cJSON *outputs = must(cJSON_AddArrayToObject(object, "outputs"));
    for (size_t i = 0; i < info->model->output_count; i++) {
        const WNNNamedOperand *output = &info->model->outputs[i];
        cJSON_AddItemToArray(outputs,
                             port_json(wnn_string(output->name), &wnn_operand(output->operand)->type));
    }
    cJSON_AddNumberToObject(object, "nodes", (double)graph->node_count);
    add_operators(object, info);
    cJSON *constants = must(cJSON_AddObjectToObject(object, "constants"));
    cJSON_AddNumberToObject(constants, "tensors", (double)weights.tensors);
    cJSON_AddNumberToObject(constants, "parameters", (double)weights.parameters);
    cJSON_AddNumberToObject(constants, "bytes", (double)weights.bytes);
    cJSON_AddNumberToObject(object, "multiply_adds", (double)model_work(info->model));
    return object;
}

// ---------------------------------------------------------------------------------------------------------------
// The plan
// ---------------------------------------------------------------------------------------------------------------

static const char *milliseconds_text(uint64_t nanoseconds, char text[32])
{
    snprintf(text, 32, "%.3g ms", (double)nanoseconds / 1e6);
    return text;
}
#define MILLISECONDS(n) milliseconds_text(n, (char[32]){0})

void info_model_print_plan(const struct info_model *info)
{
    WNNGraphInfo built = WNN_GRAPH_INFO_INIT;
    wnnGraphGetInfo(info->graph, &built);
    const struct plan *plan = wnn_graph_plan(info->graph);
    printf("%splan for %s%s\n", STYLE_BOLD, info->backend, STYLE_NONE);
    printf("  %llu nodes after the passes\n", (unsigned long long)built.nodeCount);
    printf("  built in %s: passes %s, kernels and weights %s\n", MILLISECONDS(built.buildNanoseconds),
           MILLISECONDS(built.compileNanoseconds), MILLISECONDS(built.lowerNanoseconds));
    printf("  %s of weights", bytes_text(built.weightBytes, (char[BYTES_TEXT]){0}));
    if (built.deviceBytes)
        printf(", %s in memory of the device", bytes_text(built.deviceBytes, (char[BYTES_TEXT]){0}));
    printf("\n");
    printf("  %zu bytes (%s) of memory an execution", plan->arena_bytes,
           bytes_text(plan->arena_bytes, (char[BYTES_TEXT]){0}));
    printf(", %s if no two operands shared any\n", bytes_text(plan->unaliased_bytes, (char[BYTES_TEXT]){0}));
}

static cJSON *plan_json(const struct info_model *info)
{
    WNNGraphInfo built = WNN_GRAPH_INFO_INIT;
    const struct plan *plan = wnn_graph_plan(info->graph);
    cJSON *object = must(cJSON_CreateObject());
    wnnGraphGetInfo(info->graph, &built);
    cJSON_AddStringToObject(object, "backend", info->backend);
    cJSON_AddNumberToObject(object, "nodes", (double)built.nodeCount);
    cJSON_AddNumberToObject(object, "build_ms", (double)built.buildNanoseconds / 1e6);
    cJSON_AddNumberToObject(object, "compile_ms", (double)built.compileNanoseconds / 1e6);
    cJSON_AddNumberToObject(object, "lower_ms", (double)built.lowerNanoseconds / 1e6);
    cJSON_AddNumberToObject(object, "weight_bytes", (double)built.weightBytes);
    cJSON_AddNumberToObject(object, "device_bytes", (double)built.deviceBytes);
    cJSON_AddNumberToObject(object, "execution_bytes", (double)plan->arena_bytes);
    cJSON_AddNumberToObject(object, "unshared_bytes", (double)plan->unaliased_bytes);
    return object;
}

// ---------------------------------------------------------------------------------------------------------------
// All of it
// ---------------------------------------------------------------------------------------------------------------

static void add_targets(cJSON *object, const struct info_model *info)
{
    cJSON *targets = must(cJSON_AddObjectToObject(object, "targets"));
    for (unsigned k = 0; k < INFO_TARGETS; k++) {
        const struct info_target *target = &info->targets[k];
        cJSON *item = must(cJSON_AddObjectToObject(targets, info_targets[k]));
        cJSON_AddBoolToObject(item, "available", target->open);
        if (target->open)
            cJSON_AddStringToObject(item, "device", wnn_context_device(target->session.context));
        else
            cJSON_AddStringToObject(item, "error", target->error.message);
    }
}

static void add_faults(cJSON *object, struct string lines)
{
    cJSON *faults = must(cJSON_AddArrayToObject(object, "faults"));
    for (const char *line = lines.data; line;) {
        size_t length = strcspn(line, "\n");
        char *copy = must(strndup(line, length));
        cJSON_AddItemToArray(faults, cJSON_CreateString(copy));
        free(copy);
        line = line[length] ? line + length + 1 : NULL;
    }
}

cJSON *info_model_json(const struct info_model *info, const struct error *error)
{
    cJSON *object = must(cJSON_CreateObject());
    cJSON_AddStringToObject(object, "version", wnnGetVersionText().data);
    cJSON_AddStringToObject(object, "path", info->path);
    if (info->file)
        cJSON_AddItemToObject(object, "file", file_json(info->file));
    if (info->model) {
        cJSON_AddItemToObject(object, "graph", graph_json(info));
        add_targets(object, info);
    }
    if (info->graph)
        cJSON_AddItemToObject(object, "plan", plan_json(info));
    if (error->status != WNNStatus_Success)
        cJSON_AddStringToObject(object, "error", error->message);
    if (info->faults.length)
        add_faults(object, info->faults);
    return object;
}
