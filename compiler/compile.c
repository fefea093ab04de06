// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include "compiler/passes.h"

#include <string.h>

// PASS(identifier, name, kind): what may be left out, and what a pass does to numbers.
//   NEEDED    a plan cannot do without it
//   EXACT     NaN, infinities, denormals and overflow come out as the separate operators give them, each of
//             which rounds its result to its type; of sums only the order may change, and what a pass of
//             this kind fuses is rounded in between by whoever computes it (backend.can_fuse)
//   CHECKED   the same where pass_context.strict says so, which the pass looks at itself
//   LOOSE     what lies between operators may be more precise than its type, so that overflow may vanish:
//             strictNumerics leaves the pass out
#define PASSES(PASS)                                                                                         \
    PASS(REMOVE_EMPTY, remove_empty, NEEDED)                                                                 \
    PASS(CANONICALIZE, canonicalize, EXACT)                                                                  \
    PASS(FOLD_CONSTANTS, fold_constants, EXACT)                                                              \
    PASS(ELIMINATE_COMMON, eliminate_common, EXACT)                                                          \
    PASS(PRUNE, prune, NEEDED)                                                                               \
    PASS(RECOGNIZE, recognize, LOOSE)                                                                        \
    PASS(FUSE_PADDING, fuse_padding, CHECKED)                                                                \
    PASS(FOLD_BATCH_NORMALIZATION, fold_batch_normalization, LOOSE)                                          \
    PASS(FUSE_ATTENTION, fuse_attention, LOOSE)                                                              \
    PASS(FUSE_BIAS, fuse_bias, LOOSE)                                                                        \
    PASS(CHOOSE_LAYOUT, choose_layout, EXACT)                                                                \
    PASS(ASSIGN_SLICES, assign_slices, EXACT)                                                                \
    PASS(FUSE_RESIDUAL, fuse_residual, LOOSE)                                                                \
    PASS(SINK_DEQUANTIZE, sink_dequantize, EXACT)                                                            \
    PASS(FUSE_ACTIVATIONS, fuse_activations, EXACT)                                                          \
    PASS(FUSE_QUANTIZED, fuse_quantized, LOOSE)                                                              \
    PASS(FUSE_ELEMENTWISE, fuse_elementwise, EXACT)                                                          \
    PASS(ATTACH_CHAINS, attach_chains, EXACT)                                                                \
    PASS(COPY_INPUTS, copy_inputs, NEEDED)

#define PASS(identifier, ...) identifier,
enum {
    PASSES(PASS) PASS_COUNT
};
#undef PASS

#define PASS(identifier, name, kind) {wnn_##name, kind},
static const struct pass {
    bool (*run)(struct pass_context *context, struct graph *graph);
    enum {
        NEEDED,
        EXACT,
        CHECKED,
        LOOSE
    } kind;
} passes[PASS_COUNT] = {PASSES(PASS)};
#undef PASS

#define PASS(identifier, name, kind) #name,
const char *const wnn_pass_names[PASS_COUNT + 1] = {PASSES(PASS)};
#undef PASS

// The order in which they run. Choosing a layout leaves transposes to be joined, and to be computed where
// they are of constants.
// clang-format off
static const unsigned char order[] = {
    REMOVE_EMPTY,
    CANONICALIZE,
    FOLD_CONSTANTS,
    ELIMINATE_COMMON,
    PRUNE,
    RECOGNIZE,
    FUSE_PADDING,
    FOLD_BATCH_NORMALIZATION,
    FUSE_ATTENTION,
    FUSE_BIAS,
    CHOOSE_LAYOUT,
    CANONICALIZE,
    SINK_DEQUANTIZE,
    FOLD_CONSTANTS,
    PRUNE,
    ASSIGN_SLICES,
    FUSE_RESIDUAL,
    FUSE_ACTIVATIONS,
    FUSE_QUANTIZED,
    FOLD_CONSTANTS,
    PRUNE,
    FUSE_ELEMENTWISE,
    ATTACH_CHAINS,
    COPY_INPUTS,
};
// clang-format on

uint32_t wnn_pass_bit(const char *name)
{
    for (unsigned i = 0; i < PASS_COUNT; i++)
        if (strcmp(wnn_pass_names[i], name) == 0)
            return UINT32_C(1) << i;
    return 0;
}

static bool runs(const struct compile_options *options, unsigned pass)
{
    if (passes[pass].kind == NEEDED)
        return true;
    return !options->backend->no_optimize && !(options->skip & UINT32_C(1) << pass) &&
           !(options->strict && passes[pass].kind == LOOSE);
}

// Whether a backend that wants quantized operands gets them.
static bool fuses_quantized(const struct compile_options *options)
{
    return options->backend->supports_quantized && runs(options, FUSE_QUANTIZED);
}

static bool run_passes(const struct compile_options *options, struct pass_context *context,
                       struct graph *graph)
{
    for (unsigned i = 0; i < sizeof order; i++) {
        const struct pass *pass = &passes[order[i]];
        const char *name = wnn_pass_names[order[i]];
        if (!runs(options, order[i]))
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
                                   .strict = options->strict,
                                   .keep_quantized = fuses_quantized(options)};
    *plan = (struct plan){0};
    bool done = !options->verify || wnn_verify(graph, "build", error);
    done = done && run_passes(options, &context, graph);
    if (done && options->backend->partition)
        done = options->backend->partition(options->state, graph, error);
    plan->graph = *graph;
    plan->interrupt = options->interrupt;
    plan->packings = options->packings;
    *graph = (struct graph){0};
    for (size_t i = 0; i < plan->graph.operand_count; i++)
        plan->graph.operands[i]->graph = &plan->graph;
    if (done && wnn_order_reads(&context, &plan->graph) && wnn_order_levels(&context, &plan->graph) &&
        wnn_plan_memory(&context, plan))
        return true;
    wnn_plan_free(plan);
    return false;
}

void wnn_plan_free(struct plan *plan)
{
    wnn_graph_free(&plan->graph);
}
