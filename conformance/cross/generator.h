// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the generator of random graphs share: chance, values, and how an operator is recorded.

#ifndef CONFORMANCE_CROSS_GENERATOR_H_
#define CONFORMANCE_CROSS_GENERATOR_H_

#include "conformance/cross/random_graph.h"

#include <math.h>

#define MOST     24.0 // the magnitude up to which values are used further
#define NO_LIMIT INFINITY

enum {
    FLOATS = F32 | F16,
    INTEGERS = I32 | U32 | I64 | U64 | I8 | U8,
    INDICES = I32 | U32 | I64,
};

static inline uint64_t draw(struct random_graph *graph)
{
    uint64_t x = graph->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static inline uint32_t below(struct random_graph *graph, uint32_t end)
{
    return (uint32_t)(draw(graph) % (end ? end : 1));
}

static inline bool chance(struct random_graph *graph, unsigned percent)
{
    return below(graph, 100) < percent;
}

// A size from 1 to `most`; in a graph of operands without elements 0, now and then.
static inline uint32_t some(struct random_graph *graph, uint32_t most)
{
    return graph->empty && chance(graph, 12) ? 0 : 1 + below(graph, most);
}

static inline double between(struct random_graph *graph, double low, double high)
{
    return low + (high - low) * ((double)(draw(graph) >> 11) * 0x1p-53);
}

static inline double magnitude(const struct value *value)
{
    return fmax(fabs(value->low), fabs(value->high));
}

// What an operand must be like.
struct wish {
    uint32_t types;
    unsigned min_rank, max_rank;
    bool exact;
    double low, high; // floats must be within
};

static inline struct wish any_of(uint32_t types, unsigned min_rank, unsigned max_rank)
{
    return (struct wish){types, min_rank, max_rank, false, -MOST, MOST};
}

// The greatest magnitude that a result may have.
static inline bool fits(const struct value *value, double most)
{
    return value != NULL && most < (value->type.type == WNNDataType_Float16 ? 2e4 : 1e9);
}

static inline uint32_t first_types(enum op op)
{
    return wnn_ops[op].rows[0].types;
}

static inline WNNOperand operand_of(const struct value *value)
{
    return value != NULL ? value->operand : NULL;
}

static inline struct shape vector_of(uint32_t size)
{
    return (struct shape){1, {size}};
}

uint32_t wnn_random_size(struct random_graph *graph);

// A size just below, at, or just above one at which some kernel cuts its loops, and no more than `most`.
uint32_t wnn_random_edge(struct random_graph *graph, uint32_t most);
struct shape wnn_random_shape(struct random_graph *graph, unsigned min_rank, unsigned max_rank);
WNNDataType wnn_random_type(struct random_graph *graph, uint32_t types);

// A shape that broadcasts to `shape`.
struct shape wnn_random_broadcastable(struct random_graph *graph, const struct shape *shape);

// A new constant or input with random elements; floats are between low and high, or -2 and 2. NULL when there
// is no room.
struct value *wnn_random_new_within(struct random_graph *graph, WNNDataType type, struct shape shape,
                                    double low, double high);
struct value *wnn_random_new(struct random_graph *graph, WNNDataType type, struct shape shape);

// A constant of random elements, or of those given.
struct value *wnn_random_new_constant(struct random_graph *graph, WNNDataType type, struct shape shape);
struct value *wnn_random_add_constant(struct random_graph *graph, const struct descriptor *type,
                                      const void *data);

bool wnn_random_suits(const struct value *value, const struct wish *wish);

// A value that there is already, mostly, or a new one.
struct value *wnn_random_pick(struct random_graph *graph, struct wish wish);

// An activation, or NULL in some cases.
WNNActivation wnn_random_activation(struct random_graph *graph, unsigned percent);

// Records an operator. Its results are in [low, high]. Returns the first, or NULL.
struct value *wnn_random_emit(struct random_graph *graph, enum op op, unsigned count,
                              struct value *const *values, const void *attrs, double low, double high);

// Whether an operator with these attributes can be recorded by that one, whose sizes are operands.
bool wnn_random_has_dynamic(const struct random_graph *graph, enum op form, const void *attrs);

// Records an operator by the one whose sizes are operands, with constants; `attrs` are those of the former.
struct value *wnn_random_emit_dynamic(struct random_graph *graph, enum op form, struct value *x,
                                      const void *attrs, double low, double high);

// One call of an operator each, if what there is and chance allow it.
void wnn_make_unary(struct random_graph *graph, enum op op);
void wnn_make_binary(struct random_graph *graph, enum op op);
void wnn_make_quantize(struct random_graph *graph, enum op op);
void wnn_make_movement(struct random_graph *graph, enum op op);
void wnn_make_gather(struct random_graph *graph, enum op op);
void wnn_make_shaping(struct random_graph *graph, enum op op);
void wnn_make_reduction(struct random_graph *graph, enum op op);
void wnn_make_arg(struct random_graph *graph, enum op op);
void wnn_make_along_axis(struct random_graph *graph, enum op op);
void wnn_make_normalization(struct random_graph *graph, enum op op);
void wnn_make_convolution(struct random_graph *graph, enum op op);
void wnn_make_pool(struct random_graph *graph, enum op op);
void wnn_make_recurrent(struct random_graph *graph, enum op op);
void wnn_make_cast(struct random_graph *graph);
void wnn_make_where(struct random_graph *graph);
void wnn_make_concat(struct random_graph *graph);
void wnn_make_resample(struct random_graph *graph);
void wnn_make_gemm(struct random_graph *graph);
void wnn_make_matmul(struct random_graph *graph);
void wnn_make_attention(struct random_graph *graph); // several calls

// Several operators that the compiler may make fewer of.
void wnn_make_fusable(struct random_graph *graph);
// Several operators each: products whose sizes are edges, with element-wise operators around them.
void wnn_make_edge_convolution(struct random_graph *graph);
void wnn_make_edge_product(struct random_graph *graph);

// Several operators each: quantized ones, and a product with quantized weights.
void wnn_make_quantized(struct random_graph *graph);
void wnn_make_packed_weights(struct random_graph *graph);

#endif
