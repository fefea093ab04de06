// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements.
#include "conformance/fuzz/operands.h"

void fuzz_prepare_concat(struct recorder *r, struct call *call)
{
    struct descriptor type;
    WNNOperand first = fuzz_pick(r, ALL, 1, WNN_MAX_RANK, &type);
    uint32_t axis = BELOW(r, type.shape.rank), count = CHANCE(r, 16) ? MAX_INPUTS : 1 + BELOW(r, 4);
    ((struct concat_attrs *)(void *)call->attrs)->axis = axis;
    put(call, first);
    for (uint32_t i = 1; i < count; i++) {
        struct shape shape = type.shape;
        if (CHANCE(r, 100))
            shape.dim[axis] = fuzz_take_size(r);
        put(call, CHANCE(r, 60) ? first : fuzz_like(r, type.type, shape));
    }
}

void fuzz_prepare_split(struct recorder *r, struct call *call)
{
    struct split_attrs *attrs = (void *)call->attrs;
    struct descriptor type;
    put(call, fuzz_pick(r, ALL, 1, WNN_MAX_RANK, &type));
    uint32_t axis = attrs->options.axis = BELOW(r, type.shape.rank), size = type.shape.dim[axis];
    attrs->count = 1;
    attrs->sizes = (WNNUint32List)WNN_UINT32_LIST_INIT;
    if (CHANCE(r, 128)) {
        uint32_t count = 1 + BELOW(r, size < 4 ? size : 4), *sizes = fuzz_new_list(r, count, &attrs->sizes);
        for (uint32_t i = 0; i + 1 < count; i++, size -= sizes[i - 1])
            sizes[i] = fuzz_is_empty(r) ? 0 : 1 + BELOW(r, size - (count - 1 - i));
        sizes[count - 1] = size;
    } else {
        for (uint32_t parts = 2 + BELOW(r, MAX_OUTPUTS); parts > 1 && attrs->count == 1; parts--)
            attrs->count = size % parts == 0 ? parts : 1;
    }
}

void fuzz_prepare_shape(struct recorder *r, struct call *call)
{
    struct descriptor type;
    put(call, fuzz_pick(r, ALL, call->op == WNN_OP_triangular ? 2 : 0, WNN_MAX_RANK, &type));
    const struct shape *shape = &type.shape;
    unsigned rank = shape->rank;
    uint32_t *items;
    switch ((int)call->op) {
    case WNN_OP_reshape: {
        struct expand_attrs *attrs = (void *)call->attrs;
        size_t left = wnn_shape_elements(shape);
        unsigned count = left == 1 ? BELOW(r, 3) : 1 + BELOW(r, 6);
        items = fuzz_new_list(r, count, &attrs->newShape);
        for (unsigned i = 0; i < count; i++) {
            uint32_t factor = rank ? shape->dim[BELOW(r, rank)] : 1;
            factor = CHANCE(r, 80) ? 2 : factor;
            items[i] = i + 1 == count ? (uint32_t)left : factor && left % factor == 0 ? factor : 1;
            left /= items[i] ? items[i] : 1;
        }
        break;
    }
    case WNN_OP_expand: {
        struct expand_attrs *attrs = (void *)call->attrs;
        unsigned more = rank < WNN_MAX_RANK ? BELOW(r, 2) : 0;
        size_t room = CHANNELS / (wnn_shape_elements(shape) + 1) + 1;
        items = fuzz_new_list(r, rank + more, &attrs->newShape);
        for (unsigned i = 0; i < rank + more; i++)
            items[i] = i >= more && shape->dim[i - more] != 1 ? shape->dim[i - more]
                                                              : fuzz_limit(fuzz_take_size(r), &room);
        break;
    }
    case WNN_OP_tile: {
        struct tile_attrs *attrs = (void *)call->attrs;
        size_t room = CHANNELS / (wnn_shape_elements(shape) + 1) + 1;
        items = fuzz_new_list(r, rank, &attrs->repetitions);
        for (unsigned i = 0; i < rank; i++)
            items[i] = fuzz_is_empty(r) ? 0 : CHANCE(r, 128) ? fuzz_limit(1 + BELOW(r, 9), &room) : 1;
        break;
    }
    case WNN_OP_transpose: {
        WNNTransposeOptions *options = (void *)call->attrs;
        uint8_t byte = take(r->bytes);
        if (byte < 32)
            break;
        items = fuzz_new_list(r, rank, &options->permutation);
        for (unsigned i = 0; i < rank; i++)
            items[i] = byte >= 160 && i < 1      ? 0
                       : byte >= 160 && rank > 1 ? 1 + (i - 1 + byte) % (rank - 1)
                                                 : i;
        for (unsigned i = 0; byte < 160 && i + 1 < rank; i++) {
            unsigned k = i + BELOW(r, rank - i);
            uint32_t one = items[i];
            items[i] = items[k];
            items[k] = one;
        }
        break;
    }
    case WNN_OP_pad: {
        static const uint8_t amounts[] = {0, 0, 0, 1, 1, 2, 3, 5, 8, 16, 17, 40};
        struct pad_attrs *attrs = (void *)call->attrs;
        attrs->options.mode = (WNNPaddingMode)(1 + BELOW(r, 4));
        if (CHANCE(r, 80))
            attrs->options.value = wnnNumberFloat64(fuzz_take_real(r));
        uint32_t *begin = fuzz_new_list(r, rank, &attrs->beginningPadding),
                 *end = fuzz_new_list(r, rank, &attrs->endingPadding);
        for (unsigned i = 0; i < rank; i++) {
            uint32_t most = attrs->options.mode == WNNPaddingMode_Reflection ? shape->dim[i] - !!shape->dim[i]
                            : attrs->options.mode == WNNPaddingMode_Symmetric ? shape->dim[i]
                                                                              : 40;
            begin[i] = CHOOSE(r, amounts);
            end[i] = CHOOSE(r, amounts);
            begin[i] = begin[i] < most ? begin[i] : most;
            end[i] = end[i] < most ? end[i] : most;
        }
        break;
    }
    case WNN_OP_slice: {
        struct slice_attrs *attrs = (void *)call->attrs;
        uint32_t *starts = fuzz_new_list(r, rank, &attrs->starts),
                 *sizes = fuzz_new_list(r, rank, &attrs->sizes);
        for (unsigned i = 0; i < rank; i++) {
            starts[i] = CHANCE(r, 128) ? BELOW(r, shape->dim[i]) : 0;
            sizes[i] = shape->dim[i] - starts[i];
            sizes[i] = CHANCE(r, 80) ? 1 + BELOW(r, sizes[i]) : sizes[i];
            sizes[i] = fuzz_is_empty(r) ? 0 : sizes[i];
        }
        if (CHANCE(r, 100)) {
            items = fuzz_new_list(r, rank, &attrs->options.strides);
            for (unsigned i = 0; i < rank; i++)
                items[i] = 1 + BELOW(r, 4) * BELOW(r, 4);
        }
        break;
    }
    default: {
        WNNTriangularOptions *options = (void *)call->attrs;
        options->upper = CHANCE(r, 128);
        options->diagonal = (int32_t)BELOW(r, 40) - 20;
    }
    }
}
