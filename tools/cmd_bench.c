// SPDX-License-Identifier: Apache-2.0
//
// `webnn bench`: how long building and running takes.

#include "tools/bench_device.h"
#include "tools/bench_models.h"
#include "tools/bench_report.h"
#include "tools/bounds.h"
#include "tools/command.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "tools/profile_show.h"
#include "tools/subject.h"
#include "tools/terminal.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "Measures graphs: the time to build, the first run, and then as many runs as fit in\n"
    "the time.\n\n"
    "Usage: webnn bench [OPTIONS] [GRAPH...]\n\n"
    "GRAPH is an ONNX model, a .webnn file or one of these; without any, the first seven are measured.\n\n"
    "  mobilenet_v1      MobileNet 1.0 224\n"
    "  mobilenet_v2      MobileNetV2 1.0 224\n"
    "  mobilenet_v2_int8 the same in 8 bits, as quantizeLinear and dequantizeLinear\n"
    "  resnet50          ResNet-50\n"
    "  bert_layer        an encoder layer of BERT-base, 128 tokens\n"
    "  gru, lstm         a recurrent layer, 32 steps, 256 hidden\n"
    "  matmul:MxKxN      a matrix product, the second matrix constant\n"
    "  matmul_uint4:MxKxN   the same, the second of 4 bits in blocks of 32\n"
    "  conv2d:HxWxINxOUT[xKERNEL[xSTRIDE[xGROUPS]]]   a convolution, channels last\n"
    "  copy:SHAPE        each element read and written once: the bandwidth that there is\n"
    "  chain:N           N small operators, each of which needs the one before\n"
    "  OPERATOR:SHAPE    an operator that needs nothing but a shape: add:1x64x56x56\n\n"
    "Weights and inputs are random; nothing else of the machine should be at work.\n"
    "Times are from the call to its end; of a GPU a second line has the time that it works\n"
    "on the operators, by its own clock, and with --cache a third that of a second build.\n"
    "GFLOP/s counts two operations for a multiply-add. Peak memory is that of the whole\n"
    "process; several graphs are measured in a process each.\n\n"
    "  --time=SECONDS    for the runs of each graph; 2 by default\n"
    "  --type=NAME       the data type of built-in networks: float32 (the default), float16\n"
    "  --json            one JSON object a line\n"
    "  --profile         after that, how long each node takes\n"
    "  --trace=FILE      and a trace of these runs for chrome://tracing (one graph only)\n\n"
    "Comparing:\n\n"
    "  --vs=COMMAND      a shell command that runs the same network with something else;\n"
    "                    may be repeated. It finds WEBNN_GRAPH and WEBNN_THREADS in its\n"
    "                    environment and prints a number of milliseconds a line, or a\n"
    "                    JSON object with min_ms and peer; exit code 77 says that it has\n"
    "                    no such network. The runs of both sides alternate, and the ratio\n"
    "                    of the least times is shown.\n"
    "  --rounds=N        how often they alternate; 5 by default. --time is of one round.\n"
    "  --report=FILE     writes the results as a page of text, for one thread and for all\n"
    "                    processors, or as --threads says\n\n" SESSION_HELP "\nExamples:\n\n"
    "  webnn bench --threads=1 mobilenet_v2\n"
    "  webnn bench --json --time=10 resnet50 bert_layer > results.jsonl\n"
    "  webnn bench --vs='./peer $WEBNN_GRAPH $WEBNN_THREADS' --threads=1 resnet50\n"
    "  webnn bench tools/digits/digits.webnn matmul:512x512x512 conv2d:56x56x64x64\n";

#define MAX_SECONDS 86400.0

struct bench_options {
    struct session_options session;
    WNNDataType type;
    double time;
    unsigned long rounds;
    bool json, profile;
    const char *trace, *report;
    const char **peers; // commands
    size_t peer_count, peer_capacity;
    FILE *page; // of the report
};

struct result {
    unsigned threads;                              // that computed, the host's own of a GPU too
    double load, build, first, least, median, p90; // seconds
    size_t runs;
    uint64_t work;
    double resident; // bytes at most
    uint64_t allocated;
    struct device_times device;
    double again;              // building with what a cache has kept of the first time; 0: not measured
    struct peer_result *peers; // one for each of the options
    cJSON *profile;
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

// Runs for the given time, at least three times.
static bool run_round(struct subject *subject, const char *what, double limit, struct error *error)
{
    bool good = true;
    struct progress progress;
    progress_begin(&progress, what);
    double begin = now();
    for (size_t runs = 0; good && (runs < 3 || (now() - begin < limit && subject->time_count < MAX_TIMES));
         runs++) {
        good = subject_run(subject, error);
        progress_show(&progress, 0, 0);
    }
    progress_end(&progress);
    return good;
}

// The first run, and then rounds in which the peers take their turns.
static bool measure_runs(const struct bench_options *options, struct subject *subject, const char *what,
                         struct result *result, struct error *error)
{
    size_t rounds = options->peer_count ? options->rounds : 1;
    if (!subject_run(subject, error))
        return false;
    result->first = subject->times[0];
    subject->time_count = 0;
    bool good = true;
    for (size_t round = 0; good && round < rounds; round++) {
        good = run_round(subject, what, options->time, error);
        for (size_t i = 0; good && i < options->peer_count; i++)
            good = peer_run(options->peers[i], what, options->session.threads, &result->peers[i], error);
    }
    if (good) {
        subject_sort_times(subject);
        result->runs = subject->time_count;
        result->least = subject->times[0];
        result->median = subject->times[result->runs / 2];
        result->p90 = subject->times[result->runs * 9 / 10];
    }
    return good;
}

// Apart from the measured runs, which it would slow down a little.
static bool profile_runs(const struct bench_options *options, struct subject *subject, struct result *result,
                         struct error *error)
{
    struct trace trace = {NULL, NULL, 0, false};
    if (!options->profile && !options->trace)
        return true;
    if (options->trace && !trace_open(&trace, options->trace, error))
        return false;
    wnnGraphSetProfiling(subject->graph, true);
    bool good = true;
    double begin = now();
    for (size_t runs = 0; good && (runs < 3 || now() - begin < options->time); runs++) {
        good = subject_run(subject, error);
        trace_add(&trace, subject->graph);
    }
    good = trace_close(&trace, error) && good;
    if (good && options->profile && options->json)
        result->profile = profile_json(subject->graph);
    else if (good && options->profile)
        profile_print(subject->graph);
    wnnGraphSetProfiling(subject->graph, false);
    return good;
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
    model.type = options->type;
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

static void print_result(const struct bench_options *options, const char *what, const struct result *result);

static bool measure(const struct bench_options *options, const char *what, struct result *result,
                    struct error *error)
{
    struct session session;
    struct model model = {.builder = NULL};
    WNNGraph graph = NULL;
    if (!session_open(&session, &options->session, error))
        return false;
    result->threads = wnn_context_threads(session.context);
    double begin = now();
    bool good = model_begin(&model, session.context, error);
    model.type = options->type;
    good = good && model_load(&model, what, &options->session.load, error);
    result->load = now() - begin;
    if (good) {
        result->work = model_work(&model);
        begin = now();
        good = session_build(&session, &model, &graph, error);
        result->build = now() - begin;
    }
    if (model.builder)
        model_end(&model); // so that its weights do not count
    struct subject subject = {.session = NULL};
    if (good) {
        uint64_t seed = 42;
        subject_begin(&subject, &session, graph);
        for (size_t i = 0; i < subject.input_count; i++)
            run_port_randomise(&subject.inputs[i], &seed);
        good = measure_runs(options, &subject, what, result, error) &&
               device_measure(&subject, options->time / 4, &result->device, error);
    }
    WNNContextCounters counters = WNN_CONTEXT_COUNTERS_INIT;
    wnnContextGetCounters(session.context, &counters);
    result->allocated = counters.maxAllocatedBytes;
    result->resident = peak_resident();
    if (good && options->session.cache)
        good = build_again(options, what, &result->again, error);
    if (good && !options->json)
        print_result(options, what, result);
    good = good && profile_runs(options, &subject, result, error);
    if (good && options->json)
        print_result(options, what, result);
    subject_end(&subject);
    wnnGraphRelease(graph);
    session_close(&session);
    return good;
}

static void print_json(const struct bench_options *options, const char *what, const struct result *result)
{
    cJSON *object = must(cJSON_CreateObject());
    cJSON_AddStringToObject(object, "graph", what);
    cJSON_AddStringToObject(object, "type", wnn_dtype_name(options->type));
    cJSON_AddStringToObject(object, "backend", options->session.backend);
    cJSON_AddNumberToObject(object, "threads", result->threads);
    cJSON_AddNumberToObject(object, "runs", (double)result->runs);
    cJSON_AddNumberToObject(object, "median_ms", result->median * 1e3);
    cJSON_AddNumberToObject(object, "min_ms", result->least * 1e3);
    cJSON_AddNumberToObject(object, "p90_ms", result->p90 * 1e3);
    cJSON_AddNumberToObject(object, "first_ms", result->first * 1e3);
    cJSON_AddNumberToObject(object, "record_ms", result->load * 1e3);
    cJSON_AddNumberToObject(object, "build_ms", result->build * 1e3);
    if (result->again > 0)
        cJSON_AddNumberToObject(object, "build_again_ms", result->again * 1e3);
    if (result->device.runs > 0) {
        cJSON_AddNumberToObject(object, "device_median_ms", result->device.median * 1e3);
        cJSON_AddNumberToObject(object, "device_min_ms", result->device.least * 1e3);
        cJSON_AddNumberToObject(object, "device_gflops", 2e-9 * (double)result->work / result->device.median);
        cJSON_AddNumberToObject(object, "device_gbytes_per_s",
                                1e-9 * (double)result->device.bytes / result->device.median);
    }
    cJSON_AddNumberToObject(object, "multiply_adds", (double)result->work);
    cJSON_AddNumberToObject(object, "gflops", 2e-9 * (double)result->work / result->median);
    cJSON_AddNumberToObject(object, "peak_rss_bytes", result->resident);
    cJSON_AddNumberToObject(object, "peak_context_bytes", (double)result->allocated);
    cJSON *peers = options->peer_count ? must(cJSON_AddArrayToObject(object, "peers")) : NULL;
    for (size_t i = 0; i < options->peer_count; i++) {
        const struct peer_result *peer = &result->peers[i];
        cJSON *entry = must(cJSON_CreateObject());
        cJSON_AddStringToObject(entry, "peer", peer->name);
        if (peer->found)
            cJSON_AddNumberToObject(entry, "min_ms", peer->least * 1e3);
        if (peer->found)
            cJSON_AddNumberToObject(entry, "ratio", result->least / peer->least);
        cJSON_AddItemToArray(peers, entry);
    }
    if (result->profile)
        cJSON_AddItemToObject(object, "profile", result->profile);
    char *text = must(cJSON_PrintUnformatted(object));
    terminal_json(stdout, text);
    cJSON_free(text);
    cJSON_Delete(object);
}

static void print_head(void)
{
    printf("%s%-26s %10s %10s %10s %10s %10s %9s %10s %7s%s\n", STYLE_BOLD, "milliseconds", "median", "min",
           "p90", "first", "build", "GFLOP/s", "peak", "runs", STYLE_NONE);
}

static void print_device(const struct result *result)
{
    const struct device_times *device = &result->device;
    if (device->runs > 0)
        printf("  on the device's clock    %10.4f %10.4f %32s %9.2f   %.2f GB/s\n", device->median * 1e3,
               device->least * 1e3, "", 2e-9 * (double)result->work / device->median,
               1e-9 * (double)device->bytes / device->median);
    if (result->again > 0)
        printf("  with what was cached     %43s %10.3f\n", "", result->again * 1e3);
}

static void print_result(const struct bench_options *options, const char *what, const struct result *result)
{
    double gflops = 2e-9 * (double)result->work / result->least;
    if (options->page)
        report_row(options->page, what, result->least, result->first, gflops, result->peers,
                   options->peer_count);
    if (options->json) {
        print_json(options, what, result);
        return;
    }
    printf("%-26s %10.3f %10.3f %10.3f %10.3f %10.3f %9.2f %10s %7zu\n", SHOWN_STRING(what),
           result->median * 1e3, result->least * 1e3, result->p90 * 1e3, result->first * 1e3,
           result->build * 1e3, 2e-9 * (double)result->work / result->median,
           bytes_text((uint64_t)result->resident, (char[BYTES_TEXT]){0}), result->runs);
    print_device(result);
    for (size_t i = 0; i < options->peer_count; i++) {
        const struct peer_result *peer = &result->peers[i];
        if (peer->found)
            printf("  %-35s %10.3f   min is %.2f of it\n", SHOWN_STRING(peer->name), peer->least * 1e3,
                   result->least / peer->least);
        else
            printf("  %-35s %10s\n", SHOWN_STRING(peer->name), "-");
    }
}

static int bench(const struct bench_options *options, const char *what)
{
    struct error error = {WNNStatus_Success, ""};
    struct result result = {.peers = must_allocate(options->peer_count * sizeof *result.peers)};
    bool good = measure(options, what, &result, &error) && mapping_check(&error);
    free(result.peers);
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
    if (!options->json)
        print_head();
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
    options->page = fopen(options->report, "w");
    if (!options->page) {
        struct error error = {WNNStatus_Success, ""};
        wnn_fail(&error, WNNStatus_UnknownError, "%s: %s", options->report, strerror(errno));
        return command_failed(&error);
    }
    report_head(options->page, options->peer_count ? options->rounds : 1, options->time, options->peer_count,
                options->peers);
    for (int i = 0; i < 2 && threads[i]; i++) {
        report_table(options->page, threads[i]);
        fflush(options->page);
        options->session.threads = threads[i];
        if (bench_all(options, count, names) != CODE_GOOD)
            code = CODE_FAILED;
        report_table_end(options->page);
    }
    if (fclose(options->page) != 0)
        code = CODE_FAILED;
    return code;
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
        return parse_type(argument, &options->type);
    case 't':
        return parse_real("time", argument, 0, MAX_SECONDS, &options->time);
    case 'v':
        options->peers =
            must_grow(options->peers, options->peer_count, &options->peer_capacity, sizeof *options->peers);
        options->peers[options->peer_count++] = argument;
        return true;
    default:
        return session_option(&options->session, option, argument);
    }
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"time", required_argument, NULL, 't'},
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
    struct bench_options options = {
        .session = SESSION_OPTIONS_INIT, .type = WNNDataType_Float32, .time = 2, .rounds = 5};
    int code = -1;
    for (int option; code < 0 && (option = command_option(argc, argv, long_options)) != -1;) {
        if (option == 'h')
            code = command_help(&command_bench);
        else if (!take_option(&options, option, optarg))
            code = command_usage(&command_bench);
    }
    if (code < 0 && options.trace && argc - optind != 1)
        code = command_wrong(&command_bench, "--trace is for one graph");
    if (code < 0)
        code = options.report ? bench_report(&options, argc - optind, argv + optind)
                              : bench_all(&options, argc - optind, argv + optind);
    free(options.peers);
    return code;
}

const struct command command_bench = {"bench", "measures graphs and built-in architectures", help, run};
