// SPDX-License-Identifier: Apache-2.0
//
// `webnn run`: computes a graph on files.

#include "tools/bounds.h"
#include "tools/command.h"
#include "tools/compiled_file.h"
#include "tools/dump.h"
#include "tools/find_nan.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "tools/profile_show.h"
#include "tools/run_inputs.h"
#include "tools/run_show.h"
#include "tools/standard_input.h"
#include "tools/subject.h"
#include "tools/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Runs a graph on files and shows the results.\n\n"
    "Usage: webnn run [OPTIONS] GRAPH [INPUT...]\n\n"
    "GRAPH is a model of ONNX or TensorFlow Lite, a .webnn file, a built-in architecture or what\n"
    "webnn compile has written. Each\n"
    "INPUT is a file, or NAME=FILE for the input of that name: an image (PNG, JPEG, PGM, PPM), a .npy\n"
    "array, a .pb tensor of ONNX, or raw little-endian numbers; or a .npz archive or a folder\n"
    "of .npy files, which have arrays for inputs by name. One of all may be -, standard input.\n"
    "A graph with one input is run on every file in turn, and on every item of an array that\n"
    "holds several.\n\n"
    "An array has the shape of the input, or one dimension more in front for several items;\n"
    "sizes of 1 do not count. Its numbers are of the input's kind: those with a fraction may\n"
    "be rounded, whole ones and booleans become whole ones that can hold them. Sizes that the\n"
    "model leaves open, and --dim and --shape do not say, are those of the array.\n\n"
    "Images are resized to the shape of the input; its 1 or 3 channels may come first\n"
    "or last. A pixel p from 0 to 255 becomes (p * scale - mean) / std. Arrays of bytes\n"
    "for an input of floats are pixels, too.\n\n"
    "  --input=[NAME=]FILE\n"
    "                    the same as INPUT\n"
    "  --scale=S         1/255 by default\n"
    "  --mean=M[,M,M]    0 by default; one number or one for each channel\n"
    "  --std=D[,D,D]     1 by default\n"
    "  --invert          255 - p instead of p: dark on light for light on dark\n"
    "  --layout=L        nchw or nhwc, where the shape of the input does not tell\n"
    "  --random          random numbers for inputs without a file\n"
    "  --seed=N          other random numbers than those of 0; with --random\n\n"
    "  --top=N           how many of the highest scores are shown; 5 by default\n"
    "  --labels=FILE     the names of the classes, one a line\n"
    "  --draw            draws the image and the scores\n"
    "  --expect=FILE     a .npy array of the right classes, one an item: shows only how\n"
    "                    many are right\n"
    "  --output=[NAME=]FILE  writes an output as .npy, or raw if FILE ends otherwise; - is\n"
    "                    .npy on standard output, where nothing else is shown then;\n"
    "                    may be repeated\n"
    "  --dump=NAME       writes the value of an operand, or what the nodes of that label\n"
    "                    make, as .npy; all: inputs and everything that nodes make; may be\n"
    "                    repeated. Such values are outputs of the graph as well, so that\n"
    "                    what would be fused across them is computed one by one\n"
    "  --dump-to=DIR     the folder for that, which is made unless there is one; . by\n"
    "                    default. Files have the names of values, with %XX for signs that\n"
    "                    are neither letters, digits, _, - nor .\n"
    "  --quiet           shows no results\n"
    "  --repeat=N        runs each item N times and shows how long it takes\n\n"
    "  --profile         shows how long each operator of the model takes, alone or with those\n"
    "                    that it was fused with, and how close to the machine's limits that is\n"
    "  --trace=FILE      writes every node of every run as a trace for chrome://tracing\n"
    "                    or ui.perfetto.dev; - is standard output\n"
    "  --find-nan        says which constants and inputs hold NaN or infinities, and names the\n"
    "                    node that first makes one of numbers that are none. A GPU computes\n"
    "                    the nodes of the model one by one for that, and keeps what they "
    "make\n\n" SESSION_HELP "\nExamples:\n\n"
    "  webnn run --draw --labels=tools/digits/labels.txt \\\n"
    "            tools/digits/digits.webnn tools/digits/images/digit*.png\n"
    "  webnn run --expect=tools/digits/test_labels.npy \\\n"
    "            tools/digits/digits.webnn tools/digits/test.npy\n"
    "  webnn run --mean=0.485,0.456,0.406 --std=0.229,0.224,0.225 \\\n"
    "            --labels=imagenet.txt squeezenet.webnn cat.jpg\n"
    "  webnn run --random --quiet --repeat=20 --profile mobilenet_v2\n"
    "  webnn run --output=logits=logits.npy model.webnn tokens=tokens.npy mask=mask.npy\n"
    "  cat model.onnx | webnn run --input=x=x.npy --output=- - | python3 show.py\n"
    "  webnn run --random --dump=all --dump-to=values model.onnx\n";

struct run_options {
    struct session_options session;
    struct run_input_options inputs;
    struct dump_options dump;
    unsigned long top, repeat;
    bool draw, quiet, profile, find_nan;
    bool has_stream; // standard output has a file
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
    size_t output_count;    // of the model; those of the dump follow
    struct array_set arrays;
    struct run_inputs inputs;
    struct dump dump;
    struct labels labels;
    struct array expected;
    size_t items, right; // computed, and as expected
    struct trace trace;
    struct nan_finder nan_finder;
    struct sources sources;
    struct error error;
};

static bool choose_outputs(struct work *work)
{
    struct run_port **ports = run_ports_list(work->subject.outputs, work->output_count);
    bool good = true;
    for (size_t i = 0; good && i < work->options->output_count; i++) {
        const char *path, *argument = work->options->outputs[i];
        size_t at = run_port_named(ports, work->output_count, argument, &path);
        if (at == work->output_count && work->output_count == 1)
            at = 0;
        good = at < work->output_count || wnn_fail(&work->error, WNNStatus_TypeError,
                                                   "--output=%s: the graph has %zu outputs; say NAME=FILE",
                                                   argument, work->output_count);
        if (good)
            ports[at]->path = path;
    }
    free(ports);
    return good;
}

static bool compute(struct work *work)
{
    for (unsigned long i = 0; i < work->options->repeat; i++) {
        if (!subject_run(&work->subject, &work->error))
            return false;
        trace_add(&work->trace, work->graph);
        nan_finder_look(&work->nan_finder);
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
static bool run_item(struct work *work)
{
    const struct run_options *options = work->options;
    const struct run_inputs *inputs = &work->inputs;
    if (!compute(work))
        return false;
    work->items++;
    for (size_t i = 0; i < work->subject.input_count; i++)
        run_port_keep(&work->subject.inputs[i]);
    for (size_t i = 0; i < work->subject.output_count; i++)
        run_port_keep(&work->subject.outputs[i]);
    if (options->quiet || options->expect)
        return check_expected(work);
    if (inputs->items > 1)
        printf("%s%s [%zu]%s\n", STYLE_BOLD, SHOWN_STRING(inputs->path), inputs->item, STYLE_NONE);
    else if (inputs->path)
        printf("%s%s%s\n", STYLE_BOLD, SHOWN_STRING(inputs->path), STYLE_NONE);
    for (size_t i = 0; i < work->output_count; i++) {
        if (work->output_count > 1 && is_scores(&work->subject.outputs[i].type))
            printf(" %s\n", SHOWN(work->subject.outputs[i].name));
        if (i > 0 || !options->draw || work->subject.input_count != 1 ||
            !draw_result(&work->subject.inputs[0], &options->inputs.rule, &work->subject.outputs[0],
                         &work->labels, options->top))
            show_output(&work->subject.outputs[i], &work->labels, options->top);
    }
    return true;
}

static bool run_items(struct work *work)
{
    struct progress progress;
    progress_begin(&progress, "running");
    bool good = true;
    while (good && run_inputs_next(&work->inputs, &work->error)) {
        good = run_item(work);
        if ((work->options->quiet || work->options->expect) && work->inputs.path)
            progress_show(&progress, work->inputs.item + 1, work->inputs.items);
    }
    progress_end(&progress);
    return good && work->error.status == WNNStatus_Success;
}

static void show_totals(struct work *work)
{
    if (work->options->expect)
        printf("%zu of %zu right (%.2f %%)\n", work->right, work->items,
               work->items ? 100.0 * (double)work->right / (double)work->items : 0);
    if (work->options->repeat < 2 || work->options->has_stream)
        return;
    const struct subject *subject = &work->subject;
    subject_sort_times(&work->subject);
    printf("%zu runs: median %.3f ms, least %.3f ms\n", subject->time_count,
           subject->times[subject->time_count / 2] * 1e3, subject->times[0] * 1e3);
}

static bool begin_inputs(struct work *work)
{
    const struct model *model = &work->model;
    struct run_port **ports = run_ports_list(work->subject.inputs, work->subject.input_count);
    bool good = run_inputs_begin(&work->inputs, ports, work->subject.input_count, &work->options->inputs,
                                 &work->arrays, &model, 1, &work->error);
    free(ports);
    return good;
}

static bool build(struct work *work, const char *path)
{
    const struct run_options *options = work->options;
    struct error *error = &work->error;
    if (!model_load(&work->model, path, &options->session.load, error))
        return false;
    work->output_count = work->model.output_count;
    if (!dump_begin(&work->dump, &options->dump, &work->model, error))
        return false;
    if (options->find_nan)
        nan_finder_prepare(&work->nan_finder, &work->session, &work->model);
    if (!session_build(&work->session, &work->model, &work->graph, error))
        return false;
    if (options->profile)
        sources_find(&work->sources, &work->model, work->graph);
    return true;
}

// Of a graph that was compiled before, there is no model: what lies between its nodes is not known by name.
static bool load(struct work *work, const char *path)
{
    const struct run_options *options = work->options;
    if (options->dump.count || options->find_nan)
        return wnn_fail(&work->error, WNNStatus_NotSupportedError,
                        "%s is compiled; --dump and --find-nan need the model", SHOWN_STRING(path));
    if (!compiled_file_open(&work->session, path, &options->session.load, &work->graph, &work->error))
        return false;
    wnnGraphGetOutputs(work->graph, &work->output_count);
    return true;
}

static bool prepare(struct work *work, const char *path)
{
    const struct run_options *options = work->options;
    struct error *error = &work->error;
    if (options->labels && !labels_read(options->labels, &work->labels, error))
        return false;
    if (options->expect && !array_read_npy(options->expect, &work->expected, error))
        return false;
    if (!compiled_file_open_session(&work->session, &options->session, path, error) ||
        !model_begin(&work->model, work->session.context, error) ||
        !(compiled_file_is(path) ? load(work, path) : build(work, path)))
        return false;
    subject_begin(&work->subject, &work->session, work->graph);
    wnnGraphSetProfiling(work->graph, options->profile || options->trace);
    if (options->trace && !trace_open(&work->trace, options->trace, error))
        return false;
    if (options->find_nan)
        nan_finder_begin(&work->nan_finder, &work->model, &work->subject);
    dump_connect(&work->dump, &work->subject);
    return choose_outputs(work) && begin_inputs(work);
}

static int compute_graph(const struct run_options *options, const char *path)
{
    struct work work = {.options = options};
    bool good = prepare(&work, path) && run_items(&work) && mapping_check(&work.error);
    for (size_t i = 0; good && i < work.output_count; i++)
        good = run_port_write(&work.subject.outputs[i], work.items, &work.error);
    good = good && dump_write(&work.dump, work.items, &work.error);
    if (good && !options->quiet)
        dump_show(&work.dump);
    if (good)
        show_totals(&work);
    if (good && options->profile)
        profile_print(work.graph, &work.sources);
    if (good && options->find_nan)
        good = nan_finder_end(&work.nan_finder, &work.model, &work.error);
    good = trace_close(&work.trace, &work.error) && good;
    run_inputs_end(&work.inputs);
    array_set_free(&work.arrays);
    subject_end(&work.subject);
    sources_free(&work.sources);
    dump_end(&work.dump);
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

static bool take_option(struct run_options *options, int option, const char *argument)
{
    switch (option) {
    case 'D':
        options->dump.names = must_grow(options->dump.names, options->dump.count, &options->dump.capacity,
                                        sizeof *options->dump.names);
        options->dump.names[options->dump.count++] = argument;
        return true;
    case 'F':
        options->dump.folder = argument;
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
        return is_run_input_option(option) ? run_input_option(&options->inputs, option, argument)
                                           : session_option(&options->session, option, argument);
    }
}

// Standard input can be one thing, and standard output too.
static int check_streams(struct run_options *options, const char *path)
{
    size_t count = is_standard(path) + run_input_options_streams(&options->inputs) +
                   (options->labels && is_standard(options->labels)) +
                   (options->expect && is_standard(options->expect)) +
                   load_reads_standard(&options->session.load),
           outputs = options->trace && is_standard(options->trace);
    for (size_t i = 0; i < options->output_count; i++)
        outputs += is_stream_argument(options->outputs[i]);
    if (count > 1)
        return command_wrong(&command_run, "standard input, -, can be read once only");
    if (outputs > 1)
        return command_wrong(&command_run, "standard output, -, can have one file only");
    if (outputs && (options->expect || options->profile || options->find_nan ||
                    (options->repeat > 1 && !options->trace)))
        return command_wrong(&command_run, "%s=- leaves no place for what else is to be shown",
                             options->trace ? "--trace" : "--output");
    options->quiet |= outputs > 0;
    options->has_stream = outputs > 0;
    return -1;
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"dump", required_argument, NULL, 'D'},
        {"dump-to", required_argument, NULL, 'F'},
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
        RUN_INPUT_LONG_OPTIONS,
        SESSION_LONG_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    struct run_options options = {.session = SESSION_OPTIONS_INIT,
                                  .inputs = RUN_INPUT_OPTIONS_INIT,
                                  .dump = {.folder = "."},
                                  .top = 5,
                                  .repeat = 1};
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
    for (int i = optind + 1; code < 0 && i < argc; i++)
        run_input_options_add(&options.inputs, argv[i]);
    if (code < 0)
        code = check_streams(&options, argv[optind]);
    options.session.load.find_shapes = run_input_options_shapes;
    options.session.load.values_at_hand = &options.inputs;
    if (code < 0)
        code = compute_graph(&options, argv[optind]);
    free(options.outputs);
    free(options.dump.names);
    free(options.inputs.arguments);
    return code;
}

const struct command command_run = {"run", "runs a graph on images and arrays", help, run};
