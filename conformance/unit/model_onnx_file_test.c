// SPDX-License-Identifier: Apache-2.0
//
// usage: model_onnx_file_test [CASE...]. ONNX_MODELS names a folder of models: those of Debian's
// libonnx-testdata are read then, as they are and with bytes changed.

#include "conformance/unit/require.h"
#include "tools/model/onnx/file.h"
#include "tools/model/onnx/order.h"
#include "tools/model/source.h"

#include <ftw.h>
#include <sys/stat.h>

static struct model_memory memory = {.limit = (size_t)64 << 20};

static bool is(struct bytes text, const char *expected)
{
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

#define BYTES(text) ((struct bytes){(const unsigned char *)(text), sizeof(text) - 1})

// add(x, c) of opset 13, with c = {1, 2} of two dimensions "n" and 2 in x.
static const char small[] = "\x08\x07"                   // ir_version 7
                            "\x12\x04test"               // producer
                            "\x42\x02\x10\x0D"           // opset_import: version 13
                            "\x72\x06\x0A\x01k\x12\x01v" // metadata k: v
                            "\x3A\x51"                   // graph
                            "\x0A\x18\x0A\x01x\x0A\x01"
                            "c\x12\x01y\x1A\x01n\x22\x03"
                            "Add"                       // node
                            "\x2A\x05\x0A\x01z\x18\x03" //   its attribute z = 3
                            "\x12\x01g"                 // name
                            "\x2A\x11\x08\x02\x10\x01\x42\x01"
                            "c"                                                 // initializer [2] float c
                            "\x4A\x08\x00\x00\x80\x3F\x00\x00\x00\x40"          //   raw data
                            "\x5A\x14\x0A\x01x\x12\x0F\x0A\x0D\x08\x01\x12\x09" // input x, float
                            "\x0A\x03\x12\x01n\x0A\x02\x08\x02"                 //   [n, 2]
                            "\x62\x09\x0A\x01y\x12\x04\x0A\x02\x08\x01";        // output y, of no shape

static void test_small(void)
{
    struct onnx_file file;
    REQUIRE(wnn_onnx_recognize(BYTES(small)));
    REQUIRE(!wnn_onnx_open(BYTES(small), &memory, &file));
    REQUIRE(file.ir_version == 7 && is(file.producer, "test"));
    REQUIRE(file.opset_count == 1 && file.opsets[0].version == 13 && file.opsets[0].domain.size == 0);
    REQUIRE(file.metadata_count == 1 && is(file.metadata[0].key, "k") && is(file.metadata[0].value, "v"));
    const struct onnx_graph *graph = &file.graph;
    REQUIRE(is(graph->name, "g") && graph->node_count == 1);
    struct onnx_node own, *node = &own;
    REQUIRE(!wnn_onnx_node(&memory, graph->nodes[0], node));
    REQUIRE(is(wnn_onnx_operation(graph->nodes[0]), "Add"));
    REQUIRE(is(node->operation, "Add") && is(node->name, "n") && node->inputs.count == 2 &&
            node->outputs.count == 1);
    REQUIRE(is(node->inputs.items[0], "x") && is(node->inputs.items[1], "c") &&
            is(node->outputs.items[0], "y"));
    struct onnx_attribute z, other;
    REQUIRE(wnn_onnx_node_attribute(NULL, node, (struct bytes){(const unsigned char *)"z", 1}, &z) &&
            z.i == 3);
    REQUIRE(!wnn_onnx_node_attribute(NULL, node, (struct bytes){(const unsigned char *)"y", 1}, &other));
    REQUIRE(graph->initializer_count == 1);
    struct onnx_tensor tensor, *c = &tensor;
    REQUIRE(!wnn_onnx_tensor(NULL, graph->initializers[0], c));
    REQUIRE(is(c->name, "c") && c->type == ONNX_FLOAT && c->rank == 1 && c->dims[0] == 2 && c->raw.size == 8);
    REQUIRE(graph->input_count == 1);
    const struct onnx_value *x = graph->inputs;
    REQUIRE(is(x->name, "x") && x->type == ONNX_FLOAT && x->has_shape && x->rank == 2);
    REQUIRE(!x->dims[0].known && is(x->dims[0].param, "n") && x->dims[1].known && x->dims[1].value == 2);
    REQUIRE(graph->output_count == 1 && is(graph->outputs[0].name, "y") && !graph->outputs[0].has_shape);
    wnn_model_free(&memory);
}

// Inputs of each kind of type that ONNX has, empty.
static const char kinds[] = "\x08\x07\x3A\x2D"
                            "\x5A\x07\x0A\x01t\x12\x02\x0A\x00\x5A\x07\x0A\x01s\x12\x02\x22\x00"
                            "\x5A\x07\x0A\x01m\x12\x02\x2A\x00\x5A\x07\x0A\x01o\x12\x02\x4A\x00"
                            "\x5A\x07\x0A\x01p\x12\x02\x42\x00";

static void test_kinds(void)
{
    static const int64_t expected[] = {ONNX_UNDEFINED, ONNX_SEQUENCE, ONNX_MAP, ONNX_OPTIONAL, ONNX_SPARSE};
    struct onnx_file file;
    REQUIRE(!wnn_onnx_open(BYTES(kinds), &memory, &file));
    REQUIRE(file.graph.input_count == 5);
    for (size_t i = 0; i < 5; i++)
        REQUIRE(file.graph.inputs[i].type == expected[i]);
    wnn_model_free(&memory);
}

// Cut at any place, and with any byte changed, it is read or refused; with little memory it is refused.
static void test_damaged(struct bytes bytes, size_t step)
{
    unsigned char *copy = malloc(bytes.size);
    struct onnx_file file;
    REQUIRE(copy);
    for (size_t i = 0; i < bytes.size; i += step) {
        memcpy(copy, bytes.data, bytes.size);
        copy[i] ^= (unsigned char)(1 + i % 255);
        wnn_onnx_open((struct bytes){copy, bytes.size}, &memory, &file);
        wnn_model_free(&memory);
        unsigned char *half = malloc(i ? i : 1);
        REQUIRE(half);
        memcpy(half, bytes.data, i);
        wnn_onnx_open((struct bytes){half, i}, &memory, &file);
        wnn_model_free(&memory);
        free(half);
    }
    free(copy);
    struct model_memory little = {.limit = 100};
    const char *fault = wnn_onnx_open(bytes, &little, &file);
    REQUIRE(fault && little.used <= 100);
    wnn_model_free(&little);
}

static int models, nodes;

static int read_model(const char *path, const struct stat *status, int type, struct FTW *place)
{
    size_t length = strlen(path);
    (void)place;
    if (type != FTW_F || length < 5 || strcmp(path + length - 5, ".onnx") != 0)
        return 0;
    FILE *stream = fopen(path, "rb");
    unsigned char *data = malloc((size_t)status->st_size + 1);
    REQUIRE(stream && data);
    struct bytes bytes = {data, fread(data, 1, (size_t)status->st_size, stream)};
    fclose(stream);
    struct onnx_file file;
    REQUIRE(wnn_onnx_recognize(bytes));
    REQUIRE(!wnn_onnx_open(bytes, &memory, &file));
    REQUIRE(file.opset_count > 0 && file.graph.output_count > 0);
    models++;
    nodes += (int)file.graph.node_count;
    wnn_model_free(&memory);
    if (bytes.size > 0 && bytes.size < 100000)
        test_damaged(bytes, 1 + bytes.size / 20);
    free(data);
    return 0;
}

// A model of one initializer of 300 bytes and its version: what describes it says where they are, and as much
// of it that is cut off is refused with the same words.
static void test_describe(void)
{
    enum {
        ELEMENTS = 300,
        SIZE = 2 + 3 + 3 + 2 + 3 + ELEMENTS + 3
    };
    unsigned char bytes[SIZE] = {0x08, 7, 0x3A, 0xB7, 2, 0x2A, 0xB1, 2, 0x10, 3, 0x4A, 0xAC, 2};
    static const unsigned char name[] = {0x12, 1, 'g'};
    struct description description = {NULL, 0, 0, false};
    struct onnx_file file;
    struct onnx_tensor tensor;
    memset(bytes + 13, 5, ELEMENTS);
    memcpy(bytes + 13 + ELEMENTS, name, sizeof name);
    wnn_onnx_describe((struct bytes){bytes, SIZE}, &description);
    REQUIRE(!description.failed && description.size > 20 && description.size < 60);
    REQUIRE(!wnn_onnx_open((struct bytes){description.data, description.size}, &memory, &file));
    REQUIRE(file.ir_version == 7 && is(file.graph.name, "g") && file.graph.initializer_count == 1);
    REQUIRE(!wnn_onnx_tensor(NULL, file.graph.initializers[0], &tensor));
    REQUIRE(tensor.left_out && tensor.offset == 13 && tensor.length == ELEMENTS && tensor.raw.size == 0);
    REQUIRE(tensor.type == ONNX_INT8);
    wnn_model_free(&memory);
    for (size_t size = 0; size < SIZE; size++) {
        struct model_memory own = {.limit = 1 << 20};
        description.size = 0;
        const char *fault = wnn_onnx_open((struct bytes){bytes, size}, &memory, &file);
        wnn_onnx_describe((struct bytes){bytes, size}, &description);
        REQUIRE(fault && description.size <= size);
        REQUIRE_EQUAL_STR(wnn_onnx_open((struct bytes){description.data, description.size}, &own, &file),
                          fault);
        wnn_model_free(&own);
        wnn_model_free(&memory);
    }
    free(description.data);
}

// Nodes that are written as what they make and what they read, a letter each: "b<a c<b" becomes "c b" sorted.
// Small letters are read by a node itself, capitals by a graph within it.
static void test_order(const char *text, const char *expected)
{
    enum {
        MOST = 8
    };
    struct bytes list[MOST];
    unsigned char messages[MOST][64];
    size_t count = 0;
    for (const char *at = text; *at; at += *at == ' ', count++) {
        unsigned char *message = messages[count], *to = message;
        to = memcpy(to, (unsigned char[]){0x12, 1, (unsigned char)*at}, 3), to += 3;
        for (at += 2; *at && *at != ' '; at++) {
            unsigned char name = (unsigned char)(*at | 0x20);
            if (*at == name)
                to = memcpy(to, (unsigned char[]){0x0A, 1, name}, 3), to += 3;
            else // the input of a node of the graph of an attribute
                to = memcpy(to, (unsigned char[]){0x2A, 7, 0x32, 5, 0x0A, 3, 0x0A, 1, name}, 9), to += 9;
        }
        list[count] = (struct bytes){message, (size_t)(to - message)};
    }
    REQUIRE(wnn_onnx_order(&memory, &(struct onnx_graph){.nodes = list, .node_count = count}));
    for (size_t i = 0; i < count; i++)
        REQUIRE(list[i].data[2] == (unsigned char)expected[i]);
    REQUIRE(memory.used == 0);
}

static void test_models(const char *folder)
{
    REQUIRE(nftw(folder, read_model, 16, FTW_PHYS) == 0);
    printf("%d models, %d nodes\n", models, nodes);
    REQUIRE(models > 0);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("ONNX_MODELS");
    cases_begin(argc, argv);
    CASE(test_small());
    CASE(test_kinds());
    CASE(test_describe());
    CASE(test_order("b<ax c<b d<cb", "bcd"));
    CASE(test_order("d<cb c<b b<ax", "bcd"));
    CASE(test_order("c<b e<x b<a d<ce", "bced")); // what can stay in its place does
    CASE(test_order("d<xB c<x b<c", "cbd"));
    CASE(test_order("c<b b<c d<e e<x", "cbde")); // a circle: all stay
    CASE(test_order("b<b c<b", "bc"));
    CASE(test_order("c<b b<x b<c", "bcb")); // made twice: the first counts
    CASE(test_damaged(BYTES(small), 1));
    if (folder)
        CASE(test_models(folder));
    return cases_end();
}
