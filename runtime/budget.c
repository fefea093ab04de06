// SPDX-License-Identifier: Apache-2.0
//
// Budgets: lib/budget.h as counted objects.

#include "ops/builder.h"
#include "runtime/budget.h"

#include "lib/allocator.h"
#include "lib/status.h"

struct WNNBudgetImpl {
    struct budget budget;   // first
    atomic_uint references; // handles and contexts
};

// In the order of WNNResource.
static void spread(const WNNResources *from, uint64_t to[WNN_RESOURCES])
{
    const uint64_t amounts[WNN_RESOURCES] = {from->hostBytes, from->deviceBytes, from->threads, from->objects,
                                             from->work};
    for (int i = 0; i < WNN_RESOURCES; i++)
        to[i] = amounts[i];
}

WNNStatus wnnCreateBudget(const WNNBudgetDescriptor *descriptor, WNNBudget *budget)
{
    static const WNNLimits limits_of_strings = WNN_LIMITS_INIT;
    struct error error = {0};
    if (!budget)
        return WNNStatus_TypeError;
    *budget = NULL;
    if (!descriptor || !wnn_check_chain(descriptor->nextInChain, 0, "budget descriptor", &error) ||
        !wnn_check_string(&limits_of_strings, "budget label", descriptor->label, &error) ||
        !wnn_check_chain(descriptor->limits.nextInChain, 0, "limits of a budget", &error) ||
        !wnn_check_chain(descriptor->thresholds.nextInChain, 0, "thresholds of a budget", &error))
        return WNNStatus_TypeError;
    struct allocator host;
    wnn_allocator_init(&host, NULL, 0);
    WNNBudget made = wnn_allocate_zero(&host, sizeof *made);
    if (!made)
        return WNNStatus_OutOfMemory;
    uint64_t limits[WNN_RESOURCES], thresholds[WNN_RESOURCES];
    spread(&descriptor->limits, limits);
    spread(&descriptor->thresholds, thresholds);
    for (int i = 0; i < WNN_RESOURCES; i++) {
        made->budget.resources[i].limit = limits[i];
        made->budget.resources[i].threshold = thresholds[i];
    }
    made->budget.callback = descriptor->callback;
    made->budget.userdata1 = descriptor->userdata1;
    made->budget.userdata2 = descriptor->userdata2;
    atomic_init(&made->references, 1);
    *budget = made;
    return WNNStatus_Success;
}

void wnnBudgetAddRef(WNNBudget budget)
{
    if (budget)
        atomic_fetch_add(&budget->references, 1);
}

void wnnBudgetRelease(WNNBudget budget)
{
    if (!budget || atomic_fetch_sub(&budget->references, 1) != 1)
        return;
    struct allocator host;
    wnn_allocator_init(&host, NULL, 0);
    wnn_release(&host, budget);
}

struct budget *wnn_budget_of(WNNBudget budget)
{
    return budget ? &budget->budget : NULL;
}

static void gather(const struct budget *budget, bool peak, WNNResources *to)
{
    uint64_t amounts[WNN_RESOURCES];
    for (int i = 0; i < WNN_RESOURCES; i++)
        amounts[i] = atomic_load(peak ? &budget->resources[i].peak : &budget->resources[i].now);
    to->hostBytes = amounts[0];
    to->deviceBytes = amounts[1];
    to->threads = amounts[2];
    to->objects = amounts[3];
    to->work = amounts[4];
}

WNNStatus wnnBudgetGetResources(WNNBudget budget, WNNResources *now, WNNResources *peak)
{
    struct error error = {0};
    if (!budget || !wnn_check_outputs(now, now != NULL, sizeof *now, "resources", &error) ||
        !wnn_check_outputs(peak, peak != NULL, sizeof *peak, "resources", &error))
        return WNNStatus_TypeError;
    if (now)
        gather(&budget->budget, false, now);
    if (peak)
        gather(&budget->budget, true, peak);
    return WNNStatus_Success;
}
