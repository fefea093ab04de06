// SPDX-License-Identifier: Apache-2.0
//
// Data types: sizes, names, sets, and the conversion of numbers to them.

#ifndef LIB_DTYPE_H_
#define LIB_DTYPE_H_

#include <webnn/webnn.h>

#define WNN_DATA_TYPE_COUNT 11

// Sets of data types.
#define WNN_BIT(type) (1u << WNNDataType_##type)
enum {
    F32 = WNN_BIT(Float32),
    F16 = WNN_BIT(Float16),
    I32 = WNN_BIT(Int32),
    U32 = WNN_BIT(Uint32),
    I64 = WNN_BIT(Int64),
    U64 = WNN_BIT(Uint64),
    I8 = WNN_BIT(Int8),
    U8 = WNN_BIT(Uint8),
    I4 = WNN_BIT(Int4),
    U4 = WNN_BIT(Uint4),
};

bool wnn_dtype_valid(WNNDataType type);
bool wnn_dtype_is_float(WNNDataType type);
bool wnn_dtype_is_signed(WNNDataType type); // floats too
unsigned wnn_dtype_bits(WNNDataType type);
const char *wnn_dtype_name(WNNDataType type); // the specification's: "float32"

// "float32", "float32 or float16", "int32, uint32 or int64".
#define WNN_DTYPES_TEXT 128
const char *wnn_dtypes_text(uint32_t types, char buffer[WNN_DTYPES_TEXT]);

// Bytes of `count` elements, rounded up for the 4-bit types. count is at most 2^31-1.
size_t wnn_dtype_bytes(WNNDataType type, size_t count);

// The value that a number becomes in a type, https://www.w3.org/TR/webnn/#algorithms-casting: for float types
// a Float64 that the type represents, for signed integers an Int64, for unsigned ones a Uint64.
WNNNumber wnn_number_convert(WNNNumber number, WNNDataType type);
double wnn_number_double(WNNNumber number);
double wnn_round_to_dtype(double value, WNNDataType type); // float types only

// Writes element `index` of a tensor with the value of a converted number; a 4-bit neighbour stays as it is.
void wnn_number_store(WNNNumber number, WNNDataType type, void *data, size_t index);
WNNNumber wnn_number_load(WNNDataType type, const void *data, size_t index);

#endif
