// SPDX-License-Identifier: Apache-2.0
//
// What contexts that share a budget may have together. Any thread.

#ifndef LIB_BUDGET_H_
#define LIB_BUDGET_H_

#include <webnn/webnn.h>

#include <stdatomic.h>

// The number of resources; a WNNResource minus 1 is an index.
#define WNN_RESOURCES 5

struct budget {
    struct resource {
        atomic_uint_fast64_t now, peak;
        uint64_t limit, threshold; // 0: none
        atomic_bool above;         // the threshold, and told so
    } resources[WNN_RESOURCES];
    WNNBudgetCallback callback; // or NULL
    void *userdata1, *userdata2;
};

// Adds to what is used of a resource; false if that would be more than the limit. `budget` NULL: always true.
bool wnn_budget_take(struct budget *budget, WNNResource resource, uint64_t amount);
void wnn_budget_give(struct budget *budget, WNNResource resource, uint64_t amount);

// Raises a peak to what there is now.
static inline void wnn_raise_peak(atomic_uint_fast64_t *peak, uint_fast64_t now)
{
    uint_fast64_t before = atomic_load(peak);
    while (now > before && !atomic_compare_exchange_weak(peak, &before, now))
        ;
}

#endif
