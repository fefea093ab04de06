// SPDX-License-Identifier: Apache-2.0
//
// Threads against one: two contexts take turns with the same graph, and the median of the one with threads is
// shown as a multiple of the other's. With --busy another process holds the last processor meanwhile.
//
// --check fails where threads are slower than one, by more than a twentieth and a few microseconds.

#include "conformance/bench/subject.h"
#include "tools/bench_models.h"
#include "tools/load.h"
#include "tools/memory.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURN_SECONDS  4e-3 // short, so that what disturbs disturbs both
#define MORE_SECONDS  5e-6
#define MORE_RELATIVE 1.05

// Small ones too: what a loop over threads costs shows there.
static const char *const graphs[] = {"relu:1x16",
                                     "add:1x4096",
                                     "add:1x65536",
                                     "gelu:1x16384",
                                     "softmax:128x128",
                                     "transpose:256x256",
                                     "matmul:1x256x256",
                                     "matmul:1x512x512",
                                     "matmul:16x64x64",
                                     "matmul:64x128x128",
                                     "matmul:256x256x256",
                                     "conv2d:7x7x32x32",
                                     "conv2d:14x14x64x64",
                                     "conv2d:14x14x128x128x3x1x128",
                                     "conv2d:56x56x64x64x3x1x64",
                                     "conv2d:28x28x64x64x3",
                                     "mobilenet_v1",
                                     "mobilenet_v2",
                                     "bert_layer",
                                     "gru",
                                     "lstm",
                                     "resnet50",
                                     NULL};

struct side {
    struct session session;
    struct subject subject;
    bool open, built;
    double *times;
    size_t count, capacity;
};

static bool side_begin(struct side *side, const char *what, unsigned threads)
{
    struct session_options options = SESSION_OPTIONS_INIT;
    struct model model = {.builder = NULL};
    struct error error = {WNNStatus_Success, ""};
    WNNGraph graph = NULL;
    *side = (struct side){.open = false};
    options.threads = threads;
    side->open = session_open(&side->session, &options, &error);
    side->built = side->open && model_begin(&model, side->session.context, &error) &&
                  model_load(&model, what, NULL, &error) &&
                  session_build(&side->session, &model, &graph, &error);
    if (model.builder)
        model_end(&model);
    if (side->built)
        subject_begin(&side->subject, &side->session, graph);
    else
        fprintf(stderr, "%s: %s\n", what, error.message);
    return side->built;
}

static void side_end(struct side *side)
{
    if (side->built)
        subject_end(&side->subject);
    if (side->open)
        session_close(&side->session);
    free(side->times);
}

static bool side_run(struct side *side, double seconds)
{
    bool good = true;
    double begin = now_seconds();
    for (int i = 0; good && (i == 0 || now_seconds() - begin < seconds); i++) {
        double before = now_seconds();
        good = subject_run(&side->subject);
        side->times = must_grow(side->times, side->count, &side->capacity, sizeof *side->times);
        side->times[side->count++] = now_seconds() - before;
    }
    return good;
}

// Returns whether threads are not slower.
static bool bench(const char *what, unsigned threads, double seconds)
{
    struct side one, many;
    bool good = side_begin(&one, what, 1);
    good = side_begin(&many, what, threads) && good;
    // The same buffers for both: where they lie makes a difference.
    struct subject own = many.subject;
    if (good) {
        many.subject.inputs = one.subject.inputs;
        many.subject.outputs = one.subject.outputs;
    }
    for (double begin = now_seconds(); good && now_seconds() - begin < seconds;)
        good = side_run(&one, TURN_SECONDS) && side_run(&many, TURN_SECONDS);
    if (good) {
        double a = median_of(one.times, one.count), b = median_of(many.times, many.count);
        good = b <= MORE_RELATIVE * a + MORE_SECONDS;
        printf("%-30s %10.1f %10.1f %6.2f   %10.1f %10.1f%s\n", what, a * 1e6, b * 1e6, b / a,
               one.times[0] * 1e6, many.times[0] * 1e6, good ? "" : "   slower");
        fflush(stdout);
    }
    many.subject = own;
    side_end(&one);
    side_end(&many);
    return good;
}

// A process that does nothing, on the last processor, as fast as it can.
static pid_t make_busy(void)
{
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t all, last;
    CPU_ZERO(&all);
    CPU_ZERO(&last);
    sched_getaffinity(0, sizeof all, &all);
    for (int i = CPU_SETSIZE - 1; i >= 0 && CPU_COUNT(&last) == 0; i--)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &last);
    sched_setaffinity(0, sizeof last, &last);
    for (volatile unsigned long turns = 0; getppid() == parent; turns++)
        for (volatile int i = 0; i < 10000000; i++)
            ;
    _exit(0);
}

static const char usage[] =
    "usage: webnn-bench-threads [--threads=N] [--time=SECONDS] [--busy] [--check] [GRAPH...]\n";

int main(int argc, char **argv)
{
    unsigned threads = 2;
    double seconds = 0.5;
    bool check = false, busy = false, good = true;
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        bool known =
            sscanf(argv[1], "--threads=%u", &threads) == 1 || sscanf(argv[1], "--time=%lf", &seconds) == 1;
        check |= strcmp(argv[1], "--check") == 0;
        busy |= strcmp(argv[1], "--busy") == 0;
        if (!known && strcmp(argv[1], "--check") != 0 && strcmp(argv[1], "--busy") != 0)
            return fputs(usage, stderr), 2;
    }
    printf("%-30s %10s %7u thr. %6s   %10s %10s\n", "microseconds, median and min", "1 thread", threads,
           "ratio", "1 thread", "threads");
    fflush(stdout);
    pid_t child = busy ? make_busy() : -1;
    if (argc > 1)
        for (int i = 1; i < argc; i++)
            good &= bench(argv[i], threads, seconds);
    else
        for (const char *const *graph = graphs; *graph; graph++)
            good &= bench(*graph, threads, seconds);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return check && !good;
}
