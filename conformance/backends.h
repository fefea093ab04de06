// SPDX-License-Identifier: Apache-2.0
//
// Backends that only tests use: Vulkan on a device that is opened as if it had less, or more.

#ifndef CONFORMANCE_BACKENDS_H_
#define CONFORMANCE_BACKENDS_H_

#include "runtime/backends.h"

#include <string.h>

#if defined(WNN_HAVE_VULKAN) && WNN_HAVE_VULKAN
#include "vulkan/device/open.h"
#include "vulkan/vulkan.h"

static inline bool create_vulkan_minimal(const struct backend_options *options, void **state,
                                         struct error *error)
{
    return wnn_vulkan_create(options, &(struct gpu_origin){.minimal = true}, state, error);
}

static inline bool create_vulkan_matrices(const struct backend_options *options, void **state,
                                          struct error *error)
{
    return wnn_vulkan_create(options, &(struct gpu_origin){.matrices = true}, state, error);
}

static inline bool create_vulkan_places_hidden(const struct backend_options *options, void **state,
                                               struct error *error)
{
    return wnn_vulkan_create(options, &(struct gpu_origin){.matrices = true, .hides_places = true}, state,
                             error);
}

// Submissions may take any time: none is ever measured, and recorded anew.
static inline bool create_vulkan_unhurried(const struct backend_options *options, void **state,
                                           struct error *error)
{
    return wnn_vulkan_create(options, &(struct gpu_origin){.budget = 1e18}, state, error);
}

// They may take very little: most are measured at first, and recorded anew.
static inline bool create_vulkan_hurried(const struct backend_options *options, void **state,
                                         struct error *error)
{
    return wnn_vulkan_create(options, &(struct gpu_origin){.budget = GPU_BUDGET / 2000}, state, error);
}

// Vulkan under another name, whose devices `create` opens. The first call is made before there are threads.
static inline const struct backend *vulkan_as(struct backend *backend, const char *name,
                                              bool (*create)(const struct backend_options *, void **,
                                                             struct error *))
{
    if (!backend->name) {
        *backend = wnn_backend_vulkan;
        backend->name = name;
        backend->create = create;
    }
    return backend;
}

// A device with the minimum of features: shapes are written into the shaders, and every byte moves through
// staging memory.
static inline const struct backend *vulkan_minimal(void)
{
    static struct backend backend;
    return vulkan_as(&backend, "vulkan-minimal", create_vulkan_minimal);
}

// All products on matrix units, emulated ones if need be.
static inline const struct backend *vulkan_matrices(void)
{
    static struct backend backend;
    return vulkan_as(&backend, "vulkan-matrices", create_vulkan_matrices);
}

// The same, where the places of elements are not known.
static inline const struct backend *vulkan_places_hidden(void)
{
    static struct backend backend;
    return vulkan_as(&backend, "vulkan-places-hidden", create_vulkan_places_hidden);
}

static inline const struct backend *vulkan_unhurried(void)
{
    static struct backend backend;
    return vulkan_as(&backend, "vulkan-unhurried", create_vulkan_unhurried);
}

static inline const struct backend *vulkan_hurried(void)
{
    static struct backend backend;
    return vulkan_as(&backend, "vulkan-hurried", create_vulkan_hurried);
}
#endif

// A backend of tests or of the library, or NULL.
static inline const struct backend *find_backend(const char *name)
{
#if defined(WNN_HAVE_VULKAN) && WNN_HAVE_VULKAN
    if (strcmp(name, "vulkan-minimal") == 0)
        return vulkan_minimal();
    if (strcmp(name, "vulkan-matrices") == 0)
        return vulkan_matrices();
    if (strcmp(name, "vulkan-places-hidden") == 0)
        return vulkan_places_hidden();
    if (strcmp(name, "vulkan-unhurried") == 0)
        return vulkan_unhurried();
    if (strcmp(name, "vulkan-hurried") == 0)
        return vulkan_hurried();
#endif
    return wnn_backend_find(name);
}

#endif
