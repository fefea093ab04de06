// SPDX-License-Identifier: Apache-2.0
#include "conformance/unit/fault_layer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static PFN_vkGetInstanceProcAddr real_get;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of all that follows

// ---------------------------------------------------------------------------------------------------------------
// Objects
// ---------------------------------------------------------------------------------------------------------------

// Words of SPIR-V.
struct code {
    uint32_t *words;
    size_t bytes;
};

struct object {
    const char *kind; // of the function that created it
    uint64_t handle;
    const void *device; // or the instance, of devices; NULL: of an instance
    uint64_t pool;      // of a command buffer
    uint64_t staging;   // bytes of a buffer that no shader works on
    uint64_t buffers;   // that a layout has places for
    struct code code;   // of a module
    bool lasting;
};

enum {
    MAX_OBJECTS = 8192,
    MAX_DEVICES = 64
};

static struct object objects[MAX_OBJECTS];
static size_t object_count;
static uint64_t staging, max_staging; // of all of them, now and at most
static unsigned mistakes;

// Devices that are lost, and the devices of queues.
static const void *lost_devices[MAX_DEVICES];
static size_t lost_count;
static struct {
    VkQueue queue;
    VkDevice device;
} queues[MAX_DEVICES];
static size_t queue_count;

static void mistake(const char *what, const char *kind)
{
    fprintf(stderr, "fault layer: %s: %s\n", kind, what);
    mistakes++;
}

static void add_object(struct object object)
{
    static const char *const lasting[] = {"CreateInstance",
                                          "CreateDevice",
                                          "CreateComputePipelines",
                                          "CreatePipelineLayout",
                                          "CreateDescriptorSetLayout",
                                          "CreateSemaphore",
                                          "CreateFence"};
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
        object.lasting |= strcmp(object.kind, lasting[i]) == 0;
    pthread_mutex_lock(&lock);
    if (object_count == MAX_OBJECTS)
        abort();
    objects[object_count++] = object;
    staging += object.staging;
    max_staging = staging > max_staging ? staging : max_staging;
    pthread_mutex_unlock(&lock);
}

static void add(const char *kind, const void *device, uint64_t handle, uint64_t pool)
{
    add_object((struct object){.kind = kind, .handle = handle, .device = device, .pool = pool});
}

static void add_buffer(const void *device, uint64_t handle, const VkBufferCreateInfo *info)
{
    bool works = info->usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    add_object((struct object){
        .kind = "CreateBuffer", .handle = handle, .device = device, .staging = works ? 0 : info->size});
}

static void add_layout(const char *kind, const void *device, uint64_t handle, uint64_t buffers)
{
    add_object((struct object){.kind = kind, .handle = handle, .device = device, .buffers = buffers});
}

// One that is alive.
static struct object find_object(const char *kind, const void *device, uint64_t handle)
{
    struct object found = {.kind = kind};
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < object_count; i++)
        if (objects[i].handle == handle && objects[i].device == device && strcmp(objects[i].kind, kind) == 0)
            found = objects[i];
    pthread_mutex_unlock(&lock);
    return found;
}

static void forget(size_t index)
{
    staging -= objects[index].staging;
    free(objects[index].code.words);
    memmove(&objects[index], &objects[index + 1], (--object_count - index) * sizeof objects[0]);
}

static void take(const char *kind, const void *device, uint64_t handle)
{
    if (handle == 0)
        return;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < object_count && !(objects[i].handle == handle && objects[i].device == device &&
                                 strcmp(objects[i].kind, kind) == 0))
        i++;
    if (i == object_count) {
        mistake("destroyed, but not alive", kind);
    } else {
        forget(i);
        // Nothing outlives what it was created on, but command buffers go with their pool.
        for (i = 0; i < object_count;) {
            if (objects[i].pool == handle && strcmp(kind, "CreateCommandPool") == 0) {
                forget(i);
            } else {
                if ((uintptr_t)objects[i].device == handle &&
                    (strcmp(kind, "CreateDevice") == 0 || strcmp(kind, "CreateInstance") == 0))
                    mistake("its device has been destroyed before it", objects[i].kind);
                i++;
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

struct fault_objects fault_objects(void)
{
    struct fault_objects result = {0};
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < object_count; i++)
        *(objects[i].lasting ? &result.lasting : &result.others) += 1;
    result.mistakes = mistakes;
    pthread_mutex_unlock(&lock);
    return result;
}

uint64_t fault_staging(void)
{
    pthread_mutex_lock(&lock);
    uint64_t most = max_staging;
    max_staging = staging;
    pthread_mutex_unlock(&lock);
    return most;
}

void fault_print_objects(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < object_count; i++)
        fprintf(stderr, "  alive: %s %llx\n", objects[i].kind, (unsigned long long)objects[i].handle);
    pthread_mutex_unlock(&lock);
}

// ---------------------------------------------------------------------------------------------------------------
// Failing
// ---------------------------------------------------------------------------------------------------------------

static unsigned armed_call, calls;
static const char *last_call;
static bool armed_on; // and all that come after it
static VkResult armed_result;
static const char *failed;

void fault_arm(unsigned call, VkResult result, bool and_after)
{
    pthread_mutex_lock(&lock);
    armed_on = and_after;
    armed_call = call;
    armed_result = result;
    calls = 0;
    last_call = failed = NULL;
    pthread_mutex_unlock(&lock);
}

const char *fault_disarm(void)
{
    pthread_mutex_lock(&lock);
    armed_call = 0;
    armed_on = false;
    const char *name = failed;
    pthread_mutex_unlock(&lock);
    return name;
}

static bool may(const VkResult *results, VkResult result)
{
    while (*results != VK_SUCCESS)
        if (*results++ == result)
            return true;
    return result == VK_SUCCESS;
}

static bool is_lost(const void *device)
{
    for (size_t i = 0; i < lost_count; i++)
        if (lost_devices[i] == device)
            return true;
    return false;
}

static PFN_vkVoidFunction real_DeviceWaitIdle;

// To wait for a device is to use its queues, which no other thread may do meanwhile.
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

// Counts a call; true: it is to fail. Calls that ask for one thing until it has changed count as one.
static bool count(const char *name)
{
    bool repeated = name == last_call && strcmp(name, "GetSemaphoreCounterValue") == 0;
    last_call = name;
    calls += !repeated;
    return (calls == armed_call && !repeated) || (armed_on && calls >= armed_call);
}

// What a call is to return; VK_SUCCESS: the driver may say.
static VkResult decide(const char *name, const void *device, const VkResult *results)
{
    VkResult result = VK_SUCCESS;
    pthread_mutex_lock(&lock);
    if (device && is_lost(device) && may(results, VK_ERROR_DEVICE_LOST)) {
        result = VK_ERROR_DEVICE_LOST;
    } else if (armed_call && may(results, armed_result) && count(name)) {
        result = armed_result;
        failed = failed ? failed : name;
        // A lost device works at nothing any more; nor does one for which nobody can wait.
        if (device && (armed_on || result == VK_ERROR_DEVICE_LOST)) {
            pthread_mutex_lock(&queue_lock);
            ((PFN_vkDeviceWaitIdle)real_DeviceWaitIdle)((VkDevice)(uintptr_t)device);
            pthread_mutex_unlock(&queue_lock);
        }
        if (device && result == VK_ERROR_DEVICE_LOST && lost_count < MAX_DEVICES)
            lost_devices[lost_count++] = device;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static const void *device_of(VkQueue queue)
{
    const void *device = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < queue_count; i++)
        if (queues[i].queue == queue)
            device = queues[i].device;
    pthread_mutex_unlock(&lock);
    return device;
}

// ---------------------------------------------------------------------------------------------------------------
// The end of the process
// ---------------------------------------------------------------------------------------------------------------

static atomic_uint inside; // calls that have not returned
static atomic_bool watches, watched, ended;

void fault_watch_exit(void)
{
    watches = true;
}

static void complain(const char *name, const char *what)
{
    fprintf(stderr, "fault layer: %s %s\n", name, what);
    fflush(stderr);
    _exit(FAULT_LATE);
}

static void begin_call(const char *name)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&ended))
        complain(name, "is called when the driver has ended");
}

static void end_call(void)
{
    atomic_fetch_sub(&inside, 1);
}

// Taking a driver down takes time.
static void end_driver(void)
{
    atomic_store(&ended, true);
    if (atomic_load(&inside) > 0)
        complain("a function", "has not returned when the driver ends");
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

static void load_driver(void)
{
    if (watches && !atomic_exchange(&watched, true))
        atexit(end_driver);
}

// ---------------------------------------------------------------------------------------------------------------
// The functions
// ---------------------------------------------------------------------------------------------------------------

#define HANDLE(x) ((uint64_t)(uintptr_t)(x))
#define GARBAGE   0xDEADu // what is to be ignored after a failure
#define HOST      VK_ERROR_OUT_OF_HOST_MEMORY
#define DEVICE    VK_ERROR_OUT_OF_DEVICE_MEMORY
#define INIT      VK_ERROR_INITIALIZATION_FAILED
#define LOST      VK_ERROR_DEVICE_LOST

// What stands in the place of a function; all of them are in one list, by constructors.
struct wrapper {
    const char *name;
    PFN_vkVoidFunction mine, next;
    struct wrapper *others;
};
static struct wrapper *wrappers;

#define WRAPS(function)                                                                                      \
    static struct wrapper wrapper_##function = {"vk" #function, (PFN_vkVoidFunction)do_##function, NULL,     \
                                                NULL};                                                       \
    static void __attribute__((constructor)) enter_##function(void)                                          \
    {                                                                                                        \
        wrapper_##function.others = wrappers;                                                                \
        wrappers = &wrapper_##function;                                                                      \
    }
#define NEXT(function) ((PFN_vk##function)wrapper_##function.next)

// A function that may fail: what it returns then, the device that it is called for, what is done when it has
// not.
// Alone on the queues.
#define ON_QUEUE(call)                                                                                       \
    (pthread_mutex_lock(&queue_lock), last_of_queue = (call), pthread_mutex_unlock(&queue_lock),             \
     last_of_queue)
static _Thread_local VkResult last_of_queue;

#define FALLIBLE(name, owner, results, parameters, arguments, then)                                          \
    FALLIBLE_SPOILING(name, owner, results, parameters, NEXT(name) arguments, then, )
#define FALLIBLE_SPOILING(name, owner, results, parameters, call, then, spoil)                               \
    static struct wrapper wrapper_##name;                                                                    \
    static VKAPI_ATTR VkResult VKAPI_CALL do_##name parameters                                               \
    {                                                                                                        \
        static const VkResult list[] = {STRIP results, VK_SUCCESS};                                          \
        begin_call(#name);                                                                                   \
        VkResult result = decide(#name, owner, list);                                                        \
        if (result == VK_SUCCESS)                                                                            \
            result = call;                                                                                   \
        end_call();                                                                                          \
        if (result == VK_SUCCESS) {                                                                          \
            then;                                                                                            \
        } else {                                                                                             \
            spoil;                                                                                           \
        }                                                                                                    \
        return result;                                                                                       \
    }                                                                                                        \
    WRAPS(name)
#define STRIP(...) __VA_ARGS__

// One that creates something of a device and one that destroys it.
#define CREATES(name, info, type, results)                                                                   \
    FALLIBLE_SPOILING(                                                                                       \
        name, device, results,                                                                               \
        (VkDevice device, const info *description, const VkAllocationCallbacks *callbacks, type *made),      \
        NEXT(name)(device, description, callbacks, made), add(#name, device, HANDLE(*made), 0),              \
        *made = (type)(uintptr_t)GARBAGE)
#define DESTROYS(name, creator, type)                                                                        \
    static struct wrapper wrapper_##name;                                                                    \
    static VKAPI_ATTR void VKAPI_CALL do_##name(VkDevice device, type handle,                                \
                                                const VkAllocationCallbacks *callbacks)                      \
    {                                                                                                        \
        begin_call(#name);                                                                                   \
        take(#creator, device, HANDLE(handle));                                                              \
        NEXT(name)(device, handle, callbacks);                                                               \
        end_call();                                                                                          \
    }                                                                                                        \
    WRAPS(name)

// The driver's instance and device, which take it long to make, stay for the next context that asks for the
// same.
static struct {
    VkInstance instance;
    VkDevice device;
    uint32_t version;
    VkPhysicalDevice physical;
    char asked[512]; // of the device: its extensions, and whether there were features
} kept;

static struct wrapper wrapper_CreateInstance, wrapper_DestroyInstance, wrapper_CreateDevice,
    wrapper_DestroyDevice, wrapper_GetDeviceProcAddr, wrapper_CreateShaderModule,
    wrapper_CreateComputePipelines, wrapper_DestroyPipeline;

static void drop_pipelines(VkDevice device);

static void drop_device(void)
{
    if (kept.device)
        drop_pipelines(kept.device);
    if (kept.device)
        NEXT(DestroyDevice)(kept.device, NULL);
    kept.device = VK_NULL_HANDLE;
}

static VkResult create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *callbacks,
                                VkInstance *made)
{
    if (watches)
        return NEXT(CreateInstance)(info, callbacks, made);
    if (kept.instance && kept.version == info->pApplicationInfo->apiVersion) {
        *made = kept.instance;
        return VK_SUCCESS;
    }
    fault_end();
    VkResult result = NEXT(CreateInstance)(info, callbacks, made);
    if (result == VK_SUCCESS) {
        kept.instance = *made;
        kept.version = info->pApplicationInfo->apiVersion;
    }
    return result;
}

static VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *callbacks, VkDevice *made)
{
    char asked[sizeof kept.asked] = "";
    size_t length = 0;
    if (watches) {
        VkResult result = NEXT(CreateDevice)(physical, info, callbacks, made);
        load_driver();
        return result;
    }
    for (uint32_t i = 0; i < info->enabledExtensionCount && length < sizeof asked; i++)
        length +=
            (size_t)snprintf(asked + length, sizeof asked - length, "%s ", info->ppEnabledExtensionNames[i]);
    if (length < sizeof asked)
        snprintf(asked + length, sizeof asked - length, "%d", info->pNext != NULL);
    if (kept.device && kept.physical == physical && strcmp(kept.asked, asked) == 0) {
        *made = kept.device;
        return VK_SUCCESS;
    }
    drop_device();
    VkResult result = NEXT(CreateDevice)(physical, info, callbacks, made);
    if (result == VK_SUCCESS) {
        kept.device = *made;
        kept.physical = physical;
        memcpy(kept.asked, asked, sizeof asked);
    }
    return result;
}

static bool subtracts;

void fault_subtract(bool on)
{
    subtracts = on;
}

// Every OpFAdd of the module becomes an OpFSub, if so wished.
static VkResult create_module(VkDevice device, const VkShaderModuleCreateInfo *info,
                              const VkAllocationCallbacks *callbacks, VkShaderModule *made)
{
    enum {
        HEAD = 5, // words before the first instruction, which begins with its length and its number
        ADD = 129,
        SUBTRACT = 131
    };
    VkShaderModuleCreateInfo other = *info;
    uint32_t *words = malloc(info->codeSize);
    if (!words)
        abort();
    other.pCode = memcpy(words, info->pCode, info->codeSize);
    for (size_t at = HEAD; subtracts && at < info->codeSize / sizeof *words; at += words[at] >> 16)
        if ((words[at] & 0xFFFF) == ADD)
            words[at] += SUBTRACT - ADD;
    VkResult result = NEXT(CreateShaderModule)(device, &other, callbacks, made);
    if (result == VK_SUCCESS)
        add_object((struct object){.kind = "CreateShaderModule",
                                   .handle = HANDLE(*made),
                                   .device = device,
                                   .code = {words, info->codeSize}});
    else
        free(words);
    return result;
}

// What the driver has compiled stays with its device: few tests are about the code, and most of their time
// would be the compiler's. The library's pipelines are ours, each with a handle of its own.
struct kept_pipeline {
    struct kept_pipeline *others;
    VkPipeline driver;
    struct code code;
    uint64_t buffers; // of its layout
};
static struct kept_pipeline *kept_pipelines;

struct lent_pipeline {
    VkPipeline driver;
};

static void drop_pipelines(VkDevice device)
{
    while (kept_pipelines) {
        struct kept_pipeline *pipeline = kept_pipelines;
        kept_pipelines = pipeline->others;
        NEXT(DestroyPipeline)(device, pipeline->driver, NULL);
        free(pipeline->code.words);
        free(pipeline);
    }
}

static VkPipeline find_pipeline(const struct code *code, uint64_t buffers)
{
    VkPipeline found = VK_NULL_HANDLE;
    pthread_mutex_lock(&lock);
    for (struct kept_pipeline *p = kept_pipelines; p && !found; p = p->others)
        if (p->buffers == buffers && p->code.bytes == code->bytes &&
            memcmp(p->code.words, code->words, code->bytes) == 0)
            found = p->driver;
    pthread_mutex_unlock(&lock);
    return found;
}

static void *copy(const void *data, size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        abort();
    return memcpy(memory, data, bytes);
}

static void keep_pipeline(VkPipeline driver, const struct code *code, uint64_t buffers)
{
    struct kept_pipeline pipeline = {NULL, driver, {copy(code->words, code->bytes), code->bytes}, buffers},
                         *entry = copy(&pipeline, sizeof pipeline);
    pthread_mutex_lock(&lock);
    entry->others = kept_pipelines;
    kept_pipelines = entry;
    pthread_mutex_unlock(&lock);
}

static VkResult create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                 const VkComputePipelineCreateInfo *infos,
                                 const VkAllocationCallbacks *callbacks, VkPipeline *made)
{
    if (watches)
        return NEXT(CreateComputePipelines)(device, cache, count, infos, callbacks, made);
    if (count != 1 || infos->pNext || infos->stage.pNext || infos->stage.pSpecializationInfo)
        abort(); // more than is compared
    struct object module = find_object("CreateShaderModule", device, HANDLE(infos->stage.module)),
                  layout = find_object("CreatePipelineLayout", device, HANDLE(infos->layout));
    VkPipeline driver = find_pipeline(&module.code, layout.buffers);
    if (!driver) {
        VkResult result = NEXT(CreateComputePipelines)(device, cache, 1, infos, callbacks, &driver);
        if (result != VK_SUCCESS)
            return result;
        keep_pipeline(driver, &module.code, layout.buffers);
    }
    *made = (VkPipeline)copy(&(struct lent_pipeline){driver}, sizeof(struct lent_pipeline));
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL do_DestroyPipeline(VkDevice device, VkPipeline pipeline,
                                                     const VkAllocationCallbacks *callbacks)
{
    begin_call("DestroyPipeline");
    take("CreateComputePipelines", device, HANDLE(pipeline));
    if (watches)
        NEXT(DestroyPipeline)(device, pipeline, callbacks);
    else
        free(pipeline);
    end_call();
}
WRAPS(DestroyPipeline)

static struct wrapper wrapper_CmdBindPipeline;
static VKAPI_ATTR void VKAPI_CALL do_CmdBindPipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                                     VkPipeline pipeline)
{
    NEXT(CmdBindPipeline)
    (commands, point, watches ? pipeline : ((const struct lent_pipeline *)pipeline)->driver);
}
WRAPS(CmdBindPipeline)

static VKAPI_ATTR void VKAPI_CALL do_DestroyInstance(VkInstance instance,
                                                     const VkAllocationCallbacks *callbacks)
{
    take("CreateInstance", NULL, HANDLE(instance));
    if (watches)
        NEXT(DestroyInstance)(instance, callbacks);
}
WRAPS(DestroyInstance)

static VKAPI_ATTR void VKAPI_CALL do_DestroyDevice(VkDevice device, const VkAllocationCallbacks *callbacks)
{
    take("CreateDevice", NULL, HANDLE(device));
    if (watches)
        NEXT(DestroyDevice)(device, callbacks);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < lost_count; i++)
        if (lost_devices[i] == device)
            lost_devices[i--] = lost_devices[--lost_count];
    for (size_t i = 0; i < queue_count; i++)
        if (queues[i].device == device)
            queues[i--] = queues[--queue_count];
    pthread_mutex_unlock(&lock);
}
WRAPS(DestroyDevice)

void fault_end(void)
{
    drop_device();
    if (kept.instance)
        NEXT(DestroyInstance)(kept.instance, NULL);
    kept.instance = VK_NULL_HANDLE;
}

FALLIBLE(EnumerateInstanceVersion, NULL, (HOST), (uint32_t * version), (version), )
FALLIBLE_SPOILING(CreateInstance, NULL, (HOST, DEVICE, INIT, VK_ERROR_INCOMPATIBLE_DRIVER),
                  (const VkInstanceCreateInfo *info, const VkAllocationCallbacks *callbacks,
                   VkInstance *made),
                  create_instance(info, callbacks, made), add("CreateInstance", NULL, HANDLE(*made), 0),
                  *made = (VkInstance)(uintptr_t)GARBAGE)
FALLIBLE(EnumeratePhysicalDevices, NULL, (HOST, DEVICE, INIT),
         (VkInstance instance, uint32_t *count, VkPhysicalDevice *devices), (instance, count, devices), )
FALLIBLE(EnumerateDeviceExtensionProperties, NULL, (HOST, DEVICE),
         (VkPhysicalDevice physical, const char *layer, uint32_t *count, VkExtensionProperties *properties),
         (physical, layer, count, properties), )
FALLIBLE_SPOILING(CreateDevice, NULL,
                  (HOST, DEVICE, INIT, LOST, VK_ERROR_FEATURE_NOT_PRESENT, VK_ERROR_TOO_MANY_OBJECTS),
                  (VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                   const VkAllocationCallbacks *callbacks, VkDevice *made),
                  create_device(physical, info, callbacks, made), add("CreateDevice", NULL, HANDLE(*made), 0),
                  *made = (VkDevice)(uintptr_t)GARBAGE)

FALLIBLE_SPOILING(AllocateCommandBuffers, device, (HOST, DEVICE),
                  (VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *made),
                  NEXT(AllocateCommandBuffers)(device, info, made),
                  for (uint32_t i = 0; i < info->commandBufferCount; i++)
                      add("AllocateCommandBuffers", device, HANDLE(made[i]), HANDLE(info->commandPool)),
                  *made = (VkCommandBuffer)(uintptr_t)GARBAGE)
FALLIBLE(AllocateDescriptorSets, device,
         (HOST, DEVICE, VK_ERROR_FRAGMENTED_POOL, VK_ERROR_OUT_OF_POOL_MEMORY),
         (VkDevice device, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *made),
         (device, info, made), )
CREATES(AllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory, (HOST, DEVICE, VK_ERROR_TOO_MANY_OBJECTS))
FALLIBLE(BeginCommandBuffer, NULL, (HOST, DEVICE),
         (VkCommandBuffer commands, const VkCommandBufferBeginInfo *info), (commands, info), )
FALLIBLE(BindBufferMemory, device, (HOST, DEVICE),
         (VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset),
         (device, buffer, memory, offset), )
FALLIBLE_SPOILING(CreateBuffer, device, (HOST, DEVICE),
                  (VkDevice device, const VkBufferCreateInfo *info, const VkAllocationCallbacks *callbacks,
                   VkBuffer *made),
                  NEXT(CreateBuffer)(device, info, callbacks, made), add_buffer(device, HANDLE(*made), info),
                  *made = (VkBuffer)(uintptr_t)GARBAGE)
CREATES(CreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool, (HOST, DEVICE))
FALLIBLE_SPOILING(CreateComputePipelines, device, (HOST, DEVICE, VK_ERROR_INVALID_SHADER_NV),
                  (VkDevice device, VkPipelineCache cache, uint32_t count,
                   const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *callbacks,
                   VkPipeline *made),
                  create_pipelines(device, cache, count, infos, callbacks, made),
                  for (uint32_t i = 0; i < count; i++)
                      add("CreateComputePipelines", device, HANDLE(made[i]), 0), )
CREATES(CreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool, (HOST, DEVICE))
FALLIBLE_SPOILING(CreateDescriptorSetLayout, device, (HOST, DEVICE),
                  (VkDevice device, const VkDescriptorSetLayoutCreateInfo *info,
                   const VkAllocationCallbacks *callbacks, VkDescriptorSetLayout *made),
                  NEXT(CreateDescriptorSetLayout)(device, info, callbacks, made),
                  add_layout("CreateDescriptorSetLayout", device, HANDLE(*made), info->bindingCount),
                  *made = (VkDescriptorSetLayout)(uintptr_t)GARBAGE)
CREATES(CreateFence, VkFenceCreateInfo, VkFence, (HOST, DEVICE))
CREATES(CreatePipelineCache, VkPipelineCacheCreateInfo, VkPipelineCache, (HOST, DEVICE))
FALLIBLE_SPOILING(
    CreatePipelineLayout, device, (HOST, DEVICE),
    (VkDevice device, const VkPipelineLayoutCreateInfo *info, const VkAllocationCallbacks *callbacks,
     VkPipelineLayout *made),
    NEXT(CreatePipelineLayout)(device, info, callbacks, made),
    add_layout("CreatePipelineLayout", device, HANDLE(*made),
               find_object("CreateDescriptorSetLayout", device, HANDLE(info->pSetLayouts[0])).buffers),
    *made = (VkPipelineLayout)(uintptr_t)GARBAGE)
CREATES(CreateQueryPool, VkQueryPoolCreateInfo, VkQueryPool, (HOST, DEVICE))
CREATES(CreateSemaphore, VkSemaphoreCreateInfo, VkSemaphore, (HOST, DEVICE))
FALLIBLE_SPOILING(CreateShaderModule, device, (HOST, DEVICE),
                  (VkDevice device, const VkShaderModuleCreateInfo *info,
                   const VkAllocationCallbacks *callbacks, VkShaderModule *made),
                  create_module(device, info, callbacks, made), , *made = (VkShaderModule)(uintptr_t)GARBAGE)
FALLIBLE(DeviceWaitIdle, device, (HOST, DEVICE, LOST), (VkDevice device), (device), )
FALLIBLE(EndCommandBuffer, NULL, (HOST, DEVICE), (VkCommandBuffer commands), (commands), )
FALLIBLE(FlushMappedMemoryRanges, device, (HOST, DEVICE),
         (VkDevice device, uint32_t count, const VkMappedMemoryRange *ranges), (device, count, ranges), )
FALLIBLE(InvalidateMappedMemoryRanges, device, (HOST, DEVICE),
         (VkDevice device, uint32_t count, const VkMappedMemoryRange *ranges), (device, count, ranges), )
FALLIBLE(GetPipelineCacheData, device, (HOST, DEVICE),
         (VkDevice device, VkPipelineCache cache, size_t *bytes, void *data), (device, cache, bytes, data), )
FALLIBLE(GetQueryPoolResults, device, (HOST, DEVICE, LOST),
         (VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count, size_t bytes, void *data,
          VkDeviceSize stride, VkQueryResultFlags flags),
         (device, pool, first, count, bytes, data, stride, flags), )
FALLIBLE(GetSemaphoreCounterValue, device, (HOST, DEVICE, LOST),
         (VkDevice device, VkSemaphore semaphore, uint64_t *value), (device, semaphore, value), )
FALLIBLE_SPOILING(MapMemory, device, (HOST, DEVICE, VK_ERROR_MEMORY_MAP_FAILED),
                  (VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                   VkMemoryMapFlags flags, void **data),
                  NEXT(MapMemory)(device, memory, offset, size, flags, data), ,
                  *data = (void *)(uintptr_t)GARBAGE)
FALLIBLE_SPOILING(QueueSubmit, device_of(queue), (HOST, DEVICE, LOST),
                  (VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence),
                  ON_QUEUE(NEXT(QueueSubmit)(queue, count, infos, fence)), , )
FALLIBLE_SPOILING(QueueWaitIdle, device_of(queue), (HOST, DEVICE, LOST), (VkQueue queue),
                  ON_QUEUE(NEXT(QueueWaitIdle)(queue)), , )
FALLIBLE(ResetFences, device, (HOST, DEVICE), (VkDevice device, uint32_t count, const VkFence *fences),
         (device, count, fences), )
FALLIBLE(WaitForFences, device, (HOST, DEVICE, LOST),
         (VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all, uint64_t timeout),
         (device, count, fences, all, timeout), )
FALLIBLE(WaitSemaphores, device, (HOST, DEVICE, LOST),
         (VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout), (device, info, timeout), )

FALLIBLE(GetMemoryFdKHR, device, (HOST, VK_ERROR_TOO_MANY_OBJECTS),
         (VkDevice device, const VkMemoryGetFdInfoKHR *info, int *fd), (device, info, fd), )

DESTROYS(DestroyBuffer, CreateBuffer, VkBuffer)
DESTROYS(DestroyCommandPool, CreateCommandPool, VkCommandPool)
DESTROYS(DestroyDescriptorPool, CreateDescriptorPool, VkDescriptorPool)
DESTROYS(DestroyDescriptorSetLayout, CreateDescriptorSetLayout, VkDescriptorSetLayout)
DESTROYS(DestroyFence, CreateFence, VkFence)
DESTROYS(DestroyPipelineCache, CreatePipelineCache, VkPipelineCache)
DESTROYS(DestroyPipelineLayout, CreatePipelineLayout, VkPipelineLayout)
DESTROYS(DestroyQueryPool, CreateQueryPool, VkQueryPool)
DESTROYS(DestroySemaphore, CreateSemaphore, VkSemaphore)
DESTROYS(DestroyShaderModule, CreateShaderModule, VkShaderModule)
DESTROYS(FreeMemory, AllocateMemory, VkDeviceMemory)

static struct wrapper wrapper_FreeCommandBuffers;
static VKAPI_ATTR void VKAPI_CALL do_FreeCommandBuffers(VkDevice device, VkCommandPool pool, uint32_t count,
                                                        const VkCommandBuffer *buffers)
{
    for (uint32_t i = 0; i < count; i++)
        take("AllocateCommandBuffers", device, HANDLE(buffers[i]));
    begin_call("FreeCommandBuffers");
    NEXT(FreeCommandBuffers)(device, pool, count, buffers);
    end_call();
}
WRAPS(FreeCommandBuffers)

static atomic_uint fills;
static struct wrapper wrapper_CmdFillBuffer;
static VKAPI_ATTR void VKAPI_CALL do_CmdFillBuffer(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize at,
                                                   VkDeviceSize bytes, uint32_t word)
{
    atomic_fetch_add(&fills, 1);
    NEXT(CmdFillBuffer)(commands, buffer, at, bytes, word);
}
WRAPS(CmdFillBuffer)

unsigned fault_fills(void)
{
    return atomic_load(&fills);
}

static atomic_uint barriers;
static struct wrapper wrapper_CmdPipelineBarrier;
static VKAPI_ATTR void VKAPI_CALL do_CmdPipelineBarrier(
    VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to, VkDependencyFlags flags,
    uint32_t memory_count, const VkMemoryBarrier *memories, uint32_t buffer_count,
    const VkBufferMemoryBarrier *buffers, uint32_t image_count, const VkImageMemoryBarrier *images)
{
    if (from & to & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT)
        atomic_fetch_add(&barriers, 1);
    NEXT(CmdPipelineBarrier)
    (commands, from, to, flags, memory_count, memories, buffer_count, buffers, image_count, images);
}
WRAPS(CmdPipelineBarrier)

unsigned fault_barriers(void)
{
    return atomic_load(&barriers);
}

static struct wrapper wrapper_GetDeviceQueue;
static VKAPI_ATTR void VKAPI_CALL do_GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index,
                                                    VkQueue *queue)
{
    NEXT(GetDeviceQueue)(device, family, index, queue);
    pthread_mutex_lock(&lock);
    if (queue_count < MAX_DEVICES) {
        queues[queue_count].queue = *queue;
        queues[queue_count++].device = device;
    }
    pthread_mutex_unlock(&lock);
}
WRAPS(GetDeviceQueue)

// ---------------------------------------------------------------------------------------------------------------
// Finding them
// ---------------------------------------------------------------------------------------------------------------

static const char *hidden;

void fault_hide(const char *name)
{
    hidden = name;
}

bool fault_knows(const char *name)
{
    static const char *const harmless[] = {"vkCmd", "vkGetPhysicalDevice", "vkGetBufferMemoryRequirements",
                                           "vkUpdateDescriptorSets"};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strncmp(name, harmless[i], strlen(harmless[i])) == 0)
            return true;
    for (const struct wrapper *wrapper = wrappers; wrapper; wrapper = wrapper->others)
        if (strcmp(name, wrapper->name) == 0)
            return true;
    return false;
}

// The layer's function in the place of the next one. All devices are of one loader, whose functions find the
// device.
static PFN_vkVoidFunction wrap(const char *name, PFN_vkVoidFunction next)
{
    char plain[128];
    size_t length = strlen(name);
    if (hidden && strcmp(name, hidden) == 0)
        return NULL;
    if (!next || length >= sizeof plain)
        return next;
    memcpy(plain, name, length + 1);
    if (length > 3 && strcmp(name + length - 3, "KHR") == 0)
        plain[length - 3] = 0;
    for (struct wrapper *wrapper = wrappers; wrapper; wrapper = wrapper->others) {
        if (strcmp(plain, wrapper->name) != 0 && strcmp(name, wrapper->name) != 0)
            continue;
        pthread_mutex_lock(&lock);
        wrapper->next = next;
        pthread_mutex_unlock(&lock);
        return wrapper->mine;
    }
    return next;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL do_GetDeviceProcAddr(VkDevice device, const char *name)
{
    return wrap(name, NEXT(GetDeviceProcAddr)(device, name));
}
WRAPS(GetDeviceProcAddr)

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fault_get(VkInstance instance, const char *name)
{
    if (instance && !real_DeviceWaitIdle)
        real_DeviceWaitIdle = real_get(instance, "vkDeviceWaitIdle");
    return wrap(name, real_get(instance, name));
}

bool fault_begin(void)
{
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&real_get = dlsym(library, "vkGetInstanceProcAddr");
    return real_get != NULL;
}
