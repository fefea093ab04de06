// SPDX-License-Identifier: Apache-2.0
//
// Models in files: ONNX today. libwebnn-model opens one, tells what is in it, and records it into a graph builder of the
// program's, which may put operators before and after it. It uses the functions of webnn/webnn.h and webnn/ops.h alone;
// link it beside libwebnn.
//
// A program in four calls:
//
//   WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
//   file.path = WNN_TEXT("mobilenet.onnx");
//   wnnModelOpen(&file, &model, sizeof message, message);
//   wnnModelRecord(model, builder, NULL, outputCapacity, outputs, &outputCount, sizeof message, message);
//   wnnGraphBuilderBuildSync(builder, outputCount, outputs, &graph, sizeof message, message);
//   wnnModelRelease(model);
//
// Files are not trusted: whatever one says, an error is all that can come of it, and what describing it may take is
// limited. Weights are not copied: they are lent to the graph out of the mapped file, which stays open for as long as a
// model, builder or graph needs it. Conventions are those of webnn/webnn.h; a model may be used by any thread, by one at a
// time.

#ifndef WEBNN_MODEL_H_
#define WEBNN_MODEL_H_

#include <webnn/webnn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct WNNModelImpl *WNNModel;

typedef enum WNNModelFormat {
    WNNModelFormat_ONNX = 1,
    WNNModelFormat_Force32 = 0x7FFFFFFF
} WNNModelFormat;

// ---------------------------------------------------------------------------------------------------------------
// Opening
// ---------------------------------------------------------------------------------------------------------------

typedef struct WNNModelDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView path; // of the file; where `data` is given, what messages call it, and whose folder has external data
    const void *data;   // the file's bytes, or NULL: the file is opened. They stay the caller's until `release`
    size_t byteLength;
    void (*release)(const void *data, size_t byteLength, void *userdata1, void *userdata2); // may be NULL; any thread
    void *userdata1, *userdata2;
    bool copy;               // files are read into memory: nobody can change them then, at the cost of their size
    uint64_t maxMemoryBytes; // what the description of a file may take, beyond its bytes; 0: 1 GiB
} WNNModelDescriptor;
#define WNN_MODEL_DESCRIPTOR_INIT                                                                                    \
    { NULL, WNN_STRING_VIEW_INIT, NULL, 0, NULL, NULL, NULL, false, 0 }

// Opens a model; its format is recognized by its content. UnknownError: the file cannot be read; TypeError: its format is
// not known, or it is malformed; OutOfMemory. The message, if capacity is not 0, begins with the path. A mapped file that
// shrinks is like any mapped file: reading what is gone raises SIGBUS; `copy` is for files that others may change.
WNN_EXPORT WNNStatus wnnModelOpen(const WNNModelDescriptor *descriptor, WNNModel *model, size_t capacity, char *message);
WNN_EXPORT void wnnModelRelease(WNNModel model); // NULL is accepted; graphs keep what they need

// ---------------------------------------------------------------------------------------------------------------
// What is in it. All text and arrays live as long as the model.
// ---------------------------------------------------------------------------------------------------------------

typedef struct WNNModelInfo {
    WNNChainedStruct *nextInChain;
    WNNModelFormat format;
    WNNStringView name, producer, producerVersion; // empty where the file does not say
    uint64_t formatVersion;                        // of ONNX: the version of its intermediate representation
    size_t nodeCount;                              // graphs within graphs not counted
    uint64_t weightBytes;                          // as they are stored
} WNNModelInfo;
#define WNN_MODEL_INFO_INIT                                                                                          \
    { NULL, WNNModelFormat_ONNX, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, 0, 0, 0 }
WNN_EXPORT WNNStatus wnnModelGetInfo(WNNModel model, WNNModelInfo *info);

typedef struct WNNModelDimension {
    WNNStringView name; // of one that is symbolic; may be empty even then
    uint64_t size;      // 0: symbolic
} WNNModelDimension;

typedef struct WNNModelValue {
    WNNStringView name;
    WNNStringView typeName; // of its elements, as the format calls it: "float32", "bool", "bfloat16", "string"
    WNNDataType dataType;   // of the operand that stands for it; Undefined: there is none
    bool hasShape;          // otherwise not even its rank is known
    size_t rank;
    const WNNModelDimension *dimensions;
} WNNModelValue;

// Inputs (without those that are constants) and outputs, in the order of the file.
WNN_EXPORT const WNNModelValue *wnnModelGetInputs(WNNModel model, size_t *count);
WNN_EXPORT const WNNModelValue *wnnModelGetOutputs(WNNModel model, size_t *count);

typedef struct WNNModelMetadata {
    WNNStringView key, value;
} WNNModelMetadata;
WNN_EXPORT const WNNModelMetadata *wnnModelGetMetadata(WNNModel model, size_t *count);

typedef struct WNNModelOperator {
    WNNStringView domain, name; // domain: empty for operators of the format itself
    size_t count;               // of nodes
    bool supported;             // whether there is a composition for it; a node of it may be refused all the same
} WNNModelOperator;
WNN_EXPORT const WNNModelOperator *wnnModelGetOperators(WNNModel model, size_t *count);

// ---------------------------------------------------------------------------------------------------------------
// Recording
// ---------------------------------------------------------------------------------------------------------------

typedef struct WNNModelDimensionValue {
    WNNStringView name;
    uint32_t value;
} WNNModelDimensionValue;

// What is said of an input.
typedef struct WNNModelInputValue {
    WNNStringView name;
    WNNUint32List shape; // all its sizes, also of dimensions without a name; absent: as the model says
    const void *data;    // its elements, of the model's type, which makes it a constant; NULL: an input of the graph
    size_t byteLength;
} WNNModelInputValue;
#define WNN_MODEL_INPUT_VALUE_INIT { WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, NULL, 0 }

typedef struct WNNModelRecordOptions {
    const WNNChainedStruct *nextInChain;
    size_t dimensionCount;
    const WNNModelDimensionValue *dimensions;
    size_t inputCount;
    const WNNModelInputValue *inputs;
    bool narrow; // float64 becomes float32, 16-bit integers become int32, where that may change results
} WNNModelRecordOptions;
#define WNN_MODEL_RECORD_OPTIONS_INIT { NULL, 0, NULL, 0, NULL, false }

// Records the model into a builder: inputs by their names, operators with the names of nodes as labels. Gives outputs in
// the order of the file, up to `capacity`, with names that live as long as the model; `count`, which may be NULL, is how
// many there are. NotSupportedError: what cannot be recorded, every node on a line of its own:
//
//   yolo.onnx: node "/model.22/Resize" (Resize): the scales have to be known when the graph is recorded, ...
//
// The builder may hold operators of the model then, and is best released.
WNN_EXPORT WNNStatus wnnModelRecord(WNNModel model, WNNGraphBuilder builder, const WNNModelRecordOptions *options,
                                    size_t capacity, WNNNamedOperand *outputs, size_t *count, size_t messageCapacity,
                                    char *message);

#ifdef __cplusplus
}
#endif

#endif
