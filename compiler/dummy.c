// SPDX-License-Identifier: Apache-2.0
//
// The backend that computes nothing: for tests of everything in front of a backend.

#include "compiler/backend.h"

#include <string.h>

static bool create_dummy(const struct backend_options *options, void **state, struct error *error)
{
    (void)options;
    (void)error;
    *state = NULL;
    return true;
}

static void destroy(void *state)
{
    (void)state;
}

// Activations, as every backend does.
static bool can_fuse(void *state, const struct node *node)
{
    (void)state;
    return node->fused->operand_count == 0;
}

static bool lower(void *state, struct plan *plan, void **executable, struct error *error)
{
    (void)state;
    (void)error;
    *executable = (void *)(uintptr_t)plan;
    return true;
}

static void release(void *state, void *executable)
{
    (void)state;
    (void)executable;
}

static bool execute(void *state, void *executable, const struct bindings *bindings, struct error *error)
{
    (void)state;
    (void)error;
    struct plan *plan = executable;
    for (size_t i = 0; i < plan->graph.output_count; i++)
        if (bindings->outputs[i])
            memset(bindings->outputs[i], 0, wnn_descriptor_bytes(&plan->graph.outputs[i].operand->type));
    return true;
}

const struct backend wnn_backend_dummy = {
    .name = "dummy",
    .preferred_layout = WNNInputOperandLayout_NHWC,
    .create = create_dummy,
    .destroy = destroy,
    .can_fuse = can_fuse,
    .lower = lower,
    .release = release,
    .execute = execute,
};
