// SPDX-License-Identifier: Apache-2.0
//
// Tests of the compiler: a graph goes in through the API, the text of what a pass makes of it comes out.

#include "compiler/compile.h"
#include "compiler/plan.h"
#include "conformance/clock.h"
#include "conformance/unit/validation.h"

#include <stdint.h>

// ---------------------------------------------------------------------------------------------------------------
// Building and watching
// ---------------------------------------------------------------------------------------------------------------

static char dump[1 << 20];
static size_t dump_length;
static const char *watched;
static void (*look)(struct graph *graph); // instead of the dump

static void append(void *argument, const char *text, size_t length)
{
    (void)argument;
    REQUIRE(dump_length + length < sizeof dump);
    memcpy(dump + dump_length, text, length);
    dump_length += length;
    dump[dump_length] = 0;
}
static const struct text_sink sink = {append, NULL};

static void observe(void *argument, const char *pass, const struct graph *graph)
{
    (void)argument;
    if (!watched || strcmp(pass, watched) != 0)
        return;
    dump_length = 0;
    dump[0] = 0;
    if (look)
        look((struct graph *)(uintptr_t)graph);
    else
        wnn_dump_text(graph, &sink);
}

// Runs only the passes of the set (prune runs in any case), and dumps the graph after the last named.
static void watch(const char *pass, uint32_t passes)
{
    watched = pass;
    wnn_context_set_compile_options(context, ~passes, true, observe, NULL);
}

static WNNGraph graph;

static void on_build(WNNStatus status, WNNGraph made, WNNStringView text, void *userdata1, void *userdata2)
{
    (void)userdata1, (void)userdata2;
    REQUIRE_EQUAL_VIEW(text, "");
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    graph = made;
}

// Outputs are named "0", "1", ...
static const struct plan *build(size_t count, const WNNOperand *outputs)
{
    static const char names[10][2] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    WNNNamedOperand named[10];
    REQUIRE(count <= 10);
    for (size_t i = 0; i < count; i++)
        named[i] = (WNNNamedOperand){view(names[i]), outputs[i]};
    WNNBuildCallbackInfo info = WNN_BUILD_CALLBACK_INFO_INIT;
    info.callback = on_build;
    WNNFutureWaitInfo wait = {wnnGraphBuilderBuild(b, count, named, info), false};
    REQUIRE_EQUAL_INT(wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER), WNNWaitStatus_Success);
    return wnn_graph_plan(graph);
}
#define BUILD(...)                                                                                           \
    build(sizeof((WNNOperand[]){__VA_ARGS__}) / sizeof(WNNOperand), (WNNOperand[]){__VA_ARGS__})

static void finish(void)
{
    wnnGraphRelease(graph);
    end();
}

static void require_dump(const char *expected, int line)
{
    if (strcmp(dump, expected) == 0)
        return;
    fprintf(stderr, "line %d: got\n%s", line, dump);
    case_fail();
}
#define REQUIRE_DUMP(expected) require_dump(expected, __LINE__)

static WNNOperand input(const char *name, WNNUint32List shape)
{
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, shape};
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}

static WNNOperand constant(WNNUint32List shape)
{
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, shape};
    size_t count = 1;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    float *data = calloc(count, sizeof *data);
    REQUIRE(data);
    WNNOperand made = wnnGraphBuilderConstant(b, &descriptor, data, count * sizeof *data);
    free(data);
    return made;
}

// ---------------------------------------------------------------------------------------------------------------
// Passes
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand transpose(WNNOperand x, WNNUint32List permutation)
{
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = permutation;
    return wnnGraphBuilderTranspose(b, x, &options);
}

static void test_canonicalize(void)
{
    begin(NULL);
    watch("prune", wnn_pass_bit("canonicalize"));
    WNNOperand x = input("x", LIST(2, 3, 4)), y = wnnGraphBuilderIdentity(b, x, NULL);
    y = wnnGraphBuilderCast(b, y, WNNDataType_Float32, NULL);
    y = wnnGraphBuilderClamp(b, y, NULL);
    y = wnnGraphBuilderConcat(b, 1, &y, 0, NULL);
    y = wnnGraphBuilderSlice(b, y, LIST(0, 0, 0), LIST(2, 3, 4), NULL);
    y = wnnGraphBuilderPad(b, y, LIST(0, 0, 0), LIST(0, 0, 0), NULL);
    y = wnnGraphBuilderTile(b, y, LIST(1, 1, 1), NULL);
    y = wnnGraphBuilderExpand(b, y, LIST(2, 3, 4), NULL);
    WNNReverseOptions none = WNN_REVERSE_OPTIONS_INIT;
    none.axes = EMPTY;
    y = wnnGraphBuilderReverse(b, y, &none);
    y = wnnGraphBuilderNeg(b, wnnGraphBuilderNeg(b, y, NULL), NULL);
    WNNOperand r = wnnGraphBuilderReshape(b, wnnGraphBuilderReshape(b, y, LIST(4, 6), NULL), LIST(24), NULL);
    WNNOperand back =
        wnnGraphBuilderReshape(b, wnnGraphBuilderReshape(b, y, LIST(24), NULL), LIST(2, 3, 4), NULL);
    WNNOperand t = transpose(transpose(y, LIST(1, 2, 0)), LIST(1, 2, 0));
    WNNOperand same = transpose(transpose(y, LIST(1, 2, 0)), LIST(2, 0, 1));
    BUILD(wnnGraphBuilderSin(b, y, NULL), r, wnnGraphBuilderCos(b, back, NULL), t,
          wnnGraphBuilderTan(b, same, NULL));
    REQUIRE_DUMP("input x: float32[2, 3, 4];\n"
                 "t1 = reshape(x, newShape=[24]); // float32[24]\n"
                 "t2 = transpose(x, permutation=[2, 0, 1]); // float32[4, 2, 3]\n"
                 "t3 = sin(x); // float32[2, 3, 4]\n"
                 "t4 = cos(x); // float32[2, 3, 4]\n"
                 "t5 = tan(x); // float32[2, 3, 4]\n"
                 "output \"0\" = t3;\n"
                 "output \"1\" = t1;\n"
                 "output \"2\" = t4;\n"
                 "output \"3\" = t2;\n"
                 "output \"4\" = t5;\n");
    finish();
}

static void test_fold_constants(void)
{
    begin_on(wnn_backend_find("cpu"), NULL);
    watch("prune", wnn_pass_bit("fold_constants"));
    WNNOperand x = input("x", LIST(3)), c = constant(LIST(3));
    WNNOperand sum = wnnGraphBuilderExp(b, wnnGraphBuilderAdd(b, c, c, NULL), NULL);
    WNNOperand parts[3];
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(b, c, 3, NULL, 3, parts), 3);
    // Too much memory out of too little.
    WNNOperand large = wnnGraphBuilderExpand(b, constant(EMPTY), LIST(65536), NULL);
    WNNOperand small = wnnGraphBuilderReduceSum(b, constant(LIST(16385)), NULL);
    BUILD(wnnGraphBuilderMul(b, x, sum, NULL), wnnGraphBuilderMul(b, x, parts[1], NULL), large,
          wnnGraphBuilderMul(b, x, small, NULL));
    REQUIRE_DUMP("input x: float32[3];\n"
                 "const c1: float32[];\n"
                 "const c2: float32[3];\n"
                 "const c3: float32[1];\n"
                 "const c5: float32[];\n"
                 "t4 = expand(c1, newShape=[65536]); // float32[65536]\n"
                 "t6 = mul(x, c2); // float32[3]\n"
                 "t7 = mul(x, c3); // float32[3]\n"
                 "t8 = mul(x, c5); // float32[3]\n"
                 "output \"0\" = t6;\n"
                 "output \"1\" = t7;\n"
                 "output \"2\" = t4;\n"
                 "output \"3\" = t8;\n");
    finish();
}

static void test_fuse_activations(void)
{
    begin(NULL);
    watch("fuse_activations", wnn_pass_bit("fuse_activations"));
    WNNOperand x = input("image", LIST(1, 1, 3, 3)), w = input("w", LIST(1, 1, 2, 2));
    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    WNNClampOptions clamp = WNN_CLAMP_OPTIONS_INIT;
    clamp.minValue = wnnNumberInt64(0);
    clamp.maxValue = wnnNumberInt64(6);
    conv.activation = wnnGraphBuilderActivationClamp(b, &clamp);
    conv.label = view("stem");
    WNNOperand fused = wnnGraphBuilderConv2d(b, x, w, &conv);
    WNNOperand twice = wnnGraphBuilderAdd(b, x, x, NULL), both = wnnGraphBuilderRelu(b, twice, NULL);
    WNNOperand chain =
        wnnGraphBuilderTanh(b, wnnGraphBuilderRelu(b, wnnGraphBuilderMul(b, x, x, NULL), NULL), NULL);
    WNNOperand rows = wnnGraphBuilderSoftmax(b, wnnGraphBuilderSub(b, x, x, NULL), 3, NULL);
    WNNOperand integers = operand(WNNDataType_Int32, LIST(2));
    WNNOperand whole = wnnGraphBuilderRelu(b, wnnGraphBuilderAdd(b, integers, integers, NULL), NULL);
    BUILD(fused, both, twice, chain, rows, whole);
    REQUIRE_DUMP("input image: float32[1, 1, 3, 3];\n"
                 "input w: float32[1, 1, 2, 2];\n"
                 "input x: int32[2];\n"
                 "t3 = conv2d(image, w, padding=[0, 0, 0, 0], strides=[1, 1], dilations=[1, 1]) + "
                 "clamp(minValue=0, maxValue=6); // float32[1, 1, 2, 2] \"stem\"\n"
                 "t4 = add(image, image); // float32[1, 1, 3, 3]\n"
                 "t5 = relu(t4); // float32[1, 1, 3, 3]\n"
                 "t6 = mul(image, image) + relu; // float32[1, 1, 3, 3]\n"
                 "t7 = tanh(t6); // float32[1, 1, 3, 3]\n"
                 "t8 = sub(image, image); // float32[1, 1, 3, 3]\n"
                 "t9 = softmax(t8, axis=3); // float32[1, 1, 3, 3]\n"
                 "t10 = add(x, x); // int32[2]\n"
                 "t11 = relu(t10); // int32[2]\n"
                 "output \"0\" = t3;\n"
                 "output \"1\" = t5;\n"
                 "output \"2\" = t4;\n"
                 "output \"3\" = t7;\n"
                 "output \"4\" = t9;\n"
                 "output \"5\" = t11;\n");
    finish();
}

static void test_prune(void)
{
    begin(NULL);
    watch("prune", 0);
    WNNOperand x = input("x", LIST(6)), parts[3], outputs[3];
    wnnGraphBuilderSplit(b, x, 3, NULL, 3, parts);
    WNNOperand unused = wnnGraphBuilderExp(b, constant(LIST(2)), NULL);
    (void)unused;
    WNNLstmOptions lstm = WNN_LSTM_OPTIONS_INIT;
    WNNOperand s = input("s", LIST(1, 1, 1)), weight = constant(LIST(1, 4, 1)),
               recurrent = constant(LIST(1, 4, 1));
    wnnGraphBuilderLstm(b, s, weight, recurrent, 1, 1, &lstm, outputs);
    BUILD(wnnGraphBuilderSin(b, parts[1], NULL), outputs[1]);
    REQUIRE_DUMP("input x: float32[6];\n"
                 "input s: float32[1, 1, 1];\n"
                 "const c2: float32[1, 4, 1];\n"
                 "const c3: float32[1, 4, 1];\n"
                 "[t4, t5, t6] = split(x, splits=[2, 2, 2]); // float32[2], float32[2], float32[2]\n"
                 "[t7, t8] = lstm(s, c2, c3, steps=1, hiddenSize=1, activations=[sigmoid, tanh, tanh]); // "
                 "float32[1, 1, 1], float32[1, 1, 1]\n"
                 "t9 = sin(t5); // float32[2]\n"
                 "output \"0\" = t9;\n"
                 "output \"1\" = t8;\n");
    finish();
}

// ---------------------------------------------------------------------------------------------------------------
// Verification: graphs broken by hand
// ---------------------------------------------------------------------------------------------------------------

static struct error found;

static const char *verify(const struct graph *g)
{
    found = (struct error){0};
    return wnn_verify(g, "test", &found) ? "sound" : found.message;
}

// x -> n0 sin -> n1 cos -> output; a constant c into n1's sibling n2 add.
static void break_graph(struct graph *g)
{
    REQUIRE_EQUAL_STR(verify(g), "sound");
    struct node *n0 = g->nodes[0], *n1 = g->nodes[1];
    struct operand *x = n0->in[0], *y = n0->out[0];
#define BROKEN(change, message, repair)                                                                      \
    change;                                                                                                  \
    REQUIRE_EQUAL_STR(verify(g), "after test: " message);                                                    \
    repair
    BROKEN(y->index = 7,
           "an operand has the wrong index ("
           "2)",
           y->index = 2);
    BROKEN(y->link = x, "an operand has a link left (2)", y->link = NULL);
    BROKEN(x->input = false, "an operand is not exactly one of input, constant and result (0)",
           x->input = true);
    BROKEN(y->input = true, "an operand is not exactly one of input, constant and result (2)",
           y->input = false);
    BROKEN(g->operands[1]->constant->bytes++, "a constant has the wrong number of bytes (1)",
           g->operands[1]->constant->bytes--);
    BROKEN(n0->index = 1, "a node has the wrong index (0)", n0->index = 0);
    struct operand stranger = *x;
    stranger.index = 99;
    BROKEN(n0->in[0] = &stranger, "a node has an input of no graph (0)", n0->in[0] = x);
    BROKEN(n0->in[0] = n1->out[0], "a node stands before the producer of its input (0)", n0->in[0] = x);
    BROKEN(y->output = 1, "a node's output does not know it (0)", y->output = 0);
    BROKEN(y->producer = n1, "a node's output does not know it (0)", y->producer = n0);
    BROKEN(y->type.type = WNNDataType_Float16, "a node's output is not what its operator infers (0)",
           y->type.type = WNNDataType_Float32);
    BROKEN(y->type.shape.dim[0] = 5, "a node's output is not what its operator infers (0)",
           y->type.shape.dim[0] = 2);
    BROKEN(g->inputs[0].operand = y, "an input port has no input (0)", g->inputs[0].operand = x);
    BROKEN(g->outputs[0].operand = &stranger, "an output port has an operand of no graph (0)",
           g->outputs[0].operand = g->nodes[2]->out[0]);
    struct operand *sum = g->nodes[2]->in[1];
    BROKEN((sum->type.shape.dim[0] = 3, sum->constant->bytes += 4),
           "add: a [2] and b [3] cannot be broadcast together",
           (sum->type.shape.dim[0] = 2, sum->constant->bytes -= 4));
    REQUIRE_EQUAL_STR(verify(g), "sound");
}

static void test_verify(void)
{
    begin(NULL);
    watch("prune", 0);
    look = break_graph;
    WNNOperand x = input("x", LIST(2)), c = constant(LIST(2));
    BUILD(wnnGraphBuilderAdd(b, wnnGraphBuilderCos(b, wnnGraphBuilderSin(b, x, NULL), NULL), c, NULL));
    look = NULL;
    finish();
}

// ---------------------------------------------------------------------------------------------------------------
// Large graphs, names
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand next_link(int kind, WNNOperand x)
{
    switch (kind) {
    case 0:
        return wnnGraphBuilderSin(b, x, NULL);
    case 1:
        return wnnGraphBuilderNeg(b, x, NULL);
    case 2:
        return wnnGraphBuilderReshape(b, x, LIST(2, 2), NULL);
    case 3:
        return transpose(x, LIST(1, 0));
    case 4:
        return wnnGraphBuilderRelu(b, x, NULL);
    default:
        return wnnGraphBuilderIdentity(b, x, NULL);
    }
}

static void test_depth(void)
{
    for (int kind = 0; kind < 6; kind++) {
        begin(NULL);
        watch(NULL, UINT32_MAX);
        wnn_context_set_compile_options(context, 0, false, NULL, NULL);
        double start = processor_seconds();
        WNNOperand y = input("x", LIST(2, 2));
        for (int i = 0; i < 100000; i++)
            y = next_link(kind, y);
        BUILD(wnnGraphBuilderCos(b, y, NULL));
        REQUIRE(SANITIZED || processor_seconds() - start < 5);
        finish();
    }
    begin(NULL);
    WNNOperand y = input("x", LIST(2, 2));
    for (int i = 0; i < 100; i++) // 2^100 paths
        y = wnnGraphBuilderAdd(b, y, y, NULL);
    const struct plan *plan = BUILD(y);
    REQUIRE_EQUAL_INT(plan->graph.node_count, 100);
    finish();
}

static void dump_dot(struct graph *g)
{
    wnn_dump_dot(g, &sink);
}

static void test_dot(void)
{
    begin(NULL);
    watch("prune", 0);
    look = dump_dot;
    WNNOperatorOptions label = {NULL, {"a\"b\\c&\n\u202E", 10}};
    WNNOperand x = input("in \"put\"", LIST(2));
    BUILD(wnnGraphBuilderAdd(b, x, constant(LIST(1)), &label));
    look = NULL;
    REQUIRE_DUMP("digraph webnn {\n"
                 "  node [shape=box, fontname=\"sans-serif\"];\n"
                 "  o0 [shape=ellipse, label=\"in \\\"put\\\"\\nfloat32[2]\"];\n"
                 "  n0 [label=\"add\\na\\\"b\\\\c&amp;\\\\u{A}\\\\u{202E}\\nfloat32[2]\"];\n"
                 "  o0 -> n0;\n"
                 "  r0 [shape=ellipse, label=\"0\"];\n"
                 "  n0 -> r0;\n"
                 "}\n");
    finish();
}

// What the builder's memory held is the graph's own: argMin's axes stand in no row of the operator table.
static void test_ownership(void)
{
    begin_on(wnn_backend_find("cpu"), NULL);
    watch(NULL, UINT32_MAX);
    WNNArgMinMaxAxesOptions axes = WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT;
    axes.axes = LIST(2, 0);
    axes.selectLastIndex = true;
    WNNOperand x = input("x", LIST(2, 3, 4));
    char label[] = "the label";
    WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
    options.label = (WNNStringView){label, 9};
    WNNOperand softmax = wnnGraphBuilderSoftmax(b, x, 2, &options);
    label[0] = 'T';
    const struct plan *plan =
        BUILD(wnnGraphBuilderArgMinAxes(b, x, &axes), wnnGraphBuilderArgMax(b, x, 1, NULL), softmax);
    wnnGraphBuilderRelease(b);
    b = NULL;
    dump_length = 0;
    wnn_dump_text(&plan->graph, &sink);
    REQUIRE_CONTAINS(dump, "argMin(x, axes=[0, 2], selectLastIndex=true)");
    REQUIRE_CONTAINS(dump, "argMax(x, axis=1)");
    REQUIRE_CONTAINS(dump, "\"the label\"");
    finish();
}

// ---------------------------------------------------------------------------------------------------------------
// Interrupts
// ---------------------------------------------------------------------------------------------------------------

static struct interrupt interrupt;
static int evaluated;

static bool interrupt_third(void *state, const struct node *node, const void *const *in, void *const *out,
                            bool portable, const struct interrupt *build)
{
    (void)state, (void)in, (void)portable, (void)build;
    memset(out[0], 0, wnn_descriptor_bytes(&node->out[0]->type));
    if (++evaluated == 3)
        wnn_interrupt_raise(&interrupt);
    return true;
}

// Folding stops between nodes.
static void test_interrupt(void)
{
    struct allocator allocator;
    wnn_allocator_init(&allocator, NULL, 0);
    const struct descriptor type = {WNNDataType_Float32, {1, {64}}};
    struct graph folded;
    wnn_graph_init(&folded, &allocator);
    struct constant *bytes = wnn_constant_create(&allocator, wnn_descriptor_bytes(&type));
    REQUIRE(bytes);
    struct operand *y = wnn_graph_add_constant(&folded, &type, bytes);
    for (int i = 0; i < 10; i++) {
        struct node *node = wnn_graph_add_node(&folded, WNN_OP_sin, 1, 1, &type);
        REQUIRE(node);
        node->in[0] = y;
        node->attrs = wnn_op_copy_attrs(&folded.arena, WNN_OP_sin, wnn_ops[WNN_OP_sin].defaults);
        y = node->out[0];
    }
    struct graph_port port = {STRING("y"), y};
    folded.outputs = &port;
    folded.output_count = 1;
    const struct backend backend = {.name = "interrupting", .evaluate = interrupt_third};
    wnn_interrupt_init(&interrupt, 0);
    evaluated = 0;
    const struct compile_options options = {
        .backend = &backend, .allocator = &allocator, .interrupt = &interrupt};
    struct plan plan;
    struct error error = {0};
    REQUIRE(!wnn_compile(&options, &folded, &plan, &error));
    REQUIRE_EQUAL_INT(error.status, WNNStatus_Cancelled);
    REQUIRE_EQUAL_INT(evaluated, 3);
    REQUIRE_EQUAL_INT(allocator.now, 0);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_canonicalize());
    CASE(test_fold_constants());
    CASE(test_fuse_activations());
    CASE(test_prune());
    CASE(test_verify());
    CASE(test_depth());
    CASE(test_dot());
    CASE(test_ownership());
    CASE(test_interrupt());
    return cases_end();
}
