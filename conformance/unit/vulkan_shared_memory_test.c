// SPDX-License-Identifier: Apache-2.0
//
// Memory that several devices of a process share, and a loop of frames between them. Skipped where Vulkan has
// no device; what the device lacks is said.

#include "conformance/unit/interop.h"

#include <unistd.h>

// ---------------------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------------------

// Memory of no bytes goes over as any other.
static void test_sharing_nothing(WNNContext one_side, WNNContext other_side)
{
    const WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    WNNGraph graph = build_graph(other_side, 0);
    WNNTensor x = make_tensor(one_side, WNNDataType_Int32, 0, &export),
              y = make_tensor(one_side, WNNDataType_Int32, 0, &export);
    WNNVulkanMemory from = export_memory(one_side, x), to = export_memory(one_side, y);
    WNNTensor x_there = make_tensor(other_side, WNNDataType_Int32, 0, &from),
              y_there = make_tensor(other_side, WNNDataType_Int32, 0, &to),
              ones = make_tensor(other_side, WNNDataType_Int32, 0, NULL);
    write_tensor(one_side, x, NULL, 0);
    wait_for(other_side, dispatch(other_side, graph, x_there, y_there, ones));
    read_tensor(one_side, y, NULL, 0);
    wnnTensorRelease(x);
    wnnTensorRelease(y);
    wnnTensorRelease(x_there);
    wnnTensorRelease(y_there);
    wnnTensorRelease(ones);
    wnnGraphRelease(graph);
}

// The device of one context writes what that of another has computed, and reads what that makes of it.
static void test_sharing(WNNContext one_side, WNNContext other_side)
{
    enum {
        COUNT = 777
    };
    int32_t data[COUNT];
    const WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    WNNGraph graph = build_graph(other_side, COUNT);
    WNNTensor x = make_tensor(one_side, WNNDataType_Int32, COUNT, &export),
              y = make_tensor(one_side, WNNDataType_Int32, COUNT, &export);
    WNNVulkanMemory from = export_memory(one_side, x), to = export_memory(one_side, y);
    WNNTensor x_there = make_tensor(other_side, WNNDataType_Int32, COUNT, &from),
              y_there = make_tensor(other_side, WNNDataType_Int32, COUNT, &to),
              ones = make_tensor(other_side, WNNDataType_Int32, COUNT, NULL);
    read_tensor(other_side, x_there, data, sizeof data);
    for (int i = 0; i < COUNT; i++)
        REQUIRE_EQUAL_INT(data[i], 0);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < COUNT; i++)
            data[i] = i + turn;
        write_tensor(one_side, x, data, sizeof data);
        read_tensor(one_side, x, data, sizeof data); // has been written when this is answered
        wait_for(other_side, dispatch(other_side, graph, x_there, y_there, ones));
        read_tensor(one_side, y, data, sizeof data);
        for (int i = 0; i < COUNT; i++)
            REQUIRE_EQUAL_INT(data[i], 2 * (i + turn) + 1);
    }
    // The memory stays while somebody has it.
    wnnTensorRelease(y);
    read_tensor(other_side, y_there, data, sizeof data);
    REQUIRE_EQUAL_INT(data[5], 15);
    wnnTensorRelease(x);
    wnnTensorRelease(x_there);
    wnnTensorRelease(y_there);
    wnnTensorRelease(ones);
    wnnGraphRelease(graph);
}

static void test_refused_memory(WNNContext context, struct answer *answer)
{
    const WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    WNNTensor tensor = make_tensor(context, WNNDataType_Int32, 10, &export), plain;
    plain = make_tensor(context, WNNDataType_Int32, 10, NULL);
    const WNNVulkanMemory good = export_memory(context, tensor);
    WNNVulkanMemory bad = good;
    bad.fd = -1;
    require_no_tensor(context, answer, &bad, WNNStatus_TypeError, "descriptor -1");
    bad.fd = 1 << 20;
    require_no_tensor(context, answer, &bad, WNNStatus_TypeError, "is not open");
    bad = good;
    bad.memoryTypeIndex = 32;
    require_no_tensor(context, answer, &bad, WNNStatus_TypeError, "type 32");
    bad = good;
    bad.offset = 4;
    require_no_tensor(context, answer, &bad, WNNStatus_TypeError, "cannot begin at 4");
    bad = good;
    bad.allocationSize = 8;
    require_no_tensor(context, answer, &bad, WNNStatus_TypeError, "has 8 bytes");
    // Only memory has an owner, and only memory of this device and driver is taken.
    WNNVulkanHandles handles = WNN_VULKAN_HANDLES_INIT;
    WNNVulkanMemoryOwner owner = WNN_VULKAN_MEMORY_OWNER_INIT, other;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(context, &handles), WNNStatus_Success);
    memcpy(owner.deviceUUID, handles.deviceUUID, sizeof owner.deviceUUID);
    memcpy(owner.driverUUID, handles.driverUUID, sizeof owner.driverUUID);
    bad = good;
    bad.chain.next = &other.chain;
    other = owner;
    other.deviceUUID[15] ^= 1;
    require_no_tensor(context, answer, &bad, WNNStatus_NotSupportedError, "the memory is of the device");
    other = owner;
    other.driverUUID[0] ^= 0x80;
    require_no_tensor(context, answer, &bad, WNNStatus_NotSupportedError, "the memory is of the driver");
    require_no_tensor(context, answer, &owner, WNNStatus_TypeError, "no memory that is its");
    owner.chain.next = &export.chain;
    require_no_tensor(context, answer, &owner, WNNStatus_TypeError, "no memory that is its");
    owner.chain.next = &good.chain; // in either order
    WNNTensor imported = make_tensor(context, WNNDataType_Int32, 10, &owner);
    wnnTensorRelease(imported);
    const WNNVulkanMemory again = export_memory(context, tensor);
    bad = again;
    other = owner;
    other.chain.next = NULL;
    bad.chain.next = &other.chain;
    imported = make_tensor(context, WNNDataType_Int32, 10, &bad);
    wnnTensorRelease(imported);
    struct answer refused = {0};
    WNNVulkanMemory memory = WNN_VULKAN_MEMORY_INIT;
    wait_for(context, wnnContextExportVulkanMemory(context, plain, &memory,
                                                   tell(&refused, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_CONTAINS(refused.message, "not exportable");
    wnnTensorRelease(plain);
    wnnTensorRelease(tensor);
}

static void test_memory(struct host *host)
{
    if (!host->shares) {
        fprintf(stderr, "not tested: the device has no " VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME "\n");
        return;
    }
    struct answer answer = {0};
    WNNVulkanDevice external = lend(host);
    WNNContext lender = create_on(&external, &answer), own = create_own(NULL);
    WNNTensor tensor;
    const WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    if (try_tensor(lender, WNNDataType_Int32, 10, &export, &tensor) == WNNStatus_NotSupportedError) {
        fprintf(stderr, "not tested: %s\n", answer.message);
    } else {
        wnnTensorRelease(tensor);
        test_refused_memory(lender, &answer);
        test_transfers(own, &export);
        test_sharing_nothing(lender, own);
        test_sharing_nothing(own, lender);
        test_sharing(lender, own);
        test_sharing(own, lender);
        fprintf(stderr, "memory: shared by two devices\n");
    }
    wnnContextRelease(own);
    wnnContextRelease(lender);
}

// ---------------------------------------------------------------------------------------------------------------
// Frames
// ---------------------------------------------------------------------------------------------------------------

static struct frame_buffer import_buffer(struct host *host, WNNContext context, WNNTensor tensor)
{
    const WNNVulkanMemory memory = export_memory(context, tensor);
    struct frame_buffer result = {.size = memory.bufferSize, .usage = memory.bufferUsage};
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = result.size,
                                     .usage = result.usage};
    must(host->vk.CreateBuffer(host->device, &info, NULL, &result.buffer));
    const VkImportMemoryFdInfoKHR source = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                            .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                                            .fd = memory.fd};
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .pNext = &source, .buffer = result.buffer};
    const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .pNext = memory.dedicated ? (const void *)&dedicated
                                                                     : (const void *)&source,
                                           .allocationSize = memory.allocationSize,
                                           .memoryTypeIndex = memory.memoryTypeIndex};
    must(host->vk.AllocateMemory(host->device, &allocate, NULL, &result.memory));
    must(host->vk.BindBufferMemory(host->device, result.buffer, result.memory, 0));
    return result;
}

// Takes a buffer over from the other device, or gives it to that.
static void hand_over(struct host *host, VkCommandBuffer commands, const struct frame_buffer *buffer,
                      bool out)
{
    const VkAccessFlags copies = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkBufferMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
        .srcAccessMask = out ? copies : 0,
        .dstAccessMask = out ? 0 : copies,
        .srcQueueFamilyIndex = out ? host->family : VK_QUEUE_FAMILY_EXTERNAL,
        .dstQueueFamilyIndex = out ? VK_QUEUE_FAMILY_EXTERNAL : host->family,
        .buffer = buffer->buffer,
        .size = VK_WHOLE_SIZE};
    host->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                                0, NULL, 1, &barrier, 0, NULL);
}

// A producer fills a buffer with the number of the frame, the library computes on it, and a consumer copies
// the result; they are on another device than the library: nothing but memory and a semaphore in common, and
// no waiting of the host.
static void test_frames_between_devices(struct host *host)
{
    enum {
        FRAMES = 12,
        COUNT = 300
    };
    WNNContext context = create_own(NULL);
    WNNVulkanHandles handles = WNN_VULKAN_HANDLES_INIT;
    VkSemaphore here, there;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(context, &handles), WNNStatus_Success);
    if (!can_share_semaphores(host)) {
        fprintf(stderr, "not tested: the device does not share semaphores that count\n");
        wnnContextRelease(context);
        return;
    }
    int fd;
    here = create_exported_semaphore(host, host->device, &fd);
    there = import_semaphore(host, handles.device, fd);
    const size_t bytes = COUNT * sizeof(int32_t);
    const WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    WNNGraph graph = build_graph(context, COUNT);
    WNNTensor x = make_tensor(context, WNNDataType_Int32, COUNT, &export),
              y = make_tensor(context, WNNDataType_Int32, COUNT, &export),
              all = make_tensor(context, WNNDataType_Int32, FRAMES * COUNT, &export),
              one = make_tensor(context, WNNDataType_Int32, COUNT, NULL);
    struct frame_buffer source = import_buffer(host, context, x), result = import_buffer(host, context, y),
                        kept = import_buffer(host, context, all);
    VkCommandBuffer commands[2 * FRAMES];
    for (uint64_t frame = 0; frame < FRAMES; frame++) {
        VkCommandBuffer produce = commands[2 * frame] = begin_commands(host);
        hand_over(host, produce, &source, false);
        host->vk.CmdFillBuffer(produce, source.buffer, 0, bytes, (uint32_t)frame + 10);
        hand_over(host, produce, &source, true);
        submit(host, produce, here, 3 * frame, 3 * frame + 1);
        start_frame(context, graph, x, y, one, there, 3 * frame + 1, false);
        VkCommandBuffer consume = commands[2 * frame + 1] = begin_commands(host);
        const VkBufferCopy copy = {0, frame * bytes, bytes};
        hand_over(host, consume, &result, false);
        hand_over(host, consume, &kept, false);
        host->vk.CmdCopyBuffer(consume, result.buffer, kept.buffer, 1, &copy);
        hand_over(host, consume, &result, true);
        hand_over(host, consume, &kept, true);
        submit(host, consume, here, 3 * frame + 2, 3 * frame + 3);
    }
    wait_semaphore(host, here, 3 * FRAMES);
    int32_t data[FRAMES * COUNT];
    read_tensor(context, all, data, sizeof data);
    for (int i = 0; i < FRAMES * COUNT; i++)
        REQUIRE_EQUAL_INT(data[i], 2 * (i / COUNT + 10) + 1);
    PFN_vkDestroySemaphore destroy =
        (PFN_vkDestroySemaphore)host->vk.GetDeviceProcAddr(handles.device, "vkDestroySemaphore");
    destroy(handles.device, there, NULL);
    wnnTensorRelease(x);
    wnnTensorRelease(y);
    wnnTensorRelease(all);
    wnnTensorRelease(one);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    must(host->vk.DeviceWaitIdle(host->device));
    host->vk.FreeCommandBuffers(host->device, host->pool, 2 * FRAMES, commands);
    host->more.DestroySemaphore(host->device, here, NULL);
    destroy_buffer(host, &source);
    destroy_buffer(host, &result);
    destroy_buffer(host, &kept);
    fprintf(stderr, "frames: %d between two devices\n", FRAMES);
}

int main(int count, char **arguments)
{
    cases_begin(count, arguments);
    struct host host;
    if (!open_host(&host))
        return cases_skip("there is no Vulkan device with timeline semaphores");
    CASE(test_memory(&host));
    CASE(test_frames_between_devices(&host));
    close_host(&host);
    return cases_end();
}
