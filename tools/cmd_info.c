// SPDX-License-Identifier: Apache-2.0
//
// `webnn info`: what a graph is made of, who can run it, and what a context accepts.

#include "tools/command.h"
#include "tools/graph_text.h"
#include "tools/load.h"
#include "tools/session.h"
#include "tools/terminal.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Describes a graph: inputs, outputs, operators, weights, memory, and which backends\n"
    "have what it needs. Without a graph: the devices, which --device can name.\n\n"
    "Usage: webnn info [OPTIONS] [GRAPH]\n"
    "       webnn info --limits [OPTIONS]\n\n"
    "GRAPH is an ONNX model, a .webnn file or a built-in architecture.\n\n"
    "  --limits          opSupportLimits of the backend or device: a line an operator, with\n"
    "                    the data types and ranks of its operands and results; behind what\n"
    "                    can be left out stands a question mark\n" SESSION_HELP "\nExamples:\n\n"
    "  webnn info\n"
    "  webnn info tools/digits/digits.webnn\n"
    "  webnn info --limits --backend=gpu\n";

static const char *const columns[] = {"cpu", "gpu", "dummy"};
#define COLUMNS 3

struct support {
    struct session session;
    bool open;
    WNNOpSupportLimits limits;
    struct error error;
};

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
            print_port(graph->operands[i]->name, &graph->operands[i]->type);
    printf("%soutputs%s\n", STYLE_BOLD, STYLE_NONE);
    for (size_t i = 0; i < model->output_count; i++) {
        print_port(wnn_string(model->outputs[i].name), &wnn_operand(model->outputs[i].operand)->type);
    }
}

// The limits of one operand of an operator, or NULL.
static const WNNOperandLimits *find_limits(const struct support *support, const struct op_info *info,
                                           const struct op_row *row)
{
    for (size_t i = 0; i < support->limits.operatorCount; i++) {
        const WNNOperatorLimits *limits = &support->limits.operators[i];
        if (strcmp(limits->name.data, info->name) != 0)
            continue;
        for (size_t k = 0; k < limits->operandCount; k++)
            if (strcmp(limits->operands[k].name.data, row->name) == 0)
                return &limits->operands[k];
    }
    return NULL;
}

// The data types that a node uses and a backend does not have for it.
static uint32_t missing_types(const struct support *support, const struct node *node)
{
    const struct op_info *info = &wnn_ops[node->op];
    unsigned inputs = wnn_op_input_rows(info), in = 0;
    uint32_t missing = 0;
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        unsigned last = row->kind == ROW_INPUT_LIST ? node->in_count - (inputs - 1) : 1;
        for (unsigned i = 0; i < last && in < node->in_count; i++, in++) {
            const WNNOperandLimits *limits = find_limits(support, info, row);
            if (node->in[in] && (!limits || !(limits->limits.dataTypes & 1u << node->in[in]->type.type)))
                missing |= 1u << node->in[in]->type.type;
        }
    }
    return missing;
}

static void print_operators(const struct model *model, const struct support *support)
{
    const struct graph *graph = model_graph(model);
    printf("%soperators%s (%zu)%*s", STYLE_BOLD, STYLE_NONE, graph->node_count, 17, "");
    for (unsigned i = 0; i < COLUMNS; i++)
        printf(" %-16s", columns[i]);
    printf("\n");
    for (unsigned op = 0; op < WNN_OP_COUNT; op++) {
        size_t count = 0;
        uint32_t missing[COLUMNS] = {0};
        for (size_t i = 0; i < graph->node_count; i++) {
            if (graph->nodes[i]->op != op)
                continue;
            count++;
            for (unsigned k = 0; k < COLUMNS; k++)
                missing[k] |= support[k].open ? missing_types(&support[k], graph->nodes[i]) : 0;
        }
        if (!count)
            continue;
        printf("  %-22s %6zu ", wnn_ops[op].name, count);
        for (unsigned k = 0; k < COLUMNS; k++) {
            char cell[WNN_DTYPES_TEXT + 8], types[WNN_DTYPES_TEXT];
            snprintf(cell, sizeof cell, "no %s", missing[k] ? wnn_dtypes_text(missing[k], types) : "");
            printf(" %-16s", !support[k].open ? "-" : missing[k] ? cell : "yes");
        }
        printf("\n");
    }
    for (unsigned k = 0; k < COLUMNS; k++) {
        if (!support[k].open)
            printf("  %s: %s\n", columns[k], SHOWN_STRING(support[k].error.message));
        else if (strcmp(columns[k], "gpu") == 0)
            printf("  gpu: %s\n", SHOWN_STRING(wnn_context_device(support[k].session.context)));
    }
}

static void print_weights(const struct model *model)
{
    const struct graph *graph = model_graph(model);
    uint64_t parameters = 0, bytes = 0;
    size_t tensors = 0;
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (!operand->constant)
            continue;
        tensors++;
        parameters += wnn_shape_elements(&operand->type.shape);
        bytes += operand->constant->bytes;
    }
    printf("%sconstants%s\n  %llu parameters in %zu tensors, %s\n", STYLE_BOLD, STYLE_NONE,
           (unsigned long long)parameters, tensors, bytes_text(bytes, (char[BYTES_TEXT]){0}));
    printf("%swork%s\n  %.4g million multiply-adds an execution\n", STYLE_BOLD, STYLE_NONE,
           (double)model_work(model) / 1e6);
}

static const char *milliseconds_text(uint64_t nanoseconds, char text[32])
{
    snprintf(text, 32, "%.3g ms", (double)nanoseconds / 1e6);
    return text;
}
#define MILLISECONDS(n) milliseconds_text(n, (char[32]){0})

static bool print_memory(struct session *session, const struct model *model, struct error *error)
{
    WNNGraph graph;
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    if (!session_build(session, model, &graph, error))
        return false;
    wnnGraphGetInfo(graph, &info);
    const struct plan *plan = wnn_graph_plan(graph);
    printf("%splan for %s%s\n", STYLE_BOLD, session->backend->name, STYLE_NONE);
    printf("  %llu nodes after the passes\n", (unsigned long long)info.nodeCount);
    printf("  built in %s: passes %s, kernels and weights %s\n", MILLISECONDS(info.buildNanoseconds),
           MILLISECONDS(info.compileNanoseconds), MILLISECONDS(info.lowerNanoseconds));
    printf("  %s of weights", bytes_text(info.weightBytes, (char[BYTES_TEXT]){0}));
    if (info.deviceBytes)
        printf(", %s in memory of the device", bytes_text(info.deviceBytes, (char[BYTES_TEXT]){0}));
    printf("\n");
    printf("  %zu bytes (%s) of memory an execution", plan->arena_bytes,
           bytes_text(plan->arena_bytes, (char[BYTES_TEXT]){0}));
    printf(", %s if no two operands shared any\n", bytes_text(plan->unaliased_bytes, (char[BYTES_TEXT]){0}));
    wnnGraphRelease(graph);
    return true;
}

static void open_support(struct support *support, const char *backend)
{
    struct session_options options = SESSION_OPTIONS_INIT;
    options.backend = backend;
    options.threads = 1;
    memset(support, 0, sizeof *support);
    support->open = session_open(&support->session, &options, &support->error);
    if (support->open)
        wnnContextGetOpSupportLimits(support->session.context, &support->limits);
}

// "6d657361-3232-2e33-2e36-000000000000"
static const char *uuid_text(const uint8_t uuid[16], char text[37])
{
    char *at = text;
    for (unsigned i = 0; i < 16; i++)
        at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    return text;
}

static void print_limits(const WNNDeviceInfo *device)
{
    char index[16];
    struct session session;
    struct error error = {WNNStatus_Success, ""};
    struct session_options options = SESSION_OPTIONS_INIT;
    snprintf(index, sizeof index, "%u", device->index);
    options.device = index;
    options.threads = 1;
    double begin = now();
    if (session_open(&session, &options, &error)) {
        double opened = now() - begin;
        WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
        wnnContextGetOpSupportLimits(session.context, &limits);
        printf("       tensors of up to %s, %s denormal numbers, opened in %.0f ms\n",
               bytes_text(limits.maxTensorByteLength, (char[BYTES_TEXT]){0}),
               wnn_context_flushes_denormals(session.context) ? "flushes" : "keeps", opened * 1e3);
    } else {
        printf("       %s\n", SHOWN_STRING(error.message));
    }
    session_close(&session);
}

static void print_processor(void)
{
    WNNDeviceInfo device = WNN_DEVICE_INFO_INIT;
    struct support cpu;
    open_support(&cpu, "cpu");
    if (cpu.open) {
        wnnContextGetDeviceInfo(cpu.session.context, &device);
        printf("   cpu %s%s%s\n", STYLE_BOLD, device.name, STYLE_NONE);
        printf("       %s, signature 0x%08x, %u processors%s%s\n",
               device.vendorName[0] ? device.vendorName : "unknown vendor", device.deviceId,
               device.processorCount, device.instructionSets[0] ? ", uses " : "", device.instructionSets);
        printf("       %s %s with %s\n", device.driverName, device.driverVersionText, device.driverInfo);
    }
    session_close(&cpu.session);
}

static void print_driver(const WNNDeviceInfo *device)
{
    printf("       vendor %s (0x%04x), device 0x%04x\n", device->vendorName, device->vendorId,
           device->deviceId);
    printf("       driver %s, %s%s%s", device->driverName[0] ? device->driverName : "unknown",
           device->driverVersionText, device->driverInfo[0] ? ", " : "", device->driverInfo);
    printf(device->driverId ? " (id %u)\n" : "\n", device->driverId);
}

static int list_devices(void)
{
    static const char *const kinds[] = {"", "other", "discrete", "integrated", "virtual", "processor"};
    enum {
        MAX_DEVICES = 32
    };
    static WNNDeviceInfo devices[MAX_DEVICES];
    size_t count;
    wnnEnumerateDevices(MAX_DEVICES, devices, &count);
    printf("%sdevices%s\n", STYLE_BOLD, STYLE_NONE);
    print_processor();
    if (count == 0)
        printf("  no GPU\n");
    for (size_t i = 0; i < count && i < MAX_DEVICES; i++) {
        const WNNDeviceInfo *device = &devices[i];
        printf("  %4u %s%s%s\n", device->index, STYLE_BOLD, SHOWN_STRING(device->name), STYLE_NONE);
        printf("       UUID %s\n", uuid_text(device->uuid, (char[37]){0}));
        printf("       %s, %s of memory, Vulkan %s\n", kinds[device->kind],
               bytes_text(device->memoryBytes, (char[BYTES_TEXT]){0}), device->apiVersionText);
        print_driver(device);
        print_limits(device);
    }
    return CODE_GOOD;
}

static bool same_limits(const WNNOperandLimits *a, const WNNOperandLimits *b)
{
    return memcmp(&a->limits, &b->limits, sizeof a->limits) == 0;
}

// "input, bias?: float32 or float16, rank 1; output: int32, rank 0 to 8": those of the same limits together.
static void print_operands(size_t count, const WNNOperandLimits *operands)
{
    for (size_t i = 0; i < count; i++) {
        const WNNTensorLimits *limits = &operands[i].limits;
        size_t first = 0;
        while (!same_limits(&operands[first], &operands[i]))
            first++;
        if (first < i)
            continue;
        const char *between = i ? "; " : "";
        for (size_t k = i; k < count; k++, between = ", ")
            if (same_limits(&operands[k], &operands[i]))
                printf("%s%s%s", between, operands[k].name.data, operands[k].isOptional ? "?" : "");
        printf(": %s, rank %s", wnn_dtypes_text(limits->dataTypes, (char[WNN_DTYPES_TEXT]){0}),
               ranks_text(limits->minRank, limits->maxRank, (char[RANKS_TEXT]){0}));
    }
    printf("\n");
}

static int list_limits(const struct session_options *options)
{
    struct error error = {WNNStatus_Success, ""};
    struct session session;
    if (!session_open(&session, options, &error)) {
        session_close(&session);
        return command_failed(&error);
    }
    WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
    wnnContextGetOpSupportLimits(session.context, &limits);
    const WNNOperandLimits tensors[] = {{NULL, {"input", 5}, false, limits.input},
                                        {NULL, {"constant", 8}, false, limits.constant},
                                        {NULL, {"output", 6}, false, limits.output}};
    printf("%slimits of %s%s\n", STYLE_BOLD, SHOWN_STRING(wnn_context_device(session.context)), STYLE_NONE);
    printf("  %-24s%llu bytes (%s)\n", "largest tensor", (unsigned long long)limits.maxTensorByteLength,
           bytes_text(limits.maxTensorByteLength, (char[BYTES_TEXT]){0}));
    printf("  %-24s%s\n", "preferred layout",
           limits.preferredInputLayout == WNNInputOperandLayout_NCHW ? "nchw" : "nhwc");
    printf("  %-24s", "tensors");
    print_operands(sizeof tensors / sizeof *tensors, tensors);
    printf("%soperators%s (%zu)\n", STYLE_BOLD, STYLE_NONE, limits.operatorCount);
    for (size_t i = 0; i < limits.operatorCount; i++) {
        printf("  %-24s", limits.operators[i].name.data);
        print_operands(limits.operators[i].operandCount, limits.operators[i].operands);
    }
    session_close(&session);
    return CODE_GOOD;
}

static int describe(const struct session_options *options, const char *path)
{
    struct error error = {WNNStatus_Success, ""};
    struct session session;
    struct model model;
    if (!session_open(&session, options, &error))
        return command_failed(&error);
    bool good =
        model_begin(&model, session.context, &error) && model_load(&model, path, &options->load, &error);
    if (good) {
        struct support support[COLUMNS];
        for (unsigned i = 0; i < COLUMNS; i++)
            open_support(&support[i], columns[i]);
        printf("%sgraph%s\n  %s\n", STYLE_BOLD, STYLE_NONE, SHOWN(model.name));
        print_ports(&model);
        print_operators(&model, support);
        print_weights(&model);
        for (unsigned i = 0; i < COLUMNS; i++)
            session_close(&support[i].session);
        fflush(stdout);
        good = print_memory(&session, &model, &error);
    }
    model_end(&model);
    session_close(&session);
    return good ? CODE_GOOD : command_failed(&error);
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"limits", no_argument, NULL, 'l'}, SESSION_LONG_OPTIONS, {NULL, 0, NULL, 0}};
    struct session_options options = SESSION_OPTIONS_INIT;
    bool limits = false;
    for (int option; (option = command_option(argc, argv, long_options)) != -1;) {
        if (option == 'h')
            return command_help(&command_info);
        if (option == 'l')
            limits = true;
        else if (!session_option(&options, option, optarg))
            return command_usage(&command_info);
    }
    if (limits && argc != optind)
        return command_wrong(&command_info, "--limits are those of a context; it takes no graph");
    if (limits)
        return list_limits(&options);
    if (argc == optind)
        return list_devices();
    if (argc - optind != 1)
        return command_wrong(&command_info, "one graph at a time");
    return describe(&options, argv[optind]);
}

const struct command command_info = {"info", "describes a graph, the devices, or their limits", help, run};
