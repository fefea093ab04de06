// SPDX-License-Identifier: Apache-2.0
//
// What wnnContextPreload promises: afterwards a process may give up opening files, starting programs and
// threads, and making memory executable, and still build and compute. A child process gives these rights up,
// for all its threads; whoever asks for one of them then ends it. On the CPU the list of what it keeps is
// short; on a GPU the driver has wishes of its own, which are tried out on lavapipe.
//
// runtime_sandbox_test GUIDE [PATTERN...]: the guide must name the system calls of the list.

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

#define SIZE      16
#define QUANTIZED 64 // its square is the cube of that

// One scale, and 0 as the zero point.
static WNNOperand scale_of(WNNGraphBuilder builder)
{
    static const float scale = 0.05f;
    WNNOperandDescriptor one = {NULL, WNNDataType_Float32, {(uint32_t[]){1, 1}, 2}};
    return wnnGraphBuilderConstant(builder, &one, &scale, sizeof scale);
}

static WNNOperand zero_of(WNNGraphBuilder builder)
{
    static const int8_t zero = 0;
    WNNOperandDescriptor one = {NULL, WNNDataType_Int8, {(uint32_t[]){1, 1}, 2}};
    return wnnGraphBuilderConstant(builder, &one, &zero, sizeof zero);
}

// A product of bytes, large enough for all that the processor has for it.
static WNNOperand multiply_bytes(WNNGraphBuilder builder, WNNOperand x)
{
    static int8_t weights[QUANTIZED * QUANTIZED];
    for (size_t i = 0; i < sizeof weights; i++)
        weights[i] = (int8_t)(i % 5);
    const uint32_t matrix[] = {QUANTIZED, QUANTIZED}, image[] = {1, SIZE, SIZE, SIZE};
    WNNOperandDescriptor type = {NULL, WNNDataType_Int8, {matrix, 2}};
    WNNOperand w = wnnGraphBuilderConstant(builder, &type, weights, sizeof weights);
    x = wnnGraphBuilderReshape(builder, x, (WNNUint32List){matrix, 2}, NULL);
    x = wnnGraphBuilderQuantizeLinear(builder, x, scale_of(builder), zero_of(builder), NULL);
    x = wnnGraphBuilderDequantizeLinear(builder, x, scale_of(builder), zero_of(builder), NULL);
    w = wnnGraphBuilderDequantizeLinear(builder, w, scale_of(builder), zero_of(builder), NULL);
    x = wnnGraphBuilderMatmul(builder, x, w, NULL);
    return wnnGraphBuilderReshape(builder, x, (WNNUint32List){image, 4}, NULL);
}

// conv2d, its activation, matrix products, a cast to float16 and back, softmax: XNNPACK's kernels and our
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
    x = multiply_bytes(builder, x);
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

#define FIELD(member)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(what)   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##what)
#define FORBID(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), RETURN(KILL_PROCESS)
#define FORBID_EXEC(number)                                                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4), FIELD(args[2]),                                       \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), RETURN(KILL_PROCESS), FIELD(nr)
#define REFUSE(number)                                                                                       \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), RETURN(ALLOW)

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#ifdef SYS_open
#define FORBID_OPEN FORBID(SYS_open),
#define REFUSE_OPEN REFUSE(SYS_open),
#else
#define FORBID_OPEN
#define REFUSE_OPEN
#endif

// False: the system has no such filters.
static bool install(struct sock_filter *filter, size_t count)
{
    struct sock_fprog program = {(unsigned short)count, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}
#define INSTALL(filter) install((filter), sizeof(filter) / sizeof(filter)[0])

static bool give_up_rights(void)
{
    struct sock_filter filter[] = {
        FIELD(nr),
        FORBID_OPEN FORBID(SYS_openat),
        FORBID(SYS_openat2),
        FORBID(SYS_execve),
        FORBID(SYS_execveat),
        FORBID(SYS_socket),
        FORBID(SYS_clone),
        FORBID(SYS_clone3),
        FORBID_EXEC(SYS_mmap),
        FORBID_EXEC(SYS_mprotect),
        RETURN(ALLOW),
    };
    return INSTALL(filter);
}

// All that the CPU needs after wnnContextPreload, with mmap and mprotect for memory that is not executable.
#define SYSTEM_CALLS(F)                                                                                      \
    F(brk)                                                                                                   \
    F(clock_gettime)                                                                                         \
    F(clock_nanosleep)                                                                                       \
    F(exit)                                                                                                  \
    F(exit_group)                                                                                            \
    F(futex)                                                                                                 \
    F(madvise)                                                                                               \
    F(mmap)                                                                                                  \
    F(mprotect)                                                                                              \
    F(mremap)                                                                                                \
    F(munmap)                                                                                                \
    F(restart_syscall)                                                                                       \
    F(rt_sigprocmask)                                                                                        \
    F(rt_sigreturn)                                                                                          \
    F(sched_getaffinity)                                                                                     \
    F(sched_setaffinity)                                                                                     \
    F(sched_yield)

#ifdef ARCHITECTURE
static bool keep_few_rights(void)
{
#define F(name) ALLOW(SYS_##name),
    struct sock_filter filter[] = {
        FIELD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        RETURN(KILL_PROCESS),
        FIELD(nr),
        FORBID_EXEC(SYS_mmap),
        FORBID_EXEC(SYS_mprotect),
        SYSTEM_CALLS(F) RETURN(KILL_PROCESS),
    };
#undef F
    return INSTALL(filter);
}
#endif

// Files are refused, not forbidden: drivers look for some that they can do without.
static bool give_up_rights_with_driver(bool executable)
{
    struct sock_filter filter[] = {
        FIELD(nr),
        REFUSE_OPEN REFUSE(SYS_openat),
        REFUSE(SYS_openat2),
        FORBID(SYS_execve),
        FORBID(SYS_execveat),
        FORBID(SYS_socket),
        FORBID(SYS_clone),
        FORBID(SYS_clone3),
        RETURN(ALLOW),
    };
    struct sock_filter more[] = {FIELD(nr), FORBID_EXEC(SYS_mmap), FORBID_EXEC(SYS_mprotect), RETURN(ALLOW)};
    return INSTALL(filter) && (executable || INSTALL(more));
}

// ---------------------------------------------------------------------------------------------------------------

static WNNContext create_context(WNNDeviceType type, uint32_t threads)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    descriptor.deviceType = type;
    descriptor.threadCount = threads;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        return NULL;
    REQUIRE_EQUAL_INT(wnnContextPreload(context), WNNStatus_Success);
    return context;
}

static void build_and_compute(WNNContext context)
{
    for (int i = 0; i < 2; i++) {
        WNNGraph graph = build_network(context);
        compute_network(context, graph);
        compute_network(context, graph);
        wnnGraphRelease(graph);
    }
}

static int confined(uint32_t threads)
{
    WNNContext context = create_context(WNNDeviceType_CPU, threads);
    REQUIRE(context);
    if (!give_up_rights())
        return SKIPPED;
    build_and_compute(context);
    wnnContextRelease(context);
    return 0;
}

#ifdef ARCHITECTURE
// What else an engine does: tensors, small and large, waiting with a limit, cancelling, every mode of
// callbacks, profiling, errors, and losing the context.
static void use_everything(WNNContext context)
{
    enum {
        SMALL = 4,
        LARGE = 6 << 20
    };
    for (uint32_t width = SMALL; width <= LARGE; width += LARGE - SMALL) {
        float *data = calloc(width, sizeof *data), *result = calloc(width, sizeof *result);
        struct answer event = {0}, spontaneous = {0};
        WNNGraph graph = build_chain(context, 20, width);
        wnnGraphSetProfiling(graph, true);
        WNNTensor x = create_tensor(context, 1, width), y = create_tensor(context, 1, width);
        WNNNamedTensor input = {view("x"), x}, output = {view("y"), y};
        WNNDispatchDescriptor dispatch = WNN_DISPATCH_DESCRIPTOR_INIT;
        dispatch.graph = graph;
        dispatch.inputCount = dispatch.outputCount = 1;
        dispatch.inputs = &input;
        dispatch.outputs = &output;
        for (uint32_t i = 0; i < width; i++)
            data[i] = (float)(i % 3);
        REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, x, data, width * sizeof *data), WNNStatus_Success);
        wnnContextDispatch(context, &dispatch, tell(&event, WNNCallbackMode_AllowProcessEvents));
        wnnContextDispatch(context, &dispatch, tell(&spontaneous, WNNCallbackMode_AllowSpontaneous));
        WNNFutureWaitInfo read = {
            wnnContextReadTensor(context, y, result, width * sizeof *result, tell_nobody()), false};
        wnnContextWaitAny(context, 1, &read, 1000);
        wnnContextWaitAny(context, 1, &read, 1000000000);
        wait_for(context, read.future);
        while (event.calls == 0)
            wnnContextProcessEvents(context);
        while (spontaneous.calls == 0)
            sleep_milliseconds(1);
        REQUIRE(result[width - 1] == 21 * data[width - 1]);
        wnnContextCancel(context, wnnContextDispatch(context, &dispatch, tell_nobody()));
        wnnTensorRelease(x);
        wnnTensorRelease(y);
        wnnGraphRelease(graph);
        free(data);
        free(result);
    }
    WNNGraphBuilder builder = create_builder(context);
    REQUIRE(!wnnGraphBuilderReshape(builder, add_input(builder, "x", 2, 3),
                                    (WNNUint32List){(uint32_t[]){7}, 1}, NULL));
    wnnGraphBuilderRelease(builder);
}

static void use_within_list(WNNContext context)
{
    build_and_compute(context);
    use_everything(context);
    build_and_compute(context);
    wnnContextDestroy(context);
    wnnContextRelease(context);
}

static int confined_to_list(uint32_t threads)
{
    WNNContext context = create_context(WNNDeviceType_CPU, threads);
    REQUIRE(context);
    if (!keep_few_rights())
        return SKIPPED;
    use_within_list(context);
    return 0;
}

// Nor is advice on memory taken.
static int refused_advice(uint32_t threads)
{
    struct sock_filter filter[] = {FIELD(nr), REFUSE(SYS_madvise), RETURN(ALLOW)};
    WNNContext context = create_context(WNNDeviceType_CPU, threads);
    REQUIRE(context);
    if (!INSTALL(filter) || !keep_few_rights())
        return SKIPPED;
    use_within_list(context);
    return 0;
}
#endif

// Graphs are built and run; with `executable` 0 they have been built before.
static int confined_with_driver(uint32_t executable)
{
    WNNContext context = create_context(WNNDeviceType_GPU, 2);
    REQUIRE(context);
    WNNGraph graph = build_network(context);
    compute_network(context, graph);
    if (!give_up_rights_with_driver(executable))
        return SKIPPED;
    if (executable)
        wnnGraphRelease(build_chain(context, 3, 77));
    for (int i = 0; i < 3; i++)
        compute_network(context, graph);
    wnnGraphRelease(graph);
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

static void require_child(int (*function)(uint32_t), uint32_t argument)
{
    int status = run_child(function, argument);
    if (WIFSIGNALED(status))
        fprintf(stderr, "a child ended by signal %d\n", WTERMSIG(status));
    REQUIRE(WIFEXITED(status));
    REQUIRE_EQUAL_INT(WEXITSTATUS(status), 0);
}

// The guide has the list, and how long it is.
static void test_guide(const char *path)
{
    static char text[1 << 17];
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    unsigned count = 0;
    char quoted[64];
#define F(name)                                                                                              \
    snprintf(quoted, sizeof quoted, "`%s`", #name);                                                          \
    REQUIRE_CONTAINS(text, quoted);                                                                          \
    count++;
    SYSTEM_CALLS(F)
#undef F
    snprintf(quoted, sizeof quoted, "%u system calls", count);
    REQUIRE_CONTAINS(text, quoted);
}

static void test_confined(void)
{
    for (uint32_t threads = 1; threads <= 3; threads++)
        require_child(confined, threads);
}

// Sanitizers need more.
static void test_list(void)
{
#ifdef ARCHITECTURE
    for (uint32_t threads = 1; threads <= 3 && !SANITIZED; threads++) {
        require_child(confined_to_list, threads);
        require_child(refused_advice, threads);
    }
#endif
}

// lavapipe; what other drivers do is only said.
static void test_driver(void)
{
    WNNDeviceInfo info = {.isUsable = false};
    count_devices(1, &info);
    if (!info.isUsable) {
        fprintf(stderr, "not tested: there is no Vulkan device\n");
        return;
    }
    for (uint32_t executable = 0; executable < 2; executable++) {
        if (info.kind == WNNDeviceKind_Processor) {
            require_child(confined_with_driver, executable);
            continue;
        }
        int status = run_child(confined_with_driver, executable);
        printf("%s, %s: status 0x%x\n", info.name, executable ? "builds" : "computes", (unsigned)status);
    }
}

int main(int count, char **arguments)
{
    REQUIRE(count > 1);
    cases_begin(count - 1, arguments + 1);
    CASE_AS("guide", test_guide(arguments[1]));
    int status = run_child(opens_a_file, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        return cases_skip("no filters of system calls here");
    REQUIRE(WIFSIGNALED(status));
    CASE(test_confined());
    CASE(test_list());
    CASE(test_driver());
    return cases_end();
}
