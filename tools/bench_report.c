// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_report.h"

#include "tools/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

// What stands behind the first "KEY... :" of a file of the kernel.
static void find_value(const char *path, const char *key, char *value, size_t size)
{
    char line[4096];
    snprintf(value, size, "unknown");
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon)
            continue;
        colon += strspn(colon, ": \t");
        snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (file)
        fclose(file);
}

// The instruction sets that kernels are chosen by.
static void print_flags(FILE *file)
{
    static const char *const interesting[] = {"avx2",        "fma",         "f16c",     "avx512f",
                                              "avx512_vnni", "avx512_bf16", "amx_int8", "asimd"};
    char flags[4096];
    find_value("/proc/cpuinfo", "flags", flags, sizeof flags - 2);
    for (size_t i = 0; i < sizeof interesting / sizeof *interesting; i++) {
        size_t length = strlen(interesting[i]);
        for (const char *at = flags; (at = strstr(at, interesting[i])); at += length)
            if ((at == flags || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
                fprintf(file, " %s", interesting[i]);
                break;
            }
    }
}

void report_head(FILE *file, size_t rounds, const struct bench_length *length, size_t peer_count,
                 const char *const *commands)
{
    char model[256], memory[64], date[32] = "", each[64];
    struct utsname system;
    time_t seconds_now = time(NULL);
    struct tm utc;
    find_value("/proc/cpuinfo", "model name", model, sizeof model);
    find_value("/proc/meminfo", "MemTotal", memory, sizeof memory);
    uname(&system);
    if (gmtime_r(&seconds_now, &utc))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    fprintf(file,
            "Benchmarks of libwebnn %s, written by `webnn bench --report`\n\n"
            "  machine    %s, %ld processors,",
            wnnGetVersionText().data, model, sysconf(_SC_NPROCESSORS_ONLN));
    print_flags(file);
    fprintf(file, "\n  memory     %s\n  system     %s %s\n  compiler   " COMPILER "\n  date       %s\n\n",
            memory, system.sysname, system.release, date);
    if (length->iterations)
        snprintf(each, sizeof each, "%lu executions", length->iterations);
    else
        snprintf(each, sizeof each, "%.1f s", length->seconds);
    fprintf(
        file,
        "Milliseconds for one execution, float32, batch 1: the least of %zu rounds of %s. In each round\n"
        "first this library runs, then every peer, so that all of them meet the same weather. The ratio is\n"
        "this library's time over the peer's: below 1 this library is faster.\n",
        rounds, each);
    for (size_t i = 0; i < peer_count; i++)
        fprintf(file, "%s  --vs='%s'\n", i == 0 ? "\nPeers:\n\n" : "", SHOWN_STRING(commands[i]));
}

void report_table(FILE *file, unsigned threads)
{
    fprintf(file, "\n%u thread%s%*s %9s %9s %9s  %-22s %9s %7s\n", threads, threads == 1 ? "" : "s",
            threads == 1 ? 15 : 14, "", "webnn", "first run", "GFLOP/s", "peer", "min ms", "ratio");
}

void report_row(FILE *file, const char *graph, double least, double first, double gflops,
                const struct peer_result *peers, size_t peer_count)
{
    fprintf(file, "%-23s %9.3f %9.3f %9.2f", SHOWN_STRING(graph), least * 1e3, first * 1e3, gflops);
    size_t lines = 0;
    for (size_t i = 0; i < peer_count; i++)
        if (peers[i].found)
            fprintf(file, "%*s  %-22s %9.3f %7.2f\n", lines++ ? 53 : 0, "", SHOWN_STRING(peers[i].name),
                    peers[i].least * 1e3, least / peers[i].least);
    if (lines == 0)
        fputs("\n", file);
    fflush(file);
}

void report_table_end(FILE *file)
{
    double load;
    if (getloadavg(&load, 1) == 1)
        fprintf(file, "The load of the machine, this run included, was %.1f at the end.\n", load);
}
