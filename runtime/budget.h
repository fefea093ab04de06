// SPDX-License-Identifier: Apache-2.0
#ifndef RUNTIME_BUDGET_H_
#define RUNTIME_BUDGET_H_

#include "lib/budget.h"

// NULL of NULL. Valid as long as the budget is held.
struct budget *wnn_budget_of(WNNBudget budget);

#endif
