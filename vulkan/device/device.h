// SPDX-License-Identifier: Apache-2.0
//
// One logical device of one context: opening the library, choosing among the devices, what the chosen one can
// do, and what becomes of its errors.
//
// Threads: one builds; beside it one at a time executes, transfers tensors or releases executables, one waits
// for executions, and any makes and frees tensors. They share the queue (gpu->lock), the table of pipelines
// (pipelines.lock) and the making of staging memory (transfers.lock). No thread takes one of these locks
// while it has another; of the caller's only lockQueue is taken within one, gpu->lock. Nothing is compiled
// while a lock is held, and nobody waits for the device, but for a queue that fails. Everything else has one
// owner at a time: an executable is the build's until that ends, and then belongs to whoever executes.

#ifndef VULKAN_DEVICE_H_
#define VULKAN_DEVICE_H_

#include "compiler/backend.h"
#include "vulkan/device/exit.h"
#include "vulkan/device/functions.h"

#include <webnn/vulkan.h>

#include <pthread.h>
#include <stdatomic.h>

// What multiplies matrices by itself.
enum matrix_units {
    MATRIX_UNITS_NONE,
    MATRIX_UNITS_KHR, // these numbers are those of shaders/matrices.comp
    MATRIX_UNITS_NV,
    MATRIX_UNITS_EMULATED
};

// The sizes of the matrices that a subgroup multiplies at once; zeros: none.
struct matrix_size {
    uint32_t m, n, k;
};

// What shaders and memory are made for; part of every shader's text where it matters there.
struct capabilities {
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    VkPhysicalDeviceType type;
    uint32_t vendor, device, driver_version, api_version;

    // Whose data of pipelines the driver can read.
    uint8_t pipeline_cache[VK_UUID_SIZE];

    uint64_t storage_range;          // bytes that one binding can see
    uint64_t allocation;             // bytes of one piece of memory
    uint32_t storage_alignment;      // of a binding's beginning
    uint32_t non_coherent_atom_size; // of flushes
    uint32_t groups[3];              // work groups of a dispatch
    uint32_t shared_bytes;
    uint32_t invocations; // of a work group
    uint32_t shuffles;    // of these, so many in a row hand one another values, and vote; 0: none do
    uint32_t buffers;     // of a shader, up to GPU_BUFFERS
    uint32_t
        max_push_constants;   // parameters that a dispatch can be given by push constants, up to GPU_PUSHED
    bool unified;             // the host can map what the device likes best, and reads it as any memory
    bool host_visible_vram;   // or it can map all of that, and writes it well
    bool keeps_special;       // signed zeros, infinities and NaN, if it is asked to
    bool keeps_denormals;     // likewise
    bool timeline;            // semaphores that count,
    bool timeline_is_new;     // and as a part of Vulkan, not as an extension
    bool shares_memory;       // by file descriptors
    uint32_t clock_bits;      // 0: no clock
    float clock_period;       // nanoseconds
    bool single_rounding_fma; // fma() rounds once; known when a shader has run
    bool halves;              // packHalf2x16 rounds to nearest even, and unpackHalf2x16 is exact; likewise
    bool rounds_halves;       // one behind the other rounds, with nothing stored between; likewise
    bool dots;                // four products of bytes are added up at once; right when a shader has run
    bool minimal;             // tests: as if there were nothing beyond the minimum
    // Matrix units, of operands of float16 or bfloat16 with sums of float32.
    enum matrix_units matrix_units;
    struct matrix_size half_matrices, bfloat16_matrices;
    uint32_t subgroup; // invocations
    bool known_places; // where each invocation has which elements of half_matrices; known when a shader has
                       // run (wnn_lower_places)
    bool hides_places; // tests: that is never known
    bool always_matrices; // tests: however small
    unsigned matrix_tile; // tests: from 1 on, in all splits there is room for; 0: what suits
};

// What shaders access at once, at multiples of its bytes.
#define GPU_QUAD 16

// Buffers of a shader: as many as WebGPU asks of every device, and as many as we ever use.
#define GPU_MIN_BUFFERS 8
#define GPU_BUFFERS     16
// Parameters of a dispatch that are push constants if there is room for all of them, as many as every device
// has.
#define GPU_MIN_PUSHED (32 - GPU_BUFFERS)
#define GPU_PUSHED     32
// What every device has.
#define GPU_MIN_SHARED      (16 * 1024)
#define GPU_MIN_INVOCATIONS 128
#define GPU_MAX_ALIGNMENT   256 // of bindings

// Nanoseconds that one submission should take at most, so that no watchdog ends it and others have their
// turn.
#define GPU_BUDGET 100e6

// Nanoseconds that the device may work on while the process ends.
#define GPU_LAST_WAIT 1000000000u

// timeline.h
struct sync_point {
    uint64_t count; // on the timeline
    VkFence fence;  // without one
    bool ahead;     // submitted, and nobody has waited for it yet
    double begin;   // CLOCK_MONOTONIC in nanoseconds, when it was submitted;
    double length;  // and from there to the end of the wait
};

struct gpu {
    struct allocator *allocator;
    const struct parallel *parallel; // the threads of the builder
    struct exit_gate gate;           // passed by whoever uses the device
    bool gone;                       // the process has ended: nobody uses it any more
    void *library;                   // NULL: the functions come from elsewhere
    PFN_vkGetInstanceProcAddr get;
    struct vk_functions vk;
    uint32_t version;                   // of Vulkan, as far as the instance goes
    bool strict;                        // numbers are as separate operators would make them
    bool is_described;                  // it is not there: nothing but shaders is made (described.h)
    bool is_external;                   // instance, device and queue are the caller's,
    WNNVulkanDevice external;           // as these say; its lists are valid while the device is opened
    const WNNLog *log;                  // of the host, which outlives this; NULL: none
    VkDebugUtilsMessengerEXT messenger; // to the log, or none
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkExtensionProperties *extensions; // of the physical device `listed`, which takes long to ask for
    uint32_t extension_count;
    VkPhysicalDevice listed;
    VkPhysicalDeviceMemoryProperties memory;
    struct capabilities can;
    WNNDeviceInfo info; // of the physical device
    // By wnn_gpu_layout; made when they are first needed, while a pipeline is.
    VkDescriptorSetLayout set_layouts[GPU_BUFFERS + 1];
    VkPipelineLayout layouts[GPU_BUFFERS + 1];
    VkSemaphore timeline;   // or none
    pthread_mutex_t lock;   // of the queue and of the next:
    uint64_t submitted;     // the greatest count that the timeline was told to reach
    atomic_bool unfinished; // an execution has submissions to come, before those of any other
    double budget;          // nanoseconds of a submission; 0: as short as can be
    atomic_ullong tensors;  // that there have been
    atomic_bool lost;
};

// Whether a list of extensions, asked for as vkEnumerateDeviceExtensionProperties is, has that name.
typedef VkResult (*list_extensions)(const struct gpu *gpu, uint32_t *count, VkExtensionProperties *all);
bool wnn_gpu_find_extension(const struct gpu *gpu, list_extensions list, const char *name);

// What the physical device has, or, if it is external, what the caller's device was created with. Of
// features: the structures of a chain.
bool wnn_gpu_has_extension(struct gpu *gpu, const char *name);
void wnn_gpu_get_features(const struct gpu *gpu, VkPhysicalDeviceFeatures2 *features);

// VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16, for headers that are older.
enum {
    GPU_TYPE_MATRIX_FEATURES = 1000506000,
    GPU_TYPE_BFLOAT16_FEATURES = 1000141000
};

// Which layouts shaders of so many buffers have: those of 4, of 8 or of all buffers, since some drivers take
// milliseconds to make one.
static inline uint32_t wnn_gpu_layout(const struct gpu *gpu, uint32_t buffers)
{
    uint32_t layout = buffers <= 4 ? 4 : buffers <= 8 ? 8 : GPU_BUFFERS;
    return layout < gpu->can.buffers ? layout : gpu->can.buffers;
}

// Makes the layouts for shaders of so many buffers, unless there are any. One thread at a time.
bool wnn_gpu_make_layouts(struct gpu *gpu, uint32_t buffers, struct error *error);

void wnn_gpu_handles(const struct gpu *gpu, WNNVulkanHandles *handles);

// Says what a result other than VK_SUCCESS means; returns false. Notes the loss of the device.
bool wnn_gpu_fail(struct gpu *gpu, VkResult result, const char *what, struct error *error);

#endif
