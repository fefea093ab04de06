// SPDX-License-Identifier: Apache-2.0
//
// Plans of memory: nothing that is needed at one time shares bytes, and the arena is hardly larger than what
// the best of many plans, searched for at leisure, needs.

#include "compiler/plan.h"
#include "conformance/unit/runtime_fixture.h"
#include "tools/bench_models.h"
#include "tools/load.h"

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(random_state >> 8) * limit >> 24);
}

static void *zeros(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    REQUIRE(memory);
    return memory;
}

// ---------------------------------------------------------------------------------------------------------------
// What shares memory on purpose
// ---------------------------------------------------------------------------------------------------------------

// A piece of the arena with the operands that lie in it: one, or views of one another; and the levels on
// which it is needed.
struct piece {
    const struct operand *whole; // NULL: scratch
    size_t offset, bytes, first, last;
};

static bool is_in_arena(const struct operand *operand)
{
    return operand->placement.place == PLACE_ARENA || operand->placement.place == PLACE_OUTPUT;
}

static bool lies_within(const struct operand *part, const struct operand *whole)
{
    size_t begin = whole->placement.offset, end = begin + wnn_descriptor_bytes(&whole->type);
    return is_in_arena(part) && part->placement.place == whole->placement.place &&
           part->placement.offset >= begin &&
           part->placement.offset + wnn_descriptor_bytes(&part->type) <= end;
}

// By operand: the operand that it lies in, itself if that is none. What a node that is not run makes is its
// input's, what concat joins in place is its output's.
static const struct operand **find_wholes(const struct graph *g)
{
    const struct operand **whole = zeros(g->operand_count, sizeof *whole);
    for (size_t i = 0; i < g->operand_count; i++)
        whole[i] = g->operands[i];
    for (size_t i = 0; i < g->node_count; i++) {
        const struct node *node = g->nodes[i];
        if (node->op != WNN_OP_concat && node->lowering == WNN_LOWER_VIEW)
            for (unsigned j = 0; j < node->out_count; j++)
                whole[node->out[j]->index] = node->in[0];
    }
    for (size_t i = 0; i < g->node_count; i++) {
        const struct node *node = g->nodes[i];
        for (unsigned j = 0; node->op == WNN_OP_concat && j < node->in_count; j++) {
            const struct operand *part = node->in[j];
            while (whole[part->index] != part)
                part = whole[part->index];
            if (lies_within(part, node->out[0]) && part->producer && !part->placement.staged)
                whole[part->index] = node->out[0];
        }
    }
    for (size_t i = 0; i < g->operand_count; i++)
        while (whole[whole[i]->index] != whole[i])
            whole[i] = whole[whole[i]->index];
    return whole;
}

static size_t padded(size_t bytes)
{
    return wnn_aligned(bytes + WNN_SLACK);
}

static size_t find_pieces(const struct graph *g, const struct operand *const *whole, struct piece *pieces)
{
    struct piece **of = zeros(g->operand_count, sizeof *of);
    size_t count = 0;
    for (size_t i = 0; i < g->operand_count; i++) {
        const struct operand *x = g->operands[i];
        if (whole[i] != x || (!is_in_arena(x) && !x->placement.staged))
            continue;
        of[i] = &pieces[count++];
        *of[i] = (struct piece){x, x->placement.offset, wnn_descriptor_bytes(&x->type),
                                x->producer ? x->producer->level : 0, 0};
    }
    for (size_t i = 0; i < g->node_count; i++) {
        const struct node *node = g->nodes[i];
        unsigned in_count = wnn_operand_count(node);
        for (unsigned j = 0; j < in_count + node->out_count; j++) {
            const struct operand *x = j < in_count ? node->in[j] : node->out[j - in_count];
            struct piece *piece = x ? of[whole[x->index]->index] : NULL;
            if (!piece)
                continue;
            piece->first = node->level < piece->first ? node->level : piece->first;
            piece->last = node->level > piece->last ? node->level : piece->last;
        }
        if (node->scratch_bytes)
            pieces[count++] =
                (struct piece){NULL, node->scratch_offset, node->scratch_bytes, node->level, node->level};
    }
    for (size_t i = 0; i < g->output_count; i++)
        if (of[whole[g->outputs[i].operand->index]->index])
            of[whole[g->outputs[i].operand->index]->index]->last = SIZE_MAX;
    free(of);
    return count;
}

static bool reads(const struct operand *const *whole, const struct node *node, const struct operand *operand)
{
    for (unsigned j = 0; j < wnn_operand_count(node); j++)
        if (node->in[j] && whole[node->in[j]->index] == operand)
            return true;
    return false;
}

// Whether `b` may begin where `a` ends: output 0 of a node in place of one of its inputs, which nobody else
// reads on that level.
static bool is_in_place(const struct graph *g, const struct operand *const *whole, const struct piece *a,
                        const struct piece *b)
{
    if (!a->whole || !b->whole || !b->whole->producer || b->whole->output != 0 || a->last != b->first ||
        a->offset != b->offset || a->bytes != b->bytes)
        return false;
    const struct node *node = b->whole->producer;
    for (size_t i = 0; i < g->node_count; i++)
        if (g->nodes[i] != node && g->nodes[i]->level == node->level && reads(whole, g->nodes[i], a->whole))
            return false;
    return reads(whole, node, a->whole);
}

// Nothing that is needed at the same time shares bytes, everything is inside of the arena and aligned.
static void require_disjoint(const struct plan *plan)
{
    const struct graph *g = &plan->graph;
    const struct operand **whole = find_wholes(g);
    struct piece *pieces = zeros(g->operand_count + g->node_count, sizeof *pieces);
    size_t count = find_pieces(g, whole, pieces);
    for (size_t i = 0; i < count; i++) {
        const struct piece *a = &pieces[i];
        REQUIRE(a->offset % WNN_ALIGNMENT == 0);
        REQUIRE(a->offset + a->bytes + WNN_SLACK <= plan->arena_bytes);
        for (size_t j = 0; j < i; j++) {
            const struct piece *b = &pieces[j];
            bool together = a->first <= b->last && b->first <= a->last;
            bool share = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
            REQUIRE(!together || !share || is_in_place(g, whole, a, b) || is_in_place(g, whole, b, a));
        }
    }
    for (size_t i = 0; i < g->node_count; i++) // parts do not overlap
        for (unsigned j = 0; g->nodes[i]->op == WNN_OP_concat && j < g->nodes[i]->in_count; j++)
            for (unsigned k = 0; k < j; k++) {
                const struct operand *a = g->nodes[i]->in[j], *b = g->nodes[i]->in[k];
                REQUIRE(a == b || !is_in_arena(a) || !is_in_arena(b) || whole[a->index] != whole[b->index] ||
                        whole[a->index] == a || whole[b->index] == b ||
                        a->placement.offset + wnn_descriptor_bytes(&a->type) <= b->placement.offset ||
                        b->placement.offset + wnn_descriptor_bytes(&b->type) <= a->placement.offset ||
                        a->placement.offset == b->placement.offset);
            }
    free(pieces);
    free(whole);
}

// ---------------------------------------------------------------------------------------------------------------
// The least that any plan needs
// ---------------------------------------------------------------------------------------------------------------

// A graph in which nodes are run in one order or another.
struct schedule {
    const struct graph *g;
    const struct backend *backend;
    const struct operand **whole;
    unsigned *reads;   // by whole: reads that are to come, of all of its parts
    unsigned *waiting; // by node: inputs that are not there yet
    bool *live;        // by whole
    size_t now, peak;
};

static void begin_schedule(struct schedule *s)
{
    const struct graph *g = s->g;
    s->now = s->peak = 0;
    memset(s->reads, 0, g->operand_count * sizeof *s->reads);
    memset(s->live, 0, g->operand_count * sizeof *s->live);
    for (size_t i = 0; i < g->node_count; i++) {
        s->waiting[i] = 0;
        for (unsigned j = 0; j < wnn_operand_count(g->nodes[i]); j++)
            if (g->nodes[i]->in[j]) {
                s->reads[s->whole[g->nodes[i]->in[j]->index]->index]++;
                s->waiting[i] += g->nodes[i]->in[j]->producer != NULL;
            }
    }
    for (size_t i = 0; i < g->output_count; i++)
        s->reads[s->whole[g->outputs[i].operand->index]->index]++;
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i].operand->placement.staged) {
            s->live[g->inputs[i].operand->index] = true;
            s->now += padded(wnn_descriptor_bytes(&g->inputs[i].operand->type));
        }
}

static size_t bytes_of(const struct operand *operand)
{
    return is_in_arena(operand) || operand->placement.staged ? padded(wnn_descriptor_bytes(&operand->type))
                                                             : 0;
}

// Runs a node: what lives then, and how much more than before while it runs.
static void cost_of(const struct schedule *s, const struct node *node, size_t *made, size_t *ended,
                    size_t *shared)
{
    *made = *ended = *shared = 0;
    const struct operand *last = NULL;
    for (unsigned j = 0; j < node->out_count; j++) {
        const struct operand *whole = s->whole[node->out[j]->index];
        *made += whole == last || s->live[whole->index] ? 0 : bytes_of(whole);
        last = whole;
    }
    for (unsigned j = 0; j < wnn_operand_count(node); j++) {
        const struct operand *whole = node->in[j] ? s->whole[node->in[j]->index] : NULL;
        unsigned reads = 0, first = j;
        for (unsigned k = 0; whole && k < wnn_operand_count(node); k++)
            if (node->in[k] && s->whole[node->in[k]->index] == whole) {
                reads++;
                first = k < first ? k : first;
            }
        if (!whole || first != j || s->reads[whole->index] != reads)
            continue;
        *ended += s->live[whole->index] ? bytes_of(whole) : 0;
        if (wnn_descriptor_bytes(&whole->type) == wnn_descriptor_bytes(&node->out[0]->type) &&
            s->backend->in_place && s->backend->in_place(NULL, node, j))
            *shared = *made < bytes_of(whole) ? *made : bytes_of(whole);
    }
}

static void run_node(struct schedule *s, const struct node *node)
{
    size_t made, ended, shared, scratch = node->scratch_bytes ? padded(node->scratch_bytes) : 0;
    cost_of(s, node, &made, &ended, &shared);
    size_t need = s->now + made - shared + scratch;
    s->peak = need > s->peak ? need : s->peak;
    s->now += made - ended;
    for (unsigned j = 0; j < node->out_count; j++)
        s->live[s->whole[node->out[j]->index]->index] = true;
    for (unsigned j = 0; j < wnn_operand_count(node); j++)
        if (node->in[j] && --s->reads[s->whole[node->in[j]->index]->index] == 0)
            s->live[s->whole[node->in[j]->index]->index] = false;
}

// The peak of an order. `how` 0: as it is; 1: whatever leaves least; above: at random.
static size_t peak_of(struct schedule *s, unsigned how)
{
    const struct graph *g = s->g;
    begin_schedule(s);
    bool *done = zeros(g->node_count, sizeof *done);
    for (size_t n = 0; n < g->node_count; n++) {
        size_t chosen = n, count = 0;
        double least = 1e300;
        for (size_t i = 0; how && i < g->node_count; i++) {
            size_t made, ended, shared;
            if (done[i] || s->waiting[i] != 0)
                continue;
            cost_of(s, g->nodes[i], &made, &ended, &shared);
            double cost = how == 1                     ? (double)made - (double)ended
                          : random_below(++count) == 0 ? -(double)count
                                                       : 1;
            if (cost < least) {
                least = cost;
                chosen = i;
            }
        }
        done[chosen] = true;
        run_node(s, g->nodes[chosen]);
        for (size_t i = 0; how && i < g->node_count; i++)
            for (unsigned j = 0; j < wnn_operand_count(g->nodes[i]); j++)
                if (g->nodes[i]->in[j] && g->nodes[i]->in[j]->producer == g->nodes[chosen])
                    s->waiting[i]--;
    }
    free(done);
    return s->peak;
}

// The least peak of the order in which the nodes stand, and of many others. No packing is below that of its
// order.
static size_t find_bound(const struct graph *g, const struct backend *backend, unsigned tries, size_t *best)
{
    struct schedule s = {.g = g,
                         .backend = backend,
                         .whole = find_wholes(g),
                         .reads = zeros(g->operand_count, sizeof *s.reads),
                         .waiting = zeros(g->node_count, sizeof *s.waiting),
                         .live = zeros(g->operand_count, sizeof *s.live)};
    size_t bound = peak_of(&s, 0);
    *best = bound;
    for (unsigned how = 1; how <= tries; how++) {
        size_t peak = peak_of(&s, how);
        *best = peak < *best ? peak : *best;
    }
    free(s.whole);
    free(s.reads);
    free(s.waiting);
    free(s.live);
    return bound;
}

// ---------------------------------------------------------------------------------------------------------------
// Networks
// ---------------------------------------------------------------------------------------------------------------

static void test_network(const char *name)
{
    struct error error = {0};
    struct model model;
    WNNContext context;
    size_t best;
    REQUIRE_EQUAL_INT(wnnCreateContext(NULL, &context), WNNStatus_Success);
    REQUIRE(model_begin(&model, context, &error) && model_load(&model, name, NULL, &error));
    WNNGraph graph = build_outputs(context, model.builder, model.output_count, model.outputs);
    const struct plan *plan = wnn_graph_plan(graph);
    size_t bound = find_bound(&plan->graph, wnn_backend_find("cpu"), 64, &best);
    printf("%-16s %10zu bytes; at least %zu, in the best order found %zu; unshared %zu\n", name,
           plan->arena_bytes, bound, best, plan->unaliased_bytes);
    require_disjoint(plan);
    REQUIRE(plan->arena_bytes >= bound);
    REQUIRE(plan->arena_bytes <= best + best / 10);
    wnnGraphRelease(graph);
    model_end(&model);
    wnnContextRelease(context);
}

// ---------------------------------------------------------------------------------------------------------------
// Made-up graphs
// ---------------------------------------------------------------------------------------------------------------

static WNNContext context_on(const char *backend)
{
    WNNContext context;
    REQUIRE_EQUAL_INT(wnn_create_context_on(wnn_backend_find(backend), NULL, &context), WNNStatus_Success);
    return context;
}

static void test_chain(void)
{
    const size_t one = 4096 * sizeof(float) + WNN_SLACK;
    for (int cpu = 0; cpu < 2; cpu++) {
        WNNContext context = context_on(cpu ? "cpu" : "dummy");
        wnn_context_set_compile_options(context, wnn_pass_bit("fuse_elementwise"), true, NULL, NULL);
        WNNGraphBuilder builder = create_builder(context);
        WNNOperand y = add_input(builder, "x", 1, 4096);
        for (int i = 0; i < 20; i++)
            y = i % 2 ? wnnGraphBuilderExp(builder, y, NULL) : wnnGraphBuilderSin(builder, y, NULL);
        WNNGraph graph = build_outputs(context, builder, 1, &(WNNNamedOperand){view("y"), y});
        const struct plan *plan = wnn_graph_plan(graph);
        REQUIRE_EQUAL_INT(plan->graph.node_count, 20);
        // In place where the backend can, otherwise to and fro; the output has memory for when it is not
        // bound.
        REQUIRE(plan->arena_bytes <= (cpu ? 2 : 3) * one);
        REQUIRE(plan->unaliased_bytes >= 20 * 4096 * sizeof(float));
        wnnGraphRelease(graph);
        wnnGraphBuilderRelease(builder);
        wnnContextRelease(context);
    }
}

// Operands are 16 or 1 by 16 or 1.
static WNNOperand random_node(WNNGraphBuilder b, WNNOperand x, WNNOperand y)
{
    WNNReduceOptions keep = WNN_REDUCE_OPTIONS_INIT;
    uint32_t axis = random_below(2);
    keep.axes = (WNNUint32List){&axis, 1};
    keep.keepDimensions = true;
    WNNOperand parts[1];
    switch (random_below(8)) {
    case 0:
        return wnnGraphBuilderAdd(b, x, y, NULL);
    case 1:
        return wnnGraphBuilderSin(b, x, NULL);
    case 2:
        return wnnGraphBuilderSoftmax(b, x, axis, NULL);
    case 3:
        return wnnGraphBuilderSplit(b, x, 1, NULL, 1, parts) == 1 ? wnnGraphBuilderExp(b, parts[0], NULL)
                                                                  : NULL;
    case 4: {
        WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
        options.permutation = (WNNUint32List){(uint32_t[]){1, 0}, 2};
        return wnnGraphBuilderTranspose(b, x, &options);
    }
    case 5:
    case 6: {
        // Parts of one width, some of them twice or made by another concat, and a reduction of what they
        // make.
        WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {NULL, 0}};
        WNNOperand wide = wnnGraphBuilderExpand(b, x, (WNNUint32List){(uint32_t[]){16, 16}, 2}, NULL);
        WNNOperand other = wnnGraphBuilderExpand(b, y, (WNNUint32List){(uint32_t[]){16, 16}, 2}, NULL);
        WNNOperand inner = wnnGraphBuilderConcat(b, 2, (WNNOperand[]){wide, other}, 0, NULL);
        WNNOperand flat = wnnGraphBuilderReshape(b, wide, (WNNUint32List){(uint32_t[]){1, 256}, 2}, NULL);
        WNNOperand lines = wnnGraphBuilderReshape(b, inner, (WNNUint32List){(uint32_t[]){2, 256}, 2}, NULL);
        WNNOperand outer = wnnGraphBuilderConcat(b, 3, (WNNOperand[]){flat, lines, flat}, 0, NULL);
        (void)type;
        WNNOperand sum = wnnGraphBuilderReduceMax(b, outer, &keep);
        axis = !axis;
        return wnnGraphBuilderReduceMin(b, sum, &keep);
    }
    default:
        return wnnGraphBuilderReduceSum(b, x, &keep);
    }
}

static bool always(void *state, const struct node *node, unsigned input)
{
    (void)state;
    (void)node;
    (void)input;
    return true;
}

// One that runs nodes beside each other, and leaves out whatever it can.
static const struct backend *parallel_backend(void)
{
    static struct backend backend;
    backend = wnn_backend_dummy;
    backend.levels = backend.views = backend.concat_in_place = true;
    backend.in_place = always;
    return &backend;
}

static void test_random(const struct backend *backend, unsigned nodes)
{
    WNNContext context;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, NULL, &context), WNNStatus_Success);
    wnn_context_set_compile_options(context, random_below(2) ? wnn_pass_bit("fuse_elementwise") : 0, true,
                                    NULL, NULL);
    WNNGraphBuilder b = create_builder(context);
    WNNOperand *pool = zeros(nodes + 4, sizeof *pool);
    pool[0] = add_input(b, "p", 16, 16);
    pool[1] = add_input(b, "q", 1, 16);
    pool[2] = add_input(b, "r", 16, 1);
    pool[3] = add_input(b, "s", 1, 1);
    for (unsigned i = 4; i < nodes + 4; i++) {
        WNNOperand x = pool[random_below(2) ? i - 1 - random_below(i < 8 ? i : 8) : random_below(i)];
        pool[i] = random_node(b, x, pool[i - 1 - random_below(i < 20 ? i : 20)]);
        REQUIRE(pool[i]);
    }
    static const char names[4][2] = {"0", "1", "2", "3"};
    WNNNamedOperand outputs[4];
    for (unsigned i = 0; i < 4; i++) // ties all that is left together
        outputs[i] = (WNNNamedOperand){view(names[i]), pool[nodes + 3 - i]};
    for (unsigned i = 4; i < nodes; i++)
        outputs[i % 4].operand = wnnGraphBuilderAdd(b, outputs[i % 4].operand, pool[i], NULL);
    WNNGraph graph = build_outputs(context, b, 4, outputs);
    const struct plan *plan = wnn_graph_plan(graph);
    REQUIRE(plan->arena_bytes <= plan->unaliased_bytes);
    require_disjoint(plan);
    size_t best, bound = find_bound(&plan->graph, backend, 0, &best);
    REQUIRE(plan->arena_bytes >= bound);
    // Of larger ones there are more blocks than the thorough packing takes; and levels need more.
    if (nodes <= 200 && !backend->levels)
        REQUIRE(plan->arena_bytes <= bound + bound / 10);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(b);
    wnnContextRelease(context);
    free(pool);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_chain());
    const struct backend *backends[] = {wnn_backend_find("dummy"), wnn_backend_find("cpu"),
                                        parallel_backend()};
    for (unsigned i = 0; i < 30; i++)
        CASE_AS(case_name("%u nodes on %s", 10 + 10 * (i % 20), backends[i % 3]->name),
                test_random(backends[i % 3], 10 + 10 * (i % 20)));
    for (unsigned i = 0; i < 3; i++)
        CASE_AS(case_name("6000 nodes on %s", backends[i]->name), test_random(backends[i], 6000));
    for (const struct bench_model *bench = bench_models; bench->name; bench++)
        if (!strchr(bench->name, ':'))
            CASE_AS(bench->name, test_network(bench->name));
    return cases_end();
}
