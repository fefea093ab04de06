// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on sizes, of which some are not known (tools/model/late.h).
#include "lib/text.h"
#include "tools/model/errors.h"
#include "tools/model/late.h"
#include "tools/model/tensor.h"

#include <stdio.h>
#include <string.h>

#define MAX_SIZES 64 // of one tensor; the builder knows no more

bool knows_shape(const struct tensor *t)
{
    return !has_late(t->dims, t->rank);
}

bool has_late_elements(const struct tensor *t)
{
    return t->ints && has_late(t->ints, (size_t)count_elements(t));
}

// ---------------------------------------------------------------------------------------------------------------
// Arithmetic
// ---------------------------------------------------------------------------------------------------------------

static bool find_size(struct recording *r, WNNSizeOperator op, uint32_t a, uint32_t b, uint32_t *result)
{
    WNNError error = WNN_ERROR_INIT;
    *result = wnnGraphBuilderComputeSize(r->builder, op, a, b);
    wnnGraphBuilderGetError(r->builder, &error);
    wnnGraphBuilderClearError(r->builder);
    return error.status == WNNStatus_Success;
}

struct range {
    int64_t min, max;
};

// False: it may also be less than 0, which the builder does not tell from 0.
static bool range_of(struct recording *r, int64_t size, struct range *range)
{
    WNNDimension own, next;
    uint32_t more;
    *range = (struct range){size, size};
    if (!is_late(size))
        return true;
    if (wnnGraphBuilderGetSize(r->builder, (uint32_t)size, &own) != WNNStatus_Success)
        return false;
    *range = (struct range){own.minSize, own.maxSize};
    return find_size(r, WNNSizeOperator_Add, (uint32_t)size, 1, &more) &&
           wnnGraphBuilderGetSize(r->builder, more, &next) == WNNStatus_Success &&
           next.minSize == own.minSize + 1;
}

// As if by hand: what is added to a size is taken away from it if it is negative.
static bool compute_late_number(struct recording *r, enum binary op, int64_t a, int64_t b, int64_t *result)
{
    uint32_t size;
    struct range range;
    if ((op == ADD || op == SUB) && b < 0 && b >= -INT32_MAX) {
        op = op == ADD ? SUB : ADD;
        b = -b;
    } else if (op == ADD && a < 0 && a >= -INT32_MAX) {
        int64_t other = b;
        op = SUB;
        b = -a;
        a = other;
    }
    if (!(is_late(a) || (a >= 0 && a <= INT32_MAX)) || !(is_late(b) || (b >= 0 && b <= INT32_MAX)))
        return false;
    // Models divide towards zero, which is down for what is never negative.
    if (op == DIV && (is_late(b) || b == 0 || !range_of(r, a, &range)))
        return false;
    static const WNNSizeOperator kinds[] = {
        [ADD] = WNNSizeOperator_Add,    [SUB] = WNNSizeOperator_Subtract, [MUL] = WNNSizeOperator_Multiply,
        [DIV] = WNNSizeOperator_Divide, [MIN] = WNNSizeOperator_Minimum,  [MAX] = WNNSizeOperator_Maximum};
    if ((op == MIN || op == MAX) && (!range_of(r, a, &range) || !range_of(r, b, &range)))
        return false;
    if (!find_size(r, kinds[op], (uint32_t)a, (uint32_t)b, &size))
        return false;
    *result = size > INT32_MAX ? late_size(size) : (int64_t)size;
    return true;
}

// -1, 0 or 1 where it is certain that a is less than b, is b, or is more; 2: it is not.
static int compare(struct recording *r, int64_t a, int64_t b)
{
    struct range x, y;
    uint32_t difference;
    if (a == b)
        return 0;
    if (!range_of(r, a, &x) || !range_of(r, b, &y))
        return 2;
    if (x.max < y.min || y.max < x.min)
        return x.max < y.min ? -1 : 1;
    for (int turned = 0; turned < 2; turned++, a ^= b, b ^= a, a ^= b)
        if (size_number(a) != UINT32_MAX && size_number(b) != UINT32_MAX &&
            find_size(r, WNNSizeOperator_Subtract, (uint32_t)a, (uint32_t)b, &difference) &&
            difference <= INT32_MAX)
            return difference == 0 ? 0 : turned ? -1 : 1;
    return 2;
}

bool compute_late(struct recording *r, enum binary op, int64_t a, int64_t b, int64_t *result)
{
    if (op == ADD || op == SUB || op == MUL || op == DIV || op == MIN || op == MAX)
        return compute_late_number(r, op, a, b, result);
    int order = compare(r, a, b);
    if (order == 2)
        return false;
    switch (op) {
    case EQUAL:
        *result = order == 0;
        return true;
    case GREATER:
        *result = order > 0;
        return true;
    case GREATER_OR_EQUAL:
        *result = order >= 0;
        return true;
    case LESSER:
        *result = order < 0;
        return true;
    case LESSER_OR_EQUAL:
        *result = order <= 0;
        return true;
    default:
        return false;
    }
}

int64_t settle(struct recording *r, struct tensor *number)
{
    return require_sizes(r, number, "a size") ? number->ints[0] : 0;
}

// What the builder has no size for is computed by the graph, as it may be: the least of what may be negative.
static int64_t compute_by_graph(struct recording *r, enum binary op, int64_t a, int64_t b)
{
    struct tensor *x = forget(r, make_size(r, TYPE_INT64, a)), *y = forget(r, make_size(r, TYPE_INT64, b));
    return settle(r, binary(r, op, x, y));
}

int64_t compute_size(struct recording *r, enum binary op, int64_t a, int64_t b)
{
    static const char *const signs[] = {
        [ADD] = "+", [SUB] = "-", [MUL] = "*", [DIV] = "/", [MAX] = "or", [MIN] = "or"};
    int64_t result = 0;
    char first[120], second[120];
    if (r->failed)
        return 0;
    if (is_late(a) || is_late(b)) {
        if (compute_late(r, op, a, b, &result))
            return result;
        if (op == DIV || op == MIN || op == MAX)
            return compute_by_graph(r, op, a, b);
        fail(r, "a size of %s %s %s", late_name(r, a, first), signs[op], late_name(r, b, second));
        return 0;
    }
    bool overflow = op == ADD   ? __builtin_add_overflow(a, b, &result)
                    : op == SUB ? __builtin_sub_overflow(a, b, &result)
                    : op == MUL ? __builtin_mul_overflow(a, b, &result)
                                : op == DIV && (b < 1 || a < 0);
    if (overflow)
        return fail(r, "a size of %lld %s %lld", (long long)a, signs[op], (long long)b) != NULL;
    return op == DIV ? a / b : op == MIN ? (a < b ? a : b) : op == MAX ? (a > b ? a : b) : result;
}

bool sizes_differ(int64_t a, int64_t b)
{
    return a != b && !is_late(a) && !is_late(b);
}

int64_t size_product(struct recording *r, const int64_t *dims, size_t count)
{
    if (!has_late(dims, count))
        return product(dims, count);
    int64_t result = 1;
    for (size_t i = 0; i < count && !r->failed; i++)
        result = compute_size(r, MUL, result, dims[i]);
    return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Elements, and text
// ---------------------------------------------------------------------------------------------------------------

struct late_operands *find_late(struct recording *r, int64_t size)
{
    struct late_operands **bucket = &r->late_operands[(uint32_t)size % LATE_BUCKETS], *found = *bucket;
    while (found && found->size != size)
        found = found->next;
    if (found || !(found = wnn_model_allocate(r->memory, 1, sizeof *found)))
        return found ? found : fail(r, "there is not enough memory");
    *found = (struct late_operands){.size = size, .next = *bucket};
    r->kept_count++;
    return *bucket = found;
}

// The shape of a tensor of that size, which is not computed: [1] of int64.
static struct tensor *shape_of_size(struct recording *r, int64_t size)
{
    struct late_operands *late = find_late(r, size);
    if (!late || late->number)
        return late ? late->number : NULL;
    WNNOperand ones = operand_of(r, expand(r, make_filled(r, TYPE_INT64, 1, &(int64_t){1}, 1), 1, &size));
    WNNOperatorOptions options = {NULL, label_of(r)};
    if (!ones)
        return NULL;
    struct tensor *shape = make_operand(r, TYPE_UINT32, wnnGraphBuilderShape(r->builder, ones, &options));
    r->kept_count++;
    return late->number = cast(r, shape, TYPE_INT64);
}

struct tensor *record_late(struct recording *r, const struct tensor *t)
{
    int64_t count = count_elements(t), at = 0;
    struct tensor **parts = wnn_model_allocate(r->memory, (size_t)count, sizeof(struct tensor *));
    size_t part_count = 0;
    if (!parts)
        return fail(r, "there is not enough memory");
    while (at < count && !r->failed) {
        int64_t end = at;
        while (end < count && !is_late(t->ints[end]))
            end++;
        parts[part_count++] =
            end > at ? make_ints(r, (size_t)(end - at), t->ints + at) : shape_of_size(r, t->ints[at]);
        at = end > at ? end : at + 1;
    }
    return r->failed ? NULL : reshape(r, cast(r, concat(r, part_count, parts, 0), t->type), t->rank, t->dims);
}

// The size that an operand of one integer is; false: it does not follow from sizes, or is none.
static bool find_element(struct recording *r, WNNOperand element, int64_t *size)
{
    WNNOperatorOptions options = {NULL, label_of(r)};
    WNNNumber number = {WNNNumberType_Int64, {.i64 = 1}};
    WNNOperand one = wnnGraphBuilderScalarConstant(r->builder, WNNDataType_Int32, number);
    WNNOperand many = wnnGraphBuilderExpandDynamic(r->builder, one, element, &options);
    if (!many) {
        wnnGraphBuilderClearError(r->builder);
        return false;
    }
    uint32_t found = wnnOperandGetShape(many).data[0];
    *size = found > INT32_MAX ? late_size(found) : (int64_t)found;
    return true;
}

struct tensor *list_element(struct recording *r, struct tensor *t, int64_t index)
{
    size_t part = 0;
    while (t && !is_known(r, t) && part < t->item_count) {
        int64_t count = count_elements(t->items[part]);
        if (index < count) {
            t = t->items[part];
            part = 0;
        } else {
            index -= count;
            part++;
        }
    }
    return reshape(r, slice_axis(r, t, 0, index, 1, 1), 0, NULL);
}

static bool find_elements(struct recording *r, struct tensor *t, int64_t *elements)
{
    int64_t count = count_elements(t);
    if (is_known(r, t)) {
        memcpy(elements, t->ints, (size_t)count * sizeof *elements);
        return true;
    }
    for (size_t i = 0, at = 0; i < t->item_count; at += (size_t)count_elements(t->items[i++]))
        if (!find_elements(r, t->items[i], elements + at))
            return false;
    if (t->item_count)
        return true;
    struct tensor *list = reshape(r, cast(r, t, TYPE_INT64), 1, &count);
    for (int64_t i = 0; i < count && !r->failed; i++) {
        WNNOperand element = operand_of(r, slice_axis(r, list, 0, i, 1, 1));
        if (!element || !find_element(r, element, &elements[i]))
            return false;
    }
    return !r->failed;
}

bool find_sizes(struct recording *r, struct tensor *t)
{
    int64_t count = count_elements(t);
    if (!r->late || !is_integer(t->type) || !t->operand || t->is_input || count > MAX_SIZES)
        return false;
    int64_t *elements = wnn_model_allocate(r->memory, (size_t)count, sizeof *elements);
    if (!elements || !find_elements(r, t, elements))
        return false;
    t->ints = elements;
    r->kept_count++;
    return true;
}

const char *late_name(const struct recording *r, int64_t size, char buffer[120])
{
    WNNDimension dimension = WNN_DIMENSION_INIT;
    if (!is_late(size)) {
        snprintf(buffer, 120, "%lld", (long long)size);
        return buffer;
    }
    wnnGraphBuilderGetSize(r->builder, (uint32_t)size, &dimension);
    struct string name = wnn_string(dimension.name);
    wnn_model_print(buffer, 120, (struct bytes){(const unsigned char *)name.data, name.length});
    return name.length ? buffer : "?";
}
