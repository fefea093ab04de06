// SPDX-License-Identifier: Apache-2.0

#include "conformance/vector.h"

#include "lib/dtype.h"
#include "lib/half.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *wnn_json_string(const cJSON *object, const char *member)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, member));
}

WNNDataType wnn_vector_type(const char *name)
{
    for (int type = WNNDataType_Float32; name != NULL && type < WNN_DATA_TYPE_COUNT; type++)
        if (strcmp(wnn_dtype_name((WNNDataType)type), name) == 0)
            return (WNNDataType)type;
    return WNNDataType_Undefined;
}

bool wnn_json_number(const cJSON *json, WNNNumber *number)
{
    if (cJSON_IsBool(json)) {
        *number = wnnNumberFloat64(cJSON_IsTrue(json));
        return true;
    }
    if (cJSON_IsNumber(json)) {
        *number = wnnNumberFloat64(json->valuedouble);
        return true;
    }
    const char *text = cJSON_GetStringValue(json);
    char *end;
    if (text == NULL || *text == 0)
        return false;
    if (text[strspn(text, "-0123456789")] == 0) {
        errno = 0;
        *number = wnnNumberInt64(strtoll(text, &end, 10));
        if (errno == 0)
            return *end == 0;
        errno = 0;
        if (text[0] != '-') {
            *number = wnnNumberUint64(strtoull(text, &end, 10));
            if (errno == 0)
                return *end == 0;
        }
    }
    *number = wnnNumberFloat64(strtod(text, &end));
    return *end == 0;
}

WNNOperandDescriptor wnn_vector_descriptor(const struct vector *vector)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = vector->type;
    descriptor.shape = (WNNUint32List){vector->dims, vector->rank};
    return descriptor;
}

void wnn_vector_free(struct vector *vector)
{
    free(vector->data);
    vector->data = NULL;
}

bool wnn_vector_fill_zero(struct vector *vector)
{
    vector->data = vector->bytes < SIZE_MAX ? calloc(vector->bytes + 1, 1) : NULL;
    return vector->data != NULL;
}

static bool read_shape(const cJSON *json, struct vector *vector)
{
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(json, "shape"), *item;
    if (!cJSON_IsArray(shape))
        return false;
    cJSON_ArrayForEach(item, shape)
    {
        if (vector->rank == VECTOR_MAX_RANK || !cJSON_IsNumber(item) || item->valuedouble < 0 ||
            item->valuedouble > UINT32_MAX)
            return false;
        vector->dims[vector->rank++] = (uint32_t)item->valuedouble;
    }
    return true;
}

static void count_elements(struct vector *vector)
{
    vector->count = 1;
    for (size_t i = 0; i < vector->rank; i++)
        if (__builtin_mul_overflow(vector->count, vector->dims[i], &vector->count))
            vector->count = SIZE_MAX / 16;
    vector->bytes = SIZE_MAX;
    if (vector->type != WNNDataType_Undefined && vector->count <= UINT32_MAX)
        vector->bytes = (vector->count * wnn_dtype_bits(vector->type) + 7) / 8;
}

// The bits of an element, from its value.
static bool element_bits(WNNDataType type, const cJSON *json, uint64_t *bits)
{
    WNNNumber number;
    if (!wnn_json_number(json, &number))
        return false;
    if (type == WNNDataType_Float32 || type == WNNDataType_Float16) {
        float value = (float)wnn_number_double(number);
        uint32_t word;
        memcpy(&word, &value, sizeof word);
        *bits = type == WNNDataType_Float16 ? wnn_half_from_float(value) : word;
        return true;
    }
    if (number.type != WNNNumberType_Float64) {
        *bits = number.value.u64;
        return true;
    }
    double value = number.value.f64;
    if (!(value >= -0x1p63 && value < 0x1p64))
        return false;
    *bits = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    return true;
}

static void put_bits(struct vector *vector, size_t index, uint64_t bits)
{
    unsigned width = wnn_dtype_bits(vector->type);
    unsigned char *bytes = vector->data;
    if (width == 4) {
        bytes[index / 2] |= (unsigned char)((bits & 0xF) << (index % 2 * 4));
        return;
    }
    for (unsigned byte = 0; byte < width / 8; byte++)
        bytes[index * (width / 8) + byte] = (unsigned char)(bits >> 8 * byte);
}

static bool read_hexadecimal(const char *text, uint64_t *bits)
{
    char digits[5] = {0}, *end;
    if (text == NULL || strlen(text) < 4)
        return false;
    memcpy(digits, text, 4);
    *bits = strtoul(digits, &end, 16);
    return *end == 0;
}

static bool read_elements(const cJSON *json, struct vector *vector)
{
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(json, "data"), *item;
    const cJSON *fill = cJSON_GetObjectItemCaseSensitive(json, "fill");
    const char *all_bits = wnn_json_string(json, "bits"), *fill_bits = wnn_json_string(json, "fillBits");
    uint64_t bits = 0;
    size_t count = 0;
    if (fill != NULL || fill_bits != NULL) {
        if (fill_bits != NULL ? !read_hexadecimal(fill_bits, &bits)
                              : !element_bits(vector->type, fill, &bits))
            return false;
        while (count < vector->count)
            put_bits(vector, count++, bits);
        return true;
    }
    if (all_bits != NULL) {
        if (strlen(all_bits) != 4 * vector->count)
            return false;
        for (; count < vector->count; count++) {
            if (!read_hexadecimal(all_bits + 4 * count, &bits))
                return false;
            put_bits(vector, count, bits);
        }
        return true;
    }
    cJSON_ArrayForEach(item, data)
    {
        if (count == vector->count || !element_bits(vector->type, item, &bits))
            return false;
        put_bits(vector, count++, bits);
    }
    return cJSON_IsArray(data) && count == vector->count;
}

bool wnn_vector_read(const cJSON *json, bool with_data, struct vector *vector, struct text *message)
{
    *vector = (struct vector){.type = wnn_vector_type(wnn_json_string(json, "dataType"))};
    const char *name = json->string != NULL ? json->string : "descriptor";
    if (!read_shape(json, vector)) {
        wnn_text_add(message, "the file has no usable shape for %s", name);
        return false;
    }
    count_elements(vector);
    if (!with_data)
        return true;
    if (!wnn_vector_fill_zero(vector)) {
        wnn_text_add(message, "there is no memory for the elements of %s", name);
        return false;
    }
    if (!read_elements(json, vector)) {
        wnn_text_add(message, "the elements of %s in the file are not those of its type and shape", name);
        return false;
    }
    return true;
}
