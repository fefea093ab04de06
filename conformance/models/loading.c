// SPDX-License-Identifier: Apache-2.0
//
// What loading a model takes, in memory and time: loading MODEL INPUT SIZExSIZE... RECORD BUILD
// [MILLISECONDS]
//
// MILLISECONDS is the longest that opening and recording may take, the least of several times. RECORD and
// BUILD are the most bytes, beyond the mapped files, that the process may grow by while it opens and records
// the model, and then while it builds it. Recording runs under such a limit of the system, so that it is one
// of the peak: what needs more fails. Prints a line of numbers; exit status 1: a limit was crossed.

#include <webnn/model.h>
#include <webnn/reflection.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// A line of /proc/self/status in bytes.
static uint64_t read_status(const char *name)
{
    char line[256];
    unsigned long long kibibytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            kibibytes = strtoull(line + strlen(name) + 1, NULL, 10);
    if (file)
        fclose(file);
    return kibibytes * 1024;
}

// From here on VmHWM is the peak of what is resident.
static bool reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    bool good = file && fputs("5", file) >= 0;
    return file && fclose(file) == 0 && good;
}

// How many bytes more the process may have that are not of files; UINT64_MAX: any number.
static bool limit_growth(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0)
        return false;
    limit.rlim_cur = bytes == UINT64_MAX ? limit.rlim_max : read_status("VmData") + bytes;
    return setrlimit(RLIMIT_DATA, &limit) == 0;
}

// Operators and constants, each of which takes something to be described.
static size_t count_records(WNNGraphBuilder builder)
{
    size_t count = wnnGraphBuilderGetOperatorCount(builder);
    for (size_t i = 0; i < wnnGraphBuilderGetOperandCount(builder); i++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(builder, i, &operand);
        count += operand.source == WNNOperandSource_Constant;
    }
    return count;
}

static WNNStatus load(WNNContext context, const char *path, const WNNModelInputValue *input,
                      uint64_t record_limit, uint64_t build_limit)
{
    WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    WNNNamedOperand outputs[8];
    WNNModel model = NULL;
    WNNGraphBuilder builder;
    WNNGraph graph = NULL;
    size_t count;
    char message[1024] = "";
    file.path.data = path;
    options.inputCount = 1;
    options.inputs = input;
    if (wnnContextCreateGraphBuilder(context, &builder) != WNNStatus_Success)
        return WNNStatus_UnknownError;

    uint64_t before = read_status("RssAnon");
    double begin = now();
    WNNStatus status = limit_growth(record_limit) ? WNNStatus_Success : WNNStatus_UnknownError;
    if (status == WNNStatus_Success)
        status = wnnModelOpen(&file, &model, sizeof message, message);
    double opened = now();
    if (status == WNNStatus_Success)
        status = wnnModelRecord(model, builder, &options, 8, outputs, &count, sizeof message, message);
    double recorded = now();
    uint64_t grown = read_status("RssAnon") - before;
    size_t records = count_records(builder);

    // All pages of the file are resident when its weights have been packed, so that the peak has them once.
    bool good = limit_growth(UINT64_MAX) && reset_peak();
    uint64_t resident = read_status("RssAnon") + read_status("RssShmem");
    if (status == WNNStatus_Success)
        status = wnnGraphBuilderBuildSync(builder, count, outputs, &graph, sizeof message, message);
    uint64_t peak = read_status("VmHWM") - read_status("RssFile") - resident;
    WNNModelInfo info = WNN_MODEL_INFO_INIT;
    if (status == WNNStatus_Success)
        status = wnnModelGetInfo(model, &info);
    printf(
        "%s%s%.1f MiB of weights, %zu operators and constants; open %.1f ms, record %.1f ms, %.2f MiB; build "
        "%.1f ms, %.1f MiB at most\n",
        message, message[0] ? "\n" : "", (double)info.weightBytes / 0x1p20, records, 1e3 * (opened - begin),
        1e3 * (recorded - opened), (double)grown / 0x1p20, 1e3 * (now() - recorded), (double)peak / 0x1p20);
    if (status == WNNStatus_Success && (!good || grown > record_limit || peak > build_limit))
        status = WNNStatus_OutOfMemory;
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    wnnModelRelease(model);
    return status;
}

// Opens and records, and gives everything back; seconds, or less than 0.
static double load_once(WNNContext context, const WNNModelDescriptor *file,
                        const WNNModelRecordOptions *options)
{
    WNNNamedOperand outputs[8];
    WNNModel model = NULL;
    WNNGraphBuilder builder = NULL;
    size_t count;
    double begin = now();
    bool good = wnnContextCreateGraphBuilder(context, &builder) == WNNStatus_Success &&
                wnnModelOpen(file, &model, 0, NULL) == WNNStatus_Success &&
                wnnModelRecord(model, builder, options, 8, outputs, &count, 0, NULL) == WNNStatus_Success;
    double seconds = now() - begin;
    wnnGraphBuilderRelease(builder);
    wnnModelRelease(model);
    return good ? seconds : -1;
}

// What else the machine does makes some of them longer, so that it goes on until one is short enough.
static bool is_fast(WNNContext context, const char *path, const WNNModelInputValue *input, double limit)
{
    enum {
        LEAST = 5,
        MOST = 100
    };
    WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    double least = INFINITY;
    file.path.data = path;
    options.inputCount = 1;
    options.inputs = input;
    for (int i = 0; i < LEAST || (i < MOST && least > limit); i++) {
        double seconds = load_once(context, &file, &options);
        if (seconds < 0)
            return false;
        least = seconds < least ? seconds : least;
    }
    printf("open and record %.2f ms at least, of %.0f; ", 1e3 * least, 1e3 * limit);
    return least <= limit;
}

int main(int argc, char **argv)
{
    uint32_t sizes[8];
    WNNModelInputValue input = WNN_MODEL_INPUT_VALUE_INIT;
    WNNContext context;
    if (argc != 6 && argc != 7)
        return 2;
    input.name.data = argv[2];
    input.shape = (WNNUint32List){sizes, 0};
    for (char *at = argv[3]; *at && input.shape.count < 8; at += *at == 'x')
        sizes[input.shape.count++] = (uint32_t)strtoul(at, &at, 10);
    if (wnnCreateContext(NULL, &context) != WNNStatus_Success)
        return 1;
    bool fast = argc < 7 || is_fast(context, argv[1], &input, 1e-3 * strtod(argv[6], NULL));
    WNNStatus status =
        load(context, argv[1], &input, strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
    wnnContextRelease(context);
    return fast && status == WNNStatus_Success ? 0 : 1;
}
