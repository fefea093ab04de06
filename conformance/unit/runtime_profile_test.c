// SPDX-License-Identifier: Apache-2.0
//
// Profiles of graphs, and those who watch executions.

#include "conformance/unit/runtime_fixture.h"

enum {
    SIZE = 96
};

static float x[SIZE * SIZE], weights[SIZE * SIZE], y[SIZE * SIZE];

// y = softmax(x * weights), two operators with labels.
static WNNGraph build_scores(WNNContext context)
{
    WNNGraphBuilder builder = create_builder(context);
    uint32_t shape[2] = {SIZE, SIZE};
    WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
    type.dataType = WNNDataType_Float32;
    type.shape = (WNNUint32List){shape, 2};
    WNNOperatorOptions product = WNN_OPERATOR_OPTIONS_INIT, scores = WNN_OPERATOR_OPTIONS_INIT;
    product.label = view("the product");
    scores.label = view("the scores");
    WNNOperand b = wnnGraphBuilderConstant(builder, &type, weights, sizeof weights);
    WNNOperand c = wnnGraphBuilderMatmul(builder, add_input(builder, "x", SIZE, SIZE), b, &product);
    WNNNamedOperand output = {view("y"), wnnGraphBuilderSoftmax(builder, c, 1, &scores)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    return graph;
}

static void compute(WNNContext context, WNNGraph graph)
{
    wait_for(context, compute_chain(context, graph, x, y, SIZE * SIZE, tell_nobody()));
}

static WNNContext create_context(const char *backend)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    REQUIRE_EQUAL_INT(wnn_create_context_on(wnn_backend_find(backend), &descriptor, &context),
                      WNNStatus_Success);
    return context;
}

static void test_off(void)
{
    WNNContext context = create_context("cpu");
    WNNGraph graph = build_scores(context);
    compute(context, graph);
    uint64_t bytes = counters_of(context).allocatedBytes;
    WNNGraphProfile profile;
    REQUIRE_EQUAL_INT(profile_of(graph, &profile, 0, NULL), 0);
    REQUIRE_EQUAL_INT(profile.runs, 0);
    REQUIRE_EQUAL_VIEW(profile.backend, "");
    // On, but never run.
    wnnGraphSetProfiling(graph, true);
    REQUIRE_EQUAL_INT(profile_of(graph, NULL, 0, NULL), 0);
    wnnGraphSetProfiling(graph, false);
    compute(context, graph);
    REQUIRE_EQUAL_INT(profile_of(graph, &profile, 0, NULL), 0);
    require_bytes(context, bytes);
    wnnGraphSetProfiling(NULL, true);
    REQUIRE_EQUAL_INT(wnnGraphGetProfile(NULL, &profile, 0, NULL, NULL), WNNStatus_TypeError);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

static const WNNNodeProfile *find(const WNNNodeProfile *nodes, size_t count, const char *label)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].label.length == strlen(label) && memcmp(nodes[i].label.data, label, strlen(label)) == 0)
            return &nodes[i];
    fprintf(stderr, "no node has the label %s\n", label);
    case_fail();
}

static void test_on(void)
{
    enum {
        RUNS = 50
    };
    WNNContext context = create_context("cpu");
    WNNGraph graph = build_scores(context);
    wnnGraphSetProfiling(graph, true);
    double begin = now_seconds();
    for (int i = 0; i < RUNS; i++)
        compute(context, graph);
    double wall = now_seconds() - begin;

    WNNGraphProfile profile;
    WNNNodeProfile nodes[8];
    size_t count = profile_of(graph, &profile, 8, nodes);
    REQUIRE(count >= 1 && count <= 8);
    REQUIRE_EQUAL_VIEW(profile.backend, "cpu");
    REQUIRE_EQUAL_INT(profile.runs, RUNS);
    REQUIRE(profile.minNanoseconds > 0 && profile.minNanoseconds * RUNS <= profile.totalNanoseconds);
    REQUIRE(profile.lastNanoseconds >= profile.minNanoseconds);
    REQUIRE((double)profile.totalNanoseconds <= wall * 1e9);
    REQUIRE((double)(profile.lastBeginNanoseconds + profile.lastNanoseconds) * 1e-9 <= begin + wall);

    uint64_t sum = 0, last = profile.lastBeginNanoseconds;
    for (size_t i = 0; i < count; i++) {
        const WNNNodeProfile *node = &nodes[i];
        REQUIRE_EQUAL_INT(node->runs, RUNS);
        REQUIRE(node->minNanoseconds * RUNS <= node->totalNanoseconds);
        REQUIRE(node->operation.length > 0 && node->kernel.length > 0);
        REQUIRE_EQUAL_INT(node->lastBeginNanoseconds, last);
        last += node->lastNanoseconds;
        sum += node->totalNanoseconds;
    }
    REQUIRE(sum <= profile.totalNanoseconds && (double)sum >= 0.95 * (double)profile.totalNanoseconds);

    const WNNNodeProfile *product = find(nodes, count, "the product");
    REQUIRE(product->bytes >= 3 * sizeof x);
    REQUIRE(product->operations >= 2ull * SIZE * SIZE * SIZE);
    if (count > 1)
        REQUIRE_EQUAL_VIEW(find(nodes, count, "the scores")->operation, "softmax");

    // Less room than nodes.
    memset(nodes, 0, sizeof nodes);
    REQUIRE_EQUAL_INT(profile_of(graph, NULL, 1, nodes), count);
    REQUIRE(nodes[0].runs == RUNS && nodes[1].runs == 0);

    // Off: what was measured stays. On again: from zero.
    wnnGraphSetProfiling(graph, false);
    compute(context, graph);
    profile_of(graph, &profile, 0, NULL);
    REQUIRE_EQUAL_INT(profile.runs, RUNS);
    wnnGraphSetProfiling(graph, true);
    REQUIRE_EQUAL_INT(profile_of(graph, &profile, 0, NULL), 0);
    compute(context, graph);
    REQUIRE_EQUAL_INT(profile_of(graph, &profile, 8, nodes), count);
    REQUIRE(profile.runs == 1 && nodes[0].runs == 1);

    // The numbers outlive the executable, and the strings too.
    wnnGraphDestroy(graph);
    wnnContextRelease(context);
    REQUIRE_EQUAL_INT(profile_of(graph, &profile, 8, nodes), count);
    find(nodes, count, "the product");
    wnnGraphRelease(graph);
}

// The nodes' times against a clock outside: most of the time between the call and the callback is theirs, in
// the quickest run, as nothing keeps other programs from taking their part of the rest.
static void test_wall(void)
{
    enum {
        LAYERS = 4,
        RUNS = 40
    };
    static float wide[256 * 256], result[256 * 256];
    uint32_t shape[2] = {256, 256};
    WNNContext context = create_context("cpu");
    WNNGraphBuilder builder = create_builder(context);
    WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
    type.dataType = WNNDataType_Float32;
    type.shape = (WNNUint32List){shape, 2};
    WNNOperand b = wnnGraphBuilderConstant(builder, &type, wide, sizeof wide);
    WNNOperand value = add_input(builder, "x", 256, 256);
    for (int i = 0; i < LAYERS; i++)
        value = wnnGraphBuilderSoftmax(builder, wnnGraphBuilderMatmul(builder, value, b, NULL), 1, NULL);
    WNNNamedOperand output = {view("y"), value};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    wnnGraphSetProfiling(graph, true);

    double best = 0;
    for (int i = 0; i < RUNS; i++) {
        double begin = now_seconds();
        wait_for(context, compute_chain(context, graph, wide, result, 256 * 256, tell_nobody()));
        double wall = (now_seconds() - begin) * 1e9, sum = 0;
        WNNNodeProfile nodes[2 * LAYERS + 2];
        size_t count = profile_of(graph, NULL, 2 * LAYERS + 2, nodes);
        REQUIRE(count >= LAYERS && count <= 2 * LAYERS + 2);
        for (size_t k = 0; k < count; k++)
            sum += (double)nodes[k].lastNanoseconds;
        REQUIRE(sum <= wall);
        if (sum / wall > best)
            best = sum / wall;
    }
    if (best < 0.95) {
        fprintf(stderr, "the nodes' times are %.1f %% of an execution's\n", 100 * best);
        case_fail();
    }
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

// A backend that cannot be watched measures nothing and says so.
static void test_unwatched(void)
{
    WNNContext context = create_context("dummy");
    WNNGraph graph = build_scores(context);
    wnnGraphSetProfiling(graph, true);
    compute(context, graph);
    REQUIRE_EQUAL_INT(profile_of(graph, NULL, 0, NULL), 0);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

struct witness {
    struct observer observer; // first
    unsigned before, after;
    const void *last; // where the last output lay
};

static void see_before(const struct observer *observer, const struct node *node,
                       const struct operand_resolver *resolver)
{
    struct witness *witness = (struct witness *)(uintptr_t)observer;
    REQUIRE(resolver->locate(resolver, node->in[0]) != NULL);
    witness->before++;
}

static void see_after(const struct observer *observer, const struct node *node,
                      const struct operand_resolver *resolver)
{
    struct witness *witness = (struct witness *)(uintptr_t)observer;
    REQUIRE_EQUAL_INT(witness->before, ++witness->after);
    witness->last = resolver->locate(resolver, node->out[0]);
}

static void test_watcher(void)
{
    WNNContext context = create_context("cpu");
    WNNGraph graph = build_scores(context);
    struct witness witness = {{see_before, see_after}, 0, 0, NULL};
    wnnGraphSetProfiling(graph, true);
    wnn_graph_watch(graph, &witness.observer);
    compute(context, graph);
    REQUIRE(witness.after > 0 && witness.last == y);
    REQUIRE_EQUAL_INT(profile_of(graph, NULL, 0, NULL), 0);
    wnn_graph_watch(graph, NULL);
    compute(context, graph);
    REQUIRE_EQUAL_INT(profile_of(graph, NULL, 0, NULL), witness.after);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

static atomic_bool ends;

static void *switch_and_read(void *graph)
{
    for (unsigned i = 0; !atomic_load(&ends); i++) {
        WNNNodeProfile nodes[8];
        wnnGraphSetProfiling(graph, i % 3 != 0);
        profile_of(graph, NULL, 8, nodes);
    }
    return NULL;
}

static void test_any_thread(void)
{
    WNNContext context = create_context("cpu");
    WNNGraph graph = build_scores(context);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, switch_and_read, graph) == 0);
    for (int i = 0; i < 200; i++)
        compute(context, graph);
    atomic_store(&ends, true);
    pthread_join(thread, NULL);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    for (size_t i = 0; i < SIZE * SIZE; i++) {
        x[i] = (float)(i % 17) * 0.1f;
        weights[i] = (float)(i % 13) * 0.1f - 0.5f;
    }
    CASE(test_off());
    CASE(test_on());
    CASE(test_wall());
    CASE(test_unwatched());
    CASE(test_watcher());
    CASE(test_any_thread());
    return cases_end();
}
