// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include "compiler/passes.h"

#include <string.h>

// PASS(identifier, name, always): `always`: a plan cannot do without it.
#define PASSES(PASS)                                                                                         \
    PASS(CANONICALISE, canonicalise, false)                                                                  \
    PASS(FOLD_CONSTANTS, fold_constants, false)                                                              \
    PASS(ELIMINATE_COMMON, eliminate_common, false)                                                          \
    PASS(PRUNE, prune, true)                                                                                 \
    PASS(RECOGNISE, recognise, false)                                                                        \
    PASS(FUSE_PADDING, fuse_padding, false)                                                                  \
    PASS(FOLD_BATCH_NORMALIZATION, fold_batch_normalization, false)                                          \
    PASS(FUSE_ATTENTION, fuse_attention, false)                                                              \
    PASS(FUSE_BIAS, fuse_bias, false)                                                                        \
    PASS(CHOOSE_LAYOUT, choose_layout, false)                                                                \
    PASS(FUSE_RESIDUAL, fuse_residual, false)                                                                \
    PASS(SINK_DEQUANTIZE, sink_dequantize, false)                                                            \
    PASS(FUSE_ACTIVATIONS, fuse_activations, false)                                                          \
    PASS(FUSE_QUANTIZED, fuse_quantized, false)                                                              \
    PASS(FUSE_ELEMENTWISE, fuse_elementwise, false)                                                          \
    PASS(ATTACH_CHAINS, attach_chains, false)

#define PASS(identifier, ...) identifier,
enum {
    PASSES(PASS) PASS_COUNT
};
#undef PASS

#define PASS(identifier, name, always) {wnn_##name, always},
static const struct pass {
    bool (*run)(struct pass_context *context, struct graph *graph);
    bool always;
} passes[PASS_COUNT] = {PASSES(PASS)};
#undef PASS

#define PASS(identifier, name, always) #name,
const char *const wnn_pass_names[PASS_COUNT + 1] = {PASSES(PASS)};
#undef PASS

// The order in which they run. Choosing a layout leaves transposes to be joined, and to be computed where
// they are of constants.
// clang-format off
static const unsigned char order[] = {
    CANONICALISE,
    FOLD_CONSTANTS,
    ELIMINATE_COMMON,
    PRUNE,
    RECOGNISE,
    FUSE_PADDING,
    FOLD_BATCH_NORMALIZATION,
    FUSE_ATTENTION,
    FUSE_BIAS,
    CHOOSE_LAYOUT,
    CANONICALISE,
    SINK_DEQUANTIZE,
    FOLD_CONSTANTS,
    PRUNE,
    FUSE_RESIDUAL,
    FUSE_ACTIVATIONS,
    FUSE_QUANTIZED,
    FOLD_CONSTANTS,
    PRUNE,
    FUSE_ELEMENTWISE,
    ATTACH_CHAINS,
};
// clang-format on

uint32_t wnn_pass_bit(const char *name)
{
    for (unsigned i = 0; i < PASS_COUNT; i++)
        if (strcmp(wnn_pass_names[i], name) == 0)
            return UINT32_C(1) << i;
    return 0;
}

// Whether a backend that wants quantised operands gets them.
static bool fuses_quantized(const struct compile_options *options)
{
    return options->backend->quantized && !(options->skip & 1u << FUSE_QUANTIZED);
}

static bool run_passes(const struct compile_options *options, struct pass_context *context,
                       struct graph *graph)
{
    for (unsigned i = 0; i < sizeof order; i++) {
        const struct pass *pass = &passes[order[i]];
        const char *name = wnn_pass_names[order[i]];
        bool skip = options->backend->literal || options->skip & UINT32_C(1) << order[i];
        if (skip && !pass->always)
            continue;
        if (order[i] == FUSE_QUANTIZED)
            context->keep_quantized = false;
        if (!wnn_interrupt_check(context->interrupt, context->error) || !pass->run(context, graph))
            return false;
        if (options->observe)
            options->observe(options->observer, name, graph);
        if (options->verify && !wnn_verify(graph, name, context->error))
            return false;
    }
    return true;
}

bool wnn_compile(const struct compile_options *options, struct graph *graph, struct plan *plan,
                 struct error *error)
{
    struct pass_context context = {.backend = options->backend,
                                   .state = options->state,
                                   .allocator = options->allocator,
                                   .error = error,
                                   .interrupt = options->interrupt,
                                   .fold_work = WNN_FOLD_WORK(graph->constant_bytes),
                                   .fold_bytes = WNN_FOLD_BYTES(graph->constant_bytes),
                                   .keep_quantized = fuses_quantized(options)};
    *plan = (struct plan){0};
    bool done = !options->verify || wnn_verify(graph, "build", error);
    done = done && run_passes(options, &context, graph);
    if (done && options->backend->partition)
        options->backend->partition(options->state, graph);
    plan->graph = *graph;
    plan->interrupt = options->interrupt;
    *graph = (struct graph){0};
    for (size_t i = 0; i < plan->graph.operand_count; i++)
        plan->graph.operands[i]->graph = &plan->graph;
    if (done && wnn_order_levels(&context, &plan->graph) && wnn_plan_memory(&context, plan))
        return true;
    wnn_plan_free(plan);
    return false;
}

void wnn_plan_free(struct plan *plan)
{
    wnn_graph_free(&plan->graph);
}
