// SPDX-License-Identifier: Apache-2.0
//
// `webnn graph`: what the compiler makes of a graph.

#include "tools/command.h"
#include "tools/graphviz.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "tools/session.h"
#include "tools/standard_input.h"
#include "tools/why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Shows a graph before, between and after the compiler's passes, or writes it as a\n"
    "graph file.\n\n"
    "Usage: webnn graph [OPTIONS] GRAPH\n\n"
    "GRAPH is a model of ONNX or TensorFlow Lite, a .webnn file or a built-in architecture. Without\n"
    "options it is shown as the backend gets it, with the places of its operands in memory (@),\n"
    "and what computes each node (by), with the reason where the backend has something else for it.\n\n"
    "  --before          as it was recorded\n"
    "  --after=PASS      after one pass; --after=all shows it after each\n"
    "  --passes          only lists the passes, in order\n"
    "  --without-pass=PASS   leaves a pass out; may be repeated\n"
    "  --why             instead of the graph: which patterns of the compiler took its products,\n"
    "                    attentions and normalizations, and what kept the nearest from the others\n"
    "  --format=FORMAT   text (the default), dot, for Graphviz, or svg or png, which its\n"
    "                    program dot makes if it is installed; of a pass that runs several\n"
    "                    times, the last time\n"
    "  --emit=webnn      as it was recorded, as a graph file that can be read again\n"
    "  --weights-out=FILE    with --emit: writes the weights, too, and refers to them\n" SESSION_HELP
    "\nExamples:\n\n"
    "  webnn graph tools/digits/digits.webnn\n"
    "  webnn graph --before --format=svg tools/digits/digits.webnn > digits.svg\n"
    "  webnn graph --after=all mobilenet_v2 | less\n"
    "  webnn graph --emit=webnn --weights-out=copy.safetensors \\\n"
    "              tools/digits/digits.webnn > copy.webnn\n";

enum graph_format {
    FORMAT_TEXT,
    FORMAT_DOT,
    FORMAT_SVG,
    FORMAT_PNG
};
static const char *const format_names[] = {"text", "dot", "svg", "png"};
#define FORMATS (sizeof format_names / sizeof *format_names)

struct graph_options {
    struct session_options session;
    bool before, emit, why;
    enum graph_format format;
    FILE *file; // that graphs are printed to
    const char *after, *weights_out;
    uint32_t skip;
};

struct pass_printer {
    const struct graph_options *options;
    unsigned shown;
};

static bool is_image(const struct graph_options *options)
{
    return options->format == FORMAT_SVG || options->format == FORMAT_PNG;
}

static void write_out(void *file, const char *text, size_t length)
{
    fwrite(text, 1, length, file);
}

static void dump(const struct graph_options *options, const struct graph *graph)
{
    const struct text_sink sink = {write_out, options->file, true};
    if (options->format == FORMAT_TEXT)
        wnn_dump_text(graph, &sink);
    else
        wnn_dump_dot(graph, &sink);
}

// Runs on the thread of the context that builds, while this one waits for that.
static void observe(void *argument, const char *pass, const struct graph *graph)
{
    struct pass_printer *printer = argument;
    bool all = strcmp(printer->options->after, "all") == 0;
    if (!all && strcmp(printer->options->after, pass) != 0)
        return;
    if (all)
        fprintf(printer->options->file, "%s// after %s\n", printer->shown ? "\n" : "", pass);
    printer->shown++;
    if (is_image(printer->options))
        rewind(printer->options->file); // of passes that run several times, the last is drawn
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
    struct why why = {NULL, 0};
    if (options->why)
        wnn_context_set_explainer(session->context, why_explainer(&why));
    if (!session_build(session, model, &graph, error)) {
        why_free(&why);
        return false;
    }
    if (options->why)
        why_show(&why, &wnn_graph_plan(graph)->graph, options->file);
    else if (!options->after)
        dump(options, &wnn_graph_plan(graph)->graph);
    why_free(&why);
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

static bool show_graph(struct graph_options *options, struct session *session, struct model *model,
                       struct error *error)
{
    char *text = NULL;
    size_t length = 0;
    options->file = is_image(options) ? must(open_memstream(&text, &length)) : stdout;
    bool good = options->before ? show_recorded(options, model, error)
                                : show_compiled(options, session, model, error);
    if (is_image(options)) {
        if (fclose(options->file) != 0)
            good = wnn_fail_memory(error);
        good = good && graphviz_draw(format_names[options->format], text, length, error);
    }
    free(text);
    return good;
}

static int show(struct graph_options *options, const char *path)
{
    struct error error = {WNNStatus_Success, ""};
    struct session session;
    struct model model;
    if (!session_open(&session, &options->session, &error))
        return command_failed(&error);
    bool good = model_begin(&model, session.context, &error) &&
                model_load(&model, path, &options->session.load, &error) &&
                (options->emit ? model_write(&model, stdout, options->weights_out, &error)
                               : show_graph(options, &session, &model, &error));
    model_end(&model);
    session_close(&session);
    return good ? CODE_GOOD : command_failed(&error);
}

static bool take_format(struct graph_options *options, const char *argument)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(argument, format_names[i]) == 0) {
            options->format = (enum graph_format)i;
            return true;
        }
    return false;
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"before", no_argument, NULL, 'b'},
        {"after", required_argument, NULL, 'a'},
        {"passes", no_argument, NULL, 'p'},
        {"why", no_argument, NULL, 'y'},
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
        case 'y':
            options.why = true;
            break;
        case 'f':
            if (!take_format(&options, optarg))
                return command_wrong(&command_graph, "--format=%s: expected text, dot, svg or png", optarg);
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
    if (options.why && (options.before || options.after || options.emit || options.format != FORMAT_TEXT))
        return command_wrong(&command_graph, "--why is text about the graph as the backend gets it: not with "
                                             "--before, --after, --emit or --format");
    if (options.weights_out && !options.emit)
        return command_wrong(&command_graph, "--weights-out is for --emit=webnn");
    if (options.weights_out && is_standard(options.weights_out))
        return command_wrong(&command_graph,
                             "standard output has the graph; --weights-out=FILE takes the weights");
    if (is_image(&options) && options.after && strcmp(options.after, "all") == 0)
        return command_wrong(&command_graph, "an image is of one graph: --after=PASS instead of --after=all");
    if (options.format == FORMAT_PNG && !options.emit && isatty(STDOUT_FILENO))
        return command_wrong(&command_graph, "a PNG image is nothing for a terminal; write it to a file");
    return show(&options, argv[optind]);
}

const struct command command_graph = {"graph", "shows a graph before and after the compiler's passes", help,
                                      run};
