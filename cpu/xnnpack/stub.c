// SPDX-License-Identifier: Apache-2.0
//
// For builds without XNNPACK: no node is accepted, so that of the rest nothing is ever called.

#include "cpu/xnnpack/rules.h"
#include "cpu/xnnpack/xnnpack.h"

#include "lib/status.h"

bool wnn_xnnpack_preload(struct error *error)
{
    (void)error;
    return true;
}

bool wnn_xnnpack_accepts(const struct node *node, const char **refusal)
{
#define F(id, rule) [WNN_OP_##id] = "this build has no XNNPACK",
    static const char *const refusals[WNN_OP_END] = {XNNPACK_OPERATORS(F)};
#undef F
    *refusal = refusals[node->op];
    return false;
}

const char *wnn_xnnpack_edition(void)
{
    return "no XNNPACK";
}

size_t wnn_xnnpack_scratch(const struct node *node)
{
    (void)node;
    return 0;
}

bool wnn_xnnpack_create(const struct node *node, struct allocator *allocator, const struct parallel *parallel,
                        struct xnnpack_step **step, struct error *error)
{
    (void)node;
    (void)allocator;
    (void)parallel;
    *step = NULL;
    return wnn_fail(error, WNNStatus_UnknownError, "this build has no XNNPACK");
}

void wnn_xnnpack_destroy(struct xnnpack_step *step)
{
    (void)step;
}

uint64_t wnn_xnnpack_bytes(const struct xnnpack_step *step)
{
    (void)step;
    return 0;
}

bool wnn_xnnpack_run(struct xnnpack_step *step, const struct kernel_call *call)
{
    (void)step;
    (void)call;
    return false;
}
