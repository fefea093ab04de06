// SPDX-License-Identifier: Apache-2.0
#include "lib/budget.h"

static void tell(struct budget *budget, WNNResource resource, uint64_t amount)
{
    struct resource *r = &budget->resources[resource - 1];
    if (!atomic_exchange(&r->above, true) && budget->callback)
        budget->callback(resource, amount, budget->userdata1, budget->userdata2);
}

bool wnn_budget_take(struct budget *budget, WNNResource resource, uint64_t amount)
{
    if (!budget || amount == 0)
        return true;
    struct resource *r = &budget->resources[resource - 1];
    uint_fast64_t before = atomic_load(&r->now);
    do
        if (amount > UINT64_MAX - before || (r->limit != 0 && before + amount > r->limit))
            return false;
    while (!atomic_compare_exchange_weak(&r->now, &before, before + amount));
    wnn_raise_peak(&r->peak, before + amount);
    if (r->threshold != 0 && before + amount >= r->threshold && !atomic_load(&r->above))
        tell(budget, resource, before + amount);
    return true;
}

void wnn_budget_give(struct budget *budget, WNNResource resource, uint64_t amount)
{
    if (!budget || amount == 0)
        return;
    struct resource *r = &budget->resources[resource - 1];
    uint_fast64_t now = atomic_fetch_sub(&r->now, amount) - amount;
    if (r->threshold != 0 && now < r->threshold)
        atomic_store(&r->above, false);
}
