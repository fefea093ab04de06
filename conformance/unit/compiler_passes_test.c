// SPDX-License-Identifier: Apache-2.0
//
// The passes of the compiler: text in, text out. passes.txt has the cases: after a line "== PASS: what it
// shows" the blocks of a graph file, after a line "--" the statements that are left when the pass has run for
// the last time (for the pass "plan": those of the finished plan, with types and places). Every graph is also
// computed with all passes and with none, which must give the same numbers but for rounding, without
// fuse_elementwise, which must give the same bits, and from what the dump after the pass says when it is read
// as a graph file (unless float16 nodes have weights of float32, which no builder takes). Cases whose name
// says "strict" are those of a context with strictNumerics, where all passes and none give the same bits.
//
//   compiler_passes_test passes.txt [PATTERN...]           checks
//   compiler_passes_test passes.txt --print [PATTERN...]   prints the file with what the passes do now

#include "conformance/unit/graph_fixture.h"

#include <limits.h>
#include <math.h>

struct pass_case {
    char *name;
    char pass[64];
    char *input, *expected;
};

// ---------------------------------------------------------------------------------------------------------------
// Text out
// ---------------------------------------------------------------------------------------------------------------

struct dump {
    const char *pass;
    char text[8192];
    size_t length;
    char *file; // the blocks of a graph file that says the same
};

// Keeps the statements, without what stands behind //.
static void write_piece(void *argument, const char *text, size_t length)
{
    struct dump *dump = argument;
    char line[1024];
    REQUIRE(length < sizeof line);
    memcpy(line, text, length);
    line[length] = 0;
    if (strncmp(line, "input ", 6) == 0 || strncmp(line, "const ", 6) == 0)
        return;
    char *comment = strstr(line, " // ");
    if (comment && strcmp(dump->pass, "plan") != 0)
        memcpy(comment, "\n", 2);
    // The windows that inference completes with what they are by default say nothing new.
    static const char *const defaults[] = {", padding=[0, 0, 0, 0]", ", strides=[1, 1]",
                                           ", dilations=[1, 1]"};
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        char *at = strstr(line, defaults[i]);
        if (at)
            memmove(at, at + strlen(defaults[i]), strlen(at + strlen(defaults[i])) + 1);
    }
    REQUIRE(dump->length + strlen(line) < sizeof dump->text);
    memcpy(dump->text + dump->length, line, strlen(line) + 1);
    dump->length += strlen(line);
}

// The blocks of a graph file.
struct blocks {
    const struct graph *graph;
    FILE *inputs, *constants, *nodes, *outputs;
    char *text[4];
    size_t size[4];
    unsigned output_count;
};

// Sorts a line of a dump, to which a graph file adds the bytes of constants and has other names for outputs.
static void sort_line(void *argument, const char *text, size_t length)
{
    struct blocks *blocks = argument;
    if (strncmp(text, "input ", 6) == 0) {
        fprintf(blocks->inputs, "%.*s", (int)length - 6, text + 6);
    } else if (strncmp(text, "const ", 6) == 0) {
        const struct constant *constant = blocks->graph->operands[strtoul(text + 7, NULL, 10)]->constant;
        const char *separator = "";
        fprintf(blocks->constants, "%.*s @bytes([", (int)length - 8, text + 6);
        for (size_t i = 0; i < constant->bytes; i++, separator = ", ")
            fprintf(blocks->constants, "%s%u", separator, ((const unsigned char *)constant->data)[i]);
        fprintf(blocks->constants, "]);\n");
    } else if (strncmp(text, "output ", 7) == 0) {
        fprintf(blocks->nodes, "result%u%s", blocks->output_count, strstr(text, " = "));
        fprintf(blocks->outputs, "result%u;", blocks->output_count++);
    } else {
        fprintf(blocks->nodes, "%.*s", (int)length, text);
    }
}

static bool has_wide_weights(const struct graph *graph)
{
    bool wide = false;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        bool product = node->op == WNN_OP_conv2d || node->op == WNN_OP_convTranspose2d ||
                       node->op == WNN_OP_gemm || node->op == WNN_OP_matmul;
        for (unsigned j = 1; product && !wnn_fused(node, j) && j < node->in_count && j < 3; j++)
            wide |= node->in[j] && node->in[j]->type.type != node->in[0]->type.type;
    }
    return wide;
}

static char *make_file(const struct graph *graph)
{
    struct blocks blocks = {.graph = graph};
    FILE **files[] = {&blocks.inputs, &blocks.constants, &blocks.nodes, &blocks.outputs};
    for (size_t i = 0; i < 4; i++)
        REQUIRE(*files[i] = open_memstream(&blocks.text[i], &blocks.size[i]));
    struct text_sink sink = {sort_line, &blocks};
    wnn_dump_text(graph, &sink);
    size_t size = 64;
    for (size_t i = 0; i < 4; i++) {
        REQUIRE(fclose(*files[i]) == 0);
        size += blocks.size[i];
    }
    char *file = malloc(size);
    REQUIRE(file);
    snprintf(file, size, "inputs {\n%s}\nconsts {\n%s}\nnodes {\n%s}\noutputs { %s }\n", blocks.text[0],
             blocks.text[1], blocks.text[2], blocks.text[3]);
    for (size_t i = 0; i < 4; i++)
        free(blocks.text[i]);
    return file;
}

static void observe(void *argument, const char *pass, const struct graph *graph)
{
    struct dump *dump = argument;
    if (strcmp(pass, dump->pass) != 0)
        return;
    dump->length = 0;
    struct text_sink sink = {write_piece, dump};
    wnn_dump_text(graph, &sink);
    if (strcmp(pass, "plan") == 0) // constants may be gone
        return;
    free(dump->file);
    dump->file = has_wide_weights(graph) ? NULL : make_file(graph);
}

// ---------------------------------------------------------------------------------------------------------------
// Numbers
// ---------------------------------------------------------------------------------------------------------------

enum {
    MAX_RESULTS = 1 << 16
};

// Computes the outputs, one after the other in `results`. Returns how many elements those have.
static size_t compute(WNNContext context, WNNGraph graph, double results[MAX_RESULTS])
{
    static _Alignas(64) unsigned char outputs[MAX_PORTS][MAX_PORT_BYTES];
    const struct graph *planned = &wnn_graph_plan(graph)->graph;
    size_t count = 0;
    compute_ports(context, graph, fill_randomly, NULL, outputs);
    for (size_t i = 0; i < planned->output_count; i++) {
        const struct descriptor *type = &planned->outputs[i].operand->type;
        REQUIRE(count + wnn_shape_elements(&type->shape) <= MAX_RESULTS);
        for (size_t j = 0; j < wnn_shape_elements(&type->shape); j++)
            results[count++] = wnn_number_double(wnn_number_load(type->type, outputs[i], j));
    }
    return count;
}

static void require_same_numbers(const struct pass_case *test, const double *a, const double *b, size_t count,
                                 bool half)
{
    for (size_t i = 0; i < count; i++) {
        double most = fabs(a[i]) > 1 ? fabs(a[i]) : 1;
        bool near = fabs(a[i] - b[i]) <= most * (half ? 0.02 : 1e-5);
        if (!near && a[i] != b[i] && !(isnan(a[i]) && isnan(b[i]))) {
            fprintf(stderr, "%s: element %zu is %.9g; expected %.9g\n", test->name, i, a[i], b[i]);
            case_fail();
        }
    }
}

// Computes what the blocks of a graph file say without the passes `skip`. Returns the number of elements.
static size_t compute_without(WNNContext context, const struct pass_case *test, const char *blocks,
                              uint32_t skip, double *result, bool *half)
{
    struct model model;
    wnn_context_set_compile_options(context, skip, true, NULL, NULL);
    WNNGraph graph = build_blocks(context, test->name, blocks, &model);
    size_t count = compute(context, graph, result);
    const struct graph *planned = &wnn_graph_plan(graph)->graph;
    *half = false;
    for (size_t i = 0; i < planned->output_count; i++)
        *half |= planned->outputs[i].operand->type.type == WNNDataType_Float16;
    wnnGraphRelease(graph);
    model_end(&model);
    return count;
}

// The processor takes no chains, and wants channels last: what passes do for a backend that takes everything
// is seen on one, and computed on the processor.
static bool computes(enum op op)
{
    return op == WNN_OP_elementwise || op == WNN_OP_attention;
}

static bool wants_attended(void *state, const struct node *node, size_t sharing)
{
    (void)state, (void)sharing;
    return node->out[0]->type.shape.rank == 3;
}

static bool can_fuse(void *state, const struct node *node)
{
    (void)state;
    return node->fused != NULL;
}

static bool any_layout(const struct node *node)
{
    return wnn_ops[node->op].class == CLASS_POOLING;
}

static bool stacks_products(const struct node *node, uint32_t columns)
{
    return wnn_shape_elements(&node->out[0]->type.shape) >= (size_t)8 * columns; // as many rows
}

static bool splits_product(const struct node *node, unsigned parts)
{
    return node->op == WNN_OP_gemm || parts == 2;
}

static void see_dump(WNNContext context, const struct pass_case *test, struct dump *dump)
{
    struct model model;
    dump->length = 0;
    wnn_context_set_compile_options(context, 0, true, observe, dump);
    WNNGraph graph = build_blocks(context, test->name, test->input, &model);
    wnnGraphRelease(graph);
    model_end(&model);
}

// Whether the case is one of a context with strictNumerics.
static bool is_strict(const struct pass_case *test)
{
    return strstr(test->name, "strict") != NULL;
}

// Whether the case is one of the backend that takes what the processor's does not.
static bool is_taken(const struct pass_case *test)
{
    static const char *const passes[] = {"attach_chains", "find_attended", "join_products", "split_products",
                                         "unfold_patches"};
    for (unsigned i = 0; i < sizeof passes / sizeof passes[0]; i++)
        if (strcmp(test->pass, passes[i]) == 0)
            return true;
    return strstr(test->name, "any layout");
}

static void run_case(WNNContext context, WNNContext taker, const struct pass_case *test, bool print)
{
    static double results[2][MAX_RESULTS];
    struct dump dump = {.pass = test->pass};
    struct model model;
    wnn_context_set_compile_options(context, 0, true, observe, &dump);
    WNNGraph graph = build_blocks(context, test->name, test->input, &model);
    if (strcmp(test->pass, "plan") == 0)
        observe(&dump, "plan", &wnn_graph_plan(graph)->graph);
    else if (is_taken(test))
        see_dump(taker, test, &dump);
    else if (is_strict(test) && dump.length == 0)
        wnn_dump_text(&wnn_graph_plan(graph)->graph, &(struct text_sink){write_piece, &dump});
    if (print) {
        printf("== %s\n%s--\n%s", test->name, test->input, dump.text);
    } else if (strcmp(dump.text, test->expected) != 0) {
        fprintf(stderr, "%s\n%sexpected:\n%s", test->name, dump.text, test->expected);
        case_fail();
    }
    compute(context, graph, results[0]);
    wnnGraphRelease(graph);
    model_end(&model);

    bool half;
    size_t count =
        compute_without(context, test, test->input, wnn_pass_bit("fuse_elementwise"), results[1], &half);
    REQUIRE(memcmp(results[0], results[1], count * sizeof results[0][0]) == 0);
    compute_without(context, test, test->input, ~0u, results[1], &half);
    require_same_numbers(test, results[0], results[1], count, half);
    if (is_strict(test))
        REQUIRE(memcmp(results[0], results[1], count * sizeof results[0][0]) == 0);
    if (dump.file) {
        compute_without(context, test, dump.file, ~0u, results[1], &half);
        require_same_numbers(test, results[0], results[1], count, half);
    }
    free(dump.file);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory that runs out
// ---------------------------------------------------------------------------------------------------------------

static atomic_int allowed_allocations = INT_MAX;

static void *allocate_counted(size_t size, size_t alignment, void *userdata)
{
    (void)userdata;
    if (atomic_load(&allowed_allocations) != INT_MAX && atomic_fetch_sub(&allowed_allocations, 1) <= 0)
        return NULL;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void release_counted(void *memory, size_t size, size_t alignment, void *userdata)
{
    (void)size;
    (void)alignment;
    (void)userdata;
    free(memory);
}

// Every allocation of a build fails once: that is an error, and nothing is left behind.
static void starve_case(WNNContext context, const struct pass_case *test)
{
    struct model model;
    wnn_context_set_compile_options(context, 0, false, NULL, NULL);
    wnnGraphRelease(
        build_blocks(context, test->name, test->input, &model)); // what is allocated once a context
    for (int allowed = 0;; allowed++) {
        REQUIRE(allowed < 10000);
        struct answer answer = {0};
        atomic_store(&allowed_allocations, allowed);
        WNNBuildCallbackInfo tell_build = {NULL, WNNCallbackMode_WaitAnyOnly, on_build, &answer, NULL};
        WNNFuture future = wnnGraphBuilderBuild(model.builder, model.output_count, model.outputs, tell_build);
        if (future.id)
            wait_for(context, future);
        atomic_store(&allowed_allocations, INT_MAX);
        wnnGraphRelease(answer.graph);
        if (future.id && answer.status == WNNStatus_Success)
            break;
        if (future.id)
            REQUIRE_EQUAL_INT(answer.status, WNNStatus_OutOfMemory);
    }
    model_end(&model);
}

// ---------------------------------------------------------------------------------------------------------------
// The cases
// ---------------------------------------------------------------------------------------------------------------

static char *read_file(const char *path)
{
    enum {
        MOST = 1 << 20
    };
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    char *text = malloc(MOST);
    REQUIRE(text);
    size_t length = fread(text, 1, MOST - 1, file);
    REQUIRE(length < MOST - 1 && fclose(file) == 0);
    text[length] = 0;
    return text;
}

// Cuts the next case off `text`; false at the end. What stands before the first is a comment.
static bool next_case(char **text, struct pass_case *test)
{
    char *start = strncmp(*text, "== ", 3) == 0 ? *text : strstr(*text, "\n== ");
    if (!start)
        return false;
    start += *start == '\n' ? 4 : 3;
    char *end = strchr(start, '\n'), *colon = strchr(start, ':');
    REQUIRE(end && colon && colon < end && colon - start < (ptrdiff_t)sizeof test->pass);
    *end = 0;
    test->name = start;
    memcpy(test->pass, start, (size_t)(colon - start));
    test->pass[colon - start] = 0;
    test->input = end + 1;
    char *middle = strstr(test->input, "\n--\n");
    REQUIRE(middle);
    middle[1] = 0;
    test->expected = middle + 4;
    char *next = strstr(middle + 3, "\n== ");
    *text = test->expected + strlen(test->expected);
    if (next) {
        next[0] = 0;
        *text = next + 1;
    }
    return true;
}

static void test_case(WNNContext usual, WNNContext taker, const struct pass_case *test, bool print)
{
    run_case(usual, taker, test, print);
    starve_case(is_taken(test) ? taker : usual, test);
}

static void run_whole_case(WNNContext usual, WNNContext taker, struct pass_case test, bool print)
{
    size_t length = strlen(test.expected); // what the next case cut off
    char *expected = malloc(length + 2);
    REQUIRE(expected);
    snprintf(expected, length + 2, "%s%s", test.expected,
             length && test.expected[length - 1] != '\n' ? "\n" : "");
    test.expected = expected;
    CASE_AS(test.name, test_case(usual, taker, &test, print));
    free(expected);
}

int main(int argc, char **argv)
{
    REQUIRE(argc > 1);
    bool print = argc > 2 && strcmp(argv[2], "--print") == 0;
    cases_begin(argc - 1 - print, argv + 1 + print);
    WNNAllocator allocator = {NULL, allocate_counted, release_counted, NULL};
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.allocator = &allocator;
    WNNContext context, strict, taker;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    descriptor.strictNumerics = true;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &strict), WNNStatus_Success);
    descriptor.strictNumerics = false;
    struct backend taking = wnn_backend_dummy;
    taking.computes = computes;
    taking.can_fuse = can_fuse;
    taking.fuses_chains = true;
    taking.any_layout = any_layout;
    taking.wants_attended = wants_attended;
    taking.unfolds_patches = true;
    taking.stacks_products = stacks_products;
    taking.splits_product = splits_product;
    REQUIRE_EQUAL_INT(wnn_create_context_on(&taking, &descriptor, &taker), WNNStatus_Success);
    char *text = read_file(argv[1]), *at = text;
    struct pass_case test;
    uint32_t seen = 0;
    while (next_case(&at, &test)) {
        seen |= wnn_pass_bit(test.pass);
        run_whole_case(is_strict(&test) ? strict : context, taker, test, print);
    }
    for (size_t i = 0; wnn_pass_names[i]; i++)
        if (!(seen & wnn_pass_bit(wnn_pass_names[i]))) {
            fprintf(stderr, "there is no case of the pass %s\n", wnn_pass_names[i]);
            return 1;
        }
    free(text);
    wnnContextRelease(taker);
    wnnContextRelease(strict);
    wnnContextRelease(context);
    return cases_end();
}
