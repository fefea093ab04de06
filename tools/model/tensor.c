// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tensor.h"

#include "lib/half.h"
#include "tools/model/late.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_KNOWN 65536 // elements that are computed while recording: shapes, indices, small tables

// Of any file, half a second or so; and for each byte of a file: it has up to four elements, each of which
// may be read, cast and moved.
#define MAX_WORK  (UINT64_C(1) << 27)
#define BYTE_WORK 16

bool wnn_model_work(struct recording *r, uint64_t work)
{
    r->memory->work += work;
    if (r->memory->work > MAX_WORK && r->memory->work > r->work_limit)
        r->work_limit = MAX_WORK + (r->source ? BYTE_WORK * wnn_source_size(r->source) : 0);
    return r->memory->work <= MAX_WORK || r->memory->work <= r->work_limit ||
           fail(r, "recording takes too much work, loops unrolled");
}

void *wnn_model_fail(struct recording *r, const char *format, ...)
{
    if (!r->failed) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(r->fault, sizeof r->fault, format, arguments);
        va_end(arguments);
    }
    r->failed = true;
    return NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Types and shapes
// ---------------------------------------------------------------------------------------------------------------

static const struct type {
    const char *name;
    WNNDataType operand;
    unsigned bits;
    bool real, integer, is_signed;
} types[] = {
    [TYPE_FLOAT32] = {"float32", WNNDataType_Float32, 32, true, false, true},
    [TYPE_UINT8] = {"uint8", WNNDataType_Uint8, 8, false, true, false},
    [TYPE_INT8] = {"int8", WNNDataType_Int8, 8, false, true, true},
    [TYPE_UINT16] = {"uint16", WNNDataType_Undefined, 16, false, true, false},
    [TYPE_INT16] = {"int16", WNNDataType_Undefined, 16, false, true, true},
    [TYPE_INT32] = {"int32", WNNDataType_Int32, 32, false, true, true},
    [TYPE_INT64] = {"int64", WNNDataType_Int64, 64, false, true, true},
    [TYPE_STRING] = {"string", WNNDataType_Undefined, 0, false, false, false},
    [TYPE_BOOL] = {"bool", WNNDataType_Uint8, 8, false, false, false},
    [TYPE_FLOAT16] = {"float16", WNNDataType_Float16, 16, true, false, true},
    [TYPE_FLOAT64] = {"float64", WNNDataType_Undefined, 64, true, false, true},
    [TYPE_UINT32] = {"uint32", WNNDataType_Uint32, 32, false, true, false},
    [TYPE_UINT64] = {"uint64", WNNDataType_Uint64, 64, false, true, false},
    [TYPE_COMPLEX64] = {"complex64", WNNDataType_Undefined, 0, false, false, true},
    [TYPE_COMPLEX128] = {"complex128", WNNDataType_Undefined, 0, false, false, true},
    [TYPE_BFLOAT16] = {"bfloat16", WNNDataType_Float32, 16, true, false, true},
    [TYPE_FLOAT8E4M3FN] = {"float8", WNNDataType_Undefined, 0, false, false, true},
    [TYPE_FLOAT8E4M3FNUZ] = {"float8", WNNDataType_Undefined, 0, false, false, true},
    [TYPE_FLOAT8E5M2] = {"float8", WNNDataType_Undefined, 0, false, false, true},
    [TYPE_FLOAT8E5M2FNUZ] = {"float8", WNNDataType_Undefined, 0, false, false, true},
    [TYPE_UINT4] = {"uint4", WNNDataType_Uint4, 4, false, true, false},
    [TYPE_INT4] = {"int4", WNNDataType_Int4, 4, false, true, true},
    [TYPE_FLOAT4E2M1] = {"float4", WNNDataType_Undefined, 0, false, false, true},
    [TYPE_FLOAT8E8M0] = {"float8", WNNDataType_Undefined, 0, false, false, false},
    [TYPE_UINT2] = {"uint2", WNNDataType_Undefined, 0, false, false, false},
    [TYPE_INT2] = {"int2", WNNDataType_Undefined, 0, false, false, true},
    [TYPE_SEQUENCE] = {"a sequence", WNNDataType_Undefined, 0, false, false, false},
    [TYPE_NOTHING] = {"nothing", WNNDataType_Undefined, 0, false, false, false},
    [TYPE_OPTIONAL] = {"an optional value", WNNDataType_Undefined, 0, false, false, false},
    [TYPE_MAP] = {"a map", WNNDataType_Undefined, 0, false, false, false},
    [TYPE_SPARSE] = {"a sparse tensor", WNNDataType_Undefined, 0, false, false, false},
    [TYPE_OPAQUE] = {"an opaque value", WNNDataType_Undefined, 0, false, false, false},
};

static const struct type *type_of(int64_t type)
{
    static const struct type none = {.name = "an unknown type"};
    bool there = type > 0 && type < (int64_t)(sizeof types / sizeof types[0]) && types[type].name;
    return there ? &types[type] : &none;
}

bool is_real(int64_t type)
{
    return type_of(type)->real;
}

bool is_integer(int64_t type)
{
    return type_of(type)->integer;
}

bool is_signed(int64_t type)
{
    return type_of(type)->is_signed;
}

unsigned element_bits(int64_t type)
{
    return type_of(type)->bits;
}

const char *type_name(int64_t type)
{
    return type_of(type)->name;
}

struct type_limits limits_of(int64_t type)
{
    if (is_real(type))
        return (struct type_limits){-INFINITY, INFINITY};
    int bits = (int)type_of(type)->bits - is_signed(type);
    return (struct type_limits){is_signed(type) ? -ldexp(1, bits) : 0,
                                type == TYPE_BOOL ? 1 : ldexp(1, bits) - 1};
}

bool is_narrowed(int64_t type)
{
    return type == TYPE_FLOAT64 || type == TYPE_INT16 || type == TYPE_UINT16;
}

WNNDataType operand_type(const struct recording *r, int64_t type)
{
    if (r->narrow && type == TYPE_FLOAT64)
        return WNNDataType_Float32;
    if (r->narrow && (type == TYPE_INT16 || type == TYPE_UINT16))
        return WNNDataType_Int32;
    return type_of(type)->operand;
}

int64_t product(const int64_t *dims, size_t count)
{
    int64_t result = 1;
    for (size_t i = 0; i < count; i++)
        if (is_late(dims[i]) || __builtin_mul_overflow(result, dims[i], &result))
            return INT64_MAX;
    return result;
}

int64_t count_elements(const struct tensor *t)
{
    return product(t->dims, t->rank);
}

bool find_axis(struct recording *r, int64_t axis, size_t rank, size_t *result)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return fail(r, "axis %lld of a tensor of rank %zu", (long long)axis, rank);
    *result = (size_t)(axis < 0 ? axis + (int64_t)rank : axis);
    return true;
}

bool broadcast(struct recording *r, const struct tensor *a, const struct tensor *b, size_t *rank,
               int64_t *dims)
{
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (size_t i = 1; i <= *rank; i++) {
        int64_t x = i <= a->rank ? a->dims[a->rank - i] : 1, y = i <= b->rank ? b->dims[b->rank - i] : 1;
        bool known = !is_late(x) && !is_late(y);
        if (known && x != y && x != 1 && y != 1)
            return fail(r, "sizes %lld and %lld cannot be broadcast", (long long)x, (long long)y);
        // Of a late one and another that is not 1, the other is what both are once they are known.
        dims[*rank - i] = x == 1 || (is_late(x) && y != 1) ? y : x;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Making tensors
// ---------------------------------------------------------------------------------------------------------------

struct tensor *make_tensor(struct recording *r, int64_t type, size_t rank, const int64_t *dims)
{
    if (r->failed)
        return NULL;
    if (rank > MAX_RANK)
        return fail(r, "a tensor of rank %zu; more than %d are not supported", rank, MAX_RANK);
    struct tensor *t = wnn_model_allocate(r->memory, 1, sizeof *t);
    if (!t)
        return fail(r, "there is not enough memory");
    t->type = type;
    t->rank = rank;
    t->node = r->node;
    // Also sizes beside one of 0 have a product, so that those who compute strides need not look.
    for (size_t i = 0, count = 1; i < rank; i++) {
        if (dims[i] < 0 || (dims[i] > INT32_MAX && !is_late(dims[i]))) // products of two can be counted
            return fail(r, "a dimension of size %lld", (long long)dims[i]);
        if (dims[i] && !is_late(dims[i]) &&
            (__builtin_mul_overflow(count, (size_t)dims[i], &count) || count > INT64_MAX))
            return fail(r, "a tensor of more elements than can be counted");
        t->dims[i] = dims[i];
    }
    return t;
}

struct tensor *make_known(struct recording *r, int64_t type, size_t rank, const int64_t *dims)
{
    struct tensor *t = make_tensor(r, type, rank, dims);
    if (!t)
        return NULL;
    int64_t count = count_elements(t);
    if (!knows_shape(t))
        return fail(r, "a constant whose shape is not known while the graph is recorded");
    if (count > (int64_t)1 << 26)
        return fail(r, "a constant of %lld elements is too large to be computed", (long long)count);
    if (!wnn_model_work(r, (uint64_t)count))
        return NULL;
    if (is_real(type))
        t->reals = wnn_model_allocate(r->memory, (size_t)count, sizeof *t->reals);
    else
        t->ints = wnn_model_allocate(r->memory, (size_t)count, sizeof *t->ints);
    return t->reals || t->ints ? t : fail(r, "there is not enough memory");
}

struct tensor *make_ints(struct recording *r, size_t count, const int64_t *values)
{
    struct tensor *t = make_known(r, TYPE_INT64, 1, &(int64_t){(int64_t)count});
    if (t && count)
        memcpy(t->ints, values, count * sizeof *values);
    return t;
}

struct tensor *make_filled(struct recording *r, int64_t type, size_t rank, const int64_t *dims, double value)
{
    if (has_late(dims, rank))
        return expand(r, make_number(r, type, value), rank, dims);
    struct tensor *t = make_known(r, type, rank, dims);
    for (int64_t i = 0; t && i < count_elements(t); i++)
        set_known(t, i, value);
    return t;
}

struct tensor *make_number(struct recording *r, int64_t type, double value)
{
    return make_filled(r, type, 0, NULL, value);
}

struct tensor *make_size(struct recording *r, int64_t type, int64_t size)
{
    struct tensor *t = make_known(r, TYPE_INT64, 0, NULL);
    if (t)
        t->ints[0] = size;
    return cast(r, t, type);
}

struct tensor *make_range(struct recording *r, int64_t type, int64_t start, int64_t count, int64_t step)
{
    if (is_late(start) || is_late(count) || is_late(step)) {
        struct tensor *places =
            is_late(count) ? late_range(r, count) : make_range(r, TYPE_INT64, 0, count, 1);
        places = step == 1 ? places : with_size(r, MUL, places, step);
        return cast(r, start == 0 ? places : with_size(r, ADD, places, start), type);
    }
    struct tensor *t = make_known(r, type, 1, &count);
    for (int64_t i = 0; t && i < count; i++)
        set_known(t, i, (double)(start + i * step));
    return t;
}

struct tensor *make_constant(struct recording *r, const struct constant *source, size_t rank,
                             const int64_t *dims)
{
    struct tensor *t = make_tensor(r, source->type, rank, dims);
    if (t)
        t->source = source;
    return t;
}

// NULL: the builder's error, which is told.
static WNNOperand check_recorded(struct recording *r, WNNOperand operand)
{
    WNNError error = WNN_ERROR_INIT;
    if (operand)
        return operand;
    wnnGraphBuilderGetError(r->builder, &error);
    fail(r, "%.*s", (int)(error.message.length < 400 ? error.message.length : 400), error.message.data);
    wnnGraphBuilderClearError(r->builder);
    return NULL;
}

struct tensor *make_operand(struct recording *r, int64_t type, WNNOperand operand)
{
    if (!check_recorded(r, operand))
        return NULL;
    WNNUint32List shape = wnnOperandGetShape(operand);
    int64_t dims[MAX_RANK];
    for (size_t i = 0; i < shape.count && i < MAX_RANK; i++)
        dims[i] = shape.data[i] > INT32_MAX ? late_size(shape.data[i]) : (int64_t)shape.data[i];
    struct tensor *t = make_tensor(r, type, shape.count, dims);
    if (t)
        t->operand = operand;
    return t;
}

bool is_plain_operand(const struct recording *r, const struct tensor *t)
{
    return t->operand && !t->source && !t->ints && !t->reals && !t->every && !t->items && !t->is_input &&
           !(r->late && is_integer(t->type));
}

// ---------------------------------------------------------------------------------------------------------------
// Elements
// ---------------------------------------------------------------------------------------------------------------

static uint16_t double_to_half(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    if (isnan(value))
        return 0x7E00;
    if (magnitude >= 65520)
        return sign | 0x7C00;
    int exponent;
    frexp(magnitude, &exponent); // magnitude = f * 2^exponent, f in [0.5, 1)
    if (magnitude < ldexp(1, -14))
        return sign | (uint16_t)nearbyint(ldexp(magnitude, 24));
    return (uint16_t)(sign + (uint16_t)((exponent + 13) << 10) +
                      (uint16_t)nearbyint(ldexp(magnitude, 11 - exponent)));
}

double known_number(const struct tensor *t, int64_t index)
{
    return t->reals ? t->reals[index] : (double)t->ints[index];
}

int64_t to_integer(double value)
{
    return !(value > -9223372036854775808.0) ? INT64_MIN
           : value >= 9223372036854775808.0  ? INT64_MAX
                                             : (int64_t)value;
}

int64_t known_integer(const struct tensor *t, int64_t index)
{
    return t->ints ? t->ints[index] : to_integer(t->reals[index]);
}

// As a number of the type: what it wraps or rounds to.
static int64_t wrap(int64_t type, int64_t value)
{
    unsigned bits = type_of(type)->bits;
    if (type == TYPE_BOOL)
        return value != 0;
    if (bits == 0 || bits == 64)
        return value;
    uint64_t kept = (uint64_t)value & ((UINT64_C(1) << bits) - 1);
    if (is_signed(type) && kept >> (bits - 1))
        kept |= ~UINT64_C(0) << bits;
    return (int64_t)kept;
}

void set_known(struct tensor *t, int64_t index, double value)
{
    if (t->reals)
        t->reals[index] = t->type == TYPE_FLOAT32   ? (double)(float)value
                          : t->type == TYPE_FLOAT16 ? (double)wnn_half_to_float(double_to_half(value))
                                                    : value;
    else
        t->ints[index] =
            t->type == TYPE_BOOL ? value != 0
            : value >= 9223372036854775807.0
                ? (t->type == TYPE_UINT64 ? (int64_t)(uint64_t)fmin(value, 18446744073709549568.0)
                                          : INT64_MAX)
            : !(value > -9223372036854775808.0) ? INT64_MIN
                                                : wrap(t->type, (int64_t)value);
}

static struct bytes data_of(struct recording *r, const struct constant *source)
{
    return source->find ? source->find(r, source) : source->bytes;
}

static uint64_t load(const unsigned char *data, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)data[i] << 8 * i;
    return value;
}

void set_stored(struct tensor *t, int64_t index, uint64_t bits)
{
    uint32_t word = (uint32_t)bits << (t->type == TYPE_BFLOAT16 ? 16 : 0);
    float f;
    double d;
    memcpy(&f, &word, sizeof f);
    memcpy(&d, &bits, sizeof d);
    switch (t->type) {
    case TYPE_FLOAT32:
    case TYPE_BFLOAT16:
        t->reals[index] = f;
        break;
    case TYPE_FLOAT16:
        t->reals[index] = (double)wnn_half_to_float((uint16_t)bits);
        break;
    case TYPE_FLOAT64:
        t->reals[index] = d;
        break;
    default:
        t->ints[index] = wrap(t->type, (int64_t)bits);
    }
}

static bool read_bytes(struct recording *r, struct tensor *t, struct bytes data)
{
    int64_t count = count_elements(t);
    unsigned bits = type_of(t->type)->bits;
    if (data.size < ((size_t)count * bits + 7) / 8)
        return fail(r, "a constant has %zu bytes for %lld elements", data.size, (long long)count);
    for (int64_t i = 0; i < count; i++)
        set_stored(t, i,
                   bits == 4 ? (uint64_t)(data.data[i / 2] >> (i % 2 ? 4 : 0) & 15)
                             : load(data.data + (size_t)i * bits / 8, bits / 8));
    return true;
}

// Reads the elements of a constant of any size.
static bool read_source(struct recording *r, struct tensor *t)
{
    struct tensor *known = make_known(r, t->type, t->rank, t->dims);
    if (!known)
        return false;
    if (type_of(t->type)->bits == 0)
        return fail(r, "a constant of type %s", type_name(t->type));
    struct bytes data = data_of(r, t->source);
    if (r->failed)
        return false;
    if (data.size || !t->source->read ? !read_bytes(r, known, data) : !t->source->read(r, t->source, known))
        return false;
    t->ints = known->ints;
    t->reals = known->reals;
    r->kept_count += t->node < r->node;
    return true;
}

bool is_computed(const struct recording *r, int64_t type, size_t rank, const int64_t *dims)
{
    return product(dims, rank) <= MAX_KNOWN || operand_type(r, type) == WNNDataType_Undefined;
}

bool is_known(struct recording *r, struct tensor *t)
{
    if (!t || r->failed)
        return false;
    if (t->ints || t->reals) // which is looked through for sizes that are late, or read
        return wnn_model_work(r, (uint64_t)count_elements(t) / 16);
    return t->source && count_elements(t) <= MAX_KNOWN && read_source(r, t);
}

bool require_known(struct recording *r, struct tensor *t, const char *what)
{
    if (!require_sizes(r, t, what))
        return false;
    return !has_late_elements(t) || fail(r, "%s depends on a size that is not known", what);
}

bool require_sizes(struct recording *r, struct tensor *t, const char *what)
{
    if (!t || r->failed)
        return false;
    if (is_known(r, t) || (t->source && !r->failed && read_source(r, t)) || find_sizes(r, t))
        return true;
    return fail(r, "%s has to be known when the graph is recorded, but is computed by it or given to it",
                what);
}

// ---------------------------------------------------------------------------------------------------------------
// Operands of known tensors
// ---------------------------------------------------------------------------------------------------------------

void store_element(const struct tensor *t, WNNDataType type, int64_t i, unsigned char *data)
{
    double real = t->reals ? t->reals[i] : (double)t->ints[i];
    int64_t integer = t->ints ? t->ints[i] : 0;
    float f = (float)real;
    uint16_t half;
    switch (type) {
    case WNNDataType_Float32:
        memcpy(data + 4 * i, &f, 4);
        break;
    case WNNDataType_Float16:
        half = double_to_half(real);
        memcpy(data + 2 * i, &half, 2);
        break;
    case WNNDataType_Int64:
    case WNNDataType_Uint64:
        memcpy(data + 8 * i, &integer, 8);
        break;
    case WNNDataType_Int32:
    case WNNDataType_Uint32:
        memcpy(data + 4 * i, &(int32_t){(int32_t)integer}, 4);
        break;
    case WNNDataType_Int4:
    case WNNDataType_Uint4:
        data[i / 2] |= (unsigned char)((integer & 15) << (i % 2 ? 4 : 0));
        break;
    default:
        data[i] = (unsigned char)integer;
    }
}

// float64 whose numbers are those of float32 loses nothing.
static bool is_exact(const struct tensor *t)
{
    for (int64_t i = 0; t->reals && i < count_elements(t); i++)
        if ((double)(float)t->reals[i] != t->reals[i] && !isnan(t->reals[i]))
            return false;
    return t->reals != NULL;
}

WNNOperand operand_of(struct recording *r, struct tensor *t)
{
    if (!t || r->failed)
        return NULL;
    if (t->operand)
        return t->operand;
    WNNDataType type = operand_type(r, t->type);
    int64_t count = count_elements(t);
    uint32_t shape[MAX_RANK];
    for (size_t i = 0; i < t->rank; i++)
        shape[i] = (uint32_t)t->dims[i];
    if (has_late_elements(t)) {
        struct tensor *late = record_late(r, t);
        return late ? (t->operand = operand_of(r, late)) : NULL;
    }
    if (count == INT64_MAX)
        return fail(r, "a tensor of more elements than can be counted");
    if (type == WNNDataType_Undefined && t->type == TYPE_FLOAT64 && (t->reals || read_source(r, t)) &&
        is_exact(t))
        type = WNNDataType_Float32;
    if (type == WNNDataType_Undefined)
        return fail(r, "WebNN has no type for %s%s", type_name(t->type),
                    is_narrowed(t->type) ? ", and narrowing was not asked for" : "");
    WNNOperandDescriptor descriptor = {NULL, type, {shape, t->rank}};
    size_t size = type == WNNDataType_Int4 || type == WNNDataType_Uint4 ? ((size_t)count + 1) / 2 : 0;
    unsigned bits = type_of(t->type)->bits;
    bool same = type == type_of(t->type)->operand && t->type != TYPE_BFLOAT16;
    if (t->source && same) {
        struct bytes data = data_of(r, t->source);
        size = ((size_t)count * bits + 7) / 8;
        if (data.size >= size) {
            struct source_name name;
            WNNExternalBytes bytes = wnn_source_lend(r->source, (struct bytes){data.data, size}, &name);
            t->operand = check_recorded(r, wnnGraphBuilderExternalConstant(r->builder, &descriptor, &bytes));
            return t->operand;
        }
    }
    if (!t->ints && !t->reals && (!t->source || !read_source(r, t)))
        return fail(r, "an operand that was not recorded");
    static const unsigned char widths[] = {
        [WNNDataType_Float32] = 4, [WNNDataType_Float16] = 2, [WNNDataType_Int32] = 4,
        [WNNDataType_Uint32] = 4,  [WNNDataType_Int64] = 8,   [WNNDataType_Uint64] = 8,
        [WNNDataType_Int8] = 1,    [WNNDataType_Uint8] = 1};
    if (type != WNNDataType_Int4 && type != WNNDataType_Uint4)
        size = (size_t)count * widths[type];
    unsigned char *data = wnn_model_allocate(r->memory, size, 1);
    if (!data)
        return fail(r, "there is not enough memory");
    for (int64_t i = 0; i < count; i++)
        store_element(t, type, i, data);
    t->operand = check_recorded(r, wnnGraphBuilderConstant(r->builder, &descriptor, data, size));
    return t->operand;
}

struct tensor *forget(struct recording *r, struct tensor *t)
{
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, operand) : NULL;
}

struct tensor *limit_known(struct recording *r, struct tensor *t, int64_t elements)
{
    if (!t || elements <= MAX_KNOWN || t->operand)
        return t;
    return make_operand(r, t->type, operand_of(r, t));
}
