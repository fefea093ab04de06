// SPDX-License-Identifier: Apache-2.0
//
// Random graphs: operators that move elements.

#include "conformance/cross/generator.h"

void wnn_make_movement(struct random_graph *graph, enum op op)
{
    uint32_t list[3][WNN_MAX_RANK];
    struct value *x = wnn_random_pick(graph, (struct wish){FLOATS | INTEGERS,
                                                           op == WNN_OP_triangular ? 2 : op == WNN_OP_split,
                                                           WNN_MAX_RANK, false, -NO_LIMIT, NO_LIMIT});
    if (x == NULL)
        return;
    const struct shape *shape = &x->type.shape;
    unsigned rank = shape->rank;
    size_t elements = wnn_shape_elements(shape);
    double low = fmin(x->low, 0), high = fmax(x->high, 0); // zeros may come in
    switch (op) {
    case WNN_OP_expand: {
        struct expand_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, {list[0], rank}};
        unsigned more = rank < graph->most_rank ? below(graph, 2) : 0;
        attrs.newShape.count += more;
        for (unsigned d = 0; d < rank + more; d++) {
            list[0][d] = d < more ? some(graph, 3) : shape->dim[d - more];
            if (d >= more && list[0][d] == 1)
                list[0][d] = some(graph, 4);
            elements *= d < more || shape->dim[d - more] == 1 ? list[0][d] : 1;
        }
        if (elements <= 2 * graph->most_elements)
            wnn_random_emit(graph, op, 1, &x, &attrs, x->low, x->high);
        return;
    }
    case WNN_OP_reshape: {
        struct expand_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT,
                                     {list[0], 1 + below(graph, graph->most_rank)}};
        size_t rest = elements;
        for (size_t d = 0; d < attrs.newShape.count; d++) {
            uint32_t size = 1;
            for (unsigned tries = 0; tries < 4; tries++) {
                uint32_t candidate = 1 + below(graph, 9);
                if (rest % candidate == 0)
                    size = candidate;
            }
            list[0][d] = d + 1 == attrs.newShape.count ? (uint32_t)rest : size;
            rest /= size;
        }
        wnn_random_emit(graph, op, 1, &x, &attrs, x->low, x->high);
        return;
    }
    case WNN_OP_reverse: {
        WNNReverseOptions options = WNN_REVERSE_OPTIONS_INIT;
        if (chance(graph, 70)) {
            options.axes = (WNNUint32List){list[0], 0};
            for (unsigned d = rank; d-- > 0;)
                if (chance(graph, 50))
                    list[0][options.axes.count++] = d;
        }
        wnn_random_emit(graph, op, 1, &x, &options, x->low, x->high);
        return;
    }
    case WNN_OP_slice: {
        struct slice_attrs attrs = {WNN_SLICE_OPTIONS_INIT, {list[0], rank}, {list[1], rank}};
        if (chance(graph, 50))
            attrs.options.strides = (WNNUint32List){list[2], rank};
        for (unsigned d = 0; d < rank; d++) {
            list[0][d] = below(graph, shape->dim[d]);
            uint32_t rest = shape->dim[d] - list[0][d];
            list[1][d] = rest ? some(graph, rest) : 0;
            list[2][d] = 1 + below(graph, 3);
        }
        wnn_random_emit(graph, op, 1, &x, &attrs, x->low, x->high);
        return;
    }
    case WNN_OP_split: {
        struct split_attrs attrs = {.options = WNN_SPLIT_OPTIONS_INIT, .sizes = WNN_UINT32_LIST_INIT};
        attrs.options.axis = below(graph, rank);
        uint32_t size = shape->dim[attrs.options.axis], first = size ? some(graph, size) : 0;
        attrs.count = size > 0 && size <= 8 && chance(graph, 30) ? size : 1;
        if (chance(graph, 60)) {
            attrs.sizes = (WNNUint32List){list[0], first < size ? 2 : 1};
            list[0][0] = first;
            list[0][1] = size - first;
        }
        wnn_random_emit(graph, op, 1, &x, &attrs, x->low, x->high);
        return;
    }
    case WNN_OP_tile: {
        struct tile_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, {list[0], rank}};
        for (unsigned d = 0; d < rank; d++) {
            list[0][d] = chance(graph, 30) ? 1 + some(graph, 2) : some(graph, 1);
            elements *= list[0][d];
        }
        if (elements <= 3 * graph->most_elements)
            wnn_random_emit(graph, op, 1, &x, &attrs, x->low, x->high);
        return;
    }
    case WNN_OP_transpose: {
        WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
        if (chance(graph, 80)) {
            options.permutation = (WNNUint32List){list[0], rank};
            for (unsigned d = 0; d < rank; d++) {
                unsigned other = below(graph, d + 1);
                list[0][d] = list[0][other];
                list[0][other] = d;
            }
        }
        wnn_random_emit(graph, op, 1, &x, &options, x->low, x->high);
        return;
    }
    case WNN_OP_triangular: {
        WNNTriangularOptions options = WNN_TRIANGULAR_OPTIONS_INIT;
        options.upper = chance(graph, 50);
        options.diagonal = (int32_t)below(graph, 7) - 3;
        wnn_random_emit(graph, op, 1, &x, &options, low, high);
        return;
    }
    default: { // pad
        struct pad_attrs attrs = {WNN_PAD_OPTIONS_INIT, {list[0], rank}, {list[1], rank}};
        attrs.options.mode = (WNNPaddingMode)(1 + below(graph, 4));
        if (chance(graph, 50))
            attrs.options.value = wnnNumberFloat64(floor(between(graph, -2, 3)));
        elements = 1;
        for (unsigned d = 0; d < rank; d++) {
            uint32_t most =
                attrs.options.mode == WNNPaddingMode_Reflection ? shape->dim[d] - 1 : shape->dim[d];
            if (shape->dim[d] == 0)
                most = attrs.options.mode == WNNPaddingMode_Constant ? 3 : 0;
            list[0][d] = below(graph, (most < 3 ? most : 3) + 1);
            list[1][d] = below(graph, (most < 3 ? most : 3) + 1);
            elements *= shape->dim[d] + list[0][d] + list[1][d];
        }
        if (elements <= 5 * graph->most_elements)
            wnn_random_emit(graph, op, 1, &x, &attrs, fmin(low, -2), fmax(high, 2));
    }
    }
}

void wnn_make_concat(struct random_graph *graph)
{
    struct value *parts[4];
    parts[0] =
        wnn_random_pick(graph, (struct wish){FLOATS | INTEGERS, 1, WNN_MAX_RANK, false, -NO_LIMIT, NO_LIMIT});
    if (parts[0] == NULL)
        return;
    unsigned count = 1 + below(graph, 4), filled = 1;
    struct shape shape = parts[0]->type.shape;
    struct concat_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, below(graph, shape.rank)};
    for (size_t i = 0; i < graph->value_count && filled < count; i++) {
        struct value *value = &graph->values[i];
        struct shape other = value->type.shape;
        if (value->rounded || value->type.type != parts[0]->type.type || other.rank != shape.rank)
            continue;
        other.dim[attrs.axis] = shape.dim[attrs.axis];
        if (wnn_shape_equal(&other, &shape))
            parts[filled++] = value;
    }
    while (filled < count) {
        shape.dim[attrs.axis] = some(graph, 3);
        parts[filled] = wnn_random_new(graph, parts[0]->type.type, shape);
        if (parts[filled++] == NULL)
            return;
    }
    double low = parts[0]->low, high = parts[0]->high;
    for (unsigned i = 1; i < count; i++) {
        low = fmin(low, parts[i]->low);
        high = fmax(high, parts[i]->high);
    }
    wnn_random_emit(graph, WNN_OP_concat, count, parts, &attrs, low, high);
}

void wnn_make_gather(struct random_graph *graph, enum op op)
{
    struct value *operands[3] = {wnn_random_pick(graph, any_of(FLOATS | INTEGERS, 1, WNN_MAX_RANK))};
    struct value *x = operands[0];
    if (x == NULL)
        return;
    struct shape shape = x->type.shape, updates = {0};
    WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
    WNNScatterElementsOptions scatter = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
    WNNOperatorOptions none = WNN_OPERATOR_OPTIONS_INIT;
    const void *attrs = &options;
    options.axis = scatter.axis = below(graph, shape.rank);
    bool scatters = op == WNN_OP_scatterElements || op == WNN_OP_scatterND;
    if (op == WNN_OP_gather) {
        operands[1] = wnn_random_pick(
            graph, (struct wish){INDICES, 0, WNN_MAX_RANK + 1 - shape.rank, true, -MOST, MOST});
    } else if (op == WNN_OP_gatherElements || op == WNN_OP_scatterElements) {
        struct shape indices = shape;
        indices.dim[options.axis] = some(graph, 5);
        updates = indices;
        operands[1] = wnn_random_new(graph, wnn_random_type(graph, INDICES), indices);
        attrs = op == WNN_OP_gatherElements ? (const void *)&options : &scatter;
    } else {
        unsigned given = some(graph, shape.rank);
        unsigned room = WNN_MAX_RANK - (shape.rank - given);
        struct shape indices = wnn_random_shape(graph, 0, room < 2 ? room : 2);
        updates = indices;
        indices.dim[indices.rank++] = given;
        wnn_shape_append(&updates, shape.dim + given, shape.rank - given);
        operands[1] = wnn_random_new(graph, wnn_random_type(graph, INDICES), indices);
        attrs = &none;
    }
    if (operands[1] == NULL ||
        (op == WNN_OP_gather && wnn_shape_elements(&operands[1]->type.shape) * wnn_shape_elements(&shape) >
                                    8 * graph->most_elements))
        return;
    if (scatters) {
        if (wnn_shape_elements(&updates) > 4 * graph->most_elements)
            return;
        operands[2] = wnn_random_new(graph, x->type.type, updates);
    }
    wnn_random_emit(graph, op, scatters ? 3 : 2, operands, attrs, fmin(x->low, -2.1), fmax(x->high, 2.1));
}
