// SPDX-License-Identifier: Apache-2.0
//
// What making the pipelines of a GPU takes: creating a context and building a network cold, again in a second
// context with the cache that the first one filled, and in a third one whose driver gets nothing of it; then
// loading it compiled, in processes of their own, as a mapped file that the host vouches for or not. Instance
// and device are parts of creating the context; "start" is all to the end of the first run but for these two,
// which are the driver's. A device that has idled takes some time to come to its full clock, as after what
// the driver compiles for seconds: first runs are then several times longer, and later ones are those after a
// while. Of the build it shows what the driver compiles (summed over threads), what waiting
// for uploads takes, and with one thread the rest is mostly the compiler of GLSL. Drivers' own caches in
// files are switched off.

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
#include <sys/mman.h>
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
static PFN_vkCreateDevice real_create_device;
static PFN_vkCreateComputePipelines real_create;
static PFN_vkWaitForFences real_wait;
static PFN_vkWaitSemaphores real_wait_semaphores;
static PFN_vkAllocateMemory real_allocate;
static PFN_vkFreeMemory real_free;
static atomic_ullong memory_time;
static atomic_ullong driver_time, wait_time, instance_time, device_time; // nanoseconds
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

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkDevice *device)
{
    double begin = now_seconds();
    VkResult result = real_create_device(physical, info, callbacks, device);
    add_time(&device_time, begin);
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
    if (function && strcmp(name, "vkCreateDevice") == 0) {
        real_create_device = (PFN_vkCreateDevice)function;
        return (PFN_vkVoidFunction)create_device;
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
    double instance, device, create, build, passes, driver, memory, wait, first, later; // seconds
    unsigned pipelines;
    bool runs; // `first`, and `later`, the median of some more, have been measured
};

enum {
    LATER_RUNS = 25,
    WARM_UP = 300 // milliseconds
};

enum way {
    BUILT,
    SAVED, // built, so that it can be saved, and saved
    LOADED,
    VOUCHED // loaded, and what it has compiled is believed
};
// What was compiled: written by one process, and mapped by others.
static int compiled_file = -1;
static struct serialized compiled;

static bool map_compiled(size_t size, int protection)
{
    void *data = mmap(NULL, size, protection, MAP_SHARED, compiled_file, 0);
    compiled = (struct serialized){.data = data == MAP_FAILED ? NULL : data, .size = size};
    return compiled.data;
}

static bool keep(WNNGraph graph, struct error *error)
{
    char message[WNN_MESSAGE_SIZE] = "";
    struct serialized saved = {0};
    WNNStatus status = wnn_save_graph(graph, &saved, sizeof message, message);
    if (status == WNNStatus_Success && ftruncate(compiled_file, (off_t)saved.size) == 0 &&
        map_compiled(saved.size, PROT_READ | PROT_WRITE))
        memcpy(compiled.data, saved.data, saved.size);
    free(saved.data);
    return status == WNNStatus_Success || wnn_fail(error, status, "%s", message);
}

static bool load_compiled(struct session *session, WNNGraph *graph, struct error *error)
{
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    bytes.data = compiled.data;
    bytes.byteLength = compiled.size;
    return session_load(session, bytes, NULL, session->trust, graph, error);
}

static bool measure(const char *what, enum way way, const WNNCache *cache, struct figures *figures,
                    struct error *error)
{
    struct backend timed = wnn_backend_vulkan;
    timed.create = create_state;
    struct session session = {.backend = &timed, .trust = way == VOUCHED};
    struct model model = {.builder = NULL};
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.threadCount = threads;
    descriptor.cache = cache;
    *figures = (struct figures){0};
    atomic_store(&instance_time, 0);
    atomic_store(&device_time, 0);
    double begin = now_seconds();
    WNNStatus status = wnn_create_context_on(&timed, &descriptor, &session.context);
    figures->create = now_seconds() - begin;
    figures->instance = (double)atomic_load(&instance_time) * 1e-9;
    figures->device = (double)atomic_load(&device_time) * 1e-9;
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
                    : way == SAVED ? session_build_savable(&session, &model, KEEPS_PLAN, &graph, error)
                                   : load_compiled(&session, &graph, error));
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
        double later[LATER_RUNS];
        subject_begin(&subject, &session, graph);
        begin = now_seconds();
        good = subject_run(&subject);
        figures->first = now_seconds() - begin;
        while (good && now_seconds() - begin < WARM_UP * 1e-3)
            good = subject_run(&subject);
        for (unsigned i = 0; good && i < LATER_RUNS; i++) {
            begin = now_seconds();
            good = subject_run(&subject);
            later[i] = now_seconds() - begin;
        }
        figures->runs = good;
        figures->later = good ? median_of(later, LATER_RUNS) : 0;
        subject_end(&subject);
    }
    wnnContextRelease(session.context);
    return good;
}

static void print(const char *what, const char *how, const struct figures *f, double cold)
{
    const double seconds[] = {f->instance, f->device, f->create, f->build};
    const double parts[] = {f->passes, f->driver, f->memory, f->wait};
    const double runs[] = {f->create - f->instance - f->device + f->build + f->first, f->first, f->later};
    printf("%-20s %-12s %9u", what, how, f->pipelines);
    for (unsigned i = 0; i < sizeof seconds / sizeof seconds[0]; i++)
        printf(" %9.2f", seconds[i] * 1e3);
    if (cold > 0)
        printf(" %6.2f", f->build / cold);
    else
        printf(" %6s", "");
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        printf(" %9.2f", parts[i] * 1e3);
    for (unsigned i = 0; f->runs && i < sizeof runs / sizeof runs[0]; i++)
        printf(" %9.2f", runs[i] * 1e3);
    printf("\n");
    fflush(stdout);
}

struct row {
    const char *name;
    enum way way;
    bool cached, no_data;
};
static const struct row built[] = {{"no cache", BUILT, false, false},
                                   {"cold cache", BUILT, true, false},
                                   {"warm cache", BUILT, true, false},
                                   {"SPIR-V only", BUILT, true, true},
                                   {"saved", SAVED, false, false}},
                        loaded[] = {{"loaded", LOADED, false, false}},
                        vouched[] = {{"vouched for", VOUCHED, false, false}};

static int bench(const char *what, const struct row *rows, size_t count)
{
    const WNNCache cache = {NULL, load, store, NULL};
    struct error error = {WNNStatus_Success, ""};
    struct figures figures;
    double cold = 0;
    off_t size = lseek(compiled_file, 0, SEEK_END);
    if (rows[0].way >= LOADED && !map_compiled((size_t)size, PROT_READ)) {
        fprintf(stderr, "%s: nothing was compiled\n", what);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        no_data = rows[i].no_data;
        if (!measure(what, rows[i].way, rows[i].cached ? &cache : NULL, &figures, &error)) {
            fprintf(stderr, "%s: %s\n", what, error.message);
            return 1;
        }
        cold = i == 0 && rows[0].way == BUILT ? figures.build : cold;
        print(what, rows[i].name, &figures, cold);
    }
    if (entry_count > 0)
        printf("%-20s %zu entries, %.0f KiB; compiled %.1f MB\n", what, entry_count,
               (double)entry_bytes / 1024, (double)compiled.size * 1e-6);
    fflush(stdout);
    return 0;
}

static int bench_apart(const char *what, const struct row *rows, size_t count)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(bench(what, rows, count));
    return child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status);
}

static int bench_network(const char *what)
{
    FILE *file = tmpfile();
    if (!file) {
        perror("a temporary file");
        return 1;
    }
    compiled_file = fileno(file);
    int failed = bench_apart(what, built, sizeof built / sizeof built[0]) || bench_apart(what, loaded, 1) ||
                 bench_apart(what, vouched, 1);
    fclose(file);
    return failed;
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
    printf("%-20s %-12s %9s %9s %9s %9s %9s %6s %9s %9s %9s %9s %9s %9s %9s\n", "milliseconds", "",
           "pipelines", "instance", "device", "context", "build", "ratio", "passes", "driver", "memory",
           "waiting", "start", "first run", "later run");
    if (argc > 1)
        for (int i = 1; i < argc; i++)
            failed |= bench_network(argv[i]);
    else
        for (const struct bench_model *model = bench_models; model->name; model++)
            if (!strchr(model->name, ':'))
                failed |= bench_network(model->name);
    return failed;
}
