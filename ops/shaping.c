// SPDX-License-Identifier: Apache-2.0
//
// Inference of operators about shapes, https://github.com/webmachinelearning/webnn/pull/945 (of 2026-09).

#include "ops/shaping.h"

#include "ops/lists.h"
#include "ops/range.h"
#include "ops/values.h"

#include <math.h>
#include <string.h>

#define MAX_ITEMS 8192

bool wnn_graph_has_shaping(const struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (wnn_ops[graph->nodes[i]->op].class == CLASS_SHAPING)
            return true;
    return false;
}

bool wnn_may_tell_sizes(WNNDataType type, size_t bytes)
{
    bool sizes = !wnn_dtype_is_float(type) && wnn_dtype_bits(type) >= 32;
    return bytes <= wnn_dtype_bytes(type, sizes ? MAX_ITEMS : WNN_MAX_VALUES);
}

// ---------------------------------------------------------------------------------------------------------------
// Siblings
// ---------------------------------------------------------------------------------------------------------------

// The attributes of the sibling, with the options that both have; NULL: no memory.
static void *make_attrs(struct op_call *call)
{
    const struct op_info *info = &wnn_ops[wnn_op_sibling(call->op)];
    char *attrs = wnn_arena_copy(call->arena, info->defaults, info->attrs_size);
    if (!attrs) {
        wnn_fail_memory(call->error);
        return NULL;
    }
    ((WNNOperatorOptions *)(void *)attrs)->label = ((const WNNOperatorOptions *)call->attrs)->label;
    for (const struct op_row *row = call->info->rows; row->name; row++) {
        const struct op_row *to = wnn_op_attr_row(info, (struct string){row->name, strlen(row->name)}, -1);
        if (row->kind == ROW_ATTRIBUTE && to && to->attr == row->attr)
            memcpy(attrs + to->offset, (const char *)call->attrs + row->offset, wnn_attr_bytes(row->attr));
    }
    return attrs;
}

static bool fail_item(struct op_call *call, const char *name, size_t i, int64_t value)
{
    return wnn_op_fail(call, "%s[%zu] is %lld; expected 0 to %u", name, i, (long long)value,
                       WNN_MAX_DIMENSION);
}

static bool fail_data(struct op_call *call, const char *name)
{
    return wnn_op_fail(call,
                       "%s depends on the data of an input, or on an operator that is not computed while a "
                       "graph is built; expected a constant, or what follows from shapes",
                       name);
}

// One item of a list as a size.
static bool take_item(struct op_call *call, const char *name, size_t i, const struct value *value,
                      uint32_t *size, bool *known)
{
    WNNNumber number = value->number;
    if (number.type == WNNNumberType_Undefined) {
        *known = false;
        struct bounds all = {0, WNN_MAX_DIMENSION};
        struct bounds range = value->amount ? wnn_amount_range(call->sizes, value->amount) : all;
        if (range.max < 0 || range.min > WNN_MAX_DIMENSION)
            return wnn_op_fail(call, "%s[%zu] is %s; expected 0 to %u", name, i,
                               AMOUNT_OF(call, value->amount), WNN_MAX_DIMENSION);
        *size =
            value->amount ? wnn_amount_size(call->sizes, value->amount) : wnn_size_unknown(call->sizes, all);
        return true;
    }
    bool negative = number.type == WNNNumberType_Int64 && number.value.i64 < 0;
    if (negative || number.value.u64 > WNN_MAX_DIMENSION)
        return fail_item(call, name, i, number.value.i64);
    *size = (uint32_t)number.value.u64;
    return true;
}

// The elements of an operand as a list of sizes; `known` becomes false where one is not.
static bool take_list(struct op_call *call, const char *name, const struct operand *operand,
                      WNNUint32List *list, bool *known)
{
    static const struct value late = {.number = {.type = WNNNumberType_Undefined}};
    uint32_t count = operand->type.shape.dim[0];
    const struct values *values = NULL;
    if (count > MAX_ITEMS)
        return wnn_op_fail(call, "%s has %s items; expected at most %d", name, SIZE_OF(call, count),
                           MAX_ITEMS);
    bool constant = wnn_constant_has_bytes(operand->constant);
    if (!constant && !wnn_values_of(call, operand, &values))
        return false;
    if (!constant && !values)
        return fail_data(call, name);
    uint32_t *items = wnn_arena_allocate(call->arena, (count + (size_t)1) * sizeof items[0]);
    if (!items)
        return wnn_fail_memory(call->error);
    for (uint32_t i = 0; i < count; i++) {
        struct value value = values && values->items ? values->items[i] : late;
        if (constant)
            value.number = wnn_number_load(operand->type.type, operand->constant->data, i);
        if (!take_item(call, name, i, &value, &items[i], known))
            return false;
    }
    *list = (WNNUint32List){items, count};
    return true;
}

// A list of which the number of items is not known: the rank of results, or that of the input.
static bool infer_uncounted(struct op_call *call, const char *name, const struct operand *operand)
{
    const struct descriptor *input = &call->in[0]->type;
    uint32_t count = operand->type.shape.dim[0];
    bool ranks = call->op == WNN_OP_reshapeDynamic || call->op == WNN_OP_expandDynamic;
    const struct values *values = NULL;
    if (!wnn_values_of(call, operand, &values))
        return false;
    if (!values)
        return fail_data(call, name);
    if (call->op == WNN_OP_splitDynamic)
        return wnn_op_fail(call, "%s has %s items; expected a known number, that of the results", name,
                           SIZE_OF(call, count));
    if (wnn_size_range(call->sizes, count).min > WNN_MAX_RANK)
        return wnn_op_fail(call, "%s has %s items; expected at most %d", name, SIZE_OF(call, count),
                           WNN_MAX_RANK);
    call->out[0] = *input;
    call->unranked = ranks;
    if (ranks)
        call->out[0].shape.rank = 0;
    for (unsigned d = 0; d < call->out[0].shape.rank; d++)
        call->out[0].shape.dim[d] = wnn_size_unknown(
            call->sizes, (struct bounds){wnn_min_dimension(call->limits), WNN_MAX_DIMENSION});
    return true;
}

// All operators of a name that ends in Dynamic: by the inference of their siblings.
bool wnn_infer_dynamic(struct op_call *call)
{
    const struct op_info *info = &wnn_ops[wnn_op_sibling(call->op)];
    struct op_call sibling = *call; // whose messages name the operator that was called
    bool known = true;
    unsigned input = 0;
    sibling.op = wnn_op_sibling(call->op);
    sibling.attrs = make_attrs(call);
    sibling.in_count = 1;
    if (!sibling.attrs)
        return false;
    for (const struct op_row *row = call->info->rows; row->name; row++) {
        if (!wnn_op_row_is_input(row) || input++ == 0 || !call->in[input - 1])
            continue;
        if (wnn_size_is_symbolic(call->sizes, call->in[input - 1]->type.shape.dim[0]))
            return infer_uncounted(call, row->name, call->in[input - 1]);
        const struct op_row *to =
            wnn_op_attr_row(info, (struct string){row->name, strlen(row->name)}, ATTR_u32s);
        WNNUint32List list;
        if (!take_list(call, row->name, call->in[input - 1], &list, &known))
            return false;
        memcpy((char *)sibling.attrs + to->offset, &list, sizeof list);
    }
    if ((call->sizes && call->sizes->exhausted) || !info->infer(&sibling))
        return call->sizes && call->sizes->exhausted; // which the builder tells
    call->out = sibling.out;
    call->out_count = sibling.out_count;
    call->sibling_attrs = known ? sibling.attrs : NULL;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Reshapes
// ---------------------------------------------------------------------------------------------------------------

// The result has that shape.
static bool reshape_to(struct op_call *call, const struct shape *shape)
{
    struct expand_attrs *attrs = make_attrs(call);
    call->out[0] = (struct descriptor){call->in[0]->type.type, *shape};
    call->sibling_attrs = attrs;
    return attrs && wnn_list_set(call, &attrs->newShape, shape->dim, shape->rank);
}

static bool check_squeezed(struct op_call *call, const struct shape *input, uint32_t axes)
{
    for (unsigned d = 0; d < input->rank; d++)
        if (axes & 1u << d && wnn_sizes_differ(call->sizes, input->dim[d], 1))
            return wnn_op_fail(call, "dimension %u of input %s has size %s; expected 1", d,
                               SHAPE_OF(call, input), SIZE_OF(call, input->dim[d]));
    return true;
}

bool wnn_infer_squeeze(struct op_call *call)
{
    WNNSqueezeOptions *options = call->attrs;
    const struct shape *input = &call->in[0]->type.shape;
    struct shape shape = {0};
    uint32_t axes = 0;
    if (options->axes.count != WNN_LIST_ABSENT) {
        if (!wnn_axes_complete(call, &options->axes, input, 0))
            return false;
        for (size_t i = 0; i < options->axes.count; i++)
            axes |= 1u << options->axes.data[i];
        if (!check_squeezed(call, input, axes))
            return false;
    }
    for (unsigned d = 0; d < input->rank; d++) {
        bool may_be_one = !wnn_sizes_differ(call->sizes, input->dim[d], 1);
        if (options->axes.count == WNN_LIST_ABSENT && may_be_one && input->dim[d] != 1) {
            call->out[0] = (struct descriptor){.type = call->in[0]->type.type};
            call->unranked = 1;
            return true;
        }
        if (options->axes.count == WNN_LIST_ABSENT ? !may_be_one : !(axes & 1u << d))
            wnn_shape_append(&shape, &input->dim[d], 1);
    }
    return reshape_to(call, &shape);
}

bool wnn_infer_unsqueeze(struct op_call *call)
{
    const struct unsqueeze_attrs *attrs = call->attrs;
    const struct shape *input = &call->in[0]->type.shape;
    struct shape shape = {0};
    if (attrs->axes.count == WNN_LIST_ABSENT)
        return wnn_op_fail(call, "axes is absent");
    if (attrs->axes.count > WNN_MAX_RANK - input->rank)
        return wnn_op_fail(call, "axes has %zu items; input %s has rank %u, and results at most %d",
                           attrs->axes.count, SHAPE_OF(call, input), input->rank, WNN_MAX_RANK);
    unsigned rank = input->rank + (unsigned)attrs->axes.count, taken = 0, next = 0;
    for (size_t i = 0; i < attrs->axes.count; i++) {
        uint32_t axis = attrs->axes.data[i];
        if (axis >= rank)
            return wnn_op_fail(call, "axes[%zu] is %u; the result has rank %u", i, axis, rank);
        if (taken & 1u << axis)
            return wnn_op_fail(call, "axes[%zu] repeats axis %u", i, axis);
        taken |= 1u << axis;
    }
    for (unsigned d = 0; d < rank; d++)
        wnn_shape_append(&shape, taken & 1u << d ? (uint32_t[]){1} : &input->dim[next++], 1);
    return reshape_to(call, &shape);
}

bool wnn_infer_reshapeTo2d(struct op_call *call)
{
    uint32_t axis = ((const WNNReshapeTo2dOptions *)call->attrs)->axis;
    const struct shape *input = &call->in[0]->type.shape;
    struct shape shape = {.rank = 2};
    if (axis > input->rank)
        return wnn_op_fail(call, "axis is %u; input %s has rank %u", axis, SHAPE_OF(call, input),
                           input->rank);
    for (unsigned part = 0; part < 2; part++) {
        struct shape dimensions = {0};
        wnn_shape_append(&dimensions, input->dim + (part ? axis : 0), part ? input->rank - axis : axis);
        struct amount size = wnn_amount_elements(call->sizes, &dimensions);
        shape.dim[part] = wnn_amount_size(call->sizes, &size);
    }
    return reshape_to(call, &shape);
}

// ---------------------------------------------------------------------------------------------------------------
// Constants
// ---------------------------------------------------------------------------------------------------------------

bool wnn_infer_shape(struct op_call *call)
{
    call->out[0] =
        (struct descriptor){WNNDataType_Uint32, {.rank = 1, .dim = {call->in[0]->type.shape.rank}}};
    if (!wnn_shape_is_symbolic(call->sizes, &call->in[0]->type.shape) &&
        !(call->sibling_attrs = make_attrs(call)))
        return false;
    return true;
}

// How many there are from start to limit by steps of a whole number.
static uint32_t count_late(struct op_call *call, const struct value item[3])
{
    struct amount ends[2], span;
    struct bounds all = {wnn_min_dimension(call->limits), WNN_MAX_DIMENSION};
    WNNNumber delta = item[2].number;
    bool steps = delta.type == WNNNumberType_Int64 || delta.type == WNNNumberType_Uint64;
    int64_t by = steps ? delta.value.i64 : 0;
    for (unsigned i = 0; i < 2; i++) {
        if (item[i].amount)
            ends[i] = *item[i].amount;
        else if (item[i].number.type == WNNNumberType_Int64 || item[i].number.type == WNNNumberType_Uint64)
            ends[i] = wnn_amount_number(item[i].number.value.i64);
        else
            return wnn_size_unknown(call->sizes, all);
    }
    span = wnn_amount_add(call->sizes, ends[by > 0], wnn_amount_times(ends[by <= 0], -1));
    if (by == 0 || by == INT64_MIN || wnn_amount_range(call->sizes, &span).min < 0)
        return wnn_size_unknown(call->sizes, all);
    by = by < 0 ? -by : by;
    span = wnn_amount_add(call->sizes, span, wnn_amount_number(by - 1));
    span = wnn_amount_divide(call->sizes, span, by);
    return wnn_amount_size(call->sizes, &span);
}

bool wnn_infer_range(struct op_call *call)
{
    static const char *const names[] = {"start", "limit", "delta"};
    struct value item[3] = {{.amount = NULL}};
    bool known = true;
    for (unsigned i = 0; i < 3; i++) {
        const struct values *values;
        if (!wnn_values_of(call, call->in[i], &values))
            return false;
        if (!values)
            return fail_data(call, names[i]);
        if (values->items)
            item[i] = values->items[0];
        WNNNumber number = item[i].number;
        known &= number.type != WNNNumberType_Undefined;
        if (number.type != WNNNumberType_Undefined && !isfinite(wnn_number_double(number)))
            return wnn_op_fail(call, "%s is %g; expected a finite number", names[i],
                               wnn_number_double(number));
    }
    WNNNumber start = item[0].number, limit = item[1].number, delta = item[2].number;
    if (delta.type != WNNNumberType_Undefined && wnn_number_double(delta) == 0)
        return wnn_op_fail(call, "delta is 0");
    call->out[0] = (struct descriptor){call->in[0]->type.type, {.rank = 1}};
    uint32_t least = wnn_min_dimension(call->limits), *count = &call->out[0].shape.dim[0];
    if (!known)
        *count = count_late(call, item);
    else if (!wnn_range_count(start, limit, delta, least, count))
        return wnn_op_fail(call, "from %g to %g in steps of %g; expected %u to 2147483647 elements",
                           wnn_number_double(start), wnn_number_double(limit), wnn_number_double(delta),
                           least);
    return !known || (call->sibling_attrs = make_attrs(call));
}

static void fill_shape(const struct op_call *call, void *data)
{
    const struct shape *shape = &call->in[0]->type.shape;
    for (unsigned i = 0; i < shape->rank; i++)
        wnn_number_store(wnnNumberUint64(shape->dim[i]), WNNDataType_Uint32, data, i);
}

static bool fill_range(struct op_call *call, void *data)
{
    const struct values *start, *delta;
    const struct descriptor *type = &call->out[0];
    if (!wnn_values_of(call, call->in[0], &start) || !wnn_values_of(call, call->in[2], &delta))
        return false;
    for (uint32_t i = 0; i < type->shape.dim[0]; i++) {
        WNNNumber item = wnn_range_item(start->items[0].number, delta->items[0].number, i);
        wnn_number_store(wnn_number_convert(item, type->type), type->type, data, i);
    }
    return true;
}

struct constant *wnn_shaping_constant(struct op_call *call)
{
    struct constant *constant =
        wnn_constant_create(call->arena->allocator, wnn_descriptor_bytes(&call->out[0]));
    void *data = constant ? (void *)(uintptr_t)constant->data : NULL;
    if (constant && call->op == WNN_OP_shape)
        fill_shape(call, data);
    else if (constant && !fill_range(call, data)) {
        wnn_constant_unref(constant);
        constant = NULL;
    }
    if (!constant)
        wnn_fail_memory(call->error);
    return constant;
}
