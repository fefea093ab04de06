// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include "compiler/passes.h"

// The order of the passes. `always`: a plan cannot do without it.
static const struct pass {
    bool (*run)(struct pass_context *context, struct graph *graph);
    bool always;
} passes[] = {
    {wnn_canonicalise, false},
    {wnn_fold_constants, false},
    {wnn_prune, true},
    {wnn_fuse_activations, false},
};
const char *const wnn_pass_names[] = {"canonicalise", "fold_constants", "prune", "fuse_activations", NULL};
_Static_assert(sizeof passes / sizeof passes[0] + 1 == sizeof wnn_pass_names / sizeof wnn_pass_names[0],
               "every pass has a name");

static bool run_passes(const struct compile_options *options, struct pass_context *context, struct graph *graph)
{
    for (unsigned i = 0; wnn_pass_names[i]; i++) {
        bool skip = options->backend->literal || options->skip & 1u << i;
        if (skip && !passes[i].always)
            continue;
        if (!passes[i].run(context, graph))
            return false;
        if (options->observe)
            options->observe(options->observer, wnn_pass_names[i], graph);
        if (options->verify && !wnn_verify(graph, wnn_pass_names[i], context->error))
            return false;
    }
    return true;
}

bool wnn_compile(const struct compile_options *options, struct graph *graph, struct plan *plan, struct error *error)
{
    struct pass_context context = {options->backend, options->state, options->allocator, error};
    *plan = (struct plan){0};
    bool done = !options->verify || wnn_verify(graph, "build", error);
    done = done && run_passes(options, &context, graph);
    if (done && options->backend->partition)
        options->backend->partition(options->state, graph);
    plan->graph = *graph;
    *graph = (struct graph){0};
    for (size_t i = 0; i < plan->graph.operand_count; i++)
        plan->graph.operands[i]->graph = &plan->graph;
    if (done && wnn_plan_memory(&context, plan))
        return true;
    wnn_plan_free(plan);
    return false;
}

void wnn_plan_free(struct plan *plan)
{
    wnn_graph_free(&plan->graph);
}
