// SPDX-License-Identifier: Apache-2.0
#include "lib/dtype.h"

#include "lib/half.h"
#include "lib/text.h"

#include <math.h>
#include <string.h>

enum kind {
    FLOAT,
    SIGNED,
    UNSIGNED
};

static const struct {
    const char *name;
    enum kind kind;
    unsigned bits;
} types[WNN_DATA_TYPE_COUNT] = {
    [WNNDataType_Undefined] = {"undefined", UNSIGNED, 0}, [WNNDataType_Float32] = {"float32", FLOAT, 32},
    [WNNDataType_Float16] = {"float16", FLOAT, 16},       [WNNDataType_Int32] = {"int32", SIGNED, 32},
    [WNNDataType_Uint32] = {"uint32", UNSIGNED, 32},      [WNNDataType_Int64] = {"int64", SIGNED, 64},
    [WNNDataType_Uint64] = {"uint64", UNSIGNED, 64},      [WNNDataType_Int8] = {"int8", SIGNED, 8},
    [WNNDataType_Uint8] = {"uint8", UNSIGNED, 8},         [WNNDataType_Int4] = {"int4", SIGNED, 4},
    [WNNDataType_Uint4] = {"uint4", UNSIGNED, 4},
};

bool wnn_dtype_valid(WNNDataType type)
{
    return type > WNNDataType_Undefined && (unsigned)type < WNN_DATA_TYPE_COUNT;
}

bool wnn_dtype_is_float(WNNDataType type)
{
    return types[type].kind == FLOAT;
}

bool wnn_dtype_is_signed(WNNDataType type)
{
    return types[type].kind != UNSIGNED;
}

unsigned wnn_dtype_bits(WNNDataType type)
{
    return types[type].bits;
}

const char *wnn_dtype_name(WNNDataType type)
{
    return (unsigned)type < WNN_DATA_TYPE_COUNT ? types[type].name : "unknown";
}

const char *wnn_dtypes_text(uint32_t set, char buffer[WNN_DTYPES_TEXT])
{
    struct text text = {buffer, WNN_DTYPES_TEXT, 0};
    buffer[0] = 0;
    for (unsigned i = 0; i < WNN_DATA_TYPE_COUNT; i++) {
        if (!(set & 1u << i))
            continue;
        bool first = !(set & ((1u << i) - 1)), last = !(set >> i >> 1);
        wnn_text_add(&text, "%s%s", first ? "" : last ? " or " : ", ", types[i].name);
    }
    return buffer;
}

size_t wnn_dtype_bytes(WNNDataType type, size_t count)
{
    return (size_t)(((uint64_t)count * types[type].bits + 7) / 8);
}

double wnn_number_double(WNNNumber number)
{
    switch (number.type) {
    case WNNNumberType_Int64:
        return (double)number.value.i64;
    case WNNNumberType_Uint64:
        return (double)number.value.u64;
    default:
        return number.value.f64;
    }
}

// float16 of a double in one rounding: to odd in float32, which has more than enough bits for the second one.
static uint16_t half_from_double(double value)
{
    float nearest = (float)value;
    if (isfinite(nearest) && (double)nearest != value) {
        uint32_t bits;
        memcpy(&bits, &nearest, sizeof bits);
        if (fabs((double)nearest) > fabs(value))
            bits--; // towards zero
        bits |= 1;
        memcpy(&nearest, &bits, sizeof nearest);
    }
    return wnn_half_from_float(nearest);
}

double wnn_round_to_dtype(double value, WNNDataType type)
{
    return type == WNNDataType_Float16 ? (double)wnn_half_to_float(half_from_double(value))
                                       : (double)(float)value;
}

static WNNNumber to_signed(WNNNumber number, unsigned bits)
{
    int64_t high = (int64_t)((UINT64_C(1) << (bits - 1)) - 1), low = -high - 1, value;
    switch (number.type) {
    case WNNNumberType_Int64:
        value = number.value.i64;
        break;
    case WNNNumberType_Uint64:
        value = number.value.u64 > (uint64_t)high ? high : (int64_t)number.value.u64;
        break;
    default:
        if (isnan(number.value.f64))
            value = 0;
        else if (number.value.f64 >= (double)high)
            value = high;
        else if (number.value.f64 <= (double)low)
            value = low;
        else
            value = (int64_t)number.value.f64;
    }
    return wnnNumberInt64(value > high ? high : value < low ? low : value);
}

static WNNNumber to_unsigned(WNNNumber number, unsigned bits)
{
    uint64_t high = UINT64_MAX >> (64 - bits), value;
    switch (number.type) {
    case WNNNumberType_Int64:
        value = number.value.i64 < 0 ? 0 : (uint64_t)number.value.i64;
        break;
    case WNNNumberType_Uint64:
        value = number.value.u64;
        break;
    default:
        if (!(number.value.f64 > 0))
            value = 0;
        else if (number.value.f64 >= (double)high)
            value = high;
        else
            value = (uint64_t)number.value.f64;
    }
    return wnnNumberUint64(value > high ? high : value);
}

WNNNumber wnn_number_convert(WNNNumber number, WNNDataType type)
{
    switch (types[type].kind) {
    case SIGNED:
        return to_signed(number, types[type].bits);
    case UNSIGNED:
        return to_unsigned(number, types[type].bits);
    default:
        return wnnNumberFloat64(wnn_round_to_dtype(wnn_number_double(number), type));
    }
}

void wnn_number_store(WNNNumber number, WNNDataType type, void *data, size_t index)
{
    char *at = (char *)data + index * types[type].bits / 8;
    uint64_t bits = number.value.u64; // the low bits are right for either sign
    if (type == WNNDataType_Float32) {
        float value = (float)number.value.f64;
        memcpy(at, &value, sizeof value);
    } else if (type == WNNDataType_Float16) {
        uint16_t value = half_from_double(number.value.f64);
        memcpy(at, &value, sizeof value);
    } else if (types[type].bits == 4) {
        unsigned shift = index % 2 * 4;
        *at = (char)(((unsigned char)*at & ~(0xFu << shift)) | (bits & 0xFu) << shift);
    } else if (types[type].bits == 8) {
        uint8_t value = (uint8_t)bits;
        memcpy(at, &value, sizeof value);
    } else if (types[type].bits == 32) {
        uint32_t value = (uint32_t)bits;
        memcpy(at, &value, sizeof value);
    } else {
        memcpy(at, &bits, sizeof bits);
    }
}

WNNNumber wnn_number_load(WNNDataType type, const void *data, size_t index)
{
    const char *at = (const char *)data + index * types[type].bits / 8;
    if (type == WNNDataType_Float32) {
        float value;
        memcpy(&value, at, sizeof value);
        return wnnNumberFloat64(value);
    }
    if (type == WNNDataType_Float16) {
        uint16_t value;
        memcpy(&value, at, sizeof value);
        return wnnNumberFloat64(wnn_half_to_float(value));
    }
    uint64_t bits = 0;
    unsigned width = types[type].bits;
    if (width == 4) {
        bits = (unsigned char)*at >> index % 2 * 4 & 0xFu;
    } else if (width == 8) {
        bits = (unsigned char)*at;
    } else if (width == 32) {
        uint32_t value;
        memcpy(&value, at, sizeof value);
        bits = value;
    } else {
        memcpy(&bits, at, sizeof bits);
    }
    if (types[type].kind == UNSIGNED)
        return wnnNumberUint64(bits);
    if (width < 64 && bits >> (width - 1))
        bits |= UINT64_MAX << width;
    return wnnNumberInt64((int64_t)bits);
}
