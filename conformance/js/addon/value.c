// SPDX-License-Identifier: Apache-2.0
//
// JavaScript values to C and back.

#include "conformance/js/addon/addon.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool wnn_js_ok(napi_env env, napi_status status)
{
    if (status == napi_ok)
        return true;
    const napi_extended_error_info *info = NULL;
    bool pending = false;
    napi_get_last_error_info(env, &info);
    const char *message = info && info->error_message ? info->error_message : "Node refused a call";
    napi_is_exception_pending(env, &pending);
    if (!pending)
        napi_throw_error(env, "UnknownError", message);
    return false;
}

napi_value wnn_js_error(napi_env env, WNNStatus status, WNNStringView message)
{
    napi_value code = wnn_js_string_view(env, wnnStatusName(status)), text = wnn_js_string_view(env, message);
    napi_value error = NULL;
    napi_create_error(env, code, text, &error);
    return error;
}

void wnn_js_throw(napi_env env, WNNStatus status, WNNStringView message)
{
    napi_value error = wnn_js_error(env, status, message);
    if (error)
        napi_throw(env, error);
}

void wnn_js_throw_memory(napi_env env)
{
    wnn_js_throw(env, WNNStatus_OutOfMemory, (WNNStringView){"out of memory", WNN_STRLEN});
}

bool wnn_js_arguments(napi_env env, napi_callback_info info, size_t count, napi_value *values)
{
    // Arguments that are missing become undefined.
    return wnn_js_ok(env, napi_get_cb_info(env, info, &count, values, NULL, NULL));
}

struct scratch_block {
    struct scratch_block *next;
    max_align_t bytes[];
};

void *wnn_js_allocate(napi_env env, struct scratch *scratch, size_t count, size_t size)
{
    struct scratch_block *block = NULL;
    if (count < (SIZE_MAX - sizeof *block) / size)
        block = calloc(1, sizeof *block + (count + 1) * size);
    if (!block) {
        wnn_js_throw_memory(env);
        return NULL;
    }
    block->next = scratch->first;
    scratch->first = block;
    return block->bytes;
}

void wnn_js_scratch_free(struct scratch *scratch)
{
    for (struct scratch_block *block = scratch->first, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    scratch->first = NULL;
}

void *wnn_js_grow(napi_env env, void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? 2 * *capacity : 16;
    void *grown = wanted < SIZE_MAX / size ? realloc(items, wanted * size) : NULL;
    if (grown)
        *capacity = wanted;
    else
        wnn_js_throw_memory(env);
    return grown;
}

// ---------------------------------------------------------------------------------------------------------------
// From JavaScript
// ---------------------------------------------------------------------------------------------------------------

bool wnn_js_is_undefined(napi_env env, napi_value value)
{
    napi_valuetype type = napi_undefined;
    napi_typeof(env, value, &type);
    return type == napi_undefined;
}

bool wnn_js_get_u32(napi_env env, napi_value value, uint32_t *number)
{
    return wnn_js_ok(env, napi_get_value_uint32(env, value, number));
}

bool wnn_js_get_bool(napi_env env, napi_value value, bool *truth)
{
    return wnn_js_ok(env, napi_get_value_bool(env, value, truth));
}

bool wnn_js_get_number(napi_env env, napi_value value, WNNNumber *number)
{
    napi_valuetype type = napi_undefined;
    napi_typeof(env, value, &type);
    if (type != napi_bigint) {
        number->type = WNNNumberType_Float64;
        return wnn_js_ok(env, napi_get_value_double(env, value, &number->value.f64));
    }
    bool lossless;
    int64_t i64;
    uint64_t u64;
    if (!wnn_js_ok(env, napi_get_value_bigint_int64(env, value, &i64, &lossless)))
        return false;
    *number = wnnNumberInt64(i64);
    if (lossless)
        return true;
    if (!wnn_js_ok(env, napi_get_value_bigint_uint64(env, value, &u64, &lossless)))
        return false;
    *number = wnnNumberUint64(u64);
    if (lossless)
        return true;
    int sign = 0;
    size_t words = 1;
    if (!wnn_js_ok(env, napi_get_value_bigint_words(env, value, &sign, &words, &u64)))
        return false;
    *number = sign ? wnnNumberInt64(INT64_MIN) : wnnNumberUint64(UINT64_MAX);
    return true;
}

bool wnn_js_get_string(napi_env env, napi_value value, struct scratch *scratch, WNNStringView *string)
{
    size_t length;
    if (!wnn_js_ok(env, napi_get_value_string_utf8(env, value, NULL, 0, &length)))
        return false;
    char *text = wnn_js_allocate(env, scratch, length, 1);
    if (!text || !wnn_js_ok(env, napi_get_value_string_utf8(env, value, text, length + 1, &length)))
        return false;
    *string = (WNNStringView){text, length};
    return true;
}

bool wnn_js_get_type(napi_env env, napi_value value, WNNDataType *type)
{
    char name[16];
    size_t length;
    if (!wnn_js_ok(env, napi_get_value_string_utf8(env, value, name, sizeof name, &length)))
        return false;
    for (int i = 1; wnnDataTypeName((WNNDataType)i).length > 0; i++)
        if (strcmp(name, wnnDataTypeName((WNNDataType)i).data) == 0) {
            *type = (WNNDataType)i;
            return true;
        }
    wnn_js_throw(env, WNNStatus_TypeError, (WNNStringView){"there is no such data type", WNN_STRLEN});
    return false;
}

bool wnn_js_get_u32s(napi_env env, napi_value value, struct scratch *scratch, WNNUint32List *list)
{
    uint32_t count;
    napi_value item;
    if (!wnn_js_ok(env, napi_get_array_length(env, value, &count)))
        return false;
    uint32_t *data = wnn_js_allocate(env, scratch, count, sizeof *data);
    if (!data)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!wnn_js_ok(env, napi_get_element(env, value, i, &item)) || !wnn_js_get_u32(env, item, &data[i]))
            return false;
    *list = (WNNUint32List){data, count};
    return true;
}

bool wnn_js_get_f32s(napi_env env, napi_value value, struct scratch *scratch, WNNFloat32List *list)
{
    uint32_t count;
    napi_value item;
    double number;
    if (!wnn_js_ok(env, napi_get_array_length(env, value, &count)))
        return false;
    float *data = wnn_js_allocate(env, scratch, count, sizeof *data);
    if (!data)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!wnn_js_ok(env, napi_get_element(env, value, i, &item)) ||
            !wnn_js_ok(env, napi_get_value_double(env, item, &number)))
            return false;
        data[i] = (float)number;
    }
    *list = (WNNFloat32List){data, count};
    return true;
}

bool wnn_js_get_bytes(napi_env env, napi_value value, void **data, size_t *byte_length)
{
    static const uint8_t sizes[] = {
        [napi_int8_array] = 1,     [napi_uint8_array] = 1,     [napi_uint8_clamped_array] = 1,
        [napi_int16_array] = 2,    [napi_uint16_array] = 2,    [napi_int32_array] = 4,
        [napi_uint32_array] = 4,   [napi_float32_array] = 4,   [napi_float64_array] = 8,
        [napi_bigint64_array] = 8, [napi_biguint64_array] = 8,
    };
    napi_typedarray_type type;
    size_t length;
    // The buffer is not asked for: it may be a SharedArrayBuffer, which N-API 9 cannot describe.
    if (!wnn_js_ok(env, napi_get_typedarray_info(env, value, &type, &length, data, NULL, NULL)))
        return false;
    if ((size_t)type >= sizeof sizes) {
        wnn_js_throw(env, WNNStatus_TypeError, (WNNStringView){"an array of an unknown type", WNN_STRLEN});
        return false;
    }
    *byte_length = length * sizes[type];
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// To JavaScript
// ---------------------------------------------------------------------------------------------------------------

napi_value wnn_js_string(napi_env env, const char *text)
{
    napi_value value = NULL;
    napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
    return value;
}

napi_value wnn_js_string_view(napi_env env, WNNStringView view)
{
    napi_value value = NULL;
    napi_create_string_utf8(env, view.data ? view.data : "", view.data ? view.length : 0, &value);
    return value;
}

bool wnn_js_set(napi_env env, napi_value object, const char *name, napi_value value)
{
    return value && wnn_js_ok(env, napi_set_named_property(env, object, name, value));
}

bool wnn_js_set_u32(napi_env env, napi_value object, const char *name, double number)
{
    napi_value value;
    return wnn_js_ok(env, napi_create_double(env, number, &value)) && wnn_js_set(env, object, name, value);
}

bool wnn_js_set_bool(napi_env env, napi_value object, const char *name, bool truth)
{
    napi_value value;
    return wnn_js_ok(env, napi_get_boolean(env, truth, &value)) && wnn_js_set(env, object, name, value);
}

static bool size_value(napi_env env, uint32_t size, WNNGraphBuilder builder, WNNGraph graph,
                       napi_value *value)
{
    WNNDimension dimension = WNN_DIMENSION_INIT;
    if (size > INT32_MAX)
        (void)(builder ? wnnGraphBuilderGetSize(builder, size, &dimension)
                       : wnnGraphGetSize(graph, size, &dimension));
    if (size <= INT32_MAX)
        return wnn_js_ok(env, napi_create_uint32(env, size, value));
    *value = dimension.name.length ? wnn_js_string_view(env, dimension.name) : wnn_js_string(env, "?");
    return *value != NULL;
}

bool wnn_js_set_descriptor(napi_env env, napi_value object, WNNDataType type, WNNUint32List shape,
                           WNNGraphBuilder builder, WNNGraph graph)
{
    napi_value dimensions, dimension;
    if (!wnn_js_ok(env, shape.data ? napi_create_array_with_length(env, shape.count, &dimensions)
                                   : napi_get_null(env, &dimensions)))
        return false;
    for (size_t i = 0; i < shape.count; i++)
        if (!size_value(env, shape.data[i], builder, graph, &dimension) ||
            !wnn_js_ok(env, napi_set_element(env, dimensions, (uint32_t)i, dimension)))
            return false;
    return wnn_js_set(env, object, "dataType", wnn_js_string_view(env, wnnDataTypeName(type))) &&
           wnn_js_set(env, object, "shape", dimensions);
}

napi_value wnn_js_types(napi_env env, uint32_t types)
{
    napi_value array = NULL;
    uint32_t count = 0;
    napi_create_array(env, &array);
    for (int i = 1; wnnDataTypeName((WNNDataType)i).length > 0; i++)
        if (types & 1u << i)
            napi_set_element(env, array, count++, wnn_js_string_view(env, wnnDataTypeName((WNNDataType)i)));
    return array;
}
