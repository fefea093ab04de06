// SPDX-License-Identifier: Apache-2.0
//
// What comes before the steady state: how long a graph takes to build, as a multiple of what it takes to read
// its weights, pack them once and clear the memory of a run; how much memory that needs beyond what the
// caller has lent, as a multiple of what stays, which is that; and the first run, as a multiple of a later
// one. Every round is a process of its own; the best of the rounds are shown, but the median of that.
//
// --check fails if a bar is missed: 1.5 of the time, 1.25 of the memory, 1.5 of the first run, each with a
// little for what every process does once.

#include "conformance/bench/subject.h"
#include "cpu/kernel.h"
#include "runtime/backends.h"
#include "runtime/pool.h"
#include "tools/bench_models.h"
#include "tools/load.h"
#include "tools/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LATER_RUNS    15
#define MAX_ROUNDS    100
#define ONCE_SECONDS  1e-3
#define FIRST_SECONDS 50e-6 // for code that is used for the first time, and to wake the worker
#define ONCE_BYTES    2e6   // of shared libraries that are used for the first time

static struct session_options options = SESSION_OPTIONS_INIT;

struct figures {
    bool good;
    double build, bound; // seconds
    double growth, kept; // bytes
    double first, later; // seconds
};

// A line of /proc/self/status, in bytes; 0: there is none.
static double status_bytes(const char *name)
{
    char line[256];
    double kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            kilobytes = strtod(line + strlen(name), NULL);
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

// From now on VmHWM is the peak since now.
static void reset_peak(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY);
    if (file >= 0 && write(file, "5", 1) != 1)
        fputs("the peak of the memory cannot be reset\n", stderr);
    if (file >= 0)
        close(file);
}

// ---------------------------------------------------------------------------------------------------------------
// The bound: every weight read once, and written once to new memory in the form that runs want
// ---------------------------------------------------------------------------------------------------------------

static void run_on_pool(const struct parallel *parallel, size_t count, void (*task)(void *, size_t),
                        void *argument)
{
    wnn_thread_pool_run((struct pool *)(uintptr_t)parallel->host, count, task, argument);
}

static void run_here(const struct parallel *parallel, size_t count, void (*task)(void *, size_t),
                     void *argument)
{
    (void)parallel;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

// Input 1 of a node, if it is made of constants only.
static size_t weight_bytes(const struct node *node)
{
    return node->in_count > 1 && node->in[1] && node->in[1]->constant ? node->in[1]->constant->bytes : 0;
}

// What packs the weights of a node; NULL: they are copied at most.
static const struct kernel *packer(const struct node *node)
{
    const struct kernel *kernel = wnn_cpu_kernel(node);
    bool ours = node->kernel && strcmp(node->kernel, "XNNPACK") != 0;
    return ours && kernel->packed_bytes && weight_bytes(node) && kernel->packed_bytes(node) ? kernel : NULL;
}

static size_t packed_bytes(const struct node *node)
{
    return packer(node) ? packer(node)->packed_bytes(node) : weight_bytes(node);
}

// The largest constant of a node.
static size_t max_bytes(const struct node *node)
{
    size_t most = 0;
    for (unsigned i = 0; i < node->in_count; i++)
        if (node->in[i] && node->in[i]->constant && node->in[i]->constant->bytes > most)
            most = node->in[i]->constant->bytes;
    return most;
}

// Any constant will do for any other.
static void pack(const struct node *node, const struct parallel *parallel, const char *from, char *to)
{
    const struct kernel *kernel = packer(node);
    if (!kernel) {
        memcpy(to, from, weight_bytes(node));
        return;
    }
    struct tensor in[8] = {{NULL}}, out[1];
    for (unsigned i = 0; i < wnn_operand_count(node) && i < 8; i++)
        if (node->in[i])
            in[i] = (struct tensor){node->in[i]->constant ? (void *)(uintptr_t)from : NULL,
                                    node->in[i]->type.type, node->in[i]->type.shape,
                                    wnn_shape_elements(&node->in[i]->type.shape)};
    out[0] = (struct tensor){NULL, node->out[0]->type.type, node->out[0]->type.shape,
                             wnn_shape_elements(&node->out[0]->type.shape)};
    const struct kernel_call call = {node, in, out, NULL, parallel, NULL};
    kernel->pack(&call, to);
}

static void measure_bound(const struct plan *plan, struct figures *figures)
{
    struct allocator allocator;
    wnn_allocator_init(&allocator, NULL, 0);
    unsigned threads = options.threads ? options.threads : 1;
    struct pool *pool = threads > 1 ? wnn_thread_pool_create(&allocator, threads) : NULL;
    const struct parallel parallel = {.run = pool ? run_on_pool : run_here, .threads = threads, .host = pool};
    size_t count = plan->graph.node_count;
    char **from = must_allocate(count * sizeof *from), **to = must_allocate(count * sizeof *to);
    for (size_t i = 0; i < count; i++) {
        from[i] = must_allocate(max_bytes(plan->graph.nodes[i]) + 1);
        memset(from[i], 1, max_bytes(plan->graph.nodes[i]) + 1);
    }
    double begin = now_seconds();
    for (size_t i = 0; i < count; i++) {
        size_t bytes = packed_bytes(plan->graph.nodes[i]);
        if (bytes && (to[i] = wnn_allocate(&allocator, bytes)))
            pack(plan->graph.nodes[i], &parallel, from[i], to[i]);
        figures->kept += (double)bytes;
    }
    void *arena = wnn_allocate_zero(&allocator, plan->arena_bytes);
    figures->kept += (double)plan->arena_bytes;
    figures->bound = now_seconds() - begin;
    wnn_release(&allocator, arena);
    for (size_t i = 0; i < count; i++) {
        free(from[i]);
        wnn_release(&allocator, to[i]);
    }
    free(from);
    free(to);
    wnn_thread_pool_destroy(pool);
}

// ---------------------------------------------------------------------------------------------------------------
// One round
// ---------------------------------------------------------------------------------------------------------------

static bool measure_runs(struct subject *subject, struct figures *figures)
{
    double begin = now_seconds(), later[LATER_RUNS];
    bool good = subject_run(subject);
    figures->first = now_seconds() - begin;
    for (int i = 0; good && i < LATER_RUNS; i++) {
        begin = now_seconds();
        good = subject_run(subject);
        later[i] = now_seconds() - begin;
    }
    figures->later = good ? median_of(later, LATER_RUNS) : 0;
    return good;
}

static void measure(const char *what, struct figures *figures)
{
    struct session session;
    struct model model = {.builder = NULL};
    struct error error = {WNNStatus_Success, ""};
    WNNGraph graph = NULL;
    bool good = session_open(&session, &options, &error);
    if (good) {
        good = model_begin(&model, session.context, &error) && model_load(&model, what, NULL, &error);
        reset_peak();
        double before = status_bytes("VmRSS:"), begin = now_seconds();
        good = good && session_build(&session, &model, &graph, &error);
        figures->build = now_seconds() - begin;
        figures->growth = status_bytes("VmHWM:") - before;
        if (model.builder)
            model_end(&model);
        if (good) {
            struct subject subject;
            subject_begin(&subject, &session, graph);
            good = measure_runs(&subject, figures);
            measure_bound(wnn_graph_plan(graph), figures);
            subject_end(&subject);
        }
        session_close(&session);
    }
    if (!good)
        fprintf(stderr, "%s: %s\n", what, error.message);
    figures->good = good;
}

static void keep_less(double *least, double value)
{
    *least = *least == 0 || value < *least ? value : *least;
}

// Returns whether it is within the bars.
static bool bench(const char *what, unsigned rounds, struct figures *shared)
{
    struct figures best = {.good = true};
    double firsts[MAX_ROUNDS], laters[MAX_ROUNDS], ratios[MAX_ROUNDS]; // of the runs
    for (unsigned i = 0; i < rounds; i++) {
        *shared = (struct figures){.good = false};
        pid_t child = fork();
        if (child == 0) {
            measure(what, shared);
            _exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) < 0 || !shared->good)
            return false;
        keep_less(&best.build, shared->build);
        keep_less(&best.bound, shared->bound);
        keep_less(&best.growth, shared->growth);
        firsts[i] = shared->first;
        laters[i] = shared->later;
        ratios[i] = shared->first / shared->later;
        best.kept = shared->kept;
    }
    best.first = median_of(firsts, rounds);
    best.later = median_of(laters, rounds);
    const double mebi = 1048576;
    printf("%-20s %8.2f %8.2f %6.2f %9.1f %9.1f %6.2f %9.3f %9.3f %6.2f\n", what, best.build * 1e3,
           best.bound * 1e3, best.build / best.bound, best.growth / mebi, best.kept / mebi,
           best.growth / best.kept, best.first * 1e3, best.later * 1e3, median_of(ratios, rounds));
    return best.build <= 1.5 * best.bound + ONCE_SECONDS && best.growth <= 1.25 * best.kept + ONCE_BYTES &&
           best.first <= 1.5 * best.later + FIRST_SECONDS;
}

static const char usage[] = "usage: webnn-bench-build [--threads=N] [--rounds=N] [--check] [GRAPH...]\n";

int main(int argc, char **argv)
{
    unsigned rounds = 5;
    bool check = false, good = true;
    options.threads = 1;
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        check |= strcmp(argv[1], "--check") == 0;
        if (strcmp(argv[1], "--check") != 0 && sscanf(argv[1], "--threads=%u", &options.threads) != 1 &&
            (sscanf(argv[1], "--rounds=%u", &rounds) != 1 || rounds == 0 || rounds > MAX_ROUNDS))
            return fputs(usage, stderr), 2;
    }
    struct figures *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    printf("%-20s %8s %8s %6s %9s %9s %6s %9s %9s %6s\n", "", "build ms", "bound ms", "ratio", "peak MiB",
           "kept MiB", "ratio", "first ms", "later ms", "ratio");
    fflush(stdout);
    if (argc > 1)
        for (int i = 1; i < argc; i++)
            good &= bench(argv[i], rounds, shared), fflush(stdout);
    else
        for (const struct bench_model *model = bench_models; model->name; model++)
            if (!strchr(model->name, ':'))
                good &= bench(model->name, rounds, shared), fflush(stdout);
    return check && !good;
}
