// SPDX-License-Identifier: Apache-2.0
//
// Models in files: ONNX, TensorFlow Lite, and .webnn text with weights in .safetensors. libwebnn-model opens one, tells
// what is in it, and records it into a graph builder of the program's, which may put operators before and after it; and it
// saves what a builder holds. It uses the functions of the other headers alone; link it beside libwebnn (pkg-config:
// webnn-model).
//
// A program in four calls:
//
//   WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
//   file.path = (WNNStringView){"mobilenet.onnx", WNN_STRLEN};
//   wnnModelOpen(&file, &model, sizeof message, message);
//   wnnModelRecord(model, builder, NULL, outputCapacity, outputs, &outputCount, sizeof message, message);
//   wnnGraphBuilderBuildSync(builder, outputCount, outputs, &graph, sizeof message, message);
//   wnnModelRelease(model);
//
// Files are not trusted: whatever one says, an error is all that can come of it, and what describing it may take is
// limited. Weights have the names "FILE:BYTE" (WNNNamedBytes): of the file that they lie in, without its folder, and where
// they begin in it. They are not copied: they are lent to the graph out of the mapped file, which stays open for as long as a
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
    WNNModelFormat_ONNX = 1,  // opset 7 to 27, https://onnx.ai
    WNNModelFormat_WebNN = 2, // "webnn help format" documents it
    WNNModelFormat_TensorFlowLite = 3, // schema version 3, https://ai.google.dev/edge/litert. A graph keeps no state: its
                                       // variables are zeros when a computation begins
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
    uint64_t maxMemoryBytes; // what the description of a file may take, beyond its bytes, and what recording it may, beyond
                             // the builder's memory; 0: 1 GiB, and 4 GiB
    WNNStringView weightsPath; // of .webnn: where the weights are; empty: beside it, in the .safetensors file of the same
                               // name, or in those that the .safetensors.index.json of that name lists; not beside bytes
                               // in memory, unless their `path` ends with .webnn
} WNNModelDescriptor;
#define WNN_MODEL_DESCRIPTOR_INIT                                                                                    \
    { NULL, WNN_STRING_VIEW_INIT, NULL, 0, NULL, NULL, NULL, false, 0, WNN_STRING_VIEW_INIT }

// Opens a model; its format is recognized by its content. UnknownError: the file cannot be read; TypeError: its format is
// not known, or it is malformed; OutOfMemory. The message, if capacity is not 0, begins with the path.
//
// Files are mapped, or with `copy` read. A copy is what the file was when it was opened. Of a mapped file, what describes
// the model is copied, weights take no memory of their own: what others write to the file while it is mapped may become
// part of weights, and of nothing else. If it is made shorter, touching what is gone raises SIGBUS, unless
// wnnModelGuardFiles() was called. Pipes and devices are always read.
WNN_EXPORT WNNStatus wnnModelOpen(const WNNModelDescriptor *descriptor, WNNModel *model, size_t capacity, char *message);
WNN_EXPORT void wnnModelRelease(WNNModel model); // NULL is accepted; graphs keep what they need

// Installs a handler of SIGBUS for the process that puts zeros in the place of what is gone of a mapped model, and does
// what would have been done without it for all else. Call it before threads are made; again does nothing.
WNN_EXPORT void wnnModelGuardFiles(void);

// UnknownError: a mapped file has changed since it was opened, so that results mean nothing. Any thread.
WNN_EXPORT WNNStatus wnnModelCheckFiles(size_t capacity, char *message);

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
    WNNOperand operand;  // what stands for it, of its type: operators before the model; NULL: an input of the graph
} WNNModelInputValue;
#define WNN_MODEL_INPUT_VALUE_INIT { WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, NULL, 0, NULL }

// A value of the model that is an operand of the builder. Text lives until the callback returns.
typedef struct WNNModelNamedValue {
    WNNStringView name; // as the model calls it; an operand may have several
    WNNOperand operand;
    WNNStringView weight; // of a constant of .webnn: its key among the weights; empty otherwise
    WNNStringView operatorName; // of the node that makes it, where that is not the name of its only operator of WebNN:
                                // "Gemm" of ONNX; empty otherwise
} WNNModelNamedValue;
typedef void (*WNNModelNameCallback)(const WNNModelNamedValue *value, void *userdata1, void *userdata2);

typedef struct WNNModelRecordOptions {
    const WNNChainedStruct *nextInChain;
    size_t dimensionCount;
    const WNNModelDimensionValue *dimensions;
    size_t inputCount;
    const WNNModelInputValue *inputs;
    bool narrow; // float64 becomes float32, 16-bit integers become int32, where that may change results
    WNNModelNameCallback onName; // is called for each value of the outer graph before recording ends; may be NULL
    void *userdata1, *userdata2;

    // Of ONNX: dimensions of inputs that no option gives a size keep their names (WNNNamedDimensions), or are unknown if
    // they have none, so that one graph runs at all sizes. Otherwise they are errors. What has to be known to record a
    // node is an error of it, which names a dimension to give: for instance how often a loop runs. A slice
    // whose end is computed of such dimensions must not be beyond what it is of, where ONNX would cut it.
    bool nameDimensions;
} WNNModelRecordOptions;
#define WNN_MODEL_RECORD_OPTIONS_INIT { NULL, 0, NULL, 0, NULL, false, NULL, NULL, NULL, false }

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

// Opens, records and builds, all on this thread; the graph's inputs and outputs have the names of the model. `record` may
// be NULL.
WNN_EXPORT WNNStatus wnnModelBuildSync(const WNNModelDescriptor *descriptor, WNNContext context,
                                       const WNNModelRecordOptions *record, WNNGraph *graph, size_t capacity,
                                       char *message);

// ---------------------------------------------------------------------------------------------------------------
// Saving
// ---------------------------------------------------------------------------------------------------------------

typedef struct WNNModelSaveDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView path;        // of the .webnn file
    WNNStringView weightsPath; // of the .safetensors file; empty: beside it, of the same name
    WNNStringView name;        // of the graph
    size_t outputCount;
    const WNNNamedOperand *outputs;
    size_t nameCount; // of operands, for people who read the file; others are numbered. The first name of each counts
    const WNNNamedOperand *names;
} WNNModelSaveDescriptor;
#define WNN_MODEL_SAVE_DESCRIPTOR_INIT                                                                               \
    { NULL, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, 0, NULL, 0, NULL }

// Writes what a builder holds, so that opening the file and recording it gives the same graph. A file of that name is
// replaced when the new one is complete, and stays what it is for those who have it mapped. TypeError: no outputs, two of
// one name or two such inputs, one whose name is empty, has a NUL, is not UTF-8 or is longer than 65536 bytes,
// operands of another builder; NotSupportedError: an input with sizes that are not known, or text of more than 64 MiB;
// UnknownError: a file cannot be written. The builder's thread.
WNN_EXPORT WNNStatus wnnModelSave(WNNGraphBuilder builder, const WNNModelSaveDescriptor *descriptor, size_t capacity,
                                  char *message);

#ifdef __cplusplus
}
#endif

#endif
