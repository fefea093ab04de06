// SPDX-License-Identifier: Apache-2.0
//
// Three processes make a result: one records a graph, one compiles it without rights, one runs it; a fourth,
// which has no library state, gives each what it needs through sockets, by descriptors of memory that can
// only be read but for what it is to write. Any of them may be killed at any time: what it was working on is
// refused or lost, and the others go on. Once with the CPU, once with a GPU, whose compiler needs its
// driver's rights.

#include "conformance/clock.h"
#include "conformance/compiled.h"
#include "conformance/unit/runtime_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SIDE = 64,
    WEIGHTS = SIDE * SIDE * 2, // floats
    MAX_FILES = 3
};

// ---------------------------------------------------------------------------------------------------------------
// Messages: a number and descriptors
// ---------------------------------------------------------------------------------------------------------------

static bool send_files(int socket, int64_t number, const int *files, size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(MAX_FILES * sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec data = {&number, sizeof number};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (count) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(head), files, count * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof number;
}

// False: the other side is gone.
static bool receive_files(int socket, int64_t *number, int *files, size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(MAX_FILES * sizeof(int))];
    } control;
    struct iovec data = {number, sizeof *number};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control};
    ssize_t size;
    do {
        size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size != sizeof *number)
        return false;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (count == 0)
        return true;
    if (!head || head->cmsg_len != CMSG_LEN(count * sizeof(int)))
        return false;
    memcpy(files, CMSG_DATA(head), count * sizeof(int));
    return true;
}

// All of a file, read-only.
static const void *map_file(int file, size_t *size)
{
    off_t end = lseek(file, 0, SEEK_END);
    *size = end > 0 ? (size_t)end : 0;
    void *data = *size ? mmap(NULL, *size, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    return data == MAP_FAILED ? NULL : data;
}

// Where bytes go, and the id of the constant that was written last: where it lies in the memory of weights.
struct output {
    int file;
    const char *weights;
    uint64_t id;
};

static WNNStatus write_file(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    const char *bytes = data;
    const struct output *output = userdata1;
    (void)rest;
    (void)userdata2;
    while (size > 0) {
        ssize_t done = write(output->file, bytes, size);
        if (done <= 0)
            return WNNStatus_OperationError;
        bytes += done;
        size -= (size_t)done;
    }
    return WNNStatus_Success;
}

// ---------------------------------------------------------------------------------------------------------------
// The three
// ---------------------------------------------------------------------------------------------------------------

static WNNContext create_context(WNNDeviceType type)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context = NULL;
    descriptor.deviceType = type;
    descriptor.threadCount = 1;
    return wnnCreateContext(&descriptor, &context) == WNNStatus_Success ? context : NULL;
}

static WNNStatus refer(const WNNRecordedOperand *constant, WNNConstantReference *reference, void *userdata1,
                       void *userdata2)
{
    struct output *output = userdata1;
    (void)userdata2;
    output->id = (uint64_t)((const char *)constant->data - output->weights);
    reference->form = WNNConstantForm_Id;
    reference->id = &output->id;
    reference->idLength = sizeof output->id;
    return WNNStatus_Success;
}

static WNNOperand find(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                       const WNNConstantReference *reference, void *userdata1, void *userdata2)
{
    const size_t *size = userdata2; // of the memory of weights at userdata1
    uint64_t at, bytes = sizeof(float);
    for (size_t i = 0; i < descriptor->shape.count; i++)
        bytes *= descriptor->shape.data[i];
    if (reference->form != WNNConstantForm_Id || reference->idLength != sizeof at)
        return NULL;
    memcpy(&at, reference->id, sizeof at);
    if (at > *size || bytes > *size - at)
        return NULL;
    WNNExternalBytes loan = WNN_EXTERNAL_BYTES_INIT;
    loan.data = (const char *)userdata1 + at;
    loan.byteLength = bytes;
    return wnnGraphBuilderExternalConstant(builder, descriptor, &loan);
}

static WNNOperand lend(WNNGraphBuilder builder, const float *weights)
{
    static const uint32_t dims[] = {SIDE, SIDE};
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNExternalBytes loan = WNN_EXTERNAL_BYTES_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){dims, 2};
    loan.data = weights;
    loan.byteLength = SIDE * SIDE * sizeof *weights;
    return wnnGraphBuilderExternalConstant(builder, &descriptor, &loan);
}

// Whether there is nothing here of the library but a context, whose threads rest.
static bool has_only_recorded(WNNContext context)
{
    WNNContextCounters counters = WNN_CONTEXT_COUNTERS_INIT;
    return wnnContextGetCounters(context, &counters) == WNNStatus_Success && counters.builders == 0 &&
           counters.graphs == 0 && counters.tensors == 0 && counters.pendingRequests == 0;
}

// y = softmax(relu(x a) b). Files: weights, and where the graph goes.
static int64_t record(WNNContext context, const int *files)
{
    size_t size;
    const float *weights = map_file(files[0], &size);
    WNNGraphBuilder builder = NULL;
    struct output output = {files[1], (const char *)weights, 0};
    if (!weights || wnnContextCreateGraphBuilder(context, &builder) != WNNStatus_Success)
        return -1;
    WNNOperand x = add_input(builder, "x", SIDE, SIDE);
    x = wnnGraphBuilderRelu(builder, wnnGraphBuilderMatmul(builder, x, lend(builder, weights), NULL), NULL);
    x = wnnGraphBuilderMatmul(builder, x, lend(builder, weights + SIDE * SIDE), NULL);
    WNNNamedOperand y = {view("y"), wnnGraphBuilderSoftmax(builder, x, 1, NULL)};
    WNNSerializeDescriptor descriptor = {NULL, 1, &y, refer, write_file, &output, NULL};
    WNNStatus status = wnnGraphBuilderSerialize(builder, &descriptor, 0, NULL);
    wnnGraphBuilderRelease(builder);
    munmap((void *)(uintptr_t)weights, size);
    return status == WNNStatus_Success && has_only_recorded(context) ? lseek(files[1], 0, SEEK_CUR) : -1;
}

static WNNGraph build(WNNContext context, const void *message, size_t message_size, const void *weights,
                      size_t *size)
{
    WNNGraphBuilder builder = NULL;
    WNNGraph graph = NULL;
    WNNDeserializeDescriptor descriptor = {NULL, message, message_size, find, (void *)(uintptr_t)weights,
                                           size};
    WNNDeserializedGraph read = WNN_DESERIALIZED_GRAPH_INIT;
    if (!message || !weights || wnnContextCreateGraphBuilder(context, &builder) != WNNStatus_Success)
        return NULL;
    if (wnnGraphBuilderDeserialize(builder, &descriptor, &read) == WNNStatus_Success)
        wnn_build_savable(context, builder, read.outputCount, read.outputs, &graph, 0, NULL);
    wnnGraphBuilderRelease(builder);
    return graph;
}

// Files: weights, the graph, and where the compiled graph goes.
static int64_t compile(WNNContext context, const int *files)
{
    size_t size, message_size;
    const void *weights = map_file(files[0], &size), *message = map_file(files[1], &message_size);
    WNNGraph graph = build(context, message, message_size, weights, &size);
    struct output output = {files[2], NULL, 0};
    WNNSaveGraphDescriptor descriptor = {NULL, write_file, &output, NULL};
    WNNStatus status = graph ? wnnGraphSaveSync(graph, &descriptor, 0, NULL) : WNNStatus_UnknownError;
    wnnGraphRelease(graph);
    // The weights have been packed, and given back with the graph.
    if (weights)
        munmap((void *)(uintptr_t)weights, size);
    if (message)
        munmap((void *)(uintptr_t)message, message_size);
    return status == WNNStatus_Success ? lseek(files[2], 0, SEEK_CUR) : -1;
}

static void compute(WNNContext context, WNNGraph graph, float *y)
{
    static float x[SIDE * SIDE];
    for (size_t i = 0; i < SIDE * SIDE; i++)
        x[i] = (float)(i % 11) * 0.125f - 0.5f;
    WNNNamedBuffer input = {view("x"), x, sizeof x, WNNDataType_Float32};
    WNNNamedBuffer output = {view("y"), y, sizeof x, WNNDataType_Float32};
    compute_buffers(context, graph, 1, &input, 1, &output);
}

static void unmap(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)userdata1;
    (void)userdata2;
    munmap((void *)(uintptr_t)data, size);
}

enum {
    SAME = 1,
    REFUSED = 2,
    WRONG = 3
};

// Files: weights, the graph, and the compiled graph. Whether that gives the bits of what is built here.
static int64_t run(WNNContext context, const int *files)
{
    static float y[2][SIDE * SIDE];
    size_t size, message_size;
    const void *weights = map_file(files[0], &size), *message = map_file(files[1], &message_size);
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    WNNGraph loaded = NULL;
    descriptor.bytes.data = map_file(files[2], &descriptor.bytes.byteLength);
    descriptor.bytes.release = descriptor.bytes.data ? unmap : NULL;
    WNNStatus status = wnnContextLoadGraphSync(context, &descriptor, &loaded, 0, NULL);
    int64_t result = status == WNNStatus_Success ? SAME : status == WNNStatus_TypeError ? REFUSED : WRONG;
    if (loaded) {
        WNNGraph built = build(context, message, message_size, weights, &size);
        compute(context, loaded, y[0]);
        compute(context, built, y[1]);
        if (memcmp(y[0], y[1], sizeof y[0]) != 0)
            result = WRONG;
        wnnGraphRelease(built);
        wnnGraphRelease(loaded);
    }
    if (weights)
        munmap((void *)(uintptr_t)weights, size);
    if (message)
        munmap((void *)(uintptr_t)message, message_size);
    return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Processes
// ---------------------------------------------------------------------------------------------------------------

static const struct role {
    const char *name;
    int64_t (*work)(WNNContext context, const int *files);
    size_t file_count;
    bool executes; // something of a context, beside its builders
    bool confined; // if the device is the CPU
} roles[] = {{"recorder", record, 2, false, false},
             {"compiler", compile, 3, true, true},
             {"runner", run, 3, true, false}};

enum {
    RECORDER,
    COMPILER,
    RUNNER,
    ROLES
};

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// What the library needs (runtime_sandbox_test), and to receive, to write to what was received, and to
// answer. No file, no socket, no thread, no program, no memory that is executable.
static bool give_up_rights(void)
{
#if defined(ARCHITECTURE) && !SANITIZED
#define ALLOW(number)                                                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define ALLOW_DATA(number)                                                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 4),                                                 \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),                          \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(brk),
        ALLOW(clock_gettime),
        ALLOW(clock_nanosleep),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(futex),
        ALLOW(madvise),
        ALLOW_DATA(mmap),
        ALLOW_DATA(mprotect),
        ALLOW(mremap),
        ALLOW(munmap),
        ALLOW(restart_syscall),
        ALLOW(rt_sigprocmask),
        ALLOW(rt_sigreturn),
        ALLOW(sched_getaffinity),
        ALLOW(sched_setaffinity),
        ALLOW(sched_yield),
        ALLOW(close),
        ALLOW(lseek),
        ALLOW(recvmsg),
        ALLOW(sendmsg),
        ALLOW(write),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
#else
    return true;
#endif
}

// Serves until the other side of the socket is gone.
static _Noreturn void serve(const struct role *role, WNNDeviceType device, int socket)
{
    int files[MAX_FILES];
    int64_t number;
    WNNContext context = create_context(role->executes ? device : WNNDeviceType_CPU);
    if (!context || (role->executes && wnnContextPreload(context) != WNNStatus_Success) ||
        (role->confined && device == WNNDeviceType_CPU && !give_up_rights()))
        _exit(2);
    while (receive_files(socket, &number, files, role->file_count)) {
        number = role->work(context, files);
        for (size_t i = 0; i < role->file_count; i++)
            close(files[i]);
        if (!send_files(socket, number, NULL, 0))
            break;
    }
    wnnContextRelease(context);
    _exit(0);
}

struct process {
    const struct role *role;
    pid_t pid;
    int socket;
    double seconds; // that it took for its last work
};

static struct process processes[ROLES];
static WNNDeviceType device; // of those that are started

// Without library state: this process has none.
static void start(unsigned i)
{
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        for (unsigned j = 0; j < ROLES; j++)
            if (j != i && processes[j].pid > 0)
                close(processes[j].socket);
        serve(&roles[i], device, ends[1]);
    }
    close(ends[1]);
    processes[i] = (struct process){&roles[i], pid, ends[0], processes[i].seconds};
}

// Returns what waitpid says.
static int stop(unsigned i)
{
    int status = 0;
    close(processes[i].socket);
    REQUIRE_EQUAL_INT(waitpid(processes[i].pid, &status, 0), processes[i].pid);
    processes[i].pid = 0;
    return status;
}

// Sends work, and, if `doomed`, kills who does it when this part of its usual time is over. False: he is
// gone, as he is for certain if the part is 0.
static bool ask(unsigned i, const int *files, bool doomed, double part, int64_t *answer)
{
    struct process *process = &processes[i];
    if (doomed && part == 0)
        kill(process->pid, SIGSTOP);
    double begun = now_seconds();
    if (!send_files(process->socket, 0, files, process->role->file_count))
        return false;
    if (doomed) {
        nanosleep(&(struct timespec){0, (long)(part * process->seconds * 1e9)}, NULL);
        kill(process->pid, SIGKILL);
    }
    bool there = receive_files(process->socket, answer, NULL, 0);
    if (there && !doomed)
        process->seconds = fmin(now_seconds() - begun, 0.5);
    return there;
}

// ---------------------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------------------

static int create_memory(void)
{
    int file = memfd_create("webnn", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    REQUIRE(file >= 0);
    return file;
}

// Another descriptor of it, by which nobody can write.
static int read_only(int file)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int other = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(other >= 0 && write(other, path, 1) < 0);
    return other;
}

// Nobody can write to it any more, so that a mapping stays as it is.
static void seal(int file)
{
    REQUIRE(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
}

static int create_weights(void)
{
    static float values[WEIGHTS];
    int file = create_memory();
    for (size_t i = 0; i < WEIGHTS; i++)
        values[i] = (float)(i % 13) * 0.0625f - 0.375f;
    REQUIRE(write(file, values, sizeof values) == sizeof values);
    seal(file);
    int other = read_only(file);
    close(file);
    return other;
}

// ---------------------------------------------------------------------------------------------------------------
// Rounds
// ---------------------------------------------------------------------------------------------------------------

// One graph, on its way through all three. `victim` is killed when this part of its work's usual time is
// over; ROLES: nobody is. Returns what the runner says, or 0 if it is gone.
static int64_t go_round(int weights, unsigned victim, double part)
{
    int graph = create_memory(), compiled = create_memory();
    int recorded = read_only(graph), built = read_only(compiled);
    int64_t answer = 0;
    bool there = ask(RECORDER, (int[]){weights, graph}, victim == RECORDER, part, &answer);
    REQUIRE(there ? answer > 0 : victim == RECORDER);
    seal(graph);
    bool whole = there;
    there = ask(COMPILER, (int[]){weights, recorded, compiled}, victim == COMPILER, part, &answer);
    REQUIRE(there ? (whole ? answer > 0 : answer == -1 || answer > 0) : victim == COMPILER);
    // Whatever there is of it, also the half: the runner finds out.
    seal(compiled);
    there = ask(RUNNER, (int[]){weights, recorded, built}, victim == RUNNER, part, &answer);
    REQUIRE(there || victim == RUNNER);
    close(graph);
    close(compiled);
    close(recorded);
    close(built);
    return there ? answer : 0;
}

static void run_rounds(void)
{
    int weights = create_weights();
    for (unsigned i = 0; i < ROLES; i++)
        start(i);
    for (unsigned i = 0; i < 3; i++)
        REQUIRE_EQUAL_INT(go_round(weights, ROLES, 0), SAME);
    for (unsigned i = 0; i < ROLES; i++)
        REQUIRE_EQUAL_INT(stop(i), 0);
    close(weights);
}

// The victim may have been done before it was killed: then the result is there. The first of each role are
// killed before they begin.
static void kill_some(unsigned count)
{
    int weights = create_weights();
    unsigned refused = 0, gone = 0;
    uint64_t state = 1;
    for (unsigned i = 0; i < ROLES; i++)
        start(i);
    REQUIRE_EQUAL_INT(go_round(weights, ROLES, 0), SAME);
    for (unsigned i = 0; i < count; i++) {
        unsigned victim = i % ROLES;
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double part = i < ROLES ? 0 : (double)(state >> 33) / (1u << 31) * 1.25;
        int64_t result = go_round(weights, victim, part);
        REQUIRE(result == SAME || (victim == RUNNER ? result == 0 : result == REFUSED));
        refused += result == REFUSED;
        gone += result == 0;
        int status = stop(victim);
        REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        start(victim);
        REQUIRE_EQUAL_INT(go_round(weights, ROLES, 0), SAME);
    }
    fprintf(stderr, "%u killed: %u times a graph was refused, %u times the runner was gone\n", count, refused,
            gone);
    REQUIRE(refused >= 2 && gone >= 1);
    for (unsigned i = 0; i < ROLES; i++)
        REQUIRE_EQUAL_INT(stop(i), 0);
    close(weights);
}

static void test_processes(void)
{
    device = WNNDeviceType_CPU;
    run_rounds();
}

static void test_killed(void)
{
    device = WNNDeviceType_CPU;
    kill_some(60);
}

// Found out by another process: this one stays without library state.
static bool there_is_a_gpu(void)
{
    int status;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(create_context(WNNDeviceType_GPU) ? 0 : 1);
    REQUIRE_EQUAL_INT(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_device(void)
{
    if (!there_is_a_gpu()) {
        fprintf(stderr, "not tested: there is no Vulkan device\n");
        return;
    }
    device = WNNDeviceType_GPU;
    run_rounds();
    kill_some(9);
}

#if defined(ARCHITECTURE) && !SANITIZED
static void *do_nothing(void *unused)
{
    return unused;
}

static void start_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, do_nothing, NULL);
}

static void open_file(void)
{
    (void)!open("/dev/null", O_RDONLY);
}

static void open_socket(void)
{
    (void)!socket(AF_UNIX, SOCK_STREAM, 0);
}

static void start_program(void)
{
    execl("/proc/self/exe", "program", "--list", (char *)NULL);
}

static void map_code(void)
{
    (void)!mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// What the compiler cannot do any more ends it. Where there is no such filter, nothing is forbidden.
static void test_rights(void)
{
    void (*const attempts[])(void) = {open_file, open_socket, start_thread, start_program, map_code};
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        int status;
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            if (give_up_rights())
                attempts[i]();
            _exit(0);
        }
        REQUIRE_EQUAL_INT(waitpid(child, &status, 0), child);
        REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    }
}
#endif

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_processes());
    CASE(test_killed());
    CASE(test_device());
#if defined(ARCHITECTURE) && !SANITIZED
    CASE(test_rights());
#endif
    return cases_end();
}
