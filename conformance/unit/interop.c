// SPDX-License-Identifier: Apache-2.0
#include "conformance/unit/interop.h"

#include <dlfcn.h>

// ---------------------------------------------------------------------------------------------------------------
// Counting
// ---------------------------------------------------------------------------------------------------------------

struct calls calls;

static PFN_vkGetInstanceProcAddr next_get;
static PFN_vkGetDeviceProcAddr next_device_get;
static PFN_vkCmdCopyBuffer next_copy;
static PFN_vkBeginCommandBuffer next_begin;
static PFN_vkCreateShaderModule next_module;

static VKAPI_ATTR void VKAPI_CALL count_copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to,
                                             uint32_t count, const VkBufferCopy *copies)
{
    atomic_fetch_add(&calls.copies, 1);
    next_copy(commands, from, to, count, copies);
}

static VKAPI_ATTR VkResult VKAPI_CALL count_begin(VkCommandBuffer commands,
                                                  const VkCommandBufferBeginInfo *info)
{
    atomic_fetch_add(&calls.recordings, 1);
    return next_begin(commands, info);
}

static VKAPI_ATTR VkResult VKAPI_CALL count_module(VkDevice device, const VkShaderModuleCreateInfo *info,
                                                   const VkAllocationCallbacks *callbacks,
                                                   VkShaderModule *module)
{
    enum {
        HEADER = 5,
        CAPABILITY = 2 << 16 | 17, // OpCapability, and what it names
        MATRICES = 6022,
        MATRICES_NV = 5357
    };
    const uint32_t *words = info->pCode;
    for (size_t i = HEADER; i + 1 < info->codeSize / 4 && words[i] == CAPABILITY; i += 2)
        if (words[i + 1] == MATRICES || words[i + 1] == MATRICES_NV)
            atomic_fetch_add(&calls.matrices, 1);
    return next_module(device, info, callbacks, module);
}

#define COUNT(name, next, count)                                                                             \
    if (strcmp(function, "vk" #name) == 0) {                                                                 \
        next = (PFN_vk##name)next_device_get(device, function);                                              \
        return (PFN_vkVoidFunction)count;                                                                    \
    }

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_get(VkDevice device, const char *function)
{
    COUNT(CmdCopyBuffer, next_copy, count_copy)
    COUNT(BeginCommandBuffer, next_begin, count_begin)
    COUNT(CreateShaderModule, next_module, count_module)
    return next_device_get(device, function);
}

static PFN_vkVoidFunction counting_get(VkInstance instance, const char *function)
{
    PFN_vkVoidFunction found = next_get(instance, function);
    if (!found || strcmp(function, "vkGetDeviceProcAddr") != 0)
        return found;
    next_device_get = (PFN_vkGetDeviceProcAddr)found;
    return (PFN_vkVoidFunction)device_get;
}

// ---------------------------------------------------------------------------------------------------------------
// A device of the test's own
// ---------------------------------------------------------------------------------------------------------------

void must(VkResult result)
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

bool open_host(struct host *host)
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
    WNNVulkanHandles handles = WNN_VULKAN_HANDLES_INIT, other = WNN_VULKAN_HANDLES_INIT;
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
    host->multiplies = has_extension(host, "VK_KHR_cooperative_matrix");
    host->adds = has_extension(host, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    host->timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    host->half.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    host->model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
    host->matrices.type = (VkStructureType)1000506000;
    host->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    host->features.pNext = &host->timeline;
    host->timeline.pNext = &host->half;
    host->half.pNext = &host->model;
    host->dots.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
    host->dots.pNext = host->multiplies ? &host->matrices : NULL;
    host->model.pNext = host->adds ? &host->dots : host->dots.pNext;
    host->vk.GetPhysicalDeviceFeatures2(host->physical, &host->features);
    memset(&host->features.features, 0, sizeof host->features.features);
    host->half.shaderInt8 = VK_FALSE;
    host->model.vulkanMemoryModelDeviceScope = host->model.vulkanMemoryModelAvailabilityVisibilityChains =
        host->matrices.robust = VK_FALSE;
    if (!host->timeline.timelineSemaphore)
        return false;
    host->shares = has_extension(host, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    host->shares_semaphores =
        host->shares && has_extension(host, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    if (host->shares)
        host->extensions[host->extension_count++] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    if (host->shares_semaphores)
        host->extensions[host->extension_count++] = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
    if (host->multiplies)
        host->extensions[host->extension_count++] = "VK_KHR_cooperative_matrix";
    if (host->adds)
        host->extensions[host->extension_count++] = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;

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
                                       .enabledExtensionCount = host->extension_count,
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
    host->vk.GetDeviceQueue(host->device, host->family, queues - 1, &host->external_queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = handles.queueFamilyIndex};
    must(host->vk.CreateCommandPool(host->device, &pool, NULL, &host->pool));
    return true;
}

void close_host(struct host *host)
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

WNNVulkanDevice lend(struct host *host)
{
    WNNVulkanDevice external = WNN_VULKAN_DEVICE_INIT;
    external.instance = host->instance;
    external.physicalDevice = host->physical;
    external.device = host->device;
    external.queue = host->external_queue;
    external.queueFamilyIndex = host->family;
    external.apiVersion = VK_API_VERSION_1_2;
    external.enabledExtensionCount = host->extension_count;
    external.enabledExtensions = host->extensions;
    external.enabledFeatures = &host->features;
    next_get = host->get;
    external.getInstanceProcAddr = counting_get;
    external.lockQueue = lock_queue;
    external.unlockQueue = unlock_queue;
    external.ended = on_ended;
    external.userdata = host;
    return external;
}

WNNContext create_on(const WNNVulkanDevice *external, struct answer *error)
{
    WNNContextDescriptor descriptor = describe_context(error, NULL);
    descriptor.deviceType = WNNDeviceType_GPU;
    descriptor.nextInChain = &external->chain;
    WNNContext context = NULL;
    WNNStatus status = wnnCreateContext(&descriptor, &context);
    REQUIRE((status == WNNStatus_Success) == (context != NULL));
    return context;
}

WNNContext create_own(const struct backend *backend)
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

WNNStatus try_tensor(WNNContext context, WNNDataType type, uint32_t count, const void *chain,
                     WNNTensor *tensor)
{
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.nextInChain = chain;
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){&count, 1};
    descriptor.readable = descriptor.writable = true;
    return wnnContextCreateTensor(context, &descriptor, tensor);
}

WNNTensor make_tensor(WNNContext context, WNNDataType type, uint32_t count, const void *chain)
{
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(try_tensor(context, type, count, chain, &tensor), WNNStatus_Success);
    return tensor;
}

void require_no_tensor(WNNContext context, struct answer *answer, const void *chain, WNNStatus status,
                       const char *message)
{
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(try_tensor(context, WNNDataType_Int32, 10, chain, &tensor), status);
    REQUIRE(!tensor);
    REQUIRE_CONTAINS(answer->message, message);
}

WNNVulkanMemory export_memory(WNNContext context, WNNTensor tensor)
{
    WNNVulkanMemory memory = WNN_VULKAN_MEMORY_INIT;
    struct answer answer = {0};
    wait_for(context, wnnContextExportVulkanMemory(context, tensor, &memory,
                                                   tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_STR(answer.message, "");
    REQUIRE(memory.fd >= 0 && memory.chain.sType == WNNSType_VulkanMemory);
    return memory;
}

void read_tensor(WNNContext context, WNNTensor tensor, void *data, size_t bytes)
{
    struct answer answer = {0};
    wait_for(context,
             wnnContextReadTensor(context, tensor, data, bytes, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_STR(answer.message, "");
}

void write_tensor(WNNContext context, WNNTensor tensor, const void *data, size_t bytes)
{
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, tensor, data, bytes), WNNStatus_Success);
}

static WNNGraph build(WNNContext context, uint32_t count, size_t output_count)
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
    WNNGraph graph = build_outputs(context, builder, output_count, outputs);
    wnnGraphBuilderRelease(builder);
    return graph;
}

WNNGraph build_graph(WNNContext context, uint32_t count)
{
    return build(context, count, 2);
}

WNNGraph build_alone(WNNContext context, uint32_t count)
{
    return build(context, count, 1);
}

WNNFuture start_dispatch(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y, WNNTensor one,
                         const void *chain, WNNRequestCallbackInfo info)
{
    WNNNamedTensor input = {view("x"), x}, outputs[] = {{view("y"), y}, {view("one"), one}};
    WNNDispatchDescriptor descriptor = WNN_DISPATCH_DESCRIPTOR_INIT;
    descriptor.nextInChain = chain;
    descriptor.graph = graph;
    descriptor.inputCount = 1;
    descriptor.inputs = &input;
    descriptor.outputCount = one ? 2 : 1;
    descriptor.outputs = outputs;
    return wnnContextDispatch(context, &descriptor, info);
}

WNNFuture dispatch(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y, WNNTensor one)
{
    return start_dispatch(context, graph, x, y, one, NULL, tell_nobody());
}

// ---------------------------------------------------------------------------------------------------------------
// Tests of any context
// ---------------------------------------------------------------------------------------------------------------

void test_transfers(WNNContext context, const void *chain)
{
    static const uint32_t sizes[] = {0, 1, 2, 3, 5, 7, 63, 4097, 1 << 22, (1 << 22) + 1, (9 << 20) - 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t bytes = sizes[i];
        uint8_t *data = malloc(bytes + 1), *read = malloc(bytes + 1);
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

void test_chain(WNNContext context, uint32_t count)
{
    enum {
        LENGTH = 9
    };
    WNNGraph graph = build_graph(context, count);
    WNNTensor tensors[LENGTH + 1], one = make_tensor(context, WNNDataType_Int32, count, NULL);
    int32_t *data = malloc(count * sizeof *data + 1);
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

// Graphs keep what executions that overlapped needed.
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

void test_destroying(WNNContext context)
{
    use_and_destroy(context);
    uint64_t before = settled_bytes(context);
    use_and_destroy(context);
    require_bytes(context, before);
}

// ---------------------------------------------------------------------------------------------------------------
// Frames
// ---------------------------------------------------------------------------------------------------------------

static uint32_t memory_type(const struct host *host, uint32_t types)
{
    for (uint32_t i = 0; i < host->memory.memoryTypeCount; i++)
        if (types >> i & 1)
            return i;
    REQUIRE(!"a memory type");
    return 0;
}

struct frame_buffer create_buffer(struct host *host, uint64_t size, VkBufferUsageFlags usage)
{
    struct frame_buffer result = {.size = size, .usage = usage};
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

void destroy_buffer(struct host *host, struct frame_buffer *buffer)
{
    host->vk.DestroyBuffer(host->device, buffer->buffer, NULL);
    host->vk.FreeMemory(host->device, buffer->memory, NULL);
}

static void on_released(uint64_t buffer, void *userdata)
{
    REQUIRE(buffer);
    atomic_fetch_add(&((struct host *)userdata)->released, 1);
}

WNNVulkanBuffer wrap(struct host *host, const struct frame_buffer *buffer, uint64_t offset)
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

VkSemaphore create_semaphore(struct host *host)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore;
    must(host->more.CreateSemaphore(host->device, &info, NULL, &semaphore));
    return semaphore;
}

bool can_share_semaphores(struct host *host)
{
    PFN_vkGetPhysicalDeviceExternalSemaphoreProperties properties =
        (PFN_vkGetPhysicalDeviceExternalSemaphoreProperties)host->get(
            host->instance, "vkGetPhysicalDeviceExternalSemaphoreProperties");
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkPhysicalDeviceExternalSemaphoreInfo question = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &type,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    const VkExternalSemaphoreFeatureFlags needed =
        VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
    if (host->shares_semaphores)
        properties(host->physical, &question, &answer);
    return (answer.externalSemaphoreFeatures & needed) == needed;
}

// `chain`: what it is beside a timeline.
static VkSemaphore create_timeline(struct host *host, VkDevice device, const void *chain)
{
    PFN_vkCreateSemaphore create =
        (PFN_vkCreateSemaphore)host->vk.GetDeviceProcAddr(device, "vkCreateSemaphore");
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .pNext = chain,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore;
    must(create(device, &info, NULL, &semaphore));
    return semaphore;
}

VkSemaphore create_exported_semaphore(struct host *host, VkDevice device, int *fd)
{
    const VkExportSemaphoreCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                                .handleTypes =
                                                    VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    PFN_vkGetSemaphoreFdKHR get =
        (PFN_vkGetSemaphoreFdKHR)host->vk.GetDeviceProcAddr(device, "vkGetSemaphoreFdKHR");
    VkSemaphore semaphore = create_timeline(host, device, &export);
    const VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                          .semaphore = semaphore,
                                          .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    must(get(device, &info, fd));
    return semaphore;
}

VkSemaphore import_semaphore(struct host *host, VkDevice device, int fd)
{
    PFN_vkImportSemaphoreFdKHR import =
        (PFN_vkImportSemaphoreFdKHR)host->vk.GetDeviceProcAddr(device, "vkImportSemaphoreFdKHR");
    VkSemaphore semaphore = create_timeline(host, device, NULL);
    const VkImportSemaphoreFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                             .semaphore = semaphore,
                                             .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
                                             .fd = fd};
    must(import(device, &info));
    return semaphore;
}

VkCommandBuffer begin_commands(struct host *host)
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

void submit(struct host *host, VkCommandBuffer commands, VkSemaphore semaphore, uint64_t wait,
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

void finish(struct host *host, VkCommandBuffer commands)
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

void wait_semaphore(struct host *host, VkSemaphore semaphore, uint64_t value)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &semaphore,
                                      .pValues = &value};
    must(host->more.WaitSemaphores(host->device, &info, 60000000000u));
}

void start_frame(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y, WNNTensor one,
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
