// SPDX-License-Identifier: Apache-2.0
//
// `webnn info`: what a graph is made of, who can run it, and what a context accepts.

#include "tools/bench_models.h"
#include "tools/command.h"
#include "tools/compiled_file.h"
#include "tools/late_sizes.h"
#include "tools/info_device.h"
#include "tools/info_model.h"
#include "tools/json.h"
#include "tools/memory.h"
#include "tools/model/mapping.h"
#include "tools/standard_input.h"
#include "tools/terminal.h"

#include <webnn/compiled.h>

#include <stdio.h>
#include <sys/stat.h>

static const char help[] =
    "Describes a graph: what its file says, inputs, outputs, operators, weights, memory, and\n"
    "which backends have what it needs. Without a graph: the devices, which --device can\n"
    "name.\n\n"
    "Usage: webnn info [OPTIONS] [GRAPH]\n"
    "       webnn info --limits [OPTIONS]\n\n"
    "GRAPH is a model of ONNX or TensorFlow Lite, a .webnn file or a built-in architecture.\n\n"
    "  --limits          opSupportLimits of the backend or device: a line an operator, with\n"
    "                    the data types and ranks of its operands and results; behind what\n"
    "                    can be left out stands a question mark\n"
    "  --json            one JSON object with all of that\n" SESSION_HELP "\nExamples:\n\n"
    "  webnn info\n"
    "  webnn info tools/digits/digits.webnn\n"
    "  webnn info --limits --backend=gpu\n"
    "  webnn info --json model.onnx\n";

struct info_options {
    struct session_options session;
    bool limits, json;
};

static int list_limits(const struct info_options *options)
{
    struct error error = {WNNStatus_Success, ""};
    struct session session;
    bool good = session_open(&session, &options->session, &error);
    if (good)
        info_limits_print(&session, options->json);
    session_close(&session);
    return good ? CODE_GOOD : command_failed(&error);
}

// What a file says of itself, or NULL: model_load will say what is wrong with it. A pipe is not touched.
static WNNModel open_file(const struct info_options *options, const char *path)
{
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModel file = NULL;
    struct stat status;
    struct error error = {WNNStatus_Success, ""};
    descriptor.path.data = path;
    if (options->session.load.weights)
        descriptor.weightsPath.data = path_or_standard(options->session.load.weights, &error);
    if (!bench_model_find(path) && stat(path, &status) == 0 && S_ISREG(status.st_mode))
        wnnModelOpen(&descriptor, &file, 0, NULL);
    return file;
}

// Everything that can be said of a model that was recorded.
static bool describe_model(const struct info_options *options, struct info_model *info,
                           struct session *session, struct error *error)
{
    struct info_target targets[INFO_TARGETS];
    info->targets = targets;
    for (unsigned i = 0; i < INFO_TARGETS; i++)
        info_target_open(&targets[i], info_targets[i]);
    if (!options->json)
        info_model_print(info);
    fflush(stdout);
    bool good = session_build(session, info->model, &info->graph, error);
    info->backend = session->backend->name;
    if (options->json)
        json_print(info_model_json(info, error));
    else if (good)
        info_model_print_plan(info);
    for (unsigned i = 0; i < INFO_TARGETS; i++)
        info_target_close(&targets[i]);
    wnnGraphRelease(info->graph);
    return good;
}

// Of a file of webnn compile: what its head says, which needs no context, and whether it can be loaded here.
static int describe_compiled(const struct info_options *options, const char *path)
{
    const struct mapping_rule rule = {.what = "a compiled graph", .most = SIZE_MAX / 2};
    struct error error = {WNNStatus_Success, ""};
    WNNCompiledGraphInfo info = WNN_COMPILED_GRAPH_INFO_INIT;
    struct mapping *mapping =
        is_standard(path) ? load_open_stream(&error) : mapping_open(path, &rule, &error);
    if (!mapping)
        return command_failed(&error);
    WNNStatus status = wnnGetCompiledGraphInfo(mapping->data, mapping->size, &info);
    if (status != WNNStatus_Success) {
        mapping_unref(mapping);
        wnn_fail(&error, status, "%s: it is damaged, or of another version of the format",
                 SHOWN_STRING(path));
        return command_failed(&error);
    }
    uint64_t recorded = mapping->size - info.headBytes - info.dataBytes;
    struct session session;
    WNNGraph graph = NULL;
    bool loads = compiled_file_open_session(&session, &options->session, path, &error) &&
                 compiled_file_load(&session, path, &graph, &error);
    if (options->json) {
        cJSON *object = must(cJSON_CreateObject());
        cJSON_AddStringToObject(object, "format", "compiled");
        json_add_text(object, "library", wnn_string(info.library));
        json_add_text(object, "backend", wnn_string(info.backend));
        json_add_text(object, "target", wnn_string(info.target));
        cJSON_AddBoolToObject(object, "strictNumerics", info.strictNumerics);
        cJSON_AddNumberToObject(object, "headBytes", (double)info.headBytes);
        cJSON_AddNumberToObject(object, "dataBytes", (double)info.dataBytes);
        cJSON_AddNumberToObject(object, "recordedBytes", (double)recorded);
        cJSON_AddBoolToObject(object, "loads", loads);
        cJSON_AddBoolToObject(object, "recompiled", wnnGraphIsRecompiled(graph));
        cJSON_AddBoolToObject(object, "lateSizes", late_sizes_has(graph));
        if (!loads)
            cJSON_AddStringToObject(object, "error", error.message);
        json_print(object);
    } else {
        printf("a compiled graph: %.1f kB, and %.1f MB of weights\n", (double)info.headBytes * 1e-3,
               (double)info.dataBytes * 1e-6);
        printf("  library  %s\n", SHOWN(wnn_string(info.library)));
        printf("  backend  %s%s\n", SHOWN(wnn_string(info.backend)), info.strictNumerics ? ", strict" : "");
        printf("  target   %s\n", SHOWN(wnn_string(info.target)));
        if (recorded)
            printf("  recorded %.1f kB, of which others can build it\n", (double)recorded * 1e-3);
        if (late_sizes_has(graph))
            printf("  runs at all sizes that --dim and --shape, or its inputs say\n");
        if (loads)
            printf("  %s\n", wnnGraphIsRecompiled(graph) ? "is built anew here" : "loads here");
        else
            printf("  does not load here: %s\n", SHOWN_STRING(error.message));
    }
    wnnGraphRelease(graph);
    session_close(&session);
    mapping_unref(mapping);
    return CODE_GOOD;
}

static int describe(const struct info_options *options, const char *path)
{
    struct error error = {WNNStatus_Success, ""};
    struct session session;
    struct model model = {.builder = NULL};
    struct info_model info = {.path = path};
    if (!session_open(&session, &options->session, &error)) {
        session_close(&session);
        return command_failed(&error);
    }
    info.file = open_file(options, path);
    bool good = model_begin(&model, session.context, &error) &&
                model_load(&model, path, &options->session.load, &error);
    if (good) {
        info.model = &model;
        good = describe_model(options, &info, &session, &error);
    } else if (options->json) {
        info.faults = model.faults;
        json_print(info_model_json(&info, &error));
    } else {
        info_model_print(&info);
    }
    wnnModelRelease(info.file);
    if (model.builder)
        model_end(&model);
    session_close(&session);
    if (good)
        return CODE_GOOD;
    fflush(stdout);
    return command_failed(&error);
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {{"limits", no_argument, NULL, 'l'},
                                                 {"json", no_argument, NULL, 'j'},
                                                 SESSION_LONG_OPTIONS,
                                                 {NULL, 0, NULL, 0}};
    struct info_options options = {.session = SESSION_OPTIONS_INIT};
    for (int option; (option = command_option(argc, argv, long_options)) != -1;) {
        if (option == 'h')
            return command_help(&command_info);
        if (option == 'l')
            options.limits = true;
        else if (option == 'j')
            options.json = true;
        else if (!session_option(&options.session, option, optarg))
            return command_usage(&command_info);
    }
    if (options.limits && argc != optind)
        return command_wrong(&command_info, "--limits are those of a context; it takes no graph");
    if (options.limits)
        return list_limits(&options);
    if (argc - optind > 1)
        return command_wrong(&command_info, "one graph at a time");
    if (argc != optind)
        return compiled_file_is(argv[optind]) ? describe_compiled(&options, argv[optind])
                                              : describe(&options, argv[optind]);
    info_devices_print(options.json);
    return CODE_GOOD;
}

const struct command command_info = {"info", "describes a graph, the devices, or their limits", help, run};
