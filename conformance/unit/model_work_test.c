// SPDX-License-Identifier: Apache-2.0
//
// Small files that ask for much work: what loops and functions repeat, and what is looked for again and
// again.
#include "conformance/unit/require.h"

#include <time.h>
#include <webnn/model.h>
#include <webnn/ops.h>

#define MAX_SECONDS 20.0 // of the processor; without bounds all of these take a minute and more

// Fields of ONNX's messages.
enum {
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_FUNCTION = 25,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OPERATION = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    NODE_METADATA = 9,
    FUNCTION_INPUT = 4,
    FUNCTION_OPSET = 9,
    FUNCTION_DOMAIN = 10,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_GRAPH = 6,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_METADATA = 16
};

enum {
    FLOAT = 1,
    INT64 = 7,
    BOOL = 9,
    DOUBLE = 11
};

static char message[1024];

// ---------------------------------------------------------------------------------------------------------------
// Messages
// ---------------------------------------------------------------------------------------------------------------

struct writer {
    unsigned char *bytes;
    size_t size, capacity;
};

static void put(struct writer *w, const void *data, size_t size)
{
    if (w->size + size > w->capacity) {
        w->capacity = 2 * (w->size + size);
        w->bytes = realloc(w->bytes, w->capacity);
        REQUIRE(w->bytes);
    }
    if (size)
        memcpy(w->bytes + w->size, data, size);
    w->size += size;
}

static void put_varint(struct writer *w, uint64_t value)
{
    unsigned char byte;
    for (; value >= 128; value >>= 7)
        put(w, (byte = (unsigned char)(value | 128), &byte), 1);
    put(w, (byte = (unsigned char)value, &byte), 1);
}

static void put_number(struct writer *w, unsigned field, uint64_t value)
{
    put_varint(w, field << 3);
    put_varint(w, value);
}

static void put_bytes(struct writer *w, unsigned field, const void *data, size_t size)
{
    put_varint(w, field << 3 | 2);
    put_varint(w, size);
    put(w, data, size);
}

static void put_text(struct writer *w, unsigned field, const char *text)
{
    put_bytes(w, field, text, strlen(text));
}

// Writes a message, which is freed.
static void put_message(struct writer *w, unsigned field, struct writer *part)
{
    put_bytes(w, field, part->bytes, part->size);
    free(part->bytes);
    *part = (struct writer){0};
}

static void put_many(struct writer *w, unsigned field, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_bytes(w, field, NULL, 0);
}

static struct writer make_node(const char *operation, const char *input, const char *output)
{
    struct writer node = {0};
    if (input)
        put_text(&node, NODE_INPUT, input);
    if (output)
        put_text(&node, NODE_OUTPUT, output);
    put_text(&node, NODE_OPERATION, operation);
    return node;
}

static void put_node(struct writer *graph, const char *operation, const char *input, const char *output)
{
    struct writer node = make_node(operation, input, output);
    put_message(graph, GRAPH_NODE, &node);
}

static void put_name(struct writer *graph, unsigned field, const char *name)
{
    struct writer value = {0};
    put_text(&value, 1, name);
    put_message(graph, field, &value);
}

static void put_tensor(struct writer *graph, const char *name, unsigned type, size_t rank,
                       const int64_t *dims, const void *data, size_t bytes)
{
    struct writer tensor = {0};
    for (size_t i = 0; i < rank; i++)
        put_number(&tensor, TENSOR_DIMS, (uint64_t)dims[i]);
    put_number(&tensor, TENSOR_TYPE, type);
    put_text(&tensor, TENSOR_NAME, name);
    put_bytes(&tensor, TENSOR_RAW, data, bytes);
    put_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void put_initializer(struct writer *graph, const char *name, unsigned type, size_t rank, int64_t size,
                            const void *data, size_t bytes)
{
    put_tensor(graph, name, type, rank, &size, data, bytes);
}

static void put_truth(struct writer *graph)
{
    put_initializer(graph, "truth", BOOL, 0, 0, "\1", 1);
}

// A loop that carries nothing; the body is freed.
static void put_loop(struct writer *graph, const char *trips, struct writer *body)
{
    struct writer node = {0}, attribute = {0};
    put_name(body, GRAPH_INPUT, "trip");
    put_name(body, GRAPH_INPUT, "condition");
    put_name(body, GRAPH_OUTPUT, "truth");
    put_text(&node, NODE_INPUT, trips);
    put_text(&node, NODE_INPUT, "truth");
    put_text(&node, NODE_OPERATION, "Loop");
    put_text(&attribute, 1, "body");
    put_message(&attribute, ATTRIBUTE_GRAPH, body);
    put_message(&node, NODE_ATTRIBUTE, &attribute);
    put_message(graph, GRAPH_NODE, &node);
}

// ---------------------------------------------------------------------------------------------------------------
// Recording
// ---------------------------------------------------------------------------------------------------------------

static void count_name(const WNNModelNamedValue *value, void *count, void *unused)
{
    (void)value, (void)unused;
    ++*(size_t *)count;
}

// Makes a model of a graph whose output is y, and frees both. The status of recording it, or of opening it.
static WNNStatus record(struct writer *model, struct writer *graph, size_t *names)
{
    struct writer opset = {0};
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    WNNContextDescriptor device = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNModel opened;
    WNNContext context;
    WNNGraphBuilder builder;
    struct writer file = {0};
    clock_t begin = clock();
    put_number(&file, 1, 8);
    put_number(&opset, 2, 17);
    put_message(&file, MODEL_OPSET, &opset);
    put(&file, model->bytes, model->size);
    put_name(graph, GRAPH_OUTPUT, "y");
    put_message(&file, MODEL_GRAPH, graph);
    descriptor.path.data = "m";
    descriptor.data = file.bytes;
    descriptor.byteLength = file.size;
    options.onName = names ? count_name : NULL;
    options.userdata1 = names;
    message[0] = '\0';
    WNNStatus status = wnnModelOpen(&descriptor, &opened, sizeof message, message);
    if (status == WNNStatus_Success) {
        REQUIRE_EQUAL_INT(wnnCreateContext(&device, &context), WNNStatus_Success);
        REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &builder), WNNStatus_Success);
        status = wnnModelRecord(opened, builder, &options, 0, NULL, NULL, sizeof message, message);
        wnnGraphBuilderRelease(builder);
        wnnContextRelease(context);
        wnnModelRelease(opened);
    }
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (!SANITIZED)
        REQUIRE(seconds < MAX_SECONDS);
    free(file.bytes);
    free(model->bytes);
    return status;
}

static void require_too_much(struct writer *graph)
{
    struct writer model = {0};
    put_truth(graph);
    REQUIRE_EQUAL_INT(record(&model, graph, NULL), WNNStatus_NotSupportedError);
    if (!strstr(message, "recording takes too much work, loops unrolled"))
        REQUIRE_EQUAL_STR(message, "");
}

static void put_trips(struct writer *graph, int64_t trips)
{
    put_initializer(graph, "trips", INT64, 0, 0, &trips, sizeof trips);
}

// ---------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------

// Loops within a loop of 4096 trips: a body, which is freed, is recorded 4096 * 24 * 4096 times.
static void put_loops(struct writer *graph, struct writer *body)
{
    struct writer middle = {0};
    for (int i = 0; i < 24; i++) {
        struct writer copy = {0};
        put(&copy, body->bytes, body->size);
        put_loop(&middle, "trips", &copy);
    }
    free(body->bytes);
    put_loop(graph, "trips", &middle);
    put_node(graph, "Identity", "truth", "y");
}

// A node of many fields is read for each trip.
static void fields_of_a_node(void)
{
    struct writer graph = {0}, body = {0}, node = make_node("Identity", "truth", "same");
    put_many(&node, NODE_METADATA, 50000);
    put_message(&body, GRAPH_NODE, &node);
    put_trips(&graph, 4096);
    put_loop(&graph, "trips", &body);
    put_node(&graph, "Identity", "truth", "y");
    require_too_much(&graph);
}

// So are attributes, whose fields are others'.
static void fields_of_an_attribute(void)
{
    struct writer graph = {0}, body = {0}, node = make_node("Softmax", "x", "same"), attribute = {0};
    static const float x[] = {1, 2};
    put_initializer(&graph, "x", FLOAT, 1, 2, x, sizeof x);
    for (int i = 0; i < 100000; i++)
        put_number(&attribute, ATTRIBUTE_INT, 0);
    put_text(&attribute, 1, "axis");
    put_message(&node, NODE_ATTRIBUTE, &attribute);
    put_message(&body, GRAPH_NODE, &node);
    put_trips(&graph, 4096);
    put_loop(&graph, "trips", &body);
    put_node(&graph, "Identity", "truth", "y");
    require_too_much(&graph);
}

// The message of a constant is read by each node that uses it.
static void fields_of_a_constant(void)
{
    struct writer graph = {0}, tensor = {0};
    static const float numbers[1000];
    put_number(&tensor, TENSOR_DIMS, 1000);
    put_number(&tensor, TENSOR_TYPE, FLOAT);
    put_text(&tensor, TENSOR_NAME, "c");
    put_bytes(&tensor, TENSOR_RAW, numbers, sizeof numbers);
    put_many(&tensor, TENSOR_METADATA, 400000);
    put_message(&graph, GRAPH_INITIALIZER, &tensor);
    for (int i = 0; i < 20000; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        put_node(&graph, "Softmax", "c", name);
    }
    put_node(&graph, "Identity", "truth", "y");
    require_too_much(&graph);
}

// Graphs without nodes, whose trips take time nevertheless.
static void empty_loops(void)
{
    struct writer graph = {0}, body = {0};
    put_trips(&graph, 4096);
    put_loops(&graph, &body);
    require_too_much(&graph);
}

// Elements that are computed again and again, in memory that is free afterwards: a loop of one trip.
static void computed_elements(void)
{
    struct writer graph = {0}, middle = {0}, inner = {0}, node = {0};
    static const int64_t shape[] = {1 << 20}, one = 1;
    put_initializer(&graph, "shape", INT64, 1, 1, shape, sizeof shape);
    put_initializer(&graph, "x", DOUBLE, 0, 0, &(double){0.1}, sizeof(double));
    put_trips(&graph, 4096);
    put_initializer(&graph, "one", INT64, 0, 0, &one, sizeof one);
    node = make_node("Expand", "x", "wide");
    put_text(&node, NODE_INPUT, "shape");
    put_message(&inner, GRAPH_NODE, &node);
    put_node(&inner, "Neg", "wide", "less");
    put_loop(&middle, "one", &inner);
    put_loop(&graph, "trips", &middle);
    put_node(&graph, "Identity", "truth", "y");
    require_too_much(&graph);
}

// Elements of which little is made: one table, which a loop sums up again and again.
static void reduced_elements(void)
{
    struct writer graph = {0}, body = {0}, node = {0};
    int64_t size = 65536;
    put_initializer(&graph, "size", INT64, 0, 0, &size, sizeof size);
    put_initializer(&graph, "zero", INT64, 0, 0, &(int64_t){0}, sizeof size);
    put_initializer(&graph, "one", INT64, 0, 0, &(int64_t){1}, sizeof size);
    node = make_node("Range", "zero", "table");
    put_text(&node, NODE_INPUT, "size");
    put_text(&node, NODE_INPUT, "one");
    put_message(&graph, GRAPH_NODE, &node);
    for (int i = 0; i < 90; i++)
        put_node(&body, "ReduceSum", "table", "sum");
    put_trips(&graph, 4096);
    put_loop(&graph, "trips", &body);
    put_node(&graph, "Identity", "truth", "y");
    require_too_much(&graph);
}

// Each of many boxes is compared with those that remain.
static void compared_boxes(void)
{
    enum {
        BOXES = 65536
    };
    struct writer graph = {0}, node = make_node("NonMaxSuppression", "boxes", "y");
    float *boxes = calloc(BOXES, 4 * sizeof *boxes), *scores = calloc(BOXES, sizeof *scores);
    REQUIRE(boxes && scores);
    for (size_t i = 0; i < BOXES; i++)
        scores[i] = (float)i;
    put_tensor(&graph, "boxes", FLOAT, 3, (int64_t[]){1, BOXES, 4}, boxes, BOXES * 4 * sizeof *boxes);
    put_tensor(&graph, "scores", FLOAT, 3, (int64_t[]){1, 1, BOXES}, scores, BOXES * sizeof *scores);
    put_initializer(&graph, "most", INT64, 0, 0, &(int64_t){65535}, sizeof(int64_t));
    put_text(&node, NODE_INPUT, "scores");
    put_text(&node, NODE_INPUT, "most");
    put_message(&graph, GRAPH_NODE, &node);
    free(boxes);
    free(scores);
    require_too_much(&graph);
}

static void put_numbered(struct writer *to, unsigned field, int i)
{
    char name[12];
    snprintf(name, sizeof name, "n%06d", i);
    put_text(to, field, name);
}

// One of many functions is found at once.
static void many_functions(void)
{
    enum {
        FUNCTIONS = 100000,
        NODES = 100000
    };
    struct writer graph = {0}, model = {0}, part = {0};
    for (int i = 0; i < FUNCTIONS; i++) {
        put_numbered(&part, 1, i);
        put_text(&part, FUNCTION_DOMAIN, "own");
        put_message(&model, MODEL_FUNCTION, &part);
    }
    for (int i = 0; i < NODES; i++) {
        put_numbered(&part, NODE_OPERATION, FUNCTIONS - 1 - i % 16);
        put_text(&part, NODE_DOMAIN, "own");
        put_message(&graph, GRAPH_NODE, &part);
    }
    put_truth(&graph);
    put_node(&graph, "Identity", "truth", "y");
    REQUIRE_EQUAL_INT(record(&model, &graph, NULL), WNNStatus_Success);
}

// The inputs of a function are named each time that it is called.
static void inputs_of_a_function(void)
{
    struct writer graph = {0}, model = {0}, part = {0};
    put_text(&part, 1, "F");
    put_text(&part, FUNCTION_DOMAIN, "own");
    put_many(&part, FUNCTION_INPUT, 50000);
    put_message(&model, MODEL_FUNCTION, &part);
    for (int i = 0; i < 50000; i++) {
        part = make_node("F", NULL, NULL);
        put_text(&part, NODE_DOMAIN, "own");
        put_message(&graph, GRAPH_NODE, &part);
    }
    put_truth(&graph);
    put_node(&graph, "Identity", "truth", "y");
    REQUIRE_EQUAL_INT(record(&model, &graph, NULL), WNNStatus_NotSupportedError);
    REQUIRE(strstr(message, "recording takes too much work, loops unrolled"));
}

// Operator sets of a function are looked for by each of its nodes.
static void sets_of_a_function(void)
{
    struct writer graph = {0}, model = {0}, function = {0};
    put_text(&function, 1, "F");
    put_text(&function, FUNCTION_DOMAIN, "own");
    put_many(&function, FUNCTION_OPSET, 257);
    put_message(&model, MODEL_FUNCTION, &function);
    REQUIRE_EQUAL_INT(record(&model, &graph, NULL), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "m: a function imports more than 256 operator sets");
}

// Outputs of a node are found at once, and told so, however many it has.
static void many_outputs(void)
{
    enum {
        COUNT = 100000,
        READ = 4000 // by a node
    };
    static const float numbers[COUNT];
    struct writer graph = {0}, model = {0}, node = {0}, attribute = {0};
    size_t names = 0;
    put_initializer(&graph, "x", FLOAT, 1, COUNT, numbers, sizeof numbers);
    put_text(&node, NODE_OPERATION, "Split");
    put_text(&node, NODE_INPUT, "x");
    for (int i = 0; i < COUNT; i++)
        put_numbered(&node, NODE_OUTPUT, i);
    put_text(&attribute, 1, "axis");
    put_number(&attribute, ATTRIBUTE_INT, 0);
    put_message(&node, NODE_ATTRIBUTE, &attribute);
    put_message(&graph, GRAPH_NODE, &node);
    for (int begin = 0; begin < COUNT; begin += READ) {
        put_text(&node, NODE_OPERATION, "Concat");
        for (int i = begin; i < begin + READ; i++)
            put_numbered(&node, NODE_INPUT, i);
        put_numbered(&node, NODE_OUTPUT, COUNT + begin);
        put_text(&attribute, 1, "axis");
        put_number(&attribute, ATTRIBUTE_INT, 0);
        put_message(&node, NODE_ATTRIBUTE, &attribute);
        put_message(&graph, GRAPH_NODE, &node);
    }
    put_node(&graph, "Identity", "n100000", "y");
    WNNStatus status = record(&model, &graph, &names);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    REQUIRE_EQUAL_INT(names, COUNT + COUNT / READ + 2); // what is split, joined, x and y
}

// What models do is far from the bound: a large body, 4096 times.
static void large_loop(void)
{
    struct writer graph = {0}, model = {0}, body = {0};
    static const float x[] = {1, 2, 3, 4};
    put_initializer(&graph, "x", FLOAT, 1, 4, x, sizeof x);
    put_trips(&graph, 4096);
    put_truth(&graph);
    for (int i = 0; i < 20; i++) {
        struct writer node = make_node("Softmax", "x", NULL), attribute = {0};
        put_numbered(&node, NODE_OUTPUT, i);
        put_numbered(&node, NODE_NAME, i);
        put_text(&attribute, 1, "axis");
        put_number(&attribute, ATTRIBUTE_INT, 0);
        put_message(&node, NODE_ATTRIBUTE, &attribute);
        put_message(&body, GRAPH_NODE, &node);
    }
    put_loop(&graph, "trips", &body);
    put_node(&graph, "Identity", "x", "y");
    REQUIRE_EQUAL_INT(record(&model, &graph, NULL), WNNStatus_Success);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(fields_of_a_node());
    CASE(fields_of_an_attribute());
    CASE(fields_of_a_constant());
    CASE(empty_loops());
    CASE(computed_elements());
    CASE(reduced_elements());
    CASE(compared_boxes());
    CASE(many_functions());
    CASE(inputs_of_a_function());
    CASE(sets_of_a_function());
    CASE(many_outputs());
    CASE(large_loop());
    return cases_end();
}
