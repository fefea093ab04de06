// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include "compiler/passes.h"

#include <string.h>

// The passes by their names. `always`: a plan cannot do without it.
enum {
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
    FUSE_RESIDUAL,
    SINK_DEQUANTIZE,
    FUSE_ACTIVATIONS,
    FUSE_QUANTIZED,
    FUSE_ELEMENTWISE,
    PASS_COUNT
};
static const struct pass {
    bool (*run)(struct pass_context *context, struct graph *graph);
    bool always;
} passes[PASS_COUNT] = {
    [CANONICALISE] = {wnn_canonicalise, false},
    [FOLD_CONSTANTS] = {wnn_fold_constants, false},
    [ELIMINATE_COMMON] = {wnn_eliminate_common, false},
    [PRUNE] = {wnn_prune, true},
    [RECOGNISE] = {wnn_recognise, false},
    [FUSE_PADDING] = {wnn_fuse_padding, false},
    [FOLD_BATCH_NORMALIZATION] = {wnn_fold_batch_normalization, false},
    [FUSE_ATTENTION] = {wnn_fuse_attention, false},
    [FUSE_BIAS] = {wnn_fuse_bias, false},
    [CHOOSE_LAYOUT] = {wnn_choose_layout, false},
    [FUSE_RESIDUAL] = {wnn_fuse_residual, false},
    [SINK_DEQUANTIZE] = {wnn_sink_dequantize, false},
    [FUSE_ACTIVATIONS] = {wnn_fuse_activations, false},
    [FUSE_QUANTIZED] = {wnn_fuse_quantized, false},
    [FUSE_ELEMENTWISE] = {wnn_fuse_elementwise, false},
};
const char *const wnn_pass_names[PASS_COUNT + 1] = {
    [CANONICALISE] = "canonicalise",
    [FOLD_CONSTANTS] = "fold_constants",
    [ELIMINATE_COMMON] = "eliminate_common",
    [PRUNE] = "prune",
    [RECOGNISE] = "recognise",
    [FUSE_PADDING] = "fuse_padding",
    [FOLD_BATCH_NORMALIZATION] = "fold_batch_normalization",
    [FUSE_ATTENTION] = "fuse_attention",
    [FUSE_BIAS] = "fuse_bias",
    [CHOOSE_LAYOUT] = "choose_layout",
    [FUSE_RESIDUAL] = "fuse_residual",
    [SINK_DEQUANTIZE] = "sink_dequantize",
    [FUSE_ACTIVATIONS] = "fuse_activations",
    [FUSE_QUANTIZED] = "fuse_quantized",
    [FUSE_ELEMENTWISE] = "fuse_elementwise",
};

// The order in which they run. Choosing a layout leaves transposes to be joined, and to be computed where
// they are of constants.
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
};

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

static bool run_passes(const struct compile_options *options, struct pass_context *context, struct graph *graph)
{
    for (unsigned i = 0; i < sizeof order; i++) {
        const struct pass *pass = &passes[order[i]];
        const char *name = wnn_pass_names[order[i]];
        bool skip = options->backend->literal || options->skip & UINT32_C(1) << order[i];
        if (skip && !pass->always)
            continue;
        if (order[i] == FUSE_QUANTIZED)
            context->keep_quantized = false;
        if (!pass->run(context, graph))
            return false;
        if (options->observe)
            options->observe(options->observer, name, graph);
        if (options->verify && !wnn_verify(graph, name, context->error))
            return false;
    }
    return true;
}

bool wnn_compile(const struct compile_options *options, struct graph *graph, struct plan *plan, struct error *error)
{
    struct pass_context context = {options->backend, options->state, options->allocator, error,
                                   fuses_quantized(options)};
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
