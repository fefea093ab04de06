// SPDX-License-Identifier: Apache-2.0
//
// For tests whose graphs are blocks of a graph file: builds them, and computes them on what the test says.

#ifndef CONFORMANCE_UNIT_GRAPH_FIXTURE_H_
#define CONFORMANCE_UNIT_GRAPH_FIXTURE_H_

#include "conformance/unit/runtime_fixture.h"
#include "tools/load.h"

#include <unistd.h>

enum {
    MAX_PORTS = 8, // inputs, and outputs, of a graph
    MAX_PORT_BYTES = 1 << 18
};

// The model has the builder, and must be ended. `name` stands in front of what is wrong with the blocks.
static inline WNNGraph build_blocks(WNNContext context, const char *name, const char *blocks,
                                    struct model *model)
{
    char path[] = "/tmp/wnn_test_XXXXXX";
    struct error error = {0};
    int descriptor = mkstemp(path);
    REQUIRE(descriptor >= 0);
    REQUIRE(dprintf(descriptor, "webnn_graph \"test\" v1 {\n%s\n}\n", blocks) > 0);
    REQUIRE(close(descriptor) == 0);
    REQUIRE(model_begin(model, context, &error));
    bool read = model_load(model, path, NULL, &error);
    unlink(path);
    if (!read)
        fprintf(stderr, "%s: %s\n", name, error.message);
    REQUIRE(read);
    return build_outputs(context, model->builder, model->output_count, model->outputs);
}

typedef void (*port_fill)(const struct descriptor *type, void *data, const void *argument);

static inline WNNNamedBuffer port_buffer(const struct graph_port *port, unsigned char *memory)
{
    const struct descriptor *type = &port->operand->type;
    size_t bytes = wnn_descriptor_bytes(type);
    REQUIRE(bytes <= MAX_PORT_BYTES);
    return (WNNNamedBuffer){wnn_string_view(port->name), memory, bytes, type->type};
}

// Computes the graph once on inputs that `fill` writes; output i begins at outputs[i].
static inline void compute_ports(WNNContext context, WNNGraph graph, port_fill fill, const void *argument,
                                 unsigned char outputs[][MAX_PORT_BYTES])
{
    static _Alignas(64) unsigned char memory[MAX_PORTS][MAX_PORT_BYTES];
    const struct graph *planned = &wnn_graph_plan(graph)->graph;
    WNNNamedBuffer in[MAX_PORTS], out[MAX_PORTS];
    REQUIRE(planned->input_count <= MAX_PORTS && planned->output_count <= MAX_PORTS);
    for (size_t i = 0; i < planned->input_count; i++) {
        in[i] = port_buffer(&planned->inputs[i], memory[i]);
        fill(&planned->inputs[i].operand->type, memory[i], argument);
    }
    for (size_t i = 0; i < planned->output_count; i++)
        out[i] = port_buffer(&planned->outputs[i], outputs[i]);
    compute_buffers(context, graph, planned->input_count, in, planned->output_count, out);
}

// Random numbers from -4 to 4, the same each time.
static inline void fill_randomly(const struct descriptor *type, void *data, const void *unused)
{
    (void)unused;
    uint32_t state = 12345;
    for (size_t i = 0; i < wnn_shape_elements(&type->shape); i++) {
        state = state * 1664525u + 1013904223u;
        WNNNumber number = wnnNumberFloat64(((double)(state >> 8) / (1 << 24) - 0.5) * 8);
        wnn_number_store(wnn_number_convert(number, type->type), type->type, data, i);
    }
}

#endif
