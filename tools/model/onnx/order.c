// SPDX-License-Identifier: Apache-2.0
#include "tools/model/onnx/order.h"

#include "tools/model/protobuf.h"

#define MAX_DEPTH 12       // of graphs within nodes whose names are looked for
#define NOBODY    SIZE_MAX // makes it

#define NODE_OUTPUT 2 // a field

// Who makes a name. Open addressing; the first of several nodes that make one counts.
struct maker {
    struct bytes name;
    size_t node;
};

struct order {
    const struct bytes *nodes; // messages
    size_t count;
    struct maker *makers;
    size_t maker_mask;
    // Of node i the entries [first[i], first[i + 1]) of `before` are nodes that make what it reads.
    size_t *first, *before;
    size_t before_count;
    uint64_t *work; // counts it
};

// Tells, of a node, who makes something that it reads.
typedef void (*tell_maker)(struct order *order, size_t node, size_t maker);

static struct maker *find_place(const struct order *order, struct bytes name)
{
    size_t at = hash_text(name) & order->maker_mask;
    while (order->makers[at].node != NOBODY && !same_text(order->makers[at].name, name))
        at = (at + 1) & order->maker_mask;
    return &order->makers[at];
}

static size_t count_outputs(const struct order *order)
{
    size_t count = 0;
    for (size_t i = 0; i < order->count; i++) {
        struct protobuf reader = {.left = order->nodes[i], .work = order->work};
        for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
            count += field.number == NODE_OUTPUT;
    }
    return count;
}

static bool find_makers(struct order *order, struct model_memory *memory)
{
    size_t places = 2;
    while (places < 2 * count_outputs(order))
        places *= 2;
    order->makers = wnn_model_allocate(memory, places, sizeof order->makers[0]);
    order->maker_mask = places - 1;
    for (size_t i = 0; order->makers && i < places; i++)
        order->makers[i].node = NOBODY;
    for (size_t i = 0; order->makers && i < order->count; i++) {
        struct protobuf reader = {.left = order->nodes[i], .work = order->work};
        for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);) {
            if (field.number != NODE_OUTPUT || field.bytes.size == 0)
                continue;
            struct maker *place = find_place(order, field.bytes);
            if (place->node == NOBODY)
                *place = (struct maker){field.bytes, i};
        }
    }
    return order->makers != NULL;
}

static void tell_name(struct order *order, size_t node, struct bytes name, tell_maker tell)
{
    const struct maker *maker = name.size ? find_place(order, name) : NULL;
    if (maker && maker->node != NOBODY)
        tell(order, node, maker->node);
}

// The messages of a node that have names of values, or messages with them.
enum message {
    NODE,
    ATTRIBUTE,
    GRAPH,
    VALUE,
    NAME
};

static const struct {
    enum message from, to;
    uint32_t field;
} fields[] = {{NODE, NAME, 1},  {NODE, ATTRIBUTE, 5}, {ATTRIBUTE, GRAPH, 6}, {ATTRIBUTE, GRAPH, 11},
              {GRAPH, NODE, 1}, {GRAPH, VALUE, 12},   {VALUE, NAME, 1}};

// Graphs within nodes read what they do not make themselves; names are those of one value only, so that what
// they do make is made by nobody else.
static void tell_makers(struct order *order, size_t node, struct bytes message, enum message kind,
                        unsigned depth, tell_maker tell)
{
    struct protobuf reader = {.left = message, .work = order->work};
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        for (size_t i = 0; field.type == PROTOBUF_BYTES && i < sizeof fields / sizeof fields[0]; i++) {
            if (fields[i].from != kind || fields[i].field != field.number)
                continue;
            if (fields[i].to == NAME)
                tell_name(order, node, field.bytes, tell);
            else if (fields[i].to != GRAPH || depth < MAX_DEPTH)
                tell_makers(order, node, field.bytes, fields[i].to, depth + (fields[i].to == GRAPH), tell);
        }
}

static void tell_all(struct order *order, tell_maker tell)
{
    for (size_t i = 0; i < order->count; i++)
        tell_makers(order, i, order->nodes[i], NODE, 0, tell);
}

static void count_if_later(struct order *order, size_t node, size_t maker)
{
    order->before_count += maker > node;
}

static void count_before(struct order *order, size_t node, size_t maker)
{
    order->first[node + 1] += maker != node;
}

static void add_before(struct order *order, size_t node, size_t maker)
{
    if (maker != node)
        order->before[order->first[node]++] = maker;
}

static bool find_before(struct order *order, struct model_memory *memory)
{
    order->first = wnn_model_allocate(memory, order->count + 2, sizeof order->first[0]);
    if (!order->first)
        return false;
    tell_all(order, count_before);
    for (size_t i = 0; i < order->count; i++)
        order->first[i + 1] += order->first[i];
    order->before = wnn_model_allocate(memory, order->first[order->count], sizeof order->before[0]);
    if (!order->before)
        return false;
    tell_all(order, add_before); // which moves each first to where the next begins
    for (size_t i = order->count; i > 0; i--)
        order->first[i] = order->first[i - 1];
    order->first[0] = 0;
    return true;
}

// Nodes in the order in which they stand, each behind those that it waits for. False: they wait for one
// another. `path` has room for all nodes, and `next` of each the entry of `before` that is looked at next.
static bool sort(const struct order *order, size_t *path, size_t *next, struct bytes *sorted)
{
    size_t done = 0;
    enum {
        ON_PATH = 1,
        DONE
    };
    unsigned char *state = (unsigned char *)(next + order->count);
    for (size_t i = 0; i < order->count; i++) {
        size_t depth = 0;
        if (state[i] == DONE)
            continue;
        path[depth++] = i;
        state[i] = ON_PATH;
        while (depth) {
            size_t node = path[depth - 1], at = order->first[node] + next[node];
            if (at == order->first[node + 1]) {
                sorted[done++] = order->nodes[node];
                state[node] = DONE;
                depth--;
                continue;
            }
            size_t maker = order->before[at];
            next[node]++;
            if (state[maker] == ON_PATH)
                return false;
            if (state[maker] == DONE)
                continue;
            state[maker] = ON_PATH;
            path[depth++] = maker;
        }
    }
    return true;
}

static bool sort_nodes(struct order *order, struct model_memory *memory, struct bytes *nodes)
{
    size_t count = order->count;
    if (!find_makers(order, memory))
        return false;
    tell_all(order, count_if_later);
    if (order->before_count == 0)
        return true;
    struct bytes *sorted = wnn_model_allocate(memory, count, sizeof sorted[0]);
    size_t *path = wnn_model_allocate(memory, count, sizeof path[0]);
    size_t *next = wnn_model_allocate(memory, count, sizeof next[0] + 1);
    if (!sorted || !path || !next || !find_before(order, memory))
        return false;
    if (sort(order, path, next, sorted))
        memcpy(nodes, sorted, count * sizeof nodes[0]);
    return true;
}

bool wnn_onnx_order(struct model_memory *memory, struct onnx_graph *graph)
{
    struct model_memory own = {.limit = memory->limit - memory->used};
    struct order order = {.nodes = graph->nodes, .count = graph->node_count, .work = &memory->work};
    bool good = sort_nodes(&order, &own, graph->nodes);
    wnn_model_free(&own);
    return good;
}

bool wnn_onnx_order_file(struct model_memory *memory, struct onnx_file *file)
{
    bool good = wnn_onnx_order(memory, &file->graph);
    for (size_t i = 0; good && i < file->function_count; i++)
        good = wnn_onnx_order(memory, &file->functions[i].graph);
    return good;
}
