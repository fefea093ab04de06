// SPDX-License-Identifier: Apache-2.0
//
// Contexts on a device of the caller's, tensors in its buffers, and a loop of frames that nobody copies.
// Skipped where Vulkan has no device.

#include "conformance/unit/interop.h"
#include "vulkan/device/open.h"

// ---------------------------------------------------------------------------------------------------------------
// The device
// ---------------------------------------------------------------------------------------------------------------

static void require_refused(struct host *host, const WNNVulkanDevice *external, WNNStatus status,
                            const char *message)
{
    struct answer answer = {0};
    int ended = atomic_load(&host->ended);
    REQUIRE(!create_on(external, &answer));
    REQUIRE_EQUAL_INT(answer.status, status);
    REQUIRE_CONTAINS(answer.message, message);
    REQUIRE_EQUAL_INT(atomic_load(&host->ended), ended + (external->ended != NULL));
}

static void test_refused_devices(struct host *host)
{
    WNNVulkanDevice external = lend(host);
    external.instance = NULL;
    require_refused(host, &external, WNNStatus_TypeError, "lacks a VkInstance");
    external = lend(host);
    external.physicalDevice = NULL;
    require_refused(host, &external, WNNStatus_TypeError, "lacks a VkPhysicalDevice");
    external = lend(host);
    external.device = NULL;
    require_refused(host, &external, WNNStatus_TypeError, "lacks a VkDevice");
    external = lend(host);
    external.queue = NULL;
    external.ended = NULL;
    require_refused(host, &external, WNNStatus_TypeError, "lacks a VkQueue");
    external = lend(host);
    external.apiVersion = VK_API_VERSION_1_0;
    require_refused(host, &external, WNNStatus_TypeError, "version 1.0");
    external = lend(host);
    external.queueFamilyIndex = 77;
    require_refused(host, &external, WNNStatus_TypeError, "queue family 77");
    external = lend(host);
    external.unlockQueue = NULL;
    require_refused(host, &external, WNNStatus_TypeError, "only one of the two lock functions");
    external = lend(host);
    external.enabledExtensionCount = 3;
    external.enabledExtensions = NULL;
    require_refused(host, &external, WNNStatus_TypeError, "3 extensions at no address");

    // Chained to what it is not for.
    struct answer answer = {0};
    WNNContext context;
    external = lend(host);
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    descriptor.nextInChain = &external.chain;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_TypeError);
    REQUIRE_CONTAINS(answer.message, "for the backend cpu");
    REQUIRE_EQUAL_INT(wnnCreateContext(NULL, &context), WNNStatus_Success);
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Float32, 1, &external, &tensor), WNNStatus_TypeError);
    const WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Float32, 1, &export, &tensor), WNNStatus_TypeError);
    WNNVulkanHandles handles = WNN_VULKAN_HANDLES_INIT;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(context, &handles), WNNStatus_NotSupportedError);
    WNNVulkanBuffer buffer = WNN_VULKAN_BUFFER_INIT;
    tensor = make_tensor(context, WNNDataType_Float32, 1, NULL);
    wait_for(context,
             wnnContextGetVulkanBuffer(context, tensor, &buffer, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_CONTAINS(answer.message, "getVulkanBuffer: the tensor is not in a Vulkan buffer");
    wnnTensorRelease(tensor);
    wnnContextRelease(context);
}

// The caller writes to the buffer in which a tensor lies.
static void test_buffers(struct host *host, WNNContext context)
{
    struct answer answer = {0};
    WNNTensor tensor = make_tensor(context, WNNDataType_Int32, 9, NULL);
    WNNVulkanBuffer buffer = WNN_VULKAN_BUFFER_INIT;
    wait_for(context,
             wnnContextGetVulkanBuffer(context, tensor, &buffer, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_STR(answer.message, "");
    REQUIRE(buffer.buffer && buffer.size >= buffer.offset + 36 && !buffer.release);
    VkCommandBuffer commands = begin_commands(host);
    host->vk.CmdFillBuffer(commands, (VkBuffer)buffer.buffer, buffer.offset + 4, 8, 77);
    finish(host, commands);
    int32_t data[9];
    read_tensor(context, tensor, data, sizeof data);
    for (int i = 0; i < 9; i++)
        REQUIRE_EQUAL_INT(data[i], i == 1 || i == 2 ? 77 : 0);
    wait_for(context,
             wnnContextGetVulkanBuffer(context, tensor, NULL, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_CONTAINS(answer.message, "at no address");
    wnnTensorRelease(tensor);
}

static void test_lent_device(struct host *host)
{
    WNNVulkanDevice external = lend(host);
    int ended = atomic_load(&host->ended);
    WNNContext context = create_on(&external, NULL);
    WNNVulkanHandles handles = WNN_VULKAN_HANDLES_INIT;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(context, &handles), WNNStatus_Success);
    REQUIRE(handles.device == host->device && handles.instance == host->instance);
    test_transfers(context, NULL);
    test_chain(context, 0);
    test_chain(context, 100);
    test_destroying(context);
    test_buffers(host, context);
    REQUIRE(atomic_load(&host->locks) > 0);

    struct answer answer = {0};
    WNNGraph graph = build_chain(context, 1, 1);
    float x = 1, y = 0;
    wait_for(context, compute_chain(context, graph, &x, &y, 1, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(answer.status, WNNStatus_OperationError);
    REQUIRE_CONTAINS(answer.message, "dispatch()");
    REQUIRE(!wnnContextIsLost(context));

    WNNTensor tensor = make_tensor(context, WNNDataType_Float32, 10, NULL);
    REQUIRE_EQUAL_INT(atomic_load(&host->ended), ended);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(atomic_load(&host->ended), ended + 1);
    wnnTensorRelease(tensor);
    wnnGraphRelease(graph);
    must(host->vk.DeviceWaitIdle(host->device)); // it still works
}

// Without the features being named there is no waiting for semaphores, and all else works.
static void test_minimal_device(struct host *host)
{
    WNNVulkanDevice external = lend(host);
    external.enabledFeatures = NULL;
    external.enabledExtensionCount = 0;
    external.apiVersion = VK_API_VERSION_1_1;
    external.getInstanceProcAddr = NULL;
    external.lockQueue = external.unlockQueue = NULL;
    WNNContext context = create_on(&external, NULL);
    test_chain(context, 10);
    WNNGraph graph = build_graph(context, 1);
    WNNTensor x = make_tensor(context, WNNDataType_Int32, 1, NULL),
              y = make_tensor(context, WNNDataType_Int32, 1, NULL),
              one = make_tensor(context, WNNDataType_Int32, 1, NULL), tensor;
    const WNNVulkanTimelinePoint point = {1, 1};
    WNNVulkanSync sync = WNN_VULKAN_SYNC_INIT;
    sync.waitCount = 1;
    sync.waits = &point;
    struct answer answer = {0};
    wait_for(context,
             start_dispatch(context, graph, x, y, one, &sync, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(answer.status, WNNStatus_NotSupportedError);
    const WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Int32, 1, &export, &tensor),
                      WNNStatus_NotSupportedError);
    wnnTensorRelease(x);
    wnnTensorRelease(y);
    wnnTensorRelease(one);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// x times x.
static WNNGraph build_square(WNNContext context, uint32_t size)
{
    const uint32_t shape[] = {size, size};
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float16;
    descriptor.shape = (WNNUint32List){shape, 2};
    WNNGraphBuilder builder = create_builder(context);
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &descriptor);
    WNNNamedOperand output = {view("y"), wnnGraphBuilderMatmul(builder, x, x, NULL)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

// Matrix units that the caller has named are used, and others are not.
static void test_matrices(struct host *host)
{
    if (!host->multiplies || !host->matrices.cooperative || !host->half.shaderFloat16) {
        fprintf(stderr, "not tested: the device has no matrix units\n");
        return;
    }
    for (int named = 0; named < 2; named++) {
        WNNVulkanDevice external = lend(host);
        external.enabledExtensionCount = named ? host->extension_count : 0;
        int before = atomic_load(&calls.matrices);
        WNNContext context = create_on(&external, NULL);
        WNNGraph graph = build_square(context, 64); // tries them
        REQUIRE_EQUAL_INT(atomic_load(&calls.matrices) > before, named);
        wnnGraphRelease(graph);
        wnnContextRelease(context);
    }
    fprintf(stderr, "matrix units: used\n");
}

// Likewise sums of products of bytes, where they are tested: with the extension and the feature.
static void test_dots(struct host *host)
{
    struct allocator allocator;
    wnn_allocator_init(&allocator, NULL, 0);
    if (!host->adds || !host->dots.shaderIntegerDotProduct) {
        fprintf(stderr, "not tested: the device has no sums of products of bytes\n");
        return;
    }
    for (int named = 0; named < 3; named++) {
        WNNVulkanDevice external = lend(host);
        external.enabledExtensionCount = named > 0 ? host->extension_count : 0;
        external.enabledFeatures = named > 1 ? &host->features : NULL;
        const struct backend_options options = {.allocator = &allocator, .external = &external};
        struct error error = {0};
        struct gpu gpu;
        REQUIRE(wnn_gpu_open(&gpu, &options, &(struct gpu_origin){.matrices = true}, &error));
        REQUIRE_EQUAL_INT(gpu.can.dots, named > 1);
        wnn_gpu_close(&gpu);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Buffers
// ---------------------------------------------------------------------------------------------------------------

static void test_refused_buffers(struct host *host)
{
    struct answer answer = {0};
    WNNVulkanDevice external = lend(host);
    WNNContext context = create_on(&external, &answer);
    struct frame_buffer buffer = create_buffer(host, 100, COPIED);
    int released = atomic_load(&host->released);
    const WNNVulkanBuffer good = wrap(host, &buffer, 60);
    WNNVulkanBuffer bad = good;
    bad.offset = 64;
    require_no_tensor(context, &answer, &bad, WNNStatus_TypeError, "cannot begin at 64");
    bad.offset = UINT64_MAX - 3;
    require_no_tensor(context, &answer, &bad, WNNStatus_TypeError, "cannot begin");
    bad.offset = 58;
    require_no_tensor(context, &answer, &bad, WNNStatus_TypeError, "cannot begin at 58");
    bad = good;
    bad.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    require_no_tensor(context, &answer, &bad, WNNStatus_TypeError, "usage 0x1");
    REQUIRE_EQUAL_INT(atomic_load(&host->released), released + 4);
    bad = good;
    bad.buffer = 0;
    bad.release = NULL;
    require_no_tensor(context, &answer, &bad, WNNStatus_TypeError, "no buffer");
    // Two sources, or the same one twice.
    WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    bad = good;
    bad.chain.next = &export.chain;
    require_no_tensor(context, &answer, &bad, WNNStatus_TypeError, "one source");
    export.chain.sType = WNNSType_VulkanBuffer;
    require_no_tensor(context, &answer, &bad, WNNStatus_TypeError, "twice");
    export.chain.sType = 1000;
    require_no_tensor(context, &answer, &bad, WNNStatus_TypeError, "type 1000");
    REQUIRE_EQUAL_INT(atomic_load(&host->released), released + 7);

    // Waiting for too much, or nothing.
    WNNGraph graph = build_graph(context, 10);
    WNNTensor x = make_tensor(context, WNNDataType_Int32, 10, &good),
              y = make_tensor(context, WNNDataType_Int32, 10, NULL),
              one = make_tensor(context, WNNDataType_Int32, 10, NULL);
    WNNVulkanTimelinePoint points[17] = {{0, 0}};
    WNNVulkanSync sync = WNN_VULKAN_SYNC_INIT;
    sync.waitCount = 17;
    sync.waits = points;
    struct answer refused = {0};
    wait_for(context,
             start_dispatch(context, graph, x, y, one, &sync, tell(&refused, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_CONTAINS(refused.message, "17 waits");
    sync.waitCount = 0;
    sync.signalCount = 1;
    sync.signals = points;
    wait_for(context,
             start_dispatch(context, graph, x, y, one, &sync, tell(&refused, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_CONTAINS(refused.message, "signals has no semaphore");
    sync.signals = NULL;
    wait_for(context,
             start_dispatch(context, graph, x, y, one, &sync, tell(&refused, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_CONTAINS(refused.message, "at no address");
    REQUIRE_EQUAL_INT(refused.calls, 3);
    wnnTensorRelease(x);
    wnnTensorRelease(y);
    wnnTensorRelease(one);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(atomic_load(&host->released), released + 8);
    destroy_buffer(host, &buffer);
}

// Tensors without elements: a buffer's end is a place for them, and it stays as it is.
static void test_empty_buffers(struct host *host)
{
    WNNVulkanDevice external = lend(host);
    WNNContext context = create_on(&external, NULL);
    WNNGraph graph = build_graph(context, 0);
    struct frame_buffer buffer = create_buffer(host, 64, COPIED | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    WNNVulkanBuffer all = wrap(host, &buffer, 0), end = wrap(host, &buffer, 64);
    int32_t data[16];
    memset(data, 0x5A, sizeof data);
    WNNTensor whole = make_tensor(context, WNNDataType_Int32, 16, &all),
              x = make_tensor(context, WNNDataType_Int32, 0, &end),
              y = make_tensor(context, WNNDataType_Int32, 0, &end),
              one = make_tensor(context, WNNDataType_Int32, 0, &all);
    write_tensor(context, whole, data, sizeof data);
    write_tensor(context, x, NULL, 0);
    wait_for(context, dispatch(context, graph, x, y, one));
    read_tensor(context, y, NULL, 0);
    read_tensor(context, whole, data, sizeof data);
    for (int i = 0; i < 16; i++)
        REQUIRE_EQUAL_INT(data[i], 0x5A5A5A5A);
    wnnTensorRelease(whole);
    wnnTensorRelease(x);
    wnnTensorRelease(y);
    wnnTensorRelease(one);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    destroy_buffer(host, &buffer);
}

// Tensors that overlap in one buffer: the result is that of what was there before.
static void test_overlap(struct host *host)
{
    enum {
        COUNT = 1000,
        SHIFT = 16 // bytes
    };
    int32_t before[COUNT], after[COUNT];
    WNNVulkanDevice external = lend(host);
    WNNContext context = create_on(&external, NULL);
    WNNGraph graph = build_alone(context, COUNT);
    struct frame_buffer buffer =
        create_buffer(host, sizeof before + SHIFT, COPIED | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    for (int turn = 0; turn < 2; turn++) {
        WNNVulkanBuffer low = wrap(host, &buffer, 0), high = wrap(host, &buffer, SHIFT);
        WNNTensor x = make_tensor(context, WNNDataType_Int32, COUNT, turn ? &low : &high),
                  y = make_tensor(context, WNNDataType_Int32, COUNT, turn ? &high : &low);
        for (int i = 0; i < COUNT; i++)
            before[i] = i * 3 + turn;
        write_tensor(context, x, before, sizeof before);
        dispatch(context, graph, x, y, NULL);
        read_tensor(context, y, after, sizeof after);
        for (int i = 0; i < COUNT; i++)
            REQUIRE_EQUAL_INT(after[i], 2 * before[i] + 1);
        wnnTensorRelease(x);
        wnnTensorRelease(y);
    }
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    destroy_buffer(host, &buffer);
}

// What lies behind a tensor stays as it is, also in its last word.
static void test_neighbours(struct host *host)
{
    enum {
        COUNT = 5,
        BYTES = 8
    };
    WNNVulkanDevice external = lend(host);
    WNNContext context = create_on(&external, NULL);
    WNNGraphBuilder builder = create_builder(context);
    const uint32_t count = COUNT;
    WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
    type.dataType = WNNDataType_Uint8;
    type.shape = (WNNUint32List){&count, 1};
    WNNNamedOperand output = {
        view("y"), wnnGraphBuilderReverse(builder, wnnGraphBuilderInput(builder, view("x"), &type), NULL)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    struct frame_buffer buffer = create_buffer(host, BYTES, COPIED | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    WNNVulkanBuffer piece = wrap(host, &buffer, 0);
    WNNTensor whole = make_tensor(context, WNNDataType_Uint8, BYTES, &piece),
              x = make_tensor(context, WNNDataType_Uint8, COUNT, NULL),
              y = make_tensor(context, WNNDataType_Uint8, COUNT, &piece);
    uint8_t data[BYTES] = {77, 77, 77, 77, 77, 77, 77, 77};
    write_tensor(context, whole, data, sizeof data);
    write_tensor(context, x, (const uint8_t[]){1, 2, 3, 4, 5}, COUNT);
    dispatch(context, graph, x, y, NULL);
    read_tensor(context, whole, data, sizeof data);
    for (int i = 0; i < BYTES; i++)
        REQUIRE_EQUAL_INT(data[i], i < COUNT ? COUNT - i : 77);
    wnnTensorRelease(whole);
    wnnTensorRelease(x);
    wnnTensorRelease(y);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    destroy_buffer(host, &buffer);
}

// Many sets of tensors by turns are recorded once each, for each of the two memories of a graph; a tensor may
// have to be prepared once.
static void test_turns(struct host *host)
{
    enum {
        INPUTS = 5,
        OUTPUTS = 7,
        SETS = INPUTS * OUTPUTS,
        ROUNDS = 6
    };
    WNNVulkanDevice external = lend(host);
    WNNContext context = create_on(&external, NULL);
    WNNGraph graph = build_alone(context, 1);
    WNNTensor x[INPUTS], y[OUTPUTS];
    for (int i = 0; i < INPUTS; i++) {
        x[i] = make_tensor(context, WNNDataType_Int32, 1, NULL);
        write_tensor(context, x[i], &i, sizeof i);
    }
    for (int i = 0; i < OUTPUTS; i++)
        y[i] = make_tensor(context, WNNDataType_Int32, 1, NULL);
    int recordings = atomic_load(&calls.recordings);
    for (int i = 0; i < ROUNDS * SETS; i++)
        wait_for(context, dispatch(context, graph, x[i % INPUTS], y[i % OUTPUTS], NULL));
    REQUIRE(atomic_load(&calls.recordings) - recordings <= 2 * SETS + INPUTS + OUTPUTS);
    for (int i = 0; i < OUTPUTS; i++) {
        int32_t result;
        read_tensor(context, y[i], &result, sizeof result);
        REQUIRE_EQUAL_INT(result, 2 * (((ROUNDS * SETS - OUTPUTS) + i) % INPUTS) + 1);
        wnnTensorRelease(y[i]);
    }
    for (int i = 0; i < INPUTS; i++)
        wnnTensorRelease(x[i]);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// ---------------------------------------------------------------------------------------------------------------
// Frames
// ---------------------------------------------------------------------------------------------------------------

static void order_copies(struct host *host, VkCommandBuffer commands)
{
    const VkMemoryBarrier order = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                   .dstAccessMask =
                                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    host->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                                1, &order, 0, NULL, 0, NULL);
}

// How a tensor lies in the caller's buffer, and whether shaders can work on it there.
struct lie {
    VkBufferUsageFlags usage;
    uint64_t offset;
    bool good;
};

// A producer fills a buffer with the number of the frame, the library computes on it where it lies, and a
// consumer copies the result; the semaphore counts 3 n + 1 when frame n is there, 3 n + 2 when it is
// computed, and 3 n + 3 when it is consumed. With two queues the host waits for nothing but the end. The
// library copies nothing, and says to the device only once for each of its own two memories what there is to
// do; or it copies both tensors.
static void test_frames(struct host *host, const struct lie *lie)
{
    enum {
        FRAMES = 12,
        COUNT = 500
    };
    const size_t bytes = COUNT * sizeof(int32_t);
    bool one_queue = host->queue == host->external_queue;
    WNNVulkanDevice external = lend(host);
    WNNContext context = create_on(&external, NULL);
    WNNGraph graph = build_alone(context, COUNT);
    struct frame_buffer source = create_buffer(host, lie->offset + bytes + 12, lie->usage),
                        result = create_buffer(host, lie->offset + bytes, lie->usage),
                        kept = create_buffer(host, FRAMES * bytes, COPIED);
    WNNVulkanBuffer from = wrap(host, &source, lie->offset), to = wrap(host, &result, lie->offset),
                    all = wrap(host, &kept, 0);
    int released = atomic_load(&host->released), copies = atomic_load(&calls.copies),
        recordings = atomic_load(&calls.recordings);
    WNNTensor x = make_tensor(context, WNNDataType_Int32, COUNT, &from),
              y = make_tensor(context, WNNDataType_Int32, COUNT, &to);
    VkSemaphore semaphore = create_semaphore(host);
    VkCommandBuffer commands[2 * FRAMES];
    for (uint64_t frame = 0; frame < FRAMES; frame++) {
        VkCommandBuffer produce = commands[2 * frame] = begin_commands(host);
        order_copies(host, produce);
        host->vk.CmdFillBuffer(produce, source.buffer, lie->offset, bytes, (uint32_t)frame + 10);
        submit(host, produce, semaphore, 3 * frame, 3 * frame + 1);
        // On one queue the next submission may wait only for what is on its way.
        start_frame(context, graph, x, y, NULL, semaphore, 3 * frame + 1, one_queue);
        VkCommandBuffer consume = commands[2 * frame + 1] = begin_commands(host);
        const VkBufferCopy copy = {lie->offset, frame * bytes, bytes};
        order_copies(host, consume);
        host->vk.CmdCopyBuffer(consume, result.buffer, kept.buffer, 1, &copy);
        submit(host, consume, semaphore, 3 * frame + 2, 3 * frame + 3);
    }
    wait_semaphore(host, semaphore, 3 * FRAMES);
    recordings = atomic_load(&calls.recordings) - recordings;
    copies = atomic_load(&calls.copies) - copies;
    REQUIRE(recordings == 1 || recordings == 2);
    REQUIRE_EQUAL_INT(copies, lie->good ? 0 : 2 * recordings);
    WNNTensor results = make_tensor(context, WNNDataType_Int32, FRAMES * COUNT, &all);
    int32_t *data = malloc(FRAMES * bytes);
    REQUIRE(data);
    read_tensor(context, results, data, FRAMES * bytes);
    for (int i = 0; i < FRAMES * COUNT; i++)
        REQUIRE_EQUAL_INT(data[i], 2 * (i / COUNT + 10) + 1);
    free(data);
    REQUIRE_EQUAL_INT(atomic_load(&host->released), released);
    wnnTensorDestroy(x);
    REQUIRE_EQUAL_INT(atomic_load(&host->released), released + 1);
    wnnTensorRelease(x);
    wnnTensorRelease(results);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(atomic_load(&host->released),
                      released + 3); // the context's end gives back what is left
    wnnTensorRelease(y);
    wnnGraphRelease(graph);
    host->vk.FreeCommandBuffers(host->device, host->pool, 2 * FRAMES, commands);
    host->more.DestroySemaphore(host->device, semaphore, NULL);
    destroy_buffer(host, &source);
    destroy_buffer(host, &result);
    destroy_buffer(host, &kept);
    fprintf(stderr, "frames: %d on %s, %d copies\n", FRAMES, one_queue ? "one queue" : "two queues", copies);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    struct host host;
    if (!open_host(&host))
        return cases_skip("there is no Vulkan device with timeline semaphores");
    CASE(test_refused_devices(&host));
    CASE(test_lent_device(&host));
    CASE(test_minimal_device(&host));
    CASE(test_matrices(&host));
    CASE(test_dots(&host));
    CASE(test_refused_buffers(&host));
    CASE(test_empty_buffers(&host));
    CASE(test_overlap(&host));
    CASE(test_neighbours(&host));
    CASE(test_turns(&host));
    const VkBufferUsageFlags seen = COPIED | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    const struct lie lies[] = {
        {seen, 0, true}, {seen, 256, true}, {seen, 48, true}, {seen, 20, false}, {COPIED, 256, false}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        CASE(test_frames(&host, &lies[i]));
    close_host(&host);
    return cases_end();
}
