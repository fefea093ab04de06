// SPDX-License-Identifier: Apache-2.0
//
// `webnn bench`: how long building and running takes.

#include "tools/bench_models.h"
#include "tools/command.h"
#include "tools/memory.h"
#include "tools/run_data.h"
#include "tools/session.h"
#include "tools/terminal.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "Measures graphs: the time to build, the first run, and then as many runs as fit in\n"
    "the time.\n\n"
    "Usage: webnn bench [OPTIONS] [GRAPH...]\n\n"
    "GRAPH is a .webnn file or one of these; without any, the first six are measured.\n\n"
    "  mobilenet_v1      MobileNet 1.0 224\n"
    "  mobilenet_v2      MobileNetV2 1.0 224\n"
    "  resnet50          ResNet-50\n"
    "  bert_layer        an encoder layer of BERT-base, 128 tokens\n"
    "  gru, lstm         a recurrent layer, 32 steps, 256 hidden\n"
    "  matmul:MxKxN      a matrix product, the second matrix constant\n"
    "  conv2d:HxWxINxOUT[xKERNEL[xSTRIDE[xGROUPS]]]   a convolution, channels last\n"
    "  OPERATOR:SHAPE    an operator that needs nothing but a shape: add:1x64x56x56\n\n"
    "Weights and inputs are random; nothing else of the machine should be at work.\n"
    "GFLOP/s counts two operations for a multiply-add. Peak memory is that of the whole\n"
    "process; several graphs are measured in a process each.\n\n"
    "  --time=SECONDS    for the runs of each graph; 2 by default\n"
    "  --json            one JSON object a line\n" SESSION_HELP "\nExamples:\n\n"
    "  webnn bench --threads=1 mobilenet_v2\n"
    "  webnn bench --json --time=10 resnet50 bert_layer > results.jsonl\n"
    "  webnn bench tools/digits/digits.webnn matmul:512x512x512 conv2d:56x56x64x64\n";

struct bench_options {
    struct session_options session;
    double time;
    bool json;
};

struct result {
    double load, build, first, least, median, p90; // seconds
    size_t runs;
    uint64_t work;
    double resident; // bytes at most
    uint64_t allocated;
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

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Runs for the given time, at least three times.
static bool measure_runs(struct session *session, WNNGraph graph, const char *what, double limit,
                         struct result *result, struct error *error)
{
    uint64_t seed = 42;
    size_t input_count, output_count, capacity = 0;
    WNNNamedBuffer *inputs, *outputs;
    const WNNNamedDescriptor *list = wnnGraphGetInputs(graph, &input_count);
    struct run_port *input_ports = run_ports_make(list, input_count, &inputs);
    list = wnnGraphGetOutputs(graph, &output_count);
    struct run_port *output_ports = run_ports_make(list, output_count, &outputs);
    for (size_t i = 0; i < input_count; i++)
        run_port_randomise(&input_ports[i], &seed);
    double *times = NULL, begin = now();
    bool good = session_compute(session, graph, input_count, inputs, output_count, outputs, error);
    result->first = now() - begin;
    struct progress progress;
    progress_begin(&progress, what);
    for (begin = now(); good && (result->runs < 3 || now() - begin < limit);) {
        double start = now();
        good = session_compute(session, graph, input_count, inputs, output_count, outputs, error);
        times = must_grow(times, result->runs, &capacity, sizeof *times);
        times[result->runs++] = now() - start;
        progress_show(&progress, 0, 0);
    }
    progress_end(&progress);
    if (good) {
        qsort(times, result->runs, sizeof *times, compare);
        result->least = times[0];
        result->median = times[result->runs / 2];
        result->p90 = times[result->runs * 9 / 10];
    }
    free(times);
    run_ports_free(input_ports, input_count, inputs);
    run_ports_free(output_ports, output_count, outputs);
    return good;
}

static bool measure(const struct bench_options *options, const char *what, struct result *result,
                    struct error *error)
{
    struct session session;
    struct model model = {.builder = NULL};
    WNNGraph graph = NULL;
    if (!session_open(&session, &options->session, error))
        return false;
    double begin = now();
    bool good = model_begin(&model, session.context, error) &&
                model_load(&model, what, options->session.weights, error);
    result->load = now() - begin;
    if (good) {
        result->work = model_work(&model);
        begin = now();
        good = session_build(&session, &model, &graph, error);
        result->build = now() - begin;
    }
    if (model.builder)
        model_end(&model); // so that its weights do not count
    good = good && measure_runs(&session, graph, what, options->time, result, error);
    WNNContextCounters counters;
    wnnContextGetCounters(session.context, &counters);
    result->allocated = counters.peakAllocatedBytes;
    result->resident = peak_resident();
    wnnGraphRelease(graph);
    session_close(&session);
    return good;
}

static void print_json(const struct bench_options *options, const char *what, const struct result *result)
{
    cJSON *object = must(cJSON_CreateObject());
    cJSON_AddStringToObject(object, "graph", what);
    cJSON_AddStringToObject(object, "backend", options->session.backend);
    cJSON_AddNumberToObject(object, "threads", options->session.threads);
    cJSON_AddNumberToObject(object, "runs", (double)result->runs);
    cJSON_AddNumberToObject(object, "median_ms", result->median * 1e3);
    cJSON_AddNumberToObject(object, "min_ms", result->least * 1e3);
    cJSON_AddNumberToObject(object, "p90_ms", result->p90 * 1e3);
    cJSON_AddNumberToObject(object, "first_ms", result->first * 1e3);
    cJSON_AddNumberToObject(object, "record_ms", result->load * 1e3);
    cJSON_AddNumberToObject(object, "build_ms", result->build * 1e3);
    cJSON_AddNumberToObject(object, "multiply_adds", (double)result->work);
    cJSON_AddNumberToObject(object, "gflops", 2e-9 * (double)result->work / result->median);
    cJSON_AddNumberToObject(object, "peak_rss_bytes", result->resident);
    cJSON_AddNumberToObject(object, "peak_context_bytes", (double)result->allocated);
    char *text = must(cJSON_PrintUnformatted(object));
    puts(text);
    cJSON_free(text);
    cJSON_Delete(object);
}

static void print_head(void)
{
    printf("%s%-26s %10s %10s %10s %10s %10s %9s %10s %7s%s\n", STYLE_BOLD, "milliseconds", "median", "min",
           "p90", "first", "build", "GFLOP/s", "peak", "runs", STYLE_NONE);
}

static int bench(const struct bench_options *options, const char *what)
{
    struct error error = {WNNStatus_Success, ""};
    struct result result = {0};
    if (!measure(options, what, &result, &error))
        return command_failed(&error);
    if (options->json)
        print_json(options, what, &result);
    else
        printf("%-26s %10.3f %10.3f %10.3f %10.3f %10.3f %9.2f %10s %7zu\n", what, result.median * 1e3,
               result.least * 1e3, result.p90 * 1e3, result.first * 1e3, result.build * 1e3,
               2e-9 * (double)result.work / result.median,
               bytes_text((uint64_t)result.resident, (char[BYTES_TEXT]){0}), result.runs);
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
        fprintf(stderr, "webnn: %s: the process ended with signal %d\n", what,
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
    if (count == 1)
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

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"time", required_argument, NULL, 't'},
        {"json", no_argument, NULL, 'j'},
        SESSION_LONG_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    struct bench_options options = {.session = SESSION_OPTIONS_INIT, .time = 2};
    for (int option; (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
        if (option == 'h')
            return command_help(&command_bench);
        if (option == 'j') {
            options.json = true;
        } else if (option == 't') {
            if (!parse_real("time", optarg, &options.time))
                return command_usage(&command_bench);
        } else if (!session_option(&options.session, option, optarg)) {
            return command_usage(&command_bench);
        }
    }
    return bench_all(&options, argc - optind, argv + optind);
}

const struct command command_bench = {"bench", "measures graphs and built-in architectures", help, run};
