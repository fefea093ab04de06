// SPDX-License-Identifier: Apache-2.0
//
// What wnnContextPreload promises: afterwards a process may give up opening files, starting programs and
// threads, and making memory executable, and still build and compute. A child process gives these rights up,
// for all its threads; whoever asks for one of them then ends it.

#include "conformance/unit/runtime_fixture.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 16

// conv2d, its activation, a matrix product, a cast to float16 and back, softmax: XNNPACK's kernels and our
// own.
static WNNGraph build_network(WNNContext context)
{
    static float weights[SIZE * SIZE * 3 * 3];
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++)
        weights[i] = (float)(i % 7) * 0.01f;
    WNNGraphBuilder builder = create_builder(context);
    WNNOperandDescriptor image = {NULL, WNNDataType_Float32, {(uint32_t[]){1, SIZE, SIZE, SIZE}, 4}};
    WNNOperandDescriptor filter = {NULL, WNNDataType_Float32, {(uint32_t[]){SIZE, SIZE, 3, 3}, 4}};
    WNNOperandDescriptor matrix = {NULL, WNNDataType_Float32, {(uint32_t[]){SIZE, SIZE}, 2}};
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.padding = (WNNUint32List){(uint32_t[]){1, 1, 1, 1}, 4};
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &image);
    x = wnnGraphBuilderConv2d(builder, x, wnnGraphBuilderConstant(builder, &filter, weights, sizeof weights),
                              &options);
    x = wnnGraphBuilderTanh(builder, wnnGraphBuilderRelu(builder, x, NULL), NULL);
    x = wnnGraphBuilderMatmul(
        builder, x, wnnGraphBuilderConstant(builder, &matrix, weights, SIZE * SIZE * sizeof weights[0]),
        NULL);
    x = wnnGraphBuilderCast(builder, x, WNNDataType_Float16, NULL);
    x = wnnGraphBuilderCast(builder, x, WNNDataType_Float32, NULL);
    WNNNamedOperand y = {view("y"), wnnGraphBuilderSoftmax(builder, x, 3, NULL)};
    WNNGraph graph = build_outputs(context, builder, 1, &y);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static void compute_network(WNNContext context, WNNGraph graph)
{
    static float x[SIZE * SIZE * SIZE], y[SIZE * SIZE * SIZE];
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = (float)(i % 11) - 5;
    WNNNamedBuffer input = {view("x"), x, sizeof x, WNNDataType_Float32};
    WNNNamedBuffer output = {view("y"), y, sizeof y, WNNDataType_Float32};
    compute_buffers(context, graph, 1, &input, 1, &output);
    float sum = 0;
    for (size_t i = 0; i < SIZE; i++)
        sum += y[i];
    REQUIRE(sum > 0.99f && sum < 1.01f);
}

// ---------------------------------------------------------------------------------------------------------------

#define FIELD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define FORBID(number)                                                                                       \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define FORBID_EXEC(number)                                                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4), FIELD(args[2]),                                       \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),                                               \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), FIELD(nr)

// False: the system has no such filters.
static bool give_up_rights(void)
{
    struct sock_filter filter[] = {
        FIELD(nr),
        FORBID(SYS_openat),
#ifdef SYS_open
        FORBID(SYS_open),
#endif
        FORBID(SYS_openat2),
        FORBID(SYS_execve),
        FORBID(SYS_execveat),
        FORBID(SYS_socket),
        FORBID(SYS_clone),
        FORBID(SYS_clone3),
        FORBID_EXEC(SYS_mmap),
        FORBID_EXEC(SYS_mprotect),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static int confined(uint32_t threads)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.threadCount = threads;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_Success);
    if (!give_up_rights())
        return SKIPPED;
    for (int i = 0; i < 2; i++) {
        WNNGraph graph = build_network(context);
        compute_network(context, graph);
        compute_network(context, graph);
        wnnGraphRelease(graph);
    }
    wnnContextRelease(context);
    return 0;
}

// Returns what waitpid says of a child that runs `function`.
static int run_child(int (*function)(uint32_t), uint32_t argument)
{
    int status;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(function(argument));
    REQUIRE_EQUAL_INT(waitpid(child, &status, 0), child);
    return status;
}

// That the filter does what this test is about.
static int opens_a_file(uint32_t unused)
{
    (void)unused;
    if (!give_up_rights())
        return SKIPPED;
    return fopen("/dev/null", "r") != NULL;
}

int main(void)
{
    int status = run_child(opens_a_file, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        puts("skipped: no filters of system calls here");
        return SKIPPED;
    }
    REQUIRE(WIFSIGNALED(status));
    for (uint32_t threads = 1; threads <= 3; threads++) {
        status = run_child(confined, threads);
        REQUIRE(WIFEXITED(status));
        REQUIRE_EQUAL_INT(WEXITSTATUS(status), 0);
    }
    return 0;
}
