// SPDX-License-Identifier: Apache-2.0
//
// What making the pipelines of a GPU takes: creating a context and building a network cold, again in a second
// context with the cache that the first one filled, and in a third one whose driver gets nothing of it; then
// loading it compiled, as bytes that the host vouches for or not. A program that starts with such bytes needs
// the context, of which the instance is a part, and the build. Of
// the build it shows what the driver compiles (summed over threads), what waiting for uploads takes, and with
// one thread the rest is mostly the compiler of GLSL. Drivers' own caches in files are switched off. Every
// network is a process of its own.

#include "conformance/bench/subject.h"
#include "conformance/compiled.h"
#include "tools/bench_models.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "vulkan/device/open.h"
#include "vulkan/vulkan.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// ---------------------------------------------------------------------------------------------------------------
// A cache in memory
// ---------------------------------------------------------------------------------------------------------------

struct entry {
    struct entry *next;
    size_t bytes;
    unsigned char key[32], data[];
};

static struct entry *entries;
static size_t entry_count, entry_bytes;

static size_t load(const void *key, size_t length, void *data, size_t capacity, void *unused)
{
    (void)unused;
    for (const struct entry *entry = entries; entry; entry = entry->next)
        if (length == sizeof entry->key && memcmp(entry->key, key, length) == 0) {
            if (data && entry->bytes <= capacity)
                memcpy(data, entry->data, entry->bytes);
            return entry->bytes;
        }
    return 0;
}

static void store(const void *key, size_t length, const void *data, size_t bytes, void *unused)
{
    (void)unused;
    struct entry *entry = must_allocate(sizeof *entry + bytes);
    entry->next = entries;
    entry->bytes = bytes;
    memcpy(entry->key, key, length);
    memcpy(entry->data, data, bytes);
    entries = entry;
    entry_count++;
    entry_bytes += bytes;
}

// ---------------------------------------------------------------------------------------------------------------
// A clock around some of Vulkan's functions
// ---------------------------------------------------------------------------------------------------------------

static PFN_vkGetInstanceProcAddr real_get;
static PFN_vkGetDeviceProcAddr real_get_device;
static PFN_vkCreateInstance real_create_instance;
static PFN_vkCreateComputePipelines real_create;
static PFN_vkWaitForFences real_wait;
static PFN_vkWaitSemaphores real_wait_semaphores;
static PFN_vkAllocateMemory real_allocate;
static PFN_vkFreeMemory real_free;
static atomic_ullong memory_time;
static atomic_ullong driver_time, wait_time, instance_time; // nanoseconds
static atomic_uint pipeline_count;
static bool no_data; // drivers get pipeline caches without data

static void add_time(atomic_ullong *sum, double begin)
{
    atomic_fetch_add(sum, (unsigned long long)((now_seconds() - begin) * 1e9));
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *callbacks,
                                                      VkInstance *instance)
{
    double begin = now_seconds();
    VkResult result = real_create_instance(info, callbacks, instance);
    add_time(&instance_time, begin);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                       const VkComputePipelineCreateInfo *infos,
                                                       const VkAllocationCallbacks *callbacks,
                                                       VkPipeline *pipelines)
{
    double begin = now_seconds();
    VkResult result =
        real_create(device, no_data ? VK_NULL_HANDLE : cache, count, infos, callbacks, pipelines);
    add_time(&driver_time, begin);
    atomic_fetch_add(&pipeline_count, count);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                      const VkAllocationCallbacks *callbacks,
                                                      VkDeviceMemory *memory)
{
    double begin = now_seconds();
    VkResult result = real_allocate(device, info, callbacks, memory);
    add_time(&memory_time, begin);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                              const VkAllocationCallbacks *callbacks)
{
    double begin = now_seconds();
    real_free(device, memory, callbacks);
    add_time(&memory_time, begin);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_for_fences(VkDevice device, uint32_t count, const VkFence *fences,
                                                      VkBool32 all, uint64_t timeout)
{
    double begin = now_seconds();
    VkResult result = real_wait(device, count, fences, all, timeout);
    add_time(&wait_time, begin);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_semaphores(VkDevice device, const VkSemaphoreWaitInfo *info,
                                                      uint64_t timeout)
{
    double begin = now_seconds();
    VkResult result = real_wait_semaphores(device, info, timeout);
    add_time(&wait_time, begin);
    return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name)
{
    PFN_vkVoidFunction function = real_get_device(device, name);
    if (function && strcmp(name, "vkCreateComputePipelines") == 0) {
        real_create = (PFN_vkCreateComputePipelines)function;
        return (PFN_vkVoidFunction)create_pipelines;
    }
    if (function && strcmp(name, "vkWaitForFences") == 0) {
        real_wait = (PFN_vkWaitForFences)function;
        return (PFN_vkVoidFunction)wait_for_fences;
    }
    if (function && strncmp(name, "vkWaitSemaphores", 16) == 0) {
        real_wait_semaphores = (PFN_vkWaitSemaphores)function;
        return (PFN_vkVoidFunction)wait_semaphores;
    }
    if (function && strcmp(name, "vkAllocateMemory") == 0) {
        real_allocate = (PFN_vkAllocateMemory)function;
        return (PFN_vkVoidFunction)allocate_memory;
    }
    if (function && strcmp(name, "vkFreeMemory") == 0) {
        real_free = (PFN_vkFreeMemory)function;
        return (PFN_vkVoidFunction)free_memory;
    }
    return function;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction function = real_get(instance, name);
    if (function && strcmp(name, "vkCreateInstance") == 0) {
        real_create_instance = (PFN_vkCreateInstance)function;
        return (PFN_vkVoidFunction)create_instance;
    }
    if (!function || strcmp(name, "vkGetDeviceProcAddr") != 0)
        return function;
    real_get_device = (PFN_vkGetDeviceProcAddr)function;
    return (PFN_vkVoidFunction)get_device;
}

static bool minimal;

static bool create_state(const struct backend_options *options, void **state, struct error *error)
{
    return wnn_vulkan_create(options, &(struct gpu_origin){.get = get, .minimal = minimal}, state, error);
}

// ---------------------------------------------------------------------------------------------------------------
// Measuring
// ---------------------------------------------------------------------------------------------------------------

static unsigned threads;
static double last_pass;

static void note_pass(void *argument, const char *pass, const struct graph *graph)
{
    (void)argument;
    (void)pass;
    (void)graph;
    last_pass = now_seconds();
}

struct figures {
    double instance, create, build, passes, driver, memory, wait, first, later; // seconds
    unsigned pipelines;
};

enum way {
    BUILT,
    SAVED, // built, so that it can be saved, and saved
    LOADED,
    VOUCHED // loaded, and what it has compiled is believed
};
static struct serialized compiled;

static WNNStatus vouch(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)data;
    (void)size;
    (void)userdata1;
    (void)userdata2;
    return WNNStatus_Success;
}

static bool keep(WNNGraph graph, struct error *error)
{
    char message[WNN_MESSAGE_SIZE] = "";
    struct serialized saved = {0};
    WNNStatus status = wnn_save_graph(graph, &saved, sizeof message, message);
    compiled = saved;
    if (status == WNNStatus_Success && posix_memalign((void **)&compiled.data, 64, saved.size) == 0)
        memcpy(compiled.data, saved.data, saved.size);
    free(saved.data);
    return status == WNNStatus_Success || wnn_fail(error, status, "%s", message);
}

static bool load_compiled(WNNContext context, bool vouched, WNNGraph *graph, struct error *error)
{
    char message[WNN_MESSAGE_SIZE] = "";
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    descriptor.bytes.data = compiled.data;
    descriptor.bytes.byteLength = compiled.size;
    descriptor.authenticate = vouched ? vouch : NULL;
    descriptor.skipDataCheck = vouched;
    WNNStatus status = wnnContextLoadGraphSync(context, &descriptor, graph, sizeof message, message);
    return status == WNNStatus_Success || wnn_fail(error, status, "%s", message);
}

static bool measure(const char *what, enum way way, const WNNCache *cache, struct figures *figures,
                    struct error *error)
{
    struct backend timed = wnn_backend_vulkan;
    timed.create = create_state;
    struct session session = {.backend = &timed};
    struct model model = {.builder = NULL};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.threadCount = threads;
    descriptor.cache = cache;
    atomic_store(&instance_time, 0);
    double begin = now_seconds();
    WNNStatus status = wnn_create_context_on(&timed, &descriptor, &session.context);
    figures->create = now_seconds() - begin;
    figures->instance = (double)atomic_load(&instance_time) * 1e-9;
    if (status != WNNStatus_Success)
        return wnn_fail(error, status, "no context");
    bool good = way >= LOADED ||
                (model_begin(&model, session.context, error) && model_load(&model, what, NULL, error));
    atomic_store(&driver_time, 0);
    atomic_store(&wait_time, 0);
    atomic_store(&memory_time, 0);
    atomic_store(&pipeline_count, 0);
    WNNGraph graph = NULL;
    wnn_context_set_compile_options(session.context, 0, false, note_pass, NULL);
    begin = last_pass = now_seconds();
    good = good && (way == BUILT   ? session_build(&session, &model, &graph, error)
                    : way == SAVED ? session_build_savable(&session, &model, &graph, error)
                                   : load_compiled(session.context, way == VOUCHED, &graph, error));
    figures->build = now_seconds() - begin;
    figures->passes = last_pass - begin;
    figures->memory = (double)atomic_load(&memory_time) * 1e-9;
    figures->driver = (double)atomic_load(&driver_time) * 1e-9;
    figures->wait = (double)atomic_load(&wait_time) * 1e-9;
    figures->pipelines = atomic_load(&pipeline_count);
    if (model.builder)
        model_end(&model);
    good = good && (way != SAVED || keep(graph, error));
    if (good && way != SAVED) {
        struct subject subject;
        subject_begin(&subject, &session, graph);
        begin = now_seconds();
        good = subject_run(&subject);
        figures->first = now_seconds() - begin;
        begin = now_seconds();
        good = good && subject_run(&subject);
        figures->later = now_seconds() - begin;
        subject_end(&subject);
    }
    wnnContextRelease(session.context);
    return good;
}

static void print(const char *what, const char *how, const struct figures *f, double cold)
{
    printf("%-20s %-12s %9u %10.2f %10.2f %10.2f %6.2f %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f\n", what,
           how, f->pipelines, f->instance * 1e3, f->create * 1e3, f->build * 1e3, f->build / cold,
           f->passes * 1e3, f->driver * 1e3, f->memory * 1e3, f->wait * 1e3, f->first * 1e3, f->later * 1e3);
    fflush(stdout);
}

static int bench(const char *what)
{
    const WNNCache cache = {NULL, load, store, NULL};
    static const struct {
        const char *name;
        enum way way;
        bool cached, no_data;
    } rows[] = {{"no cache", BUILT, false, false},     {"cold cache", BUILT, true, false},
                {"warm cache", BUILT, true, false},    {"SPIR-V only", BUILT, true, true},
                {"saved", SAVED, false, false},        {"loaded", LOADED, false, false},
                {"vouched for", VOUCHED, false, false}};
    struct error error = {WNNStatus_Success, ""};
    struct figures figures = {0};
    double cold = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        no_data = rows[i].no_data;
        if (!measure(what, rows[i].way, rows[i].cached ? &cache : NULL, &figures, &error)) {
            fprintf(stderr, "%s: %s\n", what, error.message);
            return 1;
        }
        cold = i == 0 ? figures.build : cold;
        print(what, rows[i].name, &figures, cold);
    }
    printf("%-20s %zu entries, %.0f KiB; compiled %.1f MB\n", what, entry_count, (double)entry_bytes / 1024,
           (double)compiled.size * 1e-6);
    free(compiled.data);
    fflush(stdout);
    return 0;
}

static int bench_apart(const char *what)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(bench(what));
    return child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status);
}

static const char usage[] =
    "usage: webnn-bench-shaders [--threads=N] [--backend=vulkan-minimal] [--driver-cache] [GRAPH...]\n";

int main(int argc, char **argv)
{
    bool driver_cache = false;
    int failed = 0;
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        bool is_minimal = strcmp(argv[1], "--backend=vulkan-minimal") == 0,
             is_cache = strcmp(argv[1], "--driver-cache") == 0;
        minimal |= is_minimal;
        driver_cache |= is_cache;
        if (!is_minimal && !is_cache && sscanf(argv[1], "--threads=%u", &threads) != 1)
            return fputs(usage, stderr), 2;
    }
    if (!driver_cache) {
        setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
        setenv("__GL_SHADER_DISK_CACHE", "0", 1);
    }
    struct error error = {WNNStatus_Success, ""};
    void *library;
    if (!wnn_gpu_load(&library, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    *(void **)&real_get = dlsym(library, "vkGetInstanceProcAddr");
    printf("%-20s %-12s %9s %10s %10s %10s %6s %10s %10s %10s %10s %10s %10s\n", "milliseconds", "",
           "pipelines", "instance", "context", "build", "ratio", "passes", "driver", "memory", "waiting",
           "first run", "later run");
    if (argc > 1)
        for (int i = 1; i < argc; i++)
            failed |= bench_apart(argv[i]);
    else
        for (const struct bench_model *model = bench_models; model->name; model++)
            if (!strchr(model->name, ':'))
                failed |= bench_apart(model->name);
    return failed;
}
