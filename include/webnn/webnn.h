// SPDX-License-Identifier: Apache-2.0
//
// libwebnn: the Web Neural Network API as a C library.
//
// A program creates a context, records a graph with a graph builder (the operators are in webnn/ops.h), builds it,
// and computes it as often as it likes. Everything that takes time is asynchronous: the call returns a future, the
// work happens on the context's timeline, and a callback brings the result.
//
// Rules that hold everywhere
//
//   Ownership    What a Create function or a callback hands out belongs to the receiver, who gives it back with the
//                matching Release. Operands and activations belong to their builder. Structs passed as `const *` are
//                read during the call only; lists and strings in them are copied unless a comment says otherwise.
//   Threads      Contexts, graphs and tensors may be used from any thread at any time. A builder and its operands are
//                used by one thread at a time.
//   Processes    A process may end while contexts work: an exit handler takes the library's threads out of a GPU's driver
//                before that ends, and what is asked later finds the device lost. A child of fork() has none of the
//                threads: whatever it asks of its parent's contexts and thread pools fails at once with InvalidStateError
//                (callbacks run inside of the call, wnnContextWaitAny returns Error, contexts are lost: DeviceLost),
//                releasing them frees nothing, and those that it makes itself are as usual on the CPU.
//   Errors       Statuses carry the names of the specification's exceptions. Nothing that a caller passes ends the
//                process; out of memory is a status. A message names the operator, its label, the operand, what
//                came and what was expected.
//   Extension    No struct ever changes its size: what is added comes in chained structs. Every struct that describes
//                something begins with `nextInChain`; those without (names with a value, lists, numbers, futures, errors)
//                stay as they are for ever. What can be chained to which is said where a chained struct is declared, here
//                or in webnn/vulkan.h; anything else is refused with TypeError. Structs that the library fills in begin
//                with it too, each element of an array by itself: the caller sets it (the *_INIT macros to NULL) before
//                each call, and the library leaves it as it is. Enumerations grow: an unknown value may come back.
//   Defaults     Come from the *_INIT macros. A struct filled with zeros is not a default one.
//
// What is undefined
//
//   A handle after its last release, and an operand or activation after its builder's.
//   What a child of fork() does with its parent's contexts if it was made without the handlers of fork(), as by the
//   system call: the library does not notice, and such a child may wait for ever.
//   The handle of a context inside of a callback that its last wnnContextRelease runs, of whatever mode. Its graphs, tensors
//   and builders may still be used there: they are those of a lost context.
//   Ending the process, by exit() or by returning from main, while another thread is inside of wnnCreateContext or
//   wnnEnumerateDevices for a GPU. The exit handler waits for the library's own threads; a driver that is being loaded or
//   asked on another one may crash in its own exit handlers, as some do.
//
// Numbers, on every backend
//
//   Integer arithmetic wraps. x / 0 is x and MIN / -1 is MIN. A float that becomes an integer is truncated and
//   saturated, NaN becomes 0. NaN goes through max, min, relu, clamp, pooling and reductions. Out-of-range indices
//   of the gather and scatter families are clamped to [-N, N-1] and then wrapped. The same graph, inputs and thread
//   count give the same bits, but for the signs and payloads of NaN. An operator of float16 is computed in float32 and its result rounded to 16 bits.
//
//   What lies between operators that are computed as one may be more precise than its type, and what is folded
//   into constants of float16 is not rounded to it. An overflow to infinity that the separate operators would
//   show, and the NaN that comes of it, can vanish then.
//
//   Exceptions: where the CPU backend uses XNNPACK (convolution, pooling, fully connected and bilinear resampling
//   in float32), denormals count as zero and a NaN may become an infinity; where it filters 3 x 3 convolutions by
//   Winograd's method, or multiplies factors into a filter, an infinity may become NaN; patterns that stand for an
//   operator, like gelu spelled out, have its value where they would give NaN or overflow on the way. A GPU that
//   takes denormal float32 numbers for zero does so in arithmetic, but not where numbers are compared or moved. One that
//   adds up products of bytes may round a single row of float16 that meets constant weights of 4 bits: of each run of 32
//   elements none is off by more than 2^-13 of the mean magnitude of the others, and none if a number is not finite.
//   A CPU that does may round one row or two that meet constant weights of 4 or 8 bits in blocks: of each run of 32
//   elements none is off by more than 2^-30 of the greatest, and none if a number is not finite, or the greatest is more
//   than 2^15 times the mean magnitude of the others, unless these are 0. Keys and values that the mask of
//   a spelled-out attention excludes for all rows that are computed together, by a number that is 30000 or more below the
//   greatest of the row, or by -INFINITY, need not be read, so that a NaN or an infinity among them does not show.
//
//   With WNNContextDescriptor.strictNumerics a graph gives what its operators give one by one, each result rounded
//   to its type, with overflow, infinities, NaN, zeros and denormals; of the exceptions only that of GPUs is left.
//   The order in which an operator adds its terms may still depend on the graph around it. Whether the zeros of a
//   padding meet infinite weights, which gives NaN, is not said.
//
//   With WNNNumerics_Fast (WNNContextNumerics) a matmul, or a gemm without aTranspose, of a row by constant weights that
//   dequantizeLinear makes of integers of 4 or 8 bits may round the row to 8 bits, as programs for language models do: it
//   is cut into runs of at most 32 elements, and no element x of a run is off by more than max|x| of the run / 254. A
//   result is then off by no more than the sum over its runs of that, times the sum of |weights| that the run meets,
//   beside what rounding to float32 adds. A tensor in which a number is not finite, or in which the largest of a run that
//   is not 0 is below 2^-90 or above 2^100, is multiplied as without it. All else is computed as by default. Backends
//   without such products, which are GPUs and processors without AVX2 or NEON's dot product, compute as by default.
//
// The specification: https://www.w3.org/TR/2024/CRD-webnn-20240415/ and https://www.w3.org/TR/webnn/

#ifndef WEBNN_WEBNN_H_
#define WEBNN_WEBNN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WNN_EXPORT __attribute__((visibility("default")))
#else
#define WNN_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define WNN_VERSION_MAJOR 0
#define WNN_VERSION_MINOR 1
#define WNN_VERSION_PATCH 0

// A version as a number: later ones are greater.
#define WNN_MAKE_VERSION(major, minor, patch) ((uint32_t)(major) << 24 | (uint32_t)(minor) << 16 | (uint32_t)(patch))
#define WNN_VERSION WNN_MAKE_VERSION(WNN_VERSION_MAJOR, WNN_VERSION_MINOR, WNN_VERSION_PATCH)

// ---------------------------------------------------------------------------------------------------------------
// Handles
// ---------------------------------------------------------------------------------------------------------------

typedef struct WNNContextImpl *WNNContext;           // counted; any thread
typedef struct WNNGraphImpl *WNNGraph;               // counted; any thread; immutable
typedef struct WNNTensorImpl *WNNTensor;             // counted; any thread
typedef struct WNNThreadPoolImpl *WNNThreadPool;     // counted; any thread
typedef struct WNNBudgetImpl *WNNBudget;             // counted; any thread
typedef struct WNNSharedWeightsImpl *WNNSharedWeights; // counted; any thread
typedef struct WNNGraphBuilderImpl *WNNGraphBuilder; // one owner, one thread
typedef struct WNNOperandImpl *WNNOperand;           // borrowed; valid until its builder is released
typedef struct WNNActivationImpl *WNNActivation;     // borrowed; valid until its builder is released

// ---------------------------------------------------------------------------------------------------------------
// Strings, lists, numbers
// ---------------------------------------------------------------------------------------------------------------

// Says that a string ends at its first NUL.
#define WNN_STRLEN SIZE_MAX

// A piece of UTF-8 text. { p, n } is n bytes, NUL bytes included. { p, WNN_STRLEN } ends at the first NUL.
// { NULL, WNN_STRLEN } and { NULL, 0 } are the empty string. Strings that the library hands out carry a length and
// are followed by a NUL.
typedef struct WNNStringView {
    const char *data;
    size_t length;
} WNNStringView;
#define WNN_STRING_VIEW_INIT { NULL, WNN_STRLEN }

// Says that an optional list was not given, which is not the same as a list of no items: a reduction without axes
// reduces all of them, a reduction with an empty list reduces none.
#define WNN_LIST_ABSENT SIZE_MAX

// `count` items at `data`, or absent. At most 8192 items are accepted anywhere.
typedef struct WNNUint32List {
    const uint32_t *data;
    size_t count;
} WNNUint32List;
#define WNN_UINT32_LIST_INIT { NULL, WNN_LIST_ABSENT }

typedef struct WNNFloat32List {
    const float *data;
    size_t count;
} WNNFloat32List;
#define WNN_FLOAT32_LIST_INIT { NULL, WNN_LIST_ABSENT }

typedef enum WNNNumberType {
    WNNNumberType_Undefined = 0, // not given
    WNNNumberType_Int64 = 1,
    WNNNumberType_Uint64 = 2,
    WNNNumberType_Float64 = 3,
    WNNNumberType_Force32 = 0x7FFFFFFF
} WNNNumberType;

// A number of the kind that its use needs, https://www.w3.org/TR/webnn/#typedefdef-mlnumber. Where it meets a data
// type it is converted: to a float type by rounding to nearest, to an integer type by clamping to its range and
// dropping the fraction (NaN to 0).
typedef struct WNNNumber {
    WNNNumberType type;
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
    } value;
} WNNNumber;
#define WNN_NUMBER_INIT { WNNNumberType_Undefined, { 0 } }

static inline WNNNumber wnnNumberInt64(int64_t value)
{
    WNNNumber number;
    number.type = WNNNumberType_Int64;
    number.value.i64 = value;
    return number;
}

static inline WNNNumber wnnNumberUint64(uint64_t value)
{
    WNNNumber number;
    number.type = WNNNumberType_Uint64;
    number.value.u64 = value;
    return number;
}

static inline WNNNumber wnnNumberFloat64(double value)
{
    WNNNumber number;
    number.type = WNNNumberType_Float64;
    number.value.f64 = value;
    return number;
}

// What a chained struct is.
typedef enum WNNSType {
    WNNSType_VulkanDevice = 1, // this and the next four are of webnn/vulkan.h
    WNNSType_VulkanBuffer = 2,
    WNNSType_VulkanMemory = 3,
    WNNSType_VulkanExport = 4,
    WNNSType_VulkanSync = 5,
    WNNSType_TimeLimit = 6,
    WNNSType_Trace = 7,
    WNNSType_Log = 8,
    WNNSType_NamedDimensions = 9,
    WNNSType_InputShapes = 10,
    WNNSType_Savable = 11, // of webnn/compiled.h
    WNNSType_ContextNumerics = 12,
    WNNSType_Recompilable = 13, // of webnn/compiled.h
    WNNSType_ContextTarget = 14, // of webnn/compiled.h
    WNNSType_VulkanMemoryOwner = 15, // of webnn/vulkan.h
    WNNSType_NamedBytes = 16,        // of webnn/serialize.h
    WNNSType_ConstantSource = 17,    // this and the next are of webnn/compiled.h
    WNNSType_Weightless = 18,
    WNNSType_WeightSharing = 19,
    WNNSType_Force32 = 0x7FFFFFFF
} WNNSType;

// The first member of every struct that can be chained to another: see "Extension" above.
typedef struct WNNChainedStruct {
    const struct WNNChainedStruct *next;
    uint32_t sType; // WNNSType
} WNNChainedStruct;

// ---------------------------------------------------------------------------------------------------------------
// Status
// ---------------------------------------------------------------------------------------------------------------

typedef enum WNNStatus {
    WNNStatus_Success = 0,
    WNNStatus_TypeError = 1,         // an argument breaks a rule of the specification
    WNNStatus_InvalidStateError = 2, // the context is lost, or the object destroyed
    WNNStatus_OperationError = 3,    // the graph cannot be built or run
    WNNStatus_NotSupportedError = 4, // no such device
    WNNStatus_SecurityError = 5,     // reserved for hosts that have a permissions policy
    WNNStatus_UnknownError = 6,      // everything else that went wrong inside
    WNNStatus_OutOfMemory = 7,       // an allocation failed, or a limit on memory was reached
    WNNStatus_Cancelled = 8,         // wnnContextCancel, or the context went away first
    WNNStatus_Force32 = 0x7FFFFFFF
} WNNStatus;

// The name of a status, for instance "TypeError"; static text.
WNN_EXPORT WNNStringView wnnStatusName(WNNStatus status);

typedef struct WNNError {
    WNNStatus status;
    WNNStringView message; // empty on success
} WNNError;

#define WNN_ERROR_INIT { WNNStatus_Success, WNN_STRING_VIEW_INIT }

// The version of the library that runs, as WNN_VERSION is that of this header; and as "major.minor.patch", static text.
WNN_EXPORT uint32_t wnnGetVersion(void);
WNN_EXPORT WNNStringView wnnGetVersionText(void);

// ---------------------------------------------------------------------------------------------------------------
// Data types and descriptors
// ---------------------------------------------------------------------------------------------------------------

// https://www.w3.org/TR/webnn/#enumdef-mloperanddatatype
// int4 and uint4 are an extension for quantized weights (constants, quantizeLinear and dequantizeLinear): two elements a
// byte, the even one in the low bits, (count + 1) / 2 bytes a tensor.
typedef enum WNNDataType {
    WNNDataType_Undefined = 0,
    WNNDataType_Float32 = 1,
    WNNDataType_Float16 = 2, // IEEE binary16 bit patterns, uint16_t in C
    WNNDataType_Int32 = 3,
    WNNDataType_Uint32 = 4,
    WNNDataType_Int64 = 5,
    WNNDataType_Uint64 = 6,
    WNNDataType_Int8 = 7,
    WNNDataType_Uint8 = 8,
    WNNDataType_Int4 = 9,
    WNNDataType_Uint4 = 10,
    WNNDataType_Force32 = 0x7FFFFFFF
} WNNDataType;

// The specification's name of a data type, "float32"; empty for those that there are not. Static text.
WNN_EXPORT WNNStringView wnnDataTypeName(WNNDataType dataType);

// The highest rank of any operand or tensor.
#define WNN_MAX_RANK 8

// https://www.w3.org/TR/webnn/#dictdef-mloperanddescriptor
// Each dimension is 1 to 2^31-1, the rank at most WNN_MAX_RANK, the element count at most 2^31-1. { NULL, 0 } is the
// shape of a scalar. Data are dense, row-major, little-endian.
typedef struct WNNOperandDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNDataType dataType;
    WNNUint32List shape;
} WNNOperandDescriptor;
#define WNN_OPERAND_DESCRIPTOR_INIT { NULL, WNNDataType_Undefined, { NULL, 0 } }

// ---------------------------------------------------------------------------------------------------------------
// Sizes that are not known while a graph is recorded
// ---------------------------------------------------------------------------------------------------------------

// The working group drafts dimensions by name, https://github.com/webmachinelearning/webnn/pull/945 (of 2026-09). What
// is here follows that draft where it can, and may change with it.
//
// Dimensions of inputs may have names in the place of sizes. All dimensions of a builder that have one name have one
// size, which is found out of the inputs of each execution; the same graph runs at many sizes. While it is recorded, a
// call is refused if it is certainly wrong for all sizes that the names allow. What may be wrong is checked when the
// sizes are known, by the same rules and with the same messages.
//
// In shapes, and in lists of sizes that operators take (newShape, the starts and sizes of slice, splits, repetitions,
// padding, the sizes of resample2d, steps), a number from 0x80000000 on stands for a size that is not known:
// wnnOperandGetShape gives such numbers, wnnGraphBuilderComputeSize makes others of them, wnnGraphBuilderGetSize
// tells what one is. They belong to one builder, and mean the same in graphs that are built of it.
//
// A graph is compiled for each set of sizes when it comes first. So many specializations are kept
// (WNNLimits.maxSpecializations, maxSpecializationBytes); the one that was used least recently goes first. Constants
// are shared by all; on the CPU so are packed weights, and the memory between inputs and outputs. Sizes are compiled as
// they are: none is rounded up to one that was there before.
//
// Beside that draft:
// - as there: dimensions with and without a name, what a name means, checks that wait for sizes, computeShapes(),
//   sizes that follow from shapes but not from data, which are refused, and expandDynamic in one direction, the other
//   being an open question of the draft;
// - beyond it: minSize and maxSize, sizes in the lists of all operators, and computing with them;
// - not: inputs without a rank, and splitDynamic into an unknown number of parts.
//
// The rank of a result may be told by sizes, too: squeeze without axes where a dimension may be 1 or not, reshapeDynamic and
// expandDynamic to a list of an unknown number of items, gatherND of indices whose last dimension is not known, and
// what is made of these. wnnOperandGetShape gives no list then (data NULL, count 0; that of a scalar has data), and so does
// the descriptor of an output. A call with such operands is refused if it is wrong for all ranks that they may
// have; wnnGraphComputeShapes tells the ranks. Graphs with them are optimized anew for each set of sizes.

// One dimension of an input.
typedef struct WNNDimension {
    WNNStringView name; // empty: unless `isUnknown`, the dimension has the size that stands in the shape
    bool isUnknown;     // without a name: a size of its own, which no other is equal to
    uint32_t minSize, maxSize; // both may be; of a name that was there before, what both allow. What is certainly wrong of
                               // all sizes from 1 on may be right of 0, so that less is refused where minSize is 0
} WNNDimension;
#define WNN_DIMENSION_INIT { WNN_STRING_VIEW_INIT, false, 1, 0x7FFFFFFF }

// Chained to the descriptor of an input: as many dimensions as the shape has.
typedef struct WNNNamedDimensions {
    WNNChainedStruct chain; // sType: WNNSType_NamedDimensions
    size_t dimensionCount;
    const WNNDimension *dimensions;
} WNNNamedDimensions;
#define WNN_NAMED_DIMENSIONS_INIT { { NULL, WNNSType_NamedDimensions }, 0, NULL }

typedef struct WNNNamedShape {
    WNNStringView name;
    WNNUint32List shape;
} WNNNamedShape;
#define WNN_NAMED_SHAPE_INIT { WNN_STRING_VIEW_INIT, { NULL, 0 } }

// Chained to a WNNComputeDescriptor: the shapes of inputs. Those whose sizes are all known need none.
typedef struct WNNInputShapes {
    WNNChainedStruct chain; // sType: WNNSType_InputShapes
    size_t shapeCount;
    const WNNNamedShape *shapes;
} WNNInputShapes;
#define WNN_INPUT_SHAPES_INIT { { NULL, WNNSType_InputShapes }, 0, NULL }

// What an output is at some shapes of the inputs.
typedef struct WNNOutputShape {
    WNNChainedStruct *nextInChain; // set by the caller
    WNNStringView name;            // the graph's
    WNNDataType dataType;
    uint32_t rank, dimensions[WNN_MAX_RANK];
    size_t byteLength;
} WNNOutputShape;
#define WNN_OUTPUT_SHAPE_INIT { NULL, WNN_STRING_VIEW_INIT, WNNDataType_Undefined, 0, { 0 }, 0 }

// ---------------------------------------------------------------------------------------------------------------
// Futures and callbacks
// ---------------------------------------------------------------------------------------------------------------

// Where a callback runs. In every mode it runs exactly once, with no lock held.
typedef enum WNNCallbackMode {
    // Inside the wnnContextWaitAny that lists its future; or, if there was none, inside the last wnnContextRelease.
    WNNCallbackMode_WaitAnyOnly = 1,
    // Inside wnnContextWaitAny or wnnContextProcessEvents, or the last wnnContextRelease. Both these modes may use the
    // whole API.
    WNNCallbackMode_AllowProcessEvents = 2,
    // As soon as the result is there: on a thread of the context's own, or inside the call that starts the request or
    // ends the context. It may start further requests; it must not wait for one.
    WNNCallbackMode_AllowSpontaneous = 3,
    WNNCallbackMode_Force32 = 0x7FFFFFFF
} WNNCallbackMode;

// One asynchronous operation of one context. Never 0 for a request that was taken.
typedef struct WNNFuture {
    uint64_t id;
} WNNFuture;
#define WNN_FUTURE_INIT { 0 }

typedef struct WNNFutureWaitInfo {
    WNNFuture future;
    bool completed; // set by wnnContextWaitAny
} WNNFutureWaitInfo;
#define WNN_FUTURE_WAIT_INFO_INIT { WNN_FUTURE_INIT, false }

// Chained to WNNComputeDescriptor, WNNDispatchDescriptor or WNNBuildCallbackInfo: how long that one execution or build may
// run. When so many nanoseconds have passed since it began, not counting the time that it waited, it is stopped as by
// wnnContextCancel. The smaller of this and the context's limit counts; 0: only that.
typedef struct WNNTimeLimit {
    WNNChainedStruct chain; // sType: WNNSType_TimeLimit
    uint64_t nanoseconds;
} WNNTimeLimit;
#define WNN_TIME_LIMIT_INIT { { NULL, WNNSType_TimeLimit }, 0 }

typedef enum WNNWaitStatus {
    WNNWaitStatus_Success = 0,  // at least one future is complete and its callback has run
    WNNWaitStatus_TimedOut = 1,
    WNNWaitStatus_Error = 2,    // no futures were given, or one is not of this context
    WNNWaitStatus_Force32 = 0x7FFFFFFF
} WNNWaitStatus;

#define WNN_WAIT_FOREVER UINT64_MAX

// The graph belongs to the receiver; it is NULL unless status is Success. The message is valid during the call.
typedef void (*WNNBuildCallback)(WNNStatus status, WNNGraph graph, WNNStringView message, void *userdata1,
                                 void *userdata2);
typedef struct WNNBuildCallbackInfo {
    const WNNChainedStruct *nextInChain;
    WNNCallbackMode mode;
    WNNBuildCallback callback;
    void *userdata1, *userdata2;
} WNNBuildCallbackInfo;
#define WNN_BUILD_CALLBACK_INFO_INIT { NULL, WNNCallbackMode_WaitAnyOnly, NULL, NULL, NULL }

// For every other request. `callback` may be NULL where only the waiting matters.
typedef void (*WNNRequestCallback)(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2);
typedef struct WNNRequestCallbackInfo {
    const WNNChainedStruct *nextInChain;
    WNNCallbackMode mode;
    WNNRequestCallback callback;
    void *userdata1, *userdata2;
} WNNRequestCallbackInfo;
#define WNN_REQUEST_CALLBACK_INFO_INIT { NULL, WNNCallbackMode_WaitAnyOnly, NULL, NULL, NULL }

// ---------------------------------------------------------------------------------------------------------------
// Context: https://www.w3.org/TR/webnn/#api-mlcontext
// ---------------------------------------------------------------------------------------------------------------

typedef enum WNNDeviceType {
    WNNDeviceType_CPU = 1,
    WNNDeviceType_GPU = 2,
    WNNDeviceType_Force32 = 0x7FFFFFFF
} WNNDeviceType;

typedef enum WNNPowerPreference {
    WNNPowerPreference_Default = 1,
    WNNPowerPreference_HighPerformance = 2,
    WNNPowerPreference_LowPower = 3,
    WNNPowerPreference_Force32 = 0x7FFFFFFF
} WNNPowerPreference;

// Where the library's memory comes from. Both functions may be called from any thread, and must not call the library.
// XNNPACK and the C library's threads allocate for themselves.
typedef struct WNNAllocator {
    const WNNChainedStruct *nextInChain;
    // Returns `size` bytes (never 0) aligned to `alignment` (a power of two), or NULL.
    void *(*allocate)(size_t size, size_t alignment, void *userdata);
    // Gets what it got from allocate, with the same size and alignment; never NULL.
    void (*release)(void *memory, size_t size, size_t alignment, void *userdata);
    void *userdata;
} WNNAllocator;
#define WNN_ALLOCATOR_INIT { NULL, NULL, NULL, NULL }

// The host's own thread pool. `parallelFor` calls task(argument, i) once for every i in [0, count), on any threads,
// and returns when all are done. With it the library makes no compute threads of its own (the threads remain that execute
// and build, which call parallelFor, as do those in wnnContextWaitAny). `concurrency` is the number of tasks that can make progress at
// once, at least 1.
typedef struct WNNParallelFor {
    const WNNChainedStruct *nextInChain;
    void (*parallelFor)(size_t count, void (*task)(void *argument, size_t index), void *argument, void *userdata);
    uint32_t concurrency;
    void *userdata;
} WNNParallelFor;
#define WNN_PARALLEL_FOR_INIT { NULL, NULL, 1, NULL }

// What contexts may use together.
typedef enum WNNResource {
    WNNResource_HostMemory = 1,   // bytes, of everything that a context's maxMemoryBytes counts on the host
    WNNResource_DeviceMemory = 2, // bytes in memory of a GPU
    WNNResource_Threads = 3,      // of contexts: those for requests, and compute threads of their own
    WNNResource_Objects = 4,      // contexts, builders, graphs and tensors
    WNNResource_Work = 5,         // multiply-adds (or elements) of the executions that wait or run
    WNNResource_Force32 = 0x7FFFFFFF
} WNNResource;

typedef struct WNNResources {
    WNNChainedStruct *nextInChain;
    uint64_t hostBytes, deviceBytes, threads, objects, work;
} WNNResources;
#define WNN_RESOURCES_INIT { NULL, 0, 0, 0, 0, 0 }

// Called when so much of a resource is used as its threshold says, once until it has been less again: inside of whatever
// call or request needed more, on any thread. It must not call the library.
typedef void (*WNNBudgetCallback)(WNNResource resource, uint64_t amount, void *userdata1, void *userdata2);

// One budget for several contexts. What would go over a limit fails with OutOfMemory, where it was asked for, and nothing
// else: contexts that share a budget fail one by one, and go on.
typedef struct WNNBudgetDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNResources limits, thresholds; // 0: none
    WNNBudgetCallback callback;      // may be NULL
    void *userdata1, *userdata2;
} WNNBudgetDescriptor;
#define WNN_BUDGET_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_RESOURCES_INIT, WNN_RESOURCES_INIT, NULL, NULL, NULL }

// TypeError: no descriptor, or no place for the budget. OutOfMemory. Any thread.
WNN_EXPORT WNNStatus wnnCreateBudget(const WNNBudgetDescriptor *descriptor, WNNBudget *budget);
WNN_EXPORT void wnnBudgetAddRef(WNNBudget budget);
WNN_EXPORT void wnnBudgetRelease(WNNBudget budget); // contexts keep theirs; NULL is accepted

// What is used now, and has been at most; either may be NULL. TypeError: no budget, a chained struct. Any thread.
WNN_EXPORT WNNStatus wnnBudgetGetResources(WNNBudget budget, WNNResources *now, WNNResources *peak);

// Weights that graphs share, of one context or of several, each in every form that a kernel packs it in once. Two constants
// are the same weights if they have the same name (WNNNamedBytes, wnnGraphBuilderPromisedConstant), which a host has to keep
// apart for graphs of different owners, or if they are lent from the same address (WNNExternalBytes), or have the same bytes
// if they were copied, or are made of such constants in the same way. A graph that was built so needs bytes that were lent to it without a name as long as it lives.
// Nothing is shared but by graphs that are given the same object: who must not know of each other get none, or two.
//
// What is packed is memory of this object, not of a context: its budget counts it once, and the limits of contexts do not. It
// is there as long as a graph uses it. A graph with sizes that are not known uses what it has packed for any sizes until it is
// gone, and keeps its constants for sizes that may come: those that were copied are memory of this object then, once for all
// graphs, and what a WNNConstantSource (webnn/compiled.h) has lent is lent once, until no graph uses it. On a GPU, constants in
// memory of the device are shared by those graphs of one context that are given an object, and are memory of the context.
typedef struct WNNSharedWeightsDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    const WNNAllocator *allocator; // NULL: the C library's; copied
    WNNBudget budget;              // NULL: none
} WNNSharedWeightsDescriptor;
#define WNN_SHARED_WEIGHTS_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, NULL, NULL }

// `descriptor` NULL: the INIT values. TypeError: a chained struct, an unusable allocator, no place for the object.
// OutOfMemory. Any thread.
WNN_EXPORT WNNStatus wnnCreateSharedWeights(const WNNSharedWeightsDescriptor *descriptor, WNNSharedWeights *weights);
WNN_EXPORT void wnnSharedWeightsAddRef(WNNSharedWeights weights);
WNN_EXPORT void wnnSharedWeightsRelease(WNNSharedWeights weights); // graphs keep theirs; NULL is accepted

// Bytes of packed weights, and of constants, that are its memory and that graphs use now; NULL: 0. Any thread.
WNN_EXPORT uint64_t wnnSharedWeightsGetByteLength(WNNSharedWeights weights);

// Chained to WNNBuildCallbackInfo or WNNLoadGraphDescriptor (webnn/compiled.h): the graph shares its weights, of one
// with sizes that are not known all specializations, which among themselves do so in any case. TypeError: no object.
typedef struct WNNWeightSharing {
    WNNChainedStruct chain; // sType: WNNSType_WeightSharing
    WNNSharedWeights weights;
} WNNWeightSharing;
#define WNN_WEIGHT_SHARING_INIT { { NULL, WNNSType_WeightSharing }, NULL }

// Threads that contexts share, made once: before a process gives up the right to make threads, or so that many contexts
// have no more threads than there are processors.
typedef struct WNNThreadPoolDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    uint32_t computeThreads;       // that loops are divided among, callers included; 0: one per processor that the process
                                   // may use
    uint32_t spareThreads;         // that wait for contexts: each takes 2 on the CPU, 3 on a GPU, and gives them back
    const WNNAllocator *allocator; // NULL: the C library's; copied
} WNNThreadPoolDescriptor;
#define WNN_THREAD_POOL_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, 0, 0, NULL }

// Makes the pool and starts all of its threads. `descriptor` NULL: the INIT values. TypeError: a descriptor out of bounds.
// NotSupportedError: the process may not start threads. OutOfMemory. Any thread.
WNN_EXPORT WNNStatus wnnCreateThreadPool(const WNNThreadPoolDescriptor *descriptor, WNNThreadPool *pool);

WNN_EXPORT void wnnThreadPoolAddRef(WNNThreadPool pool);

// A pool lives as long as a context uses it. The last release ends its threads. NULL is accepted.
WNN_EXPORT void wnnThreadPoolRelease(WNNThreadPool pool);

// Who computes first, of the contexts of one thread pool. As many of them compute at once as the pool has compute threads;
// the others wait for their turn, which ends between two nodes when a context of higher priority waits, or after some
// milliseconds when one of the same does. Nobody waits for longer than a twentieth of a second at a time, and contexts of
// high priority do not wait at all.
typedef enum WNNPriority {
    WNNPriority_Low = 1,
    WNNPriority_Normal = 2,
    WNNPriority_High = 3,
    WNNPriority_Force32 = 0x7FFFFFFF
} WNNPriority;

// Where the host keeps what a GPU context compiles, so that later contexts and processes need not compile it again. The
// library asks for entries and offers new ones on threads of its own, while a context is made and while a graph is built,
// one call at a time for a context; the functions must not call the library, and should not take long. A host may share
// one cache among its contexts, keep it in files, forget entries at any time, and return wrong ones: an entry carries a
// checksum over itself and its key, and is compiled anew if it does not fit.
//
// With a cache, products that take long are computed in up to four ways each, on numbers of the library's own, while the
// first graph with such shapes is built for a device with matrix units: as many shaders more are compiled then, and the
// device is busy for about a tenth of a second at most. Which way took the least time is kept, too; so sums may be in
// another order than without a cache, or with another one.
//
// A key is 32 bytes, a digest of the library's version, the device, its driver, and one shader or question: operators,
// shapes and options, but no weights and no data. An entry is a few to some hundred kilobytes, at most 64 MiB, and holds
// that shader in compiled form; or it is such an answer, of 56 bytes. Whether a key is there says that somebody has built
// such a network: those who must not know of each other get caches of their own. An entry is code for the GPU, and as
// trustworthy as the place where it is kept.
typedef struct WNNCache {
    const WNNChainedStruct *nextInChain;
    // Returns the size of the entry, 0 if there is none; copies it to `data` if it is no larger than `capacity`.
    size_t (*load)(const void *key, size_t keyLength, void *data, size_t capacity, void *userdata);
    // Takes a copy of an entry, or does not.
    void (*store)(const void *key, size_t keyLength, const void *data, size_t length, void *userdata);
    void *userdata;
} WNNCache;
#define WNN_CACHE_INIT { NULL, NULL, NULL, NULL }

// What one context accepts. 0 in a number of this struct means no limit of that kind.
typedef struct WNNLimits {
    WNNChainedStruct *nextInChain;
    uint64_t maxTensorByteLength;    // bytes of one operand or tensor; at most 2^31-1 elements in any case
    uint64_t maxMemoryBytes;         // allocated by the context at one time, on its device too; external bytes not counted
    uint64_t maxConstantBytes;       // bytes of all constants of one builder
    uint32_t maxOperators;           // of one builder
    uint32_t maxOperands;            // of one builder
    uint32_t maxInputsAndOutputs;    // of one graph
    uint32_t maxStringLength;        // bytes of a name or label
    uint32_t maxWindowSize;          // each size of a filter or pooling window
    uint32_t maxStride;              // each stride of a convolution or pooling
    uint32_t maxDilation;            // each dilation of a convolution or pooling
    uint64_t maxOperatorWork;        // multiply-adds (or elements, where an operator has none) of one operator
    uint64_t maxGraphWork;           // the sum over one graph, checked at build
    uint64_t maxExecutionNanoseconds; // that one execution runs; when they have passed it is stopped, see WNNTimeLimit
    uint64_t maxBuildNanoseconds;     // likewise of one build
    uint32_t maxPendingRequests;      // that have not been answered; more are refused with OutOfMemory
    bool acceptEmptyTensors;          // dimensions of size 0, wherever the result is defined ("Empty" in webnn/ops.h). False:
                                      // they are refused, as https://www.w3.org/TR/webnn/#valid-dimension says
    uint64_t maxTotalStringBytes;     // of all names and labels of one builder; equal ones mostly count once
    uint32_t maxSpecializations;      // that a graph with sizes that are not known keeps
    uint64_t maxSpecializationBytes;  // of their weights and of the memory between inputs and outputs
} WNNLimits;
#define WNN_LIMITS_INIT { NULL, 0x7FFFFFFF, 0, 0, 1000000, 1000000, 65536, 65536, 0, 0, 0, 0, 0, 0, 0, 1000000, true, 0x8000000, 16, 0 }

// Why a context is lost. New reasons may be added: treat an unknown one as Failed.
typedef enum WNNContextLostReason {
    WNNContextLostReason_None = 0,       // it is not
    WNNContextLostReason_Destroyed = 1,  // wnnContextDestroy
    WNNContextLostReason_Released = 2,   // the last wnnContextRelease
    WNNContextLostReason_DeviceLost = 3, // the device is gone, was reset, or no longer answers; another context may work
    WNNContextLostReason_Failed = 4,     // an execution or a transfer failed in a way that leaves data in doubt
    WNNContextLostReason_Force32 = 0x7FFFFFFF
} WNNContextLostReason;

// Called once when the context is lost: by wnnContextDestroy, by the last release, or by a failing device. In mode
// WaitAnyOnly it runs inside of the next wait for any future. `reason` is never None.
typedef void (*WNNContextLostCallback)(WNNContextLostReason reason, WNNStringView message, void *userdata1,
                                       void *userdata2);
typedef struct WNNContextLostCallbackInfo {
    const WNNChainedStruct *nextInChain;
    WNNCallbackMode mode;
    WNNContextLostCallback callback;
    void *userdata1, *userdata2;
} WNNContextLostCallbackInfo;
#define WNN_CONTEXT_LOST_CALLBACK_INFO_INIT { NULL, WNNCallbackMode_AllowSpontaneous, NULL, NULL, NULL }

// Receives the message of every error that a function reports by its status alone; called inside that function, on
// its thread, with no lock held. It may use the API.
typedef void (*WNNErrorCallback)(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2);
typedef struct WNNErrorCallbackInfo {
    const WNNChainedStruct *nextInChain;
    WNNErrorCallback callback;
    void *userdata1, *userdata2;
} WNNErrorCallbackInfo;
#define WNN_ERROR_CALLBACK_INFO_INIT { NULL, NULL, NULL, NULL }

typedef enum WNNDeviceKind {
    WNNDeviceKind_Other = 1,
    WNNDeviceKind_Discrete = 2,
    WNNDeviceKind_Integrated = 3,
    WNNDeviceKind_Virtual = 4,
    WNNDeviceKind_Processor = 5, // which plays a GPU
    WNNDeviceKind_Force32 = 0x7FFFFFFF
} WNNDeviceKind;

// The index of a device that has none.
#define WNN_DEVICE_INDEX_UNKNOWN UINT32_MAX

// A device: a GPU, or the processor. What a page is told of it is its engine's decision: much of this tells one user
// from another. Text ends with a NUL, and is empty where nothing is known; so are numbers 0.
typedef struct WNNDeviceInfo {
    WNNChainedStruct *nextInChain;
    WNNDeviceType deviceType;
    WNNDeviceKind kind; // of the processor as the device type CPU: Processor
    uint32_t index;     // by which a WNNContextDescriptor can name it, as long as none comes or goes. Of the processor and
                        // of a device of the caller's (WNNVulkanDevice): WNN_DEVICE_INDEX_UNKNOWN
    uint8_t uuid[16];   // likewise, for ever; zeros for the processor
    bool isUsable;      // the driver is new enough, and the device can do what the library needs
    uint64_t memoryBytes; // of its own; 0 for the processor

    // Who made it. The vendor's PCI id (0x10DE), or from 0x10000 on one that Khronos gave it (VkVendorId: 0x10005 is
    // Mesa, for drivers without hardware). The device's PCI id as its vendor uses it. Of the processor: its maker's PCI id,
    // and its signature, that is register EAX of CPUID leaf 1 on x86, and MIDR_EL1 on AArch64.
    uint32_t vendorId, deviceId;
    char vendorName[64]; // of the vendor's id, "NVIDIA"; "0x1234" for those that this library does not know
    char name[256];      // as the driver has it, "NVIDIA H200"; of the processor its brand

    // What runs it. driverId is Vulkan's VkDriverId (4: NVIDIA's own driver, 13: Mesa's llvmpipe); driverName and driverInfo
    // are the driver's words for itself ("NVIDIA", "570.124.06"). driverVersion and apiVersion are as Vulkan writes them,
    // each beside it as text ("570.124.06", "1.4.303"), decoded as the driver encodes it. Of the processor: this library's.
    uint32_t driverId, driverVersion, apiVersion;
    char driverVersionText[64], apiVersionText[32];
    char driverName[256], driverInfo[256];

    // Of the processor: the extensions of the instruction set that this library uses on it, most modern ones last
    // ("AVX2 FMA F16C AVX-512F"), and how many processors this process may run on.
    char instructionSets[256];
    uint32_t processorCount;
} WNNDeviceInfo;
#define WNN_DEVICE_INFO_INIT                                                                                         \
    { NULL, WNNDeviceType_CPU, WNNDeviceKind_Other, WNN_DEVICE_INDEX_UNKNOWN, { 0 }, false, 0, 0, 0, "", "", 0, 0, 0,   \
      "", "", "", "", "", 0 }

// Fills in up to `capacity` GPUs; *count is how many there are, 0 where there is no driver. Either pointer may be NULL. Of
// each struct nextInChain must be set. TypeError: a chained struct. Any thread. Slow: loads the driver.
WNN_EXPORT WNNStatus wnnEnumerateDevices(size_t capacity, WNNDeviceInfo *devices, size_t *count);

// The device that the context computes on. It was found out when the context was made: no file is opened, and a lost
// context still answers. TypeError: no context, no place for the answer, a chained struct. Any thread.
WNN_EXPORT WNNStatus wnnContextGetDeviceInfo(WNNContext context, WNNDeviceInfo *info);

// ---------------------------------------------------------------------------------------------------------------
// Tracing
// ---------------------------------------------------------------------------------------------------------------

typedef enum WNNTracePhase {
    WNNTracePhase_Begin = 1,   // of a slice, which ends on the same thread; slices of a thread are nested
    WNNTracePhase_End = 2,     // of the slice that began last on this thread
    WNNTracePhase_Instant = 3, // a point in time
    WNNTracePhase_Force32 = 0x7FFFFFFF
} WNNTracePhase;

// What an event is in the flow whose id it has. Each flow begins once and ends once, whatever becomes of its request.
typedef enum WNNTraceFlow {
    WNNTraceFlow_None = 0,
    WNNTraceFlow_Begin = 1,
    WNNTraceFlow_Step = 2,
    WNNTraceFlow_End = 3,
    WNNTraceFlow_Force32 = 0x7FFFFFFF
} WNNTraceFlow;

// Something that happens now, on this thread: the host takes the time. Valid during the call, but for static text.
//
//   category       name            phase       flow       what
//   webnn          compute ...     Begin, End  Begin      the call of the API: build, compute, dispatch, readTensor,
//                                                         writeTensor, exportVulkanMemory, getVulkanBuffer. label: of
//                                                         the descriptor
//   webnn          run             Begin, End  Step       the request is run or, where a device computes, begun. One that
//                                                         has to wait for the device may do so several times
//   webnn          wait            Begin, End  Step       a thread waits for the device, and takes the results
//   webnn          compile, lower  Begin, End             parts of the run of a build: the passes; kernels, weights and
//                                                         shaders
//   webnn          complete        Begin, End  End        the callback, if there is one; status: what it gets
//   webnn          releaseGraph    Begin, End             what a graph held is given back
//   webnn          lost            Instant                the context; label: the message
//   webnn.node     conv2d ...      Begin, End             one node, with WNNTrace.includeNodes. label: of the operator
//
// The events of runs, waits and completions have the label of the execution too, and the id of their graph: that of
// the flow of the build that made it.
typedef struct WNNTraceEvent {
    const WNNChainedStruct *nextInChain;
    WNNTracePhase phase;
    WNNTraceFlow flow;
    WNNStringView category, name; // static text; of an End: those of the Begin
    WNNStringView label;          // may be empty
    uint64_t flowId;              // 0: none; differs, as good as always, from those of other contexts. Below 2^53
    uint64_t graphId;             // 0: none
    WNNStatus status;             // of complete
} WNNTraceEvent;
#define WNN_TRACE_EVENT_INIT                                                                                         \
    { NULL, WNNTracePhase_Instant, WNNTraceFlow_None, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT,                    \
      WNN_STRING_VIEW_INIT, 0, 0, WNNStatus_Success }

// Chained to WNNContextDescriptor: where the events of the context go. Without it tracing costs one comparison where an
// event would be. `event` is called on whatever thread it happens, several at a time, without a lock held; it must not
// call the library, and should be quick. It must stay valid until the last handle of the context was released and no
// thread is inside of a call; if that is released in one of its callbacks, until that callback's thread has ended.
typedef struct WNNTrace {
    WNNChainedStruct chain; // sType: WNNSType_Trace
    void (*event)(const WNNTraceEvent *event, void *userdata1, void *userdata2);
    void *userdata1, *userdata2;
    bool includeNodes; // those of webnn.node too, where the processor computes them: a GPU runs a graph as a whole, and
                       // wnnGraphSetProfiling has its times
} WNNTrace;
#define WNN_TRACE_INIT { { NULL, WNNSType_Trace }, NULL, NULL, NULL, false }

// ---------------------------------------------------------------------------------------------------------------
// Logging
// ---------------------------------------------------------------------------------------------------------------

// The more important, the smaller.
typedef enum WNNLogLevel {
    WNNLogLevel_Error = 1,   // the context is lost
    WNNLogLevel_Warning = 2, // it goes on, but not as it was asked to: a device that was passed over, what a driver objects to
    WNNLogLevel_Info = 3,    // the device that was chosen, each graph that was built, nodes with a slower kernel and why
    WNNLogLevel_Verbose = 4, // shaders that the cache did not have
    WNNLogLevel_Force32 = 0x7FFFFFFF
} WNNLogLevel;

// Receives one message, a line without its end, valid during the call. It is called on whatever thread it happens, several
// at a time, without a lock held. It must not call the library, and should be quick. Labels in it are the caller's words.
typedef void (*WNNLogCallback)(WNNLogLevel level, WNNStringView message, void *userdata1, void *userdata2);

// Chained to WNNContextDescriptor: where the messages of the context go, from its creation on. For people: their words may
// change. What a function reports by its status is in the error callback, not here. Must stay valid as long as a WNNTrace.
// TypeError: no callback, or a level that does not exist.
typedef struct WNNLog {
    WNNChainedStruct chain; // sType: WNNSType_Log
    WNNLogLevel maxLevel;   // the least important that are wanted
    WNNLogCallback callback;
    void *userdata1, *userdata2;
} WNNLog;
#define WNN_LOG_INIT { { NULL, WNNSType_Log }, WNNLogLevel_Info, NULL, NULL, NULL }

// ---------------------------------------------------------------------------------------------------------------
// Creating contexts
// ---------------------------------------------------------------------------------------------------------------

// How much of the exactness of operators may be given for speed: see "Numbers" above.
typedef enum WNNNumerics {
    WNNNumerics_Default = 1,
    WNNNumerics_Strict = 2, // the same as WNNContextDescriptor.strictNumerics
    WNNNumerics_Fast = 3,   // rows that meet quantized weights may be rounded to 8 bits
    WNNNumerics_Force32 = 0x7FFFFFFF
} WNNNumerics;

// Chained to WNNContextDescriptor. TypeError: a value that does not exist, or another than Strict beside strictNumerics.
typedef struct WNNContextNumerics {
    WNNChainedStruct chain; // sType: WNNSType_ContextNumerics
    WNNNumerics numerics;
} WNNContextNumerics;
#define WNN_CONTEXT_NUMERICS_INIT { { NULL, WNNSType_ContextNumerics }, WNNNumerics_Default }

// https://www.w3.org/TR/2024/CRD-webnn-20240415/#dictdef-mlcontextoptions
typedef struct WNNContextDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNDeviceType deviceType;           // GPU without a usable GPU backend: NotSupportedError
    WNNStringView device;               // which GPU: its index ("1") or UUID ("0a1b..." or "0a1b2c3d-..."); empty: the
                                        // best, that is discrete ones before integrated ones (which low power prefers),
                                        // and a processor that plays one last
    WNNPowerPreference powerPreference; // a hint; never fails
    bool accelerated;                   // a hint of the newer text, reported back by wnnContextGetAccelerated
    bool strictNumerics;                // what operators give one by one: see "Numbers" above
    uint32_t threadCount;               // compute threads; 0: one per processor that the process may use
    const WNNAllocator *allocator;      // NULL: the C library's; copied
    const WNNParallelFor *parallelFor;  // NULL: threads of the library; copied
    WNNThreadPool threadPool;           // NULL: threads of the context's own; else threadCount is not looked at. With
                                        // parallelFor only its spare threads are used
    WNNPriority priority;               // among the contexts of the pool
    WNNBudget budget;                   // NULL: none but the limits of the context
    const WNNCache *cache;              // NULL: what is compiled is forgotten with the context; copied
    const WNNLimits *limits;            // NULL: WNN_LIMITS_INIT; copied
    WNNContextLostCallbackInfo lostCallbackInfo;
    WNNErrorCallbackInfo errorCallbackInfo;
} WNNContextDescriptor;
#define WNN_CONTEXT_DESCRIPTOR_INIT                                                                                  \
    { NULL, WNN_STRING_VIEW_INIT, WNNDeviceType_CPU, WNN_STRING_VIEW_INIT, WNNPowerPreference_Default, true, false, 0,  \
      NULL, NULL, NULL, WNNPriority_Normal, NULL, NULL, NULL,                                                                \
      WNN_CONTEXT_LOST_CALLBACK_INFO_INIT, WNN_ERROR_CALLBACK_INFO_INIT }

// Makes a context and its threads: a worker, which executes, and beside it one that builds, so that neither waits for the
// other; with a GPU also one that waits for that. `descriptor` NULL: the INIT values.
// On failure *context is NULL and the error callback of the descriptor has the message.
// TypeError: an enumerator or a callback mode that does not exist, an unusable allocator, parallelFor, cache, trace or log, a device
// that is neither an index nor a UUID, or named although the type is CPU. NotSupportedError: no such device, or the
// process may not start threads and the thread pool has none to spare. OutOfMemory. Any thread.
WNN_EXPORT WNNStatus wnnCreateContext(const WNNContextDescriptor *descriptor, WNNContext *context);

WNN_EXPORT void wnnContextAddRef(WNNContext context);

// The last release destroys the context (see wnnContextDestroy), waits until the requests that run have stopped, and ends
// the threads of the context. Results that nobody has taken are told now, in every callback mode. Builders, graphs and tensors that are still held stay valid handles of a lost context. NULL is accepted.
WNN_EXPORT void wnnContextRelease(WNNContext context);

// Loses the context: the lost callback is called, requests that wait are answered with Cancelled, those that run are
// stopped (see wnnContextCancel), and whatever is asked later fails with InvalidStateError. Idempotent, does not wait. Any
// thread.
// https://www.w3.org/TR/webnn/#api-mlcontext-destroy
WNN_EXPORT void wnnContextDestroy(WNNContext context);

// True once the context is lost. Any thread.
WNN_EXPORT bool wnnContextIsLost(WNNContext context);

// Why it is, or None. NULL: Destroyed. Any thread.
WNN_EXPORT WNNContextLostReason wnnContextGetLostReason(WNNContext context);

// What the descriptor asked for. https://www.w3.org/TR/webnn/#dom-mlcontext-accelerated
WNN_EXPORT bool wnnContextGetAccelerated(WNNContext context);

// The limits in force: those of the descriptor, maxTensorByteLength cut down to what the device can do.
// TypeError: no context, no place for the answer, a chained struct.
WNN_EXPORT WNNStatus wnnContextGetLimits(WNNContext context, WNNLimits *limits);

// Opens, loads and initializes everything of the library's that later calls could need. Afterwards, with a context on the
// CPU, a process may give up the right to open files, to start threads and programs, and to make executable memory; 17
// system calls are enough, which webnn/INTEGRATION.md lists. With one on a GPU the library itself needs no more than
// that, but its driver does what it likes: lavapipe makes memory executable for every new shader, and looks for files
// that it can be refused; graphs that are built are run without either. Blocks. UnknownError, OutOfMemory. Any thread.
WNN_EXPORT WNNStatus wnnContextPreload(WNNContext context);

// Live objects of the context and the bytes that it has allocated now and at most.
typedef struct WNNContextCounters {
    WNNChainedStruct *nextInChain;
    uint64_t builders, graphs, tensors, pendingRequests;
    uint64_t allocatedBytes, maxAllocatedBytes;
} WNNContextCounters;
#define WNN_CONTEXT_COUNTERS_INIT { NULL, 0, 0, 0, 0, 0, 0 }

// TypeError: no context, no place for the answer, a chained struct.
WNN_EXPORT WNNStatus wnnContextGetCounters(WNNContext context, WNNContextCounters *counters);

// https://www.w3.org/TR/webnn/#api-mlcontext-opsupportlimits
// A set of data types: bit (1u << WNNDataType_X) for each.
typedef struct WNNTensorLimits {
    uint32_t dataTypes;
    uint32_t minRank, maxRank;
} WNNTensorLimits;
#define WNN_TENSOR_LIMITS_INIT { 0, 0, 0 }
typedef struct WNNOperandLimits {
    const WNNChainedStruct *nextInChain;
    WNNStringView name; // the specification's name of the argument, option or output
    bool isOptional;
    WNNTensorLimits limits;
} WNNOperandLimits;
#define WNN_OPERAND_LIMITS_INIT { NULL, WNN_STRING_VIEW_INIT, false, WNN_TENSOR_LIMITS_INIT }
typedef struct WNNOperatorLimits {
    const WNNChainedStruct *nextInChain;
    WNNStringView name; // the specification's name of the method
    size_t operandCount;
    const WNNOperandLimits *operands;
} WNNOperatorLimits;
#define WNN_OPERATOR_LIMITS_INIT { NULL, WNN_STRING_VIEW_INIT, 0, NULL }

typedef enum WNNInputOperandLayout {
    WNNInputOperandLayout_NCHW = 1,
    WNNInputOperandLayout_NHWC = 2,
    WNNInputOperandLayout_Force32 = 0x7FFFFFFF
} WNNInputOperandLayout;

typedef struct WNNOpSupportLimits {
    WNNChainedStruct *nextInChain;
    WNNInputOperandLayout preferredInputLayout;
    uint64_t maxTensorByteLength;
    WNNTensorLimits input, constant, output;
    size_t operatorCount;
    const WNNOperatorLimits *operators; // valid while the context is held
} WNNOpSupportLimits;
#define WNN_OP_SUPPORT_LIMITS_INIT                                                                                   \
    { NULL, WNNInputOperandLayout_NCHW, 0, WNN_TENSOR_LIMITS_INIT, WNN_TENSOR_LIMITS_INIT, WNN_TENSOR_LIMITS_INIT, 0, NULL }

// TypeError: no context, no place for the answer, a chained struct. The specification's names of data types are those of
// wnnDataTypeName.
WNN_EXPORT WNNStatus wnnContextGetOpSupportLimits(WNNContext context, WNNOpSupportLimits *limits);

// Waits until a future of the list is complete or `timeoutNanoseconds` have passed (0: looks only), and runs the
// callbacks of the complete ones. A future whose callback has run counts as complete. With WNN_WAIT_FOREVER the calling
// thread may run executions that nobody has begun to run, which takes no more than 256 KiB of its stack. Any thread, but
// not from a spontaneous callback with a time-out other than 0 (WNNWaitStatus_Error).
WNN_EXPORT WNNWaitStatus wnnContextWaitAny(WNNContext context, size_t futureCount, WNNFutureWaitInfo *futures,
                                           uint64_t timeoutNanoseconds);

// Runs the callbacks of completed AllowProcessEvents requests. Does not wait. Any thread.
WNN_EXPORT void wnnContextProcessEvents(WNNContext context);

// Takes a request back: its callback gets Cancelled. One that has not begun never does. An execution or a build that runs
// is stopped: on the CPU within some milliseconds, and the time that it takes to fill its outputs with zeros; on a GPU
// when what was submitted is done. Each of its outputs is untouched then or all zeros (in tensors of a GPU: unspecified,
// but of nobody else's memory), and the context goes on. It may end before it notices, and gets its result as if nothing
// had been. InvalidStateError if the request has ended, or if it runs and only moves bytes; TypeError if there was never
// such a future. Any thread.
WNN_EXPORT WNNStatus wnnContextCancel(WNNContext context, WNNFuture future);

// ---------------------------------------------------------------------------------------------------------------
// Graph builder: https://www.w3.org/TR/webnn/#api-mlgraphbuilder
//
// Operators are recorded with the functions of webnn/ops.h. A function that fails returns NULL (or 0), and the
// builder keeps its first error. A call that is handed a NULL operand where one is required returns NULL without an
// error of its own when the builder already has one, so that a chain of calls needs one check, at build.
// ---------------------------------------------------------------------------------------------------------------

// InvalidStateError: the context is lost. OutOfMemory.
WNN_EXPORT WNNStatus wnnContextCreateGraphBuilder(WNNContext context, WNNGraphBuilder *builder);

// Ends the builder, its operands and its activations. Graphs that it built, or that are being built, are not touched.
// NULL is accepted.
WNN_EXPORT void wnnGraphBuilderRelease(WNNGraphBuilder builder);

// The first error since the builder was made or the error was cleared; the message is valid until the builder is used
// again. `error` NULL: nothing happens.
WNN_EXPORT void wnnGraphBuilderGetError(WNNGraphBuilder builder, WNNError *error);
WNN_EXPORT void wnnGraphBuilderClearError(WNNGraphBuilder builder);

// An input of the graph. TypeError: empty or ill-formed name, descriptor out of bounds. Two inputs of one name are
// refused at build, if both are reachable. https://www.w3.org/TR/webnn/#api-mlgraphbuilder-input
WNN_EXPORT WNNOperand wnnGraphBuilderInput(WNNGraphBuilder builder, WNNStringView name,
                                           const WNNOperandDescriptor *descriptor);

// A constant whose bytes are copied. TypeError: byteLength is not that of the descriptor.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-constant-buffer
WNN_EXPORT WNNOperand wnnGraphBuilderConstant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                              const void *data, size_t byteLength);

// A constant whose bytes stay the caller's: they must not change until `release` is called, once, from any thread,
// when no builder or graph needs them any more (inside this call if it fails). `release` must not call the library.
typedef struct WNNExternalBytes {
    const WNNChainedStruct *nextInChain;
    const void *data;
    size_t byteLength;
    void (*release)(const void *data, size_t byteLength, void *userdata1, void *userdata2); // may be NULL
    void *userdata1, *userdata2;
} WNNExternalBytes;
#define WNN_EXTERNAL_BYTES_INIT { NULL, NULL, 0, NULL, NULL, NULL }
WNN_EXPORT WNNOperand wnnGraphBuilderExternalConstant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                                      const WNNExternalBytes *bytes);

// A scalar (rank 0). TypeError: a type without scalars (int4, uint4), a number that is not given.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-constant-type-value
WNN_EXPORT WNNOperand wnnGraphBuilderScalarConstant(WNNGraphBuilder builder, WNNDataType dataType, WNNNumber value);

// [start, start + step, ...], as long as it does not reach `end`; rank 1. TypeError: a number that is not finite, step
// 0, more elements than a tensor may have or none where tensors may not be empty, int4 or uint4.
WNN_EXPORT WNNOperand wnnGraphBuilderRangeConstant(WNNGraphBuilder builder, WNNNumber start, WNNNumber end,
                                                   WNNNumber step, WNNDataType dataType);

// A constant of the bytes of a constant tensor (wnnContextCreateConstantTensor), shared, not copied. The tensor may be
// destroyed once the graph is built. TypeError: a tensor of another context, destroyed, or not constant.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-constant-tensor
WNN_EXPORT WNNOperand wnnGraphBuilderTensorConstant(WNNGraphBuilder builder, WNNTensor tensor);

// https://www.w3.org/TR/webnn/#api-mloperand. The list is valid as long as the operand; data NULL: not even the rank is known.
WNN_EXPORT WNNDataType wnnOperandGetDataType(WNNOperand operand);
WNN_EXPORT WNNUint32List wnnOperandGetShape(WNNOperand operand);

// A size of others; 0 after an error, which the builder keeps: a number that is not a size, a result that is certainly
// negative or above 2^31-1, a divisor that is not known or 0. Division rounds down.
typedef enum WNNSizeOperator {
    WNNSizeOperator_Add = 1,
    WNNSizeOperator_Subtract = 2,
    WNNSizeOperator_Multiply = 3,
    WNNSizeOperator_Divide = 4,
    WNNSizeOperator_Minimum = 5,
    WNNSizeOperator_Maximum = 6,
    WNNSizeOperator_Force32 = 0x7FFFFFFF
} WNNSizeOperator;
WNN_EXPORT uint32_t wnnGraphBuilderComputeSize(WNNGraphBuilder builder, WNNSizeOperator operation, uint32_t a, uint32_t b);

// What a size of the builder is: its name, if it has one, and how large it can be; `isUnknown` of a size that was computed
// of others. The name is valid as long as the builder. TypeError: it is none.
WNN_EXPORT WNNStatus wnnGraphBuilderGetSize(WNNGraphBuilder builder, uint32_t size, WNNDimension *dimension);

typedef struct WNNNamedOperand {
    WNNStringView name;
    WNNOperand operand;
} WNNNamedOperand;
#define WNN_NAMED_OPERAND_INIT { WNN_STRING_VIEW_INIT, NULL }

// Builds the graph that computes the given outputs. What the builder holds now is what is built; it may go on being
// used, and build again. Builds of a context run one at a time in call order, on the CPU on a thread of their own beside
// executions. Only inputs that an output depends on become inputs of the graph.
// TypeError: no outputs, an empty or repeated name, an operand of another builder, an input or constant as output
// (identity() makes one of it), two reachable inputs of one name, a constant tensor destroyed meanwhile.
// InvalidStateError: the context is lost. OperationError: the backend cannot build it. OutOfMemory.
// The builder's error, if it has one, is the result. https://www.w3.org/TR/webnn/#api-mlgraphbuilder-build
WNN_EXPORT WNNFuture wnnGraphBuilderBuild(WNNGraphBuilder builder, size_t outputCount, const WNNNamedOperand *outputs,
                                          WNNBuildCallbackInfo callbackInfo);

// The same, and waits: *graph is the receiver's, NULL after an error. `message` gets what there is to say of an error, cut
// to `capacity` bytes with its NUL; empty on success. It may be NULL. Any thread, while nobody else uses the builder, but
// not from a callback of the context (InvalidStateError).
WNN_EXPORT WNNStatus wnnGraphBuilderBuildSync(WNNGraphBuilder builder, size_t outputCount, const WNNNamedOperand *outputs,
                                              WNNGraph *graph, size_t capacity, char *message);

// ---------------------------------------------------------------------------------------------------------------
// Graph: https://www.w3.org/TR/webnn/#api-mlgraph
// ---------------------------------------------------------------------------------------------------------------

WNN_EXPORT void wnnGraphAddRef(WNNGraph graph);
WNN_EXPORT void wnnGraphRelease(WNNGraph graph); // queued work keeps what it needs; NULL is accepted

// Later requests with this graph fail with InvalidStateError; those already queued complete, as the specification says.
// Idempotent. https://www.w3.org/TR/webnn/#api-mlgraph-destroy
WNN_EXPORT void wnnGraphDestroy(WNNGraph graph);

// Takes back all executions of the graph that wait or run, each as wnnContextCancel does. The graph stays as it is: with
// wnnGraphDestroy before it, nothing of it runs any more. NULL is accepted. Any thread.
WNN_EXPORT void wnnGraphCancel(WNNGraph graph);

typedef struct WNNNamedDescriptor {
    WNNStringView name;
    WNNOperandDescriptor descriptor;
} WNNNamedDescriptor;
#define WNN_NAMED_DESCRIPTOR_INIT { WNN_STRING_VIEW_INIT, WNN_OPERAND_DESCRIPTOR_INIT }

// What compute and dispatch need and give, in the order in which they were recorded (inputs) or given to build
// (outputs). Valid while the graph is held.
WNN_EXPORT const WNNNamedDescriptor *wnnGraphGetInputs(WNNGraph graph, size_t *count);
WNN_EXPORT const WNNNamedDescriptor *wnnGraphGetOutputs(WNNGraph graph, size_t *count);

// The same for the sizes in the shapes of these. The name is valid while the graph is held.
WNN_EXPORT WNNStatus wnnGraphGetSize(WNNGraph graph, uint32_t size, WNNDimension *dimension);

// The outputs of a graph whose inputs have these shapes, without an execution, in the order of wnnGraphGetOutputs: writes
// up to outputCount, and checks all that an execution at these sizes would. Inputs whose sizes are all known need no
// shape. TypeError: shapes that contradict each other, or that an operator refuses; the message is as
// wnnGraphBuilderBuildSync's. Any thread.
WNN_EXPORT WNNStatus wnnGraphComputeShapes(WNNGraph graph, size_t inputCount, const WNNNamedShape *inputs,
                                           size_t outputCount, WNNOutputShape *outputs, size_t capacity, char *message);

// What the compiler made of a graph. Known when it is built, and as long as it is held.
typedef struct WNNGraphInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView backend;        // static text
    uint64_t id;                  // WNNTraceEvent.graphId; 0: the context is not traced
    uint64_t recordedOperators;   // that the outputs depend on
    uint64_t nodeCount;           // what became of them, for wnnGraphGetNodes

    // Of the build: the passes of the compiler, then kernels, weights and shaders; and all of it, which begins when a thread
    // takes the build up.
    uint64_t compileNanoseconds, lowerNanoseconds, buildNanoseconds;

    uint64_t constantBytes;  // of the constants that were recorded, as far as the outputs depend on them
    uint64_t weightBytes;    // that the graph holds of them for its kernels: packed, uploaded, or as they were
    uint64_t executionBytes; // of one execution: what lies between its inputs and its outputs, and scratch memory. Held
                             // from the build on
    uint64_t deviceBytes;    // of the latter two, and of all else that the graph holds, in memory of a GPU; 0: none
} WNNGraphInfo;
#define WNN_GRAPH_INFO_INIT { NULL, WNN_STRING_VIEW_INIT, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

// One node of the graph that the compiler made: an operator with what was fused into it. Operators that the compiler
// removed have none.
typedef struct WNNNodeInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView label;     // of the operator, may be empty
    WNNStringView operation; // the specification's name of the operator: "conv2d"; static text
    WNNStringView kernel;    // what computes it: "XNNPACK", "Winograd", "native" or "quantized", with the method where
                             // there are several ("native product"); on a GPU the family of the shader that comes first;
                             // "view" where nothing needs to be computed. Static text
    WNNStringView reason;    // why not by another kernel that the backend has for the operator, in a few words for a
                             // developer; empty where there is no other or it is the best. Static text
    uint64_t bytes;          // of inputs, constants and outputs, each counted once: of one execution
    uint64_t operations;     // arithmetic operations of one execution; a multiply-add counts as two
} WNNNodeInfo;
#define WNN_NODE_INFO_INIT                                                                                           \
    { NULL, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, 0, 0 }

// TypeError: no graph, no place for the answer, a chained struct. Any thread.
WNN_EXPORT WNNStatus wnnGraphGetInfo(WNNGraph graph, WNNGraphInfo *info);

// Fills in up to `capacity` entries in the order of execution; *count is how many nodes there are. Either pointer may be
// NULL. Of each struct nextInChain must be set. The strings are valid while the graph is held. TypeError: no graph, a
// chained struct. Any thread.
WNN_EXPORT WNNStatus wnnGraphGetNodes(WNNGraph graph, size_t capacity, WNNNodeInfo *nodes, size_t *count);

// What executions of a graph cost: all of them, since profiling was switched on last.
typedef struct WNNGraphProfile {
    WNNChainedStruct *nextInChain;
    WNNStringView backend;         // static text
    uint64_t runs;                 // executions that were measured
    uint64_t totalNanoseconds;     // of all of them, from the first node's begin to the last output's end
    uint64_t minNanoseconds;       // of the fastest
    uint64_t lastBeginNanoseconds; // of the last, on CLOCK_MONOTONIC
    uint64_t lastNanoseconds;

    // What of that the device worked on the nodes, by its own clock; 0 where the host computes, whose times are the above.
    // The rest is preparing, copying from and to the device, and waiting for it.
    uint64_t totalDeviceNanoseconds, minDeviceNanoseconds, lastDeviceNanoseconds;
} WNNGraphProfile;
#define WNN_GRAPH_PROFILE_INIT { NULL, WNN_STRING_VIEW_INIT, 0, 0, 0, 0, 0, 0, 0, 0 }

// One node, as in WNNNodeInfo. The times of the nodes are pieces of the graph's: of the device's where that has a clock.
typedef struct WNNNodeProfile {
    WNNChainedStruct *nextInChain;
    WNNStringView label;       // of the operator, may be empty
    WNNStringView operation;   // the specification's name of the operator: "conv2d"
    WNNStringView kernel;      // WNNNodeInfo.kernel
    uint64_t runs;
    uint64_t totalNanoseconds, minNanoseconds;
    uint64_t lastBeginNanoseconds, lastNanoseconds;
    uint64_t bytes;            // of inputs, constants and outputs, each counted once: of one run
    uint64_t operations;       // arithmetic operations of one run; a multiply-add counts as two
} WNNNodeProfile;
#define WNN_NODE_PROFILE_INIT                                                                                        \
    { NULL, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, 0, 0, 0, 0, 0, 0, 0 }

// Switches profiling on (from zero) or off, for the executions that begin from now on. It is off at first, and costs
// nothing while it is. Executions on a backend that cannot be watched, or that find no memory for the numbers, are not
// counted. NULL is accepted. Any thread.
WNN_EXPORT void wnnGraphSetProfiling(WNNGraph graph, bool enabled);

// Fills in what has been measured: `profile`, and up to `capacity` entries of `nodes` in the order of execution; *count is
// how many there are, 0 as long as no execution has been measured. Behind the nodes of the graph come copies of outputs, if
// executions made any at their end: their operation and kernel are "copy", their label is the name of the output, which
// replaces an input that was read for too long (wnnContextCompute), has the value of another output, or is constant. Each of
// the three may be NULL. Of each struct nextInChain must be set. The strings are valid while the graph is held. TypeError: no graph, a chained struct. Any
// thread; executions that run are not counted yet.
WNN_EXPORT WNNStatus wnnGraphGetProfile(WNNGraph graph, WNNGraphProfile *profile, size_t capacity, WNNNodeProfile *nodes,
                                        size_t *count);

// ---------------------------------------------------------------------------------------------------------------
// Execution on the caller's memory: https://www.w3.org/TR/2024/CRD-webnn-20240415/#api-mlcontext-compute
// ---------------------------------------------------------------------------------------------------------------

typedef struct WNNNamedBuffer {
    WNNStringView name;
    void *data;           // any alignment; inputs are only read. May be NULL where there are no bytes
    size_t byteLength;
    WNNDataType dataType; // the type of the elements, or Undefined for plain bytes
} WNNNamedBuffer;
#define WNN_NAMED_BUFFER_INIT { WNN_STRING_VIEW_INIT, NULL, 0, WNNDataType_Undefined }

typedef struct WNNComputeDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNGraph graph;
    size_t inputCount, outputCount;
    const WNNNamedBuffer *inputs, *outputs; // the arrays are copied; the bytes stay the caller's and
} WNNComputeDescriptor;                     // must not be touched until the callback
#define WNN_COMPUTE_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, NULL, 0, 0, NULL, NULL }

// Queues one execution; the requests of one context run in call order, but for builds, which run beside them. All inputs and at least one output must be
// given, each once. On success the outputs are complete. Of a request that was refused, or taken back before it began,
// they are untouched; of one that was stopped while it ran (see wnnContextCancel), or failed there, each is untouched or all
// zeros. A refused request is complete when the call returns.
// An output may be the very bytes of an input (the same address, byte length and data type), which it replaces: a cache and
// what has become of it. The graph always computes with what the input held before. Where it no longer reads that when it
// writes the output, or the operator that does so can work in place (on single elements, or scatterND, scatterElements and
// a concat of slices that changes one part), nothing else is written: of a cache only what is new. Where it does, the output
// is computed in memory of the graph, and copied at the end, which the graph's profile shows. Inputs may overlap each other.
// TypeError: a graph of another context, an unknown, repeated or missing name, a wrong byte length or data type, an
// output that overlaps another buffer otherwise. InvalidStateError: graph destroyed, context lost. OutOfMemory. Any thread.
WNN_EXPORT WNNFuture wnnContextCompute(WNNContext context, const WNNComputeDescriptor *descriptor,
                                       WNNRequestCallbackInfo callbackInfo);

// The same, and waits. `message` as in wnnGraphBuilderBuildSync. Any thread, but not from a callback of the context
// (InvalidStateError).
WNN_EXPORT WNNStatus wnnContextComputeSync(WNNContext context, const WNNComputeDescriptor *descriptor, size_t capacity,
                                           char *message);

// ---------------------------------------------------------------------------------------------------------------
// Tensors and dispatch: https://www.w3.org/TR/webnn/#api-mltensor
// ---------------------------------------------------------------------------------------------------------------

typedef struct WNNTensorDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNDataType dataType;
    WNNUint32List shape;
    bool readable, writable;
} WNNTensorDescriptor;
#define WNN_TENSOR_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, WNNDataType_Undefined, { NULL, 0 }, false, false }

// A tensor filled with zeros. TypeError: descriptor out of bounds. InvalidStateError: context lost. OutOfMemory.
WNN_EXPORT WNNStatus wnnContextCreateTensor(WNNContext context, const WNNTensorDescriptor *descriptor,
                                            WNNTensor *tensor);

// A tensor that never changes, for wnnGraphBuilderTensorConstant; the bytes are copied. readable and writable must be
// false. TypeError also: byteLength is not that of the descriptor.
WNN_EXPORT WNNStatus wnnContextCreateConstantTensor(WNNContext context, const WNNTensorDescriptor *descriptor,
                                                    const void *data, size_t byteLength, WNNTensor *tensor);

WNN_EXPORT void wnnTensorAddRef(WNNTensor tensor);
WNN_EXPORT void wnnTensorRelease(WNNTensor tensor); // queued work keeps what it needs; NULL is accepted

// Later requests with this tensor fail with TypeError, reads that wait with InvalidStateError. Idempotent.
WNN_EXPORT void wnnTensorDestroy(WNNTensor tensor);

WNN_EXPORT WNNDataType wnnTensorGetDataType(WNNTensor tensor);
WNN_EXPORT WNNUint32List wnnTensorGetShape(WNNTensor tensor); // valid while the tensor is held
WNN_EXPORT size_t wnnTensorGetByteLength(WNNTensor tensor);
WNN_EXPORT bool wnnTensorGetReadable(WNNTensor tensor);
WNN_EXPORT bool wnnTensorGetWritable(WNNTensor tensor);
WNN_EXPORT bool wnnTensorGetConstant(WNNTensor tensor);

// Queues a copy of the tensor into `data`, which must not be touched until the callback; NULL is enough for no bytes.
// TypeError: tensor of another context, destroyed, not readable, or a byteLength that is not its own.
WNN_EXPORT WNNFuture wnnContextReadTensor(WNNContext context, WNNTensor tensor, void *data, size_t byteLength,
                                          WNNRequestCallbackInfo callbackInfo);

// The same, and waits. `message` as in wnnGraphBuilderBuildSync. Any thread, but not from a callback of the context
// (InvalidStateError).
WNN_EXPORT WNNStatus wnnContextReadTensorSync(WNNContext context, WNNTensor tensor, void *data, size_t byteLength,
                                              size_t capacity, char *message);

// Copies the bytes now and queues the change of the tensor. Errors as for wnnContextReadTensor (not writable);
// InvalidStateError: context lost; OutOfMemory.
WNN_EXPORT WNNStatus wnnContextWriteTensor(WNNContext context, WNNTensor tensor, const void *data, size_t byteLength);

typedef struct WNNNamedTensor {
    WNNStringView name;
    WNNTensor tensor;
} WNNNamedTensor;
#define WNN_NAMED_TENSOR_INIT { WNN_STRING_VIEW_INIT, NULL }

typedef struct WNNDispatchDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNGraph graph;
    size_t inputCount, outputCount;
    const WNNNamedTensor *inputs, *outputs;
} WNNDispatchDescriptor;
#define WNN_DISPATCH_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, NULL, 0, 0, NULL, NULL }

// Queues one execution on tensors. All inputs and all outputs of the graph must be given, each once, with equal
// descriptors; no tensor as two outputs; no constant tensors. A tensor may be several inputs, and an output that replaces
// them, by the rules of wnnContextCompute: state of a model stays where it is, in one tensor. (A page may give no tensor
// twice; who serves one has to refuse that.) A refused request is complete when the call returns. Of a request that was
// stopped while it ran, or failed there, each output is untouched or all zeros, also one that replaces an input.
// TypeError: one of these rules, an object of another context, a destroyed tensor. InvalidStateError: graph destroyed,
// context lost. Any thread. https://www.w3.org/TR/webnn/#api-mlcontext-dispatch
WNN_EXPORT WNNFuture wnnContextDispatch(WNNContext context, const WNNDispatchDescriptor *descriptor,
                                        WNNRequestCallbackInfo callbackInfo);

#ifdef __cplusplus
}
#endif

#endif
