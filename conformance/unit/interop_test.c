// SPDX-License-Identifier: Apache-2.0
//
// Tensors on the device, contexts on a device of the caller's, buffers and memory that both see, and a loop
// of frames without copies through the host. Skipped where Vulkan has no device; what the device lacks is
// said.

#include "conformance/unit/runtime_fixture.h"
#include "vulkan/functions.h"

#include <webnn/vulkan.h>

#include <dlfcn.h>
#include <unistd.h>

// ---------------------------------------------------------------------------------------------------------------
// A device of the test's own
// ---------------------------------------------------------------------------------------------------------------

#define MORE_FUNCTIONS(F)                                                                                    \
    F(CreateSemaphore)                                                                                       \
    F(DestroySemaphore)                                                                                      \
    F(GetSemaphoreCounterValue)                                                                              \
    F(SignalSemaphore)                                                                                       \
    F(WaitSemaphores)

struct host {
    void *library;
    PFN_vkGetInstanceProcAddr get;
    struct vk_functions vk;
    struct {
#define F(name) PFN_vk##name name;
        MORE_FUNCTIONS(F)
#undef F
    } more;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue, lent_queue; // the same if the family has but one
    VkCommandPool pool;
    uint32_t family;
    bool shares, shares_semaphores; // by file descriptors
    const char *extensions[2];
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDeviceMemoryProperties memory;
    pthread_mutex_t lock; // of the queue
    atomic_int locks, ended, released;
};

static void must(VkResult result)
{
    REQUIRE_EQUAL_INT(result, VK_SUCCESS);
}

static bool has_extension(const struct host *host, const char *name)
{
    static VkExtensionProperties list[1024];
    uint32_t count = 1024;
    must(host->vk.EnumerateDeviceExtensionProperties(host->physical, NULL, &count, list));
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].extensionName, name) == 0)
            return true;
    return false;
}

// False: there is no Vulkan, or nothing with semaphores that count.
static bool open_host(struct host *host)
{
    memset(host, 0, sizeof *host);
    pthread_mutex_init(&host->lock, NULL);
    if (!(host->library = dlopen("libvulkan.so.1", RTLD_NOW)))
        return false;
    *(void **)&host->get = dlsym(host->library, "vkGetInstanceProcAddr");
#define F(name) host->vk.name = (PFN_vk##name)host->get(NULL, "vk" #name);
    VK_GLOBAL_FUNCTIONS(F)
#undef F
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    if (host->vk.CreateInstance(&info, NULL, &host->instance) != VK_SUCCESS)
        return false;
#define F(name) host->vk.name = (PFN_vk##name)host->get(host->instance, "vk" #name);
    VK_INSTANCE_FUNCTIONS(F)
#undef F
    // The library's choice.
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNVulkanHandles handles, other;
    WNNContext context;
    descriptor.deviceType = WNNDeviceType_GPU;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        return false;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(context, &handles), WNNStatus_Success);
    REQUIRE(handles.instance && handles.physicalDevice && handles.device);
    wnnContextRelease(context);
    VkPhysicalDevice devices[8];
    uint32_t count = 8;
    host->vk.EnumeratePhysicalDevices(host->instance, &count, devices);
    for (uint32_t i = 0; i < count && !host->physical; i++) {
        VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
        VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                                  .pNext = &id};
        host->vk.GetPhysicalDeviceProperties2(devices[i], &properties);
        memcpy(other.deviceUUID, id.deviceUUID, sizeof id.deviceUUID);
        if (memcmp(handles.deviceUUID, other.deviceUUID, sizeof other.deviceUUID) == 0)
            host->physical = devices[i];
    }
    REQUIRE(host->physical);
    host->vk.GetPhysicalDeviceMemoryProperties(host->physical, &host->memory);
    host->timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    host->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    host->features.pNext = &host->timeline;
    host->vk.GetPhysicalDeviceFeatures2(host->physical, &host->features);
    memset(&host->features.features, 0, sizeof host->features.features);
    if (!host->timeline.timelineSemaphore)
        return false;
    host->shares = has_extension(host, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    host->shares_semaphores =
        host->shares && has_extension(host, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    host->extensions[0] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    host->extensions[1] = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;

    VkQueueFamilyProperties families[32];
    count = 32;
    host->vk.GetPhysicalDeviceQueueFamilyProperties(host->physical, &count, families);
    uint32_t queues = families[handles.queueFamilyIndex].queueCount > 1 ? 2 : 1;
    const float priorities[] = {1, 1};
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = handles.queueFamilyIndex,
                                           .queueCount = queues,
                                           .pQueuePriorities = priorities};
    const VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                       .pNext = &host->features,
                                       .queueCreateInfoCount = 1,
                                       .pQueueCreateInfos = &queue,
                                       .enabledExtensionCount = host->shares + host->shares_semaphores,
                                       .ppEnabledExtensionNames = host->extensions};
    must(host->vk.CreateDevice(host->physical, &device, NULL, &host->device));
#define F(name) host->vk.name = (PFN_vk##name)host->vk.GetDeviceProcAddr(host->device, "vk" #name);
    VK_DEVICE_FUNCTIONS(F)
#undef F
#define F(name)                                                                                              \
    host->more.name = (PFN_vk##name)host->vk.GetDeviceProcAddr(host->device, "vk" #name);                    \
    REQUIRE(host->more.name);
    MORE_FUNCTIONS(F)
#undef F
    host->family = handles.queueFamilyIndex;
    host->vk.GetDeviceQueue(host->device, host->family, 0, &host->queue);
    host->vk.GetDeviceQueue(host->device, host->family, queues - 1, &host->lent_queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = handles.queueFamilyIndex};
    must(host->vk.CreateCommandPool(host->device, &pool, NULL, &host->pool));
    return true;
}

static void close_host(struct host *host)
{
    host->vk.DeviceWaitIdle(host->device);
    host->vk.DestroyCommandPool(host->device, host->pool, NULL);
    host->vk.DestroyDevice(host->device, NULL);
    host->vk.DestroyInstance(host->instance, NULL);
    dlclose(host->library);
    pthread_mutex_destroy(&host->lock);
}

static void lock_queue(void *userdata)
{
    struct host *host = userdata;
    pthread_mutex_lock(&host->lock);
    atomic_fetch_add(&host->locks, 1);
}

static void unlock_queue(void *userdata)
{
    pthread_mutex_unlock(&((struct host *)userdata)->lock);
}

static void on_ended(void *userdata)
{
    atomic_fetch_add(&((struct host *)userdata)->ended, 1);
}

static void on_released(uint64_t buffer, void *userdata)
{
    REQUIRE(buffer);
    atomic_fetch_add(&((struct host *)userdata)->released, 1);
}

static WNNVulkanDevice lend(struct host *host)
{
    WNNVulkanDevice lent = WNN_VULKAN_DEVICE_INIT;
    lent.instance = host->instance;
    lent.physicalDevice = host->physical;
    lent.device = host->device;
    lent.queue = host->lent_queue;
    lent.queueFamilyIndex = host->family;
    lent.apiVersion = VK_API_VERSION_1_2;
    lent.enabledExtensionCount = host->shares + host->shares_semaphores;
    lent.enabledExtensions = host->extensions;
    lent.enabledFeatures = &host->features;
    lent.getInstanceProcAddr = (PFN_vkVoidFunction(*)(VkInstance, const char *))host->get;
    lent.lockQueue = lock_queue;
    lent.unlockQueue = unlock_queue;
    lent.ended = on_ended;
    lent.userdata = host;
    return lent;
}

static WNNContext create_on(const WNNVulkanDevice *lent, struct answer *error)
{
    WNNContextDescriptor descriptor = describe_context(error, NULL);
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.nextInChain = &lent->chain;
    WNNContext context = NULL;
    WNNStatus status = wnnCreateContext(&descriptor, &context);
    REQUIRE((status == WNNStatus_Success) == (context != NULL));
    return context;
}

static WNNContext create_own(const struct backend *backend)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.deviceType = WNNDeviceType_GPU;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, &descriptor, &context), WNNStatus_Success);
    return context;
}

// ---------------------------------------------------------------------------------------------------------------
// Requests
// ---------------------------------------------------------------------------------------------------------------

static WNNStatus try_tensor(WNNContext context, WNNDataType type, uint32_t count, const void *chain,
                            WNNTensor *tensor)
{
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.nextInChain = chain;
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){&count, 1};
    descriptor.readable = descriptor.writable = true;
    return wnnContextCreateTensor(context, &descriptor, tensor);
}

static WNNTensor make_tensor(WNNContext context, WNNDataType type, uint32_t count, const void *chain)
{
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(try_tensor(context, type, count, chain, &tensor), WNNStatus_Success);
    return tensor;
}

static void read_tensor(WNNContext context, WNNTensor tensor, void *data, size_t bytes)
{
    struct answer answer = {0};
    wait_for(context,
             wnnContextReadTensor(context, tensor, data, bytes, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_STR(answer.message, "");
}

static void write_tensor(WNNContext context, WNNTensor tensor, const void *data, size_t bytes)
{
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, data, bytes), WNNStatus_Success);
}

// y = x + x + 1, int32[count]; one = 1, a constant output.
static WNNGraph build_graph(WNNContext context, uint32_t count)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
    type.dataType = WNNDataType_Int32;
    type.shape = (WNNUint32List){&count, 1};
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &type);
    WNNOperand one = wnnGraphBuilderScalarConstant(builder, WNNDataType_Int32, wnnNumberInt64(1));
    WNNOperand ones = wnnGraphBuilderExpand(builder, one, type.shape, NULL);
    WNNNamedOperand outputs[] = {
        {view("y"), wnnGraphBuilderAdd(builder, wnnGraphBuilderAdd(builder, x, x, NULL), one, NULL)},
        {view("one"), wnnGraphBuilderIdentity(builder, ones, NULL)}};
    WNNGraph graph = build_outputs(context, builder, 2, outputs);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static WNNFuture start_dispatch(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y, WNNTensor one,
                                const void *chain, WNNRequestCallbackInfo info)
{
    WNNNamedTensor input = {view("x"), x}, outputs[] = {{view("y"), y}, {view("one"), one}};
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.nextInChain = chain;
    descriptor.graph = graph;
    descriptor.inputCount = 1;
    descriptor.inputs = &input;
    descriptor.outputCount = 2;
    descriptor.outputs = outputs;
    return wnnContextDispatch(context, &descriptor, info);
}

static WNNFuture dispatch(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y, WNNTensor one)
{
    return start_dispatch(context, graph, x, y, one, NULL, tell_nobody());
}

// ---------------------------------------------------------------------------------------------------------------
// Tensors on the device
// ---------------------------------------------------------------------------------------------------------------

// Every size is zero at first and keeps what is written, a word's pieces and several pieces of staging
// included.
static void test_transfers(WNNContext context, const void *chain)
{
    static const uint32_t sizes[] = {1, 2, 3, 5, 7, 63, 4097, 1 << 22, (1 << 22) + 1, (9 << 20) - 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t bytes = sizes[i];
        uint8_t *data = malloc(bytes), *read = malloc(bytes);
        REQUIRE(data && read);
        WNNTensor tensor = make_tensor(context, WNNDataType_Uint8, bytes, chain);
        memset(read, 0xAA, bytes);
        read_tensor(context, tensor, read, bytes);
        for (uint32_t k = 0; k < bytes; k++)
            REQUIRE_EQUAL_INT(read[k], 0);
        for (uint32_t k = 0; k < bytes; k++)
            data[k] = (uint8_t)(k * 7 + k / 251 + i);
        write_tensor(context, tensor, data, bytes);
        read_tensor(context, tensor, read, bytes);
        REQUIRE(memcmp(data, read, bytes) == 0);
        wnnTensorRelease(tensor);
        free(data);
        free(read);
    }
}

// Dispatches hand tensors to one another; nothing but the last result is read.
static void test_chain(WNNContext context, uint32_t count)
{
    enum {
        LENGTH = 9
    };
    WNNGraph graph = build_graph(context, count);
    WNNTensor tensors[LENGTH + 1], one = make_tensor(context, WNNDataType_Int32, count, NULL);
    int32_t *data = malloc(count * sizeof *data);
    REQUIRE(data);
    for (uint32_t i = 0; i < count; i++)
        data[i] = (int32_t)i - 5;
    for (int i = 0; i <= LENGTH; i++)
        tensors[i] = make_tensor(context, WNNDataType_Int32, count, NULL);
    write_tensor(context, tensors[0], data, count * sizeof *data);
    for (int i = 0; i < LENGTH; i++)
        dispatch(context, graph, tensors[i], tensors[i + 1], one);
    read_tensor(context, tensors[LENGTH], data, count * sizeof *data);
    for (uint32_t i = 0; i < count; i++)
        REQUIRE_EQUAL_INT(data[i], (((int32_t)i - 5) + 1) * (1 << LENGTH) - 1);
    read_tensor(context, one, data, count * sizeof *data);
    for (uint32_t i = 0; i < count; i++)
        REQUIRE_EQUAL_INT(data[i], 1);
    // One that nobody has written is zero, and an output's old content is no input.
    WNNTensor fresh = make_tensor(context, WNNDataType_Int32, count, NULL);
    dispatch(context, graph, fresh, tensors[3], one);
    read_tensor(context, tensors[3], data, count * sizeof *data);
    for (uint32_t i = 0; i < count; i++)
        REQUIRE_EQUAL_INT(data[i], 1);
    wnnTensorRelease(fresh);
    for (int i = 0; i <= LENGTH; i++)
        wnnTensorRelease(tensors[i]);
    wnnTensorRelease(one);
    wnnGraphRelease(graph);
    free(data);
}

// compute() and dispatch() of one graph take turns.
static void test_turns(WNNContext context)
{
    enum {
        COUNT = 33
    };
    int32_t x[COUNT], y[COUNT];
    WNNGraph graph = build_graph(context, COUNT);
    WNNTensor tensor = make_tensor(context, WNNDataType_Int32, COUNT, NULL),
              result = make_tensor(context, WNNDataType_Int32, COUNT, NULL),
              one = make_tensor(context, WNNDataType_Int32, COUNT, NULL);
    for (int turn = 0; turn < 6; turn++) {
        for (int i = 0; i < COUNT; i++)
            x[i] = turn * 1000 + i;
        WNNNamedBuffer input = {view("x"), x, sizeof x, WNNDataType_Int32},
                       output = {view("y"), y, sizeof y, 0};
        WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
        descriptor.graph = graph;
        descriptor.inputCount = descriptor.outputCount = 1;
        descriptor.inputs = &input;
        descriptor.outputs = &output;
        write_tensor(context, tensor, x, sizeof x);
        dispatch(context, graph, tensor, result, one);
        wait_for(context, wnnContextCompute(context, &descriptor, tell_nobody()));
        for (int i = 0; i < COUNT; i++)
            REQUIRE_EQUAL_INT(y[i], 2 * x[i] + 1);
        read_tensor(context, result, y, sizeof y);
        for (int i = 0; i < COUNT; i++)
            REQUIRE_EQUAL_INT(y[i], 2 * x[i] + 1);
    }
    wnnTensorRelease(tensor);
    wnnTensorRelease(result);
    wnnTensorRelease(one);
    wnnGraphRelease(graph);
}

// When nothing is given back any more.
static uint64_t settled_bytes(WNNContext context)
{
    uint64_t bytes = counters_of(context).allocatedBytes, last;
    do {
        last = bytes;
        sleep_milliseconds(20);
        bytes = counters_of(context).allocatedBytes;
    } while (bytes != last);
    return bytes;
}

// What a request needs lives until it has ended; then the memory is given back. (Graphs keep what executions
// that overlapped needed.)
static void use_and_destroy(WNNContext context)
{
    enum {
        COUNT = 1 << 18
    };
    WNNGraph graph = build_graph(context, COUNT);
    int32_t *data = malloc(COUNT * sizeof *data);
    REQUIRE(data);
    wait_for(context, wnnContextReadTensor(context, NULL, NULL, 0, tell_nobody())); // refused
    for (int turn = 0; turn < 4; turn++) {
        uint64_t before = settled_bytes(context);
        WNNTensor x = make_tensor(context, WNNDataType_Int32, COUNT, NULL),
                  y = make_tensor(context, WNNDataType_Int32, COUNT, NULL),
                  z = make_tensor(context, WNNDataType_Int32, COUNT, NULL),
                  one = make_tensor(context, WNNDataType_Int32, COUNT, NULL);
        REQUIRE(counters_of(context).allocatedBytes >= before + 4 * COUNT * sizeof *data);
        dispatch(context, graph, x, y, one);
        dispatch(context, graph, y, z, one);
        wnnTensorDestroy(x);
        wnnTensorDestroy(y);
        wnnTensorRelease(y);
        wnnTensorRelease(one);
        read_tensor(context, z, data, COUNT * sizeof *data);
        REQUIRE_EQUAL_INT(data[COUNT - 1], 3);
        struct answer answer = {0};
        dispatch(context, graph, z, x, z);
        wait_for(context,
                 start_dispatch(context, graph, x, z, one, NULL, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
        REQUIRE_EQUAL_INT(answer.status, WNNStatus_TypeError);
        wnnTensorRelease(x);
        wnnTensorRelease(z);
    }
    wnnGraphRelease(graph);
    free(data);
}

static void test_destroying(WNNContext context)
{
    use_and_destroy(context);
    uint64_t before = settled_bytes(context);
    use_and_destroy(context);
    require_bytes(context, before);
}

// A limit on memory counts tensors, and refuses no more than it has to.
static void test_limit(void)
{
    struct answer answer = {0};
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.maxMemory = 24 << 20;
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.limits = &limits;
    WNNContext context;
    WNNTensor one, other;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    one = make_tensor(context, WNNDataType_Uint8, 12 << 20, NULL);
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Uint8, 12 << 20, NULL, &other), WNNStatus_OutOfMemory);
    REQUIRE(!other && !wnnContextIsLost(context));
    wnnTensorRelease(one);
    other = make_tensor(context, WNNDataType_Uint8, 12 << 20, NULL);
    wnnTensorRelease(other);
    wnnContextRelease(context);
}

// Tensors outlive their context as handles; their memory does not.
static void test_orphans(const struct backend *backend)
{
    WNNContext context = create_own(backend);
    WNNTensor tensor = make_tensor(context, WNNDataType_Float32, 1000, NULL), other;
    wnnContextDestroy(context);
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Float32, 1, NULL, &other), WNNStatus_InvalidStateError);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(wnnTensorGetDataType(tensor), WNNDataType_Float32);
    wnnTensorDestroy(tensor);
    wnnTensorRelease(tensor);
}

static void test_tensors(const struct backend *backend)
{
    WNNContext context = create_own(backend);
    test_transfers(context, NULL);
    test_chain(context, 1);
    test_chain(context, 1023);
    test_turns(context);
    test_destroying(context);
    wnnContextRelease(context);
    test_orphans(backend);
}

// ---------------------------------------------------------------------------------------------------------------
// A context on the caller's device
// ---------------------------------------------------------------------------------------------------------------

static void require_refused(struct host *host, const WNNVulkanDevice *lent, WNNStatus status,
                            const char *message)
{
    struct answer answer = {0};
    int ended = atomic_load(&host->ended);
    REQUIRE(!create_on(lent, &answer));
    REQUIRE_EQUAL_INT(answer.status, status);
    REQUIRE_CONTAINS(answer.message, message);
    REQUIRE_EQUAL_INT(atomic_load(&host->ended), ended + (lent->ended != NULL));
}

static void test_refused_devices(struct host *host)
{
    WNNVulkanDevice lent = lend(host);
    lent.instance = NULL;
    require_refused(host, &lent, WNNStatus_TypeError, "lacks a VkInstance");
    lent = lend(host);
    lent.physicalDevice = NULL;
    require_refused(host, &lent, WNNStatus_TypeError, "lacks a VkPhysicalDevice");
    lent = lend(host);
    lent.device = NULL;
    require_refused(host, &lent, WNNStatus_TypeError, "lacks a VkDevice");
    lent = lend(host);
    lent.queue = NULL;
    lent.ended = NULL;
    require_refused(host, &lent, WNNStatus_TypeError, "lacks a VkQueue");
    lent = lend(host);
    lent.apiVersion = VK_API_VERSION_1_0;
    require_refused(host, &lent, WNNStatus_TypeError, "version 1.0");
    lent = lend(host);
    lent.queueFamilyIndex = 77;
    require_refused(host, &lent, WNNStatus_TypeError, "queue family 77");
    lent = lend(host);
    lent.unlockQueue = NULL;
    require_refused(host, &lent, WNNStatus_TypeError, "only one of the two lock functions");
    lent = lend(host);
    lent.enabledExtensionCount = 3;
    lent.enabledExtensions = NULL;
    require_refused(host, &lent, WNNStatus_TypeError, "3 extensions at no address");

    // Chained to what it is not for.
    struct answer answer = {0};
    WNNContext context;
    lent = lend(host);
    WNNContextDescriptor descriptor = describe_context(&answer, NULL);
    descriptor.nextInChain = &lent.chain;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_TypeError);
    REQUIRE_CONTAINS(answer.message, "for the backend cpu");
    REQUIRE_EQUAL_INT(wnnCreateContext(NULL, &context), WNNStatus_Success);
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Float32, 1, &lent, &tensor), WNNStatus_TypeError);
    const WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Float32, 1, &export, &tensor), WNNStatus_TypeError);
    WNNVulkanHandles handles;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(context, &handles), WNNStatus_NotSupportedError);
    WNNVulkanBuffer buffer;
    tensor = make_tensor(context, WNNDataType_Float32, 1, NULL);
    wait_for(context,
             wnnContextGetVulkanBuffer(context, tensor, &buffer, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_CONTAINS(answer.message, "getVulkanBuffer: the tensor is not in a Vulkan buffer");
    wnnTensorRelease(tensor);
    wnnContextRelease(context);
}

static VkCommandBuffer begin_commands(struct host *host);
static void finish(struct host *host, VkCommandBuffer commands);

// The caller writes to the buffer in which a tensor lies.
static void test_buffers(struct host *host, WNNContext context)
{
    struct answer answer = {0};
    WNNTensor tensor = make_tensor(context, WNNDataType_Int32, 9, NULL);
    WNNVulkanBuffer buffer;
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
    WNNVulkanDevice lent = lend(host);
    int ended = atomic_load(&host->ended);
    WNNContext context = create_on(&lent, NULL);
    WNNVulkanHandles handles;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(context, &handles), WNNStatus_Success);
    REQUIRE(handles.device == host->device && handles.instance == host->instance);
    test_transfers(context, NULL);
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
    WNNVulkanDevice lent = lend(host);
    lent.enabledFeatures = NULL;
    lent.enabledExtensionCount = 0;
    lent.apiVersion = VK_API_VERSION_1_1;
    lent.getInstanceProcAddr = NULL;
    lent.lockQueue = lent.unlockQueue = NULL;
    WNNContext context = create_on(&lent, NULL);
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

// ---------------------------------------------------------------------------------------------------------------
// Frames
// ---------------------------------------------------------------------------------------------------------------

struct frame_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t size;
    uint32_t usage;
};

static uint32_t memory_type(const struct host *host, uint32_t types)
{
    for (uint32_t i = 0; i < host->memory.memoryTypeCount; i++)
        if (types >> i & 1)
            return i;
    REQUIRE(!"a memory type");
    return 0;
}

static struct frame_buffer create_buffer(struct host *host, uint64_t size)
{
    struct frame_buffer result = {
        .size = size, .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = result.usage};
    must(host->vk.CreateBuffer(host->device, &info, NULL, &result.buffer));
    VkMemoryRequirements needs;
    host->vk.GetBufferMemoryRequirements(host->device, result.buffer, &needs);
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = memory_type(host, needs.memoryTypeBits)};
    must(host->vk.AllocateMemory(host->device, &memory, NULL, &result.memory));
    must(host->vk.BindBufferMemory(host->device, result.buffer, result.memory, 0));
    return result;
}

static void destroy_buffer(struct host *host, struct frame_buffer *buffer)
{
    host->vk.DestroyBuffer(host->device, buffer->buffer, NULL);
    host->vk.FreeMemory(host->device, buffer->memory, NULL);
}

static WNNVulkanBuffer wrap(struct host *host, const struct frame_buffer *buffer, uint64_t offset)
{
    WNNVulkanBuffer result = WNN_VULKAN_BUFFER_INIT;
    result.buffer = (uint64_t)buffer->buffer;
    result.size = buffer->size;
    result.offset = offset;
    result.usage = buffer->usage;
    result.release = on_released;
    result.userdata = host;
    return result;
}

static VkSemaphore create_semaphore(struct host *host)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore;
    must(host->more.CreateSemaphore(host->device, &info, NULL, &semaphore));
    return semaphore;
}

static VkCommandBuffer begin_commands(struct host *host)
{
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = host->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;
    must(host->vk.AllocateCommandBuffers(host->device, &info, &commands));
    must(host->vk.BeginCommandBuffer(commands, &begin));
    return commands;
}

// Submits what was recorded: waits for `wait` if that is not 0, signals `signal`.
static void submit(struct host *host, VkCommandBuffer commands, VkSemaphore semaphore, uint64_t wait,
                   uint64_t signal)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = wait > 0,
                                                  .pWaitSemaphoreValues = &wait,
                                                  .signalSemaphoreValueCount = 1,
                                                  .pSignalSemaphoreValues = &signal};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = wait > 0,
                               .pWaitSemaphores = &semaphore,
                               .pWaitDstStageMask = &stage,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = &semaphore};
    must(host->vk.EndCommandBuffer(commands));
    pthread_mutex_lock(&host->lock);
    must(host->vk.QueueSubmit(host->queue, 1, &info, VK_NULL_HANDLE));
    pthread_mutex_unlock(&host->lock);
}

static void finish(struct host *host, VkCommandBuffer commands)
{
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    // Readable by the host: the library may map the memory.
    const VkMemoryBarrier order = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    host->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                                &order, 0, NULL, 0, NULL);
    must(host->vk.EndCommandBuffer(commands));
    pthread_mutex_lock(&host->lock);
    must(host->vk.QueueSubmit(host->queue, 1, &info, VK_NULL_HANDLE));
    pthread_mutex_unlock(&host->lock);
    must(host->vk.DeviceWaitIdle(host->device));
    host->vk.FreeCommandBuffers(host->device, host->pool, 1, &commands);
}

static void wait_semaphore(struct host *host, VkSemaphore semaphore, uint64_t value)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &semaphore,
                                      .pValues = &value};
    must(host->more.WaitSemaphores(host->device, &info, 60000000000u));
}

static void order_copies(struct host *host, VkCommandBuffer commands)
{
    const VkMemoryBarrier order = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                   .dstAccessMask =
                                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    host->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                                1, &order, 0, NULL, 0, NULL);
}

static void start_frame(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y, WNNTensor one,
                        VkSemaphore semaphore, uint64_t ready, bool wait)
{
    const WNNVulkanTimelinePoint before = {(uint64_t)semaphore, ready},
                                 after = {(uint64_t)semaphore, ready + 1};
    WNNVulkanSync sync = WNN_VULKAN_SYNC_INIT;
    sync.waitCount = sync.signalCount = 1;
    sync.waits = &before;
    sync.signals = &after;
    WNNFuture future = start_dispatch(context, graph, x, y, one, &sync, tell_nobody());
    if (wait)
        wait_for(context, future);
}

// A producer fills a buffer with the number of the frame, the library computes on it where it lies, and a
// consumer copies the result; the semaphore counts 3 n + 1 when frame n is there, 3 n + 2 when it is
// computed, and 3 n + 3 when it is consumed. With two queues the host waits for nothing but the end.
static void test_frames(struct host *host)
{
    enum {
        FRAMES = 12,
        COUNT = 500,
        OFFSET = 256
    };
    const size_t bytes = COUNT * sizeof(int32_t);
    bool one_queue = host->queue == host->lent_queue;
    WNNVulkanDevice lent = lend(host);
    WNNContext context = create_on(&lent, NULL);
    WNNGraph graph = build_graph(context, COUNT);
    struct frame_buffer source = create_buffer(host, OFFSET + bytes + 12),
                        result = create_buffer(host, bytes), kept = create_buffer(host, FRAMES * bytes);
    WNNVulkanBuffer from = wrap(host, &source, OFFSET), to = wrap(host, &result, 0),
                    all = wrap(host, &kept, 0);
    int released = atomic_load(&host->released);
    WNNTensor x = make_tensor(context, WNNDataType_Int32, COUNT, &from),
              y = make_tensor(context, WNNDataType_Int32, COUNT, &to),
              one = make_tensor(context, WNNDataType_Int32, COUNT, NULL);
    VkSemaphore semaphore = create_semaphore(host);
    VkCommandBuffer commands[2 * FRAMES];
    for (uint64_t frame = 0; frame < FRAMES; frame++) {
        VkCommandBuffer produce = commands[2 * frame] = begin_commands(host);
        order_copies(host, produce);
        host->vk.CmdFillBuffer(produce, source.buffer, OFFSET, bytes, (uint32_t)frame + 10);
        submit(host, produce, semaphore, 3 * frame, 3 * frame + 1);
        // On one queue the next submission may wait only for what is on its way.
        start_frame(context, graph, x, y, one, semaphore, 3 * frame + 1, one_queue);
        VkCommandBuffer consume = commands[2 * frame + 1] = begin_commands(host);
        const VkBufferCopy copy = {0, frame * bytes, bytes};
        order_copies(host, consume);
        host->vk.CmdCopyBuffer(consume, result.buffer, kept.buffer, 1, &copy);
        submit(host, consume, semaphore, 3 * frame + 2, 3 * frame + 3);
    }
    wait_semaphore(host, semaphore, 3 * FRAMES);
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
    wnnTensorRelease(one);
    wnnGraphRelease(graph);
    host->vk.FreeCommandBuffers(host->device, host->pool, 2 * FRAMES, commands);
    host->more.DestroySemaphore(host->device, semaphore, NULL);
    destroy_buffer(host, &source);
    destroy_buffer(host, &result);
    destroy_buffer(host, &kept);
    fprintf(stderr, "frames: %d on %s\n", FRAMES, one_queue ? "one queue" : "two queues");
}

static void require_no_tensor(WNNContext context, struct answer *answer, const void *chain, WNNStatus status,
                              const char *message)
{
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Int32, 10, chain, &tensor), status);
    REQUIRE(!tensor);
    REQUIRE_CONTAINS(answer->message, message);
}

static void test_refused_buffers(struct host *host)
{
    struct answer answer = {0};
    WNNVulkanDevice lent = lend(host);
    WNNContext context = create_on(&lent, &answer);
    struct frame_buffer buffer = create_buffer(host, 100);
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

// ---------------------------------------------------------------------------------------------------------------
// Memory that two devices share
// ---------------------------------------------------------------------------------------------------------------

static WNNVulkanMemory export_memory(WNNContext context, WNNTensor tensor)
{
    WNNVulkanMemory memory;
    struct answer answer = {0};
    wait_for(context, wnnContextExportVulkanMemory(context, tensor, &memory,
                                                   tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_STR(answer.message, "");
    REQUIRE(memory.fd >= 0 && memory.chain.sType == WNNSType_VulkanMemory);
    return memory;
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
    close(good.fd); // still the caller's
    struct answer refused = {0};
    WNNVulkanMemory memory;
    wait_for(context, wnnContextExportVulkanMemory(context, plain, &memory,
                                                   tell(&refused, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_CONTAINS(refused.message, "not exportable");
    wnnTensorRelease(plain);
    wnnTensorRelease(tensor);
}

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

// A semaphore of the test's device and the same one on the library's; false: the device cannot.
static bool share_semaphore(struct host *host, VkDevice other, VkSemaphore *here, VkSemaphore *there)
{
    PFN_vkGetPhysicalDeviceExternalSemaphoreProperties properties =
        (PFN_vkGetPhysicalDeviceExternalSemaphoreProperties)host->get(
            host->instance, "vkGetPhysicalDeviceExternalSemaphoreProperties");
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkPhysicalDeviceExternalSemaphoreInfo question = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &type,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    properties(host->physical, &question, &answer);
    const VkExternalSemaphoreFeatureFlags needed =
        VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
    if ((answer.externalSemaphoreFeatures & needed) != needed)
        return false;
    const VkExportSemaphoreCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                                .pNext = &type,
                                                .handleTypes =
                                                    VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &export};
    must(host->more.CreateSemaphore(host->device, &info, NULL, here));
    PFN_vkGetSemaphoreFdKHR get =
        (PFN_vkGetSemaphoreFdKHR)host->vk.GetDeviceProcAddr(host->device, "vkGetSemaphoreFdKHR");
    const VkSemaphoreGetFdInfoKHR from = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                          .semaphore = *here,
                                          .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd;
    must(get(host->device, &from, &fd));
    PFN_vkCreateSemaphore create =
        (PFN_vkCreateSemaphore)host->vk.GetDeviceProcAddr(other, "vkCreateSemaphore");
    PFN_vkImportSemaphoreFdKHR import =
        (PFN_vkImportSemaphoreFdKHR)host->vk.GetDeviceProcAddr(other, "vkImportSemaphoreFdKHR");
    info.pNext = &type;
    must(create(other, &info, NULL, there));
    const VkImportSemaphoreFdInfoKHR to = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                           .semaphore = *there,
                                           .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
                                           .fd = fd};
    must(import(other, &to));
    return true;
}

// As test_frames, but producer and consumer are on another device than the library: nothing but memory and a
// semaphore in common, and no waiting of the host.
static void test_frames_between_devices(struct host *host)
{
    enum {
        FRAMES = 12,
        COUNT = 300
    };
    WNNContext context = create_own(NULL);
    WNNVulkanHandles handles;
    VkSemaphore here, there;
    REQUIRE_EQUAL_INT(wnnContextGetVulkanHandles(context, &handles), WNNStatus_Success);
    if (!host->shares_semaphores || !share_semaphore(host, handles.device, &here, &there)) {
        fprintf(stderr, "not tested: the device does not share semaphores that count\n");
        wnnContextRelease(context);
        return;
    }
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

static void test_memory(struct host *host)
{
    if (!host->shares) {
        fprintf(stderr, "not tested: the device has no %s\n", host->extensions[0]);
        return;
    }
    struct answer answer = {0};
    WNNVulkanDevice lent = lend(host);
    WNNContext lender = create_on(&lent, &answer), own = create_own(NULL);
    WNNTensor tensor;
    const WNNVulkanExport export = WNN_VULKAN_EXPORT_INIT;
    if (try_tensor(lender, WNNDataType_Int32, 10, &export, &tensor) == WNNStatus_NotSupportedError) {
        fprintf(stderr, "not tested: %s\n", answer.message);
    } else {
        wnnTensorRelease(tensor);
        test_refused_memory(lender, &answer);
        test_transfers(own, &export);
        test_sharing(lender, own);
        test_sharing(own, lender);
        fprintf(stderr, "memory: shared by two devices\n");
    }
    wnnContextRelease(own);
    wnnContextRelease(lender);
}

int main(void)
{
    struct host host;
    if (!open_host(&host)) {
        fprintf(stderr, "skipped: there is no Vulkan device with timeline semaphores\n");
        return SKIPPED;
    }
    test_tensors(wnn_backend_find("vulkan"));
    test_tensors(wnn_backend_find("vulkan-minimal"));
    test_limit();
    test_refused_devices(&host);
    test_lent_device(&host);
    test_minimal_device(&host);
    test_frames(&host);
    test_refused_buffers(&host);
    test_memory(&host);
    test_frames_between_devices(&host);
    close_host(&host);
    return 0;
}
