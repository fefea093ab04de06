// SPDX-License-Identifier: Apache-2.0
//
// `webnn run`: computes a graph on files.

#include "tools/bounds.h"
#include "tools/command.h"
#include "tools/find_nan.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "tools/profile_show.h"
#include "tools/run_show.h"
#include "tools/subject.h"
#include "tools/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Runs a graph on files and shows the results.\n\n"
    "Usage: webnn run [OPTIONS] GRAPH [INPUT...]\n\n"
    "GRAPH is an ONNX model, a .webnn file or a built-in architecture. Each INPUT is a file, or\n"
    "NAME=FILE for the input of that name: an image (PNG, JPEG, PGM, PPM), a .npy\n"
    "array, or raw little-endian numbers. A graph with one input is run on every file\n"
    "in turn, and on every item of an array that holds several.\n\n"
    "Images are resized to the shape of the input; its 1 or 3 channels may come first\n"
    "or last. A pixel p from 0 to 255 becomes (p * scale - mean) / std. Arrays of bytes\n"
    "for an input of floats are pixels, too.\n\n"
    "  --scale=S         1/255 by default\n"
    "  --mean=M[,M,M]    0 by default; one number or one for each channel\n"
    "  --std=D[,D,D]     1 by default\n"
    "  --invert          255 - p instead of p: dark on light for light on dark\n"
    "  --layout=L        nchw or nhwc, where the shape of the input does not tell\n"
    "  --random          random numbers for inputs without a file\n\n"
    "  --top=N           how many of the highest scores are shown; 5 by default\n"
    "  --labels=FILE     the names of the classes, one a line\n"
    "  --draw            draws the image and the scores\n"
    "  --expect=FILE     a .npy array of the right classes, one an item: shows only how\n"
    "                    many are right\n"
    "  --output=[NAME=]FILE  writes an output as .npy, or raw if FILE ends otherwise;\n"
    "                    may be repeated\n"
    "  --quiet           shows no results\n"
    "  --repeat=N        runs each item N times and shows how long it takes\n\n"
    "  --profile         shows how long each node takes, and how close to the machine's\n"
    "                    limits that is\n"
    "  --trace=FILE      writes every node of every run as a trace for chrome://tracing\n"
    "                    or ui.perfetto.dev\n"
    "  --find-nan        names the node that first makes a NaN or an infinity of numbers\n"
    "                    that are none\n\n" SESSION_HELP "\nExamples:\n\n"
    "  webnn run --draw --labels=tools/digits/labels.txt \\\n"
    "            tools/digits/digits.webnn tools/digits/images/digit*.png\n"
    "  webnn run --expect=tools/digits/test_labels.npy \\\n"
    "            tools/digits/digits.webnn tools/digits/test.npy\n"
    "  webnn run --mean=0.485,0.456,0.406 --std=0.229,0.224,0.225 \\\n"
    "            --labels=imagenet.txt squeezenet.webnn cat.jpg\n"
    "  webnn run --random --quiet --repeat=20 --profile mobilenet_v2\n"
    "  webnn run --output=logits=logits.npy model.webnn tokens=tokens.npy mask=mask.npy\n";

struct run_options {
    struct session_options session;
    struct pixel_rule rule;
    unsigned long top, repeat;
    bool draw, quiet, random, profile, find_nan;
    const char *labels, *expect, *trace, **outputs;
    size_t output_count, output_capacity;
};

// Everything between the command line and the last result.
struct work {
    const struct run_options *options;
    struct session session;
    struct model model;
    WNNGraph graph;
    struct subject subject; // of it
    struct labels labels;
    struct array expected;
    size_t items, right; // computed, and as expected
    struct trace trace;
    struct nan_finder nan_finder;
    struct error error;
};

// Splits "NAME=FILE" if there is a port of that name; otherwise the whole is a file and the port is NULL.
static struct run_port *named_port(struct run_port *ports, size_t count, const char *argument,
                                   const char **path)
{
    const char *equal = strchr(argument, '=');
    *path = argument;
    for (size_t i = 0; equal && i < count; i++)
        if (wnn_string_equal(ports[i].name, (struct string){argument, (size_t)(equal - argument)})) {
            *path = equal + 1;
            return &ports[i];
        }
    return NULL;
}

static bool choose_outputs(struct work *work)
{
    for (size_t i = 0; i < work->options->output_count; i++) {
        const char *path, *argument = work->options->outputs[i];
        struct run_port *port =
            named_port(work->subject.outputs, work->subject.output_count, argument, &path);
        if (!port && work->subject.output_count == 1)
            port = work->subject.outputs;
        if (!port)
            return wnn_fail(&work->error, WNNStatus_TypeError,
                            "--output=%s: the graph has %zu outputs; say NAME=FILE", argument,
                            work->subject.output_count);
        port->path = path;
    }
    return true;
}

static bool compute(struct work *work)
{
    for (unsigned long i = 0; i < work->options->repeat; i++) {
        if (!subject_run(&work->subject, &work->error))
            return false;
        trace_add(&work->trace, work->graph);
    }
    return true;
}

static bool check_expected(struct work *work)
{
    size_t item = work->items - 1;
    if (!work->options->expect)
        return true;
    if (item >= work->expected.elements)
        return wnn_fail(&work->error, WNNStatus_TypeError, "%s has only %zu classes for more items",
                        work->options->expect, work->expected.elements);
    double wanted = wnn_number_double(array_element(&work->expected, item));
    work->right += (double)best_score(&work->subject.outputs[0]) == wanted;
    return true;
}

// Computes with what lies in the inputs, and shows it under a heading.
static bool run_item(struct work *work, const char *path, size_t item, size_t items)
{
    const struct run_options *options = work->options;
    if (!compute(work))
        return false;
    work->items++;
    for (size_t i = 0; i < work->subject.output_count; i++)
        run_port_keep(&work->subject.outputs[i]);
    if (options->quiet || options->expect)
        return check_expected(work);
    if (items > 1)
        printf("%s%s [%zu]%s\n", STYLE_BOLD, SHOWN_STRING(path), item, STYLE_NONE);
    else if (path)
        printf("%s%s%s\n", STYLE_BOLD, SHOWN_STRING(path), STYLE_NONE);
    for (size_t i = 0; i < work->subject.output_count; i++) {
        if (work->subject.output_count > 1 && is_scores(&work->subject.outputs[i].type))
            printf(" %s\n", SHOWN(work->subject.outputs[i].name));
        if (i > 0 || !options->draw || work->subject.input_count != 1 ||
            !draw_result(&work->subject.inputs[0], &options->rule, &work->subject.outputs[0], &work->labels,
                         options->top))
            show_output(&work->subject.outputs[i], &work->labels, options->top);
    }
    return true;
}

// One input: every file, every item.
static bool run_each(struct work *work, int count, char **arguments)
{
    struct progress progress;
    progress_begin(&progress, "running");
    bool good = true;
    for (int i = 0; good && i < count; i++) {
        const char *path;
        struct run_file file;
        named_port(work->subject.inputs, 1, arguments[i], &path);
        good = run_file_open(&file, path, &work->subject.inputs[0], true, &work->error);
        for (size_t item = 0; good && item < file.items; item++) {
            good = run_file_load(&file, item, &work->options->rule, &work->subject.inputs[0], &work->error) &&
                   run_item(work, path, item, file.items);
            if (work->options->quiet || work->options->expect)
                progress_show(&progress, item + 1, file.items);
        }
        run_file_close(&file);
    }
    progress_end(&progress);
    return good;
}

// Several inputs, or none with a file: one execution.
static bool run_once(struct work *work, int count, char **arguments)
{
    bool *given = must_allocate(work->subject.input_count * sizeof *given);
    bool good = true;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; good && i < count; i++) {
        const char *path;
        struct run_port *port =
            named_port(work->subject.inputs, work->subject.input_count, arguments[i], &path);
        for (size_t k = 0; !port && k < work->subject.input_count; k++)
            port = given[k] ? NULL : &work->subject.inputs[k];
        struct run_file file = {.path = NULL};
        good = port ? run_file_open(&file, path, port, false, &work->error) &&
                          run_file_load(&file, 0, &work->options->rule, port, &work->error)
                    : wnn_fail(&work->error, WNNStatus_TypeError, "%s: the graph has only %zu inputs",
                               arguments[i], work->subject.input_count);
        if (port)
            given[port - work->subject.inputs] = true;
        run_file_close(&file);
    }
    for (size_t i = 0; good && i < work->subject.input_count; i++) {
        struct run_port *port = &work->subject.inputs[i];
        if (!given[i] && work->options->random)
            run_port_randomise(port, &seed);
        else if (!given[i])
            good = wnn_fail(&work->error, WNNStatus_TypeError, "no file for the input %s, %s%s (or --random)",
                            port->name.data, wnn_dtype_name(port->type.type), SHAPE_TEXT(&port->type.shape));
    }
    free(given);
    return good && run_item(work, NULL, 0, 1);
}

static void show_totals(struct work *work)
{
    if (work->options->expect)
        printf("%zu of %zu right (%.2f %%)\n", work->right, work->items,
               work->items ? 100.0 * (double)work->right / (double)work->items : 0);
    if (work->options->repeat < 2)
        return;
    const struct subject *subject = &work->subject;
    subject_sort_times(&work->subject);
    printf("%zu runs: median %.3f ms, least %.3f ms\n", subject->time_count,
           subject->times[subject->time_count / 2] * 1e3, subject->times[0] * 1e3);
}

static bool prepare(struct work *work, const char *path)
{
    const struct run_options *options = work->options;
    struct error *error = &work->error;
    if (options->labels && !labels_read(options->labels, &work->labels, error))
        return false;
    if (options->expect && !array_read_npy(options->expect, &work->expected, error))
        return false;
    if (!session_open(&work->session, &options->session, error) ||
        !model_begin(&work->model, work->session.context, error) ||
        !model_load(&work->model, path, &options->session.load, error))
        return false;
    if (options->find_nan)
        nan_finder_prepare(&work->nan_finder, work->session.context);
    if (!session_build(&work->session, &work->model, &work->graph, error))
        return false;
    subject_begin(&work->subject, &work->session, work->graph);
    wnnGraphSetProfiling(work->graph, options->profile || options->trace);
    if (options->trace && !trace_open(&work->trace, options->trace, error))
        return false;
    if (options->find_nan)
        nan_finder_begin(&work->nan_finder, work->graph);
    return choose_outputs(work);
}

static int compute_graph(const struct run_options *options, int count, char **arguments)
{
    struct work work = {.options = options};
    bool good = prepare(&work, arguments[0]);
    if (good)
        good = work.subject.input_count == 1 && count > 1 ? run_each(&work, count - 1, arguments + 1)
                                                          : run_once(&work, count - 1, arguments + 1);
    good = good && mapping_check(&work.error);
    for (size_t i = 0; good && i < work.subject.output_count; i++)
        good = run_port_write(&work.subject.outputs[i], work.items, &work.error);
    if (good)
        show_totals(&work);
    if (good && options->profile)
        profile_print(work.graph);
    if (good && options->find_nan)
        good = nan_finder_end(&work.nan_finder, &work.model, &work.error);
    good = trace_close(&work.trace, &work.error) && good;
    subject_end(&work.subject);
    nan_finder_free(&work.nan_finder);
    labels_free(&work.labels);
    array_close(&work.expected);
    wnnGraphRelease(work.graph);
    if (work.model.builder)
        model_end(&work.model);
    session_close(&work.session);
    if (!good)
        fflush(stdout);
    return good ? CODE_GOOD : command_failed(&work.error);
}

#define MAX_REAL 1e9 // of what pixels are multiplied with and divided by, and its inverse

// "0.5" for all channels or "0.1,0.2,0.3".
static bool parse_channels(const char *option, const char *argument, double low, double values[3])
{
    char text[128] = "";
    size_t count = 0;
    if (strlen(argument) < sizeof text)
        strcpy(text, argument);
    for (char *at = text, *next; at; at = next) {
        next = strchr(at, ',');
        if (next)
            *next++ = '\0';
        if (count < 3 && !parse_real(option, at, low, MAX_REAL, &values[count]))
            return false;
        count++;
    }
    if (count == 1)
        values[1] = values[2] = values[0];
    if (count == 1 || count == 3)
        return true;
    fprintf(stderr, "webnn: --%s=%s: expected one number, or one for each of three channels\n", option,
            SHOWN_STRING(argument));
    return false;
}

static bool take_option(struct run_options *options, int option, const char *argument)
{
    switch (option) {
    case 's':
        return parse_real("scale", argument, -MAX_REAL, MAX_REAL, &options->rule.scale);
    case 'm':
        return parse_channels("mean", argument, -MAX_REAL, options->rule.mean);
    case 'd':
        return parse_channels("std", argument, 1 / MAX_REAL, options->rule.deviation);
    case 'i':
        options->rule.invert = true;
        return true;
    case 'y':
        options->rule.layout = strcmp(argument, "nchw") == 0   ? LAYOUT_NCHW
                               : strcmp(argument, "nhwc") == 0 ? LAYOUT_NHWC
                                                               : LAYOUT_GUESSED;
        if (options->rule.layout == LAYOUT_GUESSED)
            fprintf(stderr, "webnn: --layout=%s: expected nchw or nhwc\n", SHOWN_STRING(argument));
        return options->rule.layout != LAYOUT_GUESSED;
    case 'x':
        options->random = true;
        return true;
    case 't':
        return parse_count("top", argument, 1, 1000000, &options->top);
    case 'l':
        options->labels = argument;
        return true;
    case 'w':
        options->draw = true;
        return true;
    case 'e':
        options->expect = argument;
        return true;
    case 'q':
        options->quiet = true;
        return true;
    case 'p':
        options->profile = true;
        return true;
    case 'c':
        options->trace = argument;
        return true;
    case 'n':
        options->find_nan = true;
        return true;
    case 'r':
        return parse_count("repeat", argument, 1, MAX_TIMES, &options->repeat);
    case 'o':
        options->outputs = must_grow(options->outputs, options->output_count, &options->output_capacity,
                                     sizeof *options->outputs);
        options->outputs[options->output_count++] = argument;
        return true;
    default:
        return session_option(&options->session, option, argument);
    }
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"scale", required_argument, NULL, 's'},
        {"mean", required_argument, NULL, 'm'},
        {"std", required_argument, NULL, 'd'},
        {"invert", no_argument, NULL, 'i'},
        {"layout", required_argument, NULL, 'y'},
        {"random", no_argument, NULL, 'x'},
        {"top", required_argument, NULL, 't'},
        {"labels", required_argument, NULL, 'l'},
        {"draw", no_argument, NULL, 'w'},
        {"expect", required_argument, NULL, 'e'},
        {"quiet", no_argument, NULL, 'q'},
        {"repeat", required_argument, NULL, 'r'},
        {"output", required_argument, NULL, 'o'},
        {"profile", no_argument, NULL, 'p'},
        {"trace", required_argument, NULL, 'c'},
        {"find-nan", no_argument, NULL, 'n'},
        SESSION_LONG_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    struct run_options options = {
        .session = SESSION_OPTIONS_INIT, .rule = PIXEL_RULE_INIT, .top = 5, .repeat = 1};
    int code = -1;
    for (int option; code < 0 && (option = command_option(argc, argv, long_options)) != -1;) {
        if (option == 'h')
            code = command_help(&command_run);
        else if (!take_option(&options, option, optarg))
            code = command_usage(&command_run);
    }
    if (code < 0 && options.find_nan && (options.profile || options.trace))
        code = command_wrong(&command_run, "--find-nan is for runs without --profile and --trace");
    if (code < 0 && argc == optind)
        code = command_wrong(&command_run, "which graph?");
    if (code < 0)
        code = compute_graph(&options, argc - optind, argv + optind);
    free(options.outputs);
    return code;
}

const struct command command_run = {"run", "runs a graph on images and arrays", help, run};
