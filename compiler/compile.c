// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include "compiler/passes.h"
#include "compiler/resolve.h"

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
    PASS(TRIM_FILTERS, trim_filters, LOOSE)                                                                  \
    PASS(FOLD_CONSTANTS, fold_constants, EXACT)                                                              \
    PASS(ELIMINATE_COMMON, eliminate_common, EXACT)                                                          \
    PASS(PRUNE, prune, NEEDED)                                                                               \
    PASS(RECOGNIZE, recognize, LOOSE)                                                                        \
    PASS(FUSE_PADDING, fuse_padding, CHECKED)                                                                \
    PASS(FOLD_BATCH_NORMALIZATION, fold_batch_normalization, LOOSE)                                          \
    PASS(MERGE_BRANCHES, merge_branches, LOOSE)                                                              \
    PASS(FUSE_ROTARY, fuse_rotary, LOOSE)                                                                    \
    PASS(SPLIT_PRODUCTS, split_products, EXACT)                                                              \
    PASS(JOIN_PRODUCTS, join_products, EXACT)                                                                \
    PASS(FUSE_ATTENTION, fuse_attention, LOOSE)                                                              \
    PASS(GROUP_ROWS, group_rows, EXACT)                                                                      \
    PASS(EXPAND_POWERS, expand_powers, LOOSE)                                                                \
    PASS(FIND_BANDS, find_bands, LOOSE)                                                                      \
    PASS(FIND_ATTENDED, find_attended, LOOSE)                                                                \
    PASS(FUSE_BIAS, fuse_bias, LOOSE)                                                                        \
    PASS(UNFOLD_PATCHES, unfold_patches, EXACT)                                                              \
    PASS(HOIST_ELEMENTWISE, hoist_elementwise, EXACT)                                                        \
    PASS(CHOOSE_LAYOUT, choose_layout, EXACT)                                                                \
    PASS(JOIN_TRANSPOSES, join_transposes, EXACT)                                                            \
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

// The order in which they run. Branches that are merged may be followed by what is to be folded. Choosing a
// layout leaves transposes to be joined, and to be computed where they are of constants.
// clang-format off
static const unsigned char order[] = {
    REMOVE_EMPTY,
    CANONICALIZE,
    TRIM_FILTERS,
    FOLD_CONSTANTS,
    ELIMINATE_COMMON,
    PRUNE,
    RECOGNIZE,
    FUSE_PADDING,
    FOLD_BATCH_NORMALIZATION,
    MERGE_BRANCHES,
    FOLD_BATCH_NORMALIZATION,
    FUSE_ROTARY,
    SPLIT_PRODUCTS,
    JOIN_PRODUCTS,
    FUSE_ATTENTION,
    FIND_BANDS,
    FIND_ATTENDED,
    GROUP_ROWS,
    EXPAND_POWERS,
    FUSE_BIAS,
    UNFOLD_PATCHES,
    HOIST_ELEMENTWISE,
    CHOOSE_LAYOUT,
    CANONICALIZE,
    JOIN_TRANSPOSES,
    CANONICALIZE,
    ELIMINATE_COMMON,
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

uint32_t wnn_supported_types(const struct backend *backend, enum op op, const struct op_row *row)
{
    uint32_t types = row->types;
    if (types & WNN_SAME) {
        unsigned wanted = types & ~WNN_SAME, index = 0;
        const struct op_row *other = wnn_ops[op].rows;
        while (other->name && !(wnn_op_row_is_input(other) && index++ == wanted))
            other++;
        types = other->name ? wnn_supported_types(backend, op, other) : UINT32_MAX;
    }
    return backend->types ? types & backend->types(op, row) : types;
}

// Those that say the same of a graph with sizes that are not known as of all sizes that these may be: what
// they leave out is right at all of them, and what they compute depends on none.
static const unsigned char early[] = {FOLD_CONSTANTS, ELIMINATE_COMMON, PRUNE, RECOGNIZE,
                                      FOLD_BATCH_NORMALIZATION};

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

static bool resolves(const struct compile_options *options)
{
    return options->backend->resolves && options->backend->resolves(options->state);
}

// Constants with more bytes are made when they are packed, or not if somebody shares what was packed of them.
// Plans that share with no others than those of their recorded graph have made them once. Who watches the
// passes sees all of them.
static uint64_t lazy_bytes(const struct compile_options *options)
{
    if (!resolves(options) || !options->resolver || options->observe)
        return UINT64_MAX;
    return options->shared ? 1024 : options->derived ? UINT64_MAX : 65536;
}

static bool run_passes(const struct compile_options *options, const unsigned char *list, size_t count,
                       struct pass_context *context, struct graph *graph)
{
    for (size_t i = 0; i < count; i++) {
        const struct pass *pass = &passes[list[i]];
        const char *name = wnn_pass_names[list[i]];
        if (!runs(options, list[i]))
            continue;
        if (list[i] == FUSE_QUANTIZED)
            context->keep_quantized = false;
        if (list[i] == CHOOSE_LAYOUT)
            context->lazy_bytes = lazy_bytes(options);
        if (!wnn_interrupt_check(context->interrupt, context->error) || !pass->run(context, graph))
            return false;
        if (options->observe)
            options->observe(options->observer, name, graph);
        if (options->verify && !wnn_verify(graph, name, context->error))
            return false;
    }
    return true;
}

static struct pass_context begin(const struct compile_options *options, const struct graph *graph,
                                 struct error *error)
{
    return (struct pass_context){.backend = options->backend,
                                 .state = options->state,
                                 .allocator = options->allocator,
                                 .error = error,
                                 .interrupt = options->interrupt,
                                 .derived = options->derived,
                                 .lazy_bytes = UINT64_MAX,
                                 .fold_work = WNN_FOLD_WORK(graph->constant_bytes),
                                 .fold_bytes = WNN_FOLD_BYTES(graph->constant_bytes),
                                 .strict = options->strict,
                                 .portable = options->portable,
                                 .explainer = options->explainer.explain ? &options->explainer : NULL,
                                 .keep_quantized = fuses_quantized(options)};
}

// Whether all has to wait for sizes: what has no elements is for remove_empty, which comes before all other
// passes, and what has no rank is for none.
static bool must_wait(const struct graph *graph)
{
    for (size_t i = 0; i < graph->operand_count; i++) {
        if (graph->operands[i]->unranked)
            return true;
        for (unsigned d = 0; d < graph->operands[i]->type.shape.rank; d++)
            if (graph->operands[i]->type.shape.dim[d] == 0)
                return true;
    }
    return false;
}

static void set_target(const struct compile_options *options, struct graph *graph)
{
    if (options->backend->target)
        wnn_graph_set_target(graph, options->backend->target(options->state));
}

bool wnn_compile_recorded(const struct compile_options *options, struct graph *graph, struct error *error)
{
    struct pass_context context = begin(options, graph, error);
    set_target(options, graph);
    return options->backend->no_optimize || must_wait(graph) ||
           run_passes(options, early, sizeof early, &context, graph);
}

bool wnn_compile(const struct compile_options *options, struct graph *graph, struct plan *plan,
                 struct error *error)
{
    struct pass_context context = begin(options, graph, error);
    *plan = (struct plan){0};
    set_target(options, graph);
    bool done = !options->verify || wnn_verify(graph, "build", error);
    done = done && (options->loaded || run_passes(options, order, sizeof order, &context, graph));
    if (done && options->resolver && options->resolver->find && !resolves(options))
        done = wnn_resolve_all(options->resolver, graph, error);
    plan->graph = *graph;
    plan->interrupt = options->interrupt;
    plan->savable = options->savable;
    plan->weightless = options->weightless;
    plan->resolver = options->resolver;
    plan->derived = options->derived ? options->derived : options->shared;
    plan->workspace = options->workspace;
    *graph = (struct graph){0};
    for (size_t i = 0; i < plan->graph.operand_count; i++)
        plan->graph.operands[i]->graph = &plan->graph;
    if (done && options->backend->partition)
        done = options->backend->partition(options->state, plan, error);
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
