// SPDX-License-Identifier: Apache-2.0
//
// Weights that graphs share: compiler/derived.h as counted objects.

#include "runtime/shared_weights.h"

#include "ops/builder.h"
#include "runtime/budget.h"

struct WNNSharedWeightsImpl {
    struct allocator allocator;
    WNNBudget budget;        // or NULL
    struct derived *derived; // a reference of the handles
    atomic_uint handles;     // and requests
};

static void end(void *argument)
{
    WNNSharedWeights weights = argument;
    struct allocator host;
    wnnBudgetRelease(weights->budget);
    wnn_allocator_init(&host, NULL, 0);
    wnn_release(&host, weights);
}

static bool check(const WNNSharedWeightsDescriptor *descriptor, struct error *error)
{
    static const WNNLimits limits_of_strings = WNN_LIMITS_INIT;
    const WNNAllocator *allocator = descriptor->allocator;
    return wnn_check_chain(descriptor->nextInChain, 0, "shared weights descriptor", error) &&
           wnn_check_string(&limits_of_strings, "the label of shared weights", descriptor->label, error) &&
           (!allocator ||
            (wnn_check_chain(allocator->nextInChain, 0, "allocator", error) &&
             ((allocator->allocate && allocator->release) ||
              wnn_fail(error, WNNStatus_TypeError, "the allocator of shared weights lacks a function"))));
}

WNNStatus wnnCreateSharedWeights(const WNNSharedWeightsDescriptor *descriptor, WNNSharedWeights *weights)
{
    static const WNNSharedWeightsDescriptor defaults = WNN_SHARED_WEIGHTS_DESCRIPTOR_INIT;
    struct error error = {0};
    if (!weights)
        return WNNStatus_TypeError;
    *weights = NULL;
    if (!descriptor)
        descriptor = &defaults;
    if (!check(descriptor, &error))
        return error.status;
    struct allocator host;
    wnn_allocator_init(&host, NULL, 0);
    WNNSharedWeights made = wnn_allocate_zero(&host, sizeof *made);
    if (!made)
        return WNNStatus_OutOfMemory;
    wnn_allocator_init(&made->allocator, descriptor->allocator, 0);
    made->budget = descriptor->budget;
    wnnBudgetAddRef(made->budget);
    made->allocator.budget = wnn_budget_of(made->budget);
    atomic_init(&made->handles, 1);
    made->derived = wnn_derived_create_shared(&made->allocator, end, made);
    if (!made->derived) {
        end(made);
        return WNNStatus_OutOfMemory;
    }
    *weights = made;
    return WNNStatus_Success;
}

void wnnSharedWeightsAddRef(WNNSharedWeights weights)
{
    if (weights)
        atomic_fetch_add(&weights->handles, 1);
}

void wnnSharedWeightsRelease(WNNSharedWeights weights)
{
    if (weights && atomic_fetch_sub(&weights->handles, 1) == 1)
        wnn_derived_unref(weights->derived);
}

uint64_t wnnSharedWeightsGetByteLength(WNNSharedWeights weights)
{
    return weights ? wnn_derived_size(weights->derived).packed_bytes : 0;
}

struct derived *wnn_shared_weights_of(WNNSharedWeights weights)
{
    return weights ? weights->derived : NULL;
}

bool wnn_take_sharing(const WNNChainedStruct *chain, const char *what, WNNSharedWeights *weights,
                      struct error *error)
{
    *weights = NULL;
    if (error->status != WNNStatus_Success) // the chain may be anything
        return false;
    const WNNWeightSharing *sharing = wnn_chained(chain, WNNSType_WeightSharing);
    if (sharing && !sharing->weights)
        return wnn_fail(error, WNNStatus_TypeError, "%s: there are no weights to be shared", what);
    if (sharing) {
        *weights = sharing->weights;
        wnnSharedWeightsAddRef(*weights);
    }
    return true;
}
