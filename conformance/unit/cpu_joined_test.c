// SPDX-License-Identifier: Apache-2.0
//
// Products of the same rows, as those that make queries, keys and values, are computed at once where their
// matrices have one form, and give the bits that each gives alone; and are not where one of them waits for
// another, adds something that is computed, or has another form.

#include "conformance/unit/runtime_fixture.h"
#include "lib/half.h"

enum {
    ROWS = 2,
    INNER = 96,
    BLOCK = 32,
    PRODUCTS = 3
};

static const uint32_t widths[PRODUCTS] = {80, 33, 64};

// How the last of the products differs from the others.
enum odd {
    ODD_NOT,
    ODD_FORM,   // of its matrix
    ODD_INPUT,  // it reads another input
    ODD_WAITS,  // for the first
    ODD_ADDEND, // it adds an input
    ODD_MANY,   // of all: they have many rows
    ODD_COUNT
};

struct recipe {
    WNNDataType type; // of matrices
    bool reshapes;    // each has its own reshape in front
    enum odd odd;
    int only; // which product, or -1: all
};

static unsigned char bytes_of(uint32_t seed, size_t i)
{
    uint32_t state = (seed + (uint32_t)i) * 2654435761u;
    return (unsigned char)((state ^ state >> 15) * 2246822519u >> 24);
}

static WNNOperand constant(WNNGraphBuilder b, WNNDataType type, WNNUint32List shape, uint32_t seed)
{
    size_t count = 1;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    size_t bytes = wnn_dtype_bytes(type, count);
    unsigned char *data = malloc(bytes);
    REQUIRE(data);
    for (size_t i = 0; i < bytes; i++)
        data[i] = bytes_of(seed, i);
    for (size_t i = 0; i < count && type == WNNDataType_Float16; i++)
        ((uint16_t *)(void *)data)[i] = wnn_half_from_float((float)bytes_of(seed, i) / 128 - 1);
    for (size_t i = 0; i < count && type == WNNDataType_Float32; i++)
        ((float *)(void *)data)[i] = (float)bytes_of(seed, i) / 128 - 1;
    WNNOperandDescriptor descriptor = {NULL, type, shape};
    WNNOperand operand = wnnGraphBuilderConstant(b, &descriptor, data, bytes);
    free(data);
    return operand;
}

static WNNOperand matrix(WNNGraphBuilder b, WNNDataType type, uint32_t width, uint32_t seed)
{
    uint32_t whole[] = {INNER, width}, pieces[] = {INNER / BLOCK, width};
    if (type == WNNDataType_Float16)
        return constant(b, type, (WNNUint32List){whole, 2}, seed);
    WNNOperand scale = constant(b, WNNDataType_Float16, (WNNUint32List){pieces, 2}, seed + 7);
    WNNOperand zero = constant(b, type, (WNNUint32List){pieces, 2}, seed + 9);
    return wnnGraphBuilderDequantizeLinear(b, constant(b, type, (WNNUint32List){whole, 2}, seed), scale, zero,
                                           NULL);
}

static WNNOperand input(WNNGraphBuilder b, const char *name, uint32_t rows, uint32_t columns)
{
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float16, {(uint32_t[]){1, rows, columns}, 3}};
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}

static WNNOperand reshape(WNNGraphBuilder b, WNNOperand x, uint32_t width)
{
    return wnnGraphBuilderReshape(b, x, (WNNUint32List){&width, 1}, NULL);
}

static WNNOperand product(WNNGraphBuilder b, const struct recipe *recipe, uint32_t rows, WNNOperand x,
                          WNNOperand w)
{
    if (recipe->reshapes)
        x = wnnGraphBuilderReshape(b, x, (WNNUint32List){(uint32_t[]){rows, INNER}, 2}, NULL);
    return wnnGraphBuilderMatmul(b, x, w, NULL);
}

// Outputs y0 to y2, of which the last is the odd one.
static WNNGraph build(WNNContext context, const struct recipe *recipe)
{
    static const char *const names[PRODUCTS] = {"y0", "y1", "y2"};
    WNNGraphBuilder b = create_builder(context);
    uint32_t rows = recipe->odd == ODD_MANY ? 20 : ROWS;
    WNNOperand x = wnnGraphBuilderAbs(b, input(b, "x", rows, INNER), NULL), first = NULL;
    WNNNamedOperand outputs[PRODUCTS];
    size_t count = 0;
    for (uint32_t i = 0; i < PRODUCTS; i++) {
        enum odd odd = i + 1 == PRODUCTS ? recipe->odd : ODD_NOT;
        if (recipe->only >= 0 && (uint32_t)recipe->only != i && !(i == 0 && recipe->odd == ODD_WAITS))
            continue;
        WNNDataType type = odd != ODD_FORM                       ? recipe->type
                           : recipe->type == WNNDataType_Float16 ? WNNDataType_Int8
                                                                 : WNNDataType_Float16;
        WNNOperand from = odd == ODD_INPUT ? wnnGraphBuilderAbs(b, input(b, "z", rows, INNER), NULL) : x;
        if (odd == ODD_WAITS) {
            WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
            options.keepDimensions = true;
            WNNOperand most = wnnGraphBuilderReduceMax(b, first, &options);
            from = wnnGraphBuilderMul(b, x, reshape(b, most, 1), NULL);
        }
        WNNOperand y = product(b, recipe, rows, from, matrix(b, type, widths[i], 100 * i));
        if (odd == ODD_ADDEND) {
            WNNOperand more = wnnGraphBuilderAbs(b, input(b, "z", 1, widths[i]), NULL);
            y = wnnGraphBuilderAdd(b, y, reshape(b, more, widths[i]), NULL);
        }
        first = i == 0 ? y : first;
        if (recipe->only < 0 || (uint32_t)recipe->only == i)
            outputs[count++] = (WNNNamedOperand){view(names[i]), y};
    }
    WNNGraph graph = build_outputs(context, b, count, outputs);
    wnnGraphBuilderRelease(b);
    return graph;
}

static void run(WNNContext context, WNNGraph graph, const struct recipe *recipe,
                uint16_t *const results[PRODUCTS])
{
    size_t in_count, out_count;
    const WNNNamedDescriptor *in = wnnGraphGetInputs(graph, &in_count),
                             *out = wnnGraphGetOutputs(graph, &out_count);
    WNNNamedBuffer inputs[2], outputs[PRODUCTS];
    uint16_t data[2][20 * INNER];
    for (size_t i = 0; i < in_count; i++) {
        size_t count = (size_t)in[i].descriptor.shape.data[1] * in[i].descriptor.shape.data[2];
        for (size_t j = 0; j < count; j++)
            data[i][j] = wnn_half_from_float((float)bytes_of((uint32_t)in[i].name.data[0], j) / 64 - 2);
        inputs[i] = (WNNNamedBuffer){in[i].name, data[i], count * sizeof data[i][0], WNNDataType_Float16};
    }
    for (size_t i = 0; i < out_count; i++) {
        unsigned number = (unsigned)(out[i].name.data[1] - '0');
        size_t count = (size_t)(recipe->odd == ODD_MANY ? 20 : ROWS) * widths[number];
        outputs[i] =
            (WNNNamedBuffer){out[i].name, results[number], count * sizeof(uint16_t), WNNDataType_Float16};
    }
    compute_buffers(context, graph, in_count, inputs, out_count, outputs);
}

// Products that are on a level with others.
static unsigned count_joined(WNNGraph graph)
{
    const struct graph *plan = &wnn_graph_plan(graph)->graph;
    unsigned joined = 0;
    for (size_t i = 0; i < plan->node_count; i++) {
        const struct node *node = plan->nodes[i];
        bool before = i > 0 && plan->nodes[i - 1]->level == node->level;
        bool behind = i + 1 < plan->node_count && plan->nodes[i + 1]->level == node->level;
        joined += (before || behind) && (node->op == WNN_OP_matmul || node->op == WNN_OP_gemm);
    }
    return joined;
}

static void test_recipe(WNNContext context, struct recipe recipe)
{
    uint16_t together[PRODUCTS][20 * 80], alone[PRODUCTS][20 * 80];
    uint16_t *const all[] = {together[0], together[1], together[2]}, *const one[] = {alone[0], alone[1],
                                                                                     alone[2]};
    memset(together, 0, sizeof together);
    memset(alone, 0, sizeof alone);
    recipe.only = -1;
    WNNGraph graph = build(context, &recipe);
    unsigned expected = recipe.odd == ODD_NOT ? 3 : recipe.odd == ODD_MANY ? 0 : 2;
    REQUIRE_EQUAL_INT(count_joined(graph), expected);
    run(context, graph, &recipe, all);
    wnnGraphRelease(graph);
    for (recipe.only = 0; recipe.only < PRODUCTS; recipe.only++) {
        graph = build(context, &recipe);
        REQUIRE_EQUAL_INT(count_joined(graph), 0);
        run(context, graph, &recipe, one);
        wnnGraphRelease(graph);
        REQUIRE(memcmp(together[recipe.only], alone[recipe.only], sizeof alone[0]) == 0);
    }
}

static void test_recipes(WNNContext context)
{
    static const WNNDataType types[] = {WNNDataType_Float16, WNNDataType_Int8, WNNDataType_Uint4};
    for (unsigned i = 0; i < 3; i++)
        for (int odd = 0; odd < ODD_COUNT; odd++)
            for (int reshapes = 0; reshapes < 2; reshapes++)
                test_recipe(context, (struct recipe){types[i], reshapes, (enum odd)odd, -1});
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        WNNContextDescriptor descriptor = describe_context(NULL, NULL);
        WNNContext context;
        descriptor.threadCount = threads;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
        CASE(test_recipes(context));
        wnnContextRelease(context);
    }
    return cases_end();
}
