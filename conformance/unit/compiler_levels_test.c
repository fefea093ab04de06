// SPDX-License-Identifier: Apache-2.0
//
// The order of nodes for backends that run those of one level at the same time.

#include "compiler/plan.h"
#include "conformance/unit/runtime_fixture.h"

static WNNContext create_on(bool levels)
{
    static struct backend backend;
    WNNContext context;
    backend = wnn_backend_dummy;
    backend.levels = levels;
    REQUIRE_EQUAL_INT(wnn_create_context_on(&backend, NULL, &context), WNNStatus_Success);
    return context;
}

typedef WNNOperand maker(WNNGraphBuilder builder);

static WNNGraph build(WNNContext context, maker *make)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNNamedOperand output = {view("y"), make(builder)};
    REQUIRE(output.operand);
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

// Levels begin with 0, have no gaps, and nothing waits for its own but what hands on an operand.
static size_t count_levels(const struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        uint32_t before = i > 0 ? graph->nodes[i - 1]->level : 0;
        REQUIRE_EQUAL_INT(node->index, i);
        REQUIRE(i > 0 || node->level == 0);
        REQUIRE(node->level == before || node->level == before + 1);
        for (unsigned j = 0; j < wnn_operand_count(node); j++) {
            const struct node *producer = node->in[j] ? node->in[j]->producer : NULL;
            if (!producer)
                continue;
            REQUIRE(producer->index < i);
            REQUIRE(producer->level < node->level ||
                    (producer->level == node->level && node->op == WNN_OP_reshape));
        }
    }
    return graph->nodes[graph->node_count - 1]->level + (size_t)1;
}

// Four branches of a reshape and three nodes, recorded one branch after the other, and their sum.
static WNNOperand make_branches(WNNGraphBuilder b)
{
    WNNOperand x = add_input(b, "x", 8, 8);
    WNNOperand first[] = {wnnGraphBuilderSin(b, x, NULL), NULL, NULL, NULL}, ends[4];
    for (unsigned i = 0; i < 4; i++) {
        if (i > 0)
            first[i] = i == 1   ? wnnGraphBuilderCos(b, x, NULL)
                       : i == 2 ? wnnGraphBuilderExp(b, x, NULL)
                                : wnnGraphBuilderTanh(b, x, NULL);
        WNNOperand flat = wnnGraphBuilderReshape(b, first[i], (WNNUint32List){(uint32_t[]){4, 16}, 2}, NULL);
        ends[i] = wnnGraphBuilderNeg(b, wnnGraphBuilderSoftmax(b, flat, 1, NULL), NULL);
    }
    return wnnGraphBuilderAdd(b, wnnGraphBuilderAdd(b, ends[0], ends[1], NULL),
                              wnnGraphBuilderAdd(b, ends[2], ends[3], NULL), NULL);
}

static void test_branches(void)
{
    enum {
        NODES = 4 * 4 + 3
    };
    WNNContext context = create_on(true);
    WNNGraph graph = build(context, make_branches);
    const struct graph *plan = &wnn_graph_plan(graph)->graph;
    size_t on[5] = {0};
    REQUIRE_EQUAL_INT(plan->node_count, NODES);
    REQUIRE_EQUAL_INT(count_levels(plan), 5);
    for (size_t i = 0; i < plan->node_count; i++)
        on[plan->nodes[i]->level]++;
    REQUIRE_EQUAL_INT(on[0], 8); // with the reshapes
    REQUIRE_EQUAL_INT(on[1], 4);
    REQUIRE_EQUAL_INT(on[2], 4);
    REQUIRE_EQUAL_INT(on[3], 2);
    REQUIRE_EQUAL_INT(on[4], 1);
    wnnGraphRelease(graph);
    wnnContextRelease(context);

    // A backend that runs one node after the other gets the recorded order.
    context = create_on(false);
    graph = build(context, make_branches);
    plan = &wnn_graph_plan(graph)->graph;
    REQUIRE_EQUAL_INT(count_levels(plan), NODES);
    REQUIRE_EQUAL_INT(plan->nodes[1]->op, WNN_OP_reshape);
    REQUIRE_EQUAL_INT(plan->nodes[4]->op, WNN_OP_cos);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// ---------------------------------------------------------------------------------------------------------------
// A backend that computes some nodes along with others
// ---------------------------------------------------------------------------------------------------------------

// Sines and cosines of what has as many elements.
static bool join_waves(void *state, const struct node *first, const struct node *node)
{
    (void)state;
    return (first->op == WNN_OP_sin || first->op == WNN_OP_cos) &&
           (node->op == WNN_OP_sin || node->op == WNN_OP_cos) &&
           wnn_shape_elements(&first->in[0]->type.shape) == wnn_shape_elements(&node->in[0]->type.shape);
}

// A sine and a cosine of one operand join, although a reshape is recorded in between; not the sine of what
// the first becomes, nor the cosine of fewer elements, nor a sine that waits for another node.
static WNNOperand make_joined(WNNGraphBuilder b)
{
    WNNOperand x = wnnGraphBuilderExp(b, add_input(b, "x", 8, 8), NULL);
    WNNOperand first = wnnGraphBuilderNeg(b, wnnGraphBuilderSin(b, x, NULL), NULL);
    WNNOperand flat = wnnGraphBuilderReshape(b, x, (WNNUint32List){(uint32_t[]){4, 16}, 2}, NULL);
    WNNOperand second = wnnGraphBuilderReshape(b, wnnGraphBuilderCos(b, flat, NULL),
                                               (WNNUint32List){(uint32_t[]){8, 8}, 2}, NULL);
    WNNOperand third = wnnGraphBuilderSin(b, wnnGraphBuilderTanh(b, first, NULL), NULL);
    WNNOperand few = wnnGraphBuilderSlice(b, x, (WNNUint32List){(uint32_t[]){0, 0}, 2},
                                          (WNNUint32List){(uint32_t[]){1, 8}, 2}, NULL);
    WNNOperand sum = wnnGraphBuilderAdd(b, wnnGraphBuilderAdd(b, first, second, NULL), third, NULL);
    sum = wnnGraphBuilderAdd(b, sum, wnnGraphBuilderCos(b, few, NULL), NULL);
    return wnnGraphBuilderAdd(b, sum, wnnGraphBuilderSin(b, wnnGraphBuilderAbs(b, x, NULL), NULL), NULL);
}

static void test_joined(void)
{
    static struct backend backend;
    WNNContext context;
    backend = wnn_backend_dummy;
    backend.joins = join_waves;
    REQUIRE_EQUAL_INT(wnn_create_context_on(&backend, NULL, &context), WNNStatus_Success);
    WNNGraph graph = build(context, make_joined);
    const struct graph *plan = &wnn_graph_plan(graph)->graph;
    count_levels(plan);
    size_t together = 0;
    for (size_t i = 1; i < plan->node_count; i++) {
        const struct node *node = plan->nodes[i], *before = plan->nodes[i - 1];
        if (node->level != before->level || node->op == WNN_OP_reshape)
            continue;
        together++;
        REQUIRE_EQUAL_INT(before->op, WNN_OP_sin);
        REQUIRE_EQUAL_INT(node->op, WNN_OP_cos);
        REQUIRE_EQUAL_INT(node->in[0]->producer->op, WNN_OP_reshape);
    }
    REQUIRE_EQUAL_INT(together, 1);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// Large matrices that could all be made at the beginning, and are needed one after the other.
static WNNOperand make_hoard(WNNGraphBuilder b)
{
    enum {
        COUNT = 100,
        SIZE = 512
    };
    WNNOperand x = add_input(b, "x", COUNT, 1), y = add_input(b, "y", 1, SIZE);
    for (uint32_t i = 0; i < COUNT; i++) {
        WNNOperand one = wnnGraphBuilderSlice(b, x, (WNNUint32List){(uint32_t[]){i, 0}, 2},
                                              (WNNUint32List){(uint32_t[]){1, 1}, 2}, NULL);
        y = wnnGraphBuilderMatmul(
            b, y, wnnGraphBuilderExpand(b, one, (WNNUint32List){(uint32_t[]){SIZE, SIZE}, 2}, NULL), NULL);
    }
    return y;
}

// Some are made early, but not more than there is memory for.
static void test_memory(void)
{
    WNNContext context = create_on(false), parallel = create_on(true);
    WNNGraph recorded = build(context, make_hoard), levels = build(parallel, make_hoard);
    size_t bytes = wnn_graph_plan(recorded)->arena_bytes;
    REQUIRE(bytes >= 1 << 20);
    REQUIRE(wnn_graph_plan(levels)->arena_bytes <= bytes + bytes / 4 + (1 << 20) + (64 << 10));
    size_t nodes = wnn_graph_plan(levels)->graph.node_count;
    REQUIRE(count_levels(&wnn_graph_plan(levels)->graph) < nodes * 3 / 4);
    wnnGraphRelease(recorded);
    wnnGraphRelease(levels);
    wnnContextRelease(context);
    wnnContextRelease(parallel);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_branches());
    CASE(test_joined());
    CASE(test_memory());
    return cases_end();
}
