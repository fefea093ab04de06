// SPDX-License-Identifier: Apache-2.0
//
// `webnn graph`: what the compiler makes of a graph.

#include "tools/command.h"
#include "tools/graph_file.h"
#include "tools/load.h"
#include "tools/session.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Shows a graph before, between and after the compiler's passes, or writes it as a\n"
    "graph file.\n\n"
    "Usage: webnn graph [OPTIONS] GRAPH\n\n"
    "GRAPH is an ONNX model, a .webnn file or a built-in architecture. Without options it is shown as\n"
    "the backend gets it, with the places of its operands in memory (@), and what computes\n"
    "each node (by), with the reason where the backend has something else for it.\n\n"
    "  --before          as it was recorded\n"
    "  --after=PASS      after one pass; --after=all shows it after each\n"
    "  --passes          only lists the passes, in order\n"
    "  --without-pass=PASS   leaves a pass out; may be repeated\n"
    "  --format=FORMAT   text (the default) or dot, for Graphviz\n"
    "  --emit=webnn      as it was recorded, as a graph file that can be read again\n"
    "  --weights-out=FILE    with --emit: writes the weights, too, and refers to them\n" SESSION_HELP
    "\nExamples:\n\n"
    "  webnn graph tools/digits/digits.webnn\n"
    "  webnn graph --before --format=dot tools/digits/digits.webnn | dot -Tsvg > digits.svg\n"
    "  webnn graph --after=all mobilenet_v2 | less\n"
    "  webnn graph --emit=webnn --weights-out=copy.safetensors \\\n"
    "              tools/digits/digits.webnn > copy.webnn\n";

struct graph_options {
    struct session_options session;
    bool before, dot, emit;
    const char *after, *weights_out;
    uint32_t skip;
};

struct pass_printer {
    const struct graph_options *options;
    unsigned shown;
};

static void write_out(void *file, const char *text, size_t length)
{
    fwrite(text, 1, length, file);
}

static void dump(const struct graph_options *options, const struct graph *graph)
{
    const struct text_sink sink = {write_out, stdout, true};
    if (options->dot)
        wnn_dump_dot(graph, &sink);
    else
        wnn_dump_text(graph, &sink);
}

// Runs on the thread of the context that builds, while this one waits for that.
static void observe(void *argument, const char *pass, const struct graph *graph)
{
    struct pass_printer *printer = argument;
    bool all = strcmp(printer->options->after, "all") == 0;
    if (!all && strcmp(printer->options->after, pass) != 0)
        return;
    if (all)
        printf("%s// after %s\n", printer->shown ? "\n" : "", pass);
    printer->shown++;
    dump(printer->options, graph);
}

static bool always_alive(const void *origin)
{
    (void)origin;
    return true;
}

static bool show_recorded(const struct graph_options *options, struct model *model, struct error *error)
{
    struct graph graph;
    wnn_graph_init(&graph, &model->allocator);
    bool good = wnn_builder_snapshot((struct WNNGraphBuilderImpl *)model->builder, model->output_count,
                                     model->outputs, always_alive, &graph, error);
    if (good)
        dump(options, &graph);
    wnn_graph_free(&graph);
    return good;
}

static bool show_compiled(const struct graph_options *options, struct session *session, struct model *model,
                          struct error *error)
{
    struct pass_printer printer = {options, 0};
    wnn_context_set_compile_options(session->context, options->skip, true, options->after ? observe : NULL,
                                    &printer);
    WNNGraph graph;
    if (!session_build(session, model, &graph, error))
        return false;
    if (!options->after)
        dump(options, &wnn_graph_plan(graph)->graph);
    wnnGraphRelease(graph);
    return !options->after || printer.shown ||
           wnn_fail(error, WNNStatus_OperationError, "the pass %s does not run on the backend %s",
                    options->after, session->backend->name);
}

static int list_passes(void)
{
    for (int i = 0; wnn_pass_names[i]; i++)
        puts(wnn_pass_names[i]);
    return CODE_GOOD;
}

static int show(const struct graph_options *options, const char *path)
{
    struct error error = {WNNStatus_Success, ""};
    struct session session;
    struct model model;
    if (!session_open(&session, &options->session, &error))
        return command_failed(&error);
    bool good = model_begin(&model, session.context, &error) &&
                model_load(&model, path, &options->session.load, &error) &&
                (options->emit     ? graph_file_write(&model, stdout, options->weights_out, &error)
                 : options->before ? show_recorded(options, &model, &error)
                                   : show_compiled(options, &session, &model, &error));
    model_end(&model);
    session_close(&session);
    return good ? CODE_GOOD : command_failed(&error);
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"before", no_argument, NULL, 'b'},
        {"after", required_argument, NULL, 'a'},
        {"passes", no_argument, NULL, 'p'},
        {"without-pass", required_argument, NULL, 'w'},
        {"format", required_argument, NULL, 'f'},
        {"emit", required_argument, NULL, 'e'},
        {"weights-out", required_argument, NULL, 'o'},
        SESSION_LONG_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    struct graph_options options = {.session = SESSION_OPTIONS_INIT};
    for (int option; (option = command_option(argc, argv, long_options)) != -1;) {
        switch (option) {
        case 'h':
            return command_help(&command_graph);
        case 'b':
            options.before = true;
            break;
        case 'a':
            if (strcmp(optarg, "all") != 0 && !wnn_pass_bit(optarg))
                return command_wrong(&command_graph, "there is no pass %s; webnn graph --passes lists them",
                                     optarg);
            options.after = optarg;
            break;
        case 'p':
            return list_passes();
        case 'w':
            if (!wnn_pass_bit(optarg))
                return command_wrong(&command_graph, "there is no pass %s; webnn graph --passes lists them",
                                     optarg);
            options.skip |= wnn_pass_bit(optarg);
            break;
        case 'f':
            options.dot = strcmp(optarg, "dot") == 0;
            if (!options.dot && strcmp(optarg, "text") != 0)
                return command_wrong(&command_graph, "--format=%s: expected text or dot", optarg);
            break;
        case 'e':
            options.emit = true;
            if (strcmp(optarg, "webnn") != 0)
                return command_wrong(&command_graph, "--emit=%s: expected webnn", optarg);
            break;
        case 'o':
            options.weights_out = optarg;
            break;
        default:
            if (!session_option(&options.session, option, optarg))
                return command_usage(&command_graph);
        }
    }
    if (argc - optind != 1)
        return command_wrong(&command_graph, argc == optind ? "which graph?" : "one graph at a time");
    return show(&options, argv[optind]);
}

const struct command command_graph = {"graph", "shows a graph before and after the compiler's passes", help,
                                      run};
