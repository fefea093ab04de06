// SPDX-License-Identifier: Apache-2.0
//
// Signals that a thread brings upon itself reach the host's handlers, on threads of the library too: where
// they are blocked, the kernel ends the process instead.

#include "conformance/unit/runtime_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_uint handled;
static long page;

// Zeros in the place of what is gone.
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    (void)context;
    if (info->si_code <= 0 || mmap((void *)(address - address % (uintptr_t)page), (size_t)page, PROT_READ,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        signal(number, SIG_DFL);
    atomic_fetch_add(&handled, 1);
}

// A mapping of a file that has become shorter.
static void *map_nothing(size_t bytes)
{
    int file = memfd_create("truncated", 0);
    REQUIRE(file >= 0 && ftruncate(file, (off_t)bytes) == 0);
    void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    REQUIRE(data != MAP_FAILED && ftruncate(file, 0) == 0);
    close(file);
    return data;
}

static void test_inputs(WNNContext context)
{
    enum {
        WIDTH = 1 << 20
    };
    float *x = map_nothing(WIDTH * sizeof *x), *y = malloc(WIDTH * sizeof *y);
    REQUIRE(y);
    y[0] = y[WIDTH - 1] = 1;
    WNNGraph graph = build_chain(context, 5, WIDTH);
    wait_for(context, compute_chain(context, graph, x, y, WIDTH, tell_nobody()));
    REQUIRE(atomic_load(&handled) > 0);
    REQUIRE_EQUAL_FLOAT(y[0], 0);
    REQUIRE_EQUAL_FLOAT(y[WIDTH - 1], 0);
    wnnGraphRelease(graph);
    munmap(x, WIDTH * sizeof *x);
    free(y);
}

// The signals that each thread of this process blocks.
static unsigned require_unblocked(void)
{
    static const int own[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    unsigned threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    REQUIRE(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], line[256];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        unsigned long long blocked = 0;
        while (file && fgets(line, sizeof line, file))
            if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
                threads++;
        if (file)
            fclose(file);
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            REQUIRE((blocked >> (own[i] - 1) & 1) == 0);
    }
    closedir(tasks);
    return threads;
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    page = sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    REQUIRE(sigaction(SIGBUS, &action, NULL) == 0);
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    descriptor.threadCount = 3;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_Success);
    CASE(test_inputs(context));
    REQUIRE(require_unblocked() >= 3);
    wnnContextRelease(context);
    return cases_end();
}
