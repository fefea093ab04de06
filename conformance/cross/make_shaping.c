// SPDX-License-Identifier: Apache-2.0
//
// Random graphs: operators about shapes.

#include "conformance/cross/generator.h"
#include "ops/builder.h"

#include <string.h>

enum op wnn_random_dynamic_form(enum op op)
{
    for (unsigned form = 0; form < WNN_OP_COUNT; form++)
        if (wnn_ops[form].infer == wnn_infer_dynamic && wnn_op_sibling((enum op)form) == op)
            return (enum op)form;
    return WNN_OP_COUNT;
}

void wnn_random_dynamic_attrs(enum op form, const void *attrs, void *into)
{
    const struct op_info *info = &wnn_ops[wnn_op_sibling(form)];
    memcpy(into, wnn_ops[form].defaults, wnn_ops[form].attrs_size);
    for (const struct op_row *row = wnn_ops[form].rows; row->name; row++) {
        const struct op_row *from = wnn_op_attr_row(info, (struct string){row->name, strlen(row->name)}, -1);
        if (row->kind == ROW_ATTRIBUTE && from)
            memcpy((char *)into + row->offset, (const char *)attrs + from->offset, wnn_attr_bytes(row->attr));
    }
}

bool wnn_random_dynamic_list(enum op form, const struct op_row *row, const void *attrs, WNNUint32List *list)
{
    if (!wnn_op_row_is_input(row) || row == wnn_ops[form].rows)
        return false;
    const struct op_row *from = wnn_op_attr_row(&wnn_ops[wnn_op_sibling(form)],
                                                (struct string){row->name, strlen(row->name)}, ATTR_u32s);
    memcpy(list, (const char *)attrs + from->offset, sizeof *list);
    return list->count != WNN_LIST_ABSENT;
}

bool wnn_random_has_dynamic(const struct random_graph *graph, enum op form, const void *attrs)
{
    bool empty = graph->builder->limits.acceptEmptyTensors;
    for (const struct op_row *row = wnn_ops[form].rows; row->name; row++) {
        WNNUint32List list;
        if (!wnn_op_row_is_input(row) || row == wnn_ops[form].rows || row->kind == ROW_OPTIONAL_INPUT)
            continue;
        if (!wnn_random_dynamic_list(form, row, attrs, &list) || (list.count == 0 && !empty))
            return false;
    }
    return true;
}

static struct value *add_list(struct random_graph *graph, WNNUint32List list)
{
    static const WNNDataType types[] = {WNNDataType_Int32, WNNDataType_Uint32, WNNDataType_Int64};
    const struct descriptor type = {types[below(graph, 3)], vector_of((uint32_t)list.count)};
    uint64_t data[64] = {0};
    if (list.count > 64)
        return NULL;
    for (size_t i = 0; i < list.count; i++)
        wnn_number_store(wnn_number_convert(wnnNumberInt64(list.data[i]), type.type), type.type, data, i);
    return wnn_random_add_constant(graph, &type, data);
}

struct value *wnn_random_emit_dynamic(struct random_graph *graph, enum op form, struct value *x,
                                      const void *attrs, double low, double high)
{
    _Alignas(16) char options[256];
    struct value *operands[3] = {x};
    unsigned count = 1;
    wnn_random_dynamic_attrs(form, attrs, options);
    for (const struct op_row *row = wnn_ops[form].rows; row->name; row++) {
        WNNUint32List list;
        if (!wnn_op_row_is_input(row) || row == wnn_ops[form].rows)
            continue;
        bool given = wnn_random_dynamic_list(form, row, attrs, &list);
        struct value *value = given ? add_list(graph, list) : NULL;
        WNNOperand operand = operand_of(value);
        if (row->kind == ROW_OPTIONAL_INPUT)
            memcpy(options + row->offset, &operand, sizeof operand);
        else
            operands[count++] = value;
    }
    return wnn_random_emit(graph, form, count, operands, options, low, high);
}

static void make_range(struct random_graph *graph)
{
    const struct descriptor type = {wnn_random_type(graph, FLOATS | INTEGERS), {0}};
    bool negative = wnn_dtype_is_signed(type.type) && chance(graph, 30);
    double step = 1 + below(graph, 3), start = below(graph, 5), count = some(graph, 12);
    const double numbers[] = {negative ? 60 - start : start,
                              negative ? 60 - start - count * step : start + count * step,
                              negative ? -step : step};
    struct value *operands[3];
    for (unsigned i = 0; i < 3; i++) {
        uint64_t data = 0;
        wnn_number_store(wnn_number_convert(wnnNumberFloat64(numbers[i]), type.type), type.type, &data, 0);
        operands[i] = wnn_random_add_constant(graph, &type, &data);
    }
    wnn_random_emit(graph, WNN_OP_range, 3, operands, wnn_ops[WNN_OP_range].defaults, 0, 64);
}

static void make_squeeze(struct random_graph *graph, struct value *x, uint32_t *axes)
{
    WNNSqueezeOptions options = WNN_SQUEEZE_OPTIONS_INIT;
    const struct shape *shape = &x->type.shape;
    options.axes = (WNNUint32List){axes, 0};
    for (unsigned d = 0; d < shape->rank; d++)
        if (shape->dim[d] == 1 && chance(graph, 70))
            axes[options.axes.count++] = d;
    wnn_random_emit(graph, WNN_OP_squeeze, 1, &x, &options, x->low, x->high);
}

static void make_unsqueeze(struct random_graph *graph, struct value *x, uint32_t *axes)
{
    struct unsqueeze_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, {axes, 0}};
    unsigned rank = x->type.shape.rank, more = rank < WNN_MAX_RANK ? 1 + below(graph, 2) : 0;
    if (rank + more > WNN_MAX_RANK)
        more = WNN_MAX_RANK - rank;
    for (unsigned d = 0; d < rank + more && attrs.axes.count < more; d++)
        if (rank + more - d == more - attrs.axes.count || chance(graph, 40))
            axes[attrs.axes.count++] = d;
    wnn_random_emit(graph, WNN_OP_unsqueeze, 1, &x, &attrs, x->low, x->high);
}

void wnn_make_shaping(struct random_graph *graph, enum op op)
{
    uint32_t axes[WNN_MAX_RANK];
    if (op == WNN_OP_range) {
        make_range(graph);
        return;
    }
    struct value *x =
        wnn_random_pick(graph, (struct wish){FLOATS | INTEGERS, 0, WNN_MAX_RANK, false, -NO_LIMIT, NO_LIMIT});
    if (x == NULL)
        return;
    if (op == WNN_OP_squeeze) {
        make_squeeze(graph, x, axes);
    } else if (op == WNN_OP_unsqueeze) {
        make_unsqueeze(graph, x, axes);
    } else if (op == WNN_OP_reshapeTo2d) {
        WNNReshapeTo2dOptions options = WNN_RESHAPE_TO_2D_OPTIONS_INIT;
        options.axis = below(graph, x->type.shape.rank + 1);
        wnn_random_emit(graph, op, 1, &x, &options, x->low, x->high);
    } else if (x->type.shape.rank > 0 || graph->builder->limits.acceptEmptyTensors) { // shape
        wnn_random_emit(graph, op, 1, &x, wnn_ops[op].defaults, 0, 1e5);
    }
}
