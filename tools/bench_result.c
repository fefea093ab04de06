// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_result.h"

#include "tools/json.h"
#include "tools/memory.h"
#include "tools/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Statistics
// ---------------------------------------------------------------------------------------------------------------

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(double *times, size_t count)
{
    qsort(times, count, sizeof *times, compare);
}

// The distance of the medians of consecutive parts that end before `ends`. Sorts each part.
static double median_range(double *times, const size_t *ends, size_t count)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0, begin = 0; i < count; begin = ends[i++]) {
        size_t size = ends[i] - begin;
        if (size == 0)
            continue;
        sort(times + begin, size);
        least = fmin(least, times[begin + size / 2]);
        most = fmax(most, times[begin + size / 2]);
    }
    return fmax(most - least, 0);
}

static double repeat_range(double *times, size_t count, const size_t *ends, size_t repeats)
{
    enum {
        PARTS = 5
    };
    size_t parts[PARTS];
    if (repeats > 1)
        return median_range(times, ends, repeats);
    for (size_t i = 0; i < PARTS; i++)
        parts[i] = count * (i + 1) / PARTS;
    return median_range(times, parts, PARTS);
}

void statistics_make(struct statistics *statistics, double *times, size_t count, const size_t *ends,
                     size_t repeats, double seconds)
{
    double sum = 0, squares = 0, range = repeat_range(times, count, ends, repeats);
    sort(times, count);
    for (size_t i = 0; i < count; i++)
        sum += times[i];
    *statistics = (struct statistics){.count = count,
                                      .median = times[count / 2],
                                      .mean = sum / (double)count,
                                      .least = times[0],
                                      .most = times[count - 1],
                                      .p90 = times[count * 9 / 10],
                                      .p99 = times[(count * 99 + 99) / 100 - 1]};
    for (size_t i = 0; i < count; i++)
        squares += (times[i] - statistics->mean) * (times[i] - statistics->mean);
    statistics->deviation = sqrt(squares / (double)count);
    statistics->spread = statistics->median > 0 ? range / statistics->median : 0;
    statistics->per_second = seconds > 0 ? (double)count / seconds : 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Text
// ---------------------------------------------------------------------------------------------------------------

// Billions of operations in a second; a multiply-add counts as two.
static double gflops(const struct bench_result *result, double seconds)
{
    return seconds > 0 ? 2e-9 * (double)result->work / seconds : 0;
}

// Of the median execution, or of all of them where they overlap.
static double host_gflops(const struct bench_result *result)
{
    bool overlap = result->settings.in_flight > 1 && result->times.per_second > 0;
    return gflops(result, overlap ? 1 / result->times.per_second : result->times.median);
}

void bench_result_print_head(void)
{
    printf("%s%-26s %9s %9s %9s %7s %9s %9s %9s %9s %10s %7s%s\n", STYLE_BOLD, "milliseconds", "median",
           "min", "p99", "spread", "first", "build", "runs/s", "GFLOP/s", "peak", "runs", STYLE_NONE);
}

static void print_device(const struct bench_result *result)
{
    const struct device_times *device = &result->device_times;
    if (device->runs > 0)
        printf("  on the device's clock    %9.4f %9.4f %47s %9.2f   %.2f GB/s\n", device->median * 1e3,
               device->least * 1e3, "", gflops(result, device->median),
               1e-9 * (double)device->bytes / device->median);
    if (result->again > 0)
        printf("  with what was cached     %47s %9.3f\n", "", result->again * 1e3);
    if (result->device_peak)
        printf("  memory of the device     %s at most, %s of them the graph's; it has %s\n",
               bytes_text(result->device_peak, (char[BYTES_TEXT]){0}),
               bytes_text(result->info.deviceBytes, (char[BYTES_TEXT]){0}),
               bytes_text(result->device_memory, (char[BYTES_TEXT]){0}));
}

void bench_result_print(const struct bench_result *result)
{
    const struct statistics *times = &result->times;
    printf("%-26s %9.3f %9.3f %9.3f %5.1f %% %9.3f %9.3f %9.6g %9.2f %10s %7zu\n", SHOWN_STRING(result->what),
           times->median * 1e3, times->least * 1e3, times->p99 * 1e3, times->spread * 100,
           result->first * 1e3, result->build * 1e3, times->per_second, host_gflops(result),
           bytes_text((uint64_t)result->resident, (char[BYTES_TEXT]){0}), times->count);
    print_device(result);
    for (size_t i = 0; i < result->peer_count; i++) {
        const struct peer_result *peer = &result->peers[i];
        if (peer->found)
            printf("  %-34s %9.3f   min is %.2f of it\n", SHOWN_STRING(peer->name), peer->least * 1e3,
                   times->least / peer->least);
        else
            printf("  %-34s %9s\n", SHOWN_STRING(peer->name), "-");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// JSON
// ---------------------------------------------------------------------------------------------------------------

static void add_ports(cJSON *object, const char *key, const struct run_port *ports, size_t count)
{
    cJSON *array = must(cJSON_AddArrayToObject(object, key));
    for (size_t i = 0; i < count; i++) {
        cJSON *port = must(cJSON_CreateObject());
        json_add_text(port, "name", ports[i].name);
        json_add_type(port, &ports[i].type);
        cJSON_AddItemToArray(array, port);
    }
}

static void add_settings(cJSON *object, const struct bench_result *result, const struct subject *subject)
{
    const struct bench_settings *settings = &result->settings;
    cJSON_AddStringToObject(object, "version", wnnGetVersionText().data);
    cJSON_AddStringToObject(object, "graph", result->what);
    cJSON_AddStringToObject(object, "name", result->name);
    cJSON_AddStringToObject(object, "type", wnn_dtype_name(settings->type));
    add_ports(object, "inputs", subject->inputs, subject->input_count);
    add_ports(object, "outputs", subject->outputs, subject->output_count);
    cJSON_AddStringToObject(object, "backend", settings->backend);
    cJSON_AddStringToObject(object, "device", result->device);
    cJSON_AddNumberToObject(object, "threads", result->threads);
    cJSON_AddBoolToObject(object, "strict", settings->strict);
    cJSON_AddBoolToObject(object, "fast", settings->fast);
    cJSON_AddBoolToObject(object, "tensors", settings->tensors);
    cJSON_AddNumberToObject(object, "in_flight", (double)settings->in_flight);
    cJSON_AddNumberToObject(object, "warm_up", (double)settings->warm_up);
    cJSON_AddNumberToObject(object, "repeats", (double)settings->repeats);
    cJSON_AddNumberToObject(object, "iterations", (double)result->times.count);
}

static void add_milliseconds(cJSON *object, const char *key, double seconds)
{
    cJSON_AddNumberToObject(object, key, seconds * 1e3);
}

static void add_times(cJSON *object, const struct bench_result *result)
{
    const struct statistics *times = &result->times;
    cJSON_AddNumberToObject(object, "runs", (double)times->count);
    add_milliseconds(object, "median_ms", times->median);
    add_milliseconds(object, "mean_ms", times->mean);
    add_milliseconds(object, "min_ms", times->least);
    add_milliseconds(object, "max_ms", times->most);
    add_milliseconds(object, "p90_ms", times->p90);
    add_milliseconds(object, "p99_ms", times->p99);
    add_milliseconds(object, "deviation_ms", times->deviation);
    cJSON_AddNumberToObject(object, "spread_percent", times->spread * 100);
    cJSON_AddNumberToObject(object, "runs_per_s", times->per_second);
    add_milliseconds(object, "first_ms", result->first);
    add_milliseconds(object, "record_ms", result->load);
    add_milliseconds(object, "build_ms", result->build);
    if (result->again > 0)
        add_milliseconds(object, "build_again_ms", result->again);
    if (result->device_times.runs > 0) {
        double median = result->device_times.median;
        add_milliseconds(object, "device_median_ms", median);
        add_milliseconds(object, "device_min_ms", result->device_times.least);
        cJSON_AddNumberToObject(object, "device_gflops", gflops(result, median));
        cJSON_AddNumberToObject(object, "device_gbytes_per_s",
                                1e-9 * (double)result->device_times.bytes / median);
    }
    cJSON_AddNumberToObject(object, "multiply_adds", (double)result->work);
    cJSON_AddNumberToObject(object, "gflops", host_gflops(result));
}

static void add_memory(cJSON *object, const struct bench_result *result)
{
    cJSON_AddNumberToObject(object, "peak_rss_bytes", result->resident);
    cJSON_AddNumberToObject(object, "peak_context_bytes", (double)result->allocated);
    cJSON_AddNumberToObject(object, "weight_bytes", (double)result->info.weightBytes);
    cJSON_AddNumberToObject(object, "execution_bytes", (double)result->info.executionBytes);
    cJSON_AddNumberToObject(object, "device_bytes", (double)result->info.deviceBytes);
    cJSON_AddNumberToObject(object, "peak_device_bytes", (double)result->device_peak);
    cJSON_AddNumberToObject(object, "device_memory_bytes", (double)result->device_memory);
}

static void add_peers(cJSON *object, const struct bench_result *result)
{
    cJSON *peers = must(cJSON_AddArrayToObject(object, "peers"));
    for (size_t i = 0; i < result->peer_count; i++) {
        const struct peer_result *peer = &result->peers[i];
        cJSON *entry = must(cJSON_CreateObject());
        cJSON_AddStringToObject(entry, "peer", peer->name);
        if (peer->found)
            add_milliseconds(entry, "min_ms", peer->least);
        if (peer->found)
            cJSON_AddNumberToObject(entry, "ratio", result->times.least / peer->least);
        cJSON_AddItemToArray(peers, entry);
    }
}

cJSON *bench_result_json(const struct bench_result *result, const struct subject *subject)
{
    cJSON *object = must(cJSON_CreateObject());
    add_settings(object, result, subject);
    add_times(object, result);
    add_memory(object, result);
    if (result->peer_count)
        add_peers(object, result);
    return object;
}
