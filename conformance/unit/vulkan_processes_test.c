// SPDX-License-Identifier: Apache-2.0
//
// Two processes, each with a context of its own on one device, and memory that both have on it: one exports
// the memory of tensors, descriptors of it go over a socket, and what a graph of one process writes, a graph
// of the other reads. The host waits in between, or only the device does, for values of a semaphore that both
// have. Either process is killed at any point, and the other goes on. Skipped where Vulkan has no device;
// what the device lacks is said.

#include "conformance/unit/interop.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    COUNT = 777, // elements
    FRAMES = 12
};

// ---------------------------------------------------------------------------------------------------------------
// Messages: what another device needs, and a descriptor
// ---------------------------------------------------------------------------------------------------------------

struct offer {
    WNNVulkanMemory memory;
    WNNVulkanMemoryOwner owner;
};

// The descriptor belongs to this process; what goes over the socket is a copy. False: the other side is gone.
static bool send_with_file(int to, const void *bytes, size_t size, int file)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec data = {(void *)(uintptr_t)bytes, size};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    *rights = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(rights), &file, sizeof file);
    bool sent = sendmsg(to, &message, MSG_NOSIGNAL) == (ssize_t)size;
    close(file);
    return sent;
}

static bool receive_with_file(int from, void *bytes, size_t size, int *file)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec data = {bytes, size};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got;
    do {
        got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (got != (ssize_t)size || !rights || rights->cmsg_type != SCM_RIGHTS)
        return false;
    memcpy(file, CMSG_DATA(rights), sizeof *file);
    return true;
}

static bool send_tensor(int to, WNNContext context, WNNTensor tensor)
{
    struct offer offer = {export_memory(context, tensor), WNN_VULKAN_MEMORY_OWNER_INIT};
    WNNVulkanHandles handles = WNN_VULKAN_HANDLES_INIT;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(context, &handles), WNNStatus_Success);
    memcpy(offer.owner.deviceUUID, handles.deviceUUID, sizeof handles.deviceUUID);
    memcpy(offer.owner.driverUUID, handles.driverUUID, sizeof handles.driverUUID);
    return send_with_file(to, &offer, sizeof offer, offer.memory.fd);
}

// Addresses of the other process mean nothing here: the chain is made anew.
static WNNTensor receive_tensor(int from, WNNContext context)
{
    struct offer offer;
    if (!receive_with_file(from, &offer, sizeof offer, &offer.memory.fd))
        return NULL;
    offer.owner.chain = (WNNChainedStruct){NULL, WNNSType_VulkanMemoryOwner};
    offer.memory.chain = (WNNChainedStruct){&offer.owner.chain, WNNSType_VulkanMemory};
    return make_tensor(context, WNNDataType_Int32, COUNT, &offer.memory);
}

// ---------------------------------------------------------------------------------------------------------------
// A side: a context, two tensors whose memory both sides have, and a graph
// ---------------------------------------------------------------------------------------------------------------

struct side {
    WNNContext context;
    WNNGraph graph; // 2 a + 1
    WNNTensor x, y, ones;
};

static void begin_side(struct side *side)
{
    *side = (struct side){.context = create_own(NULL)};
    side->graph = build_graph(side->context, COUNT);
    side->ones = make_tensor(side->context, WNNDataType_Int32, COUNT, NULL);
}

static void end_side(struct side *side)
{
    wnnTensorRelease(side->x);
    wnnTensorRelease(side->y);
    wnnTensorRelease(side->ones);
    wnnGraphRelease(side->graph);
    wnnContextRelease(side->context);
}

// False: the device does not export memory.
static bool export_side(struct side *side)
{
    const WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    if (try_tensor(side->context, WNNDataType_Int32, COUNT, &export, &side->x) != WNNStatus_Success)
        return false;
    side->y = make_tensor(side->context, WNNDataType_Int32, COUNT, &export);
    return true;
}

static bool send_side(int to, struct side *side)
{
    return send_tensor(to, side->context, side->x) && send_tensor(to, side->context, side->y);
}

// False: the other side is gone.
static bool receive_side(int from, struct side *side)
{
    side->x = receive_tensor(from, side->context);
    side->y = side->x ? receive_tensor(from, side->context) : NULL;
    return side->y;
}

// This side alone, with memory that the other has too or had.
static void compute_alone(struct side *side)
{
    int32_t data[COUNT];
    for (int i = 0; i < COUNT; i++)
        data[i] = 3 * i;
    write_tensor(side->context, side->x, data, sizeof data);
    wait_for(side->context, dispatch(side->context, side->graph, side->x, side->y, side->ones));
    read_tensor(side->context, side->y, data, sizeof data);
    for (int i = 0; i < COUNT; i++)
        REQUIRE_EQUAL_INT(data[i], 6 * i + 1);
    REQUIRE(!wnnContextIsLost(side->context));
}

// ---------------------------------------------------------------------------------------------------------------
// The other process
// ---------------------------------------------------------------------------------------------------------------

// For every byte it computes y from x and answers with one; after a zero it computes without being asked,
// until somebody ends it.
static void serve(const struct side *side, int with)
{
    char byte = 1;
    while (byte == 0 || read(with, &byte, 1) == 1) {
        wait_for(side->context, dispatch(side->context, side->graph, side->x, side->y, side->ones));
        if (byte != 0 && write(with, &byte, 1) != 1)
            return;
    }
}

static void be_importer(int with)
{
    struct side side;
    begin_side(&side);
    REQUIRE(receive_side(with, &side));
    serve(&side, with);
    end_side(&side);
}

static void be_exporter(int with)
{
    struct side side;
    begin_side(&side);
    REQUIRE(export_side(&side) && send_side(with, &side));
    serve(&side, with);
    end_side(&side);
}

// Frames: y of x after every odd value of the semaphore. How many, the message says; 0: without an end, each
// awaited.
static void be_consumer(int with)
{
    struct host host;
    struct side side;
    WNNVulkanHandles handles = WNN_VULKAN_HANDLES_INIT;
    uint64_t frames;
    int file;
    REQUIRE(open_host(&host)); // whose functions are used
    begin_side(&side);
    REQUIRE(receive_side(with, &side) && receive_with_file(with, &frames, sizeof frames, &file));
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(side.context, &handles), WNNStatus_Success);
    VkSemaphore semaphore = import_semaphore(&host, handles.device, file);
    for (uint64_t i = 0; frames == 0 || i < frames; i++)
        start_frame(side.context, side.graph, side.x, side.y, side.ones, semaphore, 2 * i + 1, frames == 0);
    // The semaphore lives as long as the dispatches, which come before this.
    int32_t ones[COUNT];
    read_tensor(side.context, side.ones, ones, sizeof ones);
    PFN_vkDestroySemaphore destroy =
        (PFN_vkDestroySemaphore)host.vk.GetDeviceProcAddr(handles.device, "vkDestroySemaphore");
    destroy(handles.device, semaphore, NULL);
    end_side(&side);
    close_host(&host);
}

static const struct role {
    const char *name;
    void (*be)(int with);
} roles[] = {{"importer", be_importer}, {"exporter", be_exporter}, {"consumer", be_consumer}};

struct peer {
    pid_t pid;
    int with; // the socket
};

// A program of its own: nothing of this process's drivers and contexts comes along.
static struct peer start_peer(const char *role)
{
    int ends[2];
    char number[16];
    REQUIRE_EQUAL_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        snprintf(number, sizeof number, "%d", dup(ends[1])); // without FD_CLOEXEC
        alarm(120);
        execl("/proc/self/exe", "vulkan_processes_test", "peer", role, number, (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    return (struct peer){child, ends[0]};
}

// That the other process is gone, its socket tells.
static void kill_peer(const struct peer *peer, long milliseconds)
{
    char byte;
    int status;
    sleep_milliseconds(milliseconds);
    REQUIRE_EQUAL_INT(kill(peer->pid, SIGKILL), 0);
    REQUIRE_EQUAL_INT(waitpid(peer->pid, &status, 0), peer->pid);
    REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (recv(peer->with, &byte, 1, 0) > 0)
        continue;
    REQUIRE(send(peer->with, &byte, 1, MSG_NOSIGNAL) < 0);
    close(peer->with);
}

static void end_peer(const struct peer *peer)
{
    int status;
    close(peer->with);
    REQUIRE_EQUAL_INT(waitpid(peer->pid, &status, 0), peer->pid);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Any point, the same in every run.
static long any_milliseconds(int turn)
{
    return (long)((unsigned)(turn + 1) * 2654435761u >> 26);
}

// ---------------------------------------------------------------------------------------------------------------
// By turns of the host
// ---------------------------------------------------------------------------------------------------------------

// This process writes x, the other computes y.
static void take_turn(struct side *side, int with, int first)
{
    int32_t data[COUNT];
    char byte = 1;
    for (int i = 0; i < COUNT; i++)
        data[i] = i + first;
    write_tensor(side->context, side->x, data, sizeof data);
    read_tensor(side->context, side->x, data, sizeof data); // has been written when this is answered
    REQUIRE_EQUAL_INT(send(with, &byte, 1, MSG_NOSIGNAL), 1);
    REQUIRE_EQUAL_INT(read(with, &byte, 1), 1);
    read_tensor(side->context, side->y, data, sizeof data);
    for (int i = 0; i < COUNT; i++)
        REQUIRE_EQUAL_INT(data[i], 2 * (i + first) + 1);
}

enum {
    PARTNERS = 8
};

// How a partner ends: in good order, or killed while it starts, or while it computes.
static bool is_killed(int partner)
{
    return partner % 4 != 0;
}

static bool is_killed_early(int partner)
{
    return partner % 4 == 1;
}

static void spend_life(struct side *side, const struct peer *peer, int partner)
{
    for (int turn = 0; turn < 3 && !is_killed_early(partner); turn++)
        take_turn(side, peer->with, 100 * partner + turn);
    if (is_killed(partner) && !is_killed_early(partner))
        REQUIRE_EQUAL_INT(send(peer->with, &(char){0}, 1, MSG_NOSIGNAL), 1);
    if (is_killed(partner))
        kill_peer(peer, any_milliseconds(partner));
    else
        end_peer(peer);
}

// This side has exported the memory, and goes on with it and a new partner.
static void test_importer(void)
{
    struct side side;
    begin_side(&side);
    if (!export_side(&side)) {
        fprintf(stderr, "not tested: the device does not export memory\n");
        end_side(&side);
        return;
    }
    for (int partner = 0; partner < PARTNERS; partner++) {
        const struct peer peer = start_peer("importer");
        REQUIRE(send_side(peer.with, &side));
        spend_life(&side, &peer, partner);
        compute_alone(&side);
    }
    end_side(&side);
    fprintf(stderr, "memory: lent to %d processes\n", PARTNERS);
}

// The other side has exported it: it lives on, as this one has it, and what was computed last is in it. A
// partner that is killed early may not have got so far as to send anything.
static void test_exporter(void)
{
    struct side side;
    unsigned lent = 0;
    begin_side(&side);
    bool exports = export_side(&side);
    end_side(&side);
    if (!exports) {
        fprintf(stderr, "not tested: the device does not export memory\n");
        return;
    }
    for (int partner = 0; partner < PARTNERS; partner++) {
        const struct peer peer = start_peer("exporter");
        begin_side(&side);
        if (is_killed_early(partner)) {
            sleep_milliseconds(8 * any_milliseconds(partner));
            REQUIRE_EQUAL_INT(kill(peer.pid, SIGKILL), 0);
        }
        bool there = receive_side(peer.with, &side);
        REQUIRE(there || is_killed_early(partner));
        if (is_killed_early(partner))
            kill_peer(&peer, 0);
        else
            spend_life(&side, &peer, partner);
        if (there && !is_killed(partner)) {
            int32_t data[COUNT];
            read_tensor(side.context, side.y, data, sizeof data);
            REQUIRE_EQUAL_INT(data[COUNT - 1], 2 * (COUNT - 1 + 100 * partner + 2) + 1);
        }
        if (there)
            compute_alone(&side);
        lent += there;
        end_side(&side);
    }
    fprintf(stderr, "memory: lent by %u processes of %d\n", lent, PARTNERS);
}

// ---------------------------------------------------------------------------------------------------------------
// By turns of the devices
// ---------------------------------------------------------------------------------------------------------------

struct timeline {
    VkDevice device;
    VkSemaphore semaphore;
    PFN_vkWaitSemaphores wait;
    PFN_vkSignalSemaphore signal;
    PFN_vkGetSemaphoreCounterValue count;
    PFN_vkDestroySemaphore destroy;
};

static struct timeline create_shared_timeline(struct host *host, const struct side *side, int *file)
{
    WNNVulkanHandles handles = WNN_VULKAN_HANDLES_INIT;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(side->context, &handles), WNNStatus_Success);
    struct timeline timeline = {.device = handles.device};
#define FIND(member, name)                                                                                   \
    timeline.member = (PFN_vk##name)host->vk.GetDeviceProcAddr(handles.device, "vk" #name);                  \
    if (!timeline.member)                                                                                    \
        timeline.member = (PFN_vk##name)host->vk.GetDeviceProcAddr(handles.device, "vk" #name "KHR");        \
    REQUIRE(timeline.member)
    FIND(wait, WaitSemaphores);
    FIND(signal, SignalSemaphore);
    FIND(count, GetSemaphoreCounterValue);
    FIND(destroy, DestroySemaphore);
#undef FIND
    timeline.semaphore = create_exported_semaphore(host, handles.device, file);
    return timeline;
}

static VkResult wait_timeline(const struct timeline *timeline, uint64_t value, uint64_t nanoseconds)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &timeline->semaphore,
                                      .pValues = &value};
    return timeline->wait(timeline->device, &info, nanoseconds);
}

static struct peer start_consumer(struct side *side, uint64_t frames, int file)
{
    struct peer peer = start_peer("consumer");
    REQUIRE(send_side(peer.with, side) && send_with_file(peer.with, &frames, sizeof frames, file));
    return peer;
}

static void clear_tensors(struct side *side)
{
    const int32_t zeros[COUNT] = {0};
    int32_t data[COUNT];
    write_tensor(side->context, side->x, zeros, sizeof zeros);
    write_tensor(side->context, side->y, zeros, sizeof zeros);
    read_tensor(side->context, side->y, data, sizeof data);
}

// x = 2 y + 1 here, y = 2 x + 1 there, FRAMES times: everything is queued at once, no host waits in between
// and no byte leaves the device.
static void exchange_frames(struct host *host, struct side *side)
{
    int file;
    const struct timeline timeline = create_shared_timeline(host, side, &file);
    clear_tensors(side);
    const struct peer peer = start_consumer(side, FRAMES, file);
    for (uint64_t i = 0; i < FRAMES; i++)
        start_frame(side->context, side->graph, side->y, side->x, side->ones, timeline.semaphore, 2 * i,
                    false);
    REQUIRE_EQUAL_INT(wait_timeline(&timeline, (uint64_t)2 * FRAMES, UINT64_C(60000000000)), VK_SUCCESS);
    int32_t data[COUNT];
    read_tensor(side->context, side->y, data, sizeof data);
    for (int i = 0; i < COUNT; i++)
        REQUIRE_EQUAL_INT(data[i], (1 << 2 * FRAMES) - 1);
    end_peer(&peer);
    timeline.destroy(timeline.device, timeline.semaphore, NULL);
}

// The consumer is killed. What this side has queued waits for a value that does not come; the host, whom the
// socket tells, sets it, and the context goes on.
static void lose_consumer(struct host *host, struct side *side, int turn)
{
    int file;
    uint64_t frame = 0, value = 0;
    const struct timeline timeline = create_shared_timeline(host, side, &file);
    clear_tensors(side);
    const struct peer peer = start_consumer(side, 0, file);
    for (; frame < 3; frame++)
        start_frame(side->context, side->graph, side->y, side->x, side->ones, timeline.semaphore, 2 * frame,
                    false);
    if (turn % 2) // the consumer has begun
        REQUIRE_EQUAL_INT(wait_timeline(&timeline, 6, UINT64_C(60000000000)), VK_SUCCESS);
    kill_peer(&peer, any_milliseconds(turn));
    start_frame(side->context, side->graph, side->y, side->x, side->ones, timeline.semaphore, 2 * frame++,
                false);
    // Each value that is missing, in its turn.
    for (uint64_t i = 1; i < frame; i++) {
        REQUIRE_EQUAL_INT(wait_timeline(&timeline, 2 * i - 1, UINT64_C(10000000000)), VK_SUCCESS);
        must(timeline.count(timeline.device, timeline.semaphore, &value));
        const VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                              .semaphore = timeline.semaphore,
                                              .value = 2 * i};
        if (value < 2 * i)
            must(timeline.signal(timeline.device, &signal));
    }
    REQUIRE_EQUAL_INT(wait_timeline(&timeline, 2 * frame - 1, UINT64_C(10000000000)), VK_SUCCESS);
    compute_alone(side);
    timeline.destroy(timeline.device, timeline.semaphore, NULL);
}

static void test_frames(struct host *host)
{
    enum {
        LOST = 6
    };
    struct side side;
    begin_side(&side);
    if (!can_share_semaphores(host) || !export_side(&side)) {
        fprintf(stderr, "not tested: the device does not share memory and semaphores that count\n");
        end_side(&side);
        return;
    }
    exchange_frames(host, &side);
    for (int turn = 0; turn < LOST; turn++)
        lose_consumer(host, &side, turn);
    exchange_frames(host, &side);
    end_side(&side);
    fprintf(stderr, "frames: %d with another process, and %d processes lost\n", 2 * 2 * FRAMES, LOST);
}

int main(int count, char **arguments)
{
    struct host host;
    for (size_t i = 0; count == 4 && i < sizeof roles / sizeof *roles; i++)
        if (strcmp(arguments[1], "peer") == 0 && strcmp(arguments[2], roles[i].name) == 0)
            return roles[i].be(atoi(arguments[3])), 0;
    cases_begin(count, arguments);
    if (!open_host(&host))
        return cases_skip("there is no Vulkan device with timeline semaphores");
    CASE(test_importer());
    CASE(test_exporter());
    CASE(test_frames(&host));
    close_host(&host);
    return cases_end();
}
