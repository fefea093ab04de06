// SPDX-License-Identifier: Apache-2.0
//
// What a builder holds as bytes: one process records a graph, another one reads the bytes and builds it. Constants may
// stand in the bytes, or be ranges of files, or anything else that both sides have a name for, such as memory that they
// share: then the bytes of a model of gigabytes are some kilobytes.
//
// Reading is recording. Every operand is made by a call of webnn/webnn.h and every operator by wnnGraphBuilderCall, with all
// of their checks and the limits of the reader's context, so that bytes from a stranger can do nothing that his calls could
// not. Beyond what those calls keep, reading takes memory in proportion to the bytes.
//
// The format, version 1
//
// Numbers are little-endian: u8, u16, u32, u64, f32 and f64 of IEEE 754. Everything begins at a multiple of 4 bytes from the
// beginning, which itself may have any address. Bytes that are said to be zero are refused if they are not. A list of n items
// is u32 n and the items. Besides,
//
//   text      u32 number of bytes; the bytes, UTF-8 without NUL at the end; zeros up to the next multiple of 4
//   operand   u32 index of an operand: how many the records before it have made. It exists already
//   size      u32: from 2^31 on, with feature 1, the size that record 6 has made, of which 2^31 more than how many were
//             made before; else the number that it is
//   type      u8 data type (WNNDataType); u8 rank; u16 flags, 0; rank times a dimension, which is a size
//
// A serialized graph is a header, records, outputs and data, and ends there:
//
//   byte  0   8 bytes  57 4E 4E 47 52 41 50 48, "WNNGRAPH"
//         8   u32      version, 1: a reader refuses any other
//        12   u32      features, bits that a reader has to know. 1: there are sizes that are not known, and only then
//        16   u32      number of records
//        20   u32      number of operands that they make
//        24   u32      number of outputs
//        28   u32      0
//        32   u64      bytes of records and outputs with the zeros after them, a multiple of 8
//        40   u64      bytes of data, a multiple of 8
//        48            records; outputs; zeros up to the next multiple of 8
//                      data
//
// Records make operands, in the order in which the builder got them. Each begins with its kind:
//
//   u32 1     an input: type; text name
//   u32 2     a constant whose bytes are the next of the data: type
//   u32 3     a constant that is a range of a file: type; u64 file; u64 offset
//   u32 4     a constant that has an id: type; text id of 1 to WNN_MAX_CONSTANT_ID bytes, any
//   u32 5     an operator: text name; text label; list of operand, its inputs; list of attribute; list of result
//
// and with feature 1
//
//   u32 6     a size, which is no operand: u32 kind, and what it is computed of, which are sizes if nothing else is said:
//             1  a dimension: operand; u32 which of its dimensions
//             2  a sum: u64 constant; list, of 6 items at most, of u64 factor and size. Both numbers in two's complement
//             3  a product: size; size
//             4  a quotient, rounded down: size; u32 divisor, 1 to 2^31-1
//             5  a multiple, rounded down: size; f64 scale, more than 0
//             6  what two are broadcast to: size; size
//             7  the smaller one: size; size
//   u32 7     an input of which dimensions have names: type, where these are 0; text name; of each dimension text name; u32
//             1: isUnknown, or 0; u32 minSize; u32 maxSize, as in WNNDimension. Dimensions with neither have the size that
//             stands in the type, and zeros here
//
//   attribute   text name; u32 type (WNNAttributeType); value. Uint32 and items of Uint32List are sizes where
//               the operator takes sizes
//   result      u8 data type; u8 rank; u16 flags: those that the reader is to find when it has recorded the operator. Flag 1:
//               sizes that are not known will tell the rank, which is 0 here
//   activation  text name of its operator; list of attribute, none of them an activation
//
// and a value is, by the type of its attribute,
//
//   Uint32, DataType, Enumerator      u32          Int32                      u32, two's complement
//   Bool                              u32, 0 or 1  Float64                    f64
//   Number    u32 WNNNumberType; 8 bytes: two's complement, u64 or f64
//   Uint32List, Float32List           list of u32 or f32, which was given even if it is empty
//   Activation, ActivationList        activation; list of activation
//   Operand                           operand
//
// An output is text name; operand. Data are the bytes of each constant of kind 2, in their order, each with zeros up to the
// next multiple of 8. The same calls on a builder give the same bytes.

#ifndef WEBNN_SERIALIZE_H_
#define WEBNN_SERIALIZE_H_

#include <webnn/reflection.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum WNNConstantForm {
    WNNConstantForm_Value = 1,     // its bytes
    WNNConstantForm_FileRange = 2, // bytes of a file that both sides know by a number
    WNNConstantForm_Id = 3,        // what the reader finds by some bytes: a name, a digest, a number
    WNNConstantForm_Force32 = 0x7FFFFFFF
} WNNConstantForm;

#define WNN_MAX_CONSTANT_ID 256 // bytes

// What stands for a constant.
typedef struct WNNConstantReference {
    WNNChainedStruct *nextInChain;
    WNNConstantForm form;
    uint64_t file, offset; // of FileRange: which file, and the byte of it with which the constant begins
    const void *id;        // of Id: 1 to WNN_MAX_CONSTANT_ID bytes
    size_t idLength;
} WNNConstantReference;
#define WNN_CONSTANT_REFERENCE_INIT { NULL, WNNConstantForm_Value, 0, 0, NULL, 0 }

// ---------------------------------------------------------------------------------------------------------------
// Names of constants
// ---------------------------------------------------------------------------------------------------------------

// Chained to WNNExternalBytes: what stands for these bytes where they are not, as in a compiled graph that was saved
// without them (WNNWeightless). The same reference always means the same bytes. TypeError: a form other than FileRange
// and Id, or an id without its bytes.
typedef struct WNNNamedBytes {
    WNNChainedStruct chain; // sType: WNNSType_NamedBytes
    WNNConstantReference reference; // copied
} WNNNamedBytes;
#define WNN_NAMED_BYTES_INIT { { NULL, WNNSType_NamedBytes }, WNN_CONSTANT_REFERENCE_INIT }

// A constant whose bytes come later, so that recording and compiling need none: when the graph is built or loaded, from a
// WNNConstantSource (webnn/compiled.h). What is recorded here is what is recorded of a constant, but for what has to see
// numbers: sizes that are told by data (TypeError), and scales, zero points and biases of quantized operators, which are
// computed as separate operators if they are promised. These are small: give their bytes. TypeError: a descriptor out of bounds,
// no reference, one of another form than FileRange and Id, or an id without its bytes.
WNN_EXPORT WNNOperand wnnGraphBuilderPromisedConstant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                                      const WNNConstantReference *reference);

// ---------------------------------------------------------------------------------------------------------------
// Writing. The callbacks run inside of the call and do not use the builder. What is not Success ends it, and is its result.
// ---------------------------------------------------------------------------------------------------------------

// Says what stands for a constant: `reference` comes as WNN_CONSTANT_REFERENCE_INIT, by value. A promised constant has no
// bytes: by value is by the reference that it was recorded with. What its id points to has to
// live until the callback is called again or the whole call returns.
typedef WNNStatus (*WNNReferConstantCallback)(const WNNRecordedOperand *constant, WNNConstantReference *reference,
                                              void *userdata1, void *userdata2);

// Takes the next bytes, which live until it returns; `rest` is how many come after them, so that the first call tells how
// many there are in all. Constants come from where the builder has them, each by itself.
typedef WNNStatus (*WNNWriteCallback)(const void *data, size_t byteLength, uint64_t rest, void *userdata1, void *userdata2);

typedef struct WNNSerializeDescriptor {
    const WNNChainedStruct *nextInChain;
    size_t outputCount; // what the reader is to build; there may be none
    const WNNNamedOperand *outputs;
    WNNReferConstantCallback refer; // NULL: all constants by value
    WNNWriteCallback write;
    void *userdata1, *userdata2; // of both
} WNNSerializeDescriptor;
#define WNN_SERIALIZE_DESCRIPTOR_INIT { NULL, 0, NULL, NULL, NULL, NULL, NULL }

// Writes everything that the builder holds, also what no output depends on. The builder stays as it is; its error, if it has
// one, is the result. `message` gets what there is to say of an error, as in wnnGraphBuilderBuildSync. TypeError: no
// descriptor, no `write`, an output that is NULL or of another builder, a name that is empty or ill-formed, a reference of
// unknown form or without its id. NotSupportedError: an operator needs a size that is neither that of an operand before it nor
// computed of such, which no execution could tell. OutOfMemory. The builder's thread.
WNN_EXPORT WNNStatus wnnGraphBuilderSerialize(WNNGraphBuilder builder, const WNNSerializeDescriptor *descriptor,
                                              size_t capacity, char *message);

// ---------------------------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------------------------

// Records what a reference of FileRange or Id stands for, as a constant of that type and shape: by
// wnnGraphBuilderExternalConstant if it is in memory, by wnnGraphBuilderTensorConstant if it is a tensor's, by
// wnnGraphBuilderPromisedConstant if nobody has to have the bytes yet. The answer may
// be an operand that was recorded before. NULL: there is no such constant; the builder's error says why if it has one, and
// gets one otherwise. Both structs and the id live until it returns. The form is known, the descriptor within the limits; all
// else is the writer's word: check that file, offset and size are a range that he may have.
typedef WNNOperand (*WNNFindConstantCallback)(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                              const WNNConstantReference *reference, void *userdata1, void *userdata2);

typedef struct WNNDeserializeDescriptor {
    const WNNChainedStruct *nextInChain;
    const void *data; // of any alignment; nobody may change it during the call: copy it out of memory that is shared
    size_t byteLength;
    WNNFindConstantCallback find; // NULL: only constants by value are accepted
    void *userdata1, *userdata2;
} WNNDeserializeDescriptor;
#define WNN_DESERIALIZE_DESCRIPTOR_INIT { NULL, NULL, 0, NULL, NULL, NULL }

// What has been read. Arrays and text live as long as the builder.
typedef struct WNNDeserializedGraph {
    WNNChainedStruct *nextInChain;
    size_t outputCount; // for wnnGraphBuilderBuild
    const WNNNamedOperand *outputs;
    size_t operandCount; // all operands, by the index that they had where they were written
    const WNNOperand *operands;
} WNNDeserializedGraph;
#define WNN_DESERIALIZED_GRAPH_INIT { NULL, 0, NULL, 0, NULL }

// Records what was written into the builder, behind what it holds already. The status is that of the builder's error, which
// says what was refused: the error of a call, or the byte at which the format is violated. What stands before that has been
// recorded then, as by calls. A builder that has an error already records nothing, and its error is the result. TypeError:
// also no descriptor or no place for the answer. The builder's thread.
WNN_EXPORT WNNStatus wnnGraphBuilderDeserialize(WNNGraphBuilder builder, const WNNDeserializeDescriptor *descriptor,
                                                WNNDeserializedGraph *graph);

#ifdef __cplusplus
}
#endif

#endif
