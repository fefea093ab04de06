// SPDX-License-Identifier: Apache-2.0
//
// Small ONNX models, written as protocol buffers are, and what records them.

#ifndef CONFORMANCE_UNIT_ONNX_FIXTURE_H_
#define CONFORMANCE_UNIT_ONNX_FIXTURE_H_

#include "conformance/unit/require.h"

#include <string.h>
#include <webnn/model.h>
#include <webnn/ops.h>

struct writer {
    unsigned char bytes[4096];
    size_t size;
};

static inline void put_byte(struct writer *w, unsigned byte)
{
    REQUIRE(w->size < sizeof w->bytes);
    w->bytes[w->size++] = (unsigned char)byte;
}

static inline void put_varint(struct writer *w, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        put_byte(w, (unsigned)(value & 127) | 128);
    put_byte(w, (unsigned)value);
}

static inline void put_number(struct writer *w, unsigned field, uint64_t value)
{
    put_varint(w, field << 3);
    put_varint(w, value);
}

static inline void put_bytes(struct writer *w, unsigned field, const void *data, size_t size)
{
    put_varint(w, field << 3 | 2);
    put_varint(w, size);
    for (size_t i = 0; i < size; i++)
        put_byte(w, ((const unsigned char *)data)[i]);
}

static inline void put_text(struct writer *w, unsigned field, const char *text)
{
    put_bytes(w, field, text, strlen(text));
}

static inline void put_message(struct writer *w, unsigned field, const struct writer *message)
{
    put_bytes(w, field, message->bytes, message->size);
}

// A float32 tensor; sizes below 0 have the name "n".
static inline void put_value(struct writer *graph, unsigned field, const char *name, size_t rank,
                             const int *dims)
{
    struct writer shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (size_t i = 0; i < rank; i++) {
        struct writer dim = {0};
        if (dims[i] < 0)
            put_text(&dim, 2, "n");
        else
            put_number(&dim, 1, (uint64_t)dims[i]);
        put_message(&shape, 1, &dim);
    }
    put_number(&tensor, 1, 1);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &type);
    put_message(graph, field, &value);
}

static inline void put_node(struct writer *graph, const char *operation, const char *name, const char *a,
                            const char *b, const char *to)
{
    struct writer node = {0};
    put_text(&node, 1, a);
    if (b)
        put_text(&node, 1, b);
    put_text(&node, 2, to);
    put_text(&node, 3, name);
    put_text(&node, 4, operation);
    put_message(graph, 1, &node);
}

// Of external data.
static inline void put_entry(struct writer *tensor, const char *key, const char *value)
{
    struct writer entry = {0};
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(tensor, 13, &entry);
}

// w[3] = 10, 20, 30; in the file or, with a location, in another one, behind an offset if there is one.
static inline void put_weights(struct writer *graph, const char *location, const char *offset)
{
    static const float numbers[] = {10, 20, 30};
    struct writer tensor = {0};
    put_number(&tensor, 1, 3);
    put_number(&tensor, 2, 1);
    put_text(&tensor, 8, "w");
    if (location) {
        put_entry(&tensor, "location", location);
        if (offset)
            put_entry(&tensor, "offset", offset);
        if (offset)
            put_entry(&tensor, "length", "12");
        put_number(&tensor, 14, 1);
    } else {
        put_bytes(&tensor, 9, numbers, sizeof numbers);
    }
    put_message(graph, 5, &tensor);
}

// `field`: of a model or a function.
static inline void put_opset(struct writer *to, unsigned field, unsigned version)
{
    struct writer opset = {0};
    put_number(&opset, 2, version);
    put_message(to, field, &opset);
}

static inline void finish_model_of(struct writer *model, const struct writer *graph, unsigned ir,
                                   unsigned opset)
{
    put_number(model, 1, ir);
    put_text(model, 2, "test");
    put_message(model, 7, graph);
    put_opset(model, 8, opset);
}

static inline void finish_model(struct writer *model, const struct writer *graph)
{
    finish_model_of(model, graph, 8, 17);
}

// y[n, 3] = relu(x[n, 3] + w)
static inline struct writer make_model_at(const char *location, const char *offset)
{
    struct writer graph = {0}, model = {0};
    put_node(&graph, "Add", "sum", "x", "w", "t");
    put_node(&graph, "Relu", "positive", "t", NULL, "y");
    put_text(&graph, 2, "small");
    put_weights(&graph, location, offset);
    put_value(&graph, 11, "x", 2, (int[]){-1, 3});
    put_value(&graph, 12, "y", 2, (int[]){-1, 3});
    finish_model(&model, &graph);
    return model;
}

static inline struct writer make_model(const char *location)
{
    return make_model_at(location, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// Opening and recording
// ---------------------------------------------------------------------------------------------------------------

static char message[1024];

static inline WNNModel open_bytes(const struct writer *bytes, const char *path)
{
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModel model;
    descriptor.path.data = path;
    descriptor.data = bytes->bytes;
    descriptor.byteLength = bytes->size;
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_Success);
    return model;
}

static inline bool is(WNNStringView view, const char *text)
{
    return view.length == strlen(text) && memcmp(view.data, text, view.length) == 0;
}

struct lab {
    WNNContext context;
    WNNGraphBuilder builder;
};

static inline struct lab begin(void)
{
    struct lab lab;
    REQUIRE_EQUAL_INT(wnnCreateContext(NULL, &lab.context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(lab.context, &lab.builder), WNNStatus_Success);
    return lab;
}

static inline void end(struct lab *lab)
{
    wnnGraphBuilderRelease(lab->builder);
    wnnContextRelease(lab->context);
}

static inline WNNStatus record(WNNModel model, struct lab *lab, uint32_t n, WNNNamedOperand *output)
{
    WNNModelDimensionValue dimension = {{"n", 1}, n};
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    options.dimensions = &dimension;
    options.dimensionCount = n > 0;
    size_t count;
    return wnnModelRecord(model, lab->builder, &options, 1, output, &count, sizeof message, message);
}

#endif
