// SPDX-License-Identifier: Apache-2.0
//
// webnn-conformance: runs vector files on a backend.

#include "conformance/backends.h"
#include "conformance/reference/reference.h"
#include "conformance/test.h"
#include "conformance/unit/processor.h"
#include "conformance/vector.h"
#include "runtime/backends.h"
#include "runtime/context.h"

#include <webnn/compiled.h>

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: webnn-conformance [options] FILE-OR-FOLDER...\n"
    "\n"
    "  --backend=NAME         cpu (default), vulkan, reference, or dummy, which compares no values\n"
    "  --filter=TEXT          only tests with TEXT in \"OPERATOR: NAME\"\n"
    "  --verbose              also name the tests that pass\n"
    "  --junit=FILE           write a report in JUnit's format\n"
    "  --disputed=FILE        skip the vectors that FILE lists\n"
    "  --strict-numerics      what operators give one by one: rounding, overflow, NaN, denormals\n"
    "  --refuse-empty         dimensions of size 0 are refused, as the published text does\n"
    "  --tensors              compute by dispatch()\n"
    "  --serialized           build what a second builder reads of the first one's bytes\n"
    "  --compiled             run what is loaded of the graph that was built and saved\n"
    "  --weightless           likewise, without the bytes of constants that have names\n"
    "  --spoiled=N            with --compiled: load it N times with mistakes in its bytes too\n"
    "  --constants            inputs are constants, so that compiling a graph computes it\n"
    "  --target=TEXT          compile for a target that is described; with --save\n"
    "  --save=FILE            compute nothing: compile all graphs, and write them\n"
    "  --load=FILE            run the graphs that --save has written with the same options\n"
    "  --threads=N            compute threads; default: one per processor\n"
    "  --without-pass=NAME    leave a pass of the compiler out; may be repeated\n"
    "  --passes               only name the passes\n";

struct result {
    char *op, *name, *message; // message NULL: passed
    enum outcome outcome;
};

struct dispute {
    char *op, *name, *reason; // parts of one line
};

struct program {
    const char *backend, *filter, *junit, *disputed, *target, *save, *load;
    bool verbose, strict_numerics, refuse_empty, list_passes;
    uint32_t threads, skipped_passes;
    struct subject subject;
    struct dispute *disputes;
    size_t dispute_count;
    struct result *results;
    size_t result_count, result_capacity;
    bool broken; // a file could not be used
};

// ---------------------------------------------------------------------------------------------------------------
// Results
// ---------------------------------------------------------------------------------------------------------------

static void *must(void *memory)
{
    if (memory == NULL) {
        fputs("webnn-conformance: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

static void add_result(struct program *program, const char *op, const char *name, enum outcome outcome,
                       const char *message)
{
    if (program->result_count == program->result_capacity) {
        program->result_capacity = program->result_capacity * 2 + 1024;
        program->results =
            must(realloc(program->results, program->result_capacity * sizeof *program->results));
    }
    program->results[program->result_count++] = (struct result){
        must(strdup(op)), must(strdup(name)), message != NULL ? must(strdup(message)) : NULL, outcome};
    static const char *const words[] = {"pass", "FAIL", "skipped:"};
    if (outcome != OUTCOME_PASSED || program->verbose)
        printf("%s %s: %s%s%s\n", words[outcome], op, name,
               message == NULL              ? ""
               : outcome == OUTCOME_SKIPPED ? ": "
                                            : "\n     ",
               message != NULL ? message : "");
}

static size_t count_results(const struct program *program, const char *op, enum outcome outcome)
{
    size_t count = 0;
    for (size_t i = 0; i < program->result_count; i++)
        count +=
            program->results[i].outcome == outcome && (op == NULL || strcmp(program->results[i].op, op) == 0);
    return count;
}

static int compare_ops(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The names of the operators that have results, sorted; their number is in *count.
static char **list_ops(const struct program *program, size_t *count)
{
    char **ops = must(calloc(program->result_count + 1, sizeof *ops));
    size_t unique = 0;
    for (size_t i = 0; i < program->result_count; i++)
        ops[i] = program->results[i].op;
    qsort(ops, program->result_count, sizeof *ops, compare_ops);
    for (size_t i = 0; i < program->result_count; i++)
        if (unique == 0 || strcmp(ops[unique - 1], ops[i]) != 0)
            ops[unique++] = ops[i];
    *count = unique;
    return ops;
}

static void print_table(const struct program *program)
{
    size_t count;
    char **ops = list_ops(program, &count);
    printf("%-24s %7s %7s %7s\n", "operator", "passed", "failed", "skipped");
    for (size_t i = 0; i < count; i++)
        printf("%-24s %7zu %7zu %7zu\n", ops[i], count_results(program, ops[i], OUTCOME_PASSED),
               count_results(program, ops[i], OUTCOME_FAILED),
               count_results(program, ops[i], OUTCOME_SKIPPED));
    free(ops);
}

static void write_escaped(FILE *file, const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '&')
            fputs("&amp;", file);
        else if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '"')
            fputs("&quot;", file);
        else
            fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
    }
}

static void write_suite(FILE *file, const struct program *program, const char *op)
{
    size_t passed = count_results(program, op, OUTCOME_PASSED),
           failed = count_results(program, op, OUTCOME_FAILED),
           skipped = count_results(program, op, OUTCOME_SKIPPED);
    fprintf(file, "  <testsuite name=\"%s\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n", op,
            passed + failed + skipped, failed, skipped);
    for (size_t i = 0; i < program->result_count; i++) {
        const struct result *result = &program->results[i];
        if (strcmp(result->op, op) != 0)
            continue;
        fprintf(file, "    <testcase classname=\"%s.%s\" name=\"", program->backend, op);
        write_escaped(file, result->name);
        fputs("\"", file);
        if (result->outcome == OUTCOME_PASSED) {
            fputs("/>\n", file);
            continue;
        }
        fprintf(file, "><%s message=\"", result->outcome == OUTCOME_FAILED ? "failure" : "skipped");
        write_escaped(file, result->message != NULL ? result->message : "");
        fputs("\"/></testcase>\n", file);
    }
    fputs("  </testsuite>\n", file);
}

static bool write_junit(const struct program *program)
{
    FILE *file = fopen(program->junit, "w");
    if (file == NULL) {
        fprintf(stderr, "webnn-conformance: %s: %s\n", program->junit, strerror(errno));
        return false;
    }
    size_t count;
    char **ops = list_ops(program, &count);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", file);
    for (size_t i = 0; i < count; i++)
        write_suite(file, program, ops[i]);
    fputs("</testsuites>\n", file);
    free(ops);
    bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed;
}

// ---------------------------------------------------------------------------------------------------------------
// Files
// ---------------------------------------------------------------------------------------------------------------

static void complain(struct program *program, const char *path, const char *problem)
{
    fprintf(stderr, "webnn-conformance: %s: %s\n", path, problem);
    program->broken = true;
}

// The bytes of a file, followed by a NUL; NULL if it cannot be read.
static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    char *data = NULL;
    size_t capacity = 0, got;
    *size = 0;
    do {
        capacity = capacity * 2 + 65536;
        data = must(realloc(data, capacity + 1));
        got = fread(data + *size, 1, capacity - *size, file);
        *size += got;
    } while (*size == capacity);
    data[*size] = 0;
    fclose(file);
    return data;
}

static const struct dispute *find_dispute(const struct program *program, const char *op, const char *name)
{
    for (size_t i = 0; i < program->dispute_count; i++)
        if (strcmp(program->disputes[i].op, op) == 0 && strcmp(program->disputes[i].name, name) == 0)
            return &program->disputes[i];
    return NULL;
}

static void run_one(struct program *program, const char *op, const char *kind, const cJSON *test)
{
    const char *name = wnn_json_string(test, "name");
    char title[1024], buffer[2048];
    snprintf(title, sizeof title, "%s: %s", op, name != NULL ? name : "");
    if (name == NULL || (program->filter != NULL && strstr(title, program->filter) == NULL))
        return;
    const struct dispute *dispute = find_dispute(program, op, name);
    if (dispute != NULL) {
        add_result(program, op, name, OUTCOME_SKIPPED, dispute->reason);
        return;
    }
    struct text message = TEXT(buffer);
    buffer[0] = 0;
    enum outcome outcome = wnn_run_test(&program->subject, kind, test, &message);
    add_result(program, op, name, outcome, outcome == OUTCOME_PASSED ? NULL : buffer);
}

static void run_file(struct program *program, const char *path)
{
    size_t size;
    char *text = read_file(path, &size);
    if (text == NULL) {
        complain(program, path, strerror(errno));
        return;
    }
    cJSON *json = cJSON_ParseWithLength(text, size);
    const char *op = wnn_json_string(json, "op"), *kind = wnn_json_string(json, "kind");
    const cJSON *tests = cJSON_GetObjectItemCaseSensitive(json, "tests"), *test;
    if (op == NULL || kind == NULL || !cJSON_IsArray(tests))
        complain(program, path, "not a file of vectors");
    else
        cJSON_ArrayForEach(test, tests) run_one(program, op, kind, test);
    cJSON_Delete(json);
    free(text);
}

static int is_wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

// A file, or the JSON files of a folder and its folders in sorted order.
static void run_path(struct program *program, const char *path)
{
    struct stat status = {0}; // MemorySanitizer may not know what stat() writes
    if (stat(path, &status) != 0) {
        complain(program, path, strerror(errno));
        return;
    }
    if (!S_ISDIR(status.st_mode)) {
        run_file(program, path);
        return;
    }
    struct dirent **entries;
    int count = scandir(path, &entries, is_wanted, alphasort);
    for (int i = 0; i < count; i++) {
        size_t size = strlen(path) + strlen(entries[i]->d_name) + 2;
        char *child = must(malloc(size));
        snprintf(child, size, "%s/%s", path, entries[i]->d_name);
        if (stat(child, &status) == 0 && (S_ISDIR(status.st_mode) || ends_with(child, ".json")))
            run_path(program, child);
        free(child);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

// Cuts a line at " | ", at most into three parts.
static void add_dispute(struct program *program, char *line)
{
    static const char separator[] = " | ";
    char *name = strstr(line, separator);
    char *reason = name != NULL ? strstr(name + 3, separator) : NULL;
    if (line[0] == '#' || reason == NULL)
        return;
    *name = *reason = 0;
    program->disputes =
        must(realloc(program->disputes, (program->dispute_count + 1) * sizeof *program->disputes));
    program->disputes[program->dispute_count++] =
        (struct dispute){must(strdup(line)), must(strdup(name + 3)), must(strdup(reason + 3))};
}

static void read_disputes(struct program *program)
{
    size_t size;
    char *text = read_file(program->disputed, &size), *rest = text;
    if (text == NULL)
        complain(program, program->disputed, strerror(errno));
    for (char *line; rest != NULL && (line = strsep(&rest, "\n")) != NULL;)
        add_dispute(program, line);
    free(text);
}

// ---------------------------------------------------------------------------------------------------------------
// The program
// ---------------------------------------------------------------------------------------------------------------

static bool read_options(struct program *program, int count, char **arguments)
{
    static const struct option options[] = {
        {"backend", required_argument, NULL, 'b'},
        {"filter", required_argument, NULL, 'f'},
        {"verbose", no_argument, NULL, 'v'},
        {"junit", required_argument, NULL, 'j'},
        {"disputed", required_argument, NULL, 'd'},
        {"strict-numerics", no_argument, NULL, 's'},
        {"refuse-empty", no_argument, NULL, 'e'},
        {"tensors", no_argument, NULL, 'm'},
        {"serialized", no_argument, NULL, 'z'},
        {"compiled", no_argument, NULL, 'c'},
        {"weightless", no_argument, NULL, 'n'},
        {"spoiled", required_argument, NULL, 'o'},
        {"constants", no_argument, NULL, 'k'},
        {"target", required_argument, NULL, 'g'},
        {"save", required_argument, NULL, 'w'},
        {"load", required_argument, NULL, 'r'},
        {"threads", required_argument, NULL, 't'},
        {"without-pass", required_argument, NULL, 'p'},
        {"passes", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        switch (option) {
        case 'b':
            program->backend = optarg;
            break;
        case 'f':
            program->filter = optarg;
            break;
        case 'v':
            program->verbose = true;
            break;
        case 'j':
            program->junit = optarg;
            break;
        case 'd':
            program->disputed = optarg;
            break;
        case 'e':
            program->refuse_empty = true;
            break;
        case 'm':
            program->subject.tensors = true;
            break;
        case 'z':
            program->subject.serialized = true;
            break;
        case 'c':
            program->subject.compiled = true;
            break;
        case 'n':
            program->subject.weightless = true;
            break;
        case 'o':
            program->subject.spoiled_count = strtoul(optarg, NULL, 10);
            break;
        case 's':
            program->strict_numerics = true;
            break;
        case 'k':
            program->subject.constants = true;
            break;
        case 'g':
            program->target = optarg;
            break;
        case 'w':
            program->save = optarg;
            break;
        case 'r':
            program->load = optarg;
            break;
        case 't':
            program->threads = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'p':
            if (wnn_pass_bit(optarg) == 0) {
                fprintf(stderr, "webnn-conformance: there is no pass \"%s\"\n", optarg);
                return false;
            }
            program->skipped_passes |= wnn_pass_bit(optarg);
            break;
        case 'l':
            program->list_passes = true;
            return true;
        default:
            fputs(usage, option == 'h' ? stdout : stderr);
            return false;
        }
    }
    if (optind == count)
        fputs(usage, stderr);
    return optind < count;
}

static void print_error(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
    (void)userdata1;
    (void)userdata2;
    fprintf(stderr, "webnn-conformance: %s: %.*s\n", wnnStatusName(status).data, (int)message.length,
            message.data);
}

// False: *code is what the program ends with, 77 (skipped) if there is no device for the backend.
static bool create_context(struct program *program, int *code)
{
    *code = 2;
    const struct backend *backend = strcmp(program->backend, wnn_backend_reference.name) == 0
                                        ? &wnn_backend_reference
                                        : find_backend(program->backend);
    if (backend == NULL) {
        fprintf(stderr, "webnn-conformance: there is no backend \"%s\"\n", program->backend);
        return false;
    }
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    static const WNNLimits stranger = {.maxTensorByteLength = 1u << 24,
                                       .maxMemoryBytes = 512u << 20,
                                       .maxOperatorWork = 1u << 24,
                                       .maxGraphWork = 1u << 26,
                                       .acceptEmptyTensors = true};
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.acceptEmptyTensors = !program->refuse_empty;
    descriptor.limits = &limits;
    descriptor.strictNumerics = program->strict_numerics;
    descriptor.threadCount = program->threads;
    descriptor.errorCallbackInfo.callback = print_error;
    WNNContextTarget target = WNN_CONTEXT_TARGET_INIT;
    target.target.data = program->target;
    if (program->target)
        descriptor.nextInChain = &target.chain;
    WNNStatus status = wnn_create_context_on(backend, &descriptor, &program->subject.context);
    descriptor.nextInChain = NULL;
    if (status != WNNStatus_Success) {
        *code = status == WNNStatus_NotSupportedError ? 77 : 2;
        return false;
    }
    descriptor.errorCallbackInfo.callback = NULL;
    descriptor.limits = &stranger;
    if (program->subject.spoiled_count &&
        wnn_create_context_on(backend, &descriptor, &program->subject.spoiled) != WNNStatus_Success)
        return false;
    wnn_context_set_compile_options(program->subject.context, program->skipped_passes, true, NULL, NULL);
    program->subject.lossy = strcmp(program->backend, "cpu") == 0 && !program->strict_numerics;
    program->subject.flushes = wnn_context_flushes_denormals(program->subject.context);
    program->subject.values = backend != &wnn_backend_dummy;
    return true;
}

static bool open_file(const char *path, const char *mode, FILE **file)
{
    if (path && !(*file = fopen(path, mode)))
        fprintf(stderr, "webnn-conformance: %s: %s\n", path, strerror(errno));
    return !path || *file;
}

// Everything has been written, or read.
static bool close_files(struct program *program)
{
    FILE *save = program->subject.saved_to, *load = program->subject.loaded_from;
    bool written = !save || fclose(save) == 0, read = !load || fgetc(load) == EOF;
    if (!written)
        perror("webnn-conformance: --save");
    if (!read)
        fputs("webnn-conformance: there are more graphs in the file than tests\n", stderr);
    if (load)
        fclose(load);
    return written && read;
}

static void free_program(struct program *program)
{
    for (size_t i = 0; i < program->result_count; i++) {
        free(program->results[i].op);
        free(program->results[i].name);
        free(program->results[i].message);
    }
    for (size_t i = 0; i < program->dispute_count; i++) {
        free(program->disputes[i].op);
        free(program->disputes[i].name);
        free(program->disputes[i].reason);
    }
    free(program->results);
    free(program->disputes);
    wnnContextRelease(program->subject.context);
    wnnContextRelease(program->subject.spoiled);
}

// MemorySanitizer does not see what a library writes that it has not compiled.
static void *allocate_zeroed(size_t size)
{
    return calloc(1, size);
}

int main(int count, char **arguments)
{
    play_processor();
    cJSON_InitHooks(&(cJSON_Hooks){allocate_zeroed, free});
    struct program program = {.backend = "cpu"};
    if (!read_options(&program, count, arguments))
        return 2;
    if (program.list_passes) {
        for (unsigned i = 0; wnn_pass_names[i] != NULL; i++)
            puts(wnn_pass_names[i]);
        return 0;
    }
    int code;
    if (!create_context(&program, &code))
        return code;
    if (!open_file(program.save, "wb", &program.subject.saved_to) ||
        !open_file(program.load, "rb", &program.subject.loaded_from))
        return 2;
    if (program.disputed != NULL)
        read_disputes(&program);
    for (int i = optind; i < count; i++)
        run_path(&program, arguments[i]);

    print_table(&program);
    size_t failed = count_results(&program, NULL, OUTCOME_FAILED);
    bool written = program.junit == NULL || write_junit(&program);
    printf("%zu passed, %zu failed, %zu skipped\n", count_results(&program, NULL, OUTCOME_PASSED), failed,
           count_results(&program, NULL, OUTCOME_SKIPPED));
    bool broken = !close_files(&program) || program.broken || !written;
    free_program(&program);
    return failed > 0 ? 1 : broken ? 2 : 0;
}
