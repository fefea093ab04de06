// SPDX-License-Identifier: Apache-2.0
//
// `webnn bench`: how long building and running takes.

#include "tools/bench_models.h"
#include "tools/bench_report.h"
#include "tools/bench_result.h"
#include "tools/bounds.h"
#include "tools/command.h"
#include "tools/compiled_file.h"
#include "tools/json.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "tools/profile_show.h"
#include "tools/standard_input.h"
#include "tools/standard_output.h"
#include "tools/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "Measures graphs: the time to build, the first run, and then as many runs as fit in\n"
    "the time, or a number of them.\n\n"
    "Usage: webnn bench [OPTIONS] [GRAPH...]\n\n"
    "GRAPH is a model of ONNX or TensorFlow Lite, a .webnn file or one of these; without any,\n"
    "the first seven are measured.\n\n"
    "  mobilenet_v1      MobileNet 1.0 224\n"
    "  mobilenet_v2      MobileNetV2 1.0 224\n"
    "  mobilenet_v2_int8 the same in 8 bits, as quantizeLinear and dequantizeLinear\n"
    "  resnet50          ResNet-50\n"
    "  bert_layer        an encoder layer of BERT-base, 128 tokens\n"
    "  gru, lstm         a recurrent layer, 32 steps, 256 hidden\n"
    "  matmul:MxKxN      a matrix product, the second matrix constant\n"
    "  matmul_uint4:MxKxN   the same, the second of 4 bits in blocks of 32\n"
    "  attention:HEADSxKEYSxDEPTH[xROWS[xSHARED]]   attention of as many rows of the query, and\n"
    "                    of as many heads of keys and values, if it is not said otherwise\n"
    "  conv2d:HxWxINxOUT[xKERNEL[xSTRIDE[xGROUPS]]]   a convolution, channels last\n"
    "  copy:SHAPE        each element read and written once: the bandwidth that there is\n"
    "  chain:N           N small operators, each of which needs the one before\n"
    "  OPERATOR:SHAPE    an operator that needs nothing but a shape: add:1x64x56x56\n\n"
    "Weights and inputs are random; nothing else of the machine should be at work.\n"
    "Times are from the call to its end; of a GPU a second line has the time that it works\n"
    "on the operators, by its own clock, and with --cache a third that of a second build.\n"
    "Spread is how far the medians of the repeats are apart, or of fifths of a single one,\n"
    "in percent of the median. GFLOP/s counts two operations for a multiply-add. Peak\n"
    "memory is that of the whole process; several graphs are measured in a process each.\n\n"
    "  --time=SECONDS    for the runs of each graph; 2 by default, and three runs at least\n"
    "  --iterations=N    measures so many runs instead\n"
    "  --warm-up=N       runs before, which are not measured; 1 by default\n"
    "  --repeats=N       measures so often, for the spread; 1 by default. --time and\n"
    "                    --iterations are of one repeat\n"
    "  --in-flight=N     keeps N runs going at once: what throughput a server gets\n"
    "  --tensors         runs on tensors of the context, as engines do: nothing is copied\n"
    "                    between the host and a GPU\n"
    "  --replace=INPUT=OUTPUT\n"
    "                    the output lies where the input does, as state that stays where it\n"
    "                    is; may be repeated. With --in-flight only on tensors\n"
    "  --type=NAME       the data type of built-in networks: float32 (the default), float16\n"
    "  --json            one JSON object a line\n"
    "  --profile         after that, how long each operator of the model takes; those that\n"
    "                    became one kernel stand together\n"
    "  --trace=FILE      and a trace of these runs for chrome://tracing (one graph only); - is\n"
    "                    standard output, where no results are shown then\n\n"
    "Comparing:\n\n"
    "  --vs=COMMAND      a shell command that runs the same network with something else;\n"
    "                    may be repeated. It finds WEBNN_GRAPH and WEBNN_THREADS in its\n"
    "                    environment and prints a number of milliseconds a line, or a\n"
    "                    JSON object with min_ms and peer; exit code 77 says that it has\n"
    "                    no such network. The runs of both sides alternate, and the ratio\n"
    "                    of the least times is shown.\n"
    "  --rounds=N        how often they alternate; 5 by default. --time and --iterations are\n"
    "                    of one round.\n"
    "  --report=FILE     writes the results as a page of text, for one thread and for all\n"
    "                    processors, or as --threads says; - is standard output\n\n" SESSION_HELP
    "\nExamples:\n\n"
    "  webnn bench --threads=1 mobilenet_v2\n"
    "  webnn bench --backend=gpu --tensors --in-flight=2 model.onnx\n"
    "  webnn bench --json --time=10 resnet50 bert_layer > results.jsonl\n"
    "  webnn bench --vs='./peer $WEBNN_GRAPH $WEBNN_THREADS' --threads=1 resnet50\n"
    "  webnn bench tools/digits/digits.webnn matmul:512x512x512 conv2d:56x56x64x64\n";

#define MAX_SECONDS   86400.0
#define MAX_IN_FLIGHT 1024

struct bench_options {
    struct session_options session;
    struct bench_settings settings;
    unsigned long rounds; // with peers
    bool has_time, json, profile;
    const char *trace, *report;
    const char **peers; // commands
    size_t peer_count, peer_capacity;
    const char **replaced; // "INPUT=OUTPUT"
    size_t replaced_count, replaced_capacity;
    FILE *page;      // of the report
    bool has_stream; // standard output has the trace or the report
};

// A graph that is measured, with everything around it.
struct bench {
    const struct bench_options *options;
    struct session session;
    struct model model;
    WNNBudget budget; // counts memory of the device
    WNNGraph graph;
    struct sources sources;
    struct subject subject;
    struct bench_run run;
    struct bench_result result;
};

// What the kernel calls VmHWM.
static double peak_resident(void)
{
    char line[256];
    double kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtod(line + 6, NULL);
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

// ---------------------------------------------------------------------------------------------------------------
// Measuring
// ---------------------------------------------------------------------------------------------------------------

// Before what is measured. The first run of all is told apart; without a warm-up it is the first one
// measured.
static bool warm_up(struct bench *bench, struct error *error)
{
    const struct bench_length one = {.iterations = 1};
    struct subject *subject = &bench->subject;
    double seconds = 0;
    bool good = true;
    for (unsigned long i = 0; good && i < bench->options->settings.warm_up; i++) {
        good = bench_run_execute(&bench->run, &one, bench->result.what, &seconds, error);
        if (good && i == 0)
            bench->result.first = subject->times[0];
        subject->time_count = 0;
    }
    return good;
}

// Repeats, after each of which the peers take their turns.
static bool measure_runs(struct bench *bench, struct error *error)
{
    const struct bench_options *options = bench->options;
    struct bench_result *result = &bench->result;
    struct subject *subject = &bench->subject;
    size_t *ends = must_allocate(result->settings.repeats * sizeof *ends);
    double seconds = 0;
    bool good = warm_up(bench, error);
    for (size_t i = 0; good && i < result->settings.repeats; i++) {
        good = bench_run_execute(&bench->run, &options->settings.length, result->what, &seconds, error);
        ends[i] = subject->time_count;
        for (size_t k = 0; good && k < options->peer_count; k++)
            good =
                peer_run(options->peers[k], result->what, options->session.threads, &result->peers[k], error);
    }
    if (good && options->settings.warm_up == 0)
        result->first = subject->times[0];
    if (good)
        statistics_make(&result->times, subject->times, subject->time_count, ends, result->settings.repeats,
                        seconds);
    free(ends);
    return good;
}

static bool measure_device(struct bench *bench, struct error *error)
{
    struct bench_length length = bench->options->settings.length;
    length.seconds /= 4;
    return device_measure(&bench->subject, &length, &bench->result.device_times, error);
}

// Apart from the measured runs, which it would slow down a little.
static bool profile_runs(struct bench *bench, struct error *error)
{
    const struct bench_options *options = bench->options;
    const struct bench_length *length = &options->settings.length;
    struct trace trace = {NULL, NULL, 0, false};
    if (!options->profile && !options->trace)
        return true;
    if (options->trace && !trace_open(&trace, options->trace, error))
        return false;
    wnnGraphSetProfiling(bench->graph, true);
    const struct bench_length once = {.iterations = 1};
    bool good = true;
    double begin = now(), seconds;
    bench->subject.time_count = 0;
    for (size_t runs = 0; good && !bench_length_reached(length, runs, begin); runs++) {
        good = options->settings.tensors ? bench_run_execute(&bench->run, &once, "profiling", &seconds, error)
                                         : subject_run(&bench->subject, error);
        trace_add(&trace, bench->graph);
    }
    return trace_close(&trace, error) && good;
}

// Builds once more in a context of its own, after a build that has filled the cache.
static bool build_again(const struct bench_options *options, const char *what, double *seconds,
                        struct error *error)
{
    struct session session;
    struct model model = {.builder = NULL};
    WNNGraph graph = NULL;
    if (!session_open(&session, &options->session, error))
        return false;
    bool good = model_begin(&model, session.context, error);
    model.type = options->settings.type;
    good = good && model_load(&model, what, &options->session.load, error);
    if (good) {
        double begin = now();
        good = session_build(&session, &model, &graph, error);
        *seconds = now() - begin;
    }
    if (model.builder)
        model_end(&model);
    wnnGraphRelease(graph);
    session_close(&session);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// One graph
// ---------------------------------------------------------------------------------------------------------------

static char *copy_text(struct string text)
{
    return must(strndup(text.data, text.length));
}

static bool open_session(struct bench *bench, struct error *error)
{
    struct session_options options = bench->options->session;
    struct bench_result *result = &bench->result;
    WNNBudgetDescriptor none = WNN_BUDGET_DESCRIPTOR_INIT;
    WNNDeviceInfo device = WNN_DEVICE_INFO_INIT;
    if (wnnCreateBudget(&none, &bench->budget) != WNNStatus_Success)
        return wnn_fail_memory(error);
    options.budget = bench->budget;
    if (!compiled_file_open_session(&bench->session, &options, result->what, error))
        return false;
    result->settings.backend = options.backend ? options.backend : bench->session.backend->name;
    result->threads = wnn_context_threads(bench->session.context);
    wnnContextGetDeviceInfo(bench->session.context, &device);
    result->device = must(strdup(device.name[0] ? device.name : wnn_context_device(bench->session.context)));
    result->device_memory = device.memoryBytes;
    return true;
}

// Multiply-adds of what was compiled before.
static uint64_t compiled_work(WNNGraph graph)
{
    uint64_t operations = 0;
    size_t count = 0;
    wnnGraphGetNodes(graph, 0, NULL, &count);
    WNNNodeInfo *nodes = must_allocate(count * sizeof *nodes);
    wnnGraphGetNodes(graph, count, nodes, &count);
    for (size_t i = 0; i < count; i++)
        operations += nodes[i].operations;
    free(nodes);
    return operations / 2;
}

// Records and builds, or loads, and gives back what only that needs, so that its memory does not count.
static bool build(struct bench *bench, struct error *error)
{
    struct bench_result *result = &bench->result;
    double begin = now();
    bool good = model_begin(&bench->model, bench->session.context, error);
    bench->model.type = bench->options->settings.type;
    bool compiled = compiled_file_is(result->what);
    good =
        good && (compiled || model_load(&bench->model, result->what, &bench->options->session.load, error));
    result->load = now() - begin;
    if (good && compiled) {
        result->name = must(strdup(result->what));
        begin = now();
        good = compiled_file_open(&bench->session, result->what, &bench->options->session.load, &bench->graph,
                                  error);
        result->build = now() - begin;
        result->work = good ? compiled_work(bench->graph) : 0;
    } else if (good) {
        result->work = model_work(&bench->model);
        result->name = copy_text(bench->model.name);
        begin = now();
        good = session_build(&bench->session, &bench->model, &bench->graph, error);
        result->build = now() - begin;
    }
    if (good && !compiled && bench->options->profile)
        sources_find(&bench->sources, &bench->model, bench->graph);
    if (bench->model.builder)
        model_end(&bench->model);
    return good;
}

static bool prepare_runs(struct bench *bench, struct error *error)
{
    const struct bench_settings *settings = &bench->options->settings;
    struct subject *subject = &bench->subject;
    uint64_t seed = 42;
    subject_begin(subject, &bench->session, bench->graph);
    for (size_t i = 0; i < subject->input_count; i++)
        run_port_randomise(&subject->inputs[i], &seed);
    for (size_t i = 0; i < bench->options->replaced_count; i++)
        if (!subject_replace(subject, bench->options->replaced[i], error))
            return false;
    return bench_run_begin(&bench->run, subject, settings->in_flight, settings->tensors, error);
}

static void count_memory(struct bench *bench)
{
    struct bench_result *result = &bench->result;
    WNNContextCounters counters = WNN_CONTEXT_COUNTERS_INIT;
    WNNResources now_used = WNN_RESOURCES_INIT, peak = WNN_RESOURCES_INIT;
    wnnContextGetCounters(bench->session.context, &counters);
    wnnBudgetGetResources(bench->budget, &now_used, &peak);
    result->info = (WNNGraphInfo)WNN_GRAPH_INFO_INIT;
    wnnGraphGetInfo(bench->graph, &result->info);
    result->allocated = counters.maxAllocatedBytes;
    result->device_peak = peak.deviceBytes;
    result->resident = peak_resident();
}

static void print_json(const struct bench *bench)
{
    cJSON *object = bench_result_json(&bench->result, &bench->subject);
    if (bench->options->profile)
        profile_add_json(object, bench->graph, &bench->sources);
    json_print(object);
}

static void write_row(const struct bench *bench)
{
    const struct bench_result *result = &bench->result;
    double least = result->times.least;
    if (bench->options->page)
        report_row(bench->options->page, result->what, least, result->first,
                   2e-9 * (double)result->work / least, result->peers, result->peer_count);
}

static bool measure(struct bench *bench, struct error *error)
{
    const struct bench_options *options = bench->options;
    struct bench_result *result = &bench->result;
    bool good = open_session(bench, error) && build(bench, error) && prepare_runs(bench, error) &&
                measure_runs(bench, error) && measure_device(bench, error);
    if (good)
        count_memory(bench);
    if (good && options->session.cache && !compiled_file_is(result->what))
        good = build_again(options, result->what, &result->again, error);
    if (good && !options->json && !options->has_stream)
        bench_result_print(result);
    good = good && profile_runs(bench, error);
    if (good && options->json)
        print_json(bench);
    else if (good && options->profile)
        profile_print(bench->graph, &bench->sources);
    if (good)
        write_row(bench);
    return good;
}

static void bench_end(struct bench *bench)
{
    bench_run_end(&bench->run);
    subject_end(&bench->subject);
    sources_free(&bench->sources);
    wnnGraphRelease(bench->graph);
    session_close(&bench->session);
    wnnBudgetRelease(bench->budget);
    free(bench->result.peers);
    free(bench->result.name);
    free(bench->result.device);
}

static int bench(const struct bench_options *options, const char *what)
{
    struct error error = {WNNStatus_Success, ""};
    struct bench *one = must_allocate(sizeof *one);
    one->options = options;
    one->session.cache = (struct file_cache)FILE_CACHE_INIT;
    one->result =
        (struct bench_result){.settings = options->settings,
                              .what = what,
                              .peers = must_allocate(options->peer_count * sizeof *one->result.peers),
                              .peer_count = options->peer_count};
    one->result.settings.strict = options->session.strict;
    one->result.settings.fast = options->session.fast;
    if (options->peer_count)
        one->result.settings.repeats = options->rounds;
    bool good = measure(one, &error) && mapping_check(&error);
    bench_end(one);
    free(one);
    if (!good)
        return command_failed(&error);
    return fflush(stdout) ? CODE_FAILED : CODE_GOOD;
}

// In a process of its own, so that peak memory is that of this graph. No threads have been made yet.
static int bench_apart(const struct bench_options *options, const char *what)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return bench(options, what);
    if (child == 0)
        _exit(bench(options, what));
    int status = 0;
    if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status)) {
        fprintf(stderr, "webnn: %s: the process ended with signal %d\n", SHOWN_STRING(what),
                WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        return CODE_FAILED;
    }
    return WEXITSTATUS(status);
}

static int bench_all(const struct bench_options *options, int count, char **names)
{
    int code = CODE_GOOD;
    if (!options->json && !options->has_stream)
        bench_result_print_head();
    if (count == 1 && !options->page)
        return bench(options, names[0]);
    for (int i = 0; i < count; i++)
        if (bench_apart(options, names[i]) != CODE_GOOD)
            code = CODE_FAILED;
    if (count)
        return code;
    for (const struct bench_model *model = bench_models; model->name; model++)
        if (!strchr(model->name, ':') && bench_apart(options, model->name) != CODE_GOOD)
            code = CODE_FAILED;
    return code;
}

// The page, for each number of threads.
static int bench_report(struct bench_options *options, int count, char **names)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads[2] = {options->session.threads ? options->session.threads : 1,
                           options->session.threads || processors < 2 ? 0 : (unsigned)processors};
    int code = CODE_GOOD;
    struct error error = {WNNStatus_Success, ""};
    options->page = create_or_standard(options->report, &error);
    if (!options->page)
        return command_failed(&error);
    report_head(options->page, options->peer_count ? options->rounds : options->settings.repeats,
                &options->settings.length, options->peer_count, options->peers);
    for (int i = 0; i < 2 && threads[i]; i++) {
        report_table(options->page, threads[i]);
        fflush(options->page);
        options->session.threads = threads[i];
        if (bench_all(options, count, names) != CODE_GOOD)
            code = CODE_FAILED;
        report_table_end(options->page);
    }
    return close_or_standard(options->page, options->report, &error) ? code : command_failed(&error);
}

static bool parse_type(const char *argument, WNNDataType *type)
{
    for (unsigned i = 0; i < WNN_DATA_TYPE_COUNT; i++) {
        *type = (WNNDataType)i;
        if (wnn_dtype_valid(*type) && strcmp(argument, wnn_dtype_name(*type)) == 0)
            return true;
    }
    fprintf(stderr, "webnn: --type=%s: expected a data type, float16 for example\n", SHOWN_STRING(argument));
    return false;
}

static bool take_option(struct bench_options *options, int option, const char *argument)
{
    struct bench_settings *settings = &options->settings;
    switch (option) {
    case 'j':
        options->json = true;
        return true;
    case 'p':
        options->profile = true;
        return true;
    case 'c':
        options->trace = argument;
        return true;
    case 'r':
        options->report = argument;
        return true;
    case 'n':
        return parse_count("rounds", argument, 1, 1000000, &options->rounds);
    case 'd':
        return parse_type(argument, &settings->type);
    case 't':
        options->has_time = true;
        return parse_real("time", argument, 0, MAX_SECONDS, &settings->length.seconds);
    case 'i':
        return parse_count("iterations", argument, 1, MAX_TIMES, &settings->length.iterations);
    case 'w':
        return parse_count("warm-up", argument, 0, MAX_TIMES, &settings->warm_up);
    case 'e':
        return parse_count("repeats", argument, 1, 1000000, &settings->repeats);
    case 'f':
        return parse_count("in-flight", argument, 1, MAX_IN_FLIGHT, &settings->in_flight);
    case 'o':
        settings->tensors = true;
        return true;
    case 'y':
        options->replaced = must_grow(options->replaced, options->replaced_count, &options->replaced_capacity,
                                      sizeof *options->replaced);
        options->replaced[options->replaced_count++] = argument;
        return true;
    case 'v':
        options->peers =
            must_grow(options->peers, options->peer_count, &options->peer_capacity, sizeof *options->peers);
        options->peers[options->peer_count++] = argument;
        return true;
    default:
        return session_option(&options->session, option, argument);
    }
}

// Standard output can have one thing, and standard input be one; graphs are measured in processes of their
// own, each of which reads the weights.
static int check_streams(struct bench_options *options, int count, char **names)
{
    struct error error = {WNNStatus_Success, ""};
    bool reports = options->report && is_standard(options->report),
         traces = options->trace && is_standard(options->trace);
    options->has_stream = reports || traces;
    if ((reports && traces) || (options->has_stream && (options->json || options->profile)))
        return command_wrong(&command_bench, "%s=- leaves no place for what else is to be shown",
                             reports ? "--report" : "--trace");
    for (int i = 0; i < count; i++)
        if (is_standard(names[i]) &&
            (count > 1 || options->report || load_reads_standard(&options->session.load)))
            return command_wrong(&command_bench, "standard input, -, can be read once only");
    if (options->session.load.weights && !path_or_standard(options->session.load.weights, &error))
        return command_failed(&error);
    return -1;
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"time", required_argument, NULL, 't'},
        {"iterations", required_argument, NULL, 'i'},
        {"warm-up", required_argument, NULL, 'w'},
        {"repeats", required_argument, NULL, 'e'},
        {"in-flight", required_argument, NULL, 'f'},
        {"tensors", no_argument, NULL, 'o'},
        {"replace", required_argument, NULL, 'y'},
        {"type", required_argument, NULL, 'd'},
        {"json", no_argument, NULL, 'j'},
        {"profile", no_argument, NULL, 'p'},
        {"trace", required_argument, NULL, 'c'},
        {"vs", required_argument, NULL, 'v'},
        {"rounds", required_argument, NULL, 'n'},
        {"report", required_argument, NULL, 'r'},
        SESSION_LONG_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    struct bench_options options = {.session = SESSION_OPTIONS_INIT,
                                    .settings = {.type = WNNDataType_Float32,
                                                 .length = {.seconds = 2},
                                                 .warm_up = 1,
                                                 .repeats = 1,
                                                 .in_flight = 1},
                                    .rounds = 5};
    int code = -1;
    for (int option; code < 0 && (option = command_option(argc, argv, long_options)) != -1;) {
        if (option == 'h')
            code = command_help(&command_bench);
        else if (!take_option(&options, option, optarg))
            code = command_usage(&command_bench);
    }
    options.session.load.several = argc - optind > 1;
    if (code < 0 && options.trace && argc - optind != 1)
        code = command_wrong(&command_bench, "--trace is for one graph");
    if (code < 0 && options.replaced_count && options.settings.in_flight > 1 && !options.settings.tensors)
        code = command_wrong(&command_bench, "--replace with --in-flight is for --tensors");
    if (code < 0 && options.has_time && options.settings.length.iterations)
        code = command_wrong(&command_bench, "either --time or --iterations");
    if (code < 0)
        code = check_streams(&options, argc - optind, argv + optind);
    if (code < 0)
        code = options.report ? bench_report(&options, argc - optind, argv + optind)
                              : bench_all(&options, argc - optind, argv + optind);
    free(options.peers);
    free(options.replaced);
    return code;
}

const struct command command_bench = {"bench", "measures graphs and built-in architectures", help, run};
