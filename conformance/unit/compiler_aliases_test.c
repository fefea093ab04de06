// SPDX-License-Identifier: Apache-2.0
//
// Which outputs of a plan may lie where its inputs do (compiler/aliases.h).

#include "compiler/aliases.h"
#include "conformance/backends.h"
#include "conformance/unit/graph_fixture.h"
#include "runtime/internal.h"

// Pairs of an input and an output, of one type; those that may lie in one place stand in `may`, the others in
// `not`: "x y, z y".
struct plan_case {
    const char *name, *blocks, *may, *not ;
};

static const struct plan_case cases[] = {
    {"single elements, and what is read before",
     "inputs { a: f32[4, 4]; b: f32[4, 4]; c: f32[4, 4]; }"
     "nodes { s = matmul(a, b); y = max(s, c); } outputs { y }",
     "a y, b y, c y", ""},
    {"an operator that needs all of its input",
     "inputs { a: f32[4, 4]; b: f32[4, 4]; } nodes { y = matmul(a, b); z = softmax(y, axis=1); } outputs { z "
     "}",
     "a z, b z", ""},
    {"the same as an output",
     "inputs { a: f32[4, 4]; b: f32[4, 4]; } nodes { y = matmul(a, b); } outputs { y }", "", "a y, b y"},
    {"a broadcast input is no place for the output, one of its type is",
     "inputs { a: f32[4, 4]; row: f32[1, 4]; } nodes { y = mul(a, row); z = neg(row); } outputs { y; z }",
     "a y, row z", ""},
    {"a cache and its readers, one of which would come later",
     "inputs { k: f32[6, 8]; i: i32[1, 1]; u: f32[1, 8]; w: f32[8, 8]; }"
     "nodes { n = scatterND(k, i, u); p = matmul(n, w); q = matmul(k, w); y = softmax(q, axis=1); }"
     "outputs { n; p; y }",
     "k n, k p, k y", ""},
    {"a reader that needs the new cache",
     "inputs { k: f32[6, 6]; i: i32[1, 1]; u: f32[1, 6]; }"
     "nodes { n = scatterND(k, i, u); p = matmul(n, k); } outputs { n; p }",
     "", "k n, k p"},
    {"updates are read while they are written",
     "inputs { k: f32[6, 6]; i: i32[6, 1]; u: f32[6, 6]; } nodes { n = scatterND(k, i, u); } outputs { n }",
     "k n", "u n"},
    {"slices that are put together again, and such as move",
     "inputs { k: f32[1, 8, 64]; u: f32[1, 1, 64]; m: f32[1, 8, 64]; }"
     "nodes { a = slice(k, starts=[0, 0, 0], sizes=[1, 3, 64]); b = slice(k, starts=[0, 4, 0], sizes=[1, 4, "
     "64]);"
     "  n = concat([a, u, b], axis=1);"
     "  c = slice(m, starts=[0, 1, 0], sizes=[1, 7, 64]); o = concat([c, u], axis=1); } outputs { n; o }",
     "k n", "m o"},
    {"what is handed on",
     "inputs { a: f32[4]; b: f32[4]; } nodes { x = identity(a); y = identity(b); } outputs { x; y }",
     "a x, b y, a y", "b x"},
    {"an input that nothing reads any more",
     "inputs { a: f32[4]; b: f32[4]; } nodes { t = sub(a, b); u = relu(t); y = add(u, b); } outputs { y }",
     "a y, b y", ""},
    {"parts of a concat are written early",
     "inputs { a: f32[4, 4]; b: f32[4, 4]; c: f32[8, 4]; }"
     "nodes { x = matmul(a, b); s = slice(c, starts=[2, 0], sizes=[4, 4]); z = matmul(s, b);"
     "  y = concat([x, z], axis=0); } outputs { y }",
     "", "c y"},
};

static size_t find(const struct port_list *ports, const char *name, size_t length)
{
    size_t i = wnn_port_find(ports, (struct string){name, length}, 0);
    REQUIRE(i < ports->count);
    return i;
}

static void check_pairs(const WNNGraph graph, const char *pairs, bool expected)
{
    while (*pairs) {
        size_t input = strcspn(pairs, " "), output = strcspn(pairs + input + 1, ",");
        bool may = wnn_may_alias(&graph->aliases, find(&graph->inputs, pairs, input),
                                 find(&graph->outputs, pairs + input + 1, output));
        if (may != expected)
            fprintf(stderr, "%.*s: %d, expected %d\n", (int)(input + 1 + output), pairs, may, expected);
        REQUIRE_EQUAL_INT(may, expected);
        pairs += input + 1 + output;
        pairs += strspn(pairs, ", ");
    }
}

static void test_plan(WNNContext context, const struct plan_case *test)
{
    struct model model;
    WNNGraph graph = build_blocks(context, test->name, test->blocks, &model);
    check_pairs(graph, test->may, true);
    check_pairs(graph, test->not, false);
    wnnGraphRelease(graph);
    model_end(&model);
}

// A backend that never works in place may still write what is no longer read.
static void test_other_backend(void)
{
    WNNContext context = NULL;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    struct model model;
    REQUIRE_EQUAL_INT(wnn_create_context_on(&wnn_backend_dummy, &descriptor, &context), WNNStatus_Success);
    WNNGraph graph =
        build_blocks(context, "dummy",
                     "inputs { a: f32[4]; b: f32[4]; } nodes { t = abs(a); y = sub(t, b); z = exp(y); }"
                     "outputs { y; z }",
                     &model);
    check_pairs(graph, "a y, a z, b z", true);
    check_pairs(graph, "b y", false);
    wnnGraphRelease(graph);
    model_end(&model);
    wnnContextRelease(context);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context = NULL;
    REQUIRE_EQUAL_INT(wnn_create_context_on(find_backend("cpu"), &descriptor, &context), WNNStatus_Success);
    wnn_context_set_compile_options(context, 0, true, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CASE_AS(cases[i].name, test_plan(context, &cases[i]));
    CASE(test_other_backend());
    wnnContextRelease(context);
    return cases_end();
}
